"""Errors know which argument they are about, and say it by whatever name the caller knows it by."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import fairbound.errors
from fairbound import (
    InfeasibleError,
    InputError,
    Population,
    ThresholdError,
    certified_loss,
    certify,
    certify_curve,
    divergence_between,
    expected_excess,
    largest_certified_rho,
    rows_needed,
)
from fairbound.errors import argument, either, given

KNOWN = Population.from_moments([[0.4, 0.1], [0.2, 0.3]], [[0.1, 0.2], [0.3, 0.4]])
FRAME = pd.DataFrame({"sex": list("aabb"), "y": [0, 1, 0, 1], "yhat": [0, 1, 1, 1], "p": [0.1, 0.9, 0.2, 0.6]})


def ask(rho: Any = 0.9, **asked: Any) -> object:
    return certify(KNOWN, rho, **asked)


def frame(**changed: Any) -> Population:
    return Population.from_frame(FRAME, **{"label": "y", "group": "sex", "prediction": "yhat"} | changed)


def rows(**changed: Any) -> Population:
    call: dict[str, Any] = {"y_true": [0, 1, 0, 1], "y_pred": [0, 1, 1, 1], "sensitive_features": list("aabb")}
    return Population.from_predictions(**call | changed)


#: Bad calls, and the argument that is to blame.
BLAMED: list[tuple[Callable[[], object], str | None]] = [
    (lambda: ask(rho=2), "rho"),
    (lambda: ask(rho=[0.1, 0.2]), "rho"),
    (lambda: ask(rho=0.0), "rho"),
    (lambda: certify_curve(KNOWN, []), "rhos"),
    (lambda: certify([], 0.2), "population"),  # type: ignore[arg-type]  # that is the point
    (lambda: ask(shift="both"), "shift"),
    (lambda: ask(support="observed"), "support"),
    (lambda: ask(group_skew=2), "group_skew"),
    (lambda: ask(min_label_mass=0.6), "min_label_mass"),
    (lambda: ask(group_limits={0: (0.4, 0.3)}), "group_limits"),
    (lambda: ask(group_limits={0: 1}), "group_limits"),
    (lambda: ask(group_limits={"x": (0.1, 0.3)}), "group_limits"),
    (lambda: ask(label_rows=([[1.0]], [1.0])), "label_rows"),
    (lambda: ask(group_limits={0: (0.8, 0.9)}, group_skew=0.1), "group_skew"),
    (lambda: ask(fair="no"), "fair"),
    (lambda: ask(fair=False, base_rate_tolerance=0.1), "base_rate_tolerance"),
    (lambda: ask(fair=False, label_skew=0.1), "label_skew"),
    (lambda: ask(confidence=1.0), "confidence"),
    (lambda: ask(confidence=0.9), "confidence"),
    (lambda: ask(confidence=0.9, divergence="kl"), "confidence"),
    (lambda: ask(divergence="far"), "divergence"),
    (lambda: ask(region="round"), "region"),
    (lambda: ask(tol=0), "tol"),
    (lambda: ask(budget=0), "budget"),
    (lambda: ask(metric="luck"), "metric"),
    (lambda: ask(group=0), "group"),
    (lambda: ask(group="x", metric="group_loss"), "group"),
    (lambda: ask(pos_label=1, metric="group_loss"), "pos_label"),
    (lambda: ask(metric="selection_rate"), None),
    (lambda: largest_certified_rho(KNOWN, -1), "threshold"),
    (lambda: largest_certified_rho(KNOWN, 0.01), "threshold"),
    (lambda: rows_needed(KNOWN, 0.9, -1), "excess"),
    (lambda: expected_excess(KNOWN, 0.9, 0), "rows"),
    (lambda: certified_loss([0, 1], [0, 1], sensitive_features="a", rho=0.2), "sensitive_features"),
    (lambda: divergence_between(KNOWN, 1), "second"),  # type: ignore[arg-type]  # likewise
    (lambda: frame(probability="p"), "prediction"),
    (lambda: frame(missing="keep"), "missing"),
    (lambda: frame(ceiling=2.0), "ceiling"),
    (lambda: frame(clip=2.0), "clip"),
    (lambda: frame(loss="luck"), "loss"),
    (lambda: frame(loss="jsd"), "loss"),
    (lambda: frame(group=["sex", "sex"]), "group"),
    (lambda: frame(label=3), "label"),
    (lambda: frame(prediction=None, probability={}), "probability"),
    (lambda: Population.from_frame([1], label="y", group="sex", losses="p"), "frame"),
    (lambda: frame(label="z"), None),
    (lambda: rows(loss="luck"), "loss"),
    (lambda: rows(y_pred=[0, 1]), "y_true"),
    (lambda: rows(y_true=[0, 1, None, 1]), "y_true"),
    (lambda: rows(sensitive_features={"a": list("aabb"), "b": [1, 2, 3, None]}), "sensitive_features"),
    (lambda: rows(sample_weight=[1, 1, 1, -1]), "sample_weight"),
    (lambda: rows(labels=[0, 2]), "labels"),
    (lambda: rows(loss="brier", y_pred=[0.1, 0.9, 0.2, 7]), "y_pred"),
    (lambda: Population.from_moments([[0.4, 0.1], [0.2, 0.3]], [[1, 2], [3, 4]]), "mean"),
    (lambda: Population.from_moments([[0.4, 0.1], [0.2, 0.9]], [[0, 0], [0, 0]]), "mass"),
]


@pytest.mark.parametrize(("call", "name"), BLAMED)
def test_the_argument_is_known(call: Callable[[], object], name: str | None) -> None:
    with pytest.raises((InputError, InfeasibleError, ThresholdError)) as caught:
        call()
    error = caught.value
    assert isinstance(error, InputError | InfeasibleError | ThresholdError)
    assert error.argument == name
    assert name is None or name in str(error)
    assert error.worded({}).isprintable()
    if name not in {None, "frame"}:  # of a frame that is none only Python knows
        assert "--it" in error.worded({str(name): "--it", "loss": "--it"})


OPTIONS = {"rho": "--rho", "shift": "--shift", "fair=False": "--unfair", "limits": "--limit", "tol": "--tol"}

#: Marked text, what it is in Python, and what it is by the options above.
WORDED = [
    (given("rho", 0.3), "rho=0.3", "--rho 0.3"),
    (given("rho", 0.25, ".1f"), "rho=0.2", "--rho 0.2"),
    (given("shift", "general"), "shift='general'", "--shift general"),
    (given("shift", "two words"), "shift='two words'", "--shift 'two words'"),
    (given("shift", ""), "shift=''", "--shift ''"),
    (given("fair", False), "fair=False", "--unfair"),
    (given("fair", True), "fair=True", "fair=True"),
    (given("limits['f']", (0, 1)), "limits['f']=(0, 1)", "--limit ['f']=(0, 1)"),
    (argument("limits[0]"), "limits[0]", "--limit [0]"),
    (argument("rho"), "rho", "--rho"),
    (argument("unheard_of"), "unheard_of", "unheard_of"),
    (either("here"), "here", ""),
    (either("", "there"), "", "there"),
    (
        either(f"{argument('tol')} here", f"{either('', 'over ')}there {given('tol', 1)}"),
        "tol here",
        "over there --tol 1",
    ),
]


@pytest.mark.parametrize(("marked", "python", "other"), WORDED, ids=range(len(WORDED)))  # marks are random
def test_marked_text(marked: str, python: str, other: str) -> None:
    error = InputError(f"({marked})")
    assert str(error) == f"({python})"
    assert error.worded(OPTIONS) == f"({other})"


def test_the_first_argument_counts_as_python_has_it() -> None:
    assert InputError(f"so {either('', argument('tol'))}{either(given('rho', 1))}{argument('shift')}").argument == "rho"
    assert InputError("nothing is named").argument is None


@pytest.mark.parametrize("text", ["\x1f", "\x1f\x1f", "\x1f00\x1f", "{rho}", "%s", "\0", "\ud800", "rho=0.3", "[", "]"])
def test_values_that_look_like_marks(text: str) -> None:
    error = InputError(f"{given('rho', text)}, {text}, {given(f'limits[{text!r}]', 1)}")
    assert str(error) == f"rho={text!r}, {text}, limits[{text!r}]=1"
    assert error.worded(OPTIONS).endswith(f", {text}, --limit [{text!r}]=1")
    strange = Population.from_losses(
        [0.1, 0.2, 0.3, 0.4], [text, "b", text, "b"], sensitive_features=[text, text, 2, 2]
    )
    calls: list[Callable[[], object]] = [
        lambda: certify(strange, 0.9, metric=text),  # type: ignore[arg-type]  # that is the point
        lambda: certify(strange, 0.9, group_limits={text: (2, 3)}),
        lambda: certify(strange, 0.9, metric="group_loss", group=f"{text}?"),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert repr(text)[1:-1] in str(caught.value)
        assert caught.value.argument in {"metric", "group_limits", "group"}


def test_the_mark_itself_is_a_secret_of_the_process() -> None:
    """Who goes and reads it may forge marks, and harms nobody else; chance does not meet it."""
    assert len(fairbound.errors._MARK) > 16
    assert not fairbound.errors._MARK.isprintable()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])  # noqa: S301 (ours)
def test_errors_survive_copying(again: Callable[[Any], Any]) -> None:
    """Pools of processes send errors as copies."""
    with pytest.raises(InfeasibleError) as caught:
        certify(KNOWN, 0.0)
    other = again(caught.value)
    assert type(other) is InfeasibleError
    assert str(other) == str(caught.value)
    assert other.argument == "rho"
    assert other.worded(OPTIONS).startswith("--rho 0.0 is too small")
    assert math.isclose(other.distance, caught.value.distance)
