"""The options by which the command line knows the library's arguments."""

from __future__ import annotations

#: Where a file is read: arguments of ``Population.from_frame``, and of the CSV file itself.
COLUMNS = {
    "ceiling": "--ceiling",
    "clip": "--clip",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "group": "--group",
    "groups": "--known-group",
    "label": "--label",
    "labels": "--known-label",
    "loss": "--loss",
    "losses": "--losses",
    "missing": "--missing",
    "prediction": "--prediction",
    "probability": "--probability",
    "sample_weight": "--weight",
    "strata": "--strata",
    "weight": "--weight",
}

#: Where they become a population.
ROWS = COLUMNS | {"cuts": "--cuts", "unknown_predictions": "--unknown-predictions"}

#: Where rows are counted to be added up elsewhere: arguments of ``Tally.count``.
COUNTED = COLUMNS | {"min_count": "--min-count", "name": "--name"}

#: Where a question is asked: arguments of ``certify`` and its like. What is wrong may be how the rows were read.
QUESTION = ROWS | {
    "base_rate_tolerance": "--base-rate-tolerance",
    "budget": "--budget",
    "confidence": "--confidence",
    "divergence": "--divergence",
    "empty_cells": "--empty-cells",
    "fair=False": "--no-base-rate-constraint",
    "group": "--metric-group",
    "group_limits": "--group-limit",
    "group_skew": "--group-skew",
    "label_limits": "--label-limit",
    "label_skew": "--label-skew",
    "metric": "--metric",
    "min_group_mass": "--min-group-mass",
    "min_label_mass": "--min-label-mass",
    "pos_label": "--pos-label",
    "region": "--region",
    "rho": "--rho",
    "shift": "--shift",
    "support": "--support",
    "tol": "--tol",
}

#: Where the largest radius is asked for: arguments of ``largest_certified_rho``.
RADIUS = QUESTION | {"threshold": "--threshold"}
