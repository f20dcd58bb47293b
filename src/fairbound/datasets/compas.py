"""Compas: is a defendant charged with a new crime within two years? By race."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats
from fairbound.datasets.columns import Columns, encode, read_csv, shape, take
from fairbound.datasets.dataset import Dataset

SOURCE_SHAPE = (7214, 53)

CATEGORICAL = ("sex", "race", "c_charge_degree", "v_score_text")
NUMERIC = ("age", "priors_count", "juv_fel_count")
FILTERS = ("days_b_screening_arrest", "is_recid", "score_text")

RACES = ("African-American", "Caucasian")
"""The two largest groups, which the experiments compare."""


def days_between(start: AnyArray, end: AnyArray) -> Floats:
    """Return the days between two columns of dates and times, NaN where one is missing."""

    def moment(text: str) -> float:
        return datetime.fromisoformat(f"{text}+00:00" if ":" in text else f"{text}T00:00+00:00").timestamp()

    pairs = zip(start.tolist(), end.tolist(), strict=True)
    seconds = [moment(last) - moment(first) if first and last else np.nan for first, last in pairs]
    return np.array(seconds) / 86_400


def distil(data: bytes) -> dict[str, AnyArray]:
    """Take from the source only what is used: no names, no dates of birth, no case numbers, no dates at all."""
    source = read_csv(data.decode("utf-8"))
    missing = source["days_b_screening_arrest"] == ""
    return {
        **{name: source[name].astype(np.float64) for name in NUMERIC},
        **{name: source[name] for name in CATEGORICAL},
        "days_in_jail": days_between(source["c_jail_in"], source["c_jail_out"]),
        "days_in_custody": days_between(source["in_custody"], source["out_custody"]),
        "days_b_screening_arrest": np.where(missing, "nan", source["days_b_screening_arrest"]).astype(np.float64),
        "is_recid": source["is_recid"].astype(np.float64),
        "score_text": source["score_text"],
        "two_year_recid": source["two_year_recid"].astype(np.float64),
    }


def make(table: Columns, seed: int) -> Dataset:
    """Leave out the rows that ProPublica's own analysis leaves out, and all races but the two largest groups."""
    keep = (
        (np.abs(table["days_b_screening_arrest"]) <= 30)  # else the charge may not be the one of the arrest
        & (table["is_recid"] != -1)  # no case was found
        & (table["c_charge_degree"] != "O")  # an ordinary traffic offence
        & (table["score_text"] != "N/A")
        & np.isin(table["race"], RACES)
    )
    rows = take(table, keep)
    label = rows["two_year_recid"].astype(np.int64)
    used = {name: values for name, values in rows.items() if name not in (*FILTERS, "two_year_recid")}
    features, names, numeric = encode(used, CATEGORICAL)
    return Dataset(
        name="compas",
        features=features,
        feature_names=names,
        numeric=numeric,
        label=label,
        label_name="two-year recidivism",
        label_names=("no", "yes"),
        sensitive=rows["race"],
        sensitive_name="race",
        source_shape=(shape(table)[0], SOURCE_SHAPE[1]),
        seed=seed,
    )
