"""Branch and bound over the shares of the smaller side for a divergence other than Hellinger's.

For these divergences the value at fixed label shares is not known to be concave in them, so the simplex of shares is
cut into pieces under general shifting too, each with its own multipliers (docs/theory.md, "Pieces"). The search may
stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.problem.divergences import TOTAL_VARIATION, TRIMMING, Divergence
from fairbound.solve.answer import Answer
from fairbound.solve.cone_pieces import MOST_ATOMS, ConeMultipliers, ConePieces
from fairbound.solve.conjugate_bounds import moving_bound, single_bound
from fairbound.solve.divergence_witness import Attaining
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, Cut, TiltedProof
from fairbound.solve.tree import Forest, Pieces
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground, single_multipliers

#: By number of labels (4 or more are alike): how often the root is halved at the start.
FIRST_CUT = {2: 2, 3: 2, 4: 3}

#: A piece with no edge longer than this (in barycentric coordinates) is not cut any more.
SMALLEST_EDGE = 2.0**-30

#: Pieces are evaluated in batches of at most this many terms.
BATCH = 2_000_000

#: A search is given up that has hardly come closer in so many rounds (for each dimension).
PATIENCE = 5

#: Trimming: shares that some Q has may lie apart, and it takes many halvings to find out where there is none.
PATIENCE_BETWEEN = 25

#: The limit on lam, in units of the largest ceiling, at first and at most.
FIRST_CAP = 100.0
LAST_CAP = 1e6

#: How often a piece is solved at most, with ever higher limits.
MOST_TRIALS = 5

#: Multipliers are raised by so much, in units of the largest ceiling, until they are feasible.
SHIFTS = np.array([0.0, 1e-14, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5])


#: About how long a search may take if nothing is said, and what a leaf costs: its programs, and the cones in them.
SECONDS = 5.0
PER_LEAF = 4e-3
PER_CONE = 1.5e-4


def usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most."""
    smaller = min(problem.groups.size, problem.labels.size)
    cells = problem.groups.size * problem.labels.size
    cones = smaller * cells * min(problem.upper.places, MOST_ATOMS)
    return int(np.clip(SECONDS / (PER_LEAF + PER_CONE * cones), 8, 1000))


