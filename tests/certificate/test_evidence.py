"""Several questions in one call: one object, one document, and a line for each threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    CertificateCurve,
    Evidence,
    InfeasibleError,
    InputError,
    Outcome,
    Population,
    certify,
    certify_all,
    certify_curve,
    report,
    rows_needed,
    verify,
)
from fairbound.certificate.planning import enlarged
from tests.forging import POPULATIONS


def rows() -> Population:
    return POPULATIONS["rows"]()


def test_answers_are_those_of_one_question_after_the_other() -> None:
    asked: dict[str, Any] = {"shift": "sensitive", "tol": 1e-4}
    metrics: list[Any] = ["loss", "demographic_parity_difference", "demographic_parity_ratio"]
    evidence = certify_all(rows(), metrics, [0.12, 0.2], **asked)
    assert len(evidence) == 3
    for metric in metrics:
        alone: Any = certify_curve(rows(), [0.12, 0.2], metric=metric, **asked)
        np.testing.assert_array_equal(evidence[metric].bound, alone.bound)
    assert verify(evidence.to_json()).valid


def test_gates_and_what_reads_back() -> None:
    evidence = certify_all(rows(), {"loss": 0.9, "demographic_parity_ratio": 0.9, "group_loss": None}, [0.15])
    assert [gate.passed for gate in evidence.gates] == [True, False]
    assert not evidence.passed
    assert "failed: demographic parity ratio" in evidence.gates[1].sentence
    assert evidence.gates[0].worst.rho == 0.15
    result = verify(evidence.to_json())
    assert result.valid
    assert not result.passed
    again = Evidence.from_json(evidence.to_json())
    assert again.thresholds == (0.9, 0.9, None)
    assert again.to_json() == evidence.to_json()
    assert "failed: demographic parity ratio" in evidence._repr_html_()
    for kind in (Certificate, CertificateCurve):
        with pytest.raises(ValueError, match="answers 3 questions; use Evidence"):
            kind.from_json(evidence.to_json())


def test_the_error_probability_is_divided_among_questions() -> None:
    """So that all bounds hold together: each is that of a question at its own, higher confidence."""
    evidence = certify_all(rows(), ["loss", "group_loss_difference"], [0.12], confidence=0.9, tol=1e-3)
    assert evidence.confidence == 0.9
    each = {next(iter(curve)).confidence for curve in evidence}
    assert list(each) == [pytest.approx(0.95)]
    alone: Any = certify_curve(rows(), [0.12], confidence=max(c for c in each if c is not None), tol=1e-3)
    np.testing.assert_array_equal(evidence["loss"].bound, alone.bound)
    assert verify(evidence.to_json()).valid


def test_questions_of_their_own_radii_and_shift() -> None:
    own = {"metric": "loss", "shift": "sensitive", "rhos": [0.12, 0.14]}
    questions: list[Any] = [own, {"metric": "loss", "threshold": 1.0}]
    evidence = certify_all(rows(), questions, [0.2])
    assert [len(curve) for curve in evidence] == [2, 1]
    assert {next(iter(curve)).shift for curve in evidence} == {"sensitive", "general"}
    with pytest.raises(KeyError, match="several questions are about 'loss'"):
        evidence["loss"]
    assert evidence[1].rho.tolist() == [0.2]


def test_many_bins_are_one_measure() -> None:
    """Fewer bins than rows are kept for many radii: the same for all questions, as they have one table."""
    rng = np.random.default_rng(0)
    size = 30_000
    found = Population.from_losses(
        rng.random(size), rng.integers(0, 2, size), sensitive_features=rng.integers(0, 2, size), loss="mine"
    )
    evidence = certify_all(found, [{"metric": "loss"}, {"metric": "loss", "rhos": [0.1], "shift": "sensitive"}], [0.2])
    assert verify(evidence.to_json()).valid


def test_radii_from_the_nearest_distance_on() -> None:
    for divergence in ("hellinger", "total_variation", "kl"):
        curve = certify_curve(rows(), divergence=divergence, tol=1e-2)
        assert curve.feasible.all()
        assert 0 < curve.rho[0] - curve.distance <= 2e-3
    assert [len(curve) for curve in certify_all(rows(), ["loss"], shift="sensitive")] == [7]


@pytest.mark.parametrize(
    ("questions", "more", "why"),
    [
        ([], {}, "must name a metric or more"),
        ([3], {}, "must be the name of a metric|must be a metric"),
        ([{"metric": "loss", "confidence": 0.9}], {}, "confidence is the same for all questions"),
        ([{"metric": "loss", "rho": 0.1}], {}, "'rho' is not known; did you mean rhos"),
        (["lose"], {}, "'lose' is not known"),
        ({"loss": "much"}, {}, "threshold='much'"),
    ],
)
def test_what_is_refused(questions: Any, more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        certify_all(rows(), questions, [0.2], **more)
    with pytest.raises(InfeasibleError, match="nothing to certify of loss"):
        certify_all(rows(), ["loss"], [0.001])


def test_a_gate_names_the_largest_radius_of_its_worst_bound() -> None:
    """Of bounds that are equal the one at the largest radius says most."""
    found = certify_all(rows(), {"equalized_odds_difference": 0.9}, [0.1, 0.2, 0.3], shift="sensitive")
    assert len(set(found["equalized_odds_difference"].bound.tolist())) == 1  # rates inside of cells do not change
    assert found.gates[0].worst.rho == 0.3


@pytest.mark.parametrize("threshold", [30, -0.1, 1.5])
def test_thresholds_that_say_nothing_are_refused(threshold: float) -> None:
    for metric in ("loss", "demographic_parity_ratio", "demographic_parity_difference"):
        with pytest.raises(ValueError, match=r"says nothing: .* lies between 0 and 1"):
            certify_all(rows(), {metric: threshold}, [0.2], shift="sensitive")
    assert certify_all(rows(), {"loss": 1.0}, [0.2], shift="sensitive").passed


def test_certificates_curves_and_evidence_can_be_compared() -> None:
    found = certify_all(rows(), ["loss", "demographic_parity_ratio"], [0.15, 0.2], shift="sensitive")
    again = Evidence.from_json(found.to_json())
    assert again.curves == found.curves
    assert found["loss"] != found["demographic_parity_ratio"]
    first, second = found["loss"].certificates
    assert first is not None
    assert first == Certificate.from_json(first.to_json())
    assert hash(first) == hash(Certificate.from_json(first.to_json()))
    assert first not in (second, "another thing")
    other = replace(first, population=first.population.described(note="another one"))
    assert other != first
    assert repr(found["demographic_parity_ratio"]).startswith("CertificateCurve(metric='demographic_parity_ratio', 2 ")


def test_the_checker_takes_what_writes_itself() -> None:
    found = certify_all(rows(), {"loss": 0.9}, [0.15, 0.2], shift="sensitive")
    for one in (found, found["loss"], found["loss"].certificates[0]):
        assert verify(one).valid  # type: ignore[arg-type]  # none of them is None
    assert verify(found).passed
    assert not verify(object()).valid  # type: ignore[arg-type]  # that is refused


def test_frames_of_answers_say_all_that_tells_them_apart() -> None:
    questions = [{"metric": "selection_rate", "group": group, "threshold": 0.99} for group in rows().groups]
    frame = certify_all(rows(), questions, [0.2], shift="sensitive").to_frame("polars")
    assert frame.columns == [
        *("metric", "group", "pos_label", "rho", "bound", "attained", "gap", "status", "threshold", "kept"),
    ]
    assert frame["group"].n_unique() == len(rows().groups)
    assert frame["status"].to_list() == ["tight"] * len(questions)


def test_provenance_travels() -> None:
    told = rows().described(model="scorer", model_version="2", data="May", meanings={1: "repays"}, note="a < b")
    evidence = certify_all(told, ["loss", "selection_rate"], [0.15])
    again = Evidence.from_json(evidence.to_json()).population.provenance
    assert again == told.provenance
    assert again.date is not None
    assert verify(evidence.to_json()).valid
    with pytest.raises(InputError, match="which is no label"):
        rows().described(meanings={7: "seven"})
    with pytest.raises(InputError, match="must be a text"):
        rows().described(note="x" * 10_001)


def test_a_page_of_several_questions() -> None:
    evidence = certify_all(rows(), {"loss": 0.9, "demographic_parity_difference": 0.1}, [0.12, 0.15], shift="sensitive")
    page = report(evidence)
    assert page.startswith("<!DOCTYPE html>")
    assert "demographic parity difference" in page


def test_three_outcomes_are_what_both_bounds_say() -> None:
    """A threshold that only the known population keeps is not settled; one that it breaks too has failed."""
    asked: dict[str, Any] = {"shift": "sensitive", "tol": 1e-4}
    for metric in ("loss", "demographic_parity_difference", "demographic_parity_ratio"):
        about: Any = {"metric": metric, **asked}
        known = certify(rows(), 0.15, **about).bound
        sure = certify(rows(), 0.15, confidence=0.9, **about).bound
        middle, beyond = 0.5 * (known + sure), 0.5 * (known + (known > sure))  # what the known population breaks too
        for threshold, outcome in (
            (sure, Outcome.PASSED),
            (middle, Outcome.UNSETTLED),
            (known, Outcome.UNSETTLED),
            (beyond, Outcome.FAILED),
        ):
            evidence = certify_all(rows(), {metric: threshold}, [0.15], confidence=0.9, **asked)
            assert evidence.outcome is evidence.gates[0].outcome is outcome, (metric, threshold)
            assert evidence.passed == (outcome is Outcome.PASSED)
            assert evidence.gates[0].explained.startswith(outcome.value)
            document = verify(evidence.to_json())
            assert document.valid
            assert document.passed == evidence.passed
            assert Evidence.from_json(evidence.to_json()).outcome in (Outcome.PASSED, Outcome.FAILED)
            if outcome is not Outcome.UNSETTLED:
                assert evidence.gates[0].rows_needed is None
        assert certify_all(rows(), {metric: middle}, [0.15], **asked).outcome in (Outcome.PASSED, Outcome.FAILED)


def test_one_failure_is_a_failure_whatever_else_is_not_settled() -> None:
    known, sure = (certify(rows(), 0.15, shift="sensitive", confidence=c).bound for c in (None, 0.95))
    questions: Any = {"loss": 0.5 * (known + sure), "demographic_parity_difference": 0.0}
    evidence = certify_all(rows(), questions, [0.15], shift="sensitive", confidence=0.9)
    assert [gate.outcome for gate in evidence.gates] == [Outcome.UNSETTLED, Outcome.FAILED]
    assert evidence.outcome is Outcome.FAILED


def test_a_radius_where_only_the_larger_ball_holds_anything_settles_nothing() -> None:
    """Allowing for sampling error there is something to certify nearer by, where the rows have no bound at all."""
    near = certify_curve(rows(), [0.15], confidence=0.9, shift="sensitive").distance
    far = certify_curve(rows(), [0.15], shift="sensitive").distance
    assert near < far
    evidence = certify_all(rows(), {"loss": 0.0}, [0.5 * (near + far)], confidence=0.9, shift="sensitive")
    assert evidence.outcome is Outcome.FAILED


@pytest.mark.parametrize("metric", ["loss", "demographic_parity_ratio"])
def test_so_many_rows_settle_it(metric: Any) -> None:
    """With the rows repeated that often the gate passes, and with a tenth less it does not."""
    asked: dict[str, Any] = {"shift": "sensitive", "tol": 1e-4}
    known = certify(rows(), 0.15, metric=metric, **asked).bound
    sure = certify(rows(), 0.15, metric=metric, confidence=0.9, **asked).bound
    threshold = known + 0.4 * (sure - known)
    gate = certify_all(rows(), {metric: threshold}, [0.15], confidence=0.9, **asked).gates[0]
    assert gate.rows_needed is not None
    size = gate.rows_needed / float(rows().rows or 1)
    for factor, enough in ((size, True), (0.85 * size, False)):
        again = certify(enlarged(rows(), factor), 0.15, metric=metric, confidence=0.9, **asked).bound
        assert (again >= threshold if metric.endswith("ratio") else again <= threshold) == enough
    if metric == "loss":
        planned = rows_needed(rows(), 0.15, threshold - known, shift="sensitive", confidence=0.9)
        assert gate.rows_needed == pytest.approx(planned, rel=0.12)
    assert f"about {gate.rows_needed:,} rows" in gate.explained
    hopeless = certify_all(rows(), {metric: known}, [0.15], confidence=0.9, **asked).gates[0]
    assert hopeless.rows_needed is None
    assert "more than 10,000,000 rows" in hopeless.explained


def test_enlarged_rows_are_the_rows_again_and_again() -> None:
    y, said, group = [0, 1, 1, 0, 1] * 7, [0, 1, 0, 1, 1] * 7, list("aabbb") * 7
    once = Population.from_predictions(y, said, sensitive_features=group)
    thrice = Population.from_predictions(y * 3, said * 3, sensitive_features=group * 3)
    asked: Any = {"metric": "demographic_parity_difference", "confidence": 0.9, "shift": "sensitive", "fair": False}
    grown = enlarged(once, 3.0)
    assert grown.rows == thrice.rows
    np.testing.assert_array_equal(grown.weight, thrice.weight)
    assert certify(grown, 0.1, **asked).bound == certify(thrice, 0.1, **asked).bound
    losses = np.linspace(0, 1, 35)
    once, thrice = (Population.from_losses(np.tile(losses, k), y * k, sensitive_features=group * k) for k in (1, 3))
    assert certify(enlarged(once, 3.0), 0.2, confidence=0.9).bound == certify(thrice, 0.2, confidence=0.9).bound
