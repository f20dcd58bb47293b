"""How far the work is, on standard error: a bar in a terminal, one line per finished task elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 24
LEAST_SECONDS_BETWEEN = 0.1


class Progress:
    """Tells what is done; the output of the command itself stays clean."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._tasks = self._finished = 0

    def expect(self, tasks: int) -> None:
        """Say how many more tasks there will be."""
        self._tasks += tasks

    @contextmanager
    def task(self, name: str, steps: int = 1, *, part: bool = False) -> Iterator[Step]:
        """Show a task while it runs; call the value that is yielded after each of its steps.

        A ``part`` of another task does not count by itself.
        """
        start = time.monotonic()
        step = Step(self, name, steps)
        step.show()
        yield step
        self._finished += not part
        took = time.monotonic() - start
        self._write(f"{self._head()} {name}: {took:.1f} s" if took >= 0.05 else f"{self._head()} {name}", last=True)

    def _head(self) -> str:
        return f"[{self._finished}/{self._tasks}]"

    def _write(self, text: str, *, last: bool) -> None:
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text}" + ("\n" if last else ""))
        elif last:
            self._stream.write(f"{text}\n")
        self._stream.flush()


class Step:
    """One running task."""

    def __init__(self, progress: Progress, name: str, steps: int) -> None:
        self._progress, self._name, self._steps = progress, name, max(steps, 1)
        self._done, self._shown = 0, 0.0

    def __call__(self) -> None:
        """Count one step as done."""
        self._done += 1
        if time.monotonic() - self._shown >= LEAST_SECONDS_BETWEEN:
            self.show()

    def show(self) -> None:
        """Draw the bar."""
        self._shown = time.monotonic()
        filled = min(WIDTH * self._done // self._steps, WIDTH)
        bar = "#" * filled + "." * (WIDTH - filled)
        self._progress._write(f"{self._progress._head()} {bar} {self._name}", last=False)