@dataclass(frozen=True)
class DivergenceSearch:
    """The search over label shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius."""

    problem: Problem
    divergence: Divergence
    nearest: NearestFair
    tol: float
    budget: int

    @cached_property
    def _attaining(self) -> Attaining:
        return Attaining(self.problem, self.divergence, self.nearest)

    @cached_property
    def _programs(self) -> ConePieces:
        return ConePieces(self.problem, self.divergence)

    def run(
        self, rhos: Floats, axis: Axis, target: float | None = None, known: Floats | float = -np.inf
    ) -> list[Answer]:
        """Search the radii one after the other; with a target only until it is plain on which side of it they are.

        Bounds need not come close to less than ``known``: values that are attained elsewhere.
        """
        each = np.broadcast_to(known, len(rhos))
        return [self._search(float(rho), axis, target, float(goal)) for rho, goal in zip(rhos, each, strict=True)]

    def free(self, rhos: Floats) -> list[Answer]:
        """Solve without equal base rates: one pair of multipliers, no search."""
        return [self._without_equal_rates(float(rho)) for rho in rhos]

    def _search(self, rho: float, axis: Axis, target: float | None, known: float) -> Answer:
        problem, size = self.problem, self.problem.labels.size
        s, c = problem.groups.size, size
        forest = Forest(1, size, {"w": (s, c), "centre": (c,), "omega": (c,), "lam": (), "relaxed": (2,)})
        first = min(FIRST_CUT[min(size, 4)], int(np.log2(self.budget)))
        forest.cut(np.array([first]))
        fresh = np.arange(len(forest.pieces))
        witness = self._first_witness(rho)
        self._start(forest, rho)
        fresh = fresh[forest.pieces.bound > max(witness.loss, known) + 0.9 * self.tol]
        gaps: list[float] = []
        while len(fresh):
            self._solve(forest, fresh, rho, max(witness.loss, known))
            witness = self._improved(forest, rho, witness, known)
            goal = max(witness.loss, known)
            bound = float(forest.pieces.bound.max())
            if target is not None and (bound <= target or witness.loss > target):
                break
            gaps.append(bound - goal)
            patience = (PATIENCE_BETWEEN if self.divergence is TRIMMING else PATIENCE) * (size - 1)
            if len(gaps) > patience and gaps[-1] > 0.9 * gaps[-1 - patience]:
                break  # close to the nearest distribution multipliers grow beyond what a solver finds
            fresh = forest.cut(self._cuts(forest, goal))
        tree = next(iter(forest.trees()))
        proof = self._proof(axis, tree, self._words(tree[1]))
        return Answer(float(forest.pieces.bound.max()), witness, proof)

    def _proof(self, axis: Axis, tree: tuple[tuple[Cut | None, ...], Pieces], relaxed: Sequence[str]) -> TiltedProof:
        """Write a tree down, with groups before labels; ``relaxed`` leaves have multipliers of their own claim."""
        splits, leaves = tree
        w, centre, omega, lam = (leaves.multipliers[name] for name in ("w", "centre", "omega", "lam"))
        w = w - np.where(np.array(relaxed) == "both", leaves.bound.max(), 0.0)[:, None, None]
        first, second = (np.zeros((len(lam), side.multipliers)) for side in (self.problem.groups, self.problem.labels))
        if axis == "group":
            w, first, second = w.swapaxes(1, 2), second, first
        multipliers = w, centre, np.zeros_like(centre), omega, lam, first, second
        return TiltedProof(axis, self.problem.labels.floors, splits, *multipliers, tuple(relaxed))

    def _words(self, leaves: Pieces) -> list[str]:
        """Say which means of the leaves are relaxed: of expected losses there are none."""
        return ["none"] * len(leaves)

    def _first_witness(self, rho: float) -> Witness:
        return self._attaining.witness(rho, self.nearest.group_mass, self.nearest.label_mass)

    def _start(self, forest: Forest, rho: float) -> None:
        """Give all pieces the multipliers of a ball that holds everything: the largest loss there is."""
        problem, pieces = self.problem, forest.pieces
        seen = np.where(problem.upper.probability > 0, problem.upper.loss, 0.0).max()
        top = float(problem.ceiling.max() if self.divergence.escapes else seen)
        least = 1e-3 * self.tol
        pieces.multipliers["w"][:] = top + least
        pieces.multipliers["centre"][:] = 1.0 / problem.labels.size
        pieces.multipliers["lam"][:] = 0.01 * least / (1.0 + rho)
        multipliers = (
            pieces.multipliers["w"],
            pieces.multipliers["centre"],
            pieces.multipliers["omega"],
            pieces.multipliers["lam"],
        )
        pieces.bound[:] = self._bounds(rho, self._shares(pieces.corners), multipliers)

    def _shares(self, corners: Floats) -> Floats:
        return self.problem.labels.floors + self.problem.labels.spread * corners

    def _cap(self, rho: float) -> float:
        """How steep the value may be in rho where it matters; more only serves to discard infeasible pieces."""
        return float(np.clip(10.0 / max(rho - self.nearest.distance, 1e-9), FIRST_CAP, LAST_CAP))

    def _program(
        self, rho: float, vertices: Floats, cutoff: float
    ) -> tuple[ConeMultipliers, tuple[float, Floats, float]]:
        """Solve one piece with a limit on lam that is raised only where it binds: solvers like small numbers.

        A solver that gave up may do better with another limit.
        """
        cap, most, scale = FIRST_CAP, self._cap(rho), self.problem.scale
        found: tuple[ConeMultipliers, tuple[float, Floats, float]] | None = None
        for trial in range(MOST_TRIALS):
            best = self._programs.solve(rho, vertices, cap)
            proved = self._mended(rho, vertices, best)
            if found is None or proved[0] < found[1][0]:
                found = best, proved
            binding = best.lam >= 0.5 * cap * scale and cap < most
            if proved[0] <= cutoff or not (binding or (trial == 0 and not best.solved)):
                break
            cap = max(min(30.0 * cap, most), 2.0 * cap)
        return found or (best, proved)

    def _solve(self, forest: Forest, left: Integers, rho: float, goal: float) -> None:
        """Find the bound of new pieces: from the parent's multipliers where they do, else from the best ones."""
        pieces = forest.pieces
        cutoff = goal + 0.8 * self.tol
        multipliers = tuple(
            part[left]
            for part in (
                pieces.multipliers["w"],
                pieces.multipliers["centre"],
                pieces.multipliers["omega"],
                pieces.multipliers["lam"],
            )
        )
        bound = self._bounds(rho, self._shares(pieces.corners[left]), multipliers)
        pieces.bound[left] = np.minimum(bound, pieces.bound[left])
        for index in left[pieces.bound[left] > cutoff]:
            vertices = self._shares(pieces.corners[index])
            best, (proved, w, lam) = self._program(rho, vertices, cutoff)
            pieces.guess[index] = best.label_share
            if proved < pieces.bound[index]:
                pieces.bound[index] = proved
                (
                    pieces.multipliers["w"][index],
                    pieces.multipliers["centre"][index],
                    pieces.multipliers["omega"][index],
                ) = w, best.centre, best.omega
                pieces.multipliers["lam"][index] = lam

    def _bounds(
        self,
        rho: float,
        vertices: Floats,
        multipliers: tuple[Floats, ...],
        counted: tuple[Floats, Floats] | None = None,
    ) -> Floats:
        """Evaluate bounds in batches; ``counted`` as in :func:`fairbound.solve.conjugate_bounds.moving_bound`."""
        chunk = max(1, BATCH // (self.problem.upper.probability.size * vertices.shape[1]))
        parts = []
        for start in range(0, len(vertices), chunk):
            part = slice(start, start + chunk)
            w, centre, omega, lam = (m[part] for m in multipliers)
            radii = np.full(len(lam), rho)
            rest = None if counted is None else (counted[0][part], counted[1][part])
            parts.append(
                moving_bound(self.problem, self.divergence, radii, vertices[part], (w, centre, omega, lam), rest)
            )
        return np.concatenate(parts)

    def _mended(self, rho: float, vertices: Floats, best: ConeMultipliers) -> tuple[float, Floats, float]:
        """Return the bound that multipliers prove once they are raised enough to be feasible.

        A solver's multipliers may miss the ceilings a little, or be a little too low for very steep conjugates;
        raising all of them alike costs what they are raised by.
        """
        if not (np.isfinite(best.w).all() and np.isfinite(best.lam) and np.isfinite(best.omega).all()):
            return np.inf, best.w, best.lam
        scale = self.problem.scale
        lam = max(best.lam, 1e-12 * scale)
        shifts = SHIFTS * max(scale, lam, float(np.abs(best.w).max()))
        if self.divergence is TOTAL_VARIATION:
            tilt = (vertices - best.centre) @ best.w.T
            eta = best.w - tilt[..., None]
            missing = max(0.0, float((self.problem.ceiling - lam - eta).max()))
            shifts = missing + shifts[:4]
        elif lam > 1e-4 * scale:
            shifts = shifts[:1]
        count = len(shifts)
        w = best.w + shifts[:, None, None]
        many = (np.repeat(part[None], count, axis=0) for part in (best.centre, best.omega))
        bound = self._bounds(rho, np.repeat(vertices[None], count, axis=0), (w, *many, np.full(count, lam)))
        winner = int(bound.argmin())
        return float(bound[winner]), w[winner], lam

    def _improved(self, forest: Forest, rho: float, witness: Witness, known: float) -> Witness:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        pieces = forest.pieces
        worst = int(pieces.bound.argmax())
        if pieces.bound[worst] <= max(witness.loss, known) + 0.1 * self.tol:
            return witness
        labels = self.problem.labels
        share, corners = labels.inside(pieces.guess[worst]), self._shares(pieces.corners[worst])
        edges = labels.inside(corners[np.abs(corners - share).sum(axis=1).argsort()])
        edges = edges[: 2 if self.divergence.jumps else 1]  # the worst case is often a corner; of kinks, next to one
        for spot in (self._attaining.label_share(rho, share), *edges, *self._possible_spot(forest, rho, worst)):
            k = self._group_share(rho, spot)
            if not (np.isfinite(k).all() and np.maximum(k, 0.0).any()):
                continue
            found = self._attaining.witness(rho, k, spot)
            if found.loss > witness.loss:
                witness = found
        return witness

    def _group_share(self, rho: float, spot: Floats) -> Floats:
        """Return the group shares of a worst case with these label shares, as the solver has them."""
        return self._program(rho, spot[None], -np.inf)[0].group_share

    def _possible_spot(self, forest: Forest, rho: float, worst: int) -> list[Floats]:
        """Return the guess of the most promising piece in which some Q lies in the ball, unless it is the worst one.

        The worst case is often at the edge of what is possible, and the way from beyond it to the nearest distribution
        may lead through shares that no Q in the ball has.
        """
        pieces = forest.pieces
        order = np.argsort(-pieces.bound, kind="stable")
        spots = self.problem.labels.inside(pieces.guess[order])
        fits = np.flatnonzero(self._attaining.possible(rho, spots))
        return [spots[fits[0]]] if len(fits) and order[fits[0]] != worst else []

    def _cuts(self, forest: Forest, goal: float) -> Integers:
        """Halve the pieces that keep the gap open, the worst first, within the budget."""
        pieces = forest.pieces
        wanting = np.flatnonzero(pieces.bound > goal + 0.9 * self.tol)
        wanting = wanting[np.ptp(pieces.corners[wanting], axis=1).max(axis=1) > SMALLEST_EDGE]
        wanting = wanting[np.argsort(-pieces.bound[wanting], kind="stable")]
        cuts = np.zeros(len(pieces), dtype=np.int64)
        cuts[wanting[: max(0, self.budget - len(pieces))]] = 1
        return cuts

    def _without_equal_rates(self, rho: float) -> Answer:
        """Bound the loss over the whole ball from the multipliers of its worst distribution."""
        eta, lam = single_multipliers(self.divergence, Ground.of(self.problem, self.divergence, upper=True), rho)
        tried = (eta[:, None] + self.problem.scale * SHIFTS).reshape(-1)
        steep = np.repeat(lam, len(SHIFTS))
        bound = single_bound(self.problem, self.divergence, np.full(len(steep), rho), tried, steep)
        best = int(bound.argmin())
        proof = single_leaf(self.problem, float(tried[best]), float(steep[best]), relaxed=False)
        return Answer(float(bound[best]), self._attaining.free_witness(rho), proof)


def single_leaf(problem: Problem, eta: float, lam: float, *, relaxed: bool) -> TiltedProof:
    """Return the proof that one pair of multipliers is for the whole ball, whatever the base rates."""
    labels = problem.labels.size
    even, none = np.full((1, labels), 1.0 / labels), np.zeros((1, labels))
    first, second = (np.zeros((1, side.multipliers)) for side in (problem.groups, problem.labels))
    multipliers = np.full((1, *problem.mass.shape), eta), even, none, none, np.array([lam]), first, second
    return TiltedProof("label", np.zeros(labels), (None,), *multipliers, ("both" if relaxed else "none",))
