"""A confidence for stratified shifting: coverage, strata that no row has, both regions, and what is refused."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairbound import InputError, Population, SmallCellWarning, certify, certify_curve, rows_needed, verify
from fairbound.arithmetic.arrays import Floats
from fairbound.data.strata import ByStratum
from fairbound.sampling.sphere import largest_shares
from tests.by_hand import only
from tests.forging import Change, check_forgery, check_malformed

CONFIDENCE, RADII = 0.9, (0.15, 0.3)


class Truth:
    """A source with strata: masses and means, (S, C, H); losses are 0 or 1, or graded with these means."""

    def __init__(self, seed: int, strata: int, *, graded: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.mass: Floats = rng.dirichlet(np.full(4 * strata, 0.7)).reshape(2, 2, strata)
        self.mean: Floats = rng.uniform(0.02, 0.5, self.mass.shape)
        self.graded = graded

    def counted(self, weight: Floats, mean: Floats, rows: int | None) -> Population:
        """Return the population with these weights and means of strata."""
        known = ByStratum.of(tuple(range(weight.shape[2])), weight, mean)
        name = "mine" if self.graded else "zero_one"
        return Population((0, 1), (0, 1), weight.sum(axis=2), known, 1.0, rows, name)

    @property
    def population(self) -> Population:
        return self.counted(self.mass, self.mean, None)

    def draw(self, rows: int, rng: np.random.Generator) -> Population:
        """Draw rows; a graded loss is a mean of three draws, so its mean is the same and its variance smaller."""
        weight = rng.multinomial(rows, self.mass.ravel()).reshape(self.mass.shape)
        times = 3 if self.graded else 1
        hits = rng.binomial(times * weight, self.mean)
        return self.counted(weight.astype(float), hits / np.maximum(times * weight, 1), rows)


TRUTHS = {
    "few": Truth(1, 2),
    "many": Truth(2, 6),
    "graded": Truth(3, 3, graded=True),
}


def failures(truth: Truth, rows: int, draws: int, region: str, metric: str, seed: int) -> int:
    """Count the samples for which some bound is below what a distribution near the source attains."""
    rng, failed = np.random.default_rng(seed), 0
    asked: dict[str, Any] = {"shift": "stratified", "metric": metric, "tol": 1e-4}
    exact = certify_curve(truth.population, RADII, **asked).attained
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellWarning)
        for _ in range(draws):
            sample = truth.draw(rows, rng)
            curve = certify_curve(sample, RADII, confidence=CONFIDENCE, region=region, **asked)
            failed += bool((np.where(curve.feasible, curve.bound, -np.inf) < exact).any())
    return failed


def not_too_often(failed: int, draws: int) -> bool:
    """Whether so many failures are compatible with the error probability: one-sided binomial test at 1e-6."""
    return bool(stats.binom.sf(failed - 1, draws, 1 - CONFIDENCE) > 1e-6)


@pytest.mark.parametrize("region", ["sphere", "hoeffding"])
@pytest.mark.parametrize("name", TRUTHS)
def test_coverage(name: str, region: str) -> None:
    assert not_too_often(failures(TRUTHS[name], 120, 12, region, "loss", 1), 12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["loss", "group_loss_difference"])
@pytest.mark.parametrize("rows", [60, 400])
@pytest.mark.parametrize("region", ["sphere", "hoeffding"])
@pytest.mark.parametrize("name", TRUTHS)
def test_coverage_in_many_draws(name: str, region: str, rows: int, metric: str) -> None:
    draws = 600 if metric == "loss" else 150
    assert not_too_often(failures(TRUTHS[name], rows, draws, region, metric, 2), draws)


def test_limits_of_means_hold_as_often_as_stated() -> None:
    """Of losses between 0 and 1 with any law: exact for those of 0 and 1, where the inequality is closest."""
    mean = np.array([0.02, 0.1, 0.5, 0.9])
    for rows in (1, 5, 50, 300):
        for error in (0.05, 0.2):
            hits = np.arange(rows + 1)
            each = 1 - (1 - error) ** (1 / 4)
            whole = 1 - (1 - error) ** ((rows + 1) / 4)  # of a table with so many cells: each is as for four
            limit = largest_shares(hits / rows, np.full(rows + 1, float(rows)), whole)
            for truth in mean:
                missed = stats.binom.pmf(hits, rows, truth)[limit < truth].sum()
                assert missed <= each * (1 + 1e-6)
    assert largest_shares(np.zeros(1), np.zeros(1), 0.1)[0] == 1.0
    assert largest_shares(np.zeros(1), np.full(1, 100.0), 0.1)[0] == pytest.approx(1 - 0.1 ** (1 / 100), rel=1e-6)


def test_a_stratum_without_rows_may_occur_and_lose_everything() -> None:
    """The rows do not say that it is rare enough, nor what is in it: it has the ceiling, and its worst case too."""
    weight = np.array([[[90.0, 0.0], [60.0, 20.0]], [[80.0, 10.0], [50.0, 10.0]]])
    truth = Truth(1, 2)
    made = truth.counted(weight, np.where(weight > 0, 0.1, 0.0), int(weight.sum()))
    certificate = certify(made, 0.3, shift="stratified", confidence=0.9)
    assert certificate.witness.unseen[0, 0] > 0
    assert certificate.gap < 1e-5
    assert verify(certificate).reasons == ()
    assert not any("no stratum occurs" in claim for claim in verify(certificate).claims)


def test_few_rows_cost_and_many_cost_little() -> None:
    truth = TRUTHS["many"]
    known = certify(truth.population, 0.2, shift="stratified").bound
    rng = np.random.default_rng(5)
    bounds = [
        certify(truth.draw(rows, rng), 0.2, shift="stratified", confidence=0.9).bound
        for rows in (20_000, 200_000, 2_000_000)
    ]
    assert known < bounds[2] < bounds[1] < bounds[0]
    assert bounds[2] < known + 0.02
    planned = rows_needed(truth.population, 0.2, 0.1, shift="stratified", confidence=0.9)
    assert 1_000 < planned < 200_000


def test_it_is_sensitive_shifting_with_one_stratum() -> None:
    rows: Any = ([0, 1] * 60 + [1, 1, 0] * 40, [0, 0, 1, 1] * 60, ["a", "b", "b"] * 80)
    one = Population.from_predictions(rows[0], rows[1], sensitive_features=rows[2], strata=["x"] * 240)
    for region in ("sphere", "hoeffding"):
        for metric in ("loss", "group_loss_difference"):
            asked: dict[str, Any] = {"confidence": 0.9, "region": region, "metric": metric}
            found, plain = (certify(one, 0.2, shift=shift, **asked) for shift in ("stratified", "sensitive"))
            assert found.bound == pytest.approx(plain.bound, abs=2e-6)


def _places(document: Any) -> Any:
    return only(document)["statements"][0]["sampling"]["knowledge"]["cells"]


def _own(document: Any) -> Any:
    return document["population"]["measures"][0]["knowledge"]["cells"]


FORGERIES: dict[str, tuple[Change, str]] = {
    "a limit too low": (lambda d: _places(d)[0][0].__setitem__(0, [_places(d)[0][0][0][0], 0.05]), "may exceed"),
    "of a stratum without rows": (lambda d: _places(d)[0][0].__setitem__(1, [0.0, 0.5]), "may exceed"),
    "other rows": (
        lambda d: (
            [cell.__setitem__(0, [cell[0][0] - 1, cell[0][1]]) for cell in _places(d)[1]]
            and [cell.__setitem__(1, [cell[1][0] + 1, cell[1][1]]) for cell in _places(d)[1]]
        ),
        "numbers of rows",
    ),
    "a nearer surrogate": (
        lambda d: only(d)["statements"][0]["sampling"].update(affinity=0.9999),
        "proves only an affinity",
    ),
    "another region": (lambda d: only(d)["statements"][0]["sampling"].update(region="prequential"), ""),
    "a confidence too large": (
        lambda d: [part.update(confidence=0.99) for part in (d, only(d), only(d)["statements"][0])],
        "",
    ),
    "rows that were counted twice": (
        lambda d: [cell.__setitem__(0, [2 * cell[0][0], cell[0][1]]) for row in _own(d) for cell in row],
        "",
    ),
}


@pytest.mark.parametrize("graded", [False, True])
def test_forged_documents_are_refused(graded: bool) -> None:
    weight = np.array([[[90.0, 0.0], [60.0, 20.0]], [[80.0, 10.0], [50.0, 10.0]]])
    made = Truth(1, 2, graded=graded).counted(weight, np.where(weight > 0, 0.1, 0.0), int(weight.sum()))
    text = certify(made, 0.3, shift="stratified", confidence=0.9).to_json()
    for change, reason in FORGERIES.values():
        check_forgery(text, change, reason, None)
    for key, value in (("losses", [0.0, 1.0]), ("seed", 0), ("counts", [[[0] * 2] * 2] * 2)):
        check_malformed(text, lambda d, k=key, v=value: only(d)["statements"][0]["sampling"].update({k: v}))  # type: ignore[misc]
    check_malformed(text, lambda d: only(d)["statements"][0]["sampling"]["knowledge"].update(names=[0, 2]))
    if not graded:  # 4.5 rows out of 90 with a loss of 1
        check_forgery(text, lambda d: _own(d)[0][0].__setitem__(0, [90.0, 0.05]), "not that of a loss of 0", None)
    hoeffding = certify(made, 0.3, shift="stratified", confidence=0.9, region="hoeffding").to_json()
    check_forgery(hoeffding, FORGERIES["a limit too low"][0], "may exceed", None)
    again = verify(json.loads(hoeffding))
    assert again.valid


def test_strata_that_follow_the_rows_are_refused() -> None:
    rows: dict[str, Any] = {
        "y_true": [0, 1] * 50,
        "y_pred": [0, 0, 1, 1] * 25,
        "sensitive_features": list("aab") * 33 + ["b"],
    }
    ages = list(range(100))
    made = Population.from_predictions(**rows, strata={"age": ages}, cuts={"age": 3})
    with pytest.raises(InputError, match="cuts as points that were chosen beforehand"):
        certify(made, 0.3, shift="stratified", confidence=0.9)
    fixed = Population.from_predictions(**rows, strata={"age": ages}, cuts={"age": [30, 60]})
    assert verify(certify(fixed, 0.3, shift="stratified", confidence=0.9)).valid
