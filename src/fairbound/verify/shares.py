"""Shares of groups, labels and parts: how large a weighted sum of them can be, and how they are cut into pieces.

Sections "Shares" and "Pieces" of docs/specification.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from fairbound.verify.balls import ZERO, RefusedError, dot, exact, largest, require, total
from fairbound.verify.document import Leaf, Limits, Proof

#: Limits on trees of pieces, so that a check ends in reasonable time whatever the document.
MOST_CORNERS = 4096
MOST_HALVINGS = 400

#: The corners of a piece: shares.
Corners = list[list[arb]]

#: What least shares are multiples of: all floats that are not tiny are, so it is no loss to round down to one.
GRAIN = fmpq(1, 2**200)


@dataclass(frozen=True)
class Side:
    """The shares of one side: not negative, adding up to one, within limits, of which they may miss ``leeway``."""

    size: int
    limits: Limits
    leeway: fmpq

    @cached_property
    def skew(self) -> fmpq | None:
        """By how much two shares may differ."""
        return None if self.limits.skew is None else exact(self.limits.skew) + self.leeway

    @cached_property
    def rows(self) -> list[tuple[list[fmpq], fmpq]]:
        """Linear limits: the product of the shares with each row is at most so much."""
        rows = [[exact(v) for v in row] for row in self.limits.rows]
        pairs = zip(rows, self.limits.most, strict=True)
        return [(row, exact(most) + self.leeway * max(map(abs, row))) for row, most in pairs]

    @property
    def limited(self) -> bool:
        """Whether there are limits."""
        return self.skew is not None or bool(self.rows)

    def support(self, values: Sequence[arb], mu: Sequence[float]) -> arb:
        """Return a number that no ``<share, values>`` exceeds; any multipliers mu >= 0 of the rows give one."""
        require(all(v >= 0 for v in mu), "the multipliers of the limits on shares must be >= 0")
        price, values = ZERO, list(values)
        for weight, (row, most) in zip(mu, self.rows, strict=True):
            if weight:
                values = [v - arb(weight) * arb(a) if a != 0 else v for v, a in zip(values, row, strict=True)]
                price += arb(weight) * arb(most)
        return price + self._skewed(values)

    def _skewed(self, values: list[arb]) -> arb:
        """The same where only differences of shares are limited: every level of at least the mean is valid."""
        most, skew = largest(values), self.skew
        if skew is None:
            return most
        mean = total(values) / len(values)
        # The least total is where about 1 / skew of the values lie above the level; which one it is, floats may say.
        order = sorted(values, key=lambda v: -float(v.mid()))
        place = len(values) if skew * len(values) <= 1 else int(1 / skew)
        for start in [mean, *order[max(0, place - 1) : place + 2]]:
            level = start.max(mean)
            most = most.min(level + arb(skew) * total((v - level).max(ZERO) for v in values))
        return most

    @cached_property
    def least(self) -> list[fmpq]:
        """For each share a number that it has at least, by the limits."""
        least, most = [fmpq(0)] * self.size, [fmpq(1)] * self.size
        if self.skew is not None:
            least = [max(fmpq(0), _below((1 - (self.size - 1) * self.skew) / self.size))] * self.size
        for row, end in self.rows:
            first, second = sorted(row)[:2]
            for i, own in enumerate(row):
                other = second if own == first else first  # the least of the others
                if own > other:
                    most[i] = min(most[i], max(fmpq(0), -_below((other - end) / (own - other))))
                elif own < other:
                    least[i] = max(least[i], _below((other - end) / (other - own)))
        whole = sum(most, fmpq(0))
        return [max(low, 1 - (whole - high)) for low, high in zip(least, most, strict=True)]

    def check(self, shares: Sequence[arb], whose: str) -> None:
        """Refuse shares, which add up to one, that break a limit."""
        within = self.skew is None or largest(shares) + largest(-v for v in shares) <= arb(self.skew)
        require(within, f"{whose} breaks the skew limit")
        for row, most in self.rows:
            require(dot(map(arb, row), shares) <= arb(most), f"{whose} breaks a limit on the shares")


def _below(value: fmpq) -> fmpq:
    """Round down to a multiple of GRAIN: sums of many quotients would be fractions of enormous numbers."""
    return (value / GRAIN).floor() * GRAIN


def rates_of_group(values: Sequence[arb], parts: Sequence[Sequence[int]], nu: arb | None) -> list[arb]:
    """Return what a group adds to the bound of "Rates": lists that add up over groups, for :func:`rates_bound`."""
    apart = total(largest(values[y] for y in part) for part in parts)
    if nu is None:
        return [apart]
    over = [value - nu for value in values]
    return [apart, nu, total(v.max(ZERO) for v in over), *over]


def rates_bound(sums: Sequence[arb], tolerance: fmpq) -> arb:
    """Bound a sum over base rates that differ by at most the tolerance, of what its groups add."""
    if len(sums) == 1:
        return sums[0]
    apart, nu, beyond, *over = sums
    return apart.min(nu + largest([ZERO, *over]) + arb(tolerance) * beyond)


def pieces(proof: Proof, least: Sequence[fmpq]) -> Iterator[tuple[Leaf, Corners]]:
    """Walk the tree of cuts: its leaves cover the root by construction, and the root all shares of ``least``.

    Balls hold the corners: pieces that share one have the same ball for it, and what is proved is so for all of it.
    """
    size, floors = len(least), [exact(v) for v in proof.floors]
    inside = all(0 <= floor <= most for floor, most in zip(floors, least, strict=True))
    require(inside, f"the root leaves out admissible shares: its floors are {proof.floors}"[:300])
    spread = 1 - sum(floors, fmpq(0))
    require(spread >= 0, "the root is empty: its floors add up to more than one")
    require(size <= MOST_CORNERS, f"pieces of more than {MOST_CORNERS} shares are not checked")
    low, high = [arb(v) for v in floors], [arb(v + spread) for v in floors]
    stack: list[tuple[int, Corners]] = [(0, [[*low[:i], high[i], *low[i + 1 :]] for i in range(size)])]
    leaves = iter(proof.leaves)
    for split in proof.splits:
        require(bool(stack), "the tree of pieces goes on after it is complete")
        depth, corners = stack.pop()
        require(depth <= MOST_HALVINGS, f"the tree of pieces is more than {MOST_HALVINGS} deep")
        if split is None:
            leaf = next(leaves, None)
            if leaf is None:
                raise RefusedError("the tree of pieces has more leaves than there are multipliers")
            yield leaf, corners
            continue
        i, j, part = int(split[0]), int(split[1]), split[2]
        edge = i != j and [i, j] == split[:2] and max(i, j) < size and 0 < part < 1
        require(edge, f"the tree of pieces cuts an edge that does not exist: {split}")
        ends = zip(corners[i], corners[j], strict=True)
        middle = [a if a is b else a + arb(part) * (b - a) for a, b in ends]
        first, second = list(corners), list(corners)
        first[i], second[j] = middle, middle
        stack += [(depth + 1, second), (depth + 1, first)]
    require(not stack, f"{len(stack)} pieces of the shares are not covered")
    require(next(leaves, None) is None, "there are more leaves than the tree of pieces has")
