"""Independent ways to the same answers: a conic solver, a scalar minimisation, random adversaries, exact arithmetic."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from fairbound.arithmetic.arrays import Floats
from fairbound.data.atoms import Atoms
from fairbound.solve.problem import Problem


def conic_general(problem: Problem, rho: float) -> float:
    """Solve the second-order cone program of general shifting with Clarabel, written down from the primal side."""
    atoms, top = problem.upper, float(problem.ceiling.flat[0])
    s, c, j = atoms.probability.shape
    cells = s * c
    x, z = cells * j, cells
    total = x + z + s + c
    k_at, r_at = x + z, x + z + s
    rows: list[Any] = []
    rhs: list[float] = []
    cones: list[Any] = []

    def add(entries: list[dict[int, float]], right: list[float], cone: Any) -> None:
        for entry, value in zip(entries, right, strict=True):
            rows.append(entry)
            rhs.append(value)
        cones.append(cone)

    add(
        [{k_at + i: 1.0 for i in range(s)}, {r_at + i: 1.0 for i in range(c)}],
        [1.0, 1.0],
        clarabel.ZeroConeT(2),
    )
    linear: list[dict[int, float]] = [{i: -1.0} for i in range(k_at, total)]
    right = [0.0] * (s + c)
    root = np.sqrt(atoms.probability).reshape(-1)
    linear.append({i: -root[i] for i in range(x) if root[i] > 0})
    right.append(-max(0.0, 1.0 - rho**2))
    for limits, at in ((problem.groups, k_at), (problem.labels, r_at)):
        if limits.skew is not None:
            for a in range(limits.size):
                for b in range(limits.size):
                    if a != b:
                        linear.append({at + a: 1.0, at + b: -1.0})
                        right.append(limits.skew)
        if limits.limits is not None:
            for row, most in zip(limits.limits.rows, limits.limits.most, strict=True):
                linear.append({at + i: value for i, value in enumerate(row) if value})
                right.append(most)
    add(linear, right, clarabel.NonnegativeConeT(len(linear)))
    for cell in range(cells):
        group, label = divmod(cell, c)
        add(
            [{x + cell: -1.0}, *({cell * j + i: -1.0} for i in range(j))],
            [0.0] * (j + 1),
            clarabel.SecondOrderConeT(j + 1),
        )
        k, r = k_at + group, r_at + label
        add([{k: -1.0, r: -1.0}, {x + cell: -2.0}, {k: -1.0, r: 1.0}], [0.0] * 3, clarabel.SecondOrderConeT(3))
    matrix = sparse.dok_matrix((len(rows), total))
    for i, row in enumerate(rows):
        for column, value in row.items():
            matrix[i, column] = value
    deficit = np.where(atoms.probability > 0, top - atoms.loss, top).reshape(-1)
    cost = sparse.diags(np.r_[2.0 * deficit, np.zeros(total - x)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(cost, np.zeros(total), matrix.tocsc(), np.array(rhs), cones, settings)
    return top - float(solver.solve().obj_val)


def sensitive_at(problem: Problem, rho: float, r: Floats) -> float:
    """Return the worst loss for fixed label shares under sensitive shifting without limits: one scalar minimum."""
    mean = problem.upper.loss[..., 0]
    tau = max(0.0, 1.0 - rho**2)
    spread = np.square(np.sqrt(problem.mass * r).sum(axis=1))
    level = mean @ r
    if tau**2 > spread.sum() * (1 - 1e-12):
        return -np.inf

    def value(log_excess: float) -> float:
        excess = np.exp(log_excess)
        return float(level.max() + excess - tau**2 / (spread / (level.max() - level + excess)).sum())

    return float(minimize_scalar(value, bounds=(-40.0, 25.0), method="bounded", options={"xatol": 1e-10}).fun)


def affinity(atoms: Atoms, mass: Floats, conditional: Floats) -> float:
    """Return ``sum sqrt(dP dQ)`` over the atoms."""
    return float(np.sqrt(atoms.probability * mass[..., None] * conditional).sum())


def random_members(
    problem: Problem,
    rho: float,
    rng: np.random.Generator,
    count: int,
    near: tuple[Floats, Floats] | None = None,
) -> list[float]:
    """Return the losses of random distributions with equal base rates inside the ball and the limits.

    Shares are drawn at random (or around ``near``) and drawn towards uniform to obey the limits; inside the cells a
    random power of the distance to the ceiling reweights the atoms, and some mass goes to the ceiling. What is outside
    the ball is pulled in by mixing along a segment to the best distribution found so far.
    """
    atoms = problem.lower
    tau = max(0.0, 1.0 - rho**2)
    cell = problem.mass
    plain = atoms.probability / np.where(cell > 0, cell, 1.0)[..., None]
    empty = cell == 0
    left, _, right = np.linalg.svd(np.sqrt(cell))
    centre = problem.groups.inside(left[:, 0] ** 2), problem.labels.inside(right[0] ** 2)
    losses = []
    for _ in range(count):
        size = rng.choice([0.3, 1.0, 10.0])
        k, r = (
            rng.dirichlet(np.full(problem.groups.size, size)),
            rng.dirichlet(np.full(problem.labels.size, size)),
        )
        if near is not None and rng.random() < 0.7:
            pull = 10.0 ** -rng.uniform(0, 5)
            k, r = near[0] + pull * (k - near[0]), near[1] + pull * (r - near[1])
        k, r = problem.groups.inside(k), problem.labels.inside(r)
        gap = problem.ceiling[..., None] - atoms.loss + 10.0 ** rng.uniform(-3, 1)
        tilted = plain * gap ** -rng.uniform(0, 3)
        tilted = tilted / np.where(empty, 1.0, tilted.sum(axis=2))[..., None]
        unseen = np.where(empty, 1.0, rng.uniform(size=cell.shape) * rng.choice([0, 0.1, 1]) * problem.unseen)
        for pull in (0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 1.0):
            kk = problem.groups.inside((1 - pull) * k + pull * centre[0])
            rr = problem.labels.inside((1 - pull) * r + pull * centre[1])
            rest = np.where(empty, 1.0, (1 - pull) * unseen)
            shape = (1 - pull) * tilted + pull * plain
            mass = kk[:, None] * rr
            if affinity(atoms, mass, shape * (1 - rest)[..., None]) >= tau:
                inner = (shape * atoms.loss).sum(axis=2) * (1 - rest) + rest * problem.ceiling
                losses.append(float((mass * inner).sum()))
                break
    return losses


def sensitive_within(problem: Problem, rho: float, k: Floats) -> float:
    """Return the worst loss for fixed group shares under sensitive shifting, over label shares within their limits.

    A linear function is maximised over ``sum_y B_y u_y >= tau, u_y^2 <= r_y`` and r in R, by Clarabel; minus infinity
    if there are no such shares.
    """
    labels, size = problem.labels, problem.labels.size
    value, pull = k @ problem.upper.loss[..., 0], np.sqrt(k) @ np.sqrt(problem.mass)
    one, zero = np.eye(size), np.zeros((size, size))
    linear = [np.hstack([-one, zero]), np.concatenate([np.zeros(size), -pull])[None]]
    right = [np.zeros(size), np.array([-max(0.0, 1.0 - rho**2)])]
    if labels.skew is not None:
        pairs = np.array([one[i] - one[j] for i in range(size) for j in range(size) if i != j])
        linear.append(np.hstack([pairs, np.zeros(pairs.shape)]))
        right.append(np.full(len(pairs), labels.skew))
    if labels.limits is not None:
        linear.append(np.hstack([labels.limits.matrix, np.zeros(labels.limits.matrix.shape)]))
        right.append(labels.limits.right)
    total = np.concatenate([np.ones(size), np.zeros(size)])[None]
    cones: list[Any] = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(sum(map(len, right)))]
    matrix, ends = [total, *linear], [np.ones(1), *right]
    for y in range(size):  # u^2 <= r as |(2u, r - 1)| <= r + 1
        matrix.append(np.vstack([-np.r_[one[y], zero[y]], -np.r_[zero[y], 2 * one[y]], -np.r_[one[y], zero[y]]]))
        ends.append(np.array([1.0, 0.0, -1.0]))
        cones.append(clarabel.SecondOrderConeT(3))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    program = sparse.csc_matrix(np.vstack(matrix)), np.concatenate(ends), cones, settings
    quadratic = sparse.csc_matrix((2 * size, 2 * size))
    solution = clarabel.DefaultSolver(quadratic, -np.concatenate([value, np.zeros(size)]), *program).solve()
    return -float(solution.obj_val) if str(solution.status) in {"Solved", "AlmostSolved"} else -np.inf
