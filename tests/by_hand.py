"""Documents written by hand: the frame around a population with one measure, a question and its answers."""

from __future__ import annotations

from typing import Any

from fairbound.verify.document import FORMAT, VERSION

Document = dict[str, Any]

#: What is known of a population with one measure, of which most is shared by all measures.
MEASURE = ("loss", "pos_label", "ceiling", "knowledge")

#: A document that says nothing of where it comes from.
UNTOLD: Document = {
    "date": None,
    "files": [],
    "columns": [],
    "cuts": [],
    "meanings": [],
    "model": None,
    "data": None,
    "note": None,
}


def framed(
    known: Document, asked: Document, stated: list[Document], distance: float | None, points: list[Document]
) -> Document:
    """Return a document with one question, all but its digest."""
    shared = {key: value for key, value in known.items() if key not in MEASURE}
    return {
        "format": FORMAT,
        "version": VERSION,
        "producer": "by hand",
        "provenance": UNTOLD,
        "population": {**shared, "measures": [{key: known[key] for key in MEASURE}]},
        "confidence": asked["confidence"],
        "questions": [{"measure": 0, **asked, "statements": stated, "distance": distance, "points": points}],
        "gates": [],
    }


def only(document: Document) -> Document:
    """Return the question of a document that has one."""
    (question,) = document["questions"]
    found: Document = question
    return found
