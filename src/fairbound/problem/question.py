"""A question: what is asked of a population, validated. Nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairbound.data.population import Population
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import HELLINGER, Divergence
from fairbound.problem.limits import Limits
from fairbound.problem.objective import Objective
from fairbound.sampling.region import Region

EQUAL = Condition()

Shift = Literal["general", "stratified", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]


@dataclass(frozen=True)
class Question:
    """A validated call: everything but the radii.

    Attributes
    ----------
    population
        What is known of the data.
    shift, support, empty_cells
        What may change, what losses Q may have, and what is assumed where there are no data.
    group_skew, label_skew, group_limits, label_limits
        Limits on the shares of Q.
    condition
        What is asked of the base rates.
    divergence
        How the distance from the data is measured.
    objective
        What is bounded: None for the expected loss of all.
    confidence, region
        How sure the bound is to be where the rows are a sample, and how these speak of P; both None where P is known.
    tol, budget
        The gap to aim at, and how many pieces a search may use; None chooses by size.
    """

    population: Population
    shift: Shift
    support: Support
    empty_cells: EmptyCells
    group_skew: float | None
    label_skew: float | None
    group_limits: Limits | None
    label_limits: Limits | None
    tol: float
    budget: int | None
    confidence: float | None = None
    region: Region | None = None
    objective: Objective | None = None
    condition: Condition = EQUAL
    divergence: Divergence = HELLINGER

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        limits = self.group_skew, self.label_skew, self.group_limits, self.label_limits
        return any(limit is not None for limit in limits)
