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
from fairbound.data.cells import Categories, at_least_two, number_names
from fairbound.data.collected_frames import declared_order
from fairbound.data.columns import Columns
from fairbound.data.counted import COLLECT, Counted
from fairbound.data.dialects import applied, computed
from fairbound.data.exact_sums import Cut, careful_cut, guessed_cut, weight_column
from fairbound.data.frame_values import check_sums, check_values, complete, fetch, missing_in, number
from fairbound.data.lazy_losses import loss_columns, with_loss
from fairbound.data.loss_summary import BINS, MOST_BINS, LossTable, bin_edges, bins_for, pack
from fairbound.data.predicted import count_predicted
from fairbound.errors import InputError, argument

Lazy = nw.LazyFrame[Any]
Found = nw.DataFrame[Any]

#: If no loss exceeds this share of the ceiling, the bins are laid below the largest loss instead, in another pass.
SPARSE = 1 / 64

#: So many bins come back only if there are more cells than can have as many bins as we want.
FITTING = MOST_BINS // BINS * (BINS + 1) + 1


def count_lazy(frame: Lazy, columns: Columns) -> Counted:
    """Count the cells of a lazy frame and summarise their losses, inside its engine."""
    frame, excluded = complete(frame, columns)
    cut = guessed_cut(frame, columns)
    found, top, bins, weight = _counted(frame, columns, cut)
    if weight is None:
        found, top, bins, weight = _counted(frame, columns, careful_cut(frame, columns))
    if weight is None:
        message = f"the weights are too many or too unequal to be added up exactly; {COLLECT}"
        raise InputError(message)
    labels, groups = _names(frame, columns, found)
    if columns.prediction is not None:
        named = number_names(found["p"].to_list(), declared_order(frame, str(columns.prediction)))
        predicted = count_predicted(columns.align(labels, named), labels, groups, weight)
        table = predicted.errors
    else:
        predicted, table = None, _table(found, weight, bin_edges(top, bins), groups, labels)
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


def key_names(columns: Columns) -> list[str]:
    """Return names of our own for the columns of label and groups."""
    return ["y", *(f"g{place}" for place in range(len(columns.groups)))]


def choose(frame: Lazy, columns: Columns, others: dict[str, nw.Expr]) -> Lazy:
    """Return the label, the groups, the predicted label ``p`` or the ``loss``, and others, under names of our own."""
    keys = dict(zip(key_names(columns), map(nw.col, (columns.label, *columns.groups)), strict=True))
    if columns.losses is not None:
        values = {"loss": number(columns.losses)}
    elif columns.prediction is not None:
        values = {"p": _prediction(frame, columns, columns.prediction)}
    else:
        values = loss_columns(columns, _named(frame, columns))
    chosen = frame.select(*(value.alias(key) for key, value in (keys | values | others).items()))
    return with_loss(computed(chosen), columns) if columns.probability else chosen


def _counted(frame: Lazy, columns: Columns, cut: Cut | None) -> tuple[Found, float, int, Floats | None]:
    """Run the query; return its bins, where they end, how many there are, and their weights, if sure to be exact."""
    names = key_names(columns)
    chosen = choose(frame, columns, {} if cut is None else {"w": weight_column(cut.column)})
    if cut is not None:
        chosen = cut.cut_up(chosen)
    if columns.prediction is not None:
        found, top, bins = _count_predictions(frame, columns, chosen, names, cut), columns.ceiling, BINS
    else:
        found, top, bins = _histogram(frame, columns, chosen, names, cut)
    if cut is None:
        return found, top, bins, found["n"].to_numpy().astype(np.float64)
    if cut.suspicious(found):
        check_values(frame, columns)
    return found, top, bins, cut.total(found)


def _prediction(frame: Lazy, columns: Columns, name: str) -> nw.Expr:
    """Return the predicted label."""
    schema, prediction = frame.collect_schema(), nw.col(name)
    if schema[name].is_float() and not schema[columns.label].is_float():
        # One number stands for all that cannot be labels: probabilities given by mistake would be a group each.
        prediction = nw.when(prediction != prediction.floor()).then(nw.lit(0.5)).otherwise(prediction)
    return prediction


def _count_predictions(frame: Lazy, columns: Columns, chosen: Lazy, names: list[str], cut: Cut | None) -> Found:
    """Count the rows of each group, label and predicted label."""
    weights = [] if cut is None else cut.aggregates()
    found = fetch_counts(frame, columns, chosen.group_by(*names, "p").agg(nw.len().alias("n"), *weights))
    if incomplete(found, [*names, "p"]):
        check_values(frame, columns)
    return found


def _histogram(
    frame: Lazy, columns: Columns, chosen: Lazy, names: list[str], cut: Cut | None
) -> tuple[Found, float, int]:
    """Count the rows of each group, label and bin of the loss; return also where the bins end, and their number.

    Their number follows from that of the cells (``bins_for``), which is known afterwards: few tables have so many that
    the bins become coarser. No more bins than that leave the engine.
    """
    top = columns.ceiling
    if not math.isfinite(top):
        largest = fetch(chosen.select(nw.col("loss").max())).item()
        top = float(largest) if largest is not None and 0 < largest < math.inf else 1.0
    bins, found = BINS, fetch_counts(frame, columns, _bins(chosen, names, top, BINS, cut).head(FITTING))
    cells = found if len(found) < FITTING else fetch(chosen.group_by(*names).agg(nw.len().alias("n")))
    groups, labels = len(cells.select(names[1:]).unique()), len(cells.select(names[:1]).unique())
    if (count := bins_for(max(1, groups * labels))) < bins:
        bins, found = count, fetch(_bins(chosen, names, top, count, cut))
    largest = _largest(frame, columns, names, found, top)
    if 1e-30 < largest < SPARSE * top:
        top = largest
        found = fetch(_bins(chosen, names, top, bins, cut))
    return found, top, bins


