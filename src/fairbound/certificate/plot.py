"""Pictures for matplotlib, which is imported only when something is drawn.

Readable in grey and by colour-blind readers: every kind of line has its own dashes and markers, and the colours (blue
for what is proved, orange for what is attained) differ in lightness too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.continuous import attained_steps
from fairbound.data.cells import numbers
from fairbound.errors import InputError, argument
from fairbound.wording.digits import signed
from fairbound.wording.names import short_name
from fairbound.wording.vocabulary import Wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY, LIGHT = "#0b5cad", "#d9730d", "#6b7280", "#d8dde3"
BASELINES = (("#007a5e", "dashdot", "^"), ("#8f3f97", (0, (1, 1.5)), "v"), ("#3a3a3a", (0, (6, 2)), "D"))

#: More cells than these make a worst case unreadable; the ones that change most are drawn.
MOST_CELLS = 40

#: With more radii than this the markers would hide the line.
MOST_MARKERS = 25


def draw_curve(
    rho: Floats,
    bound: Floats,
    attained: Floats,
    proved: tuple[Floats, Floats],
    distance: float,
    said: tuple[Wording, float] | None,
    *,
    measured: str,
    lower: bool,
    sampled: bool,
    ax: Axes | None,
    samples: Any,
    baselines: Mapping[str, tuple[Any, Any]] | None,
) -> Axes:
    """Draw bound and attained loss over the radius; NaN marks infeasible radii.

    ``proved`` is the line of what is proved at every radius. ``said`` are the words for what is bounded, and its value
    on the data; ``lower``: it is bounded from below; ``sampled``: P is known by a sample.
    """
    points = _samples(samples)
    others = {title: _baseline(title, pair) for title, pair in (baselines or {}).items()}
    axes = _axes(ax, (6.4, 4.2))
    feasible = np.flatnonzero(~np.isnan(bound))
    order = feasible[np.argsort(rho[feasible], kind="stable")]
    radii, bound, attained = rho[order], bound[order], attained[order]
    if distance > 0:
        axes.axvspan(
            0.0,
            distance,
            facecolor="#f1f3f5",
            edgecolor="#b6bec8",
            hatch="///",
            linewidth=0,
            zorder=0,
            label="infeasible",
        )
    if said is not None:
        axes.axhline(
            said[1],
            color=GREY,
            linestyle=":",
            linewidth=1.2,
            label=f"{said[0].axis} on the data",
            zorder=1,
        )
    if len(points):
        axes.plot(*points.T, "o", color=GREY, markersize=2.5, alpha=0.6, label="sampled distributions", zorder=2)
    for index, (title, (x, y)) in enumerate(others.items()):
        color, dashes, marker = BASELINES[index % len(BASELINES)]
        axes.plot(
            x,
            y,
            color=color,
            linestyle=dashes,
            marker=marker,
            markersize=4,
            linewidth=1.4,
            zorder=3,
            label=_plain(title),
        )
    if len(radii):
        marker = "o" if len(radii) <= MOST_MARKERS else ""
        low, line = attained_steps(radii, attained, lower=lower), np.stack(proved, axis=1)
        band = np.concatenate([line[line[:, 0] >= radii[0]], np.stack(low, axis=1)[::-1]])
        if not sampled:  # else the true worst case may lie below
            axes.fill(*band.T, color=BLUE, alpha=0.12, linewidth=0, zorder=1)
        found = "attained, allowing for sampling error" if sampled else "attained"
        axes.plot(*proved, color=BLUE, linewidth=2.2, zorder=4, label="bound")
        axes.plot(*low, color=ORANGE, linewidth=1.6, linestyle=(0, (4, 2)), zorder=5, label=found)
        if marker:
            axes.plot(radii, bound, linestyle="", marker="o", markersize=5, color=BLUE, zorder=6)
            axes.plot(
                radii,
                attained,
                linestyle="",
                marker="s",
                markersize=3,
                markerfacecolor=axes.get_facecolor(),
                markeredgecolor=ORANGE,
                zorder=7,
            )
    axes.set_xlim(0.0, max(float(rho.max(initial=0.0)), distance) * 1.02 or 1.0)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"rho: {measured} from {'P, of which the rows are a sample' if sampled else 'the data'}")
    axes.set_ylabel(said[0].axis if said else "expected loss")
    axes.yaxis.label.set_parse_math(False)
    _finish(axes, "both")
    axes.legend(loc="best", fontsize="small", framealpha=0.92, edgecolor="none")
    return axes


def draw_worst_case(
    places: Sequence[str], before: Floats, after: Floats, rho: float, *, ax: Axes | None, what: str = "cell"
) -> Axes:
    """Draw, for each cell or stratum, its share in the data and in the worst case, ordered by the change."""
    change = after - before
    shown = np.argsort(-np.abs(change), kind="stable")[:MOST_CELLS]
    shown = shown[np.argsort(change[shown], kind="stable")]
    axes = _axes(ax, (6.4, 1.4 + 0.34 * len(shown)))
    place = np.arange(len(shown))
    grows = change[shown] > 0
    for part, color, marker, word in ((grows, ORANGE, ">", "grows"), (~grows, BLUE, "<", "shrinks")):
        cells = shown[part]
        axes.hlines(place[part], before[cells], after[cells], color=color, linewidth=2.5, zorder=2)
        axes.plot(
            after[cells],
            place[part],
            linestyle="",
            marker=marker,
            markersize=8,
            color=color,
            zorder=4,
            label=f"in the worst case: {word}",
        )
    axes.plot(
        before[shown],
        place,
        linestyle="",
        marker="o",
        markersize=6,
        markerfacecolor=axes.get_facecolor(),
        markeredgecolor=GREY,
        markeredgewidth=1.5,
        zorder=3,
        label="in the data",
    )
    axes.set_yticks(place, labels=[places[c] for c in shown], parse_math=False)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlim(0.0, float(max(before[shown].max(), after[shown].max())) * 1.12)
    for at, cell in zip(place, shown, strict=True):
        axes.annotate(
            signed(change[cell], 3),
            (max(before[cell], after[cell]), at),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=GREY,
        )
    left_out = before.size - len(shown)
    axes.set_xlabel(
        f"share of the {what}"
        + (
            f" (the {left_out} {'cells' if what == 'cell' else 'strata'} that change least are not drawn)"
            if left_out
            else ""
        )
    )
    axes.set_title(f"The worst case within rho = {rho:g}", loc="left", fontsize="medium")
    _finish(axes, "x")
    axes.legend(
        frameon=False,
        loc="upper right",
        bbox_to_anchor=(1.02, -0.9 / (1.4 + 0.34 * len(shown))),
        ncols=3,
        fontsize="small",
        handletextpad=0.3,
        columnspacing=1.2,
    )
    return axes


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the user's axes, or new ones."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (only where something is drawn)
    except ImportError:
        message = "plots need matplotlib, which is not installed; pip install matplotlib"
        raise ImportError(message, name="matplotlib") from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _finish(axes: Axes, grid: str) -> None:
    axes.grid(axis=grid, color=LIGHT, linewidth=0.6)  # type: ignore[arg-type]  # "x" or "both"
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _plain(text: str) -> str:
    """Return a legend entry in which a dollar sign is a dollar sign, not mathematics."""
    return short_name(text).replace("$", r"\$").lstrip("_")


def _samples(samples: Any) -> Floats:
    """Return sampled distributions as rows of distance and loss."""
    points = numbers("samples", [] if samples is None else samples)
    if not points.size:
        return np.zeros((0, 2))
    if points.ndim != 2 or points.shape[1] != 2:
        message = f"{argument('samples')} has shape {points.shape}; it needs a row (distance, loss) per distribution"
        raise InputError(message)
    return points


def _baseline(title: str, pair: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return radii and values of another method's curve."""
    name = argument(f"baselines[{title!r}]")
    if len(pair) != 2:
        message = f"{name} must be two sequences, radii and values"
        raise InputError(message)
    try:
        x, y = (np.asarray(part, dtype=np.float64) for part in pair)  # NaN is welcome: it leaves a gap in the line
    except (TypeError, ValueError):
        message = f"{name} must hold numbers: radii and values"
        raise InputError(message) from None
    if x.ndim != 1 or x.shape != y.shape:
        message = f"{name} has radii of shape {x.shape} and values of shape {y.shape}; they need one each"
        raise InputError(message)
    return x, y
