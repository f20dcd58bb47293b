"""Multipliers for intervals of the share, made from those at their ends, to choose from.

The bound of an interval is the larger level of its ends, less what the larger total of its ends gives. So both should
agree between the ends: multipliers are first scaled to the same size (that of lam: the best ones vary with it most, and
it matters least), then moved so that the levels agree, then the groups are balanced, the largest of which counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.level_preserving import rearranged
from fairbound.solve.odds_nodes import Intervals, Multipliers, Nodes
from fairbound.solve.problem import Problem

#: Newton steps that balance the groups.
BALANCINGS = 2

#: So close to its ceiling a multiplier is held by it, in units of the values.
HELD = 1e-6

#: From nodes, the numbers of those at both ends, the intervals that were cut, and which of them each lies in.
Offer = Callable[[Nodes, Integers, Intervals, Integers], Multipliers]


@dataclass(frozen=True)
class Offers:
    """Multipliers for jobs: of problem ``which`` at each radius, with values of the size ``scale``."""

    problems: Sequence[Problem]
    problem_index: Integers
    rho: Floats
    scale: float

    @cached_property
    def ceilings(self) -> Floats:
        """The ceilings of all problems."""
        return np.stack([problem.ceiling for problem in self.problems])

    def each(self) -> Iterator[Offer]:
        """Yield ways to make multipliers, the most promising first."""
        for chosen in (slice(None), slice(0, 1), slice(1, 2)):
            yield partial(self._steady, chosen)
        yield partial(self._kept, 0)
        yield partial(self._kept, 1)
        yield self._inherited
        yield self._plain
        if self.problems[0].limited_within:
            yield self._plain_within

    def balanced(self, job: Integers, share: Floats, theta: Floats) -> tuple[Floats, Floats]:
        """Make the groups' terms of the bound equal, as at the best multipliers; levels stay (Newton's method).

        The largest of these terms counts, so an error in theta would otherwise enter the bound at first order. Also
        return the multiplier of the ball that belongs to them.
        """
        theta, lam, problem_index = theta.copy(), least_affinity(self.rho[job]), self.problem_index[job]
        for number, problem in enumerate(self.problems):
            here = np.flatnonzero(problem_index == number)
            atoms, weight = problem.upper, problem.part_share(share[here])[:, None]
            found = np.maximum(theta[here], problem.ceiling + 1e-9 * self.scale)
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
            lam[here] /= np.maximum(level, 1e-300)
        return theta, lam

    def _steady(self, chosen: slice, nodes: Nodes, pair: Integers, cut: Intervals, parent: Integers) -> Multipliers:
        """Bring the multipliers at both ends to the size and the levels of the ``chosen`` end, or of their mean."""
        job, share, theta, k = nodes.job[pair[:, 0]], nodes.share[pair], nodes.theta[pair], nodes.group_share[pair]
        least = self.ceilings[self.problem_index[job]][:, None]
        part = self.problems[0].part_share(share.ravel()).reshape(*share.shape, -1)
        lam = np.maximum(nodes.lam[pair], 1e-9 * self.scale)
        size = (lam[:, chosen].mean(axis=1, keepdims=True) / lam)[..., None]
        scaled = least + size[..., None] * (theta - least)
        omega, label_mu = ((size * array[pair])[:, chosen].mean(axis=1) for array in (nodes.omega, nodes.label_mu))
        drift = scaled.sum(axis=2) - part * omega[:, None]  # what the label adds to the level
        fall = drift - drift[:, chosen].mean(axis=1, keepdims=True)
        weight = (k / k.sum(axis=2, keepdims=True))[..., None]
        steady = self._lowered(job, scaled, part, weight, fall)
        if not self.problems[0].groups.limited:
            twice = np.repeat(job, 2), share.ravel(), steady.reshape(-1, *steady.shape[2:])
            steady = self.balanced(*twice)[0].reshape(steady.shape)
        return Multipliers(steady, nodes.group_mu[pair] / size, label_mu, omega)

    def _lowered(self, job: Integers, theta: Floats, part: Floats, weight: Floats, fall: Floats) -> Floats:
        """Let the sums over the groups fall by ``fall`` (N, 2, C); what is at its ceiling stays there."""
        problem_index = self.problem_index[job]
        least = self.ceilings[problem_index][:, None] + HELD * self.scale
        steady = theta - weight * fall[:, :, None]
        held: Booleans = np.logical_or.reduce(np.minimum(theta, steady) <= least, axis=1)
        some = held.any(axis=(1, 2))
        for number, problem in enumerate(self.problems if some.any() else ()):
            here = np.flatnonzero((problem_index == number) & some)
            for end in (0, 1) if len(here) else ():
                old = theta[here, end]
                steady[here, end] = rearranged(problem, old, part[here, end], held[here], fall[here, end])
        return steady

    @staticmethod
    def _kept(end: int, nodes: Nodes, pair: Integers, cut: Intervals, parent: Integers) -> Multipliers:
        """Keep the multipliers of one end throughout."""
        at = pair[:, [end, end]]
        return Multipliers(nodes.theta[at], nodes.group_mu[at], nodes.label_mu[at[:, 0]], nodes.omega[at[:, 0]])

    @staticmethod
    def _inherited(nodes: Nodes, pair: Integers, cut: Intervals, parent: Integers) -> Multipliers:
        """Keep the multipliers of the interval that was cut."""
        old, whole = cut.multipliers.take(parent), cut.ends[parent]
        width = whole[:, 1] - whole[:, 0]
        at = ((nodes.share[pair] - whole[:, :1]) / np.where(width > 0, width, 1.0)[:, None])[..., None, None]
        with np.errstate(invalid="ignore"):
            between = (1.0 - at) * old.theta[:, :1] + at * old.theta[:, 1:]
        return replace(old, theta=np.where(np.isfinite(old.theta[:, :1]), between, np.inf))

    def _plain(self, nodes: Nodes, pair: Integers, cut: Intervals, parent: Integers) -> Multipliers:
        """Take the ceilings, the best multipliers where the ball gains nothing."""
        within = self._plain_within(nodes, pair, cut, parent)
        return replace(within, label_mu=np.zeros_like(within.label_mu), omega=np.zeros_like(within.omega))

    def _plain_within(self, nodes: Nodes, pair: Integers, cut: Intervals, parent: Integers) -> Multipliers:
        """Take the ceilings, and what limits on labels do at the ends."""
        theta = np.repeat(self.ceilings[self.problem_index[nodes.job[pair[:, 0]]]][:, None], 2, axis=1)
        label_mu, omega = (array[pair].mean(axis=1) for array in (nodes.label_mu, nodes.omega))
        return Multipliers(theta, np.zeros_like(nodes.group_mu[pair]), label_mu, omega)
