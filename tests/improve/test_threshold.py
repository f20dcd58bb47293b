"""CertifiedThreshold: as an estimator among others, and what it promises."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="CertifiedThreshold stands on scikit-learn")

import pandas as pd
import polars as pl
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairbound import CertifiedThreshold, DataWarning, InputError, Population, certify
from fairbound.improve.search import decided

Rows = tuple[Any, Any, Any]


def rows(seed: int, size: int = 2000, labels: int = 2, groups: int = 2) -> Rows:
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=size)
    rates = rng.dirichlet(np.linspace(6, 3, labels), size=groups)
    y = np.array([rng.choice(labels, p=rates[s]) for s in group])
    X = rng.normal(size=(size, 4)) + 0.7 * np.eye(4)[y % 4] + 0.2 * group[:, None]
    return X, np.array(["no", "yes", "maybe"])[y], np.array(["f", "m", "x"])[group]


def fitted(**options: Any) -> tuple[CertifiedThreshold, Rows]:
    X, y, groups = rows(0)
    model = CertifiedThreshold(LogisticRegression(), **{"rho": 0.2} | options)
    return model.fit(X, y, sensitive_features=groups), (X, y, groups)


class EveryOtherRow:
    """Two groups in turn. It is written alike in every process, so that tests have the same names in all of them."""

    def __call__(self, X: Any) -> Any:
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))) % 2

    def __repr__(self) -> str:
        return "every other row"


def reasons(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that do not apply, and why."""
    return {
        "check_classifiers_train": "decisions are not the largest probability: that is what they are chosen for",
        "check_classifiers_train(readonly_memmap=True)": "the same",
        "check_classifiers_train(readonly_memmap=True,X_dtype=float32)": "the same",
        "check_classifiers_one_label": "one label has no base rates to compare: refused in our words",
        "check_fit2d_1sample": "one row has one group: refused in our words",
    }


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        CertifiedThreshold(
            LogisticRegression(), rho=0.7, sensitive=EveryOtherRow(), cv=2, options={"empty_cells": "ceiling"}
        )
    ],
    expected_failed_checks=reasons,
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("blind", [True, False])
@pytest.mark.parametrize("shift", ["sensitive", "general"])
def test_what_is_said_of_the_selection_is_true(blind: bool, shift: str) -> None:
    model, (X, y, groups) = fitted(group_blind=blind, shift=shift)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=5, method="predict_proba")
    codes: Any = np.searchsorted(np.array(model.groups_), groups)
    chosen = model.classes_[decided(scores, model.decision_weights_, None if blind else codes)]
    plain = model.classes_[scores.argmax(axis=1)]
    found, before = (Population.from_predictions(y, one, sensitive_features=groups) for one in (chosen, plain))
    assert model.selection_error_ == pytest.approx(found.loss)
    assert found.loss <= before.loss + 0.005 + 1e-12
    bounds = [certify(one, 0.2, shift=shift, tol=1e-4).bound for one in (found, before)]  # type: ignore[arg-type]
    assert model.selection_bound_ == pytest.approx(bounds[0], abs=1e-9)
    assert bounds[0] <= bounds[1]
    assert model.path_.bound[0] == pytest.approx(bounds[1], abs=1e-9)
    allowed = model.path_.error <= model.path_.allowed + 1e-12
    assert model.selection_bound_ <= model.path_.bound[allowed].min() + 1e-9


