"""Differences of many-valued losses from a sample: how often limits and bounds hold, and how losses are rounded.

What is simulated is exact: losses take finitely many values, so the truth is a certificate of a known population.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairbound import Hoeffding, Population, Sphere, certify, certify_curve
from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.data.loss_summary import bin_edges
from fairbound.sampling.discretise import EDGE_ROUNDING, _places, _values, drawn
from fairbound.sampling.sphere import least_affinity_of_classes
from tests.samples import ERRORS, SKEWED, TRUTHS, Truth, _continuous, rounding_numbers

pytestmark = pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")  # small cells are the point

CONFIDENCE = 0.9
RADII = (0.1, 0.2)
SHIFTS: Any = ("general", "sensitive")
REGIONS = ("sphere", "hoeffding")
DIFFERENCE: Any = {"metric": "group_loss_difference"}

#: The second group's losses are subtracted.
SECOND: Booleans = np.array([[False, False], [True, True]])

LAWS = {
    "jsd-like": TRUTHS["jsd-like"],
    "both ends": _continuous([[0.3, 0.2], [0.3, 0.2]], [[0.6, 0.9], [0.1, 0.3]], 0.5),
    "narrow": _continuous(SKEWED, ERRORS, 20.0),
}


def not_too_often(failed: int, draws: int, error: float = 1 - CONFIDENCE) -> bool:
    """Whether so many failures are compatible with the error probability: one-sided binomial test at 1e-6."""
    return bool(stats.binom.sf(failed - 1, draws, error) > 1e-6)


@cache
def exact(name: str, shift: Any) -> tuple[float, ...]:
    """Return what is attained near P itself."""
    return tuple(certify_curve(LAWS[name].population, RADII, shift=shift, tol=1e-5, **DIFFERENCE).attained)


def failures(name: str, shift: Any, region: str, rows: int, draws: int, seed: int) -> tuple[int, float]:
    """Count the samples for which some bound of a small curve is below the truth; return also the mean excess."""
    rng, failed, excess = np.random.default_rng(seed), 0, []
    for _ in range(draws):
        sample = LAWS[name].draw(rows, rng)
        curve = certify_curve(
            sample, RADII, shift=shift, confidence=CONFIDENCE, region=region, tol=1e-2, budget=8, **DIFFERENCE
        )
        # Where the sample says that nothing is that near, a true distribution that is that near is a failure.
        bound = np.where(curve.feasible, curve.bound, -np.inf)
        failed += bool((bound < exact(name, shift)).any())
        excess.append(bound[0] - exact(name, shift)[0])
    return failed, float(np.mean(excess))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", LAWS)
def test_coverage(name: str, shift: Any, region: str) -> None:
    draws = 10
    failed, excess = failures(name, shift, region, 3000, draws, 1)
    assert not_too_often(failed, draws)
    assert excess < (0.1 if region == "sphere" else 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [100, 400, 3000])
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", LAWS)
def test_coverage_in_many_draws(name: str, shift: Any, region: str, rows: int) -> None:
    draws = 300
    assert not_too_often(failures(name, shift, region, rows, draws, 2)[0], draws)


def means(truth: Truth) -> Floats:
    """Return the true mean of every cell."""
    return (truth.probability * truth.loss).sum(axis=2) / truth.probability.sum(axis=2)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("region", [Sphere(), Sphere(intervals=1), Hoeffding()])
@pytest.mark.parametrize("name", LAWS)
def test_limits_of_means_hold_as_often_as_stated(name: str, region: Any) -> None:
    """Upper limits in the first group and lower ones in the second, all at once; and they are near the means."""
    truth, rng, failed, draws = LAWS[name], np.random.default_rng(3), 0, 100
    true, widths = means(truth), []
    for _ in range(draws):
        limit = region.surrogate(truth.draw(1000, rng), CONFIDENCE, "sensitive", SECOND).population.mean
        failed += bool((limit[0] < true[0]).any() or (limit[1] > true[1]).any())
        widths.append(np.abs(limit - true))
    assert not_too_often(failed, draws)
    # Not for nothing: each limit is within a few deviations of a loss rounded to 0 or 1, the coarsest there is.
    rows = 1000 * truth.probability.sum(axis=2)
    deviation = np.sqrt(0.25 / rows) if isinstance(region, Hoeffding) else np.sqrt(true * (1 - true) / rows) + 3 / rows
    assert (np.mean(widths, axis=0) < 5 * deviation).all()
    assert (np.mean(widths, axis=0)[1] < true[1]).any()


def rounded_law(truth: Truth, intervals: int, subtracted: Booleans) -> Floats:
    """Return the exact law of rounded losses, shape (S, C, B + 1), in plain arithmetic of our own."""
    edges = 1 - (1 - np.arange(4097) / 4096) ** 2
    law = np.zeros((*truth.probability.shape[:2], intervals + 1))
    for (s, y, j), p in np.ndenumerate(truth.probability):
        above = min(int(np.searchsorted(edges, truth.loss[s, y, j], side="right")), 4096)
        place = (edges[above - 1] if subtracted[s, y] else edges[above]) * intervals
        low = min(int(place), intervals - 1)
        law[s, y, low] += p * (1 - (place - low))
        law[s, y, low + 1] += p * (place - low)
    return law


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LAWS)
def test_the_claimed_affinity_is_reached_as_often_as_stated(name: str) -> None:
    """There is a law that near to the sample whose subtracted losses are stochastically as small as P's or smaller."""
    truth, rng, failed, draws = LAWS[name], np.random.default_rng(4), 0, 600
    error = 0.3  # a small region, so that many draws come close to its edge
    slack = []
    for _ in range(draws):
        found = Sphere().surrogate(truth.draw(300, rng), 1 - error, "general", SECOND)
        assert found.sample is not None
        intervals = len(found.sample.losses) - 1
        law, counts = rounded_law(truth, intervals, SECOND), found.sample.counts
        law, counts = (np.where(SECOND[..., None], table[..., ::-1], table) for table in (law, counts))
        worse = np.empty_like(law)
        left = law.sum(axis=2)  # what is not yet given away, from the worst value on
        for place in range(intervals, 0, -1):
            true, seen = (
                table[..., place] / np.maximum(table[..., : place + 1].sum(axis=2), 1e-300) for table in (law, counts)
            )
            worse[..., place] = left * np.maximum(true, seen)
            left = left - worse[..., place]
        worse[..., 0] = left
        affinity = float(np.sqrt(worse * counts / 300).sum())
        failed += affinity < found.affinity
        slack.append((1 - found.affinity) / max(1 - affinity, 1e-12))
    assert not_too_often(failed, draws, error)
    assert min(slack) < 3  # and some draws come near to the claim


