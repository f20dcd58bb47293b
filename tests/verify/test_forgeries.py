"""Documents that were made to be believed: whatever the checker proves of them is true."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from fairbound import (
    LOSSES,
    Certificate,
    CertificateCurve,
    InfeasibleError,
    Population,
    Verdict,
    certify,
    nearest_fair,
    report,
    verify,
)
from fairbound.cli import main
from fairbound.data.loss_summary import bin_edges
from fairbound.reporting.report_data import worst_losses
from fairbound.sampling.discretise import drawn
from fairbound.verify import verdict
from fairbound.verify.beside.looks import RESERVED
from fairbound.verify.document import singles
from fairbound.verify.names import CEILINGS
from fairbound.verify.reading import read_document
from fairbound.verify.verdict import Finding, _decide
from tests.by_hand import only
from tests.forging import (
    ON_ROWS,
    POPULATIONS,
    QUESTIONS,
    USUAL,
    Change,
    Document,
    assert_no_more_is_proved,
    assert_true,
    better,
    check_mutants,
    claims,
    honest,
    mended,
    mutants_of,
    reshaped,
    statements,
    text,
)
from tests.metric_oracles import METRICS
from tests.problems import E, P


def refused(document: Document, why: str = "") -> None:
    """The checker proves nothing of a document, and says why."""
    result = verify(json.dumps(mended(document)))
    assert not result.valid
    assert why in " ".join(result.reasons)


def true_if_proved(document: Document) -> bool:
    """What the checker proves is true; tell whether it proves it."""
    result = verify(mended(document))
    assert result.valid or result.reasons
    if result.valid:
        assert result.checked_bound is not None
        assert result.witness_value is not None
        assert_true(document)
    return result.valid


def proofs(document: Document) -> list[Document]:
    return [answer["proof"] for answer in statements(document)]


def leaves(document: Document) -> list[Document]:
    return [leaf for proof in proofs(document) for leaf in proof["leaves"]]


def numbers(value: Any, change: Callable[[float], float]) -> Any:
    """Change all numbers inside a value."""
    if isinstance(value, list):
        return [numbers(v, change) for v in value]
    if isinstance(value, dict):
        return {k: numbers(v, change) for k, v in value.items()}
    return change(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def worst(answers: list[Document], *, ratio: bool) -> Document:
    """Return the claim that follows from some answers."""
    most: Callable[..., float] = min if ratio else max
    shown = [one["attained"] for one in answers if one["attained"] is not None]
    return {"bound": most(one["bound"] for one in answers), "attained": most(shown, default=None)}


def claim_the_worst(document: Document) -> None:
    """Claim of the metric what its statements say, as a careful forger does."""
    ratio = any(one["objective"] is not None and one["objective"]["ratio"] for one in only(document)["statements"])
    for point in only(document)["points"]:
        if point["answers"]:
            point["claim"] = worst(point["answers"], ratio=ratio)


# Every kind of question


@pytest.mark.parametrize(
    ("name", "form", "axis", "several", "omega"),
    [
        ("sensitive, intervals", "T", "label", True, False),
        ("several pieces, near base rates", "T", "label", True, False),
        ("pieces with limits", "T", "label", True, True),
        ("general, intervals", "F", "label", False, False),
        ("one leaf with limits", "F", "label", False, True),
        ("limits, groups searched", "F", "group", False, False),
        ("several pieces of three labels, near base rates", "F", "group", True, True),
    ],
)
def test_losses_are_proved_in_all_ways(name: str, form: str, axis: str, several: bool, omega: bool) -> None:
    """What is forged below are leaves of both forms and on both sides, of one piece and of several."""
    (proof,) = proofs(honest(name))
    assert {leaf["form"] for leaf in proof["leaves"]} == {form}
    assert proof["axis"] == axis
    assert (len(proof["leaves"]) > 1) == several
    assert any(any(leaf["omega"]) for leaf in proof["leaves"]) == omega


@pytest.mark.parametrize("name", QUESTIONS)
def test_honest_documents_are_proved(name: str) -> None:
    assert verify(text(name)).valid
    assert verify(text(name, curve=True)).valid
    leading = claims(honest(name))[-1]
    if name not in ON_ROWS:  # there the worst case is one around the rows
        assert abs(leading["bound"] - leading["attained"]) <= {**USUAL, **QUESTIONS[name][1]}["tol"]


def no_pieces(floor: float | None) -> Change:
    """Leave all pieces out, with a root that leaves out nothing where one share, or any, is possible."""

    def change(document: Document) -> None:
        for proof in proofs(document):
            proof["splits"], proof["leaves"] = [], []
            if floor is not None:
                proof["floors"] = [floor, *[0.0] * (len(proof["floors"]) - 2), 1.0 - floor][: len(proof["floors"])]

    return change


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("floor", [None, 0.0, 0.5, 1.0])
def test_a_proof_without_pieces_proves_nothing(name: str, floor: float | None) -> None:
    """Nothing to compare is not the same as nothing against it."""
    document = honest(name)
    no_pieces(floor)(document)
    refused(document)
    for proof in proofs(document):
        proof["splits"] = [None]
    refused(document)
    better(document, 0.05)
    refused(document)


@pytest.mark.parametrize(
    "asked",
    [
        {"metric": "equalized_odds_difference", "pos_label": 1, "fair": False},
        {"metric": "cell_loss", "base_rate_tolerance": 1.0},
        {"metric": "equalized_odds_difference", "pos_label": 1, "label_skew": 0.0},
    ],
    ids=["any base rates", "a tolerance of one", "one share of labels"],
)
def test_no_cover_of_nothing(asked: Any) -> None:
    """Where a root of one point covers all shares there is nothing inside of it, and still nothing is bounded."""
    document = json.loads(certify(POPULATIONS["rows"](), 0.2, tol=1e-3, **asked).to_json())
    for floor in (None, 0.0, 0.5, 1.0):
        forged = copy.deepcopy(document)
        no_pieces(floor)(forged)
        better(forged, 0.2)
        for claim in claims(forged):
            claim["attained"] = claim["bound"]
        refused(forged)
        for claim, true in zip(claims(forged), claims(document), strict=True):
            claim["attained"] = true["attained"]
        refused(forged)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("by", [2e-3, 0.1, 10.0])
def test_no_better_bound_is_proved(name: str, by: float) -> None:
    """Bounds are within 1e-3 of what is attained, so these are false; the forger may lower what is attained too."""
    document = honest(name)
    better(document, by)
    refused(document)
    for claim in claims(document):
        claim["attained"] = claim["bound"]
    refused(document)


def every_multiplier(change: Callable[[float], float]) -> Change:
    """Change all multipliers of all proofs."""

    def changed(document: Document) -> None:
        for proof in proofs(document):
            proof["leaves"] = numbers(proof["leaves"], change)

    return changed


def rescale(factor: float) -> Change:
    """Multiply all multipliers of all proofs."""
    return every_multiplier(lambda v: v * factor)


def shift_by(amount: float) -> Change:
    """Add to all multipliers of all proofs."""
    return every_multiplier(lambda v: v + amount)


def ask(key: str, value: Any) -> Change:
    """Ask something else."""

    def change(document: Document) -> None:
        question = only(document)
        if key == "rho":
            for point in only(document)["points"]:
                point["rho"] = value
        elif key.endswith("_skew"):
            question[f"{key[:5]}_limits"]["skew"] = value
        else:
            question[key] = value
        if key == "confidence":
            for statement in only(document)["statements"]:
                statement["confidence"] = value

    return change


def no_limits(document: Document) -> None:
    for side in ("group", "label"):
        only(document)[f"{side}_limits"] = {"skew": None, "rows": [], "most": []}
        for leaf in leaves(document):
            leaf[f"{side}_mu"] = []


def looser_limits(document: Document) -> None:
    """Limits that say nothing, with the same multipliers."""
    for side in ("group", "label"):
        limits = only(document)[f"{side}_limits"]
        limits["most"] = [min(2.0, most + 0.01) for most in limits["most"]]
        limits["skew"] = None if limits["skew"] is None else min(1.0, limits["skew"] + 0.01)


def widen(by: float) -> Change:
    """Ask about larger balls: the worst cases lie inside still, so that nothing but the proof can tell."""

    def change(document: Document) -> None:
        for point in only(document)["points"]:
            point["rho"] += by

    return change


def fewer_leaves(document: Document) -> None:
    for proof in proofs(document):
        proof["leaves"] = proof["leaves"][:-1]


def one_leaf_for_all(document: Document) -> None:
    for proof in proofs(document):
        proof["leaves"] = [proof["leaves"][0]] * len(proof["leaves"])


def no_splits(document: Document) -> None:
    for proof in proofs(document):
        proof["leaves"], proof["splits"] = proof["leaves"][:1], [None]


def leaves_turned_round(document: Document) -> None:
    for proof in proofs(document):
        proof["leaves"].reverse()


def narrow_cover(document: Document) -> None:
    for proof in proofs(document):
        proof["floors"] = [0.3] * len(proof["floors"])


def hardly_narrower_cover(document: Document) -> None:
    for proof in proofs(document):
        proof["floors"] = [min(1.0, floor + 1e-9) for floor in proof["floors"]]


def splits_at(change: Callable[[float], float]) -> Change:
    """Move the place where pieces are cut."""

    def changed(document: Document) -> None:
        for proof in proofs(document):
            for split in proof["splits"]:
                if split is not None:
                    split[2] = change(split[2])

    return changed


def splits_turned_round(document: Document) -> None:
    """Cut the same edges, and give each half the other one's multipliers."""
    for proof in proofs(document):
        proof["splits"] = [split and [split[1], split[0], 1.0 - split[2]] for split in proof["splits"]]


