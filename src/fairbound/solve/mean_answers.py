"""Answers about means given a group under divergences other than Hellinger's (docs/theory.md).

The mean of one group, or of one of its cells, is found for both shifts. Under sensitive shifting a cell has one mean,
so that every metric is a function of the label shares alone: an expected loss, of whatever group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import margin
from fairbound.data.atoms import Atoms
from fairbound.problem.divergences import Divergence
from fairbound.solve.answer import Answer
from fairbound.solve.comparing import Compared
from fairbound.solve.conditioning import Given
from fairbound.solve.conjugate_bounds import single_bound
from fairbound.solve.difference_search import DifferenceSearch
from fairbound.solve.divergence_search import SHIFTS, DivergenceSearch, single_leaf
from fairbound.solve.divergence_witness import Attaining
from fairbound.solve.mean_search import KEPT_SHARE, MeanSearch
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, TiltedProof
from fairbound.solve.ratios import LOWERINGS, TRIALS, attained_ratio
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground, single_multipliers

#: Steps of Dinkelbach's method at most; by how much the mean is raised until it is proved, in tolerances.
STEPS, RAISES = 40, (0.1, 0.3, 0.9, 10.0, 1e3, 1e5)


@dataclass(frozen=True)
class DivergenceMeans:
    """An objective in numbers, the ball that it is asked of, and how closely."""

    compared: Compared
    divergence: Divergence
    nearest: NearestFair
    axis: Axis
    tol: float
    budget: int

    def answers(self, rhos: Floats, target: float | None, known: Floats | float) -> list[Answer]:
        """Answer for Q with equal base rates; bounds need not come close to less than ``known``."""
        if self.compared.objective.ratio:
            return [self._ratio(float(rho)) for rho in rhos]
        problem = self.compared.problem()
        if self.compared.shift == "sensitive":
            found = self._of_labels(self._relaxed(problem), self.tol).run(rhos, self.axis, target, known)
            ends = [
                replace(f, witness=self._dressed(problem, rho, f), proof=_relaxed(f, f.bound))
                for rho, f in zip(rhos, found, strict=True)
            ]
        else:
            axis = "group" if self.compared.objective.minus is not None else self.axis
            ends = [
                replace(f, witness=f.witness.transposed if axis == "group" else f.witness)
                for f in self._inside_cells(problem, axis, self.tol).run(rhos, axis, target, known)
            ]
        top = float(self._relaxed(self.compared.problem()).ceiling.max())
        return [replace(end, bound=min(end.bound, top)) for end in ends]

    def _inside_cells(self, problem: Problem, axis: Axis, tol: float) -> MeanSearch:
        """Return the search for general shifting; one for a difference is over group shares."""
        relaxed, sign, near = self._relaxed(problem), self._sign, self.nearest
        largest = self._largest(problem)
        if axis == "group":
            problem, relaxed, sign, largest = problem.transposed, relaxed.transposed, sign.T, largest.T
            near = NearestFair(near.distance, near.label_mass, near.group_mass)
        asked = problem, self.divergence, near, tol, self.budget
        if self.compared.objective.minus is None:
            return MeanSearch(*asked, Given(sign > 0), relaxed)
        return DifferenceSearch(*asked, Given(sign > 0, sign < 0), relaxed, largest)

    @property
    def _sign(self) -> Floats:
        """Where values are added and where they are subtracted."""
        return self.compared.objective.sign(self.compared.plain.mass.shape)

    @property
    def _given(self) -> Booleans:
        """The cells that the mean is taken over."""
        given: Booleans = self._sign != 0
        return given

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

    def _of_labels(self, relaxed: Problem, tol: float) -> DivergenceSearch:
        """Return the search for the worst label shares."""
        near = self.nearest
        if self.axis == "group":
            relaxed, near = relaxed.transposed, NearestFair(near.distance, near.label_mass, near.group_mass)
        return DivergenceSearch(relaxed, self.divergence, near, tol, self.budget)

    def _dressed(self, problem: Problem, rho: float, found: Answer) -> Witness:
        """Return a worst case of the objective from the shares of one; no group that is looked at may be empty."""
        witness = found.witness.transposed if self.axis == "group" else found.witness
        k = (1.0 - KEPT_SHARE) * witness.group_mass + KEPT_SHARE / problem.groups.size
        r = witness.label_mass
        if self.compared.objective.label is not None:
            r = (1.0 - KEPT_SHARE) * r + KEPT_SHARE / problem.labels.size
        return Attaining(problem, self.divergence, self.nearest).witness(rho, k, r)

    def _ratio(self, rho: float) -> Answer:
        """Bound a ratio from below as :mod:`fairbound.solve.ratios` does: ``t mean_a - mean_b``, with ever better t."""
        compared, tol = self.compared, self.tol
        pair = compared.objective.pair
        plain, radius = compared.problem(), np.array([rho])

        def solved(t: float, target: float | None = None) -> Answer:
            search = self._of_labels(self._relaxed(compared.problem(t)), 0.01 * tol)
            return search.run(radius, self.axis, target)[0]

        factor, attained, worst = 1.0, np.inf, None
        for _ in range(TRIALS):
            witness = self._dressed(plain, rho, solved(factor))
            ratio = attained_ratio(plain, witness, pair)
            if ratio < attained or worst is None:
                attained, worst = ratio, witness
            if attained >= factor - 0.02 * tol:
                break
            factor = float(np.clip(attained, 0.0, 1.0))
        for step in LOWERINGS:
            tried = max(factor - step * tol, 0.0)
            found = solved(tried, 0.0)
            if found.bound <= 0.0 or tried == 0.0:  # means are not negative: no ratio is below zero
                break
        return Answer(tried, worst or witness, _relaxed(found, 0.0))

    def free_answers(self, rhos: Floats) -> list[Answer]:
        """Answer without equal base rates, for the mean of a group or of a cell: one pair of multipliers each."""
        return [self._free(float(rho)) for rho in rhos]

    def _free(self, rho: float) -> Answer:
        problem, given, tol = self.compared.problem(), self._given.astype(np.float64), self.tol
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


def _less(problem: Problem, much: Floats) -> Problem:
    """Take something off the losses of each cell."""
    upper, lower = (Atoms(a.probability, a.loss - much[..., None]) for a in (problem.upper, problem.lower))
    return replace(problem, upper=upper, lower=lower, ceiling=problem.ceiling - much)


def _relaxed(found: Answer, claim: float) -> TiltedProof:
    """Return the proof of a mean from that of an expected loss, which was about the largest values there are."""
    if not isinstance(found.proof, TiltedProof):
        message = "a search over shares has leaves of form T"
        raise TypeError(message)
    return replace(found.proof, w=found.proof.w - claim, relaxed=("both",) * len(found.proof.lam))
