"""Reading certificates that come from strangers: complete, and nothing more.

Standard library only; no code from a document is ever run.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from fairbound.strict import (
    MalformedError,
    a_count,
    a_list,
    a_name,
    a_number,
    a_table,
    a_text,
    a_truth,
    a_word,
    an_amount,
    an_object,
    canonical,
    optional,
    parse,
)

FORMAT = "fairbound-certificate"
CURVE_FORMAT = "fairbound-curve"
VERSION = "1.1.0"

#: The divergences that are at most one, and those that have no largest value.
UNIT_RANGE = ("hellinger", "total_variation")
UNLIMITED = ("kl", "chi_squared")
LARGEST_RADIUS = 1e9


def read_documents(document: str | bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """Return the certificates in a document, well-formed; a curve gives one for each feasible radius."""
    if not isinstance(document, str | bytes | dict):
        raise MalformedError("a document is JSON text, or what json.loads makes of it")
    parsed = document if isinstance(document, dict) else parse(document)
    if not isinstance(parsed, dict):
        raise MalformedError("the document is not a JSON object")
    if parsed.get("format") == CURVE_FORMAT:
        return _read_curve(parsed)
    _certificate(parsed)
    return [parsed]


def read_format(document: str | bytes) -> str:
    """Return which format a well-formed document says it has."""
    parsed = parse(document)
    return str(parsed.get("format")) if isinstance(parsed, dict) else ""


def _header(document: dict[str, Any], name: str) -> None:
    if document["format"] != name:
        raise MalformedError(f"format must be {name}")
    if document["version"] != VERSION:
        raise MalformedError(f"version must be {VERSION}")
    a_text(document["producer"], "producer")
    a_text(document["digest"], "digest")


_PARTS = ("question", "claim", "witness", "proof", "assumptions")


def _certificate(document: dict[str, Any]) -> None:
    keys = ("format", "version", "producer", "population", "sampling", *_PARTS, "digest")
    an_object(document, "the certificate", keys)
    _header(document, FORMAT)
    shape = _population(document["population"])
    _sampling(document, shape)
    _claims(document, shape)


def _claims(document: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check all parts but the header, the population and the sampling."""
    _question(document["question"], sampled=document["sampling"] is not None)
    claim = an_object(document["claim"], "claim", ("bound", "attained"))
    for key in claim:
        an_amount(claim[key], f"claim.{key}")
    witness = an_object(document["witness"], "witness", ("group_mass", "label_mass", "mass", "reweighting", "unseen"))
    a_list(witness["group_mass"], "witness.group_mass", shape[0], an_amount)
    a_list(witness["label_mass"], "witness.label_mass", shape[1], an_amount)
    if (witness["mass"] is None) != document["question"]["fair"]:
        raise MalformedError("witness.mass is for distributions without equal base rates: else it must be null")
    optional(lambda v, at: a_table(v, at, shape, an_amount))(witness["mass"], "witness.mass")
    a_table(witness["unseen"], "witness.unseen", shape, an_amount)
    a_table(witness["reweighting"], "witness.reweighting", shape, lambda v, at: a_list(v, at, None, an_amount))
    _proof(document["proof"], shape)
    a_list(document["assumptions"], "assumptions", None, a_text)


def _population(population: Any) -> tuple[int, int]:
    keys = ("groups", "labels", "ceiling", "rows", "excluded_rows", "weighted", "loss", "weight", "knowledge")
    an_object(population, "population", keys)
    for key in ("groups", "labels"):
        a_list(population[key], f"population.{key}", None, a_name)
        if len(population[key]) < 2:
            raise MalformedError(f"population.{key} must have two entries or more")
        if len({canonical(name) for name in population[key]}) < len(population[key]):
            raise MalformedError(f"population.{key} has the same name twice")
    shape = len(population["groups"]), len(population["labels"])
    optional(an_amount)(population["ceiling"], "population.ceiling")
    optional(an_amount)(population["rows"], "population.rows")
    a_count(population["excluded_rows"], "population.excluded_rows")
    a_truth(population["weighted"], "population.weighted")
    a_text(population["loss"], "population.loss")
    _cells(population, "population", population["ceiling"], shape)
    return shape


def _cells(known: dict[str, Any], where: str, top: float | None, shape: tuple[int, int]) -> None:
    """Check weight and knowledge of the cells."""
    a_table(known["weight"], f"{where}.weight", shape, an_amount)
    if not any(map(any, known["weight"])):
        raise MalformedError(f"{where}.weight must be positive somewhere")
    if isinstance(known["knowledge"], dict) and known["knowledge"].get("kind") == "losses":
        _losses(known, where, top, shape)
    else:
        _moments(known, where, top, shape)


