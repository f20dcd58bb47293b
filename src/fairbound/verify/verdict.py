"""The checker: a small, independent kernel that proves or refuses a certificate from its document alone.

It imports the standard library and python-flint, nothing of the search: what a reader of certificates has to trust is
this room. What is checked stands in docs/specification.md; this module is the only one that says "proved", in two
steps: :func:`_decide` of a question, :func:`_conclude` of a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol

from flint import arb, ctx

from fairbound.verify.balls import PRECISION, RefusedError, largest, require, rounded_up
from fairbound.verify.beside.checks import checks, where
from fairbound.verify.beside.claims import claims, worded
from fairbound.verify.beside.page import page
from fairbound.verify.beside.remarks import remarks
from fairbound.verify.beside.work import MOST_WORK, PATIENT_WORK, seconds, work_of
from fairbound.verify.document import Answer, Document, Gate, Point, Single, Tilted, singles
from fairbound.verify.leaves import excesses
from fairbound.verify.metric import is_ratio, made_of, missing_reasons
from fairbound.verify.reading import parsed_object, read_document
from fairbound.verify.sampling import CheckedSurrogate, checked_surrogate
from fairbound.verify.statement import LEEWAY, Statement
from fairbound.verify.strict import MalformedError, canonical
from fairbound.verify.witness import witness_value


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
        lists = (("Reasons", self.reasons), ("Notes", self.remarks), ("What was checked", self.checks))
        return page(self.verdict.value, self.claims, self.gates, lists)


@dataclass
class Finding:
    """What was found of one statement at one radius: a bound that is proved, a value that is attained, or why not."""

    number: int
    point: Point
    bound: float | None = None
    value: float | None = None
    sampled: bool = False
    reasons: list[str] = field(default_factory=list)

    @property
    def answer(self) -> Answer:
        """The answer that is checked."""
        return self.point.answers[self.number]

    def __enter__(self) -> None:
        """Begin a step."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        """Note why a step failed instead of ending the check."""
        if isinstance(error, RefusedError):
            self.reasons.append(str(error))
        elif isinstance(error, ArithmeticError | ValueError):  # numbers that no computation can digest
            self.reasons.append(f"the numbers cannot be evaluated: {error}")
        return isinstance(error, RefusedError | ArithmeticError | ValueError)


class Writes(Protocol):
    """What can write itself as a document, as certificates can."""

    def to_json(self) -> str:
        """Write the document."""


def verify(document: str | bytes | dict[str, Any] | Writes, *, patient: bool = False) -> Verification:
    """Check a document, given as JSON text or as parsed by ``json.loads``: all of its questions.

    Of what writes itself with ``to_json``, as a certificate, that document is checked.

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
    if not isinstance(document, str | bytes | dict) and callable(getattr(document, "to_json", None)):
        document = document.to_json()
    try:
        parsed = parsed_object(document)  # type: ignore[arg-type]  # what is none of these is refused there
        found = read_document(parsed)
    except MalformedError as error:
        return Verification(Verdict.NOT_A_CERTIFICATE, (str(error),))
    work = work_of(found)
    if work > (PATIENT_WORK if patient else MOST_WORK):
        cure = "too long" if patient or work > PATIENT_WORK else "allow it with --patient (verify(..., patient=True))"
        why = f"the check would take {seconds(work)}: {cure}"
        return Verification(Verdict.NOT_PROVED, (why,))
    digest = hashlib.sha256(canonical(parsed["population"]).encode()).hexdigest()
    before, ctx.prec = ctx.prec, PRECISION
    try:
        answered = [_check_question(single) for single in singles(found)]
        return _conclude(found, _reasons(found, f"sha256:{digest}"), answered)
    finally:
        ctx.prec = before


def _reasons(document: Document, digest: str) -> list[str]:
    """Say what is wrong with a whole document: section "Several questions" of the specification."""
    reasons = [] if document.digest == digest else ["the digest does not belong to the statistics of the population"]
    if document.confidence is not None:
        errors = sum((1 - Fraction(one.confidence or 0) for one in document.questions), Fraction(0))
        if errors > 1 - Fraction(document.confidence):
            reasons.append("the questions do not hold together at the claimed confidence")
    asked = singles(document)
    return reasons + [
        f"gate {number}: the document says that it is {'passed' if gate.passed else 'failed'}, and it is not"
        for number, gate in enumerate(document.gates)
        if gate.passed is not _passes(gate, asked[gate.question])
    ]


def _passes(gate: Gate, single: Single) -> bool:
    """Whether no bound of a question breaks a threshold: from above, or of a ratio from below."""
    bounds = [point.claim.bound for point in single.question.points if point.claim is not None]
    return min(bounds) >= gate.threshold if is_ratio(single) else max(bounds) <= gate.threshold


def _conclude(document: Document, reasons: list[str], answered: list[Answered]) -> Verification:
    """Draw the conclusion of a document: proved if all of its questions are, and nothing speaks against it."""
    asked = singles(document)
    for number, (single, one) in enumerate(zip(asked, answered, strict=False)):
        about = f"question {number} ({ascii(single.question.metric.name[:60])[1:-1]}): " if len(asked) > 1 else ""
        reasons = reasons + [about + reason for reason in one.reasons]
    if not answered or len(answered) != len(asked) or not all(one.proved for one in answered):
        reasons = reasons or ["not every question was answered"]
    questions, noted = tuple(answered), remarks(document.population)
    if reasons:
        return Verification(Verdict.NOT_PROVED, tuple(dict.fromkeys(reasons)), (), (), questions, noted)
    kept = [_passes(gate, asked[gate.question]) for gate in document.gates]
    gates = [
        (passed, worded(gate, asked[gate.question], passed)) for gate, passed in zip(document.gates, kept, strict=True)
    ]
    return Verification(Verdict.PROVED, (), tuple(claims(document)), tuple(gates), questions, noted)


