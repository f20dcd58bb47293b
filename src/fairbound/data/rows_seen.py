"""Rows that a model has seen, remembered by their digests: what was used for choosing is no test."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbound.arithmetic.arrays import AnyArray
from fairbound.data.cells import read_array
from fairbound.errors import DataWarning, InputError, argument, warn

Digests = NDArray[np.uint64]

#: Rows are refused if so many of those that need not be equal to seen ones by chance are.
REFUSED = 0.5

#: And marked if more are than chance explains: by so many standard deviations.
DEVIATIONS = 5.0


@dataclass(frozen=True)
class RowsSeen:
    """Digests of rows, sorted.

    ``equal`` is the share of them that have an equal one among the others: where rows have few features some of any
    other sample are equal to seen ones, and mean nothing.
    """

    digests: Digests
    equal: float

    @classmethod
    def of(cls, X: Any) -> RowsSeen | None:
        """Remember rows; None if they cannot be read."""
        digests = row_digests(X)
        if digests is None or not len(digests):
            return None
        distinct, counts = np.unique(digests, return_counts=True)
        return cls(distinct, float(counts[counts > 1].sum() / len(digests)))

    def count(self, X: Any) -> tuple[int, int]:
        """Return how many rows of X were seen, and how many there are."""
        digests = row_digests(X)
        if digests is None or not len(digests):
            return 0, 0
        return int(np.isin(digests, self.digests).sum()), len(digests)


def check_unseen(estimator: Any, X: Any) -> None:
    """Refuse rows that an estimator chose its decisions with; mark them if only some are.

    The last step of a pipeline has seen what the other steps make of the rows.
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps and isinstance(getattr(steps[-1][1], "rows_seen_", None), RowsSeen):
        seen, X = steps[-1][1].rows_seen_, estimator[:-1].transform(X) if len(steps) > 1 else X
    else:
        seen = getattr(estimator, "rows_seen_", None)
    if not isinstance(seen, RowsSeen):
        return
    found, rows = seen.count(X)
    by_chance = seen.equal * rows
    spread = math.sqrt(seen.equal * (1.0 - seen.equal) * rows)
    if not found or found <= by_chance + DEVIATIONS * max(1.0, spread):
        return
    said = (
        f"{argument('X')} has {found:,} of {rows:,} rows that the {argument('estimator')} chose its decisions with; a "
        "certificate of these looks better than the model is; pass rows that were held out from fit"
    )
    if found - by_chance > REFUSED * (rows - by_chance):
        raise InputError(said)
    warn(said, DataWarning)


def row_digests(X: Any) -> Digests | None:
    """Return a digest of each row of a table, an array or a sparse matrix; None of anything else."""
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        bits = _bits(np.asarray(X.data)) * _odd(X.indices)
        return np.add.reduceat(np.append(bits, np.uint64(0)), X.indptr[:-1]) if X.shape[0] else None
    names = getattr(X, "columns", None)
    try:
        columns = [X[name] for name in names] if names is not None else list(np.atleast_2d(read_array("X", X)).T)
        read = [_bits(read_array("X", column)) for column in columns]
    except (InputError, KeyError, TypeError, ValueError):
        return None
    if not read:
        return None
    total = np.zeros(len(read[0]), dtype=np.uint64)
    for place, bits in enumerate(read):
        total = (total ^ bits) * _odd(np.array([place]))[0]
        total ^= total >> np.uint64(29)
    return total


def _odd(places: AnyArray) -> Digests:
    """Return an odd number for each place."""
    mixed = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def _bits(values: AnyArray) -> Digests:
    """Return 64 bits for each value, the same for equal ones."""
    if values.dtype.kind in "biuf":
        return np.ascontiguousarray(values.astype(np.float64) + 0.0).view(np.uint64)
    entries = values.ravel().tolist()
    known = {entry: _digest(entry) for entry in set(entries)}
    return np.fromiter((known[entry] for entry in entries), np.uint64, len(entries))


def _digest(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest())
