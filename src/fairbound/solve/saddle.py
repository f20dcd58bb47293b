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

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers

MAX_ITERATIONS = 60

#: How much a step leaves of the distance from the boundary and of the path's parameter. Near the end of the path it may
#: leave less, but not where the boundary cuts the step short: from too close to it the next would be cut shorter still.
REMAINDER = 0.005
NEARLY_FULL = 1.05


def take(array: Floats, index: Integers) -> Floats:
    """Select problems of a batch; an array with one entry serves them all."""
    return array if len(array) == 1 else array[index]


def diagonal(matrix: Floats) -> Floats:
    """Return a view of the diagonal of the last two axes, to be written to."""
    view = matrix.diagonal(axis1=-2, axis2=-1)
    view.setflags(write=True)
    return view


@dataclass(frozen=True)
class GlobalRows:
    """Linear inequalities ``border · glob >= offset``, shapes (N or 1, m, n_glob) and (N or 1, m).

    ``sign`` is +1 where a row limits minimised variables and -1 where it limits maximised ones.
    """

    border: Floats
    offset: Floats
    sign: Floats


@dataclass(frozen=True)
class LocalRows:
    """Linear inequalities ``block · local + border · glob >= offset``, the same for every group but for the offset.

    Shapes (N or 1, 1, m, ...), of the offset (N or 1, S or 1, m); ``sign`` as in :class:`GlobalRows`.
    """

    block: Floats
    border: Floats
    offset: Floats
    sign: Floats


@dataclass(frozen=True)
class Derivatives:
    """Gradient and Hessian of L after the inner variables were eliminated, split into blocks and border."""

    local: Floats
    shared: Floats
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

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return the inner variables that are optimal at a point."""
        ...

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate L twice at a point inside the rows and eliminate the inner variables."""
        ...

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Return the Newton step of the inner variables that belongs to a step of the others."""
        ...

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Tell which problems need no better multipliers than these."""
        ...

    def take(self, index: Integers) -> Self:
        """Select problems."""
        ...


@dataclass(frozen=True)
class SaddlePoint:
    """Where the method stopped; ``state`` is all that moved, from where it can go on."""

    local: Floats
    shared: Floats
    state: Floats


