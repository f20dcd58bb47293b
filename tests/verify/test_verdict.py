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
from tests.forging import Change, Document, check_forgery, check_malformed
from tests.problems import E, P, radius, random_population


@cache
def text(shift: Any) -> str:
    """Return a valid certificate of the reference population."""
    return certify(Population.from_moments(P, E), 0.3, shift=shift).to_json()


def document(shift: str = "sensitive") -> Document:
    """Return a fresh copy of a valid document."""
    found: Document = json.loads(text(shift))
    return found


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
    broken["points"][2]["claim"]["bound"] -= 1e-5
    result = verify(broken)
    assert result.verdict is Verdict.NOT_PROVED
    assert "rho = 0.3" in result.reasons[0]


def test_a_curve_cannot_hide_radii() -> None:
    curve = json.loads(certify_curve(Population.from_moments(P, E), [0.1, 0.2]).to_json())
    curve["points"][1] = {"infeasible": 0.9}
    assert "contradicts itself" in verify(curve).reasons[0]
    curve["points"] = [{"infeasible": 0.01}]
    assert "no certified radius" in verify(curve).reasons[0]


def test_names_may_hold_brackets() -> None:
    names = [f"[{i}, {i + 1})" for i in range(20)] * 2
    population = Population.from_losses([0.1] * 40, [0] * 20 + [1] * 20, sensitive_features=names)
    assert verify(certify(population, 0.5).to_json()).valid


