"""Each loss against a definition written by others, or written out anew."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from fairbound import LOSSES, Loss, Population, certify
from fairbound.arithmetic.arrays import Floats, Integers

Predictions = tuple[Floats, Integers]


@st.composite
def predictions(draw: st.DrawFn, labels: int | None = None) -> Predictions:
    """Probabilities of shape (n, C), many of them 0 or 1, and the column of the true label."""
    n, c = draw(st.integers(1, 6)), labels or draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 1000), min_size=c, max_size=c).filter(any)
    counts = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.float64)
    true = np.array(draw(st.lists(st.integers(0, c - 1), min_size=n, max_size=n)), dtype=np.int64)
    return counts / counts.sum(axis=1, keepdims=True), true


def one_hot(p: Floats, true: Integers) -> Floats:
    return np.asarray(np.eye(p.shape[1])[true])


def at_truth(p: Floats, true: Integers) -> list[float]:
    return [float(row[label]) for row, label in zip(p, true, strict=True)]


def zero_one(p: Floats, true: Integers) -> Floats:
    return np.asarray(p.argmax(axis=1) != true, dtype=np.float64)


def brier(p: Floats, true: Integers) -> Floats:
    return np.asarray(0.5 * np.linalg.norm(p - one_hot(p, true), axis=1) ** 2)


def jsd(p: Floats, true: Integers) -> Floats:
    return np.asarray(jensenshannon(p, one_hot(p, true), base=2, axis=1) ** 2)


def absolute(p: Floats, true: Integers) -> Floats:
    """Total variation distance from the one-hot truth."""
    return np.asarray(0.5 * np.abs(p - one_hot(p, true)).sum(axis=1))


def cross_entropy(p: Floats, true: Integers) -> Floats:
    return np.array([-math.log(q) if q else math.inf for q in at_truth(p, true)])


REFERENCES: dict[str, Callable[[Floats, Integers], Floats]] = {
    f.__name__: f for f in (zero_one, brier, jsd, absolute, cross_entropy)
}
TAKING_PROBABILITIES = [name for name, loss in LOSSES.items() if loss.takes == "probabilities"]


def rows(loss: Loss, given_: Predictions) -> Floats:
    assert loss.rows is not None
    return loss.rows(*given_)


def test_every_loss_has_a_reference() -> None:
    assert set(REFERENCES) == set(LOSSES)
    assert all(name == loss.name for name, loss in LOSSES.items())
    assert [name for name, loss in LOSSES.items() if loss.rows is None] == ["zero_one"]


@pytest.mark.parametrize("name", TAKING_PROBABILITIES)
@given(drawn=predictions())
def test_agrees_with_its_reference_and_keeps_its_range(name: str, drawn: Predictions) -> None:
    loss = LOSSES[name]
    found = rows(loss, drawn)
    np.testing.assert_allclose(found, REFERENCES[name](*drawn), rtol=1e-12, atol=1e-14)
    assert (found >= 0).all()
    assert (found <= loss.ceiling).all()


@given(drawn=predictions(labels=2))
def test_brier_of_two_labels_is_the_squared_error(drawn: Predictions) -> None:
    p, true = drawn
    np.testing.assert_allclose(rows(LOSSES["brier"], drawn), (p[:, 1] - true) ** 2, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", TAKING_PROBABILITIES)
@pytest.mark.parametrize("labels", [2, 3, 7])
def test_extremes_are_zero_and_the_ceiling(name: str, labels: int) -> None:
    sure = np.eye(labels)
    right, wrong = np.arange(labels), np.roll(np.arange(labels), 1)
    assert (rows(LOSSES[name], (sure, right)) == 0).all()
    assert (rows(LOSSES[name], (sure, wrong)) == LOSSES[name].ceiling).all()


@pytest.mark.parametrize("name", TAKING_PROBABILITIES)
@given(drawn=predictions(), clip=st.floats(0.01, 5.0))
def test_clip_cuts_the_loss_and_sets_the_ceiling(name: str, drawn: Predictions, clip: float) -> None:
    loss = LOSSES[name]
    clipped = loss.clipped(clip)
    assert clipped.ceiling == min(clip, loss.ceiling)
    np.testing.assert_array_equal(rows(clipped, drawn), np.minimum(rows(loss, drawn), clip))


def test_clip_reaches_the_population() -> None:
    population = Population.from_predictions(
        [0, 1, 0, 1], [0.0, 0.0, 1.0, 0.5], sensitive_features=list("aabb"), loss="cross_entropy", clip=3.0
    )
    assert population.ceiling == 3.0
    np.testing.assert_allclose(population.mean, [[0.0, 3.0], [3.0, math.log(2.0)]])


@given(true=st.lists(st.integers(0, 2), min_size=4, max_size=12), data=st.data())
def test_zero_one_counts_wrong_labels(true: list[int], data: st.DataObject) -> None:
    predicted = data.draw(st.lists(st.integers(0, 2), min_size=len(true), max_size=len(true)))
    true, predicted = [0, 1, *true], [0, 1, *predicted]
    population = Population.from_predictions(
        true, predicted, sensitive_features=[i % 2 for i in range(len(true))], unknown_predictions="allow"
    )
    expected = REFERENCES["zero_one"](np.eye(3)[predicted], np.array(true)).mean()
    assert population.loss == pytest.approx(expected, rel=1e-12)
    assert (population.ceiling, population.loss_name) == (1.0, "zero_one")


def test_a_loss_of_ones_own_works_from_end_to_end() -> None:
    double = Loss("double", 2.0, "probabilities", lambda p, true: 2.0 - 2.0 * p[np.arange(len(p)), true])
    truth, groups, probability = [0, 1, 0, 1], list("aabb"), np.array([0.1, 0.8, 0.4, 0.75])
    own, built_in = (
        Population.from_predictions(truth, probability, sensitive_features=groups, loss=loss)
        for loss in (double, "absolute")
    )
    assert (own.loss_name, own.ceiling) == ("double", 2.0)
    np.testing.assert_allclose(own.mean, 2 * built_in.mean)
    assert certify(own, 0.3).bound == pytest.approx(2 * certify(built_in, 0.3).bound, abs=1e-5)
