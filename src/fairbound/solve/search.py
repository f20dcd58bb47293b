"""The expected loss in a Hellinger ball, where one leaf leaves a gap: branch and bound with pieces of form T.

The value for fixed label shares is not concave in them (the paper's Theorem 2 calls the problem convex; its objective
is bilinear), so the simplex of shares is cut into pieces, each with its own multipliers (docs/theory.md, "Pieces").
All pieces of all radii are solved together. The search may stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.leaf_bounds import piece_bound
from fairbound.solve.nearest import NearestFair
from fairbound.solve.pieces import PieceSaddle, PieceSolution, level_of, solve_pieces
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, Cut, TiltedProof
from fairbound.solve.sensitive_shares import applies, fixed_shares, quick_multipliers
from fairbound.solve.shares import no_multipliers
from fairbound.solve.tree import Forest, Pieces
from fairbound.solve.witness import Witnesses, build_witnesses

#: Pieces are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: By number of labels (4 or more are alike): how often the root is halved at the start, and a piece at once later on.
FIRST_CUT = {2: 3, 3: 2, 4: 3}
QUICK_FIRST_CUT = {2: 4, 3: 4, 4: 5}
DEEPEST_CUT = {2: 4, 3: 2, 4: 2}

#: Pieces of larger tables (groups times the fourth power of labels) are not optimised where quick multipliers exist.
LARGEST_PROGRAM = 20_000_000

#: What proves the bound of a piece, in this order.
MULTIPLIERS = ("w", "centre", "omega", "level_mu", "share_mu")

#: How often the attained value is improved around the best shares, each time closer.
CLIMBS = 5

#: A piece with no edge longer than this (in barycentric coordinates) is not cut any more.
SMALLEST_EDGE = 2.0**-26


@dataclass
class State:
    """How far a search has come: the pieces of all radii, and the best distribution found for each radius."""

    rho: Floats
    forest: Forest
    witness: Witnesses

    @property
    def bound(self) -> Floats:
        """The bound at each radius: the largest of its pieces."""
        return self.forest.pieces.bound[self.forest.worst()]


@dataclass(frozen=True)
class Search:
    """The search over label shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius.

    With ``rates`` base rates may differ by a tolerance; the nearest distribution is then one of those.
    """

    problem: Problem
    nearest: NearestFair
    tol: float
    budget: int
    rates: BaseRates | None = None

    @cached_property
    def mixed(self) -> float:
        """How much of its base rates a group has for itself: exact for two labels, else more than there is."""
        if self.rates is None:
            return 0.0
        allowed = self.rates.allowed * (self.problem.labels.size - 1)
        return float(min(1.0, np.nextafter(allowed, 2.0)))

    @property
    def _rates(self) -> BaseRates:
        return self.rates or BaseRates(self.problem.groups.size, self.problem.labels, 0.0)

    @cached_property
    def quick(self) -> bool:
        """Whether good multipliers can be had from one scalar equation."""
        return self.rates is None and applies(self.problem)

    @property
    def costly(self) -> bool:
        """Whether the best multipliers of a piece cost more than cutting it: with two labels, and for huge tables."""
        s, c = self.problem.groups.size, self.problem.labels.size
        return c == 2 or s * c**4 > LARGEST_PROGRAM

    def run(self, rhos: Floats, start: Witnesses) -> State:
        """Search all radii together; the distributions to start from attain something already."""
        size = self.problem.labels.size
        forest = Forest(len(rhos), size, self._shapes)
        first = min((QUICK_FIRST_CUT if self.quick else FIRST_CUT)[min(size, 4)], int(np.log2(self.budget)))
        forest.cut(np.full(len(rhos), first))
        fresh = np.arange(len(forest.pieces))
        state = State(rhos, forest, start)
        if self.quick:
            self._scout(state)
        while len(fresh):
            self._solve(state, fresh)
            self._improve(state, np.unique(forest.pieces.radius[fresh]))
            fresh = forest.cut(self._cuts(state))
        return state

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        groups, labels = self.problem.groups, self.problem.labels
        sizes = (groups.size, labels.size), (labels.size,), (labels.size,), (groups.multipliers,), (labels.multipliers,)
        return dict(zip(MULTIPLIERS, sizes, strict=True))

    def _shares(self, corners: Floats) -> Floats:
        return self.problem.labels.floors + self.problem.labels.spread * corners

    def _cap(self, rho: Floats) -> Floats:
        """How steep the value may be in tau where it matters; more only serves to discard infeasible pieces."""
        return np.clip(10.0 / np.maximum(self._reserve(rho), 1e-9), 50.0, 1e8)

    def _reserve(self, rho: Floats) -> Floats:
        """How much more affinity there can be than the ball asks for."""
        return 1.0 - self.nearest.distance**2 - least_affinity(rho)

    def _pieces(self, rho: Floats, vertices: Floats, cutoff: Floats) -> PieceSolution:
        """Solve pieces in units of the largest ceiling; return multipliers in the user's units."""
        problem, scale = self.problem, self.problem.scale
        upper = problem.upper
        root, loss = np.sqrt(upper.probability), upper.loss / scale
        per_piece = root.size * vertices.shape[1]
        chunk = max(1, BATCH_ATOMS // per_piece)
        parts = []
        for start in range(0, len(rho), chunk):
            part = slice(start, start + chunk)
            saddle = PieceSaddle(
                root,
                loss,
                problem.ceiling / scale,
                least_affinity(rho[part]),
                vertices[part],
                self._cap(rho[part]),
                cutoff[part] / scale,
                problem.groups,
                problem.labels,
                self.mixed,
            )
            # Where the ball is slack the error is of the order of the root of the accuracy; and close to the nearest
            # distribution the multipliers are large and have to be found still more accurately.
            goal = self.tol / scale
            accuracy = min(1e-3, goal) * goal * float(np.minimum(1.0, self._reserve(rho[part])).min())
            parts.append(solve_pieces(saddle, accuracy=max(1e-14, accuracy)))
        w, centre, omega, level_mu, share_mu, lam, *shares = (
            np.concatenate([getattr(p, name) for p in parts]) for name in PieceSolution.__dataclass_fields__
        )
        limits = omega / scale, level_mu * scale, share_mu / scale
        return PieceSolution(w * scale, centre, *limits, lam * scale, *shares)

    def _solve(self, state: State, left: Integers) -> None:
        """Find the bound of new pieces: the parent's multipliers and quick ones where they do, else the best."""
        pieces = state.forest.pieces
        if np.isfinite(pieces.bound[left]).all():
            left = self._try(state, left, *(pieces.multipliers[name][left] for name in MULTIPLIERS))
        if self.quick and len(left):
            left = self._try_quick(state, left)
        if len(left) and not (self.quick and self.costly):
            radius = pieces.radius[left]
            cutoff = state.witness.loss[radius] + 0.8 * self.tol
            best = self._pieces(state.rho[radius], self._shares(pieces.corners[left]), cutoff)
            pieces.guess[left] = best.label_share
            self._try(state, left, *(getattr(best, name) for name in MULTIPLIERS))

    def _try_quick(self, state: State, left: Integers) -> Integers:
        """Try the multipliers of one point in each piece: close to a corner, or the middle, where the value is largest.

        The bound is then largest there too, and its error elsewhere is of second order in the width.
        """
        pieces = state.forest.pieces
        rho, vertices = state.rho[pieces.radius[left]], self._shares(pieces.corners[left])
        middle = vertices.mean(axis=1, keepdims=True)
        spots = np.concatenate([0.1 * middle + 0.9 * vertices, middle], axis=1)
        count, choices, size = spots.shape
        found = fixed_shares(self.problem, np.repeat(rho, choices), spots.reshape(-1, size))
        best = np.arange(count), found.value.reshape(count, choices).argmax(axis=1)
        centre = pieces.guess[left] = spots[best]
        w = quick_multipliers(self.problem, vertices, centre, found.level.reshape(count, choices)[best])
        none = (no_multipliers(count, side) for side in (self.problem.groups, self.problem.labels))
        return self._try(state, left, w, centre, np.zeros_like(centre), *none)

    def _try(self, state: State, left: Integers, *multipliers: Floats) -> Integers:
        """Keep multipliers where they give better bounds; return the pieces that may still hold the worst case."""
        pieces = state.forest.pieces
        radius = pieces.radius[left]
        vertices = self._shares(pieces.corners[left])
        bound = piece_bound(self.problem, state.rho[radius], vertices, *multipliers, mixed=self.mixed)
        pieces.keep(left, bound, dict(zip(MULTIPLIERS, multipliers, strict=True)))
        return left[pieces.bound[left] > state.witness.loss[radius] + 0.8 * self.tol]

    def _improve(self, state: State, radius: Integers) -> None:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        pieces = state.forest.pieces
        worst = state.forest.worst()[radius]
        wanting = pieces.bound[worst] > state.witness.loss[radius] + 0.1 * self.tol
        radius, worst = radius[wanting], worst[wanting]
        if not len(radius):
            return
        rho, share = state.rho[radius], self.problem.labels.inside(pieces.guess[worst])
        corners = self._shares(pieces.corners[worst])
        if self.quick:
            better = fixed_shares(self.problem, rho, share).value > state.witness.loss[radius]
            if better.any():
                self._climb(state, radius[better], share[better], corners[better])
            return
        closest = np.abs(corners - share[:, None]).sum(axis=2).argmin(axis=1)
        edge = self.problem.labels.inside(corners[np.arange(len(rho)), closest])  # the worst case is often a corner
        for spot in (share, edge):
            point = self._pieces(rho, spot[:, None], state.witness.loss[radius])
            self._adopt(state, radius, self._witnesses(rho, point, spot))

    def _scout(self, state: State) -> None:
        """Start with a good attained value, so that most pieces are settled at once."""
        radii = np.arange(len(state.rho))
        corners = self._shares(state.forest.pieces.corners[state.forest.pieces.radius == 0])
        spots = corners.mean(axis=1)
        tried = fixed_shares(self.problem, np.repeat(state.rho, len(spots)), np.tile(spots, (len(radii), 1)))
        best = tried.value.reshape(len(radii), -1).argmax(axis=1)
        self._climb(state, radii, self.problem.labels.inside(spots[best]), corners[best])

    def _witnesses(self, rho: Floats, point: PieceSolution, share: Floats) -> Witnesses:
        """Build the distributions that the multipliers at given shares suggest."""
        shares, multipliers = (point.group_share, point.rate if self.rates else share), (point.w, point.lam)
        return build_witnesses(self.problem, self._rates, rho, shares, multipliers, self.nearest)

    @staticmethod
    def _adopt(state: State, radius: Integers, found: Witnesses) -> None:
        """Keep distributions that attain more."""
        better = found.loss > state.witness.loss[radius]
        if better.any():
            state.witness = state.witness.replaced(radius[better], found.take(better))

    def _climb(self, state: State, radius: Integers, share: Floats, corners: Floats) -> None:
        """Maximise the value at fixed label shares, starting at ``share``, by trying points around it ever closer."""
        problem, rho = self.problem, state.rho[radius]
        reach = corners - share[:, None]
        size = problem.labels.size
        centre = share
        for _ in range(CLIMBS):
            offers = np.concatenate([f * reach for f in (-1.0, -0.5, 0.25, 0.5, 1.0)], axis=1)
            tried = np.concatenate([centre[:, None], centre[:, None] + offers], axis=1)
            tried = np.maximum(tried, problem.labels.floors + 1e-12)
            tried = problem.labels.inside(tried)
            count = tried.shape[1]
            value = fixed_shares(problem, np.repeat(rho, count), tried.reshape(-1, size)).value.reshape(-1, count)
            best = value.argmax(axis=1)
            centre = tried[np.arange(len(rho)), best]
            reach = 0.3 * reach
        k = fixed_shares(problem, rho, centre).group_share
        plain = np.repeat(problem.ceiling[None], len(rho), axis=0)
        found = build_witnesses(problem, self._rates, rho, (k, centre), (plain, np.zeros(len(rho))), self.nearest)
        self._adopt(state, radius, found)

    def proof(self, rho: float, axis: Axis, splits: tuple[Cut | None, ...], leaves: Pieces) -> TiltedProof:
        """Write a tree down, with the lam that makes the bounds of its leaves least, and groups before labels."""
        problem, tau = self.problem, float(least_affinity(rho))
        w, centre, omega, level_mu, share_mu = (leaves.multipliers[name] for name in MULTIPLIERS)
        vertices = self._shares(leaves.corners)
        tilt = (1.0 - self.mixed) * ((vertices - centre[:, None]) @ w.swapaxes(-1, -2))
        with np.errstate(all="ignore"):
            gap = np.where(
                problem.upper.probability > 0, (w[:, None] - tilt[..., None])[..., None] - problem.upper.loss, 1.0
            )
            total = (problem.upper.probability / gap).sum(axis=(2, 3, 4)) - (vertices @ omega[..., None])[..., 0]
            most = total.max(axis=1) + np.where(omega.any(axis=1), problem.labels.support(omega, share_mu), 0.0)
            level = problem.groups.support(level_of(w, centre, self.mixed), level_mu)
            huge = 4.0 * (np.abs(level) + problem.scale) / max(tau, 1e-9)
            lam = np.where(most > 0, 2.0 * tau / np.where(most > 0, most, 1.0), huge)
        lam = np.where(np.isfinite(lam), lam, 0.0)
        times = np.square(lam)[:, None] / 4
        mu = level_mu, times * share_mu
        if axis == "group":
            w, mu = w.swapaxes(1, 2), mu[::-1]
        multipliers = w, centre, np.zeros_like(centre), times * omega, lam, *mu
        return TiltedProof(axis, problem.labels.floors, splits, *multipliers, ("none",) * len(lam))

    def _cuts(self, state: State) -> Integers:
        """How often to halve each piece."""
        return plan_cuts(state, self.problem.scale, self.problem.labels.size, self.tol, self.budget)


def plan_cuts(state: State, scale: float, size: int, tol: float, budget: int) -> Integers:
    """How often to halve each piece: those that keep the gap open, by the error's second order in the width."""
    pieces = state.forest.pieces
    attained = state.witness.loss[pieces.radius]
    goal = np.minimum(attained + 0.9 * tol, scale)
    wanting = np.flatnonzero(pieces.bound > goal)
    wanting = wanting[np.ptp(pieces.corners[wanting], axis=1).max(axis=1) > SMALLEST_EDGE]
    wanting = wanting[np.lexsort((-pieces.bound[wanting], pieces.radius[wanting]))]  # by radius, worst first
    excess = np.clip((pieces.bound[wanting] - attained[wanting]) / tol, 1.0, 1e9)
    deepest = DEEPEST_CUT[min(size, 4)]
    times = np.clip(np.ceil(0.5 * np.log2(excess)), 1, deepest).astype(np.int64)
    # Within the budget of each radius: count what it would have after each cut.
    radius = pieces.radius[wanting]
    added = np.cumsum(2**times - 1)
    before = np.concatenate([[0], added])[np.searchsorted(radius, radius)]
    room = budget - np.bincount(pieces.radius)[radius]
    cuts = np.zeros(len(pieces), dtype=np.int64)
    cuts[wanting] = np.where(added - before <= room, times, 0)
    return cuts
