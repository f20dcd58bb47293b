"""What a divergence other than Hellinger's is asked: the statements to search (docs/theory.md).

The mean of one group, or of a cell, is found for both shifts. Under sensitive shifting a cell has one mean, so that
every metric is a function of the label shares alone: an expected loss, of whatever group. Under general shifting a
difference is searched over the group shares: a leaf proves

    E_Q[(v - t) k_b 1_a - v k_a 1_b] <= 0

for every Q in question whose group shares lie in its piece. Where a group can be emptied that is zero whatever t is. As
base rates are equal, the group's mean may then be replaced by the largest that its label shares allow: one of the two
means is *relaxed*, and what is left is the mean of one group; or both are (docs/theory.md, "Means under other
divergences").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import margin
from fairbound.data.atoms import Atoms
from fairbound.problem.divergences import Divergence
from fairbound.solve.answer import Answer
from fairbound.solve.comparing import Compared
from fairbound.solve.conditioning import Given
from fairbound.solve.conjugate_bounds import single_bound
from fairbound.solve.divergence_search import Statement, free_answer, search, single_leaf
from fairbound.solve.divergence_witness import Attaining
from fairbound.solve.nearest import NearestFair
from fairbound.solve.nearest_product import nearest_product
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis
from fairbound.solve.ratios import LOWERINGS, TRIALS, attained_ratio
from fairbound.solve.ways import SHIFTS, Way
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground, single_multipliers

#: Steps of Dinkelbach's method at most; by how much the mean is raised until it is proved, in tolerances.
STEPS, RAISES = 40, (0.1, 0.3, 0.9, 10.0, 1e3, 1e5)

#: Means are taken over something: where a share would vanish, about this much of it is kept.
KEPT_SHARE = 1e-9


@dataclass(frozen=True)
class Losses:
    """The expected loss of all in numbers, and the ball that it is asked of."""

    problem: Problem
    divergence: Divergence
    nearest: NearestFair
    axis: Axis

    def free(self, rho: float, tol: float) -> Answer:
        """Answer without equal base rates."""
        return free_answer(self.problem, self.divergence, self._attaining, rho)

    @property
    def _attaining(self) -> Attaining:
        return Attaining(self.problem, self.divergence, self.nearest)

    def statement(self) -> Statement:
        """Return what is to be searched."""
        problem, near = _turned(self.problem, self.nearest, self.axis)
        way = Way(problem, self.divergence)
        spots = ((near.group_mass, near.label_mass),)
        return Statement(
            (way,), near, Attaining(problem, self.divergence, near), spots, self.axis, float(problem.ceiling.max())
        )


@dataclass(frozen=True)
class Means:
    """An objective in numbers, and the ball that it is asked of."""

    compared: Compared
    divergence: Divergence
    nearest: NearestFair
    axis: Axis

    def statement(self, factor: float = 1.0) -> Statement:
        """Return what is to be searched; what is added counts ``factor`` times."""
        problem = self.compared.problem(factor)
        single = self.compared.objective.minus is None
        inside = self.compared.shift != "sensitive"
        axis = "group" if inside and not single else self.axis
        problem, near = _turned(problem, self.nearest, axis)
        relaxed, _ = _turned(self._relaxed(self.compared.problem(factor)), self.nearest, axis)
        sign = self._sign.T if axis == "group" else self._sign
        given = Given(sign > 0) if single else Given(sign > 0, sign < 0)
        attaining = Attaining(problem, self.divergence, near, KEPT_SHARE)
        spots = (near.group_mass, near.label_mass), self._emptied(problem, given, near)
        both = Way(relaxed, self.divergence, None, "both", () if single or not inside else given.places)
        # A ratio's claim is a factor: multipliers have to prove that the largest value is not positive.
        top = np.inf if self.compared.objective.ratio else float(relaxed.ceiling.max())
        ways: tuple[Way, ...] = (both,)
        if inside and single:
            ways = Way(problem, self.divergence, given), both
        elif inside:
            a, b = given.places
            largest = self._largest(problem)
            alone = [
                Way(_raised(problem, cells, largest[:, other]), self.divergence, Given(cells), word, (other,))
                for cells, other, word in (
                    (given.added, b, "minus"),
                    (given.cells & ~given.added, a, "plus"),
                )
            ]
            ways = Way(problem, self.divergence, given), *alone, both
        return Statement(ways, near, attaining, spots, axis, top)

    @cached_property
    def _sign(self) -> Floats:
        """Where values are added and where they are subtracted."""
        return self.compared.objective.sign(self.compared.plain.mass.shape)

    @property
    def _given(self) -> Booleans:
        """The cells that the mean is taken over."""
        given: Booleans = self._sign != 0
        return given

    def _emptied(self, problem: Problem, given: Given, near: NearestFair) -> tuple[Floats, Floats]:
        """Return shares of the nearest Q whose mass in the given cells is at their largest losses only."""
        ground = Ground.of(problem, self.divergence)
        at_top = np.where(ground.loss == ground.top[..., None], ground.probability, 0.0).sum(axis=2)
        at_top = np.maximum(at_top, KEPT_SHARE * problem.mass)  # of a table with empty rows there are no shares
        mass = np.where(given.cells, at_top, problem.mass)
        found = nearest_product(self.divergence, mass, problem.groups, problem.labels)
        return found.group_mass, found.label_mass

    def _largest(self, problem: Problem) -> Floats:
        """Return the largest value that Q may put into each cell; minus infinity where it may put none."""
        seen = np.where(problem.upper.probability > 0, problem.upper.loss, -np.inf).max(axis=2)
        return np.maximum(seen, problem.ceiling) if self.divergence.escapes else seen

    def _relaxed(self, problem: Problem) -> Problem:
        """Return the problem of the largest value that Q may give the objective, whatever it does inside the cells.

        With equal base rates it depends on Q's label shares only, and the rows of all groups may stand for it.
        """
        objective, mass = self.compared.objective, self.compared.population.mass
        most = np.where(self._given, self._largest(problem), 0.0)
        least = np.where(self._given, np.where(mass > 0, problem.lower.loss[..., 0], problem.ceiling), 0.0)
        counted = objective.counted(mass.shape[1])
        upper, lower = most.sum(axis=0), least.sum(axis=0)
        if objective.minus is not None:
            upper = upper + margin(np.abs(most).sum(axis=0), 4)
            lower = lower - margin(np.abs(least).sum(axis=0), 4)
        if objective.label is not None:
            upper, lower = np.full_like(upper, upper[counted].max()), np.full_like(lower, lower[counted].max())
        table = [np.broadcast_to(part, mass.shape) for part in (upper, lower)]
        atoms = [Atoms(mass[..., None], part[..., None]) for part in table]
        return Problem(atoms[0], atoms[1], table[0], False, problem.groups, problem.labels)

    def ratio(self, rho: float, tol: float, budget: int) -> Answer:
        """Bound a ratio from below as :mod:`fairbound.solve.ratios` does: ``t mean_a - mean_b``, with ever better t."""
        plain, pair = self.compared.problem(), self.compared.objective.pair
        factor, attained, worst = 1.0, np.inf, None
        for _ in range(TRIALS):
            (found,) = search([self.statement(factor)], rho, 0.01 * tol, budget)
            ratio = attained_ratio(plain, found.witness, pair)
            if ratio < attained or worst is None:
                attained, worst = ratio, found.witness
            if attained >= factor - 0.02 * tol:
                break
            factor = float(np.clip(attained, 0.0, 1.0))
        for tried in (max(factor - step * tol, 0.0) for step in LOWERINGS):
            (found,) = search([self.statement(tried)], rho, 0.01 * tol, budget, 0.0)
            if tried > 0.0 and found.bound <= 0.0:
                return Answer(tried, worst or found.witness, found.proof)
        nothing = single_leaf(plain, 0.0, 0.0, relaxed=True)  # means are not negative: no ratio is below zero
        return Answer(0.0, worst or found.witness, nothing)

    def free(self, rho: float, tol: float) -> Answer:
        """Answer without equal base rates, for the mean of a group or of a cell: one pair of multipliers."""
        problem, given = self.compared.problem(), self._given.astype(np.float64)
        top = float(self._largest(problem)[self._given].max())
        real = Attaining(problem, self.divergence, self.nearest)

        def worst(t: float) -> Witness:
            found = Attaining(_less(problem, t * given), self.divergence, self.nearest).free_witness(rho)
            return real.revalued(found)

        best = worst(top - 0.5 * tol)
        if best.loss < top - 0.5 * tol:
            best = max(best, worst(0.0), key=lambda witness: witness.loss)
            for _ in range(STEPS):
                found = worst(best.loss)
                if not found.loss > best.loss:
                    break
                better, best = found.loss > best.loss + 0.02 * tol, found
                if not better:
                    break
            for step in RAISES:
                mean = best.loss + step * tol
                ground = Ground.of(_less(problem, mean * given), self.divergence, upper=True)
                eta, lam = single_multipliers(self.divergence, ground, rho)
                tried, steep = (eta[:, None] + problem.scale * SHIFTS).reshape(-1), np.repeat(lam, len(SHIFTS))
                less = np.broadcast_to(mean * given, (len(tried), *given.shape))
                bound = single_bound(problem, self.divergence, np.full(len(tried), rho), tried, steep, less)
                place = int(bound.argmin())
                if bound[place] <= 0.0 and mean < top:
                    proof = single_leaf(problem, float(tried[place]), float(steep[place]), relaxed=False)
                    return Answer(mean, best, proof)
        return Answer(top, best, single_leaf(problem, 0.0, problem.scale, relaxed=True))


Asked = Losses | Means


def divergence_answers(asked: Sequence[Asked], rho: float, tol: float, budget: int, *, fair: bool) -> list[Answer]:
    """Answer questions of one ball, of which only the worst answer counts."""
    if not fair:
        return [one.free(rho, tol) for one in asked]
    if isinstance(asked[0], Means) and asked[0].compared.objective.ratio:
        return [one.ratio(rho, tol, budget) for one in asked if isinstance(one, Means)]
    return search([one.statement() for one in asked], rho, tol, budget)


def _turned(problem: Problem, near: NearestFair, axis: Axis) -> tuple[Problem, NearestFair]:
    """Return a problem with the searched shares as labels."""
    if axis == "label":
        return problem, near
    return problem.transposed, NearestFair(near.distance, near.label_mass, near.group_mass)


def _raised(problem: Problem, cells: Booleans, more: Floats) -> Problem:
    """Return the problem of the mean over some cells, with the most that the other group's cells add."""

    def total(value: Floats, extra: Floats, where: Booleans) -> Floats:
        both = value + extra
        return np.where(where, both + margin(np.abs(value) + np.abs(extra), 2), 0.0)

    atoms, extra = problem.upper, more[:, None]
    upper = Atoms(atoms.probability, total(atoms.loss, extra[..., None], cells[..., None]))
    return replace(problem, upper=upper, ceiling=total(problem.ceiling, extra, cells))


def _less(problem: Problem, much: Floats) -> Problem:
    """Take something off the losses of each cell."""
    upper, lower = (Atoms(a.probability, a.loss - much[..., None]) for a in (problem.upper, problem.lower))
    return replace(problem, upper=upper, lower=lower, ceiling=problem.ceiling - much)
