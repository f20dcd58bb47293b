"""What a user gets: certificates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbound.certificate.assumptions import assumptions_of
from fairbound.certificate.between import ProvedCurve
from fairbound.certificate.by_stratum import StratumShare, stratum_shares
from fairbound.certificate.cautions import cautions_of
from fairbound.certificate.continuous import proved_at
from fairbound.certificate.document import (
    digest,
    read_limits,
    read_objective,
    read_populations,
    read_sampling,
    read_witness,
    to_json,
    write_limits,
    write_objective,
    write_population,
    write_provenance,
    write_sampling,
    write_witness,
)
from fairbound.certificate.plot import draw_worst_case
from fairbound.certificate.prices import Prices, RowPrices, prices_of, row_prices_of
from fairbound.data.native_frame import cell_names, native_frame
from fairbound.data.population import Population
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import DivergenceName, divergence_name, find_divergence
from fairbound.problem.limits import Limits
from fairbound.problem.metrics import metric_wording, value_on_data
from fairbound.problem.objective import Objective
from fairbound.problem.question import EmptyCells, Shift, Support
from fairbound.sampling.prequential import FEWEST_ROWS
from fairbound.sampling.region import Surrogate
from fairbound.solve.witness import Witness
from fairbound.verify import document as written
from fairbound.verify.document import FORMAT, VERSION, Proof
from fairbound.verify.reading import read_document
from fairbound.verify.strict import MalformedError
from fairbound.version import __version__
from fairbound.wording.amounts import Amounts
from fairbound.wording.confidence import AROUND_ROWS, ONE_RADIUS, reached_in, with_probability
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.names import name, read_name, short_name, write_name
from fairbound.wording.notebook import html_details, html_paragraph, html_table
from fairbound.wording.overview import change_rows
from fairbound.wording.vocabulary import Wording, capitalised

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Status(Enum):
    """How a certificate ended; the text names the cause and, where there is one, the cure."""

    TIGHT = "the bound is within the tolerance of a loss that is attained"
    SAMPLED = (
        "the bound is the least that bets on the rows reject; what it exceeds the worst case around the rows by is the "
        "price of knowing P through a sample, which more rows lower"
    )
    APPROXIMATE = (
        "the bound is that of the rows plus standard errors: its confidence is approximate, and nothing is proved; "
        "region='prequential' or 'sphere' would prove one"
    )
    TRIVIAL = (
        "the bound says nothing: the ball is so large that a group can be emptied, or its rows replaced; choose a "
        "smaller rho, or limit the shares with group_skew or min_group_mass"
    )
    LOOSE = (
        "the bound is valid but the gap is larger than the tolerance: the search used up its budget, or rho is so "
        "close to the nearest fair distribution that rounding limits the gap; raise budget, tol or rho"
    )


@dataclass(frozen=True)
class Supporting:
    """A statement with its bound and proof, and no worst case: others follow from it."""

    objective: Objective
    bound: float
    proof: Proof
    confidence: float | None = None
    region: str | None = None
    surrogate: Surrogate | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """An upper bound on the loss over every distribution in question in a ball around the data.

    In question are the distributions with equal base rates, unless base rates were allowed to differ.

    Attributes
    ----------
    bound
        No distribution in question has a larger expected loss. Rounded up.
    attained
        The expected loss of ``witness``, a distribution in question. Rounded down.
    rho
        Radius of the ball, measured by ``divergence``.
    shift
        "general" or "sensitive".
    group_skew, label_skew
        Limits on the differences between Q's group shares and between its label shares; None for no limit.
    support
        "any" or "observed".
    empty_cells
        "refuse" or "ceiling".
    tol
        The gap that was asked for.
    status
        Whether it was reached.
    witness
        The distribution that attains ``attained``.
    population
        What was known of the data.
    proof
        The multipliers that prove the bound by weak duality.
    confidence
        The probability, over the draw of the rows, with which the bound holds; None if the rows are all there is.
    region
        The confidence region's name.
    fair, base_rate_tolerance
        What was asked of Q's base rates: equal in all groups; or any two differ by at most the tolerance; or, if
        ``fair`` is False, nothing.
    surrogate
        What takes P's place if P is known through a sample: ``attained``, ``witness`` and ``proof`` refer to it.
    group_limits, label_limits
        Linear limits on Q's group shares and on its label shares; None for none.
    divergence
        How the distance from the data is measured: "hellinger", "total_variation", "kl",
        "chi_squared", "trimming" or "cressie_read:1.5", with its order.
    metric
        What is bounded: "loss", or another metric.
    group
        The group that was chosen for it, if any.
    objective, comparisons
        Of another metric: what bound and worst case refer to, and the certificates of all that the metric is the
        largest (or smallest) of, for example of all pairs of groups. The one with the worst bound leads:
        ``witness``, ``proof`` and ``surrogate`` are its own.
    supporting
        What is proved besides and has no worst case of its own: bounds of single groups, from which those
        comparisons follow that are not listed.
    """

    bound: float
    attained: float
    rho: float
    shift: Shift
    group_skew: float | None
    label_skew: float | None
    support: Support
    empty_cells: EmptyCells
    tol: float
    witness: Witness
    population: Population
    proof: Proof
    confidence: float | None = None
    region: str | None = None
    surrogate: Surrogate | None = None
    group_limits: Limits | None = None
    label_limits: Limits | None = None
    divergence: DivergenceName = "hellinger"
    fair: bool = True
    base_rate_tolerance: float | None = None
    objective: Objective | None = None
    metric: str = "loss"
    group: Hashable | None = None
    comparisons: tuple[Certificate, ...] = ()
    supporting: tuple[Supporting, ...] = ()

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on, worded from the fields above: a document has no such sentences."""
        return assumptions_of(self)

    @property
    def statements(self) -> tuple[Certificate | Supporting, ...]:
        """All statements that this certificate is made of: often it is one itself."""
        return (*(self.comparisons or (self,)), *self.supporting)

    @property
    def limited(self) -> bool:
        """Whether the shares of Q are limited."""
        limits = self.group_skew, self.label_skew, self.group_limits, self.label_limits
        return any(limit is not None for limit in limits)

    @property
    def condition(self) -> Condition:
        """What was asked of base rates, in words."""
        return Condition(self.fair, self.base_rate_tolerance)

    @property
    def distance_words(self) -> str:
        """What sentences call the distance that ``rho`` is measured in."""
        return find_divergence(self.divergence).words

    @property
    def distance_formula(self) -> str:
        """How it is written down."""
        return find_divergence(self.divergence).formula

    @property
    def distributions(self) -> str:
        """What sentences call one of the distributions in question."""
        return f"distribution{self.condition.phrase}"

    @property
    def lower(self) -> bool:
        """Whether the metric is bounded from below, as ratios are: then ``bound <= worst case <= attained``."""
        return self.objective is not None and self.objective.ratio

    @property
    def said(self) -> Wording:
        """The words for what is bounded."""
        return metric_wording(self.population, self.metric, self.group)

    @property
    def side(self) -> str:
        """On which side of the bound the truth is, in words."""
        return "at least" if self.lower else "at most"

    @property
    def on_data(self) -> float:
        """What is bounded, on the data themselves."""
        if self.objective is None:
            return self.population.loss
        asked = [c.objective for c in self.comparisons or (self,)]
        asked += [c.objective for c in self.supporting if c.objective == c.objective.every]
        values = [value_on_data(self.population, objective) for objective in asked if objective]
        return min(values) if self.lower else max(values)

    @property
    def leading(self) -> str:
        """Which group, or which two, the worst case found is about; nothing where all are, or where one was chosen."""
        leader, names = self.objective, self.population.groups
        if leader is None or self.group is not None:
            return ""
        found = [short_name(names[place]) for place in (leader.plus, leader.minus) if place is not None]
        return " against ".join(found[::-1] if leader.ratio else found)

    def texts(self, digits: Digits) -> tuple[str, str]:
        """Return bound and attained value as texts that agree with each other: see :meth:`Digits.pair`."""
        return digits.pair(self.bound, self.attained, lower=self.lower)

    @property
    def gap(self) -> float:
        """The worst case in the ball (around P, or around its stand-in) lies between bound and attained value."""
        return self.attained - self.bound if self.lower else self.bound - self.attained

    @property
    def trivial(self) -> bool:
        """Whether the bound is no better than what holds for any distribution at all."""
        if self.objective is None:
            return False
        return self.bound <= 0.0 if self.lower else self.bound >= self.population.ceiling

    @property
    def status(self) -> Status:
        """Whether the gap asked for was reached, and anything is said at all."""
        if self.about_more_than_rows and not self.trivial:
            return Status.SAMPLED if self.region == ONE_RADIUS else Status.APPROXIMATE
        if self.gap > self.tol:  # also a trivial bound: a better one may be true, and the ball need not be large
            return Status.LOOSE
        return Status.TRIVIAL if self.trivial else Status.TIGHT

    @property
    def about_more_than_rows(self) -> bool:
        """Whether the bound is about what the rows were drawn from, and what is attained about the rows themselves."""
        return self.region in AROUND_ROWS

    @property
    def bets_tighter(self) -> bool:
        """Whether bets would make it tighter, had rho been fixed in advance: it depends on no losses, but on n."""
        simple = self.metric == "loss" and self.shift == "general" and self.condition.equal and not self.limited
        others = self.confidence is not None and not self.about_more_than_rows
        return simple and others and (self.population.rows or 0) >= FEWEST_ROWS

    @cached_property
    def prices(self) -> Prices:
        """Which errors cost most, by how much the bound rises with the mean loss of each cell.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certify(population, 0.2, shift="sensitive").prices.value.round(3)
        array([[0.365, 0.338],
               [0.154, 0.143]])
        """
        return prices_of(self)

    @cached_property
    def row_prices(self) -> RowPrices:
        """How much each loss that occurs in a cell counts."""
        return row_prices_of(self)

    @cached_property
    def _proved(self) -> ProvedCurve:
        return ProvedCurve(self.to_json())

    def bound_at(self, rho: float) -> float:
        """Return what the multipliers of this certificate prove at another radius: checked, and rounded up.

        It is close to the best bound near ``self.rho``; :func:`certify` finds that.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certificate = certify(population, 0.2)
        >>> round(certificate.bound_at(0.21), 4), round(certify(population, 0.21).bound, 4)
        (0.3858, 0.3854)
        """
        return proved_at(self._proved, rho, 0.0)

    def to_json(self) -> str:
        """Write the certificate, with its proof, as a JSON document that :func:`fairbound.verify` can check.

        Examples
        --------
        >>> from fairbound import Certificate, Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certificate = certify(population, 0.2)
        >>> Certificate.from_json(certificate.to_json())
        Certificate(bound=0.370205, attained=0.370205, rho=0.2, shift='general', status=TIGHT)
        """
        return to_json(write_certificates([self], [self.rho], None))

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read a certificate; raises ``ValueError`` if it is malformed. Reading does not check the proof."""
        document = read_document(text)
        if only_question(document).distance is not None:
            message = "the document is a curve of certificates; use CertificateCurve.from_json"
            raise ValueError(message)
        return next(one for one in read_questions(document)[0] if one is not None)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the worst case as a data frame: of each cell the mass in the data and in the worst case.

        Under stratified shifting of each stratum of the cells, those that grow most first. ``backend`` is "pandas",
        "polars" or "pyarrow"; None takes the one that you work with.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certify(population, 0.2).to_frame("polars").columns
        ['group', 'label', 'mass', 'worst_case_mass', 'change']
        """
        if self.shift == "stratified":
            strata = self.strata
            told = {"group": "group", "label": "label", "stratum": "stratum", "mass": "before"}
            told |= {"worst_case_mass": "after", "change": "change"}
            found = {name: [getattr(one, key) for one in strata] for name, key in told.items()}
            for key in ("group", "label", "stratum"):
                found[key] = [name(value) if isinstance(value, tuple) else value for value in found[key]]
            return native_frame(found, backend)
        before, after = self.population.mass.ravel(), self.witness.mass.ravel()
        columns = {"mass": before.tolist(), "worst_case_mass": after.tolist(), "change": (after - before).tolist()}
        return native_frame(cell_names(self.population.groups, self.population.labels) | columns, backend)

    @property
    def strata(self) -> list[StratumShare]:
        """The strata in the data and in the worst case of stratified shifting, those that grow most first."""
        return stratum_shares(self.population, self.witness) if self.shift == "stratified" else []

    def plot_worst_case(self, ax: Axes | None = None) -> Axes:
        """Draw how each cell's share changes from the data to the worst case, on ``ax`` or in a new figure.

        Under stratified shifting, how that of each stratum does.

        Needs matplotlib: ``pip install matplotlib``.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certify(population, 0.2).plot_worst_case().get_title(loc="left")
        'The worst case within rho = 0.2'
        """
        strata = self.strata
        if strata:
            words = [one.place for one in strata]
            before, after = (np.array([getattr(one, when) for one in strata]) for when in ("before", "after"))
        else:
            before, after = self.population.mass.ravel(), self.witness.mass.ravel()
            words = [
                f"{short_name(group, 30)}, {short_name(label, 30)}"
                for group in self.population.groups
                for label in self.population.labels
            ]
        return draw_worst_case(words, before, after, self.rho, ax=ax, what="stratum" if strata else "cell")

    def __eq__(self, other: object) -> bool:
        """Whether another certificate says the same, with the same proof, of the same data."""
        if not isinstance(other, Certificate):
            return NotImplemented
        ours, theirs = ((c.rho, c.metric, c.bound, c.attained) for c in (self, other))
        return self is other or (ours == theirs and self.to_json() == other.to_json())

    def __hash__(self) -> int:
        return hash((self.rho, self.metric, self.bound, self.attained))

    def __repr__(self) -> str:
        what = "" if self.metric == "loss" else f"metric={self.metric!r}, "
        sure = "" if self.confidence is None else f", confidence={self.confidence:g}"
        other = "" if self.divergence == "hellinger" else f", divergence={self.divergence!r}"
        return (
            f"Certificate({what}bound={self.bound:.6f}, attained={self.attained:.6f}, rho={self.rho:g}, "
            f"shift={self.shift!r}{other}{self.condition.argument}{sure}, status={self.status.name})"
        )

    def _repr_html_(self) -> str:
        """Show the certificate in a notebook: the claim, the worst case, and what it rests on."""
        careful = [str(caution) for caution in cautions_of(self.population, [self])]
        amounts = Amounts(Digits(6), self.said.unit)
        bound, attained = (text + amounts.sign for text in amounts.pair(self.bound, self.attained, lower=self.lower))
        claim = f"The {self.said.subject} is {self.side} {bound}"
        within = f"every {self.distributions} within {self.distance_words} {radius_down(self.rho)} of"
        if self.confidence is None:
            found = f"the worst case that was found has {attained}."
            where = f"In {within} the data ({self.shift} shifting); {found}"
        else:
            sure = capitalised(with_probability(self.confidence, self.population.rows, self.region))
            milder = "another" if self.region in AROUND_ROWS else "milder"
            where = (
                f"{sure}, in {within} the distribution that they were drawn from ({self.shift} shifting). "
                f"A distribution {reached_in(self.region)} has {attained}; the worst case may be {milder}."
            )
        return "".join(
            [
                html_paragraph(claim, strong=True),
                html_paragraph(where),
                html_table(*change_rows(self.population, self.witness.mass)),
                self.prices._repr_html_(),
                *([html_details("Be careful", careful)] if careful else []),
                html_details("What this rests on", self.assumptions),
            ]
        )


