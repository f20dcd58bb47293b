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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from fairbound.arrays import Floats, Integers
from fairbound.divergences import KULLBACK_LEIBLER, TOTAL_VARIATION, Divergence
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


Entry = tuple[Integers, Integers, Floats]


class _Program:
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

    def solve(self, cones: Callable[[ModuleType], list[Any]]) -> tuple[Floats, Floats]:
        """Return the variables, and the multipliers of the rows."""
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
        return np.array(solution.x), np.array(solution.z)


def _alike(rows: Integers, columns: Integers | np.int64, value: float) -> Entry:
    """Return entries of one value."""
    return rows, np.broadcast_to(columns, rows.shape), np.full(rows.shape, value)


def _support_rows(program: _Program, of: Entry, size: int, skew: float | None) -> tuple[slice, slice | None]:
    """Add ``sigma(v)`` to the cost (docs/theory.md, section 5); ``of`` are the entries of v, a row for each share.

    Without a limit it is a level above all of v. With one it is a level above their mean, and the excess over it. The
    multipliers of the rows that are returned, with the second's divided by the size, are the shares that attain it.
    """
    own = np.arange(size)
    level = program.add_columns(1.0, 1)
    above = [of, _alike(own, level, -1.0)]
    if skew is None:
        return program.add_rows(np.zeros(size), *above), None
    excess = program.add_columns(skew, size)
    shares = program.add_rows(np.zeros(size), *above, _alike(own, excess, -1.0))
    program.add_rows(np.zeros(size), _alike(own, excess, -1.0))
    mean = (np.zeros_like(of[0]), of[1], of[2] / size)
    return shares, program.add_rows(np.zeros(1), mean, _alike(np.zeros(1, dtype=np.int64), level, -1.0))


def _eta(rows: Integers, cells: tuple[Integers, Integers], w: Integers, tilt: Floats, sign: float) -> list[Entry]:
    """Return entries of ``sign · eta(r^j) = sign · (w_sy - <r^j - r0, w_s>)`` for cells (s, y); rows are (m, n)."""
    group, label = cells
    shape = (*rows.shape, w.shape[1])
    across = np.broadcast_to(w[group], shape)
    pulled = np.broadcast_to(-sign * tilt[:, None, :], shape)
    return [_alike(rows, w[group, label], sign), (np.broadcast_to(rows[..., None], shape), across, pulled)]


