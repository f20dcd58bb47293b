"""Values from elsewhere: published vectors, closed forms, known mistakes of other methods."""

from __future__ import annotations

import numpy as np
import pytest

from fairbound import Population, certify, certify_curve, nearest_fair
from tests.problems import E, P

RHOS = [0.1, 0.2, 0.3, 0.4, 0.5]
VECTORS = {
    ("sensitive", None): [0.170643, 0.228753, 0.279119, 0.324927, 0.364451],
    ("general", None): [0.209326, 0.370205, 0.521532, 0.668350, 0.800920],
    ("general", 0.3): [0.193308, 0.324103, 0.457209, 0.595219, 0.729166],
}


@pytest.mark.parametrize(("shift", "variance"), VECTORS)
def test_vectors(shift: str, variance: float | None) -> None:
    population = Population.from_moments(P, E, None if variance is None else variance * E)
    curve = certify_curve(population, RHOS, shift=shift)  # type: ignore[arg-type]
    truth = np.array(VECTORS[shift, variance])
    assert np.all(curve.bound >= truth - 6e-7)  # the vectors are rounded to six digits
    assert np.all(curve.attained <= truth + 6e-7)
    assert np.all(curve.bound - curve.attained <= 1e-6)


def test_nearest_distance() -> None:
    assert nearest_fair(Population.from_moments(P, E)).distance == pytest.approx(0.081490, abs=6e-7)


def test_sensitive_shifting_is_not_convex() -> None:
    """A local solver started at the centre stops at 0.537 here; a fair distribution in the ball attains 0.722."""
    mass = np.array([[0.63652, 0.13096], [0.00647, 0.22605]])
    mean = np.array([[0.72238, 0.14747], [0.28087, 0.73071]])
    certificate = certify(Population.from_moments(mass, mean), 0.5, shift="sensitive")
    assert certificate.attained > 0.722
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("rho", [0.05, 0.3, 0.6])
def test_common_bernoulli_closed_form(mean: float, rho: float) -> None:
    """If P is fair and all cells have the same 0-1 loss, cells do not matter.

    The worst Q then tilts one Bernoulli: its angle ``arccos sqrt(1 - mean)`` grows by ``arccos tau``.
    """
    mass = np.outer([0.3, 0.7], [0.6, 0.4])
    certificate = certify(Population.from_moments(mass, np.full((2, 2), mean)), rho)
    angle = np.arcsin(np.sqrt(mean)) + np.arccos(1 - rho**2)
    truth = 1.0 if angle >= np.pi / 2 else np.sin(angle) ** 2
    assert certificate.attained <= truth + 1e-12
    assert certificate.bound >= truth - 1e-12
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_radius_zero_of_equal_base_rates_is_the_plain_loss(shift: str) -> None:
    mass = np.full((2, 2), 0.25)
    mean = np.array([[0.1, 0.2], [0.3, 0.6]])
    certificate = certify(Population.from_moments(mass, mean), 0.0, shift=shift)  # type: ignore[arg-type]
    assert certificate.attained == pytest.approx(0.3, abs=1e-9)
    assert 0.3 - 1e-12 <= certificate.bound <= 0.3 + 1e-5


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (5, 3), (2, 5)])
def test_nearest_by_alternating_maximisation(shape: tuple[int, int]) -> None:
    """The closed form is the fixed point of maximising over one marginal at a time."""
    rng = np.random.default_rng(0)
    mass = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    r = np.full(shape[1], 1 / shape[1])
    for _ in range(500):
        k = np.square(np.sqrt(mass) @ np.sqrt(r))
        k /= k.sum()
        r = np.square(np.sqrt(k) @ np.sqrt(mass))
        r /= r.sum()
    near = nearest_fair(Population.from_moments(mass, np.zeros(shape)))
    assert near.distance == pytest.approx(np.sqrt(1 - np.sqrt(mass * np.outer(k, r)).sum()), abs=1e-9)
    np.testing.assert_allclose(near.group_mass, k, atol=1e-7)
    np.testing.assert_allclose(near.label_mass, r, atol=1e-7)


def test_everything_is_possible_at_radius_one() -> None:
    population = Population.from_moments(P, E)
    assert certify(population, 1.0).bound == 1.0
    assert certify(population, 1.0, shift="sensitive").bound == pytest.approx(0.45, abs=1e-9)


def test_no_loss_at_all() -> None:
    population = Population.from_moments(P, np.zeros((2, 2)))
    assert certify(population, 0.3, shift="sensitive").bound <= 1e-6
