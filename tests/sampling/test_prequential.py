"""Bets on rows: coverage, the rule in arrays against the checker's, monotone rejections, values of rows that bound."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import stats

from fairbound import (
    Certificate,
    CertificateCurve,
    InputError,
    Prequential,
    SmallCellWarning,
    Verdict,
    certify,
    certify_all,
    certify_curve,
    expected_excess,
    largest_certified_rho,
    rows_needed,
    shift_between,
    verify,
)
from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.certificate.certificate import Status
from fairbound.certificate.checked_statement import precisely
from fairbound.sampling.discretise import Sample, expected
from fairbound.sampling.prequential import Wagers, dealt, multipliers
from fairbound.sampling.region import _prequential_intervals
from fairbound.verify import prequential as checker
from tests.samples import TRUTHS, Truth

CONFIDENCE = 0.9
RADII = (0.15, 0.3)

#: Shapes of tables that take longer.
MORE = ((2, 3, 2), (3, 2, 4), (3, 3, 2))


def rounded_law(truth: Truth, rows: int) -> tuple[Floats, Floats]:
    """Return the law of rounded losses, and these."""
    sample = expected(truth.population, 1.0, _prequential_intervals(truth.population, rows))
    return sample.counts / sample.counts.sum(), sample.losses


def drawn_blocks(law: Floats, rows: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw the blocks of many samples at once: those of independent rows are independent."""
    sizes = np.diff([0, *checker.ends_of(rows)])
    blocks = [rng.multinomial(int(size), law.ravel(), size=draws) for size in sizes]
    return np.stack(blocks, axis=1).reshape(draws, len(sizes), *law.shape).astype(float)


def misses(truth: Truth, rows: int, rho: float, draws: int, seed: int) -> int:
    """Count the samples that reject a value that some distribution attains: their bounds would be below the truth."""
    attained = certify(truth.population, rho).attained
    law, losses = rounded_law(truth, rows)
    rng, missed = np.random.default_rng(seed), 0
    for size in [100] * (draws // 100):
        blocks = drawn_blocks(law, rows, size, rng)
        wagers = Wagers.on(blocks, losses, float(least_affinity(rho)), 1 - CONFIDENCE)
        missed += int(wagers.rejected(np.full(size, attained)).sum())
    return missed


def not_too_often(missed: int, draws: int) -> bool:
    return bool(stats.binom.sf(missed - 1, draws, 1 - CONFIDENCE) > 1e-6)


@pytest.mark.parametrize("name", ["skewed", "rare cell"])
def test_true_values_are_rejected_rarely(name: str) -> None:
    assert not_too_often(misses(TRUTHS[name], 200, 0.3, 200, 1), 200)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [50, 200, 1000])
@pytest.mark.parametrize("rho", RADII)
@pytest.mark.parametrize("name", TRUTHS)
def test_true_values_are_rejected_rarely_in_many_draws(name: str, rho: float, rows: int) -> None:
    """Below the nominal tenth, and not only within chance of it."""
    assert misses(TRUTHS[name], rows, rho, 2000, 2) <= 200


@pytest.mark.slow
def test_bets_are_not_wasted() -> None:
    """Were multipliers or stakes worse by a little, nothing would ever be rejected: here one in 50 is."""
    assert misses(TRUTHS["skewed"], 1000, 0.3, 300, 3) > 1


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 3), *(pytest.param(n, marks=pytest.mark.slow) for n in MORE)])
def test_arrays_and_checker_agree(shape: tuple[int, ...]) -> None:
    """Two programs of one rule: the least bound of arrays is proved, and a millionth below it is not."""
    rng = np.random.default_rng(sum(shape))
    law = rng.dirichlet(np.broadcast_to(np.linspace(12.0, 2.0, shape[2]), shape).ravel())
    counts = rng.multinomial(300, law).reshape(shape)
    losses = np.append(2.0 * np.arange(shape[2] - 1) / (shape[2] - 1), 2.0)
    affinity = 1 - 0.25**2
    blocks = dealt(Sample(counts.astype(float), losses, 0), 0)
    assert blocks.sum(axis=0).tolist() == counts.tolist()
    least = float(Wagers.on(blocks[None], losses, affinity, 0.1).least()[0])
    assert 0.0 < least < 2.0

    def rejects(claimed: float) -> bool:
        with precisely():
            return checker.rejects(arb(claimed), counts.tolist(), losses.tolist(), 0, arb(affinity), arb("0.1"))

    assert rejects(least)
    assert rejects(1.9)
    assert not rejects(least - 1e-6)


