"""Losses as expressions that a data frame's engine evaluates; the formulas are those of ``losses``."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw

from fairbound.data.columns import Columns
from fairbound.data.dialects import applied, computed
from fairbound.data.frame_values import SUM_TOLERANCE, number
from fairbound.errors import InputError, argument

#: Stands for a loss that cannot be computed because a probability is missing or is none.
INVALID = -1.0


def loss_columns(columns: Columns, named: Mapping[Any, str]) -> dict[str, nw.Expr]:
    """Return what :func:`with_loss` needs of a row, from its label and the probabilities in the named columns."""
    if not columns.built_in:
        message = (
            f"the loss {columns.loss_name!r} is a Python function, which a lazy frame's engine cannot run; collect the "
            f"frame first, or compute a column of losses and pass {argument('losses')}="
        )
        raise InputError(message)
    label = nw.col(columns.label)
    parts = {name: number(column) for name, column in named.items()}
    if len(parts) == 1 and columns.loss_name in QUICK and not columns.clipped:
        ((positive, p),) = parts.items()
        return {"loss": QUICK[columns.loss_name](nw.when(label == nw.lit(positive)).then(1.0 - p).otherwise(p))}
    valid = functools.reduce(operator.and_, ((p >= 0.0) & (p <= 1.0) for p in parts.values()))
    if len(parts) == 1:
        ((positive, p),) = parts.items()
        truth = nw.when(label == nw.lit(positive)).then(p).otherwise(1.0 - p)
        squares = p * p + (1.0 - p) * (1.0 - p)
    else:
        truth = nw.lit(None, dtype=nw.Float64)  # a label without a column, which is refused when labels are known
        for name, p in parts.items():
            truth = nw.when(label == nw.lit(name)).then(p).otherwise(truth)
        squares = functools.reduce(operator.add, (p * p for p in parts.values()))
        valid &= (functools.reduce(operator.add, parts.values()) - 1.0).abs() <= SUM_TOLERANCE
    # Of what is no probability the engine may know no logarithm.
    found: dict[str, nw.Expr] = {"truth": nw.when(valid).then(truth)}
    return found | {"squares": squares} if columns.loss_name == "brier" else found


def with_loss(frame: nw.LazyFrame[Any], columns: Columns) -> nw.LazyFrame[Any]:
    """Add the losses to a frame that has their columns."""
    if "loss" in frame.collect_schema().names():
        return frame
    frame, formula = FORMULAS[columns.loss_name](frame)
    top = columns.ceiling if math.isfinite(columns.ceiling) else None
    loss, frame = nw.col("loss"), computed(frame.with_columns(loss=formula))
    mended = loss if top is None else nw.when(loss > top).then(nw.lit(top)).otherwise(loss)
    mended = nw.when(loss < 0.0).then(nw.lit(0.0)).otherwise(mended)
    known = ~nw.col("truth").is_null()
    return computed(frame.with_columns(loss=nw.when(known).then(mended).otherwise(nw.lit(INVALID))))


Formula = tuple[nw.LazyFrame[Any], nw.Expr]


def _brier(frame: nw.LazyFrame[Any]) -> Formula:
    return frame, 0.5 * (nw.col("squares") - 2.0 * nw.col("truth") + 1.0)


def _jsd(frame: nw.LazyFrame[Any]) -> Formula:
    truth, middle = nw.col("truth"), 0.5 * (1.0 + nw.col("truth"))
    frame = frame.with_columns(middle=middle, quotient=_positive(truth / middle))
    frame = applied(frame, "ln", {"log_middle": "middle", "log_quotient": "quotient"})
    own = truth * (nw.col("log_quotient") / LOG_2)
    return frame, 0.5 * (own + (1.0 - truth) - nw.col("log_middle") / LOG_2)


def _absolute(frame: nw.LazyFrame[Any]) -> Formula:
    return frame, 1.0 - nw.col("truth")


def _cross_entropy(frame: nw.LazyFrame[Any]) -> Formula:
    truth = nw.col("truth")
    frame = applied(frame.with_columns(positive=_positive(truth)), "ln", {"log_truth": "positive"})
    return frame, nw.when(truth <= 0.0).then(nw.lit(math.inf)).otherwise(0.0 - nw.col("log_truth"))


def _positive(value: nw.Expr) -> nw.Expr:
    """Return 1 in the place of 0, and of what is missing: engines know no logarithm of it."""
    return nw.when(value > 0.0).then(value).otherwise(nw.lit(1.0))


LOG_2 = math.log(2.0)

#: From the probability of the true label, and the sum of all squares, to the loss.
FORMULAS: dict[str, Callable[[nw.LazyFrame[Any]], Formula]] = {
    "brier": _brier,
    "jsd": _jsd,
    "absolute": _absolute,
    "cross_entropy": _cross_entropy,
}

#: From the probability of the wrong label of two to the loss. Of a probability out of range they make a loss out of
#: range, and of a missing one a missing one, so that nothing has to be compared beforehand.
QUICK: dict[str, Callable[[nw.Expr], nw.Expr]] = {
    "brier": lambda wrong: wrong * wrong.abs(),
    "absolute": lambda wrong: wrong,
}
