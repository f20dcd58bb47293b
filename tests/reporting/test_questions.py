"""Reports about several questions: a line for each gate, and what the author says of data and model."""

from __future__ import annotations

import json
import re

import pytest

from fairbound import Evidence, Population, certify_all, report, verify
from fairbound.reporting.question_view import QuestionView
from fairbound.reporting.report_data import examine
from tests.pages import NASTY, small_curve
from tests.reporting.test_report import Page, words

#: What holds the bounds of the small population below: the error rate passes, the ratio fails.
THRESHOLDS = {"loss": 0.9, "demographic_parity_ratio": 0.8, "equalized_odds_difference": None}


def population() -> Population:
    return small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return certify_all(population(), THRESHOLDS, [0.2, 0.3], shift="sensitive", confidence=0.9)


def test_a_positive_label_is_for_those_that_look_at_predictions() -> None:
    found = certify_all(population(), THRESHOLDS, [0.3], shift="sensitive", pos_label="no")
    assert [curve.certificates[0].population.pos_label for curve in found] == [None, "no", "no"]  # type: ignore[union-attr]


def test_cautions_about_bounds_stand_at_the_top_and_those_about_data_with_the_data() -> None:
    rows = Population.from_predictions(
        ["no", "yes", "yes"] * 40, ["no", "yes", "no"] * 40, sensitive_features=["a", "a", "?"] * 24 + ["?"] * 48
    )
    found = certify_all(rows, ["loss", "demographic_parity_ratio"], [0.2, 0.9], pos_label="yes")
    said = words(Page(report(found)))
    top, rest = said.split(" The data Rows ")
    assert re.search(r"At rho = 0\.9.* the bound says nothing", top)
    assert "'?'" in rest
    assert "the bound says nothing" not in rest


def gates(text: str) -> list[tuple[str, str]]:
    """Return the gates that a page shows: how they ended, as a program and as a person sees it."""
    return re.findall(r'data-gate="(\w+)">\s*<strong>([^<]*)</strong>', text)


def test_every_question_and_every_gate_has_its_place(evidence: Evidence) -> None:
    text = report(evidence)
    page = Page(text)
    said = words(page)
    assert "✓ Bounds proved" in said
    assert gates(text) == [("passed", "Gate passed"), ("failed", "Gate failed")]
    assert "The error rate has to be at most 90 %; what is proved is at most" in said
    assert "The demographic parity ratio (predicting 'yes') has to be at least 80 %; what is proved is at least" in said
    for name in ("Error rate", "Demographic parity ratio (predicting 'yes')", "Equalized odds difference"):
        assert name in said
    assert "the four-fifths rule" in said
    identities = [a["id"] for _, a in page.elements if "id" in a]
    assert len(set(identities)) == len(identities)
    assert len(json.loads(page.blocks["page-data"])) == 3
    assert said.count("With probability at least 90% over the draw of the 400 rows, in any population") == 3
    assert verify(page.attached).valid
    for claim in verify(page.attached).claims:
        assert claim in page.words


def test_a_failed_gate_is_not_green(evidence: Evidence) -> None:
    text = report(evidence)
    classes = dict(re.findall(r'<p class="(gate[^"]*)" data-gate="(\w+)"', text))
    assert classes == {"gate passed": "passed", "gate": "failed"}
    style = Page(text).blocks["style"]
    assert re.search(r"\.gate \{[^}]*var\(--bad\)", style)
    assert re.search(r"\.gate\.passed \{[^}]*var\(--good\)", style)
    assert not re.search(r"\.verdict\.proved \{[^}]*--good", style)  # that a bound is proved is no praise


def test_gates_of_what_is_not_proved_are_not_decided(evidence: Evidence) -> None:
    document = json.loads(evidence.to_json())
    for claim in (document["questions"][0]["points"][-1]["claim"], *document["questions"][0]["points"][-1]["answers"]):
        claim["bound"] -= 0.01
    text = report(json.dumps(document))
    assert [found for found, _ in gates(text)] == ["open", "open"]
    assert "✗ Not proved" in words(Page(text))


def test_that_a_gate_is_passed_is_computed_from_the_bounds(evidence: Evidence) -> None:
    document = json.loads(evidence.to_json())
    for gate in document["gates"]:
        gate["passed"] = not gate["passed"]
    text = report(json.dumps(document))
    assert "passed" not in [found for found, _ in gates(text)]


def test_thresholds_and_bounds_agree_as_they_are_printed() -> None:
    """A threshold just above or below a bound is seen to be so."""
    bound = certify_all(population(), ["loss"], [0.2], shift="sensitive")["loss"].bound[0]
    for threshold in (round(bound, 4) - 1e-4, round(bound, 4) + 1e-4, bound, 0.5):
        found = certify_all(population(), {"loss": threshold}, [0.2], shift="sensitive")
        (one,) = examine(found).questions
        gate = QuestionView(one, None).gate
        assert gate is not None
        assert gate["passed"] == (bound <= threshold) == (float(gate["bound"]) <= float(gate["threshold"]))


def test_the_distance_shown_first_is_the_one_that_decides(evidence: Evidence) -> None:
    views = [QuestionView(one, 0.9) for one in examine(evidence).questions]
    for view in views[:2]:
        assert view.certificates[view.chosen].bound == view.findings.worst.bound
    single = certify_all(population(), {"loss": 0.9}, [0.2, 0.25, 0.3], shift="sensitive")
    view = QuestionView(examine(single).questions[0], None)
    assert view.now["rho"] == "0.3"


def test_it_says_what_it_is_about() -> None:
    told = population().described(
        model="scorer", model_version="1.4", data=NASTY[0], note=NASTY[3], meanings={"yes": NASTY[6]}
    )
    text = report(certify_all(told, ["loss"], [0.3], shift="sensitive"))
    page = Page(text)
    said = words(page)
    assert "fairbound report: scorer 1.4" in said
    assert "scorer, version 1.4" in said
    assert "nothing of them is proved" in said
    assert {NASTY[0], NASTY[3], NASTY[6]} <= set(page.bdi)
    assert not {"b", "img", "i"} & {tag for tag, _ in page.elements}
    assert [tag for tag, _ in page.elements].count("script") == 5


def test_several_questions_are_compared_with_those_of_the_same_metric(evidence: Evidence) -> None:
    old = certify_all(population(), ["loss", "selection_rate"], [0.2, 0.3], shift="sensitive", confidence=0.9)
    page = Page(report(evidence, against=old))
    assert words(page).count("What is proved of each") == 0  # their confidences differ: one of two, one of three
    assert "They differ in the confidence." in words(page)
    alike = certify_all(population(), THRESHOLDS, [0.2, 0.3], shift="sensitive", confidence=0.9)
    assert words(Page(report(evidence, against=alike))).count("The same at every distance that was compared") == 3
