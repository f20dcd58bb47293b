"""The region "prequential": a bet, made anew for each block of rows, against every value above the claimed bound.

Multipliers and stakes of a block follow by a fixed rule from the rows before it: the checker computes them anew, so
that nobody can choose them, or the order of the rows, by what comes out. What they are is of no importance for the
proof, only that they do not know the rows that they are used for: floats may compute them. What is proved of them is
evaluated in balls. Section "Region `prequential`" of docs/specification.md; docs/finite-samples.md proves it.

Standard library and python-flint only.
"""

from __future__ import annotations

import hashlib
import math
import random
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations, pairwise, product

from flint import arb

from fairbound.verify.balls import largest, total

#: Rows that count before the first bet, in square roots of their number; blocks, by the cubes of what is left of them;
#: and by which part of the rows before it a block is larger than these at most.
PILOT, BLOCKS, GROWTH = 2, 18, 2

#: Rows that are added to those seen, equally in all classes; and how much is added to the radius, times their root.
PRIOR, WIDER = 8.0, 0.375

#: Sweeps of the rule for multipliers, and steps of Newton's method in each.
SWEEPS, STEPS = 25, 30

#: Stakes are ``u sqrt(2 / (u + BEND))`` in units of what is left of the deviation, for ``u`` that is missing.
BEND = 0.25

#: A block never loses more than this part of the capital to one row, where bets would otherwise be larger.
MOST_LOST = 0.9

#: Halvings of the simplex of shares: of two shares the first and the last number, of more.
FEWEST_CUTS, MOST_CUTS, CUTS = 5, 8, 8

#: The next multiple of what a random number can be, for each block: by how much the order of rows may be uneven.
STEP = 2.0**-52

#: Masses, losses: cells of the searched side first, then those of the other side, then losses.
Table = list[list[list[float]]]
Counts = list[list[list[int]]]


