"""HTML and SVG as trees of elements: the standard library escapes every text and attribute, none can be forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring  # writing only: nothing is parsed

from fairbound.wording.names import printable

Child = Element | str | None


def element(tag: str, /, *children: Child, **attributes: object) -> Element:
    """Make an element; ``class_`` is class, ``aria_label`` is aria-label, None and False leave an attribute out."""
    made = Element(tag)
    for key, value in attributes.items():
        if value is not None and value is not False:
            made.set(key.rstrip("_").replace("_", "-"), "" if value is True else printable(str(value)))
    append(made, *children)
    return made


def append(parent: Element, *children: Child) -> None:
    """Add elements and texts at the end; None adds nothing."""
    for child in children:
        if isinstance(child, Element):
            parent.append(child)
        elif child is not None:
            text = printable(child)
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + text
            else:
                parent.text = (parent.text or "") + text


def section(identity: str, title: str, *children: Child) -> Element:
    """Make a section that is announced by its title."""
    heading = element("h2", title, id=f"{identity}-title")
    return element("section", heading, *children, id=identity, aria_labelledby=f"{identity}-title")


def table(
    header: Sequence[tuple[str, bool]], rows: Iterable[Element], caption: str | None = None, **attributes: object
) -> Element:
    """Make a table that can be scrolled sideways; a header is a title and whether its column holds numbers."""
    heads = [element("th", title, scope="col", class_="n" if right else None) for title, right in header]
    whole = element(
        "table",
        None if caption is None else element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        **attributes,
    )
    return element("div", whole, class_="wide", tabindex="0", role="group", aria_label=caption or "table")


def number_cell(text: str, **attributes: object) -> Element:
    """Make a cell that holds a number."""
    return element("td", text, class_="n", **attributes)


def definitions(facts: Iterable[tuple[str, str]]) -> Element:
    """Make a list of terms and what there is to say of them."""
    parts = [part for term, text in facts for part in (element("dt", term), element("dd", text))]
    return element("dl", *parts)


def data_block(identity: str, value: Any) -> Element:
    """Make a block of JSON that no browser runs, in which nothing can end the block or open a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    block = Element("script", {"type": "application/json", "id": identity})
    block.text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return block


def raw_block(tag: str, text: str) -> Element:
    """Make a script or a style sheet of our own."""
    block = Element(tag)
    block.text = text
    return block


def write(root: Element) -> str:
    """Return the document."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"
