"""Sensitive shifting for fixed label shares: one scalar equation (docs/theory.md, "Pieces").

With ``A_s = sum_y sqrt(p_sy r_y)`` and ``Ebar_s = sum_y r_y E_sy`` the worst loss at label shares r is

    V(r) = min over v > max Ebar of   v - tau^2 / sum_s A_s^2 / (v - Ebar_s),

and at the minimum ``eta_sy = E_sy + (v - Ebar_s) / A_s · sqrt(p_sy / r_y)`` are optimal multipliers of the cells,
``k_s`` proportional to ``(A_s / (v - Ebar_s))^2`` the worst group shares. This holds for the
whole simplex of group shares and without empty cells, the case that most people ask about, and costs microseconds.

Setting the derivative to zero says that the vectors A and ``sqrt(k)`` enclose the angle whose cosine is ``tau / |A|``.
Its cotangent is the mean of ``1 / (v - Ebar_s)`` divided by the standard deviation, with weights ``A_s^2``. For two
groups this is an affine function of v. For more it is close to one and, wherever we looked, concave: Newton's method,
started at the left end, needs one step for two groups and a few for hundreds. (Nothing rests on its success.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.problem import Problem

#: Limit on Newton steps, and the relative change that ends them; the error enters the bound at second order only.
NEWTONS = 12
ACCURACY = 1e-3

#: The range of ``v - max Ebar``, in units of the largest loss.
SMALLEST, LARGEST = 1e-13, 1e8

#: Newton's method for the worst label shares: steps at most, how far shares may move in one (as logarithms), parts of a
#: step that are tried, what slopes are taken over, and how small a gain, relative to the tolerance, ends it.
STEPS, FARTHEST, PARTS, NEAR, ENOUGH = 30, 1.5, np.array([1.0, 0.25, 0.02]), 1e-4, 1e-3

#: How closely multipliers are solved for where slopes are compared.
CLOSELY = 1e-10

#: No share is smaller than this: the worst case has some of everything that the data have.
LEAST = 1e-9


@dataclass(frozen=True)
class FixedShares:
    """Solutions for a batch of label shares: value, level ``v`` and worst group shares (N, S)."""

    value: Floats
    level: Floats
    group_share: Floats


def applies(problem: Problem) -> bool:
    """Whether the closed form holds: one loss per cell, mass in every cell, no limit on the groups."""
    return not problem.unseen and problem.upper.places == 1 and not problem.groups.limited and bool(problem.mass.all())


def fixed_shares(problem: Problem, rho: Floats, share: Floats, accuracy: float = ACCURACY) -> FixedShares:
    """Solve for label shares of shape (N, C), all positive; without care for rounding.

    Where no Q with these label shares is in the ball the value is very negative.
    """
    tau = least_affinity(rho)
    # One row per group: NumPy is quickest along the last, long axis.
    spread = np.sqrt(problem.upper.probability[..., 0]) @ np.sqrt(share).T  # A_s
    level = problem.upper.loss[..., 0] @ share.T  # Ebar_s
    top = level.max(axis=0)
    below = top - level
    square = spread * spread
    length = square.sum(axis=0)
    weight = square / length
    excess = _excess(below / problem.scale, weight, tau / np.sqrt(np.maximum(length - tau * tau, 1e-300)), accuracy)
    # Mean losses that are the same in all groups, exactly: V is linear in v, with its minimum at one end or the other.
    excess = np.where(below.any(axis=0), excess, np.where(length < tau * tau, LARGEST, SMALLEST))
    rise = below + problem.scale * excess  # v - Ebar_s
    pull = square / rise
    value = top + problem.scale * excess - tau * tau / pull.sum(axis=0)
    k = pull / rise
    return FixedShares(value, top + problem.scale * excess, (k / k.sum(axis=0)).T)


def _excess(below: Floats, weight: Floats, cotangent: Floats, accuracy: float) -> Floats:
    """Find ``e = v - max Ebar`` where the angle has this cotangent, by Newton's method from the left end."""
    excess = np.full(len(cotangent), SMALLEST)
    for _ in range(NEWTONS):
        part = below / (below + excess)  # 1 - part is proportional to 1 / (v - Ebar)
        mean = (weight * part).sum(axis=0)
        off = part - mean
        weighted = weight * off
        variance = np.maximum((weighted * off).sum(axis=0), 1e-300)
        curvature_remainder = part * (1.0 - part)  # e times the slope of 1 - part
        slope = (weight * curvature_remainder).sum(axis=0) + (1.0 - mean) * (weighted * curvature_remainder).sum(
            axis=0
        ) / variance
        missing = cotangent * np.sqrt(variance) - (1.0 - mean)
        before = excess
        excess = np.clip(before + before * missing / np.maximum(slope, 1e-300), SMALLEST, LARGEST)
        if (np.abs(excess - before) <= accuracy * before).all():
            break
    return excess


