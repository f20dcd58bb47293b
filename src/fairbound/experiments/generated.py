r"""Distributions with equal base rates, drawn at random: none of them may exceed a certificate.

The protocols of Appendix E.2 of the paper. It draws rows for each distribution and evaluates the model on them; the
loss of the distribution itself, without the noise of that sample, is a sum over four cells, so 30,000 take
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.population import Population
from fairbound.solve.nearest import nearest_fair

#: More than the rounding of an affinity: distances are rounded up, so that a certificate there covers the point.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Generated:
    """Hellinger distance from P (rounded up) and expected loss of each distribution."""

    distance: Floats
    loss: Floats

    @staticmethod
    def of(affinity: Floats, loss: Floats) -> Generated:
        """Distances from affinities."""
        return Generated(np.sqrt(np.maximum(1.0 - affinity, 0.0) + ROUNDING), loss)


@dataclass(frozen=True)
class Limits:
    """How far the two group shares, and the two label shares, may be apart."""

    groups: float = 1.0
    labels: float = 1.0


def sensitive_shifts(population: Population, number: int, seed: int, limits: Limits | None = None) -> Generated:
    """Draw both shares uniformly within the limits; the conditional distribution within a cell stays that of P."""
    skew = limits or Limits()
    u, v = np.random.default_rng(seed).random((2, number))
    k, r = 0.5 + skew.groups * (u - 0.5), 0.5 + skew.labels * (v - 0.5)
    mass = _products(k, r)
    affinity = (np.sqrt(population.mass) * np.sqrt(mass)).sum(axis=(1, 2))
    return Generated.of(affinity, (mass * population.mean).sum(axis=(1, 2)))


def general_shifts(
    population: Population, other_mean: Floats, number: int, seed: int, limits: Limits | None = None
) -> Generated:
    r"""Mix P in each cell with a distribution Q' that is disjoint from it there and has the mean loss ``other_mean``.

    The density of Q is :math:`\alpha_{sy} P + \alpha'_{sy} Q'`, with :math:`\alpha p + \alpha' q' = k_s r_y`. The
    shares lie between those of the nearest distribution with equal base rates and uniform ones, and the part of
    Q' in a cell is uniform up to a limit which is itself drawn: so that small distances occur too. The paper
    wants the weights :math:`\alpha` to be at most 1, for it draws rows without replacement; here they may be
    larger.
    """
    rng, skew = np.random.default_rng(seed), limits or Limits()
    nearest = nearest_fair(population)
    spread, part = rng.random(number), rng.random(number) ** 2
    k, r = (
        _between(float(own[0]), 0.5 + limit * (rng.random(number) - 0.5), spread, limit)
        for own, limit in ((nearest.group_mass, skew.groups), (nearest.label_mass, skew.labels))
    )
    mass = _products(k, r)
    other = part[:, None, None] * rng.random(mass.shape)
    affinity = np.sqrt(population.mass * mass * (1.0 - other)).sum(axis=(1, 2))
    loss = (mass * ((1.0 - other) * population.mean + other * other_mean)).sum(axis=(1, 2))
    return Generated.of(affinity, loss)


def _between(own: float, drawn: Floats, spread: Floats, limit: float) -> Floats:
    start = min(max(own, 0.5 - 0.5 * limit), 0.5 + 0.5 * limit)
    return start + spread * (drawn - start)


def _products(k: Floats, r: Floats) -> Floats:
    shares = np.stack([k, 1.0 - k], axis=1)[:, :, None] * np.stack([r, 1.0 - r], axis=1)[:, None, :]
    return np.clip(shares, 0.0, 1.0)


def disjoint_means(features: Floats, label: Integers, group: Integers, loss_if: Floats) -> Floats:
    """Return the mean loss, in each cell, of a distribution that is disjoint from P given group and label.

    It gives the rows of a group with one label the non-sensitive values of the rows with the other label, without
    those that occur with both: ``loss_if`` holds the loss of each row if its label were 0 and if it were 1, shape (n,
    2). Where nothing is left, the largest such loss stands in for a single made-up row.
    """
    mean = np.zeros((2, 2))
    for s in range(2):
        rows = [np.flatnonzero((group == s) & (label == y)) for y in range(2)]
        keys = [[row.tobytes() for row in np.ascontiguousarray(features[cell])] for cell in rows]
        for y in range(2):
            taken = set(keys[y])
            apart = [row for row, key in zip(rows[1 - y], keys[1 - y], strict=True) if key not in taken]
            values = loss_if[apart, y] if apart else loss_if[:, y].max(keepdims=True)
            mean[s, y] = values.mean()
    return mean
