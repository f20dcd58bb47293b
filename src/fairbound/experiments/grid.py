r"""The paper's own certificate for general shifting, as a baseline: Theorem 3, two groups and two labels.

The theorem lays a grid over the shares :math:`k_1` and :math:`r_1` and solves, in each of its cells, a concave program
in :math:`x_{sy} = (1 - \rho_{sy}^2)^2`. With :math:`x = \cos^2 t` it reads: maximise

.. math::

    \sum_{sy} a_{sy} + \tfrac12 b_{sy} \sin 2t_{sy} - c_{sy} \cos^2 t_{sy}
    \quad\text{subject to}\quad \sum_{sy} w_{sy} \cos t_{sy} \ge \tau, \quad 0 \le t_{sy} \le \bar t_{sy}.

By Lagrangian duality every multiplier of the constraint gives an upper bound on the program, and the best one its
value. The programs of many cells and radii are solved at once, and only where the maximum can be: a block of cells is a
program of the same form, with a value that is no smaller than those of its cells, and is left out if that value is too
small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers

#: Blocks per side at each level; every number divides the next, and the last one is the paper's grid of 0.005.
LEVELS = (25, 50, 100, 200)

#: As many programs are solved at once as fit into the processor's cache.
CHUNK = 20_000

MULTIPLIER_STEPS, ANGLE_STEPS, NEWTON_STEPS = 30, 8, 3


@dataclass(frozen=True)
class _Cells:
    """What Theorem 3 knows of the four cells, each array of shape (2, 2)."""

    mass: Floats
    mean: Floats
    variance: Floats
    ceiling: float

    @property
    def excess(self) -> Floats:
        """The theorem's C."""
        room = self.ceiling - self.mean
        return room - np.divide(self.variance, room, out=np.zeros_like(room), where=room > 0)

    @property
    def widest(self) -> Floats:
        """The largest angle: where a cell's loss has reached the ceiling."""
        square = (self.ceiling - self.mean) ** 2
        total = self.variance + square
        return np.arccos(np.sqrt(np.divide(self.variance, total, out=np.ones_like(total), where=total > 0)))


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the grid and a radius for each: rows of ``place`` are the column and the row of a block."""

    place: Integers
    radius: Integers
    side: int

    def take(self, chosen: Booleans | Integers) -> _Blocks:
        return _Blocks(self.place[chosen], self.radius[chosen], self.side)

    def split(self, side: int) -> _Blocks:
        """Divide every block into those of the next level."""
        times = side // self.side
        step = np.stack(np.meshgrid(np.arange(times), np.arange(times), indexing="ij"), axis=-1).reshape(-1, 2)
        place = (self.place[:, None, :] * times + step[None]).reshape(-1, 2)
        return _Blocks(place, np.repeat(self.radius, len(step)), side)

    def shares(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the products of the shares, each of shape (n, 2, 2)."""
        low, high = self.place / self.side, (self.place + 1) / self.side
        below, above = np.stack([low, 1.0 - high], axis=-1), np.stack([high, 1.0 - low], axis=-1)
        return below[:, 0, :, None] * below[:, 1, None, :], above[:, 0, :, None] * above[:, 1, None, :]


def grid_certificate(
    mass: Floats,
    mean: Floats,
    variance: Floats,
    rhos: Floats,
    *,
    ceiling: float = 1.0,
    levels: tuple[int, ...] = LEVELS,
) -> Floats:
    """Return the certificate of Theorem 3 at each radius; NaN where no cell of its grid is feasible.

    Arrays of shape (2, 2); no cell may be empty. ``levels`` ends with the number of grid cells per side.

    Examples
    --------
    >>> import numpy as np
    >>> mass, mean = np.array([[0.464, 0.204], [0.295, 0.037]]), np.array([[0.09, 0.38], [0.02, 0.45]])
    >>> grid_certificate(mass, mean, 0.3 * mean, np.array([0.02, 0.2])).round(3)
    array([  nan, 0.356])
    """
    cells = _Cells(mass, mean, variance, ceiling)
    tau = 1.0 - rhos**2
    start = np.stack(np.meshgrid(np.arange(levels[0]), np.arange(levels[0]), indexing="ij"), axis=-1).reshape(-1, 2)
    blocks = _Blocks(np.tile(start, (len(rhos), 1)), np.repeat(np.arange(len(rhos)), len(start)), levels[0])
    best = _Best(np.full(len(rhos), -np.inf), np.zeros(len(rhos)))
    solved = _solve(cells, blocks, tau)
    for level, side in enumerate(levels[1:], start=1):
        best = best.updated(_descend(cells, solved, tau, levels[level:]))
        hopeful = (solved.value > best.value[solved.blocks.radius]) & (best.value < ceiling)[solved.blocks.radius]
        solved = _solve(cells, solved.blocks.take(hopeful).split(side), tau, best)
    reached = best.updated(solved).value
    return np.where(np.isfinite(reached), np.minimum(reached, ceiling), np.nan)


@dataclass(frozen=True)
class _Solved:
    """Feasible blocks, with the values and the multipliers of their programs."""

    blocks: _Blocks
    value: Floats
    multiplier: Floats

    def largest(self) -> Integers:
        """Return, for each radius that occurs, the index of the largest value."""
        order = np.lexsort((self.value, self.blocks.radius))
        return order[np.flatnonzero(np.diff(self.blocks.radius[order], append=-1))]


