"""Answers for objectives: means given a group, their differences and ratios between groups, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbound.answer import Answer
from fairbound.arrays import Floats
from fairbound.nearest import NearestFair
from fairbound.objective import Objective
from fairbound.odds import odds_answers
from fairbound.parity import Batch, at_ceiling, parity_answers, unproved
from fairbound.population import Population
from fairbound.problem import Problem
from fairbound.ratios import attained_ratio, ratio_answers
from fairbound.values import objective_problem


@dataclass(frozen=True)
class Compared:
    """An objective about a population in numbers: ``plain`` is the problem of the expected loss of all."""

    population: Population
    objective: Objective
    plain: Problem
    nearest: NearestFair
    shift: str
    support: str

    def problem(self, factor: float = 1.0) -> Problem:
        """Return the problem of the objective; what is added counts ``factor`` times."""
        return objective_problem(self.population, self.objective, self.plain, self.shift, self.support, factor)


def compare(
    asked: Sequence[Compared], rhos: Sequence[Floats], tol: float, budget: int, known: Floats | None = None
) -> list[list[Answer]]:
    """Answer each objective at its own radii; all are of one kind (ratios, or means over the same parts of labels).

    The bounds at a radius are as tight as their largest one needs, or as what is ``known`` to be attained by others.
    """
    first = asked[0].objective
    if first.ratio:
        return _ratios(asked, rhos, tol)
    batch = Batch([one.problem() for one in asked], [one.nearest for one in asked])
    which = np.repeat(np.arange(len(asked)), [len(rho) for rho in rhos])
    rho = np.concatenate(list(rhos))
    team = np.concatenate([np.arange(len(one)) for one in rhos])
    known = np.full(max(len(one) for one in rhos), -np.inf) if known is None else known
    answers = at_ceiling(batch, which, rho)
    # Only the largest value at each radius counts: where one is as large as can be, no other has to be bounded closely.
    hopeless = {int(team[index]) for index, answer in enumerate(answers) if answer is not None}
    hopeless |= set(
        np.flatnonzero(known >= max(one.plain.ceiling.max() for one in asked) - 1e-9 * batch.scale).tolist()
    )
    for number, one in enumerate(asked):
        rest = [i for i in np.flatnonzero(which == number) if answers[i] is None and int(team[i]) in hopeless]
        for index, answer in zip(rest, unproved(batch, number, rho[rest], one.nearest), strict=True):
            answers[index] = answer
    left = np.array([index for index, answer in enumerate(answers) if answer is None], dtype=np.int64)
    if len(left):
        found = (
            parity_answers(batch, which[left], rho[left], tol)
            if first.label is None
            else odds_answers(batch, which[left], rho[left], team[left], tol, budget, known)
        )
        for index, answer in zip(left, found, strict=True):
            answers[index] = answer
    # No mean exceeds the largest ceiling, and nothing negative is subtracted. Objectives have ceilings of their own:
    # what stands in for a sample depends on which values are subtracted.
    tops = [float(one.plain.ceiling.max()) for one in asked]
    done = iter([replace(a, bound=min(a.bound, tops[n])) for n, a in zip(which, answers, strict=True) if a is not None])
    return [[next(done) for _ in rho] for rho in rhos]


def _ratios(asked: Sequence[Compared], rhos: Sequence[Floats], tol: float) -> list[list[Answer]]:
    """Answer for ratios, one pair of groups after the other: only the smallest ratio at each radius counts."""
    found: list[list[Answer]] = []
    smallest = np.ones(len(rhos[0]))  # of two groups one has the smaller mean
    for one, rho in zip(asked, rhos, strict=True):
        groups = one.objective.plus, one.objective.minus or 0
        found.append(ratio_answers(one.problem, one.nearest, groups, rho, tol, smallest))
        plain = one.problem()
        smallest = np.minimum(smallest, [attained_ratio(plain, answer.witness, groups) for answer in found[-1]])
    return found
