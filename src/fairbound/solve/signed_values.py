"""Row values of an objective: losses that count positively, negatively or not at all, cell by cell.

A loss that is subtracted is the value ``-l``. Spreading losses with their mean kept raises the bound for either sign,
since ``1 / (theta - v)`` is convex in the value; only the law of given mean and variance has its second atom at the
other end, where the loss is 0 (docs/theory.md, "Atoms").
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import UNIT, lowered, raised
from fairbound.data.atoms import Atoms
from fairbound.data.loss_summary import LossTable, MeanAndVariance
from fairbound.data.population import Population
from fairbound.problem.objective import Objective
from fairbound.solve.problem import Problem


def objective_problem(
    population: Population, objective: Objective, plain: Problem, shift: str, support: str, factor: float = 1.0
) -> Problem:
    """Return the problem of an objective, from that of the expected loss; what is added counts ``factor`` times."""
    sign = objective.sign(population.weight.shape)
    negative = _negated(population, plain, shift, support)
    added, subtracted = (sign > 0)[..., None], (sign < 0)[..., None]

    def chosen(positive: Atoms, other: Atoms, up: float) -> Atoms:
        times = positive.loss if factor == 1.0 else positive.loss * factor * (1.0 + up * 4 * UNIT)
        value = np.where(added, times, np.where(subtracted, other.loss, 0.0))
        return Atoms(np.where(subtracted, other.probability, positive.probability), value)

    top = plain.ceiling if factor == 1.0 else plain.ceiling * factor * (1.0 + 4 * UNIT)
    return Problem(
        chosen(plain.upper, negative.upper, 1.0),
        chosen(plain.lower, negative.lower, -1.0),
        np.where(sign > 0, top, np.where(sign < 0, negative.ceiling, 0.0)),
        plain.unseen,
        plain.groups,
        plain.labels,
        objective.parts(len(population.labels)),
    )


def _negated(population: Population, plain: Problem, shift: str, support: str) -> Problem:
    """Return the problem of the values ``-l``."""
    known, some = population.knowledge, population.weight > 0
    if shift == "sensitive":
        mean, roundings = population.mean[..., None], known.roundings
        upper = Atoms(plain.upper.probability, -lowered(mean, roundings))
        lower = Atoms(plain.lower.probability, -np.minimum(raised(mean, roundings), population.ceiling))
        return _with(plain, upper, lower, np.where(some, upper.loss[..., 0], 0.0))
    if isinstance(known, MeanAndVariance):
        upper, lower = _mirrored_law(known, population.mass, population.ceiling)
    else:
        upper = Atoms(plain.upper.probability, -plain.upper.loss)
        lower = Atoms(plain.lower.probability, -plain.lower.loss)
        if isinstance(known, LossTable):
            width = known.high - known.low
            most = np.minimum(raised(known.low + raised(known.to_high * width, known.rows + 8), 2), known.high)
            lower = Atoms(plain.lower.probability, -np.where(width > 0, most, plain.lower.loss))
    if support == "any" or not isinstance(known, LossTable):
        return _with(plain, upper, lower, np.zeros(some.shape))
    return _with(plain, upper, lower, np.where(some, -known.smallest, 0.0))


def _with(plain: Problem, upper: Atoms, lower: Atoms, ceiling: Floats) -> Problem:
    return Problem(upper, lower, ceiling, plain.unseen, plain.groups, plain.labels)


def _mirrored_law(known: MeanAndVariance, mass: Floats, ceiling: float) -> tuple[Atoms, Atoms]:
    """Return the worst law of ``-l``: atoms at 0 and at ``E + V/E``."""
    mean, some = known.mean, known.mean > 0
    safe = np.where(some, mean, 1.0)
    at_zero = np.where(some, known.variance / (known.variance + safe**2), 1.0)
    rest = np.where(some, safe / (known.variance / safe + safe), 0.0)
    place = np.where(some, mean + known.variance / safe, 0.0)
    error = 8 * UNIT * place
    share = mass[..., None] * np.stack([at_zero, rest], axis=2)
    places = (np.clip(place + shift, 0.0, ceiling) for shift in (-error, error))
    atoms = [Atoms(share, -np.stack([np.zeros_like(at), at], axis=2)) for at in places]
    return atoms[0], atoms[1]
