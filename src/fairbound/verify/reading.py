"""Reading documents that come from strangers: of the right form, with parts that fit together.

Section "What fits together" of docs/specification.md, rule by rule. No code from a document is ever run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from typing import Any

from fairbound.verify.beside.looks import taken_for
from fairbound.verify.divergences import FAMILIES, divergence_of
from fairbound.verify.document import (
    Answer,
    Claim,
    Document,
    Knowledge,
    Limits,
    Losses,
    MeanVariance,
    Measure,
    Objective,
    Population,
    Question,
    Sampling,
    Strata,
)
from fairbound.verify.names import CEILINGS, SELECTED, TWO_VALUED
from fairbound.verify.strict import MalformedError, canonical, check_shapes, parse, read

#: Lengths of lists by their letters: groups s, labels c, searched shares x, shares of the other side o, limits of
#: groups g and of labels l, losses n, and w for what omega has in form F.
Lengths = dict[str, int]


def parsed_object(document: str | bytes | dict[str, Any]) -> dict[str, Any]:
    """Return the object that a document is, given as JSON text or as parsed by ``json.loads``."""
    parsed = parse(document) if isinstance(document, str | bytes) else document
    _check(isinstance(parsed, dict), "", "the document is not a JSON object")
    return parsed


def read_document(document: str | bytes | dict[str, Any]) -> Document:
    """Return a document, given as JSON text or as parsed by ``json.loads``, if it is well-formed."""
    found = read(Document, parsed_object(document))
    lengths = {"s": len(found.population.groups), "c": len(found.population.labels)}
    with _inside("population"):
        _check_population(found.population, lengths)
    _check(bool(found.questions), "questions", "must have one entry or more")
    for number, question in enumerate(found.questions):
        with _inside(f"questions[{number}]"):
            known = question.measure < len(found.population.measures)
            _check(known, "measure", "must be the number of one of population.measures")
            given = (question.confidence is None) == (found.confidence is None)
            _check(given, "confidence", "must be given if that of the document is, or not at all")
            _check_confidences(found.confidence, question.confidence)
            _check_question(question)
            for side, letter, limits in (("s", "g", question.group_limits), ("c", "l", question.label_limits)):
                lengths[letter] = len(limits.most)
                name = "group_limits" if side == "s" else "label_limits"
                check_shapes(limits, {"m": lengths[letter], "n": lengths[side]}, name)
            _check_statements(question, found.population.measures[question.measure], lengths)
            _check_points(question, lengths)
    asked = [gate.question for gate in found.gates]
    for number, question_number in enumerate(asked):
        _check(question_number < len(found.questions), f"gates[{number}].question", "must be the number of a question")
    _check(len(set(asked)) == len(asked), "gates", "must be one for a question, or none")
    return found


def _check(holds: bool, where: str, why: str) -> None:
    if not holds:
        raise MalformedError(why, where)


@contextmanager
def _inside(where: str) -> Iterator[None]:
    """Say of what is wrong where it stands."""
    try:
        yield
    except MalformedError as error:
        raise error.within(where) from None


def _check_confidences(*levels: float | None) -> None:
    _check(all(v is None or 0 < v < 1 for v in levels), "confidence", "must lie strictly between 0 and 1")


def _check_population(population: Population, lengths: Lengths) -> None:
    for side, names in (("groups", population.groups), ("labels", population.labels)):
        _check(len(names) >= 2, side, "must have two entries or more")
        _check(len(set(map(canonical, names))) == len(names), side, "has the same name twice")
    check_shapes(population, lengths)
    _check(any(map(any, population.weight)), "weight", "must be positive somewhere")
    _check(bool(population.measures), "measures", "must have one entry or more")
    called = [(measure.loss, canonical(measure.pos_label)) for measure in population.measures]
    _check(len(set(called)) == len(called), "measures", "has the same name twice: sentences do not tell them apart")
    for number, measure in enumerate(population.measures):
        with _inside(f"measures[{number}]"):
            named = measure.pos_label is None or measure.loss == SELECTED
            _check(named, "pos_label", f"must be null unless loss is {SELECTED!r}")
            _check_knowledge(population.weight, measure.knowledge, measure.ceiling, lengths)
            _check_named_values(measure)


def _check_named_values(measure: Measure) -> None:
    """Check that values are what the name of the loss says: whoever reads the name relies on it."""
    name, known, ceiling = measure.loss, measure.knowledge, measure.ceiling
    alike = taken_for(name)
    _check(alike is None, "loss", f"must not look like {alike!r} and be another name")
    top = CEILINGS.get(name)
    within = top is None or (ceiling is not None and ceiling <= top)
    _check(within, "ceiling", f"must be at most {top} for the loss {name}")
    if name in TWO_VALUED:
        _check(ceiling == 1, "ceiling", f"must be 1 for the loss {name}, which is 0 or 1")
        plain = not isinstance(known, MeanVariance)
        _check(plain, "knowledge", f"must not have variances for the loss {name}, which is 0 or 1")
        bins = [b for row in known.cells for cell in row for b in cell] if isinstance(known, Losses) else []
        only = all(low == high and high in {0, 1} for low, high, *_ in bins)
        _check(only, "knowledge.cells", f"must have no losses but 0 and 1 for the loss {name}")


def _check_knowledge(weight: list[list[float]], known: Knowledge, top: float | None, lengths: Lengths) -> None:
    """Check losses or moments that are possible."""
    if isinstance(known, Strata):
        _check_strata(weight, known, top, lengths)
        return
    moments = not isinstance(known, Losses)
    _check(not moments or (top or 0) > 0, "ceiling", "must be positive where only moments are known")
    for s, y in product(range(lengths["s"]), range(lengths["c"])):
        if isinstance(known, Losses):
            bins, at = known.cells[s][y], f"knowledge.cells[{s}][{y}]"
            whole = all(low <= high and w > 0 and share <= 1 for low, high, w, share in bins)
            _check(whole, at, "must have bins of low <= high, weight > 0, and the share of high, at most 1")
            _check(top is None or all(b[1] <= top for b in bins), at, "has a loss above the ceiling")
            close = abs(math.fsum(b[2] for b in bins) - weight[s][y]) <= 1e-9 * weight[s][y]
            _check(close, at, "has bins that do not add up to the weight of the cell")
            continue
        mean, most = known.mean[s][y], top or 0.0
        _check(mean <= most, f"knowledge.mean[{s}][{y}]", "is above the ceiling")
        possible = not isinstance(known, MeanVariance) or known.variance[s][y] <= mean * (most - mean) * (1 + 1e-9)
        _check(possible, f"knowledge.variance[{s}][{y}]", "is impossible for its mean")


def _check_strata(
    weight: list[list[float]], known: Strata, top: float | None, lengths: Lengths, *, sampled: bool = False
) -> None:
    """Check weights and means of strata; what has no weight has no mean, but of a sample a limit of it."""
    distinct = bool(known.names) and len(set(map(canonical, known.names))) == len(known.names)
    _check(distinct, "knowledge.names", "must have an entry or more, and none twice")
    for s, y in product(range(lengths["s"]), range(lengths["c"])):
        at, cell = f"knowledge.cells[{s}][{y}]", known.cells[s][y]
        _check(len(cell) == len(known.names), at, f"must have {len(known.names)} entries, not {len(cell)}")
        possible = all(mean == 0 if w == 0 and not sampled else top is None or mean <= top for w, mean in cell)
        _check(possible, at, "has a mean above the ceiling, or one of nothing")
        close = abs(math.fsum(w for w, _ in cell) - weight[s][y]) <= 1e-9 * weight[s][y]
        _check(close, at, "has strata that do not add up to the weight of the cell")


def _check_question(question: Question) -> None:
    tolerance = question.base_rate_tolerance
    near = tolerance is None or (question.fair and tolerance > 0)
    _check(near, "base_rate_tolerance", "must be positive, and null if fair is false")
    free = (question.fair and tolerance is None) or question.label_limits == Limits(None, [], [])
    _check(free, "label_limits", "must be empty where base rates may differ")
    within = question.shift != "stratified" or question.support == "observed"
    _check(within, "support", "must be observed where only strata move")
    known = (question.order is not None) == (question.divergence in FAMILIES) and question.order != 1
    _check(known, "order", "must be given of cressie_read alone, and not be 1")
    sampled = question.confidence is not None
    _check(
        not sampled or question.divergence == "hellinger",
        "divergence",
        "must be hellinger in finite-sample certificates",
    )


def _check_statements(question: Question, measure: Measure, lengths: Lengths) -> None:
    statements, plain = question.statements, question.metric.name == "loss"
    _check(bool(statements), "statements", "must have one entry or more")
    _check(not plain or len(statements) == 1, "statements", "must be one for the metric loss")
    _check(not plain or question.metric.group is None, "metric.group", "must be null for the metric loss")
    for index, statement in enumerate(statements):
        with _inside(f"statements[{index}]"):
            about, sampling = statement.objective, statement.sampling
            _check((about is None) == plain, "objective", "must be null for the metric loss, and only there")
            if about is not None and about.ratio:
                whole = (about.plus is None) == (about.minus is None) and about.label is None
                _check(whole, "objective.ratio", "is for two groups, and for all of their rows")
            same = len({level is None for level in (statement.confidence, sampling, question.confidence)}) == 1
            _check(same, "confidence", "must be given with a sample and a confidence of the question, or not at all")
            _check_confidences(statement.confidence)
            if sampling is not None:
                with _inside("sampling"):
                    _check_sampling(sampling, statements[0].sampling, measure, question.shift, lengths)


def _check_sampling(sampling: Sampling, first: Sampling | None, measure: Measure, shift: str, lengths: Lengths) -> None:
    """Check what takes P's place, and the counts that it was made from."""
    losses, counts, top = sampling.losses, sampling.counts, measure.ceiling
    stratified = shift == "stratified"
    _check((top or 0) > 0, "", "needs a positive ceiling of the losses")
    _check((losses is None) == (counts is None), "counts", "must be given with losses, or not at all")
    check_shapes(sampling, {**lengths, "n": len(losses or [])})
    _check(any(map(any, sampling.weight)), "weight", "must be positive somewhere")
    fits = isinstance(sampling.knowledge, Strata) is stratified
    _check(fits, "knowledge", "must be of strata where only they move, and only there")
    if isinstance(sampling.knowledge, Strata):
        known = measure.knowledge
        same = isinstance(known, Strata) and canonical(known.names) == canonical(sampling.knowledge.names)
        _check(same, "knowledge.names", "must be those of the population")
        _check_strata(sampling.weight, sampling.knowledge, top, lengths, sampled=True)
    else:
        _check_knowledge(sampling.weight, sampling.knowledge, top, lengths)
    if losses is not None:
        rising = len(losses) >= 2 and losses[0] == 0 and losses[-1] == top and all(a < b for a, b in pairwise(losses))
        _check(rising, "losses", "must increase from 0 to the ceiling")
    for key in ("losses", "counts", "seed"):  # what nobody looks at, nobody may read
        unused = (stratified or sampling.region == "hoeffding") and getattr(sampling, key) is not None
        _check(not unused, key, "must be null for strata and for the region hoeffding, which know no rounding")
    for key in ("region", "losses", "seed"):
        same = getattr(sampling, key) == getattr(first, key)
        _check(same, key, "must be the same for all statements: they rest on one sample")


