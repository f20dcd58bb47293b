r"""The grid certificate of the literature, for two groups and two labels, written from its theorem.

Kang et al., "Certifying Some Distributional Fairness with Subpopulation Decomposition" (2022), Theorem 3,
takes a grid of cells over the marginals :math:`k_1` and :math:`r_1`; the others are :math:`k_2 = 1 - k_1` and
:math:`r_2 = 1 - r_1`. In each grid cell it maximises, over :math:`x_{sy} = (1 - \rho_{sy}^2)^2`,

.. math::

    \sum_{sy} \overline k_s \overline r_y (E + C)_+ + \underline k_s \underline r_y (E + C)_-
    + 2 \overline k_s \overline r_y \sqrt{V x (1 - x)}
    - \underline k_s \underline r_y x\, C_+ - \overline k_s \overline r_y x\, C_-

subject to :math:`\sum_{sy} \sqrt{p\, \overline k_s \overline r_y x} \ge 1 - \rho^2` and
:math:`(1 - \bar\gamma^2)^2 \le x \le 1`, with :math:`C = M - E - V / (M - E)`. Its certificate is the
largest of these maxima. Every one of them is a small concave program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]

# The published stubs of this function refuse ordinary callables.
_minimize: Any = optimize.minimize


@dataclass(frozen=True)
class GridPrograms:
    """The programs of all grid cells that are feasible; each array has one row per grid cell, 2 x 2 entries.

    Maximise ``sum(constant + curved * sqrt(x (1 - x)) - linear * x)`` subject to
    ``sum(overlap * sqrt(x)) >= affinity`` and ``lowest <= x <= 1``.
    """

    constant: Array
    curved: Array
    linear: Array
    overlap: Array
    lowest: Array
    affinity: float

    def __len__(self) -> int:
        return len(self.constant)

    def cell(self, index: int) -> tuple[Array, Array, Array]:
        """Coefficients ``curved``, ``linear`` and ``overlap`` of one program, each a vector of 4."""
        return self.curved[index].ravel(), self.linear[index].ravel(), self.overlap[index].ravel()

    def value(self, index: int, solution: optimize.OptimizeResult) -> float:
        """Maximum of one program, from a solver's minimum of its negative."""
        return float(self.constant[index].sum() - solution.fun) if solution.success else float("nan")


def grid_programs(
    mass: Array, mean: Array, variance: Array, rho: float, *, granularity: int, ceiling: float = 1.0
) -> GridPrograms:
    """Write down the program of every grid cell, without those that no x satisfies (not even x = 1)."""
    below, above = _corners(granularity)
    lower = below[:, None, :, None] * below[None, :, None, :]
    upper = above[:, None, :, None] * above[None, :, None, :]
    lower, upper = lower.reshape(-1, 2, 2), upper.reshape(-1, 2, 2)
    affinity = 1.0 - rho**2
    overlap = np.sqrt(mass * upper)
    feasible = overlap.sum(axis=(1, 2)) >= affinity
    lower, upper, overlap = lower[feasible], upper[feasible], overlap[feasible]
    excess = ceiling - mean - variance / (ceiling - mean)
    highest = mean + excess
    return GridPrograms(
        constant=upper * np.maximum(highest, 0.0) + lower * np.minimum(highest, 0.0),
        curved=2.0 * upper * np.sqrt(variance),
        linear=lower * np.maximum(excess, 0.0) + upper * np.minimum(excess, 0.0),
        overlap=overlap,
        lowest=variance / (variance + (ceiling - mean) ** 2),
        affinity=affinity,
    )


def _corners(granularity: int) -> tuple[Array, Array]:
    """Lower and upper ends of a marginal (first, second) in each interval of the grid."""
    edges = np.arange(granularity + 1) / granularity
    below = np.stack([edges[:-1], 1.0 - edges[1:]], axis=1)
    above = np.stack([edges[1:], 1.0 - edges[:-1]], axis=1)
    return below, above


