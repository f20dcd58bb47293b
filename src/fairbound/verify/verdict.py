"""The checker: a small, independent kernel that proves or refuses a certificate from its document alone.

It imports the standard library and python-flint, nothing of the search: what a reader of certificates has to trust is
this file, the other ``checker_`` files, ``reader`` and ``strict``.

What is checked: the document's form; the digest of the statistics; for finite samples, the counts and the confidence
region (:mod:`fairbound.verify.sampling`); that the pieces of the proof cover all shares, that each piece's
multipliers are feasible and that no bound they give exceeds the claim; that the witness has equal base rates, obeys
the limits, lies in the ball and attains what is claimed (:mod:`fairbound.verify.duality`); and the same where base
rates may differ (:mod:`fairbound.verify.rates`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from flint import arb, ctx

from fairbound.verify.conditional import MeanCase, conditional_bounds
from fairbound.verify.divergence import divergence_bounds, witness_value_in
from fairbound.verify.duality import (
    ROUNDING,
    Case,
    RefusedError,
    bounds_of,
    largest,
    product_masses,
    rounded_up,
    witness_value,
)
from fairbound.verify.means import mean_excesses
from fairbound.verify.metric import describe_objective, missing_reasons
from fairbound.verify.rates import rates_bounds, table_masses, tolerance_words
from fairbound.verify.rates_means import means_bounds
from fairbound.verify.reading import Whole, read_whole
from fairbound.verify.remarks import remarks
from fairbound.verify.sampling import CheckedSurrogate, checked_surrogate
from fairbound.verify.strict import MalformedError, canonical
from fairbound.verify.work import MOST_WORK, PATIENT_WORK, seconds, work_of

#: Bits of the ball arithmetic.
PRECISION = 160


class Verdict(Enum):
    """What a check found."""

    PROVED = "the claim is proved"
    NOT_PROVED = "not proved"
    NOT_A_CERTIFICATE = "not a certificate"


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes
    ----------
    verdict
        Proved, not proved, or not a certificate.
    reasons
        Why not, in sentences; empty if proved.
    checked_bound
        What the proof proves, rounded up (of a ratio, which is bounded from below, down); of a curve the weakest of
        its bounds; None if it proves nothing.
    witness_value
        What the witness attains, rounded the other way; None if it was not reached.
    checks
        What was checked, in sentences.
    remarks
        What a reader should look at although it is no reason to refuse: names that look alike, for example.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    checked_bound: float | None = None
    witness_value: float | None = None
    checks: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the claim is proved."""
        return self.verdict is Verdict.PROVED


