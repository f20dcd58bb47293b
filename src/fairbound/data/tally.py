"""Tallies: counts of rows that add up, so that hospitals, days and jobs send counts and never rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairbound.data.cells import Categories, at_least_two, check_names, number_names, numbers
from fairbound.data.columns import Columns, Missing, ProbabilityColumns, read_columns
from fairbound.data.counted import Counted
from fairbound.data.loss_summary import LossTable, bins_for, pack
from fairbound.data.losses import ZERO_ONE, Loss
from fairbound.data.predicted import Predicted
from fairbound.data.predictions import aligned
from fairbound.data.tally_cells import UNIT_BITS, Bins, Cells, Entry, Key, added, rows_of
from fairbound.data.tally_document import digest_of, read_tally, write, written_cells, written_plan
from fairbound.data.tally_plan import Part, Plan, check_kinds, check_parts, check_plans, check_same, unknown
from fairbound.errors import InputError, argument, given
from fairbound.wording.names import read_name, write_name


@dataclass(frozen=True)
class Tally:
    """Counts of rows by group, label and prediction, or by bins of the loss, that add up exactly.

    Make one with :meth:`count` wherever rows are, add them up with ``+`` or :meth:`merged`, and build a population with
    :meth:`Population.from_tally`. The sum is the same, to the last bit and in whatever order, as the tally of all rows
    at once: all sums are whole numbers.

    Attributes
    ----------
    plan
        What all parts agree on.
    parts
        What was counted, each once.
    cells
        The counts.
    strata
        The same with the columns of the strata as the last ones of the groups, if there are strata.

    Examples
    --------
    >>> from fairbound import Population, Tally
    >>> monday = {"sex": ["f", "f", "m", "m"], "income": [0, 1, 0, 1], "predicted": [0, 1, 1, 1]}
    >>> tuesday = {"sex": ["f", "f"], "income": [0, 1], "predicted": [0, 0]}
    >>> import pandas
    >>> roles = {"label": "income", "group": "sex", "prediction": "predicted"}
    >>> tallies = [Tally.count(pandas.DataFrame(day), **roles) for day in (monday, tuesday)]
    >>> tallies[0] + tallies[1]
    Tally(6 rows in 2 parts, zero_one)
    >>> Population.from_tally(tallies[0] + tallies[1])
    Population(2 groups x 2 labels, 6 rows, error rate=0.333333, ceiling=1)
    """

    plan: Plan
    parts: tuple[Part, ...]
    cells: Cells
    strata: Cells = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows that were counted."""
        return sum(part.rows for part in self.parts)

    @property
    def excluded_rows(self) -> int:
        """Number of rows that were left out because a value was missing."""
        return sum(part.excluded for part in self.parts)

    def __repr__(self) -> str:
        parts = "1 part" if len(self.parts) == 1 else f"{len(self.parts)} parts"
        return f"Tally({self.rows} rows in {parts}, {self.plan.loss})"

    @classmethod
    def count(
        cls,
        frame: Any,
        *,
        label: str,
        group: str | Sequence[str],
        prediction: str | None = None,
        probability: ProbabilityColumns | None = None,
        losses: str | None = None,
        weight: str | None = None,
        loss: str | Loss | None = None,
        clip: float | None = None,
        ceiling: float | None = None,
        missing: Missing = "refuse",
        groups: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
        strata: str | Sequence[str] | None = None,
        min_count: int = 1,
        name: str | None = None,
    ) -> Tally:
        """Count the rows of a frame, of which there may be others elsewhere; a lazy one is counted by its own engine.

        Parameters
        ----------
        frame, label, group, prediction, probability, losses, weight, loss, clip, ceiling, missing
            As for :meth:`Population.from_frame`. Losses need a ceiling: it fixes the edges of their bins.
        groups, labels
            All groups and labels there are, here or elsewhere. If they are not named, they are those that are found in
            any part, sorted; ``probability`` needs ``labels``.
        strata
            For ``shift="stratified"``: the column, or the columns, that divide cells into strata. Numbers are cut when
            the population is made.
        min_count
            No entry may be of fewer rows: neighbouring bins of losses are merged until each has as many, and only
            edges of bins are told, not the least and largest loss in each. A cell, or a stratum or a predicted label in
            a cell, of fewer rows is an error. Where bins were merged, ``confidence`` cannot be used.
        name
            A name for these rows, such as "hospital 3, May". Parts of one name are never added up, and only parts with
            different names may have the same counts.

        Examples
        --------
        >>> import pandas
        >>> from fairbound import Tally
        >>> frame = pandas.DataFrame({"sex": list("fff"), "y": [0, 1, 1], "cost": [0.1, 0.5, 0.25]})
        >>> Tally.count(frame, label="y", group="sex", losses="cost", groups=["f", "m"], name="a site with one group")
        Tally(3 rows in 1 part, cost)
        """
        from fairbound.data.tally_rows import bins_of, count_frame_cells  # noqa: PLC0415 (narwhals, only where it is used)

        columns = read_columns(
            label=label,
            group=group,
            prediction=prediction,
            probability=probability,
            losses=losses,
            weight=weight,
            loss=loss,
            clip=clip,
            ceiling=ceiling,
            missing=missing,
            all_groups=groups,
            all_labels=labels,
            shard=True,
            strata=strata,
        )
        _check(min_count, name)
        columns, (cells, fine), excluded = count_frame_cells(frame, columns)
        bins = bins_of(columns)
        plan = _plan(columns, 0 if bins is None else bins.count)
        cells, fine = (_shielded(_plain(some), of, min_count) for some, of in ((cells, plan), (fine, plan.by_strata)))
        digest = digest_of([written_plan(plan), written_cells(plan, cells), written_cells(plan.by_strata, fine)])
        return cls(plan, (Part(digest, name, rows_of(cells), excluded),), cells, fine)

    @classmethod
    def merged(cls, tallies: Iterable[Tally]) -> Tally:
        """Add up tallies of one plan, none of whose parts is there twice.

        Examples
        --------
        >>> import pandas
        >>> from fairbound import Tally
        >>> days = [pandas.DataFrame({"g": list("aabb"), "y": [0, 1] * 2, "p": [k, 1, 0, 1]}) for k in (0, 1)]
        >>> Tally.merged(Tally.count(day, label="y", group="g", prediction="p") for day in days)
        Tally(8 rows in 2 parts, zero_one)
        """
        tallies = list(tallies)
        if not tallies or not all(isinstance(tally, Tally) for tally in tallies):
            message = f"{argument('tallies')} must be one or more tallies"
            raise InputError(message)
        first = tallies[0].plan
        for other in tallies[1:]:
            check_plans(first, other.plan)
        parts = tuple(sorted((p for tally in tallies for p in tally.parts), key=lambda p: (p.digest, p.name or "")))
        check_parts(parts)
        cells, strata = added(tally.cells for tally in tallies), added(tally.strata for tally in tallies)
        for place, (what, declared) in enumerate((("group", first.groups), ("label", first.labels))):
            if declared is None:
                cure = f"name all that there are with {argument(what + 's')}"
                check_kinds(f"{what}s", (cell[place] for tally in tallies for cell in tally.cells), cure)
        check_kinds("strata", (group for group, _ in strata), "give their columns one type everywhere")
        if first.bins == 0:
            check_same("predicted label", (key for tally in tallies for held in tally.cells.values() for key in held))
        return cls(first, parts, cells, strata)

    def __add__(self, other: object) -> Tally:
        return Tally.merged([self, other]) if isinstance(other, Tally) else NotImplemented

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # where sum() begins

    def to_json(self) -> str:
        """Return the tally as a JSON document: counts and sums, no rows.

        Examples
        --------
        >>> import pandas
        >>> from fairbound import Tally
        >>> frame = pandas.DataFrame({"g": list("aabb"), "y": [0, 1] * 2, "p": [0, 1, 1, 1]})
        >>> tally = Tally.count(frame, label="y", group="g", prediction="p")
        >>> Tally.from_json(tally.to_json()) == tally
        True
        """
        return write(self.plan, self.parts, self.cells, self.strata)

    @classmethod
    def from_json(cls, text: str | bytes) -> Tally:
        """Read a tally that :meth:`to_json` wrote; whatever is not one is refused."""
        return cls(*read_tally(text))

    @property
    def names(self) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """The groups and the labels: those that were declared, or those that were found, sorted."""
        return self.plan.names(self.cells)

    def counted(self) -> Counted:
        """Return what a population is made of."""
        groups, labels = self.names
        for what, names in (("group", groups), ("label", labels)):
            at_least_two("this tally", what, Categories(names, np.zeros(0, dtype=np.int64)))
        plan, predicted = self.plan, None
        if plan.bins == 0:
            predicted = self._predicted(groups, labels)
            table = predicted.errors
        else:
            table = self._table(groups, labels)
        fine = Tally(plan.by_strata, self.parts, self.strata).counted() if plan.strata else None
        told = plan.loss, self.excluded_rows, plan.weighted
        return Counted(groups, labels, table, plan.ceiling, self.rows, *told, predicted, fine, plan.strata)

    def _predicted(self, groups: tuple[Hashable, ...], labels: tuple[Hashable, ...]) -> Predicted:
        """Return the weights by group, label and predicted label."""
        found = number_names([key for entries in self.cells.values() for key in entries])
        known = Categories(labels, np.zeros(0, dtype=np.int64))
        names = aligned("the labels", known, "what was predicted", replace(found, codes=found.codes[:0])).names
        weight = np.zeros((len(groups), len(labels), len(names)))
        place = {name: at for at, name in enumerate(names)}
        for (group, label), entries in self.cells.items():
            for key, entry in entries.items():
                weight[groups.index(group), labels.index(label), place[key]] = entry.weight / (1 << UNIT_BITS)
        return Predicted(names, weight)

    def _table(self, groups: tuple[Hashable, ...], labels: tuple[Hashable, ...]) -> LossTable:
        """Return the losses of the cells; of very many cells in coarser bins. All shares are rounded once."""
        bins, count = Bins(self.plan.ceiling, self.plan.bins), bins_for(len(groups) * len(labels))
        fewer = replace(bins, count=min(count, bins.count))
        columns = []
        for where in ((group, label) for group in groups for label in labels):
            entries: Any = self.cells.get(where, {})
            if fewer.count < bins.count:
                entries = bins.coarsened(entries, fewer.count)
            rows = [_bin(fewer, key, entries[key]) for key in sorted(entries) if entries[key].weight]
            columns.append(np.array(rows).reshape(-1, 6).T)
        return pack(columns, (len(groups), len(labels)))


