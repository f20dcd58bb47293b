"""Measured change: against the definitions, its coverage by simulation, and certificates that say where rho is from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbound import (
    Certificate,
    InputError,
    MeasuredShift,
    Population,
    certify,
    certify_curve,
    report,
    shift_between,
    verify,
)
from fairbound.arithmetic.arrays import Floats
from tests.divergence_oracles import distance

NAMES = ("total_variation", "kl", "chi_squared", "trimming")


def sample(rng: np.random.Generator, law: Floats, count: int, **more: Any) -> Population:
    """Draw rows from a law of group, label, stratum and error, shape (2, 2, 3, 2)."""
    g, y, h, wrong = np.unravel_index(rng.choice(law.size, count, p=law.ravel()), law.shape)
    names: Any = {"groups": [0, 1], "labels": [0, 1]}
    return Population.from_predictions(
        y, np.where(wrong, 1 - y, y), sensitive_features=g, **names, **({"strata": h} | more)
    )


def law(seed: int, width: float = 8.0) -> Floats:
    found: Floats = np.random.default_rng(seed).dirichlet(np.full(24, width)).reshape(2, 2, 3, 2)
    return found


def parts(p: Floats) -> dict[str, Floats]:
    return {"cells": p.sum(axis=(2, 3)), "strata": p.sum(axis=3), "losses": p.sum(axis=2)}


def test_distances_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    pair = sample(rng, law(1), 3000), sample(rng, law(2), 5000)
    found = shift_between(*pair)

    def counted(population: Population) -> dict[str, Floats]:
        assert population.strata is not None
        table, known = population.strata.losses, population.knowledge
        wrong = np.stack([population.weight - population.weight * known.mean, population.weight * known.mean], axis=-1)
        return {"cells": population.weight, "strata": table.weight, "losses": wrong}

    first, second = (counted(population) for population in pair)
    for what, shift in (("cells", "sensitive"), ("strata", "stratified"), ("losses", "general")):
        p, q = first[what] / first[what].sum(), second[what] / second[what].sum()
        for name in NAMES:
            assert found.radius(name, shift) == pytest.approx(distance(name, p, q), rel=1e-9)
        assert found.radius("hellinger", shift) == pytest.approx(np.sqrt(1 - np.sqrt(p * q).sum()))
    assert found.radius(shift="sensitive") <= found.radius(shift="stratified")
    assert found.radius(shift="sensitive") <= found.radius(shift="general")
    assert all(value == pytest.approx(0, abs=1e-7) for value in shift_between(pair[0], pair[0]).cells.values())


def test_bounds_cover() -> None:
    """They miss the true distance no more often than they may, and tighten with the rows."""
    rng = np.random.default_rng(3)
    sources = law(4), 0.7 * law(4) + 0.3 * law(5)
    true = [parts(source) for source in sources]
    missed = dict.fromkeys([(what, name) for what in parts(sources[0]) for name in ("hellinger", "total_variation")], 0)
    for _ in range(60):
        found = shift_between(*(sample(rng, source, 400) for source in sources), confidence=0.8)
        for what, name in missed:
            p, q = (one[what] for one in true)
            exact = np.sqrt(1 - np.sqrt(p * q).sum()) if name == "hellinger" else distance(name, p, q)
            missed[what, name] += getattr(found, what)[name] < exact
    assert max(missed.values()) <= 20  # 12 are allowed on average; this many have a probability below 1 %
    wide, narrow = (
        shift_between(*(sample(rng, sources[0], count) for _ in range(2)), confidence=0.95) for count in (300, 30_000)
    )
    for shift in ("sensitive", "stratified", "general"):
        assert narrow.radius(shift=shift) < 0.3 * wide.radius(shift=shift)


@pytest.mark.parametrize("shift", ["sensitive", "stratified", "general"])
def test_a_certificate_says_where_its_radius_came_from(shift: Any) -> None:
    rng = np.random.default_rng(6)
    before, after = sample(rng, law(7), 2000), sample(rng, law(7), 4000)
    for confidence in (None, 0.95):
        measured = shift_between(before, after, confidence=confidence)
        certificate = certify(after, measured, shift=shift, fair=False)
        assert certificate.rho == measured.radius(shift=shift)
        told = certificate.population.provenance.note or ""
        assert "measured between two samples of 2,000 and 4,000 rows" in told
        assert ("confidence of 0.95" in told) == (confidence is not None)
        again = Certificate.from_json(certificate.to_json())
        assert again.population.provenance.note == told
        assert verify(certificate.to_json()).valid
        assert "measured between two samples" in report(certificate)
    assert "total variation distance" in str(
        certify(after, measured, shift=shift, fair=False, divergence="total_variation").population.provenance.note
    )


def test_a_curve_takes_measured_radii_among_others() -> None:
    rng = np.random.default_rng(6)
    changes = [shift_between(sample(rng, law(7), 2000), sample(rng, law(8), 4000)) for _ in range(2)]
    population = sample(rng, law(7), 2000)
    curve = certify_curve(population, [0.1, *changes], shift="sensitive", fair=False)
    radii = [0.1, *(one.radius(shift="sensitive") for one in changes)]
    assert curve.rho.tolist() == radii
    alone = certify_curve(population, changes[0], shift="sensitive", fair=False)
    assert alone.bound.tolist() == [curve.bound[1]]
    note = str(next(iter(curve)).population.provenance.note)
    for rho in radii[1:]:
        assert f"rho = {rho:.6g} is the Hellinger distance that was measured between two samples" in note
    assert verify(curve.to_json()).valid
    plain = sample(rng, law(9), 300, strata=None)
    with pytest.raises(InputError, match="needs strata of both samples"):
        certify_curve(population, [0.1, shift_between(plain, plain)], shift="stratified")


def test_what_was_not_measured_is_refused() -> None:
    rng = np.random.default_rng(8)
    pair = [sample(rng, law(9), 300) for _ in range(2)]
    sure = shift_between(*pair, confidence=0.9)
    assert isinstance(sure, MeasuredShift)
    assert "-" in repr(sure)
    with pytest.raises(InputError, match="bounded by no sample"):
        certify(pair[0], sure, divergence="kl", shift="sensitive")
    plain = [sample(rng, law(9), 300, strata=None) for _ in range(2)]
    with pytest.raises(InputError, match="needs strata of both samples"):
        shift_between(*plain).radius(shift="stratified")
    graded = [
        Population.from_losses(rng.random(200), rng.integers(0, 2, 200), sensitive_features=rng.integers(0, 2, 200))
        for _ in range(2)
    ]
    with pytest.raises(InputError, match="losses of few values"):
        shift_between(*graded).radius(shift="general")
    assert shift_between(*graded).radius(shift="sensitive") < 0.2
    other = [
        Population.from_predictions(
            [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"), strata=names, groups=list("ab"), labels=[0, 1]
        )
        for names in (list("xyxy"), list("uvuv"))
    ]
    with pytest.raises(InputError, match="no name in common"):
        shift_between(*other)
    with pytest.raises(InputError, match="before was made from moments"):
        shift_between(Population.from_moments([[0.5, 0.2], [0.2, 0.1]], [[0.1, 0.1]] * 2), pair[0], confidence=0.9)
