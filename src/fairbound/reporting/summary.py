"""The opening of a report: the verdict in plain words, and the curve or, for one certificate, the scale."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from fairbound.certificate.certificate import Certificate
from fairbound.reporting.figures import CurveScale, curve_picture, finite_top, hatching, scale_picture
from fairbound.reporting.markup import Child, element, number_cell, section, table
from fairbound.reporting.report_data import Findings
from fairbound.reporting.sections import doubts_note, refusal_note, source_words, verdict_chip
from fairbound.wording.confidence import with_probability
from fairbound.wording.digits import Digits, gap_up, radius_down
from fairbound.wording.names import short_name
from fairbound.wording.vocabulary import wording

#: More infeasible radii than these are not listed.
MOST_INFEASIBLE = 200


def summary_section(
    findings: Findings, shown: tuple[Certificate, ...], digits: Digits, title: str, chosen: Mapping[str, object]
) -> Element:
    """The verdict, the statement in plain words, and the chosen radius's numbers."""
    said, proved = findings.question.said, findings.verification.valid
    whose = "the model's" if findings.question.metric == "loss" else "the"
    at_most = f"is {findings.question.side}" if proved else f"is claimed, without proof, to be {findings.question.side}"

    def live(name: str) -> Element:
        return element("strong", str(chosen[name]), data_show=name)

    level = findings.question.confidence
    chance = "" if level is None else f"{with_probability(level, findings.population.rows).capitalize()}, "
    centre = " of the data" if level is None else f" of {source_words(findings)}"
    statement = element(
        "p",
        f"{chance}{'in' if chance else 'In'} every {findings.question.distributions} within "
        f"{findings.question.distance_words} ",
        live("rho"),
        f"{centre}{_restrictions(findings.question)}, {whose} {said.words} {at_most} ",
        live("bound"),
        ". ",
        *_reached(findings, live("attained")),
        id="statement",
        aria_live="polite",
    )
    chooser = element(
        "div",
        element("label", "Choose rho", for_="rho"),
        element(
            "input",
            type="range",
            id="rho",
            min=0,
            max=len(shown) - 1,
            step=1,
            value=len(shown) // 2,
            autocomplete="off",
            aria_valuetext=f"rho {chosen['rho']}, bound {chosen['bound']}",
        ),
        element("output", "rho = ", element("span", str(chosen["rho"]), data_show="rho"), for_="rho"),
        class_="chooser needs-script",
    )
    numbers = [
        ("bound (proved)" if proved else "bound (not proved)", "bound", "number main"),
        (
            "attained, allowing for sampling error" if findings.sampled else "attained by a distribution",
            "attained",
            "number found",
        ),
        ("gap between the two", "gap", "number"),
    ]
    return element(
        "header",
        element("p", "fairbound report", class_="brand"),
        element("h1", short_name(title, 200)),
        verdict_chip(findings),
        refusal_note(findings),
        statement,
        element(
            "div",
            *(
                element(
                    "div",
                    element("span", word, class_="what"),
                    element("span", str(chosen[name]), class_="much", data_show=name),
                    class_=kind,
                )
                for word, name, kind in numbers
            ),
            element(
                "div",
                element("span", f"{said.words} on the data", class_="what"),
                element("span", digits.near(findings.question.on_data), class_="much"),
                class_="number",
            ),
            class_="numbers",
        ),
        element("p", f"{_rounding(findings)}, {said.many} that are attained the other way.", class_="muted"),
        chooser if len(shown) > 1 else None,
        doubts_note(findings),
        class_="top",
    )


def _rounding(findings: Findings) -> str:
    """Say which way bounds are rounded: to the safe side."""
    return f"Bounds are rounded {'down' if findings.question.lower else 'up'}"


def _reached(findings: Findings, attained: Element) -> list[Child]:
    """Say what the attained loss tells: of a sample, that this bound cannot be lowered, but not how bad it can get."""
    if not findings.verification.valid:
        return ["It is said to reach ", attained, "."]
    if not findings.sampled:
        return [
            "One of these distributions was found in which it reaches ",
            attained,
            f", so no {'larger' if findings.question.lower else 'smaller'} bound than that can be true.",
        ]
    return [
        "The bound allows for sampling error. No search can bring it "
        f"{'above' if findings.question.lower else 'below'} ",
        attained,
        " with these rows and this confidence region; the true worst case may be "
        f"{'milder' if findings.question.lower else 'smaller'}.",
    ]


def _restrictions(c: Certificate) -> str:
    """Say what else Q has to be: the statement is about these distributions alone."""
    said = []
    if c.shift == "sensitive":
        them = "them" if c.surrogate is None else "it"
        said.append(f"that differs from {them} only in the shares of the cells of group and label")
    elif c.support == "observed":
        said.append(f"in which no {wording(c.population).value} occurs that was not observed in the same cell")
    if c.limited:
        said.append("that keeps the limits on shares given below")
    return "".join(f", {part}" for part in said)


