"""What errors cost: by how much the bound rises with the mean loss of each cell (docs/theory.md, "Prices").

A worst case says it. Where only masses of cells move the bound is the largest of linear functions of the cells' means,
and the masses of the worst case are its slopes. Where anything moves, an atom's share of P counts through the
conjugate at its own multiplier, and its loss through its mass in the worst case; both follow from the density ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.certificate.leaf_at import Multipliers, multipliers_at
from fairbound.certificate.priced import Priced
from fairbound.data.atoms import Atoms
from fairbound.data.cells import encode, encode_groups, numbers, same_length
from fairbound.data.loss_summary import MeanAndVariance, MeanOnly
from fairbound.data.native_frame import cell_names, native_frame
from fairbound.data.population import Population
from fairbound.errors import InputError, argument
from fairbound.problem.divergences import find_divergence
from fairbound.problem.objective import Objective
from fairbound.wording.names import name
from fairbound.wording.notebook import html_details, html_paragraph, html_table
from fairbound.wording.vocabulary import SELECTED, ZERO_ONE, wording


@dataclass(frozen=True)
class Prices:
    """By how much the bound of a certificate rises per unit of the mean loss of each cell.

    Attributes
    ----------
    value
        The prices, shape (S, C): if the error rate of a cell rises by one point, the bound rises by so many points, to
        first order. NaN for a cell without rows.
    relative
        The same divided by the cell's share of the data: how often an error there counts. 1 is an error's weight in
        the ordinary error rate.
    mass, mean
        The cells' shares of the data, and their mean losses.
    one_sided
        Where the price holds in one direction only, shape (S, C).
    remarks
        Why, in sentences; and other things to know of the prices.
    groups, labels
        The names.
    """

    value: Floats
    mass: Floats
    mean: Floats
    one_sided: Booleans
    remarks: tuple[str, ...]
    groups: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    column: str = "mean loss"
    counted: str = "a loss"

    @property
    def relative(self) -> Floats:
        """The prices divided by the cells' shares of the data."""
        return self.value / np.where(self.mass > 0, self.mass, np.nan)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.value, dtype=dtype)

    def weights(self, y_true: Any, *, sensitive_features: Any) -> Floats:
        """Return a weight for each row: what its cell's errors count, scaled to a mean of 1.

        They can be handed to a model as ``sample_weight``. A cell that the prices do not know counts 1.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> prices = certify(population, 0.2, shift="sensitive").prices
        >>> prices.weights([0, 1, 0, 1], sensitive_features=[0, 0, 1, 1]).round(2).tolist()
        [0.46, 0.97, 0.31, 2.26]
        """
        labels, groups = encode("y_true", y_true), encode_groups("sensitive_features", sensitive_features)
        same_length(y_true=len(labels.codes), sensitive_features=len(groups.codes))
        table = self._table(groups.names, labels.names)
        found = table[groups.codes, labels.codes]
        if (found < 0).any() or not np.isfinite(found).all():
            message = (
                f"the {argument('prices')} cannot be weights, since some are negative or infinite; take those of a "
                "certificate of the loss, with shift='sensitive'"
            )
            raise InputError(message)
        mean = float(found.mean())
        return found / mean if mean > 0 else np.ones(len(found))

    def _table(self, groups: tuple[Hashable, ...], labels: tuple[Hashable, ...]) -> Floats:
        """Return relative prices of other groups and labels, 1 where there is none."""
        table = np.ones((len(groups), len(labels)))
        known = np.where(np.isnan(self.relative), 1.0, self.relative)
        for s, group in enumerate(groups):
            for y, label in enumerate(labels):
                if group in self.groups and label in self.labels:
                    table[s, y] = known[self.groups.index(group), self.labels.index(label)]
        return table

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the prices as a data frame: group, label, share, mean loss, price, relative price.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> certify(population, 0.2, shift="sensitive").prices.to_frame("polars").columns
        ['group', 'label', 'mass', 'mean', 'price', 'relative', 'one_sided']
        """
        columns = {"mass": self.mass, "mean": self.mean, "price": self.value, "relative": self.relative}
        listed = {key: [None if np.isnan(v) else float(v) for v in table.ravel()] for key, table in columns.items()}
        names = cell_names(self.groups, self.labels)
        return native_frame(names | listed | {"one_sided": self.one_sided.ravel().tolist()}, backend)

    @property
    def head(self) -> list[str]:
        """The head of the table for people."""
        return ["group", "label", "share in data", self.column, "price", f"{self.counted} counts"]

    @property
    def rows(self) -> list[list[str]]:
        """The rows of that table, what counts most first; NaN last."""
        relative = self.relative.ravel()
        order = np.argsort(np.where(np.isnan(relative), np.inf, -relative), kind="stable")
        return [self._row(*divmod(int(place), len(self.labels))) for place in order]

    def _row(self, s: int, y: int) -> list[str]:
        price, relative = self.value[s, y], self.relative[s, y]
        shown = ["no data", "-", "-"]
        if self.mass[s, y] > 0:
            known = not np.isnan(price)
            shown = [f"{self.mean[s, y]:.4f}", f"{price:.4f}" if known else "-", f"{relative:.2f}x" if known else "-"]
        return [name(self.groups[s]), name(self.labels[y]), f"{self.mass[s, y]:.4f}", *shown]

    @property
    def title(self) -> str:
        """What the table is about."""
        return "Which errors cost most" if self.counted == "an error" else "What costs most"

    @property
    def meaning(self) -> str:
        """How to read the table, in a sentence."""
        return (
            f"If the {self.column} of a cell rises by a little, the bound rises by price times as much; {self.counted} "
            "counts so many times what it does in the mean of all rows."
        )

    def __repr__(self) -> str:
        return f"Prices({len(self.groups)} groups x {len(self.labels)} labels, {self.value.round(6).tolist()})"

    def _repr_html_(self) -> str:
        """Show the prices in a notebook: what counts most first."""
        said = html_details("How to read this", [self.meaning, *self.remarks])
        return html_paragraph(self.title, strong=True) + html_table(self.head, self.rows) + said


@dataclass(frozen=True)
class RowPrices:
    """By how much the bound rises with the loss of a row, for each loss (or bin of losses) of each cell.

    Attributes
    ----------
    loss, mass
        The losses, and their shares of the data, shape (S, C, J).
    value
        The prices, relative to those in the ordinary mean: their mean over the rows of a cell, times the cell's share,
        is the cell's price. NaN where there are no rows.
    groups, labels
        The names.
    """

    loss: Floats
    mass: Floats
    value: Floats
    groups: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]

    def weights(self, loss: Any, y_true: Any, *, sensitive_features: Any) -> Floats:
        """Return the price of each row by its cell and loss, between known losses interpolated, scaled to a mean of 1.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> loss, y, groups = [0.1, 0.2, 0.4, 0.9, 0.3, 0.6], [0, 1, 0, 1, 0, 1], list("aabbab")
        >>> population = Population.from_losses(loss, y, sensitive_features=groups)
        >>> prices = certify(population, 0.2).row_prices
        >>> prices.weights(loss, y, sensitive_features=groups).round(2).tolist()
        [0.31, 1.2, 1.51, 1.64, 0.38, 0.96]
        """
        losses = numbers("loss", loss)
        labels, groups = encode("y_true", y_true), encode_groups("sensitive_features", sensitive_features)
        same_length(loss=len(losses), y_true=len(labels.codes), sensitive_features=len(groups.codes))
        found = np.ones(len(losses))
        for s, group in enumerate(groups.names):
            for y, label in enumerate(labels.names):
                here = (groups.codes == s) & (labels.codes == y)
                if group in self.groups and label in self.labels:
                    place = self.groups.index(group), self.labels.index(label)
                    known = self.mass[place] > 0
                    if known.any() and here.any():
                        found[here] = np.interp(losses[here], self.loss[place][known], self.value[place][known])
        return found / float(found.mean())

    def to_frame(self, backend: str | None = None) -> Any:
        """Return them as a data frame: group, label, loss, mass, price; a row for each loss that occurs."""
        places = [tuple(int(v) for v in place) for place in np.argwhere(self.mass > 0)]
        columns: dict[str, list[Any]] = {
            "group": [self.groups[s] for s, _, _ in places],
            "label": [self.labels[y] for _, y, _ in places],
        }
        for key, table in (("loss", self.loss), ("mass", self.mass), ("price", self.value)):
            columns[key] = [float(table[place]) for place in places]
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        return f"RowPrices({int((self.mass > 0).sum())} losses in {self.mass[..., 0].size} cells)"


@dataclass(frozen=True)
class Smooth:
    """What prices need of a divergence whose density ratios do not jump.

    With ``z = v - eta = lam f'(t)`` an atom's share of P is worth ``lam (t f'(t) - f(t))``, t being its density ratio.
    """

    slope: Callable[[Floats], Floats]  # f'(t)
    ratio: Callable[[Floats], Floats]  # its inverse; infinite where Q would leave P's support
    worth: Callable[[Floats], Floats]  # t f'(t) - f(t), up to a constant


SMOOTH = {
    "hellinger": Smooth(
        lambda t: -0.5 / np.sqrt(t),
        lambda z: np.where(z < 0, 0.25 / np.square(z), np.inf),
        lambda t: 0.5 * np.sqrt(t),
    ),
    "kl": Smooth(np.log, np.exp, lambda t: t),
    "chi_squared": Smooth(lambda t: 2.0 * t, lambda z: np.maximum(0.5 * z, 0.0), np.square),
}


def smooth_of(divergence: str) -> Smooth | None:
    """Return what prices need; None if density ratios jump."""
    order = find_divergence(divergence).order
    if order is None:
        return SMOOTH.get(divergence)
    a: float = order
    return Smooth(
        lambda t: t ** (a - 1.0) / (a - 1.0),
        lambda z: np.maximum((a - 1.0) * z, 0.0) ** (1.0 / (a - 1.0)),  # of 0 infinite if a < 1
        lambda t: t**a / a,
    )


def prices_of(certificate: Priced) -> Prices:
    """Return the prices of a certificate, from its worst case and, under total variation, its multipliers."""
    return _Found(certificate).prices


def row_prices_of(certificate: Priced) -> RowPrices:
    """Return the prices of rows."""
    return _Found(certificate).row_prices


class _Found:
    """The worst case of a certificate, atom by atom."""

    def __init__(self, certificate: Priced) -> None:
        self.c, self.population = certificate, certificate.population
        self.known: Population = certificate.population
        if certificate.surrogate is not None:
            self.known = certificate.surrogate.population
        self.mass, self.worst = self.known.mass, certificate.witness.mass
        self.empty = self.known.weight <= 0
        self.sign, self.held = self._values(certificate.objective)
        #: A unit of the mean of each cell, in units of what is bounded.
        with np.errstate(divide="ignore", invalid="ignore"):
            self.unit = np.where(self.sign != 0, self.sign / self.held, 0.0)

    def _values(self, about: Objective | None) -> tuple[Floats, Floats]:
        """Return the factors of the cells' losses, and the masses by which their means are divided."""
        if about is None:
            return np.ones_like(self.worst), np.ones_like(self.worst)
        sign = about.sign(self.worst.shape)
        counted = np.where(about.counted(sign.shape[1]), self.worst, 0.0)
        held = np.broadcast_to(counted.sum(axis=1, keepdims=True), sign.shape)
        if about.ratio:  # how the factor at which the difference is zero moves
            plus, minus = about.pair
            inside = self._means()
            means = (counted * inside).sum(axis=1) / counted.sum(axis=1)
            sign = sign.copy()
            sign[plus] *= -means[minus] / means[plus] ** 2
            sign[minus] *= -1.0 / means[plus]
        return sign, held

    def _means(self) -> Floats:
        """Return the mean losses of the cells in the worst case."""
        atoms, share = self.atoms, self.share
        unseen = self.c.witness.unseen
        top = self.known.ceiling if np.isfinite(self.known.ceiling) else 0.0
        return (share * atoms.loss).sum(axis=2) + unseen * top

    @property
    def atoms(self) -> Atoms:
        """The atoms that the worst case reweights."""
        if self.c.shift == "sensitive":
            return Atoms(self.mass[..., None], self.known.mean[..., None])
        known = self.known.knowledge
        if isinstance(known, MeanAndVariance) and self.exchanged:
            known = MeanOnly(known.mean)
        return self._falling(known.atoms(self.mass, self.known.ceiling)[1])

    def _falling(self, atoms: Atoms) -> Atoms:
        """Where losses of given moments are subtracted, the worst law has its mass at loss 0 and above the mean."""
        known, about = self.known.knowledge, self.c.objective
        if self.exchanged or not isinstance(known, MeanAndVariance) or about is None or about.minus is None:
            return atoms
        mean, variance = known.mean, known.variance
        some = mean > 0
        far = np.where(some, variance / np.where(some, variance + mean**2, 1.0), 1.0)
        place = np.where(some, mean + variance / np.where(some, mean, 1.0), 0.0)
        share = self.mass[..., None] * np.stack([far, 1.0 - far], axis=2)
        losses = np.stack([np.zeros_like(place), place], axis=2)
        here = (about.sign(mean.shape) < 0)[..., None]
        return Atoms(np.where(here, share, atoms.probability), np.where(here, losses, atoms.loss))

    @property
    def share(self) -> Floats:
        """What the worst case has of each atom within its cell; documents leave out what is beyond the last one."""
        inside, wanted = self.c.witness.reweighting, self.atoms.places
        found = np.zeros((*inside.shape[:2], wanted))
        width = min(wanted, inside.shape[2])
        found[..., :width] = inside[..., :width]
        return found

    @property
    def exchanged(self) -> bool:
        """Whether a mean rises by more rows at the ceiling, and not by larger losses."""
        if self.c.shift != "general":
            return False
        known = self.known.knowledge
        dropped = isinstance(known, MeanAndVariance) and find_divergence(self.c.divergence).only_means
        return self.population.two_valued or isinstance(known, MeanOnly) or dropped

    @property
    def value(self) -> Floats:
        """The prices of the cells."""
        with np.errstate(all="ignore"):
            if self.c.shift == "sensitive":
                found = self.unit * self.worst
            elif self.exchanged:
                found = self._exchange()
            elif isinstance(self.known.knowledge, MeanAndVariance):
                found = self._moments(self.known.knowledge)
            else:
                found = self.unit * self.worst * self.share.sum(axis=2)
        nothing = (self.sign == 0) | self.c.trivial
        return np.where(self.empty, np.nan, np.where(nothing, 0.0, found))

    def _ends(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the masses in P, and in the worst case, of the rows without loss and of those at the ceiling."""
        atoms, top = self.atoms, self.known.ceiling
        at_top = atoms.loss >= 0.5 * top
        moved = self.worst[..., None] * self.share
        low, high = (np.where(part, atoms.probability, 0.0).sum(axis=2) for part in (~at_top, at_top))
        from_low, from_high = (np.where(part, moved, 0.0).sum(axis=2) for part in (~at_top, at_top))
        return low, high, from_low, from_high + self.worst * self.c.witness.unseen

    def _exchange(self) -> Floats:
        """Return what it is worth to exchange a row without loss for one at the ceiling, per unit of the mean."""
        low, high, from_low, from_high = self._ends()
        top = self.known.ceiling
        smooth = smooth_of(self.c.divergence)
        if smooth is None:
            multipliers = multipliers_at(self.c)
            if multipliers is None:
                return np.full_like(self.mass, np.nan)
            return self.mass * self._jump(multipliers) / top
        ratio_low, ratio_high = from_low / low, from_high / high
        lam = self._lam(smooth, ratio_low, ratio_high, self.unit * top)
        step = self.unit * top / lam
        ratio_low = np.where(low > 0, ratio_low, smooth.ratio(smooth.slope(ratio_high) - step))
        beyond = np.where(from_high > 1e-7, np.inf, smooth.ratio(smooth.slope(ratio_low) + step))
        ratio_high = np.where(high > 0, ratio_high, beyond)
        return self.mass * self._worth(smooth, ratio_low, ratio_high, self.unit * top, lam) / top

    @staticmethod
    def _worth(smooth: Smooth, low: Floats, high: Floats, step: Floats, lam: float) -> Floats:
        """Return what an atom is worth more than another whose value is less by a step.

        ``lam`` stands in both; so of each cell its own is taken, from the step, which is exact.
        """
        apart = smooth.slope(high) - smooth.slope(low)
        own = np.where((low > 0) & (high > 0) & (np.abs(apart) > 1e-6), step / apart, lam)
        worth = own * (smooth.worth(high) - smooth.worth(low))
        return np.where(np.abs(apart) > 1e-6, worth, step * 0.5 * (low + high))

    def _lam(self, smooth: Smooth, low: Floats, high: Floats, step: Floats) -> float:
        """Return the multiplier of the divergence, from the density ratios: ``step = lam (f'(high) - f'(low))``."""
        usable = (low > 0) & (high > 0) & np.isfinite(low) & np.isfinite(high) & (step != 0)
        if not usable.any():
            return float("nan")
        apart = (smooth.slope(high) - smooth.slope(low))[usable]
        return float((step[usable] * apart).sum() / np.square(apart).sum())

    def _jump(self, at: Multipliers) -> Floats:
        """Return what an atom at the ceiling is worth more than one without loss, where ratios jump."""
        top = at.factor * self.known.ceiling * np.where(self.sign < 0, -1.0, 1.0) + at.shift - at.eta
        most = find_divergence(self.c.divergence).largest_ratio(np.array(self.c.rho))
        return most * (np.maximum(top, 0.0) - np.maximum(at.shift - at.eta, 0.0)) / at.scale

    def _moments(self, known: MeanAndVariance) -> Floats:
        """Return the price of a mean whose variance stays: one atom moves, and mass goes from one to the other."""
        smooth, atoms, share = smooth_of(self.c.divergence), self.atoms, self.share
        if smooth is None:  # then variances count for nothing
            return np.full_like(self.mass, np.nan)
        mean, variance, top = known.mean, known.variance, self.known.ceiling
        falling = self.sign < 0
        ratio = self.worst[..., None] * share / atoms.probability
        apart = atoms.loss[..., 1] - atoms.loss[..., 0]
        lam = self._lam(smooth, ratio[..., 0], ratio[..., 1], self.unit * apart)
        worth = self._worth(smooth, ratio[..., 0], ratio[..., 1], self.unit * apart, lam)
        room = np.where(falling, mean, top - mean)
        moving = np.where(falling, atoms.probability[..., 1] * ratio[..., 1], atoms.probability[..., 0] * ratio[..., 0])
        gained = 2.0 * variance * room / np.square(variance + room**2)
        found = self.unit * moving * (1.0 - variance / room**2) + self.mass * worth * gained
        return np.where(variance > 0, found, self.unit * self.worst * (1.0 - self.c.witness.unseen))

    @property
    def prices(self) -> Prices:
        """The prices, and what is to be said of them."""
        value, population = self.value, self.population
        one_sided, remarks = self._remarks(value)
        column = wording(population).column
        counted = {ZERO_ONE: "an error", SELECTED: "a selection"}.get(population.loss_name, "a loss")
        names = population.groups, population.labels
        return Prices(value, population.mass, population.mean, one_sided, remarks, *names, column, counted)

    def _remarks(self, value: Floats) -> tuple[Booleans, tuple[str, ...]]:
        c, words = self.c, wording(self.population)
        said: list[str] = []
        none = ~self.empty & (self.known.mean <= 0) & (self.sign != 0)
        every = ~self.empty & (self.known.mean >= self.known.ceiling) & (self.sign != 0)
        one_sided = none | every
        if none.any():
            said.append(f"A {words.column} of 0 cannot fall: such prices are those of a rise.")
        if every.any():
            said.append(f"A {words.column} at the ceiling cannot rise: such prices are those of a fall.")
        if np.isinf(value).any():
            one_sided |= np.isinf(value)
            said.append("An infinite price: the first such rows raise the bound like a root, at no finite price.")
        lead = c.comparisons or (c,)
        bounds = sorted((one.bound for one in lead), reverse=not c.lower)
        if len(bounds) > 1 and abs(bounds[1] - bounds[0]) <= max(c.tol, 1e-9):
            one_sided |= True
            said.append("Several groups, or pairs of them, are the worst alike: the prices are those of one of them.")
        if c.trivial:
            said.append("The bound says nothing at this radius, so no error moves it.")
        elif c.gap > max(c.tol, 1e-5):
            said.append("The bound is not close to the worst case that was found: the prices are those of that case.")
        if c.divergence == "trimming" or (smooth_of(c.divergence) is None and c.shift == "general"):
            one_sided |= True
            said.append("Under this distance prices jump: what is given lies between those of a rise and of a fall.")
        if c.lower:
            said.append("The bound is one from below: it is better if it rises.")
        if c.shift != "general" and not c.lower:
            said.append(
                "The bound is convex in the cells' means: for large changes it rises by more, and falls by less."
            )
        if np.isnan(value[~self.empty]).any():
            said.append("Some prices cannot be read off this proof.")
        if c.surrogate is not None:
            said.append("The rows are a sample: the prices are those of what takes its place, its distance kept.")
        return one_sided, tuple(said)

    @property
    def row_prices(self) -> RowPrices:
        """The prices of rows, by their losses."""
        atoms = self.atoms if self.c.shift == "general" else self.known.knowledge.atoms(self.mass, self._top)[1]
        some = atoms.probability > 0
        with np.errstate(all="ignore"):
            if self.c.shift == "sensitive" or self.exchanged:
                cells = (self.value / self.mass)[..., None]
                value = np.broadcast_to(cells, atoms.probability.shape)
            else:
                value = (self.unit * self.worst)[..., None] * self.share / atoms.probability
        value = np.where(some, value, np.nan)
        return RowPrices(atoms.loss, atoms.probability, value, self.known.groups, self.known.labels)

    @property
    def _top(self) -> float:
        top = self.known.ceiling
        return top if np.isfinite(top) else float(self.known.mean.max())
