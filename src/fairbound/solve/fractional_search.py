"""The expected loss where base rates may differ: one leaf and, if that leaves a gap, pieces of the group shares.

All leaves are of form F (docs/theory.md, "Base rates that may differ"). The first is that of all shares at once; on a
piece the same program with the shares in it is tried, then one that looks at its corners. The search may stop at any
time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional import BATCH_ATOMS, FractionalSolution, solve_fractional
from fairbound.solve.fractional_bounds import Leaves, fractional_bound, tuned
from fairbound.solve.fractional_pieces import piece_leaves
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.search import State, plan_cuts
from fairbound.solve.tree import Forest
from fairbound.solve.whole_leaf import fractional_proof, whole_leaves
from fairbound.solve.witness import Witnesses, build_witnesses, nearest_witnesses

#: How closely the first program is solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY, BEST_ACCURACY = 1e-5, 1e-14

#: Group shares below this are not tried: near zero the worst loss changes like the square root of the share.
TINY_SHARE = 1e-13

#: How often the attained value is improved around the best shares, each time closer.
CLIMBS = 6


@dataclass(frozen=True)
class FractionalSearch:
    """The search over group shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius."""

    problem: Problem
    rates: BaseRates
    nearest: NearestFair
    tol: float
    budget: int

    def start(self, rhos: Floats) -> State:
        """Solve for all shares at once; at least two times closely where that leaves a gap."""
        forest = Forest(len(rhos), self.problem.groups.size, self._shapes)
        state = State(rhos, forest, nearest_witnesses(self.problem, self.rates, rhos, self.nearest))
        rough = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.problem.scale)
        self._whole(state, np.arange(len(rhos)), rough)
        again = np.flatnonzero(state.bound - state.witness.loss > 0.5 * self.tol)
        if len(again) and rough > BEST_ACCURACY:
            self._whole(state, again, BEST_ACCURACY)
        return state

    def run(self, state: State) -> None:
        """Cut the group shares into pieces where there is a gap."""
        again = np.flatnonzero(state.bound - state.witness.loss > 0.5 * self.tol)
        if len(again):
            corners = np.tile(np.eye(self.problem.groups.size), (len(again), 1, 1))
            self._climb(state, again, self._inside(state.witness.group_mass[again]), corners)
        fresh = state.forest.cut(self._cuts(state))
        while len(fresh):
            self._solve(state, fresh)
            self._improve(state, np.unique(state.forest.pieces.radius[fresh]))
            fresh = state.forest.cut(self._cuts(state))

    def answers(self, state: State) -> list[Answer]:
        """Write down what was found."""
        found = []
        for index, (bound, (splits, pieces)) in enumerate(zip(state.bound.tolist(), state.forest.trees(), strict=True)):
            proof = fractional_proof("group", self.problem.groups.floors, splits, Leaves(**pieces.multipliers))
            found.append(Answer(bound, state.witness[index], proof))
        return found

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        s, c = self.problem.groups.size, self.problem.labels.size
        rows = (self.problem.groups.multipliers,), (self.rates.labels.multipliers,)
        sizes = (s, c), (s,), (s,), (s,), (s,), (), (c,), *rows
        return dict(zip((field.name for field in fields(Leaves)), sizes, strict=True))

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

    def _cap(self, rho: Floats) -> Floats:
        """How large lam may be where it matters; more only serves to discard infeasible shares."""
        return np.clip(10.0 / np.maximum(self._reserve(rho), 1e-9), 50.0, 1e8)

    def _accuracy(self, rho: Floats) -> float:
        reserve = float(np.minimum(1.0, self._reserve(rho)).min())
        return max(BEST_ACCURACY, 1e-6 * self.tol / self.problem.scale * reserve)

    def _points(self, rho: Floats, share: Floats) -> tuple[FractionalSolution, Floats]:
        """Solve at given group shares; return the worst losses there too, without care for rounding."""
        tau, cap = least_affinity(rho), self._cap(rho)
        found = solve_fractional(self.problem, self.rates, tau, self._accuracy(rho), share=share, cap=cap)
        upper, k = self.problem.upper, share[:, :, None, None]
        deficit = self.problem.ceiling[..., None] - upper.loss
        with np.errstate(all="ignore"):
            below = np.maximum(k * deficit + found.zeta[..., None], 1e-300)
            total = (upper.probability * k / below).sum(axis=(1, 2, 3))
            level = (found.rate * (found.zeta + share[..., None] * self.problem.ceiling)).sum(axis=(1, 2))
        return found, level + found.lam**2 * total - 2.0 * found.lam * tau

    def _try(self, state: State, left: Integers, leaves: Leaves) -> Integers:
        """Keep multipliers where they give better bounds; return the pieces that may still hold the worst case."""
        pieces, problem = state.forest.pieces, self.problem
        radius = pieces.radius[left]
        vertices = self._shares(pieces.corners[left])
        chunk = max(1, BATCH_ATOMS // (problem.upper.probability.size * vertices.shape[1]))
        for start in range(0, len(left), chunk):
            part = np.arange(start, min(start + chunk, len(left)))
            rho = state.rho[radius[part]]
            best = tuned(problem, rho, vertices[part], leaves.take(part))
            pieces.keep(left[part], fractional_bound(problem, self.rates, rho, vertices[part], best), vars(best))
        return left[pieces.bound[left] > state.witness.loss[radius] + 0.8 * self.tol]

    def _whole(self, state: State, radius: Integers, accuracy: float) -> None:
        """Bound all group shares at once, and take what the program says of the worst case."""
        problem, rho, pieces = self.problem, state.rho[radius], state.forest.pieces
        moving = not problem.one_convex_program
        found = solve_fractional(problem, self.rates, least_affinity(rho), accuracy, moving=moving)
        leaves, bound = whole_leaves(problem, self.rates, rho, found)
        pieces.keep(radius, bound, vars(leaves))
        self._adopt(state, radius, self._witnesses(rho, found, found.eta))

    def _solve(self, state: State, left: Integers) -> None:
        """Bound new pieces: by what is known of the piece that was cut, else by their own multipliers."""
        pieces, problem = state.forest.pieces, self.problem
        left = self._try(state, left, Leaves(**{name: part[left] for name, part in pieces.multipliers.items()}))
        chunk = max(1, BATCH_ATOMS // (problem.upper.probability.size * problem.groups.size))
        for start in range(0, len(left), chunk):
            part = left[start : start + chunk]
            rho, vertices = state.rho[pieces.radius[part]], self._shares(pieces.corners[part])
            tau, cap, accuracy = least_affinity(rho), self._cap(rho), self._accuracy(rho)
            inside = solve_fractional(
                problem, self.rates, tau, accuracy, moving=True, cap=cap, vertices=np.maximum(vertices, TINY_SHARE)
            )
            pieces.guess[part] = inside.share
            some = np.isin(part, self._try(state, part, whole_leaves(problem, self.rates, rho, inside)[0]))
            if some.any():
                asked = tau[some], cap[some], vertices[some], accuracy
                leaves, pieces.guess[part[some]] = piece_leaves(problem, self.rates, *asked)
                self._try(state, part[some], leaves)

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
        eta = self.problem.ceiling + found.zeta / share[..., None]
        self._adopt(state, radius, self._witnesses(rho, replace(found, share=share), eta))

    def _witnesses(self, rho: Floats, found: FractionalSolution, eta: Floats) -> Witnesses:
        shares = found.share, found.rate
        return build_witnesses(self.problem, self.rates, rho, shares, (eta, found.lam), self.nearest)

    @staticmethod
    def _adopt(state: State, radius: Integers, found: Witnesses) -> None:
        """Keep distributions that attain more."""
        better = found.loss > state.witness.loss[radius]
        if better.any():
            state.witness = state.witness.replaced(radius[better], found.take(better))
