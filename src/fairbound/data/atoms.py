"""Atoms: the laws of the losses in all cells as numbers, which is what everything else computes with."""

from __future__ import annotations

from dataclasses import dataclass

from fairbound.arithmetic.arrays import Floats


@dataclass(frozen=True)
class Atoms:
    """A discrete loss distribution in every cell: class probabilities and losses of shape (S, C, J).

    A class is a cell together with a loss; the probabilities of all classes add up to one. Unused places have
    probability zero and loss zero.
    """

    probability: Floats
    loss: Floats

    @property
    def transposed(self) -> Atoms:
        """Exchange groups and labels."""
        return Atoms(self.probability.swapaxes(0, 1), self.loss.swapaxes(0, 1))

    @property
    def places(self) -> int:
        """How many losses a cell may have."""
        return self.probability.shape[2]
