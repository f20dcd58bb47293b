"""Confidence regions: what may be said of P when only a sample of it is known.

A region turns the sample into a *stand-in*: a population and a larger radius such that, with the stated confidence
and for all radii at once, the worst case around P is at most the worst case around the stand-in. Everything after that,
from the search to the proof, is as for a known population (docs/finite-samples.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.arithmetic.rounding import UNIT, least_affinity
from fairbound.data.cells import number
from fairbound.data.loss_summary import Knowledge, LossTable, MeanAndVariance, MeanOnly
from fairbound.data.population import Population
from fairbound.data.strata import ByStratum
from fairbound.errors import InputError, SmallCellWarning, argument, either, given, warn
from fairbound.sampling.discretise import Sample, drawn, expected, intervals_for
from fairbound.sampling.prequential import EXPECTED_SHORT, Wagers, dealt, expected_blocks
from fairbound.sampling.sphere import largest_means, largest_shares, least_affinity_of_classes, least_affinity_of_masses
from fairbound.wording.vocabulary import wording

#: Under sensitive shifting this part of the error probability goes to the cell masses, the rest to the mean losses.
#: Given the numbers of rows, the latter is independent of the former: probabilities of being right multiply.
MASS_PART = 0.125

#: A cell with fewer rows is named in a warning.
FEW_ROWS = 5

#: Error probabilities below this are refused: floats near 1 tell them apart too coarsely.
LEAST_ERROR = 1e-12

#: Allowance for rounding in the limits that a region computes, relative.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Surrogate:
    """What replaces P.

    Attributes
    ----------
    population
        Its cell masses are the sample's, and its losses are to be taken for P's or worse.
    affinity
        How near it is to P, or to a distribution that is at least as bad as P.
    sample
        The counts it was made from, where losses had to be rounded.
    sentences
        The region and the division of the error probability, in words.
    least
        Of a region that is for one radius: the bound that the rows give there. The stand-in alone proves nothing then.
    errors
        Of a region that is an approximation: how many standard errors are added to the stand-in's own bound.
    """

    population: Population
    affinity: float
    sample: Sample | None
    sentences: tuple[str, ...]
    least: Callable[[float], float] | None = None
    errors: float | None = None

    def radius(self, rho: Floats) -> Floats:
        """Return the radii around the stand-in that contain the balls around P, rounded up.

        Angles add up: ``arccos(affinity)`` is a metric.
        """
        tau = 1.0 - np.square(rho)
        sine = rho * np.sqrt(2.0 - np.square(rho))  # of the angle rho; from tau it would lose its digits at small rho
        near = tau * self.affinity - sine * np.sqrt((1.0 - self.affinity) * (1.0 + self.affinity))
        opposite = np.square(tau) + self.affinity**2 <= 1.0  # the angles add up to a right angle or more
        largest = np.sqrt(np.clip(1.0 - near + 16 * UNIT, 0.0, 1.0)) * (1.0 + 4 * UNIT)
        return np.where(opposite, 1.0, np.minimum(largest, 1.0))

    def least_radius(self, distance: float) -> float:
        """Return the smallest radius around P that reaches as far as ``distance`` from the stand-in."""
        low, high = 0.0, 1.0
        if self.radius(np.array([low]))[0] >= distance:
            return low
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.radius(np.array([middle]))[0] >= distance else (middle, high)
        return high


@runtime_checkable
class Region(Protocol):
    """A confidence region: a small value with a name."""

    @property
    def name(self) -> str:
        """What it is called in ``region=`` and on certificates."""
        ...

    def surrogate(
        self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
    ) -> Surrogate:
        """Make the stand-in of a sample.

        Losses of the cells (S, C) that are ``subtracted`` must not be overstated; all others must not be understated.
        """
        ...

    def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
        """Make the stand-in of a sample of so many rows that looks as is to be expected."""
        ...


def _check_whole(intervals: object, seed: object, radii: object = 1) -> None:
    """Refuse what is not a whole number."""
    for name, value, least in (("intervals", intervals, 1), ("seed", seed, 0), ("radii", radii, 1)):
        whole = isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**32
        if not whole and not (value is None and name == "intervals"):
            message = f"{given(name, value)} must be a whole number, {least} or more and below 2**32"
            raise InputError(message)


def _divided(error: float) -> tuple[float, float]:
    """Return the error probability of the masses, and that of the means."""
    for_masses = MASS_PART * error
    return for_masses, (error - for_masses) / (1.0 - for_masses) * (1.0 - ROUNDING)


def strata_of(population: Population) -> ByStratum:
    """Return the strata of a population of which no more is known (arguments already validated)."""
    if not isinstance(population.knowledge, ByStratum):
        raise TypeError(population.knowledge)
    return population.knowledge


def _as_counted(population: Population, sample: Sample) -> Population:
    """Return the population whose losses are the rounded ones of a sample."""
    counts = sample.counts
    ones = np.ones_like(counts)
    edges = np.broadcast_to(sample.losses, counts.shape)
    known = LossTable(edges, edges, counts, ones, 0.0 * ones, 1)
    return replace(population, weight=counts.sum(axis=2), knowledge=known, predicted=None)


@dataclass(frozen=True)
class Sphere:
    """All cell masses and losses together, by exact binomial tails: the default, and the tightest we know.

    Attributes
    ----------
    intervals
        Losses are rounded at random, mean kept, to this many equal intervals between 0 and the ceiling. None
        chooses 1 for 0-1 loss and else by the number of rows.
    seed
        Of that rounding; recorded in the certificate.
    """

    intervals: int | None = None
    seed: int = 0

    name: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        """Refuse what is not a whole number."""
        _check_whole(self.intervals, self.seed)

    def surrogate(
        self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
    ) -> Surrogate:
        """Count the rows, then see :mod:`fairbound.sampling.sphere`."""
        if shift == "stratified":
            return self._of_strata(population, 1.0, confidence, subtracted)
        intervals = self.intervals or intervals_for(population, float(population.rows or 0))
        sample = drawn(population, intervals, self.seed, subtracted)
        return self._from(sample, population, confidence, shift, subtracted)

    def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
        """The same with expected counts."""
        if shift == "stratified":
            return self._of_strata(population, rows / population.weight.sum(), confidence, None)
        intervals = self.intervals or intervals_for(population, rows)
        return self._from(expected(population, rows, intervals), population, confidence, shift)

    @staticmethod
    def _of_strata(population: Population, times: float, confidence: float, subtracted: Booleans | None) -> Surrogate:
        """Take the strata of the cells for cells, with limits of their means, as under sensitive shifting."""
        known, top, error = strata_of(population), population.ceiling, 1.0 - confidence
        rows = times * known.weight
        for_masses, for_means = _divided(error)
        seen = known.low if subtracted is None else np.where(subtracted[..., None], top - known.low, known.low)
        if population.two_valued:
            hits = rows * seen / top
            hits = np.rint(hits) if times == 1.0 else hits
            classes = np.stack([rows - hits, hits], axis=-1).reshape(-1, 2)
            most = largest_means(classes, np.array([0.0, top]), for_means).reshape(rows.shape)
        else:
            most = top * largest_shares((seen / top).ravel(), rows.ravel(), for_means).reshape(rows.shape)
        mean = _mirrored_back(most, top, None if subtracted is None else subtracted[..., None])
        affinity = least_affinity_of_masses(rows.reshape(-1, 1), for_masses)
        surrogate = replace(
            population, weight=rows.sum(axis=2), knowledge=known.limited(rows, mean), predicted=None, strata=None
        )
        said = region_sentences("sphere", error, "stratified", population, None, subtracts=subtracted is not None)
        return Surrogate(surrogate, affinity, None, said)

    def _from(
        self,
        sample: Sample,
        population: Population,
        confidence: float,
        shift: str,
        subtracted: Booleans | None = None,
    ) -> Surrogate:
        error = 1.0 - confidence
        counts, losses = sample.counts, sample.losses
        classes = sample.worst_last(subtracted)
        weight = counts.sum(axis=2)
        if shift == "sensitive":
            for_masses, for_means = _divided(error)
            # Mirrored, the losses are the same but for rounding, for which the limits allow.
            mean = largest_means(classes, losses, for_means).reshape(weight.shape)
            affinity = least_affinity_of_masses(classes, for_masses)
            known = MeanOnly(_mirrored_back(mean, population.ceiling, subtracted))
            surrogate = replace(population, weight=weight, knowledge=known, predicted=None)
        else:
            affinity = least_affinity_of_classes(classes, error)
            surrogate = _as_counted(population, sample)
        said = region_sentences("sphere", error, shift, population, sample, subtracts=subtracted is not None)
        return Surrogate(surrogate, affinity, sample, said)


@dataclass(frozen=True)
class Prequential:
    """Bets on the rows, with multipliers made of the rows before: for a radius, or a few, fixed in advance.

    There it is much nearer to what a known population would give than what holds for all radii at once. It is for the
    loss, general shifting, equal base rates and no further limits; other questions are refused.

    Parameters
    ----------
    intervals
        How many intervals the losses are rounded to; None follows the number of rows, and 0-1 losses have one.
    seed
        Of the random rounding, and of the order of the rows. It has to be chosen without looking at them.
    radii
        Among how many radii the error probability is divided; :func:`certify_curve` sets it to the number of its own.
    """

    intervals: int | None = None
    seed: int = 0
    radii: int = 1

    name: ClassVar[str] = "prequential"

    def __post_init__(self) -> None:
        """Refuse what is not a whole number."""
        _check_whole(self.intervals, self.seed, self.radii)

    def surrogate(
        self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
    ) -> Surrogate:
        """Take the rows themselves, and what bets on them say of a radius."""
        intervals = self.intervals or _prequential_intervals(population, float(population.rows or 0))
        sample = replace(drawn(population, intervals, self.seed, subtracted), seed=self.seed)
        blocks = dealt(sample, self.seed)
        return self._from(sample, blocks, population, confidence, shift, 0.0)

    def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
        """The same with expected counts, in every block."""
        intervals = self.intervals or _prequential_intervals(population, rows)
        sample = expected(population, round(rows), intervals)
        return self._from(sample, expected_blocks(sample), population, confidence, shift, EXPECTED_SHORT)

    def _from(
        self, sample: Sample, blocks: Floats, population: Population, confidence: float, shift: str, short: float
    ) -> Surrogate:
        def least(rho: float) -> float:
            affinity = float(least_affinity(np.array([rho]))[0])
            wagers = Wagers.on(blocks[None], sample.losses, affinity, (1.0 - confidence) / self.radii)
            return float(wagers.least(short)[0])

        said = region_sentences("prequential", 1.0 - confidence, shift, population, sample)
        return Surrogate(_as_counted(population, sample), 1.0, sample, said, least)


def _prequential_intervals(population: Population, rows: float) -> int:
    """Return how many intervals losses are rounded to: of values that nothing is said of one by one there may be more.

    As for the others, it follows from the number of rows and the loss's name alone.
    """
    return 1 if population.two_valued else max(4, round(0.7 * rows**0.25))


@dataclass(frozen=True)
class Asymptotic:
    """The bound of the rows themselves, plus as many standard errors as a normal variable would need: an approximation.

    Nothing is proved at its confidence, and the checker says so. It is for the loss, at each radius by itself. For
    large samples, far from the nearest distance, its real confidence is near to the nominal one; elsewhere it may be
    far below.
    """

    name: ClassVar[str] = "asymptotic"

    def surrogate(
        self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
    ) -> Surrogate:
        """Take the rows themselves."""
        said = region_sentences("asymptotic", 1.0 - confidence, shift, population, None)
        return Surrogate(population, 1.0, None, said, errors=_normal_quantile(confidence))

    def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
        """Refuse: plans that rest on an approximation would promise what nobody keeps."""
        message = f"{given('region', 'asymptotic')} promises nothing that could be planned with; use another one"
        raise InputError(message)


def _normal_quantile(confidence: float) -> float:
    """Return how many standard errors above its mean a normal variable stays below with that probability."""
    return max(NormalDist().inv_cdf(confidence), 0.0)


@dataclass(frozen=True)
class Hoeffding:
    """The paper's intervals (its finite-sampling lemma, corrected): Hoeffding for means and masses, Maurer and Pontil.

    Of mean and variance only upper ends matter, since the bound grows with both; of a mean that is subtracted it is the
    lower end. Departures from the paper: other ends of the moments enter nowhere (its limit gamma-bar, which needed
    them, is not needed itself), all statements are united at the stated confidence, and the intervals of the masses
    enter the distance.
    """

    name: ClassVar[str] = "hoeffding"

    def surrogate(
        self, population: Population, confidence: float, shift: str, subtracted: Booleans | None = None
    ) -> Surrogate:
        """Take the upper ends of the moments, and the farthest masses within their intervals."""
        rows = strata_of(population).weight if shift == "stratified" else population.weight
        return self._from(population, rows, confidence, shift, subtracted)

    def planned(self, population: Population, rows: float, confidence: float, shift: str) -> Surrogate:
        """The same with expected counts."""
        share = population.mass if shift != "stratified" else strata_of(population).weight / population.weight.sum()
        return self._from(population, rows * share, confidence, shift)

    def _from(
        self,
        population: Population,
        rows: Floats,
        confidence: float,
        shift: str,
        subtracted: Booleans | None = None,
    ) -> Surrogate:
        error, top = 1.0 - confidence, population.ceiling
        only_means = shift != "general" or population.two_valued
        by_stratum = population.knowledge if isinstance(population.knowledge, ByStratum) else None
        own = population.mean if by_stratum is None or shift != "stratified" else by_stratum.low
        if subtracted is not None and own.ndim > subtracted.ndim:
            subtracted = np.broadcast_to(subtracted[..., None], own.shape)
        log = np.log((3 if only_means else 4) * rows.size / error) * (1.0 + ROUNDING)
        affinity = _least_box_affinity(rows / rows.sum(), float(np.sqrt(log / (2.0 * rows.sum()))))
        with np.errstate(divide="ignore", invalid="ignore"):
            width, slack = top * np.sqrt(log / (2.0 * rows)), ROUNDING * (1 + population.knowledge.roundings)
            mean = np.where(rows > 0, np.minimum((own + width) * (1.0 + slack), top), top)
            if subtracted is not None:
                least = own * (1.0 - slack) - width * (1.0 + slack)
                mean = np.where(subtracted, np.where(rows > 0, np.maximum(least, 0.0), 0.0), mean)
            knowledge: Knowledge = MeanOnly(mean)
            if by_stratum is not None and shift == "stratified":
                knowledge = by_stratum.limited(rows, mean)
            if not only_means:
                deviation = np.sqrt(sample_variance(population, rows)) + top * np.sqrt(2.0 * log / (rows - 1.0))
                variance = np.where(rows > 1, np.square(deviation) * (1.0 + ROUNDING), np.inf)
                knowledge = MeanAndVariance(mean, np.minimum(variance, mean * (top - mean)))
        weight = rows if rows.ndim == 2 else rows.sum(axis=2)
        surrogate = replace(population, weight=weight, knowledge=knowledge, predicted=None, strata=None)
        said = region_sentences("hoeffding", error, shift, population, None, subtracts=subtracted is not None)
        return Surrogate(surrogate, affinity, None, said)


def _mirrored_back(mean: Floats, top: float, subtracted: Booleans | None) -> Floats:
    """Return ``top - mean``, rounded down, where upper limits of mirrored losses are lower ones of the losses."""
    if subtracted is None:
        return mean
    return np.where(subtracted, np.maximum(top - mean - 4 * UNIT * top, 0.0), mean)


def _least_box_affinity(share: Floats, width: float) -> float:
    """Bound the affinity of ``share`` and any masses that differ by at most ``width`` in every cell, rounded down.

    ``sum sqrt(p' p) >= nu + sum min over the interval of sqrt(p' p) - nu p`` for every nu, since masses add up to one;
    the terms are concave, so their minima are at the ends.
    """
    share = share.ravel()
    low, high = np.maximum(share - width, 0.0), np.minimum(share + width, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.sqrt(share) / (np.sqrt(low) + np.sqrt(high))  # where the better end changes
    nu = slopes[:, None]
    ends = np.minimum(np.sqrt(share * low) - nu * low, np.sqrt(share * high) - nu * high)
    return max(0.0, float((slopes + ends.sum(axis=1)).max()) - ROUNDING)


def sample_variance(population: Population, rows: Floats) -> Floats:
    """Return the unbiased sample variance of each cell's losses, or more (bins count at their edges)."""
    knowledge = population.knowledge
    if isinstance(knowledge, LossTable):
        mean = knowledge.mean[..., None]
        square = knowledge.to_low * (knowledge.low - mean) ** 2 + knowledge.to_high * (knowledge.high - mean) ** 2
        total = knowledge.weight.sum(axis=2)
        variance = (knowledge.weight * square).sum(axis=2) / np.where(total > 0, total, 1.0)
        variance = variance * (1.0 + ROUNDING * (1 + knowledge.roundings))
    elif isinstance(knowledge, MeanAndVariance):
        variance = knowledge.variance
    else:
        variance = knowledge.mean * (population.ceiling - knowledge.mean)
    return variance * rows / np.maximum(rows - 1.0, 1e-300)


