"""Many groups: what a few pairs prove of all others is as close as if each pair were solved by itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fairbound import Certificate, CertificateCurve, Population, certify, certify_curve, largest_certified_rho, verify
from fairbound.certificate import statements
from tests.metric_problems import named, possible_metrics, random_table
from tests.problems import radius

COMPARISONS = (
    "group_loss_difference",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "equalized_odds_difference",
)


def many_groups(count: int, rows: int = 50_000, seed: int = 0) -> Population:
    """Return predictions about groups of different sizes."""
    rng = np.random.default_rng(seed)
    group = rng.choice(count, size=rows, p=rng.dirichlet(np.full(count, 5.0)))
    group[: 4 * count] = np.repeat(np.arange(count), 4)
    label = (rng.random(rows) < 0.3 + 0.1 * rng.random(count)[group]).astype(int)
    rate = np.where(label == 1, 0.7, 0.2) + 0.1 * rng.random(count)[group]
    return Population.from_predictions(label, (rng.random(rows) < rate).astype(int), sensitive_features=group)


def one_by_one(monkeypatch: pytest.MonkeyPatch, population: Population, rho: float, **asked: Any) -> Certificate:
    """Return the certificate that solves every pair."""
    with monkeypatch.context() as patched:
        patched.setattr(statements, "FEW_GROUPS", 10_000)
        return certify(population, rho, **asked)


def compare(monkeypatch: pytest.MonkeyPatch, count: int, seed: int) -> None:
    """Check random problems: proved, and as close as one by one."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        labels = int(rng.choice([2, 2, 3]))
        kind = str(rng.choice(["mean", "variance", "rows", "predictions"]))
        population = random_table(rng, int(rng.integers(5, 8)), labels, kind)
        metric = str(rng.choice([m for m in COMPARISONS if m in possible_metrics(population)]))
        asked: Any = {"shift": str(rng.choice(["general", "sensitive"])), **named(metric)}
        odds = "rate_" in metric or "odds" in metric
        choices: list[Any] = [{}, {"group_skew": 0.4}, {"fair": False}]
        choices += [{"min_group_mass": 0.05}, {"label_skew": 0.7}] if not odds or labels == 2 else []
        choices += [{"base_rate_tolerance": 0.1}] if labels == 2 else []
        asked |= choices[int(rng.integers(len(choices)))]
        rho = min(1.0, radius(population, float(rng.choice([1e-3, 0.02, 0.1])), group_skew=asked.get("group_skew"),
                              label_skew=asked.get("label_skew")))  # fmt: skip
        try:
            found = certify(population, rho, **asked)
        except ValueError:
            continue  # limits on groups may put the nearest distribution farther away
        apart = one_by_one(monkeypatch, population, rho, **asked)
        way = -1.0 if found.lower else 1.0
        assert way * found.bound <= way * apart.bound + 2e-6, (metric, asked)
        assert way * found.bound >= way * apart.attained - 1e-9
        assert verify(found.to_json(), patient=True).valid, (metric, asked)


def test_as_close_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(monkeypatch, 10, 1)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_often_as_close_as_one_by_one(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    compare(monkeypatch, 40, 100 + chunk)


@pytest.mark.parametrize("metric", ["group_loss_difference", "demographic_parity_difference"])
def test_fifty_groups(metric: Any) -> None:
    population = many_groups(50)
    found = certify(population, radius(population, 0.01), metric=metric)
    assert found.gap <= found.tol
    assert len(found.comparisons) < 5
    written = found.to_json()
    assert len(written) < 100_000
    assert verify(written).valid
    again = Certificate.from_json(written)
    assert json.loads(again.to_json()) == json.loads(written)
    assert again.bound == found.bound
    rates = population.selecting(None).mean if "parity" in metric else population.mean
    chosen = population.selecting(None) if "parity" in metric else population
    means = (chosen.weight * rates).sum(axis=1) / chosen.weight.sum(axis=1)
    assert found.on_data == again.on_data == pytest.approx(means.max() - means.min())


@pytest.mark.slow
@pytest.mark.parametrize("metric", COMPARISONS)
@pytest.mark.parametrize("groups", [50, 200])
def test_many_groups(metric: Any, groups: int) -> None:
    population = many_groups(groups, 400_000)
    asked: Any = named(metric)
    found = certify(population, radius(population, 0.005), **asked)
    assert found.gap <= found.tol
    assert len(found.comparisons) < 5
    written = found.to_json()
    assert verify(written, patient=True).valid
    assert len(written) < (2_000_000 if groups == 50 else 8_000_000)


def test_curves_and_largest_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    population = many_groups(6, 5000)
    rhos = [radius(population, excess) for excess in (0.0, 0.02, 0.1)]
    asked: Any = {"metric": "demographic_parity_difference"}
    curve = certify_curve(population, rhos, **asked)
    assert verify(curve.to_json()).valid
    again = CertificateCurve.from_json(curve.to_json())
    assert again.bound.tolist() == curve.bound.tolist()
    for rho, bound in zip(rhos, curve.bound, strict=True):
        assert bound == pytest.approx(one_by_one(monkeypatch, population, rho, **asked).bound, abs=2e-6)
    between = 0.5 * (rhos[1] + rhos[2])
    alone = certify(population, between, **asked)
    assert alone.attained <= curve.bound_at(between) < curve.bound[2]
    kept = largest_certified_rho(population, alone.bound + 1e-7, **asked)
    assert kept == pytest.approx(between, abs=1e-5)
