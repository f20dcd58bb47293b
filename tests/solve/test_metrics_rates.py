"""Metrics where base rates may differ: never below the truth, tight, between equal base rates and none at all."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    InputError,
    Population,
    Status,
    certify,
    certify_curve,
    implied_parity,
    largest_certified_rho,
    verify,
)
from fairbound.problem.objective import Objective
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.mean_leaves import mean_bound, tuned
from fairbound.solve.nearest import nearest_in
from fairbound.solve.problem import problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.signed_values import objective_problem
from tests.fractional_leaves import intervals, random_mean_leaves
from tests.metric_oracles import METRICS, cells_of, looked_at, sought
from tests.metric_problems import ALTERNATING, EXTREME, POSITIVE, named, possible_metrics, random_table
from tests.rates_metric_oracles import RatesMembers, largest_mean, smallest_ratio_of_means

SHIFTS: Any = ["general", "sensitive"]
BY_LABEL = ["cell_loss", "true_positive_rate_difference", "false_positive_rate_difference"]
BY_GROUP = [
    "group_loss",
    "group_loss_difference",
    "selection_rate",
    "demographic_parity_difference",
    "demographic_parity_ratio",
]
SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3)]


REFERENCE = Population.from_moments(
    [[0.464, 0.204], [0.295, 0.037]],
    [[0.09, 0.38], [0.02, 0.45]],
    selection_rate=[[0.09, 0.62], [0.02, 0.55]],
)


def asked_of(tolerance: float) -> dict[str, Any]:
    """Return the keywords: a tolerance of one is no condition."""
    return {"fair": False} if tolerance >= 1.0 else {"base_rate_tolerance": tolerance}


def radius(population: Population, tolerance: float, excess: float, groups: MarginalSet | None = None) -> float:
    """Return a radius that lies ``excess`` of the way from the nearest distribution in question to 1."""
    shape = population.mass.shape
    rates = BaseRates(shape[0], MarginalSet(shape[1]), tolerance)
    distance = nearest_in(population.mass, groups or MarginalSet(shape[0]), rates).distance
    return min(1.0, distance + excess * (1 - distance))


def oracle(population: Population, rho: float, metric: str, shift: str, tolerance: float, limits: Any) -> float:
    """Return the worst value of a metric, from the primal side."""
    at, (s, c) = looked_at(population, metric, POSITIVE), population.mass.shape
    if metric == "demographic_parity_ratio":
        pairs = permutations(range(s), 2)
        return min(smallest_ratio_of_means(at, rho, pair, shift, tolerance) for pair in pairs)
    return max(largest_mean(at, rho, one, shift, tolerance, limits) for one in sought(metric, (s, c), POSITIVE))


def agrees(certificate: Certificate, truth: float, *, search: float = 3e-7) -> None:
    """Bound and attained value enclose the truth; a search may have missed it a little from one side."""
    way = -1.0 if certificate.lower else 1.0
    assert way * certificate.bound >= way * truth - 3e-7
    assert way * certificate.attained <= way * truth + search
    assert 0 <= certificate.gap <= 1e-6


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["mean", "variance", "rows", "predictions"])
@pytest.mark.parametrize("tolerance", [0.01, 0.2, 1.0])
def test_means_of_groups_agree_with_a_conic_solver(
    tolerance: float, kind: str, shape: tuple[int, int], shift: Any
) -> None:
    """Would fail if a bound came out 1e-6 too low, or an attained value as much too high."""
    rng = np.random.default_rng([*map(ord, kind), *shape])
    population = random_table(rng, *shape, kind)
    skew = 0.3 if rng.random() < 0.3 else None
    rho = radius(population, tolerance, float(rng.choice([0.02, 0.1, 0.3])), MarginalSet(shape[0], skew))
    for metric in [m for m in BY_GROUP if m in possible_metrics(population)]:
        if metric == "demographic_parity_ratio" and (skew is not None or shape[0] > 2):
            continue  # many bisections
        certificate = certify(population, rho, shift=shift, group_skew=skew, **named(metric), **asked_of(tolerance))
        agrees(certificate, oracle(population, rho, metric, shift, tolerance, (skew, 0.0)))


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_means_of_labels_without_a_condition_agree_with_a_conic_solver(shape: tuple[int, int], shift: Any) -> None:
    """Also with three labels, of which two make up the negatives."""
    for seed in range(2):
        rng = np.random.default_rng([*shape, seed])
        population = random_table(rng, *shape, "predictions")
        skew = 0.3 if seed else None
        rho = radius(population, 1.0, float(rng.choice([0.02, 0.1])), MarginalSet(shape[0], skew))
        for metric in BY_LABEL:
            certificate = certify(population, rho, shift=shift, fair=False, group_skew=skew, **named(metric))
            agrees(certificate, oracle(population, rho, metric, shift, 1.0, (skew, 0.0)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("seed", range(4))
def test_means_of_labels_agree_with_a_search_over_the_least_share(seed: int, shift: Any) -> None:
    """The search finds the best share to about 1e-5: a bound that is 1e-4 too low would be noticed."""
    rng = np.random.default_rng(40 + seed)
    shape = (2 + seed % 2, 2)
    population = random_table(rng, *shape, "predictions" if seed < 2 else "mean")
    tolerance = (0.05, 0.3, 0.01, 0.15)[seed]
    rho = radius(population, tolerance, float(rng.choice([0.02, 0.05, 0.1])))
    for metric in BY_LABEL:
        certificate = certify(population, rho, shift=shift, **named(metric), **asked_of(tolerance))
        agrees(certificate, oracle(population, rho, metric, shift, tolerance, (None, 0.0)), search=1e-4)


@pytest.mark.parametrize("tolerance", [0.05, 1.0])
def test_least_shares_of_groups(tolerance: float) -> None:
    """What metrics need most where a ball can empty a group; the nearest distribution obeys it too."""
    for seed in range(3):
        rng = np.random.default_rng(90 + seed)
        population = random_table(rng, 3, 2, "predictions")
        limits: Any = {"min_group_mass": 0.25, **asked_of(tolerance)}
        for metric in ("demographic_parity_difference", "true_positive_rate_difference"):
            near = certify_curve(population, [1.0], **named(metric), **limits).distance
            rho = near + 0.1 * (1 - near)
            certificate = certify(population, rho, **named(metric), **limits)
            truth = oracle(population, rho, metric, "general", tolerance, (None, 0.25))
            agrees(certificate, truth, search=3e-7 if metric.startswith("dem") or tolerance == 1.0 else 1e-4)
            assert certificate.witness.group_mass.min() >= 0.25 - 1e-12
            if near > 0:
                with pytest.raises(ValueError, match="nearest"):
                    certify(population, 0.999 * near, **named(metric), **limits)


def not_exceeded(certificate: Certificate, found: float) -> None:
    """A distribution may not be worse than the bound; its own numbers are rounded."""
    assert found >= certificate.bound - 1e-11 if certificate.lower else found <= certificate.bound + 1e-11


def climbed(population: Population, rho: float, metric: str, shift: str, tolerance: float, seed: int) -> float:
    cells = cells_of(looked_at(population, metric, POSITIVE), shift)
    groups = MarginalSet(population.mass.shape[0])
    members = RatesMembers(cells, rho, np.random.default_rng(seed), groups, tolerance)
    return members.climbed(metric, POSITIVE, rounds=20, count=25)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("tolerance", [0.03, 0.3, 1.0])
def test_no_member_exceeds_the_bound(tolerance: float, shift: Any, metric: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed] if tolerance == 1.0 or metric in BY_GROUP else (2 + seed % 2, 2)
        population = random_table(rng, *shape, "predictions")
        rho = radius(population, tolerance, float(rng.choice([1e-3, 0.02, 0.1, 0.3])))
        certificate = certify(population, rho, shift=shift, tol=1e-4, **named(metric), **asked_of(tolerance))
        not_exceeded(certificate, climbed(population, rho, metric, shift, tolerance, seed))


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("name", "shift"), ALTERNATING)
def test_extreme_populations(name: str, shift: Any) -> None:
    """Never below what a climb finds, an honest gap, and near or far from the nearest distribution no failure."""
    population = EXTREME[name]
    more: Any = {"empty_cells": "ceiling"} if shift == "sensitive" else {}
    for tolerance in (0.05, 1.0):
        for metric in METRICS:
            if metric not in BY_GROUP and ((len(population.labels) > 2 and tolerance < 1) or name == "an absent label"):
                continue
            rhos = [radius(population, tolerance, excess) for excess in (1e-6, 0.05, 0.95)]
            asked = {**named(metric), **asked_of(tolerance), **more}
            for certificate in certify_curve(population, rhos, shift=shift, tol=1e-3, budget=40, **asked):
                assert certificate.gap >= 0
                assert certificate.status is not Status.TIGHT or certificate.gap <= 1e-3
                if certificate.rho == rhos[1]:
                    not_exceeded(certificate, climbed(population, rhos[1], metric, shift, tolerance, 1))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("tolerance", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_any_multipliers_are_valid(seed: int, tolerance: float) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member."""
    rng = np.random.default_rng([seed, int(100 * tolerance)])
    population = random_table(rng, 2 + seed % 2, 2, "predictions")
    shape = population.mass.shape
    rates = BaseRates(shape[0], MarginalSet(shape[1]), tolerance)
    rho = radius(population, tolerance, 0.1)
    at = population.selecting(POSITIVE)
    plain = problem_of(at, "general", "any", "ceiling", None, None)
    for objective, metric in (
        (Objective(0, 1), "demographic_parity_difference"),
        (Objective(0, 1, label=POSITIVE), "true_positive_rate_difference"),
        (Objective(0, 1, label=POSITIVE, inside=False), "false_positive_rate_difference"),
    ):
        problem = objective_problem(at, objective, plain, "general", "any")
        found = climbed(population, rho, metric, "general", tolerance, seed)
        if shape[0] > 2:
            continue  # the metric is about other pairs too
        other = objective_problem(at, Objective(1, 0, objective.label, objective.inside), plain, "general", "any")
        bounds = [_random_bound(rng, one, rates, rho) for one in (problem, other)]
        assert found <= max(bounds) + 1e-11


