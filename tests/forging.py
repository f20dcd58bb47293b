"""One harness for forged documents: questions of every kind, ways to spoil an answer, and whether a claim is true.

A forger knows the format, and mends the digest. What the checker calls proved of a forged document has to be true of
the document's own population and question: that is certified anew.
"""

from __future__ import annotations

import contextlib
import copy
import json
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from fairbound import Certificate, CertificateCurve, InputError, Population, SmallCellWarning, certify, certify_curve
from fairbound.certificate.document import digest
from fairbound.certificate.statements import certificates
from fairbound.problem.objective import Objective
from tests.metric_problems import named
from tests.problems import E, P, solver

Document = dict[str, Any]
Change = Callable[[Document], object]

#: What is known of the data: moments, or the rows of a sample with 0-1 values or others.
CELLS = (
    (0, 0, 0, 120),
    (0, 0, 1, 20),
    (0, 1, 0, 25),
    (0, 1, 1, 60),
    (1, 0, 0, 90),
    (1, 0, 1, 10),
    (1, 1, 0, 9),
    (1, 1, 1, 14),
)


def _rows() -> Population:
    group, label, predicted = (np.repeat([cell[i] for cell in CELLS], [cell[3] for cell in CELLS]) for i in range(3))
    return Population.from_predictions(label.tolist(), predicted.tolist(), sensitive_features=group.tolist())


def _graded() -> Population:
    rng = np.random.default_rng(12)
    group, label = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    losses = rng.integers(0, 4 + group, 300) / 5
    return Population.from_losses(losses, label, sensitive_features=group, loss_name="mine")


POPULATIONS: dict[str, Callable[[], Population]] = {
    "moments": lambda: Population.from_moments(P, E),
    "variances": lambda: Population.from_moments(P, E, 0.4 * E * (1 - E)),
    "rows": _rows,
    "graded": _graded,
}

#: Limits on shares that bind.
LIMITS: dict[str, Any] = {"min_group_mass": 0.35, "label_limits": {0: (0.1, 0.6)}}

#: Whether base rates are equal, nearly equal, or any.
CONDITIONS: dict[str, Any] = {"equal": {}, "near": {"base_rate_tolerance": 0.05}, "any": {"fair": False}}

PAIR_METRICS = ("group_loss_difference", "demographic_parity_difference", "demographic_parity_ratio")
ODDS_METRICS = ("true_positive_rate_difference", "equalized_odds_difference", "cell_loss")


def _questions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name questions of every kind: population and keywords."""
    for shift in ("general", "sensitive"):
        for known in ("moments", "variances", "rows", "graded"):
            yield f"{shift}, {known}", known, {"shift": shift}
        yield f"{shift}, skews", "moments", {"shift": shift, "group_skew": 0.2, "label_skew": 0.3}
        yield f"{shift}, limits", "moments", {"shift": shift, **LIMITS}
        for condition in ("near", "any"):
            yield f"{shift}, {condition} base rates", "moments", {"shift": shift, **CONDITIONS[condition]}
        for divergence in ("total_variation", "kl", "chi_squared"):
            for condition in ("equal", "any"):
                asked = {"shift": shift, "divergence": divergence, **CONDITIONS[condition]}
                yield f"{shift}, {divergence}, {condition} base rates", "rows", asked
        for condition, base_rates in CONDITIONS.items():
            for metric in ("group_loss", *PAIR_METRICS, *ODDS_METRICS):
                asked = {"shift": shift, **base_rates, **named(metric)}
                yield f"{shift}, {metric}, {condition} base rates", "rows", asked
        for metric in ("group_loss", "group_loss_difference"):
            asked = {"shift": shift, "divergence": "kl", **named(metric)}
            yield f"{shift}, {metric}, kl", "rows", asked
        asked = {"shift": shift, "divergence": "kl", "fair": False, **named("group_loss")}
        yield f"{shift}, group_loss, kl, any base rates", "rows", asked
        for region in ("sphere", "hoeffding"):
            asked = {"shift": shift, "confidence": 0.9, "region": region}
            yield f"{shift}, {region}", "rows", asked
            yield f"{shift}, {region}, graded", "graded", asked
            yield f"{shift}, {region}, group_loss_difference", "graded", {**asked, **named("group_loss_difference")}
    yield "observed support", "graded", {"support": "observed"}
    yield (
        "limits on groups, any base rates",
        "rows",
        {
            "min_group_mass": 0.35,
            **CONDITIONS["any"],
            **named("demographic_parity_difference"),
        },
    )


QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {name: (known, asked) for name, known, asked in _questions()}


@cache
def text(name: str, *, curve: bool = False) -> str:
    """Return an honest document that answers a question, of one radius or of two."""
    known, asked = QUESTIONS[name]
    population = POPULATIONS[known]()
    rho = 0.12 if asked.get("divergence", "hellinger") == "hellinger" else 0.08
    if known in {"moments", "variances"}:
        rho = 0.3
    more: Any = {"tol": 1e-3, "budget": 40, **asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        if curve:
            return certify_curve(population, [rho, rho + 0.05], **more).to_json()
        return certify(population, rho, **more).to_json()


def honest(name: str, *, curve: bool = False) -> Document:
    """Return a fresh copy of an honest document."""
    found: Document = json.loads(text(name, curve=curve))
    return found


def mended(document: Document) -> Document:
    """Mend the digest, as a careful forger does."""
    document["digest"] = digest(document["population"])
    return document


def statements(document: Document) -> list[Document]:
    """Return all parts that hold a question, a claim, a witness and a proof, of all radii."""
    points = document.get("points", [document])
    found = [s for point in points if "infeasible" not in point for s in point.get("statements", [point])]
    return list(found)


def claims(document: Document) -> list[Document]:
    """Return all claims: those of the statements, and of a metric what follows from them."""
    points = document.get("points", [])
    return [s["claim"] for s in statements(document)] + [p["claim"] for p in points if "statements" in p]


def better(document: Document, by: float) -> None:
    """Claim more than was proved everywhere: a smaller bound, of ratios a larger one."""
    objective = statements(document)[0]["question"]["objective"]
    for claim in claims(document):
        claim["bound"] -= -by if objective is not None and objective["ratio"] else by


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths to everything inside a document."""
    found = [path] if path else []
    if isinstance(value, dict):
        found += [p for key, v in value.items() for p in places(v, (*path, key))]
    elif isinstance(value, list):
        found += [p for key, v in enumerate(value) for p in places(v, (*path, key))]
    return found


