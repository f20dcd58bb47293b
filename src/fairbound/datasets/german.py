"""German credit: is a person a good credit risk? By sex."""

from __future__ import annotations

import numpy as np

from fairbound.datasets.columns import Columns, encode, shape
from fairbound.datasets.dataset import Dataset

NUMERIC = ("months", "amount", "installment-rate", "residence-since", "age", "existing-credits", "dependents")

WOMEN = ("A92", "A95")
"""The codes of personal status and sex that tell of a woman."""


def make(source: Columns, seed: int) -> Dataset:
    """Encode all attributes, with the sex alone in place of personal status and sex, which the source joins."""
    columns = dict(source)
    risk, status = columns.pop("risk"), columns.pop("personal-status")
    columns["sex"] = np.where(np.isin(status, WOMEN), "Female", "Male")
    features, names, numeric = encode(columns, set(columns) - set(NUMERIC))
    return Dataset(
        name="german",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=(risk == "1").astype(np.int64),
        label_name="credit risk",
        label_names=("bad", "good"),
        sensitive=columns["sex"],
        sensitive_name="sex",
        source_shape=shape(source),
        seed=seed,
    )
