"""A question, validated and put into numbers, and its answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np

from fairbound.answer import Answer
from fairbound.arrays import Floats
from fairbound.base_rates import BaseRates
from fairbound.bounds import general_bound
from fairbound.cells import number
from fairbound.certificate import Certificate
from fairbound.comparing import Compared, compare
from fairbound.conditions import Condition
from fairbound.contradictions import refuse_contradictions
from fairbound.errors import InputError, shown
from fairbound.general import GeneralSaddle, GeneralSolution, solve_general
from fairbound.limits import Ranges, Rows, limit_sentences, read_limits
from fairbound.metrics import MetricName, objective_sentence
from fairbound.nearest import NearestFair, nearest_shares
from fairbound.objective import Objective
from fairbound.orientation import oriented_stand_in
from fairbound.population import Population
from fairbound.problem import Problem
from fairbound.proof import Axis, TangentProof
from fairbound.rates_answers import rates_answers, rates_budget
from fairbound.rates_nearest import NearestRates, nearest_rates
from fairbound.ratios import attained_ratio
from fairbound.regions import Region, StandIn, check_sample, find_region, read_confidence, small_cells
from fairbound.rounding import least_affinity
from fairbound.search import Search
from fairbound.witness import build_witnesses
from fairbound.wording import wording

EQUAL = Condition()

Shift = Literal["general", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: How closely convex programs are solved: at first, relative to the tolerance's share of a cell, and at best.
ROUGH_ACCURACY = 0.1
BEST_ACCURACY = 1e-14


@dataclass(frozen=True)
class Question:
    """A validated call: everything but the radii.

    With a confidence, ``problem`` and ``nearest`` are those of the stand-in, at its larger radii. With an objective,
    ``problem`` is still that of the expected loss of all.
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
    nearest: NearestFair | NearestRates
    confidence: float | None = None
    region: str | None = None
    stand_in: StandIn | None = None
    objective: Objective | None = None
    condition: Condition = EQUAL

    @property
    def limited(self) -> bool:
        """Whether shares are limited."""
        return self.problem.groups.limited or self.problem.labels.limited

    @property
    def sampled(self) -> bool:
        """Whether P is known through a sample."""
        return self.stand_in is not None

    @property
    def lower(self) -> bool:
        """Losses are bounded from above."""
        return False

    @property
    def extreme(self) -> float:
        """The largest loss there is."""
        return float(self.problem.ceiling.max())

    def certificates(self, rhos: Floats) -> list[Certificate]:
        """Certify at feasible radii."""
        answers = zip(rhos.tolist(), self.answers(rhos), strict=True)
        return [self.certificate(rho, answer) for rho, answer in answers]

    def bounds(self, rhos: Floats) -> Floats:
        """Return what is proved at feasible radii."""
        return np.array([answer.bound for answer in self.answers(rhos)])

    @property
    def distance(self) -> float:
        """The smallest radius at which there is something to certify."""
        near = self.nearest.distance
        return near if self.stand_in is None else self.stand_in.least_radius(near)

    @property
    def _axis(self) -> Axis:
        """Whose shares are searched: the shorter side; of equal sides the limited one, which leaves the other free."""
        groups, labels = self.problem.groups, self.problem.labels
        if groups.size == labels.size and not self.problem.one_convex_program:
            return "group" if groups.limited and not labels.limited else "label"
        return "label" if groups.size >= labels.size else "group"

    def radii(self, rhos: Floats) -> Floats:
        """Return the radii around what is known: larger ones around a stand-in."""
        return rhos if self.stand_in is None else np.maximum(self.stand_in.radius(rhos), self.nearest.distance)

    @property
    def compared(self) -> Compared:
        """The objective in numbers."""
        known = self.population if self.stand_in is None else self.stand_in.population
        objective = self.objective or Objective(0)
        nearest = nearest_shares(known.mass, self.problem.groups, self.problem.labels)
        return Compared(known, objective, self.problem, nearest, self.shift, self.support)

    def answers(self, rhos: Floats) -> list[Answer]:
        """Solve for feasible radii."""
        rhos = self.radii(rhos)
        if self.objective is not None:
            return compare([self.compared], [rhos], self.tol, self.budget)[0]
        problem, nearest = self.problem, self.nearest
        if isinstance(nearest, NearestRates):
            rates = _rates(problem, self.condition)
            return [Answer(*a) for a in rates_answers(problem, rates, nearest, rhos, self.tol, self.budget)]
        axis = self._axis
        if axis == "group":
            problem = problem.transposed
            nearest = NearestFair(nearest.distance, nearest.label_mass, nearest.group_mass)
        if problem.one_convex_program:
            found = _general_answers(problem, nearest, rhos, axis, self.tol)
        else:
            ended = Search(problem, nearest, self.tol, self.budget).run(rhos)
            proofs = ended.forest.proofs(axis, problem.labels.floors)
            found = [
                Answer(bound, ended.witness[index], proof)
                for index, (bound, proof) in enumerate(zip(ended.bound.tolist(), proofs, strict=True))
            ]
        top = float(problem.ceiling.max())
        return [
            Answer(min(a.bound, top), a.witness.transposed if axis == "group" else a.witness, a.proof) for a in found
        ]

    def _attained(self, answer: Answer) -> float:
        """Return what the distribution of an answer attains."""
        asked = self.objective
        if asked is None or not asked.ratio:
            return answer.witness.loss
        return attained_ratio(self.compared.problem(), answer.witness, (asked.plus, asked.minus or 0))

    def certificate(self, rho: float, answer: Answer) -> Certificate:
        """Dress an answer."""
        return Certificate(
            bound=answer.bound,
            attained=self._attained(answer),
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
            objective=self.objective,
            group_limits=self.problem.groups.limits,
            label_limits=self.problem.labels.limits,
            fair=self.condition.fair,
            base_rate_tolerance=self.condition.tolerance,
        )

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on."""
        said = wording(self.population)
        sentences = [
            self.condition.covered,
            (self.population if self.stand_in is None else self.stand_in.population).describe(self.shift),
        ]
        if self.objective is not None:
            sentences.insert(1, objective_sentence(self.population, self.objective))
        if self.shift == "sensitive":
            sentences.append(
                "Sensitive shifting: inside each cell of group and label Q equals P; only the masses of the cells move."
            )
        elif self.support == "observed":
            only = f"Q puts mass only on {said.values} that were observed in the same cell"
            sentences.append(f"General shifting, and {only}.")
        else:
            sentences.append(
                f"General shifting: Q may differ from P inside the cells too; no {said.value} exceeds the ceiling of "
                f"{self.population.ceiling:g}."
            )
        empty = self.population.empty_cells
        if empty:
            names = ", ".join(f"({g!r}, {y!r})" for g, y in empty[:20])
            names += f" and {len(empty) - 20} more" if len(empty) > 20 else ""
            sentences.append(f"Cells without data are given the {said.worst}, the ceiling: {names}.")
        excluded = self.population.excluded_rows
        if excluded:
            rows = "was 1 row" if excluded == 1 else f"were {excluded} rows"
            sentences.append(f"Left out of P {rows} in which a value was missing.")
        for name, skew in (("group", self.group_skew), ("label", self.label_skew)):
            if skew is not None:
                sentences.append(f"Any two {name} shares of Q differ by at most {skew:g}.")
        sentences += limit_sentences(self.population, self.problem.groups.limits, self.problem.labels.limits)
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
            f"The attained {wording(self.population).one} belongs to a distribution in the larger ball that allows for "
            "sampling error; the worst case around P itself may be smaller.",
            *(f"Few rows in a cell: {text}." for text in small_cells(self.population)),
        )


def _usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most: the work per piece grows with the table."""
    smaller = min(problem.groups.size, problem.labels.size)
    return int(min(max(4e6 / (problem.upper.probability.size * smaller**2), 4), 2000))


