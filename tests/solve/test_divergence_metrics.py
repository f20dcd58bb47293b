"""Metrics under total variation, Kullback-Leibler and chi-squared: against primals, adversaries and closed forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fairbound import (
    Certificate,
    InfeasibleError,
    InputError,
    Population,
    certify,
    certify_curve,
    largest_certified_rho,
    report,
    verify,
)
from fairbound.arithmetic.arrays import Booleans
from fairbound.data.population import without_variance
from fairbound.problem.divergences import DIVERGENCES, DivergenceName
from fairbound.problem.question import Shift
from fairbound.solve.nearest_product import nearest_product, with_every_share
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.signed_values import objective_problem
from tests.by_hand import only
from tests.divergence_oracles import farthest_share, members, primal_at
from tests.forging import Change, Document, check_forgery, claims, statements
from tests.metric_problems import EXTREME, named, possible_metrics, random_table
from tests.problems import E, P

NAMES: tuple[DivergenceName, ...] = ("total_variation", "kl", "chi_squared", "trimming")
SHIFTS: tuple[Shift, ...] = ("general", "sensitive")

OF_ONE = ("group_loss", "selection_rate", "cell_loss")
RATE = np.array([[0.09, 0.62], [0.02, 0.55]])
MEAN = Population.from_moments(P, E, selection_rate=RATE)

#: Radii at which no group can be emptied, but something moves.
RADIUS: dict[DivergenceName, float] = {"total_variation": 0.1, "kl": 0.1, "chi_squared": 0.2, "trimming": 0.2}


def statement(certificate: Certificate) -> tuple[Problem, Booleans]:
    """Put the leading statement of a certificate into numbers, anew, with the cells that its mean is taken over."""
    c, objective = certificate, certificate.objective
    assert objective is not None
    known = without_variance(c.population) if DIVERGENCES[c.divergence].jumps else c.population
    plain = problem_of(known, c.shift, c.support, c.empty_cells, c.group_skew, c.label_skew)
    return objective_problem(known, objective, plain, c.shift, c.support), objective.sign(plain.mass.shape) != 0


def less(problem: Problem, much: float, given: Booleans) -> Problem:
    """Take something off the values of some cells, and off their ceilings."""
    table = much * given
    upper, lower = (replace(a, loss=a.loss - table[..., None]) for a in (problem.upper, problem.lower))
    return replace(problem, upper=upper, lower=lower, ceiling=problem.ceiling - table)


def least(population: Population, **asked: Any) -> float:
    """Return the distance of the nearest distribution in question."""
    try:
        certify(population, 0.0, **asked)
    except InfeasibleError as error:
        return error.distance
    return 0.0


def exceeds(certificate: Certificate, mean: float, share: Any, *, strictly: bool = True) -> float:
    """Return the largest ``E_Q[(value - mean) 1]`` over the cells of the mean, with these label shares, by a primal.

    Where a group can be emptied that is zero, and solvers come only close to it; so they do at the edge of the ball.
    """
    problem, given = statement(certificate)
    name, rho = certificate.divergence, certificate.rho
    return primal_at(less(problem, mean, given), name, rho, np.asarray(share), strictly=strictly)


def sound_and_tight(certificate: Certificate) -> None:
    """No Q that a conic solver finds has a larger mean; at the witness's label shares a Q with more than 1e-3 less."""
    problem, given = statement(certificate)
    witness = certificate.witness
    floor = float(problem.labels.floors[0])
    for a in np.linspace(floor, 1 - floor, 9):
        assert exceeds(certificate, certificate.bound, [a, 1 - a]) <= 1e-8
    assert exceeds(certificate, certificate.bound, witness.label_mass) <= 1e-8
    held = float(witness.mass[given].sum())
    found = [
        exceeds(certificate, mean, witness.label_mass, strictly=False)
        for mean in (certificate.attained - 1e-6, certificate.bound - 1e-3)
    ]
    assert found[0] >= 0.9e-6 * held - 1e-8
    assert found[1] > 0.5e-3 * held
    assert witness.distance <= certificate.rho * (1 + 1e-12) + 1e-14


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", NAMES)
def test_means_of_groups_agree_with_a_primal(name: DivergenceName, shift: Shift) -> None:
    for metric in ("group_loss", "selection_rate"):
        certificate = certify(MEAN, RADIUS[name], divergence=name, shift=shift, metric=metric)
        assert certificate.gap <= 1e-6
        sound_and_tight(certificate)
        assert verify(certificate.to_json()).reasons == ()