def ends_of(rows: int) -> list[int]:
    """Return the number of rows before the first bet, and that up to the end of each block."""
    start = min(PILOT * math.isqrt(rows), rows // 3)
    cubes = [rows - (rows - start) * (BLOCKS - k) ** 3 // BLOCKS**3 for k in range(BLOCKS + 1)]
    ends = [start]
    while ends[-1] < rows:
        here = ends[-1]
        ends.append(min(cubes[bisect_right(cubes, here)], max(here + here // GROWTH, here + 1)))
    return ends


def blocks_of(counts: Counts, seed: int) -> list[Counts]:
    """Deal the rows to the blocks: at random, by numbers that follow from the rows.

    Cells come in the order of what they hold, whatever they are called; a row goes to a block with a probability that
    is the share of the places left that it has.
    """
    cells = {
        (s, y): b"".join(struct.pack("<qq", j, n) for j, n in enumerate(cell) if n)
        for s, row in enumerate(counts)
        for y, cell in enumerate(row)
    }
    ordered = sorted((place for place, packed in cells.items() if packed), key=lambda place: (cells[place], place))
    content = b"".join(hashlib.sha256(cells[place]).digest() for place in ordered)
    losses = len(counts[0][0]) - 1
    key = hashlib.sha256(f"{seed},{losses};blocks;".encode() + content).digest()
    uniform = random.Random(int.from_bytes(key, "big")).random  # noqa: S311 (not a secret)
    ends = ends_of(sum(sum(cell) for row in counts for cell in row))
    left = [ends[0], *(last - first for first, last in pairwise(ends))]
    found = [[[[0] * len(cell) for cell in row] for row in counts] for _ in left]
    whole = sum(left)
    for s, y in ordered:
        for j, rows in enumerate(counts[s][y]):
            for _ in range(rows):
                place = bisect_right(list(accumulate(left)), uniform() * whole)
                left[place] -= 1
                whole -= 1
                found[place][s][y][j] += 1
    return found


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of form F with tops at the ceiling, by searched share and other share; and the law they are for."""

    zeta: list[list[float]]
    lam: float
    level: float
    law: Table


def _root(weights: Sequence[float], gaps: Sequence[float], mass: float) -> float:
    """Return d such that ``sum w / (d + g)^2`` is the mass: Newton's method for its root, from below."""
    d = max(0.0, *(math.sqrt(w / mass) - g for w, g in zip(weights, gaps, strict=True)))
    for _ in range(STEPS):
        squares = sum(w / (d + g) ** 2 for w, g in zip(weights, gaps, strict=True))
        cubes = sum(w / (d + g) ** 3 for w, g in zip(weights, gaps, strict=True))
        step = squares / cubes * (math.sqrt(squares / mass) - 1.0)
        d = max(0.0, d + step)
        if abs(step) <= 1e-12 * d:
            break
    return d


def multipliers(law: Table, gaps: list[float], tau: float) -> Multipliers:
    """Return multipliers that are nearly the best ones for a law of losses ``ceiling - gap``, at an affinity tau.

    The worst shares of both sides are approached in turns, each time by a model of the value of a cell's mass with
    one atom that has the same slope and curvature; lam follows the distance.
    """
    wide, high = range(len(law)), range(len(law[0]))
    k = [sum(map(sum, row)) for row in law]
    r = [sum(sum(row[b]) for row in law) for b in high]
    lam = 2.0

    def tops() -> list[list[float]]:
        return [[_root([p * lam * lam / 4.0 for p in law[a][b]], gaps, k[a] * r[b]) for b in high] for a in wide]

    def shares(by: list[float], d: list[list[float]], *, turned: bool) -> list[float]:
        """Return the best shares of one side for those of the other side, ``by``."""
        lines: list[tuple[float, float]] = []
        for n in wide if turned else high:
            slope = pull = 0.0
            for o in high if turned else wide:
                a, b = (n, o) if turned else (o, n)
                mass = k[a] * r[b]
                cubes = sum(p * lam * lam / 4.0 / (d[a][b] + g) ** 3 for p, g in zip(law[a][b], gaps, strict=True))
                bend = 2.0 / cubes * mass**1.5
                slope += by[o] * (d[a][b] - bend / (2.0 * math.sqrt(mass)))
                pull += math.sqrt(by[o]) * bend
            lines.append((slope, pull * pull / 4.0))
        top = max(slope for slope, _ in lines)
        level = _root([w for _, w in lines], [top - slope for slope, _ in lines], 1.0)
        found = [max(w / (level + top - slope) ** 2, 1e-12) for slope, w in lines]
        return [x / sum(found) for x in found]

    for _ in range(SWEEPS):
        r = shares(k, tops(), turned=False)
        k = shares(r, tops(), turned=True)
        d = tops()
        near = sum(
            p * lam / 2.0 / (d[a][b] + g) for a in wide for b in high for p, g in zip(law[a][b], gaps, strict=True)
        )
        lam = min(lam * min(2.0, max(0.5, math.sqrt(max(1.0 - near, 1e-12) / (1.0 - tau)))), 1000.0)
    d = tops()
    levels = [sum(k[a] * d[a][b] for a in wide) for b in high]
    level = max(levels)
    zeta = [[k[a] * (d[a][b] + level - levels[b]) for b in high] for a in wide]
    return Multipliers(zeta, lam, max(sum(zeta[a][b] for a in wide) for b in high), law)


def cuts_of(shares: int, rows: int) -> int:
    """Return how often all pieces are halved."""
    if shares != 2:
        return CUTS
    return next((n for n in range(FEWEST_CUTS, MOST_CUTS) if 4**n >= 16 * rows), MOST_CUTS)


@lru_cache(maxsize=16)
def pieces_of(shares: int, rows: int) -> list[list[list[float]]]:
    """Return pieces that cover all shares: halves of halves, on the longest edge."""
    pieces = [[[float(i == j) for i in range(shares)] for j in range(shares)]]
    for _ in range(cuts_of(shares, rows)):
        pieces = [half for piece in pieces for half in _halved(piece)]
    return pieces


def _halved(piece: list[list[float]]) -> Iterator[list[list[float]]]:
    def length(pair: tuple[int, int]) -> float:
        return sum((x - y) ** 2 for x, y in zip(piece[pair[0]], piece[pair[1]], strict=True))

    i, j = max(combinations(range(len(piece)), 2), key=length)
    middle = [0.5 * (x + y) for x, y in zip(piece[i], piece[j], strict=True)]
    for end in (i, j):
        yield [middle if n == end else corner for n, corner in enumerate(piece)]


def turned(counts: Counts) -> Counts:
    """Return counts with the side first whose shares are searched: the groups, unless labels are fewer."""
    return [list(column) for column in zip(*counts, strict=True)] if len(counts[0]) < len(counts) else counts


def rejects(claimed: arb, counts: Counts, losses: list[float], seed: int, affinity: arb, error: arb) -> bool:
    """Whether every value of at least ``claimed`` is rejected: then it is an upper bound, but for the error.

    ``affinity`` is what distributions in question have with P at least.
    """
    dealt = [turned(block) for block in blocks_of(counts, seed)]
    sizes = [sum(sum(map(sum, row)) for row in block) for block in dealt]
    rows = sum(sizes)
    aim = -(error - arb(rows) * len(sizes) * arb(STEP)).log()  # if that is negative no number, which rejects nothing
    gaps = [losses[-1] - loss for loss in losses]
    pieces = pieces_of(len(dealt[0]), rows)
    missing = [aim] * len(pieces)  # what is still to be won of each, as logarithms
    seen = dealt[0]
    for number, block in enumerate(dealt[1:], 1):
        before = sum(sizes[:number])
        chosen = multipliers(law_of(seen), gaps, wider(float(affinity.mid()), before))
        for place, piece in enumerate(pieces):
            if not missing[place] <= 0:
                gain = _gain(claimed, block, gaps, piece, chosen, affinity, missing[place], rows - before)
                missing[place] -= gain
        seen = [[[m + n for m, n in zip(*cells, strict=True)] for cells in zip(*pair, strict=True)]
                for pair in zip(seen, block, strict=True)]  # fmt: skip
    return all(left <= 0 for left in missing)


def law_of(seen: Counts) -> Table:
    """Return the law of the rows seen, with some more that are equally spread."""
    classes = len(seen) * len(seen[0]) * len(seen[0][0])
    whole = PRIOR + sum(sum(map(sum, row)) for row in seen)
    return [[[(n + PRIOR / classes) / whole for n in cell] for cell in row] for row in seen]


def wider(affinity: float, before: int) -> float:
    """Return the affinity at a larger radius: multipliers for it are less sensitive to the few rows they come from."""
    radius = math.sqrt(max(1.0 - affinity, 0.0)) + WIDER / math.sqrt(before + PRIOR)
    return 1.0 - min(radius, 0.99) ** 2


def _gain(
    claimed: arb,
    block: Counts,
    gaps: list[float],
    piece: list[list[float]],
    chosen: Multipliers,
    affinity: arb,
    missing: arb,
    left: int,
) -> arb:
    """Return what a block adds to the logarithm of the capital, at least, wherever in a piece the shares are."""
    ceiling = gaps[0] + 0.0  # losses begin at 0
    lam, square = arb(chosen.lam), arb(chosen.lam) ** 2 / 4
    level = largest(total(arb(row[b]) for row in chosen.zeta) for b in range(len(chosen.zeta[0])))
    start = level + arb(ceiling) - lam * affinity
    centre = [sum(column) / len(piece) for column in zip(*piece, strict=True)]
    places = list(product(range(len(block)), range(len(block[0])), range(len(gaps))))
    middle, base = {}, chosen.level + ceiling - chosen.lam * float(affinity.mid())
    for a, b, j in places:
        zeta, z = chosen.zeta[a][b], centre[a]
        middle[a, b, j] = base + chosen.lam**2 / 4.0 * z / (zeta + z * gaps[j])
    mean = sum(chosen.law[a][b][j] * value for (a, b, j), value in middle.items())
    spread = math.sqrt(sum(chosen.law[a][b][j] * (value - mean) ** 2 for (a, b, j), value in middle.items()))
    most = max(
        base + chosen.lam**2 / 4.0 * (centre[a] ** 2 * gaps[j] + corner[a] * chosen.zeta[a][b])
        / (chosen.zeta[a][b] + centre[a] * gaps[j]) ** 2
        for a, b, j in places
        for corner in piece
    )  # fmt: skip
    wanted = missing.max(arb(0))
    stake = wanted * (2 / (wanted + arb(BEND))).sqrt() / (arb(max(spread, 1e-9)) * arb(left).sqrt())
    if most > 0:
        stake = stake.min(arb(MOST_LOST / most))
    found = []
    for corner in piece:
        gain = arb(0)
        for a, b, j in places:
            if block[a][b][j]:
                top, z, x, gap = arb(chosen.zeta[a][b]), arb(centre[a]), arb(corner[a]), arb(gaps[j])
                height = start + square * (z * z * gap + x * top) / (top + z * gap) ** 2
                gain += block[a][b][j] * (1 + stake * (claimed - height)).log()
        found.append(gain)
    least = found[0]
    for gain in found[1:]:
        least = least.min(gain)
    return least
