"""Saddle problems with linear limits on shares: any problem, and a multiplier for each limit.

Shares m that are maximised over may have limits ``A m <= b``. A multiplier ``mu >= 0`` for each row, minimised, brings
the term ``<mu, b - A m>`` into L. The problem itself need not know: :func:`solve_limited` is told where its shares
stand, adds variables, rows and derivatives, and hands the multipliers back. The start need not obey the limits.

Where the shares are local variables (one in each block), limits on a single share have their multipliers in its block
too, so that the Newton matrix remains an arrow and a step takes time linear in the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve import saddle
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, SaddlePoint

#: Where multipliers start, in units of the largest loss.
START = 0.1


@dataclass(frozen=True)
class RowTerm:
    """The term ``<mu, b - A m>``, the same for all problems of a batch.

    Attributes
    ----------
    matrix, most
        A, shape (rows, shares), and b.
    shares
        Where m stands: the number of a local variable (one share in each block), or a slice of the global ones.
    """

    matrix: Floats
    most: Floats
    shares: int | slice

    @cached_property
    def single(self) -> Booleans:
        """Which rows have their multipliers in the blocks."""
        alone: Booleans = (self.matrix != 0).sum(axis=1) == 1
        return alone & (not isinstance(self.shares, slice))

    @cached_property
    def joint(self) -> tuple[Floats, Floats]:
        """The rows whose multipliers are global variables."""
        return self.matrix[~self.single], self.most[~self.single]

    @cached_property
    def place(self) -> tuple[Integers, Integers]:
        """Block and number in it of the multipliers in the blocks."""
        block = np.argmax(self.matrix[self.single] != 0, axis=1)
        earlier = block[:, None] == block
        return block, np.tril(earlier, -1).sum(axis=1)

    @cached_property
    def own(self) -> tuple[Floats, Floats]:
        """Coefficients and right sides of the rows in the blocks, shape (shares, most of them in a block).

        Places without a row have the coefficient 0: their multipliers go to 0.
        """
        block, number = self.place
        shape = self.matrix.shape[1], int(number.max(initial=-1)) + 1
        factor, right = np.zeros(shape), np.ones(shape)
        factor[block, number] = self.matrix[self.single].sum(axis=1)
        right[block, number] = self.most[self.single]
        return factor, right

    def gathered(self, local: Floats, shared: Floats) -> Floats:
        """Return the multipliers, shape (N, rows), in the order of the rows."""
        mu = np.empty((len(shared), len(self.most)))
        block, number = self.place
        mu[:, self.single], mu[:, ~self.single] = local[:, block, number], shared
        return mu


@dataclass(frozen=True)
class LimitedSaddle:
    """A batch of saddle problems with such terms: their multipliers stand behind the problem's own variables."""

    problem: saddle.Problem
    terms: tuple[RowTerm, ...]
    sizes: tuple[int, int]

    @cached_property
    def _places(self) -> list[tuple[slice, slice]]:
        """Where each term's multipliers stand among the local and the global variables."""
        local, shared = self.sizes
        places = []
        for term in self.terms:
            inside, across = term.own[0].shape[1], len(term.joint[1])
            places.append((slice(local, local + inside), slice(shared, shared + across)))
            local, shared = local + inside, shared + across
        return places

    @cached_property
    def _added(self) -> tuple[int, int]:
        """How many variables are added to each block, and to the global ones."""
        inside, across = self._places[-1]
        return inside.stop - self.sizes[0], across.stop - self.sizes[1]

    def _bare(self, local: Floats, shared: Floats) -> tuple[Floats, Floats]:
        """Return the problem's own variables."""
        return local[..., : self.sizes[0]], shared[:, : self.sizes[1]]

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """The problem's rows, and mu >= 0."""
        near, far = self.problem.rows
        inside, across = self._added
        near = LocalRows(
            _framed(near.block, np.eye(inside)),
            _framed(near.border, np.zeros((inside, across))),
            np.concatenate([near.offset, np.zeros((*near.offset.shape[:-1], inside))], axis=-1),
            np.concatenate([near.sign, np.ones(inside)]),
        )
        far = GlobalRows(
            _framed(far.border, np.eye(across)),
            np.concatenate([far.offset, np.zeros((len(far.offset), across))], axis=-1),
            np.concatenate([far.sign, np.ones(across)]),
        )
        return near, far

    def start(self) -> tuple[Floats, Floats]:
        """The problem's start, and equal multipliers."""
        local, shared = self.problem.start()
        inside, across = self._added
        more = np.full((*local.shape[:2], inside), START)
        return np.concatenate([local, more], axis=-1), np.concatenate(
            [shared, np.full((len(shared), across), START)], 1
        )

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """The problem's."""
        return self.problem.inner(*self._bare(local, shared))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Add the terms' derivatives to the problem's."""
        bare = self.problem.derivatives(*self._bare(local, shared), inner)
        inside, across = self._added
        slope = Derivatives(
            _framed(bare.local[..., None, :], np.zeros((0, inside)))[..., 0, :],
            _framed(bare.shared[..., None, :], np.zeros((0, across)))[..., 0, :],
            _framed(bare.local_local, np.zeros((inside, inside))),
            _framed(bare.local_glob, np.zeros((inside, across))),
            _framed(bare.glob_glob, np.zeros((across, across))),
        )
        for term, (own, joint) in zip(self.terms, self._places, strict=True):
            at, (matrix, most) = term.shares, term.joint
            mu = shared[:, joint]
            if isinstance(at, slice):
                slope.shared[:, at] -= mu @ matrix
                slope.shared[:, joint] = most - shared[:, at] @ matrix.T
                slope.glob_glob[:, at, joint] = -matrix.T
                slope.glob_glob[:, joint, at] = -matrix
                continue
            factor, right = term.own
            slope.local[..., at] -= mu @ matrix + (factor * local[..., own]).sum(axis=-1)
            slope.local[..., own] = right - factor * local[..., at, None]
            slope.local_local[..., at, own] = slope.local_local[..., own, at] = -factor
            slope.shared[:, joint] = most - local[..., at] @ matrix.T
            slope.local_glob[..., at, joint] = -matrix.T
        return slope

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """The problem's."""
        return self.problem.inner_direction((*self._bare(*at[:2]), at[2]), self._bare(*step))

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """The problem's."""
        return self.problem.settled(*self._bare(local, shared))

    def take(self, index: Integers) -> LimitedSaddle:
        """Select problems."""
        return replace(self, problem=self.problem.take(index))


