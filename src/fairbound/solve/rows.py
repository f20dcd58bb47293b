"""Arrays of equal length side by side: a row for each problem, leaf or place."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Integers


@dataclass(frozen=True)
class Rows:
    """All fields are arrays whose first axes are alike."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, index: Booleans | Integers) -> Self:
        """Select rows."""
        return type(self)(*(getattr(self, field.name)[index] for field in fields(self)))

    def joined(self, *others: Self) -> Self:
        """Append rows."""
        names = [field.name for field in fields(self)]
        return type(self)(*(np.concatenate([getattr(part, name) for part in (self, *others)]) for name in names))

    def merged(self, chosen: Booleans, other: Self) -> Self:
        """Return these rows where chosen, else the other ones."""
        columns = []
        for field in fields(self):
            own, others = getattr(self, field.name), getattr(other, field.name)
            columns.append(np.where(chosen.reshape(-1, *[1] * (own.ndim - 1)), own, others))
        return type(self)(*columns)

    def put(self, where: Integers, other: Self) -> None:
        """Overwrite rows."""
        for field in fields(self):
            getattr(self, field.name)[where] = getattr(other, field.name)