def test_repeated_folds_hang_less_on_chance() -> None:
    """Each row counts with all its scores; what is said of the selection is what they give together."""
    X, y, groups = rows(0, 300)
    found: dict[int, list[float]] = {1: [], 10: []}
    for repeats, chosen in found.items():
        for seed in range(6):
            cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=repeats, random_state=seed)
            model = CertifiedThreshold(LogisticRegression(), cv=cv, certificates=40)
            model.fit(X, y, sensitive_features=groups)
            chosen.append(model.thresholds_)
    assert np.std(found[10]) < 0.7 * np.std(found[1])
    splits = list(cv.split(X, y))
    parts = [splits[n : n + 4] for n in range(0, 40, 4)]
    scores = [cross_val_predict(LogisticRegression(), X, y, cv=part, method="predict_proba") for part in parts]
    decisions = model.classes_[decided(np.concatenate(scores), model.decision_weights_)]
    pooled = Population.from_predictions(np.tile(y, 10), decisions, sensitive_features=np.tile(groups, 10))
    assert model.selection_error_ == pytest.approx(pooled.loss)
    assert model.selection_bound_ == pytest.approx(certify(pooled, 0.2, shift="sensitive", tol=1e-4).bound, abs=1e-9)


def test_repeated_folds_are_no_more_rows() -> None:
    """With a confidence ten scores of a row do not count as ten rows: the bound is about what one division gives."""
    X, y, groups = rows(0, 400)
    bounds = []
    for repeats in (1, 10):
        cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=repeats, random_state=0)
        asked: dict[str, Any] = {"options": {"confidence": 0.9}, "certificates": 3, "cv": cv}
        model = CertifiedThreshold(LogisticRegression(), **asked).fit(X, y, sensitive_features=groups)
        bounds.append(model.path_.bound[0])
    assert bounds[1] == pytest.approx(bounds[0], abs=0.03)
    with pytest.raises(ValueError, match="partition"):
        CertifiedThreshold(LogisticRegression(), cv=ShuffleSplit(3)).fit(X, y, sensitive_features=groups)


def test_no_threshold_is_much_better() -> None:
    """An exhaustive search over all thresholds, which the class does not make."""
    model, (X, y, groups) = fitted()
    scores = cross_val_predict(LogisticRegression(), X, y, cv=5, method="predict_proba")[:, 1]
    best = np.inf
    for threshold in np.linspace(0.2, 0.8, 241):
        found = Population.from_predictions(y, np.where(scores > threshold, "yes", "no"), sensitive_features=groups)
        if found.loss <= model.path_.allowed:
            best = min(best, certify(found, 0.2, shift="sensitive").bound)
    assert model.selection_bound_ <= best + 0.003


@pytest.mark.slow
def test_lower_on_other_rows() -> None:
    gained = []
    for seed in range(10):
        X, y, groups = rows(seed, 6000)
        plain = LogisticRegression().fit(X[:3000], y[:3000])
        model = CertifiedThreshold(LogisticRegression(), rho=0.2, max_error_increase=0.02)
        model.fit(X[:3000], y[:3000], sensitive_features=groups[:3000])
        bounds = [
            certify(
                Population.from_estimator(one, X[3000:], y[3000:], sensitive_features=groups[3000:]),
                0.2,
                shift="sensitive",
            ).bound
            for one in (plain, model)
        ]
        gained.append(bounds[0] - bounds[1])
    assert np.mean(gained) > 0.005
    assert np.mean(np.array(gained) >= -0.003) >= 0.9


def test_thresholds_are_where_decisions_change() -> None:
    model, (X, _, _) = fitted()
    assert isinstance(model.thresholds_, float)
    above = model.predict_proba(X)[:, 1] > model.thresholds_
    assert (model.predict(X) == np.where(above, "yes", "no")).all()


def test_group_aware_decisions_need_groups() -> None:
    model, (X, _, groups) = fitted(group_blind=False)
    assert model.decision_weights_.shape == (2, 2)
    assert isinstance(model.thresholds_, dict)
    above = model.predict_proba(X)[:, 1] > np.array([model.thresholds_[g] for g in groups])
    assert (model.predict(X, sensitive_features=groups) == np.where(above, "yes", "no")).all()
    with pytest.raises(InputError, match=r"sensitive_features is missing.*group_blind=False"):
        model.predict(X)
    with pytest.raises(InputError, match="group 'other', which fit has not seen"):
        model.predict(X, sensitive_features=np.where(groups == "f", "other", groups))
    one = groups == "f"
    assert (
        model.predict(X[one], sensitive_features=groups[one]) == model.predict(X, sensitive_features=groups)[one]
    ).all()


