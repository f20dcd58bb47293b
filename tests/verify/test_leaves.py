"""An attack on the one inequality: no multipliers, however chosen, prove less than what some distribution attains.

Random statements of all kinds; distributions of their sets, climbed in plain floats from a model that shares nothing
with the checker; multipliers, climbed down by asking the checker itself. If a formula proved too much, the descent
would find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, cast

import numpy as np
import pytest
from flint import arb, ctx
from scipy.optimize import minimize

from fairbound.verify.balls import PRECISION, RefusedError
from fairbound.verify.document import (
    Fractional,
    Knowledge,
    Limits,
    Losses,
    Mean,
    MeanVariance,
    Measured,
    Metric,
    Objective,
    Question,
    Tilted,
)
from fairbound.verify.leaves import excess_of
from fairbound.verify.statement import Statement

Relaxed = Literal["none", "plus", "minus", "both"]

Array = Any

#: The leaves about one objective; those about every two groups are made of them (test_every_two.py).
Leaf = Tilted | Fractional

#: What the sums of floats may be off.
ROUNDING = 1e-9

#: Distributions that climb at the same time, and how often; random multipliers that are tried, and steps down.
CHAINS, CLIMBS, STARTS, DESCENTS = 40, 40, 16, 60

KINDS = ["none", "plus", "minus", "both"]


@pytest.fixture(autouse=True)
def _precise() -> Iterator[None]:
    """Compute as the checker does."""
    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before


@dataclass
class Model:
    """A statement in floats: P's masses of atoms, signed values, and where Q may put mass; (groups, labels, atoms)."""

    population: Measured
    question: Question
    objective: Objective | None
    rho: float
    factor: float
    p: Array
    value: Array
    allowed: Array

    @property
    def tolerance(self) -> float:
        """By how much base rates may differ."""
        return self.question.base_rate_tolerance or 0.0 if self.question.fair else 1.0

    @property
    def statement(self) -> Statement:
        """The same, as the checker sees it."""
        return Statement(self.population, self.question, self.objective, self.rho, factor=self.factor)


@dataclass
class Chains:
    """Distributions: shares of groups, base rates of each, and what they are like inside of the cells."""

    k: Array
    r: Array
    c: Array

    def where(self, chosen: Array, other: Chains) -> Chains:
        """Take some from here and the others from there."""
        pick = [chosen.reshape(-1, *[1] * (a.ndim - 1)) for a in (self.k, self.r, self.c)]
        return Chains(
            *(
                np.where(m, a, b)
                for m, a, b in zip(pick, (self.k, self.r, self.c), (other.k, other.r, other.c), strict=True)
            )
        )


#: Orders of Cressie and Read's divergences: with and without mass outside of P, with and without variances.
ORDERS = ("cressie_read:0.3", "cressie_read:0.8", "cressie_read:1.5", "cressie_read:3")


def named(question: Question) -> str:
    """Return the name of a question's divergence, with the order if it has one."""
    return question.divergence if question.order is None else f"{question.divergence}:{question.order:g}"


def order_of(name: str) -> float | None:
    """Return the order in a name, if it has one."""
    return float(name.partition(":")[2]) if ":" in name else None


