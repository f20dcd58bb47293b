"""What a document says: its one description, from which the reader, the writer and the JSON schema are made.

A document answers questions about one population: of each, at each radius, for each statement
that its metric is made of, a bound with its proof and, where one was found, a worst case. What the entries mean stands
in docs/specification.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from fairbound.verify.strict import LARGEST_NUMBER, Name, Shape, Within

FORMAT: Literal["fairbound-certificate"] = "fairbound-certificate"
VERSION: Literal["2.0.0"] = "2.0.0"

LARGEST_RADIUS = 1e9

#: Powers beyond these are steeper than anybody asks for.
LEAST_ORDER, LARGEST_ORDER = 0.1, 10.0

Number = Annotated[float, Within(-LARGEST_NUMBER, LARGEST_NUMBER)]
Amount = Annotated[float, Within(0, LARGEST_NUMBER)]
Share = Annotated[float, Within(0, 1)]
Radius = Annotated[float, Within(0, LARGEST_RADIUS)]
Order = Annotated[float, Within(LEAST_ORDER, LARGEST_ORDER)]
Count = Annotated[int, Within(0, 2**53)]
Seed = Annotated[int, Within(0, 2**64)]
Text = Annotated[str, Within(0, 10_000)]
Hash = Annotated[str, Within(64, 64)]
LossName = Annotated[str, Within(0, 200)]

#: Limits are scaled, so that their coefficients are of ordinary size.
Coefficient = Annotated[float, Within(-2, 2)]

#: A loss, or a bin of losses: lower end, upper end, weight, and the share of the upper end that keeps the mean.
Bin = Annotated[list[Amount], Within(4, 4)]

#: Of a stratum of a cell: its weight, and its mean loss.
Stratum = Annotated[list[Amount], Within(2, 2)]

#: How a piece is cut: two of its corners, and where between them the new corner lies (0 the first, 1 the second).
Split = Annotated[list[Amount], Within(3, 3)]

#: What has an entry for each group and label; and lists for each group, label, searched share, share of the other side,
#: and row of the limits on groups and on labels. The letters are those of reading.py.
Table = Annotated[list[list[Number]], Shape("sc")]
Amounts = Annotated[list[list[Amount]], Shape("sc")]
OfGroups = Annotated[list[Number], Shape("s")]
OfLabels = Annotated[list[Number], Shape("c")]
Searched = Annotated[list[Number], Shape("x")]
OfOthers = Annotated[list[Number], Shape("o")]
OfGroupRows = Annotated[list[Number], Shape("g")]
OfLabelRows = Annotated[list[Number], Shape("l")]

Divergence = Literal["hellinger", "total_variation", "kl", "chi_squared", "trimming", "cressie_read"]


@dataclass(frozen=True)
class Losses:
    """All losses of the cells, in bins; ``rows`` is the largest number of rows that went into one of them."""

    kind: Literal["losses"]
    cells: Annotated[list[list[list[Bin]]], Shape("sc")]
    rows: Amount


@dataclass(frozen=True)
class Mean:
    """The mean loss of the cells."""

    kind: Literal["mean"]
    mean: Amounts


@dataclass(frozen=True)
class MeanVariance:
    """Mean and variance of the loss in the cells."""

    kind: Literal["mean_variance"]
    mean: Amounts
    variance: Amounts


@dataclass(frozen=True)
class Strata:
    """Weight and mean loss of each stratum of the cells: they have all an entry for each name."""

    kind: Literal["strata"]
    names: list[Name]
    cells: Annotated[list[list[list[Stratum]]], Shape("sc")]


Knowledge = Losses | Mean | MeanVariance | Strata


@dataclass(frozen=True)
class Measure:
    """A value that every row has, such as its loss or whether it is selected, and what is known of it."""

    loss: LossName
    pos_label: Name | None
    ceiling: Amount | None
    knowledge: Knowledge


@dataclass(frozen=True)
class Population:
    """What is known of the data: weights of the cells, groups by labels, and what was measured in them."""

    groups: list[Name]
    labels: list[Name]
    rows: Amount | None
    excluded_rows: Count
    weighted: bool
    weight: Amounts
    measures: list[Measure]


@dataclass(frozen=True)
class File:
    """A file that the rows came from."""

    name: Text
    sha256: Hash


@dataclass(frozen=True)
class Column:
    """A column, and what it was read as."""

    role: Literal["group", "label", "prediction", "probability", "losses", "weight", "stratum"]
    name: Text


@dataclass(frozen=True)
class Cut:
    """Where a column of strata was cut, or into how many quantiles."""

    name: Text
    at: list[Number] | None
    quantiles: Count | None


@dataclass(frozen=True)
class Meaning:
    """What a label means, in words."""

    label: Name
    words: Text


@dataclass(frozen=True)
class Versioned:
    """A model, or data: its name, and which version of it."""

    name: Text
    version: Text | None


@dataclass(frozen=True)
class Provenance:
    """What the document is about, as its author says: for people, nothing of it is proved."""

    date: Text | None
    files: list[File]
    columns: list[Column]
    cuts: list[Cut]
    meanings: list[Meaning]
    model: Versioned | None
    data: Versioned | None
    note: Text | None


@dataclass(frozen=True)
class Limits:
    """Limits on shares: how much two of them may differ, and that the product with each row is at most so much."""

    skew: Share | None
    rows: Annotated[list[list[Coefficient]], Shape("mn")]
    most: list[Coefficient]


@dataclass(frozen=True)
class Metric:
    """What is bounded, and of which group if one was chosen."""

    name: Text
    group: Name | None


@dataclass(frozen=True)
class Objective:
    """A mean given a group, or how two differ: ``plus`` minus ``minus``, either of which may be missing.

    With a ``label``, among the rows that have it (or, unless ``inside``, among the others). A ``ratio`` is the mean of
    ``minus`` divided by that of ``plus``. Without groups: every two groups, either way round.
    """

    plus: Count | None
    minus: Count | None
    label: Count | None
    inside: bool
    ratio: bool


@dataclass(frozen=True)
class Sampling:
    """What takes P's place where P is known through a sample, and the counts that it was made from."""

    region: Text
    affinity: Share
    weight: Amounts
    knowledge: Knowledge
    losses: list[Amount] | None
    counts: Annotated[list[list[list[Count]]], Shape("scn")] | None
    seed: Seed | None


