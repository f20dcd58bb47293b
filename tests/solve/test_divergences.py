"""The balls of other divergences than Hellinger's: against independent solvers, adversaries, closed forms."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fairbound import (
    Certificate,
    InfeasibleError,
    InputError,
    Population,
    certify,
    certify_curve,
    hellinger_radius,
    verify,
)
from fairbound.arithmetic.arrays import Floats
from fairbound.certificate.certify import largest_certified_rho
from fairbound.errors import ThresholdError
from fairbound.problem.divergences import DivergenceName, find_divergence
from fairbound.problem.question import Shift
from fairbound.solve.cone_pieces import ConePieces, merged
from fairbound.solve.conjugate_bounds import moving_bound
from fairbound.solve.nearest_product import nearest_product, product_divergence
from fairbound.solve.problem import Problem, problem_of
from fairbound.solve.shares import MarginalSet
from fairbound.solve.worst_within_cells import Ground, keep_inside, measure, worst_inside
from tests.by_hand import only
from tests.divergence_oracles import distance, members, primal_at
from tests.forging import Change, check_forgery, claims, statements
from tests.problems import E, P, random_population

NAMES: tuple[DivergenceName, ...] = ("total_variation", "kl", "chi_squared", "trimming")
#: Orders below 1, where Q may leave P's support, up to 2, and above, where variances are dropped.
ORDERS: tuple[DivergenceName, ...] = ("cressie_read:0.5", "cressie_read:1.5", "cressie_read:4")
EVERY = (*NAMES, *ORDERS)
SOME = (*NAMES, ORDERS[1], *(pytest.param(name, marks=pytest.mark.slow) for name in ORDERS[::2]))
SHIFTS: tuple[Shift, ...] = ("general", "sensitive")

MEAN = Population.from_moments(P, E)

#: Radii that are neither close to the nearest distribution nor so large that everything is allowed.
RADII: dict[DivergenceName, tuple[float, ...]] = {
    "total_variation": (0.06, 0.1, 0.3),
    "kl": (0.03, 0.1, 0.5),
    "chi_squared": (0.07, 0.2, 1.0),
    "trimming": (0.25, 0.5, 0.8),
    "cressie_read:0.5": (0.04, 0.1, 0.5),
    "cressie_read:1.5": (0.04, 0.1, 0.5),
    "cressie_read:4": (0.08, 0.3, 1.0),
}


def asked_problem(population: Population, certificate: Certificate) -> Problem:
    """Put the certificate's question into numbers, anew."""
    c = certificate
    known = population
    if find_divergence(c.divergence).only_means and known.rows is None:  # of moments only the means count
        known = Population.from_moments(known.mass, known.mean, ceiling=known.ceiling)
    return problem_of(known, c.shift, c.support, c.empty_cells, c.group_skew, c.label_skew)


def least(population: Population, **asked: Any) -> float:
    """Return the distance of the nearest distribution in question."""
    try:
        certify(population, 0.0, **asked)
    except InfeasibleError as error:
        return error.distance
    return 0.0


def sound_and_tight(population: Population, certificate: Certificate, tolerance: float) -> None:
    """Compare with the primal at many label shares and at the witness's own; two labels."""
    problem = asked_problem(population, certificate)
    name, rho, witness = certificate.divergence, certificate.rho, certificate.witness
    floor = float(problem.labels.floors[0])
    spots = [np.array([a, 1 - a]) for a in np.linspace(floor, 1 - floor, 9)]
    values = [primal_at(problem, name, rho, r) for r in [*spots, witness.label_mass]]
    assert max(values) <= certificate.bound + 1e-7
    assert values[-1] >= certificate.attained - 1e-7
    assert certificate.gap <= tolerance
    assert witness.distance <= rho * (1 + 1e-12) + 1e-14


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", SOME)
def test_reference_population(name: DivergenceName, shift: Shift) -> None:
    for rho in RADII[name][:: 2 if name in ORDERS else 1]:
        certificate = certify(MEAN, rho, divergence=name, shift=shift)
        sound_and_tight(MEAN, certificate, 1e-6)
        assert verify(certificate.to_json()).reasons == ()


