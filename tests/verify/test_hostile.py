"""Small documents cannot keep the checker busy: what is much work is refused before it begins, and all checks end.

How long they take, and how much memory, ``python -m benchmarks hostile`` measures.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy import stats

from fairbound import Population, certify, certify_curve, verify
from fairbound.verify.beside.checks import MOST_SHOWN, describe_objective
from fairbound.verify.beside.looks import MOST_SEEN, looks
from fairbound.verify.beside.work import MOST_WORK, PATIENT_WORK, work_of
from fairbound.verify.document import Limits, singles
from fairbound.verify.reading import read_document
from fairbound.verify.shares import Side, _below
from fairbound.verify.sphere import few_hits
from fairbound.verify.verdict import Verdict
from tests.hostile import (
    FAMILIES,
    MEGABYTE,
    TEXTS,
    certificate,
    conditional,
    named,
    pair,
    population,
    question,
    samples,
    tilted,
)
from tests.problems import E, P, random_population
from tests.verify.test_sampling import seconds

REFUSED = "the check would take"

#: Sizes at which the work of a family is too much, though the text has less than a megabyte.
TOO_MUCH = {
    "fractional: leaves and bins": 500,
    "fractional: labels": 140,
    "fractional: labels, deep": 70,
    "fractional: limits": 140,
    "tilted: leaves and bins": 4_000,
    "tilted: labels": 700,
    "tilted: labels, deep": 700,
    "tilted: groups": 300,
    "tilted: pieces of groups": 300,
    "tilted: sensitive": 600,
    "tilted: limits": 500,
    "tilted: limits on groups": 200,
    "tilted: large multipliers": 500,
    "tilted: near base rates": 300,
    "any base rates: deep": 400,
    "any base rates: groups": 400,
    "kl: labels": 700,
    "chi squared: labels": 700,
    "total variation: labels": 700,
    "kl: a mean": 700,
    "kl: a difference": 700,
    "kl: a difference, groups": 100,
    "kl: a difference of a label, groups": 100,
    "kl: large multipliers": 600,
    "kl: small multipliers": 700,
    "means: groups": 500,
    "means: skew": 10_000,
    "means of a label: pieces and bins": 4_000,
    "means of a label: limits on groups": 120,
    "means, near base rates: pieces and bins": 4_000,
    "curve: points and bins": 400,
    "sample: cells": 2_000,
    "sample: losses": 2_000,
    "sample: cells and losses": 90,
    "sample: means of cells": 4_000,
    "sample: means of cells, few rows": 11_000,
    "sample: means of cells and losses": 4_000,
    "sample: rows of statements": 19_000_000,
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_small_one_is_answered(name: str) -> None:
    text = FAMILIES[name](4)
    assert work_of(read_document(text)) < MOST_WORK / 3
    with seconds(60):
        result = verify(text)
    assert result.verdict is not Verdict.NOT_A_CERTIFICATE
    assert not any(REFUSED in reason or "cannot be evaluated" in reason for reason in result.reasons)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_work_is_refused_before_it_begins(name: str) -> None:
    text = FAMILIES[name](TOO_MUCH[name])
    assert len(text.encode()) < MEGABYTE
    work = work_of(read_document(text))
    assert work > MOST_WORK
    with seconds(60):
        result = verify(text)
    assert result.verdict is Verdict.NOT_PROVED
    assert REFUSED in result.reasons[0]
    assert ("patient" in result.reasons[0]) == (work <= PATIENT_WORK)


@pytest.mark.parametrize("name", ["metric: one of many groups", "names: marks", "names: ligatures", "means: labels"])
def test_what_is_large_but_little_work_is_answered(name: str) -> None:
    """None of these is a loop within a loop."""
    text = FAMILIES[name](6_000 if "label" in name or "many" in name else 30)
    with seconds(60):
        result = verify(text)
    assert not any(REFUSED in reason for reason in result.reasons)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_a_megabyte_is_no_certificate(name: str) -> None:
    with seconds(60):
        result = verify(TEXTS[name](MEGABYTE // 2))
    assert not result.valid
    assert all(len(reason) < 2_000 for reason in result.reasons)


def test_one_statement_of_millions_is_not_enough() -> None:
    """A metric of many groups is made of many statements, which are not all listed to see that they are missing."""
    few, many, most = (pair(population(groups, 2), conditional(groups, 2)) for groups in (300, 3_000, 6_000))
    with seconds(60):
        assert any("are not those that the metric is made of" in reason for reason in verify(few).reasons)
        assert "--patient" in verify(many).reasons[0]
        assert "too long" in verify(most, patient=True).reasons[0]


def test_random_numbers_are_drawn_up_to_a_limit() -> None:
    one, twelve = (work_of(read_document(samples(count, 19_000_000))) for count in (1, 12))
    assert one < MOST_WORK < twelve
    beyond = samples(1, 10**15)
    assert work_of(read_document(beyond)) < MOST_WORK
    with seconds(60):
        assert "roundings are repeated" in " ".join(verify(beyond).reasons)


def test_the_work_grows_with_every_size() -> None:
    for name, family in FAMILIES.items():
        if not name.startswith("names") and name != "sample: means of losses":
            small, large = (work_of(read_document(family(size))) for size in (4, 9))
            assert small < large, name


def test_more_parts_than_a_name_may_have() -> None:
    known = population(2, 2)
    known["groups"] = [[0] * 100, 1]
    proof = tilted(2, 2)
    assert verify(certificate(known, question(), proof)).verdict is not Verdict.NOT_A_CERTIFICATE
    known["groups"] = [[0] * 101, 1]
    assert "population.groups[0] must be a name" in verify(certificate(known, question(), proof)).reasons[0]


def test_long_names_are_shortened() -> None:
    (single,) = singles(read_document(named(2, "x" * 9_000, 1)))
    assert len(describe_objective(single.population, single.question.statements[0].objective)) < 3 * MOST_SHOWN
    assert looks("a" * MOST_SEEN + "b") == looks("A" * MOST_SEEN + "c")


def test_many_names_that_look_alike_are_counted() -> None:
    known = population(9, 2)
    known["groups"] = [" " * n + "a" for n in range(9)]
    remark = verify(certificate(known, question(), tilted(9, 2))).remarks[0]
    assert remark.endswith(", and 4 more")


@pytest.mark.parametrize("rows", [1, 7, 300, 20_000])
def test_few_hits_against_the_binomial_distribution(rows: int) -> None:
    before = ctx.prec
    ctx.prec = 160
    try:
        for hits in {0, rows // 3, rows // 2, rows - 1}:
            for share in (hits / rows + 1e-9, (hits + 1) / (rows + 1), 0.5 + hits / rows / 2, 0.9999999):
                found = few_hits(hits, rows, arb(share))
                expected = stats.binom.cdf(hits, rows, share)
                assert float(found.mid()) == pytest.approx(expected, rel=1e-6, abs=1e-300)
                assert float(found.rad()) <= 1e-20
    finally:
        ctx.prec = before


def test_least_shares_are_rounded_down() -> None:
    for value in (fmpq(1, 3), fmpq(-2, 7), fmpq(3, 10), fmpq(1, 2**150), fmpq(1, 2**300)):
        assert 0 <= value - _below(value) < fmpq(1, 2**200)
    assert _below(fmpq(1, 2**150)) == fmpq(1, 2**150)  # what floats are is not changed


def test_sums_of_quotients_stay_short() -> None:
    row = [(i % 7 + 1) * (1 + i * 2.0**-40) * 1e-60 for i in range(300)]
    found = Side(300, Limits(None, [row], [1e-60]), fmpq(0)).least
    assert all(int(share.q) <= 2**200 for share in found)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_honest_documents_are_allowed(shift: Literal["general", "sensitive"]) -> None:
    """Curves of many points and partitions of large tables are nothing unusual."""
    points = certify_curve(Population.from_moments(P, E), [n / 1000 for n in range(100, 600)], shift=shift)
    assert work_of(read_document(points.to_json())) < MOST_WORK / 2
    large = random_population(np.random.default_rng(3), 20, 10)
    assert work_of(read_document(certify(large, 0.4, shift=shift).to_json())) < MOST_WORK