@dataclass(frozen=True)
class Statement:
    """One of the statements that the metric is made of; the loss of all has no objective."""

    objective: Objective | None
    confidence: Share | None
    sampling: Sampling | None


@dataclass(frozen=True)
class Tilted:
    """Multipliers of a piece, form T: they move with the searched shares, affinely."""

    form: Literal["T"]
    w: Table
    centre: Searched
    gamma: Searched
    omega: Searched
    lam: Amount
    group_mu: OfGroupRows
    label_mu: OfLabelRows
    relaxed: Literal["none", "plus", "minus", "both"]


@dataclass(frozen=True)
class Fractional:
    """Multipliers of a piece, form F: they are fractions of the searched shares.

    ``base`` and ``offset`` are for the loss of all, ``slope`` is for means; null elsewhere.
    """

    form: Literal["F"]
    zeta: Table
    base: Searched | None
    offset: OfOthers | None
    slope: Table | None
    centre: Searched
    omega: Annotated[list[Number], Shape("w")]
    lam: Amount
    nu: OfGroups | None
    group_mu: OfGroupRows
    label_mu: OfLabelRows


@dataclass(frozen=True)
class Shared:
    """Multipliers for all pairs of groups at once: of groups that do not count, that are added, that are subtracted."""

    zeta: Table
    plus: Table
    minus: Table
    slope: Table | None
    plus_slope: Table | None
    minus_slope: Table | None
    centre: Searched
    omega: OfLabels
    lam: Amount
    nu: OfGroups | None
    group_mu: OfGroupRows
    label_mu: OfLabelRows


