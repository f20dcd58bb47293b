"""What is asked, as the verbs see it: one statement, or those that a metric is made of, answered together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.cautions import check_loss_name, warn_of
from fairbound.certificate.certificate import Certificate, combined
from fairbound.certificate.comparisons import Settled, settle
from fairbound.data.population import Population, condensed
from fairbound.errors import InputError, argument, given
from fairbound.problem.asked import Asked, completed
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import HELLINGER, Divergence, find_divergence
from fairbound.problem.metrics import Chosen, choose, value_on_data
from fairbound.problem.validate import not_a_population, refuse_confidence, validate
from fairbound.sampling.region import LEAST_ERROR, read_confidence
from fairbound.solve.answer import Answer
from fairbound.solve.comparing import compare
from fairbound.solve.proof import written
from fairbound.solve.solver import Solver, pose

#: Pairs of no more groups than these are solved one by one.
FEW_GROUPS = 4

#: So many bins of losses, times radii, can be checked in seconds; and so many are always kept.
MOST_BINS, ORDINARY_BINS = 60_000, 16_384


@dataclass(frozen=True)
class MetricStatements:
    """A validated call about a metric: everything but the radii."""

    chosen: Chosen
    parts: tuple[Solver, ...]
    confidence: float | None

    @property
    def lower(self) -> bool:
        """Whether the metric is bounded from below."""
        return self.chosen.metric.lower

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        return self.parts[0].limited

    @property
    def condition(self) -> Condition:
        """What is asked of base rates."""
        return self.parts[0].condition

    @property
    def divergence(self) -> Divergence:
        """How distances are measured."""
        return self.parts[0].divergence

    @property
    def sampled(self) -> bool:
        """Whether P is known through a sample."""
        return self.confidence is not None

    @property
    def allowing(self) -> bool:
        """Whether what takes P's place allows for sampling error by itself."""
        return self.sampled

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        return max(part.distance for part in self.parts)

    @property
    def extreme(self) -> float:
        """The value that the metric can always be said to keep: the largest there is, or of a ratio the smallest."""
        return 0.0 if self.lower else float(self.parts[0].population.ceiling)

    @property
    def shared(self) -> bool:
        """Whether the multipliers of some pairs of groups are to prove something of all others.

        What takes the place of a sample is another one for each pair. Ratios of a chosen group are few.
        """
        about, population = self.chosen.objectives[0], self.chosen.population
        pairs = about.plus is not None and about.minus is not None and len(population.groups) > FEW_GROUPS
        pairs = pairs and self.chosen.group is None
        return pairs and not self.sampled and self.divergence is HELLINGER

    def _settled(self, rhos: Floats) -> list[Settled] | None:
        return settle(self.parts[0], self.chosen.objectives, rhos) if self.shared else None

    def answers(self, rhos: Floats, target: float | None = None) -> list[tuple[Answer, ...]]:
        """Solve for feasible radii: the objectives of one kind together.

        Only the worst one counts, so later kinds need no bounds below what earlier ones attain. Rare labels come first:
        what is taken over few rows is moved most easily.
        """
        if self.divergence is not HELLINGER:
            return self._one_by_one(rhos, target)
        found: dict[int, list[Answer]] = {}
        incumbent = np.full(len(rhos), -np.inf)
        kinds = list(dict.fromkeys(part.objective.label if part.objective else None for part in self.parts))
        kinds.sort(key=lambda label: 0.0 if label is None else float(self.parts[0].population.mass[:, label].min()))
        for kind in kinds:
            same = [n for n, part in enumerate(self.parts) if part.objective and part.objective.label == kind]
            first = self.parts[same[0]]
            asked = [self.parts[n].compared for n in same]
            radii = [self.parts[n].radii(rhos) for n in same]
            for n, answers in zip(
                same, compare(asked, radii, first.question.tol, first.budget, incumbent), strict=True
            ):
                found[n] = answers
                if not self.lower:
                    incumbent = np.maximum(incumbent, [answer.witness.loss for answer in answers])
        return [tuple(found[n][index] for n in range(len(self.parts))) for index in range(len(rhos))]

    def _one_by_one(self, rhos: Floats, target: float | None) -> list[tuple[Answer, ...]]:
        """Solve one objective after the other, the likely worst first: the others need not be bounded as closely."""
        found: dict[int, list[Answer]] = {}
        incumbent = np.full(len(rhos), -np.inf)
        on_data = [value_on_data(part.population, part.objective) for part in self.parts if part.objective]
        for n in np.argsort(-np.array(on_data), kind="stable").tolist():
            found[n] = self.parts[n].answers(rhos, target, incumbent)
            incumbent = np.maximum(incumbent, [answer.witness.loss for answer in found[n]])
        return [tuple(found[n][index] for n in range(len(self.parts))) for index in range(len(rhos))]

    def certificates(self, rhos: Floats) -> list[Certificate]:
        """Certify at feasible radii."""
        settled = self._settled(rhos)
        if settled is not None:
            return [
                combined(
                    [dressed(part, rho, answer) for part, answer in one.shown],
                    self.chosen.metric.name,
                    self.chosen.group,
                    self.confidence,
                    bound=one.bound,
                    supporting=one.supporting,
                )
                for rho, one in zip(rhos.tolist(), settled, strict=True)
            ]
        return [
            combined(
                [dressed(part, rho, one) for part, one in zip(self.parts, answer, strict=True)],
                self.chosen.metric.name,
                self.chosen.group,
                self.confidence,
            )
            for rho, answer in zip(rhos.tolist(), self.answers(rhos), strict=True)
        ]

    def bounds(self, rhos: Floats, target: float | None = None) -> Floats:
        """Return what is proved at feasible radii, some of it only as closely as a target needs."""
        settled = self._settled(rhos)
        if settled is not None:
            return np.array([one.bound for one in settled])
        bounds = np.array([[one.bound for one in answer] for answer in self.answers(rhos, target)])
        return bounds.min(axis=1) if self.lower else bounds.max(axis=1)


