"""The metrics that are asked for, each with what it has of its own: a threshold, radii, a group, a label."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairbound.cli.output import ProblemError
from fairbound.errors import suggestion
from fairbound.problem.metrics import METRICS

#: All metrics.
NAMES = ("loss", *METRICS)

#: The options that set thresholds: of what is bounded from above, and from below.
ABOVE, BELOW = "--fail-above", "--fail-below"


@dataclass(frozen=True)
class Wanted:
    """A metric, and what is asked of it.

    Attributes
    ----------
    metric
        Its name.
    threshold
        What its bounds have to keep; None for nothing.
    rhos
        Radii of its own; None for those of all.
    group, pos_label
        The group and the label that it is about, by the names that the tables show; None for what all are about.
    """

    metric: str
    threshold: float | None = None
    rhos: Sequence[float] | None = None
    group: str | None = None
    pos_label: str | None = None

    @property
    def lower(self) -> bool:
        """Whether it is bounded from below."""
        return bounded_from_below(self.metric)


def bounded_from_below(metric: str) -> bool:
    """Whether a metric is bounded from below, as ratios are."""
    return metric in METRICS and METRICS[metric].lower


def checked_name(metric: str, where: str) -> str:
    """Return the name of a metric; of one that does not exist, say which it may be."""
    if metric not in NAMES:
        message = f"{where} {metric!r} is not known; {suggestion(metric, NAMES)}"
        raise ProblemError(message)
    return metric


def metrics(arguments: argparse.Namespace) -> list[str]:
    """Return the metrics that the options ask for, each once."""
    return list(dict.fromkeys(arguments.metric or ["loss"]))


def wanted(arguments: argparse.Namespace) -> tuple[Wanted, ...]:
    """Return what the options ask for."""
    asked = metrics(arguments)
    given = {ABOVE: arguments.fail_above or (), BELOW: arguments.fail_below or ()}
    limits = _thresholds(asked, given)
    return tuple(Wanted(metric, limits.get(metric)) for metric in asked)


def _thresholds(asked: list[str], given: Mapping[str, Iterable[tuple[str | None, float]]]) -> dict[str, float]:
    """Return the thresholds by metric."""
    found: dict[str, float] = {}
    for option, pairs in given.items():
        fitting = [metric for metric in asked if bounded_from_below(metric) == (option == BELOW)]
        for named, value in pairs:
            metric = named or (fitting[0] if len(fitting) == 1 else None)
            if metric is None and fitting:
                message = f"{option} {value:g}: say of which metric, as in {option} {fitting[0]}={value:g}"
                raise ProblemError(message)
            wrong = metric or asked[0]
            if wrong not in asked:
                message = f"{option}: {wrong} is not asked for; add --metric {wrong}"
                raise ProblemError(message)
            check_side(wrong, option, option)
            if wrong in found:
                message = f"{option}: {wrong} has two thresholds; give one"
                raise ProblemError(message)
            found[wrong] = value
    return found


def check_side(metric: str, option: str, where: str) -> None:
    """Refuse the threshold of the wrong side."""
    lower = bounded_from_below(metric)
    if lower != option.endswith("below"):
        right = (BELOW if lower else ABOVE)[0 if option.startswith("--") else 2 :]
        message = f"{where}: {metric} is bounded from {'below' if lower else 'above'}; use {right}"
        raise ProblemError(message)
