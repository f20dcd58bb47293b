"""Metrics other than the loss: never below the truth, tight, and Fairlearn's own values where nothing may change."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations, product
from typing import Any

import fairlearn.metrics as fairlearn
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbound import (
    Certificate,
    CertificateCurve,
    Population,
    Status,
    certify,
    certify_curve,
    largest_certified_rho,
    verify,
)
from fairbound.problem.metrics import METRICS as KNOWN
from fairbound.problem.objective import Objective
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.mean_leaves import mean_bound, tuned
from fairbound.solve.nearest import nearest_shares
from fairbound.solve.problem import problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.signed_values import objective_problem
from fairbound.verify.document import Fractional
from tests.fractional_leaves import intervals, kernel_bound, random_mean_leaves
from tests.metric_oracles import (
    METRICS,
    Cells,
    Members,
    cells_of,
    largest,
    looked_at,
    metric_value,
    smallest_ratio,
    sought,
)
from tests.metric_problems import ALTERNATING, EXTREME, POSITIVE, named, possible_metrics, random_table, weighted
from tests.problems import radius, random_limits, solver

SHIFTS: Any = ["general", "sensitive"]
BY_LABEL = [m for m in METRICS if m == "cell_loss" or m.endswith("rate_difference") or m.startswith("equal")]
OF_ROWS: list[Any] = ["group_loss", "group_loss_difference"]
BY_GROUP = [m for m in METRICS if m not in BY_LABEL]
SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (5, 2), (2, 5)]

P = [[0.464, 0.204], [0.295, 0.037]]
SELECTED = [[0.09, 0.62], [0.02, 0.55]]
#: What makes feasible multipliers useless: below a ceiling, negative, without a tangent, or too large to compute with.
UNUSABLE = {"zeta": -1.0, "slope": -3.0, "lam": -9.0, "centre": -1.0, "omega": 1e70, "nu": np.nan}

REFERENCE = Population.from_moments(P, [[0.09, 0.38], [0.02, 0.45]], selection_rate=SELECTED)


def test_every_metric_is_tested() -> None:
    assert set(KNOWN) == set(METRICS)


def agrees(certificate: Certificate, truth: float, *, off: float, search: float) -> None:
    """Bound and attained value enclose the truth, known to within ``off`` and, from one side only, ``search``."""
    way = -1.0 if certificate.lower else 1.0
    assert way * certificate.bound >= way * truth - off
    assert way * certificate.attained <= way * truth + search
    assert certificate.gap >= 0


def oracle(population: Population, rho: float, metric: str, shift: str, **limits: Any) -> float:
    """Return the worst value of a metric, from the primal side."""
    at = looked_at(population, metric, POSITIVE)
    skews = limits.get("group_skew"), limits.get("label_skew")
    least = limits.get("min_group_mass", 0.0), limits.get("min_label_mass", 0.0)
    shape = population.mass.shape
    if metric == "demographic_parity_ratio":
        return min(smallest_ratio(at, rho, pair, shift, skews, least) for pair in permutations(range(shape[0]), 2))
    support = limits.get("support", "any")
    return max(
        largest(at, rho, asked, shift, skews, support, least)
        for asked in sought(metric, (shape[0], shape[1]), POSITIVE)
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["mean", "variance", "rows", "predictions"])
def test_means_of_groups_agree_with_a_conic_solver(kind: str, shape: tuple[int, int], shift: Any) -> None:
    """Would fail if a bound came out 1e-6 too low, or an attained value as much too high."""
    rng = np.random.default_rng([*map(ord, kind), *shape])
    population = random_table(rng, *shape, kind)
    limits: Any = {n: float(rng.uniform(0.05, 1)) for n in ("group_skew", "label_skew") if rng.random() < 0.4}
    rho = radius(population, float(rng.choice([0.01, 0.05, 0.1, 0.3])), **limits)
    for metric in [m for m in BY_GROUP if m in possible_metrics(population)]:
        if max(shape) == 5 and metric == "demographic_parity_ratio":
            continue  # twenty bisections
        certificate = certify(population, rho, shift=shift, **named(metric), **limits)
        agrees(certificate, oracle(population, rho, metric, shift, **limits), off=3e-7, search=3e-7)
        assert certificate.gap <= 1e-6


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("seed", range(6))
def test_means_of_labels_agree_with_a_search_over_their_shares(seed: int, shift: Any) -> None:
    """The search finds the best share to about 1e-5: a bound that is 1e-4 too low would be noticed."""
    rng = np.random.default_rng(300 + seed)
    shape = SHAPES[seed % 3]
    population = random_table(rng, *shape, "predictions" if seed % 2 or shape[1] > 2 else "mean")
    limits: Any = {} if seed < 3 else {"group_skew": float(rng.uniform(0.1, 1))}
    if seed == 5 and shape[1] == 2:
        limits["label_skew"] = 0.4
    rho = radius(population, float(rng.choice([0.02, 0.05, 0.1])), **limits)
    for metric in ("true_positive_rate_difference", "false_positive_rate_difference", "cell_loss"):
        certificate = certify(population, rho, shift=shift, **named(metric), **limits)
        agrees(certificate, oracle(population, rho, metric, shift, **limits), off=3e-7, search=1e-4)
        assert certificate.gap <= 1e-6


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("seed", range(3))
def test_least_shares_agree_with_a_conic_solver(seed: int, shift: Any) -> None:
    rng = np.random.default_rng(800 + seed)
    population = random_table(rng, *SHAPES[seed], "predictions")
    limits: Any = {"min_group_mass": 0.2, "min_label_mass": 0.15}
    near = certify_curve(population, [1.0], **limits).distance
    rho = near + 0.1 * (1 - near)
    for metric in [m for m in METRICS if m != "equalized_odds_difference"]:
        certificate = certify(population, rho, shift=shift, tol=1e-5, **named(metric), **limits)
        truth = oracle(population, rho, metric, shift, **limits)
        agrees(certificate, truth, off=3e-7, search=3e-7 if metric in BY_GROUP else 1e-4)
        assert certificate.gap <= 1e-5
        free = certify(population, rho, shift=shift, tol=1e-5, **named(metric))
        way = -1.0 if free.lower else 1.0
        assert way * certificate.attained <= way * free.bound + 1e-9


def test_observed_support_agrees_with_a_conic_solver() -> None:
    for seed in range(4):
        rng = np.random.default_rng(700 + seed)
        population = random_table(rng, *SHAPES[seed], "rows")
        rho = radius(population, 0.1)
        for metric in OF_ROWS:
            certificate = certify(population, rho, metric=metric, support="observed")
            agrees(certificate, oracle(population, rho, metric, "general", support="observed"), off=3e-7, search=3e-7)
            assert certificate.gap <= 1e-6
            free = certify(population, rho, metric=metric)
            assert certificate.bound <= free.bound + 1e-9


def members(population: Population, metric: str, rho: float, shift: str, seed: int, **limits: Any) -> Members:
    """Return distributions that look for large values."""
    shape = population.mass.shape
    sets = MarginalSet(shape[0], limits.get("group_skew")), MarginalSet(shape[1], limits.get("label_skew"))
    cells = cells_of(looked_at(population, metric, POSITIVE), shift, limits.get("support", "any"))
    return Members(cells, rho, np.random.default_rng(seed), sets)


def not_exceeded(certificate: Certificate, found: float) -> None:
    """A distribution may not be worse than the bound; its own numbers are rounded."""
    assert found >= certificate.bound - 1e-11 if certificate.lower else found <= certificate.bound + 1e-11


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_no_member_exceeds_the_bound(shift: Any, metric: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % 4]
        population = random_table(rng, *shape, "predictions")
        limits: Any = {n: float(rng.uniform()) for n in ("group_skew", "label_skew") if rng.random() < 0.3}
        rho = radius(population, float(rng.choice([1e-3, 0.02, 0.1, 0.3])), **limits)
        certificate = certify(population, rho, shift=shift, tol=1e-3, budget=100, **named(metric), **limits)
        climb = members(population, metric, rho, shift, seed, **limits)
        not_exceeded(certificate, climb.climbed(metric, POSITIVE, rounds=25, count=30))


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("name", "shift"), ALTERNATING)
def test_extreme_populations(name: str, shift: Any) -> None:
    """Never below what a climb finds, an honest gap, and near or far from the nearest distribution no failure."""
    population = EXTREME[name]
    more: Any = {"empty_cells": "ceiling"} if shift == "sensitive" else {}
    absent = name == "an absent label"
    rhos = [radius(population, excess) for excess in (1e-6, 1e-3, 0.05, 0.3, 0.95)]
    for metric in METRICS:
        if absent and metric == "cell_loss":
            continue
        curve = certify_curve(population, rhos, shift=shift, tol=1e-3, budget=40, **named(metric), **more)
        for certificate, rho in zip(curve, rhos, strict=True):
            assert certificate.gap >= 0
            assert certificate.status is not Status.TIGHT or certificate.gap <= 1e-3
            if rho not in (rhos[0], rhos[-1]):
                climb = members(population, metric, rho, shift, 1)
                not_exceeded(certificate, climb.climbed(metric, POSITIVE, rounds=8, count=20))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("skew", [None, 0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_any_multipliers_are_valid(seed: int, skew: float | None) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member."""
    rng = np.random.default_rng([seed, int(10 * (skew or 9))])
    population = random_table(rng, 3, 3, "predictions").selecting(POSITIVE)
    rho = np.array(
        [max(0.5, 0.05 + nearest_shares(population.mass, MarginalSet(3, skew), MarginalSet(3, skew)).distance)]
    )
    plain = problem_of(population, "general", "any", "refuse", skew, skew)
    sets = MarginalSet(3, skew)
    rates = BaseRates(3, sets, 0.0)
    climb = Members(cells_of(population, "general"), float(rho[0]), rng, (sets, sets))
    state = climb.pulled(climb.draw(400))
    mean = (state[2] * climb.value).sum(axis=3)
    rate = np.einsum("ny,nsy->ns", state[1], mean)
    inside, outside = mean[:, :, POSITIVE], (rate - state[1][:, [POSITIVE]] * mean[:, :, POSITIVE])
    outside = outside / np.maximum(1 - state[1][:, [POSITIVE]], 1e-300)
    for (plus, minus), (label, within, values) in product(
        [(0, 1), (2, 0), (1, None)],
        [(None, True, rate), (POSITIVE, True, inside), (POSITIVE, False, outside)],
    ):
        problem = objective_problem(population, Objective(plus, minus, label, within), plain, "general", "any")
        found = values[:, plus] - (0.0 if minus is None else values[:, minus])
        share = state[1][:, POSITIVE]
        for _ in range(10):
            ends = np.array([[0.0, 1.0]]) if label is None else np.sort(rng.uniform(size=(1, 2)))
            here = (share >= ends[0, 0]) & (share <= ends[0, 1])
            worst = found[here].max(initial=-1.0)
            leaves = random_mean_leaves(rng, problem, rates, ends)
            better, tuned_bound = tuned(problem, rates, rho, leaves)
            offered = [mean_bound(problem, rates, rho, one)[0] for one in (leaves, better)]
            assert np.isfinite(offered).all()
            assert worst <= min(offered) + 1e-12
            assert offered[1] <= offered[0] + 1e-9
            assert offered[1] == tuned_bound[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    shift=st.sampled_from(SHIFTS),
    kind=st.sampled_from(["predictions", "rows", "mean"]),
    asked=st.sampled_from([{}, {}, {"base_rate_tolerance": 0.1}, {"fair": False}]),
    label=st.sampled_from([None, 0, 1]),
    inside=st.booleans(),
    compared=st.booleans(),
)
def test_floats_bound_what_the_checker_says(
    seed: int, shift: Any, kind: str, asked: dict[str, Any], label: int | None, inside: bool, compared: bool
) -> None:
    """Rounding is outward, and by little where no term is close to its pole."""
    rng = np.random.default_rng(seed)
    shape = 2, int(rng.integers(2, 4)) if not asked or label is None else 2
    population = random_table(rng, *shape, kind)
    if kind == "predictions":
        population = population.selecting(POSITIVE)
    limits = random_limits(rng, "group", 2) | ({} if asked else random_limits(rng, "label", shape[1]))
    objective = Objective(0, 1 if compared else None, label, inside or label is None)
    question = solver(population, objective=objective, shift=shift, **asked, **limits)
    problem = question.compared.problem()
    rates = question.compared.rates
    rho = float(rng.uniform(0.3, 0.9))
    ends = intervals(rng, problem, rates, 4)
    near = random_mean_leaves(rng, problem, rates, ends)
    far = replace(near, zeta=near.zeta + 0.1 * problem.scale)
    for leaves in (near, far):
        bound = float(mean_bound(problem, rates, np.full(len(ends), rho), leaves).max())
        exactly = kernel_bound(question, rho, leaves.proof(rates.tolerance))
        assert exactly <= bound
    assert bound - exactly <= 1e-11 * (1 + sum(float(np.abs(part).sum()) for part in vars(far).values()))


