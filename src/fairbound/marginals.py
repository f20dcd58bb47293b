"""The sets that the group shares and the label shares of Q may come from: simplices, perhaps with a skew limit.

With a limit ``g`` the set is ``{m >= 0, sum m = 1, |m_i - m_j| <= g}``, the same as ``a <= m_i <= a + g`` for some
``a >= 0``. By linear-programming duality its support function is one scalar minimisation,

    sigma(v) = max over m of <m, v> = min over t >= mean(v) of  t + g · sum_i max(v_i - t, 0),

in which every ``t >= mean(v)`` gives an upper bound (docs/theory.md, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arrays import Floats
from fairbound.rounding import UNIT, margin, raised


@dataclass(frozen=True)
class MarginalSet:
    """The admissible shares of ``size`` groups (or labels); ``skew`` limits their differences."""

    size: int
    skew: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit that can bind."""
        return self.skew is not None

    @property
    def width(self) -> float:
        """The room that a solver may use between two shares: the limit, but never none at all."""
        return 1.0 if self.skew is None else max(self.skew, 1e-9)

    @property
    def floor(self) -> float:
        """Return a share that every member of the set has at least, rounded down."""
        if self.skew is None:
            return 0.0
        return max(0.0, (1.0 - (self.size - 1) * self.skew) / self.size - 4 * UNIT)

    def support(self, value: Floats) -> Floats:
        """Return an upper bound of ``max over m of <m, value>`` along the last axis, tight up to rounding."""
        if self.skew is None:
            return value.max(axis=-1)
        mean = value.mean(axis=-1, keepdims=True)
        mean = mean + margin(np.abs(value).sum(axis=-1, keepdims=True), self.size)
        levels = np.concatenate([mean, np.maximum(value, mean)], axis=-1)
        excess = np.maximum(value[..., None, :] - levels[..., None], 0.0).sum(axis=-1)
        totals = levels + raised(self.skew * excess, self.size + 4)
        totals = totals + margin(np.abs(totals), 2)
        return np.minimum(totals.min(axis=-1), value.max(axis=-1))

    def inside(self, share: Floats) -> Floats:
        """Return shares that are non-negative, add up to one and obey the limit: shrunk towards uniform as needed."""
        share = np.maximum(share, 0.0)
        share = share / share.sum(axis=-1, keepdims=True)
        if self.skew is None:
            return share
        spread = np.ptp(share, axis=-1, keepdims=True)
        allowed = max(0.0, self.skew - 64 * UNIT)
        factor = np.minimum(1.0, allowed / np.maximum(spread, 1e-300))
        return 1.0 / self.size + factor * (share - 1.0 / self.size)

    def interior(self, share: Floats) -> tuple[Floats, float]:
        """Return shares well inside the set, between uniform ones and ``share``, and a floor well below them."""
        share = share / share.sum()
        spread = float(share.max() - share.min())
        part = min(0.7, 0.5 * self.width / max(spread, 1e-300))
        inner = 1.0 / self.size + part * (share - 1.0 / self.size)
        least = float(inner.min())
        return inner, least - 0.5 * min(least, self.width - part * spread)

    def respects_limits(self, share: Floats) -> bool:
        """Whether shares obey the skew limit (to within one rounding)."""
        spread = float(share.max() - share.min())
        return self.skew is None or spread <= self.skew + 8 * UNIT
