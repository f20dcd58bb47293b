"""The figures of a dataset, as its page in the documentation quotes them."""

from __future__ import annotations

import textwrap
from collections import Counter

import numpy as np

from fairbound.datasets.dataset import PARTS, Dataset


def figures(dataset: Dataset) -> str:
    """Return counts, base rates and columns of a dataset as Markdown."""
    rows, columns = dataset.source_shape
    parts = dataset.split()
    sizes = ", ".join(f"{len(parts.rows(part)):,} {part}" for part in PARTS)
    negative, positive = dataset.label_names
    summary = (
        f"The source has {rows:,} rows and {columns} columns; {dataset.rows:,} rows are used, with "
        f"{len(dataset.feature_names)} features. Split with seed {dataset.seed}: {sizes}."
    )
    lines = [
        *textwrap.wrap(summary, 118),
        "",
        f"| {dataset.sensitive_name} | rows | share | {negative} | {positive} | base rate of {positive} |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for group in (*dataset.groups, None):
        mine = np.full(dataset.rows, True) if group is None else dataset.sensitive == group
        count, ones = int(mine.sum()), int(dataset.label[mine].sum())
        lines.append(
            f"| {group or 'all'} | {count:,} | {count / dataset.rows:.4f} | {count - ones:,} | {ones:,} "
            f"| {ones / count:.4f} |"
        )
    return "\n".join([*lines, "", *attributes(dataset)])


def attributes(dataset: Dataset) -> list[str]:
    """Return what the features are made from: numbers, and categories with how many there are of each."""
    named = list(zip(dataset.feature_names, dataset.numeric.tolist(), strict=True))
    numbers = [name for name, numeric in named if numeric]
    others = Counter(name.partition("=")[0] for name, numeric in named if not numeric)
    words = [name if count == 1 else f"{name} ({count})" for name, count in others.items()]
    return [
        *textwrap.wrap(f"* Numbers ({len(numbers)}): {', '.join(numbers)}.", 118, subsequent_indent="  "),
        *textwrap.wrap(
            f"* Categories, one-hot ({sum(others.values())}): {', '.join(words)}.", 118, subsequent_indent="  "
        ),
    ]
