"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence

from fairbound.wording.names import printable


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, indent: int = 2) -> str:
    """Return aligned columns: words to the left, numbers to the right."""
    cells = [[" ".join(printable(str(value)).split()) for value in row] for row in rows]
    widths = [max(len(column) for column in columns) for columns in zip(header, *cells, strict=True)]
    numeric = [
        all(row[i].replace(".", "").replace("-", "").replace("%", "").isdigit() for row in cells)
        for i in range(len(header))
    ]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in [list(header), ["-" * width for width in widths], *cells]
    ]
    return "\n".join(" " * indent + line for line in lines)
