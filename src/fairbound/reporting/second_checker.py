"""The second checker, in JavaScript: its text, as pages carry it, and a page of its own for any certificate."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class BrowserChecker:
    """The program: its text, the same compressed as base64 of gzip, and the SHA-256 of the text."""

    text: str
    packed: str
    digest: str


@cache
def browser_checker() -> BrowserChecker:
    """Return the second checker."""
    text = files("fairbound.reporting").joinpath("checker.js").read_text("utf-8")
    data = text.encode("utf-8")
    packed = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")
    return BrowserChecker(text, packed, hashlib.sha256(data).hexdigest())
