"""Outward rounding: floating-point results that are certain to lie on the safe side.

All sums that enter a bound have terms of one sign, so a first-order error analysis is enough (Higham, Accuracy
and Stability of Numerical Algorithms, section 3.1): a result of ``n`` rounded operations on non-negative numbers
is within the factor ``1 ± n u / (1 - n u)`` of the exact one, with ``u = 2**-53``. Every function here uses twice
that allowance, which also covers its own last operations. Differences are enclosed by an absolute error.
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats

UNIT = 2.0**-53

#: A worst-case distribution may miss the ball, the limits and the tolerance by this much: its numbers are rounded. So
#: bounds hold for all distributions that miss them by this much: nothing is proved of sets that are empty by a hair, of
#: which everything would be true, while the distribution shown as a member is not one.
LEEWAY = 1e-12


def raised(value: Floats, operations: int) -> Floats:
    """Return an upper bound of a non-negative quantity computed with at most so many roundings."""
    return value * (1.0 + 2.0 * (operations + 4) * UNIT)


def lowered(value: Floats, operations: int) -> Floats:
    """Return a lower bound of a non-negative quantity computed with at most so many roundings."""
    return value * (1.0 - 2.0 * (operations + 4) * UNIT)


def margin(magnitude: Floats, operations: int) -> Floats:
    """Return a bound on the absolute error of a sum whose terms have absolute values adding up to ``magnitude``."""
    return magnitude * (2.0 * (operations + 4) * UNIT)


def least_affinity(rho: Floats | float) -> Floats:
    """Return ``max(0, 1 - rho^2)``, less the leeway and rounded down: the affinity that every Q in the ball reaches."""
    return np.maximum(0.0, 1.0 - np.square(rho) - LEEWAY - 8 * UNIT)


def most_affinity(rho: Floats | float) -> Floats:
    """Return ``max(0, 1 - rho^2)``, rounded up: an affinity that puts Q inside the ball for certain."""
    return np.maximum(0.0, 1.0 - np.square(rho) + 4 * UNIT)