def curve_section(
    findings: Findings, shown: tuple[Certificate, ...], digits: Digits, scale: CurveScale, chosen: int
) -> Element:
    """The curve as a picture, and all its numbers in a table."""
    rho, bound, attained = (np.array([getattr(c, key) for c in shown]) for key in ("rho", "bound", "attained"))
    said, lower = findings.question.said, findings.question.lower
    first, last = shown[0].texts(digits)[0], shown[-1].texts(digits)[0]
    label = (
        f"Bound and attained {said.one} over rho. The bound {'falls' if lower else 'rises'} from {first} at rho "
        f"{radius_down(rho[0])} to {last} at rho {radius_down(rho[-1])}. The table holds all values."
    )
    pictures = [
        curve_picture(
            rho,
            bound,
            attained,
            findings.bound_line,
            distance=findings.distance,
            measured=findings.question.distance_words,
            loss=findings.question.on_data,
            scale=scale,
            chosen=chosen,
            size=size,
            kind=kind,
            label=label,
            sampled=findings.sampled,
            lower=lower,
        )
        for kind, size in (("broad", (860, 400)), ("narrow", (380, 320)))
    ]
    infeasible = [(value, None) for value in findings.infeasible[:MOST_INFEASIBLE]]
    rows = []
    for at, index in sorted([*infeasible, *((c.rho, i) for i, c in enumerate(shown))], key=lambda pair: pair[0]):
        head = element("th", radius_down(at), scope="row", class_="n")
        if index is None:
            why = element("td", _infeasible(at, findings), colspan=3)
            rows.append(element("tr", head, why))
            continue
        c = shown[index]
        cells = [
            number_cell(c.texts(digits)[0], title=repr(c.bound)),
            number_cell(c.texts(digits)[1], title=repr(c.attained)),
            number_cell(gap_up(c.gap)),
        ]
        rows.append(element("tr", head, *cells, data_index=index, class_="on" if index == chosen else None))
    left = len(findings.certificates) - len(shown)
    caption = f"{_rounding(findings)}, attained {said.many} the other way."
    if left:
        caption += f" {len(shown)} of {len(findings.certificates)} radii are shown; all are in the certificate."
    numbers = table([("rho", True), ("bound", True), ("attained", True), ("gap", True)], rows, caption, id="radii")
    folded = element("details", element("summary", f"All {len(rows)} radii in numbers"), numbers, open=len(rows) <= 12)
    return section(
        "curve",
        "Over the distance from the data",
        element(
            "p",
            f"The farther the world may move from the data, the {'smaller' if lower else 'larger'} the {said.one} can "
            "get. " + _steps(findings),
        ),
        _legend(findings),
        element("div", *pictures, element("div", class_="tip", hidden=True, aria_hidden="true"), class_="figure"),
        folded,
    )


def _steps(findings: Findings) -> str:
    """Say how the picture is to be read."""
    if not findings.verification.valid:
        return "The steps are what the document claims; they are not proved."
    proved = "The line is what is proved, at every distance: the true worst case"
    level = findings.question.confidence
    if level is None:
        return f"{proved} lies in the shaded band."
    side = "above" if findings.question.lower else "below"
    return f"{proved} lies {side} it, at all distances together {with_probability(level, findings.population.rows)}."


def _infeasible(rho: float, findings: Findings) -> str:
    if rho < findings.distance:
        if findings.sampled:
            return "infeasible: at this confidence no distribution in question is this near"
        return "infeasible: no distribution in question is this near"
    return "called infeasible by the document; not certified"


def _found(findings: Findings) -> str:
    """Say by what a loss is attained."""
    return (
        "attained in the larger ball that allows for sampling error"
        if findings.sampled
        else "attained by a distribution that was found"
    )


def _legend(findings: Findings) -> Element:
    proved = "bound (proved)" if findings.verification.valid else "bound (not proved)"
    swatches = [
        (element("path", class_="bound", d="M0 7H30"), proved),
        (element("path", class_="attained", d="M0 7H30"), _found(findings)),
        (element("line", class_="data", x1=0, x2=30, y1=7, y2=7), f"{findings.question.said.words} on the data"),
    ]
    if findings.distance > 0:
        stripes = element("rect", fill="url(#hatch-legend)", class_="edge", width=30, height=14)
        swatches.append((element("g", hatching("legend"), stripes), "no distribution in question this near"))
    return element(
        "ul",
        *(
            element("li", element("svg", mark, viewBox="0 0 30 14", aria_hidden="true"), element("span", words))
            for mark, words in swatches
        ),
        class_="legend",
    )


def scale_section(findings: Findings, digits: Digits) -> Element:
    """Where one certificate's numbers lie between no loss and the largest there can be."""
    c, population = findings.question, findings.population
    losses = [c.on_data, c.attained, c.bound]
    bound, attained = c.texts(digits)
    marks = [
        (c.on_data, "mark-data", "bar"),
        (c.bound, "mark-bound", "dot"),
        (c.attained, "mark-attained", "square"),
    ]
    words = c.said.words
    label = f"{words} on the data {digits.near(losses[0])}, attained {attained}, bound {bound}"
    names = [
        (element("rect", class_="mark-data", x=13, width=3, height=14), f"{words} on the data"),
        (element("circle", class_="mark-bound", cx=15, cy=7, r=6), "bound"),
        (
            element("rect", class_="mark-attained", x=11, y=3, width=8, height=8),
            _found(findings),
        ),
    ]
    legend = element(
        "ul",
        *(
            element(
                "li",
                element("svg", mark, class_="scale", viewBox="0 0 30 14", aria_hidden="true"),
                element("span", word),
            )
            for mark, word in names
        ),
        class_="legend",
    )
    picture = scale_picture(marks, finite_top(population.ceiling, losses), label)
    return section("curve", "From the data to the worst case", legend, element("div", picture, class_="figure"))
