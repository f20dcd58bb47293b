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
from fairbound.solve.limit_terms import solve_limited
from fairbound.solve.saddle import Derivatives, GlobalRows, LocalRows
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
    """

    distance: float
    group_mass: Floats
    label_mass: Floats
    groups: tuple[Hashable, ...] = ()
    labels: tuple[Hashable, ...] = ()

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


@dataclass(frozen=True)
class _AffinitySaddle:
    """Maximise ``sum sqrt(p_sy k_s r_y)`` (jointly concave) over limited shares.

    Local variable: k_s. Global: r_1 .. r_C, nu_k, nu_r, floor_k, floor_r.
    """

    root: Floats
    groups: MarginalSet
    labels: MarginalSet

    @cached_property
    def rows(self) -> tuple[LocalRows, GlobalRows]:
        """K in K, r in R."""
        c = self.labels.size
        own = np.eye(c + 4)
        block, border, offset = [[1.0]], [-own[c + 2]], [0.0]
        if self.groups.skew is not None:
            block, border, offset = [*block, [-1.0]], [*border, own[c + 2]], [0.0, -self.groups.width]
        near = LocalRows(np.array([[block]]), np.array([[border]]), np.array([[offset]]), -np.ones(len(offset)))
        shares = own[:c] - own[c + 3]
        rest, offset = [own[c + 2], own[c + 3], *shares], [0.0] * (c + 2)
        if self.labels.skew is not None:
            rest, offset = [*rest, *-shares], offset + [-self.labels.width] * c
        return near, GlobalRows(np.array([rest]), np.array([offset]), -np.ones(len(offset)))

    def start(self) -> tuple[Floats, Floats]:
        """Uniform shares."""
        s, c = self.root.shape
        shared = np.r_[np.full(c, 1.0 / c), 0.0, 0.0, 0.0, 0.0]
        shared[c + 2] = 1.0 / s - 0.5 * min(1.0 / s, self.groups.width)
        shared[c + 3] = 1.0 / c - 0.5 * min(1.0 / c, self.labels.width)
        return np.full((1, s, 1), 1.0 / s), shared[None]

    def inner(self, local: Floats, shared: Floats) -> Floats:
        """No inner variables: a constant."""
        return np.ones((len(shared), 1))

    def derivatives(self, local: Floats, shared: Floats, inner: Floats) -> Derivatives:
        """Differentiate the affinity."""
        s, c = self.root.shape
        k, r = local[0, :, 0], shared[0, :c]
        value = self.root * np.sqrt(k)[:, None] * np.sqrt(r)
        g_local = value.sum(1) / (2 * k) - shared[0, c]
        g_glob = np.r_[value.sum(0) / (2 * r) - shared[0, c + 1], 1 - k.sum(), 1 - r.sum(), 0.0, 0.0]
        local_glob = np.zeros((1, s, 1, c + 4))
        local_glob[0, :, 0, :c] = value / (4 * k[:, None] * r)
        local_glob[0, :, 0, c] = -1.0
        corner = np.diag(np.r_[-value.sum(0) / (4 * r * r), 0.0, 0.0, 0.0, 0.0])
        corner[:c, c + 1] = corner[c + 1, :c] = -1.0
        curvature_remainder = -value.sum(1) / (4 * k * k)
        return Derivatives(
            g_local[None, :, None], g_glob[None], curvature_remainder[None, :, None, None], local_glob, corner[None]
        )

    def inner_direction(self, at: tuple[Floats, Floats, Floats], step: tuple[Floats, Floats]) -> Floats:
        """No inner variables."""
        return np.zeros_like(at[2])

    def settled(self, local: Floats, shared: Floats) -> Booleans:
        """Go on to the end."""
        return np.zeros(len(shared), dtype=bool)

    def take(self, index: Integers) -> _AffinitySaddle:
        """Return the problem itself."""
        return replace(self)


def nearest_shares(mass: Floats, groups: MarginalSet, labels: MarginalSet) -> NearestFair:
    """Return the nearest equal-base-rate distribution to cell masses within limits (docs/theory.md, section 6).

    Without limits it is closed: the largest singular value of ``sqrt(mass)`` is the affinity, and the squares of
    its singular vectors are the shares.
    """
    root = np.sqrt(mass)
    left, _, right = np.linalg.svd(root, full_matrices=False)
    k, r = left[:, 0] ** 2, right[0] ** 2
    if not (groups.respects_limits(k) and labels.respects_limits(r)):
        terms = groups.term(0), labels.term(slice(0, labels.size))
        point, _ = solve_limited(_AffinitySaddle(root, groups, labels), terms, accuracy=1e-15)
        k, r = point.local[0, :, 0], point.shared[0, : labels.size]
    k, r = groups.inside(k), labels.inside(r)
    affinity = float(lowered((root * np.sqrt(k)[:, None] * np.sqrt(r)).sum(), mass.size + 16))
    short = 1.0 - affinity
    distance = 0.0 if short < INDISTINGUISHABLE else float(np.sqrt(short) * (1 + 8 * UNIT))
    return NearestFair(distance, k, r)


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
