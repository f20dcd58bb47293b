"""Run experiments, draw their figures and write the pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairbound.experiments.bench import LARGE, Bench
from fairbound.experiments.drawing import render
from fairbound.experiments.limits import limits
from fairbound.experiments.page import Results, write_html, write_markdown
from fairbound.experiments.robustness import wrm
from fairbound.experiments.samples import samples
from fairbound.experiments.section import Figure, Listing, Section
from fairbound.experiments.shifting import general, sensitive
from fairbound.experiments.tables import tables
from fairbound.version import __version__

EXPERIMENTS: dict[str, Callable[[Bench], Section]] = {
    "sensitive": sensitive,
    "general": general,
    "limits": limits,
    "wrm": wrm,
    "tables": tables,
    "samples": samples,
}


def reproduce(bench: Bench, experiments: tuple[str, ...], *, skip_missing: bool) -> Results:
    """Run the experiments and write everything into the store's folder.

    With ``skip_missing`` datasets that cannot be loaded are left out, and the page says so.
    """
    missing = _leave_out_missing(bench) if skip_missing else {}
    bench.progress.expect(len(bench.settings.datasets))
    overview = _overview(bench, missing)
    bench.progress.expect(sum(_tasks(name, bench.settings.datasets) for name in experiments))
    sections = []
    for name in experiments:
        section = EXPERIMENTS[name](bench)
        for figure in section.figures:
            _draw(bench, figure)
        sections.append(section)
    results = Results("The paper's experiments", _made(bench), (overview, *sections))
    bench.store.write("index.html", write_html(results, sorted((bench.store.folder / "data").glob("*.csv"))))
    bench.store.write("results.md", write_markdown(results))
    return results


def _tasks(experiment: str, datasets: tuple[str, ...]) -> int:
    """Return how many tasks an experiment shows."""
    curves = {"sensitive": 2, "general": 2, "samples": 4}
    if experiment == "limits":
        return len([name for name in datasets if name in LARGE])
    if experiment == "tables":
        return int("adult" in datasets)
    return curves[experiment] * len(datasets) if experiment in curves else 1


def _leave_out_missing(bench: Bench) -> dict[str, str]:
    """Drop the datasets that cannot be loaded; return why."""
    reasons: dict[str, str] = {}
    bench.progress.expect(len(bench.settings.datasets))
    for name in bench.settings.datasets:
        try:
            bench.summary(name)
        except (ValueError, OSError) as error:
            reasons[name] = " ".join(str(error).split())
    left = tuple(name for name in bench.settings.datasets if name not in reasons)
    bench.settings = replace(bench.settings, datasets=left)
    return reasons


def _draw(bench: Bench, figure: Figure) -> None:
    files = {ending: bench.store.folder / "figures" / f"{figure.name}.{ending}" for ending in ("png", "svg")}
    if bench.store.changed or not all(file.exists() for file in files.values()):
        with bench.progress.task(f"draw {figure.name}", part=True):
            for ending, content in render(figure).items():
                bench.store.write(f"figures/{figure.name}.{ending}", content)


def _overview(bench: Bench, missing: dict[str, str]) -> Section:
    rows = []
    for name in bench.settings.datasets:
        cells = bench.summary(name)
        share = cells["share"]
        whole = [f"{float((share * cells[loss]).sum()):.4f}" for loss in ("error", "bce", "jsd")]
        groups = [
            f"{group}, {label}: {int(n):,} ({error:.3f})"
            for group, label, n, error in zip(*(cells[c] for c in ("group", "label", "rows", "error")), strict=True)
        ]
        rows.append((name, f"{int(cells['rows'].sum()):,}", *whole, "; ".join(groups)))
    head = ("dataset", "test rows", "error", "BCE", "JSD", "rows of each cell, and error")
    words = "Certificates are computed from the model's losses on test rows, which took no part in training."
    words += "".join(f" Not run: {name} ({reason})." for name, reason in missing.items())
    return Section("Data and models", words, listings=(Listing("Test rows and losses", head, tuple(rows)),))


def _made(bench: Bench) -> tuple[str, ...]:
    chosen = bench.settings
    return (
        f"Made by `fairbound reproduce` of fairbound {__version__}: model {chosen.model}, seed {chosen.seed} for "
        f"splits, training and generated distributions{', quick' if chosen.quick else ''}; "
        f"{chosen.generated:,} generated distributions for each curve.",
    )
