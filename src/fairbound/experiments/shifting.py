"""Experiments 1, 2 and 7: certificates of both kinds of shift against generated distributions and the paper's grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from fairbound.certificate.certify import certify_curve
from fairbound.data.population import Population
from fairbound.experiments.bench import LARGE, SMALL, TITLES, Bench
from fairbound.experiments.comparison import ENOUGH, Comparison, compare
from fairbound.experiments.generated import general_shifts, sensitive_shifts
from fairbound.experiments.grid import LEVELS, grid_certificate
from fairbound.experiments.section import Check, Figure, Line, Panel, Section
from fairbound.experiments.store import Table

Kind = Literal["sensitive", "general"]
LOSSES: dict[Kind, tuple[str, str]] = {"sensitive": ("zero_one", "cross_entropy"), "general": ("zero_one", "jsd")}

#: How near to the curve the highest generated distribution of a tenth of rho must come under sensitive shifting.
TIGHT = 0.01


@dataclass(frozen=True)
class Study:
    """One curve: a dataset, a loss and a kind of shift."""

    dataset: str
    loss: str
    shift: Kind
    tables: Mapping[str, Table]

    @property
    def title(self) -> str:
        """How it is called in checks."""
        return f"{self.dataset}, {TITLES[self.loss]}"

    @property
    def comparison(self) -> Comparison:
        """How generated distributions compare with the curve."""
        tenths, total = self.tables["tenths"], self.tables["total"]
        above, excess = int(total["above"][0]), float(total["excess"][0])
        return Comparison(above, excess, tenths["count"].astype(np.int64), tenths["margin"])

    def panel(self, title: str = "") -> Panel:
        """Return what is drawn of it."""
        curve, points = self.tables["curve"], self.tables["points"]
        lines = [Line("certificate", curve["rho"], curve["bound"])]
        if self.shift == "general":
            baseline = self.tables["baseline"]
            lines.append(Line("the paper's certificate (grid 0.005)", baseline["rho"], baseline["bound"], "baseline"))
            if self.loss != "zero_one":
                known = baseline["ours_from_moments"]
                lines.append(Line("certificate from mean and variance alone", baseline["rho"], known, "moments"))
        return Panel(
            title,
            TITLES[self.loss],
            tuple(lines),
            (points["distance"], points["loss"]),
            float(self.tables["total"]["nearest"][0]),
        )


def study(bench: Bench, dataset: str, loss: str, shift: Kind) -> Study:
    """Certify, generate and compare; or read what was done."""
    chosen = bench.settings
    about = {**bench.stamp, "radii": chosen.radii.tolist(), "generated": chosen.generated}
    if shift == "general":
        about |= {"baseline radii": chosen.baseline_radii.tolist(), "grid": LEVELS[-1]}
    with bench.progress.task(f"{shift} shifting, {dataset}, {TITLES[loss]}"):
        name = f"{shift}-{dataset}-{TITLES[loss].lower()}"
        tables = bench.store.tables(name, about, partial(_compute, bench, dataset, loss, shift))
    return Study(dataset, loss, shift, tables)


def _compute(bench: Bench, dataset: str, loss: str, shift: Kind) -> dict[str, Table]:
    chosen, case = bench.settings, bench.case(dataset)
    population = case.population(loss)
    curve = certify_curve(population, chosen.radii, shift=shift)
    if shift == "sensitive":
        points = sensitive_shifts(population, chosen.generated, chosen.seed)
    else:
        points = general_shifts(population, case.other_mean(loss), chosen.generated, chosen.seed)
    found = compare(points, curve.rho, curve.bound, lambda rho: certify_curve(population, rho, shift=shift).bound)
    tables: dict[str, Table] = {
        "curve": {"rho": curve.rho, "bound": curve.bound, "attained": curve.attained},
        "points": {"distance": points.distance, "loss": points.loss},
        "tenths": {"from": np.arange(10) / 10, "count": found.count, "margin": found.margin},
        "total": {
            "nearest": np.array([curve.distance]),
            "loss": np.array([population.loss]),
            "above": np.array([found.above]),
            "excess": np.array([found.excess]),
        },
    }
    if shift == "general":
        radii, moments = chosen.baseline_radii, case.moments(loss)
        tables["baseline"] = {
            "rho": radii,
            "bound": grid_certificate(*moments, radii),
            "ours": certify_curve(population, radii).bound,
            "ours_from_moments": certify_curve(Population.from_moments(*moments), radii).bound,
        }
    return tables


def _checks(studies: list[Study]) -> tuple[Check, ...]:
    checks = []
    for one in studies:
        found = one.comparison
        generated = int(found.count.sum())
        checks.append(
            Check(
                f"{one.shift} shifting, {one.title}: none of {generated:,} generated distributions is above",
                found.above == 0,
                f"{found.above} above; the nearest is {-found.excess:.2g} below",
            )
        )
        if one.shift == "sensitive":
            full = found.count >= ENOUGH
            widest = float(found.margin[full].max()) if full.any() else 0.0
            checks.append(
                Check(
                    f"sensitive shifting, {one.title}: within {TIGHT} of the curve in each tenth of rho",
                    widest <= TIGHT,
                    f"at most {widest:.1e} below it in the {int(full.sum())} tenths with {ENOUGH} or more",
                )
            )
        else:
            baseline = one.tables["baseline"]
            both = ~np.isnan(baseline["ours"]) & ~np.isnan(baseline["bound"])
            gain = (baseline["bound"] - baseline["ours"])[both]
            checks.append(
                Check(
                    f"general shifting, {one.title}: nowhere above the paper's certificate",
                    bool((gain >= 0).all()) and not np.isnan(baseline["bound"][~np.isnan(baseline["ours"])]).any(),
                    f"{float(gain.max()):.3f} below it at most, {float(gain.mean()):.3f} on average",
                )
            )
    return tuple(checks)


def sensitive(bench: Bench) -> Section:
    """Run experiment 1."""
    studies = {
        (d, loss): study(bench, d, loss, "sensitive") for d in bench.settings.datasets for loss in LOSSES["sensitive"]
    }
    figures = []
    for name, members in (("sensitive", LARGE), ("sensitive-small", SMALL)):
        shown = [d for d in members if d in bench.settings.datasets]
        if shown:
            rows = tuple(
                tuple(studies[d, loss].panel(d.upper() if place == 0 else "") for d in shown)
                for place, loss in enumerate(LOSSES["sensitive"])
            )
            figures.append(
                Figure(
                    name, "Sensitive shifting: certificates and generated distributions with equal base rates.", rows
                )
            )
    text = (
        f"Only the shares of the four cells of group and label change. Grey: {bench.settings.generated:,} generated "
        "distributions with equal base rates for each curve, with their exact distance and loss. Black: the "
        "certificate, which no such distribution can exceed. Nothing can be certified where none exists (hatched)."
    )
    return Section("Sensitive shifting", text, tuple(figures), checks=_checks(list(studies.values())))


def general(bench: Bench) -> Section:
    """Run experiments 2 and 7."""
    chosen = bench.settings.datasets
    studies = {(d, loss): study(bench, d, loss, "general") for d in chosen for loss in LOSSES["general"]}
    large, small = ([d for d in members if d in chosen] for members in (LARGE, SMALL))
    figures = []
    caption = "General shifting, {}: certificates, the paper's certificates and generated distributions."
    if large:
        row = tuple(studies[d, "zero_one"].panel(d.upper()) for d in large)
        figures.append(Figure("general-error", caption.format("error"), (row,)))
        panels = [studies[d, "jsd"].panel(d.upper()) for d in large]
        pairs = tuple(tuple(panels[i : i + 2]) for i in range(0, len(panels), 2))
        figures.append(Figure("general-jsd", caption.format("JSD loss"), pairs))
    if small:
        rows = tuple(
            tuple(studies[d, loss].panel(d.upper() if place == 0 else "") for d in small)
            for place, loss in enumerate(LOSSES["general"])
        )
        figures.append(Figure("general-small", caption.format("error and JSD loss"), rows))
    text = (
        "The distribution within a cell changes too. Each generated distribution mixes, cell by cell, the test rows "
        "with a distribution that is disjoint from them there: the values of the same group with the other label. The "
        "dashed curve is the certificate of the paper's Theorem 3 with its grid of 0.005 for the same model and rows. "
        "It knows the mean and the variance of the loss in each cell; ours knows the losses."
    )
    return Section("General shifting", text, tuple(figures), checks=_checks(list(studies.values())))