@pytest.mark.parametrize("metric", ["loss", "equalized_odds_difference"])
def test_group_aware_decisions_are_certified_with_their_groups(metric: str) -> None:
    """The population of a model is that of what it predicts, wherever the groups come from."""
    model, _ = fitted(group_blind=False, metric=metric, certificates=15)
    X, y, groups = rows(8)
    predicted = model.predict(X, sensitive_features=groups)
    direct = Population.from_predictions(y, predicted, sensitive_features=groups)
    found = Population.from_estimator(model, X, y, sensitive_features=groups)
    assert found.predicted is not None
    assert direct.predicted is not None
    np.testing.assert_array_equal(found.predicted.weight, direct.predicted.weight)
    chain = make_pipeline(StandardScaler(with_mean=False, with_std=False), clone(model))
    old_X, old_y, old_groups = rows(0)
    chain.fit(old_X, old_y, certifiedthreshold__sensitive_features=old_groups)
    assert Population.from_estimator(chain, X, y, sensitive_features=groups).loss == direct.loss
    frame, old = (pd.DataFrame(part).assign(sex=who) for part, who in ((X, groups), (old_X, old_groups)))
    for part in (frame, old):
        part.columns = part.columns.astype(str)
    inside = clone(model).set_params(sensitive="sex").fit(old, old_y)
    assert Population.from_estimator(inside, frame, y, sensitive_features=groups).loss == direct.loss
    with config_context(enable_metadata_routing=True):
        blind = make_pipeline(StandardScaler(), fitted()[0])  # does without, so no routing need be asked for
        blind[0].fit(old_X)
        assert Population.from_estimator(blind, X, y, sensitive_features=groups).rows == 2000
    search = GridSearchCV(clone(model), {"rho": [0.2]}, cv=2, error_score="raise")
    with pytest.raises(InputError, match=r"sensitive_features is missing.*say with sensitive where in X"):
        search.fit(old_X, old_y, sensitive_features=old_groups)


def test_fairlearns_remedies_are_given_the_groups() -> None:
    post = pytest.importorskip("fairlearn.postprocessing")
    X, y, groups = rows(0)
    codes = (y == "yes").astype(int)
    model = post.ThresholdOptimizer(
        estimator=LogisticRegression(), constraints="demographic_parity", predict_method="predict_proba"
    ).fit(X[:1000], codes[:1000], sensitive_features=groups[:1000])
    held_out = X[1000:], codes[1000:]
    found = Population.from_estimator(model, *held_out, sensitive_features=groups[1000:])
    assert found.rows == 1000


def test_many_classes_and_groups() -> None:
    X, y, groups = rows(3, 1500, 3, 3)
    model = CertifiedThreshold(LogisticRegression(), rho=0.25, certificates=25).fit(X, y, sensitive_features=groups)
    assert model.thresholds_ is None
    assert model.decision_weights_.shape == (3,)
    assert model.selection_bound_ <= model.path_.bound[0]
    assert set(model.predict(X)) <= set(model.classes_)
    assert len(model.path_.error) <= 25


@pytest.mark.parametrize("metric", ["equalized_odds_difference", "demographic_parity_ratio", "cell_loss"])
def test_other_metrics(metric: str) -> None:
    model, _ = fitted(metric=metric, max_error_increase=0.03, certificates=40, group_blind=False)
    gained = model.selection_bound_ - model.path_.bound[0]
    assert (gained >= 0) if model.path_.lower else (gained <= 0)
    assert gained != 0


