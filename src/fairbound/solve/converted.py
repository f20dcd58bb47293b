"""Proofs of the searches as leaves of the two forms."""

from __future__ import annotations

import math

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import least_affinity
from fairbound.solve.mean_leaves import between, whole
from fairbound.solve.problem import Problem
from fairbound.solve.proof import (
    ConditionalProof,
    Cut,
    DifferenceProof,
    DivergenceProof,
    FractionalProof,
    MeanProof,
    PartitionProof,
    Proof,
    RatesMeansProof,
    RatesProof,
    SingleProof,
    Split,
    TangentProof,
    TiltedProof,
)


def converted(
    problem: Problem, rho: float, tolerance: float, proof: Proof, claim: float
) -> TiltedProof | FractionalProof:
    """Return a proof in one of the two forms; ``tolerance`` is by how much base rates may differ."""
    tau = float(least_affinity(rho))
    if isinstance(proof, TangentProof):
        return _tangent(problem, tau, proof)
    if isinstance(proof, PartitionProof):
        return _partition(problem, tau, proof)
    if isinstance(proof, ConditionalProof | RatesMeansProof):
        return _means(problem, tau, tolerance, proof)
    return _rates(problem, proof) if isinstance(proof, RatesProof) else _other(problem, proof, claim)


def _other(problem: Problem, proof: Proof, claim: float) -> TiltedProof | FractionalProof:
    if isinstance(proof, TiltedProof | FractionalProof):
        return proof
    if isinstance(proof, SingleProof):
        return _single(problem, proof, claim)
    if not isinstance(proof, DivergenceProof):
        raise TypeError(type(proof).__name__)
    return _divergence(problem, proof, claim)


def _cuts(splits: tuple[Split, ...]) -> tuple[Cut | None, ...]:
    return tuple(None if split is None else (float(split[0]), float(split[1]), 0.5) for split in splits)


def _no_rows(problem: Problem, count: int) -> tuple[Floats, Floats]:
    return np.zeros((count, problem.groups.multipliers)), np.zeros((count, problem.labels.multipliers))


def _corners(floors: Floats, splits: tuple[Split, ...]) -> Floats:
    """Return the corners of the leaves, (L, m, m)."""
    size, found = len(floors), []
    stack = [np.eye(size)]
    for split in splits:
        corners = stack.pop()
        if split is None:
            found.append(corners)
            continue
        i, j = split
        middle = 0.5 * (corners[i] + corners[j])
        first, second = corners.copy(), corners.copy()
        first[i], second[j] = middle, middle
        stack += [second, first]
    return floors + (1.0 - math.fsum(floors)) * np.array(found)


def _tangent(problem: Problem, tau: float, proof: TangentProof) -> FractionalProof:
    turned = problem if proof.axis == "label" else problem.transposed
    probability, deficit = turned.upper.probability, turned.ceiling.flat[0] - turned.upper.loss
    phi, share = proof.phi, proof.share
    ratio = phi / share
    with np.errstate(all="ignore"):
        inverse = np.where(probability > 0, 1.0 / (deficit + ratio[..., None]), 0.0)
        intercept = (probability * deficit * inverse**2).sum()
        slope = ((probability * ratio[..., None] * inverse**2).sum(axis=2) / share).sum(axis=0)
        total = float(intercept + turned.labels.support(slope, proof.share_mu))
    lam = 2.0 * tau / total if 0 < total < math.inf else 0.0
    limited = turned.labels.limited and lam > 0
    omega = lam**2 / 4 * slope if limited else np.zeros_like(share)
    mu = [proof.level_mu, lam**2 / 4 * proof.share_mu]
    group_mu, label_mu = mu if proof.axis == "label" else mu[::-1]
    return FractionalProof(
        proof.axis,
        np.zeros(len(share)),
        (None,),
        (phi if proof.axis == "label" else phi.T)[None],
        np.full((1, len(share)), turned.ceiling.flat[0]),
        np.zeros((1, len(phi))),
        None,
        share[None],
        omega[None],
        np.array([lam]),
        None,
        group_mu[None],
        label_mu[None],
    )


def _partition(problem: Problem, tau: float, proof: PartitionProof) -> TiltedProof:
    turned = problem if proof.axis == "label" else problem.transposed
    vertices = _corners(proof.floors, proof.splits)
    w, centre = proof.w, proof.centre
    eta = w[:, None] - ((vertices - centre[:, None]) @ w.swapaxes(-1, -2))[..., None]
    atoms = turned.upper
    with np.errstate(all="ignore"):
        gap = np.where(atoms.probability > 0, eta[..., None] - atoms.loss, 1.0)
        total = (atoms.probability / gap).sum(axis=(2, 3, 4)) - (vertices @ proof.omega[..., None])[..., 0]
        most = total.max(axis=1) + np.where(
            proof.omega.any(axis=1), turned.labels.support(proof.omega, proof.share_mu), 0.0
        )
        level = turned.groups.support((w @ centre[..., None])[..., 0], proof.level_mu)
        huge = 4.0 * (np.abs(level) + turned.scale) / max(tau, 1e-9)
        lam = np.where(most > 0, 2.0 * tau / np.where(most > 0, most, 1.0), huge)
    lam = np.where(np.isfinite(lam), lam, 0.0)
    times = np.square(lam)[:, None] / 4
    mu = [proof.level_mu, times * proof.share_mu]
    group_mu, label_mu = mu if proof.axis == "label" else mu[::-1]
    return TiltedProof(
        proof.axis,
        proof.floors,
        _cuts(proof.splits),
        w if proof.axis == "label" else w.swapaxes(1, 2),
        centre,
        np.zeros_like(centre),
        times * proof.omega,
        lam,
        group_mu,
        label_mu,
        ("none",) * len(lam),
    )


