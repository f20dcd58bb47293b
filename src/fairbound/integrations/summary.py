"""What every partner is told of a certificate: a line for each bound, and how it ended."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.certificate.certificate import Certificate, keeps
from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.evidence import Evidence, Outcome
from fairbound.errors import InputError, argument, given
from fairbound.verify.verdict import Verification, verify
from fairbound.wording.confidence import APPROXIMATE, percent_down
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.names import printable, short_name

#: What partners take: a result, or a document as ``to_json`` writes it.
Source = Certificate | CertificateCurve | Evidence | str | bytes

#: What Markdown, or HTML in it, would take for its own; a line within a word is nothing to it.
_MARKS = re.compile(r"[\\`*\[\]~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


@dataclass(frozen=True)
class Line:
    """A bound, and what belongs to it.

    Attributes
    ----------
    metric, group
        The metric's name; and the group that was chosen for it, None for no group.
    words
        What is bounded, in words.
    rho, divergence, shift
        Where it holds.
    side
        "at most" or "at least" the bound.
    bound, attained, on_data
        The bound, what a distribution attains that was found, and the value on the data.
    threshold, kept
        What the bound has to keep, and whether it does; None for nothing.
    sampled
        Whether the rows are a sample: then the attained value belongs to a larger ball than that around their source.
    """

    metric: str
    group: str | None
    words: str
    rho: float
    divergence: str
    shift: str
    side: str
    bound: float
    attained: float
    on_data: float
    threshold: float | None = None
    kept: bool | None = None
    sampled: bool = False

    @classmethod
    def of(cls, c: Certificate, threshold: float | None = None) -> Line:
        """Return the line of a certificate."""
        return cls(
            metric=c.metric,
            group=None if c.group is None else short_name(c.group),
            words=c.said.words,
            rho=c.rho,
            divergence=c.divergence,
            shift=c.shift,
            side=c.side,
            bound=c.bound,
            attained=c.attained,
            on_data=c.on_data,
            threshold=threshold,
            kept=None if threshold is None else keeps([c], threshold),
            sampled=c.confidence is not None,
        )

    @property
    def lower(self) -> bool:
        """Whether the bound is one from below."""
        return self.side == "at least"

    @property
    def name(self) -> str:
        """The metric and its group, as one name."""
        return self.metric if self.group is None else f"{self.metric}[{self.group}]"

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """What the worst case within rho lies between; None for an end that is not known."""
        attained = None if self.sampled else self.attained
        return (self.bound, attained) if self.lower else (attained, self.bound)

    @property
    def texts(self) -> tuple[str, str]:
        """Bound and attained value, each rounded to its safe side."""
        return Digits(6).pair(self.bound, self.attained, lower=self.lower)


@dataclass(frozen=True)
class Summary:
    """A result with its document, and what there is to say of it.

    Attributes
    ----------
    evidence
        The result; of a certificate or a curve, evidence of one question.
    document
        Its JSON document, to the byte.
    """

    evidence: Evidence
    document: bytes

    @classmethod
    def of(cls, source: Source | Summary) -> Summary:
        """Read what partners take."""
        if isinstance(source, Summary):
            return source
        if isinstance(source, str | bytes):
            document = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
            return replace(cls.of(Evidence.from_json(document)), document=document)
        unchecked: object = source
        if not isinstance(unchecked, Certificate | CertificateCurve | Evidence):
            message = (
                f"{argument('source')} must be a certificate, a curve, answers to several questions or a document as "
                f"to_json() writes it, not {type(unchecked).__name__}"
            )
            raise InputError(message)
        document = source.to_json().encode()
        if isinstance(source, Certificate):
            source = CertificateCurve(np.array([source.rho]), np.nan, (source,))
        if isinstance(source, CertificateCurve):
            sure = next(iter(source)).confidence
            source = Evidence((source,), (None,), sure)
        if any(certificate.region == APPROXIMATE for curve in source.curves for certificate in curve):
            message = (
                f"{argument('source')} has {given('region', APPROXIMATE)}, which proves nothing at its confidence, and "
                f"what is told to others has to be proved: use another {argument('region')}"
            )
            raise InputError(message)
        return cls(source, document)

    @cached_property
    def questions(self) -> tuple[tuple[Line, ...], ...]:
        """Of each question the lines of its bounds, in the order of their radii."""
        pairs = zip(self.evidence.curves, self.evidence.thresholds, strict=True)
        return tuple(tuple(Line.of(c, threshold) for c in curve) for curve, threshold in pairs)

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of them."""
        return tuple(line for lines in self.questions for line in lines)

    @property
    def worst(self) -> tuple[Line, ...]:
        """The line of each question whose bound is worst."""
        return tuple((min if lines[0].lower else max)(lines, key=lambda line: line.bound) for lines in self.questions)

    @cached_property
    def verification(self) -> Verification:
        """What the checker says of the document."""
        return verify(self.document, patient=True)

    @property
    def verdict(self) -> str:
        """How the gates ended, in a word or two; and if there are none, that nothing was asked."""
        return self.evidence.outcome.value if self.evidence.gates else "no threshold"

    @property
    def where(self) -> str:
        """What distributions the bounds are about, and how sure they are, in a sentence."""
        first = next(iter(self.evidence.curves[0]))
        centre = "the data" if first.confidence is None else "the distribution that the rows were drawn from"
        said = f"Each bound holds in every {first.distributions} within {first.distance_words} rho of {centre}"
        if first.shift == "sensitive":
            said += ", where only the shares of the cells of group and label change"
        if self.evidence.confidence is not None:
            together = ", all of them together" if len(self.lines) > 1 else ""
            said += f"; with probability at least {percent_down(self.evidence.confidence)}{together}"
        return f"{said}."

    @property
    def sentence(self) -> str:
        """How it ended in a line; the gates that are not passed, or the worst bounds."""
        broken = [gate.explained for gate in self.evidence.gates if gate.outcome is not Outcome.PASSED]
        if broken:
            return "; ".join(broken)
        found = "; ".join(
            f"{line.words} {line.side} {line.texts[0]} (rho = {radius_down(line.rho)})" for line in self.worst
        )
        return f"{self.verdict}: {found}" if self.evidence.gates else found

    def markdown(self, title: str | None = "Certified bounds") -> str:
        """Return the verdict and a table of all bounds in Markdown."""
        heading = [] if title is None else [f"## {escaped(title)}", ""]
        gates = [f"* {escaped(gate.explained)}" for gate in self.evidence.gates]
        verdict = [f"**{self.verdict[:1].upper()}{self.verdict[1:]}**", "", *gates, ""] if gates else []
        header = ["metric", "rho", "", "bound", "attained", "on the data"]
        rows = [
            [line.name, radius_down(line.rho), line.side, *line.texts, Digits(6).near(line.on_data)]
            for line in self.lines
        ]
        if gates:
            header += ["threshold", ""]
            for row, line in zip(rows, self.lines, strict=True):
                kept = "" if line.kept is None else "kept" if line.kept else "broken"
                row += ["" if line.threshold is None else f"{line.threshold:g}", kept]
        careful = [f"* Be careful: {escaped(str(caution))}" for caution in self.evidence.cautions]
        said = ["", escaped(self.where), "", *careful, *([""] if careful else [])]
        return "\n".join([*heading, *verdict, markdown_table(header, rows), *said])


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown, whatever stands in its cells."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell if cell == '---' else escaped(cell) for cell in line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line: names come from strangers."""
    safe = "".join(f"&#{ord(c)};" if c in "<>&|" else c for c in " ".join(printable(text).split()))
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", safe)
