"""What a reader of a certificate should look at although it is no reason to refuse it.

Standard library only.
"""

from __future__ import annotations

from typing import Any

from fairbound.verify.looks import MOST_SEEN, is_strange, looks
from fairbound.verify.reading import CEILINGS, Whole

#: More names than these are not listed.
MOST_NAMES = 5


def remarks(whole: Whole) -> tuple[str, ...]:
    """Return remarks on a document, in sentences."""
    population = whole.parts[0][0]["population"]
    found = [remark for side in ("groups", "labels") for remark in _alike(side, population[side])]
    for what in ("groups", "labels", "loss"):
        names = [population[what]] if what == "loss" else population[what]
        strange = [name for name in names if is_strange(name)]
        if strange:
            found.append(f"{what} with characters that may be taken for others: {_listed(strange)}")
    nominal, top = CEILINGS.get(population["loss"]), population["ceiling"]
    if nominal is not None and top is not None and top < nominal:
        found.append(f"the loss {population['loss']} can be {nominal:g}; here it is taken to be cut off at {top!r}")
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
    listed = ", ".join(ascii(name)[:MOST_SEEN] for name in names[:MOST_NAMES])
    return listed if len(names) <= MOST_NAMES else f"{listed}, and {len(names) - MOST_NAMES} more"
