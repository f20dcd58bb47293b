"""A statement in exact numbers: the laws of the cells, the limits, and the radius.

Standard library and python-flint only. What is computed stands in docs/specification.md; "section" refers to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import product

from flint import arb, fmpq

from fairbound.verify.balls import RefusedError, exact, largest, total
from fairbound.verify.document import Knowledge, Losses, Mean, Measured, Objective, Question, Strata
from fairbound.verify.shares import Side

#: A witness may miss the ball, the limits or unit mass by this much; its affinity and loss are sums of rounded numbers.
#: Proofs are held to the same, larger set: its members are those that a witness may be. Otherwise a set that is empty
#: by a hair would have a witness all the same, and multipliers that prove anything of it.
LEEWAY = fmpq(1, 10**12)

#: Divergences whose density ratios jump: they know no worst law of a variance.
JUMPS = ("total_variation", "trimming")

#: Masses and values.
Atoms = list[tuple[arb, arb]]
Place = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """What the values of a cell are: atoms for the bound, all of some mass; for the witness; and the largest value."""

    upper: Atoms
    lower: Atoms
    ceiling: arb
    empty: bool

    def most(self, escapes: bool) -> arb:
        """Return the largest value that Q may put there; what it puts nothing into does not matter."""
        values = [value for _, value in self.upper]
        return largest([*values, self.ceiling] if escapes or not values else values)


class Statement:
    """One statement at one radius: sections "Values", "Atoms" and "Leeway".

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
        self.divergence = question.divergence
        self.escapes = self.divergence in {"hellinger", "total_variation"}
        self.unseen = question.shift == "general" and question.support == "any"
        #: Whether it speaks of every two groups.
        self.every = objective is not None and objective.plus is None and objective.minus is None
        if objective is not None:
            self._check_objective(objective)
        if self.every and affinity is not None:
            raise RefusedError("what takes the place of a sample is for two groups, not for every two")
        label = None if objective is None else objective.label
        every = range(self.labels.size)
        self.parts = [list(every)] if label is None else [[label], [y for y in every if y != label]]
        self.part = [int(label not in {None, y}) for y in every]
        tolerance = question.base_rate_tolerance
        widened = fmpq(0) if tolerance is None else min(fmpq(1), exact(tolerance) + LEEWAY)
        #: By how much base rates may differ: 1 if nothing is asked of them.
        self.tolerance = widened if question.fair else fmpq(1)
        if self.tolerance != 0 and self.labels.limited:
            raise RefusedError("limits on labels need equal base rates: elsewhere groups have labels of their own")
        self._within(rho, affinity)
        whole = total(arb(w) for row in population.weight for w in row)
        places = list(product(range(self.groups.size), range(self.labels.size)))
        self.cells: dict[Place, Cell] = {
            place: _cell(population, question, place, whole, self.sign(*place), factor) for place in places
        }
        #: The cells by what becomes of their group, if it may be any: it does not count, is added, is subtracted.
        self.roles: list[dict[Place, Cell]] = [self.cells]
        for sign in (1, -1) if self.every else ():
            role = {
                place: _cell(population, question, place, whole, sign, factor) if self.counts(place[1]) else cell
                for place, cell in self.cells.items()
            }
            self.roles.append(role)
        #: The largest value that Q may give the rows of a label, for each sign.
        self.peaks = self._peaks()
        #: What no value of the statement exceeds, and the largest value by size.
        self.top = largest(self.relaxed({1, -1}).values())
        values = (v for cell in self.cells.values() for v in (cell.ceiling, *(value for _, value in cell.lower)))
        self.scale = largest(map(abs, values))

    def _within(self, rho: float, affinity: arb | None) -> None:
        #: What density ratios are at most where the divergence says so, else 1: the factor of its conjugate.
        self.most_ratio = (1 + arb(LEEWAY)) / (1 - arb(rho)) if self.divergence == "trimming" else arb(1)
        #: What the divergence of Q is at most; of a Hellinger ball, 1 less the affinity.
        self.radius = radius(self.question, rho, affinity)
        self.affinity = 1 - self.radius

    def at(self, rho: float, affinity: arb | None = None) -> Statement:
        """Return the same statement at another radius: the laws of the cells are the same."""
        found = copy(self)
        found._within(rho, affinity)
        return found

    def _check_objective(self, objective: Objective) -> None:
        plus, minus, label = objective.plus, objective.minus, objective.label
        if max(plus or 0, minus or 0) >= self.groups.size or (label or 0) >= self.labels.size:
            raise RefusedError("the objective names groups or labels that do not exist")
        if plus == minus and not self.every:
            raise RefusedError("the objective compares a group with itself")

    def _peaks(self) -> dict[tuple[int, int], arb]:
        found: dict[tuple[int, int], arb] = {}
        for sign, (_, y), cell in self._signed():
            most = cell.most(self.escapes)
            found[sign, y] = found[sign, y].max(most) if (sign, y) in found else most
        if self.tolerance != 0:  # groups have labels of their own: the worst one counts
            for own in {sign for sign, _ in found}:
                worst = largest(most for (sign, _), most in found.items() if sign == own)
                found.update({key: worst for key in found if key[0] == own})
        return found

    def _signed(self) -> Iterator[tuple[int, Place, Cell]]:
        """List the cells that count, with their signs: in a statement of every two groups they have both."""
        for sign, role in zip((1, -1), self.roles[1:], strict=False):
            yield from ((sign, place, cell) for place, cell in role.items() if self.counts(place[1]))
        yield from ((sign, place, cell) for place, cell in self.cells.items() if (sign := self.sign(*place)))

    def relaxed(self, signs: set[int]) -> dict[int, arb]:
        """Return for each label what the means of some signs are at most, together, if all rows have it."""
        labels = sorted({y for _, y in self.peaks})
        return {y: total(most for (sign, at), most in self.peaks.items() if at == y and sign in signs) for y in labels}

    def sign(self, s: int, y: int) -> int:
        """Return 1 where values are added, -1 where they are subtracted, 0 where they do not count."""
        about = self.objective
        if about is None:
            return 1
        return (s == about.plus) - (s == about.minus) if self.counts(y) else 0

    def counts(self, y: int) -> bool:
        """Return whether means are taken over rows of a label."""
        about = self.objective
        return about is None or about.label is None or (y == about.label) == about.inside


