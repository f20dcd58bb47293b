"""Metrics: whether the statements of a document cover all that its metric is the largest (or smallest) of.

Section "The metric" of docs/specification.md. The statements are checked one by one, see fairbound.verify.verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

from fairbound.verify.document import Objective, Single
from fairbound.verify.names import SELECTED
from fairbound.verify.strict import canonical


@dataclass(frozen=True)
class Metric:
    """What a metric is made of: whether it is about what is predicted; of one group, or of two; among which rows.

    ``rows``: "all", those of "each" label, those of the "positive" label, of the "other" ones, or "both" of these.
    """

    selects: bool
    pairs: bool
    rows: str
    ratio: bool = False


METRICS = {
    "group_loss": Metric(False, False, "all"),
    "selection_rate": Metric(True, False, "all"),
    "cell_loss": Metric(False, False, "each"),
    "group_loss_difference": Metric(False, True, "all"),
    "demographic_parity_difference": Metric(True, True, "all"),
    "demographic_parity_ratio": Metric(True, True, "all", ratio=True),
    "true_positive_rate_difference": Metric(True, True, "positive"),
    "false_positive_rate_difference": Metric(True, True, "other"),
    "equalized_odds_difference": Metric(True, True, "both"),
}


def made_of(single: Single) -> list[int] | None:
    """Return by what statements all is proved that the metric is the worst of, by their numbers.

    What compares two groups is proved by itself, or with every two groups. None: something is missing.
    """
    number = {one.objective: n for n, one in enumerate(single.question.statements)}
    found = [number.get(about, number.get(_every(about))) for about in _wanted(single)]
    return None if None in found else list(dict.fromkeys(n for n in found if n is not None))


def _every(about: Objective | None) -> Objective | None:
    """Return the statement of every two groups that a comparison is part of, and else the statement itself."""
    pair = about is not None and about.plus is not None and about.minus is not None
    return replace(about, plus=None, minus=None) if about is not None and pair else about


def is_ratio(single: Single) -> bool:
    """Whether the metric is a ratio, which is bounded from below."""
    return any(one.objective is not None and one.objective.ratio for one in single.question.statements)


def missing_reasons(single: Single) -> Iterator[str]:
    """Say what is wrong with the whole, apart from its parts."""
    name, stated = single.question.metric.name, [one.objective for one in single.question.statements]
    wanted, made, confidence = _wanted(single), made_of(single), single.question.confidence
    if not wanted:
        yield f"the metric {name[:60]!r} cannot be asked of this population"
        return
    # What takes the place of a sample is another one for each pair.
    possible = {*wanted, *(map(_every, wanted) if confidence is None else ())}
    if len(set(stated)) < len(stated) or not possible >= set(stated) or made is None:
        yield "the statements are not those that the metric is made of: some are missing, others, or there twice"
        return
    if confidence is not None:
        allowed = (1 - Fraction(confidence)) / len(wanted)
        if any(1 - Fraction(one.confidence or 0) > allowed for one in single.question.statements):
            yield "the statements do not hold together at the claimed confidence"
    ratio = is_ratio(single)
    for point in single.question.points:
        if point.claim is None:
            continue
        worst = (min if ratio else max)(point.answers[n].bound for n in made)
        if point.claim.bound > worst if ratio else point.claim.bound < worst:
            at = f"rho = {point.rho!r}: " if len(single.question.points) > 1 else ""
            yield f"{at}the claimed bound {point.claim.bound!r} does not follow: the worst statement gives {worst!r}"
        attained = [value for n in made if (value := point.answers[n].attained) is not None]
        if not attained or point.claim.attained != (min if ratio else max)(attained):
            yield f"the attained value {point.claim.attained!r} is not the worst that is shown"


def _wanted(single: Single) -> list[Objective | None]:
    """Return what the metric is the worst of: nothing if it makes no sense."""
    asked, population = single.question.metric, single.population
    if asked.name == "loss":
        return [None]
    metric = METRICS.get(asked.name)
    if metric is None or (metric.selects and population.loss != SELECTED):
        return []
    if metric.pairs and not metric.ratio and asked.group is not None:
        return []
    places = [] if population.pos_label is None else _places(population.labels, population.pos_label)
    rows: dict[str, list[tuple[int | None, bool]]] = {
        "all": [(None, True)],
        "each": [(y, True) for y in range(len(population.labels))],
        "positive": [(y, True) for y in places],
        "other": [(y, False) for y in places],
        "both": [(y, inside) for y in places for inside in (True, False)],
    }
    groups = _places(population.groups, asked.group)
    ends: list[tuple[int, int | None]] = [(s, None) for s in groups]
    if metric.pairs:  # a ratio of a chosen group is its own mean, divided by that of each other one
        ends = [(a, b) for a, b in permutations(range(len(population.groups)), 2) if b in groups]
    return [Objective(plus, minus, *row, metric.ratio) for plus, minus in ends for row in rows[metric.rows]]


def _places(names: list[Any], chosen: Any) -> list[int]:
    """Return the numbers of the names that are meant: all, unless one was chosen."""
    wanted = canonical(chosen)
    return [n for n, name in enumerate(names) if chosen is None or canonical(name) == wanted]
