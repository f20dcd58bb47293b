"""What multipliers of means prove, form F: any of them, in intervals of the share of a part, rounded outward.

A mean over all labels, or over a part of them, given the group. The share x of the first part lies in an interval (with
a tolerance e: its least share, and each group has up to e more); the cells' multipliers ``theta_i = zeta_i + x_i
slope_i`` move with the share ``x_i`` of the part that the cell is in. With ``tau`` the affinity that every Q has,

    value <= max over the ends x of [ level(x) + lam^2 sigma_K( H_s(x) ) ] + sigma_R(omega) - 2 lam tau,
    H_s = sum of p_i E_i[ x_i / (theta_i(x) - v) ] over the cells of a group,

where level(x) is what the theta add up to (docs/specification.md). Each term of H is a fraction of x; where one is
concave its tangent at a stored centre takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import UNIT, least_affinity, lowered, margin, raised
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.leaf_bounds import LEAST, MOST, PROBABILITY_ROUNDINGS
from fairbound.solve.problem import Problem
from fairbound.solve.proof import Cut, FractionalProof
from fairbound.solve.rows import Rows

#: Roundings allowed for in a fraction of a few numbers, and in an end of an interval, which halvings lead to.
FEW = 48


@dataclass(frozen=True)
class MeanLeaves(Rows):
    """Multipliers of L intervals: ``ends`` (L, 2) of the share, of which with one part nothing depends.

    zeta and slope (L, S, C), lam (L,), centre (L, 2) for either part, nu (L, S), omega (L, C), group_mu and label_mu
    (L, rows).
    """

    ends: Floats
    zeta: Floats
    slope: Floats
    lam: Floats
    centre: Floats
    nu: Floats
    omega: Floats
    group_mu: Floats
    label_mu: Floats

    def proof(self, tolerance: float) -> FractionalProof:
        """Write leaves down, those of neighbouring intervals in order."""
        floors, splits = np.ones(1), _LEAF
        if self.centre.shape[1] == 2:
            cuts = np.append(self.ends[:, 0], self.ends[-1, 1])
            spare = max(0.0, float(np.nextafter(1.0 - cuts[-1], 0.0)))
            floors = np.array([max(0.0, float(cuts[0])), min(spare, tolerance) if tolerance else spare])
            splits = _tree(cuts, 0, len(self))
        slope = self.slope if self.slope.any() else None
        nu = self.nu if self.nu.any() else None
        limits = nu, self.group_mu, self.label_mu
        return FractionalProof(
            "part",
            floors,
            tuple(splits),
            self.zeta,
            None,
            None,
            slope,
            self.centre,
            self.omega,
            2.0 * self.lam,
            *limits,
        )


_LEAF: list[Cut | None] = [None]


def _tree(cuts: Floats, low: int, high: int) -> list[Cut | None]:
    """Cut an interval of pieces at the middle one: the corner of the larger share comes first."""
    if high - low == 1:
        return [None]
    middle = (low + high) // 2
    place = float((cuts[high] - cuts[middle]) / (cuts[high] - cuts[low]))
    return [(0.0, 1.0, place), *_tree(cuts, low, middle), *_tree(cuts, middle, high)]


def in_first(problem: Problem) -> Booleans:
    """Return which labels are in the first part."""
    first = np.zeros(problem.labels.size, dtype=bool)
    first[list((problem.parts or ((),))[0])] = True
    return first


def _shares(problem: Problem, ends: Floats) -> Floats:
    """Return the share of each label's part at the ends, (L, ends, C)."""
    if len(problem.parts or ()) == 1:
        return np.ones((len(ends), 1, problem.labels.size))
    return np.where(in_first(problem), ends[..., None], 1.0 - ends[..., None])


@dataclass(frozen=True)
class _Ends:
    """What leaves come to at the ends, whatever lam: level and pull (L, ends); and whose thetas are feasible (L,)."""

    level: Floats
    pull: Floats
    feasible: Booleans


