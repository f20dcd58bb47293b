"""Base rates that may differ: the bound is never below the truth, the attained value never above it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairbound import InfeasibleError, InputError, Population, certify, certify_curve, largest_certified_rho
from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import LEEWAY, raised
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_bounds import fractional_bound, leaf_totals
from fairbound.solve.limiting_pull import limiting_pull
from fairbound.solve.nearest import nearest_in
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.witness import Witness
from fairbound.verify.document import Fractional
from tests.fractional_leaves import kernel_bound_of_leaf, one_leaf, random_leaf
from tests.problems import E, P, random_limits, random_population, solver
from tests.rates_oracles import conic_rates, linear_support, random_rates_members, sensitive_grid, without_condition

SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (5, 2), (2, 5)]
SHIFTS: Any = ["general", "sensitive"]


def rates_of(population: Population, tolerance: float) -> BaseRates:
    return BaseRates(len(population.groups), MarginalSet(len(population.labels)), tolerance)


def posed(population: Population, shift: str, skew: float | None = None, support: str = "any") -> Problem:
    return problem_of(population, shift, support, "ceiling", skew, None)


def radius(population: Population, tolerance: float, excess: float, skew: float | None = None) -> float:
    """Return a radius that lies ``excess`` of the way from the nearest distribution in question to 1."""
    groups = MarginalSet(len(population.groups), skew)
    distance = nearest_in(population.mass, groups, rates_of(population, tolerance)).distance
    return min(1.0, distance + excess * (1 - distance))


# The set of base rates


@pytest.mark.parametrize("shape", [*SHAPES, (5, 5)])
@pytest.mark.parametrize("tolerance", [1e-3, 0.05, 0.3, 0.9, 1.0])
def test_support_function_agrees_with_a_linear_program(shape: tuple[int, int], tolerance: float) -> None:
    """Also where values are tied, and never below it."""
    rng = np.random.default_rng(3)
    rates = BaseRates(shape[0], MarginalSet(shape[1]), tolerance)
    values = rng.normal(size=(6, *shape)) * 10.0 ** rng.uniform(-3, 3, size=(6, 1, 1))
    values[4], values[5] = np.round(values[4]), rng.integers(0, 2, size=shape)
    found = rates.support(values)
    for value, bound in zip(values, found, strict=True):
        size = np.abs(value).max() + 1e-300
        truth = linear_support(value, tolerance)
        assert -1e-12 * size <= bound - truth <= 2e-9 * size


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), tolerance=st.sampled_from([0.0, 0.01, 0.2, 0.7, 1.0]))
def test_any_nu_bounds_the_support_function(seed: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    s, c = rng.integers(2, 6, size=2)
    rates = BaseRates(int(s), MarginalSet(int(c)), tolerance)
    value, nu = rng.normal(size=(s, c)), rng.normal(size=s) * 10.0 ** rng.uniform(-2, 2)
    bound = rates.support(value, nu)
    members = rates.inside(rng.dirichlet(np.full(c, 0.5), size=(50, s)))
    assert (members * value).sum(axis=(1, 2)).max() <= bound + 1e-12
    assert members.min() >= 0
    np.testing.assert_allclose(members.sum(axis=2), 1.0, atol=1e-14)
    assert np.ptp(members, axis=1).max() <= tolerance + 1e-15


def test_free_and_equal_rates_are_the_ends() -> None:
    value = np.array([[0.3, -1.0], [0.2, 4.0], [0.0, 0.1]])
    assert BaseRates(3, MarginalSet(2), 1.0).support(value) == pytest.approx(0.3 + 4.0 + 0.1, abs=1e-12)
    assert BaseRates(3, MarginalSet(2), 0.0).support(value) == pytest.approx(3.1, abs=1e-12)
    wide = 1.8 + LEEWAY * (3.1 - 0.5) / 2  # a label's share may exceed the other's by the leeway
    assert BaseRates(3, MarginalSet(2, 0.0), 0.0).support(value) == pytest.approx(wide, abs=1e-13)
    assert BaseRates(3, MarginalSet(2), 1e-7).support(value) == pytest.approx(3.1, abs=1e-6)


# Bounds


@pytest.mark.one_in(6)
@pytest.mark.parametrize("shape", [*SHAPES, (5, 5)])
@pytest.mark.parametrize("tolerance", [1e-3, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("skew", [None, 0.2])
def test_general_shifting_agrees_with_a_conic_solver(
    shape: tuple[int, int], tolerance: float, skew: float | None
) -> None:
    """Would fail if the bound came out 1e-6 too low, or the attained value as much too high."""
    rng = np.random.default_rng(sum(shape))
    for kind, excess in (("mean", 0.02), ("variance", 0.1), ("rows", 0.3)):
        population = random_population(rng, *shape, kind)
        rho = radius(population, tolerance, excess, skew)
        certificate = certify(population, rho, base_rate_tolerance=tolerance, group_skew=skew)
        truth = conic_rates(posed(population, "general", skew), rho, tolerance)
        assert certificate.bound >= truth - 2e-7
        assert certificate.attained <= truth + 2e-7
        assert certificate.gap <= 1e-6


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tolerance", [0.01, 0.05, 0.3])
def test_sensitive_shifting_agrees_with_a_grid(seed: int, tolerance: float) -> None:
    """Would fail if the bound came out 1e-6 too low anywhere."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 2, 2)
    rho = radius(population, tolerance, float(rng.choice([0.02, 0.1, 0.3, 0.6])))
    certificate = certify(population, rho, shift="sensitive", base_rate_tolerance=tolerance)
    truth = sensitive_grid(posed(population, "sensitive"), rho, tolerance)
    assert certificate.bound >= truth - 1e-9
    assert certificate.attained <= truth + 2e-6  # the grid itself ends there
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_without_a_condition_it_is_a_closed_form(shape: tuple[int, int], shift: Any) -> None:
    rng = np.random.default_rng(11)
    for excess in (0.01, 0.1, 0.3, 0.9, 1.0):
        population = random_population(rng, *shape, "rows" if shift == "general" else "mean")
        truth = without_condition(posed(population, shift), excess)
        free = certify(population, excess, shift=shift, fair=False)
        widest = certify(population, excess, shift=shift, base_rate_tolerance=1.0)
        assert free.bound == pytest.approx(truth, abs=1e-7)
        assert free.gap <= 1e-6
        assert widest.bound == pytest.approx(free.bound, abs=1e-7)


