"""The multipliers that prove a bound, and nothing else: plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.verify import document

Axis = Literal["label", "group"]

#: How a piece is cut: two corners, and where between them the new one lies.
Cut = tuple[float, float, float]


@dataclass(frozen=True)
class Tree:
    """A tree of pieces of shares, in preorder: where a piece is cut, or None for a leaf (docs/specification.md)."""

    axis: Literal["label", "group", "part"]
    floors: Floats
    splits: tuple[Cut | None, ...]


@dataclass(frozen=True)
class TiltedProof(Tree):
    """Multipliers of form T, a row for each leaf; arrays have groups before labels whatever the axis."""

    w: Floats
    centre: Floats
    gamma: Floats
    omega: Floats
    lam: Floats
    group_mu: Floats
    label_mu: Floats
    relaxed: tuple[str, ...]


@dataclass(frozen=True)
class FractionalProof(Tree):
    """Multipliers of form F, a row for each leaf; base and offset are for the loss of all, slope is for means."""

    zeta: Floats
    base: Floats | None
    offset: Floats | None
    slope: Floats | None
    centre: Floats
    omega: Floats
    lam: Floats
    nu: Floats | None
    group_mu: Floats
    label_mu: Floats


def written(proof: TiltedProof | FractionalProof) -> document.Proof:
    """Return a proof as documents have it."""
    tilted = isinstance(proof, TiltedProof)
    form: type[document.Leaf] = document.Tilted if tilted else document.Fractional
    names = [field.name for field in fields(form)][1:]
    columns = [_column(getattr(proof, name), len(proof.lam)) for name in names]
    leaves = [form(*leaf) for leaf in zip(["T" if tilted else "F"] * len(proof.lam), *columns, strict=True)]
    splits = [None if split is None else list(split) for split in proof.splits]
    return document.Proof(proof.axis, proof.floors.tolist(), splits, leaves)


def _column(values: Floats | tuple[str, ...] | None, count: int) -> list[Any]:
    """Return what each leaf has of some multipliers."""
    if values is None:
        return [None] * count
    return list(values) if isinstance(values, tuple) else values.tolist()


#: One entry of a partition tree in preorder: the two corners whose edge is halved, or None for a leaf.
Split = tuple[int, int] | None


@dataclass(frozen=True)
class TangentProof:
    """General shifting: multipliers ``phi`` and the point ``share`` of the tangent (docs/theory.md, section 3).

    ``axis`` says whose shares the tangent is taken in. With "group" the arrays have groups and labels exchanged:
    ``phi`` is (C, S) instead of (S, C). ``share_mu`` are the multipliers of the linear limits on the shares of that
    side, ``level_mu`` those of the other side's (section 5).
    """

    axis: Axis
    phi: Floats
    share: Floats
    level_mu: Floats
    share_mu: Floats


@dataclass(frozen=True)
class PartitionProof:
    """A partition of the simplex of shares and, for each piece, its multipliers (docs/theory.md, section 4).

    The root is the simplex ``{share >= floors, sum share = 1}``. ``splits`` is the tree of bisections in preorder: at
    ``(i, j)`` the edge between corners i and j is halved, the first child has the midpoint in place of corner i, the
    second in place of corner j. Leaves take the rows of ``w`` (L, S, C), ``centre`` and ``omega`` (L, C), and of
    ``level_mu`` and ``share_mu`` (L, limits), as for the tangent, in order. With axis "group" groups and labels are
    exchanged.
    """

    axis: Axis
    floors: Floats
    splits: tuple[Split, ...]
    w: Floats
    centre: Floats
    omega: Floats
    level_mu: Floats
    share_mu: Floats


@dataclass(frozen=True)
class ConditionalProof:
    """Means given the group: multipliers ``theta`` (L, m, S, C) of L pieces (docs/metrics.md).

    With means over a part of the labels, piece j is the interval between ``cuts`` j and j + 1 in which that part's
    share lies, and its multipliers move linearly between those at its ends (m = 2). Otherwise there is one piece, with
    one set of multipliers and no cuts. ``group_mu`` (L, m, rows) and ``label_mu`` (L, rows) are the multipliers of
    limits on the shares. ``omega`` (L, C), of no length without cuts, says how limits act on the labels of a part.
    """

    theta: Floats
    cuts: Floats
    group_mu: Floats
    label_mu: Floats
    omega: Floats


@dataclass(frozen=True)
class RatesMeansProof:
    """Means given the group where base rates may differ: multipliers ``theta`` (L, m, S, C) of L pieces.

    As in :class:`ConditionalProof`, but what lies between two ``cuts`` is the least of the shares that a label has in
    the groups. Without cuts there is one piece, with one set of multipliers. ``nu`` (S) belongs to the rates of each
    group if the means are over all labels (docs/metrics.md).
    """

    theta: Floats
    cuts: Floats
    group_mu: Floats
    nu: Floats


@dataclass(frozen=True)
class DivergenceProof:
    """A partition as above for a divergence other than Hellinger's: ``lam`` (L,) is a multiplier of each leaf too.

    docs/theory.md, section 12.
    """

    axis: Axis
    floors: Floats
    splits: tuple[Split, ...]
    w: Floats
    centre: Floats
    omega: Floats
    lam: Floats


@dataclass(frozen=True)
class SingleProof:
    """One pair of multipliers for all Q in the ball, without equal base rates (docs/theory.md, section 12)."""

    eta: float
    lam: float


@dataclass(frozen=True)
class MeanProof(DivergenceProof):
    """The same for a mean given a group, or how two differ: the bound t is that of the claim (docs/metrics.md).

    The multipliers of a leaf prove ``E_Q[value - t] <= 0`` over the cells that the mean is taken over. Those of a
    ``relaxed`` leaf (L,) prove it over all cells, with the largest value that Q may put into the group's cell of the
    same label.
    """

    relaxed: Booleans


@dataclass(frozen=True)
class DifferenceProof(DivergenceProof):
    """The same for how two groups differ, in pieces of the group shares: the bound t is that of the claim.

    The multipliers of a leaf prove ``E_Q[(v - t) k_b 1_a - v k_a 1_b] <= 0`` (docs/metrics.md). ``plus_relaxed`` and
    ``minus_relaxed`` (L,) say whether the mean of a, or of b, was replaced by the most that it may come to.
    """

    plus_relaxed: Booleans
    minus_relaxed: Booleans


@dataclass(frozen=True)
class MeanSingleProof(SingleProof):
    """The same without equal base rates."""

    relaxed: bool


@dataclass(frozen=True)
class RatesProof:
    """Base rates that may differ: a partition of the group shares with multipliers (docs/theory.md, section 11).

    ``floors`` and ``splits`` as in :class:`PartitionProof`; often the root is the only leaf. Leaves take the rows of
    ``zeta`` (L, S, C), of ``base``, ``nu``, ``centre``, ``omega`` (L, S) and of ``lam`` (L,) in order.
    """

    floors: Floats
    splits: tuple[Split, ...]
    zeta: Floats
    base: Floats
    nu: Floats
    centre: Floats
    omega: Floats
    lam: Floats


Proof = (
    TiltedProof
    | FractionalProof
    | TangentProof
    | PartitionProof
    | ConditionalProof
    | RatesMeansProof
    | RatesProof
    | DivergenceProof
    | SingleProof
)
