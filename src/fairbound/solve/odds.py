"""Means given the group and a part of the labels (true and false positive rates): a search over that part's share.

For a fixed share the question is one convex program (``conditional``). The shares are cut into intervals;
on each the multipliers move linearly between those found at its ends, adjusted so that their level does not change, and
the bound's error is of second order in the width (docs/metrics.md). The search may stop at any time: the
largest bound of the intervals is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import count

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.candidate_multipliers import Offers
from fairbound.solve.leaf_bounds import conditional_bound, conditional_level
from fairbound.solve.mean_leaves import interval_bound
from fairbound.solve.odds_nodes import Intervals, Multipliers, Nodes
from fairbound.solve.odds_range import possible_shares, share_range
from fairbound.solve.parity import BEST_ACCURACY, ROUGH_ACCURACY, Batch
from fairbound.solve.proof import ConditionalProof
from fairbound.solve.shares import no_multipliers
from fairbound.solve.witness import Witness, Witnesses

#: At how many shares between the least and the largest possible one programs are solved at first; at how many the value
#: is looked up between them, and how often closer; into how many an interval is cut at most.
FIRST, LOOKS, CLOSER, MOST = 7, 8, 4, 8

#: In so many rounds multipliers at new shares are interpolated from the first ones instead of solving for them.
INTERPOLATED = 2

#: Multipliers of the ball are limited to so many times the one where the value is largest: towards the ends of what is
#: possible they grow without limit, though these serve as well there, and do not change so much between neighbours.
STEEPER = 2.0

#: No multipliers of the ball are larger than this, divided by the root of the affinity that the ball leaves to spare
#: at the nearest distribution; less than the second number of that is rounding.
LARGEST, NO_REACH = 3.0, 3e-9

#: A range of possible shares below this width is narrow; how fast the distances of shares from it grow; how closely
#: programs are solved then.
NARROW, GRADING, NARROW_ACCURACY = 0.05, 2.0, 1e-16

#: Intervals are not cut any more below this width.
SMALLEST = 2.0**-40

#: How far from the ends of what limits on labels allow programs are solved, as a part of that range: at the ends some
#: of the limits leave no room. How far beyond them shares are ruled out, and how clearly, in units of the values.
ASIDE, BEYOND, FORCE = 1e-7, 1e-9, 10.0

#: The places of the first shares, closer towards the ends, and what the barycentric formula weighs them with.
_ANGLES = np.pi * (np.arange(FIRST) + 0.5) / FIRST
CHEBYSHEV = 0.5 - 0.5 * np.cos(_ANGLES)
BARYCENTRIC = np.sin(_ANGLES) * (-1.0) ** np.arange(FIRST)


@dataclass
class OddsSearch:
    """A search for problem ``which`` (N,) of a batch at each radius.

    Of the jobs of one ``team`` only the largest value counts, so none of them needs a bound below what another attains,
    or below what is ``known`` of the team to be attained elsewhere.
    """

    batch: Batch
    problem_index: Integers
    rho: Floats
    radius_index: Integers
    tol: float
    budget: int
    incumbent: Floats

    def __post_init__(self) -> None:
        """Start with no distribution at all."""
        self.loss = np.full(len(self.problem_index), -np.inf)
        self.witness: list[Witness | None] = [None] * len(self.problem_index)
        self.likely = np.zeros((len(self.problem_index), 2))
        self.narrow = np.zeros(len(self.problem_index), dtype=bool)
        self.most = self._largest_multipliers()
        self.range = share_range(self.batch.problems[0])
        self.limited = self.batch.problems[0].limited_within
        self.first: Nodes
        self.ceilings = np.stack([problem.ceiling for problem in self.batch.problems])
        self.offers = Offers(self.batch.problems, self.problem_index, self.rho, self.batch.scale)

    def run(self) -> list[Answer]:
        """Cut until every gap is closed or the budget is used up."""
        nodes = self._start()
        last = np.append(np.flatnonzero(np.diff(nodes.job)), len(nodes.job) - 1)
        first = np.append(0, last[:-1] + 1)
        jobs, problem = np.arange(len(self.problem_index)), self.batch.problems[0]
        whole = np.full((len(jobs), 2, *problem.ceiling.shape), np.inf)
        ends = np.stack([nodes.share[first], nodes.share[last]], axis=1)
        mu = np.zeros((len(jobs), 2, problem.groups.multipliers)), np.zeros((len(jobs), problem.labels.multipliers))
        omega = np.zeros((len(jobs), problem.labels.size))
        intervals = Intervals(jobs, ends, np.full(len(jobs), np.inf), whole, *mu, omega)
        intervals = self._between(nodes, intervals, last - first)
        for number in count():
            open_, times = self._cuts(intervals)
            if not len(open_):
                return [
                    self._answer(intervals.take(intervals.job == job), job) for job in range(len(self.problem_index))
                ]
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
            nodes = self._new(job, share, exact).joined(nodes).sorted()
            kept = np.ones(len(intervals.job), dtype=bool)
            kept[open_] = False
            intervals = intervals.take(kept).joined(self._between(nodes, cut, times))
        return []

    def _largest_multipliers(self) -> Floats:
        """Return limits on the multipliers of the ball: they grow like the inverse root of how far it reaches.

        At the nearest distribution itself there is no limit but what floats can bear.
        """
        return LARGEST * self.batch.scale / np.sqrt(np.maximum(0.01 * self._reach(), NO_REACH))

    def _reach(self) -> Floats:
        """Return how much affinity the ball leaves to spare at the nearest distribution."""
        nearest = 1.0 - np.square([near.distance for near in self.batch.nearest])
        return nearest[self.problem_index] - least_affinity(self.rho)

    def _start(self) -> Nodes:
        """Solve at the ends of all shares, at some that are possible, and where the value is largest."""
        problem, jobs = self.batch.problems[0], np.arange(len(self.problem_index))
        near = float(self.batch.nearest[0].label_mass[list((problem.parts or ((0,),))[0])].sum())
        least = least_affinity(self.rho) - np.maximum(NO_REACH - self._reach(), 0.0)
        self.likely = possible_shares(problem, self.range.inner, near, least)
        self.narrow = np.diff(self.likely, axis=1)[:, 0] < NARROW
        between = self.likely[:, :1] + CHEBYSHEV * (self.likely[:, 1:] - self.likely[:, :1])
        self.first = self._solved(np.repeat(jobs, FIRST), between.ravel(), attain=False)
        best = self._solved(jobs, self._summits(), possible=True)
        limit = np.where(self.narrow, np.maximum(STEEPER * best.lam, 50.0 * self.batch.scale), np.inf)
        self.most = np.minimum(self.most, limit)
        ends = np.hstack([self.likely, np.tile(self.range.inner, (len(jobs), 1))])
        job, share = self._graded()
        outer = self._solved(np.append(np.repeat(jobs, 4), job), np.append(ends.ravel(), share))
        nodes = self.first.joined(outer).joined(best).sorted()
        return self._beyond(nodes, 0).joined(self._beyond(nodes, 1)).joined(nodes).sorted()

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
        jobs, sign = np.arange(len(self.problem_index)), (-1.0, 1.0)[side]
        inner, end = self.range.inner[side], self.range.ends[side]
        here = nodes.places(jobs, np.full(len(jobs), inner))
        if sign * (end - inner) <= 0:
            return nodes.take(here[:0])
        near = inner + sign * min(BEYOND, 0.5 * abs(end - inner))
        last = nodes.take(here)
        much = FORCE * (self.batch.scale + np.abs(last.theta).sum(axis=(1, 2))) / abs(near - inner)
        label = (self.batch.problems[0].parts or ((0,),))[0]
        omega = last.omega.copy()
        omega[:, label] += sign * much[:, None]
        forced = replace(last, omega=omega, label_mu=last.label_mu + much[:, None] * self.range.mu[side])
        shares = (np.full(len(jobs), share) for share in (near, end))
        first, second = (replace(forced, share=share) for share in shares)
        return first.joined(second)

    def _summits(self) -> Floats:
        """Return about where the value is largest, for each job: around the best of the first shares, ever closer."""
        jobs = np.arange(len(self.problem_index))
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
        theta = np.maximum(nodes.theta, self.ceilings[self.problem_index[nodes.job]])
        theta, mu, ends = (part[:, None].repeat(2, axis=1) for part in (theta, nodes.group_mu, nodes.share))
        return self._bound(nodes.job, Multipliers(theta, mu, nodes.label_mu, nodes.omega), ends)

    def _solved(self, job: Integers, share: Floats, *, attain: bool = True, possible: bool = False) -> Nodes:
        """Solve programs, and keep the distributions that attain more; ``possible`` says that all shares are so."""
        problem_index, rho = self.problem_index[job], self.rho[job]
        accuracy = max(BEST_ACCURACY, ROUGH_ACCURACY * self.tol / self.batch.scale)
        if self.narrow[job].any():  # where multipliers are large, so are the effects of their errors
            accuracy = NARROW_ACCURACY
        sought = possible | (share > self.likely[job, 0]) & (share < self.likely[job, 1])
        # In a narrow range of shares multipliers are large: those that are just enough at a share fail beside it.
        cutoff = np.where(sought | self.narrow[job], -np.inf, self._goal(job))
        low, high = self.range.inner
        aside = min(0.5 * (high - low), max(1e-9, ASIDE * (high - low) if self.limited else 0.0))
        found = self.batch.solve(
            problem_index, rho, accuracy, np.clip(share, low + aside, high - aside), cutoff, self.most[job]
        )
        for number in range(len(self.batch.problems) if attain else 0):
            chosen = np.flatnonzero((problem_index == number) & sought)
            if len(chosen):
                self._adopt(job[chosen], self.batch.witnesses(number, rho[chosen], found, chosen, share[chosen]))
        label_mu = found.label_mu if self.limited else no_multipliers(len(job), self.batch.problems[0].labels)
        limits = found.group_mu, label_mu, found.omega
        return Nodes(job, share, found.theta, found.lam, found.group_share, *limits, np.ones(len(job), dtype=bool))

    def _bound(self, job: Integers, given: Multipliers, ends: Floats) -> Floats:
        """Return what multipliers prove on intervals."""
        value, problem_index = np.empty(len(job)), self.problem_index[job]
        for number, problem in enumerate(self.batch.problems):
            here = np.flatnonzero(problem_index == number) if len(self.batch.problems) > 1 else np.arange(len(job))
            if len(here):
                own = given.take(here)
                omega = own.omega if self.limited else None
                limits = own.group_mu, own.label_mu, ends[here], omega
                value[here] = conditional_bound(problem, self.rho[job[here]], own.theta, *limits)
        return value

    def _proved(self, job: Integers, given: Multipliers, ends: Floats) -> Floats:
        """Return what multipliers prove as leaves of form F."""
        value, problem_index = np.full(len(job), np.inf), self.problem_index[job]
        for number, problem in enumerate(self.batch.problems):
            here = np.flatnonzero((problem_index == number) & np.isfinite(given.theta).all(axis=(1, 2, 3)))
            if len(here):
                own = given.take(here)
                omega = own.omega if self.limited else None
                level = conditional_level(problem, own.theta, own.label_mu, ends[here], omega)
                mu = own.group_mu.mean(axis=1)
                value[here] = interval_bound(problem, self.rho[job[here]], ends[here], own.theta, mu, level, 0.0)
        return value

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
        shape = (len(self.problem_index), FIRST, *self.first.theta.shape[1:])
        least = self.ceilings[self.problem_index[job]]
        above = np.log(np.maximum(self.first.theta.reshape(shape)[job] - least[:, None], 1e-12 * self.batch.scale))
        above = above + 0.5 * np.log(CHEBYSHEV * (1.0 - CHEBYSHEV))[:, None, None]
        theta = np.exp(
            np.einsum("ni,nisc->nsc", fall, above) - 0.5 * np.log(np.maximum(at * (1.0 - at), 1e-12))[:, None, None]
        )
        theta = least + theta
        k = np.einsum("ni,nis->ns", fall, self.first.group_share.reshape(shape[:3])[job])
        (theta, lam), mu = self.offers.balanced(job, share, theta), np.zeros((len(job), self.first.group_mu.shape[1]))
        label_mu, omega = (
            np.einsum("ni,nir->nr", fall, part.reshape(len(self.problem_index), FIRST, -1)[job])
            for part in (self.first.label_mu, self.first.omega)
        )
        limits = mu, np.maximum(label_mu, 0.0), omega
        return Nodes(job, share, theta, lam, np.maximum(k, 1e-9), *limits, np.zeros(len(job), dtype=bool))

    def _new(self, job: Integers, share: Floats, exact: Booleans) -> Nodes:
        """Return multipliers at new shares, interpolated where that is possible and enough."""
        between = (share > self.likely[job, 0]) & (share < self.likely[job, 1]) & ~exact
        between &= not (self.batch.problems[0].groups.limited or self.limited)  # multipliers of limits are not smooth
        if between.all():
            return self._interpolated(job, share)
        rest = self._solved(job[~between], share[~between])
        return rest.joined(self._interpolated(job[between], share[between])) if between.any() else rest

    @staticmethod
    def _rough(nodes: Nodes, pieces: Intervals) -> Nodes:
        """Return the ends of intervals that were not solved for yet."""
        ends = nodes.take(np.unique(nodes.places(pieces.job[:, None], pieces.ends)))
        return ends.take(~ends.exact)

    def _goal(self, job: Integers) -> Floats:
        """Return what is attained by the best of each job's team."""
        best = self.incumbent.copy()
        np.maximum.at(best, self.radius_index, self.loss)
        return best[self.radius_index[job]]

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
        first = nodes.places(cut.job, cut.ends[:, 0])[parent] + place
        pair = np.stack([first, first + 1], axis=1)
        ends, job = nodes.share[pair], cut.job[parent]
        bound, best = np.full(len(job), np.inf), cut.multipliers.take(parent)
        open_ = np.arange(len(job))
        for offer in self.offers.each():
            offered = offer(nodes, pair[open_], cut, parent[open_])
            np.maximum(offered.theta, self.ceilings[self.problem_index[job[open_]]][:, None], out=offered.theta)
            value = self._bound(job[open_], offered, ends[open_])
            better = value <= bound[open_]
            bound[open_[better]] = value[better]
            for field in fields(best):
                getattr(best, field.name)[open_[better]] = getattr(offered, field.name)[better]
            open_ = open_[bound[open_] > self._goal(job[open_]) + 0.9 * self.tol]
            if not len(open_):
                break
        bound = np.maximum(bound, self._proved(job, best, ends))
        return Intervals(job, ends, bound, best.theta, best.group_mu, best.label_mu, best.omega)

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
        proof = ConditionalProof(pieces.theta, cuts, pieces.group_mu, pieces.label_mu, pieces.omega)
        return Answer(float(pieces.bound.max()), witness, proof)


def odds_answers(
    batch: Batch,
    problem_index: Integers,
    rho: Floats,
    radius_index: Integers,
    tol: float,
    budget: int,
    incumbent: Floats,
) -> list[Answer]:
    """Answer for problem ``which`` (N,) at each radius; ``budget`` limits the number of intervals of each.

    The bounds of one ``team`` are as tight as their largest one needs, or what is ``known`` to be attained by others.
    """
    return OddsSearch(batch, problem_index, rho, radius_index, tol, budget, incumbent).run()
