"""Linear limits on shares: sound, tight, and said as the user did."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fairbound import (
    Certificate,
    InfeasibleError,
    InputError,
    Population,
    certify,
    certify_curve,
    largest_certified_rho,
    nearest_fair,
    verify,
)
from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import LEEWAY
from fairbound.problem.limits import Limits, read_limits
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_bounds import fractional_bound
from fairbound.solve.interior import find_interior
from fairbound.solve.leaf_bounds import piece_bound
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.shares import MarginalSet
from tests.fractional_leaves import moved, random_leaf, whole
from tests.oracles import conic_general, random_members, sensitive_within
from tests.problems import E, P, radius, random_limits, random_population, solver

REFERENCE = Population.from_moments(P, E, groups=["Female", "Male"])


def both(rng: np.random.Generator, shape: tuple[int, int]) -> dict[str, Any]:
    """Draw limits on both sides."""
    return {**random_limits(rng, "group", shape[0]), **random_limits(rng, "label", shape[1])}


def respects(shares: MarginalSet, share: Floats) -> None:
    """Check shares against the limits, one by one."""
    assert (share >= 0).all()
    assert share.sum() == pytest.approx(1.0, abs=1e-15)
    assert shares.skew is None or np.ptp(share) <= shares.skew + 1e-14
    if shares.limits is not None:
        for row, most in zip(shares.limits.rows, shares.limits.most, strict=True):
            assert np.dot(row, share) <= most + 1e-14


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(40))
def test_general_shifting_agrees_with_a_conic_solver(seed: int) -> None:
    """Would fail if the bound came out 1e-6 too low, or the attained value as much too high."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    population = random_population(rng, *shape, str(rng.choice(["mean", "variance", "rows"])))
    limits = both(rng, shape)
    rho = radius(population, float(rng.choice([1e-3, 0.02, 0.1, 0.3, 0.6])), **limits)
    certificate = certify(population, rho, **limits)
    problem = solver(population, **limits).problem
    truth = conic_general(problem, rho)
    assert certificate.bound >= truth - 2e-7
    assert certificate.attained <= truth + 2e-7
    assert certificate.gap <= 1e-6
    respects(problem.groups, certificate.witness.group_mass)
    respects(problem.labels, certificate.witness.label_mass)


def refined(problem: Problem, rho: float) -> float:
    """Return the largest loss over group shares of two groups, on a grid that is refined around its best points."""
    low, high = problem.groups.floors[0], 1 - problem.groups.floors[1]
    best, ends = -np.inf, [(low, high)]
    for _ in range(6):
        found = []
        for start, end in ends:
            grid = np.linspace(start, end, 17)
            values = [sensitive_within(problem, rho, np.array([k, 1 - k])) for k in grid]
            found += [(value, k, grid[1] - grid[0]) for value, k in zip(values, grid, strict=True)]
        found.sort(key=lambda point: -point[0])
        best = max(best, found[0][0])
        ends = [(max(low, k - 1.5 * step), min(high, k + 1.5 * step)) for _, k, step in found[:2]]
    return best


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(24))
def test_sensitive_shifting_agrees_with_a_grid(seed: int) -> None:
    """Two groups, two to four labels, limits on both sides: would fail if the bound came out 1e-6 too low."""
    rng = np.random.default_rng(500 + seed)
    shape = 2, 2 + seed % 3
    population = random_population(rng, *shape)
    limits = both(rng, shape)
    rho = radius(population, float(rng.choice([0.02, 0.1, 0.3])), **limits)
    certificate = certify(population, rho, shift="sensitive", **limits)
    problem = solver(population, shift="sensitive", **limits).problem
    truth = refined(problem, rho)
    assert certificate.bound >= truth - 1e-7
    assert certificate.attained <= truth + 1e-6  # the grid is no finer
    assert certificate.gap <= 1e-6
    respects(problem.groups, certificate.witness.group_mass)
    respects(problem.labels, certificate.witness.label_mass)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("seed", "shift"), list(product(range(15), ["general", "sensitive"])))
