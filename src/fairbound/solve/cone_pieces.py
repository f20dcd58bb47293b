"""The best multipliers of a piece for a divergence other than Hellinger's: one small conic program.

The bound of :func:`fairbound.solve.conjugate_bounds.moving_bound` is convex in the multipliers, so that

    min over w, lam, omega of  sigma_K(v) + lam (rho - o) + G + sigma_R(omega)
    s.t.  G >= sum_i p_i e_ij - <omega, r^j>  for every vertex j,      e_ij >= g(l_i - eta_i(r^j)),
          eta_i(r^j) >= c_i - lam f'(inf),

is a linear program for total variation and trimming, a second-order cone program for chi-squared, and has exponential
cones for Kullback-Leibler and those of powers for other orders. Clarabel solves it. Nothing here has to be trusted: the
bound is evaluated from whatever multipliers come out. The program's own multipliers are the shares of a relaxed worst
case in the piece: a good guess.

The mean over some cells, given them, is at most t if ``E_Q[l - t]`` over these cells is at most zero. With t as one
more variable, which is taken off their losses, the same program finds the least t at which the bound is zero. How two
groups differ is such a mean too, of losses that are multiplied by shares (:mod:`fairbound.solve.conditioning`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.atoms import Atoms
from fairbound.problem.divergences import KULLBACK_LEIBLER, TRIMMING, CressieRead, Divergence
from fairbound.solve.conditioning import Given
from fairbound.solve.conic_program import ConicProgram, Entry, alike
from fairbound.solve.problem import Problem

#: Cells with more losses than these are merged into so many, where little is missing and where much is: any multipliers
#: are valid.
MOST_ATOMS, FEW_ATOMS = 64, 12

#: Limits that keep programs bounded on hopeless pieces, in units of the largest ceiling.
PULL = 100.0
DEEPEST = 100.0

#: lam is at least this: less makes the conjugates steeper than floats can follow.
SMALLEST_LAM = 1e-8

#: What a unit of lam costs where it is free: more than the solver's accuracy, less than anybody looks at.
FREE = 1e-9


@dataclass(frozen=True)
class ConeMultipliers:
    """What proves the bound of a piece, and the shares of the relaxed worst case in it.

    Of a mean given some cells ``mean`` is a bound; the others prove that the losses less it are not positive.
    """

    w: Floats
    centre: Floats
    omega: Floats
    lam: float
    group_share: Floats
    label_share: Floats
    solved: bool = True
    mean: float = np.nan


#: Where the multipliers w and lam are, and the mean if one is bounded.
_Columns = tuple[Integers, Integers, Integers | None]

#: The shares at the corners of a piece, and how far they are from its centre.
_Corners = tuple[Floats, Floats]


def _support_rows(program: ConicProgram, of: Entry, size: int, skew: float | None) -> tuple[slice, slice | None]:
    """Add ``sigma(v)`` to the cost; ``of`` are the entries of v, a row for each share.

    (docs/theory.md, "Limits on shares".) Without a limit it is a level above all of v. With one it is a level above
    their mean, and the excess over it. The multipliers of the rows that are returned, with the second's divided by the
    size, are the shares that attain it.
    """
    own = np.arange(size)
    level = program.add_columns(1.0, 1)
    above = [of, alike(own, level, -1.0)]
    if skew is None:
        return program.add_rows(np.zeros(size), *above), None
    excess = program.add_columns(skew, size)
    shares = program.add_rows(np.zeros(size), *above, alike(own, excess, -1.0))
    program.add_rows(np.zeros(size), alike(own, excess, -1.0))
    mean = (np.zeros_like(of[0]), of[1], of[2] / size)
    return shares, program.add_rows(np.zeros(1), mean, alike(np.zeros(1, dtype=np.int64), level, -1.0))


def _eta(rows: Integers, cells: tuple[Integers, Integers], w: Integers, tilt: Floats, sign: float) -> list[Entry]:
    """Return entries of ``sign · eta(r^j) = sign · (w_sy - <r^j - r0, w_s>)`` for cells (s, y); rows are (m, n)."""
    group, label = cells
    shape = (*rows.shape, w.shape[1])
    across = np.broadcast_to(w[group], shape)
    pulled = np.broadcast_to(-sign * tilt[:, None, :], shape)
    return [alike(rows, w[group, label], sign), (np.broadcast_to(rows[..., None], shape), across, pulled)]


@dataclass(frozen=True)
class ConePieces:
    """The programs of all pieces of a problem; losses are in units of the largest ceiling.

    With ``given``, the cells that a mean is taken over, they bound that mean.
    """

    problem: Problem
    divergence: Divergence
    given: Given | None = None

    most_atoms: int = MOST_ATOMS

    @cached_property
    def _atoms(self) -> tuple[tuple[Integers, Integers], Floats, Floats]:
        """Cell (group and label), probability and loss of every atom, merged where there are many."""
        atoms = merged(self.problem.upper, self.most_atoms)
        s, y, a = np.nonzero(atoms.probability > 0)
        return (s, y), atoms.probability[s, y, a], atoms.loss[s, y, a] / self.problem.scale

    def solve(self, rho: float, vertices: Floats, cap: float) -> ConeMultipliers:
        """Solve for one piece; ``cap`` limits lam."""
        problem = self.problem
        groups, labels = problem.groups, problem.labels
        corners = len(vertices)
        centre = vertices.mean(axis=0)
        program = ConicProgram()
        w = program.add_columns(0.0, groups.size * labels.size).reshape(groups.size, labels.size)
        lam = program.add_columns(self._steepness_cost(rho), 1)
        most = program.add_columns(1.0, 1)
        level = (np.broadcast_to(np.arange(groups.size)[:, None], w.shape), w, np.broadcast_to(centre, w.shape))
        shares, evenly = _support_rows(program, level, groups.size, None if groups.skew is None else groups.width)
        two = np.arange(2)
        program.add_rows(np.array([-SMALLEST_LAM, cap]), (two, np.broadcast_to(lam, 2), np.array([-1.0, 1.0])))

        _, probability, _ = self._atoms
        grown = program.add_columns(0.0, corners * len(probability)).reshape(corners, -1)
        each = np.arange(corners)
        rows = np.broadcast_to(each[:, None], grown.shape)
        weight = probability * float(self.divergence.largest_ratio(np.array(rho)))
        epigraph = [(rows, grown, np.broadcast_to(weight, grown.shape)), alike(each, most, -1.0)]
        omega = None
        if labels.limited and labels.size > 2 and corners > 1:
            omega = self._label_limit(program)
            rows = np.broadcast_to(each[:, None], vertices.shape)
            epigraph.append((rows, np.broadcast_to(omega, vertices.shape), -vertices))
        weights = program.add_rows(np.zeros(corners), *epigraph)
        mean = None if self.given is None else self._mean(program)
        cones = self._conjugates(program, (w, lam, mean), grown, (vertices, vertices - centre))

        x, z, solved = program.solve(cones)
        k = z[shares] if evenly is None else z[shares] + z[evenly] / groups.size
        theta = np.maximum(z[weights], 0.0)
        total = theta.sum()
        theta = theta / total if np.isfinite(total) and total > 0 else np.full(corners, 1.0 / corners)
        scale = problem.scale
        pull = np.zeros(labels.size) if omega is None else x[omega] * scale
        found = x[w] * scale, centre, pull, float(x[lam[0]]) * scale, k, theta @ vertices
        return ConeMultipliers(*found, solved, np.nan if mean is None else float(x[mean[0]]) * scale)

    def _steepness_cost(self, rho: float) -> float:
        """Return what a unit of lam costs.

        Trimming: lam says how far multipliers may lie below the ceilings, which keeps the program bounded where no Q is
        in the ball. It would be free; a ball that is larger by a hair keeps it small.
        """
        return FREE if self.divergence is TRIMMING else rho - self.divergence.conjugate_offset

    def _mean(self, program: ConicProgram) -> Integers:
        """Add the mean that is bounded, in place of the cost so far; means far outside of what there is say enough."""
        mean = program.add_columns(0.0, 1)
        program.add_rows(np.array([1.0, 2.0]), (np.arange(2), np.broadcast_to(mean, 2), np.array([-1.0, 1.0])))
        program.lower_instead(mean)
        return mean

    def _label_limit(self, program: ConicProgram) -> Integers:
        """Add omega and its cost sigma_R(omega)."""
        labels = self.problem.labels
        own = np.arange(labels.size)
        omega = program.add_columns(0.0, labels.size)
        _support_rows(program, (own, omega, np.ones(labels.size)), labels.size, labels.width)
        for sign in (1.0, -1.0):
            program.add_rows(np.full(labels.size, PULL), alike(own, omega, sign))
        return omega

    def _eta(
        self, rows: Integers, cells: tuple[Integers, Integers], columns: _Columns, corners: _Corners, sign: float
    ) -> list[Entry]:
        """Return entries of ``sign · eta(r^j)``, with the mean taken off the losses of the cells that it is over."""
        w, _, mean = columns
        shares, tilt = corners
        entries = _eta(rows, cells, w, tilt, sign)
        if self.given is not None and mean is not None:
            taken = self.given.taken(shares)[:, cells[0], cells[1]]
            off = taken != 0
            entries.append((rows[off], np.broadcast_to(mean, rows[off].shape), sign * taken[off]))
        return entries

    def _counted(self, shares: Floats, cells: tuple[Integers, Integers], loss: Floats) -> Floats:
        """Return losses of cells, one each, as they count at the corners of a piece, corner by corner."""
        if self.given is None:
            return np.tile(loss, len(shares))
        counted: Floats = (self.given.times(shares)[:, cells[0], cells[1]] * loss).reshape(-1)
        return counted

    def _conjugates(
        self, program: ConicProgram, columns: _Columns, grown: Integers, corners: _Corners
    ) -> Callable[[ModuleType], list[Any]]:
        """Add ``grown >= g(l - eta)`` and the ceilings; return the cones of all rows.

        Linear rows come first. Kullback-Leibler: ``lam exp((l - eta) / lam) <= grown``. Chi-squared, with another
        variable ``above >= l - eta + 2 lam``: ``above^2 <= 4 lam grown``. An order a, with ``v = lam + (a - 1)(l -
        eta)``: ``|v| <= (a grown)^((a-1)/a) lam^(1/a)`` (v no less than that, for a > 1), or
        ``lam <= (a grown)^(1-a) v^a`` for a < 1.
        """
        divergence = self.divergence
        cells, _, loss = self._atoms
        lam = columns[1]
        count = grown.size
        atom = np.arange(count).reshape(grown.shape)
        each = self._counted(corners[0], cells, loss)
        self._cell_limits(program, columns, corners)
        if divergence is KULLBACK_LEIBLER:
            linear = program.rows
            right = np.zeros((count, 3))
            right[:, 0] = each
            curved = [alike(3 * atom + 1, lam, -1.0), alike(3 * atom + 2, grown, -1.0)]
            program.add_rows(right.reshape(-1), *self._eta(3 * atom, cells, columns, corners, 1.0), *curved)
            return lambda solver: [solver.NonnegativeConeT(linear), *[solver.ExponentialConeT()] * count]
        eta = self._eta(atom, cells, columns, corners, -1.0)
        if divergence.jumps:
            program.add_rows(-each, *eta, alike(atom, grown, -1.0))
            program.add_rows(np.zeros(count), alike(atom, grown, -1.0))
            linear = program.rows
            return lambda solver: [solver.NonnegativeConeT(linear)]
        if isinstance(divergence, CressieRead):
            return self._powers(program, divergence.a, (atom, grown, lam), each, (columns, corners))
        above = program.add_columns(0.0, count).reshape(grown.shape)
        program.add_rows(-each, *eta, alike(atom, lam, 2.0), alike(atom, above, -1.0))
        linear = program.rows
        longest = [alike(3 * atom, lam, -1.0), alike(3 * atom, grown, -1.0)]
        others = [alike(3 * atom + 1, above, -1.0), alike(3 * atom + 2, lam, -1.0), alike(3 * atom + 2, grown, 1.0)]
        program.add_rows(np.zeros(3 * count), *longest, *others)
        return lambda solver: [solver.NonnegativeConeT(linear), *[solver.SecondOrderConeT(3)] * count]

    def _powers(
        self,
        program: ConicProgram,
        a: float,
        at: tuple[Integers, Integers, Integers],
        each: Floats,
        where: tuple[_Columns, _Corners],
    ) -> Callable[[ModuleType], list[Any]]:
        """Add the cones of powers; they hold (x, y, z) with ``x^p y^(1-p) >= |z|``."""
        cells, _, _ = self._atoms
        (atom, grown, lam), count = at, at[0].size
        if a > 1:
            above = program.add_columns(0.0, count).reshape(grown.shape)
            eta = self._eta(atom, cells, *where, -(a - 1.0))
            program.add_rows(-(a - 1.0) * each, *eta, alike(atom, lam, 1.0), alike(atom, above, -1.0))
            right, power = np.zeros(3 * count), (a - 1.0) / a
            curved = [alike(3 * atom + 1, lam, -1.0), alike(3 * atom + 2, above, -1.0)]
        else:
            right, power = np.zeros((count, 3)), 1.0 - a
            right[:, 1] = -(1.0 - a) * each
            right = right.reshape(-1)
            curved = [*self._eta(3 * atom + 1, cells, *where, -(1.0 - a)), alike(3 * atom + 1, lam, -1.0)]
            curved.append(alike(3 * atom + 2, lam, -1.0))
        linear = program.rows
        program.add_rows(right, alike(3 * atom, grown, -a), *curved)
        return lambda solver: [solver.NonnegativeConeT(linear), *[solver.PowerConeT(power)] * count]

    def _cell_limits(self, program: ConicProgram, columns: _Columns, corners: _Corners) -> None:
        """Keep ``eta_i(r^j) + lam f'(inf) >= c_i`` where Q may leave P's support; else only keep empty cells up.

        Of trimming this keeps the program bounded.
        """
        problem = self.problem
        w, lam, _ = columns
        limited = self.divergence.escapes or self.divergence is TRIMMING
        if limited:
            group, label = np.nonzero(np.ones(w.shape))
            least = self._counted(corners[0], (group, label), problem.ceiling.reshape(-1) / problem.scale)
        else:
            group, label = np.nonzero(problem.mass == 0)
            least = np.full(len(corners[0]) * len(group), -DEEPEST)
        if not len(group):
            return
        rows = np.arange(len(least)).reshape(-1, len(group))
        entries = self._eta(rows, (group, label), columns, corners, -1.0)
        if limited:
            entries.append(alike(rows, lam, -self.divergence.slope_at_infinity if self.divergence.escapes else -1.0))
        program.add_rows(-least, *entries)


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