def _rates(problem: Problem, proof: RatesProof) -> FractionalProof:
    count = len(proof.lam)
    return FractionalProof(
        "group",
        proof.floors,
        _cuts(proof.splits),
        proof.zeta,
        proof.base,
        np.zeros((count, problem.labels.size)),
        None,
        proof.centre,
        proof.omega,
        2.0 * proof.lam,
        proof.nu,
        *_no_rows(problem, count),
    )


def _means(
    problem: Problem, tau: float, tolerance: float, proof: ConditionalProof | RatesMeansProof
) -> FractionalProof:
    theta, cuts, equal = proof.theta, proof.cuts, isinstance(proof, ConditionalProof)
    parts = problem.parts or ()
    labels = problem.labels.size
    if not len(cuts):
        floors = np.ones(1) if len(parts) == 1 else np.array([0.0, 1.0])
        splits: tuple[Cut | None, ...] = (None,)
        leaves = whole(problem, theta[:, 0], len(floors))
    else:
        spare = max(0.0, math.nextafter(1.0 - cuts[-1], 0.0))
        floors = np.array([max(0.0, cuts[0]), spare if equal else min(spare, tolerance)])
        splits = tuple(_tree(cuts, 0, len(cuts) - 1))
        leaves = between(problem, np.stack([cuts[:-1], cuts[1:]], axis=1), theta, 0.0 if equal else tolerance)
    count, group_mu = len(theta), proof.group_mu.mean(axis=1)
    most = leaves.pull(problem, group_mu)
    with np.errstate(all="ignore"):
        lam = np.where((most > 0) & np.isfinite(most), 2.0 * tau / most, 0.0)
    zeta, slope, centre = leaves.zeta, leaves.slope, leaves.centre
    omega, label_mu = np.zeros((count, labels)), np.zeros((count, problem.labels.multipliers))
    if isinstance(proof, ConditionalProof) and problem.labels.limited:
        label_mu = proof.label_mu
        if not len(cuts):
            omega = zeta.sum(axis=1)
        elif proof.omega.size:
            omega = proof.omega
    nu = proof.nu.reshape(1, -1) if isinstance(proof, RatesMeansProof) and len(parts) == 1 else None
    return FractionalProof("part", floors, splits, zeta, None, None, slope, centre, omega, lam, nu, group_mu, label_mu)


def _tree(cuts: Floats, low: int, high: int) -> list[Cut | None]:
    """Cut an interval of pieces at the middle one: the corner of the larger share comes first."""
    if high - low == 1:
        return [None]
    middle = (low + high) // 2
    place = float((cuts[high] - cuts[middle]) / (cuts[high] - cuts[low]))
    return [(0.0, 1.0, place), *_tree(cuts, low, middle), *_tree(cuts, middle, high)]


def _single(problem: Problem, proof: SingleProof, claim: float) -> TiltedProof:
    shape = problem.mass.shape
    labels = np.full((1, shape[1]), 1.0 / shape[1])
    return TiltedProof(
        "label",
        np.zeros(shape[1]),
        (None,),
        np.full((1, *shape), proof.eta - (claim if getattr(proof, "relaxed", False) else 0.0)),
        labels,
        np.zeros_like(labels),
        np.zeros_like(labels),
        np.array([proof.lam]),
        *_no_rows(problem, 1),
        ("both" if getattr(proof, "relaxed", False) else "none",),
    )


def _divergence(problem: Problem, proof: DivergenceProof, claim: float) -> TiltedProof:
    count = len(proof.lam)
    relaxed = ["none"] * count
    if isinstance(proof, DifferenceProof):
        words = {(True, True): "both", (True, False): "plus", (False, True): "minus", (False, False): "none"}
        pairs = zip(proof.plus_relaxed.tolist(), proof.minus_relaxed.tolist(), strict=True)
        relaxed = [words[pair] for pair in pairs]
    elif isinstance(proof, MeanProof):
        relaxed = ["both" if one else "none" for one in proof.relaxed.tolist()]
    w = proof.w - np.where(np.array(relaxed) == "both", claim, 0.0)[:, None, None]
    return TiltedProof(
        proof.axis,
        proof.floors,
        _cuts(proof.splits),
        w if proof.axis == "label" else w.swapaxes(1, 2),
        proof.centre,
        np.zeros_like(proof.centre),
        proof.omega,
        proof.lam,
        *_no_rows(problem, count),
        tuple(relaxed),
    )