def radius(question: Question, rho: float, affinity: arb | None) -> arb:
    """Return the radius as the inequality has it, widened by the leeway: squared, if it is a Hellinger distance."""
    if question.divergence == "hellinger":
        least = 1 - arb(rho) ** 2 if affinity is None else affinity
        return 1 - (least - arb(LEEWAY)).max(arb(0))
    return arb(0) if question.divergence == "trimming" else arb(rho) + arb(LEEWAY) * (1 + arb(rho))


def _cell(population: Measured, question: Question, place: Place, whole: arb, sign: int, factor: float) -> Cell:
    """Return the values of a cell: its losses, ``factor`` times, or with a minus, or none."""
    s, y = place
    weight, ceiling = population.weight[s][y], population.ceiling
    sensitive, unseen = question.shift == "sensitive", question.support == "any"
    if ceiling is None and not sensitive and unseen:
        raise RefusedError("general shifting needs a finite ceiling")
    if weight == 0:
        if (sensitive or not unseen) and (question.empty_cells != "ceiling" or ceiling is None):
            raise RefusedError(f"cell {place} is empty, and nothing is assumed of its losses")
        top = arb(0) if sign <= 0 or ceiling is None else arb(ceiling) * arb(factor)
        return Cell([], [], top, True)
    mass = arb(weight) / whole
    upper, lower, least, most = _law(population.knowledge, place, ceiling, question, falling=sign < 0)
    if not sensitive and unseen and ceiling is not None:
        least, most = arb(0), arb(ceiling)
    scale, top = (arb(factor), most) if sign > 0 else (arb(sign), least)
    lower = [(mass * share, scale * loss) for share, loss in lower]
    upper = [(mass * share, scale * loss) for share, loss in upper if not share.is_zero()] if sign else [(mass, arb(0))]
    return Cell(upper, lower, scale * top, False)


def _bins(known: Losses | Strata, s: int, y: int) -> list[list[arb]]:
    """Return the bins of a cell: a stratum is one whose ends are its mean, as inside of it nothing changes."""
    if isinstance(known, Losses):
        return [[arb(v) for v in entry] for entry in known.cells[s][y]]
    return [[arb(mean), arb(mean), arb(weight), arb(0)] for weight, mean in known.cells[s][y]]


def _law(
    known: Knowledge, place: Place, ceiling: float | None, question: Question, *, falling: bool
) -> tuple[Atoms, Atoms, arb, arb]:
    """Return shares and losses inside a cell, for the bound and for the witness, and the least and the largest loss.

    Where losses are subtracted, small ones are the bad ones: ``falling``.
    """
    s, y = place
    if isinstance(known, Strata) is not (question.shift == "stratified") and question.shift != "sensitive":
        raise RefusedError("the means of strata are what is known where only strata move, and only there")
    if isinstance(known, Losses | Strata):
        bins = _bins(known, s, y)  # low, high, weight, share of high
        inside = total(b[2] for b in bins)
        lower = [(weight / inside, low + part * (high - low)) for low, high, weight, part in bins]
        if question.shift == "sensitive":
            mean = total(share * loss for share, loss in lower)
            return [(arb(1), mean)], [(arb(1), mean)], mean, mean
        upper = []  # on the edges of the bins, with the same mean
        for (low, high, _, part), (share, _) in zip(bins, lower, strict=True):
            upper += [(share * (1 - part), low), (share * part, high)]
        held = [b for b in bins if not b[2].is_zero()]
        return upper, lower, -largest(-b[0] for b in held), largest(b[1] for b in held)
    mean = arb(known.mean[s][y])
    if question.shift == "sensitive":
        return [(arb(1), mean)], [(arb(1), mean)], mean, mean
    if ceiling is None or question.support != "any":
        raise RefusedError("observed support needs the losses themselves")
    top = arb(ceiling)
    if isinstance(known, Mean) or question.divergence in JUMPS:
        law = [((top - mean) / top, arb(0)), (mean / top, top)]
        return law, law, arb(0), top
    variance, room = arb(known.variance[s][y]), mean if falling else top - mean
    if not room > 0:
        law = [(arb(int(falling)), arb(0)), (arb(int(not falling)), top)]
        return law, law, arb(0), top
    far = variance / (variance + room**2)  # at the end where values are largest
    if falling:
        law = [(far, arb(0)), (room**2 / (variance + room**2), mean + variance / room)]
    else:
        law = [(room**2 / (variance + room**2), mean - variance / room), (far, top)]
    return law, law, arb(0), top
