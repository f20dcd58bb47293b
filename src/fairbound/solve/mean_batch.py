"""Means given the group, and their differences between groups: programs, worst cases and leaves, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.mean_leaves import MeanLeaves, mean_bound, tuned
from fairbound.solve.means import MeansSaddle, MeansSolution, solve_means
from fairbound.solve.nearest import NearestFair, nearest_in
from fairbound.solve.problem import Problem
from fairbound.solve.witness import Witnesses, build_witnesses

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely programs are solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY, BEST_ACCURACY = 1e-4, 1e-14

#: What is tried where the gap stays open: how closely to solve, and limits on the multiplier of the ball, in units of
#: the values. At the nearest distribution itself it has no best value, and solvers come to grief without a limit.
FURTHER = ((BEST_ACCURACY, np.inf), (1e-18, 1e6), (1e-18, 1e5))


@dataclass(frozen=True)
class MeanBatch:
    """Problems of one shape that differ in the sign of their values, to be solved together.

    Each has its own ball: with a confidence, what is known of P depends on which values are subtracted.
    """

    problems: Sequence[Problem]
    nearest: Sequence[NearestFair]
    rates: BaseRates

    @property
    def scale(self) -> float:
        """The unit of the values."""
        return max(float(np.abs(part).max()) for p in self.problems for part in (p.ceiling, p.upper.loss)) or 1.0

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The parts of the labels."""
        return self.problems[0].parts or ()

    @property
    def searched(self) -> bool:
        """Whether the share of a part of the labels has to be searched: limited, but not the same in all balls."""
        return len(self.parts) == 2 and not self.rates.free

    @property
    def ceilings(self) -> Floats:
        """The ceilings of all problems."""
        return np.stack([problem.ceiling for problem in self.problems])

    def solve(
        self,
        problem_index: Integers,
        rho: Floats,
        accuracy: float,
        share: Floats | None = None,
        cutoff: Floats | None = None,
        most: Floats | None = None,
    ) -> MeansSolution:
        """Solve problem ``problem_index`` (N,) at each radius, with that ``share`` of the first part of the labels.

        With a tolerance it is the least share that the part has in a group. Problems whose bound is below ``cutoff``
        are left early; no lam exceeds ``most``, if given. Multipliers are in the user's units.
        """
        first, scale, count = self.problems[0], self.scale, len(problem_index)
        probability = np.stack([p.upper.probability for p in self.problems])
        value = np.stack([p.upper.loss for p in self.problems]) / scale
        ceiling = self.ceilings / scale
        value = np.minimum(value, ceiling[..., None])  # above the ceilings P has no mass, only places for it
        cap = self._cap(problem_index, rho)
        cap = cap if most is None else np.minimum(cap, most / scale)
        cutoff = np.full(count, -np.inf) if cutoff is None else cutoff / scale
        part = np.ones((count, len(self.parts)))
        if len(self.parts) == 2:
            low = np.zeros(count) if share is None else share
            part = np.stack([low, 1.0 - low], axis=1)
        chunk = max(1, BATCH_ATOMS // first.upper.probability.size)
        found = []
        for start in range(0, count, chunk):
            here = slice(start, start + chunk)
            index = problem_index[here]
            weight = probability[index]
            if share is not None and self.rates.tolerance == 0.0:
                weight = weight * first.part_share(share[here])[:, None, :, None]
            program = MeansSaddle(
                np.sqrt(weight),
                value[index],
                ceiling[index],
                least_affinity(rho[here]),
                part[here],
                cutoff[here],
                cap[here],
                self.parts,
                self.rates,
                first.groups,
            )
            found.append(solve_means(program, accuracy))
        all_ = found[0].joined(*found[1:]) if len(found) > 1 else found[0]
        theta = np.maximum(all_.theta * scale, self.ceilings[problem_index])
        limits = all_.group_mu / scale, all_.label_mu * scale, all_.omega * scale
        shares = all_.group_share, all_.within, all_.first
        return MeansSolution(theta, all_.nu * scale, all_.lam * scale, *shares, *limits)

    def _cap(self, problem_index: Integers, rho: Floats) -> Floats:
        """How large lam may be where it matters; more only serves to discard shares that no distribution has."""
        reserve = 1.0 - np.square([near.distance for near in self.nearest])[problem_index] - least_affinity(rho)
        return np.clip(10.0 / np.maximum(reserve, 1e-9), 50.0, 1e8)

    def witnesses(self, number: int, rho: Floats, found: MeansSolution) -> Witnesses:
        """Build the distributions that solutions of problem ``number`` suggest."""
        problem, k = self.problems[number], found.group_share
        rate = np.broadcast_to(found.within, found.theta.shape).copy()
        width = np.repeat(k[..., None], problem.labels.size, axis=2)  # what a cell's values are divided by
        if len(self.parts) == 2:
            for part, share in zip(self.parts, (found.first, 1.0 - found.first), strict=True):
                rate[..., list(part)] *= share[..., None]
                width[..., list(part)] *= share[..., None]
        multipliers = found.theta, found.lam[:, None, None] * width
        return build_witnesses(problem, self.rates, rho, (k, rate), multipliers, self.nearest[number])

    def leaves(self, found: MeansSolution) -> MeanLeaves:
        """Return leaves for all shares at once from solutions."""
        count, parts = len(found), len(self.parts)
        omega = found.omega
        if parts == 1 and self.rates.tolerance == 0.0 and self.problems[0].labels.limited:
            omega = found.theta.sum(axis=1)
        ends, centre = np.zeros((count, 2)), np.ones((count, parts))
        moving = np.zeros_like(found.theta)
        limits = found.nu, omega, found.group_mu, found.label_mu
        return MeanLeaves(ends, found.theta, moving, found.lam, centre, *limits)

    def plain(self, number: int, count: int) -> MeanLeaves:
        """Return leaves for all shares at once whose multipliers are the ceilings: nothing exceeds these."""
        problem, parts = self.problems[number], len(self.parts)
        theta = np.repeat(problem.ceiling[None], count, axis=0)
        ends = np.tile([0.0, last_share(self.rates)], (count, 1))
        none = np.zeros((count, problem.labels.size))
        nu = np.zeros((count, problem.groups.size))
        if parts == 1 and self.rates.tolerance > 0.0 and not self.rates.free:
            nu = np.repeat(problem.ceiling.max(axis=1)[None], count, axis=0)
        rows = np.zeros((count, problem.groups.multipliers)), np.zeros((count, problem.labels.multipliers))
        return MeanLeaves(ends, theta, 0.0 * theta, np.zeros(count), np.ones((count, parts)), nu, none, *rows)

    def at_ceiling(self, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer | None]:
        """Answer where a distribution is possible that has nothing but the largest values; None elsewhere.

        A group (or its rows of a label) can then be emptied and filled with anything: the ball proves nothing any more.
        Of the problems at one radius only the largest value counts: one is enough.
        """
        answers: list[Answer | None] = [None] * len(problem_index)
        open_ = np.ones(int(radius_index.max(initial=-1)) + 1, dtype=bool)
        for number, problem in enumerate(self.problems):
            if not (problem.unseen and (open_[radius_index] & (problem_index == number)).any()):
                continue
            atoms = problem.lower
            kept = np.where(atoms.loss == problem.ceiling[..., None], atoms.probability, 0.0).sum(axis=2)
            if not kept.any():
                continue  # far from any distribution that has nothing else
            near = nearest_in(kept, problem.groups, self.rates)
            chosen = np.flatnonzero(open_[radius_index] & (problem_index == number) & (rho >= near.distance))
            for index, answer in zip(chosen, self.unproved(number, rho[chosen], near), strict=True):
                if answer.witness.loss > answer.bound - 1e-9 * self.scale:
                    answers[int(index)], open_[radius_index[index]] = answer, False
        return answers

    def unproved(self, number: int, rho: Floats, near: NearestFair | None = None) -> list[Answer]:
        """Answer with the ceilings, whatever the radius, and with distributions of these shares, as bad as can be."""
        problem, count = self.problems[number], len(rho)
        if not count:
            return []
        near = near or self.nearest[number]
        leaves = self.plain(number, count)
        bound = mean_bound(problem, self.rates, rho, leaves)
        shares = np.tile(near.group_mass, (count, 1)), np.tile(near.rate, (count, 1, 1))
        multipliers = leaves.zeta, np.zeros(count)
        found = build_witnesses(problem, self.rates, rho, shares, multipliers, self.nearest[number])
        return [self._answer(float(bound[place]), found, leaves, place) for place in range(count)]

    def _answer(self, bound: float, found: Witnesses, leaves: MeanLeaves, place: int) -> Answer:
        return Answer(bound, found[place], leaves.take(np.array([place])).proof(self.rates.tolerance))

    def answers(self, problem_index: Integers, rho: Floats, tol: float) -> list[Answer]:
        """Answer where no search is needed: one convex program each.

        Solved as accurately as the tolerance asks for; the few whose gap is still too large once more, as far as floats
        go.
        """
        rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / self.scale)
        answers = self._solved(problem_index, rho, rough)
        for accuracy, limit in FURTHER:
            again = np.array([i for i, a in enumerate(answers) if a.bound - a.witness.loss > 0.5 * tol], dtype=np.int64)
            if not len(again):
                break
            most = np.full(len(again), limit * self.scale)
            others = self._solved(problem_index[again], rho[again], accuracy, most)
            for index, other in zip(again, others, strict=True):
                answers[index] = answers[index].better(other)
        return answers

    def _solved(
        self, problem_index: Integers, rho: Floats, accuracy: float, most: Floats | None = None
    ) -> list[Answer]:
        found = self.solve(problem_index, rho, accuracy, most=most)
        answers: dict[int, Answer] = {}
        for number, problem in enumerate(self.problems):
            chosen = np.flatnonzero(problem_index == number)
            if not len(chosen):
                continue
            own, radii = found.take(chosen), rho[chosen]
            leaves, bound = tuned(problem, self.rates, radii, self.leaves(own))
            # Where the ball gains nothing, the ceilings themselves are the best multipliers.
            plain = self.plain(number, len(chosen))
            if len(self.parts) == 1 and self.rates.tolerance == 0.0 and problem.labels.limited:
                omega = plain.zeta.sum(axis=1)
                plain = replace(plain, omega=omega, label_mu=problem.labels.useful(leaves.label_mu, omega))
            trivial = mean_bound(problem, self.rates, radii, plain)
            leaves = plain.merged(trivial <= bound, leaves)
            witnesses = self.witnesses(number, radii, own)
            for place, value in enumerate(np.minimum(bound, trivial).tolist()):
                answers[int(chosen[place])] = self._answer(value, witnesses, leaves, place)
        return [answers[index] for index in range(len(problem_index))]


def last_share(rates: BaseRates) -> float:
    """Return the largest share, rounded up, that the first part need be said to have at least in every group."""
    return 1.0 if rates.tolerance == 0.0 else max(0.0, float(np.nextafter(1.0 - rates.tolerance, 1.0)))
