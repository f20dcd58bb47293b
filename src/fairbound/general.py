"""General shifting with a common ceiling: one convex program for any number of groups and labels.

With ``D = M - loss`` and multipliers ``phi >= 0`` (one per cell) and ``lam`` (of the ball),

    cert = M + min over phi, lam  max over k in K, r in R   of
           sum_s k_s sum_y phi_sy - 2 lam tau + lam^2 sum_i p_i E_i[ r_y / (r_y D + phi_i) ],

which is convex in (phi, lam) and concave in (k, r): docs/theory.md, section 3. Each atom's term is written as
``max over x of 2 lam sqrt(p) x - x^2 (D + phi / r)``: x^2 is the mass that the worst Q gives to the atom, and keeping
x as a variable of its own makes Newton's method far more robust than substituting it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arrays import Booleans, Floats, Integers
from fairbound.limited import solve_limited
from fairbound.marginals import MarginalSet, usable
from fairbound.saddle import Derivatives, GlobalRows, LocalRows, diagonal


@dataclass(frozen=True)
class GeneralSaddle:
    """A batch of these programs that differ in ``tau`` only; losses in units of the ceiling.

    ``root`` is the square root of the class probabilities and ``deficit`` is D, both of shape (S, C, J).
    Local variables: phi_s1 .. phi_sC, k_s. Global: lam, r_1 .. r_C, nu_k, nu_r, floor_k, floor_r.
    """

    root: Floats
    deficit: Floats
    tau: Floats
    groups: MarginalSet
    labels: MarginalSet

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return (problems, groups, labels, global variables)."""
        s, c, _ = self.root.shape
        return len(self.tau), s, c, c + 5

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Phi >= 0, k in K; lam >= 0, r in R."""
        _, _, c, size = self.shape
        local = np.eye(c + 1)
        border = np.zeros((c + 1, size))
        border[c, c + 3] = -1.0  # k_s >= floor_k
        offset = np.zeros(c + 1)
        sign = np.r_[np.ones(c), -1.0]
        if self.groups.skew is not None:  # k_s <= floor_k + g
            local = np.vstack([local, -local[c]])
            border = np.vstack([border, -border[c]])
            offset, sign = np.r_[offset, -self.groups.width], np.r_[sign, -1.0]
        near = LocalRows(local[None, None], border[None, None], offset[None, None], sign)

        labels = np.zeros((c, size))
        labels[np.arange(c), 1 + np.arange(c)] = 1.0
        labels[:, c + 4] = -1.0  # r_y >= floor_r
        single = np.eye(size)[[0, c + 3, c + 4]]
        rest = np.vstack([single, labels])
        offset, sign = np.zeros(len(rest)), np.r_[1.0, -np.ones(len(rest) - 1)]
        if self.labels.skew is not None:
            rest = np.vstack([rest, -labels])
            offset, sign = np.r_[offset, np.full(c, -self.labels.width)], np.r_[sign, -np.ones(c)]
        return near, GlobalRows(rest[None], offset[None], sign)

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares, multipliers of the size of the ceiling."""
        n, s, c, size = self.shape
        local = np.full((n, s, c + 1), 1.0 / c)
        local[..., c] = 1.0 / s
        glob = np.zeros((n, size))
        glob[:, 1 : c + 1] = 1.0 / c
        glob[:, c + 3] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        glob[:, c + 4] = 1.0 / c - 0.5 * min(1.0 / c, self.labels.width)
        glob[:, 0] = (self.tau + 0.01) / (self.root**2 / (self.deficit + 1.0)).sum()
        return local, glob

    def _split(self, local: Floats, glob: Floats) -> tuple[Floats, Floats, Floats]:
        c = self.shape[2]
        return local[..., :c], glob[:, 0, None, None, None], glob[:, None, 1 : c + 1]

    def inner(self, local: Floats, glob: Floats) -> Floats:
        """Return x = lam sqrt(p) / (D + phi / r)."""
        phi, lam, r = self._split(local, glob)
        return lam * self.root / (self.deficit + (phi / r)[..., None]) + 1e-12

    def derivatives(self, local: Floats, glob: Floats, inner: Floats) -> Derivatives:
        """Differentiate; the sums over atoms are all of the work."""
        n, s, c, size = self.shape
        phi, lam, r = self._split(local, glob)
        k = local[..., c]
        ratio, per = phi / r, 1.0 / r
        inverse = 1.0 / (self.deficit + ratio[..., None])
        squared, pull = inner * inner, self.root * inverse
        curved = squared * inverse
        squared_sum, curve_sum, slope_sum = squared.sum(-1), curved.sum(-1), (pull * inner).sum(-1)
        overlap = (pull * self.root).sum((1, 2, 3))
        mass = 2.0 * lam[..., 0] * slope_sum - squared_sum  # x^2 to first order in the distance from the best x

        g_local = np.empty((n, s, c + 1))
        g_local[..., :c] = k[..., None] - mass * per
        g_local[..., c] = phi.sum(-1) - glob[:, c + 1, None]
        g_glob = np.zeros((n, size))
        g_glob[:, 0] = 2.0 * (glob[:, 0] * overlap - self.tau)
        g_glob[:, 1 : c + 1] = (mass * ratio * per).sum(1) - glob[:, c + 2, None]
        g_glob[:, c + 1] = 1.0 - k.sum(1)
        g_glob[:, c + 2] = 1.0 - glob[:, 1 : c + 1].sum(1)

        square = per * per
        local_local = np.zeros((n, s, c + 1, c + 1))
        diagonal(local_local[..., :c, :c])[...] = 2.0 * curve_sum * square
        local_local[..., :c, c] = local_local[..., c, :c] = 1.0
        local_glob = np.zeros((n, s, c + 1, size))
        local_glob[..., :c, 0] = -2.0 * slope_sum * per
        diagonal(local_glob[..., :c, 1 : c + 1])[...] = (squared_sum - 2.0 * curve_sum * ratio) * square
        local_glob[..., c, c + 1] = -1.0
        corner = np.zeros((n, size, size))
        corner[:, 0, 0] = 2.0 * overlap
        corner[:, 0, 1 : c + 1] = corner[:, 1 : c + 1, 0] = 2.0 * (slope_sum * ratio * per).sum(1)
        bent = ratio * (curved * self.deficit).sum(-1) * square
        diagonal(corner[:, 1 : c + 1, 1 : c + 1])[...] = -2.0 * bent.sum(1)
        corner[:, 1 : c + 1, c + 2] = corner[:, c + 2, 1 : c + 1] = -1.0
        return Derivatives(g_local, g_glob, local_local, local_glob, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, glob, x = at
        phi, lam, r = self._split(local, glob)
        d_phi, d_lam, d_r = self._split(*step)
        ratio, d_ratio = phi / r, d_phi / r - phi * d_r / r**2
        return (self.root * (d_lam + lam) - x * d_ratio[..., None]) / (self.deficit + ratio[..., None]) - x

    def settled(self, local: Floats, glob: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(glob), dtype=bool)

    def take(self, index: Integers) -> GeneralSaddle:
        """Select problems."""
        return replace(self, tau=self.tau[index])


@dataclass(frozen=True)
class GeneralSolution:
    """Multipliers (phi of shape (N, S, C), r, lam, those of the limits) and the shares k; unit ceiling."""

    phi: Floats
    lam: Floats
    group_share: Floats
    label_share: Floats
    level_mu: Floats
    share_mu: Floats


def solve_general(problem: GeneralSaddle, accuracy: float) -> GeneralSolution:
    """Solve a batch."""
    c = problem.shape[2]
    terms = problem.groups.term(c), problem.labels.term(slice(1, c + 1))
    point, (level_mu, share_mu) = solve_limited(problem, terms, accuracy=accuracy)
    phi, lam = point.local[..., :c], point.glob[:, 0]
    mus = problem.groups.useful(level_mu, phi.sum(axis=2)), usable(share_mu / lam[:, None] ** 2)
    return GeneralSolution(phi, lam, point.local[..., c], point.glob[:, 1 : c + 1], *mus)
