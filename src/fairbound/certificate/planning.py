"""Planning a test: how many rows a promise needs, and what a number of rows can promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairbound.certificate.certify import certify
from fairbound.data.cells import number
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given
from fairbound.problem.question import EmptyCells, Shift
from fairbound.sampling.region import Region, find_region, read_confidence

#: More rows than this are not planned for.
MOST_ROWS = 10**12


def expected_excess(
    population: Population,
    rho: float,
    rows: int,
    *,
    confidence: float = 0.95,
    region: str | Region = "auto",
    shift: Shift = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    fair: bool = True,
    base_rate_tolerance: float | None = None,
    empty_cells: EmptyCells = "refuse",
    tol: float = 1e-6,
) -> float:
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
    chosen, level = find_region(region), read_confidence(confidence)
    limits: dict[str, Any] = {"shift": shift, "group_skew": group_skew, "label_skew": label_skew, "tol": tol}
    limits |= {"fair": fair, "base_rate_tolerance": base_rate_tolerance}
    known = certify(population, rho, empty_cells=empty_cells, **limits)
    if not math.isfinite(population.ceiling):
        message = (
            f"planning needs a ceiling, and the loss {population.loss_name!r} has none; pass {argument('clip')} or "
            f"{argument('ceiling')}"
        )
        raise InputError(message)
    count = number("rows", rows, 1.0, MOST_ROWS, "it is a number of rows")
    surrogate = chosen.planned(population, count, level, shift)
    radius = float(surrogate.radius(np.array([known.rho]))[0])
    return certify(surrogate.population, radius, empty_cells="ceiling", **limits).bound - known.bound


def rows_needed(
    population: Population,
    rho: float,
    excess: float,
    *,
    confidence: float = 0.95,
    region: str | Region = "auto",
    shift: Shift = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    fair: bool = True,
    base_rate_tolerance: float | None = None,
    empty_cells: EmptyCells = "refuse",
    tol: float = 1e-6,
) -> int:
    """Return how many rows bring the finite-sample bound within ``excess`` of the bound for a known population.

    The answer is found to within 1 percent, on the safe side; see :func:`expected_excess` for what it assumes.

    Examples
    --------
    >>> from fairbound import Population, rows_needed
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> 10_000 < rows_needed(population, 0.1, 0.02, confidence=0.9) < 15_060
    True
    """
    target = number("excess", excess, 0.0, np.inf, "it is a difference of losses that you would accept")
    options: dict[str, Any] = {
        "confidence": confidence,
        "region": region,
        "shift": shift,
        "group_skew": group_skew,
        "label_skew": label_skew,
        "fair": fair,
        "base_rate_tolerance": base_rate_tolerance,
        "empty_cells": empty_cells,
        "tol": tol,
    }

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