@dataclass(frozen=True)
class Pairwise:
    """Multipliers of a piece, form P: like form F, for every two groups; of several sets each takes its best one."""

    form: Literal["P"]
    sets: list[Shared]


Leaf = Tilted | Fractional | Pairwise


@dataclass(frozen=True)
class Proof:
    """A tree of pieces of shares, in preorder, and the multipliers of its leaves in the same order.

    The root are all shares of at least ``floors``. A split puts a new corner onto an edge; null is a leaf.
    """

    axis: Literal["label", "group", "part"]
    floors: Annotated[list[Share], Shape("x")]
    splits: list[Split | None]
    leaves: list[Leaf]


@dataclass(frozen=True)
class Witness:
    """A distribution: its shares, its masses of cells if these are no products, and what it is like inside of them."""

    group_mass: Annotated[list[Amount], Shape("s")]
    label_mass: Annotated[list[Amount], Shape("c")]
    mass: Amounts | None
    unseen: Amounts
    reweighting: Annotated[list[list[list[Amount]]], Shape("sc")]


@dataclass(frozen=True)
class Claim:
    """What is claimed: no distribution in question exceeds the bound (of a ratio: is below it), and one attains."""

    bound: Number
    attained: Number | None


@dataclass(frozen=True)
class Answer:
    """A bound with its proof, and the value that a worst case attains, if one is shown."""

    bound: Number
    attained: Number | None
    witness: Witness | None
    proof: Proof


@dataclass(frozen=True)
class Point:
    """A radius: what is claimed of the metric there, and the answers to its statements; null if it is infeasible."""

    rho: Radius
    claim: Claim | None
    answers: list[Answer]


@dataclass(frozen=True)
class Question:
    """What is asked of a measure, and what is answered at each radius.

    ``tol`` is the gap that was aimed at, ``distance`` that of the nearest distribution in question, null if it is not
    told.
    """

    measure: Count
    metric: Metric
    shift: Literal["general", "stratified", "sensitive"]
    support: Literal["any", "observed"]
    empty_cells: Literal["refuse", "ceiling"]
    divergence: Divergence
    order: Order | None
    fair: bool
    base_rate_tolerance: Share | None
    group_limits: Limits
    label_limits: Limits
    confidence: Share | None
    tol: Amount
    statements: list[Statement]
    distance: Radius | None
    points: list[Point]


@dataclass(frozen=True)
class Gate:
    """What no bound of a question may exceed (of a ratio, fall below), and whether none does."""

    question: Count
    threshold: Number
    passed: bool


@dataclass(frozen=True)
class Document:
    """A whole document: its questions have one population, and their bounds hold together."""

    format: Literal["fairbound-certificate"]
    version: Literal["2.0.0"]
    producer: Text
    provenance: Provenance
    population: Population
    confidence: Share | None
    questions: list[Question]
    gates: list[Gate]
    digest: Text


@dataclass(frozen=True)
class Measured:
    """A population with one of its measures. No part of documents: what a question is about."""

    groups: list[Name]
    labels: list[Name]
    rows: float | None
    excluded_rows: int
    weighted: bool
    weight: list[list[float]]
    loss: str
    pos_label: Name | None
    ceiling: float | None
    knowledge: Knowledge


@dataclass(frozen=True)
class Single:
    """One question of a document, and what it is about. No part of documents."""

    population: Measured
    question: Question


def measured(population: Population, number: int) -> Measured:
    """Return a population with one of its measures."""
    shared = {field.name: getattr(population, field.name) for field in fields(population) if field.name != "measures"}
    return Measured(**shared, **vars(population.measures[number]))


def singles(document: Document) -> list[Single]:
    """Return the questions of a document, each with what it is about."""
    return [Single(measured(document.population, one.measure), one) for one in document.questions]
