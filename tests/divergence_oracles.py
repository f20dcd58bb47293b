"""Independent answers for divergences other than Hellinger's: the primal at fixed label shares, random adversaries."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.solve.problem import Problem


def distance(name: str, p: Floats, q: Floats, outside: float = 0.0) -> float:
    """Return D(Q || P) straight from the definition; ``outside`` is Q's mass where P has none."""
    p, q = p.ravel(), q.ravel()
    outside = outside + float(q[p == 0].sum())
    p, q = p[p > 0], q[p > 0]
    if name == "total_variation":
        return 0.5 * (float(np.abs(p - q).sum()) + outside)
    if order_of(name) != 1.0:
        return _beyond(name, p, q, outside)
    if outside > 0:
        return float("inf")
    if name == "trimming":  # the largest share of P that is left over if as much as possible of it is made Q
        return 1.0 - float(np.min(p[q > 0] / q[q > 0], initial=1.0))
    if name == "chi_squared":
        return float(((q - p) ** 2 / p).sum())
    return float((q[q > 0] * np.log(q[q > 0] / p[q > 0])).sum() + p.sum() - q.sum())


def order_of(name: str) -> float:
    """Return the order in a name, or 1."""
    return float(name.partition(":")[2] or 1.0)


def escapes(name: str) -> bool:
    """Whether Q may have mass where P has none, at a finite price."""
    return name == "total_variation" or order_of(name) < 1.0


def _beyond(name: str, p: Floats, q: Floats, outside: float) -> float:
    """Return the divergence of an order."""
    a, t = order_of(name), q / p
    if outside > 0 and a > 1:
        return float("inf")
    return float((p * (t**a - a * t + a - 1.0)).sum() / (a * (a - 1.0))) + outside / abs(1.0 - a)


