"""Finite samples: the checker counts the rows anew and recomputes the confidence region from the counts.

Section "Finite samples" of docs/specification.md; other names of sections are those of docs/finite-samples.md.
"""

from __future__ import annotations

import hashlib
import math
import random
import struct
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TypeVar

from flint import arb

from fairbound.verify.balls import ZERO, RefusedError, float_above, require
from fairbound.verify.document import (
    Knowledge,
    Losses,
    Mean,
    MeanVariance,
    Measured,
    Objective,
    Question,
    Sampling,
    Statement,
    Strata,
)
from fairbound.verify.names import TWO_VALUED
from fairbound.verify.prequential import Counts, rejects
from fairbound.verify.sphere import (
    affinity_of_classes,
    affinity_of_masses,
    budget,
    divergence,
    error_of_each,
    is_upper_limit,
)
from fairbound.verify.statement import LEEWAY

#: Many-valued losses count at the edges of fixed bins: at most so many in a cell and about so many in all.
BINS, MOST_BINS, LEAST_BINS = 4096, 2**18, 16

#: Edges of bins may be off by this much, relative to the ceiling, and count as that much farther out.
EDGE_ROUNDING = 1e-12

#: Random numbers that are drawn anew at most.
MOST_DRAWS = 20_000_000

#: Rows that are dealt to blocks anew at most.
MOST_DEALT = 5_000_000

#: Rows of a cell at most: so many, numbers with 53 bits count exactly.
MOST_ROWS = 2**53

#: How much the probability of rounding up is raised, so that float arithmetic does not lower it, or lowered where
#: losses are subtracted: there random numbers, which are multiples of ``STEP``, have to be allowed for too.
STEP = 2.0**-53
RAISED, LOWERED = 1.0 + 8.0 * STEP, 1.0 - 8.0 * STEP

#: The part of the error probability for the masses under sensitive shifting, and all of it.
MASS_PART, WHOLE = 1, 8

#: By how much the mean of losses that are 0 or 1, times the rows, may miss a whole number.
NEAR_WHOLE = Fraction(1, 10**6)

Entry = TypeVar("Entry")

#: Some cells: numbers of group and label.
Cells = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class CheckedSurrogate:
    """What the document puts in P's place, checked: statistics, and their affinity with P."""

    population: Measured
    affinity: arb
    #: Of a region for radii that are fixed in advance: whether the rows reject every value of at least a bound there.
    rejects: Callable[[float, float], bool] | None = None

    def confirm(self, rho: float, bound: float) -> None:
        """Refuse a bound that does not follow, of a region whose surrogate alone does not prove it."""
        rejected = self.rejects is None or self.rejects(rho, bound)
        require(rejected, f"the bets on the rows do not reject the claimed bound {bound!r}")

    def least_affinity(self, rho: float) -> arb:
        """Return the affinity with the surrogate of everything within rho of P."""
        return least_affinity(self.affinity, rho)


def least_affinity(affinity: arb, rho: float) -> arb:
    """Return the affinity with a surrogate of everything within rho of P: angles add up ("Surrogates")."""
    near = 1 - arb(rho) ** 2
    sines = (1 - near) * (1 + near) * (1 - affinity) * (1 + affinity)
    return near * affinity - sines.max(ZERO).sqrt()


@dataclass(frozen=True)
class _Sample:
    """What a region is checked against: the rows, what is said of them, and the cells whose losses are subtracted.

    Where only strata move, they are the cells: ``by_stratum``.
    """

    population: Measured
    bins: Losses
    sampling: Sampling
    sensitive: bool
    error: arb
    subtracted: Cells
    by_stratum: bool = False


def checked_surrogate(population: Measured, question: Question, statement: Statement) -> CheckedSurrogate | None:
    """Return the surrogate of a statement if the region proves it; refuse it otherwise. None: P is known."""
    sampling, confidence = statement.sampling, statement.confidence
    if sampling is None or confidence is None:
        return None
    bins = _checked_rows(population, question)
    affinity_of = REGIONS.get(sampling.region)
    if affinity_of is None:
        why = "is an approximation: nothing is proved at its confidence" if sampling.region == "asymptotic" else None
        raise RefusedError(f"the region {sampling.region[:60]!r} {why or 'is not known to the checker'}")
    same = sampling.weight == population.weight
    require(same, "the cells of the surrogate do not have the population's numbers of rows")
    subtracted = _subtracted(population, statement.objective)
    sensitive = question.shift == "sensitive"
    sample = _Sample(population, bins, sampling, sensitive, 1 - arb(confidence), subtracted)
    proved = affinity_of(_of_strata(sample) if question.shift == "stratified" else sample)
    affinity, said = arb(sampling.affinity), f"{float(proved.mid())!r}, not the {sampling.affinity!r} claimed"
    near = affinity == 0 or affinity <= proved
    require(near, f"the confidence region proves only an affinity of {said}")
    known = replace(population, weight=sampling.weight, knowledge=sampling.knowledge)
    if sampling.region != "prequential":
        return CheckedSurrogate(known, affinity)
    plain = question.metric.name == "loss" and statement.objective is None and len(question.statements) == 1
    equal = question.fair and question.base_rate_tolerance is None and question.shift == "general"
    require(plain and equal, "the region 'prequential' is for the loss, general shifting and equal base rates")
    error = (1 - arb(confidence)) / len(question.points)  # of each radius
    return CheckedSurrogate(known, affinity, partial(_rejects, sampling, population.ceiling or 0.0, error))


