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
from fairbound.arithmetic.rounding import LEEWAY, UNIT, least_affinity
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional import solve_fractional
from fairbound.solve.fractional_bounds import fractional_bound, leaf_totals
from fairbound.solve.leaf_bounds import piece_bound
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.whole_leaf import whole_leaves
from fairbound.solve.witness import Witness
from fairbound.verify.document import Fractional
from tests.fractional_leaves import kernel_bound_of_leaf, moved, one_leaf, random_leaf, whole
from tests.oracles import conic_general, random_members, sensitive_at
from tests.problems import E, P, Question, questions, radius, random_limits, random_population, shares, solver

SHIFTS: Any = st.sampled_from(["general", "sensitive"])
AXES: list[Any] = ["group", "label"]

#: What makes feasible multipliers useless: below a ceiling, negative, without a tangent, or too large to compute with.
UNUSABLE = {"zeta": -1.0, "base": -0.5, "offset": -0.5, "lam": -2.0, "centre": -0.5, "omega": 1e70, "nu": np.nan}


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


@pytest.mark.one_in(3)
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


def sides(problem: Problem) -> list[tuple[Problem, BaseRates]]:
    """Return the problem with the shares of either side searched: these stand in the place of the groups'."""
    turned = problem.transposed
    return [(one, BaseRates(one.groups.size, one.labels, 0.0)) for one in (problem, turned)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), skew=st.sampled_from([None, 0.0, 0.1, 0.4, 1.0]), shift=SHIFTS)
def test_any_multipliers_bound_all_shares(seed: int, skew: float | None, shift: Any) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 3, 2, str(rng.choice(["mean", "variance", "rows"])))
    problem = problem_of(population, shift, "any", "refuse", skew, skew)
    rho = 0.5
    worst = max(random_members(problem, rho, rng, 100), default=0.0)
    for side, rates in sides(problem):
        vertices = whole(side)
        for _ in range(20):
            leaves = random_leaf(rng, side, rates, vertices[0])
            bound = fractional_bound(side, rates, np.array([rho]), vertices, leaves)[0]
            assert np.isfinite(bound)
            assert worst <= bound + 1e-12


@settings(max_examples=40, deadline=None, derandomize=True)
@given(question=questions(most=3), shift=SHIFTS, seed=st.integers(0, 2**32 - 1))
def test_multipliers_near_the_best_ones_bound_all_shares(question: Question, shift: Any, seed: int) -> None:
    """Of the two sides and of both shifts; general shifting is compared with a conic solver."""
    rng = np.random.default_rng(seed)
    rho = np.array([question.rho])
    problem = posed(question.population, shift, **question.limits)
    certificate = certify(question.population, question.rho, shift=shift, tol=1e-3, budget=30, **question.limits)
    worst = certificate.attained
    if shift == "general" and question.rho >= radius(question.population, 1e-3, **question.limits):
        worst = max(worst, conic_general(problem, question.rho) - 2e-7)
    finite = 0
    for side, rates in sides(problem):
        found = solve_fractional(side, rates, least_affinity(rho), 1e-8, moving=not side.one_convex_program)
        leaves, first = whole_leaves(side, rates, rho, found)
        assert first[0] >= worst
        for _ in range(30):
            bound = fractional_bound(side, rates, rho, whole(side), moved(rng, leaves))[0]
            assert bound >= worst
            finite += bool(np.isfinite(bound))
    assert finite


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), shift=SHIFTS)
def test_floats_bound_what_the_checker_says(seed: int, shift: Any) -> None:
    """Rounding is outward, and by little where no term is close to its pole."""
    rng = np.random.default_rng(seed)
    limits = random_limits(rng, "group", 3) | random_limits(rng, "label", 2)
    population = random_population(rng, 3, 2, str(rng.choice(["mean", "variance", "rows"])))
    question = solver(population, shift=shift, **limits)
    rho = float(rng.uniform(0.3, 0.9))
    for (side, rates), axis in zip(sides(question.problem), AXES, strict=True):
        vertices = whole(side)
        near = random_leaf(rng, side, rates, vertices[0])
        far = replace(near, zeta=near.zeta + 0.1 * side.scale)
        for leaves in (near, far):
            bound = float(fractional_bound(side, rates, np.array([rho]), vertices, leaves)[0])
            exactly = kernel_bound_of_leaf(question, rho, axis, leaves)
            assert exactly <= bound
        size = np.abs(far.base).max() + np.abs(far.omega).max() + np.abs(far.zeta).sum()
        size += far.group_mu.sum() + far.label_mu.sum()
        total = float(leaf_totals(side, vertices, far).max())
        assert bound - exactly <= 1e-12 * (1 + size + float(far.lam[0]) ** 2 * total)


