"""Bad input gets a clear error: the argument, the value and the cure, on one line, and nothing is guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairbound import (
    InfeasibleError,
    InputError,
    Loss,
    Population,
    ThresholdError,
    certify,
    certify_curve,
    largest_certified_rho,
    nearest_fair,
)

NAN, INF = math.nan, math.inf
MASS = [[0.4, 0.1], [0.2, 0.3]]
MEAN = [[0.1, 0.2], [0.3, 0.4]]


def losses(**changed: Any) -> Population:
    call: dict[str, Any] = {"losses": [0.1, 0.2, 0.3, 0.4], "y_true": [0, 1, 0, 1], "sensitive_features": list("aabb")}
    return Population.from_losses(**call | changed)


def predictions(**changed: Any) -> Population:
    call: dict[str, Any] = {"y_true": [0, 1, 0, 1], "y_pred": [0, 1, 1, 1], "sensitive_features": list("aabb")}
    return Population.from_predictions(**call | changed)


def probabilities(**changed: Any) -> Population:
    return predictions(**{"y_pred": [0.1, 0.9, 0.2, 0.6], "loss": "brier"} | changed)


def moments(**changed: Any) -> Population:
    return Population.from_moments(**{"mass": MASS, "mean": MEAN} | changed)


def ask(population: Any = None, rho: Any = 0.9, **changed: Any) -> object:
    return certify(moments() if population is None else population, rho, **changed)


def with_empty_cell(**changed: Any) -> Population:
    return losses(losses=[0.1, 0.2, 0.3], y_true=[0, 1, 0], sensitive_features=list("aab"), **changed)


def own_loss(value: Any) -> Loss:
    return Loss("own", 1.0, "probabilities", lambda p, _: np.full(len(p), value))


# Each call, and the parts of its message in their order; "..." stands for any words between them.
BAD_CALLS: list[tuple[Callable[[], object], str]] = [
    # losses
    (lambda: losses(losses=[0.1, NAN, 0.3, 0.4]), "losses ... nan in row 1 ... drop"),
    (lambda: losses(losses=[0.1, 0.2, INF, 0.4]), "losses ... inf in row 2 ... drop"),
    (lambda: losses(losses=[0.1, 0.2, 0.3, 1.5]), "losses[3]=1.5 ... [0, 1] ... ceiling"),
    (lambda: losses(losses=[0.1, -0.2, 0.3, 0.4]), "losses[1]=-0.2 ... [0, 1]"),
    (lambda: losses(losses=[0.1, 0.2, 0.3, 2.5], ceiling=2), "losses[3]=2.5 ... [0, 2] ... ceiling"),
    (lambda: losses(losses=["low"] * 4), "losses must hold numbers"),
    (lambda: losses(losses=[0.1, None, 0.3, 0.4]), "losses must hold numbers"),
    (lambda: losses(losses=[0.1, [0.2], 0.3, 0.4]), "losses ... length"),
    (lambda: losses(losses=np.zeros((4, 1))), "losses ... one entry per row ... (4, 1)"),
    (lambda: losses(losses=[0.1, 0.2, 0.3]), "one entry per row ... losses has 3, y_true has 4"),
    (lambda: losses(y_true=[0, 1, 0]), "one entry per row ... y_true has 3, sensitive_features has 4"),
    (lambda: losses(sensitive_features=list("ab")), "one entry per row ... sensitive_features has 2"),
    (lambda: losses(losses=[], y_true=[], sensitive_features=[]), "y_true ... empty ... rows"),
    *((lambda v=v: losses(ceiling=v), f"ceiling={v!r} ... largest loss") for v in (0, -1.0, NAN, None, "1", "high")),
    # groups and labels
    (lambda: losses(sensitive_features=list("aaaa")), "sensitive_features ... ['a'] ... at least two"),
    (lambda: losses(y_true=[1, 1, 1, 1]), "y_true ... [1] ... at least two"),
    (lambda: losses(sensitive_features="sex"), "sensitive_features ... one entry per row"),
    (lambda: losses(sensitive_features={}), "sensitive_features has no columns"),
    (lambda: losses(sensitive_features={"g": list("aabb"), "h": [1, 2]}), "sensitive_features ... length"),
    (lambda: losses(sensitive_features=np.zeros((4, 2, 2))), "sensitive_features ... one dimension, not 3"),
    (lambda: losses(sensitive_features={"g": list("aabb"), "h": [1, 2, NAN, 2]}), "sensitive_features['h'] ... row 2"),
    (lambda: losses(y_true=[[0], [1], [0], [1]]), "y_true ... one dimension, not 2"),
    *(
        (lambda c=column: losses(sensitive_features=c), "sensitive_features has a missing value in row 1 ... drop")
        for column in (
            ["a", None, "b", "b"],
            ["a", NAN, "b", "b"],
            [0.0, NAN, 1.0, 1.0],
            pd.Series(["a", None, "b", "b"]),
            pd.Series(["a", pd.NA, "b", "b"], dtype=object),
            pd.array([1, None, 2, 2], dtype="Int64"),
            pd.Categorical(["a", None, "b", "b"]),
            np.array(["2020", "NaT", "2021", "2021"], dtype="M8[Y]"),
        )
    ),
    (lambda: losses(y_true=[0, 1, None, 1]), "y_true has a missing value in row 2 ... drop"),
    # weights
    (lambda: losses(sample_weight=[1, 1, -2, 1]), "sample_weight ... row 2: -2.0 ... cannot be negative"),
    (lambda: losses(sample_weight=[0, 0, 0, 0]), "sample_weight is zero ... at least one"),
    (lambda: losses(sample_weight=[0, 0, 1, 1]), "group 'a' has no mass ... leave it out"),
    (lambda: losses(sample_weight=[0, 1, 0, 1]), "label 0 has no mass ... leave it out"),
    (lambda: losses(sample_weight=[1, 1, 1]), "one entry per row ... sample_weight has 3"),
    (lambda: losses(sample_weight=[1, 1, 1, NAN]), "sample_weight ... nan in row 3"),
    (lambda: losses(sample_weight=np.ones((4, 1))), "sample_weight ... one entry per row ... (4, 1)"),
    (lambda: losses(sample_weight=2.0), "sample_weight ... one entry per row"),
    # predictions
    (lambda: predictions(loss="mse"), "loss='mse' ... use one of zero_one"),
    (lambda: predictions(loss=None), "loss ... name or a Loss, not NoneType"),
    (lambda: predictions(clip=0.5), "clip ... 'zero_one' ... leave clip out"),
    (lambda: predictions(y_pred=[0, 1, 1]), "one entry per row ... y_pred has 3"),
    (lambda: predictions(y_pred=[0, None, 1, 1]), "y_pred has a missing value in row 1 ... drop"),
    (lambda: predictions(y_pred=[0.0, NAN, 1.0, 1.0]), "y_pred has a missing value in row 1 ... drop"),
    (
        lambda: predictions(y_true=list("nyny"), y_pred=["n", NAN, "y", "y"]),
        "y_pred has a missing value in row 1 ... drop",
    ),
    (lambda: predictions(y_pred=[0.2, 0.8, 0.4, 0.6]), "y_pred ... zero_one ... probabilities into labels"),
    (lambda: predictions(y_pred=[0.0, 1.0, 0.4, 1.0]), "y_pred holds 0.4 ... zero_one ... probabilities into labels"),
    (lambda: predictions(y_pred=[[0.2, 0.8]] * 4), "y_pred ... one predicted label per row ... zero_one ... (4, 2)"),
    (lambda: predictions(y_pred=list("nyny")), "y_pred has none of the labels of y_true"),
    (lambda: probabilities(y_pred=[0.1, 0.9, 1.2, 0.6]), "y_pred[2]= ... 1.2 ... pass probabilities"),
    (lambda: probabilities(y_pred=[[0.1, 0.8]] * 4), "y_pred[0]=[0.1, 0.8] ... pass probabilities"),
    (lambda: probabilities(y_pred=[[-0.5, 1.5]] * 4), "y_pred[0]=[-0.5, 1.5] ... pass probabilities"),
    (lambda: probabilities(y_pred=[0.1, NAN, 0.2, 0.6]), "y_pred ... nan in row 1"),
    (lambda: probabilities(y_pred=[[0.1, 0.8, 0.1]] * 4), "y_pred has shape (4, 3) ... a column for each ... [0, 1]"),
    (lambda: probabilities(y_pred=np.zeros((4, 2, 1))), "y_pred has shape (4, 2, 1) ... a column for each"),
    (lambda: probabilities(y_true=[0, 1, 2, 1]), "y_pred needs shape (n, 3) ... [0, 1, 2]"),
    (lambda: probabilities(y_pred=[0.1, 0.9]), "one entry per row ... y_pred has 2"),
    (lambda: probabilities(y_pred=list("nyny")), "y_pred must hold numbers"),
    *((lambda v=v: probabilities(clip=v), f"clip={v!r} ... positive") for v in (0, -1.0, NAN, INF, "1")),
    (
        lambda: probabilities(loss="cross_entropy", y_pred=[0, 0, 1, 0.5]),
        "cross_entropy ... row 1 is inf ... pass clip",
    ),
    (lambda: probabilities(loss=own_loss(NAN)), "own loss of row 0 is nan ... mend"),
    (lambda: probabilities(loss=own_loss(1.5)), "losses[0]=1.5 ... [0, 1] ... ceiling"),
    # moments
    (lambda: moments(mass=[[4, 1], [2, 3]]), "mass adds up to 10.0 ... divide"),
    (lambda: moments(mass=[[0.6, -0.1], [0.2, 0.3]]), "mass ... -0.1 ... probabilities"),
    (lambda: moments(mass=[[0.6, NAN], [0.2, 0.2]]), "mass ... nan"),
    (lambda: moments(mass=[0.5, 0.5]), "mass has shape (2,) ... row per group"),
    (lambda: moments(mass=[[0.5, 0.5]]), "mass has shape (1, 2) ... two or more"),
    (lambda: moments(mass=[[0.5], [0.5]]), "mass has shape (2, 1) ... two or more"),
    (lambda: moments(mass=[[0.5, 0.2], [0.3]]), "mass ... length"),
    (lambda: moments(mass=[["a", "b"], ["c", "d"]]), "mass must hold numbers"),
    (lambda: moments(mass=[[0.5, 0.5], [0.0, 0.0]]), "group 1 has no mass ... leave it out"),
    (lambda: moments(mean=[[0.1, 1.5], [0.1, 0.1]]), "mean ... 1.5 above the ceiling 1.0 ... raise ceiling"),
    (lambda: moments(mean=[[0.1, -0.5], [0.1, 0.1]]), "mean ... -0.5 ... negative"),
    (lambda: moments(mean=[[0.1, NAN], [0.1, 0.1]]), "mean ... nan"),
    (lambda: moments(mean=[0.1, 0.2]), "mean has shape (2,) ... (2, 2) ... one entry per cell"),
    (lambda: moments(mean=[["a", "b"], ["c", "d"]]), "mean must hold ... number"),
    (lambda: moments(variance=[[0.25, 0.1], [0.1, 0.1]]), "variance[0, 0]=0.25 ... mean 0.1 ... at most 0.09"),
    (lambda: moments(variance=[[-0.25, 0.1], [0.1, 0.1]]), "variance ... -0.25 ... negative"),
    (lambda: moments(variance=[[0.01] * 3] * 2), "variance has shape (2, 3) ... one entry per cell"),
    (lambda: moments(ceiling=INF), "ceiling must be finite"),
    (lambda: moments(groups=["a", "a"]), "groups=['a', 'a'] ... 2 different names"),
    (lambda: moments(labels=["a"]), "labels=['a'] ... 2 different names"),
    (lambda: moments(groups=[["a"], ["b"]]), "groups=[['a'], ['b']] ... 2 different names"),
    # questions
    *((lambda v=v: ask(rho=v), f"rho={v!r} ... between 0") for v in (-0.1, 1.5, NAN, INF, None, "0.5", "far")),
    (lambda: ask(rho=np.float64(1.5)), "rho=1.5 ... between 0"),
    (lambda: ask(rho=[0.5, 0.6]), "rho ... one number ... certify_curve"),
    (lambda: ask(rho=np.array([0.5])), "rho ... one number ... certify_curve"),
    (lambda: certify_curve(moments(), [0.5, 1.5]), "rho=1.5 ... between 0"),
    (lambda: certify_curve(moments(), []), "rhos ... between 0 and 1"),
    (lambda: certify_curve(moments(), [0.5, [0.6]]), "rho"),  # type: ignore[list-item]  # the point
    (lambda: largest_certified_rho(moments(), -0.1), "threshold=-0.1 ... loss"),
    (lambda: largest_certified_rho(moments(), NAN), "threshold=nan ... loss"),
    *((lambda v=v: ask(group_skew=v), f"group_skew={v!r} ... None") for v in (-0.1, 1.5, NAN, "0.1", [0.1])),
    (lambda: ask(label_skew=2), "label_skew=2 ... None"),
    (lambda: ask(group_skew=np.zeros((3, 3))), "group_skew= ... not a number"),
    *((lambda v=v: ask(tol=v), f"tol={v!r} ... gap") for v in (0, -1e-6, 2.0, NAN, None)),
    *((lambda v=v: ask(budget=v), f"budget={v!r} ... pieces") for v in (0, -1, NAN, "many")),
    (lambda: ask(shift="both"), "shift='both' ... 'general' or 'stratified' or 'sensitive'"),
    (lambda: ask(shift=None), "shift=None ... 'general' or 'stratified' or 'sensitive'"),
    (lambda: ask(shift=np.array(["general", "sensitive"])), "shift= ... 'general' or 'stratified' or 'sensitive'"),
    (lambda: ask(support="seen"), "support='seen' ... 'any' or 'observed'"),
    (lambda: ask(empty_cells="drop"), "empty_cells='drop' ... 'refuse' or 'ceiling'"),
    (lambda: ask(support="observed"), "support='observed' ... from_losses"),
    (lambda: ask(MASS), "population ... not list ... Population.from_predictions"),
    (lambda: nearest_fair(MASS), "population ... not list"),  # the point
    (lambda: ask(probabilities(loss="cross_entropy")), "shift='general' ... 'cross_entropy' ... clip"),
    (lambda: ask(with_empty_cell(), shift="sensitive"), "('b', 1) ... empty_cells='ceiling'"),
    (lambda: ask(with_empty_cell(), support="observed"), "('b', 1) ... empty_cells='ceiling'"),
    (
        lambda: ask(with_empty_cell(ceiling=INF), shift="sensitive", empty_cells="ceiling"),
        "('b', 1) ... ceiling must be finite",
    ),
]


def assert_clear(error: ValueError, parts: str) -> None:
    message = str(error)
    assert re.search(".*".join(map(re.escape, parts.split(" ... "))), message), message
    assert "\n" not in message
    assert "np." not in message  # values are shown as the user wrote them


@pytest.mark.parametrize(("call", "parts"), BAD_CALLS, ids=[f"{i}: {p}" for i, (_, p) in enumerate(BAD_CALLS)])
def test_bad_input_is_refused(call: Callable[[], object], parts: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert_clear(caught.value, parts)


@pytest.mark.parametrize("error", [InputError, InfeasibleError, ThresholdError])
def test_errors_are_value_errors(error: type[Exception]) -> None:
    assert issubclass(error, ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ask(with_empty_cell()),
        lambda: ask(with_empty_cell(), shift="sensitive", empty_cells="ceiling"),
        lambda: ask(with_empty_cell(), support="observed", empty_cells="ceiling"),
        lambda: ask(probabilities(loss="cross_entropy"), shift="sensitive"),
        lambda: ask(probabilities(loss="cross_entropy"), support="observed"),
        lambda: ask(probabilities(loss="cross_entropy", clip=4.0)),
        lambda: ask(rho=1),
        lambda: ask(rho=np.float32(0.5), group_skew=0, label_skew=np.int64(1), tol=1e-3),
    ],
)
def test_what_the_messages_advise_works(call: Callable[[], Any]) -> None:
    certificate = call()
    assert certificate.attained <= certificate.bound < INF


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("skew", [None, 0.3])
def test_too_small_a_radius_names_the_nearest(shift: Any, skew: float | None) -> None:
    population = moments()
    with pytest.raises(InfeasibleError) as caught:
        certify(population, 0.01, shift=shift, group_skew=skew)
    distance = caught.value.distance
    assert_clear(caught.value, f"rho=0.01 ... Hellinger distance {distance!r} ... at least")
    assert distance >= nearest_fair(population).distance
    if skew is None:
        assert distance == nearest_fair(population).distance
    at_nearest = certify(population, distance, shift=shift, group_skew=skew)
    assert at_nearest.attained <= at_nearest.bound
    with pytest.raises(InfeasibleError):
        certify(population, math.nextafter(distance, 0), shift=shift, group_skew=skew)
    assert np.isnan(certify_curve(population, [0.01, distance], shift=shift, group_skew=skew).bound).tolist() == [
        True,
        False,
    ]


def test_too_small_a_threshold_names_itself() -> None:
    with pytest.raises(ThresholdError) as caught:
        largest_certified_rho(moments(), 0.01)
    assert_clear(caught.value, "threshold=0.01 ... larger threshold")
    assert caught.value.distance == nearest_fair(moments()).distance
