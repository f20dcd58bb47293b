"""The certificate that travels with a report, compressed: all of it, or as many radii of a curve as fit."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Attachment:
    """A document as base64 of gzip; ``radii`` are those of a part of a curve, None if the document is whole."""

    packed: str
    radii: tuple[float, ...] | None = None


def attach(document: bytes, room: int) -> Attachment | None:
    """Pack a well-formed document into at most ``room`` characters; None if no part of it fits.

    A part of a curve is a curve: it verifies on its own if the whole one does.
    """
    packed = _pack(document)
    if len(packed) <= room:
        return Attachment(packed)
    whole = json.loads(document)
    most = max(len(_certified(question)) for question in whole["questions"])
    share = 0.5
    while share * most >= 1:
        questions = [{**question, "points": _kept(question, share)} for question in whole["questions"]]
        part = {**whole, "questions": questions, "gates": []}  # those are about all radii
        packed = _pack(json.dumps(part, allow_nan=False).encode("ascii"))
        if len(packed) <= room:
            return Attachment(packed, tuple(map(_radius, questions[0]["points"])))
        share /= 2
    return None


def _certified(question: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted((point for point in question["points"] if point["claim"] is not None), key=_radius)


def _kept(question: dict[str, Any], share: float) -> list[dict[str, Any]]:
    """Return a share of the certified radii, the largest among them."""
    certified = _certified(question)
    count = max(1, int(share * len(certified)))
    return [certified[i] for i in np.linspace(len(certified) - 1, 0, count).round().astype(int)[::-1]]


def _radius(point: dict[str, Any]) -> float:
    return float(point["rho"])


def _pack(document: bytes) -> str:
    return base64.b64encode(gzip.compress(document, 9, mtime=0)).decode("ascii")
