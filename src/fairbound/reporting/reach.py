"""What a radius means to people: how far the share of a part can move if the distance is used up for nothing else."""

from __future__ import annotations

import math

import numpy as np

from fairbound.problem.divergences import HELLINGER, TOTAL_VARIATION, Divergence

#: The share that pages speak of.
EXAMPLE_SHARE = 0.05

#: Steps of bisection: as many as a share has bits.
STEPS = 60


def grown_share(divergence: Divergence, share: float, rho: float) -> float:
    """Return the largest share within distance rho of a part that has this one; docs/choosing-rho.md has a table."""
    if divergence is HELLINGER:
        start, step = math.asin(math.sqrt(share)), math.acos(max(0.0, 1.0 - min(rho, 1.0) ** 2))
        return math.sin(min(start + step, math.pi / 2)) ** 2
    if divergence is TOTAL_VARIATION:
        return min(1.0, share + rho)
    low, high = share, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        near = divergence.measure(np.array([share, 1 - share]), np.array([middle, 1 - middle])) <= rho
        low, high = (middle, high) if near else (low, middle)
    return low


def reach_text(divergence: Divergence, rho: float) -> str:
    """Write, in per cent, how large a part can get that holds the share of :data:`EXAMPLE_SHARE`."""
    share = 100 * grown_share(divergence, EXAMPLE_SHARE, rho)
    return f"{share:.1f}" if share < 10 else f"{share:.0f}"
