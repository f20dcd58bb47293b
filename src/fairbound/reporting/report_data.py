"""What a report has to say: a document, read, checked, and seen from all sides. Nothing here is written for the eye."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.cautions import Caution, cautions_of
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.continuous import bound_line, bound_steps
from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.evidence import Evidence, Gate
from fairbound.data.population import Population, without_variance
from fairbound.data.provenance import Provenance
from fairbound.errors import InputError, argument
from fairbound.problem.divergences import DIVERGENCES
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.nearest import nearest_shares
from fairbound.solve.nearest_product import nearest_product
from fairbound.solve.problem import problem_of
from fairbound.solve.rates_nearest import nearest_rates
from fairbound.solve.shares import MarginalSet
from fairbound.solve.signed_values import objective_problem
from fairbound.verify.verdict import Verification, verify
from fairbound.wording.digits import radius_down

#: A stated distance may differ from ours by this much.
DISTANCE_ACCURACY = 1e-6


@dataclass(frozen=True)
class Findings:
    """A question of a document, and what is known of it.

    Attributes
    ----------
    document
        The text that was checked, to the byte.
    number
        The number of the question.
    evidence
        All questions of the document, with gates and cautions.
    curve
        Whether it holds several radii.
    certificates
        Its certificates in the order of their radii.
    infeasible
        Radii that the document calls infeasible, sorted.
    distance
        Distance to the nearest distribution in question, computed anew from the statistics; of a sample, the
        smallest radius at which something remains to certify.
    verification
        What the checker says of the whole document.
    doubts
        Sentences about what the document states, the checker does not check, and we find otherwise.
    """

    document: bytes
    number: int
    evidence: Evidence
    curve: bool
    certificates: tuple[Certificate, ...]
    infeasible: tuple[float, ...]
    distance: float
    verification: Verification
    doubts: tuple[str, ...]
    others: tuple[Findings, ...] = ()

    @property
    def every(self) -> tuple[Findings, ...]:
        """The questions of the document."""
        return (self, *self.others)

    @property
    def gate(self) -> Gate | None:
        """The threshold of the question, if there is one; of a document that is not proved it is not passed."""
        threshold = self.evidence.thresholds[self.number]
        return None if threshold is None else Gate(self.evidence.curves[self.number], threshold)

    @property
    def cautions(self) -> list[Caution]:
        """What is to be said of the data, and of this question."""
        return cautions_of(self.population, self.certificates)

    @property
    def provenance(self) -> Provenance:
        """What the document says of data and model."""
        return self.population.provenance

    @cached_property
    def bound_line(self) -> tuple[Floats, Floats]:
        """What is proved at every radius or, if the document is not, the steps of what it claims."""
        rho, bound = (np.array([getattr(c, key) for c in self.certificates]) for key in ("rho", "bound"))
        if not self.verification.valid:
            return bound_steps(rho, bound, self.distance, lower=self.question.lower)
        return bound_line(ProvedCurve(self.document, self.verification, number=self.number), rho, self.distance)

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


def examine(source: object) -> Findings:
    """Read and check a certificate, a curve, evidence, or a JSON document of these; the first question leads."""
    if isinstance(source, Certificate | CertificateCurve | Evidence):
        source = source.to_json()
    if not isinstance(source, str | bytes):
        message = (
            f"{argument('source')} must be a certificate, a curve, evidence or a document as to_json() writes it, not "
            f"{type(source).__name__}"
        )
        raise InputError(message)
    document = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    evidence, verification = Evidence.from_json(document), verify(document)
    first, *others = (_findings(document, evidence, verification, number) for number in range(len(evidence)))
    return replace(first, others=tuple(others))


def _findings(document: bytes, evidence: Evidence, verification: Verification, number: int) -> Findings:
    """Return what is known of one question of a document."""
    whole = evidence.curves[number]
    curve = not np.isnan(whole.distance)
    certificates = tuple(sorted(whole, key=lambda c: c.rho))
    infeasible = tuple(sorted(float(rho) for rho in whole.rho[~whole.feasible]))
    distance = least_radius(certificates[0])
    doubts = [
        f"The document calls rho = {radius_down(rho)} infeasible, but there is something to certify from "
        f"{distance:.6f} on: this radius can be certified, and the document does not do it."
        for rho in infeasible
        if rho > distance + DISTANCE_ACCURACY
    ]
    if curve and abs(whole.distance - distance) > DISTANCE_ACCURACY:
        doubts.append(
            f"The document states {whole.distance:.6f} as the smallest distance at which there is something to "
            f"certify; from its own statistics it is {distance:.6f}, the number shown on this page."
        )
    return Findings(document, number, evidence, curve, certificates, infeasible, distance, verification, tuple(doubts))


def least_radius(c: Certificate) -> float:
    """Return the smallest radius at which there is something to certify."""
    if c.divergence != "hellinger" and not c.fair:
        return 0.0
    mass = (c.population if c.surrogate is None else c.surrogate.population).mass
    groups = MarginalSet(mass.shape[0], c.group_skew, c.group_limits)
    labels = MarginalSet(mass.shape[1], c.label_skew, c.label_limits)
    if c.divergence != "hellinger":
        return nearest_product(DIVERGENCES[c.divergence], mass, groups, labels).distance
    if c.condition.equal:
        near = nearest_shares(mass, groups, labels).distance
    else:
        rates = BaseRates(groups.size, labels, c.condition.largest_difference)
        near = nearest_rates(mass, groups, rates).distance
    return near if c.surrogate is None else c.surrogate.least_radius(near)


def worst_losses(certificates: tuple[Certificate, ...]) -> list[Floats] | None:
    """Return the mean loss of each cell in the worst cases; None if the document's statistics do not tell.

    Worst cases of a sample are made of its stand-in, whose losses are upper limits (lower ones where they are
    subtracted).
    """
    first = certificates[0]
    known = first.population if first.surrogate is None else first.surrogate.population
    if first.divergence == "total_variation":
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
