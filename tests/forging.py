"""One harness for forged documents: questions of every kind, ways to spoil an answer, and whether a claim is true.

A forger knows the format, and mends the digest. What the checker calls proved of a forged document has to be true of
the document's own population and question: that is certified anew. Forgeries that have a name are refused for the
reason that is expected.
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

from fairbound import (
    Certificate,
    CertificateCurve,
    InputError,
    Population,
    SmallCellWarning,
    Verdict,
    certify,
    certify_curve,
    verify,
)
from fairbound.certificate.document import digest, write_population
from fairbound.certificate.statements import certificates
from fairbound.problem.objective import Objective
from tests.metric_oracles import METRICS
from tests.metric_problems import named
from tests.problems import E, P, radius, random_population, solver

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


#: A population whose sensitive certificate needs several pieces where base rates may differ.
HARD = Population.from_moments(
    [[0.63652, 0.13096], [0.00647, 0.22605]], [[0.72238, 0.14747], [0.28087, 0.73071]], groups=["a", "b"]
)

#: Three labels: limits reach into the pieces, which need omega.
SQUARE = random_population(np.random.default_rng(0), 3, 3)

POPULATIONS: dict[str, Callable[[], Population]] = {
    "moments": lambda: Population.from_moments(P, E),
    "variances": lambda: Population.from_moments(P, E, 0.4 * E * (1 - E)),
    "rows": _rows,
    "graded": _graded,
    "hard": lambda: HARD,
    "square": lambda: SQUARE,
}

#: Limits on shares that bind: on both sides, on the shares of one group and label each, and of three labels.
LIMITS: dict[str, Any] = {"min_group_mass": 0.35, "label_limits": {0: (0.1, 0.6)}}
INTERVALS: dict[str, Any] = {"group_limits": {0: (0.4, 0.6)}, "label_limits": {1: (0.1, 0.3)}}
SQUARE_LIMITS: dict[str, Any] = {"label_limits": {0: (0.2, 0.3), 1: (0.3, 0.5)}, "min_group_mass": 0.2}

#: Whether base rates are equal, nearly equal, or any.
CONDITIONS: dict[str, Any] = {"equal": {}, "near": {"base_rate_tolerance": 0.05}, "any": {"fair": False}}

#: Radii at which something moves, but no group can be emptied.
RADII = {"total_variation": 0.1, "kl": 0.1, "chi_squared": 0.2}

#: How closely a question is answered, and with how many pieces at most, unless it says so itself.
USUAL: dict[str, Any] = {"tol": 1e-3, "budget": 60}
CLOSE: dict[str, Any] = {"tol": 1e-6, "budget": None}

PAIR_METRICS = ("group_loss_difference", "demographic_parity_difference", "demographic_parity_ratio")
ODDS_METRICS = ("true_positive_rate_difference", "equalized_odds_difference", "cell_loss")


def _questions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name questions of every kind: population and keywords."""
    for shift in ("general", "sensitive"):
        for known in ("moments", "variances", "rows", "graded"):
            closely = CLOSE if known == "moments" else {}
            yield f"{shift}, {known}", known, {"shift": shift, **closely}
        yield f"{shift}, skews", "moments", {"shift": shift, "group_skew": 0.2, "label_skew": 0.3}
        yield f"{shift}, limits", "moments", {"shift": shift, **LIMITS}
        yield f"{shift}, intervals", "moments", {"shift": shift, **CLOSE, **INTERVALS}
        for condition in ("near", "any"):
            closely = CLOSE if (shift, condition) == ("general", "near") else {}
            yield f"{shift}, {condition} base rates", "moments", {"shift": shift, **closely, **CONDITIONS[condition]}
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
    anything = {"min_group_mass": 0.35, **CONDITIONS["any"], **named("demographic_parity_difference")}
    yield "limits on groups, any base rates", "rows", anything
    near = {"shift": "sensitive", "rho": 0.5, "tol": 1e-4, **CONDITIONS["near"]}
    yield "several pieces, near base rates", "hard", near
    square = {"shift": "sensitive", "tol": 1e-2, "budget": None, **SQUARE_LIMITS}
    yield "pieces with limits", "square", {"rho": radius(SQUARE, 0.2, **SQUARE_LIMITS), **square}
    yield from _close_questions()


