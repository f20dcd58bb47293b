"""What a user gets: certificates."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairbound.certificate.assumptions import assumptions_of
from fairbound.certificate.document import (
    digest,
    read_limits,
    read_name,
    read_population,
    read_proof,
    read_sampling,
    read_witness,
    write_limits,
    write_name,
    write_population,
    write_proof,
    write_sampling,
    write_witness,
)
from fairbound.certificate.plot import draw_worst_case
from fairbound.data.population import Population
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import DIVERGENCES
from fairbound.problem.limits import Limits
from fairbound.problem.metrics import metric_wording, value_on_data
from fairbound.problem.objective import Objective
from fairbound.sampling.region import Surrogate
from fairbound.solve.proof import Proof
from fairbound.solve.witness import Witness
from fairbound.verify.reading import FORMAT, METRIC_FORMATS, VERSION, Whole, read_whole
from fairbound.version import __version__
from fairbound.wording.confidence import with_probability
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.notebook import html_details, html_paragraph, html_table
from fairbound.wording.overview import change_rows
from fairbound.wording.vocabulary import Wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Status(Enum):
    """How a certificate ended; the text names the cause and, where there is one, the cure."""

    TIGHT = "the bound is within the tolerance of a loss that is attained"
    TRIVIAL = (
        "the bound says nothing: the ball is so large that a group can be emptied, or its rows replaced; choose a "
        "smaller rho, or limit the shares with group_skew or min_group_mass"
    )
    LOOSE = (
        "the bound is valid but the gap is larger than the tolerance: the search used up its budget, or rho is so "
        "close to the nearest fair distribution that rounding limits the gap; raise budget, tol or rho"
    )


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the loss over every distribution in question in a ball around the data.

    In question are the distributions with equal base rates, unless base rates were allowed to differ.

    Attributes
    ----------
    bound
        No distribution in question has a larger expected loss. Rounded up.
    attained
        The expected loss of ``witness``, a distribution in question. Rounded down.
    rho
        Radius of the ball, measured by ``divergence``.
    shift
        "general" or "sensitive".
    group_skew, label_skew
        Limits on the differences between Q's group shares and between its label shares; None for no limit.
    support
        "any" or "observed".
    empty_cells
        "refuse" or "ceiling".
    tol
        The gap that was asked for.
    status
        Whether it was reached.
    witness
        The distribution that attains ``attained``.
    population
        What was known of the data.
    proof
        The multipliers that prove the bound by weak duality.
    confidence
        The probability, over the draw of the rows, with which the bound holds; None if the rows are all there is.
    region
        The confidence region's name.
    fair, base_rate_tolerance
        What was asked of Q's base rates: equal in all groups; or any two differ by at most the tolerance; or, if
        ``fair`` is False, nothing.
    surrogate
        What takes P's place if P is known through a sample: ``attained``, ``witness`` and ``proof`` refer to it.
    group_limits, label_limits
        Linear limits on Q's group shares and on its label shares; None for none.
    divergence
        How the distance from the data is measured: "hellinger", "total_variation", "kl" or "chi_squared".
    metric
        What is bounded: "loss", or another metric.
    group
        The group that was chosen for it, if any.
    objective, comparisons
        Of another metric: what bound and worst case refer to, and the certificates of all that the metric is the
        largest (or smallest) of, for example of all pairs of groups. The one with the worst bound leads:
        ``witness``, ``proof`` and ``surrogate`` are its own.
    """

    bound: float
    attained: float
    rho: float
    shift: str
    group_skew: float | None
    label_skew: float | None
    support: str
    empty_cells: str
    tol: float
    witness: Witness
    population: Population
    proof: Proof
    confidence: float | None = None
    region: str | None = None
    surrogate: Surrogate | None = None
    group_limits: Limits | None = None
    label_limits: Limits | None = None
    divergence: str = "hellinger"
    fair: bool = True
    base_rate_tolerance: float | None = None
    objective: Objective | None = None
    metric: str = "loss"
    group: Hashable | None = None
    comparisons: tuple[Certificate, ...] = ()

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on, worded from the fields above: a document has no such sentences."""
        return assumptions_of(self)

    @property
    def limited(self) -> bool:
        """Whether the shares of Q are limited."""
        limits = self.group_skew, self.label_skew, self.group_limits, self.label_limits
        return any(limit is not None for limit in limits)

    @property
    def condition(self) -> Condition:
        """What was asked of base rates, in words."""
        return Condition(self.fair, self.base_rate_tolerance)

    @property
    def distance_words(self) -> str:
        """What sentences call the distance that ``rho`` is measured in."""
        return DIVERGENCES[self.divergence].words

    @property
    def distributions(self) -> str:
        """What sentences call one of the distributions in question."""
        return f"distribution{self.condition.phrase}"

    @property
    def lower(self) -> bool:
        """Whether the metric is bounded from below, as ratios are: then ``bound <= worst case <= attained``."""
        return self.objective is not None and self.objective.ratio

    @property
    def said(self) -> Wording:
        """The words for what is bounded."""
        return metric_wording(self.population, self.metric, self.group)

    @property
    def side(self) -> str:
        """On which side of the bound the truth is, in words."""
        return "at least" if self.lower else "at most"

    @property
    def on_data(self) -> float:
        """What is bounded, on the data themselves."""
        if self.objective is None:
            return self.population.loss
        values = [value_on_data(self.population, c.objective) for c in self.comparisons or (self,) if c.objective]
        return min(values) if self.lower else max(values)

    def texts(self, digits: Digits) -> tuple[str, str]:
        """Return bound and attained value as texts, rounded to the safe side: a bound away from the truth."""
        if self.lower:
            return digits.down(self.bound), digits.up(self.attained)
        return digits.up(self.bound), digits.down(self.attained)

    @property
    def gap(self) -> float:
        """The worst case in the ball (around P, or around its stand-in) lies between bound and attained value."""
        return self.attained - self.bound if self.lower else self.bound - self.attained

    @property
    def trivial(self) -> bool:
        """Whether the bound is no better than what holds for any distribution at all."""
        if self.objective is None:
            return False
        return self.bound <= 0.0 if self.lower else self.bound >= self.population.ceiling

    @property
    def status(self) -> Status:
        """Whether the gap asked for was reached, and anything is said at all."""
        if self.gap > self.tol:  # also a trivial bound: a better one may be true, and the ball need not be large
            return Status.LOOSE
        return Status.TRIVIAL if self.trivial else Status.TIGHT

    def to_json(self) -> str:
        """Write the certificate, with its proof, as a JSON document that :func:`fairbound.verify` can check.

        Examples
        --------
        >>> from fairbound import Certificate, Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certificate = certify(population, 0.2)
        >>> Certificate.from_json(certificate.to_json())
        Certificate(bound=0.370205, attained=0.370205, rho=0.2, shift='general', status=TIGHT)
        """
        if self.comparisons:
            return metric_json(METRIC_FORMATS[0], [self], [self.rho], None)
        population = write_population(self.population)
        return json.dumps(
            {
                **header(FORMAT),
                "population": population,
                "sampling": self.sampling(),
                **self.parts(),
                "digest": digest(population),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read a certificate; raises ``ValueError`` if it is malformed. Reading does not check the proof."""
        whole = read_whole(text)
        documents = whole.parts[0]
        if len(documents) != 1:
            message = "the document is a curve of certificates; use CertificateCurve.from_json"
            raise ValueError(message)
        population = read_population(documents[0]["population"])
        return read_certificate(documents[0], population) if whole.metric is None else read_metric(whole, population)[0]

    def plot_worst_case(self, ax: Axes | None = None) -> Axes:
        """Draw how each cell's share changes from the data to the worst case, on ``ax`` or in a new figure.

        Needs matplotlib: ``pip install 'fairbound[plot]'``.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certify(population, 0.2).plot_worst_case().get_title(loc="left")
        'The worst case within rho = 0.2'
        """
        return draw_worst_case(self.population, self.witness.mass, self.rho, ax=ax)

    def parts(self) -> dict[str, Any]:
        """Return the document without what the points of a curve share: its head, the population and the sampling."""
        return {
            "question": {
                "shift": self.shift,
                "support": self.support,
                "empty_cells": self.empty_cells,
                "divergence": self.divergence,
                "rho": self.rho,
                "group_skew": self.group_skew,
                "label_skew": self.label_skew,
                "group_limits": write_limits(self.group_limits),
                "label_limits": write_limits(self.label_limits),
                "fair": self.fair,
                "base_rate_tolerance": self.base_rate_tolerance,
                "confidence": self.confidence,
                "tolerance": self.tol,
                "objective": None if self.objective is None else asdict(self.objective),
            },
            "claim": {"bound": self.bound, "attained": self.attained},
            "witness": write_witness(
                self.witness,
                self.population if self.surrogate is None else self.surrogate.population,
                products=self.condition.equal,
            ),
            "proof": write_proof(self.proof),
        }

    def sampling(self) -> dict[str, Any] | None:
        """Return what the document says of the sample."""
        return None if self.surrogate is None else write_sampling(self.surrogate, str(self.region))

    def __repr__(self) -> str:
        what = "" if self.metric == "loss" else f"metric={self.metric!r}, "
        sure = "" if self.confidence is None else f", confidence={self.confidence:g}"
        other = "" if self.divergence == "hellinger" else f", divergence={self.divergence!r}"
        return (
            f"Certificate({what}bound={self.bound:.6f}, attained={self.attained:.6f}, rho={self.rho:g}, "
            f"shift={self.shift!r}{other}{self.condition.argument}{sure}, status={self.status.name})"
        )

    def _repr_html_(self) -> str:
        """Show the certificate in a notebook: the claim, the worst case, and what it rests on."""
        digits = Digits(6)
        bound, attained = self.texts(digits)
        claim = f"The {self.said.subject} is {self.side} {bound}"
        every = f"in every {self.distributions} within {self.distance_words} {radius_down(self.rho)} of"
        if self.confidence is None:
            found = f"the worst case that was found has {attained}."
            where = f"{every} the data ({self.shift} shifting); {found}"
        else:
            where = (
                f"{with_probability(self.confidence, self.population.rows)}, {every} the distribution that they were "
                f"drawn from ({self.shift} shifting). A distribution in the larger ball that allows for sampling error "
                f"has {attained}; the worst case may be milder."
            )
        return "".join(
            [
                html_paragraph(claim, strong=True),
                html_paragraph(where),
                html_table(*change_rows(self.population, self.witness.mass)),
                html_details("What this rests on", self.assumptions),
            ]
        )


