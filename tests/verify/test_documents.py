"""Whole documents, written by hand: small ones whose bounds are plain to see, and what was once wrong with such."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from flint import arb, fmpq

from fairbound.certificate.between import ProvedCurve
from fairbound.cli import main
from fairbound.verify import strict, verdict
from fairbound.verify.balls import RefusedError
from fairbound.verify.document import Proof
from fairbound.verify.leaves import _term
from fairbound.verify.shares import pieces
from fairbound.verify.strict import canonical
from fairbound.verify.verdict import Verdict, Verification, verify
from tests.by_hand import framed, only

Document = dict[str, Any]

FREE: Document = {"skew": None, "rows": [], "most": []}
MEANS = [[0.2, 0.6], [0.1, 0.3]]


def tilted(relaxed: str = "none", level: float = 2.0, lam: float = 0.0) -> Document:
    """Return multipliers that are high enough for everything."""
    zeros, half = [0.0, 0.0], [0.5, 0.5]
    leaf = {"form": "T", "w": [[level] * 2] * 2, "centre": half, "gamma": zeros, "omega": zeros, "lam": lam}
    return {**leaf, "group_mu": [], "label_mu": [], "relaxed": relaxed}


def answer(bound: float, attained: float | None, leaf: Document, axis: str = "label") -> Document:
    """Return a bound with its proof; the witness is P itself."""
    witness = {
        "group_mass": [0.5, 0.5],
        "label_mass": [0.6, 0.4],
        "mass": None,
        "unseen": [[0.0] * 2] * 2,
        "reweighting": [[[1.0]] * 2] * 2,
    }
    proof = {"axis": axis, "floors": [0.0, 0.0], "splits": [None], "leaves": [leaf]}
    shown = None if attained is None else witness
    return copy.deepcopy({"bound": bound, "attained": attained, "witness": shown, "proof": proof})


def whole(statements: list[Any], answers: list[Document], claim: Document, **question: Any) -> Document:
    """Return a document about a population with equal base rates."""
    population = {
        "groups": ["a", "b"],
        "labels": [0, 1],
        "ceiling": 1.0,
        "rows": None,
        "excluded_rows": 0,
        "weighted": True,
        "loss": "mine",
        "pos_label": None,
        "weight": [[3.0, 2.0], [3.0, 2.0]],
        "knowledge": {"kind": "mean", "mean": MEANS},
    }
    asked = {
        "metric": {"name": "loss", "group": None},
        "shift": "sensitive",
        "support": "any",
        "empty_cells": "ceiling",
        "divergence": "hellinger",
        "order": None,
        "fair": True,
        "base_rate_tolerance": None,
        "group_limits": FREE,
        "label_limits": FREE,
        "confidence": None,
        "tol": 0.001,
    }
    stated = [{"objective": one, "confidence": None, "sampling": None} for one in statements]
    points = [{"rho": 0.2, "claim": claim, "answers": answers}]
    return copy.deepcopy({**framed(population, {**asked, **question}, stated, None, points), "digest": ""})


def checked(document: Document) -> Verification:
    """Check a document, with the digest of what it now says."""
    document["digest"] = f"sha256:{hashlib.sha256(canonical(document['population']).encode()).hexdigest()}"
    return verify(document)


def loss() -> Document:
    """Return a document about the loss of all: 0.6 is the largest mean of a cell."""
    attained = 0.5 * (0.6 * 0.2 + 0.4 * 0.6) + 0.5 * (0.6 * 0.1 + 0.4 * 0.3)
    return whole([None], [answer(0.6, attained, tilted(level=0.6))], {"bound": 0.6, "attained": attained})


def objective(plus: int | None, minus: int | None, *, ratio: bool = False) -> Document:
    """Return a mean or a comparison."""
    return {"plus": plus, "minus": minus, "label": None, "inside": True, "ratio": ratio}


def difference() -> Document:
    """Return a document about differences: of each label group a's mean is larger, by 0.1 at least and 0.3 at most."""
    attained = 0.6 * 0.1 + 0.4 * 0.3
    answers = [
        answer(0.30000000000000004, attained, tilted("both", 0.0)),
        answer(-0.1, None, tilted("both", 0.0)),
    ]
    objectives = [objective(0, 1), objective(1, 0)]
    claim = {"bound": 0.30000000000000004, "attained": attained}
    return whole(objectives, answers, claim, metric={"name": "group_loss_difference", "group": None})


