"""The best multipliers of a piece for a divergence other than Hellinger's: one small conic program.

The bound of :func:`fairbound.conjugate_bounds.moving_bound` is convex in the multipliers, so that

    min over w, lam, omega of  sigma_K(v) + lam (rho - rest) + G + sigma_R(omega)
    s.t.  G >= sum_i p_i e_ij - <omega, r^j>  for every vertex j,      e_ij >= g(l_i - eta_i(r^j)),
          eta_i(r^j) >= c_i - lam f'(inf),

is a linear program for total variation, a second-order cone program for chi-squared, and has exponential cones for
Kullback-Leibler. Clarabel solves it. Nothing here has to be trusted: the bound is evaluated from whatever multipliers
come out. The program's own multipliers are the shares of a relaxed worst case in the piece: a good guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from fairbound.arrays import Floats, Integers
from fairbound.divergences import CHI_SQUARED, KULLBACK_LEIBLER, TOTAL_VARIATION, Divergence
from fairbound.errors import InputError
from fairbound.problem import Atoms, Problem

#: Cells with more losses than these are merged into so many: any multipliers are valid.
MOST_ATOMS = 64

#: Limits that keep programs bounded on hopeless pieces, in units of the largest ceiling.
PULL = 100.0
DEEPEST = 100.0

#: lam is at least this: less makes the conjugates steeper than floats can follow.
SMALLEST_LAM = 1e-8

ACCURACY = 1e-10


def conic_solver() -> tuple[ModuleType, ModuleType]:
    """Import Clarabel and the sparse matrices that it reads."""
    try:
        import clarabel  # noqa: PLC0415 (an optional extra)
        from scipy import sparse  # noqa: PLC0415 (comes with it)
    except ImportError:
        message = (
            "divergence: distances other than 'hellinger' need a conic solver, and Clarabel is not installed; "
            "install it with: pip install 'fairbound[divergences]'"
        )
        raise InputError(message) from None
    return clarabel, sparse


@dataclass(frozen=True)
class Multipliers:
    """What proves the bound of a piece, and the shares of the relaxed worst case in it."""

    w: Floats
    centre: Floats
    omega: Floats
    lam: float
    group_share: Floats
    label_share: Floats


class _Rows:
    """The rows of a program, collected as triplets: ``right - matrix · x`` has to lie in the cones."""

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[tuple[Integers, Integers, Floats]] = []
        self._right: list[Floats] = []

    def add(self, right: Floats, *entries: tuple[Integers, Integers, Floats]) -> slice:
        """Add rows with these right-hand sides; entries are (row within the block, column, value)."""
        for row, column, value in entries:
            shape = np.broadcast_shapes(np.shape(row), np.shape(column), np.shape(value))
            spread = (np.broadcast_to(part, shape).reshape(-1) for part in (row, column, value))
            first, second, third = spread
            self._parts.append((first + self.count, second, third))
        self._right.append(np.asarray(right, dtype=np.float64))
        start, self.count = self.count, self.count + len(right)
        return slice(start, self.count)

    def assembled(self) -> tuple[Integers, Integers, Floats, Floats]:
        """Return rows, columns, values and right-hand sides."""
        row, column, value = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return row, column, value, np.concatenate(self._right)


@dataclass(frozen=True)
class ConePieces:
    """The programs of all pieces of a problem; losses are in units of the largest ceiling."""

    problem: Problem
    divergence: Divergence

    @cached_property
    def _atoms(self) -> tuple[Integers, Integers, Floats, Floats]:
        """Group, label, probability and loss of every atom, merged where there are many."""
        atoms = merged(self.problem.upper, MOST_ATOMS)
        s, y, a = np.nonzero(atoms.probability > 0)
        return s, y, atoms.probability[s, y, a], atoms.loss[s, y, a] / self.problem.scale

    def solve(self, rho: float, vertices: Floats, cap: float) -> Multipliers:  # noqa: PLR0915 (one program, row by row)
        """Solve for one piece; ``cap`` limits lam."""
        clarabel, sparse = conic_solver()
        problem, divergence = self.problem, self.divergence
        groups, labels = problem.groups, problem.labels
        S, C, m = groups.size, labels.size, len(vertices)
        group, label, probability, loss = self._atoms
        n = len(loss)
        centre = vertices.mean(axis=0)
        dualised = labels.limited and C > 2 and m > 1

        # Columns: w, lam, level, G; then the parts of limits; then e for every vertex and atom.
        lam_at, level_at, most_at = S * C, S * C + 1, S * C + 2
        size = S * C + 3
        beta_at, size = size, size + (S if groups.limited else 0)
        pull_at, size = size, size + (2 * C + 1 if dualised else 0)
        grown_at, size = size, size + m * n
        above_at, size = size, size + (m * n if divergence is CHI_SQUARED else 0)
        cost = np.zeros(size)
        cost[[lam_at, level_at, most_at]] = rho - divergence.rest, 1.0, 1.0

        rows = _Rows()
        every = np.arange(S)
        w_of = every[:, None] * C + np.arange(C)  # columns of w_s
        if groups.skew is None:
            shares = rows.add(
                np.zeros(S), (every[:, None], w_of, np.tile(centre, (S, 1))), (every, np.full(S, level_at), -np.ones(S))
            )
            mean_row = None
        else:
            beta = beta_at + every
            cost[beta] = groups.width
            shares = rows.add(
                np.zeros(S),
                (every[:, None], w_of, np.tile(centre, (S, 1))),
                (every, np.full(S, level_at), -np.ones(S)),
                (every, beta, -np.ones(S)),
            )
            rows.add(np.zeros(S), (every, beta, -np.ones(S)))
            zero = np.zeros((S, C), dtype=np.int64)
            mean_row = rows.add(
                np.zeros(1), (zero, w_of, np.tile(centre / S, (S, 1))), (np.zeros(1, int), np.array([level_at]), -1.0)
            )
        corner = np.arange(m)
        grown = grown_at + np.arange(m * n).reshape(m, n)
        epigraph = [
            (corner[:, None], grown, np.tile(probability, (m, 1))),
            (corner, np.full(m, most_at), -np.ones(m)),
        ]
        if dualised:
            epigraph.append((corner[:, None], pull_at + np.arange(C)[None], -vertices))
        weights = rows.add(np.zeros(m), *epigraph)
        rows.add(np.array([-SMALLEST_LAM, cap]), (np.arange(2), np.full(2, lam_at), np.array([-1.0, 1.0])))
        if dualised:
            self._label_rows(rows, cost, pull_at)

        tilt = vertices - centre
        if divergence is TOTAL_VARIATION:  # eta_i(r^j) + lam >= c_i
            cells = np.arange(m * S * C).reshape(m, S, C)
            rows.add(
                -np.tile(problem.ceiling.reshape(-1) / problem.scale, m),
                *_eta(cells, w_of, tilt, -1.0),
                (cells, np.full(cells.shape, lam_at), -np.ones(cells.shape)),
            )
        elif (problem.mass == 0).any():  # multipliers of empty cells may fall without limit
            s, y = np.nonzero(problem.mass == 0)
            here = np.arange(m * len(s)).reshape(m, len(s))
            rows.add(np.full(m * len(s), DEEPEST), *_eta_of(here, s, y, tilt, -1.0, C))
        atom = np.arange(m * n).reshape(m, n)
        eta = _eta_of(atom, group, label, tilt, -1.0, C)
        each = np.tile(loss, m)
        if divergence is TOTAL_VARIATION:
            rows.add(-each, *eta, (atom, grown, -np.ones((m, n))))
            rows.add(np.zeros(m * n), (atom, grown, -np.ones((m, n))))
        elif divergence is CHI_SQUARED:
            above = above_at + np.arange(m * n).reshape(m, n)
            both = [(atom, above, -np.ones((m, n))), (atom, np.full((m, n), lam_at), np.full((m, n), 2.0))]
            rows.add(-each, *eta, *both)
        cones = [clarabel.NonnegativeConeT(rows.count)]
        ones = np.ones((m, n))
        if divergence is KULLBACK_LEIBLER:  # lam exp((l - eta) / lam) <= e
            right = np.zeros((m, n, 3))
            right[..., 0] = loss
            rows.add(
                right.reshape(-1),
                *_eta_of(3 * atom, group, label, tilt, 1.0, C),
                (3 * atom + 1, np.full((m, n), lam_at), -ones),
                (3 * atom + 2, grown, -ones),
            )
            cones += [clarabel.ExponentialConeT()] * (m * n)
        elif divergence is CHI_SQUARED:  # above^2 <= 4 lam e
            rows.add(
                np.zeros(3 * m * n),
                (3 * atom, np.full((m, n), lam_at), -ones),
                (3 * atom, grown, -ones),
                (3 * atom + 1, above, -ones),
                (3 * atom + 2, np.full((m, n), lam_at), -ones),
                (3 * atom + 2, grown, ones),
            )
            cones += [clarabel.SecondOrderConeT(3)] * (m * n)

        row, column, value, right = rows.assembled()
        matrix = sparse.csc_matrix((value, (row, column)), shape=(rows.count, size))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((size, size)), cost, matrix, right, cones, settings
        ).solve()
        x, z = np.array(solution.x), np.array(solution.z)
        k = z[shares] if mean_row is None else z[shares] + z[mean_row] / S
        theta = np.maximum(z[weights], 0.0)
        total = theta.sum()
        theta = theta / total if np.isfinite(total) and total > 0 else np.full(m, 1.0 / m)
        scale = problem.scale
        omega = x[pull_at : pull_at + C] * scale if dualised else np.zeros(C)
        return Multipliers(x[: S * C].reshape(S, C) * scale, centre, omega, x[lam_at] * scale, k, theta @ vertices)

    def _label_rows(self, rows: _Rows, cost: Floats, at: int) -> None:
        """Add sigma_R(omega): a level t >= mean(omega), and the excess over it."""
        C = self.problem.labels.size
        own = np.arange(C)
        omega, excess, level = at + own, at + C + own, at + 2 * C
        cost[excess], cost[level] = self.problem.labels.width, 1.0
        rows.add(np.zeros(C), (own, omega, np.ones(C)), (own, np.full(C, level), -np.ones(C)), (own, excess, -np.ones(C)))
        rows.add(np.zeros(C), (own, excess, -np.ones(C)))
        first = np.zeros(C, dtype=np.int64)
        rows.add(np.zeros(1), (first, omega, np.full(C, 1.0 / C)), (first[:1], np.array([level]), -np.ones(1)))
        rows.add(np.full(C, PULL), (own, omega, np.ones(C)))
        rows.add(np.full(C, PULL), (own, omega, -np.ones(C)))


def _eta(rows: Integers, w_of: Integers, tilt: Floats, sign: float) -> list[tuple[Integers, Integers, Floats]]:
    """Return entries of ``sign · eta_sy(r^j)`` for all cells; rows have shape (m, S, C)."""
    _, S, C = rows.shape
    group, label = np.divmod(np.arange(S * C), C)
    return _eta_of(rows.reshape(len(rows), -1), group, label, tilt, sign, C)


def _eta_of(
    rows: Integers, group: Integers, label: Integers, tilt: Floats, sign: float, C: int
) -> list[tuple[Integers, Integers, Floats]]:
    """Return entries of ``sign · eta(r^j) = sign · (w_sy - <r^j - r0, w_s>)`` for cells; rows have shape (m, n)."""
    m, n = rows.shape
    own = np.tile(group * C + label, (m, 1))
    across = np.broadcast_to((group * C)[None, :, None] + np.arange(C), (m, n, C))
    pulled = np.broadcast_to(-sign * tilt[:, None, :], (m, n, C))
    return [(rows, own, np.full((m, n), sign)), (rows[..., None], across, pulled)]


def merged(atoms: Atoms, most: int) -> Atoms:
    """Merge neighbouring losses of a cell, so that none has more than ``most``: two for many, with mean and variance."""
    s, c, places = atoms.probability.shape
    if places <= most:
        return atoms
    probability, loss = np.zeros((2, s * c, most))
    for cell, (shares, losses) in enumerate(
        zip(atoms.probability.reshape(s * c, -1), atoms.loss.reshape(s * c, -1), strict=True)
    ):
        order = np.argsort(losses, kind="stable")
        share, place = shares[order][shares[order] > 0], losses[order][shares[order] > 0]
        if len(share) <= most:
            probability[cell, : len(share)], loss[cell, : len(share)] = share, place
            continue
        # Half by mass, half by loss: narrow where there is much, and narrow enough everywhere.
        half = most // 2
        mixed = np.cumsum(share) / share.sum() + (place - place[0]) / max(float(place[-1] - place[0]), 1e-300)
        bins = np.minimum((mixed / mixed[-1] * half).astype(np.int64), half - 1)
        held = np.bincount(bins, share, half)
        safe = np.where(held > 0, held, 1.0)
        mean = np.bincount(bins, share * place, half) / safe
        spread = np.sqrt(np.bincount(bins, share * np.square(place - mean[bins]), half) / safe)
        probability[cell, : 2 * half] = np.concatenate([held, held]) / 2
        loss[cell, : 2 * half] = np.concatenate([mean - spread, mean + spread])
    return Atoms(probability.reshape(s, c, most), loss.reshape(s, c, most))
