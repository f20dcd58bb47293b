"""The multipliers that prove a bound, and nothing else: plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from fairbound.arithmetic.arrays import Floats
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


Proof = TiltedProof | FractionalProof
