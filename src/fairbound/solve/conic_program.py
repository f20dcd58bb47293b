"""A conic program as it grows, and the solver that it goes to."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.errors import InputError, argument

ACCURACY = 1e-10

#: Rows, columns and values of entries of the matrix, alike in shape.
Entry = tuple[Integers, Integers, Floats]


def conic_solver() -> tuple[ModuleType, ModuleType]:
    """Import Clarabel and the sparse matrices that it reads."""
    try:
        import clarabel  # noqa: PLC0415 (an optional extra)
        from scipy import sparse  # noqa: PLC0415 (comes with it)
    except ImportError:
        message = (
            f"{argument('divergence')}: distances other than 'hellinger' need a conic solver, and Clarabel is not "
            "installed; install it with: pip install clarabel"
        )
        raise InputError(message) from None
    return clarabel, sparse


class ConicProgram:
    """A program as it grows: columns with their costs, and rows: ``right - matrix · x`` has to lie in the cones."""

    def __init__(self) -> None:
        self._costs: list[Floats] = []
        self._entries: list[Entry] = []
        self._right: list[Floats] = []
        self.columns = 0
        self.rows = 0

    def add_columns(self, cost: Floats | float, count: int) -> Integers:
        """Add variables; return where they are."""
        self._costs.append(np.full(count, cost, dtype=np.float64))
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add_rows(self, right: Floats, *entries: Entry) -> slice:
        """Add rows with these right-hand sides; entries are (row within the block, column, value), alike in shape."""
        self._entries += [(row + self.rows, column, value) for row, column, value in entries]
        self._right.append(right)
        self.rows += len(right)
        return slice(self.rows - len(right), self.rows)

    def lower_instead(self, column: Integers) -> None:
        """Ask for the least value of a column at which what was the cost is not positive."""
        cost = np.concatenate(self._costs)
        some = np.flatnonzero(cost)
        self.add_rows(np.zeros(1), (np.zeros_like(some), some, cost[some]))
        self._costs = [np.where(np.arange(self.columns) == column, 1.0, 0.0)]

    def solve(self, cones: Callable[[ModuleType], list[Any]]) -> tuple[Floats, Floats, bool]:
        """Return the variables, the multipliers of the rows, and whether the solver is content with them."""
        clarabel, sparse = conic_solver()
        row, column, value = (
            np.concatenate([part.reshape(-1) for part in parts]) for parts in zip(*self._entries, strict=True)
        )
        size = self.columns
        matrix = sparse.csc_matrix((value, (row, column)), shape=(self.rows, size))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.direct_solve_method = "qdldl"  # one thread, the same on every machine
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
        cost, right = np.concatenate(self._costs), np.concatenate(self._right)
        empty = sparse.csc_matrix((size, size))
        solution = clarabel.DefaultSolver(empty, cost, matrix, right, cones(clarabel), settings).solve()
        return np.array(solution.x), np.array(solution.z), str(solution.status) in {"Solved", "AlmostSolved"}


def alike(rows: Integers, columns: Integers | np.int64, value: float) -> Entry:
    """Return entries of one value."""
    return rows, np.broadcast_to(columns, rows.shape), np.full(rows.shape, value)
