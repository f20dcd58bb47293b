"""The JSON Schema of documents: it is made from their description, and asks for what the reader's types ask for."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator

from fairbound import Population, certify, certify_curve, verify
from fairbound.certificate.schema import MEANINGS, schema
from fairbound.verify.document import VERSION, Fractional, Tilted
from fairbound.verify.document import Document as Written
from fairbound.verify.reading import read_document
from fairbound.verify.strict import MalformedError, parse, read
from tests.by_hand import only
from tests.forging import POPULATIONS, Document, places
from tests.problems import E, P

pytestmark = pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")  # a declared group is absent

Path = tuple[Any, ...]

#: So many places of a document are changed at most.
MOST_PLACES = 150

SCHEMA: Document = json.loads(
    files("fairbound.verify").joinpath(f"schemas/{VERSION}/certificate.json").read_text("utf-8")
)
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)

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
    [i % 7 == 0 for i in range(200)], [i % 3 % 2 for i in range(200)], loss="zero_one", **SEEN
)
SELECTED = Population.from_predictions(
    [i % 3 % 2 for i in range(200)], [i % 7 % 2 for i in range(200)], sensitive_features=list("aabb") * 50
).selecting()

PREDICTED = Population.from_moments(P, E, selection_rate=[[0.1, 0.6], [0.0, 0.5]])
PREDICTIONS = Population.from_predictions(
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
    "selections without a label": lambda: certify(replace(SELECTED, pos_label=None), 0.3).to_json(),
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
    "odds": lambda: certify(PREDICTED, 0.15, metric="true_positive_rate_difference", tol=1e-3).to_json(),
    "ratio, sphere": lambda: certify(PREDICTIONS, 0.1, metric="demographic_parity_ratio", confidence=0.9).to_json(),
    "parity curve": lambda: certify_curve(MEAN, [0.01, 0.1, 0.3], metric="group_loss", group=1).to_json(),
    "total variation": lambda: certify(MEAN, 0.3, divergence="total_variation").to_json(),
    "total variation, limits": lambda: certify(
        WIDE, 0.5, divergence="total_variation", shift="sensitive", label_skew=0.4, tol=1e-2
    ).to_json(),
    "strata": lambda: certify(POPULATIONS["strata"](), 0.3, shift="stratified").to_json(),
    "an order": lambda: certify(MEAN, 0.3, divergence="cressie_read:1.5", shift="sensitive", tol=1e-2).to_json(),
    "strata of a sample": lambda: certify(
        POPULATIONS["zero-one strata"](), 0.1, shift="stratified", confidence=0.9
    ).to_json(),
    "trimming": lambda: certify(ROWS, 0.5, divergence="trimming", shift="sensitive", tol=1e-2).to_json(),
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


def schema_accepts(candidate: Document) -> bool:
    """Whether the schema accepts a document."""
    return bool(VALIDATOR.is_valid(candidate))


def refusal(candidate: Document) -> str | None:
    """Return why the reader refuses a document; None if it does not."""
    try:
        read_document(candidate)
    except MalformedError as error:
        return str(error)
    return None


def is_of_its_type(candidate: Document) -> bool:
    """Whether a document is what its types say; whether its parts fit together is not looked at."""
    try:
        read(Written, candidate)
    except MalformedError:
        return False
    return True


def test_it_is_the_one_that_the_description_makes() -> None:
    """``python tools/make_schema.py`` writes it."""
    assert schema() == SCHEMA


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "certificate.json"


def test_every_entry_is_described_and_none_may_be_added() -> None:
    objects = [SCHEMA, *(part for part in SCHEMA["$defs"].values() if part.get("type") == "object")]
    assert len(objects) == len(MEANINGS)
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
        assert part["description"].endswith(".")
        for key, entry in part["properties"].items():
            assert entry["description"].endswith("."), key
    assert all(part["description"].endswith(".") for part in SCHEMA["$defs"].values())
    for kind, meanings in MEANINGS.items():
        assert {field.name for field in fields(kind)} == set(meanings), kind


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents(name: str) -> None:
    found = parse(text(name))
    assert [error.message for error in VALIDATOR.iter_errors(found)] == []
    assert refusal(found) is None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_are_proved(name: str) -> None:
    assert verify(text(name)).reasons == ()


def test_all_kinds_are_among_the_documents() -> None:
    found = [document(name) for name in DOCUMENTS]
    asked = [question for one in found for question in read_document(one).questions]
    answers = [answer for one in asked for point in one.points for answer in point.answers]
    leaves = [leaf for answer in answers for leaf in answer.proof.leaves]
    assert {one["population"]["measures"][0]["knowledge"]["kind"] for one in found} == {
        "mean",
        "mean_variance",
        "strata",
        "losses",
    }
    assert {answer.proof.axis for answer in answers} == {"label", "group", "part"}
    assert {type(leaf) for leaf in leaves} == {Tilted, Fractional}
    tilted, fractional = ([leaf for leaf in leaves if isinstance(leaf, kind)] for kind in (Tilted, Fractional))
    assert len({leaf.relaxed for leaf in tilted if isinstance(leaf, Tilted)}) > 1
    for key in ("base", "offset", "slope", "nu"):
        assert {getattr(leaf, key) is None for leaf in fractional} == {True, False}, key
    assert any(len(answer.proof.leaves) > 1 for answer in answers)
    assert {answer.witness is None or answer.witness.mass is None for answer in answers} == {True, False}
    assert {point.claim is None for one in asked for point in one.points} == {True, False}
    assert {one.distance is None for one in asked} == {True, False}
    for key in ("fair", "support", "empty_cells", "shift", "divergence"):
        assert len({only(one)[key] for one in found}) == {"divergence": 6, "shift": 3}.get(key, 2), key
    for key in ("base_rate_tolerance", "confidence", "order"):
        assert {only(one)[key] is None for one in found} == {True, False}
    for side in ("group_limits", "label_limits"):
        assert {only(one)[side]["skew"] is None for one in found} == {True, False}
        assert {bool(only(one)[side]["rows"]) for one in found} == {True, False}
    objectives = [statement.objective for one in asked for statement in one.statements]
    for key in ("minus", "label"):
        assert {getattr(about, key) is None for about in objectives if about is not None} == {True, False}, key
    assert {about.ratio for about in objectives if about is not None} == {True, False}
    samples = [statement.sampling for one in asked for statement in one.statements]
    assert {one.region for one in samples if one is not None} == {"sphere", "hoeffding"}
    for key in ("counts", "seed"):
        assert {getattr(one, key) is None for one in samples if one is not None} == {True, False}
    assert any(b[0] < b[1] for b in document("general, bins")["population"]["measures"][0]["knowledge"]["cells"][0][0])
    assert isinstance(document("tuple names")["population"]["groups"][0], list)
    assert document("curve")["questions"][0]["points"][0]["claim"] is None


def put(*path: Any, value: Any) -> Callable[[Document], object]:
    """Return a change that puts a value at a place; the last step may be a new key."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Document], object]:
    """Return a change that leaves an entry out."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found.pop(path[-1])

    return change


POINT: Path = ("questions", 0, "points", 0)
ANSWER: Path = (*POINT, "answers", 0)
WITNESS: Path = (*ANSWER, "witness")
PROOF: Path = (*ANSWER, "proof")
LEAF: Path = (*PROOF, "leaves", 0)
SAMPLING: Path = ("questions", 0, "statements", 0, "sampling")
OBJECTIVE: Path = ("questions", 0, "statements", 0, "objective")
GROUP_LIMITS: Path = ("questions", 0, "group_limits")
LABEL_LIMITS: Path = ("questions", 0, "label_limits")

#: Documents that both refuse.
REFUSED: dict[str, tuple[str, Callable[[Document], object]]] = {
    "missing part": ("general, mean", drop("questions", 0, "points")),
    "missing field": ("general, mean", drop("questions", 0, "shift")),
    "missing radius": ("general, mean", drop(*POINT, "rho")),
    "missing moments": ("general, variance", drop("population", "measures", 0, "knowledge", "variance")),
    "missing multipliers": ("sensitive, mean", drop(*LEAF, "omega")),
    "missing proof": ("general, mean", drop(*PROOF)),
    "missing axis": ("general, mean", drop(*PROOF, "axis")),
    "missing metric": ("general, mean", drop("questions", 0, "metric")),
    "missing objective": ("parity", drop(*OBJECTIVE)),
    "missing half of an objective": ("parity", drop(*OBJECTIVE, "minus")),
    "extra part": ("general, mean", put("signature", value="x")),
    "extra field": ("general, mean", put(*POINT, "claim", "certified", value=True)),
    "extra field of the other kind": (
        "general, mean",
        put("population", "measures", 0, "knowledge", "variance", value=[[0, 0]] * 2),
    ),
    "extra field of the other form": ("kl, variance", put(*LEAF, "zeta", value=[[0, 0]] * 2)),
    "text for a number": ("general, mean", put(*ANSWER, "bound", value="0.3")),
    "truth value for a number": ("general, mean", put(*ANSWER, "bound", value=True)),
    "null for a number": ("general, mean", put(*ANSWER, "bound", value=None)),
    "null for a radius": ("general, mean", put(*POINT, "rho", value=None)),
    "list for an object": ("general, mean", put(*POINT, "claim", value=[])),
    "object for a list": ("general, mean", put("population", "groups", value={})),
    "number for a list": ("general, mean", put(*LEAF, "centre", value=0.5)),
    "number for a text": ("general, mean", put("producer", value=7)),
    "null for a name": ("general, mean", put("population", "groups", 0, value=None)),
    "name without parts": ("tuple names", put("population", "groups", 0, value=[])),
    "name in a name": ("tuple names", put("population", "groups", 0, value=[["f"], True])),
    "name that is an object": ("tuple names", put("population", "groups", 0, value={})),
    "name of 101 parts": ("tuple names", put("population", "groups", 0, value=[0] * 101)),
    "name that is too long": ("tuple names", put("population", "groups", 0, value="x" * 10_001)),
    "name that is too large": ("tuple names", put("population", "groups", 0, value=1e101)),
    "negative weight": ("general, mean", put("population", "weight", 0, 0, value=-0.1)),
    "negative loss": (
        "general, losses",
        put("population", "measures", 0, "knowledge", "cells", 0, 0, 0, 0, value=-0.1),
    ),
    "bin of five": (
        "general, losses",
        lambda d: d["population"]["measures"][0]["knowledge"]["cells"][0][0][0].append(0),
    ),
    "bin of three": ("general, losses", lambda d: d["population"]["measures"][0]["knowledge"]["cells"][0][0][0].pop()),
    "negative radius": ("general, mean", put(*POINT, "rho", value=-0.1)),
    "negative limit": ("general, mean", put(*GROUP_LIMITS, "skew", value=-0.1)),
    "limits without rows": ("general, linear limits", drop(*GROUP_LIMITS, "rows")),
    "limits as a list": ("general, linear limits", put(*GROUP_LIMITS, value=[])),
    "no limits at all": ("general, linear limits", put(*GROUP_LIMITS, value=None)),
    "a coefficient of 3": ("general, linear limits", put(*LABEL_LIMITS, "rows", 0, 0, value=3)),
    "a right side of 3": ("general, linear limits", put(*LABEL_LIMITS, "most", 0, value=3)),
    "missing multipliers of limits": ("general, linear limits", drop(*LEAF, "group_mu")),
    "missing multipliers of a leaf": ("sensitive, linear limits", drop(*LEAF, "label_mu")),
    "one floor": ("sensitive, limits", put(*PROOF, "floors", value=0.1)),
    "a floor above 1": ("sensitive, limits", put(*PROOF, "floors", 0, value=1.1)),
    "a negative floor": ("sensitive, limits", put(*PROOF, "floors", 0, value=-0.1)),
    "half a row": ("sphere, general", put(*SAMPLING, "counts", 0, 0, 0, value=0.5)),
    "negative count": ("sphere, general", put(*SAMPLING, "counts", 0, 0, 0, value=-1)),
    "negative seed": ("sphere, general", put(*SAMPLING, "seed", value=-1)),
    "affinity above 1": ("sphere, general", put(*SAMPLING, "affinity", value=1.1)),
    "number for a region": ("sphere, general", put(*SAMPLING, "region", value=1)),
    "confidence above 1": ("sphere, general", put("questions", 0, "confidence", value=1.1)),
    "number for a truth value": ("sphere, general", put("population", "weighted", value=0)),
    "half a row left out": ("sphere, general", put("population", "excluded_rows", value=0.5)),
    "surrogate without knowledge": ("hoeffding, general", drop(*SAMPLING, "knowledge")),
    "huge number": ("general, mean", put(*LEAF, "centre", 0, value=1e101)),
    "long text": ("general, mean", put("producer", value="x" * 10_001)),
    "unknown shift": ("general, mean", put("questions", 0, "shift", value="any")),
    "unknown divergence": ("general, mean", put("questions", 0, "divergence", value="wasserstein")),
    "unknown knowledge": ("general, mean", put("population", "measures", 0, "knowledge", "kind", value="median")),
    "unknown form": ("general, mean", put(*LEAF, "form", value="trust")),
    "the other form": ("kl, variance", put(*LEAF, "form", value="F")),
    "unknown axis": ("general, mean", put(*PROOF, "axis", value="rows")),
    "unknown relaxation": ("kl, means", put(*LEAF, "relaxed", value="all")),
    "unknown version": ("general, mean", put("version", value="1.2.0")),
    "unknown format": ("general, mean", put("format", value="certificate")),
    "negative corner": ("sensitive, mean", put(*PROOF, "splits", 0, value=[-1, 0, 0.5])),
    "four numbers for a cut": ("sensitive, mean", put(*PROOF, "splits", 0, value=[0, 1, 2, 0.5])),
    "two numbers for a cut": ("sensitive, mean", put(*PROOF, "splits", 0, value=[0, 1])),
    "tolerance above one": ("general, base rates", put("questions", 0, "base_rate_tolerance", value=1.5)),
    "condition as a number": ("any base rates", put("questions", 0, "fair", value=0)),
    "negative mass": ("general, base rates", put(*WITNESS, "mass", value=[[-0.1, 0.5], [0.5, 0.1]])),
    "number for masses": ("general, base rates", put(*WITNESS, "mass", value=1)),
    "leaf without lam": ("general, base rates", drop(*LEAF, "lam")),
    "number for nu": ("general, base rates", put(*LEAF, "nu", value=0)),
    "curve without distance": ("curve", drop("questions", 0, "distance")),
    "negative multiplier of the ball": ("kl, variance", put(*LEAF, "lam", value=-1.0)),
    "leaf without multiplier of the ball": ("kl, variance", drop(*LEAF, "lam")),
    "infeasible text": ("curve", put(*POINT, "claim", value="infeasible")),
    "population in a point": ("curve", lambda d: only(d)["points"][1].update(population=d["population"])),
    "missing part of a point": ("curve", drop("questions", 0, "points", 1, "answers")),
    "negative group": ("parity", put(*OBJECTIVE, "plus", value=-1)),
    "half a group": ("parity", put(*OBJECTIVE, "plus", value=0.5)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_schema_and_reader_refuse(name: str) -> None:
    kind, change = REFUSED[name]
    broken = document(kind)
    change(broken)
    assert refusal(broken) is not None
    assert not is_of_its_type(broken)
    assert not schema_accepts(broken)


#: Documents that only the reader refuses, and words of its reason: no schema can compare two places, or 1.0 with 1.
BEYOND: dict[str, tuple[str, Callable[[Document], object], str]] = {
    "shapes differ": (
        "general, mean",
        lambda d: d["population"]["weight"].append([0.1, 0.1]),
        "must have 2 entries",
    ),
    "one group": ("general, mean", put("population", "groups", value=["a"]), "must have two entries"),
    "one name twice": ("general, mean", put("population", "groups", value=["a", "a"]), "the same name twice"),
    "one measure twice": (
        "general, mean",
        lambda d: d["population"]["measures"].append(copy.deepcopy(d["population"]["measures"][0])),
        "the same name twice",
    ),
    "no limit on one side": ("general, linear limits", put(*GROUP_LIMITS, "rows", value=[]), "entries, not 0"),
    "limits of another shape": (
        "general, linear limits",
        lambda d: only(d)["group_limits"]["rows"][0].append(0.5),
        "must have 2 entries",
    ),
    "limits without a right side": (
        "general, linear limits",
        lambda d: only(d)["group_limits"]["most"].pop(),
        "entries, not",
    ),
    "multipliers without limits": ("general, mean", put(*LEAF, "group_mu", value=[0.1]), "must have 0 entries"),
    "multipliers of other limits": (
        "sensitive, linear limits",
        lambda d: only(d)["points"][0]["answers"][0]["proof"]["leaves"][0]["label_mu"].append(0.1),
        "entries, not",
    ),
    "a floor too many": (
        "sensitive, mean",
        lambda d: only(d)["points"][0]["answers"][0]["proof"]["floors"].append(0),
        "must have 2 entries, not 3",
    ),
    "no weight": ("general, mean", put("population", "weight", value=[[0, 0], [0, 0]]), "positive somewhere"),
    "surrogate without weight": (
        "sphere, sensitive",
        put(*SAMPLING, "weight", value=[[0, 0]] * 3),
        "positive somewhere",
    ),
    "bin without weight": (
        "general, losses",
        put("population", "measures", 0, "knowledge", "cells", 0, 0, 0, 2, value=0),
        "weight > 0",
    ),
    "bin with too large a share": (
        "general, losses",
        put("population", "measures", 0, "knowledge", "cells", 0, 0, 0, 3, value=1.1),
        "the share of high, at most 1",
    ),
    "moments without ceiling": (
        "general, mean",
        put("population", "measures", 0, "ceiling", value=None),
        "must be positive where only",
    ),
    "moments with ceiling 0": (
        "general, variance",
        put("population", "measures", 0, "ceiling", value=0),
        "must be positive where only",
    ),
    "losses that do not increase": ("sphere, general", put(*SAMPLING, "losses", 1, value=0), "must increase"),
    "counts as decimals": ("sphere, general", put(*SAMPLING, "counts", 0, 0, 0, value=2.0), "whole number"),
    "counts of another shape": (
        "sphere, general",
        lambda d: only(d)["statements"][0]["sampling"]["counts"][0][0].pop(),
        "entries, not",
    ),
    "radius of 2": ("general, mean", put(*POINT, "rho", value=2), "larger than the divergence can be"),
    "total variation of 2": ("total variation", put(*POINT, "rho", value=2), "larger than the divergence can be"),
    "distance of 2": ("curve", put("questions", 0, "distance", value=2), "larger than the divergence can be"),
    "curve without distance": ("curve", put("questions", 0, "distance", value=None), "must be told of a curve"),
    "distance beyond a certified radius": (
        "curve",
        put("questions", 0, "distance", value=0.5),
        "contradict each other",
    ),
    "nothing certified": (
        "general, mean",
        lambda d: only(d)["points"][0].update(claim=None, answers=[]),
        "must have a certified radius",
    ),
    "no radius": ("general, mean", put("questions", 0, "points", value=[]), "must have a certified radius"),
    "infeasible and answered": (
        "curve",
        lambda d: only(d)["points"][0].update(answers=only(d)["points"][1]["answers"]),
        "none if the radius is infeasible",
    ),
    "an answer missing": (
        "parity",
        lambda d: only(d)["points"][0]["answers"].pop(),
        "one for each statement",
    ),
    "no statement": ("general, mean", put("questions", 0, "statements", value=[]), "must have one entry or more"),
    "two statements of the loss": (
        "general, mean",
        lambda d: (
            only(d)["statements"].extend(only(d)["statements"]),
            only(d)["points"][0]["answers"].extend(only(d)["points"][0]["answers"]),
        ),
        "must be one for the metric loss",
    ),
    "an objective of the loss": (
        "general, mean",
        put(*OBJECTIVE, value={"plus": 0, "minus": None, "label": None, "inside": True, "ratio": False}),
        "must be null for the metric loss",
    ),
    "no objective of a metric": ("parity", put(*OBJECTIVE, value=None), "must be null for the metric loss"),
    "a ratio of one group": (
        "parity curve",
        put(*OBJECTIVE, "ratio", value=True),
        "is for two groups",
    ),
    "a ratio above 1": ("ratio, sphere", put(*POINT, "claim", "bound", value=1.5), "must be at most 1 for a ratio"),
    "a negative loss": ("general, mean", put(*ANSWER, "bound", value=-1), "must not be negative"),
    "a witness without a value": ("general, mean", put(*ANSWER, "attained", value=None), "with what it attains"),
    "a value without a witness": ("general, mean", put(*ANSWER, "witness", value=None), "with what it attains"),
    "confidence of moments": ("general, mean", put("questions", 0, "confidence", value=0.95), "or not at all"),
    "sampling without confidence": ("sphere, general", put("questions", 0, "confidence", value=None), "or not at all"),
    "statement without confidence": (
        "sphere, general",
        put("questions", 0, "statements", 0, "confidence", value=None),
        "or not at all",
    ),
    "confidence without sampling": ("sphere, general", put(*SAMPLING, value=None), "or not at all"),
    "certainty": ("sphere, general", put("questions", 0, "confidence", value=1), "strictly between 0 and 1"),
    "no confidence": (
        "sphere, general",
        put("questions", 0, "statements", 0, "confidence", value=0),
        "strictly between 0 and 1",
    ),
    "losses without counts": ("sphere, general", put(*SAMPLING, "counts", value=None), "must be given with losses"),
    "counts without losses": ("sphere, general", put(*SAMPLING, "losses", value=None), "must be given with losses"),
    "divergence of a sample": ("sphere, general", put("questions", 0, "divergence", value="kl"), "must be hellinger"),
    "tolerance of zero": (
        "general, base rates",
        put("questions", 0, "base_rate_tolerance", value=0),
        "must be positive",
    ),
    "tolerance without a condition": (
        "general, base rates",
        put("questions", 0, "fair", value=False),
        "null if fair",
    ),
    "tolerance and label limit": ("general, base rates", put(*LABEL_LIMITS, "skew", value=0.5), "must be empty"),
    "no condition and label limit": ("any base rates", put(*LABEL_LIMITS, "skew", value=0.5), "must be empty"),
    "label limit of another divergence": (
        "kl, without equal base rates",
        put(*LABEL_LIMITS, "skew", value=0.5),
        "must be empty",
    ),
    "positive label of a loss": (
        "general, mean",
        put("population", "measures", 0, "pos_label", value=0),
        "must be null unless",
    ),
    "mean above the ceiling": (
        "general, mean",
        put("population", "measures", 0, "knowledge", "mean", 0, 0, value=1.5),
        "above the ceiling",
    ),
    "loss above the ceiling": (
        "general, losses",
        put("population", "measures", 0, "ceiling", value=0.2),
        "above the ceiling",
    ),
    "impossible variance": (
        "general, variance",
        put("population", "measures", 0, "knowledge", "variance", 0, 0, value=0.9),
        "impossible",
    ),
    "bin upside down": (
        "general, bins",
        put("population", "measures", 0, "knowledge", "cells", 0, 0, 5, 0, value=1),
        "low <= high",
    ),
    "bins that miss the weight": (
        "general, losses",
        lambda d: d["population"]["measures"][0]["knowledge"]["cells"][0][0].pop(),
        "do not add up",
    ),
    "a number that is no double": ("general, mean", put("population", "weight", 0, 0, value=2**53 + 1), "no double"),
    "rows as decimals": ("general, mean", put("population", "excluded_rows", value=0.0), "whole number"),
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
            broken = copy.copy(parent)
            parent["new"] = parent.pop(path[-1])
            yield path, "renamed", original
            parent.clear()
            parent.update(broken)
        if isinstance(before, list) and before:
            parent[path[-1]] = before[:-1]
            yield path, "shorter", original
            parent[path[-1]] = [*before, before[0]]
            yield path, "longer", original
            parent[path[-1]] = before


@pytest.mark.one_in(3)
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
        "general, base rates",
        "selections",
        "curve",
        "sphere, general",
        "sphere, sensitive",
        "hoeffding, general",
        "sphere curve",
        "parity",
        "odds",
        "ratio, sphere",
        "total variation",
        "kl, variance",
        "kl, without equal base rates",
        "kl, means",
        "kl curve",
    ],
)
def test_schema_and_types_agree_on_mutants(name: str) -> None:
    """What is of its type the schema accepts, and nothing else; what the reader accepts is of its type."""
    counts = {True: 0, False: 0}
    for path, value, mutant in mutants(name):
        typed = is_of_its_type(mutant)
        assert schema_accepts(mutant) == typed, (path, value)
        accepted = typed and refusal(mutant) is None
        counts[accepted] += 1
    assert min(counts.values()) > 20
