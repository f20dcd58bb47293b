"""The nearest distribution with equal base rates across groups."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import UNIT, lowered
from fairbound.data.native_frame import cell_names, native_frame
from fairbound.data.population import Population
from fairbound.errors import InputError, argument
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows, diagonal
from fairbound.solve.shares import MarginalSet
from fairbound.wording.notebook import html_paragraph
from fairbound.wording.overview import shares_html

#: An affinity this close to one cannot be told from one in floating point: the distance is reported as zero.
INDISTINGUISHABLE = 64 * UNIT


@dataclass(frozen=True)
class NearestFair:
    """The nearest distribution with equal base rates, and how far it is.

    Attributes
    ----------
    distance
        Its Hellinger distance from the data, rounded up.
    group_mass, label_mass
        Its shares of the groups and of the labels; its cell masses are their products.
    groups, labels
        Their names.
    own_rates
        The base rates of each group, shape (S, C), where they may differ; else None.
    """

    distance: float
    group_mass: Floats
    label_mass: Floats
    groups: tuple[Hashable, ...] = ()
    labels: tuple[Hashable, ...] = ()
    own_rates: Floats | None = None

    @property
    def mass(self) -> Floats:
        """Its cell masses."""
        return np.outer(self.group_mass, self.label_mass)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return its cells as a data frame of "pandas", "polars" or "pyarrow", or of the library that you work with."""
        return native_frame(cell_names(self.groups, self.labels) | {"mass": self.mass.ravel().tolist()}, backend)

    def __repr__(self) -> str:
        return (
            f"NearestFair(distance={self.distance:.6f}, {len(self.group_mass)} groups x {len(self.label_mass)} labels)"
        )

    def _repr_html_(self) -> str:
        """Show it in a notebook: how far it is, and its shares."""
        said = f"The nearest distribution with equal base rates is at Hellinger distance {self.distance:.6f}"
        return html_paragraph(said, strong=True) + shares_html(self)

    @property
    def rate(self) -> Floats:
        """The base rates of each group, shape (S, C)."""
        if self.own_rates is not None:
            return self.own_rates
        return np.broadcast_to(self.label_mass, (len(self.group_mass), len(self.label_mass)))

    @property
    def transposed(self) -> NearestFair:
        """Exchange groups and labels; base rates are equal."""
        return NearestFair(self.distance, self.label_mass, self.group_mass)