@pytest.mark.parametrize("library", [pd, pl])
def test_the_attribute_from_a_column(library: Any) -> None:
    X, y, groups = rows(1)
    frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1], "sex": groups})
    model = CertifiedThreshold(LogisticRegression(), rho=0.2, sensitive="sex").fit(frame, y)
    assert model.estimator_.n_features_in_ == 2  # the column is kept from it
    direct = CertifiedThreshold(LogisticRegression(), rho=0.2).fit(X[:, :2], y, sensitive_features=groups)
    assert model.thresholds_ == direct.thresholds_
    assert (model.predict(frame) == direct.predict(X[:, :2])).all()
    assert (model.predict(frame[["a", "b"]]) == direct.predict(X[:, :2])).all()  # blind decisions do without it
    with pytest.raises(InputError, match="names the column 'gender'"):
        CertifiedThreshold(LogisticRegression(), sensitive="gender").fit(frame, y)


def test_a_numbered_column() -> None:
    X, y, groups = rows(1)
    wide = np.column_stack([groups == "m", X])
    model = CertifiedThreshold(LogisticRegression(), sensitive=0).fit(wide, y)
    assert model.estimator_.n_features_in_ == 4
    with pytest.raises(InputError, match="names no column"):
        CertifiedThreshold(LogisticRegression(), sensitive=9).fit(wide, y)


def test_clone_pipeline_and_search() -> None:
    X, y, groups = rows(2, 800)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(sex=groups)
    model = CertifiedThreshold(make_pipeline(StandardScaler(), LogisticRegression()), sensitive="sex", certificates=12)
    assert clone(model).get_params()["sensitive"] == "sex"
    scores = cross_val_score(model, frame, y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.5).all()
    found = GridSearchCV(model, {"max_error_increase": [0.0, 0.01]}, cv=2).fit(frame, y)
    assert found.best_params_["max_error_increase"] in {0.0, 0.01}
    scaled = ColumnTransformer([("numbers", StandardScaler(), list("abcd"))], remainder="passthrough")
    outer = make_pipeline(
        scaled.set_output(transform="pandas"),
        CertifiedThreshold(LogisticRegression(), sensitive="remainder__sex", certificates=12),
    )
    assert set(outer.fit(frame, y).predict(frame)) == {"no", "yes"}
    again = pickle.loads(pickle.dumps(outer))  # noqa: S301 (our own)
    assert (again.predict(frame) == outer.predict(frame)).all()