def test_without_a_condition_empty_cells_take_the_ceiling() -> None:
    mass = np.array([[0.5, 0.2], [0.3, 0.0]])
    population = Population.from_moments(mass, E, ceiling=2.0)
    for shift, options in (("general", {}), ("sensitive", {"empty_cells": "ceiling"})):
        certificate = certify(population, 0.2, shift=shift, fair=False, **options)  # type: ignore[arg-type]
        assert certificate.bound == pytest.approx(without_condition(posed(population, shift), 0.2), abs=1e-7)
        assert certificate.gap <= 1e-6
    with pytest.raises(InputError, match="no data in the cells"):
        certify(population, 0.2, shift="sensitive", fair=False)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_wider_tolerances_give_larger_bounds(shape: tuple[int, int], shift: Any) -> None:
    rng = np.random.default_rng(8)
    for _ in range(3):
        population = random_population(rng, *shape)
        plain = certify(population, radius(population, 1e-9, 0.1), shift=shift, tol=1e-5)
        same = certify(population, plain.rho, shift=shift, base_rate_tolerance=0.0, tol=1e-5)
        assert same.bound == plain.bound
        assert same.base_rate_tolerance is None
        found = [plain]
        for tolerance in (1e-4, 0.02, 0.1, 0.5, 1.0):
            found.append(certify(population, plain.rho, shift=shift, base_rate_tolerance=tolerance, tol=1e-5))
        found.append(certify(population, plain.rho, shift=shift, fair=False, tol=1e-5))
        for low, high in pairwise(found):
            assert high.bound >= low.attained
            assert high.attained >= low.attained - 1e-5
        assert found[1].bound <= plain.bound + 0.01


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-12, 1e-300])
def test_tiny_tolerances_are_as_good_as_none(tolerance: float, shift: Any) -> None:
    population = Population.from_moments(P, E)
    for rho in (0.0816, 0.1, 0.2, 0.5):
        near = certify(population, rho, shift=shift, base_rate_tolerance=tolerance)
        assert near.bound == pytest.approx(certify(population, rho, shift=shift).bound, abs=2e-6 + 20 * tolerance)
        assert near.gap <= 1e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    shift=st.sampled_from(SHIFTS),
    tolerance=st.sampled_from([0.01, 0.05, 0.3, 1.0]),
    skew=st.sampled_from([None, None, 0.1, 0.5]),
    excess=st.sampled_from([0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.6, 1.0]),
)
def test_no_random_member_exceeds_the_bound(
    seed: int, shift: Any, tolerance: float, skew: float | None, excess: float
) -> None:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["mean", "variance", "rows"]))
    population = random_population(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)), kind)
    rho = radius(population, tolerance, excess, skew)
    support = "observed" if kind == "rows" and rng.random() < 0.3 else "any"
    options: Any = {"group_skew": skew, "support": support, "tol": 1e-3, "budget": 60}
    certificate = certify(population, rho, shift=shift, base_rate_tolerance=tolerance, **options)
    problem, rates = posed(population, shift, skew, support), rates_of(population, tolerance)
    losses = random_rates_members(problem, rates, rho, rng, 150, certificate.witness.mass)
    assert max(losses, default=0.0) <= certificate.bound + 1e-12  # their own affinity is rounded
    assert certificate.attained <= certificate.bound
    check_witness(certificate.witness, problem, rho, tolerance)


