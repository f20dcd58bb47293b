"""The program of form F: its derivatives, what it is worth, and where one leaf is enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pytest

from fairbound import certify
from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.problem.limits import Limits
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional import FractionalSaddle, FractionalSolution, solve_fractional
from fairbound.solve.fractional_bounds import fractional_bound
from fairbound.solve.limit_terms import LimitedSaddle, RowTerm
from fairbound.solve.problem import Problem
from fairbound.solve.shares import MarginalSet
from fairbound.solve.whole_leaf import whole_leaves
from tests.differences import check_derivatives, chosen, inside
from tests.fractional_leaves import kernel_bound_of_leaf, moved, one_leaf, whole
from tests.oracles import sensitive_within
from tests.problems import radius, random_limits, random_population, solver

GROUPS, LABELS, ATOMS = 3, 2, 3

#: Whether tops move, shares are given, or they are found in a piece.
Variant = Literal["given tops", "moving tops", "given shares", "pieces", "pieces, moving tops"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
TOLERANCES = [0.0, 0.2, 1.0]


def group_limits(rng: np.random.Generator, size: int) -> Limits:
    """Return limits on single shares, two of them on one, and on all: rows in the blocks and across."""
    rows = np.vstack([np.eye(size)[[0, 1, 0]] * [[1.0], [-1.0], [-1.0]], rng.normal(size=(2, size))])
    return Limits(tuple(map(tuple, rows.tolist())), tuple((rows.max(axis=1) + 0.1).tolist()))


@dataclass(frozen=True)
class Program:
    """A program, alone or with terms of limits, and what it is about; two problems in a batch."""

    saddle: FractionalSaddle
    limited: Any
    terms: tuple[RowTerm, ...]

    @staticmethod
    def drawn(seed: int, variant: Variant, tolerance: float, limited: bool) -> Program:
        rng = np.random.default_rng(seed)
        moving, given = variant.endswith("moving tops"), variant == "given shares"
        weight = rng.dirichlet(np.ones(GROUPS * LABELS * ATOMS)).reshape(1, GROUPS, LABELS, ATOMS)
        value = rng.uniform(size=weight.shape)
        ceiling = value.max(axis=(0, 3)) + 0.1
        top = ceiling if moving or given else np.repeat(ceiling.max(axis=1)[:, None], LABELS, axis=1)
        skew = 0.5 if rng.random() < 0.5 else None
        groups = MarginalSet(GROUPS, skew, group_limits(rng, GROUPS) if limited else None)
        labels = MarginalSet(LABELS, skew, group_limits(rng, LABELS) if limited and tolerance == 0.0 else None)
        share = rng.dirichlet(np.full(GROUPS, 3.0), size=2) if given else None
        cap = np.array([50.0, 60.0]) if given else None
        rates, tau = BaseRates(GROUPS, labels, tolerance), rng.uniform(0.3, 0.9, size=2)
        vertices = rng.dirichlet(np.full(GROUPS, 3.0), size=(2, 4)) if variant.startswith("pieces") else None
        cap = np.array([50.0, 60.0]) if vertices is not None else cap
        saddle = FractionalSaddle(np.sqrt(weight), value, top, tau, rates, groups, moving, share, cap, vertices)
        at = saddle.places
        terms: tuple[RowTerm, ...] = () if given else (groups.term(at.k),)
        terms += (labels.term(at.common),) if saddle.equal else ()
        if not (limited and terms):
            return Program(saddle, saddle, ())
        return Program(saddle, LimitedSaddle(saddle, terms, (at.locals, at.globals)), terms)

    def point(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return a point not far from the start, where shares add up to one, and x that are not the best ones."""
        local, shared = (part.copy() for part in self.limited.start())
        local *= 1.0 + 0.3 * rng.uniform(size=local.shape)
        shared *= 1.0 + 0.3 * rng.uniform(size=shared.shape)
        at = self.saddle.places
        shared[:, 0] = rng.uniform(0.2, 1.0, size=len(shared))
        for place in (at.nu, at.k_nu, at.common_nu):
            if place >= 0:
                part = local if place == at.nu else shared
                part[..., place] = rng.normal(size=part[..., place].shape)
        shared[:, at.offset] = rng.uniform(0.0, 0.5, size=shared[:, at.offset].shape)
        if self.saddle.share is None:
            local[..., at.k] /= local[..., at.k].sum(axis=1, keepdims=True)
        for part, where in ((local, at.rate), (shared, at.common), (shared, at.theta)):
            part[..., where] /= part[..., where].sum(axis=-1, keepdims=True)
        if self.saddle.vertices is not None:
            local[..., at.tie] = rng.normal(size=local[..., at.tie].shape)
        x = self.limited.inner(local, shared)
        return local, shared, x * rng.uniform(0.7, 1.4, size=x.shape)

    def value(self, problem: int, local: Any, shared: Any, x: Any) -> Any:
        """Evaluate L as it is written down in the program's description, at points (K, ...) of one problem."""
        program, at = self.saddle, self.saddle.places
        zeta, lam = local[..., :LABELS], shared[:, 0]
        k = local[..., at.k] if program.share is None else program.share[None, problem]
        if program.moving:
            top = np.repeat(local[..., at.base, None], LABELS, axis=-1)
            if program.equal:
                top = np.concatenate([top[..., :1], top[..., 1:] + shared[:, None, at.offset]], axis=-1)
        else:
            top = np.broadcast_to(program.top, zeta.shape)
        rate = shared[:, None, at.common] if program.equal else local[..., at.rate]
        found = (zeta * rate).sum(axis=(1, 2)) - 2.0 * lam * program.tau[problem]
        if program.moving:  # a group's rates add up to one
            found = found + (local[..., at.base] * k).sum(axis=1)
            if program.equal:
                found = found + (shared[:, at.offset] * shared[:, at.common][:, 1:]).sum(axis=1)
        elif program.share is None:
            found = found + (program.top[:, 0] * k).sum(axis=1)
        else:
            found = found + (program.top * k[..., None] * rate).sum(axis=(1, 2))
        depth = (zeta / k[..., None] + top)[..., None] - program.value
        found = found + (2.0 * lam[:, None, None, None] * program.root * x - x * x * depth).sum(axis=(1, 2, 3))
        if program.share is None:
            found = found + shared[:, at.k_nu] * (1.0 - k.sum(axis=1))
        if program.equal:
            found = found + shared[:, at.common_nu] * (1.0 - shared[:, at.common].sum(axis=1))
        else:
            found = found + (local[..., at.nu] * (1.0 - local[..., at.rate].sum(axis=2))).sum(axis=1)
        if program.vertices is not None:
            mixed = shared[:, at.theta] @ program.vertices[problem]
            found = found + (local[..., at.tie] * (mixed - k)).sum(axis=1)
            found = found + shared[:, at.theta_nu] * (1.0 - shared[:, at.theta].sum(axis=1))
        return found + self.limits(local, shared)

    def limits(self, local: Any, shared: Any) -> Any:
        """Evaluate ``<mu, b - A m>`` of all limits."""
        found = np.zeros(len(shared))
        for term, (own, joint) in zip(self.terms, self.limited._places if self.terms else (), strict=True):
            share = shared[:, term.shares] if isinstance(term.shares, slice) else local[..., term.shares]
            matrix, most = term.joint
            found = found + (shared[:, joint] * (most - share @ matrix.T)).sum(axis=1)
            if not isinstance(term.shares, slice):
                factor, right = term.own
                found = found + (local[..., own] * (right - factor * share[..., None])).sum(axis=(1, 2))
        return found


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_derivatives_agree_with_differences(variant: Variant, tolerance: float, limited: bool) -> None:
    for seed in range(2):
        program = Program.drawn(seed, variant, tolerance, limited)
        rng, at = np.random.default_rng(100 + seed), program.saddle.places
        local, shared, x = program.point(rng)
        most = (
            chosen(local.shape[2], at.k, at.rate),
            chosen(shared.shape[1], at.common, at.low, at.theta, at.common_floor, at.k_floor),
        )
        check_derivatives(program.limited, program.value, (local, shared, x), most, rng)
        assert (inside(program.saddle) > 0).all()


