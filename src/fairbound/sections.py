"""The sections of a report: what was certified, the data, what it rests on, how to check it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import sha256
from xml.etree.ElementTree import Element

import numpy as np

from fairbound.attachment import Attachment
from fairbound.digits import Digits, radius_down
from fairbound.findings import FEW_ROWS, Findings, counts_rows, few_rows
from fairbound.markup import Child, definitions, element, number_cell, section, table
from fairbound.names import printable, short_name, shortened
from fairbound.population import Population

#: What the losses of this library are called in a sentence.
LOSS_WORDS = {
    "zero_one": "error rate",
    "brier": "Brier loss",
    "jsd": "Jensen-Shannon loss",
    "absolute": "absolute loss",
    "cross_entropy": "cross-entropy",
}

#: More cells, sentences and reasons than these are cut off, with a word that they are.
MOST_CELLS = 200
MOST_SENTENCES = 40
MOST_REASONS = 20
MOST_CHARACTERS = 1000


def loss_words(population: Population) -> str:
    """Return what the loss is called, in the user's word if we have no better one."""
    return LOSS_WORDS.get(population.loss_name) or short_name(population.loss_name)


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
    """Show the population: groups, base rates, masses and losses of the cells, and how far equal base rates are."""
    population = findings.population
    counted = counts_rows(population)
    facts = [
        ("Rows", f"{population.rows:,.0f}" if population.rows is not None else "not known: made from moments"),
        (
            "Loss",
            f"{loss_words(population)}, at most {population.ceiling:g}"
            if np.isfinite(population.ceiling)
            else f"{loss_words(population)}, without a ceiling",
        ),
        (f"Mean {loss_words(population)} on the data", digits.near(population.loss)),
        (
            "Nearest distribution with equal base rates",
            f"at Hellinger distance {findings.distance:.4f}"
            + (" (within the limits below)" if _limited(findings) else "")
            + ". Within smaller distances there is none, and so nothing to certify.",
        ),
    ]
    few = few_rows(population)
    header = [("Group", False), ("Label", False), *([("Rows", True)] if counted else [])]
    header += [("Share of the data", True), ("Base rate", True), (f"Mean {loss_words(population)}", True)]
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
        _excluded_note(excluded),
    )