def quick_multipliers(problem: Problem, vertices: Floats, centre: Floats, level: Floats) -> Floats:
    """Return multipliers w (N, S, C) for pieces with these vertices (N, m, C), from a point of each and its level.

    They are the optimal ones at that point where these can follow r through the piece without falling below a mean
    loss. Where they cannot, all multipliers of the group rise by the same amount, to a level above all that the
    group's mean loss reaches in the piece.
    """
    mean = problem.upper.loss[..., 0]
    root = np.sqrt(problem.upper.probability[..., 0])
    reached = (vertices @ mean.T).max(axis=(1, 2))
    rise = np.maximum(level, reached + 1e-9 * problem.scale)[:, None] - centre @ mean.T
    shape = root / np.sqrt(centre)[:, None]
    shape = shape / (shape @ centre[..., None])  # weighted by the centre they average to one
    w = mean + rise[..., None] * shape
    tilt = (vertices - centre[:, None]) @ w.swapaxes(-1, -2)
    held = (w[:, None] - tilt[..., None] > mean + 1e-9 * problem.scale).all(axis=(1, 3))
    return np.where(held[..., None], w, mean + rise[..., None])


def ascend(problem: Problem, rho: Floats, start: Floats, tol: float) -> Floats:
    """Return label shares (N, C) near some others at which V is largest, by Newton's method in their logarithms."""
    count, size = start.shape
    place = np.log(np.maximum(start, LEAST))
    moves = np.concatenate([np.zeros((1, size)), NEAR * np.eye(size)])
    level = np.eye(size) - 1.0 / size  # shares stay the same if all logarithms grow alike
    live = np.arange(count)
    for _ in range(STEPS):
        here = place[live]
        value, slope = _slopes(problem, rho[live], here[:, None] + moves)
        curve = (slope[:, 1:] - slope[:, :1]) / NEAR
        curve = level @ (curve + curve.swapaxes(1, 2)) @ level
        bends, ways = np.linalg.eigh(0.5 * curve - np.abs(curve).max(axis=(1, 2))[:, None, None] / size)
        steep = np.maximum(np.abs(bends), 1e-9 * np.abs(bends).max(axis=1, keepdims=True) + 1e-300)
        step = (ways @ ((ways.swapaxes(1, 2) @ slope[:, 0, :, None]) / steep[..., None]))[..., 0]
        step *= np.minimum(1.0, FARTHEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        offered = here[:, None] + PARTS[:, None] * step[:, None]
        values = _values(problem, rho[live], offered)
        best = values.argmax(axis=1)
        row = np.arange(len(live))
        gain = values[row, best] - value[:, 0]
        better = gain > 0
        place[live[better]] = offered[row, best][better]
        live = live[gain > ENOUGH * tol]
        if not len(live):
            break
    return _shares(place)


def _shares(place: Floats) -> Floats:
    share = np.maximum(np.exp(place - place.max(axis=-1, keepdims=True)), LEAST)
    return share / share.sum(axis=-1, keepdims=True)


def _values(problem: Problem, rho: Floats, place: Floats) -> Floats:
    """Return V at logarithms of shares (N, K, C)."""
    count, many, size = place.shape
    shares = _shares(place).reshape(-1, size)
    return fixed_shares(problem, np.repeat(rho, many), shares).value.reshape(count, many)


def _slopes(problem: Problem, rho: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return V and its slopes (N, K, C) with regard to the logarithms."""
    count, many, size = place.shape
    share = _shares(place).reshape(-1, size)
    value, eta, k = _multipliers(problem, np.repeat(rho, many), share)
    slope = (k[..., None] * eta).sum(axis=1)
    slope = share * (slope - (share * slope).sum(axis=1, keepdims=True))
    return value.reshape(count, many), slope.reshape(place.shape)


def _multipliers(problem: Problem, rho: Floats, share: Floats) -> tuple[Floats, Floats, Floats]:
    """Return V at label shares (N, C), the best multipliers eta (N, S, C), and the worst group shares."""
    found = fixed_shares(problem, rho, share, CLOSELY)
    loss, root = problem.upper.loss[..., 0], np.sqrt(problem.upper.probability[..., 0])
    above = found.level[:, None] - share @ loss.T
    spread = np.sqrt(share) @ root.T
    return found.value, loss + (above / spread)[..., None] * root / np.sqrt(share)[:, None], found.group_share