def centres_moved_on(document: Document) -> None:
    """Take tangents, and pivots, at other shares."""
    for leaf in leaves(document):
        leaf["centre"] = [*leaf["centre"][1:], leaf["centre"][0]]


def centres_in_a_corner(document: Document) -> None:
    for leaf in leaves(document):
        leaf["centre"] = [1.0 - 1e-9, *[1e-9] * (len(leaf["centre"]) - 1)]


def a_nu_or_a_slope(document: Document) -> None:
    """Use multipliers that need not be there."""
    for leaf in leaves(document):
        if leaf["form"] == "F":
            leaf["nu"] = [max(row) for row in leaf["zeta"]]
            if leaf["base"] is None:
                leaf["slope"] = [[0.1] * len(row) for row in leaf["zeta"]]


def neither_nu_nor_slope(document: Document) -> None:
    for leaf in leaves(document):
        if leaf["form"] == "F":
            leaf["nu"] = leaf["slope"] = None


def in_form(axis: str, form: str) -> Change:
    """Have leaves of some form, of pieces of some shares: the other form, or other shares, or both."""

    def change(document: Document) -> None:
        for answer in statements(document):
            answer["proof"] = reshaped(answer["proof"], axis, form, document)

    return change


def say(key: str, value: Any) -> Change:
    """Say of all leaves that they are something else."""

    def change(document: Document) -> None:
        for leaf in leaves(document):
            if key in leaf:
                leaf[key] = value

    return change