def test_no_random_member_exceeds_the_bound(seed: int, shift: Any) -> None:
    rng = np.random.default_rng(900 + seed)
    shape = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    population = random_population(rng, *shape, str(rng.choice(["mean", "rows"])))
    limits = both(rng, shape)
    rho = radius(population, float(rng.choice([0.0, 1e-6, 0.05, 0.2, 1.0])), **limits)
    certificate = certify(population, rho, shift=shift, tol=1e-3, budget=100, **limits)
    problem = solver(population, shift=shift, **limits).problem
    near = certificate.witness.group_mass, certificate.witness.label_mass
    losses = random_members(problem, rho, rng, 100, near)
    assert max(losses, default=0.0) <= certificate.bound + 1e-12
    assert certificate.attained <= certificate.bound


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(40))
def test_any_multipliers_are_valid(seed: int) -> None:
    """Weak duality: multipliers that no optimiser has seen still give a bound above every member."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 3, 3)
    limits = both(rng, (3, 3))
    rho = 0.6
    general, sensitive = (solver(population, shift=shift, **limits).problem for shift in ("general", "sensitive"))
    for problem in (general, sensitive):
        worst = max(random_members(problem, rho, rng, 60), default=0.0)
        for side in (problem, problem.transposed):
            check_leaves(rng, side, rho, worst)
    mus = [10.0 ** rng.uniform(-3, 1, size=(1, side.multipliers)) for side in (general.groups, general.labels)]
    share = rng.dirichlet(np.ones(3))[None]
    w = sensitive.ceiling.max() + 10.0 ** rng.uniform(-2, 1, size=(1, 3, 3))
    corners = (sensitive.labels.floors + sensitive.labels.spread * np.eye(3))[None]
    bound = piece_bound(sensitive, np.array([rho]), corners, w, share, rng.normal(size=(1, 3)), *mus)[0]
    assert worst <= bound + 1e-12
    for at, mu in enumerate(mus):
        if mu.size:
            mus[at] = -mu
            assert piece_bound(sensitive, np.array([rho]), corners, w, share, share, *mus)[0] == np.inf
            mus[at] = mu


def check_leaves(rng: np.random.Generator, side: Problem, rho: float, worst: float) -> None:
    """Random leaves of form F bound what is attained; with a negative multiplier of a limit they prove nothing."""
    rates, vertices, at = BaseRates(side.groups.size, side.labels, 0.0), whole(side), np.array([rho])
    leaves = random_leaf(rng, side, rates, vertices[0])
    assert np.isfinite(fractional_bound(side, rates, at, vertices, leaves)[0])
    for _ in range(20):
        assert worst <= fractional_bound(side, rates, at, vertices, leaves)[0] + 1e-12
        leaves = moved(rng, random_leaf(rng, side, rates, vertices[0]))
    for name in ("group_mu", "label_mu"):
        mu = getattr(leaves, name)
        if mu.size:
            assert fractional_bound(side, rates, at, vertices, replace(leaves, **{name: -mu - 1e-9}))[0] == np.inf


@pytest.mark.parametrize("seed", range(60))
def test_support_function(seed: int) -> None:
    """Against a linear program: the dual's multipliers attain it, any others stay above."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    drawn = random_limits(rng, "group", size)
    limits = read_limits(
        "group", range(size), *(drawn.get(key) for key in ("min_group_mass", "group_limits", "group_rows"))
    )
    shares = MarginalSet(size, drawn.get("group_skew"), limits)
    matrix = np.zeros((0, size)) if limits is None else limits.matrix
    right = np.zeros(0) if limits is None else limits.right
    pairs = np.array([np.eye(size)[i] - np.eye(size)[j] for i in range(size) for j in range(size) if i != j])
    if shares.skew is not None:
        matrix, right = np.vstack([matrix, pairs]), np.append(right, np.full(len(pairs), shares.skew))
    for _ in range(5):
        value = rng.normal(size=size) * rng.choice([0.1, 1.0, 100.0])
        program = linprog(
            -value, A_ub=matrix, b_ub=right, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=(0.0, None), method="highs"
        )
        mu, truth = np.maximum(-program.ineqlin.marginals[: shares.multipliers], 0.0), -float(program.fun or 0.0)
        assert float(shares.support(value, mu)) == pytest.approx(truth, abs=1e-6)
        assert float(shares.support(value, mu)) >= truth - 1e-9 * np.abs(value).max()
        for size_of_mu in (0.01, 1.0, 100.0):
            other = rng.exponential(size=shares.multipliers) * size_of_mu
            assert float(shares.support(value, other)) >= truth - 1e-9 * np.abs(value).max()


