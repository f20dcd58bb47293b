"""How far from the sample can P be? A bound on the angle between them, at a stated confidence.

Distributions are points of a sphere (square roots of probabilities), and the angle between two of them is the arc
cosine of their affinity. The rows are classes: a cell together with a loss. Counting them is a tree of binomial
experiments, each conditional on the one above: halves of the cells at first, then, inside a cell, the largest loss
against the smaller ones, and so on downwards. Exact binomial tails turn the whole tree into one chi-square statistic,
whose quantile is the *budget* that all deviations share (docs/finite-samples.md, which holds the proofs).

Everything here is a closed form or the root of a monotone function, so the checker can repeat it in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import erfc, expm1, lgamma, log, log1p, sqrt

import numpy as np

from fairbound.arithmetic.arrays import Floats

#: The budget is shared between cell masses and losses; this many ways of sharing it are examined.
SLABS = 32

#: Allowance for rounding, relative; a few hundred roundings and mild cancellation are far below it.
ROUNDING = 1e-9

#: What a mean of rows may be off, relative to the ceiling.
MEAN_ROUNDING = 1e-12

#: Up to this many rows binomial tails are evaluated exactly; beyond, the normal bound differs by less than 1 in rows.
EXACT_ROWS = 20_000

#: Multipliers that are tried, in units of the one that is best for equal nodes.
TRIED = np.array([0.35, 0.5, 0.7, 1.0, 1.4, 2.0])


@lru_cache(maxsize=4096)
def budget(error: float, two_sided: int, one_sided: int) -> float:
    """Return x such that half the sum of so many squared normal variables exceeds x with probability ``error``.

    Of the one-sided ones only the positive part counts: a chi-bar-square distribution.
    """
    if two_sided + one_sided == 0:
        return 0.0
    low, high = 1e-9, 1.0  # more than nothing: half of one-sided nodes cost nothing, which low confidences would allow
    if _tail(low, two_sided, one_sided) <= error:
        return low * (1.0 + ROUNDING)
    while _tail(high, two_sided, one_sided) > error:
        low, high = high, 2.0 * high
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _tail(middle, two_sided, one_sided) > error else (low, middle)
    return high * (1.0 + ROUNDING)


def _tail(x: float, two_sided: int, one_sided: int) -> float:
    """Return the probability that the statistic exceeds x: a binomial mixture of gamma tails."""
    freedom = two_sided + one_sided
    half = 0.5 * np.arange(freedom + 1)
    steps = np.exp(half * log(x) - x - np.array([lgamma(a + 1.0) for a in half]))
    tails = np.zeros(freedom + 1)  # regularised upper incomplete gamma functions of order 0, 1/2, 1, 3/2, ...
    tails[1::2] = erfc(sqrt(x)) + np.r_[0.0, np.cumsum(steps[1::2])][: len(tails[1::2])]
    tails[0::2] = np.r_[0.0, np.cumsum(steps[0::2])][: len(tails[0::2])]
    ways = [lgamma(one_sided + 1.0) - lgamma(i + 1.0) - lgamma(one_sided - i + 1.0) for i in range(one_sided + 1)]
    return float((np.exp(np.array(ways) - one_sided * log(2.0)) * tails[two_sided:]).sum())


def divergence(observed: Floats, share: Floats) -> Floats:
    """Return the Kullback-Leibler divergence of two binary distributions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(observed > 0, observed * np.log(observed / share), 0.0)
        second = np.where(observed < 1, (1.0 - observed) * np.log((1.0 - observed) / (1.0 - share)), 0.0)
    return np.asarray(first + second)


def _angle(share: Floats) -> Floats:
    return np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))


