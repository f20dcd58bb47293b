"""Parity and odds as the target: under sensitive shifting a linear program over mixtures of thresholds is exact.

Inside of the cells nothing changes, so the true and false positive rates of a group are what they are: the certified
difference in odds is that of the data. Selection rates are ``(1 - r) fpr + r tpr`` with the share r of the second
label, which is the same for all groups and lies in an interval that no decision moves. So both are the largest of
linear functions of the rates. The rates of a group that thresholds reach, mixed at random, are the convex hull of its
ROC curve: a linear program finds the best ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.certificate.certify import certify
from fairbound.data.population import Population

#: The metrics that are linear in the rates, and what they compare: true and false positive rates, or selection rates.
LINEAR = {
    "equalized_odds_difference": ("true", "false"),
    "true_positive_rate_difference": ("true",),
    "false_positive_rate_difference": ("false",),
    "demographic_parity_difference": ("selected",),
}

#: What a unit of error is worth in units of the target, so that of equally good rates the ones with fewer errors count.
TIE = 1e-6

#: Smaller shares of a mixture are rounding.
LEAST = 1e-9


@dataclass(frozen=True)
class Mixture:
    """For each group thresholds of the score, and with which probability each of them is taken."""

    thresholds: tuple[tuple[tuple[float, float], ...], ...]

    def selected(self, scores: Floats, groups: Integers, seed: int) -> Booleans:
        """Return which rows are predicted as the second label; each row draws its threshold."""
        drawn = np.random.default_rng(seed).random(len(scores))
        limit = np.empty(len(scores))
        for s, mixed in enumerate(self.thresholds):
            here = groups == s
            ends = np.cumsum([share for share, _ in mixed])
            place = np.minimum(np.searchsorted(ends, drawn[here], side="right"), len(mixed) - 1)
            limit[here] = np.array([threshold for _, threshold in mixed])[place]
        found: Booleans = scores > limit
        return found


@dataclass(frozen=True)
class Mixed:
    """What a linear program found: the mixture, its expected error, and what is certified of its expected rates."""

    mixture: Mixture
    error: float
    bound: float


class Mixtures:
    """The linear program of some rows: scores of the second label, labels 0 and 1, groups."""

    def __init__(
        self, scores: Floats, labels: Integers, groups: Integers, metric: str, rho: float, options: Mapping[str, Any]
    ) -> None:
        self.metric, count = metric, int(groups.max()) + 1
        place = groups * 2 + labels
        self.mass = np.bincount(place, minlength=2 * count).reshape(count, 2) / len(scores)
        self.curves = [_hull(scores[groups == s], labels[groups == s]) for s in range(count)]
        self.shares: tuple[float, ...] = ()
        if "selected" in LINEAR[metric]:
            self.shares = _reachable(self.mass, rho, options)

    def value(self, rates: Floats) -> float:
        """Return what is certified of rates, a row (false, true) for each group."""
        return float(max((rates @ way).max() - (rates @ way).min() for way in self._ways()))

    def _ways(self) -> list[Floats]:
        """Return what is compared between groups: weights of the false and the true positive rate."""
        ways = {"true": [np.array([0.0, 1.0])], "false": [np.array([1.0, 0.0])]}
        ways["selected"] = [np.array([1.0 - share, share]) for share in self.shares]
        return [way for name in LINEAR[self.metric] for way in ways[name]]

    def error(self, rates: Floats) -> float:
        """Return the error of rates."""
        return float((self.mass[:, 0] * rates[:, 0] + self.mass[:, 1] * (1.0 - rates[:, 1])).sum())

    def solve(self, allowed: float) -> Mixed:
        """Return the best mixture whose error is at most so much, or is the least there is."""
        sizes = [len(points) for points, _ in self.curves]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        width = int(starts[-1]) + 1  # the last variable is the target
        errors = np.zeros(width)
        for s, (points, _) in enumerate(self.curves):
            errors[starts[s] : starts[s + 1]] = self.mass[s, 0] * points[:, 0] - self.mass[s, 1] * points[:, 1]
        constant = float(self.mass[:, 1].sum())
        rows = []
        for way in self._ways():
            for a, b in permutations(range(len(sizes)), 2):
                row = np.zeros(width)
                row[starts[a] : starts[a + 1]] += self.curves[a][0] @ way
                row[starts[b] : starts[b + 1]] -= self.curves[b][0] @ way
                row[-1] = -1.0
                rows.append(row)
        whole = np.zeros((len(sizes), width))
        for s in range(len(sizes)):
            whole[s, starts[s] : starts[s + 1]] = 1.0
        least = constant + sum(float(errors[starts[s] : starts[s + 1]].min()) for s in range(len(sizes)))
        goal = TIE * errors
        goal[-1] = 1.0
        found = linprog(
            goal,
            A_ub=np.vstack([*rows, errors]),
            b_ub=np.array([0.0] * len(rows) + [max(allowed, least + 1e-12) - constant]),
            A_eq=whole,
            b_eq=np.ones(len(sizes)),
            bounds=(0.0, None),
            method="highs",
        )
        if not found.success:
            message = f"the linear program of the thresholds ended without a solution: {found.message}"
            raise ArithmeticError(message)
        mixed, rates, solution = [], np.zeros((len(sizes), 2)), np.asarray(found.x)
        for s, (points, limits) in enumerate(self.curves):
            part = solution[starts[s] : starts[s + 1]]
            share = np.where(part > LEAST, part, 0.0)
            share = share / share.sum()
            rates[s] = share @ points
            some = np.flatnonzero(share)
            mixed.append(tuple((float(share[k]), float(limits[k])) for k in some))
        return Mixed(Mixture(tuple(mixed)), self.error(rates), self.value(rates))


def _hull(scores: Floats, labels: Integers) -> tuple[Floats, Floats]:
    """Return the corners (false, true positive rate) of the upper hull of a ROC curve, and their thresholds."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    totals = [max(1, int((labels == y).sum())) for y in (0, 1)]
    points = np.stack([np.cumsum(labels[order] == y)[ends] / total for y, total in enumerate(totals)], axis=1)
    points = np.vstack([[0.0, 0.0], points])
    between = 0.5 * (scores[order][ends[:-1]] + scores[order][ends[1:]])
    limits = np.concatenate([[np.inf], between, [-np.inf]])
    kept: list[int] = []
    for n in range(len(points)):
        while len(kept) > 1 and _turn(points[kept[-2]], points[kept[-1]], points[n]) >= 0:
            kept.pop()
        kept.append(n)
    return points[kept], limits[kept]


def _turn(first: Floats, second: Floats, third: Floats) -> float:
    one, two = second - first, third - first
    return float(one[0] * two[1] - one[1] * two[0])


def _reachable(mass: Floats, rho: float, options: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the largest share that the second label may have: bounds of a loss that is 1 on a label."""
    most = []
    for label in (0, 1):
        mean = np.zeros_like(mass)
        mean[:, label] = 1.0
        most.append(certify(Population.from_moments(mass, mean), rho, shift="sensitive", **options).bound)
    return 1.0 - most[0], most[1]