@pytest.mark.parametrize("error", ["1e-13", "1e-16", "0"])
def test_an_error_that_the_order_uses_up_rejects_nothing(error: str) -> None:
    """Random numbers are multiples of 2^-53: so small a probability of an error is not left, whatever is claimed."""
    counts = [[[300, 20], [30, 10]], [[100, 10], [20, 10]]]
    asked = counts, [0.0, 1.0], 0, arb(0.9)
    with precisely():
        assert not checker.rejects(arb(1e6), *asked, arb(error))
        assert checker.rejects(arb(1e6), *asked, arb("1e-11"))


def test_multipliers_prove_nearly_the_value() -> None:
    """For the law that they are made of, the largest mean value of a row at any shares is the bound of the solver."""
    for name in ("skewed", "balanced", "rare cell"):
        truth = TRUTHS[name]
        for rho in (0.2, 0.35):
            tau = 1 - rho**2
            law, gap = truth.probability[None], np.array([1.0, 0.0])
            zeta, lam, level = (part[0] for part in multipliers(law, gap, tau))
            share = np.linspace(1e-6, 1 - 1e-6, 4001)
            k = np.stack([share, 1 - share], axis=1)[:, :, None, None]
            value = level - lam * tau + 1.0 + 0.25 * lam**2 * k / (zeta[..., None] + k * gap)
            most = float((value * truth.probability).sum(axis=(1, 2, 3)).max())
            exact = certify(truth.population, rho).bound
            assert exact - 1e-7 <= most <= exact + 1e-5


def test_values_of_rows_bound_every_distribution() -> None:
    """For any multipliers, and random distributions in the ball: no value exceeds the mean row value at its shares."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        law = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
        other = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
        zeta, lam, z = rng.exponential(0.5, (2, 2)), rng.exponential(3.0), rng.uniform(0.05, 0.95)
        inside = other / other.sum(axis=2, keepdims=True)
        k, r = rng.dirichlet([1, 1]), rng.dirichlet([1, 1])
        q = k[:, None, None] * r[:, None] * inside
        tau = float(np.sqrt(law * q).sum())  # Q lies on the edge of the ball
        gap, centre = np.array([1.0, 0.0]), np.array([z, 1 - z])[:, None, None]
        below = zeta[..., None] + centre * gap
        mean = centre**2 * gap / below**2 + k[:, None, None] * zeta[..., None] / below**2
        value = zeta.sum(axis=0).max() - lam * tau + 1.0 + 0.25 * lam**2 * mean
        assert float(q[..., 1].sum()) <= float((law * value).sum()) + 1e-12


def test_the_checkers_values_of_rows_bound_every_distribution() -> None:
    """The same of what the checker bets against, whatever the multipliers: what a row wins at two claims tells it."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        law, other = (rng.dirichlet(np.ones(8)).reshape(2, 2, 2) for _ in range(2))
        k, r = rng.dirichlet([1, 1]), rng.dirichlet([1, 1])
        q = k[:, None, None] * r[:, None] * other / other.sum(axis=2, keepdims=True)
        tau = float(np.sqrt(law * q).sum())
        zeta = rng.exponential(0.5, (2, 2)).tolist()
        chosen = checker.Multipliers(zeta, rng.exponential(3.0), max(map(sum, zip(*zeta, strict=True))), law.tolist())
        mean = 0.0
        for place in np.ndindex(law.shape):
            block = np.zeros(law.shape, dtype=int)
            block[place] = 1
            given: Any = block.tolist(), [1.0, 0.0], [k.tolist()], chosen, arb(tau), arb(0.1), 1000
            lost, won = (math.expm1(float(checker._gain(arb(claimed), *given))) for claimed in (0.0, 1.0))
            mean += float(law[place]) * -lost / (won - lost)
        assert float(q[..., 1].sum()) <= mean + 1e-9