def _losses(known: dict[str, Any], where: str, top: float | None, shape: tuple[int, int]) -> None:
    """Check a table of losses: bins below the ceiling that add up to the weights of the cells."""
    knowledge = known["knowledge"]
    an_object(knowledge, f"{where}.knowledge", ("kind", "cells", "rows"))
    an_amount(knowledge["rows"], f"{where}.knowledge.rows")
    a_table(knowledge["cells"], f"{where}.knowledge.cells", shape, lambda v, at: a_list(v, at, None, _bin))
    for s, row in enumerate(knowledge["cells"]):
        for y, bins in enumerate(row):
            if any(top is not None and b[1] > top for b in bins):
                raise MalformedError(f"{where}.knowledge.cells[{s}][{y}] has a loss above the ceiling")
            total, weight = math.fsum(b[2] for b in bins), known["weight"][s][y]
            if abs(total - weight) > 1e-9 * weight:
                raise MalformedError(f"the bins of {where}.knowledge.cells[{s}][{y}] do not add up to its weight")


def _moments(known: dict[str, Any], where: str, top: float | None, shape: tuple[int, int]) -> None:
    """Check means, and variances that are possible."""
    knowledge = known["knowledge"]
    kind = knowledge.get("kind") if isinstance(knowledge, dict) else None
    keys = ["mean"] if kind == "mean" else ["mean", "variance"]
    an_object(knowledge, f"{where}.knowledge", ("kind", *keys))
    a_word(kind, f"{where}.knowledge.kind", ("mean", "mean_variance", "losses"))
    if top is None or not top > 0:
        raise MalformedError("population.ceiling must be positive where only moments are known")
    for key in keys:
        a_table(knowledge[key], f"{where}.knowledge.{key}", shape, an_amount)
    for s in range(shape[0]):
        for y in range(shape[1]):
            mean = knowledge["mean"][s][y]
            if mean > top:
                raise MalformedError(f"{where}.knowledge.mean[{s}][{y}] is above the ceiling")
            if kind != "mean" and knowledge["variance"][s][y] > mean * (top - mean) * (1 + 1e-9):
                raise MalformedError(f"{where}.knowledge.variance[{s}][{y}] is impossible for its mean")


def _bin(value: Any, where: str) -> None:
    """Check low <= high, a positive weight and a share of the upper edge."""
    a_list(value, where, 4, an_amount)
    low, high, weight, share = value
    if not (low <= high and weight > 0 and share <= 1):
        raise MalformedError(f"{where} must be low <= high, weight > 0, and the share of high, at most 1")


