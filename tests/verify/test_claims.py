"""What a proved document is said to claim leaves nothing out on which the claim depends."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairbound import Population, Verdict, certify, verify
from fairbound.certificate.document import digest
from fairbound.verify.beside.looks import RESERVED, taken_for
from fairbound.verify.beside.work import MOST_WORK, work_of
from fairbound.verify.names import OURS
from fairbound.verify.prequential import cuts_of, pieces_of
from fairbound.verify.reading import read_document
from tests.forging import Document
from tests.problems import E, P


def document(**changes: object) -> Document:
    """Return a certificate of the reference population, with changes of its measure."""
    found: Document = json.loads(certify(Population.from_moments(P, E), 0.2).to_json())
    found["population"]["measures"][0].update(changes)
    found["digest"] = digest(found["population"])
    return found


def test_strata_without_rows_are_told_of() -> None:
    """A stratum that has no rows in a cell, and a huge loss elsewhere, would exceed the bound if it came there."""
    rows = [
        (20, "a", 0, "A", 0),
        (20, "a", 1, "A", 0),
        (480, "b", 0, "A", 0),
        (480, "b", 1, "A", 0),
        (2, "a", 0, "B", 1),
    ]
    count = [row[0] for row in rows]
    group, label, stratum, loss = (np.repeat([row[i] for row in rows], count) for i in range(1, 5))
    population = Population.from_losses(loss, label, sensitive_features=group, strata=stratum, loss="mine", ceiling=1.0)
    certificate = certify(population, 0.2, shift="stratified", group_limits={"a": (0.0, 0.05)})
    k, r, moved = 22 / 1002, 482 / 1002, 0.07
    before = np.array([20, 2, 20, 0, 480, 0, 480, 0]) / 1002
    a, b = k * np.array([r, 0, 1 - r, 0]), (1 - k) * np.kron([r, 1 - r], [1 - moved, moved])
    after = np.concatenate([a, b])
    assert after.sum() == pytest.approx(1)
    assert np.sqrt(1 - np.sqrt(before * after).sum()) < 0.2
    assert after[1::2].sum() > certificate.bound + 0.03
    (claim,) = verify(certificate).claims[1:]
    assert "no stratum occurs in a cell in which it has no rows" in claim
    assert any("a stratum without rows in a cell has none in Q" in said for said in certificate.assumptions)


def test_a_ceiling_that_no_name_tells_is_told_of() -> None:
    """Of 1 % of the rows with a cross-entropy of 100 the claim would be false without it."""
    found = verify(document(loss="cross_entropy"))
    assert found.valid
    assert found.claims[1].endswith("no loss being above 1.0")
    assert "no loss" not in verify(document(loss="brier")).claims[1]
    assert "no loss" not in verify(certify(Population.from_moments(P, E), 0.2, shift="sensitive")).claims[1]


def test_which_label_is_selected_is_told_of() -> None:
    predicted = [0, 1, 1, 0] * 30
    rows = Population.from_predictions([0, 0, 1, 1] * 30, predicted, sensitive_features=[0, 1] * 60)
    found = json.loads(certify(rows, 0.3, metric="selection_rate", pos_label=1).to_json())
    for metric in ("selection_rate", "group_loss"):
        found["questions"][0]["metric"]["name"] = metric
        result = verify(found)
        assert result.valid
        assert "(predicting 1)" in result.claims[1]


def test_two_measures_of_one_name_are_refused() -> None:
    """A forgery that is proved of a harmless measure, in sentences that a reader takes to be about the other one."""
    population = Population.from_moments(P, E)
    harmless = Population.from_moments(P, 0.1 * np.asarray(E))
    found, easier = (json.loads(certify(one, 0.2).to_json()) for one in (population, harmless))
    found["population"]["measures"].append(easier["population"]["measures"][0])
    found["questions"] = [{**easier["questions"][0], "measure": 1}]
    found["digest"] = digest(found["population"])
    result = verify(found)
    assert result.verdict is Verdict.NOT_A_CERTIFICATE
    assert "the same name twice" in result.reasons[0]
    found["population"]["measures"][1]["loss"] = "mine"
    found["digest"] = digest(found["population"])
    assert verify(found).valid
    assert "'mine'" in verify(found).claims[1]


def test_two_selection_rates_are_told_apart_by_their_labels() -> None:
    """The same label twice is one measure twice, however it is written; 0 and false are two labels."""
    predicted, groups = [0, 1, 1, 0] * 30, [0, 1] * 60
    rows = Population.from_predictions([0, 0, 1, 1] * 30, predicted, sensitive_features=groups)
    found = json.loads(certify(rows, 0.3, metric="selection_rate", pos_label=1).to_json())
    other = copy.deepcopy(found["population"]["measures"][0])
    found["population"]["measures"].append(other)
    for label, allowed in ((1, False), (0, True), (True, True)):
        other["pos_label"] = label
        found["digest"] = digest(found["population"])
        assert verify(found).valid is allowed, label


def test_reasons_have_no_lines_of_strangers() -> None:
    found = document()
    found["x\ny"] = 1
    assert verify(found).reasons == ("has unknown entries: x\\ny",)


def test_reserved_names_are_told_from_ours() -> None:
    assert all(taken_for(name) is None for name in OURS)
    assert all(taken_for(f" {name.upper()} ") is not None for name in RESERVED)
    assert taken_for("mine") is None


def test_names_of_many_numbers_are_work() -> None:
    found = document()
    few = work_of(read_document(found))
    found["population"]["groups"] = [[name, *[1.5] * 99] for name in range(2)]
    assert work_of(read_document(found)) > few + 3000


def test_the_work_of_bets_is_estimated_without_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make the pieces takes longer than all the rest, if there are many groups and labels."""
    rows = Population.from_predictions([0, 1] * 60, [0, 0, 1] * 40, sensitive_features=[0, 0, 1, 1] * 30)
    found = read_document(json.loads(certify(rows, 0.3, confidence=0.9, region="prequential").to_json()))
    assert work_of(found) < MOST_WORK
    assert len(pieces_of(2, 120)) == 2 ** cuts_of(2, 120)
    monkeypatch.setattr("fairbound.verify.prequential.pieces_of", lambda *_: pytest.fail("this takes a while"))
    names: list[Any] = list(range(100))
    assert work_of(replace(found, population=replace(found.population, groups=names, labels=names))) > MOST_WORK
