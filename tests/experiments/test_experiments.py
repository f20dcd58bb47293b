"""The parts of the experiments, each against an independent computation."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from benchmarks.paper_method import grid_programs, solve_one_smoothed
from sklearn.linear_model import LogisticRegression

from fairbound import Population, certify_curve
from fairbound.data.losses import JSD
from fairbound.datasets import load
from fairbound.experiments.comparison import compare
from fairbound.experiments.elu_network import jsd, jsd_slope, train_elu
from fairbound.experiments.generated import Generated, Limits, disjoint_means, general_shifts, sensitive_shifts
from fairbound.experiments.grid import grid_certificate
from fairbound.experiments.models import both, logistic_regression, predict
from fairbound.experiments.progress import Progress
from fairbound.experiments.store import Store, read_table, write_table
from fairbound.experiments.wrm import Mixture, sampled_smoothness, wrm_certificate

MASS = np.array([[0.464, 0.204], [0.295, 0.037]])
MEAN = np.array([[0.09, 0.38], [0.02, 0.45]])
POPULATION = Population.from_moments(MASS, MEAN)


@pytest.mark.parametrize("seed", range(3))
def test_grid_against_a_solver(seed: int) -> None:
    """Every cell of a coarse grid, solved one by one as the theorem states it."""
    rng = np.random.default_rng(seed)
    mass, mean = rng.dirichlet(np.full(4, 3.0)).reshape(2, 2), rng.uniform(0.02, 0.7, (2, 2))
    variance = rng.uniform(0.2, 1.0, (2, 2)) * mean * (1.0 - mean)
    rhos = np.array([0.15, 0.3])
    found = grid_certificate(mass, mean, variance, rhos, levels=(4, 12))
    for rho, bound in zip(rhos, found, strict=True):
        programs = grid_programs(mass, mean, variance, float(rho), granularity=12)
        values = [solve_one_smoothed(programs, index) for index in range(len(programs))]
        assert bound == pytest.approx(min(float(np.nanmax(values)), 1.0), abs=2e-6)


def test_pruning_the_grid_changes_nothing() -> None:
    rhos = np.array([0.1, 0.4, 0.8])
    pruned = grid_certificate(MASS, MEAN, 0.3 * MEAN, rhos, levels=(10, 20, 40))
    assert pruned == pytest.approx(grid_certificate(MASS, MEAN, 0.3 * MEAN, rhos, levels=(40,)), abs=1e-9)


def test_grid_of_the_paper() -> None:
    """The value of the literature's method with cells of 0.005, and infeasible radii."""
    found = grid_certificate(MASS, MEAN, MEAN * (1.0 - MEAN), np.array([0.02, 0.2]))
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(0.4028, abs=5e-5)


@pytest.mark.parametrize("limits", [Limits(), Limits(groups=0.3), Limits(labels=0.2)])
def test_generated_distributions_are_what_they_say(limits: Limits) -> None:
    """Their distance and loss, from probabilities of atoms that are written out."""
    other = np.array([[0.8, 0.7], [0.9, 0.6]])
    rng = np.random.default_rng(5)
    u, v = rng.random((2, 50))
    sensitive = sensitive_shifts(POPULATION, 50, 5, limits)
    for i in range(50):
        k, r = 0.5 + limits.groups * (u[i] - 0.5), 0.5 + limits.labels * (v[i] - 0.5)
        q = np.outer([k, 1 - k], [r, 1 - r])
        assert sensitive.loss[i] == pytest.approx((q * MEAN).sum())
        assert sensitive.distance[i] == pytest.approx(np.sqrt(0.5 * ((np.sqrt(q) - np.sqrt(MASS)) ** 2).sum()))
    general = general_shifts(POPULATION, other, 20_000, 5, limits)
    skew = {"group_skew": limits.groups, "label_skew": limits.labels}
    bound = certify_curve(POPULATION, np.append(np.arange(1, 100) / 100, 1.0), **skew).bound  # type: ignore[arg-type]
    place = np.ceil(general.distance * 100).astype(int) - 1
    assert (general.loss <= bound[place]).all()  # False where nothing can be certified


def test_disjoint_distribution() -> None:
    """A value that occurs with both labels of a group is left out; one that occurs in another group is not."""
    features = np.array([[0.0], [1.0], [1.0], [2.0], [0.0], [3.0]])
    label, group = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 1, 1])
    if_label = np.arange(12.0).reshape(6, 2)
    found = disjoint_means(features, label, group, if_label)
    assert found == pytest.approx(np.array([[if_label[3, 0], if_label[0, 1]], [if_label[4, 0], if_label[5, 1]]]))


