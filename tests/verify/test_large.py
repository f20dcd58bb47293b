"""Large tables: what is handed out as a document can be checked, or is refused with the cure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbound import Population, certify, verify
from fairbound.certificate import document
from tests.problems import E, P


def test_documents_that_nobody_would_check_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = certify(Population.from_moments(P, E), 0.3)
    assert verify(found.to_json()).valid
    for name in ("MOST_BYTES", "PATIENT_WORK"):
        with monkeypatch.context() as patched:
            patched.setattr(document, name, 100)
            with pytest.raises(ValueError, match="merge groups or labels, or use a smaller budget") as caught:
                found.to_json()
            assert caught.value.argument == "budget"  # type: ignore[attr-defined]  # of our own errors


def many_losses(groups: int, labels: int, rows: int) -> Population:
    """Return so many losses in each cell, with weights that are not equal."""
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(groups * labels), rows)
    loss, weight = rng.beta(1 + cell % 7 / 3, 4), rng.uniform(0.5, 1.5, groups * labels)[cell]
    return Population.from_losses(loss, cell % labels, sensitive_features=cell // labels, sample_weight=weight)


def many_cells(groups: int, labels: int) -> Population:
    """Return a table whose base rates are nearly equal."""
    rng = np.random.default_rng(0)
    mass = np.outer(rng.dirichlet(np.full(groups, 5.0)), rng.dirichlet(np.full(labels, 5.0)))
    mass *= rng.uniform(0.8, 1.25, mass.shape)
    return Population.from_moments(mass / mass.sum(), rng.uniform(0.05, 0.6, mass.shape))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "rows", "asked", "patient"),
    [
        ((20, 20), 1000, {}, False),
        ((500, 2), 1000, {}, False),
        ((80, 2), 0, {"metric": "group_loss_difference"}, False),
        ((100, 100), 0, {"shift": "sensitive"}, True),
    ],
)
def test_large_certificates_are_proved(shape: tuple[int, int], rows: int, asked: Any, patient: bool) -> None:
    population = many_losses(*shape, rows) if rows else many_cells(*shape)
    written = certify(population, 0.2, **asked).to_json()
    assert len(written) < 5_000_000
    result = verify(written, patient=patient)
    assert result.valid, result.reasons
