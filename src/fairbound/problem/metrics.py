"""The metrics that can be certified, by the names that Fairlearn gives them.

A metric is a list of objectives: the largest of them (of a ratio, the smallest) is what is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Literal

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given, listed, suggestion
from fairbound.problem.objective import Objective
from fairbound.wording.names import short_name
from fairbound.wording.vocabulary import Wording, wording

MetricName = Literal[
    "loss",
    "group_loss",
    "group_loss_difference",
    "cell_loss",
    "selection_rate",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "equalized_odds_difference",
]

#: From the table's shape, the chosen group and the number of the positive label to objectives.
Objectives = Callable[[tuple[int, int], int | None, int | None], list[Objective]]


@dataclass(frozen=True)
class Metric:
    """What a metric is made of.

    Attributes
    ----------
    name
        Its name, as in ``metric=``.
    title, title_of_one
        What people call it; and if a group was chosen for it.
    words
        What it is, for a sentence.
    selection
        Whether it is about what the model predicts instead of about its loss.
    by_label
        Whether it looks at the rows of a true label.
    one_group
        Whether a group may be chosen; otherwise all groups (or pairs of groups) count. A ratio of a chosen group is its
        own mean, divided by the largest of any other group: its impact ratio.
    lower
        Whether it is bounded from below.
    objectives
        What it is the largest (or smallest) of.
    """

    name: str
    title: str
    words: str
    selection: bool
    by_label: bool
    one_group: bool
    lower: bool
    objectives: Objectives
    title_of_one: str = ""

    @property
    def compares(self) -> bool:
        """Whether it compares two groups."""
        return self.lower or not self.one_group


def _each(shape: tuple[int, int], group: int | None, _: int | None) -> list[Objective]:
    return [Objective(s) for s in range(shape[0]) if group in {None, s}]


def _cells(shape: tuple[int, int], group: int | None, _: int | None) -> list[Objective]:
    return [Objective(s, None, y) for y in range(shape[1]) for s in range(shape[0]) if group in {None, s}]


def _pairs(shape: tuple[int, int], _: int | None, __: int | None) -> list[Objective]:
    return [Objective(a, b) for a, b in permutations(range(shape[0]), 2)]


def _ratios(shape: tuple[int, int], group: int | None, _: int | None) -> list[Objective]:
    """Divide by the rate of each other group: that is the group's impact ratio."""
    return [Objective(a, b, ratio=True) for a, b in permutations(range(shape[0]), 2) if group in {None, b}]


def _inside(shape: tuple[int, int], _: int | None, label: int | None) -> list[Objective]:
    return [Objective(a, b, label) for a, b in permutations(range(shape[0]), 2)]


def _outside(shape: tuple[int, int], _: int | None, label: int | None) -> list[Objective]:
    return [Objective(a, b, label, inside=False) for a, b in permutations(range(shape[0]), 2)]


def _odds(shape: tuple[int, int], group: int | None, label: int | None) -> list[Objective]:
    return _inside(shape, group, label) + _outside(shape, group, label)


_DIFFERENCE = "the largest difference between two groups in"