def test_a_lowered_multiplier_proves_nothing() -> None:
    """Below a ceiling weak duality does not hold; nor do limits on labels count where base rates differ."""
    population = REFERENCE.selecting()
    plain = problem_of(population, "general", "any", "refuse", None, None)
    rho = np.array([0.2])
    for label, ends in ((None, [[0.0, 1.0]]), (1, [[0.2, 0.4]])):
        problem = objective_problem(population, Objective(0, 1, label), plain, "general", "any")
        for tolerance in (0.0, 0.1, 1.0):
            rates = BaseRates(2, MarginalSet(2), tolerance)
            leaves = random_mean_leaves(np.random.default_rng(0), problem, rates, np.array(ends))
            leaves = replace(leaves, slope=np.zeros((1, 2, 2)), zeta=problem.ceiling[None] + 0.5)
            assert np.isfinite(mean_bound(problem, rates, rho, leaves)[0])
            for s, y in np.ndindex(2, 2):
                low = leaves.zeta.copy()
                low[0, s, y] = problem.ceiling[s, y] - 1e-15
                assert mean_bound(problem, rates, rho, replace(leaves, zeta=low))[0] == np.inf
            for name, change in UNUSABLE.items():
                changed = replace(leaves, **{name: getattr(leaves, name) + change})
                assert mean_bound(problem, rates, rho, changed)[0] == np.inf, name
            if tolerance > 0.0:
                assert mean_bound(problem, rates, rho, replace(leaves, omega=np.full((1, 2), -0.1)))[0] == np.inf


