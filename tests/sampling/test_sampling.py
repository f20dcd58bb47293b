"""Finite samples: what users can ask, what is refused, how bounds move with rows, confidence and region."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairbound import (
    Hoeffding,
    InfeasibleError,
    InputError,
    Population,
    Region,
    SmallCellWarning,
    Sphere,
    Surrogate,
    certified_loss,
    certify,
    certify_curve,
    expected_excess,
    largest_certified_rho,
    rows_needed,
)
from fairbound.arithmetic.arrays import Booleans
from fairbound.data.loss_summary import LossTable, bin_edges
from fairbound.problem.question import Shift
from fairbound.sampling.discretise import EDGE_ROUNDING, _bins, _edges, drawn, expected
from tests.problems import E, P
from tests.samples import TRUTHS, rounding_numbers

KNOWN = Population.from_moments(P, E)


def sample(name: str = "skewed", rows: int = 1000, seed: int = 0) -> Population:
    return TRUTHS[name].draw(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("region", ["auto", "sphere", "hoeffding", Sphere(intervals=3, seed=5), Hoeffding()])
@pytest.mark.parametrize("name", ["skewed", "jsd-like"])
def test_a_sample_says_less_than_a_population(name: str, region: str | Region, shift: Shift) -> None:
    population = sample(name)
    plain = certify(population, 0.2, shift=shift)
    bounds = [certify(population, 0.2, shift=shift, confidence=c, region=region).bound for c in (0.5, 0.9, 0.99)]
    assert plain.bound < bounds[0] < bounds[1] < bounds[2] <= 1.0


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_more_rows_say_more(shift: Shift) -> None:
    excess = [expected_excess(KNOWN, 0.2, n, shift=shift, confidence=0.9) for n in (100, 1000, 10**4, 10**6, 10**9)]
    assert all(a > b > 0 for a, b in pairwise(excess))
    assert excess[-1] < 1e-4


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("rho", [0.1, 0.3])
@pytest.mark.parametrize("rows", [1000, 15060])
def test_half_the_excess_of_the_papers_intervals(rows: int, rho: float, shift: Shift) -> None:
    """0-1 loss, the population of the reference values, 90 percent, expected counts."""
    ours = expected_excess(KNOWN, rho, rows, shift=shift, confidence=0.9)
    papers = expected_excess(KNOWN, rho, rows, shift=shift, confidence=0.9, region="hoeffding")
    assert ours <= 0.5 * papers


@pytest.mark.parametrize("name", ["jsd-like", "jsd-like near 0"])
@pytest.mark.parametrize("rho", [0.1, 0.3])
@pytest.mark.parametrize("rows", [1000, 15060])
def test_half_the_excess_for_continuous_losses(rows: int, rho: float, name: str) -> None:
    population = TRUTHS[name].population
    ours = expected_excess(population, rho, rows, confidence=0.9)
    papers = expected_excess(population, rho, rows, confidence=0.9, region="hoeffding")
    assert ours <= 0.5 * papers


def test_a_curve_agrees_with_its_points() -> None:
    population = sample()
    curve = certify_curve(population, [0.02, 0.2, 0.5], confidence=0.95)
    for rho, certificate in zip(curve.rho, curve.certificates, strict=True):
        if certificate is None:
            with pytest.raises(InfeasibleError):
                certify(population, rho, confidence=0.95)
        else:
            assert certificate.bound == pytest.approx(certify(population, rho, confidence=0.95).bound, abs=1e-6)
            assert certificate.confidence == 0.95
            assert certificate.region == "sphere"


def test_the_inverse_question() -> None:
    population = sample()
    rho = largest_certified_rho(population, 0.5, confidence=0.95)
    assert rho < largest_certified_rho(population, 0.5)
    assert (
        certify(population, rho, confidence=0.95).bound <= 0.5 < certify(population, rho + 1e-4, confidence=0.95).bound
    )


def test_the_larger_radius_is_that_of_the_larger_angle() -> None:
    surrogate = Sphere().surrogate(sample(), 0.9, "general")
    rho = np.array([0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
    angle = np.arccos(1 - rho**2) + math.acos(surrogate.affinity)
    exact = np.where(angle < math.pi / 2, np.sqrt(1 - np.cos(angle)), 1.0)
    assert surrogate.radius(rho) == pytest.approx(exact, abs=1e-8)
    least = surrogate.least_radius(0.2)
    assert surrogate.radius(np.array([least]))[0] >= 0.2 > surrogate.radius(np.array([least - 1e-9]))[0]


def test_assumptions_say_what_was_assumed() -> None:
    text = " ".join(certify(sample(), 0.2, confidence=0.95).assumptions)
    for part in ("1000 rows", "independent", "held out", "at least 0.95", "every rho at once", "'sphere'", "0.05"):
        assert part in text
    assert "no allowance" not in text
    assert "rounded" not in text
    rounded = " ".join(certify(sample("jsd-like"), 0.2, confidence=0.95, region=Sphere(seed=7)).assumptions)
    assert "seed 7" in rounded


def test_small_cells_are_named_and_wide() -> None:
    """Cells with 0 and 1 rows, and an absent group that was declared."""
    group = ["a"] * 60 + ["b"] * 41
    label = [0] * 30 + [1] * 30 + [0] * 40 + [1]
    population = Population.from_losses(
        [0.0] * 101, label, sensitive_features=group, groups=["a", "b", "c"], loss="zero_one"
    )
    with pytest.warns(SmallCellWarning, match=r"\('b', 1\) has 1 row; \('c', 0\) has 0 rows; \('c', 1\) has 0 rows"):
        certificate = certify(population, 0.3, confidence=0.9)
    assert certificate.bound > certify(population, 0.3).bound + 0.1
    with pytest.warns(SmallCellWarning):
        narrow = certify(population, 0.3, confidence=0.9, shift="sensitive")
    assert narrow.surrogate is not None
    assert narrow.surrogate.population.knowledge.mean[2].tolist() == [1.0, 1.0]
    assert narrow.surrogate.population.mean[1, 1] > 0.9
    assert (narrow.surrogate.population.mean[:2, 0] > 0.05).all()  # no error in 30 rows is not certainty


def test_enough_rows_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify(sample(), 0.2, confidence=0.95)


def test_what_is_refused() -> None:
    population = sample()
    with pytest.raises(InputError, match=r"made from moments"):
        certify(KNOWN, 0.2, confidence=0.9)
    weighted = Population.from_losses(
        [0.0, 1.0] * 4, [0, 1] * 4, sensitive_features=[0, 0, 1, 1] * 2, sample_weight=[1] * 8
    )
    with pytest.raises(InputError, match=r"weighted rows are not; leave sample_weight out"):
        certify(weighted, 0.2, confidence=0.9)
    endless = Population.from_losses(
        [0.0, 1.0] * 4, [0, 1] * 4, sensitive_features=[0, 0, 1, 1] * 2, ceiling=math.inf, loss="cross_entropy"
    )
    with pytest.raises(InputError, match=r"needs a ceiling.*cross_entropy"):
        certify(endless, 0.2, shift="sensitive", confidence=0.9)
    with pytest.raises(InputError, match=r"support='any'"):
        certify(population, 0.2, support="observed", confidence=0.9)
    for level in (0.0, 1.0, -1, 2, "high", math.nan):
        with pytest.raises(InputError, match="confidence="):
            certify(population, 0.2, confidence=level)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"region='bootstrap' is not known; use 'auto', 'sphere', 'hoeffding'"):
        certify(population, 0.2, confidence=0.9, region="bootstrap")
    with pytest.raises(InputError, match=r"neither 0 nor 1"):
        Population.from_losses([0.5] * 4, [0, 1] * 2, sensitive_features=[0, 0, 1, 1], loss="zero_one")
    with pytest.raises(InputError, match=r"groups=.* lacks 'b'"):
        Population.from_losses([0.5] * 4, [0, 1] * 2, sensitive_features=list("aabb"), groups=["a", "c"])


def test_rounding_differs_between_samples() -> None:
    """One seed, many samples: with the same numbers for all of them nearly every limit of this mean would be wrong."""
    rng, missed, draws = np.random.default_rng(5), 0, 600
    for _ in range(draws):
        cell = rng.choice(4, size=400, p=[0.2425, 0.2525, 0.2525, 0.2525])
        loss = np.where(cell == 0, 0.25, 0.0)
        population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2, ceiling=1.0)
        missed += Sphere(intervals=1).surrogate(population, 0.95, "sensitive").population.mean[0, 0] < 0.25
    assert stats.binom.sf(missed - 1, draws, 0.05) > 1e-6
    assert missed > 0  # the limit is not a loose one


def test_rounding_keeps_means_and_can_be_repeated() -> None:
    """Row by row with Python's own generator, losses in order, each at the upper edge of its bin."""
    loss = np.random.default_rng(0).beta(0.5, 2.0, 400)
    cell = np.arange(400) % 4
    population = Population.from_losses(loss, cell % 2, sensitive_features=cell // 2)
    found = drawn(population, 3, seed=11)
    edges = bin_edges(1.0)
    above = [(i, np.searchsorted(edges, v, side="right")) for i in range(4) for v in np.sort(loss[cell == i])]
    rows = [(i, int(place) - 1, min(float(edges[place]) + EDGE_ROUNDING, 1.0)) for i, place in above]
    generator, rows = rounding_numbers(11, 3, rows)
    counts = np.zeros((4, 4))
    for index, _, value in rows:
        low = min(int(3 * value), 2)
        counts[index, low + (generator.random() < 3 * value - low)] += 1
    assert found.by_cell.tolist() == counts.tolist()
    assert found.seed == 11
    draws = [drawn(population, 3, seed).by_cell @ found.losses / 100 for seed in range(400)]
    assert np.mean(draws, axis=0) == pytest.approx(population.mean.ravel(), abs=0.01)


def test_what_a_row_counts_for_does_not_depend_on_others() -> None:
    """A cell with more than 4096 rows is a histogram; the same rows among few or many others round alike.

    That is so on edges too, and at both ends.
    """
    rng = np.random.default_rng(1)
    edges = bin_edges(1.0)
    few = np.concatenate([rng.beta(0.5, 2.0, 40), [0.0, 1.0, 1.0], edges[[1, 2, 3000, 4095, 4095]]])
    many = np.concatenate([few, np.full(5000, 0.3), rng.beta(0.5, 2.0, 3000)])
    for losses in (few, many):
        cell = np.arange(len(losses) + 3) - 3
        population = Population.from_losses(
            np.concatenate([[0.0, 0.0, 0.0], losses]),
            np.where(cell < 0, cell + 4, 0) % 2,
            sensitive_features=np.where(cell < -1, 1, 0),
        )
        table = population.knowledge
        assert isinstance(table, LossTable)
        above, times = np.minimum(np.searchsorted(edges, losses, side="right"), 4096), table.weight[0, 0].astype(int)
        upper, lower = (
            np.repeat(_edges(_bins(table, 1.0), 1.0, 4096, upper=upper)[0, 0], times) for upper in (True, False)
        )
        assert upper.tolist() == np.sort(np.minimum(edges[above] + EDGE_ROUNDING, 1.0)).tolist()
        assert lower.tolist() == np.sort(np.maximum(edges[above - 1] - EDGE_ROUNDING, 0.0)).tolist()
        assert (lower <= np.sort(losses)).all()
        assert (np.sort(losses) <= upper).all()


def test_zero_one_losses_are_not_rounded() -> None:
    population = sample()
    found = drawn(population, 1, seed=3)
    assert found.seed is None
    assert found.counts[..., 1] == pytest.approx(population.weight * population.mean)
    assert expected(population, 1000, 1).counts == pytest.approx(found.counts)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_planning(shift: Shift) -> None:
    rows = rows_needed(KNOWN, 0.2, 0.03, confidence=0.9, shift=shift)
    assert expected_excess(KNOWN, 0.2, rows, confidence=0.9, shift=shift) <= 0.03
    assert expected_excess(KNOWN, 0.2, int(0.97 * rows), confidence=0.9, shift=shift) > 0.03
    assert rows < rows_needed(KNOWN, 0.2, 0.03, confidence=0.9, shift=shift, region="hoeffding")
    with pytest.raises(InputError, match="excess=0"):
        rows_needed(KNOWN, 0.2, 0.0)
    with pytest.raises(InputError, match="rows=0"):
        expected_excess(KNOWN, 0.2, 0)
    with pytest.raises(InfeasibleError):
        rows_needed(KNOWN, 0.01, 0.1)


def test_the_metric_takes_a_confidence() -> None:
    y, predicted = [0, 1] * 200, [0, 1, 1, 1] * 100
    call: dict[str, Any] = {"sensitive_features": ["a", "a", "b", "b"] * 100, "rho": 0.2}
    assert certified_loss(y, predicted, **call) < certified_loss(y, predicted, confidence=0.9, **call) < 1


def test_regions_of_ones_own() -> None:
    """A region is any small value with a name and two methods."""

    class Cautious(Sphere):
        name = "cautious"

        def surrogate(
            self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
        ) -> Surrogate:
            return super().surrogate(population, 1 - (1 - confidence) / 10, shift, subtracted)

    population = sample()
    own = certify(population, 0.2, confidence=0.9, region=Cautious())
    assert own.region == "cautious"
    assert own.bound == pytest.approx(certify(population, 0.2, confidence=0.99).bound, abs=1e-9)
    differing: Any = {"metric": "group_loss_difference", "tol": 1e-4}
    own = certify(population, 0.1, confidence=0.9, region=Cautious(), **differing)
    assert own.bound == pytest.approx(certify(population, 0.1, confidence=0.99, **differing).bound, abs=1e-3)


def test_a_region_that_knows_nothing_of_subtracted_losses() -> None:
    """It serves for the loss and for losses of groups, and says what it lacks for their differences."""

    class Plain:
        name = "plain"

        def surrogate(self, population: Population, confidence: float, shift: str) -> Surrogate:
            return Sphere().surrogate(population, confidence, shift)

        def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
            return Sphere().planned(population, rows, confidence, shift)

    own: Any = Plain()
    assert certify(sample(), 0.1, confidence=0.9, region=own).bound < 1
    assert certify(sample(), 0.1, confidence=0.9, region=own, metric="group_loss", tol=1e-3).bound < 1
    with pytest.raises(InputError, match=r"region 'plain' .* does not take the argument subtracted"):
        certify(sample(), 0.1, confidence=0.9, region=own, metric="group_loss_difference")
