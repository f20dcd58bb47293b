"""Independent ways to the largest value of a metric where base rates may differ: a conic solver, and climbing members.

Nothing here knows multipliers. A *unit* is a group's rows of one part of the labels: of those that a mean is taken
over, or of the rest. A distribution is the masses of its units, what each label has of its unit, and what it does
inside the cells.
"""

from __future__ import annotations

from itertools import permutations

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from fairbound import Population
from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.nearest import nearest_in
from fairbound.solve.shares import MarginalSet
from tests.metric_oracles import Cells, Members, Sought, cells_of, metric_of_rates

#: Limits on groups: the largest difference of two shares, and the least share.
Limits = tuple[float | None, float]


def conic_means(
    cells: Cells, weight: Floats, rho: float, rates: tuple[float, float | None], asked: Sought, limits: Limits
) -> float:
    """Return the largest ``sum_i weight_i (mean value of cell i) (its share of its unit)``; minus infinity if none is.

    ``rates`` are the tolerance and, if means are taken over a part of the labels, the least share of its label.
    With ``m`` the mass of a class given its unit, Q gives it ``u m``: its part of the affinity is ``sqrt(p) z`` with
    ``z^2 <= u m``, a cone. All the rest is linear.
    """
    tolerance, least = rates
    s, c = weight.shape
    labels = np.arange(c)
    parts = [labels] if asked.label is None else [labels[labels == asked.label], labels[labels != asked.label]]
    part_of = np.array([next(n for n, part in enumerate(parts) if y in part) for y in labels])
    place = np.argwhere(cells.probability > 0)
    outside = [
        (g, y, cells.highest[g, y] if weight[g, y] > 0 else cells.lowest[g, y])
        for g, y in np.ndindex(s, c)
        if not np.isnan(cells.highest[g, y])
    ]
    units = s * len(parts)
    rate, seen = units, len(place)
    m = rate + s * c
    z, u = m + seen, m + 2 * seen
    size = u + len(outside)
    cost = np.zeros(size)
    equal: list[tuple[dict[int, float], float]] = [(dict.fromkeys(range(units), 1.0), 1.0)]
    for g in range(s):
        equal += [({rate + g * c + y: 1.0 for y in part}, 1.0) for part in parts]
    inside: dict[tuple[int, int], dict[int, float]] = {
        cell: {rate + cell[0] * c + cell[1]: -1.0} for cell in np.ndindex(s, c)
    }
    for n, (g, y, j) in enumerate(place):
        inside[g, y][m + n] = 1.0
        cost[m + n] = -weight[g, y] * cells.value[g, y, j]
    for n, (g, y, value) in enumerate(outside):
        inside[g, y][u + n] = 1.0
        cost[u + n] = -weight[g, y] * value
    equal += [(terms, 0.0) for terms in inside.values()]
    root = np.sqrt(cells.probability[tuple(place.T)])
    below: list[tuple[dict[int, float], float]] = [({z + n: -float(root[n]) for n in range(seen)}, rho**2 - 1.0)]
    below += [({i: -1.0}, 0.0) for i in [*range(z), *range(u, size)]]
    group = [{g * len(parts) + n: 1.0 for n in range(len(parts))} for g in range(s)]
    below += [(dict.fromkeys(group[g], -1.0), -limits[1]) for g in range(s)]
    for a, b in permutations(range(s), 2):
        if limits[0] is not None:
            below.append(({**group[a], **dict.fromkeys(group[b], -1.0)}, limits[0]))
        if len(parts) == 1:
            below += [({rate + a * c + y: 1.0, rate + b * c + y: -1.0}, tolerance) for y in range(c)]
    if least is not None:
        for g in range(s):
            first, second = group[g]
            below.append(({first: least - 1.0, second: least}, 0.0))
            below.append(({first: 1.0 - least - tolerance, second: -least - tolerance}, 0.0))
    cone: list[tuple[dict[int, float], float]] = []
    for n, (g, y, _) in enumerate(place):
        at = int(g * len(parts) + part_of[y])
        cone += [({at: -1.0, m + n: -1.0}, 0.0), ({z + n: -2.0}, 0.0), ({at: -1.0, m + n: 1.0}, 0.0)]
    rows = [*equal, *below, *cone]
    entries = [(i, column, value) for i, (terms, _) in enumerate(rows) for column, value in terms.items()]
    at_row, columns, values = zip(*entries, strict=True)
    matrix = sparse.csc_matrix((values, (at_row, columns)), shape=(len(rows), size))
    cones = [
        clarabel.ZeroConeT(len(equal)),
        clarabel.NonnegativeConeT(len(below)),
        *[clarabel.SecondOrderConeT(3)] * seen,
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    right = np.array([value for _, value in rows])
    solver = clarabel.DefaultSolver(sparse.csc_matrix((size, size)), cost, matrix, right, cones, settings)
    solution = solver.solve()
    return -float(solution.obj_val) if "Solved" in str(solution.status) else -np.inf


def largest_mean(
    population: Population,
    rho: float,
    asked: Sought,
    shift: str,
    tolerance: float,
    limits: Limits = (None, 0.0),
    looks: int = 30,
) -> float:
    """Return the largest value of one objective; among a label's rows, the best of a search over its least share."""
    cells = cells_of(population, shift, sign=asked.weight)

    def at(share: float | None) -> float:
        return conic_means(cells, asked.weight, rho, (tolerance, share), asked, limits)

    if asked.label is None or tolerance >= 1.0:
        return at(None)
    low, high, best = 0.0, 1.0 - tolerance, -np.inf
    own = population.mass[:, asked.label] / population.mass.sum(axis=1)
    for _ in range(2):
        grid = np.append(np.linspace(low, high, looks), np.clip(own.max() - tolerance, 0.0, 1.0 - tolerance))
        values = np.array([at(float(share)) for share in grid])
        centre, half = float(grid[np.argmax(values)]), (high - low) / (looks - 1)
        best, low, high = max(best, float(values.max())), max(low, centre - half), min(high, centre + half)
    found = minimize_scalar(
        lambda share: -max(at(share), -10.0), bounds=(low, high), method="bounded", options={"xatol": 1e-7}
    )
    return max(best, -float(found.fun))


def smallest_ratio_of_means(
    population: Population, rho: float, groups: tuple[int, int], shift: str, tolerance: float, halvings: int = 24
) -> float:
    """Return the smallest ratio of the means of groups (a, b), b to a: bisection on ``t mean_a - mean_b <= 0``."""
    low, high = 0.0, 1.0
    for _ in range(halvings):
        factor = 0.5 * (low + high)
        weight = np.zeros(population.mass.shape)
        weight[groups[0]], weight[groups[1]] = factor, -1.0
        value = largest_mean(population, rho, Sought(weight), shift, tolerance)
        low, high = (factor, high) if value <= 1e-10 else (low, factor)
    return 0.5 * (low + high)


class RatesMembers(Members):
    """Distributions in the ball whose groups have base rates of their own, which climb towards larger values."""

    def __init__(
        self, cells: Cells, rho: float, rng: np.random.Generator, groups: MarginalSet, tolerance: float
    ) -> None:
        shape = cells.lowest.shape
        super().__init__(cells, rho, rng, (groups, MarginalSet(shape[1])))
        rates = BaseRates(shape[0], MarginalSet(shape[1]), tolerance)
        near = nearest_in(cells.probability.sum(axis=2), groups, rates)
        self.centre = near.group_mass, near.rate, self.centre[2]
        self.inside = groups.inside, rates.inside

    def affinity(self, state: tuple[Floats, Floats, Floats]) -> Floats:
        k, rate, law = state
        return (self.root * np.sqrt((k[..., None] * rate)[..., None] * law)).sum(axis=(1, 2, 3))

    def shares(self, count: int, size: float) -> tuple[Floats, Floats]:
        s, c, _ = self.root.shape
        rate = self.rng.dirichlet(np.full(c, size), (count, s))
        return self.inside[0](self.rng.dirichlet(np.full(s, size), count)), self.inside[1](rate)

    def measure(self, metric: str, state: tuple[Floats, Floats, Floats], positive: int = 1) -> Floats:
        return metric_of_rates(metric, state[1], (state[2] * self.value).sum(axis=3), positive)
