"""CSV files, read the same way everywhere: by the standard library or, large ones, by an engine that is sure of them.

Only the columns that are used are kept: of names the distinct texts and each row's place among them, of numbers the
numbers. A text is never changed to look like a number: see :func:`typed`.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import lzma
import math
import os
import sys
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data import csv_engine
from fairbound.data.columns import Columns, check_known
from fairbound.errors import InputError, given

#: No line of a table is longer than this; a file of binary data may be.
LONGEST_LINE = 1 << 24

#: A file of fewer bytes is read before an engine is loaded.
SMALL = 1 << 20

#: Rows are read in portions of this many.
PORTION = 1 << 16


def _zstandard(stream: BinaryIO) -> Any:
    """Unpack Zstandard with whichever library is there: Python's own from 3.14 on, or another one."""
    ways: list[tuple[str, Callable[[Any], Any]]] = [
        ("compression.zstd", lambda library: library.ZstdFile(stream)),
        ("backports.zstd", lambda library: library.ZstdFile(stream)),
        ("zstandard", lambda library: library.ZstdDecompressor().stream_reader(stream, read_across_frames=True)),
        ("pyarrow", lambda library: library.CompressedInputStream(stream, "zstd")),
    ]
    for module, opened in ways:
        try:
            return opened(import_module(module))
        except ImportError:
            continue
    message = "the file is compressed with Zstandard, which needs a library: pip install zstandard"
    raise InputError(message)


#: How compressed files begin, and what opens them.
PACKED: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstandard,
}

#: Texts in a column of numbers that mean that there is none.
NO_NUMBER = frozenset({"", "na", "n/a", "nan", "null", "none"})


@dataclass(frozen=True)
class CsvTable:
    """The columns that are used: ``texts`` and ``places`` of names, ``numbers`` with NaN where there is none."""

    rows: int
    texts: dict[str, list[str]]
    places: dict[str, Integers]
    numbers: dict[str, Floats]


@dataclass(frozen=True)
class CsvFile:
    """A CSV file with a header, perhaps compressed (gzip, bzip2, xz); it is read when its columns are known.

    Attributes
    ----------
    path
        The file; "-" is the standard input.
    delimiter
        What stands between two fields.
    encoding
        Of the text. A byte order mark of UTF-16 is obeyed.
    missing
        Texts that stand for a missing name, besides nothing at all.
    further
        More files of the same kind, whose rows are taken too; each has a header of its own.
    watch
        Is told what share of the bytes was read.
    """

    path: str
    delimiter: str = ","
    encoding: str = "utf-8"
    missing: frozenset[str] = frozenset()
    further: tuple[str, ...] = ()
    watch: Callable[[float], None] | None = None

    def read(self, columns: Columns) -> CsvTable:
        """Read the columns that are used, of all files."""
        paths, tables = (self.path, *self.further), []
        for number, path in enumerate(paths):
            one = replace(self, path=path, further=(), watch=self._watched(number / len(paths), 1 / len(paths)))
            try:
                tables.append(one._read(columns))
            except InputError as error:
                if not self.further:
                    raise
                raise error.preceded(f"{path}: ") from None
        return joined(tables)

    def _watched(self, done: float, share: float) -> Callable[[float], None] | None:
        """Return what watches one file of several."""
        watch = self.watch
        return None if watch is None else lambda part: watch(done + share * part)

    def _read(self, columns: Columns) -> CsvTable:
        """Read one file: by an engine if one is installed and sure of it, else by the standard library."""
        try:
            found = self._by_engine(columns)
            if found is not None:
                return found
            with self._open() as (stream, raw):
                reader = csv.reader(_lines(stream), delimiter=self.delimiter, strict=True)
                return _read(reader, columns, self._teller(raw))
        except OSError as error:
            if error.strerror is None:  # a compressed file that is not one inside
                message = f"the compressed data are damaged: {error}"
                raise InputError(message) from None
            raise
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            message = f"the compressed data are damaged: {error}"
            raise InputError(message) from None
        except UnicodeError as error:
            byte = f"byte 0x{error.object[error.start]:02x}" if isinstance(error, UnicodeDecodeError) else "a character"
            message = (
                f"{byte} cannot be read as {self.encoding}: save the file as UTF-8, or name its encoding, such as "
                f"{given('encoding', 'latin-1')}; a binary file cannot be read"
            )
            raise InputError(message) from None
        except LookupError:
            message = f"{given('encoding', self.encoding)} is not known"
            raise InputError(message) from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":  # of any of the libraries that read Zstandard
                raise
            message = f"the compressed data are damaged: {error}"
            raise InputError(message) from None

    def _by_engine(self, columns: Columns) -> CsvTable | None:
        """Return the same from an engine; None if there is none, or if the file is small, or not plain enough."""
        if self.path == "-" or self.encoding.lower() not in {"utf-8", "utf8"}:
            return None
        if not (Path(self.path).is_file() and Path(self.path).stat().st_size >= SMALL):
            return None
        engine = csv_engine.installed()
        if engine is None:
            return None
        tables, count = [], 0
        try:
            with ExitStack() as stack:
                stream, raw = self._unpacked(stack)
                if stream.peek(8).startswith(csv_engine.OTHER_TEXT):
                    return None
                told = self._teller(raw)
                for header, block in csv_engine.blocks(stream, self.delimiter):
                    tables.append(_cut(engine, block, self.delimiter, header, columns, count))
                    count += tables[-1].rows
                    told()
        except InputError:
            raise
        except Exception:
            return None
        return joined(tables) if tables else None

    def _teller(self, raw: BinaryIO) -> Callable[[], None]:
        """Return what tells how much of the file, as it lies there, was read."""
        watch = self.watch
        size = os.fstat(raw.fileno()).st_size if watch is not None and self.path != "-" else 0
        return (lambda: watch(raw.tell() / size)) if watch is not None and size else lambda: None

    def _unpacked(self, stack: ExitStack) -> tuple[io.BufferedReader, BinaryIO]:
        """Open the file, and unpack it if it is packed; return also the file as it lies there."""
        raw: BinaryIO = sys.stdin.buffer
        if self.path != "-":
            raw = stack.enter_context(Path(self.path).open("rb"))  # noqa: SIM115 (the stack closes it)
        stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
        for magic, unpacked in PACKED.items():
            if stream.peek(8).startswith(magic):
                return io.BufferedReader(cast("io.RawIOBase", stack.enter_context(unpacked(stream)))), raw
        return stream, raw

    @contextmanager
    def _open(self) -> Iterator[tuple[io.TextIOWrapper, BinaryIO]]:
        """Open the file and decode it; return also the file as it lies there."""
        with ExitStack() as stack:
            stream, raw = self._unpacked(stack)
            encoding = "utf-16" if stream.peek(8).startswith((b"\xff\xfe", b"\xfe\xff")) else self.encoding
            if encoding.lower() in {"utf-8", "utf8"}:
                encoding = "utf-8-sig"  # the mark that some programs write first is no part of the header
            text = io.TextIOWrapper(stream, encoding=encoding, newline="")
            try:
                yield text, raw
            finally:
                if self.path == "-":
                    text.detach()  # the standard input is not ours to close