@dataclass(frozen=True)
class _Best:
    """For each radius the largest value of a cell of the grid so far, and its multiplier."""

    value: Floats
    multiplier: Floats

    def updated(self, found: _Solved) -> _Best:
        value, multiplier = self.value.copy(), self.multiplier.copy()
        index = found.largest()
        radius = found.blocks.radius[index]
        better = found.value[index] > value[radius]
        value[radius[better]], multiplier[radius[better]] = found.value[index[better]], found.multiplier[index[better]]
        return _Best(value, multiplier)


def _descend(cells: _Cells, solved: _Solved, tau: Floats, levels: tuple[int, ...]) -> _Solved:
    """Follow the largest block of each radius down to cells of the grid."""
    for side in levels:
        solved = _solve(cells, solved.blocks.take(solved.largest()).split(side), tau)
    return solved


def _solve(cells: _Cells, blocks: _Blocks, tau: Floats, best: _Best | None = None) -> _Solved:
    """Solve the programs of all feasible blocks; without those that cannot exceed the best."""
    parts = [
        _solve_chunk(cells, blocks.take(np.arange(first, min(first + CHUNK, len(blocks.radius)))), tau, best)
        for first in range(0, max(len(blocks.radius), 1), CHUNK)
    ]
    place, radius = (np.concatenate([getattr(part.blocks, name) for part in parts]) for name in ("place", "radius"))
    value, multiplier = (np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "multiplier"))
    return _Solved(_Blocks(place, radius, blocks.side), value, multiplier)


def _solve_chunk(cells: _Cells, blocks: _Blocks, tau: Floats, best: _Best | None) -> _Solved:
    programs = _programs(cells, blocks, tau)
    feasible = programs.overlap.sum(axis=(1, 2)) >= programs.tau
    blocks, programs = blocks.take(feasible), programs.take(feasible)
    if best is not None:
        hopeful = programs.lagrangian(best.multiplier[blocks.radius])[0] > best.value[blocks.radius]
        blocks, programs = blocks.take(hopeful), programs.take(hopeful)
    return _Solved(blocks, *programs.solve())


def _programs(cells: _Cells, blocks: _Blocks, tau: Floats) -> _Programs:
    lower, upper = blocks.shares()
    highest = cells.mean + cells.excess
    return _Programs(
        constant=(upper * np.maximum(highest, 0.0) + lower * np.minimum(highest, 0.0)).sum(axis=(1, 2)),
        curved=2.0 * upper * np.sqrt(cells.variance),
        linear=lower * np.maximum(cells.excess, 0.0) + upper * np.minimum(cells.excess, 0.0),
        overlap=np.sqrt(cells.mass * upper),
        widest=cells.widest,
        tau=tau[blocks.radius],
    )


@dataclass(frozen=True)
class _Programs:
    """The programs as stated above: constant a, curved b, linear c, overlap w, and the largest angles."""

    constant: Floats
    curved: Floats
    linear: Floats
    overlap: Floats
    widest: Floats
    tau: Floats

    def take(self, chosen: Booleans) -> _Programs:
        rows = (self.constant[chosen], self.curved[chosen], self.linear[chosen], self.overlap[chosen])
        return _Programs(*rows, self.widest, self.tau[chosen])

    def lagrangian(self, multiplier: Floats) -> tuple[Floats, Floats]:
        """Return the dual function, an upper bound for any multiplier, and its slope."""
        pull = multiplier[:, None, None] * self.overlap
        angle = _best_angle(self.curved, self.linear, pull, self.widest)
        sine, cosine = np.sin(angle), np.cos(angle)
        slope = (self.overlap * cosine).sum(axis=(1, 2)) - self.tau
        gain = (self.curved * sine * cosine - self.linear * cosine**2).sum(axis=(1, 2))
        return self.constant + gain + multiplier * slope, slope

    def solve(self) -> tuple[Floats, Floats]:
        """Minimise the dual function by bisection of the multiplier's logarithm; return value and multiplier."""
        weakest, strongest = np.full(len(self.tau), -25.0), np.full(len(self.tau), 25.0)
        for _ in range(MULTIPLIER_STEPS):
            middle = 0.5 * (weakest + strongest)
            inside = self.lagrangian(np.exp(middle))[1] >= 0.0
            weakest, strongest = np.where(inside, weakest, middle), np.where(inside, middle, strongest)
        multiplier = np.exp(strongest)
        return self.lagrangian(multiplier)[0], multiplier


def _best_angle(curved: Floats, linear: Floats, pull: Floats, widest: Floats) -> Floats:
    """Maximise the Lagrangian over each angle: unimodal, so the sign of its slope tells where; then Newton."""
    low, high = np.zeros_like(pull), np.broadcast_to(widest, pull.shape)
    for _ in range(ANGLE_STEPS):
        angle = 0.5 * (low + high)
        sine, cosine = np.sin(angle), np.cos(angle)
        rising = curved * (1.0 - 2.0 * sine**2) + (2.0 * linear * cosine - pull) * sine > 0.0
        low, high = np.where(rising, angle, low), np.where(rising, high, angle)
    angle = 0.5 * (low + high)
    for _ in range(NEWTON_STEPS):
        sine, cosine = np.sin(angle), np.cos(angle)
        double = 1.0 - 2.0 * sine**2
        slope = curved * double + (2.0 * linear * cosine - pull) * sine
        bend = -4.0 * curved * sine * cosine + 2.0 * linear * double - pull * cosine
        step = np.divide(slope, bend, out=np.zeros_like(slope), where=bend < 0.0)
        angle = np.clip(angle - step, low, high)
    return angle