@dataclass(frozen=True)
class ConePieces:
    """The programs of all pieces of a problem; losses are in units of the largest ceiling."""

    problem: Problem
    divergence: Divergence

    @cached_property
    def _atoms(self) -> tuple[tuple[Integers, Integers], Floats, Floats]:
        """Cell (group and label), probability and loss of every atom, merged where there are many."""
        atoms = merged(self.problem.upper, MOST_ATOMS)
        s, y, a = np.nonzero(atoms.probability > 0)
        return (s, y), atoms.probability[s, y, a], atoms.loss[s, y, a] / self.problem.scale

    def solve(self, rho: float, vertices: Floats, cap: float) -> Multipliers:
        """Solve for one piece; ``cap`` limits lam."""
        problem = self.problem
        groups, labels = problem.groups, problem.labels
        corners = len(vertices)
        centre = vertices.mean(axis=0)
        program = _Program()
        w = program.add_columns(0.0, groups.size * labels.size).reshape(groups.size, labels.size)
        lam = program.add_columns(rho - self.divergence.rest, 1)
        most = program.add_columns(1.0, 1)
        level = (np.broadcast_to(np.arange(groups.size)[:, None], w.shape), w, np.broadcast_to(centre, w.shape))
        shares, mean = _support_rows(program, level, groups.size, None if groups.skew is None else groups.width)
        two = np.arange(2)
        program.add_rows(np.array([-SMALLEST_LAM, cap]), (two, np.broadcast_to(lam, 2), np.array([-1.0, 1.0])))

        _, probability, _ = self._atoms
        grown = program.add_columns(0.0, corners * len(probability)).reshape(corners, -1)
        each = np.arange(corners)
        rows = np.broadcast_to(each[:, None], grown.shape)
        epigraph = [(rows, grown, np.broadcast_to(probability, grown.shape)), _alike(each, most, -1.0)]
        omega = None
        if labels.limited and labels.size > 2 and corners > 1:
            omega = self._label_limit(program)
            rows = np.broadcast_to(each[:, None], vertices.shape)
            epigraph.append((rows, np.broadcast_to(omega, vertices.shape), -vertices))
        weights = program.add_rows(np.zeros(corners), *epigraph)
        cones = self._conjugates(program, w, lam, grown, vertices - centre)

        x, z = program.solve(cones)
        k = z[shares] if mean is None else z[shares] + z[mean] / groups.size
        theta = np.maximum(z[weights], 0.0)
        total = theta.sum()
        theta = theta / total if np.isfinite(total) and total > 0 else np.full(corners, 1.0 / corners)
        scale = problem.scale
        pull = np.zeros(labels.size) if omega is None else x[omega] * scale
        return Multipliers(x[w] * scale, centre, pull, float(x[lam[0]]) * scale, k, theta @ vertices)

    def _label_limit(self, program: _Program) -> Integers:
        """Add omega and its cost sigma_R(omega)."""
        labels = self.problem.labels
        own = np.arange(labels.size)
        omega = program.add_columns(0.0, labels.size)
        _support_rows(program, (own, omega, np.ones(labels.size)), labels.size, labels.width)
        for sign in (1.0, -1.0):
            program.add_rows(np.full(labels.size, PULL), _alike(own, omega, sign))
        return omega

    def _conjugates(
        self, program: _Program, w: Integers, lam: Integers, grown: Integers, tilt: Floats
    ) -> Callable[[ModuleType], list[Any]]:
        """Add ``grown >= g(l - eta)`` and the ceilings; return the cones of all rows.

        Linear rows come first. Kullback-Leibler: ``lam exp((l - eta) / lam) <= grown``. Chi-squared, with another
        variable ``above >= l - eta + 2 lam``: ``above^2 <= 4 lam grown``.
        """
        divergence = self.divergence
        cells, _, loss = self._atoms
        count = grown.size
        atom = np.arange(count).reshape(grown.shape)
        each = np.tile(loss, len(grown))
        self._cell_limits(program, w, lam, tilt)
        if divergence is KULLBACK_LEIBLER:
            linear = program.rows
            right = np.zeros((count, 3))
            right[:, 0] = each
            curved = [_alike(3 * atom + 1, lam, -1.0), _alike(3 * atom + 2, grown, -1.0)]
            program.add_rows(right.reshape(-1), *_eta(3 * atom, cells, w, tilt, 1.0), *curved)
            return lambda solver: [solver.NonnegativeConeT(linear), *[solver.ExponentialConeT()] * count]
        eta = _eta(atom, cells, w, tilt, -1.0)
        if divergence is TOTAL_VARIATION:
            program.add_rows(-each, *eta, _alike(atom, grown, -1.0))
            program.add_rows(np.zeros(count), _alike(atom, grown, -1.0))
            linear = program.rows
            return lambda solver: [solver.NonnegativeConeT(linear)]
        above = program.add_columns(0.0, count).reshape(grown.shape)
        program.add_rows(-each, *eta, _alike(atom, lam, 2.0), _alike(atom, above, -1.0))
        linear = program.rows
        longest = [_alike(3 * atom, lam, -1.0), _alike(3 * atom, grown, -1.0)]
        others = [_alike(3 * atom + 1, above, -1.0), _alike(3 * atom + 2, lam, -1.0), _alike(3 * atom + 2, grown, 1.0)]
        program.add_rows(np.zeros(3 * count), *longest, *others)
        return lambda solver: [solver.NonnegativeConeT(linear), *[solver.SecondOrderConeT(3)] * count]

    def _cell_limits(self, program: _Program, w: Integers, lam: Integers, tilt: Floats) -> None:
        """Keep ``eta_i(r^j) + lam >= c_i`` where Q may leave P's support; else only keep empty cells from falling."""
        problem = self.problem
        if self.divergence.escapes:
            group, label = np.nonzero(np.ones(w.shape))
            least = problem.ceiling.reshape(-1) / problem.scale
        else:
            group, label = np.nonzero(problem.mass == 0)
            least = np.full(len(group), -DEEPEST)
        if not len(group):
            return
        rows = np.arange(len(tilt) * len(group)).reshape(len(tilt), -1)
        entries = _eta(rows, (group, label), w, tilt, -1.0)
        if self.divergence.escapes:
            entries.append(_alike(rows, lam, -self.divergence.escape))
        program.add_rows(-np.tile(least, len(tilt)), *entries)


def merged(atoms: Atoms, most: int) -> Atoms:
    """Merge neighbouring losses of a cell into at most ``most``: two for many, with their mean and variance."""
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
