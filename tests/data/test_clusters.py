"""Ten million rows, counted by several processes: the same counts as on one machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fairbound import Population
from tests.data.engines import spark_cluster, spark_session
from tests.data.test_engines import pytestmark
from tests.data.test_frames import table

pytestmark = [pytest.mark.slow, *pytestmark]

FILES, SIZE = 8, 1_250_000
CALLS: dict[str, dict[str, Any]] = {
    "predictions": {"label": "income", "group": ["sex", "old"], "prediction": "predicted"},
    "probabilities": {"label": "income", "group": "sex", "probability": {">50K": "probability"}, "loss": "jsd"},
    "weighted losses": {"label": "income", "group": ["sex", "old"], "losses": "loss", "weight": "weight"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("millions")
    for number in range(FILES):
        rng = np.random.default_rng(number)
        rich = rng.random(SIZE) < 0.3
        columns = {
            "sex": np.array(["Female", "Male"])[rng.integers(2, size=SIZE)],
            "old": rng.random(SIZE) < 0.2,
            "income": np.where(rich, ">50K", "<=50K"),
            "predicted": np.where(rng.random(SIZE) < 0.2, "<=50K", np.where(rich, ">50K", "<=50K")),
            "probability": np.where(rich, rng.beta(4, 2, SIZE), rng.beta(2, 4, SIZE)),
            "loss": rng.beta(0.5, 3, SIZE),
            "weight": rng.exponential(size=SIZE),
        }
        pyarrow.parquet.write_table(pa.table(columns), place / f"{number}.parquet")
    yield place
    for file in place.iterdir():
        file.unlink()


def check(frame: Any, folder: Path) -> None:
    """Compare with what DuckDB counts: the same rows and edges of bins, and sums of losses but for rounding."""
    alone = duckdb.connect().read_parquet(str(folder / "*.parquet"))
    for call in CALLS.values():
        found, expected = Population.from_frame(frame, **call), Population.from_frame(alone, **call)
        assert found.rows == FILES * SIZE
        assert (found.groups, found.labels) == (expected.groups, expected.labels)
        np.testing.assert_array_equal(found.weight, expected.weight)
        ours, theirs = table(found), table(expected)
        if "probability" in call:  # logarithms may differ in their last bit, and move a row to the next bin
            np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-13)
            continue
        for field in ("low", "high", "weight"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
        np.testing.assert_allclose(ours.to_high, theirs.to_high, rtol=1e-9)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-14)


def test_dask_distributed(folder: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask's scheduler, distributed, is not installed")
    dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, host="127.0.0.1") as cluster, distributed.Client(cluster) as client:
        processes = set(client.run(lambda: __import__("os").getpid()).values())
        assert len(processes) == 2
        check(dataframe.read_parquet(str(folder)), folder)


def test_spark_standalone(folder: Path, tmp_path: Path) -> None:
    with spark_cluster(tmp_path, workers=2) as address, spark_session(tmp_path, address) as session:
        status = session.sparkContext._jsc.sc()
        for _ in range(600):
            if status.getExecutorMemoryStatus().size() == 3:  # two workers and the driver
                break
            time.sleep(0.1)
        assert status.getExecutorMemoryStatus().size() == 3
        check(session.read.parquet(str(folder)), folder)
