"""A question, validated and put into numbers, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np

from fairbound.arrays import Floats
from fairbound.bounds import general_bound
from fairbound.cells import number
from fairbound.certificate import Certificate
from fairbound.divergence_search import DivergenceSearch, usual_budget
from fairbound.divergences import HELLINGER, TOTAL_VARIATION, Divergence, find_divergence
from fairbound.errors import InputError, shown
from fairbound.general import GeneralSaddle, solve_general
from fairbound.knowledge import MeanAndVariance, MeanOnly
from fairbound.nearest import NearestFair, nearest_shares
from fairbound.nearest_product import nearest_product
from fairbound.population import Population
from fairbound.problem import Problem
from fairbound.proof import Axis, Proof, TangentProof
from fairbound.regions import Region, StandIn, check_sample, find_region, read_confidence, small_cells
from fairbound.rounding import least_affinity
from fairbound.search import Search
from fairbound.witness import Witness, build_witnesses

Shift = Literal["general", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]
DivergenceName = Literal["hellinger", "total_variation", "kl", "chi_squared"]

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely convex programs are solved: at first, relative to the tolerance, and at best.
ROUGH_ACCURACY = 1e-4
BEST_ACCURACY = 1e-14


@dataclass(frozen=True)
class Answer:
    """A bound, the distribution that comes close to it, and the proof."""

    bound: float
    witness: Witness
    proof: Proof


@dataclass(frozen=True)
class Question:
    """A validated call: everything but the radii.

    With a confidence, ``problem`` and ``nearest`` are those of the stand-in, at its larger radii.
    """

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
    confidence: float | None = None
    region: str | None = None
    stand_in: StandIn | None = None
    divergence: Divergence = HELLINGER
    fair: bool = True

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        if not self.fair:
            return 0.0
        near = self.nearest.distance
        return near if self.stand_in is None else self.stand_in.least_radius(near)

    @property
    def _axis(self) -> Axis:
        """Whose shares are searched: the shorter side; of equal sides the limited one, which leaves the other free."""
        groups, labels = self.problem.groups, self.problem.labels
        searched = self.divergence is not HELLINGER or not self.problem.one_convex_program
        if groups.size == labels.size and searched:
            return "group" if groups.limited and not labels.limited else "label"
        return "label" if groups.size >= labels.size else "group"

    def answers(self, rhos: Floats, target: float | None = None) -> list[Answer]:
        """Solve for feasible radii; some searches stop as soon as it is plain whether the bound keeps a target."""
        if self.stand_in is not None:
            rhos = np.maximum(self.stand_in.radius(rhos), self.nearest.distance)
        axis = self._axis
        problem, nearest = self.problem, self.nearest
        if axis == "group":
            problem = problem.transposed
            nearest = NearestFair(nearest.distance, nearest.label_mass, nearest.group_mass)
        if self.divergence is not HELLINGER:
            search = DivergenceSearch(problem, self.divergence, nearest, self.tol, self.budget)
            ends = search.run(rhos, axis, target) if self.fair else search.free(rhos)
            found = [Answer(end.bound, end.witness, end.proof) for end in ends]
        elif problem.one_convex_program:
            found = _general_answers(problem, nearest, rhos, axis, self.tol)
        else:
            ended = Search(problem, nearest, self.tol, self.budget).run(rhos)
            proofs = ended.forest.proofs(axis, problem.labels.floor)
            found = [
                Answer(bound, ended.witness[index], proof)
                for index, (bound, proof) in enumerate(zip(ended.bound.tolist(), proofs, strict=True))
            ]
        top = float(problem.ceiling.max())
        return [
            Answer(min(a.bound, top), a.witness.transposed if axis == "group" else a.witness, a.proof) for a in found
        ]

    def certificate(self, rho: float, answer: Answer) -> Certificate:
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
            confidence=self.confidence,
            region=self.region,
            stand_in=self.stand_in,
            divergence=self.divergence.name,
            fair=self.fair,
        )

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on."""
        rates = "in which all groups have the same base rates and " if self.fair else ""
        known = self.population if self.stand_in is None else self.stand_in.population
        if self.divergence is TOTAL_VARIATION:
            known = without_variance(known)
        sentences = [
            f"The statement covers every distribution Q {rates}whose {self.divergence.words} from the data's "
            "distribution P is at most rho.",
            known.describe(self.shift),
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
        if not self.divergence.escapes:
            sentences.append(
                f"A finite {self.divergence.words} leaves Q no mass where P has none: what does not occur in P, be it "
                "a loss in a cell or a whole cell, does not occur in Q."
            )
        empty = self.population.empty_cells
        if empty:
            names = ", ".join(f"({g!r}, {y!r})" for g, y in empty[:20])
            names += f" and {len(empty) - 20} more" if len(empty) > 20 else ""
            given = "are given the worst loss, the ceiling" if self.divergence.escapes else "have no mass in Q"
            sentences.append(f"Cells without data {given}: {names}.")
        excluded = self.population.excluded_rows
        if excluded:
            sentences.append(f"Left out of P were {excluded} rows in which a value was missing.")
        for name, skew in (("group", self.group_skew), ("label", self.label_skew)):
            if skew is not None:
                sentences.append(f"Any two {name} shares of Q differ by at most {skew:g}.")
        return (*sentences, *self._sampling_assumptions)

    @property
    def _sampling_assumptions(self) -> tuple[str, ...]:
        """Whether P is known, or how a sample speaks of it."""
        if self.stand_in is None:
            return (
                "P is taken to be exactly the distribution of the given rows or statistics: no allowance is made for "
                "sampling error. Rows should be held out from training.",
            )
        return (
            f"P is known through {self.population.rows} rows, taken to be independent draws from it and held out from "
            f"training. With a probability of at least {self.confidence:g} over their draw, the bound holds for every "
            "rho at once.",
            "P's groups and labels are those named here.",
            *self.stand_in.sentences,
            "The attained loss belongs to a distribution in the larger ball that allows for sampling error; the worst "
            "case around P itself may be smaller.",
            *(f"Few rows in a cell: {text}." for text in small_cells(self.population)),
        )


def _usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most: the work per piece grows with the table."""
    smaller = min(problem.groups.size, problem.labels.size)
    return int(np.clip(4e6 / (problem.upper.probability.size * smaller**2), 4, 2000))


def _general_answers(problem: Problem, nearest: NearestFair, rhos: Floats, axis: Axis, tol: float) -> list[Answer]:
    """General shifting with a common ceiling: one convex program per radius, solved together.

    Solved as accurately as the tolerance asks for; the few whose gap is still too large once more, as far as floats go.
    """
    chunk = max(1, BATCH_ATOMS // problem.upper.probability.size)
    rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / problem.scale)
    answers: list[Answer] = []
    for start in range(0, len(rhos), chunk):
        answers += _solved(problem, nearest, rhos[start : start + chunk], axis, rough)
    again = [index for index, a in enumerate(answers) if a.bound - a.witness.loss > 0.5 * tol]
    for start in range(0, len(again) if rough > BEST_ACCURACY else 0, chunk):
        part = again[start : start + chunk]
        for index, better in zip(part, _solved(problem, nearest, rhos[part], axis, BEST_ACCURACY), strict=True):
            answers[index] = better
    return answers


def _solved(problem: Problem, nearest: NearestFair, rho: Floats, axis: Axis, accuracy: float) -> list[Answer]:
    """Solve a batch of these programs."""
    scale, upper = problem.scale, problem.upper
    root, deficit = np.sqrt(upper.probability), (scale - upper.loss) / scale
    saddle = GeneralSaddle(root, deficit, least_affinity(rho), problem.groups, problem.labels)
    found = solve_general(saddle, accuracy)
    phi = found.phi * scale
    bound = general_bound(problem, rho, phi, found.label_share)
    eta = scale + phi / found.label_share[:, None]
    shares = found.group_share, found.label_share
    witnesses = build_witnesses(problem, rho, shares, eta, found.lam * scale, nearest)
    proofs = [TangentProof(axis, *multipliers) for multipliers in zip(phi, found.label_share, strict=True)]
    return [Answer(value, witnesses[i], proofs[i]) for i, value in enumerate(bound.tolist())]


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(repr(a) for a in allowed)
        message = f"{name}={shown(value)} is not known; use {words}"
        raise InputError(message)


class Asked(TypedDict, total=False):
    """The keywords that every question takes; :func:`fairbound.certify` explains them."""

    shift: Shift
    divergence: DivergenceName
    fair: bool
    group_skew: float | None
    label_skew: float | None
    support: Support
    empty_cells: EmptyCells
    confidence: float | None
    region: str | Region
    tol: float
    budget: int | None


def pose(
    population: object,
    *,
    shift: str = "general",
    divergence: str = "hellinger",
    fair: bool = True,
    group_skew: float | None = None,
    label_skew: float | None = None,
    support: str = "any",
    empty_cells: str = "refuse",
    confidence: float | None = None,
    region: str | Region = "auto",
    tol: float = 1e-6,
    budget: int | None = None,
) -> Question:
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
    meaning = "it is the number of pieces that the search may use for each rho, and None chooses by size"
    pieces = None if budget is None else int(number("budget", budget, 1, 1e9, meaning))
    distance = find_divergence(divergence)
    _check_divergence(distance, fair, confidence, (group_skew, label_skew))
    chosen = find_region(region)
    stand_in: StandIn | None = None
    if confidence is not None:
        confidence = read_confidence(confidence)
        check_sample(population, support)
        stand_in, empty_cells = chosen.stand_in(population, confidence, shift), "ceiling"
    known = population if stand_in is None else stand_in.population
    if distance is TOTAL_VARIATION:
        known = without_variance(known)
    problem = known.problem(shift, support, empty_cells, group_skew, label_skew)
    if distance is HELLINGER:
        nearest, usual = nearest_shares(known.mass, problem.groups, problem.labels), _usual_budget(problem)
    else:
        nearest = nearest_product(distance, known.mass, problem.groups, problem.labels)
        usual = usual_budget(problem)
    return Question(
        population,
        str(shift),  # type: ignore[arg-type]  # checked above
        group_skew,
        label_skew,
        str(support),  # type: ignore[arg-type]  # checked above
        str(empty_cells),  # type: ignore[arg-type]  # checked above
        tol,
        pieces or usual,
        problem,
        nearest,
        confidence,
        None if stand_in is None else chosen.name,
        stand_in,
        distance,
        fair,
    )


def _check_divergence(
    divergence: Divergence, fair: object, confidence: object, skews: tuple[float | None, float | None]
) -> None:
    """Refuse what a divergence cannot do."""
    if not isinstance(fair, bool | np.bool_):
        message = f"fair={shown(fair)} must be True or False: whether all groups have equal base rates in Q"
        raise InputError(message)
    if divergence is HELLINGER:
        if not fair:
            message = (
                "fair=False needs another divergence than 'hellinger'; use 'total_variation', 'kl' or 'chi_squared'"
            )
            raise InputError(message)
        return
    if confidence is not None:
        message = (
            f"confidence={shown(confidence)} does not go with divergence={divergence.name!r}: what is known of finite "
            "samples rests on the angle metric of the Hellinger distance; leave confidence out, or use "
            "divergence='hellinger' (hellinger_radius turns a total variation distance into a radius of it)"
        )
        raise InputError(message)
    if not fair and any(skew is not None for skew in skews):
        message = (
            "group_skew and label_skew limit the shares of a Q with equal base rates; leave them out with fair=False"
        )
        raise InputError(message)


def without_variance(population: Population) -> Population:
    """Forget the variances: the worst law with a mean and a variance is not known for total variation."""
    known = population.knowledge
    return replace(population, knowledge=MeanOnly(known.mean)) if isinstance(known, MeanAndVariance) else population


def read_radii(rhos: Any, divergence: Divergence = HELLINGER) -> Floats:
    """Return radii as an array, each in the range of its divergence."""
    values = list(rhos) if np.iterable(rhos) and not isinstance(rhos, str) else [rhos]
    if not values:
        message = f"rhos=[] is empty; it needs one number or more between 0 and {divergence.most:g}"
        raise InputError(message)
    return np.array([number("rho", value, 0.0, divergence.most, divergence.meaning) for value in values])
