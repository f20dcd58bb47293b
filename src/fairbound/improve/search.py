"""The search for decision weights: prices tell in which direction, certificates how far."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.certificate.certificate import Certificate
from fairbound.certificate.certify import certify
from fairbound.data.native_frame import native_frame
from fairbound.data.population import Population
from fairbound.errors import DataWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Powers of the prices that are tried as weights: none, less than they say, what they say, more.
POWERS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)

#: How often prices are taken anew, where the best weights so far have led.
ROUNDS = 3

#: First and last step of the search around the best weights, in logarithms.
FIRST_STEP, LAST_STEP = 0.2, 0.02

#: Prices beyond these, relative to an ordinary error, are not followed.
LEAST_PRICE, MOST_PRICE = 0.05, 20.0


@dataclass(frozen=True)
class Path:
    """What was tried: the bound against the ordinary error.

    Attributes
    ----------
    error, bound
        Of each weights that were tried, on the rows that were chosen with; the first are those of the plain decisions.
    weights
        The weights, shape (N, S, C); the same for all groups unless the search was group-aware.
    chosen
        Which of them was kept.
    allowed
        The largest error that was allowed.
    lower
        Whether larger bounds are better, as of ratios.
    """

    error: Floats
    bound: Floats
    weights: Floats
    chosen: int
    allowed: float
    lower: bool = False

    @property
    def best(self) -> Booleans:
        """Which of them are on the edge: none has a smaller error and a bound that is no worse."""
        bound = -self.bound if self.lower else self.bound
        order = np.lexsort((bound, self.error))
        found = np.zeros(len(bound), dtype=bool)
        lowest = np.inf
        for place in order.tolist():
            if bound[place] < lowest:
                found[place], lowest = True, float(bound[place])
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """Return error, bound, and whether it is on the edge and was chosen, as a data frame."""
        chosen = np.arange(len(self.error)) == self.chosen
        columns = {"error": self.error, "bound": self.bound, "best": self.best, "chosen": chosen}
        return native_frame({name: values.tolist() for name, values in columns.items()}, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw bound against error, with the edge, the plain decisions and those chosen. Needs matplotlib."""
        if ax is None:
            from matplotlib.figure import Figure  # noqa: PLC0415 (only where something is drawn)

            ax = Figure(figsize=(6.0, 4.0), layout="constrained").add_subplot()
        edge = np.flatnonzero(self.best)
        edge = edge[np.argsort(self.error[edge])]
        ax.plot(self.error, self.bound, linestyle="", marker=".", color="#9aa3ad", label="tried")
        ax.plot(self.error[edge], self.bound[edge], color="#1f5fa8", marker="o", markersize=3, label="the best of them")
        ax.plot(self.error[:1], self.bound[:1], linestyle="", marker="s", color="black", label="plain decisions")
        ax.plot(
            self.error[[self.chosen]],
            self.bound[[self.chosen]],
            linestyle="",
            marker="D",
            color="#c0392b",
            label="chosen",
        )
        ax.axvline(self.allowed, color="#9aa3ad", linestyle="--", linewidth=1)
        ax.set_xlabel("error on the rows that were chosen with")
        ax.set_ylabel("bound there")
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        return (
            f"Path({len(self.error)} tried, error={self.error[self.chosen]:.4f}, bound={self.bound[self.chosen]:.4f})"
        )


def decided(scores: Floats, weights: Floats, groups: Integers | None = None) -> Integers:
    """Return for each row the label with the largest score times weight; weights (C,), or (S, C) with groups."""
    return (scores * (weights if groups is None else weights[groups])).argmax(axis=1)


