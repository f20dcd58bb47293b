"""Rows to cells: reading the user's columns and naming groups and labels as the user did."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from fairbound.arrays import AnyArray, Floats, Integers
from fairbound.errors import InputError, shown

#: Columns of one such type have an order of their own.
SORTED_WELL = ({str}, {int}, {float}, {bool}, {date}, {datetime})


@dataclass(frozen=True)
class Categories:
    """A column of categories: the names, in order, and each row's place among them."""

    names: tuple[Hashable, ...]
    codes: Integers


def _array(name: str, values: Any) -> AnyArray:
    """Return an array that holds the values as they are."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and isinstance(values, list | tuple):  # numpy turns [1, "a", nan] into strings
            kept = np.asarray(values, dtype=object)
            array = array if all(isinstance(v, str | bytes) for v in kept.ravel()) else kept
    except ValueError:
        message = f"{name} is ragged: its rows differ in length; give every row the same number of entries"
        raise InputError(message) from None
    return array


def _missing(value: object) -> bool:
    """Whether it is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 (NaN)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def column(name: str, values: Any) -> AnyArray:
    """Return one column as an array without missing values."""
    array = _array(name, values)
    if array.ndim == 0:
        message = f"{name} must be a column with one entry per row, not a single {type(values).__name__}"
        raise InputError(message)
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        missing = np.array([_missing(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    else:
        missing = np.zeros(array.shape, dtype=bool)
    if missing.any():
        row = int(np.argwhere(missing)[0][0])
        message = f"{name} has a missing value in row {row}; drop such rows or give them a name"
        raise InputError(message)
    return array


def _distinct(array: AnyArray) -> tuple[Iterable[Any], Integers]:
    """Return the distinct entries in order and each entry's place among them, where possible without sorting rows."""
    if array.dtype.kind in "OUS":
        entries = array.tolist()
        ordered = sorted(set(entries))
        place = {value: index for index, value in enumerate(ordered)}
        return ordered, np.fromiter(map(place.__getitem__, entries), np.int64, len(entries))
    if array.dtype.kind in "bi" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low <= len(array):
            offset = array.astype(np.int64, copy=False)
            offset = offset - low if low else offset
            found = np.bincount(offset) > 0
            distinct = (np.flatnonzero(found) + low).astype(array.dtype)
            return distinct, offset if found.all() else (np.cumsum(found) - 1)[offset]
    return np.unique(array, return_inverse=True)


def _scalar(value: Any) -> Hashable:
    """Return the plain Python value of an array element."""
    return value.item() if isinstance(value, np.generic) else value


def _encode(name: str, values: Any) -> Categories:
    """Number the distinct values of one column; categories keep their order, the rest is sorted."""
    array = column(name, values)
    if array.ndim != 1:
        message = f"{name} must have one dimension, not {array.ndim}"
        raise InputError(message)
    kinds = {type(v) for v in array.tolist()} if array.dtype == object else set()
    if not kinds or kinds in SORTED_WELL:
        distinct, codes = _distinct(array)
        names = tuple(_scalar(v) for v in distinct)
    else:  # values that cannot be sorted, or only in part: order them by how they print
        ordered = sorted(set(array.tolist()), key=lambda v: (type(v).__name__, repr(v)))
        position = {v: i for i, v in enumerate(ordered)}
        names, codes = tuple(ordered), np.array([position[v] for v in array.tolist()], dtype=np.int64)
    declared = getattr(getattr(values, "cat", values), "categories", None)
    if declared is not None:
        order = [_scalar(v) for v in np.asarray(declared)]
        rank = np.array([order.index(v) for v in names])
        place = np.argsort(np.argsort(rank))
        names, codes = tuple(v for v in order if v in names), place[codes]
    return Categories(names, codes.astype(np.int64, copy=False))


def encode_labels(name: str, values: Any) -> Categories:
    """Number the labels; at least two are needed."""
    labels = _encode(name, values)
    _at_least_two(name, "label", labels)
    return labels


def encode_groups(name: str, values: Any) -> Categories:
    """Number the groups; several columns give intersectional groups, named by tuples."""
    columns = getattr(values, "columns", None)
    if columns is not None:
        parts = [_encode(f"{name}[{c!r}]", values[c]) for c in columns]
    else:
        array = _array(name, values) if not isinstance(values, dict) else None
        if isinstance(values, dict):
            parts = [_encode(f"{name}[{key!r}]", column) for key, column in values.items()]
        elif array is not None and array.ndim == 2:
            parts = [_encode(name, array[:, i]) for i in range(array.shape[1])]
        else:
            parts = [_encode(name, values)]
    if not parts:
        message = f"{name} has no columns"
        raise InputError(message)
    lengths = {len(p.codes) for p in parts}
    if len(lengths) > 1:
        message = f"the columns of {name} differ in length: {sorted(lengths)}"
        raise InputError(message)
    if len(parts) == 1:
        groups = parts[0]
    else:
        joint, codes = np.unique(np.stack([p.codes for p in parts], axis=1), axis=0, return_inverse=True)
        names = tuple(tuple(p.names[i] for p, i in zip(parts, row, strict=True)) for row in joint)
        groups = Categories(names, codes.reshape(-1).astype(np.int64))
    _at_least_two(name, "group", groups)
    return groups


def _at_least_two(name: str, what: str, found: Categories) -> None:
    if not found.names:
        message = f"{name} is empty: there are no rows; pass at least one row per group and label"
        raise InputError(message)
    if len(found.names) < 2:
        message = f"{name} has only the {what}s {list(found.names)}; at least two are needed to compare base rates"
        raise InputError(message)


def same_length(**columns: int) -> None:
    """Refuse columns of different lengths, naming them."""
    if len(set(columns.values())) > 1:
        lengths = ", ".join(f"{name} has {length}" for name, length in columns.items())
        message = f"all columns need one entry per row, but {lengths}"
        raise InputError(message)
    if 0 in columns.values():
        message = f"there are no rows: {', '.join(columns)} are empty"
        raise InputError(message)


def numbers(name: str, values: Any) -> Floats:
    """Return finite numbers as floats."""
    array = _array(name, values)
    if array.dtype.kind not in "biuf":
        message = f"{name} must hold numbers, not {array.dtype}; convert it, and drop rows with missing values"
        raise InputError(message)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        bad = ~np.isfinite(array)
        row = int(np.argwhere(bad)[0][0])
        message = f"{name} has the value {array[np.nonzero(bad)][0]} in row {row}; drop such rows or mend the model"
        raise InputError(message)
    return array


def weights(name: str, values: Any, rows: int) -> Floats:
    """Return non-negative weights that are not all zero."""
    array = numbers(name, values)
    if array.ndim != 1:
        message = f"{name} must have one entry per row, but its shape is {array.shape}"
        raise InputError(message)
    same_length(**{name: len(array), "y_true": rows})
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        message = f"{name} is negative in row {row}: {shown(array[row])}; weights count rows and cannot be negative"
        raise InputError(message)
    if not array.any():
        message = f"{name} is zero in every row; at least one row must count"
        raise InputError(message)
    return array


def number(name: str, value: object, low: float, high: float, meaning: str) -> float:
    """Return one number in [low, high]."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        found = float(value)  # type: ignore[arg-type]  # the user's value may be anything
    except (TypeError, ValueError):
        message = f"{name}={shown(value)} is not a number; {meaning}"
        raise InputError(message) from None
    if not low <= found <= high:
        message = f"{name}={shown(value)} is outside [{low:g}, {high:g}]; {meaning}"
        raise InputError(message)
    return found
