"""The ways to measure how far Q is from the data: their words, their formulas, and nothing of any search.

Besides the Hellinger distance, which has an engine of its own, some f-divergences

    D_f(Q || P) = sum p f(q / p) + f'(inf) · (mass of Q outside P's support)

are known. What a bound needs of them is the conjugate of ``lam f``, written as ``g(z) - offset · lam`` with ``g >= 0``
(docs/theory.md, "The inequality"). Trimming is one whose radius stands in f: of ``t <= 1 / (1 - rho)`` or not. Those of
Cressie and Read are a family, one for each order. This is the one place that knows words and formulas of all of them; a
new one is a value here, its cone, and its rule for the worst case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.arithmetic.rounding import LEEWAY, margin, raised
from fairbound.data.cells import number
from fairbound.errors import InputError, given

#: A name of :data:`DIVERGENCES`, or that of a family, a colon and the order.
DivergenceName = str

#: Exponents beyond this only say that the multipliers prove nothing.
LARGEST_EXPONENT = 600.0

#: Of divergences without a largest value: larger than any that data have.
LARGEST_RADIUS = 1e9

#: Orders of Cressie and Read's divergences: steeper ones ask for powers that floats cannot follow, and closer to 1 they
#: are the Kullback-Leibler divergence, which has formulas of its own.
LEAST_ORDER, LARGEST_ORDER = 0.1, 10.0
NEAR_ONE = 1e-3

#: No more than this can be trimmed: of nothing that is left there is no distribution.
MOST_TRIMMED = 0.999999


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
    formula
        How pages write it down.
    as_far
        Factor and power by which Hellinger distances become radii that are about as far.
    order
        Which one of a family it is.
    """

    name: DivergenceName
    words: str
    most: float
    slope_at_infinity: float
    conjugate_offset: float
    formula: str
    as_far: tuple[float, int] = (1.0, 1)
    order: float | None = None

    @property
    def kind(self) -> str:
        """The name without the order."""
        return self.name.partition(":")[0]

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
    def jumps(self) -> bool:
        """Whether the worst density ratio has few values: g' is a step."""
        return False

    @property
    def only_means(self) -> bool:
        """Whether g' is not convex: then no law of a mean and a variance is the worst one (docs/theory.md, "Atoms")."""
        return self.jumps

    @property
    def ball(self) -> str:
        """Say which distributions are in the ball, to follow "every distribution Q"."""
        return f"whose {self.words} from the data's distribution P is at most rho"

    def radius(self, rho: Floats) -> Floats:
        """Return what ``D_f`` is at most: the leeway is what rounded distributions may miss the ball by."""
        return rho + LEEWAY * (1.0 + rho)

    def largest_ratio(self, rho: Floats) -> Floats:
        """Return a limit of ``q / p`` that stands in f itself, rounded up: as a factor of the conjugate."""
        return np.ones_like(rho)

    def measure(self, p: Floats, q: Floats, stray: Floats | float = 0.0, axis: Any = None) -> Floats:
        """Return ``D_f(Q || P)``, as floats have it; ``stray`` is more mass outside of P's support."""
        some = p > 0
        inner = np.where(some, p * self.cost(q / np.where(some, p, 1.0)), 0.0).sum(axis=axis)
        outside = np.where(some, 0.0, q).sum(axis=axis) + stray
        return np.asarray(inner + self._beyond(outside))

    def _beyond(self, outside: Floats) -> Floats:
        """Return what mass outside of P's support costs."""
        return self.slope_at_infinity * outside if self.escapes else np.where(outside > 0, np.inf, 0.0)

    def price(self, p: Floats, r: Floats) -> Floats:
        """Return ``a_s`` (N, S): the group shares that bring ``k_s r_y`` nearest to p are proportional to exp(-a_s).

        ``r`` (N, C) are label shares; p (S, C) is 1 where it is 0.
        """
        raise self._without_formula

    def least_affinity(self, rho: float) -> float:
        """Return an affinity that every Q within the radius reaches (docs/theory.md, "Between the distances")."""
        return max(0.0, 1.0 - rho**2)

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
        """Return ``g(z)``, an upper bound of it: ``z`` is one already, and rounding cannot lower it.

        It is to be multiplied by :meth:`largest_ratio`.
        """
        raise self._without_formula


