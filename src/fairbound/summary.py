"""Populations, certificates and curves in words and tables for a terminal."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fairbound.certificate import Certificate, CertificateCurve
from fairbound.population import Population
from fairbound.table import text_table


def name(value: Hashable) -> str:
    """Print a group or label as the user wrote it; intersectional groups as a list of parts."""
    return " / ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)


def describe_population(population: Population) -> str:
    """Return the table of cells."""
    counted = population.rows is not None and bool(np.all(population.weight == np.round(population.weight)))
    rows = []
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            rows.append(
                [
                    name(group),
                    name(label),
                    *([f"{population.weight[s, y]:.0f}"] if counted else []),
                    f"{population.mass[s, y]:.4f}",
                    f"{population.base_rates[s, y]:.4f}",
                    f"{population.mean[s, y]:.4f}" if population.weight[s, y] else "no data",
                ]
            )
    header = [
        "group",
        "label",
        *(["rows"] if counted else []),
        "share",
        "base rate",
        f"mean {population.loss_name}",
    ]
    return text_table(header, rows)


def describe_curve(curve: CertificateCurve) -> str:
    """Return the table of bounds; infeasible radii are marked."""
    rows = [
        [f"{rho:g}", "infeasible", "", ""]
        if c is None
        else [f"{rho:g}", f"{c.bound:.6f}", f"{c.attained:.6f}", f"{c.gap:.1e}"]
        for rho, c in zip(curve.rho, curve.certificates, strict=True)
    ]
    return text_table(["rho", "bound", "attained", "gap"], rows)


def describe_worst_case(certificate: Certificate) -> str:
    """Return how each cell's share and loss change from P to the worst-case distribution."""
    population, witness = certificate.population, certificate.witness
    rows = []
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            before, after = population.mass[s, y], witness.mass[s, y]
            rows.append([name(group), name(label), f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"])
    return text_table(["group", "label", "share in data", "share in worst case", "change"], rows)


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
