"""Weak duality in ball arithmetic: what a proof proves about a population, and what its witness attains.

Standard library and python-flint only. Every number of the document is taken as the exact number that it is; results
are certain enclosures, and a comparison holds only if it holds for all numbers of the balls. Sections refer to
docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import arb, fmpq

#: Limits on partitions, so that a check ends in reasonable time whatever the document.
MOST_CORNERS = 64
MOST_HALVINGS = 400

#: A witness may miss the ball, the limits or unit mass by this much; its affinity and loss are sums of rounded numbers.
#: Proofs are held to the same, larger set: its members are those that a witness may be. Otherwise a set that is empty
#: by a hair would have a witness all the same, and multipliers that prove anything of it.
ROUNDING = fmpq(1, 10**12)

#: What least shares are multiples of: all floats that are not tiny are, so it is no loss to round down to one.
GRAIN = fmpq(1, 2**200)

#: The attained value may be understated by this much, relative to the ceiling.
UNDERSTATED = fmpq(1, 10**6)


#: Masses and losses.
Atoms = list[tuple[arb, arb]]


class RefusedError(Exception):
    """A check failed."""


def rounded_up(ball: arb) -> float:
    """Return a float that is certainly not below the ball, and no larger than need be."""
    value = float(ball.upper())
    return value if arb(value) >= ball else math.nextafter(value, math.inf)


@dataclass(frozen=True)
class Limits:
    """Linear limits on shares in exact numbers: the product with each row is at most so much."""

    rows: list[list[fmpq]]
    most: list[fmpq]


class Case:
    """The question in exact numbers, oriented so that the proof's shares are those of the labels."""

    def __init__(self, population: dict[str, Any], question: dict[str, Any], axis: str, tau: arb) -> None:
        self.is_transposed = axis == "group"
        weight = population["weight"]
        size = len(weight), len(weight[0])
        self.weight = weight
        self.total = sum((arb(w) for row in weight for w in row), arb(0))
        self.general = question["shift"] == "general" and question["support"] == "any"
        self.upper: dict[tuple[int, int], Atoms] = {}
        self.lower: dict[tuple[int, int], Atoms] = {}
        self.ceiling: dict[tuple[int, int], arb] = {}
        self.empty: set[tuple[int, int]] = set()
        for s in range(size[0]):
            for y in range(size[1]):
                cell = (y, s) if self.is_transposed else (s, y)
                self.upper[cell], self.lower[cell], self.ceiling[cell] = self.law(population, question, s, y)
                if weight[s][y] == 0:
                    self.empty.add(cell)
        self.groups, self.labels = (size[1], size[0]) if self.is_transposed else size
        skews = [
            None if skew is None else exact(skew) + ROUNDING for skew in _sides(question, "skew", self.is_transposed)
        ]
        self.group_skew, self.label_skew = skews
        self.group_limits, self.label_limits = map(_widened, _sides(question, "limits", self.is_transposed))
        self.tau = (tau - arb(ROUNDING)).max(arb(0))
        self.rho = arb(question["rho"]) + arb(ROUNDING) * (1 + arb(question["rho"]))
        self.tolerance, self.divergence = _tolerance(question), question["divergence"]
        self.top = max(self.ceiling.values(), key=lambda c: c.mid())
        self.scale = max((abs(c) for c in self.ceiling.values()), key=lambda c: c.mid())

    def law(self, population: dict[str, Any], question: dict[str, Any], s: int, y: int) -> tuple[Atoms, Atoms, arb]:
        """Return a cell's upper atoms, lower atoms and ceiling (section 2), whichever way the case is turned."""
        top = None if population["ceiling"] is None else arb(population["ceiling"])
        mass = arb(self.weight[s][y]) / self.total
        upper, lower, ceiling = _atoms(population["knowledge"], s, y, mass, top, question)
        if self.weight[s][y] == 0:
            if not self.general and question["empty_cells"] != "ceiling":
                raise RefusedError(f"cell ({s}, {y}) is empty, and nothing is assumed of its losses")
            upper, lower, ceiling = [], [], top
        if ceiling is None:
            raise RefusedError("general shifting needs a finite ceiling")
        return upper, lower, ceiling

    def counted(self, masses: dict[tuple[int, int], arb]) -> dict[tuple[int, int], arb]:
        """How much the mean losses of the cells count for a Q with these masses."""
        return masses