@dataclass(frozen=True)
class Counts:
    """Binomial experiments: ``hits`` out of ``rows``."""

    hits: Floats
    rows: Floats

    @property
    def corrected(self) -> Floats:
        """The share after one more hit: what makes exact binomial tails normal ones (Zubkov and Serov 2013)."""
        return np.minimum((self.hits + 1.0) / np.maximum(self.rows, 1e-300), 1.0)

    @property
    def observed(self) -> Floats:
        """The share of hits."""
        return self.hits / np.maximum(self.rows, 1e-300)

    @property
    def mirrored(self) -> Counts:
        """Misses instead of hits."""
        return Counts(self.rows - self.hits, self.rows)

    def largest_share(self, x: Floats) -> Floats:
        """Return the largest true share of hits that costs no more than x, rounded up."""
        corrected = self.corrected
        low, high = np.broadcast_arrays(corrected, np.ones_like(corrected * x))
        low, high = low.copy(), high.copy()
        for _ in range(48):
            middle = 0.5 * (low + high)
            fits = self.rows * divergence(corrected, middle) <= x
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.minimum(high * (1.0 + ROUNDING), 1.0)

    def slope_and_offset(self, x: Floats) -> tuple[Floats, Floats]:
        """Return (kappa, beta) such that true shares above the observed one deviate by a limited angle.

        With cost y <= x the deviation d satisfies ``sqrt(rows / 2) d <= sqrt(y / kappa) + beta``.
        """
        corrected = self.corrected
        beta = np.sqrt(0.5 * self.rows) * (_angle(corrected) - _angle(self.observed))
        beta = np.where((self.rows > 0) & (self.hits < self.rows), beta, 0.0)
        largest = self.largest_share(x)
        reach = _angle(largest) - _angle(corrected)
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = 2.0 * divergence(corrected, largest) / reach**2
            turning = np.arctan((corrected / (1.0 - corrected)) ** 0.25)
        least = 2.0 * (np.sqrt(corrected) + np.sqrt(1.0 - corrected)) ** 2
        kappa = np.where(_angle(largest) <= turning, chord, least)
        kappa = np.where((corrected >= 0.5) | (self.rows <= 0), 4.0, np.minimum(kappa, 4.0))
        return kappa, beta


def shared(x: Floats, weight: Floats, kappa: Floats, beta: Floats) -> Floats:
    """Return the largest ``sum weight (sqrt(y / kappa) + beta)^2`` over costs y that add up to x, or more than that.

    Nodes lie along the first axis. By weak duality every multiplier mu > max(weight / kappa) gives an upper bound.
    """
    square = weight * beta**2
    least = (weight / kappa).max(axis=0)
    step = np.maximum(np.sqrt(square.sum(axis=0) * least / np.maximum(x, 1e-300)), ROUNDING * least)
    best = np.full(np.broadcast_shapes(least.shape, np.shape(x)), np.inf)
    for factor in TRIED:
        mu = least + factor * step
        ratio = mu * kappa / weight
        with np.errstate(divide="ignore", invalid="ignore"):
            offset = np.where(square > 0, square * ratio / (ratio - 1.0), 0.0).sum(axis=0)
        best = np.minimum(best, np.where(np.isfinite(offset), mu * x + offset, np.inf))
    return best


