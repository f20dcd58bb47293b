"""The models whose errors are certified. Certificates are black-box: any classifier will do."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.datasets import Split
from fairbound.errors import InputError
from fairbound.experiments.network import NetworkPlan, train_network

#: Probabilities of scikit-learn's classifiers are kept this far from 0 and 1: a logarithm is taken of them.
CLEAR_OF_ZERO = 1e-9

#: Initial rate of the datasets that do not have the usual one.
RATES = {"crime": 0.05, "german": 0.05}


def predict(name: str, split: Split, seed: int, advance: Callable[[], None] = lambda: None) -> Floats:
    """Train a model and return the probabilities of both labels on the test rows, shape (n, 2).

    Parameters
    ----------
    name
        "network" (the paper's), "logistic" (a ridge regression that needs nothing but NumPy), or the full name of a
        scikit-learn classifier, such as "sklearn.ensemble.RandomForestClassifier".
    split
        The data; its numeric columns are standardised by the training rows.
    seed
        The same seed gives the same probabilities, on the same machine.
    advance
        Called after each of the network's epochs.
    """
    data = split.dataset
    train = split.features("train"), data.label[split.train]
    test = split.features("test")
    if name == "network":
        validation = split.features("validation"), data.label[split.validation]
        plan = NetworkPlan(rate=RATES.get(data.name, NetworkPlan.rate))
        return both(train_network(train, validation, test, plan, seed, advance))
    if name == "logistic":
        return both(_design(test) @ logistic_regression(*train))
    probability = _classifier(name, seed).fit(*train).predict_proba(test)
    kept = np.clip(np.asarray(probability, dtype=np.float64), CLEAR_OF_ZERO, 1.0 - CLEAR_OF_ZERO)
    return kept / kept.sum(axis=1, keepdims=True)


def both(log_odds: Floats) -> Floats:
    """Return the probabilities of both labels; neither is rounded to 0."""
    signed = np.stack([-log_odds, log_odds], axis=1)
    return np.exp(-np.logaddexp(0.0, -signed))


def logistic_regression(features: Floats, label: Any, ridge: float = 1.0, steps: int = 15) -> Floats:
    """Fit a logistic regression with a quadratic penalty by Newton's method; the intercept comes last."""
    x, y = _design(features), np.asarray(label, dtype=np.float64)
    penalty = np.full(x.shape[1], ridge)
    penalty[-1] = 1e-9  # the intercept is free
    weight = np.zeros(x.shape[1])
    for _ in range(steps):
        p = both(x @ weight)[:, 1]
        curve = (x * (p * (1.0 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(curve, x.T @ (y - p) - penalty * weight)
        weight = weight + step
        if np.abs(step).max() < 1e-8:
            break
    return weight


def _design(features: Floats) -> Floats:
    return np.column_stack([features, np.ones(len(features))])


def _classifier(name: str, seed: int) -> Any:
    module, _, kind = name.rpartition(".")
    try:
        build = getattr(import_module(module), kind) if module else None
    except (ImportError, AttributeError):
        build = None
    if build is None or not hasattr(build, "predict_proba"):
        message = (
            f"--model {name} is not known; use network, logistic, or the full name of a scikit-learn classifier with "
            "probabilities, such as sklearn.ensemble.RandomForestClassifier"
        )
        raise InputError(message)
    classifier = build()
    return classifier.set_params(random_state=seed) if "random_state" in classifier.get_params() else classifier
