"""Experiment 6: certificates that hold with 90% confidence over the draw of the test rows."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from fairbound.certificate.certify import certify_curve
from fairbound.errors import SmallCellWarning
from fairbound.experiments.bench import LARGE, SMALL, TITLES, Bench
from fairbound.experiments.section import Check, Figure, Line, Panel, Section
from fairbound.experiments.shifting import LOSSES, Kind
from fairbound.experiments.store import Table

CONFIDENCE = 0.9

#: Only bounded losses can be certified from a sample: the cross-entropy is cut off here.
CLIP = {"cross_entropy": 5.0}


def _compute(bench: Bench, dataset: str, loss: str, shift: Kind) -> dict[str, Table]:
    radii = bench.settings.radii
    population = bench.case(dataset).population(loss, CLIP.get(loss))
    plain = certify_curve(population, radii, shift=shift)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)  # the page shows the rows of each cell
        sure = certify_curve(population, radii, shift=shift, confidence=CONFIDENCE)
        intervals = certify_curve(population, radii, shift=shift, confidence=CONFIDENCE, region="hoeffding")
    return {
        "curve": {"rho": radii, "bound": plain.bound, "confident": sure.bound, "hoeffding": intervals.bound},
        "total": {"nearest": np.array([plain.distance]), "rows": np.array([population.rows])},
    }


def samples(bench: Bench) -> Section:
    """Run experiment 6."""
    panels: dict[tuple[str, Kind, str], Panel] = {}
    checks = []
    chosen = bench.settings.datasets
    for dataset in chosen:
        for shift, losses in LOSSES.items():
            for loss in losses:
                about = {**bench.stamp, "radii": bench.settings.radii.tolist(), "confidence": CONFIDENCE}
                with bench.progress.task(f"90% confidence, {shift} shifting, {dataset}, {TITLES[loss]}"):
                    tables = bench.store.tables(
                        f"samples-{shift}-{dataset}-{TITLES[loss].lower()}",
                        about,
                        partial(_compute, bench, dataset, loss, shift),
                    )
                curve = tables["curve"]
                title = f"{dataset.upper()} ({int(tables['total']['rows'][0]):,} rows)"
                panels[dataset, shift, loss] = _panel(title, loss, curve, float(tables["total"]["nearest"][0]))
                extra = (curve["confident"] - curve["bound"])[~np.isnan(curve["bound"])]
                checks.append(
                    Check(
                        f"90% confidence, {shift} shifting, {dataset}, {TITLES[loss]}: not below the plain one",
                        bool((extra >= 0).all()),
                        f"larger by {float(extra.min()):.3f} to {float(extra.max()):.3f}",
                    )
                )
    figures = []
    for shift, losses in LOSSES.items():
        for suffix, members in (("", LARGE), ("-small", SMALL)):
            shown = [d for d in members if d in chosen]
            rows = tuple(tuple(panels[d, shift, loss] for d in shown) for loss in losses)
            if shown:
                caption = f"{shift.capitalize()} shifting: plain certificates, and with 90% confidence."
                figures.append(Figure(f"samples-{shift}{suffix}", caption, rows))
    text = (
        "The test rows are taken for independent draws from an unknown P: the curve holds with 90% probability over "
        "their draw, at all radii at once. The dashed curve uses the paper's intervals (Hoeffding, and a union bound), "
        "where they are valid. The cross-entropy has no bound; here it is cut off at 5."
    )
    return Section("Finite samples", text, tuple(figures), checks=tuple(checks))


def _panel(title: str, loss: str, curve: Table, distance: float) -> Panel:
    lines = (
        Line("certificate, 90% confidence", curve["rho"], curve["confident"]),
        Line("by the paper's intervals, 90%", curve["rho"], curve["hoeffding"], "baseline"),
        Line("the rows as the whole population", curve["rho"], curve["bound"], "moments"),
    )
    return Panel(title, TITLES[loss] + (" cut off at 5" if loss in CLIP else ""), lines, distance=distance)