def witness_of_the_data(document: Document) -> None:
    """Show P itself, which has other base rates."""
    population = document["population"]
    total = sum(map(sum, population["weight"]))
    table = [[v / total for v in row] for row in population["weight"]]
    for answer in statements(document):
        witness = answer["witness"]
        witness["group_mass"] = [sum(row) for row in table]
        witness["label_mass"] = [sum(column) for column in zip(*table, strict=True)]
        witness["mass"] = table if witness["mass"] is not None else None


def no_witness(which: slice) -> Change:
    """Show no worst case, and so nothing that is attained, of some statements."""

    def change(document: Document) -> None:
        for point in only(document)["points"]:
            for answer in point["answers"][which]:
                answer["witness"] = answer["attained"] = None
        claim_the_worst(document)

    return change


def exchanged(*keys: str) -> Change:
    """Exchange what the answers to two statements have."""

    def change(document: Document) -> None:
        for point in only(document)["points"]:
            before = copy.deepcopy(point["answers"])
            for answer, other in zip(point["answers"], before[1:] + before[:1], strict=True):
                answer.update({key: other[key] for key in keys})
        claim_the_worst(document)

    return change


def objectives_turned_round(document: Document) -> None:
    for statement in only(document)["statements"]:
        about = statement["objective"]
        if about is not None:
            about["plus"], about["minus"] = about["minus"], about["plus"]


def objectives(**entries: Any) -> Change:
    """Say that statements are about something else."""

    def change(document: Document) -> None:
        for statement in only(document)["statements"]:
            if statement["objective"] is not None:
                statement["objective"].update(entries)

    return change


def statements_turned_round(document: Document) -> None:
    only(document)["statements"].reverse()


def one_statement_fewer(document: Document) -> None:
    only(document)["statements"].pop()
    for point in only(document)["points"]:
        point["answers"].pop()
    claim_the_worst(document)


def one_statement_twice(document: Document) -> None:
    only(document)["statements"][-1] = only(document)["statements"][0]
    for point in only(document)["points"]:
        point["answers"][-1] = point["answers"][0]
    claim_the_worst(document)


def surer_statements(document: Document) -> None:
    for statement in only(document)["statements"]:
        if statement["confidence"] is not None:
            statement["confidence"] = 0.999


def surer_whole(document: Document) -> None:
    if only(document)["confidence"] is not None:
        only(document)["confidence"] = 0.999


def sample_for_the_truth(document: Document) -> None:
    """Say that the rows are all there is."""
    ask("confidence", None)(document)
    for statement in only(document)["statements"]:
        statement["sampling"] = None


def one_group_only(document: Document) -> None:
    only(document)["metric"]["group"] = document["population"]["groups"][0]


