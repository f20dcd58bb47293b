"""The engines that people count with, each opening the same table; tests skip those that are not installed."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

#: Opens a table in an engine; the folder is for its files.
Opener = Callable[[pd.DataFrame, Path], Any]


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def parquet(frame: pd.DataFrame, folder: Path) -> str:
    """Write the rows to several files, as large tables come."""
    table = arrow(frame)
    step = -(-len(table) // 3) or 1
    for start in range(0, max(len(table), 1), step):
        pyarrow.parquet.write_table(table.slice(start, step), folder / f"part{start:08}.parquet")
    return str(folder)


def dask(frame: pd.DataFrame, folder: Path) -> Any:
    dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return dataframe.read_parquet(parquet(frame, folder))


def ibis_duckdb(frame: pd.DataFrame, folder: Path) -> Any:
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    return ibis.duckdb.connect().read_parquet(parquet(frame, folder) + "/*.parquet")


def ibis_polars(frame: pd.DataFrame, folder: Path) -> Any:
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    return ibis.polars.connect().read_parquet(parquet(frame, folder) + "/*.parquet")


def ibis_sqlite(frame: pd.DataFrame, folder: Path) -> Any:
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    with sqlite3.connect(folder / "people.db") as connection:
        kinds = {"b": "INTEGER", "i": "INTEGER", "u": "INTEGER", "f": "REAL"}
        columns = ", ".join(f'"{name}" {kinds.get(frame[name].dtype.kind, "TEXT")}' for name in frame)
        connection.execute(f"CREATE TABLE people ({columns})")
        marks = ", ".join("?" * frame.shape[1])
        records = arrow(frame).to_pydict().values()
        connection.executemany(f"INSERT INTO people VALUES ({marks})", zip(*records, strict=True))  # noqa: S608
    connection.close()
    return ibis.sqlite.connect(folder / "people.db").table("people")


def sqlframe(frame: pd.DataFrame, folder: Path) -> Any:
    session = pytest.importorskip("sqlframe.duckdb", reason="SQLFrame is not installed").DuckDBSession()
    return session.read.parquet(parquet(frame, folder) + "/*.parquet")


def datafusion(frame: pd.DataFrame, folder: Path) -> Any:
    context = pytest.importorskip("datafusion", reason="DataFusion is not installed").SessionContext()
    return context.read_parquet(parquet(frame, folder))


def daft(frame: pd.DataFrame, folder: Path) -> Any:
    return pytest.importorskip("daft", reason="Daft is not installed").read_parquet(parquet(frame, folder))


def ray(frame: pd.DataFrame, folder: Path) -> Any:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    data = pytest.importorskip("ray.data", reason="Ray Data is not installed")
    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    data.DataContext.get_current().enable_progress_bars = False
    return data.read_parquet(parquet(frame, folder))


def dataset(frame: pd.DataFrame, folder: Path) -> Any:
    return pyarrow.dataset.dataset(parquet(frame, folder))


def scanner(frame: pd.DataFrame, folder: Path) -> Any:
    return dataset(frame, folder).scanner(batch_size=700)


def reader(frame: pd.DataFrame, folder: Path) -> Any:
    table = arrow(frame)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700))


def batch(frame: pd.DataFrame, folder: Path) -> Any:
    table = arrow(frame).combine_chunks()
    return table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], schema=table.schema)


class Stream:
    """Nothing but the interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(schema)


def stream(frame: pd.DataFrame, folder: Path) -> Any:
    return Stream(arrow(frame))


