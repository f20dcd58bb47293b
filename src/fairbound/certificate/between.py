"""Radii between those of a document: what its multipliers prove there.

The bound of a leaf is affine in the radius of the inequality (docs/specification.md, "Other radii"): its multipliers
prove one at every radius, and of all that a document holds the best counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from fairbound.verify.balls import PRECISION, largest, rounded_up
from fairbound.verify.document import Answer, Objective, Pairwise, Question, Single, Tilted, singles
from fairbound.verify.leaves import bounds_of_pairs, excess_of, least_shares
from fairbound.verify.metric import is_ratio, made_of
from fairbound.verify.reading import read_document
from fairbound.verify.sampling import CheckedSurrogate, checked_surrogate
from fairbound.verify.shares import pieces
from fairbound.verify.statement import Statement, radius
from fairbound.verify.verdict import Verification, verify


@dataclass(frozen=True)
class _Line:
    """What an answer proves at all radii: its own bound at smaller ones and, of each leaf, a value with its slope."""

    rho: float
    bound: float
    here: arb
    leaves: list[tuple[arb, arb]]
    top: arb | None

    def at(self, rho: float, there: arb) -> list[float]:
        """Return what is proved at a radius."""
        found = [self.bound] if rho <= self.rho else []
        if self.leaves:
            best = largest(value + lam * (there - self.here) for value, lam in self.leaves)
            found.append(rounded_up(best if self.top is None else best.min(self.top)))
        return found


class ProvedCurve:
    """What a document proves at every radius; made only of documents that are proved.

    ``result`` is that of checking this very document, if it was checked before; ``number`` is that of the question.
    """

    def __init__(
        self, document: str | bytes | dict[str, Any], result: Verification | None = None, *, number: int = 0
    ) -> None:
        result = verify(document, patient=True) if result is None else result
        if not result.valid:
            message = f"the document is not proved: {'; '.join(result.reasons[:3])}"
            raise ValueError(message)
        self.single: Single = singles(read_document(document))[number]
        with _precisely():
            self._surrogates = [self._surrogate(number) for number in range(len(self.single.question.statements))]
            self._lines = [self._of(number) for number in range(len(self.single.question.statements))]

    def _surrogate(self, number: int) -> CheckedSurrogate | None:
        question = self.single.question
        return checked_surrogate(self.single.population, question, question.statements[number])

    def _of(self, number: int) -> list[_Line]:
        """Return the lines of a statement, one for each certified radius."""
        question = self.single.question
        about = question.statements[number].objective
        surrogate = self._surrogates[number]
        population = self.single.population if surrogate is None else surrogate.population
        whole = Statement(population, question, about, 0.0)
        found = []
        for point in question.points:
            if point.claim is None:
                continue
            rho, answer = point.rho, point.answers[number]
            statement = whole.at(rho, None if surrogate is None else surrogate.least_affinity(rho))
            if _indirect(question, about, answer) or (surrogate is not None and surrogate.rejects is not None):
                found.append(_Line(rho, answer.bound, statement.radius, [], None))
                continue
            lines = _lines(statement, answer)
            found.append(_Line(rho, answer.bound, statement.radius, lines, statement.top))
        return found

    @property
    def lower(self) -> bool:
        """Whether bounds are from below, as those of ratios are."""
        return is_ratio(self.single)

    def bound_at(self, rho: float) -> float | None:
        """Return what is proved at a radius, rounded to the safe side; None if nothing is."""
        question, ratio = self.single.question, is_ratio(self.single)
        best: Callable[[list[float]], float] = max if ratio else min
        bounds = []
        with _precisely():
            for surrogate, lines in zip(self._surrogates, self._lines, strict=True):
                there = radius(question, rho, None if surrogate is None else surrogate.least_affinity(rho))
                found = [bound for line in lines for bound in line.at(rho, there)]
                if not found:
                    return None
                bounds.append(best(found))
            made = made_of(self.single)
            if made is None:
                return None
            return (min if ratio else max)(bounds[n] for n in made)


def _lines(statement: Statement, answer: Answer) -> list[tuple[arb, arb]]:
    """Return what proves an answer: bounds at its radius, of which the largest counts, and how they grow with it."""
    found = []
    for leaf, corners in pieces(answer.proof, least_shares(statement, answer.proof.axis)):
        if not isinstance(leaf, Pairwise):
            bound = arb(answer.bound) + excess_of(statement, leaf, answer.proof.axis, corners, arb(answer.bound))
            found.append((bound, arb(leaf.lam)))
            continue
        # For each pair the set that is best at this radius proves something at every other one.
        proved = [bounds_of_pairs(statement, one, corners) for one in leaf.sets]
        best: dict[int, arb] = {}
        for bounds in zip(*proved, strict=True):
            number = min(range(len(bounds)), key=lambda n: float(bounds[n].upper()))
            best[number] = bounds[number].max(best.get(number, bounds[number]))
        found += [(bound, arb(leaf.sets[number].lam)) for number, bound in best.items()]
    return found


def _indirect(question: Question, about: Objective | None, answer: Answer) -> bool:
    """Whether the claim, or the radius, stands inside the proof: then it proves nothing but the claim."""
    return question.divergence == "trimming" or (
        about is not None and (about.ratio or any(isinstance(leaf, Tilted) for leaf in answer.proof.leaves))
    )


class _precisely:  # noqa: N801 (read as a statement)
    """Compute with the bits that the checker uses."""

    def __enter__(self) -> None:
        self.before, ctx.prec = ctx.prec, PRECISION

    def __exit__(self, *_: object) -> None:
        ctx.prec = self.before