def combined(
    parts: Sequence[Certificate],
    metric: str,
    group: Hashable | None,
    confidence: float | None,
    *,
    bound: float | None = None,
    supporting: Sequence[Supporting] = (),
) -> Certificate:
    """Return the certificate of a metric from those of its objectives; the worst of them leads.

    Of equal bounds that leads whose worst case is worst. The bound of the whole is the worst of theirs, unless more
    follows from what is supporting.
    """
    worst = min if parts[0].lower else max
    first = worst(parts, key=lambda c: (c.bound, c.attained))
    return replace(
        first,
        bound=first.bound if bound is None else bound,
        attained=worst(c.attained for c in parts),
        confidence=confidence,
        metric=metric,
        group=group,
        comparisons=tuple(parts),
        supporting=tuple(supporting),
    )


#: The certificates of one question, None where a radius is infeasible; the radii; and how far the nearest is, if told.
Results = tuple[Sequence["Certificate | None"], Sequence[float], float | None]


def write_document(
    results: Sequence[Results], thresholds: Sequence[float | None], confidence: float | None
) -> written.Document:
    """Write the results of several questions about one population, each with the threshold that it has to keep."""
    firsts = [next(c for c in certificates if c is not None) for certificates, _, _ in results]
    measures = {(c.population.loss_name, c.population.pos_label): c.population for c in reversed(firsts)}
    keys = list(dict.fromkeys((c.population.loss_name, c.population.pos_label) for c in firsts))
    population = write_population([measures[key] for key in keys])
    questions = [
        _write_question(first, keys.index((first.population.loss_name, first.population.pos_label)), *result)
        for first, result in zip(firsts, results, strict=True)
    ]
    gates = [
        written.Gate(number, threshold, passed=keeps(results[number][0], threshold))
        for number, threshold in enumerate(thresholds)
        if threshold is not None
    ]
    return written.Document(
        format=FORMAT,
        version=VERSION,
        producer=f"fairbound {__version__}",
        provenance=write_provenance(firsts[0].population.provenance),
        population=population,
        confidence=confidence,
        questions=questions,
        gates=gates,
        digest=digest(population),
    )


