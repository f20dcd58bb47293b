"""Reading documents that come from strangers: of the right form, with parts that fit together.

Standard library only; no code from a document is ever run.
"""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

from fairbound.verify.document import (
    LARGEST_RADIUS,
    Answer,
    Claim,
    Document,
    Knowledge,
    Leaf,
    Limits,
    Losses,
    MeanVariance,
    Measure,
    Pairwise,
    Population,
    Question,
    Sampling,
    Shared,
    Statement,
    Strata,
    Tilted,
)
from fairbound.verify.names import CEILINGS, OURS, RESERVED, SELECTED, TWO_VALUED, looks
from fairbound.verify.strict import MalformedError, canonical, parse, read

#: The divergences that are at most one.
UNIT_RANGE = ("hellinger", "total_variation", "trimming")

Shape = tuple[int, ...]


def parsed_object(document: str | bytes | dict[str, Any]) -> dict[str, Any]:
    """Return the object that a document is, given as JSON text or as parsed by ``json.loads``."""
    if not isinstance(document, str | bytes | dict):
        raise MalformedError("a document is JSON text, or what json.loads makes of it")
    parsed = document if isinstance(document, dict) else parse(document)
    if not isinstance(parsed, dict):
        raise MalformedError("the document is not a JSON object")
    return parsed


def read_document(document: str | bytes | dict[str, Any]) -> Document:
    """Return a document, given as JSON text or as parsed by ``json.loads``, if it is well-formed."""
    found = read(Document, parsed_object(document))
    shape = _check_population(found.population)
    _check(bool(found.questions), "questions", "must have one entry or more")
    for number, question in enumerate(found.questions):
        try:
            known = question.measure < len(found.population.measures)
            _check(known, "measure", "must be the number of one of population.measures")
            _check_sureness(question.confidence, found.confidence)
            _check_question(question, shape)
            _check_statements(question, found.population.measures[question.measure].ceiling, shape)
            _check_points(question, shape)
        except MalformedError as error:
            raise error.within(f"questions[{number}]") from None
    for number, gate in enumerate(found.gates):
        _check(gate.question < len(found.questions), f"gates[{number}].question", "must be the number of a question")
    gated = [gate.question for gate in found.gates]
    _check(len(set(gated)) == len(gated), "gates", "must be one for a question, or none")
    return found


def _check_sureness(confidence: float | None, together: float | None) -> None:
    given = (confidence is None) == (together is None)
    _check(given, "confidence", "must be given if that of the document is, or not at all")
    for level in (confidence, together):
        _check(level is None or 0 < level < 1, "confidence", "must lie strictly between 0 and 1")


def _check(holds: bool, where: str, why: str) -> None:
    if not holds:
        raise MalformedError(why, where)


def _check_shape(value: Any, where: str, shape: Shape) -> None:
    """Check the lengths of lists in lists."""
    _check(len(value) == shape[0], where, f"must have {shape[0]} entries, not {len(value)}")
    if len(shape) > 1:
        for index, entry in enumerate(value):
            _check_shape(entry, f"{where}[{index}]", shape[1:])


def _check_population(population: Population) -> Shape:
    for side, names in (("groups", population.groups), ("labels", population.labels)):
        where = f"population.{side}"
        _check(len(names) >= 2, where, "must have two entries or more")
        _check(len(set(map(canonical, names))) == len(names), where, "has the same name twice")
    shape = len(population.groups), len(population.labels)
    _check(bool(population.measures), "population.measures", "must have one entry or more")
    for number, measure in enumerate(population.measures):
        where = f"population.measures[{number}]"
        named = measure.positive is None or measure.loss == SELECTED
        _check(named, f"{where}.positive", f"must be null unless loss is {SELECTED!r}")
        _check_cells(population.weight, measure.knowledge, "population", where, measure.ceiling, shape)
        _check_named_values(measure, where)
    return shape


