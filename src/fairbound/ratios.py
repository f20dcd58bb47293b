"""Ratios of two groups' means, from below: the largest factor at which one mean cannot fall below its share of the other.

``mean_b >= t mean_a`` in every distribution in question if and only if the largest value of ``t mean_a - mean_b`` is not
positive. That value grows with t. Distributions that are found give ratios that are attained, each a better t to try
(Dinkelbach's method); the bound is a slightly smaller t at which the multipliers prove that the value is not positive.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairbound.answer import Answer
from fairbound.arrays import Floats
from fairbound.bounds import conditional_bound
from fairbound.nearest import NearestFair
from fairbound.parity import Batch, at_ceiling, parity_answers
from fairbound.problem import Problem
from fairbound.proof import ConditionalProof
from fairbound.rounding import UNIT
from fairbound.witness import Witness

#: Limits on how often a better factor is looked for, and on how often the factor is lowered until it is proved.
TRIALS, LOWERINGS = 12, 60


def ratio_answers(
    scaled: Callable[[float], Problem], nearest: NearestFair, groups: tuple[int, int], rho: Floats, tol: float
) -> list[Answer]:
    """Answer at each radius; ``scaled(t)`` is the problem of ``t mean_a - mean_b`` for the ``groups`` a and b."""
    factor = np.ones(len(rho))
    best: list[Answer | None] = [None] * len(rho)
    attained = np.full(len(rho), np.inf)
    left = np.arange(len(rho))
    plain = scaled(1.0)
    for _ in range(TRIALS):
        batch = Batch([scaled(float(factor[job])) for job in left], [nearest] * len(left))
        which = np.arange(len(left))
        empty = at_ceiling(batch, which, rho[left])
        found = parity_answers(batch, which, rho[left], 0.1 * tol)
        again = []
        for place, job in enumerate(left):
            answer = empty[place] or found[place]
            ratio = attained_ratio(plain, answer.witness, groups)
            better = ratio < attained[job] or best[job] is None
            if better:
                attained[job], best[job] = ratio, answer
            # No factor above one is of interest: of two groups one has the smaller mean.
            if better and ratio < factor[job] - 0.05 * tol:
                factor[job] = max(ratio, 0.0)
                again.append(job)
        left = np.array(again, dtype=np.int64)
        if not len(left):
            break
    answers = [answer for answer in best if answer is not None]
    return [
        _proved(scaled, answer, float(start), float(least), float(radius), tol)
        for answer, start, least, radius in zip(answers, factor, attained, rho, strict=True)
    ]


def _proved(
    scaled: Callable[[float], Problem], answer: Answer, start: float, attained: float, rho: float, tol: float
) -> Answer:
    """Lower the factor until the multipliers prove it; a factor of zero needs no proof but a mean that is not negative."""
    proof = answer.proof
    factor, step = min(start, attained), 0.05 * tol
    theta = proof.theta if isinstance(proof, ConditionalProof) else np.zeros(0)
    for _ in range(LOWERINGS):
        if factor <= 0.0:
            break
        problem = scaled(factor)
        held = np.maximum(theta[:1], problem.ceiling)
        if conditional_bound(problem, np.array([rho]), held)[0] <= 0.0:
            return Answer(factor, answer.witness, ConditionalProof(held, np.zeros(0)))
        factor, step = factor - step, 1.5 * step
    zero = scaled(0.0)
    return Answer(0.0, answer.witness, ConditionalProof(zero.ceiling[None, None], np.zeros(0)))


def attained_ratio(problem: Problem, witness: Witness, groups: tuple[int, int]) -> float:
    """Return the ratio of the means of the groups (a, b), b to a, in a distribution; rounded up."""
    first, second = (group_mean(problem, witness, group) for group in groups)
    if not first > 0:
        return np.inf
    return float(-second / first * (1.0 + (problem.upper.places + 64) * 4 * UNIT)) + 0.0


def group_mean(problem: Problem, witness: Witness, group: int) -> float:
    """Return the mean value of a group in a distribution (of a group that is subtracted, its negative)."""
    inside = (witness.reweighting[group] * problem.lower.loss[group]).sum(axis=1)
    return float((witness.label_mass * (inside + witness.unseen[group] * problem.ceiling[group])).sum())