def _random_bound(rng: np.random.Generator, problem: Any, rates: BaseRates, rho: float) -> float:
    """Cover all least shares with intervals of random multipliers; the smallest of several such bounds."""
    best = np.inf
    for _ in range(30):
        ends = intervals(rng, problem, rates, 6)
        leaves, at = random_mean_leaves(rng, problem, rates, ends), np.full(len(ends), rho)
        better, _ = tuned(problem, rates, at, leaves)
        for one in (leaves, better):
            bound = mean_bound(problem, rates, at, one)
            assert np.isfinite(bound).all()
            best = min(best, float(bound.max()))
    return best


def test_between_equal_base_rates_and_none() -> None:
    """The larger the tolerance, the larger the bound; at its ends, the questions known before."""
    population = EXTREME["three groups"]
    for metric in METRICS:
        rho = 0.3
        chain = [
            certify(population, rho, **named(metric)),
            *(certify(population, rho, **named(metric), base_rate_tolerance=e) for e in (1e-6, 0.01, 0.1, 0.5, 1.0)),
            certify(population, rho, **named(metric), fair=False),
        ]
        way = -1.0 if chain[0].lower else 1.0
        for smaller, larger in pairwise(chain):
            assert way * smaller.attained <= way * larger.bound + 1e-9
        assert chain[1].bound == pytest.approx(chain[0].bound, abs=2e-4)
        assert chain[-2].bound == pytest.approx(chain[-1].bound, abs=3e-6)


