"""How the values of a question are written for people: in per cent, in percentage points, or as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from fairbound.wording.digits import Digits
from fairbound.wording.vocabulary import Unit

#: What stands behind a number; the space does not break.
SIGNS: dict[Unit, str] = {"percent": "\N{NO-BREAK SPACE}%", "points": " percentage points", "plain": ""}

#: A share that is shown in per cent has at most so many decimals.
MOST_DECIMALS = 6


@dataclass(frozen=True)
class Amounts:
    """Writes values without their sign, which stands in the text around them; bounds are rounded to the safe side."""

    digits: Digits
    unit: Unit

    @classmethod
    def fitting(cls, largest: float, unit: Unit) -> Amounts:
        """Choose digits for values up to about this size: three of a percentage, four of others."""
        if unit == "plain":
            return cls(Digits.fitting(largest), unit)
        places = 1 if largest <= 0 else 2 - math.floor(math.log10(100 * largest))
        return cls(Digits(2 + min(max(places, 1), MOST_DECIMALS)), unit)

    @property
    def sign(self) -> str:
        """What stands behind a number."""
        return SIGNS[self.unit]

    @property
    def short(self) -> str:
        """The same where there is little room."""
        return "\N{NO-BREAK SPACE}points" if self.unit == "points" else self.sign

    @property
    def finer(self) -> Amounts:
        """The same with two more digits."""
        more = None if self.digits.decimals is None else self.digits.decimals + 2
        return replace(self, digits=Digits(more))

    def up(self, value: float) -> str:
        """Write a number that is not below the value."""
        return self._in_unit(self.digits.up(value))

    def down(self, value: float) -> str:
        """Write a number that is not above the value."""
        return self._in_unit(self.digits.down(value))

    def near(self, value: float) -> str:
        """Write the nearest number."""
        return self._in_unit(self.digits.near(value))

    def pair(self, bound: float, attained: float, *, lower: bool) -> tuple[str, str]:
        """Write a bound and what is attained: see :meth:`Digits.pair`."""
        first, second = self.digits.pair(bound, attained, lower=lower)
        return self._in_unit(first), self._in_unit(second)

    def exact_for(self, value: float) -> Amounts:
        """Return the same with as many digits as a value has, so that others are seen to be above or below it."""
        needed = -int(Decimal(repr(value)).normalize().as_tuple().exponent)
        most = None if self.digits.decimals is None else max(self.digits.decimals, needed)
        return replace(self, digits=Digits(most))

    def exactly(self, value: float) -> str:
        """Write a number with all its digits and no more."""
        number = Decimal(repr(value))
        return f"{(number if self.unit == 'plain' else number.scaleb(2)).normalize():f}"

    def tick(self, value: float) -> str:
        """Write a round number beside an axis."""
        return f"{value:g}" if self.unit == "plain" else f"{100 * value:g}{SIGNS['percent']}"

    def _in_unit(self, text: str) -> str:
        return text if self.unit == "plain" else f"{Decimal(text).scaleb(2):f}"


def percent(share: float) -> str:
    """Write a share of rows in per cent, with two decimals."""
    return f"{100 * share:.2f}{SIGNS['percent']}"


def change_in_percent(change: float) -> str:
    """Write how a share changes, in percentage points, with its sign."""
    text = f"{100 * change:+.2f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