class TotalVariation(Divergence):
    """Half of ``sum |q - p|``: the mass that has to be moved.

    As P and Q have the same total mass, ``f(t) = max(t - 1, 0)`` gives the same as ``|t - 1| / 2``, and a simpler
    conjugate: ``max(z, 0)`` for ``z <= lam``.
    """

    @property
    def jumps(self) -> bool:
        """Cells that shrink lose their smallest losses."""
        return True

    def least_affinity(self, rho: float) -> float:
        """Return ``1 - rho``."""
        return max(0.0, 1.0 - rho)

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

    def price(self, p: Floats, r: Floats) -> Floats:
        """Return ``sum_y r_y log(r_y / p_sy)``."""
        share = np.where(r > 0, r, 1.0)[:, None]
        parts = np.where((r > 0)[:, None], r[:, None] * (np.log(share) - np.log(p)), 0.0)
        return np.asarray(parts.sum(axis=2))

    def least_affinity(self, rho: float) -> float:
        """Return ``exp(-rho / 2)``."""
        return math.exp(-rho / 2)


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

    def price(self, p: Floats, r: Floats) -> Floats:
        """Return ``log sum_y r_y^2 / p_sy``."""
        return np.log(np.where((r > 0)[:, None], np.square(r)[:, None] / p, 0.0).sum(axis=2))

    def least_affinity(self, rho: float) -> float:
        """Return ``1 / sqrt(1 + rho)``."""
        return 1.0 / math.sqrt(1.0 + rho)


