"""What a report has to say: a document, read, checked, and seen from all sides. Nothing here is written for the eye."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.continuous import bound_line, bound_steps
from fairbound.certificate.curve import CertificateCurve, read_result
from fairbound.data.population import Population, without_variance
from fairbound.errors import InputError, argument
from fairbound.problem.divergences import DIVERGENCES
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.nearest import nearest_in, nearest_shares
from fairbound.solve.nearest_product import nearest_product
from fairbound.solve.problem import problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.signed_values import objective_problem
from fairbound.verify.verdict import Verification, verify
from fairbound.wording.digits import radius_down

#: Cells with fewer rows are named: their share and their mean loss rest on little.
FEW_ROWS = 30

#: A stated distance may differ from ours by this much.
DISTANCE_ACCURACY = 1e-6


@dataclass(frozen=True)
class Findings:
    """A document and what is known of it.

    Attributes
    ----------
    document
        The text that was checked, to the byte.
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
        What the checker says.
    doubts
        Sentences about what the document states, the checker does not check, and we find otherwise.
    """

    document: bytes
    curve: bool
    certificates: tuple[Certificate, ...]
    infeasible: tuple[float, ...]
    distance: float
    verification: Verification
    doubts: tuple[str, ...]

    @cached_property
    def bound_line(self) -> tuple[Floats, Floats]:
        """What is proved at every radius or, if the document is not, the steps of what it claims."""
        rho, bound = (np.array([getattr(c, key) for c in self.certificates]) for key in ("rho", "bound"))
        if not self.verification.valid:
            return bound_steps(rho, bound, self.distance, lower=self.question.lower)
        return bound_line(ProvedCurve(self.document, self.verification), rho, self.distance)

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
    """Read and check a certificate, a curve, or a JSON document of either."""
    if isinstance(source, Certificate | CertificateCurve):
        source = source.to_json()
    if not isinstance(source, str | bytes):
        message = (
            f"{argument('source')} must be a certificate, a curve or a document as to_json() writes it, not "
            f"{type(source).__name__}"
        )
        raise InputError(message)
    document = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    whole = read_result(document)
    curve = isinstance(whole, CertificateCurve)
    if isinstance(whole, CertificateCurve):
        certificates = tuple(sorted(whole, key=lambda c: c.rho))
        infeasible = tuple(sorted(float(rho) for rho in whole.rho[~whole.feasible]))
    else:
        certificates, infeasible = (whole,), ()
    distance = least_radius(certificates[0])
    doubts = [
        f"The document calls rho = {radius_down(rho)} infeasible, but there is something to certify from "
        f"{distance:.6f} on: this radius can be certified, and the document does not do it."
        for rho in infeasible
        if rho > distance + DISTANCE_ACCURACY
    ]
    if isinstance(whole, CertificateCurve) and abs(whole.distance - distance) > DISTANCE_ACCURACY:
        doubts.append(
            f"The document states {whole.distance:.6f} as the smallest distance at which there is something to "
            f"certify; from its own statistics it is {distance:.6f}, the number shown on this page."
        )
    return Findings(document, curve, certificates, infeasible, distance, verify(document), tuple(doubts))


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
        near = nearest_in(mass, groups, rates).distance
    return near if c.surrogate is None else c.surrogate.least_radius(near)


def counts_rows(population: Population) -> bool:
    """Tell whether the weights of the cells are numbers of rows."""
    weight = population.weight
    whole = bool(np.all(weight == np.round(weight)))
    return population.rows is not None and whole and float(weight.sum()) == population.rows


def few_rows(population: Population) -> Booleans:
    """Return which cells have some rows, but few; none if rows were not counted."""
    if not counts_rows(population):
        return np.zeros(population.weight.shape, dtype=bool)
    return (population.weight > 0) & (population.weight < FEW_ROWS)


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