def _rejects(sampling: Sampling, top: float, error: arb, rho: float, bound: float) -> bool:
    """Whether bets on the rows reject every value of at least a bound; no value exceeds the ceiling."""
    counts, losses, seed = sampling.counts, sampling.losses, sampling.seed
    if counts is None or losses is None or seed is None:
        return False
    affinity = (1 - arb(rho) ** 2 - arb(LEEWAY)).max(ZERO)
    return bound >= top or rejects(arb(bound), counts, losses, seed, affinity, error)


def _subtracted(population: Measured, objective: Objective | None) -> Cells:
    """Return the cells whose losses are subtracted: what is worse there is a smaller loss."""
    if objective is None or objective.minus is None:
        return frozenset()
    minus, label = objective.minus, objective.label
    labels = range(len(population.labels))
    return frozenset((minus, y) for y in labels if label is None or (y == label) == objective.inside)


def _checked_rows(population: Measured, question: Question) -> Losses:
    """Refuse what is not a sample of independent rows with bounded losses."""
    stratified = question.shift == "stratified"
    known = _as_losses(population.knowledge) if stratified else population.knowledge
    require(not population.weighted, "a confidence needs rows without weights")
    if population.rows is None or not isinstance(known, Losses):
        raise RefusedError("a confidence needs the rows themselves, not moments")
    bounded = (stratified or question.support == "any") and question.empty_cells == "ceiling"
    require(bounded, "a confidence needs support 'any', and the ceiling for empty cells")
    for row, cells in zip(population.weight, known.cells, strict=True):
        for weight, bins in zip(row, cells, strict=True):
            whole = all(b[2] == int(b[2]) for b in bins) and sum(int(b[2]) for b in bins) == weight
            require(whole, "a confidence needs whole numbers of rows in all bins and cells")
            require(weight <= MOST_ROWS, f"a confidence needs cells of at most {MOST_ROWS} rows")
    rows = sum(map(sum, population.weight))
    require(rows == population.rows, "the numbers of rows of the cells do not add up to the number of rows")
    return known


def _as_losses(known: Knowledge) -> Knowledge:
    """Return strata as losses: all rows of a stratum of a cell have its mean."""
    if not isinstance(known, Strata):
        return known
    return Losses("losses", [[[[v, v, w, 0.0] for w, v in cell if w] for cell in row] for row in known.cells], 1.0)


def _of_strata(sample: _Sample) -> _Sample:
    """Return a sample whose cells are the strata of the cells: what is inside of them is like P."""
    known, limits = sample.population.knowledge, sample.sampling.knowledge
    if not isinstance(known, Strata) or not isinstance(limits, Strata):
        raise RefusedError("where only strata move, strata are what is known of the rows")
    same = all(
        w == v
        for rows, others in zip(known.cells, limits.cells, strict=True)
        for cell, other in zip(rows, others, strict=True)
        for (w, _), (v, _) in zip(cell, other, strict=True)
    )
    require(same, "the strata of the surrogate do not have the population's numbers of rows")
    flat = [[place for cell in row for place in cell] for row in known.cells]
    means = Mean("mean", [[mean for cell in row for _, mean in cell] for row in limits.cells])
    bins = Losses("losses", [[[[v, v, w, 0.0]] if w else [] for w, v in row] for row in flat], 1.0)
    size = len(known.names)
    subtracted = frozenset((s, y * size + h) for s, y in sample.subtracted for h in range(size))
    population = replace(sample.population, weight=[[w for w, _ in row] for row in flat])
    sampling = replace(sample.sampling, knowledge=means)
    return _Sample(population, bins, sampling, True, sample.error, subtracted, by_stratum=True)


