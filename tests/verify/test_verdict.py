"""The checker proves what is true, and nothing else, whatever it is given."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    CertificateCurve,
    Population,
    Verdict,
    certify,
    certify_curve,
    verify,
)
from fairbound.cli import main
from tests.by_hand import only
from tests.forging import Change, Document, better, check_forgery, check_malformed, claims, cut_into
from tests.problems import E, P, radius, random_population


@cache
def text(shift: Any) -> str:
    """Return a valid certificate of the reference population; ``pieces`` has a tree of leaves of form T."""
    population = Population.from_moments(P, E)
    if shift == "pieces":
        return certify(population, 0.2, divergence="kl", tol=1e-5).to_json()
    return certify(population, 0.3, shift=shift).to_json()


def document(shift: str = "sensitive") -> Document:
    """Return a fresh copy of a valid document."""
    found: Document = json.loads(text(shift))
    return found


@pytest.mark.one_in(14)
@pytest.mark.parametrize("chunk", range(20))
def test_every_certificate_is_proved(chunk: int) -> None:
    """50 random problems each: S, C up to 4, both shifts, limits or none, three kinds of knowledge, hard radii."""
    rng = np.random.default_rng(1000 + chunk)
    for _ in range(50):
        kind = str(rng.choice(["mean", "variance", "rows"]))
        population = random_population(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)), kind)
        limits: Any = {name: float(rng.uniform()) for name in ("group_skew", "label_skew") if rng.random() < 0.4}
        rho = min(1.0, radius(population, float(rng.choice([0.0, 1e-6, 1e-3, 0.03, 0.1, 0.3, 0.7, 1.0])), **limits))
        shift: Any = rng.choice(["general", "sensitive"])
        if shift == "general" and kind == "rows" and rng.random() < 0.3:
            limits["support"] = "observed"
        small = min(population.mass.shape) == 2
        budget = 30 if "support" in limits else 150  # ceilings of many rows each: a piece takes longest there
        certificate = certify(population, rho, shift=shift, tol=1e-6 if small else 1e-2, budget=budget, **limits)
        result = verify(certificate.to_json())
        assert result.valid, result.reasons
        assert result.checked_bound is not None
        assert certificate.attained - 1e-12 <= result.checked_bound <= certificate.bound
        assert certificate.bound - result.checked_bound <= 1e-5  # next to infeasible, rounding counts for more
        assert result.witness_value is not None
        assert result.witness_value >= certificate.attained - 1e-12


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_documents_read_back(shift: Any) -> None:
    rng = np.random.default_rng(5)
    for kind in ("mean", "variance", "rows"):
        population = random_population(rng, 3, 2, kind)
        certificate = certify(population, radius(population, 0.1), shift=shift)
        again = Certificate.from_json(certificate.to_json())
        assert json.loads(again.to_json()) == json.loads(certificate.to_json())
        assert again.bound == certificate.bound
        assert again.assumptions == certificate.assumptions
        np.testing.assert_array_equal(again.witness.mass, certificate.witness.mass)


def test_names_read_back() -> None:
    columns = {"sex": ["f", "f", "m", "m"], "old": [True, False, True, True]}
    population = Population.from_losses([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], sensitive_features=columns)
    read = Certificate.from_json(certify(population, 0.9).to_json()).population
    assert read.groups == population.groups == (("f", False), ("f", True), ("m", True))
    assert read.labels == (0, 1)


def test_a_curve_is_proved_point_by_point() -> None:
    curve = certify_curve(Population.from_moments(P, E), [0.01, 0.1, 0.3], shift="sensitive")
    result = verify(curve.to_json())
    assert result.valid
    assert result.checked_bound == pytest.approx(curve.bound[2])
    again = CertificateCurve.from_json(curve.to_json())
    np.testing.assert_array_equal(again.bound, curve.bound)
    broken = json.loads(curve.to_json())
    for claim in (only(broken)["points"][2]["claim"], *only(broken)["points"][2]["answers"]):
        claim["bound"] -= 1e-5
    result = verify(broken)
    assert result.verdict is Verdict.NOT_PROVED
    assert "rho = 0.3" in result.reasons[0]


def test_a_curve_cannot_hide_radii() -> None:
    curve = json.loads(certify_curve(Population.from_moments(P, E), [0.1, 0.2]).to_json())
    only(curve)["points"][1] = {"rho": 0.9, "claim": None, "answers": []}
    assert "contradict each other" in verify(curve).reasons[0]
    only(curve)["points"] = [{"rho": 0.01, "claim": None, "answers": []}]
    assert "must have a certified radius" in verify(curve).reasons[0]


def test_names_may_hold_brackets() -> None:
    names = [f"[{i}, {i + 1})" for i in range(20)] * 2
    population = Population.from_losses([0.1] * 40, [0] * 20 + [1] * 20, sensitive_features=names)
    assert verify(certify(population, 0.5).to_json()).valid


def test_a_check_ends() -> None:
    """Neither many duplicate keys nor a huge amount of work holds the checker up."""
    keys = ",".join(f'"{i}":0' for i in range(100_000))
    assert "stands twice" in verify("{" + keys + ',"99999":0}').reasons[0]
    rows = np.arange(400)
    population = Population.from_losses(rows / 400, rows % 2, sensitive_features=rows // 2 % 2)
    large = json.loads(certify(population, 0.3, shift="sensitive").to_json())
    cut_into(proof(large), 40_000)
    assert "the check would take" in verify(large).reasons[0]
    for junk in (None, 3, [1]):
        assert verify(junk).verdict is Verdict.NOT_A_CERTIFICATE  # type: ignore[arg-type]  # the point


def test_sizes_of_documents() -> None:
    assert len(text("general")) < 5_000
    assert len(text("sensitive")) < 100_000


def answer(d: Document) -> Any:
    """Return what is claimed, shown and proved of the only statement."""
    return only(d)["points"][0]["answers"][0]


def witness(d: Document) -> Any:
    return answer(d)["witness"]


def proof(d: Document) -> Any:
    return answer(d)["proof"]


def leaf(d: Document) -> Any:
    return proof(d)["leaves"]


def lower(by: float) -> Change:
    return lambda d: better(d, by)


def attain(change: Any) -> Change:
    """Claim that something else is attained."""
    return lambda d: [claim.update(attained=change(claim["attained"])) for claim in claims(d)]


def ask(**changes: Any) -> Change:
    return lambda d: only(d).update(changes)


def enlarge(rho: float) -> Change:
    return lambda d: only(d)["points"][0].update(rho=rho)


NOT_PROVED: dict[str, tuple[str, Change, str]] = {
    "bound lowered by 1e-9, general": ("general", lower(1e-9), "not prove the claimed bound: 1e-09 is missing"),
    "bound below what is attained": ("pieces", lower(2e-5), "leaf"),
    "bound far below": ("sensitive", lower(0.1), "is below the attained"),
    "the bound of the whole lowered": (
        "general",
        lambda d: only(d)["points"][0]["claim"].update(bound=only(d)["points"][0]["claim"]["bound"] - 1e-9),
        "does not follow",
    ),
    "larger radius": ("general", enlarge(0.31), "not prove the claimed bound"),
    "smaller radius, witness outside": ("general", enlarge(0.2), "outside the ball"),
    "general instead of sensitive": ("sensitive", ask(shift="general"), ""),
    "sensitive instead of general": ("general", ask(shift="sensitive"), "does not fit the losses"),
    "worse losses": (
        "general",
        lambda d: d["population"]["measures"][0]["knowledge"]["mean"][0].__setitem__(0, 0.2),
        "not prove",
    ),
    "a leaf left out": ("pieces", lambda d: leaf(d).pop(), "more leaves than there are multipliers"),
    "a leaf too many": ("pieces", lambda d: leaf(d).append(leaf(d)[0]), "more leaves than the tree"),
    "leaves in another order": ("pieces", lambda d: leaf(d).reverse(), ""),
    "a split undone": ("pieces", lambda d: proof(d)["splits"].pop(0), ""),
    "a split elsewhere": ("pieces", lambda d: proof(d)["splits"].__setitem__(0, [0, 1, 0.1]), ""),
    "a split to nowhere": ("pieces", lambda d: proof(d)["splits"].__setitem__(0, [0, 7, 0.5]), "edge"),
    "a split of a point": ("pieces", lambda d: proof(d)["splits"].__setitem__(0, [1, 1, 0.5]), "edge"),
    "a split at a corner": ("pieces", lambda d: proof(d)["splits"].__setitem__(0, [0, 1, 1.0]), "edge"),
    "an uncovered piece": ("pieces", lambda d: (proof(d)["splits"].pop(), leaf(d).pop()), "not covered"),
    "a tree that goes on": ("pieces", lambda d: proof(d)["splits"].append(None), "goes on"),
    "a root that leaves out shares": ("pieces", lambda d: proof(d).update(floors=[0.1, 0.0]), "leaves out"),
    "multipliers below the losses": ("pieces", lambda d: leaf(d)[2].update(w=[[0.1, 0.1]] * 2, lam=0.0), "feasible"),
    "negative multipliers": ("general", lambda d: leaf(d)[0]["zeta"][0].__setitem__(0, -1.0), "feasible"),
    "a tangent at the border": ("general", lambda d: leaf(d)[0]["centre"].__setitem__(0, 0.0), "must be positive"),
    "wrong side": ("general", lambda d: proof(d).update(axis="group"), ""),
    "a witness too far": ("sensitive", lambda d: witness(d).update(group_mass=[0.01, 0.99]), "outside the ball"),
    "a witness with too much mass": ("general", lambda d: witness(d).update(group_mass=[0.7, 0.4]), "add up"),
    "a witness outside the cells": (
        "sensitive",
        lambda d: witness(d)["unseen"][0].__setitem__(0, 0.5),
        "outside the obs",
    ),
    "a witness over the limit": (
        "general",
        ask(group_limits={"skew": 0.01, "rows": [], "most": []}),
        "breaks the skew limit",
    ),
    "attained overstated": ("sensitive", attain(lambda v: v + 2e-7), "less than the attained one"),
    "attained understated": ("general", attain(lambda _: 0.4), "not the attained one"),
    "attained of the whole overstated": (
        "general",
        lambda d: only(d)["points"][0]["claim"].update(attained=only(d)["points"][0]["claim"]["attained"] + 1e-12),
        "not the worst that is shown",
    ),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    shift, change, reason = NOT_PROVED[name]
    check_forgery(text(shift), change, reason)


def test_a_wrong_digest() -> None:
    broken = document()
    broken["population"]["weight"][0][0] *= 1 + 1e-15
    broken["population"]["rows"] = 7
    assert verify(broken).reasons == ("the digest does not belong to the statistics of the population",)


MALFORMED: dict[str, Change] = {
    "missing part": lambda d: d.pop("questions"),
    "missing field": lambda d: only(d)["points"][0].pop("rho"),
    "extra field": lambda d: only(d)["points"][0]["claim"].update(certified=True),
    "unknown version": lambda d: d.update(version="9.0.0"),
    "an earlier version": lambda d: d.update(version="1.2.0"),
    "unknown format": lambda d: d.update(format="something"),
    "negative mass": lambda d: d["population"]["weight"][0].__setitem__(0, -0.1),
    "no mass at all": lambda d: d["population"].update(weight=[[0.0, 0.0], [0.0, 0.0]]),
    "mean above the ceiling": lambda d: d["population"]["measures"][0]["knowledge"]["mean"][0].__setitem__(0, 1.5),
    "huge exponent": lambda d: leaf(d)[0]["zeta"][0].__setitem__(0, 1e308),
    "huge integer": lambda d: d["population"]["weight"][0].__setitem__(0, 10**400),
    "a truth value for a number": lambda d: answer(d).update(bound=True),
    "a text for a number": lambda d: answer(d).update(bound="0.3"),
    "not a number": lambda d: answer(d).update(bound=float("nan")),
    "infinite": lambda d: answer(d).update(bound=float("inf")),
    "a null": lambda d: answer(d).update(bound=None),
    "wrong shape": lambda d: d["population"]["weight"].append([0.1, 0.1]),
    "rho of 2": enlarge(2.0),
    "unknown shift": ask(shift="any"),
    "confidence": ask(confidence=0.9),
    "splits of text": lambda d: proof(d)["splits"].__setitem__(0, "01"),
    "negative split": lambda d: proof(d)["splits"].__setitem__(0, [-1, 0, 0.5]),
    "one group": lambda d: d["population"].update(groups=["a"]),
    "a list": lambda d: only(d)["points"][0].update(claim=[]),
    "an answer too many": lambda d: only(d)["points"][0]["answers"].append(answer(d)),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    check_malformed(text("sensitive"), MALFORMED[name])


TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "not JSON": "certificate",
    "a number": "7",
    "a list": "[]",
    "truncated": text("general")[:1000],
    "trailing": text("general") + "x",
    "NaN": text("general").replace('"rho": 0.3', '"rho": NaN'),
    "infinity": text("general").replace('"rho": 0.3', '"rho": Infinity'),
    "overflow": text("general").replace('"rho": 0.3', '"rho": 1e999'),
    "duplicate key": text("general").replace('"rho": 0.3', '"rho": 0.3, "rho": 0.2'),
    "deep": "[" * 100_000 + "]" * 100_000,
    "deep object": '{"a":' * 5000 + "1" + "}" * 5000,
    "long number": text("general").replace('"rho": 0.3', '"rho": ' + "1" * 10_000),
    "100 MB": '{"format": "' + "x" * 100_000_000 + '"}',
    "binary": bytes(range(256)) * 10,
    "surrogate": b'{"format": "\xed\xa0\x80"}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_no_certificates(name: str) -> None:
    result = verify(TEXTS[name])
    assert result.verdict is Verdict.NOT_A_CERTIFICATE
    assert result.reasons
    assert len(result.reasons[0]) < 300


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, junk = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "junk.json"
    good.write_text(text("sensitive"))
    broken = document()
    better(broken, 1e-5)
    bad.write_text(json.dumps(broken))
    junk.write_bytes(b"\x00\xff" * 50)
    assert main(["verify", str(good)]) == 0
    assert "the claim is proved" in capsys.readouterr().out
    assert main(["verify", str(bad)]) == 1
    assert "not prove the claimed bound" in capsys.readouterr().out
    assert main(["verify", str(junk)]) == 2
    assert main(["verify", str(tmp_path / "absent.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["show", str(good)]) == 0
    shown = capsys.readouterr().out
    assert "sensitive shifting" in shown
    assert "was not checked here" in shown
    assert main(["show", str(junk)]) == 2
    curve = tmp_path / "curve.json"
    curve.write_text(certify_curve(Population.from_moments(P, E), [0.01, 0.2]).to_json())
    assert main(["show", str(curve)]) == 0
    assert "infeasible" in capsys.readouterr().out
    assert main(["verify", str(curve)]) == 0
