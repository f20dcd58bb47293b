"""The nearest distribution with equal base rates in a divergence other than Hellinger's.

Products ``k_s r_y`` are not a convex set, and for these divergences no closed form is known. For fixed label shares the
best group shares are (docs/theory.md, "How close is close enough"): with ``a_s = sum_y r_y log(r_y / p_sy)`` for
Kullback-Leibler, ``a_s = log sum_y r_y^2 / p_sy`` for chi-squared, ``a_s = log(sum_y r_y^a p_sy^(1-a)) / (a - 1)`` for
an order a and ``a_s = max_y log(r_y / p_sy)`` for trimming they are proportional to ``exp(-a_s)``, cut off at the
limits; for total variation each unit of a group's share goes where it adds least. What is left is a search over the
label shares: on a grid for two labels, from many starts for more. The distance that is reported is that of the
distribution found.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import UNIT
from fairbound.problem.divergences import TOTAL_VARIATION, Divergence
from fairbound.solve.nearest import NearestFair, nearest_shares
from fairbound.solve.shares import MarginalSet

#: A divergence this small cannot be told from none in floating point.
INDISTINGUISHABLE = 1e-14

#: Where every share is asked for, none is smaller than this.
SOME_SHARE = 1e-7

#: Label shares that are tried at first, the ones that are followed, and how often each is improved.
GRID = 257
STARTS = 64
FOLLOWED = 8
FOLLOWED_IN_LIMITS = 3
STEPS = 60

#: How often the interval of the smallest share is shortened where shares are limited.
SECTIONS = 32

#: With more labels than these shares are improved in turns only, not pair by pair.
MOST_PAIRED = 6


def product_divergence(divergence: Divergence, mass: Floats, k: Floats, r: Floats) -> Floats:
    """Return the divergence of products of shares (N, S), (N, C) from cell masses (S, C), as floats have it."""
    return divergence.measure(mass, k[:, :, None] * r[:, None], axis=(1, 2))


def best_groups(divergence: Divergence, mass: Floats, r: Floats, groups: MarginalSet) -> Floats:
    """Return the group shares that bring the product nearest, for label shares of shape (N, C)."""
    fill = _filled if divergence is TOTAL_VARIATION else _weighed
    count, size = len(r), groups.size
    if groups.skew is None or size == 2:
        least = 0.0 if groups.skew is None else max(0.0, 0.5 - 0.5 * groups.skew)
        return fill(divergence, mass, r, np.full(count, least), groups.width)
    free = fill(divergence, mass, r, np.zeros(count), 1.0)
    if (np.ptp(free, axis=1) <= groups.skew).all():
        return free
    # The smallest share is one more number; the divergence is convex in it.
    low, high = np.full(count, max(0.0, 1.0 / size - groups.width)), np.full(count, 1.0 / size)
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(SECTIONS):
        spots = high - golden * (high - low), low + golden * (high - low)
        first, second = (
            product_divergence(divergence, mass, fill(divergence, mass, r, spot, groups.width), r) for spot in spots
        )
        better = first <= second
        low, high = np.where(better, low, spots[0]), np.where(better, spots[1], high)
    return groups.inside(fill(divergence, mass, r, 0.5 * (low + high), groups.width))


def _weighed(divergence: Divergence, mass: Floats, r: Floats, low: Floats, width: float) -> Floats:
    """Return shares proportional to ``exp(-a_s)``, between ``low`` and ``low + width``."""
    some, used = (mass > 0) | divergence.escapes, (r > 0)[:, None]
    price = divergence.price(np.where(some, mass, 1.0), r)
    price = np.where((used & ~some).any(axis=2), np.inf, price)
    price = price - np.where(np.isfinite(price), price, np.inf).min(axis=1, keepdims=True)
    weight = np.exp(-np.where(np.isnan(price), 0.0, price))  # without any possible group all are alike
    share = weight / weight.sum(axis=1, keepdims=True)
    least, most = low[:, None], (low + width)[:, None]
    if ((share >= least) & (share <= most)).all():
        return share
    return _cut(share, least, most)


def _cut(share: Floats, least: Floats, most: Floats) -> Floats:
    """Return ``clip(t share, least, most)`` with the factor t for which it adds up to one.

    The sum grows with t and is linear between the factors at which an entry reaches a limit.
    """
    safe = np.where(share > 0, share, 1.0)
    some = share > 0
    turns = np.sort(np.where(np.tile(some, 2), np.concatenate([least / safe, most / safe], axis=1), 0.0), axis=1)
    sums = np.clip(turns[:, :, None] * share[:, None], least[:, None], most[:, None]).sum(axis=2)
    last = np.maximum((sums <= 1.0).sum(axis=1, keepdims=True) - 1, 0)
    start = np.take_along_axis(turns, last, 1)
    moving = some & (start * share >= least * (1 - 1e-15)) & (start * share < most * (1 - 1e-15))
    pace = np.where(moving, share, 0.0).sum(axis=1, keepdims=True)
    left = 1.0 - np.take_along_axis(sums, last, 1)
    factor = start + np.where(pace > 0, left / np.where(pace > 0, pace, 1.0), 0.0)
    return np.clip(factor * share, least, most)


def _filled(divergence: Divergence, mass: Floats, r: Floats, low: Floats, width: float) -> Floats:
    """Return shares for total variation: a group's share grows where it exceeds the masses of the data least."""
    count, (size, labels) = len(r), mass.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(r[:, None] > 0, mass / r[:, None], np.inf)  # where a cell begins to have too much
    order = np.argsort(turns, axis=2)
    turns = np.take_along_axis(turns, order, 2)
    slope = np.cumsum(np.take_along_axis(np.broadcast_to(r[:, None], turns.shape), order, 2), axis=2)
    least, most = low[:, None, None], (low + width)[:, None, None]
    ends = np.clip(
        np.concatenate([np.zeros((count, size, 1)), turns, np.full((count, size, 1), np.inf)], 2), least, most
    )
    length = np.diff(ends, axis=2).reshape(count, -1)
    price = np.concatenate([np.zeros((count, size, 1)), slope], axis=2).reshape(count, -1)
    cheap = np.argsort(price, axis=1, kind="stable")
    ordered = np.take_along_axis(length, cheap, 1)
    need = 1.0 - size * low
    taken = np.clip(need[:, None] - (np.cumsum(ordered, axis=1) - ordered), 0.0, ordered)
    filled = np.zeros_like(length)
    np.put_along_axis(filled, cheap, taken, 1)
    return low[:, None] + filled.reshape(count, size, labels + 1).sum(axis=2)


