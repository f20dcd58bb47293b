"""What a user gets: certificates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from fairbound.chance import with_probability
from fairbound.digits import Digits, radius_down
from fairbound.divergences import DIVERGENCES
from fairbound.document import (
    digest,
    read_population,
    read_proof,
    read_sampling,
    read_witness,
    write_population,
    write_proof,
    write_sampling,
    write_witness,
)
from fairbound.notebook import html_details, html_paragraph, html_table
from fairbound.overview import change_rows
from fairbound.plot import draw_worst_case
from fairbound.population import Population
from fairbound.proof import Proof
from fairbound.reader import FORMAT, VERSION, read_documents
from fairbound.regions import StandIn
from fairbound.version import __version__
from fairbound.witness import Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Status(Enum):
    """How a certificate ended; the text names the cause and, where there is one, the cure."""

    TIGHT = "the bound is within the tolerance of a loss that is attained"
    LOOSE = (
        "the bound is valid but the gap is larger than the tolerance: the search used up its budget, or rho is so "
        "close to the nearest fair distribution that rounding limits the gap; raise budget, tol or rho"
    )


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the loss over every distribution with equal base rates in a ball around the data.

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
    assumptions
        What the bound rests on, in sentences.
    population
        What was known of the data.
    proof
        The multipliers that prove the bound by weak duality.
    confidence
        The probability, over the draw of the rows, with which the bound holds; None if the rows are all there is.
    region
        The confidence region's name.
    stand_in
        What takes P's place if P is known through a sample: ``attained``, ``witness`` and ``proof`` refer to it.
    divergence
        How the distance from the data is measured: "hellinger", "total_variation", "kl" or "chi_squared".
    fair
        Whether only distributions with equal base rates are in question.
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
    assumptions: tuple[str, ...]
    population: Population
    proof: Proof
    confidence: float | None = None
    region: str | None = None
    stand_in: StandIn | None = None
    divergence: str = "hellinger"
    fair: bool = True

    @property
    def distance_words(self) -> str:
        """What sentences call the distance that ``rho`` is measured in."""
        return DIVERGENCES[self.divergence].words

    @property
    def distributions(self) -> str:
        """What sentences call one of the distributions in question."""
        return "distribution with equal base rates" if self.fair else "distribution"

    @property
    def gap(self) -> float:
        """``bound - attained``: the worst case in the ball (around P, or around its stand-in) lies between the two."""
        return self.bound - self.attained

    @property
    def status(self) -> Status:
        """Whether the gap asked for was reached."""
        return Status.TIGHT if self.gap <= self.tol else Status.LOOSE

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
        documents = read_documents(text)
        if len(documents) != 1:
            message = "the document is a curve of certificates; use CertificateCurve.from_json"
            raise ValueError(message)
        return read_certificate(documents[0], read_population(documents[0]["population"]))

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
                "fair": self.fair,
                "rho": self.rho,
                "group_skew": self.group_skew,
                "label_skew": self.label_skew,
                "confidence": self.confidence,
                "tolerance": self.tol,
            },
            "claim": {"bound": self.bound, "attained": self.attained},
            "witness": write_witness(
                self.witness, self.population if self.stand_in is None else self.stand_in.population, fair=self.fair
            ),
            "proof": write_proof(self.proof),
            "assumptions": list(self.assumptions),
        }

    def sampling(self) -> dict[str, Any] | None:
        """Return what the document says of the sample."""
        return None if self.stand_in is None else write_sampling(self.stand_in, str(self.region))

    def __repr__(self) -> str:
        sure = "" if self.divergence == "hellinger" else f", divergence={self.divergence!r}"
        sure += "" if self.fair else ", fair=False"
        sure += "" if self.confidence is None else f", confidence={self.confidence:g}"
        return (
            f"Certificate(bound={self.bound:.6f}, attained={self.attained:.6f}, rho={self.rho:g}, "
            f"shift={self.shift!r}{sure}, status={self.status.name})"
        )

    def _repr_html_(self) -> str:
        """Show the certificate in a notebook: the claim, the worst case, and what it rests on."""
        digits = Digits(6)
        claim = f"The {self.population.loss_name} of the model is at most {digits.up(self.bound)}"
        every = f"in every {self.distributions} within {self.distance_words} {radius_down(self.rho)} of"
        if self.confidence is None:
            found = f"the worst case that was found has {digits.down(self.attained)}."
            where = f"{every} the data ({self.shift} shifting); {found}"
        else:
            where = (
                f"{with_probability(self.confidence, self.population.rows)}, {every} the distribution that they were "
                f"drawn from ({self.shift} shifting). A distribution in the larger ball that allows for sampling error "
                f"has {digits.down(self.attained)}; the worst case may be smaller."
            )
        return "".join(
            [
                html_paragraph(claim, strong=True),
                html_paragraph(where),
                html_table(*change_rows(self.population, self.witness.mass)),
                html_details("What this rests on", self.assumptions),
            ]
        )


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
        assumptions=tuple(document["assumptions"]),
        population=population,
        proof=read_proof(document["proof"]),
        confidence=question["confidence"],
        region=None if sampling is None else sampling["region"],
        stand_in=None if sampling is None else read_sampling(sampling, population),
        divergence=question["divergence"],
        fair=question["fair"],
    )
