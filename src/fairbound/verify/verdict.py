"""The checker: a small, independent kernel that proves or refuses a certificate from its document alone.

It imports the standard library and python-flint, nothing of the search: what a reader of certificates has to trust is
this room.

What is checked: the document's form; the digest of the statistics; that its questions hold together as surely as is
claimed; of every question that the statements cover what the metric is made of; for finite samples, the counts and the
confidence region; of every statement at every radius, that the pieces of the proof cover all shares, that the
multipliers of each are feasible and prove no more than is claimed; and that the witness is one of the distributions in
question and attains what is claimed. Whether the gates are passed follows from the bounds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import partial
from html import escape
from typing import Any

from flint import arb, ctx

from fairbound.verify.balls import PRECISION, RefusedError, float_above, largest, rounded_up
from fairbound.verify.claims import claims, passes, worded
from fairbound.verify.document import Answer, Document, Objective, Proof, Question, Single, Tilted, singles
from fairbound.verify.leaves import excesses
from fairbound.verify.metric import combined, describe_objective, is_ratio, made_of, missing_reasons
from fairbound.verify.reading import parsed_object, read_document
from fairbound.verify.remarks import remarks
from fairbound.verify.sampling import CheckedSurrogate, checked_surrogate
from fairbound.verify.statement import LEEWAY, Statement
from fairbound.verify.strict import MalformedError, canonical
from fairbound.verify.witness import witness_value
from fairbound.verify.work import MOST_WORK, PATIENT_WORK, seconds, work_of


class Verdict(Enum):
    """What a check found."""

    PROVED = "the claim is proved"
    NOT_PROVED = "not proved"
    NOT_A_CERTIFICATE = "not a certificate"


@dataclass(frozen=True)
class Answered:
    """What was found of one question of a document.

    Attributes
    ----------
    proved
        Whether all that it claims is proved.
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

    proved: bool
    reasons: tuple[str, ...] = ()
    checked_bound: float | None = None
    witness_value: float | None = None
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes
    ----------
    verdict
        Proved, not proved, or not a certificate. Proved are all questions of a document, or none.
    reasons
        Why not, in sentences; empty if proved.
    claims
        What is proved, in sentences of the checker; empty unless all is.
    gates
        Of a document that is proved, which of its thresholds the bounds keep: for each gate whether they do, and a
        sentence. Computed from the bounds, whatever the document says.
    questions
        What was found of each question.
    remarks
        What a reader should look at although it is no reason to refuse: names that look alike, for example.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    gates: tuple[tuple[bool, str], ...] = ()
    questions: tuple[Answered, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the claim is proved."""
        return self.verdict is Verdict.PROVED

    @property
    def passed(self) -> bool:
        """Whether all is proved, and no gate is broken."""
        return self.valid and all(passed for passed, _ in self.gates)

    @property
    def checked_bound(self) -> float | None:
        """What the proof of a single question proves, rounded to the safe side; None if nothing, or of several."""
        return self.questions[0].checked_bound if len(self.questions) == 1 else None

    @property
    def witness_value(self) -> float | None:
        """What the witness of a single question attains; None if it was not reached, or of several."""
        return self.questions[0].witness_value if len(self.questions) == 1 else None

    @property
    def checks(self) -> tuple[str, ...]:
        """What was checked, in sentences."""
        return tuple(dict.fromkeys(check for one in self.questions for check in one.checks))

    def _repr_html_(self) -> str:
        """Show it in a notebook: the verdict, why not if it is not proved, and what was checked."""
        said = [f"<p><strong>{escape(self.verdict.value.capitalize())}</strong></p>"]
        said += [f"<p>{_shown(claim)}</p>" for claim in self.claims]
        said += [f"<p>gate {_shown(gate)}</p>" for _, gate in self.gates]
        for title, sentences in (("Reasons", self.reasons), ("Notes", self.remarks), ("What was checked", self.checks)):
            if sentences:
                items = "".join(f"<li>{_shown(sentence)}</li>" for sentence in sentences)
                said.append(f"<details><summary>{title}</summary><ul>{items}</ul></details>")
        return "".join(said)


def _shown(sentence: str) -> str:
    """Return a sentence that is harmless on a page, and can be stored: names come from strangers."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in sentence))


@dataclass
class Finding:
    """What was found of one statement at one radius: a bound that is proved, a value that is attained, or why not."""

    where: str
    shown: bool
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
    """Check a document, given as JSON text or as parsed by ``json.loads``: all of its questions.

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
        parsed = parsed_object(document)
        found = read_document(parsed)
    except MalformedError as error:
        return Verification(Verdict.NOT_A_CERTIFICATE, (str(error),))
    work = work_of(found)
    if work > (PATIENT_WORK if patient else MOST_WORK):
        cure = "too long" if patient or work > PATIENT_WORK else "allow it with --patient (verify(..., patient=True))"
        why = f"the check would take {seconds(work)}: {cure}"
        return Verification(Verdict.NOT_PROVED, (why,))
    digest = hashlib.sha256(canonical(parsed["population"]).encode()).hexdigest()
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        return _verify(found, f"sha256:{digest}")
    finally:
        ctx.prec = before


def _verify(document: Document, digest: str) -> Verification:
    """Check every question; only :func:`_decide` and :func:`_conclude` draw conclusions."""
    reasons = []
    if document.digest != digest:
        reasons.append("the digest does not belong to the statistics of the population")
    if not _sure_together(document):
        reasons.append("the questions do not hold together at the claimed confidence")
    asked = singles(document)
    reasons += [
        f"gate {number}: the document says that it is {'passed' if gate.passed else 'failed'}, and it is not"
        for number, gate in enumerate(document.gates)
        if gate.passed is not passes(gate, asked[gate.question])
    ]
    return _conclude(document, reasons, [_check_question(single) for single in asked])


def _sure_together(document: Document) -> bool:
    """Whether the errors of the questions add up to no more than that of the document, exactly."""
    if document.confidence is None:
        return True
    errors = (1 - Fraction(one.confidence or 0) for one in document.questions)
    return sum(errors, Fraction(0)) <= 1 - Fraction(document.confidence)


def _conclude(document: Document, reasons: list[str], answered: list[Answered]) -> Verification:
    """Draw the conclusion of a document: proved if all of its questions are, and nothing speaks against it."""
    several = len(document.questions) > 1
    for number, (question, one) in enumerate(zip(document.questions, answered, strict=False)):
        where = f"question {number} ({question.metric.name[:60]}): " if several else ""
        reasons = reasons + [where + reason for reason in one.reasons]
    proved = bool(answered) and len(answered) == len(document.questions) and all(one.proved for one in answered)
    if not proved and not reasons:
        reasons = ["not every question was answered"]
    known = singles(document) if proved and not reasons else []
    return Verification(
        Verdict.PROVED if known else Verdict.NOT_PROVED,
        tuple(dict.fromkeys(reasons)),
        tuple(claims(document)) if known else (),
        tuple((passes(gate, known[gate.question]), worded(gate, known[gate.question])) for gate in document.gates)
        if known
        else (),
        tuple(answered),
        remarks(document.population),
    )


def _check_question(single: Single) -> Answered:
    """Check every statement at every radius, and that nothing is left out; only :func:`_decide` draws conclusions."""
    question = single.question
    checks = ["the digest of the population's statistics"]
    if question.metric.name != "loss":
        sure = "" if question.confidence is None else ", together at the claimed confidence"
        checks.append(f"that nothing is left out: {len(question.statements)} statements{sure}, each:")
    found: list[Finding] = []
    for number in range(len(question.statements)):
        found += _check_statement(single, number)
    checks += list(dict.fromkeys(check for one in found for check in one.checks))
    return _decide(single, [*missing_reasons(single)], found, checks)


def _decide(single: Single, reasons: list[str], found: list[Finding], checks: list[str]) -> Answered:
    """Draw the conclusion of a question, the only place where its claim is called proved.

    It takes a finding for each statement at each radius, each with a bound that was checked, a witness at each radius,
    of all witnesses that are shown a value that was checked, and no reason against any of them.
    """
    statements = single.question.statements
    reasons = reasons + [one.where + reason for one in found for reason in one.reasons]
    incomplete = [one for one in found if one.bound is None or (one.shown and one.value is None)]
    reasons += [f"{one.where}nothing was proved" for one in incomplete if not one.reasons]
    points = [point for point in single.question.points if point.claim is not None]
    whole = bool(found) and len(found) == len(points) * len(statements)
    if not whole:
        reasons.append("not every statement was checked at every radius")
    if any(all(answer.witness is None for answer in point.answers) for point in points):
        reasons.append("a radius has no witness: there may be no distribution in question")
    worst, made = min if is_ratio(single) else max, made_of(single) or []  # the weakest counts, of parts and of a curve
    bounds: list[float] = []
    values: list[float] = []
    for place in range(len(points) if whole else 0):
        here = found[place :: len(points)]
        proved = [one.bound for one in here if one.bound is not None]
        if made and len(proved) == len(statements):
            bounds.append(float_above(combined(made, proved, ratio=is_ratio(single))))
        values += [v for proof in made if len(proof) == 1 and (v := here[proof[0]].value) is not None]
    return Answered(
        not reasons,
        tuple(dict.fromkeys(reasons)),
        worst(bounds) if bounds and len(bounds) == len(points) else None,
        worst(values, default=None),
        tuple(checks),
    )


def _check_statement(single: Single, number: int) -> list[Finding]:
    """Check one statement at all radii: one surrogate serves them all."""
    question = single.question
    asked = question.statements[number]
    where = describe_objective(single.population, asked.objective)
    points = [point for point in question.points if point.claim is not None]
    surrogate: CheckedSurrogate | None = None
    shared = Finding(where, shown=False)
    with shared:
        surrogate = checked_surrogate(single.population, question, asked)
        shared.checks += surrogate.checks if surrogate is not None else ()
    if len(points) > 1:
        shared.checks.append(f"{len(points)} certificates of a curve (not its infeasible radii), each:")
    population = single.population if surrogate is None else surrogate.population
    laws: dict[float, Statement] = {}

    def posed(rho: float, factor: float) -> Statement:
        """Return the statement at a radius; the laws of the cells are made once, for all radii."""
        affinity = None if surrogate is None else surrogate.least_affinity(rho)
        if factor not in laws:
            laws.clear()
            laws[factor] = Statement(population, question, asked.objective, rho, affinity, factor)
        return laws[factor].at(rho, affinity)

    found = []
    for point in points:
        answer = point.answers[number]
        at = "" if len(points) == 1 else f"rho = {point.rho!r}: "
        one = Finding(where + at, answer.witness is not None, reasons=[*shared.reasons], checks=[*shared.checks])
        if not shared.reasons:
            _check_answer(one, question, asked.objective, answer, partial(posed, point.rho))
        found.append(one)
    return found


def _check_answer(
    found: Finding, question: Question, objective: Objective | None, answer: Answer, posed: Callable[[float], Statement]
) -> None:
    """Check the proof and the witness of one statement at one radius; ``posed`` is that statement, times a factor.

    Of two groups a ratio of at least t is proved if the largest ``t mean_a - mean_b`` is not positive.
    """
    ratio = objective is not None and objective.ratio
    statement: Statement | None = None
    with found:
        statement = posed(answer.bound if ratio else 1.0)
        excess = _excess(statement, answer.proof, answer.bound)
        # What is not the claim itself is a difference that is not positive if the claim is true.
        indirect = ratio or (objective is not None and any(isinstance(leaf, Tilted) for leaf in answer.proof.leaves))
        found.bound = answer.bound if indirect else rounded_up(arb(answer.bound) + excess)
        found.checks.append(_describe(answer.proof))
    if answer.witness is None or answer.attained is None:
        return
    with found:
        if ratio or statement is None:
            statement = posed(1.0)
        found.value = witness_value(statement, answer.witness, answer.attained)
        of = "loss" if objective is None else "means"
        found.checks.append(f"the worst-case distribution: {_condition(question)}, limits, distance and {of}")
    above, below = (answer.attained, answer.bound) if ratio else (answer.bound, answer.attained)
    if above < below:
        word = "above" if ratio else "below"
        found.reasons.append(f"the claimed bound {answer.bound!r} is {word} the attained {answer.attained!r}")
    if found.bound is None or found.value is None or statement is None or ratio:
        return
    # The witness is one of those that the proof speaks of, so this cannot happen unless one of the two is wrong.
    if not arb(found.value) <= arb(found.bound) + arb(LEEWAY) * statement.scale:
        found.reasons.append(
            f"the proof gives {found.bound!r}, less than the witness attains, {found.value!r}: the set of "
            "distributions is empty, or nearly so, and nothing can be concluded"
        )


def _excess(statement: Statement, proof: Proof, claimed: float) -> arb:
    """Return by how much the proof misses the claim, not positive; refuse if there are no pieces, or if it is."""
    found = excesses(statement, proof, claimed)
    if not found:
        raise RefusedError("the proof has no pieces: it proves nothing")
    if statement.objective is None or not statement.objective.ratio:
        found = [excess.min(statement.top - arb(claimed)) for excess in found]  # no value exceeds the largest ceiling
    high = [number for number, excess in enumerate(found) if not excess <= 0]
    if high:
        number = max(high, key=lambda n: float(found[n].upper()))
        what = "the multipliers do" if len(found) == 1 else f"leaf {number} does"
        raise RefusedError(f"{what} not prove the claimed bound: {float(found[number].upper()):.3g} is missing")
    return largest(found)


def _condition(question: Question) -> str:
    """Say what a witness was checked for."""
    if not question.fair:
        return "masses of cells"
    tolerance = question.base_rate_tolerance
    return "equal base rates" if tolerance is None else f"base rates within {tolerance!r} of each other"


def _describe(proof: Proof) -> str:
    count = len(proof.leaves)
    if count == 1:
        return "the multipliers, by weak duality, in ball arithmetic"
    return f"the cover of all shares by {count} pieces, and the multipliers of each, in ball arithmetic"
