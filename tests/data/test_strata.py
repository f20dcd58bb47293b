"""Strata: every way of reading rows counts the same ones; numbers are cut without a look at losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from fairbound import InputError, Population, Tally, certify
from fairbound.data.csv_file import CsvFile
from fairbound.data.strata import Strata

ROLES: dict[str, Any] = {"label": "y", "group": "sex", "prediction": "yhat"}


def table(rows: int = 400, seed: int = 0) -> pandas.DataFrame:
    """Return rows with two columns to stratify by."""
    rng = np.random.default_rng(seed)
    sex, y = rng.choice(["f", "m"], rows), rng.choice(["no", "yes"], rows)
    age, region = rng.integers(18, 80, rows), rng.choice(["n", "s", "w"], rows)
    yhat = np.where(rng.random(rows) < 0.1 + 0.3 * (age > 60), np.where(y == "no", "yes", "no"), y)
    return pandas.DataFrame({"sex": sex, "y": y, "yhat": yhat, "age": age, "region": region})


def known(population: Population) -> Strata:
    assert population.strata is not None
    return population.strata


def same(one: Population, other: Population) -> None:
    assert known(one).losses.names == known(other).losses.names
    np.testing.assert_allclose(known(one).losses.weight, known(other).losses.weight, rtol=1e-12)
    np.testing.assert_allclose(known(one).losses.low, known(other).losses.low, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(one.weight, other.weight)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)


def test_against_counting_by_hand() -> None:
    rows = table()
    population = Population.from_frame(rows, **ROLES, strata=["age", "region"], cuts={"age": [30, 60]})
    losses = known(population).losses
    assert len(losses.names) == 9
    assert losses.names[0] == ("below 30", "n")
    assert losses.names[-1] == ("60 and more", "w")
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            names: Any = losses.names
            for h, (band, region) in enumerate(names):
                low, high = {"below 30": (0, 30), "30 to below 60": (30, 60), "60 and more": (60, 200)}[band]
                held = rows[(rows.sex == group) & (rows.y == label) & (rows.region == region)]
                held = held[(held.age >= low) & (held.age < high)]
                assert losses.weight[s, y, h] == len(held)
                if len(held):
                    assert losses.low[s, y, h] == pytest.approx((held.y != held.yhat).mean(), abs=1e-15)
                    rate = known(population.selecting("yes")).losses.low[s, y, h]
                    assert rate == pytest.approx((held.yhat == "yes").mean(), abs=1e-15)


def test_every_way_of_reading(tmp_path: Path) -> None:
    rows = table()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked: dict[str, Any] = {"strata": ["age", "region"], "cuts": {"age": [30, 60]}}
    first = Population.from_frame(rows, **ROLES, **asked)
    same(first, Population.from_frame(polars.from_pandas(rows), **ROLES, **asked))
    same(first, Population.from_frame(polars.from_pandas(rows).lazy(), **ROLES, **asked))
    same(first, Population.from_frame(CsvFile(str(tmp_path / "rows.csv")), **ROLES, **asked))
    columns = {name: rows[name].to_numpy() for name in ("age", "region")}
    same(
        first,
        Population.from_predictions(
            rows.y, rows.yhat, sensitive_features=rows.sex, strata=columns, cuts={"age": [30, 60]}
        ),
    )
    wrong = (rows.y != rows.yhat).to_numpy(float)
    losses = Population.from_losses(
        wrong, rows.y, sensitive_features=rows.sex, loss="zero_one", strata=rows[["age", "region"]], cuts=asked["cuts"]
    )
    same(first, losses)
    parts = [Tally.count(part, **{**ROLES, "group": ["sex", "age", "region"]}) for part in (rows[:150], rows[150:])]
    tally = Tally.from_json((parts[0] + parts[1]).to_json())
    same(first, Population.from_tally(tally, strata=2, cuts={0: [30, 60]}))


def test_weights_and_several_groups() -> None:
    rows = table().assign(w=np.random.default_rng(1).uniform(0.5, 2, 400))
    asked: dict[str, Any] = {**ROLES, "group": ["sex", "region"], "weight": "w"}
    population = Population.from_frame(rows, **asked, strata="age", cuts={"age": 3})
    plain = Population.from_frame(rows, **asked)
    assert set(population.groups) == set(plain.groups)
    order = [plain.groups.index(group) for group in population.groups]
    np.testing.assert_allclose(population.weight, plain.weight[order])
    losses = known(population).losses
    np.testing.assert_allclose(losses.weight.sum(axis=2), population.weight)
    np.testing.assert_allclose(losses.mean, population.mean)


def test_quantiles_are_of_the_column_alone() -> None:
    rows = table(1000)
    other = rows.assign(yhat=rows.y)
    made = [Population.from_frame(frame, **ROLES, strata="age", cuts={"age": 4}) for frame in (rows, other)]
    first, second = (known(population).losses for population in made)
    assert first.names == second.names
    assert len(first.names) == 4
    shares = first.weight.sum(axis=(0, 1)) / 1000
    assert (np.abs(shares - 0.25) < 0.03).all()
    alike = rows.assign(age=40)
    assert known(Population.from_frame(alike, **ROLES, strata="age", cuts={"age": 4})).losses.names == ("all",)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"strata": "age", "cuts": {"age": [60, 30]}}, "cut points that increase"),
        ({"strata": "age", "cuts": {"age": []}}, "cut points that increase"),
        ({"strata": "region", "cuts": {"region": 3}}, "are for numbers"),
        ({"strata": "region", "cuts": {"age": 3}}, "no column of the strata"),
        ({"strata": "age", "cuts": {"age": 1}}, "number of quantiles"),
        ({"strata": "nobody"}, "nobody"),
    ],
)
def test_what_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Population.from_frame(table(), **ROLES, **asked)


def test_questions_that_need_strata() -> None:
    rows = table()
    with pytest.raises(InputError, match="needs strata"):
        certify(Population.from_frame(rows, **ROLES), 0.2, shift="stratified")
    population = Population.from_frame(rows, **ROLES, strata="region")
    with pytest.raises(InputError, match="only the means of strata"):
        certify(population.by_strata, 0.2)
    with pytest.raises(InputError, match="does not go with shift='stratified'"):
        certify(population, 0.2, shift="stratified", confidence=0.9)
    tally = Tally.count(rows, **ROLES)
    with pytest.raises(InputError, match="has not so many columns"):
        Population.from_tally(tally, strata=1)
