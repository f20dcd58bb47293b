"""Planning a test: how many rows a promise needs, and what a number of rows can promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from fairbound.certificate.certificate import Certificate, keeps
from fairbound.certificate.certify import certify, certify_curve
from fairbound.certificate.curve import CertificateCurve
from fairbound.data.cells import number
from fairbound.data.loss_summary import LossTable
from fairbound.data.losses import ZERO_ONE
from fairbound.data.population import Population
from fairbound.errors import DataWarning, InputError, SmallCellWarning, argument, given
from fairbound.problem.asked import Planned, asks, completed
from fairbound.problem.validate import check_prequential
from fairbound.sampling.region import find_region, read_confidence

#: More rows than this are not planned for; and not where the rows at hand are repeated, which takes time.
MOST_ROWS, MOST_ENLARGED = 10**12, 10**7

#: How closely the number of rows is found that settles a gate.
ROWS_ACCURACY = 1.05


@dataclass(frozen=True)
class Asking:
    """A question about a population at some radii, to be put again.

    Attributes
    ----------
    population
        What is known of the data.
    rhos
        The radii.
    asked
        The keywords of :func:`certify`.
    """

    population: Population
    rhos: tuple[float, ...]
    asked: Mapping[str, Any]

    @property
    def confidence(self) -> float | None:
        """The confidence of this question."""
        return self.asked.get("confidence")

    def answered(self, confidence: float | None, factor: float = 1.0) -> CertificateCurve:
        """Put it with another confidence, or as if there were that many times as many rows that look like these."""
        asked = {**self.asked, "confidence": confidence}
        if confidence is None and self.population.empty_cells:  # a sample is asked without them too
            asked["empty_cells"] = "ceiling"
        with warnings.catch_warnings():  # of these rows it was warned
            warnings.simplefilter("ignore", SmallCellWarning)
            warnings.simplefilter("ignore", DataWarning)
            return certify_curve(enlarged(self.population, factor), list(self.rhos), **asked)


def enlarged(population: Population, factor: float) -> Population:
    """Return the population that so many times as many rows would be, if they looked like these: in whole numbers."""
    if factor == 1.0 or not isinstance(population.knowledge, LossTable):
        return population
    table, predicted = population.knowledge, population.predicted
    known = replace(table, weight=np.round(factor * table.weight), rows=math.ceil(factor * table.rows))
    if predicted is not None:
        predicted = replace(predicted, weight=np.round(factor * predicted.weight))
        known = predicted.errors if population.loss_name == ZERO_ONE.name else known
    weight = known.weight.sum(axis=2)
    return replace(population, weight=weight, knowledge=known, rows=int(weight.sum()), predicted=predicted)


def rows_to_keep(asking: Asking, threshold: float, worst: Certificate, known: Certificate) -> int | None:
    """Return about how many rows keep a threshold that ``known`` keeps and ``worst``, for want of rows, does not.

    None if they are more than :data:`MOST_ENLARGED`.
    """
    rows = asking.population.rows or 1
    most = MOST_ENLARGED / rows

    def enough(factor: float) -> bool:
        return keeps(asking.answered(asking.confidence, factor).certificates, threshold)

    allowed, taken = abs(threshold - known.bound), abs(worst.bound - known.bound)
    low, high = 1.0, min(max((taken / allowed) ** 2 if allowed else most, 2.0), most)  # the price falls as the root
    if most <= 1.0:
        return None
    while not enough(high):
        if high == most:
            return None
        low, high = high, min(2.0 * high, most)
    while high > ROWS_ACCURACY * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return two_digits(rows * high)


def two_digits(value: float) -> int:
    """Round a number up to two digits."""
    unit = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit


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
    bound = certify(surrogate.population, radius, **options | {"empty_cells": "ceiling"}).bound
    if surrogate.least is not None:
        plain = options["shift"] == "general" and options["fair"] and not options["base_rate_tolerance"]
        check_prequential(plain=plain and options["group_skew"] is None and options["label_skew"] is None)
        bound = max(bound, surrogate.least(known.rho))
    return bound - known.bound


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
