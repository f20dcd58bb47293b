"""The region "prequential" in arrays: the least bound that bets on the rows reject, for one radius.

Multipliers of the inequality are made of the rows before a block and bet on the rows of the block; by Ville's
inequality the capital that bets against a true hypothesis win is large with small probability only
(docs/finite-samples.md, "One radius: bets"). The rule is the checker's own; arrays hold many samples at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.sampling.discretise import Sample
from fairbound.verify.prequential import (
    BEND,
    MOST_LOST,
    PRIOR,
    STEP,
    STEPS,
    SWEEPS,
    WIDER,
    blocks_of,
    ends_of,
    pieces_of,
)

#: How often the interval of possible bounds is halved, and what is added to its end for rounding, in ceilings.
HALVINGS, ROUNDING = 36, 1e-9

#: From so many rows on bets are tighter than what holds for all radii at once, in nearly all simulations.
FEWEST_ROWS = 100

#: Rows that look as is to be expected in every block bring the capital to half of its aim when half of all samples
#: reach it: the last steps need luck.
EXPECTED_SHORT = float(np.log(2.0))


def dealt(sample: Sample, seed: int) -> Floats:
    """Return the rows of a sample by block, cell and loss."""
    return np.array(blocks_of(sample.counts.astype(int).tolist(), seed), dtype=float)


def expected_blocks(sample: Sample) -> Floats:
    """Return the rows of blocks that all look alike."""
    rows = float(sample.counts.sum())
    ends = ends_of(round(rows))
    sizes = np.diff([0, *ends])
    return sizes[:, None, None, None] * sample.counts / rows


@dataclass(frozen=True)
class Wagers:
    """The bets on all blocks of some samples, for one radius, whatever it is that they are made against.

    ``aim`` is the logarithm of the capital that rejects: of the inverse of the error probability.
    """

    bets: list[_Bets]
    ceiling: float
    aim: float

    @classmethod
    def on(cls, blocks: Floats, losses: Floats, affinity: float, error: float) -> Wagers:
        """Make the bets on samples of equal size; ``blocks`` are (N, blocks, S, C, losses); none on the first."""
        if blocks.shape[3] < blocks.shape[2]:
            blocks = np.swapaxes(blocks, 2, 3)
        rows, count = float(blocks[0].sum()), blocks.shape[1]
        bets = [_Bets.of(blocks[:, :n].sum(axis=1), blocks[:, n], losses, affinity, rows) for n in range(1, count)]
        allowed = error - rows * count * STEP
        return cls(bets, float(losses[-1]), -float(np.log(allowed)) if allowed > 0.0 else np.inf)

    def rejected(self, claimed: Floats, short: float = 0.0) -> Booleans:
        """Whether values are rejected, and all larger ones; ``short`` is what capitals may miss, as a logarithm."""
        return _missing(self.bets, claimed, self.aim) <= short

    def least(self, short: float = 0.0) -> Floats:
        """Return the least values that are rejected, no more than the ceiling."""
        count = len(self.bets[0].rows)
        low, high = np.zeros(count), np.full(count, self.ceiling)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            rejected = self.rejected(middle, short)
            low, high = np.where(rejected, low, middle), np.where(rejected, middle, high)
        return np.minimum(high + ROUNDING * self.ceiling, self.ceiling)


def _missing(bets: list[_Bets], claimed: Floats, aim: float) -> Floats:
    """Return what capitals miss of their aim, as logarithms, on the worst piece."""
    missing = np.full((len(claimed), bets[0].spread.shape[1]), aim)
    for one in bets:
        wanted = np.maximum(missing, 0.0)
        stake = np.minimum(wanted * np.sqrt(2.0 / (wanted + BEND)) / one.spread, one.most)
        won = claimed[:, None, None, None] - one.value
        gains = (one.rows[:, None, None] * np.log1p(stake[..., None, None] * won)).sum(axis=3).min(axis=2)
        missing = np.where(missing > 0.0, missing - gains, missing)
    return np.asarray(missing.max(axis=1))


@dataclass(frozen=True)
class _Bets:
    """The bets on a block: its rows (N, classes); values of classes (N, pieces, corners, classes) and what stakes are.

    ``spread`` is the deviation to be expected of all rows that are left, ``most`` the largest stake.
    """

    rows: Floats
    value: Floats
    spread: Floats
    most: Floats

    @classmethod
    def of(cls, seen: Floats, block: Floats, losses: Floats, affinity: float, rows: float) -> _Bets:
        """Make the bets that follow from the rows seen."""
        before = float(seen[0].sum())
        law = (seen + PRIOR / seen[0].size) / (before + PRIOR)
        radius = min(np.sqrt(max(1.0 - affinity, 0.0)) + WIDER / np.sqrt(before + PRIOR), 0.99)
        gap = losses[-1] - losses
        zeta, lam, level = multipliers(law, gap, 1.0 - radius**2)
        corner = np.array(pieces_of(law.shape[1], round(rows)))  # (pieces, corners, shares)
        centre = corner.mean(axis=1)[:, :, None, None]
        zeta, square = zeta[:, None, :, :, None], (0.25 * lam**2)[:, None, None, None, None]
        start = (level + losses[-1] - lam * affinity)[:, None, None, None, None]
        below = zeta + centre * gap
        middle = start + square * centre / below
        mean = (law[:, None] * middle).sum(axis=(2, 3, 4), keepdims=True)
        spread = np.sqrt((law[:, None] * (middle - mean) ** 2).sum(axis=(2, 3, 4)))
        held, turn = start + square * centre**2 * gap / below**2, square * zeta / below**2
        value = held[:, :, None] + turn[:, :, None] * corner[None, :, :, :, None, None]
        value = value.reshape(*value.shape[:3], -1)
        largest = value.max(axis=(2, 3))
        with np.errstate(divide="ignore"):
            most = np.where(largest > 0.0, MOST_LOST / np.maximum(largest, 0.0), np.inf)
        spread = np.maximum(spread, 1e-9) * np.sqrt(rows - before)
        return cls(block.reshape(len(block), -1), value, spread, most)


def multipliers(law: Floats, gap: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
    """Return zeta, lam and the level for laws (N, S, C, J): nearly the best ones, by turns (see the checker's rule)."""
    k, r = law.sum(axis=(2, 3)), law.sum(axis=(1, 3))
    lam = np.full(len(law), 2.0)

    def tops() -> Floats:
        weight = law * (0.25 * lam**2)[:, None, None, None]
        return _root(weight, np.broadcast_to(gap, law.shape), k[:, :, None] * r[:, None])

    def lines(d: Floats) -> tuple[Floats, Floats]:
        """Return slope and pull of each cell, in the model with one atom."""
        mass = k[:, :, None] * r[:, None]
        cubes = (law * (0.25 * lam**2)[:, None, None, None] / (d[..., None] + gap) ** 3).sum(axis=3)
        bend = 2.0 / cubes * mass**1.5
        return d - bend / (2.0 * np.sqrt(mass)), bend

    def shares(slope: Floats, pull: Floats) -> Floats:
        top, weight = slope.max(axis=1, keepdims=True), 0.25 * pull**2
        level = _root(weight, top - slope, np.ones(len(law)))[:, None]
        found = np.maximum(weight / (level + top - slope) ** 2, 1e-12)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    for _ in range(SWEEPS):
        slope, bend = lines(tops())
        r = shares((k[:, :, None] * slope).sum(axis=1), (np.sqrt(k)[:, :, None] * bend).sum(axis=1))
        slope, bend = lines(tops())
        k = shares((r[:, None] * slope).sum(axis=2), (np.sqrt(r)[:, None] * bend).sum(axis=2))
        near = 0.5 * lam * (law / (tops()[..., None] + gap)).sum(axis=(1, 2, 3))
        far = np.sqrt(np.maximum(1.0 - near, 1e-12) / (1.0 - tau))
        lam = np.minimum(lam * np.clip(far, 0.5, 2.0), 1000.0)
    d = tops()
    levels = (k[:, :, None] * d).sum(axis=1)
    zeta = k[:, :, None] * (d + (levels.max(axis=1, keepdims=True) - levels)[:, None])
    return zeta, lam, zeta.sum(axis=1).max(axis=1)


def _root(weight: Floats, gap: Floats, mass: Floats) -> Floats:
    """Return d such that ``sum w / (d + g)^2`` along the last axis is the mass, by Newton's method from below."""
    d = np.maximum((np.sqrt(weight / mass[..., None]) - gap).max(axis=-1), 0.0)
    for _ in range(STEPS):
        off = d[..., None] + gap
        squares, cubes = (weight / off**2).sum(axis=-1), (weight / off**3).sum(axis=-1)
        step = squares / cubes * (np.sqrt(squares / mass) - 1.0)
        d = np.maximum(d + step, 0.0)
        if (np.abs(step) <= 1e-12 * d).all():
            break
    return d
