"""Asking a model for predicted labels, or for the losses of its probabilities, as the loss needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, read_array
from fairbound.data.counted import check_finite
from fairbound.data.losses import Loss
from fairbound.data.predictions import by_label, predicted_labels, probabilities
from fairbound.errors import InputError, argument


def model_values(estimator: Any, X: Any, labels: Categories, loss: Loss) -> Floats | Categories:
    """Return the loss of each row of X, or its predicted label if the loss takes these."""
    if loss.rows is None:
        return predicted_labels(_method(estimator, "predict", loss)(X), labels)
    output = _method(estimator, "predict_proba", loss)(X)
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        losses = loss.rows(probabilities(output, labels.names, len(labels.codes)), labels.codes)
    else:
        names = tuple(read_array("classes_", classes).tolist())
        unknown = [name for name in labels.names if name not in names]
        if unknown:
            message = (
                f"{argument('y')} has the label {unknown[0]!r}, which the {argument('estimator')} does not know; its "
                f"classes are {[*names]}"
            )
            raise InputError(message)
        columns = probabilities(output, names, len(labels.codes))
        losses = loss.rows(*by_label(dict(zip(names, np.moveaxis(columns, 1, 0), strict=True)), labels))
    check_finite(losses, loss.name)
    return losses


def _method(estimator: Any, name: str, loss: Loss) -> Callable[[Any], Any]:
    """Return the method, or the estimator itself if it is a function."""
    method = getattr(estimator, name, None) or (estimator if callable(estimator) else None)
    if method is None or isinstance(estimator, type):
        message = (
            f"{argument('estimator')}, a {type(estimator).__name__}, has no {name}, which the loss {loss.name!r} "
            "needs; pass a fitted model or a function of X"
        )
        raise InputError(message)
    return method