def _at_ends(problem: Problem, rates: BaseRates, leaves: MeanLeaves) -> _Ends:
    """Evaluate leaves at the ends, rounded up."""
    share = _shares(problem, leaves.ends)
    with np.errstate(all="ignore"):
        theta, error = _thetas(leaves, share)
        level, pull = _levels(problem, rates, leaves, share, theta), _pulls(problem, rates, leaves, share)
        mu = np.repeat(leaves.group_mu[:, None], pull.shape[1], axis=1)
        whole: Booleans = np.logical_and.reduce(np.isfinite(pull), axis=2)
        pulled = np.where(whole, problem.groups.support(np.where(whole[..., None], pull, 0.0), mu), np.inf)
    feasible: Booleans = np.logical_and.reduce(theta - error >= problem.ceiling, axis=(1, 2, 3))
    return _Ends(level, pulled, feasible)


def mean_bound(
    problem: Problem, rates: BaseRates, rho: Floats, leaves: MeanLeaves, at_ends: _Ends | None = None
) -> Floats:
    """Bound a mean in every interval; infinity where multipliers prove nothing."""
    at_ends = _at_ends(problem, rates, leaves) if at_ends is None else at_ends
    level, pull = at_ends.level, at_ends.pull
    with np.errstate(all="ignore"):
        lam = leaves.lam[:, None]
        gained = np.where(lam > 0, np.where(np.isfinite(pull), raised(lam * lam * pull, 6), np.inf), 0.0)
        worst, size = level + gained, np.abs(level) + np.where(np.isfinite(gained), gained, 0.0)
        limit = np.where(leaves.omega.any(axis=1), rates.labels.support(leaves.omega, leaves.label_mu), 0.0)
        gain = lowered(2.0 * leaves.lam * least_affinity(rho), 4)
        bound = worst.max(axis=1) + limit - gain
        bound = bound + margin(size.max(axis=1) + np.abs(limit) + gain, 8)
    held = at_ends.feasible & (leaves.lam >= 0) & (leaves.centre > 0).all(axis=1)
    for name in ("zeta", "slope", "lam", "centre", "nu", "omega", "group_mu", "label_mu"):
        entry = getattr(leaves, name)
        usable = np.abs(entry) < MOST
        if name.endswith("_mu"):
            usable = usable & (entry >= 0)
        held = held & np.logical_and.reduce(usable, axis=tuple(range(1, entry.ndim)))
    if rates.tolerance > 0.0:  # labels have no shares of their own
        held = held & ~leaves.omega.any(axis=1)
    return np.where(held & np.isfinite(bound), bound, np.inf)


def _thetas(leaves: MeanLeaves, share: Floats) -> tuple[Floats, Floats]:
    """Return theta at the ends (L, ends, S, C), and how far roundings may be off; without a slope nothing is."""
    if not leaves.slope.any():
        return np.repeat(leaves.zeta[:, None], share.shape[1], axis=1), np.zeros(())
    moved = share[:, :, None] * leaves.slope[:, None]
    theta = leaves.zeta[:, None] + moved
    moving: Booleans = np.logical_or.reduce(leaves.slope != 0, axis=(1, 2))
    error = np.where(
        moving[:, None, None, None], margin(np.abs(theta) + np.abs(moved) + np.abs(leaves.slope[:, None]), 24), 0.0
    )
    return theta, error


def _levels(problem: Problem, rates: BaseRates, leaves: MeanLeaves, share: Floats, theta: Floats) -> Floats:
    """Return what the multipliers add up to at the ends, (L, ends), rounded up."""
    parts = problem.parts or ()
    size = np.abs(theta).sum(axis=2) + np.abs(leaves.slope).sum(axis=1)[:, None]
    roundings = 2 * problem.mass.size + FEW
    if rates.tolerance == 0.0:
        pulled = share * leaves.omega[:, None]
        size = size + np.abs(pulled) + np.abs(leaves.omega)[:, None]
        summed = theta.sum(axis=2) - pulled + margin(size, roundings)
        level = np.sum([summed[..., list(part)].max(axis=2) for part in parts], axis=0)
        return level + margin(np.abs(summed).sum(axis=2), 4)
    if len(parts) == 1:
        return rates.support(theta[:, 0], leaves.nu)[:, None]
    level = np.sum([theta[..., list(part)].max(axis=3).sum(axis=2) for part in parts], axis=0)
    return level + margin(size.sum(axis=2), roundings)


