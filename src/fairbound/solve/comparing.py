"""Answers for objectives: means given a group, their differences and ratios between groups, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.population import Population
from fairbound.problem.objective import Objective
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.intervals import IntervalSearch
from fairbound.solve.mean_batch import MeanBatch
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.ratios import attained_ratio, ratio_answers
from fairbound.solve.signed_values import objective_problem


@dataclass(frozen=True)
class Compared:
    """An objective about a population in numbers: ``plain`` is the problem of the expected loss of all."""

    population: Population
    objective: Objective
    plain: Problem
    nearest: NearestFair
    shift: str
    support: str
    rates: BaseRates

    def problem(self, factor: float = 1.0) -> Problem:
        """Return the problem of the objective; what is added counts ``factor`` times."""
        return objective_problem(self.population, self.objective, self.plain, self.shift, self.support, factor)


def _repeated(one: Compared, problems: list[Problem]) -> MeanBatch:
    """Put problems about one ball together."""
    return MeanBatch(problems, [one.nearest] * len(problems), one.rates)


def compare(
    asked: Sequence[Compared], rhos: Sequence[Floats], tol: float, budget: int, incumbent: Floats | None = None
) -> list[list[Answer]]:
    """Answer each objective at its own radii; all are of one kind (ratios, or means over the same parts of labels).

    The bounds at a radius are as tight as their largest one needs, or as the ``incumbent``: what others attain.
    """
    first = asked[0].objective
    if first.ratio:
        return _ratios(asked, rhos, tol)
    batch = MeanBatch([one.problem() for one in asked], [one.nearest for one in asked], asked[0].rates)
    problem_index = np.repeat(np.arange(len(asked)), [len(rho) for rho in rhos])
    rho = np.concatenate(list(rhos))
    radius_index = np.concatenate([np.arange(len(one)) for one in rhos])
    incumbent = np.full(max(len(one) for one in rhos), -np.inf) if incumbent is None else incumbent
    answers = batch.at_ceiling(problem_index, rho, radius_index)
    # Only the largest value at each radius counts: where one is as large as can be, no other has to be bounded closely.
    already_trivial = {int(radius_index[index]) for index, answer in enumerate(answers) if answer is not None}
    already_trivial |= set(
        np.flatnonzero(incumbent >= max(one.plain.ceiling.max() for one in asked) - 1e-9 * batch.scale).tolist()
    )
    for number in range(len(asked)):
        rest = [
            i
            for i in np.flatnonzero(problem_index == number)
            if answers[i] is None and int(radius_index[i]) in already_trivial
        ]
        for index, answer in zip(rest, batch.unproved(number, rho[rest]), strict=True):
            answers[index] = answer
    left = np.array([index for index, answer in enumerate(answers) if answer is None], dtype=np.int64)
    if len(left):
        jobs = problem_index[left], rho[left], radius_index[left]
        if batch.searched:
            found = IntervalSearch(batch, jobs, tol, budget, incumbent).run()
        else:
            found = batch.answers(*jobs[:2], tol)
        for index, answer in zip(left, found, strict=True):
            answers[index] = answer
    # No mean exceeds the largest ceiling, and nothing negative is subtracted. Objectives have ceilings of their own:
    # what stands in for a sample depends on which values are subtracted.
    tops = [float(one.plain.ceiling.max()) for one in asked]
    done = iter(
        [replace(a, bound=min(a.bound, tops[n])) for n, a in zip(problem_index, answers, strict=True) if a is not None]
    )
    return [[next(done) for _ in rho] for rho in rhos]


def _ratios(asked: Sequence[Compared], rhos: Sequence[Floats], tol: float) -> list[list[Answer]]:
    """Answer for ratios, one pair of groups after the other: only the smallest ratio at each radius counts."""
    found: list[list[Answer]] = []
    smallest = np.ones(len(rhos[0]))  # of two groups one has the smaller mean
    for one, rho in zip(asked, rhos, strict=True):
        groups = one.objective.pair
        found.append(ratio_answers(one.problem, partial(_repeated, one), groups, rho, tol, smallest))
        plain = one.problem()
        smallest = np.minimum(smallest, [attained_ratio(plain, answer.witness, groups) for answer in found[-1]])
    return found
