"""How much of what is random `make test` runs: the first ones; `make test-all` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(number: int, values: Iterable[Any]) -> list[Any]:
    """Return values to parametrize a test by, all but the first ones marked slow."""
    return [
        value
        if place < number
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
