"""The divergences, by their functions ``h = f - offset`` and the conjugates of these.

Section "Divergences" of docs/specification.md.
P has mass 1, so ``D(Q || P) <= R`` is ``sum p h(q/p) + slope · (Q's mass where P has none) <= R - offset``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from fairbound.verify.balls import ZERO
from fairbound.verify.document import LARGEST_RADIUS


@dataclass(frozen=True)
class Divergence:
    """One of them: ``offset``, f'(inf) as ``slope`` (None if it is infinite), functions, and the largest radius.

    ``cost`` of p > 0 and q is ``p h(q/p)``; ``conjugate`` of z and lam > 0 is g, the largest ``z t - lam h(t)`` over
    ``t >= 0``. Where g' ``jumps`` there is no worst law of a mean and a variance. One that is ``bounded`` is 0 or
    infinite: Q has at most so many times the mass of P, which takes the place of p in both functions.
    """

    offset: int
    slope: int | None
    cost: Callable[[arb, arb], arb]
    conjugate: Callable[[arb, arb], arb]
    most: float = LARGEST_RADIUS
    jumps: bool = False
    bounded: bool = False


def _fraction(z: arb, lam: arb) -> arb:
    return lam * lam / (-4 * z) if z < 0 else arb("inf")


def _entropy(p: arb, q: arb) -> arb:
    return q if q.is_zero() else q * (q / p).log() - q


def _excess(p: arb, q: arb) -> arb:
    return (q - p).max(ZERO)


def _positive(z: arb, _: arb) -> arb:
    return z.max(ZERO)


#: A new divergence is a line here, its name in document.py, and one in the table of the specification.
DIVERGENCES = {
    "hellinger": Divergence(1, 0, lambda p, q: -(p * q).sqrt(), _fraction, most=1.0),
    "total_variation": Divergence(0, 1, _excess, _positive, most=1.0, jumps=True),
    "kl": Divergence(1, None, _entropy, lambda z, lam: lam * (z / lam).exp()),
    "chi_squared": Divergence(
        1, None, lambda p, q: q * (q - 2 * p) / p, lambda z, lam: (z + 2 * lam).max(ZERO) ** 2 / (4 * lam)
    ),
    "trimming": Divergence(0, None, _excess, _positive, most=1.0, jumps=True, bounded=True),
}
