"""General shifting with a common ceiling: answers from one convex program for each radius, solved together."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.general_saddle import GeneralSaddle, GeneralSolution, solve_general
from fairbound.solve.leaf_bounds import general_bound
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, TangentProof
from fairbound.solve.witness import build_witnesses

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely convex programs are solved: at first, relative to the tolerance's share of a cell, and at best.
ROUGH_ACCURACY = 0.1
BEST_ACCURACY = 1e-14


def general_answers(problem: Problem, nearest: NearestFair, rhos: Floats, axis: Axis, tol: float) -> list[Answer]:
    """General shifting with a common ceiling: one convex program per radius, solved together."""
    chunk = max(1, BATCH_ATOMS // problem.upper.probability.size)
    answers: list[Answer] = []
    for start in range(0, len(rhos), chunk):
        answers += _solved(problem, nearest, rhos[start : start + chunk], axis, tol)
    return answers


def _solved(problem: Problem, nearest: NearestFair, rho: Floats, axis: Axis, tol: float) -> list[Answer]:
    """Solve a batch of these programs as accurately as the tolerance asks for.

    The few whose gap is still too large are followed as far as floats go.
    """
    scale, upper = problem.scale, problem.upper
    root, deficit = np.sqrt(upper.probability), (scale - upper.loss) / scale
    saddle = GeneralSaddle(root[None], deficit[None], least_affinity(rho), problem.groups, problem.labels)
    rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / scale / problem.mass.size)
    found = solve_general(saddle, rough)
    answers = _evaluated(problem, nearest, rho, axis, found)
    again = np.array([index for index, a in enumerate(answers) if a.bound - a.witness.loss > 0.3 * tol], dtype=np.int64)
    if len(again) and rough > BEST_ACCURACY:
        found = solve_general(saddle.take(again), BEST_ACCURACY, found.state[again])
        for index, better in zip(again, _evaluated(problem, nearest, rho[again], axis, found), strict=True):
            answers[index] = better
    return answers


def _evaluated(problem: Problem, nearest: NearestFair, rho: Floats, axis: Axis, found: GeneralSolution) -> list[Answer]:
    """Return what multipliers prove, and what they suggest attains it."""
    scale = problem.scale
    phi = found.phi * scale
    multipliers = phi, found.label_share, found.level_mu * scale, found.share_mu / scale
    bound = general_bound(problem, rho, *multipliers)
    eta = scale + phi / found.label_share[:, None]
    shares = found.group_share, found.label_share
    witnesses = build_witnesses(problem, rho, shares, eta, found.lam * scale, nearest)
    proofs = [TangentProof(axis, *one) for one in zip(*multipliers, strict=True)]
    return [Answer(value, witnesses[i], proofs[i]) for i, value in enumerate(bound.tolist())]
