"""The keywords that questions take: their types, their defaults, and what is said of one that does not exist.

Functions take them as ``**asked``, typed by a ``TypedDict``; :func:`asks` shows what that means to whoever looks at the
function's signature. The defaults are those of :func:`fairbound.problem.validate.validate`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypedDict, TypeVar, get_type_hints

from fairbound.errors import InputError
from fairbound.problem.divergences import DivergenceName
from fairbound.problem.limits import Ranges, Rows
from fairbound.problem.metrics import MetricName
from fairbound.problem.question import EmptyCells, Shift, Support
from fairbound.problem.validate import validate
from fairbound.sampling.region import Region

Function = TypeVar("Function", bound=Callable[..., object])


class _Common(TypedDict, total=False):
    shift: Shift
    group_skew: float | None
    label_skew: float | None
    fair: bool
    base_rate_tolerance: float | None
    empty_cells: EmptyCells
    region: str | Region
    tol: float


class Planned(_Common, total=False):
    """The keywords that questions about a test to come take."""

    confidence: float


class Asked(_Common, total=False):
    """The keywords that questions about data take; :func:`fairbound.certificate.certify` explains them."""

    metric: MetricName
    group: Hashable
    pos_label: Hashable
    divergence: DivergenceName
    min_group_mass: float | None
    min_label_mass: float | None
    group_limits: Ranges | None
    label_limits: Ranges | None
    group_rows: Rows | None
    label_rows: Rows | None
    support: Support
    confidence: float | None
    budget: int | None


#: The names of all keywords.
NAMES = tuple(get_type_hints(Asked))


def asks(keywords: type, **defaults: object) -> Callable[[Function], Function]:
    """Let a function's signature show what its ``**asked`` stands for; ``defaults`` are those of its own.

    Called without a parameter that it needs, it says which keyword was misspelt instead, if one was.
    """
    types = get_type_hints(keywords)

    def showing(function: Function) -> Function:
        plain = signature(function, eval_str=True)
        own = [p for p in plain.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        further = [
            p.replace(annotation=types[p.name], default=defaults.get(p.name, p.default))
            for p in signature(validate).parameters.values()
            if p.name in types
        ]
        needed = [p.name for p in own if p.default is Parameter.empty]

        @wraps(function)
        def called(*args: object, **keywords: object) -> object:
            if any(name not in keywords for name in needed[len(args) :]):
                refuse_unknown(called, keywords)
            return function(*args, **keywords)

        called.__signature__ = plain.replace(parameters=[*own, *further])  # type: ignore[attr-defined]  # inspect's
        return called  # type: ignore[return-value]  # it takes what the function takes

    return showing


def completed(function: Callable[..., object], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keywords of a question, by the defaults of the function that was called; refuse those it lacks."""
    refuse_unknown(function, asked)
    known = signature(function).parameters
    return {name: asked.get(name, known[name].default) for name in NAMES if name in known}


def refuse_unknown(function: Callable[..., object], names: Iterable[str]) -> None:
    """Raise if a function has no parameter of one of these names; the nearest one is named."""
    known = signature(function).parameters
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            cure = f"did you mean {close[0]}?" if close else f"its parameters are {', '.join(known)}"
            message = f"{function.__name__} has no parameter {name!r}; {cure}"
            raise InputError(message)
