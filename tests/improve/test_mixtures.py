"""The linear program of thresholds, against certificates, and against mixtures that were not found by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="CertifiedThreshold stands on scikit-learn")

from sklearn.linear_model import LogisticRegression

from fairbound import CertifiedThreshold, Population, certify
from fairbound.arithmetic.arrays import Floats
from fairbound.improve.mixtures import LINEAR, Mixtures


def scored(seed: int, size: int = 1500, groups: int = 2) -> tuple[Floats, Any, Any]:
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=size)
    labels = (rng.random(size) < 0.25 + 0.15 * group).astype(np.int64)
    scores = 1 / (1 + np.exp(-rng.normal(1.6 * labels - 0.8 + 0.3 * group, 1.0)))
    return scores.round(3), labels, group.astype(np.int64)


def rates_of(chosen: Floats, labels: Any, groups: Any) -> Floats:
    """Return false and true positive rates by group, of probabilities to be chosen."""
    return np.array([[chosen[(groups == s) & (labels == y)].mean() for y in (0, 1)] for s in range(groups.max() + 1)])


def probabilities(mixture: Any, scores: Floats, groups: Any) -> Floats:
    chosen = np.zeros(len(scores))
    for s, mixed in enumerate(mixture.thresholds):
        for share, threshold in mixed:
            chosen += np.where(groups == s, share * (scores > threshold), 0.0)
    return chosen


@pytest.mark.parametrize("metric", LINEAR)
@pytest.mark.parametrize("groups", [2, 3])
def test_the_program_says_what_certificates_say(metric: str, groups: int) -> None:
    scores, labels, group = scored(1, groups=groups)
    program = Mixtures(scores, labels, group, metric, 0.25, {})
    found = program.solve(0.27)
    chosen = probabilities(found.mixture, scores, group)
    rates = rates_of(chosen, labels, group)
    error = float(np.where(labels == 1, 1 - chosen, chosen).mean())
    assert found.error == pytest.approx(error, abs=1e-9)
    assert found.error <= 0.27 + 1e-9
    mean = np.stack([rates[:, 0], 1 - rates[:, 1]], axis=1)
    population = Population.from_moments(program.mass, mean, selection_rate=rates)
    bound = certify(population, 0.25, shift="sensitive", metric=metric).bound  # type: ignore[arg-type]
    assert found.bound == pytest.approx(bound, abs=2e-6)


@pytest.mark.parametrize("metric", LINEAR)
def test_no_other_mixture_is_better(metric: str) -> None:
    """An adversary: random mixtures of two random thresholds in each group, also near those that were found."""
    rng = np.random.default_rng(5)
    scores, labels, group = scored(2)
    program = Mixtures(scores, labels, group, metric, 0.25, {})
    found = program.solve(0.26)
    best = np.inf
    near = [[threshold for _, threshold in mixed] for mixed in found.mixture.thresholds]
    for _ in range(2000):
        rates = np.zeros((2, 2))
        for s in range(2):
            here = group == s
            picked = rng.choice([*near[s], *rng.random(4)], 2) + rng.normal(0, 0.01, 2)
            share = rng.random()
            chosen = share * (scores[here] > picked[0]) + (1 - share) * (scores[here] > picked[1])
            rates[s] = [chosen[labels[here] == y].mean() for y in (0, 1)]
        if program.error(rates) <= 0.26:
            best = min(best, program.value(rates))
    assert found.bound <= best + 1e-9
    assert np.isfinite(best)


def test_more_errors_buy_less_difference() -> None:
    program = Mixtures(*scored(3), "equalized_odds_difference", 0.25, {})
    bounds = [program.solve(allowed).bound for allowed in (0.0, 0.24, 0.26, 0.3, 0.4)]
    assert (np.diff(bounds) <= 1e-9).all()
    assert bounds[-1] < bounds[0]


def test_the_class_takes_the_program() -> None:
    rng = np.random.default_rng(0)
    groups = rng.choice(["f", "m"], 3000)
    y = rng.random(3000) < np.where(groups == "m", 0.4, 0.25)
    X = rng.normal(size=(3000, 3)) + 0.8 * y[:, None] + 0.5 * (groups == "m")[:, None]
    asked: dict[str, Any] = {"metric": "equalized_odds_difference", "group_blind": False, "max_error_increase": 0.02}
    model = CertifiedThreshold(LogisticRegression(), rho=0.2, **asked)
    model.fit(X[:2000], y[:2000], sensitive_features=groups[:2000])
    assert model.decision_weights_ is None
    assert set(model.thresholds_) == {"f", "m"}
    assert model.selection_bound_ < model.path_.bound[0]
    assert model.selection_error_ <= model.path_.error[0] + 0.02 + 1e-9
    predicted = model.predict(X[2000:], sensitive_features=groups[2000:])
    assert (predicted == model.predict(X[2000:], sensitive_features=groups[2000:])).all()
    other = model.set_params(random_state=1).predict(X[2000:], sensitive_features=groups[2000:])
    mixed = any(len(pairs) > 1 for pairs in model.thresholds_.values())
    assert (predicted != other).any() == mixed
    plain = model.estimator_.predict(X[2000:])
    found = [
        certify(
            Population.from_predictions(y[2000:], one, sensitive_features=groups[2000:]),
            0.2,
            shift="sensitive",
            metric="equalized_odds_difference",
        ).bound
        for one in (plain, predicted)
    ]
    assert found[1] < found[0]
