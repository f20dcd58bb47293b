"""Sensitive shifting without a search: the largest value over the shares of one side, and one leaf that proves it.

The value at given shares k of one side, V(k), and its slope cost microseconds (:mod:`sensitive_shares`). Newton's
method finds a maximum, and the multipliers there, continued as fractions of the shares (form F, docs/specification.md),
bound V everywhere. Where some ``base_s + offset_y`` lies between all losses and all multipliers every term of that
bound is concave, its tangent at k is taken, and the bound is V(k) itself: nothing is lost by not searching. With two
groups or two labels that is so for one side or the other more often than not; elsewhere the search decides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.answer import Answer
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.nearest import NearestFair
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, FractionalProof
from fairbound.solve.rates_bounds import Leaves, rates_bound
from fairbound.solve.sensitive_shares import applies, fixed_shares
from fairbound.solve.witness import build_witnesses

#: Newton's method: steps at most, how far shares may move in one (as logarithms), parts of a step that are tried, what
#: slopes are taken over, and how small a gain of the value, relative to the tolerance, ends it.
STEPS, FARTHEST, PARTS, NEAR, ENOUGH = 12, 1.5, np.array([1.0, 0.25, 0.02]), 1e-4, 1e-3

#: How closely multipliers are solved for where slopes are compared.
CLOSELY = 1e-10

#: No share is smaller than this: the worst case has some of everything that the data have.
LEAST = 1e-9

#: How often multipliers are moved until the bound is level, and offsets until they fit.
LEVELLINGS, FITTINGS = 2, 8


def is_direct(problem: Problem) -> bool:
    """Whether this can be tried: one loss per cell, mass in every cell, no limits."""
    return applies(problem) and not problem.labels.limited


def largest(problem: Problem, rho: Floats, start: Floats, tol: float) -> Floats:
    """Return shares (N, C) of the labels where V is largest near the best of some shares (K, C), by Newton's method."""
    count, size = len(rho), problem.labels.size
    tried = fixed_shares(problem, np.repeat(rho, len(start)), np.tile(start, (count, 1))).value
    place = np.log(np.maximum(start[tried.reshape(count, -1).argmax(axis=1)], LEAST))
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


def direct_answers(problem: Problem, nearest: NearestFair, rhos: Floats, tol: float) -> list[Answer]:
    """Answer for all radii: from the label shares and, where that leaves a gap, from the group shares."""
    other = NearestFair(nearest.distance, nearest.label_mass, nearest.group_mass)
    answers = [replace(a, witness=a.witness.transposed) for a in _of_groups(problem.transposed, other, rhos, tol)]
    left = np.flatnonzero([a.bound - a.witness.loss > tol for a in answers])
    if len(left):
        for index, found in zip(left, _of_groups(problem, nearest, rhos[left], tol), strict=True):
            answers[index] = better(answers[index], found)
    return answers


def better(first: Answer, second: Answer) -> Answer:
    """Return the smaller bound and the worse distribution of two answers to one question."""
    proved = min(first, second, key=lambda answer: answer.bound)
    return replace(proved, witness=max(first.witness, second.witness, key=lambda witness: witness.loss))


def _of_groups(problem: Problem, nearest: NearestFair, rho: Floats, tol: float) -> list[Answer]:
    """Answer with one leaf, the whole simplex of the group shares."""
    turned, near = problem.transposed, nearest.group_mass
    corners = 0.7 * np.eye(len(near)) + 0.3 * near
    start = np.maximum(np.concatenate([near[None], np.full((1, len(near)), 1.0 / len(near)), corners]), LEAST)
    share = largest(turned, rho, start / start.sum(axis=1, keepdims=True), tol)
    _, eta, rates = _multipliers(turned, rho, share)
    leaves, bounds = _best_leaves(problem, rho, share, eta.swapaxes(1, 2))
    plain = np.repeat(problem.ceiling[None], len(rho), axis=0)
    witness = build_witnesses(problem, rho, (share, rates), plain, np.zeros(len(rho)), nearest)
    axis: Axis = "label" if problem.is_transposed else "group"
    return [Answer(bound, witness[index], _proof(leaves, index, axis)) for index, bound in enumerate(bounds.tolist())]


def _proof(leaves: Leaves, index: int, axis: Axis) -> FractionalProof:
    """Write a leaf down, with groups before labels."""
    here = leaves.take(np.array([index]))
    zeta = here.zeta if axis == "group" else here.zeta.swapaxes(1, 2)
    none = np.zeros((1, 0))
    multipliers = zeta, here.base, here.offset, None, here.centre, here.omega, 2.0 * here.lam, None, none, none
    return FractionalProof(axis, np.zeros(here.base.shape[1]), (None,), *multipliers)


def _best_leaves(problem: Problem, rho: Floats, share: Floats, eta: Floats) -> tuple[Leaves, Floats]:
    """Return leaves from multipliers at shares (N, S) that are nearly the worst.

    What the bound gains by moving towards some group is taken off the multipliers of that group: to first order that
    costs nothing at these shares, since V is smallest at the best multipliers.
    """
    loss, probability = problem.upper.loss[..., 0], problem.upper.probability[..., 0]
    tau = least_affinity(rho)
    vertices = np.broadcast_to(np.eye(problem.groups.size), (len(rho), problem.groups.size, problem.groups.size))
    rates = BaseRates(problem.groups.size, problem.labels, 0.0)
    least, best = np.full(len(rho), np.inf), None
    for _ in range(1 + LEVELLINGS):
        gap = np.maximum(eta - loss, 1e-300)
        lam = tau / (probability / gap).sum(axis=(1, 2))
        base, offset = _fitted(loss, eta)
        top = base[..., None] + offset[:, None]
        zeta = share[..., None] * (eta - top)
        needed = np.maximum(problem.ceiling - top, 0.0)
        zeta = np.maximum(zeta, needed * (1 + 1e-9)) + 1e-16 * problem.scale
        leaves = Leaves(zeta, base, np.zeros_like(base), share, np.zeros_like(base), lam, offset)
        bound = rates_bound(problem, rates, rho, vertices, leaves)
        best = leaves if best is None else _merged(bound < least, leaves, best)
        least = np.minimum(bound, least)
        mass = (lam[:, None, None] / gap) ** 2 * probability
        slope = base + (mass * (eta - top)).sum(axis=2) / share
        eta = eta - (slope - (share * slope).sum(axis=1, keepdims=True))[..., None]
    return best or leaves, least


def _merged(lower: Booleans, new: Leaves, old: Leaves) -> Leaves:
    columns = {}
    for name in Leaves.__dataclass_fields__:
        first, second = getattr(new, name), getattr(old, name)
        columns[name] = np.where(lower.reshape(-1, *[1] * (first.ndim - 1)), first, second)
    return replace(old, **columns)


def _fitted(loss: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return base (N, S) and offset (N, C) that add up to something between losses and multipliers, if there is such.

    As large as the multipliers allow; offsets are zero unless some loss is larger.
    """
    offset = np.zeros((len(eta), loss.shape[1]))
    base = eta.min(axis=2)
    for _ in range(FITTINGS):
        if (base[..., None] + offset[:, None] >= loss).all():
            break
        least, most = (loss - base[..., None]).max(axis=1), (eta - base[..., None]).min(axis=1)
        offset = np.clip(offset, np.minimum(least, most), most)
        base = (eta - offset[:, None]).min(axis=2)
    return base, offset
