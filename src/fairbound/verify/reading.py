"""Reading certificates that come from strangers: complete, and nothing more.

Standard library only; no code from a document is ever run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from fairbound.verify.looks import looks
from fairbound.verify.reading_proofs import read_conditional, read_proof
from fairbound.verify.strict import (
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
METRIC_FORMATS = ("fairbound-metric", "fairbound-metric-curve")
VERSION = "1.2.0"

#: The divergences that are at most one, and those that have no largest value.
UNIT_RANGE = ("hellinger", "total_variation")
UNLIMITED = ("kl", "chi_squared")
LARGEST_RADIUS = 1e9
#: The name of the value that is 1 where the model predicts ``positive``, and else 0.
SELECTED = "selected"

#: Names that say what the values are: of these there is nothing but 0 and 1, and of those nothing above.
TWO_VALUED = ("zero_one", SELECTED)
CEILINGS = {"zero_one": 1.0, SELECTED: 1.0, "brier": 1.0, "jsd": 1.0, "absolute": 1.0}

#: Names that a reader takes for one of these: no other loss may look like one.
OURS = (*CEILINGS, "cross_entropy")
RESERVED = (
    *OURS,
    "error rate",
    "Brier loss",
    "Jensen-Shannon loss",
    "absolute loss",
    "zero_one loss",
    "0-1 loss",
    "0/1 loss",
    "selection rate",
)


@dataclass(frozen=True)
class Whole:
    """A document in parts, well-formed.

    Attributes
    ----------
    parts
        Certificates: for each statement that the document makes, one for each feasible radius.
    metric
        Name and group of the metric that the statements belong to; None for one statement, about the loss of all.
    claims
        What is claimed of the metric, for each feasible radius.
    confidence
        At which all statements are claimed to hold together.
    """

    parts: list[list[dict[str, Any]]]
    metric: dict[str, Any] | None = None
    claims: tuple[dict[str, Any], ...] = ()
    confidence: float | None = None

    @property
    def lower(self) -> bool:
        """Whether the metric is bounded from below."""
        objective = self.parts[0][0]["question"]["objective"]
        return objective is not None and bool(objective["ratio"])


def read_whole(document: str | bytes | dict[str, Any]) -> Whole:
    """Return a document in parts."""
    if not isinstance(document, str | bytes | dict):
        raise MalformedError("a document is JSON text, or what json.loads makes of it")
    parsed = document if isinstance(document, dict) else parse(document)
    if isinstance(parsed, dict) and parsed.get("format") in METRIC_FORMATS:
        return _read_metric(parsed)
    return Whole([read_documents(parsed)])


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


def is_curve(document: str | bytes) -> bool:
    """Whether a document says that it holds certificates at several radii."""
    return read_format(document) in {CURVE_FORMAT, METRIC_FORMATS[1]}


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


_PARTS = ("question", "claim", "witness", "proof")


def _certificate(document: dict[str, Any]) -> None:
    keys = ("format", "version", "producer", "population", "sampling", *_PARTS, "digest")
    an_object(document, "the certificate", keys)
    _header(document, FORMAT)
    shape = _population(document["population"])
    _sampling(document, shape)
    _claims(document, shape)


def _claim(claim: Any, *, amount: bool) -> None:
    """Check what is claimed: losses are not negative, differences may be."""
    an_object(claim, "claim", ("bound", "attained"))
    for key in claim:
        (an_amount if amount else a_number)(claim[key], f"claim.{key}")


def _claims(document: dict[str, Any], shape: tuple[int, int], *, compared: bool = False) -> None:
    """Check all parts but the header, the population and the sampling."""
    _question(document["question"], sampled=document["sampling"] is not None)
    limits = tuple(_limits(document["question"], *side) for side in zip(("group", "label"), shape, strict=True))
    about = document["question"]["objective"]
    if (about is not None) != compared:
        raise MalformedError("question.objective is for the statements of a metric, and null elsewhere")
    _claim(document["claim"], amount=not compared)
    witness = an_object(document["witness"], "witness", ("group_mass", "label_mass", "mass", "reweighting", "unseen"))
    a_list(witness["group_mass"], "witness.group_mass", shape[0], an_amount)
    a_list(witness["label_mass"], "witness.label_mass", shape[1], an_amount)
    optional(lambda v, at: a_table(v, at, shape, an_amount))(witness["mass"], "witness.mass")
    a_table(witness["unseen"], "witness.unseen", shape, an_amount)
    a_table(witness["reweighting"], "witness.reweighting", shape, lambda v, at: a_list(v, at, None, an_amount))
    (read_conditional if compared else read_proof)(document["proof"], shape, limits)


def _population(population: Any) -> tuple[int, int]:
    keys = ("groups", "labels", "ceiling", "rows", "excluded_rows", "weighted", "loss", "positive")
    an_object(population, "population", (*keys, "weight", "knowledge"))
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
    optional(a_name)(population["positive"], "population.positive")
    if population["positive"] is not None and population["loss"] != SELECTED:
        raise MalformedError(f"population.positive must be null unless population.loss is {SELECTED!r}")
    _cells(population, "population", population["ceiling"], shape)
    _named_values(population)
    return shape


def _named_values(population: dict[str, Any]) -> None:
    """Check that values are what the name of the loss says: whoever reads the name relies on it."""
    name, known = population["loss"], population["knowledge"]
    alike = next((ours for ours in RESERVED if looks(ours) == looks(name) and name not in OURS), None)
    if alike is not None:
        raise MalformedError(f"population.loss must not look like {alike!r} and be another name")
    top = CEILINGS.get(name)
    if top is not None and (population["ceiling"] is None or population["ceiling"] > top):
        raise MalformedError(f"population.ceiling must be at most {top:g} for the loss {name}")
    if name not in TWO_VALUED:
        return
    if population["ceiling"] != 1:
        raise MalformedError(f"population.ceiling must be 1 for the loss {name}, which is 0 or 1")
    if known["kind"] == "mean_variance":
        raise MalformedError(f"population.knowledge must not have variances for the loss {name}, which is 0 or 1")
    if known["kind"] == "losses" and any(
        b[0] != b[1] or b[1] not in {0, 1} for row in known["cells"] for cell in row for b in cell
    ):
        raise MalformedError(f"population.knowledge.cells must have no losses but 0 and 1 for the loss {name}")


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
        "rho",
        "group_skew",
        "label_skew",
        "group_limits",
        "label_limits",
        "fair",
        "base_rate_tolerance",
        "confidence",
        "tolerance",
        "objective",
    )
    an_object(question, "question", keys)
    optional(_objective)(question["objective"], "question.objective")
    a_word(question["shift"], "question.shift", ("general", "sensitive"))
    a_word(question["support"], "question.support", ("any", "observed"))
    a_word(question["empty_cells"], "question.empty_cells", ("refuse", "ceiling"))
    a_word(question["divergence"], "question.divergence", (*UNIT_RANGE, *UNLIMITED))
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
    _base_rates(question)
    an_amount(question["tolerance"], "question.tolerance")


def _objective(objective: Any, where: str) -> None:
    an_object(objective, where, ("plus", "minus", "label", "inside", "ratio"))
    a_count(objective["plus"], f"{where}.plus")
    optional(a_count)(objective["minus"], f"{where}.minus")
    optional(a_count)(objective["label"], f"{where}.label")
    a_truth(objective["inside"], f"{where}.inside")
    a_truth(objective["ratio"], f"{where}.ratio")
    if objective["ratio"] and (objective["minus"] is None or objective["label"] is not None):
        raise MalformedError(f"{where}.ratio is for two groups, and for all of their rows")


def _limits(question: dict[str, Any], side: str, size: int) -> int:
    """Check the linear limits on the shares of one side; return how many there are."""
    limits, where = question[f"{side}_limits"], f"question.{side}_limits"
    if limits is None:
        return 0
    an_object(limits, where, ("rows", "most"))
    a_list(limits["most"], f"{where}.most", None, _coefficient)
    if not limits["most"]:
        raise MalformedError(f"{where}.most must have one entry or more; null means no limits")
    count = len(limits["most"])
    a_table(limits["rows"], f"{where}.rows", (count, size), _coefficient)
    return count


def _coefficient(value: Any, where: str) -> None:
    """Accept a coefficient of a limit: limits are scaled."""
    a_number(value, where, low=-2.0, high=2.0)


def _base_rates(question: dict[str, Any]) -> None:
    """Check what is asked of base rates: equal, nearly equal, or nothing."""
    a_truth(question["fair"], "question.fair")
    tolerance = question["base_rate_tolerance"]
    optional(lambda v, at: a_number(v, at, low=0.0, high=1.0))(tolerance, "question.base_rate_tolerance")
    if tolerance is not None and not (question["fair"] and tolerance > 0):
        raise MalformedError("question.base_rate_tolerance must be positive, and null if question.fair is false")
    if question["label_skew"] is not None and not (question["fair"] and tolerance is None):
        raise MalformedError("question.label_skew must be null where base rates may differ")


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
    _consistent(infeasible, [d["question"]["rho"] for d in documents])
    if not documents:
        raise MalformedError("the curve has no certified radius: there is nothing to check")
    _one_question([documents])
    return documents


def _read_metric(whole: dict[str, Any]) -> Whole:
    """Return the statements that a metric is made of, each as certificates with the common population."""
    keys = ("population", "metric", "confidence", "sampling", "distance", "points", "digest")
    an_object(whole, "the metric", ("format", "version", "producer", *keys))
    _header(whole, whole["format"])
    metric = an_object(whole["metric"], "metric", ("name", "group"))
    a_text(metric["name"], "metric.name")
    optional(a_name)(metric["group"], "metric.group")
    optional(lambda v, at: a_number(v, at, low=0.0, high=1.0))(whole["confidence"], "confidence")
    distance = partial(a_number, low=0.0, high=LARGEST_RADIUS)
    (distance if whole["format"] == METRIC_FORMATS[1] else optional(distance))(whole["distance"], "distance")
    shape = _population(whole["population"])
    a_list(whole["sampling"], "sampling", None, lambda _, __: None)
    shared = [
        {
            "format": FORMAT,
            **{key: whole[key] for key in ("version", "producer", "population", "digest")},
            "sampling": one,
        }
        for one in whole["sampling"]
    ]
    for one in shared:
        _sampling(one, shape)
    parts: list[list[dict[str, Any]]] = [[] for _ in shared]
    claims: list[dict[str, Any]] = []
    infeasible = [whole["distance"] or 0.0]

    def point(value: Any, where: str) -> None:
        if isinstance(value, dict) and "infeasible" in value:
            an_object(value, where, ("infeasible",))
            a_number(value["infeasible"], f"{where}.infeasible", low=0.0, high=LARGEST_RADIUS)
            infeasible.append(value["infeasible"])
            return
        an_object(value, where, ("claim", "statements"))
        _claim(value["claim"], amount=False)
        claims.append(value["claim"])
        a_list(value["statements"], f"{where}.statements", len(shared), lambda _, __: None)
        for number, statement in enumerate(value["statements"]):
            document = {**shared[number], **an_object(statement, f"{where}.statements[{number}]", _PARTS)}
            _claims(document, shape, compared=True)
            parts[number].append(document)

    a_list(whole["points"], "points", None, point)
    if not claims or not parts:
        raise MalformedError("the document has no certified radius: there is nothing to check")
    if max(infeasible) > _largest_radius([d["question"] for documents in parts for d in documents]):
        raise MalformedError("a radius or the distance of the curve is larger than its divergence can be")
    _consistent(infeasible, [d["question"]["rho"] for d in parts[0]])
    _one_question(parts)
    found = Whole(parts, metric, tuple(claims), whole["confidence"])
    if found.lower and any(
        v > 1 for claim in [*claims, *(d["claim"] for p in parts for d in p)] for v in claim.values()
    ):
        raise MalformedError("claim: a ratio of the smaller to the larger of two means is at most 1")
    if whole["format"] == METRIC_FORMATS[0] and len(whole["points"]) != 1:
        raise MalformedError("a single certificate has one point")
    return found


def _consistent(infeasible: list[float], rhos: list[float]) -> None:
    """Refuse a curve with an infeasible radius beyond a feasible one."""
    least = min(rhos, default=1.0)
    if rhos and max(infeasible) > least + 1e-9:
        raise MalformedError(
            f"the curve contradicts itself: {max(infeasible)!r} cannot be infeasible if {least!r} is not"
        )


def _one_question(parts: list[list[dict[str, Any]]]) -> None:
    """Refuse points, or statements, that answer different questions: the radius alone may differ from point to point.

    What a reader is told of the question is told once, and a sample is compared with the question once. So of each
    point everything must be as in the first, and of each statement everything but what it is about.
    """
    first = parts[0][0]["question"]
    for documents in parts:
        own = documents[0]["question"]
        for key in first:
            if key != "rho" and any(canonical(d["question"][key]) != canonical(own[key]) for d in documents):
                raise MalformedError(f"the points of a curve must share one question, but their {key} differs")
            if key not in {"rho", "objective"} and canonical(own[key]) != canonical(first[key]):
                raise MalformedError(f"the statements must answer one question, but their {key} differs")
    for key in ("region", "losses", "seed"):
        if len({canonical((documents[0]["sampling"] or {}).get(key)) for documents in parts}) > 1:
            raise MalformedError(f"the statements must rest on one sample, but their sampling.{key} differs")
    for number, document in enumerate(parts[0]):
        if any(documents[number]["question"]["rho"] != document["question"]["rho"] for documents in parts):
            raise MalformedError("the statements of a point must have one radius")
