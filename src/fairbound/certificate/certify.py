"""The verbs: certify at one radius, along a curve, or ask for the largest radius that keeps a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.crossing import last_kept
from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.statements import MetricStatements, ask, certificates
from fairbound.data.cells import number
from fairbound.data.population import Population
from fairbound.errors import InfeasibleError, InputError, ThresholdError, argument, either, given
from fairbound.problem.asked import Asked, asks
from fairbound.problem.validate import for_radii, listed, read_radii, refuse_one_radius
from fairbound.solve.measured import MeasuredShift
from fairbound.solve.solver import Solver

#: How closely the largest certified radius is found.
RADIUS_ACCURACY = 1e-6

#: The radii that are taken if none are named, beyond the nearest distance.
STEPS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)


@asks(Asked)
def certify(population: Population, rho: float | MeasuredShift, **asked: Unpack[Asked]) -> Certificate:
    """Bound the loss over all distributions with equal base rates within distance ``rho`` of the data.

    Base rates may also be allowed to differ, by a tolerance or at will.

    Parameters
    ----------
    population
        What is known of the data.
    rho
        Radius: between 0 and 1, or for "kl", "chi_squared" and orders any number that is not negative. Or what
        :func:`shift_between` measured.
    divergence
        How the distance of Q from the data is measured: "hellinger", "total_variation", "kl" (Kullback-Leibler, in
        nats), "chi_squared", "cressie_read:1.5" (of that order), or "trimming": Q is what may be left when a share rho
        of the data is taken away. All but the first need Clarabel: ``pip install clarabel``.
    metric
        What is bounded: "loss", the expected loss of all; "group_loss", "group_loss_difference", "cell_loss",
        "selection_rate", "demographic_parity_difference", "demographic_parity_ratio" (from below),
        "true_positive_rate_difference", "false_positive_rate_difference" or "equalized_odds_difference". All groups, or
        all pairs of groups, count; those about selections need to know what was predicted.
    group
        The group that "group_loss", "cell_loss" or "selection_rate" is about; None for the worst one.
    pos_label
        The label whose predictions are selections; by default the second one of two.
    shift
        "general": anything may change (the paper's Theorem 3, solved exactly); "sensitive": only the masses of the
        cells of group and label change (Theorem 2, solved globally).
    group_skew, label_skew
        Largest allowed difference between two group shares, and between two label shares, of Q.
    min_group_mass, min_label_mass
        Smallest share that every group, and every label, has in Q.
    group_limits, label_limits
        Smallest and largest share in Q by name, such as ``{"Female": (0.4, 0.6)}``; tuples name intersectional groups.
    group_rows, label_rows
        Any other linear limits as a pair ``(A, b)``: ``A @ shares <= b``, with a column of A for each group (label) in
        the order of ``population.groups`` (``population.labels``).
    base_rate_tolerance
        How much the base rates of two groups may differ in Q: ``|Q(y|s) - Q(y|s')|`` is at most this for every label.
        None asks for equal base rates. Does not go with ``label_skew``.
    fair
        False drops the condition on base rates altogether: the plain worst case in the ball, to see what the
        condition buys.
    support
        "observed" restricts Q, under general shifting, to losses that occur in the same cell. This is an assumption
        about the world and is stated on the certificate.
    empty_cells
        What to do with a cell without data where its losses would be needed: "refuse", or "ceiling" to assume the
        worst loss. General shifting with support "any" needs no choice: it assumes the worst anyway.
    confidence
        None takes the rows for the whole population. A level such as 0.95 takes them for independent draws from an
        unknown P: the bound then holds with at least that probability over the draw, for all radii at once.
    region
        How the sample speaks of P: "auto", "sphere", "hoeffding", or a region such as ``Sphere(intervals=4)``. Only
        used with ``confidence``. "prequential" holds at radii that are fixed in advance, and is tighter there.
        "asymptotic" is an approximation, in which nothing is proved.
    tol
        The gap between bound and attained value to aim at.
    budget
        How many pieces the search may end with; of Hellinger balls only sensitive shifting and observed support
        search. None chooses by the size of the problem, at most 2000. The bound is valid whatever the budget.

    Raises
    ------
    InfeasibleError
        If no distribution with equal base rates is that near; the error carries the distance of the nearest.
    InputError
        If an argument cannot be used as given.

    Examples
    --------
    >>> from fairbound import Population, certify
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> certify(population, 0.2)
    Certificate(bound=0.370205, attained=0.370205, rho=0.2, shift='general', status=TIGHT)
    >>> certify(population, 0.2, shift="sensitive").witness.mass.round(3)
    array([[0.365, 0.338],
           [0.154, 0.143]])
    >>> certify(population, 0.2, min_group_mass=0.4, label_limits={1: (0.1, 0.3)})
    Certificate(bound=0.347601, attained=0.347601, rho=0.2, shift='general', status=TIGHT)
    >>> certify(population, 0.2, base_rate_tolerance=0.05)
    Certificate(bound=0.376800, attained=0.376800, rho=0.2, shift='general', base_rate_tolerance=0.05, status=TIGHT)
    >>> certify(population, 0.2, fair=False)
    Certificate(bound=0.385547, attained=0.385547, rho=0.2, shift='general', fair=False, status=TIGHT)
    >>> certify(population, 0.1, divergence="total_variation")
    Certificate(bound=0.241830, attained=0.241830, rho=0.1, shift='general', divergence='total_variation', status=TIGHT)
    """
    population, (asked_radius,) = _told(population, [rho], asked)
    question = ask(certify, population, asked)
    if np.ndim(asked_radius):
        message = f"{given('rho', rho)} must be one number; use certify_curve for several"
        raise InputError(message)
    radius = read_radii([asked_radius], question.divergence)
    distance = question.distance
    if radius[0] < distance:
        limited = " within the limits" if question.limited else ""
        reason = (
            f"the nearest distribution{question.condition.phrase}{limited} is at {question.divergence.words}"
            if not question.allowing
            else f"allowing for sampling error, no distribution{question.condition.phrase}{limited} is nearer than"
        )
        small = f"{given('rho', asked_radius)} is too small"
        message = f"{small}: {reason} {distance!r}; use a {argument('rho')} of at least that"
        raise InfeasibleError(message, distance)
    return certificates(question, radius)[0]


def _told(population: Population, rhos: list[Any], asked: Asked) -> tuple[Population, list[Any]]:
    """Return radii as numbers; where some were measured, the population's provenance says which ones."""
    measured = [rho for rho in rhos if isinstance(rho, MeasuredShift)]
    if not measured:
        return population, rhos
    if asked.get("confidence") is not None:
        refuse_one_radius(asked.get("region", "auto"), "a measured one follows from rows")
    named = {"divergence": asked.get("divergence", "hellinger"), "shift": asked.get("shift", "general")}
    words = " ".join(one.told(**named, several=len(rhos) > 1) for one in measured)
    before = population.provenance
    noted = replace(before, note=f"{before.note} {words}" if before.note else words)
    found = [rho.radius(**named) if isinstance(rho, MeasuredShift) else rho for rho in rhos]
    return replace(population, provenance=noted), found


@asks(Asked)
def certify_curve(
    population: Population,
    rhos: Sequence[float | MeasuredShift] | Floats | MeasuredShift | None = None,
    **asked: Unpack[Asked],
) -> CertificateCurve:
    """Certify at many radii at once, much faster than one by one; parameters as for :func:`certify`.

    Without radii there are some from the nearest distance on; those that were measured may be among them. With
    ``region="prequential"`` the error probability is divided equally among the radii, so there should be few. Radii
    below the nearest distribution with equal base rates are marked as infeasible instead of raising.

    Examples
    --------
    >>> from fairbound import Population, certify_curve
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> certify_curve(population, [0.05, 0.1, 0.2]).bound.round(4)
    array([   nan, 0.2093, 0.3702])
    """
    wanted = None if rhos is None else listed(rhos)
    count = len(STEPS) if wanted is None else len(wanted)
    if wanted is not None:
        population, wanted = _told(population, wanted, asked)
    if asked.get("confidence") is not None:
        if rhos is None:
            refuse_one_radius(asked.get("region", "auto"), "without radii these follow from the rows")
        asked = {**asked, "region": for_radii(asked.get("region", "auto"), count)}
    question = ask(certify_curve, population, asked, count)
    radii = _usual(question) if wanted is None else read_radii(wanted, question.divergence)
    feasible = np.flatnonzero(radii >= question.distance)
    found: list[Certificate | None] = [None] * len(radii)
    if len(feasible):
        for index, certificate in zip(feasible, certificates(question, radii[feasible]), strict=True):
            found[index] = certificate
    return CertificateCurve(radii, question.distance, tuple(found))


def _usual(question: Solver | MetricStatements) -> Floats:
    """Return some radii from the nearest distance on: as Hellinger distances, or what about matches them."""
    divergence = question.divergence
    scale, power = divergence.as_far
    start = np.ceil((question.distance + 1e-3) * 1000.0) / 1000.0
    radii = np.round(start + scale * np.array(STEPS) ** power, 6)
    return np.unique(np.minimum(radii, divergence.most))


@asks(Asked)
def largest_certified_rho(population: Population, threshold: float, **asked: Unpack[Asked]) -> float:
    """Return the largest radius, to within 1e-6, at which the certified loss or metric is at most ``threshold``.

    The bound at the returned radius was computed and is at most the threshold. A ratio is bounded from below: there
    "at most" means "at least", and ``threshold=0.8`` asks how far the four-fifths rule is kept. Divergences without
    a largest value may have radii above 1, found to within a millionth of themselves; 1e9 says that no radius breaks
    the threshold. Other parameters as for :func:`certify`.

    Raises
    ------
    ThresholdError
        If the threshold is broken already at the nearest distribution with equal base rates.

    Examples
    --------
    >>> from fairbound import Population, largest_certified_rho
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> round(largest_certified_rho(population, 0.370206), 4)
    0.2
    """
    if asked.get("confidence") is not None:
        refuse_one_radius(asked.get("region", "auto"), "the largest one would be chosen by the rows")
    question = ask(largest_certified_rho, population, asked)
    target = number("threshold", threshold, 0.0, np.inf, "it is a loss")
    if target <= question.extreme if question.lower else target >= question.extreme:
        return question.divergence.most
    sign = -1.0 if question.lower else 1.0
    scale, power = question.divergence.as_far  # in these units a bound is nearly straight

    def radius(far: float) -> float:
        return min(max(scale * far**power, question.distance), question.divergence.most)

    def excess(far: float) -> float:
        return sign * (float(question.bounds(np.array([radius(far)]))[0]) - target)

    def accuracy(far: float) -> float:
        rho = radius(far)
        return (rho / scale) ** (1 / power) - (max(0.0, rho - RADIUS_ACCURACY * max(1.0, rho)) / scale) ** (1 / power)

    start, end = ((rho / scale) ** (1 / power) for rho in (question.distance, question.divergence.most))
    found, unbroken = last_kept(excess, start, end, accuracy)
    if found is None:
        raise _never(question, threshold, question.distance)
    return question.divergence.most if unbroken else radius(found)


def _never(question: Solver | MetricStatements, threshold: object, least: float) -> ThresholdError:
    what = "value" if isinstance(question, MetricStatements) else "loss"
    side = "smaller" if question.lower else "larger"
    message = (
        f"{given('threshold', threshold)} cannot be kept at any radius: the first at which there is anything to "
        f"certify is {least!r}, and the certified {what} there is {side} already; use a {side} "
        + either(argument("threshold"), "one")
    )
    return ThresholdError(message, least)
