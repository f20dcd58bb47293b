"""Engines that many people count with give what rows in memory give, send only bins, and say what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbound import InputError, Population, certify, verify
from fairbound.data.frame_values import fetch
from tests.data.engines import (
    COUNTING,
    SENDING,
    SLOW_COUNTING,
    SLOW_SENDING,
    Opener,
    postgres_connection,
    postgres_table,
)
from tests.data.test_bad_input import assert_clear
from tests.data.test_frames import assert_as_good, assert_identical, rows

# Of how engines use the libraries below them, these warn, not of what we do.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]

SLOW = SLOW_COUNTING | SLOW_SENDING
ENGINES = COUNTING | SENDING | SLOW


def each(quick: dict[str, Opener], slow: dict[str, Opener]) -> list[Any]:
    """Return the engines to test, the slow ones marked."""
    return [*quick, *(pytest.param(name, marks=pytest.mark.slow) for name in slow)]


CALLS: dict[str, dict[str, Any]] = {
    "predictions": {"label": "income", "group": "sex", "prediction": "predicted"},
    "groups": {"label": "income_bit", "group": ["sex", "old", "number"], "prediction": "predicted_bit"},
    "weighted predictions": {"label": "class", "group": "sex", "prediction": "class", "weight": "count"},
    "brier": {"label": "income", "group": "sex", "probability": "probability"},
    "brier, clipped": {"label": "income", "group": "sex", "probability": "probability", "clip": 0.2},
    "a label by name": {"label": "income", "group": "sex", "probability": {"<=50K": "probability"}},
    "absolute": {"label": "income", "group": "sex", "probability": "probability", "loss": "absolute"},
    "jsd": {"label": "income", "group": "sex", "probability": "probability", "loss": "jsd"},
    "three labels": {"label": "class", "group": "sex", "probability": ["a", "b", "c"], "loss": "jsd"},
    "cross entropy": {
        "label": "income", "group": "sex", "probability": "probability", "loss": "cross_entropy", "clip": 1.5,
    },
    "no ceiling": {"label": "income", "group": "sex", "probability": "probability", "loss": "cross_entropy"},
    "losses": {"label": "income_bit", "group": ["sex", "number"], "losses": "loss"},
    "small losses": {"label": "income", "group": "sex", "losses": "loss", "ceiling": 1e6},
    "weighted losses": {"label": "income", "group": "sex", "losses": "loss", "weight": "weight"},
    "missing": {"label": "income", "group": "sex", "losses": "gaps", "missing": "drop"},
}  # fmt: skip


def plain(size: int) -> pd.DataFrame:
    """The rows without categories, which not all engines have, and with names that all of them take."""
    return rows(size).drop(columns="size").rename(columns=lambda name: name.replace(" ", "_"))


def people() -> pd.DataFrame:
    """The rows, with a column that has gaps, and probabilities of 0 and 1 that were right."""
    frame = plain(4000)
    frame["gaps"] = frame["loss"].where(np.arange(4000) % 100 != 7)
    rich = frame["income"] == ">50K"
    return frame.assign(probability=frame["probability"].where(np.arange(4000) % 50 != 3, rich.astype(float)))


def exact(call: dict[str, Any]) -> Population:
    return Population.from_frame(people(), **call)


BY_LOSS: dict[str, Any] = {"label": "income", "group": "sex", "losses": "loss"}
BY_PROBABILITY: dict[str, Any] = {"label": "income", "group": "sex", "probability": "probability"}
#: A column, what its fifth row holds, the call, and what the message says.
FAULTS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("loss", 1.5, BY_LOSS, "column 'loss' holds 1.5, outside [0, 1] ... ceiling"),
    ("loss", -0.5, BY_LOSS, "column 'loss' holds -0.5"),
    ("loss", math.inf, BY_LOSS, "column 'loss' holds inf"),
    ("loss", None, BY_LOSS, "column 'loss' has no value in 1 of 60 rows"),
    ("sex", None, BY_LOSS, "column 'sex' has no value in 1 of 60 rows"),
    ("weight", -1.0, BY_LOSS | {"weight": "weight"}, "column 'weight' holds -1.0"),
    ("probability", 1.25, BY_PROBABILITY, "column 'probability' holds 1.25"),
    ("probability", -2.0, BY_PROBABILITY | {"loss": "cross_entropy", "clip": 1.0}, "holds -2.0"),
    ("probability", 1.5, BY_PROBABILITY | {"loss": "jsd"}, "holds 1.5"),
    ("probability", None, BY_PROBABILITY | {"loss": "jsd"}, "column 'probability' has no value in 1 of 60 rows"),
]


def spoilt(column: str, value: Any) -> pd.DataFrame:
    frame = plain(60)
    frame.loc[4, column] = value
    return frame


def check_faults(opener: Opener, folder: Path) -> None:
    """Each fault is named as it is for rows in memory."""
    for number, (column, value, call, parts) in enumerate(FAULTS):
        place = folder / str(number)
        place.mkdir()
        with pytest.raises(InputError) as caught:
            Population.from_frame(opener(spoilt(column, value), place), **call)
        assert_clear(caught.value, parts)


def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that will hold how many rows each query has sent."""
    found: list[int] = []

    def watched(query: Any) -> Any:
        result = fetch(query)
        found.append(len(result))
        return result

    monkeypatch.setattr("fairbound.data.lazy_frames.fetch", watched)
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("engine", each(COUNTING, SLOW_COUNTING))
def test_what_an_engine_counts(engine: str, call: str, tmp_path: Path) -> None:
    found = Population.from_frame(ENGINES[engine](people(), tmp_path), **CALLS[call])
    assert_as_good(found, exact(CALLS[call]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("engine", each(SENDING, SLOW_SENDING))
def test_what_batches_hold(engine: str, call: str, tmp_path: Path) -> None:
    found = Population.from_frame(ENGINES[engine](people(), tmp_path), **CALLS[call])
    assert_identical(found, exact(CALLS[call]))
    assert found.excluded_rows == exact(CALLS[call]).excluded_rows


@pytest.mark.parametrize("engine", each(COUNTING | SENDING, SLOW))
def test_faults_are_named(engine: str, tmp_path: Path) -> None:
    check_faults(ENGINES[engine], tmp_path)


@pytest.mark.parametrize("engine", each(COUNTING | SENDING, SLOW))
def test_columns_that_are_not_there(engine: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'Sex'; did you mean 'sex'"):
        Population.from_frame(ENGINES[engine](plain(60), tmp_path), **BY_LOSS | {"group": "Sex"})


def test_a_stream_that_was_read_before_is_empty(tmp_path: Path) -> None:
    given = SENDING["reader"](plain(60), tmp_path)
    Population.from_frame(given, **BY_LOSS)
    with pytest.raises(InputError, match="frame is empty: there are no rows"):
        Population.from_frame(given, **BY_LOSS)


@pytest.mark.parametrize("engine", each(COUNTING, SLOW_COUNTING))
def test_no_row_leaves(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = fetched(monkeypatch)
    frame = plain(30_000)
    Population.from_frame(ENGINES[engine](frame, tmp_path), **BY_PROBABILITY | {"loss": "jsd"})
    assert [sent[0], *(size <= 4 * 4097 for size in sent[1:])] == [2, True]


@pytest.mark.parametrize("engine", each(COUNTING, SLOW_COUNTING))
def test_weights_are_added_up_with_one_rounding(engine: str, tmp_path: Path) -> None:
    frame = plain(5000)
    frame["weight"] = np.exp(np.random.default_rng(3).normal(size=5000) * 4)
    frame["loss"] = 0.25
    found = Population.from_frame(ENGINES[engine](frame, tmp_path), **BY_LOSS, weight="weight")
    for s, sex in enumerate(found.groups):
        for y, income in enumerate(found.labels):
            cell = frame["weight"][(frame["sex"] == sex) & (frame["income"] == income)]
            assert found.weight[s, y] == math.fsum(cell)


@pytest.mark.parametrize("engine", each(COUNTING, SLOW_COUNTING))
def test_the_proof_of_what_an_engine_counted_is_accepted(engine: str, tmp_path: Path) -> None:
    population = Population.from_frame(ENGINES[engine](people(), tmp_path), **CALLS["weighted losses"])
    assert verify(certify(population, 0.3).to_json()).valid


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with postgres_connection() as connection:
        yield connection


@pytest.fixture(scope="module")
def people_in_postgres(postgres: Any) -> Any:
    return postgres_table(people(), postgres)


@pytest.mark.parametrize("call", CALLS)
def test_what_postgresql_counts(people_in_postgres: Any, call: str) -> None:
    assert_as_good(Population.from_frame(people_in_postgres, **CALLS[call]), exact(CALLS[call]))


def test_faults_in_postgresql_are_named(postgres: Any, tmp_path: Path) -> None:
    check_faults(lambda frame, _: postgres_table(frame, postgres), tmp_path)


@pytest.mark.parametrize("loss", ["brier", "jsd", "cross_entropy"])
def test_postgresql_neither_sorts_the_rows_nor_turns_numbers_into_decimals(
    people_in_postgres: Any, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan does not expect a group for each row, and stays in double precision."""
    import ibis  # noqa: PLC0415 (not everywhere)

    queries: list[str] = []

    def watched(query: Any) -> Any:
        queries.append(str(ibis.to_sql(query.to_native())))
        return fetch(query)

    monkeypatch.setattr("fairbound.data.lazy_frames.fetch", watched)
    call = CALLS["cross entropy"] | {"probability": {">50K": "probability"}, "loss": loss}
    Population.from_frame(people_in_postgres, **call)
    (query,) = queries
    connection = people_in_postgres.get_backend()
    with connection.raw_sql(f"EXPLAIN (VERBOSE, FORMAT JSON) {query}") as answer:
        plan = answer.fetchone()[0][0]["Plan"]
    while "Strategy" not in plan:
        (plan,) = plan["Plans"]
    assert plan["Strategy"] == "Hashed"
    assert plan["Plan Rows"] < len(people()) / 2
    assert "numeric" not in str(plan)