#: These count by themselves; what comes back are bins.
COUNTING: dict[str, Opener] = {
    "dask": dask,
    "ibis duckdb": ibis_duckdb,
    "ibis polars": ibis_polars,
    "ibis sqlite": ibis_sqlite,
}
#: These send batches of rows.
SENDING: dict[str, Opener] = {
    "dataset": dataset,
    "scanner": scanner,
    "reader": reader,
    "batch": batch,
    "stream": stream,
}
#: The same, but they are large, or take their time.
SLOW_COUNTING: dict[str, Opener] = {"sqlframe": sqlframe}
SLOW_SENDING: dict[str, Opener] = {"daft": daft, "datafusion": datafusion, "ray": ray}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int) -> None:
    """Return when a server listens, or after two minutes: then whatever asks it says so."""
    for _ in range(1200):
        with socket.socket() as knocking:
            if not knocking.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)


@contextmanager
def postgres_server() -> Iterator[int]:
    """Start a PostgreSQL of Debian's on loopback, with a cluster of its own, and return its port."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not folders:
        pytest.skip("PostgreSQL's server is not installed (Debian's package postgresql)")
    programs = folders[-1].parent
    # The server refuses to be run by root, and others may not enter the folders of the tests.
    user = "postgres" if os.getuid() == 0 else None
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="fairbound-postgres-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        run = functools.partial(subprocess.run, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
        run([programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "tester", "-N"])
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        control = [programs / "pg_ctl", "-D", folder / "data", "-w"]
        run([*control, "-o", options, "-l", folder / "log", "start"])
        try:
            yield port
        finally:
            run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder)


@contextmanager
def postgres_connection() -> Iterator[Any]:
    """Start the server, and connect to it with Ibis."""
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with postgres_server() as port:
        connection = ibis.postgres.connect(host="127.0.0.1", port=port, user="tester", database="postgres")
        try:
            yield connection
        finally:
            connection.disconnect()


def postgres_table(frame: pd.DataFrame, connection: Any) -> Any:
    """Store the rows in a new table of the server."""
    name = f"people{len(connection.list_tables())}"
    kinds = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double precision"}
    columns = ", ".join(f'"{column}" {kinds.get(frame[column].dtype.kind, "text")}' for column in frame)
    with connection.con.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} ({columns})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*arrow(frame).to_pydict().values(), strict=True):
                copy.write_row(row)
        cursor.execute(f"ANALYZE {name}")
    connection.con.commit()
    return connection.table(name)


def need_java() -> None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("PySpark needs Java, which is not installed")


@contextmanager
def spark_session(folder: Path, master: str = "local[2]") -> Iterator[Any]:
    """Start Spark, on loopback only."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    need_java()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "1g",
        "spark.log.level": "ERROR",
    }
    builder = sql.SparkSession.builder.master(master).appName("fairbound")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def spark_programs(folder: Path, commands: list[list[str]]) -> Iterator[None]:
    """Run programs of Spark on loopback, each in a process of its own, with a log each."""
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
    need_java()
    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"log{len(running)}").open("wb") as log:
                program = [str(home / "bin" / "spark-class"), *command]
                running.append(subprocess.Popen(program, env=environment, stdout=log, stderr=log, cwd=folder))
        yield
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


@contextmanager
def spark_connection(folder: Path) -> Iterator[Any]:
    """Start a server of Spark Connect on loopback, and a client that has neither Java nor the rows."""
    session = pytest.importorskip("pyspark.sql.connect.session", reason="PySpark's client, Spark Connect, is missing")
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    told = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]", *told]
    with spark_programs(folder, [["org.apache.spark.deploy.SparkSubmit", *server, "spark-internal"]]):
        wait_for(port)
        client = session.SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        try:
            yield client
        finally:
            client.client.close()


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[str]:
    """Start a standalone cluster on loopback, of processes of their own, and return its address."""
    address = f"spark://127.0.0.1:{free_port()}"
    deploy, here = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    size = ["--cores", "1", "--memory", "1500M", "--work-dir", str(folder / "work")]
    commands = [
        [f"{deploy}.master.Master", *here, "--port", address.rpartition(":")[2]],
        *([f"{deploy}.worker.Worker", *here, *size, address] for _ in range(workers)),
    ]
    with spark_programs(folder, commands):
        yield address