def test_reference_values() -> None:
    """Equal base rates with k free."""
    curve = certify_curve(REFERENCE, [0.1, 0.2], metric="demographic_parity_difference")
    assert curve.bound == pytest.approx([0.182583, 0.420258], abs=1e-6)
    assert [c.status for c in curve] == [Status.TIGHT] * 2


@pytest.mark.parametrize("metric", ["true_positive_rate_difference", "false_positive_rate_difference"])
def test_sensitive_shifting_does_not_change_odds(metric: Any) -> None:
    """With two labels the rates are those of the cells; with three only the true positive rate is."""
    rate = np.array(SELECTED)
    wanted = np.abs(np.diff(rate[:, int(metric.startswith("true"))]))[0]
    curve = certify_curve(REFERENCE, [0.0815, 0.1, 0.3, 0.8], metric=metric, shift="sensitive")
    np.testing.assert_allclose(curve.bound, wanted, atol=1.5e-6)
    assert (curve.bound >= wanted).all()
    three = random_table(np.random.default_rng(4), 2, 3, "predictions")
    odds = certify(three, radius(three, 0.3), shift="sensitive", **named("true_positive_rate_difference"))
    assert odds.bound == pytest.approx(np.ptp(three.selecting(POSITIVE).mean[:, POSITIVE]), abs=1.5e-6)


