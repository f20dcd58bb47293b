"""How long a call takes."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def timed(call: Callable[[], Result], *, repeat: int = 1) -> tuple[float, Result]:
    """Call ``repeat`` times; return the median time in seconds and the last result."""
    durations = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations), result