#: What a forger who knows the format would try; whatever is still proved must be true of the question as it now is.
TRICKS: dict[str, Change] = {
    "multipliers of zero": rescale(0.0),
    "multipliers turned round": rescale(-1.0),
    "multipliers of twice the size": rescale(2.0),
    "huge multipliers": rescale(1e60),
    "tiny multipliers": rescale(1e-60),
    "multipliers lowered": shift_by(-0.5),
    "multipliers raised": shift_by(0.5),
    "a leaf left out": fewer_leaves,
    "one leaf for all": one_leaf_for_all,
    "leaves turned round": leaves_turned_round,
    "no splits": no_splits,
    "splits turned round": splits_turned_round,
    "splits moved": splits_at(lambda part: part * part),
    "splits at an end": splits_at(lambda _: 1.0),
    "splits near an end": splits_at(lambda _: 1.0 - 1e-12),
    "a narrow cover": narrow_cover,
    "a cover that is narrower by little": hardly_narrower_cover,
    "centres moved on": centres_moved_on,
    "centres in a corner": centres_in_a_corner,
    "nu and slope where there are none": a_nu_or_a_slope,
    "neither nu nor slope": neither_nu_nor_slope,
    **{
        f"form {form} of shares of {axis}s": in_form(axis, form) for axis in ("label", "group", "part") for form in "TF"
    },
    **{f"relaxed: {word}": say("relaxed", word) for word in ("none", "plus", "minus", "both")},
    "a larger radius": ask("rho", 0.5),
    "a radius larger by little": widen(0.01),
    "a radius larger by less": widen(0.002),
    "a smaller radius": ask("rho", 0.01),
    "radius zero": ask("rho", 0.0),
    "general shifting": ask("shift", "general"),
    "stratified shifting": ask("shift", "stratified"),
    "sensitive shifting": ask("shift", "sensitive"),
    "observed support": ask("support", "observed"),
    "any support": ask("support", "any"),
    "no condition on base rates": lambda d: [ask("base_rate_tolerance", None)(d), ask("fair", False)(d)],
    "equal base rates": lambda d: [ask("base_rate_tolerance", None)(d), ask("fair", True)(d)],
    "nearly equal base rates": lambda d: [ask("base_rate_tolerance", 0.2)(d), ask("fair", True)(d)],
    "total variation": ask("divergence", "total_variation"),
    "Kullback-Leibler": ask("divergence", "kl"),
    "Hellinger": ask("divergence", "hellinger"),
    "chi-squared": ask("divergence", "chi_squared"),
    "trimming": ask("divergence", "trimming"),
    "a limit on groups": ask("group_skew", 0.05),
    "a limit on labels": ask("label_skew", 0.05),
    "no limits": no_limits,
    "looser limits": looser_limits,
    "more confidence": ask("confidence", 0.999),
    "surer statements": surer_statements,
    "a surer whole": surer_whole,
    "a sample for the truth": sample_for_the_truth,
    "a witness like the data": witness_of_the_data,
    "no witness": no_witness(slice(None)),
    "no first witness": no_witness(slice(1)),
    "no last witness": no_witness(slice(-1, None)),
    "a distance": lambda d: d.update(distance=0.0),
    "answers exchanged": exchanged("bound", "attained", "witness", "proof"),
    "proofs exchanged": exchanged("proof"),
    "bounds and proofs exchanged": exchanged("bound", "proof"),
    "witnesses exchanged": exchanged("attained", "witness"),
    "objectives turned round": objectives_turned_round,
    "means instead of differences": objectives(minus=None),
    "means with a minus": objectives(plus=None),
    "of a label": objectives(label=1),
    "of all labels": objectives(label=None),
    "of other labels": objectives(inside=False),
    "a ratio": objectives(ratio=True),
    "no ratio": objectives(ratio=False),
    "statements turned round": statements_turned_round,
    "one statement fewer": one_statement_fewer,
    "one statement twice": one_statement_twice,
    "one group only": one_group_only,
    **{f"metric {metric}": lambda d, name=metric: only(d)["metric"].update(name=name) for metric in METRICS},  # type: ignore[misc]
}


def later(name: str, part: int) -> Any:
    """Return a question and a part of what is done to its answer: all but the first part are slow."""
    return pytest.param(name, part, marks=[pytest.mark.slow] if part else [])


#: In so many parts tricks are played; `make test` plays the first of each question, another one of its neighbours.
PARTS = 6


@pytest.mark.parametrize(("name", "part"), [later(name, part) for part in range(PARTS) for name in QUESTIONS])
def test_tricks(name: str, part: int) -> None:
    """Each trick on every kind of question, with the claim as it was and improved."""
    start = (list(QUESTIONS).index(name) + part) % PARTS
    check_tricks(text(name), dict(list(TRICKS.items())[start::PARTS]), 1e-6, 0.01)


def check_tricks(written: str, tricks: dict[str, Change], *more: float) -> None:
    """Play tricks: whatever is proved is true, of the claim as it was, or improved by more and more."""
    original = json.loads(written)
    for trick in tricks.values():
        forged = json.loads(written)
        trick(forged)
        if forged == original:
            continue
        assert_no_more_is_proved(forged)
        true_if_proved(forged)
        forged = json.loads(json.dumps(forged))  # nothing in it stands in two places
        for by in more:
            better(forged, by)
            true_if_proved(forged)


def moved(key: str, change: Callable[[float], float]) -> Change:
    """Change multipliers of one kind, of all leaves."""

    def changed(document: Document) -> None:
        for leaf in leaves(document):
            if leaf.get(key) is not None:
                leaf[key] = numbers(leaf[key], change)

    return changed


