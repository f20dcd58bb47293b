"""Metrics: whether a document speaks of all that its metric is the largest (or smallest) of, and claims no more.

Standard library only. The statements themselves are checked one by one; see :mod:`fairbound.verify.verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, permutations
from typing import Any

from fairbound.verify.reading import SELECTED, Whole
from fairbound.verify.strict import canonical

#: Characters of a name that are repeated in what is said of each statement.
MOST_SHOWN = 200

#: Means given the group; differences, and ratios, between two groups; among the rows of the positive label or others.
OF_GROUPS = {"group_loss": False, "selection_rate": True, "cell_loss": False}
OF_PAIRS: dict[str, tuple[bool, list[tuple[str | None, bool]], bool]] = {
    "group_loss_difference": (False, [(None, True)], False),
    "demographic_parity_difference": (True, [(None, True)], False),
    "demographic_parity_ratio": (True, [(None, True)], True),
    "true_positive_rate_difference": (True, [("positive", True)], False),
    "false_positive_rate_difference": (True, [("positive", False)], False),
    "equalized_odds_difference": (True, [("positive", True), ("positive", False)], False),
}


def missing_reasons(whole: Whole) -> Iterator[str]:
    """Say what is wrong with the whole, apart from its parts."""
    first = whole.parts[0][0]
    population, metric = first["population"], whole.metric or {}
    name = metric.get("name")
    expected = _expected(name, metric.get("group"), population)
    if expected is None:
        yield f"the metric {str(name)[:60]!r} cannot be asked of this population"
        return
    made = [documents[0]["question"]["objective"] for documents in whole.parts]  # the same at every radius
    if list(islice(expected, len(made) + 1)) != made:
        yield "the statements are not those that the metric is made of"
    levels = [documents[0]["question"]["confidence"] for documents in whole.parts]
    if any((level is None) != (whole.confidence is None) for level in levels):
        yield "a confidence is claimed of statements that know nothing of a sample, or the other way round"
    elif whole.confidence is not None and sum(1 - Fraction(level) for level in levels) > 1 - Fraction(whole.confidence):
        yield "the statements do not hold together at the claimed confidence"
    worst = min if whole.lower else max
    for number, claim in enumerate(whole.claims):
        parts = [documents[number] for documents in whole.parts]
        bound, attained = (worst(d["claim"][key] for d in parts) for key in ("bound", "attained"))
        if claim["bound"] > bound if whole.lower else claim["bound"] < bound:
            yield f"the claimed bound {claim['bound']!r} does not follow: the worst statement gives {bound!r}"
        if claim["attained"] != attained:
            yield f"the attained value {claim['attained']!r} is not that of any statement; the worst is {attained!r}"


def _expected(name: Any, group: Any, population: dict[str, Any]) -> Iterator[dict[str, Any]] | None:
    """Return the objectives that a metric is made of, of which there may be millions; None if it makes no sense."""
    groups = range(len(population["groups"]))
    if name not in OF_GROUPS and name not in OF_PAIRS:
        return None
    selects = OF_GROUPS[name] if name in OF_GROUPS else OF_PAIRS[name][0]
    if selects and population["loss"] != SELECTED:
        return None
    if name in OF_PAIRS and group is not None:
        return None
    if name in OF_GROUPS:
        own = canonical(group)
        chosen = [s for s in groups if group is None or canonical(population["groups"][s]) == own]
        labels = range(len(population["labels"])) if name == "cell_loss" else [None]
        return (_objective(s, None, y, True, False) for y in labels for s in chosen) if chosen else None
    _, kinds, ratio = OF_PAIRS[name]
    label = None
    if any(where == "positive" for where, _ in kinds):
        names = [canonical(label) for label in population["labels"]]
        if canonical(population["positive"]) not in names:
            return None
        label = names.index(canonical(population["positive"]))
    return (
        _objective(a, b, None if where is None else label, inside, ratio)
        for where, inside in kinds
        for a, b in permutations(groups, 2)
    )


def _objective(plus: int, minus: int | None, label: int | None, inside: bool, ratio: bool) -> dict[str, Any]:
    return {"plus": plus, "minus": minus, "label": label, "inside": inside, "ratio": ratio}


def describe_objective(document: dict[str, Any]) -> str:
    """Name the groups and the label of a statement."""
    objective, population = document["question"]["objective"], document["population"]
    names = [_named(population["groups"], objective[key]) for key in ("plus", "minus") if objective[key] is not None]
    said = f"group {names[0]}" if len(names) == 1 else f"groups {names[0]} and {names[1]}"
    if objective["label"] is not None:
        said += f", label {'' if objective['inside'] else 'not '}{_named(population['labels'], objective['label'])}"
    return said


def _named(names: list[Any], number: int) -> str:
    """Return a name, or what there is in its place: strangers write what they like."""
    return repr(names[number])[:MOST_SHOWN] if number < len(names) else f"number {number} (there is none)"
