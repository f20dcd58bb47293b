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
class GlobalRows:
    """Linear inequalities ``border · glob >= offset``, shapes (N or 1, m, n_glob) and (N or 1, m).

    ``sign`` is +1 where a row limits minimised variables and -1 where it limits maximised ones.
    """

    border: Floats
    offset: Floats
    sign: Floats

    def change(self, glob: Floats) -> Floats:
        """Return ``rows · glob``."""
        return (self.border @ glob[..., None])[..., 0]

    def pull(self, strength: Floats) -> Floats:
        """Return ``rows transposed · strength``."""
        return (strength[..., None, :] @ self.border)[..., 0, :]

    def take(self, index: Integers) -> GlobalRows:
        """Select problems."""
        return replace(self, border=take(self.border, index), offset=take(self.offset, index))


@dataclass(frozen=True)
class LocalRows:
    """Linear inequalities ``block · local + border · glob >= offset``, the same for every group but for the offset.

    Shapes (N or 1, S or 1, m, ...); ``sign`` as in :class:`GlobalRows`.
    """

    block: Floats
    border: Floats
    offset: Floats
    sign: Floats

    def change(self, local: Floats, glob: Floats) -> Floats:
        """Return ``rows · (local, glob)``."""
        return (self.block @ local[..., None] + self.border @ glob[:, None, :, None])[..., 0]

    def pull(self, strength: Floats) -> tuple[Floats, Floats]:
        """Return ``rows transposed · strength``, for the blocks and for the border."""
        across = strength[..., None, :]
        return (across @ self.block)[..., 0, :], (across @ self.border)[..., 0, :].sum(axis=1)

    def take(self, index: Integers) -> LocalRows:
        """Select problems."""
        return replace(
            self, block=take(self.block, index), border=take(self.border, index), offset=take(self.offset, index)
        )


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
    def rows(self) -> tuple[LocalRows, GlobalRows]:
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

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
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


@dataclass(frozen=True)
class _Interior:
    """Slacks and multipliers of the rows: the distance from the boundary and the force that keeps it."""

    slack: tuple[Floats, Floats]
    force: tuple[Floats, Floats]

    def path(self) -> Floats:
        """Return the mean product of slack and multiplier, the parameter of the central path."""
        products = [(s * f).reshape(len(s), -1) for s, f in zip(self.slack, self.force, strict=True)]
        return np.concatenate(products, axis=1).mean(axis=1)

    def take(self, index: Integers) -> _Interior:
        """Select problems."""
        near, far = self.slack
        push, pull = self.force
        return _Interior((near[index], far[index]), (push[index], pull[index]))


def _slack(rows: tuple[LocalRows, GlobalRows], local: Floats, glob: Floats) -> tuple[Floats, Floats]:
    return rows[0].change(local, glob) - rows[0].offset, rows[1].change(glob) - rows[1].offset


def _newton_direction(
    slope: Derivatives, rows: tuple[LocalRows, GlobalRows], inside: _Interior, aim: Floats
) -> tuple[Floats, Floats]:
    """Solve the arrow system: blocks first, then the border (Schur complement)."""
    near, far = rows
    near_weight, far_weight = (
        near.sign * inside.force[0] / inside.slack[0],
        far.sign * inside.force[1] / inside.slack[1],
    )
    near_push = near.pull(near.sign * aim[:, None, None] / inside.slack[0])
    far_push = far.pull(far.sign * aim[:, None] / inside.slack[1])
    scaled = (near_weight[..., None] * near.block).swapaxes(-1, -2)
    blocks = slope.local_local + scaled @ near.block
    cross = slope.local_glob + scaled @ near.border
    bordered = (near_weight[..., None] * near.border).swapaxes(-1, -2)
    corner = slope.glob_glob + (bordered @ near.border).sum(axis=1)
    corner = corner + (far_weight[..., None] * far.border).swapaxes(-1, -2) @ far.border
    local = near_push[0] - slope.local
    glob = near_push[1] + far_push - slope.glob

    solved = np.linalg.solve(blocks, np.concatenate([cross, local[..., None]], axis=-1))
    reduced = (cross.swapaxes(-1, -2) @ solved).sum(axis=1)
    d_glob = np.linalg.solve(corner - reduced[..., :-1], (glob - reduced[..., -1])[..., None])[..., 0]
    return solved[..., -1] - (solved[..., :-1] @ d_glob[:, None, :, None])[..., 0], d_glob


def _target(path: Floats, step: Floats) -> Floats:
    """Long steps allow an ambitious next target; a short one asks to come back to the centre first."""
    return path * np.where(step > 0.95, 0.02, np.where(step > 0.7, 0.15, np.where(step > 0.4, 0.4, 0.8)))


def solve(problem: Problem, *, accuracy: float = 1e-14) -> SaddlePoint:
    """Follow the central path of every problem of a batch until its duality gap per row is below ``accuracy``.

    A problem that has arrived leaves the batch. One that breaks down (no interior, rounding) keeps its last point.
    """
    local, glob = problem.start()
    found = SaddlePoint(local.copy(), glob.copy())
    inner = problem.inner(local, glob)
    slack = _slack(problem.rows, local, glob)
    inside = _Interior(slack, (0.1 / slack[0], 0.1 / slack[1]))
    alive = np.arange(len(glob))
    step = np.ones(len(glob))
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            path = inside.path()
            arrived = (path < accuracy) | ~np.isfinite(path) | problem.settled(local, glob)
            if arrived.any():
                going = np.flatnonzero(~arrived)
                if not len(going):
                    break
                alive, step, path = alive[going], step[going], path[going]
                local, glob, inner = local[going], glob[going], inner[going]
                inside, problem = inside.take(going), problem.take(going)
            aim = _target(path, step)
            slope = problem.derivatives(local, glob, inner)
            try:
                d_local, d_glob = _newton_direction(slope, problem.rows, inside, aim)
            except np.linalg.LinAlgError:
                break
            d_inner = problem.inner_direction((local, glob, inner), (d_local, d_glob))
            d_slack = problem.rows[0].change(d_local, d_glob), problem.rows[1].change(d_glob)
            d_force = (
                (aim[:, None, None] - inside.force[0] * d_slack[0]) / inside.slack[0] - inside.force[0],
                (aim[:, None] - inside.force[1] * d_slack[1]) / inside.slack[1] - inside.force[1],
            )
            moving = zip((*inside.slack, *inside.force, inner), (*d_slack, *d_force, d_inner), strict=True)
            step = np.minimum.reduce([_largest_step(value, change) for value, change in moving])
            usable = np.isfinite(step) & np.isfinite(d_glob).all(axis=1) & np.isfinite(d_local).all(axis=(1, 2))
            step = np.where(usable, step, 0.0)
            blockwise = step[:, None, None]
            local = np.where(usable[:, None, None], local + blockwise * d_local, local)
            glob = np.where(usable[:, None], glob + step[:, None] * d_glob, glob)
            inner = inner + step.reshape(-1, *[1] * (inner.ndim - 1)) * d_inner
            force = inside.force[0] + blockwise * d_force[0], inside.force[1] + step[:, None] * d_force[1]
            inside = _Interior(_slack(problem.rows, local, glob), force)
            found.local[alive], found.glob[alive] = local, glob
    return found
