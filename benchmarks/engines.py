"""Engines that many people count with: a population from ten million rows, beside the engine's own group-bys.

One of these only counts the same rows. The other one also computes the loss of each row, and of each bin its sum, least
and largest: what has to be known of it, without sums that are sure to be exact, and without a look at what is missing.
Every measurement runs in a process of its own, so that its peak memory is its own, and peers take turns with it.
Engines that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frames import CELLS, write
from benchmarks.table import Table, note, seconds

REPEAT = 3
MEASURED = [("time", 8), ("memory", 8)]
RATIOS = [("ratio", 6), ("CPU", 6)]
BINS = 4096
#: What is counted: our arguments; the peer counts by the same columns, and by 4,096 bins of the first of them.
CASES: dict[str, dict[str, Any]] = {
    "predicted labels": {"prediction": "predicted"},
    "probabilities": {"probability": {">50K": "probability"}},
    "probabilities, jsd": {"probability": {">50K": "probability"}, "loss": "jsd"},
    "losses": {"losses": "loss"},
    "losses, weighted": {"losses": "loss", "weight": "weight"},
}


def run(quick: bool) -> None:
    """Print the tables of this part."""
    rows = 1_000_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        file = Path(folder) / "rows.parquet"
        write(file, rows)
        table = Table(
            f"{rows:,} rows, counted by the engine that holds them",
            [
                ("columns", 18),
                ("engine", 15),
                *MEASURED,
                ("its count", 9),
                ("memory", 8),
                *RATIOS,
                ("its summary", 11),
                *RATIOS,
            ],
        )
        for engine, (needed, *_) in ENGINES.items():
            if importlib.util.find_spec(needed) is None:
                note(f"{engine} is left out: {needed} is not installed")
                continue
            place = PREPARE[engine](file, servers) if engine in PREPARE else str(file)
            for case in CASES:
                ours, count, summary = _side_by_side(place, engine, case)
                table.row(
                    case,
                    engine,
                    seconds(ours["time"]),
                    f"{ours['memory']:.0f} MB",
                    seconds(count["time"]),
                    f"{count['memory']:.0f} MB",
                    *(f"{ours[key] / count[key]:.2f}x" for key in ("time", "cpu")),
                    seconds(summary["time"]),
                    *(f"{ours[key] / summary[key]:.2f}x" for key in ("time", "cpu")),
                )
        note(
            "its summary: the engine computes the losses, and sum, least and largest of each bin, as it would by itself"
        )
        note("ratio: our time / the engine's (here small is good); the least of several runs, after one on few rows")
        note("CPU: the same of processor time, of the process and those that it started; not of PostgreSQL's server")
        note("engines count by group and label, and by predicted label or 4,096 bins: as many groups as ours")
        note("memory: peak of the process and of those that it started; PostgreSQL's server is not among them")


def _side_by_side(place: str, engine: str, case: str) -> list[dict[str, float]]:
    """Let all run in turns, each in a fresh process, and return the best of each."""
    best: list[dict[str, float]] = []
    for turn in range(REPEAT):
        for index, who in enumerate(("ours", "count", "summary")):
            command = [sys.executable, "-m", "benchmarks.engines", place, engine, case, who]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
            found = json.loads(answer.strip().rpartition("\n")[2])
            if turn == 0:
                best.append(found)
            best[index] = {key: min(found[key], best[index][key]) for key in found}
    return best


def _pandas(kind: str) -> Callable[[str], Any]:
    def opened(file: str) -> Any:
        import pandas  # noqa: PLC0415 (only where it is measured)

        names = [*CELLS, "predicted"]
        return pandas.read_parquet(file).astype(dict.fromkeys(names, kind))

    return opened


def _in_pandas(frame: Any, keys: list[str], value: str | None, weight: str | None, summary: str | None) -> Any:
    """Count in the words of pandas and Dask."""
    if summary in ("brier", "jsd"):
        right = frame["income"] == ">50K"
        truth = frame["probability"].where(right, 1.0 - frame["probability"])
        frame = frame.assign(own=(1.0 - truth) ** 2 if summary == "brier" else _jsd(truth, np.log2))
    elif summary:
        frame = frame.assign(own=frame["loss"])
    if value is not None:
        frame = frame.assign(bin=(frame["own" if summary else value] * BINS) // 1)
        keys = [*keys, "bin"]
    if summary:
        frame = frame.assign(part=frame["own"] * frame[weight] if weight else frame["own"])
        told: dict[str, Any] = {"part": ["count", "sum"], "own": ["min", "max"]} | ({weight: ["sum"]} if weight else {})
        return frame.groupby(keys, observed=True).agg(told)
    grouped = frame.groupby(keys, observed=True)
    return grouped[weight].agg(["count", "sum"]) if weight else grouped.size()


def _jsd(truth: Any, log2: Callable[[Any], Any]) -> Any:
    """Return the Jensen-Shannon loss of the true label's probability; here none is 0."""
    middle = (truth + 1.0) * 0.5
    return (truth * log2(truth / middle) + (1.0 - truth) - log2(middle)) * 0.5


