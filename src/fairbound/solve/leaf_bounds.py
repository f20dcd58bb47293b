"""From multipliers to bounds of form T in Hellinger balls, rounded outward.

Any multipliers give a valid bound, and no rounding error can make it too small. Multipliers are taken as the exact
numbers that the floats are (docs/theory.md, "Rounding and leeway").
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import least_affinity, lowered, margin, raised
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
    (docs/theory.md, "Pieces"). Vertices are allowed to be off by a few roundings. Where a multiplier falls below
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