@pytest.mark.parametrize("seed", range(20))
def test_boxes_are_a_knapsack(seed: int) -> None:
    """With a range for each share the maximum fills the most valuable shares first; the level at which the filling
    ends gives the multipliers."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    inside = rng.dirichlet(np.ones(size))
    low, high = inside * rng.uniform(size=size), inside + (1 - inside) * rng.uniform(size=size)
    limits = read_limits("label", range(size), None, {i: (low[i], high[i]) for i in range(size)}, None)
    assert limits is not None
    low, high = low - LEEWAY, high + LEEWAY
    value = rng.normal(size=size)
    share, left, level = low.copy(), 1 - low.sum(), 0.0
    for i in np.argsort(-value):
        filled = min(high[i] - low[i], left)
        share[i] += filled
        left -= filled
        if filled > 0:
            level = value[i]
    mu = np.concatenate([np.maximum(level - value, 0.0), np.maximum(value - level, 0.0)])
    assert float(MarginalSet(size, None, limits).support(value, mu)) == pytest.approx(share @ value, abs=1e-13)


def test_rounding_is_outward() -> None:
    """The float support function lies above the exact one, and by hardly anything."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        matrix, most = rng.normal(size=(4, 5)), rng.normal(size=4)
        shares = MarginalSet(5, None, Limits(tuple(map(tuple, matrix.tolist())), tuple(most.tolist())))
        value, mu = rng.normal(size=5), rng.exponential(size=4) * 10.0 ** rng.uniform(-3, 3)
        moved = [
            Fraction(v) - sum(Fraction(m) * Fraction(a) for m, a in zip(mu.tolist(), column, strict=True))
            for v, column in zip(value.tolist(), matrix.T.tolist(), strict=True)
        ]
        wide = [
            Fraction(b) + Fraction(LEEWAY) * Fraction(max(map(abs, row))) for b, row in zip(most, matrix, strict=True)
        ]
        exact = max(moved) + sum(Fraction(m) * b for m, b in zip(mu.tolist(), wide, strict=True))
        found = float(shares.support(value, mu))
        assert Fraction(found) >= exact
        assert found - float(exact) <= 1e-13 * (1 + float(mu.sum()))


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_tighter_limits_give_smaller_bounds(shift: Any) -> None:
    widths = (0.3, 0.2, 0.1, 0.0)
    bounds = [
        certify(REFERENCE, 0.4, shift=shift, group_limits={"Female": (0.6 - w, 0.6 + w)}, min_label_mass=0.3 - 0.5 * w)
        for w in widths
    ]
    assert all(a.bound >= b.bound - 1e-6 for a, b in pairwise(bounds))
    assert bounds[0].bound > bounds[-1].bound + 1e-3
    assert all(verify(c.to_json()).valid for c in bounds)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_limits_that_do_not_bind_change_nothing(shift: Any) -> None:
    free = certify(REFERENCE, 0.2, shift=shift)
    (female, _), (first, _) = free.witness.group_mass, free.witness.label_mass
    loose = certify(
        REFERENCE,
        0.2,
        shift=shift,
        group_limits={"Female": (female - 0.1, female + 0.1)},
        label_rows=([[1.0, -1.0]], [2 * first - 1 + 0.1]),
    )
    assert loose.bound == pytest.approx(free.bound, abs=1e-6)
    none = certify(REFERENCE, 0.2, shift=shift, min_group_mass=0.0, label_limits={0: (0, 1)}, group_rows=([1, 1], 1))
    assert none.bound == free.bound
    assert not none.limited


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_the_three_forms_say_the_same(shift: Any) -> None:
    forms: list[dict[str, Any]] = [
        {"min_group_mass": 0.4, "label_limits": {1: (0.1, 0.3)}},
        {"group_limits": {"Female": (0.4, 0.6)}, "label_rows": ([[0, 1], [0, -1]], [0.3, -0.1])},
        {"group_skew": 0.2, "label_limits": {0: (0.7, 0.9)}},
        {
            "group_rows": ([[1e9, 0], [0, 1e-9]], [0.6e9, 0.6e-9]),
            "label_rows": ([[3, -1]], [2.6]),
            "min_label_mass": 0.1,
        }
        | {"label_limits": {1: (0, 0.3)}},
    ]
    found = [certify(REFERENCE, 0.3, shift=shift, **form) for form in forms]
    assert np.ptp([c.bound for c in found]) <= 2e-6
    assert all(c.gap <= 1e-6 for c in found)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_exact_shares(shift: Any) -> None:
    """All shares fixed: the sum of decimals misses one by a rounding, which is no contradiction."""
    population = random_population(np.random.default_rng(3), 3, 3)
    exact = {0: (0.3, 0.3), 1: (0.3, 0.3), 2: (0.4, 0.4)}
    limits: dict[str, Any] = {"group_limits": exact, "label_limits": exact}
    rho = radius(population, 0.1, **limits)
    certificate = certify(population, rho, shift=shift, **limits)
    np.testing.assert_allclose(certificate.witness.group_mass, [0.3, 0.3, 0.4], atol=1e-15)
    np.testing.assert_allclose(certificate.witness.label_mass, [0.3, 0.3, 0.4], atol=1e-15)
    assert certificate.gap <= 1e-6
    assert verify(certificate.to_json()).valid
    if shift == "sensitive":
        mass = np.outer(certificate.witness.group_mass, certificate.witness.label_mass)
        assert certificate.bound == pytest.approx((mass * population.mean).sum(), abs=1e-6)


