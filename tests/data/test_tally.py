"""Tallies: what is added up is what counting all rows at once gives, to the last bit; what is wrong is refused."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbound import InputError, Population, Tally, certify, verify
from fairbound.data import tally_rows
from fairbound.data.csv_file import CsvFile
from fairbound.data.loss_summary import LossTable, bin_edges
from fairbound.data.tally_cells import UNIT_BITS, Bins, Entry, exact_totals
from fairbound.data.tally_document import digest_of


def rows(size: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size, p=[0.4, 0.6]),
            "old": rng.random(size) < 0.3,
            "income": rng.choice(["no", "yes"], size),
            "predicted": rng.choice(["no", "yes", "perhaps"], size, p=[0.5, 0.4, 0.1]),
            "p": np.round(rng.random(size), 3),
            "loss": np.where(rng.random(size) < 0.2, rng.choice([0.0, 1.0, 0.5], size), rng.beta(0.3, 2.0, size)),
            "tiny": rng.beta(0.5, 2.0, size) * 10.0 ** rng.integers(-9, 0, size),
            "weight": rng.exponential(size=size),
            "count": rng.integers(0, 4, size),
        }
    )


def from_frame(frame: Any, **roles: Any) -> Population:
    """Return the population of rows, some of which are predicted as what no row is."""
    return Population.from_frame(frame, unknown_predictions="allow", **roles)


def from_tally(tally: Any) -> Population:
    return Population.from_tally(tally, unknown_predictions="allow")


def from_counts(counts: Any, **names: Any) -> Population:
    return Population.from_counts(counts, unknown_predictions="allow", **names)


def from_predictions(*columns: Any, sensitive_features: Any) -> Population:
    return Population.from_predictions(*columns, sensitive_features=sensitive_features, unknown_predictions="allow")


WAYS: dict[str, dict[str, Any]] = {
    "predictions": {"prediction": "predicted"},
    "weighted predictions": {"prediction": "predicted", "weight": "weight"},
    "losses": {"losses": "loss"},
    "weighted losses": {"losses": "loss", "weight": "weight"},
    "losses, another ceiling": {"losses": "loss", "ceiling": 1.7},
    "tiny losses with counts": {"losses": "tiny", "weight": "count"},
    "intersections": {"losses": "loss", "group": ["sex", "old"]},
    "declared": {"losses": "loss", "groups": ["m", "x", "f"], "labels": ["yes", "no"]},
    "probabilities": {"probability": "p", "labels": ["no", "yes"]},
    "probabilities of a label": {"probability": {"yes": "p"}, "labels": ["no", "yes"], "loss": "absolute"},
}
ENGINES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(pl.from_pandas(frame).to_arrow()),
}


def assert_one_line(error: pytest.ExceptionInfo[InputError]) -> None:
    assert "\n" not in str(error.value)
    assert "np." not in str(error.value)  # values are shown as the user wrote them


def tally(frame: Any, **roles: Any) -> Tally:
    return Tally.count(frame, **({"label": "income", "group": "sex"} | roles))


def table(population: Population) -> LossTable:
    assert isinstance(population.knowledge, LossTable)
    return population.knowledge


def assert_same(one: Population, two: Population) -> None:
    assert (one.groups, one.labels, one.rows, one.excluded_rows) == (
        two.groups,
        two.labels,
        two.rows,
        two.excluded_rows,
    )
    for field in ("low", "high", "weight", "to_low", "to_high", "rows"):
        np.testing.assert_array_equal(getattr(table(one), field), getattr(table(two), field))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_the_sum_is_the_count_of_all_rows_in_any_order(way: str, engine: str) -> None:
    frame, make = rows(), ENGINES[engine]
    whole = tally(make(frame), **WAYS[way])
    by_site = [frame[frame["sex"] == sex].reset_index(drop=True) for sex in ("f", "m")]  # a site with a single group
    parts = [by_site[0], by_site[1][:10], by_site[1][10:]]
    tallies = [tally(make(part.reset_index(drop=True)), **WAYS[way]) for part in parts]
    texts = set()
    for order in itertools.permutations(tallies):
        total = sum(order[1:], order[0])
        assert total.cells == whole.cells
        assert total.rows == len(frame)
        texts.add(total.to_json())
    nested = tallies[2] + (tallies[0] + tallies[1])
    assert {*texts, nested.to_json(), Tally.merged(reversed(tallies)).to_json()} == texts
    assert len(texts) == 1
    assert_same(from_tally(Tally.from_json(texts.pop())), from_tally(whole))


@pytest.mark.parametrize("way", [way for way in WAYS if "probabilities" not in way])
def test_all_engines_count_the_same_whole_numbers(way: str) -> None:
    frame = rows(3000, seed=5)
    found = [tally(make(frame), **WAYS[way]).to_json() for make in ENGINES.values()]
    assert len(set(found)) == 1


def test_predictions_give_the_population_of_the_rows() -> None:
    frame = rows()
    for weight in (None, "weight", "count"):
        roles: Any = {"label": "income", "group": "sex", "prediction": "predicted", "weight": weight}
        exact = from_frame(frame, **roles)
        found = from_tally(Tally.count(frame[:100], **roles) + Tally.count(frame[100:], **roles))
        assert_same(found, exact)
        assert found.predicted is not None
        assert exact.predicted is not None
        assert found.predicted.labels == exact.predicted.labels
        np.testing.assert_array_equal(found.predicted.weight, exact.predicted.weight)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("ceiling", [1.0, 1.7])
def test_bins_keep_weights_and_means_exactly(weight: str | None, ceiling: float) -> None:
    """Against fractions: what is known of a cell is its weight and its mean, each rounded once."""
    frame = rows(4000)
    population = from_tally(tally(frame, losses="loss", weight=weight, ceiling=ceiling))
    edges = bin_edges(ceiling)
    known = table(population)
    several = (known.low < known.high) & (known.weight > 0)
    assert several.sum() > 200
    assert np.isin(known.low[several], edges).all()
    for s, sex in enumerate(population.groups):
        for y, income in enumerate(population.labels):
            cell = frame[(frame["sex"] == sex) & (frame["income"] == income)]
            weights = [1.0] * len(cell) if weight is None else cell[weight].tolist()
            total = sum(map(Fraction, weights))
            assert population.weight[s, y] == pytest.approx(float(total), rel=1e-14)
            mean = sum(Fraction(w) * Fraction(v) for w, v in zip(weights, cell["loss"].tolist(), strict=True)) / total
            assert population.mean[s, y] == pytest.approx(float(mean), rel=1e-13)
            for low, high, mass, to_high in zip(
                *(part[s, y] for part in (known.low, known.high, known.weight, known.to_high)), strict=True
            ):
                inside = [
                    (Fraction(w), Fraction(v))
                    for w, v in zip(weights, cell["loss"].tolist(), strict=True)
                    if (low <= v < high or v == high == ceiling or v == low == high) and mass
                ]
                if len(inside) < 2 or low == high:
                    continue
                held = sum(w for w, _ in inside)
                place = sum(w * (v - Fraction(low)) for w, v in inside) / held / (Fraction(high) - Fraction(low))
                assert mass == float(held)
                assert to_high == pytest.approx(float(place), rel=8 * 2.0**-53)
            break


@given(
    st.lists(st.floats(0, 1e12, allow_subnormal=False).filter(lambda v: v == 0 or v > 1e-7), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_totals_are_exact(values: list[float], random: Any) -> None:
    bins = [random.randrange(3) for _ in values]
    found = exact_totals(np.array(bins), np.array(values), 3)
    for place in range(3):
        exact = sum((Fraction(v) for v, b in zip(values, bins, strict=True) if b == place), Fraction(0))
        assert Fraction(found[place], 2**UNIT_BITS) == exact


def test_a_tiny_value_counts_for_a_little_more() -> None:
    (found,) = exact_totals(np.zeros(2, dtype=np.int64), np.array([1e-30, 5e-324]), 1)
    assert found == 2  # each is rounded up to one unit


def test_the_bound_is_sound_and_hardly_larger_than_that_of_the_rows() -> None:
    frame = rows(3000)
    roles: Any = {"label": "income", "group": "sex", "losses": "loss"}
    ours = certify(from_tally(Tally.count(frame, **roles)), 0.3)
    exact = certify(from_frame(frame, **roles), 0.3)
    assert exact.attained <= ours.bound <= exact.bound + 2e-6
    assert verify(ours.to_json()).valid


def test_a_csv_file_is_counted_as_its_frame_is(tmp_path: Path) -> None:
    frame = rows()
    frame["bit"] = (frame["income"] == "yes").astype(int)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    file = CsvFile(str(tmp_path / "rows.csv"))
    for roles in ({"prediction": "predicted"}, {"losses": "loss", "weight": "weight"}):
        assert tally(file, **roles).to_json() == tally(frame, **roles).to_json()
    declared: Any = {"label": "bit", "losses": "loss", "groups": ["f", "m"]}
    by_text = tally(file, **declared, labels=["0", "1"])  # texts get the type that the column has
    assert by_text.plan.labels == (0, 1)
    assert by_text.to_json() == tally(frame, **declared, labels=[0, 1]).to_json()


def test_dates_and_tuples_are_names_on_both_sides_of_json() -> None:
    frame = rows()
    frame["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(frame["count"], unit="D")
    found = tally(pl.from_pandas(frame), group=["day", "old"], prediction="predicted")
    assert Tally.from_json(found.to_json()) == found
    assert ("2024-01-01 00:00:00", False) in from_tally(found).groups


def test_many_cells_are_coarsened_alike_whether_they_were_declared_or_not() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.integers(0, 40, 9000), "y": rng.integers(0, 2, 9000), "loss": rng.random(9000)})
    roles: Any = {"label": "y", "group": "g", "losses": "loss"}
    declared = Tally.count(frame, **roles, groups=list(range(40)), labels=[0, 1])
    assert declared.plan.bins == 2048
    assert_same(from_tally(declared), from_tally(Tally.count(frame, **roles)))


@pytest.mark.parametrize("engine", ["pandas", "polars lazy"])
def test_a_tally_has_a_limited_number_of_entries(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_rows, "MOST_BINS", 300)
    frame = ENGINES[engine](rows(2000))
    with pytest.raises(InputError, match="more than 300 entries; name all groups and labels") as error:
        tally(frame, losses="loss")
    assert_one_line(error)
    assert tally(frame, prediction="predicted").rows == 2000
    assert tally(frame, losses="loss", groups=["f", "m"], labels=["no", "yes"]).plan.bins == 4096


# What is told of single rows


def test_least_counts_hide_single_rows_and_keep_the_mean() -> None:
    frame = rows(5000)
    open_, closed = tally(frame, losses="loss"), tally(frame, losses="loss", min_count=10)
    entries = [entry for cell in closed.cells.values() for entry in cell.values()]
    assert min(entry.rows for entry in entries) >= 10
    assert {(entry.least, entry.most) for entry in entries} == {(None, None)}
    assert "0.5" not in closed.to_json()
    shown, hidden = from_tally(open_), from_tally(closed)
    np.testing.assert_array_equal(shown.weight, hidden.weight)
    np.testing.assert_allclose(shown.mean, hidden.mean, rtol=1e-12)
    bounds = [certify(population, 0.3).bound for population in (shown, hidden)]
    assert bounds[0] <= bounds[1] + 1e-12
    assert bounds[1] <= bounds[0] + 1e-3
    halves = [tally(frame[:2000], losses="loss", min_count=10), tally(frame[2000:], losses="loss", min_count=20)]
    assert sum(halves[:1], halves[1]).to_json() == (halves[0] + halves[1]).to_json()
    both = from_tally(halves[0] + halves[1])
    np.testing.assert_allclose(shown.mean, both.mean, rtol=1e-12)
    assert certify(shown, 0.3).attained <= certify(both, 0.3).bound
    with pytest.raises(InputError, match="bins of few rows were merged") as error:
        certify(hidden, 0.3, confidence=0.9)
    assert_one_line(error)


@given(st.lists(st.tuples(st.integers(0, 63), st.integers(1, 30)), min_size=1, max_size=30), st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_merged_bins_have_enough_rows_and_lose_nothing(counts: list[tuple[int, int]], least: int) -> None:
    bins = Bins(1.7, 64)
    entries = {(b, b): Entry(n, n << UNIT_BITS, (b * n) << 40, 0.0, 0.0) for b, n in counts}
    total = sum(entry.rows for entry in entries.values())
    merged = bins.at_least(entries, least)
    assert sum(entry.rows for entry in merged.values()) == total
    assert all(entry.rows >= min(least, total) for entry in merged.values())
    spans = sorted(merged)
    assert all(one[1] < two[0] for one, two in itertools.pairwise(spans))
    moment = [
        sum(Fraction(entry.above) + Fraction(entry.weight, 1 << UNIT_BITS) * bins.units[key[0]] for key, entry in some)
        for some in (entries.items(), merged.items())
    ]
    assert moment[0] == moment[1]


@pytest.mark.parametrize(
    ("roles", "what"),
    [({"prediction": "predicted"}, "predicted as 'perhaps'"), ({"losses": "loss"}, "has only 1 row")],
)
def test_cells_of_too_few_rows_are_refused(roles: Any, what: str) -> None:
    frame = rows()
    frame = pd.concat([frame, frame[:1].assign(sex="x", predicted="perhaps")])
    with pytest.raises(InputError, match="min_count=") as error:
        tally(frame, **roles, min_count=20)
    assert_one_line(error)
    if "loss" in roles:
        assert what in str(error.value)


# What is not added up


def test_a_part_is_never_added_twice() -> None:
    frame = rows()
    one, again = tally(frame, prediction="predicted"), tally(frame[::-1], prediction="predicted")
    other = tally(rows(seed=1), prediction="predicted")
    attempts: list[Callable[[], Tally]] = [lambda: one + again, lambda: one + one, lambda: (one + other) + one]
    for twice in attempts:
        with pytest.raises(InputError, match="the same rows would be counted twice") as error:
            twice()
        assert_one_line(error)
    named = [tally(frame, prediction="predicted", name=name) for name in ("a", "b", "a")]
    assert (named[0] + named[1]).rows == 2 * len(frame)  # different rows may agree
    with pytest.raises(InputError, match="the part 'a' is there twice"):
        named[0] + named[1] + named[2]
    with pytest.raises(InputError, match="the same rows would be counted twice"):
        named[0] + one


@pytest.mark.parametrize(
    ("roles", "name"),
    [
        ({"losses": "loss", "ceiling": 2.0}, "ceiling"),
        ({"losses": "tiny"}, "loss"),
        ({"prediction": "predicted"}, "counted"),
        ({"losses": "loss", "weight": "weight"}, "weighted"),
        ({"losses": "loss", "groups": ["f", "m"]}, "groups"),
        ({"losses": "loss", "labels": ["yes", "no"]}, "labels"),
    ],
)
def test_parts_of_other_plans_are_refused(roles: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"different plans: {name} is") as error:
        tally(rows(), losses="loss") + tally(rows(), **roles)
    assert_one_line(error)


def test_names_of_different_types_are_not_taken_for_one() -> None:
    frame = rows().assign(sex=1)
    for other in (1.0, True, "1"):
        with pytest.raises(InputError, match="different types") as error:
            tally(frame, prediction="predicted") + tally(frame[:50].assign(sex=other), prediction="predicted")
        assert_one_line(error)


def test_predicted_labels_of_different_types_are_not_taken_for_one() -> None:
    frame = rows().assign(income=lambda f: (f["income"] == "yes").astype(int))
    parts = [frame[:200].assign(predicted=7), frame[200:].assign(predicted=7.0)]
    with pytest.raises(InputError, match=r"predicted label 7(\.0)? has different types") as error:
        tally(parts[0], prediction="predicted") + tally(parts[1], prediction="predicted")
    assert_one_line(error)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"losses": "loss", "ceiling": math.inf}, "without a ceiling"),
        ({"probability": "p", "loss": "cross_entropy", "labels": ["no", "yes"]}, "pass clip"),
        ({"probability": "p"}, "labels must name all labels"),
        ({"losses": "loss", "min_count": 0}, "min_count=0"),
        ({"losses": "loss", "name": ""}, "name=''"),
        ({"losses": "loss", "groups": ["f", "x"]}, "groups"),
        ({"losses": "loss", "ceiling": 0.5}, "outside"),
        ({"losses": "loss", "weight": "huge"}, "cannot be added up exactly"),
    ],
)
@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb"])
def test_what_cannot_be_counted_is_refused(roles: Any, message: str, engine: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        tally(ENGINES[engine](rows().assign(huge=1e300)), **roles)
    assert_one_line(error)


def spoilt(change: Callable[[Any], object], *, mend: bool = True) -> str:
    document = json.loads(tally(rows(), losses="loss", weight="weight", name="a").to_json())
    change(document)
    if mend:
        document["plan_digest"] = digest_of(document["plan"])
        document["digest"] = digest_of([document[key] for key in ("plan", "parts", "cells", "strata")])
    return json.dumps(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(cells=None),
        lambda d: d.update(format="fairbound-certificate"),
        lambda d: d["plan"].update(bins=3000),
        lambda d: d["plan"].update(bins=8192),
        lambda d: d["plan"].update(ceiling=0.5),
        lambda d: d["plan"].update(counted="predictions"),
        lambda d: d["plan"].update(weighted=False),
        lambda d: d["plan"].update(groups=["m", "x"]),
        lambda d: d["cells"].append(d["cells"][0]),
        lambda d: d["cells"][0]["rows"].append(3),
        lambda d: d["cells"][0]["rows"].__setitem__(0, 7),
        lambda d: d["cells"][0]["rows"].__setitem__(0, 1.0),
        lambda d: d["cells"][0]["last"].__setitem__(0, 4096),
        lambda d: [d["cells"][0][k].__setitem__(1, d["cells"][0][k][0]) for k in ("first", "last")],
        lambda d: d["cells"][0]["above"].__setitem__(0, -1),
        lambda d: d["cells"][0]["above"].__setitem__(0, 2**UNIT_BITS),
        lambda d: d["cells"][0]["most"].__setitem__(0, 1.0),
        lambda d: d["cells"][0]["least"].__setitem__(0, None),
        lambda d: d["cells"][0].update(weight=None),
        lambda d: d["parts"][0].update(rows=1),
        lambda d: d["parts"].append(d["parts"][0]),
    ],
)
def test_documents_that_are_no_tallies_are_refused(change: Callable[[Any], object]) -> None:
    with pytest.raises(InputError) as error:
        Tally.from_json(spoilt(change))
    assert_one_line(error)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["plan"].update(loss="another"),
        lambda d: d["parts"][0].update(excluded=1),
        lambda d: d["cells"][0]["above"].__setitem__(0, 0),
    ],
)
def test_changed_documents_are_refused(change: Callable[[Any], object]) -> None:
    assert Tally.from_json(spoilt(lambda d: None)).rows == 400
    with pytest.raises(InputError, match="does not fit"):
        Tally.from_json(spoilt(change, mend=False))


# Samples


def test_a_confidence_takes_all_rows_for_draws_from_one_distribution() -> None:
    frame = rows(2000)
    both: list[dict[str, Any]] = [{"prediction": "predicted"}, {"losses": "loss"}]
    for roles in both:
        total = tally(frame[:900], **roles) + tally(frame[900:], **roles)
        found = certify(from_tally(total), 0.3, confidence=0.9)
        exact = certify(from_frame(frame, label="income", group="sex", **roles), 0.3, confidence=0.9)
        assert found.bound == pytest.approx(exact.bound, abs=1e-9)
        assert any("independent draws from it" in sentence for sentence in found.assumptions)
        assert verify(found.to_json()).valid


# Counts


def test_counts_give_the_population_of_the_rows() -> None:
    frame = rows()
    exact = from_predictions(frame["income"], frame["predicted"], sensitive_features=frame["sex"])
    found = from_counts(Counter(zip(frame["sex"], frame["income"], frame["predicted"], strict=True)))
    assert_same(found, exact)
    queried = frame.groupby(["sex", "income", "predicted"]).size().to_dict()
    assert_same(from_counts(queried), exact)
    two = frame.assign(predicted=frame["predicted"].replace("perhaps", "no"))
    matrices = np.stack([pd.crosstab(part["income"], part["predicted"]) for _, part in two.groupby("sex")])
    named = from_counts(matrices, groups=["f", "m"], labels=["no", "yes"])
    assert_same(named, from_predictions(two["income"], two["predicted"], sensitive_features=two["sex"]))
    assert from_counts(matrices).groups == (0, 1)


@pytest.mark.parametrize(
    ("counts", "names"),
    [
        ({("a", 0): 3}, {}),
        ({("a", 0, 0): 1.5, ("b", 1, 1): 1}, {}),
        ({("a", 0, 0): -1, ("b", 1, 1): 1}, {}),
        ({("a", 0, 0): "x", ("b", 1, 1): 1}, {}),
        ({("a", 0, 0): 1, ("a", 1, 1): 1}, {}),
        ({}, {}),
        ({("a", 0, 0): 1, ("b", 1, 1): 1}, {"groups": ["a", "c"]}),
        ([[1, 2], [3, 4]], {}),
        (np.ones((2, 2, 3)), {}),
        (np.ones((2, 2, 2)), {"groups": ["a"]}),
        (np.full((2, 2, 2), 0.5), {}),
    ],
)
def test_counts_that_are_none_are_refused(counts: Any, names: Any) -> None:
    with pytest.raises(InputError) as error:
        from_counts(counts, **names)
    assert_one_line(error)


def test_only_tallies_are_taken() -> None:
    wrong: Any = {"rows": 3}
    for attempt in (lambda: from_tally(wrong), lambda: Tally.merged([]), lambda: Tally.merged([wrong])):
        with pytest.raises(InputError, match="tall"):
            attempt()
    with pytest.raises(TypeError):
        tally(rows(), losses="loss") + wrong
