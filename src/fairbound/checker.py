"""The checker: a small, independent kernel that proves or refuses a certificate from its document alone.

It imports the standard library and python-flint, nothing of the search: what a reader of certificates has to trust is
this file, the other ``checker_`` files, ``reader`` and ``strict``.

What is checked: the document's form; the digest of the statistics; for finite samples, the counts and the confidence
region (:mod:`fairbound.checker_sampling`); that the pieces of the proof cover all shares, that each piece's
multipliers are feasible and that no bound they give exceeds the claim; that the witness has equal base rates, obeys
the limits, lies in the ball and attains what is claimed (:mod:`fairbound.checker_duality`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Any

from flint import arb, ctx

from fairbound.checker_divergence import proved_divergence, witness_value_in
from fairbound.checker_duality import Case, RefusedError, proved, rounded_up, witness_value
from fairbound.checker_sampling import StandIn, checked_stand_in, sampling_work
from fairbound.reader import read_documents
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
        What the proof proves, rounded up; None if it proves nothing.
    witness_value
        The witness's loss, rounded down; None if it was not reached.
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
        documents = read_documents(document)
    except MalformedError as error:
        return Verification(Verdict.NOT_A_CERTIFICATE, (str(error),))
    if sum(map(_work, documents)) + sampling_work(documents[0]) > MOST_WORK:
        return Verification(Verdict.NOT_A_CERTIFICATE, ("the document is too large to be checked in reasonable time",))
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        return _verify_all(documents)
    finally:
        ctx.prec = before


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
    return Verification(verdict, tuple(reasons), max(bounds, default=None), max(values, default=None), tuple(checks))


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
        proof, witness = document["proof"], document["witness"]
        case = Case(population, question, proof.get("axis", "label"), tau)
        hellinger = question["divergence"] == "hellinger"
        try:
            if hellinger:
                most = proved(case, proof, claim["bound"], reasons)
            else:
                most = proved_divergence(case, question, proof, claim["bound"], reasons)
            checked = rounded_up(most)
            checks.append(_describe(proof))
        except RefusedError as refused:
            reasons.append(str(refused))
        try:
            if hellinger:
                value = witness_value(case, witness, claim["attained"])
            else:
                value = witness_value_in(case, question, witness, claim["attained"])
            rates = "equal base rates, limits, " if question["fair"] else ""
            checks.append(f"the worst-case distribution: {rates}distance and loss")
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


def _work(document: dict[str, Any]) -> int:
    """Return about how many terms have to be evaluated."""
    proof, population = document["proof"], document["population"]
    size = len(population["groups"]) * len(population["labels"])
    atoms = 2 * size
    knowledge = (document["sampling"] or population)["knowledge"]
    if knowledge["kind"] == "losses":
        atoms += sum(2 * len(cell) for row in knowledge["cells"] for cell in row)
    if proof["kind"] in {"tangent", "divergence_single"}:
        return atoms
    return atoms * sum(len(leaf["centre"]) for leaf in proof["leaves"])


def _describe(proof: dict[str, Any]) -> str:
    if proof["kind"] in {"tangent", "divergence_single"}:
        return "the multipliers, by weak duality, in ball arithmetic"
    return f"the cover of all shares by {len(proof['leaves'])} pieces, and the multipliers of each, in ball arithmetic"
