"""Sensitive shifting for fixed label shares: one scalar equation (docs/theory.md, section 4).

With ``A_s = sum_y sqrt(p_sy r_y)`` and ``Ebar_s = sum_y r_y E_sy`` the worst loss at label shares r is

    V(r) = min over v > max Ebar of   v - tau^2 / sum_s A_s^2 / (v - Ebar_s),

and at the minimum ``eta_sy = E_sy + (v - Ebar_s) / A_s · sqrt(p_sy / r_y)`` are optimal multipliers of the cells,
``k_s`` proportional to ``(A_s / (v - Ebar_s))^2`` the worst group shares. This holds for the
whole simplex of group shares and without empty cells, the case that most people ask about, and costs microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arrays import Floats
from fairbound.problem import Problem
from fairbound.rounding import least_affinity

#: Halvings of the range of ``log(v - max Ebar)``, then Newton steps; the error enters the bound at second order only.
HALVINGS = 9
NEWTONS = 4
SMALLEST, LARGEST = -30.0, 18.0


@dataclass(frozen=True)
class FixedShares:
    """Solutions for a batch of label shares: value, level ``v``, ``v - Ebar_s`` and worst group shares (N, S)."""

    value: Floats
    level: Floats
    rise: Floats
    group_share: Floats


def applies(problem: Problem) -> bool:
    """Whether the closed form holds: one loss per cell, mass in every cell, no limit on the groups."""
    return not problem.unseen and problem.upper.places == 1 and not problem.groups.limited and bool(problem.mass.all())


def fixed_shares(problem: Problem, rho: Floats, share: Floats) -> FixedShares:
    """Solve for label shares of shape (N, C), all positive; without care for rounding.

    Where no Q with these label shares is in the ball the value is very negative.
    """
    mean = problem.upper.loss[..., 0]
    tau = least_affinity(rho)[:, None]
    root = np.sqrt(problem.upper.probability[..., 0])
    spread = np.sqrt(share) @ root.T  # A_s
    level = share @ mean.T  # Ebar_s
    below = level.max(axis=1, keepdims=True) - level
    low = np.full((len(share), 1), SMALLEST)
    high = np.full((len(share), 1), LARGEST)
    newton = low
    for step in range(HALVINGS + NEWTONS):
        middle = 0.5 * (low + high) if step < HALVINGS else np.clip(newton, low, high)
        excess = problem.scale * np.exp(middle)
        ratio = spread / (below + excess)
        # the derivative of the bound in v is negative while sum(A ratio) < tau |ratio|
        square = ratio * ratio
        length = square.sum(axis=1, keepdims=True)
        slack = (spread * ratio).sum(axis=1, keepdims=True) - tau * np.sqrt(length)
        low, high = np.where(slack < 0, middle, low), np.where(slack < 0, high, middle)
        if step >= HALVINGS - 1:
            bent = (square * ratio / spread).sum(axis=1, keepdims=True)
            newton = middle + slack / (excess * (length - tau * bent / np.sqrt(length)))
    high = np.clip(newton, low, high)
    rise = below + problem.scale * np.exp(high)  # v - Ebar_s
    ratio = spread / rise
    top = (level + rise)[:, 0]
    value = top - tau[:, 0] ** 2 / (spread * ratio).sum(axis=1)
    return FixedShares(value, top, rise, ratio**2 / (ratio**2).sum(axis=1, keepdims=True))


def quick_multipliers(problem: Problem, rho: Floats, vertices: Floats, centre: Floats) -> Floats:
    """Return multipliers w (N, S, C) for pieces with these vertices (N, m, C), from a point of each.

    They are the optimal ones at that point where these can follow r through the piece without falling below a mean
    loss. Where they cannot, all multipliers of the group rise by the same amount, to a level above all that the
    group's mean loss reaches in the piece.
    """
    mean = problem.upper.loss[..., 0]
    root = np.sqrt(problem.upper.probability[..., 0])
    found = fixed_shares(problem, rho, centre)
    reached = (vertices @ mean.T).max(axis=1)  # (N, S)
    level = np.maximum(found.level, reached.max(axis=1) + 1e-9 * problem.scale)
    rise = level[:, None] - centre @ mean.T
    shape = root / np.sqrt(centre)[:, None]
    shape = shape / (shape @ centre[..., None])  # weighted by the centre they average to one
    w = mean + rise[..., None] * shape
    tilt = (vertices - centre[:, None]) @ w.swapaxes(-1, -2)
    held = (w[:, None] - tilt[..., None] > mean + 1e-9 * problem.scale).all(axis=(1, 3))
    return np.where(held[..., None], w, mean + rise[..., None])
