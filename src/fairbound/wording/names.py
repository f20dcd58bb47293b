"""How groups and labels are shown to people: in the user's words, on one line, however strange they are."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

#: Halves of characters that stand alone (no file can hold them), control characters (no font shows them), and those
#: that turn the direction of writing: an open one would turn the digits of the numbers that follow.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def name(value: Hashable) -> str:
    """Return a group or label as the user wrote it; intersectional groups as a list of parts."""
    return " / ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)


def printable(text: str) -> str:
    """Replace what cannot be shown or stored by the replacement character."""
    return _UNPRINTABLE.sub("\ufffd", text)


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long to be shown, and say so with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def short_name(value: Hashable, most: int = 80) -> str:
    """Return a name that can be shown anywhere: printable, one line, not too long, never nothing."""
    return shortened(" ".join(printable(name(value)).split()), most) or "(empty)"


def write_name(value: Hashable) -> Any:
    """Return a name for JSON: what it is where JSON can say it; tuples become lists, anything else its text."""
    if isinstance(value, tuple):
        return [part if isinstance(part, str | bool | int | float) else str(part) for part in value]
    return value if isinstance(value, str | bool | int | float) else str(value)


def read_name(value: Any) -> Hashable:
    """Read a name back from JSON."""
    return tuple(value) if isinstance(value, list) else value
