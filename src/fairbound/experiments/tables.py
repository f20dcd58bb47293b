"""Experiment 5: the tables of Appendix E.8, a trained model against one with equal losses in all cells, on Adult."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.certify import certify_curve
from fairbound.data.population import Population
from fairbound.experiments.bench import Bench
from fairbound.experiments.grid import grid_certificate
from fairbound.experiments.section import Check, Listing, Section
from fairbound.experiments.store import Table

RADII = (0.1, 0.2, 0.3, 0.4, 0.5)

#: What the paper prints.
PAPER = {
    ("sensitive", "trained"): (0.182, 0.243, 0.297, 0.349, 0.397),
    ("sensitive", "equal"): (0.148, 0.148, 0.148, 0.148, 0.148),
    ("general", "trained"): (0.274, 0.414, 0.559, 0.701, 0.828),
    ("general", "equal"): (0.266, 0.407, 0.553, 0.695, 0.824),
}
PAPER_ERROR = 0.148
MODELS = {"trained": "trained model", "equal": "model with equal losses in all cells"}


def _compute(bench: Bench) -> dict[str, Table]:
    case = bench.case("adult")
    trained = case.population("zero_one")
    share, mean, variance = case.moments("zero_one")
    even = np.full_like(mean, trained.loss)
    radii = np.array(RADII)
    equal = Population.from_moments(trained.mass, even)
    columns: dict[str, Floats] = {"rho": radii}
    for name, population in (("trained", trained), ("equal", equal)):
        for shift in ("sensitive", "general"):
            columns[f"{shift}_{name}"] = certify_curve(population, radii, shift=shift).bound
            columns[f"{shift}_{name}_paper"] = np.array(PAPER[shift, name])
    columns["general_trained_grid"] = grid_certificate(share, mean, variance, radii)
    columns["general_equal_grid"] = grid_certificate(share, even, even * (1.0 - even), radii)
    return {"values": columns, "total": {"error": np.array([trained.loss])}}


def tables(bench: Bench) -> Section:
    """Run experiment 5."""
    title = "Trained model against a model with equal losses"
    if "adult" not in bench.settings.datasets:
        return Section(title, "Not run: it needs the dataset adult.")
    with bench.progress.task("tables of Appendix E.8"):
        found = bench.store.tables("tables-adult", bench.stamp, lambda: _compute(bench))
    values, error = found["values"], float(found["total"]["error"][0])
    listings, checks = [], []
    for shift in ("sensitive", "general"):
        rows = []
        for name, words in MODELS.items():
            rows.append((words, *(f"{v:.3f}" for v in values[f"{shift}_{name}"])))
            if shift == "general":
                rows.append(("... by Theorem 3, grid 0.005", *(f"{v:.3f}" for v in values[f"general_{name}_grid"])))
            rows.append(("... printed in the paper", *(f"{v:.3f}" for v in values[f"{shift}_{name}_paper"])))
            if shift == "general":
                below = values[f"general_{name}"] < values[f"general_{name}_paper"]
                detail = ", ".join(f"{v:.4f}" for v in values[f"general_{name}"])
                statement = f"Adult, {words}: below the paper's certificates at every rho (general shifting)"
                checks.append(Check(statement, bool(below.all()), detail))
            order = values[f"{shift}_equal"] <= values[f"{shift}_trained"]
        checks.append(
            Check(
                f"Adult: equal losses give the lower certificates ({shift} shifting)",
                bool(order.all()),
                f"by {float((values[f'{shift}_trained'] - values[f'{shift}_equal']).min()):.4f} or more",
            )
        )
        listings.append(Listing(f"{shift.capitalize()} shifting, error", ("rho", *map(str, RADII)), tuple(rows)))
    checks.append(
        Check(
            f"Adult: the model's test error is within 0.01 of the paper's {PAPER_ERROR}",
            abs(error - PAPER_ERROR) <= 0.01,
            f"{error:.4f}",
        )
    )
    text = (
        f"Adult, error. The trained model has the test error {error:.4f} (the paper's: {PAPER_ERROR}). The other one "
        "is hypothetical, as in the paper: its error in every cell is the trained model's overall error."
    )
    return Section(title, text, listings=tuple(listings), checks=tuple(checks))
