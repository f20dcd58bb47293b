"""Bounds that are too low on purpose: every function that turns multipliers into a bound, less a little.

All soundness rests on these functions. Whoever takes something off what one of them returns, in every place that calls
it, gets certificates that claim too much.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

import fairbound.solve
from tests.forging import QUESTIONS, written

Bound = Callable[..., Any]

#: What is taken off.
LESS = 1e-3


def _bounds() -> Iterator[tuple[str, Bound]]:
    """Find the public functions that return bounds: their names say so."""
    for module in pkgutil.iter_modules(fairbound.solve.__path__, "fairbound.solve."):
        found = importlib.import_module(module.name)
        yield from (
            (name, value)
            for name, value in vars(found).items()
            if name.endswith("_bound") and not name.startswith("_") and value.__module__ == module.name
        )


BOUNDS: dict[str, Bound] = dict(_bounds())


@contextmanager
def replaced(changed: dict[str, Bound]) -> Iterator[None]:
    """Put other functions in the place of some of :data:`BOUNDS`, wherever they are called."""
    with pytest.MonkeyPatch.context() as patch:
        for name, other in changed.items():
            for module in [m for key, m in sys.modules.items() if key.startswith("fairbound.solve")]:
                if vars(module).get(name) is BOUNDS[name]:
                    patch.setattr(module, name, other)
        yield


@cache
def users(name: str) -> tuple[str, ...]:
    """Return the questions whose answers a function has a part in."""
    return tuple(question for question in QUESTIONS if name in _called(question))


@cache
def _called(question: str) -> frozenset[str]:
    """Return the functions that are called to answer a question."""
    calls: Counter[str] = Counter()

    def counting(name: str) -> Bound:
        def bound(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return BOUNDS[name](*given, **more)

        return bound

    with replaced({name: counting(name) for name in BOUNDS}):
        written(question)
    return frozenset(calls)


def perturbed(name: str, question: str) -> str:
    """Answer a question with something taken off all that a function returns."""

    def bound(*given: Any, **more: Any) -> Any:
        return BOUNDS[name](*given, **more) - LESS

    with replaced({name: bound}):
        return written(question)
