"""Opening files of rows: what they are, their first bytes tell. Engines read what is no text (see ``engines``)."""

from __future__ import annotations

import glob
import io
import sys
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairbound.cli import engines
from fairbound.cli.output import ProblemError, read_file, unreadable
from fairbound.data.csv_file import PACKED, CsvFile
from fairbound.data.tally import Tally
from fairbound.errors import InputError

#: How files begin that are not text. An Arrow stream has no name of its own: it begins with the length of a message.
PARQUET, ARROW, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
OTHERS = {
    b"FEA1": "Feather of the old version 1; write it again as version 2",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; name it as sqlite:///FILE, and its --table",
    b"%PDF": "a PDF document; save the table as CSV or Parquet",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
    b"\x80": "a pickle or another binary file; save the table as CSV or Parquet",
}
BINARY_SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"}


def expanded(paths: Sequence[str]) -> list[str]:
    """Return the files that are meant: patterns such as ``rows-*.csv`` stand for those that fit, in order."""
    found = []
    for path in paths:
        pattern = any(mark in path for mark in "*?[") and "://" not in path and not Path(path).exists()
        files = sorted(glob.glob(path, recursive=True)) if pattern else [path]
        if not files:
            message = f"{path}: no file is named like that"
            raise ProblemError(message)
        found += files
    twice = [path for path in found if found.count(path) > 1] if len(found) < 1000 else []
    if twice:
        message = f"{twice[0]} is named twice: its rows would count twice"
        raise ProblemError(message)
    return found


def read_tallies(paths: Sequence[str]) -> list[Tally]:
    """Return the tallies that files hold; none if the first of them is not one."""
    tallies: list[Tally] = []
    for path in paths:
        tally = path != "-" and Path(path).is_file() and b'"fairbound-tally"' in _start(path)[:100]
        if not tally and not tallies:
            return []
        if not tally:
            message = f"{path} is not a tally, but {paths[0]} is: tallies and rows are not taken together"
            raise ProblemError(message)
        try:
            tallies.append(Tally.from_json(read_file(path)))
        except InputError as error:
            message = f"{path}: {error.worded({})}"
            raise ProblemError(message) from None
    return tallies


def open_tables(paths: Sequence[str], text: CsvFile, *, table: str | None, columns: Sequence[str]) -> Any:
    """Return the rows of files as something that ``Population.from_frame`` takes.

    ``text`` says how CSV is to be read, ``table`` which table of a database; the columns are those that are used.
    """
    paths = expanded(paths)
    if any(engines.is_database(path) for path in paths):
        if len(paths) > 1 or table is None:
            message = f"{engines.shown(paths[0])} is a database: name one, and the table with --table"
            raise ProblemError(message)
        return engines.database(paths[0], table)
    if table is not None:
        message = f"--table {table!r}: {paths[0]} is no database"
        raise ProblemError(message)
    opened = [_Source.of(path, text.encoding) for path in paths]
    kinds = sorted({source.kind for source in opened})
    if len(kinds) > 1:
        message = f"these files are {' and '.join(kinds)}; name files of one kind"
        raise ProblemError(message)
    files = [file for source in opened for file in source.files]
    if kinds == ["CSV"]:
        mark = text.delimiter or engines.usual_delimiter(files[0])
        return replace(text, path=files[0], delimiter=mark, further=tuple(files[1:]))
    hive = any(source.hive for source in opened)
    rows = engines.binary(kinds[0], files, columns, hive=hive, delimiter=text.delimiter)
    return replace(text, path=rows, delimiter=",") if kinds == ["CSV in a store"] else rows