def keeps(certificates: Sequence[Certificate | None], threshold: float) -> bool:
    """Whether every bound is at most a threshold, or if it is one from below, at least."""
    found = [c for c in certificates if c is not None]
    return all(c.bound >= threshold if c.lower else c.bound <= threshold for c in found)


def write_certificates(
    certificates: Sequence[Certificate | None], rhos: Sequence[float], distance: float | None
) -> written.Document:
    """Write the certificates of one question; None stands for an infeasible radius."""
    sure = next(c for c in certificates if c is not None).confidence
    return write_document([(certificates, rhos, distance)], [None], sure)


def _write_question(
    first: Certificate,
    measure: int,
    certificates: Sequence[Certificate | None],
    rhos: Sequence[float],
    distance: float | None,
) -> written.Question:
    return written.Question(
        measure=measure,
        metric=written.Metric(first.metric, None if first.group is None else write_name(first.group)),
        shift=first.shift,
        support=first.support,
        empty_cells=first.empty_cells,
        divergence=find_divergence(first.divergence).kind,  # type: ignore[arg-type]  # one that is known
        order=find_divergence(first.divergence).order,
        fair=first.fair,
        base_rate_tolerance=first.base_rate_tolerance,
        group_limits=write_limits(first.group_skew, first.group_limits),
        label_limits=write_limits(first.label_skew, first.label_limits),
        confidence=first.confidence,
        tol=first.tol,
        statements=[_write_statement(one) for one in first.statements],
        distance=distance,
        points=[
            written.Point(rho, None, []) if c is None else _write_point(c)
            for rho, c in zip(rhos, certificates, strict=True)
        ],
    )


