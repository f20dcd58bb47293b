"""The checker proves what is true of base rates that may differ, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fairbound import Certificate, CertificateCurve, Population, certify, certify_curve, report, verify
from fairbound.verify.document import Pairwise, Proof, Tilted
from tests.by_hand import only
from tests.forging import HARD, Change, Document, better, check_forgery, check_malformed, claims, text
from tests.problems import E, P, random_population
from tests.solve.test_base_rates import radius

#: Documents by the names of the questions that they answer: one leaf under general shifting, several under sensitive.
DOCUMENTS = {"general": "general, near base rates", "sensitive": "several pieces, near base rates"}


def size(proof: Proof) -> float:
    """Return how large the multipliers of a proof are."""
    leaves = [leaf for leaf in proof.leaves if not isinstance(leaf, Pairwise)]
    tables = [leaf.w if isinstance(leaf, Tilted) else leaf.zeta for leaf in leaves]
    return max(float(np.abs(tables).max()), *(leaf.lam / 2 for leaf in leaves))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chunk", range(10))
def test_every_certificate_is_proved(chunk: int) -> None:
    """30 random problems each: S, C up to 5, both shifts, limits or none, three kinds of knowledge, hard radii."""
    rng = np.random.default_rng(2000 + chunk)
    for _ in range(30):
        kind = str(rng.choice(["mean", "variance", "rows"]))
        groups, labels = (int(v) for v in rng.choice([2, 3, 5], size=2, p=[0.6, 0.25, 0.15]))
        population = random_population(rng, groups, labels, kind)
        shift: Any = str(rng.choice(["general", "sensitive"]))
        skew = float(rng.choice([0.1, 0.5])) if rng.random() < 0.3 else None
        tolerance = float(rng.choice([1e-3, 0.05, 0.3, 1.0]))
        rho = radius(population, tolerance, float(rng.choice([0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.6, 1.0])), skew)
        options: Any = {"group_skew": skew, "tol": 1e-4, "budget": 30}
        options |= {"fair": False} if tolerance == 1.0 else {"base_rate_tolerance": tolerance}
        if kind == "rows" and rng.random() < 0.3:
            options["support"] = "observed"
        certificate = certify(population, rho, shift=shift, **options)
        result = verify(certificate.to_json())
        assert result.valid, (result.reasons, shift, options, rho)
        assert result.checked_bound is not None
        large = size(certificate.proof)  # close to infeasible
        assert certificate.bound - 1e-11 * (1 + large) <= result.checked_bound <= certificate.bound
        assert result.witness_value is not None
        assert result.witness_value >= certificate.attained - 1e-12


@pytest.mark.parametrize("asked", [{"base_rate_tolerance": 0.05}, {"fair": False}])
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_documents_read_back(shift: Any, asked: dict[str, Any]) -> None:
    certificate = certify(HARD, 0.5, shift=shift, tol=1e-4, **asked)
    again = Certificate.from_json(certificate.to_json())
    assert json.loads(again.to_json()) == json.loads(certificate.to_json())
    assert again.condition == certificate.condition
    np.testing.assert_array_equal(again.witness.mass, certificate.witness.mass)
    curve = certify_curve(HARD, [0.05, 0.3, 0.5], shift=shift, tol=1e-3, **asked)
    assert verify(curve.to_json()).valid
    np.testing.assert_array_equal(CertificateCurve.from_json(curve.to_json()).bound, curve.bound)


@pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")
@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("asked", [{"base_rate_tolerance": 0.05}, {"fair": False}])
def test_samples_are_proved(shift: Any, asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    cell = rng.choice(4, size=500, p=P.ravel())
    loss = rng.uniform(size=500) < E.ravel()[cell]
    population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2, loss="zero_one")
    certificate = certify(population, 0.2, shift=shift, confidence=0.9, **asked)
    assert verify(certificate.to_json()).valid


def asked(**changes: Any) -> Change:
    return lambda d: only(d).update(changes)


def enlarge(rho: float) -> Change:
    return lambda d: only(d)["points"][0].update(rho=rho)


def answer(d: Document) -> Any:
    """Return what is claimed, shown and proved of the only statement."""
    return only(d)["points"][0]["answers"][0]


def proof(d: Document) -> Any:
    return answer(d)["proof"]


def leaf(d: Document) -> Any:
    return proof(d)["leaves"][0]


def lower(by: float) -> Change:
    return lambda d: better(d, by)


NO_ROWS: Document = {"rows": [], "most": []}
MISSING = "not prove the claimed bound"

NOT_PROVED: dict[str, tuple[str, Change, str]] = {
    "bound lowered": ("general", lower(1e-9), MISSING),
    "bound far below": ("sensitive", lower(0.1), "is below the attained"),
    "a wider tolerance": ("general", asked(base_rate_tolerance=0.06), MISSING),
    "no condition": ("general", asked(base_rate_tolerance=None, fair=False), MISSING),
    "a narrower tolerance": ("general", asked(base_rate_tolerance=0.04), "differ by more than the tolerance"),
    "equal base rates": ("general", asked(base_rate_tolerance=None), "given by its shares, not by masses"),
    "a larger radius": ("general", enlarge(0.31), MISSING),
    "a smaller radius": ("general", enlarge(0.2), "outside the ball"),
    "a limit on groups": ("general", asked(group_limits={"skew": 0.01, **NO_ROWS}), "breaks the skew limit"),
    "another shift": ("sensitive", asked(shift="general"), ""),
    "a tangent at the border": ("general", lambda d: leaf(d)["centre"].__setitem__(0, 0.0), "shares must be positive"),
    "multipliers below the ceiling": ("general", lambda d: leaf(d)["zeta"][0].__setitem__(0, -1.0), "below its"),
    "a base below the ceiling": ("general", lambda d: leaf(d).update(base=[0.0, 0.0]), "below its ceiling"),
    "offsets of the labels": ("general", lambda d: leaf(d).update(offset=[0.1, 0.0]), "offsets are 0"),
    "pieces of the labels": ("general", lambda d: proof(d).update(axis="label"), "group shares are searched"),
    "other levels of the groups": ("general", lambda d: leaf(d).update(nu=[9.0, -9.0]), MISSING),
    "no levels of the groups": ("general", lambda d: leaf(d).update(nu=None), MISSING),
    "a leaf left out": ("sensitive", lambda d: proof(d)["leaves"].pop(), "more leaves than there are multipliers"),
    "leaves in another order": ("sensitive", lambda d: proof(d)["leaves"].reverse(), ""),
    "a root that leaves out shares": ("sensitive", lambda d: proof(d).update(floors=[0.1, 0.1]), "leaves out"),
    "masses that do not add up": (
        "general",
        lambda d: answer(d)["witness"]["mass"][0].__setitem__(0, 0.9),
        "add up to one",
    ),
    "masses of other shares": (
        "general",
        lambda d: answer(d)["witness"].update(group_mass=[0.5, 0.5]),
        "group_mass does not belong",
    ),
    "masses of other labels": (
        "general",
        lambda d: answer(d)["witness"].update(label_mass=[0.5, 0.5]),
        "label_mass does not belong",
    ),
    "products of the shares": ("general", lambda d: answer(d)["witness"].update(mass=None), ""),
    "attained overstated": (
        "sensitive",
        lambda d: [claim.update(attained=claim["attained"] + 2e-7) for claim in claims(d)],
        "less than the attained one",
    ),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_not_proved(name: str) -> None:
    shift, change, reason = NOT_PROVED[name]
    check_forgery(text(DOCUMENTS[shift]), change, reason)


MALFORMED: dict[str, Change] = {
    "a tolerance of zero": asked(base_rate_tolerance=0.0),
    "a tolerance of two": asked(base_rate_tolerance=2.0),
    "a tolerance without a condition": asked(fair=False),
    "a limit on labels": asked(label_limits={"skew": 0.5, **NO_ROWS}),
    "fair as a number": asked(fair=1),
    "no word on fairness": lambda d: only(d).pop("fair"),
    "no masses": lambda d: answer(d)["witness"].pop("mass"),
    "masses of another shape": lambda d: answer(d)["witness"]["mass"].pop(),
    "negative lam": lambda d: leaf(d).update(lam=-1.0),
    "a leaf without nu": lambda d: leaf(d).pop("nu"),
    "a leaf with more": lambda d: leaf(d).update(extra=1),
    "an unknown axis": lambda d: proof(d).update(axis="rows"),
    "zeta of another shape": lambda d: leaf(d)["zeta"][0].pop(),
    "nu of another shape": lambda d: leaf(d)["nu"].pop(),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    check_malformed(text(DOCUMENTS["general"]), MALFORMED[name])


def test_a_proof_for_equal_base_rates_proves_no_more() -> None:
    """Neither as it is nor with the condition dropped; but rates that may differ cover equal ones."""
    equal = json.loads(certify(Population.from_moments(P, E), 0.3).to_json())
    for change in ({"base_rate_tolerance": 0.05}, {"fair": False}):
        only(equal).update(fair=True, base_rate_tolerance=None)
        only(equal).update(change)
        for claim in claims(equal):
            claim["bound"] = 0.99
        result = verify(equal)
        assert any("the group shares are searched, and offsets are 0" in reason for reason in result.reasons)
        assert result.checked_bound is None
    for shift in ("general", "sensitive"):
        plain = json.loads(certify(Population.from_moments(P, E), 0.3, shift=shift).to_json())
        near = certify(Population.from_moments(P, E), 0.3, shift=shift, base_rate_tolerance=0.05)
        answer(plain)["proof"] = proof(json.loads(near.to_json()))
        for claim in claims(plain):
            claim["bound"] = near.bound
        assert verify(plain).valid


# What is said


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")
def test_nothing_claims_equal_base_rates(shift: Any, confidence: float | None) -> None:
    rng = np.random.default_rng(4)
    cell = rng.choice(4, size=500, p=P.ravel())
    loss = rng.uniform(size=500) < E.ravel()[cell]
    population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2, loss="zero_one")
    for question, words in (
        ({"base_rate_tolerance": 0.05}, "base rates within 0.05 of each other"),
        ({"fair": False}, "no condition on base rates"),
    ):
        curve = certify_curve(population, [0.2, 0.3], shift=shift, confidence=confidence, **question)
        first = next(iter(curve))
        for said in (
            report(curve),
            report(first),
            curve._repr_html_(),
            first._repr_html_(),
            repr(first),
            " ".join(curve.sentences()),
            " ".join(first.assumptions),
            " ".join(verify(first.to_json()).checks),
        ):
            assert "equal base rates" not in said.replace("Nearly equal base rates", "").lower()
            assert "same base rates" not in said
        assert words in report(curve)
        assert words in curve._repr_html_()
