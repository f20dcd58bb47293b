"""The sets that the group shares and the label shares of Q may come from: simplices, perhaps with limits.

With a skew limit ``g`` the set is ``{m >= 0, sum m = 1, |m_i - m_j| <= g}``, the same as ``a <= m_i <= a + g`` for some
``a >= 0``. By linear-programming duality its support function is one scalar minimisation,

    sigma(v) = max over m of <m, v> = min over t >= mean(v) of  t + g · sum_i max(v_i - t, 0),

in which every ``t >= mean(v)`` gives an upper bound. Linear limits ``A m <= b`` bring a multiplier for each row, and
every ``mu >= 0`` gives an upper bound: ``sigma(v - A^T mu) + <b, mu>`` (docs/theory.md, "Limits on shares").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import LEEWAY, UNIT, margin, raised
from fairbound.problem.limits import Limits
from fairbound.solve.interior import ACTIVE, Interior, find_interior
from fairbound.solve.limit_terms import RowTerm

#: Added to products of multipliers, so that terms lost by underflow cannot make them too small.
LEAST = 1e-280

#: The slack that a solver needs at least.
WIDENED = 1e-9

#: Larger multipliers are not used.
MOST = 1e60

#: Limits may be missed by this much, which is what rounding does to shares and to their products with a row.
ROUNDING = 64 * UNIT


@dataclass(frozen=True)
class MarginalSet:
    """The admissible shares of ``size`` groups (or labels).

    ``skew`` limits their differences, ``limits`` their products with the rows of a matrix.
    """

    size: int
    skew: float | None = None
    limits: Limits | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit that can bind."""
        return self.skew is not None or self.limits is not None

    @property
    def width(self) -> float:
        """The room that a solver may use between two shares: the limit, but never none at all."""
        return 1.0 if self.skew is None else max(self.skew, ACTIVE)

    @property
    def multipliers(self) -> int:
        """How many multipliers the rows have."""
        return 0 if self.limits is None else len(self.limits.most)

    @cached_property
    def interior(self) -> Interior:
        """A point well inside the set."""
        return _interior(self)

    def term(self, shares: int | slice) -> RowTerm:
        """Return what the rows add to a saddle problem in which the shares stand at that place.

        A set without interior is widened a little for the solver, as with ``width``: bounds are not computed from it.
        """
        if self.limits is None:
            return RowTerm(np.zeros((0, self.size)), np.zeros(0), shares)
        return RowTerm(self.limits.matrix, self.limits.right + max(0.0, WIDENED - self.interior.slack), shares)

    @cached_property
    def allowed(self) -> tuple[float | None, Floats]:
        """The skew limit and the right sides of the rows that bounds hold for: the leeway is added, and rounding."""
        skew = None if self.skew is None else self.skew + LEEWAY + 4 * UNIT
        if self.limits is None:
            return skew, np.zeros(0)
        size = np.abs(self.limits.matrix).max(axis=1)
        return skew, self.limits.right + LEEWAY * size + 4 * UNIT * (np.abs(self.limits.right) + LEEWAY)

    @cached_property
    def floors(self) -> Floats:
        """Return for each share a number that it has at least in every member of the set, rounded down.

        Each row bounds each share: ``<a, m> >= a_i m_i + (1 - m_i) l`` if l is the least of the other entries. And a
        share is at least what the others' largest shares leave of one.
        """
        size, (skew, right) = self.size, self.allowed
        least = np.zeros(size) if skew is None else np.full(size, max(0.0, (1.0 - (size - 1) * skew) / size))
        if self.limits is not None:
            most = np.ones(size)
            for i in range(size):
                own = self.limits.matrix[:, i]
                other = np.delete(self.limits.matrix, i, axis=1).min(axis=1)
                above, below = own > other, own < other
                with np.errstate(over="ignore"):
                    most[i] = ((right - other)[above] / (own - other)[above]).min(initial=1.0)
                    least[i] = ((other - right)[below] / (other - own)[below]).max(initial=least[i])
            most = np.maximum(most, 0.0)
            least = np.maximum(least, 1.0 - (most.sum() - most))
        return np.maximum(0.0, least - 2 * (size + 8) * UNIT)

    @cached_property
    def spread(self) -> float:
        """How much the floors leave to be distributed: the floors and this span a simplex that contains the set."""
        return max(0.0, math.fsum([1.0, *-self.floors]))

    @cached_property
    def fills_simplex(self) -> bool:
        """Whether that simplex is the set itself, up to rounding: the floors say all."""
        if self.size == 2 or not self.limited:
            return True
        corners = self.floors + self.spread * np.eye(self.size)
        return self.skew is None and self.respects_limits(corners)

    def support(self, value: Floats, mu: Floats | None = None) -> Floats:
        """Return an upper bound of ``max over m of <m, value>`` along the last axis, for any multipliers >= 0.

        It is tight up to rounding for the best multipliers, and without rows.
        """
        if self.limits is None or mu is None:
            return self._support(value)
        matrix, right = self.limits.matrix, self.allowed[1]
        count = len(right)
        moved = value - mu @ matrix
        moved = moved + margin(np.abs(value) + mu @ np.abs(matrix), count + 2) + LEAST
        level, price = self._support(moved), mu @ right
        return level + price + margin(np.abs(level) + mu @ np.abs(right), count + 4) + LEAST

    def useful(self, mu: Floats, value: Floats) -> Floats:
        """Return multipliers of a solver where they lower the support function, else zeros (it may stop early)."""
        mu = usable(mu)
        return np.where((self.support(value, mu) < self._support(value))[..., None], mu, 0.0)

    def _support(self, value: Floats) -> Floats:
        """Bound the products with shares that obey the skew limit."""
        skew = self.allowed[0]
        if skew is None:
            return value.max(axis=-1)
        mean = value.mean(axis=-1, keepdims=True)
        mean = mean + margin(np.abs(value).sum(axis=-1, keepdims=True), self.size)
        levels = np.concatenate([mean, np.maximum(value, mean)], axis=-1)
        excess = np.maximum(value[..., None, :] - levels[..., None], 0.0).sum(axis=-1)
        totals = levels + raised(skew * excess, self.size + 4)
        totals = totals + margin(np.abs(totals), 2)
        return np.minimum(totals.min(axis=-1), value.max(axis=-1))

    def inside(self, share: Floats) -> Floats:
        """Return shares that are non-negative, add up to one and obey the limits: shrunk towards a point inside."""
        share = np.maximum(share, 0.0)
        share = share / share.sum(axis=-1, keepdims=True)
        if self.limits is not None:
            return self.interior.moved(share)
        if self.skew is None:
            return share
        spread = np.ptp(share, axis=-1, keepdims=True)
        allowed = max(0.0, self.skew - 64 * UNIT)
        factor = np.minimum(1.0, allowed / np.maximum(spread, 1e-300))
        return 1.0 / self.size + factor * (share - 1.0 / self.size)

    def start_near(self, share: Floats) -> tuple[Floats, float]:
        """Return shares well inside the set, between uniform ones and ``share``, and a floor well below them."""
        share = share / share.sum()
        spread = float(share.max() - share.min())
        part = min(0.7, 0.5 * self.width / max(spread, 1e-300))
        inner = 1.0 / self.size + part * (share - 1.0 / self.size)
        least = float(inner.min())
        return inner, least - 0.5 * min(least, self.width - part * spread)

    def respects_limits(self, share: Floats) -> bool:
        """Whether all shares given obey the limits (to within a few roundings)."""
        if self.limits is not None and (share @ self.limits.matrix.T > self.limits.right + ROUNDING).any():
            return False
        return self.skew is None or bool((np.ptp(share, axis=-1) <= self.skew + 8 * UNIT).all())


@lru_cache(maxsize=32)
def _interior(shares: MarginalSet) -> Interior:
    """Find the point once for equal sets: a metric asks about the same one many times."""
    limits = shares.limits or Limits((), ())
    return find_interior(limits.matrix.reshape(-1, shares.size), limits.right, shares.skew)


def no_multipliers(count: int, shares: MarginalSet) -> Floats:
    """Return multipliers of zero for each of ``count`` problems: valid, and all there are without rows."""
    return np.zeros((count, shares.multipliers))


def usable(mu: Floats) -> Floats:
    """Return multipliers that any bound can take: what a solver could not find is set to zero."""
    return np.where((mu > 0) & (mu < MOST), mu, 0.0)