@dataclass
class Finding:
    """What was found of one statement at one radius: a bound that is proved, a value that is attained, or why not."""

    where: str
    bound: float | None = None
    value: float | None = None
    reasons: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)

    def __enter__(self) -> None:
        """Begin a step."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        """Note why a step failed instead of ending the check."""
        if isinstance(error, RefusedError):
            self.reasons.append(str(error))
        elif isinstance(error, ArithmeticError | ValueError):  # numbers that no computation can digest
            self.reasons.append(f"the numbers cannot be evaluated: {error}")
        else:
            return False
        return True


def verify(document: str | bytes | dict[str, Any], *, patient: bool = False) -> Verification:
    """Check a certificate or a curve of certificates, given as JSON text or as parsed by ``json.loads``.

    How long that takes is estimated first, and what takes more than about five seconds is refused, so that no
    document of a stranger keeps the program busy; ``patient`` allows some minutes.

    Examples
    --------
    >>> from fairbound import Population, certify, verify
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> text = certify(population, 0.2).to_json()
    >>> verify(text).valid
    True
    >>> verify(text.replace('"bound": 0.37', '"bound": 0.36')).verdict
    <Verdict.NOT_PROVED: 'not proved'>
    """
    try:
        whole = read_whole(document)
    except MalformedError as error:
        return Verification(Verdict.NOT_A_CERTIFICATE, (str(error),))
    work = work_of(whole)
    if work > (PATIENT_WORK if patient else MOST_WORK):
        cure = "too long" if patient or work > PATIENT_WORK else "allow it with --patient (verify(..., patient=True))"
        why = f"the check would take {seconds(work)}: {cure}"
        return Verification(Verdict.NOT_PROVED, (why,))
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        return _verify(whole)
    finally:
        ctx.prec = before


def _verify(whole: Whole) -> Verification:
    """Check every statement at every radius, and that nothing is left out; only :func:`_decide` draws conclusions."""
    first = whole.parts[0][0]
    reasons: list[str] = []
    checks = ["the digest of the population's statistics"]
    digest = hashlib.sha256(canonical(first["population"]).encode()).hexdigest()
    if first["digest"] != f"sha256:{digest}":
        reasons.append("the digest does not belong to the statistics of the population")
    if whole.metric is not None:
        reasons += missing_reasons(whole)
        sure = "" if whole.confidence is None else ", together at the claimed confidence"
        checks.append(f"that nothing is left out: {len(whole.parts)} statements{sure}, each:")
    found: list[Finding] = []
    for documents in whole.parts:
        found += _check_part(documents, "" if whole.metric is None else f"{describe_objective(documents[0])}: ")
    checks += list(dict.fromkeys(check for one in found for check in one.checks))
    return _decide(whole, reasons, found, checks)


def _decide(whole: Whole, reasons: list[str], found: list[Finding], checks: list[str]) -> Verification:
    """Draw the conclusion, the only place where a claim is called proved.

    It takes a finding for each statement at each radius, each with a bound and with a value that were checked, and no
    reason against any of them.
    """
    reasons = reasons + [one.where + reason for one in found for reason in one.reasons]
    incomplete = [one for one in found if (one.bound is None or one.value is None) and not one.reasons]
    reasons += [f"{one.where}nothing was proved" for one in incomplete]
    if not found or len(found) != sum(map(len, whole.parts)):
        reasons.append("not every statement was checked at every radius")
    bounds = [one.bound for one in found if one.bound is not None]
    values = [one.value for one in found if one.value is not None]
    worst = min if whole.lower else max  # of a curve, and of the statements of a metric, the weakest counts
    return Verification(
        Verdict.NOT_PROVED if reasons else Verdict.PROVED,
        tuple(dict.fromkeys(reasons)),
        worst(bounds, default=None),
        worst(values, default=None),
        tuple(checks),
        remarks(whole),
    )


def _check_part(documents: list[dict[str, Any]], where: str) -> list[Finding]:
    """Check one statement at all radii: these share one question, so one stand-in serves them all."""
    surrogate: CheckedSurrogate | None = None
    shared = Finding(where)
    if documents[0]["sampling"] is not None:
        with shared:
            surrogate = checked_surrogate(documents[0])
            shared.checks += surrogate.checks
        if surrogate is None:
            return [Finding(where, reasons=shared.reasons) for _ in documents]
    if len(documents) > 1:
        shared.checks.append(f"{len(documents)} certificates of a curve (not its infeasible radii), each:")
    found = []
    for document in documents:
        at = "" if len(documents) == 1 else f"rho = {document['question']['rho']!r}: "
        one = Finding(where + at, checks=list(shared.checks))
        _check_one(one, document, surrogate)
        found.append(one)
    return found


def _check_one(found: Finding, document: dict[str, Any], surrogate: CheckedSurrogate | None) -> None:
    """Check the proof and the witness of one statement at one radius; both refer to the stand-in if there is one.

    Of two groups a ratio of at least t is proved if the largest ``t mean_a - mean_b`` is not positive; and it is
    attained if, with the attained ratio for t, that is zero.
    """
    claim, question, witness = document["claim"], document["question"], document["witness"]
    objective = question["objective"]
    ratio = objective is not None and objective["ratio"]
    other = question["divergence"] != "hellinger"
    population = document["population"] if surrogate is None else surrogate.population
    tau = 1 - arb(question["rho"]) ** 2 if surrogate is None else surrogate.least_affinity(question["rho"])
    case: Case | None = None
    unit: arb | None = None
    with found:
        if other and (question["base_rate_tolerance"] or question["group_limits"] or question["label_limits"]):
            raise RefusedError("base rates within a tolerance, and linear limits, are for Hellinger balls only")
        case = _case(document, population, tau, claim["bound"] if ratio else 1.0)
        unit = case.scale
        if other and isinstance(case, MeanCase):
            bounds, needed = mean_excesses(case, question, document["proof"], claim["bound"]), 0.0
        else:
            bounds = _bounds(case, question, document["proof"])
            needed = 0.0 if ratio else claim["bound"]
        direct = not ratio and not (other and objective is not None)  # pieces bound the claim itself
        bound = _proved(bounds, needed, case.top if direct else None)
        found.bound = rounded_up(bound) if direct else claim["bound"]
        found.checks.append(_describe(document["proof"]))
    with found:
        if case is None or ratio:
            case = _case(document, population, tau, claim["attained"] if ratio else 1.0)
        masses = product_masses(case, witness) if witness["mass"] is None else table_masses(case, witness)
        # That a ratio is at most one needs no witness: of two groups one has the smaller mean.
        attained = claim["attained"] if not ratio else None if claim["attained"] >= 1 else 0.0
        value = (witness_value_in if other else witness_value)(case, witness, masses, attained)
        found.value = claim["attained"] if ratio else value
        of = "loss" if objective is None else "means"
        found.checks.append(f"the worst-case distribution: {tolerance_words(question)}, limits, distance and {of}")
    above, below = (claim["attained"], claim["bound"]) if ratio else (claim["bound"], claim["attained"])
    if above < below:
        word = "above" if ratio else "below"
        found.reasons.append(f"the claimed bound {claim['bound']!r} is {word} the attained {claim['attained']!r}")
    if found.bound is None or found.value is None or unit is None or ratio:
        return
    # The witness is one of those that the proof speaks of, so this cannot happen unless one of the two is wrong.
    if not arb(found.value) <= arb(found.bound) + arb(ROUNDING) * unit:
        found.reasons.append(
            f"the proof gives {found.bound!r}, less than the witness attains, {found.value!r}: the set of "
            "distributions is empty, or nearly so, and nothing can be concluded"
        )


def _case(document: dict[str, Any], population: dict[str, Any], tau: arb, factor: float) -> Case:
    """Return the question in exact numbers."""
    question, proof = document["question"], document["proof"]
    if question["objective"] is not None:
        return MeanCase(population, question, tau, arb(factor))
    # Without an axis: pieces of group shares, or no pieces at all.
    axis = proof.get("axis", "label" if question["divergence"] != "hellinger" else "group")
    return Case(population, question, axis, tau)


def _bounds(case: Case, question: dict[str, Any], proof: dict[str, Any]) -> list[arb]:
    """Return what the proof proves of each piece."""
    if question["divergence"] != "hellinger":
        return divergence_bounds(case, question, proof)
    compared = isinstance(case, MeanCase)
    if proof["kind"] == ("rates_means" if compared else "rates"):
        return means_bounds(case, proof) if isinstance(case, MeanCase) else rates_bounds(case, proof)
    if case.tolerance > 0:
        raise RefusedError("the proof is for equal base rates, but the claim is for base rates that may differ")
    return conditional_bounds(case, proof) if isinstance(case, MeanCase) else bounds_of(case, proof)


def _proved(bounds: list[arb], needed: float, top: arb | None) -> arb:
    """Return what the bounds of all pieces prove together; refuse if there is none, or if one is not low enough."""
    if not bounds:
        raise RefusedError("the proof has no pieces: it proves nothing")
    if top is not None:
        bounds = [bound.min(top) for bound in bounds]  # no value exceeds the largest ceiling
    high = [number for number, bound in enumerate(bounds) if not bound <= arb(needed)]
    if high:
        number = max(high, key=lambda n: float(bounds[n].upper()))
        what = "the multipliers prove" if len(bounds) == 1 else f"leaf {number} proves"
        excess = float((bounds[number] - arb(needed)).upper())
        if top is None:
            raise RefusedError(f"{what} not the claimed bound: {excess:.3g} is left over")
        only = rounded_up(bounds[number])
        raise RefusedError(f"{what} only {only!r}, which exceeds the claimed bound by {excess:.3g}")
    return largest(bounds)


def _describe(proof: dict[str, Any]) -> str:
    if proof["kind"] in {"conditional", "rates_means"} and proof["cuts"]:
        return f"the cover of a label's shares by {len(proof['theta'])} intervals, and their multipliers, likewise"
    single = {"tangent", "conditional", "rates_means", "divergence_single", "mean_single"}
    if proof["kind"] in single or len(proof["leaves"]) == 1:
        return "the multipliers, by weak duality, in ball arithmetic"
    return f"the cover of all shares by {len(proof['leaves'])} pieces, and the multipliers of each, in ball arithmetic"
