"""The cells that a mean is taken over, or those of two groups whose means are compared.

A mean over some cells is at most t if ``E_Q[(v - t) 1_A]`` is not positive. Of two groups a and b with the shares
``k_a`` and ``k_b``

    E_Q[(v - t) k_b 1_a - v k_a 1_b] = k_a k_b (mean_a - mean_b - t),

and what is inside the expectation is linear in the shares, as the multipliers of a piece of them are (docs/theory.md,
"Means under other divergences").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats


@dataclass(frozen=True)
class Given:
    """Cells (S, C) whose values are added, and those whose values are subtracted, if groups are compared.

    For a comparison groups and labels have been exchanged: the pieces are pieces of the group shares.
    """

    added: Booleans
    subtracted: Booleans | None = None

    @property
    def cells(self) -> Booleans:
        """All cells that count."""
        return self.added if self.subtracted is None else self.added | self.subtracted

    @property
    def places(self) -> tuple[int, int]:
        """The two groups of a comparison."""
        other = self.added if self.subtracted is None else self.subtracted
        return int(self.added.any(axis=0).argmax()), int(other.any(axis=0).argmax())

    def times(self, shares: Floats) -> Floats:
        """Return by what the values of each cell are multiplied at shares (m, C): (m, S, C)."""
        if self.subtracted is None:
            return np.ones((len(shares), *self.added.shape))
        a, b = (shares[:, place, None, None] for place in self.places)
        return np.where(self.added, b, np.where(self.subtracted, a, 1.0))

    def taken(self, shares: Floats) -> Floats:
        """Return how often the mean is taken off the values of each cell at shares (m, C): (m, S, C)."""
        return np.where(self.added, self.times(shares), 0.0)
