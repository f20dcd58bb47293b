"""The conventions of the field: scikit-learn's scorers and estimators, Fairlearn's metrics, arrays of any library."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from fairlearn.metrics import MetricFrame, demographic_parity_difference
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fairbound import InfeasibleError, InputError, Population, certified_loss, certify
from fairbound.arithmetic.arrays import AnyArray, Floats

SIZE = 400


def data(seed: int = 1) -> tuple[Floats, AnyArray, AnyArray]:
    """Features, labels and groups; every fold has rows in every cell."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["f", "m"], SIZE)
    truth = np.where(rng.random(SIZE) < np.where(group == "f", 0.4, 0.6), "yes", "no")
    X = rng.normal(size=(SIZE, 3)) + (truth == "yes")[:, None] * [1.0, 0.5, 0.0]
    return X, truth, group


def same(one: Population, two: Population) -> None:
    assert (one.groups, one.labels, one.rows, one.loss_name, one.ceiling) == (
        two.groups,
        two.labels,
        two.rows,
        two.loss_name,
        two.ceiling,
    )
    np.testing.assert_array_equal(one.weight, two.weight)
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-14)


# certified_loss


def test_it_is_the_bound_of_a_certificate() -> None:
    X, y, group = data()
    predicted = LogisticRegression().fit(X, y).predict(X)
    population = Population.from_predictions(y, predicted, sensitive_features=group)
    found = certified_loss(y, predicted, sensitive_features=group, rho=0.3, shift="sensitive", group_skew=0.4)
    assert type(found) is float
    assert found == certify(population, 0.3, shift="sensitive", group_skew=0.4).bound
    weights = np.arange(SIZE)
    probability = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    weighted = Population.from_predictions(
        y, probability, sensitive_features=group, loss="cross_entropy", clip=3.0, sample_weight=weights
    )
    assert (
        certified_loss(
            y, probability, sensitive_features=group, rho=0.3, loss="cross_entropy", clip=3.0, sample_weight=weights
        )
        == certify(weighted, 0.3).bound
    )


def test_too_small_a_radius_is_an_error_and_not_a_number() -> None:
    X, y, group = data()
    with pytest.raises(InfeasibleError, match=r"rho=0\.0 is too small"):
        certified_loss(y, LogisticRegression().fit(X, y).predict(X), sensitive_features=group, rho=0.0)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_in_cross_validation(method: str) -> None:
    X, y, group = data()
    loss = "zero_one" if method == "predict" else "brier"
    scorer = make_scorer(certified_loss, greater_is_better=False, response_method=method, rho=0.3, loss=loss)
    scorer = scorer.set_score_request(sensitive_features=True)
    folds = StratifiedKFold(4)
    found = cross_validate(
        LogisticRegression(), X, y, scoring=scorer, cv=folds, params={"sensitive_features": group}, error_score="raise"
    )["test_score"]
    for score, (train, test) in zip(found, folds.split(X, y), strict=True):
        model = LogisticRegression().fit(X[train], y[train])
        population = Population.from_estimator(model, X[test], y[test], sensitive_features=group[test], loss=loss)
        assert score == -certify(population, 0.3).bound


@pytest.mark.usefixtures("routing")
def test_choosing_a_model_with_weights() -> None:
    X, y, group = data()
    scorer = make_scorer(certified_loss, greater_is_better=False, rho=0.3)
    scorer = scorer.set_score_request(sensitive_features=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=False))
    search = GridSearchCV(model, {"logisticregression__C": [1e-6, 1.0]}, scoring=scorer, cv=3, error_score="raise")
    search.fit(X, y, sensitive_features=group, sample_weight=np.linspace(1, 2, SIZE))
    assert search.best_params_ == {"logisticregression__C": 1.0}


@pytest.mark.usefixtures("routing")
def test_infeasible_folds_get_the_error_score() -> None:
    X, y, group = data()
    scorer = make_scorer(certified_loss, greater_is_better=False, rho=0.0).set_score_request(sensitive_features=True)
    call = functools.partial(
        cross_validate, LogisticRegression(), X, y, scoring=scorer, cv=3, params={"sensitive_features": group}
    )
    with pytest.warns(UserWarning, match="rho=0.0 is too small"):
        assert np.isnan(call()["test_score"]).all()
    with pytest.raises(InfeasibleError):
        call(error_score="raise")


