"""How two groups differ in their means, under a divergence other than Hellinger's.

The search is over pieces of the group shares: groups and labels have been exchanged. A leaf proves

    E_Q[(v - t) k_b 1_a - v k_a 1_b] <= 0

for every Q in question whose group shares lie in its piece. Where a group can be emptied that is zero whatever t is. As
base rates are equal, the group's mean may then be replaced by the largest that its label shares allow: one of the two
means is *relaxed*, and what is left is the mean of one group; or both are (docs/theory.md, "Means under other
divergences").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.arithmetic.rounding import margin
from fairbound.data.atoms import Atoms
from fairbound.solve.conditioning import Given
from fairbound.solve.cone_pieces import ConeMultipliers
from fairbound.solve.divergence_witness import Attaining
from fairbound.solve.mean_search import KEPT_SHARE, MeanSearch
from fairbound.solve.tree import Forest, Pieces

#: A group with less than this share counts as emptied where a worst case is looked for.
EMPTIED = 1e-6

#: Multipliers that some way has found, with the bound, w and lam that they prove.
_Proved = tuple[ConeMultipliers, tuple[float, Floats, float]]


@dataclass(frozen=True)
class DifferenceSearch(MeanSearch):
    """The search for a difference; ``largest`` (S, C) is the most that the mean of a cell may add to it."""

    largest: Floats

    @cached_property
    def _attaining(self) -> Attaining:
        """No group may be empty, or a mean of nothing would be subtracted."""
        return Attaining(self.problem, self.divergence, self.nearest, KEPT_SHARE)

    @cached_property
    def _added_alone(self) -> MeanSearch:
        """The search with the subtracted mean relaxed: for the mean of the group that is added."""
        return self._alone(self.given.added, self.given.places[1])

    @cached_property
    def _subtracted_alone(self) -> MeanSearch:
        """The search with the added mean relaxed: for the mean of the group that is subtracted."""
        return self._alone(self.given.cells & ~self.given.added, self.given.places[0])

    def _alone(self, cells: Booleans, other: int) -> MeanSearch:
        """Return the search for the mean over some cells, with the most that the other group's cells add."""
        problem, more = self.problem, self.largest[:, other, None]

        def raised(value: Floats, extra: Floats, where: Booleans) -> Floats:
            total = value + extra
            return np.where(where, total + margin(np.abs(value) + np.abs(extra), 2), 0.0)

        atoms = problem.upper
        upper = Atoms(atoms.probability, raised(atoms.loss, more[..., None], cells[..., None]))
        alone = replace(problem, upper=upper, ceiling=raised(problem.ceiling, more, cells))
        return MeanSearch(alone, self.divergence, self.nearest, self.tol, self.budget, Given(cells), self.relaxed)

    def _words(self, leaves: Pieces) -> list[str]:
        words = {(True, True): "both", (True, False): "plus", (False, True): "minus", (False, False): "none"}
        return [words[plus, minus] for plus, minus in (leaves.multipliers["relaxed"] > 0).tolist()]

    def _solve(self, forest: Forest, left: Integers, rho: float, goal: float) -> None:
        """Find the bound of new pieces, each way that may be needed; what is proved of a piece is of its halves."""
        pieces = forest.pieces
        cutoff = goal + 0.8 * self.tol
        for index in left[pieces.bound[left] > cutoff]:
            for (found, (bound, w, lam)), relaxed in self._ways(rho, self._shares(pieces.corners[index]), cutoff):
                if bound < pieces.bound[index]:
                    pieces.bound[index], pieces.multipliers["relaxed"][index] = bound, relaxed
                    (
                        pieces.multipliers["w"][index],
                        pieces.multipliers["centre"][index],
                        pieces.multipliers["omega"][index],
                    ) = w, found.centre, found.omega
                    pieces.multipliers["lam"][index], pieces.guess[index] = lam, found.label_share
                if bound <= cutoff:
                    break

    def _ways(self, rho: float, vertices: Floats, cutoff: float) -> Iterator[tuple[_Proved, tuple[bool, bool]]]:
        """Solve a piece one way after the other; a mean is relaxed only where its group may be empty."""
        yield self._program(rho, vertices, cutoff), (False, False)
        a, b = (vertices[:, place] == 0 for place in self.given.places)
        if b.any():
            yield self._added_alone._program(rho, vertices, cutoff), (False, True)
        if a.any():
            yield self._subtracted_alone._program(rho, vertices, cutoff), (True, False)
        if (a & b).any() and np.ptp(self.relaxed.ceiling) > self.tol:
            yield self._other._program(rho, vertices, cutoff), (True, True)

    def _group_share(self, rho: float, spot: Floats) -> Floats:
        a, b = (float(spot[place]) < EMPTIED for place in self.given.places)
        search = self._other if a and b else self._added_alone if b else self._subtracted_alone if a else self
        return search._program(rho, spot[None], -np.inf)[0].group_share
