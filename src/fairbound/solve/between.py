"""How far two populations are from each other: distances that were seen, to choose radii by."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats
from fairbound.arithmetic.rounding import UNIT
from fairbound.data.cells import number
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given, listed
from fairbound.problem.divergences import (
    HELLINGER,
    TOTAL_VARIATION,
    Divergence,
    check_order,
    find_divergence,
)
from fairbound.sampling.region import read_confidence
from fairbound.sampling.sphere import least_affinity_of_masses

#: More than the logarithm of any radius: beyond it floats end.
LOG_MOST = 700.0


def divergence_between(
    first: Population, second: Population, *, divergence: str = "hellinger", confidence: float | None = None
) -> float:
    """Return how far the cell masses of a second population are from those of a first one.

    Two years, two regions, two customers: what such distances were in the past tells which ``rho`` is worth asking
    for. Only the shares of the cells of group and label are compared, so a shift that also changes the losses inside
    the cells is at least this large.

    Parameters
    ----------
    first, second
        The populations. They need the same groups and labels, by name; the order may differ. ``first`` plays the
        part of the data P, ``second`` that of Q: "kl", "chi_squared" and "trimming" are not symmetric.
    divergence
        "hellinger", "total_variation", "kl", "chi_squared", "trimming" or "cressie_read:1.5" (of that order), as in
        :func:`certify`. From the third on, but for orders below 1, they are infinite if ``second`` has rows in a cell
        in which ``first`` has none.
    confidence
        None compares the masses as they are. A level such as 0.95 takes the rows of both for independent draws and
        returns an upper bound of the distance between what they were drawn from, which holds with at least that
        probability. For "hellinger" and "total_variation" only.

    Raises
    ------
    InputError
        If groups or labels differ, or the question cannot be answered.

    Examples
    --------
    >>> from fairbound import Population, divergence_between
    >>> mean = [[0.1, 0.3], [0.1, 0.5]]
    >>> last_year = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], mean)
    >>> this_year = Population.from_moments([[0.35, 0.25], [0.25, 0.15]], mean)
    >>> round(divergence_between(last_year, this_year, divergence="total_variation"), 4)
    0.1
    >>> round(divergence_between(last_year, this_year), 4)
    0.0768
    """
    chosen = find_divergence(divergence)
    for name, population in (("first", first), ("second", second)):
        check_population(name, population)
    weight = second.weight[matched(first, second)]
    if confidence is None:
        return distance_of(chosen, first.mass, weight / weight.sum())
    error = 1.0 - read_confidence(confidence)
    if chosen not in {HELLINGER, TOTAL_VARIATION}:
        message = (
            f"{given('confidence', confidence)} does not go with {given('divergence', divergence)}: a cell may be as "
            "rare as it likes where no row was drawn from it, and then no sample bounds this divergence; use "
            f"'hellinger' or 'total_variation', or leave {argument('confidence')} out"
        )
        raise InputError(message)
    for name, population in (("first", first), ("second", second)):
        check_rows(name, population)
    return upper_distance(chosen, first.weight, weight, error)


def upper_distance(divergence: Divergence, first: Floats, second: Floats, error: float) -> float:
    """Bound how far apart is what two tables of counts were drawn from, but with probability ``error``."""
    distance = distance_of(divergence, first / first.sum(), second / second.sum())
    if divergence is TOTAL_VARIATION:
        return min(1.0, distance + _variation_slack(first, error / 2) + _variation_slack(second, error / 2))
    affinities = [
        1.0 - distance**2,
        *(least_affinity_of_masses(counts.reshape(-1, 1), error / 2) for counts in (first, second)),
    ]
    angle = sum(math.acos(min(1.0, max(-1.0, a))) for a in affinities)  # angles are a metric
    return 1.0 if angle >= math.pi / 2 else min(1.0, math.sqrt(1.0 - math.cos(angle)) * (1.0 + 1e-12) + 1e-12)


def hellinger_radius(total_variation: float) -> float:
    """Return the radius of a Hellinger ball that contains a total variation ball: the square root.

    ``H^2 <= TV <= sqrt(2) H`` for any two distributions, so whatever is certified at this Hellinger radius holds
    within the total variation distance too. It is a detour: ``certify(..., divergence="total_variation")`` answers
    the question itself, and never with a larger bound.

    Examples
    --------
    >>> from fairbound import hellinger_radius
    >>> hellinger_radius(0.04)
    0.2
    """
    radius = number("total_variation", total_variation, 0.0, 1.0, "it is a total variation distance, between 0 and 1")
    root = math.sqrt(radius)
    return root if Fraction(root) ** 2 >= Fraction(radius) else math.nextafter(root, 1.0)


def renyi_radius(renyi: float, *, order: float) -> float:
    """Return the radius of ``divergence="cressie_read:A"`` whose ball is that of a Rényi divergence of order A.

    Both are functions of ``sum q^A p^(1-A)``: ``renyi = log(sum) / (A - 1)``, and the radius is
    ``(sum - 1) / (A (A - 1))``. So the balls are the same ones; the radius is rounded up. Of order 1 both are the
    Kullback-Leibler divergence.

    Examples
    --------
    >>> from fairbound import renyi_radius
    >>> round(renyi_radius(0.1, order=1.5), 6)
    0.068361
    """
    a = check_order("order", order)
    radius = number("renyi", renyi, 0.0, math.inf, "it is a Rényi divergence, 0 or more")
    most = find_divergence(f"cressie_read:{a!r}").most
    found = math.expm1(min((a - 1.0) * radius, LOG_MOST)) / (a * (a - 1.0)) * (1.0 + 16 * UNIT)
    if a > 1.0 and found > most:
        message = (
            f"{given('renyi', radius, 'g')} is the radius {found:.3g} of 'cressie_read:{a:g}', and none is larger than "
            f"{most:g}; use a smaller one, or a smaller order"
        )
        raise InputError(message)
    return min(found, most)


def matched(first: Population, second: Population) -> tuple[AnyArray, ...]:
    """Return the places of the first one's groups and labels in tables of the second one."""
    order = []
    for what, wanted, found in (
        ("groups", first.groups, second.groups),
        ("labels", first.labels, second.labels),
    ):
        strangers = sorted({repr(n) for n in wanted} ^ {repr(n) for n in found})
        if strangers:
            message = (
                f"the populations differ in their {what}: {listed(strangers)} occur in one of them only; give both the "
                f"same {what} ({argument(what)}= of from_losses and from_predictions declares those that may be absent)"
            )
            raise InputError(message)
        order.append([found.index(name) for name in wanted])
    return np.ix_(*order)


