"""Turn a peer's nearly feasible solution into a distribution that really is fair and in the ball.

A solver's solution satisfies the constraints up to its tolerance only, so its value may lie above the true
maximum. The repaired value is one that a fair distribution attains: a certificate below it would be wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Problem, nearest_fair_marginals

Array = NDArray[np.float64]

# Covers the rounding of sums of at most a few hundred terms: the affinity must exceed its least value by this
# much, and the loss is reported this much lower.
ROUNDING_MARGIN = 1e-12


def feasible_value(problem: Problem, group: Array, label: Array, miss: Array) -> float:
    r"""Evaluate a fair Q near the given one that is inside the ball.

    Parameters
    ----------
    problem : Problem
        Cells with a 0-1 loss, and the radius.
    group, label : ndarray of shape (S,) and (C,)
        Marginals :math:`k, r` of the peer's solution.
    miss : ndarray of shape (S, C)
        Share of each cell's mass that has loss 1. For sensitive shifting it is the cell's mean loss.

    Returns
    -------
    float
        Expected loss of a distribution in the ball: the peer's, mixed with the nearest fair one as little as
        the constraint demands.
    """
    _, near_group, near_label = nearest_fair_marginals(problem.mass)
    start = _simplex(group), _simplex(label), np.clip(miss, 0.0, 1.0)
    near = near_group / near_group.sum(), near_label / near_label.sum(), problem.mean

    def mixed(weight: float) -> tuple[float, float]:
        k, r, share = ((1.0 - weight) * ours + weight * other for ours, other in zip(start, near, strict=True))
        cell = np.outer(k, r)
        overlap = np.sqrt((1.0 - problem.mean) * (1.0 - share)) + np.sqrt(problem.mean * share)
        affinity = float(np.sum(np.sqrt(problem.mass * cell) * overlap))
        return affinity, float(np.sum(cell * share)) - ROUNDING_MARGIN

    wanted = problem.affinity + ROUNDING_MARGIN
    outside, inside = 0.0, 1.0
    if mixed(0.0)[0] >= wanted:
        return mixed(0.0)[1]
    while inside - outside > 1e-13:
        middle = 0.5 * (outside + inside)
        if mixed(middle)[0] >= wanted:
            inside = middle
        else:
            outside = middle
    return mixed(inside)[1]


def _simplex(marginal: Array) -> Array:
    positive = np.clip(marginal, 0.0, None)
    return np.asarray(positive / positive.sum())
