"""Engines count the whole numbers that we count ourselves, to the last bit; the command line opens databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbound import InputError, Tally
from fairbound.cli.program import main
from tests.data.engines import (
    COUNTING,
    SENDING,
    SLOW_COUNTING,
    SLOW_SENDING,
    postgres_connection,
    postgres_table,
    spark_session,
)

# Of how engines use the libraries below them, these warn, not of what we do.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]

ENGINES = COUNTING | SENDING | SLOW_COUNTING | SLOW_SENDING
SLOW = {*SLOW_COUNTING, *SLOW_SENDING}
WAYS: dict[str, dict[str, Any]] = {
    "predictions": {"prediction": "predicted", "strata": "region"},
    "weighted predictions": {"prediction": "predicted", "weight": "weight"},
    "losses": {"losses": "loss"},
    "weighted losses": {
        "losses": "loss",
        "weight": "weight",
        "ceiling": 1.7,
        "groups": ["m", "f", "x"],
        "strata": ["region", "floor"],
    },
}
each_engine = pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ENGINES]
)


def rows(size: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size),
            "income": rng.choice(["no", "yes"], size),
            "predicted": rng.choice(["no", "yes"], size),
            "loss": np.where(rng.random(size) < 0.2, rng.choice([0.0, 0.5, 1.0], size), rng.beta(0.3, 2.0, size)),
            "weight": rng.exponential(size=size),
            "region": rng.choice(["n", "s", "w"], size),
            "floor": rng.integers(0, 5, size),
        }
    )


def counted(frame: Any, way: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Tally.count(frame, label="income", group="sex", **WAYS[way]).to_json())
    return found


@each_engine
@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", WAYS)
def test_all_engines_count_the_same(engine: str, way: str, tmp_path: Path) -> None:
    assert counted(ENGINES[engine](rows(), tmp_path), way) == counted(rows(), way)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_spark_counts_the_same(spark: Any, way: str, tmp_path: Path) -> None:
    rows().to_parquet(tmp_path / "rows.parquet")
    assert counted(spark.read.parquet(str(tmp_path / "rows.parquet")), way) == counted(rows(), way)


@each_engine
def test_a_missing_weight_is_refused(engine: str, tmp_path: Path) -> None:
    frame = rows(60)
    frame.loc[4, "weight"] = None
    with pytest.raises(InputError, match="column 'weight' has no value in 1 of 60 rows"):
        counted(ENGINES[engine](frame, tmp_path), "weighted losses")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with postgres_connection() as connection:
        yield connection


@pytest.mark.parametrize("way", WAYS)
def test_postgresql_counts_the_same(postgres: Any, way: str) -> None:
    assert counted(postgres_table(rows(), postgres), way) == counted(rows(), way)


def test_the_command_line_reads_postgresql(postgres: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = postgres_table(rows(), postgres).get_name()
    told = postgres.con.info
    address = f"postgresql://{told.user}:secret@{told.host}:{told.port}/{told.dbname}"
    asked = ["--table", table, "--label", "income", "--group", "sex", "--prediction", "predicted", "--strata", "region"]
    assert main(["count", address, *asked, "-o", str(tmp_path / "tally.json")]) == 0
    assert json.loads((tmp_path / "tally.json").read_text()) == counted(rows(), "predictions")
    capsys.readouterr()
    assert main(["certify", address, *asked, "--rho", "0.3"]) == 0
    said = capsys.readouterr().out
    assert "1,500 rows" in said
    assert "secret" not in said
    assert main(["certify", address, *asked[2:], "--table", "nothing", "--rho", "0.3"]) == 2
    assert "secret" not in capsys.readouterr().err