def _dask(file: str) -> Any:
    import dask.dataframe  # noqa: PLC0415 (only where it is measured)

    return dask.dataframe.read_parquet(file, split_row_groups=True)


def _in_dask(*arguments: Any) -> object:
    return _in_pandas(*arguments).compute()


def _spark(file: str) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415 (only where it is measured)

    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "8")
    return (
        builder.config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
        .read.parquet(file)
    )


def _in_spark(
    frame: Any, keys: list[str], value: str | None, weight: str | None, summary: str | None, words: str = "pyspark.sql"
) -> Any:
    """Count in the words of Spark, which other engines have taken over."""
    functions = importlib.import_module(f"{words}.functions")
    column = functions.col
    if summary:
        truth = functions.when(column("income") == ">50K", column("probability")).otherwise(1.0 - column("probability"))
        frame = frame.withColumn("truth", truth)
        own = {"brier": (1.0 - column("truth")) * (1.0 - column("truth"))} if summary == "brier" else {}
        own |= {"jsd": _jsd(column("truth"), lambda x: functions.log(2.0, x))} if summary == "jsd" else {}
        frame = frame.withColumn("own", own.get(summary, column("loss")))
    bins = [] if value is None else [functions.floor(column("own" if summary else value) * BINS).alias("bin")]
    sums = [functions.sum(column(weight))] if weight else []
    if summary:
        part = column("own") * column(weight) if weight else column("own")
        sums += [functions.sum(part), functions.min(column("own")), functions.max(column("own"))]
    return frame.groupBy(*keys, *bins).agg(functions.count("*"), *sums)


def _of_spark(*arguments: Any) -> object:
    return _in_spark(*arguments).toArrow()


def _sqlframe(file: str) -> Any:
    return importlib.import_module("sqlframe.duckdb").DuckDBSession().read.parquet(file)


def _of_sqlframe(*arguments: Any) -> object:
    return partial(_in_spark, words="sqlframe.duckdb")(*arguments).collect()


def _ibis_duckdb(file: str) -> Any:
    return importlib.import_module("ibis").duckdb.connect().read_parquet(file)


def _ibis_postgres(port: str) -> Any:
    ibis = importlib.import_module("ibis")
    return ibis.postgres.connect(host="127.0.0.1", port=int(port), user="tester", database="postgres").table("people")


def _ibis_sqlite(file: str) -> Any:
    return importlib.import_module("ibis").sqlite.connect(file).table("people")


def _in_ibis(frame: Any, keys: list[str], value: str | None, weight: str | None, summary: str | None) -> object:
    """Count in the words of Ibis."""
    if summary:
        right = frame["income"] == ">50K"
        frame = frame.mutate(truth=right.ifelse(frame["probability"], 1.0 - frame["probability"]))
        own = _jsd(frame["truth"], lambda x: x.ln() / math.log(2)) if summary == "jsd" else frame["loss"]
        frame = frame.mutate(own=(1.0 - frame["truth"]) * (1.0 - frame["truth"]) if summary == "brier" else own)
    if value is not None:
        frame = frame.mutate(bin=(frame["own" if summary else value] * BINS).floor())
        keys = [*keys, "bin"]
    sums = {"sum": frame[weight].sum()} if weight else {}
    if summary:
        part = frame["own"] * frame[weight] if weight else frame["own"]
        sums |= {"part": part.sum(), "least": frame["own"].min(), "most": frame["own"].max()}
    return frame.group_by(*keys).agg(count=frame.count(), **sums).to_pyarrow()


#: The module that is needed, how the rows are opened, and how the engine counts them in its own words.
ENGINES: dict[str, tuple[str, Callable[[str], Any], Callable[..., object]]] = {
    "pandas": ("pandas", _pandas("str"), _in_pandas),
    "pandas category": ("pandas", _pandas("category"), _in_pandas),
    "pandas object": ("pandas", _pandas("object"), _in_pandas),
    "dask": ("dask", _dask, _in_dask),
    "spark": ("pyspark", _spark, _of_spark),
    "ibis duckdb": ("ibis", _ibis_duckdb, _in_ibis),
    "ibis postgres": ("ibis", _ibis_postgres, _in_ibis),
    "ibis sqlite": ("ibis", _ibis_sqlite, _in_ibis),
    "sqlframe": ("sqlframe", _sqlframe, _of_sqlframe),
}


