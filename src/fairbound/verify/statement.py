"""A statement in exact numbers: the laws of the cells, the limits, and the radius.

Sections "What is claimed", "Values", "Atoms" and "Leeway" of docs/specification.md; names are those used there.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import product

from flint import arb, fmpq

from fairbound.verify.balls import ONE, ZERO, balls, exact, largest, require, total
from fairbound.verify.divergences import divergence_of
from fairbound.verify.document import Losses, Mean, Measured, Objective, Question, Strata
from fairbound.verify.shares import Side

#: A witness may miss what is asked by this much, and proofs are held to the same, larger set. Otherwise a set that is
#: empty by a hair would have a witness all the same, and multipliers that prove anything of it.
LEEWAY = fmpq(1, 10**12)

#: Masses, or shares of a cell, and values.
Atoms = list[tuple[arb, arb]]
Place = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """What the values of a cell are: atoms for the bound, all of some mass; for the witness; and the largest value."""

    upper: Atoms
    lower: Atoms
    ceiling: arb
    empty: bool

    def peak(self, escapes: bool) -> arb:
        """Return the largest value that Q may have there."""
        values = [value for _, value in self.upper]
        return largest([*values, self.ceiling] if escapes or not values else values)


class Statement:
    """One statement at one radius.

    ``affinity`` is what every Q in question has with P at least, in a Hellinger ball; ``factor`` multiplies the values
    that are added.
    """

    def __init__(
        self,
        population: Measured,
        question: Question,
        objective: Objective | None,
        rho: float,
        affinity: arb | None = None,
        factor: float = 1.0,
    ) -> None:
        self.question, self.objective = question, objective
        self.groups = Side(len(population.groups), question.group_limits, LEEWAY)
        self.labels = Side(len(population.labels), question.label_limits, LEEWAY)
        self.divergence = divergence_of(question)
        #: Whether Q may have losses that P does not have.
        sampled = affinity is not None
        self.unseen = question.shift == "general" and question.support == "any"
        self.unseen |= sampled and question.shift == "stratified"
        #: Whether it speaks of every two groups.
        self.every = objective is not None and objective.plus is None and objective.minus is None
        #: Whether the claim is a factor: that a difference with it is not positive.
        self.ratio = objective is not None and objective.ratio
        label = None if objective is None else objective.label
        if objective is not None:
            known = (
                max(objective.plus or 0, objective.minus or 0) < self.groups.size and (label or 0) < self.labels.size
            )
            require(known, "the objective names groups or labels that do not exist")
            require(self.every or objective.plus != objective.minus, "the objective compares a group with itself")
        require(
            not self.every or affinity is None, "what takes the place of a sample is for two groups, not for every two"
        )
        every = range(self.labels.size)
        self.parts = [list(every)] if label is None else [[label], [y for y in every if y != label]]
        self.part = [int(label not in {None, y}) for y in every]
        tolerance = question.base_rate_tolerance
        widened = fmpq(0) if tolerance is None else min(fmpq(1), exact(tolerance) + LEEWAY)
        #: By how much base rates may differ: 1 if nothing is asked of them.
        self.tolerance = widened if question.fair else fmpq(1)
        self._within(rho, affinity)
        whole = total(arb(w) for row in population.weight for w in row)
        places = list(product(range(self.groups.size), every))

        def cells(role: int) -> dict[Place, Cell]:
            signs = {at: self.sign(*at, role=role) for at in places}
            return {at: _cell(population, question, at, whole, sign, factor, sampled) for at, sign in signs.items()}

        #: The cells; of every two groups by what becomes of the group: it does not count, is added, is subtracted.
        self.roles = [cells(role) for role in ((0, 1, -1) if self.every else (0,))]
        self.cells = self.roles[0]
        #: What the rows of a label add to a mean at most: for each sign, by label.
        self.peaks = self._peaks()
        #: What no value of the statement exceeds, and the largest value by size.
        self.top = largest(self.replaced({1, -1}).values())
        values = (v for cell in self.cells.values() for v in (cell.ceiling, *(value for _, value in cell.lower)))
        self.scale = largest(map(abs, values))

    def _within(self, rho: float, affinity: arb | None) -> None:
        #: What the divergence is at most, and the same less the offset: of a Hellinger ball minus the affinity.
        self.radius = radius(self.question, rho, affinity)
        self.room = self.radius - self.divergence.offset
        #: How many times the mass of P that of Q is at most where the divergence says so, and else 1.
        self.most_ratio = (1 + arb(LEEWAY)) / (1 - arb(rho)) if self.divergence.bounded else ONE

    def at(self, rho: float, affinity: arb | None = None) -> Statement:
        """Return the same statement at another radius: the laws of the cells are the same."""
        found = copy(self)
        found._within(rho, affinity)
        return found

    def sign(self, s: int, y: int, role: int = 0) -> int:
        """Return 1 where values are added, -1 where they are subtracted, 0 where they do not count."""
        about = self.objective
        if about is None:
            return 1
        counts = about.label is None or (y == about.label) == about.inside
        return (role if self.every else (s == about.plus) - (s == about.minus)) if counts else 0

    def _peaks(self) -> dict[int, dict[int, arb]]:
        found: dict[int, dict[int, list[arb]]] = {}
        for role, cells in zip((0, 1, -1), self.roles, strict=False):
            for (s, y), cell in cells.items():
                if sign := self.sign(s, y, role):
                    peak = cell.peak(self.divergence.slope is not None)
                    found.setdefault(sign, {}).setdefault(y, []).append(peak)
        most = {sign: {y: largest(values) for y, values in by_label.items()} for sign, by_label in found.items()}
        if self.tolerance != 0:  # groups have labels of their own: the worst one counts
            return {sign: dict.fromkeys(by_label, largest(by_label.values())) for sign, by_label in most.items()}
        return most

    def replaced(self, signs: set[int]) -> dict[int, arb]:
        """Return for each label that counts what the means of some signs are at most, together, if all rows have it."""
        labels = {y for by_label in self.peaks.values() for y in by_label}
        own = [by_label for sign, by_label in self.peaks.items() if sign in signs]
        return {y: total(by_label[y] for by_label in own) for y in labels}


def radius(question: Question, rho: float, affinity: arb | None) -> arb:
    """Return the radius as the inequality has it, widened by the leeway: squared, if it is a Hellinger distance."""
    if question.divergence == "hellinger":
        least = 1 - arb(rho) ** 2 if affinity is None else affinity
        return 1 - (least - arb(LEEWAY)).max(ZERO)
    return ZERO if divergence_of(question).bounded else arb(rho) + arb(LEEWAY) * (1 + arb(rho))


def _cell(
    population: Measured, question: Question, place: Place, whole: arb, sign: int, factor: float, sampled: bool
) -> Cell:
    """Return the values of a cell: its losses, ``factor`` times, or with a minus, or none."""
    top, mass = population.ceiling, arb(population.weight[place[0]][place[1]]) / whole
    anything = question.shift == "general" and question.support == "any"
    require(top is not None or not anything, "general shifting needs a finite ceiling")
    empty = mass.is_zero()
    assumed = anything or (question.empty_cells == "ceiling" and top is not None)
    require(not empty or assumed, f"cell {place} is empty, and nothing is assumed of its losses")
    upper, lower = ([], []) if empty else _law(population, question, place, falling=sign < 0)
    if anything or empty:
        least, most = ZERO, arb(top or 0)
    else:
        losses = [loss for _, loss in (lower if sampled else upper)]  # strata may lack rows by chance
        least, most = -largest(-loss for loss in losses), largest(losses)
    scale, end = (arb(factor), most) if sign > 0 else (arb(sign), least)
    lower = [(mass * share, scale * loss) for share, loss in lower]
    upper = [(mass * share, scale * loss) for share, loss in upper if not share.is_zero()]
    if not sign and not empty:
        upper = [(mass, ZERO)]
    return Cell(upper, lower, scale * end, empty)


def _law(population: Measured, question: Question, place: Place, *, falling: bool) -> tuple[Atoms, Atoms]:
    """Return shares and losses inside a cell, for the bound and for the witness.

    Where losses are subtracted, small ones are the bad ones: ``falling``.
    """
    known, top = population.knowledge, arb(population.ceiling or 0)
    s, y = place
    of_strata = isinstance(known, Strata)
    fits = question.shift == "sensitive" or of_strata is (question.shift == "stratified")
    require(fits, "the means of strata are what is known where only strata move, and only there")
    if isinstance(known, Strata):  # nothing changes inside of one: a bin whose ends are its mean
        bins = [balls([mean, mean, weight, 0.0]) for weight, mean in known.cells[s][y]]
    elif isinstance(known, Losses):
        bins = [balls(entry) for entry in known.cells[s][y]]  # low, high, weight, share of high
    if isinstance(known, Losses | Strata):
        inside = total(b[2] for b in bins)
        lower = [(weight / inside, low + part * (high - low)) for low, high, weight, part in bins]
        mean = total(share * loss for share, loss in lower)
    else:
        mean = arb(known.mean[s][y])
    if question.shift == "sensitive":
        return [(ONE, mean)], [(ONE, mean)]
    if isinstance(known, Losses | Strata):
        edges = [(low, high, weight / inside, part) for low, high, weight, part in bins if not weight.is_zero()]
        return [end for low, high, w, t in edges for end in ((w * (1 - t), low), (w * t, high))], lower
    require(question.support == "any", "observed support needs the losses themselves")
    if isinstance(known, Mean) or divergence_of(question).only_means:  # which knows no worst law of a variance
        law = [((top - mean) / top, ZERO), (mean / top, top)]
        return law, law
    variance, room = arb(known.variance[s][y]), mean if falling else top - mean
    if not room > 0:
        law = [(arb(int(falling)), ZERO), (arb(int(not falling)), top)]
        return law, law
    far, near = variance / (variance + room**2), room**2 / (variance + room**2)  # far: where values are largest
    law = [(far, ZERO), (near, mean + variance / room)] if falling else [(near, mean - variance / room), (far, top)]
    return law, law
