"""Several questions about one population, answered together: one document, and a line for each threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.cautions import Caution, data_cautions, result_cautions
from fairbound.certificate.certificate import Certificate, keeps, read_questions, write_document
from fairbound.certificate.certify import STEPS, certify_curve
from fairbound.certificate.curve import CertificateCurve, curve_of
from fairbound.certificate.document import to_json
from fairbound.certificate.planning import MOST_ENLARGED, Asking, rows_to_keep
from fairbound.certificate.statements import fewer_bins
from fairbound.data.cells import number
from fairbound.data.native_frame import native_frame
from fairbound.data.population import Population
from fairbound.errors import InfeasibleError, InputError, argument, either, given, listed, suggestion
from fairbound.problem.asked import NAMES, Asked, asks
from fairbound.problem.metrics import METRICS
from fairbound.sampling.region import Asymptotic, find_region, read_confidence
from fairbound.verify.reading import read_document
from fairbound.verify.strict import LARGEST_NUMBER
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.names import name
from fairbound.wording.notebook import html_details, html_paragraph, html_table

#: What a question of several may say besides the keywords of :func:`certify`; and what all of them share.
OWN, SHARED = ("rhos", "threshold"), ("confidence", "region")


class Outcome(Enum):
    """How a gate ends."""

    PASSED = "passed"
    FAILED = "failed"
    UNSETTLED = "not enough rows to tell"


@dataclass(frozen=True)
class Gate:
    """A threshold, and whether the bounds of a question keep it.

    Attributes
    ----------
    curve
        The bounds.
    threshold
        What none of them may exceed or, of a ratio, fall below.
    asking
        The question, to put it again as if the rows were all there is; None of a gate that was read from a document.
    """

    curve: CertificateCurve
    threshold: float
    asking: Asking | None = field(default=None, repr=False)

    @property
    def metric(self) -> str:
        """The name of what is bounded."""
        return next(iter(self.curve)).metric

    @property
    def passed(self) -> bool:
        """Whether every bound keeps the threshold."""
        return keeps(self.curve.certificates, self.threshold)

    @property
    def worst(self) -> Certificate:
        """The certificate whose bound is worst."""
        return _worst(list(self.curve))

    @cached_property
    def known(self) -> CertificateCurve | None:
        """The bounds if the rows were all there is, where a gate with a confidence fails; None elsewhere."""
        if self.passed or self.asking is None or self.asking.confidence is None:
            return None
        return self.asking.answered(None)

    @property
    def outcome(self) -> Outcome:
        """How it ends; a gate with a confidence that fails only for want of rows is not settled.

        Then every bound that breaks the threshold would keep it if the rows were all there is. A document says of such
        a gate that it is not passed, and a gate that was read from one has failed.
        """
        if self.passed:
            return Outcome.PASSED
        if self.known is None:
            return Outcome.FAILED
        pairs = zip(self.curve.certificates, self.known.certificates, strict=True)
        broken = [known for c, known in pairs if not keeps([c], self.threshold)]
        settled = not all(known is not None and keeps([known], self.threshold) for known in broken)
        return Outcome.FAILED if settled else Outcome.UNSETTLED

    @cached_property
    def rows_needed(self) -> int | None:
        """About how many rows would settle it, if they looked like these; None if it is settled, or they are too many.

        Found to within five percent by asking again with more rows; a plan, not a promise.
        """
        if self.outcome is not Outcome.UNSETTLED or self.asking is None or self.known is None:
            return None
        return rows_to_keep(self.asking, self.threshold, self.worst, _worst(list(self.known)))

    @property
    def explained(self) -> str:
        """How it ended and, if it is not settled, what the rows themselves say and how many would do."""
        if self.outcome is not Outcome.UNSETTLED or self.known is None:
            return self.sentence
        worst, known = self.worst, _worst(list(self.known))
        rows = self.rows_needed
        many = f"more than {MOST_ENLARGED:,}" if rows is None else f"about {rows:,}"
        sure, plain = (one.texts(Digits(6))[0] for one in (worst, known))
        return (
            f"{Outcome.UNSETTLED.value}: {worst.said.words} has to be {worst.side} {self.threshold:g}, and allowing "
            f"for sampling error it is {worst.side} {sure} (rho = {radius_down(worst.rho)}); if the rows were all "
            f"there is, it would be {known.side} {plain}; {many} rows that look like these would settle it"
        )

    @property
    def sentence(self) -> str:
        """Whether the threshold is kept, as documents say it."""
        worst = self.worst
        kept, side = ("passed", "at least") if worst.lower else ("passed", "at most")
        kept = kept if self.passed else "failed"
        bound = worst.texts(Digits(6))[0]
        return (
            f"{kept}: {worst.said.words} has to be {side} {self.threshold:g}, and is {side} {bound} "
            f"(rho = {radius_down(worst.rho)})"
        )


def _worst(certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate whose bound is worst, of equal ones that of the largest radius, which says most."""
    sign = -1.0 if certificates[0].lower else 1.0
    return max(certificates, key=lambda c: (sign * c.bound, c.rho))


