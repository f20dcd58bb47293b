"""Law school: does a student pass the bar exam at the first attempt? By race."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import AnyArray
from fairbound.datasets.columns import Columns, encode, read_csv, shape
from fairbound.datasets.dataset import Dataset

NUMERIC = ("LSAT", "UGPA", "ZFYA")
SOURCE_SHAPE = (21_791, 15)

SEXES = {"1": "Female", "2": "Male"}


def distil(data: bytes) -> dict[str, AnyArray]:
    """Take what is used, from the table of the study or from its one-hot form, whose rows are in another order.

    The rows come out sorted, so that both give the same table.
    """
    source = read_csv(data.decode("utf-8"))
    if "first_pf" in source:
        race, sex, passed = source["race"], source["sex"], source["first_pf"].astype(np.float64)
    else:
        race, sex, passed = one_hot(source, "Race_"), one_hot(source, "Sex_"), source["PF_1"].astype(np.float64)
    table: dict[str, AnyArray] = {name: source[name].astype(np.float64) for name in NUMERIC}
    table |= {"race": race, "sex": np.array([SEXES[code] for code in sex.tolist()]), "passed": passed}
    order = np.lexsort(list(table.values())[::-1])
    return {name: values[order] for name, values in table.items()}


def one_hot(source: Columns, prefix: str) -> AnyArray:
    """Return the categories that one-hot columns with a common prefix tell of."""
    names = [name for name in source if name.startswith(prefix)]
    marks = np.stack([source[name] == "1" for name in names])
    if not (marks.sum(axis=0) == 1).all():
        message = f"the columns {prefix}* are not one-hot"
        raise ValueError(message)
    return np.array([name.removeprefix(prefix) for name in names])[marks.argmax(axis=0)]


def make(table: Columns, seed: int) -> Dataset:
    """Encode grades, race and sex; the groups are the students recorded as White and all others."""
    used = {name: values for name, values in table.items() if name != "passed"}
    features, names, numeric = encode(used, ["race", "sex"])
    return Dataset(
        name="law",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=table["passed"].astype(np.int64),
        label_name="bar exam",
        label_names=("not passed", "passed"),
        sensitive=np.where(table["race"] == "White", "White", "Non-White"),
        sensitive_name="race",
        source_shape=(shape(table)[0], SOURCE_SHAPE[1]),
        seed=seed,
    )
