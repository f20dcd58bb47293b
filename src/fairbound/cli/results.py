"""Results for people and for programs: what was read, what was certified, and what to be careful about."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairbound.certificate.cautions import Caution
from fairbound.certificate.certificate import Certificate, keeps
from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.evidence import Gate
from fairbound.cli.output import paragraphs
from fairbound.cli.words import QUESTION
from fairbound.data.population import Population
from fairbound.problem.limits import limit_sentences
from fairbound.reporting.terminal import describe_population, describe_worst_case, worst_case_title
from fairbound.version import __version__
from fairbound.wording.digits import radius_down
from fairbound.wording.names import short_name, write_name
from fairbound.wording.table import text_table

#: More cells than these are not listed on a terminal.
MOST_CELLS = 60

MEANING = {
    ("general", "any"): "anything may change, also inside the cells of group and label (general shifting)",
    ("general", "observed"): "anything may change, but no loss occurs that was not observed in its cell (general "
    "shifting, observed support)",
    ("stratified", "any"): "only the shares of the strata of the cells change (stratified shifting)",
    ("stratified", "observed"): "only the shares of the strata of the cells change (stratified shifting)",
    ("sensitive", "any"): "only the shares of the cells of group and label change (sensitive shifting)",
    ("sensitive", "observed"): "only the shares of the cells of group and label change (sensitive shifting)",
}


def population_lines(source: str, certificate: Certificate) -> list[str]:
    """Return what was read, and what is bounded on the data themselves."""
    population = certificate.population
    ceiling = f"at most {population.ceiling:g}" if math.isfinite(population.ceiling) else "without a ceiling"
    value = f"{certificate.said.label}: {certificate.on_data:.4f} on the data"
    table = describe_population(population).split("\n")
    left = len(table) - 2 - MOST_CELLS
    return [
        f"{source}: {population.rows:,} rows, {len(population.groups)} groups, {len(population.labels)} labels",
        *paragraphs([f"{value}, {ceiling}" if certificate.metric == "loss" else value], mark=""),
        "",
        *table[: MOST_CELLS + 2],
        *([f"  and {left} more cells"] if left > 0 else []),
    ]


def curve_lines(curve: CertificateCurve, arguments_shift: tuple[str, str]) -> list[str]:
    """Return the bounds at all radii, and which cells grow most."""
    first = next(iter(curve))
    header, rows = curve.table()
    grown = ["" if c is None else _growing(c) for c in curve.certificates]
    centre = "the data" if first.confidence is None else "the distribution that the rows were drawn from"
    limits = "".join(
        f"; any two {what} shares differ by at most {skew:g}"
        for what, skew in (("group", first.group_skew), ("label", first.label_skew))
        if skew is not None
    )
    said = limit_sentences(first.population, first.group_limits, first.label_limits)
    limits += "".join(f"; {sentence[0].lower()}{sentence[1:-1]}" for sentence in said)
    return [
        *paragraphs(curve.sentences(), mark=""),
        "",
        *paragraphs(
            [
                f"Over every {first.distributions} within {first.distance_words} rho of {centre}, where "
                f"{MEANING[arguments_shift]}{limits}{_bounded(first)}:"
            ],
            mark="",
        ),
        *text_table(
            [*header, "strata that grow most" if first.shift == "stratified" else "cells that grow most"],
            [[*row, g] for row, g in zip(rows, grown, strict=True)],
        ).split("\n"),
    ]


def _bounded(certificate: Certificate) -> str:
    """Say what is bounded, if it is not the expected loss that the table of the data shows."""
    if certificate.metric == "loss":
        return ""
    return f", the {certificate.said.words} is {certificate.side} the bound"


def worst_case_lines(certificate: Certificate) -> list[str]:
    """Return the worst case at one radius."""
    table = describe_worst_case(certificate).split("\n")
    left = len(table) - 2 - MOST_CELLS
    return [
        f"{worst_case_title(certificate)}, rho = {radius_down(certificate.rho)}",
        *table[: MOST_CELLS + 2],
        *([f"  and {left} more cells"] if left > 0 else []),
        *_strata_lines(certificate),
    ]


def _strata_lines(certificate: Certificate, most: int = 5) -> list[str]:
    """Return which strata grow most, in words."""
    grown = [one for one in certificate.strata[:most] if one.change > 5e-5]
    return ["Strata that grow most:", *(f"  {one.told}" for one in grown)] if grown else []


def _growing(certificate: Certificate, most: int = 2) -> str:
    """Name the cells, or strata, whose share grows most."""
    strata = [one for one in certificate.strata[:most] if one.change > 5e-5]
    if strata:
        return "; ".join(f"{one.place} {one.change:+.4f}" for one in strata)
    population = certificate.population
    change = certificate.witness.mass - population.mass
    labels = len(population.labels)
    cells = [c for c in np.argsort(-change, axis=None, kind="stable")[:most] if change.flat[c] > 5e-5]
    return ", ".join(
        f"{short_name(population.groups[c // labels], 30)} {short_name(population.labels[c % labels], 30)} "
        f"{change.flat[c]:+.4f}"
        for c in cells
    )


def closing_lines(warnings: Sequence[str], assumptions: Sequence[str]) -> list[str]:
    """Return warnings and assumptions."""
    lines = ["", "Be careful", *paragraphs(warnings)] if warnings else []
    return [*lines, "", "What this rests on", *paragraphs(assumptions)]


def population_facts(population: Population) -> dict[str, Any]:
    """Return what was read, for programs."""
    groups, labels = [write_name(g) for g in population.groups], [write_name(y) for y in population.labels]
    mass, rates, mean = population.mass, population.base_rates, population.mean
    cells = [
        {
            "group": group,
            "label": label,
            "weight": float(population.weight[s, y]),
            "mass": float(mass[s, y]),
            "base_rate": float(rates[s, y]),
            "mean": float(mean[s, y]) if population.weight[s, y] else None,
        }
        for s, group in enumerate(groups)
        for y, label in enumerate(labels)
    ]
    return {
        "rows": population.rows,
        "excluded_rows": population.excluded_rows,
        "weighted": population.weighted,
        "groups": groups,
        "labels": labels,
        "loss": population.loss_name,
        "pos_label": None if population.pos_label is None else write_name(population.pos_label),
        "ceiling": population.ceiling if math.isfinite(population.ceiling) else None,
        "loss_on_data": population.loss,
        "cells": cells,
    }


def caution_facts(cautions: Sequence[Caution]) -> list[dict[str, str]]:
    """Return what to be careful about, for programs."""
    return [{"kind": caution.kind, "text": caution.sentence.worded(QUESTION)} for caution in cautions]


def curve_facts(curve: CertificateCurve, threshold: float | None) -> dict[str, Any]:
    """Return the answer to one question, for programs."""
    first = next(iter(curve))
    return {
        "metric": first.metric,
        "group": None if first.group is None else write_name(first.group),
        "pos_label": None if first.population.pos_label is None else write_name(first.population.pos_label),
        "value_on_data": first.on_data,
        "distance": curve.distance,
        "results": [
            {"rho": float(rho), "feasible": False} if c is None else certificate_facts(c)
            for rho, c in zip(curve.rho, curve.certificates, strict=True)
        ],
        "threshold": threshold,
        "passed": None if threshold is None else keeps(curve.certificates, threshold),
        "exceeded": [] if threshold is None else [c.rho for c in curve if not keeps([c], threshold)],
    }


def gate_facts(gates: Sequence[Gate]) -> list[dict[str, Any]]:
    """Return how thresholds ended, for programs."""
    return [
        {
            "metric": gate.metric,
            "group": None if gate.worst.group is None else write_name(gate.worst.group),
            "threshold": gate.threshold,
            "bound": gate.worst.bound,
            "rho": gate.worst.rho,
            "passed": gate.passed,
            "outcome": gate.outcome.name.lower(),
            "rows_needed": gate.rows_needed,
            "said": gate.explained,
        }
        for gate in gates
    ]


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return one bound, for programs."""
    return {
        "rho": certificate.rho,
        "feasible": True,
        "bound": certificate.bound,
        "attained": certificate.attained,
        "gap": certificate.gap,
        "status": certificate.status.name.lower(),
        "worst_case_mass": certificate.witness.mass.tolist(),
    }


def as_json(command: str, source: str, facts: dict[str, Any]) -> str:
    """Write the results for programs."""
    head = {"fairbound": __version__, "command": command, "file": source}
    return json.dumps({**head, **facts}, indent=2, allow_nan=False)
