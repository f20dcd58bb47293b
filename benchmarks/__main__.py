"""Run the benchmarks: ``python -m benchmarks [--quick] [part ...]``."""

from __future__ import annotations

import argparse
import importlib
import platform
from typing import TYPE_CHECKING

from benchmarks.table import note

if TYPE_CHECKING:
    from collections.abc import Callable

# A part's peers are imported only when it runs, so that one part does not need the solvers of another.
PARTS = {
    "scip": "benchmarks.versus_scip",
    "paper": "benchmarks.versus_paper",
    "scale": "benchmarks.scale",
    "clarabel": "benchmarks.versus_clarabel",
    "sampling": "benchmarks.sampling",
    "frames": "benchmarks.frames",
    "metrics": "benchmarks.metrics",
    "hostile": "benchmarks.hostile",
}


def main() -> None:
    """Read the command line and run the chosen parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer problems, shorter limits for the peers")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    note(f"Python {platform.python_version()} on {platform.machine()}; ratio = peer's time / our time")
    for part in chosen.parts or PARTS:
        run: Callable[[bool], None] = importlib.import_module(PARTS[part]).run
        run(chosen.quick)


if __name__ == "__main__":
    main()