@pytest.mark.parametrize("top", [1.0, 0.3, 7.5])
def test_rounding_down_never_overstates(top: float) -> None:
    """The expectation of the rounded loss, with random numbers that are multiples of 2^-53, in exact numbers."""
    rng = np.random.default_rng(5)
    loss = np.concatenate([rng.random(200), [0.0, 1e-300, 1e-17, 1 - 2.0**-53, 1.0]]) * top
    for intervals in (1, 2, 3, 7):
        values = [Fraction(v) for v in _values(top, intervals)]
        for rounded_down in (False, True):
            low, part = _places(
                np.concatenate([loss, _values(top, intervals)]), top, intervals, rounded_down=rounded_down
            )
            for one, at, p in zip([*loss, *values], low, part, strict=True):
                chance = min(Fraction(math.ceil(Fraction(p) * 2**53), 2**53), Fraction(1))
                mean = values[at] + chance * (values[at + 1] - values[at])
                assert mean <= Fraction(one) if rounded_down else mean >= Fraction(one)
                assert abs(mean - Fraction(one)) <= 1e-14 * top


def test_rounding_can_be_repeated() -> None:
    """Row by row with Python's own generator; subtracted losses at the lower edge of their bin."""
    loss, cell = np.random.default_rng(0).beta(0.5, 2.0, 400), np.arange(400) % 4
    loss[:4], loss[4:8], loss[8:12] = 0.0, 1.0, bin_edges(1.0)[3000]
    population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2)
    found = drawn(population, 3, 11, SECOND)
    edges, rows = bin_edges(1.0), []
    for index in range(4):
        for row in np.sort(loss[cell == index]):
            above = min(int(np.searchsorted(edges, row, side="right")), 4096)
            outer = (edges[above] + EDGE_ROUNDING, edges[above - 1] - EDGE_ROUNDING)
            rows.append((index, above - 1, float(min(max(outer[index // 2], 0.0), 1.0))))
    generator, rows = rounding_numbers(11, 3, rows)
    counts = np.zeros((4, 4))
    for index, _, value in rows:
        low = min(int(3 * value), 2)
        up = 0 if value == 0 else 1 if value == 1 else int(generator.random() < 3 * value - low)
        counts[index, low + up] += 1
    assert found.by_cell.tolist() == counts.tolist()
    draws = [drawn(population, 3, seed, SECOND).by_cell @ found.losses / 100 for seed in range(300)]
    assert np.mean(draws, axis=0) == pytest.approx(population.mean.ravel(), abs=0.01)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("shift", "intervals"),
    [("general", 2), ("sensitive", 5), ("general", None), ("sensitive", None), ("general", 5), ("sensitive", 2)],
)
def test_a_mirrored_world_has_the_mirrored_certificate(shift: Any, intervals: int | None) -> None:
    """Losses M - l, groups exchanged: the same differences. Rounding, at random, sees other bins and numbers."""
    rng = np.random.default_rng(6)
    group, label = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    loss = 2.0 * rng.beta(1 + group, 3 - label)
    worlds = [(loss, group), (2.0 - loss, 1 - group)]
    asked: Any = {"shift": shift, "confidence": 0.9, "tol": 1e-4, **DIFFERENCE}
    regions = [Hoeffding()] if intervals is None else [Sphere(intervals, seed) for seed in range(60)]
    first, second = (
        np.mean([certify(population, 0.1, region=region, **asked).bound for region in regions])
        for population in (
            Population.from_losses(losses, label, sensitive_features=s, ceiling=2.0) for losses, s in worlds
        )
    )
    assert first == pytest.approx(second, abs=3e-4 if intervals is None else 0.01)


@pytest.mark.parametrize("shift", SHIFTS)
def test_errors_under_another_name(shift: Any) -> None:
    """Losses that are 0 or 1 are certified about alike, called 0-1 losses or not: bins cost up to their width."""
    sample = TRUTHS["balanced"].draw(3000, np.random.default_rng(7))
    other = replace(sample, loss_name="mine")
    asked: Any = {"shift": shift, "confidence": 0.9, "tol": 1e-5, **DIFFERENCE}
    known, unknown = (certify(p, 0.1, region=Sphere(intervals=1), **asked).bound for p in (sample, other))
    assert known - 1e-6 <= unknown <= known + 5e-3
    if shift == "sensitive":  # of means Hoeffding says the same whatever the loss is called
        known, unknown = (certify(p, 0.1, region="hoeffding", **asked).bound for p in (sample, other))
        assert known == pytest.approx(unknown, abs=2e-5)


def test_the_mirrored_region_is_that_of_mirrored_counts() -> None:
    """The affinity is that of the reversed counts: neither that of the counts nor that of all reversed."""
    losses = LAWS["both ends"].draw(3000, np.random.default_rng(9))
    found = Sphere(intervals=3).surrogate(losses, 0.9, "general", SECOND)
    assert found.sample is not None
    counts = found.sample.counts
    is_transposed = np.where(SECOND[..., None], counts[..., ::-1], counts).reshape(4, -1)
    assert found.affinity == least_affinity_of_classes(is_transposed, 1 - 0.9)
    assert found.affinity != least_affinity_of_classes(found.sample.by_cell, 1 - 0.9)
    assert found.population.mean == pytest.approx(losses.mean, abs=0.02)
