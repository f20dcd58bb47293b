"""What a reader of a certificate should look at although it is no reason to refuse it.

Standard library only.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from fairbound.reader import CEILINGS, Whole

#: More names than these are not listed.
MOST_NAMES = 5

#: Characters of a name that are looked at: nobody compares more, and to normalise many takes long.
MOST_SEEN = 200


def remarks(whole: Whole) -> tuple[str, ...]:
    """Return remarks on a document, in sentences."""
    population = whole.parts[0][0]["population"]
    found = [remark for side in ("groups", "labels") for remark in _alike(side, population[side])]
    nominal, top = CEILINGS.get(population["loss"]), population["ceiling"]
    if nominal is not None and top is not None and top < nominal:
        found.append(f"the loss {population['loss']} can be {nominal:g}; here it is taken to be cut off at {top!r}")
    return tuple(found)


def _alike(side: str, names: list[Any]) -> list[str]:
    """Name those that a reader could take for one another."""
    seen: dict[tuple[str, ...], list[Any]] = {}
    for name in names:
        parts = name if isinstance(name, list) else [name]
        seen.setdefault(tuple(map(looks, parts)), []).append(name)
    same = [alike for alike in seen.values() if len(alike) > 1]
    return [f"{side} that look alike: {_listed(alike)}" for alike in same[:MOST_NAMES]]


def _listed(names: list[Any]) -> str:
    """List some names."""
    listed = ", ".join(ascii(name)[:MOST_SEEN] for name in names[:MOST_NAMES])
    return listed if len(names) <= MOST_NAMES else f"{listed}, and {len(names) - MOST_NAMES} more"


def looks(name: object) -> str:
    """Return what people see of a name: without case, spaces and what is invisible; 1, 1.0 and true are one."""
    if isinstance(name, bool | int | float):
        return repr(float(name)) if abs(name) < 2**53 else repr(name)
    text = unicodedata.normalize("NFKC", str(name)[:MOST_SEEN]).casefold()
    return "".join(c for c in text if not c.isspace() and unicodedata.category(c) not in {"Cc", "Cf", "Cn", "Co"})
