"""Draw the figures of the README and of the documentation from the demonstration data.

    python tools/make_readme_figure.py

writes ``certificate.svg``, ``worst-case.svg`` and ``shifts.svg`` into ``docs/figures``. It needs matplotlib. With the
same version of it the files come out the same, byte for byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from fairbound import Population, certify, certify_curve
from fairbound.datasets.demo import demo_columns, demo_population
from fairbound.problem.question import Shift

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "figures"

STYLE: dict[Any, Any] = {"svg.hashsalt": "fairbound", "figure.facecolor": "white", "font.size": 10}

TITLES: dict[Shift, str] = {
    "sensitive": "Sensitive shifting: the shares of cells change",
    "general": "General shifting: anything may change",
}


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Draw the figures of the documentation.")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder to write to")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 (after the choice of the backend)

    population = demo_population(demo_columns())
    radii = np.arange(1, 101) / 200
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(10.4, 3.9), sharey=True, layout="constrained")
        for ax, (shift, title) in zip(axes, TITLES.items(), strict=True):
            certify_curve(population, radii, shift=shift).plot(ax).set_title(title, fontsize=11)
            ax.set_ylim(0, 0.85)
        axes[0].set_ylabel("error of the model")
        axes[1].set_ylabel("")
        axes[1].get_legend().remove()  # the same as on the left
        figure.savefig(folder / "certificate.svg", metadata={"Date": None})

        figure, ax = plt.subplots(figsize=(8.2, 2.9), layout="constrained")
        certify(population, 0.2, shift="sensitive").plot_worst_case(ax)
        figure.savefig(folder / "worst-case.svg", metadata={"Date": None})

        figure = draw_shifts(plt.figure(figsize=(10.4, 3.9), layout="constrained"))
        figure.savefig(folder / "shifts.svg", metadata={"Date": None})
    for name in ("certificate.svg", "worst-case.svg", "shifts.svg"):
        print(f"{folder / name}: {(folder / name).stat().st_size} bytes")


def draw_shifts(figure: Any) -> Any:
    """Draw the bounds of the four shifts: three over the Hellinger radius, trimming over the share taken away."""
    columns = demo_columns()
    population = Population.from_predictions(
        columns["income"],
        columns["predicted"],
        sensitive_features=columns["sex"],
        strata=columns["race"],
    )
    left, right = figure.subplots(1, 2, sharey=True)
    radii = np.arange(17, 101) / 200
    shifts: tuple[tuple[Shift, str], ...] = (
        ("sensitive", "sensitive: cells of sex and income move"),
        ("stratified", "stratified: so do races inside of them"),
        ("general", "general: anything may change"),
    )
    for shift, words in shifts:
        left.plot(radii, certify_curve(population, radii, shift=shift).bound, label=words)
    left.set_xlabel("Hellinger distance from the data")
    left.set_ylabel("certified error of the model")
    left.legend(frameon=False, fontsize="small", loc="upper left")
    shares = np.arange(20, 96, 3) / 100
    bounds = [certify(population, share, divergence="trimming").bound for share in shares]
    right.plot(shares, bounds, color="C3", label="trimming: any part of the data")
    right.set_xlabel("share of the data that is taken away")
    right.legend(frameon=False, fontsize="small", loc="upper left")
    for ax in (left, right):
        ax.axhline(population.loss, color="0.6", linewidth=0.8, linestyle=":")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, 1)
    return figure


if __name__ == "__main__":
    main()
