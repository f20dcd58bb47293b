"""The checker and linear limits on shares: it proves what is true of them, and refuses every forgery."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairbound import Certificate, Population, certify, verify
from tests.by_hand import only
from tests.forging import Change, Document, better, check_forgery, cut_into, honest, text
from tests.problems import E, P, radius, random_limits, random_population


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chunk", range(12))
def test_every_certificate_is_proved(chunk: int) -> None:
    """25 random problems each: S, C up to 4, both shifts, limits of all kinds on one side or both, hard radii."""
    rng = np.random.default_rng(2000 + chunk)
    for _ in range(25):
        kind = str(rng.choice(["mean", "variance", "rows"]))
        shape = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        population = random_population(rng, *shape, kind)
        limits: dict[str, Any] = {}
        for side, size in zip(("group", "label"), shape, strict=True):
            limits |= random_limits(rng, side, size) if rng.random() < 0.7 else {}
        rho = min(1.0, radius(population, float(rng.choice([0.0, 1e-6, 1e-3, 0.03, 0.1, 0.3, 0.7, 1.0])), **limits))
        shift: Any = rng.choice(["general", "sensitive"])
        if shift == "general" and kind == "rows" and rng.random() < 0.3:
            limits["support"] = "observed"
        budget = 30 if "support" in limits else 100  # ceilings of many rows each: a piece takes longest there
        tol = 1e-6 if min(shape) == 2 else 1e-2
        certificate = certify(population, rho, shift=shift, tol=tol, budget=budget, **limits)
        result = verify(certificate.to_json())
        assert result.valid, (limits, result.reasons)
        assert result.checked_bound is not None
        assert certificate.attained - 1e-12 <= result.checked_bound <= certificate.bound
        assert certificate.bound - result.checked_bound <= 1e-5


MISSING = "not prove the claimed bound"

#: Documents with limits, by the names of the questions that they answer.
DOCUMENTS = {
    "general": "general, intervals",
    "groups": "limits, groups searched",
    "sensitive": "sensitive, intervals",
    "leaf": "one leaf with limits",
    "pieces": "pieces with limits",
    "near": "several pieces of three labels, near base rates",
}


def proof(found: Document) -> Any:
    """Return the proof of the only statement."""
    return only(found)["points"][0]["answers"][0]["proof"]


def everywhere(key: str, change: Callable[[list[float]], list[float]]) -> Change:
    """Return a change of some multipliers in the whole proof."""

    def edit(found: Document) -> None:
        for leaf in proof(found)["leaves"]:
            leaf[key] = change(leaf[key])

    return edit


def limit(side: str, change: Change) -> Change:
    """Return a change of the limits of one side."""
    return lambda found: change(only(found)[f"{side}_limits"])


def drop(side: str) -> Change:
    """Return a change that forgets a side's limits, and the multipliers with them."""

    def edit(found: Document) -> None:
        only(found)[f"{side}_limits"] = {"skew": None, "rows": [], "most": []}
        everywhere(f"{side}_mu", lambda _: [])(found)

    return edit


