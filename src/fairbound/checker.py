"""The checker: a small, independent kernel that proves or refuses a certificate from its document alone.

It imports the standard library and python-flint, nothing of the search: what a reader of certificates has to trust is
this file, the other ``checker_`` files, ``reader`` and ``strict``.

What is checked: the document's form; the digest of the statistics; for finite samples, the counts and the confidence
region (:mod:`fairbound.checker_sampling`); that the pieces of the proof cover all shares, that each piece's
multipliers are feasible and that no bound they give exceeds the claim; that the witness has equal base rates, obeys
the limits, lies in the ball and attains what is claimed (:mod:`fairbound.checker_duality`); and the same where base
rates may differ (:mod:`fairbound.checker_rates`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Any

from flint import arb, ctx

from fairbound.checker_conditional import Compared, conditional_bounds
from fairbound.checker_divergence import divergence_bounds, witness_value_in
from fairbound.checker_duality import Case, RefusedError, bounds_of, product_masses, proved, rounded_up, witness_value
from fairbound.checker_means import check_mean
from fairbound.checker_metric import describe_objective, missing_reasons
from fairbound.checker_rates import rates_bounds, table_masses, tolerance_of, tolerance_words
from fairbound.checker_rates_means import means_bounds
from fairbound.checker_sampling import StandIn, checked_stand_in, sampling_work
from fairbound.reader import Whole, read_whole
from fairbound.strict import MalformedError, canonical

#: Bits of the ball arithmetic.
PRECISION = 160

#: A limit, so that a check ends in reasonable time whatever the document.
MOST_WORK = 50_000_000


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
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    checked_bound: float | None = None
    witness_value: float | None = None
    checks: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the claim is proved."""
        return self.verdict is Verdict.PROVED


