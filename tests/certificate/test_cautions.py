"""The check of data before anything is certified, and cautions about bounds: the same for Python, terminal and page."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from fairbound import DataWarning, InputError, Population, certify, certify_all, certify_curve
from fairbound.certificate.cautions import MANY_GROUPS, cautions_of, data_cautions
from fairbound.cli.words import QUESTION
from fairbound.reporting.report_data import examine


def population(groups: list[Any], labels: list[Any] | None = None, each: int = 40) -> Population:
    """Return a population with rows of every label in every group, of which a quarter are predicted wrong."""
    names = [0, 1] if labels is None else labels
    rows = [(g, y, y if n % 4 else names[0]) for g in groups for y in names for n in range(each)]
    group, label, predicted = (list(column) for column in zip(*rows, strict=True))
    return Population.from_predictions(label, predicted, sensitive_features=np.array([*group, None], dtype=object)[:-1])


def kinds(found: Population) -> set[str]:
    return {caution.kind for caution in data_cautions(found)}


def test_nothing_is_said_of_ordinary_data() -> None:
    assert kinds(population(["f", "m"])) == set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify(population(["f", "m"]), 0.2)


@pytest.mark.parametrize(
    ("groups", "named"),
    [
        (["f", "F", "m"], "'F' and 'f'"),
        (["f", "f ", "m"], "'f' and 'f '"),
        (["f", "f\u200b", "m"], "'f' and 'f\\u200b'"),
        (["1", "01", 1], "'1' and 1"),
    ],
)
def test_names_that_look_alike(groups: list[Any], named: str) -> None:
    found = population(groups)
    assert kinds(found) == {"names_alike"}
    with pytest.warns(DataWarning, match="taken for different") as caught:
        certify(found, 0.2)
    assert named in str(caught[0].message)
    assert caught[0].filename == __file__


def test_too_many_groups_are_counted() -> None:
    found = population([n / 7 for n in range(MANY_GROUPS + 1)], each=40)
    assert kinds(found) == {"many_groups"}
    assert f"There are {MANY_GROUPS + 1} groups" in str(data_cautions(found)[0])
    assert kinds(population(["f", "m"], labels=list(range(21)))) >= {"many_labels"}


def test_groups_of_one_row_are_named_without_a_confidence_too() -> None:
    sex, label, predicted = ["f"] * 80 + ["m"] * 80 + ["x"], [0, 1] * 80 + [1], [0, 1] * 80 + [1]
    found = Population.from_predictions(label, predicted, sensitive_features=sex)
    assert "one_row_groups" in kinds(found)
    with pytest.warns(DataWarning, match="Groups of a single row: x"):
        certify_curve(found, [0.3])


def test_labels_that_the_groups_tell_already() -> None:
    group = ["yes"] * 50 + ["no"] * 50
    found = Population.from_predictions([int(g == "yes") for g in group], [1, 0] * 50, sensitive_features=group)
    assert "label_by_group" in kinds(found)


def test_predictions_that_are_no_label_are_refused() -> None:
    """They made a difference of zero between groups that nobody selected from, and let a gate pass."""
    label, said = ["no", "yes"] * 20, ["no", "Yes"] * 20
    sex = ["f", "f", "m", "m"] * 10
    with pytest.raises(InputError, match=r"no true label.* 'Yes' \(20\); the labels are 'no', 'yes'"):
        Population.from_predictions(label, said, sensitive_features=sex)
    found = Population.from_predictions(label, said, sensitive_features=sex, unknown_predictions="allow")
    assert found.predicted is not None
    assert found.predicted.labels == ("no", "yes", "Yes")
    with pytest.raises(InputError, match="'refuse' or 'allow'"):
        Population.from_predictions(label, label, sensitive_features=sex, unknown_predictions="drop")


@pytest.mark.parametrize(
    ("label", "said", "why"),
    [
        ([0, 1], ["0", "1"], r"\(0, 1\); it holds '0', '1': they differ only in type or in spelling"),
        (["yes", "no"], ["YES", "NO "], "they differ only in type or in spelling"),
        (["yes", "no"], ["a", "b"], "it holds 'a', 'b': write both in the same way"),
        ([0, 1], [0.2, 0.7], "it holds 0.2, 0.7: the zero_one loss takes predicted labels: turn probabilities"),
    ],
)
def test_predictions_of_another_type_are_shown(label: list[Any], said: list[Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Population.from_predictions(label * 10, said * 10, sensitive_features=["f", "f", "m", "m"] * 5)


def test_a_name_that_the_checker_refuses_is_refused_at_once() -> None:
    for name in ("Brier loss", "x" * 201):
        found = Population.from_losses([0.1, 0.9] * 4, [0, 1] * 4, sensitive_features=list("aabb") * 2, loss=name)
        with pytest.raises(InputError, match="choose another name"):
            certify(found, 0.2)


def test_cautions_are_the_same_everywhere() -> None:
    """In notebooks, in what pages are made of, and worded for the command line."""
    found = population(["f", "m"], each=12)
    certificate = certify(found, 0.9)
    said = cautions_of(found, [certificate])
    assert said[0].kind == "few_rows"
    for caution in said:
        assert str(caution).split(":")[0].split("'")[0] in certificate._repr_html_().replace("&#x27;", "'")
    assert [str(c) for c in examine(certificate).cautions] == [str(c) for c in said]
    evidence = certify_all(found, ["loss", "group_loss"], [0.9])
    assert evidence.cautions[0].kind == "few_rows"
    trivial = next(c for c in evidence.cautions if c.kind == "trivial")
    assert str(trivial).startswith("group_loss: At rho = 0.9 the bound says nothing")
    assert "--min-group-mass" in trivial.sentence.worded(QUESTION)


@pytest.mark.parametrize(
    ("rhos", "asked", "told"),
    [
        ([0.2], {"confidence": 0.9}, True),
        ([0.2, 0.3], {"confidence": 0.9}, False),
        ([0.2], {}, False),
        ([0.2], {"confidence": 0.9, "region": "prequential"}, False),
        ([0.2], {"confidence": 0.9, "shift": "sensitive"}, False),
        ([0.2], {"confidence": 0.9, "fair": False}, False),
        ([0.2], {"confidence": 0.9, "min_group_mass": 0.1}, False),
    ],
    ids=str,
)
def test_bets_are_named_where_they_would_be_tighter(rhos: list[float], asked: dict[str, Any], told: bool) -> None:
    """At one radius, of a question that they are for, whatever the losses; and never of fewer than 100 rows."""
    for each, enough in ((25, True), (24, False)):
        found = population(["f", "m"], each=each)
        said = cautions_of(found, list(certify_curve(found, rhos, **asked)))
        assert ("region" in {caution.kind for caution in said}) == (told and enough)
        if told and enough:
            assert "--region prequential" in said[-1].sentence.worded(QUESTION)
