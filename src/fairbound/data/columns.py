"""Which columns of a data frame hold what: the validated arguments of ``Population.from_frame``."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.cells import BLOCK, Categories, at_least_two, check_names, declare, intersect
from fairbound.data.counted import check_finite, read_ceiling
from fairbound.data.losses import LOSSES, ZERO_ONE, Loss, RowLosses, find_loss
from fairbound.data.predictions import aligned, by_label
from fairbound.errors import InputError, argument, either, given, listed

Missing = Literal["refuse", "drop"]
#: Probabilities: one column (of the positive label), a column per label in order, or a mapping from labels to columns.
ProbabilityColumns = str | Sequence[str] | Mapping[Hashable, str]


@dataclass(frozen=True)
class Columns:
    """The roles of the columns, and the loss to take.

    ``probability`` maps labels to columns; where the labels are not yet known, places in their order stand for them
    and ``by_place`` is true. ``all_groups`` and ``all_labels`` are those that there are, if the user named them. A
    ``shard`` is a part of the rows: it may have fewer groups and labels than there are. ``strata`` divide the cells.
    """

    label: str
    groups: tuple[str, ...]
    prediction: str | None
    probability: dict[Hashable, str]
    by_place: bool
    losses: str | None
    weight: str | None
    measure: Loss | None
    built_in: bool
    clipped: bool
    ceiling: float
    loss_name: str
    missing: Missing
    all_groups: tuple[Hashable, ...] | None = None
    all_labels: tuple[Hashable, ...] | None = None
    shard: bool = False
    strata: tuple[str, ...] = ()

    @property
    def row_losses(self) -> RowLosses | None:
        """The loss as a function of probabilities, if it is one."""
        return None if self.measure is None else self.measure.rows

    def losses_of(self, named: Mapping[Hashable, Floats], labels: Categories) -> Floats:
        """Return the losses of rows from the probabilities of their labels, by blocks that stay in the cache."""
        measure = cast("RowLosses", self.row_losses)  # there are probabilities
        size = len(labels.codes)
        step = BLOCK if self.built_in else max(size, 1)  # a loss of the user's own may look at all rows at once
        blocks = [slice(start, start + step) for start in range(0, size, step)]
        losses = np.empty(size)
        for block in blocks:
            some = {label: probability[block] for label, probability in named.items()}
            losses[block] = measure(*by_label(some, Categories(labels.names, labels.codes[block])))
        check_finite(losses, self.loss_name)
        return losses

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of names, each once."""
        return _once(self.label, *self.groups, self.prediction, *self.strata)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns of numbers, each once."""
        return _once(*self.probability.values(), self.losses, self.weight)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are used, each once."""
        return _once(*self.keys, *self.numeric)

    def number_labels(self, found: Categories) -> Categories:
        """Number the labels as the user declared them, if so; two are needed."""
        labels = declare("labels", found, self.all_labels)
        if not self.shard:
            at_least_two(f"column {self.label!r}", "label", labels)
        return labels

    def number_groups(self, found: Sequence[Categories]) -> Categories:
        """Number the groups, named by tuples if there are several columns, and do the same."""
        groups = declare("groups", intersect(found), self.all_groups)
        if not self.shard:
            at_least_two(f"column {' and '.join(map(repr, self.groups))}", "group", groups)
        return groups

    def align(self, labels: Categories, predicted: Categories) -> Categories:
        """Number predicted labels as the true ones are, and after them those that are only predicted."""
        return aligned(f"column {self.label!r}", labels, f"column {self.prediction!r}", predicted, some=self.shard)

    @property
    def by_strata(self) -> Columns:
        """The same with the columns of the strata as the last ones of the groups."""
        return replace(self, groups=(*self.groups, *self.strata), all_groups=None, strata=())

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """What is read from which column."""
        single = (
            ("label", self.label),
            ("prediction", self.prediction),
            ("losses", self.losses),
            ("weight", self.weight),
        )
        found = [(role, name) for role, name in single if name is not None]
        return (
            *(("group", name) for name in self.groups),
            *found,
            *(("probability", name) for name in self.probability.values()),
            *(("stratum", name) for name in self.strata),
        )

    def named(self, labels: Sequence[Hashable]) -> dict[Hashable, str]:
        """Return the column of each label; with two labels one column may be missing: it is the complement."""
        found = self.probability
        if self.by_place:
            expected = (1, 2) if len(labels) == 2 else (len(labels),)
            named = listed([repr(label) for label in labels])
            if len(found) not in expected:
                columns = list(found.values())
                which = either(given("probability", columns), f"{argument('probability')} {', '.join(columns)}")
                message = (
                    f"{which} must name a column for each of the labels {named}"
                    f"{', or one for the second of them' if len(labels) == 2 else ''}{_look_alike(labels)}"
                    + either("", f"; name them as {argument('probability')} LABEL=COLUMN, once for each")
                )
                raise InputError(message)
            names = labels[1:] if len(found) == 1 else labels
            found = dict(zip(names, found.values(), strict=True))
        absent = [name for name in labels if name not in found]
        complement = len(labels) == 2 and len(found) == 1 and len(absent) == 1
        if absent and not complement:
            message = (
                f"{argument('probability')} has no column for the label {absent[0]!r}; it names "
                f"{listed([repr(label) for label in found])}, and {self.label!r} holds "
                f"{listed([repr(label) for label in labels])}{_look_alike(labels)}"
            )
            raise InputError(message)
        return found


