"""What was checked, in sentences: of a question, by what was found of its statements.

What nobody can check from a document alone is said too, where a sample was treated in an unusual way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from fairbound.verify.document import Measured, Objective, Point, Question, Single, Statement
from fairbound.verify.names import CEILINGS, TWO_VALUED

#: Characters of a name that are repeated in what is said of each statement.
MOST_SHOWN = 200


class Found(Protocol):
    """What was found of one statement at one radius."""

    number: int
    point: Point
    bound: float | None
    value: float | None
    sampled: bool


def checks(single: Single, found: Sequence[Found]) -> tuple[str, ...]:
    """Return what was checked of a question and holds, each once."""
    question, said = single.question, ["the digest of the population's statistics"]
    if question.metric.name != "loss":
        sure = "" if question.confidence is None else ", together at the claimed confidence"
        said.append(f"that nothing is left out: {len(question.statements)} statements{sure}, each:")
    points = sum(point.claim is not None for point in question.points)
    for one in found:
        said += _of_finding(single, one, points)
    return tuple(dict.fromkeys(said))


def _of_finding(single: Single, found: Found, points: int) -> Iterator[str]:
    question = single.question
    statement, answer = question.statements[found.number], found.point.answers[found.number]
    if found.sampled:
        yield from _sampled(single.population, question, statement)
    if points > 1:
        yield f"{points} certificates of a curve (not its infeasible radii), each:"
    if found.bound is not None:
        count = len(answer.proof.leaves)
        cover = f"the cover of all shares by {count} pieces, and the multipliers of each, in ball arithmetic"
        yield "the multipliers, by weak duality, in ball arithmetic" if count == 1 else cover
    if found.value is not None:
        of = "loss" if statement.objective is None else "means"
        yield f"the worst-case distribution: {_condition(question)}, limits, distance and {of}"


def _condition(question: Question) -> str:
    """Say what a witness was checked for."""
    if not question.fair:
        return "masses of cells"
    tolerance = question.base_rate_tolerance
    return "equal base rates" if tolerance is None else f"base rates within {tolerance!r} of each other"


def _sampled(population: Measured, question: Question, statement: Statement) -> Iterator[str]:
    """Say how a sample was treated, and what has to be chosen without looking at its rows."""
    sampling, rows = statement.sampling, int(population.rows or 0)
    if sampling is None:
        return
    cells = len(population.groups) * len(population.labels)
    region = f"the confidence region {sampling.region!r} at confidence {statement.confidence!r}"
    if question.shift == "stratified":
        how = "exact binomial tails of" if sampling.region == "sphere" else "limits of"
        yield f"{region}: {how} mass and mean loss in the strata of {cells} cells, recomputed from {rows} rows"
        yield "strata, and the points where columns were cut, had to be chosen without looking at the rows"
        if population.loss not in CEILINGS and population.loss not in TWO_VALUED:
            yield f"the ceiling {population.ceiling!r} is valid only if it was chosen without looking at the rows"
        if sampling.region != "sphere":
            yield "not the usual region (sphere): it is valid only if it was chosen without looking at the rows"
        return
    if sampling.losses is None:
        only_means = question.shift == "sensitive" or population.loss in TWO_VALUED
        what = "mean loss" if only_means else "mean and variance of the loss"
        yield f"{region}: limits of mass and {what} in {cells} cells, recomputed from {rows} rows"
        yield "not the usual region (sphere): it is valid only if it was chosen without looking at the rows"
        return
    if sampling.region == "prequential":
        yield (
            f"{region}: {rows} rows recounted in {cells} cells and {len(sampling.losses)} losses, dealt to blocks with "
            f"seed {sampling.seed}, and that bets on each block, made of the rows before it, reject every value of at "
            "least the bound"
        )
        yield "not the usual region (sphere): it, and all radii, had to be chosen without looking at the rows"
        usual = 1 if population.loss in TWO_VALUED else max(4, round(0.7 * rows**0.25))
        yield from _rounded(population, usual, len(sampling.losses) - 1, sampling.seed)
        return
    rounded = "" if sampling.seed is None else f", rounded at random with seed {sampling.seed}"
    yield (
        f"{region}: {rows} rows recounted in {cells} cells and {len(sampling.losses)} losses{rounded}, and what their "
        "exact binomial tails say of P"
    )
    usual = 1 if population.loss in TWO_VALUED else max(2, round(0.8 * rows**0.2))
    yield from _rounded(population, usual, len(sampling.losses) - 1, sampling.seed)


def _rounded(population: Measured, usual: int, intervals: int, seed: int | None) -> Iterator[str]:
    """Say what of the rounding had to be chosen without looking at the rows."""
    if seed is not None and population.loss not in CEILINGS and population.loss not in TWO_VALUED:
        yield (
            f"the ceiling {population.ceiling!r}, on which the rounding depends, is valid only if it was chosen "
            "without looking at the rows"
        )
    if intervals != usual or seed:
        yield (
            f"not the usual rounding ({usual} intervals, seed 0): {intervals} intervals and seed {seed!r} "
            "are valid only if they were chosen without looking at the rows"
        )


def where(single: Single, found: Found) -> str:
    """Name the statement and the radius, to stand before what is said of them."""
    question = single.question
    several = len(list(islice((point for point in question.points if point.claim is not None), 2))) > 1
    named = describe_objective(single.population, question.statements[found.number].objective)
    return named + (f"rho = {found.point.rho!r}: " if several else "")


def describe_objective(population: Measured, about: Objective | None) -> str:
    """Name the groups and the label of a statement, to stand before what is said of it."""
    if about is None:
        return ""
    named = [_named(population.groups, place) for place in (about.plus, about.minus) if place is not None]
    said = f"group {named[0]}" if len(named) == 1 else f"groups {' and '.join(named)}"
    if not named:
        said = "every two groups"
    if about.label is not None:
        said += f", label {'' if about.inside else 'not '}{_named(population.labels, about.label)}"
    return f"{said}: "


def _named(names: Sequence[object], number: int) -> str:
    """Return a name, or what there is in its place: strangers write what they like."""
    return repr(names[number])[:MOST_SHOWN] if number < len(names) else f"number {number} (there is none)"
