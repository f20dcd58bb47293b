"""How long a check will take, estimated before it begins: no small document may keep its reader busy.

The unit is a microsecond of an ordinary machine; the numbers of units were measured, and the
largest of what a document can make of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairbound.verify.document import (
    Answer,
    Document,
    Fractional,
    Knowledge,
    Losses,
    Measure,
    Measured,
    Objective,
    Pairwise,
    Proof,
    Question,
    Single,
    Statement,
    Strata,
    Tilted,
    singles,
)
from fairbound.verify.metric import METRICS
from fairbound.verify.names import TWO_VALUED
from fairbound.verify.prequential import cuts_of, ends_of
from fairbound.verify.sampling import MOST_DRAWS
from fairbound.verify.sphere import EXACT_ROWS, SLABS

#: Units that are done without being asked twice, and at all; and seconds that a unit takes.
MOST_WORK, PATIENT_WORK = 3_500_000, 240_000_000
UNIT_SECONDS = 1e-6

#: To begin with, for a statement at a radius; to put a cell, a bin and a coefficient of a limit into exact numbers, and
#: to check a witness there; and to look for a comparison among the statements.
BEGIN, CELL, BIN, LIMIT, PAIR = 90.0, 18.0, 10.0, 5.0, 12.0

#: A character of a name of a group or a label: what people see of it.
CHARACTER = 1.0
A_NUMBER = 20  # characters of a part that is none

#: At every corner of a piece: a cell, and an atom of it, by form and divergence.
AT_CELL = {"T": 1.7, "F": 2.0}
AT_ATOM = {"T": 2.4, "F": 6.0}

#: Of every two groups: how often each cell is looked at, and a label of two groups.
ROLES, AT_TWO = 3, 1.0

#: For every piece: to begin with; a coordinate of a corner, which may be a long fraction; a coefficient of a limit; a
#: share that is limited by a skew.
AT_PIECE, AT_CORNER, AT_LIMIT, AT_SHARE = 25.0, 3.0, 0.8, 5.0

#: In a sample: a class or a branch in each slab, a step of the way to it, a class in the search for the budget, a
#: random number, an exact binomial tail and a row of it.
AT_NODE, AT_STEP, AT_CLASS, AT_DRAW, AT_TAIL, AT_ROOT = 22.0, 7.0, 60.0, 0.065, 60.0, 7.0

#: Of bets: a row that is dealt; of each block, a class in the rule for multipliers, and at a corner of a piece.
#: And of the pieces themselves: a coordinate of an edge that is looked at.
AT_DEAL, AT_RULE, AT_BET, AT_EDGE = 1.5, 600.0, 3.5, 0.03


def seconds(work: float) -> str:
    """Say how long so much work takes."""
    time = work * UNIT_SECONDS
    return f"about {time:.0f} seconds" if time < 120 else f"about {time / 60:.0f} minutes"


def work_of(document: Document) -> float:
    """Return about how much work it is to check a document."""
    names = [*document.population.groups, *document.population.labels]
    sizes = [_size(measure) for measure in document.population.measures]
    asked = [_question(single, *sizes[single.question.measure]) for single in singles(document)]
    return CHARACTER * sum(map(_length, names)) * len(document.questions) + sum(asked)


def _size(measure: Measure) -> tuple[int, float]:
    """Return how many bins there are, and how many rows that have to be rounded if they are a sample."""
    known, rows = measure.knowledge, 0.0
    if isinstance(known, Losses) and measure.loss not in TWO_VALUED:
        rows = sum(b[2] for row in known.cells for cell in row for b in cell)
    return _bins(known), rows


def _question(single: Single, bins: int, rows: float) -> float:
    """Return the work of a question."""
    population, question = single.population, single.question
    points = [point for point in question.points if point.claim is not None]
    asked = METRICS.get(question.metric.name)
    pairs = 2 * len(population.groups) ** 2 if asked is not None and asked.pairs else 0
    work = PAIR * pairs * len(points)
    for number, statement in enumerate(question.statements):
        known = population.knowledge
        if statement.sampling is not None:
            work += _sampling(population, question, statement, bins, min(rows, MOST_DRAWS))
            known = statement.sampling.knowledge
        inside = _bins(known), _bins(known, statement.objective)
        work += sum(_answer(population, question, point.answers[number], *inside) for point in points)
    return work


def _length(name: Any) -> int:
    parts = name if isinstance(name, list) else [name]
    return sum(len(part) if isinstance(part, str) else A_NUMBER for part in parts)


def _bins(known: Knowledge, about: Objective | None = None) -> int:
    """Return how many bins the cells have; a cell that does not count in an objective is one."""
    if not isinstance(known, Losses | Strata):
        return 0
    places = ((s, y, len(cell)) for s, row in enumerate(known.cells) for y, cell in enumerate(row))
    return sum(size if _counts(about, s, y) else 1 for s, y, size in places)


def _counts(about: Objective | None, s: int, y: int) -> bool:
    if about is None or (about.plus is None and about.minus is None):
        return True
    return s in {about.plus, about.minus} and (about.label is None or (y == about.label) == about.inside)


def _answer(population: Measured, question: Question, answer: Answer, bins: int, counting: int) -> float:
    """Return the work of a proof and a witness, of so many bins, and of those that count."""
    groups, labels = len(population.groups), len(population.labels)
    cells = groups * labels
    atoms = cells if question.shift == "sensitive" else 2 * max(cells, counting)
    sides = (question.group_limits, groups), (question.label_limits, labels)
    limits = sum(len(side.most) * size for side, size in sides)
    skewed = sum(size for side, size in sides if side.skew is not None)
    build = BEGIN + CELL * cells + BIN * bins + LIMIT * limits
    ratio = question.statements[0].objective is not None and question.statements[0].objective.ratio
    build *= 2 if ratio else 1  # for the bound, and what is attained
    return build + _proof(answer.proof, cells, groups, atoms, AT_LIMIT * limits + AT_SHARE * skewed)


def _proof(proof: Proof, cells: int, groups: int, atoms: int, shares: float) -> float:
    corners = len(proof.floors)
    work = len(proof.splits) * corners * AT_CORNER
    for leaf, depth in zip(proof.leaves, _depths(proof), strict=False):
        if isinstance(leaf, Pairwise):
            roles = ROLES * (AT_CELL["F"] * cells + AT_ATOM["F"] * atoms) + shares
            work += AT_PIECE + len(leaf.sets) * corners * (roles + AT_TWO * cells * groups)
            continue
        once = AT_CELL[leaf.form] * cells + AT_ATOM[leaf.form] * atoms
        # For the loss form F knows each share by itself, which has two values at the corners of the whole simplex, and
        # one more with each cut; and the limits on shares count at each corner only of means.
        alone = isinstance(leaf, Fractional) and leaf.base is not None
        often = min(corners, 2 + depth) if alone else corners
        limits = shares if alone or isinstance(leaf, Tilted) else corners * shares
        work += AT_PIECE + often * once + corners * corners * AT_CORNER + limits
    return work


def _depths(proof: Proof) -> Iterator[int]:
    """Yield how often each piece was cut."""
    stack = [0]
    for split in proof.splits:
        depth = stack.pop() if stack else 0
        if split is None:
            yield depth
        else:
            stack += [depth + 1, depth + 1]


def _sampling(population: Measured, question: Question, statement: Statement, bins: int, draws: float) -> float:
    """Return the work of counting rows and recomputing a confidence region."""
    sampling = statement.sampling
    if sampling is None:
        return 0.0
    cells = len(population.groups) * len(population.labels)
    counting, known = 30.0 * cells + 6.0 * bins, sampling.knowledge
    if isinstance(known, Strata):
        places = [weight for row in known.cells for cell in row for weight, _ in cell]
        tree = len(places) * (AT_NODE + AT_STEP * len(places).bit_length())
        return counting + tree + sum(AT_CLASS + AT_TAIL + AT_ROOT * min(EXACT_ROWS, rows) ** 0.5 for rows in places)
    if sampling.counts is None or sampling.losses is None:
        return counting
    classes = cells * len(sampling.losses)
    counting += AT_DRAW * draws + AT_CLASS * classes
    if sampling.region == "prequential":
        radii = sum(point.claim is not None for point in question.points)
        return counting + radii * _bets(population, sampling.counts)
    tree = cells * (AT_NODE + AT_STEP * cells.bit_length())
    if question.shift == "general":
        return counting + SLABS * (AT_NODE * classes + tree)
    tails = sum(AT_TAIL + AT_ROOT * min(EXACT_ROWS, sum(cell)) ** 0.5 for row in sampling.counts for cell in row)
    return counting + AT_NODE * classes + tree + tails


def _bets(population: Measured, counts: list[list[list[int]]]) -> float:
    """Return the work of dealing rows to blocks, of finding multipliers for each, and of betting with them."""
    rows, classes = sum(sum(map(sum, row)) for row in counts), sum(len(cell) for row in counts for cell in row)
    shares = min(len(population.groups), len(population.labels))
    pieces, blocks = 2 ** cuts_of(shares, rows), len(ends_of(rows)) - 1
    cutting = AT_EDGE * pieces * shares**3
    return cutting + AT_DEAL * rows + blocks * classes * (AT_RULE + AT_BET * pieces * shares)