def _write_statement(one: Certificate | Supporting) -> written.Statement:
    return written.Statement(
        objective=write_objective(one.objective),
        confidence=one.confidence,
        sampling=None if one.surrogate is None else write_sampling(one.surrogate, str(one.region)),
    )


def _write_answer(one: Certificate | Supporting) -> written.Answer:
    if isinstance(one, Supporting):
        return written.Answer(one.bound, None, None, one.proof)
    known = one.population if one.surrogate is None else one.surrogate.population
    shown = write_witness(one.witness, known, products=one.condition.equal)
    return written.Answer(one.bound, one.attained, shown, one.proof)


def _write_point(certificate: Certificate) -> written.Point:
    """Write a radius: the claim, and the answer to each statement."""
    claim = written.Claim(certificate.bound, certificate.attained)
    return written.Point(certificate.rho, claim, [_write_answer(one) for one in certificate.statements])


def read_questions(document: written.Document) -> list[list[Certificate | None]]:
    """Build the certificates of a well-formed document: of each question one for each radius, None if infeasible."""
    populations = read_populations(document)
    return [_read_question(question, populations[question.measure]) for question in document.questions]


def _read_question(question: written.Question, population: Population) -> list[Certificate | None]:
    surrogates = [read_sampling(one, population, question.shift) for one in question.statements]
    return [_read_point(question, point, population, surrogates) for point in question.points]