def test_as_a_metric_of_fairlearn() -> None:
    """It takes what Fairlearn's own metrics take; in a frame it is computed in each part of the control features."""
    X, y, group = data()
    predicted = LogisticRegression().fit(X, y).predict(X)
    region = np.where(np.arange(SIZE) % 2, "north", "south")
    metrics = {
        "certified": functools.partial(certified_loss, rho=0.3),
        "parity": lambda t, p, sensitive_features: demographic_parity_difference(
            t == "yes", p == "yes", sensitive_features=sensitive_features
        ),
    }
    parameters = {name: {"sensitive_features": group} for name in metrics}
    frame = MetricFrame(
        metrics=metrics, y_true=y, y_pred=predicted, sensitive_features=region, sample_params=parameters
    )
    assert frame.overall["certified"] == certified_loss(y, predicted, sensitive_features=group, rho=0.3)
    for name in ("north", "south"):
        part = region == name
        assert frame.by_group["certified"][name] == certified_loss(
            y[part], predicted[part], sensitive_features=group[part], rho=0.3
        )


# estimators


def test_estimators_and_pipelines() -> None:
    X, y, group = data()
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        model.fit(X, y)
        same(
            Population.from_estimator(model, X, y, sensitive_features=group),
            Population.from_predictions(y, model.predict(X), sensitive_features=group),
        )
        same(
            Population.from_estimator(model, X, y, sensitive_features=group, loss="jsd"),
            Population.from_predictions(y, model.predict_proba(X), sensitive_features=group, loss="jsd"),
        )
        weight = np.arange(SIZE)
        same(
            Population.from_estimator(
                model, X, y, sensitive_features=group, loss="cross_entropy", clip=2.0, sample_weight=weight
            ),
            Population.from_predictions(
                y,
                model.predict_proba(X)[:, 1],
                sensitive_features=group,
                loss="cross_entropy",
                clip=2.0,
                sample_weight=weight,
            ),
        )


def test_columns_follow_the_classes_of_the_estimator() -> None:
    """Not the order of the labels: here categories reverse it, and the model knows a class that does not occur."""
    X, y, group = data()
    more = np.where(np.arange(SIZE) % 5, y, "maybe")
    model = LogisticRegression().fit(X, more)
    assert list(model.classes_) == ["maybe", "no", "yes"]
    reverse = pd.Series(pd.Categorical(y, categories=["yes", "no"]))
    found = Population.from_estimator(model, X, reverse, sensitive_features=group, loss="brier")
    assert found.labels == ("yes", "no")
    probability = model.predict_proba(X)
    truth = np.stack([np.zeros(SIZE), y == "no", y == "yes"], axis=1)
    losses = 0.5 * np.square(probability - truth).sum(axis=1)
    same(
        found,
        Population.from_losses(losses, reverse, sensitive_features=group, loss="brier"),
    )


def test_functions_are_estimators() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    for loss, function in (
        ("zero_one", model.predict),
        ("absolute", model.predict_proba),
        ("absolute", lambda rows: model.predict_proba(rows)[:, 1]),
    ):
        same(
            Population.from_estimator(function, X, y, sensitive_features=group, loss=loss),
            Population.from_estimator(model, X, y, sensitive_features=group, loss=loss),
        )


def test_models_that_ask_for_the_groups_are_given_them() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)

    def by_group(rows: Any, sensitive_features: Any) -> Any:
        return np.where(sensitive_features == np.unique(group)[0], model.predict(rows), "no")

    expected = np.where(group == np.unique(group)[0], model.predict(X), "no")
    same(
        Population.from_estimator(by_group, X, y, sensitive_features=group),
        Population.from_predictions(y, expected, sensitive_features=group),
    )


