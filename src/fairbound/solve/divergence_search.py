"""Branch and bound over the shares of one side for a divergence other than Hellinger's.

For these divergences the value at fixed shares is not known to be concave in them, so the simplex of shares is
cut into pieces under general shifting too, each with its own multipliers (docs/theory.md, "Pieces"). What a metric is
made of is searched together: only the worst of its statements counts, so the worst piece of all is cut next. The search
may stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.problem.divergences import Divergence
from fairbound.solve.answer import Answer
from fairbound.solve.cone_pieces import FEW_ATOMS
from fairbound.solve.conjugate_bounds import single_bound
from fairbound.solve.divergence_witness import Attaining
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, TiltedProof
from fairbound.solve.tree import Forest
from fairbound.solve.ways import FIRST_CAP, LAST_CAP, SHIFTS, Proved, Way
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground, single_multipliers

#: A piece with no edge longer than this (in barycentric coordinates) is not cut any more.
SMALLEST_EDGE = 2.0**-30

#: A search is given up that has hardly come closer in so many rounds (for each dimension): in one all pieces are cut
#: that keep the gap open.
PATIENCE = 10

#: Where density ratios are limited shares that some Q has may lie apart, and it takes many halvings to find out where
#: there is none.
PATIENCE_BETWEEN = 25

#: Of the pieces that keep a gap open those are cut whose bound lies in this upper part of it, and so many at most.
UPPER, MOST_CUT = 0.5, 8

#: Programs of few atoms, for each piece of the budget, that a search may take.
MOST_WORK = 4.0

#: While a gap is larger than this, in units of the largest ceiling, programs have few atoms.
ROUGH = 2e-3

#: A piece is cut where a worst case was found if that is so far from both of its ends, in units of its length.
INSIDE = 1e-3

#: A group with less than this share counts as emptied where a worst case is looked for.
EMPTIED = 1e-6

#: About how long a search may take if nothing is said, and what a leaf costs: its programs, and the cones in them.
SECONDS = 5.0
PER_LEAF = 4e-3
PER_CONE = 1.5e-4


def usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most."""
    smaller = min(problem.groups.size, problem.labels.size)
    cells = problem.groups.size * problem.labels.size
    cones = smaller * cells * min(problem.upper.places, FEW_ATOMS)
    return int(np.clip(SECONDS / (PER_LEAF + PER_CONE * cones), 8, 1000))


#: What the pieces carry: multipliers, and the number of the way that they belong to.
MULTIPLIERS = ("w", "centre", "omega", "lam", "way")


@dataclass(frozen=True)
class Statement:
    """What is to be bounded, with the searched shares as labels.

    Attributes
    ----------
    ways
        How it may be proved: the direct one first, the one that always proves something last.
    nearest
        The nearest distribution in question.
    attaining
        Builds worst cases.
    spots
        Shares (of both sides) at which one is looked for before anything is solved.
    axis
        Which shares are searched.
    top
        No bound has to be larger.
    """

    ways: tuple[Way, ...]
    nearest: NearestFair
    attaining: Attaining
    spots: tuple[tuple[Floats, Floats], ...]
    axis: Axis
    top: float = np.inf

    @cached_property
    def problem(self) -> Problem:
        """The values as they are."""
        return self.ways[0].problem

    def way_at(self, spot: Floats) -> Way:
        """Return the way that is exact at some shares: relaxed where they are next to none."""
        emptied = [way for way in self.ways if way.emptied and (spot[list(way.emptied)] < EMPTIED).all()]
        return max(emptied, key=lambda way: len(way.emptied), default=self.ways[0])


