"""Reading data frames of any library, through narwhals. Imported only when a frame is read, and narwhals with it.

A frame that is held in memory is read row by row, as arrays are. A lazy one (a Polars query, a DuckDB relation, ...)
stays where it is: its own engine groups and counts, and what comes back is a histogram per cell. What streams Arrow
batches, of whatever library, becomes a table of the columns that are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals as nw

from fairbound.data.collected_frames import read_collected
from fairbound.data.columns import Columns, check_known
from fairbound.data.counted import Counted, Rows, count_cells
from fairbound.data.csv_file import CsvFile
from fairbound.data.csv_rows import read_csv
from fairbound.data.lazy_frames import count_lazy
from fairbound.errors import InputError, argument, either


def count_frame(frame: Any, columns: Columns) -> Counted:
    """Count the cells of a frame, and of its strata if it has some, and summarise their losses."""
    found = read_frame(frame, columns)
    if isinstance(found, Rows):
        return count_cells(found, columns.ceiling, columns.loss_name)
    counted = count_lazy(found, columns)
    if not columns.strata:
        return counted
    return replace(counted, fine=count_lazy(found, columns.by_strata), strata=columns.strata)


def read_frame(frame: Any, columns: Columns) -> Rows | nw.LazyFrame[Any]:
    """Return the rows of a frame in memory, or a lazy frame whose columns are there and can be counted."""
    if isinstance(frame, CsvFile):
        return read_csv(frame, columns)
    opened, schema = _open(frame, columns)
    check_known(columns, schema.names())
    for name in columns.keys:
        if schema[name].is_nested():
            message = f"column {name!r} holds {schema[name]}; groups and labels must be plain values such as text"
            raise InputError(message)
    for name in columns.numeric:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            message = f"column {name!r} must hold numbers, not {schema[name]}; convert it"
            raise InputError(message)
    kind = schema[columns.label]
    text = kind in (nw.String, nw.Categorical, nw.Enum)
    if not columns.by_place and (text or kind.is_numeric() or kind == nw.Boolean):
        for label in columns.probability:  # engines fail on comparisons of text with numbers, in words of their own
            if isinstance(label, str) != text:
                message = (
                    f"{argument('probability')} names the label {label!r}, but column {columns.label!r} holds {kind}"
                )
                raise InputError(message)
    return read_collected(opened, columns) if isinstance(opened, nw.DataFrame) else opened


def _open(frame: Any, columns: Columns) -> tuple[nw.DataFrame[Any] | nw.LazyFrame[Any], nw.Schema]:
    """Return the frame in the words of narwhals, and the types of its columns."""
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
    try:
        known = nw.from_native(frame, pass_through=True)
        batches = _batches(frame, columns) if known is frame else None
        opened = known if batches is None else nw.from_native(batches)
        if isinstance(opened, nw.DataFrame | nw.LazyFrame):
            return opened, opened.collect_schema()
    except (OSError, InputError):  # a file is not there: its own message is the best
        raise
    except Exception as error:  # libraries have errors of their own, of any type
        reason = " ".join(str(error).split())[:400]
        damaged = either(f"{argument('frame')} is a {kind} that cannot be read", "the file is damaged")
        message = f"{damaged}: {reason}"
        raise InputError(message) from error
    message = (
        f"{argument('frame')} is a {kind}, which is not a data frame; pass one of pandas, Polars, PyArrow, DuckDB or "
        "another library that narwhals knows, or one that streams Arrow batches, or use from_predictions for arrays"
    )
    raise InputError(message)


def _batches(frame: Any, columns: Columns) -> Any:
    """Return a table of PyArrow, or None if the frame does not stream batches.

    Text is kept as codes, batch by batch, so that names that come again take little memory.
    """
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
    streams = hasattr(frame, "__arrow_c_stream__")  # Daft, DataFusion, readers, record batches and others
    dataset, ray = kind.startswith("pyarrow._dataset"), kind.startswith("ray.data")
    if not (streams or dataset or ray):
        return None
    try:
        import pyarrow  # noqa: PLC0415 (only where batches are read)
    except ImportError:
        message = f"{argument('frame')} is a {kind}, whose batches are read with PyArrow; install pyarrow"
        raise InputError(message) from None
    used = list(columns.names)
    batches: Iterable[Any]
    if ray:
        schema = frame.schema().base_schema
        check_known(columns, schema.names)
        batches = frame.select_columns(used).iter_batches(batch_size=None, batch_format="pyarrow")
    elif dataset and hasattr(frame, "scanner"):
        schema = frame.schema
        check_known(columns, schema.names)
        batches = frame.scanner(columns=used).to_reader()
    else:
        batches = reader = frame.to_reader() if dataset else pyarrow.RecordBatchReader.from_stream(frame)
        schema = reader.schema
        check_known(columns, schema.names)
    none = schema.empty_table().select(used)
    return pyarrow.concat_tables([_coded(pyarrow, none), *(_coded(pyarrow, batch.select(used)) for batch in batches)])


def _coded(pyarrow: Any, batch: Any) -> Any:
    """Return a batch as a table whose texts are codes."""
    text = pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_string_view
    columns = [
        column.dictionary_encode() if any(is_one(column.type) for is_one in text) else column
        for column in batch.columns
    ]
    return pyarrow.table(columns, names=batch.schema.names)
