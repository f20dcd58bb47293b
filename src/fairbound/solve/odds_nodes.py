"""What the search over a share has found so far: multipliers at shares, and bounds on the intervals between them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers


@dataclass(frozen=True)
class Rows:
    """Arrays of equal length, to be selected from and joined together."""

    def take(self, index: Booleans | Integers) -> Self:
        """Select rows."""
        return type(self)(*(getattr(self, field.name)[index] for field in fields(self)))

    def joined(self, other: Self) -> Self:
        """Append rows."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return type(self)(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Nodes(Rows):
    """Shares, and the multipliers and group shares that belong to them; whether they were solved for."""

    job: Integers
    share: Floats
    theta: Floats
    lam: Floats
    group_share: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats
    exact: Booleans

    def sorted(self) -> Nodes:
        """Sort by job and share; a share occurs once."""
        nodes = self.take(np.lexsort((self.share, self.job)))
        return nodes.take(np.append(True, (np.diff(nodes.share) != 0) | (np.diff(nodes.job) != 0)))

    def places(self, job: Integers, share: Floats) -> Integers:
        """Return where nodes stand, if sorted."""
        return np.searchsorted(self.job + self.share / 4.0, job + share / 4.0)  # shares are at most 1


@dataclass(frozen=True)
class Multipliers(Rows):
    """What proves bounds on intervals: ``theta`` (N, 2, S, C) and ``group_mu`` (N, 2, rows) at their ends.

    ``label_mu`` (N, rows) and ``omega`` (N, C), of limits on labels, are the same everywhere in an interval.
    """

    theta: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats


@dataclass(frozen=True)
class Intervals(Rows):
    """Intervals of the share: whose they are, their ends (N, 2), bound, and multipliers as above."""

    job: Integers
    ends: Floats
    bound: Floats
    theta: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats

    @property
    def multipliers(self) -> Multipliers:
        """The multipliers alone."""
        return Multipliers(self.theta, self.group_mu, self.label_mu, self.omega)