def check_witness(witness: Witness, problem: Problem, rho: float, tolerance: float) -> None:
    """Re-evaluate a witness in 200-bit arithmetic: in question, inside the ball, with the claimed loss."""
    assert (witness.mass >= 0).all()
    np.testing.assert_allclose(witness.mass.sum(axis=1), witness.group_mass, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(witness.mass.sum(axis=0), witness.label_mass, rtol=1e-14, atol=1e-16)
    present = witness.mass[witness.group_mass > 0]
    assert np.ptp(present / present.sum(axis=1, keepdims=True), axis=0).max() <= tolerance + 1e-15
    assert problem.groups.skew is None or np.ptp(witness.group_mass) <= problem.groups.skew + 1e-15
    with flint.ctx.workprec(200):
        mass = [[exact(v) for v in row] for row in witness.mass]
        whole = sum((v for row in mass for v in row), flint.arb(0))
        overlap, loss = flint.arb(0), flint.arb(0)
        for s, y in np.ndindex(*witness.mass.shape):
            inside, rest = [exact(v) for v in witness.reweighting[s, y]], exact(witness.unseen[s, y])
            total = sum(inside, rest)
            for j, v in enumerate(inside):
                overlap += (exact(problem.lower.probability[s, y, j]) * mass[s][y] / whole * v / total).sqrt()
                loss += mass[s][y] / whole * v / total * exact(problem.lower.loss[s, y, j])
            loss += mass[s][y] / whole * rest / total * exact(problem.ceiling[s, y])
            if not problem.unseen and problem.mass[s, y] > 0:
                assert witness.unseen[s, y] == 0
        assert float(abs(whole - 1).abs_upper()) < 1e-14
        assert overlap > 1 - exact(rho) ** 2 - flint.arb(1e-12)
        assert float(loss.lower()) >= witness.loss
        assert float(loss.upper()) <= witness.loss + 1e-9


def exact(value: Any) -> Any:
    return flint.arb(flint.fmpq(*float(value).as_integer_ratio()))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tolerance", [0.02, 0.2])
@pytest.mark.parametrize(("shape", "tol"), [((2, 2), 1e-6), ((2, 5), 1e-6), ((3, 2), 1e-3), ((3, 3), 1e-3)])
def test_sensitive_shifting_is_tight(shape: tuple[int, int], tol: float, tolerance: float) -> None:
    rng = np.random.default_rng(21)
    for _ in range(4):
        population = random_population(rng, *shape)
        rhos = [radius(population, tolerance, excess) for excess in (1e-3, 0.02, 0.1, 0.3, 0.6, 0.9)]
        curve = certify_curve(population, rhos, shift="sensitive", base_rate_tolerance=tolerance, tol=tol)
        assert max(c.gap for c in curve) <= tol


@pytest.mark.parametrize("skew", [0.05, 0.3])
def test_limits_on_three_groups_are_tight_too(skew: float) -> None:
    """Pieces stick out of the limits here. Equal base rates and random members agree."""
    rng = np.random.default_rng(31)
    for _ in range(3):
        population = random_population(rng, 3, 2)
        rhos = [radius(population, 0.05, excess, skew) for excess in (0.02, 0.3, 0.6)]
        options: Any = {"shift": "sensitive", "group_skew": skew, "tol": 1e-3}
        for certificate in certify_curve(population, rhos, base_rate_tolerance=0.05, **options):
            assert certificate.gap <= 1e-3
            problem, rates = posed(population, "sensitive", skew), rates_of(population, 0.05)
            losses = random_rates_members(problem, rates, certificate.rho, rng, 200, certificate.witness.mass)
            assert max(losses, default=0.0) <= certificate.bound + 1e-12


@pytest.mark.parametrize("groups", [3, 4, 5])
def test_the_pull_of_limits_agrees_with_a_linear_program(groups: int) -> None:
    """Inside, across and outside of the limits; outside the bound may be as low as one likes."""
    rng = np.random.default_rng(groups)
    limits = MarginalSet(groups, 0.3)
    middle = rng.dirichlet(np.ones(groups), size=30)
    vertices = middle[:, None] + rng.choice([0.05, 0.3, 1.0], size=(30, 1, 1)) * (np.eye(groups) - middle[:, None])
    value = rng.normal(size=(30, groups)) * 10.0 ** rng.uniform(-3, 3, size=(30, 1))
    omega, mu = limiting_pull(limits, vertices, value)
    assert not mu.size
    bound = (value - (vertices @ omega[..., None])[..., 0]).max(axis=1) + limits.support(omega)
    own = np.eye(groups)
    pairs = np.array([own[i] - own[j] for i in range(groups) for j in range(groups) if i != j])
    empty = 0
    for corners, u, found in zip(vertices, value, bound, strict=True):
        limit = np.full(len(pairs), 0.3)
        truth = linprog(-u, pairs @ corners.T, limit, np.ones((1, groups)), np.ones(1), (0, None))
        if truth.status == 2:
            empty += 1
            assert found < u.max()
        else:
            assert -1e-9 <= (found + truth.fun) / np.abs(u).max() <= 1e-6
    assert 0 < empty < 25


def test_the_local_optimum_of_the_paper_is_no_certificate() -> None:
    """The first population of "Where we depart from the paper" (docs/theory.md): a local solver stops at 0.537."""
    mass = np.array([[0.63652, 0.13096], [0.00647, 0.22605]])
    mean = np.array([[0.72238, 0.14747], [0.28087, 0.73071]])
    certificate = certify(Population.from_moments(mass, mean), 0.5, shift="sensitive", base_rate_tolerance=0.001)
    assert certificate.bound >= 0.72238
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("losses", ["by label", "by group", "constant", "one cell", "crossed"])
def test_losses_with_exact_ties_are_tight_too(losses: str) -> None:
    mass = np.random.default_rng(11).dirichlet(np.full(6, 2.0)).reshape(2, 3)
    columns, rows = (np.arange(3) == 0).astype(float), (np.arange(2) == 0).astype(float)
    mean = {
        "by label": np.tile(columns, (2, 1)),
        "by group": np.tile(rows[:, None], (1, 3)),
        "constant": np.full((2, 3), 0.3),
        "one cell": rows[:, None] * columns,
        "crossed": np.abs(rows[:, None] - columns),
    }[losses]
    population = Population.from_moments(mass, mean)
    for asked in ({"base_rate_tolerance": 0.05}, {"fair": False}):
        for shift in SHIFTS:
            curve = certify_curve(population, np.linspace(0.15, 0.95, 5), shift=shift, **asked)
            assert max(c.gap for c in curve) <= 1e-6


def test_observed_support() -> None:
    population = random_population(np.random.default_rng(2), 2, 2, "rows")
    free = certify(population, 0.2, fair=False, support="observed")
    assert free.bound == pytest.approx(without_condition(posed(population, "general", None, "observed"), 0.2), abs=1e-7)
    near = certify(population, 0.2, base_rate_tolerance=0.05, support="observed")
    equal = certify(population, 0.2, support="observed")
    assert equal.attained <= near.bound <= free.bound + 1e-6
    assert near.gap <= 1e-6


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), shift=st.sampled_from(SHIFTS))
def test_any_multipliers_bound_a_piece(seed: int, shift: Any) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member.

    All signs of zeta and of ``base - loss`` occur, so that convex and concave terms do.
    """
    rng = np.random.default_rng(seed)
    s, c = (int(v) for v in rng.integers(2, 4, size=2))
    skew = 0.2 if rng.random() < 0.5 else None
    tolerance = float(rng.choice([0.05, 0.4, 1.0]))
    population = random_population(rng, s, c, str(rng.choice(["mean", "rows"])))
    problem, rates = posed(population, shift, skew), rates_of(population, tolerance)
    middle = rng.dirichlet(np.full(s, 3.0))
    vertices = middle + rng.choice([0.05, 0.3, 1.0]) * (np.eye(s) - middle)
    rho = 0.6
    losses = members_of_a_piece(problem, rates, rho, rng, vertices)
    for _ in range(10):
        leaves = random_leaf(rng, problem, rates, vertices)
        bound = fractional_bound(problem, rates, np.array([rho]), vertices[None], leaves)[0]
        assert np.isfinite(bound)
        assert max(losses, default=0.0) <= bound + 1e-12


def members_of_a_piece(
    problem: Problem, rates: BaseRates, rho: float, rng: np.random.Generator, vertices: Floats
) -> list[float]:
    """Return losses of random distributions in question whose group shares lie in a piece."""
    losses = []
    for _ in range(150):
        k = rng.dirichlet(np.full(len(vertices), 0.7)) @ vertices
        if problem.groups.skew is not None and np.ptp(k) > problem.groups.skew:
            continue
        own = problem.mass / problem.mass.sum(axis=1, keepdims=True)
        r = rates.inside(own + rng.uniform() * (rng.dirichlet(np.ones(own.shape[1]), size=len(k)) - own))
        mass = k[:, None] * r
        inside = problem.lower.probability / problem.mass[..., None]
        rest = rng.uniform(size=mass.shape) * rng.choice([0.0, 0.3]) * problem.unseen
        overlap = np.sqrt(problem.lower.probability * mass[..., None] * inside * (1 - rest)[..., None]).sum()
        if overlap >= 1 - rho**2:
            inner = (inside * problem.lower.loss).sum(axis=2) * (1 - rest) + rest * problem.ceiling
            losses.append(float((mass * inner).sum()))
    return losses


def test_rounding_is_outward_and_infeasible_multipliers_prove_nothing() -> None:
    """The floating-point bound is above the same formula in 200 bits, and by hardly anything."""
    problem, rates = posed(Population.from_moments(P, E), "sensitive"), BaseRates(2, MarginalSet(2), 0.05)
    rng = np.random.default_rng(3)
    vertices = np.array([[0.3, 0.7], [0.6, 0.4]])
    for _ in range(50):
        base = rng.uniform(-0.2, 0.8, size=2)
        zeta = (vertices[..., None] * (problem.ceiling - base[:, None])).max(axis=0) + rng.uniform(0.01, 1, size=(2, 2))
        nu, centre, lam = rng.normal(size=2), rng.uniform(0.1, 1, size=2), rng.uniform(0.1, 2)
        leaves = one_leaf(problem, zeta, base, centre, lam, nu=nu)
        bound = float(fractional_bound(problem, rates, np.array([0.3]), vertices[None], leaves)[0])
        with flint.ctx.workprec(200):
            true = leaf_value(problem, vertices, zeta, base, nu, centre, lam)
            assert float(true.upper()) <= bound
            assert float(true.lower()) >= bound - 1e-12
        low = one_leaf(problem, zeta - 2.0, base, centre, lam, nu=nu)
        assert fractional_bound(problem, rates, np.array([0.3]), vertices[None], low)[0] == np.inf


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    shift=st.sampled_from(SHIFTS),
    asked=st.sampled_from([{"base_rate_tolerance": 0.05}, {"base_rate_tolerance": 0.4}, {"fair": False}]),
    rows=st.booleans(),
)
def test_floats_bound_what_the_checker_says(seed: int, shift: Any, asked: dict[str, Any], rows: bool) -> None:
    """Rounding is outward, and by little where no term is close to its pole."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 3, 2, str(rng.choice(["mean", "variance", "rows"])))
    question = solver(population, shift=shift, **asked, **(random_limits(rng, "group", 3) if rows else {}))
    problem, rates = question.problem, rates_of(population, question.condition.largest_difference)
    rho = float(rng.uniform(0.3, 0.9))
    vertices = (problem.groups.floors + problem.groups.spread * np.eye(3))[None]
    near = random_leaf(rng, problem, rates, vertices[0])
    far = replace(near, zeta=near.zeta + 0.1)
    for leaves in (near, far):
        bound = float(fractional_bound(problem, rates, np.array([rho]), vertices, leaves)[0])
        exactly = kernel_bound_of_leaf(question, rho, "group", leaves)
        assert exactly <= bound
    size = sum(float(np.abs(part).sum()) for part in vars(far).values())
    total = float(leaf_totals(problem, vertices, far).max())
    assert bound - exactly <= 1e-12 * (1 + size + float(far.lam[0]) ** 2 * total)


