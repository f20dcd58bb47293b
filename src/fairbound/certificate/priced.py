"""What prices read of a certificate, which cannot be imported for that: a certificate has prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairbound.data.population import Population
from fairbound.problem.condition import Condition
from fairbound.problem.objective import Objective
from fairbound.sampling.region import Surrogate
from fairbound.solve.witness import Witness
from fairbound.verify import document


class Priced(Protocol):
    """What is needed of a certificate."""

    @property
    def bound(self) -> float:
        """The bound."""

    @property
    def condition(self) -> Condition:
        """What was asked of base rates."""

    @property
    def objective(self) -> Objective | None:
        """What the statement is about."""

    @property
    def witness(self) -> Witness:
        """The worst case."""

    @property
    def proof(self) -> document.Proof:
        """The multipliers."""

    @property
    def rho(self) -> float:
        """The radius."""

    @property
    def gap(self) -> float:
        """How far bound and worst case are apart."""

    @property
    def tol(self) -> float:
        """How far they were to be."""

    @property
    def trivial(self) -> bool:
        """Whether the bound says nothing."""

    @property
    def lower(self) -> bool:
        """Whether it is one from below."""

    @property
    def shift(self) -> str:
        """What may change."""

    @property
    def divergence(self) -> str:
        """How distances are measured."""

    @property
    def population(self) -> Population:
        """What was known of the data."""

    @property
    def surrogate(self) -> Surrogate | None:
        """What takes P's place, if the rows are a sample."""

    @property
    def comparisons(self) -> Sequence[Priced]:
        """What a metric is the largest of."""
