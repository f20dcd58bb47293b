"""The libraries that read what is not CSV: whichever is installed is used, and a message names the extra if none is."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from fairbound.cli.output import ProblemError

#: Addresses by what stands before "://": pages, stores of files, and databases (all but DuckDB's through Ibis).
WEB = ("https", "http")
STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "hf")
DATABASES = ("duckdb", "postgresql", "postgres", "mysql", "sqlite", "mssql", "snowflake", "bigquery", "trino")

#: So long a server may be silent, in seconds.
PATIENCE = 60


#: What stands before the password in an address.
_PASSWORD = re.compile(r"(://[^:/@]*):[^@/]*@")


def shown(path: str) -> str:
    """Return an address as it may be printed: without its password."""
    return _PASSWORD.sub(r"\1:***@", path)


def _scheme(path: str) -> str:
    return path.partition("://")[0].lower() if "://" in path else ""


def is_web(path: str) -> bool:
    """Whether it is the address of a page."""
    return _scheme(path) in WEB


def is_remote(path: str) -> bool:
    """Whether it is an address in a store of files."""
    if _scheme(path) and _scheme(path) not in (*WEB, *STORES, *DATABASES, "file"):
        message = (
            f"{path}: the scheme {_scheme(path)!r} is not known; there are {', '.join((*WEB, *STORES, *DATABASES))}"
        )
        raise ProblemError(message)
    return _scheme(path) in STORES


def is_database(path: str) -> bool:
    """Whether it is the address of a database."""
    return _scheme(path) in DATABASES


def binary(kind: str, files: list[str], columns: Sequence[str], *, hive: bool) -> Any:
    """Return the rows of files of a kind, from the first engine that is installed."""
    readers: dict[str, list[tuple[str, Callable[[Any], Any]]]] = {
        "Parquet": [
            ("polars", lambda polars: polars.scan_parquet(files, hive_partitioning=hive, glob=_is_pattern(files))),
            ("duckdb", lambda duckdb: duckdb.read_parquet(files, hive_partitioning=hive)),
            ("pyarrow.dataset", lambda dataset: _by_pyarrow(dataset, files, columns, hive=hive)),
        ],
        "Arrow": [
            ("polars", lambda polars: polars.scan_ipc(files, glob=False)),
            ("pyarrow.dataset", lambda dataset: _by_pyarrow(dataset, files, columns, hive=False, form="feather")),
        ],
        "an Arrow stream": [
            ("polars", lambda polars: polars.concat([polars.read_ipc_stream(file) for file in files]).lazy()),
            ("pyarrow.ipc", lambda ipc: _streams(ipc, files)),
        ],
        "Delta": [("polars", lambda polars: _delta(polars, files))],
        "CSV in a store": [
            ("polars", lambda polars: polars.scan_csv(files)),
        ],
    }
    missing = []
    for name, reader in readers[kind]:
        try:
            library = import_module(name)
        except ImportError:
            missing.append(NAMES[name])
            continue
        return _read(files[0], partial(reader, library))
    needed = " or ".join(missing)
    cure = "pip install polars" + ("" if kind == "Delta" else ", or save the table as CSV")
    message = f"{files[0]}: reading {kind.removeprefix('an ')} needs {needed}; {cure}"
    raise ProblemError(message)


NAMES = {
    "polars": "Polars",
    "duckdb": "DuckDB",
    "pyarrow.dataset": "PyArrow",
    "pyarrow.ipc": "PyArrow",
}


def _read(path: str, reader: Callable[[], Any]) -> Any:
    """Say what went wrong in one line: libraries have errors of their own, of any type."""
    try:
        return reader()
    except (ProblemError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        message = f"{path} cannot be read: {' '.join(str(error).split())[:300]}"
        raise ProblemError(message) from None


def _is_pattern(files: Sequence[str]) -> bool:
    """Whether an engine is to look for files itself: only in stores, since we have found all others."""
    return any(_scheme(file) in STORES for file in files)


def _by_pyarrow(dataset: Any, files: list[str], columns: Sequence[str], *, hive: bool, form: str = "parquet") -> Any:
    """Return the columns that are used, or all if one is missing: then its name is searched among them."""
    source: Any = files
    if _is_pattern(files):
        source = files[0]
    found = dataset.dataset(source, format=form, partitioning="hive" if hive else None)
    used = list(dict.fromkeys(columns))
    return found.to_table(columns=used if set(used) <= set(found.schema.names) else None)


def _streams(ipc: Any, files: Sequence[str]) -> Any:
    pyarrow = import_module("pyarrow")
    tables = []
    for file in files:
        with pyarrow.OSFile(file) as stream:
            tables.append(ipc.open_stream(stream).read_all())
    return pyarrow.concat_tables(tables)


def _delta(polars: Any, files: list[str]) -> Any:
    try:
        import_module("deltalake")
    except ImportError:
        message = f"{files[0]}: reading Delta needs the library deltalake; pip install polars deltalake"
        raise ProblemError(message) from None
    if len(files) > 1:
        message = f"{files[1]}: one Delta table is read at a time"
        raise ProblemError(message)
    return polars.scan_delta(files[0])


def database(address: str, table: str) -> Any:
    """Return a table of a database, which will count its rows itself."""
    safe = f"{_scheme(address)} database"
    if _scheme(address) == "duckdb":
        try:
            duckdb = import_module("duckdb")
        except ImportError:
            message = f"{address}: reading DuckDB's files needs DuckDB; pip install duckdb"
            raise ProblemError(message) from None
        file = address.partition("://")[2].partition("?")[0]
        file = file[1:] if file.startswith("//") else file  # duckdb:////absolute, as others write it
        if not Path(file).is_file():
            message = f"{address}: there is no file {file!r}"
            raise ProblemError(message)
        return _read(safe, lambda: duckdb.connect(file, read_only=True).table(table))
    try:
        ibis = import_module("ibis")
    except ImportError:
        scheme = "postgres" if _scheme(address) == "postgresql" else _scheme(address)
        message = f"{safe}: reading it needs Ibis; pip install 'ibis-framework[{scheme}]'"
        raise ProblemError(message) from None

    def opened() -> Any:
        connection = ibis.connect(address)
        atexit.register(connection.disconnect)
        return connection.table(table)

    return _read(safe, opened)


def fetched(address: str) -> str:
    """Return a file with what is at an address of the web."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310 (is_web has looked at it)
            return kept(answer, Path(urllib.parse.urlparse(address).path).name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        message = f"{address} cannot be read: {reason}"
        raise ProblemError(message) from None


def kept(stream: IO[bytes], name: str = "rows") -> str:
    """Return a file with the content of a stream; it goes when the program ends."""
    folder = tempfile.mkdtemp(prefix="fairbound-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / (name or "rows")
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return str(path)