def _check_question(single: Single) -> Answered:
    """Check every statement at every radius, and that nothing is left out; only :func:`_decide` draws conclusions."""
    numbers = range(len(single.question.statements))
    return _decide(single, [*missing_reasons(single)], [one for n in numbers for one in _check_statement(single, n)])


def _decide(single: Single, reasons: list[str], found: list[Finding]) -> Answered:
    """Draw the conclusion of a question, the only place where its claim is called proved.

    It takes a finding for each statement at each radius, each with a bound that was checked, a witness at each radius,
    of all witnesses that are shown a value that was checked, and no reason against any of them.
    """
    points = [point for point in single.question.points if point.claim is not None]
    for one in found:
        complete = one.bound is not None and (one.answer.witness is None or one.value is not None)
        said = one.reasons if one.reasons or complete else ["nothing was proved"]
        reasons = reasons + [where(single, one) + reason for reason in said]
    expected = [(number, point) for number in range(len(single.question.statements)) for point in points]
    whole = len(found) == len(expected) > 0
    whole = whole and all(
        (one.number, id(one.point)) == (n, id(p)) for one, (n, p) in zip(found, expected, strict=True)
    )
    if not whole:
        reasons.append("not every statement was checked at every radius")
    if any(all(answer.witness is None for answer in point.answers) for point in points):
        reasons.append("a radius has no witness: there may be no distribution in question")
    made, worst = made_of(single) or [], min if is_ratio(single) else max  # the weakest counts, of parts and of a curve
    needed = [one for one in found if one.number in made]
    bounds = [one.bound for one in needed if one.bound is not None]
    values = [one.value for one in needed if one.value is not None]
    return Answered(
        not reasons,
        tuple(dict.fromkeys(reasons)),
        worst(bounds) if whole and bounds and all(one.bound is not None for one in found) else None,
        worst(values, default=None),
        checks(single, found),
    )


def _check_statement(single: Single, number: int) -> list[Finding]:
    """Check one statement at all radii: one surrogate serves them all, and the laws of the cells are made once."""
    question, population = single.question, single.population
    asked = question.statements[number]
    found = [Finding(number, point) for point in question.points if point.claim is not None]
    surrogate: CheckedSurrogate | None = None
    shared = Finding(number, found[0].point)
    with shared:
        surrogate = checked_surrogate(population, question, asked)
    laws: dict[float, Statement] = {}

    def posed(rho: float, factor: float) -> Statement:
        """Return the statement at a radius, or of what takes P's place."""
        affinity = None if surrogate is None else surrogate.least_affinity(rho)
        if factor not in laws:
            known = population if surrogate is None else surrogate.population
            laws.clear()
            laws[factor] = Statement(known, question, asked.objective, rho, affinity, factor)
        return laws[factor].at(rho, affinity)

    for one in found:
        one.reasons, one.sampled = [*shared.reasons], surrogate is not None
        if not shared.reasons:
            _check_answer(one, posed, surrogate, asked.objective is not None and asked.objective.ratio)
    return found


def _check_answer(
    found: Finding, posed: Callable[[float, float], Statement], surrogate: CheckedSurrogate | None, ratio: bool
) -> None:
    """Check the proof and the witness of one statement at one radius, and that they do not contradict each other.

    Of two groups a ratio of at least t is proved if the largest ``t mean_a - mean_b`` is not positive.
    """
    answer, rho = found.answer, found.point.rho
    with found:
        bound = _proved_bound(posed(rho, answer.bound if ratio else 1.0), answer)
        if surrogate is not None and surrogate.rejects is not None:  # the rows' own worst case proves nothing of P's
            surrogate.confirm(rho, answer.bound)
            bound = answer.bound
        found.bound = bound
    if answer.witness is None or answer.attained is None:
        return
    with found:
        statement = posed(rho, 1.0)
        found.value = witness_value(statement, answer.witness, answer.attained)
    with found:
        way = -1 if ratio else 1
        word, least = "above" if ratio else "below", f"the attained {answer.attained!r}"
        require(way * answer.bound >= way * answer.attained, f"the claimed bound {answer.bound!r} is {word} {least}")
        if found.bound is not None and found.value is not None and not ratio:
            # The witness is one of those that the proof speaks of: this cannot fail unless one of the two is wrong.
            require(
                arb(found.value) <= arb(found.bound) + arb(LEEWAY) * statement.scale,
                f"the proof gives {found.bound!r}, less than the witness attains, {found.value!r}: the set of "
                "distributions is empty, or nearly so, and nothing can be concluded",
            )


def _proved_bound(statement: Statement, answer: Answer) -> float:
    """Return what a proof proves, which is no more than is claimed; refuse it if it misses the claim.

    Of form T with an objective, and of ratios, the claim is part of what is bounded, so that it is all that is proved.
    """
    found = excesses(statement, answer.proof, answer.bound)
    require(bool(found), "the proof has no pieces: it proves nothing")
    if not statement.ratio:
        found = [excess.min(statement.top - arb(answer.bound)) for excess in found]  # no value exceeds the largest one
    worst = max(range(len(found)), key=lambda n: float(found[n].upper()))
    missing = f"not prove the claimed bound: {float(found[worst].upper()):.3g} is missing"
    what = "the multipliers do" if len(found) == 1 else f"leaf {worst} does"
    require(all(excess <= 0 for excess in found), f"{what} {missing}")
    tilted = any(isinstance(leaf, Tilted) for leaf in answer.proof.leaves)
    if statement.ratio or (statement.objective is not None and tilted):
        return answer.bound
    return rounded_up(arb(answer.bound) + largest(found))
