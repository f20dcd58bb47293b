"""Exact numbers and balls: what the rest of the checker computes with.

Every number of a document is the exact number that it is; results are certain enclosures, and a comparison holds only
if it holds for all numbers of the balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

from flint import arb, fmpq

#: Bits of the ball arithmetic.
PRECISION = 160


class RefusedError(Exception):
    """A check failed; the message says why."""


def largest(values: Iterable[arb]) -> arb:
    """Return the largest of some balls."""
    return reduce(lambda most, value: most.max(value), values)


def total(values: Iterable[arb]) -> arb:
    """Return the sum of some balls."""
    return sum(values, arb(0))


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
