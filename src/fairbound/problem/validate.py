"""Every argument but the radii is read and checked here, once; nothing is solved."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import number
from fairbound.data.population import Population
from fairbound.data.strata import ByStratum
from fairbound.errors import InputError, argument, either, given
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import HELLINGER, Divergence, find_divergence
from fairbound.problem.limits import NO_LIMIT, Ranges, Rows, read_limits
from fairbound.problem.objective import Objective
from fairbound.problem.question import Question
from fairbound.problem.unsupported import CURE, refuse_metric
from fairbound.sampling.region import Asymptotic, Prequential, Region, check_sample, find_region, read_confidence


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(repr(a) for a in allowed)
        message = f"{given(name, value)} is not known; use {words}"
        raise InputError(message)


def not_a_population(population: object) -> InputError:
    """Return the error for anything else."""
    kind = type(population).__name__
    message = f"{argument('population')} must be a Population, not {kind}; see Population.from_predictions"
    return InputError(message)


def validate(
    population: Population,
    *,
    metric: str = "loss",
    group: Hashable | None = None,
    pos_label: Hashable | None = None,
    shift: str = "general",
    divergence: str = "hellinger",
    group_skew: float | None = None,
    label_skew: float | None = None,
    min_group_mass: float | None = None,
    min_label_mass: float | None = None,
    group_limits: Ranges | None = None,
    label_limits: Ranges | None = None,
    group_rows: Rows | None = None,
    label_rows: Rows | None = None,
    fair: bool = True,
    base_rate_tolerance: float | None = None,
    support: str = "any",
    empty_cells: str = "refuse",
    confidence: float | None = None,
    region: str | Region = "auto",
    tol: float = 1e-6,
    budget: int | None = None,
    objective: Objective | None = None,
) -> Question:
    """Return the question that is asked: the one validator of this room. Objectives come from a metric.

    The defaults of all keywords of questions are here, and nowhere else.
    """
    for name, value in (("group", group), ("pos_label", pos_label)):
        if value is not None and metric == "loss":
            message = f"{given(name, value)} " + either(
                f"belongs to a metric; choose one with {argument('metric')}=, or leave {argument(name)} out",
                f"needs a {argument('metric')}; name one, or leave it out",
            )
            raise InputError(message)
    _choice("shift", shift, ("general", "stratified", "sensitive"))
    _choice("support", support, ("any", "observed"))
    _choice("empty_cells", empty_cells, ("refuse", "ceiling"))
    population, support = _known(population, shift, support)
    skew_meaning = f"it is the largest difference allowed between two shares of Q{NO_LIMIT}"
    if group_skew is not None:
        group_skew = number("group_skew", group_skew, 0.0, 1.0, skew_meaning)
    if label_skew is not None:
        label_skew = number("label_skew", label_skew, 0.0, 1.0, skew_meaning)
    limits = (
        read_limits("group", population.groups, min_group_mass, group_limits, group_rows),
        read_limits("label", population.labels, min_label_mass, label_limits, label_rows),
    )
    condition = _read_condition(fair, base_rate_tolerance, label_skew)
    _check_condition(condition, objective, len(population.labels), limited=bool(limits[1]))
    tol = number("tol", tol, 1e-12, 1.0, "it is the gap between bound and attained value to aim at")
    by_size = either(", and None chooses by size")
    meaning = f"it is the number of pieces that the search may use for each rho{by_size}"
    pieces = None if budget is None else int(number("budget", budget, 1, 1e9, meaning))
    distance = find_divergence(divergence)
    refuse_confidence(distance, confidence)
    _check_divergence(
        distance,
        condition,
        skewed=group_skew is not None or label_skew is not None,
        limited=any(limits),
    )
    if objective is not None:
        refuse_metric(population, objective, distance, condition)
    chosen = find_region(region)
    if confidence is not None:
        confidence = read_confidence(confidence)
        check_sample(population, support)
        if isinstance(chosen, Asymptotic) and (objective is not None or metric != "loss" or shift == "stratified"):
            message = (
                f"{given('region', 'asymptotic')} is for the loss of all under general or sensitive shifting; use "
                f"{given('region', 'sphere')}"
            )
            raise InputError(message)
        if shift == "stratified":
            _check_strata(population)
        if isinstance(chosen, Prequential):
            plain = shift == "general" and condition.equal and objective is None and metric == "loss"
            check_prequential(plain=plain and group_skew is None and label_skew is None and not any(limits))
        empty_cells = "ceiling"
    return Question(
        population,
        str(shift),  # type: ignore[arg-type]  # checked above
        str(support),  # type: ignore[arg-type]  # checked above
        str(empty_cells),  # type: ignore[arg-type]  # checked above
        group_skew,
        label_skew,
        *limits,
        tol,
        pieces,
        confidence,
        None if confidence is None else chosen,
        objective,
        condition,
        distance,
    )


def _known(population: Population, shift: str, support: str) -> tuple[Population, str]:
    """Return what a shift needs to know: inside of strata nothing changes, so Q has no means but theirs."""
    if shift == "stratified":
        return population.by_strata, "observed"
    if shift == "general" and isinstance(population.knowledge, ByStratum):
        message = (
            f"{given('shift', 'general')} needs the losses of the cells, and of this population only the means of "
            f"strata are known; use {given('shift', 'stratified')}, or the population of the rows"
        )
        raise InputError(message)
    return population, support


def _read_condition(fair: object, tolerance: object, label_skew: float | None) -> Condition:
    """Read what is asked of base rates; a tolerance of zero asks for equal ones."""
    if not isinstance(fair, bool | np.bool_):
        message = f"{given('fair', fair)} must be True (a condition on base rates) or False (none)"
        raise InputError(message)
    width: float | None = None
    if tolerance is not None:
        equal = either(", and None means equal ones")
        meaning = f"it is the largest difference allowed between the base rates of two groups{equal}"
        width = number("base_rate_tolerance", tolerance, 0.0, 1.0, meaning) or None
        if not fair:
            message = (
                f"{given('base_rate_tolerance', tolerance)} does not go with {given('fair', False)}, which allows any "
                "base rates; leave one of them out"
            )
            raise InputError(message)
    condition = Condition(bool(fair), width)
    if label_skew is not None and not condition.equal:
        other = given("fair", False) if not fair else given("base_rate_tolerance", tolerance)
        message = (
            f"{given('label_skew', label_skew)} needs equal base rates and does not go with {other}; leave one of them "
            f"out ({argument('group_skew')} goes with both)"
        )
        raise InputError(message)
    return condition


def _check_condition(condition: Condition, objective: Objective | None, labels: int, *, limited: bool) -> None:
    """Refuse what does not go with base rates that may differ; ``limited`` are the shares of labels."""
    if condition.equal:
        return
    loose = given("fair", False) if not condition.fair else given("base_rate_tolerance", condition.tolerance, "g")
    if limited:
        message = (
            f"linear limits on the shares of labels need equal base rates and do not go with {loose}: elsewhere each "
            "group has labels of its own; leave one of them out (limits on groups go with both)"
        )
        raise InputError(message)
    if condition.fair and objective is not None and objective.label is not None and labels > 2:
        message = (
            f"{loose} goes with means among the rows of a label (true and false positive rates, cell_loss) for two "
            f"labels only, and there are {labels}; leave it out, or use {given('fair', False)}, which goes with any "
            "number"
        )
        raise InputError(message)


def _check_strata(population: Population) -> None:
    """Refuse strata that follow the rows: what a sample says is about strata that were fixed before it."""
    if population.strata is not None and population.strata.of_rows:
        message = (
            f"{argument('confidence')} needs strata that do not depend on the rows, and a column was cut at quantiles "
            f"of them; give {argument('cuts')} as points that were chosen beforehand, such as cuts={{'age': [25, 45]}}"
        )
        raise InputError(message)


def refuse_confidence(divergence: Divergence, confidence: object) -> None:
    """Refuse a confidence, as the user gave it, for a divergence that finite samples say nothing of."""
    if divergence is not HELLINGER and confidence is not None:
        message = (
            f"{given('confidence', confidence)} does not go with {given('divergence', divergence.name)}: what is known "
            "of finite samples rests on the angle metric of the Hellinger distance; leave "
            f"{argument('confidence')} out, or {CURE}"
        )
        raise InputError(message)


def check_prequential(*, plain: bool) -> None:
    """Refuse what bets on rows are not there for."""
    if not plain:
        message = (
            f"{given('region', 'prequential')} is for the loss of all under general shifting, with equal base rates "
            f"and without limits on shares; use {given('region', 'sphere')}, which goes with everything"
        )
        raise InputError(message)


def refuse_one_radius(region: object, why: str) -> None:
    """Refuse a region that holds at one radius where there may be several."""
    chosen = find_region(region)  # type: ignore[arg-type]  # it says what is not known
    if isinstance(chosen, Prequential | Asymptotic):
        message = (
            f"{given('region', chosen.name)} holds at each {argument('rho')} that is chosen beforehand, and {why}; "
            f"use {given('region', 'sphere')}, which holds at all of them at once"
        )
        raise InputError(message)


def for_radii(region: str | Region, count: int) -> str | Region:
    """Return the region for a number of radii: bets divide the error probability among them."""
    chosen = find_region(region)
    return replace(chosen, radii=count) if isinstance(chosen, Prequential) and count else region


def _check_divergence(divergence: Divergence, condition: Condition, *, skewed: bool, limited: bool) -> None:
    """Refuse what a divergence cannot do."""
    if divergence is HELLINGER:
        return
    only = f"does not go with {given('divergence', divergence.name)}"
    if condition.tolerance:
        message = f"{given('base_rate_tolerance', condition.tolerance, 'g')} {only}; leave it out, or {CURE}"
        raise InputError(message)
    if limited:
        rows = either(f", {argument('group_rows')}")
        message = (
            f"{argument('min_group_mass')}, {argument('group_limits')}{rows} and those of labels: linear limits "
            f"{only}; {CURE}"
        )
        raise InputError(message)
    if not condition.fair and skewed:
        message = (
            f"{argument('group_skew')} and {argument('label_skew')} limit the shares of a Q with equal base rates; "
            f"leave them out with {given('fair', False)}"
        )
        raise InputError(message)


def listed(rhos: Any) -> list[Any]:
    """Return radii as a list, whatever they are."""
    return list(rhos) if np.iterable(rhos) and not isinstance(rhos, str) else [rhos]


def read_radii(rhos: Any, divergence: Divergence = HELLINGER) -> Floats:
    """Return radii as an array, each in the range of its divergence."""
    values = listed(rhos)
    if not values:
        message = f"{given('rhos', [])} is empty; it needs one number or more between 0 and {divergence.most:g}"
        raise InputError(message)
    return np.array([number("rho", value, 0.0, divergence.most, divergence.meaning) for value in values])
