"""Spark counts what rows in memory hold: a local session with workers in the driver's process, and Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbound import Population, Tally
from tests.data.engines import parquet, spark_connection, spark_session
from tests.data.test_engines import BY_PROBABILITY, CALLS, check_faults, exact, fetched, people, plain, pytestmark
from tests.data.test_frames import assert_as_good

pytestmark = [pytest.mark.slow, *pytestmark]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def people_in_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return spark.read.parquet(parquet(people(), tmp_path_factory.mktemp("people")))


@pytest.mark.parametrize("call", CALLS)
def test_what_spark_counts(people_in_spark: Any, call: str) -> None:
    assert_as_good(Population.from_frame(people_in_spark, **CALLS[call]), exact(CALLS[call]))


def test_faults_in_spark_are_named(spark: Any, tmp_path: Path) -> None:
    check_faults(lambda frame, folder: spark.read.parquet(parquet(frame, folder)), tmp_path)


def test_no_row_leaves_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = fetched(monkeypatch)
    frame = spark.read.parquet(parquet(plain(30_000), tmp_path))
    Population.from_frame(frame, **BY_PROBABILITY | {"loss": "jsd"})
    assert [sent[0], *(size <= 4 * 4097 for size in sent[1:])] == [2, True]


def test_a_table_of_spark_that_is_in_folders_by_group(spark: Any, tmp_path: Path) -> None:
    """As Hive lays tables out: the group is not in the files, but in the names of their folders."""
    rows = plain(3000)
    spark.read.parquet(parquet(rows, tmp_path)).write.partitionBy("sex").parquet(str(tmp_path / "hive"))
    found = Population.from_frame(spark.read.parquet(str(tmp_path / "hive")), **CALLS["predictions"])
    np.testing.assert_array_equal(found.weight, Population.from_frame(rows, **CALLS["predictions"]).weight)


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with spark_connection(tmp_path_factory.mktemp("connect")) as session:
        yield session


@pytest.mark.parametrize("call", ["groups", "jsd", "weighted losses", "missing"])
def test_what_spark_counts_for_a_client_elsewhere(connected: Any, call: str, tmp_path: Path) -> None:
    found = Population.from_frame(connected.read.parquet(parquet(people(), tmp_path)), **CALLS[call])
    assert_as_good(found, exact(CALLS[call]))


def test_faults_are_named_through_spark_connect(connected: Any, tmp_path: Path) -> None:
    check_faults(lambda frame, folder: connected.read.parquet(parquet(frame, folder)), tmp_path)


def test_no_row_leaves_the_server_of_spark_connect(
    connected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = fetched(monkeypatch)
    frame = connected.read.parquet(parquet(plain(30_000), tmp_path))
    Population.from_frame(frame, **BY_PROBABILITY)
    assert [sent[0], *(size <= 4 * 4097 for size in sent[1:])] == [2, True]


def test_a_tally_through_spark_connect(connected: Any, tmp_path: Path) -> None:
    call = CALLS["weighted losses"]
    found = Tally.count(connected.read.parquet(parquet(people(), tmp_path)), **call)
    assert found.to_json() == Tally.count(people(), **call).to_json()
