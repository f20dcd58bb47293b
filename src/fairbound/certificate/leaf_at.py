"""The multipliers of a proof of form T at the shares of its worst case, in floats: nothing is proved with these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.priced import Priced
from fairbound.verify import document


@dataclass(frozen=True)
class Multipliers:
    """Of each cell (S, C) the multiplier, and factor and shift of the values; and by what the bound is scaled."""

    eta: Floats
    factor: Floats
    shift: Floats
    scale: float


def multipliers_at(c: Priced) -> Multipliers | None:
    """Return the multipliers at the worst case; None where the proof has others, or relaxes a mean."""
    x = _searched(c)
    leaf = None if x is None else leaf_at(c.proof, x)
    if x is None or not isinstance(leaf, document.Tilted):
        return None
    by_label, w = c.proof.axis == "label", np.array(leaf.w)
    away, gamma = x - np.array(leaf.centre), np.array(leaf.gamma)
    lines = w if by_label else w.T
    apart = not c.condition.equal  # then all eta of a group's labels are alike
    tilt = np.zeros(lines.shape) if apart and by_label else lines
    if apart and not by_label:
        tilt = np.broadcast_to(lines.max(axis=0), lines.shape)
    eta = lines - ((tilt - gamma) @ away)[:, None]
    values = _values(c, leaf.relaxed, x)
    return None if values is None else Multipliers(eta if by_label else eta.T, *values)


def _searched(c: Priced) -> Floats | None:
    """Return the searched shares of the worst case."""
    if c.proof.axis == "group":
        return c.witness.group_mass
    return c.witness.label_mass if c.proof.axis == "label" else None


def _values(c: Priced, relaxed: str, x: Floats) -> tuple[Floats, Floats, float] | None:
    """Return factor and shift of the values, and what a unit of the bound is worth in them."""
    about, mass = c.objective, c.witness.mass
    ones, zeros = np.ones_like(mass), np.zeros_like(mass)
    if about is None:
        return ones, zeros, 1.0
    if relaxed != "none" or about.ratio:
        return None
    sign = about.sign(mass.shape)
    if about.plus is None or about.minus is None:
        here = sign != 0
        return here * ones, np.where(here, -c.bound, 0.0), float(mass[here].sum())
    if c.proof.axis != "group":
        return None
    factor = np.where(sign > 0, x[about.minus], np.where(sign < 0, x[about.plus], 0.0))
    return factor, np.where(sign > 0, -c.bound * x[about.minus], 0.0), float(mass[sign > 0].sum() * x[about.minus])


def leaf_at(proof: document.Proof, x: Floats) -> document.Leaf | None:
    """Return the leaf whose piece has the shares x, followed down the tree by how the corners mix to x."""
    floors = np.array(proof.floors)
    if len(floors) != len(x):
        return None
    rest = 1.0 - floors.sum()
    place = (x - floors) / rest if rest > 0 else np.full(len(x), 1.0 / len(x))
    stack, leaves = [place], iter(proof.leaves)
    best: tuple[float, document.Leaf | None] = (-np.inf, None)
    for split in proof.splits:
        if not stack:
            return None
        mixed = stack.pop()
        if split is None:
            leaf = next(leaves, None)
            best = max(best, (float(mixed.min()), leaf), key=lambda pair: pair[0])
            continue
        i, j, t = int(split[0]), int(split[1]), split[2]
        if not (i != j and max(i, j) < len(x) and 0.0 < t < 1.0 and len(proof.leaves) * 2 == len(proof.splits) + 1):
            return None  # whoever wrote it: nothing is proved by such a tree
        first, second = mixed.copy(), mixed.copy()
        first[i], first[j] = mixed[i] / (1.0 - t), mixed[j] - mixed[i] * t / (1.0 - t)
        second[j], second[i] = mixed[j] / t, mixed[i] - mixed[j] * (1.0 - t) / t
        stack += [second, first]
    return best[1]
