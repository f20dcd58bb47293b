"""Results as data frames: the same columns and values whichever library holds them."""

from __future__ import annotations

import sys
from typing import Any

import narwhals as nw
import numpy as np
import pytest

from fairbound import InputError, Population, certify, certify_all, certify_curve, nearest_fair

BACKENDS = ["pandas", "polars", "pyarrow"]


def population() -> Population:
    return Population.from_moments(
        [[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]], groups=["m", "f"], labels=["no", "yes"]
    )


def columns(frame: Any) -> dict[str, list[Any]]:
    return nw.from_native(frame, eager_only=True).to_dict(as_series=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cells_worst_cases_and_curves(backend: str) -> None:
    given = population()
    cells = columns(given.to_frame(backend))
    assert list(cells) == ["group", "label", "weight", "mass", "base_rate", "mean"]
    assert cells["group"] == ["m", "m", "f", "f"]
    assert cells["label"] == ["no", "yes"] * 2
    assert cells["mass"] == given.mass.ravel().tolist()
    assert cells["base_rate"] == given.base_rates.ravel().tolist()
    assert cells["mean"] == [0.09, 0.38, 0.02, 0.45]
    certificate = certify(given, 0.2)
    worst = columns(certificate.to_frame(backend))
    assert worst["worst_case_mass"] == certificate.witness.mass.ravel().tolist()
    assert worst["change"] == (certificate.witness.mass - given.mass).ravel().tolist()
    assert columns(certificate.witness.to_frame(backend))["mass"] == worst["worst_case_mass"]
    curve = certify_curve(given, [0.01, 0.2])
    line = columns(curve.to_frame(backend))
    assert line["rho"] == [0.01, 0.2]
    assert line["status"] == ["infeasible", "tight"]
    assert line["bound"][1] == curve.certificates[1].bound  # type: ignore[union-attr]  # the second one is certified
    assert line["bound"][0] is None or np.isnan(line["bound"][0])
    several = certify_all(given, {"loss": 0.9, "group_loss": None}, [0.2])
    gates = columns(several.to_frame(backend))
    assert gates["metric"] == ["loss", "group_loss"]
    assert gates["bound"] == [curve.bound[0] for curve in several]
    assert gates["kept"][0] is True
    assert gates["kept"][1] is None or np.isnan(gates["kept"][1])
    near = columns(nearest_fair(given).to_frame(backend))
    assert near["mass"] == nearest_fair(given).mass.ravel().tolist()
    assert near["group"] == cells["group"]


def test_groups_of_several_columns_and_mixed_names() -> None:
    given = Population.from_predictions(
        [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features={"sex": ["f", "f", "m", "m"], "age": [20, 30, 20, 40]}
    )
    cells = columns(given.to_frame("polars"))
    assert list(cells)[:3] == ["group_1", "group_2", "label"]
    assert set(cells["group_2"]) == {20, 30, 40}
    assert None in cells["mean"]  # a cell without rows
    mixed = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.4]], groups=["a", 3])
    assert columns(mixed.to_frame("pyarrow"))["group"] == ["a", "a", "3", "3"]


def test_the_library_in_use_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    given = population()
    for name in BACKENDS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import polars as pl  # noqa: PLC0415 (imported here, it is the one in use)

    monkeypatch.setitem(sys.modules, "polars", pl)
    assert isinstance(given.to_frame(), pl.DataFrame)
    with pytest.raises(InputError, match="backend='excel' is not known; use one of 'pandas'"):
        given.to_frame("excel")
    monkeypatch.setattr("fairbound.data.native_frame.find_spec", lambda _: None)
    with pytest.raises(InputError, match="backend='pandas' is not installed; install it with: pip install pandas"):
        given.to_frame("pandas")
    monkeypatch.delitem(sys.modules, "polars")
    with pytest.raises(InputError, match="none is installed"):
        given.to_frame()


def test_what_is_read_from_a_document_has_names_too() -> None:
    certificate = certify(population(), 0.2)
    again = type(certificate).from_json(certificate.to_json())
    assert columns(again.witness.to_frame("polars"))["group"] == ["m", "m", "f", "f"]
