"""Lazy frames: a population from many rows of Parquet, beside the engine's own group-by counts.

Every measurement runs in a process of its own, so that its peak memory is its own, and peers take turns with it.
Engines keep read buffers that grow with the file, so the memory beside it is that of the peer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Table, note, seconds

REPEAT = 5
MEASURED = [("time", 8), ("memory", 8)]
CELLS = ["sex", "income"]
#: Less than what is asked for: it shows what the bins cost the engine itself.
BARE = "count by group and label only"
#: Our way of reading, and the engine's counts that it is measured against: over the same columns, into as many bins.
CASES: dict[str, tuple[dict[str, Any], dict[str, list[str]]]] = {
    "predicted labels": ({"prediction": "predicted"}, {"count by label columns": ["predicted"]}),
    "probabilities": ({"probability": {">50K": "probability"}}, {"count by 4096 bins": ["bin"]}),
    "losses": ({"losses": "loss"}, {"count by 4096 bins": ["bin"], BARE: []}),
    "losses, weighted": ({"losses": "loss", "weight": "weight"}, {"count, sum of weights by bins": ["bin"]}),
}


def run(quick: bool) -> None:
    """Print the tables of this part."""
    rows = 2_000_000 if quick else 50_000_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        write(file, rows)
        table = Table(
            f"{rows:,} rows of Parquet ({file.stat().st_size / 1e6:.0f} MB), read lazily",
            [("columns", 18), ("engine", 8), *MEASURED, ("peer", 30), *MEASURED, ("ratio", 6), ("CPU", 6)],
        )
        for case, (_, peers) in CASES.items():
            for engine in ("duckdb", "polars"):
                for peer in peers:
                    ours, theirs = _side_by_side(file, engine, case, peer)
                    table.row(
                        case,
                        engine,
                        seconds(ours["time"]),
                        f"{ours['memory']:.0f} MB",
                        peer,
                        seconds(theirs["time"]),
                        f"{theirs['memory']:.0f} MB",
                        f"{ours['time'] / theirs['time']:.2f}x",
                        f"{ours['cpu'] / theirs['cpu']:.2f}x",
                    )
        note(
            "ratio: our time / the engine's (here small is good); the least of several runs; CPU: the same of CPU time"
        )
        note("peers count by group and label, and by predicted label or bin of the same column: as many groups as ours")
        note(f"'{BARE}' makes 4 groups instead of 16,384 and reads no losses: for information, not a peer")
        note("memory: peak of the process, libraries and the engine's buffers included")


def _side_by_side(file: Path, engine: str, case: str, peer: str) -> tuple[dict[str, float], dict[str, float]]:
    """Let both run in turns, each in a fresh process, and return the best of each."""
    best: list[dict[str, float]] = []
    for turn in range(REPEAT):
        for index, what in enumerate(("", peer)):
            command = [sys.executable, "-m", "benchmarks.frames", str(file), engine, case, what]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
            if turn == 0:
                best.append(found)
            best[index] = {key: min(found[key], best[index][key]) for key in found}
    return best[0], best[1]


def write(file: Path, rows: int) -> None:
    """Write a table with text, probabilities, losses and weights."""
    import duckdb  # noqa: PLC0415 (only this part needs it)

    def uniform(seed: int) -> str:
        return f"(hash(i + {seed}) >> 11)::DOUBLE / 9007199254740992"

    duckdb.sql(
        f"""COPY (
            SELECT CASE WHEN h % 3 = 0 THEN 'Female' ELSE 'Male' END AS sex,
                   CASE WHEN h % 7 < 2 THEN '>50K' ELSE '<=50K' END AS income,
                   CASE WHEN h % 11 < 3 THEN '>50K' ELSE '<=50K' END AS predicted,
                   {uniform(10**10)} * {uniform(2 * 10**10)} AS probability,
                   {uniform(3 * 10**10)} * {uniform(4 * 10**10)} AS loss,
                   (1 + h % 5)::DOUBLE / 3 AS weight
            FROM (SELECT i, hash(i) AS h FROM range({rows}) AS numbers(i))
        ) TO '{file}' (FORMAT PARQUET)"""  # noqa: S608 (our own file)
    )


def _opened(file: str, engine: str) -> Any:
    if engine == "duckdb":
        import duckdb  # noqa: PLC0415 (only this part needs it)

        return duckdb.connect().read_parquet(file)
    import polars as pl  # noqa: PLC0415 (only this part needs it)

    return pl.scan_parquet(file)


def _count(frame: Any, engine: str, keys: list[str], value: str, weight: str | None) -> object:
    """Count by the engine's own means, in its own words."""
    if engine == "duckdb":
        words = [f"floor({value} * 4096)" if key == "bin" else key for key in keys]
        return frame.aggregate(f"{', '.join(words)}, count(*){f', sum({weight})' if weight else ''}").fetchall()
    import polars as pl  # noqa: PLC0415 (only this part needs it)

    columns = [(pl.col(value) * 4096).floor() if key == "bin" else pl.col(key) for key in keys]
    sums = [pl.col(weight).sum()] if weight else []
    return frame.group_by(columns).agg(pl.len(), *sums).collect(engine="streaming")


def _measure(file: str, engine: str, case: str, peer: str) -> None:
    """Print time, CPU time and peak memory of one run as JSON; called in a process of its own."""
    import resource  # noqa: PLC0415 (not on every system)

    arguments, peers = CASES[case]

    def ours(frame: Any) -> object:
        from fairbound import Population  # noqa: PLC0415 (not in the peers' processes)

        return Population.from_frame(frame, label="income", group="sex", **arguments)

    def theirs(frame: Any) -> object:
        value = arguments.get("losses", "probability")
        return _count(frame, engine, CELLS + peers[peer], value, arguments.get("weight"))

    call = theirs if peer else ours
    few = _opened(file, engine)
    call(few.limit(1000))  # loads what has to be loaded
    start, busy = time.perf_counter(), time.process_time()
    call(_opened(file, engine))
    duration, work = time.perf_counter() - start, time.process_time() - busy
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"time": duration, "cpu": work, "memory": memory}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for argument in ("file", "engine", "case", "peer"):
        parser.add_argument(argument)
    _measure(**vars(parser.parse_args()))
