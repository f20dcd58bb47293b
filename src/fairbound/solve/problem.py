"""The question in numbers: what the solvers need to know of the population, the shift and the limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.shares import MarginalSet


@dataclass(frozen=True)
class Atoms:
    """A discrete loss distribution in every cell: class probabilities and losses of shape (S, C, J).

    A class is a cell together with a loss; the probabilities of all classes add up to one. Unused places have
    probability zero and loss zero.
    """

    probability: Floats
    loss: Floats

    @property
    def transposed(self) -> Atoms:
        """Exchange groups and labels."""
        return Atoms(self.probability.swapaxes(0, 1), self.loss.swapaxes(0, 1))

    @property
    def places(self) -> int:
        """How many losses a cell may have."""
        return self.probability.shape[2]


@dataclass(frozen=True)
class Problem:
    """Everything but the radius.

    Attributes
    ----------
    upper
        Atoms that can only raise the worst case: the bound is computed with these.
    lower
        Atoms whose reweighting is a distribution near the user's data: the attained value is computed with these.
        They differ from ``upper`` only by the width of histogram bins, and by rounding.
    ceiling
        The largest loss that Q may put into a cell, shape (S, C).
    unseen
        Whether Q may put mass at the ceiling where P has none.
    groups, labels
        Where the group and label shares of Q may lie.
    parts
        None for the expected loss of all. Otherwise losses are means given the group and a part of the labels: the
        losses of a part count by its labels' shares within it, whatever the share of the group.
    turned
        Whether groups and labels have been exchanged.
    """

    upper: Atoms
    lower: Atoms
    ceiling: Floats
    unseen: bool
    groups: MarginalSet
    labels: MarginalSet
    parts: tuple[tuple[int, ...], ...] | None = None
    turned: bool = False

    @property
    def transposed(self) -> Problem:
        """Exchange groups and labels: everything is symmetric in them."""
        return replace(
            self,
            upper=self.upper.transposed,
            lower=self.lower.transposed,
            ceiling=self.ceiling.T,
            groups=self.labels,
            labels=self.groups,
            turned=not self.turned,
        )

    @cached_property
    def mass(self) -> Floats:
        """Cell masses of P."""
        return self.lower.probability.sum(axis=2)

    @cached_property
    def scale(self) -> float:
        """The largest ceiling, whatever its sign, used as the unit of loss while solving."""
        return float(np.abs(self.ceiling).max()) or 1.0

    def counted(self, group_share: Floats, label_share: Floats) -> Floats:
        """Return how much the mean loss of each cell counts for a Q with these shares, shape (..., S, C)."""
        if self.parts is None:
            return group_share[..., :, None] * label_share[..., None, :]
        within = np.empty_like(label_share)
        for part in self.parts:
            chosen = label_share[..., part]
            total = chosen.sum(axis=-1, keepdims=True)
            within[..., part] = chosen / np.where(total > 0, total, 1.0)  # of nothing there is no mean; none is claimed
        return np.repeat(within[..., None, :], group_share.shape[-1], axis=-2)

    def counted_in(self, mass: Floats) -> Floats:
        """Return the same for a Q with any masses of cells (..., S, C): groups may have base rates of their own."""
        if self.parts is None:
            return mass
        table = mass.swapaxes(-1, -2) if self.turned else mass
        within = np.empty_like(table)
        for part in self.parts:
            total = table[..., part].sum(axis=-1, keepdims=True)
            within[..., part] = table[..., part] / np.where(total > 0, total, 1.0)
        return within.swapaxes(-1, -2) if self.turned else within

    @property
    def limited_within(self) -> bool:
        """Whether limits on labels say more than between which numbers the share of the first part lies."""
        return len(self.parts or ()) > 1 and self.labels.limited and self.labels.size > 2

    def part_share(self, share: Floats) -> Floats:
        """Return for each label the share of its part, shape (N, C), if the first part has these (N,)."""
        first, rest = self.parts or ((), ())
        spread = np.empty((len(share), self.labels.size))
        spread[:, list(first)], spread[:, list(rest)] = share[:, None], 1.0 - share[:, None]
        return spread

    @cached_property
    def one_convex_program(self) -> bool:
        """Whether all ceilings agree, so that no search is needed (docs/theory.md, section 3)."""
        return self.unseen and bool(np.all(self.ceiling == self.ceiling.flat[0]))
