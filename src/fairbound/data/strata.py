"""Strata: the parts of the cells that stratified shifting leaves as they are, by columns such as age or region.

Rows are counted as for groups of more columns, and these columns are folded into strata afterwards: so every way of
reading rows can count them. Numbers become bands there, by the user's cut points or by quantiles of the column; nobody
looks at losses for that.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import Categories, intersect, number, number_names
from fairbound.data.counted import Counted
from fairbound.data.loss_summary import LossTable
from fairbound.data.predicted import Predicted
from fairbound.errors import InputError, argument, given, listed

#: Cut points of columns of numbers, by name: a list of them, or into how many quantiles to cut.
Cuts = Mapping[Any, Any]


@dataclass(frozen=True)
class ByStratum(LossTable):
    """The mean loss in each stratum of a cell, as a table of losses: Q equals P there, so no more of it matters."""

    names: tuple[Hashable, ...] = ()
    #: Whether these are limits of means, made from a sample: then strata without rows have them too, and may occur.
    sampled: bool = False

    sentence = "Of the losses only the mean of each stratum of a cell matters under stratified shifting."

    @classmethod
    def of(cls, names: tuple[Hashable, ...], weight: Floats, mean: Floats) -> ByStratum:
        """Return the table of weights and means of shape (S, C, H)."""
        one = np.ones_like(weight)
        mean = np.where(weight > 0, mean, 0.0)
        return cls(mean, mean, weight, one, 0.0 * one, 1, names)

    def limited(self, weight: Floats, mean: Floats) -> ByStratum:
        """Return the table of a sample, with limits in the place of means."""
        return replace(self, low=mean, high=mean, weight=weight, sampled=True)

    @property
    def largest(self) -> Floats:
        """The largest mean of a stratum in each cell that Q may have there."""
        return np.where((self.weight > 0) | self.sampled, self.high, 0.0).max(axis=2)

    @property
    def smallest(self) -> Floats:
        """And the smallest one."""
        return np.where((self.weight > 0) | self.sampled, self.low, np.inf).min(axis=2)


@dataclass(frozen=True)
class Strata:
    """What was counted by stratum: the losses, and what was predicted, shape (S, C, H, L), if that is known."""

    losses: ByStratum
    predicted: Predicted | None = None
    #: Whether some column was cut at quantiles of these rows.
    of_rows: bool = False

    def selecting(self, place: int) -> Strata:
        """Return the same of the value that is 1 where the label at this place is predicted, and else 0."""
        if self.predicted is None:
            return self
        weight = self.losses.weight
        mean = self.predicted.weight[..., place] / np.where(weight > 0, weight, 1.0)
        return replace(self, losses=ByStratum.of(self.losses.names, weight, np.minimum(mean, 1.0)))


def split(names: Sequence[Hashable], columns: int) -> tuple[tuple[Hashable, Hashable], ...]:
    """Return group and stratum of groups whose last columns are those of the strata."""
    parts: Any = names
    return tuple((name[0] if len(name) == columns + 1 else name[:-columns], name[-columns:]) for name in parts)


def fold(counted: Counted, cuts: Cuts | None) -> Strata | None:
    """Return the strata of what was counted; None if it was not counted by any."""
    fine = counted.fine
    if fine is None:
        if cuts:
            message = f"{argument('cuts')} are for the columns of {argument('strata')}, of which there are none"
            raise InputError(message)
        return None
    pairs: Any = split(fine.groups, len(counted.strata))
    weight, mean = fine.table.weight.sum(axis=2), fine.table.mean
    stratum = intersect(_parts([values for _, values in pairs], weight.sum(axis=1), cuts or {}, counted.strata))
    shape = len(counted.groups), len(stratum.names)
    place = np.array([counted.groups.index(group) for group, _ in pairs]) * shape[1] + stratum.codes

    def folded(part: Floats) -> Floats:
        """Add up what lies in the same stratum of the same group; strata follow labels."""
        total = np.zeros((shape[0] * shape[1], *part.shape[1:]))
        np.add.at(total, place, part)
        return np.moveaxis(total.reshape(*shape, *part.shape[1:]), 1, 2)

    total = folded(weight)
    means = folded(weight * mean) / np.where(total > 0, total, 1.0)
    losses = ByStratum.of(stratum.names, total, np.clip(means, 0.0, fine.ceiling))
    known = fine.predicted
    of_rows = any(isinstance(cut, int | np.integer) for cut in (cuts or {}).values())
    return Strata(losses, None if known is None else Predicted(known.labels, folded(known.weight)), of_rows)


def told_cuts(cuts: Cuts | None) -> tuple[tuple[str, tuple[float, ...] | int], ...]:
    """Return cuts as documents tell them: by column, points or a number of quantiles (already validated)."""
    return tuple(
        (str(name), int(cut) if isinstance(cut, int | np.integer) else tuple(map(float, np.atleast_1d(cut))))
        for name, cut in (cuts or {}).items()
    )


def _parts(
    values: Sequence[tuple[Hashable, ...]], weight: Floats, cuts: Cuts, columns: Sequence[Any]
) -> list[Categories]:
    """Number the values of each column, or the bands that they lie in where cut points are given."""
    unknown = [name for name in cuts if name not in columns]
    if unknown:
        message = (
            f"{argument('cuts')} names {unknown[0]!r}, which is no column of the strata; these are "
            f"{listed([repr(name) for name in columns])}"
        )
        raise InputError(message)
    return [
        _bands(name, part, weight, cuts[name]) if name in cuts else number_names(part)
        for name, part in zip(columns, zip(*values, strict=True), strict=True)
    ]


def _bands(name: object, values: Sequence[Hashable], weight: Floats, cut: Any) -> Categories:
    """Number the bands of values: below the first cut point, from one to the next, or from the last one on."""
    try:
        found = np.array([float(value) for value in values])  # type: ignore[arg-type]  # the user's values
    except (TypeError, ValueError):
        message = f"{argument('cuts')} are for numbers, and the column {name!r} of the strata holds others"
        raise InputError(message) from None
    if isinstance(cut, int | np.integer) and not isinstance(cut, bool):
        points = _quantiles(found, weight, int(number("cuts", cut, 2, 1000, "it is a number of quantiles")))
    else:
        points = [number("cuts", point, -np.inf, np.inf, "it is a cut point") for point in np.atleast_1d(cut).tolist()]
        if not points or any(a >= b for a, b in pairwise(points)):
            message = f"{given('cuts', cut)} of {name!r} must be cut points that increase, or a number of quantiles"
            raise InputError(message)
    if not points:
        return Categories(("all",), np.zeros(len(found), dtype=np.int64))
    between = [f"{low:g} to below {high:g}" for low, high in pairwise(points)]
    names = [f"below {points[0]:g}", *between, f"{points[-1]:g} and more"]
    used, codes = np.unique(np.searchsorted(points, found, side="right"), return_inverse=True)
    return Categories(tuple(names[place] for place in used), codes.astype(np.int64))


def _quantiles(values: Floats, weight: Floats, count: int) -> list[float]:
    """Return the values at which about so many equal parts of the weight end; fewer where many rows are alike."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order]) - weight[order]
    wanted = weight.sum() * np.arange(1, count) / count
    places = np.minimum(np.searchsorted(below, wanted * (1 - 1e-12)), len(order) - 1)
    points = np.unique(values[order][places])
    return [float(point) for point in points if point > values.min()]