def _sides(question: dict[str, Any], what: str, is_transposed: bool) -> list[Any]:
    """Return what is asked of the shares of groups and of labels, in the order of the proof."""
    sides = [question[f"group_{what}"], question[f"label_{what}"]]
    return sides[::-1] if is_transposed else sides


def _widened(limits: dict[str, Any] | None) -> Limits | None:
    """Return linear limits in exact numbers, with the leeway that a witness has."""
    if limits is None:
        return None
    rows = [[exact(v) for v in row] for row in limits["rows"]]
    pairs = zip(rows, limits["most"], strict=True)
    return Limits(rows, [exact(most) + ROUNDING * max(map(abs, row)) for row, most in pairs])


def _tolerance(question: dict[str, Any]) -> fmpq:
    """Return by how much base rates may differ: nothing if they are equal, 1 if nothing is asked of them."""
    if not question["fair"]:
        return fmpq(1)
    tolerance = question["base_rate_tolerance"]
    return fmpq(0) if not tolerance else min(fmpq(1), exact(tolerance) + ROUNDING)


def _atoms(
    knowledge: dict[str, Any], s: int, y: int, mass: arb, top: arb | None, question: dict[str, Any]
) -> tuple[Atoms, Atoms, arb | None]:
    """Return the same of a cell that has this mass; None if there is no ceiling."""
    kind = knowledge["kind"]
    if kind == "losses":
        bins = [tuple(arb(v) for v in entry) for entry in knowledge["cells"][s][y]]  # low, high, weight, share of high
        inside = sum((b[2] for b in bins), arb(0))
        mean = sum((b[2] * (b[0] + b[3] * (b[1] - b[0])) for b in bins), arb(0)) / inside if bins else arb(0)
    else:
        mean = arb(knowledge["mean"][s][y])
    if question["shift"] == "sensitive":
        return [(mass, mean)], [(mass, mean)], mean
    if kind == "losses":
        upper, lower = [], []
        for low, high, weight, part in bins:  # on the edges for the bound, with the same mean; else at the mean
            share = mass * weight / inside
            lower.append((share, low + part * (high - low)))
            upper += [(share * (1 - part), low), (share * part, high)]
        largest = max((b[1] for b in bins), key=lambda v: v.mid(), default=top)
        return upper, lower, top if question["support"] == "any" else largest
    if top is None:
        raise RefusedError("general shifting needs a finite ceiling")
    if question["support"] != "any":
        raise RefusedError("observed support needs the losses themselves")
    if kind == "mean" or question["divergence"] == "total_variation":  # which knows no worst law with a variance
        both = [(mass * (top - mean) / top, arb(0)), (mass * mean / top, top)]
        return both, both, top
    variance, room = arb(knowledge["variance"][s][y]), top - mean
    if not room > 0:
        both = [(arb(0), arb(0)), (mass, top)]
        return both, both, top
    high = variance / (variance + room**2)
    both = [(mass * room**2 / (variance + room**2), mean - variance / room), (mass * high, top)]
    return both, both, top


def support(values: list[arb], skew: fmpq | None, limits: Limits | None = None, mu: Sequence[float] = ()) -> arb:
    """Return an upper bound of the largest <share, values> (section 5); all mu >= 0 and all t >= mean are valid."""
    price = arb(0)
    if limits is not None:
        if any(v < 0 for v in mu):
            raise RefusedError("the multipliers are not feasible: those of the limits on shares must be >= 0")
        values = list(values)
        for weight, row, right in zip(mu, limits.rows, limits.most, strict=True):
            if weight:
                values = [v - arb(weight) * arb(a) if a != 0 else v for v, a in zip(values, row, strict=True)]
                price += arb(weight) * arb(right)
    return price + _skew_support(values, skew)


