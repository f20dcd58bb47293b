"""Ratios of two groups' means, from below.

``mean_b >= t mean_a`` in every distribution in question if and only if the largest value of ``t mean_a - mean_b`` is
not positive. That value grows with t. Distributions that are found give ratios that are attained, each a better t to
try (Dinkelbach's method); the bound is a slightly smaller t at which multipliers prove that the value is not positive.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import UNIT
from fairbound.solve.answer import Answer
from fairbound.solve.mean_batch import MeanBatch
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Proof
from fairbound.solve.witness import Witness

#: A limit on how often a better factor is looked for; by how much it is lowered until it is proved, in tolerances.
TRIALS, LOWERINGS = 12, (0.3, 0.9, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e5)


def ratio_answers(
    scaled: Callable[[float], Problem],
    solver: Callable[[list[Problem]], MeanBatch],
    groups: tuple[int, int],
    rho: Floats,
    tol: float,
    known: Floats,
) -> list[Answer]:
    """Answer at each radius; ``scaled(t)`` is the problem of ``t mean_a - mean_b`` for the ``groups`` a and b.

    Only the smallest ratio of all groups counts: no bound has to be above what is ``known`` to be attained by others.
    """
    plain = scaled(1.0)
    jobs = np.arange(len(rho))
    # No factor above one is of interest: of two groups one has the smaller mean.
    factor, attained = np.clip(known, 0.0, 1.0), np.full(len(rho), np.inf)
    least = solver([scaled(0.0)])
    zero = least.plain(0, 1).proof(least.rates.tolerance)  # means are not negative
    worst: dict[int, Witness] = {}
    proofs: dict[int, tuple[float, Proof]] = {}
    for job, answer in enumerate(least.at_ceiling(np.zeros_like(jobs), rho, jobs)):
        ratio = 1.0 if answer is None else attained_ratio(plain, answer.witness, groups)
        if answer is not None and ratio <= 0.0:  # the mean of b can be zero: no ratio is kept
            attained[job], worst[job], proofs[job] = ratio, answer.witness, (0.0, zero)
    open_ = np.array([job for job in jobs if job not in proofs], dtype=np.int64)
    left = open_
    for _ in range(TRIALS if len(open_) else 0):
        for job, answer in zip(left, _solved(scaled, factor[left], solver, rho[left], tol), strict=True):
            ratio = attained_ratio(plain, answer.witness, groups)
            if ratio < attained[job] or job not in worst:
                attained[job], worst[int(job)] = ratio, answer.witness
        left = left[attained[left] < factor[left] - 0.02 * tol]
        factor = np.clip(np.minimum(attained, factor), 0.0, 1.0)
        if not len(left):
            break
    left = open_
    for step in LOWERINGS if len(open_) else ():
        tried = np.maximum(factor[left] - step * tol, 0.0)
        for job, t, answer in zip(left, tried, _solved(scaled, tried, solver, rho[left], tol), strict=True):
            if answer.bound <= 0.0:
                proofs[int(job)] = float(t), answer.proof
        left = np.array([job for job in left if job not in proofs], dtype=np.int64)
        if not len(left):
            break
    return [
        Answer(bound, worst[job], proof)
        for job, (bound, proof) in ((job, proofs.get(job, (0.0, zero))) for job in range(len(rho)))
    ]


def _solved(
    scaled: Callable[[float], Problem],
    factor: Floats,
    solver: Callable[[list[Problem]], MeanBatch],
    rho: Floats,
    tol: float,
) -> list[Answer]:
    """Answer for each factor at its radius."""
    return solver([scaled(float(t)) for t in factor]).answers(np.arange(len(factor)), rho, 0.01 * tol)


def attained_ratio(problem: Problem, witness: Witness, groups: tuple[int, int]) -> float:
    """Return the ratio of the means of the groups (a, b), b to a, in a distribution; rounded up, and at most one."""
    first, second = (group_mean(problem, witness, group) for group in groups)
    if not first > 0:
        return 1.0
    return min(1.0, float(-second / first * (1.0 + (problem.upper.places + 64) * 4 * UNIT)) + 0.0)


def group_mean(problem: Problem, witness: Witness, group: int) -> float:
    """Return the mean value of a group in a distribution (of a group that is subtracted, its negative)."""
    inside = (witness.reweighting[group] * problem.lower.loss[group]).sum(axis=1)
    rate = witness.mass[group] / witness.mass[group].sum()
    return float((rate * (inside + witness.unseen[group] * problem.ceiling[group])).sum())
