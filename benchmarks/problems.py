"""The certification problems that the benchmarks pose, and when a fair distribution is near enough.

Nothing here needs the package: the peers are given the bare numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """Cells of a population with a 0-1 loss, and a radius.

    Attributes
    ----------
    name : str
        How the tables call it.
    mass, mean : ndarray of shape (S, C)
        Probability of each cell (group, label), and the mean loss inside it.
    rho : float
        Radius of the Hellinger ball.
    """

    name: str
    mass: NDArray[np.float64]
    mean: NDArray[np.float64]
    rho: float

    @property
    def affinity(self) -> float:
        """The least affinity with P, ``1 - rho^2``, that a distribution in the ball has."""
        return 1.0 - self.rho**2


REFERENCE_MASS = np.array([[0.464, 0.204], [0.295, 0.037]])
REFERENCE_MEAN = np.array([[0.09, 0.38], [0.02, 0.45]])
REFERENCE_VARIANCE = 0.3 * REFERENCE_MEAN
REFERENCE_CURVE = np.linspace(0.09, 0.59, 51)


def reference_problem(rho: float) -> Problem:
    """Two groups, two labels: small enough that every peer finishes."""
    return Problem(f"2x2 rho={rho:.2f}", REFERENCE_MASS, REFERENCE_MEAN, rho)


def random_cells(groups: int, labels: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw masses uniformly from the simplex, and mean losses uniformly from [0, 1]."""
    draw = np.random.default_rng([seed, groups, labels])
    mass = draw.dirichlet(np.ones(groups * labels)).reshape(groups, labels)
    return mass, draw.uniform(size=(groups, labels))


def random_problem(groups: int, labels: int, seed: int) -> Problem:
    """Pose a random problem whose radius is 0.1 beyond the nearest fair distribution."""
    mass, mean = random_cells(groups, labels, seed)
    distance, _, _ = nearest_fair_marginals(mass)
    return Problem(f"{groups}x{labels} #{seed}", mass, mean, distance + 0.1)


def nearest_fair_marginals(
    mass: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Find the fair distribution nearest to P: its distance, group marginal and label marginal.

    The affinity ``sum_sy sqrt(p_sy k_s r_y)`` is a bilinear form in ``sqrt(k)`` and ``sqrt(r)``, so its
    largest value is the top singular value of ``sqrt(p)``, reached at the squared singular vectors.
    """
    left, singular, right = np.linalg.svd(np.sqrt(mass))
    distance = float(np.sqrt(max(0.0, 1.0 - singular[0])))
    return distance, left[:, 0] ** 2, right[0] ** 2
