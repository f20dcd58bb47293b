"""What is bounded: the expected loss of all, or a mean loss given a group, or how two groups differ in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats


@dataclass(frozen=True)
class Objective:
    """A mean of the row values (losses, or selections), given a group; or a comparison of two groups.

    Attributes
    ----------
    plus, minus
        Numbers of the groups whose means are added and subtracted; None: nothing is, and both: every two groups.
    label
        With a label, the means are taken over rows of that label alone (``inside``) or of all other labels.
    inside
        Which of the two.
    ratio
        Bound the ratio of means, minus to plus, from below, instead of the difference from above.
    """

    plus: int | None
    minus: int | None = None
    label: int | None = None
    inside: bool = True
    ratio: bool = False

    @property
    def subtracts(self) -> bool:
        """Whether a group's values are subtracted."""
        return self.minus is not None

    @property
    def every(self) -> Objective:
        """The statement of every two groups that this comparison is part of: it names none."""
        return replace(self, plus=None, minus=None)

    @property
    def pair(self) -> tuple[int, int]:
        """The groups of a ratio, which has both."""
        return self.plus or 0, self.minus or 0

    def counted(self, labels: int) -> Booleans:
        """Return which labels the means are taken over."""
        return np.array([self.label is None or (y == self.label) == self.inside for y in range(labels)])

    def parts(self, labels: int) -> tuple[tuple[int, ...], ...]:
        """Return the parts of the labels that the means are taken over: all of them, or one label and the others."""
        if self.label is None:
            return (tuple(range(labels)),)
        return (self.label,), tuple(y for y in range(labels) if y != self.label)

    def sign(self, shape: tuple[int, int]) -> Floats:
        """Return +1 in the cells whose values are added, -1 where they are subtracted, 0 elsewhere."""
        sign = np.zeros(shape)
        counted = self.counted(shape[1])
        if self.plus is not None:
            sign[self.plus, counted] = 1.0
        if self.minus is not None:
            sign[self.minus, counted] = -1.0
        return sign
