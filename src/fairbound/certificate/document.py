"""Certificates as JSON: how each part is written and read back (schemas/1.2.0/certificate.json describes the form).

Floats are written in the shortest form that reads back as the same number, so nothing is lost.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.loss_summary import Knowledge, LossTable, MeanAndVariance, MeanOnly
from fairbound.data.population import Population
from fairbound.problem.divergences import DIVERGENCES, HELLINGER, affinity_at
from fairbound.problem.limits import Limits
from fairbound.sampling.discretise import Sample
from fairbound.sampling.region import Surrogate, region_sentences
from fairbound.solve.proof import (
    ConditionalProof,
    DifferenceProof,
    DivergenceProof,
    MeanProof,
    MeanSingleProof,
    PartitionProof,
    Proof,
    RatesMeansProof,
    RatesProof,
    SingleProof,
    TangentProof,
)
from fairbound.solve.witness import Witness
from fairbound.verify.reading_proofs import CONDITIONAL, RATES_LEAF, RATES_MEANS
from fairbound.verify.strict import canonical

#: The multipliers of a proof in one piece, and of a leaf.
TANGENT = ("phi", "share", "level_mu", "share_mu")
LEAF = ("w", "centre", "omega", "level_mu", "share_mu")


def digest(population: dict[str, Any]) -> str:
    """Return the digest of a population's statistics."""
    return "sha256:" + hashlib.sha256(canonical(population).encode()).hexdigest()


def write_name(name: Hashable) -> Any:
    """Names stay what they are where JSON can say it; tuples become lists, anything else its text."""
    if isinstance(name, tuple):
        return [part if isinstance(part, str | bool | int | float) else str(part) for part in name]
    return name if isinstance(name, str | bool | int | float) else str(name)


def read_name(name: Any) -> Hashable:
    """Read a name back."""
    return tuple(name) if isinstance(name, list) else name


def write_population(population: Population) -> dict[str, Any]:
    """Write the statistics of a population."""
    return {
        "groups": [write_name(name) for name in population.groups],
        "labels": [write_name(name) for name in population.labels],
        "ceiling": population.ceiling if math.isfinite(population.ceiling) else None,
        "rows": population.rows,
        "excluded_rows": population.excluded_rows,
        "weighted": population.weighted,
        "loss": population.loss_name,
        "positive": None if population.positive is None else write_name(population.positive),
        "weight": population.weight.tolist(),
        "knowledge": _write_knowledge(population.knowledge),
    }


def _write_knowledge(knowledge: Knowledge) -> dict[str, Any]:
    known: dict[str, Any]
    if isinstance(knowledge, LossTable):
        columns = np.stack([knowledge.low, knowledge.high, knowledge.weight, knowledge.to_high], axis=-1)
        cells = [[[b for b in cell if b[2] > 0] for cell in row] for row in columns.tolist()]
        known = {"kind": "losses", "rows": knowledge.rows, "cells": cells}
    elif isinstance(knowledge, MeanAndVariance):
        known = {"kind": "mean_variance", "mean": knowledge.mean.tolist(), "variance": knowledge.variance.tolist()}
    else:
        known = {"kind": "mean", "mean": knowledge.mean.tolist()}
    return known


def read_population(document: dict[str, Any]) -> Population:
    """Read the statistics of a population (already known to be well-formed)."""
    return Population(
        tuple(read_name(name) for name in document["groups"]),
        tuple(read_name(name) for name in document["labels"]),
        _floats(document["weight"]),
        _read_knowledge(document["knowledge"]),
        math.inf if document["ceiling"] is None else float(document["ceiling"]),
        document["rows"],
        document["loss"],
        document["excluded_rows"],
        document["weighted"],
        positive=read_name(document["positive"]),
    )


def _read_knowledge(known: dict[str, Any]) -> Knowledge:
    if known["kind"] == "losses":
        cells = known["cells"]
        width = max(1, *(len(cell) for row in cells for cell in row))
        table = np.zeros((len(cells), len(cells[0]), width, 4))
        for s, row in enumerate(cells):
            for y, cell in enumerate(row):
                table[s, y, : len(cell)] = np.array(cell).reshape(-1, 4)
        low, high, weight, to_high = np.moveaxis(table, -1, 0)
        return LossTable(low, high, weight, 1.0 - to_high, to_high, int(known["rows"]))
    if known["kind"] == "mean_variance":
        return MeanAndVariance(_floats(known["mean"]), _floats(known["variance"]))
    return MeanOnly(_floats(known["mean"]))


def write_sampling(surrogate: Surrogate, region: str) -> dict[str, Any]:
    """Write what takes P's place, and the counts it was made from."""
    sample = surrogate.sample
    return {
        "region": region,
        "affinity": surrogate.affinity,
        "weight": surrogate.population.weight.tolist(),
        "knowledge": _write_knowledge(surrogate.population.knowledge),
        "losses": None if sample is None else sample.losses.tolist(),
        "counts": None if sample is None else sample.counts.astype(np.int64).tolist(),
        "seed": None if sample is None else sample.seed,
    }


def read_sampling(document: dict[str, Any], population: Population, question: dict[str, Any]) -> Surrogate:
    """Read what takes P's place; what is said of the region is worded from the question that was read."""
    known = replace(population, weight=_floats(document["weight"]), knowledge=_read_knowledge(document["knowledge"]))
    sample = None
    if document["counts"] is not None:
        sample = Sample(_floats(document["counts"]), _floats(document["losses"]), document["seed"])
    about, error = question["objective"], 1.0 - question["confidence"]
    subtracts = about is not None and about["minus"] is not None
    said = region_sentences(document["region"], error, question["shift"], population, sample, subtracts=subtracts)
    return Surrogate(known, float(document["affinity"]), sample, said)


