"""Tables as named columns: from CSV text, and into features."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Booleans, Floats

Columns = Mapping[str, AnyArray]
"""The columns of a table under their names, in order; all as long as each other."""

MISSING = "?"
"""How the sources write that a value is missing."""


def read_csv(text: str) -> dict[str, AnyArray]:
    """Return the columns of a CSV file with a header, as strings.

    Raises
    ------
    ValueError
        If there is no header, or if a row is longer or shorter than it.
    """
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if any(len(row) != len(header) for row in rows):
        message = f"not every row has the {len(header)} columns of the header"
        raise ValueError(message)
    names = [name if name not in header[:place] else f"{name}.{place}" for place, name in enumerate(header)]
    return {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def shape(columns: Columns) -> tuple[int, int]:
    """Return how many rows and columns a table has."""
    return len(next(iter(columns.values()))), len(columns)


def take(columns: Columns, keep: Booleans) -> dict[str, AnyArray]:
    """Return some of the rows."""
    return {name: values[keep] for name, values in columns.items()}


def without_missing_rows(columns: Columns) -> dict[str, AnyArray]:
    """Leave out the rows in which any value is missing."""
    return take(columns, np.all([values != MISSING for values in columns.values()], axis=0))


def without_missing_columns(columns: Columns) -> dict[str, AnyArray]:
    """Leave out the columns in which any value is missing."""
    return {name: values for name, values in columns.items() if not (values == MISSING).any()}


def encode(columns: Columns, categorical: Iterable[str]) -> tuple[Floats, tuple[str, ...], Booleans]:
    """Return numbers as they are and categories one-hot, in the order of the columns.

    A category gets its column if it occurs anywhere in the table, in whatever row; only its presence is used.

    Returns
    -------
    tuple
        The features, their names, and which of them are numeric.
    """
    names, parts, numeric = [], [], []
    chosen = set(categorical)
    for name, values in columns.items():
        if name in chosen:
            for category in np.unique(values).tolist():
                names.append(f"{name}={category}")
                parts.append(values == category)
                numeric.append(False)
        else:
            names.append(name)
            parts.append(values)
            numeric.append(True)
    features = np.empty((shape(columns)[0], len(names)))
    for place, part in enumerate(parts):
        features[:, place] = part
    return features, tuple(names), np.array(numeric)
