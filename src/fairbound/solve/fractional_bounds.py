"""From multipliers to bounds of form F for the expected loss, rounded outward.

A leaf is a piece of the group shares, the convex hull of k^1 .. k^m, with multipliers zeta (one per cell), base and nu
(one per group), offset (one per label) and lam >= 0. With ``top_sy = base_s + offset_y``,
``eta_sy(k) = zeta_sy / k_s + top_sy`` and ``q(k) = k / (zeta + k (top - loss))``

    loss <= sigma_rates(zeta + offset) + max_j [ <base - omega, k^j> + lam^2 sum_i p_i E_i[ q(k_s^j) ] ]
            + sigma_K(omega) - 2 lam tau

for every Q in the ball with these base rates and with group shares in the piece and in K, provided
``zeta + k_s^j top_sy >= k_s^j ceiling`` at every vertex; offsets are for equal base rates. Where zeta and
``top - loss`` are both positive q is concave in k, and its tangent at ``centre_s > 0`` takes its place; elsewhere q is
convex. (docs/theory.md, "One leaf")
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity, lowered, margin, raised
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.leaf_bounds import LEAST, MOST, PROBABILITY_ROUNDINGS
from fairbound.solve.limiting_pull import limiting_pull
from fairbound.solve.problem import Problem
from fairbound.solve.rows import Rows

#: Losses that were rounded up differ by no more than this from what they were, relative to the largest one.
ROUNDED = 1e-9

#: Roundings allowed for in a product or quotient of a few numbers, vertices included.
FEW = 24


@dataclass(frozen=True)
class Leaves(Rows):
    """Multipliers of N leaves.

    zeta (N, S, C), base, nu, centre, omega (N, S), lam (N,), offset (N, C) and, of linear limits, group_mu and
    label_mu (N, rows).
    """

    zeta: Floats
    base: Floats
    nu: Floats
    centre: Floats
    omega: Floats
    lam: Floats
    offset: Floats
    group_mu: Floats
    label_mu: Floats

    @property
    def tops(self) -> Floats:
        """The tops of the cells, shape (N, S, C)."""
        return self.base[..., None] + self.offset[:, None]


def group_totals(problem: Problem, vertices: Floats, leaves: Leaves) -> Floats:
    """Return ``sum_y p_i E_i[q(k^j)]`` at every vertex for every group, shape (N, m, S), rounded up.

    Infinity where a multiplier is not feasible. Vertices (N, m, S) may be off by a few roundings.
    """
    probability, loss = problem.upper.probability, problem.upper.loss
    k = vertices[..., None]  # (N, m, S, 1)
    zeta, base = leaves.zeta[:, None], leaves.base[:, None, :, None]  # (N, 1, S, C) and (N, 1, S, 1)
    offset = leaves.offset[:, None, None]
    base, large = base + offset, np.abs(base) + np.abs(offset)
    room = base - problem.ceiling
    few = FEW + 2 * problem.groups.size
    slack = zeta + k * room - margin(np.abs(zeta) + k * (large + problem.ceiling), few)
    plain = not leaves.offset.any()  # then tops are exact
    above = room >= (0.0 if plain else margin(large + problem.ceiling, 4))
    feasible = ((slack >= 0) | ((zeta >= 0) & above)).all(axis=3)

    k, zeta, base, large = k[..., None], zeta[..., None], base[..., None], large[..., None]
    centre = leaves.centre[:, None, :, None, None]
    depth = base - loss
    concave = (zeta >= 0) & (depth >= 0)
    with np.errstate(all="ignore"):
        exact = zeta + k * depth
        exact = exact - margin(np.abs(zeta) + k * (large + loss), few)
        curvature_remainder = np.where(exact > 0, k / exact, np.inf)
        blur = 0.0 if plain else margin(large + loss, 4)  # tops that are sums are rounded
        below, most = depth - blur, base - _unrounded(problem) + blur
        straight = _tangent(zeta, below, most, k, centre)
        larger = np.where(concave, straight, curvature_remainder)
        if not plain:  # of a sum that is rounded the sign of its distance from a loss may not be known
            near = (zeta >= 0) & (np.abs(depth) <= blur)
            larger = np.where(near, np.maximum(straight, curvature_remainder), larger)
        terms = np.where(probability > 0, probability * larger, 0.0)
        total = raised(terms.sum(axis=(3, 4)) + LEAST, probability.size + PROBABILITY_ROUNDINGS + few)
    return np.where(feasible, total, np.inf)


def _unrounded(problem: Problem) -> Floats:
    """Return what losses are at least that were rounded up."""
    loss, least = problem.upper.loss, problem.lower.loss
    if loss.shape != least.shape:
        return loss
    width = loss - least
    return np.where((width > 0) & (width <= ROUNDED * problem.scale), least, loss)


def _tangent(zeta: Floats, least: Floats, most: Floats, k: Floats, centre: Floats) -> Floats:
    """Bound the tangents of ``k / (zeta + k depth)`` at the centre, over a range of depths.

    A tangent, unlike the function itself, may be lower for smaller depths; the checker takes that of the exact one.
    """
    below = zeta + centre * least
    value = (centre * centre * most + k * zeta) / (below * below)
    return np.where((below > 0) & np.isfinite(value), value, np.inf)


def leaf_totals(problem: Problem, vertices: Floats, leaves: Leaves) -> Floats:
    """Return ``sum_i p_i E_i[q(k^j)]`` at every vertex, shape (N, m), rounded up."""
    return raised(group_totals(problem, vertices, leaves).sum(axis=2), problem.groups.size)


def fractional_bound(problem: Problem, rates: BaseRates, rho: Floats, vertices: Floats, leaves: Leaves) -> Floats:
    """Bound the loss over every leaf from any multipliers; infinity where they prove nothing."""
    total = leaf_totals(problem, vertices, leaves)
    lam = leaves.lam[:, None]
    with np.errstate(all="ignore"):
        gained = np.where(lam > 0, raised(lam * lam * total, 4), 0.0)
        gained = np.where(np.isfinite(total), gained, np.inf)
        pull = leaves.base - leaves.omega
        moved = (vertices @ pull[..., None])[..., 0]
        size = (vertices @ (np.abs(leaves.base) + np.abs(leaves.omega))[..., None])[..., 0]
        worst = (moved + margin(size, 3 * problem.groups.size + FEW) + gained).max(axis=1)
        if rates.tolerance == 0.0:
            values = np.concatenate([leaves.zeta, leaves.offset[:, None]], axis=1)
            summed = values.sum(axis=1) + margin(np.abs(values).sum(axis=1), problem.groups.size + 1)
            level = rates.labels.support(summed, leaves.label_mu)
        else:
            level = rates.support(leaves.zeta, leaves.nu)
        limit = np.where(leaves.omega.any(axis=1), problem.groups.support(leaves.omega, leaves.group_mu), 0.0)
        gain = lowered(2.0 * leaves.lam * least_affinity(rho), 4)
        bound = level + worst + limit - gain
        sizes = np.abs(level) + np.abs(limit) + gain + (size + np.where(np.isfinite(gained), gained, 0.0)).max(axis=1)
        bound = bound + margin(sizes, 8)
    usable = (leaves.lam >= 0) & (leaves.centre > 0).all(axis=1) & (np.abs(leaves.zeta) < MOST).all(axis=(1, 2))
    for entry in (leaves.base, leaves.nu, leaves.centre, leaves.omega, leaves.lam[:, None], leaves.offset):
        usable = usable & (np.abs(entry) < MOST).all(axis=1)
    for mu in (leaves.group_mu, leaves.label_mu):
        usable = usable & ((mu >= 0) & (mu < MOST)).all(axis=1)
    if rates.tolerance > 0.0:
        usable = usable & ~leaves.offset.any(axis=1)
    return np.where(usable & np.isfinite(bound), bound, np.inf)


def tuned(problem: Problem, rho: Floats, vertices: Floats, leaves: Leaves) -> Leaves:
    """Choose the best lam for these vertices (convex in lam), and where K is limited a good omega."""
    total = leaf_totals(problem, vertices, leaves)
    moved = (vertices @ leaves.base[..., None])[..., 0]
    tau = least_affinity(rho)[:, None]
    with np.errstate(all="ignore"):
        fall, rise = moved[:, :, None] - moved[:, None], total[:, None] - total[:, :, None]
        crossing = np.sqrt(np.where(fall * rise > 0, fall / rise, np.nan)).reshape(len(rho), -1)
        offers = np.concatenate([leaves.lam[:, None], tau / total, crossing], axis=1)
        offers = np.where(np.isfinite(offers), offers, 0.0)
        values = (moved[:, None] + offers[..., None] ** 2 * total[:, None]).max(axis=2) - 2.0 * offers * tau
        values = np.where(np.isfinite(values), values, np.inf)
        best = offers[np.arange(len(rho)), values.argmin(axis=1)]
        if problem.groups.fills_simplex:
            return replace(leaves, lam=best)
        value = moved + leaves.lam[:, None] ** 2 * total
        value = np.where(np.isfinite(value), value, 1e6 * problem.scale)
    omega, mu = limiting_pull(problem.groups, vertices, value)
    return replace(leaves, omega=omega, group_mu=mu)
