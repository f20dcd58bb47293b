"""Numbers for people: a bound is never shown smaller than it is, an attained loss never larger."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


@dataclass(frozen=True)
class Digits:
    """How many decimals to show; None for scientific notation."""

    decimals: int | None

    @classmethod
    def fitting(cls, largest: float) -> Digits:
        """Choose so that a number of about this size shows four digits or more."""
        if not 1e-9 < largest < 1e7:
            return cls(4 if largest == 0 else None)
        return cls(max(0, 4 - math.ceil(math.log10(largest))))

    def up(self, value: float) -> str:
        """Write a number that is not below the value."""
        return self._write(value, ROUND_CEILING)

    def down(self, value: float) -> str:
        """Write a number that is not above the value."""
        return self._write(value, ROUND_FLOOR)

    def near(self, value: float) -> str:
        """Write the nearest number."""
        return self._write(value, ROUND_HALF_EVEN)

    def pair(self, bound: float, attained: float, *, lower: bool) -> tuple[str, str]:
        """Write a bound and what is attained side by side, each rounded to its safe side.

        Where they differ by less than half of the last digit, the two are written alike: what is printed agrees with
        the gap between them.
        """
        text = self.down(bound) if lower else self.up(bound)
        if abs(bound - attained) < 0.5 * self._unit(bound):
            return text, text
        return text, self.up(attained) if lower else self.down(attained)

    def _unit(self, value: float) -> float:
        """Return what the last digit counts."""
        if self.decimals is not None:
            return float(10.0**-self.decimals)
        return 0.0 if value == 0 else float(10.0 ** (math.floor(math.log10(abs(value))) - 4))

    def _write(self, value: float, rounding: str) -> str:
        if self.decimals is None:
            return f"{Context(prec=5, rounding=rounding).create_decimal_from_float(value):.4e}"
        return str(Decimal(value).quantize(Decimal(1).scaleb(-self.decimals), rounding, Context(prec=200)))


def gap_up(value: float) -> str:
    """Write a small difference with two digits, rounded up."""
    return "0" if value == 0 else f"{Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(value):.1e}"


def radius_down(rho: float) -> str:
    """Write a radius as the user did, or cut to six decimals: what holds for a ball holds for smaller ones."""
    written = Decimal(repr(float(rho)))
    cut = written.quantize(Decimal("0.000001"), ROUND_FLOOR)
    short = min(written, cut) if cut > 0 or rho == 0 else written
    return f"{short.normalize():f}"


def exactly(value: float) -> str:
    """Write a number in full, without more digits than it has: limits are neither rounded up nor down."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def signed(change: float, decimals: int = 4) -> str:
    """Write a change with its sign."""
    text = f"{change:+.{decimals}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