@dataclass(frozen=True)
class Evidence:
    """The answers to several questions about one population.

    Attributes
    ----------
    curves
        Of each question the certificates at its radii.
    thresholds
        Of each question what its bounds have to keep; None for nothing.
    confidence
        The probability, over the draw of the rows, with which all bounds hold together; None if the rows are all there
        is.
    asking
        The questions, to put them again as if the rows were all there is; none if they were read from a document.
    """

    curves: tuple[CertificateCurve, ...]
    thresholds: tuple[float | None, ...]
    confidence: float | None = None
    asking: tuple[Asking, ...] = field(default=(), repr=False)

    @property
    def population(self) -> Population:
        """What was known of the data, with the measure of the first question."""
        return next(iter(self.curves[0])).population

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The thresholds, and whether they are kept."""
        asking = self.asking or (None,) * len(self.curves)
        found = zip(self.curves, self.thresholds, asking, strict=True)
        return tuple(Gate(curve, threshold, asked) for curve, threshold, asked in found if threshold is not None)

    @property
    def cautions(self) -> list[Caution]:
        """What a reader should know before relying on the bounds."""
        several = len(self.curves) > 1
        found = data_cautions(self.population)
        for curve in self.curves:
            certificates = list(curve)
            of = f"{certificates[0].metric}: " if several else ""
            found += [caution.about(of) for caution in result_cautions(certificates)]
        return found

    @property
    def passed(self) -> bool:
        """Whether all thresholds are kept."""
        return all(gate.passed for gate in self.gates)

    @property
    def outcome(self) -> Outcome:
        """How it ends; failed if a gate failed, else not settled if one is not."""
        found = {gate.outcome for gate in self.gates}
        return next((one for one in (Outcome.FAILED, Outcome.UNSETTLED) if one in found), Outcome.PASSED)

    def to_json(self) -> str:
        """Write all of it, with all proofs, as one JSON document that :func:`fairbound.verify` can check."""
        told = [None if len(curve) == 1 or math.isnan(curve.distance) else curve.distance for curve in self.curves]
        results = [(c.certificates, c.rho.tolist(), near) for c, near in zip(self.curves, told, strict=True)]
        return to_json(write_document(results, self.thresholds, self.confidence))

    @classmethod
    def from_json(cls, text: str | bytes) -> Evidence:
        """Read a document, of one question or several; raises ``ValueError`` if it is malformed.

        Reading does not check the proofs. Whether gates are passed is computed anew.
        """
        document = read_document(text)
        thresholds: list[float | None] = [None] * len(document.questions)
        for gate in document.gates:
            thresholds[gate.question] = gate.threshold
        curves = [
            curve_of(question, certificates)
            for question, certificates in zip(document.questions, read_questions(document), strict=True)
        ]
        return cls(tuple(curves), tuple(thresholds), document.confidence)

    def __getitem__(self, which: str | int) -> CertificateCurve:
        """Return the answer to a question, by its metric or its number."""
        if isinstance(which, int):
            return self.curves[which]
        found = [curve for curve in self.curves if next(iter(curve)).metric == which]
        if len(found) != 1:
            named = listed([repr(next(iter(curve)).metric) for curve in self.curves])
            word = "several questions are" if found else "no question is"
            message = f"{word} about {which!r}; the questions are {named}, and numbers from 0 choose among them too"
            raise KeyError(message)
        return found[0]

    def __iter__(self) -> Iterator[CertificateCurve]:
        """Iterate over the answers."""
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the table of all bounds, as text."""
        rows = []
        for curve, threshold in zip(self.curves, self.thresholds, strict=True):
            for c in curve:
                kept = "" if threshold is None else "kept" if keeps([c], threshold) else "broken"
                limit = "" if threshold is None else f"{c.side} {threshold:g}"
                rows.append([c.metric, radius_down(c.rho), c.side, *c.texts(Digits(6)), limit, kept])
        return ["metric", "rho", "", "bound", "attained", "threshold", ""], rows

    def to_frame(self, backend: str | None = None) -> Any:
        """Return all bounds as a data frame, with the thresholds that they have to keep and whether each does.

        ``backend`` is "pandas", "polars" or "pyarrow"; None takes the one that you work with. Where there is no
        threshold, ``threshold`` and ``kept`` are missing.
        """
        rows = [
            {
                "metric": c.metric,
                "group": None if c.group is None else name(c.group),
                "pos_label": None if c.population.pos_label is None else name(c.population.pos_label),
                "rho": c.rho,
                "bound": c.bound,
                "attained": c.attained,
                "gap": c.gap,
                "status": c.status.name.lower(),
                "threshold": threshold,
                "kept": None if threshold is None else keeps([c], threshold),
            }
            for curve, threshold in zip(self.curves, self.thresholds, strict=True)
            for c in curve
        ]
        return native_frame({key: [row[key] for row in rows] for key in rows[0]}, backend)

    def __repr__(self) -> str:
        asked = ", ".join(next(iter(curve)).metric for curve in self.curves)
        passed = sum(gate.passed for gate in self.gates)
        return f"Evidence({asked}; {passed} of {len(self.gates)} gates passed)"

    def _repr_html_(self) -> str:
        """Show all bounds in a notebook, and a line for each gate."""
        gates = [html_paragraph(gate.sentence, strong=True) for gate in self.gates]
        careful = html_details("Be careful", [str(caution) for caution in self.cautions]) if self.cautions else ""
        return "".join([*gates, html_table(*self.table()), careful])


