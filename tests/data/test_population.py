"""Populations against a plain loop over the rows, and their summaries against the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairbound import Population, certify
from fairbound.arithmetic.arrays import AnyArray, Floats
from fairbound.data.loss_summary import BINS, LossTable

LOSS = [0.1, 0.2, 0.4, 0.9]
LABELS = [0, 1, 0, 1]
GROUPS = ["a", "a", "b", "b"]

Function = Callable[[Floats], Floats]
Row = tuple[float, str, int, int]
rows_of_data = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from("xyz"), st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=40
)


def build(rows: Iterable[Row], *, weighted: bool = True) -> Population:
    loss, label, group, weight = (list(column) for column in zip(*rows, strict=True))
    assume(len(set(label)) > 1 and len(set(group)) > 1)
    return Population.from_losses(loss, label, sensitive_features=group, sample_weight=weight if weighted else None)


def by_loop(rows: Iterable[Row]) -> dict[tuple[Hashable, Hashable], tuple[float, float]]:
    """Return weight and summed loss of each cell that occurs."""
    cells: dict[tuple[Hashable, Hashable], tuple[float, float]] = {}
    for loss, label, group, weight in rows:
        count, total = cells.get((group, label), (0.0, 0.0))
        cells[group, label] = (count + weight, total + weight * loss)
    return cells


def assert_same(one: Population, two: Population) -> None:
    assert (one.groups, one.labels, one.ceiling) == (two.groups, two.labels, two.ceiling)
    assert isinstance(one.knowledge, LossTable)
    assert isinstance(two.knowledge, LossTable)
    for field in ("low", "high", "weight", "mean_loss"):
        np.testing.assert_array_equal(getattr(one.knowledge, field), getattr(two.knowledge, field))


@given(rows_of_data)
def test_cells_agree_with_a_loop(rows: list[Row]) -> None:
    population, cells = build(rows), by_loop(rows)
    total = sum(weight for weight, _ in cells.values())
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            weight, loss = cells.get((group, label), (0.0, 0.0))
            assert population.weight[s, y] == weight
            assert population.mass[s, y] == pytest.approx(weight / total)
            assert population.mean[s, y] == pytest.approx(loss / weight if weight else 0.0)
            assert ((group, label) in population.empty_cells) == (weight == 0)
    assert population.loss == pytest.approx(sum(loss for _, loss in cells.values()) / total)
    assert population.base_rates.sum(axis=1) == pytest.approx(1.0)
    assert population.rows == len(rows)


@given(rows_of_data, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Row], random: Any) -> None:
    assert_same(build(rows), build(random.sample(rows, len(rows))))


@given(rows_of_data)
def test_weights_repeat_rows(rows: list[Row]) -> None:
    repeated = [row for row in rows for _ in range(row[3])]
    assert_same(build(rows), build(repeated, weighted=False))


def test_rows_of_weight_zero_do_not_count() -> None:
    kept = Population.from_losses(LOSS, LABELS, sensitive_features=GROUPS)
    more = Population.from_losses(
        [*LOSS, 1.0], [*LABELS, 0], sensitive_features=[*GROUPS, "a"], sample_weight=[1, 1, 1, 1, 0]
    )
    assert_same(kept, more)


COLUMNS = [
    pytest.param(["f", "m", "f", "m"], ("f", "m"), id="strings"),
    pytest.param([10, 9, 9, 10], (9, 10), id="integers"),
    pytest.param([True, False, True, False], (False, True), id="booleans"),
    pytest.param(np.array([2, 1, 2, 1], dtype=np.int8), (1, 2), id="small integers"),
    pytest.param([0.5, 1.0, 0.5, 1.0], (0.5, 1.0), id="floats"),
    pytest.param(np.array([1, "a", 1, "a"], dtype=object), (1, "a"), id="mixed array"),
    pytest.param([1, "a", 1, "a"], (1, "a"), id="mixed list"),
    pytest.param([True, "unknown", True, "unknown"], (True, "unknown"), id="boolean and string"),
    pytest.param(pd.Series(["x", "w", "x", "w"]), ("w", "x"), id="series"),
    pytest.param(pd.Series(["x", "w", "x", "w"], index=[7, 7, 3, 1]), ("w", "x"), id="series with an odd index"),
    pytest.param(pd.array([3, 1, 3, 1], dtype="Int64"), (1, 3), id="nullable integers"),
    pytest.param(pd.Categorical(["lo", "hi", "lo", "hi"], categories=["lo", "hi"]), ("lo", "hi"), id="categorical"),
    pytest.param(
        pd.Series(pd.Categorical(["lo", "hi", "lo", "hi"], categories=["lo", "none", "hi"])),
        ("lo", "hi"),
        id="series of categories, one unused",
    ),
    pytest.param(pd.Categorical([1, "a", 1, "a"], categories=["a", 1]), ("a", 1), id="mixed categories"),
    pytest.param(pd.Categorical([False, True] * 2, categories=[True, False]), (True, False), id="boolean categories"),
]


@pytest.mark.parametrize(("column", "names"), COLUMNS)
@pytest.mark.parametrize("role", ["groups", "labels"])
def test_names_are_kept_as_given(column: Any, names: tuple[Hashable, ...], role: str) -> None:
    other = [0, 0, 1, 1]
    label, group = (other, column) if role == "groups" else (column, other)
    population = Population.from_losses(LOSS, label, sensitive_features=group)
    found = getattr(population, role)
    assert found == names
    assert [type(name) for name in found] == [type(name) for name in names]
    # the loss of row 2 * i + j belongs to the cell of its own names
    where = [names.index(value) for value in np.asarray(column, dtype=object).tolist()]
    mean = population.mean if role == "labels" else population.mean.T
    assert [mean[o, w] for o, w in zip(other, where, strict=True)] == pytest.approx(LOSS)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(pd.DataFrame({"sex": ["f", "m", "f", "m"], "old": [True, True, False, True]}), id="frame"),
        pytest.param({"sex": ["f", "m", "f", "m"], "old": [True, True, False, True]}, id="dict"),
        pytest.param(np.array([["f", True], ["m", True], ["f", False], ["m", True]], dtype=object), id="array"),
        pytest.param([("f", True), ("m", True), ("f", False), ("m", True)], id="list of tuples"),
    ],
)
def test_several_columns_give_tuples(columns: Any) -> None:
    population = Population.from_losses(LOSS, LABELS, sensitive_features=columns)
    assert population.groups == (("f", False), ("f", True), ("m", True))
    np.testing.assert_allclose(population.weight, [[1, 0], [1, 0], [0, 2]])
    np.testing.assert_allclose(population.mean, [[0.4, 0], [0.1, 0], [0, 0.55]])


def test_intersections_follow_the_order_of_categories() -> None:
    size = pd.Categorical(["small", "large", "small", "large"], categories=["small", "large"])
    population = Population.from_losses(LOSS, LABELS, sensitive_features=pd.DataFrame({"g": GROUPS, "size": size}))
    assert population.groups == (("a", "small"), ("a", "large"), ("b", "small"), ("b", "large"))


def test_one_column_gives_plain_names() -> None:
    for column in ({"g": GROUPS}, pd.DataFrame({"g": GROUPS}), np.array(GROUPS)[:, None]):
        assert Population.from_losses(LOSS, LABELS, sensitive_features=column).groups == ("a", "b")


def test_predicted_labels_and_both_shapes_of_probabilities() -> None:
    truth, second = ["no", "yes", "no", "yes"], np.array([0.2, 0.7, 0.6, 0.5])
    labels = Population.from_predictions(truth, ["no", "yes", "yes", "no"], sensitive_features=GROUPS)
    np.testing.assert_array_equal(labels.mean, [[0, 0], [1, 1]])
    one, two = (
        Population.from_predictions(truth, p, sensitive_features=GROUPS, loss="brier")
        for p in (second, np.stack([1 - second, second], axis=1))
    )
    np.testing.assert_allclose(one.mean, [[0.04, 0.09], [0.36, 0.25]])
    assert_same(one, two)
    three = Population.from_predictions(
        [0, 1, 2, 0],
        [[1, 0, 0], [0.5, 0.5, 0], [0, 0.9, 0.1], [0.2, 0, 0.8]],
        sensitive_features=GROUPS,
        loss="absolute",
    )
    np.testing.assert_allclose(three.mean, [[0, 0.5, 0], [0.8, 0, 0.9]])


def test_moments_are_kept() -> None:
    mass, mean = [[0.4, 0.2], [0.4, 0.0]], [[0.1, 0.3], [0.2, np.nan]]
    population = Population.from_moments(mass, mean, groups=["a", ("b", 1)], labels=[True, False])
    assert (population.groups, population.labels, population.rows) == (("a", ("b", 1)), (True, False), None)
    np.testing.assert_allclose(population.mass, mass)
    np.testing.assert_allclose(population.mean, [[0.1, 0.3], [0.2, 0.0]])
    assert population.empty_cells == ((("b", 1), False),)


def many_rows(weighted: bool) -> tuple[Floats, AnyArray, AnyArray, Floats]:
    """Losses, labels, groups and weights: three cells with thousands of different losses, one with a few."""
    rng = np.random.default_rng(7)
    sizes = [3 * BINS, 2 * BINS + 1, BINS + 1, 40]
    cell = np.repeat(np.arange(4), sizes)
    loss = np.where(rng.random(len(cell)) < 0.2, 0.0, rng.beta(1 + cell, 2) * (1 - 0.2 * (cell == 1)))
    order = rng.permutation(len(cell))
    weight = rng.exponential(size=len(cell)) if weighted else np.ones(len(cell))
    return loss[order], (cell % 2)[order], (cell // 2)[order], weight


def stop_loss(t: float) -> Function:
    return lambda x: np.maximum(x - t, 0.0)


def reciprocal(eta: float) -> Function:
    """What the bounds are made of; eta is above the ceiling."""
    return lambda x: 1.0 / (eta - x)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_enclose_the_rows_in_convex_order(weighted: bool) -> None:
    loss, label, group, weight = many_rows(weighted)
    population = Population.from_losses(
        loss, label, sensitive_features=group, sample_weight=weight if weighted else None
    )
    assert population.weight.sum() == pytest.approx(weight.sum(), rel=1e-12)
    for s, y in np.ndindex(2, 2):
        rows = (group == s) & (label == y)
        exact = weight[rows] / weight.sum(), loss[rows]
        upper, lower = (
            (atoms.probability[s, y], atoms.loss[s, y])
            for atoms in population.knowledge.atoms(population.mass, population.ceiling)
        )

        def expected(f: Function) -> list[float]:
            return [float((p * f(x)).sum()) for p, x in (lower, exact, upper)]  # noqa: B023 (used at once)

        kept: list[Function] = [np.ones_like, np.abs, *map(reciprocal, (1.1, 1.5, 3.0))]
        for f in kept:
            low, middle, high = expected(f)
            assert low == pytest.approx(middle, rel=1e-6)
            assert high == pytest.approx(middle, rel=1e-6)
        for f in (*map(stop_loss, np.linspace(0.0, 0.9, 10)), *map(reciprocal, (1.1, 1.5, 3.0))):
            low, middle, high = expected(f)
            assert low - 1e-14 <= middle <= high + 1e-14


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_hardly_move_the_certificate(weighted: bool) -> None:
    loss, label, group, weight = many_rows(weighted)
    certificate = certify(
        Population.from_losses(loss, label, sensitive_features=group, sample_weight=weight if weighted else None), 0.4
    )
    assert 0 <= certificate.gap < 2e-6


def test_few_distinct_losses_stay_exact() -> None:
    values, copies = np.array([0.0, 0.125, 0.5, 0.9, 1.0]), 2 * BINS
    loss = np.tile(np.repeat(values, copies), 4)
    label, group = np.divmod(np.repeat(np.arange(4), len(values) * copies), 2)
    population = Population.from_losses(loss, label, sensitive_features=group)
    upper, lower = population.knowledge.atoms(population.mass, population.ceiling)
    for atoms in (upper, lower):
        np.testing.assert_array_equal(atoms.loss, np.broadcast_to(values, (2, 2, 5)))
        np.testing.assert_allclose(atoms.probability, 0.05, rtol=1e-15)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_adding_up_many_weights_keeps_the_bound_above_the_exact_loss(shift: Any) -> None:
    """A hundred thousand times 0.3, added up naively, is off by far more than the roundings that bounds allow for."""
    ones, zeros = 100_000, 14_285
    loss = np.tile(np.r_[np.ones(ones), np.zeros(zeros)], 4)
    weight = np.where(loss == 1, 0.3, 0.1)
    label, group = np.divmod(np.repeat(np.arange(4), ones + zeros), 2)
    population = Population.from_losses(loss, label, sensitive_features=group, sample_weight=weight)
    certificate = certify(population, 0.0, shift=shift)
    high, low = Fraction(0.3) * ones, Fraction(0.1) * zeros
    assert Fraction(certificate.attained) <= high / (high + low) <= Fraction(certificate.bound)


def test_the_arrays_of_the_caller_are_left_alone() -> None:
    loss, label, group, weight = np.array(LOSS), np.array(LABELS), np.array(GROUPS), np.array([1.0, 2.0, 3.0, 4.0])
    mass, mean, variance = np.full((2, 2), 0.25), np.full((2, 2), 0.5), np.full((2, 2), 0.1)
    arrays = [loss, label, group, weight, mass, mean, variance]
    for array in arrays:
        array.flags.writeable = False
    certify(Population.from_losses(loss, label, sensitive_features=group, sample_weight=weight), 0.5)
    moments = Population.from_moments(mass, mean, variance)
    certify(moments, 0.5)
    for array in (mass, mean):
        array.flags.writeable = True
        array[:] = 7
    np.testing.assert_array_equal(moments.mass, 0.25)
    np.testing.assert_array_equal(moments.mean, 0.5)


def test_values_without_an_order_are_not_torn_apart() -> None:
    """Sets compare only in part: sorting them would give a group twice."""
    column = np.empty(6, dtype=object)
    column[:] = [frozenset(name) for name in "ababba"]
    population = Population.from_losses([0.1] * 6, [0, 1] * 3, sensitive_features=column)
    assert set(population.groups) == {frozenset("a"), frozenset("b")}