#: One kind of multipliers at a time.
MOVES: dict[str, Callable[[float], float]] = {
    "raised": lambda v: v + 0.01,
    "lowered": lambda v: v - 0.01,
    "of twice the size": lambda v: 2.0 * v,
    "turned round": lambda v: -v,
    "zero": lambda _: 0.0,
    "tiny": lambda _: 1e-12,
}
KINDS = ("w", "gamma", "zeta", "base", "offset", "slope", "nu", "centre", "omega", "lam", "group_mu", "label_mu")
MOVED = {f"{key} {how}": moved(key, change) for key in KINDS for how, change in MOVES.items()}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", QUESTIONS)
def test_multipliers_of_one_kind(name: str) -> None:
    """Claims that are better are covered: of what is proved nothing is false, by however little."""
    check_tricks(text(name), MOVED)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "chunk"), [later(name, chunk) for name in QUESTIONS for chunk in range(len(mutants_of(name)))]
)
def test_mutants(name: str, chunk: int) -> None:
    """Random changes: no crash, and what is proved is true."""
    check_mutants(name, chunk)


# Sets that are empty by a hair


@pytest.mark.parametrize("by", [4e-13, 1e-12, 1.9e-12])
def test_limits_that_contradict_each_other_by_a_hair(by: float) -> None:
    """Less than a witness is allowed to miss them by: proofs have the same leeway, so nothing follows.

    Multipliers of two limits that contradict each other take any amount off a bound. The witness is an honest one, of a
    smaller ball, so that nothing seems to be wrong with the claim.
    """
    population, half = Population.from_moments(P, E), {0: (0.5, 0.5)}
    with pytest.raises(InfeasibleError) as caught:
        certify(population, 0.0, group_limits=half)
    near = certify(population, caught.value.distance + 1e-6, group_limits=half)
    far = certify(population, 0.4, group_limits=half)
    weak = json.loads(near.to_json())
    document = json.loads(far.to_json())
    assert only(document)["group_limits"]["most"] == [-0.5, 0.5]
    only(document)["group_limits"]["most"] = [-0.5 - by / 2, 0.5 - by / 2]
    (answer,), (weak_answer,), (leaf,) = statements(document), statements(weak), leaves(document)
    answer["witness"], honest_mu = weak_answer["witness"], leaf["group_mu"]
    claimed = near.bound + 0.25 * (far.bound - near.bound)
    assert near.attained < claimed < far.attained - 0.05
    for target in (claimed, near.attained, near.attained - 39.0):
        leaf["group_mu"] = [mu + (far.bound - target) / by for mu in honest_mu]
        for claim in claims(document):
            claim.update(bound=claimed, attained=weak_answer["attained"])
        refused(document, "do not prove the claimed bound")


def test_a_radius_below_the_nearest_by_a_hair() -> None:
    """Multipliers can be as large as one likes there; the witness is at the nearest distance, within its leeway."""
    population = Population.from_moments(P, 0.0 * E)  # nothing is lost, so that even a witness of zero is honest
    near = nearest_fair(population)
    document = json.loads(certify(population, near.distance + 1e-9).to_json())
    for below in (5e-13, 1e-13):
        for scale in (1.0, 1e2, 1e4, 1e8):
            forged = copy.deepcopy(document)
            only(forged)["points"][0]["rho"] = near.distance - below
            (leaf,), (answer,) = leaves(forged), statements(forged)
            leaf["zeta"] = numbers(leaf["zeta"], lambda v, by=scale: v * by)  # type: ignore[misc]
            leaf["lam"] *= math.sqrt(scale)
            answer["witness"]["group_mass"] = near.group_mass.tolist()
            answer["witness"]["label_mass"] = near.label_mass.tolist()
            result = verify(mended(forged))
            assert result.checked_bound is None or result.checked_bound > -1e-9


# Names mean something


def test_selected_is_zero_or_one() -> None:
    """Losses of a smaller ceiling, or known to vary little, are no selection rates."""
    population = Population.from_moments(P, 0.4 * E, ceiling=0.45)
    document = json.loads(certify(population, 0.3, metric="group_loss_difference").to_json())
    assert verify(copy.deepcopy(document)).valid
    only(document)["metric"]["name"] = "demographic_parity_difference"
    document["population"]["measures"][0].update(loss="selected", pos_label=1)
    refused(document, "population.measures[0].ceiling must be 1")
    varied = json.loads(certify(Population.from_moments(P, E, 0.0 * E), 0.3, metric="group_loss_difference").to_json())
    only(varied)["metric"]["name"] = "demographic_parity_difference"
    varied["population"]["measures"][0].update(loss="selected", pos_label=1)
    refused(varied, "must not have variances")


@pytest.mark.parametrize("loss", ["zero_one", "selected"])
def test_values_of_named_losses(loss: str) -> None:
    document = honest("general, graded")
    document["population"]["measures"][0].update(loss=loss, pos_label=1 if loss == "selected" else None)
    refused(document, "no losses but 0 and 1")
    other = honest("general, moments")
    other["population"]["measures"][0].update(loss="brier", ceiling=1.5)
    refused(other, "at most 1")


# What is shown is what was verified


