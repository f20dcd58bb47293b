"""What people see of a name: two names that look alike may be taken for one another.

Section "Names that look alike" of docs/specification.md: it protects readers, not the claim.
"""

from __future__ import annotations

import unicodedata
from itertools import islice
from typing import Any

from fairbound.verify.names import OURS

#: Names that a reader takes for one of ours: no other loss may look like one.
RESERVED = (
    *OURS,
    "error rate",
    "Brier loss",
    "Jensen-Shannon loss",
    "absolute loss",
    "zero_one loss",
    "0-1 loss",
    "0/1 loss",
    "selection rate",
)

#: Categories of characters that show nothing, and those that show nothing although their category says otherwise.
_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs"}
_BLANK = {
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, *range(0xFE00, 0xFE10)),
    *(0xFFA0, 0x16FE4, 0x1D159, *range(0xE0100, 0xE01F0)),
}
_MARKS = range(0x0300, 0x0370)  # accents that stand alone, after letters that have none of their own

#: So many characters of a name are looked at, of those that show: all of a loss's name, which is no longer.
MOST_SEEN = 200

#: Letters of other alphabets that look like Latin ones.
_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d"
    "\u0432\u043a\u043c\u043d\u0442"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u03c7\u03b3"
    "\u0585\u0578\u057d\u0570"
    "\u1d0f\u0251i"
    "01",
    "aeopcyxljsdhlqwbkmhtaopvlktxyonuhoalol",
)


def looks(name: Any) -> str:
    """Return what people see of a name, in parts or whole: without case, spaces, dashes and what is invisible.

    1, 1.0, true and "1" are one, and so are ["a", "b"] and "a / b".
    """
    parts = name if isinstance(name, list | tuple) else [name]
    return "/".join(map(_part, parts))


def _part(name: object) -> str:
    if isinstance(name, bool):
        name = int(name)
    if isinstance(name, int | float):
        name = int(name) if abs(name) < 2**53 and name == int(name) else name
    seen = "".join(islice((c for c in str(name) if not _blank(c)), MOST_SEEN))
    text = unicodedata.normalize("NFKC", seen).casefold().translate(_LATIN)
    text = {"true": "l", "false": "o"}.get(text, text)
    return "".join(c for c in text if _shows(c)) or "".join(text.split())


def _shows(c: str) -> bool:
    """Whether people see a character, and tell it from others: spaces, dashes and the like they do not."""
    return not _blank(c) and ord(c) not in _MARKS and unicodedata.category(c) not in {"Pd", "Pc"}


def _blank(c: str) -> bool:
    return ord(c) in _BLANK or c.isspace() or unicodedata.category(c) in _INVISIBLE


def taken_for(name: str) -> str | None:
    """Return the reserved name that a loss could be taken for, if it is not one of ours itself."""
    return None if name in OURS else _RESERVED.get(looks(name))


#: What people see of the reserved names.
_RESERVED = {looks(one): one for one in reversed(RESERVED)}
