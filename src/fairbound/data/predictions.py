"""Reading predictions: labels to compare, or probabilities for the losses that take them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.cells import Categories, encode, numbers, read_array, same_length
from fairbound.data.losses import across
from fairbound.errors import InputError, argument, either, given, listed


def predicted_labels(y_pred: Any, labels: Categories) -> Categories:
    """Number the predicted labels, the true ones first."""
    shape = getattr(y_pred, "shape", None) or read_array("y_pred", y_pred).shape
    if len(shape) > 1:
        message = f"{argument('y_pred')} must hold one predicted label per row for zero_one, but its shape is {shape}"
        raise InputError(message)
    predicted = encode("y_pred", y_pred)
    same_length(y_true=len(labels.codes), y_pred=len(predicted.codes))
    return aligned(argument("y_true"), labels, argument("y_pred"), predicted)


def aligned(true_name: str, labels: Categories, name: str, predicted: Categories, *, some: bool = False) -> Categories:
    """Number predicted labels as the true ones are, and after them those that are only predicted.

    The names of both columns are as messages are to have them. ``some`` says that these are not all rows: none of the
    predicted labels need occur among the true ones.
    """
    known = {label: code for code, label in enumerate(labels.names)}
    cure = either(
        "turn probabilities into labels first, or choose a loss that takes them, such as loss='brier'",
        f"turn probabilities into labels first, or name the column with {argument('probability')}",
    )
    if not some and not any(value in known for value in predicted.names):
        alike = {_plain(label) for label in known} & {_plain(value) for value in predicted.names}
        number = any(isinstance(value, float) and not value.is_integer() for value in predicted.names)
        wanted = f"the zero_one loss takes predicted labels: {cure}" if number else "write both in the same way"
        if alike:
            wanted = "they differ only in type or in spelling: write both in the same way"
        message = (
            f"{name} has none of the labels of {true_name} ({listed(sorted(map(repr, known)))}); it holds "
            f"{listed([repr(value) for value in predicted.names], 5)}: {wanted}"
        )
        raise InputError(message)
    further = [value for value in predicted.names if value not in known]
    strangers = [value for value in further if isinstance(value, float) and not value.is_integer()]
    if strangers and all(isinstance(label, int | float) for label in known):
        message = (
            f"{name} holds {strangers[0]!r}, which looks like a probability; the zero_one loss takes predicted "
            f"labels: {cure}"
        )
        raise InputError(message)
    known |= {value: len(known) + place for place, value in enumerate(further)}
    codes = np.array([known[value] for value in predicted.names], dtype=np.int64)
    return Categories((*labels.names, *further), codes[predicted.codes])


def _plain(name: Hashable) -> str:
    """Return what remains of a name if its type, spaces and capitals are forgotten."""
    if isinstance(name, bool) or (isinstance(name, float) and name.is_integer()):
        name = int(name)
    text = "".join(str(name).split()).casefold()
    return {"true": "1", "false": "0"}.get(text, text)


def by_label(columns: Mapping[Hashable, Floats], labels: Categories) -> tuple[Floats, Integers]:
    """Return probabilities of shape (n, C) and each row's true column; of two labels one may be the complement.

    Columns of labels that do not occur come last: a model may know more of them than the data.
    """
    absent = [name for name in labels.names if name not in columns]
    if absent:
        ((_, given),) = columns.items()
        parts = [1.0 - given if name in absent else given for name in labels.names]
    else:
        parts = [columns[name] for name in labels.names]
        parts += [column for name, column in columns.items() if name not in labels.names]
    return np.stack(parts, axis=1), labels.codes


def probabilities(y_pred: Any, labels: tuple[Hashable, ...], rows: int) -> Floats:
    """Return probabilities of shape (n, C)."""
    array = numbers("y_pred", y_pred)
    if array.ndim == 1:
        if len(labels) != 2:
            message = (
                f"{argument('y_pred')} needs shape (n, {len(labels)}): a column for each of the labels {list(labels)}"
            )
            raise InputError(message)
        array = np.stack([1.0 - array, array], axis=1)
    if array.ndim != 2 or array.shape[1] != len(labels):
        message = (
            f"{argument('y_pred')} has shape {array.shape}; it needs a column for each of the labels {list(labels)}"
        )
        raise InputError(message)
    same_length(y_true=rows, y_pred=len(array))
    away = np.abs(across(array) - 1.0) > 1e-4
    if array.min() < 0 or array.max() > 1 or away.any():
        row = int(np.argmax((array < 0).any(axis=1) | (array > 1).any(axis=1) | away))
        message = (
            f"{given(f'y_pred[{row}]', array[row].tolist())} is not a distribution over the labels; pass probabilities"
        )
        raise InputError(message)
    return array
