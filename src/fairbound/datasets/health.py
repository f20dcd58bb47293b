"""Heritage Health: is a patient's Charlson index of illnesses above its median? By age."""

from __future__ import annotations

import io

import numpy as np

from fairbound.arithmetic.arrays import AnyArray
from fairbound.datasets.columns import Columns, encode, shape
from fairbound.datasets.dataset import Dataset

SOURCE_SHAPE = (171_067, 143)

NOT_USED = ("MemberID_t", "YEAR_t", "trainset", "Charlson>0")
"""Who and when it was, whether the competition used the row for training, and the label once more."""

CHARLSON = "CharlsonIndexI_"
INDEX = "CharlsonIndexI_max"
"""The largest index among a patient's claims of a year."""

OLDER = ("age_65", "age_75", "age_85")
"""The age bands from 60 years on; each is named by its middle."""


def distil(data: bytes) -> dict[str, AnyArray]:
    """Take what is used: no member's number, and of the Charlson index only what the label is made from."""
    head, _, body = data.partition(b"\n")
    names = head.decode("ascii").strip().split(",")
    used = [
        place
        for place, name in enumerate(names)
        if name not in NOT_USED and (name == INDEX or not name.startswith(CHARLSON))
    ]
    values = np.loadtxt(io.StringIO(body.decode("ascii")), delimiter=",", usecols=used)
    whole = (values == np.round(values)).all(axis=0)
    columns = zip(used, values.T, whole, strict=True)
    return {names[place]: column.astype(np.int32 if exact else np.float64) for place, column, exact in columns}


def make(table: Columns, seed: int) -> Dataset:
    """Use every column but those of the Charlson index, and but those that are the same for all patients."""
    index = table[INDEX]
    used = {name: values for name, values in table.items() if name != INDEX and np.ptp(values) > 0}
    features, names, _ = encode(used, [])
    numeric = np.array([not np.isin(values, (0, 1)).all() for values in used.values()])
    older = np.any([table[name] == 1 for name in OLDER], axis=0)
    return Dataset(
        name="health",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=(index > np.median(index)).astype(np.int64),
        label_name="Charlson index",
        label_names=("up to the median", "above the median"),
        sensitive=np.where(older, "60 or older", "younger than 60"),
        sensitive_name="age",
        source_shape=(shape(table)[0], SOURCE_SHAPE[1]),
        seed=seed,
    )
