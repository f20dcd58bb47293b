"""Independent ways to the largest value of a metric: a conic solver, and distributions that climb towards it.

Nothing here knows multipliers. A distribution with equal base rates is its group shares k, its label shares r and what
it does inside the cells; every metric is a function of r and of the cells' mean values alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from fairbound import Population
from fairbound.arithmetic.arrays import Floats
from fairbound.data.loss_summary import LossTable, MeanAndVariance
from fairbound.solve.nearest import nearest_shares
from fairbound.solve.shares import MarginalSet

METRICS = (
    "group_loss",
    "group_loss_difference",
    "cell_loss",
    "selection_rate",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "equalized_odds_difference",
)

#: Metrics of the losses; the others look at what is predicted.
OF_LOSSES = METRICS[:3]


@dataclass(frozen=True)
class Cells:
    """P and what Q may do: classes (S, C, J) of P with their values, and values that Q may add to them (NaN: none)."""

    probability: Floats
    value: Floats
    lowest: Floats
    highest: Floats


def looked_at(population: Population, metric: str, pos_label: Any = None) -> Population:
    """Return the population whose values the metric is made of."""
    return population if metric in OF_LOSSES else population.selecting(pos_label)


def cells_of(population: Population, shift: str, support: str = "any", sign: Floats | None = None) -> Cells:
    """Write down P's classes from its statistics; with moments, the worst law for values of that sign in each cell."""
    mass, top, known = population.mass, population.ceiling, population.knowledge
    empty = mass == 0
    ends = np.where(empty, 0.0, np.nan), np.where(empty, top, np.nan)
    if shift == "sensitive":
        return Cells(mass[..., None], population.mean[..., None], *ends)
    if support == "any":
        ends = np.zeros(mass.shape), np.full(mass.shape, top)
    if isinstance(known, LossTable):
        width = known.high - known.low
        if width.any():
            message = "exact losses only"
            raise ValueError(message)
        return Cells(known.weight / known.weight.sum(), known.low, *ends)
    mean = population.mean
    if isinstance(known, MeanAndVariance) and sign is not None:
        variance, room, some = known.variance, np.maximum(top - mean, 1e-300), np.maximum(mean, 1e-300)
        up = np.stack([mean - variance / room, np.full_like(mean, top)], axis=2)
        high = variance / (variance + room**2)
        down = np.stack([np.zeros_like(mean), mean + variance / some], axis=2)
        none = variance / (variance + some**2)
        positive = (sign > 0)[..., None]
        share = np.where(positive, np.stack([1 - high, high], axis=2), np.stack([none, 1 - none], axis=2))
        return Cells(mass[..., None] * share, np.where(positive, up, down), *ends)
    share = np.stack([1 - mean / top, mean / top], axis=2)
    return Cells(mass[..., None] * share, np.broadcast_to([0.0, top], share.shape), *ends)


@dataclass(frozen=True)
class Sought:
    """The largest ``sum_i weight_i r_y (mean value of cell i)``, divided by the share of a label or of all others."""

    weight: Floats
    label: int | None = None
    inside: bool = True


def sought(metric: str, shape: tuple[int, int], positive: int = 1) -> list[Sought]:
    """Return what a metric is the largest of (not for ratios)."""
    groups = range(shape[0])

    def weight(plus: int, minus: int | None, chosen: Any = slice(None)) -> Floats:
        signs = np.zeros(shape)
        signs[plus, chosen] = 1.0
        if minus is not None:
            signs[minus, chosen] = -1.0
        return signs

    if metric in {"group_loss", "selection_rate"}:
        return [Sought(weight(s, None)) for s in groups]
    if metric == "cell_loss":
        return [Sought(weight(s, None, y), y) for s in groups for y in range(shape[1])]
    if metric in {"group_loss_difference", "demographic_parity_difference"}:
        return [Sought(weight(a, b)) for a, b in permutations(groups, 2)]
    others = np.arange(shape[1]) != positive
    inside = [Sought(weight(a, b, ~others), positive) for a, b in permutations(groups, 2)]
    outside = [Sought(weight(a, b, others), positive, inside=False) for a, b in permutations(groups, 2)]
    return {"true_": inside, "false": outside}.get(metric[:5], inside + outside)