def test_what_is_plain_to_see_is_proved() -> None:
    """And no less than that."""
    found = checked(loss())
    assert found.valid, found.reasons
    assert found.checked_bound == 0.6
    document = loss()
    only(document)["points"][0]["claim"]["bound"] = only(document)["points"][0]["answers"][0]["bound"] = 0.59
    assert checked(document).verdict is Verdict.NOT_PROVED
    found = checked(difference())
    assert found.valid, found.reasons


def test_what_was_checked_of_a_metric_is_its_weakest_part() -> None:
    """Also if that is one of which no witness is shown."""
    document = difference()
    point = only(document)["points"][0]
    point["claim"]["bound"] = point["answers"][1]["bound"] = 0.9
    found = checked(document)
    assert found.valid, found.reasons
    assert found.checked_bound == 0.9
    assert found.witness_value == pytest.approx(0.18)
    point["claim"]["bound"] = 0.8
    assert checked(document).verdict is Verdict.NOT_PROVED


def test_differences_do_not_follow_from_means() -> None:
    """Each is a statement of its own, although the bounds of two means would add up to one of it."""
    document = difference()
    only(document)["statements"][1:] = [
        {**only(document)["statements"][1], "objective": one} for one in (objective(1, None), objective(None, 0))
    ]
    answers = only(document)["points"][0]["answers"]
    answers[1:] = [answer(0.3, None, tilted("both", 0.0)), answer(0.0, None, tilted("both", 0.0))]
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert len(found.reasons) == 1
    assert "not those that the metric is made of" in found.reasons[0]


def test_a_missing_or_foreign_statement_is_refused() -> None:
    """None of the differences may be missing, and none stands there twice."""
    for number in range(2):
        document = difference()
        del only(document)["statements"][number], only(document)["points"][0]["answers"][number]
        assert not checked(document).valid
    document = difference()
    only(document)["statements"].append(only(document)["statements"][1])
    only(document)["points"][0]["answers"].append(only(document)["points"][0]["answers"][1])
    assert not checked(document).valid


def test_the_loss_of_all_is_not_that_of_a_group() -> None:
    """Whoever reads a group's name believes it."""
    document = loss()
    only(document)["metric"]["group"] = "a"
    found = checked(document)
    assert found.verdict is Verdict.NOT_A_CERTIFICATE
    assert "questions[0].metric.group" in found.reasons[0]


def test_a_claim_without_what_is_attained_is_refused() -> None:
    """And does not end the check with an error."""
    document = loss()
    only(document)["points"][0]["claim"]["attained"] = None
    assert checked(document).verdict is Verdict.NOT_PROVED
    only(document)["points"][0]["answers"][0] |= {"attained": None, "witness": None}
    assert checked(document).verdict is Verdict.NOT_PROVED


@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_ratios_lie_between_zero_and_one(value: float) -> None:
    """Of others nobody knows what they mean."""
    answers = [answer(0.0, value, tilted("both", 0.0)), answer(0.0, 1.0, tilted("both", 0.0))]
    objectives = [objective(0, 1, ratio=True), objective(1, 0, ratio=True)]
    document = whole(objectives, answers, {"bound": 0.0, "attained": 0.0})
    only(document)["metric"]["name"] = "demographic_parity_ratio"
    found = checked(document)
    assert found.verdict is Verdict.NOT_A_CERTIFICATE
    assert "ratio" in found.reasons[0]


