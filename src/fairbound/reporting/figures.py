"""The pictures of a report, as SVG: the curve, the scale of one certificate, and the move of one cell.

Colours are the style sheet's, by class, so that they follow light, dark and paper; lines also differ by dashes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.continuous import attained_steps
from fairbound.reporting.markup import append, element
from fairbound.wording.amounts import Amounts

#: Width of the picture of one cell's move, in its own units.
MOVE_WIDTH = 200.0


@dataclass(frozen=True)
class CurveScale:
    """The ranges of a curve's picture: radii from 0 to ``right``, losses from 0 to ``top``."""

    right: float
    top: float

    @classmethod
    def fitting(cls, radii: Sequence[float], losses: Sequence[float]) -> CurveScale:
        """Leave some air above and to the right."""
        most = max(radii)
        return cls((min(1.0, most * 1.03) if most <= 1 else most * 1.03) or 1.0, max(losses) * 1.12 or 1.0)

    def across(self, rho: float) -> float:
        """Return a radius as a share of the width."""
        return rho / self.right

    def upward(self, loss: float) -> float:
        """Return a loss as a share of the height."""
        return min(max(loss / self.top, 0.0), 1.0)


@dataclass(frozen=True)
class Frame:
    """A picture of values over radii: where its corners are, and how its numbers are written.

    ``kind`` is the class that tells wide pictures from narrow ones; ``measured`` says what the radii measure.
    """

    scale: CurveScale
    size: tuple[int, int]
    kind: str
    identity: str
    amounts: Amounts
    measured: str
    label: str

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """Left, right, top and bottom of the surface."""
        return 62, self.size[0] - 12, 12, self.size[1] - 46

    def x(self, rho: float) -> float:
        """Return where a radius stands."""
        left, right, _, _ = self.corners
        return round(left + (right - left) * self.scale.across(rho), 2)

    def y(self, value: float) -> float:
        """Return where a value stands."""
        _, _, top, bottom = self.corners
        return round(bottom - (bottom - top) * self.scale.upward(value), 2)

    def path(self, corners: tuple[Floats, Floats]) -> str:
        """Return the drawing of a line."""
        return "M" + "L".join(f"{self.x(a):g} {self.y(b):g}" for a, b in zip(*corners, strict=True))

    def empty(self, nothing_below: float) -> Element:
        """Draw the axes, and what lies below the first radius at which there is something to certify."""
        (width, height), (left, right, top, bottom) = self.size, self.corners
        picture = element(
            "svg",
            class_=f"curve {self.kind}",
            viewBox=f"0 0 {width} {height}",
            role="img",
            aria_label=self.label,
            data_left=left,
            data_right=right,
            data_top=top,
            data_bottom=bottom,
        )
        hatch = f"hatch-{self.identity}-{self.kind}"
        append(picture, hatching(hatch))
        barred = self.x(min(nothing_below, self.scale.right)) - left
        place = {"x": left, "y": top, "width": round(barred, 2), "height": bottom - top}
        append(picture, element("rect", class_="barred", **place), element("rect", fill=f"url(#{hatch})", **place))
        for value in ticks(self.scale.top, 5):
            append(
                picture,
                element("line", class_="grid", x1=left, x2=right, y1=self.y(value), y2=self.y(value)),
                element(
                    "text",
                    self.amounts.tick(value),
                    class_="tick",
                    x=left - 8,
                    y=self.y(value) + 4,
                    text_anchor="end",
                ),
            )
        for value in ticks(self.scale.right, 10 if width > 500 else 5):
            append(
                picture,
                element("text", f"{value:g}", class_="tick", x=self.x(value), y=bottom + 18, text_anchor="middle"),
            )
        append(
            picture,
            element("line", class_="axis", x1=left, x2=right, y1=bottom, y2=bottom),
            element(
                "text",
                f"rho: {self.measured}",
                class_="title",
                x=(left + right) / 2,
                y=height - 8,
                text_anchor="middle",
            ),
        )
        return picture

    def level(self, value: float, kind: str) -> Element:
        """Draw a value that does not depend on the radius."""
        left, right, _, _ = self.corners
        return element("line", class_=kind, x1=left, x2=right, y1=self.y(value), y2=self.y(value))


def curve_picture(
    frame: Frame,
    rho: Floats,
    bound: Floats,
    attained: Floats,
    proved: tuple[Floats, Floats],
    *,
    distance: float,
    loss: float,
    threshold: float | None,
    chosen: int,
    sampled: bool,
    lower: bool,
) -> Element:
    """Draw certificates over sorted radii; ``proved`` is the line of what is proved at every radius.

    Of a sample the true worst case may lie below what is attained, so the band between the two is not shaded.
    """
    left, right, top, bottom = frame.corners
    picture = frame.empty(distance)
    low = attained_steps(rho, attained, lower=lower)
    back = frame.path((low[0][::-1], low[1][::-1])).replace("M", "L", 1)
    append(
        picture,
        frame.level(loss, "data"),
        None if threshold is None else frame.level(threshold, "limit"),
        None if sampled else element("path", class_="between", d=f"{frame.path(_from(proved, rho[0]))}{back}Z"),
        element("path", class_="bound", d=frame.path(proved)),
        element("path", class_="attained", d=frame.path(low)),
        element("line", class_="chosen", x1=frame.x(rho[chosen]), x2=frame.x(rho[chosen]), y1=top, y2=bottom),
    )
    if len(rho) <= 30:
        for at, value in zip(rho, bound, strict=True):
            append(picture, element("circle", class_="dot", cx=frame.x(at), cy=frame.y(value), r=3.2))
    append(
        picture,
        element("circle", class_="pick", cx=frame.x(rho[chosen]), cy=frame.y(bound[chosen]), r=6),
        element("rect", class_="surface", x=left, y=top, width=right - left, height=bottom - top),
    )
    return picture


