"""The verbs: certify at one radius, along a curve, or ask for the largest radius that keeps a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbound.arrays import Floats
from fairbound.bounds import general_bound
from fairbound.cells import number
from fairbound.certificate import Certificate, CertificateCurve
from fairbound.errors import InfeasibleError, InputError, ThresholdError, shown
from fairbound.general import GeneralSaddle, solve_general
from fairbound.nearest import NearestFair, nearest_shares
from fairbound.population import Population
from fairbound.problem import Problem
from fairbound.proof import Axis, Proof, TangentProof
from fairbound.rounding import least_affinity
from fairbound.search import Search
from fairbound.witness import Witness, build_witness

Shift = Literal["general", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000


@dataclass(frozen=True)
class _Answer:
    bound: float
    witness: Witness
    proof: Proof


@dataclass(frozen=True)
class _Question:
    """A validated call: everything but the radii."""

    population: Population
    shift: Shift
    group_skew: float | None
    label_skew: float | None
    support: Support
    empty_cells: EmptyCells
    tol: float
    budget: int
    problem: Problem
    nearest: NearestFair

    def answers(self, rhos: Floats) -> list[_Answer]:
        """Solve for feasible radii, with the longer side of the table as the groups."""
        axis: Axis = "label" if self.problem.groups.size >= self.problem.labels.size else "group"
        problem, nearest = self.problem, self.nearest
        if axis == "group":
            problem = problem.transposed
            nearest = NearestFair(nearest.distance, nearest.label_mass, nearest.group_mass)
        if problem.one_convex_program:
            found = _general_answers(problem, nearest, rhos, axis)
        else:
            search = Search(problem, nearest, self.tol, self.budget)
            found = [
                _Answer(max(leaf.bound for leaf in tree.leaves), tree.witness, search.proof(tree, axis))
                for tree in search.run(rhos)
            ]
        top = float(problem.ceiling.max())
        return [
            _Answer(min(a.bound, top), a.witness.transposed if axis == "group" else a.witness, a.proof) for a in found
        ]

    def certificate(self, rho: float, answer: _Answer) -> Certificate:
        """Dress an answer."""
        return Certificate(
            bound=answer.bound,
            attained=answer.witness.loss,
            rho=rho,
            shift=self.shift,
            group_skew=self.group_skew,
            label_skew=self.label_skew,
            support=self.support,
            empty_cells=self.empty_cells,
            tol=self.tol,
            witness=answer.witness,
            assumptions=self.assumptions,
            population=self.population,
            proof=answer.proof,
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on."""
        sentences = [
            "The statement covers every distribution Q in which all groups have the same base rates and whose "
            "Hellinger distance from the data's distribution P is at most rho.",
            self.population.describe(self.shift),
        ]
        if self.shift == "sensitive":
            sentences.append(
                "Sensitive shifting: inside each cell of group and label Q equals P; only the masses of the cells move."
            )
        elif self.support == "observed":
            sentences.append("General shifting, and Q puts mass only on losses that were observed in the same cell.")
        else:
            sentences.append(
                "General shifting: Q may differ from P inside the cells too; no loss exceeds the ceiling of "
                f"{self.population.ceiling:g}."
            )
        empty = self.population.empty_cells
        if empty:
            names = ", ".join(f"({g!r}, {y!r})" for g, y in empty)
            sentences.append(f"Cells without data are given the worst loss, the ceiling: {names}.")
        for name, skew in (("group", self.group_skew), ("label", self.label_skew)):
            if skew is not None:
                sentences.append(f"Any two {name} shares of Q differ by at most {skew:g}.")
        sentences.append(
            "P is taken to be exactly the distribution of the given rows or statistics: no allowance is made for "
            "sampling error. Rows should be held out from training."
        )
        return tuple(sentences)


