"""What a page shows of the data: the cells of group and label, the thin ones among them, and the rows left out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Integers
from fairbound.certificate.cautions import FEW_ROWS, counts_rows, few_rows
from fairbound.data.population import Population
from fairbound.data.provenance import UNTOLD, Provenance
from fairbound.wording.amounts import Amounts, percent
from fairbound.wording.digits import exactly
from fairbound.wording.vocabulary import Wording, wording

#: So many cells are listed at once; more unfold, up to the second number.
FIRST_CELLS, MOST_CELLS = 12, 200

#: More names than these are not listed in a sentence.
MOST_NAMED = 20


@dataclass(frozen=True)
class DataView:
    """The data of a page.

    Attributes
    ----------
    population
        What is known of them.
    order
        The numbers of the cells, in the order in which they matter.
    measures
        The same data with all that was measured in them, and how its means are written.
    excluded
        How many rows were left out, by reason.
    careful
        What else a reader should know of the data.
    """

    population: Population
    order: Integers
    measures: Sequence[tuple[Population, Amounts]]
    excluded: Mapping[str, int]
    careful: Sequence[str]

    @property
    def said(self) -> Wording:
        """The words for the values of the rows."""
        return wording(self.population)

    @property
    def counted(self) -> bool:
        """Whether the weights of cells are numbers of rows."""
        return counts_rows(self.population)

    @property
    def few(self) -> int:
        """Below how many rows a cell is spoken of."""
        return FEW_ROWS

    @property
    def means(self) -> list[dict[str, str | None]]:
        """What was measured: its name, its mean over all rows, and the largest value that a row can have."""
        return [
            {
                "title": wording(one).mean_words,
                "column": wording(one).column,
                "mean": amounts.near(one.loss) + amounts.sign,
                "ceiling": exactly(one.ceiling) if np.isfinite(one.ceiling) else None,
                "unit": amounts.unit,
            }
            for one, amounts in self.measures
        ]

    @property
    def provenance(self) -> Provenance:
        """What the author says of the data and of the model."""
        return self.population.provenance

    @property
    def told(self) -> bool:
        """Whether it says anything."""
        return self.provenance != UNTOLD

    @property
    def rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The cells, and those that unfold."""
        population, thin = self.population, few_rows(self.population)
        mass, rates, weight = population.mass, population.base_rates, population.weight
        order = np.arange(self.order.size) if self.order.size <= FIRST_CELLS else self.order
        found = []
        for cell in order[:MOST_CELLS]:
            s, y = divmod(int(cell), len(population.labels))
            found.append(
                {
                    "group": population.groups[s],
                    "label": population.labels[y],
                    "few": bool(thin[s, y]),
                    "empty": not weight[s, y],
                    "weight": f"{weight[s, y]:,.0f}",
                    "share": percent(mass[s, y]),
                    "rate": percent(rates[s, y]),
                    "means": [
                        amounts.near(one.mean[s, y]) + amounts.sign if weight[s, y] else "\N{EN DASH}"
                        for one, amounts in self.measures
                    ],
                }
            )
        return found[:FIRST_CELLS], found[FIRST_CELLS:]

    @property
    def left_out(self) -> int:
        """How many cells are not listed at all."""
        return max(0, self.order.size - MOST_CELLS)

    @property
    def small(self) -> list[tuple[Hashable, Hashable]]:
        """The cells with few rows."""
        return [
            (self.population.groups[s], self.population.labels[y]) for s, y in np.argwhere(few_rows(self.population))
        ]

    @property
    def reasons(self) -> dict[str, int]:
        """The rows that were left out: those that the document counts, and others."""
        counts = {"a value was missing": self.population.excluded_rows, **self.excluded}
        return {reason: count for reason, count in counts.items() if count}
