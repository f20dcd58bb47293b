"""Weights that an engine adds up are exact but for one rounding, wherever they are cut, or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from fairbound import InputError, Population
from fairbound.arithmetic.arrays import Floats
from fairbound.data.exact_sums import FEW, LIMB, Cut, careful_cut
from fairbound.data.frame_values import fetch
from fairbound.data.loss_summary import exact_sums

UNIT = Fraction(2) ** -53
KINDS = ["ones", "integers", "exponential", "lognormal", "zeros", "tiny"]


def drawn(kind: str, size: int = 3000, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return {
        "ones": np.ones(size),
        "integers": rng.integers(0, 10**6, size).astype(float),
        "exponential": rng.exponential(size=size),
        "lognormal": np.exp(5 * rng.normal(size=size)),
        "zeros": np.where(rng.random(size) < 0.5, 0.0, rng.random(size)),
        "tiny": rng.random(size) * 2.0 ** rng.integers(-120, -60, size),
    }[kind]


def found_by(cut: Cut, weight: Floats, bins: int = 7) -> nw.DataFrame[Any]:
    frame = nw.from_native(pl.LazyFrame({"w": weight, "bin": np.arange(len(weight)) % bins}))
    return fetch(cut.cut_up(frame).group_by("bin").agg(nw.len().alias("n"), *cut.aggregates()).sort("bin"))


def engines(**columns: Any) -> list[Any]:
    frame = pl.DataFrame(columns)
    return [frame.lazy(), duckdb.connect().from_arrow(frame.to_arrow())]


@pytest.mark.parametrize("exponents", [(-26,), (3,), (-22, -44), (10, -30)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_are_the_weight(kind: str, exponents: tuple[int, ...]) -> None:
    cut = Cut("weight", exponents)
    weight = drawn(kind, 200)
    names = [f"w{place}" for place in range(len(exponents))]
    parts = fetch(cut.cut_up(nw.from_native(pl.LazyFrame({"w": weight}))).select("w", *names, "rest"))
    units = [Fraction(2) ** exponent for exponent in (*exponents, exponents[-1])]
    for row, exact in zip(parts.rows(), weight, strict=True):
        whole, rest = row[1:-1], row[-1]
        assert row[0] == exact == sum(Fraction(part) * unit for part, unit in zip(row[1:], units, strict=True))
        assert all(part == int(part) >= 0 for part in whole)
        assert 0 <= rest < 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [None, 15, 22, 40])
def test_sums_are_exact_wherever_the_cut_or_there_are_none(kind: str, step: int | None) -> None:
    weight = drawn(kind)
    exact = [sum(map(Fraction, weight[start::7])) for start in range(7)]
    accepted = 0
    for first in range(-80, 30, 3):
        cut = Cut("weight", (first,) if step is None else (first, first - step))
        found = found_by(cut, weight)
        assert not cut.suspicious(found)
        total = cut.total(found)
        accepted += total is not None
        for sum_, true in zip([] if total is None else total, exact, strict=total is not None):
            assert abs(Fraction(sum_) - true) <= Fraction(3, 2) * UNIT * true
    assert accepted or kind == "tiny"


def test_what_would_be_rounded_is_not_accepted() -> None:
    """Cut too low, whole parts pass 2**53; cut too high, the rests are all there is."""
    weight = drawn("exponential", 70_000)
    assert Cut("weight", (-26,)).total(found_by(Cut("weight", (-26,)), weight)) is not None
    for exponents in ((-41,), (-10,), (-41, -60), (10, 0)):
        cut = Cut("weight", exponents)
        assert cut.total(found_by(cut, weight)) is None


def population(frame: Any, **column: str) -> Population:
    return Population.from_frame(frame, label="y", group="g", weight="w", **column)  # type: ignore[arg-type]


def columns_for(weight: Floats) -> dict[str, Any]:
    places = np.arange(len(weight))
    return {"y": places % 2, "g": places // 2 % 2, "p": places % 2, "loss": places % 5 / 4, "w": weight}


@pytest.mark.parametrize("column", [{"losses": "loss"}, {"prediction": "p"}], ids=str)
@pytest.mark.parametrize("before", [0.0, 1.0, 2.0**-40, 2.0**60])
def test_a_guess_that_misleads_costs_time_but_nothing_else(column: dict[str, str], before: float) -> None:
    """The first rows are not like the others."""
    weight = drawn("lognormal", 4 * FEW)
    weight[:FEW] = before
    if before > 1:
        weight[FEW:] *= before
    for frame in engines(**columns_for(weight)):
        found = population(frame, **column)
        for s, y in np.ndindex(2, 2):
            assert found.weight[s, y] == pytest.approx(math.fsum(weight[y + 2 * s :: 4]), rel=4e-16)


def test_a_second_look_is_taken_only_if_the_first_was_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Cut] = []

    def noted(*arguments: Any) -> Cut:
        looks.append(careful_cut(*arguments))
        return looks[-1]

    monkeypatch.setattr("fairbound.data.lazy_frames.careful_cut", noted)
    weight = drawn("exponential", 4 * FEW)
    for frame in engines(**columns_for(weight)):
        population(frame, losses="loss")
    assert not looks
    weight[:FEW] = 0.0
    weight[FEW:] *= 2.0**45
    exponent = math.frexp(weight.max())[1]
    for frame in engines(**columns_for(weight)):
        population(frame, losses="loss")
    assert [look.exponents for look in looks] == [(exponent - LIMB, exponent - 2 * LIMB)] * 2


@pytest.mark.parametrize("column", [{"losses": "loss"}, {"prediction": "p"}], ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1e-300, "column 'w' holds -1e-300, outside"),
        (-5.0, "column 'w' holds -5.0, outside"),
        (math.inf, "column 'w' holds inf, outside"),
        (math.nan, "column 'w' has no value in 1 of 3000 rows"),
        (None, "column 'w' has no value in 1 of 3000 rows"),
        (1e200, "'w' holds weights like 1e\\+200; measure them in other units"),
    ],
)
def test_bad_weights_behind_the_rows_that_the_guess_sees(
    column: dict[str, str], value: float | None, message: str
) -> None:
    weight: list[float | None] = [1.0] * 3000
    weight[2345] = value
    given = columns_for(np.ones(3000)) | {"w": pl.Series(weight, dtype=pl.Float64, strict=False)}
    for frame in engines(**given):
        with pytest.raises(InputError, match=message):
            population(frame, **column)


@pytest.mark.parametrize("value", [2.0, 1e300])
def test_losses_above_the_ceiling_are_refused_by_each_engine(value: float) -> None:
    """They have no bin: what number they are given must not matter."""
    losses = columns_for(np.ones(100))
    losses["loss"][50] = value
    for frame in engines(**losses):
        with pytest.raises(InputError, match=r"column 'loss' holds .*, outside \[0, 1\]"):
            population(frame, losses="loss")


@pytest.mark.parametrize("kind", [*KINDS, "far apart", "near the end", "subnormal", "largest"])
@pytest.mark.parametrize("order", [1, -1])
def test_sums_in_memory_are_rounded_once(kind: str, order: int) -> None:
    """The sums of all rows, whatever their order, are the exact ones, rounded."""
    rng = np.random.default_rng(1)
    others = {
        "far apart": rng.random(3000) * 2.0 ** rng.integers(-600, 600, 3000),
        "near the end": rng.random(3000) * 2.0**-1010,
        "subnormal": np.full(3000, 5e-324),
        "largest": rng.random(3000) * 2.0**1000,
    }
    values = others[kind] if kind in others else drawn(kind)
    bins = np.arange(len(values)) % 7
    bins[bins == 5] = 6  # a bin without rows, and one with more than the others
    found = exact_sums(bins[::order], values[::order], np.bincount(bins, minlength=8))
    exact = [float(sum(map(Fraction, values[bins == number]), Fraction())) for number in range(8)]
    assert found.tolist() == exact
