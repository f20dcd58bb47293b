"""Cressie and Read's family: its members, Rényi's balls, closed forms, and formulas that are rounded outward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy.optimize import minimize_scalar

from fairbound import InputError, Population, certify, divergence_between, renyi_radius, shift_between, verify
from fairbound.problem.divergences import find_divergence
from fairbound.problem.question import Shift
from fairbound.verify.divergences import FAMILIES
from tests.by_hand import only
from tests.divergence_oracles import distance
from tests.forging import check_forgery, check_malformed
from tests.problems import E, P, random_population

MEAN = Population.from_moments(P, E)
ORDERS = (0.1, 0.5, 0.95, 1.05, 1.5, 2.0, 3.0, 10.0)

#: Members with an engine or cones of their own: the order, and what their radius is in the family.
MEMBERS: dict[str, tuple[float, Callable[[float], float]]] = {
    "hellinger": (0.5, lambda rho: 4 * rho**2),
    "chi_squared": (2.0, lambda rho: rho / 2),
}


@pytest.mark.parametrize("shift", ["general", "sensitive"])
@pytest.mark.parametrize("name", MEMBERS)
def test_members_agree_with_their_own_certificates(name: str, shift: Shift) -> None:
    """Equal balls: bounds differ by no more than both gaps, with a condition on base rates and without."""
    order, radius = MEMBERS[name]
    for metric, rho in (("loss", 0.2), ("group_loss", 0.15)):
        asked: dict[str, Any] = {"shift": shift, "metric": metric, "tol": 1e-7}
        own = certify(MEAN, rho, divergence=name, **asked)
        other = certify(MEAN, radius(rho), divergence=f"cressie_read:{order}", **asked)
        assert other.bound == pytest.approx(own.bound, abs=1e-6)
        assert other.attained == pytest.approx(own.attained, abs=1e-6)
        assert verify(other).reasons == ()


def test_kullback_leibler_lies_between_the_orders_beside_it() -> None:
    """Rényi divergences grow with the order, so their balls shrink; of order 1 it is Kullback-Leibler."""
    orders, rho = (0.5, 0.998, 1.002, 1.5, 3.0), 0.1
    for shift in ("general", "sensitive"):
        bounds = [
            certify(MEAN, renyi_radius(rho, order=a), divergence=f"cressie_read:{a}", shift=shift).bound
            for a in orders  # a radius of order 3 is beyond the nearest distribution
        ]
        assert (np.diff(bounds) < 0).all()
        own = certify(MEAN, rho, divergence="kl", shift=shift)
        assert bounds[2] - 1e-6 <= own.bound <= bounds[1] + 1e-6
        assert bounds[1] - bounds[2] < 1e-3


def test_a_renyi_radius_is_that_of_its_ball() -> None:
    rng = np.random.default_rng(5)
    ctx.prec = 200
    for order in ORDERS:
        found = find_divergence(f"cressie_read:{order}")
        for _ in range(40):
            p, q = rng.dirichlet(np.full(5, 2.0), 2)
            a, pairs = arb(order), [(arb(v), arb(w)) for v, w in zip(p.tolist(), q.tolist(), strict=True)]
            inner = sum((w**a * v ** (1 - a) for v, w in pairs), arb(0))  # both shares add up to 1 within rounding
            renyi, own = float(inner.log() / (a - 1)), float((inner - 1) / (a * (a - 1)))
            assert distance(found.name, p, q) == pytest.approx(own, rel=1e-9, abs=1e-13)
            if own > 1e9:
                continue
            assert own * (1 - 1e-9) - 1e-15 <= renyi_radius(renyi, order=order) <= own * (1 + 1e-9) + 1e-14
    assert renyi_radius(0.0, order=1.5) == 0.0
    assert renyi_radius(1e6, order=0.5) == find_divergence("cressie_read:0.5").most == 4.0
    with pytest.raises(InputError, match="use a smaller one"):  # a smaller ball would not hold what is asked for
        renyi_radius(30.0, order=2)
    with pytest.raises(InputError, match="use a smaller one"):
        renyi_radius(math.inf, order=10)


@pytest.mark.parametrize("order", [1.05, 1.5, 3.0])
def test_without_base_rates_there_is_a_closed_form(order: float) -> None:
    """``min over eta of eta + c (E (l - eta)+^(a*))^(1/a*)``, ``c = (1 + a (a - 1) rho)^(1/a)``: Duchi and Namkoong."""
    population = random_population(np.random.default_rng(3), 2, 3, "rows")
    for shift in ("general", "sensitive"):
        known: Any = population.knowledge
        p, loss = population.mass.ravel(), population.mean.ravel()
        if shift == "general":
            whole = known.weight / known.weight.sum()
            p, loss = whole[whole > 0], known.low[whole > 0]
        dual = order / (order - 1)
        for rho in (0.01, 0.1, 0.4):
            c = (1 + order * (order - 1) * rho) ** (1 / order)

            def at(eta: float, c: float = c, p: Any = p, loss: Any = loss, dual: float = dual) -> float:
                return eta + c * float((p * np.maximum(loss - eta, 0.0) ** dual).sum()) ** (1 / dual)

            lows = np.linspace(loss.max() - 50, loss.max(), 4001)
            near = lows[np.argmin([at(v) for v in lows])]
            found = minimize_scalar(at, bounds=(near - 0.1, near + 0.1), method="bounded", options={"xatol": 1e-12})
            certificate = certify(population, rho, divergence=f"cressie_read:{order}", shift=shift, fair=False)
            assert certificate.bound == pytest.approx(found.fun, abs=3e-6)
            assert certificate.gap <= 3e-6
            assert verify(certificate).reasons == ()


def test_formulas_against_their_definitions() -> None:
    """The cost next to 1, far from it and at 0; and the affinity that every Q in the ball has."""
    rng = np.random.default_rng(1)
    for order in ORDERS:
        found = find_divergence(f"cressie_read:{order}")
        ctx.prec = 200
        a = arb(order)
        for t in [0.0, 1e-9, 0.3, 1 - 1e-3, 1 - 1e-6, 1.0, 1 + 1e-7, 1 + 2e-4, 1.7, 40.0]:
            power = arb(t) ** a if t > 0 else arb(0)
            exact = float((power - a * arb(t) + a - 1) / (a * (a - 1)))
            assert float(found.cost(np.array(t))) == pytest.approx(exact, rel=1e-9, abs=1e-18)
        for _ in range(200):
            p, q = rng.dirichlet(np.full(4, rng.choice([0.1, 1.0])), 2) + 1e-12
            rho = distance(found.name, p / p.sum(), q / q.sum())
            affinity = np.sqrt(p / p.sum() * q / q.sum()).sum()
            assert affinity >= found.least_affinity(rho) * (1 - 1e-9) - 1e-12


def test_conjugates_are_rounded_up() -> None:
    """Against the checker's, which are exact: no float is below, and few are far above."""
    rng = np.random.default_rng(2)
    ctx.prec = 200
    for order in ORDERS:
        found = find_divergence(f"cressie_read:{order}")
        exact = FAMILIES["cressie_read"](order)
        for _ in range(300):
            lam = 10.0 ** rng.uniform(-3, 2)
            z = lam * rng.normal() * 10.0 ** rng.uniform(-2, 1)
            mine, theirs = float(found.conjugate(np.array(z), np.array(lam))), exact.conjugate(arb(z), arb(lam))
            assert arb(mine) >= theirs or (not theirs.is_finite() and mine == np.inf)
            u = 1 + (order - 1) * z / lam
            if 1e-3 < u < 1e3 and math.isfinite(mine):
                assert mine <= float(theirs) * (1 + 1e-7)


