"""Distances other than Hellinger's: questions that were loose or slow, with their gaps and seconds.

``python -m benchmarks divergences``; with ``--before TREE`` also what the commit before makes of it. Times are those
of the processor, as are the limits; a question that exceeds its limit is shown as such.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.table import Table, seconds

#: Seconds of processor time that a question may take, and with ``--quick``.
LIMIT, QUICK_LIMIT = 240, 20

ASK = """
import json, signal, sys, time, warnings
import numpy as np
from fairbound import *
warnings.simplefilter("ignore")

RADII = {"total_variation": 0.06, "kl": 0.05, "chi_squared": 0.1}

def moments(s, c, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    return Population.from_moments(rng.dirichlet(np.full(s * c, spread)).reshape(s, c), rng.uniform(0, 0.6, (s, c)))

def graded(s, c, seed=0, rows=300):
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(s * c), rng.multinomial(rows * s * c, rng.dirichlet(np.full(s * c, 5.0))) + 5)
    loss = rng.beta(1, 1 + 5 * rng.uniform(size=s * c)[cell])
    return Population.from_losses(loss, cell % c, sensitive_features=cell // c)

def near(population, **asked):
    try:
        certify(population, 0.0, **asked)
    except InfeasibleError as error:
        return error.distance
    return 0.0

def ask(population, excess, **asked):
    rho = near(population, **asked) + excess * RADII[asked["divergence"]]
    return certify(population, min(rho, 1.0) if asked["divergence"] == "total_variation" else rho, **asked)

EMPTY = Population.from_moments([[0.45, 0.2], [0.35, 0.0]], [[0.1, 0.4], [0.05, 0.5]])
signal.signal(signal.SIGVTALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
for line in sys.stdin:
    question, limit = json.loads(line)
    call = compile(question, "question", "eval")
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    start = time.process_time()
    try:
        found = eval(call)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        answer = [float(found.bound), float(found.gap), time.process_time() - start]
    except TimeoutError:
        answer = [None, None, float(limit)]
    except Exception as error:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        answer = [None, str(error)[:40], time.process_time() - start]
    print(json.dumps(answer), flush=True)
"""

NAMES = {"total_variation": "tv", "kl": "kl", "chi_squared": "chi2"}


def questions() -> dict[str, str]:
    """Return calls that certify, by what a row of the table says."""
    found = {
        "tv empty cell, any rates": "certify(EMPTY, 0.15, divergence='total_variation', metric='group_loss', "
        "shift='sensitive', fair=False, empty_cells='ceiling')",
    }
    kinds = {
        "2x2 spread": "moments(2, 2, {seed}, 0.5)",
        "3x3": "moments(3, 3, {seed})",
        "3x2 graded": "graded(3, 2, {seed})",
        "3x3 graded": "graded(3, 3, {seed})",
        "10x2": "moments(10, 2, {seed})",
    }
    metrics = {
        "2x2 spread": ("group_loss", "group_loss_difference"),
        "3x3": ("loss", "group_loss", "group_loss_difference"),
        "3x2 graded": ("loss", "group_loss", "group_loss_difference"),
        "3x3 graded": ("loss", "group_loss"),
        "10x2": ("loss", "group_loss", "group_loss_difference"),
    }
    for kind, population in kinds.items():
        for metric in metrics[kind]:
            for name, short in NAMES.items():
                for seed in range(3 if kind == "2x2 spread" else 1):
                    asked = f"{population.format(seed=seed)}, 1.0, divergence={name!r}, metric={metric!r}"
                    found[f"{kind} {seed} {metric} {short}"] = f"ask({asked})"
    return found


class _Tree:
    """A process that answers from one source tree."""

    def __init__(self, tree: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-c", ASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, question: str, limit: int) -> tuple[str, str]:
        """Return the gap and how long it took, in words."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(json.dumps([question, limit]) + "\n")
        into.flush()
        bound, gap, taken = json.loads(out.readline())
        if bound is None:
            return ("no answer" if gap is None else gap), f"> {limit} s" if gap is None else seconds(taken)
        return f"{gap:.1e}", seconds(taken)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def run(quick: bool) -> None:
    """Ask this tree, and the one of ``--before`` if there is one."""
    before = os.environ.get("FAIRBOUND_BEFORE")
    trees = [Path(__file__).resolve().parents[1]] + ([Path(before).resolve()] if before else [])
    asked = [_Tree(tree) for tree in trees]
    columns = [("question", 36)] + [
        (word + part, 12) for word in ("", "before: ")[: len(trees)] for part in ("gap", "time")
    ]
    table = Table("Other distances: gaps and processor time", columns)
    for name, question in questions().items():
        table.row(name, *(cell for tree in asked for cell in tree.ask(question, QUICK_LIMIT if quick else LIMIT)))
    for tree in asked:
        tree.close()
