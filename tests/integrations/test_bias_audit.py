"""The table of a bias audit: figures by hand, what the rules ask for, and bounds that nothing goes below."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from fairbound import InputError, Population, certify, verify
from fairbound.integrations.bias_audit import BOTH, RACE, SEX, BiasAudit, bias_audit

TOLD: dict[str, Any] = {"rho": 0.05, "source": "applications of May", "date": "2026-06-01"}


def people(count: int = 1500) -> dict[str, Any]:
    """Return applicants of two sexes and three races, one of them rare, some of each not known."""
    rng = np.random.default_rng(11)
    sex = rng.choice(["Female", "Male", "unknown"], count, p=[0.45, 0.5, 0.05])
    race = rng.choice(["Black", "White", "Rare", ""], count, p=[0.45, 0.5, 0.01, 0.04])
    chance = 0.3 + 0.15 * (sex == "Male") + 0.1 * (race == "White")
    return {"sex": sex, "race_ethnicity": race, "selected": (rng.random(count) < chance).astype(int)}


@pytest.fixture(scope="module")
def audit() -> BiasAudit:
    return bias_audit(**people(), **TOLD)


def test_rates_and_ratios_are_those_of_the_rules(audit: BiasAudit) -> None:
    """Selection rates, divided by the highest of a category of the same attribute; counted row by row."""
    found = people()
    names = {
        SEX: [s if s != "unknown" else None for s in found["sex"]],
        RACE: [r or None for r in found["race_ethnicity"]],
    }
    names[BOTH] = [None if None in pair else pair for pair in zip(names[SEX], names[RACE], strict=True)]
    for attribute, values in names.items():
        rates = {}
        for category in {value for value in values if value is not None}:
            hits = [s for s, value in zip(found["selected"], values, strict=True) if value == category]
            rates[category] = sum(hits) / len(hits)
        lines = [line for line in audit.categories if line.attribute == attribute]
        assert {line.name for line in lines} == rates.keys()
        for line in lines:
            assert line.rate == rates[line.name]
            assert line.impact_ratio == pytest.approx(rates[line.name] / max(rates.values()))
            assert line.applicants == sum(value == line.name for value in values)
            assert line.small == (line.applicants < 0.02 * len(values))
        assert audit.unknown[attribute] == sum(value is None for value in values)
    assert audit.unknown[BOTH] > max(audit.unknown[SEX], audit.unknown[RACE]) > 0
    assert any(line.small for line in audit.categories)


def test_bounds_are_below_the_ratios_and_proved(audit: BiasAudit) -> None:
    for line in audit.categories:
        assert line.impact_ratio is not None
        assert line.certified is not None
        assert 0.0 <= line.certified <= min(1.0, line.impact_ratio + 1e-9)
    for attribute, evidence in audit.evidence.items():
        result = verify(evidence.to_json(), patient=True)
        assert result.valid
        lines = [line for line in audit.categories if line.attribute == attribute]
        assert [next(iter(curve)).bound for curve in evidence] == [line.certified for line in lines]
        assert "with any base rates" in result.claims[1]


def hellinger(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.sqrt(max(0.0, 1.0 - np.sqrt(p * q).sum())))


def test_no_population_near_goes_below_and_one_comes_close(audit: BiasAudit) -> None:
    """Random populations, some of them pushed against one category, and the worst one of a generic solver."""
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    lines = [line for line in audit.categories if line.attribute == RACE]
    counts = np.array([[line.applicants - line.selected, line.selected] for line in lines], dtype=float)
    p = (counts / counts.sum()).ravel()
    rng = np.random.default_rng(5)
    size = len(lines)
    for target in range(size):

        def ratio(q: np.ndarray, target: int = target) -> float:
            rates = q[1::2] / (q[::2] + q[1::2])
            return float(rates[target] / max(np.delete(rates, target)))

        certified = lines[target].certified
        assert certified is not None
        for _ in range(300):
            push = rng.normal(size=2 * size)
            push[2 * target : 2 * target + 2] += [3, -3]
            low, high = 0.0, 1.0
            for _ in range(30):  # as far as the ball reaches
                scale = (low + high) / 2
                q = p * np.exp(scale * push)
                q /= q.sum()
                low, high = (scale, high) if hellinger(p, q) <= TOLD["rho"] else (low, scale)
            q = p * np.exp(low * push)
            assert min(1.0, ratio(q / q.sum())) >= certified - 1e-9
        best = 1.0
        for other in range(size):  # the worst of all, against each other category
            if other == target:
                continue

            def pair(x: np.ndarray, target: int = target, other: int = other) -> float:
                q = x**2
                mine, theirs = (q[2 * s + 1] / (q[2 * s] + q[2 * s + 1]) for s in (target, other))
                return float(mine / theirs)

            limits = [
                {"type": "eq", "fun": lambda x: (x**2).sum() - 1.0},
                {"type": "ineq", "fun": lambda x: (np.sqrt(p) * x).sum() - (1.0 - TOLD["rho"] ** 2)},
            ]
            found = optimize.minimize(pair, np.sqrt(p), method="SLSQP", constraints=limits, options={"maxiter": 500})
            best = min(best, found.fun)
        assert best - 1e-4 <= certified <= best + 1e-12


def test_scores_are_cut_at_the_median_of_all() -> None:
    """Also of those whose category is not known; a score that is the median itself is not above it."""
    scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    sex = ["F", "F", "F", "F", "M", "M", "M", None, None]
    told = TOLD | {"rho": 0.01}
    audit = bias_audit(sex=sex, race_ethnicity=["A"] * 9, scores=scores, **told)
    assert (audit.median, audit.scored, audit.rate_words) == (5.0, True, "scoring rate")
    female, male = (line for line in audit.categories if line.attribute == SEX)
    assert (female.selected, male.selected, male.applicants) == (0, 2, 3)
    assert (female.impact_ratio, female.certified, male.impact_ratio) == (0.0, 0.0, 1.0)
    assert audit.unknown == {SEX: 2, RACE: 0, BOTH: 2}
    alone = next(line for line in audit.categories if line.attribute == RACE)
    assert (alone.impact_ratio, alone.certified) == (1.0, None)  # a single category is compared with none
    assert RACE not in audit.evidence


def test_small_categories_may_be_left_out_of_the_ratios_and_stay_in_the_table() -> None:
    found = people()
    found["selected"][found["race_ethnicity"] == "Rare"] = 1  # the highest rate of all
    whole = bias_audit(**found, **TOLD)
    part = bias_audit(**found, **TOLD, exclude_small=True)
    rare = next(line for line in part.categories if line.name == "Rare")
    assert (rare.small, rare.impact_ratio, rare.certified, rare.rate) == (True, None, None, 1.0)
    ratios = [
        {line.name: line.impact_ratio for line in audit.categories if line.attribute == RACE} for audit in (whole, part)
    ]
    assert ratios[0]["Rare"] == 1.0
    assert ratios[0]["White"] != 1.0
    assert ratios[1]["White"] == 1.0
    assert "left out of the ratios" in part.to_markdown()


@pytest.mark.slow
def test_with_a_confidence_the_bounds_of_all_tables_hold_together() -> None:
    found = people()
    known = (found["sex"] != "unknown") & np.isin(found["race_ethnicity"], ["Black", "White"])
    found = {key: values[known] for key, values in found.items()}
    sure = bias_audit(**found, **TOLD | {"rho": 0.02}, confidence=0.9)
    plain = bias_audit(**found, **TOLD | {"rho": 0.02})
    for one, other in zip(sure.categories, plain.categories, strict=True):
        assert one.certified is not None
        assert other.certified is not None
        assert one.certified < other.certified
    errors = [1.0 - (evidence.confidence or 0.0) for evidence in sure.evidence.values()]
    assert sum(errors) <= 0.1
    assert all(verify(evidence.to_json(), patient=True).valid for evidence in sure.evidence.values())
    assert "with probability at least 90%" in sure.to_markdown()


def test_csv_has_all_that_is_published(audit: BiasAudit) -> None:
    rows = list(csv.DictReader(io.StringIO(audit.to_csv())))
    assert len(rows) == len(audit.categories) + 3
    for row, line in zip(rows, audit.categories, strict=False):
        assert (row["attribute"], int(row["applicants"])) == (line.attribute, line.applicants)
        assert (float(row["rate"]), float(row["impact_ratio"])) == (line.rate, line.impact_ratio)
        assert float(row["certified_impact_ratio"]) == line.certified
        assert (row["source"], row["date"], row["rho"]) == ("applications of May", "2026-06-01", "0.05")
    assert [(row["category"], int(row["applicants"])) for row in rows[-3:]] == [
        ("not known", count) for count in audit.unknown.values()
    ]
    assert rows[-1]["rate"] == ""
    assert audit.to_frame("polars").height == len(rows)


def test_the_report_has_the_table_and_says_what_the_law_does_not(audit: BiasAudit) -> None:
    page = audit.report()
    assert "Rates and impact ratios by category" in page
    assert "Female / Black" in page
    assert "set no smallest ratio" in page
    assert "applications of May" in page
    assert "Bounds proved" in page
    for text in (page, audit.to_markdown(), audit.to_csv()):
        assert not any(word in text.lower() for word in ("compliant", "complies", "compliance"))
    with pytest.raises(InputError, match="attribute='age' has no certificates"):
        audit.report("age")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"selected": None}, "pass either selected or scores"),
        ({"scores": [1.0] * 1500}, "pass either selected or scores"),
        ({"selected": [2] * 1500}, "selected must hold 1 for selected and 0 for not"),
        ({"selected": ["yes"] * 1500}, "selected must hold numbers: 1 for selected"),
        ({"selected": None, "scores": [np.nan] * 1500}, "none may be missing"),
        ({"sex": ["F"]}, "sex has 1 values, and there are 1500 people"),
        ({"rho": -1.0}, "rho"),
        ({"confidence": 2.0}, "confidence"),
    ],
)
def test_what_cannot_be_used_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        bias_audit(**{**people(), **TOLD, **change})


def test_missing_values_of_any_kind_are_not_known() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    sex = pd.Series(["F", None, "M", pd.NA, "M", "F", np.nan, "F"] * 10)
    audit = bias_audit(sex=sex, race_ethnicity=["A"] * 80, selected=[1, 0] * 40, **TOLD)
    assert audit.unknown[SEX] == 30


def test_the_least_of_all_impact_ratios_is_the_parity_ratio() -> None:
    """A ratio of a chosen group, beside that of every two groups, which is solved and proved otherwise."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 5, 900)
    y = (rng.random(900) < 0.3 + 0.05 * groups).astype(int)
    predicted = np.where(rng.random(900) < 0.8, y, 1 - y)
    population = Population.from_predictions(y, predicted, sensitive_features=groups)
    kinds: tuple[Any, ...] = ({"fair": False}, {"shift": "sensitive", "base_rate_tolerance": 0.2})
    for asked in kinds:
        whole = certify(population, 0.08, metric="demographic_parity_ratio", **asked)
        ratios = [certify(population, 0.08, metric="demographic_parity_ratio", group=g, **asked) for g in range(5)]
        assert min(c.bound for c in ratios) == pytest.approx(whole.bound, abs=2e-6)
        rates = {g: predicted[groups == g].mean() for g in range(5)}
        for g, c in enumerate(ratios):
            others = max(rate for other, rate in rates.items() if other != g)
            assert c.on_data == pytest.approx(min(1.0, rates[g] / others))
            assert verify(c.to_json()).valid
            assert c.group == g
