"""Leaves of form F for means: multipliers that move linearly with the share of a part, and what they pull.

The pull of a group is a sum of fractions of the searched share. Where one is concave its tangent at a stored centre
takes its place (docs/specification.md), so the centre is chosen: where it makes the largest pull smallest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.problem import Problem

#: Where tangents may be taken, as parts of the way through an interval; how often, and in what ratio, it is cut then.
CENTRES, SECTIONS, GOLDEN = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0), 8, 0.618

#: No tangent is taken at a smaller share.
LEAST = 1e-12


@dataclass(frozen=True)
class MeanLeaves:
    """Multipliers ``(zeta + x slope) / (k x)`` of L intervals of the share x: arrays (L, S, C), centres (L, 2).

    The share of the first part lies between the ``ends`` (L, 2), and in a group up to ``tolerance`` above; without a
    slope nothing is searched.
    """

    ends: Floats
    zeta: Floats
    slope: Floats | None
    centre: Floats
    tolerance: float

    def pull(self, problem: Problem, mu: Floats) -> Floats:
        """Return the largest pull at the ends of each interval (L,), for multipliers (L, rows) of limits on groups."""
        total = self.groups(problem)
        whole = np.isfinite(total).all(axis=(1, 2))
        times = np.repeat(mu[:, None], total.shape[1], axis=1)
        found = problem.groups.support(np.where(np.isfinite(total), total, 0.0), times).max(axis=1)
        return np.where(whole, found, np.inf)

    def groups(self, problem: Problem) -> Floats:
        """Return the pulls of the groups at the ends, (L, 2, S); where nothing is searched (L, 1, S)."""
        if self.slope is not None:
            return _pulls(problem, self)
        atoms = problem.upper
        with np.errstate(all="ignore"):
            inside = np.where(atoms.probability > 0, atoms.probability / (self.zeta[..., None] - atoms.loss), 0.0)
        cells = inside.sum(axis=3)
        halves = [cells[..., list(part)].sum(axis=2) for part in problem.parts or ()]
        return (halves[0] if len(halves) == 1 else np.maximum(*halves))[:, None]


def whole(problem: Problem, theta: Floats, parts: int) -> MeanLeaves:
    """Return leaves whose multipliers (L, S, C) do not move."""
    count = len(theta)
    return MeanLeaves(np.zeros((count, 2)), theta, None, np.ones((count, parts)), 0.0)


def between(problem: Problem, ends: Floats, theta: Floats, tolerance: float) -> MeanLeaves:
    """Return leaves whose multipliers are ``theta`` (L, 2, S, C) at the ends of intervals, or a hair more."""
    first = _first(problem)
    low, high = ends[:, :1, None], ends[:, 1:, None]
    rise = (theta[:, 1] - theta[:, 0]) / (high - low)
    slope = np.where(first, rise, -rise)
    zeta = theta[:, 0] - np.where(first, low, 1.0 - low) * slope
    zeta = zeta + 1e-15 * (np.abs(theta).max(axis=1) + np.abs(slope))
    centre = np.broadcast_to(0.5, ends.shape)
    return _centred(problem, MeanLeaves(ends, zeta, slope, centre, tolerance))


def interval_bound(
    problem: Problem, rho: Floats, ends: Floats, theta: Floats, mu: Floats, level: Floats, tolerance: float
) -> Floats:
    """Return about what such leaves prove, of multipliers at the ends whose levels are known (L,)."""
    most = between(problem, ends, theta, tolerance).pull(problem, mu)
    with np.errstate(all="ignore"):
        gain = np.where((most > 0) & np.isfinite(most), least_affinity(rho) ** 2 / most, 0.0)
    return level - gain


def _first(problem: Problem) -> Booleans:
    """Return which labels are in the first part."""
    first = np.zeros(problem.labels.size, dtype=bool)
    first[list((problem.parts or ((),))[0])] = True
    return first


def _pulls(problem: Problem, leaves: MeanLeaves) -> Floats:
    atoms, first, ends, centre = problem.upper, _first(problem), leaves.ends, leaves.centre
    worst: Floats | None = None
    x = np.where(first, ends[..., None], 1.0 - ends[..., None])[:, :, None, :, None]
    m = np.where(first, centre[:, :1], centre[:, 1:])[:, None, None, :, None]
    c = (leaves.zeta[..., None] - atoms.loss)[:, None]
    d = np.zeros_like(c) if leaves.slope is None else leaves.slope[:, None, ..., None]
    for extra in {0.0, leaves.tolerance}:
        start = np.where(first, extra, -extra)[:, None]
        turn, at, below = c - start * d, c + d * m, c + d * x
        with np.errstate(all="ignore"):
            plain = np.where(below > 0, (start + x) / below, np.inf)
            tangent = np.where(at > 0, (start + m) / at + turn / at**2 * (x - m), np.inf)
            term = np.where(d * turn < 0, plain, tangent)
            term = np.where(atoms.probability > 0, atoms.probability * term, 0.0).sum(axis=(3, 4))
        worst = term if worst is None else np.maximum(worst, term)
    return np.zeros(0) if worst is None else worst


def _centred(problem: Problem, leaves: MeanLeaves) -> MeanLeaves:
    """Choose the centres: the best of a few, then better ones around it."""
    low, high = np.maximum(leaves.ends[:, 0], LEAST), np.minimum(leaves.ends[:, 1], 1.0 - LEAST)

    def at(u: Floats) -> MeanLeaves:
        return MeanLeaves(leaves.ends, leaves.zeta, leaves.slope, np.stack([u, 1.0 - u], axis=1), leaves.tolerance)

    free = np.zeros((len(low), problem.groups.multipliers))
    offered = low + np.array(CENTRES)[:, None] * (high - low)
    values = np.array([at(u).pull(problem, free) for u in offered])
    place, row = values.argmin(axis=0), np.arange(len(low))
    best, least = offered[place, row], values[place, row]
    low, high = offered[np.maximum(place - 1, 0), row], offered[np.minimum(place + 1, len(CENTRES) - 1), row]
    for _ in range(SECTIONS):
        inner = low + (1.0 - GOLDEN) * (high - low), low + GOLDEN * (high - low)
        left, right = (at(u).pull(problem, free) for u in inner)
        for u, value in zip(inner, (left, right), strict=True):
            best, least = np.where(value < least, u, best), np.minimum(value, least)
        low, high = np.where(left < right, low, inner[0]), np.where(left < right, inner[1], high)
    return at(best)
