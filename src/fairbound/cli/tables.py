"""Opening a file of rows: what it is, its first bytes tell. Parquet and Arrow stay lazy, in Polars."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from fairbound.cli.output import ProblemError, unreadable
from fairbound.data.csv_file import PACKED, CsvFile

#: How files begin that are not text. An Arrow stream has no name of its own: it begins with the length of a message.
PARQUET, ARROW, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
OTHERS = {
    b"FEA1": "Feather of the old version 1; write it again as version 2",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; save the table as CSV or Parquet",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard; unpack it, or compress it with gzip",
    b"%PDF": "a PDF document; save the table as CSV or Parquet",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
    b"\x80": "a pickle or another binary file; save the table as CSV or Parquet",
}
BINARY_SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"}


def open_table(path: str, *, delimiter: str | None, encoding: str, missing: frozenset[str]) -> Any:
    """Return the rows of a file as something that ``Population.from_frame`` takes."""
    if path != "-":
        start = _start(path)
        if start.startswith((PARQUET, ARROW, ARROW_STREAM)):
            return _binary_table(path, start)
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
            raise ProblemError(message)
        if b"\0" in start and encoding == "utf-8" and not start.startswith((b"\xff\xfe", b"\xfe\xff", *PACKED)):
            message = f"{path} holds binary data; it is neither CSV nor Parquet nor Arrow"
            raise ProblemError(message)
    plain = Path(path).name.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    usual = "\t" if plain.endswith((".tsv", ".tab")) else ","
    return CsvFile(path, delimiter or usual, encoding, missing)


def _is_json(path: str, start: bytes) -> bool:
    """Tell JSON from CSV with a strange header: by its name and its first mark, or by the first two."""
    text = b"".join(start[:200].split())
    named = Path(path).suffix.lower() in {".json", ".jsonl", ".ndjson"}
    return text.startswith((b"{", b"[") if named else (b'{"', b'[{"'))


def _start(path: str) -> bytes:
    """Return the first bytes of a file that can be read."""
    try:
        if Path(path).is_dir():
            message = f"{path} is a directory; name a file"
            raise ProblemError(message)
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


def _binary_table(path: str, start: bytes) -> Any:
    try:
        import polars as pl  # noqa: PLC0415 (an extra, only where such a file is read)
    except ImportError:
        kind = "Parquet" if start.startswith(PARQUET) else "Arrow"
        message = f"{path}: reading {kind} needs Polars; pip install polars, or save the table as CSV"
        raise ProblemError(message) from None
    if start.startswith(PARQUET):
        return pl.scan_parquet(path, glob=False)
    try:
        return pl.scan_ipc(path, glob=False) if start.startswith(ARROW) else pl.read_ipc_stream(path).lazy()
    except Exception as error:  # Polars has errors of its own
        message = f"{path} cannot be read: {' '.join(str(error).split())[:300]}"
        raise ProblemError(message) from None


def label_of(frame: Any, column: str, text: str) -> Hashable:
    """Return the label that a text means, by the type of the column; what cannot be one there is refused later."""
    kind = None if isinstance(frame, CsvFile) else frame.collect_schema().get(column)
    if kind is None:
        return text
    if kind.is_integer():
        try:
            return int(text)
        except ValueError:
            return text
    return {"true": True, "false": False}.get(text.lower(), text) if str(kind) == "Boolean" else text
