"""How much of what is random `make test` runs: the first ones; `make test-all` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(number: int, values: Iterable[Any], *, single: bool = False) -> list[Any]:
    """Return values to parametrize a test by, all but the first ones marked slow; of ``single`` ones tuples are one."""
    given = [value if isinstance(value, tuple) and not single else (value,) for value in values]
    return [pytest.param(*value, marks=pytest.mark.slow if n >= number else ()) for n, value in enumerate(given)]
