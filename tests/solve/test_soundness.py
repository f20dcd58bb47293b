"""The bound is never below the truth, and the attained value never above it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbound import Population, certify, certify_curve
from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import LEEWAY
from fairbound.solve.leaf_bounds import general_bound, piece_bound
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.witness import Witness
from fairbound.verify.document import Fractional
from tests.oracles import conic_general, random_members, sensitive_at
from tests.problems import E, P, Question, questions, radius, random_population, shares, solver

SHIFTS: Any = st.sampled_from(["general", "sensitive"])


def posed(population: Population, shift: str, **limits: float) -> Problem:
    """Return the problem that certify solves."""
    return problem_of(population, shift, "any", "refuse", limits.get("group_skew"), limits.get("label_skew"))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(question=questions(), shift=SHIFTS, seed=st.integers(0, 2**32 - 1))
def test_no_random_member_exceeds_the_bound(question: Question, shift: Any, seed: int) -> None:
    certificate = certify(question.population, question.rho, shift=shift, tol=1e-3, budget=300, **question.limits)
    problem = posed(question.population, shift, **question.limits)
    near = certificate.witness.group_mass, certificate.witness.label_mass
    losses = random_members(problem, question.rho, np.random.default_rng(seed), 150, near)
    assert max(losses, default=0.0) <= certificate.bound + 1e-12  # their own affinity is rounded
    assert certificate.attained <= certificate.bound


def exact(value: Any) -> Any:
    return flint.fmpq(*float(value).as_integer_ratio())


def check_witness(witness: Witness, problem: Problem, rho: float) -> None:
    """Re-evaluate a witness in 200-bit arithmetic: a fair distribution, inside the ball, with the claimed loss."""
    with flint.ctx.workprec(200):
        k = [flint.arb(exact(v)) for v in witness.group_mass]
        r = [flint.arb(exact(v)) for v in witness.label_mass]
        sums = sum(k, flint.arb(0)), sum(r, flint.arb(0))
        overlap, loss = flint.arb(0), flint.arb(0)
        for s, y in np.ndindex(*witness.mass.shape):
            mass = k[s] / sums[0] * r[y] / sums[1]
            inside = [flint.arb(exact(v)) for v in witness.reweighting[s, y]]
            rest = flint.arb(exact(witness.unseen[s, y]))
            total = sum(inside, rest)
            if mass > 0:
                assert total > 0
            for j, v in enumerate(inside):
                overlap += (flint.arb(exact(problem.lower.probability[s, y, j])) * mass * v / total).sqrt()
                loss += mass * v / total * flint.arb(exact(problem.lower.loss[s, y, j]))
            loss += mass * rest / total * flint.arb(exact(problem.ceiling[s, y]))
            if not problem.unseen and problem.mass[s, y] > 0:
                assert witness.unseen[s, y] == 0
        assert float(abs(sums[0] - 1).abs_upper()) < 1e-14
        assert float(abs(sums[1] - 1).abs_upper()) < 1e-14
        # 1e-12: class probabilities are rounded themselves, and at the nearest distribution nothing is left
        assert overlap > 1 - flint.arb(exact(rho)) ** 2 - flint.arb(1e-12)
        assert float(loss.lower()) >= witness.loss
        assert float(loss.upper()) <= witness.loss + 1e-9
    for share, limits in ((witness.group_mass, problem.groups), (witness.label_mass, problem.labels)):
        assert (share >= 0).all()
        assert limits.skew is None or np.ptp(share) <= limits.skew + 1e-15
    np.testing.assert_allclose(witness.mass, np.outer(witness.group_mass, witness.label_mass), rtol=1e-15)
    present = witness.mass[witness.group_mass > 0]
    base_rates = present / present.sum(axis=1, keepdims=True)
    assert np.ptp(base_rates, axis=0).max() < 1e-12


@settings(max_examples=60, deadline=None, derandomize=True)
@given(question=questions(), shift=SHIFTS)
def test_the_witness_is_fair_and_inside_and_attains(question: Question, shift: Any) -> None:
    certificate = certify(question.population, question.rho, shift=shift, tol=1e-3, budget=300, **question.limits)
    assert certificate.attained == certificate.witness.loss
    check_witness(certificate.witness, posed(question.population, shift, **question.limits), question.rho)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(question=questions(most=5))
def test_general_shifting_agrees_with_a_conic_solver(question: Question) -> None:
    """Would fail if the bound came out 1e-6 too low, or the attained value as much too high."""
    if question.rho < radius(question.population, 1e-3, **question.limits):
        return  # next to infeasible the conic solver itself is not accurate
    certificate = certify(question.population, question.rho, **question.limits)
    truth = conic_general(posed(question.population, "general", **question.limits), question.rho)
    assert certificate.bound >= truth - 2e-7
    assert certificate.attained <= truth + 2e-7
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_sensitive_shifting_agrees_with_a_grid_of_exact_values(seed: int) -> None:
    """Would fail if the bound came out 1e-6 too low anywhere."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, int(rng.integers(2, 6)), 2)
    rho = radius(population, float(rng.choice([0.01, 0.1, 0.3])))
    certificate = certify(population, rho, shift="sensitive")
    problem = posed(population, "sensitive")
    best = -np.inf
    low, high = 0.0, 1.0
    for _ in range(4):  # the grid is refined around its best point
        grid = np.linspace(low, high, 200)
        values = [sensitive_at(problem, rho, r) for r in shares(grid)]
        best = max(best, *values)
        middle, step = grid[int(np.argmax(values))], grid[1] - grid[0]
        low, high = max(0.0, middle - 2 * step), min(1.0, middle + 2 * step)
    assert certificate.bound >= best - 1e-9
    assert certificate.attained <= best + 1e-7
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_three_and_four_labels_against_random_label_shares(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    size = 3 + seed % 2
    population = random_population(rng, size, size)
    rho = radius(population, 0.15)
    certificate = certify(population, rho, shift="sensitive", tol=1e-3)
    problem = posed(population, "sensitive")
    near = certificate.witness.label_mass
    spots = [near + 10.0 ** -rng.uniform(0, 4) * (rng.dirichlet(np.ones(size)) - near) for _ in range(300)]
    assert max(sensitive_at(problem, rho, np.maximum(r, 0)) for r in spots) <= certificate.bound + 1e-9
    assert certificate.gap <= 1e-3


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), skew=st.sampled_from([None, 0.0, 0.1, 0.4, 1.0]))
def test_any_multipliers_bound_general_shifting(seed: int, skew: float | None) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 3, 2, str(rng.choice(["mean", "variance", "rows"])))
    problem = problem_of(population, "general", "any", "refuse", skew, skew)
    rho = 0.5
    phi = 10.0 ** rng.uniform(-3, 2, size=(1, 3, 2))
    share = rng.dirichlet(np.ones(2))[None]
    bound = general_bound(problem, np.array([rho]), phi, share)[0]
    assert max(random_members(problem, rho, rng, 100), default=0.0) <= bound + 1e-12


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), skew=st.sampled_from([None, 0.0, 0.1, 0.4, 1.0]))
def test_any_multipliers_bound_a_piece(seed: int, skew: float | None) -> None:
    rng = np.random.default_rng(seed)
    population = random_population(rng, 2, 3)
    problem = problem_of(population, "sensitive", "any", "refuse", skew, skew)
    rho = 0.6
    w = problem.ceiling.max() + 10.0 ** rng.uniform(-2, 1, size=(1, 2, 3))
    centre, omega = rng.dirichlet(np.ones(3))[None], rng.normal(size=(1, 3)) * rng.choice([0.0, 1.0])
    bound = piece_bound(problem, np.array([rho]), np.eye(3)[None], w, centre, omega)[0]
    assert max(random_members(problem, rho, rng, 100), default=0.0) <= bound + 1e-12


