"""Statements of every two groups: their leaves prove of each pair no more than form F with the same multipliers.

Form F itself is attacked in test_leaves.py.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any, cast

import numpy as np
import pytest
from flint import arb, ctx

from fairbound import Population, certify, certify_curve, verify
from fairbound.verify.balls import PRECISION, RefusedError
from fairbound.verify.document import (
    Fractional,
    Limits,
    Mean,
    MeanVariance,
    Measured,
    Metric,
    Objective,
    Pairwise,
    Question,
    Shared,
)
from fairbound.verify.leaves import bounds_of_pairs, excess_of
from fairbound.verify.statement import Statement
from tests.by_hand import only
from tests.forging import Change, Document, check_forgery, check_malformed, mended
from tests.second_checker import disagreements

EVERY = Objective(None, None, None, inside=True, ratio=False)
NONE = Limits(None, [], [])


@pytest.fixture(autouse=True)
def _precise() -> Iterator[None]:
    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before


def random_statement(rng: np.random.Generator) -> tuple[Measured, Question, Objective, float]:
    """Draw a population, a question about it, what means are taken over, and a factor."""
    groups, labels = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    weight = rng.uniform(0.0, 1.0, (groups, labels)) + 0.01
    if rng.random() < 0.2:
        weight[0, 0] = 0.0
    mean = rng.uniform(0.0, 1.0, weight.shape)
    known: list[Any] = [
        Mean("mean", mean.tolist()),
        MeanVariance("mean_variance", mean.tolist(), (0.5 * mean * (1 - mean)).tolist()),
    ]
    groups_, labels_ = ([cast("Any", str(n)) for n in range(size)] for size in (groups, labels))
    population = Measured(
        groups_, labels_, None, 0, False, weight.tolist(), "mine", None, 1.0, known[int(rng.integers(2))]
    )
    fair, tolerance = [(True, None), (True, 0.1), (False, None)][int(rng.integers(3))]
    limited = (
        Limits(float(rng.uniform(0.3, 1.0)), [[1.0] + [0.0] * (groups - 1)], [0.7]) if rng.random() < 0.5 else NONE
    )
    by_label = Limits(None, [[1.0] + [0.0] * (labels - 1)], [0.8]) if fair and tolerance is None else NONE
    question = Question(
        0, Metric("", None), "sensitive" if rng.random() < 0.3 else "general", "any", "ceiling", "hellinger", None,
        fair, tolerance, limited, by_label, None, 1e-6, [], None, [],
    )  # fmt: skip
    label = int(rng.integers(labels)) if rng.random() < 0.5 else None
    about = Objective(None, None, label, inside=label is None or bool(rng.random() < 0.5), ratio=False)
    return population, question, about, float(rng.choice([1.0, 0.7]))


def random_set(rng: np.random.Generator, statement: Statement) -> Shared:
    """Draw multipliers."""
    shape = statement.groups.size, statement.labels.size
    zeta: Any = [rng.uniform(2.0, 4.0, shape).tolist() for _ in range(3)]
    moving = len(statement.parts) > 1 and rng.random() < 0.8
    slope: Any = [rng.uniform(-0.9, 2.0, shape).tolist() if moving else None for _ in range(3)]
    equal = statement.tolerance == 0
    free = [0.0] * shape[1]
    return Shared(
        zeta[0], zeta[1], zeta[2], slope[0], slope[1], slope[2],
        rng.uniform(0.1, 0.9, len(statement.parts)).tolist(),
        rng.normal(size=shape[1]).tolist() if equal else free,
        float(rng.uniform(0.0, 3.0)) * float(rng.random() < 0.9),
        None if rng.random() < 0.5 else rng.uniform(0.0, 3.0, shape[0]).tolist(),
        rng.uniform(0.0, 1.0, len(statement.question.group_limits.most)).tolist(),
        rng.uniform(0.0, 1.0, len(statement.question.label_limits.most)).tolist(),
    )  # fmt: skip


def of_pair(one: Shared, a: int, b: int) -> Fractional:
    """Return the leaf of form F of a pair: each group with the multipliers of its role."""

    def rows(neither: Any, plus: Any, minus: Any) -> Any:
        if neither is None:
            return None
        return [plus[s] if s == a else minus[s] if s == b else row for s, row in enumerate(neither)]

    zeta = rows(one.zeta, one.plus, one.minus)
    slope = rows(one.slope, one.plus_slope, one.minus_slope)
    rest = one.centre, one.omega, one.lam, one.nu, one.group_mu, one.label_mu
    return Fractional("F", zeta, None, None, slope, *rest)


def random_corners(rng: np.random.Generator, parts: int, tolerance: float) -> list[list[arb]]:
    if parts == 1:
        return [[arb(1)]]
    ends = np.sort(rng.uniform(0.0, 1.0 - tolerance, 2)) if tolerance < 1 else np.zeros(2)
    return [[arb(float(x)), 1 - arb(float(x))] for x in ends[::-1]]


def test_every_two_groups_are_bounded_as_each_pair_is() -> None:
    """Or higher, where groups pull more in other roles; without the pulls it is the same number."""
    rng, larger = np.random.default_rng(1), 0
    for _ in range(120):
        population, question, about, factor = random_statement(rng)
        every = Statement(population, question, about, 0.2, None, factor)
        one = random_set(rng, every)
        corners = random_corners(rng, len(every.parts), float(every.tolerance.p) / float(every.tolerance.q))
        pairs = list(permutations(range(every.groups.size), 2))
        without_pull = bounds_of_pairs(every, replace(one, lam=0.0), corners)
        for (a, b), bound, level in zip(pairs, bounds_of_pairs(every, one, corners), without_pull, strict=True):
            pair = Statement(population, question, replace(about, plus=a, minus=b), 0.2, None, factor)
            leaf = of_pair(one, a, b)
            own = excess_of(pair, leaf, "part", corners, arb(0))
            assert float(bound.mid()) >= float(own.mid()) - 1e-12
            larger += float(bound.mid()) > float(own.mid()) + 1e-9
            assert level.overlaps(excess_of(pair, replace(leaf, lam=0.0), "part", corners, arb(0)))
    assert larger > 50


def test_no_pair_exceeds_the_largest_value() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        population, question, about, factor = random_statement(rng)
        top = Statement(population, question, about, 0.2, None, factor).top
        for a, b in permutations(range(len(population.groups)), 2):
            assert Statement(population, question, replace(about, plus=a, minus=b), 0.2, None, factor).top <= top


def test_the_best_set_of_each_pair_counts() -> None:
    rng = np.random.default_rng(3)
    population, question, about, _ = random_statement(rng)
    every = Statement(population, question, about, 0.2)
    sets = [random_set(rng, every) for _ in range(4)]
    corners = random_corners(rng, len(every.parts), 0.1)
    found = np.array([[float(b.mid()) for b in bounds_of_pairs(every, one, corners)] for one in sets])
    whole = excess_of(every, Pairwise("P", sets), "part", corners, arb(0))
    assert float(whole.mid()) == pytest.approx(found.min(axis=0).max(), abs=1e-12)
    for wrong, axis in ((Pairwise("P", []), "part"), (Pairwise("P", sets), "label")):
        with pytest.raises(RefusedError, match="take sets"):
            excess_of(every, wrong, axis, corners, arb(0))
    with pytest.raises(RefusedError, match="form P"):
        excess_of(every, of_pair(sets[0], 0, 1), "part", corners, arb(0))
    pair = Statement(population, question, replace(about, plus=0, minus=1), 0.2)
    with pytest.raises(RefusedError, match="form P"):
        excess_of(pair, Pairwise("P", sets), "part", corners, arb(0))
    low = replace(sets[0], plus=[[-9.0] * len(row) for row in sets[0].plus])
    with pytest.raises(RefusedError, match="below its ceiling"):
        bounds_of_pairs(every, low, corners)
    with pytest.raises(RefusedError, match="for two groups"):
        Statement(population, question, about, 0.2, arb("0.9"))
    other = Statement(population, replace(question, divergence="kl"), about, 0.2)
    with pytest.raises(RefusedError, match="Hellinger"):
        excess_of(other, Pairwise("P", sets), "part", corners, arb(0))


@cache
def text(metric: str = "group_loss_difference", curve: bool = False) -> str:
    """Return a document about seven groups."""
    rng = np.random.default_rng(4)
    group, label = rng.integers(0, 7, 4000), rng.integers(0, 2, 4000)
    wrong = rng.random(4000) < 0.1 + 0.03 * group
    population = Population.from_predictions(label, np.where(wrong, 1 - label, label), sensitive_features=group)
    asked: Any = {"metric": metric, "tol": 1e-4, "budget": 60}
    return (
        certify_curve(population, [0.05, 0.1], **asked).to_json()
        if curve
        else certify(population, 0.1, **asked).to_json()
    )


def place(d: Document, plus: int | None) -> int:
    """Return the number of the first statement about every two groups, or (with any number) of one about a pair."""
    return next(
        n for n, one in enumerate(only(d)["statements"]) if (one["objective"]["plus"] is None) == (plus is None)
    )


def every(d: Document, point: int = 0) -> Any:
    return only(d)["points"][point]["answers"][place(d, None)]


def first_set(d: Document) -> Any:
    return every(d)["proof"]["leaves"][0]["sets"][0]


def lower(by: float) -> Change:
    def change(d: Document) -> None:
        for claim in (*only(d)["points"][0]["answers"], only(d)["points"][0]["claim"]):
            claim["bound"] -= by

    return change


def drop(number: int | None) -> Change:
    def change(d: Document) -> None:
        at = place(d, number)
        for of in (only(d)["statements"], *(point["answers"] for point in only(d)["points"])):
            of.pop(at)

    return change


def leave_out_a_pair(d: Document) -> None:
    """Say that the statement is about two groups only."""
    only(d)["statements"][place(d, None)]["objective"].update(plus=0, minus=1)


def exchange_roles(d: Document) -> None:
    one = first_set(d)
    one["plus"], one["minus"] = one["minus"], one["plus"]


def loosen(key: str, by: float) -> Change:
    def change(d: Document) -> None:
        first_set(d)[key] = (np.array(first_set(d)[key]) + by).tolist()

    return change


FORGERIES: dict[str, tuple[str, Change, str]] = {
    "bounds lowered by 1e-3": ("group_loss_difference", lower(1e-3), "is missing"),
    "bounds of rates lowered by 1e-3": ("true_positive_rate_difference", lower(1e-3), "is missing"),
    "ratios raised by 1e-3": ("demographic_parity_ratio", lower(-1e-3), "is missing"),
    "nothing of every two groups": ("group_loss_difference", drop(None), "are not those"),
    "no pair, so no witness": ("group_loss_difference", drop(0), "is not the worst that is shown"),
    "a pair for every two groups": ("group_loss_difference", leave_out_a_pair, ""),
    "one kind of rates left out": ("equalized_odds_difference", drop(None), "are not those"),
    "roles exchanged": ("group_loss_difference", exchange_roles, ""),
    "multipliers of added groups lowered": ("group_loss_difference", loosen("plus", -1e-3), "is missing|ceiling"),
    "multipliers of subtracted groups lowered": ("group_loss_difference", loosen("minus", -1e-3), "is missing"),
    "multipliers of other groups raised": ("group_loss_difference", loosen("zeta", 1e-3), "is missing"),
    "a larger multiplier of the ball": ("group_loss_difference", loosen("lam", 1.0), "is missing"),
    "a larger radius": ("group_loss_difference", lambda d: only(d)["points"][0].update(rho=0.11), "is missing"),
    "of another label": (
        "true_positive_rate_difference",
        lambda d: only(d)["statements"][place(d, None)]["objective"].update(label=0),
        "are not those",
    ),
    "of the other rows": (
        "true_positive_rate_difference",
        lambda d: only(d)["statements"][place(d, None)]["objective"].update(inside=False),
        "are not those",
    ),
    "a ratio of every two groups": (
        "group_loss_difference",
        lambda d: only(d)["statements"][place(d, None)]["objective"].update(ratio=True),
        "",
    ),
    "no sets": ("group_loss_difference", lambda d: every(d)["proof"]["leaves"][0].update(sets=[]), "take sets"),
    "a piece left out": (
        "true_positive_rate_difference",
        lambda d: (every(d)["proof"]["leaves"].pop(), every(d)["proof"]["splits"].pop()),
        "not covered",
    ),
    "another divergence": ("group_loss_difference", lambda d: only(d).update(divergence="kl"), "Hellinger|empty"),
    "the leaves of a pair": (
        "group_loss_difference",
        lambda d: every(d).update(proof=copy.deepcopy(only(d)["points"][0]["answers"][place(d, 0)]["proof"])),
        "form P",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries(name: str) -> None:
    metric, change, reason = FORGERIES[name]
    check_forgery(text(metric), change, reason, None)


def test_a_proof_of_another_radius() -> None:
    def change(d: Document) -> None:
        every(d, 1)["proof"] = copy.deepcopy(every(d, 0)["proof"])

    check_forgery(text(curve=True), change, "is missing")


MALFORMED: dict[str, Change] = {
    "a witness of every two groups": lambda d: every(d).update(
        {key: copy.deepcopy(only(d)["points"][0]["answers"][place(d, 0)][key]) for key in ("witness", "attained")}
    ),
    "a group missing": lambda d: first_set(d)["plus"].pop(),
    "a label missing": lambda d: first_set(d)["minus"][0].pop(),
    "no centre": lambda d: first_set(d).update(centre=[]),
    "an omega of another length": lambda d: first_set(d).update(omega=[0.0]),
    "slopes of another shape": lambda d: first_set(d).update(minus_slope=[[0.0]]),
    "no role": lambda d: first_set(d).pop("plus"),
    "a ratio of one group": lambda d: only(d)["statements"][place(d, 0)]["objective"].update(minus=None, ratio=True),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    check_malformed(text(), MALFORMED[name])


def test_every_two_groups_are_possible_without_a_confidence_only() -> None:
    rng = np.random.default_rng(5)
    group, label = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)
    population = Population.from_losses(rng.random(3000), label, sensitive_features=group)
    asked: Any = {"metric": "group_loss_difference", "confidence": 0.9, "tol": 1e-2, "budget": 8}
    sampled = json.loads(certify(population, 0.1, **asked).to_json())
    assert verify(sampled).valid
    objective = {"plus": None, "minus": None, "label": None, "inside": True, "ratio": False}
    only(sampled)["statements"][0]["objective"] = objective
    only(sampled)["points"][0]["answers"][0].update(witness=None, attained=None)
    assert any("are not those" in reason for reason in verify(sampled).reasons)


def test_the_second_checker_agrees() -> None:
    texts = {"honest": text(), "curve": text(curve=True), "rates": text("equalized_odds_difference")}
    for name, (metric, change, _) in FORGERIES.items():
        forged = json.loads(text(metric))
        change(forged)
        texts[name] = json.dumps(mended(forged))
    for name, change in MALFORMED.items():
        forged = json.loads(text())
        change(forged)
        texts[name] = json.dumps(mended(forged))
    found, verdicts = disagreements(texts)
    assert not found
    assert len(verdicts) == 3
