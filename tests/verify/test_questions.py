"""Several questions in one document: all are proved or none is, together as surely as is claimed, and gates tell so."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from fairbound import Verdict, Verification, certify_all, verify
from fairbound.verify.reading import read_document
from fairbound.verify.verdict import Answered, _conclude
from tests.forging import CELLS, POPULATIONS, Document, mended

Change = Callable[[Document], object]


@cache
def text(*, sampled: bool = False) -> str:
    """Return a document with three questions about two measures, one of them a ratio and one of several radii."""
    evidence = certify_all(
        POPULATIONS["rows"](),
        [
            {"metric": "loss", "rhos": [0.12, 0.2], "threshold": 0.9},
            {"metric": "demographic_parity_difference", "shift": "sensitive"},
            {"metric": "demographic_parity_ratio", "threshold": 0.8},
        ],
        rhos=[0.15],
        confidence=0.9 if sampled else None,
        tol=1e-3,
        budget=60,
    )
    return evidence.to_json()


def document(*, sampled: bool = False) -> Document:
    found: Document = json.loads(text(sampled=sampled))
    return found


def checked(found: Document) -> Verification:
    return verify(mended(found))


@pytest.mark.parametrize("sampled", [False, True])
def test_all_questions_are_proved(sampled: bool) -> None:
    result = verify(text(sampled=sampled))
    assert result.valid, result.reasons
    assert [one.proved for one in result.questions] == [True] * 3
    assert [passed for passed, _ in result.gates] == [True, False]
    assert not result.passed
    assert result.checked_bound is None
    assert len(document(sampled=sampled)["population"]["measures"]) == 2


def every_bound(number: int, by: float) -> Change:
    def change(found: Document) -> None:
        for point in found["questions"][number]["points"]:
            for claim in (point["claim"], *point["answers"]):
                claim["bound"] += by

    return change


def level(number: int, value: Any) -> Change:
    return lambda d: d["questions"][number].update(confidence=value)


NOT_PROVED: dict[str, tuple[Change, str]] = {
    "the first bound lowered": (every_bound(0, -0.02), "question 0 (loss): "),
    "the second bound lowered": (every_bound(1, -0.02), "question 1 (demographic_parity_difference): "),
    "the ratio raised": (every_bound(2, 0.02), "question 2 (demographic_parity_ratio): "),
    "a proof of another question": (
        lambda d: d["questions"][0]["points"][0]["answers"][0].update(
            proof=d["questions"][1]["points"][0]["answers"][0]["proof"]
        ),
        "question 0 (loss): ",
    ),
    "a failed gate that passes": (lambda d: d["gates"][1].update(passed=True), "gate 1: the document says"),
    "a passed gate that fails": (lambda d: d["gates"][0].update(passed=False), "gate 0: the document says"),
    "a threshold lowered": (lambda d: d["gates"][0].update(threshold=0.1), "gate 0: the document says"),
    "a gate of another question": (lambda d: d["gates"][1].update(question=1), "gate 1: the document says"),
    "another measure's numbers": (lambda d: d["population"]["measures"].reverse(), "question"),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_one_false_part_and_nothing_is_proved(name: str) -> None:
    change, why = NOT_PROVED[name]
    found = document()
    change(found)
    result = checked(found)
    assert result.verdict is Verdict.NOT_PROVED
    assert why in " ".join(result.reasons)
    assert not result.passed
    assert not result.claims
    assert not result.gates


def test_the_errors_of_all_questions_add_up() -> None:
    """Three statements of 0.9 each are not 0.9 together."""
    assert document(sampled=True)["confidence"] == 0.9
    assert [one["confidence"] for one in document(sampled=True)["questions"]] == pytest.approx([1 - 0.1 / 3] * 3)
    for value in (0.9000001, 0.95):
        found = document(sampled=True)
        found["confidence"] = value
        result = checked(found)
        assert "the questions do not hold together at the claimed confidence" in result.reasons
    alone = document(sampled=True)
    del alone["questions"][1:], alone["gates"][1:], alone["population"]["measures"][1:]
    alone["confidence"] = alone["questions"][0]["confidence"]
    assert checked(alone).valid


MALFORMED: dict[str, tuple[Change, str]] = {
    "no question": (lambda d: d.update(questions=[], gates=[]), "questions must have one entry"),
    "no measure": (lambda d: d["population"].update(measures=[]), "population.measures must have one entry"),
    "a measure that is not there": (lambda d: d["questions"][1].update(measure=2), "questions[1].measure"),
    "a gate of no question": (lambda d: d["gates"][0].update(question=3), "gates[0].question"),
    "two gates of a question": (lambda d: d["gates"][1].update(question=0), "gates must be one for a question"),
    "a sure question": (level(2, 0.9), "questions[2].confidence"),
    "a sure document": (lambda d: d.update(confidence=0.9), "confidence must be given"),
    "a hash that is none": (
        lambda d: d["provenance"].update(files=[{"name": "a", "sha256": "abc"}]),
        "provenance.files[0].sha256 must have a length",
    ),
    "a column of nothing": (
        lambda d: d["provenance"].update(columns=[{"role": "sex", "name": "a"}]),
        "provenance.columns[0].role",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_does_not_fit_together_is_no_certificate(name: str) -> None:
    change, why = MALFORMED[name]
    found = document()
    change(found)
    result = checked(found)
    assert result.verdict is Verdict.NOT_A_CERTIFICATE
    assert why in result.reasons[0]


def test_nothing_is_proved_unless_every_question_was_answered() -> None:
    whole = read_document(text())
    good, bad = Answered(proved=True), Answered(proved=False)
    assert _conclude(whole, [], [good] * 3).valid
    for answered in ([], [good] * 2, [good] * 4, [good, good, bad], [bad] * 3):
        result = _conclude(whole, [], answered)
        assert not result.valid
        assert result.reasons
    assert not _conclude(whole, ["no"], [good] * 3).valid


def test_claims_are_worded_by_the_checker() -> None:
    """From what was checked: nothing that the author may write freely stands in them, but for names."""
    found = document(sampled=True)
    found["producer"] = found["provenance"]["note"] = "THIS IS FAIR"
    result = checked(found)
    said = "\n".join(result.claims)
    assert "FAIR" not in said
    assert f"{sum(cell[3] for cell in CELLS)} rows" in said
    assert "probability of at least 0.9" in said
    assert "the error rate is at most" in said
    assert "Hellinger distance 0.15 of the distribution that the rows were drawn from" in said
    assert "for rho = 0.12, " in said
    assert "demographic parity difference" in said
    assert "only the shares of the cells of group and label have changed" in said
    assert "demographic parity ratio" in said
    assert "is at least" in said
