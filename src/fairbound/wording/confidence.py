"""What chance has to do with a statement, in words: nothing if the rows are all there is, else a confidence."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal

from fairbound.wording.digits import exactly

#: The region that holds only at radii that were chosen beforehand, and the one whose confidence is approximate.
ONE_RADIUS, APPROXIMATE = "prequential", "asymptotic"

#: Those whose worst case is in the ball around the rows themselves, not in a larger one.
AROUND_ROWS = {ONE_RADIUS, APPROXIMATE}


def percent_down(confidence: float) -> str:
    """Write a probability in per cent as the user did, or cut to six decimals: never more than it is."""
    written = 100 * Decimal(repr(float(confidence)))
    cut = min(written, written.quantize(Decimal("0.000001"), ROUND_FLOOR))
    return f"{(cut if cut > 0 else written).normalize():f}%"


def with_probability(confidence: float, rows: int | None, region: str | None = None) -> str:
    """Say how sure a statement is."""
    if region == APPROXIMATE:
        return f"with a probability of about {percent_down(confidence)} (not proved) over the draw of {_rows(rows)}"
    return f"with probability at least {percent_down(confidence)} over the draw of {_rows(rows)}"


def reached_in(region: str | None) -> str:
    """Say which ball around the data a worst case of a sample is in."""
    if region in AROUND_ROWS:
        return "in the ball around the rows themselves"
    return "in the larger ball that allows for sampling error"


def draw_sentence(rows: int | None, confidence: float, comparisons: int = 1, region: str | None = None) -> str:
    """Say how a sample speaks of P; what has several comparisons divides the error probability between them."""
    known = f"P is known through {rows} rows, taken to be independent draws from it and held out from training."
    sure = f"With a probability of at least {exactly(confidence)} over their draw"
    if region == ONE_RADIUS:
        return f"{known} {sure}, the bound holds at this rho, if it was chosen without looking at the rows."
    if region == APPROXIMATE:
        return (
            f"{known} With a probability of about {exactly(confidence)} over their draw the bound holds at this rho: "
            "that is a normal approximation, and nothing is proved of it."
        )
    if comparisons == 1:
        return f"{known} {sure}, the bound holds for every rho at once."
    return (
        f"{known} {sure}, the bounds of all {comparisons} comparisons hold for every rho at once; each comparison has "
        "an equal part of the error probability."
    )


def _rows(rows: int | None) -> str:
    return "the rows" if rows is None else f"the {rows:,} rows"  # a stranger's document may not tell their number


def nearest_sentence(
    distance: float,
    confidence: float | None,
    rows: int | None,
    *,
    having: str,
    limited: bool = False,
    measured: str = "Hellinger distance",
    region: str | None = None,
) -> str:
    """Say how far the nearest distribution in question is, or how far it is at least if P is known by a sample.

    ``having`` says what the distributions in question have, with a space before it, or nothing.
    """
    what = f"distribution{having}" + (" within the limits" if limited else "")
    if distance == 0 and not (having or limited):
        return "There is no condition on base rates: every rho can be certified."
    if region in AROUND_ROWS:
        return f"The {what} nearest to the rows themselves is at {measured} {distance:.6f}."
    if confidence is None:
        return f"The nearest {what} is at {measured} {distance:.6f}."
    if distance == 0:
        return (
            f"{_rows(rows).capitalize()} do not exclude that the distribution they were drawn from is itself a {what}: "
            "every rho can be certified."
        )
    least = math.floor(distance * 1e6) / 1e6
    return (
        f"{with_probability(confidence, rows).capitalize()}, no {what} is nearer than {measured} {least:.6f} "
        "to the distribution that they were drawn from."
    )
