"""The report: one page of HTML about a certificate or a curve, complete in itself, to be shown to others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.curve import CertificateCurve
from fairbound.errors import InputError, given
from fairbound.reporting.attachment import attach
from fairbound.reporting.checking import check_section
from fairbound.reporting.figures import ARROW, CurveScale
from fairbound.reporting.markup import Child, data_block, element, raw_block, write
from fairbound.reporting.report_data import Findings, examine
from fairbound.reporting.sections import data_section, scope_section
from fairbound.reporting.summary import curve_section, scale_section, summary_section
from fairbound.reporting.worst_case import WorstCases
from fairbound.version import __version__
from fairbound.wording.digits import Digits, gap_up, radius_down
from fairbound.wording.names import short_name

#: A page stays near or below this size: of the certificate as much is attached as fits.
MOST_BYTES = 1_950_000

#: More radii than these are thinned out on the page.
MOST_RADII = 200


def report(
    source: Certificate | CertificateCurve | str | bytes,
    *,
    title: str | None = None,
    excluded: Mapping[str, int] | None = None,
) -> str:
    """Return a page of HTML about a certificate or a curve: one file that needs no network, to be shown to others.

    The proof is checked while the page is made, and the page says what the checker found. The certificate is attached:
    readers can save it from the page and check it themselves.

    Parameters
    ----------
    source
        A certificate, a curve, or a JSON document of either.
    title
        The page's title; by default the question that it answers.
    excluded
        How many rows were left out of the data, and why: a count for each reason.

    Examples
    --------
    >>> from fairbound import Population, certify_curve, report
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> page = report(certify_curve(population, [0.1, 0.2, 0.3]))
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    return render(examine(source), title, excluded)


def render(findings: Findings, title: str | None = None, excluded: Mapping[str, int] | None = None) -> str:
    """Return the page about a document that was examined."""
    left_out = _counts(excluded)
    style, script = (_template(kind) for kind in ("css", "js"))
    certificates = _thinned(findings)
    digits = Digits.fitting(max([*(c.bound for c in certificates), findings.question.on_data]))
    chosen = len(certificates) // 2
    worst = WorstCases(certificates, digits)
    scale = CurveScale.fitting(
        [*(c.rho for c in certificates), *findings.infeasible, findings.distance],
        [*(c.bound for c in certificates), findings.question.on_data],
    )
    radii = [
        {
            "rho": radius_down(c.rho),
            "bound": c.texts(digits)[0],
            "attained": c.texts(digits)[1],
            "gap": gap_up(c.gap),
            "x": round(scale.across(c.rho), 5),
            "y": round(scale.upward(c.bound), 5),
            "cells": worst.changing(index),
            "most": worst.grows_most(index),
        }
        for index, c in enumerate(certificates)
    ]
    data = {
        "radii": radii,
        "arrows": ARROW,
        "barred": round(scale.across(findings.distance), 5),
        "nearest": f"{findings.distance:.4f}",
    }
    asked = findings.question
    whose = "this model's " if asked.metric == "loss" else "the "
    question = title or f"How {'small' if asked.lower else 'large'} can {whose}{asked.said.words} get?"
    before: list[Child] = [
        summary_section(findings, certificates, digits, question, radii[chosen]),
        curve_section(findings, certificates, digits, scale, chosen)
        if findings.curve
        else scale_section(findings, digits),
        worst.section(chosen, proved=findings.verification.valid),
        data_section(findings, digits, left_out),
        scope_section(findings),
    ]
    after: list[Child] = [_footer(findings), data_block("page-data", data), raw_block("script", script)]

    def whole(*middle: Child) -> str:
        head = _head(question, style, script)
        body = element("body", element("main", *before, *middle, *after[:1]), *after[1:])
        return write(element("html", head, body, lang="en"))

    room = MOST_BYTES - len(whole(check_section(findings, None)).encode("utf-8"))
    return whole(check_section(findings, attach(findings.document, room)))


def _head(title: str, style: str, script: str) -> Element:
    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"

    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"fairbound {__version__}"),
        element("link", rel="icon", href="data:,"),
        element("title", short_name(title, 200)),
        raw_block("style", style),
    )


def _template(kind: str) -> str:
    from importlib.resources import files  # noqa: PLC0415 (slow to import, and needed for a page only)

    return files("fairbound.reporting").joinpath(f"templates/report.{kind}").read_text("utf-8")


def _counts(excluded: Mapping[str, int] | None) -> dict[str, int]:
    """Return the counts of rows that were left out, by reason."""
    counts = dict(excluded or {})
    unchecked: dict[str, object] = {**counts}
    for reason, count in unchecked.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            message = f"{given(f'excluded[{reason!r}]', count)} must be a number of rows"
            raise InputError(message)
    return counts


def _thinned(findings: Findings) -> tuple[Certificate, ...]:
    """Return the certificates, or as many of them, evenly chosen, as a page can show."""
    every = findings.certificates
    if len(every) <= MOST_RADII:
        return every
    return tuple(every[i] for i in np.unique(np.linspace(0, len(every) - 1, MOST_RADII).round().astype(int)))


def _footer(findings: Findings) -> Element:
    words = (
        f"This page states what is proved of one {findings.question.said.one} over one set of distributions, "
        "under the assumptions above. "
        f"It does not call a model good or acceptable. Made by fairbound {__version__}."
    )
    return element("footer", element("p", words))
