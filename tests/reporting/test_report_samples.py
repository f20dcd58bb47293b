"""What is said of a sample, on the page, in notebooks and on the terminal: with which probability, and no more."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt

from fairbound import (
    Certificate,
    CertificateCurve,
    InfeasibleError,
    Population,
    ThresholdError,
    certify,
    certify_curve,
    largest_certified_rho,
    nearest_fair,
    report,
)
from fairbound.problem.question import Shift
from fairbound.reporting.report_data import examine, worst_losses
from fairbound.reporting.terminal import show_certificate, show_curve
from fairbound.wording.confidence import nearest_sentence, percent_down
from tests.by_hand import only
from tests.pages import sampled_curve, small_curve
from tests.reporting.test_report import Page, of_percent, words

KINDS = [("general", "sphere"), ("sensitive", "sphere"), ("general", "hoeffding"), ("sensitive", "hoeffding")]

#: True where P is known exactly, false or unproved where it is known by a sample.
TOO_MUCH = (
    "no smaller bound",
    "One of these distributions was found",
    "a population that was found",
    "lies in the shaded band",
    "no allowance for sampling error",
    "taken to be the whole distribution",
    "The nearest distribution with equal base rates is at",
    "the worst case that was found has",
)


@pytest.fixture(scope="module", params=KINDS, ids=["-".join(kind) for kind in KINDS])
def curve(request: pytest.FixtureRequest) -> CertificateCurve:
    return sampled_curve(*request.param)


def last(curve: CertificateCurve) -> Certificate:
    found = curve.certificates[-1]
    assert found is not None
    return found


def many_rows() -> Population:
    """As many as it takes to exclude equal base rates."""
    return Population.from_predictions(
        ["no", "no", "no", "yes", "no", "no", "yes", "yes"] * 5000,
        ["no", "no", "no", "no", "no", "no", "yes", "no"] * 5000,
        sensitive_features=["f", "f", "f", "f", "m", "m", "m", "m"] * 5000,
    )


def test_the_statement_carries_its_probability(curve: CertificateCurve) -> None:
    for text in (words(Page(report(curve))), words(Page(report(last(curve))))):
        assert "✓ Bound proved" in text
        assert re.search(
            r"With probability at least 95% over the draw of the 400 rows, in any population with equal base rates "
            r"that differs from the population that the rows were drawn from by no more than rho = 0\.\d.*?, it errs "
            r"in at most \d+\.\d %",
            text,
        )
        assert "No search can bring it below" in text
        assert "the true worst case may be smaller" in text
        assert "With a probability of at least 0.95 over their draw, the bound holds for every rho at once." in text
        assert "independent draws from it and held out from training" in text
        for sentence in TOO_MUCH:
            assert sentence not in text
        assert "1,234 rows: a value was missing" in text


def test_the_division_of_the_error_is_told_once(curve: CertificateCurve) -> None:
    c = last(curve)
    division = [s for s in c.assumptions if s.startswith(f"Region '{c.region}'")]
    assert len(division) == 1
    assert words(Page(report(curve))).count(division[0]) == 1


def test_worst_cases_are_those_of_the_stand_in(curve: CertificateCurve) -> None:
    """Shares and losses of the cells, put together, give the attained loss: only the stand-in's losses do."""
    page = Page(report(curve))
    losses = worst_losses(tuple(curve))
    assert losses is not None
    for c, cells, shown in zip(curve, losses, page.data["radii"], strict=True):
        assert (cells * c.witness.mass).sum() == pytest.approx(c.attained, abs=1e-9)
        told = np.array([of_percent(cell[2]) for cell in shown["cells"]])
        assert (told * c.witness.mass.ravel()).sum() == pytest.approx(c.attained, abs=2e-4)
        if c.shift == "sensitive":
            assert c.surrogate is not None
            assert cells == pytest.approx(c.surrogate.population.mean)
            assert (cells >= c.population.mean - 1e-9).all()
            assert (cells > c.population.mean).any()
    assert "in a larger ball, around the data, which allows for sampling error" in words(page)


