"""Leaves of form F that no solver has seen, and what the checker says that leaves prove."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from flint import ctx

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.document import write_limits, write_population
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_bounds import Leaves
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, FractionalProof, TiltedProof, written
from fairbound.solve.solver import Solver
from fairbound.solve.whole_leaf import fractional_proof
from fairbound.verify import document
from fairbound.verify.balls import PRECISION, largest
from fairbound.verify.leaves import excesses
from fairbound.verify.statement import Statement


def whole(problem: Problem) -> Floats:
    """Return the corners of all group shares, of one piece: shape (1, S, S)."""
    return (problem.groups.floors + problem.groups.spread * np.eye(problem.groups.size))[None]


def one_leaf(problem: Problem, zeta: Floats, base: Floats, centre: Floats, lam: float, **more: Floats) -> Leaves:
    """Return a leaf; what is not given is zero, and linear limits are not used."""
    s, c = problem.mass.shape
    sizes = {
        "nu": s,
        "omega": s,
        "offset": c,
        "group_mu": problem.groups.multipliers,
        "label_mu": problem.labels.multipliers,
    }
    rest = {name: more.get(name, np.zeros(size)) for name, size in sizes.items()}
    known = {"zeta": zeta, "base": base, "centre": centre, "lam": np.float64(lam)}
    return Leaves(**{name: np.asarray(part, dtype=float)[None] for name, part in (known | rest).items()})


def random_leaf(rng: np.random.Generator, problem: Problem, rates: BaseRates, vertices: Floats) -> Leaves:
    """Return feasible multipliers for a piece with these vertices (m, S), all signs of zeta and of top - loss."""
    s, c = (int(n) for n in problem.mass.shape)
    base = problem.scale * rng.uniform(-0.5, 1.5, size=s)
    offset = problem.scale * rng.normal(size=c) * rng.choice([0.0, 0.3]) * (rates.tolerance == 0.0)
    top = base[:, None] + offset
    slack = problem.scale * 10.0 ** rng.uniform(-3, 0, size=(s, c))
    more = {
        "nu": rng.normal(size=s),
        "omega": rng.normal(size=s) * rng.choice([0.0, 1.0]),
        "offset": offset,
        "group_mu": 10.0 ** rng.uniform(-3, 0, size=problem.groups.multipliers),
        "label_mu": 10.0 ** rng.uniform(-3, 0, size=problem.labels.multipliers),
    }
    zeta = (vertices[..., None] * (problem.ceiling - top)).max(axis=0) + slack
    centre, lam = rng.uniform(0.01, 1.0, size=s), problem.scale * 10.0 ** rng.uniform(-2, 0.5)
    return one_leaf(problem, zeta, base, centre, lam, **more)


def moved(rng: np.random.Generator, leaves: Leaves) -> Leaves:
    """Return multipliers not far from the given ones, feasible or not."""
    size = 10.0 ** rng.uniform(-6, -0.5)

    def near(part: Floats, least: float) -> Floats:
        found = part + size * rng.normal(size=part.shape) * rng.integers(0, 2, size=part.shape)
        return np.maximum(found, least)

    least = {"centre": 1e-6, "lam": 0.0, "group_mu": 0.0, "label_mu": 0.0, "zeta": -np.inf}
    return Leaves(**{name: near(part, least.get(name, -np.inf)) for name, part in vars(leaves).items()})


@contextmanager
def _precisely() -> Iterator[None]:
    before, ctx.prec = ctx.prec, PRECISION
    try:
        yield
    finally:
        ctx.prec = before


def kernel_bound(solver: Solver, rho: float, proof: TiltedProof | FractionalProof) -> float:
    """Return what the checker says that a proof about the loss proves."""
    question = solver.question
    asked = document.Question(
        document.Metric("loss", None),
        question.shift,
        question.support,
        question.empty_cells,
        "hellinger",
        question.condition.fair,
        question.condition.tolerance,
        write_limits(question.group_skew, question.group_limits),
        write_limits(question.label_skew, question.label_limits),
        None,
        question.tol,
    )
    with _precisely():
        statement = Statement(write_population(solver.population), asked, None, rho)
        return float(largest(excesses(statement, written(proof), 0.0)).mid())


def kernel_bound_of_leaf(solver: Solver, rho: float, axis: Axis, leaves: Leaves) -> float:
    """Return the same of one leaf for all shares of one side, which stands in the place of the groups."""
    side: Any = solver.problem.groups if axis == "group" else solver.problem.labels
    return kernel_bound(solver, rho, fractional_proof(axis, side.floors, (None,), leaves))
