"""Two models side by side: the same question, asked of an older and of a newer one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import numpy as np
from markupsafe import Markup

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.certificate import Certificate
from fairbound.reporting.figures import CurveScale, Frame, comparison_picture
from fairbound.reporting.markup import svg
from fairbound.reporting.question_view import SIZES
from fairbound.reporting.report_data import Examined, Findings
from fairbound.wording.amounts import Amounts
from fairbound.wording.digits import radius_down

#: The table lists so many distances at most.
MOST_ROWS = 12

Outcome = Literal["better", "worse", "the same", "unknown"]

#: What two certificates have to agree in, to answer the same question.
ASKED = {
    "metric": "what is bounded",
    "group": "the group",
    "shift": "the shift",
    "support": "the support",
    "divergence": "the distance",
    "condition": "the condition on base rates",
    "group_skew": "how far group shares may differ",
    "label_skew": "how far label shares may differ",
    "group_limits": "limits on group shares",
    "label_limits": "limits on label shares",
    "confidence": "the confidence",
}


@dataclass(frozen=True)
class Comparison:
    """A newer model against an older one, by what is proved of each.

    Attributes
    ----------
    old, new
        The two documents.
    names
        What they are called.
    number
        The place of the question on the page.
    """

    old: Findings
    new: Findings
    names: tuple[str, str]
    number: int = 0

    @property
    def asked(self) -> Certificate:
        """The newer certificate, to read the question from."""
        return self.new.question

    @property
    def proved(self) -> bool:
        """Whether both are."""
        return self.old.verification.valid and self.new.verification.valid

    @cached_property
    def differences(self) -> list[str]:
        """In what the two questions differ: then the numbers cannot be compared."""
        old, new = self.old.question, self.new.question
        found = [words for name, words in ASKED.items() if getattr(old, name) != getattr(new, name)]
        values = ("loss_name", "pos_label", "ceiling")
        if any(getattr(old.population, name) != getattr(new.population, name) for name in values):
            found.append("the loss")
        return found

    @property
    def data_differ(self) -> bool:
        """Whether the two were tested on tables with other counts: then the data may differ, not the model."""
        old, new = self.old.population, self.new.population
        if (old.groups, old.labels) != (new.groups, new.labels):
            return True
        return not np.array_equal(old.weight, new.weight)

    @property
    def several(self) -> bool:
        """Whether the documents answer other questions too."""
        return self.new.verification.questions[1:] != ()

    @property
    def digest(self) -> str:
        """The SHA-256 of the older document."""
        return sha256(self.old.document).hexdigest()

    @property
    def comparable(self) -> bool:
        """Whether anything can be said."""
        return self.proved and not self.differences

    @cached_property
    def _curves(self) -> tuple[ProvedCurve, ProvedCurve]:
        return self.old.proved_curve, self.new.proved_curve

    @cached_property
    def amounts(self) -> Amounts:
        """How values are written."""
        values = [c.bound for one in (self.old, self.new) for c in one.certificates]
        on_data = [one.question.on_data for one in (self.old, self.new)]
        return Amounts.fitting(max([*values, *on_data]), self.asked.said.unit)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """What is proved of both at the distances of either, and which model it speaks for."""
        rho = np.unique([c.rho for one in (self.old, self.new) for c in one.certificates])
        rho = rho[np.unique(np.linspace(0, len(rho) - 1, MOST_ROWS).round().astype(int))]
        found = []
        for radius in rho.tolist():
            before, after = (curve.bound_at(radius) for curve in self._curves)
            low = max(self.old.distance, self.new.distance)
            if before is None or after is None or radius < low:
                continue
            write = self.amounts.down if self.asked.lower else self.amounts.up
            texts = write(before), write(after)
            gain = after - before if self.asked.lower else before - after
            outcome: Outcome = "the same" if texts[0] == texts[1] else "better" if gain > 0 else "worse"
            by = _difference(*texts)
            found.append({"rho": radius_down(radius), "old": texts[0], "new": texts[1], "outcome": outcome, "by": by})
        return found

    @property
    def middle(self) -> dict[str, Any]:
        """The row that the first sentence speaks of."""
        return self.rows[len(self.rows) // 2]

    @property
    def outcomes(self) -> list[str]:
        """All outcomes that there are, sorted."""
        return sorted({row["outcome"] for row in self.rows})

    @property
    def on_data(self) -> tuple[str, str]:
        """What is bounded, on the data of each."""
        old, new = (self.amounts.near(one.question.on_data) for one in (self.old, self.new))
        return old, new

    @property
    def pictures(self) -> list[Markup]:
        """Both curves in one picture, for wide windows and for narrow ones."""
        both = (self.old, self.new)
        rho = [c.rho for one in both for c in one.certificates]
        bounds = [c.bound for one in both for c in one.certificates]
        on_data = [one.question.on_data for one in both]
        scale = CurveScale.fitting(rho, [*bounds, *on_data])
        label = f"What is proved of {self.names[0]} and of {self.names[1]}, over rho. The table holds the values."
        distance = min(one.distance for one in both)
        measured = f"{self.asked.distance_words} from the data of each"
        return [
            svg(
                comparison_picture(
                    Frame(scale, size, kind, f"both-{self.number}", self.amounts, measured, label),
                    [self._line(one) for one in both],
                    on_data,
                    distance,
                )
            )
            for kind, size in SIZES
        ]

    def _line(self, one: Findings) -> tuple[Floats, Floats]:
        rho, bound = one.bound_line
        if len(one.certificates) > 1:
            return rho, bound
        ends = np.array([one.distance, one.question.rho])  # a single certificate holds at all smaller distances
        return ends, np.repeat(one.question.bound, 2)


def _difference(first: str, second: str) -> str:
    """Return how two numbers differ as they are printed."""
    return f"{abs(Decimal(first) - Decimal(second)):f}"


def compared(old: Examined, new: Examined, names: tuple[str, str]) -> list[Comparison]:
    """Return a comparison for each question that both answer; of a single one each, whatever they are."""
    if len(old.questions) == len(new.questions) == 1:
        return [Comparison(old.questions[0], new.questions[0], names)]
    asked = {_about(one): one for one in reversed(old.questions)}
    return [Comparison(asked[_about(one)], one, names, one.number) for one in new.questions if _about(one) in asked]


def unmatched(old: Examined, new: Examined) -> tuple[list[str], list[str]]:
    """Return what only the older document answers, and what only the newer one does, in words."""
    if len(old.questions) == len(new.questions) == 1:
        return [], []
    ours, theirs = ({_about(one): one.question.said.words for one in each.questions} for each in (new, old))
    return [words for key, words in theirs.items() if key not in ours], [
        words for key, words in ours.items() if key not in theirs
    ]


def _about(one: Findings) -> tuple[object, ...]:
    """Return what a question is about, whatever else it asks."""
    return one.question.metric, one.question.group, one.population.loss_name, one.population.pos_label


def named(old: Examined, new: Examined, otherwise: tuple[str, str]) -> tuple[str, str]:
    """Return what the two models are called: as their documents say, if both do and differ in it."""
    told = [one.population.provenance for one in (old, new)]
    first, second = (" ".join(part for part in (p.model, p.model_version) if part) for p in told)
    return (first, second) if first and second and first != second else otherwise
