"""The nearest distribution whose base rates differ by no more than a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import UNIT, lowered
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.nearest import INDISTINGUISHABLE
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet


@dataclass(frozen=True)
class NearestRates:
    """The nearest distribution in question: its distance, rounded up, its group shares and base rates (S, C)."""

    distance: float
    group_mass: Floats
    rate: Floats


@dataclass(frozen=True)
class _AffinitySaddle:
    """Maximise ``sum sqrt(p_sy k_s r_sy)``, jointly concave, over group shares and base rates.

    Local variables: r_s1 .. r_sC, nu_s, k_s. Global: the lower ends b_1 .. b_C of the rates, nu_k, floor_k.
    """

    root: Floats
    groups: MarginalSet
    rates: BaseRates

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """The rates are inside, k in K."""
        c, common = self.root.shape[1], self.rates.common
        size, wide = c + 2, common + 2
        block, border, offset = self.rates.rows(size, 0, wide, 0)
        own = np.eye(wide)
        block, border = np.vstack([block, np.eye(size)[-1:]]), np.vstack([border, -own[-1:]])
        offset = np.r_[offset, 0.0]
        if self.groups.skew is not None:
            block, border = np.vstack([block, -block[-1]]), np.vstack([border, -border[-1]])
            offset = np.r_[offset, -self.groups.width]
        near = LocalRows(block[None, None], border[None, None], offset[None, None], -np.ones(len(offset)))
        rest = np.vstack([own[:common], own[-1:]])
        return near, GlobalRows(rest[None], np.zeros((1, common + 1)), -np.ones(common + 1))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares and rates."""
        s, c = self.root.shape
        rate, low = self.rates.start
        local = np.full((1, s, c + 2), rate)
        local[..., c], local[..., c + 1] = 0.0, 1.0 / s
        shared = np.full((1, self.rates.common + 2), low)
        shared[:, -2], shared[:, -1] = 0.0, 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        return local, shared

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate the affinity."""
        s, c = self.root.shape
        wide = shared.shape[1]
        rate, nu, k = local[..., :c], local[..., c], local[..., c + 1]
        value = self.root * np.sqrt(k[..., None] * rate)
        gradient = np.empty_like(local)
        gradient[..., :c] = value / (2 * rate) - nu[..., None]
        gradient[..., c] = 1.0 - rate.sum(-1)
        gradient[..., c + 1] = value.sum(-1) / (2 * k) - shared[:, -2, None]
        border = np.zeros((1, wide))
        border[:, -2] = 1.0 - k.sum(1)
        block = np.zeros((1, s, c + 2, c + 2))
        diagonal(block[..., :c, :c])[...] = -value / (4 * rate * rate)
        block[..., :c, c] = block[..., c, :c] = -1.0
        block[..., :c, c + 1] = block[..., c + 1, :c] = value / (4 * rate * k[..., None])
        block[..., c + 1, c + 1] = -value.sum(-1) / (4 * k * k)
        cross = np.zeros((1, s, c + 2, wide))
        cross[..., c + 1, -2] = -1.0
        return Derivatives(gradient, border, block, cross, np.zeros((1, wide, wide)))

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _AffinitySaddle:
        """Return the problem itself."""
        return self


def nearest_rates(
    mass: Floats, groups: MarginalSet, rates: BaseRates, least: tuple[float, float] = (0.0, 0.0)
) -> NearestRates:
    """Return the distribution nearest to cell masses; their own, if they are in question (docs/theory.md, section 11).

    If rates are free those of the data are the best, and only the group shares may have to give way. Means are taken
    over something: then no share of a group, and no base rate, falls below ``least``, about the nearest there is.
    """
    root = np.sqrt(mass)
    share = mass.sum(axis=1)
    own = mass / np.where(share > 0, share, 1.0)[:, None]
    fallback = mass.sum(axis=0) / mass.sum()
    rate = np.where((share > 0)[:, None], own, fallback)  # a group without data takes the rates of all the data
    if not (groups.respects_limits(share) and rates.within(rate)):
        c = mass.shape[1]
        point, _ = solve_limited(_AffinitySaddle(root, groups, rates), (groups.term(c + 1),), accuracy=1e-15)
        share = point.local[0, :, c + 1]
        rate = rate if rates.free else point.local[0, :, :c]
    share, rate = groups.inside(np.maximum(share, least[0])), rates.inside(np.maximum(rate, least[1]))
    affinity = float(lowered((root * np.sqrt(share[:, None] * rate)).sum(), mass.size + 16))
    short = 1.0 - affinity
    distance = 0.0 if short < INDISTINGUISHABLE else float(np.sqrt(short) * (1 + 8 * UNIT))
    return NearestRates(distance, share, rate)
