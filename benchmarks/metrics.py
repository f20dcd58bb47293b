"""Other metrics beside the loss: curves of 51 radii for two groups and two labels, measured in turns."""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from benchmarks.table import Table, note, seconds, times
from benchmarks.timing import timed
from fairbound import CertificateCurve, Population, certify_curve, nearest_fair
from fairbound.problem.metrics import METRICS

#: From theory's population: masses, mean losses and selection rates of the cells.
MASS = [[0.464, 0.204], [0.295, 0.037]]
MEAN = [[0.09, 0.38], [0.02, 0.45]]
SELECTED = [[0.09, 0.62], [0.02, 0.55]]


def run(quick: bool) -> None:
    """Print the table of this part."""
    population = Population.from_moments(MASS, MEAN, selection_rate=SELECTED)
    rhos = np.linspace(nearest_fair(population).distance + 0.005, 0.5, 51)
    table = Table(
        "Curves of 51 radii, general shifting, 2x2",
        [("metric", 32), ("time", 9), ("loss curve", 10), ("ratio", 6), ("largest gap", 11), ("trivial", 7)],
    )
    for metric in METRICS:
        ask = partial(certify_curve, population, rhos)
        ratios = []
        for _ in range(1 if quick else 7):
            base, _ = timed(ask, repeat=3)
            duration, curve = timed(partial(ask, metric=metric), repeat=2)
            ratios.append((duration / base, duration, base))
        ratio, duration, base = statistics.median_low(ratios)
        table.row(metric, seconds(duration), seconds(base), times(ratio), *_tightness(curve))
    note("ratio: time / time of the loss curve, the median of several turns (small is good)")
    note("largest gap: of the radii at which the certificate is not trivial; all pairs and both directions included")


def _tightness(curve: CertificateCurve) -> tuple[str, str]:
    gaps = [c.gap for c in curve if not c.trivial]
    return f"{max(gaps):.1e}" if gaps else "-", str(len(curve) - len(gaps))
