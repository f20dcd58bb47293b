"""Exact numbers and balls: what the rest of the checker computes with.

Every number of a document is the exact number that it is; results are certain enclosures, and a comparison holds only
if it holds for all numbers of the balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from flint import arb, fmpq

#: Bits of the ball arithmetic.
PRECISION = 160

ZERO, ONE = arb(0), arb(1)


class RefusedError(Exception):
    """A check failed; the message says why."""


def require(holds: bool, why: str) -> None:
    """Refuse what does not hold; a comparison of balls that cannot be told does not."""
    if not holds:
        raise RefusedError(why)


def largest(values: Iterable[arb]) -> arb:
    """Return the largest of some balls."""
    return reduce(arb.max, values)


def total(values: Iterable[arb]) -> arb:
    """Return the sum of some balls."""
    return sum(values, ZERO)


def dot(first: Iterable[arb], second: Iterable[arb]) -> arb:
    """Return the product of two lists."""
    return total(a * b for a, b in zip(first, second, strict=True))


def balls(values: Sequence[float]) -> list[arb]:
    """Return numbers of a document as balls."""
    return [arb(v) for v in values]


def exact(value: float) -> fmpq:
    """Return the number that a float is."""
    return fmpq(*float(value).as_integer_ratio())


def rounded_up(ball: arb) -> float:
    """Return a float that is certainly not below the ball, and no larger than need be."""
    value = float(ball.upper())
    return value if arb(value) >= ball else math.nextafter(value, math.inf)


def float_above(value: Fraction) -> float:
    """Return the least float that is not below a number."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