def _skew_support(values: list[arb], skew: fmpq | None) -> arb:
    """The same where only differences of shares are limited."""
    most = largest(values)
    if skew is None:
        return most
    mean = sum(values, arb(0)) / len(values)
    # The least total is where about 1 / skew of the values lie above the level; which one it is, floats may say.
    order = sorted(range(len(values)), key=lambda i: float(values[i].mid()), reverse=True)
    place = len(values) if skew * len(values) <= 1 else int(1 / skew)
    best = most
    for start in [mean, *(values[i] for i in order[max(0, place - 1) : place + 2])]:
        level = start.max(mean)
        total = level + arb(skew) * sum(((v - level).max(arb(0)) for v in values), arb(0))
        best = best.min(total)
    return best


def largest(values: Iterable[arb]) -> arb:
    """Return the largest of some balls."""
    return reduce(lambda most, value: most.max(value), values)


def bounds_of(case: Case, proof: dict[str, Any]) -> list[arb]:
    """Return the bounds of all pieces where base rates are equal."""
    if proof["kind"] == "tangent":
        if not case.general:
            raise RefusedError("a tangent proof is for general shifting with a common ceiling")
        return [_tangent_bound(case, proof)]
    if proof["kind"] != "partition":
        raise RefusedError(f"a proof of the kind {proof['kind']} is not one for Hellinger balls")
    return [_piece_bound(case, leaf, piece) for leaf, piece in pieces(case, proof)]


def gain(case: Case, level: arb, total: arb | None) -> arb:
    """Return ``level - tau^2 / total``; no gain where the total is infinite or not certain to be positive."""
    if total is None or not total > 0 or not total.is_finite():
        return level
    return level - case.tau**2 / total


def _tangent_bound(case: Case, proof: dict[str, Any]) -> arb:
    """Evaluate the bound of section 3 from any phi >= 0 and share > 0."""
    phi, share = proof["phi"], [arb(v) for v in proof["share"]]
    if any(not v > 0 for v in share) or any(v < 0 for row in phi for v in row):
        raise RefusedError("the multipliers are not feasible: phi must be >= 0 and the tangent's shares > 0")
    intercept, slopes, finite = arb(0), [arb(0)] * case.labels, True
    for (s, y), atoms in case.upper.items():
        ratio = arb(phi[s][y]) / share[y]
        for probability, loss in atoms:
            if probability.is_zero():
                continue
            depth = case.top - loss + ratio
            if not depth > 0:
                finite = False
                continue
            weight = probability / depth**2
            intercept += weight * (case.top - loss)
            slopes[y] += weight * ratio / share[y]
    rises = [sum((arb(v) for v in row), arb(0)) for row in phi]
    level = case.top + support(rises, case.group_skew, case.group_limits, proof["level_mu"])
    slope = support(slopes, case.label_skew, case.label_limits, proof["share_mu"])
    return gain(case, level, intercept + slope if finite else None)


def least_shares(case: Case) -> list[fmpq]:
    """Return for each share a number that it has at least, by the limits (section 5)."""
    size = case.labels
    least, most = [fmpq(0)] * size, [fmpq(1)] * size
    if case.label_skew is not None:
        least = [max(fmpq(0), _below((1 - (size - 1) * case.label_skew) / size))] * size
    limits = case.label_limits or Limits([], [])
    for row, end in zip(limits.rows, limits.most, strict=True):
        first, second = sorted(row)[:2]
        for i, own in enumerate(row):
            other = second if own == first else first  # the least of the others
            if own > other:
                most[i] = min(most[i], max(fmpq(0), -_below((other - end) / (own - other))))
            elif own < other:
                least[i] = max(least[i], _below((other - end) / (other - own)))
    total = sum(most, fmpq(0))
    return [max(low, 1 - (total - high)) for low, high in zip(least, most, strict=True)]


def _below(value: fmpq) -> fmpq:
    """Round down to a multiple of GRAIN: sums of many quotients would be fractions of enormous numbers."""
    return (value / GRAIN).floor() * GRAIN


def exact(value: float) -> fmpq:
    """Return the number that a float is."""
    return fmpq(*float(value).as_integer_ratio())


