"""The values of a frame's columns: which are missing, and which are out of range. The frame may be lazy."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import narwhals as nw

from fairbound.data.columns import Columns
from fairbound.data.dialects import knows_nan
from fairbound.errors import InputError, argument, either, given, shown

#: How far the probabilities of a row may be from adding up to 1.
SUM_TOLERANCE = 1e-4


def fetch(query: nw.LazyFrame[Any] | nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Run a lazy query in its engine; Polars in the one that streams, so that memory stays bounded."""
    if isinstance(query, nw.DataFrame):
        return query
    options: dict[str, Any] = {"engine": "streaming"} if query.implementation.is_polars() else {}
    try:
        return query.collect(**options)
    except OSError:  # a file is not there: its own message is the best
        raise
    except Exception as error:  # engines have errors of their own, of any type
        reason = " ".join(str(error).split()) or type(error).__name__
        engine = either(f"{argument('frame')}: its engine", "the engine")
        message = f"{engine}, {query.implementation}, could not run the query: {reason[:400]}"
        raise InputError(message) from error


def missing_in(frame: nw.LazyFrame[Any] | nw.DataFrame[Any], name: str) -> nw.Expr:
    """Return the expression that tells where a column has no value."""
    column = nw.col(name)
    some = frame.collect_schema()[name].is_float() and knows_nan(frame)
    return column.is_null() | column.is_nan() if some else column.is_null()


def complete(frame: Any, columns: Columns) -> tuple[Any, int]:
    """Return the rows that have a value in every column that is used, and how many were left out, if that was asked."""
    if columns.missing == "refuse":
        return frame, 0
    kept = frame.filter(~functools.reduce(operator.or_, (missing_in(frame, name) for name in columns.names)))
    return kept, count_rows(frame) - count_rows(kept)


def count_rows(frame: nw.LazyFrame[Any] | nw.DataFrame[Any]) -> int:
    """Return how many rows there are."""
    return len(frame) if isinstance(frame, nw.DataFrame) else int(fetch(frame.select(nw.len().alias("rows"))).item())


def check_values(frame: nw.LazyFrame[Any] | nw.DataFrame[Any], columns: Columns, *, only_numbers: bool = False) -> None:
    """Refuse missing values and numbers out of range, naming the column (one query)."""
    parts = [nw.len().alias("rows")]
    names = columns.numeric if only_numbers else columns.names
    for index, name in enumerate(names):
        gap = missing_in(frame, name)
        parts.append(nw.when(gap).then(nw.lit(1)).otherwise(nw.lit(0)).sum().alias(f"missing{index}"))
    for index, name in enumerate(columns.numeric):
        value = nw.when(~missing_in(frame, name)).then(nw.col(name)).cast(nw.Float64)
        parts += [value.min().alias(f"least{index}"), value.max().alias(f"most{index}")]
    found = fetch(frame.select(*parts))
    values = dict(zip(found.columns, found.row(0), strict=True))
    rows = int(values["rows"])
    if not rows:
        empty = either(f"{argument('frame')} is empty: ")
        message = f"{empty}there are no rows; pass at least one row per group and label"
        raise InputError(message)
    for index, name in enumerate(names):
        count = int(values[f"missing{index}"])
        if count:
            message = (
                f"column {name!r} has no value in {count} of {rows} rows (null or NaN); give them a value, or leave "
                f"such rows out with {given('missing', 'drop')}"
            )
            raise InputError(message)
    for index, name in enumerate(columns.numeric):
        check_range(columns, name, values[f"least{index}"], values[f"most{index}"])


def check_sums(frame: nw.LazyFrame[Any] | nw.DataFrame[Any], columns: Columns) -> None:
    """Refuse probabilities that do not add up to 1."""
    if len(columns.probability) > 1:
        off = functools.reduce(operator.add, (number(name) for name in columns.probability.values())) - 1.0
        most = float(fetch(frame.select(off.abs().max().alias("off"))).item())
        if most > SUM_TOLERANCE:
            message = (
                f"the columns {list(columns.probability.values())!r} do not add up to 1 in every row (off by up to "
                f"{most:.3g}); pass the probabilities of all labels"
            )
            raise InputError(message)


def number(name: str) -> nw.Expr:
    """Return a column as double precision numbers."""
    return nw.col(name).cast(nw.Float64)


def check_range(columns: Columns, name: str, least: float, most: float) -> None:
    """Refuse numbers that cannot be what the column is said to hold."""
    if name in columns.probability.values():
        low, high, cure = 0.0, 1.0, "pass probabilities"
    elif name == columns.losses:
        low, high, cure = 0.0, columns.ceiling, f"set {argument('ceiling')} to the largest loss there can be"
    else:
        low, high, cure = 0.0, math.inf, "weights count rows: they are finite and cannot be negative"
    for value in (least, most):
        if not low <= value <= high or math.isinf(value):
            message = f"column {name!r} holds {shown(float(value))}, outside [{low:g}, {high:g}]; {cure}"
            raise InputError(message)
    if name == columns.weight and not most > 0:
        message = f"column {name!r} is zero in every row; at least one row must count"
        raise InputError(message)
