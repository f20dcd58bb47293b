"""From certificates at some radii to what they say at every radius.

The multipliers of a radius prove a bound at every other one, affine in the radius as the inequality has it
(docs/specification.md, "Other radii"): of a curve the best one counts. Where that is not so (means under other
divergences, ratios), and where nothing is proved, there are stairs, because balls are nested.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.errors import InputError, argument, given

#: How many radii are drawn between two that were computed.
BETWEEN = 12

#: And at most altogether.
MOST_DRAWN = 400


def proved_at(proved: ProvedCurve, rho: float, least: float) -> float:
    """Return what is proved at a radius that the user names."""
    if not least <= rho:
        message = f"{given('rho', rho)} is below {least!r}, the least radius at which this certifies anything"
        raise InputError(message)
    found = proved.bound_at(rho)
    if found is None:
        largest = max(point.rho for point in proved.single.question.points)
        message = f"nothing is proved at {given('rho', rho)}; certify at it, or ask for at most {largest!r} here"
        raise InputError(message + f" ({argument('rho')})")
    return found


def bound_line(proved: ProvedCurve, rho: Floats, start: float) -> tuple[Floats, Floats]:
    """Return what is proved at many radii from ``start`` on; ``rho`` are those that were computed, sorted."""
    ends = np.unique(np.concatenate([[min(start, rho[0])], rho]))
    count = max(2, min(BETWEEN, MOST_DRAWN // max(1, len(ends) - 1)))
    between = [np.linspace(low, high, count, endpoint=False) for low, high in pairwise(ends)]
    after = np.nextafter(ends[:-1], np.inf)  # where there are stairs, they are upright
    radii = np.sort(np.concatenate([*between, after, ends[-1:]]))
    bounds = [proved.bound_at(float(at)) for at in radii]
    best = np.array([np.nan if bound is None else bound for bound in bounds])
    nested = np.fmax if proved.lower else np.fmin  # what holds for a ball holds for smaller ones
    return radii, nested.accumulate(best[::-1])[::-1]


def bound_steps(rho: Floats, bound: Floats, start: float, *, lower: bool = False) -> tuple[Floats, Floats]:
    """Return the corners of what claimed bounds say at every radius from ``start`` on.

    Balls are nested, so the bound at a radius holds for all smaller ones. ``rho`` is sorted; ``lower``: bounds from
    below.
    """
    least = (np.maximum if lower else np.minimum).accumulate(bound[::-1])[::-1]
    edges = np.concatenate([[min(start, rho[0])], rho])
    return np.repeat(edges, 2)[1:-1], np.repeat(least, 2)


def attained_steps(rho: Floats, attained: Floats, *, lower: bool = False) -> tuple[Floats, Floats]:
    """Return the corners of what is attained at every radius: what one ball holds, larger ones hold too."""
    most = (np.minimum if lower else np.maximum).accumulate(attained)
    return np.repeat(rho, 2)[1:], np.repeat(most, 2)[:-1]
