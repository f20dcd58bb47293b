"""Means given the group, and their differences between groups: bounds, worst cases and proofs, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.conditional import ConditionalSaddle, ConditionalSolution, solve_conditional
from fairbound.solve.leaf_bounds import conditional_bound
from fairbound.solve.nearest import NearestFair, nearest_shares
from fairbound.solve.problem import Problem
from fairbound.solve.proof import ConditionalProof, Proof
from fairbound.solve.shares import MarginalSet
from fairbound.solve.witness import Witnesses, build_witnesses

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely programs are solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY = 1e-4
BEST_ACCURACY = 1e-14

#: What is tried where the gap stays open: how closely to solve, and limits on the multiplier of the ball, in units of
#: the values. At the nearest distribution itself it has no best value, and solvers come to grief without a limit.
FURTHER = ((BEST_ACCURACY, np.inf), (1e-18, 1e6), (1e-18, 1e5))


class MeansOfGroups(Protocol):
    """A batch of problems of means given the group, whatever is asked of base rates."""

    def at_ceiling(self, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer | None]:
        """Answer where a distribution is possible that has nothing but the largest values; None elsewhere.

        One of a team is enough.
        """
        ...

    def unproved(self, number: int, rho: Floats) -> list[Answer]:
        """Answer with the ceilings."""
        ...

    def answers(self, problem_index: Integers, rho: Floats, tol: float) -> list[Answer]:
        """Answer where no search is needed."""
        ...

    def plain_proof(self, problem: Problem) -> Proof:
        """Return the proof that nothing exceeds the ceilings."""
        ...


@dataclass(frozen=True)
class Batch:
    """Problems of one shape that differ in the sign of their values, to be solved together.

    Each has its own ball: with a confidence, what is known of P depends on which values are subtracted.
    """

    problems: Sequence[Problem]
    nearest: Sequence[NearestFair]

    @property
    def scale(self) -> float:
        """The unit of the values."""
        return max(float(np.abs(part).max()) for p in self.problems for part in (p.ceiling, p.upper.loss)) or 1.0

    def solve(
        self,
        problem_index: Integers,
        rho: Floats,
        accuracy: float,
        share: Floats | None = None,
        cutoff: Floats | None = None,
        most: Floats | None = None,
    ) -> ConditionalSolution:
        """Solve problem ``which`` (N,) at each radius, with that ``share`` of the first part of the labels.

        Problems whose bound is below ``enough`` are left early; no lam exceeds ``most``, if given. Multipliers are in
        the user's units.
        """
        first, scale = self.problems[0], self.scale
        probability = np.stack([p.upper.probability for p in self.problems])
        value = np.stack([p.upper.loss for p in self.problems]) / scale
        ceiling = np.stack([p.ceiling for p in self.problems]) / scale
        value = np.minimum(value, ceiling[..., None])  # above the ceilings P has no mass, only places for it
        parts = first.parts or ()
        chunk = max(1, BATCH_ATOMS // first.upper.probability.size)
        cap = self._cap(problem_index, rho) if most is None else np.minimum(self._cap(problem_index, rho), most / scale)
        found = []
        for start in range(0, len(problem_index), chunk):
            here = slice(start, start + chunk)
            index = problem_index[here]
            weight, part = probability[index], np.ones((len(index), len(parts)))
            if share is not None:
                weight = weight * first.part_share(share[here])[:, None, :, None]
                if first.limited_within:
                    part = np.stack([share[here], 1.0 - share[here]], axis=1)
            saddle = ConditionalSaddle(
                np.sqrt(weight),
                value[index],
                ceiling[index],
                least_affinity(rho[here]),
                np.full(len(index), -np.inf) if cutoff is None else cutoff[here] / scale,
                cap[here],
                part,
                parts,
                first.groups,
                # Of two labels limits act on the share of the part alone.
                first.labels if share is None or first.limited_within else MarginalSet(first.labels.size),
            )
            found.append(solve_conditional(saddle, accuracy))
        theta, lam, k, r, group_mu, label_mu, omega = (
            np.concatenate([getattr(f, name) for f in found]) for name in ConditionalSolution.__dataclass_fields__
        )
        theta = np.maximum(theta * scale, np.stack([p.ceiling for p in self.problems])[problem_index])
        return ConditionalSolution(theta, lam * scale, k, r, group_mu / scale, label_mu * scale, omega * scale)

    def _cap(self, problem_index: Integers, rho: Floats) -> Floats:
        """How large lam may be where it matters; more only serves to discard shares that no distribution has."""
        reserve = 1.0 - np.square([near.distance for near in self.nearest])[problem_index] - least_affinity(rho)
        return np.clip(10.0 / np.maximum(reserve, 1e-9), 50.0, 1e8)

    def witnesses(
        self, number: int, rho: Floats, found: ConditionalSolution, chosen: Integers, share: Floats | None = None
    ) -> Witnesses:
        """Build the distributions that some of the solutions, of problem ``number``, suggest."""
        problem = self.problems[number]
        k, r, lam = found.group_share[chosen], found.within[chosen], found.lam[chosen, None, None] * np.ones(1)
        if share is not None:
            factor = problem.part_share(share)
            r, lam = r * factor, lam * factor[:, None]
        lam = lam * k[:, :, None] * np.ones((1, 1, problem.labels.size))
        return build_witnesses(problem, rho, (k, r), found.theta[chosen], lam, self.nearest[number])

    def at_ceiling(self, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer | None]:
        """Answer where a distribution is possible that has nothing but the largest values; None elsewhere."""
        return at_ceiling(self, problem_index, rho, radius_index)

    def unproved(self, number: int, rho: Floats) -> list[Answer]:
        """Answer with the ceilings."""
        return unproved(self, number, rho, self.nearest[number])

    def answers(self, problem_index: Integers, rho: Floats, tol: float) -> list[Answer]:
        """Answer for means given the group alone."""
        return parity_answers(self, problem_index, rho, tol)

    def plain_proof(self, problem: Problem) -> ConditionalProof:
        """Return the proof that no mean given the group exceeds the ceilings."""
        limits = np.zeros((1, 1, problem.groups.multipliers)), np.zeros((1, problem.labels.multipliers))
        return ConditionalProof(problem.ceiling[None, None], np.zeros(0), *limits, np.zeros(0))


def at_ceiling(batch: Batch, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer | None]:
    """Answer where a distribution is possible that has nothing but the largest values; None elsewhere.

    A group (or its rows of a label) can then be emptied and filled with anything: the ball proves nothing any more. Of
    a ``team`` only the largest value counts: one is enough.
    """
    answers: list[Answer | None] = [None] * len(problem_index)
    open_ = np.ones(int(radius_index.max(initial=-1)) + 1, dtype=bool)
    for number, problem in enumerate(batch.problems):
        if not (open_[radius_index] & (problem_index == number)).any():
            continue
        atoms = problem.lower
        kept = np.where(atoms.loss == problem.ceiling[..., None], atoms.probability, 0.0).sum(axis=2)
        near = nearest_shares(kept, problem.groups, problem.labels)
        chosen = np.flatnonzero(
            open_[radius_index] & (problem_index == number) & (rho >= near.distance) & problem.unseen
        )
        for index, answer in zip(chosen, unproved(batch, number, rho[chosen], near), strict=True):
            if answer.witness.loss > answer.bound - 1e-9 * batch.scale:
                answers[int(index)], open_[radius_index[index]] = answer, False
    return answers


def unproved(batch: Batch, number: int, rho: Floats, near: NearestFair) -> list[Answer]:
    """Answer with the ceilings, whatever the radius, and with distributions of these shares, as bad as they can be."""
    problem, count = batch.problems[number], len(rho)
    theta = np.broadcast_to(problem.ceiling, (count, *problem.ceiling.shape))
    ends = None if len(problem.parts or ()) == 1 else np.tile([0.0, 1.0], (count, 1))
    multipliers = theta[:, None] if ends is None else np.repeat(theta[:, None], 2, axis=1)
    group_mu = np.zeros((*multipliers.shape[:2], problem.groups.multipliers))
    label_mu = np.zeros((count, problem.labels.multipliers))
    bound = conditional_bound(problem, rho, multipliers, group_mu, label_mu, ends)
    shares = (np.tile(near.group_mass, (count, 1)), np.tile(near.label_mass, (count, 1)))
    found = build_witnesses(problem, rho, shares, theta, np.zeros(count), batch.nearest[number])
    cuts = np.zeros(0) if ends is None else np.array([0.0, 1.0])
    return [
        Answer(
            float(bound[place]),
            found[place],
            ConditionalProof(
                multipliers[place, None],
                cuts,
                group_mu[place, None],
                label_mu[place, None],
                np.zeros((0 if ends is None else 1, problem.labels.size)),
            ),
        )
        for place in range(count)
    ]


def parity_answers(batch: Batch, problem_index: Integers, rho: Floats, tol: float) -> list[Answer]:
    """Answer for means given the group alone: one convex program each.

    Solved as accurately as the tolerance asks for; the few whose gap is still too large once more, as far as floats go.
    """
    rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / batch.scale)
    answers = _solved(batch, problem_index, rho, rough)
    for accuracy, limit in FURTHER:
        again = np.array([i for i, a in enumerate(answers) if a.bound - a.witness.loss > 0.5 * tol], dtype=np.int64)
        if not len(again):
            break
        most = np.full(len(again), limit * batch.scale)
        for index, other in zip(again, _solved(batch, problem_index[again], rho[again], accuracy, most), strict=True):
            answers[index] = _better(answers[index], other)
    return answers


def _better(first: Answer, second: Answer) -> Answer:
    """Return the smaller bound, and the worse distribution, of two answers to the same question."""
    low, high = (first, second) if first.bound <= second.bound else (second, first)
    return replace(low, witness=max(low.witness, high.witness, key=lambda witness: witness.loss))


def _solved(
    batch: Batch, problem_index: Integers, rho: Floats, accuracy: float, most: Floats | None = None
) -> list[Answer]:
    found = batch.solve(problem_index, rho, accuracy, most=most)
    answers: dict[int, Answer] = {}
    for number, problem in enumerate(batch.problems):
        chosen = np.flatnonzero(problem_index == number)
        if not len(chosen):
            continue
        theta, mus = found.theta[chosen], (found.group_mu[chosen, None], found.label_mu[chosen])
        bound = conditional_bound(problem, rho[chosen], theta[:, None], *mus)
        # Where the ball gains nothing, the ceilings themselves are the best multipliers.
        plain = np.broadcast_to(problem.ceiling, theta.shape)
        label_mu = problem.labels.useful(mus[1], plain.sum(axis=1))
        trivial = conditional_bound(problem, rho[chosen], plain[:, None], mus[0], label_mu)
        theta = np.where((trivial <= bound)[:, None, None], plain, theta)
        label_mu = np.where((trivial <= bound)[:, None], label_mu, mus[1])
        witnesses = batch.witnesses(number, rho[chosen], found, chosen)
        for place, value in enumerate(np.minimum(bound, trivial).tolist()):
            limits = mus[0][place, None], label_mu[place, None], np.zeros(0)
            proof = ConditionalProof(theta[place, None, None], np.zeros(0), *limits)
            answers[int(chosen[place])] = Answer(value, witnesses[place], proof)
    return [answers[index] for index in range(len(problem_index))]
