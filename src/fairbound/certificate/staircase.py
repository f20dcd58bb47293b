"""From certificates at some radii to what they say at every radius: stairs, because balls are nested."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats


def bound_steps(rho: Floats, bound: Floats, start: float, *, lower: bool = False) -> tuple[Floats, Floats]:
    """Return the corners of what is proved at every radius from ``start`` on.

    Balls are nested, so the bound at a radius holds for all smaller ones: between two radii the larger one's bound is
    proved, and a straight line between the points is not. ``rho`` is sorted; ``lower``: bounds from below.
    """
    least = (np.maximum if lower else np.minimum).accumulate(bound[::-1])[::-1]
    edges = np.concatenate([[min(start, rho[0])], rho])
    return np.repeat(edges, 2)[1:-1], np.repeat(least, 2)


def attained_steps(rho: Floats, attained: Floats, *, lower: bool = False) -> tuple[Floats, Floats]:
    """Return the corners of what is attained at every radius: what one ball holds, larger ones hold too."""
    most = (np.minimum if lower else np.maximum).accumulate(attained)
    return np.repeat(rho, 2)[1:], np.repeat(most, 2)[:-1]
