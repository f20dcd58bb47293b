"""Communities and Crime: is a community above the median of violent crimes? By the share of its Black residents."""

from __future__ import annotations

import numpy as np

from fairbound.datasets.columns import Columns, encode, shape, without_missing_columns
from fairbound.datasets.dataset import Dataset

NOT_PREDICTIVE = ("county", "community", "communityname", "fold")
"""Codes, names and folds, which the source itself marks so."""

MEDIAN_SHARE = 0.06
"""The median of ``racepctblack``, as the source scales it."""


def make(source: Columns, seed: int) -> Dataset:
    """Encode every attribute that is known of all communities; both cuts are medians over all of them.

    Race is a property of persons, not of communities: the groups are the communities with a larger and with a
    smaller share of Black residents. The source scales each column by itself, so shares of different races
    cannot be compared within a row.
    """
    columns = without_missing_columns({name: source[name] for name in source if name not in NOT_PREDICTIVE})
    crimes = columns.pop("ViolentCrimesPerPop").astype(np.float64)
    features, names, numeric = encode(columns, ["state"])
    larger = columns["racepctblack"].astype(np.float64) > MEDIAN_SHARE
    return Dataset(
        name="crime",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=(crimes > np.median(crimes)).astype(np.int64),
        label_name="violent crimes",
        label_names=("up to the median", "above the median"),
        sensitive=np.where(larger, "larger Black share", "smaller Black share"),
        sensitive_name="race",
        source_shape=shape(source),
        seed=seed,
    )
