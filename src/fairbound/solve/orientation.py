"""Which way a sample may err: what is added must not be understated, what is subtracted must not be overstated."""

from __future__ import annotations

from inspect import signature

from fairbound.data.population import Population
from fairbound.errors import InputError
from fairbound.problem.objective import Objective
from fairbound.sampling.region import Region, Surrogate


def oriented_surrogate(
    region: Region, population: Population, objective: Objective, confidence: float, shift: str
) -> Surrogate:
    """Make the surrogate of a sample for an objective; regions of one's own need not know of subtracted cells."""
    subtracted = objective.sign(population.weight.shape) < 0
    if not subtracted.any():
        return region.surrogate(population, confidence, shift)
    if "subtracted" not in signature(region.surrogate).parameters:
        message = (
            f"region {region.name!r} cannot be used for differences and ratios of groups: its surrogate does not take "
            "the argument subtracted, the cells whose losses must not be overstated; see fairbound.Region"
        )
        raise InputError(message)
    return region.surrogate(population, confidence, shift, subtracted)
