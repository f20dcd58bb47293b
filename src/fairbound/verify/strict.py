"""Strict JSON, limited in size, and values read by their type: complete, and nothing more.

No code from a document is ever run.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

#: Limits on what is read at all.
MOST_BYTES = 32_000_000

#: Parts of a name, and characters of each: names are repeated in what is said of them.
MOST_PARTS = 100
LONGEST_PART = 10_000

LARGEST_NUMBER = 1e100

Read = TypeVar("Read")


class MalformedError(ValueError):
    """The document is not a certificate; the message says where and why."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where} {why}" if where else why)
        self.why, self.where = why, where

    def within(self, where: str) -> Self:
        """Return the same, seen from outside."""
        joint = "" if not self.where or self.where.startswith("[") else "."
        return type(self)(self.why, f"{where}{joint}{self.where}")


@dataclass(frozen=True)
class Within:
    """A range: of numbers, or of the length of a text or a list."""

    low: float
    high: float


@dataclass(frozen=True)
class Shape:
    """How long a list is, and the lists in it: a letter for each, whose length :func:`check_shapes` is told."""

    letters: str


class Name:
    """The name of a group or a label: a text, a number, a truth value, or a list of these."""


def canonical(value: Any) -> str:
    """Return the one text of a JSON value that digests are taken of: keys in order, numbers as the doubles they are."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float) or type(value) is int:
        return struct.pack(">d", value + 0.0).hex()  # minus zero is zero
    return json.dumps(value)


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text."""
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise MalformedError(f"the document has {size} bytes; at most {MOST_BYTES} are read")
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except UnicodeDecodeError as error:
        raise MalformedError(f"the document is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except MalformedError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"the document is not JSON: {error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise MalformedError(f"the key {twice[:60]!r} stands twice in one object")
    return found


def _no_constants(name: str) -> NoReturn:
    raise MalformedError(f"{name} is not a number that a certificate can hold")


def read(kind: type[Read], value: Any) -> Read:
    """Return a value as what its type describes; refuse it if it is anything else."""
    found: Read = _reader(cast("Any", kind))(value)
    return found


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Make the function that reads values of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, limit = arguments[0], arguments[1]
        return _reader(inner) if isinstance(limit, Shape) else _limited(inner, limit)
    if origin in {Union, UnionType}:
        return _either(arguments)
    if origin is Literal:
        return lambda value: _word(value, arguments)
    if origin is list:
        return _list(_reader(arguments[0]))
    if is_dataclass(kind):
        return _object(kind)
    return {bool: _of_kind(bool, "true or false"), str: _of_kind(str, "a text"), Name: _name}[kind]


def _of_kind(kind: type, what: str) -> Callable[[Any], Any]:
    def one(value: Any) -> Any:
        if not isinstance(value, kind):
            raise MalformedError(f"must be {what}")
        return value

    return one


def _limited(kind: Any, limit: Within) -> Callable[[Any], Any]:
    """Read a number in a range, or a text or list of limited length."""
    low, high = limit.low, limit.high
    if kind in {float, int}:
        what = f"must be a {'whole ' if kind is int else ''}number from {low:g} to {high:g}"

        def number(value: Any) -> Any:
            known = type(value) is int or (kind is float and type(value) is float)
            if not (known and low <= value <= high):
                raise MalformedError(what)
            if kind is float and float(value) != value:
                raise MalformedError("must be a number, and is no double")
            return kind(value)

        return number
    inner = _reader(kind)

    def sized(value: Any) -> Any:
        found = inner(value)
        if not low <= len(found) <= high:
            raise MalformedError(f"must have a length from {low:g} to {high:g}, not {len(found)}")
        return found

    return sized


def _word(value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise MalformedError(f"must be {'one of ' if len(allowed) > 1 else ''}{', '.join(allowed)}")
    return value


def _name(value: Any) -> Any:
    parts = value if isinstance(value, list) else [value]
    kinds: dict[type, Any] = {str: Annotated[str, Within(0, LONGEST_PART)], bool: bool}
    try:
        if not 0 < len(parts) <= MOST_PARTS:
            raise MalformedError("too long, or empty")
        for part in parts:
            _reader(kinds.get(type(part), Annotated[float, Within(-LARGEST_NUMBER, LARGEST_NUMBER)]))(part)
    except MalformedError:
        what = f"a text of at most {LONGEST_PART} characters, a number of ordinary size, a truth value"
        raise MalformedError(f"must be a name: {what}, or a list of at most {MOST_PARTS} of these") from None
    return value


def _list(item: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def entries(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise MalformedError("must be a list")
        found: list[Any] = []
        try:
            for entry in value:
                found.append(item(entry))
        except MalformedError as error:
            raise error.within(f"[{len(found)}]") from None
        return found

    return entries


def _either(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Read null, or what the others describe: one type, or objects that say in their first entry what they are."""
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        only = _reader(others[0])
        return lambda value: None if value is None else only(value)
    by_tag = {_tag(kind)[1]: _reader(kind) for kind in others}
    key = _tag(others[0])[0]

    def chosen(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MalformedError("must be an object")
        tag = value.get(key)
        if not isinstance(tag, str) or tag not in by_tag:
            raise MalformedError(f"must be one of {', '.join(by_tag)}", key)
        return by_tag[tag](value)

    return chosen


def _tag(kind: Any) -> tuple[str, str]:
    """Return the first entry of an object, and what it is."""
    first = fields(kind)[0].name
    return first, get_args(get_type_hints(kind)[first])[0]


def _object(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind, include_extras=True)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}

    def entries(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MalformedError("must be an object")
        missing = [key for key in readers if key not in value]
        extra = [ascii(str(key)[:60])[1:-1] for key in value if key not in readers]
        if missing:
            raise MalformedError(f"lacks {', '.join(missing)}")
        if extra:
            raise MalformedError(f"has unknown entries: {', '.join(extra[:10])}")
        found = {}
        for key, reader in readers.items():
            try:
                found[key] = reader(value[key])
            except MalformedError as error:
                raise error.within(key) from None
        return kind(**found)

    return entries


def check_shapes(value: Any, lengths: dict[str, int], where: str = "") -> None:
    """Check how long the lists of an object are whose types have a shape, and those of the objects in it."""
    for key, letters in _shapes(cast("Any", type(value))):
        found, at = getattr(value, key), f"{where}.{key}" if where else key
        if letters:
            _check_lengths(found, [lengths[letter] for letter in letters], at)
        elif is_dataclass(found):
            check_shapes(found, lengths, at)
        elif isinstance(found, list) and found and is_dataclass(found[0]):
            for number, entry in enumerate(found):
                check_shapes(entry, lengths, f"{at}[{number}]")


@cache
def _shapes(kind: Any) -> list[tuple[str, str]]:
    """Return the entries of an object with the letters of their shapes, or none."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for key, hint in hints.items():
        options = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
        extras = (extra for option in options for extra in getattr(option, "__metadata__", ()))
        found.append((key, next((extra.letters for extra in extras if isinstance(extra, Shape)), "")))
    return found


def _check_lengths(value: Any, lengths: list[int], where: str) -> None:
    if value is None or not lengths:
        return
    if len(value) != lengths[0]:
        raise MalformedError(f"must have {lengths[0]} entries, not {len(value)}", where)
    for index, entry in enumerate(value if lengths[1:] else ()):
        _check_lengths(entry, lengths[1:], f"{where}[{index}]")
