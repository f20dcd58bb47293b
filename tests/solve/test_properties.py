"""What must hold between certificates: monotone, symmetric, tighter with more knowledge, consistent."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbound import (
    Certificate,
    InfeasibleError,
    Population,
    Status,
    ThresholdError,
    Verdict,
    certify,
    certify_curve,
    largest_certified_rho,
    nearest_fair,
    verify,
)
from fairbound.verify.document import Fractional, Tilted
from tests.problems import E, P, Question, questions, radius, random_population

SHIFTS: Any = ["general", "sensitive"]


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_bound_grows_with_the_radius(shift: Any) -> None:
    population = Population.from_moments(P, E)
    curve = certify_curve(population, np.linspace(0.082, 1.0, 40), shift=shift)
    assert np.all(np.diff(curve.bound) >= -1e-6)  # each is within 1e-6 of an increasing function
    assert np.all(np.diff(curve.attained) >= -1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(question=questions(most=3), shift=st.sampled_from(SHIFTS), seed=st.integers(0, 1000))
def test_names_and_order_do_not_matter(question: Question, shift: Any, seed: int) -> None:
    """Permute groups and labels, and exchange their roles: the same certificate up to the tolerance."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    mass = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    mean = rng.uniform(size=shape)
    rows, columns = rng.permutation(shape[0]), rng.permutation(shape[1])
    plain = Population.from_moments(mass, mean)
    rho = radius(plain, 0.1)
    first = certify(plain, rho, shift=shift, tol=1e-4)
    moved = certify(Population.from_moments(mass[rows][:, columns], mean[rows][:, columns]), rho, shift=shift, tol=1e-4)
    is_transposed = certify(Population.from_moments(mass.T, mean.T), rho, shift=shift, tol=1e-4)
    for other in (moved, is_transposed):
        assert other.attained <= first.bound + 1e-12
        assert first.attained <= other.bound + 1e-12
        assert abs(first.bound - other.bound) <= 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_more_knowledge_is_tighter(seed: int) -> None:
    """Whole distribution <= mean and variance <= mean only, with the moments of the same rows."""
    rng = np.random.default_rng(seed)
    rows = random_population(rng, 2, 3, "rows")
    table = rows.knowledge
    mean = rows.mean
    weight = table.weight / table.weight.sum(axis=2, keepdims=True)  # type: ignore[union-attr]
    variance = (weight * np.square(table.low - mean[..., None])).sum(axis=2)  # type: ignore[union-attr]
    rho = radius(rows, 0.1)
    bounds = [
        certify(rows, rho).bound,
        certify(Population.from_moments(rows.mass, mean, variance), rho).bound,
        certify(Population.from_moments(rows.mass, mean), rho).bound,
    ]
    assert bounds[0] <= bounds[1] + 1e-9
    assert bounds[1] <= bounds[2] + 1e-9
    assert bounds[0] < bounds[2] - 1e-3
    observed = certify(rows, rho, support="observed")
    assert observed.attained <= bounds[0] + 1e-9
    assert observed.bound <= bounds[0] + 1e-6
    assert certify(rows, rho, shift="sensitive", tol=1e-4).attained <= observed.bound + 1e-9


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3), (3, 3)])
def test_smaller_limits_are_tighter(shift: Any, shape: tuple[int, int]) -> None:
    population = random_population(np.random.default_rng(5), *shape)
    rho = 0.6
    for name in ("group_skew", "label_skew"):
        limits: list[dict[str, Any]] = [{name: skew} for skew in (1.0, 0.5, 0.2, 0.05)]
        certificates = [certify(population, rho, shift=shift, tol=1e-3, **limit) for limit in limits]
        free = certify(population, rho, shift=shift, tol=1e-3)
        assert certificates[0].attained <= free.bound + 1e-12
        assert abs(certificates[0].bound - free.bound) <= 1.1e-3
        for wide, narrow in itertools.pairwise(certificates):
            assert narrow.attained <= wide.bound + 1e-12
            assert narrow.bound <= wide.bound + 1e-3
            assert narrow.gap <= 1e-3
    both = certify(population, rho, shift=shift, tol=1e-3, group_skew=0.2, label_skew=0.2)
    assert both.attained <= certificates[2].bound + 1e-12


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("other", [2, 3, 5])
def test_sizes(size: int, other: int) -> None:
    population = random_population(np.random.default_rng(size * 10 + other), size, other)
    rho = radius(population, 0.1)
    assert certify(population, rho).gap <= 1e-6
    sensitive = certify(population, rho, shift="sensitive", tol=1e-6 if min(size, other) == 2 else 1e-3)
    assert sensitive.gap >= 0
    assert sensitive.status is (Status.TIGHT if sensitive.gap <= sensitive.tol else Status.LOOSE)
    if min(size, other) < 5:
        assert sensitive.status is Status.TIGHT


