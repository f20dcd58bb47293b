"""One harness for forged documents: questions of every kind, ways to spoil an answer, and whether a claim is true.

A forger knows the format, and mends the digest. What the checker calls proved of a forged document has to be true of
the document's own population and question: that is certified anew. Forgeries that have a name are refused for the
reason that is expected.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from flint import ctx

from fairbound import (
    Certificate,
    Evidence,
    InputError,
    Population,
    SmallCellWarning,
    Verdict,
    certify,
    certify_curve,
    verify,
)
from fairbound.arithmetic.rounding import least_affinity
from fairbound.certificate.document import digest, read_populations
from fairbound.certificate.statements import certificates
from fairbound.problem import metrics
from fairbound.problem.objective import Objective
from fairbound.sampling.discretise import Sample
from fairbound.sampling.prequential import Wagers, dealt
from fairbound.solve.solver import Solver
from fairbound.verify import document as typed
from fairbound.verify.balls import PRECISION, RefusedError
from fairbound.verify.document import singles
from fairbound.verify.leaves import excesses
from fairbound.verify.reading import read_document
from fairbound.verify.sampling import checked_surrogate
from fairbound.verify.statement import Statement
from fairbound.verify.strict import MalformedError
from fairbound.wording.names import read_name
from tests.by_hand import only
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


def _rows(share: int = 1) -> Population:
    times = [cell[3] // share for cell in CELLS]
    group, label, predicted = (np.repeat([cell[i] for cell in CELLS], times) for i in range(3))
    return Population.from_predictions(label.tolist(), predicted.tolist(), sensitive_features=group.tolist())


def _strata() -> Population:
    rng = np.random.default_rng(13)
    group, label, stratum = (rng.integers(0, size, 200) for size in (2, 2, 3))
    losses = rng.random(200) < rng.uniform(0, 0.7, (2, 2, 3))[group, label, stratum]
    return Population.from_losses(losses.astype(float), label, sensitive_features=group, strata=stratum, loss="mine")


def _graded() -> Population:
    rng = np.random.default_rng(12)
    group, label = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    losses = rng.integers(0, 4 + group, 300) / 5
    return Population.from_losses(losses, label, sensitive_features=group, loss="mine")


#: A population whose sensitive certificate needs several pieces where base rates may differ.
HARD = Population.from_moments(
    [[0.63652, 0.13096], [0.00647, 0.22605]], [[0.72238, 0.14747], [0.28087, 0.73071]], groups=["a", "b"]
)

#: Three labels: limits reach into the pieces, which need omega; in another one base rates may differ.
SQUARE = random_population(np.random.default_rng(0), 3, 3)
OTHER_SQUARE = random_population(np.random.default_rng(5), 3, 3)

#: More labels than groups: the shares of groups are searched.
WIDE = random_population(np.random.default_rng(1), 2, 3)

POPULATIONS: dict[str, Callable[[], Population]] = {
    "moments": lambda: Population.from_moments(P, E),
    "variances": lambda: Population.from_moments(P, E, 0.4 * E * (1 - E)),
    "rows": _rows,
    "few": lambda: _rows(8),
    "graded": _graded,
    "strata": _strata,
    "zero-one strata": lambda: replace(_strata(), loss_name="zero_one"),
    "hard": lambda: HARD,
    "square": lambda: SQUARE,
    "other square": lambda: OTHER_SQUARE,
    "wide": lambda: WIDE,
}

#: Limits on shares that bind: on both sides, on the shares of one group and label each, and of three labels.
LIMITS: dict[str, Any] = {"min_group_mass": 0.35, "label_limits": {0: (0.1, 0.6)}}
INTERVALS: dict[str, Any] = {"group_limits": {0: (0.4, 0.6)}, "label_limits": {1: (0.1, 0.3)}}
SQUARE_LIMITS: dict[str, Any] = {"label_limits": {0: (0.2, 0.3), 1: (0.3, 0.5)}, "min_group_mass": 0.2}
WIDE_LIMITS: dict[str, Any] = {"label_limits": {0: (0.2, 0.3), 1: (0.3, 0.5)}, "group_limits": {0: (0.4, 0.6)}}

#: Whether base rates are equal, nearly equal, or any.
CONDITIONS: dict[str, Any] = {"equal": {}, "near": {"base_rate_tolerance": 0.05}, "any": {"fair": False}}

#: Radii at which something moves, but no group can be emptied.
RADII = {
    "total_variation": 0.1,
    "kl": 0.1,
    "chi_squared": 0.2,
    "trimming": 0.2,
    "cressie_read:0.5": 0.1,
    "cressie_read:3": 0.1,
}

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
        for divergence in ("cressie_read:0.5", "cressie_read:3"):
            asked = {"shift": shift, "divergence": divergence, **CONDITIONS["any"]}
            yield f"{shift}, {divergence}, any base rates", "rows", asked
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
    yield "bets on rows", "few", {"confidence": 0.9, "region": "prequential", "rho": 0.3}
    yield "observed support", "graded", {"support": "observed"}
    for asked in ({}, {"divergence": "trimming", "rho": 0.3}, named("group_loss_difference")):
        yield f"strata, {', '.join(map(str, asked.values())) or 'loss'}", "strata", {"shift": "stratified", **asked}
    for region in ("sphere", "hoeffding"):
        asked = {"shift": "stratified", "confidence": 0.9, "region": region}
        yield f"strata, {region}", "strata", asked
    yield "strata, sphere, 0 or 1", "zero-one strata", {**asked, "region": "sphere", **named("group_loss_difference")}
    anything = {"min_group_mass": 0.35, **CONDITIONS["any"], **named("demographic_parity_difference")}
    yield "limits on groups, any base rates", "rows", anything
    near = {"shift": "sensitive", "rho": 0.5, "tol": 1e-4, **CONDITIONS["near"]}
    yield "several pieces, near base rates", "hard", near
    plain = {"shift": "sensitive", "budget": None, "tol": 1e-2}
    yield "pieces of three labels", "square", {"rho": 0.6, **plain, "min_group_mass": 0.2}
    yield "pieces of three labels, skew", "other square", {"rho": 0.6, **plain, "label_skew": 0.4}
    square = {"shift": "sensitive", "tol": 1e-2, "budget": None, **SQUARE_LIMITS}
    yield "one leaf with limits", "square", {"rho": radius(SQUARE, 0.2, **SQUARE_LIMITS), **square}
    yield "pieces with limits", "square", {"rho": radius(SQUARE, 0.3, **SQUARE_LIMITS), **square}
    yield "limits, groups searched", "wide", {"rho": radius(WIDE, 0.2, **WIDE_LIMITS), **CLOSE, **WIDE_LIMITS}
    near = {"shift": "sensitive", "rho": 0.6, "tol": 1e-2, "group_skew": 0.3, "budget": None, **CONDITIONS["near"]}
    yield "several pieces of three labels, near base rates", "other square", near
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
    searched = {"one leaf with limits", "limits, groups searched", "several pieces of three labels, near base rates"}
    if name in CLOSER | searched or (asked.get("tol") == 1e-4 and "metric" in asked):
        return 150
    if name.endswith(", closely"):
        return 250
    return 60 if known == "graded" and "metric" in asked else 0


#: Bets on rows: the bound is about what the rows were drawn from, the worst case about the rows themselves.
ON_ROWS = {name for name, (_, asked) in QUESTIONS.items() if asked.get("region") == "prequential"}

#: How many mutants of each question's answer there are.
MUTANTS = {name: 60 + _more_mutants(name) for name in QUESTIONS}

#: So many at most are checked by one test; `make test` has one for each question.
MOST_MUTANTS = 60


def mutants_of(name: str) -> list[int]:
    """Return how many mutants of a question's answer each test of them checks."""
    tests = -(-MUTANTS[name] // MOST_MUTANTS)
    return [(MUTANTS[name] + chunk) // tests for chunk in range(tests)]


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
    """Return the answers to all statements, of all radii: each a bound, what is attained, a witness and a proof."""
    return [answer for point in only(document)["points"] for answer in point["answers"]]


def claims(document: Document) -> list[Document]:
    """Return all claims: those of the statements, and of each radius what follows from them."""
    return statements(document) + [p["claim"] for p in only(document)["points"] if p["claim"] is not None]


def cut_into(proof: Document, count: int) -> None:
    """Cut the shares into many pieces, each with the first one's multipliers."""
    cuts = [piece for n in range(1, count) for piece in ([0.0, 1.0, n / count], None)]
    proof.update(splits=[*cuts, None], leaves=proof["leaves"][:1] * count)


def better(document: Document, by: float) -> None:
    """Claim more than was proved everywhere: a smaller bound, of ratios a larger one."""
    way = -1.0 if _is_ratio(document) else 1.0
    for claim in claims(document):
        claim["bound"] -= way * by


def better_than(document: Document, attained: list[float | None]) -> bool:
    """Tell whether some claim is better than what is attained: false, that is."""
    way = -1.0 if _is_ratio(document) else 1.0
    pairs = zip(claims(document), attained, strict=True)
    return any(value is not None and way * claim["bound"] < way * value for claim, value in pairs)


def _is_ratio(document: Document) -> bool:
    return any(one["objective"] is not None and one["objective"]["ratio"] for one in only(document)["statements"])


def _read(population: typed.Measured) -> Population:
    """Return a population with one measure as the library has it."""
    p = population
    measure = typed.Measure(p.loss, p.pos_label, p.ceiling, p.knowledge)
    whole = typed.Population(p.groups, p.labels, p.rows, p.excluded_rows, p.weighted, p.weight, [measure])
    untold = typed.Provenance(None, [], [], [], [], None, None, None)
    document = typed.Document(typed.FORMAT, typed.VERSION, "", untold, whole, None, [], [], "")
    return read_populations(document)[0]


def mirrored(population: typed.Measured) -> typed.Measured:
    """Return the population with the ceiling less each loss for its loss."""
    known, top = population.knowledge, population.ceiling
    if top is None:
        message = "only losses with a ceiling have a mirror"
        raise TypeError(message)
    other: typed.Knowledge
    if isinstance(known, typed.Losses):
        cells = [
            [[[top - high, top - low, w, 1 - part] for low, high, w, part in cell] for cell in row]
            for row in known.cells
        ]
        other = replace(known, cells=cells)
    elif isinstance(known, typed.Strata):
        other = replace(known, cells=[[[[w, top - v] for w, v in cell] for cell in row] for row in known.cells])
    else:
        other = replace(known, mean=[[top - v for v in row] for row in known.mean])
    return replace(population, knowledge=other)


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
    if any(only(original)[f"{side}_limits"]["rows"] for side in ("group", "label")):
        paths += 20 * [p for p in paths if "limits" in str(p) or "mu" in str(p[-2:])][:60]
    return paths


#: Words that may stand in each other's place.
WORDS = (
    ("label", "group", "part"),
    ("none", "plus", "minus", "both"),
    ("general", "stratified", "sensitive"),
    ("any", "observed"),
    ("refuse", "ceiling"),
    ("hellinger", "total_variation", "kl", "chi_squared", "trimming", "cressie_read"),
    ("sphere", "hoeffding", "prequential", "asymptotic"),
    ("losses", "mean", "mean_variance", "strata"),
    ("loss", *METRICS),
)


def reshaped(proof: Document, axis: str, form: str, document: Document) -> Document:
    """Return a proof with leaves of some form, of pieces of some shares, made of the numbers of another one.

    It has the right shape for the document's question; what it proves, if anything, is for the checker to say.
    """
    shape = len(document["population"]["groups"]), len(document["population"]["labels"])
    parts = 1 + any(
        one["objective"] is not None and one["objective"]["label"] is not None for one in only(document)["statements"]
    )
    size = {"group": shape[0], "label": shape[1], "part": parts}[axis]
    fits = all(split is None or max(split[:2]) < size for split in proof["splits"])
    floors = _resized(proof["floors"], size)
    return {
        "axis": axis,
        "floors": floors if sum(floors) <= 1 else [0.0] * size,
        "splits": proof["splits"] if fits else [None],
        "leaves": [
            _reformed(leaf, proof["axis"], axis, form, document) for leaf in proof["leaves"][: None if fits else 1]
        ],
    }


def _resized(values: list[float], size: int) -> list[float]:
    return [values[i % len(values)] for i in range(size)] if values else [0.0] * size


def _reformed(leaf: Document, before: str, axis: str, form: str, document: Document) -> Document:
    """Return a leaf of some form with multipliers that are about those of another one."""
    shape, top = (
        (len(document["population"]["groups"]), len(document["population"]["labels"])),
        document["population"]["measures"][0]["ceiling"] or 1.0,
    )
    size = {"group": shape[0], "label": shape[1], "part": len(leaf["centre"])}[axis]
    loss = only(document)["metric"]["name"] == "loss"
    tilted = leaf["form"] == "T"
    table = leaf["w"] if tilted else leaf["zeta"]
    middle = leaf["centre"]

    def moved(v: float, s: int, y: int) -> float:
        """Return the multiplier of a cell of the loss of all, at the centre, as the other form has it."""
        at = {"group": s, "label": y, "part": 0}
        x = middle[at[before] % len(middle)] or 1.0
        if tilted == (form == "T") or not loss:
            return v
        if tilted:
            return max(0.0, (v - top) * x)
        across = leaf["offset"] or [0.0]
        return (
            v / x
            + (leaf["base"] or [top])[at[before] % len(middle)]
            + across[(y if before == "group" else s) % len(across)]
        )

    moving = [[moved(v, s, y) for y, v in enumerate(row)] for s, row in enumerate(table)]
    shared = {
        "centre": _resized(middle, size),
        "lam": leaf["lam"],
        "group_mu": leaf["group_mu"],
        "label_mu": leaf["label_mu"],
    }
    if form == "T":
        gamma, omega = (_resized(leaf.get(key) or [], size) for key in ("gamma", "omega"))
        return {
            "form": "T",
            "w": moving,
            "gamma": gamma,
            "omega": omega,
            "relaxed": leaf.get("relaxed", "none"),
            **shared,
        }
    return {
        "form": "F",
        "zeta": moving,
        "base": _resized(leaf.get("base") or [top], size) if loss else None,
        "offset": _resized(leaf.get("offset") or [], shape[1 if axis == "group" else 0]) if loss else None,
        "slope": None if loss else leaf.get("slope"),
        "omega": _resized(leaf["omega"], shape[1] if axis == "part" else size),
        "nu": leaf.get("nu"),
        **shared,
    }


def mutate(original: Document, paths: list[tuple[Any, ...]], rng: random.Random) -> Document:
    """Change one to three places of a document at random."""
    changed = copy.deepcopy(original)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice(paths)
        with contextlib.suppress(LookupError, ArithmeticError, TypeError, ValueError, AttributeError):  # spoiled before
            if rng.random() < 0.1:
                _transplant(changed, path, paths, rng)
            elif "proof" in path and rng.random() < 0.05:
                answer = _inside(changed, path[: path.index("proof")])
                axis, form = rng.choice(["label", "group", "part"]), rng.choice("TF")
                answer["proof"] = reshaped(answer["proof"], axis, form, original)
            else:
                _change(_inside(changed, path[:-1]), path[-1], rng)
    if rng.random() < 0.7:
        with contextlib.suppress(ArithmeticError, KeyError, TypeError, ValueError):
            mended(changed)
    return changed


def _inside(document: Document, path: tuple[Any, ...]) -> Any:
    found: Any = document
    for step in path:
        found = found[step]
    return found


def _transplant(changed: Document, path: tuple[Any, ...], paths: list[tuple[Any, ...]], rng: random.Random) -> None:
    """Put what stands in one place into another one of the same kind, or exchange the two."""
    alike = [p for p in paths if len(p) == len(path) and p != path and _kind(p) == _kind(path)]
    if not alike:
        return
    other = rng.choice(alike)
    (here, there), (key, place) = (_inside(changed, p[:-1]) for p in (path, other)), (path[-1], other[-1])
    value = copy.deepcopy(here[key])
    if rng.random() < 0.5:
        here[key] = there[place]
    there[place] = value


def _kind(path: tuple[Any, ...]) -> list[str]:
    return [step for step in path if isinstance(step, str)]


def _change(parent: Any, key: Any, rng: random.Random) -> None:
    """Change one place."""
    if not isinstance(parent, dict | list):
        return
    value: Any = parent[key]
    if isinstance(value, bool) and rng.random() < 0.5:
        parent[key] = not value
    elif isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.8:
        moves = [value * (1 + s * 10.0**-e) for s in (1, -1) for e in (3, 6, 9, 15)]
        parent[key] = rng.choice([*moves, -value, 0, 1, value + 1e-3, value - 1e-3, 1e99, 1e-320, 2 * value])
    elif isinstance(value, str) and rng.random() < 0.6:
        parent[key] = rng.choice([word for words in WORDS if value in words for word in words] or ["x"])
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


def check_mutants(name: str, chunk: int) -> None:
    """Change the answer to a question at random: no crash, and what is proved is true."""
    asked = {**USUAL, **QUESTIONS[name][1]}
    count = mutants_of(name)[chunk]
    original = honest(name, curve=(len(name) + chunk) % 3 == 0)
    check_mutants_of(original, f"{name}, {chunk}", count, asked["tol"], asked["budget"])


def check_mutants_of(original: Document, seed: str, count: int, tol: float, budget: int | None) -> None:
    """Change a document at random: no crash, and what is proved is true."""
    rng = random.Random(seed)  # noqa: S311 (reproducible mutations)
    paths, attained = _aims(original), [claim["attained"] for claim in claims(original)]
    about, proved = _question(original), 0
    for _ in range(count):
        mutant = mutate(original, paths, rng)
        result = verify(mutant)
        assert result.valid or result.reasons
        if _question(mutant) == about:
            assert_no_more_is_proved(mutant, tol, budget)
        if not result.valid:
            continue
        proved += 1
        if _question(mutant) == about:
            assert not better_than(mutant, attained)
        assert_true(mutant, tol, budget)
    assert 0 < proved < 0.8 * count


def _question(document: Document) -> Any:
    """Return what a document is about: a population, a question, statements and radii; None if that is unclear."""
    try:
        stated = [(one["objective"], one["confidence"]) for one in only(document)["statements"]]
        radii = [(point["rho"], point["claim"] is None) for point in only(document)["points"]]
        asked = {key: value for key, value in only(document).items() if key not in {"statements", "points", "distance"}}
        return document["population"], asked, stated, radii
    except (KeyError, TypeError, ValueError):
        return None


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
    plain_, careful = (json.loads(written) for _ in range(2))
    for broken in (plain_, careful):
        change(broken)
    assert json.dumps(plain_) != json.dumps(json.loads(written))
    with contextlib.suppress(ArithmeticError, KeyError, TypeError, ValueError):
        mended(careful)
    for form in (plain_, json.dumps(plain_), careful, json.dumps(careful)):
        result = verify(form)
        assert result.verdict is Verdict.NOT_A_CERTIFICATE
        assert len(result.reasons) == 1
        assert "\n" not in result.reasons[0]


@dataclass(frozen=True)
class Truth:
    """What some distribution attains, and what none exceeds; of a ratio both the other way."""

    attained: float
    bound: float


#: What a witness may miss of a difference, or of a ratio of means of ordinary size.
ROUNDING = 1e-9


def assert_true(document: Document, tol: float = 1e-3, budget: int | None = 20) -> None:
    """Every claim is one about the document's own population and question: certify that anew and compare.

    Of the metric, and of each statement. What is attained was checked too if nothing is sampled: a document may speak
    of a larger ball than need be. And what is shown of the document is no better than what is true.
    """
    curves = Evidence.from_json(json.dumps(document)).curves
    for read, curve in zip(singles(read_document(json.dumps(document))), curves, strict=True):
        _assert_answers_true(read, iter(curve), tol, budget)


def _assert_answers_true(
    read: typed.Single, certificates_: Iterator[Certificate], tol: float, budget: int | None
) -> None:
    levels = {one.objective: one for one in read.question.statements}
    made = _made_of(read)
    way = -1.0 if any(one is not None and one.ratio for one in made) else 1.0
    for point in read.question.points:
        if point.claim is None:
            continue
        truths = [_truth(read, levels.get(one), one, point.rho, tol, budget) for one in made]
        most = Truth(max(way * one.attained for one in truths), max(way * one.bound for one in truths))
        for claim in (point.claim, next(certificates_)):
            assert way * claim.bound >= most.attained - 1e-12
            assert read.question.confidence is not None or way * (claim.attained or 0.0) <= most.bound + ROUNDING
        for one, answer in zip(read.question.statements, point.answers, strict=True):
            truth = _truth(read, one, one.objective, point.rho, tol, budget)
            assert way * answer.bound >= way * truth.attained - 1e-12
            if one.sampling is not None and one.sampling.region == "prequential":
                assert answer.bound >= least_rejected(read, one, point.rho) - 1e-6
            assert (
                one.confidence is not None
                or answer.attained is None
                or way * answer.attained <= way * truth.bound + ROUNDING
            )


def least_rejected(read: typed.Single, one: typed.Statement, rho: float) -> float:
    """Return the least value that bets on a document's rows reject, by our own arrays."""
    sampling = one.sampling
    assert sampling is not None
    assert one.confidence is not None
    assert sampling.counts is not None
    assert sampling.losses is not None
    assert sampling.seed is not None
    sample = Sample(np.array(sampling.counts, dtype=float), np.array(sampling.losses), sampling.seed)
    blocks, error = dealt(sample, sampling.seed)[None], (1.0 - one.confidence) / len(read.question.points)
    return float(Wagers.on(blocks, sample.losses, float(least_affinity(rho)), error).least()[0])


def assert_no_more_is_proved(document: Document, tol: float = 1e-3, budget: int | None = 20) -> None:
    """What the multipliers of a document prove is true, whatever it claims of the metric and whatever it shows.

    Where they prove as much as is claimed, no claim that is false by little is proved by them.
    """
    try:
        found = singles(read_document(document))
    except MalformedError:
        return
    for read in found:
        _assert_answers_prove_no_more(read, tol, budget)


def _assert_answers_prove_no_more(read: typed.Single, tol: float, budget: int | None) -> None:
    for number, statement in enumerate(read.question.statements):
        way = -1.0 if statement.objective is not None and statement.objective.ratio else 1.0
        for point in read.question.points:
            if point.claim is None:
                continue
            answer = point.answers[number]
            if not proves(read, number, answer.proof, point.rho, answer.bound):
                continue
            truth = _truth(read, statement, statement.objective, point.rho, tol, budget)
            false = truth.attained - way * ROUNDING
            assert not (math.isfinite(false) and proves(read, number, answer.proof, point.rho, false))


def proves(single: typed.Single, number: int, proof: typed.Proof, rho: float, claimed: float) -> bool:
    """Tell whether multipliers prove a claim about a statement of a document."""
    question = single.question
    statement = question.statements[number]
    before, ctx.prec = ctx.prec, PRECISION
    try:
        surrogate = checked_surrogate(single.population, question, statement)
        known = single.population if surrogate is None else surrogate.population
        affinity = None if surrogate is None else surrogate.least_affinity(rho)
        ratio = statement.objective is not None and statement.objective.ratio
        exact = Statement(known, question, statement.objective, rho, affinity, claimed if ratio else 1.0)
        found = excesses(exact, proof, claimed)
        return bool(found) and all(excess <= 0 for excess in found)
    except (RefusedError, ArithmeticError, ValueError):
        return False
    finally:
        ctx.prec = before


def _made_of(single: typed.Single) -> list[typed.Objective | None]:
    """Return what the metric is the worst of, by our own list of metrics, which the checker does not know."""
    population, asked = _read(single.population), single.question.metric
    if asked.name == "loss":
        return [None]
    group = None if asked.group is None else population.groups.index(read_name(asked.group))
    found = metrics.METRICS[asked.name]
    label = population.labels.index(population.pos_label) if found.by_label and found.selection else None
    made = found.objectives(population.weight.shape, group, label)
    return [typed.Objective(one.plus, one.minus, one.label, one.inside, one.ratio) for one in made]


#: What is true of questions that were asked before: most mutants differ in their proofs only.
_known: dict[str, Truth] = {}


def _truth(
    single: typed.Single,
    statement: typed.Statement | None,
    about: typed.Objective | None,
    rho: float,
    tol: float,
    budget: int | None,
) -> Truth:
    """Certify a statement anew. What has no statement of its own is as sure as the whole."""
    population, question = single.population, single.question
    confidence = question.confidence if statement is None else statement.confidence
    region = "auto" if statement is None or statement.sampling is None else statement.sampling.region
    asked = replace(question, tol=tol, statements=[], distance=None, points=[])
    key = repr((population, asked, about, rho, confidence, region, budget))
    if key in _known:
        return _known[key]
    if about is None:
        found = _found(population, question, None, rho, confidence, region, tol, budget)
    elif about.plus is None and about.minus is not None:
        other, top = Objective(about.minus, None, about.label, about.inside), population.ceiling
        assert top is not None
        found = _found(mirrored(population), question, other, rho, confidence, region, tol, budget)
        found = Truth(found.attained - top, found.bound - top)
    elif about.plus is None:
        found = Truth(-math.inf, math.inf)  # of nothing anything is true
    else:
        other = Objective(about.plus, about.minus, about.label, about.inside, about.ratio)
        found = _found(population, question, other, rho, confidence, region, tol, budget)
    _known[key] = found
    return found


def _solver(
    population: typed.Measured,
    question: typed.Question,
    objective: Objective | None,
    confidence: float | None,
    region: str,
    tol: float,
    budget: int | None,
) -> Solver:
    """Put the question of a document, or another objective in its place, into numbers."""
    limits: dict[str, Any] = {}
    for side, given in (("group", question.group_limits), ("label", question.label_limits)):
        limits[f"{side}_skew"] = given.skew
        limits[f"{side}_rows"] = (given.rows, given.most) if given.rows else None
    keys = ("shift", "divergence", "support", "empty_cells", "fair", "base_rate_tolerance")
    asked = {key: getattr(question, key) for key in keys}
    known = _read(population)
    more: dict[str, Any] = {"confidence": confidence, "region": region, "tol": tol, "budget": budget}
    return solver(known, objective=objective, **asked, **limits, **more)


def _found(
    population: typed.Measured,
    question: typed.Question,
    objective: Objective | None,
    rho: float,
    confidence: float | None,
    region: str,
    tol: float,
    budget: int | None,
) -> Truth:
    """Ask, and return what is true; if no distribution is in question anything is."""
    way = -1.0 if objective is not None and objective.ratio else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        try:
            found = _solver(population, question, objective, confidence, region, tol, budget)
        except InputError:  # a contradiction, or a question that we do not answer
            if question.base_rate_tolerance is None:
                return Truth(-way * math.inf, way * math.inf)
            equal = replace(question, base_rate_tolerance=None)  # what is attained there is attained here
            attained = _found(population, equal, objective, rho, confidence, region, tol, budget).attained
            return Truth(attained, way * math.inf)
        if rho < found.distance:
            return Truth(-way * math.inf, way * math.inf)
        (one,) = certificates(found, np.array([rho]))
        return Truth(one.attained, one.bound)
