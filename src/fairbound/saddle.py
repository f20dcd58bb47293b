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
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from fairbound.arrays import Booleans, Floats, Integers

MAX_ITERATIONS = 60
STEP_TO_BOUNDARY = 0.995


def take(array: Floats, index: Integers) -> Floats:
    """Select problems of a batch; an array with one entry serves them all."""
    return array if len(array) == 1 else array[index]


def diagonal(matrix: Floats) -> Floats:
    """Return a view of the diagonal of the last two axes, to be written to."""
    return np.einsum("...ii->...i", matrix)


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

    Shapes (N or 1, 1, m, ...), of the offset (N or 1, S or 1, m); ``sign`` as in :class:`GlobalRows`.
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


@dataclass(frozen=True)
class _Rows:
    """All inequalities of a batch, so that slacks and multipliers are one row of numbers per problem."""

    near: LocalRows
    far: GlobalRows
    groups: int

    @cached_property
    def sign(self) -> Floats:
        """The signs of all rows."""
        return np.concatenate([np.tile(self.near.sign, self.groups), self.far.sign])

    @cached_property
    def _wide(self) -> Floats:
        """Block and border of the local rows, side by side."""
        block, border = self.near.block, self.near.border
        shape = *np.broadcast_shapes(block.shape[:-1], border.shape[:-1]), border.shape[-1]
        return np.concatenate([block, np.broadcast_to(border, shape)], axis=-1)

    def _split(self, flat: Floats) -> tuple[Floats, Floats]:
        """Separate the local rows, shape (N, S, m), from the global ones."""
        count = len(self.near.sign)
        local = self.groups * count
        return flat[:, :local].reshape(len(flat), self.groups, count), flat[:, local:]

    def change(self, local: Floats, glob: Floats) -> Floats:
        """Return ``rows · (local, glob)``."""
        near = self.near.change(local, glob).reshape(len(glob), -1)
        return np.concatenate([near, self.far.change(glob)], axis=1)

    def slack(self, local: Floats, glob: Floats) -> Floats:
        """Return the distance from the boundary."""
        near = (self.near.change(local, glob) - self.near.offset).reshape(len(glob), -1)
        return np.concatenate([near, self.far.change(glob) - self.far.offset], axis=1)

    def pull(self, strength: Floats) -> tuple[Floats, Floats]:
        """Return ``rows transposed · strength``, for the blocks and for the border."""
        near, far = self._split(strength)
        local, glob = self.near.pull(near)
        return local, glob + self.far.pull(far)

    def squared(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return ``rows transposed · weight · rows``: what it adds to blocks and cross terms, and to the corner."""
        near, far = self._split(weight)
        blocks = (near[..., None] * self.near.block).swapaxes(-1, -2) @ self._wide
        border = self.near.border[:, 0]  # the same for every group
        corner = (near.sum(axis=1)[..., None] * border).swapaxes(-1, -2) @ border
        return blocks, corner + (far[..., None] * self.far.border).swapaxes(-1, -2) @ self.far.border

    def take(self, index: Integers) -> _Rows:
        """Select problems."""
        return _Rows(self.near.take(index), self.far.take(index), self.groups)


def _newton_direction(
    slope: Derivatives, rows: _Rows, slack: Floats, force: Floats, aim: Floats
) -> tuple[Floats, Floats]:
    """Solve the arrow system: blocks first, then the border (Schur complement)."""
    signed = rows.sign / slack
    local_push, glob_push = rows.pull(signed * aim[:, None])
    wide, corner = rows.squared(signed * force)
    size = slope.local.shape[-1]
    system = np.concatenate([slope.local_local, slope.local_glob, (local_push - slope.local)[..., None]], axis=-1)
    system[..., :-1] += wide
    blocks, rest = system[..., :size], system[..., size:]

    solved = np.linalg.solve(blocks, rest)
    reduced = (rest[..., :-1].swapaxes(-1, -2) @ solved).sum(axis=1)
    right = glob_push - slope.glob - reduced[..., -1]
    d_glob = np.linalg.solve(slope.glob_glob + corner - reduced[..., :-1], right[..., None])[..., 0]
    return solved[..., -1] - (solved[..., :-1] @ d_glob[:, None, :, None])[..., 0], d_glob


def _fastest(value: Floats, change: Floats) -> Floats:
    """Return per problem how fast a positive value falls, relative to itself."""
    return (change / value).reshape(len(value), -1).min(axis=1)


def _target(path: Floats, step: Floats) -> Floats:
    """Long steps allow an ambitious next target; a short one asks to come back to the centre first."""
    return path * np.minimum(np.maximum((1.0 - step) ** 1.5, 0.005), 0.8)


def solve(problem: Problem, *, accuracy: float = 1e-14) -> SaddlePoint:
    """Follow the central path of every problem of a batch until its duality gap per row is below ``accuracy``.

    The rows have slacks (the distance from the boundary) and forces (the multipliers that keep it); the mean of their
    products is the parameter of the path. A problem that has arrived leaves the batch. One that breaks down (no
    interior, rounding) keeps its last point.
    """
    local, glob = problem.start()
    found = SaddlePoint(local.copy(), glob.copy())
    inner = problem.inner(local, glob)
    rows = _Rows(*problem.rows, local.shape[1])
    slack = rows.slack(local, glob)
    force = 0.1 / slack
    alive = np.arange(len(glob))
    step = np.ones(len(glob))
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            path = (slack * force).sum(axis=1) / slack.shape[1]
            going = (path >= accuracy) & np.isfinite(path) & ~problem.settled(local, glob)
            if not going.all():
                found.local[alive], found.glob[alive] = local, glob
                if not going.any():
                    break
                going = np.flatnonzero(going)
                alive, step, path, slack, force = alive[going], step[going], path[going], slack[going], force[going]
                local, glob, inner = local[going], glob[going], inner[going]
                problem, rows = problem.take(going), rows.take(going)
            aim = _target(path, step)
            slope = problem.derivatives(local, glob, inner)
            try:
                d_local, d_glob = _newton_direction(slope, rows, slack, force, aim)
            except np.linalg.LinAlgError:
                break
            d_inner = problem.inner_direction((local, glob, inner), (d_local, d_glob))
            d_slack = rows.change(d_local, d_glob)
            d_force = (aim[:, None] - force * d_slack) / slack - force
            fall = np.minimum(_fastest(slack, d_slack), _fastest(force, d_force))
            fall = np.minimum(fall, _fastest(inner, d_inner))
            step = np.minimum(1.0, STEP_TO_BOUNDARY / np.maximum(-fall, 1e-300))
            broken = ~np.isfinite(step)
            if broken.any():
                step[broken] = d_local[broken] = d_glob[broken] = d_inner[broken] = d_force[broken] = 0.0
            local = local + step[:, None, None] * d_local
            glob = glob + step[:, None] * d_glob
            inner = inner + step.reshape(-1, *[1] * (inner.ndim - 1)) * d_inner
            force = force + step[:, None] * d_force
            slack = rows.slack(local, glob)
    found.local[alive], found.glob[alive] = local, glob
    return found