def _cut(
    engine: csv_engine.Engine, block: bytes, delimiter: str, header: Sequence[str], columns: Columns, before: int
) -> CsvTable:
    """Return a block of lines as a table, cut into fields by an engine."""
    places = _places(header, columns)
    wanted, texts_too = sorted(set(places.values())), {places[name] for name in columns.keys}
    numeric = sorted({places[name] for name in columns.numeric} - texts_too)
    cut = dict(zip(wanted, engine(block, delimiter, len(header), wanted, numeric), strict=True))
    texts, codes, values = {}, {}, {}
    for name in columns.keys:
        texts[name], codes[name] = cut[places[name]].texts()
    for name in columns.numeric:
        numbers = cut[places[name]].numbers()
        values[name] = _numbers(name, cut[places[name]].strings(), before) if numbers is None else numbers
    return CsvTable(len(next(iter(codes.values()))), texts, codes, values)


def _lines(stream: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines, refusing what cannot be one of a table."""
    for number in itertools.count(1):
        line = stream.readline(LONGEST_LINE)
        if not line:
            return
        if len(line) == LONGEST_LINE:
            message = f"line {number} has more than {LONGEST_LINE:,} characters: this is not a table of rows"
            raise InputError(message)
        if "\0" in line:
            message = f"line {number} holds a NUL character: this is a binary file, not CSV"
            raise InputError(message)
        yield line


def _read(reader: Iterator[list[str]], columns: Columns, told: Callable[[], None]) -> CsvTable:
    """Read header and rows."""
    count = 0
    try:
        header = next((row for row in reader if row), None)
        if header is None:
            message = "the file is empty: it needs a header and rows"
            raise InputError(message)
        place = _places(header, columns)
        texts = {name: _Names() for name in columns.keys}
        codes: dict[str, list[Integers]] = {name: [] for name in columns.keys}
        values: dict[str, list[Floats]] = {name: [] for name in columns.numeric}
        while raw := list(itertools.islice(reader, PORTION)):
            rows = [row for row in raw if row]  # lines with nothing on them are no rows
            _check_widths(rows, len(header), count)
            for name in columns.keys:
                fields = map(itemgetter(place[name]), rows)
                codes[name].append(np.fromiter(map(texts[name].__getitem__, fields), np.int32, len(rows)))
            for name in columns.numeric:
                values[name].append(_numbers(name, list(map(itemgetter(place[name]), rows)), count))
            count += len(rows)
            told()
    except csv.Error as error:
        hint = "; a quotation mark may be open" if "end of data" in str(error) else ""
        message = f"line {reader.line_num}: {error}{hint}"  # type: ignore[attr-defined]  # the reader of the csv module
        raise InputError(message) from None
    if not count:
        message = "the file has a header but no rows; at least one row per group and label is needed"
        raise InputError(message)
    return CsvTable(
        count,
        {name: list(found) for name, found in texts.items()},
        {name: np.concatenate(parts).astype(np.int64) for name, parts in codes.items()},
        {name: np.concatenate(parts) for name, parts in values.items()},
    )


def joined(tables: Sequence[CsvTable]) -> CsvTable:
    """Return the rows of all tables in one."""
    if len(tables) == 1:
        return tables[0]
    texts: dict[str, list[str]] = {}
    places: dict[str, Integers] = {}
    for name in tables[0].texts:
        number = _Names()
        parts = []
        for table in tables:
            code = np.array([number[text] for text in table.texts[name]], dtype=np.int64)
            same = np.array_equal(code, np.arange(len(code)))
            parts.append(table.places[name] if same else code[table.places[name]])
        texts[name] = list(number)
        places[name] = np.concatenate(parts)
    numbers = {name: np.concatenate([table.numbers[name] for table in tables]) for name in tables[0].numbers}
    return CsvTable(sum(table.rows for table in tables), texts, places, numbers)


class _Names(dict[str, int]):
    """Numbers texts in the order in which they are first asked for."""

    def __missing__(self, text: str) -> int:
        self[text] = place = len(self)
        return place


def _places(header: Sequence[str], columns: Columns) -> dict[str, int]:
    """Find the columns that are used; each must be there once."""
    if len(header) == 1 and len(columns.names) > 1:
        for mark in (";", "\t", "|"):
            if mark in header[0]:
                message = (
                    f"the header has a single column; its parts seem to be separated by {mark!r}: use "
                    f"{given('delimiter', mark)}"
                )
                raise InputError(message)
    check_known(columns, header)
    for name in columns.names:
        if header.count(name) > 1:
            message = (
                f"column {name!r} stands {header.count(name)} times in the header; give each column a name of its own"
            )
            raise InputError(message)
    return {name: header.index(name) for name in columns.names}


def _check_widths(rows: Sequence[Sequence[str]], width: int, before: int) -> None:
    if rows and set(map(len, rows)) != {width}:
        index = next(i for i, row in enumerate(rows) if len(row) != width)
        message = (
            f"row {before + index + 1} after the header has {len(rows[index])} fields, but the header has {width}; "
            "put fields that hold the delimiter in quotes"
        )
        raise InputError(message)


def _numbers(name: str, fields: Sequence[str], before: int) -> Floats:
    """Read numbers; NaN where there is none."""
    try:
        if "_" in "".join(fields):  # Python reads 1_000, which is no number in a table
            raise ValueError
        return np.fromiter(map(float, fields), np.float64, len(fields))
    except ValueError:
        return np.array([_number(name, field, before + i + 1) for i, field in enumerate(fields)])


def _number(name: str, field: str, row: int) -> float:
    if field.strip().lower() in NO_NUMBER:
        return math.nan
    try:
        if "_" in field:
            raise ValueError
        return float(field)
    except ValueError:
        hint = "; write decimals with a point" if "," in field else ""
        message = f"column {name!r} must hold numbers, but row {row} after the header has {field[:60]!r}{hint}"
        raise InputError(message) from None


def typed(*columns: Sequence[str]) -> list[list[Hashable]]:
    """Give columns of texts that are compared with each other their type: numbers if all are, else texts.

    A number is one only if it is written as Python would write it. So 0 and 1 are integers and 1.0 is a number, but
    "01", "1e3", "+1", " 1" and "0.50" are texts, and one such text makes all the others of its column texts.
    """
    found = [[_plain_number(text) for text in texts] for texts in columns]
    if any(value is None for values in found for value in values):
        return [list(texts) for texts in columns]
    return [[*values] for values in found]


def _plain_number(text: str) -> int | float | None:
    """Return the number that a text is, if it is written in the one usual way."""
    if len(text) > 15 or not text or text[0] not in "-0123456789":
        return None
    for kind in (int, float):
        try:
            value: int | float = kind(text)
        except ValueError:
            continue
        if repr(value) == text:
            return value
    return None
