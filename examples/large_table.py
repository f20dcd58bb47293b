"""Certify a table that never comes into memory: Polars and DuckDB count it in their own engines.

The script writes a Parquet file of generated rows, and certifies it twice.

    python examples/large_table.py --rows 20000000
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from fairbound import Population, certify

#: Two groups of different size and base rate; probabilities that lean towards the truth.
ROWS = """
    WITH drawn AS (
        SELECT hash(i, 1) % 1000 AS a, hash(i, 2) % 1000 AS b, hash(i, 3) % 10000 AS c FROM range({rows}) AS t(i)
    ), people AS (
        SELECT CASE WHEN a < 350 THEN 'f' ELSE 'm' END AS sex,
               CASE WHEN b < (CASE WHEN a < 350 THEN 120 ELSE 300 END) THEN 'yes' ELSE 'no' END AS income, c FROM drawn
    )
    SELECT sex, income, CASE WHEN income = 'yes' THEN sqrt(c / 10000.0) ELSE power(c / 10000.0, 2) END AS probability
    FROM people
"""


def main() -> None:
    """Write the table and certify it."""
    parser = argparse.ArgumentParser(description="Certify a large Parquet file.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to generate (default: %(default)s)")
    rows = parser.parse_args().rows
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        file = Path(folder) / "rows.parquet"
        connection.sql(ROWS.format(rows=rows)).write_parquet(str(file))
        print(f"{rows:,} rows, {file.stat().st_size / 1e6:.1f} MB of Parquet")
        for engine, table in (("Polars", pl.scan_parquet(file)), ("DuckDB", connection.read_parquet(str(file)))):
            start = time.perf_counter()
            population = Population.from_frame(
                table, label="income", group="sex", probability={"yes": "probability"}, loss="brier"
            )
            seconds = time.perf_counter() - start
            bound = certify(population, 0.2).bound
            print(f"{engine}: counted in {seconds:.2f} s; Brier score {population.loss:.6f}, at most {bound:.6f}")


if __name__ == "__main__":
    main()
