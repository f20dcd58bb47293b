"""Counts that add up exactly: what a tally knows of each cell, in whole numbers, so that no order of adding matters.

A cell of group and label holds entries. Of predicted labels there is one for each label that was predicted. Of losses
there is one for each bin: its numbers are those of the bins below and above its edges, ``first`` and ``last``, which
differ where neighbouring bins were merged. Weights, and distances of losses from the lower edge of their bin, are sums
of fractions of 2**-78: every double from 2**-26 on is a multiple of it, and what is smaller is rounded up to one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.loss_summary import bin_edges

#: Values are cut into a whole number and so many parts of so many bits.
PARTS, BITS = 3, 26
#: The unit of all sums is two to minus this.
UNIT_BITS = PARTS * BITS

#: Sums of so many rows, and whole numbers below two to this power, fit in 64 bits.
MOST_ROWS, LARGEST = 2**36, 2**63


class Entry(NamedTuple):
    """Rows of a cell that are not told apart: how many, their weight, and where in their bin their losses lie.

    ``above`` is the sum of weighted distances from the lower edge, in units of the scale of the edges. ``least`` and
    ``most`` are the extreme losses; None where they are not told.
    """

    rows: int
    weight: int
    above: int = 0
    least: float | None = None
    most: float | None = None

    def plus(self, other: Entry) -> Entry:
        """Add up two entries; what one does not tell, the sum does not tell either."""
        told = self.least is not None and other.least is not None and self.most is not None and other.most is not None
        return Entry(
            self.rows + other.rows,
            self.weight + other.weight,
            self.above + other.above,
            min(self.least, other.least) if told else None,  # type: ignore[type-var]  # told: they are numbers
            max(self.most, other.most) if told else None,  # type: ignore[type-var]
        )


#: A predicted label, or the first and the last of the bins that are counted together.
Key = Hashable
#: The entries of each cell of group and label.
Cells = Mapping[tuple[Hashable, Hashable], Mapping[Key, Entry]]


def added(parts: Iterable[Cells]) -> dict[tuple[Hashable, Hashable], dict[Key, Entry]]:
    """Add up the entries of all parts."""
    total: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for cells in parts:
        for cell, entries in cells.items():
            held = total.setdefault(cell, {})
            for key, entry in entries.items():
                held[key] = held[key].plus(entry) if key in held else entry
    return total


def rows_of(cells: Cells) -> int:
    """Return how many rows there are in all cells."""
    return sum(entry.rows for entries in cells.values() for entry in entries.values())


@dataclass(frozen=True)
class Bins:
    """The fixed bins of the losses up to a ceiling: those of ``loss_summary.bin_edges``."""

    ceiling: float
    count: int

    @cached_property
    def edges(self) -> Floats:
        """The edges, from 0 to the ceiling."""
        return bin_edges(self.ceiling, self.count)

    @property
    def scale(self) -> float:
        """The power of two from the ceiling on: distances are told in it, which rounds nothing."""
        fraction, exponent = math.frexp(self.ceiling)
        return math.ldexp(1.0, exponent - (fraction == 0.5))

    @cached_property
    def units(self) -> list[int]:
        """The edges in units: exact, for all of them but 0 are at least 2**-26 of the ceiling."""
        return [int(math.ldexp(edge / self.scale, UNIT_BITS)) for edge in self.edges.tolist()]

    def joined(self, entries: Mapping[tuple[int, int], Entry], first: int) -> Entry:
        """Count entries of several bins together: distances are those from the lower edge of the first one."""
        total = Entry(0, 0, 0, math.inf, -math.inf)
        for (start, _), entry in entries.items():
            moved = -((-entry.weight * (self.units[start] - self.units[first])) >> UNIT_BITS)  # rounded up
            total = total.plus(entry._replace(above=entry.above + moved))
        return total

    def coarsened(self, entries: Mapping[tuple[int, int], Entry], count: int) -> dict[tuple[int, int], Entry]:
        """Return the same in fewer bins: their edges are edges here, since both numbers are powers of two."""
        ratio = self.count // count
        gathered: dict[tuple[int, int], dict[tuple[int, int], Entry]] = {}
        for (first, last), entry in entries.items():
            gathered.setdefault((first // ratio, last // ratio), {})[first, last] = entry
        return {key: self.joined(some, key[0] * ratio) for key, some in gathered.items()}

    def at_least(self, entries: Mapping[tuple[int, int], Entry], least: int) -> dict[tuple[int, int], Entry]:
        """Merge neighbouring bins, from above, until each has so many rows, and tell no extremes; there are as many."""
        found: list[dict[tuple[int, int], Entry]] = [{}]
        for key in sorted(entries, reverse=True):
            if sum(entry.rows for entry in found[-1].values()) >= least:
                found.append({})
            found[-1][key] = entries[key]
        if len(found) > 1 and sum(entry.rows for entry in found[-1].values()) < least:
            last = found.pop()
            found[-1] |= last
        spans = [(min(first for first, _ in some), max(last for _, last in some)) for some in found]
        joined = [self.joined(some, first) for some, (first, _) in zip(found, spans, strict=True)]
        return {span: entry._replace(least=None, most=None) for span, entry in zip(spans, joined, strict=True)}


def in_parts(values: Floats) -> list[Floats]:
    """Cut numbers that are not negative into a whole number and parts of it, each a whole number; exactly."""
    found, rest = [np.floor(values)], values - np.floor(values)
    for part in range(PARTS):
        rest = rest * 2.0**BITS
        whole = np.ceil(rest) if part == PARTS - 1 else np.floor(rest)
        rest = rest - whole
        found.append(whole)
    return found


def exact_totals(place: Integers, values: Floats, size: int) -> list[int]:
    """Add up numbers in each place, in units, without rounding."""
    sums = []
    for part in in_parts(values):
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, place, part.astype(np.int64))
        sums.append(total.tolist())
    return [together(parts) for parts in zip(*sums, strict=True)]


def together(parts: Sequence[int]) -> int:
    """Put the sums of the parts together."""
    total = 0
    for part in parts:
        total = (total << BITS) + int(part)
    return total
