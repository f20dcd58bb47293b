"""The checker and metrics: every certificate is proved, and no document that claims too much."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    CertificateCurve,
    Population,
    SmallCellWarning,
    certify,
    certify_curve,
    verify,
)
from fairbound.certificate.document import digest
from tests.by_hand import only
from tests.forging import POPULATIONS, Change, Document, check_forgery
from tests.metric_oracles import METRICS
from tests.metric_problems import ALTERNATING, EXTREME, POSITIVE, named, possible_metrics, random_table, weighted
from tests.problems import radius

#: A population of rows, so that finite samples can be asked for too.
ROWS = POPULATIONS["rows"]()
RHO = radius(ROWS, 0.05)


def proved(certificate: Certificate) -> None:
    """The checker proves a certificate, and about the same bound."""
    result = verify(certificate.to_json())
    assert result.valid, (certificate, result.reasons)
    assert result.checked_bound is not None
    way = -1.0 if certificate.lower else 1.0
    assert way * result.checked_bound <= way * certificate.bound
    assert way * result.checked_bound >= way * certificate.attained - 1e-9


def random_certificates(metric: str, count: int, seed: int) -> None:
    """Check certificates of random problems: all kinds of knowledge, both shifts, limits, hard radii."""
    rng = np.random.default_rng([seed, METRICS.index(metric)])
    for _ in range(count):
        shape = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        kinds = ["predictions"]
        if metric in possible_metrics(random_table(rng, 2, 2, "rows")):
            kinds = ["mean", "variance", "rows", "predictions"]
        elif shape[1] == 2:
            kinds = ["mean", "predictions"]
        kind = str(rng.choice(kinds))
        population = random_table(rng, *shape, kind)
        limits: Any = {name: float(rng.uniform()) for name in ("group_skew", "label_skew") if rng.random() < 0.3}
        rho = min(1.0, radius(population, float(rng.choice([0.0, 1e-6, 1e-3, 0.03, 0.1, 0.3, 0.7, 1.0])), **limits))
        if kind == "rows" and rng.random() < 0.3:
            limits["support"] = "observed"
        shift: Any = rng.choice(["general", "sensitive"])
        proved(certify(population, rho, shift=shift, tol=1e-3, budget=30, **named(metric), **limits))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", METRICS)
def test_random_certificates_are_proved(metric: str) -> None:
    random_certificates(metric, 8, 1)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("metric", METRICS)
def test_many_random_certificates_are_proved(metric: str, chunk: int) -> None:
    random_certificates(metric, 50, 100 + chunk)


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("name", "shift"), ALTERNATING)
def test_extreme_certificates_are_proved(name: str, shift: Any) -> None:
    population = EXTREME[name]
    more: Any = {"empty_cells": "ceiling"} if shift == "sensitive" else {}
    rhos = [min(1.0, radius(population, excess)) for excess in (1e-6, 0.02, 0.9, 1.0)]
    for metric in METRICS:
        if name == "an absent label" and metric == "cell_loss":
            continue
        curve = certify_curve(population, rhos, shift=shift, tol=1e-3, budget=30, **named(metric), **more)
        result = verify(curve.to_json())
        assert result.valid, (metric, result.reasons)


@cache
def text(metric: str, shift: Any = "general", confidence: float | None = None, curve: bool = False) -> str:
    """Return a valid document."""
    asked: Any = {"shift": shift, "confidence": confidence, "tol": 1e-4, "budget": 40, **named(metric)}
    return certify_curve(ROWS, [RHO, RHO + 0.05], **asked).to_json() if curve else certify(ROWS, RHO, **asked).to_json()


def document(*which: Any, **more: Any) -> Document:
    """Return a fresh copy of a valid document."""
    found: Document = json.loads(text(*which, **more))
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("metric", METRICS)
def test_documents_read_back(metric: str, confidence: float | None, curve: bool) -> None:
    written = text(metric, confidence=confidence, curve=curve)
    assert verify(written).valid
    again = (CertificateCurve if curve else Certificate).from_json(written)
    assert json.loads(again.to_json()) == json.loads(written)
    wrong = Certificate if curve else CertificateCurve
    with pytest.raises(ValueError, match="use"):
        wrong.from_json(written)


def answers(d: Document, point: int = 0) -> Any:
    """Return what is claimed, shown and proved of the statements at a radius."""
    return only(d)["points"][point]["answers"]


def is_ratio(d: Document) -> bool:
    return bool(only(d)["statements"][0]["objective"]["ratio"])


def leading(d: Document, point: int = 0) -> int:
    """Return the number of the statement with the worst bound."""
    bounds = [answer["bound"] for answer in answers(d, point)]
    return int(np.argmin(bounds) if is_ratio(d) else np.argmax(bounds))


def follow(d: Document, point: int = 0) -> None:
    """Claim of the whole at a radius what follows from its parts."""
    worst = min if is_ratio(d) else max
    claim = {key: worst(answer[key] for answer in answers(d, point)) for key in ("bound", "attained")}
    only(d)["points"][point]["claim"] = claim


def better(by: float, *, everywhere: bool = True) -> Change:
    """Claim more than is proved, of the metric and (if ``everywhere``) of the statement that leads."""

    def change(d: Document) -> None:
        sign = 1.0 if is_ratio(d) else -1.0
        for claim in [only(d)["points"][0]["claim"], *([answers(d)[leading(d)]] if everywhere else [])]:
            claim["bound"] += sign * by

    return change


def easier(d: Document, point: int = 0) -> tuple[int, int]:
    """Return the number of the statement that leads, and that of another one."""
    hard = leading(d, point)
    return hard, next(n for n in range(len(answers(d, point))) if n != hard)


def repeat_the_easier(point: int) -> Change:
    """Put the answer that is easier in the place of the one that leads."""

    def change(d: Document) -> None:
        hard, easy = easier(d, point)
        answers(d, point)[hard] = copy.deepcopy(answers(d, point)[easy])
        follow(d, point)

    return change


def state_the_easier_twice(d: Document) -> None:
    """The same, and say that it is the same statement."""
    hard, easy = easier(d)
    only(d)["statements"][hard] = copy.deepcopy(only(d)["statements"][easy])
    repeat_the_easier(0)(d)


def drop(d: Document) -> None:
    """Leave a statement out of the whole."""
    number = leading(d)
    only(d)["statements"].pop(number)
    for point in range(len(only(d)["points"])):
        answers(d, point).pop(number)
        follow(d, point)


def objective(**fields: Any) -> Change:
    return lambda d: [one["objective"].update(fields) for one in only(d)["statements"]]


def exchange(d: Document) -> None:
    for one in only(d)["statements"]:
        about = one["objective"]
        about["plus"], about["minus"] = about["minus"], about["plus"]


def multipliers(d: Document, change: Callable[[Any], Any]) -> None:
    for answer in answers(d):
        for leaf in answer["proof"]["leaves"]:
            leaf["zeta"] = [[change(v) for v in row] for row in leaf["zeta"]]


def question(**fields: Any) -> Change:
    return lambda d: only(d).update(fields)


def ask(**fields: Any) -> Change:
    return lambda d: only(d)["metric"].update(fields)


def radius_of(rho: float) -> Change:
    return lambda d: [point.update(rho=rho) for point in only(d)["points"]]


def first_proof(d: Document) -> Any:
    return answers(d)[0]["proof"]


def first_leaf(d: Document) -> Any:
    return first_proof(d)["leaves"][0]


def root(place: int, by: float) -> Change:
    """Move an end of the interval that all pieces cover together."""

    def change(d: Document) -> None:
        first_proof(d)["floors"][place] += by

    return change


PAIRS = "demographic_parity_difference"
ODDS = "true_positive_rate_difference"
RATIO = "demographic_parity_ratio"

NOT_PROVED: dict[str, tuple[str, Change, str]] = {
    "bound lowered by 1e-3": (PAIRS, better(1e-3), "the multipliers do not prove the claimed bound"),
    "bound lowered by 1e-6": (PAIRS, better(1e-6), "the multipliers do not prove the claimed bound"),
    "bound of the metric alone lowered": (PAIRS, better(1e-9, everywhere=False), "does not follow"),
    "odds lowered by 1e-3": (ODDS, better(1e-3), "is missing"),
    "odds lowered by 2e-4": (ODDS, better(2e-4), "is missing"),
    "ratio raised by 1e-3": (RATIO, better(1e-3), "is missing"),
    "ratio raised by 2e-4": (RATIO, better(2e-4), "is missing"),
    "ratio of the metric alone raised": (RATIO, better(1e-9, everywhere=False), "does not follow"),
    "a statement left out": (PAIRS, drop, "are not those that the metric is made of"),
    "statements in another order": (PAIRS, lambda d: only(d)["statements"].reverse(), ""),
    "the easier statement twice": (PAIRS, state_the_easier_twice, "are not those that the metric is made of"),
    "the easier answer twice": (PAIRS, repeat_the_easier(0), ""),
    "another metric": (PAIRS, ask(name="selection_rate"), "are not those"),
    "an unknown metric": (PAIRS, ask(name="fairness"), "cannot be asked"),
    "a group for pairs": (PAIRS, ask(group=0), "cannot be asked"),
    "an unknown group": ("selection_rate", ask(group="x"), "cannot be asked"),
    "one group instead of all": ("selection_rate", ask(group=0), "are not those"),
    "losses called selections": ("group_loss", ask(name="selection_rate"), "cannot be asked"),
    "exchanged groups": (PAIRS, exchange, ""),
    "a group that does not exist": (PAIRS, objective(plus=7), "do not exist"),
    "a label that does not exist": (ODDS, objective(label=7), "do not exist"),
    "a group compared with itself": (PAIRS, objective(plus=1, minus=1), "with itself"),
    "a comparison of nothing": (PAIRS, objective(plus=None, minus=None), "must be null for every two groups"),
    "a difference for a ratio": (RATIO, objective(ratio=False), "are not those"),
    "a ratio for a difference": (PAIRS, objective(ratio=True), "are not those"),
    "a mean for a difference": (PAIRS, objective(minus=None), "are not those"),
    "of all rows instead of a label's": (ODDS, objective(label=None), "proof.floors"),
    "of another label's rows": (ODDS, objective(label=0), "are not those"),
    "of other rows than the label's": (ODDS, objective(inside=False), "are not those"),
    "multipliers below the ceiling": (PAIRS, lambda d: multipliers(d, lambda v: v - 3.0), "below its ceiling"),
    "all multipliers zero": (PAIRS, lambda d: multipliers(d, lambda v: 0.0), "below its ceiling"),
    "huge multipliers": (PAIRS, lambda d: multipliers(d, lambda v: v + 1e9), "is missing"),
    "a first cut above zero": (ODDS, root(0, 1e-9), "leaves out admissible shares"),
    "a last cut below one": (ODDS, root(1, 1e-9), "leaves out admissible shares"),
    "a cut beyond the end": (ODDS, lambda d: first_proof(d)["splits"][0].__setitem__(2, 1.5), "does not exist"),
    "a cut left out": (ODDS, lambda d: first_proof(d)["splits"].pop(0), "goes on after it is complete|feasible"),
    "a piece left out": (ODDS, lambda d: first_proof(d)["leaves"].pop(), "than there are multipliers"),
    "a cut and a piece left out": (
        ODDS,
        lambda d: [first_proof(d)[key].pop() for key in ("splits", "leaves")],
        "are not covered",
    ),
    "no pieces": (ODDS, lambda d: first_proof(d).update(splits=[], leaves=[]), "are not covered"),
    "limits that are not there": (PAIRS, lambda d: first_leaf(d).update(label_mu=[1.0]), "leaves[0].label_mu"),
    "multipliers of a group missing": (ODDS, lambda d: first_leaf(d)["zeta"].pop(), "leaves[0].zeta"),
    "cuts where there are none": (PAIRS, lambda d: first_proof(d).update(splits=[[0, 1, 0.5], None, None]), "edge"),
    "an omega of another shape": (PAIRS, lambda d: first_leaf(d).update(omega=[0.0]), "leaves[0].omega"),
    "an omega that costs": (PAIRS, lambda d: first_leaf(d).update(omega=[0.0, 0.1]), "is missing"),
    "no omega": (ODDS, lambda d: first_leaf(d).pop("omega"), "lacks omega"),
    "pieces in another order": (ODDS, lambda d: first_proof(d)["leaves"].reverse(), ""),
    "a proof of the loss": (PAIRS, lambda d: answers(d)[0].update(proof=_tangent()), "without base and offset"),
    "larger radius": (PAIRS, radius_of(RHO + 0.01), "is missing"),
    "smaller radius": (PAIRS, radius_of(RHO - 0.01), "outside the ball"),
    "a radius of its own": (PAIRS, lambda d: answers(d)[0].update(rho=RHO + 1e-9), "unknown entries: rho"),
    "a question of its own": (
        PAIRS,
        lambda d: only(d)["statements"][0].update(shift="sensitive"),
        "unknown entries: shift",
    ),
    "attained overstated": (
        PAIRS,
        lambda d: only(d)["points"][0]["claim"].update(attained=only(d)["points"][0]["claim"]["attained"] + 1e-9),
        "is not the worst that is shown",
    ),
    "attained understated": (
        PAIRS,
        lambda d: only(d)["points"][0]["claim"].update(attained=-1.0),
        "is not the worst that is shown",
    ),
    "a witness too far": (PAIRS, lambda d: answers(d)[0]["witness"].update(group_mass=[0.001, 0.999]), ""),
    "a witness without a group": (PAIRS, lambda d: answers(d)[0]["witness"].update(group_mass=[0, 1]), "no mass"),
    "a confidence out of nothing": (PAIRS, question(confidence=0.95), "must be given if that of the document is"),
    "another positive label": (ODDS, lambda d: d["population"]["measures"][0].update(pos_label=0), "are not those"),
    "more rows selected": (
        PAIRS,
        lambda d: d["population"]["measures"][0]["knowledge"]["cells"][0][0].__setitem__(0, [1.0, 1.0, 1e3, 0]),
        "",
    ),
}


def _tangent() -> Any:
    return first_proof(json.loads(certify(ROWS, RHO).to_json()))


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    metric, change, reason = NOT_PROVED[name]
    check_forgery(text(metric), change, reason, None)


def test_any_order_of_the_statements_will_do() -> None:
    for metric in (PAIRS, "cell_loss"):
        turned = document(metric, curve=True)
        only(turned)["statements"].reverse()
        for point in only(turned)["points"]:
            point["answers"].reverse()
        assert verify(turned).valid


def test_the_loss_of_all_is_no_mean() -> None:
    """Leaves for means prove nothing of it."""
    plain = json.loads(certify(ROWS, RHO).to_json())
    assert verify(plain).valid
    for metric in (PAIRS, ODDS):
        proof = first_proof(document(metric))
        if metric == ODDS:
            proof = {**proof, "floors": [0.0], "splits": [None], "leaves": proof["leaves"][:1]}
            proof["leaves"][0]["centre"] = [1.0]
        answers(plain)[0]["proof"] = proof
        assert any("are for means given a group" in reason for reason in verify(plain).reasons)


@pytest.mark.parametrize("point", [0, 1])
@pytest.mark.parametrize("metric", [PAIRS, ODDS, RATIO, "group_loss", "cell_loss"])
def test_no_radius_of_a_curve_may_speak_of_something_else(metric: str, point: int) -> None:
    broken = document(metric, curve=True)
    repeat_the_easier(point)(broken)
    result = verify(broken)
    assert not result.valid
    assert all(f"rho = {only(broken)['points'][point]['rho']!r}: " in reason for reason in result.reasons)


def sampling(d: Document, number: int = 0) -> Any:
    return only(d)["statements"][number]["sampling"]


def counts(d: Document) -> Any:
    return sampling(d)["counts"]


def statement(**fields: Any) -> Change:
    return lambda d: only(d)["statements"][0].update(fields)


def region(**fields: Any) -> Change:
    return lambda d: [sampling(d, n).update(fields) for n in range(len(only(d)["statements"]))]


def other_sample(d: Document) -> None:
    first, second = only(d)["statements"]
    first["sampling"], second["sampling"] = second["sampling"], first["sampling"]


SAMPLED: dict[str, tuple[Change, str]] = {
    "confidence raised": (question(confidence=0.91), "at the claimed confidence"),
    "all confidences raised": (
        lambda d: (
            question(confidence=0.99)(d),
            [one.update(confidence=0.995) for one in only(d)["statements"]],
        ),
        "",
    ),
    "no confidence claimed": (question(confidence=None), "or not at all"),
    "a statement more certain": (statement(confidence=0.99), "proves only an affinity|at this confidence"),
    "a statement less certain": (statement(confidence=0.949), "at the claimed confidence"),
    "counts changed": (lambda d: counts(d)[0][0].reverse(), "not those of the population's rows"),
    "a row more": (lambda d: counts(d)[0][0].__setitem__(0, counts(d)[0][0][0] + 1), "not those of the population"),
    "affinity raised": (
        lambda d: [
            one["sampling"].update(affinity=one["sampling"]["affinity"] + 1e-6) for one in only(d)["statements"]
        ],
        "proves only an affinity",
    ),
    "the other statement's sample": (other_sample, ""),
    "the sample itself for its stand-in": (
        lambda d: region(knowledge=d["population"]["measures"][0]["knowledge"], affinity=1.0)(d),
        "",
    ),
    "an unknown region": (region(region="mine"), "not known to the checker"),
    "an unknown region of one statement": (lambda d: sampling(d).update(region="mine"), "rest on one sample"),
    "no sample of one statement": (statement(sampling=None, confidence=None), "or not at all"),
    "bound lowered": (better(1e-6), "is missing"),
}


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("name", SAMPLED)
def test_samples_not_proved(name: str, shift: Any) -> None:
    change, reason = SAMPLED[name]
    check_forgery(text(PAIRS, shift, 0.9), change, reason, None)


def test_a_confidence_is_divided() -> None:
    """The error probabilities of all statements add up to at most that of the whole, for any confidence."""
    for confidence in (0.05, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 1 - 1e-6):
        for metric in (PAIRS, "equalized_odds_difference", "selection_rate", "cell_loss"):
            found = certify(ROWS, 0.6, confidence=confidence, tol=1e-2, budget=4, **named(metric))
            assert verify(found.to_json()).valid
            assert found.confidence == confidence


def test_infinite_ceilings_are_proved() -> None:
    rng = np.random.default_rng(6)
    group, label = rng.integers(0, 2, 100), rng.integers(0, 2, 100)
    population = Population.from_losses(rng.exponential(1.0 + group), label, sensitive_features=group, ceiling=np.inf)
    for metric in ("group_loss", "group_loss_difference", "cell_loss"):
        for more in ({"shift": "sensitive"}, {"support": "observed"}):
            asked: Any = {"metric": metric, "tol": 1e-3, **more}
            assert verify(certify(population, 0.2, **asked).to_json()).valid


def test_bins_are_proved() -> None:
    rng = np.random.default_rng(8)
    group, label = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
    population = Population.from_losses(rng.beta(1 + group, 3 - label), label, sensitive_features=group)
    for shift in ("general", "sensitive"):
        asked: Any = {"metric": "group_loss_difference", "shift": shift}
        assert verify(certify(population, 0.1, **asked).to_json()).valid


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_worst_cases_leave_some_of_every_group(shift: Any) -> None:
    """Few rows say so little that anything is possible; the nearest distribution of equal base rates has one group."""
    tiny = Population.from_predictions([0, 1, 0], [0, 0, 1], sensitive_features=list("aba"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        for metric in ("group_loss_difference", PAIRS, "group_loss", "selection_rate"):
            for region in ("sphere", "hoeffding"):
                asked: Any = {"shift": shift, "confidence": 0.9, "region": region, "tol": 1e-3, **named(metric)}
                found = certify(tiny, 0.2, **asked)
                assert all((c.witness.group_mass > 0).all() for c in found.comparisons)
                proved(found)


def test_positive_label_of_three_is_checked() -> None:
    population = weighted([[40, 10, 20], [30, 20, 5]], [[0.1, 0.6, 0.2], [0.05, 0.5, 0.1]])
    rho = radius(population, 0.05)
    broken = json.loads(certify(population, rho, tol=1e-3, **named("equalized_odds_difference")).to_json())
    assert verify(broken).valid
    assert broken["population"]["measures"][0]["pos_label"] == POSITIVE
    broken["population"]["measures"][0]["pos_label"] = 3
    broken["digest"] = digest(broken["population"])
    assert any("cannot be asked" in r for r in verify(broken).reasons)


def of_one(metric: str, group: Any) -> str:
    """Return the document of a ratio of a chosen group, among three."""
    population = weighted([[40, 10], [30, 20], [25, 35]], [[0.1, 0.6], [0.05, 0.5], [0.2, 0.7]])
    asked: Any = {**named(metric), "group": group}
    return certify(population, radius(population, 0.05), tol=1e-3, **asked).to_json()


def without_its_first_statement(document: Document) -> None:
    question = only(document)
    del question["statements"][0]
    for point in question["points"]:
        del point["answers"][0]


#: How the claim about one group may be passed off as more.
OF_ONE: dict[str, tuple[Change, str]] = {
    "of another group": (lambda d: only(d)["metric"].update(group=1), "some are missing, others, or there twice"),
    "of every group": (lambda d: only(d)["metric"].update(group=None), "some are missing, others, or there twice"),
    "of no group that there is": (lambda d: only(d)["metric"].update(group=7), "cannot be asked of this population"),
    "against one other group": (without_its_first_statement, "some are missing, others, or there twice"),
    "the other way round": (
        lambda d: [
            one["objective"].update(plus=one["objective"]["minus"], minus=one["objective"]["plus"])
            for one in only(d)["statements"]
        ],
        "some are missing, others, or there twice",
    ),
    "as a difference": (
        lambda d: only(d)["metric"].update(name="demographic_parity_difference"),
        "cannot be asked of this population",
    ),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_a_ratio_of_one_group_is_of_that_group(name: str) -> None:
    change, reason = OF_ONE[name]
    check_forgery(of_one("demographic_parity_ratio", 0), change, reason)


def test_a_ratio_of_one_group_says_whose_it_is() -> None:
    result = verify(of_one("demographic_parity_ratio", 2))
    assert result.valid
    assert "the selection rate of group 2 divided by the largest of any other group" in result.claims[1]


def test_many_groups_with_a_confidence() -> None:
    """Each of the 110 pairs has its own statement, and its part of the error: no statement more is allowed for."""
    groups = 11
    rows = [(s, y, p) for s in range(groups) for y in (0, 1) for p in (0, 1) for _ in range(6 + s + 2 * (y == p))]
    group, label, predicted = (list(column) for column in zip(*rows, strict=True))
    population = Population.from_predictions(label, predicted, sensitive_features=group)
    asked: Any = {"confidence": 0.9, "metric": "group_loss_difference", "shift": "sensitive", "tol": 0.1}
    found = json.loads(certify(population, 0.1, **asked).to_json())
    assert verify(found).valid
    statements = only(found)["statements"]
    assert len(statements) == groups * (groups - 1)
    statements[7]["confidence"] = 1 - 0.1 / (len(statements) - 1)
    assert any("do not hold together" in reason for reason in verify(found).reasons)
