"""The solver of one statement: a question put into numbers, and what is proved and attained at each radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.population import Population, without_variance
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import HELLINGER, Divergence
from fairbound.problem.objective import Objective
from fairbound.problem.question import Question
from fairbound.sampling.asymptotic import standard_error
from fairbound.sampling.region import Surrogate, sample_variance
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.comparing import Compared, compare
from fairbound.solve.contradictions import refuse_contradictions
from fairbound.solve.divergence_answers import Losses, Means, divergence_answers
from fairbound.solve.divergence_search import usual_budget
from fairbound.solve.loss import loss_answers
from fairbound.solve.nearest import NearestFair, nearest_in, nearest_shares
from fairbound.solve.nearest_product import nearest_product, with_every_share
from fairbound.solve.orientation import oriented_surrogate
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.proof import Axis
from fairbound.solve.ratios import attained_ratio
from fairbound.solve.witness import LEAST_SHARE

#: Between which radii the slope of a bound is taken, relative to its own.
SLOPE = 0.01


@dataclass(frozen=True)
class Solver:
    """A question in numbers.

    With a confidence, ``problem`` and ``nearest`` are those of the surrogate, at its larger radii. With an objective,
    ``problem`` is still that of the expected loss of all.

    Attributes
    ----------
    question
        What is asked.
    surrogate
        What takes P's place if the rows are a sample.
    problem
        The question in numbers.
    nearest
        The nearest distribution in question.
    budget
        How many pieces a search may use.
    """

    question: Question
    surrogate: Surrogate | None
    problem: Problem
    nearest: NearestFair
    budget: int

    def about(self, objective: Objective) -> Solver:
        """Return the solver of another objective in the same ball."""
        return replace(self, question=replace(self.question, objective=objective))

    @property
    def population(self) -> Population:
        """What is known of the data."""
        return self.question.population

    @property
    def objective(self) -> Objective | None:
        """What is bounded."""
        return self.question.objective

    @property
    def condition(self) -> Condition:
        """What is asked of base rates."""
        return self.question.condition

    @property
    def divergence(self) -> Divergence:
        """How distances are measured."""
        return self.question.divergence

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        return self.question.limited

    @property
    def sampled(self) -> bool:
        """Whether P is known through a sample."""
        return self.surrogate is not None

    @property
    def allowing(self) -> bool:
        """Whether what takes P's place allows for sampling error by itself."""
        return self.surrogate is not None and self.surrogate.least is None and self.surrogate.errors is None

    @property
    def lower(self) -> bool:
        """Losses are bounded from above."""
        return False

    @property
    def extreme(self) -> float:
        """The largest loss there is."""
        return float(self.problem.ceiling.max())

    def bounds(self, rhos: Floats) -> Floats:
        """Return what is proved at feasible radii."""
        return np.array([answer.bound for answer in self.answers(rhos)])

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        if self.question.divergence is not HELLINGER and not self.question.condition.fair:
            return 0.0
        near = self.nearest.distance
        return near if self.surrogate is None else self.surrogate.least_radius(near)

    @property
    def _axis(self) -> Axis:
        """Whose shares are searched: the shorter side; of equal sides the limited one, which leaves the other free."""
        groups, labels = self.problem.groups, self.problem.labels
        searched = self.question.divergence is not HELLINGER or not self.problem.one_convex_program
        if groups.size == labels.size and searched:
            return "group" if groups.limited and not labels.limited else "label"
        return "label" if groups.size >= labels.size else "group"

    def radii(self, rhos: Floats) -> Floats:
        """Return the radii around what is known: larger ones around a surrogate."""
        return rhos if self.surrogate is None else np.maximum(self.surrogate.radius(rhos), self.nearest.distance)

    @property
    def compared(self) -> Compared:
        """The objective in numbers."""
        known = self.question.population if self.surrogate is None else self.surrogate.population
        if self.question.divergence.only_means:
            known = without_variance(known)
        objective = self.question.objective or Objective(0)
        rates = allowed_rates(self.problem, self.question.condition)
        return Compared(known, objective, self.problem, self.nearest, self.question.shift, self.question.support, rates)

    @property
    def in_other_ball(self) -> Losses | Means:
        """The question under a divergence other than Hellinger's."""
        if self.question.objective is None:
            return Losses(self.problem, self.question.divergence, self.nearest, self._axis)
        return Means(self.compared, self.question.divergence, self.nearest, self._axis)

    def answers(self, rhos: Floats) -> list[Answer]:
        """Solve for feasible radii."""
        asked, rhos = rhos, self.radii(rhos)
        if self.question.divergence is not HELLINGER:
            return [found for (found,) in answers_together([self], rhos)]
        if self.question.objective is not None:
            return compare([self.compared], [rhos], self.question.tol, self.budget)[0]
        problem, rates = self.problem, allowed_rates(self.problem, self.question.condition)
        found = loss_answers(problem, rates, self.nearest, rhos, self._axis, self.question.tol, self.budget)
        top = float(problem.ceiling.max())
        least = self.surrogate.least if self.surrogate is not None else None
        if least is not None:  # what bets on the rows say of P; the proof and the worst case are about the rows
            found = [replace(a, bound=max(a.bound, least(float(rho)))) for a, rho in zip(found, asked, strict=True)]
        if self.surrogate is not None and self.surrogate.errors:
            errors = self.surrogate.errors * self._standard_errors(found, asked)
            found = [replace(a, bound=a.bound + error) for a, error in zip(found, errors.tolist(), strict=True)]
        return [replace(a, bound=min(a.bound, top)) for a in found]

    def _standard_errors(self, found: Sequence[Answer], rhos: Floats) -> Floats:
        """Return those of the bounds, about: slopes are those between two radii on both sides."""
        known, law = self.question.population, self.problem.lower.probability
        plain = replace(self, question=replace(self.question, tol=min(self.question.tol, 1e-6)), surrogate=None)
        ends = np.maximum(rhos * (1.0 - SLOPE), self.nearest.distance), np.minimum(rhos * (1.0 + SLOPE), 1.0)
        low, high = (plain.bounds(end) for end in ends)
        slope = (high - low) / np.maximum(np.square(ends[1]) - np.square(ends[0]), np.finfo(float).tiny)
        apart = self.question.shift == "sensitive"  # atoms are the means of cells there
        within = sample_variance(known, known.weight) if apart else np.zeros_like(known.weight)
        return np.array(
            [
                standard_error(law, one.witness.mass[..., None] * one.witness.reweighting, by, within, known.rows or 1)
                for one, by in zip(found, slope.tolist(), strict=True)
            ]
        )

    def attained(self, answer: Answer) -> float:
        """Return what the distribution of an answer attains."""
        asked = self.question.objective
        if asked is None or not asked.ratio:
            return answer.witness.loss
        return attained_ratio(self.compared.problem(), answer.witness, asked.pair)


