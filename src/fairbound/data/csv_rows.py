"""From the columns of a CSV file to rows as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.data.cells import Categories, number_codes
from fairbound.data.columns import Columns
from fairbound.data.counted import Rows
from fairbound.data.csv_file import CsvFile, CsvTable, typed
from fairbound.data.frame_values import SUM_TOLERANCE, check_range
from fairbound.errors import InputError, given


def read_csv(file: CsvFile, columns: Columns) -> Rows:
    """Return the rows of a CSV file as numbers."""
    read = file.read(columns)
    table = _complete(read, columns, file.missing)
    compared = [columns.label, *([columns.prediction] if columns.prediction is not None else [])]
    names, all_labels = _named(table, compared, columns.all_labels)
    columns, groups = _groups(table, replace(columns, all_labels=all_labels))
    labels, numbers = columns.number_labels(names[0]), table.numbers
    for name in columns.numeric:
        check_range(columns, name, float(numbers[name].min()), float(numbers[name].max()))
    values = _losses(columns, numbers, labels) if columns.prediction is None else columns.align(labels, names[1])
    weight = None if columns.weight is None else numbers[columns.weight]
    strata = {name: _named(table, [name], None)[0][0] for name in columns.strata}
    return Rows(values, labels, groups, weight, read.rows - table.rows, strata)


def _complete(table: CsvTable, columns: Columns, missing: frozenset[str]) -> CsvTable:
    """Return the rows that have a value in every column; refuse if rows lack one and were not to be left out."""
    lacking = None
    for name in columns.names:
        gaps = _gaps(table, name, missing)
        if gaps is None or not gaps.any():
            continue
        if columns.missing == "refuse":
            message = (
                f"column {name!r} has no value in {int(gaps.sum()):,} of {table.rows:,} rows; give them a value, or "
                f"leave such rows out with {given('missing', 'drop')}"
            )
            raise InputError(message)
        lacking = gaps if lacking is None else lacking | gaps
    if lacking is None:
        return table
    if lacking.all():
        message = "no row has a value in every column that is used"
        raise InputError(message)
    texts, places = {}, {}
    for name, place in table.places.items():
        kept = place[~lacking]
        used = np.bincount(kept, minlength=len(table.texts[name])) > 0
        texts[name] = [text for text, some in zip(table.texts[name], used, strict=True) if some]
        places[name] = (np.cumsum(used) - 1)[kept]
    numbers = {name: values[~lacking] for name, values in table.numbers.items()}
    return CsvTable(int((~lacking).sum()), texts, places, numbers)


def _gaps(table: CsvTable, name: str, missing: frozenset[str]) -> Booleans | None:
    """Return where a column has no value; None if it has one everywhere, as its distinct texts say."""
    found = np.isnan(table.numbers[name]) if name in table.numbers else None
    if name in table.places:
        absent = np.array([text == "" or text in missing for text in table.texts[name]])
        if absent.any():
            found = absent[table.places[name]] if found is None else found | absent[table.places[name]]
    return found


def _groups(table: CsvTable, columns: Columns) -> tuple[Columns, Categories]:
    """Number the groups; what the user named has the type of the columns then."""
    known: list[list[Hashable]] | None = None
    if columns.all_groups is not None:
        parts = [group if isinstance(group, tuple) else (group,) for group in columns.all_groups]
        if all(len(part) == len(columns.groups) for part in parts):
            known = [list(names) for names in zip(*parts, strict=True)]
    found, typed_names = [], []
    for place, name in enumerate(columns.groups):
        (numbered,), names = _named(table, [name], None if known is None else known[place])
        found.append(numbered)
        typed_names.append(names or ())
    if known is not None:
        groups = typed_names[0] if len(typed_names) == 1 else tuple(zip(*typed_names, strict=True))
        columns = replace(columns, all_groups=groups)
    return columns, columns.number_groups(found)


def _named(
    table: CsvTable, columns: Sequence[str], known: Sequence[Hashable] | None
) -> tuple[list[Categories], tuple[Hashable, ...] | None]:
    """Number the names of columns that are compared with each other, in their order.

    They are compared with names that the user knows too: these get the same type if they are texts.
    """
    texts = [table.texts[name] for name in columns]
    told = [name for name in known or () if isinstance(name, str)]
    *names, all_names = typed(*texts, told)
    if known is not None and len(told) < len(known):
        all_names = list(known)
    found = [number_codes(values, table.places[name]) for name, values in zip(columns, names, strict=True)]
    return found, None if known is None else tuple(all_names)


def _losses(columns: Columns, numbers: dict[str, Floats], labels: Categories) -> Floats:
    """Return the loss of each row: computed from probabilities, or as it stands in the file."""
    if columns.row_losses is None:
        return numbers[str(columns.losses)]
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
    return columns.losses_of(named, labels)


def _known_labels(probability: dict[Hashable, str], labels: Sequence[Hashable]) -> dict[Hashable, str]:
    """Find the labels that are meant: a label may be given as the text in the file."""
    known = {str(label): label for label in labels}
    return {known.get(str(label), label): column for label, column in probability.items()}
