"""The ways to measure how far Q is from the data: their words, their formulas, and nothing of any search.

Besides the Hellinger distance, which has an engine of its own, three f-divergences

    D_f(Q || P) = sum p f(q / p) + f'(inf) · (mass of Q outside P's support)

are known. What a bound needs of them is the conjugate of ``lam f``, written as ``g(z) - offset · lam`` with ``g >= 0``
(docs/theory.md, "The inequality"). This is the one place that knows the words for all four.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import margin, raised
from fairbound.errors import InputError, given

DivergenceName = Literal["hellinger", "total_variation", "kl", "chi_squared"]

#: Exponents beyond this only say that the multipliers prove nothing.
LARGEST_EXPONENT = 600.0

#: Of divergences without a largest value: larger than any that data have.
LARGEST_RADIUS = 1e9


@dataclass(frozen=True)
class Divergence:
    """A way to measure the distance of Q from P.

    Attributes
    ----------
    name
        What users and documents call it.
    words
        What sentences call it.
    most
        The largest radius that means anything.
    slope_at_infinity
        ``f'(inf)``: what a unit of Q's mass outside P's support costs.
    conjugate_offset
        The conjugate of ``lam f`` is nowhere below ``-conjugate_offset · lam``.
    """

    name: DivergenceName
    words: str
    most: float
    slope_at_infinity: float
    conjugate_offset: float

    @property
    def meaning(self) -> str:
        """Say what a radius is."""
        if self.most == 1.0:
            return f"it is a {self.words}, between 0 (the data themselves) and 1"
        return f"it is a {self.words}, 0 (the data themselves) or more"

    @property
    def escapes(self) -> bool:
        """Whether Q may put mass where P has none."""
        return math.isfinite(self.slope_at_infinity)

    @property
    def _without_formula(self) -> TypeError:
        """The Hellinger distance has an engine of its own, and of total variation the worst density ratio jumps."""
        return TypeError(f"the {self.words} does not have this formula")

    def cost(self, ratio: Floats) -> Floats:
        """Return ``f(q / p)``."""
        raise self._without_formula

    def swing(self, ratio: Floats) -> Floats:
        """Return ``t |f'(t)|``: how much a relative error of the ratio changes ``f``."""
        raise self._without_formula

    def ratio(self, z: Floats, lam: Floats) -> Floats:
        """Return ``g'(z)``, the density ratio of the worst Q: only of those that do not jump."""
        raise self._without_formula

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``g(z)``, an upper bound of it: ``z`` is one already, and rounding cannot lower it."""
        raise self._without_formula


class TotalVariation(Divergence):
    """Half of ``sum |q - p|``: the mass that has to be moved.

    As P and Q have the same total mass, ``f(t) = max(t - 1, 0)`` gives the same as ``|t - 1| / 2``, and a simpler
    conjugate: ``max(z, 0)`` for ``z <= lam``.
    """

    def cost(self, ratio: Floats) -> Floats:
        """Return ``max(t - 1, 0)``."""
        return np.maximum(ratio - 1.0, 0.0)

    def swing(self, ratio: Floats) -> Floats:
        """Return ``t``: at most that."""
        return ratio

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``max(z, 0)``."""
        return np.maximum(z, 0.0)


class KullbackLeibler(Divergence):
    """``sum q log(q / p)`` in nats: ``f(t) = t log t - t + 1``."""

    def cost(self, ratio: Floats) -> Floats:
        """Return ``t log t - t + 1``, without cancellation next to 1."""
        some = np.where(ratio > 0, ratio, 1.0)
        off = some - 1.0
        plain = some * np.log(some) - off
        series = off**2 / 2 - off**3 / 6 + off**4 / 12
        return np.where(ratio > 0, np.where(np.abs(off) < 1e-4, series, plain), 1.0)

    def swing(self, ratio: Floats) -> Floats:
        """Return ``t |log t|``."""
        return ratio * np.abs(np.log(np.where(ratio > 0, ratio, 1.0)))

    def ratio(self, z: Floats, lam: Floats) -> Floats:
        """Return ``exp(z / lam)``."""
        return np.exp(np.minimum(z / lam, LARGEST_EXPONENT))

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``lam exp(z / lam)``."""
        exponent = z / lam
        exponent = exponent + margin(np.abs(exponent), 2)
        grown = raised(lam * np.exp(np.minimum(exponent, LARGEST_EXPONENT)), 16)
        return np.where(exponent < LARGEST_EXPONENT, grown, np.inf)


class ChiSquared(Divergence):
    """``sum (q - p)^2 / p``: ``f(t) = (t - 1)^2``."""

    def cost(self, ratio: Floats) -> Floats:
        """Return ``(t - 1)^2``."""
        return np.square(ratio - 1.0)

    def swing(self, ratio: Floats) -> Floats:
        """Return ``2 t |t - 1|``."""
        return 2.0 * ratio * np.abs(ratio - 1.0)

    def ratio(self, z: Floats, lam: Floats) -> Floats:
        """Return ``max(0, 1 + z / (2 lam))``."""
        return np.maximum(0.0, 1.0 + z / (2.0 * lam))

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``max(z + 2 lam, 0)^2 / (4 lam)``."""
        above = z + 2.0 * lam
        above = np.maximum(above + margin(np.abs(z) + 2.0 * lam, 2), 0.0)
        return raised(np.square(above) / (4.0 * lam), 6)


HELLINGER = Divergence("hellinger", "Hellinger distance", 1.0, 1.0, math.nan)
TOTAL_VARIATION = TotalVariation("total_variation", "total variation distance", 1.0, 1.0, 0.0)
KULLBACK_LEIBLER = KullbackLeibler("kl", "Kullback-Leibler divergence", LARGEST_RADIUS, math.inf, 1.0)
CHI_SQUARED = ChiSquared("chi_squared", "chi-squared divergence", LARGEST_RADIUS, math.inf, 1.0)

#: All of them, by name.
DIVERGENCES: dict[str, Divergence] = {d.name: d for d in (HELLINGER, TOTAL_VARIATION, KULLBACK_LEIBLER, CHI_SQUARED)}


def find_divergence(name: object) -> Divergence:
    """Return a divergence by its name."""
    if not isinstance(name, str) or name not in DIVERGENCES:
        words = ", ".join(repr(known) for known in DIVERGENCES)
        message = f"{given('divergence', name)} is not known; use one of {words}"
        raise InputError(message)
    return DIVERGENCES[name]


def affinity_at(divergence: Divergence, rho: float) -> float:
    """Return an affinity that every Q within the radius reaches (docs/theory.md, "Between the distances")."""
    if divergence is HELLINGER:
        return max(0.0, 1.0 - rho**2)
    if divergence is TOTAL_VARIATION:
        return max(0.0, 1.0 - rho)
    return math.exp(-rho / 2) if divergence is KULLBACK_LEIBLER else 1.0 / math.sqrt(1.0 + rho)