def test_larger_values_are_rejected_too() -> None:
    """What a bound needs: rejections are monotone, whatever the rows; random samples, also odd ones."""
    rng = np.random.default_rng(5)
    claimed, seen = np.linspace(0.0, 1.0, 201), set()
    for concentration in (0.1, 1.0, 10.0):
        for _ in range(3):
            sizes = np.diff([0, *checker.ends_of(120)])
            laws = [rng.dirichlet(np.full(8, concentration)) for _ in sizes]  # rows that change with time
            blocks = np.stack([rng.multinomial(int(m), p) for m, p in zip(sizes, laws, strict=True)])
            wagers = Wagers.on(blocks.reshape(1, -1, 2, 2, 2).astype(float), np.array([0.0, 1.0]), 0.9, 0.2)
            rejected = wagers.rejected(claimed)
            assert (np.diff(rejected.astype(int)) >= 0).all()
            seen.add(int(rejected.sum()))
    assert len(seen) > 3


@pytest.mark.parametrize("shares", [2, 3, 4])
def test_pieces_cover_all_shares(shares: int) -> None:
    pieces = np.array(checker.pieces_of(shares, 1000))
    volumes = np.abs(np.linalg.det(pieces))
    assert volumes.sum() == pytest.approx(1.0, abs=1e-12)  # halves of halves: no overlap, nothing left out
    assert (pieces >= 0).all()
    assert pieces.sum(axis=2) == pytest.approx(1.0)


