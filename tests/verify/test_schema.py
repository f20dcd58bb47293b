"""The JSON Schemas of the documents: they describe what is written, and ask for what the reader asks for."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from fairbound import Population, certify, certify_curve, verify
from fairbound.verify.reading import CURVE_FORMAT, FORMAT, METRIC_FORMATS, VERSION, read_whole
from fairbound.verify.strict import MalformedError
from tests.forging import Document, places
from tests.problems import E, P

pytestmark = pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")  # a declared group is absent

Path = tuple[Any, ...]

#: So many places of a document are changed at most.
MOST_PLACES = 120

SCHEMAS: dict[str, Document] = {
    name: json.loads(files("fairbound.verify").joinpath(f"schemas/{VERSION}/{name}").read_text("utf-8"))
    for name in ("certificate.json", "curve.json", "metric.json")
}
REGISTRY: Registry[Any] = Registry().with_resources(
    [(name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()]
)
VALIDATORS: dict[str, Any] = {name: Draft202012Validator(schema, registry=REGISTRY) for name, schema in SCHEMAS.items()}

MEAN = Population.from_moments(P, E)
VARIANCE = Population.from_moments(P, E, 0.3 * E)
LOSSES = [0.1, 0.2, 0.4, 0.9, 0.3, 0.0, 0.5, 0.5]
ROWS = Population.from_losses(LOSSES, [0, 1, 0, 1, 0, 1, 0, 1], sensitive_features=list("aabbaabb"))
EMPTY = Population.from_losses(LOSSES[:6], [0, 1, 0, 1, 0, 1], sensitive_features=list("aabaaa"))
BINNED = Population.from_losses(
    [(i * i % 5003) / 5003 for i in range(5200)] + LOSSES[:3],
    [0] * 5200 + [1, 0, 1],
    sensitive_features=["a"] * 5201 + ["b"] * 2,
)
TUPLES = Population.from_losses(
    LOSSES[:4], [0, 1, 0, 1], sensitive_features={"sex": ["f", "f", "m", "m"], "old": [True, False, True, True]}
)
WIDE = Population.from_moments([[0.2, 0.1, 0.2], [0.1, 0.3, 0.1]], [[0.1, 0.3, 0.2], [0.2, 0.1, 0.4]])
EMPTY_MOMENTS = Population.from_moments([[0.5, 0.2], [0.3, 0.0]], E, groups=[1.5, "b"], labels=[False, True])
SEEN: Any = {"sensitive_features": list("aabbaabb") * 25, "groups": list("abc")}
SAMPLE = Population.from_losses([(i * i % 7) / 7 for i in range(200)], [0, 1] * 100, **SEEN)
ERRORS = Population.from_losses(
    [i % 7 == 0 for i in range(200)], [i % 3 % 2 for i in range(200)], loss_name="zero_one", **SEEN
)
SELECTED = Population.from_predictions(
    [i % 3 % 2 for i in range(200)], [i % 7 % 2 for i in range(200)], sensitive_features=list("aabb") * 50
).selecting()

PREDICTED = Population.from_moments(P, E, selection_rate=[[0.1, 0.6], [0.0, 0.5]])
SELECTED = Population.from_predictions(
    [i % 3 % 2 for i in range(200)], [i % 5 % 2 for i in range(200)], sensitive_features=list("aabbaabb") * 25
)

#: A real document of every kind.
DOCUMENTS: dict[str, Callable[[], str]] = {
    "general, mean": lambda: certify(MEAN, 0.3).to_json(),
    "general, variance": lambda: certify(VARIANCE, 0.3).to_json(),
    "general, losses": lambda: certify(ROWS, 0.4).to_json(),
    "general, bins": lambda: certify(BINNED, 0.4).to_json(),
    "general, limits": lambda: certify(MEAN, 0.5, group_skew=0.3, label_skew=0.4).to_json(),
    "general, empty cell": lambda: certify(EMPTY, 0.7).to_json(),
    "sensitive, mean": lambda: certify(MEAN, 0.3, shift="sensitive", tol=1e-2).to_json(),
    "sensitive, variance": lambda: certify(VARIANCE, 0.3, shift="sensitive", tol=1e-2).to_json(),
    "sensitive, losses": lambda: certify(ROWS, 0.4, shift="sensitive", tol=1e-2).to_json(),
    "sensitive, limits": lambda: certify(
        MEAN, 0.5, shift="sensitive", group_skew=0.3, label_skew=0.4, tol=1e-2
    ).to_json(),
    "general, linear limits": lambda: certify(
        MEAN, 0.5, group_limits={0: (0.4, 0.6)}, label_rows=([[0.5, -1.0]], [0.1])
    ).to_json(),
    "sensitive, linear limits": lambda: certify(
        WIDE, 0.5, shift="sensitive", min_group_mass=0.3, label_limits={0: (0.2, 0.5)}, tol=1e-1
    ).to_json(),
    "sensitive, more labels than groups": lambda: certify(WIDE, 0.4, shift="sensitive", tol=1e-1).to_json(),
    "general, more labels than groups": lambda: certify(WIDE, 0.4).to_json(),
    "sensitive, empty cell": lambda: certify(
        EMPTY_MOMENTS, 0.7, shift="sensitive", empty_cells="ceiling", tol=1e-2
    ).to_json(),
    "sensitive, empty cell among losses": lambda: certify(
        EMPTY, 0.7, shift="sensitive", empty_cells="ceiling", tol=1e-2
    ).to_json(),
    "observed support": lambda: certify(ROWS, 0.4, support="observed", tol=1e-2).to_json(),
    "observed support, no ceiling": lambda: certify(
        Population.from_losses(
            LOSSES, [0, 1, 0, 1, 0, 1, 0, 1], sensitive_features=list("aabbaabb"), ceiling=float("inf")
        ),
        0.4,
        support="observed",
        tol=1e-2,
    ).to_json(),
    "general, base rates": lambda: certify(MEAN, 0.3, base_rate_tolerance=0.05).to_json(),
    "sensitive, base rates": lambda: certify(
        WIDE, 0.9, shift="sensitive", base_rate_tolerance=0.05, tol=1e-9, budget=20
    ).to_json(),
    "base rates with a limit": lambda: certify(MEAN, 0.3, base_rate_tolerance=0.05, group_skew=0.2).to_json(),
    "any base rates": lambda: certify(ROWS, 0.3, fair=False).to_json(),
    "sphere, base rates": lambda: certify(ERRORS, 0.1, confidence=0.9, base_rate_tolerance=0.05).to_json(),
    "curve of any base rates": lambda: certify_curve(MEAN, [0.0, 0.1], fair=False).to_json(),
    "tuple names": lambda: certify(TUPLES, 0.9).to_json(),
    "sphere, general": lambda: certify(SAMPLE, 0.1, confidence=0.9).to_json(),
    "sphere, sensitive": lambda: certify(SAMPLE, 0.1, confidence=0.9, shift="sensitive", tol=1e-1).to_json(),
    "sphere, errors": lambda: certify(ERRORS, 0.1, confidence=0.9).to_json(),
    "hoeffding, general": lambda: certify(SAMPLE, 0.1, confidence=0.9, region="hoeffding").to_json(),
    "sphere curve": lambda: certify_curve(ERRORS, [0.0, 0.1, 0.3], confidence=0.9).to_json(),
    "selections": lambda: certify(SELECTED, 0.3).to_json(),
    "selections without a label": lambda: certify(replace(SELECTED, positive=None), 0.3).to_json(),
    "selections, sphere": lambda: certify(SELECTED, 0.1, confidence=0.9, shift="sensitive", tol=1e-1).to_json(),
    "curve": lambda: certify_curve(MEAN, [0.01, 0.1, 0.3]).to_json(),
    "parity": lambda: certify(MEAN, 0.3, metric="group_loss_difference").to_json(),
    "parity, limits": lambda: certify(
        MEAN, 0.4, metric="group_loss_difference", min_group_mass=0.2, min_label_mass=0.1
    ).to_json(),
    "parity, base rates within a tolerance": lambda: certify(
        MEAN, 0.3, metric="group_loss_difference", base_rate_tolerance=0.05, min_group_mass=0.2
    ).to_json(),
    "odds, base rates within a tolerance": lambda: certify(
        PREDICTED, 0.3, metric="true_positive_rate_difference", base_rate_tolerance=0.05, tol=1e-1
    ).to_json(),
    "odds, any base rates": lambda: certify(
        PREDICTED, 0.3, metric="true_positive_rate_difference", fair=False
    ).to_json(),
    "odds": lambda: certify(PREDICTED, 0.3, metric="true_positive_rate_difference", tol=1e-1).to_json(),
    "ratio, sphere": lambda: certify(SELECTED, 0.1, metric="demographic_parity_ratio", confidence=0.9).to_json(),
    "parity curve": lambda: certify_curve(MEAN, [0.01, 0.1, 0.3], metric="group_loss", group=1).to_json(),
    "total variation": lambda: certify(MEAN, 0.3, divergence="total_variation").to_json(),
    "total variation, limits": lambda: certify(
        WIDE, 0.5, divergence="total_variation", shift="sensitive", label_skew=0.4, tol=1e-2
    ).to_json(),
    "kl, variance": lambda: certify(VARIANCE, 0.3, divergence="kl", tol=1e-3).to_json(),
    "chi-squared, losses": lambda: certify(ROWS, 2.0, divergence="chi_squared", tol=1e-2).to_json(),
    "kl, without equal base rates": lambda: certify(ROWS, 0.3, divergence="kl", fair=False).to_json(),
    "kl curve": lambda: certify_curve(MEAN, [0.01, 0.1, 3.0], divergence="kl", tol=1e-3).to_json(),
    "kl, means": lambda: certify(ROWS, 0.4, divergence="kl", metric="group_loss", tol=1e-2).to_json(),
    "total variation, means": lambda: certify(
        WIDE, 0.2, divergence="total_variation", metric="cell_loss", group=0, label_skew=0.4, tol=1e-2
    ).to_json(),
    "chi-squared, comparisons": lambda: certify(
        MEAN, 0.2, divergence="chi_squared", metric="group_loss_difference", shift="sensitive", tol=1e-2
    ).to_json(),
    "kl, differences": lambda: certify(MEAN, 0.4, divergence="kl", metric="group_loss_difference", tol=1e-2).to_json(),
    "kl, means without equal base rates": lambda: certify(
        ROWS, 0.3, divergence="kl", metric="group_loss", fair=False
    ).to_json(),
    "kl curve of means": lambda: certify_curve(
        MEAN, [0.01, 0.1, 3.0], divergence="kl", metric="group_loss", tol=1e-3
    ).to_json(),
    "sensitive curve": lambda: certify_curve(MEAN, [0.01, 0.02, 0.3], shift="sensitive", tol=1e-2).to_json(),
}


@cache
def text(name: str) -> str:
    """Return one of the documents."""
    return DOCUMENTS[name]()


def document(name: str) -> Document:
    """Return a fresh copy of one of the documents."""
    found: Document = json.loads(text(name))
    return found


def validator(candidate: Document) -> Any:
    """Return the schema of the document's format."""
    kind = candidate.get("format")
    name = "metric.json" if kind in METRIC_FORMATS else "curve.json" if kind == CURVE_FORMAT else "certificate.json"
    return VALIDATORS[name]


