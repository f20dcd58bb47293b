"""What parts of a tally have to agree on, and which parts there are: what may be added up, and what may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fairbound.data.cells import number_names
from fairbound.errors import InputError, argument, listed
from fairbound.verify.strict import Within

#: A text in a document.
Text = Annotated[str, Within(0, 1000)]


@dataclass(frozen=True)
class Plan:
    """What all parts of a tally agree on, before anybody sees a row.

    Attributes
    ----------
    counted
        "predictions" or "losses".
    loss
        What the loss is called.
    ceiling
        The largest loss there can be.
    bins
        Number of bins of the losses, whose edges follow from it and from the ceiling; 0 for predictions.
    weighted
        Whether rows have weights.
    groups, labels
        All that there are; None: those that are found in any part.
    strata
        The columns that divide the cells into strata, if there are any.
    """

    counted: str
    loss: str
    ceiling: float
    bins: int
    weighted: bool
    groups: tuple[Hashable, ...] | None
    labels: tuple[Hashable, ...] | None
    strata: tuple[str, ...] = ()

    def names(self, cells: Iterable[tuple[Hashable, Hashable]]) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """Return the groups and the labels: those that were declared, or those of the cells, sorted."""
        found = list(cells)
        groups, labels = (
            number_names([cell[place] for cell in found]).names if declared is None else declared
            for place, declared in enumerate((self.groups, self.labels))
        )
        return groups, labels

    @property
    def by_strata(self) -> Plan:
        """The plan of counts with the strata as the last columns of the groups: losses have one bin, of their sum."""
        return replace(self, bins=min(self.bins, 1), groups=None, strata=())


@dataclass(frozen=True)
class Part:
    """What was counted at once: a digest of the counts, the name that was given to it, and the numbers of its rows."""

    digest: Text
    name: Text | None
    rows: Annotated[int, Within(1, 2**53)]
    excluded: Annotated[int, Within(0, 2**53)]


def check_plans(one: Plan, other: Plan) -> None:
    """Refuse to add up what was counted by different plans, and say where they differ."""
    for name in one.__dataclass_fields__:
        first, second = getattr(one, name), getattr(other, name)
        if first != second or repr(first) != repr(second):
            message = f"these tallies have different plans: {name} is {first!r} in one and {second!r} in another one; "
            raise InputError(message + "count all parts with the same arguments")


def check_parts(parts: Sequence[Part]) -> None:
    """Refuse a part that is there twice: by its name, or by its counts unless names tell the parts apart."""
    names = Counter(part.name for part in parts if part.name is not None)
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        message = f"the part {twice[0]!r} is there twice: its rows would be counted twice"
        raise InputError(message)
    counts = Counter(part.digest for part in parts)
    for part in parts:
        if counts[part.digest] > 1 and part.name is None:
            message = (
                f"two parts of {part.rows} rows have the same counts ({part.digest[:18]}...): the same rows would be "
                f"counted twice; if they are different rows, count them with a {argument('name')} each"
            )
            raise InputError(message)


def check_same(what: str, names: Iterable[Hashable]) -> None:
    """Refuse names that are equal and have different types, as 1 and True: it would depend on the order which stays."""
    kinds: dict[Hashable, type] = {}
    for name in names:
        if kinds.setdefault(name, type(name)) is not type(name):
            message = f"the {what} {name!r} has different types in these tallies; give its column one type everywhere"
            raise InputError(message)


def check_kinds(what: str, names: Iterable[Hashable], cure: str) -> None:
    """Refuse names of different types, found in different parts: 1 and "1" may be meant to be the same."""
    kinds: dict[tuple[str, ...], Hashable] = {}
    for name in names:
        kinds.setdefault(tuple(type(n).__name__ for n in (name if isinstance(name, tuple) else (name,))), name)
    if len(kinds) > 1:
        message = (
            f"the {what} of these tallies have different types, as {listed(sorted(map(repr, kinds.values())))} do; "
            f"{cure} when they are counted"
        )
        raise InputError(message)


def unknown(where: tuple[Hashable, Hashable], plan: Plan) -> bool:
    """Whether a cell is none of those that were declared."""
    declared = zip(where, (plan.groups, plan.labels), strict=True)
    return any(names is not None and name not in names for name, names in declared)
