"""A point well inside a set of limited shares, and how other shares are moved into the set.

The point maximises the least slack t of all limits: ``A m + t <= b`` and, with the auxiliary floor a of
``shares``, ``a + t <= m_i <= a + g - t``. An interior-point method ends in the relative interior of the
best points, so that only those limits are active which are so in the whole set: equalities, written or implied. If t is
negative the limits contradict each other, and their multipliers tell which.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import UNIT
from fairbound.solve.limit_terms import RowTerm, solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows

#: A limit with less slack than this at the point counts as an equality.
ACTIVE = 1e-9

#: Slack that shares are given where it is to be had, so that rounding does not push them out again.
GUARD = 64 * UNIT


@dataclass(frozen=True)
class _SlackSaddle:
    """Maximise t. Global variables: m_1 .. m_n, t, a, nu (of the sum). Local: one idle variable."""

    size: int
    skew: float | None

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """m_i - a - t >= 0, a + g - m_i - t >= 0, a >= 0."""
        n = self.size
        own = np.eye(n + 3)
        rest, offset = [*(own[:n] - own[n] - own[n + 1]), own[n + 1]], [0.0] * (n + 1)
        if self.skew is not None:
            rest, offset = [*rest, *(own[n + 1] - own[n] - own[:n])], offset + [-self.skew] * n
        idle = LocalRows(np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, n + 3)), -np.ones((1, 1, 1)), np.ones(1))
        return idle, GlobalRows(np.array([rest]), np.array([offset]), -np.ones(len(offset)))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares, t low enough."""
        n = self.size
        return np.zeros((1, 1, 1)), np.r_[np.full(n, 1.0 / n), -1.0, 0.5 / n, 0.0][None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate t + nu (1 - sum m)."""
        n = self.size
        slope = np.r_[np.full(n, -shared[0, -1]), 1.0, 0.0, 1.0 - shared[0, :n].sum()]
        corner = np.zeros((1, n + 3, n + 3))
        corner[0, :n, -1] = corner[0, -1, :n] = -1.0
        return Derivatives(local, slope[None], np.ones((1, 1, 1, 1)), np.zeros((1, 1, 1, n + 3)), corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _SlackSaddle:
        """Return the problem itself."""
        return replace(self)


@dataclass(frozen=True)
class Interior:
    """A point in the relative interior of ``{m >= 0, sum m = 1, |m_i - m_j| <= skew, A m <= b}``.

    Attributes
    ----------
    matrix, right, skew
        The limits.
    centre
        The point; if the set is empty, one that misses it by little.
    slack
        The least slack of all limits there: negative if the set is empty.
    mu
        The multipliers of the rows of A; in an empty set they are positive where rows contradict each other.
    """

    matrix: Floats
    right: Floats
    skew: float | None
    centre: Floats
    slack: float
    mu: Floats

    @cached_property
    def _equalities(self) -> Floats:
        """Rows whose products with the shares are the same in the whole set."""
        centre, size = self.centre, len(self.centre)
        unit = np.eye(size)
        rows = [np.ones((1, size)), self.matrix[self._active], unit[centre < ACTIVE]]
        if self.skew is not None and np.ptp(centre) > self.skew - ACTIVE:
            low, high = int(centre.argmin()), int(centre.argmax())
            rows.append(unit[centre - centre[low] > self.skew - ACTIVE] - unit[low])
            rows.append(unit[high] - unit[centre[high] - centre > self.skew - ACTIVE])
        return np.concatenate(rows)

    @cached_property
    def _active(self) -> Booleans:
        """The rows of A that are equalities."""
        active: Booleans = self.right - self.matrix @ self.centre < ACTIVE
        return active

    @cached_property
    def _flat(self) -> Floats:
        """The projection onto the directions that no equality forbids."""
        _, size, directions = np.linalg.svd(self._equalities, full_matrices=True)
        free = directions[int((size > 1e-9).sum()) :]
        return free.T @ free

    def moved(self, share: Floats) -> Floats:
        """Move shares (non-negative, with sum one) into the set: onto its equalities, then towards the centre."""
        away = (share - self.centre) @ self._flat
        share = self.centre + away
        free = ~self._active
        factor = _largest(away @ self.matrix[free].T, (self.right - self.matrix @ self.centre)[free])
        factor = np.minimum(factor, _largest(-away, np.where(self.centre < ACTIVE, np.inf, self.centre)))
        if self.skew is not None:
            spread, least = np.ptp(share, axis=-1, keepdims=True), np.ptp(self.centre)
            room = max(0.0, self.skew - GUARD - least)
            over = spread > self.skew + (GUARD if room == 0 else -GUARD)
            factor = np.minimum(factor, np.where(over, room / np.maximum(spread - least, 1e-300), 1.0))
        share = np.maximum(self.centre + factor * away, 0.0)
        moved: Floats = share / share.sum(axis=-1, keepdims=True)
        return moved


def _largest(away: Floats, slack: Floats) -> Floats:
    """Return the largest factor up to one by which a step keeps the slack."""
    room = np.maximum(slack - GUARD, 0.0)
    factor = np.where(away > room, room / np.where(away > room, away, 1.0), 1.0)
    return factor.min(axis=-1, keepdims=True, initial=1.0)


def find_interior(matrix: Floats, right: Floats, skew: float | None) -> Interior:
    """Find the point."""
    size = matrix.shape[1]
    term = RowTerm(np.hstack([matrix, np.ones((len(matrix), 1))]), right, slice(0, size + 1))
    point, (mu,) = solve_limited(_SlackSaddle(size, skew), (term,), accuracy=1e-16)
    share = np.maximum(point.shared[0, :size], 0.0)
    share = share / share.sum()
    found = Interior(matrix, right, skew, share, _least_slack(matrix, right, skew, share), mu[0])
    # What is active is solved once more, as linear equations: better where these are equalities.
    rows = found._equalities
    goal = np.concatenate([[1.0], right[found._active], np.zeros(int((share < ACTIVE).sum()))])
    goal = np.concatenate([goal, np.full(len(rows) - len(goal), 0.0 if skew is None else skew)])
    share = np.maximum(share + np.linalg.lstsq(rows, goal - rows @ share, rcond=None)[0], 0.0)
    share = share / share.sum()
    slack = _least_slack(matrix, right, skew, share)
    return Interior(matrix, right, skew, share, slack, mu[0]) if slack > found.slack else found


def _least_slack(matrix: Floats, right: Floats, skew: float | None, share: Floats) -> float:
    """Return the least slack of all limits at a point."""
    slack = float((right - matrix @ share).min(initial=share.min()))
    return slack if skew is None else min(slack, skew - float(np.ptp(share)))
