"""CSV through Polars or PyArrow, where one is installed: many times as fast as the standard library, and the same.

An engine is only asked to cut lines into fields; what the fields mean is decided as for the reader of the standard
library. And it is asked only where there is one way to cut them: no quotation mark but around whole fields, no empty
lines, and as many delimiters as fields need. A file with anything else is read by the standard library, as is one at
which an engine fails: it knows what to say.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers

#: A file is read in blocks of so many bytes, which stay in the processor's cache; lines that are longer are left to the
#: standard library.
BLOCK = 1 << 23

#: A file that begins with one of these is not UTF-8.
OTHER_TEXT = (b"\xff\xfe", b"\xfe\xff")

#: The mark that some programs write first.
MARK = b"\xef\xbb\xbf"

#: Takes a block of lines, the delimiter, the number of fields, and those that are wanted: as texts, and as numbers.
#: Gives these as columns, in order.
Engine = Callable[[bytes, str, int, Sequence[int], Sequence[int]], list["Fields"]]


class UnsureError(Exception):
    """There may be more than one way to read this, or none."""


class Fields:
    """The fields of a column: as texts and each row's place among them, and as numbers where they are some."""

    def __init__(self, texts: Callable[[], tuple[list[str], Integers]], numbers: Callable[[], Floats | None]) -> None:
        self.texts, self.numbers = texts, numbers

    def strings(self) -> list[str]:
        """Return the fields one by one."""
        texts, places = self.texts()
        return [texts[place] for place in places.tolist()]


def installed() -> Engine | None:
    """Return the engine that is installed; None if there is none."""
    for module, engine in (("polars", _by_polars), ("pyarrow.csv", _by_pyarrow)):
        try:
            import_module(module)
        except ImportError:
            continue
        return engine
    return None


def blocks(stream: BinaryIO, delimiter: str) -> Iterator[tuple[list[str], bytes]]:
    """Yield the header, and blocks of whole lines in which every field is sure to be cut in one way.

    The next block is read and looked at while this one is cut into fields.
    """
    items = _blocks(stream, delimiter)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (found := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield found


def _blocks(stream: BinaryIO, delimiter: str) -> Iterator[tuple[list[str], bytes]]:
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise UnsureError
    header = _header(stream.readline(BLOCK).removeprefix(MARK), delimiter)
    while block := stream.read(BLOCK):
        block += stream.readline(BLOCK)
        quotes = block.count(b'"') if b'"' in block else 0
        while quotes % 2:  # the line ends between quotation marks
            more = stream.readline(BLOCK)
            if not more or len(block) > 2 * BLOCK:
                raise UnsureError
            block, quotes = block + more, quotes + more.count(b'"')
        yield header, checked(block, delimiter, len(header))


def _header(line: bytes, delimiter: str) -> list[str]:
    """Return the names of the columns."""
    try:
        text = line.decode().removesuffix("\n").removesuffix("\r")
        (names,) = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    except (ValueError, csv.Error):
        raise UnsureError from None
    if len(names) < 2 or "\r" in text or "\0" in text:
        raise UnsureError
    return names


def checked(block: bytes, delimiter: str, width: int) -> bytes:
    """Return a block if its lines can be cut in one way only.

    What is left when all but delimiters and ends of lines is taken away says whether each line has as many fields as
    the header. Not all versions of the engines look at that.
    """
    plain = block
    if b'"' in block:
        mark = re.escape(delimiter.encode())
        whole = rb"(?:\A|(?<=[\n" + mark + rb']))"[^"]*+(?:""[^"]*+)*+"(?=[\r\n' + mark + rb"]|\Z)"
        plain = re.sub(whole, b"", block)
    odd_ends = b"\r" in plain and plain.count(b"\r") != plain.count(b"\r\n")
    if b'"' in plain or b"\0" in block or odd_ends:
        raise UnsureError
    mark = delimiter.encode()
    marks = plain.translate(None, bytes(set(range(256)) - {*mark, *b"\n"})) + b"\n" * (not block.endswith(b"\n"))
    if marks != (mark * (width - 1) + b"\n") * (len(marks) // width):
        raise UnsureError
    return block


def _by_polars(block: bytes, delimiter: str, width: int, wanted: Sequence[int], numeric: Sequence[int]) -> list[Fields]:
    import polars as pl  # noqa: PLC0415 (only where a CSV file is read)

    def read(kinds: dict[int, Any]) -> Any:
        # Without the schema, the first line says how many fields there are.
        schema = {f"f{place}": kinds.get(place, pl.String) for place in range(width)}
        return pl.read_csv(
            block,
            has_header=False,
            columns=list(kinds),
            separator=delimiter,
            schema=schema,
            ignore_errors=any(kind != pl.String for kind in kinds.values()),
        )

    # Names are numbered while they are read, for few of them differ.
    frame = read({place: pl.Float64 if place in numeric else pl.Categorical for place in wanted})
    doubtful = [place for place in wanted if frame[f"f{place}"].null_count()]
    # As they stand there: what is no number has to be shown, and what is no UTF-8 refused.
    as_text = read(dict.fromkeys(doubtful, pl.String)) if doubtful else frame

    def fields(place: int) -> Fields:
        series = (as_text if place in doubtful else frame)[f"f{place}"]

        def texts() -> tuple[list[str], Integers]:
            filled = series.fill_null("").cast(pl.Categorical)
            distinct = filled.unique()
            found, numbers = distinct.to_list(), distinct.to_physical().to_numpy()
            order = sorted(range(len(found)), key=found.__getitem__)  # so that all blocks have one
            place = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
            place[numbers[order]] = np.arange(len(found))
            return [found[index] for index in order], place[filled.to_physical().to_numpy()]

        def numbers() -> Floats | None:
            found = series if series.dtype == pl.Float64 else series.cast(pl.String).cast(pl.Float64, strict=False)
            return found.to_numpy() if found.null_count() == 0 else None

        return Fields(texts, numbers)

    return [fields(place) for place in wanted]


def _by_pyarrow(
    block: bytes, delimiter: str, width: int, wanted: Sequence[int], numeric: Sequence[int]
) -> list[Fields]:
    import pyarrow as pa  # noqa: PLC0415 (only where a CSV file is read)
    from pyarrow import csv as reader  # noqa: PLC0415 (likewise)

    names = [f"f{place}" for place in range(width)]
    used = [names[place] for place in wanted]
    table = reader.read_csv(
        pa.BufferReader(block),
        read_options=reader.ReadOptions(column_names=names, block_size=1 << 24),
        parse_options=reader.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
        convert_options=reader.ConvertOptions(
            include_columns=used, column_types=dict.fromkeys(used, pa.string()), strings_can_be_null=False
        ),
    )

    def fields(column: Any) -> Fields:
        def texts() -> tuple[list[str], Integers]:
            found = column.combine_chunks().dictionary_encode()
            return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64)

        def numbers() -> Floats | None:
            try:
                return column.cast(pa.float64()).to_numpy()
            except pa.ArrowInvalid:
                return None

        return Fields(texts, numbers)

    return [fields(table[name]) for name in used]
