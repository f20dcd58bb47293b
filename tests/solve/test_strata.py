"""Stratified shifting: between sensitive and general, against adversaries, and by other paths to the same number."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from fairbound import Certificate, Population, certify, certify_curve, report, verify
from fairbound.arithmetic.arrays import Floats, Integers
from tests.by_hand import only
from tests.forging import Change, Document, check_forgery, statements
from tests.metric_problems import named

METRICS = ("loss", "group_loss", "group_loss_difference", "cell_loss", "demographic_parity_difference")
DIVERGENCES = ("hellinger", "total_variation", "kl", "chi_squared", "trimming")


def rows(seed: int, count: int = 240, strata: int = 4) -> tuple[Integers, Integers, Integers, Integers]:
    """Return groups, labels, predictions and strata of rows; every stratum of every cell has some."""
    rng = np.random.default_rng(seed)
    g, y, h = rng.integers(0, 2, count), rng.integers(0, 2, count), rng.integers(0, strata, count)
    every = np.stack(np.meshgrid(np.arange(2), np.arange(2), np.arange(strata), indexing="ij"), -1).reshape(-1, 3)
    g, y, h = (np.concatenate([a, b]) for a, b in zip((g, y, h), every.T, strict=True))
    wrong = rng.random(len(g)) < rng.uniform(0.05, 0.6, (2, 2, strata))[g, y, h]
    return g, y, np.where(wrong, 1 - y, y), h


def population(seed: int, **more: Any) -> Population:
    g, y, yhat, h = rows(seed, **more)
    return Population.from_predictions(y, yhat, sensitive_features=g, strata=h)


def about(metric: str) -> dict[str, Any]:
    return {} if metric == "loss" else named(metric)


def closest(made: Population, **asked: Any) -> float:
    return certify_curve(made, [0.9], **{**asked, "tol": 1e-2}).distance


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("metric", "divergence"),
    [
        pytest.param(
            metric, divergence, marks=() if divergence == "hellinger" or metric == "loss" else pytest.mark.slow
        )
        for metric in METRICS
        for divergence in DIVERGENCES
    ],
)
def test_it_lies_between_the_others(metric: str, divergence: str) -> None:
    made = population(1)
    asked: dict[str, Any] = {**about(metric), "divergence": divergence, "budget": 24, "tol": 1e-4}
    near = closest(made, **asked)
    for more in (0.01, 0.1, 0.3):
        sensitive, stratified, general = (
            certify(made, near + more, shift=shift, **asked) for shift in ("sensitive", "stratified", "general")
        )
        assert sensitive.attained <= stratified.bound + 1e-9
        assert stratified.attained <= general.bound + 1e-9
        assert verify(stratified.to_json()).reasons == ()
        if divergence == "hellinger":
            assert stratified.gap <= 1e-4
            assert stratified.bound > sensitive.bound + 1e-3


@pytest.mark.parametrize("asked", [{}, {"fair": False}, {"base_rate_tolerance": 0.05}, {"min_group_mass": 0.45}])
def test_one_stratum_is_sensitive_shifting(asked: dict[str, Any]) -> None:
    g, y, yhat, h = rows(2)
    made = Population.from_predictions(y, yhat, sensitive_features=g, strata=0 * h)
    for metric in METRICS:
        for rho in (0.15, 0.4):
            plain, other = (certify(made, rho, shift=s, **about(metric), **asked) for s in ("sensitive", "stratified"))
            assert plain.bound == pytest.approx(other.bound, abs=2e-6)


def test_one_stratum_a_row_is_observed_support() -> None:
    rng = np.random.default_rng(3)
    g, y = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    losses = rng.random(60)
    made = Population.from_losses(losses, y, sensitive_features=g, strata=np.arange(60))
    for rho in (0.15, 0.3):
        for fair in (True, False):
            observed = certify(made, rho, support="observed", fair=fair)
            stratified = certify(made, rho, shift="stratified", fair=fair)
            assert observed.bound == pytest.approx(stratified.bound, abs=3e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_another_path_to_the_same_number(metric: str) -> None:
    """Rows that have the mean of their stratum as a loss, and observed support."""
    g, y, yhat, h = rows(4)
    made = Population.from_predictions(y, yhat, sensitive_features=g, strata=h)
    values = (yhat == 1 if metric.startswith("demo") else yhat != y).astype(float)
    place = (g * 2 + y) * 4 + h
    mean = np.bincount(place, values) / np.bincount(place)
    flat = Population.from_losses(mean[place], y, sensitive_features=g)
    other = {"demographic_parity_difference": "group_loss_difference"}.get(metric, metric)
    for rho in (0.15, 0.35):
        first = certify(made, rho, shift="stratified", **about(metric))
        second = certify(flat, rho, support="observed", **about(other))
        assert first.bound == pytest.approx(second.bound, abs=2e-6)


def member(rng: np.random.Generator, made: Population, start: Floats, rho: float) -> Floats:
    """Return masses of strata with equal base rates in the Hellinger ball, drawn around some."""
    weight = made.by_strata.knowledge.weight  # type: ignore[union-attr]  # a table of strata
    p = weight / weight.sum()
    pull = 10.0 ** -rng.uniform(0, 4)
    inside = start / start.sum(axis=2, keepdims=True)
    inside = inside * np.exp(pull * rng.normal(size=p.shape))
    k, r = start.sum(axis=(1, 2)), start.sum(axis=(0, 2))
    k, r = (v * np.exp(pull * rng.normal(size=2)) for v in (k, r))
    q = (k / k.sum())[:, None, None] * (r / r.sum())[:, None] * inside / inside.sum(axis=2, keepdims=True)
    return q if 1 - np.sqrt(p * q).sum() <= rho**2 else np.zeros_like(q)


def test_no_distribution_exceeds_the_bound_and_climbers_reach_it() -> None:
    """Distributions that keep P inside the strata, with equal base rates: none is worse, and the best come close."""
    for seed in (5, 6):
        made = population(seed)
        known: Any = made.by_strata.knowledge
        rho = closest(made) + 0.15
        certificate = certify(made, rho, shift="stratified")
        rng = np.random.default_rng(seed)
        p = known.weight / known.weight.sum()
        nearest = np.outer(p.sum(axis=(1, 2)), p.sum(axis=(0, 2)))[..., None] * p / p.sum(axis=2, keepdims=True)
        best, loss = nearest, float((nearest * known.low).sum())
        for _ in range(6000):
            q = member(rng, made, best, rho)
            found = float((q * known.low).sum())
            assert found <= certificate.bound + 1e-9
            if found > loss:
                best, loss = q, found
        assert loss >= certificate.bound - 5e-3


def test_the_worst_case_is_told_by_stratum() -> None:
    mpl.use("Agg")
    made = population(7)
    certificate = certify(made, 0.25, shift="stratified")
    for one in (certificate, Certificate.from_json(certificate.to_json())):
        strata = one.strata
        assert len(strata) == 16
        assert sum(s.before for s in strata) == pytest.approx(1)
        assert sum(s.after for s in strata) == pytest.approx(1)
        assert sum(s.after * s.mean for s in strata) == pytest.approx(one.attained, abs=1e-9)
        assert [s.change for s in strata] == sorted((s.change for s in strata), reverse=True)
        frame = one.to_frame("pandas")
        assert list(frame.columns) == ["group", "label", "stratum", "mass", "worst_case_mass", "change"]
        assert len(frame) == 16
        assert "share of the stratum" in one.plot_worst_case().get_xlabel()
    assert certify(made, 0.25).strata == []
    page = report(certificate)
    assert f"{certificate.strata[0].place} grows from" in page
    assert "The strata that grow most" in page
    assert "of each stratum" in " ".join(certificate.assumptions)


def test_empty_strata_and_cells() -> None:
    g, y, yhat, h = rows(8)
    kept = ~((g == 1) & (y == 1) & (h == 2))
    made = Population.from_predictions(y[kept], yhat[kept], sensitive_features=g[kept], strata=h[kept])
    certificate = certify(made, 0.3, shift="stratified")
    assert verify(certificate.to_json()).reasons == ()
    assert len(certificate.strata) == 15
    again = Certificate.from_json(certificate.to_json())
    assert again.to_json() == certificate.to_json()
    kept = ~((g == 1) & (y == 1))
    made = Population.from_predictions(y[kept], yhat[kept], sensitive_features=g[kept], strata=h[kept])
    with pytest.raises(ValueError, match="no data in the cells"):
        certify(made, 0.6, shift="stratified")
    assert verify(certify(made, 0.6, shift="stratified", empty_cells="ceiling").to_json()).reasons == ()


def cells(d: dict[str, Any]) -> Any:
    return d["population"]["measures"][0]["knowledge"]["cells"]


FORGERIES: dict[str, tuple[Change, str]] = {
    "general shifting": (lambda d: only(d).update(shift="general"), "means of strata"),
    "of sensitive shifting": (lambda d: only(d).update(shift="sensitive"), ""),
    "milder strata": (lambda d: [s.__setitem__(1, 0.5 * s[1]) for cell in cells(d)[0] for s in cell], ""),
    "a stratum that has none": (lambda d: cells(d)[0][0][-1].__setitem__(0, 0.0), "of nothing"),
    "a stratum with more rows": (lambda d: cells(d)[0][0][-1].__setitem__(0, 500.0), "add up"),
    "a smaller radius": (lambda d: only(d)["points"][0].update(rho=0.2), ""),
    "any support": (lambda d: only(d).update(support="any"), "observed"),
    "a mean above the ceiling": (lambda d: cells(d)[0][0][0].__setitem__(1, 1.5), "ceiling"),
    "a name twice": (lambda d: d["population"]["measures"][0]["knowledge"]["names"].__setitem__(0, 1), "twice"),
    "a stratum too few": (lambda d: cells(d)[0][0].pop(), "entries"),
    "a better bound": (lambda d: [s.update(bound=s["bound"] - 1e-3) for s in statements(d)], ""),
}


def test_forged_documents_are_refused() -> None:
    text = certify(population(9), 0.25, shift="stratified").to_json()
    for name, (change, reason) in FORGERIES.items():
        document = json.loads(text)
        change(document)
        assert document != json.loads(text), name
        check_forgery(text, change, reason, None)
    sampled = certify(population(9), 0.6, confidence=0.9).to_json()
    strata = json.loads(text)["population"]["measures"][0]["knowledge"]

    def of_strata(d: Document) -> None:
        for one in only(d)["statements"]:
            one["sampling"]["knowledge"] = strata

    check_forgery(sampled, of_strata, "must be of strata", None)
    check_forgery(sampled, lambda d: only(d).update(shift="stratified", support="observed"), "must be of strata", None)
    losses = certify(population(9), 0.25, support="observed").to_json()
    check_forgery(losses, lambda d: only(d).update(shift="stratified"), "means of strata", None)


def checked_at_random(count: int) -> None:
    rng = np.random.default_rng(10)
    for number in range(count):
        made = population(100 + number, count=int(rng.integers(20, 300)), strata=int(rng.integers(2, 7)))
        divergence = str(rng.choice(DIVERGENCES[:1] if rng.random() < 0.5 else DIVERGENCES))
        metric = str(rng.choice(METRICS[:4] if divergence != "hellinger" else METRICS))
        asked: dict[str, Any] = {**about(metric), "shift": "stratified", "divergence": divergence, "budget": 12}
        if divergence == "hellinger" and rng.random() < 0.3:
            asked["base_rate_tolerance"] = 0.1
        elif metric != "group_loss_difference" and rng.random() < 0.2:
            asked["fair"] = False
        rho = min(closest(made, **asked) + float(rng.choice([1e-3, 0.1, 0.3])), 0.95)
        certificate = certify(made, rho, **asked)
        assert verify(certificate.to_json()).reasons == (), (number, asked, rho)
        assert certificate.gap >= 0


def test_the_checker_proves_random_certificates() -> None:
    checked_at_random(8)


@pytest.mark.slow
def test_the_checker_proves_many_random_certificates() -> None:
    checked_at_random(500)


def test_a_curve_costs_little_more_than_a_general_one() -> None:
    """The work: as many radii, one leaf each, and atoms for strata."""
    made = population(11, count=2000, strata=20)
    radii = np.linspace(0.1, 0.6, 51)
    curve = certify_curve(made, radii, shift="stratified")
    assert (curve.bound - curve.attained <= 1e-6).all()
    assert verify(curve.to_json(), patient=True).valid
    assert replace(made, strata=None).loss == made.loss


def test_masses_below_all_roundings() -> None:
    """A cell of the worst case may have a mass that is lost in what is moved: then it has P's own law."""
    made = population(290, count=289, strata=3)
    certificate = certify(made, 0.9, shift="stratified", divergence="total_variation", budget=12)
    assert np.isfinite(certificate.witness.reweighting).all()
    assert verify(certificate.to_json()).reasons == ()
