"""Distances between populations: values, names, upper bounds from samples, and conversions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fairbound import InputError, Population, divergence_between, hellinger_radius
from fairbound.arithmetic.arrays import Floats
from fairbound.problem.divergences import DIVERGENCES
from tests.divergence_oracles import distance
from tests.problems import E, P

OTHER = np.array([[0.43, 0.22], [0.30, 0.05]])
FIRST, SECOND = Population.from_moments(P, E), Population.from_moments(OTHER, E)


def sample(rng: np.random.Generator, mass: Floats, rows: int) -> Population:
    """Draw rows from cell masses; what their losses are does not matter."""
    cell = rng.choice(mass.size, rows, p=mass.ravel())
    names: Any = {"groups": [0, 1], "labels": [0, 1]}
    return Population.from_losses(np.zeros(rows), cell % 2, sensitive_features=cell // 2, **names)


def test_values() -> None:
    assert divergence_between(FIRST, SECOND) == pytest.approx(math.sqrt(1 - np.sqrt(P * OTHER).sum()))
    for name in ("total_variation", "kl", "chi_squared", "trimming"):
        assert divergence_between(FIRST, SECOND, divergence=name) == pytest.approx(distance(name, P, OTHER))
    assert divergence_between(FIRST, FIRST) == 0.0
    assert divergence_between(FIRST, SECOND, divergence="kl") != divergence_between(SECOND, FIRST, divergence="kl")


def test_names_are_matched() -> None:
    first = Population.from_moments(P, E, groups=["a", "b"], labels=["no", "yes"])
    is_transposed = Population.from_moments(OTHER[::-1, ::-1], E, groups=["b", "a"], labels=["yes", "no"])
    assert divergence_between(first, is_transposed) == pytest.approx(divergence_between(FIRST, SECOND))
    with pytest.raises(InputError, match="differ in their groups: 'a', 'b', 0, 1"):
        divergence_between(first, SECOND)
    with pytest.raises(InputError, match="second must be a Population"):
        divergence_between(first, P)  # type: ignore[arg-type]  # the mistake itself
    with pytest.raises(InputError, match="divergence='l2' is not known"):
        divergence_between(FIRST, SECOND, divergence="l2")


def test_cells_that_one_of_them_lacks() -> None:
    gap = Population.from_moments([[0.5, 0.2], [0.3, 0.0]], E)
    assert divergence_between(gap, FIRST, divergence="kl") == math.inf
    assert divergence_between(FIRST, gap, divergence="kl") < 1.0
    assert divergence_between(gap, FIRST, divergence="total_variation") == pytest.approx(0.041)


@pytest.mark.parametrize("name", ["hellinger", "total_variation"])
def test_upper_bounds_of_samples(name: str) -> None:
    """They miss the true distance no more often than they may, also where there is none; and they tighten."""
    rng = np.random.default_rng(9)
    for source in (P, OTHER):
        truth = divergence_between(FIRST, Population.from_moments(source, E), divergence=name)
        missed = 0
        for _ in range(60):
            pair = sample(rng, P, 200), sample(rng, source, 300)
            bound = divergence_between(*pair, divergence=name, confidence=0.8)
            assert bound >= divergence_between(*pair, divergence=name)
            missed += bound < truth
        assert missed <= 20  # 12 are allowed on average; this many have a probability below 1 %
    wide, narrow = (
        divergence_between(sample(rng, P, n), sample(rng, P, n), divergence=name, confidence=0.95)
        for n in (200, 20_000)
    )
    assert narrow < 0.25 * wide


def test_samples_that_bound_nothing() -> None:
    rng = np.random.default_rng(1)
    rows = sample(rng, P, 100)
    with pytest.raises(InputError, match="no sample bounds this divergence"):
        divergence_between(rows, rows, divergence="kl", confidence=0.9)
    with pytest.raises(InputError, match="first was made from moments"):
        divergence_between(FIRST, rows, confidence=0.9)
    with pytest.raises(InputError, match="no finite sample gives certainty"):
        divergence_between(rows, rows, confidence=1.0)


def test_conversions() -> None:
    assert hellinger_radius(0.04) == 0.2
    assert hellinger_radius(0.0) == 0.0
    assert all(Fraction(hellinger_radius(d)) ** 2 >= Fraction(d) for d in np.linspace(0, 1, 997))
    with pytest.raises(InputError, match=r"total_variation=1\.5"):
        hellinger_radius(1.5)


def test_affinities_within_radii() -> None:
    """H^2 <= TV <= sqrt(2) H, and the affinities that Kullback-Leibler and chi-squared radii leave."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        p, q = rng.dirichlet(np.full(6, rng.choice([0.3, 1.0, 5.0])), 2)
        p, q = (np.maximum(v, 1e-9) / np.maximum(v, 1e-9).sum() for v in (p, q))
        affinity = float(np.sqrt(p * q).sum())
        variation = distance("total_variation", p, q)
        assert 1 - affinity - 1e-12 <= variation <= math.sqrt(2 * max(0.0, 1 - affinity)) + 1e-12
        for name in ("total_variation", "kl", "chi_squared", "trimming"):
            assert DIVERGENCES[name].least_affinity(distance(name, p, q)) <= affinity + 1e-12
