"""Populations for tests of metrics: random ones of every kind of knowledge, and extreme ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairbound import Population
from tests.metric_oracles import METRICS, OF_LOSSES

#: The label whose predictions are selections, in all of them.
POSITIVE = 1


def random_table(rng: np.random.Generator, groups: int, labels: int, kind: str) -> Population:
    """Draw a population; what was predicted is known of the kinds "predictions" and, with two labels, "mean"."""
    mass = np.maximum(rng.dirichlet(np.full(groups * labels, rng.choice([0.4, 1.0, 5.0]))), 1e-5).reshape(
        groups, labels
    )
    mass /= mass.sum()
    mean = rng.uniform(size=mass.shape) ** rng.choice([1.0, 3.0])
    if kind == "mean":
        rate = rng.uniform(size=mass.shape) ** rng.choice([1.0, 3.0])
        return Population.from_moments(mass, mean, selection_rate=rate if labels == 2 else None)
    if kind == "variance":
        return Population.from_moments(mass, mean, mean * (1 - mean) * rng.uniform(size=mass.shape))
    counts = np.maximum(rng.multinomial(60 * mass.size, mass.ravel()), 1)
    cell = np.repeat(np.arange(mass.size), counts)
    label, group = cell % labels, cell // labels
    if kind == "rows":
        return Population.from_losses(rng.beta(1.0, 1.0 + 5 * mean.ravel()[cell]), label, sensitive_features=group)
    selected = rng.uniform(size=len(cell)) < mean.ravel()[cell]
    predicted = np.where(selected, POSITIVE, np.where(label == POSITIVE, 0, label))
    return Population.from_predictions(label, predicted, sensitive_features=group)


def possible_metrics(population: Population) -> list[str]:
    """Return the metrics that can be asked of a population."""
    return [metric for metric in METRICS if metric in OF_LOSSES or population.predicted is not None]


def named(metric: str) -> dict[str, Any]:
    """Return the keywords that ask for a metric."""
    return {"metric": metric} if metric in OF_LOSSES else {"metric": metric, "pos_label": POSITIVE}


def weighted(rows: Sequence[Sequence[float]], rate: Sequence[Sequence[float]], labels: Any = None) -> Population:
    """Return a population with these weights of rows in the cells, a share ``rate`` of which is predicted positive."""
    place = [(s, y) for s in range(len(rows)) for y in range(len(rows[0])) if rows[s][y] > 0]
    true, group, predicted, weight = [], [], [], []
    for s, y in place:
        other = 0 if y == POSITIVE else y
        for label, much in ((POSITIVE, rows[s][y] * rate[s][y]), (other, rows[s][y] * (1 - rate[s][y]))):
            if much > 0:
                true.append(y)
                group.append(s)
                predicted.append(label)
                weight.append(much)
    return Population.from_predictions(true, predicted, sensitive_features=group, sample_weight=weight, labels=labels)


_ROWS = [[40, 20], [30, 10]]

EXTREME = {
    "never selected": weighted(_ROWS, [[0, 0], [0, 0]]),
    "always selected": weighted(_ROWS, [[1, 1], [1, 1]]),
    "equal rates": weighted(_ROWS, [[0.3, 0.3], [0.3, 0.3]]),
    "one group never": weighted(_ROWS, [[0, 0], [0.3, 0.6]]),
    "one group always": weighted(_ROWS, [[1, 1], [0.3, 0.6]]),
    "a perfect model": weighted(_ROWS, [[0, 1], [0, 1]]),
    "always wrong": weighted(_ROWS, [[1, 0], [1, 0]]),
    "opposite groups": weighted(_ROWS, [[1, 1], [0, 0]]),
    "a tiny cell": weighted([[400_000, 200_000], [300_000, 1]], [[0.1, 0.6], [0.05, 0.5]]),
    "a tiny label": weighted([[400_000, 0.5], [300_000, 1]], [[0.1, 0.6], [0.05, 0.5]]),
    "a tiny group": weighted([[400_000, 200_000], [1, 0.5]], [[0.1, 0.6], [0.05, 0.5]]),
    "an empty cell": weighted([[40, 20], [30, 0]], [[0.1, 0.6], [0.05, 0]]),
    "a rare positive label of three": weighted([[400, 1, 200], [300, 0.5, 50]], [[0.1, 0.6, 0.2], [0.05, 0.5, 0.1]]),
    "an absent label": weighted([[40, 20, 0], [30, 10, 0]], [[0.1, 0.6, 0], [0.05, 0.5, 0]], labels=[0, 1, 2]),
    "three groups": weighted([[40, 20], [30, 10], [1, 5]], [[0.1, 0.6], [0.05, 0.5], [0, 1]]),
    "equal base rates": weighted([[40, 20], [20, 10]], [[0.1, 0.6], [0.05, 0.5]]),
}

#: These under one shift and the other in turn, and then the other way round.
ALTERNATING = [
    (name, ("general", "sensitive")[(place + turn) % 2]) for turn in range(2) for place, name in enumerate(EXTREME)
]
