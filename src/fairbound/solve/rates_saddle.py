"""The convex programs behind base rates that may differ: with free group shares, or with given ones.

With ``D = ceiling - loss``, multipliers ``phi_sy >= 0`` (one per cell) and ``lam`` (of the ball), base rates r and
group shares k,

    min over phi, lam  max over r, k  of
        <top, k> + sum_sy r_sy phi_sy - 2 lam tau + lam^2 sum_i p_i E_i[ k_s / (k_s D + phi_i) ]

where one ceiling ``top_s`` serves all cells of a group, or, for given k and ceilings ``c_sy`` of each cell,

    min over phi, lam  max over r  of  sum_sy r_sy (phi_sy + k_s c_sy) - 2 lam tau + the same sum.

Both are convex in (phi, lam) and concave in (r, k): docs/theory.md, section 11. Each atom's term is written as
``max over x of 2 lam sqrt(p) x - x^2 (D + phi / k)``, as in :mod:`fairbound.solve.general_saddle`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve import saddle
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet


@dataclass(frozen=True)
class RatesSaddle:
    """A batch of these programs; losses in units of the largest ceiling.

    ``root`` is the square root of the class probabilities and ``deficit`` is D, both of shape (S, C, J). ``ceiling`` is
    (S, C). ``share`` holds the given group shares (N, S), all positive, or None if they are to be found. ``cap`` limits
    lam, which keeps the program bounded where no r reaches the ball.

    Local variables: phi_s1 .. phi_sC, r_s1 .. r_sC, nu_s and, if they are to be found, k_s. Global: lam, the lower ends
    b_1 .. b_C of the rates (not if they are free) and, with k, nu_k, floor_k.
    """

    root: Floats
    deficit: Floats
    ceiling: Floats
    tau: Floats
    cap: Floats
    rates: BaseRates
    groups: MarginalSet
    share: Floats | None = None

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Return (problems, groups, labels, local variables, global variables)."""
        s, c, _ = self.root.shape
        found = self.share is None
        return len(self.tau), s, c, 2 * c + 1 + found, 1 + self.rates.common + 2 * found

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Phi >= 0, rates and shares inside; 0 <= lam <= cap."""
        n, _, c, size, wide = self.shape
        block, border, offset = self.rates.rows(size, c, wide, 1)
        block, border = np.vstack([np.eye(size)[:c], block]), np.vstack([np.zeros((c, wide)), border])
        offset = np.r_[np.zeros(c), offset]
        own = np.eye(wide)
        rest = [own[0], -own[0], *own[1 : 1 + self.rates.common]]
        if self.share is None:
            block, border = np.vstack([block, np.eye(size)[-1:]]), np.vstack([border, -own[-1:]])  # k_s >= floor_k
            offset, rest = np.r_[offset, 0.0], [*rest, own[-1]]
            if self.groups.skew is not None:  # k_s <= floor_k + g
                block, border = np.vstack([block, -block[-1]]), np.vstack([border, -border[-1]])
                offset = np.r_[offset, -self.groups.width]
        sign = np.r_[np.ones(c), -np.ones(len(offset) - c)]
        near = LocalRows(block[None, None], border[None, None], offset[None, None], sign)
        limits = np.zeros((n, len(rest)))
        limits[:, 1] = -self.cap
        return near, GlobalRows(np.array(rest)[None], limits, np.r_[1.0, 1.0, -np.ones(len(rest) - 2)])

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares and rates, multipliers of the size of the ceiling."""
        n, s, c, size, wide = self.shape
        rate, low = self.rates.start
        local = np.full((n, s, size), 1.0 / s)
        if self.share is not None:
            local[..., :c] = self.share[..., None]
        local[..., c : 2 * c] = rate
        local[..., 2 * c] = 0.0
        shared = np.full((n, wide), low)
        affinity = (self.root**2 / (self.deficit + 1.0)).sum()
        shared[:, 0] = np.minimum((self.tau + 0.01) / affinity, 0.5 * self.cap)
        if self.share is None:
            shared[:, -2], shared[:, -1] = 0.0, 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        return local, shared

    def _split(self, local: Floats, shared: Floats) -> tuple[Floats, Floats, Floats]:
        """Return phi, lam and k, with axes to go with atoms or cells."""
        c = self.shape[2]
        k = local[..., -1:] if self.share is None else self.share[..., None]
        return local[..., :c], shared[:, 0, None, None, None], k

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam sqrt(p) / (D + phi / k)."""
        phi, lam, k = self._split(local, shared)
        return lam * self.root / (self.deficit + (phi / k)[..., None]) + 1e-12

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; the sums over atoms are all of the work."""
        n, s, c, size, wide = self.shape
        phi, lam, k = self._split(local, shared)
        rate, nu = local[..., c : 2 * c], local[..., 2 * c]
        ratio, per = phi / k, 1.0 / k
        inverse = 1.0 / (self.deficit + ratio[..., None])
        squared, pull = inner * inner, self.root * inverse
        curved = squared * inverse
        squared_sum, curve_sum, slope_sum = squared.sum(-1), curved.sum(-1), (pull * inner).sum(-1)
        overlap = (pull * self.root).sum((1, 2, 3))
        mass = 2.0 * lam[..., 0] * slope_sum - squared_sum  # x^2 to first order in the distance from the best x
        square = per * per

        g_local, g_glob = np.empty((n, s, size)), np.zeros((n, wide))
        g_local[..., :c] = rate - mass * per
        g_local[..., c : 2 * c] = phi - nu[..., None]
        g_local[..., 2 * c] = 1.0 - rate.sum(-1)
        g_glob[:, 0] = 2.0 * (shared[:, 0] * overlap - self.tau)

        local_local, local_glob = np.zeros((n, s, size, size)), np.zeros((n, s, size, wide))
        diagonal(local_local[..., :c, :c])[...] = 2.0 * curve_sum * square
        diagonal(local_local[..., :c, c : 2 * c])[...] = 1.0
        diagonal(local_local[..., c : 2 * c, :c])[...] = 1.0
        local_local[..., c : 2 * c, 2 * c] = local_local[..., 2 * c, c : 2 * c] = -1.0
        local_glob[..., :c, 0] = -2.0 * slope_sum * per
        corner = np.zeros((n, wide, wide))
        corner[:, 0, 0] = 2.0 * overlap
        if self.share is not None:
            g_local[..., c : 2 * c] += k * self.ceiling
        else:
            g_local[..., -1] = self.ceiling[:, 0] + (mass * ratio * per).sum(-1) - shared[:, -2, None]
            g_glob[:, -2] = 1.0 - k.sum((1, 2))
            cross = (squared_sum - 2.0 * curve_sum * ratio) * square
            local_local[..., :c, -1] = local_local[..., -1, :c] = cross
            local_local[..., -1, -1] = -2.0 * (ratio * (curved * self.deficit).sum(-1) * square).sum(-1)
            local_glob[..., -1, 0] = 2.0 * (slope_sum * ratio * per).sum(-1)
            local_glob[..., -1, -2] = -1.0
        return Derivatives(g_local, g_glob, local_local, local_glob, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, x = at
        phi, lam, k = self._split(local, shared)
        d_phi, d_lam, d_k = self._split(*step)
        d_ratio = d_phi / k
        if self.share is None:
            d_ratio = d_ratio - phi * d_k / k**2
        gap = self.deficit + (phi / k)[..., None]
        return (self.root * (d_lam + lam) - x * d_ratio[..., None]) / gap - x

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> RatesSaddle:
        """Select problems."""
        share = None if self.share is None else self.share[index]
        return replace(self, tau=self.tau[index], cap=self.cap[index], share=share)


@dataclass(frozen=True)
class RatesSolution:
    """Multipliers phi (N, S, C), nu (N, S) and lam (N,), the rates and the group shares that go with them."""

    phi: Floats
    nu: Floats
    lam: Floats
    rate: Floats
    share: Floats

    def take(self, index: Integers | Booleans) -> RatesSolution:
        """Select problems."""
        return RatesSolution(self.phi[index], self.nu[index], self.lam[index], self.rate[index], self.share[index])


def solve_rates(problem: RatesSaddle, accuracy: float) -> RatesSolution:
    """Solve a batch."""
    c = problem.shape[2]
    point = saddle.solve(problem, accuracy=accuracy)
    share = point.local[..., -1] if problem.share is None else problem.share
    phi, rate, nu = point.local[..., :c], point.local[..., c : 2 * c], point.local[..., 2 * c]
    return RatesSolution(phi, nu, point.shared[:, 0], rate, share)
