"""The radius at which a bound crosses a threshold, from few bounds: each of them is a whole solve.

Bounds grow with the radius, and as functions of Hellinger distances, or of what is about as far under another
divergence, they are nearly straight. So the chord of two radii, or the parabola through three, comes close to the
crossing. A bound is off by a tolerance, so that the crossing has to be enclosed: the last steps go just beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

#: How far the first step goes, and how many times as far each of the next ones, until the crossing is enclosed.
FIRST_STEP, GROWTH = 0.1, 3.0

#: How much of the accuracy a step goes beyond where the crossing is thought to be.
BEYOND = 0.45

#: What encloses the crossing is halved if so many looks have not done so: where bounds jump no chord helps.
PATIENCE = 3


@dataclass(frozen=True)
class Point:
    """A place, and by how much the bound breaks the threshold there."""

    x: float
    excess: float


def last_kept(
    excess: Callable[[float], float], start: float, end: float, accuracy: Callable[[float], float]
) -> tuple[float | None, bool]:
    """Return the last place at which the excess is not positive, and whether it is the end of all places.

    None if there is none. The excess grows; the place is found to within the accuracy that is asked for there.
    """
    seen: list[Point] = []

    def look(x: float) -> Point:
        seen.append(Point(x, excess(x)))
        return seen[-1]

    kept: Point | None = None
    broken: Point | None = None
    step = FIRST_STEP
    while broken is None:
        here = look(min(start + step, end))
        kept, broken = (here, None) if here.excess <= 0 else (kept, here)
        if broken is None and here.x == end:
            return end, True
        step *= GROWTH
    widths: list[float] = []
    while True:
        low, fine = start if kept is None else kept.x, accuracy(broken.x)
        widths.append(broken.x - low)
        if widths[-1] <= fine:
            return (None if kept is None else kept.x), False
        slow = len(widths) > PATIENCE and widths[-1] > 0.5 * widths[-1 - PATIENCE]
        if kept is None:  # of the start nothing is known but that there is something to certify
            here = look(low + widths[-1] * (1 / GROWTH if len(widths) <= PATIENCE else 0.01))
        else:
            here = look(0.5 * (low + broken.x) if slow else _next(kept, broken, seen, fine))
        kept, broken = (here, broken) if here.excess <= 0 else (kept, here)


def _next(kept: Point, broken: Point, seen: list[Point], accuracy: float) -> float:
    """Return where to look next: just beyond the likely crossing, seen from the nearer end of what encloses it."""
    low, width = kept.x, broken.x - kept.x
    likely = _likely(kept, broken, seen)
    trust = max(BEYOND * accuracy, 0.02 * min(likely - low, broken.x - likely))
    here = likely + trust if likely - low < broken.x - likely else likely - trust
    least = min(BEYOND * accuracy, 0.5 * width)
    return min(max(here, low + least), broken.x - least)


def _likely(kept: Point, broken: Point, seen: list[Point]) -> float:
    """Return where the excess is zero on the parabola through both ends and a third place, or else on their chord.

    The place is taken as a function of the excess.
    """
    slope = (broken.x - kept.x) / (broken.excess - kept.excess)
    chord = kept.x - kept.excess * slope
    others = [one for one in seen if one.excess not in {kept.excess, broken.excess}]
    if not others:
        return chord
    third = min(others, key=lambda one: abs(one.excess))
    bend = ((third.x - broken.x) / (third.excess - broken.excess) - slope) / (third.excess - kept.excess)
    bent = chord + bend * kept.excess * broken.excess
    return bent if kept.x < bent < broken.x and math.isfinite(bent) else chord
