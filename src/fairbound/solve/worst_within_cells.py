"""The worst distribution inside the cells when the masses of the cells are given, for each divergence.

For fixed cell masses ``m`` the question is convex and small (docs/theory.md, "What is attained"):

    max  sum l q    s.t.   sum over a cell of q = m_i,   D_f(Q || P) <= rho,

and one number, the steepness ``s``, tells all: Kullback-Leibler tilts the losses of a cell by ``exp(s l)``,
chi-squared by ``max(0, s l - nu_i)``, and order a by ``(1 + (a - 1)(s l - nu_i))^(1/(a-1))``; total variation moves the
smallest losses to the largest, one after the other.
Trimming needs none: each cell keeps its largest losses.
Nothing here has to be trusted: the distribution is measured afterwards with rounding against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.problem.divergences import (
    CHI_SQUARED,
    KULLBACK_LEIBLER,
    TOTAL_VARIATION,
    TRIMMING,
    CressieRead,
    Divergence,
)
from fairbound.solve.problem import Problem

#: How often the interval of the steepness is halved.
HALVINGS = 60

#: How much of the ball may be left unused, relative.
CLOSE = 1e-14

#: Steps of Newton's method for levels.
NEWTON = 60

#: The steepest tilt, in units of one over the largest loss: beyond it all of a cell's mass is at its largest loss.
STEEPEST = 1e9


@dataclass(frozen=True)
class Ground:
    """What Q is made of: probabilities and losses of atoms, shape (S, C, J), and ceilings (S, C).

    ``unseen`` tells in which cells Q may put mass at the ceiling, outside the atoms.
    """

    probability: Floats
    loss: Floats
    ceiling: Floats
    unseen: Floats

    @classmethod
    def of(cls, problem: Problem, divergence: Divergence, *, upper: bool = False) -> Ground:
        """Take the lower (or the upper) atoms of a problem; cells without data lie outside P's support."""
        atoms, empty = problem.upper if upper else problem.lower, problem.mass == 0
        unseen = (empty | problem.unseen) & divergence.escapes
        return cls(atoms.probability, atoms.loss, problem.ceiling, unseen)

    @property
    def joined(self) -> Ground:
        """All cells as one: without equal base rates they do not matter."""
        flat = (1, 1, self.probability.size)
        top = np.where(self.unseen, self.ceiling, -np.inf).max()
        held = np.where(self.probability > 0, self.loss, -np.inf).max()
        return Ground(
            self.probability.reshape(flat),
            self.loss.reshape(flat),
            np.full((1, 1), top),
            np.full((1, 1), top >= held),  # else what is added sits on an atom
        )

    @property
    def top(self) -> Floats:
        """The largest loss that Q may put into a cell; zero where it may put none."""
        held = np.where(self.probability > 0, self.loss, -np.inf).max(axis=2)
        top = np.where(self.unseen, self.ceiling, held)
        return np.where(np.isfinite(top), top, 0.0)


@dataclass(frozen=True)
class Inside:
    """Masses on the atoms (S, C, J) and at the ceilings (S, C), and the steepness, infinite if the ball is slack."""

    atoms: Floats
    unseen: Floats
    steepness: float


def measure(divergence: Divergence, ground: Ground, atoms: Floats, unseen: Floats) -> Floats:
    """Return ``D_f(Q || P)``, as floats have it; leading axes of ``atoms`` and ``unseen`` are kept."""
    return divergence.measure(ground.probability, atoms, unseen.sum(axis=(-2, -1)), axis=(-3, -2, -1))


def keep_inside(ground: Ground, mass: Floats) -> tuple[Floats, Floats]:
    """Return the Q with these cell masses that keeps P inside the cells: of all of them the nearest."""
    cell = ground.probability.sum(axis=2)
    some = cell > 0
    share = ground.probability / np.where(some, cell, 1.0)[..., None]
    return mass[..., None] * share, np.where(some, 0.0, mass)


def single_multipliers(divergence: Divergence, ground: Ground, rho: float) -> tuple[Floats, Floats]:
    """Return some good multipliers eta and lam for the whole ball, without equal base rates.

    Very small balls ask for a lam beyond all measure, which rounding makes useless: some smaller ones are offered too.
    """
    whole = ground.joined
    found = worst_inside(divergence, whole, np.ones((1, 1)), rho)
    steepness = found.steepness
    top = float(whole.top.max())
    scale = top or 1.0
    least = 1e-9 * scale / (1.0 + rho)
    if divergence is TOTAL_VARIATION:
        lam = np.array([max(1.0 / steepness, least)])
        return top - lam, lam
    if divergence is TRIMMING:  # the smallest loss that is left: the value at risk, whatever lam is
        held = found.atoms.reshape(-1) > 0
        return np.array([whole.loss.reshape(-1)[held].min()]), np.array([scale])
    flattest = np.geomspace(1e2, 1e7, 11) * scale
    unit = 0.5 if divergence is CHI_SQUARED else 1.0
    lam = np.array([max(unit / max(steepness, unit / flattest[-1]), least)])
    lam = np.concatenate([lam, flattest[flattest < lam]])
    some = whole.probability > 0
    probability, loss = whole.probability[some], whole.loss[some]
    low, high = np.full((2, len(lam)), [[loss.min()], [loss.max()]])
    for _ in range(HALVINGS):  # the density ratio adds up to one, and falls with eta
        eta = 0.5 * (low + high)
        heavy = divergence.ratio(loss - eta[:, None], lam[:, None]) @ probability > 1.0
        low, high = np.where(heavy, eta, low), np.where(heavy, high, eta)
    return np.maximum(high, top - divergence.slope_at_infinity * lam) if divergence.escapes else high, lam


