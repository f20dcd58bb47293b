"""What an experiment gives back: figures, tables and checks, to be drawn and written later."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairbound.arithmetic.arrays import Floats


@dataclass(frozen=True)
class Line:
    """A curve of a panel."""

    label: str
    x: Floats
    y: Floats
    style: str = "bound"


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: curves over generated distributions, and the radii at which nothing can be certified."""

    title: str
    ylabel: str
    lines: tuple[Line, ...]
    points: tuple[Floats, Floats] | None = None
    distance: float = 0.0
    highest: float | None = None


@dataclass(frozen=True)
class Figure:
    """Panels row by row under one caption."""

    name: str
    caption: str
    rows: tuple[tuple[Panel, ...], ...]


@dataclass(frozen=True)
class Listing:
    """A table to read."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Check:
    """Something that must be seen in the results, and whether it was."""

    statement: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Section:
    """One experiment."""

    title: str
    text: str
    figures: tuple[Figure, ...] = ()
    listings: tuple[Listing, ...] = ()
    checks: tuple[Check, ...] = field(default=())