def answers_together(solvers: Sequence[Solver], rhos: Floats) -> list[list[Answer]]:
    """Solve questions of one ball under a divergence other than Hellinger's, of which only the worst counts."""
    first, asked = solvers[0], [solver.in_other_ball for solver in solvers]
    fair, tol = first.question.condition.fair, first.question.tol
    return [divergence_answers(asked, rho, tol, first.budget, fair=fair) for rho in rhos.tolist()]


def pose(question: Question) -> Solver:
    """Put a question into numbers: the surrogate of a sample, the atoms, and the nearest distribution in question."""
    population, objective, divergence = question.population, question.objective, question.divergence
    surrogate: Surrogate | None = None
    if question.region is not None and question.confidence is not None:
        surrogate = (
            question.region.surrogate(population, question.confidence, question.shift)
            if objective is None
            else oriented_surrogate(question.region, population, objective, question.confidence, question.shift)
        )
    known = population if surrogate is None else surrogate.population
    if divergence.only_means:
        known = without_variance(known)
    limits = question.group_skew, question.label_skew, question.group_limits, question.label_limits
    problem = problem_of(known, question.shift, question.support, question.empty_cells, *limits)
    refuse_contradictions("group", population.groups, problem.groups)
    refuse_contradictions("label", population.labels, problem.labels)
    nearest: NearestFair
    if divergence is not HELLINGER:
        nearest = nearest_product(divergence, known.mass, problem.groups, problem.labels)
        if objective is not None:  # means are taken over something
            nearest = with_every_share(divergence, known.mass, nearest, problem.groups, problem.labels)
        usual = usual_budget(problem)
    elif question.condition.equal:
        nearest, usual = nearest_shares(known.mass, problem.groups, problem.labels), _usual_budget(problem)
    else:
        rates = allowed_rates(problem, question.condition)
        nearest = nearest_in(known.mass, problem.groups, rates, _least_shares(objective))
        usual = _rates_budget(problem) if objective is None else _usual_budget(problem)
    return Solver(question, surrogate, problem, nearest, question.budget or usual)


def _usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most: the work per piece grows with the table."""
    smaller = min(problem.groups.size, problem.labels.size)
    return int(min(max(4e6 / (problem.upper.probability.size * smaller**2), 4), 2000))


def _rates_budget(problem: Problem) -> int:
    """Return the same where base rates may differ."""
    return int(np.clip(2.5e5 / (problem.upper.probability.size * problem.groups.size**2), 4, 500))


def _least_shares(objective: Objective | None) -> tuple[float, float]:
    """Return what groups, and labels within groups, must have at least so that means are taken over something."""
    if objective is None:
        return 0.0, 0.0
    return LEAST_SHARE, 0.0 if objective.label is None else LEAST_SHARE


def allowed_rates(problem: Problem, condition: Condition) -> BaseRates:
    """Return the base rates that Q's groups may have."""
    return BaseRates(problem.groups.size, problem.labels, condition.largest_difference)
