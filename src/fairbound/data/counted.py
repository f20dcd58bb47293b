"""Rows that were read, and what counting their cells gives: what all ways of reading rows end in."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, encode_columns, encode_groups, intersect, number, same_length, weights
from fairbound.data.loss_summary import LossTable, tabulate
from fairbound.data.losses import LOSSES
from fairbound.data.predicted import Predicted, count_predicted
from fairbound.errors import InputError, argument, either, given
from fairbound.wording.vocabulary import TWO_VALUED

#: What can be done about a loss without a ceiling.
UNBOUNDED = (
    either(
        f"pass {argument('clip')} to from_predictions (or {argument('ceiling')} to from_losses)",
        f"pass {argument('clip')} (or {argument('ceiling')} with {argument('losses')})",
    )
    + f", or restrict Q with {given('support', 'observed')}"
)

#: What can be done where the engine of a lazy frame cannot help; of files only CSV is read without one.
COLLECT = either("collect the frame first", "save the table as CSV")


@dataclass(frozen=True)
class Rows:
    """Rows as numbers: of each row its loss or its predicted label, its label, its group and its weight.

    Predicted labels are numbered with the true ones first. ``excluded`` rows were left out. ``strata`` are the columns
    that divide the cells into strata, by name, if there are any.
    """

    values: Floats | Categories
    labels: Categories
    groups: Categories
    weight: Floats | None
    excluded: int = 0
    strata: Mapping[Any, Categories] = field(default_factory=dict)

    def by_strata(self) -> Rows:
        """Return the rows with the columns of the strata as the last ones of the groups."""
        found = intersect([self.groups, *self.strata.values()])
        pairs: Any = found.names
        names = tuple((*(group if isinstance(group, tuple) else (group,)), *rest) for group, *rest in pairs)
        return replace(self, groups=replace(found, names=names), strata={})


@dataclass(frozen=True)
class Counted:
    """The names of groups and labels, the losses of their cells, and how many rows went in or were left out.

    ``fine`` is what was counted with the columns ``strata`` as the last ones of the groups.
    """

    groups: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    table: LossTable
    ceiling: float
    rows: int
    loss_name: str
    excluded_rows: int = 0
    weighted: bool = False
    predicted: Predicted | None = None
    fine: Counted | None = None
    strata: tuple[Any, ...] = ()


def count_cells(rows: Rows, ceiling: float, loss_name: str) -> Counted:
    """Count the cells of rows and summarise their losses; that of a predicted label is 1 where it is wrong."""
    values, labels, groups, weight = rows.values, rows.labels, rows.groups, rows.weight
    predicted = None
    if isinstance(values, Categories):
        predicted = count_predicted(values, labels, groups, weight)
        table = predicted.errors
    else:
        check_losses(values, ceiling, loss_name)
        shape = len(groups.names), len(labels.names)
        table = tabulate(values, groups.codes * shape[1] + labels.codes, weight, shape, ceiling)
    size, weighted = len(labels.codes), weight is not None
    fine = count_cells(rows.by_strata(), ceiling, loss_name) if rows.strata else None
    names, strata = (groups.names, labels.names), tuple(rows.strata)
    return Counted(*names, table, ceiling, size, loss_name, rows.excluded, weighted, predicted, fine, strata)


def read_rows(
    values: Floats | Categories,
    labels: Categories,
    sensitive_features: Any,
    sample_weight: Any,
    groups: Sequence[Hashable] | None = None,
    strata: Any = None,
) -> Rows:
    """Read the group, the weight and the stratum of each row."""
    group = encode_groups("sensitive_features", sensitive_features, groups)
    rows = len(values.codes) if isinstance(values, Categories) else len(values)
    what = "y_pred" if isinstance(values, Categories) else "losses"
    same_length(**{what: rows, "y_true": len(labels.codes), "sensitive_features": len(group.codes)})
    weight = None if sample_weight is None else weights("sample_weight", sample_weight, rows)
    parts = {} if strata is None else encode_columns("strata", strata)
    for part in parts.values():
        same_length(y_true=rows, strata=len(part.codes))
    return Rows(values, labels, group, weight, strata=parts)


def read_ceiling(value: object) -> float:
    """Return a positive ceiling, perhaps infinite."""
    meaning = "it must be positive: it is the largest loss there can be"
    top = number("ceiling", value, 0.0, math.inf, meaning)
    if not top > 0:
        message = f"{given('ceiling', value)}: {meaning}"
        raise InputError(message)
    if not 1e-30 < top < 1e30 and math.isfinite(top):
        message = (
            f"{given('ceiling', value)} is out of the range of careful arithmetic; measure the loss in other units"
        )
        raise InputError(message)
    return top


def check_losses(losses: Floats, top: float, loss_name: str) -> None:
    """Refuse losses below 0 or above the ceiling, and two-valued ones that are neither."""
    if loss_name in TWO_VALUED and not ((losses == 0) | (losses == top)).all():
        row = int(np.argmax((losses != 0) & (losses != top)))
        message = (
            f"{given(f'losses[{row}]', losses[row])} is neither 0 nor {top:g}; choose another {argument('loss')} "
            f"than {loss_name!r}"
        )
        raise InputError(message)
    outside = (losses < 0) | (losses > top)
    if outside.any():
        row = int(np.argmax(outside))
        message = (
            f"{given(f'losses[{row}]', losses[row])} is outside [0, {top:g}]; set {argument('ceiling')} to the largest "
            "loss there can be"
        )
        raise InputError(message)


def check_table(counted: Counted) -> None:
    """Refuse the same in what was counted without looking at the rows one by one, and ceilings that a name denies."""
    table, top, name = counted.table, counted.ceiling, counted.loss_name
    nominal = 1.0 if name in TWO_VALUED else LOSSES[name].ceiling if name in LOSSES else math.inf
    if top > nominal or (name in TWO_VALUED and top != nominal):
        which = "is 0 or 1" if name in TWO_VALUED else f"is at most {nominal:g}"
        message = (
            f"{given('ceiling', top, 'g')} does not go with {given('loss', name)}, which {which}; choose another "
            f"{argument('loss')}"
        )
        raise InputError(message)
    used = table.weight > 0
    if (used & (table.high > top)).any():
        message = f"a loss is {table.high[used].max():g}, above the ceiling {top:g} of {name!r}; raise its ceiling"
        raise InputError(message)
    between = used & ((table.low != table.high) | ((table.low != 0) & (table.low != top)))
    if name in TWO_VALUED and between.any():
        loss = table.mean_loss[between][0]
        message = f"a loss is near {loss:g}, neither 0 nor {top:g}; choose another {argument('loss')} than {name!r}"
        raise InputError(message)


def check_finite(losses: Floats, loss_name: str) -> None:
    """Refuse losses that a formula made infinite or NaN."""
    infinite = ~np.isfinite(losses)
    if infinite.any():
        row = int(np.argmax(infinite))
        cure = (
            f"its true label was given probability 0; pass {argument('clip')}" if losses[row] > 0 else "mend the loss"
        )
        message = f"the {loss_name} loss of row {row} is {losses[row]}: {cure}"
        raise InputError(message)
