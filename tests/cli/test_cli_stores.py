"""Stores of files, tables with versions, pages behind a certificate: the command line reads what is there."""

from __future__ import annotations

import base64
import email.utils
import hmac
import http.client
import json
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairbound.cli import main
from tests.data.engines import free_port, wait_for

# Of how engines use the libraries below them, these warn, not of what we do.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]

ASK = ["--label", "income", "--group", "sex", "--prediction", "yhat", "--rho", "0.3", "--format", "json"]


def people(days: int) -> pl.DataFrame:
    """Rows with labels that are no numbers as they are written: a reader that guesses types would join two of them."""
    texts = {"sex": list("ffmmmfmf"), "income": ["01", "1"] * 4, "yhat": ["01", "1", "1", "1", "01", "01", "01", "1"]}
    return pl.DataFrame({name: values * 10 * days for name, values in texts.items()})


def certified(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["certify", *words]) == 0
    told = capsys.readouterr()
    assert not told.err
    found: dict[str, Any] = json.loads(told.out)
    return {name: found["population"][name] for name in ("groups", "labels", "rows", "cells")}


@pytest.fixture
def expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (tmp_path / "expected").mkdir()
    people(2).write_csv(tmp_path / "expected" / "rows.csv")
    return certified(capsys, str(tmp_path / "expected" / "rows.csv"), *ASK)


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """Start a store on loopback that speaks as S3 does, with an empty bucket; what is put into it is told by name."""
    pytest.importorskip("moto.server", reason="moto, which plays a store, is not installed")
    files = pytest.importorskip("pyarrow.fs")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            keys = {"access_key": "none", "secret_key": "none", "region": "us-east-1"}
            connected = files.S3FileSystem(endpoint_override=address, scheme="http", allow_bucket_creation=True, **keys)
            connected.create_dir("rows")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ENDPOINT_URL", address)
                patch.setenv("AWS_ALLOW_HTTP", "true")
                patch.setenv("AWS_ACCESS_KEY_ID", "none")
                patch.setenv("AWS_SECRET_ACCESS_KEY", "none")
                patch.setenv("AWS_REGION", "us-east-1")
                # Google's stores list and hand out files in the same words, so the same server can play one of these.
                plain = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
                google = {"gcs_base_url": address, "disable_oauth": True} | plain
                patch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(google))
                yield connected
        finally:
            server.terminate()


def put(store: Any, file: Path, name: str) -> None:
    with store.open_output_stream(f"rows/{name}") as stream:
        stream.write(file.read_bytes())


