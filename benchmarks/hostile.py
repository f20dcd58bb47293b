"""Documents of strangers that try to keep a checker busy: time and memory of their checks.

Of each family of documents the largest one is checked that has less than a megabyte and that is not refused before
the check begins; and one of a megabyte, which may be. Every check runs in a process of its own, so that its peak
memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from tests.hostile import FAMILIES, MEGABYTE, TEXTS

from benchmarks.table import Table, note, seconds
from fairbound import verify
from fairbound.verify.beside.work import MOST_WORK, UNIT_SECONDS, work_of
from fairbound.verify.reading import read_document
from fairbound.verify.sampling import MOST_DRAWS
from fairbound.verify.strict import MalformedError

#: What a check may take.
SECONDS, MEGABYTES = 5.0, 500.0

#: Rows are written as a number, however many; of more than so many in each of four cells not all are rounded anew.
LARGEST_SIZE = MOST_DRAWS // 4


def run(quick: bool) -> None:
    """Print the table of this part."""
    columns = [("size", 8), ("kB", 5), ("estimate", 8), ("time", 8), ("of limit", 8), ("memory", 7), ("of limit", 8)]
    table = Table("documents of strangers", [("document", 46), *columns, ("verdict", 17)])
    kinds = ["allowed"] if quick else ["allowed", "megabyte"]
    for name, kind in [*((name, kind) for name in FAMILIES for kind in kinds), *((name, "text") for name in TEXTS)]:
        command = [sys.executable, "-m", "benchmarks.hostile", kind, name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        table.row(
            f"{name}{', a megabyte' if kind == 'megabyte' else ''}",
            str(found["size"]),
            f"{found['length'] / 1e3:.0f}",
            seconds(found["estimate"]),
            seconds(found["time"]),
            f"{found['time'] / SECONDS:.2f}x",
            f"{found['memory']:.0f} MB",
            f"{found['memory'] / MEGABYTES:.2f}x",
            found["verdict"],
        )
    note(f"limits: {SECONDS:g} s of processor time and {MEGABYTES:g} MB; with the refusal of what would take too long")
    note("estimate: what the checker expects before it begins, reading not included")


def largest(family: Callable[[int], str], allowed: Callable[[str], bool]) -> int:
    """Return the largest size at which a document is allowed."""
    low, high = 2, 4
    while low < LARGEST_SIZE and allowed(family(high)):
        low, high = high, min(2 * high, LARGEST_SIZE)
    while high - low > 1 + low // 20:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(family(middle)) else (low, middle)
    return low


def short(text: str) -> bool:
    """Whether a text has less than a megabyte."""
    return len(text.encode()) < MEGABYTE


def estimate(text: str) -> float:
    """Return what the checker expects a check to take."""
    try:
        return work_of(read_document(text)) * UNIT_SECONDS
    except MalformedError:
        return 0.0


def measure(kind: str, name: str) -> None:
    """Check one document, in a process that did nothing else, and print what it took."""
    if kind == "text":
        size, text = MEGABYTE, TEXTS[name](MEGABYTE - 4000)
    else:
        most = MOST_WORK * UNIT_SECONDS
        size = largest(FAMILIES[name], lambda t: short(t) and (kind == "megabyte" or estimate(t) <= most))
        text = FAMILIES[name](size)
    expected = estimate(text)
    command = [sys.executable, "-m", "benchmarks.hostile", "check", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=text)  # noqa: S603
    print(json.dumps({"size": size, "length": len(text), "estimate": expected, **json.loads(done.stdout)}))


def check() -> None:
    """Check what is read, and print what that took."""
    text = sys.stdin.read()
    start = time.process_time()
    result = verify(text)
    duration = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    reason = next(iter(result.reasons), "")[:200]
    print(json.dumps({"time": duration, "memory": memory, "verdict": result.verdict.value, "reason": reason}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("name")
    chosen = parser.parse_args()
    if chosen.kind == "check":
        check()
    else:
        measure(chosen.kind, chosen.name)
