"""Columns are numbered as their values say, however they come in; the fast ways agree with the plain one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairbound import InputError
from fairbound.data.cells import BLOCK, encode, encode_groups

NAMES: dict[str, list[Any]] = {
    "two of one width": ["ab", "ba"],
    "of several widths": ["", "a", "white space ", "ß", "日本", "a\0b"],
    "many": [f"name {i}" for i in range(300)],
    "more than a hash tells apart": [f"{i}" for i in range(3000)],
    "numbers": [3, -1, 10**12],
    "truths": [True, False],
    "of several types": ["a", 1, 2.5, ("x", 1)],
    "decimals": [Decimal("2.50"), Decimal("1.25")],
}


def drawn(names: list[Any], size: int = BLOCK + 77) -> list[Any]:
    return [names[i] for i in np.random.default_rng(0).integers(len(names), size=size)]


def as_objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


WAYS = ["list", "objects", "text", "bytes", "pandas objects", "pandas", "categories", "codes"]
PAIRS = [
    (kind, way)
    for kind, names in NAMES.items()
    for way in WAYS
    if way not in {"text", "bytes"} or all(isinstance(name, str) for name in names)
    if (kind, way) != ("of several types", "list")  # with tuples among others it is no column of NumPy
]


@pytest.mark.parametrize(("kind", "way"), PAIRS)
def test_every_entry_has_the_number_of_its_name(kind: str, way: str) -> None:
    values, plain = drawn(NAMES[kind]), kind not in {"of several types", "decimals"}
    ways: dict[str, Any] = {
        "list": lambda: values,
        "objects": lambda: as_objects(values),
        "text": lambda: np.array([value.rstrip("\0") for value in values]),
        "bytes": lambda: np.array([value.encode() for value in values]),
        "pandas objects": lambda: pd.Series(as_objects(values)),
        "pandas": lambda: pd.Series(values),
        "categories": lambda: pd.Series(as_objects(values)).astype("category"),
        "codes": lambda: pd.Categorical(as_objects(values)),
    }
    found = encode("column", ways[way]())
    given = [value.encode() for value in values] if way == "bytes" else values
    assert [found.names[code] for code in found.codes] == given
    assert {type(name) for name in found.names} == {type(value) for value in given}
    if plain:
        assert list(found.names) == sorted(set(given))


@pytest.mark.parametrize("collection", [as_objects, pd.Series, list])
def test_equal_values_of_several_types_are_one(collection: Any) -> None:
    found = encode("column", collection([1, True, 0, 1, False, 0]))
    assert len(found.names) == 2
    assert found.codes.tolist() == [1, 1, 0, 1, 0, 0]


def test_the_order_of_categories_is_kept_and_what_does_not_occur_left_out() -> None:
    values = pd.Series(pd.Categorical(["b", "a", "b"], categories=["c", "b", "x", "a"]))
    for given in (values, values.array, pd.CategoricalIndex(values)):
        found = encode("column", given)
        assert (found.names, found.codes.tolist()) == (("b", "a"), [0, 1, 0])
    numbers = pd.Series(pd.Categorical([9, 10, 9], categories=[10, 9]))
    assert encode("column", numbers).names == (10, 9)
    assert all(type(name) is int for name in encode("column", numbers).names)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT, Decimal("nan")])
def test_a_gap_is_found_in_its_row(gap: Any) -> None:
    values = as_objects(["a", "b", "a", gap, "b", gap])
    for given in (values, pd.Series(values), pd.Series(values).astype("category")):
        with pytest.raises(InputError, match="column has a missing value in row 3"):
            encode("column", given)


def test_values_that_cannot_be_told_apart_are_refused() -> None:
    values = as_objects([["a"], ["b"]])
    for given in (values, pd.Series(values)):
        with pytest.raises(InputError, match=r"column holds what cannot be told apart.*plain names"):
            encode("column", given)


def test_groups_of_one_column_of_any_library() -> None:
    names = ["f", "m", "f"]
    for given in (
        names,
        np.array(names),
        pd.Series(names),
        pl.Series(names),
        pd.Categorical(names),
        [["f"], ["m"], ["f"]],
    ):
        found = encode_groups("groups", given)
        assert (found.names, found.codes.tolist()) == (("f", "m"), [0, 1, 0])
