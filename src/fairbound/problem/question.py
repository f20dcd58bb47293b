"""A question, validated and put into numbers, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fairbound.solve.answer import Answer
from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.certificate.certificate import Certificate
from fairbound.solve.comparing import Compared, compare
from fairbound.problem.condition import Condition
from fairbound.solve.divergence_search import DivergenceSearch
from fairbound.problem.divergences import HELLINGER, TOTAL_VARIATION, Divergence
from fairbound.solve.general_answers import general_answers
from fairbound.solve.mean_answers import DivergenceMeans
from fairbound.solve.nearest import NearestFair
from fairbound.problem.objective import Objective
from fairbound.data.population import Population, without_variance
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis
from fairbound.solve.rates_answers import rates_answers
from fairbound.solve.rates_nearest import NearestRates
from fairbound.solve.ratios import attained_ratio
from fairbound.sampling.region import StandIn
from fairbound.solve.search import Search

EQUAL = Condition()

Shift = Literal["general", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]
DivergenceName = Literal["hellinger", "total_variation", "kl", "chi_squared"]


@dataclass(frozen=True)
class Question:
    """A validated call: everything but the radii.

    With a confidence, ``problem`` and ``nearest`` are those of the stand-in, at its larger radii. With an objective,
    ``problem`` is still that of the expected loss of all.
    """

    population: Population
    shift: Shift
    group_skew: float | None
    label_skew: float | None
    support: Support
    empty_cells: EmptyCells
    tol: float
    budget: int
    problem: Problem
    nearest: NearestFair | NearestRates
    confidence: float | None = None
    region: str | None = None
    stand_in: StandIn | None = None
    objective: Objective | None = None
    condition: Condition = EQUAL
    divergence: Divergence = HELLINGER

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        return self.problem.groups.limited or self.problem.labels.limited

    @property
    def sampled(self) -> bool:
        """Whether P is known through a sample."""
        return self.stand_in is not None

    @property
    def lower(self) -> bool:
        """Losses are bounded from above."""
        return False

    @property
    def extreme(self) -> float:
        """The largest loss there is."""
        return float(self.problem.ceiling.max())

    def certificates(self, rhos: Floats) -> list[Certificate]:
        """Certify at feasible radii."""
        answers = zip(rhos.tolist(), self.answers(rhos), strict=True)
        return [self.certificate(rho, answer) for rho, answer in answers]

    def bounds(self, rhos: Floats, target: float | None = None) -> Floats:
        """Return what is proved at feasible radii, some of it only as closely as a target needs."""
        return np.array([answer.bound for answer in self.answers(rhos, target)])

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        if self.divergence is not HELLINGER and not self.condition.fair:
            return 0.0
        near = self.nearest.distance
        return near if self.stand_in is None else self.stand_in.least_radius(near)

    @property
    def _axis(self) -> Axis:
        """Whose shares are searched: the shorter side; of equal sides the limited one, which leaves the other free."""
        groups, labels = self.problem.groups, self.problem.labels
        searched = self.divergence is not HELLINGER or not self.problem.one_convex_program
        if groups.size == labels.size and searched:
            return "group" if groups.limited and not labels.limited else "label"
        return "label" if groups.size >= labels.size else "group"

    def radii(self, rhos: Floats) -> Floats:
        """Return the radii around what is known: larger ones around a stand-in."""
        return rhos if self.stand_in is None else np.maximum(self.stand_in.radius(rhos), self.nearest.distance)

    @property
    def compared(self) -> Compared:
        """The objective in numbers."""
        known = self.population if self.stand_in is None else self.stand_in.population
        if self.divergence is TOTAL_VARIATION:
            known = without_variance(known)
        objective = self.objective or Objective(0)
        rates = allowed_rates(self.problem, self.condition)
        return Compared(known, objective, self.problem, self.nearest, self.shift, self.support, rates)

    @cached_property
    def _means(self) -> DivergenceMeans:
        """The objective under a divergence other than Hellinger's."""
        near = self.nearest
        if isinstance(near, NearestRates):  # which knows Hellinger balls only
            message = "base rates within a tolerance do not go with this divergence"
            raise TypeError(message)
        return DivergenceMeans(self.compared, self.divergence, near, self._axis, self.tol, self.budget)

    def answers(self, rhos: Floats, target: float | None = None, known: Floats | float = -np.inf) -> list[Answer]:
        """Solve for feasible radii; some searches stop as soon as it is plain whether the bound keeps a target.

        Or once it is close to what is ``known`` to be attained elsewhere.
        """
        rhos = self.radii(rhos)
        if self.objective is not None and self.divergence is not HELLINGER:
            means = self._means
            return means.answers(rhos, target, known) if self.condition.fair else means.free_answers(rhos)
        if self.objective is not None:
            return compare([self.compared], [rhos], self.tol, self.budget)[0]
        problem, nearest = self.problem, self.nearest
        if isinstance(nearest, NearestRates):
            rates = allowed_rates(problem, self.condition)
            return [Answer(*a) for a in rates_answers(problem, rates, nearest, rhos, self.tol, self.budget)]
        axis = self._axis
        if axis == "group":
            problem = problem.transposed
            nearest = NearestFair(nearest.distance, nearest.label_mass, nearest.group_mass)
        if self.divergence is not HELLINGER:
            search = DivergenceSearch(problem, self.divergence, nearest, self.tol, self.budget)
            ends = search.run(rhos, axis, target) if self.condition.fair else search.free(rhos)
            found = [Answer(end.bound, end.witness, end.proof) for end in ends]
        elif problem.one_convex_program:
            found = general_answers(problem, nearest, rhos, axis, self.tol)
        else:
            ended = Search(problem, nearest, self.tol, self.budget).run(rhos)
            proofs = ended.forest.proofs(axis, problem.labels.floors)
            found = [
                Answer(bound, ended.witness[index], proof)
                for index, (bound, proof) in enumerate(zip(ended.bound.tolist(), proofs, strict=True))
            ]
        top = float(problem.ceiling.max())
        return [
            Answer(min(a.bound, top), a.witness.transposed if axis == "group" else a.witness, a.proof) for a in found
        ]

    def _attained(self, answer: Answer) -> float:
        """Return what the distribution of an answer attains."""
        asked = self.objective
        if asked is None or not asked.ratio:
            return answer.witness.loss
        return attained_ratio(self.compared.problem(), answer.witness, (asked.plus, asked.minus or 0))

    def certificate(self, rho: float, answer: Answer) -> Certificate:
        """Dress an answer."""
        return Certificate(
            bound=answer.bound,
            attained=self._attained(answer),
            rho=rho,
            shift=self.shift,
            group_skew=self.group_skew,
            label_skew=self.label_skew,
            support=self.support,
            empty_cells=self.empty_cells,
            tol=self.tol,
            witness=answer.witness,
            population=self.population,
            proof=answer.proof,
            confidence=self.confidence,
            region=self.region,
            stand_in=self.stand_in,
            objective=self.objective,
            group_limits=self.problem.groups.limits,
            label_limits=self.problem.labels.limits,
            divergence=self.divergence.name,
            fair=self.condition.fair,
            base_rate_tolerance=self.condition.tolerance,
        )


def allowed_rates(problem: Problem, condition: Condition) -> BaseRates:
    """Return the base rates that Q's groups may have."""
    return BaseRates(problem.groups.size, problem.labels, condition.largest_difference)
