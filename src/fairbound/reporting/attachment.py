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
    if whole["distance"] is None:
        return None
    certified = sorted((point for point in whole["points"] if point["claim"] is not None), key=_radius)
    count = len(certified) // 2
    while count:
        kept = [certified[i] for i in np.linspace(len(certified) - 1, 0, count).round().astype(int)[::-1]]
        packed = _pack(json.dumps({**whole, "points": kept}, allow_nan=False).encode("ascii"))
        if len(packed) <= room:
            return Attachment(packed, tuple(map(_radius, kept)))
        count //= 2
    return None


def _radius(point: dict[str, Any]) -> float:
    return float(point["rho"])


def _pack(document: bytes) -> str:
    return base64.b64encode(gzip.compress(document, 9, mtime=0)).decode("ascii")
