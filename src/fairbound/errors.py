"""The errors users may meet; all of them are ``ValueError`` and name the argument and the cure.

A message is written once, for callers in Python, with marks where it mentions an argument: :func:`given`,
:func:`argument` and :func:`either` make them, and the errors read them. Whoever knows arguments by other names, as the
command line does, asks an error for its message in these.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

#: Stands before and after what is marked; random, so that no text of a user can be taken for it.
_MARK = f"\x1f{os.urandom(8).hex()}\x1f"

#: What a shell takes as it is, besides letters and digits.
_PLAIN = frozenset("_.,-")


def shown(value: object) -> str:
    """Write a value for a message: as plain Python, NumPy's scalars too, on one line."""
    scalar = getattr(value, "item", None) if getattr(value, "ndim", 1) == 0 else None
    return " ".join(repr(value if scalar is None else scalar()).split())


def listed(names: Sequence[str], most: int = 10) -> str:
    """List names in a message; of many only the first, so that the cure after them is read."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left:,} more" if left > 0 else "")


def suggestion(wrong: object, names: Iterable[str], written: Callable[[str], str] = str) -> str:
    """Return which names may have been meant by one that does not exist, or all there are."""
    known, text = list(names), str(wrong)
    close = [name for name in known if text and name.startswith(text)] or difflib.get_close_matches(text, known, n=2)
    if close:
        return f"did you mean {' or '.join(map(written, close[:2]))}?"
    return f"use {'one of ' if len(known) > 1 else ''}{', '.join(map(written, known))}"


def given(name: str, value: object, how: str | None = None) -> str:
    """Mention an argument and its value, as in "rho=0.3"; ``how`` is a format, and a name may have a place in it."""
    python = shown(value) if how is None else format(value, how)
    plain = isinstance(value, str) and value and all(c.isalnum() or c in _PLAIN for c in value)
    return _marked("mention", *_parted(name), python, value if plain else python)


def argument(name: str) -> str:
    """Mention an argument by its name."""
    return _marked("mention", *_parted(name), None, None)


def either(python: str, other: str = "") -> str:
    """Say one thing to callers in Python and another one, or nothing, to those who know arguments by other names."""
    return _marked("either", python, other)


def _parted(name: str) -> tuple[str, str]:
    """Tell an argument from the place in it: ``group_limits['f']`` is about ``group_limits``."""
    argument, mark, place = name.partition("[")
    return argument, mark + place


def _marked(*parts: object) -> str:
    """Pack a mark into text; in hexadecimal digits, because there may be marks inside it."""
    return _MARK + json.dumps(parts).encode().hex() + _MARK


@dataclass(frozen=True)
class _Mention:
    """An argument, the place in it, and its value as Python and as a shell would write it."""

    name: str
    place: str
    value: str | None
    bare: str | None

    def said(self, options: Mapping[str, str] | None) -> str:
        whole = self.name + self.place
        python = whole if self.value is None else f"{whole}={self.value}"
        if options is None:
            return python
        if self.value is not None and python in options:  # a switch: it has no value
            return options[python]
        option = options.get(self.name)
        if option is None:
            return python
        if self.place:
            return f"{option} {self.place}" + ("" if self.value is None else f"={self.value}")
        return option if self.bare is None else f"{option} {self.bare}"


@dataclass(frozen=True)
class _Either:
    """What is said to callers in Python, and what to others."""

    python: _Message
    other: _Message

    def said(self, options: Mapping[str, str] | None) -> str:
        return (self.python if options is None else self.other).said(options)


@dataclass(frozen=True)
class _Message:
    """A message whose marks were read."""

    parts: tuple[str | _Mention | _Either, ...]

    @classmethod
    def read(cls, text: str) -> _Message:
        pieces = text.split(_MARK)  # every second one was marked
        return cls(tuple(_unpacked(piece) if index % 2 else piece for index, piece in enumerate(pieces)))

    def said(self, options: Mapping[str, str] | None) -> str:
        return "".join(part if isinstance(part, str) else part.said(options) for part in self.parts)

    @property
    def argument(self) -> str | None:
        for part in self.parts:
            name = part.name if isinstance(part, _Mention) else None
            name = part.python.argument if isinstance(part, _Either) else name
            if name is not None:
                return name
        return None


def _unpacked(piece: str) -> _Mention | _Either:
    kind, *parts = json.loads(bytes.fromhex(piece))
    return _Mention(*parts) if kind == "mention" else _Either(*map(_Message.read, parts))


class _WordedError(ValueError):
    """An error that can say its message in other names of the arguments."""

    def __init__(self, message: str) -> None:
        self._message = _Message.read(message)
        super().__init__(self._message.said(None))

    @property
    def argument(self) -> str | None:
        """The first argument that the message names; None if it names none."""
        return self._message.argument

    def worded(self, options: Mapping[str, str]) -> str:
        """Return the message for those who know arguments by other names.

        Parameters
        ----------
        options
            From arguments to these names, such as ``{"rho": "--rho"}``. An argument that is not in it keeps its name.
            ``{"fair=False": "--unfair"}`` names an argument together with its value.
        """
        return self._message.said(options)

    def preceded(self, words: str) -> Self:
        """Return the same error, with words before its message."""
        found: Self = _remade(type(self), words + str(self))  # type: ignore[assignment]
        found.__dict__.update(self.__dict__, _message=_Message((words, *self._message.parts)))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy what was read, not the text: marks mean nothing to another process."""
        return _remade, (type(self), str(self)), self.__dict__


def _remade(kind: type[_WordedError], message: str) -> _WordedError:
    """Make an error whose attributes are set afterwards."""
    return kind.__new__(kind, message)


class InputError(_WordedError):
    """An argument cannot be used as given."""


class InfeasibleError(_WordedError):
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


class ThresholdError(_WordedError):
    """The certified loss exceeds the threshold at every radius for which there is anything to certify.

    Attributes
    ----------
    distance
        Distance from the data to the nearest distribution with equal base rates.
    """

    def __init__(self, message: str, distance: float) -> None:
        super().__init__(message)
        self.distance = distance


class Sentence:
    """A sentence that can be said in other names of the arguments, as errors can."""

    def __init__(self, message: str) -> None:
        self._message = _Message.read(message)

    def __str__(self) -> str:
        return self._message.said(None)

    def worded(self, options: Mapping[str, str]) -> str:
        """Return the sentence for those who know arguments by other names."""
        return self._message.said(options)

    def after(self, beginning: str) -> Sentence:
        """Return the sentence with something before it."""
        found = Sentence("")
        found._message = _Message((beginning, *self._message.parts))
        return found


class DataWarning(UserWarning):
    """Something seems to be wrong with the data: the message says what, and what can be done."""


class SmallCellWarning(UserWarning):
    """A cell of group and label has very few rows; the message names it and counts them."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that led here: the nearest one outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fairbound."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
