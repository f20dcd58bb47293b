"""The sections of a report: what was certified, the data, what it rests on, how to check it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from xml.etree.ElementTree import Element

import numpy as np

from fairbound.data.population import Population
from fairbound.problem.limits import limit_sentences
from fairbound.reporting.markup import Child, definitions, element, number_cell, section, table
from fairbound.reporting.report_data import FEW_ROWS, Findings, counts_rows, few_rows
from fairbound.wording.confidence import with_probability
from fairbound.wording.digits import Digits, exactly
from fairbound.wording.names import printable, short_name, shortened
from fairbound.wording.vocabulary import capitalised, wording

#: More cells, sentences and reasons than these are cut off, with a word that they are.
MOST_CELLS = 200
MOST_REASONS = 20
MOST_CHARACTERS = 1000


def shown_name(value: Hashable) -> Element:
    """Show a name so that its direction of writing touches nothing around it."""
    return element("bdi", short_name(value))


def verdict_chip(findings: Findings) -> Element:
    """Say whether the claim is proved, as the checker found when this page was made."""
    proved = findings.verification.valid
    return element(
        "p",
        element(
            "span",
            element("span", "✓" if proved else "✗", aria_hidden="true"),
            " Proved" if proved else " Not proved",
            class_=f"verdict {'proved' if proved else 'refused'}",
            id="verdict",
        ),
        element("span", " checked by an independent program when this page was made", class_="muted"),
    )


def refusal_note(findings: Findings) -> Element | None:
    """Say why a claim is not proved."""
    if findings.verification.valid:
        return None
    reasons = findings.verification.reasons
    left = len(reasons) - MOST_REASONS
    return element(
        "div",
        element("p", "The checker does not accept this certificate. Nothing on this page is proved. It says:"),
        element("ul", *(element("li", _cut(reason)) for reason in reasons[:MOST_REASONS])),
        element("p", f"and {left} more reasons.") if left > 0 else None,
        class_="note bad",
        role="note",
    )


def doubts_note(findings: Findings) -> Element | None:
    """Say what the document states and we find otherwise."""
    if not findings.doubts:
        return None
    sentences = (element("li", sentence) for sentence in findings.doubts[:MOST_REASONS])
    return element("div", element("ul", *sentences), class_="note bad", role="note")


def data_section(findings: Findings, digits: Digits, excluded: Mapping[str, int]) -> Element:
    """Show the population: groups, base rates, masses and losses of the cells, and how far one has to go."""
    population, said = findings.population, wording(findings.population)
    counted = counts_rows(population)
    facts = [
        ("Rows", f"{population.rows:,.0f}" if population.rows is not None else "not known: made from moments"),
        (
            capitalised(said.one),
            f"{said.words}, at most {exactly(population.ceiling)}"
            if np.isfinite(population.ceiling)
            else f"{said.words}, without a ceiling",
        ),
        (f"{capitalised(said.mean_words)} on the data", digits.near(population.loss)),
        (f"Nearest distribution{findings.question.condition.phrase or ' in question'}", _nearest(findings)),
    ]
    few = few_rows(population)
    header = [("Group", False), ("Label", False), *([("Rows", True)] if counted else [])]
    header += [("Share of the data", True), ("Base rate", True), (capitalised(said.mean_words), True)]
    cells = [(s, y) for s in range(len(population.groups)) for y in range(len(population.labels))]
    mass, rates, mean = population.mass, population.base_rates, population.mean
    rows = [
        element(
            "tr",
            element("th", shown_name(population.groups[s]), scope="row"),
            element(
                "td",
                shown_name(population.labels[y]),
                " ",
                element("span", "few rows", class_="badge") if few[s, y] else None,
                element("span", "no data", class_="badge") if not population.weight[s, y] else None,
            ),
            number_cell(f"{population.weight[s, y]:,.0f}") if counted else None,
            number_cell(f"{mass[s, y]:.4f}"),
            number_cell(f"{rates[s, y]:.4f}"),
            number_cell(digits.near(mean[s, y]) if population.weight[s, y] else "\N{EN DASH}"),
        )
        for s, y in cells[:MOST_CELLS]
    ]
    caption = "Each cell of group and label. The base rate is the share of the label within its group."
    if len(cells) > MOST_CELLS:
        caption += f" The first {MOST_CELLS} of {len(cells)} cells; all are in the certificate."
    return section(
        "data",
        "The data",
        definitions(facts),
        table(header, rows, caption),
        _small_note(population, few),
        _excluded_note(population, excluded),
    )


def _nearest(findings: Findings) -> str:
    """Say how far the nearest distribution in question is."""
    distance, limits = findings.distance, " (within the limits below)" if _limited(findings) else ""
    level, condition = findings.question.confidence, findings.question.condition
    if level is None and distance == 0 and not condition.equal:
        return "the data's own: every distance can be certified."
    if level is None:
        return (
            f"at {findings.question.distance_words} {distance:.4f}{limits}. Within smaller distances there is none, "
            "and so nothing to certify."
        )
    if distance == 0:
        return f"the rows do not exclude {condition.already}{limits}: every distance can be certified."
    return (
        f"{with_probability(level, findings.population.rows)}, not nearer than {Digits(4).down(distance)}{limits} to "
        f"{source_words(findings)}. Within smaller distances there is nothing to certify."
    )


def _small_note(population: Population, few: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Element | None:
    """Name the cells with few rows and those without any."""
    parts: list[Element] = []
    said = wording(population)
    small = [(population.groups[s], population.labels[y]) for s, y in np.argwhere(few)]
    for cells, sentence in (
        (small, f"Fewer than {FEW_ROWS} rows, so share and {said.one} rest on little: "),
        (population.empty_cells, f"No rows at all, so the {said.worst} is assumed where it matters: "),
    ):
        if cells:
            named: list[Child] = []
            for group, label in cells[:MOST_REASONS]:
                named += [", " if named else None, shown_name(group), " with label ", shown_name(label)]
            left = len(cells) - MOST_REASONS
            parts.append(element("p", sentence, *named, f" and {left} more." if left > 0 else "."))
    return element("div", *parts, class_="note", role="note", id="small-cells") if parts else None


def _excluded_note(population: Population, excluded: Mapping[str, int]) -> Element | None:
    """Name the rows that were left out before anything was certified: those the document counts, and others."""
    missing = {"a value was missing": population.excluded_rows}
    counts = {reason: count for reason, count in {**missing, **excluded}.items() if count}
    if not counts:
        return None
    items = (element("li", f"{count:,} rows: ", element("bdi", short_name(why))) for why, count in counts.items())
    return element(
        "div",
        element("p", "Rows that were left out of the data before this certificate was made:"),
        element("ul", *items),
        class_="note",
        role="note",
        id="excluded-rows",
    )


def scope_section(findings: Findings) -> Element:
    """Say over which distributions, under which assumptions and at which confidence."""
    asked, said = findings.question, wording(findings.population)
    others = said.many if asked.metric == "loss" else "metrics"
    covered = [
        asked.condition.listed,
        f"Near the data: the {asked.distance_words} from {source_words(findings)} is at most rho.",
        {
            "sensitive": "Sensitive shifting: only the shares of the cells of group and label change. Inside each cell "
            f"everything stays as in {'that distribution' if findings.sampled else 'the data'}.",
            "general": "General shifting: anything may change, also inside the cells of group and label.",
        }[asked.shift],
    ]
    if asked.shift == "general" and asked.support == "observed":
        covered.append(f"Observed {said.values} only: no {said.value} occurs that was not seen in the same cell.")
    for word, skew in (("groups", asked.group_skew), ("labels", asked.label_skew)):
        if skew is not None:
            covered.append(f"The shares of any two {word} differ by at most {exactly(skew)}.")
    covered += limit_sentences(asked.population, asked.group_limits, asked.label_limits)
    return section(
        "scope",
        "What this covers, and what it rests on",
        element("p", "The statement is about every distribution that has all of these properties:"),
        element("ul", *(element("li", sentence) for sentence in covered)),
        element("h3", "Assumptions"),
        element("p", "Worded by this page from the fields that the checker reads:", class_="muted"),
        element(
            "ul", *(element("li", element("bdi", _cut(sentence))) for sentence in asked.assumptions), id="assumptions"
        ),
        element("h3", "Confidence"),
        element("p", _confidence(findings), id="confidence"),
        element("h3", "Not said"),
        element(
            "p",
            f"Nothing is said of larger distances, of other {others}, {asked.condition.not_said}or of whether a "
            "model is acceptable. That is for people to judge.",
        ),
    )


def source_words(findings: Findings) -> str:
    """Return what the ball lies around: the data or, if they are a sample, what they were drawn from."""
    return "the distribution that the rows were drawn from" if findings.sampled else "the data's distribution"


def _confidence(findings: Findings) -> str:
    """Say what chance has to do with it."""
    level = findings.question.confidence
    if level is not None:
        said = "The statement holds" if findings.verification.valid else "It is claimed, without proof, to hold"
        return (
            f"{said} {with_probability(level, findings.population.rows)}, for every rho at once. The rows are taken to "
            "be independent draws from one distribution, held out from training. Whether this draw was one of the "
            "unlucky ones, nobody can tell from the rows."
        )
    source = "rows" if findings.population.rows is not None else "statistics"
    return (
        f"The statement is exact for the {source} that were given, which are taken to be the whole distribution. It "
        "makes no allowance for sampling error: other rows from the same source would give somewhat different numbers."
    )


def _limited(findings: Findings) -> bool:
    return findings.question.limited


def _cut(sentence: str) -> str:
    return shortened(printable(sentence), MOST_CHARACTERS)
