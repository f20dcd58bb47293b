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
    Proof,
    RatesMeansProof,
    SingleProof,
    TiltedProof,
)


def converted(
    problem: Problem, rho: float, tolerance: float, proof: Proof, claim: float
) -> TiltedProof | FractionalProof:
    """Return a proof in one of the two forms; ``tolerance`` is by how much base rates may differ."""
    tau = float(least_affinity(rho))
    if isinstance(proof, ConditionalProof | RatesMeansProof):
        return _means(problem, tau, tolerance, proof)
    return _other(problem, proof, claim)


def _other(problem: Problem, proof: Proof, claim: float) -> TiltedProof | FractionalProof:
    if isinstance(proof, TiltedProof | FractionalProof):
        return proof
    if isinstance(proof, SingleProof):
        return _single(problem, proof, claim)
    if not isinstance(proof, DivergenceProof):
        raise TypeError(type(proof).__name__)
    return _divergence(problem, proof, claim)


def _no_rows(problem: Problem, count: int) -> tuple[Floats, Floats]:
    return np.zeros((count, problem.groups.multipliers)), np.zeros((count, problem.labels.multipliers))


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
        proof.splits,
        w if proof.axis == "label" else w.swapaxes(1, 2),
        proof.centre,
        np.zeros_like(proof.centre),
        proof.omega,
        proof.lam,
        *_no_rows(problem, count),
        tuple(relaxed),
    )
