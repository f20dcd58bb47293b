"""The errors users may meet; all of them are ``ValueError`` and name the argument and the cure."""

from __future__ import annotations

from collections.abc import Sequence


def shown(value: object) -> str:
    """Write a value for a message: as plain Python, NumPy's scalars too, on one line."""
    scalar = getattr(value, "item", None) if getattr(value, "ndim", 1) == 0 else None
    return " ".join(repr(value if scalar is None else scalar()).split())


def listed(names: Sequence[str], most: int = 10) -> str:
    """List names in a message; of many only the first, so that the cure after them is read."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left:,} more" if left > 0 else "")


class InputError(ValueError):
    """An argument cannot be used as given."""


class InfeasibleError(ValueError):
    """No distribution with equal base rates lies within the distance asked for.

    Attributes
    ----------
    distance
        Distance from the data to the nearest distribution with equal base rates that was found and respects the
        limits. Any ``rho`` of at least this size can be certified.
    """

    def __init__(self, message: str, distance: float) -> None:
        super().__init__(message)
        self.distance = distance


class ThresholdError(ValueError):
    """The certified loss exceeds the threshold at every radius for which there is anything to certify.

    Attributes
    ----------
    distance
        Distance from the data to the nearest distribution with equal base rates.
    """

    def __init__(self, message: str, distance: float) -> None:
        super().__init__(message)
        self.distance = distance


class SmallCellWarning(UserWarning):
    """A cell of group and label has very few rows; the message names it and counts them."""
