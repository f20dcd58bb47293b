"""Reading predictions: labels to compare, or probabilities for the losses that take them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from fairbound.arrays import Floats, Integers
from fairbound.cells import Categories, column, encode, numbers, same_length
from fairbound.errors import InputError, listed


def differs(y_pred: Any, labels: Categories) -> Floats:
    """Return 1 where the predicted label is not the true one."""
    predicted = column("y_pred", y_pred)
    if predicted.ndim != 1:
        message = f"y_pred must hold one predicted label per row for zero_one, but its shape is {predicted.shape}"
        raise InputError(message)
    same_length(y_true=len(labels.codes), y_pred=len(predicted))
    return mistakes("y_true", labels, "y_pred", encode("y_pred", y_pred))


def mistakes(true_name: str, labels: Categories, name: str, predicted: Categories) -> Floats:
    """Return 1 where the predicted label is not the true one, both already numbered."""
    known = {label: code for code, label in enumerate(labels.names)}
    cure = "turn probabilities into labels first, or choose a loss that takes them"
    if not any(value in known for value in predicted.names):
        message = (
            f"{name} has none of the labels of {true_name} ({listed(sorted(map(repr, known)))}); the "
            f"zero_one loss takes predicted labels: {cure}"
        )
        raise InputError(message)
    strangers = [v for v in predicted.names if v not in known and isinstance(v, float) and v != round(v)]
    if strangers and all(isinstance(label, int | float) for label in known):
        message = (
            f"{name} holds {strangers[0]!r}, which looks like a probability; the zero_one loss takes predicted "
            f"labels: {cure}"
        )
        raise InputError(message)
    codes = np.array([known.get(value, -1) for value in predicted.names], dtype=np.int64)
    return (codes[predicted.codes] != labels.codes).astype(np.float64)


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
            message = f"y_pred needs shape (n, {len(labels)}): a column for each of the labels {list(labels)}"
            raise InputError(message)
        array = np.stack([1.0 - array, array], axis=1)
    if array.ndim != 2 or array.shape[1] != len(labels):
        message = f"y_pred has shape {array.shape}; it needs a column for each of the labels {list(labels)}"
        raise InputError(message)
    same_length(y_true=rows, y_pred=len(array))
    if (array < 0).any() or (array > 1).any() or (np.abs(array.sum(axis=1) - 1.0) > 1e-4).any():
        off = (array < 0).any(axis=1) | (array > 1).any(axis=1) | (np.abs(array.sum(axis=1) - 1.0) > 1e-4)
        row = int(np.argmax(off))
        message = f"y_pred[{row}]={array[row].tolist()} is not a distribution over the labels; pass probabilities"
        raise InputError(message)
    return array
