"""Multipliers changed so that the levels of labels become what they should be, while the groups stay balanced.

The bound looks at the largest of the groups' terms ``sum_y part_y p_i E_i[1 / (theta_i - v)]``, which are equal at the
best multipliers. If the sums over the groups are to fall by given amounts, ``k_s`` of it in group s keeps them equal
to first order, as long as no multiplier is held at its ceiling. If some are, a small linear system says what the others
do: with slopes g of the terms and free cells m the changes ``m (a_y / g_sy + b_s)`` are the least that will do.
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.solve.problem import Problem


def rearranged(problem: Problem, theta: Floats, part: Floats, held: Booleans, fall: Floats) -> Floats:
    """Return theta (N, S, C) less changes that add up to ``fall`` (N, C); cells that are ``held`` stay.

    ``part`` (N, C) are the shares of the labels' parts. Where nothing solves the equations the result means nothing.
    """
    count, groups, labels = theta.shape
    atoms = problem.upper
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = np.where(atoms.probability > 0, 1.0 / (theta[..., None] - atoms.loss), 0.0)
        slope = (atoms.probability * inverse**2).sum(axis=3) * part[:, None]
        free = ~held & (slope > 0) & np.isfinite(slope)
        slope = np.where(free, slope, 1.0)
    size = labels + groups
    system = np.zeros((count, size + 1, size + 1))
    system[:, :labels, labels:size] = free.swapaxes(1, 2)
    system[:, labels:size, :labels] = free
    # A label or group without any free cell has no part in this: its own equation is trivial.
    over_groups, over_labels = (free / slope).sum(axis=1), (free * slope).sum(axis=2)
    own = np.concatenate([over_groups, over_labels], axis=1)
    system[:, np.arange(size), np.arange(size)] = np.where(own > 0, own, 1.0)
    moving = (over_labels > 0).astype(np.float64)
    system[:, labels:size, size], system[:, size, labels:size] = -moving, moving
    system[:, size, size] = np.where(moving.any(axis=1), 0.0, 1.0)
    right = np.zeros((count, size + 1, 1))
    right[:, :labels, 0] = np.where(over_groups > 0, fall, 0.0)
    try:
        found = np.linalg.solve(system, right)[..., 0]
    except np.linalg.LinAlgError:
        return theta
    change: Floats = free * (found[:, None, :labels] / slope + found[:, labels:size, None])
    return theta - change
