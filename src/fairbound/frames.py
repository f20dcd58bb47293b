"""Reading data frames of any library, through narwhals. Imported only when a frame is read, and narwhals with it.

A frame that is held in memory is read row by row, as arrays are. A lazy one (a Polars query, a DuckDB relation, ...)
stays where it is: its own engine groups and counts, and what comes back is a histogram per cell.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from fairbound.collected import tally_collected
from fairbound.columns import Columns, check_known
from fairbound.engine import tally_lazy
from fairbound.errors import InputError
from fairbound.tally import Tally


def tally_frame(frame: Any, columns: Columns) -> Tally:
    """Count the cells of a frame and summarise their losses."""
    try:
        opened = nw.from_native(frame)
    except TypeError:
        message = (
            f"frame is a {type(frame).__module__}.{type(frame).__qualname__}, which is not a data frame; pass one of "
            "pandas, Polars, PyArrow, DuckDB or another library that narwhals knows, or use from_predictions for arrays"
        )
        raise InputError(message) from None
    if not isinstance(opened, nw.DataFrame | nw.LazyFrame):
        message = f"frame is a {type(frame).__name__}; pass a table with columns"
        raise InputError(message)
    schema = opened.collect_schema()
    check_known(columns, schema.names())
    for name in columns.keys:
        if schema[name].is_nested():
            message = f"column {name!r} holds {schema[name]}; groups and labels must be plain values such as text"
            raise InputError(message)
    for name in columns.numeric:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            message = f"column {name!r} must hold numbers, not {schema[name]}; convert it"
            raise InputError(message)
    if isinstance(opened, nw.DataFrame):
        return tally_collected(opened, columns)
    return tally_lazy(opened, columns)