def schema_accepts(candidate: Document) -> bool:
    """Whether the schema of the document's format accepts it."""
    return bool(validator(candidate).is_valid(candidate))


def refusal(candidate: Document) -> str | None:
    """Return why the reader refuses a document; None if it does not."""
    try:
        read_whole(json.dumps(candidate))
    except MalformedError as error:
        return str(error)
    return None


def inner(schema: Any) -> Iterator[Document]:
    """Go through all objects of a schema."""
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from inner(part)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == name


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_is_described_and_none_may_be_added(name: str) -> None:
    objects = [part for part in inner(SCHEMAS[name]) if part.get("type") == "object" and "title" in part]
    assert objects
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
        for key, field in part["properties"].items():
            described = field
            if "description" not in field:
                described = REGISTRY.resolver(name).lookup(field["$ref"]).contents
            assert described["description"].endswith("."), key


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents(name: str) -> None:
    found = document(name)
    assert [error.message for error in validator(found).iter_errors(found)] == []
    assert refusal(found) is None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_are_proved(name: str) -> None:
    assert verify(text(name)).reasons == ()


def test_all_kinds_are_among_the_documents() -> None:
    found = [document(name) for name in DOCUMENTS]
    single = [d for d in found if d["format"] == FORMAT]
    assert {d["population"]["knowledge"]["kind"] for d in single} == {"mean", "mean_variance", "losses"}
    kinds = {"tangent", "partition", "rates", "divergence_partition", "divergence_single"}
    assert {d["proof"]["kind"] for d in single} == kinds
    assert {d["proof"]["axis"] for d in single if "axis" in d["proof"]} == {"label", "group"}
    statements = [
        s for d in found if d["format"] in METRIC_FORMATS for p in d["points"] for s in p.get("statements", [])
    ]
    kinds = {"conditional", "rates_means", "mean_partition", "mean_single", "difference_partition"}
    assert {s["proof"]["kind"] for s in statements} == kinds
    leaves = [leaf for s in statements for leaf in s["proof"].get("leaves", [])]
    assert {leaf["relaxed"] for leaf in leaves if "relaxed" in leaf} == {True, False}
    assert {d["question"]["fair"] for d in single} == {True, False}
    assert {d["witness"]["mass"] is None for d in single} == {True, False}
    assert {d["question"]["support"] for d in single} == {"any", "observed"}
    assert any(b[0] < b[1] for b in document("general, bins")["population"]["knowledge"]["cells"][0][0])
    assert None in document("sensitive, limits")["proof"]["splits"]
    assert isinstance(document("tuple names")["population"]["groups"][0], list)
    assert "infeasible" in document("curve")["points"][0]


