"""Finite samples: how much each confidence region adds to the bound, and what a finite-sample curve costs.

The candidates that did not make it into the package are here for comparison, with the counts that are to be expected
of a known population: nothing depends on a draw. "Excess" is the bound minus the bound for the known population.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy import stats

from fairbound import Hoeffding, Population, Sphere, certify, certify_curve
from fairbound.arithmetic.arrays import Floats
from fairbound.sampling.region import Surrogate
from fairbound.sampling.sphere import least_affinity_of_masses
from fairbound.verify.document import Fractional

CONFIDENCE = 0.9
ERROR = 1.0 - CONFIDENCE
MASS = np.array([[0.464, 0.204], [0.295, 0.037]])
MEAN = np.array([[0.09, 0.38], [0.02, 0.45]])
POINTS = 1000


def _population(losses: Floats, share: Floats, name: str) -> Population:
    """Return a population with the losses (S, C, J) of each cell and their shares of the cell."""
    s, y, j = np.nonzero(share > 0)
    weight = (MASS[..., None] * share)[s, y, j]
    return Population.from_losses(losses[s, y, j], y, sensitive_features=s, sample_weight=weight, loss=name)


def _zero_one(mean: Floats) -> Population:
    share = np.stack([1.0 - mean, mean], axis=2)
    return _population(np.broadcast_to([0.0, 1.0], share.shape), share, "zero_one")


def _beta(spread: float) -> Floats:
    """Equally likely quantiles of beta distributions with the given means."""
    quantile = (np.arange(POINTS) + 0.5) / POINTS
    return np.asarray(stats.beta.ppf(quantile, (spread * MEAN)[..., None], (spread * (1.0 - MEAN))[..., None]))


def _excess(surrogate: Surrogate, rho: float, exact: float, shift: str) -> float:
    radius = float(surrogate.radius(np.array([rho]))[0])
    return certify(surrogate.population, radius, shift=shift).bound - exact  # type: ignore[arg-type]


def _angle(affinity: float, population: Population) -> Surrogate:
    return Surrogate(population, max(0.0, affinity), None, ())


def _box_affinity(share: Floats, low: Floats, high: Floats) -> float:
    """The smallest affinity of masses in a box that add up to one, from below."""
    best = 0.0
    for nu in np.sqrt(share) / (np.sqrt(low) + np.sqrt(high)):
        ends = np.minimum(np.sqrt(share * low) - nu * low, np.sqrt(share * high) - nu * high)
        best = max(best, float(nu + ends.sum()))
    return best


def clopper_pearson(rows: int) -> Surrogate:
    """Exact intervals of masses and upper limits of error rates, united: 3 statements per cell."""
    each = ERROR / (3 * MASS.size)
    count = rows * MASS
    low = np.asarray(stats.beta.ppf(each, count, rows - count + 1))
    high = np.asarray(stats.beta.ppf(1 - each, count + 1, rows - count))
    mean = stats.beta.ppf(1 - each, MEAN * count + 1, count - MEAN * count)
    return _angle(_box_affinity(MASS.ravel(), low.ravel(), high.ravel()), _zero_one(mean))


def kl_ball(rows: int) -> Surrogate:
    """The ball of Agrawal (2020), n KL(sample || P) <= x, turned into an angle: worst at the rarest class."""
    classes = np.stack([MASS * (1 - MEAN), MASS * MEAN], axis=2).ravel()
    freedom = classes.size - 1
    x = _root(lambda t: np.exp(-t) * (np.e * t / freedom) ** freedom - ERROR, freedom, 200.0)
    rare = float(classes.min())
    share = _root(
        lambda q: x / rows - (rare * np.log(rare / q) + (1 - rare) * np.log((1 - rare) / (1 - q))), rare, 1 - 1e-9
    )
    return _angle(float(np.sqrt(rare * share) + np.sqrt((1 - rare) * (1 - share))), _zero_one(MEAN))


def masses_and_limits(rows: int) -> Surrogate:
    """Masses by the sphere, error rates by Clopper and Pearson: half of the error probability each."""
    counts = (rows * MASS).reshape(-1, 1)
    mean = stats.beta.ppf(1 - ERROR / (2 * MASS.size), MEAN * rows * MASS + 1, (1 - MEAN) * rows * MASS)
    return _angle(least_affinity_of_masses(counts, ERROR / 2), _zero_one(mean))


def bands(losses: Floats, rows: int, law: Callable[[int, float], Floats]) -> Surrogate:
    """Masses by the sphere, losses by a one-sided band in each cell: the stochastically largest law in it."""
    affinity = least_affinity_of_masses((rows * MASS).reshape(-1, 1), ERROR / 2)
    share = np.zeros((*MASS.shape, POINTS + 1))
    for cell in np.ndindex(MASS.shape):
        below = law(max(1, int(rows * MASS[cell] + 0.5)), ERROR / (2 * MASS.size))  # lower limits of F at the quantiles
        share[cell] = np.diff(np.r_[0.0, below, 1.0])
    top = np.concatenate([losses, np.ones((*MASS.shape, 1))], axis=2)
    return _angle(affinity, _population(top, share, "jsd"))


def kolmogorov(rows: int, error: float) -> Floats:
    """Dvoretzky, Kiefer, Wolfowitz and Massart."""
    grid = np.arange(1, POINTS + 1) / POINTS
    return np.maximum(0.0, grid - np.sqrt(np.log(1 / error) / (2 * rows)))


def berk_jones(rows: int, error: float) -> Floats:
    """Exact binomial limits at all order statistics, at a common level that is calibrated by simulation."""
    rng = np.random.default_rng(0)
    order = np.arange(1, rows + 1)
    smallest = [
        np.min(stats.beta.sf(np.sort(rng.random(rows)), order, rows - order + 1))
        for _ in range(2000 if rows < 2000 else 200)
    ]
    level = float(np.quantile(smallest, error))
    limits = stats.beta.ppf(level, order, rows - order + 1)
    places = np.floor(np.arange(1, POINTS + 1) / POINTS * rows).astype(int)
    return np.r_[0.0, limits][places]


def split(population: Population, rows: int, rho: float) -> float:
    """Multipliers from one half of the rows, and on the other half a betting bound of the means that they need.

    Valid for this rho alone. Both halves are taken to look as expected, and the bet is the best in hindsight.
    """
    known, _ = population.knowledge.atoms(population.mass, population.ceiling)
    best, affinity = np.inf, 1.0 - rho**2
    for stretch in np.linspace(1.0, 2.0, 9):  # multipliers of somewhat larger balls allow for what comes next
        proof = certify(population, min(1.0, rho * stretch)).proof
        (leaf,) = proof.leaves
        assert isinstance(leaf, Fractional)
        assert leaf.base is not None
        assert leaf.offset is not None
        turned = proof.axis == "group"  # whose shares are searched: everything else as for the labels
        zeta, loss, probability = (
            np.swapaxes(values, 0, 1) if turned else values
            for values in (np.array(leaf.zeta), known.loss, known.probability)
        )
        base, offset, centre = np.array(leaf.base), np.array(leaf.offset), np.array(leaf.centre)
        height = (base + offset[:, None])[..., None] - loss
        ratio = (zeta / centre)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(probability > 0, 1.0 / (height + ratio), 0.0)
        pulls = []
        for corner in np.eye(len(centre)):
            value = (height + ratio * (corner / centre)[:, None]) * inverse**2
            pulls.append(_betting(value.ravel(), probability.ravel(), rows / 2, ERROR / len(centre)))
        lam = 2.0 * affinity / max(pulls)
        most = float((base + lam**2 / 4 * np.array(pulls)).max())
        best = min(best, float((zeta.sum(axis=1) + offset).max()) + most - lam * affinity)
    return float(best)


def _betting(value: Floats, probability: Floats, rows: float, error: float) -> float:
    """``nu - exp(mean log(nu - u) - log(1/error) / rows)``, the best nu above all values."""
    keep = probability > 0
    value, probability = value[keep], probability[keep]
    top = value.max()
    nu = top * (1.0 + np.geomspace(1e-6, 1e4, 400))
    means = np.exp((probability * np.log(nu[:, None] - value)).sum(axis=1) - np.log(1 / error) / rows)
    return float((nu - means).min())


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return high


def _table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def run(quick: bool = False) -> None:
    """Print all tables."""
    sizes, radii = (1000, 15060), (0.1, 0.3)
    header = ["region", *(f"n = {n}, rho = {r}" for n in sizes for r in radii)]
    known = _zero_one(MEAN)
    for shift in ("general", "sensitive"):
        exact = {r: certify(known, r, shift=shift).bound for r in radii}
        candidates: dict[str, Callable[[int], Surrogate]] = {
            "hoeffding": lambda n, shift=shift: Hoeffding().planned(known, n, CONFIDENCE, shift),  # type: ignore[misc]
            "Clopper-Pearson boxes": clopper_pearson,
            "sphere for masses, Clopper-Pearson for errors": masses_and_limits,
            "sphere (auto)": lambda n, shift=shift: Sphere().planned(known, n, CONFIDENCE, shift),  # type: ignore[misc]
        }
        if shift == "general":
            candidates["KL ball (Agrawal) as an angle"] = kl_ball
        rows = []
        for name, make in candidates.items():
            found = {(n, r): _excess(make(n), r, exact[r], shift) for n in sizes for r in radii}
            rows.append([name, *(f"{found[n, r]:.4f}" for n in sizes for r in radii)])
        if shift == "general":
            rows.append(
                ["split, betting (one rho)", *(f"{split(known, n, r) - exact[r]:.4f}" for n in sizes for r in radii)]
            )
        values = ", ".join(f"{exact[r]:.4f}" for r in radii)
        _table(f"0-1 loss, {shift} shifting, 90%: excess over the known population ({values})", header, rows)
    for spread in (2.0,) if quick else (2.0, 20.0):
        losses = _beta(spread)
        known = _population(losses, np.full(losses.shape, 1.0 / POINTS), "jsd")
        exact = {r: certify(known, r).bound for r in radii}
        rows = []
        several: dict[str, Callable[[int], Surrogate]] = {
            "hoeffding (mean and variance)": lambda n, p=known: Hoeffding().planned(p, n, CONFIDENCE, "general"),  # type: ignore[misc]
            "sphere for masses, Kolmogorov bands": lambda n, x=losses: bands(x, n, kolmogorov),  # type: ignore[misc]
            "sphere for masses, Berk-Jones bands": lambda n, x=losses: bands(x, n, berk_jones),  # type: ignore[misc]
        }
        for count in (1, 2, 3, 4, 6, 8):
            several[f"sphere, {count} intervals"] = lambda n, c=count, p=known: Sphere(intervals=c).planned(  # type: ignore[misc]
                p, n, CONFIDENCE, "general"
            )
        several["sphere (auto)"] = lambda n, p=known: Sphere().planned(p, n, CONFIDENCE, "general")  # type: ignore[misc]
        for name, make in several.items():
            found = {(n, r): _excess(make(n), r, exact[r], "general") for n in sizes for r in radii}
            rows.append([name, *(f"{found[n, r]:.4f}" for n in sizes for r in radii)])
        betting = [f"{split(known, n, r) - exact[r]:.4f}" for n in sizes for r in radii]
        rows.append(["split, betting (one rho)", *betting])
        values = ", ".join(f"{exact[r]:.4f}" for r in radii)
        _table(f"Beta losses (a + b = {spread:g}), general shifting, 90%: excess ({values})", header, rows)
    _times()


def _times() -> None:
    """A curve of 51 points with and without confidence, side by side."""
    rng = np.random.default_rng(0)
    rows = []
    for name, zero_one in (("0-1 loss", True), ("beta losses", False)):
        cell = rng.choice(4, size=15060, p=MASS.ravel())
        mean = MEAN.ravel()[cell]
        loss = (rng.random(15060) < mean).astype(float) if zero_one else rng.beta(2 * mean, 2 - 2 * mean)
        population = Population.from_losses(
            loss, cell % 2, sensitive_features=cell // 2, loss="zero_one" if zero_one else "jsd"
        )
        radii = np.linspace(0.1, 0.6, 51)
        for shift in ("general", "sensitive"):
            times = {}
            for confidence in (None, CONFIDENCE):
                best = np.inf
                for _ in range(5):
                    start = perf_counter()
                    certify_curve(population, radii, shift=shift, confidence=confidence)
                    best = min(best, perf_counter() - start)
                times[confidence] = best
            plain, sampled = times[None], times[CONFIDENCE]
            rows.append([name, shift, f"{1e3 * plain:.0f} ms", f"{1e3 * sampled:.0f} ms", f"{sampled / plain:.2f}"])
    _table("Time of a curve of 51 points", ["loss", "shift", "plain", "with confidence", "ratio"], rows)