def _general_answers(problem: Problem, nearest: NearestFair, rhos: Floats, axis: Axis, tol: float) -> list[Answer]:
    """General shifting with a common ceiling: one convex program per radius, solved together."""
    chunk = max(1, BATCH_ATOMS // problem.upper.probability.size)
    answers: list[Answer] = []
    for start in range(0, len(rhos), chunk):
        answers += _solved(problem, nearest, rhos[start : start + chunk], axis, tol)
    return answers


def _solved(problem: Problem, nearest: NearestFair, rho: Floats, axis: Axis, tol: float) -> list[Answer]:
    """Solve a batch of these programs as accurately as the tolerance asks for.

    The few whose gap is still too large are followed as far as floats go.
    """
    scale, upper = problem.scale, problem.upper
    root, deficit = np.sqrt(upper.probability), (scale - upper.loss) / scale
    saddle = GeneralSaddle(root[None], deficit[None], least_affinity(rho), problem.groups, problem.labels)
    rough = max(BEST_ACCURACY, ROUGH_ACCURACY * tol / scale / problem.mass.size)
    found = solve_general(saddle, rough)
    answers = _evaluated(problem, nearest, rho, axis, found)
    again = np.array([index for index, a in enumerate(answers) if a.bound - a.witness.loss > 0.3 * tol], dtype=np.int64)
    if len(again) and rough > BEST_ACCURACY:
        found = solve_general(saddle.take(again), BEST_ACCURACY, found.state[again])
        for index, better in zip(again, _evaluated(problem, nearest, rho[again], axis, found), strict=True):
            answers[index] = better
    return answers


def _evaluated(problem: Problem, nearest: NearestFair, rho: Floats, axis: Axis, found: GeneralSolution) -> list[Answer]:
    """Return what multipliers prove, and what they suggest attains it."""
    scale = problem.scale
    phi = found.phi * scale
    multipliers = phi, found.label_share, found.level_mu * scale, found.share_mu / scale
    bound = general_bound(problem, rho, *multipliers)
    eta = scale + phi / found.label_share[:, None]
    shares = found.group_share, found.label_share
    witnesses = build_witnesses(problem, rho, shares, eta, found.lam * scale, nearest)
    proofs = [TangentProof(axis, *one) for one in zip(*multipliers, strict=True)]
    return [Answer(value, witnesses[i], proofs[i]) for i, value in enumerate(bound.tolist())]


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(repr(a) for a in allowed)
        message = f"{name}={shown(value)} is not known; use {words}"
        raise InputError(message)


class Asked(TypedDict, total=False):
    """The keywords that every question takes; :func:`fairbound.certify` explains them."""

    metric: MetricName
    group: Hashable
    pos_label: Hashable
    shift: Shift
    group_skew: float | None
    label_skew: float | None
    min_group_mass: float | None
    min_label_mass: float | None
    group_limits: Ranges | None
    label_limits: Ranges | None
    group_rows: Rows | None
    label_rows: Rows | None
    fair: bool
    base_rate_tolerance: float | None
    support: Support
    empty_cells: EmptyCells
    confidence: float | None
    region: str | Region
    tol: float
    budget: int | None


def not_a_population(population: object) -> InputError:
    """Return the error for anything else."""
    message = f"population must be a Population, not {type(population).__name__}; see Population.from_predictions"
    return InputError(message)


def pose(
    population: Population,
    *,
    shift: str = "general",
    group_skew: float | None = None,
    label_skew: float | None = None,
    min_group_mass: float | None = None,
    min_label_mass: float | None = None,
    group_limits: Ranges | None = None,
    label_limits: Ranges | None = None,
    group_rows: Rows | None = None,
    label_rows: Rows | None = None,
    fair: bool = True,
    base_rate_tolerance: float | None = None,
    support: str = "any",
    empty_cells: str = "refuse",
    confidence: float | None = None,
    region: str | Region = "auto",
    tol: float = 1e-6,
    budget: int | None = None,
    group: Hashable | None = None,
    pos_label: Hashable | None = None,
    objective: Objective | None = None,
) -> Question:
    """Validate everything but the radii: the one validator of this module. Objectives come from a metric."""
    for name, value in (("group", group), ("pos_label", pos_label)):
        if value is not None:
            message = f"{name}={shown(value)} belongs to a metric; choose one with metric=, or leave {name} out"
            raise InputError(message)
    _choice("shift", shift, ("general", "sensitive"))
    _choice("support", support, ("any", "observed"))
    _choice("empty_cells", empty_cells, ("refuse", "ceiling"))
    skew_meaning = "it is the largest difference allowed between two shares of Q, and None means no limit"
    if group_skew is not None:
        group_skew = number("group_skew", group_skew, 0.0, 1.0, skew_meaning)
    if label_skew is not None:
        label_skew = number("label_skew", label_skew, 0.0, 1.0, skew_meaning)
    limits = (
        read_limits("group", population.groups, min_group_mass, group_limits, group_rows),
        read_limits("label", population.labels, min_label_mass, label_limits, label_rows),
    )
    condition = _read_condition(fair, base_rate_tolerance, label_skew)
    if not condition.equal and (objective is not None or any(limits)):
        what = "metric other than 'loss'" if objective is not None else "linear limits on shares"
        message = f"base_rate_tolerance and fair=False do not go with a {what}; leave one of them out"
        raise InputError(message.replace("a linear", "linear"))
    tol = number("tol", tol, 1e-12, 1.0, "it is the gap between bound and attained value to aim at")
    meaning = "it is the number of pieces that the search may use for each rho, and None chooses by size"
    pieces = None if budget is None else int(number("budget", budget, 1, 1e9, meaning))
    chosen = find_region(region)
    stand_in: StandIn | None = None
    if confidence is not None:
        confidence = read_confidence(confidence)
        check_sample(population, support)
        empty_cells = "ceiling"
        stand_in = (
            chosen.stand_in(population, confidence, shift)
            if objective is None
            else oriented_stand_in(chosen, population, objective, confidence, shift)
        )
    known = population if stand_in is None else stand_in.population
    problem = known.problem(shift, support, empty_cells, group_skew, label_skew, *limits)
    refuse_contradictions("group", population.groups, problem.groups)
    refuse_contradictions("label", population.labels, problem.labels)
    nearest: NearestFair | NearestRates
    if condition.equal:
        nearest = nearest_shares(known.mass, problem.groups, problem.labels)
    else:
        nearest = nearest_rates(known.mass, problem.groups, _rates(problem, condition))
    return Question(
        population,
        str(shift),  # type: ignore[arg-type]  # checked above
        group_skew,
        label_skew,
        str(support),  # type: ignore[arg-type]  # checked above
        str(empty_cells),  # type: ignore[arg-type]  # checked above
        tol,
        pieces or (_usual_budget(problem) if condition.equal else rates_budget(problem)),
        problem,
        nearest,
        confidence,
        None if stand_in is None else chosen.name,
        stand_in,
        objective,
        condition,
    )


def _rates(problem: Problem, condition: Condition) -> BaseRates:
    """Return the base rates that Q's groups may have."""
    return BaseRates(problem.groups.size, problem.labels, condition.largest_difference)


def _read_condition(fair: object, tolerance: object, label_skew: float | None) -> Condition:
    """Read what is asked of base rates; a tolerance of zero asks for equal ones."""
    if not isinstance(fair, bool | np.bool_):
        message = f"fair={shown(fair)} must be True (a condition on base rates) or False (none)"
        raise InputError(message)
    width: float | None = None
    if tolerance is not None:
        meaning = "it is the largest difference allowed between the base rates of two groups, and None means equal ones"
        width = number("base_rate_tolerance", tolerance, 0.0, 1.0, meaning) or None
        if not fair:
            message = (
                f"base_rate_tolerance={shown(tolerance)} does not go with fair=False, which allows any base rates; "
                "leave one of them out"
            )
            raise InputError(message)
    condition = Condition(bool(fair), width)
    if label_skew is not None and not condition.equal:
        given = "fair=False" if not fair else f"base_rate_tolerance={shown(tolerance)}"
        message = (
            f"label_skew={shown(label_skew)} needs equal base rates and does not go with {given}; leave one of them "
            "out (group_skew goes with both)"
        )
        raise InputError(message)
    return condition


def read_radii(rhos: Any) -> Floats:
    """Return radii as an array, each in [0, 1]."""
    values = list(rhos) if np.iterable(rhos) and not isinstance(rhos, str) else [rhos]
    if not values:
        message = "rhos=[] is empty; it needs one number or more between 0 and 1"
        raise InputError(message)
    meaning = "it is a Hellinger distance, between 0 (the data themselves) and 1"
    return np.array([number("rho", value, 0.0, 1.0, meaning) for value in values])
