"""From rows to the entries of a tally: of rows in memory, and of lazy frames, which their engine counts.

Both place a loss into its bin and measure its distance from the bin's lower edge by the same operations, each rounded
as the standard for floating point says. So wherever a row is counted, it counts for the same whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from fairbound.arithmetic.arrays import Integers
from fairbound.data.cells import Categories, declare, number_names
from fairbound.data.columns import Columns
from fairbound.data.counted import Rows, check_losses
from fairbound.data.dialects import computed
from fairbound.data.exact_sums import weight_column
from fairbound.data.frame_values import check_values, complete
from fairbound.data.frames import read_frame
from fairbound.data.lazy_frames import choose, explain, fetch_counts, incomplete, key_names, with_bin
from fairbound.data.loss_summary import BINS, MOST_BINS, bins_for, places_of
from fairbound.data.tally_cells import (
    BITS,
    LARGEST,
    MOST_ROWS,
    PARTS,
    UNIT_BITS,
    Bins,
    Cells,
    Entry,
    Key,
    exact_totals,
    together,
)
from fairbound.errors import InputError, argument

Lazy = nw.LazyFrame[Any]

#: The names that the engine gives to the sums of the parts.
PART_NAMES = tuple(range(PARTS + 1))

#: So many places are held at once, whether rows are there or not; of more only those with rows.
DENSE = 2**22


def count_frame_cells(frame: Any, columns: Columns) -> tuple[Columns, tuple[Cells, Cells], int]:
    """Count the cells of a frame, and its strata if it has some.

    Return also the columns, in which names have their types, and the rows that were left out.
    """
    found = read_frame(frame, columns)
    if isinstance(found, Rows):
        if columns.all_groups is not None:  # the rows know all names that were declared
            columns = replace(columns, all_groups=found.groups.names)
        if columns.all_labels is not None:
            columns = replace(columns, all_labels=found.labels.names)
        excluded, whole = found.excluded, _of_rows(found, columns, bins_of(columns))
        fine = _of_rows(found.by_strata(), columns.by_strata, _one_bin(columns)) if columns.strata else {}
    else:
        found, excluded = complete(found, columns)
        whole = _of_lazy(found, columns, bins_of(columns))
        fine = _of_lazy(found, columns.by_strata, _one_bin(columns)) if columns.strata else {}
    return columns, (whole, fine), excluded


def bins_of(columns: Columns) -> Bins | None:
    """Return the bins of a count, whose number follows from that of the cells if all are known."""
    if columns.prediction is not None:
        return None
    groups, labels = columns.all_groups, columns.all_labels
    return Bins(columns.ceiling, BINS if groups is None or labels is None else bins_for(len(groups) * len(labels)))


def _one_bin(columns: Columns) -> Bins | None:
    """Return the bin of the losses of a stratum, of which only the sum matters."""
    return None if columns.prediction is not None else Bins(columns.ceiling, 1)


def _of_rows(rows: Rows, columns: Columns, bins: Bins | None) -> Cells:
    """Count rows in memory by group, label, and predicted label or bin."""
    labels, groups = rows.labels, rows.groups
    cell = groups.codes * len(labels.names) + labels.codes
    if bins is None or not isinstance(rows.values, np.ndarray):
        predicted: Categories = rows.values  # type: ignore[assignment]  # without bins there are predicted labels
        keys: list[Key] = list(predicted.names)
        inside, losses = predicted.codes, None
    else:
        losses = rows.values
        check_losses(losses, bins.ceiling, columns.loss_name)
        keys = [(place, place) for place in range(bins.count)]
        inside = places_of(losses, bins.edges)
    place, codes = _numbered(cell * len(keys) + inside, len(groups.names) * len(labels.names) * len(keys))
    _check_size(len(place), columns, bins)
    count = np.bincount(codes, minlength=len(place)).tolist()
    weight = rows.weight
    if weight is not None:
        _check_weights(float(weight.max(initial=0.0)), len(weight))
    total = [n << UNIT_BITS for n in count] if weight is None else exact_totals(codes, weight, len(place))
    entries = [Entry(n, w) for n, w in zip(count, total, strict=True)]
    if losses is not None and bins is not None:
        above = (losses - bins.edges[inside]) * (1.0 if weight is None else weight) * (1.0 / bins.scale)
        extremes = np.stack([np.full(len(place), np.inf), np.full(len(place), -np.inf)])
        np.minimum.at(extremes[0], codes, losses)
        np.maximum.at(extremes[1], codes, losses)
        entries = [
            entry._replace(above=distance, least=least, most=most)
            for entry, distance, least, most in zip(
                entries, exact_totals(codes, above, len(place)), *extremes.tolist(), strict=True
            )
        ]
    found: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for at, entry in zip(place.tolist(), entries, strict=True):
        where, key = divmod(at, len(keys))
        group, label = divmod(where, len(labels.names))
        found.setdefault((groups.names[group], labels.names[label]), {})[keys[key]] = entry
    return found


def _numbered(place: Integers, size: int) -> tuple[Integers, Integers]:
    """Return the places that occur, and each row's number among them."""
    if size > DENSE:
        found, codes = np.unique(place, return_inverse=True)
        return found, codes
    used = np.bincount(place, minlength=size) > 0
    return np.flatnonzero(used), (np.cumsum(used) - 1)[place]


def _most(columns: Columns, bins: Bins | None) -> int:
    """Return how many entries there may be: about as many as bins in all, whatever the rows are."""
    if bins is None or columns.all_groups is None or columns.all_labels is None:
        return MOST_BINS
    return max(MOST_BINS, len(columns.all_groups) * len(columns.all_labels) * bins.count)


