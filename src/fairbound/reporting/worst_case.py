"""The worst cases of a question: how the share and the loss of each cell change, at every radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.certificate.certificate import Certificate
from fairbound.reporting.figures import move_picture, move_place
from fairbound.reporting.markup import svg
from fairbound.reporting.report_data import worst_losses
from fairbound.wording.amounts import Amounts, change_in_percent, percent

#: So many cells, those that change most, are shown at first; more unfold.
FIRST_CELLS = 8

#: And at most so many altogether.
MOST_CELLS = 40


@dataclass(frozen=True)
class WorstCases:
    """The worst-case distributions at the radii shown, cell by cell: first those that change most, if there are many.

    Attributes
    ----------
    certificates
        The certificates at these radii.
    amounts
        How their losses are written.
    """

    certificates: tuple[Certificate, ...]
    amounts: Amounts

    @property
    def sampled(self) -> bool:
        """Whether the worst cases belong to a larger ball that allows for sampling error."""
        return self.certificates[0].surrogate is not None

    @cached_property
    def before(self) -> Floats:
        """The shares of the cells in the data."""
        return self.certificates[0].population.mass.ravel()

    @cached_property
    def after(self) -> Floats:
        """The shares of the cells in the worst cases, a row for each radius."""
        return np.stack([c.witness.mass.ravel() for c in self.certificates])

    @cached_property
    def order(self) -> Integers:
        """The numbers of all cells, in the order in which they matter; as they are if they are few."""
        if self.before.size <= FIRST_CELLS:
            return np.arange(self.before.size)
        return np.argsort(-np.abs(self.after - self.before).max(axis=0), kind="stable")

    @property
    def cells(self) -> Integers:
        """The numbers of the cells that are shown."""
        return self.order[:MOST_CELLS]

    @property
    def left_out(self) -> int:
        """How many cells are not shown."""
        return self.before.size - len(self.cells)

    @cached_property
    def losses(self) -> Floats | None:
        """The mean losses of the cells in the worst cases; None if they do not change, or are not known."""
        first = self.certificates[0]
        if first.shift == "sensitive" and not self.sampled:
            return None
        losses = worst_losses(self.certificates)
        return None if losses is None else np.stack([cell.ravel() for cell in losses])

    @cached_property
    def top(self) -> float:
        """The end of the scale on which shares are drawn."""
        return float(max(self.before[self.cells].max(), self.after[:, self.cells].max())) or 1.0

    def grows_most(self, index: int) -> int:
        """Return which of the cells shown grows most, by its place."""
        return int(np.argmax((self.after[index] - self.before)[self.cells]))

    def changing(self, index: int) -> list[tuple[str, str, str | None, float, bool]]:
        """Return, for each cell shown: share, change, mean loss, place in the picture, whether it grows."""
        return [
            (
                percent(self.after[index, c]),
                change_in_percent(self.after[index, c] - self.before[c]),
                None if self.losses is None else self.amounts.near(self.losses[index, c]) + self.amounts.sign,
                move_place(self.after[index, c], self.top),
                bool(self.after[index, c] > self.before[c]),
            )
            for c in self.cells
        ]

    def rows(self, index: int) -> list[dict[str, Any]]:
        """Return what stands in the table's rows at one radius."""
        population, most = self.certificates[0].population, self.grows_most(index)
        mean, weight = population.mean.ravel(), population.weight.ravel()
        found = []
        for place, (cell, now) in enumerate(zip(self.cells, self.changing(index), strict=True)):
            group, label = divmod(int(cell), len(population.labels))
            found.append(
                {
                    "group": population.groups[group],
                    "label": population.labels[label],
                    "most": place == most,
                    "before": percent(self.before[cell]),
                    "picture": svg(move_picture(self.before[cell], self.after[index, cell], self.top)),
                    "after": now[0],
                    "change": now[1],
                    "loss_before": self.amounts.near(mean[cell]) + self.amounts.sign if weight[cell] else None,
                    "loss_after": now[2],
                }
            )
        return found
