"""Pictures as trees of elements: the standard library escapes every text and attribute, none can be forgotten."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring  # writing only: nothing is parsed

from markupsafe import Markup

from fairbound.wording.names import printable

Child = Element | None


def element(tag: str, text: str | None = None, /, *children: Child, **attributes: object) -> Element:
    """Make an element; ``class_`` is class, ``aria_label`` is aria-label, None and False leave an attribute out."""
    made = Element(tag)
    made.text = None if text is None else printable(text)
    for key, value in attributes.items():
        if value is not None and value is not False:
            made.set(key.rstrip("_").replace("_", "-"), "" if value is True else printable(str(value)))
    append(made, *children)
    return made


def append(parent: Element, *children: Child) -> None:
    """Add elements at the end; None adds nothing."""
    parent.extend(child for child in children if child is not None)


def svg(picture: Element) -> Markup:
    """Write a picture for a template."""
    return Markup(tostring(picture, encoding="unicode", method="html"))  # noqa: S704 (escaped when it is written)