def test_the_distance_is_the_smallest_that_can_be_certified(curve: CertificateCurve) -> None:
    found = examine(curve).questions[0]
    assert found.distance == pytest.approx(curve.distance, abs=1e-9)
    assert not found.doubts
    assert found.distance < nearest_fair(last(curve).population).distance
    document = json.loads(curve.to_json())
    only(document)["distance"] = curve.distance + 0.001
    assert len(examine(json.dumps(document)).doubts) == 1


def test_infeasible_radii_are_so_at_this_confidence() -> None:
    population = many_rows()
    rows = certify_curve(population, [0.001, 0.3], confidence=0.5)
    assert not rows.feasible[0]
    text = words(Page(report(rows)))
    assert "infeasible: at this confidence no population in question is this near" in text
    assert f"no population with equal base rates is nearer than {np.floor(rows.distance * 1e4) / 1e4:.4f}" in text
    assert "with probability at least 50% over the draw of the 40,000 rows, no distribution" in show_curve(rows).lower()
    with pytest.raises(InfeasibleError, match="allowing for sampling error, no distribution with equal base rates is"):
        certify(population, 0.001, confidence=0.5)
    with pytest.raises(ThresholdError, match="the first at which there is anything to certify"):
        largest_certified_rho(population, 0.01, confidence=0.5)


def test_equal_base_rates_may_not_be_excluded() -> None:
    rows = sampled_curve("general", "hoeffding")
    assert rows.distance == 0
    assert "The rows do not exclude that base rates are equal already" in words(Page(report(rows)))
    assert "do not exclude that the distribution they were drawn from is itself" in show_curve(rows)


def test_notebooks_and_terminals_say_the_same(curve: CertificateCurve) -> None:
    c = last(curve)
    for text in (c._repr_html_(), curve._repr_html_(), show_certificate(c), show_curve(curve)):
        assert re.search("with probability at least 95% over the draw of the 400 rows", text, re.IGNORECASE)
        assert "allow for sampling error" in text or "allows for sampling error" in text
        for sentence in TOO_MUCH:
            assert sentence not in text
    assert "The true worst case may be smaller." in show_certificate(c)
    assert "which rows are a sample" not in words(Page(report(small_curve())))


def test_plots_shade_nothing_that_is_not_known(curve: CertificateCurve) -> None:
    axes = curve.plot()
    assert axes.get_xlabel() == "rho: Hellinger distance from P, of which the rows are a sample"
    labels = [str(line.get_label()) for line in axes.get_lines()]
    assert "attained, allowing for sampling error" in labels
    assert not [patch for patch in axes.patches if patch.get_label() != "infeasible"]
    plt.close("all")


def test_what_is_not_proved_of_a_sample(curve: CertificateCurve) -> None:
    document = json.loads(curve.to_json())
    only(document)["points"][-1]["claim"]["bound"] -= 0.01
    text = words(Page(report(json.dumps(document))))
    assert "✗ Not proved" in text
    assert "is claimed, without proof, to be at most" in text
    assert "Were it proved, it would rest on this:" in text
    assert not re.search(r"No search can bring|error rate is at most|errs in at most", text)


@pytest.mark.parametrize(
    ("confidence", "written"),
    [(0.95, "95%"), (0.9, "90%"), (0.999, "99.9%"), (0.99999999999, "99.999999%"), (1e-9, "0.0000001%"), (0.5, "50%")],
)
def test_probabilities_are_never_overstated(confidence: float, written: str) -> None:
    assert percent_down(confidence) == written


def test_distances_are_never_overstated() -> None:
    assert "nearer than Hellinger distance 0.123456 " in nearest_sentence(0.1234569, 0.95, 1000, having="")
    assert "within the limits" in nearest_sentence(0.1, 0.95, 1000, having="", limited=True)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_a_known_population_is_spoken_of_as_before(shift: Shift) -> None:
    population = next(iter(small_curve())).population
    curve = certify_curve(population, [0.2, 0.3], shift=shift)
    text = words(Page(report(curve)))
    assert "so no smaller bound than that can be true" in text
    assert "probability" not in text
    assert "sampling error" in text  # that no allowance is made for it
