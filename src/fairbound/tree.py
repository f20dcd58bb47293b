"""The tree of pieces that a search grows: corners, bounds, multipliers, and the proof that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairbound.arrays import Floats
from fairbound.proof import Axis, PartitionProof, Split
from fairbound.witness import Witness


@dataclass(slots=True, eq=False)
class Node:
    """A piece: its corners in barycentric coordinates (exact: halves only), its bound and multipliers."""

    corners: Floats
    bound: float = np.inf
    multipliers: tuple[Floats, Floats, Floats] | None = None
    guess: Floats | None = None
    split: tuple[int, int] | None = None
    children: tuple[Node, Node] | None = None


@dataclass(slots=True, eq=False)
class Tree:
    """The search at one radius."""

    rho: float
    root: Node
    witness: Witness
    leaves: list[Node] = field(default_factory=list)


def halve(node: Node) -> tuple[Node, Node]:
    """Bisect a piece at the midpoint of its longest edge."""
    corners = node.corners
    i, j = 0, 1
    if len(corners) > 2:
        length = ((corners[:, None] - corners) ** 2).sum(axis=2)
        i, j = divmod(int(length.argmax()), len(corners))
    middle = 0.5 * (corners[i] + corners[j])
    halves = []
    for end in (i, j):
        moved = corners.copy()
        moved[end] = middle
        halves.append(Node(moved, node.bound, node.multipliers, node.guess))
    node.split, node.children = (i, j), (halves[0], halves[1])
    return node.children


def divide(node: Node, depth: int) -> list[Node]:
    """Bisect a piece and its parts ``depth`` times."""
    if len(node.corners) == 2 and depth > 1:
        return _divide_interval(node, depth)
    parts = [node]
    for _ in range(depth):
        parts = [half for part in parts for half in halve(part)]
    return parts


def _divide_interval(node: Node, depth: int) -> list[Node]:
    """Do the same for two corners at once: the points in between are equally spaced (and exact)."""
    count = 2**depth
    first, last = node.corners
    points = first + (last - first) * (np.arange(count + 1) / count)[:, None]
    pairs = np.stack([points[:-1], points[1:]], axis=1)[::-1]  # the first half lies at the second corner
    leaves = [Node(corners, node.bound, node.multipliers, node.guess) for corners in pairs]
    level = leaves
    while len(level) > 2:
        above = zip(level[::2], level[1::2], strict=True)
        level = [Node(node.corners, split=(0, 1), children=pair) for pair in above]
    node.split, node.children = (0, 1), (level[0], level[1])
    return leaves


def partition(tree: Tree, axis: Axis, floor: float) -> PartitionProof:
    """Write a tree in preorder."""
    splits: list[Split] = []
    leaves: list[tuple[Floats, Floats, Floats]] = []
    stack = [tree.root]
    while stack:
        node = stack.pop()
        splits.append(node.split)
        if node.children is not None:
            stack += [node.children[1], node.children[0]]
        elif node.multipliers is not None:
            leaves.append(node.multipliers)
    w, centre, omega = (np.array(part) for part in zip(*leaves, strict=True))
    return PartitionProof(axis, floor, tuple(splits), w, centre, omega)
