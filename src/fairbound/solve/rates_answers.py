"""Answers where base rates may differ: bounds, worst cases and proofs for many radii."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.problem import Problem
from fairbound.solve.proof import RatesProof
from fairbound.solve.rates_bounds import Leaves
from fairbound.solve.rates_nearest import NearestRates
from fairbound.solve.rates_search import RatesSearch
from fairbound.solve.witness import Witness


def rates_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most: the work per piece grows with the table."""
    return int(np.clip(1e6 / (problem.upper.probability.size * problem.groups.size**2), 4, 1000))


def rates_answers(
    problem: Problem, rates: BaseRates, nearest: NearestRates, rhos: Floats, tol: float, budget: int
) -> list[tuple[float, Witness, RatesProof]]:
    """Solve for feasible radii."""
    ended = RatesSearch(problem, rates, nearest, tol, budget).run(rhos)
    found = []
    for index, (bound, tree) in enumerate(
        zip(ended.bound.tolist(), ended.forest.proofs("group", problem.groups.floors), strict=True)
    ):
        leaves = Leaves.unpacked(tree.w, tree.centre, tree.omega)
        proof = RatesProof(
            tree.floors, tree.splits, leaves.zeta, leaves.base, leaves.nu, leaves.centre, leaves.omega, leaves.lam
        )
        found.append((min(bound, float(problem.ceiling.max())), ended.witness[index], proof))
    return found