@asks(Asked)
def certify_all(
    population: Population,
    questions: Sequence[str | Mapping[str, Any]] | Mapping[str, float | None],
    rhos: Sequence[float] | Floats | None = None,
    **asked: Unpack[Asked],
) -> Evidence:
    """Answer several questions about one population, and hold the bounds to thresholds.

    Parameters
    ----------
    population
        What is known of the data.
    questions
        Metrics, as their names; or names with thresholds that no bound may exceed (of a ratio, fall below; None for
        none); or a mapping for each with ``metric`` and, where they differ from those of all, ``threshold``, ``rhos``
        and any keyword of :func:`certify`.
    rhos
        The radii of all questions that have none of their own; None for some from the nearest distance on.
    **asked
        Keywords of :func:`certify`, for all questions. A ``confidence`` holds for all of them together: each question
        has an equal part of the error probability. A ``pos_label`` is for those that look at what is predicted.

    Examples
    --------
    >>> from fairbound import Population, certify_all, verify
    >>> population = Population.from_predictions(
    ...     [0, 1] * 50, [0, 1, 1, 1] * 25, sensitive_features=["a"] * 60 + ["b"] * 40
    ... )
    >>> evidence = certify_all(population, {"loss": 0.5, "demographic_parity_ratio": 0.95}, [0.05], shift="sensitive")
    >>> evidence
    Evidence(loss, demographic_parity_ratio; 2 of 2 gates passed)
    >>> [round(bound, 4) for bound in evidence["loss"].bound.tolist()]
    [0.2852]
    >>> verify(evidence.to_json()).passed
    True
    """
    listing = _listed(questions)
    confidence = asked.get("confidence")
    divided: dict[str, Any] = dict(asked)
    if confidence is not None:
        if isinstance(find_region(asked.get("region", "auto")), Asymptotic):
            message = (
                f"{given('region', 'asymptotic')} proves nothing, and what is held to thresholds or told to others has "
                f"to be proved: use another {argument('region')}" + either(", or certify and certify_curve")
            )
            raise InputError(message)
        confidence = read_confidence(confidence)
        divided["confidence"] = math.nextafter(1.0 - (1.0 - confidence) / len(listing), 1.0)
        divided["confidence"] = confidence if len(listing) == 1 else divided["confidence"]
    else:  # all questions are about the same bins, as many as can be checked for all radii
        radii = sum(len(STEPS) if (own := one.get("rhos", rhos)) is None else np.size(own) for one in listing)
        population = fewer_bins(population, radii)
    curves, thresholds, asking = [], [], []
    for one in listing:
        about = {key: value for key, value in one.items() if key not in OWN}
        metric = one.get("metric", "loss")
        shared = divided
        if not (metric in METRICS and METRICS[metric].selection):  # the others look at no prediction
            shared = {key: value for key, value in divided.items() if key != "pos_label"}
        question = {**shared, **about}
        _check_keys(one)
        curve = certify_curve(population, one.get("rhos", rhos), **question)
        if not any(curve.feasible):
            message = (
                f"nothing to certify of {metric}: the nearest distribution in question is at {curve.distance!r}; use a "
                f"larger {argument('rho')}"
            )
            raise InfeasibleError(message, curve.distance)
        threshold = one.get("threshold")
        if threshold is not None:
            threshold = _threshold(threshold, next(iter(curve)))
        curves.append(curve)
        thresholds.append(threshold)
        asking.append(Asking(population, tuple(curve.rho.tolist()), question))
    return Evidence(tuple(curves), tuple(thresholds), confidence, tuple(asking))


