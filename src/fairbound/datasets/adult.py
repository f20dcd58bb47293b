"""Adult: does a person earn more than 50,000 dollars a year? By sex."""

from __future__ import annotations

import numpy as np

from fairbound.datasets.columns import Columns, encode, shape, without_missing_rows
from fairbound.datasets.dataset import Dataset

CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)


def make(source: Columns, seed: int) -> Dataset:
    """Encode all 14 attributes of the rows without a missing value; the source's test file stays the test set."""
    rows, columns = shape(source)
    complete = without_missing_rows(source)
    part, income = complete.pop("part"), complete.pop("income")
    features, names, numeric = encode(complete, CATEGORICAL)
    return Dataset(
        name="adult",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=(income == ">50K").astype(np.int64),
        label_name="income",
        label_names=("<=50K", ">50K"),
        sensitive=complete["sex"],
        sensitive_name="sex",
        source_shape=(rows, columns - 1),  # the column that tells the two files apart is ours
        official_test=part == "test",
        seed=seed,
    )
