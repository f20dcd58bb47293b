"""The libraries that read what is not CSV: whichever is installed is used, and a message names the extra if none is."""

from __future__ import annotations

import atexit
import io
import os
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


def binary(kind: str, files: list[str], columns: Sequence[str], *, hive: bool, delimiter: str | None = None) -> Any:
    """Return the rows of files of a kind, from the first engine that is installed; of CSV a file on this machine."""
    readers: dict[str, list[tuple[str, Callable[[Any], Any]]]] = {
        "Parquet": [
            ("polars", lambda polars: _by_polars(polars, files, hive=hive)),
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
        "Delta": [("polars", lambda polars: _versioned(polars, files, "Delta", "deltalake"))],
        "Iceberg": [("polars", lambda polars: _versioned(polars, files, "Iceberg", "pyiceberg"))],
        "CSV in a store": [("polars", lambda polars: _in_text(polars, files, columns, delimiter))],
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
    cure = "pip install polars" + ("" if kind in VERSIONED else ", or save the table as CSV")
    message = f"{files[0]}: reading {kind.removeprefix('an ')} needs {needed}; {cure}"
    raise ProblemError(message)


NAMES = {
    "polars": "Polars",
    "duckdb": "DuckDB",
    "pyarrow.dataset": "PyArrow",
    "pyarrow.ipc": "PyArrow",
}


#: Folders of tables that have versions: where they keep which of their files count, and which do no longer.
VERSIONED = {"Delta": "_delta_log/*.json", "Iceberg": "metadata/*.metadata.json"}


def versioned(folder: Path) -> tuple[str, str] | None:
    """Return what a folder is if it is a table with versions, and what its library opens; None if it is no such table.

    Such a folder also holds rows that were deleted or replaced: all its Parquet files together are no table.
    """
    if (folder / ".hoodie").is_dir():
        message = f"{folder} is a table of Hudi, which is not read; write its present rows as Parquet or CSV"
        raise ProblemError(message)
    if (folder / "_delta_log").is_dir():
        return "Delta", str(folder)
    found = {path: _version(path) for path in folder.glob(VERSIONED["Iceberg"])}
    latest = [path for path, version in found.items() if version == max(found.values())]
    if len(latest) > 1:
        message = (
            f"{folder} is a table of Iceberg of which {latest[0].name} and {latest[1].name} may be the present one"
        )
        raise ProblemError(message)
    return ("Iceberg", str(latest[0])) if latest else None


def _version(path: Path) -> int:
    """Return the number of a version of Iceberg, as in 00012-....metadata.json or v12.metadata.json."""
    number = re.match(r"v?(\d+)", path.name)
    return int(number[1]) if number else -1


def _by_polars(polars: Any, files: list[str], *, hive: bool) -> Any:
    """Scan Parquet files; a folder in a store may be a table with versions, too."""
    if not _is_pattern(files):
        return polars.scan_parquet(files, hive_partitioning=hive, glob=False)
    for place, file in enumerate(files):
        folder = file.removesuffix("/")
        if "*" not in folder and (file.endswith("/") or "." not in folder.rpartition("/")[2]):
            files[place] = f"{folder}/"  # so Polars knows that it is one
            for kind, log in VERSIONED.items():
                if _is_there(polars, f"{folder}/{log}"):
                    if kind == "Delta":
                        return _versioned(polars, files, kind, "deltalake")
                    message = f"{file} is a table of Iceberg; open it with a catalogue, as polars.scan_iceberg does"
                    raise ProblemError(message)
    return polars.scan_parquet(files, hive_partitioning=hive, glob=True)


def _is_there(polars: Any, pattern: str) -> bool:
    """Whether a store has files of such names; if it cannot be asked, the files of rows will say why."""
    try:
        lines = polars.scan_csv(pattern, has_header=False, infer_schema=False, quote_char=None, separator="\1")
        lines.head(1).collect()
    except Exception:
        return False
    return True


def _in_text(polars: Any, files: list[str], columns: Sequence[str], delimiter: str | None) -> str:
    """Return a file with the columns that are used of CSV files in a store, as text, or all if one is missing."""
    mark = delimiter or usual_delimiter(files[0])
    lazy = polars.scan_csv(files, separator=mark, infer_schema=False)
    used = list(dict.fromkeys(columns))
    lazy = lazy.select(used) if set(used) <= set(lazy.collect_schema().names()) else lazy
    file = kept(io.BytesIO(b""), "rows.csv")
    lazy.sink_csv(file)
    return file


#: What stands after the name of a text file that is compressed.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zstd")


def usual_delimiter(path: str) -> str:
    """Return what usually stands between two fields."""
    plain = Path(path).name.lower()
    for suffix in PACKED_SUFFIXES:
        plain = plain.removesuffix(suffix)
    return "\t" if plain.endswith((".tsv", ".tab")) else ","


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
        if len(files) > 1 or not source.endswith((".parquet", ".pq")):
            message = f"{files[0]}: reading a folder or several files in a store needs Polars; pip install polars"
            raise ProblemError(message)
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


def _versioned(polars: Any, files: list[str], kind: str, library: str) -> Any:
    """Open a table with versions as it is now."""
    try:
        import_module(library)
    except ImportError:
        message = f"{files[0]}: reading {kind} needs the library {library}; pip install polars {library}"
        raise ProblemError(message) from None
    if len(files) > 1:
        message = f"{files[1]}: one {kind} table is read at a time"
        raise ProblemError(message)
    if kind == "Delta":
        return polars.scan_delta(files[0])
    os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")  # else it warns that there is another one
    return polars.scan_iceberg(files[0])


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
