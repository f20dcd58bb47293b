"""The attained value: an explicit worst-case distribution, repaired and checked.

Multipliers only suggest a distribution. What is reported as attained is the loss of a Q that was built in floating
point, made to have equal base rates by construction (cell masses are products of shares), and shown to be inside
the ball with the rounding against it (docs/theory.md, section 7). Only at the very radius of the nearest distribution
with equal base rates, where nothing is left to mix in, that one is taken as inside to within its own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from fairbound.arrays import Booleans, Floats, Integers
from fairbound.nearest import NearestFair
from fairbound.problem import Problem
from fairbound.rounding import lowered, most_affinity


@dataclass(frozen=True)
class Witness:
    """A worst-case distribution Q.

    Attributes
    ----------
    group_mass, label_mass
        Q's shares of the groups and of the labels.
    mass
        Q's cell masses, shape (S, C): the products of the shares, so that all groups have equal base rates.
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
    """

    group_mass: Floats
    label_mass: Floats
    mass: Floats
    reweighting: Floats
    unseen: Floats
    loss: float
    affinity: float
    divergence: float | None = None

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


def _measure(problem: Problem, mass: Floats, conditional: Floats, unseen: Floats) -> tuple[Floats, Floats]:
    """Return loss and affinity of Qs with rounding against them; shapes (..., S, C) and (..., S, C, J)."""
    atoms = problem.lower
    overlap = np.sqrt(atoms.probability * (mass[..., None] * conditional)).sum(axis=(-3, -2, -1))
    loss = (mass * ((conditional * atoms.loss).sum(axis=-1) + unseen * problem.ceiling)).sum(axis=(-2, -1))
    roundings = atoms.probability.size + 48
    return lowered(loss, roundings), lowered(overlap, roundings)


def _suggestions(problem: Problem, mass: Floats, eta: Floats, lam: Floats) -> tuple[Floats, Floats]:
    """Return conditional distributions that the multipliers suggest, with their unseen parts, one or two per radius.

    Density ratio ``(lam / (eta - loss))^2``; what is missing to the cell's mass is spread over the atoms, or sits at
    the ceiling, on P's own atom there if it has one (same loss, and closer to P).
    """
    atoms = problem.lower
    present = atoms.probability > 0
    gap = np.where(present, np.maximum(eta[..., None] - atoms.loss, 1e-300), 1.0)
    raw = np.where(present, atoms.probability * (lam[:, None, None, None] / gap) ** 2, 0.0)
    total = raw.sum(axis=-1)
    if not problem.unseen:  # all of a cell's mass stays on its atoms
        raw = np.where((total > 0)[..., None], raw, atoms.probability)
        total = np.where(total > 0, total, problem.mass)
    some = total > 0
    spread = raw / np.where(some, total, 1.0)[..., None]
    if not problem.unseen:
        return _completed(spread[None], np.where(some, 0.0, 1.0)[None])
    filled = spread * (np.minimum(total, mass) / np.where(mass > 0, mass, 1.0))[..., None]
    unseen = np.maximum(0.0, 1.0 - filled.sum(axis=-1))
    at_top = present & (atoms.loss == problem.ceiling[..., None])
    count = at_top.sum(axis=-1)
    filled = filled + at_top * (unseen / np.maximum(count, 1))[..., None]
    return _completed(np.stack([spread, filled]), np.stack([np.where(some, 0.0, 1.0), np.where(count, 0.0, unseen)]))


def _completed(conditional: Floats, unseen: Floats) -> tuple[Floats, Floats]:
    """Make each cell's conditional distribution add up to one."""
    total = conditional.sum(axis=-1) + unseen
    unseen = np.where(total > 0, unseen, 1.0)
    total = np.where(total > 0, total, 1.0)
    return conditional / total[..., None], unseen / total


def build_witnesses(
    problem: Problem, rho: Floats, shares: tuple[Floats, Floats], eta: Floats, lam: Floats, nearest: NearestFair
) -> Witnesses:
    """Build a Q for each radius from shares and multipliers, and mix it with safer ones until it is inside the ball.

    First with the Q of the same cell masses that keeps P inside the cells, then with the nearest distribution of
    equal base rates. Affinity is concave, so a linear interpolation of it is a safe rule for how much to mix.
    Shapes: rho and lam (N,), shares (N, S) and (N, C), eta (N, S, C).
    """
    need = most_affinity(rho)
    k, r = problem.groups.inside(shares[0]), problem.labels.inside(shares[1])
    cell = problem.mass
    some = cell > 0
    plain = _completed(problem.lower.probability / np.where(some, cell, 1.0)[..., None], np.where(some, 0.0, 1.0))
    near = nearest.group_mass[:, None] * nearest.label_mass
    safest, reach = _measure(problem, near, *plain)

    mass = k[:, :, None] * r[:, None]
    loss, affinity = _measure(problem, mass, *plain)
    if (affinity < need).any():
        blend = _blend(affinity, reach, need)[:, None]
        k = problem.groups.inside((1 - blend) * k + blend * nearest.group_mass)
        r = problem.labels.inside((1 - blend) * r + blend * nearest.label_mass)
        mass = k[:, :, None] * r[:, None]
        loss, affinity = _measure(problem, mass, *plain)

    # Row 0 keeps P inside the cells; the others are what the multipliers suggest, mixed with row 0 as needed.
    conditional, unseen = (np.broadcast_to(part, (1, len(rho), *part.shape)) for part in plain)
    loss, affinity = loss[None], affinity[None]
    if problem.unseen or problem.lower.places > 1:
        tried = _suggestions(problem, mass, eta, lam)
        found = _measure(problem, mass, *tried)
        blend = _blend(found[1], affinity, need)[..., None, None]
        if blend.any():
            mixed = (1 - blend[..., None]) * tried[0] + blend[..., None] * plain[0]
            tried = _completed(mixed, (1 - blend) * tried[1] + blend * plain[1])
            found = _measure(problem, mass, *tried)
        conditional, unseen = np.concatenate([conditional, tried[0]]), np.concatenate([unseen, tried[1]])
        loss, affinity = np.concatenate([loss, found[0]]), np.concatenate([affinity, found[1]])
    best = np.where(affinity >= need, loss, -np.inf).argmax(axis=0), np.arange(len(rho))
    chosen = Witnesses(k, r, mass, conditional[best], unseen[best], loss[best], affinity[best])
    worse = (chosen.affinity < need) | ((chosen.loss < safest) & (reach >= need))
    if worse.any():
        safe = Witnesses(
            nearest.group_mass, nearest.label_mass, near, *plain, safest, reach
        )  # the same at every radius
        chosen = chosen.replaced(worse, safe)
    return chosen


def _blend(start: Floats, end: Floats, need: Floats) -> Floats:
    """Return the weight of the safer end that lifts a concave affinity from ``start`` to ``need``."""
    possible = (end > need) & (end > start)
    weight = (need - start) / np.where(possible, end - start, 1.0) * (1 + 1e-9) + 1e-15
    return np.where(start >= need, 0.0, np.where(possible, np.minimum(1.0, weight), 1.0))