def _close_questions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name questions of balls of other divergences, and of metrics of a sample, that are answered more closely."""
    for divergence, rho in RADII.items():
        asked: dict[str, Any] = {"divergence": divergence, "rho": rho, "tol": 1e-4}
        yield f"{divergence}, closely", "moments", asked
        for metric in ("group_loss", "group_loss_difference"):
            yield f"{metric}, {divergence}, closely", "moments", {**asked, **named(metric)}
        yield f"group_loss, {divergence}, any base rates", "moments", {**asked, "fair": False, **named("group_loss")}
    for number, metric in enumerate(METRICS):
        if number % 2:
            asked = {"shift": "sensitive" if number % 3 else "general", "tol": 1e-4, "confidence": 0.9, **named(metric)}
            yield f"{metric} of a sample", "rows", asked


#: Questions about metrics that are answered more closely, and of whose answers there are more mutants.
CLOSER = {
    "general, group_loss, equal base rates",
    "general, true_positive_rate_difference, equal base rates",
    "sensitive, cell_loss, equal base rates",
    "sensitive, demographic_parity_difference, equal base rates",
    "sensitive, equalized_odds_difference, equal base rates",
    *(
        f"general, {metric}, {condition} base rates"
        for metric in (*PAIR_METRICS[1:], "true_positive_rate_difference", "cell_loss")
        for condition in ("near", "any")
    ),
}

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    name: (known, {**asked, "tol": 1e-4} if name in CLOSER else asked) for name, known, asked in _questions()
}


def _more_mutants(name: str) -> int:
    """Return how many more mutants of an answer there are: most of the plainest, which are checked fastest."""
    if name in {"general, moments", "sensitive, moments"}:
        return 6000
    if name in {"general, near base rates", "several pieces, near base rates"}:
        return 1500
    if name in {"general, intervals", "sensitive, intervals", "pieces with limits"}:
        return 600
    known, asked = QUESTIONS[name]
    if name in CLOSER or (asked.get("tol") == 1e-4 and "metric" in asked):
        return 150
    if name.endswith(", closely"):
        return 250
    return 60 if known == "graded" and "metric" in asked else 0


#: How many mutants of each question's answer there are.
MUTANTS = {name: 40 + _more_mutants(name) for name in QUESTIONS}

#: So many at most are checked by one test.
MOST_MUTANTS = 640


@cache
def text(name: str, *, curve: bool = False) -> str:
    """Return an honest document that answers a question, of one radius or of two."""
    return written(name, curve=curve)


def written(name: str, *, curve: bool = False) -> str:
    """Answer a question, and write the document."""
    known, asked = QUESTIONS[name]
    population = POPULATIONS[known]()
    usual = 0.12 if asked.get("divergence", "hellinger") == "hellinger" else 0.08
    more = {"rho": 0.3 if known in {"moments", "variances"} else usual, **USUAL, **asked}
    rho = more.pop("rho")
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
    way = -1.0 if _is_ratio(document) else 1.0
    for claim in claims(document):
        claim["bound"] -= way * by


def better_than(document: Document, attained: list[float]) -> bool:
    """Tell whether some claim is better than what is attained: false, that is."""
    way = -1.0 if _is_ratio(document) else 1.0
    return any(way * claim["bound"] < way * value for claim, value in zip(claims(document), attained, strict=True))


def _is_ratio(document: Document) -> bool:
    objective = statements(document)[0]["question"]["objective"]
    return objective is not None and bool(objective["ratio"])


def places(value: Any, path: tuple[Any, ...] = (), *, ends: bool = False) -> list[tuple[Any, ...]]:
    """List the paths to everything inside a document; of each list only to the ``ends`` if asked for."""
    found = [path] if path else []
    if isinstance(value, dict):
        found += [p for key, v in value.items() for p in places(v, (*path, key), ends=ends)]
    elif isinstance(value, list):
        chosen = sorted({0, len(value) - 1} if value else ()) if ends else range(len(value))
        found += [p for key in chosen for p in places(value[key], (*path, key), ends=ends)]
    return found


def _aims(original: Document) -> list[tuple[Any, ...]]:
    """List what mutants change: everything that the checker looks at, and limits with their multipliers more often."""
    # The number of rows of the fullest bin is for our own roundings: the checker, which is exact, has no use for it.
    paths = [path for path in places(original) if path[-2:] != ("knowledge", "rows")]
    if any(s["question"][f"{side}_limits"] for s in statements(original) for side in ("group", "label")):
        paths += 20 * [p for p in paths if "limits" in str(p) or "mu" in str(p[-2:])][:60]
    return paths


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


def check_mutants(name: str, chunk: int) -> None:
    """Change the answer to a question at random: no crash, and what is proved is true."""
    asked = {**USUAL, **QUESTIONS[name][1]}
    count = min(MOST_MUTANTS, MUTANTS[name] - chunk * MOST_MUTANTS)
    rng = random.Random(f"{name}, {chunk}")  # noqa: S311 (reproducible mutations)
    original = honest(name, curve=(len(name) + chunk) % 3 == 0)
    paths, attained = _aims(original), [claim["attained"] for claim in claims(original)]
    proved = 0
    for _ in range(count):
        mutant = mutate(original, paths, rng)
        result = verify(mutant)
        assert result.valid or result.reasons
        if not result.valid:
            continue
        proved += 1
        if _question(mutant) == _question(original):
            assert not better_than(mutant, attained)
        assert_true(mutant, asked["tol"], asked["budget"])
    assert 0 < proved < 0.8 * count


def _question(document: Document) -> Any:
    """Return what a document is about: a population, and questions of it."""
    return document["population"], [s["question"] for s in statements(document)]


@cache
def _is_proved(written: str) -> bool:
    return verify(written).valid


def check_forgery(written: str, change: Change, reason: str, verdict: Verdict | None = Verdict.NOT_PROVED) -> None:
    """Change an honest document, which is proved: it is not any more, for the reason expected.

    Of several reasons between bars one is given. Without a ``verdict`` any but "proved" will do.
    """
    assert _is_proved(written)
    forged: Document = json.loads(written)
    change(forged)
    assert json.dumps(forged) != json.dumps(json.loads(written))  # true and 1 are not the same there
    result = verify(mended(forged))
    assert not result.valid
    assert verdict is None or result.verdict is verdict, result
    assert any(part in given for given in result.reasons for part in reason.split("|")), result.reasons


def check_malformed(written: str, change: Change) -> None:
    """Change an honest document: it is no certificate any more, whatever its form and its digest, for one reason."""
    assert _is_proved(written)
    plain, careful = (json.loads(written) for _ in range(2))
    for broken in (plain, careful):
        change(broken)
    assert json.dumps(plain) != json.dumps(json.loads(written))
    with contextlib.suppress(KeyError, TypeError, ValueError):
        mended(careful)
    for form in (plain, json.dumps(plain), careful, json.dumps(careful)):
        result = verify(form)
        assert result.verdict is Verdict.NOT_A_CERTIFICATE
        assert len(result.reasons) == 1
        assert "\n" not in result.reasons[0]


def assert_true(document: Document, tol: float = 1e-3, budget: int | None = 20) -> None:
    """Every statement is one about its own population and question: certify that anew and compare."""
    written, curve = json.dumps(document), document["format"].endswith("curve")
    found = [*CertificateCurve.from_json(written)] if curve else [Certificate.from_json(written)]
    for claim in found:
        way = -1.0 if claim.lower else 1.0
        for one in claim.comparisons or (claim,):
            bound = min(one.bound, claim.bound, key=lambda v: way * v)
            assert way * bound >= way * _attained(one, claim.population, tol, budget) - 1e-12


#: What is attained in questions that were asked before: most mutants differ in their proofs only.
_known: dict[str, float] = {}


def _attained(one: Certificate, population: Population, tol: float, budget: int | None) -> float:
    """Return what some distribution attains in the question of a certificate; the other end if there is none."""
    rows: dict[str, Any] = {
        f"{side}_rows": None if limits is None else (limits.matrix.tolist(), limits.right.tolist())
        for side, limits in (("group", one.group_limits), ("label", one.label_limits))
    }
    asked: dict[str, Any] = {
        "objective": one.objective if isinstance(one.objective, Objective) else None,
        "shift": one.shift,
        "divergence": one.divergence,
        "group_skew": one.group_skew,
        "label_skew": one.label_skew,
        "support": one.support,
        "empty_cells": one.empty_cells,
        "fair": one.fair,
        "base_rate_tolerance": one.base_rate_tolerance,
        "confidence": one.confidence,
        "region": one.region or "auto",
        "tol": tol,
        "budget": budget,
        **rows,
    }
    key = repr((digest(write_population(population)), one.rho, asked))
    if key not in _known:
        _known[key] = _found(population, one.rho, asked, never=np.inf if one.lower else -np.inf)
    return _known[key]


def _found(population: Population, rho: float, asked: dict[str, Any], never: float) -> float:
    """Ask, and return what is attained, or ``never`` if no distribution is in question."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        try:
            found = solver(population, **asked)
        except InputError:  # a contradiction: there is nothing that could exceed the claim
            return never
        if rho < found.distance:
            return never
        return certificates(found, np.array([rho]))[0].attained