class CressieRead(Divergence):
    """``f(t) = (t^a - a t + a - 1) / (a (a - 1))`` with the order a: alpha-divergences, scaled so that f''(1) = 1.

    Order 2 is half of chi-squared, 1/2 four times the squared Hellinger distance, and 1 would be Kullback-Leibler.
    """

    @classmethod
    def of(cls, order: float) -> CressieRead:
        """Return the one of an order."""
        text = repr(order).removesuffix(".0")
        apart = math.inf if order > 1 else 1.0 / (1.0 - order)
        most = LARGEST_RADIUS if order > 1 else apart / order
        formula = f"∑ p f(q / p) with f(t) = (tᵃ - a t + a - 1) / (a (a - 1)), a = {text}"
        words = f"Cressie-Read divergence of order {text}"
        return cls(f"cressie_read:{text}", words, most, apart, 1.0 / order, formula, (4.0, 2), order)

    @property
    def a(self) -> float:
        """The order."""
        return self.order or 1.0

    @property
    def meaning(self) -> str:
        """Say what a radius is."""
        most = (
            f"between 0 (the data themselves) and {self.most:g}" if self.escapes else "0 (the data themselves) or more"
        )
        return f"it is a {self.words}, {most}"

    @property
    def only_means(self) -> bool:
        """``g'`` is the power ``1 / (a - 1)`` of something affine."""
        return self.a > 2.0

    def cost(self, ratio: Floats) -> Floats:
        """Return f, without cancellation next to 1, and whatever the order."""
        a, some = self.a, np.where(ratio > 0, ratio, 1.0)
        off = some - 1.0
        plain = (some * np.expm1((a - 1.0) * np.log(some)) / (a - 1.0) - off) / a
        series = off**2 / 2 + (a - 2.0) * off**3 / 6 + (a - 2.0) * (a - 3.0) * off**4 / 24
        return np.where(ratio > 0, np.where(np.abs(off) < 1e-4, series, plain), 1.0 / a)

    def swing(self, ratio: Floats) -> Floats:
        """Return ``t |t^(a-1) - 1| / |a - 1|``."""
        some = np.where(ratio > 0, ratio, 1.0)
        return np.where(ratio > 0, np.abs(some * np.expm1((self.a - 1.0) * np.log(some)) / (self.a - 1.0)), 0.0)

    def ratio(self, z: Floats, lam: Floats) -> Floats:
        """Return ``u^(1/(a-1))``, ``u = 1 + (a - 1) z / lam``."""
        u = np.maximum(1.0 + (self.a - 1.0) * z / lam, 1e-300 if self.escapes else 0.0)
        with np.errstate(divide="ignore"):
            exponent = np.log(u) / (self.a - 1.0)
        return np.exp(np.minimum(exponent, LARGEST_EXPONENT))

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``lam/a u^(a/(a-1))``; where u is not positive it is 0, or infinite if a < 1."""
        slope = (self.a - 1.0) * (z / lam)
        slack = margin(1.0 + np.abs(slope), 6)
        u = 1.0 + slope - slack if self.escapes else 1.0 + slope + slack
        some = np.where(u > 0, u, 1.0)
        exponent = self.a / (self.a - 1.0) * np.log(some)
        exponent = exponent + margin(np.abs(exponent), 16)
        grown = raised(lam / self.a * np.exp(np.minimum(exponent, LARGEST_EXPONENT)), 16)
        grown = np.where(exponent < LARGEST_EXPONENT, grown, np.inf)
        return np.where(u > 0, grown, np.inf if self.escapes else 0.0)

    def price(self, p: Floats, r: Floats) -> Floats:
        """Return ``log (sum_y r_y^a p_sy^(1-a)) / (a - 1)``."""
        with np.errstate(divide="ignore"):
            terms = np.where((r > 0)[:, None], r[:, None] ** self.a * p ** (1.0 - self.a), 0.0)
            return np.asarray(np.log(terms.sum(axis=2)) / (self.a - 1.0))

    def least_affinity(self, rho: float) -> float:
        """Return what Rényi divergences of order 1/2 are at most, as an affinity: they grow with their order."""
        within = max(0.0, 1.0 + self.a * (self.a - 1.0) * rho)
        return float(within ** (0.5 / (1.0 - self.a) if self.a > 0.5 else 0.5 / self.a))


class Trimming(Divergence):
    """``1 - 1 / max(q / p)``: what has to be taken away of P so that Q is left.

    The ball of radius rho holds every Q with ``q <= p / (1 - rho)``: f is 0 up to that ratio, and infinite beyond. The
    conjugate is ``max(z, 0)`` times the ratio, whatever lam is, and the radius of the inequality is 0.
    """

    @property
    def meaning(self) -> str:
        """Say what a radius is."""
        return f"it is the share of P that may be taken away, between 0 (none) and {self.most:g}"

    @property
    def jumps(self) -> bool:
        """The ratio is the largest one, or 0."""
        return True

    @property
    def ball(self) -> str:
        """Say what is taken away."""
        return "that is left when a share of at most rho of the data's distribution P is taken away (trimming)"

    def radius(self, rho: Floats) -> Floats:
        """Return 0: the radius stands in f."""
        return np.zeros_like(rho)

    def largest_ratio(self, rho: Floats) -> Floats:
        """Return ``1 / (1 - rho)``, with the leeway."""
        return raised((1.0 + LEEWAY) / (1.0 - rho), 4)

    def measure(self, p: Floats, q: Floats, stray: Floats | float = 0.0, axis: Any = None) -> Floats:
        """Return ``1 - 1 / max(q / p)``."""
        some = p > 0
        largest = np.where(some, q / np.where(some, p, 1.0), 0.0).max(axis=axis)
        outside = np.where(some, 0.0, q).sum(axis=axis) + stray
        return np.asarray(1.0 - 1.0 / np.maximum(largest, 1.0) + self._beyond(outside))

    def swing(self, ratio: Floats) -> Floats:
        """Return ``t``: a relative error of the largest ratio is one of ``1 / t``, which is at most 1."""
        return ratio

    def conjugate(self, z: Floats, lam: Floats) -> Floats:
        """Return ``max(z, 0)``."""
        return np.maximum(z, 0.0)

    def price(self, p: Floats, r: Floats) -> Floats:
        """Return ``max_y log(r_y / p_sy)``."""
        return np.log(np.where((r > 0)[:, None], r[:, None] / p, 0.0).max(axis=2))

    def least_affinity(self, rho: float) -> float:
        """Return ``sqrt(1 - rho)``."""
        return math.sqrt(max(0.0, 1.0 - rho))


HELLINGER = Divergence(
    "hellinger",
    "Hellinger distance",
    1.0,
    1.0,
    math.nan,
    "the root of 1 - ∑ √(p q), from 0 for equal distributions to 1 for those that have nothing in common",
)
TOTAL_VARIATION = TotalVariation(
    "total_variation",
    "total variation distance",
    1.0,
    1.0,
    0.0,
    "half of ∑ |q - p|: the share of all cases that has to be moved",
)
KULLBACK_LEIBLER = KullbackLeibler(
    "kl", "Kullback-Leibler divergence", LARGEST_RADIUS, math.inf, 1.0, "∑ q log(q / p), in nats", (4.0, 2)
)
CHI_SQUARED = ChiSquared(
    "chi_squared", "chi-squared divergence", LARGEST_RADIUS, math.inf, 1.0, "∑ (q - p)² / p", (8.0, 2)
)
TRIMMING = Trimming(
    "trimming",
    "trimmed share",
    MOST_TRIMMED,
    math.inf,
    0.0,
    "1 - 1 / max (q / p): the share of P that has to be taken away so that Q is left",
)

#: All of them, by name.
DIVERGENCES: dict[str, Divergence] = {
    d.name: d for d in (HELLINGER, TOTAL_VARIATION, KULLBACK_LEIBLER, CHI_SQUARED, TRIMMING)
}


#: Families, by name: a divergence of theirs is called by it, a colon and its order, such as "cressie_read:1.5".
FAMILIES = {"cressie_read": CressieRead}


def find_divergence(name: object) -> Divergence:
    """Return a divergence by its name."""
    if isinstance(name, str) and name in DIVERGENCES:
        return DIVERGENCES[name]
    family, colon, order = name.partition(":") if isinstance(name, str) else ("", "", "")
    if family in FAMILIES:
        return _of_family(str(name), family, order if colon else "")
    words = ", ".join(map(repr, [*DIVERGENCES, *(f"{known}:1.5" for known in FAMILIES)]))
    message = f"{given('divergence', name)} is not known; use one of {words} (or another order)"
    raise InputError(message)


@cache
def _of_family(name: str, family: str, text: str) -> Divergence:
    """Return the one of an order."""
    try:
        order = float(text)
    except ValueError:
        message = f"{given('divergence', name)} needs its order behind a colon, such as '{family}:1.5'"
        raise InputError(message) from None
    return FAMILIES[family].of(check_order("divergence", order, given("divergence", name)))


def check_order(argument: str, value: object, said: str = "") -> float:
    """Return an order of Cressie and Read's divergences, or of Rényi's."""
    meaning = "it is an order, the power of q / p in the divergence"
    order = number(argument, value, -math.inf, math.inf, meaning)
    said = said or given(argument, order, "g")
    if not LEAST_ORDER <= order <= LARGEST_ORDER:
        message = f"{said}: orders go from {LEAST_ORDER:g} to {LARGEST_ORDER:g}; {meaning}"
        raise InputError(message)
    if abs(order - 1.0) < NEAR_ONE:
        message = f"{said}: of order 1 it is the Kullback-Leibler divergence; use {given('divergence', 'kl')}"
        raise InputError(message)
    return order


def divergence_name(kind: str, order: float | None) -> DivergenceName:
    """Return the name of a divergence from what documents say of it."""
    return kind if order is None else FAMILIES[kind].of(order).name
