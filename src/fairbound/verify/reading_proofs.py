"""Reading the proofs in certificates that come from strangers: complete, and nothing more.

Standard library only.
"""

from __future__ import annotations

from typing import Any

from fairbound.verify.strict import (
    MalformedError,
    a_list,
    a_number,
    a_table,
    a_truth,
    a_word,
    an_amount,
    an_object,
    optional,
)

#: What proves a mean given a group.
CONDITIONAL = ("theta", "cuts", "group_mu", "label_mu", "omega")
RATES_MEANS = ("theta", "cuts", "group_mu", "nu")

#: The multipliers of a leaf where base rates may differ.
RATES_LEAF = ("zeta", "base", "nu", "centre", "omega", "lam")


#: Proofs about means under divergences other than Hellinger's: what these say of the means that are bounded, by kind.
RELAXED = {
    "mean_partition": ("relaxed",),
    "mean_single": ("relaxed",),
    "difference_partition": ("plus_relaxed", "minus_relaxed"),
}

OF_MEANS = tuple(RELAXED)

#: All kinds that _read_pieces knows.
KINDS = ("tangent", "partition", "rates", "divergence_partition", "divergence_single", *OF_MEANS)


def read_conditional(proof: Any, shape: tuple[int, int], limits: tuple[int, ...]) -> None:
    """Check multipliers of means given a group: a table for each end of each piece, and those of the limits.

    Under other divergences there are pieces of shares, as for the expected loss of all.
    """
    kind = proof.get("kind") if isinstance(proof, dict) else None
    if kind in OF_MEANS:
        _read_pieces(proof, kind, shape, limits)
        return
    differing = kind == "rates_means"
    an_object(proof, "proof", ("kind", *(RATES_MEANS if differing else CONDITIONAL)))
    a_word(proof["kind"], "proof.kind", ("conditional", "rates_means"))

    def tables(value: Any, where: str) -> None:
        a_list(value, where, None, lambda v, at: a_table(v, at, shape, a_number))

    def rows(value: Any, where: str) -> None:
        a_list(value, where, None, lambda v, at: a_list(v, at, limits[0], a_number))

    a_list(proof["cuts"], "proof.cuts", None, lambda v, at: a_number(v, at, low=0.0, high=1.0))
    a_list(proof["theta"], "proof.theta", None, tables)
    a_list(proof["group_mu"], "proof.group_mu", len(proof["theta"]), rows)
    if differing:
        a_list(proof["nu"], "proof.nu", shape[0], a_number)
        return
    count = len(proof["theta"])
    a_list(proof["label_mu"], "proof.label_mu", count, lambda v, at: a_list(v, at, limits[1], a_number))
    count = count if proof["cuts"] else 0
    a_list(proof["omega"], "proof.omega", count, lambda v, at: a_list(v, at, shape[1], a_number))


def read_proof(proof: Any, shape: tuple[int, ...], limits: tuple[int, ...]) -> None:
    """Check multipliers of a bound on the expected loss of all."""
    kind = proof.get("kind") if isinstance(proof, dict) else None
    if kind in OF_MEANS:
        raise MalformedError("proof.kind: proofs of means are for the statements of a metric")
    _read_pieces(proof, kind, shape, limits)


def _read_pieces(proof: Any, kind: Any, shape: tuple[int, ...], limits: tuple[int, ...]) -> None:
    """Check multipliers, for each piece of the shares if there are pieces."""
    relaxed = RELAXED[kind] if kind in OF_MEANS else ()
    if kind in ("divergence_single", "mean_single"):
        an_object(proof, "proof", ("kind", "eta", "lam", *relaxed))
        a_number(proof["eta"], "proof.eta")
        an_amount(proof["lam"], "proof.lam")
        for key in relaxed:
            a_truth(proof[key], f"proof.{key}")
        return
    if kind == "tangent":
        an_object(proof, "proof", ("kind", "axis", "phi", "share", "level_mu", "share_mu"))
    elif kind == "rates":
        an_object(proof, "proof", ("kind", "floors", "splits", "leaves"))
        _rates_proof(proof, (shape[0], shape[1]))
        return
    else:
        an_object(proof, "proof", ("kind", "axis", "floors", "splits", "leaves"))
        a_word(kind, "proof.kind", KINDS)
    a_word(proof["axis"], "proof.axis", ("label", "group"))
    if proof["axis"] == "group":
        shape, limits = shape[::-1], limits[::-1]
    if kind == "tangent":
        a_table(proof["phi"], "proof.phi", (shape[0], shape[1]), a_number)
        a_list(proof["share"], "proof.share", shape[1], a_number)
        _multipliers(proof, "proof", limits)
        return
    a_list(proof["floors"], "proof.floors", shape[1], lambda v, at: a_number(v, at, low=0.0, high=1.0))
    a_list(proof["splits"], "proof.splits", None, optional(_split))
    more = ("level_mu", "share_mu") if kind == "partition" else ("lam", *relaxed)

    def leaf(value: Any, where: str) -> None:
        an_object(value, where, ("w", "centre", "omega", *more))
        a_table(value["w"], f"{where}.w", (shape[0], shape[1]), a_number)
        a_list(value["centre"], f"{where}.centre", shape[1], a_number)
        a_list(value["omega"], f"{where}.omega", shape[1], a_number)
        if kind == "partition":
            _multipliers(value, where, limits)
        else:
            an_amount(value["lam"], f"{where}.lam")
        for key in relaxed:
            a_truth(value[key], f"{where}.{key}")

    a_list(proof["leaves"], "proof.leaves", None, leaf)


def _multipliers(proof: dict[str, Any], where: str, limits: tuple[int, ...]) -> None:
    """Check the multipliers of linear limits; whether they are negative is the checker's business."""
    for key, count in zip(("level_mu", "share_mu"), limits, strict=True):
        a_list(proof[key], f"{where}.{key}", count, a_number)


def _rates_proof(proof: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check the pieces of group shares and their multipliers where base rates may differ."""
    a_list(proof["floors"], "proof.floors", shape[0], lambda v, at: a_number(v, at, low=0.0, high=1.0))
    a_list(proof["splits"], "proof.splits", None, optional(_split))

    def leaf(value: Any, where: str) -> None:
        an_object(value, where, RATES_LEAF)
        a_table(value["zeta"], f"{where}.zeta", shape, a_number)
        for key in ("base", "nu", "centre", "omega"):
            a_list(value[key], f"{where}.{key}", shape[0], a_number)
        a_number(value["lam"], f"{where}.lam")

    a_list(proof["leaves"], "proof.leaves", None, leaf)


def _split(value: Any, where: str) -> None:
    if not isinstance(value, list) or len(value) != 2 or any(type(v) is not int or v < 0 for v in value):
        raise MalformedError(f"{where} must be null or a pair of corners")
