"""From the worst case at given group shares to multipliers for a whole piece of group shares.

At a point k0 the best multipliers eta are known. Over a piece around it they may move as

    eta_sy(k) = base_s + (k0_s / k_s) (eta_sy - base_s),

with any base: at k0 they are the best ones, and the bound is correct to first order there. The choice of base decides
on the second order. If some base lies between all losses of a group and all its multipliers nothing is lost at all, on
any piece, however large; otherwise the best of a few candidates is taken (docs/theory.md, section 11).
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.fractional import FractionalSolution
from fairbound.solve.fractional_bounds import Leaves, group_totals
from fairbound.solve.problem import Problem

#: How often the best base is sought again between its neighbours.
REFINED = 2


def leaves_at(problem: Problem, point: FractionalSolution, vertices: Floats) -> Leaves:
    """Return multipliers for pieces with these vertices (N, m, S) from the solutions at one point of each."""
    centre = point.share
    eta = problem.ceiling + point.zeta / centre[..., None]
    base = _best_base(problem, point, eta, vertices)
    return _leaves(problem, point, eta, base, vertices)


def _leaves(problem: Problem, point: FractionalSolution, eta: Floats, base: Floats, vertices: Floats) -> Leaves:
    """Return the multipliers with a given base, raised where they would come too close to a ceiling in the piece.

    At the point itself ``k0 (eta - ceiling)`` is phi; half of it is kept at every vertex.
    """
    centre = point.share
    zeta = centre[..., None] * (eta - base[..., None])
    least = (vertices[..., None] * (problem.ceiling - base[:, None, :, None])).max(axis=1)
    least = least + 0.5 * point.zeta
    cutoff = least + 1e-14 * (np.abs(least) + problem.scale * centre[..., None])
    zeta = np.where(zeta < least, cutoff, zeta)
    none = np.zeros_like(point.zeta[:, 0])
    nu = point.nu - centre * base
    no_rows = np.zeros_like(point.group_mu), point.label_mu
    return Leaves(zeta, base, nu, centre, np.zeros_like(centre), point.lam, none, *no_rows)


def _best_base(problem: Problem, point: FractionalSolution, eta: Floats, vertices: Floats) -> Floats:
    """Return for each group the candidate that keeps the bound lowest over the vertices."""
    ends = np.concatenate([np.broadcast_to(problem.ceiling, eta.shape), eta], axis=2)
    ends = np.sort(ends, axis=2)
    offers = np.concatenate([ends, 0.5 * (ends[..., 1:] + ends[..., :-1])], axis=2)
    offers = np.sort(offers, axis=2)
    best = offers[..., 0]
    for _ in range(1 + REFINED):
        cost = np.stack([_cost(problem, point, eta, offer, vertices) for offer in np.moveaxis(offers, 2, 0)], axis=2)
        place = cost.argmin(axis=2)[..., None]
        best = np.take_along_axis(offers, place, axis=2)[..., 0]
        below = np.take_along_axis(offers, np.maximum(place - 1, 0), axis=2)
        above = np.take_along_axis(offers, np.minimum(place + 1, offers.shape[2] - 1), axis=2)
        middle = best[..., None]
        offers = np.concatenate(
            [below, 0.5 * (below + middle), middle, 0.5 * (middle + above), above],
            axis=2,
        )
    return best


def _cost(problem: Problem, point: FractionalSolution, eta: Floats, base: Floats, vertices: Floats) -> Floats:
    """Return how much each group adds to the bound, over all vertices together; shape (N, S)."""
    leaves = _leaves(problem, point, eta, base, vertices)
    with np.errstate(all="ignore"):
        total = group_totals(problem, vertices, leaves)
        moved = base[:, None] * (vertices - point.share[:, None])
        cost = (moved + np.square(point.lam)[:, None, None] * total).sum(axis=1)
        raised = leaves.zeta - point.share[..., None] * (eta - base[..., None])
        cost = cost + vertices.shape[1] * (point.rate * raised).sum(axis=2)
    return np.where(np.isfinite(cost), cost, np.inf)
