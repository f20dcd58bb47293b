"""From multipliers to bounds for divergences other than Hellinger's, rounded outward (docs/theory.md, "Pieces").

As in ``leaf_bounds``, any multipliers give a valid bound, and no rounding error can make it too small.
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import margin, raised
from fairbound.problem.divergences import Divergence
from fairbound.solve.leaf_bounds import LEAST, MOST, PROBABILITY_ROUNDINGS
from fairbound.solve.problem import Problem

#: What the rounding of a vertex, and of its product with a number, may come to.
VERTEX_ROUNDINGS = 12


def _certified(divergence: Divergence, rho: Floats, lam: Floats, level: Floats, total: Floats) -> Floats:
    """Return ``level + lam (rho - o) + total`` rounded up; ``level`` and ``total`` are upper bounds already.

    The offset o is that of the conjugate; the ball is the larger one that allows for rounding in worst cases.
    """
    rho = divergence.radius(rho)
    ball = lam * (rho - divergence.conjugate_offset)
    return level + ball + total + margin(np.abs(level) + lam * (rho + divergence.conjugate_offset) + np.abs(total), 12)


def moving_bound(
    problem: Problem,
    divergence: Divergence,
    rho: Floats,
    vertices: Floats,
    multipliers: tuple[Floats, Floats, Floats, Floats],
    counted: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Bound the loss over all Q whose label shares lie in a piece, from any ``w``, ``centre``, ``omega``, ``lam``.

    Shapes: rho and lam (N,), vertices (N, m, C), w (N, S, C), centre and omega (N, C). With
    ``eta_sy(r) = w_sy - <r - centre, w_s>`` and ``v_s = <centre, w_s>``:

        sigma_K(v) + lam (rho - o) + max_j [ sum_i p_i E_i[ g(l - eta_i(r^j)) ] - <omega, r^j> ] + sigma_R(omega),

    provided ``eta_i(r^j) >= c_i - lam f'(inf)``; else nothing is proved: infinity. Vertices are allowed to be off by a
    few roundings. ``counted`` are numbers (N, m, S, C), off by a few roundings too: by what the losses of a cell and
    its ceiling are multiplied at each vertex, and what is taken off them then.
    """
    w, centre, omega, lam = multipliers
    labels = problem.labels.size
    tilt = (vertices - centre[:, None]) @ w.swapaxes(-1, -2)  # (N, m, S)
    eta = w[:, None] - tilt[..., None]  # (N, m, S, C)
    size = (np.abs(vertices) + np.abs(centre[:, None])) @ np.abs(w).swapaxes(-1, -2)
    eta = eta - margin(np.abs(w)[:, None] + size[..., None], 2 * labels + 8)
    atoms, loss, ceiling = problem.upper, problem.upper.loss, problem.ceiling
    if counted is not None:  # only how far losses are above their multipliers matters
        times, less = counted
        eta = eta + less
        eta = eta - margin(np.abs(eta) + np.abs(less), VERTEX_ROUNDINGS)
        loss, ceiling = (times[..., None] * loss, times * ceiling)
        loss, ceiling = (part + margin(np.abs(part), VERTEX_ROUNDINGS) for part in (loss, ceiling))
    steep = lam[:, None, None, None]
    held = (lam > 1.0 / MOST) & (lam < MOST) & (np.abs(w) < MOST).all(axis=(1, 2))
    held = held & (np.abs(centre) < MOST).all(axis=1) & (np.abs(omega) < MOST).all(axis=1)
    if divergence.escapes:
        reached = eta + divergence.slope_at_infinity * steep
        reached = reached - margin(np.abs(eta) + divergence.slope_at_infinity * steep, 2)
        held = held & (reached >= ceiling).all(axis=(1, 2, 3))
    excess = loss - eta[..., None]
    excess = excess + margin(np.abs(loss) + np.abs(eta)[..., None], 1)
    with np.errstate(all="ignore"):
        grown = divergence.conjugate(excess, np.where(held, lam, 1.0)[:, None, None, None, None])
        grown = grown * divergence.largest_ratio(rho)[:, None, None, None, None]
        terms = np.where(atoms.probability > 0, atoms.probability * grown, 0.0)
        total = raised(terms.sum(axis=(2, 3, 4)) + LEAST, atoms.probability.size + PROBABILITY_ROUNDINGS + 8)
        most = total.max(axis=1)
        if omega.any():
            pulled = (vertices @ omega[..., None])[..., 0]
            size = (np.abs(vertices) @ np.abs(omega)[..., None])[..., 0]
            limit = problem.labels.support(omega)
            apart = total - pulled + margin(size + total, labels + 8)
            most = apart.max(axis=1) + limit
            most = most + margin(np.abs(apart).max(axis=1) + np.abs(limit), 2)
        level = (w @ centre[..., None])[..., 0]
        level = level + margin((np.abs(w) @ np.abs(centre)[..., None])[..., 0], labels + 4)
        bound = _certified(divergence, rho, lam, problem.groups.support(level), most)
    return np.where(held & np.isfinite(bound), bound, np.inf)


def single_bound(
    problem: Problem, divergence: Divergence, rho: Floats, eta: Floats, lam: Floats, less: Floats | None = None
) -> Floats:
    """Bound the loss over all Q in the ball, equal base rates or not, from any ``eta`` and ``lam``, shapes (N,).

    eta + lam (rho - o) + E_P[ g(l - eta) ],      provided eta >= c - lam f'(inf) for the largest ceiling c.

    ``less`` (N, S, C) is taken off all losses of a cell, and off its ceiling.
    """
    atoms = problem.upper
    held = (lam > 1.0 / MOST) & (lam < MOST) & (np.abs(eta) < MOST)
    across = np.broadcast_to(eta[:, None, None], (len(eta), *problem.ceiling.shape))
    if less is not None:
        across = across + less
        across = across - margin(np.abs(across) + np.abs(less), 2)
    if divergence.escapes:
        cost = divergence.slope_at_infinity * lam[:, None, None]
        held = held & (across + cost - margin(np.abs(across) + cost, 2) >= problem.ceiling).all(axis=(1, 2))
    across = across[..., None]
    excess = atoms.loss - across + margin(np.abs(atoms.loss) + np.abs(across), 1)
    with np.errstate(all="ignore"):
        grown = divergence.conjugate(excess, np.where(held, lam, 1.0)[:, None, None, None])
        grown = grown * divergence.largest_ratio(rho)[:, None, None, None]
        terms = np.where(atoms.probability > 0, atoms.probability * grown, 0.0)
        total = raised(terms.sum(axis=(1, 2, 3)) + LEAST, atoms.probability.size + PROBABILITY_ROUNDINGS + 8)
        bound = _certified(divergence, rho, lam, eta, total)
    return np.where(held & np.isfinite(bound), bound, np.inf)