def worst_inside(divergence: Divergence, ground: Ground, mass: Floats, rho: float) -> Inside:
    """Return the worst Q with these cell masses in the ball; the ball must hold the one that keeps P inside."""
    if divergence is TOTAL_VARIATION:
        return _moved(ground, mass, rho)
    if divergence is TRIMMING:
        return _filled(ground, mass, rho)
    if isinstance(divergence, CressieRead):
        return _steepest(divergence, ground, rho, _powered(divergence.a, ground, mass))
    plain = keep_inside(ground, mass)[1]
    tilt = {KULLBACK_LEIBLER: _tilted, CHI_SQUARED: _cut_off}[divergence](ground, mass)
    return _steepest(divergence, ground, rho, lambda steepness: (tilt(steepness), plain))


def _steepest(
    divergence: Divergence, ground: Ground, rho: float, tilt: Callable[[float], tuple[Floats, Floats]]
) -> Inside:
    """Find the steepest tilt inside the ball: the divergence grows with it."""
    least = float(measure(divergence, ground, *tilt(0.0)))

    def excess(size: float) -> float:
        """Return the logarithm of what the tilt takes, in units of what there is: about linear in that of its size."""
        took = float(measure(divergence, ground, *tilt(math.exp(size)))) - least
        return math.log(max(took, 1e-300) / (rho - least))

    unit = 1.0 / (float(np.max(np.abs(ground.loss))) or 1.0)
    low, high = math.log(1e-12 * unit), math.log(STEEPEST * unit)
    if least >= rho or (below := excess(low)) > 0:
        return Inside(*tilt(0.0), 0.0)
    if (above := excess(high)) <= 0:
        return Inside(*tilt(math.exp(high)), np.inf)
    stuck, moved = (below, above), 0
    for step in range(HALVINGS):  # chords, of which the end that stays counts less and less; a halving now and then
        chord = low + (high - low) * stuck[0] / (stuck[0] - stuck[1])
        middle = chord if low < chord < high and step % 4 != 3 else 0.5 * (low + high)
        here = excess(middle)
        side = 1 if here <= 0 else -1
        low, high, below = (middle, high, here) if side > 0 else (low, middle, below)
        other = stuck[side > 0] * (0.5 if side == moved else 1.0)
        stuck, moved = ((here, other) if side > 0 else (other, here)), side
        if below > -CLOSE or high - low < CLOSE:
            break
    return Inside(*tilt(math.exp(low)), math.exp(low))


def _tilted(ground: Ground, mass: Floats) -> Callable[[float], Floats]:
    """Kullback-Leibler: ``q`` is proportional to ``p exp(s l)`` in every cell."""
    depth = np.where(ground.probability > 0, ground.loss - ground.top[..., None], 0.0)

    def tilt(steepness: float) -> Floats:
        weight = ground.probability * np.exp(steepness * depth)
        total = weight.sum(axis=2)
        return weight * (mass / np.where(total > 0, total, 1.0))[..., None]

    return tilt


def _cut_off(ground: Ground, mass: Floats) -> Callable[[float], Floats]:
    """Chi-squared: ``q = p max(0, s l - nu)`` in every cell; nu from sums over its largest losses."""
    used = ground.probability > 0
    depth = np.where(used, ground.loss - ground.top[..., None], 0.0)
    order = np.argsort(np.where(used, -depth, np.inf), axis=2, kind="stable")  # the largest losses first
    share = np.take_along_axis(ground.probability, order, 2)
    place = np.take_along_axis(depth, order, 2)
    some = share > 0
    held = np.cumsum(share, axis=2)
    moment = np.cumsum(share * place, axis=2)

    def tilt(steepness: float) -> Floats:
        levels = (steepness * moment - mass[..., None]) / np.where(held > 0, held, 1.0)
        inside = some & (steepness * place >= levels)
        last = np.maximum(inside.sum(axis=2) - 1, 0)
        level = np.take_along_axis(levels, last[..., None], 2)
        raw = ground.probability * np.maximum(0.0, steepness * depth - level)
        total = raw.sum(axis=2)
        return raw * (mass / np.where(total > 0, total, 1.0))[..., None]

    return tilt