#: Values that the primal programs confirm: rho and the bound.
VALUES: dict[tuple[DivergenceName, Shift], tuple[float, float]] = {
    ("total_variation", "general"): (0.1, 0.2418300),
    ("total_variation", "sensitive"): (0.1, 0.1823032),
    ("kl", "general"): (0.1, 0.2925742),
    ("kl", "sensitive"): (0.1, 0.2030596),
    ("chi_squared", "general"): (0.2, 0.2721098),
    ("chi_squared", "sensitive"): (0.2, 0.1993963),
    ("trimming", "general"): (0.5, 0.2836600),
    ("trimming", "sensitive"): (0.5, 0.2293931),
}


@pytest.mark.parametrize(("name", "shift"), VALUES)
def test_reference_values(name: DivergenceName, shift: Shift) -> None:
    rho, value = VALUES[name, shift]
    assert certify(MEAN, rho, divergence=name, shift=shift).bound == pytest.approx(value, abs=1.2e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(("kind", "groups"), [("mean", 2), ("variance", 3), ("rows", 2)])
def test_random_populations_against_the_primal(name: DivergenceName, kind: str, groups: int) -> None:
    rng = np.random.default_rng([EVERY.index(name), groups, len(kind)])
    for shift, support in (("general", "any"), ("sensitive", "any"), ("general", "observed")):
        if support == "observed" and kind != "rows":
            continue
        population = random_population(rng, groups, 2, kind)
        asked: dict[str, Any] = {"divergence": name, "shift": shift, "support": support}
        asked |= {"budget": 24} if kind == "rows" else {}
        asked |= {"group_skew": 0.6, "label_skew": 0.5} if groups == 3 else {}
        rho = least(population, **asked) * 1.1 + 0.02
        certificate = certify(population, rho, **asked)
        sound_and_tight(population, certificate, 1e-6 if kind != "rows" or shift == "sensitive" else 3e-3)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_no_member_exceeds_the_bound(name: DivergenceName, shift: Shift, shape: tuple[int, int]) -> None:
    """Near the nearest distribution, where almost nothing is left, and far from it."""
    rng = np.random.default_rng([EVERY.index(name), *shape, len(shift)])
    population = random_population(rng, *shape)
    asked: dict[str, Any] = {"divergence": name, "shift": shift, "budget": 64}
    if shape == (3, 3):
        asked |= {"label_skew": 0.5, "budget": 12}
    near = least(population, **asked)
    for rho in (near, near * (1 + 1e-6), near * 1.01 + 1e-4, near * 1.3 + 0.1):
        if rho >= find_divergence(name).most:
            continue
        certificate = certify(population, rho, **asked)
        problem, witness = asked_problem(population, certificate), certificate.witness
        closest = nearest_product(find_divergence(name), problem.mass, problem.groups, problem.labels)
        spots = [(closest.group_mass, closest.label_mass), (witness.group_mass, witness.label_mass)]
        losses = members(problem, name, rho, rng, 150, spots)
        assert losses or rho <= near * (1 + 1e-6)
        assert max(losses, default=0.0) <= certificate.bound + 1e-12


@pytest.mark.parametrize("name", SOME)
def test_fixed_shares_are_exact(name: DivergenceName) -> None:
    """With one vertex the program is the exact dual: it meets the primal, and the worst Q of its own group shares."""
    rng = np.random.default_rng(EVERY.index(name))
    chosen = find_divergence(name)
    met = 0
    for _ in range(12):
        population = random_population(rng, 3, 2, str(rng.choice(["mean", "variance"])))
        shift = SHIFTS[rng.integers(2)]
        skew = float(rng.choice([0.5, 1.0]))
        problem = problem_of(population, shift, "any", "refuse", skew, None)
        r = rng.dirichlet([2.0, 2.0])
        rho = float(rng.uniform(0.2, 0.8)) * (1 if chosen.most <= 1 else 4)
        rho = 0.5 + 0.5 * rho if name == "trimming" else rho
        value = primal_at(problem, name, rho, r)
        if not np.isfinite(value):
            continue
        met += 1
        best = ConePieces(problem, chosen).solve(rho, r[None], 1e4)
        one = (best.w[None] + 1e-9, best.centre[None], best.omega[None], np.array([best.lam]))
        bound = moving_bound(problem, chosen, np.array([rho]), r[None, None], one)[0]
        assert value - 1e-8 <= bound <= value + 1e-6
        ground = Ground.of(problem, chosen)
        k = np.maximum(best.group_share, 0.0)
        inside = worst_inside(chosen, ground, np.outer(k / k.sum(), r), rho)
        loss = (inside.atoms * ground.loss).sum() + (inside.unseen * ground.ceiling).sum()
        assert loss == pytest.approx(value, abs=2e-6)
        assert measure(chosen, ground, inside.atoms, inside.unseen) <= rho + 1e-6
    assert met >= 5


@pytest.mark.parametrize("name", EVERY)
def test_worst_inside_is_the_worst(name: DivergenceName) -> None:
    """Against random reweightings of the same cell masses."""
    rng = np.random.default_rng(7)
    chosen = find_divergence(name)
    population = random_population(rng, 2, 2, "rows")
    problem = problem_of(population, "general", "any", "refuse", None, None)
    ground = Ground.of(problem, chosen)
    mass = 0.5 * problem.mass + 0.5 * np.outer(problem.mass.sum(axis=1), problem.mass.sum(axis=0))
    plain = keep_inside(ground, mass)
    start = float(measure(chosen, ground, *plain))
    for extra in (0.0, 0.01, 0.2):
        found = worst_inside(chosen, ground, mass, start + extra)
        best = (found.atoms * ground.loss).sum() + (found.unseen * ground.ceiling).sum()
        for _ in range(200):
            other = plain[0] * rng.exponential(size=plain[0].shape) ** rng.choice([0.1, 1.0])
            other *= (mass / other.sum(axis=2))[..., None]
            for weight in np.geomspace(1e-3, 1.0, 8):
                mixed = weight * other + (1 - weight) * plain[0]
                if distance(name, ground.probability, mixed) <= start + extra:
                    assert (mixed * ground.loss).sum() <= best + 1e-9


def test_wholly_free_balls_have_closed_forms() -> None:
    rng = np.random.default_rng(3)
    population = random_population(rng, 2, 3, "rows")
    problem = problem_of(population, "general", "any", "refuse", None, None)
    p, loss = problem.lower.probability.ravel(), problem.lower.loss.ravel()
    for shift in SHIFTS:
        if shift == "sensitive":
            p, loss = population.mass.ravel(), population.mean.ravel()
        top = 1.0 if shift == "general" else loss[p > 0].max()
        for rho in (0.0, 0.05, 0.4):
            order = np.argsort(loss)
            moved = np.clip(rho - (np.cumsum(p[order]) - p[order]), 0.0, p[order])
            variation = (p * loss).sum() + (moved * (top - loss[order])).sum()

            def tilted(log_lam: float, rho: float = rho, p: Floats = p, loss: Floats = loss) -> float:
                lam = math.exp(log_lam)
                return lam * rho + lam * math.log((p * np.exp((loss - loss.max()) / lam)).sum()) + loss.max()

            found = minimize_scalar(tilted, bounds=(-9.0, 12.0), method="bounded", options={"xatol": 1e-10})
            deviation = math.sqrt((p * (loss - (p * loss).sum()) ** 2).sum())
            spread = (p * loss).sum() + deviation * math.sqrt(0.01 * rho)  # no loss is cut off in so small a ball
            kept_back = np.clip(1.0 - rho - (np.cumsum(p[order[::-1]]) - p[order[::-1]]), 0.0, p[order[::-1]])
            at_risk = (kept_back * loss[order[::-1]]).sum() / (1.0 - rho)  # the conditional value at risk
            values = (variation, found.fun, spread, at_risk)
            for name, radius, value in zip(NAMES, (rho, rho, 0.01 * rho, rho), values, strict=True):
                certificate = certify(population, radius, divergence=name, shift=shift, fair=False)
                assert certificate.bound == pytest.approx(value, abs=2e-6)
                assert certificate.gap <= 2e-6
                assert certificate.witness.distance <= radius + 1e-13
                assert verify(certificate.to_json()).reasons == ()
                if radius > least(population, divergence=name, shift=shift):
                    kept = certify(population, radius, divergence=name, shift=shift, budget=16)
                    assert kept.attained <= certificate.bound


def test_free_ball_beyond_everything() -> None:
    """In a huge ball the largest loss is all there is; what P lacks, Kullback-Leibler and chi-squared lack too."""
    rows = Population.from_losses([0.1, 0.2, 0.4, 0.7], [0, 1, 0, 1], sensitive_features=list("aabb"))
    for name, top in zip(NAMES, (1.0, 0.7, 0.7, 0.7), strict=True):
        rho = find_divergence(name).most
        for fair in (False, True):
            certificate = certify(rows, rho, divergence=name, fair=fair)
            assert certificate.bound == pytest.approx(top, abs=1e-5)
            assert certificate.attained == pytest.approx(top, abs=1e-5)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_monotone_in_rho_and_a_curve_is_its_points(name: DivergenceName) -> None:
    near = least(MEAN, divergence=name, shift="sensitive")
    radii = [0.5 * near, *np.minimum(near * np.array([1.0001, 1.1, 1.5, 2.0, 4.0]), 0.9 * find_divergence(name).most)]
    curve = certify_curve(MEAN, radii, divergence=name, shift="sensitive")
    assert curve.distance == near
    assert curve.feasible.tolist() == [False] + [True] * 5
    assert (np.diff(curve.bound[1:]) >= -1e-6).all()
    assert curve.bound[3] == certify(MEAN, radii[3], divergence=name, shift="sensitive").bound
    assert verify(curve.to_json()).valid


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", EVERY)
def test_names_and_order_do_not_matter(name: DivergenceName) -> None:
    rng = np.random.default_rng(11)
    population = random_population(rng, 3, 2)
    rho = least(population, divergence=name) * 1.2 + 0.01
    bound = certify(population, rho, divergence=name).bound
    groups, labels = rng.permutation(3), rng.permutation(2)
    mass, mean = population.mass[groups][:, labels], population.mean[groups][:, labels]
    moved = Population.from_moments(mass, mean, groups=["x", "y", "z"])
    assert certify(moved, rho, divergence=name).bound == pytest.approx(bound, abs=2e-6)
    is_transposed = Population.from_moments(population.mass.T, population.mean.T)
    assert certify(is_transposed, rho, divergence=name).bound == pytest.approx(bound, abs=2e-6)
    larger = Population.from_moments(population.mass, 3.0 * population.mean, ceiling=3.0)
    assert certify(larger, rho, divergence=name, tol=3e-6).bound == pytest.approx(3 * bound, abs=6e-6)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_below_the_nearest_distribution(name: DivergenceName) -> None:
    with pytest.raises(InfeasibleError, match=re.escape(find_divergence(name).words)) as caught:
        certify(MEAN, 0.01, divergence=name)
    rho = caught.value.distance
    fair = np.outer([0.7, 0.3], [0.6, 0.4])
    assert least(Population.from_moments(fair, E), divergence=name) == 0.0
    at_zero = certify(Population.from_moments(fair, E), 0.0, divergence=name)
    assert at_zero.bound >= (fair * E).sum() - 1e-15
    certificate = certify(MEAN, rho, divergence=name, shift="sensitive", budget=64)
    assert certificate.gap < 1e-3
    assert verify(certificate.to_json()).valid


@pytest.mark.parametrize("name", EVERY)
def test_nearest_distribution_beats_a_grid(name: DivergenceName) -> None:
    """No product on a fine grid of shares is nearer than the one that was found."""
    rng = np.random.default_rng(2)
    chosen = find_divergence(name)
    for shape, skew in (((2, 2), None), ((2, 2), 0.3), ((3, 2), None), ((3, 2), 0.4), ((3, 3), None)):
        mass = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
        groups, labels = MarginalSet(shape[0], skew), MarginalSet(shape[1], skew)
        found = nearest_product(chosen, mass, groups, labels)
        assert groups.respects_limits(found.group_mass)
        assert labels.respects_limits(found.label_mass)
        own = distance(name, mass, np.outer(found.group_mass, found.label_mass))
        assert own == pytest.approx(found.distance, rel=1e-9)
        shares = [[m.inside(v) for v in rng.dirichlet(np.ones(m.size), 3000)] for m in (groups, labels)]
        others = product_divergence(chosen, mass, np.array(shares[0]), np.array(shares[1]))
        close = (
            groups.inside(found.group_mass + 1e-3 * rng.normal(size=(3000, shape[0]))),
            labels.inside(found.label_mass + 1e-3 * rng.normal(size=(3000, shape[1]))),
        )
        assert min(others.min(), product_divergence(chosen, mass, *close).min()) >= found.distance * (1 - 1e-9) - 1e-9


def test_cells_without_data() -> None:
    mass = np.array([[0.5, 0.2], [0.3, 0.0]])
    population = Population.from_moments(mass, E)
    for name, rho in zip(NAMES, (0.2, 0.6, 0.8, 0.6), strict=True):
        for shift in SHIFTS:
            certificate = certify(population, rho, divergence=name, shift=shift, empty_cells="ceiling")
            problem = asked_problem(population, certificate)
            shares = [np.array([a, 1 - a]) for a in [*np.linspace(0, 1, 21), certificate.witness.label_mass[0]]]
            values = [primal_at(problem, name, rho, r) for r in shares]
            assert max(values) <= certificate.bound + 1e-6
            assert max(values) >= certificate.bound - (1e-3 if shift == "general" else 5e-3)
            assert certificate.gap <= 1e-4
            assert verify(certificate.to_json()).reasons == ()
            if name != "total_variation":
                assert certificate.witness.mass[1, 1] == 0.0
                assert any("no mass in Q" in sentence for sentence in certificate.assumptions)


def test_two_atoms_are_the_worst_law_with_their_moments() -> None:
    """Other laws with the same mean and variance are not worse, in Kullback-Leibler and chi-squared balls."""
    rng = np.random.default_rng(5)
    population = random_population(rng, 2, 2, "variance")
    mean, variance = population.mean, np.asarray(getattr(population.knowledge, "variance", None))
    for name, rho in zip(NAMES[1:3], (0.3, 0.6), strict=True):
        bound = certify(population, rho, divergence=name).bound
        assert bound <= certify(Population.from_moments(population.mass, mean), rho, divergence=name).bound + 2e-6
        for _ in range(5):
            probability, loss = np.zeros((2, 2, 2, 2))
            for cell in np.ndindex(2, 2):  # two other losses: at distances a and V / a from the mean
                room = variance[cell] / max(mean[cell], 1e-12), 1.0 - mean[cell]
                above = rng.uniform(min(room), max(room)) if room[0] < room[1] else room[1]
                below = variance[cell] / above
                loss[cell] = mean[cell] - below, mean[cell] + above
                probability[cell] = np.array([above, below]) / (above + below) * population.mass[cell]
            kept = problem_of(population, "general", "any", "refuse", None, None)
            other = Problem(
                type(kept.upper)(probability, np.clip(loss, 0.0, 1.0)),
                kept.lower,
                kept.ceiling,
                kept.unseen,
                kept.groups,
                kept.labels,
            )
            for a in np.linspace(0.1, 0.9, 7):
                assert primal_at(other, name, rho, np.array([a, 1 - a])) <= bound + 1e-7
    plain = Population.from_moments(population.mass, mean)
    both = [certify(known, 0.3, divergence="total_variation") for known in (population, plain)]
    assert both[0].bound == both[1].bound
    assert any("only the mean" in sentence for sentence in both[0].assumptions)


def test_total_variation_is_tighter_than_its_conversion() -> None:
    """The paper reaches total variation through the Hellinger ball of radius sqrt(rho) only."""
    for shift in SHIFTS:
        for rho in (0.06, 0.1, 0.2):
            exact = certify(MEAN, rho, divergence="total_variation", shift=shift).bound
            assert exact < certify(MEAN, hellinger_radius(rho), shift=shift).attained - 0.04


def test_the_table_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "divergences.md").read_text(encoding="utf-8")
    rows = [[float(v) for v in row.split("|")[1:-1]] for row in page.splitlines() if re.match(r"\| 0\.\d", row)]
    assert len(rows) == 6
    for rho, *stated in rows:
        asked: list[tuple[float, DivergenceName]] = [(rho, "total_variation"), (hellinger_radius(rho), "hellinger")]
        bounds = [certify(MEAN, r, divergence=d, shift=s).bound for s in SHIFTS for r, d in asked]
        assert all(b <= s for b, s in zip(bounds, stated, strict=True))
        assert stated == pytest.approx(bounds, abs=1.1e-4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_largest_radius(name: DivergenceName) -> None:
    rho = largest_certified_rho(MEAN, 0.3, divergence=name)
    assert certify(MEAN, rho, divergence=name).bound <= 0.3
    assert certify(MEAN, rho + 3e-6, divergence=name).attained > 0.3 - 2e-6


def test_largest_radius_of_all_and_of_none() -> None:
    assert largest_certified_rho(MEAN, 1.0, divergence="kl") == 1e9
    assert largest_certified_rho(MEAN, 1.0, divergence="total_variation") == 1.0
    assert largest_certified_rho(MEAN, 0.99, divergence="kl", fair=False) > 1.0
    with pytest.raises(ThresholdError, match="larger threshold"):
        largest_certified_rho(MEAN, 0.1, divergence="chi_squared")


def test_balls_of_no_size_are_proved() -> None:
    """P itself, where every difference is a ball around zero."""
    for name in EVERY:
        certificate = certify(MEAN, 0.0, divergence=name, fair=False)
        assert verify(certificate.to_json()).reasons == ()
        assert certificate.bound == pytest.approx(MEAN.loss, abs=2e-6)


def test_documents_are_read_back() -> None:
    certificate = certify(MEAN, 0.1, divergence="kl", shift="sensitive")
    again = Certificate.from_json(certificate.to_json())
    assert repr(again) == repr(certificate)
    assert again.to_json() == certificate.to_json()
    assert again.witness.distance == 0.1
    assert again.witness.affinity <= certificate.witness.affinity
    free = certify(MEAN, 0.1, divergence="chi_squared", fair=False)
    again = Certificate.from_json(free.to_json())
    assert again.to_json() == free.to_json()
    assert "fair=False" in repr(again)
    assert "equal base rates" not in again._repr_html_().split("What this rests on")[0]


FORGERIES: dict[str, tuple[Change, str]] = {
    "a bound too low": (
        lambda d: [c.update(bound=c["attained"] - 1e-3) for c in claims(d)],
        "not prove the claimed bound",
    ),
    "a smaller radius": (
        lambda d: only(d)["points"][0].update(rho=0.8 * only(d)["points"][0]["rho"]),
        "outside the ball",
    ),
    "attained overstated": (lambda d: [c.update(attained=c["attained"] + 1e-4) for c in claims(d)], "less than"),
    "another divergence": (
        lambda d: only(d).update(divergence="chi_squared" if only(d)["divergence"] == "kl" else "kl"),
        "",
    ),
}


@pytest.mark.parametrize("name", SOME)
def test_forged_documents_are_refused(name: DivergenceName) -> None:
    for asked in ({}, {"fair": False}):
        text = certify(MEAN, RADII[name][1], divergence=name, **asked).to_json()  # type: ignore[arg-type]
        for change, reason in FORGERIES.values():
            check_forgery(text, change, reason, None)


@pytest.mark.parametrize("name", NAMES)
def test_proofs_of_another_kind_are_refused(name: DivergenceName) -> None:
    """Form F is for Hellinger balls alone, and multipliers of form T are those of their divergence."""
    hellinger = certify(MEAN, 0.1).to_json()
    (other,) = statements(json.loads(hellinger))
    written = certify(MEAN, RADII[name][1], divergence=name).to_json()
    check_forgery(written, lambda d: statements(d)[0].update(proof=other["proof"]), "for Hellinger balls", None)
    (tilted,) = statements(json.loads(written))
    check_forgery(hellinger, lambda d: statements(d)[0].update(proof=tilted["proof"]), "", None)


@pytest.mark.parametrize("rho", [0.3, 0.39959772, 0.4, 0.5])
def test_regions_that_come_into_the_ball_at_once(rho: float) -> None:
    """Under trimming the shares in question may fall into two regions, and the bound jumps where the second begins.

    Just before that multipliers have to be steep to prove that nothing there is in the ball.
    """
    pytest.importorskip("clarabel")
    mass = np.array([[0.44642666, 0.12294241], [0.11842099, 0.31220994]])
    mean = np.array([[0.16681934, 0.55297652], [0.22347245, 0.47804125]])
    found = certify(Population.from_moments(mass, mean), rho, divergence="trimming", shift="sensitive")
    rate, most = np.linspace(0, 1, 400_001)[1:-1], mass / mass.sum() / (1 - rho)
    high = np.minimum(most[0, 0] / (1 - rate), most[0, 1] / rate)  # of the first group's share, for each base rate
    low = 1 - np.minimum(most[1, 0] / (1 - rate), most[1, 1] / rate)
    worst = -np.inf
    for share in (np.clip(low, 0, 1), np.clip(high, 0, 1)):
        loss = share * ((1 - rate) * mean[0, 0] + rate * mean[0, 1])
        loss += (1 - share) * ((1 - rate) * mean[1, 0] + rate * mean[1, 1])
        worst = max(worst, float(loss[(low <= high) & (low <= 1) & (high >= 0)].max()))
    assert worst <= found.bound <= worst + 2e-5
    assert verify(found.to_json()).valid


def test_trimming_is_not_taken_for_another_ball() -> None:
    """Nor another one for trimming: their multipliers mean different things."""
    for shift in SHIFTS:
        trimmed = certify(MEAN, 0.3, divergence="trimming", shift=shift).to_json()
        for name in NAMES[:3]:
            check_forgery(trimmed, lambda d, n=name: only(d).update(divergence=n), "", None)  # type: ignore[misc]
            other = certify(MEAN, 0.3, divergence=name, shift=shift).to_json()
            check_forgery(other, lambda d: only(d).update(divergence="trimming"), "", None)
    everything = certify(MEAN, 0.5, divergence="trimming", fair=False).to_json()
    check_forgery(everything, lambda d: only(d)["points"][0].update(rho=1.0), "", None)


def checked_at_random(name: DivergenceName, count: int) -> None:
    """Certify random questions and have each certificate checked."""
    rng = np.random.default_rng([41, EVERY.index(name)])
    for _ in range(count):
        groups, labels = (int(v) for v in rng.choice([2, 2, 2, 3], 2))
        kind = str(rng.choice(["mean", "mean", "variance", "rows"]))
        population = random_population(rng, groups, labels, kind)
        asked: dict[str, Any] = {
            "divergence": name,
            "shift": str(rng.choice(["general", "sensitive"])),
            "support": "observed" if kind == "rows" and rng.random() < 0.3 else "any",
            "fair": bool(rng.random() < 0.85),
            "budget": 8,
        }
        if asked["fair"]:
            asked["group_skew"] = 0.5 if rng.random() < 0.3 else None
            asked["label_skew"] = 0.4 if rng.random() < 0.3 else None
        near = least(population, **asked)
        rho = near * (1 + 10.0 ** -rng.uniform(0, 8)) + rng.choice([0.0, 0.3]) * rng.random()
        rho = min(rho, 0.99 if name == "trimming" else find_divergence(name).most)
        certificate = certify(population, max(rho, near), **asked)
        result = verify(certificate.to_json())
        assert result.reasons == (), (asked, rho)
        assert certificate.attained <= certificate.bound


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", EVERY)
def test_the_checker_proves_random_certificates(name: DivergenceName) -> None:
    checked_at_random(name, 3 if name in ORDERS else 15)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_the_checker_proves_many_random_certificates(name: DivergenceName) -> None:
    checked_at_random(name, 500)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "tolerance"), list(zip(NAMES, (2e-3, 2e-5, 2e-5, 2e-3), strict=True)))
