"""Weights that an engine adds up: exactly, whatever the order in which it adds.

A weight w is cut into one or two whole numbers and a rest: ``w = 2**a (i + r)``, or ``2**a (i + 2**-b (j + r))`` with j
below 2**b, and r below 1. Nothing is rounded there: scaling by powers of two and splitting off the whole part are exact
in double precision. The engine adds up the i, the j and the r of each bin.

* Whole numbers that are not negative add up exactly, in any order, if the sum that comes back is below 2**53: an
  addition that had to be rounded has a result of 2**53 or more, and what is added later never brings it down.
* The sum R of n rests has an error of at most n u R. If 2 n R is at most the sum of the weights, all in one unit, that
  error is at most half of the one rounding with which the sums of the parts are put together.

Both conditions are looked at afterwards, in what came back. So they hold for any a and b, and a may be a guess: it is
taken from a few rows, and usually i and r are enough. Only if not, another query asks for the largest weight, and the
weights are added up again in three parts, which can be far more, and far more unequal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.columns import Columns
from fairbound.data.dialects import applied
from fairbound.data.frame_values import check_values, fetch, number
from fairbound.errors import InputError

Lazy = nw.LazyFrame[Any]
Found = nw.DataFrame[Any]

#: Below two to this power all whole numbers are exact in double precision.
DIGITS = 53
#: Bits of the whole part of a mean weight when there is one whole part: 2**26 rows of it add up exactly.
WHOLE = 26
#: Bits of each of the two whole parts of the largest weight: 2**31 rows of it add up exactly.
LIMB = 22
#: Rows that the guess looks at.
FEW = 1000
#: Weights beyond two to this power, or all below its inverse, are refused: products would leave the range of doubles.
RANGE = 500


@dataclass(frozen=True)
class Cut:
    """Where the weights of a column are cut: at multiples of 2**exponent, for each of the exponents, which fall."""

    column: str
    exponents: tuple[int, ...]

    def cut_up(self, frame: Lazy) -> Lazy:
        """Add the whole parts of the weights ``w``, and the rest, each in its own unit."""
        rest, last = nw.col("w"), 0
        for name, exponent in zip(self._whole, self.exponents, strict=True):
            scaled = f"{name}_scaled"
            frame = frame.with_columns((rest * 2.0 ** (last - exponent)).alias(scaled))
            frame, last = applied(frame, "floor", {name: scaled}), exponent
            rest = nw.col(scaled) - nw.col(name)
        return frame.with_columns(rest=rest)

    def aggregates(self) -> list[nw.Expr]:
        """Return what the engine shall find out about the weights of a bin."""
        sums = [nw.col(name).sum() for name in (*self._whole, "rest")]
        return [*sums, nw.col("w").min().alias("lightest")]

    def suspicious(self, found: Found) -> bool:
        """Whether a weight is missing, negative or not finite, or all are zero: engines add these up in silence."""
        sums = self._sums(found)
        return bool((found["lightest"].to_numpy() < 0).any()) or not (np.isfinite(sums).all() and sums.any())

    def total(self, found: Found) -> Floats | None:
        """Put the sums of the parts together: one rounding. None if the sums are not sure to be exact."""
        *whole, rest = self._sums(found)
        parts = [np.ldexp(sums, unit) for sums, unit in zip((*whole, rest), self._units, strict=True)]
        rows = found["n"].to_numpy().astype(np.float64)
        if not all((sums < 2.0**DIGITS).all() for sums in whole):
            return None
        total = np.array([math.fsum(terms) for terms in zip(*parts, strict=True)])
        return total if (2.0 * rows * parts[-1] <= total).all() else None

    @property
    def _whole(self) -> list[str]:
        return [f"w{index}" for index in range(len(self.exponents))]

    @property
    def _units(self) -> list[int]:
        """The exponents of the whole parts and of the rest."""
        return [*self.exponents, self.exponents[-1]]

    def _sums(self, found: Found) -> Floats:
        return np.stack([found[name].to_numpy().astype(np.float64) for name in (*self._whole, "rest")])


def weight_column(name: str) -> nw.Expr:
    """Return weights as numbers; -1 where one is missing, which is refused as other negative ones are."""
    return number(name).fill_null(-1.0)


def guessed_cut(frame: Lazy, columns: Columns) -> Cut | None:
    """Return a cut in two, for weights like those of the first rows; None if there are no weights."""
    if columns.weight is None:
        return None
    mean = fetch(frame.select(number(columns.weight).alias("w")).head(FEW).select(nw.col("w").mean())).item()
    exponent = math.frexp(mean)[1] if mean is not None and 0 < mean < math.inf else 1
    return careful_cut(frame, columns) if abs(exponent) > RANGE else Cut(columns.weight, (exponent - 1 - WHOLE,))


def careful_cut(frame: Lazy, columns: Columns) -> Cut:
    """Return a cut in three, for a largest weight that is looked up."""
    weight = number(str(columns.weight))
    least, most = fetch(frame.select(weight.min().alias("least"), weight.max().alias("most"))).row(0)
    if least is None or not (least >= 0 and 0 < most < math.inf):
        check_values(frame, columns)
    exponent = math.frexp(most)[1]
    if abs(exponent) > RANGE:
        message = f"column {columns.weight!r} holds weights like {most:g}; measure them in other units"
        raise InputError(message)
    return Cut(str(columns.weight), (exponent - LIMB, exponent - 2 * LIMB))
