"""Arrow batches: what streams them, of whatever library, becomes a table of the columns that are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairbound.data.columns import Columns, check_known
from fairbound.errors import InputError, argument


def collect_batches(frame: Any, columns: Columns) -> Any:
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