def _framed(matrix: Floats, corner: Floats) -> Floats:
    """Add rows and columns to the last two axes: zeros, and a corner."""
    rows, columns = matrix.shape[-2:]
    framed = np.zeros((*matrix.shape[:-2], rows + corner.shape[0], columns + corner.shape[1]))
    framed[..., :rows, :columns] = matrix
    framed[..., rows:, columns:] = corner
    return framed


def solve_limited(
    problem: saddle.Problem, terms: tuple[RowTerm, ...], *, accuracy: float, state: Floats | None = None
) -> tuple[SaddlePoint, list[Floats]]:
    """Solve a batch of saddle problems with limits on shares.

    Returns the point in the problem's own variables and, for each term, the multipliers of its rows, shape (N, rows).
    ``state`` is where an earlier solution stopped.
    """
    if not any(len(term.most) for term in terms):
        point = saddle.solve(problem, accuracy=accuracy, state=state)
        return point, [np.zeros((len(point.shared), 0)) for _ in terms]
    local, shared = problem.start()
    limited = LimitedSaddle(problem, terms, (local.shape[-1], shared.shape[-1]))
    point = saddle.solve(limited, accuracy=accuracy, state=state)
    found = [
        term.gathered(point.local[..., own], point.shared[:, joint])
        for term, (own, joint) in zip(terms, limited._places, strict=True)
    ]
    return SaddlePoint(*limited._bare(point.local, point.shared), point.state), found
