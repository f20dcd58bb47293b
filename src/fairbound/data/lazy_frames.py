"""Lazy frames: their own engine groups and counts; only a histogram of each cell's losses comes back.

The engine adds in an order that is not known, so what it returns has to stay true whatever the order:

* Numbers of rows, and the least and largest loss of a bin, have no rounding error.
* Of the losses, distances to the lower edge of their bin are added up: non-negative terms, whose sum of n has a
  relative error of at most n u in any order. ``LossTable`` allows for that.
* Weights are cut into whole numbers and a tiny rest, whose sums are exact (``engine_weights`` says why). So the sum of
  the weights is rounded once, as it is for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import narwhals as nw
import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.data.cells import Categories, at_least_two, intersect, number_names
from fairbound.data.collected_frames import declared_order
from fairbound.data.columns import Columns
from fairbound.data.counted import COLLECT, Counted
from fairbound.data.dialects import computed, with_root
from fairbound.data.exact_sums import Cut, careful_cut, guessed_cut
from fairbound.data.frame_values import check_sums, check_values, count_rows, fetch, missing_in, number, without_missing
from fairbound.data.lazy_losses import loss_columns, with_loss
from fairbound.data.loss_summary import BINS, LossTable, bin_edges, pack
from fairbound.data.predicted import count_predicted
from fairbound.data.predictions import aligned
from fairbound.errors import InputError, argument

Lazy = nw.LazyFrame[Any]
Found = nw.DataFrame[Any]

#: If no loss exceeds this share of the ceiling, the bins are laid below the largest loss instead, in another pass.
SPARSE = 1 / 64


def count_lazy(frame: Lazy, columns: Columns) -> Counted:
    """Count the cells of a lazy frame and summarise their losses, inside its engine."""
    excluded = 0
    if columns.missing == "drop":
        before = count_rows(frame)
        frame = without_missing(frame, columns)
        excluded = before - count_rows(frame)
    cut = guessed_cut(frame, columns)
    found, top, weight = _counted(frame, columns, cut)
    if weight is None:
        found, top, weight = _counted(frame, columns, careful_cut(frame, columns))
    if weight is None:
        message = f"the weights are too many or too unequal to be added up exactly; {COLLECT}"
        raise InputError(message)
    labels, groups = _names(frame, columns, found)
    if columns.prediction is not None:
        named = number_names(found["p"].to_list(), declared_order(frame, str(columns.prediction)))
        codes = aligned(f"column {columns.label!r}", labels, f"column {columns.prediction!r}", named)
        predicted = count_predicted(codes, labels, groups, weight)
        table = predicted.errors
    else:
        predicted, table = None, _table(found, weight, top, groups, labels)
    return Counted(
        groups.names,
        labels.names,
        table,
        columns.ceiling,
        int(found["n"].sum()),
        columns.loss_name,
        excluded,
        columns.weight is not None,
        predicted,
    )


def _key_expressions(columns: Columns) -> tuple[list[str], list[nw.Expr]]:
    """Return names of our own for the columns of groups and label, and what they hold."""
    keys = {"y": columns.label} | {f"g{i}": name for i, name in enumerate(columns.groups)}
    return list(keys), [nw.col(name).alias(key) for key, name in keys.items()]


def _counted(frame: Lazy, columns: Columns, cut: Cut | None) -> tuple[Found, float, Floats | None]:
    """Run the query; return its bins, the loss at which they end, and their weights, if these are sure to be exact."""
    names, keys = _key_expressions(columns)
    parts = {} if cut is None else cut.parts()
    values = _values(frame, columns)
    chosen = frame.select(*keys, *(value.alias(key) for key, value in (values | parts).items()))
    if columns.prediction is not None:
        found, top = _count_predictions(frame, columns, chosen, names, cut), columns.ceiling
    else:
        if columns.loss is None:
            chosen = with_loss(computed(chosen), columns)
        found, top = _histogram(frame, columns, chosen, names, cut)
    if cut is None:
        return found, top, found["n"].to_numpy().astype(np.float64)
    if cut.suspicious(found):
        check_values(frame, columns)
    return found, top, cut.total(found)


def _values(frame: Lazy, columns: Columns) -> dict[str, nw.Expr]:
    """Return what the rows of a cell are told apart by: the predicted label or the loss, or what that is made of."""
    if columns.loss is not None:
        return {"loss": number(columns.loss)}
    if columns.prediction is None:
        return loss_columns(columns, _named(frame, columns))
    schema = frame.collect_schema()
    prediction = nw.col(columns.prediction)
    if schema[columns.prediction].is_float() and not schema[columns.label].is_float():
        # One number stands for all that cannot be labels: probabilities given by mistake would be a group each.
        prediction = nw.when(prediction != prediction.floor()).then(nw.lit(0.5)).otherwise(prediction)
    return {"p": prediction}


def _count_predictions(frame: Lazy, columns: Columns, chosen: Lazy, names: list[str], cut: Cut | None) -> Found:
    """Count the rows of each group, label and predicted label."""
    weights = [] if cut is None else cut.aggregates()
    found = _fetch_counts(frame, columns, chosen.group_by(*names, "p").agg(nw.len().alias("n"), *weights))
    if _incomplete(found, [*names, "p"]):
        check_values(frame, columns)
    return found


def _histogram(frame: Lazy, columns: Columns, chosen: Lazy, names: list[str], cut: Cut | None) -> tuple[Found, float]:
    """Count the rows of each group, label and bin of the loss; return also the loss at which the bins end."""
    top = columns.ceiling
    if not math.isfinite(top):
        largest = fetch(chosen.select(nw.col("loss").max())).item()
        top = float(largest) if largest is not None and 0 < largest < math.inf else 1.0
    found = _fetch_counts(frame, columns, _bins(chosen, names, top, cut))
    largest = _largest(frame, columns, names, found, top)
    if 1e-30 < largest < SPARSE * top:
        top = largest
        found = fetch(_bins(chosen, names, top, cut))
    return found, top


def _fetch_counts(frame: Lazy, columns: Columns, query: Lazy) -> Found:
    """Run the query; if the engine fails, look first for values that it may have failed at."""
    try:
        return fetch(query)
    except InputError:
        check_values(frame, columns)
        raise


def _named(frame: Lazy, columns: Columns) -> dict[Hashable, str]:
    """Return the column of each label; the labels are looked up only if their order matters."""
    if not columns.by_place:
        return columns.probability
    labels = _distinct(frame, columns.label)
    if not len(labels) or _incomplete(labels, ["y"]):
        check_values(frame, columns)
    found = number_names(labels["y"].to_list(), declared_order(frame, columns.label))
    at_least_two(f"column {columns.label!r}", "label", found)
    return columns.named(found.names)


def _distinct(frame: Lazy, name: str) -> Found:
    """Return the distinct values of a column. Ibis does not know ``unique`` in Polars, but it can count."""
    return fetch(frame.select(nw.col(name).alias("y")).group_by("y").agg(nw.len().alias("n")))


def _bins(chosen: Lazy, names: list[str], top: float, cut: Cut | None) -> Lazy:
    """Return the query. Bin k holds losses from ``top (1 - (k/B)^2)`` to ``top (1 - ((k-1)/B)^2)``, as for arrays."""
    scale = top / BINS**2
    loss, k = nw.col("loss"), nw.col("k")
    above = loss - (top - scale * (k * k))
    binned = with_root(chosen, "k", (top - loss) * (1.0 / scale))  # anything for losses above the top: _largest sees
    binned = computed(binned.with_columns(above=above if cut is None else above * nw.col("w")))
    return binned.group_by(*names, "k").agg(
        nw.len().alias("n"),
        nw.col("above").sum(),
        loss.min().alias("least"),
        loss.max().alias("most"),
        *([] if cut is None else cut.aggregates()),
    )


def _largest(frame: Lazy, columns: Columns, names: list[str], found: Found, top: float) -> float:
    """Return the largest loss; refuse what cannot be binned, after finding out what it is."""
    if not len(found) or _incomplete(found, [*names, "k"]):
        _explain(frame, columns)
    least, most = found["least"].to_numpy(), found["most"].to_numpy()
    if not ((least >= 0) & (most <= top)).all():
        _explain(frame, columns)
    return float(most.max())


def _explain(frame: Lazy, columns: Columns) -> None:
    """Say what is wrong with the values."""
    check_values(frame, columns)
    labels = _distinct(frame, columns.label)["y"].to_list()
    if columns.probability:
        columns.named(number_names(labels).names)
    check_sums(frame, columns)
    message = (
        f"the {columns.loss_name} loss of some rows is infinite: their true label was given probability 0; pass "
        f"{argument('clip')}"
    )
    raise InputError(message)


def _incomplete(found: Found, keys: list[str]) -> bool:
    """Whether a row lacks a value: engines give such rows a group of their own."""
    return any(found.select(missing_in(found, key).any() for key in keys).row(0))


def _names(frame: Lazy, columns: Columns, found: Found) -> tuple[Categories, Categories]:
    """Number labels and groups."""
    labels = number_names(found["y"].to_list(), declared_order(frame, columns.label))
    at_least_two(f"column {columns.label!r}", "label", labels)
    if columns.probability:
        columns.named(labels.names)
    groups = intersect(
        [
            number_names(found[f"g{index}"].to_list(), declared_order(frame, name))
            for index, name in enumerate(columns.groups)
        ]
    )
    at_least_two(f"column {' and '.join(map(repr, columns.groups))}", "group", groups)
    return labels, groups


def _table(found: Found, weight: Floats, top: float, groups: Categories, labels: Categories) -> LossTable:
    """Return the losses of the cells from the bins.

    Rounding may put losses a little outside the edges of their bin. Then the bin is widened. Below, by twice as much as
    needed: if no distance t was less than -d, then |t| <= t + 2d, so that the sum of the distances from the new edge
    bounds the sum of the |t|, and has the same relative error as if no t had been negative.
    """
    k, rows, above, least, most = (
        found[name].to_numpy().astype(np.float64) for name in ("k", "n", "above", "least", "most")
    )
    scale = top / BINS**2
    edge, next_edge = top - scale * (k * k), top - scale * ((k - 1) * (k - 1))
    # A bin of one distinct loss is that loss, unless rounding has put it into another bin than arrays would.
    single: Booleans = (least == most) & (np.searchsorted(bin_edges(top), least, side="right") == BINS + 1 - k)
    low = np.where(single, least, edge - 2.0 * np.maximum(edge - least, 0.0))
    high = np.where(single, least, np.maximum(next_edge, most))
    above = above + weight * (edge - low)
    used = weight > 0
    whole = np.where(single | ~used, 1.0, weight * (high - low))
    to_high = np.where(single, 0.0, np.clip(above / whole, 0.0, 1.0))
    cell = groups.codes * len(labels.names) + labels.codes
    bins = np.stack([low, high, weight, 1.0 - to_high, to_high, np.where(single, 1.0, rows)])
    order = np.lexsort((high, low, cell))
    order = order[used[order]]
    shape = len(groups.names), len(labels.names)
    ends = np.cumsum(np.bincount(cell[order], minlength=shape[0] * shape[1]))
    return pack(np.split(bins[:, order], ends[:-1], axis=1), shape)