def _check_named_values(measure: Measure, where: str) -> None:
    """Check that values are what the name of the loss says: whoever reads the name relies on it."""
    name, known = measure.loss, measure.knowledge
    alike = next((ours for ours in RESERVED if looks(ours) == looks(name) and name not in OURS), None)
    _check(alike is None, f"{where}.loss", f"must not look like {alike!r} and be another name")
    top = CEILINGS.get(name)
    if top is not None:
        within = measure.ceiling is not None and measure.ceiling <= top
        _check(within, f"{where}.ceiling", f"must be at most {top:g} for the loss {name}")
    if name not in TWO_VALUED:
        return
    _check(measure.ceiling == 1, f"{where}.ceiling", f"must be 1 for the loss {name}, which is 0 or 1")
    where = f"{where}.knowledge"
    plain = not isinstance(known, MeanVariance)
    _check(plain, where, f"must not have variances for the loss {name}, which is 0 or 1")
    if isinstance(known, Losses):
        only = all(b[0] == b[1] and b[1] in {0, 1} for row in known.cells for cell in row for b in cell)
        _check(only, f"{where}.cells", f"must have no losses but 0 and 1 for the loss {name}")


def _check_cells(
    weight: list[list[float]], known: Knowledge, whose: str, where: str, top: float | None, shape: Shape
) -> None:
    """Check weights, and losses or moments that are possible."""
    _check_shape(weight, f"{whose}.weight", shape)
    _check(any(map(any, weight)), f"{whose}.weight", "must be positive somewhere")
    ceiling, where = f"{where}.ceiling", f"{where}.knowledge"
    if isinstance(known, Losses):
        _check_shape(known.cells, f"{where}.cells", shape)
        for s, row in enumerate(known.cells):
            for y, bins in enumerate(row):
                at = f"{where}.cells[{s}][{y}]"
                whole = all(low <= high and w > 0 and share <= 1 for low, high, w, share in bins)
                _check(whole, at, "must have bins of low <= high, weight > 0, and the share of high, at most 1")
                _check(top is None or all(b[1] <= top for b in bins), at, "has a loss above the ceiling")
                close = abs(math.fsum(b[2] for b in bins) - weight[s][y]) <= 1e-9 * weight[s][y]
                _check(close, at, "has bins that do not add up to the weight of the cell")
        return
    if isinstance(known, Strata):
        _check_strata(weight, known, where, top)
        return
    _check_shape(known.mean, f"{where}.mean", shape)
    if top is None or not top > 0:
        raise MalformedError("must be positive where only moments are known", ceiling)
    spread = known.variance if isinstance(known, MeanVariance) else None
    if spread is not None:
        _check_shape(spread, f"{where}.variance", shape)
    for s, y in product(*map(range, shape)):
        mean = known.mean[s][y]
        _check(mean <= top, f"{where}.mean[{s}][{y}]", "is above the ceiling")
        possible = spread is None or spread[s][y] <= mean * (top - mean) * (1 + 1e-9)
        _check(possible, f"{where}.variance[{s}][{y}]", "is impossible for its mean")


def _check_strata(weight: list[list[float]], known: Strata, where: str, top: float | None) -> None:
    """Check weights and means of strata; what has no weight has no mean."""
    distinct = bool(known.names) and len(set(map(canonical, known.names))) == len(known.names)
    _check(distinct, f"{where}.names", "must have an entry or more, and none twice")
    _check_shape(known.cells, f"{where}.cells", (len(weight), len(weight[0]), len(known.names)))
    for s, y in product(range(len(weight)), range(len(weight[0]))):
        at, cell = f"{where}.cells[{s}][{y}]", known.cells[s][y]
        possible = all(mean == 0 if w == 0 else top is None or mean <= top for w, mean in cell)
        _check(possible, at, "has a mean above the ceiling, or one of nothing")
        close = abs(math.fsum(w for w, _ in cell) - weight[s][y]) <= 1e-9 * weight[s][y]
        _check(close, at, "has strata that do not add up to the weight of the cell")