def _counted(sample: _Sample) -> Counts:
    """Return the rows by cell and loss, rounded losses being equally spaced; refuse others."""
    population, sampling = sample.population, sample.sampling
    losses, counts, top = sampling.losses, sampling.counts, population.ceiling or 0.0
    if counts is None or losses is None:
        raise RefusedError(f"the region {sampling.region!r} needs the counts")
    intervals = len(losses) - 1
    spaced = [top * place / intervals for place in range(intervals)] + [top]
    require(losses == spaced, "the rounded losses are not equally spaced")
    recounted = recount(sample.bins, top, population.loss, losses, sampling.seed, sample.subtracted)
    require(counts == recounted, "the counts are not those of the population's rows, rounded with this seed")
    return counts


def _prequential(sample: _Sample) -> arb:
    """Return the affinity of the rows with themselves: what they say of P, bets on them find out."""
    _check_counted(_counted(sample), sample.sampling)
    most = f"the region 'prequential' deals at most {MOST_DEALT} rows"
    require(sum(map(sum, sample.population.weight)) <= MOST_DEALT, most)
    return arb(1)


def _sphere(sample: _Sample) -> arb:
    """Return the affinity that the tree and its angles prove; refuse other counts, and means that may be exceeded."""
    if sample.by_stratum:
        return _sphere_of_strata(sample)
    sampling, subtracted, counts = sample.sampling, sample.subtracted, _counted(sample)
    losses = sampling.losses or []
    by_cell = [
        cell[::-1] if (s, y) in subtracted else cell for s, row in enumerate(counts) for y, cell in enumerate(row)
    ]  # the worst value last
    if sample.sensitive:
        return _with_means(sample, by_cell, losses)
    _check_counted(counts, sampling)
    return affinity_of_classes(by_cell, sample.error)


def _sphere_of_strata(sample: _Sample) -> arb:
    """Return the affinity of the masses of strata; refuse means that may be exceeded: losses are not rounded here."""
    top, two = sample.population.ceiling or 0.0, sample.population.loss in TWO_VALUED
    cells = [(place, _mean_of(bins)) for place, bins in _cells(sample.bins.cells)]
    if two:
        counts = []
        for place, (rows, mean) in cells:
            hits = round(rows * mean / top)
            exact = abs(Fraction(rows) * Fraction(mean) - hits * Fraction(top)) <= NEAR_WHOLE * Fraction(top)
            require(exact, f"the mean of a stratum of cell {place} is not that of a loss of 0 or {top!r}")
            counts.append([hits, rows - hits] if place in sample.subtracted else [rows - hits, hits])
        return _with_means(sample, counts, [0.0, top])
    for_masses, each = _divided(sample.error, len(cells))
    for (place, (rows, mean)), (_, limit) in zip(cells, _cells(_means_of(sample)), strict=True):
        falls = place in sample.subtracted
        seen, most = (arb(top) - v if falls else arb(v) for v in (mean, limit))
        seen, most = (seen / top + arb(EDGE_ROUNDING)).min(arb(1)), most / top
        within = rows > 0 and most > seen and rows * divergence(seen, most) >= -each.log()
        _require_limit(bool(most >= 1 or within), "mean loss of", place, limit, falls=falls)
    return affinity_of_masses([rows for _, (rows, _) in cells], for_masses)


def _mean_of(bins: list[list[float]]) -> tuple[int, float]:
    """Return rows and mean of a stratum, which is one bin or none."""
    return (int(bins[0][2]), bins[0][0]) if bins else (0, 0.0)


def _divided(error: arb, cells: int) -> tuple[arb, arb]:
    """Return the error probability of all masses, and that of the mean of each cell."""
    for_masses = error * MASS_PART / WHOLE
    return for_masses, error_of_each((error - for_masses) / (1 - for_masses), cells)


def _means_of(sample: _Sample) -> list[list[float]]:
    known = sample.sampling.knowledge
    if not isinstance(known, Mean):
        raise RefusedError("under sensitive shifting the surrogate is made of means")
    return known.mean


def _check_counted(counts: Counts, sampling: Sampling) -> None:
    """Refuse a surrogate that is not the table of counts."""
    known, losses = sampling.knowledge, sampling.losses or []
    cells = [
        [[[value, value, count, 0] for value, count in zip(losses, cell, strict=True) if count] for cell in row]
        for row in counts
    ]
    same = isinstance(known, Losses) and known.cells == cells
    require(same, "the losses of the surrogate are not the counted ones")


