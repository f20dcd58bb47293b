"""Base rates that may differ: one convex program and, where ceilings are unequal, a search over the group shares.

If one ceiling serves all cells of a group the question is a single convex program. It is solved first in any case, with
the largest ceiling of each group: often its multipliers prove that nothing worse is possible, and always if base
rates are free. Otherwise the simplex of group shares is cut into pieces, each with multipliers from one of its points
(docs/theory.md, section 11). The search may stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.problem import Problem
from fairbound.solve.rates_bounds import Leaves, rates_bound, tuned
from fairbound.solve.rates_nearest import NearestRates
from fairbound.solve.rates_pieces import leaves_at
from fairbound.solve.rates_saddle import RatesSaddle, RatesSolution, solve_rates
from fairbound.solve.rates_witness import build_rates_witnesses, nearest_witnesses
from fairbound.solve.search import State, plan_cuts
from fairbound.solve.shares import MarginalSet
from fairbound.solve.tree import Forest
from fairbound.solve.witness import Witnesses

#: Programs are solved, and pieces bounded, in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely the first program is solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY = 1e-4
BEST_ACCURACY = 1e-14

#: Group shares below this are not tried: near zero the worst loss changes like the square root of the share.
TINY_SHARE = 1e-13

#: How often the attained value is improved around the best shares, each time closer.
CLIMBS = 6


@dataclass(frozen=True)
class RatesSearch:
    """The search over group shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius."""

    problem: Problem
    rates: BaseRates
    nearest: NearestRates
    tol: float
    budget: int

    def run(self, rhos: Floats) -> State:
        """Answer all radii together."""
        size, labels = self.problem.groups.size, self.problem.labels.size
        forest = Forest(len(rhos), MarginalSet(labels + 3), MarginalSet(size))
        state = State(rhos, forest, nearest_witnesses(self.problem, self.rates, rhos, self.nearest))
        rough = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.problem.scale)
        self._whole(state, np.arange(len(rhos)), rough)
        again = np.flatnonzero(state.bound - state.witness.loss > 0.5 * self.tol)
        if len(again) and rough > BEST_ACCURACY:
            self._whole(state, again, BEST_ACCURACY)
        if self.problem.one_convex_program:
            return state
        again = np.flatnonzero(state.bound - state.witness.loss > 0.5 * self.tol)
        if len(again):
            corners = np.tile(np.eye(size), (len(again), 1, 1))
            self._climb(state, again, self._inside(state.witness.group_mass[again]), corners)
        fresh = forest.cut(self._cuts(state))
        while len(fresh):
            self._solve(state, fresh)
            self._improve(state, np.unique(forest.pieces.radius[fresh]))
            fresh = forest.cut(self._cuts(state))
        return state

    def _cuts(self, state: State) -> Integers:
        return plan_cuts(state, self.problem.scale, self.problem.groups.size, self.tol, self.budget)

    def _shares(self, corners: Floats) -> Floats:
        groups = self.problem.groups
        return groups.floors + groups.spread * corners

    def _inside(self, share: Floats) -> Floats:
        return self.problem.groups.inside(np.maximum(share, TINY_SHARE))

    def _reserve(self, rho: Floats) -> Floats:
        """How much more affinity there can be than the ball asks for."""
        return 1.0 - self.nearest.distance**2 - least_affinity(rho)

    def _programs(self, rho: Floats, share: Floats | None, accuracy: float) -> RatesSolution:
        """Solve programs in units of the largest ceiling; return multipliers in the user's units."""
        problem, scale, upper = self.problem, self.problem.scale, self.problem.upper
        ceiling = problem.ceiling
        if share is None:
            ceiling = np.repeat(ceiling.max(axis=1, keepdims=True), ceiling.shape[1], axis=1)
        root, deficit = np.sqrt(upper.probability), (ceiling[..., None] - upper.loss) / scale
        cap = np.clip(10.0 / np.maximum(self._reserve(rho), 1e-9), 50.0, 1e8) if share is not None else 1e12 + 0 * rho
        chunk = max(1, BATCH_ATOMS // root.size)
        parts = []
        for start in range(0, len(rho), chunk):
            part = slice(start, start + chunk)
            tau, given = least_affinity(rho[part]), None if share is None else share[part]
            saddle = RatesSaddle(root, deficit, ceiling / scale, tau, cap[part], self.rates, problem.groups, given)
            parts.append(solve_rates(saddle, accuracy))
        phi, nu, lam, rate, found = (
            np.concatenate([getattr(p, name) for p in parts]) for name in RatesSolution.__dataclass_fields__
        )
        return RatesSolution(phi * scale, nu * scale, lam * scale, rate, found)

    def _points(self, rho: Floats, share: Floats) -> tuple[RatesSolution, Floats]:
        """Solve at given group shares; return the worst losses there too, without care for rounding."""
        reserve = float(np.minimum(1.0, self._reserve(rho)).min())
        accuracy = max(BEST_ACCURACY, 1e-6 * self.tol / self.problem.scale * reserve)
        found = self._programs(rho, share, accuracy)
        upper, k = self.problem.upper, share[:, :, None, None]
        deficit = self.problem.ceiling[..., None] - upper.loss
        with np.errstate(all="ignore"):
            total = (upper.probability * k / np.maximum(k * deficit + found.phi[..., None], 1e-300)).sum(axis=(1, 2, 3))
            level = (found.rate * (found.phi + share[..., None] * self.problem.ceiling)).sum(axis=(1, 2))
        return found, level + found.lam**2 * total - 2.0 * found.lam * least_affinity(rho)

    def _bounds(self, rho: Floats, vertices: Floats, leaves: Leaves) -> tuple[Leaves, Floats]:
        """Tune multipliers and bound the leaves."""
        problem = self.problem
        chunk = max(1, BATCH_ATOMS // (problem.upper.probability.size * vertices.shape[1]))
        kept, bounds = [], []
        for start in range(0, len(rho), chunk):
            part = np.arange(start, min(start + chunk, len(rho)))
            best = tuned(problem, rho[part], vertices[part], leaves.take(part))
            kept.append(best)
            bounds.append(rates_bound(problem, self.rates, rho[part], vertices[part], best))
        names = ("zeta", "base", "nu", "centre", "omega", "lam")
        columns = (np.concatenate([getattr(k, name) for k in kept]) for name in names)
        return Leaves(*columns), np.concatenate(bounds)

    def _try(self, state: State, left: Integers, leaves: Leaves) -> Integers:
        """Keep multipliers where they give better bounds; return the pieces that may still hold the worst case."""
        pieces = state.forest.pieces
        radius = pieces.radius[left]
        leaves, bound = self._bounds(state.rho[radius], self._shares(pieces.corners[left]), leaves)
        better = bound <= pieces.bound[left]
        pieces.bound[left[better]] = bound[better]
        for kept, new in zip((pieces.w, pieces.centre, pieces.omega), leaves.packed, strict=True):
            kept[left[better]] = new[better]
        return left[pieces.bound[left] > state.witness.loss[radius] + 0.8 * self.tol]

    def _whole(self, state: State, radius: Integers, accuracy: float) -> None:
        """Bound all group shares at once, and take what the program says of the worst case."""
        problem, rho = self.problem, state.rho[radius]
        found = self._programs(rho, None, accuracy)
        top = problem.ceiling.max(axis=1)
        base = np.tile(top, (len(rho), 1))
        leaves = Leaves(found.phi, base, found.nu, found.share, np.zeros_like(base), found.lam)
        self._try(state, radius, leaves)
        eta = top[:, None] + found.phi / found.share[..., None]
        if not problem.one_convex_program:  # the program knows no ceilings but the largest: ask again at its shares
            found = self._points(rho, self._inside(found.share))[0]
            eta = problem.ceiling + found.phi / found.share[..., None]
        self._adopt(state, radius, self._witnesses(rho, found, eta))

    def _solve(self, state: State, left: Integers) -> None:
        """Bound new pieces by the multipliers of their middle, then by those close to their most promising corner."""
        pieces = state.forest.pieces
        best = np.full(len(pieces), -np.inf)
        slope = None
        for _ in range(2):
            if not len(left):
                return
            rho, vertices = state.rho[pieces.radius[left]], self._shares(pieces.corners[left])
            spot = vertices.mean(axis=1)
            if slope is not None:
                corner = (vertices @ slope[left][..., None])[..., 0].argmax(axis=1)
                spot = 0.1 * spot + 0.9 * vertices[np.arange(len(left)), corner]
            spot = np.maximum(spot, TINY_SHARE)
            found, value = self._points(rho, spot)
            higher = value > best[left]
            best[left[higher]], pieces.guess[left[higher]] = value[higher], spot[higher]
            if slope is None:
                slope = np.zeros_like(pieces.centre)
            slope[left] = (found.rate * (self.problem.ceiling + found.phi / spot[..., None])).sum(axis=2)
            left = self._try(state, left, leaves_at(self.problem, found, vertices))

    def _improve(self, state: State, radius: Integers) -> None:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        pieces = state.forest.pieces
        worst = state.forest.worst()[radius]
        wanting = pieces.bound[worst] > state.witness.loss[radius] + 0.1 * self.tol
        radius, worst = radius[wanting], worst[wanting]
        if len(radius):
            share = self._inside(pieces.guess[worst])
            better = self._points(state.rho[radius], share)[1] > state.witness.loss[radius]
            if better.any():
                self._climb(state, radius[better], share[better], self._shares(pieces.corners[worst])[better])

    def _climb(self, state: State, radius: Integers, share: Floats, corners: Floats) -> None:
        """Maximise the worst loss at given group shares, starting at ``share``, by trying points around it."""
        rho = state.rho[radius]
        reach = corners - share[:, None]
        for _ in range(CLIMBS):
            offers = np.concatenate([f * reach for f in (-1.0, -0.5, 0.25, 0.5, 1.0)], axis=1)
            tried = self._inside(np.concatenate([share[:, None], share[:, None] + offers], axis=1))
            count = tried.shape[1]
            value = self._points(np.repeat(rho, count), tried.reshape(-1, tried.shape[2]))[1].reshape(-1, count)
            share = tried[np.arange(len(rho)), value.argmax(axis=1)]
            reach = 0.3 * reach
        found = self._points(rho, share)[0]
        eta = self.problem.ceiling + found.phi / share[..., None]
        self._adopt(state, radius, self._witnesses(rho, replace(found, share=share), eta))

    def _witnesses(self, rho: Floats, found: RatesSolution, eta: Floats) -> Witnesses:
        shares = found.share, found.rate
        return build_rates_witnesses(self.problem, self.rates, rho, shares, (eta, found.lam), self.nearest)

    @staticmethod
    def _adopt(state: State, radius: Integers, found: Witnesses) -> None:
        """Keep distributions that attain more."""
        better = found.loss > state.witness.loss[radius]
        if better.any():
            state.witness = state.witness.replaced(radius[better], found.take(better))