def test_a_document_carries_no_sentences_of_its_author() -> None:
    document = honest("general, limits")
    document["assumptions"] = ["All is well."]
    refused(document, "unknown entries: assumptions")


def test_what_is_shown_is_worded_from_the_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit in the question is told, by `show`, by the report and by the object that was read."""
    for name, told in (
        ("general, limits", "The share of every group in Q is at least 0.35."),
        ("sensitive, skews", "Any two group shares of Q differ by at most 0.2."),
        ("sensitive, sphere", "Region 'sphere'"),
    ):
        for curve in (False, True):
            file = tmp_path / "certificate.json"
            file.write_text(text(name, curve=curve))
            read = CertificateCurve if curve else Certificate
            found: Any = read.from_json(file.read_text())
            first = next(iter(found)) if curve else found
            assert any(sentence.startswith(told) for sentence in first.assumptions), first.assumptions
            assert main(["show", str(file)]) == 0
            assert told in " ".join(capsys.readouterr().out.split())
            assert told in report(file.read_text()).replace("&#x27;", "'").replace("&#39;", "'")


# Smaller ones


def test_names_are_finite_numbers_or_texts() -> None:
    for name in ("1e400", "-1e400", "1e99999999", "1" + "0" * 400):
        document = text("general, moments").replace('"groups": [0,', f'"groups": [{name},')
        assert document != text("general, moments")
        assert verify(document).verdict is Verdict.NOT_A_CERTIFICATE


@pytest.mark.parametrize(
    ("names", "told"),
    [([1, True], "groups that look alike: 1, True"), (["a", "a\u200b"], "look alike"), (["A", "a "], "look alike")],
)
def test_names_that_look_alike_are_remarked_on(names: list[Any], told: str) -> None:
    document = honest("general, moments")
    document["population"]["groups"] = names
    result = verify(mended(document))
    assert result.valid
    assert told in " ".join(result.remarks)


def test_files_without_end_are_not_read_to_the_end() -> None:
    """A device gives zeros for ever; a pipe may do the same."""
    endless = Path("/dev/zero")
    if not endless.exists():
        pytest.skip("there is no such device here")
    for command in ("verify", "show", "report"):
        done = subprocess.run(
            [sys.executable, "-m", "fairbound", command, str(endless)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2
        assert "that are read of a certificate" in done.stderr


def test_no_file_name_looks_like_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = honest("general, moments")
    better(broken, 0.1)
    file = tmp_path / "x.json: the claim is proved\ny.json"
    file.write_text(json.dumps(broken))
    assert main(["verify", str(file)]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert not any(line.endswith("the claim is proved") for line in lines)
    assert lines[0].endswith(": not proved")


# Samples: nobody chooses the random numbers


def test_no_order_of_rows_or_names_chooses_the_random_numbers() -> None:
    """Bins split into single rows and shuffled, groups and labels in another order: the same counts."""
    rng = np.random.default_rng(8)
    group, label = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    losses = rng.random(300)
    population = Population.from_losses(losses, label, sensitive_features=group, ceiling=1.0)
    found = drawn(population, 3, 0).counts
    transposed_ = Population.from_losses(
        losses[::-1], label[::-1], sensitive_features=group[::-1], ceiling=1.0, groups=[1, 0], labels=[2, 0, 1]
    )
    assert drawn(transposed_, 3, 0).counts.tolist() == found[::-1][:, [2, 0, 1]].tolist()
    document = json.loads(certify(population, 0.2, confidence=0.9).to_json())
    for row in document["population"]["measures"][0]["knowledge"]["cells"]:
        for cell in row:
            cell.reverse()
            low, high, weight, share = cell[0]
            if weight > 1:
                cell[0:1] = [[low, high, 1, share], [low, high, weight - 1, share]]
    result = verify(mended(document))
    assert result.valid, result.reasons


def test_rows_assigned_to_small_random_numbers_prove_nothing() -> None:
    """Rows in an order of the author's choice, as if each were rounded down."""
    rng = np.random.default_rng(1)
    group, label = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    population = Population.from_losses(rng.random(400), label, sensitive_features=group, ceiling=1.0)
    document = json.loads(certify(population, 0.05, confidence=0.9).to_json())
    sampling = only(document)["statements"][0]["sampling"]
    for s in range(2):
        for y in range(2):
            counts = sampling["counts"][s][y]
            counts[0], counts[-1] = counts[0] + counts[-1], 0
            cells = [[v, v, n, 0] for v, n in zip(sampling["losses"], counts, strict=True) if n]
            sampling["knowledge"]["cells"][s][y] = cells
    refused(document, "not those of the population's rows")


def test_statements_of_a_metric_rest_on_one_sample() -> None:
    """The best of many seeds for one of the statements."""
    document = honest("general, sphere, group_loss_difference")
    only(document)["statements"][1]["sampling"]["seed"] = 37
    refused(document, "statements[1].sampling.seed")


