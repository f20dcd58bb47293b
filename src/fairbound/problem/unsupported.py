"""Which metrics other divergences than Hellinger's can answer; the rest is refused, with what to do instead."""

from __future__ import annotations

from fairbound.data.population import Population
from fairbound.errors import InputError, either, given, listed
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import HELLINGER, Divergence
from fairbound.problem.objective import Objective

#: What to do instead.
CURE = f"use {given('divergence', 'hellinger')}" + either(
    " (hellinger_radius turns a total variation distance into a radius of it)"
)


def refuse_metric(population: Population, objective: Objective, divergence: Divergence, condition: Condition) -> None:
    """Refuse an objective that is not answered under this divergence."""
    if divergence is HELLINGER:
        return
    only = f"does not go with {given('divergence', divergence.name)}"
    if objective.minus is not None and not condition.fair:
        message = (
            f"{given('fair', False)} with a metric that compares groups {only}; leave that out, or use a metric of one "
            "group"
        )
        raise InputError(message)
    if objective.label is not None and not objective.inside and len(population.labels) > 2:
        message = (
            f"false positive rates with more than two labels: a metric of these {only}; use "
            f"true_positive_rate_difference, or {CURE}"
        )
        raise InputError(message)
    if divergence.escapes:
        return
    empty = population.weight == 0
    counted = objective.sign(empty.shape) != 0
    if empty.any() if condition.fair else empty[counted].all():
        names = listed([f"({g!r}, {y!r})" for g, y in population.empty_cells])
        message = (
            f"a metric other than 'loss' {only} and cells without data {names}: Q has no mass there, and means would "
            f"be taken of nothing; merge groups or labels, or use {given('divergence', 'total_variation')} or "
            "'hellinger'"
        )
        raise InputError(message)
