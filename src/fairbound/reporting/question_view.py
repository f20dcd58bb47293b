"""What a page shows of one question: all its numbers as texts, its pictures, and facts for the templates to word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from markupsafe import Markup

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.prices import Prices
from fairbound.problem.divergences import find_divergence
from fairbound.problem.metrics import METRICS
from fairbound.reporting.figures import ARROW, CurveScale, Frame, curve_picture, finite_top, scale_picture
from fairbound.reporting.markup import svg
from fairbound.reporting.reach import reach_text
from fairbound.reporting.report_data import Findings
from fairbound.reporting.worst_case import FIRST_CELLS, MOST_CELLS, WorstCases
from fairbound.wording.amounts import Amounts
from fairbound.wording.confidence import with_probability
from fairbound.wording.digits import Digits, gap_up, radius_down
from fairbound.wording.vocabulary import SELECTED, ZERO_ONE, Wording, wording

#: More radii than these are thinned out on the page, and more infeasible ones are not listed.
MOST_RADII = 200

#: So many radii are listed at once; more unfold.
FEW_RADII = 12

#: The pictures: a class and a size for wide windows, and for narrow ones.
SIZES = (("broad", (860, 400)), ("narrow", (380, 320)))


#: So many strata of the worst case are told.
MOST_STRATA = 10


@dataclass(frozen=True)
class QuestionView:
    """A question and its answers at all radii.

    ``confidence`` is that of the whole document: all that a page says holds together. ``first`` is the first question
    of the page, None if it is this one.
    """

    findings: Findings
    confidence: float | None
    first: Findings | None = None

    @property
    def same_nearest(self) -> bool:
        """Whether its condition on base rates and its nearest population are those of the first question."""
        first = self.first
        return first is not None and (first.question.condition, first.distance, first.question.limited) == (
            self.asked.condition,
            self.findings.distance,
            self.asked.limited,
        )

    @property
    def number(self) -> int:
        """Its place on the page."""
        return self.findings.number

    @property
    def asked(self) -> Certificate:
        """A certificate to read the question from: all of them answer the same one."""
        return self.findings.question

    @property
    def said(self) -> Wording:
        """The words for what is bounded."""
        return self.asked.said

    @property
    def values(self) -> Wording:
        """The words for the values of the rows."""
        return wording(self.asked.population)

    @property
    def proved(self) -> bool:
        """Whether the checker accepts the document."""
        return self.findings.verification.valid

    @property
    def sampled(self) -> bool:
        """Whether the data are a sample."""
        return self.findings.sampled

    @property
    def verb(self) -> str:
        """What the model does, for the first sentence: "errs", "predicts 'yes'", or nothing that has a verb."""
        if self.asked.metric != "loss":
            return ""
        return {ZERO_ONE: "errs", SELECTED: "selects"}.get(self.asked.population.loss_name, "")

    @property
    def meaning(self) -> str:
        """What the metric is, for those who do not know its name; nothing for losses, which say it themselves."""
        found = METRICS.get(self.asked.metric)
        if found is None or not found.compares or self.asked.group is not None or found.title in found.words:
            return ""
        return found.words.format(mean=self.values.mean_words)

    @property
    def chance(self) -> str:
        """The probability of the statement, or nothing."""
        if self.confidence is None:
            return ""
        return with_probability(self.confidence, self.asked.population.rows, self.asked.region)

    @cached_property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates, or as many of them, evenly chosen, as a page can show."""
        every = self.findings.certificates
        if len(every) <= MOST_RADII:
            return every
        return tuple(every[i] for i in np.unique(np.linspace(0, len(every) - 1, MOST_RADII).round().astype(int)))

    @cached_property
    def amounts(self) -> Amounts:
        """How its values are written."""
        values = [*(c.bound for c in self.certificates), self.asked.on_data]
        return Amounts.fitting(max(values), self.said.unit)

    @cached_property
    def cell_amounts(self) -> Amounts:
        """How the mean losses of cells are written."""
        return Amounts(Digits(4), "percent") if self.values.unit == "percent" else self._plain

    @property
    def _plain(self) -> Amounts:
        values = [*(c.bound for c in self.certificates), self.asked.on_data]
        return Amounts(Digits.fitting(max(values)), "plain")

    @property
    def on_data(self) -> str:
        """What is bounded, on the data themselves."""
        return self.amounts.near(self.asked.on_data)

    @property
    def chosen(self) -> int:
        """Which radius is shown first: that at which a threshold is kept least or broken most, else a middle one.

        Of radii at which the bound says nothing there is none, unless it is so at all of them.
        """
        if self.findings.threshold is None:
            told = [index for index, c in enumerate(self.certificates) if not c.trivial]
            return told[len(told) // 2] if told else 0
        worst = (min if self.asked.lower else max)(self.certificates, key=lambda c: c.bound)
        return self.certificates.index(worst)

    @property
    def gate(self) -> dict[str, Any] | None:
        """How a threshold compares with the worst bound, both with as many digits as it takes to tell them apart."""
        threshold, worst = self.findings.threshold, self.findings.worst
        if threshold is None:
            return None
        amounts = self.amounts.exact_for(threshold)
        bound = amounts.down(worst.bound) if worst.lower else amounts.up(worst.bound)
        if worst.bound == threshold:
            bound = amounts.exactly(threshold)
        return {
            "passed": self.findings.passed,
            "threshold": amounts.exactly(threshold),
            "bound": bound,
            "rho": radius_down(worst.rho),
            "several": len(self.findings.certificates) > 1,
        }

    @cached_property
    def worst(self) -> WorstCases:
        """The worst cases."""
        return WorstCases(self.certificates, self.cell_amounts)

    @cached_property
    def worst_rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The cells of the worst case, and those that unfold."""
        rows = self.worst.rows(self.chosen)
        return rows[:FIRST_CELLS], rows[FIRST_CELLS:]

    @property
    def prices(self) -> Prices:
        """What errors cost at the radius that is shown first."""
        return self.certificates[self.chosen].prices

    @property
    def priced(self) -> str:
        """That radius."""
        return radius_down(self.certificates[self.chosen].rho)

    @property
    def price_rows(self) -> list[list[str]]:
        """The rows of that table, as many as of the worst case."""
        return self.prices.rows[:MOST_CELLS]

    @cached_property
    def radii(self) -> list[dict[str, Any]]:
        """What is shown of each radius, as texts."""
        return [self._radius(index, c) for index, c in enumerate(self.certificates)]

    def _radius(self, index: int, c: Certificate) -> dict[str, Any]:
        bound, attained = self.amounts.pair(c.bound, c.attained, lower=c.lower)
        return {
            "rho": radius_down(c.rho),
            "bound": bound,
            "attained": attained,
            "grows": reach_text(find_divergence(c.divergence), c.rho),
            "gap": gap_up(c.gap),
            "exact": repr(c.bound),
            "found": repr(c.attained),
            "leads": c.leading,
        }

    @property
    def now(self) -> dict[str, Any]:
        """What is shown of the radius that is shown first."""
        return self.radii[self.chosen]

    @property
    def strata(self) -> list[str]:
        """Which strata grow most at that radius, in words; none but under stratified shifting."""
        return [one.told for one in self.certificates[self.chosen].strata[:MOST_STRATA] if one.change > 5e-5]

    @property
    def strata_rho(self) -> str:
        """The radius that this is about."""
        return radius_down(self.certificates[self.chosen].rho)

    @cached_property
    def scale(self) -> CurveScale:
        """The ranges of the picture."""
        limit = () if self.findings.threshold is None else (self.findings.threshold,)
        return CurveScale.fitting(
            [*(c.rho for c in self.certificates), *self.findings.infeasible, self.findings.distance],
            [*(c.bound for c in self.certificates), self.asked.on_data, *limit],
        )

    @property
    def script_data(self) -> dict[str, Any]:
        """What the page's script has to know."""
        moving = [
            {
                **{key: shown[key] for key in ("rho", "bound", "attained", "grows", "gap", "exact", "found", "leads")},
                "x": round(self.scale.across(c.rho), 5),
                "y": round(self.scale.upward(c.bound), 5),
                "cells": self.worst.changing(index),
                "most": self.worst.grows_most(index),
            }
            for index, (c, shown) in enumerate(zip(self.certificates, self.radii, strict=True))
        ]
        return {
            "radii": moving,
            "arrows": ARROW,
            "barred": round(self.scale.across(self.findings.distance), 5),
            "nearest": self.nearest,
            "side": self.asked.side,
            "sign": self.amounts.short,
        }

    @property
    def nearest(self) -> str:
        """How far the nearest distribution in question is."""
        return Digits(4).down(self.findings.distance) if self.sampled else f"{self.findings.distance:.4f}"

    def identity(self, name: str) -> str:
        """Return an id that no other question of the page has."""
        return name if not self.number else f"{name}-{self.number}"

    @property
    def measured(self) -> dict[str, str]:
        """What rho is, beside the axis: in narrow windows there is less room."""
        centre = "what the rows were drawn from" if self.sampled else "the data"
        words = self.asked.distance_words
        return {"broad": f"{words} from {centre}", "narrow": words}

    @cached_property
    def pictures(self) -> list[Markup]:
        """The curve, for wide windows and for narrow ones."""
        rho, bound, attained = (
            np.array([getattr(c, key) for c in self.certificates]) for key in ("rho", "bound", "attained")
        )
        first, last, sign = self.radii[0], self.radii[-1], self.amounts.sign
        label = (
            f"Bound on the {self.said.words} over rho, from {first['bound']}{sign} at rho {first['rho']} to "
            f"{last['bound']}{sign} at rho {last['rho']}. The table holds all values."
        )
        return [
            svg(
                curve_picture(
                    Frame(self.scale, size, kind, str(self.number), self.amounts, self.measured[kind], label),
                    rho,
                    bound,
                    attained,
                    self.findings.bound_line,
                    distance=self.findings.distance,
                    loss=self.asked.on_data,
                    threshold=self.findings.threshold,
                    chosen=self.chosen,
                    sampled=self.sampled,
                    lower=self.asked.lower,
                )
            )
            for kind, size in SIZES
        ]

    @property
    def scale_picture(self) -> Markup:
        """Where the numbers of a single certificate lie between nothing and the largest there can be."""
        c = self.asked
        marks = [(c.on_data, "mark-data", "bar"), (c.bound, "mark-bound", "dot")]
        if not self.exhausted:
            marks.append((c.attained, "mark-attained", "square"))
        top = finite_top(1.0 if c.lower else c.population.ceiling, [value for value, _, _ in marks])
        label = f"{self.said.words} on the data {self.on_data}, bound {self.now['bound']}{self.amounts.sign}"
        return svg(scale_picture(marks, top, label, self.amounts))

    @property
    def exhausted(self) -> bool:
        """Whether bound and attained value are the same at all radii, to the digits that are shown."""
        return all(radius["bound"] == radius["attained"] for radius in self.radii)

    @property
    def numbers(self) -> list[dict[str, Any]]:
        """The rows of the table of all radii, with two more digits; of infeasible ones there is a reason instead."""
        finer = self.amounts.finer
        rows: list[tuple[float, dict[str, Any]]] = []
        for index, c in enumerate(self.certificates):
            bound, attained = finer.pair(c.bound, c.attained, lower=c.lower)
            row = {"rho": radius_down(c.rho), "index": index, "bound": bound, "attained": attained}
            rows.append((c.rho, row | {"exact": repr(c.bound), "found": repr(c.attained), "on": index == self.chosen}))
        for rho in self.findings.infeasible[:MOST_RADII]:
            rows.append((rho, {"rho": radius_down(rho), "index": None, "near": rho < self.findings.distance}))
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]

    @property
    def few_radii(self) -> bool:
        """Whether all radii can be listed at once."""
        return len(self.numbers) <= FEW_RADII


def shared_sentences(questions: Sequence[QuestionView]) -> tuple[list[str], list[tuple[QuestionView, list[str]]]]:
    """Return what all questions rest on, and what each rests on besides."""
    every = [list(q.asked.assumptions) for q in questions]
    common = [sentence for sentence in every[0] if all(sentence in one for one in every)]
    own = [(q, [s for s in one if s not in common]) for q, one in zip(questions, every, strict=True)]
    return common, [(q, sentences) for q, sentences in own if sentences]
