"""Versus Clarabel: a conic solver's number against a certificate with its proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.clarabel_model import general_shifting
from benchmarks.problems import REFERENCE_MASS, REFERENCE_MEAN, nearest_fair_marginals, random_cells
from benchmarks.table import Table, note, seconds, times
from benchmarks.timing import timed
from fairbound import Population, certify

Array = NDArray[np.float64]

SEED = 11
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Case:
    """The same cells for both sides: a population for us, atoms and weights for the solver."""

    name: str
    population: Population
    mass: Array
    atoms: Array
    weights: Array
    rho: float


def run(quick: bool) -> None:
    """Print the table of this part."""
    table = Table(
        "Clarabel, general shifting: the solver's value has no proof; our time includes bound, Q and proof",
        [("problem", 22), ("Clarabel value", 14), ("status", 12), ("Clarabel time", 13), ("our bound", 9),
         ("our attained", 12), ("gap", 8), ("our time", 9), ("ratio", 7)],
    )  # fmt: skip
    repeat = 1 if quick else 5
    for case in (_reference(), _random(20, 10), _sampled(1000)):
        program = general_shifting(case.mass, case.atoms, case.weights, case.rho)
        program.solve(TOLERANCE)
        clarabel_time, solution = timed(lambda program=program: program.solve(TOLERANCE), repeat=repeat)  # type: ignore[misc]
        certify(case.population, case.rho)
        our_time, ours = timed(lambda case=case: certify(case.population, case.rho), repeat=repeat)  # type: ignore[misc]
        table.row(
            case.name,
            f"{solution.value:.8f}",
            solution.status,
            seconds(clarabel_time),
            f"{ours.bound:.8f}",
            f"{ours.attained:.8f}",
            f"{ours.gap:.1e}",
            seconds(our_time),
            times(clarabel_time / our_time),
        )
    note("Clarabel's time: set-up and solve of the assembled program; our tolerance 1e-6, Clarabel's 1e-8")


def _zero_one(name: str, mass: Array, mean: Array, rho: float) -> Case:
    atoms = np.broadcast_to([0.0, 1.0], (*mass.shape, 2))
    weights = np.stack([1.0 - mean, mean], axis=-1)
    return Case(name, Population.from_moments(mass, mean), mass, atoms, weights, rho)


def _reference() -> Case:
    return _zero_one("2x2, 0-1 loss", REFERENCE_MASS, REFERENCE_MEAN, 0.2)


def _random(groups: int, labels: int) -> Case:
    mass, mean = random_cells(groups, labels, SEED)
    rho = nearest_fair_marginals(mass)[0] + 0.1
    return _zero_one(f"{groups}x{labels}, 0-1 loss", mass, mean, rho)


def _sampled(atoms_per_cell: int) -> Case:
    """Draw Beta losses in the reference population's cells; every loss is an atom."""
    draw = np.random.default_rng(SEED)
    mean = REFERENCE_MEAN[:, :, None]
    atoms = draw.beta(4.0 * mean, 4.0 * (1.0 - mean), size=(2, 2, atoms_per_cell))
    weights = np.full_like(atoms, 1.0 / atoms_per_cell)
    group, label, _ = np.indices(atoms.shape)
    population = Population.from_losses(
        atoms.ravel(),
        label.ravel(),
        sensitive_features=group.ravel(),
        sample_weight=(REFERENCE_MASS[:, :, None] * weights).ravel(),
    )
    return Case(f"2x2, {atoms_per_cell} atoms a cell", population, REFERENCE_MASS, atoms, weights, 0.2)