@dataclass(frozen=True)
class MassTree:
    """The tree of halves of the cells: its nodes, and the way to each node and then to each cell.

    ``way_hits`` and ``way_rows`` have a row per node, then per cell, and a column per step; unused steps hold 1 of 1.
    """

    nodes: Counts
    way: Counts

    @classmethod
    def of(cls, mass: Floats) -> MassTree:
        """Halve the list of cells again and again."""
        hits: list[float] = []
        rows: list[float] = []
        node_ways: list[list[tuple[float, float]]] = []
        cell_ways: list[list[tuple[float, float]]] = [[] for _ in mass]

        def halve(first: int, last: int, way: list[tuple[float, float]]) -> None:
            if last - first == 1:
                cell_ways[first] = way
                return
            middle = (first + last) // 2
            whole, left = float(mass[first:last].sum()), float(mass[first:middle].sum())
            hits.append(left)
            rows.append(whole)
            node_ways.append(way)
            halve(first, middle, [*way, (left, whole)])
            halve(middle, last, [*way, (float(mass[middle:last].sum()), whole)])

        halve(0, len(mass), [])
        ways = node_ways + cell_ways
        steps = np.ones((len(ways), max(map(len, ways)), 2))
        for index, way in enumerate(ways):
            steps[index, : len(way)] = np.array(way).reshape(-1, 2)
        return cls(Counts(np.array(hits), np.array(rows)), Counts(steps[..., 0], steps[..., 1]))

    def growth(self, x: Floats) -> Floats:
        """Return how much larger the true mass of each node, then cell, can be than the observed one at cost x.

        Shape (nodes + cells, len(x)). By weak duality every nu > 0 gives an upper bound of the logarithm.
        """
        hits, rows = self.way.hits[..., None], self.way.rows[..., None]
        real = (rows > hits) & (hits > 0)
        spread = np.where(real, 1.0 / np.maximum(hits, 1e-300) - 1.0 / np.maximum(rows, 1e-300), 0.0).sum(axis=1)
        nu = np.sqrt(np.maximum(spread, 1e-12) / (2.0 * x))[:, None]  # (ways, 1, x)
        corrected = self.way.corrected[..., None]
        best = (1.0 + nu * rows * corrected) / (1.0 + nu * rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = np.where(corrected < 1.0, rows * divergence(corrected, best), 0.0)
            gain = np.log(best / self.way.observed[..., None]) - nu * cost
        return np.exp(nu[:, 0] * x + np.where(real, gain, 0.0).sum(axis=1))

    def deviation(self, x: Floats) -> Floats:
        """Return an upper bound of rows times (1 - affinity) of the cell masses at total cost x."""
        used = self.nodes.rows > 0
        if not used.any():
            return np.zeros_like(x)
        nodes = Counts(self.nodes.hits[used, None], self.nodes.rows[used, None])
        upper, lower = nodes.slope_and_offset(x), nodes.mirrored.slope_and_offset(x)
        weight = np.sqrt(self.growth(x)[: len(used)][used])
        return shared(x, weight, np.minimum(upper[0], lower[0]), np.maximum(upper[1], lower[1]))


def loss_counts(counts: Floats) -> Counts:
    """Return the experiments inside the cells: each loss, from the second on, among those at most as large."""
    return Counts(counts[:, 1:], np.cumsum(counts, axis=1)[:, 1:])


def least_affinity_of_masses(counts: Floats, error: float) -> float:
    """Return an affinity of cell masses, sample and truth, that is missed with probability at most ``error``."""
    mass = counts.sum(axis=1)
    x = budget(error, len(mass) - 1, 0)
    missing = float(MassTree.of(mass).deviation(np.array([x]))[0])
    return _affinity(missing, float(mass.sum()))


def least_affinity_of_classes(counts: Floats, error: float) -> float:
    """Return an affinity of all classes, shape of ``counts`` (cells, losses), for smaller losses replaced by larger.

    With probability at least ``1 - error`` there is a distribution that near to the sample whose cell masses are P's
    and whose losses are, in every cell, stochastically as large as P's or larger.
    """
    mass = counts.sum(axis=1)
    inside = loss_counts(counts)
    x = budget(error, len(mass) - 1, inside.hits.size)
    missing, growth = _of_masses(tuple(mass.tolist()), x)
    used = inside.rows > 0
    nodes = Counts(inside.hits[used][:, None], inside.rows[used][:, None])
    for_losses = x - np.linspace(0.0, x, SLABS + 1)[:-1]
    weight = np.sqrt(growth[np.nonzero(used)[0]])
    missing = missing + shared(for_losses, weight, *nodes.slope_and_offset(for_losses))
    return _affinity(float(missing.max()), float(mass.sum()))


@lru_cache(maxsize=4)
def _of_masses(mass: tuple[float, ...], x: float) -> tuple[Floats, Floats]:
    """Return for each slab of the cost what the masses miss, and how much the cells can grow: once for all pairs."""
    tree = MassTree.of(np.array(mass))
    for_masses = np.linspace(0.0, x, SLABS + 1)[1:]  # the masses use between one edge and the next
    return tree.deviation(for_masses), tree.growth(for_masses)[-len(mass) :]


def largest_means(counts: Floats, losses: Floats, error: float) -> Floats:
    """Return upper bounds of the mean loss in every cell, all valid but with probability ``error``.

    Given their numbers of rows the cells are independent, so the probabilities of being right multiply.
    """
    inside = loss_counts(counts)
    cells, nodes = inside.hits.shape
    each = -expm1(log1p(-error) / cells) * (1.0 - ROUNDING)
    x = np.array([budget(each, 0, nodes)])
    if nodes == 1:
        most = inside.largest_share(x)[:, 0]
        columns = zip(inside.hits[:, 0].tolist(), inside.rows[:, 0].tolist(), most.tolist(), strict=True)
        share = np.array([exact_largest_share(h, n, each, top) for h, n, top in columns])
        mean = losses[0] + share * (losses[1] - losses[0])
    else:
        rows = counts.sum(axis=1)
        kappa, beta = inside.slope_and_offset(x)
        used = np.where(inside.rows > 0, 1.0, 1e-12)
        missing = shared(np.broadcast_to(x, (cells,)), used.T, kappa.T, np.where(inside.rows > 0, beta, 0.0).T)
        affinity = np.clip(1.0 - (1.0 + ROUNDING) * missing / np.maximum(rows, 1e-300), 0.0, 1.0)
        mean = _mean_within(counts / np.maximum(rows, 1e-300)[:, None], losses, np.where(rows > 0, affinity, 0.0))
    return np.minimum(mean * (1.0 + ROUNDING), losses[-1])


def largest_shares(seen: Floats, rows: Floats, error: float) -> Floats:
    """Return upper bounds of the means of losses between 0 and 1, whatever their laws, of which these were seen.

    By Hoeffding's first inequality a mean is exceeded by the least t with ``rows kl(seen, t) >= -log(each)`` at most
    with the probability ``each`` of a cell; kl grows with t.
    """
    each = -expm1(log1p(-error) / len(seen)) * (1.0 - ROUNDING)
    c, x = np.minimum(seen + MEAN_ROUNDING, 1.0), -log(each) * (1.0 + ROUNDING)
    low, high = c, np.ones_like(c)
    with np.errstate(all="ignore"):
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = rows * divergence(c, middle) >= x
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where((rows > 0) & (c < 1.0), np.minimum(high * (1.0 + 4 * ROUNDING), 1.0), 1.0)


def exact_largest_share(hits: float, rows: float, error: float, most: float) -> float:
    """Return the upper limit of Clopper and Pearson, rounded up; ``most`` is certainly not below it.

    It is the share at which so few hits have the probability ``error``, found by false position (Illinois).
    """
    if rows <= 0 or hits >= rows:
        return 1.0
    if rows > EXACT_ROWS:
        return most

    def excess(share: float) -> float:
        return log_tail(hits, rows, share) - log(error)

    low, high = hits / rows, min(most, 1.0 - 1e-12)
    left, right = excess(low) if hits > 0 else -log(error), excess(high)
    if not left > 0 > right:
        return most
    for _ in range(60):
        middle = (low * right - high * left) / (right - left)
        value = excess(middle)
        if value > 0:
            low, left, right = middle, value, 0.5 * right
        else:
            high, right, left = middle, value, 0.5 * left
        if high - low < ROUNDING * high:
            break
    return min(high * (1.0 + ROUNDING), 1.0)


def log_tail(hits: float, rows: float, share: float) -> float:
    """Return the logarithm of ``P(Bin(rows, share) <= hits)`` for a share above ``hits / rows``.

    It is the incomplete beta function of ``1 - share`` with parameters ``rows - hits`` and ``hits + 1``, by the
    continued fraction of DLMF 8.17.22, evaluated forwards.
    """
    a, b, z = rows - hits, hits + 1.0, 1.0 - share
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(z) + b * log(share) - log(a)
    # Numerators and denominators of successive convergents, rescaled.
    p0, p1, q0, q1 = 1.0, 1.0, 0.0, 1.0
    value = 0.0
    for n in range(1, 10_000):
        m = n // 2
        if n % 2:
            d = -(a + m) * (a + b + m) * z / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * z / ((a + 2 * m - 1) * (a + 2 * m))
        p0, p1, q0, q1 = p1, p1 + d * p0, q1, q1 + d * q0
        p0, p1, q0, q1 = p0 / q1, p1 / q1, q0 / q1, 1.0
        if abs(p1 - value) < 1e-15 * p1:
            break
        value = p1
    return front - log(p1)


def _mean_within(share: Floats, losses: Floats, affinity: Floats) -> Floats:
    """Bound the mean of any law on the losses with such an affinity: ``eta - a^2 / sum p / (eta - l)``, eta >= top."""
    top = losses[-1]
    low, high = np.full(len(share), log(1e-9)), np.full(len(share), log(1e6))
    best = np.full(len(share), top)
    for _ in range(60):
        ends = []
        for part in (1.0 / 3.0, 2.0 / 3.0):
            eta = top * (1.0 + np.exp(low + part * (high - low)))
            value = eta - affinity**2 / (share / (eta[:, None] - losses)).sum(axis=1).clip(1e-300)
            best = np.minimum(best, value)
            ends.append(value)
        left = ends[0] < ends[1]
        third = (high - low) / 3.0
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    return best


def _affinity(missing: float, rows: float) -> float:
    return max(0.0, 1.0 - missing * (1.0 + ROUNDING) / rows - 2.0**-52)
