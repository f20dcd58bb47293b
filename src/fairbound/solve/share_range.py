"""Which shares the first part of the labels, a single one, can have: by the limits on labels, and in a ball."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import lowered
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.problem import Problem
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows
from fairbound.solve.shares import MarginalSet, usable

#: How closely the shares that are possible at all are found, and rounds for each trial (it only guides the search).
HALVINGS, ROUNDS = 40, 20

#: Ends that are closer to each other than this are taken for the same.
NEARLY = 1e-9


@dataclass(frozen=True)
class _ShareSaddle:
    """Maximise ``<aim, m>`` over limited shares. Global variables: m_1 .. m_n, a, nu (of the sum). Local: one idle."""

    aim: Floats
    labels: MarginalSet

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """m_i - a >= 0, a >= 0, a + g - m_i >= 0."""
        n = len(self.aim)
        own = np.eye(n + 2)
        rest, offset = [*(own[:n] - own[n]), own[n]], [0.0] * (n + 1)
        if self.labels.skew is not None:
            rest, offset = [*rest, *(own[n] - own[:n])], offset + [-self.labels.width] * n
        idle = LocalRows(np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, n + 2)), -np.ones((1, 1, 1)), np.ones(1))
        return idle, GlobalRows(np.array([rest]), np.array([offset]), -np.ones(len(offset)))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares."""
        n = len(self.aim)
        floor = 1.0 / n - 0.5 * min(1.0 / n, self.labels.width)
        return np.zeros((1, 1, 1)), np.r_[np.full(n, 1.0 / n), floor, 0.0][None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate <aim, m> + nu (1 - sum m)."""
        n = len(self.aim)
        slope = np.r_[self.aim - shared[0, -1], 0.0, 1.0 - shared[0, :n].sum()]
        corner = np.zeros((1, n + 2, n + 2))
        corner[0, :n, -1] = corner[0, -1, :n] = -1.0
        return Derivatives(local, slope[None], np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, n + 2)), corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _ShareSaddle:
        """Return the problem itself."""
        return replace(self)


@dataclass(frozen=True)
class ShareRange:
    """Between which numbers the share of the first part lies.

    ``ends`` hold for certain, by rules that are simple enough for every checker. With limits on three or more labels
    the share may be confined further, to between the two ``inner`` ends; multipliers ``mu`` (2, rows) of the limits
    prove that of either.
    """

    ends: tuple[float, float]
    inner: tuple[float, float]
    mu: Floats


def share_range(problem: Problem, last: float) -> ShareRange:
    """Find the range, which ends at ``last``; both pairs of ends are rounded outward."""
    label, labels = (problem.parts or ((0,),))[0][0], problem.labels
    floors = labels.floors
    others = max(0.0, float(lowered(floors.sum() - floors[label], labels.size + 4)))
    ends = float(floors[label]), min(last, 1.0 - others)
    mu = np.zeros((2, labels.multipliers))
    if not problem.limited_within:
        return ShareRange(ends, ends, mu)
    inner = list(ends)
    for side, sign in enumerate((-1.0, 1.0)):
        aim = sign * np.eye(labels.size)[label]
        found = solve_limited(_ShareSaddle(aim, labels), (labels.term(slice(0, labels.size)),), accuracy=1e-15)[1][0]
        mu[side] = labels.useful(usable(found[0]), aim)
        end = sign * float(labels.support(aim, mu[side]))
        inner[side] = end if sign * (ends[side] - end) > NEARLY else ends[side]
    return ShareRange(ends, (inner[0], max(inner)), mu)


def possible_shares(
    problem: Problem, rates: BaseRates, ends: tuple[float, float], near: float, least: Floats
) -> Floats:
    """Return about where the shares end that a distribution of so much affinity has, shape (N, 2), by bisection.

    ``near`` is a share that is possible.
    """
    tau = np.tile(least, 2)
    inside, outside = np.full(len(tau), np.clip(near, *ends)), np.repeat(ends, len(least))
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        possible = _affinity(problem, rates.tolerance, middle) >= tau
        inside, outside = np.where(possible, middle, inside), np.where(possible, outside, middle)
    return outside.reshape(2, -1).T


def _affinity(problem: Problem, tolerance: float, share: Floats) -> Floats:
    """Return about the largest affinity of a distribution with these shares of the first part; concave in them."""
    if tolerance > 0.0:
        return np.linalg.norm(_closest(problem, tolerance, share).sum(axis=-1), axis=-1)
    first, rest = (np.sqrt(problem.mass[:, list(part)]) for part in problem.parts or ())
    within = np.full((len(share), rest.shape[1]), 1.0 / np.sqrt(rest.shape[1]))
    for _ in range(ROUNDS if rest.shape[1] > 1 else 1):
        pull = np.sqrt(share)[:, None] * first[:, 0] + np.sqrt(1.0 - share)[:, None] * (within @ rest.T)
        back = pull @ rest
        within = back / np.maximum(np.linalg.norm(back, axis=1, keepdims=True), 1e-300)
    return np.linalg.norm(pull, axis=1)


def _closest(problem: Problem, tolerance: float, share: Floats) -> Floats:
    """Return ``sqrt(u p)`` and ``sqrt((1 - u) p)`` of each group, (..., S, 2), at the share u closest to its own in P.

    Given the least share t of the first label, u lies between t and t plus the tolerance.
    """
    mass = problem.mass[:, [part[0] for part in problem.parts or ()]]
    own = mass[:, 0] / np.maximum(mass.sum(axis=1), 1e-300)
    u = np.clip(own, share[..., None], np.minimum(share[..., None] + tolerance, 1.0))
    root: Floats = np.sqrt(np.stack([u, 1.0 - u], axis=-1) * mass)
    return root


def ruled_out(problem: Problem, tolerance: float, share: Floats) -> Floats:
    """Return multipliers that prove the largest affinity at least shares (...), up to their size; shape (..., S, C).

    With ``c_s`` the best affinity of group s, at its share u, they are ``c_s sqrt(u p)`` and ``c_s sqrt((1 - u) p)``.
    """
    root = _closest(problem, tolerance, share)
    pull = np.empty_like(root)
    pull[..., [part[0] for part in problem.parts or ()]] = root * root.sum(axis=-1, keepdims=True)
    pull = np.maximum(pull, 1e-9 * pull.sum(axis=(-1, -2), keepdims=True))
    found: Floats = pull / pull.sum(axis=(-1, -2), keepdims=True)
    return found
