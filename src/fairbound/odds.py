"""Means given the group and a part of the labels (true and false positive rates): a search over that part's share.

For a fixed share the question is one convex program (:mod:`fairbound.conditional`). The shares are cut into intervals;
on each the multipliers move linearly between those found at its ends, adjusted so that their level does not change, and
the bound's error is of second order in the width (docs/metrics.md). The search may stop at any time: the
largest bound of the intervals is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import count
from typing import Self

import numpy as np

from fairbound.answer import Answer
from fairbound.arrays import Booleans, Floats, Integers
from fairbound.bounds import conditional_bound
from fairbound.parity import BEST_ACCURACY, ROUGH_ACCURACY, Batch
from fairbound.problem import Problem
from fairbound.proof import ConditionalProof
from fairbound.rounding import least_affinity, lowered
from fairbound.witness import Witness, Witnesses

#: At how many shares between the least and the largest possible one programs are solved at first; at how many the value
#: is looked up between them, and how often closer; into how many an interval is cut at most.
FIRST, LOOKS, CLOSER, MOST = 7, 8, 4, 8

#: In so many rounds multipliers at new shares are interpolated from the first ones instead of solving for them.
INTERPOLATED = 2

#: Newton steps that correct interpolated multipliers.
BALANCINGS = 2

#: Intervals are not cut any more below this width.
SMALLEST = 2.0**-40

#: How closely the shares that are possible at all are found, and rounds for each trial (it only guides the search).
HALVINGS, ROUNDS = 20, 20


#: The places of the first shares, closer towards the ends, and what the barycentric formula weighs them with.
_ANGLES = np.pi * (np.arange(FIRST) + 0.5) / FIRST
CHEBYSHEV = 0.5 - 0.5 * np.cos(_ANGLES)
BARYCENTRIC = np.sin(_ANGLES) * (-1.0) ** np.arange(FIRST)


@dataclass(frozen=True)
class Rows:
    """Arrays of equal length, to be selected from and joined together."""

    def take(self, index: Booleans | Integers) -> Self:
        """Select rows."""
        return type(self)(*(getattr(self, field.name)[index] for field in fields(self)))

    def joined(self, other: Self) -> Self:
        """Append rows."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return type(self)(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Nodes(Rows):
    """Shares, and the multipliers and group shares that belong to them; whether they were solved for."""

    job: Integers
    share: Floats
    theta: Floats
    group_share: Floats
    group_mu: Floats
    exact: Booleans


@dataclass(frozen=True)
class Intervals(Rows):
    """Intervals of the share: whose they are, their ends (N, 2), bound, and multipliers at the ends (N, 2, S, C).

    ``group_mu`` (N, 2, rows) are those of limits on the groups.
    """

    job: Integers
    ends: Floats
    bound: Floats
    theta: Floats
    group_mu: Floats


def share_range(problem: Problem) -> tuple[float, float]:
    """Return between which numbers the share of the first part, a single label, lies; rounded outward."""
    label = (problem.parts or ((0,),))[0][0]
    floors = problem.labels.floors
    return float(floors[label]), 1.0 - max(0.0, float(lowered(floors.sum() - floors[label], problem.labels.size + 4)))


def _affinity(problem: Problem, share: Floats) -> Floats:
    """Return about the largest affinity of a distribution with these shares of the first part; concave in them."""
    first, rest = (np.sqrt(problem.mass[:, list(part)]) for part in problem.parts or ())
    within = np.full((len(share), rest.shape[1]), 1.0 / np.sqrt(rest.shape[1]))
    for _ in range(ROUNDS if rest.shape[1] > 1 else 1):
        pull = np.sqrt(share)[:, None] * first[:, 0] + np.sqrt(1.0 - share)[:, None] * (within @ rest.T)
        back = pull @ rest
        within = back / np.maximum(np.linalg.norm(back, axis=1, keepdims=True), 1e-300)
    return np.linalg.norm(pull, axis=1)


