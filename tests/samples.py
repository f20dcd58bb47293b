"""True populations to draw samples from, for simulations of coverage."""

from __future__ import annotations

import hashlib
import random
import struct
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import stats

from fairbound import Population
from fairbound.arithmetic.arrays import Floats

#: Rows: cell, number of the bin, and the edge that the loss moves to.
Rows = list[tuple[int, int, float]]


def rounding_numbers(seed: int, intervals: int, rows: Rows) -> tuple[random.Random, Rows]:
    """Return the source of random numbers for rows, and the order of the rows.

    Written down once more, from the page on finite samples.
    """
    tables = {}
    for cell in {row[0] for row in rows}:
        held = Counter(number for at, number, _ in rows if at == cell)
        tables[cell] = b"".join(struct.pack("<qq", *pair) for pair in sorted(held.items()))
    content = b"".join(hashlib.sha256(table).digest() for table in sorted(tables.values()))
    digest = hashlib.sha256(f"{seed},{intervals};".encode() + content).hexdigest()
    ordered = sorted(rows, key=lambda row: (tables[row[0]], *row))
    return random.Random(int(digest, 16)), ordered  # noqa: S311 (not secrets)


@dataclass(frozen=True)
class Truth:
    """A distribution of cell and loss with finitely many losses: probabilities and losses of shape (S, C, J)."""

    probability: Floats
    loss: Floats
    loss_name: str

    @property
    def population(self) -> Population:
        """P itself, known exactly."""
        s, y, j = np.nonzero(self.probability)
        return Population.from_losses(
            self.loss[s, y, j],
            y,
            sensitive_features=s,
            sample_weight=self.probability[s, y, j],
            loss=self.loss_name,
        )

    def draw(self, rows: int, rng: np.random.Generator) -> Population:
        """Return the population of a sample of so many independent rows."""
        flat = self.probability.ravel()
        classes = rng.choice(flat.size, size=rows, p=flat / flat.sum())
        s, y, j = np.unravel_index(classes, self.probability.shape)
        groups, labels = self.probability.shape[:2]
        return Population.from_losses(
            self.loss[s, y, j],
            y,
            sensitive_features=s,
            groups=range(groups),
            labels=range(labels),
            loss=self.loss_name,
        )


def _zero_one(mass: list[list[float]], mean: list[list[float]]) -> Truth:
    p, e = np.array(mass), np.array(mean)
    share = np.stack([p * (1 - e), p * e], axis=2)
    return Truth(share, np.broadcast_to([0.0, 1.0], share.shape), "zero_one")


def _continuous(mass: list[list[float]], mean: list[list[float]], spread: float, points: int = 100) -> Truth:
    """Losses of beta distributions, on equally likely quantiles."""
    p, e = np.array(mass), np.array(mean)
    quantile = (np.arange(points) + 0.5) / points
    loss = np.asarray(stats.beta.ppf(quantile, (spread * e)[..., None], (spread * (1 - e))[..., None]))
    return Truth(np.broadcast_to(p[..., None] / points, loss.shape), loss, "jsd")


SKEWED = [[0.464, 0.204], [0.295, 0.037]]
ERRORS = [[0.09, 0.38], [0.02, 0.45]]

TRUTHS = {
    "balanced": _zero_one([[0.25, 0.25], [0.25, 0.25]], [[0.2, 0.3], [0.1, 0.4]]),
    "skewed": _zero_one(SKEWED, ERRORS),
    "rare cell": _zero_one([[0.49, 0.3], [0.2, 0.01]], [[0.1, 0.3], [0.1, 0.5]]),
    "losses near 0": _zero_one(SKEWED, [[0.01, 0.02], [0.005, 0.03]]),
    "jsd-like": _continuous(SKEWED, ERRORS, 2.0),
    "jsd-like near 0": _continuous(SKEWED, [[0.02, 0.05], [0.01, 0.05]], 15.0),
}