def distance_of(divergence: Divergence, p: Floats, q: Floats) -> float:
    """Return the divergence of masses q from masses p, as floats have it."""
    if divergence is HELLINGER:
        return math.sqrt(max(0.0, 0.5 * float(np.square(np.sqrt(p) - np.sqrt(q)).sum())))
    return float(divergence.measure(p, q))


def check_population(name: str, population: object) -> None:
    """Refuse what is not a population."""
    if not isinstance(population, Population):
        kind = type(population).__name__
        message = f"{argument(name)} must be a Population, not {kind}; see Population.from_predictions"
        raise InputError(message)


def check_rows(name: str, population: Population) -> None:
    """Refuse what is not a sample of independent rows."""
    if population.rows is None or population.weighted:
        message = (
            f"{argument('confidence')} needs rows that are independent draws, and {argument(name)} "
            f"{'was made from moments' if population.rows is None else 'has weighted rows'}; use from_losses or "
            f"from_predictions without {argument('sample_weight')}, or leave {argument('confidence')} out"
        )
        raise InputError(message)


def _variation_slack(counts: Floats, error: float) -> float:
    """Bound the total variation distance of a sample from its source, but with probability ``error``.

    Its mean is at most ``sqrt((cells - 1) / n) / 2`` (Cauchy-Schwarz over the cells), and one row changes it by at most
    ``1 / n`` (McDiarmid's inequality).
    """
    rows = float(counts.sum())
    return (0.5 * math.sqrt((counts.size - 1) / rows) + math.sqrt(math.log(1.0 / error) / (2.0 * rows))) * (
        1 + 64 * UNIT
    )
