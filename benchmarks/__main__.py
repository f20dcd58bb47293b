"""Run the benchmarks: ``python -m benchmarks [--quick] [part ...]``."""

from __future__ import annotations

import argparse
import importlib
import os
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
    "engines": "benchmarks.engines",
    "metrics": "benchmarks.metrics",
    "hostile": "benchmarks.hostile",
    "before": "benchmarks.versus_before",
    "divergences": "benchmarks.divergences",
}


def main() -> None:
    """Read the command line and run the chosen parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer problems, shorter limits for the peers")
    parser.add_argument("--before", metavar="TREE", help="a worktree of the commit before, to compare with")
    chosen = parser.parse_args()
    if chosen.before is not None:
        os.environ["FAIRBOUND_BEFORE"] = chosen.before
    unknown = sorted(set(chosen.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    note(f"Python {platform.python_version()} on {platform.machine()}; ratio = peer's time / our time")
    for part in chosen.parts or PARTS:
        run: Callable[[bool], None] = importlib.import_module(PARTS[part]).run
        run(chosen.quick)


if __name__ == "__main__":
    main()