def nearest_product(divergence: Divergence, mass: Floats, groups: MarginalSet, labels: MarginalSet) -> NearestFair:
    """Search for the nearest distribution with equal base rates; the distance of the one found is rounded up."""
    table = np.ascontiguousarray(mass, dtype=np.float64)
    return _remembered(divergence, table.shape, table.tobytes(), groups, labels)


@lru_cache(maxsize=8)
def _remembered(
    divergence: Divergence, shape: tuple[int, int], mass: bytes, groups: MarginalSet, labels: MarginalSet
) -> NearestFair:
    """Search once for all statements of a metric: they are about the same ball."""
    return _searched(divergence, np.frombuffer(mass).reshape(shape), groups, labels)


def _searched(divergence: Divergence, mass: Floats, groups: MarginalSet, labels: MarginalSet) -> NearestFair:
    if labels.size > groups.size:
        other = _searched(divergence, mass.T, labels, groups)
        return NearestFair(other.distance, other.label_mass, other.group_mass)
    r = _starts(mass, groups, labels)
    value, k, r = _judged(divergence, mass, r, groups, labels)
    best = np.argsort(value, kind="stable")[: FOLLOWED_IN_LIMITS if groups.limited else FOLLOWED]
    value, k, r = value[best], k[best], r[best]
    for _ in range(STEPS if labels.size > 2 else 0):  # each side in turn
        is_transposed = labels.inside(best_groups(divergence, mass.T, k, labels))
        found = _judged(divergence, mass, is_transposed, groups, labels)
        better = found[0] < value
        if not better.any():
            break
        value, k, r = (
            np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip((value, k, r), found, strict=True)
        )
    if labels.size <= MOST_PAIRED:
        value, k, r = _paired(divergence, mass, (value, k, r), groups, labels)
    winner = int(np.argmin(value))
    k, r = k[winner], r[winner]
    distance = float(value[winner]) * (1.0 + 2.0 * (mass.size + 64) * UNIT)
    return NearestFair(0.0 if distance < INDISTINGUISHABLE else distance, k, r)