def _pulls(problem: Problem, rates: BaseRates, leaves: MeanLeaves, share: Floats) -> Floats:
    """Return H of every group at the ends, (L, ends, S), rounded up; infinite where a term is."""
    atoms, parts = problem.upper, problem.parts or ()
    probability, loss = atoms.probability, atoms.loss
    extras = [0.0] if rates.tolerance == 0.0 or len(parts) == 1 else [0.0, min(1.0, rates.allowed)]
    first = in_first(problem)
    x = share[:, :, None, :, None]
    m = (np.where(first, leaves.centre[:, :1], leaves.centre[:, -1:]))[:, None, None, :, None]
    zeta, d = leaves.zeta[:, None, ..., None], leaves.slope[:, None, ..., None]
    c = zeta - loss
    near = margin(np.abs(zeta) + np.abs(loss), 2)  # c is known this well
    worst: Floats | None = None
    for extra in extras:
        start = np.where(first, extra, -extra)[:, None]
        with np.errstate(all="ignore"):
            moved = d * x
            below = c + moved
            below = below - np.where(d == 0, near, near + margin(np.abs(c) + np.abs(moved) + np.abs(d), 24))
            above = start + x
            above = np.maximum(above, 0.0) + 16 * UNIT  # a share that roundings may have moved
            plain = np.where(below > 0, above / below, np.inf)
            tangent = _tangents(c, d, start, (x, m), near)
            turn = d * (c - start * d)
            unsure = margin(np.abs(d) * (np.abs(zeta) + np.abs(loss) + np.abs(start * d)), 8)
            convex = (turn < -unsure) | (d == 0)
            term = np.where(convex, plain, np.where(turn > unsure, tangent, np.maximum(plain, tangent)))
            term = np.where(probability > 0, probability * term, 0.0)
            error = margin(np.abs(term).sum(axis=(3, 4)), probability.size + PROBABILITY_ROUNDINGS + FEW)
            total = np.maximum(term.sum(axis=(3, 4)) + error + LEAST, 0.0)
        total = np.where(np.isnan(total), np.inf, total)
        worst = total if worst is None else np.maximum(worst, total)
    return np.zeros((0, 0, 0)) if worst is None else worst


def _tangents(c: Floats, d: Floats, start: Floats, spots: tuple[Floats, Floats], near: Floats) -> Floats:
    """Return tangents of ``(start + x) / (c + d x)`` at the centre, rounded up; infinite where the fraction is."""
    x, m = spots
    at = c + d * m
    error = near + margin(np.abs(c) + np.abs(d * m), 6)
    low = at - error
    value = (start + m) / low
    turn, away = c - start * d, x - m
    slope = turn / (at * at)
    relative = 4.0 * error / np.maximum(low, 1e-300)
    slack = np.abs(slope * away) * (relative + 32 * UNIT) + np.abs(slope) * 16 * UNIT
    slack = slack + (near + margin(np.abs(c) + np.abs(start * d), 6)) / (at * at) * np.abs(away)
    found = value + slope * away + slack + margin(np.abs(value) + np.abs(slope * away), 8)
    return np.where(low > 0, found, np.inf)


def tuned(problem: Problem, rates: BaseRates, rho: Floats, leaves: MeanLeaves) -> tuple[MeanLeaves, Floats]:
    """Choose the lam that makes the bounds of leaves least, and return these: the bound is convex in it."""
    at_ends = _at_ends(problem, rates, leaves)
    level, total, tau = at_ends.level, at_ends.pull, least_affinity(rho)[:, None]
    with np.errstate(all="ignore"):
        offers = tau / total
        if total.shape[1] == 2:
            fall, rise = level[:, :1] - level[:, 1:], total[:, 1:] - total[:, :1]
            offers = np.concatenate([offers, np.sqrt(np.where(fall * rise > 0, fall / rise, np.nan))], axis=1)
        offers = np.where(np.isfinite(offers), offers, 0.0)
        gained = np.square(offers)[:, None] * total[..., None]
        values = (level[..., None] + np.where(offers[:, None] > 0, gained, 0.0)).max(axis=1) - 2.0 * offers * tau
        values = np.where(np.isfinite(values), values, np.inf)
    found = replace(leaves, lam=offers[np.arange(len(offers)), values.argmin(axis=1)])
    return found, mean_bound(problem, rates, rho, found, at_ends)
