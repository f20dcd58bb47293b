"""The pieces that a search works on, of all radii at once, and the trees of bisections that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.proof import Cut


@dataclass(frozen=True)
class Pieces:
    """Pieces of the simplex of shares, a row each.

    Attributes
    ----------
    radius
        Which radius a piece belongs to.
    node
        Its node in the forest.
    corners
        Its corners in barycentric coordinates (exact: halves only), shape (N, m, m).
    bound
        A bound on the loss over the piece, and
    multipliers
        by name, what proves it, a row for each piece.
    guess
        Shares at which the loss may be large, shape (N, m).
    """

    radius: Integers
    node: Integers
    corners: Floats
    bound: Floats
    guess: Floats
    multipliers: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.radius)

    def take(self, index: Booleans | Integers) -> Pieces:
        """Select pieces."""
        kept = {name: part[index] for name, part in self.multipliers.items()}
        where = self.radius[index], self.node[index]
        return Pieces(*where, self.corners[index], self.bound[index], self.guess[index], kept)

    def keep(self, where: Integers, bound: Floats, multipliers: Mapping[str, Floats]) -> None:
        """Keep multipliers where they give better bounds (what is known of the whole holds for its halves too)."""
        better = bound <= self.bound[where]
        self.bound[where[better]] = bound[better]
        for name, new in multipliers.items():
            self.multipliers[name][where[better]] = new[better]


def _joined(parts: list[Pieces]) -> Pieces:
    """Put pieces together."""
    return Pieces(
        np.concatenate([part.radius for part in parts]),
        np.concatenate([part.node for part in parts]),
        np.concatenate([part.corners for part in parts]),
        np.concatenate([part.bound for part in parts]),
        np.concatenate([part.guess for part in parts]),
        {name: np.concatenate([part.multipliers[name] for part in parts]) for name in parts[0].multipliers},
    )


class Forest:
    """A tree of bisections for each radius, and the pieces that are its leaves.

    Attributes
    ----------
    pieces
        The leaves of all trees.
    """

    def __init__(self, radii: int, size: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Start with the whole simplex of ``size`` shares for each radius; ``shapes`` are those of multipliers."""
        self.pieces = Pieces(
            radius=np.arange(radii),
            node=np.arange(radii),
            corners=np.tile(np.eye(size), (radii, 1, 1)),
            bound=np.full(radii, np.inf),
            guess=np.full((radii, size), 1.0 / size),
            multipliers={name: np.zeros((radii, *shape)) for name, shape in shapes.items()},
        )
        self._radii = radii
        # One row per node: the ends of the edge that was cut and the node of the first part (the second comes next).
        self._cuts = np.full((radii, 3), -1)
        self._where = np.full(radii, 0.5)

    def worst(self) -> Integers:
        """Return for each radius the piece with the largest bound."""
        pieces = self.pieces
        order = np.lexsort((pieces.bound, pieces.radius))
        return order[np.cumsum(np.bincount(pieces.radius)) - 1]

    def cut(self, times: Integers, where: Floats | None = None) -> Integers:
        """Halve each piece and its parts so many times; return where the new pieces are.

        Pieces of two shares may first be cut ``where`` else than in the middle.
        """
        whole = times == 0
        kept, parts, times = self.pieces.take(whole), self.pieces.take(~whole), times[~whole]
        where = None if where is None else where[~whole]
        done = [kept]
        while len(parts):
            parts, times, where = self._halve(parts, where), np.repeat(times - 1, 2), None
            if not times.any():
                done.append(parts)
                break
            done.append(parts.take(times == 0))
            parts, times = parts.take(times > 0), times[times > 0]
        self.pieces = _joined(done)
        return np.arange(len(kept), len(self.pieces))

    def _halve(self, pieces: Pieces, where: Floats | None = None) -> Pieces:
        """Cut pieces at the midpoint of their longest edge, or elsewhere."""
        corners = pieces.corners
        count, size = corners.shape[:2]
        row = np.arange(count)
        if size == 2:
            i, j = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        else:
            length = np.square(corners[:, :, None] - corners[:, None]).sum(axis=3)
            i, j = np.divmod(length.reshape(count, -1).argmax(axis=1), size)
        t = np.full(count, 0.5) if where is None else where
        middle = corners[row, i] + t[:, None] * (corners[row, j] - corners[row, i])
        halves = pieces.take(np.repeat(row, 2))
        halves.corners[2 * row, i] = halves.corners[2 * row + 1, j] = middle
        halves.node[:] = len(self._cuts) + np.arange(2 * count)
        self._cuts = np.concatenate([self._cuts, np.full((2 * count, 3), -1)])
        self._cuts[pieces.node] = np.stack([i, j, halves.node[::2]], axis=1)
        self._where = np.concatenate([self._where, np.full(2 * count, 0.5)])
        self._where[pieces.node] = t
        return halves

    def trees(self) -> Iterator[tuple[tuple[Cut | None, ...], Pieces]]:
        """Walk each tree in preorder: its splits, and the pieces that are its leaves."""
        cuts = self._cuts.tolist()
        place = np.zeros(len(cuts), dtype=np.int64)
        place[self.pieces.node] = np.arange(len(self.pieces))
        for root in range(self._radii):
            splits: list[Cut | None] = []
            leaves: list[int] = []
            stack = [root]
            while stack:
                node = stack.pop()
                i, j, half = cuts[node]
                if half < 0:
                    splits.append(None)
                    leaves.append(node)
                else:
                    splits.append((float(i), float(j), float(self._where[node])))
                    stack += (half + 1, half)
            yield tuple(splits), self.pieces.take(place[leaves])
