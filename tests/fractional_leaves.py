"""Leaves of form F that no solver has seen, and what the checker says that leaves prove."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.checked_statement import precisely, statement_of
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_bounds import Leaves
from fairbound.solve.mean_batch import last_share
from fairbound.solve.mean_leaves import MeanLeaves, in_first
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Axis, FractionalProof, TiltedProof, written
from fairbound.solve.share_range import share_range
from fairbound.solve.solver import Solver
from fairbound.solve.whole_leaf import fractional_proof
from fairbound.verify.balls import largest
from fairbound.verify.leaves import excesses


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


def kernel_bound(solver: Solver, rho: float, proof: TiltedProof | FractionalProof) -> float:
    """Return what the checker says that a proof proves; not of ratios."""
    with precisely():
        return float(largest(excesses(statement_of(solver, rho), written(proof), 0.0)).mid())


def kernel_bound_of_leaf(solver: Solver, rho: float, axis: Axis, leaves: Leaves) -> float:
    """Return the same of one leaf for all shares of one side, which stands in the place of the groups."""
    side: Any = solver.problem.groups if axis == "group" else solver.problem.labels
    return kernel_bound(solver, rho, fractional_proof(axis, side.floors, (None,), leaves))


def random_mean_leaves(rng: np.random.Generator, problem: Problem, rates: BaseRates, ends: Floats) -> MeanLeaves:
    """Return feasible multipliers of means for intervals (L, 2) of the first part's share; lam is good or anything."""
    count, (s, c), parts = len(ends), problem.mass.shape, len(problem.parts or ())
    theta = problem.ceiling + problem.scale * 10.0 ** rng.uniform(-3, 1.0, size=(count, 2, s, c))
    first, width = in_first(problem), (ends[:, 1] - ends[:, 0])[:, None, None]
    still = (width < 1e-3) | (parts == 1) | (rng.random() < 0.2)
    theta[:, 1] = np.where(still, theta[:, 0], theta[:, 1])
    slope = np.where(first, 1.0, -1.0) * (theta[:, 1] - theta[:, 0]) / np.where(still, 1.0, width)
    at = np.where(first, ends[:, :1], 1.0 - ends[:, :1])[:, None]
    zeta = theta[:, 0] - at * slope
    zeta = zeta + np.where(slope.any(), 1e-13 * (np.abs(theta).max() + np.abs(slope).max()), 0.0)
    middle = np.clip(ends[:, 0] + rng.uniform(0.01, 0.99, size=count) * (ends[:, 1] - ends[:, 0]), 1e-9, 1.0 - 1e-9)
    centre = np.stack([middle, 1.0 - middle], axis=1) if parts == 2 else np.ones((count, 1))
    nu, omega = np.zeros((count, s)), np.zeros((count, c))
    if parts == 1 and rates.tolerance > 0.0:
        nu = theta[:, 0].max(axis=2) - problem.scale * rng.uniform(0.0, 1.0, size=(count, s))
    if rates.tolerance == 0.0 and problem.labels.limited:
        omega = problem.scale * rng.normal(size=(count, c)) * rng.choice([0.0, 1.0])
    group_mu = 10.0 ** rng.uniform(-3, 0, size=(count, problem.groups.multipliers))
    label_mu = problem.scale * 10.0 ** rng.uniform(-3, 0, size=(count, problem.labels.multipliers))
    lam = problem.scale * 10.0 ** rng.uniform(-2, 0.5, size=count)
    return MeanLeaves(ends, zeta, slope, lam, centre, nu, omega, group_mu, label_mu)


def intervals(rng: np.random.Generator, problem: Problem, rates: BaseRates, count: int) -> Floats:
    """Cover all shares of the first part with so many intervals at most, (L, 2)."""
    if len(problem.parts or ()) == 1 or rates.free:
        return np.array([[0.0, last_share(rates)]])
    low, high = share_range(problem, last_share(rates)).ends
    cuts = np.sort(np.r_[low, rng.uniform(low, high, size=rng.integers(0, count)), high])
    return np.stack([cuts[:-1], cuts[1:]], axis=1)
