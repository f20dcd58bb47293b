"""A table that is added to a page: figures beside those of the certificate, from whoever made it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Appendix:
    """A table with what is to be read before and after it; all of it is text, and escaped.

    Attributes
    ----------
    title, lead
        The heading, and paragraphs before the table.
    header, rows
        The table; numbers are the columns from ``numbers`` on.
    notes
        What stands below.
    numbers
        The number of the first column that holds numbers.
    """

    title: str
    lead: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numbers: int = 1