class _Source:
    """What a path or an address stands for: files of one kind, perhaps of a folder whose names tell columns (Hive)."""

    def __init__(self, kind: str, files: Sequence[str], *, hive: bool = False) -> None:
        self.kind, self.files, self.hive = kind, files, hive

    @classmethod
    def of(cls, path: str, encoding: str) -> _Source:
        if path == "-":
            return cls._of_stdin()
        if engines.is_web(path):
            return cls(*cls._of_file(engines.fetched(path), encoding, path))
        if engines.is_remote(path):
            plain = Path(path.removesuffix("/")).name.lower()
            return cls("CSV in a store" if ".csv" in plain or ".tsv" in plain else "Parquet", [path], hive=True)
        if Path(path).is_dir():
            return cls._of_folder(Path(path))
        return cls(*cls._of_file(path, encoding, path))

    @classmethod
    def _of_stdin(cls) -> _Source:
        raw = sys.stdin.buffer
        stream = raw if isinstance(raw, io.BufferedReader) else None
        start = stream.peek(8) if stream is not None else b""
        kind = _kind(start)
        return cls(kind, ["-"]) if kind == "CSV" else cls(kind, [engines.kept(sys.stdin.buffer)])

    @classmethod
    def _of_folder(cls, path: Path) -> _Source:
        table = engines.versioned(path)
        if table is not None:
            return cls(table[0], [table[1]])
        files = sorted(
            str(file)
            for suffix in ("*.parquet", "*.pq")
            for file in path.rglob(suffix)
            if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        )
        if not files:
            message = (
                f"{path} is a directory; name a file, a pattern such as '{path}/*.csv', or a folder of Parquet files"
            )
            raise ProblemError(message)
        return cls("Parquet", files, hive=True)

    @staticmethod
    def _of_file(path: str, encoding: str, name: str) -> tuple[str, list[str]]:
        start = _start(path)
        kind = _kind(start)
        if kind == "CSV":
            _check_text(name, start, encoding)
        return kind, [path]


def _kind(start: bytes) -> str:
    """Return what a file is, by its first bytes."""
    if start.startswith(PARQUET):
        return "Parquet"
    return "Arrow" if start.startswith(ARROW) else "an Arrow stream" if start.startswith(ARROW_STREAM) else "CSV"


def _check_text(path: str, start: bytes, encoding: str) -> None:
    """Refuse what is no text."""
    for magic, what in OTHERS.items():
        if start.startswith(magic):
            message = f"{path} is {what}"
            raise ProblemError(message)
    named = BINARY_SUFFIXES.get(Path(path).suffix.lower())
    if named:
        message = f"{path} is named as {named} but does not begin as such a file does"
        raise ProblemError(message)
    if _is_json(path, start):
        message = f"{path} is JSON, not a table; save the rows as CSV or Parquet"
        if b'"fairbound' in start:
            message = f"{path} is a certificate, not a table; fairbound verify, show and report read it"
        if b'"fairbound-tally"' in start:
            message = f"{path} is a tally, not a table; fairbound merge adds tallies up, fairbound certify bounds them"
        raise ProblemError(message)
    if b"\0" in start and encoding == "utf-8" and not start.startswith((b"\xff\xfe", b"\xfe\xff", *PACKED)):
        message = f"{path} holds binary data; it is neither CSV nor Parquet nor Arrow"
        raise ProblemError(message)


def _is_json(path: str, start: bytes) -> bool:
    """Tell JSON from CSV with a strange header: by its name and its first mark, or by the first two."""
    text = b"".join(start[:200].split())
    named = Path(path).suffix.lower() in {".json", ".jsonl", ".ndjson"}
    return text.startswith((b"{", b"[") if named else (b'{"', b'[{"'))


def _start(path: str) -> bytes:
    """Return the first bytes of a file that can be read."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            return b""  # a pipe: what is read of it is gone
        with Path(path).open("rb") as stream:
            start = stream.read(4096)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not start:
        message = f"{path} is empty: it needs a header and rows"
        raise ProblemError(message)
    return start


def label_of(frame: Any, column: str, text: str) -> Hashable:
    """Return the label that a text means, by the type of the column; what cannot be one there is refused later."""
    if isinstance(frame, CsvFile):
        return text
    import narwhals as nw  # noqa: PLC0415 (only where there is a frame)

    kind = nw.from_native(frame).collect_schema().get(column)
    if kind is None:
        return text
    if kind.is_integer():
        try:
            return int(text)
        except ValueError:
            return text
    return {"true": True, "false": False}.get(text.lower(), text) if kind == nw.Boolean else text