def equal_base_rates(groups: int, labels: int, seed: int) -> tuple[Any, Any, Any]:
    """Draw rows with exactly equal base rates, and predictions."""
    rng = np.random.default_rng(seed)
    base, size = rng.integers(2, 7, labels), rng.integers(1, 5, groups)
    true = np.concatenate([np.repeat(np.arange(labels), n * base) for n in size])
    group = np.repeat(np.arange(groups), size * base.sum())
    chosen = rng.uniform(size=len(true)) < rng.uniform(0.2, 0.8, groups)[group]
    return true, np.where(chosen, POSITIVE, np.where(true == POSITIVE, 0, true)), group


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("groups", [2, 3])
def test_values_of_fairlearn_at_radius_zero(groups: int, shift: Any, seed: int) -> None:
    """Where P has equal base rates and nothing may move, the metric is that of the rows."""
    true, predicted, group = equal_base_rates(groups, 2, seed)
    population = Population.from_predictions(true, predicted, sensitive_features=group)
    rows: Any = {"y_true": true, "y_pred": predicted, "sensitive_features": group}
    rates = fairlearn.MetricFrame(metrics=fairlearn.selection_rate, **rows).by_group
    wanted = {
        "demographic_parity_difference": fairlearn.demographic_parity_difference(**rows),
        "demographic_parity_ratio": fairlearn.demographic_parity_ratio(**rows),
        "equalized_odds_difference": fairlearn.equalized_odds_difference(**rows),
        "true_positive_rate_difference": fairlearn.MetricFrame(
            metrics=fairlearn.true_positive_rate, **rows
        ).difference(),
        "false_positive_rate_difference": fairlearn.MetricFrame(
            metrics=fairlearn.false_positive_rate, **rows
        ).difference(),
        "selection_rate": rates.max(),
        "group_loss": fairlearn.MetricFrame(metrics=_error, **rows).group_max(),
        "group_loss_difference": fairlearn.MetricFrame(metrics=_error, **rows).difference(),
    }
    for metric, value in wanted.items():
        certificate = certify(population, 0.0, shift=shift, budget=200, metric=metric)  # type: ignore[arg-type]
        agrees(certificate, value, off=1e-9, search=1e-9)
        # Multipliers grow without limit towards the nearest distribution.
        assert certificate.gap <= (1e-4 if metric in BY_LABEL else 1e-5)
    for chosen in range(groups):
        one = certify(population, 0.0, shift=shift, metric="selection_rate", group=chosen)
        agrees(one, rates[chosen], off=1e-9, search=1e-9)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("chunk", range(3))
