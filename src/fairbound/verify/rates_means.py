"""Means given a group where base rates may differ, in ball arithmetic: what a proof proves of them (docs/metrics.md).

Standard library and python-flint only.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from flint import arb

from fairbound.verify.conditional import MeanCase, pulls_of
from fairbound.verify.duality import RefusedError, exact, gain, support
from fairbound.verify.rates import rates_support


def means_bounds(case: MeanCase, proof: dict[str, Any]) -> list[arb]:
    """Evaluate the bounds, one for each piece; pieces must cover what the least share of the first part can be."""
    pieces, cuts, mu = proof["theta"], proof["cuts"], proof["group_mu"]
    ends = 2 if cuts else 1
    if any(len(piece) != ends for piece in [*pieces, *mu]):
        raise RefusedError(f"each piece must have {ends} set{'s' if ends > 1 else ''} of multipliers")
    if not cuts:
        if len(pieces) != 1:
            raise RefusedError("without cuts there must be one piece")
        return [_whole(case, pieces[0][0], mu[0][0], proof["nu"])]
    if len(case.parts) == 1:
        raise RefusedError("means over all labels need one piece, and no cuts")
    if len(cuts) != len(pieces) + 1 or any(not a < b for a, b in pairwise(cuts)):
        raise RefusedError("the cuts must increase, one more of them than there are pieces")
    if cuts[0] > 0 or not exact(cuts[-1]) >= 1 - case.tolerance:
        raise RefusedError("the pieces leave out shares of labels that are possible")
    return [_piece(case, theta, mu[n], cuts[n : n + 2]) for n, theta in enumerate(pieces)]


def _whole(case: MeanCase, theta: list[list[float]], mu: list[float], nu: list[float]) -> arb:
    """Evaluate the bound of multipliers that serve all shares: in each group the worse part counts."""
    pull = pulls_of(case, theta)
    if len(case.parts) == 1:
        level = rates_support([[arb(v) for v in row] for row in theta], [arb(v) for v in nu], case.tolerance)
    else:
        level = _level(case, theta)
    if pull is None:
        return level  # the ball gains nothing
    most = [pull[0][s] if len(pull) == 1 else pull[0][s].max(pull[1][s]) for s in range(case.groups)]
    return gain(case, level, support(most, case.group_skew, case.group_limits, mu))


def _piece(case: MeanCase, pieces: list[list[list[float]]], group_mu: list[list[float]], ends: list[float]) -> arb:
    """Evaluate one bound; the multipliers move linearly between the ends."""
    level = _level(case, pieces[0]).max(_level(case, pieces[1]))
    first, second = (pulls_of(case, theta) for theta in pieces)
    if first is None or second is None:
        return level  # the ball gains nothing
    t, pulls = [arb(ends[0]), arb(ends[1])], [first, second]
    most: arb | None = None
    for j in range(2):
        mixed = []
        for s in range(case.groups):
            more = (second[1][s] - first[1][s]) - (second[0][s] - first[0][s])
            bent = (t[1] - t[0]) / 4 * more.max(arb(0))
            low, high = (u * pulls[j][0][s] + (1 - u) * pulls[j][1][s] for u in (t[j], t[j] + arb(case.tolerance)))
            mixed.append(low.max(high) + bent)
        total = support(mixed, case.group_skew, case.group_limits, group_mu[j])
        most = total if most is None else most.max(total)
    return gain(case, level, most if most is not None else arb(0))


def _level(case: MeanCase, theta: list[list[float]]) -> arb:
    """Return the largest sum of multipliers, one label for each group and part: any base rates give at most that."""
    level = arb(0)
    for row in theta:
        for part in case.parts:
            level += arb(max(row[y] for y in part))
    return level
