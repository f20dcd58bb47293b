"""Ratios of groups in the balls of other divergences, where what is inside of the cells changes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbound import Population, certify, certify_curve, verify
from fairbound.arithmetic.arrays import Floats
from tests.divergence_oracles import distance

NAMES = ("trimming", "kl", "total_variation", "chi_squared", "cressie_read:1.5")
RADII = {"trimming": 0.2, "kl": 0.03, "total_variation": 0.08, "chi_squared": 0.07, "cressie_read:1.5": 0.03}

#: Base rates that are nearly equal, and shares of each cell that are selected.
MASS = np.array([[0.40, 0.18], [0.28, 0.14]])
SELECTED = np.array([[0.3, 0.7], [0.25, 0.6]])


def population(mass: Floats = MASS, selected: Floats = SELECTED, strata: int = 0) -> Population:
    """Return rows in these proportions; with strata, two of a cell, one of which is selected more often."""
    group, label, predicted, stratum = [], [], [], []
    for s, y in np.ndindex(2, 2):
        rows = round(1000 * float(mass[s, y]))
        hits = round(rows * float(selected[s, y]))
        group += [s] * rows
        label += [y] * rows
        predicted += [1] * hits + [0] * (rows - hits)
        stratum += [int(i < (0.7 if i % 3 else 1.0) * hits) for i in range(rows)]
    asked: dict[str, Any] = {"strata": stratum} if strata else {}
    return Population.from_predictions(label, predicted, sensitive_features=group, **asked)


def least_ratio(name: str, rho: float, p: Floats, value: Floats, start: Floats, seed: int) -> float:
    """Climb down: the least ratio of two groups' means that a distribution with equal base rates in the ball has.

    ``p`` and ``value`` are masses and values of atoms, (2, 2, J). Shares, and the atoms inside of the cells, are moved
    at random from those of a distribution in the ball, ever less, and kept if they are better.
    """
    rng = np.random.default_rng(seed)

    def made(z: Floats) -> Floats:
        k, r = np.array([z[0], 1 - z[0]]), np.array([z[1], 1 - z[1]])
        inside = p * np.exp(np.clip(z[2:].reshape(p.shape), -30, 30))
        inside /= inside.sum(axis=2, keepdims=True)
        return (k[:, None] * r)[..., None] * inside

    def ratio(q: Floats) -> float:
        means = (q * value).sum(axis=(1, 2)) / q.sum(axis=(1, 2))
        return float(means.min() / means.max())

    best, found, size = start, ratio(made(start)), 0.3
    for step in range(8_000):
        scale = size * 10.0 ** -rng.uniform(0, 3)
        z = best + scale * rng.normal(size=best.shape) * (rng.random(best.shape) < 0.5)
        if not (0 < z[0] < 1 and 0 < z[1] < 1):
            continue
        q = made(z)
        value_here = ratio(q)
        if value_here < found and distance(name, p, q) <= rho:
            best, found = z, value_here
        if step % 2000 == 1999:
            size *= 0.2
    return found


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shift", ["general", "stratified"])
def test_no_climber_gets_below_the_bound(name: str, shift: Any) -> None:
    """And it comes close: the bound is the least ratio."""
    made = population(strata=2)
    rho = RADII[name]
    certificate = certify(made, rho, divergence=name, shift=shift, metric="demographic_parity_ratio")
    assert verify(certificate).reasons == ()
    assert 0 < certificate.bound < certificate.attained <= certificate.bound + 1e-5
    known: Any = made.selecting(1)
    table = known.by_strata.knowledge if shift == "stratified" else known.knowledge
    p, value = table.weight / table.weight.sum(), table.mean_loss
    nearest = certify(made, rho, divergence=name, shift=shift).witness
    spot = np.array([nearest.group_mass[0], nearest.label_mass[0]])
    witness = certificate.witness
    inside = np.log(np.maximum(witness.reweighting[..., : p.shape[2]], 1e-9) / np.maximum(p, 1e-12))
    starts = [
        np.concatenate([spot, np.zeros(p.size)]),
        np.concatenate([[witness.group_mass[0], witness.label_mass[0]], inside.ravel()]),
    ]
    found = []
    for seed, start in enumerate(starts):
        pulled = [(1 - t) * start + t * starts[0] for t in (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0)]
        found.append(min(least_ratio(name, rho, p, value, one, seed) for one in pulled[1:4:2]))
    assert min(found) >= certificate.bound - 1e-9
    assert min(found) <= certificate.bound + 0.02


def random_ratios(seed: int, count: int) -> None:
    """Certify ratios of random populations and have each certificate checked; it is never above what is attained."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        mass = rng.dirichlet(np.full(4, 4.0)).reshape(2, 2) + 0.02
        made = population(mass / mass.sum(), rng.uniform(0.05, 0.95, (2, 2)), strata=2)
        name, shift = str(rng.choice(NAMES)), str(rng.choice(["general", "stratified"]))
        asked: dict[str, Any] = {"divergence": name, "shift": shift, "metric": "demographic_parity_ratio", "budget": 12}
        if rng.random() < 0.2:
            asked["group_skew"] = 0.7
        near = made_nearest(made, asked)
        rho = min(near * (1 + 10.0 ** -rng.uniform(0, 3)) + rng.choice([0.0, 0.1]) * rng.random(), 0.9)
        certificate = certify(made, max(rho, near), **asked)
        assert verify(certificate).reasons == (), (asked, rho)
        assert certificate.bound <= certificate.attained


def made_nearest(made: Population, asked: dict[str, Any]) -> float:
    """Return the distance of the nearest distribution in question."""
    return certify_curve(made, [0.9], **{**asked, "tol": 0.5, "budget": 1}).distance


def test_the_checker_proves_random_ratios() -> None:
    random_ratios(1, 2)


@pytest.mark.slow
def test_the_checker_proves_many_random_ratios() -> None:
    random_ratios(2, 250)
