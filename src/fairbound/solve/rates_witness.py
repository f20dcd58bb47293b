"""Worst cases whose base rates may differ: as in :mod:`fairbound.solve.witness`, with rates for each group."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import most_affinity
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.problem import Problem
from fairbound.solve.rates_nearest import NearestRates
from fairbound.solve.witness import LEAST_SHARE, Witnesses, blend_weight, fill_cells, measure, unmoved


def build_rates_witnesses(
    problem: Problem,
    rates: BaseRates,
    rho: Floats,
    shares: tuple[Floats, Floats],
    multipliers: tuple[Floats, Floats],
    nearest: NearestRates,
) -> Witnesses:
    """Build a Q for each radius from group shares (N, S), base rates (N, S, C) and the multipliers eta and lam.

    Of lam there may be one for each cell.
    Shares and rates are repaired, and drawn towards those of the nearest distribution until keeping P inside the
    cells is enough to be in the ball. The affinity is jointly concave in them (a sum of geometric means), so linear
    interpolation gives a sufficient weight.
    """
    need = most_affinity(rho)
    plain = unmoved(problem)
    near = nearest.group_mass[:, None] * nearest.rate
    safest, reach = measure(problem, near, *plain, problem.counted_in(near))
    least = 0.0 if problem.parts is None else LEAST_SHARE
    k, r = problem.groups.inside(np.maximum(shares[0], least)), rates.inside(np.maximum(shares[1], least))
    mass = k[..., None] * r
    affinity = measure(problem, mass, *plain, problem.counted_in(mass))[1]
    if (affinity < need).any():
        blend = blend_weight(affinity, reach, need)[:, None]
        k = problem.groups.inside((1 - blend) * k + blend * nearest.group_mass)
        r = rates.inside((1 - blend[..., None]) * r + blend[..., None] * nearest.rate)
        mass = k[..., None] * r
    chosen = fill_cells(problem, need, (k, mass.sum(axis=1), mass), plain, multipliers, problem.counted_in(mass))
    worse = (chosen.affinity < need) | ((chosen.loss < safest) & (reach >= need))
    if worse.any():
        safe = Witnesses(nearest.group_mass, near.sum(axis=0), near, *plain, safest, reach)
        chosen = chosen.replaced(worse, safe)
    return chosen


def nearest_witnesses(problem: Problem, rates: BaseRates, rho: Floats, nearest: NearestRates) -> Witnesses:
    """Return what is in every ball: the nearest distribution."""
    shares = tuple(np.repeat(part[None], len(rho), axis=0) for part in (nearest.group_mass, nearest.rate))
    eta = np.repeat(problem.ceiling[None], len(rho), axis=0)
    return build_rates_witnesses(problem, rates, rho, (shares[0], shares[1]), (eta, np.zeros(len(rho))), nearest)