#: All metrics but the expected loss of all, by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "group_loss",
            "{mean} of the worst group",
            "the {mean} of a group",
            False,
            False,
            True,
            False,
            _each,
            "{mean} of {group}",
        ),
        Metric(
            "group_loss_difference",
            "largest difference between two groups in {mean}",
            f"{_DIFFERENCE} {{mean}}",
            False,
            False,
            False,
            False,
            _pairs,
        ),
        Metric(
            "cell_loss",
            "{mean} of the worst cell of group and label",
            "the {mean} of a group's rows of a label",
            False,
            False,
            True,
            False,
            _cells,
            "{mean} of {group} among the rows of a label",
        ),
        Metric(
            "selection_rate",
            "largest selection rate of a group",
            "the selection rate of a group",
            True,
            False,
            True,
            False,
            _each,
            "selection rate of {group}",
        ),
        Metric(
            "demographic_parity_difference",
            "demographic parity difference",
            f"{_DIFFERENCE} selection rate",
            True,
            False,
            False,
            False,
            _pairs,
        ),
        Metric(
            "demographic_parity_ratio",
            "demographic parity ratio",
            "the smallest ratio of two groups' selection rates, for which the four-fifths rule asks at least 80 %",
            True,
            False,
            True,
            True,
            _ratios,
            "impact ratio of {group}",
        ),
        Metric(
            "true_positive_rate_difference",
            "true positive rate difference",
            f"{_DIFFERENCE} true positive rate, for which equal opportunity asks zero",
            True,
            True,
            False,
            False,
            _inside,
        ),
        Metric(
            "false_positive_rate_difference",
            "false positive rate difference",
            f"{_DIFFERENCE} false positive rate",
            True,
            True,
            False,
            False,
            _outside,
        ),
        Metric(
            "equalized_odds_difference",
            "equalized odds difference",
            f"{_DIFFERENCE} true positive rate or in false positive rate",
            True,
            True,
            False,
            False,
            _odds,
        ),
    )
}


def objective_sentence(population: Population, objective: Objective) -> str:
    """Say what is bounded, in the user's names."""
    mean = wording(population).mean_words
    plus, minus = (None if s is None else f"group {population.groups[s]!r}" for s in (objective.plus, objective.minus))
    where = ""
    if objective.label is not None:
        label = population.labels[objective.label]
        where = f" among the rows {'of' if objective.inside else 'of any label but'} label {label!r}"
    if minus is None:
        return f"What is bounded is the {mean} of {plus}{where}."
    if plus is None:
        return f"What is bounded is the {mean} of {minus}{where}, with a minus: how small it can be."
    if objective.ratio:
        return f"What is bounded, from below, is the {mean} of {minus} divided by that of {plus}; at most 1 counts."
    return f"What is bounded is the {mean} of {plus} minus that of {minus}{where}."


def metric_wording(population: Population, metric: str, group: Hashable | None) -> Wording:
    """Return the words for what is bounded: those of the population's values, unless it is a metric."""
    base = wording(population)
    if metric not in METRICS:
        return base
    found = METRICS[metric]
    title = found.title if group is None else found.title_of_one or found.title
    words = title = title.format(mean=base.mean_words, group=short_name(group))
    if population.pos_label is not None:
        words += f" (predicting '{short_name(population.pos_label)}')"  # sentences go on behind it
    unit = "percent" if METRICS[metric].lower else base.unit  # a ratio is a share of something, whatever it is one of
    if unit == "percent" and metric.endswith("_difference"):
        unit = "points"
    said = replace(base, words=words, subject=words, label=words, axis=title, unit=unit)
    return replace(said, one="value", many="values", worst="worst")


def means_on_data(population: Population, objective: Objective) -> Floats:
    """Return the means of all groups on the data, among the rows that an objective looks at; NaN where there are none.

    Their groups have base rates of their own.
    """
    weight = np.where(objective.counted(len(population.labels)), population.weight, 0.0)
    total = weight.sum(axis=1)
    mean: Floats = (weight * population.mean).sum(axis=1) / np.where(total > 0, total, np.nan)
    return mean


def value_on_data(population: Population, objective: Objective) -> float:
    """Return what an objective is on the data themselves; of every two groups, the worst."""
    mean = means_on_data(population, objective)
    if objective.plus is None and objective.minus is None:
        low, high = float(np.nanmin(mean)), float(np.nanmax(mean))
        return high - low if not objective.ratio else low / high if high > 0 else 1.0
    mean = np.nan_to_num(mean)
    first = 0.0 if objective.plus is None else float(mean[objective.plus])
    if objective.minus is None:
        return first
    second = float(mean[objective.minus])
    if objective.ratio:
        return min(1.0, second / first) if first > 0 else 1.0
    return first - second