def recount(
    known: Losses, top: float, loss_name: str, losses: list[float], seed: int | None, subtracted: Cells = frozenset()
) -> list[list[list[int]]]:
    """Count the rows by cell and rounded loss: every row anew, in an order that the rows alone decide."""
    many = loss_name not in TWO_VALUED
    edges = _edges(top, _bins_for(sum(map(len, known.cells)))) if many else [0.0, 0.0, top]
    cells: dict[tuple[int, int], dict[int, int]] = {}
    for s, row in enumerate(known.cells):
        for y, bins in enumerate(row):
            for low, high, weight, share in bins:
                number = _bin(edges, low, high, share) if many else int(high > 0)
                held = cells.setdefault((s, y), {})
                held[number] = held.get(number, 0) + int(weight)
    counts = [[[0] * len(losses) for _ in row] for row in known.cells]
    packed = {cell: b"".join(struct.pack("<qq", *pair) for pair in sorted(cells[cell].items())) for cell in cells}
    content = b"".join(hashlib.sha256(part).digest() for part in sorted(packed.values()))
    key = hashlib.sha256(f"{seed},{len(losses) - 1};".encode() + content).digest()
    uniform = random.Random(int.from_bytes(key, "big")).random  # noqa: S311 (not a secret)
    drawn = 0
    ordered = sorted(cells, key=lambda cell: (packed[cell], cell))
    for (s, y), number, weight in ((cell, *pair) for cell in ordered for pair in sorted(cells[cell].items())):
        loss = _edge(edges, number, lower=(s, y) in subtracted) if many else edges[number + 1]
        place = min(bisect_right(losses, loss), len(losses) - 1) - 1
        part = (loss - losses[place]) / (losses[place + 1] - losses[place])
        if (s, y) not in subtracted:
            part *= RAISED
        elif loss < losses[place + 1]:
            part = part * LOWERED - 2.0 * STEP
        up = weight if part >= 1 else 0
        if 0 < part < 1:
            drawn += weight
            if seed is None or drawn > MOST_DRAWS:
                why = "no seed is given" if seed is None else f"at most {MOST_DRAWS} roundings are repeated"
                raise RefusedError(f"the rounding of the losses cannot be checked: {why}")
            up = sum(uniform() < part for _ in range(weight))
        counts[s][y][place] += weight - up
        counts[s][y][place + 1] += up
    return counts


def _bins_for(cells: int) -> int:
    """Return the number of the fixed bins of each cell: it follows from the number of cells, not from the rows."""
    bins = BINS
    while bins > LEAST_BINS and bins * cells > MOST_BINS:
        bins //= 2
    return bins


@lru_cache(maxsize=1)
def _edges(top: float, bins: int) -> list[float]:
    """Return the edges of the fixed bins."""
    return [0.0, *(top * (1.0 - (1.0 - b / bins) * (1.0 - b / bins)) for b in range(1, bins)), top]


def _bin(edges: list[float], low: float, high: float, share: float) -> int:
    """Return the number of the fixed bin that a loss, or a bin of the document, lies in ("Rounding losses").

    A loss on an edge lies in the bin above it, the ceiling in the last one: also if the document has it at the upper
    end of the bin below. What is a bin must be one of the fixed ones: if those who have seen the rows could choose
    bins, the rows would not speak of P.
    """
    allowed, last = EDGE_ROUNDING * edges[-1], len(edges) - 2
    number = min(bisect_right(edges, low if low == high else low + allowed), last + 1) - 1
    if low < high and not (abs(edges[number] - low) <= allowed and abs(edges[number + 1] - high) <= allowed):
        raise RefusedError("the bins of the losses are not the fixed ones, so the rows do not speak of P")
    return number + 1 if low < high and share == 1 and number < last else number


def _edge(edges: list[float], number: int, *, lower: bool) -> float:
    """Return an edge of a bin, moved out."""
    allowed = EDGE_ROUNDING * edges[-1]
    return max(edges[number] - allowed, 0.0) if lower else min(edges[number + 1] + allowed, edges[-1])


def _with_means(sample: _Sample, counts: list[list[int]], losses: list[float]) -> arb:
    """Under sensitive shifting the surrogate has limits of the means; return the affinity of the masses.

    The limits are upper ones; where losses are subtracted, upper ones of the mirrored losses, as the counts are.
    """
    means, top = _means_of(sample), Fraction(losses[-1])
    for_masses, each = _divided(sample.error, len(counts))
    x = budget(each, 0, len(losses) - 1)
    mirrored = [float_above(top - Fraction(loss)) for loss in reversed(losses)]
    for (place, mean), cell in zip(_cells(means), counts, strict=True):
        falls = place in sample.subtracted
        upper, values = (-float_above(Fraction(mean) - top), mirrored) if falls else (mean, losses)
        _require_limit(is_upper_limit(upper, cell, values, each, x), "mean loss of", place, mean, falls=falls)
    return affinity_of_masses([sum(cell) for cell in counts], for_masses)