def _look_alike(labels: Sequence[Hashable]) -> str:
    """Say so if labels differ only in their type, in spaces or in capital letters."""
    plain = {"".join(str(label).split()).casefold() for label in labels}
    return "" if len(plain) == len(labels) else ": some differ only in type, in spaces or in capitals; write them alike"


def read_columns(
    *,
    label: object,
    group: object,
    prediction: object,
    probability: object,
    losses: object,
    weight: object,
    loss: str | Loss | None,
    clip: float | None,
    ceiling: float | None,
    missing: object,
    all_groups: object = None,
    all_labels: object = None,
    shard: bool = False,
    strata: object = None,
) -> Columns:
    """Validate everything but the frame itself."""
    ways = {"prediction": prediction, "probability": probability, "losses": losses}
    chosen = [name for name, value in ways.items() if value is not None]
    if len(chosen) != 1:
        message = (
            f"give exactly one of {argument('prediction')}, {argument('probability')} and {argument('losses')}, not "
            f"{' and '.join(map(argument, chosen)) or 'none'}: the column of predicted labels, of probabilities, or of "
            "losses already computed"
        )
        if not chosen and isinstance(loss, str) and loss not in LOSSES:
            message = f"{given('loss', loss)} is the name of a loss; a column of losses is {given('losses', loss)}"
        raise InputError(message)
    if missing not in ("refuse", "drop"):
        message = f"{given('missing', missing)} is not known; use 'refuse' or 'drop'"
        raise InputError(message)
    if ceiling is not None and losses is None:
        message = (
            f"{argument('ceiling')} is for a column of losses; with {argument(chosen[0])} the loss knows its own, and "
            f"{argument('clip')} lowers it"
        )
        raise InputError(message)
    if clip is not None and probability is None:
        message = f"{argument('clip')} is for losses of probabilities; with {argument(chosen[0])} leave it out"
        raise InputError(message)
    measure: Loss | None = None
    if prediction is not None:
        measure = find_loss(ZERO_ONE if loss is None else loss, None)
    elif probability is not None:
        measure = find_loss("brier" if loss is None else loss, None)
    elif loss is not None and not isinstance(loss, str):
        message = f"{given('loss', loss)} must be a name: the losses are in the column {losses!r} already"
        raise InputError(message)
    if measure is not None and (measure.rows is None) != (prediction is not None):
        wanted, what = (
            ("prediction", ", the column of predicted labels") if measure.rows is None else ("probability", "")
        )
        message = f"{given('loss', measure.name)} does not go with {argument(chosen[0])}; pass {argument(wanted)}{what}"
        raise InputError(message)
    clipped = measure.clipped(clip) if measure is not None and clip is not None else measure
    groups = (group,) if isinstance(group, str) else _several("group", group)
    if label in groups:
        message = f"column {label!r} is named as label and as group; name the column that tells the groups apart"
        raise InputError(message)
    parts = () if strata is None else (strata,) if isinstance(strata, str) else _several("strata", strata)
    columns = Columns(
        label=_one("label", label),
        groups=_different("group", groups),
        prediction=None if prediction is None else _one("prediction", prediction),
        probability={} if probability is None else _probability(probability),
        by_place=not isinstance(probability, Mapping),
        losses=None if losses is None else _one("losses", losses),
        weight=None if weight is None else _one("weight", weight),
        measure=clipped,
        clipped=clip is not None,
        built_in=measure is not None and LOSSES.get(measure.name) is measure,
        ceiling=clipped.ceiling if clipped is not None else read_ceiling(1.0 if ceiling is None else ceiling),
        loss_name=measure.name if measure is not None else str(loss or losses),
        missing=missing,
        all_groups=None if all_groups is None else _all("groups", all_groups),
        all_labels=None if all_labels is None else _all("labels", all_labels),
        shard=shard,
        strata=_different("strata", parts),
    )
    if shard:
        _check_shard(columns)
    return columns


