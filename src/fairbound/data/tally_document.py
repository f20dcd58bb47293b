"""Tallies as JSON: the one description of such a document, and how it is written and read.

Whatever is read may come from a stranger: it is taken only if it is complete, and nothing more, and if its digests fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from fairbound.data.cells import number_names
from fairbound.data.loss_summary import BINS
from fairbound.data.strata import split
from fairbound.data.tally_cells import UNIT_BITS, Bins, Cells, Entry, Key, added, rows_of
from fairbound.data.tally_plan import Part, Plan, Text, check_parts, unknown
from fairbound.errors import InputError
from fairbound.verify.strict import MalformedError, Name, Within, parse, read
from fairbound.wording.names import read_name, write_name

FORMAT, VERSION = "fairbound-tally", "1.0.0"

#: Numbers of rows; sums of weights and distances, in units; numbers of bins; losses and ceilings.
Count = Annotated[int, Within(1, 2**53)]
Total = Annotated[int, Within(0, 2**160)]
Place = Annotated[int, Within(0, 2**20)]
Loss = Annotated[float, Within(0, 1e30)]


@dataclass(frozen=True)
class PlanDocument:
    """What all parts of a tally have to agree on."""

    counted: Literal["predictions", "losses"]
    loss: Text
    ceiling: Loss
    bins: Place
    weighted: bool
    groups: list[Name] | None
    labels: list[Name] | None
    strata: list[Text]


@dataclass(frozen=True)
class PredictedCell:
    """A cell of group and label, or of both and a stratum: the labels that were predicted there."""

    kind: Literal["predictions"]
    group: Name
    label: Name
    predicted: list[Name]
    rows: list[Count]
    weight: list[Total] | None


@dataclass(frozen=True)
class BinnedCell:
    """A cell of group and label: the bins of its losses. Of a stratum there is one bin."""

    kind: Literal["losses"]
    group: Name
    label: Name
    first: list[Place]
    last: list[Place]
    rows: list[Count]
    weight: list[Total] | None
    above: list[Total]
    least: list[Loss | None]
    most: list[Loss | None]


@dataclass(frozen=True)
class TallyDocument:
    """A whole tally; in ``strata`` the columns of the strata are the last ones of the groups."""

    format: Literal["fairbound-tally"]
    version: Literal["1.0.0"]
    plan: PlanDocument
    plan_digest: Text
    parts: list[Part]
    cells: list[PredictedCell | BinnedCell]
    strata: list[PredictedCell | BinnedCell]
    digest: Text


def digest_of(value: Any) -> str:
    """Return the digest of JSON, whose numbers are whole or doubles in their shortest form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def written_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan as it is written."""
    groups, labels = (None if names is None else [*map(write_name, names)] for names in (plan.groups, plan.labels))
    counted: Any = plan.counted
    ceiling, strata = float(plan.ceiling), list(plan.strata)
    return asdict(PlanDocument(counted, plan.loss, ceiling, plan.bins, plan.weighted, groups, labels, strata))


def written_cells(plan: Plan, cells: Cells) -> list[dict[str, Any]]:
    """Return the cells as they are written, in an order that follows from what they are."""
    groups, labels = plan.names(cells)
    found: list[dict[str, Any]] = []
    for where in ((group, label) for group in groups for label in labels):
        entries = cells.get(where)
        if not entries:
            continue
        group, label = map(write_name, where)
        keys: list[Any] = list(number_names(list(entries)).names if plan.bins == 0 else sorted(entries))  # type: ignore[type-var]
        ordered = [entries[key] for key in keys]
        rows = [entry.rows for entry in ordered]
        weight = [entry.weight for entry in ordered] if plan.weighted else None
        cell: PredictedCell | BinnedCell
        if plan.bins == 0:
            cell = PredictedCell("predictions", group, label, [*map(write_name, keys)], rows, weight)
        else:
            firsts, lasts = [key[0] for key in keys], [key[1] for key in keys]
            above = [entry.above for entry in ordered]
            least, most = [entry.least for entry in ordered], [entry.most for entry in ordered]
            cell = BinnedCell("losses", group, label, firsts, lasts, rows, weight, above, least, most)
        found.append(asdict(cell))
    return found


def write(plan: Plan, parts: Sequence[Part], cells: Cells, strata: Cells) -> str:
    """Return the text of a tally."""
    told: dict[str, Any] = {
        "plan": written_plan(plan),
        "parts": [*map(asdict, parts)],
        "cells": written_cells(plan, cells),
        "strata": written_cells(plan.by_strata, strata),
    }
    digests = {"plan_digest": digest_of(told["plan"]), "digest": digest_of(list(told.values()))}
    return json.dumps({"format": FORMAT, "version": VERSION} | told | digests, allow_nan=False)


def read_tally(text: str | bytes) -> tuple[Plan, tuple[Part, ...], Cells, Cells]:
    """Return what a document says; refuse anything that no rows give."""
    document = _document(text)
    known = document.plan
    groups, labels = (None if names is None else tuple(map(read_name, names)) for names in (known.groups, known.labels))
    strata = tuple(known.strata)
    plan = Plan(known.counted, known.loss, known.ceiling, known.bins, known.weighted, groups, labels, strata)
    cells, fine = _read_cells(document.cells, plan), _read_cells(document.strata, plan.by_strata)
    parts = tuple(document.parts)
    if sum(part.rows for part in parts) != rows_of(cells):
        message = "this is not a tally: the rows of its parts are not those of its cells"
        raise InputError(message)
    if not (_agree(cells, fine, len(strata)) if strata else not fine):
        message = "this is not a tally: its strata are not those of its cells"
        raise InputError(message)
    check_parts(parts)
    return plan, parts, cells, fine


def _agree(cells: Cells, fine: Cells, columns: int) -> bool:
    """Whether strata have the rows and the weight of their cells."""
    if not all(isinstance(group, tuple) and len(group) > columns for group, _ in fine):
        return False
    groups = split([group for group, _ in fine], columns)
    whole = added(
        {(group, label): held} for (group, _), (_, label), held in zip(groups, fine, fine.values(), strict=True)
    )
    return _sums(cells) == _sums(whole)


def _sums(cells: Cells) -> dict[tuple[Hashable, Hashable], tuple[int, int]]:
    """Return the rows and the weight of each cell."""
    return {
        cell: (sum(entry.rows for entry in held.values()), sum(entry.weight for entry in held.values()))
        for cell, held in cells.items()
    }


def _read_cells(
    told: Sequence[PredictedCell | BinnedCell], plan: Plan
) -> dict[tuple[Hashable, Hashable], dict[Key, Entry]]:
    """Read cells; each goes with the plan, and stands there once."""
    cells: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for cell in told:
        where = read_name(cell.group), read_name(cell.label)
        if where in cells or cell.kind != plan.counted or unknown(where, plan):
            message = f"this is not a tally: the cell {where!r} stands there twice, or does not go with the plan"
            raise InputError(message)
        cells[where] = _read_cell(cell, plan)
    return cells


def _document(text: str | bytes) -> TallyDocument:
    """Return the document of a text if it is one and its digests fit."""
    try:
        found = read(TallyDocument, parse(text))
    except MalformedError as error:
        message = f"this is not a tally: {error}"
        raise InputError(message) from None
    content = asdict(found)
    for digest, of in (
        ("plan_digest", content["plan"]),
        ("digest", [content[k] for k in ("plan", "parts", "cells", "strata")]),
    ):
        if content[digest] != digest_of(of):
            message = f"the {digest} of the tally does not fit: the document was changed, or is damaged"
            raise InputError(message)
    return found


def _read_cell(cell: PredictedCell | BinnedCell, plan: Plan) -> dict[Key, Entry]:
    """Read the entries of a cell; refuse what no rows can give."""
    weight = cell.weight if cell.weight is not None else [rows << UNIT_BITS for rows in cell.rows]
    if isinstance(cell, PredictedCell):
        size = len(cell.predicted)
        keys: list[Key] = [read_name(name) for name in cell.predicted]
        lists: list[list[Any]] = [cell.rows, weight]
        entries = [Entry(*values) for values in zip(*lists, strict=False)]
        possible = True
    else:
        size = len(cell.first)
        keys = list(zip(cell.first, cell.last, strict=False))
        lists = [cell.rows, weight, cell.above, cell.least, cell.most]
        entries = [Entry(*values) for values in zip(*lists, strict=False)]
        bins = _bins(plan)
        possible = len(cell.last) == size and all(
            _is_possible(bins, first, last, entry)
            for first, last, entry in zip(cell.first, cell.last, entries, strict=False)
        )
    complete = all(len(values) == size for values in lists) and len(set(keys)) == size > 0
    if not (complete and possible and (cell.weight is not None) == plan.weighted):
        message = f"this is not a tally: no rows give the counts of the cell {cell.group!r}, {cell.label!r}"
        raise InputError(message)
    return dict(zip(keys, entries, strict=True))


def _bins(plan: Plan) -> Bins:
    """Return the bins of a plan that was read."""
    if not 0 < plan.bins <= BINS or plan.bins.bit_count() > 1 or not 1e-30 < plan.ceiling < 1e30:
        message = f"this is not a tally: {plan.bins} bins up to {plan.ceiling:g} are none that are used"
        raise InputError(message)
    return Bins(plan.ceiling, plan.bins)


def _is_possible(bins: Bins, first: int, last: int, entry: Entry) -> bool:
    """Whether rows may give an entry: losses are inside of the bin, and so is their mean, but for rounding up."""
    if not 0 <= first <= last < bins.count or (entry.least is None) != (entry.most is None):
        return False
    whole = entry.weight * (bins.units[last + 1] - bins.units[first])
    if (entry.above - 4 * entry.rows) << UNIT_BITS > whole + (whole >> 50):
        return False
    if entry.least is None or entry.most is None:
        return True
    return bool(bins.edges[first] <= entry.least <= entry.most <= bins.edges[last + 1])
