"""Prices against finite differences of the bounds themselves: nothing here knows multipliers or density ratios."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairbound import Certificate, InputError, Population, certify, certify_curve, report
from fairbound.arithmetic.arrays import Floats
from fairbound.data.loss_summary import MeanAndVariance
from fairbound.reporting.terminal import show_certificate

STEP = 1e-4
METRICS = (
    "loss",
    "group_loss",
    "cell_loss",
    "group_loss_difference",
    "selection_rate",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
)
OTHERS = ("total_variation", "kl", "chi_squared", "trimming")
ORDERS = ("cressie_read:0.5", "cressie_read:1.5", "cressie_read:3")

#: From a change of each cell's mean to a population.
Changed = Callable[[Floats], Population]


def means(seed: int, shape: tuple[int, int]) -> Changed:
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(shape[0] * shape[1], 5.0)).reshape(shape)
    mean, rate = rng.uniform(0.05, 0.6, shape), rng.uniform(0.15, 0.85, shape)

    def changed(by: Floats) -> Population:
        two = shape[1] == 2
        return Population.from_moments(mass, mean + by, selection_rate=rate + by if two else None)

    return changed


def variances(seed: int, shape: tuple[int, int]) -> Changed:
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(shape[0] * shape[1], 5.0)).reshape(shape)
    mean = rng.uniform(0.2, 0.6, shape)
    variance = rng.uniform(0.1, 0.6, shape) * mean * (1 - mean)
    return lambda by: Population.from_moments(mass, mean + by, variance)


def tables(seed: int, shape: tuple[int, int]) -> Changed:
    rng = np.random.default_rng(seed)
    groups, labels = np.indices(shape).reshape(2, -1)
    groups, labels = (np.concatenate([np.repeat(v, 3), rng.choice(v.max() + 1, 60)]) for v in (groups, labels))
    loss = rng.beta(2, 4, len(groups)) * 0.9

    def changed(by: Floats) -> Population:
        return Population.from_losses(loss + by[groups, labels], labels, sensitive_features=groups)

    return changed


def radius(population: Population, asked: dict[str, Any]) -> float:
    far = {"kl": 0.08, "chi_squared": 0.15}.get(asked.get("divergence", ""), 0.12)
    return float(certify_curve(population, [0.95], tol=1e-2, **asked).distance) + far


def differences(changed: Changed, rho: float, asked: dict[str, Any], shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return how fast the bound rises, and falls, with the mean of each cell."""
    tight = 1e-6 if "divergence" in asked else 1e-8

    def bound(by: Floats) -> float:
        found = certify(changed(by), rho, tol=tight, **asked)
        return 0.5 * (found.bound + found.attained)

    here, rise, fall = bound(np.zeros(shape)), np.zeros(shape), np.zeros(shape)
    step = 10 * STEP if "divergence" in asked else STEP
    for place in np.ndindex(*shape):
        by = np.zeros(shape)
        by[place] = step
        rise[place], fall[place] = (bound(by) - here) / step, (here - bound(-by)) / step
    return rise, fall


def assert_prices(changed: Changed, shape: tuple[int, int], asked: dict[str, Any], allowed: float = 4e-3) -> None:
    population = changed(np.zeros(shape))
    rho = radius(population, asked)
    found = certify(population, rho, tol=1e-6 if "divergence" in asked else 1e-8, **asked)
    again = Certificate.from_json(found.to_json())
    np.testing.assert_allclose(again.prices.value, found.prices.value, atol=1e-9)
    assert again.prices.remarks == found.prices.remarks
    rise, fall = differences(changed, rho, asked, shape)
    low, high = np.minimum(rise, fall), np.maximum(rise, fall)  # the same, but at kinks
    price = found.prices.value
    room = allowed * max(1.0, float(np.abs(high).max()))
    assert (low - room <= price).all(), (low, price, high)
    assert (price <= high + room).all(), (low, price, high)
    if found.trivial:
        assert not price.any()
        return
    assert float(np.abs(price).max()) > 0.02  # and not prices of nothing
    if isinstance(population.knowledge, MeanAndVariance) and asked["shift"] == "general":
        return  # of such rows nothing is known: a mean that moves alone moves their worst law
    rows = found.row_prices
    np.testing.assert_allclose(np.nansum(rows.value * rows.mass, axis=2), price, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shift", ["sensitive", "general"])
@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric: str, shift: str) -> None:
    assert_prices(means(11, (2, 2)), (2, 2), {"metric": metric, "shift": shift})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", ["sensitive", "general"])
