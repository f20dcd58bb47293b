"""The demonstration: certificates of a model on data that ships with the package."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from fairbound.certificate.certify import certify, certify_curve, largest_certified_rho
from fairbound.solve.nearest import nearest_fair
from fairbound.data.population import Population
from fairbound.reporting.report import report
from fairbound.reporting.terminal import describe_curve, describe_population, describe_worst_case, points


@dataclass(frozen=True)
class Written:
    """The files of the demonstration."""

    certificate: Path
    page: Path
    rows: Path


def demo_rows() -> bytes:
    """Return the held-out predictions of a logistic regression on Adult, as CSV."""
    return gzip.decompress(files("fairbound").joinpath("data/adult_predictions.csv.gz").read_bytes())


def demo_columns() -> dict[str, list[str]]:
    """Return the same column by column."""
    rows = list(csv.DictReader(demo_rows().decode("utf-8").splitlines()))
    return {key: [row[key] for row in rows] for key in rows[0]}


def demo_population(columns: dict[str, list[str]]) -> Population:
    """Return what is known of the demonstration model's errors."""
    return Population.from_predictions(
        columns["income"], columns["predicted"], sensitive_features=columns["sex"], loss="zero_one"
    )


def write_demo(folder: Path) -> Written:
    """Write a curve of certificates, the report about it, and the rows."""
    curve = certify_curve(demo_population(demo_columns()), np.arange(1, 51) / 100, shift="sensitive")
    written = Written(folder / "certificate.json", folder / "report.html", folder / "predictions.csv")
    folder.mkdir(parents=True, exist_ok=True)
    written.certificate.write_text(curve.to_json(), encoding="utf-8")
    written.page.write_text(report(curve), encoding="utf-8")
    written.rows.write_bytes(demo_rows())
    return written


def run_demo() -> str:
    """Certify the demonstration model and return what there is to say about it."""
    columns = demo_columns()
    population = demo_population(columns)
    probability = np.array(columns["probability"], dtype=np.float64)
    jsd = Population.from_predictions(columns["income"], probability, sensitive_features=columns["sex"], loss="jsd")
    nearest = nearest_fair(population)
    rhos = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    parts = [
        "How large can this model's error get where all groups have equal base rates?",
        "",
        f"Logistic regression on the Adult census data, {population.rows} held-out rows; error {population.loss:.4f}.",
        describe_population(population),
        "",
        f"The nearest distribution with equal base rates is at Hellinger distance {nearest.distance:.4f}.",
        "Below, the error of every distribution with equal base rates within distance rho is at most `bound`,",
        "and the worst-case distribution that was found has the error `attained`.",
    ]
    for title, shift, data in (
        (
            "Sensitive shifting: only the shares of the groups and labels change; 0-1 loss",
            "sensitive",
            population,
        ),
        ("General shifting: anything may change; 0-1 loss", "general", population),
        ("General shifting, Jensen-Shannon loss of the probabilities", "general", jsd),
    ):
        curve = certify_curve(data, rhos, shift=shift)  # type: ignore[arg-type]  # both are shifts
        parts += ["", title, describe_curve(curve)]
    worst = certify(population, 0.2, shift="sensitive")
    largest = largest_certified_rho(population, 0.25, shift="sensitive")
    parts += [
        "",
        "The worst case of sensitive shifting at rho = 0.2",
        describe_worst_case(worst),
        "",
        f"The error stays below 0.25 under sensitive shifting up to rho = {largest:.4f}.",
        "",
        "What this rests on:",
        *points(worst.assumptions),
    ]
    return "\n".join(parts)