@pytest.mark.filterwarnings("ignore::fairbound.errors.DataWarning")
@pytest.mark.parametrize("shape", [(20, 10), (100, 2), (2, 40)])
def test_many_groups_and_labels(shape: tuple[int, int]) -> None:
    population = random_population(np.random.default_rng(1), *shape)
    rho = radius(population, 0.1)
    assert certify(population, rho).gap <= 1e-6
    assert certify(population, rho, group_skew=0.3, label_skew=0.5).gap <= 1e-6
    if min(shape) == 2:
        assert certify(population, rho, shift="sensitive").gap <= 1e-6


@pytest.mark.parametrize("budget", [1, 8, 30])
def test_any_budget_gives_a_valid_bound_and_an_honest_gap(budget: int) -> None:
    population = random_population(np.random.default_rng(8), 5, 5)
    rho = radius(population, 0.1)
    short = certify(population, rho, shift="sensitive", budget=budget)
    long = certify(population, rho, shift="sensitive", tol=1e-3, budget=600)
    assert short.status is Status.LOOSE
    assert short.bound >= long.attained
    assert short.attained <= long.bound
    assert short.gap == short.bound - short.attained
    assert verify(short.to_json()).verdict is Verdict.PROVED


def test_thousands_of_losses() -> None:
    """Every distinct loss is kept for small cells; larger ones are binned at a cost below the tolerance."""
    rng = np.random.default_rng(2)
    group, label = rng.integers(0, 2, 60_000), rng.integers(0, 2, 60_000)
    loss = rng.beta(1 + group, 4 - label)
    many = Population.from_losses(loss, label, sensitive_features=group)
    few = Population.from_losses(loss[:6000], label[:6000], sensitive_features=group[:6000])
    for population in (many, few):
        curve = certify_curve(population, [0.05, 0.1, 0.3, 0.6])
        assert np.all(curve.bound - curve.attained <= 1e-6)
        assert np.all(curve.bound >= curve.attained)


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_curve_is_its_certificates(shift: Any) -> None:
    population = Population.from_moments(P, E)
    rhos = [0.02, 0.1, 0.3]
    curve = certify_curve(population, rhos, shift=shift)
    assert list(curve.feasible) == [False, True, True]
    assert np.isnan(curve.bound[0])
    assert len(curve) == 3
    for certificate, rho in zip(curve, rhos[1:], strict=True):
        assert isinstance(certificate, Certificate)
        single = certify(population, rho, shift=shift)
        assert abs(certificate.bound - single.bound) <= 1e-6
        assert certificate.rho == rho


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("limits", [{}, {"group_skew": 0.1, "label_skew": 0.3}])
def test_below_the_nearest_distribution(shift: Any, limits: dict[str, Any]) -> None:
    population = Population.from_moments(P, E)
    with pytest.raises(InfeasibleError, match="nearest distribution with equal base rates") as caught:
        certify(population, 0.01, shift=shift, **limits)
    distance = caught.value.distance
    assert repr(distance) in str(caught.value)
    if not limits:
        assert distance == nearest_fair(population).distance
    at = certify(population, distance, shift=shift, **limits)
    assert at.gap <= 2e-5
    assert not certify_curve(population, [distance * (1 - 1e-9)], shift=shift, **limits).feasible[0]


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_largest_radius_keeps_the_threshold(shift: Any) -> None:
    population = Population.from_moments(P, E)
    for threshold in (0.16, 0.25, 0.4):
        rho = largest_certified_rho(population, threshold, shift=shift)
        assert certify(population, rho, shift=shift).bound <= threshold
        if rho < 1:
            assert certify(population, min(1.0, rho + 1e-4), shift=shift).attained > threshold - 1e-6
    assert largest_certified_rho(population, 1.0, shift=shift) == 1.0
    with pytest.raises(ThresholdError, match="larger threshold"):
        largest_certified_rho(population, 0.1, shift=shift)


