"""Bounds of means given the group where base rates may differ, by weak duality, rounded outward (docs/metrics.md)."""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import lowered, margin, raised
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.leaf_bounds import LEAST, MOST, PROBABILITY_ROUNDINGS, certified, pull_of_cells
from fairbound.solve.problem import Problem


def means_bound(
    problem: Problem,
    rates: BaseRates,
    rho: Floats,
    theta: Floats,
    group_mu: Floats,
    nu: Floats,
    ends: Floats | None = None,
) -> Floats:
    """Bound a mean given the group from any ``theta`` that are at least the ceilings.

    With one part of the labels, theta is (N, 1, S, C), and nu (N, S) are any numbers. With two parts the share of the
    first in group s lies between t and ``t + e``, e the tolerance. If base rates are free t is 0, and theta is
    (N, 1, S, C). Otherwise either part is a single label, ``ends`` (N, 2) is the interval in which t lies, and theta
    (N, 2, S, C) are the multipliers at its ends; in between they move linearly. With H and ``bent`` as in
    :func:`fairbound.solve.leaf_bounds.conditional_bound` the bound is

        max_j level_j - tau^2 / max_j sigma_K( max over u in {t_j, t_j + e} of (u H_s1^j + (1 - u) H_s2^j) + bent_s ).
    """
    parts = problem.parts or ()
    probability = problem.upper.probability
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = pull_of_cells(problem.upper, theta)
        roundings = probability.size + PROBABILITY_ROUNDINGS + 12
        pull = [raised(terms[..., part].sum(axis=3) + LEAST, roundings) for part in parts]  # (N, 1 or 2, S) each
        if len(parts) == 1:
            total = pull[0]
            level = rates.support(theta[:, 0], nu)[:, None]
        else:
            level = levels_apart(problem, theta)
            total = np.maximum(*pull)
            if ends is not None:
                # What H rises counts, so raising the values of both ends is not enough: some are lowered instead.
                least = terms if problem.upper.places > 1 else pull_of_cells(problem.lower, theta)
                low = [lowered(least[..., part].sum(axis=3), 2 * roundings + 8) for part in parts]
                total = _mixed(pull, low, ends, rates.allowed)
        total = np.where(np.isnan(total), np.inf, total)  # 0 times infinity, at an end of the simplex
        most = problem.groups.support(raised(total, 8), group_mu).max(axis=1)
        most = np.where(np.isnan(most), np.inf, most)
        bound = certified(level.max(axis=1), rho, most)
    held = (theta >= problem.ceiling).all(axis=(1, 2, 3)) & (np.abs(theta) < MOST).all(axis=(1, 2, 3))
    held = held & (group_mu >= 0).all(axis=(1, 2)) & np.isfinite(nu).all(axis=1)
    return np.where(held & ~np.isnan(bound), bound, np.inf)


def levels_apart(problem: Problem, theta: Floats) -> Floats:
    """Return what multipliers of two parts add up to (N, 1 or 2): exact for parts of a single label, and free rates."""
    apart = [theta[..., part].max(axis=3).sum(axis=2) for part in problem.parts or ()]
    return np.sum(apart, axis=0) + margin(np.abs(theta).sum(axis=(2, 3)), problem.mass.size)


def _mixed(pull: list[Floats], low: list[Floats], ends: Floats, tolerance: float) -> Floats:
    """Return what each group adds at the ends of the intervals, at the worse end of its own share; (N, 2, S)."""
    more = (pull[1][:, 1] + pull[0][:, 0]) - (low[1][:, 0] + low[0][:, 1])
    more = more + margin(pull[1].sum(axis=1) + pull[0].sum(axis=1), 4)
    curvature_remainder = raised(np.maximum(more, 0.0) * (ends[:, 1:] - ends[:, :1]) * 0.25, 8)
    mixed = []
    for share in (ends, ends + tolerance):
        # Rounding may put a share beyond one; and where the other part counts nothing, infinity times 0 is 0.
        first, second = (
            raised(share[..., None] * pull[0], 2),
            raised(np.clip(1.0 - share, 0.0, 1.0)[..., None] * pull[1], 2),
        )
        mixed.append(first + second + margin(pull[1], 4))
    return np.maximum(*mixed) + curvature_remainder[:, None]