def verify(document: str | bytes | dict[str, Any]) -> Verification:
    """Check a certificate or a curve of certificates, given as JSON text or as parsed by ``json.loads``.

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
    work = sum(sum(map(_work, documents)) + sampling_work(documents[0]) for documents in whole.parts)
    if work > MOST_WORK:
        return Verification(Verdict.NOT_A_CERTIFICATE, ("the document is too large to be checked in reasonable time",))
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        if whole.metric is None:
            return _verify_all(whole.parts[0])
        return _verify_metric(whole)
    finally:
        ctx.prec = before


def _verify_metric(whole: Whole) -> Verification:
    """Check all that a metric is the largest (or smallest) of, that nothing is left out, and that the claims follow."""
    reasons = list(missing_reasons(whole))
    found = [_verify_all(documents) for documents in whole.parts]
    for documents, result in zip(whole.parts, found, strict=True):
        what = describe_objective(documents[0])
        reasons += [f"{what}: {reason}" for reason in result.reasons]
    sure = "" if whole.confidence is None else ", together at the claimed confidence"
    checks = [f"that nothing is left out: {len(found)} statements{sure}, each:"]
    bounds = [v.checked_bound for v in found if v.checked_bound is not None]
    values = [v.witness_value for v in found if v.witness_value is not None]
    worst = min if whole.lower else max
    return Verification(
        Verdict.NOT_PROVED if reasons else Verdict.PROVED,
        tuple(dict.fromkeys(reasons)),
        worst(bounds, default=None),
        worst(values, default=None),
        (*checks, *found[0].checks),
    )


def _verify_all(documents: list[dict[str, Any]]) -> Verification:
    """Check the statistics once, and all claims that rest on them."""
    stand_in: StandIn | None = None
    reasons: list[str] = []
    checks = ["the digest of the population's statistics"]
    first = documents[0]
    digest = hashlib.sha256(canonical(first["population"]).encode()).hexdigest()
    if first["digest"] != f"sha256:{digest}":
        reasons.append("the digest does not belong to the statistics of the population")
    if first["sampling"] is not None:
        try:
            stand_in = checked_stand_in(first)
            checks += stand_in.checks
        except RefusedError as refused:
            return Verification(Verdict.NOT_PROVED, (*reasons, str(refused)), checks=tuple(checks))
        except (ArithmeticError, ValueError) as error:
            why = f"the confidence region cannot be evaluated: {error}"
            return Verification(Verdict.NOT_PROVED, (*reasons, why), checks=tuple(checks))
    results = [_verify_one(one, stand_in) for one in documents]
    single = len(results) == 1
    for document, result in zip(documents, results, strict=True):
        where = "" if single else f"rho = {document['question']['rho']!r}: "
        reasons += [where + reason for reason in result.reasons]
    if not single:
        checks.append(f"{len(results)} certificates of a curve (not its infeasible radii), each:")
    bounds = [v.checked_bound for v in results if v.checked_bound is not None]
    values = [v.witness_value for v in results if v.witness_value is not None]
    verdict = Verdict.NOT_PROVED if reasons else Verdict.PROVED
    checks += results[0].checks
    objective = first["question"]["objective"]
    worst = min if objective is not None and objective["ratio"] else max  # of a curve the weakest statement counts
    return Verification(
        verdict, tuple(reasons), worst(bounds, default=None), worst(values, default=None), tuple(checks)
    )


def _verify_one(document: dict[str, Any], stand_in: StandIn | None) -> Verification:
    """Check a proof and a witness; both refer to the stand-in if there is one."""
    checked: float | None = None
    value: float | None = None
    reasons: list[str] = []
    checks: list[str] = []
    claim, question = document["claim"], document["question"]
    try:
        population = document["population"] if stand_in is None else stand_in.population
        tau = 1 - arb(question["rho"]) ** 2 if stand_in is None else stand_in.least_affinity(question["rho"])
        if question["objective"] is not None:
            if question["divergence"] != "hellinger":
                return _verify_mean(document, population, tau)
            return _verify_compared(document, population, tau)
        proof, witness = document["proof"], document["witness"]
        tolerance, other = tolerance_of(question), question["divergence"] != "hellinger"
        if other and (question["base_rate_tolerance"] or question["group_limits"] or question["label_limits"]):
            raise RefusedError("base rates within a tolerance, and linear limits, are for Hellinger balls only")
        # Without an axis: pieces of group shares, or no pieces at all.
        case = Case(population, question, proof.get("axis", "label" if other else "group"), tau)
        try:
            bounds = _bounds(case, question, proof)
            checked = rounded_up(proved(case, bounds, claim["bound"], reasons))
            checks.append(_describe(proof))
        except RefusedError as refused:
            reasons.append(str(refused))
        try:
            masses = _masses(case, witness, tolerance)
            if other:
                value = witness_value_in(case, question, witness, masses, claim["attained"])
            else:
                value = witness_value(case, witness, masses, claim["attained"])
            checks.append(f"the worst-case distribution: {tolerance_words(question)}, limits, distance and loss")
        except RefusedError as refused:
            reasons.append(str(refused))
        if claim["attained"] > claim["bound"]:
            reasons.append(f"the claimed bound {claim['bound']!r} is below the attained loss {claim['attained']!r}")
    except RefusedError as refused:
        reasons.append(str(refused))
    except (ArithmeticError, ValueError) as error:  # numbers that no computation can digest
        reasons.append(f"the numbers cannot be evaluated: {error}")
    verdict = Verdict.NOT_PROVED if reasons else Verdict.PROVED
    return Verification(verdict, tuple(reasons), checked, value, tuple(checks))


def _bounds(case: Case, question: dict[str, Any], proof: dict[str, Any]) -> list[arb]:
    """Return what the proof proves of each piece."""
    if question["divergence"] != "hellinger":
        return divergence_bounds(case, question, proof)
    if proof["kind"] == "rates":
        return rates_bounds(case, proof, tolerance_of(question))
    if tolerance_of(question) > 0:
        raise RefusedError("the proof is for equal base rates, but the claim is for base rates that may differ")
    return bounds_of(case, proof)


def _masses(case: Case, witness: dict[str, Any], tolerance: float) -> dict[tuple[int, int], arb]:
    """Return the masses of the witness's cells: given, or products of its shares."""
    return product_masses(case, witness) if witness["mass"] is None else table_masses(case, witness, tolerance)


def _means(case: Compared, proof: dict[str, Any], tolerance: float) -> list[arb]:
    """Return what the proof proves of each piece."""
    if proof["kind"] == "rates_means":
        return means_bounds(case, proof, tolerance)
    if tolerance > 0:
        raise RefusedError("the proof is for equal base rates, but the claim is for base rates that may differ")
    return conditional_bounds(case, proof)