def test_rounding_is_outward() -> None:
    """The floating-point bound is above the same formula in 200 bits, and by hardly anything."""
    population = Population.from_moments(P, E)
    problem = posed(population, "general")
    rng = np.random.default_rng(3)
    for _ in range(50):
        phi, share = rng.uniform(size=(1, 2, 2)), rng.dirichlet(np.ones(2))[None]
        rho = float(rng.uniform(0.1, 0.9))
        bound = float(general_bound(problem, np.array([rho]), phi, share)[0])
        with flint.ctx.workprec(200):
            true = tangent_bound(P, E, phi[0], share[0], rho)
            assert float(true.upper()) <= bound
            assert float(true.lower()) >= bound - 1e-13


def tangent_bound(mass: Floats, mean: Floats, phi: Floats, share: Floats, rho: float) -> Any:
    """The bound of section 3 of the theory page for 0-1 loss and whole simplices."""
    total = sum((exact(v) for v in mass.flat), flint.fmpq(0))
    intercept, slopes, levels = flint.arb(0), [flint.arb(0), flint.arb(0)], [flint.arb(0), flint.arb(0)]
    for s, y in np.ndindex(2, 2):
        p, e, r = exact(mass[s, y]) / total, exact(mean[s, y]), exact(share[y])
        u = exact(phi[s, y]) / r
        intercept += flint.arb(p * (1 - e) / (1 + u) ** 2)
        slopes[y] += flint.arb(p * u / r * ((1 - e) / (1 + u) ** 2 + e / u**2))
        levels[s] += flint.arb(exact(phi[s, y]))
    top = levels[0].max(levels[1])
    return 1 + top - (1 - flint.arb(exact(rho)) ** 2 - exact(LEEWAY)) ** 2 / (intercept + slopes[0].max(slopes[1]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    value=st.lists(st.floats(-100, 100), min_size=2, max_size=6),
    skew=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_support_function_of_limited_shares(value: list[float], skew: float, seed: int) -> None:
    """It is above every admissible share's product, and attained by one of the vertices."""
    limits = MarginalSet(len(value), skew)
    vector = np.array(value)
    support = float(limits.support(vector))
    draws = limits.inside(np.random.default_rng(seed).dirichlet(np.full(len(value), 0.5), size=50))
    assert (draws @ vector).max() <= support + 1e-12 * (1 + np.abs(vector).max())
    order = np.argsort(-vector)
    vertices = []
    for raised in range(1, len(value) + 1):
        floor = max(0.0, (1 - raised * skew) / len(value))
        share = np.full(len(value), floor)
        left = 1 - floor * len(value)
        for i in order[:raised]:
            share[i] += min(skew, left)
            left -= min(skew, left)
        if left < 1e-12:
            vertices.append(share @ vector)
    vertices.append(vector.mean())
    assert support <= max(vertices) + 1e-9 * (1 + np.abs(vector).max())


def test_a_lowered_multiplier_proves_nothing() -> None:
    """Below a ceiling weak duality does not hold: such a piece must not be bounded."""
    problem = posed(Population.from_moments(P, E), "sensitive")
    w = np.full((1, 2, 2), 0.44)  # one cell's mean loss is 0.45
    bound = piece_bound(problem, np.array([0.3]), np.eye(2)[None], w, np.array([[0.5, 0.5]]), np.zeros((1, 2)))
    assert bound[0] == np.inf


def test_a_certificate_is_what_its_proof_gives() -> None:
    certificate = certify(Population.from_moments(P, E), 0.3)
    (leaf,) = certificate.proof.leaves
    assert isinstance(leaf, Fractional)
    problem = posed(certificate.population, "general")
    phi, share = np.array([leaf.zeta]), np.array([leaf.centre])
    again = general_bound(problem, np.array([0.3]), phi, share)
    assert again[0] == pytest.approx(certificate.bound, abs=1e-13)
    lower = replace(problem, upper=replace(problem.upper, loss=problem.upper.loss * 0.99))
    assert general_bound(lower, np.array([0.3]), phi, share)[0] < certificate.bound


def test_question_is_validated_once() -> None:
    with pytest.raises(ValueError, match="shift='typo'"):
        solver(
            Population.from_moments(P, E),
            shift="typo",
            group_skew=None,
            label_skew=None,
            support="any",
            empty_cells="refuse",
            tol=1e-6,
            budget=10,
        )


@pytest.mark.parametrize("losses", ["by label", "by group", "constant", "one cell", "crossed"])
@pytest.mark.parametrize("shape", [(2, 2), (5, 2), (2, 4)])
def test_losses_with_exact_ties_are_tight_too(losses: str, shape: tuple[int, int]) -> None:
    """As for a model that always predicts the same label: losses that are equal in all groups, or in all labels."""
    rng = np.random.default_rng(11)
    mass = rng.dirichlet(np.full(shape[0] * shape[1], 2.0)).reshape(shape)
    columns, rows = (np.arange(shape[1]) == 0).astype(float), (np.arange(shape[0]) == 0).astype(float)
    mean = {
        "by label": np.tile(columns, (shape[0], 1)),
        "by group": np.tile(rows[:, None], (1, shape[1])),
        "constant": np.full(shape, 0.3),
        "one cell": rows[:, None] * columns,
        "crossed": np.abs(rows[:, None] - columns),
    }[losses]
    curve = certify_curve(Population.from_moments(mass, mean), np.linspace(0.1, 0.9, 9), shift="sensitive")
    assert max(certificate.gap for certificate in curve) <= 1e-6
