"""From multipliers to bounds by weak duality, rounded outward.

These two functions are all that the soundness of a certificate rests on: any multipliers give a valid bound, and
no rounding error can make it too small. Multipliers are taken as the exact numbers that the floats are.
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import least_affinity, lowered, margin, raised
from fairbound.data.atoms import Atoms
from fairbound.solve.pieces import level_of
from fairbound.solve.problem import Problem

#: Relative accuracy, in roundings, of the class probabilities that a population hands over.
PROBABILITY_ROUNDINGS = 16

#: Multipliers beyond this prove nothing here: products of a few of them must neither overflow nor underflow.
MOST = 1e60

#: Added to sums of non-negative terms, so that terms lost by underflow cannot make them too small.
LEAST = 1e-280


def certified(level: Floats, rho: Floats, total: Floats) -> Floats:
    """Return ``level - tau^2 / total`` rounded up; ``level`` and ``total`` are upper bounds already."""
    usable = (total > 0) & np.isfinite(total)
    gain = np.where(usable, lowered(least_affinity(rho) ** 2 / np.where(usable, total, 1.0), 4), 0.0)
    return level - gain + margin(np.abs(level) + gain, 2)


def _valid(mu: Floats | None, count: int) -> Booleans:
    """Tell which multipliers of limits on shares prove something: none is negative, or too large."""
    if mu is None:
        return np.ones(count, dtype=bool)
    valid: Booleans = np.logical_and.reduce((mu >= 0) & (mu < MOST), axis=-1)
    return valid


def piece_bound(
    problem: Problem,
    rho: Floats,
    vertices: Floats,
    w: Floats,
    centre: Floats,
    omega: Floats,
    level_mu: Floats | None = None,
    share_mu: Floats | None = None,
    *,
    mixed: float = 0.0,
) -> Floats:
    """Bound the loss over all Q whose label shares lie in the piece, from any ``w``, ``centre``, ``omega``.

    Shapes: vertices (N, m, C), w (N, S, C), centre and omega (N, C). ``level_mu`` and ``share_mu`` are multipliers
    >= 0 of the rows of K and of R. The formula stands in :mod:`fairbound.solve.pieces`
    (docs/theory.md, section 4). Vertices are allowed to be off by a few roundings. Where a multiplier falls below
    a ceiling nothing is proved: infinity. ``mixed`` base rates as in :class:`fairbound.solve.pieces.PieceSaddle`.
    """
    labels = problem.labels.size
    offset = vertices - centre[:, None]
    tilt = (1.0 - mixed) * (offset @ w.swapaxes(-1, -2))  # (N, m, S)
    eta = w[:, None] - tilt[..., None]  # (N, m, S, C)
    size = (np.abs(vertices) + np.abs(centre[:, None])) @ np.abs(w).swapaxes(-1, -2)
    eta = eta - margin(np.abs(w)[:, None] + size[..., None], 2 * labels + 8)

    probability = problem.upper.probability
    gap = eta[..., None] - problem.upper.loss
    present = probability > 0
    with np.errstate(divide="ignore"):
        terms = np.where(present, probability / np.where(present, np.maximum(gap, 0.0), 1.0), 0.0)
    total = raised(terms.sum(axis=(2, 3, 4)) + LEAST, probability.size + PROBABILITY_ROUNDINGS + 8)
    if omega.any():
        pulled = (vertices @ omega[..., None])[..., 0]
        size = np.abs(vertices) @ np.abs(omega)[..., None]
        total = total - pulled + margin(size[..., 0] + total, labels + 8)
        limit = problem.labels.support(omega, share_mu)
        most = total.max(axis=1) + limit
        most = most + margin(np.abs(total).max(axis=1) + np.abs(limit), 2)
    else:
        most = total.max(axis=1)
    held = (eta >= problem.ceiling).all(axis=(1, 2, 3)) & (np.abs(w) < MOST).all(axis=(1, 2))
    held = held & (np.abs(centre) < MOST).all(axis=1) & (np.abs(omega) < MOST).all(axis=1)
    held = held & _valid(level_mu, len(w)) & _valid(share_mu, len(w))
    level = level_of(w, centre, mixed)
    size = (np.abs(w) @ np.abs(centre)[..., None])[..., 0] + (np.abs(w).max(axis=2) if mixed else 0.0)
    level = level + margin(size, labels + 8)
    bound = certified(problem.groups.support(level, level_mu), rho, most)
    # G is positive, so a total that is not positive shows that no admissible r lies in the piece at all.
    bound = np.where(most <= 0, -np.inf, bound)
    return np.where(held, bound, np.inf)


def conditional_bound(
    problem: Problem,
    rho: Floats,
    theta: Floats,
    group_mu: Floats,
    label_mu: Floats,
    ends: Floats | None = None,
    omega: Floats | None = None,
) -> Floats:
    """Bound a mean given the group from any ``theta`` that are at least the ceilings (docs/metrics.md).

    Without ``ends`` theta is (N, 1, S, C). With two parts, ``ends`` (N, 2) is the interval in which the share t of the
    first part lies, and ``theta`` (N, 2, S, C) are the multipliers at its ends; in between they move linearly. With
    ``H_s = sum_y p_i E_i[1/(theta_i - v)]`` over either part, w the width of the interval, and ``bent_s`` the larger
    one of 0 and ``w/4`` times what H_s2 rises more than H_s1, the bound is

        max_j level_j - tau^2 / max_j sigma_K( t_j H_s1^j + (1 - t_j) H_s2^j + bent_s ).

    ``group_mu`` (N, 1 or 2, rows) and ``label_mu`` (N, rows) are any multipliers >= 0 of limits on the shares. With
    ``ends``, limits on labels count through any ``omega`` (N, C), by ``<omega, r> <= sigma_R(omega)``; None is zeros.
    """
    parts = problem.parts or ()
    probability = problem.upper.probability
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = pull_of_cells(problem.upper, theta)
        roundings = probability.size + PROBABILITY_ROUNDINGS + 12
        pull = [raised(terms[..., part].sum(axis=3) + LEAST, roundings) for part in parts]  # (N, 1 or 2, S) each
        total = pull[0]
        if ends is not None:
            # The rise counts, so raising the values of both ends is not enough: at the start they are lowered instead.
            least = terms if problem.upper.places > 1 else pull_of_cells(problem.lower, theta)
            low = [lowered(least[..., part].sum(axis=3), 2 * roundings + 8) for part in parts]
            more = (pull[1][:, 1] + pull[0][:, 0]) - (low[1][:, 0] + low[0][:, 1])
            more = more + margin(pull[1].sum(axis=1) + pull[0].sum(axis=1), 4)
            curvature_remainder = raised(np.maximum(more, 0.0) * (ends[:, 1:] - ends[:, :1]) * 0.25, 8)
            total = ends[..., None] * pull[0] + (1.0 - ends)[..., None] * pull[1] + curvature_remainder[:, None]
        total = np.where(np.isnan(total), np.inf, total)  # 0 times infinity, at an end of the simplex
        most = problem.groups.support(raised(total, 8), group_mu).max(axis=1)
        most = np.where(np.isnan(most), np.inf, most)
        bound = certified(conditional_level(problem, theta, label_mu, ends, omega), rho, most)
    held = (theta >= problem.ceiling).all(axis=(1, 2, 3)) & (np.abs(theta) < MOST).all(axis=(1, 2, 3))
    held = held & _valid(group_mu, len(theta)).all(axis=1) & _valid(label_mu, len(theta))
    if omega is not None:
        held = held & (np.abs(omega) < MOST).all(axis=1)
    return np.where(held, bound, np.inf)


def conditional_level(
    problem: Problem, theta: Floats, label_mu: Floats, ends: Floats | None, omega: Floats | None
) -> Floats:
    """Return what multipliers of means add up to, at the worse end of each interval."""
    summed = theta.sum(axis=2)
    summed = summed + margin(np.abs(theta).sum(axis=2), problem.groups.size)
    if ends is None:
        levels = [problem.labels.support(summed, label_mu[:, None])]
    else:
        levels = _levels_of_parts(problem, summed, label_mu, ends, omega)
    level: Floats = np.sum(levels, axis=0)
    level = level + margin(np.sum(np.abs(levels), axis=0), 3)
    return level.max(axis=1)


def pull_of_cells(atoms: Atoms, theta: Floats) -> Floats:
    """Return ``p_i E_i[1 / (theta_i - v)]`` of every cell; infinite where theta does not exceed a value."""
    present = atoms.probability > 0
    gap = np.where(present, np.maximum(theta[..., None] - atoms.loss, 0.0), 1.0)
    return np.where(present, atoms.probability / gap, 0.0).sum(axis=4)


def _levels_of_parts(
    problem: Problem, summed: Floats, label_mu: Floats, ends: Floats, omega: Floats | None
) -> list[Floats]:
    """Return what adds up to the level at the ends of intervals: of both parts, and of the limits on labels."""
    parts = problem.parts or ()
    if omega is None:
        return [summed[..., part].max(axis=2) for part in parts]
    levels = [np.repeat(problem.labels.support(omega, label_mu)[:, None], 2, axis=1)]
    for part, share in zip(parts, (ends[..., None], 1.0 - ends[..., None]), strict=True):
        pulled = share * omega[:, None, part]
        moved = summed[..., part] - pulled
        levels.append((moved + margin(np.abs(summed[..., part]) + np.abs(pulled), 4) + LEAST).max(axis=2))
    return levels
