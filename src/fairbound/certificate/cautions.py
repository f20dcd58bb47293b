"""What a reader should know before relying on a bound: cautions about the data, and about what was certified.

They are the same wherever they are read: Python warns of what is odd about the data, and terminal, JSON, notebooks and
reports show all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from fairbound.arithmetic.arrays import Booleans
from fairbound.data.losses import ZERO_ONE
from fairbound.data.population import Population
from fairbound.errors import DataWarning, InputError, Sentence, argument, either, given, listed, warn
from fairbound.verify.beside.looks import MOST_SEEN, looks, taken_for
from fairbound.wording.names import short_name
from fairbound.wording.vocabulary import wording

#: Cells with fewer rows are named: their share and their mean loss rest on little.
FEW_ROWS = 30

#: More groups, or labels, than these are seldom meant: the column may hold numbers or dates.
MANY_GROUPS, MANY_LABELS = 100, 20

#: By how much the data have to be worse than a bound to be spoken of: more than rounding.
NOTICEABLE = 1e-9

#: Names that programs write where there is no value.
LIKE_MISSING = {"na", "n/a", "nan", "null", "none", "?", "unknown", "missing", "<na>"}


class Bounded(Protocol):
    """What has to be known of a bound: certificates are such."""

    @property
    def rho(self) -> float:
        """Its radius."""

    @property
    def bound(self) -> float:
        """The bound."""

    @property
    def tol(self) -> float:
        """The gap that was aimed at."""

    @property
    def gap(self) -> float:
        """The gap to what is attained."""

    @property
    def on_data(self) -> float:
        """What is bounded, on the data."""

    @property
    def lower(self) -> bool:
        """Whether it is a bound from below."""

    @property
    def trivial(self) -> bool:
        """Whether it says nothing."""

    @property
    def about_more_than_rows(self) -> bool:
        """Whether the gap is the price of a sample, which no search closes."""

    @property
    def bets_tighter(self) -> bool:
        """Whether another region would be tighter if the radius was fixed in advance."""


@dataclass(frozen=True)
class Caution:
    """Something that a reader should know.

    Attributes
    ----------
    kind
        One word for programs.
    sentence
        What it is and what can be done.
    odd
        Whether something seems to be wrong with the data, so that Python warns of it.
    """

    kind: str
    sentence: Sentence
    odd: bool = False

    def __str__(self) -> str:
        return str(self.sentence)

    def about(self, what: str) -> Caution:
        """Return the caution with what it is about before it."""
        return replace(self, sentence=self.sentence.after(what))


def cautions_of(population: Population, certificates: Sequence[Bounded]) -> list[Caution]:
    """Return all cautions, those about the data first."""
    return [*data_cautions(population), *result_cautions(certificates)]


def warn_of(population: Population) -> None:
    """Warn of what seems to be wrong with the data."""
    for caution in data_cautions(population):
        if caution.odd:
            warn(str(caution), DataWarning)


def check_loss_name(population: Population) -> None:
    """Refuse a name that people take for another one, or too long to be read: the checker refuses it too."""
    name = population.loss_name
    alike = _taken_for(name)
    if alike is not None or len(name) > MOST_SEEN:
        why = f"looks like {alike!r}" if alike is not None else f"has more than {MOST_SEEN} characters"
        message = f"{given('loss', name)} {why}; choose another name"
        raise InputError(message)


#: Names are the same from call to call, and to look at them takes longer than a small certificate.
_looks, _taken_for = lru_cache(maxsize=4096)(looks), lru_cache(maxsize=256)(taken_for)


def data_cautions(population: Population) -> list[Caution]:
    """Return what is to be said of the data."""
    found = [*_sizes(population), *_rows(population), *_names(population)]
    return [Caution(kind, Sentence(text), odd) for kind, text, odd in found]


Said = Iterator[tuple[str, str, bool]]


def _sizes(population: Population) -> Said:
    """Look for columns that were not meant: too many names, or labels that the groups tell already."""
    for side, names, most in (
        ("group", population.groups, MANY_GROUPS),
        ("label", population.labels, MANY_LABELS),
    ):
        if len(names) > most:
            yield (
                f"many_{side}s",
                f"There are {len(names):,} {side}s, such as {short_name(names[0])!r} and {short_name(names[1])!r}: is "
                f"the column of {side}s the one meant, or does it hold numbers or dates? Put them into a few ranges.",
                True,
            )
    weight = population.weight
    if len(population.groups) > 1 and ((weight > 0).sum(axis=1) == 1).all() and ((weight > 0).sum(axis=0) > 0).all():
        yield (
            "label_by_group",
            "In every group all rows have the same label: is the column of labels the one meant, or is it the column "
            "of groups under another name?",
            True,
        )


def _rows(population: Population) -> Said:
    words = wording(population)
    counted = counts_rows(population)
    alone = [g for g, n in zip(population.groups, population.weight.sum(axis=1), strict=True) if counted and n == 1]
    if alone:
        yield (
            "one_row_groups",
            f"Groups of a single row: {_named(alone)}. What is said of a group rests on its rows; merge small "
            "groups, or leave them out.",
            True,
        )
    small = [
        f"{short_name(population.groups[s])} {short_name(population.labels[y])} ({population.weight[s, y]:.0f})"
        for s, y in np.argwhere(few_rows(population))
    ]
    if small:
        yield (
            "few_rows",
            f"Fewer than {FEW_ROWS} rows, so share and {words.one} rest on little: {listed(small)}.",
            False,
        )
    if population.empty_cells:
        named = [f"{short_name(g)} {short_name(y)}" for g, y in population.empty_cells]
        yield "no_rows", f"No rows, so the {words.worst} is assumed where it matters: {listed(named)}.", False
    if population.excluded_rows:
        rows = "was 1 row" if population.excluded_rows == 1 else f"were {population.excluded_rows:,} rows"
        yield "rows_left_out", f"Left out {rows} in which a value was missing.", False


def _names(population: Population) -> Said:
    """Look for names that look like gaps, or like others, and for labels that no prediction hits."""
    together = [g if isinstance(g, tuple) else (g,) for g in population.groups]
    columns: list[set[Hashable]] = [set(population.labels), *map(set, zip(*together, strict=True))]
    texts = [sorted(name for name in column if isinstance(name, str)) for column in columns]
    gaps = sorted({name for names in texts for name in names if name.strip().lower() in LIKE_MISSING})
    if gaps:
        cure = either(
            "drop or replace these rows first",
            f"{' '.join(f'--na {g!r}' for g in gaps)} --missing drop (in CSV)",
        )
        yield (
            "like_missing",
            f"{listed([repr(g) for g in gaps])} is taken for a name. If it means that there is no value: {cure}.",
            False,
        )
    twins = [" and ".join(map(repr, same)) for column in columns for same in _alike(column)]
    if twins:
        yield (
            "names_alike",
            "Names that differ only in their type, in spaces, capital letters or invisible characters are taken for "
            f"different: {listed(twins)}. If they mean the same, make them one.",
            True,
        )
    if population.loss_name == ZERO_ONE.name:
        never = [
            repr(label)
            for y, label in enumerate(population.labels)
            if (population.mean[population.weight[:, y] > 0, y] == 1.0).all()
        ]
        if never:
            yield (
                "never_right",
                f"Not one row with this label is predicted right; does the model know it? {listed(never)}.",
                False,
            )


def _alike(names: Iterable[Hashable]) -> list[list[Hashable]]:
    """Return those that a reader could take for one another."""
    seen: dict[str, list[Hashable]] = {}
    for name in sorted(names, key=lambda name: (str(name), repr(name))):
        seen.setdefault(_looks(name), []).append(name)
    return [same for same in seen.values() if len(same) > 1 and not all(map(_is_number, same))]


def _is_number(name: Hashable) -> bool:
    """Tell whether a name is a number: of two numbers the minus sign is seen."""
    return isinstance(name, int | float) and not isinstance(name, bool)


def _named(names: Sequence[Hashable]) -> str:
    return listed([short_name(name) for name in names])


def result_cautions(certificates: Sequence[Bounded]) -> list[Caution]:
    """Return what is to be said of bounds."""
    found: list[tuple[str, str]] = []
    loose = [f"{c.rho:g}" for c in certificates if c.gap > c.tol and not c.about_more_than_rows]
    if loose:
        found.append(
            (
                "loose",
                f"At rho = {listed(loose)} the bound holds, but the gap exceeds the tolerance; raise "
                f"{argument('budget')} or {argument('tol')}.",
            )
        )
    sides = [(c, c.bound - c.on_data if c.lower else c.on_data - c.bound) for c in certificates]
    worse = [f"{c.rho:g}" for c, beyond in sides if beyond > NOTICEABLE]
    if worse:  # no contradiction, but a gate that looks at the bound alone would let it pass
        free = given("fair", value=False)
        found.append(
            (
                "data_worse",
                f"At rho = {listed(worse)} the data themselves are worse than the bound: they do not meet its "
                f"condition on base rates or its limits. {free}, without limits, covers them too.",
            )
        )
    trivial = [f"{c.rho:g}" for c in certificates if c.gap <= c.tol and c.trivial]
    if trivial:
        found.append(
            (
                "trivial",
                f"At rho = {listed(trivial)} the bound says nothing: so far from the data a group may have any "
                f"rows; use a smaller {argument('rho')}, or limit the shares of groups, as with "
                f"{argument('min_group_mass')}.",
            )
        )
    if len(certificates) == 1 and certificates[0].bets_tighter:
        found.append(
            (
                "region",
                f"The bound is one of those that hold for every {argument('rho')} at once. If this one was fixed "
                f"before anybody looked at the rows, {given('region', 'prequential')} is tighter with so many; but who "
                "computes both and shows the smaller has no such confidence.",
            )
        )
    return [Caution(kind, Sentence(text)) for kind, text in found]


def counts_rows(population: Population) -> bool:
    """Tell whether the weights of the cells are numbers of rows."""
    weight = population.weight
    whole = bool(np.all(weight == np.round(weight)))
    return population.rows is not None and whole and float(weight.sum()) == population.rows


def few_rows(population: Population) -> Booleans:
    """Return which cells have some rows, but few; none if rows were not counted."""
    if not counts_rows(population):
        return np.zeros(population.weight.shape, dtype=bool)
    return (population.weight > 0) & (population.weight < FEW_ROWS)
