"""Populations, certificates and curves in words and tables for a terminal."""

from __future__ import annotations

from fairbound.certificate import Certificate, CertificateCurve
from fairbound.overview import cell_rows, change_rows
from fairbound.population import Population
from fairbound.table import text_table


def describe_population(population: Population) -> str:
    """Return the table of cells."""
    return text_table(*cell_rows(population))


def describe_curve(curve: CertificateCurve) -> str:
    """Return the table of bounds; infeasible radii are marked."""
    return text_table(*curve.table())


def describe_worst_case(certificate: Certificate) -> str:
    """Return how each cell's share and loss change from P to the worst-case distribution."""
    return text_table(*change_rows(certificate.population, certificate.witness.mass))


def sampling_lines(certificate: Certificate) -> list[str]:
    """Return how sure the statement is if the data are a sample; nothing otherwise."""
    if certificate.confidence is None:
        return []
    rows, region = certificate.population.rows, certificate.region
    return [
        f"  The bound holds with probability {certificate.confidence:g} or more over the draw of the {rows} rows "
        f"(region {region!r})."
    ]


def show_certificate(certificate: Certificate) -> str:
    """Return a certificate in words."""
    population = certificate.population
    relation = "exceeds" if certificate.gap > certificate.tol else "is within"
    return "\n".join(
        [
            f"Certificate, {certificate.shift} shifting, rho = {certificate.rho!r}",
            "",
            f"  The {population.loss_name} of the model is at most {certificate.bound!r}",
            f"  and a worst-case distribution has {certificate.attained!r};",
            f"  the gap, {certificate.gap:.1e}, {relation} the tolerance {certificate.tol:g}.",
            *sampling_lines(certificate),
            "",
            "The data",
            describe_population(population),
            "",
            "The worst case that was found",
            describe_worst_case(certificate),
            "",
            "What this rests on",
            *(f"  * {sentence}" for sentence in certificate.assumptions),
        ]
    )


def show_curve(curve: CertificateCurve) -> str:
    """Return a curve in words."""
    first = next(iter(curve), None)
    parts = ["Certificates at several radii", "", describe_curve(curve), ""]
    parts.append(f"The nearest distribution with equal base rates is at Hellinger distance {curve.distance!r}.")
    if first is not None:
        parts += sampling_lines(first)
        parts += ["", "The data", describe_population(first.population), "", "What this rests on"]
        parts += [f"  * {sentence}" for sentence in first.assumptions]
    return "\n".join(parts)
