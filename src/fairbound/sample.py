"""The sample: rows counted by cell and loss, with losses rounded at random to a few values, mean kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from fairbound.arrays import Floats, Integers
from fairbound.errors import InputError
from fairbound.knowledge import BINS, LossTable, bin_edges
from fairbound.population import Population
from fairbound.rounding import UNIT

#: Edges that an engine computed may differ from ours by this much, relative to the ceiling.
EDGE_ROUNDING = 1e-12


@dataclass(frozen=True)
class Sample:
    """Numbers of rows by cell and loss.

    Attributes
    ----------
    counts
        Shape (S, C, B). Whole numbers for a real sample, expected ones for a planned sample.
    losses
        The B losses, from 0 to the ceiling.
    seed
        Of the random rounding; None if no loss had to be rounded.
    """

    counts: Floats
    losses: Floats
    seed: int | None

    @property
    def by_cell(self) -> Floats:
        """The same with one row per cell."""
        return self.counts.reshape(-1, len(self.losses))


def intervals_for(population: Population, rows: float) -> int:
    """Return how many intervals the losses are rounded to: more rows can tell more losses apart.

    It follows from the number of rows and from the loss's name alone; looking at the losses would spoil validity.
    """
    return 1 if population.two_valued else max(2, round(0.8 * rows**0.2))


def drawn(population: Population, intervals: int, seed: int) -> Sample:
    """Round every row's loss to one of the two neighbouring values, at random so that its expectation is kept.

    A cell's losses then follow a law on few values that is at least as bad as the true one: every bound grows with
    the mean of a convex, increasing function of the loss, and spreading with the mean kept cannot lower that.
    Many-valued losses count at the upper edges of fixed bins: of large tables no more is known.
    """
    table = cast("LossTable", population.knowledge)  # regions.check_sample has made sure
    loss = table.high if population.two_valued else _upper_edges(table, population.ceiling)
    low, part = _places(loss, population.ceiling, intervals)
    rows = table.weight.astype(np.int64)
    up = np.where(part == 1.0, rows, 0)
    uniform = _uniform(seed)
    between = (part > 0) & (part < 1) & (rows > 0)
    up[between] = [np.count_nonzero(uniform(n) < p) for n, p in zip(rows[between], part[between], strict=True)]
    counts = _collect(low, (rows - up).astype(np.float64), up.astype(np.float64), intervals)
    return Sample(counts, _values(population.ceiling, intervals), seed if between.any() else None)


def _upper_edges(table: LossTable, ceiling: float) -> Floats:
    """Return the upper edge of each loss's bin: a function of the loss alone, whatever else is in the bin."""
    edges, allowed = bin_edges(ceiling), EDGE_ROUNDING * ceiling
    several = table.low < table.high
    single_edge = edges[np.minimum(np.searchsorted(edges, table.low, side="right"), BINS)]
    above = np.where(several, edges[np.searchsorted(edges, table.high - allowed)], single_edge)
    if (several & (np.abs(above - table.high) > allowed)).any():
        message = (
            f"confidence: all losses are so far below the ceiling {ceiling:g} that the engine's bins follow the rows; "
            "collect the frame first, or lower the ceiling if no loss can exceed a smaller one"
        )
        raise InputError(message)
    return above


def _uniform(seed: int) -> Callable[[int], Floats]:
    """Return a source of the numbers that ``random.Random(seed).random()`` gives: anybody can repeat the rounding."""
    generator = np.random.RandomState(0)
    *key, position = random.Random(seed).getstate()[1]  # noqa: S311 (rounding, not secrets)
    generator.set_state(("MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0))
    return generator.random_sample


def expected(population: Population, rows: float, intervals: int) -> Sample:
    """Return the counts to be expected of so many rows."""
    upper, _ = population.knowledge.atoms(population.mass, population.ceiling)
    low, part = _places(upper.loss, population.ceiling, intervals)
    counts = _collect(low, upper.probability * (1.0 - part), upper.probability * part, intervals)
    return Sample(rows * counts / counts.sum(), _values(population.ceiling, intervals), None)


def _values(ceiling: float, intervals: int) -> Floats:
    return np.append(ceiling * np.arange(intervals) / intervals, ceiling)


def _places(loss: Floats, ceiling: float, intervals: int) -> tuple[Integers, Floats]:
    """Return the place of the value below, and with which probability to choose the next one (rounded up)."""
    values = _values(ceiling, intervals)
    low = np.clip(np.searchsorted(values, loss, side="right") - 1, 0, intervals - 1).astype(np.int64)
    part = (loss - values[low]) / (values[low + 1] - values[low])
    return low, np.clip(part * (1.0 + 8.0 * UNIT), 0.0, 1.0)


def _collect(low: Integers, first: Floats, second: Floats, intervals: int) -> Floats:
    """Add up what goes to the values below and above in each cell."""
    s, c, _ = low.shape
    cell = np.arange(s * c).reshape(s, c, 1) * (intervals + 1) + low
    size = s * c * (intervals + 1)
    below = np.bincount(cell.ravel(), first.ravel(), size)
    above = np.bincount((cell + 1).ravel(), second.ravel(), size)
    return np.asarray(below + above, dtype=np.float64).reshape(s, c, intervals + 1)
