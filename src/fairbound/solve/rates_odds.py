"""True and false positive rates where base rates may differ a little: a search over the least share of a label.

With two labels, let t be the least share that the first one has in a group: in each group it is at least t and at most
t plus the tolerance. For a fixed t the question is one convex program (``rates_means``). The values of t
are cut into intervals, and on each the multipliers move linearly between those found at its ends (docs/metrics.md). The
search may stop at any time: the largest bound of the intervals is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.mean_leaves import interval_bound
from fairbound.solve.problem import Problem
from fairbound.solve.proof import RatesMeansProof
from fairbound.solve.rates_means_bounds import levels_apart, means_bound
from fairbound.solve.rates_parity import BEST_ACCURACY, ROUGH_ACCURACY, RatesBatch, last_share
from fairbound.solve.witness import Witness

#: At how many shares between the least and the largest possible one programs are solved at first.
FIRST = 9

#: Intervals are not cut any more below this width; into how many they are cut at most.
SMALLEST, MOST = 2.0**-40, 8

#: Sizes of multipliers that rule out shares that no distribution has, in units of the values.
SIZES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7)

#: How closely the shares that are possible at all are found (it only guides the search).
HALVINGS = 40


@dataclass(frozen=True)
class Node:
    """A share, and the multipliers that belong to it."""

    share: float
    theta: Floats
    group_share: Floats
    group_mu: Floats


@dataclass(frozen=True)
class Interval:
    """Two neighbouring nodes, multipliers at both ends (2, S, C), those of limits (2, rows), and what they prove."""

    ends: tuple[Node, Node]
    theta: Floats
    group_mu: Floats
    bound: float


@dataclass
class Job:
    """One problem at one radius: what is attained so far, and the intervals."""

    number: int
    rho: float
    radius_index: int
    attained: float = -np.inf
    goal: float = -np.inf
    witness: Witness | None = None
    intervals: tuple[Interval, ...] = ()


def possible_shares(problem: Problem, tolerance: float, near: float, rho: float) -> tuple[float, float]:
    """Return about where the least shares end that a distribution in the ball can have, by bisection.

    Given the least share t each group takes the share closest to its own in P, and the best affinity is known.
    """
    first, second = (problem.mass[:, list(part)].sum(axis=1) for part in problem.parts or ())
    own = first / np.maximum(first + second, 1e-300)
    need = float(least_affinity(rho))

    def reached(t: float) -> bool:
        share = np.clip(own, t, min(t + tolerance, 1.0))
        return float(np.linalg.norm(np.sqrt(first * share) + np.sqrt(second * (1.0 - share)))) >= need

    ends = []
    for outside in (0.0, 1.0 - tolerance):
        inside, beyond = float(np.clip(near, 0.0, 1.0 - tolerance)), outside
        if reached(beyond):
            inside = beyond
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + beyond)
            inside, beyond = (middle, beyond) if reached(middle) else (inside, middle)
        ends.append(beyond)
    return ends[0], ends[1]


def _pull(problem: Problem, tolerance: float, share: Floats) -> Floats:
    """Return multipliers that prove the largest affinity at least shares (...), up to their size; shape (..., S, C).

    With ``c_s`` the best affinity of group s, at its share u, they are ``c_s sqrt(u p)`` and ``c_s sqrt((1 - u) p)``.
    """
    first, second = (list(part) for part in problem.parts or ())
    mass = problem.mass[:, [first[0], second[0]]]
    own = mass[:, 0] / np.maximum(mass.sum(axis=1), 1e-300)
    closest = np.clip(own, share[..., None], np.minimum(share[..., None] + tolerance, 1.0))
    root = np.sqrt(np.stack([closest, 1.0 - closest], axis=-1) * mass)
    pull = np.empty_like(root)
    pull[..., [first[0], second[0]]] = root * root.sum(axis=-1, keepdims=True)
    pull = np.maximum(pull, 1e-9 * pull.sum(axis=(-1, -2), keepdims=True))
    return pull / pull.sum(axis=(-1, -2), keepdims=True)


@dataclass
class RatesOddsSearch:
    """A search for problem ``which`` (N,) of a batch at each radius.

    Of the jobs of one ``team`` only the largest value counts, so none of them needs a bound below what another attains,
    or what is ``known`` (for each team) to be attained by others.
    """

    batch: RatesBatch
    tol: float
    budget: int
    incumbent: Floats

    def run(self, problem_index: Integers, rho: Floats, radius_index: Integers) -> list[Answer]:
        """Cut until every gap is closed or the budget is used up."""
        triples = zip(problem_index, rho, radius_index, strict=True)
        jobs = [Job(int(number), float(radius), int(mates)) for number, radius, mates in triples]
        self._cut(jobs, [(job, self._first(job)) for job in jobs])
        while True:
            cuts = [(job, self._new(job)) for job in jobs]
            cuts = [(job, shares) for job, shares in cuts if shares]
            if not cuts:
                return [self._answer(job) for job in jobs]
            self._cut(jobs, cuts)

    def _first(self, job: Job) -> list[float]:
        """Return the ends of all shares, and some that are possible."""
        problem, rates = self.batch.problems[job.number], self.batch.rates
        near = float(self.batch.nearest[job.number].rate[:, list((problem.parts or ((0,),))[0])].sum(axis=1).min())
        low, high = possible_shares(problem, rates.tolerance, near, job.rho)
        between = low + (0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, FIRST))) * (high - low)
        return sorted({0.0, *np.clip(between, 0.0, last_share(rates)).tolist(), last_share(rates)})

    def _goal(self, jobs: list[Job], job: Job) -> float:
        """Return what is attained by the best of a job's team, or by others."""
        return max(
            float(self.incumbent[job.radius_index]),
            *(other.attained for other in jobs if other.radius_index == job.radius_index),
        )

    def _new(self, job: Job) -> list[float]:
        """Return new shares: inside the intervals that keep the gap open, the worst first, within the budget."""
        room, shares = self.budget - len(job.intervals), []
        for piece in sorted(job.intervals, key=lambda piece: -piece.bound):
            low, high = (node.share for node in piece.ends)
            excess = (piece.bound - job.goal) / self.tol
            if excess <= 0.9 or room <= 0:
                break
            if high - low <= SMALLEST:
                continue
            times = int(np.clip(np.ceil(0.7 * np.sqrt(min(excess, 1e9))), 2, min(MOST, room + 1)))
            shares += [low + (high - low) * place / times for place in range(1, times)]
            room -= times - 1
        return shares

    def _cut(self, jobs: list[Job], cuts: list[tuple[Job, list[float]]]) -> None:
        """Solve at new shares, and bound the intervals that they make."""
        problem_index = np.concatenate([np.full(len(shares), job.number) for job, shares in cuts])
        rho = np.concatenate([np.full(len(shares), job.rho) for job, shares in cuts])
        share = np.concatenate([shares for _, shares in cuts])
        accuracy = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.batch.scale)
        found = self.batch.solve(problem_index, rho, accuracy, np.clip(share, 0.0, 1.0 - self.batch.rates.tolerance))
        ends = np.cumsum([0, *(len(shares) for _, shares in cuts)])
        spans = [np.arange(*span) for span in pairwise(ends)]
        for (job, _), chosen in zip(cuts, spans, strict=True):
            witnesses = self.batch.witnesses(job.number, rho[chosen], found, chosen)
            best = int(witnesses.loss.argmax())
            if witnesses.loss[best] > job.attained:
                job.attained, job.witness = float(witnesses.loss[best]), witnesses[best]
        for job in jobs:
            job.goal = self._goal(jobs, job)
        for (job, _), chosen in zip(cuts, spans, strict=True):
            new = [Node(float(share[n]), found.theta[n], found.group_share[n], found.group_mu[n]) for n in chosen]
            old = [piece.ends[0] for piece in job.intervals] + [piece.ends[1] for piece in job.intervals[-1:]]
            nodes = sorted([*old, *new], key=lambda node: node.share)
            kept = {(piece.ends[0].share, piece.ends[1].share): piece for piece in job.intervals}
            pairs = [pair for pair in pairwise(nodes) if pair[0].share < pair[1].share]
            made = iter(self._bounded(job, [p for p in pairs if (p[0].share, p[1].share) not in kept]))
            job.intervals = tuple(kept.get((a.share, b.share)) or next(made) for a, b in pairs)

    def _bounded(self, job: Job, pairs: list[tuple[Node, Node]]) -> list[Interval]:
        """Bound intervals with the best of several multipliers: their level should not change along the interval."""
        problem = self.batch.problems[job.number]
        ends = np.array([[node.share for node in pair] for pair in pairs])
        theta = np.array([[node.theta for node in pair] for pair in pairs])
        k = np.array([[node.group_share for node in pair] for pair in pairs])
        mu = np.array([[node.group_mu for node in pair] for pair in pairs])
        drift = theta.sum(axis=2)
        weight = (k / k.sum(axis=2, keepdims=True))[..., None]
        levels = (drift.mean(axis=1, keepdims=True), drift[:, :1], drift[:, 1:])
        offers = [(theta - weight * (drift - level)[:, :, None], mu) for level in levels]
        offers += [(theta[:, [end, end]], mu[:, [end, end]]) for end in (0, 1)]
        offers += [(np.broadcast_to(problem.ceiling, theta.shape), np.zeros_like(mu))]
        offers += self._of_one_size(problem, ends, theta, mu)
        best, best_mu, bound = theta.copy(), mu.copy(), np.full(len(pairs), np.inf)
        left = np.arange(len(pairs))
        for offered, pulled in offers:
            held = np.maximum(offered[left], problem.ceiling)
            rho, nothing = np.full(len(left), job.rho), np.zeros((len(left), problem.groups.size))
            value = means_bound(problem, self.batch.rates, rho, held, pulled[left], nothing, ends[left])
            better = value <= bound[left]
            places = left[better]
            bound[places], best[places], best_mu[places] = value[better], held[better], pulled[places]
            left = left[bound[left] > job.goal + 0.8 * self.tol]
            if not len(left):
                break
        rho, mu = np.full(len(pairs), job.rho), best_mu.mean(axis=1)
        tolerance = self.batch.rates.allowed
        level = levels_apart(problem, best).max(axis=1)
        bound = np.maximum(bound, interval_bound(problem, rho, ends, best, mu, level, tolerance))
        return [Interval(pair, best[n], best_mu[n], float(bound[n])) for n, pair in enumerate(pairs)]

    def _of_one_size(self, problem: Problem, ends: Floats, theta: Floats, mu: Floats) -> list[tuple[Floats, Floats]]:
        """Return multipliers that are equally large at both ends, from those found, and from affinities alone.

        Where no distribution has such shares, or hardly one, the best multipliers are as large as can be, and those
        found at the two ends differ in size: between them the level would not stay the same.
        """
        above = theta - problem.ceiling
        size = above.sum(axis=(2, 3), keepdims=True)
        shape = above / np.maximum(size, 1e-300)
        sizes = [
            size[:, [0]],
            size[:, [1]],
            np.sqrt(size[:, [0]] * size[:, [1]]),
            10.0 * size.max(axis=1, keepdims=True),
        ]
        found = [(problem.ceiling + much * shape, mu) for much in sizes]
        pull = _pull(problem, self.batch.rates.tolerance, ends)
        plain = [problem.ceiling + much * self.batch.scale * pull for much in SIZES]
        return found + [(offered, np.zeros_like(mu)) for offered in plain]

    def _answer(self, job: Job) -> Answer:
        """Put the intervals of one job together."""
        if job.witness is None:
            message = "no distribution was found"  # cannot happen: the nearest one is in every ball
            raise RuntimeError(message)
        pieces = job.intervals
        cuts = np.array([piece.ends[0].share for piece in pieces] + [pieces[-1].ends[1].share])
        proof = RatesMeansProof(
            np.array([piece.theta for piece in pieces]),
            cuts,
            np.array([piece.group_mu for piece in pieces]),
            np.zeros(self.batch.problems[job.number].groups.size),
        )
        return Answer(max(piece.bound for piece in pieces), job.witness, proof)