def _check_size(entries: int, columns: Columns, bins: Bins | None) -> None:
    """Refuse more entries than a tally is to have."""
    if entries > _most(columns, bins):
        message = (
            f"the tally has more than {MOST_BINS:,} entries; name all groups and labels there are with "
            f"{argument('groups')} and {argument('labels')}, so that bins can be as coarse as needed, or join groups"
        )
        raise InputError(message)


def _check_weights(heaviest: float, rows: int) -> None:
    """Refuse weights whose sums do not fit, or that are all rounded."""
    if heaviest * rows >= LARGEST or heaviest < 2.0**-BITS:
        message = (
            f"the weights of {rows:,} rows, up to {heaviest:g}, cannot be added up exactly; measure them in other "
            "units, such as their mean"
        )
        raise InputError(message)


def _of_lazy(frame: Lazy, columns: Columns, bins: Bins | None) -> Cells:
    """Let the engine of a lazy frame count the same."""
    names = key_names(columns)
    weight = {} if columns.weight is None else {"w": weight_column(columns.weight)}
    chosen = choose(frame, columns, weight)
    if bins is None:
        counted, inside = chosen, ["p"]
    else:
        counted, inside = _binned(chosen, bins, weighted=bool(weight)), ["k", "least", "most"]
    if weight:
        counted = counted.with_columns(**_parts(nw.col("w"), "w"))
    sums = [f"{name}{i}" for name in ("a" * (bins is not None), "w" * bool(weight)) if name for i in PART_NAMES]
    loss = [] if bins is None else [nw.col("loss").min().alias("least"), nw.col("loss").max().alias("most")]
    extremes = [] if not weight else [nw.col("w").min().alias("lightest"), nw.col("w").max().alias("heaviest")]
    query = counted.group_by(*names, inside[0]).agg(
        nw.len().alias("n"), *(nw.col(name).sum() for name in sums), *loss, *extremes
    )
    found = fetch_counts(frame, columns, query.head(_most(columns, bins) + 1))
    _check_size(len(found), columns, bins)
    if not len(found) or incomplete(found, [*names, *inside]):
        explain(frame, columns)
    data = {name: found[name].to_list() for name in found.columns}
    _check_found(frame, columns, data, bins)
    cells: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for at, n in enumerate(map(int, data["n"])):
        group = tuple(data[name][at] for name in names[1:])
        total = n << UNIT_BITS if not weight else together([data[f"w{i}"][at] for i in PART_NAMES])
        entry = Entry(n, total)
        key: Key = data["p"][at] if bins is None else None
        if bins is not None:
            place = bins.count - int(data["k"][at])
            key = place, place
            above = together([data[f"a{i}"][at] for i in PART_NAMES])
            entry = Entry(n, total, above, float(data["least"][at]), float(data["most"][at]))
        cells.setdefault((group if len(group) > 1 else group[0], data["y"][at]), {})[key] = entry
    for place, (name, declared) in enumerate((("groups", columns.all_groups), ("labels", columns.all_labels))):
        declare(name, number_names([cell[place] for cell in cells]), declared)
    return cells


def _binned(chosen: Lazy, bins: Bins, *, weighted: bool) -> Lazy:
    """Add the number k of each loss's bin, counted from above, and the parts of its distance from the lower edge."""
    top, loss, k = bins.ceiling, nw.col("loss"), nw.col("k")
    share = 1.0 / bins.count**2  # a power of two, like the number of bins: nothing is rounded but the last product
    guessed = computed(with_bin(chosen, top, bins.count).with_columns(k=k.cast(nw.Float64)))
    lower, upper = top * (1.0 - k * k * share), top * (1.0 - (k - 1.0) * (k - 1.0) * share)
    mended = nw.when(loss < lower).then(k + 1.0).otherwise(nw.when(loss >= upper).then(k - 1.0).otherwise(k))
    placed = guessed.with_columns(k=mended)
    placed = computed(placed.with_columns(k=nw.when(k < 1.0).then(nw.lit(1.0)).otherwise(k)))
    distance = (loss - top * (1.0 - k * k * share)) * (nw.col("w") if weighted else 1.0) * (1.0 / bins.scale)
    return computed(computed(placed.with_columns(a=distance)).with_columns(**_parts(nw.col("a"), "a")))


def _parts(value: nw.Expr, name: str) -> dict[str, nw.Expr]:
    """Cut a number as ``in_parts`` does; one that is out of range is seen elsewhere, and must not stop the engine."""
    value = nw.when((value >= 0.0) & (value < LARGEST / 2)).then(value).otherwise(nw.lit(0.0))
    whole = value.floor()
    found, rest = [whole], value - whole
    for part in range(PARTS):
        rest = rest * 2.0**BITS
        whole = rest.ceil() if part == PARTS - 1 else rest.floor()
        rest = rest - whole
        found.append(whole)
    return {f"{name}{i}": whole.cast(nw.Int64) for i, whole in enumerate(found)}


def _check_found(frame: Lazy, columns: Columns, data: dict[str, list[Any]], bins: Bins | None) -> None:
    """Refuse losses out of range, and weights that are missing or that cannot be added up exactly."""
    if bins is not None and not (min(data["least"]) >= 0 and max(data["most"]) <= bins.ceiling):
        explain(frame, columns)
    if max(map(int, data["n"])) > MOST_ROWS:
        message = f"a bin has more than {MOST_ROWS:,} rows; count the table in parts, and add the tallies up"
        raise InputError(message)
    if columns.weight is not None:
        extremes = [*data["lightest"], *data["heaviest"]]
        if not all(0 <= value < math.inf for value in extremes) or not max(extremes) > 0:
            check_values(frame, columns)
        heaviest = max(extremes)
        _check_weights(heaviest, sum(map(int, data["n"])))
