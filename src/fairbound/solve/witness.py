"""The attained value: an explicit worst-case distribution, repaired and checked.

Multipliers only suggest a distribution. What is reported as attained is the loss of a Q that was built in floating
point, made to have equal base rates by construction (cell masses are products of shares), and shown to be inside
the ball with the rounding against it (docs/theory.md, section 7). Only at the very radius of the nearest distribution
with equal base rates, where nothing is left to mix in, that one is taken as inside to within its own rounding.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import UNIT, lowered, margin, most_affinity
from fairbound.data.native_frame import cell_names, native_frame
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.wording.notebook import html_paragraph
from fairbound.wording.overview import shares_html

#: Affinity beyond what is needed that mixing aims at, so that rounding does not undo it.
SPARE = 16 * UNIT

#: Means given a group are taken over something: where the ball lets a share vanish, this much of it is kept.
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Witness:
    """A worst-case distribution Q.

    Attributes
    ----------
    group_mass, label_mass
        Q's shares of the groups and of the labels.
    mass
        Q's cell masses, shape (S, C): the products of the shares, so that all groups have equal base rates, unless
        base rates were allowed to differ.
    reweighting
        For each cell and each loss of the population's lower atoms, Q's conditional probability of that loss,
        shape (S, C, J).
    unseen
        The share of each cell's mass that Q puts at the ceiling, outside the observed losses, shape (S, C).
    loss
        Q's expected loss, rounded down.
    affinity
        ``sum sqrt(dP dQ)``, rounded down; Q's Hellinger distance from P is at most ``sqrt(1 - affinity)``.
    divergence
        Q's distance from P if the question measures it otherwise than by Hellinger, rounded up; else None.
    groups, labels
        The names of groups and labels.
    """

    group_mass: Floats
    label_mass: Floats
    mass: Floats
    reweighting: Floats
    unseen: Floats
    loss: float
    affinity: float
    divergence: float | None = None
    groups: tuple[Hashable, ...] = ()
    labels: tuple[Hashable, ...] = ()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return its cells as a data frame of "pandas", "polars" or "pyarrow", or of the library that you work with."""
        return native_frame(cell_names(self.groups, self.labels) | {"mass": self.mass.ravel().tolist()}, backend)

    def __repr__(self) -> str:
        size = f"{self.mass.shape[0]} groups x {self.mass.shape[1]} labels"
        return f"Witness(attained={self.loss:.6f}, distance={self.distance:.6f}, {size})"

    def _repr_html_(self) -> str:
        """Show it in a notebook: what it attains, how far it is, and its shares."""
        said = f"A distribution that attains {self.loss:.6f} at distance {self.distance:.6f} from the data"
        return html_paragraph(said, strong=True) + shares_html(self)

    @property
    def distance(self) -> float:
        """Q's distance from the data as the question measures it, at most rho."""
        return float(np.sqrt(max(0.0, 1.0 - self.affinity))) if self.divergence is None else self.divergence

    @property
    def transposed(self) -> Witness:
        """Exchange groups and labels."""
        return Witness(
            self.label_mass,
            self.group_mass,
            self.mass.T,
            self.reweighting.swapaxes(0, 1),
            self.unseen.T,
            self.loss,
            self.affinity,
            self.divergence,
        )


@dataclass(frozen=True)
class Witnesses:
    """Distributions Q for many radii: the attributes of :class:`Witness`, with one more axis in front."""

    group_mass: Floats
    label_mass: Floats
    mass: Floats
    reweighting: Floats
    unseen: Floats
    loss: Floats
    affinity: Floats

    def __getitem__(self, index: int) -> Witness:
        """Return the distribution for one radius."""
        return Witness(
            self.group_mass[index],
            self.label_mass[index],
            self.mass[index],
            self.reweighting[index],
            self.unseen[index],
            float(self.loss[index]),
            float(self.affinity[index]),
        )

    def replaced(self, where: Booleans | Integers, other: Witnesses) -> Witnesses:
        """Return a copy with other distributions at some radii; ``other`` has those only, or one for all of them."""
        columns = []
        for field in fields(self):
            column = getattr(self, field.name).copy()
            column[where] = getattr(other, field.name)
            columns.append(column)
        return Witnesses(*columns)

    def take(self, index: Booleans | Integers) -> Witnesses:
        """Select radii."""
        return Witnesses(*(getattr(self, field.name)[index] for field in fields(self)))