@dataclass(frozen=True)
class _Rows:
    """All inequalities of a batch. Their values are a row of numbers per problem: group by group, then the global ones.

    Shapes: block (N or 1, 1, m, n_local); wide (N or 1, 1, m, n_local + n_glob), the block and its border; tall (N or
    1, all rows, n_glob), the border of all rows; shared, those of its rows that are not zero, which are ``sharing``.
    """

    block: Floats
    wide: Floats
    tall: Floats
    shared: Floats
    sharing: Integers
    sign: Floats
    groups: int

    @staticmethod
    def of(near: LocalRows, far: GlobalRows, groups: int) -> _Rows:
        """Arrange the rows of a problem."""
        size = near.block.shape[-1]
        wide = np.empty((*near.block.shape[:-1], size + near.border.shape[-1]))
        wide[..., :size], wide[..., size:] = near.block, near.border
        tall = np.concatenate([near.border[:, 0]] * groups + [far.border], axis=1)
        sharing = np.flatnonzero(tall.any(axis=(0, 2)))
        sign = np.concatenate([near.sign] * groups + [far.sign])
        return _Rows(near.block, wide, tall, tall[:, sharing], sharing, sign, groups)

    def near(self, flat: Floats) -> Floats:
        """Return a view of what belongs to the local rows, shape (N, S, m)."""
        return flat[:, : self.groups * self.block.shape[2]].reshape(len(flat), self.groups, -1)

    def change(self, local: Floats, shared: Floats) -> Floats:
        """Return ``rows · (local, glob)``."""
        flat = (self.tall @ shared[..., None])[..., 0]
        near = self.near(flat)
        near += (self.block @ local[..., None])[..., 0]
        return flat

    def take(self, index: Integers) -> _Rows:
        """Select problems."""
        block, wide, tall, shared = (take(part, index) for part in (self.block, self.wide, self.tall, self.shared))
        return replace(self, block=block, wide=wide, tall=tall, shared=shared)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve linear systems; singular ones, which NumPy refuses for the sake of all, have no solution: NaN."""
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        singular = np.linalg.slogdet(matrix)[0] == 0
        found = np.linalg.solve(np.where(singular[..., None, None], np.eye(matrix.shape[-1]), matrix), right)
        found = np.where(singular[..., None, None], np.nan, found)
    return np.asarray(found, dtype=np.float64)


def _newton_direction(
    slope: Derivatives, rows: _Rows, slack: Floats, force: Floats, aim: Floats
) -> tuple[Floats, Floats]:
    """Solve the arrow system: blocks first, then the border (Schur complement)."""
    signed = rows.sign / slack
    weight, push = signed * force, signed * aim[:, None]
    size = slope.local.shape[-1]
    local_right = (rows.near(push)[..., None, :] @ rows.block)[..., 0, :] - slope.local
    system = np.concatenate([slope.local_local, slope.local_glob, local_right[..., None]], axis=-1)
    system[..., :-1] += (rows.near(weight)[..., None] * rows.block).swapaxes(-1, -2) @ rows.wide
    rest = system[..., size:]
    solved = _solved(system[..., :size], rest)

    reduced = (rest[..., :-1].swapaxes(-1, -2) @ solved).sum(axis=1)
    stiff = (weight[:, rows.sharing, None] * rows.shared).swapaxes(-1, -2) @ rows.shared
    corner = slope.glob_glob + stiff - reduced[..., :-1]
    glob_right = (push[:, None] @ rows.tall)[:, 0] - slope.shared - reduced[..., -1]
    d_glob = _solved(corner, glob_right[..., None])
    return solved[..., -1] - (solved[..., :-1] @ d_glob[:, None])[..., 0], d_glob[..., 0]


def _views(state: Floats, shapes: list[tuple[int, ...]]) -> list[Floats]:
    """Return the parts of rows of numbers as arrays of given shapes."""
    parts, end = [], 0
    for shape in shapes:
        start, end = end, end + math.prod(shape)
        parts.append(state[:, start:end].reshape(len(state), *shape))
    return parts


def _target(path: Floats, step: Floats, least: Floats) -> Floats:
    """Long steps allow an ambitious next target; a short one asks to come back to the centre first."""
    return path * np.minimum(np.maximum((1.0 - step) ** 1.5, least), 0.8)


def solve(problem: Problem, *, accuracy: float = 1e-14, state: Floats | None = None) -> SaddlePoint:
    """Follow the central path of every problem of a batch until its duality gap per row is below ``accuracy``.

    The rows have slacks (the distance from the boundary) and forces (the multipliers that keep it); the mean of their
    products is the parameter of the path. A problem that has arrived leaves the batch. One that breaks down (no
    interior, rounding) keeps its last point. With the ``state`` of an earlier, rougher solution it goes on from there.
    """
    local, shared = problem.start()
    near, far = problem.rows
    rows = _Rows.of(near, far, local.shape[1])
    slack = rows.change(local, shared)
    rows.near(slack)[...] -= near.offset
    slack[:, -far.sign.size :] -= far.offset
    parts = [slack, 0.1 / slack, problem.inner(local, shared), local, shared]
    shapes = [part.shape[1:] for part in parts]
    if state is None:
        state = np.concatenate([part.reshape(len(shared), -1) for part in parts], axis=1)
    state, found = state.copy(), state.copy()
    positive = state.shape[1] - local[0].size - shared[0].size  # so many numbers come first that have to stay positive
    slack, force, inner, local, shared = _views(state, shapes)
    change = np.empty_like(state)
    d_slack, d_force, d_inner, d_local, d_glob = _views(change, shapes)
    alive = np.arange(len(state))
    step, moving = np.ones(len(state)), True
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            path = (slack * force).sum(axis=1) / slack.shape[1]
            going = (path >= accuracy) & moving & ~problem.settled(local, shared)
            if not going.all():
                found[alive] = state
                if not going.any():
                    break
                going = np.flatnonzero(going)
                alive, step, path, state, change = alive[going], step[going], path[going], state[going], change[going]
                slack, force, inner, local, shared = _views(state, shapes)
                d_slack, d_force, d_inner, d_local, d_glob = _views(change, shapes)
                problem, rows = problem.take(going), rows.take(going)
            least = np.minimum(np.maximum(path, 0.01 * accuracy / path), REMAINDER)  # no closer than asked for
            aim = _target(path, step, least)
            slope = problem.derivatives(local, shared, inner)
            d_local[...], d_glob[...] = _newton_direction(slope, rows, slack, force, aim)
            d_inner[...] = problem.inner_direction((local, shared, inner), (d_local, d_glob))
            d_slack[...] = rows.change(d_local, d_glob)
            d_force[...] = (aim[:, None] - force * d_slack) / slack - force
            fall = (change[:, :positive] / state[:, :positive]).min(axis=1)
            left = np.where(fall > -NEARLY_FULL, least, REMAINDER)
            step = np.minimum(1.0, (1.0 - left) / np.maximum(-fall, 1e-300))
            moving = step > 0
            if not moving.all():
                step[~moving] = change[~moving] = 0.0
            state += step[:, None] * change
    found[alive] = state
    *_, local, shared = _views(found, shapes)
    return SaddlePoint(local.copy(), shared.copy(), found)