def _check_keys(question: Mapping[str, Any]) -> None:
    """Refuse what a question cannot say of itself."""
    known = ("metric", *OWN, *(name for name in NAMES if name not in (*SHARED, "metric")))
    for key in question:
        if key not in known:
            message = f"{given('questions', dict(question))}: {key!r} is not known; {suggestion(key, known)}"
            raise InputError(message)


def _threshold(given_: object, certificate: Certificate) -> float:
    """Read what bounds have to keep: a value that there can be, or the gate would say nothing."""
    metric, most = certificate.metric, 1.0 if certificate.lower else certificate.population.ceiling
    meaning = f"it is what the bound of {metric} has to keep"
    threshold = number("threshold", given_, -LARGEST_NUMBER, LARGEST_NUMBER, meaning)
    if not 0.0 <= threshold <= most:
        cure = f", or {threshold / 100:g} for {threshold:g} %" if most == 1.0 and 1.0 < threshold <= 100.0 else ""
        message = (
            f"{given('threshold', threshold, 'g')} says nothing: {certificate.said.words} lies between 0 and {most:g} "
            f"whatever the model does; give a value between them{cure}"
        )
        raise InputError(message)
    return threshold


def _listed(questions: object) -> list[dict[str, Any]]:
    """Return a mapping for each question."""
    if isinstance(questions, str):
        questions = [questions]
    if isinstance(questions, Mapping):
        questions = [{"metric": metric, "threshold": threshold} for metric, threshold in questions.items()]
    if not isinstance(questions, Sequence) or not questions:
        message = f"{given('questions', questions)} must name a metric or more, such as ['loss', 'selection_rate']"
        raise InputError(message)
    found = [{"metric": one} if isinstance(one, str) else one for one in questions]
    for one in found:
        if not isinstance(one, Mapping):
            message = (
                f"{given('questions', one)} must be the name of a metric, or a mapping with metric, threshold, rhos"
            )
            raise InputError(message)
        shared = [name for name in SHARED if name in one]
        if shared:
            message = f"{given('questions', dict(one))}: {shared[0]} is the same for all questions; pass it beside them"
            raise InputError(message)
    return [dict(one) for one in found]


def read_result(text: str | bytes) -> Certificate | CertificateCurve | Evidence:
    """Read a certificate, a curve, or the answers to several questions, whichever a document holds."""
    document = read_document(text)
    if len(document.questions) > 1:
        return Evidence.from_json(text)
    single = document.questions[0].distance is None
    return Certificate.from_json(text) if single else CertificateCurve.from_json(text)
