"""How long a call takes."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def timed(call: Callable[[], Result], *, repeat: int = 1) -> tuple[float, Result]:
    """Call ``repeat`` times (more than once: after a warm-up); return the median in seconds and the last result."""
    durations = []
    if repeat > 1:
        call()
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations), result
