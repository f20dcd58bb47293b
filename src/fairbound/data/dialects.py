"""What an engine is told in its own words, where the common ones fail or are slow in it."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw

Lazy = nw.LazyFrame[Any]
Either = nw.LazyFrame[Any] | nw.DataFrame[Any]

#: Engines behind Ibis that put formulas in the place of columns.
SUBSTITUTING = ("postgres", "sqlite")
#: More rows than any table has.
ALL = 2**62


def backend(frame: Either) -> str:
    """Return the name of the engine that Ibis sends queries to; nothing for frames of other libraries."""
    return str(frame.to_native().get_backend().name) if frame.implementation.is_ibis() else ""


def knows_nan(frame: Either) -> bool:
    """Whether the engine can tell NaN from other numbers. SQLite cannot: it stores NULL in its place."""
    return backend(frame) != "sqlite"


def with_root(frame: Lazy, name: str, expression: nw.Expr) -> Lazy:
    """Add the square root of the absolute value, rounded up to a whole number, in whichever type is quick.

    Narwhals looks for negative numbers all the same, which takes a tenth of the time in DuckDB. Spark computes its
    formula several times over and compares keys in double precision slowly: half of its time.
    """
    kind = frame.implementation
    if kind.is_pyspark() or kind.is_pyspark_connect():
        others = frame.collect_schema().names()
        added = frame.with_columns(expression.alias("squared")).to_native()
        return nw.from_native(added.selectExpr(*others, f"ceil(sqrt(abs(squared))) AS {name}"))
    if not (kind.is_duckdb() or kind.is_ibis()):
        return frame.with_columns(expression.abs().sqrt().ceil().cast(nw.Float64).alias(name))
    added = frame.with_columns(expression.alias(name)).to_native()
    if kind.is_ibis():
        return nw.from_native(added.mutate(**{name: added[name].abs().sqrt().ceil()}))
    duckdb = nw.get_native_namespace(frame)
    call, column = duckdb.FunctionExpression, duckdb.ColumnExpression
    root = call("ceil", call("sqrt", call("abs", column(name))))
    return nw.from_native(added.select(duckdb.StarExpression(exclude=[name]), root.alias(name)))


def with_logarithms(frame: Lazy, names: dict[str, str]) -> Lazy:
    """Add columns that hold the natural logarithms of others, which are not negative: minus infinity for 0.

    Ibis knows a logarithm to any base, for which PostgreSQL turns numbers into decimals, hundreds of times slower.
    """
    if not frame.implementation.is_ibis():
        return frame.with_columns(**{name: nw.col(column).log() for name, column in names.items()})
    ibis: Any = nw.get_native_namespace(frame)
    native = computed(frame).to_native()
    logarithms = {
        name: ibis.cases((native[column] > 0, native[column].ln()), else_=ibis.literal(-math.inf))
        for name, column in names.items()
    }
    return computed(nw.from_native(native.mutate(**logarithms)))


def computed(frame: Lazy) -> Lazy:
    """Have the columns computed here, once for each row, by engines that would put their formulas wherever they occur.

    A table with a limit is what keeps them from it. PostgreSQL then does not know either how many different values the
    columns of a formula have, from which it would conclude that each row is a group, and sort all of them.
    """
    return frame.head(ALL) if backend(frame) in SUBSTITUTING else frame
