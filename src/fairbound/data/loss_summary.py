"""What is known of the loss in each cell: its mean, its mean and variance, or its whole distribution.

Each kind yields *atoms*: a discrete loss distribution per cell, for all that it knows (docs/theory.md, "Atoms").
The upper atoms can only raise the worst case, the lower atoms are the distribution that the attained value refers to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import UNIT, lowered, raised
from fairbound.data.atoms import Atoms

#: Losses of large cells are summarised in at most so many bins each, of all cells together in about so many, and of
#: each in so many at least. All are powers of two: then the edges of fewer bins are edges of more of them too.
BINS, MOST_BINS, LEAST_BINS = 4096, 2**18, 16

#: Rows are binned in blocks of this many.
BLOCK = 2**15

#: Below two to this power all whole numbers are exact in double precision.
DIGITS = 53
#: Powers of two up to this, and the inverses, are far from the ends of double precision, sums included.
EXPONENTS = 900
#: Into so many whole numbers values are cut at most; sorting is faster then.
MOST_PARTS = 6


@dataclass(frozen=True)
class MeanOnly:
    """The mean loss of each cell, shape (S, C). Worst case: all losses are 0 or the ceiling."""

    mean: Floats

    roundings = 0
    sentence = (
        "Of the losses only the mean of each cell is known; the worst case is taken over all losses with "
        "that mean, so the distribution that attains it reweights such losses and not the rows themselves."
    )

    def atoms(self, mass: Floats, ceiling: float) -> tuple[Atoms, Atoms]:
        """Put ``mean / M`` at M and the rest at 0."""
        share = np.stack([(ceiling - self.mean) / ceiling, self.mean / ceiling], axis=2)
        loss = np.broadcast_to(np.array([0.0, ceiling]), share.shape)
        both = Atoms(mass[..., None] * share, np.where(mass[..., None] > 0, loss, 0.0))
        return both, both


@dataclass(frozen=True)
class MeanAndVariance:
    """Mean and variance of the loss in each cell, shape (S, C): the statistics of the paper's Theorem 3.

    The worst law with these moments has two atoms, ``x0 = E - V/(M-E)`` and M with weight ``V / (V + (M-E)^2)``. It
    reproduces the paper's inner bound (Theorem 2.2 of Weber et al. 2022) exactly, and needs no limit on how far a cell
    may move: beyond the paper's gamma-bar the loss is simply M.
    """

    mean: Floats
    variance: Floats

    roundings = 0
    sentence = (
        "Of the losses only mean and variance of each cell are known; the worst case is taken over all losses with "
        "these moments, so the distribution that attains it reweights such losses and not the rows themselves."
    )

    def atoms(self, mass: Floats, ceiling: float) -> tuple[Atoms, Atoms]:
        """Two atoms per cell; a mean at the ceiling is one atom there."""
        room = ceiling - self.mean
        some = room > 0
        safe = np.where(some, room, 1.0)
        high = np.where(some, self.variance / (self.variance + safe**2), 1.0)
        low = np.where(some, safe / (self.variance / safe + safe), 0.0)
        place = np.where(some, self.mean - self.variance / safe, 0.0)
        error = 8 * UNIT * (self.mean + np.where(some, self.variance / safe, 0.0))
        share = np.stack([low, high], axis=2)
        atoms = []
        for shift in (error, -error):
            first = np.where(mass > 0, np.clip(place + shift, 0.0, ceiling), 0.0)
            second = np.where(mass > 0, ceiling, 0.0)
            atoms.append(Atoms(mass[..., None] * share, np.stack([first, second], axis=2)))
        return atoms[0], atoms[1]


@dataclass(frozen=True)
class LossTable:
    """The whole distribution of the loss: bins of shape (S, C, J), with edges, weight, and shares of the edges.

    A bin whose edges coincide is a single loss, known exactly. Otherwise its weight is spread onto the two edges with
    the mean kept for the bound (this can only raise it), and sits at the mean for the attained value. ``rows`` is the
    number of rows in the fullest bin: it limits the rounding error of the means.
    """

    low: Floats
    high: Floats
    weight: Floats
    to_low: Floats
    to_high: Floats
    rows: int

    sentence = "The whole distribution of the observed losses is used."

    @property
    def mean_loss(self) -> Floats:
        """The mean loss of each bin."""
        return self.low + self.to_high * (self.high - self.low)

    @property
    def roundings(self) -> int:
        """How many roundings went into the mean of a cell."""
        return self.rows + self.weight.shape[2] + 4

    @property
    def mean(self) -> Floats:
        """The mean loss of each cell; zero where the cell is empty."""
        total = self.weight.sum(axis=2)
        return (self.weight * self.mean_loss).sum(axis=2) / np.where(total > 0, total, 1.0)

    @property
    def largest(self) -> Floats:
        """The largest loss of each cell, or the edge of its bin."""
        return np.where(self.weight > 0, self.high, 0.0).max(axis=2)

    @property
    def smallest(self) -> Floats:
        """The smallest one; infinite where there is none."""
        return np.where(self.weight > 0, self.low, np.inf).min(axis=2)

    def condensed(self, most: int) -> LossTable:
        """Return a table of at most so many bins in each cell: neighbouring ones are merged, their mean is kept.

        That can only raise the bound, by the square of the bins' width.
        """
        if self.weight.shape[2] <= most:
            return self
        top = float(self.largest.max()) or 1.0
        parts = (part.reshape(-1, part.shape[2]) for part in (self.low, self.high, self.weight, self.to_high))
        columns = [self._merged(np.stack(cell), top, most) for cell in zip(*parts, strict=True)]
        return pack(columns, (self.weight.shape[0], self.weight.shape[1]))

    def _merged(self, cell: Floats, top: float, most: int) -> Floats:
        """Merge the bins of a cell that lie in the same of so many intervals; they are as those of bin_edges."""
        cell = cell[:, cell[2] > 0]
        low, high, weight, to_high = cell[:, np.argsort(cell[0], kind="stable")]
        if not len(low):
            return np.zeros((6, 0))
        place = ((1.0 - np.sqrt(1.0 - np.minimum(low / top, 1.0))) * most).astype(np.int64)
        start = np.flatnonzero(np.diff(place, prepend=-1))
        first, last = np.minimum.reduceat(low, start), np.maximum.reduceat(high, start)
        count = np.diff(np.append(start, len(low)))
        above = (low - np.repeat(first, count)) + to_high * (high - low)
        below = (np.repeat(last, count) - high) + (1.0 - to_high) * (high - low)
        mass, width = np.add.reduceat(weight, start), last - first
        whole = np.where(width > 0, mass * width, 1.0)
        to_low, to_last = (np.add.reduceat(weight * part, start) / whole for part in (below, above))
        shares = np.where(width > 0, np.minimum(to_low, 1.0), 1.0), np.minimum(to_last, 1.0)
        return np.stack([first, last, mass, *shares, np.full(len(start), self.rows + 8.0 + count.max())])

    def atoms(self, mass: Floats, ceiling: float) -> tuple[Atoms, Atoms]:
        """Spread bins onto their edges for the bound, onto their means for the attained value."""
        share = self.weight / self.weight.sum()
        width = self.high - self.low
        if not width.any():
            both = Atoms(share, np.where(share > 0, self.low, 0.0))
            return both, both
        to_low, to_high = raised(self.to_low, self.rows + 8), raised(self.to_high, self.rows + 8)
        least = np.maximum(lowered(self.low + lowered(self.to_high * width, self.rows + 8), 2), self.low)
        upper = _merged(
            np.concatenate([share * to_low, share * to_high], axis=2),
            np.concatenate([self.low, self.high], axis=2),
        )
        return upper, Atoms(share, np.where(share > 0, least, 0.0))


def mean_atoms(mass: Floats, mean: Floats, roundings: int, ceiling: float) -> tuple[Atoms, Atoms]:
    """Return one atom per cell, at its mean: all that matters where nothing moves inside the cells."""
    weight, place = mass[..., None], mean[..., None]
    return Atoms(weight, np.minimum(raised(place, roundings), ceiling)), Atoms(weight, lowered(place, roundings))


def _merged(probability: Floats, loss: Floats) -> Atoms:
    """Add up the probabilities of equal losses in a cell, and pad the cells to equal length."""
    s, c, _ = probability.shape
    cells = []
    for share, place in zip(probability.reshape(s * c, -1), loss.reshape(s * c, -1), strict=True):
        distinct, codes = np.unique(place[share > 0], return_inverse=True)
        cells.append(np.stack([np.bincount(codes, share[share > 0], len(distinct)), distinct]))
    arrays = np.zeros((2, s * c, max(1, *(cell.shape[1] for cell in cells))))
    for index, cell in enumerate(cells):
        arrays[:, index, : cell.shape[1]] = cell
    return Atoms(*arrays.reshape(2, s, c, -1))


def bins_for(cells: int) -> int:
    """Return in how many bins the losses of each of so many cells are summarised, whatever the losses are.

    With very many cells, as of intersectional groups, the bins become coarser, so that what is kept stays bounded.
    """
    return max(LEAST_BINS, min(BINS, 1 << (MOST_BINS // cells).bit_length() >> 1))


def bin_edges(top: float, bins: int = BINS) -> Floats:
    """Return the edges of the bins, from 0 to ``top``.

    They are finer towards the top, where the worst case looks: bin b covers losses with ``sqrt(1 - loss/top)``
    between ``1 - (b+1)/B`` and ``1 - b/B``.
    """
    edges = top * (1.0 - np.square(1.0 - np.arange(bins + 1) / bins))
    edges[0], edges[-1] = 0.0, top
    return edges


def tabulate(
    loss: Floats, cell: Integers, weight: Floats | None, shape: tuple[int, int], ceiling: float = math.inf
) -> LossTable:
    """Summarise rows: every distinct loss of cells that have no more rows than there are bins, bins of the others.

    The bins end at the ceiling if there is one, not at the largest loss: what a sample says of P must not rest on bins
    that follow the sample.
    """
    count = shape[0] * shape[1]
    edges = bin_edges(ceiling if math.isfinite(ceiling) else float(loss.max()) or 1.0, bins_for(count))
    order = np.argsort(cell.astype(np.int16 if count < 2**15 else np.int64), kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=count))
    columns = [
        _one_cell(loss[part], None if weight is None else weight[part], edges) for part in np.split(order, ends[:-1])
    ]
    return pack(columns, shape)


def pack(columns: Sequence[Floats], shape: tuple[int, int]) -> LossTable:
    """Return the table of cells given one by one: low, high, weight, shares of the edges and rows of their bins."""
    width = max(1, *(column.shape[1] for column in columns))
    table = np.zeros((6, len(columns), width))
    for index, column in enumerate(columns):
        table[:, index, : column.shape[1]] = column
    low, high, mass, to_low, to_high, rows = table.reshape(6, *shape, width)
    return LossTable(low, high, mass, to_low, to_high, int(rows.max()))


def two_valued_table(zeros: Floats, ones: Floats) -> LossTable:
    """Return the table of losses that are 0 or 1, from the weights (S, C) of both."""
    loss, one = np.array([0.0, 1.0]), np.ones(2)
    columns = [
        np.stack([loss, loss, weight, one, 0.0 * one, one])[:, weight > 0]
        for weight in np.stack([zeros, ones], axis=2).reshape(-1, 2)
    ]
    return pack(columns, (zeros.shape[0], zeros.shape[1]))


def _one_cell(loss: Floats, weight: Floats | None, edges: Floats) -> Floats:
    """Return low, high, weight, shares of the edges and number of rows of one cell's bins."""
    if not len(loss):
        return np.zeros((6, 0))
    if len(loss) >= len(edges):
        return _binned(loss, weight, edges)
    low, bins = np.unique(loss, return_inverse=True)
    rows = np.bincount(bins)
    mass = rows.astype(np.float64) if weight is None else exact_sums(bins, weight, rows)
    one = np.ones(len(low))
    return np.stack([low, low, mass, one, 0.0 * one, one])[:, mass > 0]


