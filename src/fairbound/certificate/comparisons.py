"""All pairs of groups: a few are solved, and their multipliers prove what there is to be proved of all others.

The largest difference between two groups is one of many. What is proved of one pair says something of every other pair
(:mod:`fairbound.certificate.roles`); where that is not enough, the worst of them is solved next. So of the pairs of 50
groups two or three are solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.certificate import Supporting
from fairbound.certificate.checked_statement import precisely, statement_of
from fairbound.certificate.roles import Laws, Roles, cuts_of, tree
from fairbound.problem.metrics import means_on_data
from fairbound.problem.objective import Objective
from fairbound.solve.answer import Answer
from fairbound.solve.comparing import compare
from fairbound.solve.proof import written
from fairbound.solve.solver import Solver
from fairbound.verify import document
from fairbound.verify.balls import largest, rounded_up
from fairbound.verify.leaves import excesses
from fairbound.verify.statement import Statement

#: A claim is raised by so much, in tolerances, rather than that another pair is solved; and how closely pairs are
#: solved, so that this, and what is lost where pieces of several pairs meet, leaves the gap below the tolerance.
SLACK, CLOSER = 0.05, 0.8

#: So many pairs are solved at most; if that is not enough, and there are no more pairs than these, all are.
MOST_SOLVED, MOST_DIRECT = 24, 400

Pair = tuple[int, int]


@dataclass(frozen=True)
class Settled:
    """What is proved of a metric at a radius: the claim, answers about some pairs, and what proves all others."""

    bound: float
    shown: list[tuple[Solver, Answer]]
    supporting: list[Supporting]


@dataclass
class _Radius:
    """What is known of one kind of comparisons at a radius.

    Ratios are of at least a ``factor`` if no difference is positive whose first mean counts so often.
    """

    laws: Laws
    rho: float
    factor: float = 1.0
    solved: dict[Pair, Answer] = field(default_factory=dict)
    proofs: dict[Pair, document.Proof] = field(default_factory=dict)
    sets: list[Roles] = field(default_factory=list)
    bounds: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    proved: dict[Pair, float] = field(default_factory=dict)
    values: dict[Pair, float] = field(default_factory=dict)

    def add(self, pair: Pair, answer: Answer, value: float, proof: document.Proof, bound: float) -> None:
        """Take what was attained by a pair, and what was proved."""
        self.solved[pair], self.proofs[pair] = answer, proof
        self.values[pair], self.proved[pair] = value, bound

    def spread(self, pairs: Sequence[Pair], *, ratio: bool) -> None:
        """Make sets of what was proved of some pairs; those that there are stay."""
        for pair in pairs:
            self.sets += Roles.of_pair(self.laws, self.proofs[pair], pair, 0.0 if ratio else self.proved[pair])
        if self.sets:
            self.bounds = np.max(_best(self.laws, self.sets), axis=0)

    def open(self, enough: float) -> Pair | None:
        """Return the pair of which least is proved, of those that are not solved, if that is not enough."""
        left = self.bounds.copy()
        left[tuple(zip(*self.solved, strict=True))] = -np.inf
        a, b = np.unravel_index(int(left.argmax()), left.shape)
        return (int(a), int(b)) if left[a, b] > enough else None

    @property
    def own(self) -> float:
        """The largest difference that is proved of a pair by itself."""
        return max(self.proved.values())

    @property
    def attained(self) -> float:
        """The largest difference that was found."""
        return max(self.values.values())


def _best(laws: Laws, sets: Sequence[Roles]) -> Floats:
    """Return what several sets prove of all pairs on their common pieces, (L, S, S)."""
    cuts = cuts_of(sets)
    found: Floats = np.min([(one.on(cuts) if len(cuts) else one).bounds(laws) for one in sets], axis=0)
    return found


class Kind:
    """Comparisons of every two groups among the same rows."""

    def __init__(self, first: Solver, every: Objective) -> None:
        self.first, self.every = first, every
        self.statement = self._stated(1.0)
        means = means_on_data(first.population, every)
        #: Where the difference is largest on the data.
        self.likely = int(np.nanargmax(means)), int(np.nanargmin(means))

    def _stated(self, factor: float) -> Statement:
        with precisely():
            return statement_of(self.first.about(self.every), 0.0, factor)

    def _laws(self, statement: Statement, rho: float) -> Laws:
        found = Laws.of(statement, self.first.problem.groups, self.first.problem.labels)
        return replace(found, affinity=1.0 - rho * rho)

    def solver(self, pair: Pair) -> Solver:
        """Return the solver of a pair."""
        return self.first.about(replace(self.every, plus=pair[0], minus=pair[1]))

    def settle(self, rhos: Floats, incumbent: Floats) -> list[_Radius]:
        """Solve pairs until at each radius one of them is the worst, or no worse than the incumbent."""
        laws = self._laws(self.statement, 0.0)
        found = [_Radius(replace(laws, affinity=1.0 - rho * rho), rho) for rho in rhos.tolist()]
        asked = {self.likely if self.likely[0] != self.likely[1] else (0, 1): list(range(len(found)))}
        for _ in range(MOST_SOLVED):
            for pair, places in asked.items():
                self.solve(pair, [found[place] for place in places], incumbent[places])
            asked = {}
            for place, here in enumerate(found):
                least = 0.0 if self.every.ratio else max(here.own, incumbent[place])
                worst = here.open(least + SLACK * self.first.question.tol) if here.sets else None
                if worst is not None:
                    asked.setdefault(worst, []).append(place)
            if not asked:
                break
        return found

    def solve(self, pair: Pair, places: Sequence[_Radius], incumbent: Floats) -> None:
        """Solve a pair at some radii."""
        solver, rhos = self.solver(pair), np.array([here.rho for here in places])
        question = solver.question
        answers = compare([solver.compared], [rhos], CLOSER * question.tol, solver.budget, incumbent)[0]
        for here, answer in zip(places, answers, strict=True):
            here.add(pair, answer, solver.attained(answer), written(answer.proof), answer.bound)
            if self.every.ratio and here.proved[pair] < here.factor:
                self._lower(here, here.proved[pair])
            else:
                here.spread([pair], ratio=self.every.ratio)

    def _lower(self, here: _Radius, factor: float) -> None:
        """Ask for ratios of a smaller factor: all multipliers are made anew."""
        here.factor, here.laws, here.sets = factor, self._laws(self._stated(factor), here.rho), []
        here.spread(list(here.proofs), ratio=True)

    def support(self, here: _Radius, claim: float) -> Supporting:
        """Return the proof of all pairs at a radius, with no more multipliers than a claim needs."""
        if self.every.ratio:
            return self._support_of_ratio(here)
        proof = document.Proof("part", *self._pieces(here, claim))
        with precisely():
            statement = self.statement.at(here.rho)
            bound = rounded_up(claim + largest(excesses(statement, proof, claim)))
            return Supporting(self.every, min(bound, rounded_up(statement.top)), proof)

    def _support_of_ratio(self, here: _Radius) -> Supporting:
        """Lower the factor until it is proved of all pairs."""
        proof, step = document.Proof("part", *self._pieces(here, 0.0)), 1e-13
        while True:
            statement = self._stated(here.factor).at(here.rho)
            with precisely():
                excess = largest(excesses(statement, proof, 0.0))
            if excess <= 0 or here.factor == 0.0:
                return Supporting(self.every, here.factor, proof)
            here.factor = max(0.0, here.factor - max(step, 2.0 * float(excess.upper())))
            step *= 4.0

    def _pieces(
        self, here: _Radius, claim: float
    ) -> tuple[list[float], list[document.Split | None], list[document.Leaf]]:
        """Return floors, the tree, and its leaves."""
        floors = np.min([proof.floors for proof in here.proofs.values()], axis=0).tolist()
        single = [one for one in here.sets if one.bounds(here.laws).max() <= claim]
        sets = single[-1:] or here.sets
        cuts = cuts_of(sets)
        places = [one.places(cuts) if len(cuts) else np.zeros(1, dtype=np.int64) for one in sets]
        sets = [one.on(cuts) if len(cuts) else one for one in sets]
        proved = np.array([one.bounds(here.laws) for one in sets])
        leaves: list[document.Leaf] = []
        ends: list[int] = []
        before: list[int] = []
        for piece in range(proved.shape[1]):
            one = proved[:, piece]
            # What holds on two pieces with the same multipliers, holds on both together.
            same = bool(before) and all(places[n][piece] == places[n][piece - 1] for n in before)
            if same and one[before].min(axis=0).max() <= max(claim, float(one.min(axis=0).max())):
                ends[-1] = piece + 1
                continue
            before = _needed(one, claim)
            ends.append(piece + 1)
            leaves.append(document.Pairwise("P", [sets[n].written(piece) for n in before]))
        return floors, tree(cuts[[0, *ends]] if len(cuts) else cuts), leaves


def _needed(proved: Floats, claim: float) -> list[int]:
    """Return which sets (N, S, S) are needed for a claim, or for what all of them prove."""
    claim = max(claim, float(proved.min(axis=0).max()))
    kept = list(range(len(proved)))
    for number in range(len(proved)):
        others = [n for n in kept if n != number]
        if others and proved[others].min(axis=0).max() <= claim:
            kept = others
    return kept


def settle(first: Solver, objectives: Sequence[Objective], rhos: Floats) -> list[Settled] | None:
    """Settle all comparisons at feasible radii; None if to solve one after the other is better.

    Rare labels come first: few rows are moved most easily.
    """
    mass = first.population.mass
    kinds = [Kind(first, every) for every in dict.fromkeys(one.every for one in objectives)]
    kinds.sort(key=lambda kind: 0.0 if kind.every.label is None else float(mass[:, kind.every.label].min()))
    ratio = objectives[0].ratio
    incumbent, found = np.full(len(rhos), -np.inf), []
    for kind in kinds:
        found.append(kind.settle(rhos, incumbent))
        if not all(here.sets for here in found[-1]):
            return None
        incumbent = np.maximum(incumbent, [here.attained for here in found[-1]])
    claims = [max(max(own.own, float(own.bounds.max())) for own in here) for here in zip(*found, strict=True)]
    if len(objectives) <= MOST_DIRECT:
        best = [max(one[place].own for one in found) for place in range(len(rhos))]
        missing = [float(found[0][n].bounds.max()) if ratio else claims[n] - best[n] for n in range(len(rhos))]
        if max(missing) > first.question.tol:
            return None
    way, shown = -1.0 if ratio else 1.0, set()
    for place in range(len(rhos)):
        values = [
            (way * value, number, pair) for number, one in enumerate(found) for pair, value in one[place].values.items()
        ]
        shown.add(max(values)[1:])
    for number, pair in sorted(shown):
        places = [place for place, here in enumerate(found[number]) if pair not in here.solved]
        if places:
            kinds[number].solve(pair, [found[number][place] for place in places], incumbent[places])
    settled = []
    for place, claim in enumerate(claims):
        supporting = [kind.support(one[place], claim) for kind, one in zip(kinds, found, strict=True)]
        own = [(kinds[n].solver(pair), found[n][place].solved[pair]) for n, pair in sorted(shown)]
        bounds = [found[n][place].proved[pair] for n, pair in shown] + [one.bound for one in supporting]
        settled.append(Settled(min(bounds) if ratio else max(bounds), own, supporting))
    return settled
