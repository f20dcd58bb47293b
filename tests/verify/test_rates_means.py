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
    answers,
    better,
    first_leaf,
    first_proof,
    multipliers,
    proved,
    question,
    radius_of,
    root,
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


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", METRICS)
def test_random_certificates_are_proved(metric: str) -> None:
    random_certificates(metric, 6, 1)


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


@pytest.mark.one_in(3)
@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("how", ["near", "any", "least"])
def test_documents_read_back(how: str, confidence: float | None, curve: bool) -> None:
    for metric in (PAIRS, ODDS, RATIO, "cell_loss"):
        written = text(metric, how, confidence, curve)
        assert verify(written).valid
        again = (CertificateCurve if curve else Certificate).from_json(written)
        assert json.loads(again.to_json()) == json.loads(written)


def tilt_witness(d: Document) -> None:
    """Move mass between the labels of one group, and keep the sums honest."""
    for answer in answers(d):
        mass = answer["witness"]["mass"]
        mass[0][0] -= 0.02
        mass[0][1] += 0.02
        answer["witness"]["label_mass"] = [mass[0][y] + mass[1][y] for y in range(2)]


def as_products(d: Document) -> None:
    for answer in answers(d):
        answer["witness"]["mass"] = None


def equal_proof(metric: str) -> Change:
    """Put the proof for equal base rates in the place of the one that allows for differences."""

    def change(d: Document) -> None:
        other = json.loads(certify(ROWS, RHO, tol=1e-4, budget=40, **named(metric)).to_json())
        for answer, given in zip(answers(d), answers(other), strict=True):
            answer["proof"] = given["proof"]

    return change


def limit(most: float) -> Change:
    """Say that group 1 has at most that share."""
    return question(group_limits={"skew": None, "rows": [[-1.0, 0.0], [0.0, -1.0]], "most": [-0.3, most]})


MISSING = "is missing"

NOT_PROVED: dict[str, tuple[str, str, Change, str]] = {
    "bound lowered by 1e-3": (PAIRS, "near", better(1e-3), MISSING),
    "bound lowered by 2e-4": (PAIRS, "near", better(2e-4), MISSING),
    "without a condition, lowered": (PAIRS, "any", better(2e-4), MISSING),
    "with limits, lowered": (PAIRS, "least", better(2e-4), MISSING),
    "odds lowered by 1e-3": (ODDS, "near", better(1e-3), MISSING),
    "odds without a condition, lowered": (ODDS, "any", better(2e-4), MISSING),
    "ratio raised by 1e-3": (RATIO, "near", better(1e-3), MISSING),
    "a larger tolerance": (PAIRS, "near", question(base_rate_tolerance=0.06), MISSING),
    "a larger tolerance of odds": (ODDS, "near", question(base_rate_tolerance=0.06), MISSING),
    "a smaller tolerance": (PAIRS, "near", question(base_rate_tolerance=0.04), "base rates of label"),
    "a smaller tolerance of odds": (
        ODDS,
        "near",
        question(base_rate_tolerance=0.04),
        "leaves out admissible shares",
    ),
    "no condition": (PAIRS, "near", question(base_rate_tolerance=None, fair=False), MISSING),
    "equal base rates": (ODDS, "near", question(base_rate_tolerance=None), "leaves out admissible shares"),
    "a proof for equal base rates": (PAIRS, "near", equal_proof(PAIRS), MISSING),
    "odds proved for equal base rates": (ODDS, "any", equal_proof(ODDS), f"{MISSING}|not feasible"),
    "multipliers below the ceiling": (PAIRS, "near", lambda d: multipliers(d, lambda v: v - 3.0), "below its ceiling"),
    "odds below the ceiling": (ODDS, "any", lambda d: multipliers(d, lambda v: v - 3.0), "below its ceiling"),
    "other nu": (PAIRS, "near", lambda d: first_leaf(d).update(nu=[9.0, -9.0]), MISSING),
    "no nu": (PAIRS, "near", lambda d: first_leaf(d).update(nu=None), MISSING),
    "too few nu": (PAIRS, "near", lambda d: first_leaf(d).update(nu=[1.0]), "leaves[0].nu"),
    "an omega": (PAIRS, "near", lambda d: first_leaf(d).update(omega=[0.1, 0.0]), "omega must be 0"),
    "a first cut above zero": (ODDS, "near", root(0, 1e-9), "leaves out admissible shares"),
    "a last cut below one": (ODDS, "near", root(1, 1e-9), "leaves out admissible shares"),
    "a piece left out": (ODDS, "near", lambda d: first_proof(d)["leaves"].pop(), "than there are multipliers"),
    "a cut and a piece left out": (
        ODDS,
        "near",
        lambda d: [first_proof(d)[key].pop() for key in ("splits", "leaves")],
        "are not covered",
    ),
    "a cut beyond the end": (ODDS, "near", lambda d: first_proof(d)["splits"][0].__setitem__(2, 1.5), "does not exist"),
    "multipliers of a group missing": (ODDS, "near", lambda d: first_leaf(d)["zeta"].pop(), "leaves[0].zeta"),
    "two pieces without cuts": (
        PAIRS,
        "near",
        lambda d: first_proof(d)["leaves"].append(first_leaf(d)),
        "more leaves than the tree",
    ),
    "cuts where there are none": (
        PAIRS,
        "near",
        lambda d: first_proof(d).update(splits=[[0, 1, 0.5], None, None]),
        "does not exist",
    ),
    "a witness with other base rates": (PAIRS, "near", tilt_witness, "base rates of label"),
    "a witness of products": (PAIRS, "any", as_products, ""),
    "a limit that the witness breaks": (PAIRS, "least", limit(-0.69), "breaks a limit"),
    "a negative multiplier of a limit": (
        PAIRS,
        "least",
        lambda d: first_leaf(d).update(group_mu=[-1.0, 0.0]),
        "must be >= 0",
    ),
    "another distance": (PAIRS, "near", question(divergence="kl"), "are for Hellinger balls"),
    "a limit on labels": (PAIRS, "near", question(label_limits={"skew": 0.5, "rows": [], "most": []}), "must be empty"),
    "a smaller radius": (PAIRS, "any", radius_of(RHO - 0.01), "outside the ball"),
    "a larger radius": (PAIRS, "any", radius_of(RHO + 0.01), MISSING),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    metric, how, change, reason = NOT_PROVED[name]
    check_forgery(text(metric, how), change, reason, None)


def test_radius_of_the_documents_lies_above_the_nearest() -> None:
    for tolerance in (0.05, 1.0):
        assert radius(ROWS, tolerance, 0.0) < RHO