def _check_points(question: Question, lengths: Lengths) -> None:
    points, statements, distance = question.points, question.statements, question.distance or 0.0
    most = divergence_of(question).most
    _check(distance <= most, "distance", "is larger than the divergence can be")
    certified = [point.rho for point in points if point.claim is not None]
    _check(bool(certified), "points", "must have a certified radius: otherwise there is nothing to check")
    _check(question.distance is not None or len(points) == 1, "distance", "must be told of a curve")
    none = max([distance, *(point.rho for point in points if point.claim is None)])
    _check(none <= min(certified) + 1e-9, "points",
           f"contradict each other: {none!r} cannot be infeasible if {min(certified)!r} is not")  # fmt: skip
    ratio = any(one.objective is not None and one.objective.ratio for one in statements)
    for index, point in enumerate(points):
        with _inside(f"points[{index}]"):
            _check(point.rho <= most, "rho", "is larger than the divergence can be")
            whole = len(point.answers) == (0 if point.claim is None else len(statements))
            _check(whole, "answers", "must be one for each statement, or none if the radius is infeasible")
            for number, (answer, statement) in enumerate(zip(point.answers, statements, strict=False)):
                with _inside(f"answers[{number}]"):
                    _check_answer(answer, statement.objective, lengths)
            claims: list[Answer | Claim] = [*point.answers, *([] if point.claim is None else [point.claim])]
            values = [v for claim in claims for v in (claim.bound, claim.attained) if v is not None]
            _check(not ratio or max(values, default=0) <= 1, "claim", "must be at most 1 for a ratio")
            signed = question.metric.name != "loss" and not ratio
            _check(signed or min(values, default=0) >= 0, "claim", "must not be negative for a loss or a ratio")


def _check_answer(answer: Answer, about: Objective | None, lengths: Lengths) -> None:
    _check((answer.witness is None) == (answer.attained is None), "witness", "must be given with what it attains")
    every = about is not None and about.plus is None and about.minus is None
    _check(not every or answer.witness is None, "witness", "must be null for every two groups: it is one pair's")
    s, c, axis = lengths["s"], lengths["c"], answer.proof.axis
    searched = {"group": s, "label": c, "part": 1 if about is None or about.label is None else 2}[axis]
    own = {"x": searched, "o": c if axis == "group" else s, "w": c if axis == "part" else searched}
    check_shapes(answer, lengths | own)
