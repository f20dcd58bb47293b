"""Form F on a piece of the group shares, where base rates may differ (docs/theory.md, "Base rates that may differ").

A piece is the convex hull of the group shares k^1 .. k^m. Multipliers ``eta_sy(k) = zeta_sy / k_s + base_s`` move with
the shares, and the bound of the piece is the largest at its corners, as far as the terms are convex. So they are chosen
by

    min over zeta, base, lam  max over theta in simplex, r in R  of
        <zeta, r> - 2 lam tau
            + sum_j theta_j ( <base, k^j> + lam^2 sum_i p_i E_i[ 1 / (zeta_i / k_s^j + base_s - v) ] ),

and terms that are concave get a tangent afterwards, at the shares that the worst theta mixes: of second order in the
width of the piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve import saddle
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_bounds import Leaves
from fairbound.solve.problem import Problem
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal

#: No share of a corner is taken for smaller.
LEAST = 1e-10

#: How far base may be from the ceilings, in units of the largest.
FARTHEST = 2.0

#: By how much multipliers are raised in the end, relative to their size.
NUDGE = 1e-13


@dataclass(frozen=True)
class CornerSaddle:
    """A batch of these programs; values in units of the largest ceiling.

    ``root`` and ``value`` are (S, C, J), ``ceiling`` (S, C), ``vertices`` (N, m, S). Local variables: zeta_s1 ..
    zeta_sC, base_s, r_s1 .. r_sC, nu_s. Global: lam, theta_1 .. theta_m, nu_theta, and the lower ends of the rates.
    """

    root: Floats
    value: Floats
    ceiling: Floats
    tau: Floats
    cap: Floats
    vertices: Floats
    rates: BaseRates

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return (pieces, groups, labels, corners)."""
        return len(self.tau), *self.root.shape[:2], self.vertices.shape[1]

    @cached_property
    def per(self) -> Floats:
        """One over the shares at the corners, (N, m, S, 1)."""
        return 1.0 / np.maximum(self.vertices, LEAST)[..., None]

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Multipliers above the ceilings at every corner, rates inside; 0 <= lam <= cap, theta >= 0."""
        n, s, c, m = self.shape
        size, wide = 2 * c + 2, m + 2 + self.rates.common
        rate, border, limits = self.rates.rows(size, c + 1, wide, m + 2)
        block = np.zeros((n, s, m * c + 2 + len(rate), size))
        above = block[:, :, : m * c].reshape(n, s, m, c, size)
        diagonal(above[..., :c])[...] = self.per.swapaxes(1, 2)
        above[..., c] = 1.0
        block[:, :, m * c, c], block[:, :, m * c + 1, c] = 1.0, -1.0
        block[:, :, m * c + 2 :] = rate
        borders = np.concatenate([np.zeros((m * c + 2, wide)), border])[None, None]
        # On a small piece zeta and base do the same: a limit keeps them from running away.
        ends = [self.ceiling.min() - FARTHEST, -self.ceiling.max() - FARTHEST]
        offset = np.concatenate([np.tile(self.ceiling, (1, m)), np.tile([*ends, *limits], (s, 1))], axis=1)[None]
        near = LocalRows(block, borders, offset, np.r_[np.ones(m * c + 2), -np.ones(len(rate))])
        own = np.eye(wide)
        rest = np.concatenate([own[:1], -own[:1], own[1 : m + 1], own[m + 2 :]])
        least = np.zeros((n, len(rest)))
        least[:, 1] = -self.cap
        return near, GlobalRows(rest[None], least, np.r_[1.0, 1.0, -np.ones(len(rest) - 2)])

    def start(self) -> tuple[Floats, Floats]:
        """Constant multipliers well above the ceilings, uniform shares."""
        n, s, c, m = self.shape
        rate, low = self.rates.start
        local, shared = np.zeros((n, s, 2 * c + 2)), np.full((n, m + 2 + self.rates.common), low)
        local[..., :c] = self.vertices.mean(axis=1)[..., None]
        local[..., c] = self.ceiling.max() + 0.1
        local[..., c + 1 : -1] = rate
        shared[:, 1 : m + 1], shared[:, m + 1] = 1.0 / m, 0.0
        affinity = (self.root**2 / (self.ceiling.max() + 1.0 - self.value)).sum()
        shared[:, 0] = np.minimum((self.tau + 0.01) / affinity, 0.5 * self.cap)
        return local, shared

    def _gap(self, local: Floats) -> Floats:
        """Return eta - v at the corners, (N, m, S, C, J), or how eta changes if that is a step."""
        c = self.shape[2]
        eta = local[:, None, :, :c] * self.per + local[:, None, :, c, None]
        return eta[..., None]

    def _theta(self, shared: Floats) -> Floats:
        return shared[:, 1 : self.shape[3] + 1, None, None, None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam theta sqrt(p) / (eta - v)."""
        return (
            shared[:, 0, None, None, None, None] * self._theta(shared) * self.root / (self._gap(local) - self.value)
            + 1e-12
        )

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; atoms are summed first."""
        n, s, c, m = self.shape
        size, wide = 2 * c + 2, shared.shape[1]
        lam, theta, per = shared[:, 0, None, None, None, None], self._theta(shared), self.per
        inverse = 1.0 / (self._gap(local) - self.value)
        best, x, weight = lam * self.root * inverse, inner / theta, theta[..., 0]
        mass = weight * (x * (2.0 * best - x)).sum(-1)
        squared = (x * x).sum(-1)
        curve = 2.0 * weight * (x * x * inverse).sum(-1)
        slope = weight * (self.root * x * inverse).sum(-1)
        worth = (x * (2.0 * lam * self.root - x / inverse)).sum((2, 3, 4))
        rate, nu, base = local[..., c + 1 : -1], local[..., -1], local[..., c]
        g_local, g_glob = np.empty((n, s, size)), np.zeros((n, wide))
        g_local[..., :c] = rate - (mass * per).sum(1)
        g_local[..., c] = (weight[..., 0] * self.vertices).sum(1) - mass.sum((1, 3))
        g_local[..., c + 1 : -1] = local[..., :c] - nu[..., None]
        g_local[..., -1] = 1.0 - rate.sum(-1)
        g_glob[:, 0] = 2.0 * (self.root * best * theta).sum((1, 2, 3, 4)) - 2.0 * self.tau
        g_glob[:, 1 : m + 1] = worth + (self.vertices @ base[..., None])[..., 0] - shared[:, m + 1, None]
        g_glob[:, m + 1] = 1.0 - shared[:, 1 : m + 1].sum(1)
        near, cross, corner = np.zeros((n, s, size, size)), np.zeros((n, s, size, wide)), np.zeros((n, wide, wide))
        diagonal(near[..., :c, :c])[...] = (curve * per * per).sum(1)
        near[..., :c, c] = near[..., c, :c] = (curve * per).sum(1)
        near[..., c, c] = curve.sum((1, 3))
        diagonal(near[..., :c, c + 1 : -1])[...] = 1.0
        diagonal(near[..., c + 1 : -1, :c])[...] = 1.0
        near[..., c + 1 : -1, -1] = near[..., -1, c + 1 : -1] = -1.0
        cross[..., :c, 0] = -2.0 * (slope * per).sum(1)
        cross[..., c, 0] = -2.0 * slope.sum((1, 3))
        cross[..., :c, 1 : m + 1] = -np.moveaxis(squared * per, 1, 3)
        cross[..., c, 1 : m + 1] = (self.vertices - squared.sum(3)).swapaxes(1, 2)
        corner[:, 0, 0] = 2.0 * (theta * self.root**2 * inverse).sum((1, 2, 3, 4))
        corner[:, 0, 1 : m + 1] = corner[:, 1 : m + 1, 0] = 2.0 * (self.root * x).sum((2, 3, 4))
        corner[:, 1 : m + 1, m + 1] = corner[:, m + 1, 1 : m + 1] = -1.0
        return Derivatives(g_local, g_glob, near, cross, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, inner = at
        theta, d_theta = self._theta(shared), self._theta(step[1])
        lam, d_lam = (g[:, 0, None, None, None, None] for g in (shared, step[1]))
        gap, x = self._gap(local) - self.value, inner / theta
        return theta / gap * (self.root * (d_lam + lam) - x * (self._gap(step[0]) + gap)) + x * d_theta

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> CornerSaddle:
        """Select problems."""
        return replace(self, tau=self.tau[index], cap=self.cap[index], vertices=self.vertices[index])


def piece_leaves(
    problem: Problem, rates: BaseRates, tau: Floats, cap: Floats, vertices: Floats, accuracy: float
) -> tuple[Leaves, Floats]:
    """Return leaves for pieces with these vertices (N, m, S), and the group shares that are worst there, about."""
    scale, c = problem.scale, problem.labels.size
    root, value = np.sqrt(problem.upper.probability), problem.upper.loss / scale
    program = CornerSaddle(root, value, problem.ceiling / scale, tau, cap, vertices, rates)
    point = saddle.solve(program, accuracy=accuracy)
    local, shared = point.local * scale, point.shared
    worst = (shared[:, None, 1 : vertices.shape[1] + 1] @ vertices)[:, 0]
    base = local[..., c] + NUDGE * (problem.scale + np.abs(local[..., c]))
    none, count = np.zeros_like(base), len(tau)
    centre, offset = np.maximum(worst, 1e-9), np.zeros((count, c))
    rows = np.zeros((count, problem.groups.multipliers)), np.zeros((count, rates.labels.multipliers))
    leaves = Leaves(local[..., :c], base, local[..., -1], centre, none, shared[:, 0] * scale, offset, *rows)
    return leaves, worst
