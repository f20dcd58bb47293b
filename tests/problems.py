"""Random populations and questions, for property tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fairbound import Population
from fairbound.arithmetic.arrays import Floats
from fairbound.problem.validate import validate
from fairbound.solve.solver import Solver, pose

P = np.array([[0.464, 0.204], [0.295, 0.037]])
E = np.array([[0.09, 0.38], [0.02, 0.45]])


def random_population(rng: np.random.Generator, groups: int, labels: int, kind: str = "mean") -> Population:
    """Draw a population of a given kind of knowledge; masses may be very uneven."""
    mass = rng.dirichlet(np.full(groups * labels, rng.choice([0.4, 1.0, 5.0]))).reshape(groups, labels)
    mass = np.maximum(mass, 1e-5)
    mass /= mass.sum()
    mean = rng.uniform(size=mass.shape) ** rng.choice([1.0, 3.0])
    if kind == "mean":
        return Population.from_moments(mass, mean)
    if kind == "variance":
        return Population.from_moments(mass, mean, mean * (1 - mean) * rng.uniform(size=mass.shape))
    counts = rng.multinomial(60 * mass.size, mass) if kind == "rows" else np.full(mass.size, 30)
    counts = np.maximum(counts.reshape(-1), 1)
    cell = np.repeat(np.arange(mass.size), counts)
    loss = rng.beta(1.0, 1.0 + 5 * mean.reshape(-1)[cell])
    return Population.from_losses(loss, cell % labels, sensitive_features=cell // labels)


@dataclass(frozen=True)
class Question:
    """A population, a feasible radius and limits."""

    population: Population
    rho: float
    limits: dict[str, Any]


def solver(population: Population, **asked: Any) -> Solver:
    """Return the solver of a question."""
    return pose(validate(population, **asked))


def radius(population: Population, excess: float, **limits: Any) -> float:
    """Return a radius that lies ``excess`` of the way from the nearest fair distribution to 1."""
    distance = solver(population, **limits).distance
    return distance + excess * (1 - distance)


def random_limits(rng: np.random.Generator, side: str, size: int) -> dict[str, Any]:
    """Draw limits of all kinds on the shares of one side, some exact, around shares that obey them all."""
    inside = rng.dirichlet(np.full(size, 2.0))
    kind = int(rng.integers(6))
    limits: dict[str, Any] = {}
    if kind in {0, 3}:
        limits[f"min_{side}_mass"] = float(rng.choice([0.5, 0.9]) * inside.min())
    if kind in {1, 3, 4}:
        width = rng.choice([0.0, 0.02, 0.2])
        below, above = np.clip(inside + width * rng.uniform(size=(2, size)) * [[-1.0], [1.0]], 0.0, 1.0)
        some = rng.permutation(size)[: rng.integers(1, size + 1)]
        limits[f"{side}_limits"] = {int(i): (float(below[i]), float(above[i])) for i in some}
    if kind in {2, 4}:
        matrix = rng.normal(size=(int(rng.integers(1, 4)), size))
        limits[f"{side}_rows"] = (
            matrix,
            matrix @ inside + rng.choice([0.0, 0.01, 0.1]) * rng.exponential(size=len(matrix)),
        )
    if kind == 5 or rng.random() < 0.2:
        limits[f"{side}_skew"] = min(1.0, float(np.ptp(inside)) * rng.choice([1.0, 1.1]) + 1e-12)
    return limits


@st.composite
def questions(draw: st.DrawFn, *, most: int = 4, least: int = 2, labels: int | None = None) -> Question:
    """Draw questions of all kinds, with boundary and near-infeasible radii among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = draw(st.integers(least, most))
    count = labels or draw(st.integers(least, most))
    population = random_population(rng, groups, count, draw(st.sampled_from(["mean", "variance", "rows"])))
    limits = {}
    for name in ("group_skew", "label_skew"):
        if draw(st.booleans()) and draw(st.booleans()):
            limits[name] = draw(st.floats(0.01, 1.0))
    excess = draw(st.sampled_from([0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.6, 1.0]))
    return Question(population, min(1.0, radius(population, excess, **limits)), limits)


def shares(values: Floats) -> Floats:
    """Return the simplex grid of two shares."""
    return np.stack([values, 1 - values], axis=-1)
