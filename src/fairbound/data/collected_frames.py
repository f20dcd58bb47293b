"""Frames that are held in memory: their columns are read as arrays are, so the result is that of the arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import narwhals as nw
import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.cells import (
    Categories,
    encode,
    is_missing,
    number_codes,
    number_names,
    numbers,
)
from fairbound.data.columns import Columns
from fairbound.data.counted import Rows
from fairbound.data.frame_values import check_sums, check_values, complete
from fairbound.errors import InputError


def read_collected(frame: nw.DataFrame[Any], columns: Columns) -> Rows:
    """Return the rows of a frame in memory."""
    frame, excluded = complete(frame, columns)
    check_values(frame, columns, only_numbers=True)
    named = {name: _encoded(frame, columns, name) for name in columns.keys}
    labels = columns.number_labels(named[columns.label])
    groups = columns.number_groups([named[name] for name in columns.groups])
    if columns.prediction is None:
        values: Floats | Categories = _losses(frame, columns, labels)
    else:
        predicted = named[columns.prediction]
        values = columns.align(labels, predicted)
    weight = None if columns.weight is None else _numbers(frame, columns.weight)
    return Rows(values, labels, groups, weight, excluded, {name: named[name] for name in columns.strata})


def declared_order(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str) -> Iterable[Hashable] | None:
    """Return the order that a column's type gives to its categories, if it does."""
    dtype = frame.collect_schema()[name]
    return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None


def _encoded(frame: nw.DataFrame[Any], columns: Columns, name: str) -> Categories:
    """Number the values of a column; what has no value is looked for only where there is a sign of it."""
    try:
        found = _numbered(frame, name)
    except InputError:
        check_values(frame, columns)
        raise
    if any(map(is_missing, found.names)):
        check_values(frame, columns)
    return found


def _numbered(frame: nw.DataFrame[Any], name: str) -> Categories:
    """Number the values of a column; the library finds the distinct ones, or has found them already."""
    series = frame[name]
    if frame.implementation.is_pandas_like():  # categories in their order, text, or any objects
        return encode(f"column {name!r}", series.to_native())
    if series.null_count():
        return number_names([None])
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        by_library = _arrow_codes if frame.implementation.is_pyarrow() else _polars_codes
        return number_codes(*by_library(series), declared_order(frame, name))
    if series.dtype.is_integer() or series.dtype == nw.Boolean:
        return encode(f"column {name!r}", series.to_numpy())
    return number_names(series.to_list())


def _arrow_codes(series: nw.Series[Any]) -> tuple[list[Hashable], Integers]:
    """Return the distinct texts of a column of PyArrow, and the place of each row's text among them."""
    chunks = series.to_native().dictionary_encode().unify_dictionaries().chunks
    codes = [np.asarray(chunk.indices, dtype=np.int64) for chunk in chunks]
    return chunks[0].dictionary.to_pylist() if chunks else [], np.concatenate([*codes, np.zeros(0, dtype=np.int64)])


def _polars_codes(series: nw.Series[Any]) -> tuple[list[Hashable], Integers]:
    """Do the same for Polars, whose categories have numbers that need not be small."""
    distinct = series.unique()
    texts: list[Hashable] = distinct.cast(nw.String).to_list()
    if series.dtype == nw.String:
        places = series.replace_strict(texts, [*range(len(texts))], return_dtype=nw.Int64)
        return texts, np.asarray(places.to_numpy(), dtype=np.int64)
    text = dict(zip(distinct.to_native().to_physical().to_list(), texts, strict=True))
    found = encode("categories", series.to_native().to_physical().to_numpy())
    return [text[number] for number in found.names], found.codes


def _numbers(frame: nw.DataFrame[Any], name: str) -> Floats:
    return numbers(f"column {name!r}", frame[name].cast(nw.Float64).to_numpy())


def _losses(frame: nw.DataFrame[Any], columns: Columns, labels: Categories) -> Floats:
    """Return the loss of each row."""
    if columns.row_losses is None:
        return _numbers(frame, str(columns.losses))
    named = {label: _numbers(frame, column) for label, column in columns.named(labels.names).items()}
    check_sums(frame, columns)
    return columns.losses_of(named, labels)
