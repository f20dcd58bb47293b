"""The expected loss in a Hellinger ball: one leaf of form F if that is enough, else pieces; the better bound counts.

The program of :mod:`fairbound.solve.fractional` bounds all shares of one side at once. Where its tops can lie between
the values and the multipliers of the worst case nothing is lost, and that is so for one side or the other more often
than not. Where a gap is left the simplex of shares is cut: into pieces of form T for equal base rates, and of form F
where they may differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional import FractionalSolution, solve_fractional
from fairbound.solve.fractional_search import FractionalSearch
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis
from fairbound.solve.rates_nearest import NearestRates
from fairbound.solve.search import Search, tilted_proof
from fairbound.solve.whole_leaf import fractional_proof, whole_leaves
from fairbound.solve.witness import build_witnesses, joined

#: How closely programs are solved: at first, relative to the tolerance's share of a cell, and at best.
ROUGH_ACCURACY, BEST_ACCURACY = 0.1, 1e-14


def loss_answers(
    problem: Problem,
    rates: BaseRates,
    nearest: NearestFair | NearestRates,
    rhos: Floats,
    axis: Axis,
    tol: float,
    budget: int,
) -> list[Answer]:
    """Answer for feasible radii; ``axis`` says whose shares are searched first."""
    if isinstance(nearest, NearestRates):
        return FractionalSearch(problem, rates, nearest, tol, budget).answers(rhos)
    sides = [_Side(problem, nearest, "group", tol), _Side(problem, nearest, "label", tol)]
    first, second = sides if axis == "group" else sides[::-1]
    answers = first.answers(rhos)
    if problem.one_convex_program:
        return answers
    left = _open(answers, tol)
    if len(left):
        _improve(answers, left, second.answers(rhos[left]))
        left = _open(answers, tol)
    if len(left):
        _improve(answers, left, _searched(first, rhos[left], [answers[i] for i in left], budget))
    return answers


def _open(answers: list[Answer], tol: float) -> Integers:
    """Return which answers have a gap."""
    return np.array([i for i, a in enumerate(answers) if a.bound - a.witness.loss > tol], dtype=np.int64)


def _improve(answers: list[Answer], where: Integers, others: list[Answer]) -> None:
    """Keep the smaller bound and the worse distribution of two answers to one question."""
    for index, other in zip(where, others, strict=True):
        proved = min(answers[index], other, key=lambda answer: answer.bound)
        worst = max(answers[index].witness, other.witness, key=lambda witness: witness.loss)
        answers[index] = replace(proved, witness=worst)


@dataclass(frozen=True)
class _Side:
    """The question with the shares of one side searched; equal base rates."""

    question: Problem
    near: NearestFair
    axis: Axis
    tol: float

    @property
    def problem(self) -> Problem:
        """The searched side's shares stand in the place of the groups'."""
        return self.question if self.axis == "group" else self.question.transposed

    @property
    def nearest(self) -> NearestFair:
        """The nearest distribution, sides likewise."""
        near = self.near
        return near if self.axis == "group" else NearestFair(near.distance, near.label_mass, near.group_mass)

    def answers(self, rhos: Floats) -> list[Answer]:
        """Answer with one leaf: as accurately as the tolerance asks for, and the few with a gap as floats go."""
        rates = BaseRates(self.problem.groups.size, self.problem.labels, 0.0)
        rough = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.problem.scale / self.problem.mass.size)
        moving = not self.problem.one_convex_program
        found = solve_fractional(self.problem, rates, least_affinity(rhos), rough, moving=moving)
        answers = self._evaluated(rates, rhos, found)
        again = _open(answers, 0.3 * self.tol)
        if len(again) and rough > BEST_ACCURACY and not moving:
            tau = least_affinity(rhos[again])
            found = solve_fractional(self.problem, rates, tau, BEST_ACCURACY, moving=moving, state=found.state[again])
            _improve(answers, again, self._evaluated(rates, rhos[again], found))
        return answers

    def _evaluated(self, rates: BaseRates, rhos: Floats, found: FractionalSolution) -> list[Answer]:
        """Return what multipliers prove, and what they suggest attains it."""
        problem = self.problem
        leaves, bound = whole_leaves(problem, rates, rhos, found)
        shares = found.share, found.rate
        witnesses = build_witnesses(problem, rhos, shares, found.eta, found.lam, self.nearest)
        answers = []
        for index, value in enumerate(bound.tolist()):
            proof = fractional_proof(self.axis, problem.groups.floors, (None,), leaves.take(np.array([index])))
            witness = witnesses[index]
            answers.append(Answer(value, witness if self.axis == "group" else witness.transposed, proof))
        return answers


def _searched(side: _Side, rhos: Floats, known: list[Answer], budget: int) -> list[Answer]:
    """Cut the shares of the side into pieces of form T."""
    problem = side.problem
    start = joined([a.witness if side.axis == "group" else a.witness.transposed for a in known])
    start = start.transposed
    # The pieces are of the shares that stand in the place of labels.
    near = NearestFair(side.nearest.distance, side.nearest.label_mass, side.nearest.group_mass)
    ended = Search(problem.transposed, near, side.tol, budget).run(rhos, start)
    answers = []
    for index, (bound, tree) in enumerate(zip(ended.bound.tolist(), ended.forest.trees(), strict=True)):
        witness = ended.witness[index]
        proof = tilted_proof(problem.transposed, float(least_affinity(rhos[index])), side.axis, *tree)
        answers.append(Answer(bound, witness.transposed if side.axis == "group" else witness, proof))
    return answers
