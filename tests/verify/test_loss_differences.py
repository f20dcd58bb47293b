"""Differences of many-valued losses from a sample: every certificate is proved, and none that claims too much."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from fairbound import (
    Certificate,
    CertificateCurve,
    InfeasibleError,
    Population,
    Sphere,
    certify,
    certify_curve,
    largest_certified_rho,
    report,
    verify,
)
from fairbound.data.loss_summary import bin_edges
from fairbound.verify.balls import RefusedError
from fairbound.verify.document import Losses
from fairbound.verify.sampling import recount
from tests.by_hand import only
from tests.forging import Change, check_forgery
from tests.reporting.test_report import Page, words

pytestmark = pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")  # small cells are the point

SHIFTS: Any = ("general", "sensitive")
REGIONS = ("sphere", "hoeffding")
DIFFERENCE: Any = {"metric": "group_loss_difference"}


def random_sample(rng: np.random.Generator) -> Population:
    """Draw rows with cells of 0, 1, few and many rows, losses at both ends, ceilings that floats cannot divide."""
    rows, groups, labels = int(rng.choice([3, 12, 60, 500, 6000])), int(rng.integers(2, 4)), int(rng.integers(2, 4))
    top = float(rng.choice([1.0, 0.3, 7.5]))
    laws: list[Callable[[], Any]] = [
        lambda: rng.beta(1, 4, rows),
        lambda: rng.beta(4, 0.2, rows),
        lambda: rng.integers(0, 5, rows) / 4,
        lambda: np.zeros(rows),
        lambda: np.ones(rows),
        lambda: bin_edges(1.0)[rng.integers(0, 4097, rows)],
    ]
    group, label = (rng.choice(size, size=rows, p=rng.dirichlet(np.full(size, 1.5))) for size in (groups, labels))
    group[:groups], label[:labels] = np.arange(groups), np.arange(labels)  # metrics need rows of each
    return Population.from_losses(
        np.minimum(laws[int(rng.integers(0, len(laws)))]() * top, top),
        label,
        sensitive_features=group,
        ceiling=top,
        groups=list(range(groups)),
        labels=list(range(labels)),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("chunk", range(3))
def test_every_certificate_is_proved(chunk: int) -> None:
    rng = np.random.default_rng(100 + chunk)
    for _ in range(10):
        population = random_sample(rng)
        intervals = int(rng.integers(1, 6))
        regions: list[Any] = ["auto", "hoeffding", Sphere(intervals=intervals, seed=3)]
        question: Any = {
            "shift": str(rng.choice(SHIFTS)),
            "confidence": float(rng.choice([0.01, 0.5, 0.95, 1 - 1e-9])),
            "region": regions[int(rng.integers(0, 3))],
            "tol": 1e-2,
            **DIFFERENCE,
            **({"group_skew": 0.6} if rng.random() < 0.3 else {}),
        }
        try:
            certificate = certify(population, float(rng.choice([0.0, 0.05, 0.2, 0.6])), **question)
        except InfeasibleError as error:
            certificate = certify(population, min(1.0, error.distance + 1e-3), **question)
        written = certificate.to_json()
        result = verify(written)
        assert result.valid, (result.reasons, question)
        assert json.loads(Certificate.from_json(written).to_json()) == json.loads(written)


@cache
def sample() -> Population:
    rng = np.random.default_rng(9)
    group, label = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000)
    return Population.from_losses(rng.beta(1 + group, 3 - label), label, sensitive_features=group, loss="brier")


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_curves_and_the_inverse_question(shift: Any, region: str) -> None:
    asked: Any = {"shift": shift, "region": region, "confidence": 0.9, "tol": 1e-4, **DIFFERENCE}
    curve = certify_curve(sample(), [0.1, 0.15, 0.2], **asked)
    written = curve.to_json()
    assert verify(written).valid
    assert CertificateCurve.from_json(written).bound.tolist() == curve.bound.tolist()
    limit = float(curve.bound[1])
    rho = largest_certified_rho(sample(), limit + 1e-3, **asked)
    assert 0.15 <= rho < 0.2
    assert certify(sample(), rho, **asked).bound <= limit + 1e-3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_lazy_frames(engine: str) -> None:
    """Engines bin the rows themselves, in bins of their own rounding; what is said of P is the same."""
    rng = np.random.default_rng(10)
    group, label = rng.integers(0, 2, 10_000), rng.integers(0, 2, 10_000)
    loss = rng.beta(1 + group, 3 - label)
    loss[:50], loss[50:99], loss[99:2000] = 0.0, 1.0, bin_edges(1.0)[rng.integers(0, 4097, 1901)]
    frame = pl.DataFrame({"g": group, "y": label, "loss": loss})
    lazy: Any = frame.lazy() if engine == "polars" else duckdb.connect().from_arrow(frame.to_arrow())
    populations = [
        Population.from_losses(loss, label, sensitive_features=group),
        Population.from_frame(lazy, label="y", group="g", losses="loss"),
    ]
    for shift in SHIFTS:
        for region in REGIONS:
            asked: Any = {"shift": shift, "region": region, "confidence": 0.9, "tol": 1e-4, **DIFFERENCE}
            found = [certify(p, 0.1, **asked) for p in populations]
            assert found[0].bound == pytest.approx(found[1].bound, abs=2e-3)
            assert all(verify(c.to_json()).valid for c in found)


@cache
def text(shift: Any, region: str) -> str:
    asked: Any = {"shift": shift, "region": region, "confidence": 0.9, "tol": 1e-4, **DIFFERENCE}
    return certify(sample(), 0.1, **asked).to_json()


@pytest.mark.parametrize("down", [False, True])
def test_the_checker_knows_no_bins_but_the_fixed_ones(down: bool) -> None:
    """Bins that somebody who had seen the rows merged, or laid otherwise, are refused; rounded edges are not."""
    edges = bin_edges(1.0).tolist()
    cells = frozenset({(0, 0)}) if down else frozenset()

    def counted(low: float, high: float) -> list[int]:
        known = Losses("losses", [[[[low, high, 5, 0.5]]]], 1.0)
        return recount(known, 1.0, "mine", [0.0, 0.5, 1.0], 0, cells)[0][0]

    assert sum(counted(edges[10], edges[11])) == 5
    assert counted(edges[10], edges[11]) == counted(edges[10] - 1e-15, edges[11] + 1e-15)
    assert counted(edges[10], edges[11]) == counted(edges[10], edges[10])
    assert sum(counted(edges[4095], edges[4096])) == 5
    for low, high in ((10, 12), (0, 4096), (9.5, 11), (10, 10.5)):
        places = np.interp([low, high], np.arange(4097), edges).tolist()
        with pytest.raises(RefusedError, match="not the fixed ones"):
            counted(*places)


def sampling(document: Any, number: int = 0) -> Any:
    """Return what is said of a sample for a statement: the first one is group 0 minus group 1, then the other way."""
    return only(document)["statements"][number]["sampling"]


def move(place: str, by: float) -> Change:
    """Return a change of the subtracted group's mean or variance in the first statement."""

    def change(document: Any) -> None:
        sampling(document)["knowledge"][place][1][0] += by

    return change


