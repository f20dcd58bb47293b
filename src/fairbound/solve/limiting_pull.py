"""Pieces of group shares that stick out of the limits on group shares: multipliers that take the limits into account.

For values ``u_j`` at the vertices k^j of a piece, and any omega,

    max over k in the piece and in K of the interpolated value  <=  max_j [ u_j - <omega, k^j> ] + sigma_K(omega),

with equality for the best omega (docs/theory.md, "Limits on shares"): a small linear program, solved here for many
pieces at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows
from fairbound.solve.shares import MarginalSet

#: Limit on the entries of omega, relative to the spread of the values: pieces outside of K have no best one.
PULL = 1e6


@dataclass(frozen=True)
class _LinearProgram:
    """``max over theta, k in K  min over omega`` of ``sum_j theta_j u_j + <omega, k - sum_j theta_j k^j>``.

    ``vertices`` is (N, m, S) and ``value`` (N, m). Local variables: omega_s, k_s. Global: theta_1 .. theta_m, nu_theta,
    floor_k.
    """

    vertices: Floats
    value: Floats
    groups: MarginalSet

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """|omega| <= PULL, k in K, theta >= 0."""
        m = self.value.shape[1]
        wide = m + 2
        block = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        border = np.zeros((4, wide))
        border[2, -1], border[3, -1] = -1.0, 1.0
        offset = np.array([-PULL, -PULL, 0.0, -self.groups.width])
        sign = np.array([1.0, 1.0, -1.0, -1.0])
        near = LocalRows(block[None, None], border[None, None], offset[None, None], sign)
        rest = np.vstack([np.eye(wide)[:m], np.eye(wide)[-1:]])
        return near, GlobalRows(rest[None], np.zeros((1, m + 1)), -np.ones(m + 1))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares."""
        n, m, s = self.vertices.shape
        local, shared = np.zeros((n, s, 2)), np.full((n, m + 2), 1.0 / m)
        local[..., 1] = 1.0 / s
        shared[:, -2], shared[:, -1] = 0.0, 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        return local, shared

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; everything is bilinear."""
        n, m, s = self.vertices.shape
        omega, theta = local[..., 0], shared[:, :m]
        g_local, g_glob = np.empty_like(local), np.zeros_like(shared)
        g_local[..., 0] = local[..., 1] - (theta[:, None] @ self.vertices)[:, 0]
        g_local[..., 1] = omega
        g_glob[:, :m] = self.value - (self.vertices @ omega[..., None])[..., 0] - shared[:, m, None]
        g_glob[:, m] = 1.0 - theta.sum(axis=1)
        block = np.broadcast_to(np.array([[0.0, 1.0], [1.0, 0.0]]), (n, s, 2, 2))
        cross = np.zeros((n, s, 2, m + 2))
        cross[..., 0, :m] = -self.vertices.swapaxes(1, 2)
        corner = np.zeros((n, m + 2, m + 2))
        corner[:, :m, m] = corner[:, m, :m] = -1.0
        return Derivatives(g_local, g_glob, block, cross, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _LinearProgram:
        """Select problems."""
        return _LinearProgram(self.vertices[index], self.value[index], self.groups)


def limiting_pull(groups: MarginalSet, vertices: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return an omega (N, S) that makes the bound low, for values (N, m) at vertices (N, m, S); zero if none does.

    With it go the multipliers of linear limits.
    """
    middle = value.mean(axis=1, keepdims=True)
    scale = np.maximum(np.abs(value - middle).max(axis=1, keepdims=True), 1e-12)
    program = _LinearProgram(vertices, (value - middle) / scale, groups)
    found, (mu,) = solve_limited(program, (groups.term(1),), accuracy=1e-12)
    omega = found.local[..., 0] * scale
    mu = groups.useful(mu * scale, omega)
    with np.errstate(all="ignore"):
        pulled = (value - (vertices @ omega[..., None])[..., 0]).max(axis=1) + groups.support(omega, mu)
        better = (pulled < value.max(axis=1))[:, None]
    return np.where(better, omega, 0.0), np.where(better, mu, 0.0)