NOT_PROVED: dict[str, tuple[str, Change, str]] = {
    "negative multipliers": ("general", everywhere("group_mu", lambda mu: [-v - 1.0 for v in mu]), "must be >= 0"),
    "negative multipliers of the labels": (
        "groups",
        everywhere("label_mu", lambda mu: [-v - 1.0 for v in mu]),
        "be >= 0",
    ),
    "negative multipliers of a leaf": (
        "sensitive",
        everywhere("group_mu", lambda mu: [-1.0 for _ in mu]),
        "must be >= 0",
    ),
    "no multipliers": ("general", everywhere("group_mu", lambda mu: [0.0 for _ in mu]), MISSING),
    "no multipliers of the labels": ("groups", everywhere("label_mu", lambda mu: [0.0 for _ in mu]), MISSING),
    "no multipliers of the searched side": ("leaf", everywhere("label_mu", lambda mu: [0.0 for _ in mu]), MISSING),
    "nothing left to the limits": ("pieces", everywhere("omega", lambda omega: [0.0 for _ in omega]), MISSING),
    "nothing left to the skew limit": ("near", everywhere("omega", lambda omega: [0.0 for _ in omega]), MISSING),
    "more left to the limits": ("leaf", everywhere("omega", lambda omega: [2 * v for v in omega]), MISSING),
    "more left to the limits of pieces": (
        "pieces",
        everywhere("omega", lambda omega: [2 * v for v in omega]),
        MISSING,
    ),
    "no multipliers of the leaves": ("pieces", everywhere("label_mu", lambda mu: [0.0 for _ in mu]), MISSING),
    "larger multipliers": ("general", everywhere("group_mu", lambda mu: [v + 0.1 for v in mu]), MISSING),
    "dropped group limits": ("general", drop("group"), MISSING),
    "dropped label limits": ("groups", drop("label"), MISSING),
    "dropped label limits of a leaf": ("general", drop("label"), "leaves out admissible shares"),
    "dropped skew": (
        "near",
        lambda d: only(d)["group_limits"].update(skew=None),
        "leaves out admissible shares|not prove the claimed bound",
    ),
    "a wider skew": ("near", limit("group", lambda d: d.update(skew=0.4)), "leaves out admissible shares"),
    "dropped label limits of a tree": ("sensitive", drop("label"), "leaves out admissible shares"),
    "wider limits": ("general", limit("group", lambda d: d.update(most=[v + 0.05 for v in d["most"]])), MISSING),
    "wider limits of a tree": (
        "sensitive",
        limit("label", lambda d: d.update(most=[v + 0.05 for v in d["most"]])),
        "leaves out admissible shares",
    ),
    "narrower limits": (
        "general",
        limit("group", lambda d: d.update(most=[v - 0.05 for v in d["most"]])),
        "breaks a limit",
    ),
    "other rows": ("general", limit("group", lambda d: d.update(rows=d["rows"][::-1])), "breaks a limit"),
    "rows with other signs": (
        "sensitive",
        limit("group", lambda d: d.update(rows=[[-v for v in row] for row in d["rows"]])),
        "breaks a limit",
    ),
    "a higher floor": ("sensitive", lambda d: proof(d)["floors"].__setitem__(0, 0.71), "leaves out admissible shares"),
    "floors above one": (
        "sensitive",
        lambda d: (
            only(d)["label_limits"].update(rows=[[-1, 0], [0, -1]], most=[-0.9, -0.9]),
            proof(d).update(floors=[0.8, 0.8]),
        ),
        "root is empty",
    ),
    "a witness beyond the limits": (
        "general",
        lambda d: only(d)["points"][0]["answers"][0]["witness"].update(group_mass=[0.61, 0.39]),
        "breaks a limit",
    ),
    "a bound too low": ("general", lambda d: better(d, 1e-5), MISSING),
}


@pytest.mark.parametrize("name", DOCUMENTS.values())
def test_the_originals_are_proved(name: str) -> None:
    assert verify(text(name)).valid
    again = Certificate.from_json(text(name))
    assert json.loads(again.to_json()) == honest(name)


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    kind, change, reason = NOT_PROVED[name]
    check_forgery(text(DOCUMENTS[kind]), change, reason)


def test_smaller_multipliers_of_a_slack_limit_prove_as_much() -> None:
    """Any multipliers are valid: zero is, where the limit does not bind."""
    loose: dict[str, Any] = {"group_limits": {0: (0.05, 0.95)}}
    found = json.loads(certify(Population.from_moments(P, E), 0.2, **loose).to_json())
    proof(found)["leaves"][0]["group_mu"] = [0.0, 0.0]
    better(found, -1e-9)
    assert verify(found).valid


def test_a_check_ends() -> None:
    """Many limits in many leaves are too much work."""
    large = honest("sensitive, intervals")
    count = 4_000
    only(large)["label_limits"] = {"skew": None, "rows": [[1.0, 0.0]] * count, "most": [0.5] * count}
    proof(large)["leaves"][0]["label_mu"] = [0] * count
    cut_into(proof(large), 1300)
    assert "the check would take" in verify(large).reasons[0]
