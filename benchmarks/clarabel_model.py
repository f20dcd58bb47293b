r"""General shifting as a second-order cone program, given to Clarabel without a modelling layer.

With atoms :math:`l_{ij}` of weight :math:`w_{ij}` in cell :math:`i = (s, y)`, and :math:`x = \sqrt q`:

.. math::

    \min \sum_{ij} (M - l_{ij}) x_{ij}^2 \quad\text{s.t.}\quad
    \sum_{ij} \sqrt{p_i w_{ij}}\, x_{ij} \ge 1 - \rho^2,\quad \lVert x_i \rVert^2 \le k_s r_y,

with :math:`k` and :math:`r` in their simplices. The certificate is :math:`M` minus the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClarabelSolution:
    """What Clarabel found: a value up to its tolerance, without proof, and its word for how it ended."""

    value: float
    status: str


@dataclass(frozen=True)
class ConeProgram:
    """Minimise ``x' P x / 2 + q' x`` subject to ``b - A x`` in the cones; Clarabel's standard form."""

    quadratic: sparse.csc_matrix
    linear: Array
    rows: sparse.csc_matrix
    right: Array
    cones: list[object]
    ceiling: float

    def solve(self, tolerance: float) -> ClarabelSolution:
        """Hand the program to Clarabel."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solver = clarabel.DefaultSolver(self.quadratic, self.linear, self.rows, self.right, self.cones, settings)
        solution = solver.solve()
        return ClarabelSolution(self.ceiling - solution.obj_val, str(solution.status))


def general_shifting(mass: Array, atoms: Array, weights: Array, rho: float, ceiling: float = 1.0) -> ConeProgram:
    """Assemble the program.

    Parameters
    ----------
    mass : ndarray of shape (S, C)
        Probability of each cell.
    atoms, weights : ndarray of shape (S, C, J)
        Losses that occur in each cell, and their shares of the cell.
    rho : float
        Radius of the Hellinger ball.
    ceiling : float
        Largest possible loss.
    """
    groups, labels, count = atoms.shape
    cells = groups * labels
    roots = cells * count
    # Variables: the roots cell by cell, then k, then r.
    size = roots + groups + labels
    curvature = np.zeros(size)
    curvature[:roots] = 2.0 * (ceiling - atoms.ravel())
    sums = np.zeros((2, size))
    sums[0, roots : roots + groups] = sums[1, roots + groups :] = 1.0
    affinity = np.zeros((1, size))
    affinity[0, :roots] = np.sqrt(mass[:, :, None] * weights).ravel()
    single_rows = sparse.csc_array(np.concatenate([sums, -affinity]))
    rows = sparse.csc_matrix(sparse.vstack([single_rows, _cone_rows(groups, labels, count)]))
    right = np.zeros(rows.shape[0])
    right[:3] = 1.0, 1.0, rho**2 - 1.0
    # A cone ||((k - r) / 2, x_i)|| <= (k + r) / 2 keeps k and r nonnegative as well.
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(1)]
    cones += [clarabel.SecondOrderConeT(count + 2)] * cells
    return ConeProgram(sparse.csc_matrix(sparse.diags_array(curvature)), np.zeros(size), rows, right, cones, ceiling)


def _cone_rows(groups: int, labels: int, count: int) -> sparse.csc_array:
    """Rows whose negative is ``((k + r) / 2, (k - r) / 2, x_i)``, cell by cell."""
    cells = groups * labels
    group_column = cells * count + np.repeat(np.arange(groups), labels)
    label_column = cells * count + groups + np.tile(np.arange(labels), groups)
    first = np.arange(cells) * (count + 2)
    root_row = (first[:, None] + 2 + np.arange(count)).ravel()
    row = np.concatenate([first, first, first + 1, first + 1, root_row])
    column = np.concatenate([group_column, label_column, group_column, label_column, np.arange(cells * count)])
    half = np.full(cells, 0.5)
    value = -np.concatenate([half, half, half, -half, np.ones(cells * count)])
    shape = (cells * (count + 2), cells * count + groups + labels)
    return sparse.csc_array((value, (row, column)), shape=shape)