def test_a_witness_may_have_nothing_in_common_with_the_data() -> None:
    """At radius 1 every distribution is in the ball."""
    document = loss()
    only(document)["shift"] = "general"
    point = only(document)["points"][0]
    point |= {"rho": 1.0, "claim": {"bound": 1.0, "attained": 1.0}, "answers": [answer(1.0, 1.0, tilted(level=1.0))]}
    point["answers"][0]["witness"] |= {"unseen": [[1.0] * 2] * 2, "reweighting": [[[0.0, 0.0]] * 2] * 2}
    document["population"]["weight"] = [[0.1, 0.2], [0.3, 0.7]]
    found = checked(document)
    assert found.valid, found.reasons


def sampled() -> Document:
    """Return a document about a sample of ten rows without a loss, with the limits that rows cannot exceed."""
    document = loss()
    document["population"] |= {"weighted": False, "rows": 10.0}
    document["population"]["measures"][0]["loss"] = "zero_one"
    document["confidence"] = 0.9
    cells = [[[[0.0, 0.0, weight, 0.0]] for weight in row] for row in document["population"]["weight"]]
    document["population"]["measures"][0]["knowledge"] = {"kind": "losses", "cells": cells, "rows": 3.0}
    only(document)["confidence"] = 0.9
    only(document)["statements"][0]["confidence"] = 0.9
    only(document)["statements"][0]["sampling"] = {
        "region": "hoeffding",
        "affinity": 0.0,
        "weight": document["population"]["weight"],
        "knowledge": {"kind": "mean", "mean": [[1.0, 1.0], [1.0, 1.0]]},
        "losses": None,
        "counts": None,
        "seed": None,
    }
    only(document)["points"][0] |= {
        "claim": {"bound": 1.0, "attained": 1.0},
        "answers": [answer(1.0, 1.0, tilted(level=1.0))],
    }
    return document


def test_the_region_hoeffding() -> None:
    """The check ends, and says what it was of, and that this region was chosen."""
    document = sampled()
    found = checked(document)
    assert found.valid, found.reasons
    assert any("not the usual region" in check for check in found.checks)
    assert any("hoeffding" in check and "10 rows" in check for check in found.checks)
    only(document)["statements"][0]["sampling"]["knowledge"]["mean"][0][0] = 0.5
    assert "may exceed 0.5" in checked(document).reasons[0]


def ratio(attained: float) -> Document:
    """Return a document about a ratio of tiny means: b's is twice a's, so 0.5 is attained, and 0 is proved."""
    objectives = [objective(0, 1, ratio=True), objective(1, 0, ratio=True)]
    answers = [answer(0.0, 1.0, tilted("both", 0.0)), answer(0.0, attained, tilted("both", 0.0))]
    claim = {"bound": 0.0, "attained": min(1.0, attained)}
    document = whole(objectives, answers, claim, metric={"name": "demographic_parity_ratio", "group": None})
    document["population"]["measures"][0].update(
        loss="selected", pos_label=1, knowledge={"kind": "mean", "mean": [[1e-13] * 2, [2e-13] * 2]}
    )
    return document


def test_what_a_ratio_attains_is_measured_by_its_own_mean() -> None:
    found = checked(ratio(0.5))
    assert found.valid, found.reasons
    for attained, word in ((0.49999, "more than"), (0.2, "more than"), (0.50001, "not"), (0.9, "not")):
        found = checked(ratio(attained))
        assert found.verdict is Verdict.NOT_PROVED
        assert f"{word} the attained one" in found.reasons[0]
    nothing = ratio(0.5)
    nothing["population"]["measures"][0]["knowledge"]["mean"] = [[0.0] * 2, [0.0] * 2]
    assert "no mean to divide by" in checked(nothing).reasons[0]


