"""Curves: certificates at several radii, made and kept together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.cautions import cautions_of
from fairbound.certificate.certificate import Certificate, only_question, read_questions, write_certificates
from fairbound.certificate.continuous import bound_line, bound_steps, proved_at
from fairbound.certificate.document import to_json
from fairbound.certificate.plot import draw_curve
from fairbound.data.native_frame import native_frame
from fairbound.errors import InfeasibleError
from fairbound.verify.document import Question
from fairbound.verify.reading import read_document
from fairbound.wording.confidence import APPROXIMATE, AROUND_ROWS, nearest_sentence, reached_in, with_probability
from fairbound.wording.digits import Digits, gap_up, radius_down
from fairbound.wording.notebook import html_details, html_paragraph, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CertificateCurve:
    """Certificates at several radii; where nothing can be certified there is None.

    Attributes
    ----------
    rho, bound, attained
        Arrays of equal length; NaN in ``bound`` and ``attained`` marks the infeasible radii.
    distance
        Distance to the nearest distribution in question: smaller radii are infeasible. With a confidence,
        how far that is at least.
    certificates
        The certificates themselves, None where infeasible.
    """

    rho: Floats
    distance: float
    certificates: tuple[Certificate | None, ...]

    @property
    def bound(self) -> Floats:
        """The bound at each radius."""
        return np.array([np.nan if c is None else c.bound for c in self.certificates])

    @property
    def attained(self) -> Floats:
        """The attained loss at each radius."""
        return np.array([np.nan if c is None else c.attained for c in self.certificates])

    @property
    def feasible(self) -> Booleans:
        """Which radii hold a distribution in question at all."""
        return np.array([c is not None for c in self.certificates])

    @cached_property
    def _proved(self) -> ProvedCurve:
        return ProvedCurve(self.to_json())

    def bound_at(self, rho: float) -> float:
        """Return what the multipliers of all radii prove at any radius of the curve: checked, and rounded up.

        Between two radii of a curve it exceeds the best bound by little: the error is of second order in their
        distance.

        Examples
        --------
        >>> from fairbound import Population, certify, certify_curve
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> curve = certify_curve(population, [0.1, 0.15, 0.2])
        >>> round(curve.bound_at(0.17), 4), round(certify(population, 0.17).bound, 4)
        (0.3269, 0.3245)
        """
        return proved_at(self._proved, rho, self.distance)

    def to_json(self) -> str:
        """Write the curve, with all proofs, as one JSON document that :func:`fairbound.verify` can check."""
        first = next(iter(self), None)
        if first is None:
            message = "the curve has no certificate: all its radii are infeasible; use larger ones"
            raise InfeasibleError(message, self.distance)
        return to_json(write_certificates(self.certificates, self.rho.tolist(), self.distance))

    @classmethod
    def from_json(cls, text: str | bytes) -> CertificateCurve:
        """Read a curve; raises ``ValueError`` if it is malformed. Reading does not check the proofs."""
        document = read_document(text)
        question = only_question(document)
        if question.distance is None:
            message = "the document is a single certificate; use Certificate.from_json"
            raise ValueError(message)
        return curve_of(question, read_questions(document)[0])

    def plot(
        self, ax: Axes | None = None, *, samples: Any = None, baselines: Mapping[str, tuple[Any, Any]] | None = None
    ) -> Axes:
        """Draw bound and attained loss over the radius, with the infeasible radii shaded.

        Between two radii the bound is what their multipliers prove (:meth:`CertificateCurve.bound_at`). The true worst
        case lies between the two lines; with a confidence it may lie below both.

        Parameters
        ----------
        ax
            Where to draw; None makes a new figure. Needs matplotlib: ``pip install matplotlib``.
        samples
            Distributions to show as points: rows of distance from the data, measured like rho, and loss.
        baselines
            Curves of other methods: a name, and a pair of radii and values.

        Examples
        --------
        >>> from fairbound import Population, certify_curve
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> curve = certify_curve(population, [0.05, 0.1, 0.2])
        >>> curve.plot(baselines={"ceiling": ([0.0, 0.2], [1.0, 1.0])}).get_xlabel()
        'rho: Hellinger distance from the data'
        """
        first = next(iter(self), None)
        values = self.rho, self.bound, self.attained, self._line(), self.distance
        return draw_curve(
            *values,
            None if first is None else (first.said, first.on_data),
            measured="distance" if first is None else first.distance_words,
            lower=first is not None and first.lower,
            sampled=any(c.confidence is not None for c in self),
            ax=ax,
            samples=samples,
            baselines=baselines,
        )

    def _line(self) -> tuple[Floats, Floats]:
        """Return what is proved at every radius; of a curve that was read and is not proved, the steps it claims."""
        found = sorted(self, key=lambda c: c.rho)
        if not found:
            return np.zeros(0), np.zeros(0)
        rho, bound = np.array([c.rho for c in found]), np.array([c.bound for c in found])
        try:
            return bound_line(self._proved, rho, self.distance)
        except ValueError:
            return bound_steps(rho, bound, self.distance, lower=found[0].lower)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the curve as a data frame: rho, bound, attained, gap and status; missing where it is infeasible.

        ``backend`` is "pandas", "polars" or "pyarrow"; None takes the one that you work with.

        Examples
        --------
        >>> from fairbound import Population, certify_curve
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> frame = certify_curve(population, [0.05, 0.1, 0.2]).to_frame("polars")
        >>> frame["status"].to_list()
        ['infeasible', 'tight', 'tight']
        """
        columns = {
            key: [None if c is None else getattr(c, key) for c in self.certificates]
            for key in ("bound", "attained", "gap")
        }
        status = ["infeasible" if c is None else c.status.name.lower() for c in self.certificates]
        return native_frame({"rho": self.rho.tolist(), **columns, "status": status}, backend)

    def __iter__(self) -> Iterator[Certificate]:
        """Iterate over the certificates of the feasible radii."""
        return (c for c in self.certificates if c is not None)

    def __len__(self) -> int:
        return len(self.rho)

    def __eq__(self, other: object) -> bool:
        """Whether another curve says the same at the same radii."""
        if not isinstance(other, CertificateCurve):
            return NotImplemented
        same = np.array_equal(self.rho, other.rho) and np.array_equal(self.distance, other.distance, equal_nan=True)
        return self is other or (same and self.certificates == other.certificates)

    def __hash__(self) -> int:
        return hash((self.rho.tobytes(), self.certificates))

    def __repr__(self) -> str:
        metric = next((c.metric for c in self), "loss")
        what = "" if metric == "loss" else f"metric={metric!r}, "
        return (
            f"CertificateCurve({what}{len(self)} radii from {self.rho.min():g} to {self.rho.max():g}, "
            f"{int(self.feasible.sum())} feasible, nearest at {self.distance:.6f})"
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the table of bounds, as text; infeasible radii are marked.

        Bounds are rounded up, attained losses down; where the two differ by less than is shown, they are written alike.
        """
        rows = [
            [radius_down(rho), "infeasible", "", ""]
            if c is None
            else [radius_down(rho), *c.texts(Digits(6)), gap_up(c.gap)]
            for rho, c in zip(self.rho, self.certificates, strict=True)
        ]
        return ["rho", "bound", "attained", "gap"], rows

    def _repr_html_(self) -> str:
        """Show the curve in a notebook."""
        first = next(iter(self), None)
        rests = [] if first is None else [html_details("What this rests on", first.assumptions)]
        careful = [] if first is None else [str(caution) for caution in cautions_of(first.population, list(self))]
        rests = [*([html_details("Be careful", careful)] if careful else []), *rests]
        shifting = "" if first is None else f" ({first.shift} shifting)"
        title = "" if first is None else f"The {first.said.subject} is {first.side} the bound{shifting}"
        head = [html_paragraph(title, strong=True)] if title else []
        return "".join([*head, html_table(*self.table()), *(html_paragraph(text) for text in self.sentences()), *rests])

    def sentences(self) -> list[str]:
        """Say how far the nearest distribution in question is and, of a sample, how sure the bounds are."""
        first = next(iter(self), None)
        if first is None:
            return [f"At a rho below {self.distance:.6f} there is nothing to certify."]
        rows, having = first.population.rows, first.condition.phrase
        near, measured = (self.distance, first.confidence, rows), first.distance_words
        said = [nearest_sentence(*near, having=having, limited=first.limited, measured=measured, region=first.region)]
        if first.confidence is not None:
            sure = with_probability(first.confidence, rows, first.region)
            own = f"All bounds hold together {sure}, at these rho; what is attained is {reached_in(first.region)}."
            if len(self) == 1 or first.region == APPROXIMATE:
                each = "The bound holds" if len(self) == 1 else "Each bound holds by itself"
                own = f"{each} {sure}, at this rho; what is attained is {reached_in(first.region)}."
            together = f"All bounds hold together {sure}; what is attained belongs to the larger balls that allow for "
            together += "sampling error."
            said.append(own if first.region in AROUND_ROWS else together)
        return said


def curve_of(question: Question, certificates: Sequence[Certificate | None]) -> CertificateCurve:
    """Return the curve of a question and its certificates; the distance is not a number if it is not told."""
    rho = np.array([point.rho for point in question.points])
    return CertificateCurve(rho, np.nan if question.distance is None else question.distance, tuple(certificates))
