"""Figures with matplotlib, as PNG and SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbound.experiments.section import Figure, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: Colour, dashes and width of each kind of curve; all can be told apart in grey.
STYLES: dict[str, tuple[str, Any, float]] = {
    "bound": ("#111111", "solid", 1.8),
    "baseline": ("#0b5cad", (0, (5, 2)), 1.5),
    "moments": ("#d9730d", (0, (1, 1.2)), 1.6),
    "limit0": ("#9ecae1", "solid", 1.6),
    "limit1": ("#5ba3cf", (0, (6, 1.5)), 1.6),
    "limit2": ("#2171b5", (0, (4, 1.5, 1, 1.5)), 1.6),
    "limit3": ("#d9730d", (0, (2, 1)), 1.6),
    "limit4": ("#111111", "solid", 1.8),
}
GREY = "#8a8f98"
PANEL = (3.1, 2.5)
DOTS_PER_INCH = 110


def render(figure: Figure) -> dict[str, bytes]:
    """Draw a figure; return its files by their endings."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415 (optional, and only where something is drawn)
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 (likewise)
    except ImportError:
        message = "figures need matplotlib, which is not installed; pip install matplotlib"
        raise ImportError(message, name="matplotlib") from None
    columns = max(len(row) for row in figure.rows)
    width = max(PANEL[0] * columns, 5.2)
    with rc_context({"font.size": 8, "svg.hashsalt": figure.name, "hatch.linewidth": 0.5}):
        canvas = Canvas(figsize=(width, PANEL[1] * len(figure.rows) + 0.4), layout="constrained")
        grid = canvas.subplots(len(figure.rows), columns, squeeze=False)
        for axes, row in zip(grid, figure.rows, strict=True):
            for place, panel in enumerate(row):
                _draw(axes[place], panel)
            for unused in axes[len(row) :]:
                unused.set_axis_off()
        for axes in grid[-1]:
            axes.set_xlabel("Hellinger distance")
        entries: dict[str, Any] = {}
        for axes in grid.ravel():
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        canvas.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=2 if columns < 3 else 4,
            frameon=False,
            markerscale=8,
        )
        return packed(canvas)


def packed(canvas: Canvas) -> dict[str, bytes]:
    """Return the files of what was drawn by their endings: nothing in them tells of time or programs."""
    files = {}
    for ending, about in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        content = io.BytesIO()
        canvas.savefig(content, format=ending, dpi=DOTS_PER_INCH, metadata=about)
        files[ending] = content.getvalue()
    return files


def lined(axes: Axes) -> None:
    """Give a picture the lines that all of them have."""
    axes.grid(color="#e3e6ea", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _draw(axes: Axes, panel: Panel) -> None:
    if panel.distance > 0:
        axes.axvspan(
            0.0, panel.distance, facecolor="#f4f5f7", edgecolor="#c3c9d1", hatch="////", linewidth=0, label="infeasible"
        )
    if panel.points is not None:
        axes.plot(
            *panel.points,
            linestyle="",
            marker=".",
            markersize=1.2,
            color=GREY,
            alpha=0.5,
            markeredgewidth=0,
            rasterized=True,
            label="generated distributions",
        )
    for line in panel.lines:
        color, dashes, width = STYLES[line.style]
        known = ~np.isnan(line.y)
        axes.plot(line.x[known], line.y[known], color=color, linestyle=dashes, linewidth=width, label=line.label)
    axes.set_xlim(0.0, max(float(line.x.max()) for line in panel.lines))
    axes.set_ylim(0.0, panel.highest)
    axes.set_title(panel.title, fontsize=9)
    axes.set_ylabel(panel.ylabel)
    lined(axes)