def leaf_value(
    problem: Problem, vertices: Floats, zeta: Floats, base: Floats, nu: Floats, centre: Floats, lam: float
) -> Any:
    """The bound of form F, tolerance 0.05, rho = 0.3, one loss per cell."""
    worst = None
    for k in vertices:
        value = sum((exact(b) * exact(v) for b, v in zip(base, k, strict=True)), flint.arb(0))
        for s, y in np.ndindex(2, 2):
            p, depth = exact(problem.upper.probability[s, y, 0]), exact(base[s]) - exact(problem.upper.loss[s, y, 0])
            z, at, c = exact(zeta[s, y]), exact(k[s]), exact(centre[s])
            slope = z / (z + c * depth) ** 2
            straight = c / (z + c * depth) + (at - c) * slope
            value += exact(lam) ** 2 * p * (straight if z > 0 and depth > 0 else at / (z + at * depth))
        worst = value if worst is None else worst.max(value)
    over = [[exact(zeta[s, y]) - exact(nu[s]) for y in range(2)] for s in range(2)]
    together = (over[0][0] + over[1][0]).max(over[0][1] + over[1][1]).max(flint.arb(0))
    beyond = sum((v.max(flint.arb(0)) for row in over for v in row), flint.arb(0))
    level = exact(nu[0]) + exact(nu[1]) + together + (exact(0.05) + exact(LEEWAY)) * beyond
    apart = sum((exact(row.max()) for row in zeta), flint.arb(0))
    return level.min(apart) + worst - 2 * exact(lam) * (1 - exact(0.3) ** 2 - exact(LEEWAY))