def _in_sqlite(file: Path, _: ExitStack) -> str:
    """Copy the rows into a database of SQLite."""
    import sqlite3  # noqa: PLC0415 (only where it is measured)

    import pyarrow.parquet  # noqa: PLC0415 (only where it is measured)

    place = str(file.with_suffix(".sqlite"))
    with sqlite3.connect(place) as connection:
        names = "sex TEXT, income TEXT, predicted TEXT, probability REAL, loss REAL, weight REAL"
        connection.execute(f"CREATE TABLE people ({names})")
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches():
            columns = (column.to_pylist() for column in batch.columns)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", zip(*columns, strict=True))
    connection.close()
    return place


def _in_postgres(file: Path, servers: ExitStack) -> str:
    """Start a server, copy the rows into it, and return its port."""
    import duckdb  # noqa: PLC0415 (only where it is measured)
    import psycopg  # noqa: PLC0415 (only where it is measured)
    from tests.data.engines import postgres_server  # noqa: PLC0415 (only where it is measured)

    port = servers.enter_context(postgres_server())
    text = file.with_suffix(".csv")
    duckdb.sql(f"COPY (FROM '{file}') TO '{text}' (HEADER false)")
    address = f"host=127.0.0.1 port={port} user=tester dbname=postgres"
    with psycopg.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        numbers = ", ".join(f"{name} double precision" for name in ("probability", "loss", "weight"))
        cursor.execute(f"CREATE TABLE people (sex text, income text, predicted text, {numbers})")
        with cursor.copy("COPY people FROM STDIN (FORMAT csv)") as copy, text.open("rb") as rows:
            while data := rows.read(2**20):
                copy.write(data)
        cursor.execute("VACUUM ANALYZE people")
    text.unlink()
    return str(port)


PREPARE: dict[str, Callable[[Path, ExitStack], str]] = {"ibis sqlite": _in_sqlite, "ibis postgres": _in_postgres}


def _measure(place: str, engine: str, case: str, who: str) -> None:
    """Print time and peak memory of one run as JSON; called in a process of its own."""
    _, opened, count = ENGINES[engine]
    arguments = CASES[case]
    value = None if "prediction" in arguments else arguments.get("losses", "probability")
    keys = [*CELLS, "predicted"] if value is None else CELLS
    frame = opened(place)

    def ours(rows: Any) -> object:
        from fairbound import Population  # noqa: PLC0415 (not in the peers' processes)

        return Population.from_frame(rows, label="income", group="sex", **arguments)

    def theirs(rows: Any) -> object:
        loss = arguments.get("loss", "loss" if "losses" in arguments else "brier")
        return count(
            rows, keys, value, arguments.get("weight"), loss if who == "summary" and value is not None else None
        )

    call = ours if who == "ours" else theirs
    call(frame.head(1000, npartitions=1, compute=False) if engine == "dask" else _few(frame))
    start, busy = time.perf_counter(), _busy(os.getpid())
    call(frame)
    duration, work = time.perf_counter() - start, _busy(os.getpid()) - busy
    work = max(work, 1 / os.sysconf("SC_CLK_TCK"))  # a client may do less than can be measured
    print(json.dumps({"time": duration, "cpu": work, "memory": _peak(os.getpid())}))


def _few(frame: Any) -> Any:
    """Return few rows: counting them loads what has to be loaded."""
    return frame.limit(1000) if hasattr(frame, "limit") else frame.iloc[:1000]


def _peak(process: int) -> float:
    """Return the peak memory in MB of a process and of those that it started and that still run, as Linux knows it."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    own = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return own / 1000 + sum(map(_peak, _children(process)))


def _busy(process: int) -> float:
    """Return the processor time of the same, in seconds."""
    told = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return sum(map(int, told[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_busy, _children(process)))


def _children(process: int) -> set[int]:
    """Return the processes that one has started; a thread may end while it is asked."""
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):
            found |= {*map(int, (task / "children").read_text(encoding="ascii").split())}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for argument in ("place", "engine", "case", "who"):
        parser.add_argument(argument)
    _measure(**vars(parser.parse_args()))