def test_a_wide_tolerance_does_not_hide_a_radius() -> None:
    population = Population.from_moments(P, E)
    assert largest_certified_rho(population, 0.17, tol=0.06) > 0.08


@pytest.mark.filterwarnings("ignore::fairbound.errors.DataWarning")
def test_huge_tables_end() -> None:
    """A search over 30 labels cannot be tight, but it must be valid and end."""
    population = random_population(np.random.default_rng(3), 30, 30)
    certificate = certify(population, radius(population, 0.2), shift="sensitive")
    assert certificate.attained <= certificate.bound
    assert certificate.status is Status.LOOSE


def test_empty_cells() -> None:
    mass = np.array([[0.5, 0.1], [0.4, 0.0]])
    population = Population.from_moments(mass, np.full((2, 2), 0.1), groups=["a", "b"], labels=["no", "yes"])
    general = certify(population, 0.4)
    assert general.gap <= 1e-6
    assert any("'b', 'yes'" in sentence for sentence in general.assumptions)
    with pytest.raises(ValueError, match=r"no data in the cells \('b', 'yes'\)"):
        certify(population, 0.4, shift="sensitive")
    worst = certify(population, 0.4, shift="sensitive", empty_cells="ceiling")
    assert 0 <= worst.gap <= 1e-6
    assert worst.bound <= general.bound + 1e-9


def test_the_proof_has_the_shape_it_should() -> None:
    (leaf,) = certify(Population.from_moments(P, E), 0.3).proof.leaves
    assert isinstance(leaf, Fractional)
    proof = certify(Population.from_moments(P, E), 0.3, metric="group_loss", divergence="kl").proof
    assert isinstance(proof.leaves[0], Tilted)
    leaves = sum(split is None for split in proof.splits)
    assert leaves == len(proof.leaves) == len(proof.splits) - leaves + 1


def test_words() -> None:
    certificate = certify(Population.from_moments(P, E), 0.3, group_skew=0.2)
    assert repr(certificate).startswith("Certificate(bound=0.5")
    assert any("differ by at most 0.2" in sentence for sentence in certificate.assumptions)
    assert all(sentence.endswith(".") for sentence in certificate.assumptions)
    assert "3 radii" in repr(certify_curve(certificate.population, [0.1, 0.2, 0.3]))


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("axis", [0, 1])
def test_losses_that_do_not_differ_between_groups_or_labels(shape: tuple[int, int], axis: int) -> None:
    """As for a model that always predicts the same label: along one side the multipliers have no optimum."""
    rng = np.random.default_rng(7)
    mass = rng.dirichlet(np.full(shape[0] * shape[1], 5.0)).reshape(shape)
    mean = np.broadcast_to(np.eye(max(shape))[: shape[1 - axis], 0][(None, ...) if axis == 0 else (..., None)], shape)
    curve = certify_curve(Population.from_moments(mass, mean), [0.2, 0.3, 0.5], shift="sensitive")
    assert all(certificate.status is Status.TIGHT for certificate in curve)
    assert verify(curve.to_json()).verdict is Verdict.PROVED
