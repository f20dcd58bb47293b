"""The ways in which a leaf of form T may prove a bound, and the best multipliers of a piece for each of them.

An expected loss is proved as it is. A mean given some cells, and how two means differ, are at most t if an expected
value with t in it is at most zero; where a group can be emptied one or both means are *relaxed* first (docs/theory.md,
"Means under other divergences"). A way is its values, where t is taken off them, and the word in the document.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.problem.divergences import Divergence
from fairbound.solve.conditioning import Given
from fairbound.solve.cone_pieces import FEW_ATOMS, MOST_ATOMS, ConeMultipliers, ConePieces
from fairbound.solve.conjugate_bounds import moving_bound
from fairbound.solve.problem import Problem

#: Pieces are evaluated in batches of at most this many terms.
BATCH = 2_000_000

#: The limit on lam, in units of the largest ceiling, at first and at most.
FIRST_CAP = 100.0
LAST_CAP = 1e6

#: How often a piece is solved at most, with ever higher limits.
MOST_TRIALS = 5

#: Multipliers are raised by so much, in units of the largest ceiling, until they are feasible.
SHIFTS = np.array([0.0, 1e-14, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5])

#: And a mean by so much until it is proved: a small group needs more.
RAISES = np.concatenate([[0.0], np.geomspace(1e-14, 1e-2, 49)])

#: w, centre, omega and lam, a row for each piece.
Tilted = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True)
class Proved:
    """A bound over a piece, and the multipliers that prove it; ``work`` is what it took, in programs of few atoms."""

    bound: float
    by: ConeMultipliers
    work: float = 0.0


@dataclass(frozen=True)
class Way:
    """One way to prove a bound.

    Attributes
    ----------
    problem
        The values.
    divergence
        How distances are measured.
    given
        Where the bound is taken off the values; None of an expected value itself.
    relaxed
        Which means are relaxed, in the words of documents.
    emptied
        Shares that have to vanish together at some corner of a piece, or the way is not tried.
    """

    problem: Problem
    divergence: Divergence
    given: Given | None = None
    relaxed: str = "none"
    emptied: tuple[int, ...] = ()

    def open_to(self, vertices: Floats) -> bool:
        """Whether this way is worth its work on a piece."""
        return bool((vertices[:, self.emptied] == 0).all(axis=1).any())

    @cached_property
    def _programs(self) -> tuple[ConePieces, ConePieces]:
        """The programs, and rough ones of few atoms."""
        fine, few = (ConePieces(self.problem, self.divergence, self.given, most) for most in (MOST_ATOMS, FEW_ATOMS))
        return fine, few

    def prove(self, rho: float, vertices: Floats, cutoff: float, most: float, *, rough: bool = False) -> Proved:
        """Solve one piece with a limit on lam that is raised, to ``most``, only where it binds.

        Solvers like small numbers. One that gave up may do better with another limit.
        """
        cap, scale = FIRST_CAP, self.problem.scale
        found: Proved | None = None
        for trial in range(MOST_TRIALS):
            best = self._programs[rough].solve(rho, vertices, cap)
            proved = self._mended(rho, vertices, best)
            if found is None or proved.bound < found.bound:
                found = proved
            binding = best.lam >= 0.5 * cap * scale and cap < most
            if proved.bound <= cutoff or not (binding or (trial == 0 and not best.solved)):
                break
            cap = max(min(30.0 * cap, most), 2.0 * cap)
        each = 1.0 if rough else max(1.0, min(self.problem.upper.places, MOST_ATOMS) / FEW_ATOMS)
        return replace(found or proved, work=(trial + 1) * each)

    def shares(self, rho: float, spot: Floats, most: float) -> Floats:
        """Return the shares of the other side of a worst case with these shares, as the solver has them."""
        return self.prove(rho, spot[None], -np.inf, most).by.group_share

    def bounds(
        self, rho: float, vertices: Floats, multipliers: Tilted, counted: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """Evaluate bounds in batches; ``counted`` as in :func:`fairbound.solve.conjugate_bounds.moving_bound`."""
        chunk = max(1, BATCH // (self.problem.upper.probability.size * vertices.shape[1]))
        parts = []
        for start in range(0, len(vertices), chunk):
            part = slice(start, start + chunk)
            w, centre, omega, lam = (m[part] for m in multipliers)
            rest = None if counted is None else (counted[0][part], counted[1][part])
            radii = np.full(len(lam), rho)
            parts.append(
                moving_bound(self.problem, self.divergence, radii, vertices[part], (w, centre, omega, lam), rest)
            )
        return np.concatenate(parts)

    def _mended(self, rho: float, vertices: Floats, best: ConeMultipliers) -> Proved:
        """Return what multipliers prove once they are raised enough to be feasible; of a mean, once it is too.

        A solver's multipliers may miss the ceilings a little, or be a little too low for very steep conjugates;
        raising all of them alike costs what they are raised by.
        """
        scale, given = self.problem.scale, self.given
        lam, mean = max(best.lam, 1e-12 * scale), 0.0 if given is None else best.mean
        if not (np.isfinite(best.w).all() and np.isfinite([lam, mean]).all() and np.isfinite(best.omega).all()):
            return Proved(np.inf, replace(best, lam=lam))
        times, taken = (np.ones(()), np.zeros(())) if given is None else (given.times(vertices), given.taken(vertices))
        shifts = SHIFTS * max(scale, lam, float(np.abs(best.w).max()))
        if self.divergence.escapes:
            tilt = (vertices - best.centre) @ best.w.T
            reached = best.w - tilt[..., None] + mean * taken + self.divergence.slope_at_infinity * lam
            shifts = max(0.0, float((times * self.problem.ceiling - reached).max())) + shifts[:4]
        elif lam > 1e-4 * scale:
            shifts = shifts[:1]
        raises = np.zeros(1) if given is None else RAISES * scale
        shift, means = (part.reshape(-1) for part in np.meshgrid(shifts, mean + raises, indexing="ij"))
        count = len(shift)
        w = best.w + shift[:, None, None]
        centre, omega = (np.repeat(part[None], count, axis=0) for part in (best.centre, best.omega))
        many = w, centre, omega, np.full(count, lam)
        corners = np.repeat(vertices[None], count, axis=0)
        if given is None:
            bound = self.bounds(rho, corners, many)
        else:
            counted = np.broadcast_to(times, (count, *times.shape)), means[:, None, None, None] * taken
            bound = np.where(self.bounds(rho, corners, many, counted) <= 0.0, means, np.inf)
        winner = int(bound.argmin())
        return Proved(float(bound[winner]), replace(best, w=w[winner], lam=lam))
