"""The checker on finite samples: it recounts, recomputes the region, and proves what is true and nothing else."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy import optimize, special, stats

from fairbound import (
    Certificate,
    CertificateCurve,
    InfeasibleError,
    Population,
    Verdict,
    certify,
    certify_curve,
    verify,
)
from fairbound.cli import main
from fairbound.sampling.region import Sphere
from fairbound.verify.balls import PRECISION
from fairbound.verify.sphere import (
    Node,
    affinity_of_classes,
    affinity_of_masses,
    budget,
    is_upper_limit,
    shared,
    tail,
)
from tests.by_hand import only
from tests.forging import Change, Document, better, check_forgery, mended

pytestmark = pytest.mark.filterwarnings("ignore::fairbound.errors.SmallCellWarning")  # small cells are the point

SHIFTS: tuple[Any, ...] = ("general", "sensitive")


@pytest.fixture(autouse=True)
def _balls() -> Iterator[None]:
    """Give all tests the checker's precision."""
    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before


def sample(rng: np.random.Generator, rows: int, kind: str, groups: int = 2, labels: int = 2) -> Population:
    """Draw rows; the last group is declared and may be absent, and masses are uneven."""
    group = rng.choice(groups, size=rows, p=rng.dirichlet(np.full(groups, 1.5)))
    label = rng.choice(labels, size=rows, p=rng.dirichlet(np.full(labels, 1.5)))
    top = float(rng.choice([1.0, 1.0, 0.3, 7.5])) if kind != "zero_one" else 1.0
    laws: dict[str, Callable[[], Any]] = {
        "zero_one": lambda: (rng.random(rows) < rng.uniform(0, 0.5)).astype(float),
        "beta": lambda: rng.beta(1, 4, rows),
        "near 0": lambda: rng.beta(0.1, 4, rows),
        "coarse": lambda: rng.integers(0, 5, rows) / 4,
        "all 0": lambda: np.zeros(rows),
        "all 1": lambda: np.ones(rows),
    }
    loss = laws[kind]()
    return Population.from_losses(
        loss * top,
        label,
        sensitive_features=group,
        ceiling=top,
        loss="zero_one" if kind == "zero_one" else "loss",
        groups=list(range(groups)),
        labels=list(range(labels)),
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("chunk", range(10))
def test_every_certificate_is_proved(chunk: int) -> None:
    """40 samples each: both shifts and regions, 0-1 and other losses, cells with 0, 1, few and many rows, limits."""
    rng = np.random.default_rng(2000 + chunk)
    proved = 0
    for _ in range(40):
        kind = str(rng.choice(["zero_one", "zero_one", "beta", "near 0", "coarse", "all 0", "all 1"]))
        rows = int(rng.choice([1, 2, 5, 12, 50, 200, 1000, 6000]))
        population = sample(rng, rows, kind, int(rng.integers(2, 4)), int(rng.integers(2, 4)))
        region: Any = rng.choice(np.array(["auto", "hoeffding", Sphere(intervals=int(rng.integers(1, 6)), seed=3)]))
        limits: Any = {name: float(rng.uniform()) for name in ("group_skew", "label_skew") if rng.random() < 0.3}
        question: Any = {
            "shift": rng.choice(["general", "sensitive"]),
            "confidence": float(rng.choice([0.01, 0.5, 0.9, 0.95, 0.999, 1 - 1e-11])),
            "region": region,
            "tol": 1e-2,
            "budget": 50,
        }
        try:
            certificate = certify(population, float(rng.choice([0.0, 1e-7, 0.05, 0.2, 0.6])), **question, **limits)
        except InfeasibleError as error:
            certificate = certify(population, min(1.0, error.distance + 1e-3), **question, **limits)
        result = verify(certificate.to_json())
        assert result.valid, (result.reasons, question, limits)
        assert result.checked_bound is not None
        assert certificate.bound - result.checked_bound <= 1e-5
        assert any("confidence region" in check for check in result.checks)
        proved += 1
    assert proved == 40


def test_documents_read_back() -> None:
    rng = np.random.default_rng(5)
    for kind in ("zero_one", "beta"):
        for shift in SHIFTS:
            certificate = certify(sample(rng, 80, kind), 0.2, shift=shift, confidence=0.9, tol=1e-2)
            again = Certificate.from_json(certificate.to_json())
            assert json.loads(again.to_json()) == json.loads(certificate.to_json())
            assert again.confidence == 0.9
            assert again.region == "sphere"


@cache
def texts() -> dict[str, str]:
    """Write certificates to be spoilt: large cells, so that everything matters."""
    rng = np.random.default_rng(11)
    errors, losses = sample(rng, 3000, "zero_one"), sample(rng, 3000, "beta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "errors, general": certify(errors, 0.2, confidence=0.9).to_json(),
            "errors, sensitive": certify(errors, 0.2, confidence=0.9, shift="sensitive").to_json(),
            "losses, general": certify(losses, 0.2, confidence=0.9).to_json(),
            "losses, sensitive": certify(losses, 0.2, confidence=0.9, shift="sensitive").to_json(),
            "hoeffding, general": certify(losses, 0.2, confidence=0.9, region="hoeffding").to_json(),
            "hoeffding, sensitive": certify(
                errors, 0.2, confidence=0.9, region="hoeffding", shift="sensitive"
            ).to_json(),
        }


KINDS = (
    "errors, general",
    "errors, sensitive",
    "losses, general",
    "losses, sensitive",
    "hoeffding, general",
    "hoeffding, sensitive",
)
SENSITIVE = tuple(kind for kind in KINDS if "sensitive" in kind)
SPHERE = tuple(kind for kind in KINDS if "hoeffding" not in kind)


def add(by: float, *path: Any) -> Change:
    """Return a change that adds to the number at a place."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] += by

    return change


def put(*path: Any, value: Any) -> Change:
    """Return a change that puts a value at a place."""

    def change(found: Any) -> None:
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = value

    return change


#: What is said of the sample, and of the only radius.
SAMPLING = ("questions", 0, "statements", 0, "sampling")
POINT = ("questions", 0, "points", 0)


def sampling(d: Document) -> Any:
    return only(d)["statements"][0]["sampling"]


def surer(change: Callable[[float], float]) -> Change:
    """Claim another confidence."""

    def edit(d: Document) -> None:
        for holder in (only(d), only(d)["statements"][0]):
            holder["confidence"] = change(holder["confidence"])

    return edit


def move_count(d: Document) -> None:
    """Say that one more row has a small loss, and one fewer a large one."""
    counts = sampling(d)["counts"][0][0]
    counts[max(place for place, count in enumerate(counts) if count)] -= 1
    counts[0] += 1


def move_row(d: Document) -> None:
    """Move a row from one cell to another, everywhere but in the population."""
    counts, weight = sampling(d)["counts"], sampling(d)["weight"]
    counts[0][0][0] += 1
    counts[1][1][0] -= 1
    weight[0][0] += 1
    weight[1][1] -= 1


def unweight(d: Document) -> None:
    """Take the mildest cell's loss away from the stand-in."""
    known = sampling(d)["knowledge"]
    known["cells"][0][0] = [[0.0, 0.0, sum(b[2] for b in known["cells"][0][0]), 0.0]]


def stretch(d: Document) -> None:
    """Round to values that are not equally spaced."""
    sampling(d)["losses"][1] *= 0.99


SPOILT: dict[str, tuple[tuple[str, ...], Change, str]] = {
    "affinity raised": (KINDS, add(1e-6, *SAMPLING, "affinity"), "proves only an affinity"),
    "affinity of 1": (KINDS, put(*SAMPLING, "affinity", value=1), "proves only an affinity"),
    "confidence raised": (KINDS, surer(lambda v: v + 1e-4), "at this confidence|proves only an affinity"),
    "confidence nearly 1": (KINDS, surer(lambda _: 1 - 2.0**-53), "confidence|affinity"),
    "confidence of the whole raised": (KINDS, add(1e-4, "questions", 0, "confidence"), "at the claimed confidence"),
    "confidence of all raised": (KINDS, add(1e-4, "confidence"), "the questions do not hold together at the claimed"),
    "a count moved": (SPHERE, move_count, "counts are not those"),
    "a row moved to another cell": (SPHERE, move_row, "population's numbers of rows|do not add up"),
    "masses changed": (KINDS, add(1, *SAMPLING, "weight", 0, 0), "numbers of rows|add up"),
    "a mean lowered": (SENSITIVE, add(-1e-6, *SAMPLING, "knowledge", "mean", 0, 0), "mean loss of cell"),
    "a variance lowered": (
        ("hoeffding, general",),
        add(-1e-6, *SAMPLING, "knowledge", "variance", 0, 0),
        "variance in cell",
    ),
    "a stand-in without losses": (("losses, general",), unweight, "not the counted ones"),
    "other values": (("losses, general", "losses, sensitive"), stretch, "not equally spaced"),
    "another seed": (("losses, general", "losses, sensitive"), put(*SAMPLING, "seed", value=1), "counts are not"),
    "no seed": (("losses, general", "losses, sensitive"), put(*SAMPLING, "seed", value=None), "no seed is given"),
    "another region": (KINDS, put(*SAMPLING, "region", value="mine"), "not known to the checker"),
    "sphere as hoeffding": (SPHERE, put(*SAMPLING, "region", value="hoeffding"), ""),
    "general instead of sensitive": (SENSITIVE, put("questions", 0, "shift", value="general"), ""),
    "sensitive instead of general": (
        ("errors, general", "losses, general"),
        put("questions", 0, "shift", value="sensitive"),
        "is made of means",
    ),
    "larger radius": (KINDS, add(1e-3, *POINT, "rho"), "not prove the claimed bound"),
    "smaller radius": (KINDS, add(-1e-2, *POINT, "rho"), "outside the ball"),
    "bound lowered": (KINDS, lambda d: better(d, 1e-4), ""),
    "weighted rows": (KINDS, put("population", "weighted", value=True), "without weights"),
    "moments": (KINDS, put("population", "rows", value=None), "rows themselves"),
    "more rows": (KINDS, add(1, "population", "rows"), "add up to the number of rows"),
    "observed support": (KINDS, put("questions", 0, "support", value="observed"), "support 'any'"),
    "empty cells refused": (KINDS, put("questions", 0, "empty_cells", value="refuse"), "empty cells"),
    "other losses": (SPHERE, lambda d: sampling(d).update(counts=None, losses=None), "needs the counts"),
    "not a 0-1 loss": (
        ("losses, general", "losses, sensitive", "hoeffding, general"),
        put("population", "measures", 0, "loss", value="zero_one"),
        "must be at most 1|no losses but 0 and 1|must be 1",
    ),
    "not a selection": (
        ("losses, general", "losses, sensitive", "hoeffding, general"),
        put("population", "measures", 0, "loss", value="selected"),
        "must be at most 1|no losses but 0 and 1|must be 1",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_documents(name: str) -> None:
    kinds, change, reason = SPOILT[name]
    for kind in kinds:
        check_forgery(texts()[kind], change, reason, None)


@pytest.mark.parametrize("kind", KINDS)
def test_mended_documents_are_proved(kind: str) -> None:
    """The digest that forgers write is the right one."""
    assert mended(json.loads(texts()[kind])) == json.loads(texts()[kind])
    assert verify(texts()[kind]).valid


def test_sampling_and_confidence_go_together() -> None:
    stated, asked = (
        put("questions", 0, "statements", 0, "confidence", value=None),
        put("questions", 0, "confidence", value=None),
    )
    for changes in (
        [put(*SAMPLING, value=None)],
        [stated],
        [asked],
        [stated, asked],
        [put(*SAMPLING, value=None), asked],
    ):
        broken = json.loads(texts()["errors, general"])
        for change in changes:
            change(broken)
        result = verify(broken)
        assert result.verdict is Verdict.NOT_A_CERTIFICATE
        assert "or not at all" in result.reasons[0]
    all_three = json.loads(texts()["errors, general"])
    for change in (put(*SAMPLING, value=None), stated, asked, put("confidence", value=None)):
        change(all_three)
    assert verify(all_three).verdict is Verdict.NOT_PROVED  # the witness is in the larger ball only


def test_a_curve_is_checked_once_and_proved() -> None:
    population = sample(np.random.default_rng(3), 500, "beta")
    for shift in SHIFTS:
        curve = certify_curve(population, np.linspace(0, 0.5, 6), shift=shift, confidence=0.95, tol=1e-2)
        result = verify(curve.to_json())
        assert result.valid, result.reasons
        assert sum("confidence region" in check for check in result.checks) == 1
        np.testing.assert_array_equal(CertificateCurve.from_json(curve.to_json()).bound, curve.bound)
        broken = json.loads(curve.to_json())
        sampling(broken)["affinity"] += 1e-6
        assert not verify(broken).valid


def test_unusual_rounding_is_mentioned() -> None:
    population = sample(np.random.default_rng(4), 300, "beta")
    usual = verify(certify(population, 0.3, confidence=0.9).to_json())
    unusual = verify(certify(population, 0.3, confidence=0.9, region=Sphere(intervals=5, seed=8)).to_json())
    assert usual.valid
    assert unusual.valid
    assert not any("not the usual rounding" in check for check in usual.checks)
    assert any("5 intervals and seed 8" in check for check in unusual.checks)


@contextmanager
def seconds(limit: int) -> Iterator[None]:
    """Fail rather than hang: the work of a check is limited, whatever the document."""
    import signal  # noqa: PLC0415 (only here)

    def late(*_: object) -> None:
        pytest.fail(f"not done within {limit} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def large(cells: int, count: int, values: int = 2) -> Document:
    """Make a hostile document: many cells with many rows."""
    document: Document = json.loads(texts()["errors, general"])
    losses, groups = [i / (values - 1) for i in range(values)], cells // 2
    counts = [[[count] * values, [count] * values] for _ in range(groups)]
    total = [[count * values] * 2 for _ in counts]
    bins = [[[[v, v, count, 0] for v in losses] for _ in range(2)] for _ in counts]
    population = document["population"]
    population.update(groups=list(range(groups)), weight=total, rows=count * values * cells)
    population["measures"][0].update(loss="loss", ceiling=1.0)
    population["measures"][0]["knowledge"] = {"kind": "losses", "rows": 1, "cells": bins}
    known = population["measures"][0]["knowledge"]
    sampling(document).update(weight=total, knowledge=known, losses=losses, counts=counts, seed=None, affinity=0.9)
    (answer,) = only(document)["points"][0]["answers"]
    answer["witness"].update(group_mass=[2 / cells] * groups, unseen=[[0, 0]] * groups)
    answer["witness"]["reweighting"] = [[[1], [1]]] * groups
    (leaf,) = answer["proof"]["leaves"]
    leaf.update(form="F", zeta=[[1, 1]] * groups, base=[1, 1], offset=[0] * groups, centre=[0.5, 0.5])
    answer["proof"].update(axis="label", floors=[0, 0])
    return mended(document)


def test_a_check_ends() -> None:
    with seconds(120):
        assert "the check would take" in verify(large(100_000, 3)).reasons[0]
        assert not verify(large(40, 2**53 // 100)).valid
        assert not verify(large(8, 10**12, values=30)).valid
        many = json.loads(texts()["losses, general"])
        many["population"]["weight"][0][0] = sampling(many)["weight"][0][0] = 2**50
        many["population"]["measures"][0]["knowledge"]["cells"][0][0] = [[0.01, 0.01, 2**50, 0]]
        sampling(many)["knowledge"]["cells"][0][0] = [[0.0, 0.0, 2**50, 0]]
        many["population"]["rows"] = int(sum(map(sum, many["population"]["weight"])))
        assert "roundings are repeated" in verify(mended(many)).reasons[0]


@pytest.mark.parametrize("two", [0, 1, 3, 8, 40])
@pytest.mark.parametrize("one", [0, 1, 4, 25])
def test_the_budget_against_gamma_functions(two: int, one: int) -> None:
    if two + one == 0:
        return
    for error in (0.5 ** (one + 2) if two == 0 else 0.3, 0.05, 1e-3, 1e-9):
        x = budget(arb(error), two, one)
        orders = (two + np.arange(one + 1)) / 2
        tails = np.where(orders > 0, special.gammaincc(np.maximum(orders, 0.5), float(x.mid())), 0.0)
        expected = (stats.binom.pmf(np.arange(one + 1), one, 0.5) * tails).sum()
        assert float(tail(x, two, one).mid()) == pytest.approx(expected, rel=1e-9)
        assert tail(x, two, one) <= arb(error) or float(x.mid()) < 1e-8
        if float(x.mid()) > 1e-8:
            assert expected == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize(
    ("hits", "rows"), [(0, 1), (1, 1), (0, 7), (3, 7), (6, 7), (7, 7), (2, 300), (150, 300), (0, 300)]
)
def test_deviations_of_a_node(hits: int, rows: int) -> None:
    """Exact binomial tails cost at least what kappa and beta say."""
    node = Node(hits, rows)
    for x in (0.3, 2.0, 9.0):
        kappa, beta = float(node.kappa(arb(x)).mid()), float(node.beta.mid())
        for share in np.linspace(hits / rows, 1.0, 400)[1:-1]:
            z = max(0.0, -stats.norm.ppf(stats.binom.cdf(hits, rows, share)))
            cost = z**2 / 2
            if cost <= x:
                d = np.arcsin(np.sqrt(share)) - np.arcsin(np.sqrt(hits / rows))
                assert np.sqrt(rows / 2) * d <= np.sqrt(cost / kappa) + beta + 1e-9


def costs(counts: np.ndarray[Any, Any], share: np.ndarray[Any, Any]) -> float:
    """Return the exact cost that P = share (cells, losses) has, with the tree spelled out."""
    total = 0.0

    def two_sided(k: float, m: float, theta: float) -> float:
        pi = min(1.0, 2 * stats.binom.cdf(k, m, theta), 2 * stats.binom.sf(k - 1, m, theta))
        return float(stats.norm.isf(max(pi, 1e-300) / 2) ** 2 / 2)

    def halve(first: int, last: int) -> float:
        if last - first < 2:
            return 0.0
        middle = (first + last) // 2
        m, mass = counts[first:last].sum(), share[first:last].sum()
        here = two_sided(counts[first:middle].sum(), m, share[first:middle].sum() / mass) if m else 0.0
        return here + halve(first, middle) + halve(middle, last)

    total += halve(0, len(counts))
    for cell, law in zip(counts, share, strict=True):
        for place in range(1, len(cell)):
            m = cell[: place + 1].sum()
            pi = stats.binom.cdf(cell[place], m, law[place] / law[: place + 1].sum())
            total += max(0.0, stats.norm.isf(max(pi, 1e-300))) ** 2 / 2
    return total


def worsened(counts: np.ndarray[Any, Any], share: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return P+ of "From costs to angles": inside the cells the larger one of true and observed share at every node."""
    result = np.zeros_like(share)
    for cell in range(len(counts)):
        left = share[cell].sum()
        for place in range(counts.shape[1] - 1, 0, -1):
            m = counts[cell, : place + 1].sum()
            theta = share[cell, place] / share[cell, : place + 1].sum()
            theta = max(theta, counts[cell, place] / m) if m else theta
            result[cell, place] = left * theta
            left -= result[cell, place]
        result[cell, 0] = left
    return result


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(8))
def test_no_distribution_within_the_budget_is_farther(seed: int) -> None:
    """An adversary that knows the exact costs looks for a P whose P+ is farther than the affinity says."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 4)))
    observed = rng.dirichlet(np.full(shape[0] * shape[1], 0.7))
    counts = rng.multinomial(int(rng.choice([4, 15, 60, 400])), observed).reshape(shape)
    error = float(rng.choice([0.05, 0.3]))
    proved = float(affinity_of_classes(counts.tolist(), arb(error)).mid())
    x = float(budget(arb(error), shape[0] - 1, shape[0] * (shape[1] - 1)).mid())
    empirical = np.sqrt(counts / counts.sum())

    def affinity(point: np.ndarray[Any, Any]) -> float:
        share = special.softmax(point).reshape(shape)
        return float((empirical * np.sqrt(worsened(counts, share))).sum())

    def room(point: np.ndarray[Any, Any]) -> float:
        return x - costs(counts, special.softmax(point).reshape(shape))

    centre = np.log((counts.ravel() + 0.5) / (counts.sum() + counts.size / 2))
    least = 1.0
    for _ in range(30):  # shoot from the sample until the budget is used up
        aim = rng.normal(size=counts.size) * rng.choice([0.3, 1.0], size=counts.size)
        low, high = 0.0, 50.0
        for _ in range(18):
            middle = (low + high) / 2
            low, high = (middle, high) if room(centre + middle * aim) >= 0 else (low, middle)
        if room(centre + low * aim) >= 0:
            least = min(least, affinity(centre + low * aim))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optimize.minimize(
            affinity, centre, constraints={"type": "ineq", "fun": room}, method="SLSQP", options={"maxiter": 25}
        )
    if room(found.x) >= 0:
        least = min(least, float(found.fun))
    assert least >= proved
    assert least < 1.0


def test_means_and_masses_are_covered() -> None:
    """Sensitive shifting by simulation: limits that miss too often would be found out."""
    rng = np.random.default_rng(9)
    law = np.array([0.7, 0.2, 0.1])
    losses, error = [0.0, 0.5, 1.0], 0.2
    x = budget(arb(error), 0, 2)
    missed = sum(  # something below the true mean passes for an upper limit
        is_upper_limit(float(law @ losses) - 1e-9, rng.multinomial(60, law).tolist(), losses, arb(error), x)
        for _ in range(300)
    )
    assert missed <= 300 * error
    mass = np.array([0.5, 0.3, 0.19, 0.01])
    missed = 0
    for _ in range(300):
        counts = rng.multinomial(60, mass)
        near = float(np.sqrt(mass * counts / counts.sum()).sum())
        missed += near < float(affinity_of_masses(counts.tolist(), arb(error)).mid())
    assert missed <= 300 * error


@pytest.mark.parametrize(("hits", "rows"), [(0, 5), (3, 5), (4, 5), (2, 400), (120, 400)])
def test_limits_of_clopper_and_pearson(hits: int, rows: int) -> None:
    error = 0.01
    limit = float(stats.beta.ppf(1 - error, hits + 1, rows - hits))
    x = budget(arb(error), 0, 1)
    assert is_upper_limit(limit + 1e-9, [rows - hits, hits], [0.0, 1.0], arb(error), x)
    assert not is_upper_limit(limit - 1e-9, [rows - hits, hits], [0.0, 1.0], arb(error), x)
    assert is_upper_limit(1.0, [0, rows], [0.0, 1.0], arb(error), x)
    assert not is_upper_limit(1 - 1e-9, [0, rows], [0.0, 1.0], arb(error), x)
    assert not is_upper_limit(1 - 1e-9, [0, 0], [0.0, 1.0], arb(error), x)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cert.json"
    file.write_text(texts()["losses, general"])
    assert main(["verify", str(file)]) == 0
    assert "the confidence region 'sphere' at confidence 0.9" in capsys.readouterr().out
    assert main(["show", str(file)]) == 0
    assert "with probability at least 90% over the draw of the 3,000 rows (region 'sphere')" in capsys.readouterr().out


def test_costs_that_are_shared_are_bounded_for_every_way_to_share_them() -> None:
    """Against random divisions of the cost, of which the best comes close."""
    rng = np.random.default_rng(8)
    for size in (1, 2, 3):
        nodes = rng.uniform([0.1, 0.5, 0.0], [2.0, 4.0, 0.3], (size, 3))
        costs = 3.0 * np.vstack([rng.dirichlet(np.full(size, 0.7), 20_000), np.eye(size)])
        w, kappa, beta = nodes.T
        worst = float((w * (np.sqrt(costs / kappa) + beta) ** 2).sum(axis=1).max())
        assert worst <= shared(arb(3.0), [(arb(v), arb(k), arb(b)) for v, k, b in nodes]) <= 1.1 * worst


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_multiplier_that_is_too_small_proves_nothing(monkeypatch: pytest.MonkeyPatch, shift: Any) -> None:
    """Floats choose it; were it taken as it is, an experiment would seem to make the region smaller."""
    population = sample(np.random.default_rng(3), 400, "coarse")
    text = certify(population, 0.5, shift=shift, confidence=0.9).to_json()
    assert verify(text).valid
    monkeypatch.setattr("fairbound.verify.sphere.STEPS", (-0.5,))
    result = verify(text)
    assert not result.valid
    assert "a multiplier of the confidence region is too small" in result.reasons[0]
    with pytest.raises(ArithmeticError, match="too small"):
        shared(arb(1.0), [(arb(1.0), arb(1.0), arb(0.1)), (arb(0.5), arb(2.0), arb(0.1))])
