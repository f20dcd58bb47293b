"""Limits that contradict each other: found before anything is solved, and named."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fairbound.errors import InputError, argument, either
from fairbound.problem.limits import Side
from fairbound.solve.shares import MarginalSet

#: Limits that miss each other by less, such as exact shares that add up to one only up to rounding, are accepted.
ACCEPTED = 1e-13


def refuse_contradictions(side: Side, names: Sequence[Hashable], shares: MarginalSet) -> None:
    """Raise an error if no shares obey all limits of one side, naming those that cannot hold together."""
    if shares.limits is None or shares.interior.slack >= -ACCEPTED:
        return
    alone = MarginalSet(shares.size, None, shares.limits)
    skewed = alone.interior.slack >= -ACCEPTED  # the rows alone can hold
    mu = (shares if skewed else alone).interior.mu
    guilty = shares.limits.take([i for i, v in enumerate(mu.tolist()) if v > 1e-6 * mu.max()])
    said = [sentence.rstrip(".") for sentence in (guilty if guilty.most else shares.limits).sentences(side, names)]
    skew, rows = argument(f"{side}_skew"), either(f", {argument(f'{side}_rows')}")
    if skewed:
        said.append(f"any two {side} shares differ by at most {shares.skew:g} ({skew})")
    message = (
        f"the limits on the {side} shares contradict each other: no shares that add up to 1 obey all of this: "
        f"{'; '.join(said[:10])}. Widen or leave out one of {argument(f'min_{side}_mass')}, "
        f"{argument(f'{side}_limits')}{rows} and {skew}"
    )
    raise InputError(message)
