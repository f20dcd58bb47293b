"""A table that is printed row by row, as the measurements come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Table:
    """Print a title and the column heads at once, then one line per row.

    Parameters
    ----------
    title : str
        Printed above the table.
    columns : sequence of (str, int)
        Head and width of every column.
    """

    def __init__(self, title: str, columns: Sequence[tuple[str, int]]) -> None:
        self._widths = [max(width, len(head)) for head, width in columns]
        heads = [head for head, _ in columns]
        print(f"\n{title}\n", flush=True)
        self.row(*heads)
        self.row(*("-" * width for width in self._widths))

    def row(self, *texts: str) -> None:
        """Print one line; the first column is aligned to the left, all others to the right."""
        first, *others = zip(texts, self._widths, strict=True)
        line = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        print("  ".join(line), flush=True)


def note(text: str) -> None:
    """Print a remark below a table."""
    print(f"  {text}", flush=True)


def seconds(value: float) -> str:
    """Format a time with a unit that suits it."""
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    if value < 1.0:
        return f"{value * 1e3:.1f} ms"
    return f"{value:.1f} s"


def times(ratio: float) -> str:
    """Format a ratio of two times."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"