def test_comparison_sees_a_point_above() -> None:
    def bound(rho: np.ndarray) -> np.ndarray:
        return np.where(rho < 0.1, np.nan, 0.2 + 0.5 * rho)

    rho = np.arange(1, 11) / 10
    inside = Generated(np.array([0.15, 0.25, 0.55]), np.array([0.2749, 0.1, 0.4]))
    found = compare(inside, rho, bound(rho), bound)
    assert found.above == 0
    assert found.margin[1] == pytest.approx(0.0001)
    assert found.count.tolist() == [0, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert np.isnan(found.margin[0])
    above = Generated(np.array([0.15, 0.25]), np.array([0.27501, 0.1]))
    assert compare(above, rho, bound(rho), bound).above == 1
    nearer_than_possible = Generated(np.array([0.05]), np.array([0.0]))
    assert compare(nearer_than_possible, rho, bound(rho), bound).above == 1


def test_logistic_regression_against_scikit_learn() -> None:
    split = load("german").split(seed=0)
    x, y = split.features("train"), split.dataset.label[split.train]
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(x, y)
    ours = logistic_regression(x, y)
    assert ours[:-1] == pytest.approx(other.coef_[0], abs=1e-4)
    assert ours[-1] == pytest.approx(other.intercept_[0], abs=1e-4)


def test_probabilities_are_never_rounded_to_zero() -> None:
    found = both(np.array([-500.0, 0.0, 500.0]))
    assert (found > 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_network_is_deterministic() -> None:
    pytest.importorskip("torch")
    split = load("german").split(seed=0)
    epochs: list[None] = []
    first = predict("network", split, 3, lambda: epochs.append(None))
    assert len(epochs) == 100
    assert np.array_equal(first, predict("network", split, 3))
    assert not np.array_equal(first, predict("network", split, 4))
    assert (first.argmax(axis=1) != split.dataset.label[split.test]).mean() < 0.3


@pytest.mark.slow
def test_network_on_adult() -> None:
    pytest.importorskip("torch")
    split = load("adult").split(seed=0)
    guess = predict("network", split, 0).argmax(axis=1)
    label = split.dataset.label[split.test]
    assert (guess != label).mean() == pytest.approx(0.148, abs=0.01)
    groups = split.dataset.sensitive[split.test]
    population = Population.from_predictions(label, guess, sensitive_features=groups)
    bound = certify_curve(population, [0.1, 0.2, 0.3, 0.4, 0.5]).bound
    assert (bound < np.array([0.274, 0.414, 0.559, 0.701, 0.828])).all()


def test_loss_of_the_small_network() -> None:
    v = np.linspace(-12.0, 12.0, 241)
    assert JSD.rows is not None
    assert jsd(v) == pytest.approx(JSD.rows(both(v), np.ones(len(v), dtype=np.int64)), abs=1e-12)
    assert jsd_slope(v) == pytest.approx((jsd(v + 1e-5) - jsd(v - 1e-5)) / 2e-5, abs=1e-8)


def test_small_network_and_robustness_certificate() -> None:
    """The gradient is that of differences; the constant covers what is seen; shifts of P stay below the bound."""
    train, test = Mixture.draw(1500, 0), Mixture.draw(1500, 1)
    network = train_elu(train.x, train.sign, 0, steps=300, decay=0.01)
    gradient = network.gradients(test.x, test.sign)[0]
    for axis, move in enumerate(1e-5 * np.eye(2)):
        slope = (network.loss(test.x + move, test.sign) - network.loss(test.x - move, test.sign)) / 2e-5
        assert gradient[:, axis] == pytest.approx(slope, abs=1e-7)
    assert sampled_smoothness(network) < network.smoothness()
    rhos = np.array([0.1, 0.3, 0.5])
    bound = wrm_certificate(network, test, rhos, network.smoothness())
    length = np.sqrt(-8.0 * np.log1p(-(rhos**2)))
    for direction in np.linspace(0.0, 2.0 * np.pi, 12):
        for rho_bound, size in zip(bound, length, strict=True):
            shift = size * np.array([np.cos(direction), np.sin(direction)])
            assert network.loss(test.x + shift, test.sign).mean() <= rho_bound


def test_tables_survive_being_written() -> None:
    table = {"number": np.array([0.1, np.nan, 1e-300]), "word": np.array(["a, b", 'say "c"', "1"])}
    found = read_table(write_table(table))
    assert np.array_equal(found["number"], table["number"], equal_nan=True)
    assert found["word"].tolist() == table["word"].tolist()


def test_store_computes_once_per_setting(tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> dict[str, dict[str, np.ndarray]]:
        calls.append(1)
        return {"part": {"x": np.array([1.0])}}

    for settings in ({"seed": 0}, {"seed": 0}, {"seed": 1}):
        assert Store(tmp_path).tables("task", settings, compute)["part"]["x"].tolist() == [1.0]
    assert len(calls) == 2
    (tmp_path / "data" / "task-part.csv").unlink()
    Store(tmp_path).tables("task", {"seed": 1}, compute)
    assert len(calls) == 3


def test_progress_is_a_bar_in_a_terminal_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, bar in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress(stream)
        progress.expect(1)
        with progress.task("work", 2) as advance:
            advance()
            advance()
        assert ("#" in stream.getvalue() or "...." in stream.getvalue()) == bar
        assert "[1/1] work" in stream.getvalue()
