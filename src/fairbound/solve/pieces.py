"""Form T: the best bound over a piece of the label shares, in a Hellinger ball (docs/theory.md, "Pieces").

A piece T is the convex hull of the label shares r^1 .. r^m. Multipliers that move with r,

    eta_sy(r) = w_sy - <r - r0, w_s>,      so that  sum_y r_y eta_sy(r) = <r0, w_s> =: v_s  for every r,

bound the loss over all Q whose label shares lie in T and in R, for any w and omega, by

    sigma_K(v) - tau^2 / ( max_j [ G(r^j) - <omega, r^j> ] + sigma_R(omega) ),
    G(r) = sum_i p_i E_i[ 1 / (eta_i(r) - loss) ],          provided eta_i(r^j) >= ceiling_i.

This module minimises that bound over w, omega. It is the saddle

    min over w, lam, omega  max over k in K, theta in simplex, r in R  of
        <k, v> - 2 lam tau + lam^2 ( sum_j theta_j G(r^j) + <omega, r - sum_j theta_j r^j> ),

solved with ``lam^2 omega`` in place of omega.

The optimal ``sum_j theta_j r^j`` and ``k`` are a good guess of the worst shares in the piece. With one vertex it is the
exact dual for fixed label shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal, take
from fairbound.solve.shares import MarginalSet, no_multipliers

#: By how much multipliers are raised in the end, relative to their size and per label.
NUDGE = 1e-13

#: Limit on the entries of omega, in units of loss; like the cap on lam it keeps programs bounded on hopeless pieces.
PULL = 100.0


@dataclass(frozen=True)
class PieceSaddle:
    """A batch of pieces, each with its own ``tau`` and ``vertices`` of shape (N, m, C).

    ``root`` (square roots of class probabilities) and ``loss`` have shape (S, C, J), ``ceiling`` (S, C); losses are
    in units of the largest ceiling. ``cap`` limits lam: it keeps the program bounded on pieces without any feasible
    r, where it makes the bound very negative instead of minus infinity. A piece whose bound is below ``cutoff`` is left
    as it is: it cannot hold the worst case.

    Base rates of a group may be ``mixed``: (1 - d) r and d q_s, with any q_s, so that the level of group s becomes
    ``(1 - d) <r0, w_s> + d max_y w_sy`` and multipliers move with (1 - d) r.

    Local variables: w_s1 .. w_sC, k_s and, if rates are mixed, k_s q_s1 .. k_s q_sC, nu_s. Global: lam, theta_1 ..
    theta_m, nu_theta, nu_k, floor_k, and where the label shares are limited beyond what the pieces know also omega_1 ..
    omega_C, r_1 .. r_C, nu_r, floor_r.
    """

    root: Floats
    loss: Floats
    ceiling: Floats
    tau: Floats
    vertices: Floats
    cap: Floats
    cutoff: Floats
    groups: MarginalSet
    labels: MarginalSet
    mixed: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return (pieces, groups, labels, vertices)."""
        s, c, _ = self.root.shape
        return len(self.tau), s, c, self.vertices.shape[1]

    @cached_property
    def limited(self) -> bool:
        """Whether the label limits have to be dualised: those that are floors are part of the piece itself."""
        return not self.labels.fills_simplex and self.shape[3] > 1

    @cached_property
    def size(self) -> int:
        """Return the number of global variables."""
        _, _, c, m = self.shape
        return m + 4 + (2 * c + 2 if self.limited else 0)

    @cached_property
    def centre(self) -> Floats:
        """r0, the centre of each piece."""
        return self.vertices.mean(axis=1)

    @cached_property
    def moves(self) -> Floats:
        """Return the matrices that take w_s to eta_s(r^j), stacked: shape (N, 1, m C, C)."""
        n, _, c, m = self.shape
        tilt = (self.vertices - self.centre[:, None])[:, :, None, :]
        return (np.eye(c) - (1.0 - self.mixed) * tilt).reshape(n, 1, m * c, c)

    @cached_property
    def locals(self) -> int:
        """Return the number of local variables."""
        c = self.shape[2]
        return c + 1 + (c + 1 if self.mixed else 0)

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """eta_i(r^j) >= ceiling_i, k in K; 0 <= lam <= cap, theta >= 0, r in R."""
        n, s, c, m = self.shape
        skewed = self.groups.skew is not None
        shares = 1 + skewed + (c if self.mixed else 0)
        block = np.zeros((n, 1, m * c + shares, self.locals))
        block[:, :, : m * c, :c] = self.moves
        block[..., m * c, c] = 1.0
        border = np.zeros((1, 1, m * c + shares, self.size))
        border[..., m * c, m + 3] = -1.0
        offset = np.zeros((1, s, m * c + shares))
        offset[0, :, : m * c] = np.tile(self.ceiling, (1, m))
        if self.groups.skew is not None:
            block[..., m * c + 1, c] = -1.0
            border[..., m * c + 1, m + 3] = 1.0
            offset[..., m * c + 1] = -self.groups.width
        if self.mixed:
            block[..., -c:, c + 1 : 2 * c + 1] = np.eye(c)
        sign = np.r_[np.ones(m * c), -np.ones(shares)]
        near = LocalRows(block, border, offset, sign)

        own = np.eye(self.size)
        rest, offsets, signs = (
            [*own[: m + 1], -own[0], own[m + 3]],
            [0.0] * (m + 3),
            [1.0] + [-1.0] * m + [1.0, -1.0],
        )
        if self.limited:
            first = m + 4 + c
            shares = own[first : first + c] - own[-1]  # r_y - floor_r
            upper = -shares[: 0 if self.labels.skew is None else c]
            rest += [own[-1], *shares, *upper]
            offsets += [0.0] * (c + 1) + [-self.labels.width] * len(upper)
            signs += [-1.0] * (c + 1 + len(upper))
            pulls = own[m + 4 : m + 4 + c]
            rest, offsets, signs = (
                [*rest, *pulls, *-pulls],
                offsets + [-PULL] * (2 * c),
                signs + [1.0] * (2 * c),
            )
        offset = np.tile(np.array(offsets), (n, 1))
        offset[:, m + 1] = -self.cap
        return near, GlobalRows(np.array(rest)[None], offset, np.array(signs))

    def start(self) -> tuple[Floats, Floats]:
        """Constant multipliers above all ceilings, uniform shares."""
        n, s, c, m = self.shape
        local = np.full((n, s, self.locals), 2.0)
        local[..., c] = 1.0 / s
        if self.mixed:
            local[..., c + 1 : -1], local[..., -1] = 1.0 / (s * c), 0.0
        shared = np.zeros((n, self.size))
        shared[:, 1 : m + 1] = 1.0 / m
        shared[:, m + 3] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        affinity = (self.root**2 / (2.0 - self.loss)).sum()
        shared[:, 0] = np.minimum((self.tau + 0.01) / affinity, 0.5 * self.cap)
        if self.limited:
            shared[:, m + 4 + c : m + 4 + 2 * c] = 1.0 / c
            shared[:, -1] = 1.0 / c - 0.5 * min(1.0 / c, self.labels.width)
        return local, shared

    def _above(self, w: Floats) -> Floats:
        """Return eta(r^j), shape (N, S, m, C)."""
        n, s, c, m = self.shape
        return (self.moves @ w[..., None]).reshape(n, s, m, c)

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam theta sqrt(p) / (eta - loss), shape (N, S, m, C, J)."""
        _, _, c, m = self.shape
        theta = shared[:, None, 1 : m + 1, None, None]
        gap = self._above(local[..., :c])[..., None] - self.loss[:, None]
        return shared[:, 0, None, None, None, None] * theta * self.root[:, None] / gap + 1e-12

    @cached_property
    def _upper(self) -> Floats:
        """Ones above the diagonal."""
        return np.triu(np.ones((self.size, self.size)), 1)

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; atoms are summed first."""
        n, s, c, m = self.shape
        w, k = local[..., :c], local[..., c]
        lam = shared[:, 0, None, None, None, None]
        theta = shared[:, None, 1 : m + 1, None, None]
        inverse = 1.0 / (self._above(w)[..., None] - self.loss[:, None])
        root = self.root[:, None]
        best, x = lam * root * inverse, inner / theta
        weight = theta[..., 0]
        mass = (x * (2.0 * best - x)).sum(-1)
        squared = (x * x).sum(-1)
        curve = weight * (x * x * inverse).sum(-1)
        slope = weight * (root * x * inverse).sum(-1)
        worth = (x * (2.0 * lam * root - x / inverse)).sum(-1)
        across = self.moves.reshape(n, 1, m, c, c)

        g_local = np.empty((n, s, self.locals))
        g_local[..., :c] = (1.0 - self.mixed) * k[..., None] * self.centre[:, None]
        g_local[..., :c] -= ((weight * mass).reshape(n, s, 1, m * c) @ self.moves)[:, :, 0]
        g_local[..., c] = (1.0 - self.mixed) * (w @ self.centre[:, :, None])[..., 0] - shared[:, m + 2, None]
        g_glob = np.zeros((n, self.size))
        g_glob[:, 0] = 2.0 * (root * best * theta).sum((1, 2, 3, 4)) - 2.0 * self.tau
        g_glob[:, 1 : m + 1] = worth.sum((1, 3)) - shared[:, m + 1, None]
        g_glob[:, m + 1] = 1.0 - shared[:, 1 : m + 1].sum(1)
        g_glob[:, m + 2] = 1.0 - k.sum(1)

        local_local = np.zeros((n, s, self.locals, self.locals))
        curvature_remainder = (2.0 * curve).reshape(n, s, m * c, 1) * self.moves
        local_local[..., :c, :c] = curvature_remainder.swapaxes(-1, -2) @ self.moves
        local_local[..., :c, c] = local_local[..., c, :c] = (1.0 - self.mixed) * self.centre[:, None]
        if self.mixed:
            self._mix(local, g_local, local_local)
        local_glob = np.zeros((n, s, self.locals, self.size))
        local_glob[..., :c, 0] = -2.0 * (slope.reshape(n, s, 1, m * c) @ self.moves)[:, :, 0]
        local_glob[..., :c, 1 : m + 1] = -(squared[..., None, :] @ across)[..., 0, :].swapaxes(-1, -2)
        local_glob[..., c, m + 2] = -1.0
        corner = np.zeros((n, self.size, self.size))
        corner[:, 0, 0] = 2.0 * (theta * root * root * inverse).sum((1, 2, 3, 4))
        corner[:, 0, 1 : m + 1] = 2.0 * (root * x).sum((1, 3, 4))
        corner[:, 1 : m + 1, m + 1] = -1.0
        if self.limited:
            self._limit(shared, g_glob, corner)
        corner += (corner * self._upper).swapaxes(-1, -2)
        return Derivatives(g_local, g_glob, local_local, local_glob, corner)

    def _mix(self, local: Floats, slope: Floats, curve: Floats) -> None:
        """Add the derivatives of ``d <u, w> + nu (k - sum u)``, where u are the group's own shares times k."""
        c = self.shape[2]
        u, nu = local[..., c + 1 : -1], local[..., -1]
        slope[..., :c] += self.mixed * u
        slope[..., c] += nu
        slope[..., c + 1 : -1] = self.mixed * local[..., :c] - nu[..., None]
        slope[..., -1] = local[..., c] - u.sum(-1)
        diagonal(curve[..., :c, c + 1 : -1])[...] = self.mixed
        diagonal(curve[..., c + 1 : -1, :c])[...] = self.mixed
        curve[..., c, -1] = curve[..., -1, c] = 1.0
        curve[..., c + 1 : -1, -1] = curve[..., -1, c + 1 : -1] = -1.0

    def _limit(self, shared: Floats, slope: Floats, curve: Floats) -> None:
        """Add the derivatives of ``<omega, r - sum_j theta_j r^j> + nu_r (1 - sum r)``."""
        _, _, c, m = self.shape
        omega, r, ball = slice(m + 4, m + 4 + c), slice(m + 4 + c, m + 4 + 2 * c), slice(1, m + 1)
        slope[:, ball] -= (self.vertices @ shared[:, omega, None])[..., 0]
        slope[:, omega] = shared[:, r] - (shared[:, None, ball] @ self.vertices)[:, 0]
        slope[:, r] = shared[:, omega] - shared[:, -2, None]
        slope[:, -2] = 1.0 - shared[:, r].sum(1)
        curve[:, ball, omega] = -self.vertices
        curve[:, omega, r] = np.eye(c)
        curve[:, r, -2] = -1.0

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        _, _, c, m = self.shape
        local, shared, inner = at
        theta, d_theta = (g[:, None, 1 : m + 1, None, None] for g in (shared, step[1]))
        lam, d_lam = (g[:, 0, None, None, None, None] for g in (shared, step[1]))
        gap = self._above(local[..., :c])[..., None] - self.loss[:, None]
        d_gap = self._above(step[0][..., :c])[..., None]
        x = inner / theta
        root = self.root[:, None]
        return theta / gap * (root * (d_lam + lam) - x * (d_gap + gap)) + x * d_theta

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Compare the bound (here without care for rounding) with what is enough."""
        if self.limited or self.mixed:
            return np.zeros(len(shared), dtype=bool)
        c = self.shape[2]
        w = local[..., :c]
        gap = self._above(w)[..., None] - self.loss[:, None]
        total = (self.root[:, None] ** 2 / gap).sum(axis=(1, 3, 4)).max(axis=1)
        level = (w @ self.centre[:, :, None])[..., 0].max(axis=1)
        settled: Booleans = level - self.tau**2 / total < self.cutoff
        return settled

    def take(self, index: Integers) -> PieceSaddle:
        """Select pieces."""
        return replace(
            self,
            tau=self.tau[index],
            vertices=take(self.vertices, index),
            cap=self.cap[index],
            cutoff=self.cutoff[index],
        )


@dataclass(frozen=True)
class PieceSolution:
    """Multipliers w (N, S, C), r0 and omega (N, C), those of the limits, lam (N,), and the shares with them.

    ``rate`` (N, S, C) are the base rates of each group.
    """

    w: Floats
    centre: Floats
    omega: Floats
    level_mu: Floats
    share_mu: Floats
    lam: Floats
    group_share: Floats
    label_share: Floats
    rate: Floats


def level_of(w: Floats, centre: Floats, mixed: float) -> Floats:
    """Return what the multipliers of each group come to, without care for rounding."""
    level: Floats = (1.0 - mixed) * (w @ centre[..., None])[..., 0]
    return level + mixed * w.max(axis=-1) if mixed else level


def solve_pieces(problem: PieceSaddle, *, accuracy: float = 1e-10) -> PieceSolution:
    """Solve a batch of pieces."""
    n, _, c, m = problem.shape
    terms = [problem.groups.term(c)]
    if problem.limited:
        terms.append(problem.labels.term(slice(m + 4 + c, m + 4 + 2 * c)))
    point, mu = solve_limited(problem, tuple(terms), accuracy=accuracy)
    w, lam, theta = point.local[..., :c], point.shared[:, 0], point.shared[:, 1 : m + 1]
    # Multipliers at the very ceilings, where the ball is slack, would be below them after rounding.
    w = w + NUDGE * c * (1.0 + np.abs(w).max(axis=(1, 2), keepdims=True))
    level_mu = problem.groups.useful(mu[0], level_of(w, problem.centre, problem.mixed))
    omega, share_mu = np.zeros((n, c)), no_multipliers(n, problem.labels)
    if problem.limited:
        omega = point.shared[:, m + 4 : m + 4 + c] / lam[:, None] ** 2
        share_mu = problem.labels.useful(mu[1] / lam[:, None] ** 2, omega)
    k, share = point.local[..., c], (theta[:, None] @ problem.vertices)[:, 0]
    rate = np.repeat(share[:, None], k.shape[1], axis=1)
    if problem.mixed:
        rate = (1.0 - problem.mixed) * rate + problem.mixed * point.local[..., c + 1 : -1] / k[..., None]
    return PieceSolution(w, problem.centre, omega, level_mu, share_mu, lam, k, share, rate)