def _possible_shares(problem: Problem, near: float, rho: Floats) -> Floats:
    """Return about where the shares end that a distribution in the ball can have, shape (N, 2), by bisection."""
    low, high = share_range(problem)
    tau = np.tile(least_affinity(rho), 2)
    inside, outside = np.full(len(tau), near), np.repeat([low, high], len(rho))
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        possible = _affinity(problem, middle) >= tau
        inside, outside = np.where(possible, middle, inside), np.where(possible, outside, middle)
    return outside.reshape(2, -1).T


@dataclass
class Search:
    """A search for problem ``which`` (N,) of a batch at each radius.

    Of the jobs of one ``team`` only the largest value counts, so none of them needs a bound below what another attains.
    """

    batch: Batch
    which: Integers
    rho: Floats
    team: Integers
    tol: float
    budget: int

    def __post_init__(self) -> None:
        """Start with no distribution at all."""
        self.loss = np.full(len(self.which), -np.inf)
        self.witness: list[Witness | None] = [None] * len(self.which)
        self.likely = np.zeros((len(self.which), 2))
        self.first: Nodes
        self.ceilings = np.stack([problem.ceiling for problem in self.batch.problems])

    def run(self) -> list[Answer]:
        """Cut until every gap is closed or the budget is used up."""
        nodes = self._start()
        last = np.append(np.flatnonzero(np.diff(nodes.job)), len(nodes.job) - 1)
        first = np.append(0, last[:-1] + 1)
        jobs = np.arange(len(self.which))
        whole = np.full((len(jobs), 2, *self.batch.problems[0].ceiling.shape), np.inf)
        ends = np.stack([nodes.share[first], nodes.share[last]], axis=1)
        mu = np.zeros((len(jobs), 2, self.batch.problems[0].groups.multipliers))
        intervals = self._between(nodes, Intervals(jobs, ends, np.full(len(jobs), np.inf), whole, mu), last - first)
        for number in count():
            open_, times = self._cuts(intervals)
            if not len(open_):
                return [self._answer(intervals.take(intervals.job == job), job) for job in range(len(self.which))]
            cut = intervals.take(open_)
            ends = cut.ends[np.repeat(np.arange(len(open_)), times - 1)]
            place = np.concatenate([np.arange(1, n) for n in times]) / np.repeat(times, times - 1)
            share, job = ends[:, 0] + place * (ends[:, 1] - ends[:, 0]), np.repeat(cut.job, times - 1)
            # In the middle of what keeps a gap open most a program is solved: the value may be largest there.
            worst = np.repeat(np.append(True, np.diff(cut.job) > 0), times - 1) & (place == 0.5)
            late = number >= INTERPOLATED
            rough = self._rough(nodes, cut) if late else nodes.take(np.zeros(0, dtype=np.int64))
            job, share = np.append(job, rough.job), np.append(share, rough.share)
            exact = np.append(worst | late, np.ones(len(rough.job), dtype=bool))
            nodes = _sorted(self._new(job, share, exact).joined(nodes))
            kept = np.ones(len(intervals.job), dtype=bool)
            kept[open_] = False
            intervals = intervals.take(kept).joined(self._between(nodes, cut, times))
        return []

    def _start(self) -> Nodes:
        """Solve at the ends of all shares, at some that are possible, and where the value is largest."""
        problem, jobs = self.batch.problems[0], np.arange(len(self.which))
        low, high = share_range(problem)
        near = float(self.batch.nearest[0].label_mass[list((problem.parts or ((0,),))[0])].sum())
        self.likely = _possible_shares(problem, near, self.rho)
        between = self.likely[:, :1] + CHEBYSHEV * (self.likely[:, 1:] - self.likely[:, :1])
        self.first = self._solved(np.repeat(jobs, FIRST), between.ravel(), attain=False)
        best = self._solved(jobs, self._summits())
        ends = np.hstack([self.likely, np.tile([low, high], (len(jobs), 1))])
        outer = self._solved(np.repeat(jobs, 4), ends.ravel())
        return _sorted(self.first.joined(outer).joined(best))

    def _summits(self) -> Floats:
        """Return about where the value is largest, for each job: around the best of the first shares, ever closer."""
        jobs = np.arange(len(self.which))
        best = self._values(self.first).reshape(-1, FIRST).argmax(axis=1)
        around = np.concatenate([[0.0], CHEBYSHEV, [1.0]])
        reach = self.likely[:, 1:] - self.likely[:, :1]
        low, high = (self.likely[:, :1] + around[best + side, None] * reach for side in (0, 2))
        for _ in range(CLOSER):
            offered = low + (np.arange(LOOKS) + 0.5) / LOOKS * (high - low)
            value = self._values(self._interpolated(np.repeat(jobs, LOOKS), offered.ravel())).reshape(-1, LOOKS)
            middle, width = offered[jobs, value.argmax(axis=1), None], 1.5 * (high - low) / LOOKS
            low, high = np.maximum(middle - width, low), np.minimum(middle + width, high)
        return middle[:, 0]

    def _values(self, nodes: Nodes) -> Floats:
        """Return what the multipliers prove at their own shares: about the largest values there."""
        value = np.empty(len(nodes.job))
        for number, problem in enumerate(self.batch.problems):
            here = np.flatnonzero(self.which[nodes.job] == number)
            theta, share = np.maximum(nodes.theta[here], problem.ceiling), nodes.share[here]
            twice = [part[:, None].repeat(2, axis=1) for part in (theta, nodes.group_mu[here], share)]
            value[here] = self._bound(problem, nodes.job[here], *twice)
        return value

    def _solved(self, job: Integers, share: Floats, *, attain: bool = True) -> Nodes:
        """Solve programs, and keep the distributions that attain more."""
        which, rho = self.which[job], self.rho[job]
        accuracy = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.batch.scale)
        possible = (share > self.likely[job, 0]) & (share < self.likely[job, 1])
        enough = np.where(possible, -np.inf, self._goal(job))
        found = self.batch.solve(which, rho, accuracy, np.clip(share, 1e-9, 1.0 - 1e-9), enough)
        for number in range(len(self.batch.problems) if attain else 0):
            chosen = np.flatnonzero((which == number) & possible)
            if len(chosen):
                self._adopt(job[chosen], self.batch.witnesses(number, rho[chosen], found, chosen, share[chosen]))
        return Nodes(job, share, found.theta, found.group_share, found.group_mu, np.ones(len(job), dtype=bool))

    def _bound(self, problem: Problem, job: Integers, theta: Floats, group_mu: Floats, ends: Floats) -> Floats:
        """Return what multipliers prove on intervals."""
        label_mu = np.zeros((len(job), problem.labels.multipliers))
        return conditional_bound(problem, self.rho[job], theta, group_mu, label_mu, ends)

    def _interpolated(self, job: Integers, share: Floats) -> Nodes:
        """Return multipliers between the first ones, by the polynomial through all of them (barycentric formula).

        Towards the ends of what is possible multipliers grow like the inverse root of the distance: without that factor
        they are smooth.
        """
        low, high = self.likely[job].T
        at = (share - low) / (high - low)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = BARYCENTRIC / (at[:, None] - CHEBYSHEV)
            weight = np.where(np.isinf(weight), 1.0, weight)
            weight = np.where((at[:, None] == CHEBYSHEV).any(axis=1, keepdims=True), at[:, None] == CHEBYSHEV, weight)
            fall = weight / weight.sum(axis=1, keepdims=True)
        shape = (len(self.which), FIRST, *self.first.theta.shape[1:])
        least = self.ceilings[self.which[job]]
        above = np.log(np.maximum(self.first.theta.reshape(shape)[job] - least[:, None], 1e-12 * self.batch.scale))
        above = above + 0.5 * np.log(CHEBYSHEV * (1.0 - CHEBYSHEV))[:, None, None]
        theta = np.exp(
            np.einsum("ni,nisc->nsc", fall, above) - 0.5 * np.log(np.maximum(at * (1.0 - at), 1e-12))[:, None, None]
        )
        theta = least + theta
        k = np.einsum("ni,nis->ns", fall, self.first.group_share.reshape(shape[:3])[job])
        theta, mu = self._balanced(job, share, theta), np.zeros((len(job), self.first.group_mu.shape[1]))
        return Nodes(job, share, theta, np.maximum(k, 1e-9), mu, np.zeros(len(job), dtype=bool))

    def _balanced(self, job: Integers, share: Floats, theta: Floats) -> Floats:
        """Make the groups' terms of the bound equal, as at the best multipliers; levels stay (Newton's method).

        The largest of these terms counts, so an error in theta would otherwise enter the bound at first order.
        """
        theta = theta.copy()
        for number, problem in enumerate(self.batch.problems):
            here = np.flatnonzero(self.which[job] == number)
            atoms, part = problem.upper, np.empty((len(here), problem.labels.size))
            for labels, much in zip(problem.parts or (), (share[here], 1.0 - share[here]), strict=True):
                part[:, list(labels)] = much[:, None]
            found = np.maximum(theta[here], problem.ceiling + 1e-9 * self.batch.scale)
            for _ in range(BALANCINGS):
                inverse = 1.0 / (found[..., None] - atoms.loss)
                term = (atoms.probability * inverse).sum(axis=3) * part[:, None]
                slope = ((atoms.probability * inverse**2).sum(axis=3) * part[:, None]).sum(axis=2)
                level = (term.sum(axis=2) / slope).sum(axis=1) / (1.0 / slope).sum(axis=1)
                change = (term.sum(axis=2) - level[:, None]) / slope
                found = np.maximum(found + change[..., None], problem.ceiling + 0.1 * (found - problem.ceiling))
            theta[here] = found
        return theta

    def _new(self, job: Integers, share: Floats, exact: Booleans) -> Nodes:
        """Return multipliers at new shares, interpolated where that is possible and enough."""
        between = (share > self.likely[job, 0]) & (share < self.likely[job, 1]) & ~exact
        between &= not self.batch.problems[0].groups.limited  # multipliers of limits are not smooth
        if between.all():
            return self._interpolated(job, share)
        rest = self._solved(job[~between], share[~between])
        return rest.joined(self._interpolated(job[between], share[between])) if between.any() else rest

    @staticmethod
    def _rough(nodes: Nodes, pieces: Intervals) -> Nodes:
        """Return the ends of intervals that were not solved for yet."""
        place = np.searchsorted(nodes.job + nodes.share / 4.0, (pieces.job[:, None] + pieces.ends / 4.0).ravel())
        ends = nodes.take(np.unique(place))
        return ends.take(~ends.exact)

    def _goal(self, job: Integers) -> Floats:
        """Return what is attained by the best of each job's team."""
        best = np.full(int(self.team.max()) + 1, -np.inf)
        np.maximum.at(best, self.team, self.loss)
        return best[self.team[job]]

    def _adopt(self, job: Integers, found: Witnesses) -> None:
        """Keep distributions that attain more."""
        order = np.lexsort((-found.loss, job))
        best = order[np.append(True, np.diff(job[order]) > 0)]  # the best of each job
        for place in best[found.loss[best] > self.loss[job[best]]]:
            self.loss[job[place]], self.witness[job[place]] = found.loss[place], found[int(place)]

    def _between(self, nodes: Nodes, cut: Intervals, times: Integers) -> Intervals:
        """Return the intervals between neighbouring nodes that intervals were cut into, with the best multipliers."""
        parent = np.repeat(np.arange(len(times)), times)
        place = np.arange(len(parent)) - np.repeat(np.cumsum(times) - times, times)
        key = nodes.job + nodes.share / 4.0  # shares are at most 1
        first = np.searchsorted(key, cut.job + cut.ends[:, 0] / 4.0)[parent] + place
        pair = np.stack([first, first + 1], axis=1)
        ends, theta, k, mu = nodes.share[pair], nodes.theta[pair], nodes.group_share[pair], nodes.group_mu[pair]
        job, whole = cut.job[parent], cut.ends[parent]
        drift = theta.sum(axis=2)
        weight = k / k.sum(axis=2, keepdims=True)
        levels = (drift.mean(axis=1, keepdims=True), drift[:, :1], drift[:, 1:])
        steady = [theta - weight[..., None] * (drift - level)[:, :, None] for level in levels]
        width = whole[:, 1] - whole[:, 0]
        at = ((ends - whole[:, :1]) / np.where(width > 0, width, 1.0)[:, None])[..., None, None]
        old = cut.theta[parent]
        with np.errstate(invalid="ignore"):
            inherited = np.where(np.isfinite(old[:, :1]), (1.0 - at) * old[:, :1] + at * old[:, 1:], np.inf)
        offers = [(offered, mu) for offered in steady]
        offers += [
            (theta[:, [0, 0]], mu[:, [0, 0]]),
            (theta[:, [1, 1]], mu[:, [1, 1]]),
            (inherited, cut.group_mu[parent]),
        ]
        bound, best, best_mu = np.full(len(job), np.inf), theta.copy(), mu.copy()
        for number, problem in enumerate(self.batch.problems):
            chosen = np.flatnonzero(self.which[job] == number)
            plain = np.broadcast_to(problem.ceiling, theta.shape)
            for offered, pulled in (*offers, (plain, np.zeros_like(mu))):
                held = np.maximum(offered[chosen], problem.ceiling)
                value = self._bound(problem, job[chosen], held, pulled[chosen], ends[chosen])
                better = value <= bound[chosen]
                bound[chosen[better]], best[chosen[better]] = value[better], held[better]
                best_mu[chosen[better]] = pulled[chosen[better]]
                chosen = chosen[bound[chosen] > self._goal(job[chosen]) + 0.9 * self.tol]
        return Intervals(job, ends, bound, best, best_mu)

    def _cuts(self, pieces: Intervals) -> tuple[Integers, Integers]:
        """Return which intervals to cut and into how many: those that keep the gap open, within the budget."""
        excess = (pieces.bound - self._goal(pieces.job)) / self.tol
        open_ = np.flatnonzero((excess > 0.9) & (pieces.ends[:, 1] - pieces.ends[:, 0] > SMALLEST))
        open_ = open_[np.lexsort((-pieces.bound[open_], pieces.job[open_]))]
        times = np.clip(np.ceil(0.7 * np.sqrt(np.clip(excess[open_], 1.0, 1e9))), 2, MOST).astype(np.int64)
        times += times % 2  # so that the middle is among the new ends
        job, added = pieces.job[open_], np.cumsum(times - 1)
        before = np.concatenate([[0], added])[np.searchsorted(job, job)]
        room = self.budget - np.bincount(pieces.job)[job]
        allowed = added - before <= room
        return open_[allowed], times[allowed]

    def _answer(self, pieces: Intervals, job: int) -> Answer:
        """Put the intervals of one job in order."""
        pieces = pieces.take(np.argsort(pieces.ends[:, 0], kind="stable"))
        witness = self.witness[job]
        if witness is None:
            message = "no distribution was found"  # cannot happen: the nearest one is in every ball
            raise RuntimeError(message)
        cuts = np.append(pieces.ends[:, 0], pieces.ends[-1, 1])
        return Answer(
            float(pieces.bound.max()), witness, ConditionalProof(pieces.theta, cuts, pieces.group_mu, np.zeros(0))
        )


def _sorted(nodes: Nodes) -> Nodes:
    """Sort by job and share; a share occurs once."""
    nodes = nodes.take(np.lexsort((nodes.share, nodes.job)))
    return nodes.take(np.append(True, (np.diff(nodes.share) != 0) | (np.diff(nodes.job) != 0)))


def odds_answers(batch: Batch, which: Integers, rho: Floats, team: Integers, tol: float, budget: int) -> list[Answer]:
    """Answer for problem ``which`` (N,) at each radius; ``budget`` limits the number of intervals of each.

    The bounds of one ``team`` are as tight as their largest one needs.
    """
    return Search(batch, which, rho, team, tol, budget).run()