def test_estimators_that_do_not_fit_are_refused() -> None:
    X, y, group = data()
    machine = LinearSVC().fit(X, y)
    assert Population.from_estimator(machine, X, y, sensitive_features=group).rows == SIZE
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (machine, {"loss": "brier"}, "a LinearSVC, has no predict_proba, which the loss 'brier' needs"),
        ("model", {}, "a str, has no predict"),
        (LogisticRegression, {}, "has no predict"),
        (
            LogisticRegression().fit(X, np.where(y == "no", "No", y)),
            {"loss": "brier"},
            "label 'no', which the estimator does not know",
        ),
        (lambda _: y[1:], {}, "y_pred has 399"),
        (lambda _: np.full((SIZE, 3), 1 / 3), {"loss": "brier"}, "a column for each of the labels"),
        (lambda _: np.full(SIZE, 2.0), {"loss": "brier"}, "pass probabilities"),
        (lambda _: np.full(SIZE, 1.0), {"loss": "cross_entropy"}, "pass clip"),
        (LogisticRegression().fit(X, y), {"loss": "mse"}, "loss='mse'"),
    ]
    for estimator, changed, match in cases:
        with pytest.raises(InputError, match=match):
            Population.from_estimator(estimator, X, y, sensitive_features=group, **changed)


# arrays of other libraries


class OnlyArray:
    """Converts itself, and can do nothing else."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> AnyArray:
        return np.array(self.values, dtype=dtype)


class OnlyDLPack:
    """Exports DLPack, and can do nothing else."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class OnDevice(OnlyDLPack):
    """An array that is not in this machine's memory."""

    def __dlpack__(self, **_: Any) -> Any:
        message = "the array is on a GPU"
        raise BufferError(message)


def numbers_of(kind: Any) -> tuple[Population, Population]:
    rng = np.random.default_rng(0)
    loss, label, group, weight = rng.random(50), rng.integers(0, 2, 50), rng.integers(0, 3, 50), rng.random(50)
    probability = np.stack([loss, 1 - loss], axis=1)
    return (
        Population.from_losses(kind(loss), kind(label), sensitive_features=kind(group), sample_weight=kind(weight)),
        Population.from_predictions(
            kind(label), kind(probability), sensitive_features={"g": kind(group), "h": kind(label)}, loss="brier"
        ),
    )


@pytest.mark.parametrize("kind", [OnlyArray, OnlyDLPack, pl.Series, pa.array, pd.Series])
def test_arrays_of_any_kind(kind: Any) -> None:
    def column(values: Floats) -> Any:
        return kind(values) if values.ndim == 1 or kind in (OnlyArray, OnlyDLPack) else values

    for found, exact in zip(numbers_of(column), numbers_of(np.asarray), strict=True):
        same(found, exact)
        assert [*map(type, found.groups)] == [*map(type, exact.groups)]


def test_moments_and_predictions_of_any_kind() -> None:
    mass, mean = [[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.5]]
    variance = [[0.01, 0.02], [0.03, 0.04]]
    exact = Population.from_moments(mass, mean, variance)
    for kind in (OnlyArray, OnlyDLPack):
        same(Population.from_moments(kind(mass), kind(mean), kind(variance)), exact)
        labels = kind([0, 1, 0, 1]), kind([0, 1, 1, 1])
        assert Population.from_predictions(*labels, sensitive_features=kind([1, 1, 2, 2])).loss == 0.25


def test_tables_of_groups_of_any_library() -> None:
    columns = {"sex": ["f", "m", "f", "m"], "old": [True, True, False, True]}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        population = Population.from_losses([0.1, 0.2, 0.4, 0.9], [0, 1, 0, 1], sensitive_features=table)
        assert population.groups == (("f", False), ("f", True), ("m", True))


def test_arrays_elsewhere_are_refused() -> None:
    with pytest.raises(InputError, match=r"losses, a OnDevice, .* on a GPU; move it to the CPU"):
        Population.from_losses(OnDevice([0.1]), [0], sensitive_features=["a"])


def test_tensors() -> None:
    torch = pytest.importorskip("torch")

    def tensor(values: Floats) -> Any:
        made = torch.tensor(values)
        return made.requires_grad_() if made.is_floating_point() else made

    for found, exact in zip(numbers_of(tensor), numbers_of(np.asarray), strict=True):
        same(found, exact)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch itself, about threads
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(dim=1))
    X, y, group = data()
    rows = torch.tensor(X, dtype=torch.float32)
    same(
        Population.from_estimator(model, rows, y, sensitive_features=group, loss="brier"),
        Population.from_predictions(y, model(rows).detach().numpy(), sensitive_features=group, loss="brier"),
    )
    short = torch.tensor([0.5, 0.25, 0.125, 1.0], dtype=torch.bfloat16)
    assert Population.from_losses(short, [0, 1, 0, 1], sensitive_features=list("aabb")).loss == 1.875 / 4
