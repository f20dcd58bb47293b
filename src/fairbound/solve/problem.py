"""The question in numbers: what the solvers need to know of the population, the shift and the limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.atoms import Atoms
from fairbound.data.counted import UNBOUNDED
from fairbound.data.loss_summary import LossTable, mean_atoms
from fairbound.data.population import Population
from fairbound.data.strata import ByStratum
from fairbound.errors import InputError, given, listed
from fairbound.problem.limits import Limits
from fairbound.solve.shares import MarginalSet


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
    is_transposed: bool = False

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
            is_transposed=not self.is_transposed,
        )

    @cached_property
    def mass(self) -> Floats:
        """Cell masses of P."""
        return self.lower.probability.sum(axis=2)

    @cached_property
    def scale(self) -> float:
        """The largest ceiling, whatever its sign, used as the unit of loss while solving."""
        return float(np.abs(self.ceiling).max()) or 1.0

    def counted_in(self, mass: Floats) -> Floats:
        """Return how much the mean loss of each cell counts for a Q with these masses of cells (..., S, C)."""
        if self.parts is None:
            return mass
        table = mass.swapaxes(-1, -2) if self.is_transposed else mass
        within = np.empty_like(table)
        for part in self.parts:
            total = table[..., part].sum(axis=-1, keepdims=True)
            within[..., part] = table[..., part] / np.where(total > 0, total, 1.0)  # of nothing there is no mean
        return within.swapaxes(-1, -2) if self.is_transposed else within

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
        """Whether all ceilings agree, so that no search is needed (docs/theory.md, "One leaf")."""
        return self.unseen and bool(np.all(self.ceiling == self.ceiling.flat[0]))


def problem_of(
    population: Population,
    shift: str,
    support: str,
    empty_cells: str,
    group_skew: float | None,
    label_skew: float | None,
    group_limits: Limits | None = None,
    label_limits: Limits | None = None,
) -> Problem:
    """Put a question about a population into numbers (arguments already validated)."""
    groups = MarginalSet(len(population.groups), group_skew, group_limits)
    labels = MarginalSet(len(population.labels), label_skew, label_limits)
    empty = population.weight == 0
    if shift == "general" and support == "any":
        if not math.isfinite(population.ceiling):
            raise InputError(
                f"{given('shift', 'general')} needs a ceiling, and the loss {population.loss_name!r} has none: "
                f"{UNBOUNDED}"
            )
        upper, lower = population.knowledge.atoms(population.mass, population.ceiling)
        return Problem(upper, lower, np.full(empty.shape, population.ceiling), True, groups, labels)
    if empty.any() and not (empty_cells == "ceiling" and math.isfinite(population.ceiling)):
        names = listed([f"({g!r}, {y!r})" for g, y in population.empty_cells])
        message = (
            f"no data in the cells {names}: their losses are unknown. Merge groups or labels, use "
            f"{given('shift', 'general')} with {given('support', 'any')}, or assume the worst with "
            f"{given('empty_cells', 'ceiling')} (the ceiling must be finite)"
        )
        raise InputError(message)
    if shift == "sensitive":
        upper, lower = mean_atoms(population.mass, population.mean, population.knowledge.roundings, population.ceiling)
        top = upper.loss[..., 0]
    else:
        if not isinstance(population.knowledge, LossTable):
            message = f"{given('support', 'observed')} needs the losses themselves; use from_losses or from_predictions"
            raise InputError(message)
        upper, lower = population.knowledge.atoms(population.mass, population.ceiling)
        top = population.knowledge.largest
    unseen = isinstance(population.knowledge, ByStratum) and population.knowledge.sampled
    return Problem(
        upper, lower, np.where(empty, population.ceiling, top) if empty.any() else top, unseen, groups, labels
    )
