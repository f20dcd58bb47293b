"""The region "sphere" in ball arithmetic: how near to the sample P is, and what its mean losses are at most.

Section "Finite samples" of docs/specification.md, proved in docs/finite-samples.md. Floats only choose multipliers,
shares and roots: every choice is valid, and what it proves is evaluated in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from flint import arb, fmpq

#: Into how many slabs the budget is cut, and which multiples of a usual step the multiplier mu is tried at.
SLABS = 32
STEPS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)

#: Up to this many rows in a cell exact binomial tails are evaluated, beyond it their bound by divergences.
EXACT_ROWS = 20_000

#: How much larger than need be what is sought may be, relative; and a root that was found in floats: the least of these
#: for which it certainly is one.
SLACK = 1e-12
SLACKS = (SLACK, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

#: What may be left of a sum of probabilities, relative: it counts as something between nothing and all of it.
NEGLIGIBLE = 2.0**-80


def tail(x: arb, two_sided: int, one_sided: int) -> arb:
    """Return the probability that the sum of all costs exceeds x at most.

    From ``Q(0) = 0`` and ``Q(1/2) = erfc(sqrt x)``, ``Q(s + 1) = Q(s) + x^s e^-x / Gamma(s + 1)`` leads to all orders.
    """
    falling = (-x).exp()
    orders = [arb(0), x.sqrt().erfc()]
    steps = [falling, 2 * (x / arb.pi()).sqrt() * falling]
    total, ways = arb(0), arb(2) ** (-one_sided)
    for twice in range(two_sided + one_sided + 1):  # twice the order
        parity = twice % 2
        if twice >= two_sided:
            total += ways * orders[parity]
            chosen = twice - two_sided
            ways = ways * (one_sided - chosen) / (chosen + 1)
        orders[parity] += steps[parity]
        steps[parity] = steps[parity] * x / (arb(twice) / 2 + 1)
    return total


def budget(error: arb, two_sided: int, one_sided: int) -> arb:
    """Return a number that the sum of all costs exceeds with probability at most ``error``: proved, hardly larger."""
    low, high = 1e-9, 1.0
    while not tail(arb(high), two_sided, one_sided) <= error:
        low, high = high, 2.0 * high
    while high - low > SLACK * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tail(arb(middle), two_sided, one_sided) <= error else (middle, high)
    return arb(high)


def divergence(observed: arb, share: arb) -> arb:
    """Return kl(observed, share) of two shares strictly between 0 and 1."""
    rest = 1 - observed
    return observed * (observed / share).log() + rest * (rest / (1 - share)).log()


def angle(share: arb) -> arb:
    """Return psi(share) = arcsin(sqrt(share)); the end points exactly."""
    return arb.pi() / 2 if share == 1 else share.sqrt().asin()


@dataclass(frozen=True)
class Node:
    """A binomial experiment with an unknown share: ``hits`` out of ``rows``, of which there are some."""

    hits: int
    rows: int

    @property
    def mirrored(self) -> Node:
        """Misses instead of hits."""
        return Node(self.rows - self.hits, self.rows)

    @cached_property
    def corrected(self) -> arb:
        """The share c after one more hit."""
        return arb(fmpq(min(self.hits + 1, self.rows), self.rows))

    @cached_property
    def beta(self) -> arb:
        """The offset beta, which no cost is charged for."""
        if self.hits == self.rows:
            return arb(0)
        return (arb(self.rows) / 2).sqrt() * (angle(self.corrected) - angle(arb(fmpq(self.hits, self.rows))))

    def kappa(self, x: arb) -> arb:
        """Return the slope kappa for costs up to x."""
        c = self.corrected
        if 2 * (self.hits + 1) >= self.rows:
            return arb(4)
        least = 2 * (c.sqrt() + (1 - c).sqrt()) ** 2
        above = _excess_at(float(c.mid()), float(x.mid()) / self.rows)
        if above is None:
            return least
        shares = (arb(above * (1.0 + slack)) for slack in SLACKS)
        share = next((d for d in shares if self.rows * divergence(c, c + d) >= x), None)
        if share is None or not (c + share) ** 2 * (1 - c) <= c * (1 - c - share) ** 2:  # beyond the turning point
            return least
        chord = 2 * divergence(c, c + share) / (angle(c + share) - angle(c)) ** 2
        return chord.min(arb(4))


def _excess_at(c: float, cost: float) -> float | None:
    """Find d with ``kl(c, c + d) = cost`` in floats, by Newton's method from the turning point; None if beyond that."""

    def value(d: float) -> float:
        return -c * math.log1p(d / c) - (1.0 - c) * math.log1p(-d / (1.0 - c))

    d = math.sqrt(c) / (math.sqrt(c) + math.sqrt(1.0 - c)) - c
    if not value(d) > cost:
        return None
    for _ in range(60):  # the divergence is convex, so the steps go down to the root and not beyond
        step = (value(d) - cost) * (c + d) * (1.0 - c - d) / d
        if not 1e-15 * d < step < d:
            break
        d -= step
    return d


