"""What a reader of a certificate should look at although it is no reason to refuse it."""

from __future__ import annotations

import unicodedata
from typing import Any

from fairbound.verify.beside.looks import looks
from fairbound.verify.document import Population
from fairbound.verify.names import CEILINGS

#: More names than these are not listed, nor more characters of each.
MOST_NAMES, MOST_SHOWN = 5, 80


def remarks(population: Population) -> tuple[str, ...]:
    """Return remarks on what a document is about, in sentences."""
    sides = {"groups": population.groups, "labels": population.labels}
    found = [remark for side, names in sides.items() for remark in _alike(side, names)]
    losses = list(dict.fromkeys(measure.loss for measure in population.measures))
    everything: dict[str, list[Any]] = {**sides, "loss": losses}
    for what, names in everything.items():
        strange = [name for name in names if _is_strange(name)]
        if strange:
            found.append(f"{what} with characters that may be taken for others: {_listed(strange)}")
    for measure in population.measures:
        nominal, top = CEILINGS.get(measure.loss), measure.ceiling
        if nominal is not None and top is not None and top < nominal:
            found.append(f"the loss {measure.loss} can be {nominal:g}; here it is taken to be cut off at {top!r}")
    return tuple(found)


def _alike(side: str, names: list[Any]) -> list[str]:
    """Name those that a reader could take for one another."""
    seen: dict[str, list[Any]] = {}
    for name in names:
        seen.setdefault(looks(name), []).append(name)
    same = [alike for alike in seen.values() if len(alike) > 1]
    return [f"{side} that look alike: {_listed(alike)}" for alike in same[:MOST_NAMES]]


def _listed(names: list[Any]) -> str:
    """List some names."""
    listed = ", ".join(ascii(name)[:MOST_SHOWN] for name in names[:MOST_NAMES])
    return listed if len(names) <= MOST_NAMES else f"{listed}, and {len(names) - MOST_NAMES} more"


def _is_strange(name: Any) -> bool:
    """Whether a name has characters that may be taken for others: no letters, or letters of more than one alphabet."""
    text = "".join(map(str, name)) if isinstance(name, list | tuple) else str(name)
    alphabets = {_alphabet(c) for c in text if c.isalpha()}
    odd = any(not c.isascii() and not c.isalnum() for c in text)
    return odd or len(alphabets) > 1


def _alphabet(c: str) -> str:
    """Return the alphabet of a letter: the first word of its name, but unusual forms of Latin letters are others."""
    name = unicodedata.name(c, "UNKNOWN")
    first = name.split()[0]
    return first if first != "LATIN" or name.startswith(("LATIN SMALL LETTER", "LATIN CAPITAL LETTER")) else name
