"""Independent ways to the worst case where base rates may differ: a conic solver, a grid, random adversaries."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.problem import Problem
from tests.oracles import affinity


def linear_support(value: Floats, tolerance: float) -> float:
    """Maximise ``sum value_sy r_sy`` over base rates, as a linear program with a row for each pair of groups."""
    s, c = value.shape
    pairs, rows = [], np.zeros((s, s, c))
    for y in range(c):
        for i in range(s):
            for j in range(s):
                if i != j:
                    pair = np.zeros((s, c))
                    pair[i, y], pair[j, y] = 1.0, -1.0
                    pairs.append(pair.ravel())
    rows[np.arange(s), np.arange(s)] = 1.0
    limits = np.full(len(pairs), tolerance)
    found = linprog(-value.ravel(), np.array(pairs), limits, rows.reshape(s, -1), np.ones(s), (0, None))
    return -float(found.fun or 0.0)


def conic_rates(problem: Problem, rho: float, tolerance: float) -> float:
    """Solve the cone program of general shifting with Clarabel, written down from the primal side.

    Minimise ``sum (M - l) x^2`` over the roots x of the masses, with ``||x_i||^2 <= k_s r_sy``.
    """
    atoms, top = problem.upper, float(problem.ceiling.flat[0])
    s, c, j = atoms.probability.shape
    count = s * c * j
    k_at, r_at = count, count + s
    total = count + s + s * c
    rows: list[dict[int, float]] = [{k_at + i: 1.0 for i in range(s)}]
    rows += [{r_at + i * c + y: 1.0 for y in range(c)} for i in range(s)]
    right = [1.0] * (s + 1)
    cones: list[Any] = [clarabel.ZeroConeT(s + 1)]
    root = np.sqrt(atoms.probability).reshape(-1)
    linear: list[dict[int, float]] = [{i: -float(root[i]) for i in range(count)}]
    limits = [rho**2 - 1.0]
    for a in range(s):
        for b in range(s):
            if a != b:
                linear += [{r_at + a * c + y: 1.0, r_at + b * c + y: -1.0} for y in range(c)]
                limits += [tolerance] * c
                if problem.groups.skew is not None:
                    linear.append({k_at + a: 1.0, k_at + b: -1.0})
                    limits.append(problem.groups.skew)
    rows, right = rows + linear, right + limits
    cones.append(clarabel.NonnegativeConeT(len(linear)))
    for cell in range(s * c):
        k, r = k_at + cell // c, r_at + cell
        rows += [{k: -1.0, r: -1.0}, {k: -1.0, r: 1.0}, *({cell * j + i: -2.0} for i in range(j))]
        right += [0.0] * (j + 2)
        cones.append(clarabel.SecondOrderConeT(j + 2))
    matrix = sparse.dok_matrix((len(rows), total))
    for i, row in enumerate(rows):
        for column, entry in row.items():
            matrix[i, column] = entry
    deficit = np.where(atoms.probability > 0, top - atoms.loss, top).reshape(-1)
    cost = sparse.diags(np.r_[2.0 * deficit, np.zeros(total - count)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(cost, np.zeros(total), matrix.tocsc(), np.array(right), cones, settings)
    return top - float(solver.solve().obj_val)


def without_condition(problem: Problem, rho: float) -> float:
    """Return the worst case in the ball: one multiplier for all cells, at or above the largest ceiling."""
    p, loss, top = problem.upper.probability, problem.upper.loss, float(problem.ceiling.max())
    tau = max(0.0, 1.0 - rho**2)

    def value(log_excess: float) -> float:
        excess = np.exp(log_excess)
        with np.errstate(divide="ignore"):
            return float(top + excess - tau**2 / (p / (top - loss + excess)).sum())

    return float(minimize_scalar(value, bounds=(-40.0, 25.0), method="bounded", options={"xatol": 1e-10}).fun)


def sensitive_grid(problem: Problem, rho: float, tolerance: float, points: int = 80) -> float:
    """Return the worst loss under sensitive shifting of a two by two table, by a grid of base rates that is refined.

    At given base rates it is a scalar minimum over a level v, found by trisection for all grid points at once. Around
    each of the best points the grid is laid again, finer.
    """
    low, high = np.zeros((1, 2)), np.ones((1, 2))
    best = -np.inf
    for _ in range(7):
        offers = np.linspace(0.0, 1.0, points)
        square = np.stack(np.meshgrid(offers, offers, indexing="ij"), axis=-1).reshape(1, -1, 2)
        share = (low[:, None] + (high - low)[:, None] * square).reshape(-1, 2)
        other = np.clip(share[:, 1], share[:, 0] - tolerance, share[:, 0] + tolerance)
        share = np.clip(np.stack([share[:, 0], other], axis=-1), 0.0, 1.0)
        value = _at_rates(problem, rho, np.stack([share, 1.0 - share], axis=-1))
        best = max(best, float(value.max()))
        step = 1.5 * (high - low).max() / (points - 1)
        top = share[np.argsort(-value)[:4]]
        low, high = np.clip(top - step, 0.0, 1.0), np.clip(top + step, 0.0, 1.0)
    return best


def _at_rates(problem: Problem, rho: float, rate: Floats) -> Floats:
    """Return the worst loss at base rates (N, S, C), over all group shares."""
    tau = max(0.0, 1.0 - rho**2)
    spread = np.square(np.sqrt(problem.mass * rate).sum(axis=2))
    level = (problem.upper.loss[..., 0] * rate).sum(axis=2)
    most = level.max(axis=1)
    left, right = np.full(len(rate), -40.0), np.full(len(rate), 25.0)

    def value(log_excess: Floats) -> Floats:
        excess = np.exp(log_excess)
        found: Floats = most + excess - tau**2 / (spread / (most[:, None] - level + excess[:, None])).sum(axis=1)
        return found

    for _ in range(110):
        a, b = left + (right - left) / 3, right - (right - left) / 3
        lower = value(a) < value(b)
        left, right = np.where(lower, left, a), np.where(lower, b, right)
    return np.where(spread.sum(axis=1) < tau**2, -np.inf, value(0.5 * (left + right)))


def random_rates_members(
    problem: Problem, rates: BaseRates, rho: float, rng: np.random.Generator, count: int, near: Floats | None = None
) -> list[float]:
    """Return the losses of random distributions in question; ``near`` are masses of cells to draw around."""
    atoms, cell = problem.lower, problem.mass
    tau = max(0.0, 1.0 - rho**2)
    plain = atoms.probability / np.where(cell > 0, cell, 1.0)[..., None]
    empty = cell == 0
    own = problem.groups.inside(cell.sum(axis=1)), rates.inside(cell)
    losses = []
    for _ in range(count):
        size = rng.choice([0.3, 1.0, 10.0])
        k = rng.dirichlet(np.full(len(cell), size))
        r = rng.dirichlet(np.full(cell.shape[1], size), size=len(cell))
        if near is not None and rng.random() < 0.7:
            pull, whole = 10.0 ** -rng.uniform(0, 5), near.sum(axis=1)
            k = whole + pull * (k - whole)
            r = near / np.maximum(whole, 1e-300)[:, None] + pull * (r - near / np.maximum(whole, 1e-300)[:, None])
        k, r = problem.groups.inside(k), rates.inside(r)
        gap = problem.ceiling[..., None] - atoms.loss + 10.0 ** rng.uniform(-3, 1)
        tilted = plain * gap ** -rng.uniform(0, 3) if problem.unseen or problem.lower.places > 1 else plain
        tilted = tilted / np.where(empty, 1.0, tilted.sum(axis=2))[..., None]
        unseen = np.where(empty, 1.0, rng.uniform(size=cell.shape) * rng.choice([0, 0.1, 1]) * problem.unseen)
        for pull in (0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 1.0):
            kk = problem.groups.inside((1 - pull) * k + pull * own[0])
            rr = rates.inside((1 - pull) * r + pull * own[1])
            rest = np.where(empty, 1.0, (1 - pull) * unseen)
            shape = (1 - pull) * tilted + pull * plain
            mass = kk[:, None] * rr
            if affinity(atoms, mass, shape * (1 - rest)[..., None]) >= tau:
                inner = (shape * atoms.loss).sum(axis=2) * (1 - rest) + rest * problem.ceiling
                losses.append(float((mass * inner).sum()))
                break
    return losses
