"""The largest certified radius: found to within its accuracy, whatever the bound looks like, and with few bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairbound import Population, certify, largest_certified_rho
from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.crossing import last_kept
from fairbound.certificate.statements import MetricStatements
from fairbound.solve.solver import Solver
from tests.problems import E, P

ACCURACY = 1e-6

#: Functions with a zero at the place that is given, and how often they may be looked at.
SHAPES: dict[str, tuple[Callable[[float, float], float], int]] = {
    "straight": (lambda x, zero: x - zero, 8),
    "concave": (lambda x, zero: float(np.sqrt(x + 0.01) - np.sqrt(zero + 0.01)), 10),
    "convex": (lambda x, zero: float(np.expm1(3 * (x - zero))), 13),
    "a jump": (lambda x, zero: 1.0 if x > zero else -1e-9, 70),
    "a jump from a slope": (lambda x, zero: 1.0 if x > zero else 1e-3 * (x - zero), 10),
    "a kink": (lambda x, zero: 1e-4 * (x - zero) if x < zero else 50 * (x - zero), 12),
    "steps": (lambda x, zero: float(np.floor(37 * (x - zero))) + 0.5, 25),
    "noise": (lambda x, zero: x - zero + 1e-9 * float(np.sin(1e9 * x)), 12),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_crossings_are_found(shape: str) -> None:
    """Kept where it says, broken within the accuracy beyond: wherever the crossing is, next to both ends too."""
    function, most = SHAPES[shape]
    for zero in (0.05 + 1e-9, 0.0503, 0.11, 0.15, 0.3111, 0.7, 0.98, 1.0 - 1e-9):
        looked: list[float] = []

        def excess(x: float, zero: float = zero, looked: list[float] = looked) -> float:
            looked.append(x)
            return function(x, zero)

        found, unbroken = last_kept(excess, 0.05, 1.0, lambda _: ACCURACY)
        assert not unbroken
        assert len(looked) <= most
        assert all(0.05 <= x <= 1.0 for x in looked)
        broken = min(x for x in looked if function(x, zero) > 0)
        assert broken - (0.05 if found is None else found) <= ACCURACY
        if found is not None:
            assert found in looked
            assert function(found, zero) <= 0


def test_all_kept_and_none_kept() -> None:
    assert last_kept(lambda x: x - 2.0, 0.0, 1.0, lambda _: ACCURACY) == (1.0, True)
    assert last_kept(lambda x: x - 1.0, 0.0, 1.0, lambda _: ACCURACY) == (1.0, True)
    assert last_kept(lambda x: x + 1e-3, 0.0, 1.0, lambda _: ACCURACY) == (None, False)


@pytest.mark.parametrize(
    ("threshold", "asked"),
    [
        (0.3, {}),
        (0.3, {"shift": "sensitive"}),
        (0.3, {"base_rate_tolerance": 0.05}),
        (0.4, {"metric": "group_loss"}),
        (0.3, {"divergence": "total_variation"}),
        (0.3, {"divergence": "kl", "shift": "sensitive"}),
    ],
)
def test_a_handful_of_bounds_is_enough(
    monkeypatch: pytest.MonkeyPatch, threshold: float, asked: dict[str, Any]
) -> None:
    population, solved = Population.from_moments(P, E), []
    for kind in (Solver, MetricStatements):
        bounds = kind.bounds

        def counted(self: Any, rhos: Floats, bounds: Any = bounds) -> Floats:
            solved.extend(rhos.tolist())
            found: Floats = bounds(self, rhos)
            return found

        monkeypatch.setattr(kind, "bounds", counted)
    rho = largest_certified_rho(population, threshold, **asked)
    assert len(solved) <= 8
    assert certify(population, rho, **asked).bound <= threshold
    assert certify(population, rho + 1.05e-6, **asked).bound > threshold
