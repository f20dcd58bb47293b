"""Running the command line as a user does, and the files it is tried on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import fairbound

#: What tells commands that they run in a pipeline, and where its summary is.
PIPELINE = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")

COLUMNS = ["--label", "income", "--prediction", "yhat", "--group", "sex"]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fairbound", *arguments]


def environment(**more: str) -> dict[str, str]:
    """The variables of this process, without those that would change what is printed."""
    dropped = {"COLUMNS", "LINES", "PYTHONWARNINGS", "FAIRBOUND_TRACEBACK", *PIPELINE}
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    source = str(Path(fairbound.__file__).parents[1])  # wherever the command is run
    return {**kept, "PYTHONWARNINGS": "error", "PYTHONPATH": source, **more}


def run(*arguments: str, cwd: Path | None = None, given: bytes | None = None, **more: str) -> Done:
    """Run the real entry point in a process of its own; a warning would be an error."""
    ended = subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
        env=environment(**more),
    )
    return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def predictions(rows: int = 600, *, labels: int = 2) -> pl.DataFrame:
    """Return rows with two groups of different base rates, races, predictions, probabilities, costs and weights."""
    rng = np.random.default_rng(7)
    sex = rng.choice(["f", "m"], rows)
    y = np.where(rng.random(rows) < np.where(sex == "f", 0.3, 0.5), 1, 0)
    y = np.where(rng.random(rows) < 0.2, 2, y) if labels == 3 else y
    names = np.array(["no", "yes", "maybe"])
    yhat = np.where(rng.random(rows) < 0.85, y, rng.integers(0, labels, rows))
    return pl.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["01", "02"], rows),
            "income": names[y],
            "yhat": names[yhat],
            "p": np.clip(0.5 + 0.35 * (y == 1) - 0.2 + 0.1 * rng.normal(size=rows), 0.01, 0.99),
            "cost": rng.random(rows) * 2,
            "w": rng.integers(1, 4, rows),
        }
    )