def combined(
    parts: Sequence[Certificate], metric: str, group: Hashable | None, confidence: float | None
) -> Certificate:
    """Return the certificate of a metric from those of its objectives; the worst of them leads."""
    worst = min if parts[0].lower else max
    first = worst(parts, key=lambda c: c.bound)
    return replace(
        first,
        attained=worst(c.attained for c in parts),
        confidence=confidence,
        metric=metric,
        group=group,
        comparisons=tuple(parts),
    )


def metric_json(
    name: str, certificates: Sequence[Certificate | None], rhos: Sequence[float], distance: float | None
) -> str:
    """Write certificates of a metric; None stands for an infeasible radius."""
    first = next(c for c in certificates if c is not None)
    population = write_population(first.population)
    points = [
        {"infeasible": float(rho)}
        if c is None
        else {
            "claim": {"bound": c.bound, "attained": c.attained},
            "statements": [one.parts() for one in c.comparisons],
        }
        for rho, c in zip(rhos, certificates, strict=True)
    ]
    whole = {
        **header(name),
        "population": population,
        "metric": {"name": first.metric, "group": None if first.group is None else write_name(first.group)},
        "confidence": first.confidence,
        "sampling": [one.sampling() for one in first.comparisons],
        "distance": distance,
        "points": points,
        "digest": digest(population),
    }
    return json.dumps(whole, allow_nan=False)


