"""Unequal ceilings and sensitive shifting: branch and bound over the shares of the smaller side.

The value for fixed label shares is not concave in them (the paper's Theorem 2 calls the problem convex; its objective
is bilinear), so the simplex of shares is cut into pieces, each with its own multipliers (docs/theory.md, section 4).
All pieces of all radii are solved together. The search may stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairbound.arrays import Floats
from fairbound.bounds import piece_bound
from fairbound.nearest import NearestFair
from fairbound.pieces import PieceSaddle, PieceSolution, solve_pieces
from fairbound.problem import Problem
from fairbound.proof import Axis, PartitionProof, Split
from fairbound.rounding import least_affinity
from fairbound.witness import Witness, build_witness

#: Pieces are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: By number of labels (4 or more are alike): how often the root is halved at the start, and a piece at once later on.
FIRST_CUT = {2: 3, 3: 2, 4: 3}
DEEPEST_CUT = {2: 4, 3: 2, 4: 2}

#: A piece with no edge longer than this (in barycentric coordinates) is not cut any more.
SMALLEST_EDGE = 2.0**-26


@dataclass
class _Node:
    """A piece: its corners in barycentric coordinates (exact: halves only), its bound and multipliers."""

    corners: Floats
    bound: float = np.inf
    multipliers: tuple[Floats, Floats, Floats] | None = None
    guess: Floats | None = None
    split: tuple[int, int] | None = None
    children: tuple[_Node, _Node] | None = None


@dataclass
class _Tree:
    """The search at one radius."""

    rho: float
    root: _Node
    witness: Witness
    leaves: list[_Node] = field(default_factory=list)


def _halve(node: _Node) -> tuple[_Node, _Node]:
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
        halves.append(_Node(moved, node.bound, node.multipliers, node.guess))
    node.split, node.children = (i, j), (halves[0], halves[1])
    return node.children


def _divide(node: _Node, depth: int) -> list[_Node]:
    """Bisect a piece and its parts ``depth`` times."""
    parts = [node]
    for _ in range(depth):
        parts = [half for part in parts for half in _halve(part)]
    return parts


@dataclass(frozen=True)
class Search:
    """The search over label shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius."""

    problem: Problem
    nearest: NearestFair
    tol: float
    budget: int

    def run(self, rhos: Floats) -> list[_Tree]:
        """Search all radii together."""
        problem = self.problem
        m = problem.labels.size
        trees = []
        for rho in rhos:
            plain = build_witness(
                problem,
                float(rho),
                (self.nearest.group_mass, self.nearest.label_mass),
                problem.ceiling + problem.scale,
                0.0,
                self.nearest,
            )
            root = _Node(np.eye(m))
            trees.append(_Tree(float(rho), root, plain, _divide(root, FIRST_CUT[min(m, 4)])))
        todo = [(tree, leaf) for tree in trees for leaf in tree.leaves]
        while todo:
            self._solve(todo)
            self._improve([tree for tree in trees if any(t is tree for t, _ in todo)] if len(todo) < len(trees) else trees)
            todo = [pair for tree in trees for pair in self._refine(tree)]
        return trees

    def _shares(self, corners: Floats) -> Floats:
        floor = self.problem.labels.floor
        return floor + (1.0 - self.problem.labels.size * floor) * corners

    def _cap(self, rho: Floats) -> Floats:
        """How steep the value may be in tau where it matters; more only serves to discard infeasible pieces."""
        return np.clip(10.0 / np.maximum(self._reserve(rho), 1e-9), 50.0, 1e8)

    def _reserve(self, rho: Floats) -> Floats:
        """How much more affinity there can be than the ball asks for."""
        return 1.0 - self.nearest.distance**2 - least_affinity(rho)

    def _pieces(self, rho: Floats, vertices: Floats, enough: Floats) -> PieceSolution:
        """Solve pieces in units of the largest ceiling; return multipliers in the user's units."""
        problem, scale = self.problem, self.problem.scale
        upper = problem.upper
        root, loss = np.sqrt(upper.probability), upper.loss / scale
        per_piece = root.size * vertices.shape[1]
        chunk = max(1, BATCH_ATOMS // per_piece)
        parts = []
        for start in range(0, len(rho), chunk):
            part = slice(start, start + chunk)
            saddle = PieceSaddle(
                root,
                loss,
                problem.ceiling / scale,
                least_affinity(rho[part]),
                vertices[part],
                self._cap(rho[part]),
                enough[part] / scale,
                problem.groups,
                problem.labels,
            )
            # Close to the nearest distribution the multipliers are large and have to be found more accurately.
            accuracy = 1e-2 * self.tol / scale * float(np.minimum(1.0, self._reserve(rho[part])).min())
            parts.append(solve_pieces(saddle, accuracy=max(1e-14, accuracy)))
        w, centre, omega, lam, group_share, label_share = (
            np.concatenate([getattr(p, name) for p in parts]) for name in PieceSolution.__dataclass_fields__
        )
        return PieceSolution(w * scale, centre, omega / scale, lam * scale, group_share, label_share)

    def _solve(self, todo: list[tuple[_Tree, _Node]]) -> None:
        """Find each piece's bound; the parent's multipliers serve where they are as good or good enough."""
        rho = np.array([tree.rho for tree, _ in todo])
        vertices = self._shares(np.stack([node.corners for _, node in todo]))
        needed = np.ones(len(todo), dtype=bool)
        if todo[0][1].multipliers is not None:
            old = [np.stack(parts) for parts in zip(*(node.multipliers or () for _, node in todo), strict=True)]
            inherited = piece_bound(self.problem, rho, vertices, old[0], old[1], old[2])
            for index, (tree, node) in enumerate(todo):
                node.bound = min(node.bound, float(inherited[index]))
                needed[index] = node.bound > tree.witness.loss + 0.5 * self.tol
        self._solve_needed([todo[i] for i in np.flatnonzero(needed)], rho[needed], vertices[needed])

    def _solve_needed(self, todo: list[tuple[_Tree, _Node]], rho: Floats, vertices: Floats) -> None:
        if not todo:
            return
        found = self._pieces(rho, vertices, np.array([tree.witness.loss + 0.8 * self.tol for tree, _ in todo]))
        bound = piece_bound(self.problem, rho, vertices, found.w, found.centre, found.omega)
        for index, (_, node) in enumerate(todo):
            if bound[index] < node.bound or node.multipliers is None:
                node.bound = float(bound[index])
                node.multipliers = found.w[index], found.centre[index], found.omega[index]
            node.guess = found.label_share[index]

    def _improve(self, trees: list[_Tree]) -> None:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        wanting = []
        for tree in trees:
            best = max(tree.leaves, key=lambda leaf: leaf.bound)
            if best.guess is not None and best.bound > tree.witness.loss + 0.1 * self.tol:
                wanting.append((tree, self.problem.labels.inside(best.guess)))
        if not wanting:
            return
        rho = np.array([tree.rho for tree, _ in wanting])
        shares = np.stack([share for _, share in wanting])[:, None]
        found = self._pieces(rho, shares, np.array([tree.witness.loss for tree, _ in wanting]))
        for index, (tree, share) in enumerate(wanting):
            witness = build_witness(
                self.problem,
                tree.rho,
                (found.group_share[index], share),
                found.w[index],
                float(found.lam[index]),
                self.nearest,
            )
            if witness.loss > tree.witness.loss:
                tree.witness = witness

    def _refine(self, tree: _Tree) -> list[tuple[_Tree, _Node]]:
        """Cut the leaves that keep the gap open; how often follows from the error's second order in the width."""
        goal = min(tree.witness.loss + 0.9 * self.tol, self.problem.scale)
        open_leaves = [
            leaf for leaf in tree.leaves if leaf.bound > goal and np.ptp(leaf.corners, axis=0).max() > SMALLEST_EDGE
        ]
        room = self.budget - len(tree.leaves)
        m = self.problem.labels.size
        divided: set[int] = set()
        fresh: list[_Node] = []
        for leaf in sorted(open_leaves, key=lambda leaf: -leaf.bound):
            excess = max((leaf.bound - tree.witness.loss) / self.tol, 1.0)
            depth = int(np.clip(np.ceil(0.5 * np.log2(min(excess, 1e9))), 1, DEEPEST_CUT[min(m, 4)]))
            if len(fresh) - len(divided) + 2**depth - 1 > room:
                break
            divided.add(id(leaf))
            fresh += _divide(leaf, depth)
        tree.leaves = [leaf for leaf in tree.leaves if id(leaf) not in divided] + fresh
        return [(tree, leaf) for leaf in fresh]

    def proof(self, tree: _Tree, axis: Axis) -> PartitionProof:
        """Write the tree in preorder."""
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
        w, centre, omega = (np.stack(part) for part in zip(*leaves, strict=True))
        return PartitionProof(axis, self.problem.labels.floor, tuple(splits), w, centre, omega)
