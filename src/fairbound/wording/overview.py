"""The cells as rows of a table, for the terminal and for notebooks alike."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.wording.names import name
from fairbound.wording.notebook import html_table
from fairbound.wording.vocabulary import wording

Rows = tuple[list[str], list[list[str]]]


class Shares(Protocol):
    """What is shown of a distribution of which no more is known than its cells."""

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The names of the groups."""

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The names of the labels."""

    @property
    def mass(self) -> Floats:
        """The masses of the cells."""


def shares_html(distribution: Shares) -> str:
    """Return the table of a distribution's cells for a notebook; where names are not known, numbers."""
    mass = distribution.mass
    groups = distribution.groups or tuple(range(mass.shape[0]))
    labels = distribution.labels or tuple(range(mass.shape[1]))
    total = mass.sum(axis=1)
    rows = [
        [name(group), name(label), f"{mass[s, y]:.4f}", f"{mass[s, y] / total[s] if total[s] else 0.0:.4f}"]
        for s, group in enumerate(groups)
        for y, label in enumerate(labels)
    ]
    return html_table(["group", "label", "share", "base rate"], rows)


class Cells(Protocol):
    """What is shown of a population."""

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The names of the groups."""

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The names of the labels."""

    @property
    def weight(self) -> Floats:
        """The weights of the cells."""

    @property
    def mass(self) -> Floats:
        """The masses of the cells."""

    @property
    def base_rates(self) -> Floats:
        """The distribution of the labels in each group."""

    @property
    def mean(self) -> Floats:
        """The mean loss of each cell."""

    @property
    def rows(self) -> int | None:
        """The number of rows."""

    @property
    def loss_name(self) -> str:
        """What the loss is called."""

    @property
    def pos_label(self) -> Hashable | None:
        """The label whose selections are counted."""


def _seen(value: Hashable) -> str:
    """Return a name as tables show it: with marks around it where spaces at its ends would not be seen."""
    text = name(value)
    return text if text == text.strip() else repr(text)


def cell_rows(population: Cells) -> Rows:
    """Return head and rows of the table of cells."""
    whole = bool(np.all(population.weight == np.round(population.weight)))
    counted = whole and population.rows is not None and float(population.weight.sum()) == population.rows
    mass, base_rates, mean = population.mass, population.base_rates, population.mean
    rows = []
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            weight = population.weight[s, y]
            rows.append(
                [
                    _seen(group),
                    _seen(label),
                    *([f"{weight:.0f}"] if counted else []),
                    f"{mass[s, y]:.4f}",
                    f"{base_rates[s, y]:.4f}",
                    f"{mean[s, y]:.4f}" if weight else "no data",
                ]
            )
    count = ["rows"] if counted else []
    return ["group", "label", *count, "share", "base rate", wording(population).column], rows


def change_rows(population: Cells, shares: Floats) -> Rows:
    """Return head and rows of the table of how each cell's share changes from P to a worst case."""
    mass = population.mass
    rows = []
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            before, after = mass[s, y], shares[s, y]
            rows.append([_seen(group), _seen(label), f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"])
    return ["group", "label", "share in data", "share in worst case", "change"], rows