def move_count(document: Any) -> None:
    counts = sampling(document)["counts"][1][0]
    counts[-1] += 1
    counts[0] -= 1


def reverse(document: Any) -> None:
    counts = sampling(document)["counts"]
    counts[1] = [cell[::-1] for cell in counts[1]]


def as_if_added(document: Any) -> None:
    """Let the first statement use what the sample says of both groups' losses as added ones."""
    shift, region = only(document)["shift"], sampling(document)["region"]
    asked: Any = {"shift": shift, "region": region, "confidence": 0.95, "metric": "group_loss", "tol": 1e-4}
    own = json.loads(certify(sample(), 0.1, **asked).to_json())
    only(document)["statements"][0]["sampling"] = sampling(own)


def upper_mean(document: Any) -> None:
    """Take the upper limits of the subtracted means, from the statement in which they are added."""
    sampling(document)["knowledge"]["mean"][1] = sampling(document, 1)["knowledge"]["mean"][1]


def exchange(document: Any) -> None:
    """Give each statement what the sample says for the other one."""
    first, second = only(document)["statements"]
    first["sampling"], second["sampling"] = second["sampling"], first["sampling"]


BOTH = [(shift, region) for shift in SHIFTS for region in REGIONS]
SPOILT: dict[str, tuple[list[tuple[Any, str]], Change, str]] = {
    "a subtracted mean raised": (
        [("sensitive", "sphere"), ("sensitive", "hoeffding"), ("general", "hoeffding")],
        move("mean", 1e-3),
        "may be below",
    ),
    "a subtracted mean raised a little": (
        [("sensitive", "hoeffding"), ("general", "hoeffding")],
        move("mean", 1e-7),
        "may be below",
    ),
    "a variance lowered": ([("general", "hoeffding")], move("variance", -1e-3), "variance in cell"),
    "a count moved": ([(shift, "sphere") for shift in SHIFTS], move_count, "not those of the population's rows"),
    "counts mirrored": ([(shift, "sphere") for shift in SHIFTS], reverse, "not those of the population's rows"),
    "all losses taken for added ones": (BOTH, as_if_added, ""),
    "the other statement's limits": (BOTH, exchange, ""),
    "upper limits subtracted": ([("sensitive", "sphere"), ("sensitive", "hoeffding")], upper_mean, "may be below"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_documents(name: str) -> None:
    kinds, change, reason = SPOILT[name]
    for shift, region in kinds:
        check_forgery(text(shift, region), change, reason)


@pytest.mark.parametrize("shift", SHIFTS)
def test_reports_say_how_the_error_is_divided(shift: Any) -> None:
    """Among the comparisons first; and that limits of what is subtracted are lower ones."""
    said = words(Page(report(text(shift, "hoeffding"))))
    assert "each comparison has an equal part of the error probability" in said
    assert "the error probability 0.05 is divided equally between" in said
    assert "the error probability 0.1 is divided equally between" not in said
    assert "(lower ones of means that are subtracted)" in said
    assert "upper limits, lower ones where they are subtracted" in said
