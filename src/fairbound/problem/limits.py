"""Linear limits on the shares of groups or of labels: read from the user's words, and said in them.

Whatever form they were given in, limits are rows: ``A m <= b`` for the shares m. A row whose largest entry is not of a
size from 1/2 to 2 is scaled by a power of two, which is exact; rows that hold for all shares are left out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import number, numbers
from fairbound.errors import InputError, argument, either, given, listed, shown
from fairbound.wording.names import shortened

Side = Literal["group", "label"]

#: Smallest and largest shares by name.
Ranges = Mapping[Any, tuple[float, float]]

#: A matrix and a right side.
Rows = tuple[Any, Any]

#: More terms than these are not written out in a sentence.
MOST_TERMS = 12

#: To be said of a limit.
NO_LIMIT = either(", and None means no limit")
PAIR = "a pair of the smallest and the largest share allowed, such as (0.4, 0.6)"


@dataclass(frozen=True)
class Limits:
    """The limits ``rows @ shares <= most``, in the order of the population's groups or labels.

    Attributes
    ----------
    rows
        The coefficients, a row for each limit.
    most
        The largest value allowed of each row's product with the shares.
    """

    rows: tuple[tuple[float, ...], ...]
    most: tuple[float, ...]

    @cached_property
    def matrix(self) -> Floats:
        """The rows as an array."""
        return np.array(self.rows)

    @cached_property
    def right(self) -> Floats:
        """The right sides as an array."""
        return np.array(self.most)

    def take(self, index: Sequence[int]) -> Limits:
        """Select rows."""
        return Limits(tuple(self.rows[i] for i in index), tuple(self.most[i] for i in index))

    def sentences(self, side: Side, names: Sequence[Hashable]) -> list[str]:
        """Say the limits in the user's words."""
        low: dict[int, float] = {}
        high: dict[int, float] = {}
        general = []
        for row, most in zip(self.rows, self.most, strict=True):
            used = [i for i, v in enumerate(row) if v != 0]
            if len(used) != 1:
                general.append((row, most))
                continue
            at, value = used[0], most / row[used[0]]
            if row[at] > 0:
                high[at] = min(value, high.get(at, 1.0))
            else:
                low[at] = max(value, low.get(at, 0.0))
        said = []
        least = min(low.values()) if len(low) == len(names) else 0.0
        if least > 0 and sum(value == least for value in low.values()) > 1:
            said.append(f"The share of every {side} in Q is at least {least:.12g}.")
            low = {i: value for i, value in low.items() if value > least}
        for i in sorted({*low, *high}):
            share = f"The share of {_quoted(side, names[i])} in Q"
            if i in low and i in high:
                exact = low[i] == high[i]
                said.append(
                    f"{share} is {low[i]:.12g}." if exact else f"{share} lies between {low[i]:.12g} and {high[i]:.12g}."
                )
            elif i in low:
                said.append(f"{share} is at least {low[i]:.12g}.")
            else:
                said.append(f"{share} is at most {high[i]:.12g}.")
        return said + [_general(side, names, row, most) for row, most in general]


def _quoted(side: Side, name: Hashable) -> str:
    """Name a group or a label."""
    text = shortened(repr(name), 80)
    return text if side == "group" and isinstance(name, str | tuple) else f"{side} {text}"


def _general(side: Side, names: Sequence[Hashable], row: Sequence[float], most: float) -> str:
    """Say a limit on several shares."""
    used = [i for i, v in enumerate(row) if v != 0]
    if len(used) > MOST_TERMS:
        return f"A weighted sum of {len(used)} {side} shares of Q is at most {most:.12g}."
    terms = ""
    for i in used:
        mark = ("-" if row[i] < 0 else "") if not terms else (" - " if row[i] < 0 else " + ")
        factor = "" if abs(row[i]) == 1 else f"{abs(row[i]):.12g} "
        terms += f"{mark}{factor}share[{shortened(repr(names[i]), 80)}]"
    return f"The {side} shares of Q satisfy {terms or 0} <= {most:.12g}."


class Named(Protocol):
    """What has groups and labels."""

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups."""
        ...

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the labels."""
        ...


def limit_sentences(named: Named, groups: Limits | None, labels: Limits | None) -> list[str]:
    """Say the limits on the shares of both sides in the user's words."""
    said = [] if groups is None else groups.sentences("group", named.groups)
    return said + ([] if labels is None else labels.sentences("label", named.labels))


