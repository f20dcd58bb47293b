"""Results for people and for programs: what was read, what was certified, and what to be careful about."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairbound.certificate.certificate import Certificate, Status
from fairbound.certificate.curve import CertificateCurve
from fairbound.cli.output import paragraphs
from fairbound.data.losses import ZERO_ONE
from fairbound.data.population import Population
from fairbound.errors import listed
from fairbound.problem.limits import limit_sentences
from fairbound.reporting.report_data import FEW_ROWS, few_rows
from fairbound.reporting.terminal import describe_population, describe_worst_case, worst_case_title
from fairbound.version import __version__
from fairbound.wording.digits import radius_down
from fairbound.wording.names import short_name, write_name
from fairbound.wording.table import text_table
from fairbound.wording.vocabulary import wording

#: More cells than these are not listed on a terminal.
MOST_CELLS = 60

#: By how much the data have to be worse than a bound to be spoken of: more than rounding.
NOTICEABLE = 1e-9

#: Names that programs write where there is no value.
LIKE_MISSING = {"na", "n/a", "nan", "null", "none", "?", "unknown", "missing", "<na>"}

MEANING = {
    ("general", "any"): "anything may change, also inside the cells of group and label (general shifting)",
    ("general", "observed"): "anything may change, but no loss occurs that was not observed in its cell (general "
    "shifting, observed support)",
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
        *text_table([*header, "cells that grow most"], [[*row, g] for row, g in zip(rows, grown, strict=True)]).split(
            "\n"
        ),
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
    ]


def _growing(certificate: Certificate, most: int = 2) -> str:
    """Name the cells whose share grows most."""
    population = certificate.population
    change = certificate.witness.mass - population.mass
    labels = len(population.labels)
    cells = [c for c in np.argsort(-change, axis=None, kind="stable")[:most] if change.flat[c] > 5e-5]
    return ", ".join(
        f"{short_name(population.groups[c // labels], 30)} {short_name(population.labels[c % labels], 30)} "
        f"{change.flat[c]:+.4f}"
        for c in cells
    )


def warnings_of(population: Population, certificates: Sequence[Certificate]) -> list[str]:
    """Name what a reader should know: few rows, no rows, rows left out, names that look like gaps, loose bounds."""
    said, words = [], wording(population)
    small = [
        (population.groups[s], population.labels[y], population.weight[s, y])
        for s, y in np.argwhere(few_rows(population))
    ]
    if small:
        named = [f"{short_name(g)} {short_name(y)} ({n:.0f})" for g, y, n in small]
        said.append(f"Fewer than {FEW_ROWS} rows, so share and {words.one} rest on little: {listed(named)}.")
    if population.empty_cells:
        named = [f"{short_name(g)} {short_name(y)}" for g, y in population.empty_cells]
        said.append(f"No rows, so the {words.worst} is assumed where it matters: {listed(named)}.")
    if population.excluded_rows:
        rows = "was 1 row" if population.excluded_rows == 1 else f"were {population.excluded_rows:,} rows"
        said.append(f"Left out {rows} in which a value was missing.")
    said += _odd_names(population)
    loose = [f"{c.rho:g}" for c in certificates if c.status is Status.LOOSE]
    if loose:
        said.append(
            f"At rho = {listed(loose)} the bound holds, but the gap exceeds the tolerance; raise --budget or --tol."
        )
    sides = [(c, c.bound - c.on_data if c.lower else c.on_data - c.bound) for c in certificates]
    worse = [f"{c.rho:g}" for c, beyond in sides if beyond > NOTICEABLE]
    if worse:  # no contradiction, but a gate that looks at the bound alone would let it pass
        said.append(
            f"At rho = {listed(worse)} the data themselves are worse than the bound: they do not meet its condition on "
            "base rates or its limits. --no-base-rate-constraint, without limits, covers them too."
        )
    trivial = [f"{c.rho:g}" for c in certificates if c.status is Status.TRIVIAL]
    if trivial:
        said.append(
            f"At rho = {listed(trivial)} the bound says nothing: so far from the data a group may have any rows; "
            "use a smaller --rho, or limit the shares of groups, as with --min-group-mass."
        )
    return said


def _odd_names(population: Population) -> list[str]:
    """Name groups and labels that look like gaps, or like others, or that no prediction hits."""
    said = []
    together = [g if isinstance(g, tuple) else (g,) for g in population.groups]
    columns = [set(population.labels), *map(set, zip(*together, strict=True))]
    texts = [sorted(name for name in column if isinstance(name, str)) for column in columns]
    gaps = sorted({name for names in texts for name in names if name.strip().lower() in LIKE_MISSING})
    if gaps:
        said.append(
            f"{listed([repr(g) for g in gaps])} is taken for a name. If it means that there is no value: "
            f"{' '.join(f'--na {g!r}' for g in gaps)} --missing drop (in CSV)."
        )
    twins = []
    for names in texts:
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(" ".join(name.lower().split()), []).append(repr(name))
        twins += [" and ".join(same) for same in alike.values() if len(same) > 1]
    if twins:
        said.append(f"Names that differ only in spaces or in capital letters are taken for different: {listed(twins)}.")
    if population.loss_name == ZERO_ONE.name:
        never = [
            repr(label)
            for y, label in enumerate(population.labels)
            if (population.mean[population.weight[:, y] > 0, y] == 1.0).all()
        ]
        if never:
            said.append(f"Not one row with this label is predicted right; does the model know it? {listed(never)}.")
    return said


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
            "share": float(mass[s, y]),
            "base_rate": float(rates[s, y]),
            "mean_loss": float(mean[s, y]) if population.weight[s, y] else None,
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
        "positive": None if population.positive is None else write_name(population.positive),
        "ceiling": population.ceiling if math.isfinite(population.ceiling) else None,
        "loss_on_data": population.loss,
        "cells": cells,
    }


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return one bound, for programs."""
    return {
        "rho": certificate.rho,
        "feasible": True,
        "bound": certificate.bound,
        "attained": certificate.attained,
        "gap": certificate.gap,
        "status": certificate.status.name.lower(),
        "worst_case_share": certificate.witness.mass.tolist(),
    }


def as_json(command: str, source: str, facts: dict[str, Any]) -> str:
    """Write the results for programs."""
    head = {"fairbound": __version__, "command": command, "file": source}
    return json.dumps({**head, **facts}, indent=2, allow_nan=False)
