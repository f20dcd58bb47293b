"""A question about a metric: one question for each of its objectives, answered together."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from fairbound.answer import Answer
from fairbound.arrays import Floats
from fairbound.certificate import Certificate, combined
from fairbound.comparing import compare
from fairbound.conditions import Condition
from fairbound.divergences import HELLINGER, Divergence
from fairbound.metrics import Chosen, choose, value_on_data
from fairbound.population import Population
from fairbound.posing import Asked, not_a_population, pose
from fairbound.question import Question
from fairbound.regions import read_confidence


@dataclass(frozen=True)
class MetricQuestion:
    """A validated call about a metric: everything but the radii."""

    chosen: Chosen
    parts: tuple[Question, ...]
    confidence: float | None

    @property
    def lower(self) -> bool:
        """Whether the metric is bounded from below."""
        return self.chosen.metric.lower

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        return self.parts[0].limited

    @property
    def condition(self) -> Condition:
        """What is asked of base rates."""
        return self.parts[0].condition

    @property
    def divergence(self) -> Divergence:
        """How distances are measured."""
        return self.parts[0].divergence

    @property
    def sampled(self) -> bool:
        """Whether P is known through a sample."""
        return self.confidence is not None

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        return max(part.distance for part in self.parts)

    @property
    def extreme(self) -> float:
        """The value that the metric can always be said to keep: the largest there is, or of a ratio the smallest."""
        return 0.0 if self.lower else float(self.parts[0].population.ceiling)

    def answers(self, rhos: Floats, target: float | None = None) -> list[tuple[Answer, ...]]:
        """Solve for feasible radii: the objectives of one kind together."""
        if self.divergence is not HELLINGER:
            return self._one_by_one(rhos, target)
        found: dict[int, list[Answer]] = {}
        kinds = {part.objective.label if part.objective else None for part in self.parts}
        for kind in kinds:
            same = [n for n, part in enumerate(self.parts) if part.objective and part.objective.label == kind]
            first = self.parts[same[0]]
            asked = [self.parts[n].compared for n in same]
            for n, answers in zip(
                same, compare(asked, [self.parts[n].radii(rhos) for n in same], first.tol, first.budget), strict=True
            ):
                found[n] = answers
        return [tuple(found[n][index] for n in range(len(self.parts))) for index in range(len(rhos))]

    def _one_by_one(self, rhos: Floats, target: float | None) -> list[tuple[Answer, ...]]:
        """Solve one objective after the other, the likely worst first: the others need not be bounded as closely."""
        found: dict[int, list[Answer]] = {}
        known = np.full(len(rhos), -np.inf)
        on_data = [value_on_data(part.population, part.objective) for part in self.parts if part.objective]
        for n in np.argsort(-np.array(on_data), kind="stable").tolist():
            found[n] = self.parts[n].answers(rhos, target, known)
            known = np.maximum(known, [answer.witness.loss for answer in found[n]])
        return [tuple(found[n][index] for n in range(len(self.parts))) for index in range(len(rhos))]

    def certificates(self, rhos: Floats) -> list[Certificate]:
        """Certify at feasible radii."""
        return [
            combined(
                [part.certificate(rho, one) for part, one in zip(self.parts, answer, strict=True)],
                self.chosen.metric.name,
                self.chosen.group,
                self.confidence,
            )
            for rho, answer in zip(rhos.tolist(), self.answers(rhos), strict=True)
        ]

    def bounds(self, rhos: Floats, target: float | None = None) -> Floats:
        """Return what is proved at feasible radii, some of it only as closely as a target needs."""
        bounds = np.array([[one.bound for one in answer] for answer in self.answers(rhos, target)])
        return bounds.min(axis=1) if self.lower else bounds.max(axis=1)


def ask(population: object, **asked: Unpack[Asked]) -> Question | MetricQuestion:
    """Validate everything but the radii."""
    options: dict[str, Any] = dict(asked)
    metric, group, positive = options.pop("metric", "loss"), options.pop("group", None), options.pop("pos_label", None)
    if not isinstance(population, Population):
        raise not_a_population(population)
    if metric == "loss":
        return pose(population, group=group, pos_label=positive, **options)
    return _pose_metric(population, metric, group, positive, options)


def _pose_metric(
    population: Population, metric: object, group: Hashable, positive: Hashable, options: dict[str, Any]
) -> MetricQuestion:
    """Divide the error probability equally between the objectives: all statements hold together."""
    chosen = choose(population, metric, group, positive)
    confidence = options.pop("confidence", None)
    if confidence is not None:
        confidence = read_confidence(confidence)
        # Rounded up: the error probabilities must not add up to more than allowed.
        options["confidence"] = math.nextafter(1.0 - (1.0 - confidence) / len(chosen.objectives), 1.0)
    parts = tuple(pose(chosen.population, objective=objective, **options) for objective in chosen.objectives)
    return MetricQuestion(chosen, parts, confidence)