def measure(
    problem: Problem, mass: Floats, conditional: Floats, unseen: Floats, counted: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return loss and affinity of Qs with rounding against them; shapes (..., S, C) and (..., S, C, J).

    The cells' mean losses count by their masses, or by what is given as ``counted``.
    """
    atoms = problem.lower
    weight = mass if counted is None else counted
    overlap = np.sqrt(atoms.probability * (mass[..., None] * conditional)).sum(axis=(-3, -2, -1))
    loss = (weight * ((conditional * atoms.loss).sum(axis=-1) + unseen * problem.ceiling)).sum(axis=(-2, -1))
    roundings = atoms.probability.size + 48
    if problem.parts is None:
        return lowered(loss, roundings), lowered(overlap, roundings)
    inside = (conditional * np.abs(atoms.loss)).sum(axis=-1)  # values of either sign
    size = (weight * (inside + unseen * np.abs(problem.ceiling))).sum(axis=(-2, -1))
    return loss - margin(size, roundings), lowered(overlap, roundings)


def _suggestions(
    problem: Problem, plain: tuple[Floats, Floats], mass: Floats, eta: Floats, lam: Floats
) -> tuple[Floats, Floats]:
    """Return conditional distributions to try, with their unseen parts: P's own, then what the multipliers suggest.

    That is the density ratio ``(lam / (eta - loss))^2``; what is missing to the cell's mass is spread over the atoms,
    or sits at the ceiling, on P's own atoms there if it has any (same loss, and closer to P).
    """
    atoms = problem.lower
    raw = atoms.probability * (lam[..., None] / np.maximum(eta[..., None] - atoms.loss, 1e-100)) ** 2
    total = raw.sum(axis=-1)
    if not problem.unseen:  # all of a cell's mass stays on its atoms
        raw = np.where((total > 0)[..., None], raw, atoms.probability)
        total = np.where(total > 0, total, problem.mass)
    some = total > 0
    conditional = np.empty((3 if problem.unseen else 2, *raw.shape))
    unseen = np.zeros(conditional.shape[:-1])
    conditional[0], unseen[0] = plain
    conditional[1], unseen[1] = raw / np.where(some, total, 1.0)[..., None], ~some
    if problem.unseen:
        filled = conditional[1] * (np.minimum(total, mass) / np.where(mass > 0, mass, 1.0))[..., None]
        rest = np.maximum(0.0, 1.0 - filled.sum(axis=-1))
        at_top = np.where(atoms.loss == problem.ceiling[..., None], atoms.probability, 0.0)
        there = at_top.sum(axis=-1)
        conditional[2] = filled + at_top / np.where(there > 0, there, 1.0)[..., None] * rest[..., None]
        unseen[2] = np.where(there > 0, 0.0, rest)
    return _completed(conditional, unseen)


def _completed(conditional: Floats, unseen: Floats) -> tuple[Floats, Floats]:
    """Make each cell's conditional distribution add up to one."""
    total = conditional.sum(axis=-1) + unseen
    return conditional / total[..., None], unseen / total


def unmoved(problem: Problem) -> tuple[Floats, Floats]:
    """Return the conditional distributions that keep P inside the cells; cells without P are unseen altogether."""
    cell = problem.mass
    some = cell > 0
    return _completed(problem.lower.probability / np.where(some, cell, 1.0)[..., None], np.where(some, 0.0, 1.0))


def fill_cells(
    problem: Problem,
    need: Floats,
    shares: tuple[Floats, Floats, Floats],
    plain: tuple[Floats, Floats],
    multipliers: tuple[Floats, Floats],
    counted: Floats | None = None,
) -> Witnesses:
    """Find good conditional distributions for given group, label and cell masses, inside the ball if that can be.

    ``plain`` are those of P; the multipliers are eta (N, S, C) and lam (N,) or, if it differs between cells, (N, S, C).
    ``counted`` says by how much the cells' means count; products of the shares do without.
    """
    k, r, mass = shares
    eta, lam = multipliers
    if counted is None:
        counted = mass if problem.parts is None else problem.counted(k, r)
    # Row 0 keeps P inside the cells; the others are what the multipliers suggest, mixed with row 0 as needed.
    if problem.unseen or problem.lower.places > 1:
        lam = lam if lam.ndim == eta.ndim else lam[:, None, None]
        conditional, unseen = _suggestions(problem, plain, mass, eta, lam)
    else:
        conditional, unseen = (np.broadcast_to(part, (1, len(need), *part.shape)) for part in plain)
    loss, affinity = measure(problem, mass, conditional, unseen, counted)
    blend = blend_weight(affinity, affinity[0], need)[..., None, None]
    if blend[1:].any():
        mixed = (1 - blend[..., None]) * conditional + blend[..., None] * plain[0]
        conditional, unseen = _completed(mixed, (1 - blend) * unseen + blend * plain[1])
        loss, affinity = measure(problem, mass, conditional, unseen, counted)
    best = np.where(affinity >= need, loss, -np.inf).argmax(axis=0), np.arange(len(need))
    return Witnesses(*shares, conditional[best], unseen[best], loss[best], affinity[best])


def build_witnesses(
    problem: Problem, rho: Floats, shares: tuple[Floats, Floats], eta: Floats, lam: Floats, nearest: NearestFair
) -> Witnesses:
    """Build a Q for each radius from shares and multipliers, and mix it with safer ones until it is inside the ball.

    First with the Q of the same cell masses that keeps P inside the cells, then with the nearest distribution of
    equal base rates. Affinity is concave, so a linear interpolation of it is a safe rule for how much to mix.
    Shapes: rho (N,), shares (N, S) and (N, C), eta (N, S, C), lam (N,) or, if it differs between cells, (N, S, C).
    """
    need = most_affinity(rho)
    least = 0.0 if problem.parts is None else LEAST_SHARE
    k, r = problem.groups.inside(np.maximum(shares[0], least)), problem.labels.inside(np.maximum(shares[1], least))
    plain = unmoved(problem)
    near_k, near_r = nearest.group_mass, nearest.label_mass
    if min(near_k.min(), near_r.min()) < least:
        near_k, near_r = (
            problem.groups.inside(np.maximum(near_k, least)),
            problem.labels.inside(np.maximum(near_r, least)),
        )
    safe = np.append(near_k, near_r)[None]
    both = np.concatenate([safe, np.concatenate([k, r], axis=1)])
    pair = both[:, : k.shape[1]], both[:, k.shape[1] :]
    mass = pair[0][:, :, None] * pair[1][:, None]
    loss, affinity = measure(problem, mass, *plain, None if problem.parts is None else problem.counted(*pair))
    near, safest, reach, mass = mass[0], loss[0], affinity[0], mass[1:]
    if (affinity[1:] < need).any():
        blend = blend_weight(affinity[1:], reach, need)[:, None]
        k = problem.groups.inside((1 - blend) * k + blend * near_k)
        r = problem.labels.inside((1 - blend) * r + blend * near_r)
        mass = k[:, :, None] * r[:, None]
    chosen = fill_cells(problem, need, (k, r, mass), plain, (eta, lam))
    worse = (chosen.affinity < need) | ((chosen.loss < safest) & (reach >= need))
    if worse.any():
        safer = Witnesses(near_k, near_r, near, *plain, safest, reach)  # for every radius
        chosen = chosen.replaced(worse, safer)
    return chosen


def blend_weight(start: Floats, end: Floats, need: Floats) -> Floats:
    """Return the weight of the safer end that lifts a concave affinity from ``start`` to ``need``."""
    weight = (need - start + SPARE) / np.maximum(end - start, 1e-300) * (1 + 1e-9) + 1e-15
    return np.where(start >= need, 0.0, np.minimum(1.0, weight))
