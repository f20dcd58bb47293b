"""Which way a sample may err: what is subtracted must not be overstated, so its limits are those of the mirrored loss.

Confidence regions know upper limits of losses only. For an objective that subtracts the losses of some cells the sample
is mirrored there (a loss l becomes M - l), the region makes its stand-in, and that is mirrored back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairbound.arrays import Booleans
from fairbound.errors import InputError
from fairbound.knowledge import Knowledge, LossTable, MeanAndVariance, MeanOnly
from fairbound.objective import Objective
from fairbound.population import Population
from fairbound.regions import Region, StandIn
from fairbound.rounding import UNIT


def oriented_stand_in(
    region: Region, population: Population, objective: Objective, confidence: float, shift: str
) -> StandIn:
    """Make the stand-in of a sample for an objective."""
    subtracted = objective.sign(population.weight.shape) < 0
    if not subtracted.any():
        return region.stand_in(population, confidence, shift)
    if not population.two_valued:
        message = (
            f"confidence: differences of the loss {population.loss_name!r} between groups can be certified from a "
            "sample only if it is 0 or its ceiling, as zero_one is; leave confidence out, or use metric='group_loss'"
        )
        raise InputError(message)
    found = region.stand_in(_mirrored(population, subtracted), confidence, shift)
    sample = found.sample
    if sample is not None:
        counts = np.where(subtracted[..., None], sample.counts[..., ::-1], sample.counts)
        sample = replace(sample, counts=counts)
    return replace(found, population=_mirrored(found.population, subtracted), sample=sample)


def _mirrored(population: Population, cells: Booleans) -> Population:
    """Return the population with ``M - l`` for the losses of some cells; losses are 0 or M, so this is exact."""
    return replace(population, knowledge=_mirrored_knowledge(population.knowledge, cells, population.ceiling))


def _mirrored_knowledge(known: Knowledge, cells: Booleans, top: float) -> Knowledge:
    if isinstance(known, LossTable):
        where = cells[..., None]
        low, high = np.where(where, top - known.high, known.low), np.where(where, top - known.low, known.high)
        return replace(known, low=low, high=high)
    if isinstance(known, MeanAndVariance):
        return replace(known, mean=np.where(cells, _rest(top, known.mean), known.mean))
    return MeanOnly(np.where(cells, _rest(top, known.mean), known.mean))


def _rest(top: float, mean: float | np.ndarray) -> np.ndarray:
    """Return ``top - mean``, rounded down: a lower limit of what is subtracted."""
    return np.maximum(top - mean - 4 * UNIT * top, 0.0)
