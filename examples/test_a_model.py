"""Tests of a model, beside the tests of its code: pytest runs them, and fails where a bound breaks a threshold.

pytest examples/test_a_model.py --fairbound-report=certificates --junitxml=tests.xml
"""

from __future__ import annotations

import pytest

from fairbound import Population
from fairbound.datasets.demo import demo_columns
from fairbound.integrations.pytest_plugin import AssertCertified


@pytest.fixture(scope="module")
def population() -> Population:
    """Return what the model said of its held-out rows; here those of the demonstration."""
    rows = demo_columns()
    return Population.from_predictions(rows["income"], rows["predicted"], sensitive_features=rows["sex"])


def test_error(population: Population, assert_certified: AssertCertified) -> None:
    """Nowhere near does the model err on more than three rows in ten."""
    assert_certified(population, rho=0.2, at_most=0.3, shift="sensitive")


@pytest.mark.parametrize("rho", [0.1, 0.2])
def test_parity(population: Population, assert_certified: AssertCertified, rho: float) -> None:
    """Nowhere near is one sex selected a fifth more often than the other; of a sample, in points of 100."""
    assert_certified(
        population, rho=rho, metric="demographic_parity_difference", at_most=0.2, shift="sensitive", pos_label=">50K"
    )