class Program:
    """The primal conic program: shares k and r, mass given the group on every class, and outside of P's support.

    With ``m`` the mass of a class given the group, Q gives it ``k_s m``, so its part of the affinity is ``sqrt(p) z``
    with ``z^2 <= k_s m``: a cone. Everything else is linear, whatever the signs of the values.
    """

    def __init__(
        self,
        cells: Cells,
        weight: Floats,
        skews: tuple[float | None, float | None] = (None, None),
        least: tuple[float, float] = (0.0, 0.0),
        label_rows: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Limit the differences between group shares and between label shares, and both from below.

        ``label_rows`` are more limits on label shares, a matrix and a right side.
        """
        self.cells, self.shape = cells, cells.probability.shape[:2]
        s, c = self.shape
        place = np.argwhere(cells.probability > 0)
        self.seen = len(place)
        free = [(g, y, cells.lowest[g, y], cells.highest[g, y]) for g, y in np.ndindex(s, c)]
        outside = [(g, y, high if weight[g, y] > 0 else low) for g, y, low, high in free if not np.isnan(high)]
        m, z = s + c, s + c + self.seen
        u = z + self.seen
        self.size = u + len(outside)
        self.cost = np.zeros(self.size)
        self.entries: list[tuple[int, int, float]] = []
        self.right: list[float] = []
        row = self._row
        row([(i, 1.0) for i in range(s)], 1.0)
        row([(s + i, 1.0) for i in range(c)], 1.0)
        inside: dict[tuple[int, int], list[tuple[int, float]]] = {cell: [] for cell in np.ndindex(s, c)}
        for n, (g, y, j) in enumerate(place):
            inside[g, y].append((m + n, 1.0))
            self.cost[m + n] = -weight[g, y] * cells.value[g, y, j]
        for n, (g, y, value) in enumerate(outside):
            inside[g, y].append((u + n, 1.0))
            self.cost[u + n] = -weight[g, y] * value
        for (_, y), terms in inside.items():
            row([*terms, (s + y, -1.0)], 0.0)
        self.equalities = len(self.right)
        for i in [*range(s + c + self.seen), *range(u, self.size)]:
            row([(i, -1.0)], -least[0] if i < s else -least[1] if i < s + c else 0.0)
        for skew, first, count in ((skews[0], 0, s), (skews[1], s, c)):
            for a, b in permutations(range(count), 2) if skew is not None else ():
                row([(first + a, 1.0), (first + b, -1.0)], float(skew or 0.0))
        for entries, right in zip(*label_rows, strict=True) if label_rows is not None else ():
            row([(s + y, float(entry)) for y, entry in enumerate(entries)], float(right))
        root = np.sqrt(cells.probability[tuple(place.T)])
        self.affinity_row = row([(z + n, -root[n]) for n in range(self.seen)], 0.0)
        self.linear = len(self.right) - self.equalities
        for n, (g, _, _) in enumerate(place):
            row([(g, -1.0), (m + n, -1.0)], 0.0)
            row([(z + n, -2.0)], 0.0)
            row([(g, -1.0), (m + n, 1.0)], 0.0)

    def _row(self, terms: list[tuple[int, float]], right: float) -> int:
        self.entries += [(len(self.right), int(column), value) for column, value in terms]
        self.right.append(right)
        return len(self.right) - 1

    def solve(self, rho: float, fixed: tuple[int, float] | None = None) -> float:
        """Return the largest value; with ``fixed``, for that share of a label. Minus infinity if there is no such Q."""
        rows, columns, values = (list(part) for part in zip(*self.entries, strict=True))
        right = np.array(self.right)
        right[self.affinity_row] = -(1.0 - rho**2)
        first = np.zeros(0)
        if fixed is not None:
            rows = [r + 1 for r in rows]
            rows.append(0)
            columns.append(self.shape[0] + fixed[0])
            values.append(1.0)
            first = np.array([fixed[1]])
        right = np.concatenate([first, right])
        matrix = sparse.csc_matrix((values, (rows, columns)), shape=(len(right), self.size))
        cones = [
            clarabel.ZeroConeT(self.equalities + len(first)),
            clarabel.NonnegativeConeT(self.linear),
            *[clarabel.SecondOrderConeT(3)] * self.seen,
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        nothing = sparse.csc_matrix((self.size, self.size))
        solution = clarabel.DefaultSolver(nothing, self.cost, matrix, right, cones, settings).solve()
        return -float(solution.obj_val) if str(solution.status) in {"Solved", "AlmostSolved"} else -np.inf


def largest(
    population: Population,
    rho: float,
    asked: Sought,
    shift: str = "general",
    skews: tuple[float | None, float | None] = (None, None),
    support: str = "any",
    least: tuple[float, float] = (0.0, 0.0),
    looks: int = 24,
    label_rows: tuple[Floats, Floats] | None = None,
) -> float:
    """Return the largest value of one objective; if it is divided by a share, the best of a search over that share."""
    program = Program(cells_of(population, shift, support, asked.weight), asked.weight, skews, least, label_rows)
    if asked.label is None:
        return program.solve(rho)
    label = asked.label

    def at(share: float) -> float:
        return program.solve(rho, (label, share)) / (share if asked.inside else 1.0 - share)

    low, high = 0.0, 1.0
    while True:
        grid = low + (high - low) * (np.arange(looks) + 0.5) / looks
        values = np.array([at(float(share)) for share in grid])
        if np.isfinite(values).any():
            break
        centre = float(
            np.square(np.linalg.svd(np.sqrt(population.mass))[2][0])[label]
        )  # a narrow range around this one
        low, high = centre - 0.2 * (centre - low), centre + 0.2 * (high - centre)
    best, half = int(np.argmax(values)), (high - low) / looks
    around = max(low, grid[best] - half), min(high, grid[best] + half)

    def loss(share: float) -> float:
        value = at(share)
        return -value if np.isfinite(value) else 10.0 + abs(share - grid[best])

    closest = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-7 * half / 0.02})
    return max(float(values.max()), -float(closest.fun))


def smallest_ratio(
    population: Population,
    rho: float,
    groups: tuple[int, int],
    shift: str = "general",
    skews: tuple[float | None, float | None] = (None, None),
    least: tuple[float, float] = (0.0, 0.0),
    halvings: int = 24,
) -> float:
    """Return the smallest ratio of the means of groups (a, b), b to a: bisection on ``t mean_a - mean_b <= 0``."""
    low, high = 0.0, 1.0
    for _ in range(halvings):
        factor = 0.5 * (low + high)
        weight = np.zeros(population.mass.shape)
        weight[groups[0]], weight[groups[1]] = factor, -1.0
        value = Program(cells_of(population, shift, sign=weight), weight, skews, least).solve(rho)
        low, high = (factor, high) if value <= 1e-10 else (low, factor)
    return 0.5 * (low + high)


def metric_value(metric: str, label_share: Floats, mean: Floats, positive: int = 1) -> Floats:
    """Return a metric, by definition, of distributions with label shares (N, C) and mean values of cells (N, S, C)."""
    return metric_of_rates(metric, np.broadcast_to(label_share[:, None], mean.shape), mean, positive)


def metric_of_rates(metric: str, rate: Floats, mean: Floats, positive: int = 1) -> Floats:
    """Return a metric, by definition, of distributions with base rates and mean values of cells, both (N, S, C)."""
    group = (rate * mean).sum(axis=2)
    if metric in {"group_loss", "selection_rate"}:
        return group.max(axis=1)
    if metric == "cell_loss":
        return mean.max(axis=(1, 2))
    if metric in {"group_loss_difference", "demographic_parity_difference"}:
        return np.ptp(group, axis=1)
    if metric == "demographic_parity_ratio":
        top = group.max(axis=1)
        return np.where(top > 0, group.min(axis=1) / np.where(top > 0, top, 1.0), 1.0)
    others = np.arange(rate.shape[2]) != positive
    rest = rate[..., others].sum(axis=2)
    false_rate = (rate[..., others] * mean[..., others]).sum(axis=2) / np.maximum(rest, 1e-300)
    gaps = {
        "true_": np.ptp(mean[..., positive], axis=1),
        "false": np.where(rest.min(axis=1) > 0, np.ptp(false_rate, axis=1), 0.0),
    }
    return gaps.get(metric[:5], np.maximum(gaps["true_"], gaps["false"]))


class Members:
    """Many distributions with equal base rates inside the ball, which climb towards larger values of a metric."""

    def __init__(
        self,
        cells: Cells,
        rho: float,
        rng: np.random.Generator,
        sets: tuple[MarginalSet, MarginalSet],
    ) -> None:
        self.rho, self.rng = rho, rng
        self.inside: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]] = sets[0].inside, sets[1].inside
        ends = np.stack([cells.lowest, cells.highest], axis=2)
        allowed = ~np.isnan(ends)
        self.root = np.sqrt(np.concatenate([cells.probability, np.zeros(ends.shape)], axis=2))
        self.value = np.concatenate([cells.value, np.where(allowed, ends, 0.0)], axis=2)
        self.open = np.concatenate([cells.probability > 0, allowed], axis=2)
        mass = cells.probability.sum(axis=2)
        plain = np.square(self.root) / np.where(mass > 0, mass, 1.0)[..., None]
        plain = np.where((mass > 0)[..., None], plain, self.open / np.maximum(self.open.sum(axis=2), 1)[..., None])
        nearest = nearest_shares(mass, *sets)
        self.centre = nearest.group_mass, nearest.label_mass, plain

    def affinity(self, state: tuple[Floats, Floats, Floats]) -> Floats:
        k, r, law = state
        mass = k[:, :, None] * r[:, None]
        return (self.root * np.sqrt(mass[..., None] * law)).sum(axis=(1, 2, 3))

    def pulled(self, state: tuple[Floats, Floats, Floats], halvings: int = 18) -> tuple[Floats, Floats, Floats]:
        """Mix with the nearest distribution until inside the ball, and drop what is not."""

        def mixed(pull: Floats) -> tuple[Floats, Floats, Floats]:
            k, r, law = (
                own + pull.reshape(-1, *[1] * (own.ndim - 1)) * (middle - own)
                for own, middle in zip(state, self.centre, strict=True)
            )
            return k, r, law

        low, high = np.zeros(len(state[0])), np.ones(len(state[0]))
        need = 1.0 - self.rho**2
        done = self.affinity(state) >= need
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            good = self.affinity(mixed(middle)) >= need
            low, high = np.where(good, low, middle), np.where(good, middle, high)
        found = mixed(np.where(done, 0.0, high))
        kept = self.affinity(found) >= need
        return found[0][kept], found[1][kept], found[2][kept]

    def draw(self, count: int) -> tuple[Floats, Floats, Floats]:
        """Draw shares at random, and inside the cells tilted laws with some mass at the ends."""
        rng, (s, c, j) = self.rng, self.root.shape
        size = rng.choice([0.3, 1.0, 10.0])
        k, r = self.shares(count, float(size))
        tilt = np.exp(rng.normal(size=(count, s, c, 1)) * 4.0 * self.value / max(float(np.abs(self.value).max()), 1e-9))
        law = self.centre[2] * tilt
        law = law / law.sum(axis=3, keepdims=True)
        extra = self.open * rng.dirichlet(np.full(j, 0.2), size=(count, s, c))
        extra = extra / np.maximum(extra.sum(axis=3, keepdims=True), 1e-300)
        much = rng.uniform(size=(count, s, c, 1)) * rng.choice([0.0, 0.05, 1.0], size=(count, s, c, 1))
        fixed = self.open.sum(axis=2)[..., None] <= 1
        return k, r, np.where(fixed, self.centre[2], (1 - much) * law + much * extra)

    def shares(self, count: int, size: float) -> tuple[Floats, Floats]:
        """Draw group and label shares."""
        s, c, _ = self.root.shape
        return (
            self.inside[0](self.rng.dirichlet(np.full(s, size), count)),
            self.inside[1](self.rng.dirichlet(np.full(c, size), count)),
        )

    def perturbed(self, state: tuple[Floats, Floats, Floats], scale: float) -> tuple[Floats, Floats, Floats]:
        """Move towards other random distributions, a little."""
        count = len(state[0])
        other = self.draw(count)
        step = scale * self.rng.uniform(size=(count, 3)) * self.rng.choice([0.0, 1.0], size=(count, 3))
        k, r, law = (
            (1 - step[:, n].reshape(-1, *[1] * (own.ndim - 1))) * own
            + step[:, n].reshape(-1, *[1] * (own.ndim - 1)) * new
            for n, (own, new) in enumerate(zip(state, other, strict=True))
        )
        return self.inside[0](k), self.inside[1](r), law

    def measure(self, metric: str, state: tuple[Floats, Floats, Floats], positive: int = 1) -> Floats:
        return metric_value(metric, state[1], (state[2] * self.value).sum(axis=3), positive)

    def climbed(self, metric: str, positive: int = 1, rounds: int = 60, count: int = 60) -> float:
        """Return the worst value of a metric that a climb comes across."""
        way = -1.0 if metric.endswith("ratio") else 1.0
        state = self.pulled(self.draw(4 * count))
        best = way * self.measure(metric, state, positive)
        for number in range(rounds):
            order = np.argsort(-best)[:count]
            state = state[0][order], state[1][order], state[2][order]
            best = best[order]
            child = self.pulled(self.perturbed(state, 10.0 ** -(3.0 * number / rounds)))
            state = tuple(np.concatenate(pair) for pair in zip(state, child, strict=True))  # type: ignore[assignment]
            best = np.append(best, way * self.measure(metric, child, positive))
        return float(way * best.max())
