"""The multipliers that prove a bound, and nothing else: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairbound.arrays import Floats

Axis = Literal["label", "group"]

#: One entry of a partition tree in preorder: the two corners whose edge is halved, or None for a leaf.
Split = tuple[int, int] | None


@dataclass(frozen=True)
class TangentProof:
    """General shifting: multipliers ``phi`` and the point ``share`` of the tangent (docs/theory.md, section 3).

    ``axis`` says whose shares the tangent is taken in. With "group" the arrays have groups and labels exchanged:
    ``phi`` is (C, S) instead of (S, C).
    """

    axis: Axis
    phi: Floats
    share: Floats


@dataclass(frozen=True)
class PartitionProof:
    """A partition of the simplex of shares and, for each piece, its multipliers (docs/theory.md, section 4).

    The root is the simplex ``{share >= floor, sum share = 1}``. ``splits`` is the tree of bisections in preorder: at
    ``(i, j)`` the edge between corners i and j is halved, the first child has the midpoint in place of corner i, the
    second in place of corner j. Leaves take the rows of ``w`` (L, S, C), ``centre`` and ``omega`` (L, C) in order.
    With axis "group" groups and labels are exchanged.
    """

    axis: Axis
    floor: float
    splits: tuple[Split, ...]
    w: Floats
    centre: Floats
    omega: Floats


@dataclass(frozen=True)
class DivergenceProof:
    """A partition as above for a divergence other than Hellinger's: ``lam`` (L,) is a multiplier of each leaf too.

    docs/theory.md, section 11.
    """

    axis: Axis
    floor: float
    splits: tuple[Split, ...]
    w: Floats
    centre: Floats
    omega: Floats
    lam: Floats


@dataclass(frozen=True)
class SingleProof:
    """One pair of multipliers for all Q in the ball, without equal base rates (docs/theory.md, section 11)."""

    eta: float
    lam: float


Proof = TangentProof | PartitionProof | DivergenceProof | SingleProof
