"""Populations, certificates and curves in words and tables for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.curve import CertificateCurve
from fairbound.data.population import Population
from fairbound.reporting.report_data import least_radius
from fairbound.wording.confidence import AROUND_ROWS, reached_in, with_probability
from fairbound.wording.overview import cell_rows, change_rows
from fairbound.wording.table import text_table

#: Sentences are wrapped to this many characters.
WIDTH = 100


def points(sentences: Iterable[str]) -> list[str]:
    """Return sentences as the points of a list."""
    return [
        textwrap.fill(text, WIDTH, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False)
        for text in sentences
    ]


def describe_population(population: Population) -> str:
    """Return the table of cells."""
    return text_table(*cell_rows(population))


def describe_curve(curve: CertificateCurve) -> str:
    """Return the table of bounds; infeasible radii are marked."""
    return text_table(*curve.table())


def describe_worst_case(certificate: Certificate) -> str:
    """Return how each cell's share and loss change from P to the worst-case distribution."""
    return text_table(*change_rows(certificate.population, certificate.witness.mass))


def describe_prices(certificate: Certificate) -> list[str]:
    """Return which cells' errors cost most, as a table with its title and what is to be known of it."""
    prices = certificate.prices
    return [prices.title, text_table(prices.head, prices.rows), *points([prices.meaning, *prices.remarks])]


def _attained_lines(certificate: Certificate) -> list[str]:
    """Say what a distribution that was found attains and, if the data are a sample, how sure the bound is."""
    relation = "exceeds" if certificate.gap > certificate.tol else "is within"
    gap = f"  the gap, {certificate.gap:.1e}, {relation} the tolerance {certificate.tol:g}."
    if certificate.confidence is None:
        return [f"  and a worst-case distribution has {certificate.attained!r};", gap]
    rows, region = certificate.population.rows, certificate.region
    side = "larger or smaller" if region in AROUND_ROWS else "larger" if certificate.lower else "smaller"
    return [
        f"  {with_probability(certificate.confidence, rows, region)} (region {region!r}).",
        f"  A distribution {reached_in(region)} has {certificate.attained!r};",
        f"{gap} The true worst case may be {side}.",
    ]


def worst_case_title(certificate: Certificate) -> str:
    """Say what the worst case is one of."""
    return (
        "The worst case that was found"
        + ("" if certificate.confidence is None else f", {reached_in(certificate.region)}")
        + (f", of {certificate.leading}" if certificate.leading else "")
    )


def show_certificate(certificate: Certificate) -> str:
    """Return a certificate in words."""
    population = certificate.population
    return "\n".join(
        [
            f"Certificate, {certificate.shift} shifting, rho = {certificate.rho!r}",
            "",
            f"  The {certificate.said.subject} is {certificate.side} {certificate.bound!r}",
            *_attained_lines(certificate),
            "",
            "The data",
            describe_population(population),
            "",
            worst_case_title(certificate),
            describe_worst_case(certificate),
            "",
            *describe_prices(certificate),
            "",
            "What this rests on",
            *points(certificate.assumptions),
        ]
    )


def show_curve(curve: CertificateCurve) -> str:
    """Return a curve in words."""
    first = next(iter(curve), None)
    what = "" if first is None else f": the {first.said.subject} is {first.side} the bound"
    if first is not None:  # the checker does not look at what a document says of it
        curve = replace(curve, distance=least_radius(first))
    parts = [f"Certificates at several radii{what}", "", describe_curve(curve), "", *curve.sentences()]
    if first is not None:
        parts += ["", "The data", describe_population(first.population), "", "What this rests on"]
        parts += points(first.assumptions)
    return "\n".join(parts)
