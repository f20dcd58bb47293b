"""What a report has to say: a document, read, checked, and seen from all sides. Nothing here is written for the eye."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.cautions import Caution, data_cautions, result_cautions
from fairbound.certificate.certificate import Certificate, keeps, read_questions
from fairbound.certificate.continuous import bound_line, bound_steps
from fairbound.certificate.curve import CertificateCurve, curve_of
from fairbound.certificate.evidence import Evidence
from fairbound.data.population import Population, without_variance
from fairbound.errors import InputError, argument
from fairbound.problem.divergences import find_divergence
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.nearest import nearest_in, nearest_shares
from fairbound.solve.nearest_product import nearest_product
from fairbound.solve.problem import problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.signed_values import objective_problem
from fairbound.verify.reading import read_document
from fairbound.verify.verdict import Verification, verify
from fairbound.wording.digits import radius_down

#: A stated distance may differ from ours by this much.
DISTANCE_ACCURACY = 1e-6


@dataclass(frozen=True)
class Findings:
    """A question of a document, and what is known of its answers.

    Attributes
    ----------
    document
        The text that was checked, to the byte.
    number
        The number of the question.
    curve
        Whether it was asked at several radii.
    certificates
        Its certificates in the order of their radii.
    infeasible
        Radii that the document calls infeasible, sorted.
    distance
        Distance to the nearest distribution in question, computed anew from the statistics; of a sample, the
        smallest radius at which something remains to certify.
    threshold
        What its bounds have to keep; None for nothing.
    verification
        What the checker says of the document.
    doubts
        Sentences about what the document states, the checker does not check, and we find otherwise.
    """

    document: bytes
    number: int
    curve: bool
    certificates: tuple[Certificate, ...]
    infeasible: tuple[float, ...]
    distance: float
    threshold: float | None
    verification: Verification
    doubts: tuple[str, ...]

    @cached_property
    def proved_curve(self) -> ProvedCurve:
        """What is proved at every radius, of a document that is proved."""
        return ProvedCurve(self.document, self.verification, number=self.number)

    @cached_property
    def bound_line(self) -> tuple[Floats, Floats]:
        """What is proved at every radius or, if the document is not, the steps of what it claims."""
        rho, bound = (np.array([getattr(c, key) for c in self.certificates]) for key in ("rho", "bound"))
        if not self.verification.valid:
            return bound_steps(rho, bound, self.distance, lower=self.question.lower)
        return bound_line(self.proved_curve, rho, self.distance)

    @property
    def population(self) -> Population:
        """What was known of the data."""
        return self.certificates[0].population

    @property
    def sampled(self) -> bool:
        """Whether the data are a sample: the statement then holds with a confidence."""
        return self.question.surrogate is not None

    @property
    def question(self) -> Certificate:
        """A certificate to read the question from: all of them answer the same one."""
        return self.certificates[0]

    @property
    def worst(self) -> Certificate:
        """The certificate with the worst bound."""
        return (min if self.question.lower else max)(self.certificates, key=lambda c: c.bound)

    @property
    def passed(self) -> bool:
        """Whether the bounds keep the threshold: computed from them, whatever the document says."""
        return self.threshold is None or keeps(self.certificates, self.threshold)


@dataclass(frozen=True)
class Examined:
    """A document that was read and checked.

    Attributes
    ----------
    document
        The text, to the byte.
    questions
        What is known of each of its questions.
    confidence
        The probability with which all its bounds hold together; None if the rows are all there is.
    verification
        What the checker says.
    """

    document: bytes
    questions: tuple[Findings, ...]
    confidence: float | None
    verification: Verification

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the document states and we find otherwise."""
        return tuple(dict.fromkeys(doubt for one in self.questions for doubt in one.doubts))

    @property
    def cautions(self) -> list[Caution]:
        """What a reader should know before relying on the bounds."""
        found = data_cautions(self.population)
        for one in self.questions:
            of = f"{one.question.said.axis}: " if len(self.questions) > 1 else ""
            found += [caution.about(of) for caution in result_cautions(one.certificates)]
        return found

    @property
    def population(self) -> Population:
        """What was known of the data, with what the first question is about."""
        return self.questions[0].population


