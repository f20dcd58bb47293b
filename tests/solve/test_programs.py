"""The saddle programs of pieces and of means: their derivatives against differences, and starts inside their rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from fairbound.arithmetic.arrays import Floats
from fairbound.solve.base_rates import BaseRates
from fairbound.solve.fractional_pieces import CornerSaddle
from fairbound.solve.means import MeansSaddle
from fairbound.solve.pieces import PieceSaddle
from fairbound.solve.shares import MarginalSet
from tests.differences import check_derivatives, chosen, inside

GROUPS, LABELS, ATOMS, CORNERS = 2, 3, 2, 3

TOLERANCES = [0.0, 0.2, 1.0]


def drawn(rng: np.random.Generator, *, count: int = 0) -> tuple[Floats, Floats, Floats]:
    """Return roots of probabilities, values and ceilings above these; of a batch, if there is a ``count``."""
    shape = (*([count] if count else []), GROUPS, LABELS, ATOMS)
    weight = rng.dirichlet(np.ones(GROUPS * LABELS * ATOMS), size=count or None).reshape(shape)
    value = rng.uniform(size=shape)
    return np.sqrt(weight), value, value.max(axis=-1) + 0.1


def normalised(part: Floats, *places: Any) -> None:
    for place in places:
        part[..., place] /= part[..., place].sum(axis=-1, keepdims=True)


def near_start(rng: np.random.Generator, program: Any) -> tuple[Floats, Floats]:
    """Return a point not far from the start, which is inside."""
    assert (inside(program) > 0).all()
    local, shared = (part * (1.0 + 0.3 * rng.uniform(size=part.shape)) for part in program.start())
    shared[:, 0] = rng.uniform(0.2, 1.0, size=len(shared))
    return local, shared


def tried(rng: np.random.Generator, program: Any, local: Floats, shared: Floats) -> tuple[Floats, Floats, Floats]:
    """Add variables of the atoms that are not the best ones."""
    x = program.inner(local, shared)
    return local, shared, x * rng.uniform(0.7, 1.4, size=x.shape)


@pytest.mark.parametrize("tolerance", TOLERANCES[1:])
@pytest.mark.parametrize("seed", range(2))
def test_corners_of_form_f(seed: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    root, value, ceiling = drawn(rng)
    rates, tau = BaseRates(GROUPS, MarginalSet(LABELS), tolerance), rng.uniform(0.3, 0.9, size=2)
    vertices = rng.dirichlet(np.full(GROUPS, 3.0), size=(2, CORNERS))
    program = CornerSaddle(root, value, ceiling, tau, np.array([50.0, 60.0]), vertices, rates)
    local, shared = near_start(rng, program)
    rate, theta = slice(LABELS + 1, 2 * LABELS + 1), slice(1, CORNERS + 1)
    normalised(local, rate)
    normalised(shared, theta)

    def worth(problem: int, local: Any, shared: Any, x: Any) -> Any:
        zeta, base, lam = local[..., :LABELS], local[..., LABELS], shared[:, 0]
        k, part = vertices[problem], shared[:, theta]
        level = (zeta * local[..., rate]).sum(axis=(1, 2)) - 2.0 * lam * tau[problem]
        level = level + (part * (base @ k.T)).sum(axis=1)
        eta = zeta[:, None] / k[None, :, :, None] + base[:, None, :, None]
        many = (slice(None), *[None] * 4)
        # x^2 / theta is the mass that corner j adds, as x / theta is what is best there
        terms = 2.0 * lam[many] * root * x - x * x * (eta[..., None] - value) / part[:, :, None, None, None]
        level = level + terms.sum(axis=(1, 2, 3, 4))
        level = level + (local[..., -1] * (1.0 - local[..., rate].sum(axis=2))).sum(axis=1)
        return level + shared[:, CORNERS + 1] * (1.0 - part.sum(axis=1))

    most = chosen(local.shape[2], rate), chosen(shared.shape[1], theta, slice(CORNERS + 2, None))
    check_derivatives(program, worth, tried(rng, program, local, shared), most, rng)


@pytest.mark.parametrize("mixed", [0.0, 0.3])
@pytest.mark.parametrize("skew", [None, 0.6])
@pytest.mark.parametrize("seed", range(2))
def test_pieces_of_form_t(seed: int, skew: float | None, mixed: float) -> None:
    """With limits on labels, that need omega, where rates are not mixed."""
    rng = np.random.default_rng(seed)
    root, value, ceiling = drawn(rng)
    labels = MarginalSet(LABELS, None if mixed else skew)
    vertices, tau = rng.dirichlet(np.full(LABELS, 3.0), size=(2, CORNERS)), rng.uniform(0.3, 0.9, size=2)
    cap, cutoff = np.array([50.0, 60.0]), np.full(2, -np.inf)
    program = PieceSaddle(root, value, ceiling, tau, vertices, cap, cutoff, MarginalSet(GROUPS, skew), labels, mixed)
    local, shared = near_start(rng, program)
    theta, after = slice(1, CORNERS + 1), CORNERS + 4
    own = slice(LABELS + 1, 2 * LABELS + 1) if mixed else slice(0)
    omega = slice(after, after + LABELS if program.limited else after)
    rate = slice(omega.stop, 2 * omega.stop - after)
    assert program.limited == (labels.skew is not None)
    local[..., LABELS] /= local[..., LABELS].sum(axis=1, keepdims=True)
    if mixed:
        normalised(local, own)
        local[..., own] *= local[..., LABELS, None]
        local[..., -1] = rng.normal(size=local[..., -1].shape)
    normalised(shared, theta, rate)
    shared[:, omega] = rng.normal(size=shared[:, omega].shape)

    def worth(problem: int, local: Any, shared: Any, x: Any) -> Any:
        w, k, lam, part = local[..., :LABELS], local[..., LABELS], shared[:, 0], shared[:, theta]
        centre = program.centre[problem]
        away = vertices[problem] - centre
        eta = w[:, :, None] - (1.0 - mixed) * (w @ away.T)[..., None]
        level = (1.0 - mixed) * (k * (w @ centre)).sum(axis=1) - 2.0 * lam * tau[problem]
        many = (slice(None), *[None] * 4)
        weight = part[:, None, :, None, None]
        terms = 2.0 * lam[many] * root[:, None] * x - x * x * (eta[..., None] - value[:, None]) / weight
        level = level + terms.sum(axis=(1, 2, 3, 4)) + shared[:, CORNERS + 1] * (1.0 - part.sum(axis=1))
        level = level + shared[:, CORNERS + 2] * (1.0 - k.sum(axis=1))
        if mixed:
            u, nu = local[..., own], local[..., -1]
            level = level + mixed * (u * w).sum(axis=(1, 2)) + (nu * (k - u.sum(axis=2))).sum(axis=1)
        if program.limited:
            r = shared[:, rate]
            level = level + (shared[:, omega] * (r - part @ vertices[problem])).sum(axis=1)
            level = level + shared[:, -2] * (1.0 - r.sum(axis=1))
        return level

    places = [theta, CORNERS + 3, rate, *([shared.shape[1] - 1] if program.limited else [])]
    most = chosen(local.shape[2], LABELS, own), chosen(shared.shape[1], *places)
    check_derivatives(program, worth, tried(rng, program, local, shared), most, rng)


PARTS: list[tuple[tuple[int, ...], ...]] = [((0, 1, 2),), ((0,), (1, 2))]


@pytest.mark.parametrize(("parts", "tolerance", "skew"), list(product(PARTS, TOLERANCES, [None, 0.6])))
def test_means(parts: tuple[tuple[int, ...], ...], tolerance: float, skew: float | None) -> None:
    rng = np.random.default_rng([len(parts), int(10 * tolerance)])
    root, value, ceiling = drawn(rng, count=2)
    equal, split = tolerance == 0.0, tolerance > 0.0 and len(parts) == 2
    low, tau = rng.uniform(0.1, 0.3, size=2), rng.uniform(0.3, 0.9, size=2)
    share = np.stack([low, 1.0 - low], axis=1)[:, : len(parts)] if len(parts) == 2 else np.ones((2, 1))
    rates = BaseRates(GROUPS, MarginalSet(LABELS, skew if equal else None), tolerance)
    rest = np.full(2, -np.inf), np.array([50.0, 60.0])
    program = MeansSaddle(root, value, ceiling, tau, share, *rest, parts, rates, MarginalSet(GROUPS, skew))
    local, shared = near_start(rng, program)
    labels, place = program._labels, program.rate_place
    local[..., -1] /= local[..., -1].sum(axis=1, keepdims=True)
    if split:
        local[..., -2] = local[..., -1] * (share[:, :1] + 0.05)
    numbered = [(list(part), parts.index(tuple(int(y) for y in part))) for part in program.free]
    held = shared if equal else local
    for part, number in numbered:
        at = place.start + np.searchsorted(labels, part)
        whole = share[:, number, None] if equal and program.limited and len(parts) > 1 else 1.0
        held[..., at] *= whole / held[..., at].sum(axis=-1, keepdims=True)

    def worth(problem: int, local: Any, shared: Any, x: Any) -> Any:
        theta, k, lam = local[..., :LABELS], local[..., -1], shared[:, 0]
        level = shared[:, 1] * (1.0 - k.sum(axis=1)) - 2.0 * lam * tau[problem]
        w = np.repeat(k[..., None], LABELS, axis=2)
        if split:
            u = local[..., -2]
            w = np.stack([u if y in parts[0] else k - u for y in range(LABELS)], axis=2)
        depth = theta[..., None] - value[problem]
        terms = 2.0 * lam[:, None, None, None] * root[problem] * x - x * x * depth / w[..., None]
        level = level + terms.sum(axis=(1, 2, 3))
        free = {y for part, _ in numbered for y in part}
        level = level + sum((theta[..., y].sum(axis=1) for y in set(range(LABELS)) - free), 0.0)
        held = shared if equal else local
        for count, (part, number) in enumerate(numbered):
            r, nu = held[..., place.start + np.searchsorted(labels, part)], held[..., place.stop + count]
            scale = share[problem, number] if equal and program.limited and len(parts) > 1 else 1.0
            if equal:
                level = level + (r * theta[..., part].sum(axis=1)).sum(axis=1) / scale
                level = level + nu * (scale - r.sum(axis=1))
            else:
                level = level + (r * theta[..., part]).sum(axis=(1, 2)) + (nu * (1.0 - r.sum(axis=2))).sum(axis=1)
        return level

    own = [place if not equal else -1, local.shape[2] - 1, local.shape[2] - 2 if split else -1]
    nus = place.stop + len(numbered) if equal else place.start
    across = [
        2 if skew is not None else -1,
        place if equal else slice(program._sizes[3], None),
        place.start - 1 if equal and program.limited else -1,
    ]
    assert nus >= 0
    check_derivatives(
        program,
        worth,
        tried(rng, program, local, shared),
        (chosen(local.shape[2], *own), chosen(shared.shape[1], *across)),
        rng,
    )