@pytest.mark.slow
def test_a_store_is_read_as_files_are(
    store: Any, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        people(1).write_parquet(tmp_path / "rows.parquet")
        people(1).write_csv(tmp_path / "rows.csv")
        put(store, tmp_path / "rows.parquet", f"hive/day={number}/rows.parquet")
        put(store, tmp_path / "rows.csv", f"{number}.csv")
    people(2).write_csv(tmp_path / "rows.tsv", separator="\t")
    put(store, tmp_path / "rows.tsv", "rows.tsv")
    for place in ("hive", "hive/", "hive/**/*.parquet", "*.csv", "rows.tsv"):
        assert certified(capsys, f"s3://rows/{place}", *ASK) == expected
    by_day = ["--label", "income", "--group", "day", *ASK[4:]]
    cells = certified(capsys, "s3://rows/hive", *by_day)["cells"]
    assert [cell["weight"] for cell in cells] == [40.0] * 4
    for place in ("rows/none.parquet", "none/rows.parquet"):
        assert main(["certify", f"s3://{place}", *ASK]) == 2
        assert f"s3://{place} cannot be read" in capsys.readouterr().err
    assert main(["certify", "s3://rows/rows.tsv", *ASK, "--label", "incme"]) == 2
    assert "there is no column 'incme'; did you mean 'income'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_store_of_google_is_read_as_files_are(
    store: Any, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        people(1).write_parquet(tmp_path / "rows.parquet")
        people(1).write_csv(tmp_path / "rows.csv")
        put(store, tmp_path / "rows.parquet", f"google/day={number}/rows.parquet")
        put(store, tmp_path / "rows.csv", f"google-{number}.csv")
    for place in ("google", "google/**/*.parquet", "google-*.csv"):
        assert certified(capsys, f"gs://rows/{place}", *ASK) == expected
    assert main(["certify", "gs://rows/none.parquet", *ASK]) == 2
    assert "gs://rows/none.parquet cannot be read" in capsys.readouterr().err


@pytest.fixture(scope="module")
def azure() -> Iterator[None]:
    """Start Azurite on loopback, which Microsoft's own tests of Azure's stores use, with an empty container."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("Azurite, which plays a store of Azure, is not installed (npm install -g azurite)")
    port, account = free_port(), "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # everybody's
    command = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    told = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in told.items())]
    signed = "\n".join([*lines, f"/{account}/{account}/rows", "restype:container"])
    mark = base64.b64encode(hmac.digest(base64.b64decode(key), signed.encode(), "sha256")).decode()
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen([*command, "--skipApiVersionCheck"], stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            headers = told | {"Authorization": f"SharedKey {account}:{mark}"}
            asked = http.client.HTTPConnection("127.0.0.1", port)
            asked.request("PUT", f"/{account}/rows?restype=container", headers=headers)
            assert asked.getresponse().status == 201
            asked.close()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
                patch.setenv("AZURITE_BLOB_STORAGE_URL", address)
                patch.setenv("AZURE_STORAGE_ACCOUNT_NAME", account)
                patch.setenv("AZURE_STORAGE_ACCOUNT_KEY", key)
                yield
        finally:
            server.terminate()


@pytest.mark.slow
def test_a_store_of_azure_is_read_as_files_are(
    azure: None, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        people(1).write_parquet(f"az://rows/hive/day={number}/rows.parquet")
        people(1).lazy().sink_csv(f"az://rows/{number}.csv")
    for place in ("hive", "hive/**/*.parquet", "*.csv"):
        assert certified(capsys, f"az://rows/{place}", *ASK) == expected
    assert certified(capsys, "abfss://rows@devstoreaccount1.dfs.core.windows.net/hive", *ASK) == expected
    assert main(["certify", "az://rows/none.parquet", *ASK]) == 2
    assert "az://rows/none.parquet cannot be read" in capsys.readouterr().err


@pytest.mark.slow
def test_rows_that_were_deleted_in_delta_do_not_count(
    store: Any, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    folder = tmp_path / "delta"
    deltalake.write_deltalake(str(folder), people(2).to_arrow())
    deltalake.write_deltalake(str(folder), people(1).with_columns(sex=pl.lit("x")).to_arrow(), mode="append")
    deltalake.DeltaTable(str(folder)).delete("sex = 'x'")
    assert len(list(folder.glob("*.parquet"))) == 2
    assert certified(capsys, str(folder), *ASK) == expected
    for file in folder.rglob("*"):
        if file.is_file():
            put(store, file, f"delta/{file.relative_to(folder)}")
    assert certified(capsys, "s3://rows/delta", *ASK) == expected


@pytest.mark.slow
def test_rows_that_were_deleted_in_iceberg_do_not_count(
    store: Any, expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    found = catalog.SqlCatalog("here", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    found.create_namespace("all")
    table = found.create_table("all.people", schema=people(1).to_arrow().cast(_plain_text()).schema)
    table.append(people(2).to_arrow().cast(_plain_text()))
    table.append(people(1).with_columns(sex=pl.lit("x")).to_arrow().cast(_plain_text()))
    table.delete("sex == 'x'")
    folder = tmp_path / "all" / "people"
    assert len(list(folder.rglob("*.parquet"))) == 2
    assert certified(capsys, str(folder), *ASK) == expected
    for file in folder.rglob("*"):
        if file.is_file():
            put(store, file, f"iceberg/{file.relative_to(folder)}")
    assert main(["certify", "s3://rows/iceberg", *ASK]) == 2
    assert "is a table of Iceberg; open it with a catalogue" in capsys.readouterr().err
    (latest,) = (folder / "metadata").glob("00003-*.metadata.json")
    shutil.copy(latest, folder / "metadata" / "00003-other.metadata.json")
    assert main(["certify", str(folder), *ASK]) == 2
    assert "may be the present one" in capsys.readouterr().err
    (tmp_path / "hudi" / ".hoodie").mkdir(parents=True)
    people(1).write_parquet(tmp_path / "hudi" / "rows.parquet")
    assert main(["certify", str(tmp_path / "hudi"), *ASK]) == 2
    assert "is a table of Hudi, which is not read" in capsys.readouterr().err


def _plain_text() -> Any:
    import pyarrow as pa  # noqa: PLC0415 (only where it is needed)

    return pa.schema({name: pa.string() for name in people(1).columns})


def test_a_page_whose_certificate_is_trusted_and_one_whose_is_not(
    expected: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes a certificate, is not installed")
    key, pem = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command = [openssl, "req", "-x509", *kind, *names, "-days", "2", "-keyout", str(key), "-out", str(pem)]
    subprocess.run(command, check=True, capture_output=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (as its base calls it)
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    folder = partial(Quiet, directory=str(tmp_path / "expected"))
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            address = f"https://127.0.0.1:{server.server_address[1]}/rows.csv"
            assert main(["certify", address, *ASK]) == 2
            assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err
            monkeypatch.setenv("SSL_CERT_FILE", str(pem))
            assert certified(capsys, address, *ASK) == expected
        finally:
            server.shutdown()