def comparison_picture(
    frame: Frame, lines: Sequence[tuple[Floats, Floats]], levels: Sequence[float], distance: float
) -> Element:
    """Draw what is proved of two models: the first is the older one; and what both do on their data."""
    picture = frame.empty(distance)
    for kind, line, level in zip(("older", "bound"), lines, levels, strict=True):
        append(picture, frame.level(level, f"data {kind}-data"), element("path", class_=kind, d=frame.path(line)))
    return picture


def hatching(identity: str) -> Element:
    """Define the stripes of what is infeasible; a picture that is not displayed cannot lend its own."""
    stripe = element("path", d="M0 8L8 0M-2 2L2 -2M6 10L10 6", class_="hatch")
    pattern = element("pattern", None, stripe, id=identity, width=8, height=8, patternUnits="userSpaceOnUse")
    return element("defs", None, pattern)


def scale_picture(marks: Sequence[tuple[float, str, str]], top: float, label: str, amounts: Amounts) -> Element:
    """Draw losses on a line from 0 to the top; a mark is a loss, a class and a shape: dot, square or bar."""
    width, left, right, line = 720, 16, 704, 34
    picture = element("svg", class_="scale", viewBox=f"0 0 {width} 64", role="img", aria_label=label)
    append(picture, element("line", class_="axis", x1=left, x2=right, y1=line, y2=line))

    def x(value: float) -> float:
        return round(left + (right - left) * min(max(value / top, 0.0), 1.0), 2)

    for value in ticks(top, 6):
        append(
            picture,
            element("line", class_="axis", x1=x(value), x2=x(value), y1=line - 4, y2=line + 4),
            element("text", amounts.tick(value), class_="tick", x=x(value), y=line + 22, text_anchor="middle"),
        )
    if len(marks) > 1:
        low, high = min(m[0] for m in marks), max(m[0] for m in marks)
        append(picture, element("line", class_="span", x1=x(low), x2=x(high), y1=line, y2=line))
    for value, kind, shape in marks:
        append(
            picture,
            element("circle", class_=kind, cx=x(value), cy=line, r=8)
            if shape == "dot"
            else element("rect", class_=kind, x=x(value) - 4, y=line - 4, width=8, height=8)
            if shape == "square"
            else element("rect", class_=kind, x=x(value) - 1.5, y=line - 14, width=3, height=28),
        )
    return picture


def move_picture(before: float, after: float, top: float) -> Element:
    """Draw how a cell's share moves: an open circle in the data, an arrow head in the worst case."""
    kind = "grows" if after > before else "shrinks"
    start, end = move_place(before, top), move_place(after, top)
    return element(
        "svg",
        None,
        element("line", class_="rail", x1=0, x2=MOVE_WIDTH, y1=9, y2=9),
        element("line", class_="path", x1=start, x2=end, y1=9, y2=9),
        element("circle", class_="from", cx=start, cy=9, r=4),
        element("path", class_="to", d=ARROW[kind], transform=f"translate({end} 9)"),
        class_=f"move {kind}",
        viewBox=f"0 0 {MOVE_WIDTH:g} 18",
        aria_hidden="true",
    )


#: Arrow heads at the origin.
ARROW = {"grows": "M5 0L-5 -6L-5 6Z", "shrinks": "M-5 0L5 -6L5 6Z"}


def move_place(share: float, top: float) -> float:
    """Return where a share stands in the picture of a move."""
    return round(8 + (MOVE_WIDTH - 16) * min(max(share / top, 0.0), 1.0), 1)


def ticks(top: float, most: int) -> list[float]:
    """Return round numbers from 0 to the top, at most one more than ``most``."""
    step = 10.0 ** math.floor(math.log10(top / most))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10, 20) if top / (step * factor) <= most)
    return [float(f"{step * i:.12g}") for i in range(math.floor(top / step * (1 + 1e-9)) + 1)]


def _from(line: tuple[Floats, Floats], start: float) -> tuple[Floats, Floats]:
    """Return the part of a line from a radius on."""
    kept = line[0] >= start
    return line[0][kept], line[1][kept]


def finite_top(ceiling: float, losses: Sequence[float]) -> float:
    """Return the end of a scale: the ceiling if it is not far off, else a little more than the largest loss."""
    most = max(losses)
    return ceiling if np.isfinite(ceiling) and 0 < ceiling <= max(4 * most, 1e-300) else (most * 1.15 or 1.0)
