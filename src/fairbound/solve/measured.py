"""Measured change: how far two samples are apart, so that a radius is seen and not guessed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats
from fairbound.data.loss_summary import LossTable
from fairbound.data.population import Population
from fairbound.data.strata import ByStratum
from fairbound.errors import InputError, argument, given
from fairbound.problem.divergences import DIVERGENCES, find_divergence
from fairbound.sampling.region import read_confidence
from fairbound.solve.between import check_population, check_rows, distance_of, matched, upper_distance
from fairbound.wording.notebook import html_paragraph, html_table
from fairbound.wording.table import text_table

#: With more values than these, losses are taken for continuous: two samples of one source would be far apart.
MOST_VALUES = 32

#: What is compared, by the shift that may change it; what it is called.
COMPARED = {"sensitive": "cells", "stratified": "strata", "general": "losses"}


@dataclass(frozen=True)
class MeasuredShift:
    """How far a population is from an earlier one: what :func:`shift_between` returns.

    Attributes
    ----------
    cells, strata, losses
        By divergence, how far the shares of cells are apart; those of the strata of cells; and those of cells and
        losses together. None where that is not known of both, or no sample bounds it.
    confidence
        The probability with which each is at least the distance between the sources; None if the rows are all there is.
    rows
        Numbers of rows of both; None if one was made from moments.
    """

    cells: dict[str, float | None]
    strata: dict[str, float | None] | None
    losses: dict[str, float | None] | None
    confidence: float | None
    rows: tuple[int, int] | None

    def radius(self, divergence: str = "hellinger", shift: str = "general") -> float:
        """Return the radius that was measured, for a shift that may change what was compared."""
        what = COMPARED[shift]
        found: dict[str, float | None] | None = getattr(self, what)
        if find_divergence(divergence).order is not None:
            message = (
                f"{argument('rho')}: {given('divergence', divergence)} was not measured; pass the number that "
                "divergence_between returns for it"
            )
            raise InputError(message)
        value = None if found is None else found[divergence]
        if value is None:
            why = (
                "needs losses of few values, known for both samples; use shift='sensitive'"
                if what == "losses" and found is None
                else "needs strata of both samples; name their columns with strata="
                if found is None
                else "is bounded by no sample; leave confidence out, or use 'hellinger' or 'total_variation'"
            )
            message = f"{argument('rho')}: the measured change of {what} ({given('divergence', divergence)}) {why}"
            raise InputError(message)
        return min(value, DIVERGENCES[divergence].most)

    def told(self, divergence: str, shift: str, *, several: bool = False) -> str:
        """Say where a radius came from; of several, which one."""
        sure = "as they are" if self.confidence is None else f"with a confidence of {self.confidence:g}"
        rows = "" if self.rows is None else f" of {self.rows[0]:,} and {self.rows[1]:,} rows"
        words = find_divergence(divergence).words
        which = f" = {self.radius(divergence, shift):.6g}" if several else ""
        return (
            f"rho{which} is the {words} that was measured between two samples{rows}, {sure}: of their "
            f"{'cells and losses' if shift == 'general' else COMPARED[shift]}."
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        parts = {what: found for what in ("cells", "strata", "losses") if (found := getattr(self, what)) is not None}
        rows = [
            [name, *("-" if found[name] is None else f"{found[name]:.4f}" for found in parts.values())]
            for name in DIVERGENCES
        ]
        return ["divergence", *parts], rows

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", at most, with a confidence of {self.confidence:g} each"
        return f"How far the two are apart{sure}\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return html_paragraph(repr(self).split("\n", 1)[0], strong=True) + html_table(*self._table())


def shift_between(before: Population, after: Population, *, confidence: float | None = None) -> MeasuredShift:
    """Measure how far two samples are apart: years, regions or sites.

    In every distance, for the shares of cells, of the strata of cells (if both have strata), and of cells and losses
    together (if these have few values). Pass what it returns as ``rho`` to :func:`certify`: the radius of the
    question's divergence and shift is taken, and the certificate says where it came from.

    Parameters
    ----------
    before, after
        The populations, with the same groups and labels. ``before`` plays the data P, ``after`` plays Q.
    confidence
        None compares the rows as they are. A level such as 0.95 takes the rows of both for independent draws, and
        returns upper bounds of the distances between their sources, each with at least that probability; of "hellinger"
        and "total_variation" only. Strata, and values of losses, have to be chosen without looking at the rows.

    Examples
    --------
    >>> from fairbound import Population, certify, shift_between
    >>> mean = [[0.1, 0.3], [0.1, 0.5]]
    >>> last_year = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], mean)
    >>> this_year = Population.from_moments([[0.35, 0.25], [0.25, 0.15]], mean)
    >>> change = shift_between(last_year, this_year)
    >>> change
    How far the two are apart
      divergence        cells
      ---------------  ------
      hellinger        0.0768
      total_variation  0.1000
      kl               0.0243
      chi_squared      0.0521
      trimming         0.3333
    >>> certify(this_year, change, shift="sensitive", fair=False)
    Certificate(bound=0.243626, attained=0.243626, rho=0.0767574, shift='sensitive', fair=False, status=TIGHT)
    """
    for name, population in (("before", before), ("after", after)):
        check_population(name, population)
        if confidence is not None:
            check_rows(name, population)
    error = None if confidence is None else 1.0 - read_confidence(confidence)
    order = matched(before, after)
    tables: list[tuple[Floats, Floats] | None] = [
        (before.weight, after.weight[order]),
        _strata(before, after, order),
        _losses(before, after, order),
    ]
    found = [None if pair is None else _distances(*pair, error) for pair in tables]
    rows = None if before.rows is None or after.rows is None else (before.rows, after.rows)
    return MeasuredShift(found[0] or {}, found[1], found[2], confidence, rows)


def _distances(first: Floats, second: Floats, error: float | None) -> dict[str, float | None]:
    """Return all distances of weights, or bounds of those between what they were drawn from."""
    p, q = first / first.sum(), second / second.sum()
    if error is None:
        return {name: distance_of(divergence, p, q) for name, divergence in DIVERGENCES.items()}
    return {
        name: upper_distance(divergence, first, second, error) if divergence.escapes else None
        for name, divergence in DIVERGENCES.items()
    }


def _strata(before: Population, after: Population, order: tuple[AnyArray, ...]) -> tuple[Floats, Floats] | None:
    """Return the weights of strata of both, in one order."""
    if before.strata is None or after.strata is None:
        return None
    tables: list[ByStratum] = [before.strata.losses, after.strata.losses]
    names = dict.fromkeys(name for table in tables for name in table.names)
    if not {*tables[0].names} & {*tables[1].names}:
        message = (
            f"the strata of {argument('before')} and {argument('after')} have no name in common; cut numbers of both "
            "at the same points, such as cuts={'age': [25, 45]}"
        )
        raise InputError(message)
    place: dict[Hashable, int] = {name: at for at, name in enumerate(names)}
    found = []
    for table, weight in zip(tables, (tables[0].weight, tables[1].weight[order]), strict=True):
        spread = np.zeros((*weight.shape[:2], len(names)))
        spread[..., [place[name] for name in table.names]] = weight
        found.append(spread)
    return found[0], found[1]


def _losses(before: Population, after: Population, order: tuple[AnyArray, ...]) -> tuple[Floats, Floats] | None:
    """Return the weights of cells and losses of both, if these are few values; bins would hide what differs in them."""
    tables = before.knowledge, after.knowledge
    values: set[float] = {0.0, before.ceiling} if before.two_valued else set()
    for table in tables:
        if not isinstance(table, LossTable) or isinstance(table, ByStratum) or (table.low != table.high).any():
            return None
        values |= set(table.low[table.weight > 0].tolist())
    if before.loss_name != after.loss_name or len(values) > MOST_VALUES:
        return None
    found = []
    for table in tables:
        if isinstance(table, LossTable):
            found.append(np.stack([(table.weight * (table.low == v)).sum(axis=2) for v in sorted(values)], axis=-1))
    return found[0], found[1][order]