def _powered(a: float, ground: Ground, mass: Floats) -> Callable[[float], tuple[Floats, Floats]]:
    """Order a: ``q = p u^(1/(a-1))``, ``u = level + (a - 1) s (l - top)`` or 0; levels from the cells' masses.

    The masses to the power a - 1 are nearly linear in the levels, so Newton's method needs few steps; it is kept in an
    interval all the same. If a < 1 mass may leave P for the ceiling where u is 0.
    """
    power, used = 1.0 / (a - 1.0), ground.probability > 0
    cell = ground.probability.sum(axis=2)
    some = (cell > 0) & (mass > 0)
    depth = np.where(used, ground.loss - ground.top[..., None], 0.0)
    wanted = np.where(some, mass, 1.0) / np.where(some, cell, 1.0)
    share = ground.probability / np.where(some, cell, 1.0)[..., None]
    flat, deepest = wanted ** (a - 1.0), depth.min(axis=2)  # the levels if all losses were the largest one

    def ratios(level: Floats, slope: float) -> Floats:
        u = np.maximum(level[..., None] + slope * depth, 1e-300 if a < 1 else 0.0)
        return np.asarray(np.where(used, u, 1.0) ** power)

    def tilt(steepness: float) -> tuple[Floats, Floats]:
        slope = (a - 1.0) * steepness
        other = np.maximum(flat - slope * deepest, 0.0)
        low, high = np.minimum(flat, other), np.maximum(flat, other)
        level = high
        with np.errstate(all="ignore"):
            for _ in range(NEWTON):
                ratio = ratios(level, slope)
                held = (share * ratio).sum(axis=2)
                above = (held > wanted) == (a > 1)  # the level, not the mass
                low, high = np.where(above, low, level), np.where(above, level, high)
                pace = (share * np.where(used & (ratio > 0), ratio ** (2.0 - a), 0.0)).sum(axis=2)
                near = level - (held - flat * held ** (2.0 - a)) / pace
                if (np.abs(near - level) <= 1e-15 * level).all():
                    break
                level = np.where((near > low) & (near < high), near, 0.5 * (low + high))
            part = np.where(used, ground.probability * ratios(level, slope), 0.0)
            leaves = ground.unseen & ((share * ratios(np.zeros_like(level), slope)).sum(axis=2) < wanted)
        total = part.sum(axis=2)
        stray = np.where(some, np.where(leaves, np.maximum(mass - total, 0.0), 0.0), mass)
        return part * ((mass - stray) / np.where(total > 0, total, 1.0))[..., None], stray

    return tilt


def _filled(ground: Ground, mass: Floats, rho: float) -> Inside:
    """Trimming: every cell keeps its largest losses, as much of them as the ratio allows."""
    order = np.argsort(np.where(ground.probability > 0, -ground.loss, np.inf), axis=2, kind="stable")
    most = np.take_along_axis(ground.probability, order, 2) / (1.0 - rho)
    before = np.cumsum(most, axis=2) - most
    atoms = np.zeros_like(most)
    np.put_along_axis(atoms, order, np.clip(mass[..., None] - before, 0.0, most), 2)
    return Inside(atoms, keep_inside(ground, mass)[1], np.inf)


def _moved(ground: Ground, mass: Floats, rho: float) -> Inside:
    """Total variation: cells shrink by their smallest losses and grow at the top; the rest of the ball moves more.

    The masses that a cell has lost are not among those that move, and each move costs what it moves.
    """
    cell = ground.probability.sum(axis=2)
    order = np.argsort(np.where(ground.probability > 0, ground.loss, np.inf), axis=2, kind="stable")
    share = np.take_along_axis(ground.probability, order, 2)
    before = np.cumsum(share, axis=2) - share
    kept = share - np.clip(np.maximum(cell - mass, 0.0)[..., None] - before, 0.0, share)
    atoms = np.zeros_like(kept)
    np.put_along_axis(atoms, order, kept, 2)
    added = np.maximum(mass - cell, 0.0)
    gain = np.where(atoms > 0, ground.top[..., None] - ground.loss, 0.0).reshape(-1)
    best = np.argsort(-gain, kind="stable")
    movable = np.where(gain > 0, atoms.reshape(-1), 0.0)[best]
    ahead = np.cumsum(movable) - movable
    left = max(0.0, rho - float(added.sum()))
    moving = np.empty_like(movable)
    moving[best] = np.clip(left - ahead, 0.0, movable)
    moving = moving.reshape(atoms.shape)
    spent = np.flatnonzero(moving.reshape(-1)[best] > 0)
    last = float(gain[best[spent[-1] if len(spent) else 0]])
    steepness = np.inf if float(movable.sum()) <= left else 1.0 / last
    atoms, added = atoms - moving, added + moving.sum(axis=2)
    # What was added sits at the ceiling outside the atoms, or on the largest atom where that is not allowed.
    largest = np.where(ground.probability > 0, ground.loss, -np.inf).argmax(axis=2)[..., None]
    here = np.where(ground.unseen, 0.0, added)[..., None]
    np.put_along_axis(atoms, largest, np.take_along_axis(atoms, largest, 2) + here, 2)
    return Inside(atoms, np.where(ground.unseen, added, 0.0), steepness)
