"""What people see of a name: two names that look alike may be taken for one another.

Standard library only.
"""

from __future__ import annotations

import unicodedata
from typing import Any

#: Categories of characters that show nothing, and those that show nothing although their category says otherwise.
_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs"}
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}

#: So many characters of a name are looked at.
MOST_SEEN = 200

#: Letters of other alphabets that look like Latin ones.
_LATIN = str.maketrans("аеорсухіјѕԁһӏԛԝвкмнтαορνικτχγ", "aeopcyxijsdhlqwbkmhtaopviktxy")


def looks(name: Any) -> str:
    """Return what people see of a name, in parts or whole: without case, spaces and what is invisible.

    1, 1.0, true and "1" are one, and so are ["a", "b"] and "a / b".
    """
    parts = name if isinstance(name, list | tuple) else [name]
    return "/".join(map(_part, parts))


def _part(name: object) -> str:
    if isinstance(name, bool):
        name = int(name)
    if isinstance(name, int | float):
        name = int(name) if abs(name) < 2**53 and name == int(name) else name
    text = unicodedata.normalize("NFKC", str(name)[:MOST_SEEN]).casefold().translate(_LATIN)
    text = {"true": "1", "false": "0"}.get(text, text)
    return "".join(
        c for c in text if not c.isspace() and unicodedata.category(c) not in _INVISIBLE and ord(c) not in _BLANK
    )
