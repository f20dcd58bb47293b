"""Probabilities of rows by models that have not seen them, several times if folds are drawn several times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats


def out_of_fold(estimator: Any, X: Any, y: Any, cv: Any, params: Mapping[str, Any] | None = None) -> tuple[Floats, int]:
    """Return the probabilities of all rows, shape (R n, C), once for each of R divisions into folds, and R.

    A splitter that repeats, such as ``RepeatedStratifiedKFold``, makes several divisions. Decisions that are chosen on
    all of them at once hang less on the chance of one: of few rows that is most of the noise.
    """
    from sklearn.base import clone, is_classifier  # noqa: PLC0415 (only where a model is improved)
    from sklearn.model_selection import check_cv, cross_val_predict  # noqa: PLC0415 (likewise)

    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
    found, first, tested = [], 0, 0
    for last, (_, test) in enumerate(folds, 1):
        tested += len(test)
        if tested >= len(y) or last == len(folds):  # what is no division scikit-learn refuses in its own words
            division = folds[first:last]
            found.append(
                cross_val_predict(clone(estimator), X, y, cv=division, method="predict_proba", params=params or None)
            )
            first, tested = last, 0
    return np.concatenate(found), len(found)