def _sampling(document: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check what takes P's place in a finite-sample certificate, and the counts that it was made from."""
    sampling, top = document["sampling"], document["population"]["ceiling"]
    if sampling is None:
        return
    if top is None or not top > 0:
        raise MalformedError("population.ceiling must be positive in finite-sample certificates")
    an_object(sampling, "sampling", ("region", "affinity", "weight", "knowledge", "losses", "counts", "seed"))
    a_text(sampling["region"], "sampling.region")
    a_number(sampling["affinity"], "sampling.affinity", low=0.0, high=1.0)
    _cells(sampling, "sampling", top, shape)
    optional(lambda v, at: a_count(v, at, most=2**64))(sampling["seed"], "sampling.seed")
    losses, counts = sampling["losses"], sampling["counts"]
    if (losses is None) != (counts is None):
        raise MalformedError("sampling.losses and sampling.counts must be given together, or not at all")
    if losses is None:
        return
    a_list(losses, "sampling.losses", None, an_amount)
    if len(losses) < 2:
        raise MalformedError("sampling.losses must have two entries or more")
    if losses[0] != 0 or losses[-1] != top or any(a >= b for a, b in pairwise(losses)):
        raise MalformedError("sampling.losses must increase from 0 to the ceiling")
    a_table(counts, "sampling.counts", shape, lambda v, at: a_list(v, at, len(losses), a_count))


def _largest_radius(questions: list[Any]) -> float:
    """Return how large radii may be: some divergences are at most one."""
    return 1.0 if any(question["divergence"] in UNIT_RANGE for question in questions) else LARGEST_RADIUS


def _question(question: Any, *, sampled: bool) -> None:
    keys = (
        "shift",
        "support",
        "empty_cells",
        "divergence",
        "fair",
        "rho",
        "group_skew",
        "label_skew",
        "confidence",
        "tolerance",
    )
    an_object(question, "question", keys)
    a_word(question["shift"], "question.shift", ("general", "sensitive"))
    a_word(question["support"], "question.support", ("any", "observed"))
    a_word(question["empty_cells"], "question.empty_cells", ("refuse", "ceiling"))
    a_word(question["divergence"], "question.divergence", (*UNIT_RANGE, *UNLIMITED))
    a_truth(question["fair"], "question.fair")
    if question["divergence"] == "hellinger" and not question["fair"]:
        raise MalformedError("question.fair must be true for the divergence hellinger")
    if sampled and question["divergence"] != "hellinger":
        raise MalformedError("question.divergence must be hellinger in finite-sample certificates")
    if (question["confidence"] is not None) != sampled:
        raise MalformedError("question.confidence is for finite samples: a number if `sampling` is given, else null")
    if sampled:
        a_number(question["confidence"], "question.confidence", low=0.0, high=1.0)
        if question["confidence"] in {0, 1}:
            raise MalformedError("question.confidence must lie strictly between 0 and 1")
    a_number(question["rho"], "question.rho", low=0.0, high=_largest_radius([question]))
    for key in ("group_skew", "label_skew"):
        optional(lambda v, at: a_number(v, at, low=0.0, high=1.0))(question[key], f"question.{key}")
        if question[key] is not None and not question["fair"]:
            raise MalformedError(
                f"question.{key} is for equal base rates: it must be null where question.fair is false"
            )
    an_amount(question["tolerance"], "question.tolerance")


def _proof(proof: Any, shape: tuple[int, int]) -> None:
    kind = proof.get("kind") if isinstance(proof, dict) else None
    if kind == "divergence_single":
        an_object(proof, "proof", ("kind", "eta", "lam"))
        a_number(proof["eta"], "proof.eta")
        an_amount(proof["lam"], "proof.lam")
        return
    if kind == "tangent":
        an_object(proof, "proof", ("kind", "axis", "phi", "share"))
    else:
        an_object(proof, "proof", ("kind", "axis", "floor", "splits", "leaves"))
        a_word(kind, "proof.kind", ("tangent", "partition", "divergence_partition", "divergence_single"))
    a_word(proof["axis"], "proof.axis", ("label", "group"))
    shape = shape if proof["axis"] == "label" else (shape[1], shape[0])
    if kind == "tangent":
        a_table(proof["phi"], "proof.phi", shape, a_number)
        a_list(proof["share"], "proof.share", shape[1], a_number)
        return
    a_number(proof["floor"], "proof.floor", low=0.0, high=1.0)
    a_list(proof["splits"], "proof.splits", None, optional(_split))
    more = ("lam",) if kind == "divergence_partition" else ()

    def leaf(value: Any, where: str) -> None:
        an_object(value, where, ("w", "centre", "omega", *more))
        a_table(value["w"], f"{where}.w", shape, a_number)
        a_list(value["centre"], f"{where}.centre", shape[1], a_number)
        a_list(value["omega"], f"{where}.omega", shape[1], a_number)
        for key in more:
            an_amount(value[key], f"{where}.{key}")

    a_list(proof["leaves"], "proof.leaves", None, leaf)


def _split(value: Any, where: str) -> None:
    if not isinstance(value, list) or len(value) != 2 or any(type(v) is not int or v < 0 for v in value):
        raise MalformedError(f"{where} must be null or a pair of corners")


def _read_curve(curve: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a curve's certificates, each with the common population."""
    keys = ("format", "version", "producer", "population", "sampling", "distance", "points", "digest")
    an_object(curve, "the curve", keys)
    _header(curve, CURVE_FORMAT)
    a_number(curve["distance"], "distance", low=0.0, high=LARGEST_RADIUS)
    shape = _population(curve["population"])
    _sampling(curve, shape)
    documents: list[dict[str, Any]] = []
    infeasible = [curve["distance"]]

    def point(value: Any, where: str) -> None:
        if isinstance(value, dict) and "infeasible" in value:
            an_object(value, where, ("infeasible",))
            a_number(value["infeasible"], f"{where}.infeasible", low=0.0, high=LARGEST_RADIUS)
            infeasible.append(value["infeasible"])
            return
        an_object(value, where, _PARTS)
        shared = {key: curve[key] for key in ("version", "producer", "population", "sampling", "digest")}
        whole = {"format": FORMAT, **shared, **value}
        _claims(whole, shape)
        documents.append(whole)

    a_list(curve["points"], "points", None, point)
    if documents and max(infeasible) > _largest_radius([d["question"] for d in documents]):
        raise MalformedError("a radius or the distance of the curve is larger than its divergence can be")
    least = min((d["question"]["rho"] for d in documents), default=1.0)
    if documents and max(infeasible) > least + 1e-9:
        raise MalformedError(
            f"the curve contradicts itself: {max(infeasible)!r} cannot be infeasible if {least!r} is not"
        )
    if curve["sampling"] is not None and any(_sampled(d) != _sampled(documents[0]) for d in documents):
        raise MalformedError("the points of a curve must share one confidence and one shift, since `sampling` does")
    if not documents:
        raise MalformedError("the curve has no certified radius: there is nothing to check")
    return documents


def _sampled(document: dict[str, Any]) -> tuple[Any, Any]:
    return document["question"]["confidence"], document["question"]["shift"]