def mutate(original: Document, paths: list[tuple[Any, ...]], rng: random.Random) -> Document:
    """Change one to three places of a document at random."""
    changed = copy.deepcopy(original)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice(paths)
        try:
            parent: Any = changed
            for step in path[:-1]:
                parent = parent[step]
            key: Any = path[-1]
            value: Any = parent[key]
        except (KeyError, IndexError, TypeError):
            continue
        if not isinstance(parent, dict | list):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.8:
            moves = [value * (1 + s * 10.0**-e) for s in (1, -1) for e in (3, 6, 9, 15)]
            parent[key] = rng.choice([*moves, -value, 0, 1, value + 1e-3, value - 1e-3, 1e99, 1e-320, 2 * value])
        elif rng.random() < 0.3 and isinstance(parent, dict):
            del parent[key]
        elif isinstance(parent, list) and rng.random() < 0.7:
            other = rng.randrange(len(parent))
            move = rng.choice(["swap", "drop", "repeat"])
            if move == "swap":
                parent[key], parent[other] = parent[other], parent[key]
            elif move == "drop":
                parent.pop(key)
            else:
                parent.insert(other, copy.deepcopy(value))
        else:
            parent[key] = rng.choice([None, "x", [], {}, True, -1, 0.5, [[0.5]]])
    if rng.random() < 0.7:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            mended(changed)
    return changed


def assert_true(document: Document) -> None:
    """Every statement is one about its own population and question: certify that anew and compare."""
    written, curve = json.dumps(document), document["format"].endswith("curve")
    found = [*CertificateCurve.from_json(written)] if curve else [Certificate.from_json(written)]
    for claim in found:
        way = -1.0 if claim.lower else 1.0
        for one in claim.comparisons or (claim,):
            bound = min(one.bound, claim.bound, key=lambda v: way * v)
            assert way * bound >= way * _attained(one, claim.population) - 1e-11


def _attained(one: Certificate, population: Population) -> float:
    """Return what some distribution attains in the question of a certificate; the other end if there is none."""
    never = np.inf if one.lower else -np.inf
    if isinstance(one.objective, Objective):
        objective: Objective | None = one.objective
    else:
        objective = None
    rows = {
        f"{side}_rows": None if limits is None else (limits.matrix.tolist(), limits.right.tolist())
        for side, limits in (("group", one.group_limits), ("label", one.label_limits))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        try:
            asked = solver(
                population,
                objective=objective,
                shift=one.shift,
                divergence=one.divergence,
                group_skew=one.group_skew,
                label_skew=one.label_skew,
                support=one.support,
                empty_cells=one.empty_cells,
                fair=one.fair,
                base_rate_tolerance=one.base_rate_tolerance,
                confidence=one.confidence,
                region=one.region or "auto",
                tol=1e-3,
                budget=20,
                **rows,
            )
        except InputError:  # a contradiction: there is nothing that could exceed the claim
            return never
        if one.rho < asked.distance:
            return never
        return certificates(asked, np.array([one.rho]))[0].attained
