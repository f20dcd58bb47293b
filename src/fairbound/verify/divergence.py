"""Weak duality in ball arithmetic for divergences other than Hellinger's (docs/theory.md, sections 12 and 13).

Standard library and python-flint only, like :mod:`fairbound.verify.duality`, whose atoms, partitions and support
functions it uses. P's masses add up to one exactly, which is where the term ``-rest · lam`` comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from fairbound.verify.duality import (
    Case,
    Inventory,
    RefusedError,
    check_attained,
    pieces,
    support,
)

#: The conjugate of ``lam f`` is ``g(z) - rest · lam``.
REST = {"total_variation": 0, "kl": 1, "chi_squared": 1}


def _grown(divergence: str, z: arb, lam: arb) -> arb:
    """Return g(z) >= 0."""
    if divergence == "total_variation":
        return z.max(arb(0))
    if divergence == "kl":
        return lam * (z / lam).exp()
    high = (z + 2 * lam).max(arb(0))
    return high * high / (4 * lam)  # not a power: of a ball around zero there is none


def _cost(divergence: str, p: arb, q: arb) -> arb:
    """Return ``p f(q / p)`` for p > 0."""
    if divergence == "total_variation":
        return (q - p).max(arb(0))
    if divergence == "chi_squared":
        return (q - p) * (q - p) / p
    return p if q.is_zero() else q * (q / p).log() - q + p


def divergence_bounds(case: Case, question: dict[str, Any], proof: dict[str, Any]) -> list[arb]:
    """Return the bounds of all pieces, or of the one pair of multipliers."""
    kind = "divergence_partition" if question["fair"] else "divergence_single"
    if proof["kind"] != kind:
        raise RefusedError(f"a proof of the kind {proof['kind']} does not answer this question; it takes a {kind}")
    if not question["fair"]:
        return [single_bound(case, question, proof)]
    return [leaf_bound(case, question, leaf, piece) for leaf, piece in pieces(case, proof)]


def _positive(lam: float) -> arb:
    if not lam > 0:
        raise RefusedError("the multipliers are not feasible: lam must be positive")
    return arb(lam)


def _expected(case: Case, divergence: str, cell: tuple[int, int], eta: arb, lam: arb) -> arb:
    """Return ``p_i E_i[g(l - eta)]`` of a cell; where Q may leave P's support, eta must be high enough for that."""
    if divergence == "total_variation" and not eta + lam >= case.ceiling[cell]:
        raise RefusedError(f"a multiplier of cell {cell} falls more than lam below its ceiling: not feasible")
    atoms = case.upper[cell]
    return sum((p * _grown(divergence, loss - eta, lam) for p, loss in atoms if not p.is_zero()), arb(0))


def leaf_bound(
    case: Case,
    question: dict[str, Any],
    leaf: dict[str, Any],
    vertices: list[list[arb]],
    at: Callable[[list[arb]], Case] | None = None,
) -> arb:
    """Evaluate the bound over one piece from any w, centre, omega and lam > 0.

    Where values depend on the shares of the piece, and linearly so, ``at`` returns the case at a vertex.
    """
    divergence, lam = question["divergence"], _positive(leaf["lam"])
    w = [[arb(v) for v in row] for row in leaf["w"]]
    centre, omega = [arb(v) for v in leaf["centre"]], [arb(v) for v in leaf["omega"]]
    most: arb | None = None
    for vertex in vertices:
        offset = [r - c for r, c in zip(vertex, centre, strict=True)]
        tilt = [sum((o * v for o, v in zip(offset, row, strict=True)), arb(0)) for row in w]
        total = -sum((o * r for o, r in zip(omega, vertex, strict=True)), arb(0))
        here = case if at is None else at(vertex)
        for s, y in here.upper:
            total += _expected(here, divergence, (s, y), w[s][y] - tilt[s], lam)
        most = total if most is None else most.max(total)
    if most is None:
        raise RefusedError("a piece has no corners")
    level = [sum((c * v for c, v in zip(centre, row, strict=True)), arb(0)) for row in w]
    pulled = support(omega, case.label_skew) if any(leaf["omega"]) else arb(0)
    ball = lam * (case.rho - REST[divergence])
    return support(level, case.group_skew) + ball + most + pulled


def single_bound(case: Case, question: dict[str, Any], proof: dict[str, Any]) -> arb:
    """Evaluate the bound over the whole ball from any eta and lam > 0."""
    divergence, lam, eta = question["divergence"], _positive(proof["lam"]), arb(proof["eta"])
    total = sum((_expected(case, divergence, cell, eta, lam) for cell in case.upper), arb(0))
    return eta + lam * (case.rho - REST[divergence]) + total


def witness_value_in(
    case: Case, witness: dict[str, Any], masses: dict[tuple[int, int], arb], attained: float | None
) -> float:
    """Check that the witness is what it claims to be and return its loss, rounded down."""
    divergence = case.divergence
    found = Inventory(case, witness, masses)
    if divergence != "total_variation" and not found.stray.is_zero():
        raise RefusedError("the witness is outside every ball: it has mass where P has none")
    distance = sum((_cost(divergence, p, q) for p, q in found.pairs if not p.is_zero()), found.stray)
    if not distance <= case.rho:
        excess = float((distance - case.rho).upper())
        raise RefusedError(f"the witness is outside the ball: its distance exceeds the radius by {excess:.3g}")
    return check_attained(case, found.value, attained)
