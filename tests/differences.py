"""Derivatives of saddle programs, compared with differences of what the programs say they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.solve import saddle

#: L of one problem of a batch, at many points: from its number, local and global variables, and those of the atoms.
Value = Callable[[int, Any, Any, Any], Any]

#: How far apart gradients are compared, and how well differences of them agree with second derivatives.
STEP, AGREE = 1e-5, 1e-6


def check_derivatives(
    program: saddle.Problem,
    value: Value,
    point: tuple[Floats, Floats, Floats],
    maximised: tuple[Booleans, Booleans],
    rng: np.random.Generator,
) -> None:
    """Compare gradient and Hessian after the elimination of x, at any x, and the step of x that belongs to the others.

    L is convex in what is minimised and concave in what is ``maximised``, of the local and of the global variables. The
    shares at the ``point`` add up to one.
    """
    local, shared, x = point
    slope = program.derivatives(local, shared, x)
    step = rng.normal(size=local.shape), rng.normal(size=shared.shape)
    d_x = program.inner_direction((local, shared, x), step)
    shapes = [local.shape[1:], shared.shape[1:], x.shape[1:]]
    own = local[0].size + shared[0].size
    most = np.concatenate([np.tile(maximised[0], local.shape[1]), maximised[1]])
    for problem in range(len(shared)):
        one = slice(problem, problem + 1)
        middle = np.concatenate([part[one].reshape(1, -1) for part in point], axis=1)
        steps = STEP * np.eye(middle.shape[1])
        slopes = [_gradient(value, problem, middle + sign * steps, shapes) for sign in (1, -1)]
        hessian = (slopes[0] - slopes[1]) / (2.0 * STEP)
        exact = _gradient(value, problem, middle, shapes)[0]
        bend, cross = hessian[own:, own:], hessian[:own, own:]
        assert np.abs(bend - np.diag(np.diag(bend))).max() <= 1e-7 * np.abs(bend).max()
        bend = np.diag(bend)
        assert (bend < 0).all()
        reduced = hessian[:own, :own] - cross / bend @ cross.T
        _near(
            np.concatenate([slope.local[problem].ravel(), slope.shared[problem]]),
            exact[:own] - cross / bend @ exact[own:],
        )
        _near(_matrix(slope, problem), reduced)
        moved = np.concatenate([step[0][problem].ravel(), step[1][problem]])
        _near(d_x[problem].ravel(), -(exact[own:] + cross.T @ moved) / bend)
        size = np.abs(reduced).max()
        assert np.linalg.eigvalsh(reduced[np.ix_(~most, ~most)]).min() >= -AGREE * size
        assert np.linalg.eigvalsh(reduced[np.ix_(most, most)]).max() <= AGREE * size


def _gradient(value: Value, problem: int, points: Any, shapes: list[tuple[int, ...]]) -> Floats:
    """Differentiate L by steps into the complex plane, which lose no digits; points (K, n)."""
    count, size = points.shape
    moved = (points[:, None] + 1e-30j * np.eye(size)).reshape(-1, size)
    parts = np.split(moved, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1], axis=1)
    found = value(problem, *(part.reshape(-1, *shape) for part, shape in zip(parts, shapes, strict=True)))
    return np.asarray(found.imag.reshape(count, size) / 1e-30)


def _near(found: Floats, truth: Floats) -> None:
    np.testing.assert_allclose(found, truth, atol=AGREE * max(1.0, float(np.abs(truth).max())), rtol=0.0)


def _matrix(slope: saddle.Derivatives, problem: int) -> Floats:
    """Return the Hessian whose blocks a program returns."""
    blocks, corner = slope.local_local[problem], slope.glob_glob[problem]
    cross = slope.local_glob[problem].reshape(-1, len(corner))
    found = np.zeros((len(cross) + len(corner),) * 2)
    size = blocks.shape[1]
    for s, block in enumerate(blocks):
        found[s * size : (s + 1) * size, s * size : (s + 1) * size] = block
    found[: len(cross), len(cross) :], found[len(cross) :, : len(cross)] = cross, cross.T
    found[len(cross) :, len(cross) :] = corner
    return found


def chosen(size: int, *places: int | slice) -> Booleans:
    """Tell which variables stand in these places; a negative number is none."""
    found = np.zeros(size, dtype=bool)
    for place in places:
        if isinstance(place, slice) or place >= 0:
            found[place] = True
    return found


def inside(program: saddle.Problem) -> Floats:
    """Return how far the start is from the boundary: the least slack of each problem."""
    (near, far), (local, shared) = program.rows, program.start()
    own = (near.block @ local[..., None])[..., 0] + (near.border @ shared[:, None, :, None])[..., 0] - near.offset
    across = (far.border @ shared[..., None])[..., 0] - far.offset
    found: Floats = np.minimum(own.min(axis=(1, 2)), across.min(axis=1))
    return found
