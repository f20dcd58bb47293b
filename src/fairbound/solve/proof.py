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
    splits: tuple[Cut | None, ...]
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


Proof = TiltedProof | FractionalProof | ConditionalProof | RatesMeansProof | DivergenceProof | SingleProof
