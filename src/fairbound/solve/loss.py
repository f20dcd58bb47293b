"""The expected loss in a Hellinger ball: one leaf of form F if that is enough, else pieces; the better bound counts.

The program of :mod:`fairbound.solve.fractional` bounds all shares of one side at once. Where its tops can lie between
the values and the multipliers of the worst case nothing is lost, and that is so for one side or the other more often
than not. Where a gap is left the simplex of shares is cut: into pieces of form T for equal base rates, and of form F
where they may differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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
from fairbound.solve.search import Search
from fairbound.solve.sensitive_shares import applies, ascend, fixed_shares
from fairbound.solve.whole_leaf import fractional_proof, whole_leaves
from fairbound.solve.witness import Witness, build_witnesses, joined

#: How closely programs are solved: at first, relative to the tolerance's share of a cell, and at best.
ROUGH_ACCURACY, BEST_ACCURACY = 0.1, 1e-14

#: What a gap may come to that is the solver's, in units of the largest ceiling.
ROUNDING = 1e-3


def loss_answers(
    problem: Problem,
    rates: BaseRates,
    nearest: NearestFair,
    rhos: Floats,
    axis: Axis,
    tol: float,
    budget: int,
) -> list[Answer]:
    """Answer for feasible radii; ``axis`` says whose shares are searched first."""
    if rates.tolerance > 0.0:
        return _tolerant(problem, rates, nearest, rhos, tol, budget)
    sides = [_Side(problem, nearest, "group", tol), _Side(problem, nearest, "label", tol)]
    first, second = sides if axis == "group" else sides[::-1]
    answers = first.answers(rhos)
    if problem.one_convex_program:
        return answers
    left = _open(answers, tol)
    if len(left):
        if (
            applies(problem) and not problem.labels.limited
        ):  # with one value in each cell both programs have the same value, but for rounding
            nearly = [i for i in left if answers[i].bound - answers[i].witness.loss <= ROUNDING * problem.scale]
            left = np.array(nearly, dtype=np.int64)
        if len(left):
            _improve(answers, left, second.answers(rhos[left]))
        left = _open(answers, tol)
        _climb(sides[0], answers, left, rhos)
        left = _open(answers, tol)
    if len(left):
        _improve(answers, left, _searched(first, rhos[left], [answers[i] for i in left], budget))
    return answers


def _tolerant(
    problem: Problem, rates: BaseRates, nearest: NearestFair, rhos: Floats, tol: float, budget: int
) -> list[Answer]:
    """Answer where base rates may differ: of two labels the share of one is all that has to be cut."""
    search = FractionalSearch(problem, rates, nearest, tol, budget)
    state = search.start(rhos)
    answers = search.answers(state)
    left = np.arange(0) if problem.one_convex_program else _open(answers, tol)
    if len(left) and problem.labels.size == 2:
        tilted = Search(problem, nearest, tol, budget, rates)
        _improve(answers, left, _cut(tilted, "label", rhos[left], [answers[i].witness for i in left]))
    elif len(left):
        state = search.start(rhos[left])
        search.run(state)
        _improve(answers, left, search.answers(state))
    return answers


def _open(answers: list[Answer], tol: float) -> Integers:
    """Return which answers have a gap."""
    return np.array([i for i, a in enumerate(answers) if a.bound - a.witness.loss > tol], dtype=np.int64)


def _improve(answers: list[Answer], where: Integers, others: list[Answer]) -> None:
    """Keep the best of two answers to one question."""
    for index, other in zip(where, others, strict=True):
        answers[index] = answers[index].better(other)


def _climb(side: _Side, answers: list[Answer], left: Integers, rhos: Floats) -> None:
    """Find worse distributions near those that the programs suggest, where the value at given shares is cheap."""
    problem = side.question
    if applies(problem) and not problem.labels.limited and len(left):
        found = ascend(problem, rhos[left], np.array([answers[i].witness.label_mass for i in left]), side.tol)
        k = fixed_shares(problem, rhos[left], found).group_share
        plain = np.repeat(problem.ceiling[None], len(left), axis=0)
        rates = BaseRates(problem.groups.size, problem.labels, 0.0)
        multipliers = plain, np.zeros(len(left))
        worst = build_witnesses(problem, rates, rhos[left], (k, found), multipliers, side.near)
        _improve(answers, left, [replace(answers[i], witness=worst[n]) for n, i in enumerate(left)])


@dataclass(frozen=True)
class _Side:
    """The question with the shares of one side searched; equal base rates."""

    question: Problem
    near: NearestFair
    axis: Axis
    tol: float

    @cached_property
    def problem(self) -> Problem:
        """The searched side's shares stand in the place of the groups'."""
        return self.question if self.axis == "group" else self.question.transposed

    @cached_property
    def nearest(self) -> NearestFair:
        """The nearest distribution, sides likewise."""
        near = self.near
        return near if self.axis == "group" else near.transposed

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
        witnesses = build_witnesses(problem, rates, rhos, shares, (found.eta, found.lam), self.nearest)
        answers = []
        for index, value in enumerate(bound.tolist()):
            proof = fractional_proof(self.axis, problem.groups.floors, (None,), leaves.take(np.array([index])))
            witness = witnesses[index]
            answers.append(Answer(value, witness if self.axis == "group" else witness.transposed, proof))
        return answers


def _cut(search: Search, axis: Axis, rhos: Floats, start: list[Witness]) -> list[Answer]:
    """Cut the shares that stand in the place of the labels into pieces of form T."""
    ended = search.run(rhos, joined(start))
    answers = []
    for index, (bound, tree) in enumerate(zip(ended.bound.tolist(), ended.forest.trees(), strict=True)):
        answers.append(Answer(bound, ended.witness[index], search.proof(float(rhos[index]), axis, *tree)))
    return answers


def _searched(side: _Side, rhos: Floats, known: list[Answer], budget: int) -> list[Answer]:
    """Do so for a side."""
    turned, near = side.axis == "group", side.nearest
    start = [a.witness.transposed if turned else a.witness for a in known]
    found = _cut(Search(side.problem.transposed, near.transposed, side.tol, budget), side.axis, rhos, start)
    return [replace(a, witness=a.witness.transposed) if turned else a for a in found]
