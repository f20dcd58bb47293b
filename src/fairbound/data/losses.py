"""Losses: small values that turn predictions into one number per row and know their ceiling."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.cells import number
from fairbound.errors import InputError, argument, either, given

#: From the probabilities (n, C) and the column of the true label (n,) to the losses (n,).
RowLosses = Callable[[Floats, Integers], Floats]


@dataclass(frozen=True)
class Loss:
    """A loss per row.

    Attributes
    ----------
    name
        How it is called in reports.
    ceiling
        No row can have a larger loss; ``math.inf`` if there is no such number.
    takes
        "labels" if it compares predicted labels with true ones, "probabilities" if it needs those.
    rows
        The function itself, for losses that take probabilities: from an array of shape (n, C) of probabilities and
        the column of each row's true label to the losses.

    Examples
    --------
    A loss of one's own, twice the probability given to the wrong labels:

    >>> from fairbound import Loss
    >>> double = Loss("double", 2.0, "probabilities", lambda p, true: 2 - 2 * p[range(len(p)), true])
    >>> double.ceiling
    2.0
    """

    name: str
    ceiling: float
    takes: Literal["labels", "probabilities"]
    rows: RowLosses | None = None

    def clipped(self, clip: float) -> Loss:
        """Return the loss cut off at ``clip``, which becomes its ceiling."""
        meaning = "it must be positive and finite; losses above it count as it"
        if not 0 < number("clip", clip, 0.0, math.inf, meaning) < math.inf:
            message = f"{given('clip', clip)}: {meaning}"
            raise InputError(message)
        if self.rows is None:
            name = argument("clip")
            message = f"{name}: the loss {self.name!r} takes labels and is bounded already; leave {name} out"
            raise InputError(message)
        return replace(self, ceiling=min(clip, self.ceiling), rows=_Clipped(self.rows, clip))


@dataclass(frozen=True)
class _Clipped:
    rows: RowLosses
    clip: float

    def __call__(self, probability: Floats, true: Integers) -> Floats:
        return np.minimum(self.rows(probability, true), self.clip)


def _of_truth(probability: Floats, true: Integers) -> Floats:
    """Return the probability that was given to the true label."""
    return np.take_along_axis(probability, true[:, None], axis=1)[:, 0]


def across(table: Floats) -> Floats:
    """Add up each row: column by column, since there are few and rows are many."""
    return functools.reduce(np.add, table.T)


def _brier(probability: Floats, true: Integers) -> Floats:
    """Half the squared distance to the one-hot truth: in [0, 1], and (p - y)^2 for two labels."""
    squares = across(np.square(probability))
    return np.clip(0.5 * (squares - 2.0 * _of_truth(probability, true) + 1.0), 0.0, 1.0)


def _jsd(probability: Floats, true: Integers) -> Floats:
    """Jensen-Shannon divergence, base 2, between the probabilities and the one-hot truth."""
    p = _of_truth(probability, true)
    middle = 0.5 * (1.0 + p)
    own = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0) / middle), 0.0)
    return np.clip(0.5 * (own + (1.0 - p) - np.log2(middle)), 0.0, 1.0)


def _absolute(probability: Floats, true: Integers) -> Floats:
    return np.clip(1.0 - _of_truth(probability, true), 0.0, 1.0)


def _cross_entropy(probability: Floats, true: Integers) -> Floats:
    with np.errstate(divide="ignore"):
        return np.maximum(-np.log(_of_truth(probability, true)), 0.0)


ZERO_ONE = Loss("zero_one", 1.0, "labels")
BRIER = Loss("brier", 1.0, "probabilities", _brier)
JSD = Loss("jsd", 1.0, "probabilities", _jsd)
ABSOLUTE = Loss("absolute", 1.0, "probabilities", _absolute)
CROSS_ENTROPY = Loss("cross_entropy", math.inf, "probabilities", _cross_entropy)

LOSSES = {loss.name: loss for loss in (ZERO_ONE, BRIER, JSD, ABSOLUTE, CROSS_ENTROPY)}


def find_loss(loss: object, clip: float | None) -> Loss:
    """Return a loss by name or as given, clipped if asked for."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            known = ", ".join(LOSSES)
            message = f"{given('loss', loss)} is not known; use one of {known}{either(', or a Loss of your own')}"
            raise InputError(message)
        loss = LOSSES[loss]
    if not isinstance(loss, Loss):
        message = f"{argument('loss')} must be a name or a Loss, not {type(loss).__name__}"
        raise InputError(message)
    return loss if clip is None else loss.clipped(clip)
