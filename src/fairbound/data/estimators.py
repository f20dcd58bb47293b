"""Asking a model for predicted labels, or for the losses of its probabilities, as the loss needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, read_array
from fairbound.data.counted import check_finite
from fairbound.data.losses import Loss
from fairbound.data.predictions import by_label, predicted_labels, probabilities
from fairbound.errors import InputError, argument


def model_values(estimator: Any, X: Any, labels: Categories, groups: Any, loss: Loss) -> Floats | Categories:
    """Return the loss of each row of X, or its predicted label if the loss takes these."""
    if loss.rows is None:
        return predicted_labels(_method(estimator, "predict", groups, loss)(X), labels)
    output = _method(estimator, "predict_proba", groups, loss)(X)
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


def _method(estimator: Any, name: str, groups: Any, loss: Loss) -> Callable[[Any], Any]:
    """Return the method, or the estimator itself if it is a function; it is given the groups if it asks for them."""
    method = getattr(estimator, name, None) or (estimator if callable(estimator) else None)
    if method is None or isinstance(estimator, type):
        message = (
            f"{argument('estimator')}, a {type(estimator).__name__}, has no {name}, which the loss {loss.name!r} "
            "needs; pass a fitted model or a function of X"
        )
        raise InputError(message)
    found: Callable[..., Any] = method
    return partial(found, sensitive_features=groups) if _asks_for_groups(estimator, name) else found


def _asks_for_groups(estimator: Any, name: str) -> bool:
    """Whether the groups are an argument of a model's method, and the model neither does without nor finds them in X.

    A pipeline hands what it is given to its last step.
    """
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else estimator
    if getattr(last, "group_blind", False) is True or getattr(last, "sensitive", None) is not None:
        return False
    try:
        return "sensitive_features" in inspect.signature(getattr(last, name, last)).parameters
    except (TypeError, ValueError):  # nobody can read the signatures of some compiled functions
        return False
