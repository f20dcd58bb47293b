"""Means given a group under divergences other than Hellinger's, in ball arithmetic (docs/metrics.md).

Standard library and python-flint only. A leaf proves that ``E_Q[value - t]`` over the cells of the mean is not
positive; or, relaxed, that the largest values that Q may put into these cells have a mean of at most t, over all groups
with their labels' shares, which are those of the group. Of two groups a and b it proves that of
``k_a k_b (mean_a - mean_b - t)``, or relaxes one of the two means, or both.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from flint import arb

from fairbound.verify.conditional import MeanCase
from fairbound.verify.divergence import leaf_bound, single_bound
from fairbound.verify.duality import Case, RefusedError, largest, pieces

Cell = tuple[int, int]


def mean_excesses(case: MeanCase, question: dict[str, Any], proof: dict[str, Any], claimed: float) -> list[arb]:
    """Return for each leaf a number that is not positive if it proves that the mean is at most what is claimed."""
    if question["objective"]["minus"] is not None and not question["fair"]:
        raise RefusedError("comparisons of groups need equal base rates here")
    mean = arb(0) if question["objective"]["ratio"] else arb(claimed)
    kind = "mean_partition" if question["fair"] else "mean_single"
    compares = proof["kind"] == "difference_partition" and question["fair"] and case.objective["minus"] is not None
    if proof["kind"] != kind and not compares:
        raise RefusedError(f"a proof of the kind {proof['kind']} does not answer this question; it takes a {kind}")
    plain, relaxed = _less(case, mean), _relaxed(case, question)
    most = largest(list(relaxed.ceiling.values()))
    if not question["fair"]:
        if proof["relaxed"]:  # no mean exceeds the largest value there is
            return [most - mean]
        return [single_bound(plain, question, proof)]
    if proof["axis"] == "group":
        plain, relaxed = _transposed(plain), _transposed(relaxed)
    if compares:
        return _differences(case, question, proof, mean, relaxed)
    found = []
    for leaf, piece in pieces(plain, proof):
        if leaf["relaxed"]:
            found.append(leaf_bound(relaxed, question, leaf, piece).min(most) - mean)
        elif case.objective["minus"] is not None:
            raise RefusedError("a comparison of groups is proved by relaxed leaves only")
        else:
            found.append(leaf_bound(plain, question, leaf, piece))
    return found


def _differences(
    case: MeanCase, question: dict[str, Any], proof: dict[str, Any], mean: arb, relaxed: Case
) -> list[arb]:
    """Return the same of a proof in pieces of the group shares; ``relaxed`` has been turned already."""
    if proof["axis"] != "group":
        raise RefusedError("a comparison of groups inside their cells takes pieces of the group shares")
    tops = {cell: _largest(case, question, cell) for cell in case.upper if case.sign(*cell)}
    most = largest(list(relaxed.ceiling.values()))
    alone = {sign: _transposed(_alone(case, sign, tops, mean)) for sign in (1, -1)}
    found = []
    for leaf, piece in pieces(relaxed, proof):
        if leaf["plus_relaxed"] and leaf["minus_relaxed"]:
            found.append(leaf_bound(relaxed, question, leaf, piece).min(most) - mean)
        elif leaf["plus_relaxed"] or leaf["minus_relaxed"]:
            found.append(leaf_bound(alone[1 if leaf["minus_relaxed"] else -1], question, leaf, piece))
        else:
            weighed = partial(_weighed, case, mean)
            found.append(leaf_bound(relaxed, question, leaf, piece, weighed))
    return found


def _weighed(case: MeanCase, mean: arb, shares: list[arb]) -> Case:
    """Return the values whose expectation is ``k_a k_b (mean_a - mean_b - mean)`` with these group shares, turned."""
    times = {1: shares[case.objective["minus"]], -1: shares[case.objective["plus"]], 0: arb(0)}
    less = {1: mean, -1: arb(0), 0: arb(0)}
    return _transposed(_changed(case, lambda value, cell: times[case.sign(*cell)] * (value - less[case.sign(*cell)])))


def _alone(case: MeanCase, sign: int, tops: dict[Cell, arb], mean: arb) -> Case:
    """Return the values of one group, with the most that the other one's cells of the same label add, less a mean."""
    other = case.objective["minus" if sign > 0 else "plus"]
    return _changed(
        case,
        lambda value, cell: value + tops[other, cell[1]] - mean if case.sign(*cell) == sign else arb(0),
    )


def _changed(case: Case, change: Callable[[arb, Cell], arb]) -> Case:
    """Change all values and ceilings."""
    made = copy(case)
    made.upper = {cell: [(p, change(value, cell)) for p, value in atoms] for cell, atoms in case.upper.items()}
    made.ceiling = {cell: change(top, cell) for cell, top in case.ceiling.items()}
    return made


def _less(case: MeanCase, mean: arb) -> Case:
    """Take a mean off the values of the cells that it is taken over."""
    return _changed(case, lambda value, cell: value - mean if case.sign(*cell) else value)


def _relaxed(case: MeanCase, question: dict[str, Any]) -> Case:
    """Give every group the largest values that Q may put into the cells of the mean, label by label.

    Without equal base rates, and for means over the rows of some labels, all have the largest one of them.
    """
    tops = {cell: _largest(case, question, cell) for cell in case.upper if case.sign(*cell)}
    by_label = dict.fromkeys(sorted({y for _, y in tops}), arb(0))
    for (_, y), top in tops.items():
        by_label[y] += top
    worst = largest(list(by_label.values()))
    alike = case.objective["label"] is not None or not question["fair"]
    made = copy(case)
    made.ceiling = {(s, y): worst if alike else by_label[y] for s, y in case.upper}
    made.upper = {
        cell: [(sum((p for p, _ in atoms), arb(0)), made.ceiling[cell])] if atoms else []
        for cell, atoms in case.upper.items()
    }
    return made


def _largest(case: MeanCase, question: dict[str, Any], cell: Cell) -> arb:
    """Return the largest value that Q may put into a cell; what it puts nothing into does not matter."""
    values = [value for p, value in case.upper[cell] if not p.is_zero()]
    if question["divergence"] == "total_variation" or not values:
        values.append(case.ceiling[cell])
    return largest(values)


def _transposed(case: Case) -> Case:
    """Exchange groups and labels."""
    made = copy(case)
    made.upper = {(y, s): atoms for (s, y), atoms in case.upper.items()}
    made.ceiling = {(y, s): top for (s, y), top in case.ceiling.items()}
    made.groups, made.labels = case.labels, case.groups
    made.group_skew, made.label_skew = case.label_skew, case.group_skew
    return made
