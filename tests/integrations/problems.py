"""The model that partners are told of."""

from __future__ import annotations

import numpy as np

from fairbound import Population


def rows(count: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, predictions and groups."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], count, p=[0.4, 0.6])
    y = (rng.random(count) < np.where(sex == "f", 0.35, 0.5)).astype(int)
    predicted = np.where(rng.random(count) < 0.85, y, 1 - y)
    return y, predicted, sex


def population() -> Population:
    y, predicted, sex = rows()
    return Population.from_predictions(y, predicted, sensitive_features=sex)