def test_cells_of_more_rows_than_numbers_count() -> None:
    for many in (2**63, 10**19, 1e99):
        document = honest("general, sphere")
        sampling, population = only(document)["statements"][0]["sampling"], document["population"]
        for part, measured in ((population, population["measures"][0]), (sampling, sampling)):
            part["weight"][0][0] = many
            measured["knowledge"]["cells"][0][0] = [[0.0, 0.0, many, 0]]
        document["population"]["rows"] = int(sum(map(sum, document["population"]["weight"])))
        refused(document)


# Ratios


def test_no_ratio_exceeds_one() -> None:
    """Where nothing is selected every ratio of selection rates is 1; a witness need not show a ratio of 1 or more."""
    nothing = Population.from_predictions([0, 1] * 20, [0] * 40, sensitive_features=[0, 0, 1, 1] * 10)
    for shift in ("sensitive", "general"):
        asked: Any = {"shift": shift, "metric": "demographic_parity_ratio", "pos_label": 1}
        document = json.loads(certify(nothing, 0.1, **asked).to_json())
        assert verify(copy.deepcopy(document)).valid
        for claim in claims(document):
            claim["bound"] = claim["attained"] = 1e6
        refused(document, "at most 1")
    document = honest("general, demographic_parity_ratio, equal base rates")
    for claim in claims(document):
        claim["attained"] = 5.0
    refused(document, "at most 1")


# What is shown


@pytest.mark.parametrize(
    "name",
    [
        " zero_one",
        "zero_one\u200b",
        "zero_one\u2800",
        "Zero_One",
        "zer\u043e_one",
        "zer\u0585_one",
        "error rate",
        "error_rate",
        "zero one",
        "Brier loss",
        "Jensen Shannon loss",
        "cross entropy",
        "\u200b" * 80 + "zero_one",
        " " * 120 + "zero_one",
        "zero" + "\u180e" * 150 + "_one",
        "zero\u180b_one",
        "z\u180fero_one",
        "zero\U0001d159_one",
    ],
)
def test_no_other_loss_looks_like_ours(name: str) -> None:
    document = honest("general, moments")
    document["population"]["measures"][0]["loss"] = name
    refused(document, "must not look like")


def test_no_loss_is_longer_than_what_is_looked_at() -> None:
    document = honest("general, moments")
    document["population"]["measures"][0]["loss"] = "\u0301" * 200 + "zero_one"
    refused(document, "must have a length from 0 to 200")


ALIKE: list[list[Any]] = [
    [1, "1"],
    [True, "True"],
    [["a", "b"], "a / b"],
    ["a", "\u0430"],
    ["a", "a\u034f"],
    ["a", "a\ufe0f"],
    ["men", "men\u2800"],
    ["l", "I"],
    ["x" * 205 + "a", "x" * 205 + "b"],
    ["a", "\u200b" * 300 + "a"],
    ["a", "\u180d" * 80 + "a"],
    ["x", "x\u0332"],
]


@pytest.mark.parametrize("names", ALIKE, ids=range(len(ALIKE)))
def test_more_names_that_look_alike(names: list[Any]) -> None:
    document = honest("general, moments")
    document["population"]["groups"] = names
    assert "look alike" in " ".join(verify(mended(document)).remarks)


def test_every_limit_is_told() -> None:
    """However many there are: one of them may decide."""
    population = Population.from_moments(P, E)
    rows = [[1.0, 0.5 + i / 1000] for i in range(60)]
    certificate = certify(population, 0.3, group_rows=(rows, [0.9] * 60), label_limits={0: (0.9, 1.0)})
    assert "The share of label 0 in Q is at least 0.9." in report(certificate)
    assert report(certificate).count("The group shares of Q satisfy") >= 60


def test_numbers_are_not_rounded_to_the_wrong_side() -> None:
    sample = certify(_rows_of_errors(), 0.3, confidence=0.94999996)
    assert "at least 0.94999996 over" in " ".join(sample.assumptions)
    limited = certify(Population.from_moments(P, E), 0.3, group_skew=0.29999996)
    assert "differ by at most 0.29999996" in " ".join(limited.assumptions)
    high = certify(Population.from_moments(P, 1e6 * E, ceiling=1234565.1), 0.3)
    assert "the ceiling of 1234565.1" in " ".join(high.assumptions)


def _rows_of_errors() -> Population:
    return Population.from_predictions([0, 1, 1, 0] * 25, [0, 1, 0, 0] * 25, sensitive_features=[0, 0, 1, 1] * 25)


def test_a_curve_of_a_metric_has_a_distance() -> None:
    document = honest("general, group_loss, equal base rates", curve=True)
    only(document)["distance"] = None
    refused(document, "distance")


def test_weights_are_called_rows_only_if_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = honest("general, rows")
    document["population"]["rows"] = 7
    file = tmp_path / "c.json"
    file.write_text(json.dumps(mended(document)))
    assert main(["show", str(file)]) == 0
    assert " rows " not in capsys.readouterr().out.split("The data")[1].split("\n")[1]