class _Rows:
    """Rows ``a x <= b`` or ``a x = b`` of a program over q (atoms), u (at the ceilings), k, and one t per atom."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[Floats] = []
        self.right: list[float] = []

    def add(self, entries: dict[int, float], right: float) -> None:
        row = np.zeros(self.size)
        for place, value in entries.items():
            row[place] += value
        self.rows.append(row)
        self.right.append(right)


def _cone(name: str, size: int, q_at: int, t_at: int, p: float) -> tuple[list[Floats], list[float], Any]:
    """Return rows and right side of the cone that holds the masses q and p of an atom, and t."""
    one, two, three = (np.zeros(size) for _ in range(3))
    if name == "kl":  # q exp(-t / q) <= p
        one[t_at], two[q_at] = 1.0, -1.0
        return [one, two, three], [0.0, 0.0, p], clarabel.ExponentialConeT()
    if name == "chi_squared":  # (q - p)^2 <= t p
        one[t_at], two[q_at], three[t_at] = -1.0, -2.0, -1.0
        return [one, two, three], [p, -2.0 * p, -p], clarabel.SecondOrderConeT(3)
    a = order_of(name)  # q <= t^(1/a) p^(1-1/a), or t <= q^a p^(1-a)
    one[t_at if a > 1 else q_at], three[q_at if a > 1 else t_at] = -1.0, -1.0
    return [one, two, three], [0.0, p, 0.0], clarabel.PowerConeT(1.0 / a if a > 1 else a)


def primal_at(problem: Problem, name: str, rho: float, r: Floats, *, strictly: bool = False) -> float:
    """Return the worst loss over all Q in the ball with label shares r, by a primal program; -inf if there is none.

    Where a solver comes only close, what it says is taken for the value, unless asked ``strictly``. Total variation and
    trimming go to SciPy's linear programs, the others to Clarabel as cones.
    """
    atoms = problem.upper
    cells = [(s, y) for s in range(problem.groups.size) for y in range(problem.labels.size)]
    places = [tuple(place) for place in np.argwhere(atoms.probability > 0).tolist()]
    n, m, groups = len(places), len(cells), problem.groups.size
    u_at, k_at, t_at = n, n + m, n + m + groups
    size = t_at + n
    p = np.array([atoms.probability[i] for i in places])
    gain = np.zeros(size)
    gain[:n] = [atoms.loss[i] for i in places]
    gain[u_at:k_at] = [problem.ceiling[c] for c in cells]
    equal, less = _Rows(size), _Rows(size)
    equal.add({k_at + s: 1.0 for s in range(groups)}, 1.0)
    for number, (s, y) in enumerate(cells):
        inside = {i: 1.0 for i, place in enumerate(places) if place[:2] == (s, y)}
        equal.add({**inside, u_at + number: 1.0, k_at + s: -float(r[y])}, 0.0)
        allowed = escapes(name) and (problem.unseen or problem.mass[s, y] == 0)
        less.add({u_at + number: 1.0}, 1.0 if allowed else 0.0)
    if problem.groups.skew is not None:
        for one in range(groups):
            for other in range(groups):
                if one != other:
                    less.add({k_at + one: 1.0, k_at + other: -1.0}, problem.groups.skew)
    ball = {t_at + i: 1.0 for i in range(n)}
    if name in {"total_variation", "trimming"}:
        if name == "total_variation":  # t >= q - p, t >= 0
            less.add({**ball, **{u_at + i: 1.0 for i in range(m)}}, rho)
        for i in range(n):
            less.add({i: 1.0, t_at + i: -1.0} if name == "total_variation" else {i: 1.0 - rho}, float(p[i]))
        found = linprog(-gain, np.array(less.rows), less.right, np.array(equal.rows), equal.right, method="highs")
        return -float(found.fun or 0.0) if found.status == 0 else -np.inf
    a = order_of(name)  # with t = q^a p^(1-a), D = (sum t - 1) / (a (a - 1)), wherever else Q is
    most = 1.0 + a * (a - 1.0) * rho
    within = {"chi_squared": rho, "kl": rho + float(p.sum()) - 1.0}  # of an order a > 1 t is a part of the most
    less.add(dict.fromkeys(ball, -1.0) if a < 1 else ball, within.get(name, -most if a < 1 else 1.0))
    for i in range(t_at):
        less.add({i: -1.0}, 0.0)
    rows, right = [*equal.rows, *less.rows], [*equal.right, *less.right]
    cones: list[Any] = [clarabel.ZeroConeT(len(equal.rows)), clarabel.NonnegativeConeT(len(less.rows))]
    for i in range(n):
        more, values, cone = _cone(name, size, i, t_at + i, float(p[i]) * (most ** (1.0 / (a - 1.0)) if a > 1 else 1.0))
        rows, right, cones = [*rows, *more], [*right, *values], [*cones, cone]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    matrix = sparse.csc_matrix(np.array(rows))
    solver = clarabel.DefaultSolver(sparse.csc_matrix((size, size)), -gain, matrix, np.array(right), cones, settings)
    found = solver.solve()
    fine = {"Solved"} if strictly else {"Solved", "AlmostSolved"}
    return -float(found.obj_val) if str(found.status) in fine else -np.inf


def farthest_share(mass: Floats, name: str, rho: float, rise: float) -> float:
    """Return the share of the second of two labels that is the largest in the ball (or smallest, if rise < 0).

    Under sensitive shifting with two groups; P is kept inside the cells, so only products of shares matter.
    """

    def nearest(share: float) -> float:
        r = np.array([1 - share, share])
        found = minimize_scalar(
            lambda k: distance(name, mass, np.outer([k, 1 - k], r)),
            bounds=(1e-9, 1 - 1e-9),
            method="bounded",
            options={"xatol": 1e-13},
        )
        return float(found.fun)

    grid = np.linspace(0.0, 1.0, 401)[:: 1 if rise >= 0 else -1]
    inside = [place for place, share in enumerate(grid) if nearest(share) <= rho]
    last = inside[-1]
    if last == len(grid) - 1:
        return float(grid[-1])
    low, high = float(grid[last]), float(grid[last + 1])
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if nearest(middle) <= rho else (low, middle)
    return low


def members(
    problem: Problem,
    name: str,
    rho: float,
    rng: np.random.Generator,
    count: int,
    near: list[tuple[Floats, Floats]],
    given: Booleans | None = None,
) -> list[float]:
    """Return the losses of random distributions with equal base rates in the ball and in the limits.

    With ``given``, they are the mean losses over these cells. Shares are drawn at random or around ``near``; inside the
    cells atoms are reweighted at random, and where that is allowed some mass goes to the ceiling. What is outside the
    ball is drawn towards the first of ``near``.
    """
    atoms, cell = problem.lower, problem.mass
    plain = atoms.probability / np.where(cell > 0, cell, 1.0)[..., None]
    empty = cell == 0
    losses = []
    for _ in range(count):
        width = rng.choice([0.3, 1.0, 10.0])
        k, r = rng.dirichlet(np.full(len(cell), width)), rng.dirichlet(np.full(cell.shape[1], width))
        if rng.random() < 0.7:
            spot, pull = near[rng.integers(len(near))], 10.0 ** -rng.uniform(0, 6)
            k, r = spot[0] + pull * (k - spot[0]), spot[1] + pull * (r - spot[1])
        top = np.where(atoms.probability > 0, atoms.loss, 0.0)
        tilted = plain * np.exp(rng.uniform(0, 6) * (top - problem.ceiling[..., None]) / problem.scale)
        tilted = tilted * (rng.random(tilted.shape) < rng.choice([0.7, 1.0]))
        total = tilted.sum(axis=2)
        tilted = np.where((total > 0)[..., None], tilted / np.where(total > 0, total, 1.0)[..., None], plain)
        free = problem.unseen and escapes(name)
        unseen = np.where(empty, 1.0, rng.random(cell.shape) * rng.choice([0.0, 0.1, 1.0]) * free)
        for pull in (0.0, 1e-3, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 1.0):
            kk = problem.groups.inside((1 - pull) * k + pull * near[0][0])
            rr = problem.labels.inside((1 - pull) * r + pull * near[0][1])
            rest = np.where(empty, 1.0, (1 - pull) * unseen)
            mass = kk[:, None] * rr
            q = mass[..., None] * ((1 - pull) * tilted + pull * plain) * (1 - rest)[..., None]
            if distance(name, atoms.probability, q, float((mass * rest).sum())) <= rho:
                inside = (q * atoms.loss).sum(axis=2) + mass * rest * problem.ceiling
                chosen = np.ones(mass.shape, dtype=bool) if given is None else given
                losses.append(float(inside[chosen].sum() / mass[chosen].sum()))
                break
    return losses
