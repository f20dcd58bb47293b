"""Planning a test: how many rows a promise needs, and what a number of rows can promise."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from fairbound.certificate.certify import certify
from fairbound.data.cells import number
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given
from fairbound.problem.asked import Planned, asks, completed
from fairbound.sampling.region import find_region, read_confidence

#: More rows than this are not planned for.
MOST_ROWS = 10**12


@asks(Planned, confidence=0.95)
def expected_excess(population: Population, rho: float, rows: int, **asked: Unpack[Planned]) -> float:
    """Return by how much ``rows`` rows raise the bound above that of a known population.

    The rows are taken to look as is to be expected of the population: every class of rows as often as its probability
    says. Use what you know so far (a pilot sample, last year's figures) as the population.

    Examples
    --------
    >>> from fairbound import Population, expected_excess
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> round(expected_excess(population, 0.1, 15060, confidence=0.9), 3)
    0.018
    """
    options = completed(expected_excess, asked)
    chosen, level = find_region(options.pop("region")), read_confidence(options.pop("confidence"))
    known = certify(population, rho, **options)
    if not math.isfinite(population.ceiling):
        message = (
            f"planning needs a ceiling, and the loss {population.loss_name!r} has none; pass {argument('clip')} or "
            f"{argument('ceiling')}"
        )
        raise InputError(message)
    count = number("rows", rows, 1.0, MOST_ROWS, "it is a number of rows")
    surrogate = chosen.planned(population, count, level, options["shift"])
    radius = float(surrogate.radius(np.array([known.rho]))[0])
    return certify(surrogate.population, radius, **options | {"empty_cells": "ceiling"}).bound - known.bound


@asks(Planned, confidence=0.95)
def rows_needed(population: Population, rho: float, excess: float, **asked: Unpack[Planned]) -> int:
    """Return how many rows bring the finite-sample bound within ``excess`` of the bound for a known population.

    The answer is found to within 1 percent, on the safe side; see :func:`expected_excess` for what it assumes.

    Examples
    --------
    >>> from fairbound import Population, rows_needed
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> 10_000 < rows_needed(population, 0.1, 0.02, confidence=0.9) < 15_060
    True
    """
    options = completed(rows_needed, asked)
    target = number("excess", excess, 0.0, np.inf, "it is a difference of losses that you would accept")

    def enough(rows: int) -> bool:
        return expected_excess(population, rho, rows, **options) <= target

    low, high = 0, 16
    while not enough(high):
        low, high = high, 4 * high
        if high > MOST_ROWS:
            message = (
                f"{given('excess', excess)} is not reached with {MOST_ROWS} rows; accept a larger "
                f"{argument('excess')}, or lower {argument('tol')}"
            )
            raise InputError(message)
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
