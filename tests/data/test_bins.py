"""Bins of losses stay within their budget, become coarser by the number of cells alone, and what is proved holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairbound import Population, certify, verify
from fairbound.data import lazy_frames, loss_summary
from fairbound.data.loss_summary import BINS, MOST_BINS, LossTable, bin_edges, bins_for
from fairbound.sampling.discretise import drawn
from fairbound.verify import sampling
from tests.forging import mended


def table(population: Population) -> LossTable:
    assert isinstance(population.knowledge, LossTable)
    return population.knowledge


@pytest.mark.parametrize("cells", [1, 4, 63, 64, 65, 128, 129, 1400, 16384, 16385, 10**6])
def test_their_number_follows_from_the_cells(cells: int) -> None:
    found = bins_for(cells)
    assert found == sampling._bins_for(cells)
    assert found == BINS if cells <= MOST_BINS // BINS else found < BINS
    assert cells * found <= MOST_BINS or found == loss_summary.LEAST_BINS
    assert cells * found * 2 > MOST_BINS or found in {BINS, loss_summary.LEAST_BINS}
    fine, coarse = bin_edges(1.7), bin_edges(1.7, found)
    assert fine[:: BINS // found].tolist() == coarse.tolist()
    assert coarse.tolist() == sampling._edges(1.7, found)


def many_cells(rows: int = 200_000, groups: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "group": rng.integers(0, groups, rows),
            "label": rng.integers(0, 2, rows),
            "loss": np.round(rng.beta(0.5, 2.0, rows), 6),
        }
    )


ROLES: dict[str, Any] = {"label": "label", "group": "group", "losses": "loss"}


def test_many_cells_have_coarser_bins_in_memory_and_in_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = many_cells()
    in_memory = Population.from_frame(frame, **ROLES)
    lazily = Population.from_frame(frame.lazy(), **ROLES)
    monkeypatch.setattr(lazy_frames, "FITTING", 1000)  # more bins come back than fit: the cells are counted first
    asked_twice = Population.from_frame(frame.lazy(), **ROLES)
    edges = bin_edges(1.0, 1024)
    for population in (in_memory, lazily, asked_twice):
        known = table(population)
        assert known.weight.shape == (80, 2, known.weight.shape[2])
        assert np.count_nonzero(known.weight, axis=2).max() <= 1024
        several = (known.low < known.high) & (known.weight > 0)
        assert several.any()
        assert np.isin(known.low[several], edges).all()
        assert np.isin(known.high[several], edges).all()
        np.testing.assert_array_equal(population.weight, in_memory.weight)
        np.testing.assert_allclose(population.mean, in_memory.mean, rtol=1e-12)


def test_a_sample_of_many_cells_is_proved_and_finer_bins_are_refused() -> None:
    """The bins of a sample must be the fixed ones, whose number follows from the cells."""
    rng = np.random.default_rng(3)
    cells = 66
    group, label = np.repeat(np.arange(cells // 2), 4600), np.arange(4600 * (cells // 2)) % 2
    losses = rng.beta(0.5, 2.0, len(group))
    population = Population.from_losses(losses, label, sensitive_features=group)
    assert bins_for(cells) == 2048
    document = json.loads(certify(population, 0.5, shift="sensitive", confidence=0.9).to_json())
    found = verify(document, patient=True)
    assert found.valid, found.reasons
    cell = document["population"]["measures"][0]["knowledge"]["cells"][0][0]
    wide = next(place for place, (low, high, _, _) in enumerate(cell) if low < high)
    cell[wide][1] = 0.5 * (cell[wide][0] + cell[wide][1])
    reasons = verify(mended(document), patient=True).reasons
    assert any("the bins of the losses are not the fixed ones" in reason for reason in reasons), reasons


def test_what_is_drawn_does_not_depend_on_how_many_rows_a_cell_has() -> None:
    """Cells of few rows keep their losses: they count at the edges of the same coarse bins as those of many."""
    rng = np.random.default_rng(4)
    few = rng.beta(0.5, 2.0, 500)
    group, label = np.arange(len(few)) % 40, np.arange(len(few)) // 40 % 2
    exact = Population.from_losses(few, label, sensitive_features=group)
    binned = Population.from_frame(pl.DataFrame({"group": group, "label": label, "loss": few}).lazy(), **ROLES)
    assert drawn(exact, 3, 0).counts.tolist() == drawn(binned, 3, 0).counts.tolist()