def value_at(side: Problem, rho: float, found: FractionalSolution, top: Floats) -> float:
    """Evaluate the program where its solver stopped."""
    (k,), (zeta,), (lam,), (rate,) = found.share, found.zeta, found.lam, found.rate
    tau, atoms = float(least_affinity(rho)), side.upper
    level = (zeta * rate).sum() + (k[:, None] * top * rate).sum()
    terms = atoms.probability / np.where(atoms.probability > 0, (zeta / k[:, None] + top)[..., None] - atoms.loss, 1.0)
    value = float(level - 2.0 * lam * tau + lam**2 * terms.sum())
    for shares, mu, share in ((side.groups, found.group_mu[0], k), (side.labels, found.label_mu[0], rate)):
        if shares.limits is not None:
            value += float(mu @ (shares.limits.right - shares.limits.matrix @ share))
    return value


ASKED: dict[str, dict[str, Any]] = {
    "equal": {},
    "tolerance": {"base_rate_tolerance": 0.05},
    "free": {"fair": False},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limits", ["none", "skew", "rows"])
@pytest.mark.parametrize("condition", ASKED)
@pytest.mark.parametrize("shift", ["general", "sensitive", "observed"])
def test_the_value_is_what_the_checker_says(shift: str, condition: str, limits: str, seed: int) -> None:
    """Of all shares at once, on either side where base rates are equal."""
    rng = np.random.default_rng([seed, len(shift), len(condition), len(limits)])
    shape = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    asked = {**ASKED[condition]}
    if limits == "skew":
        asked["group_skew"] = 0.3
    elif limits == "rows":
        asked |= random_limits(rng, "group", shape[0])
        asked |= random_limits(rng, "label", shape[1]) if condition == "equal" else {}
    more: Any = {"support": "observed"} if shift == "observed" else {"shift": shift}
    population = random_population(rng, *shape, "rows" if shift == "observed" else str(rng.choice(["mean", "rows"])))
    question = solver(population, **asked, **more)
    rho = question.distance + float(rng.choice([0.05, 0.3])) * (1.0 - question.distance)
    for axis in ("group", "label") if condition == "equal" else ("group",):
        side = question.problem if axis == "group" else question.problem.transposed
        rates = BaseRates(side.groups.size, side.labels, question.condition.largest_difference)
        for moving in (True, False):
            found = solve_fractional(side, rates, least_affinity(np.array([rho])), 1e-13, moving=moving)
            leaves, bound = whole_leaves(side, rates, np.array([rho]), found)
            proved = kernel_bound_of_leaf(question, rho, axis, leaves)
            value = value_at(side, rho, found, leaves.tops[0])
            assert proved == pytest.approx(value, abs=1e-9)
            assert proved <= bound[0] <= proved + 1e-11


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("condition", ASKED)
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_with_given_shares_it_is_the_worst_case_there(shift: Any, condition: str, seed: int) -> None:
    """A piece that is one point: the multipliers prove no more than the program is worth, and no distribution more."""
    rng = np.random.default_rng([seed, len(shift), len(condition)])
    question = solver(random_population(rng, 3, 2), shift=shift, **ASKED[condition])
    side, rho = question.problem, np.array([question.distance + 0.2 * (1.0 - question.distance)])
    rates = BaseRates(3, side.labels, question.condition.largest_difference)
    share = 0.7 * question.nearest.group_mass + 0.3 * rng.dirichlet(np.ones(3), size=2)
    found = solve_fractional(side, rates, least_affinity(np.repeat(rho, 2)), 1e-13, share=share, cap=np.full(2, 1e6))
    _, most = whole_leaves(side, rates, rho, solve_fractional(side, rates, least_affinity(rho), 1e-13, moving=True))
    for one in (0, 1):
        here, k = found.take(np.array([one])), share[one]
        base = side.ceiling.max(axis=1)
        zeta, nu = here.zeta[0] + k[:, None] * (side.ceiling - base[:, None]), here.nu[0] - k * base
        leaves = one_leaf(side, zeta, base, k, float(here.lam[0]), nu=nu)
        bound = fractional_bound(side, rates, rho, k[None, None], leaves)[0]
        assert bound == pytest.approx(value_at(side, float(rho[0]), here, side.ceiling), rel=1e-12, abs=1e-9)
        assert bound <= most[0] + 1e-9
        if shift == "sensitive" and condition == "equal":
            assert bound == pytest.approx(sensitive_within(side, float(rho[0]), k), abs=1e-7)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("condition", ASKED)
@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_no_other_multipliers_are_better(shift: Any, condition: str, seed: int) -> None:
    """The program is convex: what is close to its solution, or anywhere, proves no smaller bound."""
    rng = np.random.default_rng([seed, len(shift), len(condition), 1])
    question = solver(random_population(rng, 3, 2), shift=shift, **ASKED[condition])
    side, rho = question.problem, np.array([question.distance + 0.2 * (1.0 - question.distance)])
    rates = BaseRates(3, side.labels, question.condition.largest_difference)
    found = solve_fractional(side, rates, least_affinity(rho), 1e-13, moving=True)
    leaves, bound = whole_leaves(side, rates, rho, found)
    better = 0
    for _ in range(300):
        other = moved(rng, leaves)
        if rates.tolerance > 0.0:
            other = replace(other, offset=leaves.offset)
        if (other.zeta < 0).any() or (other.tops[0][..., None] < side.upper.loss).any():
            continue  # not of the program: some terms are convex in the shares then
        value = fractional_bound(side, rates, rho, whole(side), other)[0]
        assert value >= bound[0] - 1e-9
        better += bool(np.isfinite(value))
    assert better >= 20


ONE_LEAF: dict[str, list[int]] = {
    "sensitive": [0, 1, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
    "observed": [0, 1, 2, 5, 6, 7, 8, 9, 11, 12, 13, 14],
}


@pytest.mark.parametrize(("shift", "seed"), [(shift, seed) for shift, seeds in ONE_LEAF.items() for seed in seeds])
def test_one_leaf_is_enough(shift: str, seed: int) -> None:
    """Of these three by three tables all shares at once were bounded within the tolerance."""
    rng = np.random.default_rng([seed, 77])
    more: Any = {"support": "observed"} if shift == "observed" else {"shift": shift}
    population = random_population(rng, 3, 3, "rows" if shift == "observed" else "mean")
    certificate = certify(population, radius(population, float(rng.choice([0.05, 0.2]))), **more)
    assert len(certificate.proof.leaves) == 1
    assert certificate.gap <= 1e-6