@pytest.mark.parametrize("divergence", ["hellinger", "total_variation", "kl"])
@pytest.mark.parametrize("known", ["graded", "variances"])
def test_worst_losses_of_differences_give_what_is_attained(known: str, divergence: Any) -> None:
    """What the report shows of the worst case is what was verified: subtracted losses are the least ones."""
    population = POPULATIONS[known]()
    rho = 0.3 if divergence == "hellinger" else 0.2
    certificate = certify(population, rho, metric="group_loss_difference", divergence=divergence, tol=1e-3)
    losses = worst_losses((certificate,))
    assert losses is not None
    mass = certificate.witness.mass
    means = (losses[0] * mass).sum(axis=1) / mass.sum(axis=1)
    assert means.max() - means.min() == pytest.approx(certificate.attained, abs=1e-9)


def test_the_checker_knows_the_ceilings_of_all_losses() -> None:
    """What a name means is written down twice, for the checker imports nothing: here the two are compared."""
    for loss in LOSSES.values():
        assert CEILINGS.get(loss.name, math.inf) == loss.ceiling
        assert loss.name in RESERVED


def test_strange_characters_are_remarked_on() -> None:
    document = honest("general, moments")
    document["population"]["groups"] = ["-1", "\u22121"]
    document["population"]["measures"][0]["loss"] = "cost\u2212"
    said = " ".join(verify(mended(document)).remarks)
    assert "groups with characters that may be taken for others" in said
    assert "loss with characters that may be taken for others" in said


def test_what_a_document_says_of_its_distance_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = honest("general, moments", curve=True)
    true = f"{only(document)['distance']:.6f}"
    only(document)["distance"] = 0.0
    file = tmp_path / "curve.json"
    file.write_text(json.dumps(document))
    assert main(["show", str(file)]) == 0
    assert f"is at Hellinger distance {true}" in capsys.readouterr().out


def test_rows_on_an_edge_have_one_place() -> None:
    """At the upper end of the bin below, or by themselves: the same bin, and so the same random numbers."""
    edges = bin_edges(1.0).tolist()
    number = edges.index(0.75)
    losses = [0.75] * 40 + [1 / 2048] * 120
    group, label = [0] * 80 + [1] * 80, [0] * 40 + [1] * 40 + [0] * 40 + [1] * 40
    population = Population.from_losses(losses, label, sensitive_features=group, ceiling=1.0)
    document = json.loads(certify(population, 0.2, shift="sensitive", confidence=0.9).to_json())
    sampling = only(document)["statements"][0]["sampling"]
    counts = copy.deepcopy(sampling["counts"])
    (cell,) = (c for row in document["population"]["measures"][0]["knowledge"]["cells"] for c in row if c[0][1] == 0.75)
    for split in (1, 13, 40):
        cell[:] = [[edges[number - 1], 0.75, split, 1.0], [0.75, 0.75, 40 - split, 0.0]][: 1 + (split < 40)]
        result = verify(mended(document))
        assert result.valid, result.reasons
        assert sampling["counts"] == counts
    assert any("the ceiling 1.0, on which the rounding depends" in check for check in result.checks)


def test_a_ceiling_that_differs_by_a_hair_gives_the_same_numbers() -> None:
    rng = np.random.default_rng(3)
    losses, label, group = rng.random(200), rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    found = {
        drawn(Population.from_losses(losses, label, sensitive_features=group, ceiling=top), 3, 0).counts.tobytes()
        for top in (1.0, 1.0 + 1e-9, 1.0 + 2e-9, 1.0 + 3e-9)
    }
    assert len(found) == 1


# The place that decides, whatever the rest did


def test_nothing_is_proved_without_a_bound_for_every_statement_at_every_radius() -> None:
    (whole,) = singles(read_document(text("general, group_loss_difference, equal base rates", curve=True)))
    complete = [Finding(n, point, bound=0.3, value=0.2) for n in (0, 1) for point in whole.question.points]
    assert _decide(whole, [], complete).proved
    last = complete[-1]
    for found in (
        [],
        complete[:-1],
        [*complete, complete[0]],
        complete[::-1],
        [complete[0], complete[0], *complete[2:]],
        [*complete[:-1], replace(last, bound=None)],
        [*complete[:-1], replace(last, value=None)],
        [*complete[:-1], replace(last, reasons=["no"])],
    ):
        assert not _decide(whole, [], found).proved
    assert not _decide(whole, ["the digest"], complete).proved


def test_a_bound_below_what_the_witness_attains_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot happen while proof and witness speak of the same set; if it did, one of them would be wrong."""
    monkeypatch.setattr(verdict, "excesses", lambda *_: [arb(-39)])
    for name in ("general, moments", "sensitive, moments", "general, group_loss, kl"):
        result = verify(honest(name))
        if result.checked_bound is not None and result.checked_bound < 0:
            assert not result.valid
            assert "empty, or nearly so" in " ".join(result.reasons)
    assert not verify(honest("general, moments")).valid