def test_a_worst_case_may_leave_the_data_below_order_1() -> None:
    """As under total variation: a cell without rows, and losses that nobody saw."""
    mass = np.array([[0.5, 0.2], [0.3, 0.0]])
    population = Population.from_moments(mass, E)
    inside = certify(population, 0.9, divergence="cressie_read:1.5", empty_cells="ceiling")
    beyond = certify(population, 0.4, divergence="cressie_read:0.6", empty_cells="ceiling", tol=1e-4)
    assert inside.witness.mass[1, 1] == 0.0
    assert beyond.witness.mass[1, 1] > 0.0
    assert beyond.gap <= 1e-4
    assert verify(beyond).reasons == verify(inside).reasons == ()
    rows = Population.from_losses([0.1, 0.2, 0.4, 0.7], [0, 1, 0, 1], sensitive_features=list("aabb"))
    for order, top in ((0.5, 1.0), (1.5, 0.7)):
        rho = min(find_divergence(f"cressie_read:{order}").most, 1e3)
        assert certify(rows, rho, divergence=f"cressie_read:{order}").attained == pytest.approx(top, abs=1e-5)


def test_documents_name_the_order() -> None:
    certificate = certify(MEAN, 0.1, divergence="cressie_read:1.5", shift="sensitive")
    assert certificate.divergence == "cressie_read:1.5"
    assert "divergence='cressie_read:1.5'" in repr(certificate)
    text = certificate.to_json()
    assert type(certificate).from_json(text).to_json() == text
    assert any("Cressie-Read divergence of order 1.5: 0.1 of the data" in claim for claim in verify(text).claims)
    for order in (1.4, 1.6, 0.5, 3.0):
        check_forgery(text, lambda d, a=order: only(d).update(order=a), "", None)  # type: ignore[misc]
    wrong: tuple[Any, ...] = (None, 1, 1.0, 0.05, 11, "1.5", True)
    for other in wrong:
        check_malformed(text, lambda d, a=other: only(d).update(order=a))  # type: ignore[misc]
    plain = certify(MEAN, 0.2).to_json()
    check_malformed(plain, lambda d: only(d).update(order=1.5))
    check_malformed(plain, lambda d: only(d).update(divergence="cressie_read"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cressie_read", "needs its order behind a colon, such as 'cressie_read:1.5'"),
        ("cressie_read:x", "needs its order behind a colon"),
        ("cressie_read:0", "orders go from 0.1 to 10"),
        ("cressie_read:-1", "orders go from 0.1 to 10"),
        ("cressie_read:nan", "is outside"),
        ("cressie_read:1", "use divergence='kl'"),
        ("cressie_read:1.0001", "use divergence='kl'"),
        ("renyi:2", "'cressie_read:1.5'"),
    ],
)
def test_orders_that_there_are_not(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        certify(MEAN, 0.1, divergence=name)


def test_what_samples_do_not_say() -> None:
    rows = Population.from_losses([0.0, 1.0] * 20, [0, 1, 1, 0] * 10, sensitive_features=list("aabbb") * 8)
    with pytest.raises(InputError, match="no sample bounds this divergence"):
        divergence_between(rows, rows, divergence="cressie_read:0.5", confidence=0.9)
    assert divergence_between(rows, rows, divergence="cressie_read:0.5") == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="divergence_between"):
        certify(rows, shift_between(rows, rows), divergence="cressie_read:1.5")
    with pytest.raises(InputError, match="use divergence='kl'"):
        renyi_radius(0.1, order=1.0)