def fetch_counts(frame: Lazy, columns: Columns, query: Lazy) -> Found:
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
    if columns.all_labels is not None:
        return columns.named(columns.all_labels)
    labels = _distinct(frame, columns.label)
    if not len(labels) or incomplete(labels, ["y"]):
        check_values(frame, columns)
    found = number_names(labels["y"].to_list(), declared_order(frame, columns.label))
    at_least_two(f"column {columns.label!r}", "label", found)
    return columns.named(found.names)


def _distinct(frame: Lazy, name: str) -> Found:
    """Return the distinct values of a column. Ibis does not know ``unique`` in Polars, but it can count."""
    return fetch(frame.select(nw.col(name).alias("y")).group_by("y").agg(nw.len().alias("n")))


def _bins(chosen: Lazy, names: list[str], top: float, bins: int, cut: Cut | None) -> Lazy:
    """Return the query. Bin k holds losses from ``top (1 - (k/B)^2)`` to ``top (1 - ((k-1)/B)^2)``, as for arrays."""
    scale = top / bins**2
    loss, k = nw.col("loss"), nw.col("k").cast(nw.Float64)
    above = loss - (top - scale * (k * k))
    binned = with_bin(chosen, top, bins).with_columns(above=above if cut is None else above * nw.col("w"))
    return (
        computed(binned)
        .group_by(*names, "k")
        .agg(
            nw.len().alias("n"),
            nw.col("above").sum(),
            loss.min().alias("least"),
            loss.max().alias("most"),
            *([] if cut is None else cut.aggregates()),
        )
    )


def with_bin(chosen: Lazy, top: float, bins: int) -> Lazy:
    """Add the number k of the bin, whatever it is for losses above the top: these are seen in the largest loss."""
    share = (top - nw.col("loss")) * (1.0 / (top / bins**2))
    return applied(chosen.with_columns(share=share), "root", {"k": "share"})


def _largest(frame: Lazy, columns: Columns, names: list[str], found: Found, top: float) -> float:
    """Return the largest loss; refuse what cannot be binned, after finding out what it is."""
    if not len(found) or incomplete(found, [*names, "k"]):
        explain(frame, columns)
    least, most = found["least"].to_numpy(), found["most"].to_numpy()
    if not ((least >= 0) & (most <= top)).all():
        explain(frame, columns)
    return float(most.max())


def explain(frame: Lazy, columns: Columns) -> None:
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


def incomplete(found: Found, keys: list[str]) -> bool:
    """Whether a row lacks a value: engines give such rows a group of their own."""
    return any(found.select(missing_in(found, key).any() for key in keys).row(0))


def _names(frame: Lazy, columns: Columns, found: Found) -> tuple[Categories, Categories]:
    """Number labels and groups."""
    labels = columns.number_labels(number_names(found["y"].to_list(), declared_order(frame, columns.label)))
    if columns.probability:
        columns.named(labels.names)
    found_groups = [
        number_names(found[f"g{index}"].to_list(), declared_order(frame, name))
        for index, name in enumerate(columns.groups)
    ]
    return labels, columns.number_groups(found_groups)


def _table(found: Found, weight: Floats, edges: Floats, groups: Categories, labels: Categories) -> LossTable:
    """Return the losses of the cells from the bins.

    Rounding may put losses a little outside the edges of their bin. Then the bin is widened. Below, by twice as much as
    needed: if no distance t was less than -d, then |t| <= t + 2d, so that the sum of the distances from the new edge
    bounds the sum of the |t|, and has the same relative error as if no t had been negative.
    """
    k, rows, above, least, most = (
        found[name].to_numpy().astype(np.float64) for name in ("k", "n", "above", "least", "most")
    )
    top, bins = float(edges[-1]), len(edges) - 1
    scale = top / bins**2
    edge, next_edge = top - scale * (k * k), top - scale * ((k - 1) * (k - 1))
    # A bin of one distinct loss is that loss, unless rounding has put it into another bin than arrays would.
    single: Booleans = (least == most) & (np.searchsorted(edges, least, side="right") == bins + 1 - k)
    low = np.where(single, least, edge - 2.0 * np.maximum(edge - least, 0.0))
    high = np.where(single, least, np.maximum(next_edge, most))
    above = above + weight * (edge - low)
    used = weight > 0
    whole = np.where(single | ~used, 1.0, weight * (high - low))
    to_high = np.where(single, 0.0, np.clip(above / whole, 0.0, 1.0))
    cell = groups.codes * len(labels.names) + labels.codes
    packed = np.stack([low, high, weight, 1.0 - to_high, to_high, np.where(single, 1.0, rows)])
    order = np.lexsort((high, low, cell))
    order = order[used[order]]
    shape = len(groups.names), len(labels.names)
    ends = np.cumsum(np.bincount(cell[order], minlength=shape[0] * shape[1]))
    return pack(np.split(packed[:, order], ends[:-1], axis=1), shape)
