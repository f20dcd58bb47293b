"""What a bound rests on, in sentences: worded from the fields of the question, by the program of whoever reads them.

A document carries no such sentences, since its author could leave one out; what binds is what the checker has read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from fairbound.data.losses import LOSSES
from fairbound.data.population import Population, without_variance
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import find_divergence
from fairbound.problem.limits import Limits, limit_sentences
from fairbound.problem.metrics import metric_sentence, objective_sentence
from fairbound.problem.objective import Objective
from fairbound.sampling.region import Surrogate, small_cells
from fairbound.wording.confidence import AROUND_ROWS, draw_sentence, reached_in
from fairbound.wording.digits import exactly
from fairbound.wording.vocabulary import wording


class _Asked(Protocol):
    """What a certificate tells of its question."""

    @property
    def population(self) -> Population: ...
    @property
    def shift(self) -> str: ...
    @property
    def support(self) -> str: ...
    @property
    def divergence(self) -> str: ...
    @property
    def condition(self) -> Condition: ...
    @property
    def objective(self) -> Objective | None: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def region(self) -> str | None: ...
    @property
    def surrogate(self) -> Surrogate | None: ...
    @property
    def group_skew(self) -> float | None: ...
    @property
    def label_skew(self) -> float | None: ...
    @property
    def group_limits(self) -> Limits | None: ...
    @property
    def label_limits(self) -> Limits | None: ...
    @property
    def metric(self) -> str: ...
    @property
    def group(self) -> Hashable | None: ...
    @property
    def comparisons(self) -> Sequence[_Asked]: ...


def assumptions_of(asked: _Asked) -> tuple[str, ...]:
    """Return the sentences of a certificate; those of a metric speak of all its statements at once."""
    if not asked.comparisons:
        return _statement(asked)
    first, population = asked.comparisons[0], asked.population
    said: dict[str, str] = {}
    if first.objective is not None:
        about = metric_sentence(population, asked.metric, asked.group)
        said[objective_sentence(population, first.objective)] = about
    if asked.confidence is not None and first.confidence is not None:
        each = draw_sentence(population.rows, first.confidence)
        said[each] = draw_sentence(population.rows, asked.confidence, len(asked.comparisons))
    return tuple(said.get(sentence, sentence) for sentence in _statement(first))


def _statement(asked: _Asked) -> tuple[str, ...]:
    """Return the sentences of one statement."""
    population, divergence = asked.population, find_divergence(asked.divergence)
    said = wording(population)
    known = population if asked.surrogate is None else asked.surrogate.population
    if divergence.jumps:
        known = without_variance(known)
    sentences = [asked.condition.covered(divergence.ball), known.describe(asked.shift)]
    if asked.objective is not None:
        sentences.insert(1, objective_sentence(population, asked.objective))
    if asked.shift == "sensitive":
        sentences.append(
            "Sensitive shifting: inside each cell of group and label Q equals P; only the masses of the cells move."
        )
    elif asked.shift == "stratified":
        sentences.append(
            "Stratified shifting: inside each stratum of a cell Q equals P; only the masses of strata and cells move, "
            "and a stratum without rows in a cell has none in Q."
        )
    elif asked.support == "observed":
        only = f"Q puts mass only on {said.values} that were observed in the same cell"
        sentences.append(f"General shifting, and {only}.")
    else:
        sentences.append(
            f"General shifting: Q may differ from P inside the cells too; no {said.value} exceeds the ceiling of "
            f"{exactly(population.ceiling)}."
        )
    named = LOSSES.get(population.loss_name)
    if named is not None and population.ceiling < named.ceiling:
        sentences.append(f"The loss {named.name} is cut off at {exactly(population.ceiling)}.")
    if not divergence.escapes:
        sentences.append(
            f"A finite {divergence.words} leaves Q no mass where P has none: what does not occur in P, be it "
            "a loss in a cell or a whole cell, does not occur in Q."
        )
    empty = population.empty_cells
    if empty:
        names = ", ".join(f"({g!r}, {y!r})" for g, y in empty[:20])
        names += f" and {len(empty) - 20} more" if len(empty) > 20 else ""
        worst = f"{said.worst}, the ceiling" if asked.objective is None else "worst value that there can be"
        given = f"are given the {worst}" if divergence.escapes else "have no mass in Q"
        sentences.append(f"Cells without data {given}: {names}.")
    excluded = population.excluded_rows
    if excluded:
        rows = "was 1 row" if excluded == 1 else f"were {excluded} rows"
        sentences.append(f"Left out of P {rows} in which a value was missing.")
    for name, skew in (("group", asked.group_skew), ("label", asked.label_skew)):
        if skew is not None:
            sentences.append(f"Any two {name} shares of Q differ by at most {exactly(skew)}.")
    sentences += limit_sentences(population, asked.group_limits, asked.label_limits)
    return (*sentences, *_sampling(asked))


def _sampling(asked: _Asked) -> tuple[str, ...]:
    """Say whether P is known, or how a sample speaks of it."""
    if asked.surrogate is None:
        return (
            "P is taken to be exactly the distribution of the given rows or statistics: no allowance is made for "
            "sampling error. Rows should be held out from training.",
        )
    population, objective = asked.population, asked.objective
    other = "larger" if objective is not None and objective.ratio else "smaller"
    other = "larger or smaller" if asked.region in AROUND_ROWS else other
    return (
        draw_sentence(population.rows, asked.confidence or 0.0, region=asked.region),
        "P's groups and labels are those named here.",
        *asked.surrogate.sentences,
        f"The attained {wording(population).one if objective is None else 'value'} belongs to a "
        f"distribution {reached_in(asked.region)}; the worst case around P itself may be {other}.",
        *(f"Few rows in a cell: {text}." for text in small_cells(population)),
    )
