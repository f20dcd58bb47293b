"""Experiment 3: limits on how far the shares of groups, and of labels, may be apart in Q."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.certify import certify_curve
from fairbound.certificate.curve import CertificateCurve
from fairbound.data.population import Population
from fairbound.experiments.bench import LARGE, Bench
from fairbound.experiments.comparison import compare
from fairbound.experiments.generated import Limits, general_shifts, sensitive_shifts
from fairbound.experiments.section import Check, Figure, Line, Panel, Section
from fairbound.experiments.store import Table
from fairbound.problem.question import Shift

SKEWS = (0.1, 0.3, 0.5, 0.7, 1.0)
SIDES = ("groups", "labels")

#: As many generated distributions of each curve, those nearest to it, are compared with a certificate of their own.
EXACT = 200


CURVES = ("sensitive", "side", "skew", "rho", "bound", "attained")
TOTAL = ("sensitive", "side", "skew", "nearest", "above", "excess")


def certify_limited(
    population: Population, rho: Floats, *, sensitive: bool, side: int, skew: float
) -> CertificateCurve:
    """Certify with a limit on the groups (side 0) or on the labels (side 1)."""
    limits = (skew, None) if side == 0 else (None, skew)
    shift: Shift = "sensitive" if sensitive else "general"
    return certify_curve(population, rho, shift=shift, group_skew=limits[0], label_skew=limits[1])


def _compute(bench: Bench, dataset: str) -> dict[str, Table]:
    chosen, case = bench.settings, bench.case(dataset)
    population, other = case.population("zero_one"), case.other_mean("zero_one")
    curves, total = [], []
    for sensitive, side, skew in product((True, False), range(2), SKEWS):
        certified = partial(certify_limited, population, sensitive=sensitive, side=side, skew=skew)
        limit = Limits(**{SIDES[side]: skew})
        if sensitive:
            points = sensitive_shifts(population, chosen.generated, chosen.seed, limit)
        else:
            points = general_shifts(population, other, chosen.generated, chosen.seed, limit)
        curve = certified(chosen.radii)
        found = compare(points, curve.rho, curve.bound, lambda rho, at=certified: at(rho).bound, EXACT)  # type: ignore[misc]
        values = zip(curve.rho, curve.bound, curve.attained, strict=True)
        curves += [(sensitive, side, skew, *value) for value in values]
        total.append((sensitive, side, skew, curve.distance, found.above, found.excess))
    return {
        part: dict(zip(names, np.array(rows, dtype=np.float64).T, strict=True))
        for part, names, rows in (("curves", CURVES, curves), ("total", TOTAL, total))
    }


def _panel(tables: Mapping[str, Table], sensitive: int, side: int) -> Panel:
    curves = tables["curves"]
    lines = []
    for place, skew in enumerate(SKEWS):
        rows = (curves["sensitive"] == sensitive) & (curves["side"] == side) & (curves["skew"] == skew)
        title = f"limit {skew:g}" if skew < 1.0 else "no limit"
        lines.append(Line(title, curves["rho"][rows], curves["bound"][rows], f"limit{place}"))
    kind = "sensitive" if sensitive else "general"
    return Panel(f"{kind} shifting, limit on {SIDES[side]}", "error", tuple(lines))


def limits(bench: Bench) -> Section:
    """Run experiment 3."""
    figures, checks = [], []
    for dataset in (name for name in LARGE if name in bench.settings.datasets):
        chosen = bench.settings
        about = {**bench.stamp, "radii": chosen.radii.tolist(), "generated": chosen.generated, "limits": SKEWS}
        with bench.progress.task(f"limits, {dataset}"):
            tables = bench.store.tables(f"limits-{dataset}", about, partial(_compute, bench, dataset))
        rows = tuple(tuple(_panel(tables, sensitive, side) for sensitive in (1, 0)) for side in range(2))
        caption = (
            f"{dataset.capitalize()}, error: limits on the difference between the shares of the two groups (above) and "
            "of the two labels (below) in Q."
        )
        figures.append(Figure(f"limits-{dataset}", caption, rows))
        total = tables["total"]
        checks.append(
            Check(
                f"limits, {dataset}: none of {chosen.generated * len(total['skew']):,} generated is above",
                not total["above"].any(),
                f"{int(total['above'].sum())} above; the nearest is {-float(total['excess'].max()):.2g} below",
            )
        )
        checks.append(
            Check(f"limits, {dataset}: a stricter limit never raises a certificate", *_ordered(tables["curves"]))
        )
    text = (
        "Certificates of the error if the shares of the groups, or of the labels, may not differ by more than a limit "
        "in the distributions with equal base rates. The stricter the limit, the lower the curve. "
        f"Generated distributions respect the limit too; the {EXACT} of each curve that come nearest to it are "
        "compared with a certificate at their own distance, the others with the one at the next larger radius."
    )
    return Section("Limits on skewness", text, tuple(figures), checks=tuple(checks))


def _ordered(curves: Table) -> tuple[bool, str]:
    bound = curves["bound"].reshape(2, 2, len(SKEWS), -1)
    change = np.diff(bound, axis=2)
    worst = float(np.nanmin(change))
    return worst >= -2e-6, f"the largest drop from a limit to the next weaker one is {max(-worst, 0.0):.1g}"