class Search:
    """Decisions for rows whose labels and groups are known, and what is certified of them.

    Each row may occur several times, with other scores: ``repeats`` says how often.
    """

    def __init__(
        self,
        scores: Floats,
        labels: Integers,
        groups: Integers,
        names: tuple[tuple[Hashable, ...], tuple[Hashable, ...]],
        rho: float,
        asked: Mapping[str, Any],
        *,
        group_blind: bool,
        allowed: float,
        budget: int,
        repeats: int = 1,
    ) -> None:
        self.scores, self.labels, self.groups, self.names = scores, labels, groups, names
        self.rho, self.asked, self.group_blind = rho, {"tol": 1e-4} | dict(asked), group_blind
        self.shape = len(names[0]), len(names[1])
        self.budget = budget
        self.repeats = repeats if "confidence" in self.asked else 1  # only there it matters how many rows there are
        self.lower = False
        self._tried: list[tuple[float, float, Floats, Certificate]] = []
        plain = self._try(np.zeros(self._free))
        self.allowed = plain[0] + allowed
        self._best = 0

    @property
    def _free(self) -> tuple[int, ...]:
        """The shape of the weights that are free, the first label's being 1."""
        return (1 if self.group_blind else self.shape[0], self.shape[1] - 1)

    def _weights(self, free: Floats) -> Floats:
        """Return weights (S, C) from logarithms."""
        full = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
        return np.broadcast_to(np.exp(full - full.max(axis=1, keepdims=True)), self.shape)

    def population(self, weights: Floats) -> Population:
        """Return what is known of the decisions that some weights make."""
        found = decided(self.scores, weights, self.groups)
        groups, labels = self.shape
        place = (self.groups * labels + self.labels) * labels + found
        counts = np.bincount(place, minlength=groups * labels * labels).reshape(groups, labels, labels)
        if self.repeats > 1:
            counts = np.rint(counts / self.repeats).astype(np.int64)
        return Population.from_counts(counts, groups=self.names[0], labels=self.names[1])

    def _try(self, free: Floats) -> tuple[float, float, Floats, Certificate]:
        population = self.population(self._weights(free))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the rows are the same each time
            certificate = certify(population, self.rho, **self.asked)
        self.lower = certificate.lower
        error = float(population.loss)
        self._tried.append((error, certificate.bound, free, certificate))
        return self._tried[-1]

    def _better(self, free: Floats) -> bool:
        """Try weights; whether they are allowed and better than the best so far."""
        if len(self._tried) >= self.budget:
            return False
        error, bound, _, _ = self._try(free)
        best = self._tried[self._best]
        gained = best[1] - bound if not self.lower else bound - best[1]
        if error <= self.allowed + 1e-12 and (gained > 1e-9 or (gained > -1e-9 and error < best[0])):
            self._best = len(self._tried) - 1
            return True
        return False

    def run(self) -> Path:
        """Search, and return what was tried."""
        for _ in range(ROUNDS):
            target = self._priced(self._tried[self._best][3])
            found = [] if target is None else [self._better(power * target) for power in POWERS]
            if not any(found):
                break
        step = FIRST_STEP
        while step >= LAST_STEP and len(self._tried) < self.budget:
            step = step if self._around(step) else 0.5 * step
        errors, bounds, frees, _ = zip(*self._tried, strict=True)
        weights = np.stack([self._weights(free) for free in frees])
        return Path(np.array(errors), np.array(bounds), weights, self._best, self.allowed, self.lower)

    def _around(self, step: float) -> bool:
        """Try one weight after the other a step up and down."""
        found = False
        for place in np.ndindex(*self._free):
            for sign in (1.0, -1.0):
                free = self._tried[self._best][2].copy()
                free[place] += sign * step
                if self._better(free):
                    found = True
                    break
        return found

    def _priced(self, certificate: Certificate) -> Floats | None:
        """Return the weights that prices suggest, in logarithms; None if they are no prices of errors."""
        prices = certificate.prices
        if certificate.population.pos_label is not None:
            return None
        relative = np.where(np.isnan(prices.relative), 1.0, prices.relative)
        if self.group_blind:
            total = np.clip(np.nan_to_num(relative, posinf=MOST_PRICE), LEAST_PRICE, MOST_PRICE) * prices.mass
            relative = (total.sum(axis=0) / prices.mass.sum(axis=0))[None]
        logs = np.log(np.clip(np.nan_to_num(relative, posinf=MOST_PRICE), LEAST_PRICE, MOST_PRICE))
        found: Floats = logs[:, 1:] - logs[:, :1]
        return found