def test_a_check_ends() -> None:
    """Neither many duplicate keys nor a huge amount of work holds the checker up."""
    keys = ",".join(f'"{i}":0' for i in range(100_000))
    assert "stands twice" in verify("{" + keys + ',"99999":0}').reasons[0]
    rows = np.arange(4000)
    population = Population.from_losses(rows / 4000, rows % 2, sensitive_features=rows // 2 % 2)
    large = json.loads(certify(population, 0.3, shift="sensitive").to_json())
    large["proof"]["leaves"] = large["proof"]["leaves"][:1] * 500_000
    assert "the check would take" in verify(large).reasons[0]
    for junk in (None, 3, [1]):
        assert verify(junk).verdict is Verdict.NOT_A_CERTIFICATE  # type: ignore[arg-type]  # the point


def test_sizes_of_documents() -> None:
    assert len(text("general")) < 5_000
    assert len(text("sensitive")) < 100_000


def lower(by: float) -> Change:
    return lambda d: d["claim"].update(bound=d["claim"]["bound"] - by)


def leaf(d: Document) -> Any:
    return d["proof"]["leaves"]


NOT_PROVED: dict[str, tuple[str, Change, str]] = {
    "bound lowered by 1e-9, general": ("general", lower(1e-9), "exceeds the claimed bound by 1e-09"),
    "bound below what is attained": ("sensitive", lower(2e-6), "leaf"),
    "bound far below": ("sensitive", lower(0.1), "is below the attained"),
    "larger radius": ("general", lambda d: d["question"].update(rho=0.31), "exceeds the claimed bound"),
    "smaller radius, witness outside": ("general", lambda d: d["question"].update(rho=0.2), "outside the ball"),
    "general instead of sensitive": ("sensitive", lambda d: d["question"].update(shift="general"), ""),
    "sensitive instead of general": ("general", lambda d: d["question"].update(shift="sensitive"), "tangent"),
    "worse losses": ("general", lambda d: d["population"]["knowledge"]["mean"][0].__setitem__(0, 0.2), "exceeds"),
    "a leaf left out": ("sensitive", lambda d: leaf(d).pop(), "fewer leaves"),
    "a leaf too many": ("sensitive", lambda d: leaf(d).append(leaf(d)[0]), "more leaves"),
    "leaves in another order": ("sensitive", lambda d: leaf(d).reverse(), ""),
    "a split undone": ("sensitive", lambda d: d["proof"]["splits"].pop(0), ""),
    "a split to nowhere": ("sensitive", lambda d: d["proof"]["splits"].__setitem__(0, [0, 7]), "edge"),
    "a split of a point": ("sensitive", lambda d: d["proof"]["splits"].__setitem__(0, [1, 1]), "edge"),
    "an uncovered piece": ("sensitive", lambda d: (d["proof"]["splits"].pop(), leaf(d).pop()), "not covered"),
    "a tree that goes on": ("sensitive", lambda d: d["proof"]["splits"].append(None), "goes on"),
    "a root that leaves out shares": ("sensitive", lambda d: d["proof"].update(floors=[0.1, 0.0]), "leaves out"),
    "multipliers below the losses": ("sensitive", lambda d: leaf(d)[3].update(w=[[0.1, 0.1], [0.1, 0.1]]), "feasible"),
    "negative multipliers": ("general", lambda d: d["proof"]["phi"][0].__setitem__(0, -1.0), "feasible"),
    "a tangent at the border": ("general", lambda d: d["proof"]["share"].__setitem__(0, 0.0), "feasible"),
    "wrong side": ("general", lambda d: d["proof"].update(axis="group"), ""),
    "a witness too far": ("sensitive", lambda d: d["witness"].update(group_mass=[0.01, 0.99]), "outside the ball"),
    "a witness with too much mass": ("general", lambda d: d["witness"].update(group_mass=[0.7, 0.4]), "add up"),
    "a witness outside the cells": (
        "sensitive",
        lambda d: d["witness"]["unseen"][0].__setitem__(0, 0.5),
        "outside the obs",
    ),
    "a witness over the limit": ("general", lambda d: d["question"].update(group_skew=0.01), "skew limit"),
    "attained overstated": (
        "sensitive",
        lambda d: d["claim"].update(attained=d["claim"]["attained"] + 2e-7),
        "less than",
    ),
    "attained understated": ("general", lambda d: d["claim"].update(attained=0.4), "not the attained loss"),
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
    "missing part": lambda d: d.pop("proof"),
    "missing field": lambda d: d["question"].pop("rho"),
    "extra field": lambda d: d["claim"].update(certified=True),
    "unknown version": lambda d: d.update(version="9.0.0"),
    "unknown format": lambda d: d.update(format="something"),
    "negative mass": lambda d: d["population"]["weight"][0].__setitem__(0, -0.1),
    "no mass at all": lambda d: d["population"].update(weight=[[0.0, 0.0], [0.0, 0.0]]),
    "mean above the ceiling": lambda d: d["population"]["knowledge"]["mean"][0].__setitem__(0, 1.5),
    "huge exponent": lambda d: d["proof"]["leaves"][0]["w"][0].__setitem__(0, 1e308),
    "huge integer": lambda d: d["population"]["weight"][0].__setitem__(0, 10**400),
    "a truth value for a number": lambda d: d["claim"].update(bound=True),
    "a text for a number": lambda d: d["claim"].update(bound="0.3"),
    "not a number": lambda d: d["claim"].update(bound=float("nan")),
    "infinite": lambda d: d["claim"].update(bound=float("inf")),
    "a null": lambda d: d["claim"].update(bound=None),
    "wrong shape": lambda d: d["population"]["weight"].append([0.1, 0.1]),
    "rho of 2": lambda d: d["question"].update(rho=2.0),
    "unknown shift": lambda d: d["question"].update(shift="any"),
    "confidence": lambda d: d["question"].update(confidence=0.9),
    "splits of text": lambda d: d["proof"]["splits"].__setitem__(0, "01"),
    "negative split": lambda d: d["proof"]["splits"].__setitem__(0, [-1, 0]),
    "one group": lambda d: d["population"].update(groups=["a"]),
    "a list": lambda d: d.update(claim=[]),
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
    broken["claim"]["bound"] -= 1e-5
    bad.write_text(json.dumps(broken))
    junk.write_bytes(b"\x00\xff" * 50)
    assert main(["verify", str(good)]) == 0
    assert "the claim is proved" in capsys.readouterr().out
    assert main(["verify", str(bad)]) == 1
    assert "exceeds the claimed bound" in capsys.readouterr().out
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
