"""Signatures show what can be asked, and a keyword that does not exist is named with what may be meant."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, Literal, get_args, get_type_hints

import pytest

from fairbound import (
    InputError,
    Population,
    certified_loss,
    certify,
    certify_curve,
    expected_excess,
    largest_certified_rho,
    rows_needed,
)
from fairbound.problem.asked import Asked, Planned
from fairbound.problem.metrics import METRICS
from fairbound.problem.validate import validate

KNOWN = Population.from_moments([[0.4, 0.1], [0.2, 0.3]], [[0.1, 0.2], [0.3, 0.4]])

#: Every function that takes keywords of questions, the type of these, and a call.
FUNCTIONS: list[tuple[Callable[..., Any], type, Callable[..., object]]] = [
    (certify, Asked, lambda **asked: certify(KNOWN, 0.9, **asked)),
    (certify_curve, Asked, lambda **asked: certify_curve(KNOWN, [0.9], **asked)),
    (largest_certified_rho, Asked, lambda **asked: largest_certified_rho(KNOWN, 0.9, **asked)),
    (certified_loss, Asked, lambda **asked: certified_loss([0], [0], sensitive_features=[0], rho=0.9, **asked)),
    (expected_excess, Planned, lambda **asked: expected_excess(KNOWN, 0.9, 1000, **asked)),
    (rows_needed, Planned, lambda **asked: rows_needed(KNOWN, 0.9, 0.1, **asked)),
]


@pytest.mark.parametrize(("function", "keywords", "_"), FUNCTIONS)
def test_signatures_show_everything(function: Callable[..., Any], keywords: type, _: object) -> None:
    found = signature(function).parameters
    types = get_type_hints(keywords)
    assert all(p.kind not in {Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL} for p in found.values())
    assert {name for name, p in found.items() if p.kind is Parameter.KEYWORD_ONLY} >= set(types)
    assert signature(function).return_annotation is not Parameter.empty
    for name, kind in types.items():
        assert found[name].annotation == kind
        assert found[name].default is not Parameter.empty
    assert found["shift"].annotation == Literal["general", "stratified", "sensitive"]
    assert found["shift"].default == "general"
    assert found["confidence"].default == (0.95 if keywords is Planned else None)


@pytest.mark.parametrize(("function", "_", "__"), FUNCTIONS)
def test_help_shows_the_same(function: Callable[..., Any], _: object, __: object) -> None:
    first = pydoc.plain(pydoc.render_doc(function)).split("\n")[2]
    assert "base_rate_tolerance: float | None = None, " in first
    assert "**" not in first


def test_types_and_defaults_are_about_the_same_keywords() -> None:
    taken = {name for name, p in signature(validate).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
    assert taken - {"objective"} == set(get_type_hints(Asked))
    assert set(get_type_hints(Planned)) < set(get_type_hints(Asked))
    assert set(get_args(signature(certify).parameters["metric"].annotation)) == {"loss", *METRICS}


@pytest.mark.parametrize(("function", "_", "call"), FUNCTIONS)
def test_misspelt_keywords(function: Callable[..., Any], _: object, call: Callable[..., object]) -> None:
    for wrong, right in {"shfit": "shift", "Region": "region", "confidance": "confidence", "tolerance": None}.items():
        with pytest.raises(InputError) as caught:
            call(**{wrong: 1})
        said = f"{function.__name__} has no parameter {wrong!r}; "
        assert str(caught.value).startswith(said)
        if right is not None:
            assert str(caught.value) == f"{said}did you mean {right}?"
    with pytest.raises(InputError) as caught:
        call(zzz=1)
    assert str(caught.value) == (
        f"{function.__name__} has no parameter 'zzz'; its parameters are {', '.join(signature(function).parameters)}"
    )
    assert "\n" not in str(caught.value)


def test_misspelt_parameters_that_are_needed() -> None:
    calls: list[tuple[Callable[..., Any], tuple[object, ...], dict[str, object]]] = [
        (certify, (KNOWN,), {"roh": 0.9}),
        (largest_certified_rho, (KNOWN,), {"treshold": 0.9}),
        (certified_loss, ([0], [0]), {"sensitive_features": [0], "roh": 0.9}),
        (expected_excess, (KNOWN, 0.9), {"row": 1000}),
    ]
    for function, given, keywords in calls:
        wrong = list(keywords)[-1]
        close = {"roh": "rho", "treshold": "threshold", "row": "rows"}[wrong]
        said = f"^{function.__name__} has no parameter '{wrong}'; did you mean {close}\\?$"
        with pytest.raises(InputError, match=said):
            function(*given, **keywords)
    with pytest.raises(TypeError, match="missing 1 required"):
        certify(KNOWN)  # type: ignore[call-arg]