def _bin(bins: Bins, key: tuple[int, int], entry: Entry) -> tuple[float, ...]:
    """Return lower edge, upper edge, weight, shares of the edges, and rows that rounding depends on, of an entry."""
    weight = entry.weight / (1 << UNIT_BITS)
    if entry.least is not None and entry.least == entry.most:
        return entry.least, entry.least, weight, 1.0, 0.0, 1.0
    first, after = key[0], key[1] + 1
    whole = entry.weight * (bins.units[after] - bins.units[first])
    above = min(entry.above << UNIT_BITS, whole)
    return float(bins.edges[first]), float(bins.edges[after]), weight, (whole - above) / whole, above / whole, 1.0


def check_tally(tally: object) -> None:
    """Refuse what is not a tally."""
    if not isinstance(tally, Tally):
        message = f"{argument('tally')} is a {type(tally).__name__}, not a Tally; make one with Tally.count"
        raise InputError(message)


def tally_of_counts(
    counts: Any, groups: Sequence[Hashable] | None = None, labels: Sequence[Hashable] | None = None
) -> Tally:
    """Return the tally of numbers of rows by group, true label and predicted label."""
    all_groups, all_labels = (
        None if names is None else check_names(name, names) for name, names in (("groups", groups), ("labels", labels))
    )
    if isinstance(counts, Mapping):
        items = list(counts.items())
        if not all(isinstance(key, tuple) and len(key) == 3 for key, _ in items):
            message = f"{argument('counts')} must be a dict from (group, label, predicted label) to numbers of rows"
            raise InputError(message)
    else:
        table = numbers("counts", counts)
        if table.ndim != 3 or min(table.shape[:2]) < 2 or table.shape[1] != table.shape[2]:
            message = (
                f"{argument('counts')} has shape {table.shape}; it needs a confusion matrix for each group, with a row "
                "per label and a column per predicted label, two or more each"
            )
            raise InputError(message)
        all_groups = check_names("groups", range(table.shape[0]) if groups is None else groups, table.shape[0])
        all_labels = check_names("labels", range(table.shape[1]) if labels is None else labels, table.shape[1])
        items = [
            ((group, label, guess), table[s, y, p].item())
            for s, group in enumerate(all_groups)
            for y, label in enumerate(all_labels)
            for p, guess in enumerate(all_labels)
        ]
    cells: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for (group, label, guess), value in items:
        try:
            rows = int(value)
        except (TypeError, ValueError, OverflowError):
            rows = -1
        if rows != value or not 0 <= rows <= 2**53:
            message = f"{given('counts', value)} for {(group, label, guess)!r} must be a whole number of rows"
            raise InputError(message)
        if rows:
            cells.setdefault((group, label), {})[guess] = Entry(rows, rows << UNIT_BITS)
    plan = Plan("predictions", ZERO_ONE.name, ZERO_ONE.ceiling, 0, False, all_groups, all_labels)
    for cell in cells:
        if unknown(cell, plan):
            message = f"{argument('groups')} or {argument('labels')} lacks a name of {cell!r}, which has rows; add it"
            raise InputError(message)
    return Tally(plan, (Part("", None, rows_of(cells), 0),), cells)