def region_sentences(
    region: str, error: float, shift: str, population: Population, sample: Sample | None, *, subtracts: bool = False
) -> tuple[str, ...]:
    """Say how a region divides the error probability, and how losses were rounded."""
    division = division_of_error(region, error, shift, population, subtracts=subtracts)
    if sample is None or sample.seed is None or population.two_valued:
        return division
    return (
        *division,
        f"Losses were rounded at random (seed {sample.seed}), their means kept, to {len(sample.losses)} values between "
        f"0 and {population.ceiling:g}.",
    )


def division_of_error(
    region: str, error: float, shift: str, population: Population, *, subtracts: bool = False
) -> tuple[str, ...]:
    """Say how a region of that name divides the error probability; nothing for regions that are not ours."""
    said = wording(population)
    lower = " (lower ones of means that are subtracted)" if subtracts else ""
    cell, cells = ("stratum of a cell", "strata'") if shift == "stratified" else ("cell", "cells'")
    if region == "hoeffding":
        only_means = shift != "general" or population.two_valued
        return (
            f"Region 'hoeffding': the error probability {error:g} is divided equally between lower and upper limits of "
            f"the mass and upper limits of {'' if only_means else 'variance and '}mean of the {said.value} of every "
            f"{cell}{lower}.",
        )
    if region == "prequential":
        return (
            "Region 'prequential': rows in a random order were bet on in blocks, with multipliers that the rows before "
            f"had given; with probability {error:g} at most do such bets win so much against a bound that is true (of "
            "several radii each has an equal part of it).",
        )
    if region == "asymptotic":
        return (
            "Region 'asymptotic': the bound of the rows plus standard errors by the weights of its worst case. This is "
            "an approximation, in which nothing is proved: the probability of being wrong may be far above "
            f"{error:g} where cells are rare, near the nearest distance, and where several worst cases are alike.",
        )
    if region != "sphere":
        return ()
    if shift != "general":
        masses = "cell masses" if shift == "sensitive" else "masses of the strata of cells"
        return (
            f"Region 'sphere': of the error probability {error:g} the part {MASS_PART * error:g} covers the {masses} "
            f"together; the rest covers upper limits of the {cells} {said.means}{lower}, in equal parts.",
        )
    return (
        f"Region 'sphere': the error probability {error:g} covers cell masses and {said.values} together; no part is "
        "set aside for any of them.",
    )


