"""Data frames of all libraries give the populations that arrays give, and lazy ones give sound ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairbound import InputError, Loss, Population, certify, verify
from fairbound.data.exact_sums import LIMB
from fairbound.data.frame_values import fetch
from fairbound.data.loss_summary import BINS, LossTable, bin_edges
from tests.data.test_bad_input import assert_clear


def to_duckdb(frame: pd.DataFrame) -> Any:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return duckdb.connect().from_arrow(table)


EAGER: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
LAZY: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": to_duckdb,
}
ENGINES = EAGER | LAZY
each_engine = pytest.mark.parametrize("engine", ENGINES)
each_lazy_engine = pytest.mark.parametrize("engine", LAZY)


def rows(size: int = 3000, seed: int = 0) -> pd.DataFrame:
    """A table with columns of many types; the smallest cell of sex and income has hundreds of rows."""
    rng = np.random.default_rng(seed)
    sex, old = rng.choice(["f", "m"], size, p=[0.4, 0.6]), rng.random(size) < 0.3
    income = rng.random(size) < np.where(sex == "f", 0.3, 0.5)
    probability = np.clip(rng.beta(2, 2, size) * 0.6 + 0.4 * income, 0, 1)
    three = rng.dirichlet([1, 2, 3], size)
    return pd.DataFrame(
        {
            "sex": sex,
            "old": old,
            "size": pd.Categorical(rng.choice(["small", "large"], size), categories=["small", "large"]),
            "number": rng.choice([10, 9], size),
            "income": np.where(income, ">50K", "<=50K"),
            "income bit": income.astype(int),
            "rich": income,
            "class": rng.choice(["a", "b", "c"], size),
            "predicted": np.where(probability > 0.5, ">50K", "<=50K"),
            "predicted bit": (probability > 0.5).astype(float),
            "probability": probability,
            "rounded": np.round(probability, 2),
            "a": three[:, 0],
            "b": three[:, 1],
            "c": three[:, 2],
            "loss": rng.beta(0.5, 2, size),
            "weight": rng.exponential(size=size),
            "count": rng.integers(0, 4, size),
        }
    )


def table(population: Population) -> LossTable:
    assert isinstance(population.knowledge, LossTable)
    return population.knowledge


def assert_identical(one: Population, two: Population) -> None:
    assert (one.groups, one.labels, one.ceiling, one.rows) == (two.groups, two.labels, two.ceiling, two.rows)
    assert [*map(type, one.groups)] == [*map(type, two.groups)]
    for field in ("low", "high", "weight", "to_low", "to_high", "rows"):
        np.testing.assert_array_equal(getattr(table(one), field), getattr(table(two), field))


def assert_as_good(found: Population, exact: Population) -> None:
    """Equal but for the bins: the same cells to rounding, a bound that is at least as large and hardly larger."""
    assert (found.groups, found.labels, found.ceiling, found.rows) == (
        exact.groups,
        exact.labels,
        exact.ceiling,
        exact.rows,
    )
    np.testing.assert_allclose(found.weight, exact.weight, rtol=1e-15)
    np.testing.assert_allclose(found.mean, exact.mean, rtol=1e-13, atol=1e-15)
    shift: Any = "general" if math.isfinite(exact.ceiling) else "sensitive"
    ours, theirs = (certify(population, 0.4, shift=shift) for population in (found, exact))
    scale = exact.ceiling if math.isfinite(exact.ceiling) else 1.0
    assert theirs.attained - 1e-14 * scale <= ours.bound
    assert ours.attained <= theirs.bound + 1e-14 * scale
    assert ours.bound == pytest.approx(theirs.bound, abs=2e-6 * scale)
    assert ours.gap <= 2e-6 * scale


LABELS = [("income", "predicted"), ("income bit", "predicted bit"), ("rich", "predicted bit"), ("class", "class")]
GROUPS: list[Any] = ["sex", "old", "number", "size", ["sex"], ["sex", "old"], ["size", "number", "sex"]]


@each_engine
@pytest.mark.parametrize(("label", "prediction"), LABELS)
@pytest.mark.parametrize("weight", [None, "weight", "count"])
def test_predicted_labels(engine: str, label: str, prediction: str, weight: str | None) -> None:
    frame = rows()
    found = Population.from_frame(
        ENGINES[engine](frame), label=label, group="sex", prediction=prediction, weight=weight
    )
    weights = None if weight is None else frame[weight]
    exact = Population.from_predictions(
        frame[label], frame[prediction], sensitive_features=frame["sex"], sample_weight=weights
    )
    if engine in EAGER or weight != "weight":
        assert_identical(found, exact)
    else:  # two roundings instead of one
        assert_as_good(found, exact)


@each_engine
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_groups_of_all_types_and_several_columns(engine: str, group: Any) -> None:
    frame = rows()
    if engine != "pandas":  # elsewhere categories without an order are sorted
        frame["size"] = frame["size"].astype(str)
    found = Population.from_frame(ENGINES[engine](frame), label="income", group=group, prediction="predicted")
    exact = Population.from_predictions(frame["income"], frame["predicted"], sensitive_features=frame[group])
    assert_identical(found, exact)


@each_engine
@pytest.mark.parametrize(
    ("loss_name", "clip", "size", "weight"),
    [
        ("brier", None, 10_000, None),
        ("brier", None, 10_000, "weight"),
        ("brier", 0.2, 300, "weight"),
        ("jsd", None, 10_000, None),
        ("absolute", None, 300, None),
        ("absolute", None, 300, "weight"),
        ("cross_entropy", None, 10_000, None),
        ("cross_entropy", 0.5, 300, "weight"),
    ],
)
def test_probabilities(engine: str, loss_name: str, clip: float | None, size: int, weight: str | None) -> None:
    frame = rows(size)
    found = Population.from_frame(
        ENGINES[engine](frame),
        label="income",
        group=["sex", "old"],
        probability="probability",
        loss=loss_name,
        clip=clip,
        weight=weight,
    )
    exact = Population.from_predictions(
        frame["income"],
        frame["probability"],
        sensitive_features=frame[["sex", "old"]],
        loss=loss_name,
        clip=clip,
        sample_weight=None if weight is None else frame[weight],
    )
    assert found.loss_name == loss_name
    (assert_identical if engine in EAGER else assert_as_good)(found, exact)


@each_engine
@pytest.mark.parametrize("loss_name", ["brier", "jsd", "absolute", "cross_entropy"])
@pytest.mark.parametrize(
    "probability", [["a", "b", "c"], {"c": "c", "b": "b", "a": "a"}, {"b": "b", "a": "a", "c": "c"}], ids=str
)
def test_a_column_for_each_label(engine: str, loss_name: str, probability: Any) -> None:
    frame = rows()
    found = Population.from_frame(
        ENGINES[engine](frame), label="class", group="sex", probability=probability, loss=loss_name
    )
    exact = Population.from_predictions(
        frame["class"], frame[["a", "b", "c"]], sensitive_features=frame["sex"], loss=loss_name
    )
    (assert_identical if engine in EAGER else assert_as_good)(found, exact)


@each_engine
@pytest.mark.parametrize("label", ["income", "rich", "income bit"])
def test_one_label_may_be_named(engine: str, label: str) -> None:
    frame = rows()
    names = sorted(set(frame[label].tolist()))
    exact = Population.from_predictions(
        frame[label], frame["probability"], sensitive_features=frame["sex"], loss="absolute"
    )
    second = Population.from_frame(
        ENGINES[engine](frame),
        label=label,
        group="sex",
        probability={names[1]: "probability"},
        loss="absolute",
    )
    frame["other"] = 1 - frame["probability"]
    first = Population.from_frame(
        ENGINES[engine](frame), label=label, group="sex", probability={names[0]: "other"}, loss="absolute"
    )
    for found in (first, second):
        assert_as_good(found, exact)


@each_engine
@pytest.mark.parametrize("ceiling", [None, 3.7, 1e6, math.inf])
def test_losses(engine: str, ceiling: float | None) -> None:
    frame = rows(10_000)
    found = Population.from_frame(ENGINES[engine](frame), label="income", group="sex", losses="loss", ceiling=ceiling)
    exact = Population.from_losses(
        frame["loss"], frame["income"], sensitive_features=frame["sex"], ceiling=1.0 if ceiling is None else ceiling
    )
    (assert_identical if engine in EAGER else assert_as_good)(found, exact)


@each_engine
def test_few_distinct_losses_stay_exact(engine: str) -> None:
    frame = rows(20_000)
    frame["loss"] = np.array([0.0, 0.125, 0.5, 0.9, 1.0])[np.arange(20_000) % 5]
    found = Population.from_frame(ENGINES[engine](frame), label="income", group="sex", losses="loss")
    exact = Population.from_losses(frame["loss"], frame["income"], sensitive_features=frame["sex"])
    assert_identical(found, exact)


@each_engine
def test_names_and_numbers_of_narrow_types(engine: str) -> None:
    frame = rows()
    frame["loss"] = frame["loss"].astype("float32")
    frame["income bit"] = frame["income bit"].astype("int8")
    found = Population.from_frame(ENGINES[engine](frame), label="income bit", group="sex", losses="loss", loss="regret")
    exact = Population.from_losses(frame["loss"], frame["income bit"], sensitive_features=frame["sex"])
    (assert_identical if engine in EAGER else assert_as_good)(found, exact)
    assert (found.loss_name, found.labels) == ("regret", (0, 1))
    assert all(type(label) is int for label in found.labels)


def test_the_index_of_a_frame_does_not_matter() -> None:
    frame = rows(60)
    odd = frame.set_axis([7] * 60, axis=0)
    for call in (BASE, BY_PROBABILITY, BY_LOSS | {"weight": "weight"}):
        assert_identical(Population.from_frame(odd, **call), Population.from_frame(frame, **call))


def test_orders_that_a_type_declares_are_kept() -> None:
    frame = pl.from_pandas(rows()).with_columns(pl.col("size").cast(pl.Enum(["small", "large"])))
    connection = duckdb.connect()
    connection.execute("CREATE TYPE size AS ENUM ('small', 'large')")
    plain = frame.with_columns(pl.col("size").cast(pl.String)).to_arrow()
    relation = connection.from_arrow(plain).project("income, predicted, size::size AS size")
    for given in (frame, frame.lazy(), relation):
        found = Population.from_frame(given, label="income", group="size", prediction="predicted")
        assert found.groups == ("small", "large")
        assert_identical(found, Population.from_frame(rows(), label="income", group="size", prediction="predicted"))


def test_a_loss_of_ones_own() -> None:
    double = Loss("double", 2.0, "probabilities", lambda p, true: 2 - 2 * p[range(len(p)), true])
    call: dict[str, Any] = {"label": "income", "group": "sex", "probability": "probability", "loss": double}
    frame = rows()
    exact = Population.from_predictions(
        frame["income"], frame["probability"], sensitive_features=frame["sex"], loss=double
    )
    for engine in EAGER.values():
        assert_identical(Population.from_frame(engine(frame), **call), exact)
    for engine in LAZY.values():
        with pytest.raises(InputError, match=r"'double'.*cannot run.*collect"):
            Population.from_frame(engine(frame), **call)


@each_lazy_engine
def test_bins_enclose_the_rows(engine: str) -> None:
    """Edges enclose all losses of a bin, and its mean is that of the rows within what the table allows for."""
    frame = rows(20_000)
    top = 0.7310585786300049
    frame["loss"] *= top
    edges = top * (1 - (np.arange(1, 4097) / 4096) ** 2)  # losses on the edges, where rounding may misplace them
    frame.loc[:4095, "loss"] = np.nextafter(edges, np.where(np.arange(4096) % 2, 0, 1)).clip(0, top)
    call: dict[str, Any] = {"label": "income", "group": "sex", "losses": "loss", "ceiling": top}
    found = table(Population.from_frame(ENGINES[engine](frame), **call))
    misplaced = 0
    cells = [(s, y) for s in ("f", "m") for y in ("<=50K", ">50K")]
    for cell, (s, y) in enumerate(cells):
        index = divmod(cell, 2)
        losses = frame["loss"][(frame["sex"] == s) & (frame["income"] == y)].to_numpy()
        k = np.ceil(np.sqrt((top - losses) * (1.0 / (top / BINS**2))))
        low, high, count, to_high = (
            getattr(found, field)[index][found.weight[index] > 0] for field in ("low", "high", "weight", "to_high")
        )
        bins = []
        for number in set(k):
            part = losses[k == number]
            edge, next_edge = (top - top / BINS**2 * (j * j) for j in (number, number - 1))
            place = np.searchsorted(bin_edges(top), part[0], side="right")
            single = part.min() == part.max() and place == BINS + 1 - number
            ends = (part[0], part[0]) if single else (edge - 2 * max(edge - part.min(), 0), max(next_edge, part.max()))
            bins.append((ends, part))
            misplaced += part.min() < edge
        assert len(count) == len(bins)
        for i, (_, part) in enumerate(sorted(bins, key=operator.itemgetter(0))):
            assert count[i] == len(part)
            assert low[i] <= part.min()
            assert part.max() <= high[i]
            if low[i] < high[i]:
                exact = sum(Fraction(x) - Fraction(low[i]) for x in part) / (
                    len(part) * (Fraction(high[i]) - Fraction(low[i]))
                )
                assert abs(Fraction(to_high[i]) - exact) <= exact * (found.rows + 8) * Fraction(2) ** -53
    assert misplaced  # else this has not tested what it should


@each_lazy_engine
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_the_proof_of_what_an_engine_counted_is_accepted(engine: str, shift: Any) -> None:
    given = ENGINES[engine](rows(10_000))
    population = Population.from_frame(given, label="class", group=["sex", "old"], losses="loss", weight="weight")
    assert verify(certify(population, 0.3, shift=shift).to_json()).valid


@each_lazy_engine
@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("by", ["prediction", "loss"])
def test_adding_up_many_weights_keeps_the_bound_above_the_exact_loss(engine: str, shift: Any, by: str) -> None:
    """A hundred thousand times 0.3, added up naively, is off by far more than the roundings that bounds allow for."""
    ones, zeros = 100_000, 14_285
    loss = np.tile(np.r_[np.ones(ones), np.zeros(zeros)], 4)
    weight = np.where(loss == 1, 0.3, 0.1)
    label, group = np.divmod(np.repeat(np.arange(4), ones + zeros), 2)
    frame = pd.DataFrame(
        {"y": label, "g": group, "loss": loss, "w": weight, "p": np.where(loss == 1, 1 - label, label)}
    )
    column = {"losses": "loss"} if by == "loss" else {"prediction": "p"}
    population = Population.from_frame(ENGINES[engine](frame), label="y", group="g", weight="w", **column)  # type: ignore[arg-type]
    high, low = Fraction(0.3) * ones, Fraction(0.1) * zeros
    assert population.weight[0, 0] == pytest.approx(float(high + low), rel=2e-16)
    certificate = certify(population, 0.0, shift=shift)
    assert Fraction(certificate.attained) <= high / (high + low) <= Fraction(certificate.bound)


@each_lazy_engine
def test_weights_are_added_up_with_one_rounding(engine: str) -> None:
    frame = rows(5000)
    frame["weight"] = np.exp(np.random.default_rng(3).normal(size=5000) * 4)
    frame["bin"] = 0.25
    found = Population.from_frame(ENGINES[engine](frame), label="income", group="sex", losses="bin", weight="weight")
    for s, sex in enumerate(found.groups):
        for y, income in enumerate(found.labels):
            cell = frame["weight"][(frame["sex"] == sex) & (frame["income"] == income)]
            assert found.weight[s, y] == math.fsum(cell)
    assert LIMB < 53 / 2


def test_weights_that_cannot_be_added_up_exactly_are_refused() -> None:
    frame = rows(2000)
    frame["weight"] = 2.0**-70 * (1 + np.random.default_rng(0).random(2000))
    frame.loc[0, "weight"] = 1.0
    with pytest.raises(InputError, match=r"too unequal.*collect"):
        Population.from_frame(pl.from_pandas(frame).lazy(), label="income", group="sex", losses="loss", weight="weight")


@each_lazy_engine
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_weights_in_strange_units_are_refused(engine: str, size: float) -> None:
    frame = rows(60)
    frame["weight"] = size
    with pytest.raises(InputError, match=r"'weight' holds weights like .* other units"):
        Population.from_frame(ENGINES[engine](frame), label="income", group="sex", losses="loss", weight="weight")


@each_engine
@pytest.mark.parametrize("column", ["sex", "income", "probability", "weight"])
def test_missing_values(engine: str, column: str) -> None:
    frame = rows()
    frame.loc[[3, 5, 700], column] = None
    call: dict[str, Any] = {"label": "income", "group": "sex", "probability": "probability", "weight": "weight"}
    with pytest.raises(InputError) as caught:
        Population.from_frame(ENGINES[engine](frame), **call)
    assert_clear(caught.value, f"column {column!r} has no value in 3 of 3000 rows ... missing='drop'")
    found = Population.from_frame(ENGINES[engine](frame), missing="drop", **call)
    kept = Population.from_frame(ENGINES[engine](frame.dropna()), **call)
    assert (found.rows, found.excluded_rows, kept.excluded_rows) == (2997, 3, 0)
    (assert_identical if engine in EAGER else assert_as_good)(found, kept)
    sentence = "Left out of P were 3 rows in which a value was missing."
    assert sentence in certify(found, 0.5).assumptions
    assert not any("Left out" in text for text in certify(kept, 0.5).assumptions)


@each_engine
@pytest.mark.parametrize("prediction", ["predicted", "predicted bit"])
def test_missing_predictions(engine: str, prediction: str) -> None:
    frame = rows()
    frame.loc[[3, 5, 700], prediction] = None
    call: dict[str, Any] = {"label": "income", "group": "sex", "prediction": prediction}
    if prediction == "predicted bit":
        call["label"] = "income bit"
    with pytest.raises(InputError, match=f"column '{prediction}' has no value in 3 of 3000 rows"):
        Population.from_frame(ENGINES[engine](frame), **call)
    found = Population.from_frame(ENGINES[engine](frame), missing="drop", **call)
    assert found.excluded_rows == 3
    kept = frame.dropna()
    assert_identical(
        found, Population.from_predictions(kept[call["label"]], kept[prediction], sensitive_features=kept["sex"])
    )


@pytest.mark.parametrize("column", ["probability", "weight", "a", "loss"])
def test_nan_counts_as_missing_where_null_is_another_thing(column: str) -> None:
    values = rows()[column].to_numpy().copy()
    values[:2] = np.nan
    frame = pl.from_pandas(rows()).with_columns(pl.Series(column, values, nan_to_null=False))
    assert frame[column].null_count() == 0
    call: dict[str, Any] = {"label": "income", "group": "sex", "probability": "probability", "weight": "weight"}
    if column == "a":
        call |= {"label": "class", "probability": ["a", "b", "c"]}
    if column == "loss":
        call |= {"probability": None, "losses": "loss"}
    for given in (frame, frame.lazy(), duckdb.connect().from_arrow(frame.to_arrow())):
        with pytest.raises(InputError, match=f"column '{column}' has no value in 2 of 3000 rows"):
            Population.from_frame(given, **call)
        assert Population.from_frame(given, missing="drop", **call).excluded_rows == 2


def changed(column: str, value: Any) -> pd.DataFrame:
    frame = rows(60)
    if isinstance(value, list | np.ndarray):
        frame[column] = value
    else:
        frame.loc[4, column] = value
    return frame


BASE: dict[str, Any] = {"label": "income", "group": "sex", "prediction": "predicted"}
BY_PROBABILITY = BASE | {"prediction": None, "probability": "probability"}
BY_LOSS = BASE | {"prediction": None, "losses": "loss"}
BAD_FRAMES: list[tuple[pd.DataFrame, dict[str, Any], str]] = [
    (rows(60), BASE | {"label": "incme"}, "no column 'incme' ... did you mean 'income' or"),
    (rows(60), BASE | {"group": "Sex"}, "no column 'Sex' ... did you mean 'sex'?"),
    (rows(60), BASE | {"prediction": "yhat"}, "no column 'yhat'; there are 'sex', 'old'"),
    (rows(60), BASE | {"group": ["sex", "rcae"]}, "no column 'rcae'"),
    (rows(60), BASE | {"weight": "weigth"}, "no column 'weigth' ... did you mean 'weight'?"),
    (rows(60), BY_PROBABILITY | {"probability": ["a", "bb"]}, "no column 'bb'"),
    (rows(0), BASE, "empty ... no rows"),
    (rows(0), BY_PROBABILITY, "empty ... no rows"),
    (rows(0), BY_LOSS | {"weight": "weight"}, "empty ... no rows"),
    (changed("sex", ["f"] * 60), BASE, "column 'sex' has only the groups ['f'] ... at least two"),
    (changed("sex", ["f"] * 60), BY_LOSS, "column 'sex' has only the groups ['f'] ... at least two"),
    (changed("income", ["no"] * 60), BY_PROBABILITY, "column 'income' has only the labels ['no'] ... at least two"),
    (rows(60), BASE | {"prediction": "class"}, "column 'class' has none of the labels of column 'income'"),
    (rows(60), BASE | {"prediction": "probability"}, "column 'probability' has none of the labels"),
    (rows(60), BASE | {"label": "income bit", "prediction": "rounded"}, "column 'rounded' ... labels"),
    (changed("probability", 1.25), BY_PROBABILITY, "column 'probability' holds 1.25, outside [0, 1]"),
    (changed("probability", -0.25), BY_PROBABILITY, "column 'probability' holds -0.25, outside [0, 1]"),
    (changed("probability", 1.25), BY_PROBABILITY | {"loss": "jsd"}, "column 'probability' holds 1.25"),
    (changed("probability", -2.0), BY_PROBABILITY | {"loss": "cross_entropy", "clip": 1.0}, "holds -2.0"),
    (changed("probability", 1.5), BY_PROBABILITY | {"loss": "absolute"}, "holds 1.5"),
    (
        changed("probability", [0.0] * 60),
        BY_PROBABILITY | {"loss": "cross_entropy"},
        "cross_entropy loss of ... row ... inf ... pass clip",
    ),
    (
        rows(60),
        BY_PROBABILITY | {"label": "class"},
        "probability=['probability'] ... each of the labels 'a', 'b', 'c'",
    ),
    (rows(60), BY_PROBABILITY | {"probability": ["a", "b", "c"]}, "['a', 'b', 'c'] ... each of the labels '<=50K'"),
    (
        rows(60),
        BY_PROBABILITY | {"label": "income bit", "probability": {"1": "a"}},
        "probability names the label '1', but column 'income bit' holds Int64",
    ),
    (rows(60), BY_PROBABILITY | {"probability": {1: "a"}}, "the label 1, but column 'income' holds String"),
    (rows(60), BY_PROBABILITY | {"probability": {"rich": "a"}}, "no column for the label '<=50K' ... it names 'rich'"),
    (
        rows(60),
        BY_PROBABILITY | {"label": "class", "probability": {"a": "a", "b": "b"}},
        "no column for the label 'c' ... it names 'a', 'b'",
    ),
    (
        changed("b", 0.9),
        BY_PROBABILITY | {"label": "class", "probability": ["a", "b", "c"]},
        "['a', 'b', 'c'] do not add up to 1",
    ),
    (rows(60), BY_PROBABILITY | {"probability": "income"}, "column 'income' must hold numbers, not String"),
    (changed("loss", 1.5), BY_LOSS, "column 'loss' holds 1.5, outside [0, 1] ... ceiling"),
    (changed("loss", -0.5), BY_LOSS, "column 'loss' holds -0.5, outside [0, 1]"),
    (changed("loss", math.inf), BY_LOSS | {"ceiling": math.inf}, "column 'loss' holds inf"),
    (changed("weight", -1.0), BASE | {"weight": "weight"}, "column 'weight' holds -1.0 ... negative"),
    (changed("weight", math.inf), BY_LOSS | {"weight": "weight"}, "column 'weight' holds inf"),
    (changed("weight", [0.0] * 60), BASE | {"weight": "weight"}, "column 'weight' is zero in every row"),
    (
        changed("weight", np.where(rows(60)["sex"] == "f", 0.0, 1.0)),
        BY_LOSS | {"weight": "weight"},
        "group 'f' has no mass",
    ),
]


@each_engine
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("frame", "call", "parts"), BAD_FRAMES, ids=[parts for *_, parts in BAD_FRAMES])
def test_bad_frames_are_refused(engine: str, frame: pd.DataFrame, call: dict[str, Any], parts: str) -> None:
    given = ENGINES[engine](frame.astype({"sex": "str", "income": "str"}))
    with pytest.raises(InputError) as caught:
        Population.from_frame(given, **call)
    assert_clear(caught.value, parts)


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"label": "income", "group": "sex"}, "exactly one of prediction, probability and losses, not none"),
    (BASE | {"losses": "loss"}, "exactly one of ... not prediction and losses"),
    ({"label": "y", "group": "sex", "loss": "cost"}, "the name of a loss; a column of losses is losses='cost'"),
    (BASE | {"group": []}, "group=[] must be the name"),
    (BASE | {"group": 3}, "group=3 must be the name"),
    (BASE | {"group": ["sex", 3]}, "group=['sex', 3] must be the name"),
    (BASE | {"group": ["sex", "sex"]}, "group=['sex', 'sex'] names a column twice"),
    (BASE | {"label": None}, "label=None must be the name of one column"),
    (BASE | {"prediction": ["a"]}, "prediction=['a'] must be the name of one column"),
    (BASE | {"loss": "brier"}, "loss='brier' ... pass probability"),
    (BASE | {"clip": 1.0}, "clip ... leave it out"),
    (BASE | {"ceiling": 1.0}, "ceiling is for a column of losses"),
    (BASE | {"missing": "ignore"}, "missing='ignore' ... 'refuse' or 'drop'"),
    (BY_PROBABILITY | {"loss": "zero_one"}, "loss='zero_one' ... pass prediction"),
    (BY_PROBABILITY | {"loss": "mse"}, "loss='mse' is not known"),
    (BY_PROBABILITY | {"probability": {}}, "probability={} names no column"),
    (BY_PROBABILITY | {"probability": ["a", "a"]}, "probability=['a', 'a'] names a column twice"),
    (BY_PROBABILITY | {"probability": {"a": 3}}, "probability['a']=3 must be the name"),
    (BY_LOSS | {"ceiling": 0}, "ceiling=0"),
    (BY_LOSS | {"loss": Loss("own", 1.0, "labels")}, "loss= ... must be a name"),
]


@pytest.mark.parametrize(("call", "parts"), BAD_ARGUMENTS, ids=[parts for _, parts in BAD_ARGUMENTS])
def test_bad_arguments_are_refused(call: dict[str, Any], parts: str) -> None:
    with pytest.raises(InputError) as caught:
        Population.from_frame(rows(60), **call)
    assert_clear(caught.value, parts)


@pytest.mark.parametrize("frame", [None, {"sex": ["f"]}, [1, 2], np.zeros((3, 3)), "rows.csv", pd.Series([1, 2])])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(InputError, match="frame is a"):
        Population.from_frame(frame, **BASE)


def test_frames_that_cannot_be_read(tmp_path: Path) -> None:
    frame = rows(60)
    with pytest.raises(InputError, match="that cannot be read"):
        Population.from_frame(pd.concat([frame, frame], axis=1), **BASE)
    with pytest.raises(InputError, match="that cannot be read"):
        Population.from_frame(pl.from_pandas(frame).lazy().select("nothing"), **BASE)
    with pytest.raises(InputError, match=r"there are 0, 1"):
        Population.from_frame(pd.DataFrame({0: [1, 2], 1: [1, 2]}), **BASE)
    with pytest.raises(FileNotFoundError):
        Population.from_frame(pl.scan_parquet(tmp_path / "nothing.parquet"), **BASE)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas"])
def test_names_of_rarer_types(engine: str) -> None:
    """Dates, moments, decimals and floats, as plain Python values."""
    columns: list[list[Any]] = [
        [date(2021, 1, 1), date(2020, 1, 1)],
        [datetime(2021, 1, 1, 12), datetime(2020, 1, 1, 12)],
        [Decimal("2.50"), Decimal("1.25")],
        [2.5, 1.25],
    ]
    for names in columns:
        table = pa.table({"g": names * 4, "y": [0, 0, 1, 1] * 2, "loss": [0.1] * 8})
        made: dict[str, Callable[[Any], Any]] = {
            "polars": pl.from_arrow,
            "polars lazy": lambda t: pl.DataFrame(t).lazy(),
            "pyarrow": lambda t: t,
            "duckdb": duckdb.connect().from_arrow,
        }
        given = made[engine](table)
        population = Population.from_frame(given, label="y", group="g", losses="loss")
        assert population.groups == tuple(sorted(names))
        assert {type(name) for name in population.groups} == {type(names[0])}


def test_nested_names_are_refused() -> None:
    frame = pl.DataFrame({"g": [[1], [2]], "income": [0, 1], "loss": [0.1, 0.2]})
    for given in (frame, frame.lazy()):
        with pytest.raises(InputError, match="column 'g' holds List"):
            Population.from_frame(given, label="income", group="g", losses="loss")


def test_a_query_that_fails_says_so(tmp_path: Path) -> None:
    rows(60).drop(columns="size").to_parquet(tmp_path / "rows.parquet")
    relation = duckdb.connect().read_parquet(str(tmp_path / "rows.parquet")).project("*, error('broken') AS bad")
    with pytest.raises(InputError, match=r"its engine.*could not run the query.*broken"):
        Population.from_frame(relation, label="income", group="bad", prediction="predicted")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_no_row_leaves_a_lazy_engine(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fetched has at most a row per cell and bin, and probabilities named by label take one query."""
    file = tmp_path / "rows.parquet"
    rows(100_000).drop(columns="size").to_parquet(file)
    lazy = pl.scan_parquet(file) if engine == "polars" else duckdb.connect().read_parquet(str(file))
    fetched: list[int] = []

    def watched(query: Any) -> Any:
        result = fetch(query)
        fetched.append(len(result))
        return result

    monkeypatch.setattr("fairbound.data.lazy_frames.fetch", watched)
    Population.from_frame(lazy, label="income", group="sex", probability={">50K": "probability"})
    assert len(fetched) == 1
    assert fetched[0] <= 4 * 4097
    Population.from_frame(lazy, label="income", group="sex", prediction="predicted")
    assert fetched[1:] == [8]


def test_the_caller_keeps_the_frame() -> None:
    frame = rows(60)
    before = frame.copy()
    Population.from_frame(frame, missing="drop", **BY_PROBABILITY)
    pd.testing.assert_frame_equal(frame, before)


@each_lazy_engine
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_a_sample_that_an_engine_counted(engine: str, shift: Any) -> None:
    """Confidence works on an engine's histogram too, is proved, and agrees with arrays up to the rounding's chance."""
    given = rows(10_000)
    call: dict[str, Any] = {"label": "class", "group": "sex", "losses": "loss"}
    found = certify(Population.from_frame(ENGINES[engine](given), **call), 0.3, shift=shift, confidence=0.95)
    exact = certify(Population.from_frame(given, **call), 0.3, shift=shift, confidence=0.95)
    assert verify(found.to_json()).valid
    assert found.bound == pytest.approx(exact.bound, abs=0.01)
