"""The tally of a table: what all ways of reading rows end in."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from fairbound.arrays import Floats
from fairbound.cells import Categories, number
from fairbound.errors import InputError, shown
from fairbound.knowledge import LossTable, tabulate

#: The name of the loss that is 0 or the ceiling and nothing between: finite samples say more about it.
ZERO_ONE = "zero_one"


@dataclass(frozen=True)
class Tally:
    """The names of groups and labels, the losses of their cells, and how many rows went in or were left out."""

    groups: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    table: LossTable
    ceiling: float
    rows: int
    loss_name: str
    excluded_rows: int = 0
    weighted: bool = False


def tally_rows(
    losses: Floats, labels: Categories, groups: Categories, weight: Floats | None, ceiling: float
) -> LossTable:
    """Return the losses of the cells (arguments already validated)."""
    shape = len(groups.names), len(labels.names)
    return tabulate(losses, groups.codes * shape[1] + labels.codes, weight, shape, ceiling)


def read_ceiling(value: object) -> float:
    """Return a positive ceiling, perhaps infinite."""
    meaning = "it must be positive: it is the largest loss there can be"
    top = number("ceiling", value, 0.0, math.inf, meaning)
    if not top > 0:
        message = f"ceiling={shown(value)}: {meaning}"
        raise InputError(message)
    if not 1e-30 < top < 1e30 and math.isfinite(top):
        message = f"ceiling={shown(value)} is out of the range of careful arithmetic; measure the loss in other units"
        raise InputError(message)
    return top


def check_losses(losses: Floats, top: float, loss_name: str) -> None:
    """Refuse losses below 0 or above the ceiling, and 0-1 losses that are neither."""
    if loss_name == ZERO_ONE and not ((losses == 0) | (losses == top)).all():
        row = int(np.argmax((losses != 0) & (losses != top)))
        message = (
            f"loss[{row}]={shown(losses[row])} is neither 0 nor {top:g}; choose another loss_name than {ZERO_ONE!r}"
        )
        raise InputError(message)
    outside = (losses < 0) | (losses > top)
    if outside.any():
        row = int(np.argmax(outside))
        message = (
            f"loss[{row}]={shown(losses[row])} is outside [0, {top:g}]; set ceiling to the largest loss there can be"
        )
        raise InputError(message)


def check_finite(losses: Floats, loss_name: str) -> None:
    """Refuse losses that a formula made infinite or NaN."""
    infinite = ~np.isfinite(losses)
    if infinite.any():
        row = int(np.argmax(infinite))
        cure = "its true label was given probability 0; pass clip" if losses[row] > 0 else "mend the loss"
        message = f"the {loss_name} loss of row {row} is {losses[row]}: {cure}"
        raise InputError(message)
