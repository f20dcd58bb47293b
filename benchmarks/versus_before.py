"""The commit before: the same questions, asked of two source trees in turn, in one run.

``git worktree add ../before HEAD~1; python -m benchmarks before --before ../before``. Each tree has a process of its
own; the two are asked alternately, so that what else the machine does hits both. Only public names are used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.table import Table, note, seconds

#: What a process defines, and the questions: Python that returns something to throw away.
PREPARE = """
import json, sys, time, warnings
import numpy as np
from fairbound import *
warnings.simplefilter("ignore")

def moments(s, c, seed=0):
    rng = np.random.default_rng(seed)
    return Population.from_moments(rng.dirichlet(np.full(s * c, 3.0)).reshape(s, c), rng.uniform(0, 0.6, (s, c)))

rng = np.random.default_rng(1)
N = 20_000
GROUP, LABEL = rng.integers(0, 2, N), rng.integers(0, 2, N)
PREDICTED = np.where(rng.random(N) < 0.8, LABEL, 1 - LABEL)
LOSS = rng.beta(1 + GROUP, 4 - LABEL)
TWO, THREE, WIDE = moments(2, 2), moments(3, 3), moments(10, 2)
ROWS = Population.from_predictions(LABEL, PREDICTED, sensitive_features=GROUP)
GRADED = Population.from_losses(LOSS, LABEL, sensitive_features=GROUP)
CURVE = np.linspace(0.3, 0.6, 51)
TEXT = certify(TWO, 0.3, shift="sensitive").to_json()
PARITY = certify(ROWS, 0.2, metric="demographic_parity_difference").to_json()
"""

QUESTIONS = {
    "importing certify": "__import__('subprocess').run([sys.executable, '-c', 'from fairbound import certify'])",
    "general 2x2": "certify(TWO, 0.3)",
    "general 3x3": "certify(THREE, 0.3)",
    "general 10x2": "certify(WIDE, 0.3)",
    "general, 51 radii": "certify_curve(TWO, CURVE)",
    "sensitive 2x2": "certify(TWO, 0.3, shift='sensitive')",
    "sensitive 10x2": "certify(WIDE, 0.3, shift='sensitive')",
    "sensitive, 51 radii": "certify_curve(TWO, CURVE, shift='sensitive')",
    "many-valued losses": "certify(GRADED, 0.2)",
    "observed support": "certify(ROWS, 0.2, support='observed')",
    "limits": "certify(TWO, 0.3, min_group_mass=0.3, label_limits={0: (0.2, 0.7)})",
    "tolerance": "certify(TWO, 0.3, base_rate_tolerance=0.05)",
    "tolerance, sensitive": "certify(TWO, 0.3, shift='sensitive', base_rate_tolerance=0.05)",
    "any base rates": "certify(TWO, 0.3, fair=False)",
    "parity difference": "certify(ROWS, 0.2, metric='demographic_parity_difference')",
    "parity ratio": "certify(ROWS, 0.2, metric='demographic_parity_ratio')",
    "equalized odds": "certify(ROWS, 0.2, metric='equalized_odds_difference')",
    "odds, tolerance": "certify(ROWS, 0.2, metric='equalized_odds_difference', base_rate_tolerance=0.05)",
    "total variation": "certify(ROWS, 0.2, divergence='total_variation')",
    "kl": "certify(ROWS, 0.2, divergence='kl')",
    "confidence": "certify(ROWS, 0.2, confidence=0.95)",
    "confidence, many-valued": "certify(GRADED, 0.2, confidence=0.95)",
    "confidence, sensitive": "certify(ROWS, 0.2, shift='sensitive', confidence=0.95)",
    "largest radius": "largest_certified_rho(TWO, 0.4)",
    "nearest": "nearest_fair(WIDE)",
    "reading predictions": "Population.from_predictions(LABEL, PREDICTED, sensitive_features=GROUP)",
    "reading losses": "Population.from_losses(LOSS, LABEL, sensitive_features=GROUP)",
    "verify, sensitive": "verify(TEXT)",
    "verify, parity": "verify(PARITY)",
    "report": "report(TEXT)",
}

#: Processor time, of what is started too: it does not depend on what else the machine does.
ANSWER = """
import resource

def taken():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime

for line in sys.stdin:
    call = compile(line, "question", "eval")
    start, count = taken(), 0
    while count < 1 or taken() - start < 0.05:
        eval(call)
        count += 1
    print((taken() - start) / count, flush=True)
"""


class _Tree:
    """A process that answers from one source tree."""

    def __init__(self, tree: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-c", PREPARE + ANSWER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, question: str) -> float:
        """Return how long a question takes."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(question + "\n")
        into.flush()
        return float(out.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def run(quick: bool) -> None:
    """Compare this tree with the one of ``--before``."""
    before = os.environ.get("FAIRBOUND_BEFORE")
    if before is None:
        note("before: name a worktree of the commit before with --before")
        return
    then, now = _Tree(Path(before).resolve()), _Tree(Path(__file__).resolve().parents[1])
    columns = [("question", 26), ("before", 9), ("now", 9), ("now / before", 12)]
    table = Table(f"The commit before, {Path(before).name}, and this one, asked alternately", columns)
    for name, question in QUESTIONS.items():
        pairs = [(then.ask(question), now.ask(question)) for _ in range(5 if quick else 15)][1:]
        ratio = median(b for _, b in pairs) / median(a for a, _ in pairs)
        table.row(name, seconds(median(a for a, _ in pairs)), seconds(median(b for _, b in pairs)), f"{ratio:.2f}x")
    then.close()
    now.close()