def _small_note(population: Population, few: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Element | None:
    """Name the cells with few rows and those without any."""
    parts: list[Element] = []
    small = [(population.groups[s], population.labels[y]) for s, y in np.argwhere(few)]
    for cells, sentence in (
        (small, f"Fewer than {FEW_ROWS} rows, so share and loss rest on little: "),
        (population.empty_cells, "No rows at all, so the worst loss is assumed where it matters: "),
    ):
        if cells:
            named: list[Child] = []
            for group, label in cells[:MOST_REASONS]:
                named += [", " if named else None, shown_name(group), " with label ", shown_name(label)]
            left = len(cells) - MOST_REASONS
            parts.append(element("p", sentence, *named, f" and {left} more." if left > 0 else "."))
    return element("div", *parts, class_="note", role="note", id="small-cells") if parts else None


def _excluded_note(excluded: Mapping[str, int]) -> Element | None:
    """Name the rows that were left out before anything was certified."""
    counts = {reason: count for reason, count in excluded.items() if count}
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
    asked = findings.question
    covered = [
        "Equal base rates: each label has the same share in every group.",
        "Near the data: the Hellinger distance from the data's distribution is at most rho.",
        {
            "sensitive": "Sensitive shifting: only the shares of the cells of group and label change. Inside each cell "
            "everything stays as in the data.",
            "general": "General shifting: anything may change, also inside the cells of group and label.",
        }[asked.shift],
    ]
    if asked.shift == "general" and asked.support == "observed":
        covered.append("Observed losses only: no loss occurs that was not seen in the same cell.")
    for word, skew in (("groups", asked.group_skew), ("labels", asked.label_skew)):
        if skew is not None:
            covered.append(f"The shares of any two {word} differ by at most {skew:g}.")
    sentences = asked.assumptions[:MOST_SENTENCES]
    left = len(asked.assumptions) - len(sentences)
    return section(
        "scope",
        "What this covers, and what it rests on",
        element("p", "The statement is about every distribution that has all of these properties:"),
        element("ul", *(element("li", sentence) for sentence in covered)),
        element("h3", "Assumptions"),
        element(
            "p", "The certificate says of itself (the checker reads numbers, not these sentences):", class_="muted"
        ),
        element("ul", *(element("li", element("bdi", _cut(sentence))) for sentence in sentences), id="assumptions"),
        element("p", f"and {left} more.") if left else None,
        element("h3", "Confidence"),
        element("p", _confidence(findings), id="confidence"),
        element("h3", "Not said"),
        element(
            "p",
            "Nothing is said of larger distances, of other losses, of distributions in which base rates differ, or of "
            "whether a model is acceptable. That is for people to judge.",
        ),
    )


def _confidence(findings: Findings) -> str:
    """Say what chance has to do with it."""
    source = "rows" if findings.population.rows is not None else "statistics"
    return (
        f"The statement is exact for the {source} that were given, which are taken to be the whole distribution. It "
        "makes no allowance for sampling error: other rows from the same source would give somewhat different numbers."
    )


def check_section(findings: Findings, attached: Attachment | None) -> Element:
    """Tell how to check the proof of the certificate that is attached."""
    found = findings.verification
    facts = [("Verdict", found.verdict.value)]
    if found.checked_bound is not None:
        term = "Largest bound that the proofs give" if findings.curve else "The proof gives the bound"
        facts.append((term, repr(found.checked_bound)))
    if found.witness_value is not None:
        term = "Largest loss that is attained" if findings.curve else "The worst case attains"
        facts.append((term, repr(found.witness_value)))
    whole = attached is not None and attached.radii is None
    facts.append((f"SHA-256 of {'certificate.json' if whole else 'the whole'}", sha256(findings.document).hexdigest()))
    made = section(
        "check",
        "Check it yourself",
        *_saving(findings, attached),
        element("pre", element("code", "pip install fairbound\nfairbound verify certificate.json")),
        element(
            "p",
            "The checker is a small program of its own. It takes every number of the certificate as the exact number "
            "that it is, computes with certain error bounds, and uses nothing of the program that found the bound. It "
            "was run when this page was made:",
        ),
        definitions(facts),
        element("h3", "What was checked"),
        element("ul", *(element("li", what) for what in found.checks), id="checks"),
        element(
            "p",
            "That the statistics are those of the data, and the distance of the nearest distribution, are not part of "
            "the proof; the distance was computed anew from the statistics for this page.",
            class_="muted",
        ),
    )
    if attached is not None:
        block = Element("script", {"type": "text/plain", "id": "certificate"})
        block.text = attached.packed  # base64: nothing in it can end the block
        made.append(block)
    return made


def _saving(findings: Findings, attached: Attachment | None) -> list[Child]:
    """Say what is attached, and offer to save it."""
    size = f"{len(findings.document) / 1e6:.1f} MB"
    if attached is None:
        words = (
            f"The certificate has {size}, too much to be attached. Ask for the file with the SHA-256 below, and run:"
        )
        return [element("p", words, id="not-attached")]
    words = "Save the certificate that is attached to this page, and check its proof yourself:"
    if attached.radii is not None:
        radii = ", ".join(radius_down(rho) for rho in attached.radii[:MOST_REASONS])
        words = (
            f"The whole curve has {size}, too much to be attached. Attached are {len(attached.radii)} of its "
            f"{len(findings.certificates)} certificates (rho = {radii}); ask for the file with the SHA-256 below for "
            "the whole. Save the attached ones, and check their proofs yourself:"
        )
    return [
        element("p", words),
        element(
            "p",
            element("button", "Save certificate.json", type="button", id="download", class_="needs-script"),
            element("span", "Saving needs JavaScript, which is switched off here.", class_="no-script muted"),
            " ",
            element("span", role="status", id="download-status", class_="muted"),
            class_="screen-only",
        ),
    ]


def _limited(findings: Findings) -> bool:
    return findings.question.group_skew is not None or findings.question.label_skew is not None


def _cut(sentence: str) -> str:
    return shortened(printable(sentence), MOST_CHARACTERS)
