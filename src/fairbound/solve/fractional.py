"""Form F on all shares at once: one convex program, whatever is asked of base rates (docs/theory.md, "One leaf").

Multipliers of a cell that follow the group shares k as ``eta_sy(k) = zeta_sy / k_s + top_sy``, with ``zeta >= 0`` and
tops above all values, make every term of the bound concave in k. What is left of it is

    min over zeta, top, lam   max over k in K, r in R   of
        <zeta, r> + <top, k r> - 2 lam tau + lam^2 sum_i p_i E_i[ 1 / (zeta_i / k_s + top_i - v) ],

convex in the multipliers and concave in the shares. Tops are given where one number serves all labels of a group, as
under general shifting. Elsewhere they *move*: ``top_sy = base_s + offset_y`` are multipliers too (offsets for equal
base rates only). With given shares k and the ceilings as tops the same program has the best multipliers at k.

Each atom's term is written as ``max over x of 2 lam sqrt(p) x - x^2 (zeta / k + top - v)``: x^2 is the mass that the
worst Q gives to the atom, and keeping x as a variable of its own makes Newton's method far more robust.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.problem import Problem
from fairbound.solve.rows import Rows
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet, usable

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How far above the ceilings tops start, and by how much they are raised in the end: rounding takes some of it.
START, NUDGE = 0.1, 4e-15


@dataclass
class _Places:
    """Where variables stand among the local or the global ones; those that a program does not have, nowhere."""

    base: int = -1
    k: int = -1
    rate: slice = field(default_factory=lambda: slice(0))
    nu: int = -1
    common: slice = field(default_factory=lambda: slice(0))
    common_nu: int = -1
    common_floor: int = -1
    offset: slice = field(default_factory=lambda: slice(0))
    low: slice = field(default_factory=lambda: slice(0))
    k_nu: int = -1
    k_floor: int = -1
    tie: int = -1
    theta: slice = field(default_factory=lambda: slice(0))
    theta_nu: int = -1
    locals: int = 0
    globals: int = 0


@dataclass(frozen=True)
class FractionalSaddle:
    """A batch of these programs that differ in ``tau``, ``cap`` and ``share``; values in units of the largest ceiling.

    ``root`` is the square root of the class probabilities, ``value`` that of the atoms, both of shape (1, S, C, J).
    ``top`` (S, C) are the given tops or, where they move, what these are at least. ``share`` holds given group shares
    (N, S), all positive, or is None if they are to be found: in K, and where ``vertices`` (N, m, S) are given within
    their convex hull. ``cap`` limits lam, which keeps the program bounded where
    no rates reach the ball.

    Local variables: zeta_s1 .. zeta_sC, base_s if tops move, k_s if it is to be found, and unless base rates are equal
    r_s1 .. r_sC, nu_s. Global: lam; if equal r_1 .. r_C, nu_r, floor_r and, if tops move, offset_2 .. offset_C; else
    the lower ends b_1 .. b_C of the rates (not if they are free); and with k, nu_k, floor_k. With vertices come last
    their weights theta_1 .. theta_m, nu_theta, and of the local ones tie_s, which goes with ``k = sum_j theta_j k^j``.
    """

    root: Floats
    value: Floats
    top: Floats
    tau: Floats
    rates: BaseRates
    groups: MarginalSet
    moving: bool
    share: Floats | None = None
    cap: Floats | None = None
    vertices: Floats | None = None

    @cached_property
    def equal(self) -> bool:
        """Whether all groups have the same base rates."""
        return self.rates.tolerance == 0.0

    @cached_property
    def places(self) -> _Places:
        """Where the variables stand."""
        c, found = self.root.shape[2], _Places()
        end = c
        if self.moving:
            found.base, end = end, end + 1
        if self.share is None:
            found.k, end = end, end + 1
        if not self.equal:
            found.rate, found.nu, end = slice(end, end + c), end + c, end + c + 1
        if self.vertices is not None:
            found.tie, end = end, end + 1
        found.locals, end = end, 1
        if self.equal:
            found.common, found.common_nu, found.common_floor, end = slice(1, c + 1), c + 1, c + 2, c + 3
            if self.moving:
                found.offset, end = slice(end, end + c - 1), end + c - 1
        else:
            found.low, end = slice(1, 1 + self.rates.common), 1 + self.rates.common
        if self.share is None:
            found.k_nu, found.k_floor, end = end, end + 1, end + 2
        if self.vertices is not None:
            found.theta, found.theta_nu = slice(end, end + self.vertices.shape[1]), end + self.vertices.shape[1]
            end = found.theta_nu + 1
        found.globals = end
        return found

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Return (problems, groups, labels, local variables, global variables)."""
        _, s, c, _ = self.root.shape
        at = self.places
        return len(self.tau), s, c, at.locals, at.globals

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """Zeta >= 0, tops above what they are at least, rates and shares inside; 0 <= lam <= cap."""
        n, s, c, size, wide = self.shape
        at, own, far = self.places, np.eye(size), np.eye(wide)
        block, border, sign = [own[:c]], [np.zeros((c, wide))], [1.0] * c
        offset = [np.zeros((s, c))]
        if self.moving:
            block.append(np.tile(own[at.base], (c, 1)))
            border.append(np.zeros((c, wide)))
            if self.equal:
                border[-1][1:] = far[at.offset]
            offset.append(self.top)
            sign += [1.0] * c
        if self.share is None:
            up = self.groups.skew is not None  # floor_k <= k_s <= floor_k + g
            k, floor = own[at.k], -far[at.k_floor]
            block.append(np.array([k, -k][: 1 + up]))
            border.append(np.array([floor, -floor][: 1 + up]))
            offset.append(np.tile([0.0, -self.groups.width][: 1 + up], (s, 1)))
            sign += [-1.0] * (1 + up)
        if not self.equal:
            parts = self.rates.rows(size, at.rate.start, wide, 1)
            block.append(parts[0])
            border.append(parts[1])
            offset.append(np.tile(parts[2], (s, 1)))
            sign += [-1.0] * len(parts[2])
        near = LocalRows(
            np.concatenate(block)[None, None],
            np.concatenate(border)[None, None],
            np.concatenate(offset, axis=1)[None],
            np.array(sign),
        )
        rest, least, sign = [far[:1]], [np.zeros((n, 1))], [1.0]
        if self.cap is not None:
            rest.append(-far[:1])
            least.append(-self.cap[:, None])
            sign.append(1.0)
        shares = [far[at.k_floor][None]] if self.share is None else []
        shares.append(far[at.theta])
        if self.equal:
            labels = far[at.common] - far[at.common_floor]
            shares += [far[at.common_floor][None], labels]
        elif self.rates.common:
            shares.append(far[at.low])
        count = sum(len(part) for part in shares)
        rest += shares
        least.append(np.zeros((n, count)))
        sign += [-1.0] * count
        if self.equal and self.rates.labels.skew is not None:
            rest.append(-labels)
            least.append(np.full((n, c), -self.rates.labels.width))
            sign += [-1.0] * c
        return near, GlobalRows(np.concatenate(rest)[None], np.concatenate(least, axis=1), np.array(sign))

    def start(self) -> tuple[Floats, Floats]:
        """Shares not far from P's, multipliers of the size of the ceiling."""
        n, s, c, size, wide = self.shape
        at, weight = self.places, self.root * self.root
        local, shared = np.zeros((n, s, size)), np.zeros((n, wide))
        if self.share is None:
            k, shared[:, at.k_floor] = self.groups.start_near(weight.sum(axis=(0, 2, 3)))
            local[..., at.k] = k
            local[..., :c] = k[:, None]
        else:
            local[..., :c] = self.share[..., None]
        if self.equal:
            shared[:, at.common], shared[:, at.common_floor] = self.rates.labels.start_near(weight.sum(axis=(0, 1, 3)))
        else:
            local[..., at.rate], shared[:, at.low] = self.rates.start
        if self.vertices is not None:
            shared[:, at.theta] = 1.0 / self.vertices.shape[1]
            if self.groups.skew is None:  # else the middle of the piece need not be in K
                k = self.vertices.mean(axis=1)
                local[..., at.k], local[..., :c] = k, k[..., None]
                shared[:, at.k_floor] = 0.5 * k.min(axis=1)
        top = self.top
        if self.moving:
            highest = self.top.max(axis=1) + START
            local[..., at.base] = highest
            top = np.repeat(highest[:, None], c, axis=1)
        with np.errstate(divide="ignore"):
            affinity = np.where(weight > 0, weight / (top[..., None] - self.value + 1.0), 0.0).sum()
        shared[:, 0] = (self.tau + 0.01) / affinity
        if self.cap is not None:
            shared[:, 0] = np.minimum(shared[:, 0], 0.5 * self.cap)
        return local, shared

    def _parts(self, local: Floats, shared: Floats) -> tuple[Floats, Floats, Floats]:
        """Return zeta (N, S, C), k (N, S, 1), and the tops, or what is moved of them."""
        at, zeta = self.places, local[..., : self.root.shape[2]]
        k = self.share[..., None] if self.share is not None else local[..., at.k, None]
        if not self.moving:
            return zeta, k, self.top
        top = np.repeat(local[..., at.base, None], zeta.shape[2], axis=2)
        if self.equal:
            top[..., 1:] += shared[:, None, at.offset]
        return zeta, k, top

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """Return x = lam sqrt(p) / (zeta / k + top - v)."""
        zeta, k, top = self._parts(local, shared)
        return shared[:, 0, None, None, None] * self.root / ((zeta / k + top)[..., None] - self.value) + 1e-12

    @cached_property
    def _constant(self) -> Derivatives:
        """The second derivatives of the bilinear terms, and room for the others.

        Shares add up to one at the start, so they do after every step: the derivatives by their nus stay zero.
        """
        n, s, c, size, wide = self.shape
        at = self.places
        local, cross, corner = np.zeros((n, s, size, size)), np.zeros((n, s, size, wide)), np.zeros((n, wide, wide))
        if self.share is None:
            cross[..., at.k, at.k_nu] = -1.0
        if self.vertices is not None:
            local[..., at.k, at.tie] = local[..., at.tie, at.k] = -1.0
            cross[..., at.tie, at.theta] = self.vertices.swapaxes(1, 2)
            corner[:, at.theta, at.theta_nu] = corner[:, at.theta_nu, at.theta] = -1.0
        if self.equal:
            diagonal(cross[..., :c, at.common])[...] = 1.0
            corner[:, at.common, at.common_nu] = corner[:, at.common_nu, at.common] = -1.0
            if self.moving:
                start = at.common.start + 1
                rate = slice(start, start + c - 1)
                diagonal(corner[:, at.offset, rate])[...] = 1.0
                diagonal(corner[:, rate, at.offset])[...] = 1.0
        else:
            diagonal(local[..., :c, at.rate])[...] = 1.0
            diagonal(local[..., at.rate, :c])[...] = 1.0
            local[..., at.rate, at.nu] = local[..., at.nu, at.rate] = -1.0
        return Derivatives(np.zeros((n, s, size)), np.zeros((n, wide)), local, cross, corner)

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate; the sums over atoms are all of the work. The arrays are written anew by the next call."""
        c, at = self.root.shape[2], self.places
        zeta, k, top = self._parts(local, shared)
        per = 1.0 / k
        ratio = zeta * per
        depth = top[..., None] - self.value
        inverse = 1.0 / (depth + ratio[..., None])
        pull = self.root * inverse
        overlap = 2.0 * (self.root * pull).sum((1, 2, 3))
        terms = np.empty((4, *inner.shape))
        np.multiply(pull, inner, out=terms[0])
        np.multiply(inner, inner, out=terms[1])
        np.multiply(terms[1], inverse, out=terms[2])
        np.multiply(terms[2], depth, out=terms[3])
        slope, square, curve, bent = terms.dot(np.ones(terms.shape[-1]))
        lam = shared[:, :1, None]
        mass = 2.0 * lam * slope - square  # x^2 to first order in the distance from the best x
        curve = 2.0 * curve
        found = self._constant
        g_local, g_shared, near, cross, corner = (getattr(found, one.name) for one in fields(found))
        rate = shared[:, None, at.common] if self.equal else local[..., at.rate]
        g_local[..., :c] = rate - mass * per
        g_shared[:, 0] = shared[:, 0] * overlap - 2.0 * self.tau
        diagonal(near[..., :c, :c])[...] = curve * per * per
        cross[..., :c, 0] = -2.0 * slope * per
        corner[:, 0, 0] = overlap
        if self.share is None:
            self._by_share(found, (local, shared), (mass, square, curve, slope, bent), (ratio, per))
        if self.moving:
            self._by_tops(found, (local, shared), (mass, curve, slope), (ratio, per))
        if self.vertices is not None:
            tie, theta = local[..., at.tie], shared[:, at.theta]
            g_local[..., at.k] -= tie
            g_local[..., at.tie] = (theta[:, None] @ self.vertices)[:, 0] - local[..., at.k]
            g_shared[:, at.theta] = (self.vertices @ tie[..., None])[..., 0] - shared[:, at.theta_nu, None]
            g_shared[:, at.theta_nu] = 1.0 - theta.sum(axis=1)
        return self._by_rates(found, local, shared)

    def _by_share(
        self, found: Derivatives, at: tuple[Floats, Floats], sums: tuple[Floats, ...], cell: tuple[Floats, Floats]
    ) -> None:
        """Differentiate by the shares k, which the atoms' terms depend on through zeta / k."""
        place, c, (mass, square, curve, slope, bent), (ratio, per) = self.places, self.root.shape[2], sums, cell
        k, pulled = place.k, ratio * per
        found.local[..., k] = (mass * pulled).sum(-1) - at[1][:, place.k_nu, None]
        found.local[..., k] += at[0][..., place.base] if self.moving else self.top[:, 0]
        across = (square - curve * ratio) * per * per
        found.local_local[..., :c, k] = found.local_local[..., k, :c] = across
        found.local_local[..., k, k] = -2.0 * (pulled * bent * per).sum(-1)
        found.local_glob[..., k, 0] = 2.0 * (slope * pulled).sum(-1)

    def _by_tops(
        self, found: Derivatives, at: tuple[Floats, Floats], sums: tuple[Floats, ...], cell: tuple[Floats, Floats]
    ) -> None:
        """Differentiate by what moves the tops."""
        place, c, (mass, curve, slope), (ratio, per) = self.places, self.root.shape[2], sums, cell
        (local, shared), base, k = at, place.base, place.k
        along = curve * per
        near, cross, corner = found.local_local, found.local_glob, found.glob_glob
        found.local[..., base] = local[..., k] - mass.sum(-1)
        near[..., base, base] = curve.sum(-1)
        near[..., :c, base] = near[..., base, :c] = along
        near[..., base, k] = near[..., k, base] = 1.0 - (along * ratio).sum(-1)
        cross[..., base, 0] = -2.0 * slope.sum(-1)
        if not self.equal:
            return
        off = place.offset
        found.shared[:, off] = shared[:, place.common][:, 1:] - mass[..., 1:].sum(1)
        diagonal(corner[:, off, off])[...] = curve[..., 1:].sum(1)
        corner[:, 0, off] = corner[:, off, 0] = -2.0 * slope[..., 1:].sum(1)
        diagonal(cross[..., 1:c, off])[...] = along[..., 1:]
        cross[..., base, off] = curve[..., 1:]
        cross[..., k, off] = -(along * ratio)[..., 1:]

    def _by_rates(self, found: Derivatives, local: Floats, shared: Floats) -> Derivatives:
        """Differentiate by the base rates: what the level adds up to."""
        place, zeta = self.places, local[..., : self.root.shape[2]]
        given = 0.0 if self.share is None else self.share[..., None] * self.top
        if not self.equal:
            found.local[..., place.rate] = zeta + given - local[..., place.nu, None]
            return found
        level = (zeta + given).sum(1)
        if self.moving:
            level[:, 1:] += shared[:, place.offset]
        found.shared[:, place.common] = level - shared[:, place.common_nu, None]
        return found

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """Newton step of x."""
        local, shared, x = at
        zeta, k, top = self._parts(local, shared)
        d_zeta, d_k, d_top = self._parts(*step)
        ratio = zeta / k
        moved = d_zeta if self.share is not None else d_zeta - ratio * d_k
        d_depth = moved / k
        if self.moving:
            d_depth = d_depth + d_top
        d_lam, lam = step[1][:, 0, None, None, None], shared[:, 0, None, None, None]
        return (self.root * (d_lam + lam) - x * d_depth[..., None]) / ((ratio + top)[..., None] - self.value) - x

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Every multiplier counts: the bound is to be tight."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> FractionalSaddle:
        """Select problems."""
        parts = (None if part is None else part[index] for part in (self.share, self.cap, self.vertices))
        share, cap, vertices = parts
        return replace(self, tau=self.tau[index], share=share, cap=cap, vertices=vertices)


