"""Means given the group where base rates may differ: one convex program, for any values and ceilings.

As in ``conditional``, but every group has label shares of its own: ``r_sy`` within a part of the labels,
and the mass ``u_s`` of the first part in its mass ``k_s``. With multipliers theta (one per cell, at least the ceiling),
lam of the ball and row values v the largest value is

    min over theta, lam  max over k, u, r  of
        sum_sy r_sy theta_sy - 2 lam tau + lam^2 sum_i w_i p_i E_i[ 1 / (theta_i - v) ],

where ``w_i`` is ``k_s`` if there is one part, else ``u_s`` or ``k_s - u_s``. In question are

    one part:    rates r in the set of :class:`fairbound.solve.base_rates.BaseRates`;
    two parts:   ``low k_s <= u_s <= high k_s``, and any shares r within parts of several labels.

It is convex in (theta, lam) and concave in (k, u, r): docs/metrics.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet, usable


@dataclass(frozen=True)
class MeansSaddle:
    """A batch of these programs: ``root`` = sqrt(p) and ``value`` (N, S, C, J), ``ceiling`` (N, S, C).

    ``least`` and ``most`` (N,) are the limits of ``u_s / k_s``; with one part they do not count. ``cap`` limits lam.

    Local variables: theta_s1 .. theta_sC, the shares r of labels in parts of several, nu of each such part, u_s (with
    two parts), k_s. Global: lam, the lower ends b_1 .. b_C of the rates (one part, not free ones), nu_k, floor_k.
    """

    root: Floats
    value: Floats
    ceiling: Floats
    tau: Floats
    cap: Floats
    least: Floats
    most: Floats
    parts: tuple[tuple[int, ...], ...]
    rates: BaseRates
    groups: MarginalSet

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (problems, groups, labels)."""
        return self.root.shape[0], self.root.shape[1], self.root.shape[2]

    @cached_property
    def several(self) -> list[Integers]:
        """The parts that have several labels."""
        return [np.array(part) for part in self.parts if len(part) > 1]

    @cached_property
    def _free(self) -> Integers:
        """The labels in these parts: their shares are variables, those of others are one."""
        return np.concatenate([*self.several, np.zeros(0, dtype=np.int64)])

    @cached_property
    def _common(self) -> int:
        """How many global variables the rates need."""
        return self.rates.common if len(self.parts) == 1 and self.several else 0

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """How many local and global variables there are."""
        return self.shape[2] + len(self._free) + len(self.several) + len(self.parts), 1 + self._common + 2

    @cached_property
    def _shares(self) -> Floats:
        """How each cell's w depends on the variables (u, k), or on k alone: shape (C, 2 or 1)."""
        weight = np.ones((self.shape[2], len(self.parts)))
        if len(self.parts) == 2:
            weight[list(self.parts[0])] = 1.0, 0.0
            weight[list(self.parts[1])] = -1.0, 1.0
        return weight

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Theta >= ceiling, rates and shares inside; 0 <= lam <= cap."""
        n, s, c = self.shape
        size, wide = self._sizes
        own, shared = np.eye(size), np.eye(wide)
        rate, border, offset = (
            own[c : c + len(self._free)],
            np.zeros((len(self._free), wide)),
            np.zeros(len(self._free)),
        )
        if self._common:
            rate, border, offset = self.rates.rows(size, c, wide, 1)
        block = np.broadcast_to(np.vstack([own[:c], rate]), (n, c + len(rate), size))
        borders = np.vstack([np.zeros((c, wide)), border])
        if len(self.parts) == 2:
            u, k = own[-2], own[-1]
            within = np.stack([u - self.least[:, None] * k, self.most[:, None] * k - u], axis=1)
            block, borders, offset = np.concatenate([block, within], axis=1), _more(borders, 2), np.r_[offset, 0.0, 0.0]
        k = np.broadcast_to(own[-1], (n, 1, size))
        block, borders, offset = (
            np.concatenate([block, k], axis=1),
            np.vstack([borders, -shared[-1]]),
            np.r_[offset, 0.0],
        )
        if self.groups.skew is not None:  # k_s <= floor_k + g
            block, borders = np.concatenate([block, -k], axis=1), np.vstack([borders, shared[-1]])
            offset = np.r_[offset, -self.groups.width]
        offsets = np.concatenate([self.ceiling, np.broadcast_to(offset, (n, s, len(offset)))], axis=2)
        sign = np.r_[np.ones(c), -np.ones(len(offset))]
        rest = np.vstack([shared[0], -shared[0], shared[1 : 1 + self._common], shared[-1]])
        limits = np.zeros((n, len(rest)))
        limits[:, 1] = -self.cap
        return (
            LocalRows(block[:, None], borders[None, None], offsets, sign),
            GlobalRows(rest[None], limits, np.r_[1.0, 1.0, -np.ones(len(rest) - 2)]),
        )

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares, multipliers a unit above the ceilings."""
        n, s, c = self.shape
        local, shared = np.zeros((n, s, self._sizes[0])), np.zeros((n, self._sizes[1]))
        local[..., :c] = self.ceiling + 1.0
        for part in self.several:
            local[..., c + np.searchsorted(self._free, part)] = 1.0 / len(part)
        local[..., -1] = 1.0 / s
        if len(self.parts) == 2:
            local[..., -2] = 0.5 * (self.least + self.most)[:, None] / s
        if self._common:
            shared[:, 1 : 1 + self._common] = self.rates.start[1]
        shared[:, -1] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        pull = self.root**2 / (local[..., :c, None] - self.value)
        shared[:, 0] = np.minimum((self.tau + 0.01) * s / pull.sum(axis=(1, 2, 3)), 0.5 * self.cap)
        return local, shared

    def within(self, local: Floats) -> Floats:
        """Return the label shares within their parts."""
        share = np.ones((*local.shape[:2], self.shape[2]))
        share[..., self._free] = local[..., self.shape[2] : self.shape[2] + len(self._free)]
        return share

    def _split(self, local: Floats) -> tuple[Floats, Floats]:
        """Return theta - v and w, with the axes of the atoms."""
        c = self.shape[2]
        w = local[..., -len(self.parts) :] @ self._shares.T
        return local[..., :c, None] - self.value, w[..., None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam sqrt(p) w / (theta - v)."""
        depth, w = self._split(local)
        return shared[:, 0, None, None, None] * self.root * w / depth + 1e-12

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate, with x eliminated; first by w, which is linear in the variables."""
        n, s, c = self.shape
        size, wide = self._sizes
        depth, w = self._split(local)
        lam, flat = shared[:, 0, None, None, None], w[..., 0]
        inverse = 1.0 / depth
        pull = self.root * inverse  # times w: what one unit of lam adds to x
        square = inner * inner
        mass = 2.0 * lam * (pull * w) * inner - square  # x^2 to first order in the distance from the best x
        last, weight = slice(size - len(self.parts), size), self._shares

        g_local, g_glob = np.zeros((n, s, size)), np.zeros((n, wide))
        g_local[..., :c] = self.within(local) - mass.sum(-1) / flat
        g_local[..., last] = ((mass * depth).sum(-1) / flat**2) @ weight
        g_local[..., -1] -= shared[:, -2, None]
        g_glob[:, 0] = 2.0 * ((lam * pull * w * self.root).sum((1, 2, 3)) - self.tau)
        g_glob[:, -2] = 1.0 - local[..., -1].sum(1)
        local_local, local_glob = np.zeros((n, s, size, size)), np.zeros((n, s, size, wide))
        diagonal(local_local[..., :c, :c])[...] = 2.0 * (square * inverse).sum(-1) / flat
        cross = -(square.sum(-1) / flat**2)[..., None] * weight
        local_local[..., :c, last], local_local[..., last, :c] = cross, cross.swapaxes(-1, -2)
        local_glob[..., :c, 0] = -2.0 * (pull * inner).sum(-1)
        local_glob[..., last, 0] = (2.0 * (self.root * inner).sum(-1) / flat) @ weight
        local_glob[..., -1, -2] = -1.0
        corner = np.zeros((n, wide, wide))
        corner[:, 0, 0] = 2.0 * (self.root * pull * w).sum((1, 2, 3))
        for number, part in enumerate(self.several):
            at, nu = c + np.searchsorted(self._free, part), c + len(self._free) + number
            g_local[..., at] = local[..., part] - local[..., nu, None]
            g_local[..., nu] = 1.0 - local[..., at].sum(-1)
            local_local[..., part, at] = local_local[..., at, part] = 1.0
            local_local[..., at, nu] = local_local[..., nu, at] = -1.0
        return Derivatives(g_local, g_glob, local_local, local_glob, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, x = at
        depth, w = self._split(local)
        d_theta = step[0][..., : self.shape[2], None]
        d_w = (step[0][..., -len(self.parts) :] @ self._shares.T)[..., None]
        lam, d_lam = shared[:, 0, None, None, None], step[1][:, 0, None, None, None]
        return ((lam + d_lam) * self.root * w - x * d_theta) / depth + x * d_w / w - x

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> MeansSaddle:
        """Select problems."""
        names = ("root", "value", "ceiling", "tau", "cap", "least", "most")
        return replace(self, **{name: getattr(self, name)[index] for name in names})


def _more(border: Floats, rows: int) -> Floats:
    """Append rows that no global variable enters."""
    return np.vstack([border, np.zeros((rows, border.shape[1]))])


@dataclass(frozen=True)
class MeansSolution:
    """Multipliers (theta (N, S, C), nu (N, S), lam and those of limits on groups), group shares and base rates."""

    theta: Floats
    nu: Floats
    lam: Floats
    group_share: Floats
    rate: Floats
    group_mu: Floats


def solve_means(problem: MeansSaddle, accuracy: float) -> MeansSolution:
    """Solve a batch; nu are those of one part of several labels, else zeros."""
    n, s, c = problem.shape
    point, mus = solve_limited(problem, (problem.groups.term(problem._sizes[0] - 1),), accuracy=accuracy)
    local, lam = point.local, point.shared[:, 0]
    rate, k = problem.within(local), local[..., -1]
    if len(problem.parts) == 2:
        first = local[..., -2] / k
        for part, share in zip(problem.parts, (first, 1.0 - first), strict=True):
            rate[..., part] *= share[..., None]
    nu = local[..., 2 * c] if len(problem.parts) == 1 and problem.several else np.zeros((n, s))
    with np.errstate(divide="ignore", invalid="ignore"):
        group_mu = usable(mus[0] / lam[:, None] ** 2)
    return MeansSolution(np.maximum(local[..., :c], problem.ceiling), nu, lam, k, rate, group_mu)
