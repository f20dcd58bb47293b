"""Plots: what the artists hold, not only that something is drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from fairbound import CertificateCurve, InputError, Population, certify, certify_curve
from fairbound.certificate.continuous import attained_steps, bound_steps

POPULATION = Population.from_moments(
    [[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]], groups=["m", "f"], labels=["no", "yes"]
)


PREDICTED = Population.from_predictions(
    ["no", "yes"] * 40, (["no"] * 3 + ["yes"]) * 20, sensitive_features=["m"] * 36 + ["f"] * 44
)


@pytest.fixture(autouse=True)
def _no_screen() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def curve() -> CertificateCurve:
    return certify_curve(POPULATION, [0.3, 0.05, 0.1, 0.2], shift="sensitive")


def line(axes: Axes, label: str) -> Line2D:
    return next(one for one in axes.get_lines() if one.get_label() == label)


def points(one: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(one.get_xdata(), one.get_ydata(), strict=True)]  # type: ignore[arg-type]


def test_the_bound_is_drawn_as_what_is_proved_at_every_radius(curve: CertificateCurve) -> None:
    drawn = points(line(curve.plot(), "bound"))
    assert len(drawn) > 20
    assert drawn[0][0] == curve.distance
    assert all(y == curve.bound_at(x) for x, y in drawn)
    at = dict(drawn)
    assert all(at[c.rho] <= c.bound for c in curve)


def test_the_attained_loss_is_drawn_as_steps_from_below(curve: CertificateCurve) -> None:
    a = dict(zip(curve.rho, curve.attained, strict=True))
    expected = [(0.1, a[0.1]), (0.2, a[0.1]), (0.2, a[0.2]), (0.3, a[0.2]), (0.3, a[0.3])]
    assert points(line(curve.plot(), "attained")) == expected


def test_no_drawn_bound_is_below_a_certified_one_in_between() -> None:
    """Straight lines between the radii would be: the worst case bends downward."""
    coarse = certify_curve(POPULATION, [0.1, 0.3])
    x, y = np.array(points(line(coarse.plot(), "bound"))).T
    for c in certify_curve(POPULATION, np.linspace(0.1, 0.3, 21)):
        assert np.interp(c.rho, x, y) >= c.attained - 1e-3
    straight = np.interp(0.2, coarse.rho, coarse.bound)
    assert straight < certify(POPULATION, 0.2).attained


def test_stairs_are_drawn_upright() -> None:
    """Of ratios nothing is proved between two radii but what holds at the larger one."""
    stairs = certify_curve(PREDICTED, [0.1, 0.15], metric="demographic_parity_ratio", pos_label="yes")
    x, y = np.array(points(line(stairs.plot(), "bound"))).T
    assert set(y[(x > 0.1) & (x <= 0.15)]) == {stairs.bound[1]}
    assert set(y[x <= 0.1]) == {stairs.bound[0]}


def test_steps_never_trust_a_loose_bound_where_a_larger_radius_has_a_better_one() -> None:
    rho = np.array([0.1, 0.2, 0.3])
    assert bound_steps(rho, np.array([0.5, 0.4, 0.6]), 0.0)[1].tolist() == [0.4, 0.4, 0.4, 0.4, 0.6, 0.6]
    assert attained_steps(rho, np.array([0.3, 0.2, 0.4]))[1].tolist() == [0.3, 0.3, 0.3, 0.3, 0.4]
    assert bound_steps(rho, np.array([0.5, 0.6, 0.4]), 0.0, lower=True)[1].tolist() == [0.6, 0.6, 0.6, 0.6, 0.4, 0.4]
    assert attained_steps(rho, np.array([0.7, 0.8, 0.6]), lower=True)[1].tolist() == [0.7, 0.7, 0.7, 0.7, 0.6]


def test_infeasible_radii_are_shaded_up_to_the_distance(curve: CertificateCurve) -> None:
    shade = next(p for p in curve.plot().patches if p.get_label() == "infeasible")
    assert isinstance(shade, Rectangle)
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.0, curve.distance)
    assert shade.get_hatch()


def test_samples_and_baselines_are_drawn_as_given(curve: CertificateCurve) -> None:
    samples = [(0.1, 0.2), (0.25, 0.15)]
    axes = curve.plot(samples=samples, baselines={"costs $5 and $6": ([0.1, 0.2], [0.5, np.nan])})
    assert points(line(axes, "sampled distributions")) == samples
    baseline = next(one for one in axes.get_lines() if "costs" in str(one.get_label()))
    assert list(baseline.get_xdata()) == [0.1, 0.2]  # type: ignore[arg-type]
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # a dollar sign is no mathematics


def test_kinds_of_lines_differ_without_colour(curve: CertificateCurve) -> None:
    others = {f"other {i}": ([0.1, 0.2], [0.5, 0.6]) for i in range(3)}
    axes = curve.plot(samples=[(0.1, 0.2)], baselines=others)
    handles, _ = axes.get_legend_handles_labels()
    lines = [h for h in handles if isinstance(h, Line2D)]
    looks = {
        (str(h.get_linestyle()), str(h.get_marker()), str(getattr(h, "_unscaled_dash_pattern", ""))) for h in lines
    }
    assert len(looks) == len(lines) == 7


def test_the_worst_case_shows_every_share_before_and_after() -> None:
    certificate = certify(POPULATION, 0.2, shift="sensitive")
    axes = certificate.plot_worst_case()
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(names) == ["f, no", "f, yes", "m, no", "m, yes"]
    place = {name: at for at, name in enumerate(names)}
    cells = {f"{g}, {y}": (i, j) for i, g in enumerate(["m", "f"]) for j, y in enumerate(["no", "yes"])}
    before = {at: x for x, at in points(line(axes, "in the data"))}
    after = {
        at: (x, word) for word in ("grows", "shrinks") for x, at in points(line(axes, f"in the worst case: {word}"))
    }
    for name, cell in cells.items():
        p, q = POPULATION.mass[cell], certificate.witness.mass[cell]
        assert before[place[name]] == p
        assert after[place[name]] == (q, "grows" if q > p else "shrinks")
    change = [after[at][0] - before[at] for at in range(4)]
    assert change == sorted(change)


def test_many_cells_are_cut_to_those_that_change_most() -> None:
    rng = np.random.default_rng(5)
    mass = rng.random((30, 2))
    population = Population.from_moments(mass / mass.sum(), rng.random((30, 2)) / 2)
    certificate = certify(population, 0.5)
    axes = certificate.plot_worst_case()
    change = np.abs(certificate.witness.mass - population.mass).ravel()
    drawn = {x for x, _ in points(line(axes, "in the data"))}
    assert drawn == set(population.mass.ravel()[np.argsort(-change)[:40]])
    assert "20 cells" in axes.get_xlabel()


def test_given_axes_are_used_and_returned(curve: CertificateCurve) -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert curve.plot(left) is left
    assert certify(POPULATION, 0.2).plot_worst_case(ax=right) is right


def test_a_curve_without_certificates_shows_the_infeasible_region() -> None:
    axes = certify_curve(POPULATION, [0.01, 0.02]).plot()
    assert [p.get_label() for p in axes.patches] == ["infeasible"]


@pytest.mark.parametrize("names", [["$5", "$6"], ["a" * 500, "_hidden"], ["x\ny", "\ud800"]])
def test_strange_names_can_be_drawn(names: list[str]) -> None:
    population = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.5]], groups=names, labels=names)
    axes = certify(population, 0.3).plot_worst_case()
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"samples": [1.0, 2.0]}, "a row \\(distance, loss\\)"),
        ({"samples": [["a", "b"]]}, "samples must hold numbers"),
        ({"baselines": {"x": ([1.0], [1.0, 2.0])}}, "baselines\\['x'\\]"),
        ({"baselines": {"x": ([1.0],)}}, "two sequences"),
        ({"baselines": {"x": (["a"], [1.0])}}, "must hold numbers"),
    ],
)
def test_bad_arguments_are_named(curve: CertificateCurve, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        curve.plot(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_without_matplotlib_the_cure_is_named() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
        "from fairbound import Population, certify\n"
        "p = Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.5]])\n"
        "try:\n    certify(p, 0.3).plot_worst_case()\n"
        "except ImportError as error:\n    print(error.name, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "matplotlib plots need matplotlib, which is not installed; pip install matplotlib"
