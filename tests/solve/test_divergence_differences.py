"""Differences between groups under other divergences and general shifting: a primal, adversaries, forgeries."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fairbound import Certificate, Population, certify, verify
from fairbound.problem.divergences import DivergenceName
from tests.by_hand import only
from tests.divergence_oracles import distance, primal_at
from tests.forging import Change, Document, check_forgery, claims, statements
from tests.metric_problems import named
from tests.problems import E
from tests.solve.test_divergence_metrics import MEAN, NAMES, RADIUS, statement

METRICS = ("group_loss_difference", "demographic_parity_difference", "true_positive_rate_difference")

#: Radii at which the true positive rates of both groups are not arbitrary yet.
SMALL: dict[DivergenceName, float] = {"total_variation": 0.08, "kl": 0.05, "chi_squared": 0.1, "trimming": 0.16}

#: Values that primal programs on 25 group shares confirm, at SMALL.
VALUES = {
    "total_variation": (0.210493, 0.278869, 0.878709),
    "kl": (0.168486, 0.201964, 0.535241),
    "chi_squared": (0.155104, 0.184055, 0.523835),
    "trimming": (0.144199, 0.132417, 0.646398),
}


def exceeds(certificate: Certificate, t: float, share: float, *, strictly: bool = True) -> float:
    """Return the largest ``k_a k_b (difference - t)`` with these group shares, by a primal program over Q.

    The primal fixes the shares of labels, so groups and labels are exchanged.
    """
    problem, _ = statement(certificate)
    objective = certificate.objective
    assert objective is not None
    assert objective.minus is not None
    k = np.array([share, 1 - share])
    sign = objective.sign(problem.mass.shape)
    times = np.where(sign > 0, k[objective.minus], np.where(sign < 0, k[objective.plus], 0.0))
    less = t * (sign > 0)
    upper, lower = (
        replace(a, loss=(a.loss - less[..., None]) * times[..., None]) for a in (problem.upper, problem.lower)
    )
    counted = replace(problem, upper=upper, lower=lower, ceiling=(problem.ceiling - less) * times)
    return primal_at(counted.transposed, certificate.divergence, certificate.rho, k, strictly=strictly)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_differences_agree_with_a_primal(name: DivergenceName) -> None:
    """No Q on a grid of group shares exceeds the bound; with the witness's shares one comes within 1e-4 of it."""
    for metric, value in zip(METRICS, VALUES[name], strict=True):
        certificate = certify(MEAN, SMALL[name], divergence=name, **named(metric))
        assert certificate.bound == pytest.approx(value, abs=2e-6)
        assert certificate.gap <= (2e-6 if name == "trimming" else 1e-6)
        assert verify(certificate.to_json()).reasons == ()
        for one in certificate.comparisons:
            for share in np.linspace(0.02, 0.98, 25):
                assert exceeds(one, one.bound, float(share)) <= 1e-8
        k = certificate.witness.group_mass
        assert exceeds(certificate, certificate.bound - 1e-4, float(k[0]), strictly=False) > 0.3e-4 * 0.05 * k.prod()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_no_member_exceeds_a_difference(name: DivergenceName) -> None:
    """Random distributions with equal base rates, around the worst one too, stay below the bound."""
    rng = np.random.default_rng([71, NAMES.index(name)])
    for metric in METRICS[:2]:
        certificate = certify(MEAN, RADIUS[name], divergence=name, **named(metric))
        problem, given = statement(certificate)
        # Around the worst case of a slightly smaller ball: that of this one is at its edge.
        witness = certify(MEAN, 0.95 * RADIUS[name], divergence=name, **named(metric)).witness
        atoms = problem.lower
        closest = 0.0
        for _ in range(400):
            pull = 10.0 ** -rng.uniform(0, 5)
            k, r = (
                (1 - pull) * share + pull * rng.dirichlet(np.ones(2))
                for share in (witness.group_mass, witness.label_mass)
            )
            inside = witness.reweighting * np.exp(pull * rng.normal(size=witness.reweighting.shape))
            rest = witness.unseen * np.exp(pull * rng.normal(size=witness.unseen.shape))
            total = inside.sum(axis=2) + rest
            mass = k[:, None] * r
            q, stray = mass[..., None] * inside / total[..., None], mass * rest / total
            if distance(name, atoms.probability, q, float(stray.sum())) > certificate.rho:
                continue
            sums = ((q * atoms.loss).sum(axis=2) + stray * problem.ceiling) * given
            difference = float((sums.sum(axis=1) / k).sum())
            closest = max(closest, difference)
            assert difference <= certificate.bound + 1e-12
        assert closest > certificate.bound - 0.05


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_groups_that_can_be_emptied(name: DivergenceName) -> None:
    """The mean of an emptied group may be anything; the other one's cannot, and one mean is relaxed."""
    population = Population.from_moments(np.array([[0.57, 0.38], [0.02, 0.03]]), E)
    certificate = certify(population, 0.2, divergence=name, metric="group_loss_difference")
    assert certificate.bound < 0.999
    assert certificate.gap <= (1e-3 if name == "trimming" else 1e-4)  # its value has a kink next to no mass at all
    assert certificate.witness.group_mass[1] > 0
    assert verify(certificate.to_json()).reasons == ()
    # One group emptied: its losses are all one, the other's as small as they can be, or the other way round.
    largest = certify(population, 0.2, divergence=name, metric="group_loss", group=0)
    assert certificate.bound >= largest.attained - 1e-6
    leaves = [leaf for s in statements(json.loads(certificate.to_json())) for leaf in s["proof"]["leaves"]]
    assert "plus" in {leaf["relaxed"] for leaf in leaves}


def leading(d: Document) -> Document:
    """Return the statement with the worst bound."""
    return max(statements(d), key=lambda s: s["bound"])


FORGERIES: dict[str, Change] = {
    "claims too low": lambda d: [c.update(bound=c["bound"] - 1e-3, attained=c["attained"] - 1e-3) for c in claims(d)],
    "a smaller radius": lambda d: [point.update(rho=0.8 * point["rho"]) for point in only(d)["points"]],
    "relaxed turned round": lambda d: [
        leaf.update(relaxed="both" if leaf["relaxed"] == "plus" else "minus") for leaf in leading(d)["proof"]["leaves"]
    ],
    "another axis": lambda d: leading(d)["proof"].update(axis="label"),
}


def test_forged_differences_are_refused() -> None:
    for name in NAMES:
        text = certify(MEAN, RADIUS[name], divergence=name, metric="group_loss_difference").to_json()
        for forgery in FORGERIES.values():
            check_forgery(text, forgery, "", None)


def test_more_groups_and_labels() -> None:
    mass = np.array([[0.2, 0.1, 0.05], [0.15, 0.1, 0.1], [0.15, 0.1, 0.05]])
    mean = np.array([[0.1, 0.3, 0.2], [0.2, 0.1, 0.4], [0.1, 0.2, 0.5]])
    three, two = Population.from_moments(mass, mean), Population.from_moments(mass[:2] / mass[:2].sum(), mean[:2])
    for population, budget, gap in ((three, 32, 0.1), (two, None, 1e-6)):
        certificate = certify(population, 0.1, divergence="kl", metric="group_loss_difference", budget=budget)
        assert len(certificate.comparisons) in {2, 6}
        assert 0 <= certificate.gap <= gap
        assert verify(certificate.to_json()).reasons == ()
    odds = certify(MEAN, 0.05, divergence="kl", metric="equalized_odds_difference")
    assert odds.gap <= 1e-6
    assert verify(odds.to_json()).reasons == ()
