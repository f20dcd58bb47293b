"""The base rates that the groups of Q may have: equal, nearly equal, or anything.

``r_sy = Q(y | s)`` is the share of label y in group s. With a tolerance ``eps`` the set is

    { r_sy >= 0,  sum_y r_sy = 1,  |r_sy - r_s'y| <= eps  for any two groups and every label },

the same as ``b_y <= r_sy <= b_y + eps`` for some ``b >= 0``. By linear-programming duality its support function is

    max over r of sum value_sy r_sy = min over nu of
        sum_s nu_s + max(0, max_y sum_s (value_sy - nu_s)) + eps sum_sy max(value_sy - nu_s, 0),

in which every nu, one number per group, gives an upper bound (docs/theory.md, "Limits on shares"). With eps = 1 there
is no condition at all, and with eps = 0 all groups share one row of label shares, which may have limits of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import LEEWAY, UNIT, margin
from fairbound.solve import saddle
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows
from fairbound.solve.shares import MarginalSet


@dataclass(frozen=True)
class BaseRates:
    """The admissible base rates of ``groups`` groups; any two differ by at most ``tolerance``, of each label.

    ``labels`` says where the common label shares lie if the tolerance is zero; otherwise it only counts the labels.
    """

    groups: int
    labels: MarginalSet
    tolerance: float

    @property
    def free(self) -> bool:
        """Whether every group may have any base rates."""
        return self.tolerance >= 1.0

    @property
    def allowed(self) -> float:
        """The tolerance that bounds hold for: equal base rates are equal, others have the leeway."""
        return self.tolerance + LEEWAY + 4 * UNIT if 0.0 < self.tolerance < 1.0 else self.tolerance

    @property
    def width(self) -> float:
        """The room that a solver may use: the tolerance, but never none at all."""
        return max(self.tolerance, 1e-7)

    def support(self, value: Floats, nu: Floats | None = None) -> Floats:
        """Bound ``max over r of sum value_sy r_sy``, rounded up, for values of shape (..., S, C).

        ``nu`` has shape (..., S); any nu is valid. Without it a good one is sought.
        """
        size = np.abs(value).sum(axis=(-2, -1))
        apart = value.max(axis=-1).sum(axis=-1)  # each group by itself: always valid, and exact if they are free
        apart = apart + margin(size, self.groups)
        if self.free:
            return apart
        if self.tolerance == 0.0:
            total = value.sum(axis=-2) + margin(np.abs(value).sum(axis=-2), self.groups)
            return self.labels.support(total)
        nu = self.multipliers(value) if nu is None else nu
        over = value - nu[..., None]
        together = np.maximum(over.sum(axis=-2).max(axis=-1), 0.0)
        beyond = np.maximum(over, 0.0).sum(axis=(-2, -1))
        total = nu.sum(axis=-1) + together + self.allowed * beyond
        size = size + (self.labels.size + 1) * np.abs(nu).sum(axis=-1)
        total = total + margin(3.0 * size, self.groups * self.labels.size + 8)
        return np.minimum(np.where(np.isfinite(total), total, np.inf), apart)

    def multipliers(self, value: Floats) -> Floats:
        """Return a nu that makes the support function's bound tight to about 1e-9, by an interior-point method."""
        if self.free or self.tolerance == 0.0:
            return value.max(axis=-1)
        flat = value.reshape(-1, self.groups, self.labels.size)
        scale = np.maximum(np.abs(flat).max(axis=(1, 2)), 1e-300)[:, None, None]
        point = saddle.solve(_LinearProgram(flat / scale, self), accuracy=1e-14)
        nu = point.local[..., -1] * scale[..., 0]
        return nu.reshape(value.shape[:-1])

    def inside(self, rate: Floats) -> Floats:
        """Return rates (..., S, C) that are non-negative, add up to one and differ by no more than the tolerance.

        They are drawn towards their mean over the groups as far as needed.
        """
        rate = np.maximum(rate, 0.0)
        total = rate.sum(axis=-1, keepdims=True)
        rate = np.where(total > 0, rate / np.where(total > 0, total, 1.0), 1.0 / self.labels.size)
        if self.free:
            return rate
        middle = rate.mean(axis=-2, keepdims=True)
        if self.tolerance == 0.0:
            return np.broadcast_to(self.labels.inside(middle), rate.shape)
        spread = np.ptp(rate, axis=-2).max(axis=-1)[..., None, None]
        allowed = max(0.0, self.tolerance - 64 * UNIT)
        return middle + np.minimum(1.0, allowed / np.maximum(spread, 1e-300)) * (rate - middle)

    def within(self, rate: Floats) -> bool:
        """Whether rates (S, C) obey the tolerance, to within rounding."""
        return self.free or float(np.ptp(rate, axis=0).max()) <= self.tolerance + 8 * UNIT

    def rows(self, size: int, place: int, wide: int, spot: int) -> tuple[Floats, Floats, Floats]:
        """Return what keeps the rates of a group inside: block, border and offset of rows for a saddle problem.

        The rates stand at ``place`` among ``size`` local variables and b at ``spot`` among ``wide`` global ones. Free
        rates need no b.
        """
        labels = self.labels.size
        block, border = np.zeros((labels, size)), np.zeros((labels, wide))
        block[:, place : place + labels] = np.eye(labels)
        if self.free:
            return block, border, np.zeros(labels)
        border[:, spot : spot + labels] = -np.eye(labels)
        return (
            np.concatenate([block, -block]),
            np.concatenate([border, -border]),
            np.r_[np.zeros(labels), np.full(labels, -self.width)],
        )

    @property
    def common(self) -> int:
        """How many global variables the rows need: b, unless the rates are free."""
        return 0 if self.free else self.labels.size

    @property
    def start(self) -> tuple[float, float]:
        """Rates and b to start from, strictly inside."""
        even = 1.0 / self.labels.size
        return even, even - 0.5 * min(even, self.width)


@dataclass(frozen=True)
class _LinearProgram:
    """Maximise ``sum value r`` over the rates, for a batch of values (N, S, C) of size one.

    Local variables: r_s1 .. r_sC, nu_s. Global: b_1 .. b_C.
    """

    value: Floats
    rates: BaseRates

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """The rates are inside, b >= 0."""
        c = self.rates.labels.size
        block, border, offset = self.rates.rows(c + 1, 0, c, 0)
        near = LocalRows(block[None, None], border[None, None], offset[None, None], -np.ones(len(offset)))
        return near, GlobalRows(np.eye(c)[None], np.zeros((1, c)), -np.ones(c))

    def start(self) -> tuple[Floats, Floats]:
        """Even rates."""
        n, s, c = self.value.shape
        rate, low = self.rates.start
        local = np.full((n, s, c + 1), rate)
        local[..., c] = 0.0
        return local, np.full((n, c), low)

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate ``sum value r + sum_s nu_s (1 - sum_y r_sy)``."""
        n, s, c = self.value.shape
        gradient = np.empty_like(local)
        gradient[..., :c] = self.value - local[..., c:]
        gradient[..., c] = 1.0 - local[..., :c].sum(axis=-1)
        block = np.zeros((c + 1, c + 1))
        block[:c, c] = block[c, :c] = -1.0
        blocks = np.broadcast_to(block, (n, s, c + 1, c + 1))
        return Derivatives(gradient, np.zeros((n, c)), blocks, np.zeros((n, s, c + 1, c)), np.zeros((n, c, c)))

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _LinearProgram:
        """Select problems."""
        return _LinearProgram(self.value[index], self.rates)