def only_question(document: written.Document) -> written.Question:
    """Return the question of a document that has one."""
    if len(document.questions) > 1:
        message = f"the document answers {len(document.questions)} questions; use Evidence.from_json"
        raise ValueError(message)
    return document.questions[0]


def _read_point(
    question: written.Question, point: written.Point, population: Population, surrogates: list[Surrogate | None]
) -> Certificate | None:
    """Build the certificate of one radius."""
    if point.claim is None:
        return None
    parts: list[Certificate] = []
    supporting: list[Supporting] = []
    for statement, answer, surrogate in zip(question.statements, point.answers, surrogates, strict=True):
        about = read_objective(statement.objective)
        if answer.witness is not None and answer.attained is not None:
            parts.append(_read_answer(question, statement, point.rho, answer, population, surrogate))
        elif about is not None:
            region = None if statement.sampling is None else statement.sampling.region
            supporting.append(Supporting(about, answer.bound, answer.proof, statement.confidence, region, surrogate))
    if not parts:
        raise MalformedError("has no worst case at a certified radius", "points")
    metric = question.metric
    if metric.name == "loss":  # what is shown is what is claimed, whatever the answer says
        attained = parts[0].attained if point.claim.attained is None else point.claim.attained
        return replace(parts[0], bound=point.claim.bound, attained=attained)
    group = None if metric.group is None else read_name(metric.group)
    sure = question.confidence
    return combined(parts, metric.name, group, sure, bound=point.claim.bound, supporting=supporting)


def _read_answer(
    question: written.Question,
    statement: written.Statement,
    rho: float,
    answer: written.Answer,
    population: Population,
    surrogate: Surrogate | None,
) -> Certificate:
    """Build the certificate of one statement at one radius."""
    sampling = statement.sampling
    if answer.witness is None or answer.attained is None:
        raise MalformedError("has no worst case", "answers")
    return Certificate(
        bound=answer.bound,
        attained=answer.attained,
        rho=rho,
        shift=question.shift,
        group_skew=question.group_limits.skew,
        label_skew=question.label_limits.skew,
        support=question.support,
        empty_cells=question.empty_cells,
        tol=question.tol,
        witness=replace(
            read_witness(answer.witness, answer.attained, rho, divergence_name(question.divergence, question.order)),
            groups=population.groups,
            labels=population.labels,
        ),
        population=population,
        proof=answer.proof,
        confidence=statement.confidence,
        region=None if sampling is None else sampling.region,
        surrogate=surrogate,
        group_limits=read_limits(question.group_limits),
        label_limits=read_limits(question.label_limits),
        divergence=divergence_name(question.divergence, question.order),
        objective=read_objective(statement.objective),
        fair=question.fair,
        base_rate_tolerance=question.base_rate_tolerance,
    )
