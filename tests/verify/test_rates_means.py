"""The checker and metrics where base rates may differ: every certificate is proved, and none that claims too much."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from fairbound import Certificate, CertificateCurve, certify, certify_curve, verify
from tests.forging import Change, Document, check_forgery
from tests.metric_oracles import METRICS
from tests.metric_problems import named, possible_metrics, random_table
from tests.solve.test_metrics_rates import asked_of, radius
from tests.verify.test_metric import (
    ODDS,
    PAIRS,
    RATIO,
    RHO,
    ROWS,
    better,
    first_proof,
    proved,
    question,
    statements,
    theta,
)

NEAR: Any = {"base_rate_tolerance": 0.05}
ANY: Any = {"fair": False}
LEAST: Any = {"base_rate_tolerance": 0.05, "min_group_mass": 0.3}


def random_certificates(metric: str, count: int, seed: int) -> None:
    """Check certificates of random problems: all kinds of knowledge, both shifts, tolerances, limits, hard radii."""
    rng = np.random.default_rng([seed, METRICS.index(metric), 7])
    for _ in range(count):
        tolerance = float(rng.choice([1e-3, 0.05, 0.3, 1.0]))
        several = tolerance == 1.0 or metric in {"group_loss", "group_loss_difference", "selection_rate"}
        shape = int(rng.integers(2, 4)), int(rng.integers(2, 4)) if several else 2
        kinds = ["predictions"]
        if metric in possible_metrics(random_table(rng, 2, 2, "rows")):
            kinds = ["mean", "variance", "rows", "predictions"]
        elif shape[1] == 2:
            kinds = ["mean", "predictions"]
        population = random_table(rng, *shape, str(rng.choice(kinds)))
        limits: Any = {"group_skew": float(rng.uniform())} if rng.random() < 0.3 else {}
        if rng.random() < 0.3:
            limits["min_group_mass"] = 0.1
        shift: Any = rng.choice(["general", "sensitive"])
        asked: Any = {**named(metric), **asked_of(tolerance), **limits, "shift": shift, "tol": 1e-3, "budget": 30}
        least = certify_curve(population, [1.0], **asked).distance
        excess = float(rng.choice([0.0, 1e-6, 1e-3, 0.03, 0.1, 0.3, 0.7, 1.0]))
        proved(certify(population, min(1.0, least + excess * (1 - least)), **asked))


@pytest.mark.parametrize("metric", METRICS)
def test_random_certificates_are_proved(metric: str) -> None:
    random_certificates(metric, 15, 1)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("metric", METRICS)
def test_many_random_certificates_are_proved(metric: str, chunk: int) -> None:
    random_certificates(metric, 50, 100 + chunk)


@cache
def text(metric: str, how: str, confidence: float | None = None, curve: bool = False) -> str:
    """Return a valid document."""
    asked: Any = {"near": NEAR, "any": ANY, "least": LEAST}[how] | named(metric)
    asked |= {"tol": 1e-4, "budget": 40, "confidence": confidence}
    return certify_curve(ROWS, [RHO, RHO + 0.05], **asked).to_json() if curve else certify(ROWS, RHO, **asked).to_json()


@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("how", ["near", "any", "least"])
def test_documents_read_back(how: str, confidence: float | None, curve: bool) -> None:
    for metric in (PAIRS, ODDS, RATIO, "cell_loss"):
        written = text(metric, how, confidence, curve)
        assert verify(written).valid
        again = (CertificateCurve if curve else Certificate).from_json(written)
        assert json.loads(again.to_json()) == json.loads(written)


def leave_out(d: Document) -> None:
    for key in ("cuts", "theta", "group_mu"):
        first_proof(d)[key].pop()


def tilt_witness(d: Document) -> None:
    """Move mass between the labels of one group, and keep the sums honest."""
    for statement in statements(d):
        mass = statement["witness"]["mass"]
        mass[0][0] -= 0.02
        mass[0][1] += 0.02
        statement["witness"]["label_mass"] = [mass[0][y] + mass[1][y] for y in range(2)]


def as_products(d: Document) -> None:
    for statement in statements(d):
        statement["witness"]["mass"] = None


def equal_proof(metric: str) -> Change:
    """Put the proof for equal base rates in the place of the one that allows for differences."""

    def change(d: Document) -> None:
        other = json.loads(certify(ROWS, RHO, tol=1e-4, budget=40, **named(metric)).to_json())
        for statement, given in zip(statements(d), statements(other), strict=True):
            statement["proof"] = given["proof"]

    return change


def limit(most: float) -> Change:
    """Say that group 1 has at most that share."""
    return question(group_limits={"rows": [[-1.0, 0.0], [0.0, -1.0]], "most": [-0.3, most]})


NOT_PROVED: dict[str, tuple[str, str, Change, str]] = {
    "bound lowered by 1e-3": (PAIRS, "near", better(1e-3), " only "),
    "bound lowered by 2e-4": (PAIRS, "near", better(2e-4), " only "),
    "without a condition, lowered": (PAIRS, "any", better(2e-4), " only "),
    "with limits, lowered": (PAIRS, "least", better(2e-4), " only "),
    "odds lowered by 1e-3": (ODDS, "near", better(1e-3), " only "),
    "odds without a condition, lowered": (ODDS, "any", better(2e-4), " only "),
    "ratio raised by 1e-3": (RATIO, "near", better(1e-3), "left over"),
    "a larger tolerance": (PAIRS, "near", question(base_rate_tolerance=0.06), " only "),
    "a larger tolerance of odds": (ODDS, "near", question(base_rate_tolerance=0.06), " only "),
    "a smaller tolerance": (PAIRS, "near", question(base_rate_tolerance=0.04), "base rates of label"),
    "a smaller tolerance of odds": (ODDS, "near", question(base_rate_tolerance=0.04), "leave out shares"),
    "no condition": (PAIRS, "near", question(base_rate_tolerance=None, fair=False), " only "),
    "equal base rates": (ODDS, "near", question(base_rate_tolerance=None), "leave out shares"),
    "a proof for equal base rates": (PAIRS, "near", equal_proof(PAIRS), "the proof is for equal base rates"),
    "odds proved for equal base rates": (ODDS, "any", equal_proof(ODDS), "the proof is for equal base rates"),
    "multipliers below the ceiling": (PAIRS, "near", lambda d: theta(d, lambda v: v - 3.0), "below its ceiling"),
    "odds below the ceiling": (ODDS, "any", lambda d: theta(d, lambda v: v - 3.0), "below its ceiling"),
    "other nu": (PAIRS, "near", lambda d: first_proof(d).update(nu=[9.0, -9.0]), " only "),
    "too few nu": (PAIRS, "near", lambda d: first_proof(d).update(nu=[1.0]), "proof.nu"),
    "a first cut above zero": (ODDS, "near", lambda d: first_proof(d)["cuts"].__setitem__(0, 1e-9), "leave out shares"),
    "a piece left out": (ODDS, "near", leave_out, "leave out shares"),
    "cuts that go back": (ODDS, "near", lambda d: first_proof(d)["cuts"].reverse(), "must increase"),
    "one end of a piece": (ODDS, "near", lambda d: first_proof(d)["theta"][0].pop(), "2 sets of multipliers"),
    "two pieces without cuts": (
        PAIRS,
        "near",
        lambda d: [first_proof(d)[key].append(first_proof(d)[key][0]) for key in ("theta", "group_mu")],
        "one piece",
    ),
    "cuts where there are none": (PAIRS, "near", lambda d: first_proof(d)["cuts"].append(0.5), "2 sets"),
    "a witness with other base rates": (PAIRS, "near", tilt_witness, "base rates of label"),
    "a witness of products": (PAIRS, "any", as_products, ""),
    "a limit that the witness breaks": (PAIRS, "least", limit(-0.69), "breaks a limit"),
    "a negative multiplier of a limit": (
        PAIRS,
        "least",
        lambda d: first_proof(d).update(group_mu=[[[-1.0, 0.0]]]),
        "must be >= 0",
    ),
    "another distance": (PAIRS, "near", question(divergence="kl"), ""),
    "a limit on labels": (PAIRS, "near", question(label_skew=0.5), "label_skew must be null"),
    "a smaller radius": (PAIRS, "any", question(rho=RHO - 0.01), "outside the ball"),
    "a larger radius": (PAIRS, "any", question(rho=RHO + 0.01), " only "),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    metric, how, change, reason = NOT_PROVED[name]
    check_forgery(text(metric, how), change, reason, None)


def test_radius_of_the_documents_lies_above_the_nearest() -> None:
    for tolerance in (0.05, 1.0):
        assert radius(ROWS, tolerance, 0.0) < RHO