@dataclass(frozen=True)
class _AffinitySaddle:
    """Maximise ``sum sqrt(p_sy k_s r_sy)``, jointly concave, over group shares and base rates.

    Local variables: k_s and, unless base rates are equal, r_s1 .. r_sC, nu_s. Global: nu_k, floor_k and, for equal base
    rates r_1 .. r_C, nu_r, floor_r, else the lower ends b_1 .. b_C of the rates.
    """

    root: Floats
    groups: MarginalSet
    rates: BaseRates

    @cached_property
    def equal(self) -> bool:
        """Whether all groups have the same base rates."""
        return self.rates.tolerance == 0.0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return the numbers of groups, labels, local and global variables."""
        s, c = self.root.shape
        return s, c, 1 if self.equal else c + 2, 2 + (c + 2 if self.equal else self.rates.common)

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """K in K, rates inside."""
        _, c, size, wide = self.shape
        own, near = np.eye(wide), np.eye(size)
        block, border, offset = [near[0]], [-own[1]], [0.0]
        if self.groups.skew is not None:
            block, border, offset = [*block, -near[0]], [*border, own[1]], [0.0, -self.groups.width]
        rest, least = [own[1], *own[2:]], [0.0] * (wide - 1)
        if self.equal:
            shares = own[2 : c + 2] - own[c + 3]
            rest, least = [own[1], own[c + 3], *shares], [0.0] * (c + 2)
            if self.rates.labels.skew is not None:
                rest, least = [*rest, *-shares], least + [-self.rates.labels.width] * c
        else:
            parts = self.rates.rows(size, 1, wide, 2)
            block, border, offset = [*block, *parts[0]], [*border, *parts[1]], [*offset, *parts[2]]
        local = LocalRows(np.array([[block]]), np.array([[border]]), np.array([[offset]]), -np.ones(len(offset)))
        return local, GlobalRows(np.array([rest]), np.array([least]), -np.ones(len(least)))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares and rates."""
        s, c, size, wide = self.shape
        local, shared = np.full((1, s, size), 1.0 / s), np.zeros((1, wide))
        shared[0, 1] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        if self.equal:
            shared[0, 2 : c + 2] = 1.0 / c
            shared[0, c + 3] = 1.0 / c - 0.5 * min(1.0 / c, self.rates.labels.width)
        else:
            local[..., 1 : c + 1], shared[0, 2:] = self.rates.start
            local[..., c + 1] = 0.0
        return local, shared

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate the affinity."""
        s, c, size, wide = self.shape
        k = local[0, :, :1]
        rate = shared[:, 2 : c + 2] if self.equal else local[0, :, 1 : c + 1]
        value = self.root * np.sqrt(k * rate)
        half, cross = value / (2 * rate), value / (4 * k * rate)
        slope, border = np.zeros((1, s, size)), np.zeros((1, wide))
        near, far, corner = np.zeros((1, s, size, size)), np.zeros((1, s, size, wide)), np.zeros((1, wide, wide))
        slope[0, :, 0] = value.sum(1) / (2 * k[:, 0]) - shared[0, 0]
        border[0, 0] = 1.0 - k.sum()
        near[0, :, 0, 0] = -value.sum(1) / (4 * k[:, 0] ** 2)
        far[0, :, 0, 0] = -1.0
        if self.equal:
            at, nu = slice(2, c + 2), c + 2
            border[0, at] = half.sum(0) - shared[0, nu]
            border[0, nu] = 1.0 - shared[0, at].sum()
            far[0, :, 0, at] = cross
            diagonal(corner[:, at, at])[...] = -(half / (2 * rate)).sum(0)
            corner[0, at, nu] = corner[0, nu, at] = -1.0
        else:
            at, nu = slice(1, c + 1), c + 1
            slope[0, :, at] = half - local[0, :, nu, None]
            slope[0, :, nu] = 1.0 - rate.sum(1)
            diagonal(near[..., at, at])[...] = -half / (2 * rate)
            near[0, :, at, nu] = near[0, :, nu, at] = -1.0
            near[0, :, at, 0] = near[0, :, 0, at] = cross
        return Derivatives(slope, border, near, far, corner)

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _AffinitySaddle:
        """Return the problem itself."""
        return replace(self)


def nearest_in(
    mass: Floats, groups: MarginalSet, rates: BaseRates, least: tuple[float, float] = (0.0, 0.0)
) -> NearestFair:
    """Return the distribution in question that is nearest to cell masses (docs/theory.md, "How close is close enough").

    Equal base rates without limits are closed: the largest singular value of ``sqrt(mass)`` is the affinity, and the
    squares of its singular vectors are the shares. If rates may differ those of the data may do, and if they are free
    only the group shares may have to give way. Means are taken over something: then no share of a group, and no base
    rate of its own, falls below ``least``, about the nearest there is.
    """
    root, c = np.sqrt(mass), mass.shape[1]
    if rates.tolerance == 0.0:
        left, _, right = np.linalg.svd(root, full_matrices=False)
        k, r = left[:, 0] ** 2, right[0] ** 2
        if not (groups.respects_limits(k) and rates.labels.respects_limits(r)):
            terms = groups.term(0), rates.labels.term(slice(2, c + 2))
            point, _ = solve_limited(_AffinitySaddle(root, groups, rates), terms, accuracy=1e-15)
            k, r = point.local[0, :, 0], point.shared[0, 2 : c + 2]
        k, r = groups.inside(k), rates.labels.inside(r)
        affinity = float(lowered((root * np.sqrt(k)[:, None] * np.sqrt(r)).sum(), mass.size + 16))
        return NearestFair(_distance(affinity), k, r)
    share = mass.sum(axis=1)
    own = mass / np.where(share > 0, share, 1.0)[:, None]
    fallback = mass.sum(axis=0) / mass.sum()
    rate = np.where((share > 0)[:, None], own, fallback)  # a group without data takes the rates of all the data
    if not (groups.respects_limits(share) and rates.within(rate)):
        point, _ = solve_limited(_AffinitySaddle(root, groups, rates), (groups.term(0),), accuracy=1e-15)
        share = point.local[0, :, 0]
        rate = rate if rates.free else point.local[0, :, 1 : c + 1]
    share, rate = groups.inside(np.maximum(share, least[0])), rates.inside(np.maximum(rate, least[1]))
    affinity = float(lowered((root * np.sqrt(share[:, None] * rate)).sum(), mass.size + 16))
    return NearestFair(_distance(affinity), share, share @ rate, own_rates=rate)


def _distance(affinity: float) -> float:
    """Return a Hellinger distance, rounded up."""
    short = 1.0 - affinity
    return 0.0 if short < INDISTINGUISHABLE else float(np.sqrt(short) * (1 + 8 * UNIT))


def nearest_shares(mass: Floats, groups: MarginalSet, labels: MarginalSet) -> NearestFair:
    """Return the nearest distribution with equal base rates."""
    return nearest_in(mass, groups, BaseRates(groups.size, labels, 0.0))


def nearest_fair(population: object) -> NearestFair:
    """Return the distribution with equal base rates that is nearest to a population, in Hellinger distance.

    Below its distance nothing can be certified, because no such distribution is in the ball.

    Examples
    --------
    >>> from fairbound import Population, nearest_fair
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> nearest = nearest_fair(population)
    >>> round(nearest.distance, 6)
    0.08149
    """
    if not isinstance(population, Population):
        kind = type(population).__name__
        message = f"{argument('population')} must be a Population, not {kind}; see Population.from_predictions"
        raise InputError(message)
    shape = population.mass.shape
    found = nearest_shares(population.mass, MarginalSet(shape[0]), MarginalSet(shape[1]))
    return replace(found, groups=population.groups, labels=population.labels)
