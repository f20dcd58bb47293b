"""Generated distributions against a curve of certificates: whether one is above, and how near they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.experiments.generated import Generated

#: A loss is a sum of a few products; this is far more than its rounding.
ROUNDING = 1e-12

#: A tenth of rho with fewer generated distributions says nothing about tightness.
ENOUGH = 100


@dataclass(frozen=True)
class Comparison:
    """Generated distributions, tenth by tenth of their distance.

    Attributes
    ----------
    above
        How many exceed the certificate at their own distance.
    excess
        By how much at most; negative if none does.
    count
        How many fall in each tenth of rho.
    margin
        How far the nearest of them is below the curve there (never understated); NaN if there is none.
    """

    above: int
    excess: float
    count: Integers
    margin: Floats


def compare(
    points: Generated,
    rho: Floats,
    bound: Floats,
    certify_at: Callable[[Floats], Floats],
    most: int | None = None,
) -> Comparison:
    """Compare each distribution with the certificate at its own distance.

    Bounds grow with the radius, so a point that is below the bound at the next smaller radius of the curve needs no
    certificate of its own; the others get one. With ``most`` only so many get one, those that come nearest to the
    curve, and the rest is compared with the next larger radius, in whose ball they are as well. ``bound`` is NaN where
    nothing can be certified.
    """
    place = np.searchsorted(rho, points.distance)
    below = np.where(place > 0, bound[np.maximum(place - 1, 0)], np.nan)
    beyond = place >= len(rho)
    upper = np.where(beyond, np.nan, bound[np.minimum(place, len(rho) - 1)])
    alone = np.flatnonzero(~(points.loss <= below))
    if most is not None and len(alone) > most:
        known = ~np.isnan(bound)
        height = points.loss[alone] - np.interp(points.distance[alone], rho[known], bound[known])
        alone = alone[np.argsort(-height, kind="stable")[:most]]
    exact = upper.copy()
    exact[alone] = certify_at(points.distance[alone]) if len(alone) else []
    margin = np.where(np.isnan(exact), np.where(beyond, np.inf, -np.inf), exact - points.loss)
    margin[alone] = np.where(np.isnan(exact[alone]), -np.inf, exact[alone] - points.loss[alone])
    tenth = np.minimum((points.distance * 10).astype(np.int64), 9)
    least = np.full(10, np.inf)
    np.minimum.at(least, tenth, margin)
    return Comparison(
        int((margin < -ROUNDING).sum()),
        float(-margin.min()),
        np.bincount(tenth, minlength=10),
        np.where(np.isfinite(least), least, np.nan),
    )