def put(*path: Any, value: Any) -> Callable[[Document], object]:
    """Return a change that puts a value at a place; the last step may be a new key."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


#: Documents that both refuse.
REFUSED: dict[str, tuple[str, Callable[[Document], object]]] = {
    "missing part": ("general, mean", lambda d: d.pop("proof")),
    "missing field": ("general, mean", lambda d: d["question"].pop("rho")),
    "missing moments": ("general, variance", lambda d: d["population"]["knowledge"].pop("variance")),
    "missing multipliers": ("sensitive, mean", lambda d: d["proof"]["leaves"][0].pop("omega")),
    "extra part": ("general, mean", put("signature", value="x")),
    "extra field": ("general, mean", put("claim", "certified", value=True)),
    "extra field of the other kind": ("general, mean", put("population", "knowledge", "variance", value=[[0, 0]] * 2)),
    "text for a number": ("general, mean", put("claim", "bound", value="0.3")),
    "truth value for a number": ("general, mean", put("claim", "bound", value=True)),
    "null for a number": ("general, mean", put("claim", "attained", value=None)),
    "list for an object": ("general, mean", put("claim", value=[])),
    "object for a list": ("general, mean", put("population", "groups", value={})),
    "number for a list": ("general, mean", put("proof", "share", value=0.5)),
    "number for a text": ("general, mean", put("producer", value=7)),
    "null for a name": ("general, mean", put("population", "groups", 0, value=None)),
    "name without parts": ("tuple names", put("population", "groups", 0, value=[])),
    "name in a name": ("tuple names", put("population", "groups", 0, value=[["f"], True])),
    "negative weight": ("general, mean", put("population", "weight", 0, 0, value=-0.1)),
    "negative loss": ("general, losses", put("population", "knowledge", "cells", 0, 0, 0, 0, value=-0.1)),
    "bin without weight": ("general, losses", put("population", "knowledge", "cells", 0, 0, 0, 2, value=0)),
    "bin with too large a share": ("general, losses", put("population", "knowledge", "cells", 0, 0, 0, 3, value=1.1)),
    "bin of five": ("general, losses", lambda d: d["population"]["knowledge"]["cells"][0][0][0].append(0)),
    "one group": ("general, mean", put("population", "groups", value=["a"])),
    "moments without ceiling": ("general, mean", put("population", "ceiling", value=None)),
    "moments with ceiling 0": ("general, variance", put("population", "ceiling", value=0)),
    "radius of 2": ("general, mean", put("question", "rho", value=2)),
    "negative limit": ("general, mean", put("question", "group_skew", value=-0.1)),
    "limits without rows": ("general, linear limits", lambda d: d["question"]["group_limits"].pop("rows")),
    "limits as a list": ("general, linear limits", put("question", "group_limits", value=[])),
    "no limits at all": ("general, linear limits", put("question", "group_limits", value={"rows": [], "most": []})),
    "a coefficient of 3": ("general, linear limits", put("question", "label_limits", "rows", 0, 0, value=3)),
    "missing multipliers of limits": ("general, linear limits", lambda d: d["proof"].pop("level_mu")),
    "missing multipliers of a leaf": ("sensitive, linear limits", lambda d: d["proof"]["leaves"][0].pop("share_mu")),
    "one floor": ("sensitive, limits", put("proof", "floors", value=0.1)),
    "a floor above 1": ("sensitive, limits", put("proof", "floors", 0, value=1.1)),
    "confidence": ("general, mean", put("question", "confidence", value=0.95)),
    "sampling without confidence": ("sphere, general", put("question", "confidence", value=None)),
    "confidence without sampling": ("sphere, general", put("sampling", value=None)),
    "certainty": ("sphere, general", put("question", "confidence", value=1)),
    "no confidence": ("sphere, general", put("question", "confidence", value=0)),
    "half a row": ("sphere, general", put("sampling", "counts", 0, 0, 0, value=0.5)),
    "negative count": ("sphere, general", put("sampling", "counts", 0, 0, 0, value=-1)),
    "losses without counts": ("sphere, general", put("sampling", "counts", value=None)),
    "counts without losses": ("sphere, general", put("sampling", "losses", value=None)),
    "negative seed": ("sphere, general", put("sampling", "seed", value=-1)),
    "affinity above 1": ("sphere, general", put("sampling", "affinity", value=1.1)),
    "number for a region": ("sphere, general", put("sampling", "region", value=1)),
    "number for a truth value": ("sphere, general", put("population", "weighted", value=0)),
    "half a row left out": ("sphere, general", put("population", "excluded_rows", value=0.5)),
    "stand-in without knowledge": ("hoeffding, general", lambda d: d["sampling"].pop("knowledge")),
    "curve without confidence at a point": ("sphere curve", put("points", 1, "question", "confidence", value=None)),
    "huge number": ("general, mean", put("proof", "phi", 0, 0, value=1e101)),
    "long text": ("general, mean", put("producer", value="x" * 10_001)),
    "unknown shift": ("general, mean", put("question", "shift", value="any")),
    "unknown divergence": ("general, mean", put("question", "divergence", value="wasserstein")),
    "unknown knowledge": ("general, mean", put("population", "knowledge", "kind", value="median")),
    "unknown proof": ("general, mean", put("proof", "kind", value="trust")),
    "unknown version": ("general, mean", put("version", value="2.0.0")),
    "unknown format": ("general, mean", put("format", value="certificate")),
    "negative corner": ("sensitive, mean", put("proof", "splits", 0, value=[-1, 0])),
    "three corners": ("sensitive, mean", put("proof", "splits", 0, value=[0, 1, 2])),
    "tolerance of zero": ("general, base rates", put("question", "base_rate_tolerance", value=0)),
    "tolerance above one": ("general, base rates", put("question", "base_rate_tolerance", value=1.5)),
    "tolerance without a condition": ("general, base rates", put("question", "fair", value=False)),
    "tolerance and label limit": ("general, base rates", put("question", "label_skew", value=0.5)),
    "no condition and label limit": ("any base rates", put("question", "label_skew", value=0.5)),
    "condition as a number": ("any base rates", put("question", "fair", value=0)),
    "negative mass": ("general, base rates", put("witness", "mass", 0, 0, value=-0.1)),
    "number for masses": ("general, base rates", put("witness", "mass", value=1)),
    "leaf without lam": ("general, base rates", lambda d: d["proof"]["leaves"][0].pop("lam")),
    "number for nu": ("general, base rates", put("proof", "leaves", 0, "nu", value=0)),
    "axis of a proof that has none": ("general, base rates", put("proof", "axis", value="group")),
    "curve without distance": ("curve", lambda d: d.pop("distance")),
    "distance of 2": ("curve", put("distance", value=2)),
    "total variation of 2": ("total variation", put("question", "rho", value=2)),
    "distance of 2 in total variation": (
        "curve",
        lambda d: (
            [p["question"].update(divergence="total_variation") for p in d["points"][1:]] + [d.update(distance=2)]
        ),
    ),
    "divergence of a sample": ("sphere, general", put("question", "divergence", value="kl")),
    "limits of unequal base rates": ("kl, without equal base rates", put("question", "label_skew", value=0.5)),
    "negative multiplier of the ball": ("kl, variance", put("proof", "leaves", 0, "lam", value=-1.0)),
    "leaf without multiplier of the ball": ("kl, variance", lambda d: d["proof"]["leaves"][0].pop("lam")),
    "infeasible and more": ("curve", put("points", 0, "claim", value={"bound": 1, "attained": 0})),
    "infeasible text": ("curve", put("points", 0, "infeasible", value="yes")),
    "population in a point": ("curve", lambda d: d["points"][1].update(population=d["population"])),
    "missing part of a point": ("curve", lambda d: d["points"][1].pop("witness")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_schema_and_reader_refuse(name: str) -> None:
    kind, change = REFUSED[name]
    broken = document(kind)
    change(broken)
    assert refusal(broken) is not None
    assert not schema_accepts(broken)


#: Documents that only the reader refuses, and words of its reason: no schema can compare two places, or 1.0 with 1.
BEYOND: dict[str, tuple[str, Callable[[Document], object], str]] = {
    "shapes differ": (
        "general, mean",
        lambda d: d["population"]["weight"].append([0.1, 0.1]),
        "must have 2 entries",
    ),
    "limits of another shape": (
        "general, linear limits",
        lambda d: d["question"]["group_limits"]["rows"][0].append(0.5),
        "must have 2 entries",
    ),
    "limits without a right side": (
        "general, linear limits",
        lambda d: d["question"]["group_limits"]["most"].pop(),
        "entries, not",
    ),
    "multipliers without limits": ("general, mean", put("proof", "level_mu", value=[0.1]), "must have 0 entries"),
    "multipliers of other limits": (
        "sensitive, linear limits",
        lambda d: d["proof"]["leaves"][0]["level_mu"].append(0.1),
        "entries, not",
    ),
    "no weight": ("general, mean", put("population", "weight", value=[[0, 0], [0, 0]]), "positive somewhere"),
    "stand-in without weight": (
        "sphere, sensitive",
        put("sampling", "weight", value=[[0, 0]] * 3),
        "positive somewhere",
    ),
    "losses that do not increase": ("sphere, general", put("sampling", "losses", 1, value=0), "must increase"),
    "counts as decimals": ("sphere, general", put("sampling", "counts", 0, 0, 0, value=2.0), "whole number"),
    "counts of another shape": (
        "sphere, general",
        lambda d: d["sampling"]["counts"][0][0].pop(),
        "entries, not",
    ),
    "confidences that differ": (
        "sphere curve",
        put("points", 1, "question", "confidence", value=0.8),
        "share one question, but their confidence differs",
    ),
    "mean above the ceiling": (
        "general, mean",
        put("population", "knowledge", "mean", 0, 0, value=1.5),
        "above the ceiling",
    ),
    "loss above the ceiling": ("general, losses", put("population", "ceiling", value=0.2), "above the ceiling"),
    "impossible variance": (
        "general, variance",
        put("population", "knowledge", "variance", 0, 0, value=0.9),
        "impossible",
    ),
    "bin upside down": ("general, bins", put("population", "knowledge", "cells", 0, 0, 5, 0, value=1), "low <= high"),
    "bins that miss the weight": (
        "general, losses",
        lambda d: d["population"]["knowledge"]["cells"][0][0].pop(),
        "do not add up",
    ),
    "corners as decimals": ("sensitive, mean", put("proof", "splits", 0, value=[0.0, 1.0]), "pair of corners"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_only_the_reader_refuses(name: str) -> None:
    kind, change, reason = BEYOND[name]
    broken = document(kind)
    change(broken)
    assert reason in str(refusal(broken))
    assert schema_accepts(broken)


def mutants(name: str) -> Iterator[tuple[Path, object, Document]]:
    """Change each place of a document in many ways, one at a time; of large documents, places at equal distances."""
    original = document(name)
    found = places(original, ends=True)
    for path in found[:: 1 + len(found) // MOST_PLACES]:
        parent: Any = original
        for step in path[:-1]:
            parent = parent[step]
        before = parent[path[-1]]
        for value in (None, True, "x", -1, 0, 0.5, 2, 1e101, [], [0.5], [[0.5, 0.5]], {}, {"kind": "mean"}):
            parent[path[-1]] = value
            yield path, value, original
        parent[path[-1]] = before
        if isinstance(parent, dict):
            broken = copy.deepcopy(original)
            put(*path[:-1], "new", value=before)(broken)
            yield path, "renamed", broken
        if isinstance(before, list) and before:
            parent[path[-1]] = before[:-1]
            yield path, "shorter", original
            parent[path[-1]] = [*before, before[0]]
            yield path, "longer", original
            parent[path[-1]] = before


UNSAYABLE = (
    "no certified radius",
    "same name twice",
    "contradicts itself",
    "entries, not",
    "above the ceiling",
    "impossible",
    "must be positive somewhere",
    "must increase from 0 to the ceiling",
    "must share one question",
    "do not add up",
    "low <= high",
    "no losses but 0 and 1",
    "ceiling must be",
    "must not have variances",
    "pair of corners",
)


@pytest.mark.parametrize(
    "name",
    [
        "general, mean",
        "general, variance",
        "general, losses",
        "sensitive, limits",
        "general, linear limits",
        "sensitive, linear limits",
        "observed support",
        "selections",
        "curve",
        "sphere, general",
        "sphere, sensitive",
        "hoeffding, general",
        "sphere curve",
        "total variation",
        "kl, variance",
        "kl, without equal base rates",
        "kl curve",
    ],
)
def test_schema_and_reader_agree_on_mutants(name: str) -> None:
    """What the reader accepts the schema accepts; what only the reader refuses is what no schema can say."""
    counts = {True: 0, False: 0}
    for path, value, mutant in mutants(name):
        reason = refusal(mutant)
        counts[reason is None] += 1
        if reason is None or not any(words in reason for words in UNSAYABLE):
            assert schema_accepts(mutant) == (reason is None), (path, value, reason)
    assert min(counts.values()) > 20