def test_equality_of_two_groups() -> None:
    """A matrix says what names cannot: two of three groups are equally large."""
    population = random_population(np.random.default_rng(8), 3, 2)
    limits: dict[str, Any] = {"group_rows": ([[1, -1, 0], [-1, 1, 0]], [0, 0])}
    certificate = certify(population, radius(population, 0.1, **limits), **limits)
    a, b, _ = certificate.witness.group_mass
    assert a == pytest.approx(b, abs=1e-14)
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_the_nearest_distribution_obeys_the_limits(seed: int) -> None:
    """Against a fine grid of shares of two groups and two labels."""
    rng = np.random.default_rng(seed)
    population = random_population(rng, 2, 2)
    limits = both(rng, (2, 2))
    question = solver(population, **limits)
    k, r = (np.linspace(s.floors[0], 1 - s.floors[1], 1001) for s in (question.problem.groups, question.problem.labels))
    root = np.sqrt(population.mass)
    pair = np.stack([np.sqrt(k), np.sqrt(1 - k)], axis=1) @ root
    best = (pair @ np.stack([np.sqrt(r), np.sqrt(1 - r)])).max()
    assert question.distance == pytest.approx(np.sqrt(max(0.0, 1 - best)), abs=1e-4)
    assert question.distance >= nearest_fair(population).distance - 1e-12
    respects(question.problem.groups, question.nearest.group_mass)
    assert isinstance(question.nearest, NearestFair)
    respects(question.problem.labels, question.nearest.label_mass)
    if question.distance > 1e-3:
        with pytest.raises(InfeasibleError, match="within the limits"):
            certify(population, 0.9 * question.distance, **limits)


