"""Run experiments, draw their figures and write the pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairbound.datasets import load
from fairbound.experiments.bench import Bench
from fairbound.experiments.drawing import render
from fairbound.experiments.limits import limits
from fairbound.experiments.page import Results, write_html, write_markdown
from fairbound.experiments.robustness import wrm
from fairbound.experiments.samples import samples
from fairbound.experiments.section import Listing, Section
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
    overview = _overview(bench, missing)
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