def with_every_share(
    divergence: Divergence, mass: Floats, nearest: NearestFair, groups: MarginalSet, labels: MarginalSet
) -> NearestFair:
    """Return the nearest distribution; if it leaves out a group or a label, one hardly farther that does not."""
    if min(nearest.group_mass.min(), nearest.label_mass.min()) >= SOME_SHARE:
        return nearest
    k, r = (
        side.inside((1.0 - SOME_SHARE * side.size) * share + SOME_SHARE)
        for side, share in ((groups, nearest.group_mass), (labels, nearest.label_mass))
    )
    value = float(product_divergence(divergence, mass, k[None], r[None])[0])
    if not np.isfinite(value):
        return nearest
    return NearestFair(value * (1.0 + 2.0 * (mass.size + 64) * UNIT) + INDISTINGUISHABLE, k, r)


def _starts(mass: Floats, groups: MarginalSet, labels: MarginalSet) -> Floats:
    """Return label shares to begin with: of the data, of each group, of Hellinger's nearest, and many more."""
    size = labels.size
    of_group = mass[mass.sum(axis=1) > 0]
    near = nearest_shares(mass, groups, labels).label_mass
    known = [mass.sum(axis=0)[None], of_group / of_group.sum(axis=1, keepdims=True), near[None], np.eye(size)]
    if size == 2:
        first = np.linspace(0.0, 1.0, GRID)
        more = np.stack([first, 1.0 - first], axis=1)
    else:
        more = np.random.default_rng(0).dirichlet(np.ones(size), STARTS)
    return labels.inside(np.concatenate([*known, more]))


def _judged(
    divergence: Divergence, mass: Floats, r: Floats, groups: MarginalSet, labels: MarginalSet
) -> tuple[Floats, Floats, Floats]:
    """Return divergence and shares of the best products with these label shares."""
    k = groups.inside(best_groups(divergence, mass, r, groups))
    return product_divergence(divergence, mass, k, r), k, r


def _paired(
    divergence: Divergence,
    mass: Floats,
    at: tuple[Floats, Floats, Floats],
    groups: MarginalSet,
    labels: MarginalSet,
) -> tuple[Floats, Floats, Floats]:
    """Move share from one label to another, less and less of it, as long as that brings the product nearer."""
    value, k, r = at
    size = labels.size
    moves = (np.eye(size)[:, None] - np.eye(size)).reshape(-1, size)
    moves = moves[np.abs(moves).sum(axis=1) > 0]
    moves = np.concatenate([moves, 0.3 * moves])
    step = np.full(len(r), 1.0 / GRID if size == 2 else 0.1)
    for _ in range(STEPS):
        tried = labels.inside(np.maximum(r[:, None] + step[:, None, None] * moves, 0.0))
        found = _judged(divergence, mass, tried.reshape(-1, size), groups, labels)
        across = found[0].reshape(len(r), -1)
        best = across.argmin(axis=1)
        row = np.arange(len(r))
        better = across[row, best] < value
        chosen = row * across.shape[1] + best
        value = np.where(better, found[0][chosen], value)
        k, r = np.where(better[:, None], found[1][chosen], k), np.where(better[:, None], found[2][chosen], r)
        step = np.where(better, step, 0.4 * step)
        if (step < 1e-12).all():
            break
    return value, k, r
