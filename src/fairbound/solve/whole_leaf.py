"""One leaf of form F for all shares at once, and how leaves of this form are written down."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional import FractionalSolution
from fairbound.solve.fractional_bounds import Leaves, fractional_bound
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, Cut, FractionalProof


def whole_leaves(problem: Problem, rates: BaseRates, rhos: Floats, found: FractionalSolution) -> tuple[Leaves, Floats]:
    """Return leaves for all shares at once, and their bounds.

    Every term is concave in the shares, so its tangent at the worst shares is taken. What the shares then gain is
    linear in them: where these are limited all of it is left to the limits.
    """
    groups, count = problem.groups, len(rhos)
    omega = np.zeros_like(found.base)
    group_mu = np.zeros((count, groups.multipliers))
    if not groups.fills_simplex:
        with np.errstate(all="ignore"):
            depth = (found.base[..., None] + found.offset[:, None])[..., None] - problem.upper.loss
            below = found.zeta[..., None] + found.share[..., None, None] * depth
            slope = np.where(
                problem.upper.probability > 0, problem.upper.probability * found.zeta[..., None] / below**2, 0.0
            )
            omega = found.base + found.lam[:, None] ** 2 * slope.sum(axis=(2, 3))
            omega = np.where(np.isfinite(omega), omega, 0.0)
        group_mu = groups.useful(found.group_mu, omega)
    leaves = Leaves(
        found.zeta, found.base, found.nu, found.share, omega, found.lam, found.offset, group_mu, found.label_mu
    )
    corners = groups.floors + groups.spread * np.eye(groups.size)
    vertices = np.broadcast_to(corners, (count, *corners.shape))
    return leaves, fractional_bound(problem, rates, rhos, vertices, leaves)


def fractional_proof(axis: Axis, floors: Floats, splits: tuple[Cut | None, ...], leaves: Leaves) -> FractionalProof:
    """Write leaves down, with groups before labels."""
    zeta, mu = leaves.zeta, (leaves.group_mu, leaves.label_mu)
    if axis == "label":
        zeta, mu = zeta.swapaxes(1, 2), mu[::-1]
    nu = leaves.nu if leaves.nu.any() else None
    multipliers = zeta, leaves.base, leaves.offset, None, leaves.centre, leaves.omega, 2.0 * leaves.lam, nu, *mu
    return FractionalProof(axis, floors, splits, *multipliers)
