"""What is bounded: the expected loss of all, or a mean loss given a group, or how two groups differ in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats


@dataclass(frozen=True)
class Objective:
    """A mean of the row values (losses, or selections), given a group; or a comparison of two groups.

    Attributes
    ----------
    plus, minus
        Numbers of the groups whose means are added and subtracted; ``minus`` None subtracts nothing.
    label
        With a label, the means are taken over rows of that label alone (``inside``) or of all other labels.
    inside
        Which of the two.
    ratio
        Bound the ratio of means, minus to plus, from below, instead of the difference from above.
    """

    plus: int
    minus: int | None = None
    label: int | None = None
    inside: bool = True
    ratio: bool = False

    @property
    def subtracts(self) -> bool:
        """Whether a group's values are subtracted."""
        return self.minus is not None

    def parts(self, labels: int) -> tuple[tuple[int, ...], ...]:
        """Return the parts of the labels that the means are taken over: all of them, or one label and the others."""
        if self.label is None:
            return (tuple(range(labels)),)
        return (self.label,), tuple(y for y in range(labels) if y != self.label)

    def sign(self, shape: tuple[int, int]) -> Floats:
        """Return +1 in the cells whose values are added, -1 where they are subtracted, 0 elsewhere."""
        sign = np.zeros(shape)
        counted = np.ones(shape[1], dtype=bool)
        if self.label is not None:
            counted = (np.arange(shape[1]) == self.label) == self.inside
        sign[self.plus, counted] = 1.0
        if self.minus is not None:
            sign[self.minus, counted] = -1.0
        return sign
