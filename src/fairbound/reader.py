"""Reading certificates that come from strangers: strict JSON, limited in size and depth, complete and nothing more.

Standard library only; no code from a document is ever run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

FORMAT = "fairbound-certificate"
CURVE_FORMAT = "fairbound-curve"
VERSION = "1.0.0"

#: Limits on what is read at all.
MOST_CHARACTERS = 32_000_000
MOST_DEPTH = 12
LARGEST_NUMBER = 1e100


class MalformedError(ValueError):
    """The document is not a certificate; the message says where and why."""


def canonical(value: Any) -> str:
    """Return the one text of a JSON value that digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def read_documents(document: str | bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """Return the certificates in a document, well-formed; a curve gives one for each feasible radius."""
    if not isinstance(document, str | bytes | dict):
        raise MalformedError("a document is JSON text, or what json.loads makes of it")
    parsed = document if isinstance(document, dict) else _parse(document)
    if not isinstance(parsed, dict):
        raise MalformedError("the document is not a JSON object")
    if parsed.get("format") == CURVE_FORMAT:
        return _read_curve(parsed)
    _certificate(parsed)
    return [parsed]


def read_format(document: str | bytes) -> str:
    """Return which format a well-formed document says it has."""
    parsed = _parse(document)
    return str(parsed.get("format")) if isinstance(parsed, dict) else ""


def _parse(text: str | bytes) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise MalformedError(f"the document has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise MalformedError(f"the document is not UTF-8 text: {error.reason} at byte {error.start}") from None
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):  # not those inside texts
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MOST_DEPTH:
        raise MalformedError(f"the document is nested {deepest} deep; certificates are at most {MOST_DEPTH}")
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except MalformedError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"the document is not JSON: {error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MalformedError(f"the key {twice[:60]!r} stands twice in one object")
    return found


def _no_constants(name: str) -> NoReturn:
    raise MalformedError(f"{name} is not a number that a certificate can hold")


def _object(value: Any, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedError(f"{where} must be an object")
    missing = [key for key in keys if key not in value]
    extra = [str(key)[:60] for key in value if key not in keys]
    if missing:
        raise MalformedError(f"{where} lacks {', '.join(missing)}")
    if extra:
        raise MalformedError(f"{where} has unknown entries: {', '.join(extra)}")
    return value


def _number(value: Any, where: str, *, low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedError(f"{where} must be a number")
    if not (low <= value <= high) or (isinstance(value, float) and not math.isfinite(value)):
        raise MalformedError(f"{where} is out of range [{low:g}, {high:g}]")


def _list(value: Any, where: str, length: int | None, item: Callable[[Any, str], None]) -> None:
    if not isinstance(value, list):
        raise MalformedError(f"{where} must be a list")
    if length is not None and len(value) != length:
        raise MalformedError(f"{where} must have {length} entries, not {len(value)}")
    for index, entry in enumerate(value):
        item(entry, f"{where}[{index}]")


def _table(value: Any, where: str, shape: tuple[int, int], item: Callable[[Any, str], None]) -> None:
    _list(value, where, shape[0], lambda row, at: _list(row, at, shape[1], item))


def _positive(value: Any, where: str) -> None:
    _number(value, where, low=0.0)


def _word(value: Any, where: str, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise MalformedError(f"{where} must be one of {', '.join(allowed)}")


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str) or len(value) > 10_000:
        raise MalformedError(f"{where} must be a text of at most 10,000 characters")


def _name(value: Any, where: str) -> None:
    parts = value if isinstance(value, list) else [value]
    if not parts or any(not isinstance(part, str | int | float | bool) for part in parts):
        raise MalformedError(f"{where} must be a name: a text, a number, a truth value, or a list of these")


def _optional(item: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
    return lambda value, where: None if value is None else item(value, where)


def _header(document: dict[str, Any], name: str) -> None:
    if document["format"] != name:
        raise MalformedError(f"format must be {name}")
    if document["version"] != VERSION:
        raise MalformedError(f"version must be {VERSION}")
    _text(document["producer"], "producer")
    _text(document["digest"], "digest")


_PARTS = ("question", "claim", "witness", "proof", "assumptions")


def _certificate(document: dict[str, Any]) -> None:
    _object(document, "the certificate", ("format", "version", "producer", "population", *_PARTS, "digest"))
    _header(document, FORMAT)
    _claims(document, _population(document["population"]))


def _claims(document: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check all parts but the header and the population."""
    _question(document["question"])
    claim = _object(document["claim"], "claim", ("bound", "attained"))
    for key in claim:
        _positive(claim[key], f"claim.{key}")
    witness = _object(document["witness"], "witness", ("group_mass", "label_mass", "reweighting", "unseen"))
    _list(witness["group_mass"], "witness.group_mass", shape[0], _positive)
    _list(witness["label_mass"], "witness.label_mass", shape[1], _positive)
    _table(witness["unseen"], "witness.unseen", shape, _positive)
    _table(witness["reweighting"], "witness.reweighting", shape, lambda v, at: _list(v, at, None, _positive))
    _proof(document["proof"], shape)
    _list(document["assumptions"], "assumptions", None, _text)


def _population(population: Any) -> tuple[int, int]:
    _object(population, "population", ("groups", "labels", "ceiling", "rows", "loss", "weight", "knowledge"))
    for key in ("groups", "labels"):
        _list(population[key], f"population.{key}", None, _name)
        if len(population[key]) < 2:
            raise MalformedError(f"population.{key} must have two entries or more")
        if len({canonical(name) for name in population[key]}) < len(population[key]):
            raise MalformedError(f"population.{key} has the same name twice")
    shape = len(population["groups"]), len(population["labels"])
    _optional(_positive)(population["ceiling"], "population.ceiling")
    _optional(_positive)(population["rows"], "population.rows")
    _text(population["loss"], "population.loss")
    _table(population["weight"], "population.weight", shape, _positive)
    if not all(map(any, population["weight"])) or not all(map(any, zip(*population["weight"], strict=True))):
        raise MalformedError("population.weight must be positive somewhere in each group and each label")
    if isinstance(population["knowledge"], dict) and population["knowledge"].get("kind") == "losses":
        _losses(population, shape)
    else:
        _moments(population, shape)
    return shape


def _losses(population: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check a table of losses: bins below the ceiling that add up to the weights of the cells."""
    knowledge, top = population["knowledge"], population["ceiling"]
    _object(knowledge, "population.knowledge", ("kind", "cells", "rows"))
    _positive(knowledge["rows"], "population.knowledge.rows")
    _table(knowledge["cells"], "population.knowledge.cells", shape, lambda v, at: _list(v, at, None, _bin))
    for s, row in enumerate(knowledge["cells"]):
        for y, bins in enumerate(row):
            if any(top is not None and b[1] > top for b in bins):
                raise MalformedError(f"population.knowledge.cells[{s}][{y}] has a loss above the ceiling")
            total, weight = math.fsum(b[2] for b in bins), population["weight"][s][y]
            if abs(total - weight) > 1e-9 * weight:
                raise MalformedError(f"the bins of population.knowledge.cells[{s}][{y}] do not add up to its weight")


def _moments(population: dict[str, Any], shape: tuple[int, int]) -> None:
    """Check means, and variances that are possible."""
    knowledge, top = population["knowledge"], population["ceiling"]
    kind = knowledge.get("kind") if isinstance(knowledge, dict) else None
    keys = ["mean"] if kind == "mean" else ["mean", "variance"]
    _object(knowledge, "population.knowledge", ("kind", *keys))
    _word(kind, "population.knowledge.kind", ("mean", "mean_variance", "losses"))
    if top is None or not top > 0:
        raise MalformedError("population.ceiling must be positive where only moments are known")
    for key in keys:
        _table(knowledge[key], f"population.knowledge.{key}", shape, _positive)
    for s in range(shape[0]):
        for y in range(shape[1]):
            mean = knowledge["mean"][s][y]
            if mean > top:
                raise MalformedError(f"population.knowledge.mean[{s}][{y}] is above the ceiling")
            if kind != "mean" and knowledge["variance"][s][y] > mean * (top - mean) * (1 + 1e-9):
                raise MalformedError(f"population.knowledge.variance[{s}][{y}] is impossible for its mean")


def _bin(value: Any, where: str) -> None:
    """Check low <= high, a positive weight and a share of the upper edge."""
    _list(value, where, 4, _positive)
    low, high, weight, share = value
    if not (low <= high and weight > 0 and share <= 1):
        raise MalformedError(f"{where} must be low <= high, weight > 0, and the share of high, at most 1")


def _question(question: Any) -> None:
    keys = (
        "shift",
        "support",
        "empty_cells",
        "divergence",
        "rho",
        "group_skew",
        "label_skew",
        "confidence",
        "tolerance",
    )
    _object(question, "question", keys)
    _word(question["shift"], "question.shift", ("general", "sensitive"))
    _word(question["support"], "question.support", ("any", "observed"))
    _word(question["empty_cells"], "question.empty_cells", ("refuse", "ceiling"))
    _word(question["divergence"], "question.divergence", ("hellinger",))
    if question["confidence"] is not None:
        raise MalformedError("question.confidence must be null in this version")
    _number(question["rho"], "question.rho", low=0.0, high=1.0)
    for key in ("group_skew", "label_skew"):
        _optional(lambda v, at: _number(v, at, low=0.0, high=1.0))(question[key], f"question.{key}")
    _positive(question["tolerance"], "question.tolerance")


def _proof(proof: Any, shape: tuple[int, int]) -> None:
    kind = proof.get("kind") if isinstance(proof, dict) else None
    if kind == "tangent":
        _object(proof, "proof", ("kind", "axis", "phi", "share"))
    else:
        _object(proof, "proof", ("kind", "axis", "floor", "splits", "leaves"))
        _word(kind, "proof.kind", ("tangent", "partition"))
    _word(proof["axis"], "proof.axis", ("label", "group"))
    shape = shape if proof["axis"] == "label" else (shape[1], shape[0])
    if kind == "tangent":
        _table(proof["phi"], "proof.phi", shape, _number)
        _list(proof["share"], "proof.share", shape[1], _number)
        return
    _number(proof["floor"], "proof.floor", low=0.0, high=1.0)
    _list(proof["splits"], "proof.splits", None, _optional(_split))

    def leaf(value: Any, where: str) -> None:
        _object(value, where, ("w", "centre", "omega"))
        _table(value["w"], f"{where}.w", shape, _number)
        _list(value["centre"], f"{where}.centre", shape[1], _number)
        _list(value["omega"], f"{where}.omega", shape[1], _number)

    _list(proof["leaves"], "proof.leaves", None, leaf)


def _split(value: Any, where: str) -> None:
    if not isinstance(value, list) or len(value) != 2 or any(type(v) is not int or v < 0 for v in value):
        raise MalformedError(f"{where} must be null or a pair of corners")


def _read_curve(curve: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a curve's certificates, each with the common population."""
    _object(curve, "the curve", ("format", "version", "producer", "population", "distance", "points", "digest"))
    _header(curve, CURVE_FORMAT)
    _number(curve["distance"], "distance", low=0.0, high=1.0)
    shape = _population(curve["population"])
    documents: list[dict[str, Any]] = []
    infeasible = [curve["distance"]]

    def point(value: Any, where: str) -> None:
        if isinstance(value, dict) and "infeasible" in value:
            _object(value, where, ("infeasible",))
            _number(value["infeasible"], f"{where}.infeasible", low=0.0, high=1.0)
            infeasible.append(value["infeasible"])
            return
        _object(value, where, _PARTS)
        shared = {key: curve[key] for key in ("version", "producer", "population", "digest")}
        whole = {"format": FORMAT, **shared, **value}
        _claims(whole, shape)
        documents.append(whole)

    _list(curve["points"], "points", None, point)
    least = min((d["question"]["rho"] for d in documents), default=1.0)
    if documents and max(infeasible) > least + 1e-9:
        raise MalformedError(
            f"the curve contradicts itself: {max(infeasible)!r} cannot be infeasible if {least!r} is not"
        )
    if not documents:
        raise MalformedError("the curve has no certified radius: there is nothing to check")
    return documents
