"""A question, validated and put into numbers, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbound.arrays import Floats
from fairbound.bounds import general_bound
from fairbound.cells import number
from fairbound.certificate import Certificate
from fairbound.errors import InputError, shown
from fairbound.general import GeneralSaddle, solve_general
from fairbound.nearest import NearestFair, nearest_shares
from fairbound.population import Population
from fairbound.problem import Problem
from fairbound.proof import Axis, Proof, TangentProof
from fairbound.rounding import least_affinity
from fairbound.search import Search
from fairbound.tree import partition
from fairbound.witness import Witness, build_witness

Shift = Literal["general", "sensitive"]
Support = Literal["any", "observed"]
EmptyCells = Literal["refuse", "ceiling"]

#: Programs are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000


@dataclass(frozen=True)
class Answer:
    """A bound, the distribution that comes close to it, and the proof."""

    bound: float
    witness: Witness
    proof: Proof


@dataclass(frozen=True)
class Question:
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

    def answers(self, rhos: Floats) -> list[Answer]:
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
                Answer(
                    max(leaf.bound for leaf in tree.leaves), tree.witness, partition(tree, axis, problem.labels.floor)
                )
                for tree in search.run(rhos)
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
            names = ", ".join(f"({g!r}, {y!r})" for g, y in empty[:20])
            names += f" and {len(empty) - 20} more" if len(empty) > 20 else ""
            sentences.append(f"Cells without data are given the worst loss, the ceiling: {names}.")
        excluded = self.population.excluded_rows
        if excluded:
            sentences.append(f"Left out of P were {excluded} rows in which a value was missing.")
        for name, skew in (("group", self.group_skew), ("label", self.label_skew)):
            if skew is not None:
                sentences.append(f"Any two {name} shares of Q differ by at most {skew:g}.")
        sentences.append(
            "P is taken to be exactly the distribution of the given rows or statistics: no allowance is made for "
            "sampling error. Rows should be held out from training."
        )
        return tuple(sentences)


def _usual_budget(problem: Problem) -> int:
    """Return a number of pieces that takes seconds at most: the work per piece grows with the table."""
    smaller = min(problem.groups.size, problem.labels.size)
    return int(np.clip(4e6 / (problem.upper.probability.size * smaller**2), 4, 2000))


def _general_answers(problem: Problem, nearest: NearestFair, rhos: Floats, axis: Axis) -> list[Answer]:
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
            answers.append(Answer(float(bound[index]), witness, proof))
    return answers


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(repr(a) for a in allowed)
        message = f"{name}={shown(value)} is not known; use {words}"
        raise InputError(message)


def pose(
    population: object,
    *,
    shift: str,
    group_skew: float | None,
    label_skew: float | None,
    support: str,
    empty_cells: str,
    tol: float,
    budget: int | None,
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
    problem = population.problem(shift, support, empty_cells, group_skew, label_skew)
    nearest = nearest_shares(population.mass, problem.groups, problem.labels)
    return Question(
        population,
        str(shift),  # type: ignore[arg-type]  # checked above
        group_skew,
        label_skew,
        str(support),  # type: ignore[arg-type]  # checked above
        str(empty_cells),  # type: ignore[arg-type]  # checked above
        tol,
        pieces or _usual_budget(problem),
        problem,
        nearest,
    )


def read_radii(rhos: Any) -> Floats:
    """Return radii as an array, each in [0, 1]."""
    values = list(rhos) if np.iterable(rhos) and not isinstance(rhos, str) else [rhos]
    if not values:
        message = "rhos=[] is empty; it needs one number or more between 0 and 1"
        raise InputError(message)
    meaning = "it is a Hellinger distance, between 0 (the data themselves) and 1"
    return np.array([number("rho", value, 0.0, 1.0, meaning) for value in values])
