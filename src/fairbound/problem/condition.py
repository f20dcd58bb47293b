"""What a statement asks of Q's base rates, in words: the one place that knows how to say it."""

from __future__ import annotations

from dataclasses import dataclass

from fairbound.wording.digits import radius_down


@dataclass(frozen=True)
class Condition:
    """Equal base rates; base rates that differ by at most ``tolerance``; or, if not ``fair``, any base rates."""

    fair: bool = True
    tolerance: float | None = None

    @property
    def equal(self) -> bool:
        """Whether base rates are equal, so that masses of cells are products of shares."""
        return self.fair and not self.tolerance

    @property
    def largest_difference(self) -> float:
        """By how much the base rates of two groups may differ, as a number."""
        return (self.tolerance or 0.0) if self.fair else 1.0

    @property
    def width(self) -> str:
        """The tolerance; cut, not rounded: what holds for a tolerance holds for smaller ones."""
        return "" if self.tolerance is None else radius_down(self.tolerance)

    def _say(self, equal: str, near: str, free: str) -> str:
        return equal if self.equal else near if self.fair else free

    @property
    def phrase(self) -> str:
        """To follow "distribution": what it has, with a space before it; nothing if nothing is asked."""
        return self._say(" with equal base rates", f" with base rates within {self.width} of each other", "")

    @property
    def predicate(self) -> str:
        """To follow "This distribution" and to be followed by what else it has."""
        return self._say(" has equal base rates and", f" has base rates within {self.width} of each other and", " has")

    @property
    def argument(self) -> str:
        """To stand among the arguments of a certificate's short form."""
        return self._say("", f", base_rate_tolerance={self.width}", ", fair=False")

    @property
    def checked(self) -> str:
        """What a worst case was checked for."""
        return self._say("equal base rates", f"base rates within {self.width} of each other", "masses of cells")

    @property
    def already(self) -> str:
        """To follow "the rows do not exclude": that nothing has to change."""
        return self._say(
            "that base rates are equal already",
            f"that base rates are within {self.width} of each other already",
            "any base rates",
        )

    def covered(self, ball: str) -> str:
        """The assumption, as a sentence; ``ball`` says that Q is near the data."""
        every = "The statement covers every distribution Q"
        return self._say(
            f"{every} in which all groups have the same base rates and {ball}.",
            f"{every} in which the base rates of any two groups differ by at most {self.width} and {ball}.",
            f"{every} {ball}; there is no condition on base rates.",
        )

    @property
    def listed(self) -> str:
        """The same as one property among others."""
        return self._say(
            "Equal base rates: each label has the same share in every group.",
            f"Nearly equal base rates: the shares that a label has in any two groups differ by at most {self.width}.",
            "Any base rates: a label may have another share in every group.",
        )

    @property
    def not_said(self) -> str:
        """Which base rates the statement is silent about, to stand in a list, with a comma after it."""
        return self._say(
            "of distributions in which base rates differ, ",
            f"of distributions in which base rates differ by more than {self.width}, ",
            "",
        )