def shared(x: arb, nodes: Sequence[tuple[arb, arb, arb]]) -> arb:
    """Bound ``sum W (sqrt(y / kappa) + beta)^2`` over costs y that add up to x, for nodes (W, kappa, beta).

    The multiplier mu is the best of a few.
    """
    numbers = [(float(w.mid()), float((w / kappa).mid()), float((w * beta**2).mid())) for w, kappa, beta in nodes]
    least = max(ratio for _, ratio, _ in numbers)
    step = math.sqrt(sum(square for _, _, square in numbers) * least / float(x.mid()))
    tried: list[tuple[float, float]] = []
    for factor in STEPS:
        mu = least * (1.0 + SLACK) + factor * step
        offsets = sum(square * mu / (mu - ratio) for _, ratio, square in numbers)
        tried.append((mu * float(x.mid()) + offsets, mu))
    multiplier = arb(min(tried)[1])
    total = multiplier * x
    for w, kappa, beta in nodes:
        t = multiplier * kappa / w
        if not t > 1:
            raise ArithmeticError("a multiplier of the confidence region is too small")
        total += w * beta**2 * t / (t - 1)
    return total


@dataclass(frozen=True)
class MassTree:
    """The list of cells, halved again and again.

    Attributes
    ----------
    nodes
        Its experiments, each with the steps that lead to it.
    cells
        The steps that lead to each cell.
    """

    nodes: tuple[tuple[Node, tuple[Node, ...]], ...]
    cells: tuple[tuple[Node, ...], ...]

    @classmethod
    def of(cls, masses: Sequence[int]) -> MassTree:
        """Halve; of an odd number of cells the first half gets the smaller one. Nodes without rows say nothing."""
        nodes: list[tuple[Node, tuple[Node, ...]]] = []
        cells: list[tuple[Node, ...]] = []

        def halve(part: Sequence[int], way: tuple[Node, ...]) -> None:
            if len(part) == 1:
                cells.append(way)
                return
            first, second = part[: len(part) // 2], part[len(part) // 2 :]
            node = Node(sum(first), sum(part))
            if node.rows:
                nodes.append((node, way))
            halve(first, (*way, node))
            halve(second, (*way, node.mirrored))

        halve(masses, ())
        return cls(tuple(nodes), tuple(cells))

    def missing(self, x: arb) -> arb:
        """Bound rows times (1 - affinity) of the masses at a total cost of x."""
        columns = []
        for node, way in self.nodes:
            kappa = node.kappa(x).min(node.mirrored.kappa(x))
            columns.append((growth(way, x), kappa, node.beta.max(node.mirrored.beta)))
        return shared(x, columns)


def growth(way: Sequence[Node], x: arb) -> arb:
    """Return W, the root of how much larger the true mass at the end of a way can be at cost x."""
    steps = [node for node in way if 0 < node.hits < node.rows]  # where all went this way, the true share is not larger
    if not steps:
        return arb(1)
    spread = sum(1.0 / node.hits - 1.0 / node.rows for node in steps)
    nu = arb(math.sqrt(spread / (2.0 * float(x.mid()))))
    log = nu * x
    for node in steps:
        c, weight = node.corrected, nu * node.rows
        if node.hits + 1 == node.rows:
            log -= arb(fmpq(node.hits, node.rows)).log()
            continue
        share = (1 + weight * c) / (1 + weight)
        log += (share * node.rows / node.hits).log() - weight * divergence(c, share)
    return (log / 2).exp()


def _inside(counts: Sequence[int]) -> list[Node]:
    """Return the experiments inside a cell: each loss, from the second on, among those at most as large."""
    totals = list(accumulate(counts))
    return [Node(counts[place], totals[place]) for place in range(1, len(counts)) if totals[place]]


def affinity_of_masses(masses: Sequence[int], error: arb) -> arb:
    """Return the affinity of the masses that is missed with probability at most ``error``."""
    x = budget(error, len(masses) - 1, 0)
    return 1 - MassTree.of(masses).missing(x) / sum(masses)


def affinity_of_classes(counts: Sequence[Sequence[int]], error: arb) -> arb:
    """Return the affinity of all classes that is missed with probability at most ``error``."""
    masses = [sum(cell) for cell in counts]
    tree = MassTree.of(masses)
    inside = [_inside(cell) for cell in counts]
    x = budget(error, len(masses) - 1, sum(len(cell) - 1 for cell in counts))
    worst = arb(0)
    for slab in range(SLABS):
        for_masses, for_losses = x * (slab + 1) / SLABS, x * (SLABS - slab) / SLABS
        columns = []
        for nodes, way in zip(inside, tree.cells, strict=True):
            larger = growth(way, for_masses) if nodes else arb(1)
            columns += [(larger, node.kappa(for_losses), node.beta) for node in nodes]
        worst = worst.max(tree.missing(for_masses) + shared(for_losses, columns))
    return 1 - worst / sum(masses)


def error_of_each(error: arb, cells: int) -> arb:
    """Divide an error probability among independent statements."""
    return 1 - ((1 - error).log() / cells).exp()


def is_upper_limit(mean: float, counts: Sequence[int], losses: Sequence[float], error: arb, x: arb) -> bool:
    """Whether the mean loss of a cell exceeds ``mean`` with probability at most ``error``, of which x is the budget."""
    rows, top = sum(counts), losses[-1]
    if mean >= top:
        return True
    if rows == 0:
        return False
    if len(counts) == 2:
        return _is_upper_share(arb(mean) / arb(top), Node(counts[1], rows), error, x)
    columns = [(arb(1), node.kappa(x), node.beta) for node in _inside(counts)]
    affinity = 1 - shared(x, columns) / rows
    if not affinity > 0:
        return False
    eta = _best_level(counts, losses, float(affinity.mid()))
    total = sum((arb(fmpq(k, rows)) / (arb(eta) - arb(value)) for k, value in zip(counts, losses, strict=True)), arb(0))
    return bool(arb(eta) - affinity**2 / total <= arb(mean))


def _is_upper_share(share: arb, node: Node, error: arb, x: arb) -> bool:
    """Whether so few hits have probability at most ``error`` if the true share is ``share``."""
    if node.hits + 1 < node.rows and share > node.corrected and node.rows * divergence(node.corrected, share) >= x:
        return True
    if node.hits == node.rows or node.rows > EXACT_ROWS:
        return False
    if share > arb(fmpq(node.hits, node.rows)):
        return bool(few_hits(node.hits, node.rows, share) <= error)
    return bool(1 - few_hits(node.rows - node.hits - 1, node.rows, 1 - share) <= error)


def few_hits(hits: int, rows: int, share: arb) -> arb:
    """Return the probability of so many hits or fewer if their true share is ``share``, larger than hits / rows.

    Term by term from the largest one on; what is left is less than a geometric series. (The incomplete beta function
    gives the same, but for some arguments it takes a second.)
    """
    if share >= 1:
        return arb(0)
    ways = arb(rows + 1).lgamma() - arb(hits + 1).lgamma() - arb(rows - hits + 1).lgamma()
    term = (ways + hits * share.log() + (rows - hits) * (1 - share).log()).exp()
    total, odds = term, (1 - share) / share
    for left in range(hits, 0, -1):
        ratio = odds * left / (rows - left + 1)
        rest = term * ratio / (1 - ratio)
        if ratio < 1 and rest <= total * NEGLIGIBLE:
            return total + rest * arb(0.5, 0.5)
        term *= ratio
        total += term
    return total


def _best_level(counts: Sequence[int], losses: Sequence[float], affinity: float) -> float:
    """Find eta above the ceiling at which the bound of the mean is smallest, in floats: it is convex in eta."""
    rows, top = sum(counts), losses[-1]

    def bound(logarithm: float) -> float:
        eta = top * (1.0 + math.exp(logarithm))
        total = sum(k / rows / (eta - value) for k, value in zip(counts, losses, strict=True))
        return eta - affinity**2 / total

    low, high = math.log(1e-9), math.log(1e6)
    for _ in range(80):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return top * (1.0 + math.exp(0.5 * (low + high)))
