"""Plug-in bounds with standard errors: the errors against finite differences and draws, and that nothing is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbound import (
    Asymptotic,
    Certificate,
    InputError,
    Population,
    Verdict,
    certify,
    certify_all,
    certify_curve,
    expected_excess,
    largest_certified_rho,
    report,
    verify,
)
from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.cautions import cautions_of
from fairbound.certificate.certificate import Status
from fairbound.integrations.cards import card_section
from tests.samples import TRUTHS

SHIFTS = ("general", "sensitive")


def rows_of(counts: Floats) -> Population:
    """Return rows with these numbers of hits and errors, (S, C, 2)."""
    s, y, j = (np.repeat(index.ravel(), counts.ravel().astype(int)) for index in np.indices(counts.shape))
    return Population.from_losses(j.astype(float), y, sensitive_features=s, loss="zero_one")


def weighted(law: Floats) -> Population:
    s, y, j = (index.ravel() for index in np.indices(law.shape))
    return Population.from_losses(j.astype(float), y, sensitive_features=s, loss="zero_one", sample_weight=law.ravel())


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(
    "asked", [{}, {"fair": False}, {"min_group_mass": 0.35}, {"base_rate_tolerance": 0.05}], ids=str
)
def test_errors_are_those_of_finite_differences(shift: Any, asked: dict[str, Any]) -> None:
    """An oracle that knows no worst case: how the bound moves with each class, and the variance of that."""
    counts = np.array([[[420, 40], [130, 80]], [[290, 10], [20, 15]]])
    law, rho, step = counts / counts.sum(), 0.2, 1e-4
    influence = np.zeros(law.shape)
    for place in np.ndindex(law.shape):
        ends = []
        for way in (-step, step):
            moved = law * (1 - way)
            moved[place] += way
            ends.append(certify(weighted(moved), rho, shift=shift, tol=1e-9, **asked).bound)
        influence[place] = (ends[1] - ends[0]) / (2 * step)
    error = np.sqrt((law * influence**2).sum() / counts.sum())  # the mean of the influence is zero
    sure = certify(rows_of(counts), rho, shift=shift, confidence=0.9, region="asymptotic", **asked)
    plain = certify(rows_of(counts), rho, shift=shift, **asked)
    assert sure.attained == pytest.approx(plain.attained, abs=1e-9)
    assert sure.bound - plain.bound == pytest.approx(1.2815516 * error, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("shift", SHIFTS)
def test_real_confidence_of_many_rows(shift: Any) -> None:
    """Far from the nearest distance, with 1,000 rows, about one in ten is wrong: neither 3 % nor 20 %."""
    truth, rng, missed = TRUTHS["skewed"], np.random.default_rng(0), 0
    exact = certify(truth.population, 0.3, shift=shift).attained
    for _ in range(300):
        found = certify(truth.draw(1000, rng), 0.3, shift=shift, confidence=0.9, region="asymptotic", tol=1e-4)
        missed += found.bound < exact
    assert 9 <= missed <= 60


@pytest.fixture(scope="module")
def approximate() -> Certificate:
    population = TRUTHS["skewed"].draw(500, np.random.default_rng(0))
    return certify(population, 0.2, confidence=0.9, region="asymptotic")


def test_it_is_not_called_proved(approximate: Certificate) -> None:
    curve = certify_curve(approximate.population, [0.2, 0.3], confidence=0.9, region="asymptotic")
    for source in (approximate, curve):
        result = verify(source)
        assert result.verdict is Verdict.NOT_PROVED
        assert result.claims == ()
        assert "'asymptotic' is an approximation: nothing is proved at its confidence" in result.reasons[0]
    assert "Nothing on this page is proved" in report(approximate)
    with pytest.raises(InputError, match="has to be proved"):
        certify_all(approximate.population, ["loss"], [0.2], confidence=0.9, region="asymptotic")
    with pytest.raises(InputError, match="has to be proved"):
        card_section(approximate)
    with pytest.raises(InputError, match="has to be proved"):
        card_section(approximate.to_json())


def test_it_says_so_itself(approximate: Certificate) -> None:
    read = Certificate.from_json(approximate.to_json())
    for one in (approximate, read):
        assert one.status is Status.APPROXIMATE
        assert "status=APPROXIMATE" in repr(one)
        assert "about 0.9" in " ".join(one.assumptions)
        assert "at least 90%" not in one._repr_html_()
        assert "about 90% (not proved)" in one._repr_html_()
        assert not any("raise budget" in str(caution) for caution in cautions_of(one.population, [one]))
    curve = certify_curve(approximate.population, [0.2, 0.3], confidence=0.9, region="asymptotic")
    assert "Each bound holds by itself with a probability of about 90% (not proved)" in curve.sentences()[1]


def test_what_it_is_not_for_is_refused(approximate: Certificate) -> None:
    asked: dict[str, Any] = {"confidence": 0.9, "region": Asymptotic()}
    with pytest.raises(InputError, match="is for the loss of all"):
        certify(approximate.population, 0.2, metric="group_loss", **asked)
    with pytest.raises(InputError, match="chosen beforehand"):
        largest_certified_rho(approximate.population, 0.9, **asked)
    with pytest.raises(InputError, match="promises nothing"):
        expected_excess(approximate.population, 0.2, 1000, **asked)