def test_many_losses_are_merged_with_mean_and_variance(name: DivergenceName, tolerance: float) -> None:
    rng = np.random.default_rng(1)
    cell = np.repeat(np.arange(4), 300)
    population = Population.from_losses(rng.beta(1, 4, 1200), cell % 2, sensitive_features=cell // 2)
    problem = problem_of(population, "general", "any", "refuse", None, None)
    few = merged(problem.upper, 64)
    assert few.places == 64
    for power in (0, 1, 2):
        moments = [(a.probability * a.loss**power).sum(axis=2) for a in (few, problem.upper)]
        assert moments[0] == pytest.approx(moments[1], rel=1e-12)
    rho = least(population, divergence=name) + 0.05
    assert certify(population, rho, divergence=name, budget=16).gap <= tolerance


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"divergence": "wasserstein"}, "divergence='wasserstein' is not known"),
        ({"divergence": "kl", "confidence": 0.95}, "angle metric of the Hellinger distance"),
        ({"divergence": "kl", "fair": False, "group_skew": 0.5}, "leave them out with fair=False"),
        ({"divergence": "kl", "fair": "no"}, "must be True"),
        ({"divergence": "kl", "base_rate_tolerance": 0.1}, "does not go with divergence='kl'"),
        ({"divergence": "kl", "min_group_mass": 0.1}, "does not go with divergence='kl'"),
    ],
)
def test_questions_that_cannot_be_asked(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        certify(MEAN, 0.1, **asked)


def test_radii_have_the_range_of_their_divergence() -> None:
    with pytest.raises(InputError, match=r"total variation distance, between 0"):
        certify(MEAN, 1.1, divergence="total_variation")
    with pytest.raises(InputError, match=r"Kullback-Leibler divergence, 0"):
        certify(MEAN, -0.1, divergence="kl")
    with pytest.raises(InputError, match="outside"):
        certify(MEAN, math.inf, divergence="chi_squared")
    assert certify(MEAN, 3.0, divergence="chi_squared").bound < 1.0


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(InputError, match=r"pip install clarabel"):
        certify(MEAN, 0.1, divergence="kl")
    assert certify(MEAN, 0.1, divergence="kl", fair=False).bound > 0.3  # needs none
