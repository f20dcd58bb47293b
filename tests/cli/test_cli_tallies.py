"""Counting in many places, merging and certifying; and files of every kind that people have."""

from __future__ import annotations

import http.server
import io
import json
import re
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from fairbound.cli import engines
from fairbound.cli.program import main
from tests.commands import COLUMNS, predictions

ASK = [*COLUMNS, "--rho", "0.3", "--format", "json"]


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return predictions(600)


def certified(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status = main(["certify", *arguments])
    said = capsys.readouterr()
    assert status == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return {key: found[key] for key in ("population", "results")}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


@pytest.fixture
def expected(rows: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    rows.write_csv(tmp_path / "whole.csv")
    return certified(capsys, str(tmp_path / "whole.csv"), *ASK)


def test_counts_of_many_places_are_certified(
    rows: pl.DataFrame, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = [rows.filter(pl.col("sex") == "f"), *rows.filter(pl.col("sex") == "m").iter_slices(100)]
    for number, site in enumerate(sites):  # a site with a single group, some CSV and some Parquet
        file = tmp_path / (f"site{number}.csv" if number % 2 else f"site{number}.parquet")
        site.write_csv(file) if number % 2 else site.write_parquet(file)
        tally = tmp_path / f"tally-{number}.json"
        assert main(["count", str(file), *COLUMNS, "--name", f"site {number}", "-o", str(tally)]) == 0
        assert f"{len(site)} rows in 1 part, {1} group, 2 labels" in capsys.readouterr().out
    tallies = [str(tmp_path / f"tally-{number}.json") for number in range(len(sites))]
    both = [tmp_path / "all.json", tmp_path / "again.json"]
    assert main(["merge", str(tmp_path / "tally-*.json"), "-o", str(both[0])]) == 0
    assert f"600 rows in {len(sites)} parts, 2 groups" in capsys.readouterr().out
    assert main(["merge", *reversed(tallies), "-o", str(both[1])]) == 0
    capsys.readouterr()
    assert both[0].read_bytes() == both[1].read_bytes()
    asked = ASK[len(COLUMNS) :]
    assert certified(capsys, str(both[0]), *asked) == expected
    assert certified(capsys, *tallies, *asked) == expected
    assert certified(capsys, str(tmp_path / "tally-*.json"), *asked) == expected
    assert main(["certify", str(both[0]), *asked[:2], "--confidence", "0.9"]) == 0
    assert f"the rows of all {len(sites)} parts" in " ".join(capsys.readouterr().out.split())
    assert main(["certify", str(both[0]), *asked[:2]]) == 0
    assert "parts" not in capsys.readouterr().out
    assert certified(capsys, str(both[0]), *asked, "--confidence", "0.9")["population"]["rows"] == 600
    assert "there is the part" not in (twice := refused(capsys, "merge", str(both[0]), tallies[0], "-o", str(both[1])))
    assert "is there twice" in twice
    assert "whose columns were named when it was counted" in refused(capsys, "certify", str(both[0]), *ASK)
    assert "is a tally, not a table" in refused(capsys, "count", str(both[0]), *COLUMNS, "-o", str(tmp_path / "x"))
    mixed = refused(capsys, "certify", str(both[0]), str(tmp_path / "site0.parquet"), *asked)
    assert "is not a tally, but" in mixed
    assert "is not a tally: fairbound count makes one" in refused(
        capsys, "merge", str(tmp_path / "whole.csv"), "-o", str(tmp_path / "x")
    )


def test_options_of_counting(rows: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows.write_csv(tmp_path / "rows.csv")
    output = str(tmp_path / "tally.json")
    roles = ["--label", "income", "--group", "sex", "--losses", "cost", "--ceiling", "2", "-o", output]
    known = [part for name in ("m", "f", "x") for part in ("--known-group", name)]
    assert main(["count", str(tmp_path / "rows.csv"), *roles, *known, "--min-count", "20"]) == 0
    document = json.loads(Path(output).read_text())
    assert document["plan"]["groups"] == ["m", "f", "x"]
    assert min(n for cell in document["cells"] for n in cell["rows"]) >= 20
    assert {None} == {value for cell in document["cells"] for value in cell["least"]}
    capsys.readouterr()
    assert "--min-count" in refused(capsys, "count", str(tmp_path / "rows.csv"), *roles, "--min-count", "590")
    assert "--known-group ['m', 'x'] lacks 'f'" in refused(
        capsys, "count", str(tmp_path / "rows.csv"), *roles, "--known-group", "m", "--known-group", "x"
    )
    two = ["--label", "income", "--group", "sex", "--group", "race", "--prediction", "yhat", "-o", output]
    assert "must be a JSON list of 2 names" in refused(capsys, "count", str(tmp_path / "rows.csv"), *two, *known)
    races = rows["race"].unique().to_list()
    pairs = [part for s in "fm" for r in races for part in ("--known-group", json.dumps([s, r]))]
    assert main(["count", str(tmp_path / "rows.csv"), *two, *pairs]) == 0
    assert "--probability" not in capsys.readouterr().out
    by_place = ["--label", "income", "--group", "sex", "--probability", "p", "-o", output]
    assert "--known-label must name all labels" in refused(capsys, "count", str(tmp_path / "rows.csv"), *by_place)


def test_several_files_patterns_and_folders(
    rows: pl.DataFrame, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, part in enumerate(rows.iter_slices(150)):
        part.select(part.columns[::-1] if number else part.columns).write_csv(tmp_path / f"part-{number}.csv")
        (tmp_path / "hive" / f"day={number}").mkdir(parents=True)
        part.write_parquet(tmp_path / "hive" / f"day={number}" / "rows.parquet")
        part.write_ipc(tmp_path / f"part-{number}.arrow")
    csv = [str(tmp_path / f"part-{number}.csv") for number in range(4)]
    assert certified(capsys, *csv, *ASK) == expected
    assert certified(capsys, str(tmp_path / "part-*.csv"), *ASK) == expected
    assert certified(capsys, str(tmp_path / "part-?.arrow"), *ASK) == expected
    assert certified(capsys, str(tmp_path / "hive"), *ASK) == expected
    assert certified(capsys, str(tmp_path / "hive" / "**" / "*.parquet"), *ASK) == expected
    by_day = certified(capsys, str(tmp_path / "hive"), *ASK[:-4], "--group", "day", "--rho", "0.6", "--format", "json")
    assert len(by_day["population"]["groups"]) == 8
    assert "no file is named like that" in refused(capsys, "certify", str(tmp_path / "none-*.csv"), *ASK)
    assert "is named twice" in refused(capsys, "certify", csv[0], csv[0], *ASK)
    assert "name files of one kind" in refused(capsys, "certify", csv[0], str(tmp_path / "part-1.arrow"), *ASK)
    Path(csv[2]).write_text("income,sex\n1,f\n")
    assert f"{csv[2]}: there is no column 'yhat'" in refused(capsys, "certify", *csv, *ASK)


def packed(text: bytes, way: str) -> bytes:
    whole: bytes = pa.compress(text, codec="zstd", asbytes=True)
    return whole[: len(whole) // 2] if way == "cut" else whole


def test_zstandard(expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (tmp_path / "whole.csv").read_bytes()
    (tmp_path / "rows.csv.zst").write_bytes(packed(text, "whole"))
    assert certified(capsys, str(tmp_path / "rows.csv.zst"), *ASK) == expected
    (tmp_path / "rows.csv.zst").write_bytes(packed(text, "cut"))
    assert main(["certify", str(tmp_path / "rows.csv.zst"), *ASK]) == 2


ENGINES = ["polars", "duckdb", "pyarrow.dataset"]


@pytest.mark.parametrize("engine", ENGINES)
def test_parquet_with_whichever_engine_is_there(
    rows: pl.DataFrame,
    expected: dict[str, Any],
    engine: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "hive" / "day=1").mkdir(parents=True)
    rows.write_parquet(tmp_path / "hive" / "day=1" / "rows.parquet")
    rows.write_parquet(tmp_path / "rows.parquet")
    only(monkeypatch, engine)
    assert certified(capsys, str(tmp_path / "rows.parquet"), *ASK) == expected
    assert certified(capsys, str(tmp_path / "hive"), *ASK) == expected
    labelled = ["--probability", "yes=p", "--rho", "0.3", "--format", "json", *COLUMNS[:2], *COLUMNS[4:]]
    assert certified(capsys, str(tmp_path / "rows.parquet"), *labelled)["population"]["rows"] == 600
    assert "there is no column 'incme'" in refused(
        capsys, "certify", str(tmp_path / "rows.parquet"), *ASK, "--label", "incme"
    )


def only(monkeypatch: pytest.MonkeyPatch, *kept: str) -> None:
    """Let these be the only libraries that can be imported."""

    def imported(name: str) -> Any:
        if name not in kept:
            raise ImportError(name)
        return real(name)

    real = import_module
    monkeypatch.setattr(engines, "import_module", imported)


def test_messages_where_no_library_is_there(
    rows: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_ipc(tmp_path / "rows.arrow")
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    only(monkeypatch)
    for name, needs in {
        str(tmp_path / "rows.parquet"): "Parquet needs Polars or DuckDB or PyArrow; pip install polars",
        str(tmp_path / "rows.arrow"): "Arrow needs Polars or PyArrow; pip install polars",
        str(tmp_path / "delta"): "Delta needs Polars; pip install",
        "s3://bucket/rows.parquet": "Parquet needs Polars",
        "s3://bucket/rows.csv": "CSV in a store needs Polars",
    }.items():
        assert needs in refused(capsys, "certify", name, *ASK)
    secret = refused(capsys, "certify", "postgresql://me:secret@host/db", "--table", "t", *ASK)
    assert "pip install 'ibis-framework[postgres]'" in secret
    assert "secret" not in secret
    assert "pip install duckdb" in refused(capsys, "certify", "duckdb://rows.db", "--table", "t", *ASK)
    assert "with --table" in refused(capsys, "certify", "postgresql://host/db", *ASK)
    assert "secret" not in refused(capsys, "certify", "postgresql://me:secret@host/db", *ASK)
    assert "is no database" in refused(capsys, "certify", str(tmp_path / "rows.parquet"), "--table", "t", *ASK)
    assert "the scheme 'gopher' is not known" in refused(capsys, "certify", "gopher://x/y.csv", *ASK)
    only(monkeypatch, "polars")
    assert "needs the library deltalake" in refused(capsys, "certify", str(tmp_path / "delta"), *ASK)


def test_a_table_of_duckdb(
    rows: pl.DataFrame, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(tmp_path / "rows.db")) as connection:
        connection.register("given", rows.to_arrow())
        connection.execute("create table predictions as select * from given")
    assert certified(capsys, f"duckdb://{tmp_path}/rows.db", "--table", "predictions", *ASK) == expected
    assert "there is no file" in refused(capsys, "certify", f"duckdb://{tmp_path}/no.db", "--table", "t", *ASK)
    wrong = refused(capsys, "certify", f"duckdb://{tmp_path}/rows.db", "--table", "predictons", *ASK)
    assert "duckdb database cannot be read" in wrong


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A server of the files in a folder, on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (as its base calls it)
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_files_of_the_web(
    rows: pl.DataFrame, expected: dict[str, Any], site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_csv(tmp_path / "rows.tsv", separator="\t")
    for name in ("rows.parquet", "whole.csv", "rows.tsv"):
        assert certified(capsys, f"{site}/{name}", *ASK) == expected
    assert re.search(
        "no.csv cannot be read: .*404|no.csv cannot be read: Not Found|File not found",
        refused(capsys, "certify", f"{site}/no.csv", *ASK),
    )


def test_parquet_and_csv_on_standard_input(
    rows: pl.DataFrame,
    expected: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_ipc_stream(tmp_path / "rows.stream")
    for name in ("rows.parquet", "rows.stream", "whole.csv"):
        with (tmp_path / name).open("rb") as stream:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
            assert certified(capsys, "-", *ASK) == expected


def test_stores_are_read_by_polars_and_by_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of the engines; no store is asked."""
    asked: list[Any] = []
    monkeypatch.setattr(pl, "scan_parquet", lambda *given, **options: asked.append((given, options)))
    engines.binary("Parquet", ["s3://bucket/*.parquet"], [], hive=True)
    assert asked == [((["s3://bucket/*.parquet"],), {"hive_partitioning": True, "glob": True})]
    monkeypatch.setattr(ds, "dataset", lambda *given, **options: pytest.fail(f"{given} {options}"))


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairbound.cli import output  # noqa: PLC0415 (its names are replaced)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    shown = threading.Event()
    real = output.Progress.show

    def show(told: output.Progress) -> None:
        real(told)
        if told.share == 0.5:
            shown.set()

    monkeypatch.setattr(output.Progress, "show", show)
    with output.progress("reading rows.csv") as told:
        told(0.5)
        assert shown.wait(20)
    assert re.search(r"reading rows.csv ... \d+ s \[############-------------\] 48%", terminal.getvalue())
    assert terminal.getvalue().endswith("\r")