def solve_one(programs: GridPrograms, index: int) -> float:
    r"""Solve the program of one grid cell as the theorem states it; nan if the solver gives up.

    The slope of :math:`\sqrt{x (1 - x)}` is infinite at 1. There SciPy's SLSQP can stop too early and report
    success (once, started at 0.99, with 0.447 instead of 0.484, which would void the certificate). Its
    interior-point solver is slower and came within 2e-4 of the maximum in every grid cell that we sampled.
    """
    curved, linear, overlap = programs.cell(index)
    solution = _minimize(
        lambda x: linear @ x - curved @ np.sqrt(x * (1.0 - x)),
        np.full(4, 0.9),
        jac=lambda x: linear - curved * (0.5 - x) / np.sqrt(x * (1.0 - x)),
        method="trust-constr",
        bounds=optimize.Bounds(programs.lowest.ravel(), 1.0 - 1e-9, keep_feasible=True),
        constraints={
            "type": "ineq",
            "fun": lambda x: overlap @ np.sqrt(x) - programs.affinity,
            "jac": lambda x: 0.5 * overlap / np.sqrt(x),
        },
    )
    return programs.value(index, solution)


def solve_one_smoothed(programs: GridPrograms, index: int) -> float:
    r"""Solve the program of one grid cell with :math:`x = \cos^2 t`, which makes it smooth.

    The theorem knows nothing of this substitution; it is the fastest way to run the method that we found.
    """
    curved, linear, overlap = programs.cell(index)
    solution = _minimize(
        lambda t: 0.5 * (linear @ (1.0 + np.cos(2.0 * t)) - curved @ np.sin(2.0 * t)),
        np.full(4, 0.3),
        jac=lambda t: -linear * np.sin(2.0 * t) - curved * np.cos(2.0 * t),
        method="SLSQP",
        bounds=[(0.0, high) for high in np.arccos(np.sqrt(programs.lowest.ravel()))],
        constraints={
            "type": "ineq",
            "fun": lambda t: overlap @ np.cos(t) - programs.affinity,
            "jac": lambda t: -overlap * np.sin(t),
        },
        options={"ftol": 1e-9},
    )
    return programs.value(index, solution)


def solve_all(programs: GridPrograms) -> Array:
    r"""Bound the programs of all grid cells at once, by Lagrangian duality.

    For a multiplier :math:`\lambda \ge 0` of the affinity the maximum over x separates; the dual value is an
    upper bound on the program for any multiplier, and equal to it at the best. Both the multiplier and
    the x are found by bisection (in the logarithm, for the multiplier).
    """
    weakest, strongest = np.full(len(programs), -30.0), np.full(len(programs), 30.0)
    for _ in range(50):
        middle = 0.5 * (weakest + strongest)
        x = _best_x(programs, np.exp(middle))
        inside = (programs.overlap * np.sqrt(x)).sum(axis=(1, 2)) >= programs.affinity
        weakest, strongest = np.where(inside, weakest, middle), np.where(inside, middle, strongest)
    multiplier = np.exp(strongest)
    x = _best_x(programs, multiplier)
    slack = (programs.overlap * np.sqrt(x)).sum(axis=(1, 2)) - programs.affinity
    objective = programs.constant + programs.curved * np.sqrt(x * (1.0 - x)) - programs.linear * x
    value: Array = objective.sum(axis=(1, 2)) + multiplier * slack
    return value


def _best_x(programs: GridPrograms, multiplier: Array) -> Array:
    """Maximise the Lagrangian over x: concave, so the sign of its slope (here times sqrt(x)) tells where."""
    pull = 0.5 * multiplier[:, None, None] * programs.overlap
    low = np.broadcast_to(programs.lowest, pull.shape).copy()
    high = np.ones_like(low)
    for _ in range(45):
        x = 0.5 * (low + high)
        slope = programs.curved * (0.5 - x) / np.sqrt(1.0 - x) + pull - programs.linear * np.sqrt(x)
        rising = slope > 0.0
        low = np.where(rising, x, low)
        high = np.where(rising, high, x)
    return low