def pieces(case: Case, proof: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[list[arb]]]]:
    """Walk the tree of bisections: its leaves cover the root by construction, and the root covers all shares."""
    size = case.labels
    if size > MOST_CORNERS:
        raise RefusedError(f"partitions of more than {MOST_CORNERS} shares are not checked")
    floors = [exact(v) for v in proof["floors"]]
    for floor, least in zip(floors, least_shares(case), strict=True):
        if not 0 <= floor <= least:
            raise RefusedError(f"the root leaves out admissible shares: its floors are {proof['floors']}"[:300])
    spread = 1 - sum(floors, fmpq(0))
    if spread < 0:
        raise RefusedError("the root is empty: its floors add up to more than one")
    stack = [(0, [[fmpq(int(i == j)) for j in range(size)] for i in range(size)])]
    leaves = iter(proof["leaves"])
    for split in proof["splits"]:
        if not stack:
            raise RefusedError("the tree of pieces goes on after it is complete")
        depth, corners = stack.pop()
        if depth > MOST_HALVINGS:
            raise RefusedError(f"the tree of pieces is more than {MOST_HALVINGS} deep")
        if split is None:
            leaf = next(leaves, None)
            if leaf is None:
                raise RefusedError("there are fewer leaves than the tree of pieces has")
            yield leaf, [[arb(f + spread * b) for f, b in zip(floors, corner, strict=True)] for corner in corners]
            continue
        i, j = split
        if i == j or max(i, j) >= size:
            raise RefusedError(f"the tree of pieces halves an edge that does not exist: {split}")
        middle = [(a + b) / 2 for a, b in zip(corners[i], corners[j], strict=True)]
        first, second = list(corners), list(corners)
        first[i], second[j] = middle, middle
        stack += [(depth + 1, second), (depth + 1, first)]
    if stack:
        raise RefusedError(f"{len(stack)} pieces of the shares are not covered")
    if next(leaves, None) is not None:
        raise RefusedError("there are more leaves than the tree of pieces has")


def _piece_bound(case: Case, leaf: dict[str, Any], vertices: list[list[arb]]) -> arb:
    """Evaluate the bound of section 4 over one piece from any w, centre, omega."""
    w = [[arb(v) for v in row] for row in leaf["w"]]
    centre, omega = [arb(v) for v in leaf["centre"]], [arb(v) for v in leaf["omega"]]
    most: arb | None = None
    for vertex in vertices:
        offset = [r - c for r, c in zip(vertex, centre, strict=True)]
        tilt = [sum((o * v for o, v in zip(offset, row, strict=True)), arb(0)) for row in w]
        total = -sum((o * r for o, r in zip(omega, vertex, strict=True)), arb(0))
        for (s, y), atoms in case.upper.items():
            eta = w[s][y] - tilt[s]
            if not eta >= case.ceiling[s, y]:
                raise RefusedError(f"a multiplier of cell ({s}, {y}) falls below its ceiling: not feasible")
            for probability, loss in atoms:
                if not probability.is_zero():
                    total += probability / (eta - loss)
        most = total if most is None else most.max(total)
    level = [sum((c * v for c, v in zip(centre, row, strict=True)), arb(0)) for row in w]
    pulled = arb(0)
    if any(leaf["omega"]):
        pulled = support(omega, case.label_skew, case.label_limits, leaf["share_mu"])
    bound = None if most is None else most + pulled
    if bound is not None and bound.is_finite() and bound <= 0:  # G is positive: no admissible share lies in this piece
        return arb(0)
    return gain(case, support(level, case.group_skew, case.group_limits, leaf["level_mu"]), bound)


