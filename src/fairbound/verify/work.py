"""How long a check will take, estimated before it begins: no small document may keep its reader busy.

Standard library only. The unit is a microsecond of an ordinary machine; the numbers of units were measured, and the
largest of what a document can make of them counts.
"""

from __future__ import annotations

from typing import Any

from fairbound.verify.reading import TWO_VALUED, Whole
from fairbound.verify.sampling import MOST_DRAWS
from fairbound.verify.sphere import EXACT_ROWS, SLABS

#: Units that are done without being asked twice, and at all; and seconds that a unit takes.
MOST_WORK, PATIENT_WORK = 3_500_000, 240_000_000
UNIT_SECONDS = 1e-6

#: To begin with, for a certificate; to put a cell, a bin and a coefficient of a limit into exact numbers, and to check
#: a witness there.
BEGIN, CELL, BIN, LIMIT = 50.0, 12.0, 7.0, 5.0

#: What statements of a metric cost more than the loss of all: values are added, subtracted, or do not count.
COMPARED = 1.4

#: At every corner of a piece: a cell, and an atom of it, by kind of proof.
AT_CELL = 0.55
AT_ATOM = {
    "conditional": 0.55,
    "rates_means": 0.55,
    "rates": 1.6,
    "divergence_partition": 1.8,
    "mean_partition": 1.8,
    "difference_partition": 3.2,
}

#: For every piece: to begin with; a coordinate of a corner, which may be a long fraction; a coefficient of a limit; a
#: share that is limited by a skew.
AT_PIECE, AT_CORNER, AT_LIMIT, AT_SHARE = 12.0, 1.2, 0.8, 5.0

#: In a sample: a class or a branch in each slab, a step of the way to it, a class in the search for the budget, a
#: random number, an exact binomial tail and a row of it.
AT_NODE, AT_STEP, AT_CLASS, AT_DRAW, AT_TAIL, AT_ROOT = 22.0, 7.0, 60.0, 0.065, 60.0, 7.0


def seconds(work: float) -> str:
    """Say how long so much work takes."""
    time = work * UNIT_SECONDS
    return f"about {time:.0f} seconds" if time < 120 else f"about {time / 60:.0f} minutes"


def work_of(whole: Whole) -> float:
    """Return about how much work it is to check a whole document."""
    population = whole.parts[0][0]["population"]  # the same in all parts
    bins = [b for row in population["knowledge"].get("cells", []) for cell in row for b in cell]
    rows = 0.0 if population["loss"] in TWO_VALUED else sum(b[2] for b in bins)
    work = 0.0
    for documents in whole.parts:
        work += _sampling(documents[0], len(bins), min(rows, MOST_DRAWS))
        known = (documents[0]["sampling"] or population)["knowledge"]
        inside = sum(len(cell) for row in known.get("cells", []) for cell in row)
        work += sum(_one(document, inside) for document in documents)
    return work


def _one(document: dict[str, Any], bins: int) -> float:
    """Return the work of a proof and a witness; ``bins`` are those of the stand-in, if there is one."""
    proof, population, question = document["proof"], document["population"], document["question"]
    groups, labels = len(population["groups"]), len(population["labels"])
    cells = groups * labels
    atoms = cells if question["shift"] == "sensitive" else 2 * max(cells, bins)
    sides = (question[key] for key in ("group_limits", "label_limits"))
    limits = sum(len(row) for side in sides if side is not None for row in side["rows"])
    skewed = (question["group_skew"] is not None) * groups + (question["label_skew"] is not None) * labels
    shares = AT_LIMIT * limits + AT_SHARE * skewed
    build = BEGIN + CELL * cells + BIN * bins + LIMIT * limits
    if question["objective"] is not None:
        build *= 2 * COMPARED if question["objective"]["ratio"] else COMPARED  # for the bound, and what is attained
    once = AT_CELL * cells + AT_ATOM.get(proof["kind"], 0.35) * atoms
    if proof["kind"] in {"tangent", "divergence_single", "mean_single"}:
        return build + 2 * once + shares
    if proof["kind"] in {"conditional", "rates_means"}:
        return build + (AT_PIECE + once + shares) * sum(map(len, proof["theta"]))
    corners = len(proof["floors"])
    leaf = AT_PIECE + corners * (once + AT_CORNER * corners) + shares
    return build + len(proof["leaves"]) * leaf + len(proof["splits"]) * corners * AT_CORNER


def _sampling(document: dict[str, Any], bins: int, draws: float) -> float:
    """Return the work of counting rows and recomputing a confidence region."""
    sampling, population = document["sampling"], document["population"]
    if sampling is None:
        return 0.0
    cells = len(population["groups"]) * len(population["labels"])
    counting = 30.0 * cells + 6.0 * bins
    if sampling["counts"] is None:
        return counting
    classes = cells * len(sampling["losses"])
    counting += AT_DRAW * draws + AT_CLASS * classes
    slabs = SLABS if document["question"]["shift"] == "general" else 1
    tree = cells * (AT_NODE + AT_STEP * cells.bit_length())
    if slabs > 1:
        return counting + slabs * (AT_NODE * classes + tree)
    tails = sum(AT_TAIL + AT_ROOT * min(EXACT_ROWS, sum(cell)) ** 0.5 for row in sampling["counts"] for cell in row)
    return counting + AT_NODE * classes + tree + tails
