"""What the model predicted: counts against a plain loop over the rows, and populations of selections."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairbound import (
    Certificate,
    CertificateCurve,
    InputError,
    Loss,
    Population,
    Predicted,
    certify,
    certify_curve,
    report,
    verify,
)
from fairbound.certificate.cautions import cautions_of
from fairbound.certificate.document import digest
from fairbound.cli.results import population_lines
from fairbound.data.csv_file import CsvFile
from fairbound.reporting.terminal import show_certificate
from tests.data.test_bad_input import assert_clear
from tests.data.test_frames import EAGER, ENGINES, LAZY, assert_identical, each_engine, rows, table
from tests.forging import better
from tests.problems import E, P

SHIFTS: list[Any] = ["general", "sensitive"]


def predicted(population: Population) -> Predicted:
    assert population.predicted is not None
    return population.predicted


def by_loop(
    groups: Sequence[Hashable], labels: Sequence[Hashable], predictions: Sequence[Hashable], weights: Sequence[float]
) -> dict[tuple[Hashable, Hashable, Hashable], Fraction]:
    """Add up the weights of group, label and predicted label, exactly."""
    found: dict[tuple[Hashable, Hashable, Hashable], Fraction] = {}
    for group, label, prediction, weight in zip(groups, labels, predictions, weights, strict=True):
        key = group, label, prediction
        found[key] = found.get(key, Fraction(0)) + Fraction(weight)
    return found


def assert_counted(
    population: Population,
    expected: dict[tuple[Hashable, Hashable, Hashable], Fraction],
    roundings: int = 0,
) -> None:
    """Every weight is the exact one, rounded once (or a little more often), and they add up to those of the cells."""
    known = predicted(population)
    assert known.share is None
    assert known.labels[: len(population.labels)] == population.labels
    assert known.weight.shape == (len(population.groups), len(population.labels), len(known.labels))
    named = {
        (group, label, prediction): known.weight[s, y, p]
        for s, group in enumerate(population.groups)
        for y, label in enumerate(population.labels)
        for p, prediction in enumerate(known.labels)
    }
    assert {key for key in expected if expected[key]} == {key for key in named if named[key]}
    for key, weight in expected.items():
        assert named[key] == pytest.approx(float(weight), rel=roundings * 2.0**-52, abs=0.0)
    np.testing.assert_allclose(known.weight.sum(axis=2), population.weight, rtol=4 * 2.0**-52 * population.weighted)


names = st.sampled_from(["no", "yes", "unsure", "later"])
counted_rows = st.lists(
    st.tuples(st.sampled_from("fmx"), st.sampled_from(["no", "yes", "unsure"]), names, st.integers(0, 3)),
    min_size=2,
    max_size=40,
)


@given(counted_rows, st.booleans())
def test_counts_agree_with_a_loop(found: list[tuple[str, str, str, int]], weighted: bool) -> None:
    group, label, prediction, weight = (list(column) for column in zip(*found, strict=True))
    assume(len(set(group)) > 1 and len(set(label)) > 1 and set(label) & set(prediction))
    kept = [entry for entry in found if entry[3]] if weighted else found
    assume(all({entry[place] for entry in kept} == {entry[place] for entry in found} for place in (0, 1)))
    population = Population.from_predictions(
        label,
        prediction,
        sensitive_features=group,
        sample_weight=weight if weighted else None,
        unknown_predictions="allow",
    )
    expected = by_loop(group, label, prediction, weight if weighted else [1] * len(group))
    assert_counted(population, expected)
    wrong = sum((count for (_, label, prediction), count in expected.items() if label != prediction), Fraction(0))
    assert population.loss == pytest.approx(float(wrong / sum(expected.values())))
    losses = [float(a != b) for a, b in zip(label, prediction, strict=True)]
    same = Population.from_losses(
        losses, label, sensitive_features=group, sample_weight=weight if weighted else None, loss="zero_one"
    )
    assert_identical(population, same)
    np.testing.assert_array_equal(population.weight, same.weight)


def test_the_order_of_rows_does_not_matter() -> None:
    frame = rows(500)
    frame["class 2"] = np.random.default_rng(1).choice(["c", "a", "d"], 500)
    for weight in (None, "weight"):
        found = [
            predicted(
                Population.from_frame(
                    part, label="class", group="sex", prediction="class 2", weight=weight, unknown_predictions="allow"
                )
            )
            for part in (frame, frame.sample(frac=1, random_state=2))
        ]
        np.testing.assert_array_equal(found[0].weight, found[1].weight)
        assert found[0].labels == found[1].labels == ("a", "b", "c", "d")


def with_predictions() -> pd.DataFrame:
    """Labels of many types with predictions of them; the last of each type never occurs as a true label."""
    rng, frame = np.random.default_rng(7), rows(2000)
    frame["text"] = rng.choice(["b", "a"], 2000)
    frame["text predicted"] = rng.choice(["a", "b", "z", "c"], 2000)
    frame["whole"] = rng.choice([10, 9], 2000)
    frame["whole predicted"] = rng.choice([11, 9, 10], 2000)
    frame["whole predicted as float"] = frame["whole predicted"].astype(float)
    frame["truth"] = rng.random(2000) < 0.3
    frame["truth predicted"] = rng.random(2000) < 0.4
    frame["truth predicted as bit"] = frame["truth predicted"].astype(int)
    frame["always"] = "a"
    return frame


PAIRS: list[tuple[str, str, tuple[Hashable, ...]]] = [
    ("text", "text predicted", ("a", "b", "c", "z")),
    ("text", "always", ("a", "b")),
    ("whole", "whole predicted", (9, 10, 11)),
    ("whole", "whole predicted as float", (9, 10, 11)),
    ("truth", "truth predicted", (False, True)),
    ("truth", "truth predicted as bit", (False, True)),
    ("class", "text predicted", ("a", "b", "c", "z")),
]


@each_engine
@pytest.mark.one_in(3)
@pytest.mark.parametrize(("label", "prediction", "expected"), PAIRS)
@pytest.mark.parametrize("weight", [None, "count", "weight"])
@pytest.mark.parametrize("group", ["sex", ["sex", "old"]], ids=str)
def test_every_engine_counts_predictions(
    engine: str, label: str, prediction: str, expected: tuple[Hashable, ...], weight: str | None, group: Any
) -> None:
    frame = with_predictions()
    population = Population.from_frame(
        ENGINES[engine](frame),
        label=label,
        group=group,
        prediction=prediction,
        weight=weight,
        unknown_predictions="allow",
    )
    assert predicted(population).labels == expected
    known = [type(name) for name in predicted(population).labels[: len(population.labels)]]
    assert known == [type(name) for name in population.labels]
    keys = frame["sex"].tolist() if group == "sex" else list(zip(frame["sex"], frame["old"], strict=True))
    weights = [1.0] * len(frame) if weight is None else frame[weight].tolist()
    counts = by_loop(keys, frame[label].tolist(), frame[prediction].tolist(), weights)
    assert_counted(population, counts, roundings=2 if engine in LAZY and weight == "weight" else 0)
    arrays = Population.from_predictions(
        frame[label],
        frame[prediction],
        sensitive_features=frame[group],
        sample_weight=None if weight is None else frame[weight],
        unknown_predictions="allow",
    )
    assert predicted(arrays).labels == expected
    if engine in EAGER or weight != "weight":
        np.testing.assert_array_equal(predicted(arrays).weight, predicted(population).weight)


@pytest.mark.parametrize(("label", "prediction", "expected"), PAIRS)
@pytest.mark.parametrize("group", ["sex", ["sex", "old"]], ids=str)
def test_csv_files_count_predictions(
    tmp_path: Path, label: str, prediction: str, expected: tuple[Hashable, ...], group: Any
) -> None:
    frame = with_predictions()
    if "as " in prediction:  # files have no types: 1 and 1.0, or True and 1, are different names there
        frame[prediction] = frame[prediction].astype(frame[label].dtype)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns: Any = {
        "label": label,
        "group": group,
        "prediction": prediction,
        "weight": "weight",
        "unknown_predictions": "allow",
    }
    found = Population.from_frame(CsvFile(str(tmp_path / "rows.csv")), **columns)
    exact = predicted(Population.from_frame(frame, **columns))
    assert tuple(map(str, predicted(found).labels)) == tuple(map(str, expected))
    np.testing.assert_array_equal(predicted(found).weight, exact.weight)


def test_categories_keep_their_order() -> None:
    order = ["low", "mid", "high", "top"]
    true = ["low", "high", "mid", "low", "high", "mid"]
    given = ["top", "high", "mid", "low", "low", "high"]
    sex = list("fffmmm")
    series = [pd.Series(pd.Categorical(values, categories=order)) for values in (true, given)]
    frame = pl.DataFrame({"y": true, "p": given, "sex": sex}, schema_overrides=dict.fromkeys("yp", pl.Enum(order)))
    arguments: Any = {"label": "y", "group": "sex", "prediction": "p", "unknown_predictions": "allow"}
    found = [
        Population.from_predictions(*series, sensitive_features=sex, unknown_predictions="allow"),
        Population.from_frame(pd.DataFrame({"y": series[0], "p": series[1], "sex": sex}), **arguments),
        Population.from_frame(frame, **arguments),
        Population.from_frame(frame.lazy(), **arguments),
    ]
    for population in found:
        assert population.labels == ("low", "mid", "high")
        assert predicted(population).labels == ("low", "mid", "high", "top")
        assert_counted(population, by_loop(sex, true, given, [1] * 6))


@each_engine
def test_rows_that_lack_a_value_are_not_counted(engine: str) -> None:
    frame = rows(300)
    frame.loc[frame.index % 10 == 3, "predicted"] = None
    columns: Any = {"label": "income", "group": "sex", "prediction": "predicted"}
    with pytest.raises(InputError, match="column 'predicted' has no value in 30 of 300 rows"):
        Population.from_frame(ENGINES[engine](frame), **columns)
    population = Population.from_frame(ENGINES[engine](frame), **columns, missing="drop")
    kept = frame.dropna(subset=["predicted"])
    counts = by_loop(kept["sex"].tolist(), kept["income"].tolist(), kept["predicted"].tolist(), [1] * len(kept))
    assert_counted(population, counts)
    assert population.selecting().excluded_rows == 30


def test_models_are_asked_for_labels() -> None:
    def model(X: list[float]) -> list[int]:
        return [int(x > 0.5) for x in X]

    X, y, sex = [0.1, 0.7, 0.8, 0.9, 0.2], [0, 1, 0, 1, 1], list("ffmmf")
    population = Population.from_estimator(model, X, y, sensitive_features=sex)
    assert_counted(population, by_loop(sex, y, model(X), [1] * 5))
    assert population.selecting().group_means.tolist() == [1 / 3, 1.0]


def test_declared_groups_and_labels_may_be_absent() -> None:
    population = Population.from_predictions(
        [0, 1, 0, 1],
        [0, 1, 2, 3],
        sensitive_features=list("aabb"),
        groups=list("cab"),
        labels=[2, 0, 1],
        unknown_predictions="allow",
    )
    assert predicted(population).labels == (2, 0, 1, 3)
    assert predicted(population).weight.shape == (3, 3, 4)
    assert predicted(population).weight[:, :, 3].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    np.testing.assert_array_equal(population.selecting(1).group_means, [np.nan, 0.5, 0.0])
    np.testing.assert_array_equal(population.group_means, [np.nan, 0.0, 1.0])


@each_engine
def test_without_predicted_labels_nothing_is_known(engine: str) -> None:
    frame = ENGINES[engine](rows(300))
    for columns in ({"probability": "probability"}, {"losses": "loss"}):
        assert Population.from_frame(frame, label="income", group="sex", **columns).predicted is None  # type: ignore[arg-type]  # one of the two keywords


def test_arrays_without_predicted_labels_tell_nothing() -> None:
    y, p, sex = [0, 1, 0, 1], [0.1, 0.9, 0.3, 0.4], list("aabb")
    for population in (
        Population.from_predictions(y, p, sensitive_features=sex, loss="brier"),
        Population.from_losses(p, y, sensitive_features=sex),
        Population.from_moments(P, E),
        Population.from_estimator(lambda x: x, p, y, sensitive_features=sex, loss="brier"),
    ):
        assert population.predicted is None
        with pytest.raises(InputError) as caught:
            population.selecting()
        assert_clear(caught.value, "predicted ... from_predictions ... from_frame(prediction=...) ... selection_rate")


def three_labels(*, weighted: bool = False, size: int = 2000) -> tuple[Population, pd.DataFrame]:
    frame = rows(size)
    frame["guess"] = np.random.default_rng(3).choice(["a", "b", "c", "d"], size)
    population = Population.from_frame(
        frame,
        label="class",
        group=["sex", "old"],
        prediction="guess",
        weight="weight" if weighted else None,
        unknown_predictions="allow",
    )
    return population, frame


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("label", ["a", "c", "d"])
def test_selections_are_the_rows_that_are_predicted_so(label: str, *, weighted: bool) -> None:
    population, frame = three_labels(weighted=weighted)
    found = population.selecting(label)
    exact = Population.from_losses(
        (frame["guess"] == label).astype(float),
        frame["class"],
        sensitive_features=frame[["sex", "old"]],
        sample_weight=frame["weight"] if weighted else None,
        loss="selected",
    )
    assert (found.pos_label, found.loss_name, found.ceiling, found.two_valued) == (label, "selected", 1.0, True)
    assert (found.groups, found.labels, found.rows) == (population.groups, population.labels, population.rows)
    assert found.weighted is weighted
    assert exact.two_valued
    if not weighted:
        assert_identical(found, exact)
        np.testing.assert_array_equal(found.weight, table(found).weight.sum(axis=2))
    np.testing.assert_array_equal(found.weight, population.weight)
    np.testing.assert_allclose(found.weight, exact.weight, rtol=4 * 2.0**-52)
    np.testing.assert_allclose(found.weight, table(found).weight.sum(axis=2), rtol=4 * 2.0**-52)
    np.testing.assert_allclose(found.mean, exact.mean, rtol=8 * 2.0**-52)
    share = frame["weight"] if weighted else pd.Series(np.ones(len(frame)))
    hit = share * (frame["guess"] == label)
    keys = [frame["sex"], frame["old"]]
    rates = hit.groupby(keys).sum() / share.groupby(keys).sum()
    np.testing.assert_allclose(found.group_means, rates.to_numpy(), rtol=1e-13)
    for shift in SHIFTS:
        ours, theirs = certify(found, 0.4, shift=shift, tol=1e-4), certify(exact, 0.4, shift=shift, tol=1e-4)
        assert ours.bound == pytest.approx(theirs.bound, rel=0 if not weighted else 1e-12, abs=0)
        assert verify(ours.to_json()).valid


def test_selection_rates_of_all_labels_add_up() -> None:
    population, _ = three_labels()
    parts = [population.selecting(label) for label in predicted(population).labels]
    assert sum(part.loss for part in parts) == pytest.approx(1.0)
    assert sum(part.group_means for part in parts) == pytest.approx(1.0)
    again = parts[0].selecting("d")
    assert_identical(again, parts[3])
    assert again.pos_label == "d"


def test_two_labels_have_a_second_one() -> None:
    population = Population.from_predictions(
        [0, 1, 0, 1], [0, 2, 1, 1], sensitive_features=list("aabb"), unknown_predictions="allow"
    )
    assert predicted(population).labels == (0, 1, 2)
    assert population.selecting().pos_label == 1
    assert population.selecting().group_means.tolist() == [0.0, 1.0]
    assert population.selecting(2).group_means.tolist() == [0.5, 0.0]
    assert population.selecting(np.int64(0)).pos_label == 0
    assert type(population.selecting(np.int64(0)).pos_label) is int


def test_a_loss_of_ones_own_that_takes_labels() -> None:
    double = Loss("wrong", 2.0, "labels")
    population = Population.from_predictions([0, 1, 0, 1], [0, 0, 1, 1], sensitive_features=list("aabb"), loss=double)
    assert (population.ceiling, population.loss, population.selecting().ceiling) == (2.0, 0.5, 1.0)
    with pytest.raises(InputError, match=r"1, above the ceiling 0\.5 of 'half'"):
        Population.from_predictions(
            [0, 1, 0, 1], [0, 0, 1, 1], sensitive_features=list("aabb"), loss=Loss("half", 0.5, "labels")
        )


@each_engine
def test_a_wrong_label_costs_no_more_than_the_ceiling(engine: str) -> None:
    frame = ENGINES[engine](rows(300))
    columns: Any = {"label": "income", "group": "sex", "prediction": "predicted"}
    with pytest.raises(InputError, match=r"1, above the ceiling 0\.5 of 'half'"):
        Population.from_frame(frame, **columns, loss=Loss("half", 0.5, "labels"))


@pytest.mark.parametrize("region", ["sphere", "hoeffding"])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_samples_of_selections_are_proved(engine: str, shift: Any, region: str) -> None:
    frame = rows(3000)
    population = Population.from_frame(ENGINES[engine](frame), label="income", group="sex", prediction="predicted")
    selected = population.selecting()
    certificate = certify(selected, 0.3, shift=shift, confidence=0.9, region=region, tol=1e-3)
    assert verify(certificate.to_json()).valid
    assert certificate.bound > certify(selected, 0.3, shift=shift, tol=1e-3).bound
    assert certificate.surrogate is not None
    assert certificate.surrogate.population.predicted is None
    if certificate.surrogate.sample is not None:  # two-valued: counted as they are, not rounded
        assert certificate.surrogate.sample.seed is None
        assert certificate.surrogate.sample.losses.tolist() == [0.0, 1.0]
    broken = json.loads(certificate.to_json())
    better(broken, 1e-3 + certificate.gap)
    assert not verify(broken).valid


def test_selections_between_0_and_1_prove_nothing() -> None:
    population, _ = three_labels()
    document = json.loads(certify(population.selecting("a"), 0.4, confidence=0.9).to_json())
    document["population"]["measures"][0]["knowledge"]["cells"][0][0][1][0] = 0.5
    document["digest"] = digest(document["population"])
    result = verify(document)
    assert any("no losses but 0 and 1 for the loss selected" in reason for reason in result.reasons)


@pytest.mark.parametrize("label", ["a", "d"])
def test_documents_name_the_label(label: str) -> None:
    population, _ = three_labels()
    selected = population.selecting(label)
    certificate = certify(selected, 0.4)
    again = Certificate.from_json(certificate.to_json())
    assert (again.population.pos_label, again.population.loss_name) == (label, "selected")
    assert again.population.predicted is None
    assert again.population.two_valued
    np.testing.assert_array_equal(again.population.weight, selected.weight)
    np.testing.assert_array_equal(table(again.population).weight, table(selected).weight)
    assert again.to_json() == certificate.to_json()
    curve = certify_curve(selected, [0.3, 0.4])
    assert next(iter(CertificateCurve.from_json(curve.to_json()))).population.pos_label == label
    errors = Certificate.from_json(certify(population, 0.4).to_json()).population
    assert (errors.pos_label, errors.predicted) == (None, None)


@pytest.mark.parametrize(
    ("labels", "read"), [((False, True), True), ((1, 2), 2), ((date(2020, 1, 1), date(2021, 1, 1)), "2021-01-01")]
)
def test_labels_in_documents_stay_what_json_can_say(labels: tuple[Any, Any], read: object) -> None:
    population = Population.from_predictions(
        [labels[0], labels[1]] * 2, [labels[0], labels[1], labels[1], labels[1]], sensitive_features=list("aabb")
    )
    found = Certificate.from_json(certify(population.selecting(labels[1]), 0.4).to_json()).population
    assert (found.pos_label, type(found.pos_label), found.labels[1]) == (read, type(read), read)


def test_moments() -> None:
    rate = np.array([[0.09, 0.62], [0.02, 0.55]])
    population = Population.from_moments(P, E, selection_rate=rate, labels=["no", "yes"])
    known = predicted(population)
    assert known.labels == ("no", "yes")
    np.testing.assert_allclose(known.weight, np.stack([P * (1 - rate), P * rate], axis=2), rtol=1e-15)
    np.testing.assert_allclose(known.weight.sum(axis=2), population.weight, rtol=1e-15)
    selected, others = population.selecting(), population.selecting("no")
    assert (selected.pos_label, selected.rows, selected.two_valued, selected.loss_name) == (
        "yes",
        None,
        True,
        "selected",
    )
    np.testing.assert_array_equal(selected.mean, rate)  # not to rounding: bounds take it as exact
    np.testing.assert_array_equal(others.mean, 1 - rate)
    np.testing.assert_allclose(selected.group_means, (P * rate).sum(axis=1) / P.sum(axis=1), rtol=1e-14)
    for shift in SHIFTS:
        for chosen, mean in ((selected, rate), (others, 1 - rate)):
            ours, theirs = (
                certify(chosen, 0.3, shift=shift),
                certify(Population.from_moments(P, mean), 0.3, shift=shift),
            )
            assert ours.bound == theirs.bound
            assert verify(ours.to_json()).valid
    assert Certificate.from_json(certify(selected, 0.3).to_json()).population.pos_label == "yes"


def test_rates_of_empty_cells_do_not_matter() -> None:
    mass = [[0.5, 0.2], [0.3, 0.0]]
    population = Population.from_moments(mass, np.full((2, 2), 0.1), selection_rate=[[0.1, 0.2], [0.3, np.nan]])
    assert population.selecting().group_means == pytest.approx([0.09 / 0.7, 0.3])
    assert population.selecting(0).loss == pytest.approx(0.45 + 0.16 + 0.21)


def predictions(**more: Any) -> Population:
    return Population.from_predictions([0, 1, 2, 0], [0, 1, 1, 2], sensitive_features=list("abab"), **more)


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: predictions().selecting(), "pos_label must name one of the 3 labels 0, 1, 2"),
    (lambda: predictions().selecting("1"), "pos_label='1' is not among the labels 0, 1, 2 ... name one"),
    (lambda: predictions().selecting([1]), "pos_label=[1] is not among the labels"),
    (lambda: predictions().selecting(np.array([1, 2])), "pos_label= ... is not among the labels"),
    (lambda: Population.from_moments(P, E).selecting(), "does not know what the model predicted"),
    (lambda: Population.from_moments(P, E, selection_rate=[[0.1, 0.2]]), "selection_rate has shape (1, 2)"),
    (lambda: Population.from_moments(P, E, selection_rate=E + 1), "selection_rate has the entry ... at most 1"),
    (lambda: Population.from_moments(P, E, selection_rate=E - 1), "selection_rate has the negative entry"),
    (lambda: Population.from_moments(P, E, selection_rate=E * np.nan), "selection_rate has the value nan"),
    (lambda: Population.from_moments(P, E, selection_rate="half"), "selection_rate must hold one number per cell"),
    (
        lambda: Population.from_moments(np.full((2, 3), 1 / 6), np.zeros((2, 3)), selection_rate=np.zeros((2, 3))),
        "selection_rate is for two labels, and mass has 3 ... from_predictions",
    ),
    (
        lambda: Population.from_losses([0.5] * 4, [0, 1] * 2, sensitive_features=[0, 0, 1, 1], loss="selected"),
        "losses[0]=0.5 is neither 0 nor 1; choose another loss than 'selected'",
    ),
]


@pytest.mark.parametrize(("call", "parts"), BAD, ids=[parts for _, parts in BAD])
def test_what_cannot_be_selected_is_refused(call: Callable[[], object], parts: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert_clear(caught.value, parts)


@each_engine
@pytest.mark.parametrize("name", ["zero_one", "selected"])
def test_names_that_say_two_valued_are_held_to_it(engine: str, name: str) -> None:
    frame = rows(300)
    columns: Any = {"label": "income", "group": "sex", "losses": "loss", "loss": name}
    with pytest.raises(InputError) as caught:
        Population.from_frame(ENGINES[engine](frame), **columns)
    assert_clear(caught.value, f"neither 0 nor 1; choose another loss than {name!r}")
    frame["loss"] = np.round(frame["loss"])
    assert Population.from_frame(ENGINES[engine](frame), **columns).two_valued


def test_a_rate_is_not_called_a_loss() -> None:
    population = Population.from_predictions(
        ["no", "yes"] * 100, ["no", "yes", "no", "no"] * 50, sensitive_features=["f", "f", "m", "m"] * 50
    ).selecting()
    assert repr(population) == "Population(2 groups x 2 labels, 200 rows, selection rate=0.250000, pos_label='yes')"
    shown = population._repr_html_()
    assert "<th>selection rate</th>" in shown
    certificate = certify(population, 0.3)
    assert "The selection rate of &#x27;yes&#x27; is at most" in certificate._repr_html_()
    assert "The selection rate of 'yes' is at most" in show_certificate(certificate)
    printed = "\n".join([*population_lines("rows.csv", certificate), *map(str, cautions_of(population, [certificate]))])
    assert "selection rate of 'yes': 0.2500 on the data" in printed
    for text in (shown, certificate._repr_html_(), show_certificate(certificate), printed):
        assert "loss" not in text
    for confidence in (None, 0.9):
        curve = certify_curve(population, [0.2, 0.4], confidence=confidence)
        page = report(curve)
        text = page[page.index("<body") : page.index('id="check"')]
        assert "the selection rate of &#39;yes&#39; is at most" in " ".join(text.split())
        assert "Selection rate of &#39;yes&#39;" in text
        assert "loss" not in text.replace('data-cell="loss"', "")
        axes = curve.plot()
        assert axes.get_ylabel() == "selection rate of 'yes'"
        assert "selection rate of 'yes' on the data" in axes.get_legend_handles_labels()[1]
    sentences = " ".join(certify(population, 0.3, confidence=0.9).assumptions)
    assert "the share of rows that the model predicts as 'yes'" in sentences
    assert "loss" not in sentences
