"""Small pieces of HTML for notebooks. All text is escaped: names come from strangers' data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fairbound.wording.names import printable


def _text(value: object) -> str:
    return escape(printable(str(value)))


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; notebooks style it."""
    head = "".join(f"<th>{_text(text)}</th>" for text in header)
    body = "".join(f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_paragraph(text: str, *, strong: bool = False) -> str:
    """Return a paragraph."""
    return f"<p><strong>{_text(text)}</strong></p>" if strong else f"<p>{_text(text)}</p>"


def html_details(title: str, sentences: Sequence[str]) -> str:
    """Return a list that opens on a click."""
    items = "".join(f"<li>{_text(sentence)}</li>" for sentence in sentences)
    return f"<details><summary>{_text(title)}</summary><ul>{items}</ul></details>"
