"""Radii between those of a document: what is proved there is true, and close."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import pytest

from fairbound import CertificateCurve, InputError, Population, certify, certify_curve
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.continuous import bound_line
from tests.by_hand import only
from tests.problems import E, P, radius, random_population

POPULATION = Population.from_moments(P, E)

#: Questions, and how far the multipliers of radii 0.05 apart may be off in between.
QUESTIONS: dict[str, tuple[dict[str, Any], float]] = {
    "general": ({}, 6e-3),
    "sensitive": ({"shift": "sensitive"}, 2e-2),
    "limits": ({"min_group_mass": 0.35, "label_skew": 0.5}, 6e-3),
    "near base rates": ({"base_rate_tolerance": 0.05}, 6e-3),
    "any base rates": ({"fair": False, "shift": "sensitive"}, 6e-3),
    "difference": ({"metric": "group_loss_difference"}, 1e-2),
    "cells": ({"metric": "cell_loss", "shift": "sensitive"}, 1e-2),
    "kl": ({"divergence": "kl"}, 1e-2),
    "total variation": ({"divergence": "total_variation", "shift": "sensitive"}, 2e-2),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", QUESTIONS)
def test_bounds_in_between_hold_and_are_close(name: str) -> None:
    asked, off = QUESTIONS[name]
    curve = certify_curve(POPULATION, np.arange(0.15, 0.41, 0.05), **asked)
    found = np.array([curve.bound_at(rho) for rho in (0.15, 0.17, 0.225, 0.31, 0.4)])
    exact = certify_curve(POPULATION, [0.15, 0.17, 0.225, 0.31, 0.4], **asked)
    assert (found >= exact.attained).all()
    assert (found <= exact.bound + off).all()
    assert found[0] <= curve.bound[0]
    assert found[-1] <= curve.bound[-1]


def test_one_certificate_speaks_of_larger_and_smaller_balls() -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        population = random_population(rng, 2, 2)
        rho = radius(population, 0.3)
        certificate = certify(population, rho)
        for other in (rho - 0.02, rho + 0.02, rho + 0.2):
            assert certificate.bound_at(other) >= certify(population, other).attained
        assert certificate.bound_at(rho) == pytest.approx(certificate.bound, abs=1e-12)
        assert certificate.bound_at(rho + 0.02) <= certify(population, rho + 0.02).bound + 5e-3


def test_where_the_claim_stands_inside_the_proof_there_are_stairs() -> None:
    curve = certify_curve(POPULATION, [0.1, 0.2], metric="group_loss", divergence="kl")
    assert curve.bound_at(0.15) == curve.bound[1]
    with pytest.raises(InputError, match=r"nothing is proved at rho=0\.25"):
        curve.bound_at(0.25)


def test_radii_below_the_nearest_distribution_are_refused() -> None:
    with pytest.raises(InputError, match=r"rho=0\.01"):
        certify_curve(POPULATION, [0.1, 0.2]).bound_at(0.01)


def test_of_a_sample_the_larger_ball_counts() -> None:
    rng = np.random.default_rng(5)
    group, label = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    population = Population.from_losses(
        (rng.random(2000) < 0.2).astype(float), label, sensitive_features=group, loss="mine"
    )
    curve = certify_curve(population, [0.2, 0.25, 0.3], confidence=0.9)
    exact = certify(population, 0.22, confidence=0.9)
    assert exact.attained <= curve.bound_at(0.22) <= exact.bound + 1e-2
    assert curve.bound_at(0.22) > certify(population, 0.22).bound


def test_what_is_not_proved_says_nothing_in_between() -> None:
    document = json.loads(certify_curve(POPULATION, [0.1, 0.2]).to_json())
    only(document)["points"][0]["claim"]["bound"] -= 0.01
    only(document)["points"][0]["answers"][0]["bound"] -= 0.01
    with pytest.raises(ValueError, match="not proved"):
        ProvedCurve(json.dumps(document))
    forged = CertificateCurve.from_json(json.dumps(document))
    with pytest.raises(ValueError, match="not proved"):
        forged.bound_at(0.15)


@pytest.mark.parametrize("metric", ["loss", "demographic_parity_ratio"])
def test_lines_that_are_drawn_never_turn_back(metric: Literal["loss", "demographic_parity_ratio"]) -> None:
    """What holds for a ball holds for smaller ones, also where a tangent of a larger radius would say less."""
    rows = Population.from_predictions(
        ["no", "yes", "no", "no"] * 40, ["no", "yes", "yes", "no"] * 40, sensitive_features=["a"] * 100 + ["b"] * 60
    )
    curve = certify_curve(rows, [0.05, 0.1, 0.2], shift="sensitive", metric=metric, confidence=0.9)
    rho, bound = bound_line(ProvedCurve(curve.to_json()), curve.rho, curve.distance)
    assert (np.diff(rho) > 0).all()
    side = -1 if metric != "loss" else 1
    assert (side * np.diff(bound) >= 0).all()
    assert all(side * b <= side * curve.bound_at(float(r)) + 1e-15 for r, b in zip(rho, bound, strict=True))
