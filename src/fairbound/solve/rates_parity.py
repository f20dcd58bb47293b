"""Means given the group where base rates may differ: bounds, worst cases and proofs, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.problem import Problem
from fairbound.solve.proof import RatesMeansProof
from fairbound.solve.rates_means import MeansSaddle, MeansSolution, solve_means
from fairbound.solve.rates_means_bounds import means_bound
from fairbound.solve.rates_nearest import NearestRates, nearest_rates
from fairbound.solve.rates_witness import build_rates_witnesses
from fairbound.solve.witness import Witnesses

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely programs are solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY = 1e-4
BEST_ACCURACY = 1e-14


@dataclass(frozen=True)
class RatesBatch:
    """Problems of one shape that differ in the sign of their values, to be solved together; each has its own ball."""

    problems: Sequence[Problem]
    nearest: Sequence[NearestRates]
    rates: BaseRates

    @property
    def scale(self) -> float:
        """The unit of the values."""
        return max(float(np.abs(part).max()) for p in self.problems for part in (p.ceiling, p.upper.loss)) or 1.0

    @property
    def searched(self) -> bool:
        """Whether the share of a part of the labels has to be searched: limited, but not the same in all groups."""
        return len(self.problems[0].parts or ()) == 2 and not self.rates.free

    def solve(
        self, problem_index: Integers, rho: Floats, accuracy: float, share: Floats | None = None
    ) -> MeansSolution:
        """Solve problem ``which`` (N,) at each radius; ``share`` is the least one that the first part has in a group.

        Multipliers are in the user's units.
        """
        first, scale = self.problems[0], self.scale
        root = np.sqrt(np.stack([p.upper.probability for p in self.problems]))
        value = np.stack([p.upper.loss for p in self.problems]) / scale
        ceiling = np.stack([p.ceiling for p in self.problems])
        value = np.minimum(value, ceiling[..., None] / scale)  # above the ceilings P has no mass, only places for it
        least = np.zeros(len(problem_index)) if share is None else share
        chunk = max(1, BATCH_ATOMS // first.upper.probability.size)
        found = []
        for start in range(0, len(problem_index), chunk):
            here = slice(start, start + chunk)
            index = problem_index[here]
            saddle = MeansSaddle(
                root[index],
                value[index],
                ceiling[index] / scale,
                least_affinity(rho[here]),
                self._cap(index, rho[here]),
                least[here],
                np.minimum(least[here] + self.rates.width, 1.0),
                first.parts or (),
                self.rates,
                first.groups,
            )
            found.append(solve_means(saddle, accuracy))
        theta, nu, lam, k, rate, group_mu = (
            np.concatenate([getattr(f, name) for f in found]) for name in MeansSolution.__dataclass_fields__
        )
        theta = np.maximum(theta * scale, ceiling[problem_index])
        return MeansSolution(theta, nu * scale, lam * scale, k, rate, group_mu / scale)

    def _cap(self, problem_index: Integers, rho: Floats) -> Floats:
        """How large lam may be where it matters; more only serves to discard shares that no distribution has."""
        reserve = 1.0 - np.square([near.distance for near in self.nearest])[problem_index] - least_affinity(rho)
        return np.clip(10.0 / np.maximum(reserve, 1e-9), 50.0, 1e8)

    def witnesses(self, number: int, rho: Floats, found: MeansSolution, chosen: Integers | Booleans) -> Witnesses:
        """Build the distributions that some of the solutions, of problem ``number``, suggest."""
        problem = self.problems[number]
        k, rate = found.group_share[chosen], found.rate[chosen]
        width = np.empty_like(rate)  # what a cell's values are divided by
        for part in problem.parts or ():
            width[..., part] = rate[..., part].sum(axis=-1, keepdims=True) * k[..., None]
        multipliers = found.theta[chosen], found.lam[chosen, None, None] * width
        return build_rates_witnesses(problem, self.rates, rho, (k, rate), multipliers, self.nearest[number])

    def bound(self, number: int, rho: Floats, theta: Floats, group_mu: Floats, nu: Floats) -> Floats:
        """Return what multipliers of problem ``number`` prove, all shares at once; theta is (N, S, C)."""
        return means_bound(self.problems[number], self.rates, rho, theta[:, None], group_mu[:, None], nu)

    def at_ceiling(self, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer | None]:
        """Answer where a distribution is possible that has nothing but the largest values; None elsewhere.

        Of a ``team`` only the largest value counts: one is enough.
        """
        answers: list[Answer | None] = [None] * len(problem_index)
        open_ = np.ones(int(radius_index.max(initial=-1)) + 1, dtype=bool)
        for number, problem in enumerate(self.problems):
            if not (open_[radius_index] & (problem_index == number)).any():
                continue
            atoms = problem.lower
            kept = np.where(atoms.loss == problem.ceiling[..., None], atoms.probability, 0.0).sum(axis=2)
            if not kept.any():
                continue  # far from any distribution that has nothing else
            near = nearest_rates(kept, problem.groups, self.rates)
            chosen = np.flatnonzero(
                open_[radius_index] & (problem_index == number) & (rho >= near.distance) & problem.unseen
            )
            for index, answer in zip(chosen, self.unproved(number, rho[chosen], near), strict=True):
                if answer.witness.loss > answer.bound - 1e-9 * self.scale:
                    answers[int(index)], open_[radius_index[index]] = answer, False
        return answers

    def unproved(self, number: int, rho: Floats, near: NearestRates | None = None) -> list[Answer]:
        """Answer with the ceilings, whatever the radius, and with distributions of these shares, as bad as can be."""
        problem, count = self.problems[number], len(rho)
        near = near or self.nearest[number]
        theta = np.broadcast_to(problem.ceiling, (count, *problem.ceiling.shape))
        group_mu, nu = np.zeros((count, problem.groups.multipliers)), problem.ceiling.max(axis=1)
        bound = self.bound(number, rho, theta, group_mu, np.tile(nu, (count, 1)))
        shares = np.tile(near.group_mass, (count, 1)), np.tile(near.rate, (count, 1, 1))
        multipliers = theta, np.zeros(count)
        found = build_rates_witnesses(problem, self.rates, rho, shares, multipliers, self.nearest[number])
        proof = self.plain_proof(problem)
        return [Answer(float(bound[place]), found[place], proof) for place in range(count)]

    def plain_proof(self, problem: Problem) -> RatesMeansProof:
        """Return the proof that nothing exceeds the ceilings."""
        ends = 2 if self.searched else 1
        theta = np.repeat(problem.ceiling[None, None], ends, axis=1)
        cuts = np.array([0.0, last_share(self.rates)]) if self.searched else np.zeros(0)
        return RatesMeansProof(
            theta, cuts, np.zeros((1, ends, problem.groups.multipliers)), problem.ceiling.max(axis=1)
        )

    def answers(self, problem_index: Integers, rho: Floats, tol: float) -> list[Answer]:
        """Answer where no search is needed: one convex program each.

        Solved as accurately as the tolerance asks for; the few whose gap is still too large once more, as far as floats
        go.
        """
        rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / self.scale)
        answers = self._solved(problem_index, rho, rough)
        again = np.array([i for i, a in enumerate(answers) if a.bound - a.witness.loss > 0.5 * tol], dtype=np.int64)
        if len(again) and rough > BEST_ACCURACY:
            for index, better in zip(again, self._solved(problem_index[again], rho[again], BEST_ACCURACY), strict=True):
                kept = answers[index]
                answers[index] = better if better.bound - better.witness.loss < kept.bound - kept.witness.loss else kept
        return answers

    def _solved(self, problem_index: Integers, rho: Floats, accuracy: float) -> list[Answer]:
        found = self.solve(problem_index, rho, accuracy)
        answers: dict[int, Answer] = {}
        for number, problem in enumerate(self.problems):
            chosen = np.flatnonzero(problem_index == number)
            if not len(chosen):
                continue
            theta, mu, nu = found.theta[chosen], found.group_mu[chosen], found.nu[chosen]
            bound = self.bound(number, rho[chosen], theta, mu, nu)
            plain = np.broadcast_to(problem.ceiling, theta.shape)
            top = np.broadcast_to(problem.ceiling.max(axis=1), nu.shape)
            trivial = self.bound(number, rho[chosen], plain, mu, top)
            worse = trivial <= bound
            theta, nu = np.where(worse[:, None, None], plain, theta), np.where(worse[:, None], top, nu)
            witnesses = self.witnesses(number, rho[chosen], found, chosen)
            for place, value in enumerate(np.minimum(bound, trivial).tolist()):
                proof = RatesMeansProof(theta[place, None, None], np.zeros(0), mu[place, None, None], nu[place])
                answers[int(chosen[place])] = Answer(value, witnesses[place], proof)
        return [answers[index] for index in range(len(problem_index))]


def last_share(rates: BaseRates) -> float:
    """Return the largest share, rounded up, that the first part need be said to have at least in every group."""
    return float(np.nextafter(1.0 - rates.tolerance, 1.0))
