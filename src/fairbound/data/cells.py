"""Rows to cells: reading the user's columns and naming groups and labels as the user did."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats, Integers
from fairbound.errors import InputError, argument, given, shown

#: Columns of one such type have an order of their own.
SORTED_WELL = ({str}, {bytes}, {int}, {float}, {bool}, {date}, {datetime}, {timedelta})

#: Rows are compared in blocks of this many: they stay in the processor's cache.
BLOCK = 2**15


@dataclass(frozen=True)
class Categories:
    """A column of categories: the names, in order, and each row's place among them."""

    names: tuple[Hashable, ...]
    codes: Integers


def read_array(name: str, values: Any) -> AnyArray:
    """Return an array that holds the values as they are, whatever array type they come in."""
    try:
        array = _foreign(name, values)
        if array.dtype.kind in "US" and isinstance(values, list | tuple):  # numpy turns [1, "a", nan] into strings
            kept = np.asarray(values, dtype=object)
            array = array if all(isinstance(v, str | bytes) for v in kept.ravel()) else kept
    except InputError:
        raise
    except ValueError:
        message = f"{argument(name)} is ragged: its rows differ in length; give every row the same number of entries"
        raise InputError(message) from None
    return array


def _foreign(name: str, values: Any) -> AnyArray:
    """Return a NumPy array of anything that is one, converts to one (``__array__``) or exports DLPack."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a tensor of torch: off the graph, off the device
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":  # NumPy has no such numbers, but larger ones that hold them
            values = values.float()
    try:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            return np.from_dlpack(values)
        return np.asarray(values)
    except (BufferError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        message = (
            f"{argument(name)}, a {type(values).__name__}, cannot be read as a NumPy array: {reason}; "
            "move it to the CPU and convert it to numbers that NumPy has"
        )
        raise InputError(message) from error


def is_missing(value: object) -> bool:
    """Whether it is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 (NaN)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def column(name: str, values: Any) -> AnyArray:
    """Return one column as an array without missing values."""
    array = read_array(name, values)
    if array.ndim == 0:
        message = f"{argument(name)} must be a column with one entry per row, not a single {type(values).__name__}"
        raise InputError(message)
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        missing = np.array([is_missing(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    else:
        missing = np.zeros(array.shape, dtype=bool)
    if missing.any():
        raise _gap(name, int(np.argwhere(missing)[0][0]))
    return array


def _gap(name: str, row: int) -> InputError:
    return InputError(f"{argument(name)} has a missing value in row {row}; drop such rows or give them a name")


def _distinct(array: AnyArray) -> tuple[list[Hashable], Integers]:
    """Return the distinct entries as plain Python values, in any order, and each entry's place among them."""
    kind = array.dtype.kind
    by_hash = _by_hash(array) if kind in "US" and array.size else None
    if by_hash is not None:
        return by_hash
    if kind in "OUST":
        entries = array.tolist()
        distinct = [*set(entries)]
        place = {value: index for index, value in enumerate(distinct)}
        return distinct, np.fromiter(map(place.__getitem__, entries), np.int64, len(entries))
    if kind in "bi" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low <= len(array):
            offset = array.astype(np.int64, copy=False)
            offset = offset - low if low else offset
            used = np.bincount(offset) > 0
            values = (np.flatnonzero(used) + low).astype(array.dtype)
            return values.tolist(), offset if used.all() else (np.cumsum(used) - 1)[offset]
    values, codes = np.unique(array, return_inverse=True)
    return values.tolist(), codes


def _by_hash(text: AnyArray) -> tuple[list[Hashable], Integers] | None:
    """Do the same for text of fixed width, if a hash of 16 bits tells the entries apart.

    Whether it does is seen by comparing each entry with one that stands for its hash. So nothing can be mistaken; of
    many distinct entries two will have the same hash, and there is no result.
    """
    words = np.ascontiguousarray(text).view(np.uint32 if text.dtype.kind == "U" else np.uint8)
    words = words.reshape(len(text), -1)
    if words.shape[1] % 2 == 0 and words.dtype == np.uint32:
        words = words.view(np.uint64)
    factors = np.random.default_rng(0).integers(2**64, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    codes, standing = np.empty(len(text), dtype=np.uint16), np.zeros(2**16, dtype=np.int64)
    blocks = [slice(start, start + BLOCK) for start in range(0, len(text), BLOCK)]
    for block in blocks:
        codes[block] = (words[block].astype(np.uint64, copy=False) @ factors) >> np.uint64(48)
        standing[codes[block]] = np.arange(block.start, block.start + len(codes[block]))
    if not all((words[block] == words[standing[codes[block]]]).all() for block in blocks):
        return None
    used = np.bincount(codes, minlength=2**16) > 0
    return text[standing[used]].tolist(), (np.cumsum(used) - 1)[codes]


def _scalar(value: Any) -> Hashable:
    """Return the plain Python value of an array element."""
    return value.item() if isinstance(value, np.generic) else value


def encode(name: str, values: Any) -> Categories:
    """Number the distinct values of one column; categories keep their order, the rest is sorted."""
    declared = getattr(getattr(values, "cat", values), "categories", None)
    try:
        if declared is not None:  # pandas has numbered them already
            distinct = [_scalar(value) for value in np.asarray(declared)]
            codes = np.asarray(getattr(values, "cat", values).codes)
        elif getattr(getattr(values, "dtype", None), "kind", "") == "O" and hasattr(values, "factorize"):
            codes, found = values.factorize()  # pandas: far faster than going through objects of Python
            distinct = np.asarray(found, dtype=object).tolist()
        else:
            array = read_array(name, values)
            if array.dtype.kind != "O":
                array = column(name, array)
            if array.ndim != 1:
                message = f"{argument(name)} must have one dimension, not {array.ndim}"
                raise InputError(message)
            distinct, codes = _distinct(array)
    except TypeError as error:
        message = f"{argument(name)} holds what cannot be told apart ({error}); give groups and labels plain names"
        raise InputError(message) from error
    codes = codes.astype(np.int64, copy=False)
    known = np.array([not is_missing(value) for value in distinct], dtype=bool)
    absent = codes < 0 if known.all() else (codes < 0) | ~known[codes]
    if absent.any():
        raise _gap(name, int(np.argmax(absent)))
    return number_codes(distinct, codes, distinct if declared is not None else None)


def number_codes(names: Sequence[Hashable], codes: Integers, declared: Iterable[Hashable] | None = None) -> Categories:
    """Number the names that occur, in the declared order or sorted; the codes are places among the names."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    order = number_names([names[place] for place in used.tolist()], declared)
    if order.codes.tolist() == used.tolist() == [*range(len(names))]:
        return Categories(order.names, codes)
    place = np.zeros(len(names), dtype=np.int64)
    place[used] = order.codes
    return Categories(order.names, place[codes])


def number_names(values: Sequence[Hashable], declared: Iterable[Hashable] | None = None) -> Categories:
    """Number plain Python values, in the declared order if there is one, else sorted."""
    distinct = set(values)
    if declared is not None:
        names = tuple(v for v in declared if v in distinct)
    elif {type(v) for v in distinct} in SORTED_WELL:
        names = tuple(sorted(distinct))  # type: ignore[type-var]  # of one type with an order
    else:  # values that cannot be sorted, or only in part: order them by how they print
        names = tuple(sorted(distinct, key=lambda v: (type(v).__name__, repr(v))))
    position = {v: i for i, v in enumerate(names)}
    return Categories(names, np.array([position[v] for v in values], dtype=np.int64))


def encode_labels(name: str, values: Any, declared: Sequence[Hashable] | None = None) -> Categories:
    """Number the labels; at least two are needed."""
    labels = declare("labels", encode(name, values), declared)
    at_least_two(argument(name), "label", labels)
    return labels


def declare(name: str, found: Categories, declared: Sequence[Hashable] | None) -> Categories:
    """Number the names as the user declared them; some of these may not occur."""
    if declared is None:
        return found
    names = check_names(name, declared)
    unknown = [one for one in found.names if one not in names]
    if unknown:
        message = f"{given(name, list(names))} lacks {unknown[0]!r}, which occurs in the rows; add it, or drop its rows"
        raise InputError(message)
    place = np.array([names.index(one) for one in found.names], dtype=np.int64)
    return Categories(names, place[found.codes])


def check_names(name: str, names: Any, size: int | None = None) -> tuple[Hashable, ...]:
    """Return different names, as many as are needed."""
    usable = isinstance(names, Iterable) and not isinstance(names, str | bytes)
    names = list(names) if usable else names
    distinct = len({repr(n) for n in names if isinstance(n, Hashable)}) if usable else 0
    if distinct < 2 or distinct != len(names) or distinct != (size or distinct):
        count = "two or more" if size is None else str(size)
        message = f"{given(name, names)} must be a list of {count} different names"
        raise InputError(message)
    return tuple(names)


def encode_groups(name: str, values: Any, declared: Sequence[Hashable] | None = None) -> Categories:
    """Number the groups; several columns give intersectional groups, named by tuples."""
    groups = declare("groups", intersect([*encode_columns(name, values).values()]), declared)
    at_least_two(argument(name), "group", groups)
    return groups


def encode_columns(name: str, values: Any) -> dict[Any, Categories]:
    """Number the values of a column, called as the argument is, or of those of a table, a dict or an array."""
    columns = getattr(values, "column_names", getattr(values, "columns", None))  # Arrow's tables have both
    if columns is not None or isinstance(values, dict):
        parts = {key: encode(f"{name}[{key!r}]", values[key]) for key in (values if columns is None else columns)}
    else:
        array = None if getattr(values, "ndim", 0) == 1 else read_array(name, values)
        if array is not None and array.ndim == 2:
            parts = {place: encode(name, array[:, place]) for place in range(array.shape[1])}
        else:
            parts = {name: encode(name, values)}
    if not parts:
        message = f"{argument(name)} has no columns"
        raise InputError(message)
    lengths = {len(part.codes) for part in parts.values()}
    if len(lengths) > 1:
        message = f"the columns of {argument(name)} differ in length: {sorted(lengths)}"
        raise InputError(message)
    return parts


def intersect(parts: Sequence[Categories]) -> Categories:
    """Number the combinations that occur, named by tuples; a single column keeps its names."""
    if len(parts) == 1:
        return parts[0]
    joint, codes = np.unique(np.stack([p.codes for p in parts], axis=1), axis=0, return_inverse=True)
    names = tuple(tuple(p.names[i] for p, i in zip(parts, row, strict=True)) for row in joint)
    return Categories(names, codes.reshape(-1).astype(np.int64))


def at_least_two(name: str, what: str, found: Categories) -> None:
    """Refuse a column of fewer than two names; ``name`` is as the message is to have it."""
    if not found.names:
        message = f"{name} is empty: there are no rows; pass at least one row per group and label"
        raise InputError(message)
    if len(found.names) < 2:
        message = f"{name} has only the {what}s {list(found.names)}; at least two are needed to compare base rates"
        raise InputError(message)


def check_mass(
    groups: Sequence[Hashable],
    labels: Sequence[Hashable],
    weight: Floats,
    some_absent: tuple[bool, bool] = (False, False),
) -> None:
    """Refuse groups and labels without any weight, unless the user declared them."""
    for what, names, axis, absent in (("group", groups, 1, some_absent[0]), ("label", labels, 0, some_absent[1])):
        for name, total in zip(names, weight.sum(axis=axis), strict=True):
            if not total > 0 and not absent:
                message = f"the {what} {name!r} has no mass; leave it out"
                raise InputError(message)


def same_length(**columns: int) -> None:
    """Refuse columns of different lengths, naming them."""
    if len(set(columns.values())) > 1:
        lengths = ", ".join(f"{argument(name)} has {length}" for name, length in columns.items())
        message = f"all columns need one entry per row, but {lengths}"
        raise InputError(message)
    if 0 in columns.values():
        message = f"there are no rows: {', '.join(map(argument, columns))} are empty"
        raise InputError(message)


def numbers(name: str, values: Any) -> Floats:
    """Return finite numbers as floats."""
    array = read_array(name, values)
    if array.dtype.kind not in "biuf":
        message = (
            f"{argument(name)} must hold numbers, not {array.dtype}; convert it, and drop rows with missing values"
        )
        raise InputError(message)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        bad = ~np.isfinite(array)
        row = int(np.argwhere(bad)[0][0])
        message = (
            f"{argument(name)} has the value {array[np.nonzero(bad)][0]} in row {row}; drop such rows or mend the model"
        )
        raise InputError(message)
    return array


def weights(name: str, values: Any, rows: int) -> Floats:
    """Return non-negative weights that are not all zero."""
    array = numbers(name, values)
    if array.ndim != 1:
        message = f"{argument(name)} must have one entry per row, but its shape is {array.shape}"
        raise InputError(message)
    same_length(**{name: len(array), "y_true": rows})
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        message = (
            f"{argument(name)} is negative in row {row}: {shown(array[row])}; weights count rows and cannot be negative"
        )
        raise InputError(message)
    if not array.any():
        message = f"{argument(name)} is zero in every row; at least one row must count"
        raise InputError(message)
    return array


def number(name: str, value: object, low: float, high: float, meaning: str) -> float:
    """Return one number in [low, high]."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        found = float(value)  # type: ignore[arg-type]  # the user's value may be anything
    except (TypeError, ValueError):
        message = f"{given(name, value)} is not a number; {meaning}"
        raise InputError(message) from None
    if not low <= found <= high:
        message = f"{given(name, value)} is outside [{low:g}, {high:g}]; {meaning}"
        raise InputError(message)
    return found
