"""The divergences, by their functions ``h = f - offset`` and the conjugates of these.

Section "Divergences" of docs/specification.md. One name stands for a family: which one it is, says its order.
P has mass 1, so ``D(Q || P) <= R`` is ``sum p h(q/p) + slope · (Q's mass where P has none) <= R - offset``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from fairbound.verify.balls import ONE, ZERO
from fairbound.verify.document import LARGEST_RADIUS, Question


@dataclass(frozen=True)
class Divergence:
    """One of them: ``offset``, f'(inf) as ``slope`` (None if it is infinite), functions, and the largest radius.

    ``cost`` of p > 0 and q is ``p h(q/p)``; ``conjugate`` of z and lam > 0 is g, the largest ``z t - lam h(t)`` over
    ``t >= 0``. Where g' is not convex there is no worst law of a mean and a variance: ``only_means``. One that is
    ``bounded`` is 0 or infinite: Q has at most so many times the mass of P, which takes the place of p in both.
    """

    offset: arb
    slope: arb | None
    cost: Callable[[arb, arb], arb]
    conjugate: Callable[[arb, arb], arb]
    most: float = LARGEST_RADIUS
    only_means: bool = False
    bounded: bool = False


def _fraction(z: arb, lam: arb) -> arb:
    return lam * lam / (-4 * z) if z < 0 else arb("inf")


def _entropy(p: arb, q: arb) -> arb:
    return q if q.is_zero() else q * (q / p).log() - q


def _excess(p: arb, q: arb) -> arb:
    return (q - p).max(ZERO)


def _positive(z: arb, _: arb) -> arb:
    return z.max(ZERO)


def _cressie_read(order: float) -> Divergence:
    """Return the member of that order, a: ``f(t) = (t^a - a t + a - 1) / (a (a - 1))``."""
    a = arb(order)
    power = a / (a - 1)

    def cost(p: arb, q: arb) -> arb:
        return ZERO if q.is_zero() else ((q / p) ** a * p - a * q) / (a * (a - 1))

    def conjugate(z: arb, lam: arb) -> arb:
        u = 1 + (a - 1) * z / lam
        if u > 0:
            return lam / a * u**power
        return ZERO if order > 1 and u <= 0 else arb("inf")

    return Divergence(1 / a, 1 / (1 - a) if order < 1 else None, cost, conjugate, only_means=order > 2)


#: A new divergence is a line here, its name in document.py, and one in the table of the specification.
DIVERGENCES = {
    "hellinger": Divergence(ONE, ZERO, lambda p, q: -(p * q).sqrt(), _fraction, most=1.0),
    "total_variation": Divergence(ZERO, ONE, _excess, _positive, most=1.0, only_means=True),
    "kl": Divergence(ONE, None, _entropy, lambda z, lam: lam * (z / lam).exp()),
    "chi_squared": Divergence(
        ONE, None, lambda p, q: q * (q - 2 * p) / p, lambda z, lam: (z + 2 * lam).max(ZERO) ** 2 / (4 * lam)
    ),
    "trimming": Divergence(ZERO, None, _excess, _positive, most=1.0, only_means=True, bounded=True),
}

FAMILIES = {"cressie_read": _cressie_read}


def divergence_of(question: Question) -> Divergence:
    """Return the divergence that a question is about."""
    name, order = question.divergence, question.order
    return DIVERGENCES[name] if order is None else FAMILIES[name](order)
