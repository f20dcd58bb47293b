"""Wrong questions about metrics: the error names the argument and the cure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    InfeasibleError,
    InputError,
    Population,
    ThresholdError,
    certify,
    certify_curve,
    implied_parity,
    largest_certified_rho,
    report,
    verify,
)
from tests.metric_problems import weighted

TWO = Population.from_predictions([0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 0, 0], sensitive_features=list("aaabbb"))
THREE = weighted([[40, 10, 20], [30, 20, 5]], [[0.1, 0.6, 0.2], [0.05, 0.5, 0.1]])
LOSSES = Population.from_losses([0.1, 0.2, 0.4, 0.9], [0, 1, 0, 1], sensitive_features=list("aabb"))
MOMENTS = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.5]])
PROBABLE = Population.from_predictions(
    [0, 1, 0, 1], [0.2, 0.7, 0.4, 0.9], sensitive_features=list("aabb"), loss="brier"
)
ENDLESS = Population.from_predictions(
    [0, 1, 0, 1], [0.2, 0.7, 0.4, 0.9], sensitive_features=list("aabb"), loss="cross_entropy"
)
WITHOUT_GROUP = Population.from_predictions([0, 1], [0, 1], sensitive_features=list("aa"), groups=["a", "b"])
WITHOUT_LABEL = Population.from_predictions(
    [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"), labels=[0, 1, 2]
)
ONLY_POSITIVE = Population.from_predictions([1, 1, 1, 1], [0, 1, 1, 1], sensitive_features=list("aabb"), labels=[0, 1])
WITH_EMPTY_CELL = weighted([[40, 20], [30, 0]], [[0.1, 0.6], [0.05, 0]])
WEIGHTED = weighted([[40, 20], [30, 10]], [[0.1, 0.6], [0.05, 0.2]])
PREDICTED_ONLY = Population.from_predictions(
    [0, 1, 0, 1], [0, 2, 1, 1], sensitive_features=list("aabb"), unknown_predictions="allow"
)

DPD = "demographic_parity_difference"

WRONG: dict[str, tuple[Population, dict[str, Any], list[str]]] = {
    "an unknown metric": (TWO, {"metric": "parity"}, ["metric='parity' is not known", "demographic_parity_ratio"]),
    "no metric": (TWO, {"metric": None}, ["metric=None is not known", "'loss'"]),
    "a metric that is no text": (TWO, {"metric": ["group_loss"]}, ["metric=", "is not known"]),
    "an unknown group": (TWO, {"metric": "group_loss", "group": "c"}, ["group='c'", "'a'", "'b'", "use one of them"]),
    "a group for pairs": (TWO, {"metric": DPD, "group": "a"}, ["group='a'", "compares all groups", "leave group out"]),
    "a group without a metric": (TWO, {"group": "a"}, ["group='a'", "metric="]),
    "a positive label without a metric": (TWO, {"pos_label": 1}, ["pos_label=1", "metric="]),
    "a positive label of losses": (
        TWO,
        {"metric": "group_loss", "pos_label": 1},
        ["pos_label=1", "leave pos_label out"],
    ),
    "three labels, none positive": (THREE, {"metric": DPD}, ["pos_label must name one of the 3 labels"]),
    "an unknown positive label": (TWO, {"metric": DPD, "pos_label": "yes"}, ["pos_label='yes'", "name one of them"]),
    "a positive label that cannot be one": (TWO, {"metric": DPD, "pos_label": [1]}, ["pos_label=[1]"]),
    "losses instead of predictions": (LOSSES, {"metric": DPD}, ["does not know what the model predicted", "from_pred"]),
    "moments without rates": (MOMENTS, {"metric": "selection_rate"}, ["does not know", "selection_rate=..."]),
    "probabilities": (PROBABLE, {"metric": "equalized_odds_difference"}, ["does not know what the model predicted"]),
    "a label that is only predicted": (
        PREDICTED_ONLY,
        {"metric": "true_positive_rate_difference", "pos_label": 2},
        ["pos_label=2 is no true label", "use one of"],
    ),
    "a group without rows": (
        WITHOUT_GROUP,
        {"metric": DPD},
        ["needs rows of every group", "'b'", "leave these groups out"],
    ),
    "a label without rows": (WITHOUT_LABEL, {"metric": "cell_loss"}, ["rows of the labels", "there are none", "leave"]),
    "a positive label without rows": (
        WITHOUT_LABEL,
        {"metric": "true_positive_rate_difference", "pos_label": 2},
        ["pos_label", "there are none"],
    ),
    "no negative rows": (ONLY_POSITIVE, {"metric": "false_positive_rate_difference"}, ["labels 0", "there are none"]),
    "an empty cell": (WITH_EMPTY_CELL, {"metric": DPD, "shift": "sensitive"}, ["no data in the cells", "empty_cells"]),
    "confidence of moments": (MOMENTS, {"metric": "group_loss", "confidence": 0.9}, ["confidence needs the rows"]),
    "confidence of weights": (WEIGHTED, {"metric": DPD, "confidence": 0.9}, ["weighted rows"]),
    "confidence of differences without a ceiling": (
        ENDLESS,
        {"metric": "group_loss_difference", "confidence": 0.9},
        ["confidence needs a ceiling", "cross_entropy", "pass clip"],
    ),
    "certainty": (TWO, {"metric": DPD, "confidence": 1.0}, ["confidence=1"]),
    "near certainty": (
        TWO,
        {"metric": DPD, "confidence": 1 - 1.5e-12},
        [f"confidence={1 - 1.5e-12!r} is too near to 1", "2 comparisons", "use a smaller confidence"],
    ),
    "a confidence of text": (TWO, {"metric": DPD, "confidence": "high"}, ["confidence="]),
    "an unknown shift": (TWO, {"metric": DPD, "shift": "any"}, ["shift='any'"]),
    "a negative limit": (TWO, {"metric": DPD, "group_skew": -0.1}, ["group_skew=-0.1"]),
    "no tolerance": (TWO, {"metric": DPD, "tol": 0.0}, ["tol=0"]),
    "observed support of moments": (MOMENTS, {"metric": "group_loss", "support": "observed"}, ["support='observed'"]),
}


@pytest.mark.filterwarnings("ignore::fairbound.SmallCellWarning")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_questions(name: str) -> None:
    population, asked, words = WRONG[name]
    calls = (
        lambda: certify(population, 0.5, **asked),
        lambda: certify_curve(population, [0.5], **asked),
        lambda: largest_certified_rho(population, 0.5, **asked),
    )
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        for word in words:
            assert word in str(caught.value)
        assert "\n" not in str(caught.value)


def test_not_a_population() -> None:
    with pytest.raises(InputError, match="must be a Population, not dict"):
        certify({}, 0.5, metric=DPD)  # type: ignore[arg-type]


@pytest.mark.parametrize("rho", [-0.1, 1.1, "far", np.nan, [0.1, 0.2]])
def test_wrong_radii(rho: Any) -> None:
    with pytest.raises(InputError, match="rho"):
        certify(TWO, rho, metric=DPD)  # type: ignore[arg-type]


def test_too_near() -> None:
    with pytest.raises(InfeasibleError, match="nearest distribution with equal base rates") as caught:
        certify(WEIGHTED, 1e-3, metric="equalized_odds_difference")
    assert repr(caught.value.distance) in str(caught.value)
    assert not certify_curve(WEIGHTED, [1e-3], metric=DPD).feasible[0]  # type: ignore[arg-type]
    with pytest.raises(InfeasibleError, match="all its radii are infeasible"):
        certify_curve(WEIGHTED, [1e-3], metric=DPD).to_json()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metric", "threshold", "cure"),
    [(DPD, 0.01, "larger threshold"), ("demographic_parity_ratio", 0.999, "smaller threshold")],
)
def test_promises_that_cannot_be_kept(metric: Any, threshold: float, cure: str) -> None:
    with pytest.raises(ThresholdError, match=f"cannot be kept at any radius.*{cure}"):
        largest_certified_rho(WEIGHTED, threshold, metric=metric, tol=1e-3)


def test_promises_that_are_always_kept() -> None:
    assert largest_certified_rho(WEIGHTED, 1.0, metric=DPD) == 1.0  # type: ignore[arg-type]
    assert largest_certified_rho(WEIGHTED, 0.0, metric="demographic_parity_ratio") == 1.0


def test_implied_parity_needs_errors_of_cells() -> None:
    with pytest.raises(InputError, match="metric='cell_loss'"):
        implied_parity(certify(TWO, 0.9))
    with pytest.raises(InputError, match="must be a Certificate"):
        implied_parity(0.3)
    with pytest.raises(InputError, match=r"cells of group .* alone.*without group"):
        implied_parity(certify(TWO, 0.9, metric="cell_loss", group=TWO.groups[0]))


def test_a_metric_speaks_of_the_confidence_that_was_asked_for() -> None:
    """Comparisons divide the error probability; what is said to the user is the whole."""
    rows = Population.from_predictions(
        ["no", "yes"] * 300, ["no", "yes", "no", "no"] * 150, sensitive_features=["f", "f", "m", "m"] * 150
    )
    certificate = certify(rows, 0.3, metric="demographic_parity_ratio", confidence=0.95)
    said = " ".join(certificate.assumptions)
    assert "at least 0.95 over their draw, the bounds of all 2 comparisons hold" in said
    assert "the worst case around P itself may be larger" in said
    assert Certificate.from_json(certificate.to_json()).assumptions == certificate.assumptions
    with pytest.raises(InputError, match=r"^confidence=0\.95 does not go with divergence='kl'"):
        certify(rows, 0.3, metric="demographic_parity_ratio", confidence=0.95, divergence="kl")


def test_of_a_curve_of_ratios_the_smallest_bound_is_named() -> None:
    rows = Population.from_predictions(
        ["no", "yes"] * 300, ["no", "yes", "no", "no"] * 150, sensitive_features=["f", "f", "m", "m"] * 150
    )
    curve = certify_curve(rows, [0.05, 0.1], metric="demographic_parity_ratio", fair=False)
    checked = verify(curve.to_json())
    assert checked.valid
    assert checked.checked_bound == pytest.approx(curve.bound.min(), abs=1e-9)
    assert "confidence" not in checked.checks[0]
    page = report(curve)
    assert "Smallest bound that the proofs give" in page
    assert "the smallest demographic parity ratio that was found" in page