#: The regions that ``region=`` knows by name.
REGIONS: dict[str, Region] = {
    "auto": Sphere(),
    "sphere": Sphere(),
    "hoeffding": Hoeffding(),
    "prequential": Prequential(),
    "asymptotic": Asymptotic(),
}


def read_confidence(confidence: object) -> float:
    """Return a confidence level strictly between 0 and 1."""
    without = either("None takes the rows for", "without it the rows are")
    meaning = f"it is a probability, such as 0.95; {without} the whole population"
    level = number("confidence", confidence, 0.0, 1.0, meaning)
    if not LEAST_ERROR <= 1.0 - level < 1.0:
        message = f"{given('confidence', confidence)}: no finite sample gives certainty; {meaning}"
        raise InputError(message)
    return level


def check_sample(population: Population, support: str) -> None:
    """Refuse what is not a sample of independent rows with bounded losses; warn of cells with few rows."""
    if population.rows is None or not isinstance(population.knowledge, LossTable):
        message = (
            f"{argument('confidence')} needs the rows, and this population was made from moments; use from_losses or "
            f"from_predictions, or leave {argument('confidence')} out if the moments are exact"
        )
        raise InputError(message)
    if population.weighted:
        message = (
            f"{argument('confidence')} needs rows that are independent draws from P, and weighted rows are not; leave "
            f"{argument('sample_weight')} out (and certify the unweighted population), or leave "
            f"{argument('confidence')} out"
        )
        raise InputError(message)
    if not math.isfinite(population.ceiling):
        message = (
            f"{argument('confidence')} needs a ceiling, and the loss {population.loss_name!r} has none: a rare huge "
            "loss cannot be excluded by any number of rows; "
            + either(
                f"pass {argument('clip')} to from_predictions, or {argument('ceiling')} to from_losses",
                f"pass {argument('clip')}, or {argument('ceiling')} with {argument('loss')}",
            )
        )
        raise InputError(message)
    if support != "any" and not isinstance(population.knowledge, ByStratum):
        message = (
            f"{argument('confidence')} needs {given('support', 'any')}: P may have losses that were not observed in "
            "the sample"
        )
        raise InputError(message)
    few = small_cells(population)
    if few:
        warn(f"few rows in a cell, so its limits are wide: {'; '.join(few)}", SmallCellWarning)


def small_cells(population: Population) -> tuple[str, ...]:
    """Name the cells with very few rows, and their counts."""
    small = np.argwhere(population.weight < FEW_ROWS)
    counted = [(population.groups[s], population.labels[y], int(population.weight[s, y])) for s, y in small]
    return tuple(f"({g!r}, {y!r}) has {n} row{'' if n == 1 else 's'}" for g, y, n in counted)


def find_region(region: str | Region) -> Region:
    """Return the region of that name, or the region itself."""
    if isinstance(region, str) and region in REGIONS:
        return REGIONS[region]
    if not isinstance(region, str) and isinstance(region, Region):
        return region
    names = ", ".join(map(repr, REGIONS))
    own = either(", or a region such as Sphere(intervals=4)")
    message = f"{given('region', region)} is not known; use {names}{own}"
    raise InputError(message)
