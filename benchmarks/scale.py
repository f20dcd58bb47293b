"""How the cost grows with groups, labels and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from benchmarks.problems import random_cells
from benchmarks.table import Table, note, seconds, times
from benchmarks.timing import timed
from fairbound import Population, certify, nearest_fair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairbound import Certificate

Shift = Literal["general", "sensitive"]

SEED = 7
BINS = 1000
# Parameters of the Beta distribution of the loss in each cell, groups by rows.
SHAPES = {(0, 0): (1.0, 9.0), (0, 1): (2.0, 3.0), (1, 0): (0.5, 12.0), (1, 1): (3.0, 3.5)}


def run(quick: bool) -> None:
    """Print the tables of this part."""
    _cells(quick)
    _rows(10**5 if quick else 10**6)


def _cells(quick: bool) -> None:
    table = Table(
        "Many cells, 0-1 loss, 0.1 beyond the nearest fair distribution",
        [("shift", 9), ("cells", 7), ("time", 9), ("bound", 9), ("gap", 8), ("to 2x2", 8)],
    )
    shapes: dict[Shift, list[tuple[int, int]]] = {
        "general": [(2, 2), (5, 2), (20, 2), (100, 2), (20, 10)],
        "sensitive": [(2, 2), (5, 2), (20, 2), (100, 2)],
    }
    for shift, sizes in shapes.items():
        smallest = 0.0
        for groups, labels in sizes:
            duration, certificate = _timed_certificate(groups, labels, shift, repeat=1 if quick else 3)
            smallest = smallest or duration
            table.row(
                shift,
                f"{groups}x{labels}",
                seconds(duration),
                f"{certificate.bound:.6f}",
                f"{certificate.gap:.1e}",
                times(duration / smallest),
            )


def _timed_certificate(groups: int, labels: int, shift: Shift, repeat: int) -> tuple[float, Certificate]:
    population = Population.from_moments(*random_cells(groups, labels, SEED))
    rho = nearest_fair(population).distance + 0.1
    if (groups, labels) == (2, 2):
        certify(population, rho, shift=shift)
    return timed(lambda: certify(population, rho, shift=shift), repeat=repeat)


def _rows(per_cell: int) -> None:
    losses = _beta_losses(per_cell)
    groups, labels = (np.repeat([cell[axis] for cell in SHAPES], per_cell) for axis in (0, 1))
    joined = np.concatenate(losses)
    rows_time, population = timed(lambda: Population.from_losses(joined, labels, sensitive_features=groups), repeat=3)
    histogram_time, _ = timed(lambda: [np.histogram(loss, bins=BINS, range=(0.0, 1.0)) for loss in losses], repeat=3)
    cells_time, _ = timed(lambda: _histograms_of_cells(joined, groups, labels), repeat=3)
    table = Table(
        f"Many rows: two groups, two labels, {per_cell:,} continuous losses in each cell",
        [("shift", 9), ("rho", 5), ("from_losses", 11), ("histogram", 9), ("ratio", 7), ("with cells", 10),
         ("ratio", 7), ("certify", 9), ("bound", 9), ("gap", 8)],
    )  # fmt: skip
    shifts: tuple[Shift, ...] = ("general", "sensitive")
    for shift in shifts:
        rho = nearest_fair(population).distance + 0.2
        duration, certificate = timed(
            lambda shift=shift, rho=rho: certify(population, rho, shift=shift),  # type: ignore[misc]
            repeat=3,
        )
        table.row(
            shift,
            f"{rho:.3f}",
            seconds(rows_time),
            seconds(histogram_time),
            times(rows_time / histogram_time),
            seconds(cells_time),
            times(rows_time / cells_time),
            seconds(duration),
            f"{certificate.bound:.6f}",
            f"{certificate.gap:.1e}",
        )
    note(f"histogram: NumPy's, {BINS} bins, of losses that lie sorted into cells already; ours has to find the cells")
    note("with cells: the same histograms from the same columns of rows; ratio: our time / theirs (here small is good)")


def _histograms_of_cells(
    loss: NDArray[np.float64], groups: NDArray[np.int64], labels: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Find the rows of each cell, whose names are known beforehand, and histogram their losses."""
    return [
        np.histogram(loss[(groups == group) & (labels == label)], bins=BINS, range=(0.0, 1.0))[0]
        for group, label in SHAPES
    ]


def _beta_losses(per_cell: int) -> list[NDArray[np.float64]]:
    draw = np.random.default_rng(SEED)
    return [draw.beta(*shape, size=per_cell) for shape in SHAPES.values()]
