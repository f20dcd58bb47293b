"""From the columns of a CSV file to rows as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.data.cells import Categories, at_least_two, intersect, number_names
from fairbound.data.columns import Columns
from fairbound.data.counted import Rows, check_finite
from fairbound.data.csv_file import CsvFile, CsvTable, typed
from fairbound.data.frame_values import SUM_TOLERANCE, check_range
from fairbound.data.predictions import aligned, by_label
from fairbound.errors import InputError, given


def read_csv(file: CsvFile, columns: Columns) -> Rows:
    """Return the rows of a CSV file as numbers."""
    table = file.read(columns)
    kept = _complete(table, columns, file.missing)
    compared = [columns.label, *([columns.prediction] if columns.prediction is not None else [])]
    names = _named(table, kept, compared)
    labels = names[0]
    at_least_two(f"column {columns.label!r}", "label", labels)
    groups = intersect([_named(table, kept, [name])[0] for name in columns.groups])
    at_least_two(f"column {' and '.join(map(repr, columns.groups))}", "group", groups)
    numbers = {name: values[kept] for name, values in table.numbers.items()}
    for name in columns.numeric:
        check_range(columns, name, float(numbers[name].min()), float(numbers[name].max()))
    values = (
        _losses(columns, numbers, labels)
        if columns.prediction is None
        else aligned(f"column {columns.label!r}", labels, f"column {columns.prediction!r}", names[1])
    )
    weight = None if columns.weight is None else numbers[columns.weight]
    return Rows(values, labels, groups, weight, table.rows - int(kept.sum()))


def _complete(table: CsvTable, columns: Columns, missing: frozenset[str]) -> Booleans:
    """Return which rows have a value in every column; refuse if rows lack one and were not to be left out."""
    kept = np.ones(table.rows, dtype=bool)
    for name in columns.names:
        gaps = np.zeros(table.rows, dtype=bool)
        if name in table.places:
            absent = np.array([text == "" or text in missing for text in table.texts[name]])
            gaps |= absent[table.places[name]]
        if name in table.numbers:
            gaps |= np.isnan(table.numbers[name])
        if gaps.any() and columns.missing == "refuse":
            message = (
                f"column {name!r} has no value in {int(gaps.sum()):,} of {table.rows:,} rows; give them a value, or "
                f"leave such rows out with {given('missing', 'drop')}"
            )
            raise InputError(message)
        kept &= ~gaps
    if not kept.any():
        message = "no row has a value in every column that is used"
        raise InputError(message)
    return kept


def _named(table: CsvTable, kept: Booleans, columns: Sequence[str]) -> list[Categories]:
    """Number the names of columns that are compared with each other, in their order."""
    places = [table.places[name][kept] for name in columns]
    used = [np.unique(place) for place in places]
    names = typed(*([table.texts[name][i] for i in some] for name, some in zip(columns, used, strict=True)))
    found = []
    for place, some, values in zip(places, used, names, strict=True):
        order = number_names(values)
        codes = np.zeros(int(some.max()) + 1, dtype=np.int64)
        codes[some] = order.codes
        found.append(Categories(order.names, codes[place]))
    return found


def _losses(columns: Columns, numbers: dict[str, Floats], labels: Categories) -> Floats:
    """Return the loss of each row: computed from probabilities, or as it stands in the file."""
    measure = columns.row_losses
    if measure is None:
        return numbers[str(columns.loss)]
    if not columns.by_place:
        columns = replace(columns, probability=_known_labels(columns.probability, labels.names))
    named = {label: numbers[column] for label, column in columns.named(labels.names).items()}
    if len(named) > 1:
        off = float(np.abs(sum(named.values()) - 1.0).max())
        if off > SUM_TOLERANCE:
            message = (
                f"the columns {list(columns.probability.values())!r} do not add up to 1 in every row (off by up to "
                f"{off:.3g}); pass the probabilities of all labels"
            )
            raise InputError(message)
    losses = measure(*by_label(named, labels))
    check_finite(losses, columns.loss_name)
    return losses


def _known_labels(probability: dict[Hashable, str], labels: Sequence[Hashable]) -> dict[Hashable, str]:
    """Find the labels that are meant: a label may be given as the text in the file."""
    known = {str(label): label for label in labels}
    return {known.get(str(label), label): column for label, column in probability.items()}