#: Values that primal programs confirm: metric, shift, fair, and the bound at RADIUS.
VALUES = {
    "total_variation": [
        ("group_loss", "general", True, 0.369127),
        ("group_loss", "sensitive", True, 0.188890),
        ("group_loss", "sensitive", False, 0.221976),
        ("selection_rate", "general", True, 0.380271),
        ("selection_rate", "general", False, 0.401557),
        ("demographic_parity_difference", "sensitive", True, 0.07),
    ],
    "kl": [
        ("group_loss", "general", True, 0.349067),
        ("group_loss", "sensitive", True, 0.206793),
        ("group_loss", "general", False, 0.416918),
        ("selection_rate", "general", True, 0.403443),
    ],
    "chi_squared": [
        ("group_loss", "general", True, 0.319762),
        ("group_loss", "sensitive", True, 0.202834),
        ("group_loss", "general", False, 0.399386),
        ("selection_rate", "general", True, 0.381100),
    ],
    "trimming": [
        ("group_loss", "general", True, 0.220258),
        ("group_loss", "sensitive", True, 0.131511),
        ("group_loss", "general", False, 0.254872),
        ("selection_rate", "general", True, 0.220258),
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_reference_values(name: DivergenceName) -> None:
    for metric, shift, fair, value in VALUES[name]:
        asked: dict[str, Any] = {"metric": metric, "shift": shift, "fair": fair}
        assert certify(MEAN, RADIUS[name], divergence=name, **asked).bound == pytest.approx(value, abs=2e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("kind", "groups"), [("mean", 2), ("variance", 3), ("rows", 2)])
def test_random_populations_against_the_primal(name: DivergenceName, kind: str, groups: int) -> None:
    rng = np.random.default_rng([NAMES.index(name), groups, len(kind)])
    checked = 0
    for shift, support in (("general", "any"), ("sensitive", "any"), ("general", "observed")):
        if support == "observed" and kind != "rows":
            continue
        population = random_table(rng, groups, 2, kind)
        asked: dict[str, Any] = {"divergence": name, "shift": shift, "support": support, "metric": "group_loss"}
        asked |= {"group_skew": 0.6, "label_skew": 0.5} if groups == 3 else {}
        asked |= {"budget": 24} if kind == "rows" else {}
        for extra in (0.02, 0.1):
            certificate = certify(population, least(population, **asked) * 1.1 + extra, **asked)
            assert exceeds(certificate, certificate.bound, certificate.witness.label_mass) <= 1e-8
            floor = float(statement(certificate)[0].labels.floors[0])
            for a in np.linspace(floor, 1 - floor, 7):
                assert exceeds(certificate, certificate.bound, [a, 1 - a]) <= 1e-8
            assert certificate.gap <= (1e-6 if kind != "rows" or shift == "sensitive" else 5e-3)
            checked += certificate.status.name != "TRIVIAL"
    assert checked


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_no_member_exceeds_the_bound(name: DivergenceName, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng([NAMES.index(name), *shape])
    for shift in SHIFTS:
        population = random_table(rng, *shape, "mean")
        for metric in ("group_loss", "cell_loss"):
            asked: dict[str, Any] = {"divergence": name, "shift": shift, "metric": metric, "budget": 32}
            near = least(population, **asked)
            for rho in (near, near * 1.01 + 1e-3, min(near * 1.3 + 0.1, 0.95)):
                certificate = certify(population, rho, **asked)
                for one in certificate.comparisons:
                    problem, given = statement(one)
                    marginals = problem.groups, problem.labels
                    close = nearest_product(DIVERGENCES[name], problem.mass, *marginals)
                    close = with_every_share(DIVERGENCES[name], problem.mass, close, *marginals)
                    spots = [(close.group_mass, close.label_mass), (one.witness.group_mass, one.witness.label_mass)]
                    means = members(problem, name, rho, rng, 40, spots, given)
                    assert max(means, default=0.0) <= one.bound + 1e-12


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", NAMES)
def test_sensitive_shifting_is_about_label_shares(name: DivergenceName) -> None:
    """All metrics are functions of the label shares; which of these are possible is found by search and bisection."""
    rng = np.random.default_rng([5, NAMES.index(name)])
    for _ in range(4):
        population = random_table(rng, 2, 2, "mean")
        asked: dict[str, Any] = {"divergence": name, "shift": "sensitive"}
        rho = least(population, **asked) * 1.2 + 0.02
        mean, rate = population.mean, population.selecting(1).mean
        ends = [farthest_share(population.mass, name, rho, rise) for rise in (-1.0, 1.0)]
        shares = np.array([[1 - a, a] for a in ends])
        expected = {
            "group_loss": (shares @ mean.T).max(),
            "group_loss_difference": np.abs(shares @ (mean[0] - mean[1])).max(),
            "demographic_parity_difference": np.abs(shares @ (rate[0] - rate[1])).max(),
            "demographic_parity_ratio": min((r.min() / r.max()) for r in shares @ rate.T),
            "cell_loss": mean.max(),
            "equalized_odds_difference": np.abs(rate[0] - rate[1]).max(),
        }
        for metric, value in expected.items():
            certificate = certify(population, rho, **named(metric), **asked)
            assert certificate.bound == pytest.approx(value, abs=3e-6), metric
            assert certificate.gap <= 1.1e-6
            assert verify(certificate.to_json()).reasons == ()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_any_base_rates(name: DivergenceName) -> None:
    """All Q of the ball: the mean is at least that with equal base rates, and two have closed forms."""
    for shift in SHIFTS:
        for metric in OF_ONE:
            asked: dict[str, Any] = {"divergence": name, "metric": metric, "shift": shift}
            free, equal = certify(MEAN, RADIUS[name], fair=False, **asked), certify(MEAN, RADIUS[name], **asked)
            assert free.bound >= equal.bound - 2e-6
            assert free.gap <= 1e-6
            assert verify(free.to_json()).reasons == ()
    errors, share = (P * E).sum(axis=1), P.sum(axis=1)
    exact = ((errors + 0.1) / share).max()
    found = certify(MEAN, 0.1, divergence="total_variation", metric="group_loss", fair=False)
    assert found.bound == pytest.approx(exact, abs=2e-7)
    exact = (errors / 0.8 / (1 - (1 - share) / 0.8)).max()  # all errors are kept, and all rows of other groups
    found = certify(MEAN, 0.2, divergence="trimming", metric="group_loss", fair=False)
    assert found.bound == pytest.approx(exact, abs=2e-7)


def test_any_base_rates_and_an_empty_cell_against_a_linear_program() -> None:
    """Total variation: what is added sits in the empty cell, unless values elsewhere are larger than those there.

    A mean given a group is a fraction of linear functions; in units of the group's mass it is a linear program.
    """
    rng = np.random.default_rng(4)
    for _ in range(6):
        mass, loss = rng.dirichlet(np.ones(4)).reshape(2, 2), rng.uniform(0, 0.6, (2, 2))
        empty = tuple(rng.integers(0, 2, 2))
        mass[empty], loss[empty], rho = 0.0, 0.0, float(rng.uniform(0.01, 0.2))
        mass /= mass.sum()
        population = Population.from_moments(mass, loss)
        value, p = loss.copy(), population.mass.ravel()
        value[empty] = 1.0
        for group in range(2):
            inside = np.repeat(np.arange(2) == group, 2).astype(float)
            # masses of cells, how far each is from P's, and how much all is in these units
            cost = np.concatenate([-value.ravel() * inside, np.zeros(5)])
            apart = np.block([[sign * np.eye(4), -np.eye(4), -sign * p[:, None]] for sign in (1, -1)])
            ball = np.concatenate([np.zeros(4), np.full(4, 0.5), [-rho]])
            equal = np.array([[*inside, *np.zeros(5)], [*np.ones(4), *np.zeros(4), -1.0]])
            exact = linprog(cost, np.vstack([apart, ball]), np.zeros(9), equal, [1.0, 0.0])
            assert exact.fun is not None
            certificate = certify(
                population, rho, divergence="total_variation", metric="group_loss", group=group,
                shift="sensitive", fair=False, empty_cells="ceiling",
            )  # fmt: skip
            assert certificate.bound >= -exact.fun - 1e-12
            assert certificate.bound == pytest.approx(-exact.fun, abs=3e-7)
            assert certificate.gap <= 1e-6
            assert verify(certificate).valid


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_any_base_rates_against_a_grid(name: DivergenceName) -> None:
    """Sensitive shifting, two groups: any table of masses; the mean over a group needs its two and the rest's."""
    for group, rho in ((0, RADIUS[name]), (1, 0.5 * RADIUS[name])):
        asked: dict[str, Any] = {"metric": "group_loss", "group": group, "shift": "sensitive", "fair": False}
        certificate = certify(MEAN, rho, divergence=name, **asked)
        k, a = np.meshgrid(np.linspace(0.001, 0.999, 999), np.linspace(0, 1, 1001), indexing="ij")
        own, other = P[group], P[1 - group].sum()
        p = np.array([own[0], own[1], other])[:, None, None]
        q = np.stack([k * (1 - a), k * a, 1 - k])
        if name == "total_variation":
            far = np.maximum(q - p, 0).sum(axis=0)
        elif name == "kl":
            far = (q * np.log(np.where(q > 0, q, 1.0) / p)).sum(axis=0)
        elif name == "trimming":
            far = 1.0 - 1.0 / (q / p).max(axis=0)
        else:
            far = ((q - p) ** 2 / p).sum(axis=0)
        best = float(np.where(far <= rho, (1 - a) * E[group, 0] + a * E[group, 1], 0.0).max())
        assert best <= certificate.bound <= best + 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_emptied_groups(name: DivergenceName) -> None:
    """A group that may lose all its rows may have any mean afterwards; one in which that takes more may not."""
    mass = np.array([[0.57, 0.38], [0.02, 0.03]])
    population = Population.from_moments(mass, E)
    rho = 0.2
    certificate = certify(population, rho, divergence=name, metric="group_loss")
    assert certificate.status.name == "TRIVIAL"
    assert certificate.gap <= 1e-6
    assert certificate.witness.group_mass[1] > 0
    assert verify(certificate.to_json()).valid
    large = certify(population, rho, divergence=name, metric="group_loss", group=0)
    assert large.bound < 0.9
    assert certify(population, rho, divergence=name, metric="group_loss", shift="sensitive").bound < 0.46


@pytest.mark.one_in(5)
@pytest.mark.parametrize("population", [pytest.param(p, id=n.replace(" ", "-")) for n, p in EXTREME.items()])
def test_extreme_populations(population: Population) -> None:
    for name in NAMES:
        for metric in OF_ONE:
            for fair in (True, False):
                asked: dict[str, Any] = {**named(metric), "divergence": name, "fair": fair, "budget": 8, "tol": 1e-3}
                empty = not population.weight.all() and name != "total_variation"
                if not population.weight.sum(axis=0).all() or (empty and (fair or metric == "cell_loss")):
                    continue  # means would be taken of nothing
                near = least(population, **asked)
                certificate = certify(population, min(near + 0.03, DIVERGENCES[name].most), **asked)
                assert verify(certificate.to_json()).reasons == (), (name, metric, fair)
                assert certificate.bound >= certificate.attained


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", NAMES)
def test_curves_and_radii(name: DivergenceName) -> None:
    asked: dict[str, Any] = {"divergence": name, "metric": "group_loss", "group": 0}
    radii = [0.001, RADIUS[name], 1.5 * RADIUS[name]]
    curve = certify_curve(MEAN, radii, **asked)
    assert np.isnan(curve.bound[0])
    assert curve.bound[1] < curve.bound[2]
    assert verify(curve.to_json()).reasons == ()
    found = largest_certified_rho(MEAN, float(curve.bound[1]) + 1e-7, **asked)
    assert found == pytest.approx(RADIUS[name], abs=2e-5)


@pytest.mark.slow
def test_the_radius_that_a_ratio_keeps() -> None:
    asked: dict[str, Any] = {"divergence": "kl", "shift": "sensitive", "metric": "demographic_parity_ratio"}
    ratio = certify(MEAN, 0.1, **asked)
    assert largest_certified_rho(MEAN, ratio.bound - 1e-6, **asked) == pytest.approx(0.1, abs=1e-4)


def test_reports_and_documents() -> None:
    certificate = certify(MEAN, 0.1, divergence="kl", metric="selection_rate", group=1)
    again = Certificate.from_json(certificate.to_json())
    assert repr(again) == repr(certificate)
    assert again.to_json() == certificate.to_json()
    page = report(certificate)
    assert "Kullback-Leibler" in page
    assert "Hellinger" not in page
    free = certify(MEAN, 0.1, divergence="chi_squared", metric="group_loss", fair=False)
    assert Certificate.from_json(free.to_json()).to_json() == free.to_json()
    assert "Bound proved" in report(free)


def add(by: float, *keys: str) -> Change:
    """Add to parts of all claims."""
    return lambda d: [claim.update({key: claim[key] + by for key in keys}) for claim in claims(d)]


def other_divergence(d: Document) -> None:
    question = only(d)
    question["divergence"] = "chi_squared" if question["divergence"] == "kl" else "kl"


def turn_relaxed(d: Document) -> None:
    for part in statements(d)[0]["proof"]["leaves"]:
        part["relaxed"] = "plus" if part["relaxed"] == "none" else "none"


FORGERIES: dict[str, Change] = {
    "claims too low": add(-1e-3, "bound", "attained"),
    "a smaller radius": lambda d: only(d)["points"][0].update(rho=0.8 * only(d)["points"][0]["rho"]),
    "another divergence": other_divergence,
    "attained overstated": add(1e-4, "attained"),
    "relaxed turned round": turn_relaxed,
}


@pytest.mark.parametrize("name", NAMES)
def test_forged_documents_are_refused(name: DivergenceName) -> None:
    for asked in ({}, {"fair": False}, {"shift": "sensitive"}):
        text = certify(MEAN, RADIUS[name], divergence=name, metric="group_loss", group=1, **asked).to_json()
        for forgery in FORGERIES.values():
            check_forgery(text, forgery, "", None)


@pytest.mark.parametrize("name", NAMES)
def test_proofs_of_one_ball_are_refused_for_others(name: DivergenceName) -> None:
    """Whatever was asked of base rates: the multipliers are those of their divergence."""
    hellinger = certify(MEAN, 0.1, metric="group_loss").to_json()
    for base_rates in (True, False):
        text = certify(MEAN, RADIUS[name], divergence=name, metric="group_loss", fair=base_rates).to_json()
        check_forgery(text, lambda d: only(d).update(divergence="hellinger"), "", None)
        other = [answer["proof"] for answer in statements(json.loads(hellinger))]

        def exchanged(d: Document, proofs: list[Any] = other) -> None:
            for answer, proof in zip(statements(d), proofs, strict=True):
                answer["proof"] = proof

        check_forgery(text, exchanged, "for Hellinger balls", None)


def test_comparisons_are_not_proved_without_relaxing() -> None:
    """A mean that is taken off cells that are subtracted says nothing of a difference, where labels are searched."""
    text = certify(MEAN, 0.1, divergence="kl", metric="group_loss_difference", shift="sensitive").to_json()

    def unrelaxed(d: Document) -> None:
        for leaf in statements(d)[0]["proof"]["leaves"]:
            leaf["relaxed"] = "none"

    check_forgery(text, unrelaxed, "pieces of the group shares", None)


def random_questions(name: DivergenceName) -> Iterator[tuple[Population, dict[str, Any], float, float]]:
    """Draw questions about metrics: a population, what is asked, and a radius: the least one, times this, plus that."""
    rng = np.random.default_rng([43, NAMES.index(name)])
    while True:
        groups, labels = (int(v) for v in rng.choice([2, 2, 2, 3], 2))
        population = random_table(rng, groups, labels, str(rng.choice(["mean", "variance", "rows", "predictions"])))
        shift = SHIFTS[rng.integers(2)]
        metrics = [m for m in possible_metrics(population) if m in OF_ONE or (shift == "sensitive" and labels == 2)]
        metric = str(rng.choice(metrics))
        asked: dict[str, Any] = {**named(metric), "divergence": name, "shift": shift, "budget": 8}
        asked["fair"] = bool(rng.random() < 0.8) or metric not in OF_ONE
        if asked["fair"] and rng.random() < 0.3:
            asked |= {"group_skew": 0.7, "label_skew": 0.6}
        yield population, asked, 1 + 10.0 ** -rng.uniform(0, 8), float(rng.choice([0.0, 0.3]) * rng.random())


def checked(population: Population, asked: dict[str, Any], times: float, plus: float) -> None:
    """Certify and have the certificate checked."""
    near = least(population, **asked)
    rho = near * times + plus
    rho = max(min(rho, 0.9 if asked["divergence"] == "trimming" else DIVERGENCES[asked["divergence"]].most), near)
    certificate = certify(population, rho, **asked)
    assert verify(certificate.to_json()).reasons == (), (asked, rho)
    assert certificate.gap >= 0


def checked_at_random(name: DivergenceName, count: int) -> None:
    """Certify random questions about metrics and have each certificate checked."""
    for question in islice(random_questions(name), count):
        checked(*question)


def test_a_leaf_that_proves_no_more_than_the_largest_value() -> None:
    """Its multipliers would prove it of a value that is a rounding larger only; the leaf has to stay relaxed."""
    checked(*next(islice(random_questions("total_variation"), 81, None)))


def test_a_ratio_is_claimed_only_if_it_is_proved() -> None:
    """Where nobody of a label is selected the largest value is zero, whatever the factor: that proves no factor."""
    checked(*next(islice(random_questions("total_variation"), 328, None)))


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", NAMES)
def test_the_checker_proves_random_certificates(name: DivergenceName) -> None:
    checked_at_random(name, 24)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_checker_proves_many_random_certificates(name: DivergenceName) -> None:
    checked_at_random(name, 500)


THREE = Population.from_predictions([0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 1, 1], sensitive_features=list("aaabbb"))


@pytest.mark.parametrize(
    ("population", "asked", "words"),
    [
        (
            THREE,
            {"metric": "false_positive_rate_difference", "pos_label": 1},
            "hellinger_radius turns a total variation",
        ),
        (MEAN, {"metric": "group_loss_difference", "fair": False}, "leave that out, or use a metric of one group"),
        (THREE, {"metric": "false_positive_rate_difference", "pos_label": 1, "shift": "sensitive"}, "two labels"),
        (MEAN, {"metric": "group_loss", "confidence": 0.9}, "angle metric"),
        (MEAN, {"metric": "group_loss", "min_group_mass": 0.1}, "does not go with divergence='kl'"),
        (EXTREME["an empty cell"], {"metric": "group_loss"}, "cells without data"),
    ],
)
def test_questions_that_cannot_be_asked(population: Population, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        certify(population, 0.1, divergence="kl", **asked)


def test_shares_that_vanish_are_kept_small() -> None:
    """The nearest distribution may leave out a tiny group; a mean needs one that does not."""
    mass = np.array([[0.5, 0.49], [0.0001, 0.0099]])
    population = Population.from_moments(mass, E)
    for metric in OF_ONE[::2]:
        asked: dict[str, Any] = {"divergence": "total_variation", "metric": metric}
        near = least(population, **asked)
        certificate = certify(population, near, **asked)
        assert (certificate.witness.mass > 0).all()
        assert verify(certificate.to_json()).reasons == ()
