"""Strict JSON: limited in size and depth, no key twice, finite numbers; and what an entry may look like.

Standard library only; no code from a document is ever run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

#: Limits on what is read at all.
MOST_CHARACTERS = 32_000_000
MOST_DEPTH = 12
LARGEST_NUMBER = 1e100
#: Parts of a name: names are repeated in what is said of them.
MOST_PARTS = 100


#: Texts, of which nothing is looked at, or brackets. Nothing that was read is read again: the time is linear.
_TEXTS_AND_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


#: Made once: names are many, and to make it takes longer than to write one of them.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class MalformedError(ValueError):
    """The document is not a certificate; the message says where and why."""


def canonical(value: Any) -> str:
    """Return the one text of a JSON value that digests are taken of."""
    return _CANONICAL.encode(value)


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text."""
    if len(text) > MOST_CHARACTERS:
        raise MalformedError(f"the document has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise MalformedError(f"the document is not UTF-8 text: {error.reason} at byte {error.start}") from None
    depth = deepest = 0
    for found in _TEXTS_AND_BRACKETS.finditer(text):
        if found[0][0] != '"':
            depth += 1 if found[0] in "[{" else -1
            deepest = max(deepest, depth)
    if deepest > MOST_DEPTH:
        raise MalformedError(f"the document is nested {deepest} deep; certificates are at most {MOST_DEPTH}")
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except MalformedError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"the document is not JSON: {error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise MalformedError(f"the key {twice[:60]!r} stands twice in one object")
    return found


def _no_constants(name: str) -> NoReturn:
    raise MalformedError(f"{name} is not a number that a certificate can hold")


def an_object(value: Any, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return an object that has these keys and no others."""
    if not isinstance(value, dict):
        raise MalformedError(f"{where} must be an object")
    missing = [key for key in keys if key not in value]
    extra = [str(key)[:60] for key in value if key not in keys]
    if missing:
        raise MalformedError(f"{where} lacks {', '.join(missing)}")
    if extra:
        raise MalformedError(f"{where} has unknown entries: {', '.join(extra[:10])}")
    return value


def a_number(value: Any, where: str, *, low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER) -> None:
    """Accept a finite number in a range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedError(f"{where} must be a number")
    if not (low <= value <= high) or (isinstance(value, float) and not math.isfinite(value)):
        raise MalformedError(f"{where} is out of range [{low:g}, {high:g}]")


def a_count(value: Any, where: str, *, most: int = 2**53) -> None:
    """Accept a whole number that is not negative."""
    if type(value) is not int or not 0 <= value <= most:
        raise MalformedError(f"{where} must be a whole number from 0 to {most}")


def a_truth(value: Any, where: str) -> None:
    """Accept true or false."""
    if not isinstance(value, bool):
        raise MalformedError(f"{where} must be true or false")


def a_list(value: Any, where: str, length: int | None, item: Callable[[Any, str], None]) -> None:
    """Accept a list, perhaps of a given length, of such items."""
    if not isinstance(value, list):
        raise MalformedError(f"{where} must be a list")
    if length is not None and len(value) != length:
        raise MalformedError(f"{where} must have {length} entries, not {len(value)}")
    for index, entry in enumerate(value):
        item(entry, f"{where}[{index}]")


def a_table(value: Any, where: str, shape: tuple[int, int], item: Callable[[Any, str], None]) -> None:
    """Accept a list of lists of a given shape."""
    a_list(value, where, shape[0], lambda row, at: a_list(row, at, shape[1], item))


def an_amount(value: Any, where: str) -> None:
    """Accept a number that is not negative."""
    a_number(value, where, low=0.0)


def a_word(value: Any, where: str, allowed: tuple[str, ...]) -> None:
    """Accept one of the words."""
    if not isinstance(value, str) or value not in allowed:
        raise MalformedError(f"{where} must be one of {', '.join(allowed)}")


def a_text(value: Any, where: str) -> None:
    """Accept a text of limited length."""
    if not isinstance(value, str) or len(value) > 10_000:
        raise MalformedError(f"{where} must be a text of at most 10,000 characters")


def a_name(value: Any, where: str) -> None:
    """Accept the name of a group or a label."""
    parts = value if isinstance(value, list) else [value]
    if not 0 < len(parts) <= MOST_PARTS or any(not isinstance(part, str | int | float | bool) for part in parts):
        raise MalformedError(
            f"{where} must be a name: a text, a number, a truth value, or a list of at most {MOST_PARTS} of these"
        )
    for part in parts:
        if isinstance(part, str):
            a_text(part, where)
        else:
            a_number(float(part) if isinstance(part, bool) else part, where)


def optional(item: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
    """Accept null too."""
    return lambda value, where: None if value is None else item(value, where)