@pytest.mark.parametrize("metric", METRICS)
def test_more_metrics(metric: str, shift: str, seed: int) -> None:
    shape = (2 + seed % 2, 2)
    assert_prices(means(100 + seed, shape), shape, {"metric": metric, "shift": shift})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("asked", [{}, {"base_rate_tolerance": 0.05}, {"fair": False}, {"min_group_mass": 0.3}])
@pytest.mark.parametrize("shift", ["sensitive", "general"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_conditions(shape: tuple[int, int], shift: str, asked: dict[str, Any]) -> None:
    assert_prices(means(5, shape), shape, {"shift": shift} | asked)


@pytest.mark.parametrize("shift", ["sensitive", "general"])
@pytest.mark.parametrize("made", [variances, tables])
@pytest.mark.parametrize("metric", ["loss", "group_loss_difference"])
def test_what_is_known(made: Callable[[int, tuple[int, int]], Changed], shift: str, metric: str) -> None:
    assert_prices(made(3, (2, 2)), (2, 2), {"shift": shift, "metric": metric})


@pytest.mark.parametrize("metric", ["loss", "group_loss_difference"])
def test_strata(metric: str) -> None:
    rng = np.random.default_rng(9)
    groups, labels, strata = rng.integers(2, size=600), rng.integers(2, size=600), rng.integers(3, size=600)
    loss = 0.05 + 0.2 * rng.random(600) * (1 + strata)

    def changed(by: Floats) -> Population:
        return Population.from_losses(loss + by[groups, labels], labels, sensitive_features=groups, strata=strata)

    assert_prices(changed, (2, 2), {"shift": "stratified", "metric": metric})


def test_observed_support() -> None:
    assert_prices(tables(4, (2, 2)), (2, 2), {"shift": "general", "support": "observed"})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("divergence", OTHERS)
@pytest.mark.parametrize("shift", ["sensitive", "general"])
def test_divergences(divergence: str, shift: str) -> None:
    pytest.importorskip("clarabel")
    assert_prices(means(7, (2, 2)), (2, 2), {"shift": shift, "divergence": divergence}, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("divergence", [*OTHERS, *ORDERS])
@pytest.mark.parametrize("asked", [{}, {"fair": False}, {"metric": "group_loss"}])
@pytest.mark.parametrize("shift", ["sensitive", "general"])
def test_more_divergences(divergence: str, shift: str, asked: dict[str, Any], seed: int) -> None:
    pytest.importorskip("clarabel")
    assert_prices(means(200 + seed, (2, 2)), (2, 2), {"shift": shift, "divergence": divergence} | asked, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "chi_squared", *ORDERS])
@pytest.mark.parametrize("made", [variances, tables])
def test_divergences_and_what_is_known(divergence: str, made: Callable[[int, tuple[int, int]], Changed]) -> None:
    pytest.importorskip("clarabel")
    assert_prices(made(3, (2, 2)), (2, 2), {"shift": "general", "divergence": divergence}, 0.02)


def population(mean: list[list[float]]) -> Population:
    return Population.from_moments([[0.464, 0.204], [0.295, 0.037]], mean, groups=["m", "f"], labels=["no", "yes"])


def test_a_cell_without_errors() -> None:
    found = population([[0.09, 0.38], [0.0, 0.45]])
    sensitive, general = (certify(found, 0.2, shift=shift, tol=1e-9).prices for shift in ("sensitive", "general"))
    for prices in (sensitive, general):
        assert prices.one_sided.tolist() == [[False, False], [True, False]]
        assert "cannot fall" in prices.remarks[0]
    step = 1e-5
    more = certify(population([[0.09, 0.38], [step, 0.45]]), 0.2, tol=1e-9).bound
    assert general.value[1, 0] == pytest.approx((more - certify(found, 0.2, tol=1e-9).bound) / step, abs=1e-3)


def test_a_cell_whose_first_error_is_like_a_root() -> None:
    found, step = population([[0.09, 0.38], [0.02, 0.0]]), 1e-6
    prices = certify(found, 0.4).prices
    assert prices.value[1, 1] == np.inf
    assert certify(population([[0.09, 0.38], [0.02, step]]), 0.4).bound - certify(found, 0.4).bound > 50 * step
    assert any("root" in remark for remark in prices.remarks)
    with pytest.raises(InputError, match="infinite"):
        prices.weights(["no", "yes"], sensitive_features=["m", "f"])


def test_ties_are_said() -> None:
    same = Population.from_moments([[0.3, 0.2], [0.3, 0.2]], [[0.1, 0.2], [0.1, 0.2]])
    prices = certify(same, 0.1, metric="group_loss_difference").prices
    assert prices.one_sided.all()
    assert "the worst alike" in prices.remarks[0]


def test_what_takes_the_place_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    y, groups = rng.integers(2, size=2000), rng.integers(2, size=2000)
    rows = Population.from_predictions(y, np.where(rng.random(2000) < 0.2, 1 - y, y), sensitive_features=groups)
    for shift in ("sensitive", "general"):
        found = certify(rows, 0.2, shift=shift, confidence=0.9)
        again = Certificate.from_json(found.to_json())
        assert (found.prices.value > 0).all()
        np.testing.assert_allclose(again.prices.value, found.prices.value, rtol=1e-9)
        assert any("sample" in remark for remark in found.prices.remarks)


def test_cells_without_rows_have_no_price() -> None:
    empty = Population.from_moments([[0.5, 0.2], [0.3, 0.0]], [[0.1, 0.3], [0.1, 0.0]])
    prices = certify(empty, 0.4).prices
    assert np.isnan(prices.value).tolist() == [[False, False], [False, True]]
    assert prices.rows[-1][-3:] == ["no data", "-", "-"]
    assert "nan" not in prices._repr_html_()


def test_weights_are_relative_prices_by_cell() -> None:
    prices = certify(population([[0.09, 0.38], [0.02, 0.45]]), 0.2, shift="sensitive").prices
    y, groups = ["no", "yes", "no", "other"], ["m", "m", "f", "x"]
    weights = prices.weights(y, sensitive_features=groups)
    expected = np.array([prices.relative[0, 0], prices.relative[0, 1], prices.relative[1, 0], 1.0])
    np.testing.assert_allclose(weights, expected / expected.mean())


def test_the_table_starts_with_what_costs_most() -> None:
    prices = certify(population([[0.09, 0.38], [0.02, 0.45]]), 0.2, shift="sensitive").prices
    assert prices.rows[0][:2] == ["f", "yes"]
    assert prices.rows[0][-1] == "3.86x"
    assert prices.to_frame("polars")["price"].sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(np.asarray(prices), prices.value)


def test_forged_trees_have_no_prices() -> None:
    pytest.importorskip("clarabel")
    text = certify(means(7, (2, 2))(np.zeros((2, 2))), 0.1, divergence="total_variation").to_json()
    forged = json.loads(text)
    for splits in ([[5, 0, 0.5], None, None], [None, None], [], [[0, 1, 0.0], None, None]):
        forged["questions"][0]["points"][0]["answers"][0]["proof"]["splits"] = splits
        prices = Certificate.from_json(json.dumps(forged)).prices
        assert np.isnan(prices.value).all() or splits == [None, None]


def test_prices_are_shown_everywhere() -> None:
    certificate = certify(population([[0.09, 0.38], [0.02, 0.45]]), 0.2, shift="sensitive")
    page = str(report(certificate))
    for shown in (show_certificate(certificate), certificate._repr_html_(), page):
        words = shown if shown.startswith("Certificate") else re.sub(r"<[^>]*>", " ", shown)
        assert "What costs most" in words
        assert "3.86x" in words
