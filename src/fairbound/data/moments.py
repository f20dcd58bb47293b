"""Reading moments: cell masses, and mean and variance of the loss in each cell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import numbers, read_array
from fairbound.data.loss_summary import Knowledge, MeanAndVariance, MeanOnly
from fairbound.errors import InputError, argument, given, shown


def read_moments(mass: Any, mean: Any, variance: Any, top: float) -> tuple[Floats, Knowledge]:
    """Return the masses of the cells and what is known of their losses."""
    masses = numbers("mass", mass)
    if masses.ndim != 2 or min(masses.shape) < 2:
        message = (
            f"{argument('mass')} has shape {masses.shape}; it needs a row per group and a column per label, two or "
            "more each"
        )
        raise InputError(message)
    if (masses < 0).any():
        message = f"{argument('mass')} has the negative entry {shown(masses.min())}; masses are probabilities"
        raise InputError(message)
    if abs(masses.sum() - 1.0) > 1e-9:
        message = (
            f"{argument('mass')} adds up to {shown(masses.sum())}, not to 1; divide it by its sum if it holds counts"
        )
        raise InputError(message)
    if not math.isfinite(top):
        message = (
            f"{argument('ceiling')} must be finite here: without it nothing follows from moments under general shifting"
        )
        raise InputError(message)
    means = _moment("mean", mean, masses)
    if (means > top).any():
        message = (
            f"{argument('mean')} has the entry {shown(means.max())} above the ceiling {top!r}; raise "
            f"{argument('ceiling')} if losses can be larger"
        )
        raise InputError(message)
    if variance is None:
        return masses, MeanOnly(means)
    variances = _moment("variance", variance, masses)
    limit = means * (top - means)
    if (variances > limit * (1 + 1e-9) + 1e-15).any():
        cell = np.unravel_index(int((variances - limit).argmax()), masses.shape)
        message = (
            f"{given(f'variance[{cell[0]}, {cell[1]}]', variances[cell])} is impossible: losses in [0, {top:g}] "
            f"with mean {shown(means[cell])} have a variance of at most {shown(limit[cell])}; "
            f"mend it, or raise {argument('ceiling')}"
        )
        raise InputError(message)
    return masses, MeanAndVariance(means, np.minimum(variances, limit))


def read_selection_rate(rate: Any, mass: Floats) -> Floats:
    """Return the share of each cell that is predicted as the second of two labels."""
    if mass.shape[1] != 2:
        message = (
            f"{argument('selection_rate')} is for two labels, and {argument('mass')} has {mass.shape[1]}; use "
            "from_predictions for more"
        )
        raise InputError(message)
    rates = _moment("selection_rate", rate, mass)
    if (rates > 1).any():
        message = (
            f"{argument('selection_rate')} has the entry {shown(rates.max())}; it is a share of the cell, at most 1"
        )
        raise InputError(message)
    return rates


def _moment(name: str, values: Any, mass: Floats) -> Floats:
    """Return an array of non-negative moments; what stands in empty cells does not matter."""
    try:
        array = read_array(name, values).astype(np.float64)
    except (TypeError, ValueError):
        message = f"{argument(name)} must hold one number per cell, shape {mass.shape}; {shown(values)} does not"
        raise InputError(message) from None
    if array.shape != mass.shape:
        message = (
            f"{argument(name)} has shape {array.shape}, but {argument('mass')} has {mass.shape}; they need one entry "
            "per cell each"
        )
        raise InputError(message)
    array = np.where(mass > 0, array, 0.0)
    array = numbers(name, array)
    if (array < 0).any():
        message = f"{argument(name)} has the negative entry {shown(array.min())}; it cannot be negative"
        raise InputError(message)
    return array