def test_a_text_in_a_text_is_no_document(tmp_path: Path) -> None:
    """JSON may be a text that is itself the JSON of a certificate: only what was read is looked at."""
    document = loss()
    assert checked(document).valid
    twice = json.dumps(json.dumps(document))
    for text in (twice, twice.encode(), json.dumps(twice), "[]", "null", "1"):
        found = verify(text)
        assert found.verdict is Verdict.NOT_A_CERTIFICATE
        assert found.reasons == ("the document is not a JSON object",)
        with pytest.raises(ValueError, match="not a JSON object"):
            ProvedCurve(text)
    path = tmp_path / "twice.json"
    path.write_text(twice)
    assert main(["verify", str(path)]) == 2


def test_what_is_not_looked_at_of_a_region_must_not_be_there() -> None:
    """Losses, counts and a seed beside "hoeffding" would be told of as if they had been checked."""
    document = sampled()
    assert checked(document).valid
    for key, value in (("losses", [0.0, 1.0]), ("counts", [[[3, 0], [2, 0]]] * 2), ("seed", 7)):
        other = copy.deepcopy(document)
        only(other)["statements"][0]["sampling"][key] = value
        if key != "seed":
            only(other)["statements"][0]["sampling"] |= {
                "losses": [0.0, 1.0],
                "counts": [[[3, 0], [2, 0]]] * 2,
            }
        found = checked(other)
        assert found.verdict is Verdict.NOT_A_CERTIFICATE
        assert "must be null for strata and for the region hoeffding" in found.reasons[0]


def test_the_size_is_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    document = loss()
    document["producer"] = "\u00e9" * 500
    checked(document)
    text = json.dumps(document, ensure_ascii=False)
    monkeypatch.setattr(strict, "MOST_BYTES", len(text) + 400)
    for one in (text, text.encode()):
        assert "bytes; at most" in verify(one).reasons[0]
    monkeypatch.setattr(strict, "MOST_BYTES", len(text.encode()))
    assert verify(text).valid
    assert verify(text.encode()).valid


# Guards that nothing else here needs: what each refuses, and why


def test_losses_without_a_ceiling_prove_nothing_where_they_may_change() -> None:
    """If anything may change, and nobody says how large a loss can be, no multiplier is high enough."""
    document = loss()
    document["population"]["measures"][0]["knowledge"] = {
        "kind": "losses",
        "cells": [[[[mean, mean, weight, 0.0]] for mean, weight in zip(row, [3.0, 2.0], strict=True)] for row in MEANS],
        "rows": 3.0,
    }
    assert checked(document).valid
    only(document)["shift"] = "general"
    assert not checked(document).valid  # the ceiling is 1
    document["population"]["measures"][0]["ceiling"] = None
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert "general shifting needs a finite ceiling" in found.reasons


def test_infinite_terms_prove_nothing() -> None:
    """Not even what is true of all distributions."""
    document = loss()
    only(document)["points"][0]["answers"][0]["proof"]["leaves"] = [tilted(level=0.6, lam=1.0)]
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert "a term is infinite" in found.reasons[0]


def test_a_mean_of_nobody_is_not_attained() -> None:
    document = difference()
    only(document)["points"][0]["answers"][0]["witness"]["group_mass"] = [0.0, 1.0]
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert any("no mass where the means are taken" in reason for reason in found.reasons)


