"""Means given the group at given shares of the parts of the labels: one convex program, for any values and ceilings.

With multipliers ``theta`` (one per cell, at least the ceiling), ``lam`` of the ball and row values v, the largest value
is

    min over theta, lam  max over k, u, r  of
        sum_sy r_sy theta_sy - 2 lam tau + lam^2 sum_i w_i p_i E_i[ 1 / (theta_i - v) ],

where r are label shares within their parts and ``w_i`` is what the cell's part has of its group's mass: ``k_s`` if the
mean is over all labels, else ``u_s`` for the first part and ``k_s - u_s`` for the second. In question are

    equal base rates:   the same r in all groups, and ``u_s = x k_s`` with the given share x;
    nearly equal ones:  over all labels, rates r in the set of :class:`fairbound.solve.base_rates.BaseRates`; over two
                        parts ``x k_s <= u_s <= (x + e) k_s``, and any shares r within parts of several labels.

It is convex in (theta, lam) and concave in (k, u, r), so that neither the ceilings have to agree, nor is a search
needed (docs/theory.md, "Means"). Each atom's term is written as
``max over z of 2 lam sqrt(p) z - z^2 (theta - v) / w``: z^2 is the mass that the worst Q gives to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.rows import Rows
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MOST, MarginalSet, no_multipliers, usable


@dataclass(frozen=True)
class MeansSaddle:
    """A batch of these programs: ``root`` = sqrt(p) and ``value`` (N, S, C, J), ``ceiling`` (N, S, C).

    ``part`` (N, parts) are the shares of the parts (with a tolerance, what the first has at least in every group).
    ``cutoff``: a bound below it is enough. ``cap`` limits lam, so that programs that no distribution satisfies stay
    bounded; any multipliers will do.

    Local variables: theta_s1 .. theta_sC; unless base rates are equal the shares r of labels in parts of several and nu
    of each such part, and with two parts u_s; k_s. Global: lam, nu_k, floor_k (with a skew limit on the groups); for
    equal base rates floor_r (with one on the labels), the shares r_y of the labels in parts of several (or of all
    labels, if limits act on them) which add up to the share of the part, and nu of each; else the lower ends b_1 .. b_C
    of the rates (one part, not free ones).
    """

    root: Floats
    value: Floats
    ceiling: Floats
    tau: Floats
    part: Floats
    cutoff: Floats
    cap: Floats
    parts: tuple[tuple[int, ...], ...]
    rates: BaseRates
    groups: MarginalSet

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (problems, groups, labels)."""
        return self.root.shape[0], self.root.shape[1], self.root.shape[2]

    @cached_property
    def equal(self) -> bool:
        """Whether all groups have the same base rates."""
        return self.rates.tolerance == 0.0

    @cached_property
    def limited(self) -> bool:
        """Whether limits act on the shares of labels, not only on those of parts."""
        labels = self.rates.labels
        return self.equal and labels.limited and (len(self.parts) == 1 or labels.size > 2)

    @cached_property
    def free(self) -> list[Integers]:
        """The parts whose labels have shares that are variables; of a single label the share within its part is one."""
        limited = self.limited and len(self.parts) > 1
        return [np.array(part) for part in self.parts if limited or len(part) > 1]

    @cached_property
    def _labels(self) -> Integers:
        """The labels in these parts, in the order of the labels."""
        return np.sort(np.concatenate([*self.free, np.zeros(0, dtype=np.int64)])).astype(np.int64)

    @cached_property
    def _split(self) -> bool:
        """Whether the parts' shares differ between groups."""
        return not self.equal and len(self.parts) == 2

    @cached_property
    def _sizes(self) -> tuple[int, int, int, int]:
        """Return the numbers of local and of global variables, and where the rates (and their lower ends) stand."""
        own = len(self._labels) + len(self.free)
        local = self.shape[2] + (0 if self.equal else own) + self._split + 1
        spot = 2 + (self.groups.skew is not None) + (self.limited and self.rates.labels.skew is not None)
        common = self.rates.common if len(self.parts) == 1 and self.free else 0
        return local, spot + (own if self.equal else common), self.shape[2] if not self.equal else spot, spot

    @cached_property
    def rate_place(self) -> slice:
        """Where the labels' shares stand, among the global variables for equal base rates, else among the local."""
        start = self._sizes[2]
        return slice(start, start + len(self._labels))

    @cached_property
    def _weights(self) -> Floats:
        """How each cell's w depends on the variables (u, k), or on k alone: shape (C, 2 or 1)."""
        weight = np.ones((self.shape[2], 1 + self._split))
        if self._split:
            weight[list(self.parts[0])] = 1.0, 0.0
            weight[list(self.parts[1])] = -1.0, 1.0
        return weight

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Theta >= ceiling, rates and shares inside; 0 <= lam <= cap."""
        n, s, c = self.shape
        size, wide, place, spot = self._sizes
        own, far = np.eye(size), np.eye(wide)
        block, border, least = [own[:c]], [np.zeros((c, wide))], [np.zeros(0)]
        if not self.equal:
            parts = (
                own[place : place + len(self._labels)],
                np.zeros((len(self._labels), wide)),
                np.zeros(len(self._labels)),
            )
            if wide > spot:
                parts = self.rates.rows(size, place, wide, spot)
            block, border, least = [*block, parts[0]], [*border, parts[1]], [*least, parts[2]]
        floor = far[2] if self.groups.skew is not None else np.zeros(wide)
        block, border, least = [*block, own[-1:]], [*border, -floor[None]], [*least, np.zeros(1)]
        if self.groups.skew is not None:  # floor_k <= k_s <= floor_k + g
            block, border, least = [*block, -own[-1:]], [*border, floor[None]], [*least, np.full(1, -self.groups.width)]
        table = np.broadcast_to(np.concatenate(block), (n, sum(map(len, block)), size))
        if self._split:
            u, k, low = own[-2], own[-1], self.part[:, :1]
            high = np.minimum(low + self.rates.width, 1.0)
            table = np.concatenate([table, np.stack([u - low * k, high * k - u], axis=1)], axis=1)
            border, least = [*border, np.zeros((2, wide))], [*least, np.zeros(2)]
        limits = np.concatenate(least)
        offset = np.concatenate([self.ceiling, np.broadcast_to(limits, (n, s, len(limits)))], axis=2)
        near = LocalRows(
            table[:, None], np.concatenate(border)[None, None], offset, np.r_[np.ones(c), -np.ones(len(limits))]
        )
        return near, self._far(far)

    def _far(self, own: Floats) -> GlobalRows:
        """Return the rows of the global variables."""
        n, labels = len(self.tau), self.rates.labels
        rest, least = [own[:1], -own[:1]], [np.zeros((n, 1)), -self.cap[:, None]]
        shares = [own[2:3]] if self.groups.skew is not None else []
        if not self.equal:
            shares.append(own[self._sizes[3] :])
        elif self.limited and labels.skew is not None:
            floor = own[self._sizes[3] - 1]
            shares += [floor[None], own[self.rate_place] - floor]
        else:
            shares.append(own[self.rate_place])
        count = sum(map(len, shares))
        rest, least = [*rest, *shares], [*least, np.zeros((n, count))]
        if self.limited and labels.skew is not None:
            rest.append(floor - own[self.rate_place])
            least.append(np.full((n, len(self._labels)), -labels.width))
        border = np.concatenate(rest)
        return GlobalRows(border[None], np.concatenate(least, axis=1), np.r_[1.0, 1.0, -np.ones(len(border) - 2)])

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares, multipliers a unit above the ceilings."""
        n, s, c = self.shape
        size, wide, place, spot = self._sizes
        local, shared = np.zeros((n, s, size)), np.zeros((n, wide))
        local[..., :c] = self.ceiling + 1.0
        local[..., -1] = 1.0 / s
        if self._split:
            low = self.part[:, :1]
            local[..., -2] = 0.5 * (low + np.minimum(low + self.rates.width, 1.0)) / s
        if self.groups.skew is not None:
            shared[:, 2] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        for part in self.free:
            at = place + np.searchsorted(self._labels, part)
            if self.equal:
                shared[:, at] = 1.0 / (c if self.limited else len(part))
            else:
                local[..., at] = 1.0 / len(part)
        if self.limited and self.rates.labels.skew is not None:
            shared[:, spot - 1] = 1.0 / c - 0.5 * min(1.0 / c, self.rates.labels.width)
        elif not self.equal:
            shared[:, spot:] = self.rates.start[1]
        pull = self.root**2 / (local[..., :c, None] - self.value)
        shared[:, 0] = np.minimum((self.tau + 0.01) * s / pull.sum(axis=(1, 2, 3)), 0.5 * self.cap)
        return local, shared

    def within(self, local: Floats, shared: Floats) -> Floats:
        """Return the label shares within their parts, (N, 1 or S, C)."""
        n, s, c = self.shape
        share = np.ones((n, 1 if self.equal else s, c))
        for part, number in self._numbered:
            at = self._sizes[2] + np.searchsorted(self._labels, part)
            if self.equal:
                share[:, 0, part] = shared[:, at] / self._sums[:, number, None]
            else:
                share[..., part] = local[..., at]
        return share

    @cached_property
    def _numbered(self) -> list[tuple[Integers, int]]:
        """The free parts, and which parts they are."""
        return [(part, number) for part in self.free for number, own in enumerate(self.parts) if own[0] == part[0]]

    @cached_property
    def _sums(self) -> Floats:
        """What the shares of the parts' labels add up to, (N, parts): where they are limited those of the parts."""
        return self.part if self.limited and len(self.parts) > 1 else np.ones_like(self.part)

    def _depth(self, local: Floats) -> tuple[Floats, Floats]:
        """Return theta - v and w, with the axes of the atoms."""
        w = local[..., -self._weights.shape[1] :] @ self._weights.T
        return local[..., : self.shape[2], None] - self.value, w[..., None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return z = lam sqrt(p) w / (theta - v)."""
        depth, w = self._depth(local)
        return shared[:, 0, None, None, None] * self.root * w / depth + 1e-12

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate, with z eliminated; first by w, which is linear in the variables."""
        n, s, c = self.shape
        size, wide, _, _ = self._sizes
        depth, w = self._depth(local)
        lam, flat, weight = shared[:, 0, None, None, None], w[..., 0], self._weights
        inverse = 1.0 / depth
        pull = self.root * inverse  # times w: what one unit of lam adds to z
        square = inner * inner
        mass = 2.0 * lam * (pull * w) * inner - square  # z^2 to first order in the distance from the best z
        last = slice(size - weight.shape[1], size)
        g_local, g_glob = np.zeros((n, s, size)), np.zeros((n, wide))
        g_local[..., :c] = self.within(local, shared) - mass.sum(-1) / flat
        g_local[..., last] = ((mass * depth).sum(-1) / flat**2) @ weight
        g_local[..., -1] -= shared[:, 1, None]
        g_glob[:, 0] = 2.0 * ((lam * pull * w * self.root).sum((1, 2, 3)) - self.tau)
        g_glob[:, 1] = 1.0 - local[..., -1].sum(1)
        near, cross = np.zeros((n, s, size, size)), np.zeros((n, s, size, wide))
        diagonal(near[..., :c, :c])[...] = 2.0 * (square * inverse).sum(-1) / flat
        across = -(square.sum(-1) / flat**2)[..., None] * weight
        near[..., :c, last], near[..., last, :c] = across, across.swapaxes(-1, -2)
        cross[..., :c, 0] = -2.0 * (pull * inner).sum(-1)
        cross[..., last, 0] = (2.0 * (self.root * inner).sum(-1) / flat) @ weight
        cross[..., -1, 1] = -1.0
        corner = np.zeros((n, wide, wide))
        corner[:, 0, 0] = 2.0 * (self.root * pull * w).sum((1, 2, 3))
        found = Derivatives(g_local, g_glob, near, cross, corner)
        self._by_rates(found, local, shared)
        return found

    def _by_rates(self, found: Derivatives, local: Floats, shared: Floats) -> None:
        """Add the derivatives by the labels' shares: the level is linear in them."""
        place = self._sizes[2]
        for count, (part, number) in enumerate(self._numbered):
            at, nu = place + np.searchsorted(self._labels, part), place + len(self._labels) + count
            if self.equal:
                whole = self._sums[:, number, None]
                found.shared[:, at] = local[..., part].sum(1) / whole - shared[:, nu, None]
                found.shared[:, nu] = whole[:, 0] - shared[:, at].sum(1)
                found.local_glob[:, :, part, at] = 1.0 / whole[..., None]
                found.glob_glob[:, at, nu] = found.glob_glob[:, nu, at] = -1.0
            else:
                found.local[..., at] = local[..., part] - local[..., nu, None]
                found.local[..., nu] = 1.0 - local[..., at].sum(-1)
                found.local_local[..., part, at] = found.local_local[..., at, part] = 1.0
                found.local_local[..., at, nu] = found.local_local[..., nu, at] = -1.0

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of z."""
        local, shared, z = at
        depth, w = self._depth(local)
        d_theta = step[0][..., : self.shape[2], None]
        d_w = (step[0][..., -self._weights.shape[1] :] @ self._weights.T)[..., None]
        lam, d_lam = shared[:, 0, None, None, None], step[1][:, 0, None, None, None]
        return ((lam + d_lam) * self.root * w - z * d_theta) / depth + z * d_w / w - z

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Compare the bound (here without care for rounding) with what is enough."""
        if not self.equal or self.groups.limited or self.limited or not np.isfinite(self.cutoff).any():
            return np.zeros(len(shared), dtype=bool)
        total = (self.root**2 / self._depth(local)[0]).sum(axis=(2, 3)).max(axis=1)
        level = local[..., : self.shape[2]].sum(axis=1)
        top = np.sum([level[:, part].max(axis=1) for part in self.parts], axis=0)
        settled: Booleans = top - self.tau**2 / total < self.cutoff
        return settled

    def take(self, index: Integers) -> MeansSaddle:
        """Select problems."""
        names = ("root", "value", "ceiling", "tau", "part", "cutoff", "cap")
        return replace(self, **{name: getattr(self, name)[index] for name in names})


@dataclass(frozen=True)
class MeansSolution(Rows):
    """Multipliers (theta (N, S, C), nu (N, S), lam and those of the limits), group shares, and base rates (N, S, C).

    ``within`` are the labels' shares within their parts (N, 1 or S, C), ``first`` (N, S) the first part's share in each
    group. ``omega`` (N, C) says what limits on labels do to the labels of parts.
    """

    theta: Floats
    nu: Floats
    lam: Floats
    group_share: Floats
    within: Floats
    first: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats


def solve_means(problem: MeansSaddle, accuracy: float) -> MeansSolution:
    """Solve a batch."""
    n, s, c = problem.shape
    size, _, place, _ = problem._sizes
    limited = problem.limited and len(problem._labels) == c  # then all shares are variables
    terms = (problem.groups.term(size - 1), *([problem.rates.labels.term(problem.rate_place)] if limited else []))
    point, mus = solve_limited(problem, terms, accuracy=accuracy)
    local, shared = point.local, point.shared
    theta, lam, k = np.maximum(local[..., :c], problem.ceiling), shared[:, 0], local[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        group_mu = usable(mus[0] / lam[:, None] ** 2)
    summed, omega = theta.sum(axis=1), np.zeros((n, c))
    if limited and len(problem.parts) > 1:
        for count, (part, number) in enumerate(problem._numbered):
            nu = shared[:, place + c + count, None]
            omega[:, part] = summed[:, part] / problem.part[:, number, None] - nu
        omega = np.where(np.abs(omega) < MOST, omega, 0.0)
    labels = problem.rates.labels
    level = summed if len(problem.parts) == 1 else omega
    label_mu = labels.useful(mus[1], level) if limited else no_multipliers(n, labels)
    first = local[..., -2] / k if problem._split else np.repeat(problem.part[:, :1], s, axis=1)
    nu = np.zeros((n, s))
    if not problem.equal and len(problem.parts) == 1 and problem.free:
        nu = local[..., place + len(problem._labels)]
    return MeansSolution(theta, nu, lam, k, problem.within(local, shared), first, group_mu, label_mu, omega)
