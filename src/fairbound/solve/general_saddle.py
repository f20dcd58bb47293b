"""General shifting with a common ceiling: one convex program for any number of groups and labels.

With ``D = M - loss`` and multipliers ``phi >= 0`` (one per cell) and ``lam`` (of the ball),

    cert = M + min over phi, lam  max over k in K, r in R   of
           sum_s k_s sum_y phi_sy - 2 lam tau + lam^2 sum_i p_i E_i[ r_y / (r_y D + phi_i) ],

which is convex in (phi, lam) and concave in (k, r): docs/theory.md, section 3. Each atom's term is written as
``max over x of 2 lam sqrt(p) x - x^2 (D + phi / r)``: x^2 is the mass that the worst Q gives to the atom, and keeping
x as a variable of its own makes Newton's method far more robust than substituting it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet, usable


@dataclass(frozen=True)
class GeneralSaddle:
    """A batch of these programs that differ in ``tau`` only; losses in units of the ceiling.

    ``root`` is the square root of the class probabilities and ``deficit`` is D, both of shape (1, S, C, J).
    Local variables: phi_s1 .. phi_sC, k_s. Global: lam, r_1 .. r_C, nu_k, nu_r, floor_k, floor_r.
    """

    root: Floats
    deficit: Floats
    tau: Floats
    groups: MarginalSet
    labels: MarginalSet

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return (problems, groups, labels, global variables)."""
        _, s, c, _ = self.root.shape
        return len(self.tau), s, c, c + 5

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Phi >= 0, k in K; lam >= 0, r in R."""
        _, _, c, size = self.shape
        local = np.eye(c + 1)
        border = np.zeros((c + 1, size))
        border[c, c + 3] = -1.0  # k_s >= floor_k
        offset = np.zeros(c + 1)
        sign = np.ones(c + 1)
        sign[c] = -1.0
        if self.groups.skew is not None:  # k_s <= floor_k + g
            local = np.vstack([local, -local[c]])
            border = np.vstack([border, -border[c]])
            offset, sign = np.r_[offset, -self.groups.width], np.r_[sign, -1.0]
        near = LocalRows(local[None, None], border[None, None], offset[None, None], sign)

        rest = np.eye(size)[[0, c + 3, c + 4, *range(1, c + 1)]]
        labels = rest[3:]
        labels[:, c + 4] = -1.0  # r_y >= floor_r
        offset, sign = np.zeros(len(rest)), -np.ones(len(rest))
        sign[0] = 1.0
        if self.labels.skew is not None:
            rest = np.vstack([rest, -labels])
            offset, sign = np.r_[offset, np.full(c, -self.labels.width)], np.r_[sign, -np.ones(c)]
        return near, GlobalRows(rest[None], offset[None], sign)

    def start(self) -> tuple[Floats, Floats]:
        """Shares not far from P's, multipliers of the size of the ceiling."""
        n, s, c, size = self.shape
        weight = self.root * self.root
        k, floor_k = self.groups.start_near(weight.sum(axis=(0, 2, 3)))
        r, floor_r = self.labels.start_near(weight.sum(axis=(0, 1, 3)))
        local = np.empty((n, s, c + 1))
        local[..., :c], local[..., c] = r, k
        shared = np.zeros((n, size))
        shared[:, 0] = (self.tau + 0.01) / (weight / (self.deficit + 1.0)).sum()
        shared[:, 1 : c + 1], shared[:, c + 3], shared[:, c + 4] = r, floor_k, floor_r
        return local, shared

    def _split(self, local: Floats, shared: Floats) -> tuple[Floats, Floats, Floats]:
        c = self.shape[2]
        return local[..., :c], shared[:, 0, None, None, None], shared[:, None, 1 : c + 1]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam sqrt(p) / (D + phi / r)."""
        phi, lam, r = self._split(local, shared)
        return lam * self.root / (self.deficit + (phi / r)[..., None]) + 1e-12

    @cached_property
    def _constant(self) -> Derivatives:
        """The second derivatives of the bilinear terms, and room for the others.

        Shares add up to one at the start, so they do after every step: the derivatives by nu_k and nu_r stay zero.
        """
        n, s, c, size = self.shape
        local_local = np.zeros((n, s, c + 1, c + 1))
        local_local[..., :c, c] = local_local[..., c, :c] = 1.0
        local_glob = np.zeros((n, s, c + 1, size))
        local_glob[..., c, c + 1] = -1.0
        corner = np.zeros((n, size, size))
        corner[:, 1 : c + 1, c + 2] = corner[:, c + 2, 1 : c + 1] = -1.0
        return Derivatives(np.zeros((n, s, c + 1)), np.zeros((n, size)), local_local, local_glob, corner)

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; the sums over atoms are all of the work. The arrays are written anew by the next call."""
        n, s, c, _ = self.shape
        phi, _, r = self._split(local, shared)
        per = np.empty((n, s, c))
        per[...] = 1.0 / r
        ratio = phi * per
        inverse = 1.0 / (self.deficit + ratio[..., None])
        pull = self.root * inverse
        overlap = 2.0 * (self.root * pull).sum((1, 2, 3))
        terms = np.empty((4, *inner.shape))
        np.multiply(pull, inner, out=terms[0])
        np.multiply(inner, inner, out=terms[1])
        np.multiply(terms[1], inverse, out=terms[2])
        np.multiply(terms[2], self.deficit, out=terms[3])
        sums = terms.dot(np.ones(terms.shape[-1]))
        slope, square, curve, curvature_remainder = sums
        twice = 2.0 * per
        slope *= twice
        square *= per
        twice *= per
        curve *= twice
        curvature_remainder *= twice
        of_slope, of_square, _, of_bent = (sums * ratio).sum(2)  # of each label

        found = self._constant
        lam = shared[:, :1]
        # To first order in the distance from the best x, the mass x^2 over r is lam slope - square.
        found.local[..., :c] = local[..., c:] + square - lam[..., None] * slope
        found.local[..., c] = phi.dot(np.ones(c)) - shared[:, c + 1, None]
        found.shared[:, 0] = shared[:, 0] * overlap - 2.0 * self.tau
        found.shared[:, 1 : c + 1] = lam * of_slope - of_square - shared[:, c + 2, None]
        diagonal(found.local_local[..., :c, :c])[...] = curve
        found.local_glob[..., :c, 0] = -slope
        diagonal(found.local_glob[..., :c, 1 : c + 1])[...] = per * square - curve * ratio
        corner = found.glob_glob
        corner[:, 0, 0] = overlap
        corner[:, 0, 1 : c + 1] = corner[:, 1 : c + 1, 0] = of_slope
        diagonal(corner[:, 1 : c + 1, 1 : c + 1])[...] = -of_bent
        return found

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, x = at
        phi, lam, r = self._split(local, shared)
        d_phi, d_lam, d_r = self._split(*step)
        ratio = phi / r
        d_ratio = (d_phi - ratio * d_r) / r
        return (self.root * (d_lam + lam) - x * d_ratio[..., None]) / (self.deficit + ratio[..., None]) - x

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> GeneralSaddle:
        """Select problems."""
        return replace(self, tau=self.tau[index])


@dataclass(frozen=True)
class GeneralSolution:
    """Multipliers (phi of shape (N, S, C), r, lam, those of the limits) and the shares k; unit ceiling.

    ``state`` is where the solver stopped.
    """

    phi: Floats
    lam: Floats
    group_share: Floats
    label_share: Floats
    level_mu: Floats
    share_mu: Floats
    state: Floats


def solve_general(problem: GeneralSaddle, accuracy: float, state: Floats | None = None) -> GeneralSolution:
    """Solve a batch, or go on from where it was left."""
    c = problem.shape[2]
    terms = problem.groups.term(c), problem.labels.term(slice(1, c + 1))
    point, (level_mu, share_mu) = solve_limited(problem, terms, accuracy=accuracy, state=state)
    phi, lam = point.local[..., :c], point.shared[:, 0]
    mus = problem.groups.useful(level_mu, phi.sum(axis=2)), usable(share_mu / lam[:, None] ** 2)
    return GeneralSolution(phi, lam, point.local[..., c], point.shared[:, 1 : c + 1], *mus, point.state)
