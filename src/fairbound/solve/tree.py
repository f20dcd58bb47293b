"""The pieces that a search works on, of all radii at once, and the trees of bisections that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.proof import Axis, PartitionProof, Split
from fairbound.solve.shares import MarginalSet, no_multipliers


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
        Its corners in barycentric coordinates (exact: halves only), shape (N, C, C).
    bound
        A bound on the loss over the piece, and
    w, centre, omega, level_mu, share_mu
        the multipliers that prove it, shapes (N, S, C), (N, C), (N, C) and (N, limits) of either side.
    lam
        One more of them, of the ball, where it is not eliminated (divergences other than Hellinger's), shape (N,).
    relaxed
        Whether the multipliers are about the largest values there may be in place of the values: of the group that is
        added, and of the one that is subtracted (means given a group under such a divergence), shape (N, 2).
    guess
        Label shares at which the loss may be large, shape (N, C).
    """

    radius: Integers
    node: Integers
    corners: Floats
    bound: Floats
    w: Floats
    centre: Floats
    omega: Floats
    level_mu: Floats
    share_mu: Floats
    lam: Floats
    relaxed: Booleans
    guess: Floats

    def __len__(self) -> int:
        return len(self.radius)

    def take(self, index: Booleans | Integers) -> Pieces:
        """Select pieces."""
        return Pieces(*(getattr(self, field.name)[index] for field in fields(self)))

    def with_halves(self, node: Integers, corners: Floats) -> Pieces:
        """Return two halves for each piece; what is known of the whole holds for them too."""
        return replace(self.take(np.repeat(np.arange(len(self)), 2)), node=node, corners=corners)


def _joined(parts: list[Pieces]) -> Pieces:
    return Pieces(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Pieces)))


class Forest:
    """A tree of bisections for each radius, and the pieces that are its leaves.

    Attributes
    ----------
    pieces
        The leaves of all trees.
    """

    def __init__(self, radii: int, groups: MarginalSet, labels: MarginalSet) -> None:
        size = labels.size
        self.pieces = Pieces(
            radius=np.arange(radii),
            node=np.arange(radii),
            corners=np.tile(np.eye(size), (radii, 1, 1)),
            bound=np.full(radii, np.inf),
            w=np.zeros((radii, groups.size, size)),
            centre=np.zeros((radii, size)),
            omega=np.zeros((radii, size)),
            level_mu=no_multipliers(radii, groups),
            share_mu=no_multipliers(radii, labels),
            lam=np.zeros(radii),
            relaxed=np.zeros((radii, 2), dtype=bool),
            guess=np.full((radii, size), 1.0 / size),
        )
        self._radii = radii
        # One row per node: the ends of the edge that was halved and the node of the first half (the second comes next).
        self._cuts = np.full((radii, 3), -1)

    def worst(self) -> Integers:
        """Return for each radius the piece with the largest bound."""
        pieces = self.pieces
        order = np.lexsort((pieces.bound, pieces.radius))
        return order[np.cumsum(np.bincount(pieces.radius)) - 1]

    def cut(self, times: Integers) -> Integers:
        """Halve each piece and its parts so many times; return where the new pieces are."""
        whole = times == 0
        kept, parts, times = self.pieces.take(whole), self.pieces.take(~whole), times[~whole]
        done = [kept]
        while len(parts):
            parts, times = self._halve(parts), np.repeat(times - 1, 2)
            if not times.any():
                done.append(parts)
                break
            done.append(parts.take(times == 0))
            parts, times = parts.take(times > 0), times[times > 0]
        self.pieces = _joined(done)
        return np.arange(len(kept), len(self.pieces))

    def _halve(self, pieces: Pieces) -> Pieces:
        """Bisect pieces at the midpoint of their longest edge."""
        corners = pieces.corners
        count, size = corners.shape[:2]
        row = np.arange(count)
        if size == 2:
            i, j = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        else:
            length = np.square(corners[:, :, None] - corners[:, None]).sum(axis=3)
            i, j = np.divmod(length.reshape(count, -1).argmax(axis=1), size)
        middle = 0.5 * (corners[row, i] + corners[row, j])
        halves = np.repeat(corners, 2, axis=0)
        halves[2 * row, i] = halves[2 * row + 1, j] = middle
        fresh = len(self._cuts) + np.arange(2 * count)
        self._cuts = np.concatenate([self._cuts, np.full((2 * count, 3), -1)])
        self._cuts[pieces.node] = np.stack([i, j, fresh[::2]], axis=1)
        return pieces.with_halves(fresh, halves)

    def proofs(self, axis: Axis, floors: Floats) -> list[PartitionProof]:
        """Write down each tree, in preorder, with the multipliers of its leaves."""
        proofs = []
        for splits, rows in self.trees():
            kept = self.pieces.take(rows)
            multipliers = kept.w, kept.centre, kept.omega, kept.level_mu, kept.share_mu
            proofs.append(PartitionProof(axis, floors, splits, *multipliers))
        return proofs

    def trees(self) -> Iterator[tuple[tuple[Split, ...], Integers]]:
        """Walk each tree in preorder: its splits, and which pieces its leaves are."""
        cuts = self._cuts.tolist()
        place = np.zeros(len(cuts), dtype=np.int64)
        place[self.pieces.node] = np.arange(len(self.pieces))
        for root in range(self._radii):
            splits: list[Split] = []
            leaves: list[int] = []
            stack = [root]
            while stack:
                node = stack.pop()
                i, j, half = cuts[node]
                if half < 0:
                    splits.append(None)
                    leaves.append(node)
                else:
                    splits.append((i, j))
                    stack += (half + 1, half)
            yield tuple(splits), place[leaves]
