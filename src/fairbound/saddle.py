"""Convex-concave saddle points by a primal-dual interior-point method, many at once.

Every question of this package is of the form

    min over x  max over z  L(x, z)      subject to   rows · (x, z) >= offset,

convex in x, concave in z, with one small block of *local* variables for each group, a few *global* variables
that couple the blocks, and many *inner* variables (one per loss atom) that the problem eliminates by itself:

    local[n, s, :]   the block of group s in problem n
    glob[n, :]       the shared variables of problem n

The Newton matrix is then an arrow (blocks, and a border), so that a step costs time linear in the number
of groups. Nothing here has to be trusted: whatever multipliers come out, the bound is evaluated from them
afterwards by weak duality, and the attained value from a distribution that is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from fairbound.arrays import Booleans, Floats, Integers

MAX_ITERATIONS = 60
STEP_TO_BOUNDARY = 0.995


def take(array: Floats, index: Integers) -> Floats:
    """Select problems of a batch; an array with one entry serves them all."""
    return array if len(array) == 1 else array[index]


@dataclass(frozen=True)
class Rows:
    """Linear inequalities ``block · local + border · glob >= offset``, each on one side of the saddle.

    ``sign`` is +1 where a row limits minimised variables and -1 where it limits maximised ones. Local rows come
    for every group, shape (N or 1, S or 1, m, ...); global rows, shape (N or 1, m, ...), have no block.
    """

    border: Floats
    offset: Floats
    sign: Floats
    block: Floats | None = None

    def change(self, local: Floats, glob: Floats) -> Floats:
        """Return ``rows · (local, glob)``."""
        if self.block is None:
            return (self.border @ glob[..., None])[..., 0]
        return (self.block @ local[..., None] + self.border @ glob[:, None, :, None])[..., 0]

    def pull(self, strength: Floats) -> tuple[Floats, Floats]:
        """Return ``rows transposed · strength``, for the blocks and for the border."""
        across = strength[..., None, :]
        border = (across @ self.border)[..., 0, :]
        if self.block is None:
            return np.zeros(()), border
        return (across @ self.block)[..., 0, :], border.sum(axis=1)

    def take(self, index: Integers) -> Rows:
        """Select problems."""
        block = None if self.block is None else take(self.block, index)
        return replace(self, border=take(self.border, index), offset=take(self.offset, index), block=block)


@dataclass(frozen=True)
class Derivatives:
    """Gradient and Hessian of L after the inner variables were eliminated, split into blocks and border."""

    local: Floats
    glob: Floats
    local_local: Floats
    local_glob: Floats
    glob_glob: Floats


class Problem(Protocol):
    """A batch of saddle problems of equal shape."""

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """The local and the global inequalities."""
        ...

    def start(self) -> tuple[Floats, Floats]:
        """Return a point strictly inside all rows."""
        ...

    def inner(self, local: Floats, glob: Floats) -> Floats:
        """Return the inner variables that are optimal at a point."""
        ...

    def derivatives(self, local: Floats, glob: Floats, inner: Floats) -> Derivatives:
        """Differentiate L twice at a point inside the rows and eliminate the inner variables."""
        ...

    def inner_direction(
        self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]
    ) -> Floats:
        """Return the Newton step of the inner variables that belongs to a step of the others."""
        ...

    def settled(self, local: Floats, glob: Floats) -> Booleans:
        """Tell which problems need no better multipliers than these."""
        ...

    def take(self, index: Integers) -> Self:
        """Select problems."""
        ...


@dataclass(frozen=True)
class SaddlePoint:
    """Where the method stopped."""

    local: Floats
    glob: Floats


def _largest_step(value: Floats, change: Floats) -> Floats:
    """Return per problem the step, at most 1, that keeps ``value + step · change`` positive."""
    fastest = (-change / value).reshape(len(value), -1).max(axis=1)
    return np.minimum(1.0, STEP_TO_BOUNDARY / np.maximum(fastest, 1e-300))


def _newton_direction(
    slope: Derivatives, rows: tuple[Rows, Rows], weight: tuple[Floats, Floats], push: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Solve the arrow system: blocks first, then the border (Schur complement)."""
    near, far = rows
    scaled = (weight[0][..., None] * near.block).swapaxes(-1, -2)
    blocks = slope.local_local + scaled @ near.block
    cross = slope.local_glob + scaled @ near.border
    bordered = (weight[0][..., None] * near.border).swapaxes(-1, -2)
    corner = slope.glob_glob + (bordered @ near.border).sum(axis=1)
    corner = corner + (weight[1][..., None] * far.border).swapaxes(-1, -2) @ far.border
    near_push, far_push = near.pull(push[0]), far.pull(push[1])
    local = near_push[0] - slope.local
    glob = near_push[1] + far_push[1] - slope.glob

    solved = np.linalg.solve(blocks, np.concatenate([cross, local[..., None]], axis=-1))
    reduced = (cross.swapaxes(-1, -2) @ solved).sum(axis=1)
    d_glob = np.linalg.solve(corner - reduced[..., :-1], (glob - reduced[..., -1])[..., None])[..., 0]
    return solved[..., -1] - (solved[..., :-1] @ d_glob[:, None, :, None])[..., 0], d_glob


