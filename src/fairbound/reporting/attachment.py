"""The certificate that travels with a report, compressed: all of it, or as many radii of a curve as fit."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.verify.reading import CURVE_FORMAT, METRIC_FORMATS


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
    if whole["format"] not in {CURVE_FORMAT, METRIC_FORMATS[1]}:
        return None
    certified = sorted((point for point in whole["points"] if "infeasible" not in point), key=_radius)
    count = len(certified) // 2
    while count:
        kept = [certified[i] for i in np.linspace(len(certified) - 1, 0, count).round().astype(int)[::-1]]
        packed = _pack(json.dumps({**whole, "points": kept}, allow_nan=False).encode("ascii"))
        if len(packed) <= room:
            return Attachment(packed, tuple(map(_radius, kept)))
        count //= 2
    return None


def _radius(point: dict[str, Any]) -> float:
    """Return the radius of a point, which has one question, or several of the same radius."""
    asked = point["statements"][0] if "statements" in point else point
    return float(asked["question"]["rho"])


def _pack(document: bytes) -> str:
    return base64.b64encode(gzip.compress(document, 9, mtime=0)).decode("ascii")
