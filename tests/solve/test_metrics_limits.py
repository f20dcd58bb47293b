"""True and false positive rates with limits on three or more labels: tight, never below the truth, and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from fairbound import Population, certify, verify
from fairbound.problem.objective import Objective
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.mean_leaves import mean_bound, tuned
from fairbound.solve.problem import Problem
from fairbound.solve.share_range import share_range
from fairbound.solve.shares import MarginalSet
from tests.by_hand import only
from tests.forging import Change, Document, check_forgery, statements
from tests.fractional_leaves import random_mean_leaves
from tests.metric_oracles import Members, cells_of, largest, looked_at, sought
from tests.metric_problems import POSITIVE, named, random_table
from tests.problems import radius, random_limits, solver

METRICS = ["true_positive_rate_difference", "false_positive_rate_difference", "cell_loss"]
KINDS = ["skew", "least", "any"]
SHAPES = [(2, 3), (3, 3), (2, 4)]

Asked = tuple[Population, float, dict[str, Any]]


def asked(kind: str, seed: int) -> Asked:
    """Draw a population, a radius and limits on its labels."""
    rng = np.random.default_rng(9000 + seed)
    shape = SHAPES[seed % 3]
    population = random_table(rng, *shape, "predictions")
    limits: dict[str, Any] = {"label_skew": float(rng.choice([0.05, 0.2, 0.4]))}
    if kind == "least":
        limits = {"min_label_mass": float(rng.choice([0.05, 0.15, 0.2]))}
    elif kind == "any":
        limits = random_limits(rng, "label", shape[1])
    return population, radius(population, float(rng.choice([0.01, 0.03, 0.1])), **limits), limits


def problem_of(population: Population, limits: dict[str, Any], objective: Objective, shift: Any = "general") -> Problem:
    """Return an objective about what is selected in numbers."""
    return solver(population, objective=objective, shift=shift, **limits).compared.problem()


def largest_within(population: Population, rho: float, metric: str, shift: str, labels: MarginalSet) -> float:
    """Return the worst value of a metric, from the primal side."""
    rows = None if labels.limits is None else (labels.limits.matrix, labels.limits.right)
    shape = population.mass.shape
    return max(
        largest(looked_at(population, metric, POSITIVE), rho, one, shift, (None, labels.skew), label_rows=rows)
        for one in sought(metric, (shape[0], shape[1]), POSITIVE)
    )


@pytest.mark.one_in(10)
@pytest.mark.parametrize("chunk", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_limits_on_labels_are_used_to_the_full(metric: str, kind: str, chunk: int) -> None:
    for seed in range(10 * chunk, 10 * chunk + 10):
        population, rho, limits = asked(kind, seed)
        certificate = certify(population, rho, **named(metric), **limits)
        assert 0 <= certificate.gap <= 1e-6, (seed, limits, certificate)
        if seed % 5 == 0:
            assert verify(certificate.to_json()).valid


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", [0, 2, 4, 1, 3, 5])
def test_a_conic_solver_agrees(seed: int, metric: str, shift: Any) -> None:
    """The solver finds the best share to about 1e-5: a bound that is 1e-4 too low would be noticed."""
    population, rho, limits = asked(KINDS[seed // 2], seed)
    labels = problem_of(population, limits, Objective(0)).labels
    certificate = certify(population, rho, shift=shift, **named(metric), **limits)
    truth = largest_within(population, rho, metric, shift, labels)
    assert certificate.bound >= truth - 3e-7
    assert certificate.attained <= truth + 1e-4
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("seed", range(9))
def test_any_multipliers_are_valid(seed: int) -> None:
    """Weak duality: with any omega and any multipliers of the limits no member exceeds the bound."""
    rng = np.random.default_rng(seed)
    population, _, limits = asked(KINDS[seed % 3], seed)
    population = population.selecting(POSITIVE)
    labels = problem_of(population, limits, Objective(0)).labels
    groups = len(population.groups)
    rho = radius(population, 0.3, **limits)
    climb = Members(cells_of(population, "general"), rho, rng, (MarginalSet(groups), labels))
    _, r, law = climb.pulled(climb.draw(600))
    mean, share = (law * climb.value).sum(axis=3), r[:, POSITIVE]
    outside = np.einsum("ny,nsy->ns", np.delete(r, POSITIVE, 1), np.delete(mean, POSITIVE, 2)) / (1 - share)[:, None]
    for within, values in ((True, mean[:, :, POSITIVE]), (False, outside)):
        problem = problem_of(population, limits, Objective(0, 1, POSITIVE, within))
        rates = BaseRates(groups, labels, 0.0)
        found = values[:, 0] - values[:, 1]
        for _ in range(60):
            ends = np.sort(np.clip(rng.choice(share) + rng.normal(size=(1, 2)) * 0.1, 0.0, 1.0))
            here = (share >= ends[0, 0]) & (share <= ends[0, 1])
            leaves = random_mean_leaves(rng, problem, rates, ends)
            for one in (leaves, tuned(problem, rates, np.array([rho]), leaves)[0]):
                bound = mean_bound(problem, rates, np.array([rho]), one)
                assert np.isfinite(bound[0])
                assert found[here].max(initial=-1.0) <= bound[0] + 1e-12


def test_limits_that_leave_one_choice() -> None:
    """The shares of all labels are given, or of the positive one, or almost."""
    population = random_table(np.random.default_rng(5), 2, 3, "predictions")
    share = np.array([0.3, 0.3, 0.4])
    every: list[dict[str, Any]] = [
        {"label_skew": 0.0},
        {"label_limits": {y: (share[y], share[y]) for y in range(3)}},
        {"label_limits": {POSITIVE: (0.3, 0.3)}},
        {"label_limits": {0: (0.3, 0.3)}, "label_rows": ([[0.0, 1.0, -1.0]], [-0.1])},
        {"label_limits": {0: (0.0, 0.3)}},
        {"min_label_mass": 0.333},
    ]
    for limits in every:
        rho = radius(population, 0.05, **limits)
        for metric in METRICS:
            certificate = certify(population, rho, **named(metric), **limits)
            assert 0 <= certificate.gap <= 1e-5, (limits, metric, certificate)
            assert verify(certificate.to_json()).valid


@pytest.mark.parametrize("seed", range(12))
def test_the_range_of_shares(seed: int) -> None:
    """Shares of members lie within it, and it is no wider than it has to be."""
    population, _, limits = asked("any", seed)
    problem = problem_of(population, limits, Objective(0, 1, POSITIVE))
    found, labels = share_range(problem, 1.0), problem.labels
    corners = np.eye(labels.size)[POSITIVE] * np.array([[1.0], [-1.0]])
    drawn = labels.inside(np.random.default_rng(seed).dirichlet(np.full(labels.size, 0.5), 2000))[:, POSITIVE]
    assert found.ends[0] <= found.inner[0] <= drawn.min() + 1e-12
    assert found.ends[1] >= found.inner[1] >= drawn.max() - 1e-12
    for side in (0, 1):
        if found.inner[side] != found.ends[side]:
            proved = float(labels.support(corners[1 - side], found.mu[side])) * (1.0 if side else -1.0)
            assert proved == found.inner[side]


@cache
def _written(kind: str) -> str:
    population, rho, limits = asked(kind, 0)
    return certify(population, rho, tol=1e-5, **named(METRICS[1]), **limits).to_json()


def each_leaf(change: Callable[[Any], object]) -> Change:
    """Change the leaves of all statements."""
    return lambda d: [change(leaf) for answer in statements(d) for leaf in answer["proof"]["leaves"]]


def another_order(d: Document) -> None:
    """Exchange the omega of the leaves."""
    for answer in statements(d):
        leaves = answer["proof"]["leaves"]
        for leaf, omega in zip(leaves, [leaf["omega"] for leaf in reversed(leaves)], strict=True):
            leaf["omega"] = omega


CHANGES: dict[str, Change] = {
    "another omega": each_leaf(lambda leaf: leaf.update(omega=[leaf["omega"][0] + 0.5, *leaf["omega"][1:]])),
    "no omega": each_leaf(lambda leaf: leaf.update(omega=[0.0] * len(leaf["omega"]))),
    "negative multipliers": each_leaf(lambda leaf: leaf.update(label_mu=[-1.0] * len(leaf["label_mu"]))),
    "no multipliers of limits": each_leaf(lambda leaf: leaf.update(label_mu=[0.0] * len(leaf["label_mu"]))),
    "another order": another_order,
}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("skew", "no omega"),
        ("skew", "another omega"),
        ("skew", "another order"),
        ("least", "no omega"),
        ("least", "negative multipliers"),
        ("least", "no multipliers of limits"),
    ],
)
def test_not_proved(kind: str, change: str) -> None:
    check_forgery(_written(kind), CHANGES[change], "")


def test_wider_limits_are_not_proved() -> None:
    """The proof uses the limits: it does not hold without them."""
    check_forgery(_written("skew"), lambda d: only(d)["label_limits"].update(skew=0.9), "leaves out")

    def no_limits(d: Document) -> None:
        only(d)["label_limits"] = {"skew": None, "rows": [], "most": []}
        each_leaf(lambda leaf: leaf.update(label_mu=[]))(d)

    check_forgery(_written("least"), no_limits, "leaves out")


def test_an_omega_that_is_no_number() -> None:
    population, rho, limits = asked("skew", 0)
    problem = problem_of(population.selecting(POSITIVE), limits, Objective(0, 1, POSITIVE))
    rates, at, ends = BaseRates(2, problem.labels, 0.0), np.array([rho]), np.array([[0.2, 0.4]])
    leaves = random_mean_leaves(np.random.default_rng(0), problem, rates, ends)
    leaves = replace(leaves, omega=np.zeros((1, 3)))
    assert np.isfinite(mean_bound(problem, rates, at, leaves)[0])
    for value in (np.nan, np.inf, -np.inf, 1e200):
        omega = np.array([[value, 0.0, 0.0]])
        assert mean_bound(problem, rates, at, replace(leaves, omega=omega))[0] == np.inf
