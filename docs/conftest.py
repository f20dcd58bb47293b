"""The examples of the pages run as tests, each page in a folder of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Pages whose examples take partners, and which.
PARTNERS = {
    "integrations.md": ("cyclonedx", "fairlearn", "huggingface_hub", "matplotlib", "skops"),
    "mlflow.md": ("mlflow", "pandas"),
}

#: A page whose examples take engines that few have all installed.
ENGINES_PAGE = "large-data.md"
ENGINES = (
    "daft",
    "dask.dataframe",
    "datafusion",
    "distributed",
    "ibis",
    "psycopg",
    "pyiceberg.catalog.sql",
    "pyspark",
    "sqlframe",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the engines, and MLflow, only with the slow tests."""
    for item in items:
        if item.path.name == "mlflow.md":
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # its own
        if item.path.name == ENGINES_PAGE:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore:Iceberg scan planning"))  # there is a faster way
            for kind in ("DeprecationWarning", "FutureWarning"):  # of the engines
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a page write its files where they disturb nobody, and close the figures that it opened."""
    monkeypatch.chdir(tmp_path)
    for partner in PARTNERS.get(request.node.path.name, ()):
        pytest.importorskip(partner, reason=f"{partner} is not installed")
    if request.node.path.name == ENGINES_PAGE:
        request.getfixturevalue("_database")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def _database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start a database that has the table of the page."""
    from tests.data.engines import need_java, postgres_server  # noqa: PLC0415 (only for this page)

    for engine in ENGINES:
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    need_java()
    import psycopg  # noqa: PLC0415 (only for this page)

    with postgres_server() as port:
        with psycopg.connect(f"host=127.0.0.1 port={port} user=tester dbname=postgres", autocommit=True) as connection:
            connection.execute("CREATE TABLE people (sex text, income text, predicted text, probability float8)")
            people = "('f','no','no',.1),('f','no','no',.2),('f','no','no',.1),('f','yes','no',.4),"
            people += "('m','no','no',.3),('m','no','no',.1),('m','yes','yes',.8),('m','yes','no',.4)"
            query = f"SELECT row.* FROM generate_series(1, 500), (VALUES {people}) AS row"  # noqa: S608 (our own)
            connection.execute(f"INSERT INTO people {query}")
        monkeypatch.setenv("DATABASE", f"postgres://tester@127.0.0.1:{port}/postgres")
        yield