def _plan(columns: Columns, bins: int) -> Plan:
    """Return the plan of a count."""
    groups, labels = columns.all_groups, columns.all_labels
    groups, labels = (None if names is None else tuple(map(_plain_name, names)) for names in (groups, labels))
    counted = "predictions" if columns.prediction is not None else "losses"
    weighted, strata = columns.weight is not None, columns.strata
    return Plan(counted, columns.loss_name, columns.ceiling, bins, weighted, groups, labels, strata)


def _check(min_count: object, name: object) -> None:
    """Refuse numbers and names that are none."""
    if not isinstance(min_count, int) or isinstance(min_count, bool) or min_count < 1:
        message = f"{given('min_count', min_count)} must be a whole number, 1 or more"
        raise InputError(message)
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 1000):
        message = f"{given('name', name)} must be a text of at most 1000 characters"
        raise InputError(message)


def _plain_name(name: Hashable) -> Hashable:
    """Return a name as it is read back from JSON."""
    return read_name(write_name(name))


def _plain(cells: Cells) -> Cells:
    """Return the cells with names as they are read back from JSON; keys of bins are none."""
    found: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for (group, label), entries in cells.items():
        told = {key if isinstance(key, tuple) else _plain_name(key): entry for key, entry in entries.items()}
        found[_plain_name(group), _plain_name(label)] = told
    return found


def _shielded(cells: Cells, plan: Plan, least: int) -> Cells:
    """Return the cells without entries of few rows and without single losses; refuse cells that have too few."""
    if least == 1:
        return {**cells}
    found: dict[tuple[Hashable, Hashable], dict[Key, Entry]] = {}
    for cell, entries in cells.items():
        sizes = {cell: sum(e.rows for e in entries.values())} if plan.bins else {k: e.rows for k, e in entries.items()}
        for what, size in sizes.items():
            if size < least:
                inside = "" if plan.bins else f" predicted as {what!r}"
                message = (
                    f"{given('min_count', least)}: the group {cell[0]!r} with the label {cell[1]!r} has only {size} "
                    f"row{'s' * (size > 1)}{inside}; join groups, strata or labels, or count more rows at once"
                )
                raise InputError(message)
        binned: Any = entries
        merged: Any = Bins(plan.ceiling, plan.bins).at_least(binned, least) if plan.bins else entries
        found[cell] = {**merged}
    return found
