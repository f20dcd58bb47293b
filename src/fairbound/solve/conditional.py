"""Means given the group: one convex program, for any values and ceilings (docs/metrics.md).

With multipliers ``theta`` (one per cell, at least the ceiling), ``lam`` of the ball, row values v and fixed shares
``part`` of the parts of the labels (one part: share 1), the largest value is

    min over theta, lam  max over k in K, r in R  of
        sum_sy r_y theta_sy - 2 lam tau + lam^2 sum_i k_s part_y p_i E_i[ 1 / (theta_i - v) ],

where r are label shares within their parts, and R what limits leave of them at these shares of the parts. It is
convex in (theta, lam) and linear in k and in r, so that neither the ceilings have to agree, nor is a search needed.
Each atom's term is written as ``max over x of 2 lam sqrt(part p) x - x^2 (theta - v) / k``: ``part x^2`` is the mass
that the worst Q gives to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MOST, MarginalSet, no_multipliers, usable


@dataclass(frozen=True)
class ConditionalSaddle:
    """A batch of these programs: ``root`` = sqrt(part p) and ``value`` (N, S, C, J), ``ceiling`` (N, S, C).

    Local variables: theta_s1 .. theta_sC, k_s. Global: lam, nu_k, floor_k (with a limit on the groups), floor_r (with
    one on the labels), the shares r_y, which add up to ``part`` (N, parts) in each part, and nu of each part. A part of
    one label has neither, unless labels are limited. ``cap`` limits lam, so that programs that no distribution
    satisfies stay bounded; any multipliers will do.
    """

    root: Floats
    value: Floats
    ceiling: Floats
    tau: Floats
    cutoff: Floats
    cap: Floats
    part: Floats
    parts: tuple[tuple[int, ...], ...]
    groups: MarginalSet
    labels: MarginalSet

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (problems, groups, labels)."""
        return self.root.shape[0], self.root.shape[1], self.root.shape[2]

    @cached_property
    def shares(self) -> tuple[Integers, slice]:
        """The labels whose shares are variables, and where they stand among the globals, in the order of the labels."""
        limited = len(self.parts) > 1 and self.labels.limited
        labels = np.sort([y for part in self.parts if limited or len(part) > 1 for y in part]).astype(np.int64)
        first = 2 + (self.groups.skew is not None) + (self.labels.skew is not None)
        return labels, slice(first, first + len(labels))

    @cached_property
    def free(self) -> list[tuple[Integers, Integers, int, int]]:
        """The parts whose shares are variables: labels, where their shares and their nu stand, and which part it is."""
        labels, place = self.shares
        found: list[tuple[Integers, Integers, int, int]] = []
        for number, part in enumerate(self.parts):
            if part[0] in labels:
                at = place.start + np.searchsorted(labels, part)
                found.append((np.array(part), at, place.stop + len(found), number))
        return found

    @cached_property
    def _size(self) -> int:
        """How many global variables there are."""
        return self.shares[1].stop + len(self.free)

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Theta >= ceiling, k in K; 0 <= lam <= cap, r in R."""
        n, s, c = self.shape
        local, own = np.eye(c + 1), np.eye(self._size)
        border = np.zeros((c + 1, self._size))
        offset = np.concatenate([self.ceiling, np.zeros((n, s, 1))], axis=2)
        sign = np.r_[np.ones(c), -1.0]
        rest, least = np.stack([own[0], -own[0]]), np.stack([np.zeros(n), -self.cap], axis=1)
        if self.groups.skew is not None:  # 0 <= floor_k <= k_s <= floor_k + g
            border[c] = -own[2]
            local, border = np.vstack([local, -local[c]]), np.vstack([border, -border[c]])
            offset = np.concatenate([offset, np.full((n, s, 1), -self.groups.width)], axis=2)
            sign = np.r_[sign, -1.0]
            rest, least = np.vstack([rest, own[2]]), np.hstack([least, np.zeros((n, 1))])
        shares = own[self.shares[1]]
        if self.labels.skew is not None:
            floor = own[2 + (self.groups.skew is not None)]
            rest = np.vstack([rest, floor, shares - floor, floor - shares])
            least = np.hstack([least, np.zeros((n, 1 + len(shares))), np.full((n, len(shares)), -self.labels.width)])
        else:
            rest, least = np.vstack([rest, shares]), np.hstack([least, np.zeros((n, len(shares)))])
        return (
            LocalRows(local[None, None], border[None, None], offset, sign),
            GlobalRows(rest[None], least, np.r_[1.0, 1.0, -np.ones(len(rest) - 2)]),
        )

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares, multipliers a unit above the ceilings."""
        n, s, c = self.shape
        local = np.concatenate([self.ceiling + 1.0, np.full((n, s, 1), 1.0 / s)], axis=2)
        shared = np.zeros((n, self._size))
        if self.groups.skew is not None:
            shared[:, 2] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        if self.labels.skew is not None:
            shared[:, 2 + (self.groups.skew is not None)] = 1.0 / c - 0.5 * min(1.0 / c, self.labels.width)
        for labels, at, _, _ in self.free:
            shared[:, at] = 1.0 / (c if self.labels.limited else len(labels))
        pull = self.root**2 / (local[..., :c, None] - self.value)
        shared[:, 0] = np.minimum((self.tau + 0.01) * s / pull.sum(axis=(1, 2, 3)), 0.5 * self.cap)
        return local, shared

    def within(self, shared: Floats) -> Floats:
        """Return the label shares within their parts."""
        share = np.ones((len(shared), self.shape[2]))
        for labels, at, _, number in self.free:
            share[:, labels] = shared[:, at] / self.part[:, number, None]
        return share

    def _depth(self, local: Floats) -> tuple[Floats, Floats]:
        """Return theta - v, and k with the axes of the atoms."""
        c = self.shape[2]
        return local[..., :c, None] - self.value, local[..., c, None, None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam sqrt(part p) k / (theta - v)."""
        depth, k = self._depth(local)
        return shared[:, 0, None, None, None] * self.root * k / depth + 1e-12

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate, with x eliminated."""
        n, s, c = self.shape
        size = self._size
        depth, k = self._depth(local)
        lam, flat = shared[:, 0, None, None, None], k[..., 0]
        inverse = 1.0 / depth
        pull = self.root * inverse  # times k: what one unit of lam adds to x
        square = inner * inner
        mass = 2.0 * lam * (pull * k) * inner - square  # x^2 to first order in the distance from the best x
        slope = (pull * inner).sum(-1)
        squares = square.sum(-1)

        g_local = np.empty((n, s, c + 1))
        g_local[..., :c] = self.within(shared)[:, None] - mass.sum(-1) / flat
        g_local[..., c] = (mass * depth).sum((-1, -2)) / local[..., c] ** 2 - shared[:, 1, None]
        g_glob = np.zeros((n, size))
        g_glob[:, 0] = 2.0 * ((lam * pull * k * self.root).sum((1, 2, 3)) - self.tau)
        g_glob[:, 1] = 1.0 - local[..., c].sum(1)
        local_local = np.zeros((n, s, c + 1, c + 1))
        diagonal(local_local[..., :c, :c])[...] = 2.0 * (square * inverse).sum(-1) / flat
        local_local[..., :c, c] = local_local[..., c, :c] = -squares / flat**2
        local_glob = np.zeros((n, s, c + 1, size))
        local_glob[..., :c, 0] = -2.0 * slope
        local_glob[..., c, 0] = 2.0 * (self.root * inner).sum((-1, -2)) / local[..., c]
        local_glob[..., c, 1] = -1.0
        corner = np.zeros((n, size, size))
        corner[:, 0, 0] = 2.0 * (self.root * pull * k).sum((1, 2, 3))
        for labels, at, nu, number in self.free:
            part = self.part[:, number, None]
            g_glob[:, at] = local[..., labels].sum(1) / part - shared[:, nu, None]
            g_glob[:, nu] = part[:, 0] - shared[:, at].sum(1)
            local_glob[:, :, labels, at] = 1.0 / part[..., None]
            corner[:, at, nu] = corner[:, nu, at] = -1.0
        return Derivatives(g_local, g_glob, local_local, local_glob, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, x = at
        c = self.shape[2]
        depth, k = self._depth(local)
        d_theta, d_k = step[0][..., :c, None], step[0][..., c, None, None]
        lam, d_lam = shared[:, 0, None, None, None], step[1][:, 0, None, None, None]
        return ((lam + d_lam) * self.root * k - x * d_theta) / depth + x * d_k / k - x

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Compare the bound (here without care for rounding) with what is enough."""
        if self.groups.limited or self.labels.limited or not np.isfinite(self.cutoff).any():
            return np.zeros(len(shared), dtype=bool)
        depth, _ = self._depth(local)
        total = (self.root**2 / depth).sum(axis=(2, 3)).max(axis=1)
        level = local[..., : self.shape[2]].sum(axis=1)
        top = np.sum([level[:, part].max(axis=1) for part in self.parts], axis=0)
        settled: Booleans = top - self.tau**2 / total < self.cutoff
        return settled

    def take(self, index: Integers) -> ConditionalSaddle:
        """Select problems."""
        return replace(
            self,
            root=self.root[index],
            value=self.value[index],
            ceiling=self.ceiling[index],
            tau=self.tau[index],
            cutoff=self.cutoff[index],
            cap=self.cap[index],
            part=self.part[index],
        )


@dataclass(frozen=True)
class ConditionalSolution:
    """Multipliers (theta of shape (N, S, C), lam, those of the limits) and the shares; label shares within parts.

    ``omega`` (N, C) says what limits on labels do to the labels of parts: zero if there are none.
    """

    theta: Floats
    lam: Floats
    group_share: Floats
    within: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats


def solve_conditional(problem: ConditionalSaddle, accuracy: float) -> ConditionalSolution:
    """Solve a batch."""
    c = problem.shape[2]
    labels, place = problem.shares
    # Where limits on labels can bind, all shares are variables.
    limited = problem.labels.limited and len(labels) == c
    terms = (problem.groups.term(c), *([problem.labels.term(place)] if limited else []))
    point, mus = solve_limited(problem, terms, accuracy=accuracy)
    theta, lam = np.maximum(point.local[..., :c], problem.ceiling), point.shared[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        group_mu = usable(mus[0] / lam[:, None] ** 2)
    summed, omega = theta.sum(axis=1), np.zeros((len(lam), c))
    if limited and len(problem.parts) > 1:
        for part, _, nu, number in problem.free:
            omega[:, part] = summed[:, part] / problem.part[:, number, None] - point.shared[:, nu, None]
        omega = np.where(np.abs(omega) < MOST, omega, 0.0)
    level = summed if len(problem.parts) == 1 else omega
    label_mu = problem.labels.useful(mus[1], level) if limited else no_multipliers(len(lam), problem.labels)
    return ConditionalSolution(theta, lam, point.local[..., c], problem.within(point.shared), group_mu, label_mu, omega)