def _check_question(question: Question, shape: Shape) -> None:
    for side, limits, size in zip(
        ("group", "label"), (question.group_limits, question.label_limits), shape, strict=True
    ):
        where = f"{side}_limits"
        _check_shape(limits.rows, f"{where}.rows", (len(limits.most), size))
    tolerance = question.base_rate_tolerance
    near = tolerance is None or (question.fair and tolerance > 0)
    _check(near, "base_rate_tolerance", "must be positive, and null if fair is false")
    free = (question.fair and tolerance is None) or question.label_limits == Limits(None, [], [])
    _check(free, "label_limits", "must be empty where base rates may differ")
    within = question.shift != "stratified" or question.support == "observed"
    _check(within, "support", "must be observed where only strata move")
    if question.confidence is not None:
        known = question.divergence == "hellinger"
        _check(known, "divergence", "must be hellinger in finite-sample certificates")
        _check(question.shift != "stratified", "shift", "must not be stratified in finite-sample certificates")


def _check_statements(question: Question, top: float | None, shape: Shape) -> None:
    statements = question.statements
    _check(bool(statements), "statements", "must have one entry or more")
    plain = question.metric.name == "loss"
    for index, statement in enumerate(statements):
        where, about = f"statements[{index}]", statement.objective
        _check((about is None) == plain, f"{where}.objective", "must be null for the metric loss, and only there")
        if about is not None and about.ratio:
            whole = (about.plus is None) == (about.minus is None) and about.label is None
            _check(whole, f"{where}.objective.ratio", "is for two groups, and for all of their rows")
        sampled = statement.sampling is not None
        same = (statement.confidence is not None) == sampled and (question.confidence is not None) == sampled
        _check(
            same, f"{where}.confidence", "must be given with a sample and a confidence of the question, or not at all"
        )
        level = statement.confidence
        _check(level is None or 0 < level < 1, f"{where}.confidence", "must lie strictly between 0 and 1")
        if statement.sampling is not None:
            _check_sampling(statement.sampling, f"{where}.sampling", top, shape)
            for key in ("region", "losses", "seed"):
                same = getattr(statement.sampling, key) == getattr(statements[0].sampling, key)
                _check(same, f"{where}.sampling.{key}", "must be the same for all statements: they rest on one sample")
    _check(not plain or len(statements) == 1, "statements", "must be one for the metric loss")
    _check(not plain or question.metric.group is None, "metric.group", "must be null for the metric loss")


def _check_sampling(sampling: Sampling, where: str, top: float | None, shape: Shape) -> None:
    """Check what takes P's place, and the counts that it was made from."""
    if top is None or not top > 0:
        raise MalformedError("needs a positive ceiling of the losses", where)
    _check(not isinstance(sampling.knowledge, Strata), f"{where}.knowledge", "must not be of strata")
    _check_cells(sampling.weight, sampling.knowledge, where, where, top, shape)
    losses, counts = sampling.losses, sampling.counts
    if sampling.region == "hoeffding":  # which knows no rounding: what nobody looks at, nobody may read
        for key in ("losses", "counts", "seed"):
            _check(getattr(sampling, key) is None, f"{where}.{key}", "must be null for the region hoeffding")
    _check((losses is None) == (counts is None), f"{where}.counts", "must be given with losses, or not at all")
    if losses is not None and counts is not None:
        rising = len(losses) >= 2 and losses[0] == 0 and losses[-1] == top and all(a < b for a, b in pairwise(losses))
        _check(rising, f"{where}.losses", "must increase from 0 to the ceiling")
        _check_shape(counts, f"{where}.counts", (*shape, len(losses)))


