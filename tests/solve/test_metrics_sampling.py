"""Metrics from a sample: how often is the bound below the truth, simulated; and who has to know what."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairbound import Population, SmallCellWarning, certify, certify_curve, verify
from fairbound.arithmetic.arrays import Floats
from tests.metric_oracles import METRICS, OF_LOSSES

CONFIDENCE = 0.9
RADII = (0.15, 0.3)
SHIFTS: Any = ["general", "sensitive"]
SIMULATED = (
    "demographic_parity_difference",
    "group_loss_difference",
    "equalized_odds_difference",
    "demographic_parity_ratio",
    "selection_rate",
)


@dataclass(frozen=True)
class Truth:
    """A distribution of group, true label and predicted label, all 0 or 1: masses and selection rates, (2, 2)."""

    mass: tuple[tuple[float, float], tuple[float, float]]
    rate: tuple[tuple[float, float], tuple[float, float]]

    @property
    def classes(self) -> Floats:
        """Probabilities by group, label and prediction."""
        mass, rate = np.array(self.mass), np.array(self.rate)
        return np.stack([mass * (1 - rate), mass * rate], axis=2)

    @property
    def population(self) -> Population:
        """P itself."""
        s, y, d = np.indices((2, 2, 2)).reshape(3, -1)
        weight = self.classes.ravel()
        some = weight > 0
        return Population.from_predictions(
            y[some], d[some], sensitive_features=s[some], sample_weight=weight[some], labels=[0, 1]
        )

    def draw(self, rows: int, rng: np.random.Generator) -> Population:
        """Return the population of a sample of independent rows."""
        drawn = rng.choice(8, size=rows, p=self.classes.ravel() / self.classes.sum())
        s, y, d = np.unravel_index(drawn, (2, 2, 2))
        return Population.from_predictions(y, d, sensitive_features=s, groups=[0, 1], labels=[0, 1])


TRUTHS = {
    "skewed": Truth(((0.464, 0.204), (0.295, 0.037)), ((0.09, 0.62), (0.02, 0.55))),
    "balanced": Truth(((0.25, 0.25), (0.25, 0.25)), ((0.2, 0.7), (0.1, 0.6))),
    "rates at the ends": Truth(((0.3, 0.2), (0.3, 0.2)), ((0.0, 0.02), (0.97, 1.0))),
}


@cache
def exact(name: str, metric: Any, shift: Any) -> tuple[float, ...]:
    """Return what is attained near P itself."""
    curve = certify_curve(TRUTHS[name].population, RADII, metric=metric, shift=shift, tol=1e-5)
    return tuple(curve.attained)


def failures(name: str, metric: Any, shift: Any, rows: int, draws: int, seed: int, region: str = "sphere") -> int:
    """Count the samples for which some bound of a small curve is on the wrong side of the truth."""
    rng = np.random.default_rng(seed)
    true, failed = np.array(exact(name, metric, shift)), 0
    way = -1.0 if metric.endswith("ratio") else 1.0
    for _ in range(draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallCellWarning)
            curve = certify_curve(
                TRUTHS[name].draw(rows, rng),
                RADII,
                metric=metric,
                shift=shift,
                confidence=CONFIDENCE,
                region=region,
                tol=1e-2,
                budget=8,
            )
        # Where the sample says that nothing is that near, a true distribution that is that near is a failure.
        bound = np.where(curve.feasible, way * curve.bound, -np.inf)
        failed += bool((bound < way * true).any())
    return failed


def not_too_often(failed: int, draws: int) -> bool:
    """Whether so many failures are compatible with the error probability: one-sided binomial test at 1e-6."""
    return bool(stats.binom.sf(failed - 1, draws, 1 - CONFIDENCE) > 1e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("metric", SIMULATED)
@pytest.mark.parametrize("name", TRUTHS)
def test_coverage(name: str, metric: str, shift: Any) -> None:
    draws = 8 if metric.startswith("equalized") else 15
    assert not_too_often(failures(name, metric, shift, 200, draws, 1), draws)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1000])
@pytest.mark.parametrize("region", ["sphere", "hoeffding"])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("metric", SIMULATED)
@pytest.mark.parametrize("name", TRUTHS)
def test_coverage_in_many_draws(name: str, metric: str, shift: Any, region: str, rows: int) -> None:
    draws = 300
    assert not_too_often(failures(name, metric, shift, rows, draws, 2, region), draws)


SAMPLE = TRUTHS["skewed"].draw(2000, np.random.default_rng(5))


def asked(metric: str, **more: Any) -> Any:
    """Return keywords."""
    return {"metric": metric, "tol": 1e-3, **({} if metric in OF_LOSSES else {"pos_label": 1}), **more}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("metric", METRICS)
def test_a_sample_says_less_than_its_own_distribution(metric: str, shift: Any) -> None:
    plain = certify(SAMPLE, 0.15, **asked(metric, shift=shift))
    way = -1.0 if plain.lower else 1.0
    before = way * plain.attained
    for confidence in (0.5, 0.9, 0.99):
        for region in ("sphere", "hoeffding"):
            sure = certify(SAMPLE, 0.15, **asked(metric, shift=shift, confidence=confidence, region=region))
            assert way * sure.bound >= before
            assert sure.gap >= 0
            assert verify(sure.to_json()).valid
            if region == "sphere":
                closer = way * sure.attained
        before = closer - 1e-3


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("first", [True, False])
def test_each_comparison_has_its_own_limits(first: bool, rate: float) -> None:
    """What is subtracted in one comparison is added in the other: neither may borrow the other's limits.

    One group has a rate of 1/2, the other one a lower one; the difference that leads is certified from upper limits of
    the one and lower limits of the other, whichever group comes first.
    """
    true, group = np.tile([0, 1], 400), np.repeat([0, 1], 400)
    high = group == (0 if first else 1)
    predicted = np.where(high, np.arange(800) % 4 < 2, np.arange(800) % 4 < 4 * rate * (np.arange(800) % 2)).astype(int)
    population = Population.from_predictions(true, predicted, sensitive_features=group)
    for shift in SHIFTS:
        sure = certify(population, 0.05, confidence=0.9, **asked("demographic_parity_difference", shift=shift))
        plain = certify(population, 0.05, **asked("demographic_parity_difference", shift=shift))
        assert sure.bound > plain.bound
        assert sure.gap >= 0
        assert all(c.gap >= 0 for c in sure.comparisons)
        assert verify(sure.to_json()).valid


def test_a_mirrored_world_has_the_mirrored_certificate() -> None:
    """Predicting the other label, groups exchanged: the same differences, for both regions and both shifts."""
    truth = TRUTHS["skewed"].draw(600, np.random.default_rng(3))
    cells = truth.predicted.weight if truth.predicted is not None else np.zeros(0)
    s, y, d = np.indices(cells.shape).reshape(3, -1)
    times = cells.ravel().astype(int)
    s, y, d = (np.repeat(column, times) for column in (s, y, d))
    first = Population.from_predictions(y, d, sensitive_features=s)
    second = Population.from_predictions(y, 1 - d, sensitive_features=1 - s)
    for shift in SHIFTS:
        for region in ("sphere", "hoeffding"):
            more = asked("demographic_parity_difference", shift=shift, region=region, confidence=0.9)
            bounds = [certify(p, 0.15, **more).bound for p in (first, second)]
            assert bounds[0] == pytest.approx(bounds[1], abs=2e-3)


@pytest.mark.parametrize("metric", METRICS)
def test_confidences_are_divided_equally(metric: str) -> None:
    sure = certify(SAMPLE, 0.15, **asked(metric, confidence=0.9))
    levels = {c.confidence for c in sure.comparisons}
    assert len(levels) == 1
    each = levels.pop()
    assert each is not None
    assert each >= 1 - 0.1 / len(sure.comparisons)
    assert math.isclose(1 - each, 0.1 / len(sure.comparisons), rel_tol=1e-9)
    assert sure.confidence == 0.9
    assert any("0.9" in sentence for sentence in sure.assumptions)


def test_more_rows_say_more() -> None:
    rng = np.random.default_rng(11)
    for metric in SIMULATED:
        bounds = [
            certify(TRUTHS["balanced"].draw(rows, rng), 0.1, **asked(metric, confidence=0.9, shift="sensitive")).bound
            for rows in (200, 2000, 50_000)
        ]
        exactly = certify(TRUTHS["balanced"].population, 0.1, **asked(metric, shift="sensitive")).bound
        way = -1.0 if metric.endswith("ratio") else 1.0
        distance = way * (np.array(bounds) - exactly)
        assert distance[0] > distance[1] > distance[2]
        assert distance[2] < 0.12