def write_limits(limits: Limits | None) -> dict[str, Any] | None:
    """Write linear limits on shares."""
    return None if limits is None else {"rows": [list(row) for row in limits.rows], "most": list(limits.most)}


def read_limits(document: dict[str, Any] | None) -> Limits | None:
    """Read linear limits on shares."""
    if document is None:
        return None
    rows = tuple(tuple(map(float, row)) for row in document["rows"])
    return Limits(rows, tuple(map(float, document["most"])))


def _floats(values: Any) -> Floats:
    return np.array(values, dtype=np.float64)


def write_witness(witness: Witness, population: Population, *, products: bool) -> dict[str, Any]:
    """Write a worst-case distribution; cells keep only the losses that they have, and masses only if not products."""
    known = population.knowledge
    inside = witness.reweighting
    kept = np.ones(inside.shape, dtype=bool)
    if isinstance(known, LossTable) and known.weight.shape == inside.shape:
        kept = known.weight > 0
    return {
        "group_mass": witness.group_mass.tolist(),
        "label_mass": witness.label_mass.tolist(),
        "mass": None if products else witness.mass.tolist(),
        "unseen": witness.unseen.tolist(),
        "reweighting": [
            [part[some].tolist() for part, some in zip(row, used, strict=True)]
            for row, used in zip(inside, kept, strict=True)
        ],
    }


def read_witness(document: dict[str, Any], loss: float, question: dict[str, Any]) -> Witness:
    """Read a worst-case distribution. Its distance is what the radius allows; the checker computes the true one."""
    cells = document["reweighting"]
    width = max(1, *(len(cell) for row in cells for cell in row))
    inside = np.array([[cell + [0.0] * (width - len(cell)) for cell in row] for row in cells], dtype=np.float64)
    k, r = _floats(document["group_mass"]), _floats(document["label_mass"])
    mass = k[:, None] * r if document["mass"] is None else _floats(document["mass"])
    divergence, rho = DIVERGENCES[question["divergence"]], float(question["rho"])
    distance = None if divergence is HELLINGER else rho
    return Witness(k, r, mass, inside, _floats(document["unseen"]), loss, affinity_at(divergence, rho), distance)


#: Proofs in pieces of shares, by kind.
_IN_PIECES = {
    "rates": RatesProof,
    "partition": PartitionProof,
    "divergence_partition": DivergenceProof,
    "mean_partition": MeanProof,
    "difference_partition": DifferenceProof,
}


#: What leaves say of the means that are bounded.
RELAXED: dict[type, tuple[str, ...]] = {MeanProof: ("relaxed",), DifferenceProof: ("plus_relaxed", "minus_relaxed")}


def _leaf_keys(proof: object) -> tuple[str, ...]:
    """Return the multipliers that each leaf of a proof (or of a kind of proof) has."""
    kind = proof if isinstance(proof, type) else type(proof)
    if kind is RatesProof:
        return RATES_LEAF
    if kind is PartitionProof:
        return LEAF
    return ("w", "centre", "omega", "lam", *RELAXED.get(kind, ()))


def write_proof(proof: Proof) -> dict[str, Any]:
    """Write the multipliers."""
    if isinstance(proof, ConditionalProof | RatesMeansProof):
        equal = isinstance(proof, ConditionalProof)
        kind, names = ("conditional", CONDITIONAL) if equal else ("rates_means", RATES_MEANS)
        return {"kind": kind, **{key: getattr(proof, key).tolist() for key in names}}
    if isinstance(proof, TangentProof):
        multipliers = {key: getattr(proof, key).tolist() for key in TANGENT}
        return {"kind": "tangent", "axis": proof.axis, **multipliers}
    if isinstance(proof, MeanSingleProof):
        return {"kind": "mean_single", "eta": proof.eta, "lam": proof.lam, "relaxed": proof.relaxed}
    if isinstance(proof, SingleProof):
        return {"kind": "divergence_single", "eta": proof.eta, "lam": proof.lam}
    keys = _leaf_keys(proof)
    leaves = zip(*(getattr(proof, key).tolist() for key in keys), strict=True)
    tree = {
        "floors": proof.floors.tolist(),
        "splits": [None if split is None else list(split) for split in proof.splits],
        "leaves": [dict(zip(keys, leaf, strict=True)) for leaf in leaves],
    }
    if isinstance(proof, RatesProof):
        return {"kind": "rates", **tree}
    return {
        "kind": next(kind for kind, made in _IN_PIECES.items() if type(proof) is made),
        "axis": proof.axis,
        **tree,
    }


def read_proof(document: dict[str, Any]) -> Proof:
    """Read the multipliers."""
    if document["kind"] == "conditional":
        return ConditionalProof(*(_floats(document[key]) for key in CONDITIONAL))
    if document["kind"] == "rates_means":
        return RatesMeansProof(*(_floats(document[key]) for key in RATES_MEANS))
    if document["kind"] == "tangent":
        return TangentProof(document["axis"], *(_floats(document[key]) for key in TANGENT))
    if document["kind"] == "divergence_single":
        return SingleProof(float(document["eta"]), float(document["lam"]))
    if document["kind"] == "mean_single":
        return MeanSingleProof(float(document["eta"]), float(document["lam"]), document["relaxed"])
    splits = tuple(None if split is None else (split[0], split[1]) for split in document["splits"])
    made = _IN_PIECES[document["kind"]]
    multipliers: list[Any] = [
        np.array([leaf[key] for leaf in document["leaves"]], dtype=np.bool_ if "relaxed" in key else np.float64)
        for key in _leaf_keys(made)
    ]
    floors = _floats(document["floors"])
    return (
        made(floors, splits, *multipliers)
        if made is RatesProof
        else made(document["axis"], floors, splits, *multipliers)
    )