@pytest.mark.parametrize("chunk", range(4))
def test_rounding_is_outward_where_tops_almost_touch_the_values(chunk: int) -> None:
    """Of a top that is the sum of two numbers, the distance from a value may be nothing but rounding."""
    finite = 0
    for seed in range(100):
        rng = np.random.default_rng([chunk, seed])
        question = solver(random_population(rng, 2, 2), shift="sensitive")
        side, rates = sides(question.problem)[0]
        cell = tuple(rng.integers(0, 2, size=2))
        base, offset = rng.uniform(-1, 1, size=2), rng.normal(size=2)
        offset[cell[1]] = side.ceiling[cell] - base[cell[0]] + UNIT * rng.choice([1, 4, 64]) * rng.integers(-2, 8)
        if seed % 3 == 0:
            offset, base[cell[0]] = np.zeros(2), np.nextafter(side.ceiling[cell], 2.0)
        zeta = 1.01 * np.maximum(side.ceiling - base[:, None] - offset, 0.0) + 0.1
        zeta[cell] = UNIT * rng.choice([0.0, 1.0, 4.0, 1000.0]) * rng.uniform()
        lam = 10.0 ** rng.uniform(-8, -6)
        leaves = one_leaf(side, zeta, base, rng.uniform(0.01, 1, size=2), lam, offset=offset)
        bound = fractional_bound(side, rates, np.array([0.5]), whole(side), leaves)[0]
        if np.isfinite(bound):
            finite += 1
            assert kernel_bound_of_leaf(question, 0.5, "group", leaves) <= bound
    assert finite >= 20


def general_leaf(problem: Problem, phi: Floats, share: Floats, rho: float) -> float:
    """Bound general shifting by multipliers of form F, tops at the ceiling and the best lam, label shares searched."""
    side, rates = sides(problem)[1]
    base = np.full(len(share), problem.ceiling.max())
    leaves = one_leaf(side, phi.T, base, share, 1.0)
    lam = least_affinity(rho) / leaf_totals(side, whole(side), leaves).max(axis=1)
    return float(fractional_bound(side, rates, np.array([rho]), whole(side), replace(leaves, lam=lam))[0])


def test_rounding_is_outward() -> None:
    """The floating-point bound is above the same formula in 200 bits, and by hardly anything."""
    population = Population.from_moments(P, E)
    problem = posed(population, "general")
    rng = np.random.default_rng(3)
    for _ in range(50):
        phi, share = rng.uniform(size=(2, 2)), rng.dirichlet(np.ones(2))
        rho = float(rng.uniform(0.1, 0.9))
        bound = general_leaf(problem, phi, share, rho)
        with flint.ctx.workprec(200):
            true = tangent_bound(P, E, phi, share, rho)
            assert float(true.upper()) <= bound
            assert float(true.lower()) >= bound - 1e-13


def tangent_bound(mass: Floats, mean: Floats, phi: Floats, share: Floats, rho: float) -> Any:
    """The bound of "One leaf" (docs/theory.md) for 0-1 loss and whole simplices."""
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
    rho = np.array([0.3])
    for shift in ("general", "sensitive"):
        for side, rates in sides(posed(Population.from_moments(P, E), shift)):
            leaves = one_leaf(side, np.full((2, 2), 0.1), side.ceiling.max(axis=1), np.full(2, 0.5), 1.0)
            assert np.isfinite(fractional_bound(side, rates, rho, whole(side), leaves)[0])
            for name, change in UNUSABLE.items():
                changed = replace(leaves, **{name: getattr(leaves, name) + change})
                assert fractional_bound(side, rates, rho, whole(side), changed)[0] == np.inf, name
            hollow = replace(leaves, offset=leaves.offset + 0.01)
            apart = BaseRates(2, MarginalSet(2), 0.1)
            assert fractional_bound(side, apart, rho, whole(side), hollow)[0] == np.inf
    problem = posed(Population.from_moments(P, E), "sensitive")
    w = np.full((1, 2, 2), 0.44)  # one cell's mean loss is 0.45
    bound = piece_bound(problem, np.array([0.3]), np.eye(2)[None], w, np.array([[0.5, 0.5]]), np.zeros((1, 2)))
    assert bound[0] == np.inf


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_a_certificate_is_what_its_proof_gives(shift: Any) -> None:
    certificate = certify(Population.from_moments(P, E), 0.3, shift=shift)
    proof = certificate.proof
    (leaf,) = proof.leaves
    assert isinstance(leaf, Fractional)
    assert proof.axis != "part"
    side, rates = sides(posed(certificate.population, shift))[AXES.index(proof.axis)]
    zeta = np.array(leaf.zeta) if proof.axis == "group" else np.array(leaf.zeta).T
    parts = {name: np.array(getattr(leaf, name)) for name in ("base", "centre", "omega", "offset")}
    leaves = one_leaf(side, zeta, parts.pop("base"), parts.pop("centre"), 0.5 * leaf.lam, **parts)
    rho = np.array([0.3])
    assert fractional_bound(side, rates, rho, whole(side), leaves)[0] == certificate.bound
    atoms = replace(side.upper, loss=side.upper.loss * 0.99)
    lower = replace(side, upper=atoms, lower=atoms)
    assert fractional_bound(lower, rates, rho, whole(side), leaves)[0] < certificate.bound


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