def _check_points(question: Question, shape: Shape) -> None:
    points, statements = question.points, question.statements
    most = 1.0 if question.divergence in UNIT_RANGE else LARGEST_RADIUS
    _check((question.distance or 0.0) <= most, "distance", "is larger than the divergence can be")
    certified = [point.rho for point in points if point.claim is not None]
    _check(bool(certified), "points", "must have a certified radius: otherwise there is nothing to check")
    _check(question.distance is not None or len(points) == 1, "distance", "must be told of a curve")
    infeasible = max([question.distance or 0.0, *(point.rho for point in points if point.claim is None)])
    feasible = infeasible <= min(certified) + 1e-9
    _check(
        feasible, "points", f"contradict each other: {infeasible!r} cannot be infeasible if {min(certified)!r} is not"
    )
    ratio = any(one.objective is not None and one.objective.ratio for one in statements)
    for index, point in enumerate(points):
        where = f"points[{index}]"
        _check(point.rho <= most, f"{where}.rho", "is larger than the divergence can be")
        _check(len(point.answers) == (0 if point.claim is None else len(statements)), f"{where}.answers",
               "must be one for each statement, or none if the radius is infeasible")  # fmt: skip
        for number, answer in enumerate(point.answers):
            _check_answer(answer, f"{where}.answers[{number}]", statements[number], question, shape)
        claims: list[Answer | Claim] = [*point.answers, *([] if point.claim is None else [point.claim])]
        values = [v for claim in claims for v in (claim.bound, claim.attained) if v is not None]
        _check(not ratio or max(values, default=0) <= 1, f"{where}.claim", "must be at most 1 for a ratio")
        signed = question.metric.name != "loss" and not ratio
        _check(signed or min(values, default=0) >= 0, f"{where}.claim", "must not be negative for a loss or a ratio")


def _check_answer(answer: Answer, where: str, statement: Statement, question: Question, shape: Shape) -> None:
    witness, proof = answer.witness, answer.proof
    _check((witness is None) == (answer.attained is None), f"{where}.witness", "must be given with what it attains")
    if witness is not None:
        _check_shape(witness.group_mass, f"{where}.witness.group_mass", shape[:1])
        _check_shape(witness.label_mass, f"{where}.witness.label_mass", shape[1:])
        if witness.mass is not None:
            _check_shape(witness.mass, f"{where}.witness.mass", shape)
        _check_shape(witness.unseen, f"{where}.witness.unseen", shape)
        _check_shape(witness.reweighting, f"{where}.witness.reweighting", shape)
    about = statement.objective
    every = about is not None and about.plus is None and about.minus is None
    _check(not every or witness is None, f"{where}.witness", "must be null for every two groups: it is one pair's")
    parts = 1 if about is None or about.label is None else 2
    size = {"group": shape[0], "label": shape[1], "part": parts}[proof.axis]
    _check_shape(proof.floors, f"{where}.proof.floors", (size,))
    rows = len(question.group_limits.most), len(question.label_limits.most)
    for number, leaf in enumerate(proof.leaves):
        _check_leaf(leaf, f"{where}.proof.leaves[{number}]", proof.axis, shape, size, rows)


def _check_leaf(leaf: Leaf | Shared, where: str, axis: str, shape: Shape, size: int, rows: Shape) -> None:
    expected: dict[str, Shape] = {"centre": (size,), "group_mu": rows[:1], "label_mu": rows[1:]}
    if isinstance(leaf, Pairwise):
        for number, one in enumerate(leaf.sets):
            _check_leaf(one, f"{where}.sets[{number}]", axis, shape, size, rows)
        return
    if isinstance(leaf, Shared):
        tables = ("zeta", "plus", "minus", "slope", "plus_slope", "minus_slope")
        expected |= {**dict.fromkeys(tables, shape), "omega": shape[1:], "nu": shape[:1]}
    elif isinstance(leaf, Tilted):
        expected |= {"w": shape, "gamma": (size,), "omega": (size,)}
    else:
        other = shape[1] if axis == "group" else shape[0]
        omega = shape[1] if axis == "part" else size
        expected |= {
            "zeta": shape,
            "slope": shape,
            "omega": (omega,),
            "base": (size,),
            "offset": (other,),
            "nu": shape[:1],
        }
    for key, wanted in expected.items():
        value = getattr(leaf, key)
        if value is not None:
            _check_shape(value, f"{where}.{key}", wanted)
