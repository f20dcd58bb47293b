"""The data of the demonstration: what a plain model says about held-out rows of Adult."""

from __future__ import annotations

import csv
import gzip
from importlib.resources import files

from fairbound.data.population import Population


def demo_rows() -> bytes:
    """Return the held-out predictions of a logistic regression on Adult, as CSV."""
    return gzip.decompress(files("fairbound.datasets").joinpath("demonstration/adult_predictions.csv.gz").read_bytes())


def demo_columns() -> dict[str, list[str]]:
    """Return the same column by column."""
    rows = list(csv.DictReader(demo_rows().decode("utf-8").splitlines()))
    return {key: [row[key] for row in rows] for key in rows[0]}


def demo_population(columns: dict[str, list[str]]) -> Population:
    """Return what is known of the demonstration model's errors."""
    return Population.from_predictions(
        columns["income"], columns["predicted"], sensitive_features=columns["sex"], loss="zero_one"
    )