def test_a_proof_without_pieces_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree of pieces has one at least; if it had none the place that decides would not call it proved."""
    monkeypatch.setattr(verdict, "excesses", lambda *_: [])
    found = checked(loss())
    assert found.verdict is Verdict.NOT_PROVED
    assert "the proof has no pieces: it proves nothing" in found.reasons


def test_terms_whose_kind_cannot_be_told_are_bounded_by_the_larger_one() -> None:
    """Convex or concave, balls do not say: the term itself where it is finite, and its tangent."""
    c, q, one = arb(0, 0.1), arb(0, 0.1), arb(1)
    with pytest.raises(RefusedError, match="a tangent is taken"):
        _term(arb(0), c, q, one, one)
    with pytest.raises(RefusedError, match="an atom's term is infinite"):
        _term(arb(0), arb(0.5), arb(0, 0.6), one, arb(0.5))
    bound = _term(arb(0), arb(1), arb(0, 0.1), one, arb(0.5))
    assert all(bound.upper() >= 1 / (1 + arb(q)) for q in (-0.0999, 0.0, 0.0999))


def test_pieces_of_very_many_shares_are_not_checked() -> None:
    proof = Proof("label", [0.0] * 5000, [None], [])
    with pytest.raises(RefusedError, match="more than 4096 shares"):
        list(pieces(proof, [fmpq(0)] * 5000))


def test_only_rows_that_count_once_are_a_sample() -> None:
    """Weights, moments, and rows of which some are missing say nothing of where rows came from."""
    moments = {"kind": "mean", "mean": [[0.0, 0.0], [0.0, 0.0]]}
    halves = [[[[loss, loss, weight / 2, 0.0] for loss in (0.0, 1.0)] for weight in (3.0, 2.0)] for _ in range(2)]
    for change, reason in (
        ({"weighted": True}, "rows without weights"),
        ({"rows": None}, "the rows themselves"),
        ({"rows": 11.0}, "do not add up to the number of rows"),
        ({"knowledge": moments}, "the rows themselves"),
        ({"knowledge": {"kind": "losses", "cells": halves, "rows": 3.0}}, "whole numbers of rows"),
    ):
        document = sampled()
        assert checked(document).valid
        measure = document["population"]["measures"][0]
        (measure if "knowledge" in change else document["population"]).update(change)
        found = checked(document)
        assert found.verdict is Verdict.NOT_PROVED
        assert any(reason in given for given in found.reasons), found.reasons


def test_what_takes_the_place_of_a_sample_has_its_rows() -> None:
    document = sampled()
    only(document)["statements"][0]["sampling"]["weight"] = [[3.0, 2.0], [2.0, 3.0]]
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert "the cells of the surrogate do not have the population's numbers of rows" in found.reasons


def _put(*path: Any, value: Any) -> Any:
    """Return a change of one place of the only answer."""

    def change(document: Document) -> None:
        found: Any = only(document)["points"][0]["answers"][0]
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


def _with_masses(document: Document) -> None:
    only(document)["fair"] = False
    _put("witness", "mass", value=[[0.3, 0.2], [0.3, 0.2]])(document)
    _put("witness", "group_mass", value=[0.6, 0.4])(document)


def _beyond_what_occurs(document: Document) -> None:
    only(document)["shift"] = "general"
    document["population"]["measures"][0]["knowledge"]["mean"] = [[0.0, 0.6], [0.1, 0.3]]
    _put("witness", "reweighting", value=[[[0.5, 0.5]] * 2] * 2)(document)


_F: Document = {
    "zeta": [[1.0, 1.0], [1.0, 1.0]],
    "base": None,
    "offset": None,
    "slope": None,
    "omega": [0.0, 0.0],
    "nu": None,
}
_F |= {"form": "F", "centre": [0.5, 0.5], "lam": 1.0, "group_mu": [], "label_mu": []}

REFUSED: dict[str, tuple[Any, str]] = {
    "an empty cell": (lambda d: d["population"]["weight"][0].__setitem__(0, 0.0), "nothing is assumed of its losses"),
    "nothing of a cell": (_put("witness", "reweighting", 0, 1, value=[0.0]), "says nothing of cell (0, 1)"),
    "a loss that P does not have": (_beyond_what_occurs, "a loss that does not occur in cell (0, 0)"),
    "shares of other masses": (_with_masses, "group_mass does not belong to its masses"),
    "a leaf for means": (_put("proof", "leaves", value=[_F]), "takes leaves with base and offset"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_for_one_reason(name: str) -> None:
    change, why = REFUSED[name]
    document = loss()
    only(document)["empty_cells"] = "refuse"
    assert checked(document).valid
    change(document)
    found = checked(document)
    assert found.verdict is Verdict.NOT_PROVED
    assert any(why in reason for reason in found.reasons), found.reasons