def certificates(asked: Solver | MetricStatements, rhos: Floats) -> list[Certificate]:
    """Certify at feasible radii."""
    if isinstance(asked, MetricStatements):
        return asked.certificates(rhos)
    return [dressed(asked, rho, answer) for rho, answer in zip(rhos.tolist(), asked.answers(rhos), strict=True)]


def dressed(solver: Solver, rho: float, answer: Answer) -> Certificate:
    """Return the certificate of one statement at one radius."""
    question = solver.question
    return Certificate(
        bound=answer.bound,
        attained=solver.attained(answer),
        rho=rho,
        shift=question.shift,
        group_skew=question.group_skew,
        label_skew=question.label_skew,
        support=question.support,
        empty_cells=question.empty_cells,
        tol=question.tol,
        witness=replace(answer.witness, groups=question.population.groups, labels=question.population.labels),
        population=question.population,
        proof=written(answer.proof),
        confidence=question.confidence,
        region=None if question.region is None else question.region.name,
        surrogate=solver.surrogate,
        objective=question.objective,
        group_limits=question.group_limits,
        label_limits=question.label_limits,
        divergence=question.divergence.name,
        fair=question.condition.fair,
        base_rate_tolerance=question.condition.tolerance,
    )


def ask(verb: Callable[..., object], population: object, asked: Asked, radii: int = 1) -> Solver | MetricStatements:
    """Validate everything but the radii of a verb's question; how many there are says how large a document gets."""
    options = completed(verb, asked)
    if not isinstance(population, Population):
        raise not_a_population(population)
    check_loss_name(population)
    warn_of(population)
    if options["confidence"] is None:  # else what is merged must not depend on the rows
        population = fewer_bins(population, radii)
    return pose(validate(population, **options)) if options["metric"] == "loss" else _pose_metric(population, options)


def fewer_bins(population: Population, radii: int) -> Population:
    """Return the population with no more bins of losses than can be checked at so many radii."""
    return condensed(population, max(MOST_BINS // max(1, radii), ORDINARY_BINS))


def _pose_metric(population: Population, options: dict[str, Any]) -> MetricStatements:
    """Divide the error probability equally between the objectives: all statements hold together."""
    chosen = choose(population, options["metric"], options["group"], options["pos_label"])
    confidence = options["confidence"]
    if confidence is not None:
        refuse_confidence(find_divergence(options["divergence"]), confidence)
        options["confidence"] = _divided(confidence, chosen)
        confidence = read_confidence(confidence)
    first, *others = chosen.objectives
    parts = [pose(validate(chosen.population, objective=first, **options))]
    for objective in others:  # what is known of a sample, and what other divergences refuse, depends on the objective
        again = confidence is not None or parts[0].divergence is not HELLINGER
        other = pose(validate(chosen.population, objective=objective, **options)) if again else None
        parts.append(other or parts[0].about(objective))
    return MetricStatements(chosen, tuple(parts), confidence)


def _divided(confidence: object, chosen: Chosen) -> float:
    """Return the confidence of each comparison, so that all of them together have the one that was asked for."""
    count = len(chosen.objectives)
    # Rounded up: the error probabilities must not add up to more than allowed.
    each = math.nextafter(1.0 - (1.0 - read_confidence(confidence)) / count, 1.0)
    if 1.0 - each < LEAST_ERROR:
        message = (
            f"{given('confidence', confidence)} is too near to 1 for {given('metric', chosen.metric.name)}: its error "
            f"probability is divided among {count} comparisons, and each needs {LEAST_ERROR:g} or more; use a smaller "
            f"{argument('confidence')}"
        )
        raise InputError(message)
    return each
