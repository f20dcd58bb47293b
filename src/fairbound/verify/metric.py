"""Metrics: whether the statements of a document cover all that its metric is the largest (or smallest) of.

Standard library only. The statements themselves are checked one by one; see :mod:`fairbound.verify.verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

from fairbound.verify.document import Measured, Objective, Single
from fairbound.verify.names import SELECTED
from fairbound.verify.strict import canonical

#: With a confidence differences of no more groups than these are shown one by one: so few are surer that way, and
#: which way it is must not depend on the rows.
FEW_GROUPS = 10

#: Characters of a name that are repeated in what is said of each statement.
MOST_SHOWN = 200


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


def made_of(single: Single) -> list[tuple[int, ...]] | None:
    """Return by what statements all is proved that the metric is the worst of, by their numbers; each proof once.

    What compares two groups is proved by itself, with every two groups, or by what is proved of its two means. None:
    something is missing.
    """
    if single.question.metric.name == "loss":
        return [(0,)]
    number = {one.objective: n for n, one in enumerate(single.question.statements)}
    found: dict[tuple[int, ...], None] = {}
    for about in _wanted(single):
        ways = ((about,), _every(about), _halves(about))
        chosen = next((way for way in ways if way and all(one in number for one in way)), None)
        if chosen is None:
            return None
        found[tuple(number[one] for one in chosen)] = None
    return list(found)


def _every(about: Objective | None) -> tuple[Objective, ...]:
    """Return the statement of every two groups that a comparison is part of."""
    if about is None or about.plus is None or about.minus is None:
        return ()
    return (replace(about, plus=None, minus=None),)


def _halves(about: Objective | None) -> tuple[Objective, ...]:
    """Return the two means that a difference follows from."""
    if about is None or about.ratio or about.plus is None or about.minus is None:
        return ()
    return replace(about, minus=None), replace(about, plus=None)


def combined(made: list[tuple[int, ...]], bounds: Sequence[float | Fraction], *, ratio: bool) -> Fraction:
    """Return what bounds of the statements prove of the metric; sums are exact."""
    return (min if ratio else max)(sum((Fraction(bounds[n]) for n in proof), Fraction(0)) for proof in made)


def is_ratio(single: Single) -> bool:
    """Whether the metric is a ratio, which is bounded from below."""
    return any(one.objective is not None and one.objective.ratio for one in single.question.statements)


def missing_reasons(single: Single) -> Iterator[str]:
    """Say what is wrong with the whole, apart from its parts."""
    name, stated = single.question.metric.name, [one.objective for one in single.question.statements]
    possible: set[Objective | None] = {None} if name == "loss" else set(_wanted(single))
    if not possible:
        yield f"the metric {name[:60]!r} cannot be asked of this population"
        return
    wanted = list(possible)
    if single.question.confidence is None or len(single.population.groups) > FEW_GROUPS:
        possible |= {half for one in wanted for half in _halves(one)}
    if single.question.confidence is None:  # what takes the place of a sample is another one for each pair
        possible |= {every for one in wanted for every in _every(one)}
    made = made_of(single)
    if len(set(stated)) < len(stated) or not possible >= set(stated) or made is None:
        yield "the statements are not those that the metric is made of: some are missing, others, or there twice"
        return
    confidence = single.question.confidence
    if confidence is not None:
        # As sure as if all that the metric may be made of were shown: which are, rows may decide.
        allowed = (1 - Fraction(confidence)) / len(possible)
        if any(1 - Fraction(one.confidence or 0) > allowed for one in single.question.statements):
            yield "the statements do not hold together at the claimed confidence"
    ratio = name != "loss" and METRICS[name].ratio
    for point in single.question.points:
        if point.claim is None:
            continue
        worst = combined(made, [answer.bound for answer in point.answers], ratio=ratio)
        if point.claim.bound > worst if ratio else point.claim.bound < worst:
            yield f"the claimed bound {point.claim.bound!r} does not follow: the worst statement gives {float(worst)!r}"
        shown = [point.answers[proof[0]].attained for proof in made if len(proof) == 1]
        attained = [value for value in shown if value is not None]
        if not attained or point.claim.attained != (min if ratio else max)(attained):
            yield f"the attained value {point.claim.attained!r} is not the worst that is shown"


def _wanted(single: Single) -> list[Objective]:
    """Return what the metric is the worst of: nothing if it makes no sense."""
    asked, population = single.question.metric, single.population
    metric = METRICS.get(asked.name)
    if metric is None or (metric.selects and population.loss != SELECTED):
        return []
    if metric.pairs and not metric.ratio and asked.group is not None:
        return []
    places = [] if population.positive is None else _places(population.labels, population.positive)
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
    return [n for n, name in enumerate(names) if chosen is None or canonical(name) == canonical(chosen)]


def describe_objective(population: Measured, about: Objective | None) -> str:
    """Name the groups and the label of a statement, to stand before what is said of it."""
    if about is None:
        return ""
    named = [_named(population.groups, place) for place in (about.plus, about.minus) if place is not None]
    said = f"group {named[0]}" if len(named) == 1 else f"groups {' and '.join(named)}"
    if not named:
        said = "every two groups"
    if about.label is not None:
        said += f", label {'' if about.inside else 'not '}{_named(population.labels, about.label)}"
    return f"{said}: "


def _named(names: list[Any], number: int) -> str:
    """Return a name, or what there is in its place: strangers write what they like."""
    return repr(names[number])[:MOST_SHOWN] if number < len(names) else f"number {number} (there is none)"
