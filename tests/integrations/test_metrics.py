"""Certified metrics by Fairlearn's names: beside Fairlearn itself, in scorers, and in its tables."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fairbound import Population, certify, verify
from fairbound.integrations import metrics as certified
from tests.integrations.problems import population, rows

#: Fairlearn's name, and ours.
NAMES = {
    "demographic_parity_difference": "demographic_parity_difference",
    "demographic_parity_ratio": "demographic_parity_ratio",
    "equalized_odds_difference": "equalized_odds_difference",
    "equal_opportunity_difference": "true_positive_rate_difference",
    "true_positive_rate_difference": "true_positive_rate_difference",
    "false_positive_rate_difference": "false_positive_rate_difference",
    "zero_one_loss_difference": "group_loss_difference",
    "zero_one_loss_group_max": "group_loss",
}


@pytest.mark.parametrize(("name", "metric"), NAMES.items())
def test_each_bounds_what_fairlearn_measures(name: str, metric: str) -> None:
    """On the data both are the same; with the radius the bound moves away from it, to the safe side."""
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="Fairlearn is not installed")
    y, predicted, sex = rows()
    measured = float(getattr(fairlearn, name)(y, predicted, sensitive_features=sex))
    function = getattr(certified, f"certified_{name}")
    # No condition on base rates, and nearly no distance: the bound is the value on the data.
    near = function(y, predicted, sensitive_features=sex, rho=1e-6, fair=False)
    assert near == pytest.approx(measured, abs=1e-4)
    far = function(y, predicted, sensitive_features=sex, rho=0.1, fair=False)
    assert far < measured - 0.01 if metric == "demographic_parity_ratio" else far > measured + 0.01
    certificate = certify(population(), 0.1, metric=metric, shift="sensitive")  # type: ignore[arg-type]  # a name
    bound = function(y, predicted, sensitive_features=sex, rho=0.1, shift="sensitive")
    assert bound == certificate.bound


def test_every_function_is_listed_above() -> None:
    found = {name.removeprefix("certified_") for name in vars(certified) if name.startswith("certified_")}
    assert found == NAMES.keys() | {"by_group", "loss"}
    for name in NAMES:
        function = getattr(certified, f"certified_{name}")
        assert function.__name__ == f"certified_{name}"
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 (our own; workers take scorers so)


def test_scorers_take_them() -> None:
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (it may be missing)
    from sklearn.metrics import make_scorer  # noqa: PLC0415 (likewise)
    from sklearn.model_selection import cross_validate  # noqa: PLC0415 (likewise)

    y, predicted, sex = rows(900)
    X = np.column_stack([predicted, sex == "f"]).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(certified.certified_demographic_parity_difference, greater_is_better=False, rho=0.1)
        scorer.set_score_request(sensitive_features=True)
        found = cross_validate(LogisticRegression(), X, y, cv=3, scoring=scorer, params={"sensitive_features": sex})
    assert found["test_score"].shape == (3,)
    assert (found["test_score"] < 0).all()


def test_fairlearns_tables_take_them() -> None:
    """Within each category of another column: what is compared there are the groups of this one."""
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="Fairlearn is not installed")
    y, predicted, sex = rows()
    old = np.where(np.arange(len(y)) % 3 == 0, "old", "young")
    bound = certified.certified_demographic_parity_difference

    def parity(y_true: object, y_pred: object, sex: object) -> float:
        return bound(y_true, y_pred, sensitive_features=sex, rho=0.1, pos_label=1)

    frame = fairlearn.MetricFrame(
        metrics=parity, y_true=y, y_pred=predicted, sensitive_features=old, sample_params={"sex": sex}
    )
    assert frame.overall == bound(y, predicted, sensitive_features=sex, rho=0.1)
    some = old == "old"
    assert frame.by_group["old"] == bound(y[some], predicted[some], sensitive_features=sex[some], rho=0.1)


def test_a_table_of_groups_has_one_proof() -> None:
    y, predicted, sex = rows()
    evidence = certified.certified_by_group(y, predicted, sensitive_features=sex, rho=0.1, shift="sensitive")
    frame = evidence.to_frame("polars")
    assert frame.select("metric", "group").rows() == [
        (metric, group) for metric in ("group_loss", "selection_rate") for group in "fm"
    ]
    alone = certify(population(), 0.1, metric="group_loss", group="m", shift="sensitive")
    assert frame["bound"][1] == alone.bound
    assert verify(evidence.to_json()).valid
    weights = np.where(sex == "f", 2.0, 1.0)
    weighted = certified.certified_by_group(y, predicted, sensitive_features=sex, rho=0.1, sample_weight=weights)
    named = Population.from_predictions(y, predicted, sensitive_features=sex, sample_weight=weights)
    assert weighted.curves[0].bound[0] == certify(named, 0.1, metric="group_loss", group="f").bound