@dataclass(frozen=True)
class FractionalSolution(Rows):
    """Multipliers zeta (N, S, C), lam (N,), of the tops base (N, S) and offset (N, C), and the shares with them.

    ``rate`` is (N, S, C) or, if they are equal, (N, C); ``nu`` (N, S) belongs to the rates of each group, ``group_mu``
    and ``label_mu`` to linear limits. ``state`` is where the solver stopped.
    """

    zeta: Floats
    base: Floats
    offset: Floats
    lam: Floats
    nu: Floats
    share: Floats
    rate: Floats
    group_mu: Floats
    label_mu: Floats
    state: Floats

    @property
    def eta(self) -> Floats:
        """The multipliers of the cells at the shares found."""
        return self.zeta / self.share[..., None] + self.base[..., None] + self.offset[:, None]


def solve_fractional(
    problem: Problem,
    rates: BaseRates,
    tau: Floats,
    accuracy: float,
    *,
    moving: bool = False,
    share: Floats | None = None,
    cap: Floats | None = None,
    vertices: Floats | None = None,
    state: Floats | None = None,
) -> FractionalSolution:
    """Solve programs for many radii, or go on from where they were left; multipliers are in the user's units."""
    scale, upper, ceiling = problem.scale, problem.upper, problem.ceiling
    top = ceiling if moving or share is not None else np.repeat(ceiling.max(axis=1)[:, None], ceiling.shape[1], axis=1)
    root, value = np.sqrt(upper.probability)[None], upper.loss[None] / scale
    chunk = max(1, BATCH_ATOMS // root.size)
    parts = []
    for start in range(0, len(tau), chunk):
        here = slice(start, start + chunk)
        program = FractionalSaddle(
            root,
            value,
            top / scale,
            tau[here],
            rates,
            problem.groups,
            moving,
            None if share is None else share[here],
            None if cap is None else cap[here],
            None if vertices is None else vertices[here],
        )
        parts.append(_solved(program, top, scale, accuracy, None if state is None else state[here]))
    return parts[0].joined(*parts[1:]) if len(parts) > 1 else parts[0]


def _solved(
    program: FractionalSaddle, top: Floats, scale: float, accuracy: float, state: Floats | None
) -> FractionalSolution:
    """Solve a batch."""
    n, s, c, _, _ = program.shape
    at = program.places
    terms = []
    if program.share is None:
        terms.append(program.groups.term(at.k))
    if program.equal:
        terms.append(program.rates.labels.term(at.common))
    point, mu = solve_limited(program, tuple(terms), accuracy=accuracy, state=state)
    local, shared = point.local, point.shared
    zeta, lam = local[..., :c], shared[:, 0]
    offset = np.zeros((n, c))
    if program.moving:
        base = local[..., at.base]
        if program.equal:
            offset[:, 1:] = shared[:, at.offset]
        base = base + NUDGE * (1.0 + np.abs(base) + np.abs(offset).max(axis=1, keepdims=True))
    else:
        base = np.broadcast_to(top[:, 0] / scale, (n, s))
    group_mu = mu[0] if program.share is None else np.zeros((n, program.groups.multipliers))
    label_mu = mu[-1] if program.equal else np.zeros((n, program.rates.labels.multipliers))
    return FractionalSolution(
        zeta * scale,
        base * scale,
        offset * scale,
        lam * scale,
        (np.zeros((n, s)) if program.equal else local[..., at.nu]) * scale,
        local[..., at.k] if program.share is None else program.share,
        shared[:, at.common] if program.equal else local[..., at.rate],
        usable(group_mu) * scale,
        program.rates.labels.useful(label_mu, zeta.sum(axis=1) + offset) * scale if program.equal else label_mu,
        point.state,
    )