def _binned(loss: Floats, weight: Floats | None, edges: Floats) -> Floats:
    """Do the same for a large cell, a block of rows after the other: they stay in the processor's cache."""
    bins = len(edges) - 1
    rows = np.zeros(bins, dtype=np.int64)
    below, above = np.zeros((2, bins))
    sample, several = np.full(bins, np.nan), np.zeros(bins, dtype=bool)  # one loss of each bin; whether it has others
    size = 0 if weight is None else len(loss)
    places, weighted = np.empty(size, dtype=np.int64), np.empty((2, size))
    for start in range(0, len(loss), BLOCK):
        block = slice(start, start + BLOCK)
        part = loss[block]
        place = places_of(part, edges)
        rows += np.bincount(place, minlength=bins)
        # Shares from distances to the edges, not from the mean: their rounding errors stay small in narrow bins too.
        under, over = edges[place + 1] - part, part - edges[place]
        if weight is None:
            below += np.bincount(place, under, bins)
            above += np.bincount(place, over, bins)
        else:
            places[block], weighted[0, block], weighted[1, block] = place, under * weight[block], over * weight[block]
        undecided = np.flatnonzero(~several[place])
        place, part = place[undecided], part[undecided]
        first = np.isnan(sample[place])
        sample[place[first]] = part[first]
        several[place[part != sample[place]]] = True
    mass = rows.astype(np.float64)
    if weight is not None:
        mass, below, above = (exact_sums(places, values, rows) for values in (weight, *weighted))
    used = mass > 0
    low, high = np.where(several, edges[:-1], sample), np.where(several, edges[1:], sample)
    whole = np.where(several & used, mass * (high - low), 1.0)
    to_low, to_high = np.where(several, below / whole, 1.0), np.where(several, np.minimum(above / whole, 1.0), 0.0)
    return np.stack([low, high, mass, to_low, to_high, np.where(several, rows, 1)])[:, used]


