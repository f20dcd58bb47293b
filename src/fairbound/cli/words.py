"""Messages of the library in the words of the command line: an argument of Python is an option here."""

from __future__ import annotations

import re

#: Arguments of the library, and the options that set them.
OPTIONS = {
    "base_rate_tolerance": "--base-rate-tolerance",
    "budget": "--budget",
    "ceiling": "--ceiling",
    "clip": "--clip",
    "confidence": "--confidence",
    "delimiter": "--delimiter",
    "divergence": "--divergence",
    "empty_cells": "--empty-cells",
    "encoding": "--encoding",
    "group": "--group",
    "group_skew": "--group-skew",
    "label": "--label",
    "label_skew": "--label-skew",
    "min_group_mass": "--min-group-mass",
    "min_label_mass": "--min-label-mass",
    "loss": "--loss",
    "loss_name": "--loss",
    "metric": "--metric",
    "missing": "--missing",
    "prediction": "--prediction",
    "probability": "--probability",
    "pos_label": "--positive",
    "region": "--region",
    "rho": "--rho",
    "shift": "--shift",
    "support": "--support",
    "threshold": "--max-loss",
    "tol": "--tol",
}

_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(\[[^\]]*\]|'[^']*'|[^\s,;:()]+)")

#: The group that a metric is about, as opposed to the columns of groups.
_METRIC_GROUP = re.compile(r"\bgroup=(?=\S+(: \w+ compares all groups| belongs to a metric))")

#: Words about Python, and what to say instead.
PHRASES = (
    ("pass clip to from_predictions (or ceiling to from_losses)", "pass --clip (or --ceiling with --loss-column)"),
    ("pass clip to from_predictions, or ceiling to from_losses", "pass --clip, or --ceiling with --loss-column"),
    ("set ceiling to the", "set --ceiling to the"),
    ("ceiling is for a column of losses; with ", "--ceiling is for a column of losses; with --"),
    ("and clip lowers it", "and --clip lowers it"),
    ("clip is for losses of probabilities; with ", "--clip is for losses of probabilities; with --"),
    ("does not go with prediction; pass probability", "does not go with --prediction; pass --probability"),
    ("does not go with probability; pass prediction", "does not go with --probability; pass --prediction"),
    ("compares all groups; leave group out", "compares all groups; leave --metric-group out"),
    ("belongs to a metric; choose one with metric=, or leave group out", "needs a --metric; name one, or leave it out"),
    (
        "belongs to a metric; choose one with metric=, or leave pos_label out",
        "needs a --metric; name one, or leave it out",
    ),
    (
        "build it with from_predictions and predicted labels (loss='zero_one'), from_frame(prediction=...) or "
        "from_moments(selection_rate=...)",
        "name the column of predicted labels with --prediction",
    ),
    ("is predicted; leave pos_label out", "is predicted; leave --positive out"),
    ("leave sample_weight out", "leave --weight out"),
    ("or leave confidence out", "or leave --confidence out"),
    ("confidence needs ", "--confidence needs "),
    ("probability names the label", "--probability names the label"),
    ("probability has no column for", "--probability has no column for"),
    (", or a region such as Sphere(intervals=4)", ""),
    (", or a Loss of your own", ""),
    ("; pass clip", "; pass --clip"),
    ("frame: its engine, ", "the engine, "),
    ("frame is empty: there", "there"),
    ("frame is a polars.lazyframe.frame.LazyFrame that cannot be read: ", "the file is damaged: "),
    ("; None takes the rows for the whole population", "; without it the rows are the whole population"),
    (", and None means no limit", ""),
    (
        "min_group_mass, group_limits, group_rows and group_skew",
        "--min-group-mass, --group-limit and --group-skew",
    ),
    (
        "min_label_mass, label_limits, label_rows and label_skew",
        "--min-label-mass, --label-limit and --label-skew",
    ),
    (" (group_skew)", " (--group-skew)"),
    (" (label_skew)", " (--label-skew)"),
    ("group_limits[", "--group-limit ["),
    ("label_limits[", "--label-limit ["),
    (", and None means equal ones", ""),
    ("fair=False", "--no-base-rate-constraint"),
    ("group_skew goes with both", "--group-skew goes with both"),
    (", and None chooses by size", ""),
    ("use a larger threshold", "use a larger one"),
    ("use a smaller threshold", "use a smaller one"),
    ("divergence: distances other than", "--divergence: distances other than"),
    ("leave confidence out, or use", "leave --confidence out, or use"),
    (" (hellinger_radius turns a total variation distance into a radius of it)", ""),
    ("group_skew and label_skew limit", "--group-skew and --label-skew limit"),
)


def for_command(message: str) -> str:
    """Say a message of the library as the command line would."""
    message = _METRIC_GROUP.sub("--metric-group ", message)
    for python, here in PHRASES:
        message = message.replace(python, here)
    message = _ARGUMENT.sub(lambda found: f"{OPTIONS[found[1]]} {_bare(found[2])}", message)
    if "must name a column for each of the labels" in message:
        message += "; name them as --probability LABEL=COLUMN, once for each"
    return message


def _bare(value: str) -> str:
    """Write a value without quotes where a shell needs none."""
    return value[1:-1] if re.fullmatch(r"'[\w.,-]+'", value) else value
