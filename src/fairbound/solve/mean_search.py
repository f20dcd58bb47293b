"""Means over some cells, given them, under a divergence other than Hellinger's.

Two ways lead to a bound t of the mean over the cells A, a group's or one of its cells, and a leaf goes either
(docs/theory.md, "Means under other divergences").

*By losses.* ``E_Q[(l - t) 1_A] <= 0`` for every Q in question: a bound on an expected loss, at which t is one more
variable. It needs a Q that cannot leave A without mass; where A can be emptied, zero is attained whatever t is.

*Relaxed.* As base rates are equal the mean of a group is at most ``E_Q[c_Y]``, with ``c_y`` the largest loss that Q may
put into the group's cell of label y: a bound on an expected loss again, over all groups. It is exact under sensitive
shifting, where a cell has one mean, and wherever the group can be emptied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.problem.divergences import TOTAL_VARIATION
from fairbound.solve.conditioning import Given
from fairbound.solve.cone_pieces import ConeMultipliers, ConePieces
from fairbound.solve.divergence_search import SHIFTS, DivergenceSearch
from fairbound.solve.nearest_product import nearest_product
from fairbound.solve.problem import Problem
from fairbound.solve.tree import Forest, Pieces
from fairbound.solve.witness import Witness
from fairbound.solve.worst_within_cells import Ground

#: The mean is raised by so much, in units of the largest ceiling, until it is proved: a small group needs more.
RAISES = np.concatenate([[0.0], np.geomspace(1e-14, 1e-2, 49)])

#: Means are taken over something: where a share would vanish, about this much of it is kept.
KEPT_SHARE = 1e-9


@dataclass(frozen=True)
class MeanSearch(DivergenceSearch):
    """The search for a mean: losses outside of the cells ``given`` are zero; ``relaxed`` is that other problem."""

    given: Given
    relaxed: Problem

    @cached_property
    def _programs(self) -> ConePieces:
        return ConePieces(self.problem, self.divergence, self.given)

    @cached_property
    def _other(self) -> DivergenceSearch:
        """The search of the relaxed problem: what it knows of single pieces is used."""
        return DivergenceSearch(self.relaxed, self.divergence, self.nearest, self.tol, self.budget)

    @cached_property
    def _emptied(self) -> tuple[Floats, Floats]:
        """Shares of the nearest Q whose mass in the given cells is at their largest losses only."""
        problem = self.problem
        ground = Ground.of(problem, self.divergence)
        at_top = np.where(ground.loss == ground.top[..., None], ground.probability, 0.0).sum(axis=2)
        at_top = np.maximum(at_top, KEPT_SHARE * problem.mass)  # of a table with empty rows there are no shares
        near = nearest_product(
            self.divergence, np.where(self.given.cells, at_top, problem.mass), problem.groups, problem.labels
        )
        shares = (near.group_mass, near.label_mass)
        k, r = ((1.0 - KEPT_SHARE) * share + KEPT_SHARE / len(share) for share in shares)
        return k, r

    def _first_witness(self, rho: float) -> Witness:
        near, emptied = super()._first_witness(rho), self._attaining.witness(rho, *self._emptied)
        return emptied if emptied.loss > near.loss else near

    def _start(self, forest: Forest, rho: float) -> None:
        """Begin with the largest losses there are: no mean exceeds them."""
        self._other._start(forest, rho)
        forest.pieces.multipliers["relaxed"][:] = 1.0
        np.minimum(forest.pieces.bound, self.relaxed.ceiling.max(), out=forest.pieces.bound)

    def _words(self, leaves: Pieces) -> list[str]:
        return ["both" if one else "none" for one in (leaves.multipliers["relaxed"][:, 0] > 0).tolist()]

    def _solve(self, forest: Forest, left: Integers, rho: float, goal: float) -> None:
        """Find the bound of new pieces, either way; what is proved of a piece is proved of its halves."""
        pieces = forest.pieces
        cutoff = goal + 0.8 * self.tol
        relaxing = bool(np.ptp(self.relaxed.ceiling) > self.tol)
        for index in left[pieces.bound[left] > cutoff]:
            vertices = self._shares(pieces.corners[index])
            best, proved = self._program(rho, vertices, cutoff)
            pieces.guess[index] = best.label_share
            ways = [(proved, best, False)]
            if relaxing and proved[0] > cutoff:
                best, proved = self._other._program(rho, vertices, cutoff)
                ways.append((proved, best, True))
            for (bound, w, lam), found, relaxed in ways:
                if bound < pieces.bound[index]:
                    pieces.bound[index], pieces.multipliers["relaxed"][index] = bound, relaxed
                    (
                        pieces.multipliers["w"][index],
                        pieces.multipliers["centre"][index],
                        pieces.multipliers["omega"][index],
                    ) = w, found.centre, found.omega
                    pieces.multipliers["lam"][index] = lam

    def _mended(self, rho: float, vertices: Floats, best: ConeMultipliers) -> tuple[float, Floats, float]:
        """Return the least mean that multipliers prove, once they and it are raised enough."""
        if not (
            np.isfinite(best.w).all() and np.isfinite([best.lam, best.mean]).all() and np.isfinite(best.omega).all()
        ):
            return np.inf, best.w, best.lam
        scale = self.problem.scale
        lam = max(best.lam, 1e-12 * scale)
        times, taken = self.given.times(vertices), self.given.taken(vertices)
        shifts = SHIFTS * max(scale, lam, float(np.abs(best.w).max()))
        if self.divergence is TOTAL_VARIATION:
            tilt = (vertices - best.centre) @ best.w.T
            eta = best.w - tilt[..., None] + best.mean * taken
            shifts = max(0.0, float((times * self.problem.ceiling - lam - eta).max())) + shifts[:4]
        elif lam > 1e-4 * scale:
            shifts = shifts[:1]
        shift, mean = (part.reshape(-1) for part in np.meshgrid(shifts, best.mean + RAISES * scale, indexing="ij"))
        count = len(shift)
        w = best.w + shift[:, None, None]
        many = (np.repeat(part[None], count, axis=0) for part in (best.centre, best.omega))
        multipliers = (w, *many, np.full(count, lam))
        counted = np.broadcast_to(times, (count, *times.shape)), mean[:, None, None, None] * taken
        proved = self._bounds(rho, np.repeat(vertices[None], count, axis=0), multipliers, counted)
        mean = np.where(proved <= 0.0, mean, np.inf)
        winner = int(mean.argmin())
        return float(mean[winner]), w[winner], lam