def divergence(name: str, p: Array, q: Array) -> Array:
    """Return the divergence of each distribution from P."""
    axes = (-3, -2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "hellinger":
            return 1.0 - np.sqrt(p * q).sum(axes)
        if name == "total_variation":
            return np.maximum(q - p, 0.0).sum(axes)
        if name == "trimming":
            return 1.0 - 1.0 / np.where(q > 0, q / p, 1.0).max(axes).clip(1.0)
        if (a := order_of(name)) is not None:
            t = q / np.where(p > 0, p, 1.0)
            terms = np.where(p > 0, p * (t**a - a * t + a - 1) / (a * (a - 1)), q / (1 - a) if a < 1 else np.inf * q)
            terms = np.where(q > 0, terms, p / a)
        elif name == "kl":
            terms = np.where(q > 0, q * np.log(np.where(q > 0, q / p, 1.0)), 0.0)
        else:
            terms = np.where((p > 0) | (q > 0), (q - p) ** 2 / p, 0.0)
    return terms.sum(axes)


def parts_of(model: Model) -> tuple[Array, Array]:
    """Return which labels count, and which are the first part of them."""
    about, labels = model.objective, np.arange(model.p.shape[1])
    if about is None or about.label is None:
        return labels >= 0, labels >= 0
    return (labels == about.label) == about.inside, labels == about.label


def values_of(model: Model, q: Chains) -> tuple[Array, Array]:
    """Return the values of distributions, and the masses that means are taken over, by group."""
    inside = (q.r[..., None] * q.c * model.value).sum(-1)
    about, counted = model.objective, parts_of(model)[0]
    if about is None:
        return (q.k * inside.sum(-1)).sum(-1), q.k
    share = q.r[..., counted].sum(-1)
    means = inside[..., counted].sum(-1) / np.maximum(share, 1e-300)
    chosen = [s for s in (about.plus, about.minus) if s is not None]
    defined = np.all([(q.k[:, s] > 1e-9) & (share[:, s] > 1e-9) for s in chosen], axis=0)
    return np.where(defined, sum(means[:, s] for s in chosen), -np.inf), q.k * share


def slacks(model: Model, q: Chains) -> Array:
    """Return what is left of all that is asked of distributions."""
    question = model.question
    radius = model.rho**2 if question.divergence == "hellinger" else model.rho
    masses = q.k[..., None, None] * q.r[..., None] * q.c
    found = [radius - divergence(named(question), model.p, masses)]
    for shares, limits in ((q.k, question.group_limits), (q.r[:, 0], question.label_limits)):
        found += [most - shares @ np.array(row) for row, most in zip(limits.rows, limits.most, strict=True)]
        found += [] if limits.skew is None else [limits.skew - np.ptp(shares, axis=-1)]
    if 0 < model.tolerance < 1:
        found += list((model.tolerance - np.ptp(q.r, axis=1)).T)
    return np.stack(found, axis=-1)


def inside(model: Model, q: Chains) -> Array:
    """Whether distributions are in question."""
    return (slacks(model, q) >= 0).all(-1) & ((np.ptp(q.r, axis=1).max(-1) == 0) | (model.tolerance > 0))


def moved(rng: np.random.Generator, shares: Array, size: float, allowed: Array) -> Array:
    """Return shares near the given ones: multiplied, or moved to a corner."""
    scale = size * 10.0 ** -rng.uniform(0, 3, shares.shape[0])
    scale = scale.reshape(-1, *[1] * (shares.ndim - 1))
    found = shares * np.exp(3 * scale * rng.normal(size=shares.shape))
    corner = rng.random(shares.shape) == 0
    corner |= np.arange(shares.shape[-1]) == rng.integers(0, shares.shape[-1], shares.shape[:-1])[..., None]
    jump = rng.random(shares.shape[0]).reshape(scale.shape) < 0.4
    found = np.where(jump, (1 - scale) * shares + scale * corner, found) * allowed
    whole = found.sum(-1, keepdims=True)
    return np.where(whole > 0, found / np.where(whole > 0, whole, 1), shares)


def climbed(rng: np.random.Generator, model: Model, start: Chains) -> Chains:
    """Climb from one distribution to many that attain much, of which some are drawn to corners of the shares."""
    q = Chains(*(np.repeat(a, CHAINS, axis=0) for a in (start.k, start.r, start.c)))
    drawn = np.repeat([0.0, 1.0], CHAINS // 2)
    towards_k, towards_r = rng.normal(size=q.k.shape), rng.normal(size=(CHAINS, q.r.shape[-1]))

    def aim(found: Chains) -> Array:
        pulled = (found.k * towards_k).sum(-1) + (found.r.mean(1) * towards_r).sum(-1)
        return values_of(model, found)[0] + drawn * pulled

    best, fixed = aim(q), model.question.shift == "sensitive"
    free = model.tolerance > 0
    for step in range(CLIMBS):
        which = step % 3
        k = moved(rng, q.k, 0.5, 1.0) if which != 1 else q.k
        r = q.r
        if which != 0:
            common = moved(rng, q.r[:, :1], 0.5, 1.0) - q.r[:, :1]
            own = moved(rng, q.r, 0.5, 1.0) - q.r if free else 0.0
            r = np.maximum(q.r + common * (rng.random() < 0.7) + own, 0.0)
            r /= r.sum(-1, keepdims=True)
        c = q.c if fixed or rng.random() < 0.3 else moved(rng, q.c, 0.5, model.allowed)
        new = Chains(k, r, c)
        reached = aim(new)
        better = inside(model, new) & (reached > best)
        q, best = new.where(better, q), np.where(better, reached, best)
    return q


def polished(model: Model, q: Chains) -> Chains:
    """Improve one distribution by a local solver; return what it finds, and steps back to where it came from."""
    groups, labels = model.p.shape[:2]
    equal, fixed = model.tolerance == 0, model.question.shift == "sensitive"
    places: Any = tuple(np.argwhere(model.allowed).T)
    rows = 1 if equal else groups
    ends = groups, groups + rows * labels

    def unpacked(z: Any) -> Chains:
        z = np.atleast_2d(z) ** 2 + 1e-14
        k, r = z[:, : ends[0]], z[:, ends[0] : ends[1]].reshape(-1, rows, labels)
        c = np.repeat(np.where(model.allowed.any(-1, keepdims=True) & (not fixed), 0.0, q.c), len(z), axis=0)
        if not fixed:
            c[(slice(None), *places)] = z[:, ends[1] :]
        r = np.repeat(r, groups, axis=1) if equal else r
        return Chains(*(share / share.sum(-1, keepdims=True) for share in (k, r, c)))

    def negative(z: Array) -> Array:
        return -np.maximum(values_of(model, unpacked(z))[0], -1e3)

    def room(z: Array) -> Array:
        return np.maximum(slacks(model, unpacked(z)), -1e3)

    def gradient(f: Callable[[Array], Array], z: Array) -> Array:
        near = f(z + 1e-7 * np.vstack([np.eye(len(z)), -np.eye(len(z))]))
        return ((near[: len(z)] - near[len(z) :]) / 2e-7).T

    parts = [q.k[0], q.r[0, :rows].ravel(), q.c[0][places] if not fixed else np.zeros(0)]
    solve: Any = minimize
    asked = {"type": "ineq", "fun": lambda z: room(z)[0], "jac": lambda z: gradient(room, z)}
    found = solve(
        lambda z: float(negative(z)[0]),
        np.maximum(np.sqrt(np.concatenate(parts)), 1e-4),
        jac=lambda z: gradient(negative, z),
        method="SLSQP",
        constraints=asked,
        options={"maxiter": 40, "ftol": 1e-10},
    )
    end, back = unpacked(found.x), np.array([0.0, *10.0 ** np.arange(-9.0, 0.0), 1.0])
    steps = [back.reshape(-1, *[1] * (a.ndim - 1)) for a in (q.k, q.r, q.c)]
    ways = zip(steps, (end.k, end.r, end.c), (q.k, q.r, q.c), strict=True)
    return Chains(*((1 - t) * a + t * b for t, a, b in ways))


def random_law(rng: np.random.Generator, top: float, kind: str) -> tuple[list[float], list[float], list[float]]:
    """Return the atoms of a cell and their shares, and the bins that they are told in: of a pair, one bin."""
    if kind == "selected":
        share = float(rng.choice([0.0, 1.0, *rng.uniform(size=3)]))
        return [0.0, top], [1 - share, share], [0.0, top]
    atoms = sorted(top * rng.uniform(size=2)) if rng.random() < 0.8 else [0.0, top]
    share = float(rng.uniform()) if rng.random() < 0.8 else float(rng.integers(2))
    return [float(a) for a in atoms], [1 - share, share], [float(a) for a in atoms]


def random_model(rng: np.random.Generator) -> tuple[Model, Chains]:
    """Return a statement, and one of the distributions that it is about."""
    shape = (2, 2) if rng.random() < 0.6 else (int(rng.integers(2, 4)), int(rng.integers(2, 4)))
    shift = str(rng.choice(["general", "sensitive"]))
    name = str(rng.choice(["hellinger", "hellinger", "total_variation", "kl", "chi_squared", "trimming", *ORDERS]))
    fair, tolerance = [(True, None), (True, None), (True, 0.05), (True, 0.4), (False, None)][rng.integers(5)]
    kind = str(rng.choice(["losses", "bins", "mean", "mean_variance"]))
    support = "observed" if kind in {"losses", "bins"} and rng.random() < 0.4 else "any"
    top = float(rng.choice([1.0, 2.0]))
    weight = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape) + 0.01
    if rng.random() < 0.35:
        weight[tuple(rng.integers(0, n) for n in shape)] = 0.0
    weight = np.round(weight / weight.sum(), 6)
    laws = [[random_law(rng, top, "any") for _ in range(shape[1])] for _ in range(shape[0])]
    about = random_objective(rng, shape) if rng.random() < 0.65 else None
    factor = float(rng.uniform(0.3, 1)) if about is not None and about.ratio else 1.0
    p, loss, allowed = _tables(weight, laws, shift, top, escapes=support == "any")
    signs = np.array([[_sign(about, s, y) for y in range(shape[1])] for s in range(shape[0])])[..., None]
    value = np.where(signs > 0, factor * loss, signs * loss)
    if name in {"kl", "chi_squared", "trimming", *ORDERS[2:]}:
        allowed = allowed * (p > 0)
    if shift == "general" and support == "any" and about is not None:  # the worst loss that nobody saw
        value = np.where((signs < 0) & (np.arange(3) == 2), 0.0, value)
    value = np.where((weight[..., None] == 0) & (signs < 0), 0.0, value)
    start = _start(weight, p, allowed, fair=fair)
    limits = [_random_limits(rng, start.k[0]), _random_limits(rng, start.r[0, 0])]
    limits[1] = limits[1] if fair and tolerance is None else Limits(None, [], [])
    asked: Any = (
        0,
        Metric("loss", None),
        shift,
        support,
        "ceiling",
        name.partition(":")[0],
        order_of(name),
        fair,
        tolerance,
        *limits,
        None,
        0.0,
        [],
        None,
        [],
    )
    question = Question(*asked)
    near = divergence(name, p, start.k[..., None, None] * start.r[..., None] * start.c)[0]
    radius = near * 1.02 + float(10 ** rng.uniform(-2.5, -0.5))
    rho = float(np.sqrt(radius)) if name == "hellinger" else radius
    unlimited = {"kl", "chi_squared", *ORDERS}
    rho = min(rho, np.inf if name in unlimited else {"trimming": 0.99}.get(name, 1.0))
    known = _knowledge(kind, weight, laws)
    groups, labels = (list[Any](range(n)) for n in shape)
    population = Measured(groups, labels, None, 0, True, weight.tolist(), "mine", None, top, known)
    return Model(population, question, about, rho, factor, p, value, allowed), start


def random_objective(rng: np.random.Generator, shape: tuple[int, int]) -> Objective:
    """Return a mean given a group, or how two differ, perhaps among the rows of some labels, or a ratio."""
    plus, minus = (int(s) for s in rng.permutation(shape[0])[:2])
    kind = rng.integers(4)
    label = int(rng.integers(shape[1])) if kind != 3 and rng.random() < 0.5 else None
    inside = label is None or bool(rng.random() < 0.6)
    return Objective([plus, None, plus, plus][kind], [None, minus, minus, minus][kind], label, inside, bool(kind == 3))


def _sign(about: Objective | None, s: int, y: int) -> int:
    if about is None:
        return 1
    counts = about.label is None or (y == about.label) == about.inside
    return counts * ((s == about.plus) - (s == about.minus))


def _tables(weight: Array, laws: Any, shift: str, top: float, *, escapes: bool) -> tuple[Array, Array, Array]:
    """Return masses, losses, and where Q may put mass: two atoms, or their mean, and what nobody saw."""
    shape = (*weight.shape, 3)
    p, loss, allowed = np.zeros(shape), np.full(shape, top), np.zeros(shape, bool)
    for s, y in np.ndindex(*weight.shape):
        atoms, shares, _ = laws[s][y]
        if weight[s, y] == 0:
            allowed[s, y, 2] = True
        elif shift == "sensitive":
            p[s, y, 0], loss[s, y, 0], allowed[s, y, 0] = weight[s, y], np.dot(atoms, shares), True
        else:
            p[s, y, :2], loss[s, y, :2] = weight[s, y] * np.array(shares), atoms
            allowed[s, y] = [shares[0] > 0, shares[1] > 0, escapes]
    return p / weight.sum(), loss, allowed


def _knowledge(kind: str, weight: Array, laws: Any) -> Knowledge:
    """Tell the laws of the cells: exactly, in bins, or by their moments."""
    if kind in {"losses", "bins"}:
        cells: Any = [[[] for _ in row] for row in laws]
        for s, y in np.ndindex(*weight.shape):
            (low, high), shares, _ = laws[s][y]
            if weight[s, y] and kind == "bins":
                cells[s][y] = [[low, high, weight[s, y], shares[1]]]
            elif weight[s, y]:
                cells[s][y] = [[v, v, w * weight[s, y], 0.0] for v, w in zip((low, high), shares, strict=True) if w]
        return Losses("losses", cells, 1.0)
    mean = [[float(np.dot(atoms, shares)) for atoms, shares, _ in row] for row in laws]
    if kind == "mean":
        return Mean("mean", mean)
    variance = [
        [float(np.dot((np.array(atoms) - m) ** 2, shares)) for (atoms, shares, _), m in zip(row, means, strict=True)]
        for row, means in zip(laws, mean, strict=True)
    ]
    return MeanVariance("mean_variance", mean, variance)


def _start(weight: Array, p: Array, allowed: Array, *, fair: bool) -> Chains:
    """Return a distribution near P with equal base rates, and no mass in empty cells if there are labels enough."""
    weight = weight / weight.sum()
    k, r = weight.sum(1), np.tile(weight.sum(0), (len(weight), 1))
    full = (weight > 0).all(0)
    r = r * full if full.any() else r
    r = weight / k[:, None] if not fair else r / r.sum(-1, keepdims=True)
    c: Array = np.where(p.sum(-1, keepdims=True) > 0, p, allowed)
    c = np.where(c.sum(-1, keepdims=True) > 0, c, 1.0)
    return Chains(k[None], r[None], (c / c.sum(-1, keepdims=True))[None])


def _random_limits(rng: np.random.Generator, shares: Array) -> Limits:
    """Return limits that some shares obey."""
    skew = min(1.0, float(np.ptp(shares) + rng.uniform(0, 0.3))) if rng.random() < 0.2 else None
    rows = [rng.choice([-1.0, 0.0, 1.0], len(shares)).tolist() for _ in range(int(rng.integers(0, 3)))]
    rows = rows if rng.random() < 0.3 else []
    return Limits(skew, rows, [min(2.0, float(np.dot(row, shares) + rng.uniform(0, 0.2))) for row in rows])


def random_leaf(rng: np.random.Generator, model: Model, axis: str, form: str, relaxed: str) -> Leaf:
    """Return multipliers that are sensible, more or less."""
    groups, labels = model.p.shape[:2]
    question, about = model.question, model.objective
    size = {"group": groups, "label": labels, "part": 1 if about is None or about.label is None else 2}[axis]
    mus = [
        np.abs(rng.normal(0, 0.1, len(side.most))) * (rng.random() < 0.5)
        for side in (question.group_limits, question.label_limits)
    ]
    high = float(np.abs(model.value).max())
    lam = float(high * 10 ** rng.uniform(-1, 1.0)) * (rng.random() > 0.08)
    centre = rng.dirichlet(np.ones(size) * 5) if size > 1 else np.ones(1)
    zeros = np.zeros(size)
    noise = rng.normal(0, 0.05 * high, (groups, labels)) * (rng.random() < 0.5)
    if form == "T":
        least = 0.0 if about is not None else high
        w = np.full((groups, labels), least + high * 10 ** rng.uniform(-2, 0.5)) + noise
        if question.divergence != "hellinger":
            w -= high * rng.uniform(0, 1)
        group_mu, label_mu = (mu.tolist() for mu in mus)
        free, means = zeros.tolist(), cast("Relaxed", relaxed)
        return Tilted("T", w.tolist(), centre.tolist(), free, [*free], lam, group_mu, label_mu, means)
    over = high * 10 ** rng.uniform(-2, 0.5)
    nu = None if rng.random() < 0.4 else np.zeros(groups).tolist()
    omega = np.zeros(labels if axis == "part" else size).tolist()
    if about is None:
        other = labels if axis == "group" else groups
        zeta = np.full((groups, labels), over * rng.uniform(0.05, 0.5)) + np.abs(noise)
        return Fractional(
            "F",
            zeta.tolist(),
            np.full(size, high).tolist(),
            np.zeros(other).tolist(),
            None,
            centre.tolist(),
            omega,
            lam,
            nu,
            *(mu.tolist() for mu in mus),
        )
    most = np.where(model.allowed, model.value, -np.inf).max(-1)
    zeta = most + over + noise
    slope = None if rng.random() < 0.3 else np.zeros((groups, labels)).tolist()
    return Fractional(
        "F", zeta.tolist(), None, None, slope, centre.tolist(), omega, lam, nu, *(mu.tolist() for mu in mus)
    )


def slopes(name: str, p: Array, q: Array) -> Array:
    """Return the derivative of the divergence's f at q / p."""
    t = np.clip(q / np.where(p > 0, p, 1.0), 1e-9, 1e9)
    if (a := order_of(name)) is not None:
        return (t ** (a - 1) - 1) / (a - 1)
    return {
        "hellinger": -0.5 / np.sqrt(t),
        "total_variation": 1.0 * (t > 1),
        "kl": np.log(t),
        "chi_squared": 2 * (t - 1),
        "trimming": 1.0 * (t > 0.999 * t.max()),
    }[name]


def informed_leaf(rng: np.random.Generator, model: Model, q: Chains, axis: str, leaf: Leaf, claim: float) -> Leaf:
    """Return the multipliers that would prove what a distribution attains if it were the worst one."""
    about, name = model.objective, named(model.question)
    _, first = parts_of(model)
    masses = q.k[0][:, None, None] * q.r[0][..., None] * q.c[0]
    value, share = model.value, np.where(first, *[q.r[0][:, part].sum(-1)[:, None] for part in (first, ~first)])
    scale = np.ones(model.p.shape[:2])
    if about is not None and isinstance(leaf, Fractional):
        scale = np.maximum(q.k[0][:, None] * (share if about.label is not None else 1.0), 1e-6)
    elif about is not None and isinstance(leaf, Tilted):
        signs = np.array([[_sign(about, *place) for place in row] for row in _places(model)])[..., None]
        value = np.where(signs != 0, value - (signs > 0) * claim if about.plus is not None else value - claim, 0.0)
        if about.plus is not None and about.minus is not None and leaf.relaxed == "none":
            value = value * np.where(signs > 0, q.k[0][about.minus], q.k[0][about.plus])
        if leaf.relaxed != "none":
            return leaf
    slope = slopes(name, model.p, masses)
    seen = model.p > 0
    weight = np.where(seen, masses + 1e-9 * model.p, 0.0)
    weight /= np.maximum(weight.sum(-1, keepdims=True), 1e-300)

    def centred(a: Array) -> Array:
        return np.where(seen, a - (weight * a).sum(-1, keepdims=True), 0.0)

    over = (masses * centred(slope) ** 2).sum()
    fitted = (masses * centred(slope) * centred(value / scale[..., None])).sum() / over if over > 1e-9 else 0.0
    lam = float(fitted) if fitted > 0 and rng.random() < 0.6 else leaf.lam
    eta = np.where(seen, weight * (value / scale[..., None] - lam * slope), 0.0).sum(-1)
    top = np.where(model.allowed, value, -np.inf).max(-1) / scale
    slope_beyond = {"total_variation": 1.0, **{one: 1 / (1 - (order_of(one) or 0)) for one in ORDERS[:2]}}
    lowest = top - lam * slope_beyond.get(name, 0.0)
    eta = np.where(seen.any(-1), eta, np.where(np.isfinite(lowest), lowest, 0.0))
    eta = np.maximum(eta, lowest + 1e-9) if name in {"hellinger", *slope_beyond} else eta
    centre = np.maximum(searched_shares(model, q, axis)[0], 1e-3)
    if isinstance(leaf, Tilted):
        return replace(leaf, w=eta.tolist(), centre=centre.tolist(), lam=lam)
    if about is None:
        searched = q.k[0][:, None] if axis == "group" else q.r[0]
        zeta = np.maximum(searched * (eta - model.value.max()), 0.0) + 1e-6
        return replace(leaf, zeta=zeta.tolist(), centre=centre.tolist(), lam=lam)
    return replace(leaf, zeta=(eta * scale).tolist(), centre=centre.tolist(), lam=lam)


def _places(model: Model) -> list[list[tuple[int, int]]]:
    return [[(s, y) for y in range(model.p.shape[1])] for s in range(model.p.shape[0])]


#: What a descent moves, and how often.
MOVED = [
    "w",
    "w",
    "w",
    "gamma",
    "omega",
    "lam",
    "lam",
    "centre",
    "zeta",
    "zeta",
    "zeta",
    "base",
    "offset",
    "slope",
    "nu",
    "group_mu",
    "label_mu",
]


def perturbed(rng: np.random.Generator, leaf: Leaf) -> Leaf:
    """Return multipliers near the given ones."""
    keys = [key for key in MOVED if getattr(leaf, key, None) not in (None, [])]
    key = str(rng.choice(keys))
    size = 10.0 ** rng.uniform(-2.5, 0.3)
    if key == "lam":
        return replace(leaf, lam=leaf.lam * float(np.exp(size * rng.normal())))
    old = np.array(getattr(leaf, key), float)
    chosen = rng.random(old.shape) < (1.0 if rng.random() < 0.3 else 0.5)
    new = old + size * chosen * (rng.normal() if rng.random() < 0.3 else rng.normal(size=old.shape))
    if key in {"centre", "group_mu", "label_mu"}:
        new = np.abs(new)
    return replace(leaf, **{key: new.tolist()})


def asked(statement: Statement, leaf: Leaf, axis: str, corners: list[list[arb]], claim: float) -> float | None:
    """Return what the checker says that is proved beyond the claim, rounded up; None if it refuses."""
    try:
        return float(excess_of(statement, leaf, axis, corners, arb(claim)).upper())
    except RefusedError:
        return None


def descended(
    rng: np.random.Generator, starts: Iterable[Leaf], ask: Callable[[Leaf], float | None]
) -> tuple[Leaf, float] | None:
    """Look for multipliers that prove as much as they can, by asking the checker."""
    found = [(ask(leaf), leaf) for leaf in starts]
    good = [(bound, n, leaf) for n, (bound, leaf) in enumerate(found) if bound is not None]
    if not good:
        return None
    best, _, leaf = min(good)
    for _ in range(DESCENTS):
        tried = perturbed(rng, leaf)
        bound = ask(tried)
        if bound is not None and bound < best:
            best, leaf = bound, tried
    return leaf, best


def searched_shares(model: Model, q: Chains, axis: str) -> Array:
    """Return the shares that pieces are pieces of."""
    if axis == "group":
        return q.k
    if axis == "label":
        low = q.r.min(1)
        whole = low.sum(-1, keepdims=True)
        return np.where(whole > 0, low / np.where(whole > 0, whole, 1), 1 / low.shape[-1])
    if model.objective is None or model.objective.label is None:
        return np.ones((len(q.k), 1))
    first = np.minimum(q.r[..., parts_of(model)[1]].sum(-1).min(-1), 1 - model.tolerance)
    return np.stack([first, 1 - first], axis=-1)


def weights_of(model: Model, q: Chains, leaf: Leaf) -> Array:
    """Return what means are multiplied with in what a leaf bounds."""
    about = model.objective
    if about is None or isinstance(leaf, Fractional):
        return np.ones(len(q.k))
    mass = values_of(model, q)[1]
    kept = [
        s
        for word, s in (("plus", about.plus), ("minus", about.minus))
        if s is not None and leaf.relaxed not in {word, "both"}
    ]
    if len(kept) == 2:
        return mass[:, kept[0]] * q.k[:, kept[1]]
    return mass[:, kept[0]] if kept else np.ones(len(q.k))


def in_piece(corners: Array, shares: Array) -> Array:
    """Whether shares lie in a piece."""
    if np.ptp(corners, axis=0).max(initial=0) == 0:
        return np.ones(len(shares), bool)
    return (np.linalg.solve(corners.T, shares.T) >= 0).all(0)


@dataclass
class Attack:
    """What an attack came to: how near to the best distribution the bounds are, and what they are too low by."""

    cases: int = 0
    proved: int = 0
    near: int = 0
    worst: float = -np.inf
    about: str = ""


def attack(rng: np.random.Generator, model: Model, start: Chains, total: Attack) -> None:
    """Compare random proofs of one statement with its distributions, for all axes and forms that there are."""
    q = climbed(rng, model, start)
    best = int(np.argmax(values_of(model, q)[0]))
    more = polished(model, Chains(q.k[[best]], q.r[[best]], q.c[[best]]))
    q = Chains(*(np.concatenate([a, b]) for a, b in zip((q.k, q.r, q.c), (more.k, more.r, more.c), strict=True)))
    good = inside(model, q)
    assert good[:CHAINS].all()
    q = Chains(q.k[good], q.r[good], q.c[good])
    reached = values_of(model, q)[0]
    if not np.isfinite(reached.max()):
        return
    about, hellinger = model.objective, model.question.divergence == "hellinger"
    forms = [("label", "T")] + [("group", "T")] * (model.tolerance in {0, 1})
    if hellinger:
        forms += [("group", "F")] + [("label", "F")] * (model.tolerance == 0) if about is None else [("part", "F")] * 2
    for axis, form in forms:
        attack_form(rng, model, q, axis, form, total)


def attack_form(rng: np.random.Generator, model: Model, q: Chains, axis: str, form: str, total: Attack) -> None:
    """Compare multipliers of one form, for a piece that has a bad distribution in it, with what is there."""
    reached, statement, about = values_of(model, q)[0], model.statement, model.objective
    size = float(np.abs(model.value).max())
    relaxed = "none" if about is None or form == "F" else str(rng.choice(KINDS, p=[0.7, 0.1, 0.1, 0.1]))
    if about is not None and None not in {about.plus, about.minus} and axis == "label":
        relaxed = str(rng.choice(KINDS[1:]))
    shares = searched_shares(model, q, axis)
    best = int(np.argmax(reached)) if rng.random() < 0.8 else int(rng.choice(np.flatnonzero(np.isfinite(reached))))
    wide = float(rng.choice([1.0, 0.1, 0.01, 0.001]))
    corners = np.array([(1 - wide) * shares[best] + wide * corner for corner in np.eye(shares.shape[-1])])
    if axis == "part" and len(corners) == 2:  # the second part has at least as much
        corners[:, 0] *= 1 - model.tolerance
        corners[:, 1:] = 1 - corners[:, :1]
    claim = 0.0 if about is not None and about.ratio else float(reached[best] - size * 10 ** rng.uniform(-4, -1))
    worst = Chains(q.k[[best]], q.r[[best]], q.c[[best]])
    exact = [[arb(float(x)) for x in corner] for corner in corners]

    def starts() -> Iterator[Leaf]:
        for _ in range(STARTS):
            leaf = random_leaf(rng, model, axis, form, relaxed)
            yield leaf if rng.random() < 0.3 else informed_leaf(rng, model, worst, axis, leaf, claim)

    total.cases += 1
    found = descended(rng, starts(), lambda leaf: asked(statement, leaf, axis, exact, claim))
    if found is None:
        return
    total.proved += 1
    leaf, bound = found
    here = in_piece(corners, shares) & np.isfinite(reached)
    over = np.where(here, weights_of(model, q, leaf) * (reached - claim) - bound, -np.inf)
    if bound < 0:  # then the claim is proved
        over = np.maximum(over, np.where(here, reached - claim, -np.inf))
    nearest = float(over.max())
    total.near += nearest > -0.01 * size
    if nearest > total.worst:
        total.worst, total.about = nearest, repr((model, leaf, relaxed, corners))


@cache
def attacked(seed: int, count: int = 60) -> Attack:
    """Attack some statements."""
    rng, total = np.random.default_rng(seed), Attack()
    while total.cases < count:
        model, start = random_model(rng)
        if inside(model, start).all():
            attack(rng, model, start, total)
    return total


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_multipliers_prove_too_much(seed: int) -> None:
    """Nearly all pieces are proved something of, many as much as is true of them, and none more."""
    found = attacked(seed)
    assert found.worst <= ROUNDING, found.about
    assert found.proved >= 0.9 * found.cases
    assert found.near >= 0.1 * found.cases


WEIGHT = [[0.3, 0.2], [0.1, 0.4]]


def example(
    objective: Objective | None = None,
    *,
    tolerance: float | None = None,
    fair: bool = True,
    divergence: str = "hellinger",
    limits: Limits | None = None,
    rho: float = 0.3,
    shift: str = "sensitive",
    mean: Any = ((0.2, 0.6), (0.4, 0.9)),
) -> Statement:
    """Return a small statement."""
    free = Limits(None, [], [])
    known = Mean("mean", [list(row) for row in mean])
    names: Any = ["a", "b"], [0, 1]
    population = Measured(names[0], names[1], None, 0, True, WEIGHT, "mine", None, 1.0, known)
    limited: Any = limits or free, free
    asked: Any = (
        0,
        Metric("loss", None),
        shift,
        "any",
        "ceiling",
        divergence.partition(":")[0],
        order_of(divergence),
        fair,
        tolerance,
        *limited,
        None,
        0.0,
        [],
        None,
        [],
    )
    question = Question(*asked)
    return Statement(population, question, objective, rho)


def tilted(**changes: Any) -> Tilted:
    """Return multipliers of form T."""
    two, table = [0.5, 0.5], [[2.0, 2.0], [2.0, 2.0]]
    return replace(Tilted("T", table, two, [0.0, 0.0], [0.0, 0.0], 1.0, [], [], "none"), **changes)


def fractional(**changes: Any) -> Fractional:
    """Return multipliers of form F, for the loss of all."""
    two, table = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
    leaf = Fractional("F", table, [1.0, 1.0], [0.0, 0.0], None, two, [0.0, 0.0], 1.0, None, [], [])
    return replace(leaf, **changes)


def conditional(**changes: Any) -> Fractional:
    """Return multipliers of form F, for means."""
    return fractional(**{"zeta": [[2.0, 2.0], [2.0, 2.0]], "base": None, "offset": None, **changes})


ONE, BOTH, OF_LABEL = (
    Objective(0, None, None, True, False),
    Objective(0, 1, None, True, False),
    Objective(0, 1, 1, True, False),
)
WHOLE = [[arb(1), arb(0)], [arb(0), arb(1)]]

REFUSED: dict[str, tuple[Statement, Leaf, str, str]] = {
    "form T of parts": (example(OF_LABEL), tilted(), "part", "form T search"),
    "form T of groups within a tolerance": (example(tolerance=0.1), tilted(), "group", "form T search"),
    "form T, a multiplier below its ceiling": (
        example(),
        tilted(w=[[2.0, 2.0], [2.0, 0.8]]),
        "label",
        "falls below its",
    ),
    "form T, lam is zero and a value higher": (
        example(divergence="kl"),
        tilted(w=[[2.0, 2.0], [2.0, 0.8]], lam=0.0),
        "label",
        "at least the values",
    ),
    "form T, total variation, more than lam below": (
        example(divergence="total_variation"),
        tilted(w=[[-0.2] * 2] * 2),
        "label",
        "falls below its ceiling",
    ),
    "form T, a term is infinite": (example(), tilted(w=[[0.9] * 2] * 2), "label", "a term is infinite"),
    "the loss of all, relaxed": (example(), tilted(relaxed="both"), "label", "cannot be relaxed"),
    "two means, by labels": (example(BOTH), tilted(), "label", "pieces of the group shares"),
    "two means among rows of a label, any base rates": (
        example(OF_LABEL, fair=False),
        tilted(),
        "group",
        "and equal base rates",
    ),
    "form F, another divergence": (example(divergence="kl"), fractional(), "group", "for Hellinger balls"),
    "form F of parts": (example(), fractional(), "part", "loss of all takes"),
    "form F, a slope": (example(), fractional(slope=WEIGHT), "group", "loss of all takes"),
    "form F, no base": (example(), fractional(base=None), "group", "loss of all takes"),
    "form F of labels within a tolerance": (example(tolerance=0.1), fractional(), "label", "group shares are searched"),
    "form F, offsets within a tolerance": (
        example(tolerance=0.1),
        fractional(offset=[0.1, 0.0]),
        "group",
        "offsets are 0",
    ),
    "form F, a centre of zero": (example(), fractional(centre=[0.0, 1.0]), "group", "must be positive"),
    "form F, below the ceiling": (example(), fractional(base=[1.0, 0.2]), "group", "falls below its ceiling"),
    "means, form F of groups": (example(ONE), conditional(), "group", "of shares of parts"),
    "means, form F with a base": (example(ONE), conditional(base=[1.0]), "part", "of shares of parts"),
    "means, below the ceiling": (example(ONE), conditional(zeta=WEIGHT), "part", "falls below its ceiling"),
    "means, a centre of zero": (example(ONE), conditional(centre=[0.0]), "part", "must be positive"),
    "means, omega within a tolerance": (
        example(ONE, tolerance=0.1),
        conditional(omega=[0.0, 0.1]),
        "part",
        "omega must be 0",
    ),
    "a tangent on the other branch": (
        example(OF_LABEL),
        conditional(zeta=[[2.0, 1.1]] * 2, slope=[[0.0, -1.0]] * 2, centre=[1.5, 0.5]),
        "part",
        "not feasible",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_proves_nothing_is_refused(name: str) -> None:
    """Each guard by itself."""
    statement, leaf, axis, why = REFUSED[name]
    corners = WHOLE if axis != "part" or len(statement.parts) == 2 else [[arb(1)]]
    with pytest.raises(RefusedError, match=why):
        excess_of(statement, leaf, axis, corners, arb(0.9))


def test_multipliers_of_limits_are_not_negative() -> None:
    """Those of limits that count."""
    limited = example(limits=Limits(None, [[1.0, 0.0]], [0.6]))
    excess_of(limited, tilted(group_mu=[0.1]), "label", WHOLE, arb(0.9))
    with pytest.raises(RefusedError, match="must be >= 0"):
        excess_of(limited, tilted(group_mu=[-0.1]), "label", WHOLE, arb(0.9))


def test_differences_among_rows_of_a_label_need_equal_base_rates() -> None:
    """Weighed by both groups' shares the difference is not weighed by one number if their shares of the label differ.

    Without base rates in common 0.1 and 0.9 of the rows have the label: the means, 0.9 and 0.5, differ by 0.4, but
    ``k_a k_b (0.1 · (0.9 - t) - 0.9 · 0.5)`` is not positive for t = 0 already.
    """
    statement = example(OF_LABEL, fair=False, rho=0.01, mean=((0.2, 0.9), (0.4, 0.5)))
    leaf = tilted(w=[[1e-3] * 2] * 2, lam=1e-3)
    with pytest.raises(RefusedError):
        excess_of(statement, leaf, "group", WHOLE, arb(0.0))


@pytest.mark.parametrize(
    ("divergence", "rho"),
    [("hellinger", 0.3), ("kl", 0.1), ("chi_squared", 0.1), ("total_variation", 0.1), (ORDERS[0], 0.1)],
)
def test_what_is_proved_holds_for_all_that_a_witness_may_be(divergence: str, rho: float) -> None:
    """The ball, the limits and the tolerance are larger by what a witness may miss, and by no more."""
    wide = example(divergence=divergence, rho=rho, limits=Limits(0.5, [[1.0, -1.0]], [0.2]), tolerance=0.1)
    asked = rho**2 if divergence == "hellinger" else rho
    assert 0.9e-12 <= float(wide.radius) - asked <= 2.3e-12
    assert 0.9e-12 <= float(wide.tolerance) - 0.1 <= 1.1e-12
    assert 0.9e-12 <= float(wide.groups.skew or 0) - 0.5 <= 1.1e-12
    assert 0.9e-12 <= float(wide.groups.rows[0][1]) - 0.2 <= 1.1e-12


def test_the_largest_ratio_of_trimming_has_a_leeway() -> None:
    """A witness may have a density larger by that, so proofs are about such distributions too."""
    wide = example(divergence="trimming", rho=0.5)
    assert wide.radius == 0
    assert 0.9e-12 <= float(wide.most_ratio) / 2 - 1 <= 1.1e-12
