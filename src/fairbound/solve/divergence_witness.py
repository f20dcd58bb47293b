"""The attained value for a divergence other than Hellinger's: an explicit worst-case distribution, checked.

Like ``witness``: shares and multipliers only suggest. Q's cell masses are products of shares (or, without
equal base rates, anything), the worst distribution inside the cells is computed for them, and what is reported was
measured with rounding against it (docs/theory.md, "What is attained").
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import UNIT, lowered, margin
from fairbound.problem.divergences import Divergence
from fairbound.solve.nearest import NearestFair
from fairbound.solve.nearest_product import best_groups, product_divergence
from fairbound.solve.problem import Problem
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground, keep_inside, measure, worst_inside

#: Shares smaller than this become none where Q may have none: in rows and columns with a cell without data.
SMALLEST = 1e-6

#: Shares that have to be moved into the ball end inside it by this part of what there is: rounding needs room.
RESERVE = 1e-9

#: Distances that differ by this are alike to within rounding.
CLOSE = 1e-15

#: A loss in a small group counts this many times one in a large group at most; steeper tilts hardly differ.
HEAVIEST = 1e4

#: How often the way back into the ball is halved.
HALVINGS = 40


class Attaining:
    """Builds distributions in the balls around one problem; about ``kept`` of every share is kept."""

    def __init__(self, problem: Problem, divergence: Divergence, nearest: NearestFair, kept: float = 0.0) -> None:
        self.problem = problem
        self.divergence = divergence
        self.nearest = nearest
        self.kept = kept
        self.ground = Ground.of(problem, divergence)

    def witness(self, rho: float, k: Floats, r: Floats) -> Witness:
        """Return the worst Q that was found with about these shares; if need be they move towards the nearest ones."""
        k, r = self._shares(rho, k, r)
        mass = k[:, None] * r
        return self._checked(rho, (k, r), mass, self._inside(rho, mass))

    def label_share(self, rho: float, share: Floats) -> Floats:
        """Return label shares with which some Q lies in the ball: the given ones, or nearer to the nearest."""
        problem, near = self.problem, self.nearest.label_mass
        way = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 64)])[:, None]
        tried = problem.labels.inside((1.0 - way) * share + way * near)
        fits = self.possible(rho, tried)
        return tried[int(fits.argmax())] if fits.any() else near

    def possible(self, rho: float, shares: Floats) -> Booleans:
        """Tell for which label shares (N, C) some Q lies in the ball."""
        problem = self.problem
        k = problem.groups.inside(best_groups(self.divergence, problem.mass, shares, problem.groups))
        fits: Booleans = product_divergence(self.divergence, problem.mass, k, shares) <= rho
        return fits

    def nearest_witness(self) -> Witness:
        """Return the nearest Q with equal base rates: in every ball that has any, to within its own rounding."""
        k, r = self.nearest.group_mass, self.nearest.label_mass
        mass = k[:, None] * r
        return self._dressed((k, r), mass, *keep_inside(self.ground, mass))

    def free_witness(self, rho: float) -> Witness:
        """Return the worst Q without equal base rates."""
        ground = self.ground
        whole = ground.joined
        found = worst_inside(self.divergence, whole, np.ones((1, 1)), rho)
        plain = keep_inside(whole, np.ones((1, 1)))
        atoms, stray = self._mixed(rho, whole, (found.atoms, found.unseen), plain)
        at_top = ground.unseen & (ground.ceiling == whole.ceiling)
        # What lies outside P's support may lie in any cell with the largest ceiling: in proportion to P where it can.
        cell = np.where(at_top, ground.probability.sum(axis=2), 0.0)
        cell = cell if cell.any() else at_top.astype(np.float64)
        atoms = atoms.reshape(ground.probability.shape)
        unseen = cell / max(cell.sum(), 1e-300) * float(stray.sum())
        mass = atoms.sum(axis=2) + unseen
        shares = mass.sum(axis=1), mass.sum(axis=0)
        return self._dressed(shares, mass, atoms, unseen)

    def revalued(self, witness: Witness) -> Witness:
        """Return a distribution that was found for other losses on the same rows."""
        mass = witness.mass
        shares = witness.group_mass, witness.label_mass
        return self._dressed(shares, mass, mass[..., None] * witness.reweighting, mass * witness.unseen)

    def _shares(self, rho: float, k: Floats, r: Floats) -> tuple[Floats, Floats]:
        """Return shares whose product, with P inside the cells, lies in the ball: if need be nearer to the nearest."""
        problem, near = self.problem, self.nearest
        k, r = problem.groups.inside(np.maximum(k, 0.0)), problem.labels.inside(np.maximum(r, 0.0))
        k, r = ((1.0 - self.kept) * share + self.kept / len(share) for share in (k, r))
        empty = problem.mass == 0
        if empty.any() and not self.divergence.escapes:
            r = np.where(empty.any(axis=0) & (r < SMALLEST), 0.0, r)
            k = np.where((empty & (r > 0)).any(axis=1) & (k < SMALLEST), 0.0, k)
            if not (k.any() and r.any()):
                return near.group_mass, near.label_mass
            k, r = problem.groups.inside(k), problem.labels.inside(r)
        if self._fits(rho, k, r):
            return k, r
        rho = rho - RESERVE * max(0.0, rho - near.distance)
        goal = near.group_mass, near.label_mass
        best = problem.groups.inside(best_groups(self.divergence, problem.mass, r[None], problem.groups))[0]
        if self._fits(rho, best, r):  # with these label shares the divergence is convex in those of groups
            goal = best, r
        low, high = 0.0, 1.0
        mixed = goal
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            tried = (
                problem.groups.inside((1 - middle) * k + middle * goal[0]),
                problem.labels.inside((1 - middle) * r + middle * goal[1]),
            )
            if self._fits(rho, *tried):
                high, mixed = middle, tried
            else:
                low = middle
        return mixed

    def _fits(self, rho: float, k: Floats, r: Floats) -> bool:
        mass = k[:, None] * r
        return self._measured(self.ground, *keep_inside(self.ground, mass)) <= rho

    def _inside(self, rho: float, mass: Floats) -> tuple[Floats, Floats]:
        """Return the worst distribution with these cell masses, brought back into the ball if rounding left it."""
        plain = keep_inside(self.ground, mass)
        if self.ground.probability.shape[2] == 1 and not self.ground.unseen.any():
            return plain
        spare = self._measured(self.ground, *plain) - float(measure(self.divergence, self.ground, *plain))
        found = worst_inside(self.divergence, self._weighed(mass), mass, rho - 2.0 * spare)
        return self._mixed(rho, self.ground, (found.atoms, found.unseen), plain)

    def _weighed(self, mass: Floats) -> Ground:
        """Return the losses as they count: the means of two groups divide by different masses."""
        counted = self.problem.counted_in(mass)
        weight = counted / np.where(mass > 0, mass, 1.0)
        ground = self.ground
        some = (weight > 0) & ((ground.loss != 0).any(axis=2) | (ground.ceiling != 0))
        least = weight[some].min(initial=np.inf)
        weight = np.minimum(weight / least, HEAVIEST)
        return replace(ground, loss=ground.loss * weight[..., None], ceiling=ground.ceiling * weight)

    def _mixed(
        self, rho: float, ground: Ground, found: tuple[Floats, Floats], plain: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Mix with the distribution that keeps P inside the cells until it is in the ball: divergences are convex."""
        start, end = self._measured(ground, *plain), self._measured(ground, *found)
        rho = max(rho, start + CLOSE)  # at the very radius of the nearest distribution nothing is left to mix in
        extra = 1e-15
        while end > rho and extra < 1.0 and start < rho:
            weight = min(1.0, (end - rho) / max(end - start, 1e-300) + extra)
            found = (1 - weight) * found[0] + weight * plain[0], (1 - weight) * found[1] + weight * plain[1]
            end, extra = self._measured(ground, *found), 8.0 * extra
        return found if end <= rho else plain

    def _measured(self, ground: Ground, atoms: Floats, unseen: Floats) -> float:
        """Return the divergence, rounded up: masses and class probabilities are off by a few roundings each."""
        value = float(measure(self.divergence, ground, atoms, unseen))
        some = ground.probability > 0
        ratio = atoms / np.where(some, ground.probability, 1.0)
        swing = np.where(some, ground.probability * self.divergence.swing(ratio), 0.0).sum() + unseen.sum()
        return value * (1.0 + 4.0 * (ground.probability.size + 64) * UNIT) + 256 * UNIT * float(swing)

    def _checked(
        self, rho: float, shares: tuple[Floats, Floats], mass: Floats, inside: tuple[Floats, Floats]
    ) -> Witness:
        """Return the distribution if it is in the ball, or no farther than the nearest one, else that one."""
        found, near = self._dressed(shares, mass, *inside), self.nearest_witness()
        return found if found.distance <= max(rho, near.distance + CLOSE) else near

    def _dressed(self, shares: tuple[Floats, Floats], mass: Floats, atoms: Floats, unseen: Floats) -> Witness:
        """Measure a distribution anew from its shares and conditional distributions."""
        problem, ground = self.problem, self.ground
        plain = keep_inside(ground, np.ones_like(mass))
        some = (mass > 0) & (atoms.sum(axis=2) + unseen > 0)  # a mass below all roundings may have got none
        safe = np.where(some, mass, 1.0)
        conditional = np.where(some[..., None], atoms / safe[..., None], plain[0])
        outside = np.where(some, unseen / safe, plain[1])
        total = conditional.sum(axis=2) + outside
        conditional, outside = conditional / total[..., None], outside / total
        atoms, unseen = mass[..., None] * conditional, mass * outside
        counted = problem.counted_in(mass)
        inner, outer = counted[..., None] * conditional * ground.loss, counted * outside * problem.ceiling
        size = np.abs(inner).sum() + np.abs(outer).sum()
        overlap = np.sqrt(ground.probability * atoms).sum()
        roundings = ground.probability.size + 64
        return Witness(
            shares[0],
            shares[1],
            mass,
            conditional,
            outside,
            float(inner.sum() + outer.sum() - margin(size, roundings)),
            float(lowered(overlap, roundings)),
            self._measured(ground, atoms, unseen),
        )
