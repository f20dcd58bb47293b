"""The table of a bias audit as New York City's Local Law 144 asks to publish it, with a bound beside each ratio.

The rules of the city (6 RCNY 5-300 to 5-303) define what stands in it:

* the selection rate of a category is the share of its people who are selected, or classified so;
* the scoring rate is the share whose score is above the median of all scores, where tools give scores;
* the impact ratio is a category's rate divided by that of the category with the highest rate;
* categories are those of sex, of race or ethnicity, and their intersections; how many people fall in none of them
  because theirs is not known is published too;
* a category with less than 2 % of the data may be left out of the ratios, with reasons; its numbers stay.

Neither the law nor the rules say how large a ratio has to be: the four fifths are from other guidelines. What is added
here is a lower bound on each ratio in every population of applicants within a distance of those that were audited.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans
from fairbound.certificate.evidence import Evidence, certify_all
from fairbound.data.native_frame import native_frame
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given
from fairbound.integrations.summary import markdown_table
from fairbound.reporting.appendix import Appendix
from fairbound.reporting.report import Report, report
from fairbound.sampling.region import read_confidence
from fairbound.wording.confidence import percent_down
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.names import name

#: Categories with a smaller share of the data may be left out of the ratios.
SMALL = 0.02

#: Texts that stand for a category that is not known.
UNKNOWN = ("", "unknown", "Unknown")

#: What happens to applicants, as the certificates call it.
OUTCOMES = ("not selected", "selected")

#: The attributes, as the tables are called.
SEX, RACE, BOTH = "sex", "race/ethnicity", "sex and race/ethnicity"


@dataclass(frozen=True)
class Category:
    """A line of the table.

    Attributes
    ----------
    attribute, name
        What it is a category of, and its own name; of an intersection a pair.
    applicants, selected
        How many people are in it, and how many of them were selected (or have a score above the median).
    share
        Its share of all people that were audited.
    rate
        Its selection rate or scoring rate.
    impact_ratio
        Its rate divided by the highest rate of a category; None if it was left out, or nobody was selected.
    certified
        What no population within ``rho`` has a smaller ratio than; None likewise.
    small
        Whether its share is below 2 %.
    """

    attribute: str
    name: Hashable
    applicants: int
    selected: int
    share: float
    rate: float
    impact_ratio: float | None
    certified: float | None
    small: bool


@dataclass(frozen=True)
class BiasAudit:
    """The tables of a bias audit, and the certificates beside them.

    Attributes
    ----------
    categories
        The lines, of sex, of race or ethnicity, and of their intersections.
    unknown
        Of each attribute the number of people whose category is not known.
    applicants
        The number of all people.
    scored
        Whether rates are scoring rates.
    median
        The median of all scores; None for selections.
    source, date, distribution_date
        Where the data come from, when the audit was made, and since when the tool is in use.
    rho, confidence
        What the bounds are about.
    evidence
        The certificates of each attribute, with the proofs; none where there is one category at most.
    """

    categories: tuple[Category, ...]
    unknown: dict[str, int]
    applicants: int
    scored: bool
    median: float | None
    source: str
    date: str
    distribution_date: str | None
    rho: float
    confidence: float | None
    evidence: dict[str, Evidence]

    @property
    def rate_words(self) -> str:
        """What the rate is called."""
        return "scoring rate" if self.scored else "selection rate"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of the table, as text; bounds are rounded down."""
        counted = "above the median" if self.scored else "selected"
        header = ["attribute", "category", "applicants", counted, self.rate_words, "impact ratio", "certified", "note"]
        near, down = Digits(3).near, Digits(3).down
        rows = []
        for one in self.categories:
            ratio, certified = (
                "" if value is None else say(value) for say, value in ((near, one.impact_ratio), (down, one.certified))
            )
            note = "below 2 % of the data" if one.small else ""
            note += ", left out of the ratios" if one.impact_ratio is None and one.small else ""
            counts = f"{one.applicants:,}", f"{one.selected:,}"
            rows.append([one.attribute, name(one.name), *counts, near(one.rate), ratio, certified, note])
        for attribute, count in self.unknown.items():
            rows.append([attribute, "not known", f"{count:,}", "", "", "", "", "in no rate"])
        return header, rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What belongs to the table, in sentences."""
        sure = "" if self.confidence is None else f", with probability at least {percent_down(self.confidence)}"
        centre = "these applicants" if self.confidence is None else "the population that these applicants come from"
        selected = f"have a score above {self.median:g}, the median of all scores" if self.scored else "were selected"
        since = "" if self.distribution_date is None else f" The tool is in use since {self.distribution_date}."
        return (
            f"Data: {self.source}. Date of the audit: {self.date}. {self.applicants:,} applicants.{since}",
            f"The {self.rate_words} is the share of a category's applicants who {selected}; the impact ratio divides "
            "it by the highest rate of a category.",
            f"Certified: in every population within Hellinger distance {radius_down(self.rho)} of {centre} the impact "
            f"ratio is at least this large{sure}.",
            "Local Law 144 and its rules set no smallest ratio; this table says nothing about whether one is kept.",
        )

    def to_csv(self) -> str:
        """Return the table as CSV, numbers in full; every line has source, date and radius."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        columns = self._columns()
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return written.getvalue()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table as a data frame; the lines of those who are not known have numbers of people only."""
        return native_frame(self._columns(), backend)

    def _columns(self) -> dict[str, list[Any]]:
        found: list[dict[str, Any]] = [
            {
                "attribute": one.attribute,
                "category": name(one.name),
                "applicants": one.applicants,
                "selected": one.selected,
                "share": one.share,
                "rate": one.rate,
                "impact_ratio": one.impact_ratio,
                "certified_impact_ratio": one.certified,
                "below_2_percent": one.small,
            }
            for one in self.categories
        ]
        empty = dict.fromkeys(found[0])
        for attribute, count in self.unknown.items():
            found.append({**empty, "attribute": attribute, "category": "not known", "applicants": count})
        told = {"rate_is": self.rate_words, "rho": self.rho, "confidence": self.confidence}
        told |= {"source": self.source, "date": self.date, "distribution_date": self.distribution_date}
        return {key: [one[key] for one in found] for key in empty} | {key: [v] * len(found) for key, v in told.items()}

    def to_markdown(self) -> str:
        """Return the table in Markdown, with its notes."""
        return "\n".join([markdown_table(*self.table()), "", *(f"* {note}" for note in self.notes), ""])

    @property
    def appendix(self) -> Appendix:
        """The table as :func:`fairbound.report` adds it to a page."""
        header, rows = self.table()
        texts = tuple(map(tuple, rows))
        return Appendix("Rates and impact ratios by category", (), tuple(header), texts, self.notes, numbers=2)

    def report(self, attribute: str = SEX, *, title: str = "Bias audit") -> Report:
        """Return a page with the whole table and the certificates of one attribute."""
        if attribute not in self.evidence:
            message = f"{given('attribute', attribute)} has no certificates; use one of {[*self.evidence]}"
            raise InputError(message)
        return report(self.evidence[attribute], title=title, appendix=self.appendix)

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        from fairbound.wording.notebook import html_details, html_table  # noqa: PLC0415 (only in notebooks)

        return html_table(*self.table()) + html_details("What this is", list(self.notes))


def bias_audit(
    *,
    sex: Any,
    race_ethnicity: Any,
    selected: Any = None,
    scores: Any = None,
    rho: float,
    source: str,
    date: str,
    distribution_date: str | None = None,
    confidence: float | None = None,
    unknown: Sequence[Hashable] = UNKNOWN,
    exclude_small: bool = False,
) -> BiasAudit:
    """Return selection rates (or scoring rates) and impact ratios by category, with a certified bound of each ratio.

    Parameters
    ----------
    sex, race_ethnicity
        The categories of each person. Missing values, and those in ``unknown``, are categories that are not known:
        these people are counted, and are in none of the rates that need them.
    selected
        Whether each person was selected, as truth values or 0 and 1; or ``scores``.
    scores
        The score of each person: selected are those above the median of all scores.
    rho
        The Hellinger distance within which populations of applicants are considered. Nothing is asked of their base
        rates: rates of selection are compared, and true labels are not known.
    source, date, distribution_date
        What is published beside the table: where the data come from, with an explanation; when the audit was made; and
        since when the tool is in use.
    confidence
        The people are a sample: all bounds hold together with this probability.
    unknown
        Names of categories that mean: not known.
    exclude_small
        Leave categories with less than 2 % of the people out of the ratios, as the rules allow with reasons. They are
        marked either way.

    Examples
    --------
    >>> from fairbound.integrations.bias_audit import bias_audit
    >>> audit = bias_audit(
    ...     sex=["F"] * 40 + ["M"] * 60,
    ...     race_ethnicity=(["A"] * 20 + ["B"] * 20) + (["A"] * 30 + ["B"] * 28 + [None] * 2),
    ...     selected=[1, 0] * 20 + [1, 1, 0] * 20,
    ...     rho=0.05, source="applications of May", date="2026-06-01",
    ... )
    >>> [(one.name, round(one.impact_ratio, 3), round(one.certified, 3)) for one in audit.categories[:2]]
    [('F', 0.75, 0.568), ('M', 1.0, 1.0)]
    >>> audit.unknown
    {'sex': 0, 'race/ethnicity': 2, 'sex and race/ethnicity': 2}
    """
    chosen, median = _selected(selected, scores)
    people = len(chosen)
    known = {SEX: _categories("sex", sex, people, unknown)}
    known[RACE] = _categories("race_ethnicity", race_ethnicity, people, unknown)
    pairs = zip(known[SEX], known[RACE], strict=True)
    known[BOTH] = [None if None in pair else pair for pair in pairs]
    sure = None
    if confidence is not None:  # the three tables hold together
        sure = math.nextafter(1.0 - (1.0 - read_confidence(confidence)) / len(known), 1.0)
    categories: list[Category] = []
    evidence = {}
    for attribute, values in known.items():
        lines, found = _table(attribute, values, chosen, rho, sure, exclude_small)
        categories += lines
        if found is not None:
            evidence[attribute] = found
    return BiasAudit(
        categories=tuple(categories),
        unknown={attribute: sum(value is None for value in values) for attribute, values in known.items()},
        applicants=people,
        scored=scores is not None,
        median=median,
        source=source,
        date=date,
        distribution_date=distribution_date,
        rho=rho,
        confidence=confidence,
        evidence=evidence,
    )


def _table(
    attribute: str,
    values: list[Hashable | None],
    chosen: Booleans,
    rho: float,
    confidence: float | None,
    exclude_small: bool,
) -> tuple[list[Category], Evidence | None]:
    """Return the lines of an attribute, and the certificates of their ratios."""
    known = sorted({value for value in values if value is not None}, key=name)
    number_of = {value: index for index, value in enumerate(known)}
    codes = np.array([-1 if value is None else number_of[value] for value in values])
    counts = np.bincount(codes[codes >= 0], minlength=len(known))
    hits = np.bincount(codes[(codes >= 0) & chosen], minlength=len(known))
    small = counts < SMALL * len(chosen)
    compared = ~small if exclude_small else np.ones(len(known), dtype=np.bool_)
    rates = hits / counts
    highest = max(rates[compared], default=0.0)
    evidence = _evidence(known, codes, chosen, compared, rho, confidence) if highest > 0 else None
    bounds = {} if evidence is None else {next(iter(curve)).group: next(iter(curve)).bound for curve in evidence}
    lines = []
    for index, value in enumerate(known):
        ratio = float(rates[index] / highest) if compared[index] and highest > 0 else None
        lines.append(
            Category(
                attribute=attribute,
                name=value,
                applicants=int(counts[index]),
                selected=int(hits[index]),
                share=float(counts[index] / len(chosen)),
                rate=float(rates[index]),
                impact_ratio=ratio,
                certified=bounds.get(value),
                small=bool(small[index]),
            )
        )
    return lines, evidence


def _evidence(
    known: list[Hashable], codes: Any, chosen: Booleans, compared: Booleans, rho: float, confidence: float | None
) -> Evidence | None:
    """Certify the impact ratio of each category that is compared.

    Being selected is both the label and the prediction, so that a population knows group and selection and nothing
    else; general shifting lets both change, and nothing is asked of base rates.
    """
    kept = [value for value, wanted in zip(known, compared, strict=True) if wanted]
    rows = np.isin(codes, np.flatnonzero(compared))
    if len(kept) < 2:
        return None
    outcomes = np.where(chosen[rows], *OUTCOMES[::-1])
    population = Population.from_predictions(
        outcomes,
        outcomes,
        sensitive_features=[known[code] for code in codes[rows]],
        labels=OUTCOMES,
    )
    questions = [{"metric": "demographic_parity_ratio", "group": value} for value in kept]
    return certify_all(
        population, questions, [rho], pos_label=OUTCOMES[1], fair=False, empty_cells="ceiling", confidence=confidence
    )


def _selected(selected: Any, scores: Any) -> tuple[Booleans, float | None]:
    """Return who is selected, and the median of the scores."""
    if (selected is None) == (scores is None):
        message = f"pass either {argument('selected')} or {argument('scores')}, and not both"
        raise InputError(message)
    what = "selected" if scores is None else "scores"
    try:
        values = np.asarray(selected if scores is None else scores, dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{argument(what)} must hold numbers" + ("" if scores is not None else ": 1 for selected, 0 for not")
        raise InputError(message) from None
    if values.ndim != 1 or not values.size or np.isnan(values).any():
        message = f"{argument(what)} must hold one value for each person, and none may be missing"
        raise InputError(message)
    if scores is not None:
        median = float(np.median(values))
        return values > median, median
    if not np.isin(values, (0.0, 1.0)).all():
        message = f"{argument('selected')} must hold 1 for selected and 0 for not; pass scores as {argument('scores')}"
        raise InputError(message)
    return values == 1.0, None


def _categories(what: str, values: Any, people: int, unknown: Sequence[Hashable]) -> list[Hashable | None]:
    """Return the category of each person, None if it is not known."""
    listed = np.asarray(values, dtype=object).tolist() if not isinstance(values, list) else values
    if len(listed) != people:
        message = f"{argument(what)} has {len(listed)} values, and there are {people} people"
        raise InputError(message)
    return [None if _missing(value) or value in unknown else value for value in listed]


def _missing(value: object) -> bool:
    """Whether a value stands for none: None, not a number, or the missing value of a data frame."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124 (nothing that is missing equals itself)
    except TypeError:
        return True