@pytest.mark.parametrize("metric", METRICS)
def test_tight_up_to_the_nearest_distribution(metric: str, chunk: int) -> None:
    """The ball is then almost a point, and the best multipliers are huge: thousands, and at the point itself none."""
    for seed in (chunk, chunk + 3):
        population = random_table(np.random.default_rng(40 + seed), *SHAPES[(0, 2, 1)[seed % 3]], "predictions")
        for excess in (0.0, 1e-8, 1e-6, 1e-5, 1e-4):
            rho = radius(population, excess)
            certificate = certify(population, rho, budget=200, **named(metric))
            # Bounds hold for a ball that is wider by the leeway: nearer than 1e-8 it has about twice the room.
            allowed = 1e-6 if excess >= 1e-6 else 0.02 if metric in BY_LABEL else 1e-4
            assert 0 <= certificate.gap <= allowed, (seed, excess, certificate)
            if excess == 1e-6:
                assert verify(certificate.to_json()).valid
                climb = members(population, metric, rho, "general", seed)
                not_exceeded(certificate, climb.climbed(metric, POSITIVE, rounds=10, count=20))


def _error(y_true: Any, y_pred: Any) -> float:
    return float(np.mean(np.asarray(y_true) != np.asarray(y_pred)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_bound_gets_worse_with_the_radius(shift: Any, metric: str) -> None:
    curve = certify_curve(REFERENCE, np.linspace(0.0835, 0.95, 12), shift=shift, tol=1e-5, **named(metric))
    way = -1.0 if metric.endswith("ratio") else 1.0
    assert np.all(np.diff(way * curve.bound) >= -1e-5)
    assert np.all(np.diff(way * curve.attained) >= -1e-5)
    assert max(c.gap for c in curve) <= 1e-5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_names_and_order_do_not_matter(shift: Any, metric: str) -> None:
    rng = np.random.default_rng(3)
    cell = np.repeat(np.arange(6), rng.integers(10, 60, 6))
    group, true = cell // 2, cell % 2
    predicted = (rng.uniform(size=len(cell)) < rng.uniform(size=6)[cell]).astype(int)
    plain = Population.from_predictions(true, predicted, sensitive_features=group)
    names, words = np.array(["c", "a", "b"]), np.array(["yes", "no"])  # sorted, the positive label comes first
    other = Population.from_predictions(words[true], words[predicted], sensitive_features=names[group])
    rho = radius(plain, 0.1)
    first = certify(plain, rho, shift=shift, tol=1e-5, **named(metric))
    again: Any = named(metric)
    if "pos_label" in again:
        again["pos_label"] = "no"
    second = certify(other, rho, shift=shift, tol=1e-5, **again)
    assert abs(first.bound - second.bound) <= 1e-5
    assert abs(first.attained - second.attained) <= 1e-5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", METRICS)
def test_sensitive_shifting_is_a_special_case(metric: str) -> None:
    for seed in range(3):
        population = random_table(np.random.default_rng(seed), *SHAPES[seed], "predictions")
        rho = radius(population, 0.1)
        both = [certify(population, rho, shift=shift, tol=1e-4, **named(metric)) for shift in SHIFTS]
        way = -1.0 if both[0].lower else 1.0
        assert way * both[1].attained <= way * both[0].bound + 1e-12
        assert way * both[1].bound <= way * both[0].bound + 1e-4


def test_a_metric_is_the_worst_of_its_comparisons() -> None:
    population = random_table(np.random.default_rng(9), 3, 2, "predictions")
    rho = radius(population, 0.1)
    counts = {"group_loss": 3, "selection_rate": 3, "cell_loss": 6, "equalized_odds_difference": 12}
    for metric in METRICS:
        whole = certify(population, rho, tol=1e-4, **named(metric))
        worst = min if whole.lower else max
        assert whole.bound == worst(c.bound for c in whole.comparisons)
        assert whole.attained == worst(c.attained for c in whole.comparisons)
        assert len(whole.comparisons) == counts.get(metric, 6)
        assert whole.metric == metric
        leading = next(c for c in whole.comparisons if c.objective == whole.objective)
        assert leading.bound == whole.bound
        assert all(isinstance(leaf, Fractional) for leaf in whole.proof.leaves)
        for c in whole.comparisons:
            assert c.gap >= 0
            assert c.bound <= 1.0
    odds = certify(population, rho, tol=1e-4, **named("equalized_odds_difference")).bound
    sides = [
        certify(population, rho, tol=1e-4, **named(f"{side}_positive_rate_difference")) for side in ("true", "false")
    ]
    assert abs(odds - max(c.bound for c in sides)) <= 1e-4


@pytest.mark.parametrize("metric", ["group_loss", "selection_rate", "cell_loss"])
@pytest.mark.parametrize("shift", SHIFTS)
def test_one_group_is_no_worse_than_the_worst(shift: Any, metric: str) -> None:
    population = random_table(np.random.default_rng(2), 3, 2, "predictions")
    rho = radius(population, 0.05)
    whole = certify(population, rho, shift=shift, tol=1e-5, **named(metric))
    each = [certify(population, rho, shift=shift, tol=1e-5, group=g, **named(metric)) for g in population.groups]
    assert max(c.bound for c in each) == pytest.approx(whole.bound, abs=1e-5)
    assert [c.group for c in each] == list(population.groups)
    loss = certify(population, rho, shift=shift)
    if metric == "group_loss":
        assert loss.attained <= whole.bound + 1e-12  # the loss of all is a mean of the groups' losses


@pytest.mark.parametrize("metric", METRICS)
def test_more_knowledge_and_smaller_limits_are_tighter(metric: str) -> None:
    population = random_table(np.random.default_rng(1), 3, 2, "predictions")
    rho = radius(population, 0.3, group_skew=0.1, label_skew=0.1)
    bounds = [
        certify(population, rho, tol=1e-4, group_skew=skew, label_skew=skew, **named(metric))
        for skew in (None, 0.5, 0.2, 0.1)
    ]
    way = -1.0 if bounds[0].lower else 1.0
    for wide, narrow in pairwise(bounds):
        assert way * narrow.attained <= way * wide.bound + 1e-12
        assert way * narrow.bound <= way * wide.bound + 1e-4
        assert narrow.gap <= 1e-4
    if metric in OF_ROWS:
        rows = random_table(np.random.default_rng(1), 2, 2, "rows")
        table: Any = rows.knowledge
        share = table.weight / table.weight.sum(axis=2, keepdims=True)
        variance = (share * np.square(table.low - rows.mean[..., None])).sum(axis=2)
        known = [
            rows,
            Population.from_moments(rows.mass, rows.mean, variance),
            Population.from_moments(rows.mass, rows.mean),
        ]
        found = [certify(p, radius(rows, 0.02), **named(metric)).bound for p in known]
        assert found[0] <= found[1] + 1e-9
        assert found[1] <= found[2] + 1e-9
        assert found[0] < found[2] - 1e-3


def test_many_losses_in_bins() -> None:
    """Bins cost little, and never make the bound smaller than that of the rows."""
    rng = np.random.default_rng(8)
    group, label = rng.integers(0, 2, 40_000), rng.integers(0, 2, 40_000)
    loss = rng.beta(1 + group, 3 - label)
    population = Population.from_losses(loss, label, sensitive_features=group)
    for metric in ("group_loss", "group_loss_difference"):
        for shift in SHIFTS:
            curve = certify_curve(population, [0.05, 0.2], metric=metric, shift=shift)
            assert all(0 <= c.gap <= 1e-6 for c in curve)
    means = [loss[(group == g)].mean() for g in (0, 1)]
    near = certify(population, 0.03, metric="group_loss_difference", shift="sensitive")
    assert near.bound >= abs(means[0] - means[1]) - 0.02


def test_losses_without_a_ceiling() -> None:
    """Sensitive shifting and observed support need none; units do not matter."""
    rng = np.random.default_rng(6)
    group, label = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    loss = rng.exponential(1.0 + group)
    unlimited = Population.from_losses(loss, label, sensitive_features=group, ceiling=np.inf)
    scaled = Population.from_losses(loss * 1e-3, label, sensitive_features=group, ceiling=np.inf)
    for metric in OF_ROWS:
        for more in ({"shift": "sensitive"}, {"support": "observed"}):
            asked: Any = {"metric": metric, **more}
            first = certify(unlimited, 0.2, tol=1e-5, **asked)
            assert 0 <= first.gap <= 1e-5
            second = certify(scaled, 0.2, tol=1e-8, **asked)
            assert second.bound == pytest.approx(first.bound * 1e-3, abs=1e-7)
            climb = members(unlimited, metric, 0.2, more.get("shift", "general"), 1, support="observed")
            not_exceeded(first, climb.climbed(metric, rounds=10, count=20))


def test_weights_count_like_rows() -> None:
    true, predicted, group = [0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1]
    times = [5, 3, 4, 2, 6, 3]
    weights = Population.from_predictions(true, predicted, sensitive_features=group, sample_weight=times)
    rows = Population.from_predictions(
        *(np.repeat(column, times) for column in (true, predicted)), sensitive_features=np.repeat(group, times)
    )
    rho = radius(rows, 0.1)
    for metric in METRICS:
        both = [certify(p, rho, tol=1e-4, **named(metric)).bound for p in (weights, rows)]
        assert both[0] == pytest.approx(both[1], abs=1e-12)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_the_largest_radius_keeps_the_threshold(shift: Any, metric: str) -> None:
    asked: Any = {"shift": shift, "tol": 1e-4, **named(metric)}
    middle = certify(REFERENCE, 0.1, **asked)
    threshold = middle.bound - 1e-3 if middle.lower else middle.bound + 1e-3
    rho = largest_certified_rho(REFERENCE, threshold, **asked)
    at = certify(REFERENCE, rho, **asked)
    assert at.bound >= threshold if at.lower else at.bound <= threshold
    assert rho >= 0.1
    if rho < 1 - 1e-3:
        beyond = certify(REFERENCE, min(1.0, rho + 1e-3), **asked)
        assert beyond.attained <= threshold + 1e-4 if at.lower else beyond.attained >= threshold - 1e-4


@pytest.mark.parametrize("metric", METRICS)
def test_a_curve_is_its_certificates(metric: str) -> None:
    rhos = [0.02, 0.1, 0.3]
    curve = certify_curve(REFERENCE, rhos, tol=1e-4, **named(metric))
    assert list(curve.feasible) == [False, True, True]
    for certificate, rho in zip(curve, rhos[1:], strict=True):
        single = certify(REFERENCE, rho, tol=1e-4, **named(metric))
        assert abs(certificate.bound - single.bound) <= 1e-4
    again = CertificateCurve.from_json(curve.to_json())
    np.testing.assert_array_equal(again.bound, curve.bound)
    assert [c.metric for c in again] == [metric] * 2


def test_a_loose_bound_is_called_loose() -> None:
    """With few intervals the bound is valid, and said to be loose."""
    population = weighted([[40, 10, 20], [30, 20, 5]], [[0.1, 0.6, 0.2], [0.05, 0.5, 0.1]])
    rho = radius(population, 0.05)
    odds = certify(population, rho, tol=1e-9, budget=12, **named("false_positive_rate_difference"))
    assert odds.status is Status.LOOSE
    assert odds.gap > 1e-9
    climb = members(population, odds.metric, rho, "general", 1)
    not_exceeded(odds, climb.climbed(odds.metric, POSITIVE))


def test_a_group_that_can_be_emptied() -> None:
    """Then anything may be said of it: the bound is trivial, and the worst case has rows in every group."""
    certificate = certify(EXTREME["one group never"], 0.9, metric="demographic_parity_difference")
    assert certificate.status is Status.TRIVIAL
    assert certificate.bound == 1.0
    for c in certificate.comparisons:
        assert (c.witness.group_mass > 0).all()


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_oracle_knows_the_metrics(shift: Any) -> None:
    """Of the worst cases that were found, the metric by definition is at least what is said to be attained.

    It may be a little more: one comparison's worst case may be bad for another comparison too, within the tolerance.
    """
    population = random_table(np.random.default_rng(12), 3, 3, "predictions")
    rho = radius(population, 0.1)
    for metric in METRICS:
        certificate = certify(population, rho, shift=shift, tol=1e-3, **named(metric))
        worst = min if certificate.lower else max
        values = []
        for c in certificate.comparisons:
            at: Cells = cells_of(looked_at(population, metric, POSITIVE), shift)
            inside = c.witness.reweighting[..., : at.value.shape[2]]
            top = np.where(sign(c), 1.0, 0.0)
            mean = (inside * at.value).sum(axis=2) + c.witness.unseen * top
            values.append(float(metric_value(metric, c.witness.label_mass[None], mean[None], POSITIVE)[0]))
        way = -1.0 if certificate.lower else 1.0  # the worst case of one comparison may be a bad one of another too
        assert way * certificate.attained - 1e-9 <= way * worst(values) <= way * certificate.bound + 1e-12


def sign(certificate: Certificate) -> Any:
    """Return where unseen mass has the largest value: in the cells that are added."""
    objective: Any = certificate.objective
    return objective.sign(certificate.witness.mass.shape) > 0