def places_of(loss: Floats, edges: Floats) -> Integers:
    """Return the bin of each loss: a loss on an edge belongs to the bin above it."""
    last = len(edges) - 2
    guess = ((1.0 - np.sqrt(1.0 - np.minimum(loss / edges[-1], 1.0))) * (last + 1)).astype(np.int64)
    bins = np.minimum(guess, last)
    bins -= loss < edges[bins]  # rounding may have put a loss next to its bin
    bins += (loss >= edges[bins + 1]) & (bins < last)
    return bins


def exact_sums(bins: Integers, values: Floats, rows: Integers) -> Floats:
    """Add up the values in each bin, rounding once: plain sums of many weights drift beyond what bounds allow for.

    The values, which are not negative, are cut into whole numbers so small that all sums of them are exact, in any
    order. Values of too different sizes would need too many: these are sorted by bin, and added up one by one.
    """
    most = float(values.max(initial=0.0))
    if not most:
        return np.zeros(len(rows))
    least = float(values.min()) or float(values.min(where=values > 0, initial=most))
    top, last = math.frexp(most)[1], math.frexp(least)[1] - DIGITS
    bits = DIGITS - int(rows.max()).bit_length()
    parts = -(-(top - last) // bits)
    if parts > MOST_PARTS or not -EXPONENTS < top - parts * bits <= top < EXPONENTS:
        order = np.argsort(bins.astype(np.int16 if len(rows) < 2**15 else np.int64), kind="stable")
        return np.array([math.fsum(part) for part in np.split(values[order], np.cumsum(rows)[:-1])])
    sums = np.zeros((parts, len(rows)))
    for start in range(0, len(values), BLOCK):
        block = slice(start, start + BLOCK)
        rest = values[block] * 2.0**-top
        for part in range(parts):
            rest *= 2.0**bits
            whole = np.floor(rest)
            rest -= whole
            sums[part] += np.bincount(bins[block], whole, len(rows))
    units = top - bits * np.arange(1, parts + 1)
    return np.array([math.fsum(terms) for terms in np.ldexp(sums, units[:, None]).T.tolist()])


Knowledge = MeanOnly | MeanAndVariance | LossTable