class Weighted(LogisticRegression):  # type: ignore[misc]
    """Remembers whether it was given weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighted:
        self.weighted_ = sample_weight is not None
        super().fit(X, y, sample_weight)
        return self


def test_metadata_is_routed() -> None:
    X, y, groups = rows(4, 800)
    weights = np.ones(len(y))
    plain = CertifiedThreshold(Weighted(), certificates=5)
    assert plain.fit(X, y, sensitive_features=groups, sample_weight=weights).estimator_.weighted_
    with config_context(enable_metadata_routing=True):
        asked = CertifiedThreshold(Weighted().set_fit_request(sample_weight=True), certificates=5)
        asked.set_fit_request(sensitive_features=True).set_score_request(sample_weight=False)
        assert asked.fit(X, y, sensitive_features=groups, sample_weight=weights).estimator_.weighted_
        given = {"sensitive_features": groups, "sample_weight": weights}
        assert cross_val_score(asked, X, y, cv=2, params=given).shape == (2,)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        chain = make_pipeline(scaler, asked).fit(X, y, **given)
        assert chain[-1].estimator_.weighted_


def test_rows_that_were_chosen_with_are_refused() -> None:
    model, (X, y, groups) = fitted()
    other_X, other_y, other_groups = rows(7)
    with pytest.raises(InputError, match=r"2,000 of 2,000 rows that the estimator chose its decisions with"):
        Population.from_estimator(model, X, y, sensitive_features=groups)
    shuffled = np.random.default_rng(0).permutation(len(y))[:1200]
    with pytest.raises(InputError, match="held out"):
        Population.from_estimator(model, X[shuffled], y[shuffled], sensitive_features=groups[shuffled])
    assert Population.from_estimator(model, other_X, other_y, sensitive_features=other_groups).rows == 2000
    mixed = (np.concatenate(pair) for pair in ((other_X, X[:100]), (other_y, y[:100]), (other_groups, groups[:100])))
    mixed_X, mixed_y, mixed_groups = mixed
    with pytest.warns(DataWarning, match=r"100 of 2,100 rows"):
        Population.from_estimator(model, mixed_X, mixed_y, sensitive_features=mixed_groups)


def test_rows_in_a_pipeline_and_in_frames_are_known_again() -> None:
    X, y, groups = rows(5, 600)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(sex=groups)
    for model in (
        CertifiedThreshold(LogisticRegression(), sensitive="sex", certificates=5).fit(frame, y),
        make_pipeline(
            ColumnTransformer([("n", StandardScaler(), list("abcd"))], remainder="passthrough").set_output(
                transform="pandas"
            ),
            CertifiedThreshold(LogisticRegression(), sensitive="remainder__sex", certificates=5),
        ).fit(frame, y),
    ):
        with pytest.raises(InputError, match="600 of 600 rows"):
            Population.from_estimator(model, frame, y, sensitive_features=groups)


def test_rows_that_are_equal_by_chance_are_no_reason() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(2000, 2)).astype(float)  # nine different rows in all
    y, groups = (X[:, 0] + rng.integers(3, size=2000) > 2).astype(int), rng.integers(2, size=2000)
    model = CertifiedThreshold(LogisticRegression(), certificates=5).fit(
        X[:1000], y[:1000], sensitive_features=groups[:1000]
    )
    found = Population.from_estimator(model, X[1000:], y[1000:], sensitive_features=groups[1000:])
    assert found.rows == 1000


def test_scores_that_are_no_probabilities_are_pointed_out() -> None:
    X, y, groups = rows(6, 800)

    class Off(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            p = super().predict_proba(X) ** 3
            return p / p.sum(axis=1, keepdims=True)

    X, y, groups = rows(6, 800)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.4, "no", y)
    with pytest.warns(DataWarning, match="thresholds of scores"):
        CertifiedThreshold(Off(), certificates=5).fit(X, y, sensitive_features=groups)


class NoProbabilities(BaseEstimator):  # type: ignore[misc]
    """No classifier."""


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"estimator": LinearSVC()}, "has no predict_proba.*CalibratedClassifierCV"),
        ({"estimator": NoProbabilities()}, "has no predict_proba"),
        ({"max_error_increase": -0.1}, "max_error_increase=-0.1 must be a number from 0 to 1"),
        ({"certificates": 0}, "certificates=0 must be a whole number"),
        ({"rho": 0.0001}, "rho=0.0001 is too small"),
        ({"metric": "odds"}, "metric='odds' is not known"),
        ({"options": {"shfit": 1}}, "did you mean shift"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    X, y, groups = rows(0, 400)
    with pytest.raises((InputError, ValueError, TypeError), match=words):
        CertifiedThreshold(**{"estimator": LogisticRegression()} | changed).fit(X, y, sensitive_features=groups)


def test_groups_are_needed() -> None:
    X, y, groups = rows(0, 400)
    with pytest.raises(InputError, match="sensitive_features is missing"):
        CertifiedThreshold(LogisticRegression()).fit(X, y)
    with pytest.raises(InputError, match="leave one"):
        CertifiedThreshold(LogisticRegression(), sensitive=0).fit(X, y, sensitive_features=groups)


def test_the_path_can_be_drawn_and_read() -> None:
    pytest.importorskip("matplotlib")
    model, _ = fitted(certificates=20)
    axes = model.path_.plot()
    assert axes.get_ylabel() == "bound there"
    frame = model.path_.to_frame("polars")
    assert frame["chosen"].sum() == 1
    best = frame.filter(frame["best"]).sort("error")
    assert best["bound"].is_sorted(descending=True)
