"""What all tests share: how many of those that are alike `make test` runs."""

from __future__ import annotations

import math

import pytest

#: Parameters move by amounts that have no common measure, so each value of each is met early, with varying others.
STEPS = [math.sqrt(prime) % 1 for prime in (2, 3, 5, 7)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow what `one_in(n)` leaves to `make test-all`: all but about one in n, the first one never."""
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is None or not isinstance(item, pytest.Function):
            continue
        numbers = [item.callspec.indices[name] for name in sorted(item.callspec.indices)]
        if sum(number * step for number, step in zip(numbers, STEPS, strict=False)) % 1 >= 1 / mark.args[0]:
            item.add_marker("slow")