@pytest.mark.parametrize("seed", range(30))
def test_a_point_well_inside(seed: int) -> None:
    """It is inside, what is moved obeys the limits, and an empty set is known by its multipliers."""
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    matrix, member = rng.uniform(-1, 1, size=(count, size)), rng.dirichlet(np.ones(size))
    right = matrix @ member + rng.choice([0.0, 1e-4, 0.1]) * rng.exponential(size=count)
    skew = None if rng.random() < 0.5 else float(np.ptp(member)) * 1.1
    found = find_interior(matrix, right, skew)
    assert found.slack >= -1e-14
    moved = found.moved(rng.dirichlet(np.full(size, 0.3), size=30))
    assert (moved >= 0).all()
    assert (moved @ matrix.T <= right + 1e-14).all()
    assert skew is None or np.ptp(moved, axis=1).max() <= skew + 1e-14
    np.testing.assert_allclose(found.moved(moved), moved, atol=1e-9)
    empty = find_interior(np.vstack([matrix, -matrix[:1]]), np.append(right, -right[0] - 0.01), skew)
    assert empty.slack < -1e-3
    assert (
        float(MarginalSet(size).support(-(np.vstack([matrix, -matrix[:1]]).T @ empty.mu)))
        + np.append(right, -right[0] - 0.01) @ empty.mu
        < 0
        or skew is not None
    )


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "minimum": ({"min_group_mass": 0.6}, "min_group_mass=0.6 is too large for 2 groups.*use 0.5 or less"),
    "both large": (
        {"group_limits": {"Female": (0.6, 0.7), "Male": (0.5, 1)}},
        "limits on the group shares contradict.*'Female' in Q is at least 0.6; .*'Male' in Q is at least 0.5.*[Ww]iden",
    ),
    "both small": (
        {"label_limits": {0: (0, 0.4), 1: (0, 0.5)}},
        "label shares contradict.*label 0 in Q is at most 0.4",
    ),
    "with skew": (
        {"group_limits": {"Female": (0.6, 0.7)}, "group_skew": 0.1},
        "contradict.*at least 0.6; any two group shares differ by at most 0.1",
    ),
    "with the minimum": ({"label_limits": {1: (0, 0.1)}, "min_label_mass": 0.2}, "label shares contradict"),
    "rows": ({"label_rows": ([[1, -1], [-1, 1]], [-0.1, -0.1])}, "share.0. - share.1. <= -0.1"),
    "one row": ({"group_rows": ([[1, 1]], [0.5])}, "row 0 of group_rows cannot hold"),
    "zeros": ({"group_rows": ([[0, 0]], [-0.5])}, "row 0 of group_rows cannot hold"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_contradictions_are_named(name: str, shift: Any) -> None:
    limits, words = CONTRADICTIONS[name]
    for verb in (
        lambda: certify(REFERENCE, 0.3, shift=shift, **limits),
        lambda: certify_curve(REFERENCE, [0.3], **limits),
    ):
        with pytest.raises(InputError, match=words):
            verb()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown group": ({"group_limits": {"female": (0, 1)}}, "names 'female', which is not a group.*'Female', 'Male'"),
    "unknown label": (
        {"label_limits": {"1": (0, 1)}},
        "label_limits names '1', which is not a label; the labels are 0, 1",
    ),
    "upside down": ({"label_limits": {1: (0.3, 0.1)}}, "upside down"),
    "out of range": ({"label_limits": {1: (-0.1, 0.1)}}, r"outside \[0, 1\]"),
    "not a pair": ({"label_limits": {1: 0.1}}, "must be a pair"),
    "text": ({"label_limits": {1: "ab"}}, "must be a pair"),
    "not a number": ({"label_limits": {1: (0.1, "x")}}, "not a number"),
    "not a dictionary": ({"label_limits": [(0.1, 0.2)]}, "must be a dictionary"),
    "minimum": ({"min_label_mass": "many"}, "min_label_mass='many' is not a number"),
    "missing": ({"min_label_mass": float("nan")}, "min_label_mass=nan"),
    "not rows": ({"group_rows": [[1, 1]]}, "must be a pair"),
    "columns": ({"group_rows": ([[1, 1, 1]], [0.5])}, "a column of A for each of the 2 groups"),
    "lengths": ({"group_rows": ([[1, 1]], [0.5, 0.5])}, "shapes"),
    "infinite": ({"group_rows": ([[1, np.inf]], [0.5])}, "inf"),
    "sizes": ({"group_rows": ([[1e300, 1e-300]], [0.5])}, "too different sizes"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_limits(name: str) -> None:
    limits, words = BAD[name]
    with pytest.raises(InputError, match=words):
        certify(REFERENCE, 0.3, **limits)


@pytest.mark.filterwarnings("ignore::fairbound.errors.DataWarning")
def test_assumptions_use_the_names_of_the_user() -> None:
    columns = {"sex": ["f", "f", "m", "m"], "old": [True, False, True, False]}
    population = Population.from_losses([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0], sensitive_features=columns)
    certificate = certify(
        population,
        0.9,
        min_group_mass=0.1,
        group_limits={("f", True): (0.2, 0.3), ("m", True): (0.25, 0.25)},
        label_limits={1: (0, 0.75)},
        label_rows=([[1.5, -1]], 0.2),
    )
    for sentence in (
        "The share of every group in Q is at least 0.1.",
        "The share of ('f', True) in Q lies between 0.2 and 0.3.",
        "The share of ('m', True) in Q is 0.25.",
        "The share of label 1 in Q is at most 0.75.",
        "The label shares of Q satisfy 1.5 share[0] - share[1] <= 0.2.",
    ):
        assert sentence in certificate.assumptions
    assert verify(certificate.to_json()).valid
    again = Certificate.from_json(certificate.to_json())
    assert again.group_limits == certificate.group_limits
    assert again.label_limits == certificate.label_limits
    assert json.loads(again.to_json()) == json.loads(certificate.to_json())


def test_long_rows_are_not_written_out() -> None:
    population = random_population(np.random.default_rng(0), 30, 2)
    row = np.linspace(0, 1, 30)
    certificate = certify(population, 0.5, group_rows=(row, 0.6))
    assert "A weighted sum of 29 group shares of Q is at most 0.6." in certificate.assumptions


def test_curves_and_radii_take_limits() -> None:
    limits: dict[str, Any] = {"min_group_mass": 0.4, "label_limits": {1: (0.1, 0.3)}}
    curve = certify_curve(REFERENCE, [0.01, 0.2, 0.3], **limits)
    assert curve.feasible.tolist() == [False, True, True]
    assert "within the limits" in curve.sentences()[0]
    assert verify(curve.to_json()).valid
    single = certify(REFERENCE, 0.3, **limits)
    assert single.bound == pytest.approx(curve.bound[2], abs=1e-9)
    assert largest_certified_rho(REFERENCE, single.bound + 1e-6, **limits) == pytest.approx(0.3, abs=1e-4)


@pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")
def test_a_sample_with_limits() -> None:
    rng = np.random.default_rng(1)
    population = random_population(rng, 2, 2, "rows")
    limits: dict[str, Any] = {"group_limits": {0: (0.4, 0.6)}, "min_label_mass": 0.2}
    certificate = certify(population, 0.3, confidence=0.9, **limits)
    free = certify(population, 0.3, confidence=0.9)
    assert certificate.bound <= free.bound + 1e-9
    assert verify(certificate.to_json()).valid


def test_many_groups_with_a_minimum() -> None:
    population = random_population(np.random.default_rng(4), 60, 2)
    certificate = certify(population, radius(population, 0.1, min_group_mass=0.005), min_group_mass=0.005)
    assert certificate.gap <= 1e-6
    assert certificate.witness.group_mass.min() >= 0.005 - 1e-14


@pytest.mark.parametrize("seed", range(20))
def test_floors_lie_below_all_members(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    problem = solver(random_population(rng, size, 2), **random_limits(rng, "group", size)).problem
    shares = problem.groups
    draws = shares.inside(rng.dirichlet(np.full(size, 0.3), size=200))
    assert (draws >= shares.floors - 1e-15).all()
    if shares.fills_simplex:
        corners = shares.floors + shares.spread * np.eye(size)
        matrix, right = (
            (np.zeros((0, size)), np.zeros(0)) if shares.limits is None else (shares.limits.matrix, shares.limits.right)
        )
        assert (corners @ matrix.T <= right + 4 * LEEWAY).all()