def test_a_certificate_is_what_its_proof_gives() -> None:
    certificate = certify(Population.from_moments(P, E), 0.3, base_rate_tolerance=0.05)
    (leaf,) = certificate.proof.leaves
    assert isinstance(leaf, Fractional)
    problem, rates = posed(certificate.population, "general"), BaseRates(2, MarginalSet(2), 0.05)
    more = {name: np.array(getattr(leaf, name)) for name in ("nu", "omega")}
    zeta, base, centre = (np.array(part) for part in (leaf.zeta, leaf.base, leaf.centre))
    leaves = one_leaf(problem, zeta, base, centre, 0.5 * leaf.lam, **more)
    assert leaf.offset == [0.0, 0.0]
    root = np.eye(2)[None]
    assert fractional_bound(problem, rates, np.array([0.3]), root, leaves)[0] == certificate.bound
    wider = BaseRates(2, MarginalSet(2), 0.06)
    assert fractional_bound(problem, wider, np.array([0.3]), root, leaves)[0] > certificate.bound
    assert raised(np.array(certificate.bound), 1) > certificate.bound


#: "Reference values" of the theory page: tolerances 0.01, 0.05, 0.2 and no condition, at each rho.
REFERENCE: dict[str, dict[float, list[float]]] = {
    "general": {0.1: [0.214661, 0.230731, 0.253491, 0.253531], 0.4: [0.668664, 0.669686, 0.670736, 0.670736]},
    "sensitive": {0.1: [0.172451, 0.177808, 0.185213, 0.185242], 0.4: [0.324944, 0.324946, 0.324946, 0.324946]},
}


