"""What an engine is told in its own words, where the common ones fail or are slow in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import narwhals as nw

Lazy = nw.LazyFrame[Any]
Either = nw.LazyFrame[Any] | nw.DataFrame[Any]

#: Natural logarithm of a positive number; largest whole number below; root of the absolute value, rounded up.
Function = Literal["ln", "floor", "root"]
#: The same in the words of DuckDB and Spark, and in those of all others.
SQL = {"ln": "ln({})", "floor": "CAST(floor({}) AS double)", "root": "ceil(sqrt(abs({})))"}
COMMON: dict[Function, Callable[[nw.Expr], nw.Expr]] = {
    "ln": lambda x: x.log(),
    "floor": lambda x: x.floor().cast(nw.Float64),
    "root": lambda x: x.abs().sqrt().ceil().cast(nw.Float64),
}
#: Engines behind Ibis whose whole numbers can stay floats.
FLOATING = ("duckdb", "postgres")
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


def applied(frame: Lazy, function: Function, names: dict[str, str]) -> Lazy:
    """Add columns that hold a function of others, named by columns, in the words that are quick in the engine.

    Narwhals guards roots and logarithms against numbers that do not occur here; in DuckDB that shows. Ibis makes
    integers of whole numbers, which each use turns back, and in PostgreSQL decimals of logarithms, hundreds of times
    slower. Spark computes its formulas several times over.
    """
    kind, native = frame.implementation, frame.to_native()
    words = [f"{SQL[function].format(column)} AS {name}" for name, column in names.items()]
    if kind.is_pyspark() or kind.is_pyspark_connect():
        return nw.from_native(native.selectExpr("*", *words))
    if kind.is_duckdb():
        return nw.from_native(native.project(", ".join(["*", *words])))
    if kind.is_ibis():
        call = _in_ibis(nw.get_native_namespace(frame), function, backend(frame) in FLOATING)
        native = computed(frame).to_native()
        return computed(nw.from_native(native.mutate(**{name: call(native[x]) for name, x in names.items()})))
    return frame.with_columns(**{name: COMMON[function](nw.col(column)) for name, column in names.items()})


def _in_ibis(ibis: Any, function: Function, floating: bool) -> Callable[[Any], Any]:
    """Return the function of a column of Ibis."""

    def whole(name: str) -> Callable[[Any], Any]:
        builtin = ibis.udf.scalar.builtin
        own: Callable[[Any], Any] = builtin(lambda x: x, name=name, signature=(("float64",), "float64"))
        return own if floating else lambda column: getattr(column, name)().cast("float64")

    if function == "ln":
        return lambda column: column.ln()
    return whole("floor") if function == "floor" else lambda column: whole("ceil")(column.abs().sqrt())


def computed(frame: Lazy) -> Lazy:
    """Have the columns computed here, once for each row, by engines that would put their formulas wherever they occur.

    A table with a limit is what keeps them from it. PostgreSQL then does not know either how many different values the
    columns of a formula have, from which it would conclude that each row is a group, and sort all of them.
    """
    return frame.head(ALL) if backend(frame) in SUBSTITUTING else frame