def _cells(table: list[list[Entry]]) -> list[tuple[tuple[int, int], Entry]]:
    """List the entries of a table with their places."""
    return [((s, y), value) for s, row in enumerate(table) for y, value in enumerate(row)]


def _require_limit(holds: bool, what: str, place: tuple[int, int], claimed: float, *, falls: bool) -> None:
    way = "be below" if falls else "exceed"
    require(holds, f"the {what} cell {place} may {way} {claimed!r} at this confidence")


def _hoeffding(sample: _Sample) -> arb:
    """Check the paper's intervals; where losses are subtracted, for the mirrored ones, whose variance is the same."""
    population, known = sample.population, sample.sampling.knowledge
    top, only_means = arb(population.ceiling or 0.0), sample.sensitive or population.loss in TWO_VALUED
    if not isinstance(known, Mean if only_means else MeanVariance):
        raise RefusedError("the moments of the surrogate are not those that the region 'hoeffding' speaks of")
    rows = [int(weight) for row in population.weight for weight in row]
    log = ((3 if only_means else 4) * len(rows) / sample.error).log()
    for place, claimed_mean in _cells(known.mean):
        s, y = place
        m, falls, claimed = int(population.weight[s][y]), place in sample.subtracted, arb(claimed_mean)
        mean, square = _moments(sample.bins.cells[s][y], m)
        if falls:
            mean, claimed = top - mean, top - claimed
        most = top if m == 0 else (mean + top * (log / (2 * m)).sqrt()).min(top)
        _require_limit(claimed >= most, "mean loss of", place, claimed_mean, falls=falls)
        if only_means or m == 0 or not isinstance(known, MeanVariance):
            continue
        variance = arb(known.variance[s][y])
        # The worst law of these moments puts so much mass on the ceiling that no law with the limited mean is worse.
        enough = variance * (top - most) >= most * (top - claimed) ** 2
        if m > 1 and not enough:
            enough = variance >= ((square * m / (m - 1)).sqrt() + top * (2 * log / (m - 1)).sqrt()) ** 2
        _require_limit(enough, "variance in", place, known.variance[s][y], falls=False)
    return _box_affinity(rows, (log / (2 * sum(rows))).sqrt())


def _moments(bins: list[list[float]], rows: int) -> tuple[arb, arb]:
    """Return mean and mean squared deviation of a cell's losses, with bins spread onto their edges."""
    edges = []
    for low, high, weight, part in bins:
        share = arb(weight) / rows
        edges += [(share * (1 - arb(part)), arb(low)), (share * arb(part), arb(high))]
    mean = sum((share * loss for share, loss in edges), arb(0))
    return mean, sum((share * (loss - mean) ** 2 for share, loss in edges), arb(0))


def _box_affinity(rows: list[int], width: arb) -> arb:
    """Return the least affinity of the sample's masses and any that differ by at most ``width`` in every cell.

    Every nu gives a lower bound.
    """
    total = sum(rows)
    ends = []
    for count in rows:
        share = arb(count) / total
        ends.append((share, (share - width).max(arb(0)), (share + width).min(arb(1))))
    numbers = [(float(a.mid()), float(b.mid()), float(c.mid())) for a, b, c in ends]

    def about(nu: float) -> float:  # concave in nu; floats only choose it
        terms = (min(math.sqrt(p * a) - nu * a, math.sqrt(p * b) - nu * b) for p, a, b in numbers)
        return nu + math.fsum(terms)

    # The maximum is at a slope at which one end of an interval gives way to the other.
    slopes = sorted({math.sqrt(p) / (math.sqrt(a) + math.sqrt(b)) for p, a, b in numbers})
    low, high = 0, len(slopes) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if about(slopes[middle]) < about(slopes[middle + 1]) else (low, middle)
    best = arb(0)
    for nu in map(arb, slopes[max(0, low - 1) : low + 2]):
        value = nu
        for share, least, most in ends:
            value += ((share * least).sqrt() - nu * least).min((share * most).sqrt() - nu * most)
        best = best.max(value)
    return best


#: What each region proves of a sample: the affinity with P; it refuses what it does not prove of the losses.
REGIONS: dict[str, Callable[[_Sample], arb]] = {
    "sphere": _sphere,
    "hoeffding": _hoeffding,
    "prequential": _prequential,
}