def read_metric(whole: Whole, population: Population) -> list[Certificate]:
    """Build the certificates of a metric, one for each feasible radius."""
    metric = whole.metric or {}
    group = None if metric["group"] is None else read_name(metric["group"])
    return [
        combined(
            [read_certificate(documents[number], population) for documents in whole.parts],
            metric["name"],
            group,
            whole.confidence,
        )
        for number in range(len(whole.claims))
    ]


def header(name: str) -> dict[str, str]:
    """Return the head of a document."""
    return {"format": name, "version": VERSION, "producer": f"fairbound {__version__}"}


def read_certificate(document: dict[str, Any], population: Population) -> Certificate:
    """Build a certificate from a well-formed document."""
    question, claim, sampling = document["question"], document["claim"], document["sampling"]
    return Certificate(
        bound=float(claim["bound"]),
        attained=float(claim["attained"]),
        rho=float(question["rho"]),
        shift=question["shift"],
        group_skew=question["group_skew"],
        label_skew=question["label_skew"],
        support=question["support"],
        empty_cells=question["empty_cells"],
        tol=float(question["tolerance"]),
        witness=read_witness(document["witness"], float(claim["attained"]), question),
        population=population,
        proof=read_proof(document["proof"]),
        confidence=question["confidence"],
        region=None if sampling is None else sampling["region"],
        surrogate=None if sampling is None else read_sampling(sampling, population, question),
        group_limits=read_limits(question["group_limits"]),
        label_limits=read_limits(question["label_limits"]),
        divergence=question["divergence"],
        objective=None if question["objective"] is None else Objective(**question["objective"]),
        fair=question["fair"],
        base_rate_tolerance=question["base_rate_tolerance"],
    )