def _general_answers(problem: Problem, nearest: NearestFair, rhos: Floats, axis: Axis) -> list[_Answer]:
    """General shifting with a common ceiling: one convex program per radius, solved together."""
    scale = problem.scale
    upper = problem.upper
    root, deficit = np.sqrt(upper.probability), (scale - upper.loss) / scale
    chunk = max(1, BATCH_ATOMS // root.size)
    answers = []
    for start in range(0, len(rhos), chunk):
        rho = rhos[start : start + chunk]
        found = solve_general(GeneralSaddle(root, deficit, least_affinity(rho), problem.groups, problem.labels))
        phi = found.phi * scale
        bound = general_bound(problem, rho, phi, found.label_share)
        eta = scale + phi / found.label_share[:, None]
        for index, radius in enumerate(rho):
            shares = found.group_share[index], found.label_share[index]
            lam = float(found.lam[index]) * scale
            witness = build_witness(problem, float(radius), shares, eta[index], lam, nearest)
            proof = TangentProof(axis, phi[index], found.label_share[index])
            answers.append(_Answer(float(bound[index]), witness, proof))
    return answers


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(repr(a) for a in allowed)
        message = f"{name}={shown(value)} is not known; use {words}"
        raise InputError(message)


def _question(
    population: object,
    *,
    shift: str,
    group_skew: float | None,
    label_skew: float | None,
    support: str,
    empty_cells: str,
    tol: float,
    budget: int,
) -> _Question:
    """Validate everything but the radii: the one validator of this module."""
    if not isinstance(population, Population):
        message = f"population must be a Population, not {type(population).__name__}; see Population.from_predictions"
        raise InputError(message)
    _choice("shift", shift, ("general", "sensitive"))
    _choice("support", support, ("any", "observed"))
    _choice("empty_cells", empty_cells, ("refuse", "ceiling"))
    skew_meaning = "it is the largest difference allowed between two shares of Q, and None means no limit"
    if group_skew is not None:
        group_skew = number("group_skew", group_skew, 0.0, 1.0, skew_meaning)
    if label_skew is not None:
        label_skew = number("label_skew", label_skew, 0.0, 1.0, skew_meaning)
    tol = number("tol", tol, 1e-12, 1.0, "it is the gap between bound and attained value to aim at")
    budget = int(number("budget", budget, 1, 1e9, "it is the number of pieces that the search may use for each rho"))
    problem = population.problem(shift, support, empty_cells, group_skew, label_skew)
    nearest = nearest_shares(population.mass, problem.groups, problem.labels)
    return _Question(
        population,
        str(shift),  # type: ignore[arg-type]  # checked above
        group_skew,
        label_skew,
        str(support),  # type: ignore[arg-type]  # checked above
        str(empty_cells),  # type: ignore[arg-type]  # checked above
        tol,
        budget,
        problem,
        nearest,
    )


def _radii(rhos: Any) -> Floats:
    """Return radii as an array, each in [0, 1]."""
    values = list(rhos) if np.iterable(rhos) and not isinstance(rhos, str) else [rhos]
    if not values:
        message = "rhos=[] is empty; it needs one number or more between 0 and 1"
        raise InputError(message)
    meaning = "it is a Hellinger distance, between 0 (the data themselves) and 1"
    return np.array([number("rho", value, 0.0, 1.0, meaning) for value in values])


def certify(
    population: Population,
    rho: float,
    *,
    shift: Shift = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    support: Support = "any",
    empty_cells: EmptyCells = "refuse",
    tol: float = 1e-6,
    budget: int = 2_000,
) -> Certificate:
    """Bound the loss over all distributions with equal base rates within Hellinger distance ``rho`` of the data.

    Parameters
    ----------
    population
        What is known of the data.
    rho
        Radius, between 0 and 1.
    shift
        "general": anything may change (the paper's Theorem 3, solved exactly); "sensitive": only the masses of the
        cells of group and label change (Theorem 2, solved globally).
    group_skew, label_skew
        Largest allowed difference between two group shares, and between two label shares, of Q.
    support
        "observed" restricts Q, under general shifting, to losses that occur in the same cell. This is an assumption
        about the world and is stated on the certificate.
    empty_cells
        What to do with a cell without data where its losses would be needed: "refuse", or "ceiling" to assume the
        worst loss. General shifting with support "any" needs no choice: it assumes the worst anyway.
    tol
        The gap between bound and attained value to aim at.
    budget
        How many pieces the search may end with; only sensitive shifting and observed support search. The bound is valid
        whatever the budget.

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
    """
    question = _question(
        population,
        shift=shift,
        group_skew=group_skew,
        label_skew=label_skew,
        support=support,
        empty_cells=empty_cells,
        tol=tol,
        budget=budget,
    )
    if np.ndim(rho):
        message = f"rho={shown(rho)} must be one number; use certify_curve for several"
        raise InputError(message)
    radius = _radii([rho])
    distance = question.nearest.distance
    if radius[0] < distance:
        message = (
            f"rho={shown(rho)} is too small: the nearest distribution with equal base rates"
            f"{' within the limits' if question.problem.groups.limited or question.problem.labels.limited else ''} "
            f"is at Hellinger distance {distance!r}; use a rho of at least that"
        )
        raise InfeasibleError(message, distance)
    return question.certificate(float(radius[0]), question.answers(radius)[0])


def certify_curve(
    population: Population,
    rhos: Sequence[float] | Floats,
    *,
    shift: Shift = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    support: Support = "any",
    empty_cells: EmptyCells = "refuse",
    tol: float = 1e-6,
    budget: int = 2_000,
) -> CertificateCurve:
    """Certify at many radii at once, much faster than one by one; parameters as for :func:`certify`.

    Radii below the nearest distribution with equal base rates are marked as infeasible instead of raising.

    Examples
    --------
    >>> from fairbound import Population, certify_curve
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> certify_curve(population, [0.05, 0.1, 0.2]).bound.round(4)
    array([   nan, 0.2093, 0.3702])
    """
    question = _question(
        population,
        shift=shift,
        group_skew=group_skew,
        label_skew=label_skew,
        support=support,
        empty_cells=empty_cells,
        tol=tol,
        budget=budget,
    )
    radii = _radii(rhos)
    feasible = np.flatnonzero(radii >= question.nearest.distance)
    certificates: list[Certificate | None] = [None] * len(radii)
    if len(feasible):
        for index, answer in zip(feasible, question.answers(radii[feasible]), strict=True):
            certificates[index] = question.certificate(float(radii[index]), answer)
    return CertificateCurve(radii, question.nearest.distance, tuple(certificates))


def largest_certified_rho(
    population: Population,
    threshold: float,
    *,
    shift: Shift = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    support: Support = "any",
    empty_cells: EmptyCells = "refuse",
    tol: float = 1e-6,
    budget: int = 2_000,
) -> float:
    """Return the largest radius, to within ``tol``, at which the certified loss is at most ``threshold``.

    The bound at the returned radius was computed and is at most the threshold. Other parameters as for
    :func:`certify`.

    Raises
    ------
    ThresholdError
        If the loss exceeds the threshold already at the nearest distribution with equal base rates.

    Examples
    --------
    >>> from fairbound import Population, largest_certified_rho
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> round(largest_certified_rho(population, 0.370206), 4)
    0.2
    """
    question = _question(
        population,
        shift=shift,
        group_skew=group_skew,
        label_skew=label_skew,
        support=support,
        empty_cells=empty_cells,
        tol=tol,
        budget=budget,
    )
    target = number("threshold", threshold, 0.0, np.inf, "it is a loss")
    if target >= question.problem.ceiling.max():
        return 1.0
    low, high = question.nearest.distance, 1.0
    certified: float | None = None
    while high - low > tol:
        grid = np.linspace(low, high, 18)[1:-1]
        kept = np.array([answer.bound <= target for answer in question.answers(grid)])
        broken = len(grid) if kept.all() else int(np.argmin(kept))
        if broken:
            certified = low = float(grid[broken - 1])
        high = float(grid[broken]) if broken < len(grid) else high
    if certified is None:
        message = (
            f"threshold={shown(threshold)} cannot be kept at any radius: the nearest distribution with equal base "
            f"rates is at Hellinger distance {low!r}, and the certified loss near it is larger already; "
            "use a larger threshold"
        )
        raise ThresholdError(message, low)
    return certified
