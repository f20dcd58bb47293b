"""The attained value: an explicit worst-case distribution, repaired and checked.

Multipliers only suggest a distribution. What is reported as attained is the loss of a Q that was built in floating
point, made to have equal base rates by construction (cell masses are products of shares), and shown to be inside
the ball with the rounding against it (docs/theory.md, section 7). Only at the very radius of the nearest distribution
with equal base rates, where nothing is left to mix in, that one is taken as inside to within its own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arrays import Floats
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
    """

    group_mass: Floats
    label_mass: Floats
    mass: Floats
    reweighting: Floats
    unseen: Floats
    loss: float
    affinity: float

    @property
    def distance(self) -> float:
        """Q's Hellinger distance from the data."""
        return float(np.sqrt(max(0.0, 1.0 - self.affinity)))

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
        )


def _measure(problem: Problem, k: Floats, r: Floats, conditional: Floats, unseen: Floats) -> Witness:
    """Evaluate a Q with rounding against it."""
    mass = k[:, None] * r
    atoms = problem.lower
    overlap = np.sqrt(atoms.probability * (mass[..., None] * conditional)).sum()
    loss = (mass * ((conditional * atoms.loss).sum(axis=2) + unseen * problem.ceiling)).sum()
    roundings = atoms.probability.size + 48
    return Witness(k, r, mass, conditional, unseen, float(lowered(loss, roundings)), float(lowered(overlap, roundings)))


def _suggestions(problem: Problem, mass: Floats, eta: Floats, lam: float) -> list[tuple[Floats, Floats]]:
    """Return the conditional distributions that the multipliers suggest, with their unseen parts.

    Density ratio ``(lam / (eta - loss))^2``; what is missing to the cell's mass sits at the ceiling, on P's own atom
    there if it has one (same loss, and closer to P), or is spread over the atoms.
    """
    atoms = problem.lower
    present = atoms.probability > 0
    gap = np.where(present, np.maximum(eta[..., None] - atoms.loss, 1e-300), 1.0)
    raw = np.where(present, atoms.probability * (lam / gap) ** 2, 0.0)
    total = raw.sum(axis=2)
    cell = atoms.probability.sum(axis=2)
    if not problem.unseen:  # all of a cell's mass stays on its atoms
        raw = np.where((total > 0)[..., None], raw, atoms.probability)
        total = np.where(total > 0, total, cell)
    spread = _completed(raw / np.where(total > 0, total, 1.0)[..., None], np.where(total > 0, 0.0, 1.0))
    if not problem.unseen:
        return [spread]
    filled = np.minimum(total, mass) / np.where(mass > 0, mass, 1.0)
    conditional = raw / np.where(total > 0, total, 1.0)[..., None] * filled[..., None]
    unseen = np.maximum(0.0, 1.0 - conditional.sum(axis=2))
    at_top = present & (atoms.loss == problem.ceiling[..., None])
    filled_up = conditional + np.where(at_top, unseen[..., None] / np.maximum(at_top.sum(axis=2), 1)[..., None], 0.0)
    return [_completed(filled_up, np.where(at_top.any(axis=2), 0.0, unseen)), spread, _completed(conditional, unseen)]


def _completed(conditional: Floats, unseen: Floats) -> tuple[Floats, Floats]:
    """Make each cell's conditional distribution add up to one."""
    total = conditional.sum(axis=2) + unseen
    unseen = np.where(total > 0, unseen, 1.0)
    total = np.where(total > 0, total, 1.0)
    return conditional / total[..., None], unseen / total


def build_witness(
    problem: Problem, rho: float, shares: tuple[Floats, Floats], eta: Floats, lam: float, nearest: NearestFair
) -> Witness:
    """Build Q from shares and multipliers, and mix it with safer distributions until it is inside the ball.

    First with the Q of the same cell masses that keeps P inside the cells, then with the nearest distribution of
    equal base rates. Affinity is concave, so a linear interpolation of it is a safe rule for how much to mix.
    """
    need = float(most_affinity(rho))
    k, r = problem.groups.inside(shares[0]), problem.labels.inside(shares[1])
    cell = problem.mass
    plain = np.where(cell[..., None] > 0, problem.lower.probability / np.where(cell > 0, cell, 1.0)[..., None], 0.0)
    plain, plain_unseen = _completed(plain, np.where(cell > 0, 0.0, 1.0))

    safest = _measure(problem, nearest.group_mass, nearest.label_mass, plain, plain_unseen)
    kept = _measure(problem, k, r, plain, plain_unseen)
    if kept.affinity < need:
        blend = _blend(kept.affinity, safest.affinity, need)
        k = problem.groups.inside((1 - blend) * k + blend * nearest.group_mass)
        r = problem.labels.inside((1 - blend) * r + blend * nearest.label_mass)
        kept = _measure(problem, k, r, plain, plain_unseen)
    found = [kept, safest]
    for conditional, unseen in _suggestions(problem, k[:, None] * r, eta, lam):
        witness = _measure(problem, k, r, conditional, unseen)
        if witness.affinity < need:
            blend = _blend(witness.affinity, kept.affinity, need)
            mixed = _completed((1 - blend) * conditional + blend * plain, (1 - blend) * unseen + blend * plain_unseen)
            witness = _measure(problem, k, r, *mixed)
        found.append(witness)
    inside = [w for w in found if w.affinity >= need]
    return max(inside or [safest], key=lambda w: w.loss)


def _blend(start: float, end: float, need: float) -> float:
    """Return the weight of the safer end that lifts a concave affinity from ``start`` to ``need``."""
    if end <= need or end <= start:
        return 1.0
    return min(1.0, (need - start) / (end - start) * (1 + 1e-9) + 1e-15)