def solve(problem: Problem, *, accuracy: float = 1e-14) -> SaddlePoint:
    """Follow the central path of every problem of a batch until its duality gap per row is below ``accuracy``.

    A problem that has arrived leaves the batch. One that breaks down (no interior, rounding) keeps its last point.
    """
    local, glob = problem.start()
    found = SaddlePoint(local.copy(), glob.copy())
    inner = problem.inner(local, glob)
    rows = problem.rows
    slack = tuple(r.change(local, glob) - r.offset for r in rows)
    multiplier = tuple(0.1 / s for s in slack)
    alive = np.arange(len(glob))
    step = np.ones(len(glob))
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            flat = [(s * m).reshape(len(s), -1) for s, m in zip(slack, multiplier, strict=True)]
            path = np.concatenate(flat, axis=1).mean(axis=1)
            arrived = (path < accuracy) | ~np.isfinite(path) | problem.settled(local, glob)
            if arrived.any():
                going = np.flatnonzero(~arrived)
                if not len(going):
                    break
                alive, step, path = alive[going], step[going], path[going]
                local, glob, inner = local[going], glob[going], inner[going]
                slack, multiplier = tuple(s[going] for s in slack), tuple(m[going] for m in multiplier)
                problem = problem.take(going)
                rows = problem.rows
            slope = problem.derivatives(local, glob, inner)
            # Long steps allow an ambitious next target; a short one asks to come back to the centre first.
            aim = path * np.where(step > 0.95, 0.02, np.where(step > 0.7, 0.15, np.where(step > 0.4, 0.4, 0.8)))
            aims = aim[:, None, None], aim[:, None]
            weight = tuple(r.sign * m / s for r, m, s in zip(rows, multiplier, slack, strict=True))
            push = tuple(r.sign * a / s for r, a, s in zip(rows, aims, slack, strict=True))
            try:
                d_local, d_glob = _newton_direction(slope, rows, weight, push)
            except np.linalg.LinAlgError:
                break
            d_inner = problem.inner_direction((local, glob, inner), (d_local, d_glob))
            d_slack = tuple(r.change(d_local, d_glob) for r in rows)
            d_mult = tuple(
                (a - m * d) / s - m for a, m, d, s in zip(aims, multiplier, d_slack, slack, strict=True)
            )
            pairs = [*zip(slack, d_slack, strict=True), *zip(multiplier, d_mult, strict=True), (inner, d_inner)]
            step = np.minimum.reduce([_largest_step(v, d) for v, d in pairs])
            usable = np.isfinite(step) & np.isfinite(d_glob).all(axis=1) & np.isfinite(d_local).all(axis=(1, 2))
            step = np.where(usable, step, 0.0)
            local = np.where(usable[:, None, None], local + step[:, None, None] * d_local, local)
            glob = np.where(usable[:, None], glob + step[:, None] * d_glob, glob)
            inner = inner + step.reshape(-1, *[1] * (inner.ndim - 1)) * d_inner
            slack = tuple(r.change(local, glob) - r.offset for r in rows)
            multiplier = tuple(
                m + step.reshape(-1, *[1] * (m.ndim - 1)) * d for m, d in zip(multiplier, d_mult, strict=True)
            )
            found.local[alive], found.glob[alive] = local, glob
    return found