@pytest.mark.parametrize("shift", SHIFTS)
def test_reference_values(shift: Any) -> None:
    population = Population.from_moments(P, E)
    asked: list[Any] = [{"base_rate_tolerance": t} for t in (0.01, 0.05, 0.2)] + [{"fair": False}]
    for rho, values in REFERENCE[shift].items():
        for question, value in zip(asked, values, strict=True):
            assert certify(population, rho, shift=shift, **question).bound == pytest.approx(value, abs=1.6e-6)


# What is asked


def test_the_nearest_distribution_in_question() -> None:
    population = Population.from_moments(P, E)
    distances = [nearest_in(population.mass, MarginalSet(2), rates_of(population, t)).distance for t in (1e-6, 0.05)]
    assert distances[0] == pytest.approx(0.081490, abs=1e-5)
    assert 0.05 < distances[1] < distances[0]
    found = nearest_in(population.mass, MarginalSet(2), rates_of(population, 0.3))
    assert found.distance == 0.0
    np.testing.assert_allclose(found.group_mass[:, None] * found.rate, population.mass, atol=1e-15)
    with pytest.raises(InfeasibleError, match=r"with base rates within 0\.05 of each other is at") as caught:
        certify(population, 0.05, base_rate_tolerance=0.05)
    assert certify(population, caught.value.distance, base_rate_tolerance=0.05).bound > 0
    # With the leeway the radius is 1e-6, and the loss may grow by twice its deviation times that.
    alone = certify(population, 0.0, fair=False)
    assert alone.attained == pytest.approx(population.loss, abs=1e-9)
    assert alone.bound == pytest.approx(population.loss, abs=2e-6)
    with pytest.raises(InfeasibleError, match="the nearest distribution within the limits is at"):
        certify(population, 0.0, fair=False, group_skew=0.1)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_random_shares_are_nearer(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    population = random_population(rng, *shape)
    for tolerance, skew in ((0.05, None), (0.2, 0.1), (1.0, 0.1)):
        groups, rates = MarginalSet(shape[0], skew), rates_of(population, tolerance)
        found = nearest_in(population.mass, groups, rates)
        affinity = np.sqrt(population.mass * found.group_mass[:, None] * found.rate).sum()
        assert found.distance == pytest.approx(np.sqrt(max(0.0, 1 - affinity)), abs=2e-8)
        for scale in 10.0 ** -np.arange(6):
            k = groups.inside(found.group_mass + scale * rng.uniform(size=(300, shape[0])))
            r = rates.inside(found.rate + scale * rng.uniform(size=(300, *shape)))
            assert np.sqrt(population.mass * k[..., None] * r).sum(axis=(1, 2)).max() <= affinity + 1e-12


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"fair": 1}, "fair=1 must be True"),
        ({"base_rate_tolerance": 1.5}, "base_rate_tolerance=1.5"),
        ({"base_rate_tolerance": -0.1}, "base_rate_tolerance=-0.1"),
        ({"base_rate_tolerance": "a"}, "base_rate_tolerance='a'"),
        ({"base_rate_tolerance": 0.1, "fair": False}, "does not go with fair=False"),
        ({"base_rate_tolerance": 0.1, "label_skew": 0.2}, "label_skew=0.2 needs equal base rates"),
        ({"fair": False, "label_skew": 0.2}, "does not go with fair=False"),
    ],
)
def test_questions_that_cannot_be_asked(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        certify(Population.from_moments(P, E), 0.3, **asked)


@pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")
@pytest.mark.parametrize("shift", SHIFTS)
def test_samples(shift: Any) -> None:
    """The stand-in's bound is above that of the rows, and above the same with a narrower condition."""
    rng = np.random.default_rng(4)
    cell = rng.choice(4, size=2000, p=P.ravel())
    loss = rng.uniform(size=2000) < E.ravel()[cell]
    population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2, loss="zero_one")
    bounds = []
    for asked in ({}, {"base_rate_tolerance": 0.05}, {"fair": False}):
        known = certify(population, 0.2, shift=shift, **asked)
        sampled = certify(population, 0.2, shift=shift, confidence=0.9, **asked)
        assert sampled.bound > known.bound
        bounds.append(sampled.bound)
    assert bounds[0] <= bounds[1] + 1e-6
    assert bounds[1] <= bounds[2] + 1e-6


def test_the_largest_radius_shrinks_with_the_condition() -> None:
    population = Population.from_moments(P, E)
    found = [
        largest_certified_rho(population, 0.3, shift="sensitive"),
        largest_certified_rho(population, 0.3, shift="sensitive", base_rate_tolerance=0.05),
        largest_certified_rho(population, 0.3, shift="sensitive", fair=False),
    ]
    assert found[0] >= found[1] - 2e-6
    assert found[1] >= found[2] - 2e-6
    assert found[0] > found[2] + 1e-4