def test_blocks_have_all_rows_once() -> None:
    for rows in (1, 2, 5, 50, 1000, 15060, 10**6):
        ends = checker.ends_of(rows)
        assert ends[-1] == rows
        assert all(a < b <= max(a + a // 2, a + 1) for a, b in pairwise(ends))
        assert len(ends) < 40


def test_the_order_follows_from_the_rows_and_the_seed_alone() -> None:
    """Names, groups and labels may change places; another seed is another order; all rows are in one block."""
    counts = np.random.default_rng(6).multinomial(300, np.full(8, 1 / 8)).reshape(2, 2, 2)
    blocks = np.array(checker.blocks_of(counts.tolist(), 0))
    mirrored = np.array(checker.blocks_of(counts[::-1, ::-1].tolist(), 0))
    assert mirrored[:, ::-1, ::-1].tolist() == blocks.tolist()
    assert np.array(checker.blocks_of(counts.tolist(), 1)).tolist() != blocks.tolist()
    assert blocks.sum(axis=(1, 2, 3)).tolist() == np.diff([0, *checker.ends_of(300)]).tolist()
    assert blocks.sum(axis=0).tolist() == counts.tolist()


def test_rows_are_dealt_evenly() -> None:
    """Over 400 samples that differ by a seed, each block gets its share of each class, and as much deviation."""
    counts = [[[30, 10], [20, 5]], [[15, 5], [10, 5]]]
    found = np.array([checker.blocks_of(counts, seed) for seed in range(400)])
    sizes = np.diff([0, *checker.ends_of(100)])
    first, rows = found[:, 3, 0, 0, 0], sizes[3]
    assert abs(first.mean() - 0.3 * rows) < 5 * math.sqrt(0.21 * rows / 400)
    assert first.var() == pytest.approx(stats.hypergeom.var(100, 30, rows), rel=0.3)


@pytest.mark.parametrize("name", ["skewed", "jsd-like"])
def test_tighter_than_what_holds_for_all_radii(name: str) -> None:
    population = TRUTHS[name].draw(1000, np.random.default_rng(0))
    plain = certify(population, 0.2).bound
    everywhere = certify(population, 0.2, confidence=0.9).bound
    own = certify(population, 0.2, confidence=0.9, region="prequential")
    assert own.bound - plain < 0.75 * (everywhere - plain)
    assert own.bound >= own.attained
    assert own.status is Status.SAMPLED
    assert "at this rho" in " ".join(own.assumptions)
    assert "every rho" not in " ".join(own.assumptions)
    checked = verify(own.to_json())
    assert checked.verdict is Verdict.PROVED
    assert checked.checked_bound == own.bound
    read = Certificate.from_json(own.to_json())
    assert read.to_json() == own.to_json()
    assert read.bound_at(0.1) == own.bound
    with pytest.raises(InputError, match=r"nothing is proved at rho=0\.21"):
        read.bound_at(0.21)


def lower(document: dict[str, Any]) -> None:
    point = document["questions"][0]["points"][0]
    for claim in (point["claim"], point["answers"][0]):
        claim["bound"] -= 1e-6


def no_seed(document: dict[str, Any]) -> None:
    document["questions"][0]["statements"][0]["sampling"]["seed"] = None


def other_counts(document: dict[str, Any]) -> None:
    sampling = document["questions"][0]["statements"][0]["sampling"]
    sampling["counts"][0][0][0] += 1
    sampling["counts"][0][0][1] -= 1


def surer(document: dict[str, Any]) -> None:
    document["confidence"] = 0.91
    document["questions"][0]["confidence"] = document["questions"][0]["statements"][0]["confidence"] = 0.91


def any_rates(document: dict[str, Any]) -> None:
    document["questions"][0]["fair"] = False


def tolerance(document: dict[str, Any]) -> None:
    document["questions"][0]["base_rate_tolerance"] = 0.1


def sensitive(document: dict[str, Any]) -> None:
    document["questions"][0]["shift"] = "sensitive"


def between(document: dict[str, Any]) -> None:
    document["questions"][0]["shift"] = "stratified"


def second_radius(document: dict[str, Any]) -> None:
    question = document["questions"][0]
    question["distance"] = 0.0
    question["points"].append({"rho": 0.01, "claim": None, "answers": []})


def called_sphere(document: dict[str, Any]) -> None:
    document["questions"][0]["statements"][0]["sampling"]["region"] = "sphere"


def larger_radius(document: dict[str, Any]) -> None:
    document["questions"][0]["points"][0]["rho"] = 0.2001


FORGERIES = [
    lower,
    no_seed,
    other_counts,
    surer,
    any_rates,
    tolerance,
    sensitive,
    between,
    second_radius,
    called_sphere,
]


@pytest.fixture(scope="module")
def honest() -> str:
    population = TRUTHS["skewed"].draw(1000, np.random.default_rng(0))
    return certify(population, 0.2, confidence=0.9, region="prequential").to_json()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("forge", [*FORGERIES, called_sphere, larger_radius], ids=lambda forge: forge.__name__)
def test_forgeries_are_refused(forge: Callable[[dict[str, Any]], None], honest: str) -> None:
    document = json.loads(honest)
    assert verify(honest).verdict is Verdict.PROVED
    forge(document)
    assert verify(json.dumps(document)).verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("asked", "proved"),
    [
        ({}, True),
        ({"fair": False}, False),
        ({"base_rate_tolerance": 0.1}, False),
        ({"metric": "group_loss", "group": 0}, False),
        ({"metric": "group_loss_difference"}, False),
    ],
    ids=str,
)
def test_bets_prove_nothing_of_other_questions(asked: dict[str, Any], proved: bool) -> None:
    """Bounds of another region that are so large that bets reject them: only what they are about is proved."""
    population = TRUTHS["balanced"].draw(300, np.random.default_rng(0))
    document = json.loads(certify(population, 0.3, confidence=0.9, **asked).to_json())
    for statement in document["questions"][0]["statements"]:
        statement["sampling"] |= {"region": "prequential", "seed": 0}
    result = verify(document)
    assert (result.verdict is Verdict.PROVED) == proved
    assert proved or all("general shifting and equal base rates" in reason for reason in result.reasons)


def test_the_leeway_counts(honest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds hold for distributions that miss the ball by a little: by more, and they are not rejected any more."""
    monkeypatch.setattr("fairbound.verify.sampling.LEEWAY", 1e-3)
    assert verify(honest).verdict is Verdict.NOT_PROVED


def test_so_many_rows_are_not_dealt(honest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbound.verify.sampling.MOST_DEALT", 999)
    assert "deals at most 5000000 rows" not in str(verify(honest).reasons)
    assert "deals at most 999 rows" in verify(honest).reasons[0]


def test_no_rows_of_the_surrogates_own_bound(honest: str) -> None:
    """The proof that a document holds is about the rows: claiming what it proves is refused."""
    document = json.loads(honest)
    point = document["questions"][0]["points"][0]
    point["claim"]["bound"] = point["answers"][0]["bound"] = point["claim"]["attained"] + 1e-6
    result = verify(json.dumps(document))
    assert result.verdict is Verdict.NOT_PROVED
    assert "do not reject" in result.reasons[0]


def test_other_seeds_are_named(honest: str) -> None:
    population = TRUTHS["skewed"].draw(1000, np.random.default_rng(0))
    other = verify(certify(population, 0.2, confidence=0.9, region=Prequential(seed=3)).to_json())
    assert other.verdict is Verdict.PROVED
    assert any("seed 3 are valid only if" in check for check in other.checks)
    usual = verify(honest)
    assert not any("seed 0 are valid only if" in check for check in usual.checks)
    assert any("not the usual region" in check for check in usual.checks)


@pytest.mark.parametrize(
    "asked",
    [
        {"shift": "sensitive"},
        {"metric": "group_loss"},
        {"group_skew": 0.5},
        {"label_limits": {1: (0.1, 0.4)}},
        {"fair": False},
        {"base_rate_tolerance": 0.1},
    ],
    ids=str,
)
def test_what_it_is_not_for_is_refused(asked: dict[str, Any]) -> None:
    population = TRUTHS["skewed"].draw(300, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"region='prequential' is for the loss of all under general shifting"):
        certify(population, 0.2, confidence=0.9, region="prequential", **asked)


def test_a_few_radii_share_the_error_probability() -> None:
    """Each has an equal part: the bound there is that of one radius with this part, and all of them are proved."""
    population = TRUTHS["skewed"].draw(300, np.random.default_rng(0))
    asked: dict[str, Any] = {"confidence": 0.9, "region": "prequential"}
    curve = certify_curve(population, [0.2, 0.3], **asked)
    for bound, rho in zip(curve.bound, (0.2, 0.3), strict=True):
        part = certify(population, rho, confidence=0.95, region="prequential").bound
        assert bound == pytest.approx(part, abs=1e-8)
        assert bound > certify(population, rho, **asked).bound + 1e-3
    assert "hold together" in curve.sentences()[1]
    assert "an equal part" in " ".join(next(iter(curve)).assumptions)
    document = json.loads(curve.to_json())
    assert verify(document).verdict is Verdict.PROVED
    assert CertificateCurve.from_json(curve.to_json()).bound_at(0.25) == curve.bound[1]  # only balls that are nested
    point = document["questions"][0]["points"][1]
    alone = certify(population, 0.3, **asked).bound
    point["claim"]["bound"] = point["answers"][0]["bound"] = alone  # as if the other radius had not been asked
    result = verify(document)
    assert result.verdict is Verdict.NOT_PROVED
    assert "do not reject" in result.reasons[0]


def test_gates_at_radii_that_were_fixed() -> None:
    population = TRUTHS["skewed"].draw(300, np.random.default_rng(0))
    evidence = certify_all(population, {"loss": 0.7}, [0.2], confidence=0.9, region="prequential")
    assert evidence["loss"].bound[0] == certify(population, 0.2, confidence=0.9, region="prequential").bound
    assert verify(evidence.to_json()).passed


def test_radii_that_follow_from_the_rows_are_refused() -> None:
    population = TRUTHS["skewed"].draw(300, np.random.default_rng(0))
    with pytest.raises(InputError, match="holds at each rho that is chosen beforehand"):
        certify_curve(population, confidence=0.9, region="prequential")
    with pytest.raises(InputError, match="holds at each rho"):
        largest_certified_rho(population, 0.9, confidence=0.9, region=Prequential())
    measured = shift_between(population, TRUTHS["skewed"].draw(300, np.random.default_rng(1)))
    with pytest.raises(InputError, match="holds at each rho"):
        certify(population, measured, confidence=0.9, region="prequential")
    with pytest.raises(InputError, match="radii=0 must be a whole number"):
        Prequential(radii=0)


def test_planning() -> None:
    known = TRUTHS["skewed"].population
    asked: dict[str, Any] = {"confidence": 0.9, "region": "prequential"}
    excess = [expected_excess(known, 0.3, rows, **asked) for rows in (200, 1000)]
    assert excess[0] > excess[1] > 0
    assert 0.03 < excess[1] < 0.045  # simulated: 0.037
    assert rows_needed(known, 0.3, 0.3, **asked) < rows_needed(known, 0.3, 0.3, confidence=0.9)
    with pytest.raises(InputError, match="is for the loss of all"):
        expected_excess(known, 0.3, 1000, shift="sensitive", **asked)


def test_few_rows() -> None:
    """From very few rows on there is a bound, and it is proved."""
    for rows in (4, 9, 25):
        population = TRUTHS["balanced"].draw(rows, np.random.default_rng(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallCellWarning)
            certificate = certify(population, 0.7, confidence=0.9, region="prequential")
        assert certificate.bound <= 1.0
        assert verify(certificate.to_json()).verdict is Verdict.PROVED
