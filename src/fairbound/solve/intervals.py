"""Means given the group and a part of the labels (true and false positive rates): a search over that part's share.

For a fixed share the question is one convex program (:mod:`fairbound.solve.means`). The shares are cut into intervals;
on each the multipliers move linearly between those found at its ends, adjusted so that their level does not change, and
the bound's error is of second order in the width (docs/theory.md, "Means"). Where base rates may differ a little, the
share is the least that the part has in a group. The search may stop at any time: the largest bound of the intervals is
valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.mean_batch import BEST_ACCURACY, MeanBatch, last_share
from fairbound.solve.mean_leaves import MeanLeaves, in_first, mean_bound, tuned
from fairbound.solve.means import MeansSolution
from fairbound.solve.problem import Problem
from fairbound.solve.rows import Rows
from fairbound.solve.share_range import possible_shares, ruled_out, share_range
from fairbound.solve.witness import Witness, Witnesses

#: At how many shares between the least and the largest possible one programs are solved at first, and how often more
#: closely where the value is largest; into how many an interval is cut at most.
FIRST, CLOSER, MOST = 7, 3, 8

#: Multipliers of the ball are limited to so many times the one where the value is largest: towards the ends of what is
#: possible they grow without limit, though these serve as well there, and do not change so much between neighbours.
STEEPER = 2.0

#: No multipliers of the ball are larger than this, divided by the root of the affinity that the ball leaves to spare
#: at the nearest distribution; less than the second number of that is rounding.
LARGEST, NO_REACH = 3.0, 3e-9

#: A range of possible shares below this width is narrow; how fast the distances of shares from it grow; how closely
#: programs are solved then.
NARROW, GRADING, NARROW_ACCURACY = 0.05, 2.0, 1e-16

#: How closely programs are solved elsewhere, relative to the tolerance.
CLOSER_ACCURACY = 1e-6

#: The limit, in units of the values, where programs are solved again that came to nothing.
STEADY = 50.0

#: Intervals are not cut any more below this width.
SMALLEST = 2.0**-40

#: Where limits leave no more choice than this there is one interval.
ONE_SHARE = 1e-9

#: How far from the ends of what limits on labels allow programs are solved, as a part of that range: at the ends some
#: of the limits leave no room. How far beyond them shares are ruled out, and how clearly, in units of the values.
ASIDE, BEYOND, FORCE = 1e-7, 1e-9, 10.0

#: Sizes of multipliers that rule out shares that no distribution has, in units of the values.
SIZES = (1e1, 1e3, 1e5, 1e7)

#: Newton steps that balance the groups; so close to its ceiling a multiplier is held by it, in units of the values.
BALANCINGS, HELD = 2, 1e-6

#: The places of the first shares, closer towards the ends.
CHEBYSHEV = 0.5 - 0.5 * np.cos(np.pi * (np.arange(FIRST) + 0.5) / FIRST)


@dataclass(frozen=True)
class Nodes(Rows):
    """Shares, and the multipliers and group shares that belong to them."""

    job: Integers
    share: Floats
    theta: Floats
    lam: Floats
    group_share: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats
    value: Floats

    def sorted(self) -> Nodes:
        """Sort by job and share; a share occurs once."""
        nodes = self.take(np.lexsort((self.share, self.job)))
        return nodes.take(np.append(True, (np.diff(nodes.share) != 0) | (np.diff(nodes.job) != 0)))

    def places(self, job: Integers, share: Floats) -> Integers:
        """Return where nodes stand, if sorted."""
        return np.searchsorted(self.job + self.share / 4.0, job + share / 4.0)  # shares are at most 1


@dataclass(frozen=True)
class Intervals(Rows):
    """Intervals of the share: whose they are and what is proved of them; their multipliers are kept beside them."""

    job: Integers
    bound: Floats


@dataclass(frozen=True)
class _Offered:
    """Multipliers at both ends of intervals: theta (N, 2, S, C), group_mu and label_mu (N, rows), omega (N, C)."""

    theta: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats


class IntervalSearch:
    """A search for problem ``problem_index`` (N,) of a batch at each radius.

    Of the jobs of one radius only the largest value counts, so none of them needs a bound below what another attains,
    or below what is known of it to be attained elsewhere (``incumbent``).
    """

    def __init__(
        self,
        batch: MeanBatch,
        jobs: tuple[Integers, Floats, Integers],
        tol: float,
        budget: int,
        incumbent: Floats,
    ) -> None:
        """Start with no distribution at all."""
        self.batch, self.tol, self.budget, self.incumbent = batch, tol, budget, incumbent
        self.problem_index, self.rho, self.radius_index = jobs
        count, problem = len(self.rho), batch.problems[0]
        self.loss = np.full(count, -np.inf)
        self.witness: list[Witness | None] = [None] * count
        self.range = share_range(problem, last_share(batch.rates))
        self.limited = problem.limited_within and batch.rates.tolerance == 0.0
        self.ceilings = batch.ceilings
        self.most = LARGEST * batch.scale / np.sqrt(np.maximum(0.01 * self._reach(), NO_REACH))
        summed = batch.ceilings.sum(axis=1)
        self.top = np.sum([summed[:, list(part)].max(axis=1) for part in batch.parts], axis=0)[self.problem_index]
        self.top = self.top + batch.scale
        self.likely = self._likely()
        width, whole = np.diff(self.likely, axis=1)[:, 0], self.range.inner[1] - self.range.inner[0]
        self.narrow = (width < NARROW) & (width < 0.9 * whole)  # by the ball, not by limits on labels

    def run(self) -> list[Answer]:
        """Cut until every gap is closed or the budget is used up."""
        nodes = self._start()
        if self.range.inner[1] - self.range.inner[0] <= ONE_SHARE:
            nodes = nodes.take(np.isin(nodes.share, self.range.inner) | ~self._inside(nodes.share))
        pairs = np.flatnonzero(np.diff(nodes.job) == 0)
        intervals, leaves = self._between(nodes, np.stack([pairs, pairs + 1], axis=1))
        while True:
            open_, times = self._cuts(intervals, leaves)
            if not len(open_):
                jobs = range(len(self.rho))
                return [self._answer(intervals, leaves, job) for job in jobs]
            ends = np.repeat(leaves.ends[open_], times - 1, axis=0)
            place = np.concatenate([np.arange(1, n) for n in times]) / np.repeat(times, times - 1)
            share, job = ends[:, 0] + place * (ends[:, 1] - ends[:, 0]), np.repeat(intervals.job[open_], times - 1)
            nodes = self._solved(job, share).joined(nodes).sorted()
            first = nodes.places(intervals.job[open_], leaves.ends[open_, 0])
            start = np.repeat(first, times) + np.concatenate([np.arange(n) for n in times])
            new, made = self._between(nodes, np.stack([start, start + 1], axis=1))
            kept = np.ones(len(intervals), dtype=bool)
            kept[open_] = False
            intervals, leaves = intervals.take(kept).joined(new), leaves.take(kept).joined(made)

    def _inside(self, share: Floats) -> Booleans:
        """Tell which shares lie between the ends of what limits allow."""
        low, high = self.range.inner
        return (share >= low) & (share <= high)

    def _reach(self) -> Floats:
        """Return how much affinity the ball leaves to spare at the nearest distribution."""
        nearest = 1.0 - np.square([near.distance for near in self.batch.nearest])
        return nearest[self.problem_index] - least_affinity(self.rho)

    def _likely(self) -> Floats:
        """Return between which shares distributions in the ball have theirs, about."""
        least = least_affinity(self.rho) - np.maximum(NO_REACH - self._reach(), 0.0)
        likely = np.zeros((len(self.rho), 2))
        for number, problem in enumerate(self.batch.problems):
            here = self.problem_index == number
            if here.any():
                near = self.batch.nearest[number].rate[:, list(self.batch.parts[0])].sum(axis=1).min()
                likely[here] = possible_shares(problem, self.batch.rates, self.range.inner, float(near), least[here])
        return likely

    def _start(self) -> Nodes:
        """Solve at the ends of all shares, at some that are possible, and where the value is largest."""
        jobs = np.arange(len(self.rho))
        between = self.likely[:, :1] + CHEBYSHEV * (self.likely[:, 1:] - self.likely[:, :1])
        nodes = self._solved(np.repeat(jobs, FIRST), between.ravel()).sorted()
        for _ in range(CLOSER):
            nodes = self._solved(jobs, self._summits(nodes)).joined(nodes).sorted()
        best = nodes.take(np.lexsort((nodes.value, nodes.job))[np.cumsum(np.bincount(nodes.job)) - 1])
        limit = np.where(self.narrow, np.maximum(STEEPER * best.lam, STEADY * self.batch.scale), np.inf)
        self.most = np.minimum(self.most, limit)
        ends = np.hstack([self.likely, np.tile(self.range.inner, (len(jobs), 1))])
        job, share = self._graded()
        nodes = self._solved(np.append(np.repeat(jobs, 4), job), np.append(ends.ravel(), share)).joined(nodes).sorted()
        return self._beyond(nodes, 0).joined(self._beyond(nodes, 1), nodes).sorted()

    def _summits(self, nodes: Nodes) -> Floats:
        """Return where the value is largest by the parabola through the best node of each job and its neighbours."""
        counts = np.bincount(nodes.job)
        last = np.cumsum(counts) - 1
        best = np.lexsort((nodes.value, nodes.job))[last]
        left, right = np.maximum(best - 1, last - counts + 1), np.minimum(best + 1, last)
        x, y = (getattr(nodes, name)[np.stack([left, best, right])] for name in ("share", "value"))
        with np.errstate(all="ignore"):
            low, high = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
            peak = 0.5 * (x[0] + x[1]) + 0.5 * (x[2] - x[0]) * low / (low - high)
        middle = 0.5 * (x[1] + np.where(x[2] - x[1] > x[1] - x[0], x[2], x[0]))
        inside = (peak > x[0]) & (peak < x[2]) & (np.abs(peak - x[1]) > 1e-3 * (x[2] - x[0]))
        return np.where(inside, peak, middle)

    def _graded(self) -> tuple[Integers, Floats]:
        """Return shares on both sides of what is possible, at distances that grow by a factor, if that is narrow.

        There multipliers prove that no distribution is in the ball, on intervals of about the size of the distance.
        """
        found: list[tuple[int, float]] = []
        for job in np.flatnonzero(self.narrow).tolist():
            low, high = self.likely[job].tolist()
            for sign, start, end in ((-1.0, low, self.range.inner[0]), (1.0, high, self.range.inner[1])):
                step = max(0.5 * (high - low), SMALLEST)
                while step * GRADING < abs(end - start):
                    found.append((job, start + sign * step))
                    step *= GRADING
        return np.array([job for job, _ in found], dtype=np.int64), np.array([share for _, share in found])

    def _beyond(self, nodes: Nodes, side: int) -> Nodes:
        """Return nodes for shares beyond what limits on labels allow: no distribution has them, and omega shows it.

        ``<omega, r> <= sigma_R(omega)`` fails there for an omega that looks at the first label alone.
        """
        jobs, sign = np.arange(len(self.rho)), (-1.0, 1.0)[side]
        inner, end = self.range.inner[side], self.range.ends[side]
        here = nodes.places(jobs, np.full(len(jobs), inner))
        if sign * (end - inner) <= 0:
            return nodes.take(here[:0])
        near = inner + sign * min(BEYOND, 0.5 * abs(end - inner))
        last = nodes.take(here)
        much = FORCE * (self.batch.scale + np.abs(last.theta).sum(axis=(1, 2))) / abs(near - inner)
        omega = last.omega.copy()
        omega[:, self.batch.parts[0][0]] += sign * much[:, None][:, 0]
        forced = replace(last, omega=omega, label_mu=last.label_mu + much[:, None] * self.range.mu[side])
        first, second = (replace(forced, share=np.full(len(jobs), share)) for share in (near, end))
        return first.joined(second)

    def _solved(self, job: Integers, share: Floats) -> Nodes:
        """Solve programs, and keep the distributions that attain more."""
        problem_index, rho = self.problem_index[job], self.rho[job]
        # What a program is short of its solution is not made good by cutting.
        accuracy = max(BEST_ACCURACY, CLOSER_ACCURACY * self.tol / self.batch.scale)
        if len(job) and self.narrow[job].any():  # where multipliers are large, so are the effects of their errors
            accuracy = NARROW_ACCURACY
        sought = (share >= self.likely[job, 0]) & (share <= self.likely[job, 1])
        # In a narrow range of shares multipliers are large: those that are just enough at a share fail beside it.
        cutoff = np.where(sought | self.narrow[job], -np.inf, self._goal(job))
        low, high = self.range.inner
        aside = min(0.5 * (high - low), max(1e-9, ASIDE * (high - low) if self.limited else 0.0))
        spot = np.clip(share, low + aside, high - aside)
        found = self.batch.solve(problem_index, rho, accuracy, spot, cutoff, self.most[job])
        value = self._values(job, spot, found)
        failed = np.flatnonzero(value > self.top[job])  # solvers come to grief without a limit
        if len(failed):
            again = self.batch.solve(
                problem_index[failed],
                rho[failed],
                accuracy,
                spot[failed],
                cutoff[failed],
                np.minimum(self.most[job[failed]], STEADY * self.batch.scale),
            )
            found.put(failed, again)
            value[failed] = self._values(job[failed], spot[failed], again)
        for number, here in self._by_problem(job):
            inside = here[sought[here]]
            if len(inside):
                self._adopt(job[inside], self.batch.witnesses(number, rho[inside], found.take(inside)))
        limits = found.group_mu, found.label_mu, found.omega
        return Nodes(job, share, found.theta, found.lam, found.group_share, *limits, value)

    def _values(self, job: Integers, spot: Floats, found: MeansSolution) -> Floats:
        """Return what multipliers prove at their own shares: about the largest values there."""
        value = np.empty(len(job))
        leaves = self.batch.leaves(found)
        ends, centre = np.repeat(spot[:, None], 2, axis=1), np.stack([spot, 1.0 - spot], axis=1)
        leaves = replace(leaves, ends=ends, centre=centre)
        for number, here in self._by_problem(job):
            problem, rho = self.batch.problems[number], self.rho[job[here]]
            value[here] = mean_bound(problem, self.batch.rates, rho, leaves.take(here))
        return value

    def _goal(self, job: Integers) -> Floats:
        """Return what is attained by the best of each job's radius."""
        best = self.incumbent.copy()
        np.maximum.at(best, self.radius_index, self.loss)
        return best[self.radius_index[job]]

    def _adopt(self, job: Integers, found: Witnesses) -> None:
        """Keep distributions that attain more."""
        order = np.lexsort((-found.loss, job))
        best = order[np.append(True, np.diff(job[order]) > 0)]  # the best of each job
        for place in best[found.loss[best] > self.loss[job[best]]]:
            self.loss[job[place]], self.witness[job[place]] = found.loss[place], found[int(place)]

    def _between(self, nodes: Nodes, pair: Integers) -> tuple[Intervals, MeanLeaves]:
        """Return the intervals between pairs of nodes, with the best multipliers."""
        job, ends = nodes.job[pair[:, 0]], nodes.share[pair]
        bound, best = np.full(len(job), np.inf), None
        left = np.arange(len(job))
        within = (ends[:, 0] >= self.likely[job, 0]) & (ends[:, 1] <= self.likely[job, 1])
        for offer, discards in self._offers(nodes):
            left = left[~within[left]] if discards else left
            if not len(left):
                break
            value, leaves = self._bounded(job[left], ends[left], offer(pair[left]))
            if best is None:
                bound, best = value, leaves
            else:
                better = value < bound[left]
                bound[left[better]] = value[better]
                best.put(left[better], leaves.take(better))
            left = left[bound[left] > self._goal(job[left]) + 0.9 * self.tol]
        if best is None:
            message = "there is always some way to make multipliers"
            raise RuntimeError(message)
        return Intervals(job, bound), best

    def _bounded(self, job: Integers, ends: Floats, offered: _Offered) -> tuple[Floats, MeanLeaves]:
        """Return what multipliers prove on intervals, with tangents taken in the middle."""
        leaves = self._leaves(job, ends, offered)
        value = np.empty(len(job))
        for number, here in self._by_problem(job):
            problem, rho = self.batch.problems[number], self.rho[job[here]]
            own, value[here] = tuned(problem, self.batch.rates, rho, leaves.take(here))
            leaves.put(here, own)
        return value, leaves

    def _by_problem(self, job: Integers) -> Iterator[tuple[int, Integers]]:
        for number in range(len(self.batch.problems)):
            here = np.flatnonzero(self.problem_index[job] == number)
            if len(here):
                yield number, here

    def _leaves(self, job: Integers, ends: Floats, offered: _Offered) -> MeanLeaves:
        """Return leaves whose multipliers are those offered at the ends, or a hair more."""
        theta = np.maximum(offered.theta, self.ceilings[self.problem_index[job]][:, None])
        first = in_first(self.batch.problems[0])
        low, high = ends[:, :1, None], ends[:, 1:, None]
        rise = (theta[:, 1] - theta[:, 0]) / (high - low)
        slope = np.where(first, rise, -rise)
        zeta = theta[:, 0] - np.where(first, low, 1.0 - low) * slope
        size = np.abs(theta).max(axis=1) + np.abs(slope)
        zeta = np.where((slope != 0).any(axis=(1, 2))[:, None, None], zeta + 2e-14 * size, zeta)
        middle = np.clip(ends.mean(axis=1), 1e-12, 1.0 - 1e-12)
        centre, nu = np.stack([middle, 1.0 - middle], axis=1), np.zeros((len(job), theta.shape[2]))
        limits = offered.omega, offered.group_mu, offered.label_mu
        return MeanLeaves(ends.copy(), zeta, slope, np.zeros(len(job)), centre, nu, *limits)

    def _offers(self, nodes: Nodes) -> Iterator[tuple[Callable[[Integers], _Offered], bool]]:
        """Yield ways to make multipliers for pairs of nodes, the most promising first.

        Some are good only for discarding shares that no distribution in the ball has.
        """
        for chosen in (slice(None), slice(0, 1), slice(1, 2)):
            yield partial(self._steady, nodes, chosen), False
        for end in (0, 1):
            yield partial(self._kept, nodes, end), False
        yield partial(self._plain, nodes), True
        if self.limited:
            yield partial(self._plain_within, nodes), True
        if self.batch.rates.tolerance > 0.0 or self.batch.problems[0].labels.size == 2:
            for much in SIZES:
                yield partial(self._excluding, nodes, much), True

    def _steady(self, nodes: Nodes, chosen: slice, pair: Integers) -> _Offered:
        """Bring the multipliers at both ends to the size and the levels of the ``chosen`` end, or of their mean.

        The bound of an interval is the larger one of its ends: so multipliers are scaled to the same size (that of lam:
        the best ones vary with it most, and it matters least), moved so that the levels agree, and the groups are
        balanced, the largest of which counts.
        """
        job, share, theta, k = nodes.job[pair[:, 0]], nodes.share[pair], nodes.theta[pair], nodes.group_share[pair]
        least = self.ceilings[self.problem_index[job]][:, None]
        part = self.batch.problems[0].part_share(share.ravel()).reshape(*share.shape, -1)
        lam = np.maximum(nodes.lam[pair], 1e-9 * self.batch.scale)
        size = (lam[:, chosen].mean(axis=1, keepdims=True) / lam)[..., None]
        scaled = least + size[..., None] * (theta - least)
        omega, label_mu = ((size * array[pair])[:, chosen].mean(axis=1) for array in (nodes.omega, nodes.label_mu))
        drift = scaled.sum(axis=2) - part * omega[:, None]  # what the label adds to the level
        fall = drift - drift[:, chosen].mean(axis=1, keepdims=True)
        weight = (k / k.sum(axis=2, keepdims=True))[..., None]
        steady = self._lowered(job, scaled, part, weight, fall)
        if not self.batch.problems[0].groups.limited and self.batch.rates.tolerance == 0.0:
            twice = np.repeat(job, 2), share.ravel(), steady.reshape(-1, *steady.shape[2:])
            steady = self._balanced(*twice).reshape(steady.shape)
        return _Offered(steady, (nodes.group_mu[pair] / size).mean(axis=1), label_mu, omega)

    def _lowered(self, job: Integers, theta: Floats, part: Floats, weight: Floats, fall: Floats) -> Floats:
        """Let the sums over the groups fall by ``fall`` (N, 2, C); what is at its ceiling stays there."""
        problem_index = self.problem_index[job]
        least = self.ceilings[problem_index][:, None] + HELD * self.batch.scale
        steady = theta - weight * fall[:, :, None]
        held: Booleans = np.logical_or.reduce(np.minimum(theta, steady) <= least, axis=1)
        some = held.any(axis=(1, 2))
        for number, problem in enumerate(self.batch.problems if some.any() else ()):
            here = np.flatnonzero((problem_index == number) & some)
            for end in (0, 1) if len(here) else ():
                old = theta[here, end]
                steady[here, end] = _rearranged(problem, old, part[here, end], held[here], fall[here, end])
        return steady

    def _balanced(self, job: Integers, share: Floats, theta: Floats) -> Floats:
        """Make the groups' terms of the bound equal, as at the best multipliers; levels stay (Newton's method).

        The largest of these terms counts, so an error in theta would otherwise enter the bound at first order.
        """
        theta = theta.copy()
        for number, here in self._by_problem(job):
            problem = self.batch.problems[number]
            atoms, weight = problem.upper, problem.part_share(share[here])[:, None]
            found = np.maximum(theta[here], problem.ceiling + 1e-9 * self.batch.scale)
            for _ in range(BALANCINGS):
                inverse = 1.0 / (found[..., None] - atoms.loss)
                weighed = atoms.probability * inverse
                term = (weighed.sum(axis=3) * weight).sum(axis=2)
                slope = ((weighed * inverse).sum(axis=3) * weight).sum(axis=2)
                pace = np.where(slope > 0, 1.0 / np.where(slope > 0, slope, 1.0), 0.0)  # a group without rows stays
                level = (term * pace).sum(axis=1) / np.maximum(pace.sum(axis=1), 1e-300)
                change = (term - level[:, None]) * pace
                found = np.maximum(found + change[..., None], problem.ceiling + 0.1 * (found - problem.ceiling))
            theta[here] = found
        return theta

    def _kept(self, nodes: Nodes, end: int, pair: Integers) -> _Offered:
        """Keep the multipliers of one end throughout."""
        at = pair[:, end]
        theta = np.repeat(nodes.theta[at][:, None], 2, axis=1)
        return _Offered(theta, nodes.group_mu[at], nodes.label_mu[at], nodes.omega[at])

    def _plain(self, nodes: Nodes, pair: Integers) -> _Offered:
        """Take the ceilings, the best multipliers where the ball gains nothing."""
        within = self._plain_within(nodes, pair)
        return replace(within, label_mu=0.0 * within.label_mu, omega=0.0 * within.omega)

    def _plain_within(self, nodes: Nodes, pair: Integers) -> _Offered:
        """Take the ceilings, and what limits on labels do at the ends."""
        theta = np.repeat(self.ceilings[self.problem_index[nodes.job[pair[:, 0]]]][:, None], 2, axis=1)
        label_mu, omega = (array[pair].mean(axis=1) for array in (nodes.label_mu, nodes.omega))
        return _Offered(theta, 0.0 * nodes.group_mu[pair[:, 0]], label_mu, omega)

    def _excluding(self, nodes: Nodes, much: float, pair: Integers) -> _Offered:
        """Take multipliers that look at affinities alone, of a size: they rule out shares that no distribution has."""
        plain = self._plain(nodes, pair)
        problem = self.batch.problems[0]
        pull = ruled_out(problem, self.batch.rates.tolerance, nodes.share[pair])
        return replace(plain, theta=plain.theta + much * self.batch.scale * pull)

    def _cuts(self, intervals: Intervals, leaves: MeanLeaves) -> tuple[Integers, Integers]:
        """Return which intervals to cut and into how many: those that keep the gap open, within the budget."""
        excess = (intervals.bound - self._goal(intervals.job)) / self.tol
        open_ = np.flatnonzero((excess > 0.9) & (leaves.ends[:, 1] - leaves.ends[:, 0] > SMALLEST))
        open_ = open_[np.lexsort((-intervals.bound[open_], intervals.job[open_]))]
        times = np.clip(np.ceil(0.7 * np.sqrt(np.clip(excess[open_], 1.0, 1e9))), 2, MOST).astype(np.int64)
        times += times % 2  # so that the middle is among the new ends
        job, added = intervals.job[open_], np.cumsum(times - 1)
        before = np.concatenate([[0], added])[np.searchsorted(job, job)]
        room = self.budget - np.bincount(intervals.job)[job]
        allowed = added - before <= room
        return open_[allowed], times[allowed]

    def _answer(self, intervals: Intervals, leaves: MeanLeaves, job: int) -> Answer:
        """Put the intervals of one job in order."""
        here = np.flatnonzero(intervals.job == job)
        here = here[np.argsort(leaves.ends[here, 0], kind="stable")]
        witness = self.witness[job]
        if witness is None:
            message = "no distribution was found"  # cannot happen: the nearest one is in every ball
            raise RuntimeError(message)
        proof = leaves.take(here).proof(self.batch.rates.tolerance)
        number = int(self.problem_index[job])
        top = mean_bound(self.batch.problems[number], self.batch.rates, self.rho[[job]], self.batch.plain(number, 1))
        return Answer(min(float(intervals.bound[here].max()), float(top[0])), witness, proof)  # none exceeds the top