def examine(source: object) -> Examined:
    """Read and check a certificate, a curve, answers to several questions, or a JSON document of any of them."""
    if isinstance(source, Certificate | CertificateCurve | Evidence):
        source = source.to_json()
    if not isinstance(source, str | bytes):
        message = (
            f"{argument('source')} must be a certificate, a curve, answers to several questions or a document as "
            f"to_json() writes it, not {type(source).__name__}"
        )
        raise InputError(message)
    text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    document = read_document(text)
    verification = verify(text)
    thresholds = {gate.question: gate.threshold for gate in document.gates}
    found = [
        _examined(text, number, curve_of(question, certificates), thresholds.get(number), verification)
        for number, (question, certificates) in enumerate(
            zip(document.questions, read_questions(document), strict=True)
        )
    ]
    return Examined(text, tuple(found), document.confidence, verification)


def _examined(
    text: bytes, number: int, whole: CertificateCurve, threshold: float | None, verification: Verification
) -> Findings:
    """Look at one question from all sides."""
    certificates = tuple(sorted(whole, key=lambda c: c.rho))
    infeasible = tuple(sorted(float(rho) for rho in whole.rho[~whole.feasible]))
    distance = least_radius(certificates[0])
    doubts = [
        f"The document calls rho = {radius_down(rho)} infeasible, but there is something to certify from "
        f"{distance:.6f} on: this radius can be certified, and the document does not do it."
        for rho in infeasible
        if rho > distance + DISTANCE_ACCURACY
    ]
    if abs(whole.distance - distance) > DISTANCE_ACCURACY:  # not if it is not told
        doubts.append(
            f"The document states {whole.distance:.6f} as the smallest distance at which there is something to "
            f"certify; from its own statistics it is {distance:.6f}, the number shown on this page."
        )
    curve = not np.isnan(whole.distance) or len(whole) > 1
    return Findings(text, number, curve, certificates, infeasible, distance, threshold, verification, tuple(doubts))


def least_radius(c: Certificate) -> float:
    """Return the smallest radius at which there is something to certify."""
    if c.divergence != "hellinger" and not c.fair:
        return 0.0
    mass = (c.population if c.surrogate is None else c.surrogate.population).mass
    groups = MarginalSet(mass.shape[0], c.group_skew, c.group_limits)
    labels = MarginalSet(mass.shape[1], c.label_skew, c.label_limits)
    if c.divergence != "hellinger":
        return nearest_product(find_divergence(c.divergence), mass, groups, labels).distance
    if c.condition.equal:
        near = nearest_shares(mass, groups, labels).distance
    else:
        rates = BaseRates(groups.size, labels, c.condition.largest_difference)
        near = nearest_in(mass, groups, rates).distance
    return near if c.surrogate is None else c.surrogate.least_radius(near)


def worst_losses(certificates: tuple[Certificate, ...]) -> list[Floats] | None:
    """Return the mean loss of each cell in the worst cases; None if the document's statistics do not tell.

    Worst cases of a sample are made of its stand-in, whose losses are upper limits (lower ones where they are
    subtracted).
    """
    first = certificates[0]
    known = first.population if first.surrogate is None else first.surrogate.population
    if find_divergence(first.divergence).only_means:
        known = without_variance(known)
    try:
        plain = problem_of(known, first.shift, first.support, first.empty_cells, first.group_skew, first.label_skew)
    except InputError:
        return None
    found = []
    for c in certificates:
        atoms, most = plain.lower.loss, plain.ceiling
        if c.objective is not None:  # losses that are subtracted are least in the worst case, not largest
            signed = objective_problem(known, c.objective, plain, c.shift, c.support)
            less = c.objective.sign(most.shape) < 0
            atoms, most = np.where(less[..., None], -signed.lower.loss, atoms), np.where(less, -signed.ceiling, most)
        width = min(c.witness.reweighting.shape[2], atoms.shape[2])
        inside, loss = c.witness.reweighting[..., :width], atoms[..., :width]
        total = inside.sum(axis=2) + c.witness.unseen
        weighed = (inside * loss).sum(axis=2) + c.witness.unseen * most
        found.append(weighed / np.where(total > 0, total, 1.0))
    return found
