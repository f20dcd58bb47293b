"""The checker, alone: whether what a document claims is proved by what it holds.

In: a document from anybody. Out: a verdict, with reasons.
Standard library and python-flint; it imports nothing of the rest. ``fairbound.verify`` is this room and, called, the
function ``fairbound.verify.verdict.verify``: a package and a function of one name would hide each other.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from fairbound.verify.verdict import Verdict, Verification, Writes, verify

__all__ = ["Verdict", "Verification", "verify"]


class _Room(ModuleType):
    """A package that can be called."""

    def __call__(self, document: str | bytes | dict[str, Any] | Writes, *, patient: bool = False) -> Verification:
        return verify(document, patient=patient)


globals()["__doc__"] = verify.__doc__  # what people who ask for help want to know
sys.modules[__name__].__class__ = _Room