def _rearranged(problem: Problem, theta: Floats, part: Floats, held: Booleans, fall: Floats) -> Floats:
    """Return theta (N, S, C) less changes that add up to ``fall`` (N, C), so that the groups stay balanced.

    Cells that are ``held`` stay; ``part`` (N, C) are the shares of the labels' parts. The groups' terms of the bound
    are equal at the best multipliers. With slopes g of the terms the changes ``m (a_y / g_sy + b_s)`` of the free cells
    m are the least that keep them so to first order: a small linear system, of which the solution means nothing where
    nothing solves it.
    """
    count, groups, labels = theta.shape
    atoms = problem.upper
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = np.where(atoms.probability > 0, 1.0 / (theta[..., None] - atoms.loss), 0.0)
        slope = (atoms.probability * inverse**2).sum(axis=3) * part[:, None]
        free = ~held & (slope > 0) & np.isfinite(slope)
        slope = np.where(free, slope, 1.0)
    size = labels + groups
    system = np.zeros((count, size + 1, size + 1))
    system[:, :labels, labels:size] = free.swapaxes(1, 2)
    system[:, labels:size, :labels] = free
    # A label or group without any free cell has no part in this: its own equation is trivial.
    over_groups, over_labels = (free / slope).sum(axis=1), (free * slope).sum(axis=2)
    own = np.concatenate([over_groups, over_labels], axis=1)
    system[:, np.arange(size), np.arange(size)] = np.where(own > 0, own, 1.0)
    moving = (over_labels > 0).astype(np.float64)
    system[:, labels:size, size], system[:, size, labels:size] = -moving, moving
    system[:, size, size] = np.where(moving.any(axis=1), 0.0, 1.0)
    right = np.zeros((count, size + 1, 1))
    right[:, :labels, 0] = np.where(over_groups > 0, fall, 0.0)
    try:
        found = np.linalg.solve(system, right)[..., 0]
    except np.linalg.LinAlgError:
        return theta
    change: Floats = free * (found[:, None, :labels] / slope + found[:, labels:size, None])
    return theta - change