def test_without_a_condition_the_data_themselves_are_in_question() -> None:
    """At a radius of zero what is left are the metrics of the data."""
    population = EXTREME["three groups"]
    at = population.selecting(POSITIVE)
    rate = (at.mass * at.mean).sum(axis=1) / at.mass.sum(axis=1)
    certificate = certify(population, 0.0, **named("demographic_parity_difference"), fair=False)
    assert certificate.bound == pytest.approx(np.ptp(rate), abs=1e-5)
    assert certificate.bound >= np.ptp(rate) - 1e-12
    certificate = certify(population, 0.0, **named("true_positive_rate_difference"), fair=False)
    assert certificate.bound == pytest.approx(np.ptp(at.mean[:, 1]), abs=1e-5)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("tolerance", [0.03, 0.3, 1.0])
def test_implied_parity_allows_for_base_rates(tolerance: float, shift: Any) -> None:
    """No member exceeds what the errors of cells imply."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        population = random_table(rng, 2 + seed % 2, 2, "predictions")
        rho = radius(population, tolerance, 0.05)
        certificate = certify(population, rho, shift=shift, metric="cell_loss", **asked_of(tolerance))
        implied = implied_parity(certificate)
        found = climbed(population, rho, "demographic_parity_difference", shift, tolerance, seed)
        assert found <= implied.demographic_parity_difference + 1e-11
        found = climbed(population, rho, "equalized_odds_difference", shift, tolerance, seed)
        assert found <= implied.equalized_odds_difference + 1e-11
        direct = certify(population, rho, shift=shift, **named("demographic_parity_difference"), **asked_of(tolerance))
        assert direct.attained <= implied.demographic_parity_difference + 1e-9


def test_implied_parity_of_a_perfect_model() -> None:
    """Only base rates matter: the implied bound is the tolerance, and it is attained."""
    population = EXTREME["a perfect model"]
    certificate = certify(population, 0.3, shift="sensitive", metric="cell_loss", base_rate_tolerance=0.2)
    implied = implied_parity(certificate)
    assert implied.demographic_parity_difference == pytest.approx(0.2, abs=1e-6)
    direct = certify(
        population, 0.3, shift="sensitive", **named("demographic_parity_difference"), base_rate_tolerance=0.2
    )
    assert direct.attained == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("asked", [{"fair": False}, {"base_rate_tolerance": 0.3}])
def test_means_of_an_empty_cell_need_mass_in_it(asked: Any, shift: Any) -> None:
    """Of nothing there is no mean: what is certified near such data has a worst case with some mass there."""
    population = Population.from_moments([[0.4, 0.2], [0.4, 0.0]], [[0.1, 0.2], [0.3, 0.0]])
    question: Any = {"shift": shift, "metric": "cell_loss", "empty_cells": "ceiling", **asked}
    least = certify_curve(population, [1.0], **question).distance
    for rho in (least, least + 1e-7, least + 1e-5, 0.3):
        certificate = certify(population, rho, **question)
        assert verify(certificate.to_json()).valid
        assert certificate.bound == 1.0
    with pytest.raises(ValueError, match="nearest"):
        certify(population, 0.0, **question)


def test_curves_and_the_inverse_question() -> None:
    for metric in ("demographic_parity_difference", "demographic_parity_ratio", "true_positive_rate_difference"):
        population, asked = REFERENCE, {**named(metric), "base_rate_tolerance": 0.1, "min_group_mass": 0.2}
        rhos = np.linspace(0.06, 0.16, 6)
        curve = certify_curve(population, rhos, **asked)
        bounds = curve.bound[np.isfinite(curve.bound)]
        way = -1.0 if metric.endswith("ratio") else 1.0
        assert (np.diff(way * bounds) >= -1e-6).all()
        middle = float(bounds[1])
        rho = largest_certified_rho(population, middle + 0.01 * way, **asked)
        assert rho > rhos[1]
        assert way * certify(population, rho, **asked).bound <= way * (middle + 0.01 * way) + 1e-12


def test_proofs_have_pieces_only_where_a_share_is_searched() -> None:
    population = EXTREME["three groups"]
    for metric, asked, pieces in (
        ("group_loss", {"fair": False}, False),
        ("group_loss", {"base_rate_tolerance": 0.4}, False),
        ("true_positive_rate_difference", {"fair": False}, False),
        ("true_positive_rate_difference", {"base_rate_tolerance": 0.4}, True),
    ):
        proof = certify(population, 0.1, **named(metric), **asked).proof
        assert proof.axis == "part"
        assert (len(proof.leaves) > 1) == pieces


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"label_limits": {0: (0.1, 0.9)}, "fair": False}, "equal base rates"),
        ({"min_label_mass": 0.1, "base_rate_tolerance": 0.1}, "equal base rates"),
        ({"label_skew": 0.1, "base_rate_tolerance": 0.1}, "equal base rates"),
        ({"divergence": "kl", "fair": False}, "divergence"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        certify(EXTREME["three groups"], 0.2, **named("demographic_parity_difference"), **asked)


def test_a_tolerance_for_the_rows_of_one_of_three_labels_is_refused() -> None:
    population = EXTREME["a rare positive label of three"]
    asked: Any = named("true_positive_rate_difference")
    with pytest.raises(InputError, match=r"two labels only, and there are 3.*fair=False"):
        certify(population, 0.2, **asked, base_rate_tolerance=0.1)
    assert certify(population, 0.2, **asked, fair=False).bound <= 1.0


@pytest.mark.parametrize("asked", [{}, {"base_rate_tolerance": 0.1}, {"fair": False}])
@pytest.mark.parametrize("name", ["never selected", "one group never", "one group always", "a perfect model"])
def test_observed_support_of_cells_where_all_are_treated_alike(name: str, asked: Any) -> None:
    """The values that only other cells have lie above the ceiling; no multiplier may meet them."""
    for metric in ("selection_rate", "demographic_parity_difference"):
        observed = certify(EXTREME[name], 0.3, **named(metric), **asked, support="observed", group_skew=0.5)
        anything = certify(EXTREME[name], 0.3, **named(metric), **asked, group_skew=0.5)
        assert 0 <= observed.gap <= 1e-6
        assert verify(observed.to_json()).valid
        assert observed.attained <= anything.bound
