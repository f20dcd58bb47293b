"""The sample: rows counted by cell and loss, with losses rounded at random to a few values, mean kept."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import UNIT
from fairbound.data.loss_summary import LossTable, bin_edges, bins_for
from fairbound.data.population import Population
from fairbound.errors import InputError, argument

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

    def worst_last(self, subtracted: Booleans | None) -> Floats:
        """The same with the best value first and the worst one last: of losses that are subtracted, the smallest."""
        if subtracted is None:
            return self.by_cell
        return np.where(subtracted.reshape(-1, 1), self.by_cell[:, ::-1], self.by_cell)


def intervals_for(population: Population, rows: float) -> int:
    """Return how many intervals the losses are rounded to: more rows can tell more losses apart.

    It follows from the number of rows and from the loss's name alone; looking at the losses would spoil validity.
    """
    return 1 if population.two_valued else max(2, round(0.8 * rows**0.2))


def drawn(population: Population, intervals: int, seed: int, subtracted: Booleans | None = None) -> Sample:
    """Round every row's loss to one of the two neighbouring values, at random so that its expectation is kept.

    A cell's losses then follow a law on few values that is at least as bad as the true one: every bound grows with
    the mean of a convex, increasing function of the loss, and spreading with the mean kept cannot lower that.
    Many-valued losses count at the upper edges of fixed bins: of large tables no more is known. In the cells (S, C)
    whose losses are ``subtracted`` a smaller loss is the worse one, so they count at the lower edges.
    """
    table = cast("LossTable", population.knowledge)  # regions.check_sample has made sure
    bins = bins_for(table.weight.shape[0] * table.weight.shape[1])
    number = (table.high > 0).astype(np.int64) if population.two_valued else _bins(table, population.ceiling)
    loss = table.high if population.two_valued else _edges(number, population.ceiling, bins, upper=True)
    low, part = _places(loss, population.ceiling, intervals)
    if subtracted is not None:
        least = table.low if population.two_valued else _edges(number, population.ceiling, bins, upper=False)
        places, cells = _places(least, population.ceiling, intervals, rounded_down=True), subtracted[..., None]
        low, part = np.where(cells, places[0], low), np.where(cells, places[1], part)
    rows = table.weight.astype(np.int64)
    up = np.where(part == 1.0, rows, 0)
    between = (part > 0) & (part < 1) & (rows > 0)
    place, total, key = _ordered(seed, intervals, number, rows)
    uniform = _uniform(key)
    for at, n in zip(place, total, strict=True):
        if between.flat[at]:  # one place of each cell and bin answers for all of them
            up.flat[at] = np.count_nonzero(uniform(n) < part.flat[at])
    merged = np.zeros_like(rows)
    merged.flat[place] = total
    up = np.where(between & (merged == 0), 0, up)
    rows = np.where(between, merged, rows)
    counts = _collect(low, (rows - up).astype(np.float64), up.astype(np.float64), intervals)
    return Sample(counts, _values(population.ceiling, intervals), seed if between.any() else None)


def _bins(table: LossTable, ceiling: float) -> Integers:
    """Return the number of each loss's bin: a function of the loss alone, whatever else is in the bin.

    A loss on an edge belongs to the bin above it, and the ceiling to the last one. An engine may put losses that near
    to an edge into the bin beside theirs, so all edges count as that much farther out.
    """
    bins = bins_for(table.weight.shape[0] * table.weight.shape[1])
    edges, allowed = bin_edges(ceiling, bins), EDGE_ROUNDING * ceiling
    several = table.low < table.high
    inside = np.where(several, table.low + allowed, table.low)
    number = np.minimum(np.searchsorted(edges, inside, side="right"), bins).astype(np.int64) - 1
    below, above = edges[number], edges[number + 1]
    if (several & (np.maximum(np.abs(below - table.low), np.abs(above - table.high)) > allowed)).any():
        message = (
            f"{argument('confidence')}: the bins of the losses follow the rows, because all losses are far below the "
            f"ceiling {ceiling:g}, or because bins of few rows were merged; collect the frame first, lower the ceiling "
            "if no loss can exceed a smaller one, or count without a least number of rows"
        )
        raise InputError(message)
    return np.where(several & (table.to_high == 1) & (number < bins - 1), number + 1, number)


def _edges(number: Integers, ceiling: float, bins: int, *, upper: bool) -> Floats:
    """Return an edge of each bin, moved out."""
    edges, allowed = bin_edges(ceiling, bins), EDGE_ROUNDING * ceiling
    if upper:
        return np.minimum(edges[number + 1] + allowed, ceiling)
    return np.maximum(edges[number] - allowed, 0.0)


def _ordered(seed: int, intervals: int, number: Integers, rows: Integers) -> tuple[Integers, Integers, int]:
    """Return where each bin of each cell stands first, how many rows it has, and the key of the random numbers.

    Key and order follow from the rows alone (docs/finite-samples.md). The numbers must not be the same for
    every sample: the first cell would always be rounded with the same deviation, and the confidence is one over the
    draw of rows and numbers. And nobody may choose which row gets which number: rows of one cell and bin count
    together, bins come in their order, and cells in the order of what they hold, whatever they are called.
    """
    cell = np.broadcast_to(np.arange(rows.shape[0] * rows.shape[1]).reshape(*rows.shape[:2], 1), rows.shape).ravel()
    some = np.flatnonzero(rows.ravel() > 0)
    order = some[np.lexsort((number.ravel()[some], cell[some]))]
    new = np.append(True, (np.diff(cell[order]) != 0) | (np.diff(number.ravel()[order]) != 0))
    place, start = order[new], np.flatnonzero(new)
    total = np.add.reduceat(rows.ravel()[order], start)
    entries = np.empty(len(place), dtype=[("bin", "<i8"), ("rows", "<i8")])
    entries["bin"], entries["rows"] = number.ravel()[place], total
    inside = [np.flatnonzero(cell[place] == c) for c in np.unique(cell[place])]
    inside.sort(key=lambda chosen: entries[chosen].tobytes())
    content = b"".join(hashlib.sha256(entries[chosen].tobytes()).digest() for chosen in inside)
    digest = hashlib.sha256(f"{seed},{intervals};".encode() + content).digest()
    ranked = np.concatenate(inside)
    return place[ranked], total[ranked], int.from_bytes(digest, "big")


def _uniform(key: int) -> Callable[[int], Floats]:
    """Return a source of the numbers that ``random.Random(key).random()`` gives: anybody can repeat the rounding."""
    generator = np.random.RandomState(0)
    *state, position = random.Random(key).getstate()[1]  # noqa: S311 (rounding, not secrets)
    generator.set_state(("MT19937", np.array(state, dtype=np.uint32), position, 0, 0.0))
    return generator.random_sample


def expected(population: Population, rows: float, intervals: int) -> Sample:
    """Return the counts to be expected of so many rows."""
    upper, _ = population.knowledge.atoms(population.mass, population.ceiling)
    low, part = _places(upper.loss, population.ceiling, intervals)
    counts = _collect(low, upper.probability * (1.0 - part), upper.probability * part, intervals)
    return Sample(rows * counts / counts.sum(), _values(population.ceiling, intervals), None)


def _values(ceiling: float, intervals: int) -> Floats:
    return np.append(ceiling * np.arange(intervals) / intervals, ceiling)


def _places(loss: Floats, ceiling: float, intervals: int, *, rounded_down: bool = False) -> tuple[Integers, Floats]:
    """Return the place of the value below, and with which probability to choose the next one (rounded up, or down).

    Random numbers are multiples of ``UNIT``, so one is below p with a probability of up to ``p + UNIT``.
    """
    values = _values(ceiling, intervals)
    low = np.clip(np.searchsorted(values, loss, side="right") - 1, 0, intervals - 1).astype(np.int64)
    part = (loss - values[low]) / (values[low + 1] - values[low])
    if not rounded_down:
        return low, np.clip(part * (1.0 + 8.0 * UNIT), 0.0, 1.0)
    below = np.clip(part * (1.0 - 8.0 * UNIT) - 2.0 * UNIT, 0.0, 1.0)
    return low, np.where(loss == values[low + 1], 1.0, below)


def _collect(low: Integers, first: Floats, second: Floats, intervals: int) -> Floats:
    """Add up what goes to the values below and above in each cell."""
    s, c, _ = low.shape
    cell = np.arange(s * c).reshape(s, c, 1) * (intervals + 1) + low
    size = s * c * (intervals + 1)
    below = np.bincount(cell.ravel(), first.ravel(), size)
    above = np.bincount((cell + 1).ravel(), second.ravel(), size)
    return np.asarray(below + above, dtype=np.float64).reshape(s, c, intervals + 1)
