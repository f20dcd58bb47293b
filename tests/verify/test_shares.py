"""Shares: support functions, least shares and trees of pieces, compared with linear programs and random points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy.optimize import linprog

from fairbound.verify.balls import PRECISION, RefusedError
from fairbound.verify.document import Limits, Proof
from fairbound.verify.shares import Side, pieces, rates_bound, rates_of_group

Array = Any


@pytest.fixture(autouse=True)
def _precise() -> Iterator[None]:
    """Compute as the checker does."""
    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before


def random_limits(rng: np.random.Generator, size: int) -> Limits:
    """Return limits that some shares obey."""
    shares = rng.dirichlet(np.ones(size))
    skew = min(1.0, float(np.ptp(shares) + rng.uniform(0, 0.3))) if rng.random() < 0.6 else None
    rows = [rng.uniform(-1, 1, size).tolist() for _ in range(int(rng.integers(0, 3)))]
    return Limits(skew, rows, [float(np.dot(row, shares) + rng.uniform(0, 0.2)) for row in rows])


def most(values: Array, limits: Limits) -> tuple[float, list[float]]:
    """Return the largest product with shares that obey limits, and the multipliers of the rows."""
    size = len(values)
    above, ends = [*limits.rows], [*limits.most]
    if limits.skew is not None:
        for i, j in np.argwhere(~np.eye(size, dtype=bool)):
            above.append((np.eye(size)[i] - np.eye(size)[j]).tolist())
            ends.append(limits.skew)
    found = linprog(-np.array(values), A_ub=above or None, b_ub=ends or None, A_eq=np.ones((1, size)), b_eq=[1.0])
    return -float(found.fun or 0.0), [] if not above else (-found.ineqlin.marginals[: len(limits.most)]).clip(
        0
    ).tolist()


def test_support_functions_are_the_largest_products() -> None:
    """Any multipliers give no less; the best ones, of differences exactly the largest one."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        size = int(rng.integers(2, 6))
        limits, values = random_limits(rng, size), rng.normal(size=size)
        side, (exact, mu) = Side(size, limits, fmpq(0)), most(values, limits)
        balls = [arb(float(v)) for v in values]
        assert float(side.support(balls, rng.uniform(0, 1, len(limits.most)).tolist()).upper()) >= exact - 1e-9
        best = float(side.support(balls, mu).upper())
        assert exact - 1e-9 <= best <= exact + 1e-6


def test_least_shares_are_no_larger_than_shares_can_be() -> None:
    """And with one limit they are that small."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        size = int(rng.integers(2, 5))
        limits = random_limits(rng, size)
        least = [float(v) for v in Side(size, limits, fmpq(0)).least]
        for i, low in enumerate(least):
            exact = -most(-np.eye(size)[i], limits)[0]
            assert low <= exact + 1e-9
            if len(limits.most) + (limits.skew is not None) == 1 and size == 2:
                assert low >= exact - 1e-9


def test_base_rates_within_a_tolerance() -> None:
    """Any nu gives no less than a linear program over base rates."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        groups, labels = (int(n) for n in rng.integers(2, 4, 2))
        values, tolerance = rng.normal(size=(groups, labels)), float(rng.choice([0.0, 0.05, 0.3, 1.0]))
        rows = []
        for s, t in np.argwhere(~np.eye(groups, dtype=bool)):
            for y in range(labels):
                row = np.zeros((groups, labels))
                row[s, y], row[t, y] = 1, -1
                rows.append(row.ravel())
        whole = np.kron(np.eye(groups), np.ones(labels))
        most = [tolerance] * len(rows)
        exact = -float(linprog(-values.ravel(), A_ub=rows, b_ub=most, A_eq=whole, b_eq=np.ones(groups)).fun or 0.0)
        balls = [[arb(float(v)) for v in row] for row in values]
        bounds = []
        for _ in range(30):
            nu = [arb(float(v)) for v in values.max(1) - rng.exponential(0.5, groups)]
            added = [rates_of_group(row, [range(labels)], level) for row, level in zip(balls, nu, strict=True)]
            sums = [sum(column, arb(0)) for column in zip(*added, strict=True)]
            bounds.append(float(rates_bound(sums, fmpq(*tolerance.as_integer_ratio())).upper()))
        assert min(bounds) >= exact - 1e-9
        assert min(bounds) <= exact + 1.0


def proof(floors: list[float], splits: list[Any], leaves: int | None = None) -> Any:
    """Return a tree whose leaves are their numbers."""
    count = sum(split is None for split in splits) if leaves is None else leaves
    return Proof("label", floors, splits, list(range(count)))  # type: ignore[arg-type]


def test_the_pieces_of_a_tree_cover_the_root() -> None:
    """Random trees: every share vector of the root lies in some piece, and hardly ever in two."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        size = int(rng.integers(2, 5))
        splits: list[Any] = []
        pending = 1
        while pending:
            cut = rng.random() < 0.55 and len(splits) < 15
            i, j = rng.permutation(size)[:2]
            splits.append([float(i), float(j), float(rng.uniform(0.05, 0.95))] if cut else None)
            pending += 1 if cut else -1
        floors = (rng.dirichlet(np.ones(size)) * 0.3).tolist()
        found = list(pieces(proof(floors, splits), [fmpq(1)] * size))
        shares = np.array(floors) + 0.7 * rng.dirichlet(np.ones(size), 30)
        inside = np.zeros(len(shares), int)
        for _, corners in found:
            exact = np.array([[float(x) for x in corner] for corner in corners])
            inside += (np.linalg.solve(exact.T, shares.T) >= -1e-9).all(0)
        assert (inside >= 1).all()
        assert inside.mean() < 1.1


@pytest.mark.parametrize(
    ("floors", "splits", "leaves", "why"),
    [
        ([0.3, 0.0], [None], 1, "leaves out admissible shares"),
        ([0.1, 0.1], [], 0, "1 pieces of the shares are not covered"),
        ([0.1, 0.1], [[0.0, 1.0, 0.5], None], 1, "1 pieces of the shares are not covered"),
        ([0.1, 0.1], [None, None], 2, "goes on after it is complete"),
        ([0.1, 0.1], [None], 0, "more leaves than there are multipliers"),
        ([0.1, 0.1], [None], 2, "more leaves than the tree"),
        ([0.1, 0.1], [[0.0, 0.0, 0.5], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.0, 2.0, 0.5], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.5, 1.0, 0.5], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.0, 1.0, 0.0], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.0, 1.0, 1.0], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.0, 1.0, 1.5], None, None], 2, "does not exist"),
        ([0.1, 0.1], [[0.0, 1.0, 0.5]] * 402, 0, "deep"),
    ],
)
def test_trees_that_leave_something_out_are_refused(floors: Any, splits: Any, leaves: int, why: str) -> None:
    """Each guard by itself."""
    with pytest.raises(RefusedError, match=why):
        list(pieces(proof(floors, splits, leaves), [fmpq(1, 5)] * 2))


def test_floors_of_more_than_one_are_refused() -> None:
    """The root would be empty."""
    with pytest.raises(RefusedError, match="more than one"):
        list(pieces(proof([0.6, 0.6], [None]), [fmpq(1)] * 2))


def test_long_fractions_do_not_slow_the_walk_down() -> None:
    """Cuts at places of many digits, one inside of the other: the corners are balls, not fractions."""
    splits = [*[[0.0, 1.0, 1e-300]] * 400, *[None] * 401]
    assert len(list(pieces(proof([0.0, 0.0], splits), [fmpq(0)] * 2))) == 401
