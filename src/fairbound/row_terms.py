"""What linear limits on shares add to a saddle problem: multipliers, as global variables of their own.

Shares m with ``A m <= b`` are maximised over; a multiplier ``mu >= 0`` for each row, minimised, brings the term
``<mu, b - A m>`` into L. A saddle problem with such shares has the multipliers behind its other global variables and
passes its rows through :func:`extended`, its start through :func:`started` and its derivatives through :func:`added`.
The start need not obey the limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fairbound.arrays import Floats
from fairbound.saddle import Derivatives, GlobalRows

#: Where multipliers start, in units of the largest loss.
START = 0.1


@dataclass(frozen=True)
class RowTerms:
    """The term ``<mu, b - A m>``, the same for all problems of a batch.

    Attributes
    ----------
    matrix, most
        A, shape (rows, shares), and b.
    shares
        Where m stands: the number of a local variable (one share in each block), or a slice of the global ones.
    first
        Where mu begins among the global variables.
    """

    matrix: Floats
    most: Floats
    shares: int | slice
    first: int

    @property
    def place(self) -> slice:
        """Where mu stands among the global variables."""
        return slice(self.first, self.first + len(self.most))

    def add_to(self, slope: Derivatives, local: Floats, glob: Floats) -> None:
        """Add the term's derivatives to those of the rest of L."""
        mu = glob[:, self.place]
        if isinstance(self.shares, slice):
            share = glob[:, self.shares]
            slope.glob[:, self.shares] -= mu @ self.matrix
            slope.glob_glob[:, self.shares, self.place] -= self.matrix.T
            slope.glob_glob[:, self.place, self.shares] -= self.matrix
        else:
            share = local[..., self.shares]
            slope.local[..., self.shares] -= mu @ self.matrix
            slope.local_glob[..., self.shares, self.place] -= self.matrix.T
        slope.glob[:, self.place] += self.most - share @ self.matrix.T


def extended(rows: GlobalRows, terms: Iterable[RowTerms]) -> GlobalRows:
    """Append ``mu >= 0``."""
    for term in terms:
        count, size = len(term.most), rows.border.shape[-1]
        own = np.tile(np.eye(size)[term.place], (len(rows.border), 1, 1))
        rows = replace(
            rows,
            border=np.concatenate([rows.border, own], axis=1),
            offset=np.concatenate([rows.offset, np.zeros((len(rows.offset), count))], axis=1),
            sign=np.concatenate([rows.sign, np.ones(count)]),
        )
    return rows


def started(glob: Floats, terms: Iterable[RowTerms]) -> Floats:
    """Put the multipliers where they start."""
    for term in terms:
        glob[:, term.place] = START
    return glob


def added(slope: Derivatives, terms: Iterable[RowTerms], local: Floats, glob: Floats) -> Derivatives:
    """Add the derivatives of the terms."""
    for term in terms:
        term.add_to(slope, local, glob)
    return slope