def _check_shard(columns: Columns) -> None:
    """Refuse what parts of the rows would have to count differently."""
    if columns.prediction is None and not columns.ceiling < float("inf"):
        cure = argument("clip") if columns.probability else f"a finite {argument('ceiling')}"
        message = f"losses without a ceiling cannot be counted in bins that are the same everywhere; pass {cure}"
        raise InputError(message)
    if columns.probability and columns.all_labels is None:
        message = (
            f"{argument('labels')} must name all labels there are: which column holds whose probability must not "
            "depend on the labels that occur here"
        )
        raise InputError(message)


def check_known(columns: Columns, present: Iterable[str]) -> None:
    """Refuse names of columns that are not there, and suggest those that look like them."""
    known = list(present)
    for name in columns.names:
        if name not in known:
            lower = {str(other).lower(): other for other in known}
            close = [repr(lower[match]) for match in difflib.get_close_matches(name.lower(), lower, n=3)]
            listed = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
            cure = f"did you mean {' or '.join(close)}?" if close else f"there are {listed or 'none'}"
            parts = [part.strip() for part in name.split(",")]
            if len(parts) > 1 and all(part in known for part in parts):
                several = either(f"pass a list, {parts!r}", " ".join(f"{argument('group')} {part}" for part in parts))
                cure = f"for several columns {several}"
            message = f"there is no column {name!r}; {cure}"
            raise InputError(message)


def _once(*names: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _all(name: str, names: Any) -> tuple[Hashable, ...]:
    """Return all groups or labels there are; groups of several columns may be given as lists."""
    several = isinstance(names, list | tuple)
    return check_names(name, [tuple(one) if isinstance(one, list) else one for one in names] if several else names)


def _one(name: str, value: object) -> str:
    if not isinstance(value, str):
        message = f"{given(name, value)} must be the name of one column"
        raise InputError(message)
    return value


def _several(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, Sequence) or not values or not all(isinstance(v, str) for v in values):
        message = f"{given(name, values)} must be the name of a column, or a list of names"
        raise InputError(message)
    return tuple(values)


def _different(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        message = f"{given(name, list(names))} names a column twice"
        raise InputError(message)
    return names


def _probability(value: object) -> dict[Hashable, str]:
    """Return the columns by label or, where only their order is given, by place."""
    if isinstance(value, str):
        return {0: value}
    if isinstance(value, Mapping):
        found = {key: _one(f"probability[{key!r}]", name) for key, name in value.items()}
        if not found:
            message = f"{given('probability', {})} names no column"
            raise InputError(message)
    else:
        found = dict(enumerate(_several("probability", value)))
    _different("probability", tuple(found.values()))
    return found