def read_limits(side: Side, names: Sequence[Hashable], least: object, ranges: object, rows: object) -> Limits | None:
    """Read ``min_..._mass``, ``..._limits`` and ``..._rows`` of one side; None if nothing is limited."""
    size = len(names)
    low, high = np.zeros(size), np.ones(size)
    if least is not None:
        name = f"min_{side}_mass"
        low[:] = number(name, least, 0.0, 1.0, f"it is the smallest share of Q that any {side} may have{NO_LIMIT}")
        if low[0] > 1.0 / size:
            message = (
                f"{given(name, least)} is too large for {size} {side}s, whose shares add up to 1; use {1 / size:.6g} "
                "or less"
            )
            raise InputError(message)
    if ranges is not None:
        for at, (smallest, largest) in _read_ranges(side, names, ranges).items():
            low[at], high[at] = max(low[at], smallest), min(high[at], largest)
    unit = np.eye(size)
    found = [(0.0 - unit[i], -low[i]) for i in range(size) if low[i] > 0]
    found += [(unit[i], high[i]) for i in range(size) if high[i] < 1]
    if rows is not None:
        found += _read_rows(side, size, rows)
    if not found:
        return None
    kept = [(tuple(row.tolist()), float(most)) for row, most in found]
    return Limits(tuple(row for row, _ in kept), tuple(most for _, most in kept))


def _read_ranges(side: Side, names: Sequence[Hashable], ranges: object) -> dict[int, tuple[float, float]]:
    """Return the range of each share that has one, by its place."""
    whole = f"{side}_limits"
    if not isinstance(ranges, Mapping):
        message = f"{given(whole, ranges)} must be a dictionary from the name of a {side} to {PAIR}"
        raise InputError(message)
    place = {name: index for index, name in enumerate(names)}
    found = {}
    for key, pair in ranges.items():
        at = place.get(key)
        if at is None:
            known = listed([repr(name) for name in names])
            message = f"{argument(whole)} names {shown(key)}, which is not a {side}; the {side}s are {known}"
            raise InputError(message)
        part = f"{whole}[{shown(key)}]"
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            message = f"{given(part, pair)} must be {PAIR}"
            raise InputError(message)
        low, high = (number(part, v, 0.0, 1.0, f"it must be {PAIR}") for v in pair)
        if low > high:
            message = f"{given(part, tuple(pair))} is upside down; give the smaller share first"
            raise InputError(message)
        found[at] = low, high
    return found


def _read_rows(side: Side, size: int, rows: Any) -> list[tuple[Floats, float]]:
    """Read ``(A, b)``, scale its rows and leave out those that hold for all shares."""
    name = f"{side}_rows"
    meaning = f"(A, b), with a column of A for each of the {size} {side}s and a row for each entry of b"
    if not isinstance(rows, tuple | list) or len(rows) != 2:
        message = f"{given(name, rows)} must be a pair {meaning}"
        raise InputError(message)
    matrix, right = np.atleast_2d(numbers(f"{name}[0]", rows[0])), np.atleast_1d(numbers(f"{name}[1]", rows[1]))
    if matrix.ndim != 2 or right.ndim != 1 or matrix.shape != (len(right), size):
        message = f"{argument(name)} has shapes {matrix.shape} and {right.shape}; it must be a pair {meaning}"
        raise InputError(message)
    found = []
    for index, (row, most) in enumerate(zip(matrix, right.tolist(), strict=True)):
        if row.max() <= most:
            continue
        if row.min() > most:
            message = (
                f"row {index} of {argument(name)} cannot hold: for shares that add up to 1 its product is "
                f"{row.min():g} at least, more than {most:g}; raise b there, or leave the row out"
            )
            raise InputError(message)
        size_of_row = float(np.abs(row).max())
        scale = 0 if 0.5 <= size_of_row <= 2 else 1 - math.frexp(size_of_row)[1]
        scaled = np.ldexp(np.append(row, most), scale)
        if (np.ldexp(scaled, -scale)[:-1] != row).any():
            entries = shown(row.tolist())
            message = f"row {index} of {argument(name)} has entries of too different sizes: {entries}; round them"
            raise InputError(message)
        found.append((scaled[:-1], float(scaled[-1])))
    return found