def metric_sentence(population: Population, metric: str, group: Hashable | None) -> str:
    """Say what a metric is, in the user's names."""
    found = METRICS.get(metric)
    words = repr(metric) if found is None else found.words.format(mean=wording(population).mean_words)
    if found is not None and found.compares and group is not None:
        words = "the impact ratio of a group, its selection rate divided by the largest of any other group, at most 1"
    elif found is not None and found.compares and f"the {found.title}" not in found.words:
        words = f"the {found.title}, {words}"
    chosen = f" {group!r}" if group is not None else ""
    positive = f"; what counts is a prediction of {population.pos_label!r}" if population.pos_label is not None else ""
    lower = ", from below," if found is not None and found.lower else ""
    words = words.replace("of a group", f"of the group{chosen}") if chosen else words
    return f"What is bounded{lower} is {words}{positive}."


@dataclass(frozen=True)
class Chosen:
    """A metric, chosen for a population: what it looks at, and the objectives to bound.

    ``group`` and ``pos_label`` are the names that were chosen, None where there was nothing to choose.
    """

    metric: Metric
    population: Population
    objectives: tuple[Objective, ...]
    group: Hashable | None
    pos_label: Hashable | None


def choose(population: Population, metric: object, group: Hashable | None, pos_label: Hashable | None) -> Chosen:
    """Find the metric of that name and what it needs; the one validator of this module."""
    if not isinstance(metric, str) or metric not in METRICS:
        message = f"{given('metric', metric)} is not known; {suggestion(metric, ('loss', *METRICS), repr)}"
        raise InputError(message)
    found = METRICS[metric]
    number: int | None = None
    if group is not None:
        if not found.one_group:
            message = f"{given('group', group)}: {metric} compares all groups; leave {argument('group')} out"
            raise InputError(message)
        if group not in population.groups:
            names = listed([repr(name) for name in population.groups])
            message = f"{given('group', group)} is not among the groups {names}; use one of them"
            raise InputError(message)
        number = population.groups.index(group)
    if pos_label is not None and not found.selection:
        message = (
            f"{given('pos_label', pos_label)}: {metric} does not look at what is predicted; leave "
            f"{argument('pos_label')} out"
        )
        raise InputError(message)
    looked_at = population.selecting(pos_label) if found.selection else population
    chosen = looked_at.pos_label if found.selection else None
    label: int | None = None
    if found.by_label:
        if chosen not in population.labels:
            names = listed([repr(name) for name in population.labels])
            message = (
                f"{given('pos_label', chosen)} is no true label, and {metric} looks at its rows; use one of {names}"
            )
            raise InputError(message)
        label = population.labels.index(chosen)
    objectives = tuple(found.objectives(population.weight.shape, number, label))
    _check_rows(population, metric, objectives)
    return Chosen(found, looked_at, objectives, group, chosen)


def _check_rows(population: Population, metric: str, objectives: tuple[Objective, ...]) -> None:
    """Refuse a mean of nothing: there must be rows of every group, and of the labels that means are taken over."""
    groups, labels = (population.weight.sum(axis=axis) for axis in (1, 0))
    absent = [repr(name) for name, weight in zip(population.groups, groups, strict=True) if not weight > 0]
    if absent:
        message = f"{given('metric', metric)} needs rows of every group, and there are none of {listed(absent)}"
        raise InputError(message + "; leave these groups out")
    for objective in {one.every for one in objectives}:
        counted = objective.counted(len(population.labels))
        if not labels[counted].any():
            absent = [repr(name) for name, some in zip(population.labels, counted, strict=True) if some]
            message = (
                f"{given('metric', metric)} takes means over rows of the labels {listed(absent)}, and there are none; "
                f"leave these labels out, or choose another {argument('pos_label')}"
            )
            raise InputError(message)
