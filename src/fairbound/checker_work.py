"""How long a check will take, estimated before it begins: no small document may keep its reader busy.

Standard library only. The unit is about what one atom costs in one evaluation of a bound; measured, a million of them
take about 0.6 seconds.
"""

from __future__ import annotations

from typing import Any

from fairbound.checker_sphere import EXACT_ROWS, SLABS
from fairbound.reader import TWO_VALUED, Whole

#: Units that are done without being asked twice, and at all; and seconds that a unit takes.
MOST_WORK, PATIENT_WORK = 6_000_000, 400_000_000
UNIT_SECONDS = 6e-7

#: What a node of the tree of a sample costs in each slab, what a random number costs, and an exact binomial tail.
NODE_WORK, DRAW_WORK, TAIL_WORK = 40, 0.15, 200


def seconds(work: float) -> str:
    """Say how long so much work takes."""
    time = work * UNIT_SECONDS
    return f"about {time:.0f} seconds" if time < 120 else f"about {time / 60:.0f} minutes"


def work_of(whole: Whole) -> float:
    """Return about how much work it is to check a whole document."""
    return sum(sum(map(_one, documents)) + _sampling(documents[0]) for documents in whole.parts)


def _one(document: dict[str, Any]) -> float:
    """Return the work of a proof and a witness; the question is put into exact numbers for either of them."""
    proof, population, question = document["proof"], document["population"], document["question"]
    groups, labels = len(population["groups"]), len(population["labels"])
    knowledge = (document["sampling"] or population)["knowledge"]
    atoms = 2 * groups * labels
    if knowledge["kind"] == "losses":
        atoms += sum(2 * len(cell) for row in knowledge["cells"] for cell in row)
    sides = (question[key] for key in ("group_limits", "label_limits"))
    limits = sum(len(row) for side in sides if side is not None for row in side["rows"])
    limits += 3 * ((question["group_skew"] is not None) * groups + (question["label_skew"] is not None) * labels)
    build = 4 * atoms + 4 * limits  # the case itself, and the witness
    if question["objective"] is not None:
        build *= 3  # the values that are added, and those that are subtracted
    if proof["kind"] in {"tangent", "divergence_single", "mean_single"}:
        return build + 2 * atoms + limits
    if proof["kind"] in {"conditional", "rates_means"}:
        return build + 2 * (atoms + limits) * sum(map(len, proof["theta"]))
    corners = len(proof["floors"])
    leaf = corners * (2 * atoms + corners) + limits
    if proof["kind"] == "difference_partition":
        leaf *= 3  # values are made anew at every corner
    return build + len(proof["leaves"]) * leaf + len(proof["splits"]) * corners


def _sampling(document: dict[str, Any]) -> float:
    """Return the work of counting rows and recomputing a confidence region."""
    sampling, population = document["sampling"], document["population"]
    if sampling is None:
        return 0.0
    cells = len(population["groups"]) * len(population["labels"])
    known = population["knowledge"]
    bins = [b for row in known.get("cells", []) for cell in row for b in cell]
    counting = 4.0 * len(bins) + 20.0 * cells
    if sampling["counts"] is None:
        return counting
    if population["loss"] not in TWO_VALUED:
        counting += DRAW_WORK * sum(b[2] for b in bins)
    classes = cells * len(sampling["losses"])
    nodes = classes + 2 * cells * cells.bit_length()
    if document["question"]["shift"] == "general":
        return counting + NODE_WORK * nodes * SLABS
    tails = sum(TAIL_WORK + 0.1 * min(EXACT_ROWS, sum(cell)) for row in sampling["counts"] for cell in row)
    return counting + NODE_WORK * nodes * 2 + tails