def _verify_mean(document: dict[str, Any], population: dict[str, Any], tau: arb) -> Verification:
    """Check a mean given a group, or a comparison of two groups, under a divergence other than Hellinger's."""
    claim, question = document["claim"], document["question"]
    checked, value, reasons = check_mean(document, population, tau)
    checks = [] if checked is None else [_describe(document["proof"])]
    if value is not None:
        checks.append(f"the worst-case distribution: {tolerance_words(question)}, limits, distance and means")
    above, below = claim["bound"], claim["attained"]
    if above > below if question["objective"]["ratio"] else above < below:
        reasons.append(f"the claimed bound {above!r} and the attained {below!r} contradict each other")
    verdict = Verdict.NOT_PROVED if reasons else Verdict.PROVED
    return Verification(verdict, tuple(reasons), checked, value, tuple(checks))


def _verify_compared(document: dict[str, Any], population: dict[str, Any], tau: arb) -> Verification:
    """Check a mean given a group, or a comparison of two groups.

    A ratio of at least t is proved if the largest ``t mean_a - mean_b`` is not positive; and it is attained if, with
    the attained ratio for t, that is zero.
    """
    claim, question = document["claim"], document["question"]
    ratio = question["objective"]["ratio"]
    checked: float | None = None
    value: float | None = None
    reasons: list[str] = []
    checks: list[str] = []
    claimed = 0.0 if ratio else claim["bound"]
    tolerance = tolerance_of(question)
    try:
        case = Compared(population, question, tau, arb(claim["bound"]) if ratio else arb(1))
        for number, bound in enumerate(_means(case, document["proof"], tolerance)):
            bound = bound if ratio else bound.min(case.top)  # noqa: PLW2901 (no mean exceeds the largest ceiling)
            if not bound <= arb(claimed):
                reasons.append(f"piece {number} proves only {rounded_up(bound)!r}, more than the {claimed!r} needed")
            checked = rounded_up(bound) if checked is None else max(checked, rounded_up(bound))
        checks.append(_describe(document["proof"]))
        if ratio:
            checked = None if reasons else claim["bound"]
    except RefusedError as refused:
        reasons.append(str(refused))
    try:
        if ratio:  # one of two groups has the smaller mean: that a ratio is at most one needs no witness
            attained = None if claim["attained"] >= 1 else 0.0
            case = Compared(population, question, tau, arb(claim["attained"]))
            witness_value(case, document["witness"], _masses(case, document["witness"], tolerance), attained)
            value = claim["attained"]
        else:
            case = Compared(population, question, tau, arb(1))
            masses = _masses(case, document["witness"], tolerance)
            value = witness_value(case, document["witness"], masses, claim["attained"])
        checks.append(f"the worst-case distribution: {tolerance_words(question)}, limits, distance and means")
    except RefusedError as refused:
        reasons.append(str(refused))
    wrong = claim["attained"] < claim["bound"] if ratio else claim["attained"] > claim["bound"]
    if wrong:
        reasons.append(
            f"the claimed bound {claim['bound']!r} and the attained {claim['attained']!r} contradict each other"
        )
    verdict = Verdict.NOT_PROVED if reasons else Verdict.PROVED
    return Verification(verdict, tuple(reasons), checked, value, tuple(checks))


def _work(document: dict[str, Any]) -> int:
    """Return about how many terms have to be evaluated."""
    proof, population = document["proof"], document["population"]
    size = len(population["groups"]) * len(population["labels"])
    atoms = 2 * size
    knowledge = (document["sampling"] or population)["knowledge"]
    if knowledge["kind"] == "losses":
        atoms += sum(2 * len(cell) for row in knowledge["cells"] for cell in row)
    sides = (document["question"][key] for key in ("group_limits", "label_limits"))
    limits = sum(len(row) for side in sides if side is not None for row in side["rows"])
    if proof["kind"] in {"tangent", "divergence_single", "mean_single"}:
        return atoms + limits
    if proof["kind"] in {"conditional", "rates_means"}:
        return 3 * (atoms + limits) * (len(proof["cuts"]) + 1)
    return sum(atoms * len(leaf["centre"]) + limits for leaf in proof["leaves"])


def _describe(proof: dict[str, Any]) -> str:
    if proof["kind"] in {"conditional", "rates_means"} and proof["cuts"]:
        return f"the cover of a label's shares by {len(proof['theta'])} intervals, and their multipliers, likewise"
    single = {"tangent", "conditional", "rates_means", "divergence_single", "mean_single"}
    if proof["kind"] in single or len(proof["leaves"]) == 1:
        return "the multipliers, by weak duality, in ball arithmetic"
    return f"the cover of all shares by {len(proof['leaves'])} pieces, and the multipliers of each, in ball arithmetic"