class Inventory:
    """The masses of a witness beside those of P: pairs on the losses of P, the rest outside, and the value."""

    def __init__(self, case: Case, witness: dict[str, Any], masses: dict[tuple[int, int], arb]) -> None:
        self.pairs: list[tuple[arb, arb]] = []
        self.stray, self.value = arb(0), arb(0)
        counted = case.counted(masses)
        for (s, y), atoms in case.lower.items():
            mass, much = masses[s, y], counted[s, y]
            cell = (y, s) if case.is_transposed else (s, y)
            inside, unseen = witness["reweighting"][cell[0]][cell[1]], witness["unseen"][cell[0]][cell[1]]
            if any(v < 0 for v in inside) or unseen < 0:
                raise RefusedError(f"the witness has negative mass in cell {cell}")
            if unseen > 0 and not (case.general or (s, y) in case.empty):
                raise RefusedError(f"the witness puts mass outside the observed losses of cell {cell}")
            if len(inside) < len(atoms) or any(v != 0 for v in inside[len(atoms) :]):
                raise RefusedError(f"the witness does not fit the losses of cell {cell}")
            total = sum((arb(v) for v in inside), arb(unseen))
            if not total > 0:
                raise RefusedError(f"the witness says nothing of cell {cell}")
            for (probability, loss), conditional in zip(atoms, inside, strict=False):
                if probability.is_zero() and conditional > 0:
                    raise RefusedError(f"the witness puts mass on a loss that does not occur in cell {cell}")
                self.pairs.append((probability, mass * arb(conditional) / total))
                self.value += much * arb(conditional) / total * loss
            self.stray += mass * arb(unseen) / total
            self.value += much * arb(unseen) / total * case.ceiling[s, y]


def check_shares(name: str, shares: list[arb], skew: fmpq | None, limits: Limits | None) -> None:
    """Check that the witness's shares of one side, which add up to one, obey the limits."""
    if skew is not None and not largest(shares) + largest(-v for v in shares) <= arb(skew):
        raise RefusedError(f"the witness's {name} breaks the skew limit")
    for row, most in zip(limits.rows, limits.most, strict=True) if limits else ():
        product = sum((arb(a) * v for a, v in zip(row, shares, strict=True) if a != 0), arb(0))
        if not product <= arb(most):
            raise RefusedError(f"the witness's {name} breaks a limit on the shares")


def product_masses(case: Case, witness: dict[str, Any]) -> dict[tuple[int, int], arb]:
    """Check the witness's shares and return the masses of its cells: products, so that base rates are equal."""
    names = ("label_mass", "group_mass") if case.is_transposed else ("group_mass", "label_mass")
    shares = []
    sides = (case.group_skew, case.group_limits), (case.label_skew, case.label_limits)
    for name, (skew, limits) in zip(names, sides, strict=True):
        values = [arb(v) for v in witness[name]]
        if any(v < 0 for v in witness[name]):
            raise RefusedError(f"the witness has a negative share in {name}")
        total = sum(values, arb(0))
        if not abs(total - 1) <= arb(ROUNDING):
            raise RefusedError(f"the witness's {name} does not add up to one")
        shares.append([v / total for v in values])
        check_shares(name, shares[-1], skew, limits)
    return {(s, y): shares[0][s] * shares[1][y] for s, y in case.lower}


def check_attained(case: Case, value: arb, attained: float | None) -> float:
    """Check that the witness's loss is the attained loss claimed, if one is, and return it, rounded down."""
    if attained is None:
        return -rounded_up(-value)
    if not value >= arb(attained) - arb(ROUNDING) * case.top:
        raise RefusedError(
            f"the witness's loss is {float(value.mid())!r}, less than the attained loss {attained!r} claimed"
        )
    if not value <= arb(attained) + arb(UNDERSTATED) * case.top:
        raise RefusedError(f"the witness's loss is {float(value.mid())!r}, not the attained loss {attained!r} claimed")
    return -rounded_up(-value)


def witness_value(
    case: Case, witness: dict[str, Any], masses: dict[tuple[int, int], arb], attained: float | None
) -> float:
    """Check that the witness is what it claims to be and return its loss, rounded down (section 7)."""
    found = Inventory(case, witness, masses)
    overlap = sum(((p * q).sqrt() for p, q in found.pairs if not q.is_zero()), arb(0))
    if not overlap >= case.tau:
        missing = float((case.tau - overlap).upper())
        raise RefusedError(
            f"the witness is outside the ball: its affinity misses what the radius asks for by {missing:.3g}"
        )
    return check_attained(case, found.value, attained)
