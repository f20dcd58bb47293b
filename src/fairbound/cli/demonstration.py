"""``fairbound demo``: the whole way once, on data that ship with the package."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbound.certificate.certify import certify, certify_curve, largest_certified_rho
from fairbound.cli.output import say, say_text, unwritable
from fairbound.data.population import Population
from fairbound.datasets.demo import demo_columns, demo_population, demo_rows
from fairbound.reporting.report import report
from fairbound.reporting.terminal import describe_curve, describe_population, describe_worst_case, points
from fairbound.solve.nearest import nearest_fair

EXAMPLES = """\
examples:
  fairbound demo
  fairbound demo --output somewhere
"""


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``demo``."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "-o", "--output", default="fairbound-demo", metavar="FOLDER", help="where to write (default: %(default)s)"
    )
    parser.set_defaults(run=run_demo)


@dataclass(frozen=True)
class Written:
    """The files of the demonstration."""

    certificate: Path
    page: Path
    rows: Path


def write_demo(folder: Path) -> Written:
    """Write a curve of certificates, the report about it, and the rows."""
    curve = certify_curve(demo_population(demo_columns()), np.arange(1, 51) / 100, shift="sensitive")
    written = Written(folder / "certificate.json", folder / "report.html", folder / "predictions.csv")
    folder.mkdir(parents=True, exist_ok=True)
    written.certificate.write_text(curve.to_json(), encoding="utf-8")
    written.page.write_text(report(curve), encoding="utf-8")
    written.rows.write_bytes(demo_rows())
    return written


def run_demo_text() -> str:
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


def run_demo(arguments: argparse.Namespace) -> int:
    """Certify the demonstration model, and write what a user would."""
    say_text(run_demo_text())
    try:
        written = write_demo(Path(arguments.output))
    except OSError as error:
        raise unwritable(arguments.output, error) from None
    program = _program()
    say(
        "",
        f"Written: {written.certificate}, the certificates of sensitive shifting at 50 radii with their proofs,",
        f"{written.page}, a page about them to show to others, and {written.rows}, the rows. What to do next:",
        f"  open {written.page} in a browser",
        f"  {program} verify {written.certificate}",
        f"  {program} certify {written.rows} --label income --prediction predicted --group sex --rho 0.2",
    )
    return 0


def _program() -> str:
    """Return what to type: the name alone if the shell finds it, else the path that was typed now."""
    typed = sys.argv[0]
    elsewhere = Path(typed).name == "fairbound" and shutil.which("fairbound") is None
    return typed if elsewhere else "fairbound"