@dataclass(eq=False)
class Search:
    """The search for one statement at one radius: pieces, what is proved of them, and what was found."""

    statement: Statement
    rho: float
    tol: float
    forest: Forest = field(init=False)
    witness: Witness = field(init=False)
    fresh: Integers = field(init=False)
    round: float = 0.0
    work: float = 0.0
    idle: int = 0
    rest: int = 0
    gaps: dict[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with what is attained near the nearest distribution, and with the largest value there is."""
        one, problem = self.statement, self.statement.problem
        s, c = problem.groups.size, problem.labels.size
        self.forest = Forest(1, c, dict(zip(MULTIPLIERS, ((s, c), (c,), (c,), (), ()), strict=True)))
        found = [one.attaining.witness(self.rho, *spot) for spot in one.spots]
        self.witness = max(found, key=lambda witness: witness.loss)
        self.fresh = np.arange(1)
        self._start()

    @property
    def bound(self) -> float:
        """What is proved."""
        return min(float(self.forest.pieces.bound.max()), self.statement.top)

    @property
    def _cap(self) -> float:
        """How steep the value may be in rho where it matters; more only serves to discard infeasible pieces.

        Where whole regions of shares come into the ball at once, as under trimming, it jumps: no limit is too high.
        """
        divergence = self.statement.attaining.divergence
        if divergence.jumps and not divergence.escapes:
            return LAST_CAP
        return float(np.clip(10.0 / max(self.rho - self.statement.nearest.distance, 1e-9), FIRST_CAP, LAST_CAP))

    def _start(self) -> None:
        """Give the root the multipliers of a ball that holds everything: the largest value there is."""
        last, pieces = len(self.statement.ways) - 1, self.forest.pieces
        way = self.statement.ways[last]
        problem = way.problem
        seen = np.where(problem.upper.probability > 0, problem.upper.loss, 0.0).max()
        top = float(problem.ceiling.max() if way.divergence.escapes else seen)
        least = 1e-3 * self.tol
        pieces.multipliers["w"][:], pieces.multipliers["centre"][:] = top + least, 1.0 / problem.labels.size
        pieces.multipliers["lam"][:], pieces.multipliers["way"][:] = 0.01 * least / (1.0 + self.rho), last
        w, centre, omega, lam, _ = (pieces.multipliers[name] for name in MULTIPLIERS)
        pieces.bound[:] = way.bounds(self.rho, self._shares(pieces.corners), (w, centre, omega, lam))

    def _shares(self, corners: Floats) -> Floats:
        labels = self.statement.problem.labels
        return labels.floors + labels.spread * corners

    def step(self, goal: float, budget: int) -> bool:
        """Solve new pieces and look for worse cases; then cut the worst. Return whether anything is left to do."""
        goal = max(goal, self.witness.loss)
        pieces, cutoff = self.forest.pieces, goal + 0.8 * self.tol
        rough = self.bound > goal + ROUGH * self.statement.problem.scale
        for index in self.fresh[pieces.bound[self.fresh] > cutoff]:
            vertices = self._shares(pieces.corners[index])
            for number, way in enumerate(self.statement.ways):
                if not way.open_to(vertices):
                    continue
                found = way.prove(self.rho, vertices, cutoff, self._cap, rough=rough)
                self.work += found.work
                if number == 0 or found.bound < pieces.bound[index]:
                    pieces.guess[index] = found.by.label_share
                self._keep(int(index), number, found)
                if found.bound <= cutoff:
                    break
        self._improve(goal)
        goal = max(goal, self.witness.loss)
        gap = float(pieces.bound.max()) - goal
        self.gaps[self.round] = gap
        divergence = self.statement.attaining.divergence
        patience = PATIENCE_BETWEEN if divergence.jumps and not divergence.escapes else PATIENCE
        before = self.round - patience * (pieces.corners.shape[1] - 1)
        if gap > 0.9 * min((old for when, old in self.gaps.items() if when <= before), default=np.inf):
            return False  # close to the nearest distribution multipliers grow beyond what a solver finds
        cuts = self._cuts(goal, budget)
        self.round += cuts.sum() / max(1, (pieces.bound > goal + 0.9 * self.tol).sum())
        self.fresh = self.forest.cut(cuts, self._where())
        return len(self.fresh) > 0

    def _where(self) -> Floats | None:
        """Return where to cut pieces of two shares: at the worst case that was found, if it lies well inside."""
        pieces, labels = self.forest.pieces, self.statement.problem.labels
        if labels.size > 2:
            return None
        first = (self.witness.label_mass[0] - labels.floors[0]) / labels.spread
        low, high = pieces.corners[:, 0, 0], pieces.corners[:, 1, 0]
        part = (first - low) / np.where(high != low, high - low, 1.0)
        return np.where((part > INSIDE) & (part < 1 - INSIDE), part, 0.5)

    def _keep(self, index: int, number: int, found: Proved) -> None:
        by = found.by
        parts = by.w, by.centre, by.omega, np.array(by.lam), np.array(float(number))
        many = {name: part[None] for name, part in zip(MULTIPLIERS, parts, strict=True)}
        self.forest.pieces.keep(np.array([index]), np.array([found.bound]), many)

    def _improve(self, goal: float) -> None:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        pieces, one = self.forest.pieces, self.statement
        worst = int(pieces.bound.argmax())
        if pieces.bound[worst] <= goal + 0.1 * self.tol:
            return
        if self.rest > 0:
            self.rest -= 1
            return
        before = self.witness.loss
        labels = one.problem.labels
        share, corners = labels.inside(pieces.guess[worst]), self._shares(pieces.corners[worst])
        edges = labels.inside(corners[np.abs(corners - share).sum(axis=1).argsort()])
        edges = edges[: 2 if one.attaining.divergence.jumps else 1]  # often a corner is worst; of kinks, next to one
        for spot in (one.attaining.label_share(self.rho, share), *edges, *self._possible_spot(worst)):
            k = one.way_at(spot).shares(self.rho, spot, self._cap)
            if np.isfinite(k).all() and np.maximum(k, 0.0).any():
                found = one.attaining.witness(self.rho, k, spot)
                self.witness = max(self.witness, found, key=lambda witness: witness.loss)
        # A look that found nothing is followed by ever longer rests: it takes more than the pieces do.
        self.idle = 0 if self.witness.loss > before + 0.01 * self.tol else 2 * self.idle + 1
        self.rest = self.idle

    def _possible_spot(self, worst: int) -> list[Floats]:
        """Return the guess of the most promising piece in which some Q lies in the ball, unless it is the worst one.

        The worst case is often at the edge of what is possible, and the way from beyond it to the nearest distribution
        may lead through shares that no Q in the ball has.
        """
        pieces, one = self.forest.pieces, self.statement
        order = np.argsort(-pieces.bound, kind="stable")
        spots = one.problem.labels.inside(pieces.guess[order])
        fits = np.flatnonzero(one.attaining.possible(self.rho, spots))
        return [spots[fits[0]]] if len(fits) and order[fits[0]] != worst else []

    def _cuts(self, goal: float, budget: int) -> Integers:
        """Halve the pieces that keep the gap open, the worst first, within the budget."""
        pieces = self.forest.pieces
        least = goal + max(0.9 * self.tol, UPPER * (float(pieces.bound.max()) - goal))
        wanting = np.flatnonzero(pieces.bound > least)
        wanting = wanting[np.ptp(pieces.corners[wanting], axis=1).max(axis=1) > SMALLEST_EDGE]
        wanting = wanting[np.argsort(-pieces.bound[wanting], kind="stable")]
        cuts = np.zeros(len(pieces), dtype=np.int64)
        cuts[wanting[: min(MOST_CUT, max(0, budget - len(pieces)))]] = 1
        return cuts

    def answer(self, claim: float) -> Answer:
        """Write down what was found, with groups before labels, as the proof of a claim."""
        one = self.statement
        splits, leaves = next(iter(self.forest.trees()))
        w, centre, omega, lam, way = (leaves.multipliers[name] for name in MULTIPLIERS)
        ways = [one.ways[number] for number in way.astype(np.int64)]
        # what is relaxed altogether was solved as an expected value; in documents the claim is taken off it
        relaxed = np.array([way.relaxed == "both" for way in ways])
        w = w - np.where(relaxed, claim, 0.0)[:, None, None]
        first, second = (np.zeros((len(lam), side.multipliers)) for side in (one.problem.groups, one.problem.labels))
        witness = self.witness
        if one.axis == "group":
            w, first, second, witness = w.swapaxes(1, 2), second, first, witness.transposed
        multipliers = w, centre, np.zeros_like(centre), omega, lam, first, second
        floors = one.problem.labels.floors
        proof = TiltedProof(one.axis, floors, splits, *multipliers, tuple(way.relaxed for way in ways))
        return Answer(self.bound, witness, proof)


def search(
    statements: Sequence[Statement],
    rho: float,
    tol: float,
    budget: int,
    target: float | None = None,
) -> list[Answer]:
    """Search some statements at a radius until the worst of them is close to what is attained by any.

    With a target, which they then claim, only until it is plain on which side of it they are. ``budget`` pieces are
    used altogether, besides the root of each statement.
    """
    searches = [Search(one, rho, tol) for one in statements]
    left = list(searches)
    while left:
        goal = max(one.witness.loss for one in searches)
        bound = max(one.bound for one in searches)
        if target is not None and (bound <= target or goal > target):
            break
        worst = max(left, key=lambda one: one.bound)
        if worst.bound <= goal + 0.9 * tol:
            break
        spare = budget - sum(len(one.forest.pieces) - 1 for one in searches)
        if sum(one.work for one in searches) > MOST_WORK * budget + len(searches):
            spare = 0
        if not worst.step(goal, len(worst.forest.pieces) + spare - 1):
            left.remove(worst)
    return [one.answer(one.bound if target is None else max(one.bound, target)) for one in searches]


def free_answer(problem: Problem, divergence: Divergence, attaining: Attaining, rho: float) -> Answer:
    """Bound the loss over the whole ball, whatever the base rates, from the multipliers of its worst distribution."""
    eta, lam = single_multipliers(divergence, Ground.of(problem, divergence, upper=True), rho)
    tried = (eta[:, None] + problem.scale * SHIFTS).reshape(-1)
    steep = np.repeat(lam, len(SHIFTS))
    bound = single_bound(problem, divergence, np.full(len(steep), rho), tried, steep)
    best = int(bound.argmin())
    proof = single_leaf(problem, float(tried[best]), float(steep[best]), relaxed=False)
    return Answer(float(bound[best]), attaining.free_witness(rho), proof)


def single_leaf(problem: Problem, eta: float, lam: float, *, relaxed: bool) -> TiltedProof:
    """Return the proof that one pair of multipliers is for the whole ball, whatever the base rates."""
    labels = problem.labels.size
    even, none = np.full((1, labels), 1.0 / labels), np.zeros((1, labels))
    first, second = (np.zeros((1, side.multipliers)) for side in (problem.groups, problem.labels))
    multipliers = np.full((1, *problem.mass.shape), eta), even, none, none, np.array([lam]), first, second
    return TiltedProof("label", np.zeros(labels), (None,), *multipliers, ("both" if relaxed else "none",))
