"""Reports about several questions: a line for each gate, and what the author says of data and model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from fairbound import Evidence, Population, certify, certify_all, report, verify
from fairbound.certificate.certificate import combined
from fairbound.reporting.question_view import QuestionView
from fairbound.reporting.report_data import examine
from fairbound.wording.names import short_name
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
    said = words(Page(text))
    assert "✗ Not proved" in said
    assert "Gate not decided The error rate has to be at most 90 %, and nothing is proved." in said


def test_what_a_refused_page_shows_is_what_the_document_claims() -> None:
    """Not what its answers say, which nobody claims."""
    document = json.loads(small_curve().to_json())
    point = next(one for one in document["questions"][0]["points"] if one["claim"] is not None)
    point["claim"]["bound"] = 0.0625
    (one,) = examine(json.dumps(document)).questions
    assert 0.0625 in [c.bound for c in one.certificates]
    refused = verify(json.dumps(document))
    assert not refused.valid
    assert any(f"rho = {point['rho']!r}: the claimed bound 0.0625 does not follow" in why for why in refused.reasons)


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


def test_without_a_threshold_no_distance_is_shown_first_at_which_nothing_is_said() -> None:
    found = certify_all(population(), ["demographic_parity_difference"], [0.2, 0.21, 0.6, 0.7, 0.8])
    (one,) = examine(found).questions
    assert [c.trivial for c in one.certificates] == [False, False, True, True, True]
    assert QuestionView(one, None).now["rho"] == "0.21"


def test_of_groups_with_the_same_bound_the_one_that_attains_most_is_shown() -> None:
    """Where bounds end at the ceiling they are equal, and the witness has to be that of the value that is shown."""
    first, second = certify(population(), 0.6, metric="group_loss").comparisons
    assert first.bound == second.bound == 1.0
    less = replace(first, attained=0.5)
    for parts in ((less, second), (second, less)):
        found = combined(parts, "group_loss", None, None)
        assert found.attained == second.attained
        assert found.witness is second.witness
        assert found.leading == str(population().groups[1])


def test_the_worst_case_names_the_groups_that_it_is_about() -> None:
    """They may be others at another distance; of the loss of all, or of a chosen group, there is nobody to name."""
    asked: dict[str, Any] = {"shift": "sensitive"}
    questions: list[Any] = ["loss", "group_loss", "demographic_parity_ratio"]
    group = population().groups[0]
    found = certify_all(population(), [*questions, {"metric": "group_loss", "group": group}], [0.2, 0.3], **asked)
    for curve, pair in zip(found, (0, 1, 2, 0), strict=True):
        for c in curve:
            names = c.leading.split(" against ") if c.leading else []
            assert len(names) == pair
            means = (c.witness.mass * c.population.mean).sum(axis=1) / c.witness.mass.sum(axis=1)
            by_name = dict(zip(map(short_name, c.population.groups), means, strict=True))
            if pair == 1:
                assert by_name[names[0]] == pytest.approx(c.attained, abs=1e-6)
            if pair == 2:
                assert by_name[names[0]] / by_name[names[1]] == pytest.approx(c.attained, abs=1e-6)
    last = [*found["demographic_parity_ratio"]][-1]
    assert f"It is about {last.leading}, the two groups" in words(Page(report(found)))


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


def test_the_first_sentences_say_what_was_not_compared(evidence: Evidence) -> None:
    """And models are called by the names that their documents have."""
    named = [population().described(model="scorer", model_version=version) for version in ("1.4", "1.5")]
    old = certify_all(named[0], ["loss", "group_loss"], [0.2, 0.3], shift="sensitive")
    new = certify_all(named[1], ["loss", "cell_loss"], [0.2, 0.3], shift="general")
    text = words(Page(report(new, against=old)))
    top = text[: text.index("SHA-256")]
    assert "Error rate: not compared. The two certificates answer different questions" in top
    assert "They differ in the shift." in top
    assert "Only scorer 1.4 was asked for: error rate of the worst group." in top
    assert text.count("They differ in the shift.") == 1
    assert "scorer 1.5 against scorer 1.4" in text
    assert "the newer model" in words(Page(report(new, against=evidence)))  # where one of them is not named
