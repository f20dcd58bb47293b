"""Frames that are held in memory: their columns are read as arrays are, so the result is that of the arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import narwhals as nw
import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, at_least_two, encode, intersect, is_missing, number_names, numbers
from fairbound.data.columns import Columns
from fairbound.data.counted import Rows, check_finite
from fairbound.data.frame_values import check_sums, check_values, count_rows, without_missing
from fairbound.data.predictions import aligned, by_label
from fairbound.errors import InputError


def read_collected(frame: nw.DataFrame[Any], columns: Columns) -> Rows:
    """Return the rows of a frame in memory."""
    before = count_rows(frame)
    if columns.missing == "drop":
        frame = without_missing(frame, columns)
    check_values(frame, columns, only_numbers=True)
    named = {name: _encoded(frame, columns, name) for name in columns.keys}
    labels = named[columns.label]
    at_least_two(f"column {columns.label!r}", "label", labels)
    groups = intersect([named[name] for name in columns.groups])
    at_least_two(f"column {' and '.join(map(repr, columns.groups))}", "group", groups)
    if columns.prediction is None:
        values: Floats | Categories = _losses(frame, columns, labels)
    else:
        predicted = named[columns.prediction]
        values = aligned(f"column {columns.label!r}", labels, f"column {columns.prediction!r}", predicted)
    weight = None if columns.weight is None else _numbers(frame, columns.weight)
    return Rows(values, labels, groups, weight, before - len(frame))


def declared_order(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str) -> Iterable[Hashable] | None:
    """Return the order that a column's type gives to its categories, if it does."""
    dtype = frame.collect_schema()[name]
    return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None


def _encoded(frame: nw.DataFrame[Any], columns: Columns, name: str) -> Categories:
    """Number the values of a column; what has no value is seen among the distinct ones, which are few."""
    try:
        found = _numbered(frame, name)
    except InputError:
        check_values(frame, columns)
        raise
    if any(map(is_missing, found.names)):
        check_values(frame, columns)
    return found


def _numbered(frame: nw.DataFrame[Any], name: str) -> Categories:
    """Number the values of a column; the library finds the distinct ones, which is far faster for text."""
    series = frame[name]
    if frame.implementation.is_pandas_like():  # categories in their order, text, or any objects
        return encode(f"column {name!r}", series.to_native())
    declared = declared_order(frame, name)
    if series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    if not (series.dtype.is_integer() or series.dtype in (nw.String, nw.Boolean)):
        return number_names(series.to_list(), declared)
    distinct: list[Hashable] = series.unique().to_list()
    order = number_names(distinct, declared if None not in distinct else None)
    codes = series.replace_strict(distinct, order.codes.tolist(), return_dtype=nw.Int64)
    return Categories(order.names, np.asarray(codes.to_numpy(), dtype=np.int64))


def _numbers(frame: nw.DataFrame[Any], name: str) -> Floats:
    return numbers(f"column {name!r}", frame[name].cast(nw.Float64).to_numpy())


def _losses(frame: nw.DataFrame[Any], columns: Columns, labels: Categories) -> Floats:
    """Return the loss of each row."""
    if columns.row_losses is None:
        return _numbers(frame, str(columns.loss))
    named = {label: _numbers(frame, column) for label, column in columns.named(labels.names).items()}
    check_sums(frame, columns)
    losses = columns.row_losses(*by_label(named, labels))
    check_finite(losses, columns.loss_name)
    return losses
