"""Strata: every way of reading rows counts the same ones; numbers are cut without a look at losses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest

from fairbound import InputError, Population, Tally, certify
from fairbound.cli.program import main
from fairbound.data.csv_file import CsvFile
from fairbound.data.strata import Strata
from fairbound.data.tally_document import digest_of
from tests.data.engines import arrow

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


def same(one: Population, other: Population, *, weighted: bool = False) -> None:
    assert known(one).losses.names == known(other).losses.names
    np.testing.assert_allclose(known(one).losses.weight, known(other).losses.weight, rtol=1e-12)
    np.testing.assert_allclose(known(one).losses.low, known(other).losses.low, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(one.weight, other.weight, rtol=1e-14 if weighted else 0)
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
    parts = [Tally.count(part, **ROLES, strata=["age", "region"]) for part in (rows[:150], rows[150:])]
    tally = Tally.from_json((parts[0] + parts[1]).to_json())
    same(first, Population.from_tally(tally, cuts=asked["cuts"]))

    def model(some: pandas.DataFrame) -> Any:
        return some.yhat.to_numpy()

    estimated = Population.from_estimator(
        model, rows, rows.y, sensitive_features=rows.sex, strata=columns, cuts=asked["cuts"]
    )
    same(first, estimated)


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
    quantiles = Population.from_frame(rows, **ROLES, strata="age", cuts={"age": 4})
    with pytest.raises(InputError, match="needs strata that do not depend on the rows"):
        certify(quantiles, 0.2, shift="stratified", confidence=0.9)
    counted = Population.from_tally(Tally.count(rows, **ROLES, strata="region"))
    bounds = [certify(one, 0.2, shift="stratified", confidence=0.9).bound for one in (population, counted)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)
    tally = Tally.count(rows, **ROLES)
    with pytest.raises(InputError, match="needs strata"):
        certify(Population.from_tally(tally), 0.2, shift="stratified")
    with pytest.raises(InputError, match="of which there are none"):
        Population.from_tally(tally, cuts={"age": 4})


# Strata in tallies

WAYS: dict[str, dict[str, Any]] = {
    "predictions": {"prediction": "yhat"},
    "weighted predictions": {"prediction": "yhat", "weight": "w"},
    "weighted losses": {"losses": "loss", "weight": "w", "ceiling": 1.7},
    "probabilities": {"probability": {"yes": "loss"}, "labels": ["no", "yes"], "groups": ["m", "f"]},
}


def costly(rows: int = 400, seed: int = 0) -> pandas.DataFrame:
    rng = np.random.default_rng(seed + 100)
    return table(rows, seed).assign(loss=rng.beta(0.5, 2.0, rows), w=rng.exponential(size=rows))


def tally(frame: Any, way: str = "predictions", **more: Any) -> Tally:
    return Tally.count(frame, label="y", group="sex", **WAYS[way], strata=["age", "region"], **more)


@pytest.mark.parametrize("way", WAYS)
def test_the_strata_of_parts_add_up_to_those_of_all_rows(way: str) -> None:
    """To the last bit, in any order, in memory and in engines; and a population is that of the rows."""
    rows = costly()
    parts = [tally(rows[start : start + 100], way) for start in range(0, 400, 100)]
    whole, orders = tally(rows, way), [parts, parts[::-1], [parts[2] + parts[0], parts[1] + parts[3]]]
    if way != "probabilities":  # an engine's losses may differ in the last digit
        lazy = [polars.from_pandas(rows[:200]).lazy(), duckdb.connect().from_arrow(arrow(rows[200:]))]
        orders.append([tally(one, way) for one in lazy])
    for some in orders:
        found = Tally.from_json(Tally.merged(some).to_json())
        assert (found.cells, found.strata, found.plan) == (whole.cells, whole.strata, whole.plan)
    cuts = {"age": [30, 60]}
    frame = Population.from_frame(rows, label="y", group="sex", **WAYS[way], strata=["age", "region"], cuts=cuts)
    population = Population.from_tally(whole, cuts=cuts)
    same(frame, population, weighted="weight" in WAYS[way])
    bounds = [certify(one, 0.3, shift="stratified").bound for one in (frame, population)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)


def test_sites_of_other_strata() -> None:
    """A site may lack strata that others have, but not columns, and their values must be of one type."""
    rows = costly()
    north, rest = rows[rows.region == "n"], rows[rows.region != "n"]
    assert (tally(north) + tally(rest)).strata == tally(rows).strata
    plain = Tally.count(rest, **ROLES)
    with pytest.raises(InputError, match=r"different plans: strata is \('age', 'region'\)"):
        tally(north) + plain
    with pytest.raises(InputError, match="the strata of these tallies have different types"):
        tally(north) + tally(rest.assign(region=7))
    gap = rows.assign(region=rows.region.where(rows.index != 3))
    for frame in (gap, polars.from_pandas(gap).lazy()):
        with pytest.raises(InputError, match="column 'region' has no value in 1 of 400 rows"):
            tally(frame)
        assert tally(frame, missing="drop").strata == tally(gap.drop(index=3)).strata


@pytest.mark.parametrize("way", ["predictions", "weighted losses"])
def test_least_counts_hold_for_strata(way: str) -> None:
    rows = costly(2000).assign(age=lambda frame: frame.age // 70, yhat="no")
    with pytest.raises(InputError, match="has only"):
        tally(rows.assign(region=["x", *rows.region[1:]]), way, min_count=5)
    shielded = tally(rows, way, min_count=5)
    entries = [entry for held in shielded.strata.values() for entry in held.values()]
    assert min(entry.rows for entry in entries) >= 5
    assert {(entry.least, entry.most) for entry in entries} == {(None, None)}
    same(Population.from_tally(tally(rows, way), cuts={}), Population.from_tally(shielded), weighted=True)


def forged(change: Callable[[Any], object]) -> str:
    document = json.loads(tally(costly(), "weighted losses").to_json())
    change(document)
    document["digest"] = digest_of([document[key] for key in ("plan", "parts", "cells", "strata")])
    document["plan_digest"] = digest_of(document["plan"])
    return json.dumps(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["strata"].pop(),
        lambda d: d["strata"].append(d["strata"][0]),
        lambda d: d.update(strata=[]),
        lambda d: d["plan"].update(strata=[]),
        lambda d: d["plan"].update(strata=["age", "region", "more"]),
        lambda d: d["strata"][0].update(group="f"),
        lambda d: d["strata"][0].update(group=["m", *d["strata"][0]["group"][1:]]),
        lambda d: d["strata"][0]["rows"].__setitem__(0, d["strata"][0]["rows"][0] + 1),
        lambda d: d["strata"][0]["weight"].__setitem__(0, d["strata"][0]["weight"][0] + 1),
        lambda d: d["strata"][0]["above"].__setitem__(0, 2 * d["strata"][0]["weight"][0]),
        lambda d: d["strata"][0].update(first=[1], last=[1]),
    ],
)
def test_documents_whose_strata_do_not_fit_are_refused(change: Callable[[Any], object]) -> None:
    Tally.from_json(forged(lambda d: d))
    with pytest.raises(InputError, match="this is not a tally"):
        Tally.from_json(forged(change))


def test_strata_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = costly()
    asked = ["--label", "y", "--group", "sex", "--prediction", "yhat", "--strata", "age", "--strata", "region"]
    question = ["--cuts", "age=30,60", "--shift", "stratified", "--rho", "0.3"]
    for number, part in enumerate((rows[:150], rows[150:])):
        part.to_csv(tmp_path / f"{number}.csv", index=False)
        assert main(["count", str(tmp_path / f"{number}.csv"), *asked, "-o", str(tmp_path / f"{number}.json")]) == 0
    capsys.readouterr()
    files = [str(tmp_path / f"{number}.csv") for number in (0, 1)]
    assert main(["certify", *files, *asked, *question, "--format", "line"]) == 0
    of_rows = capsys.readouterr().out
    tallies = [str(tmp_path / f"{number}.json") for number in (0, 1)]
    assert main(["certify", *tallies, *question, "--format", "line"]) == 0
    assert capsys.readouterr().out == of_rows != ""
    assert main(["certify", *tallies, "--strata", "age", *question]) == 2
    assert "--strata" in capsys.readouterr().err
