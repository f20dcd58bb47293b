"""Whatever takes 1e-3 off a bound is noticed: by the checker, or because something worse is attained."""

from __future__ import annotations

import json

import pytest

from fairbound import verify
from tests.forging import better_than, claims, honest
from tests.perturbing import BOUNDS, perturbed, users

pytestmark = pytest.mark.slow


def test_every_function_has_questions() -> None:
    assert set(BOUNDS) == {
        "fractional_bound",
        "piece_bound",
        "mean_bound",
        "moving_bound",
        "single_bound",
    }
    assert all(len(users(name)) >= 5 for name in BOUNDS)


@pytest.mark.parametrize("name", BOUNDS)
def test_lower_bounds_are_caught(name: str) -> None:
    """Where it changes what is claimed; most claims of means and ratios are attained values that a bound confirms."""
    caught = 0
    for question in users(name):
        document, before = json.loads(perturbed(name, question)), honest(question)
        if not verify(document).valid:
            caught += 1
            continue
        assert not better_than(document, [claim["attained"] for claim in claims(before)])
        bounds, known = ([claim["bound"] for claim in claims(one)] for one in (document, before))
        assert bounds == known, question  # what is attained by others than the worst may differ
    assert caught >= 0.5 * len(users(name))
