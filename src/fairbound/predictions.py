"""Reading predictions: labels to compare, or probabilities for the losses that take them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from fairbound.arrays import Floats
from fairbound.cells import column, numbers, same_length
from fairbound.errors import InputError


def differs(y_true: Any, y_pred: Any, rows: int) -> Floats:
    """Return 1 where the predicted label is not the true one."""
    true, predicted = column("y_true", y_true), column("y_pred", y_pred)
    if predicted.ndim != 1:
        message = f"y_pred must hold one predicted label per row for zero_one, but its shape is {predicted.shape}"
        raise InputError(message)
    same_length(y_true=rows, y_pred=len(predicted))
    known = set(true.tolist())
    if not known & set(predicted.tolist()):
        message = (
            f"y_pred has none of the labels of y_true ({sorted(map(repr, known))}); the zero_one loss takes predicted "
            "labels: turn probabilities into labels first, or choose a loss that takes them"
        )
        raise InputError(message)
    if predicted.dtype.kind == "f" and true.dtype.kind in "biuf" and (predicted != np.round(predicted)).any():
        strangers = set(predicted.tolist()) - known
        if strangers:
            message = (
                f"y_pred holds {sorted(strangers)[0]!r}, which looks like a probability; the zero_one loss takes "
                "predicted labels: turn probabilities into labels first, or choose a loss that takes them"
            )
            raise InputError(message)
    return np.array(true != predicted, dtype=np.float64)


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
