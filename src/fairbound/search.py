"""Unequal ceilings and sensitive shifting: branch and bound over the shares of the smaller side.

The value for fixed label shares is not concave in them (the paper's Theorem 2 calls the problem convex; its objective
is bilinear), so the simplex of shares is cut into pieces, each with its own multipliers (docs/theory.md, section 4).
All pieces of all radii are solved together. The search may stop at any time: the largest bound of the leaves is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbound.arrays import Floats, Integers
from fairbound.bounds import piece_bound
from fairbound.nearest import NearestFair
from fairbound.pieces import PieceSaddle, PieceSolution, solve_pieces
from fairbound.problem import Problem
from fairbound.rounding import least_affinity
from fairbound.shares import applies, fixed_shares, quick_multipliers
from fairbound.tree import Node, Tree, divide
from fairbound.witness import build_witness

#: Pieces are solved in batches of at most this many atoms.
BATCH_ATOMS = 1_000_000

#: By number of labels (4 or more are alike): how often the root is halved at the start, and a piece at once later on.
FIRST_CUT = {2: 3, 3: 2, 4: 3}
QUICK_FIRST_CUT = {2: 4, 3: 4, 4: 5}
DEEPEST_CUT = {2: 4, 3: 2, 4: 2}

#: With two labels and quick multipliers, pieces whose bound is off by no more than this (in units of loss) are cut.
CUT_RATHER = 0.1

#: Pieces of larger tables (groups times the fourth power of labels) are not optimised where quick multipliers exist.
LARGEST_PROGRAM = 20_000_000

#: How often the attained value is improved around the best shares, each time closer.
CLIMBS = 5

#: A piece with no edge longer than this (in barycentric coordinates) is not cut any more.
SMALLEST_EDGE = 2.0**-26


@dataclass(frozen=True)
class Search:
    """The search over label shares for one problem; ``tol`` is the gap aimed at, ``budget`` pieces per radius."""

    problem: Problem
    nearest: NearestFair
    tol: float
    budget: int

    @cached_property
    def quick(self) -> bool:
        """Whether good multipliers can be had from one scalar equation."""
        return applies(self.problem)

    @property
    def affordable(self) -> bool:
        """Whether the best multipliers of a piece cost milliseconds; for huge tables the quick ones have to do."""
        s, c = self.problem.groups.size, self.problem.labels.size
        return s * c**4 <= LARGEST_PROGRAM

    @property
    def _leans(self) -> list[int | None]:
        """Where in a piece quick multipliers are tried: close to each corner, and in the middle."""
        return [*range(self.problem.labels.size), None]

    def run(self, rhos: Floats) -> list[Tree]:
        """Search all radii together."""
        problem = self.problem
        m = problem.labels.size
        first = min((QUICK_FIRST_CUT if self.quick else FIRST_CUT)[min(m, 4)], int(np.log2(self.budget)))
        # The nearest distribution is in every ball: something to start from.
        nearest = self.nearest.group_mass, self.nearest.label_mass
        plain = build_witness(problem, float(rhos.min()), nearest, problem.ceiling + problem.scale, 0.0, self.nearest)
        roots = [Node(np.eye(m)) for _ in rhos]
        trees = [Tree(float(rho), root, plain, divide(root, first)) for rho, root in zip(rhos, roots, strict=True)]
        if self.quick:
            self._scout(trees)
        open_trees = trees
        todo = [(tree, leaf) for tree in trees for leaf in tree.leaves]
        while todo:
            self._solve(todo)
            self._improve(open_trees)
            cut = [(tree, self._refine(tree)) for tree in open_trees]
            open_trees = [tree for tree, fresh in cut if fresh]
            todo = [(tree, leaf) for tree, fresh in cut for leaf in fresh]
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
            # Where the ball is slack the error is of the order of the root of the accuracy; and close to the nearest
            # distribution the multipliers are large and have to be found still more accurately.
            accuracy = 1e-6 * self.tol / scale * float(np.minimum(1.0, self._reserve(rho[part])).min())
            parts.append(solve_pieces(saddle, accuracy=max(1e-14, accuracy)))
        w, centre, omega, lam, group_share, label_share = (
            np.concatenate([getattr(p, name) for p in parts]) for name in PieceSolution.__dataclass_fields__
        )
        return PieceSolution(w * scale, centre, omega / scale, lam * scale, group_share, label_share)

    def _solve(self, todo: list[tuple[Tree, Node]]) -> None:
        """Find each piece's bound: the parent's multipliers and quick ones where they do, else the best."""
        rho = np.array([tree.rho for tree, _ in todo])
        vertices = self._shares(np.array([node.corners for _, node in todo]))
        left = np.arange(len(todo))
        if todo[0][1].multipliers is not None:
            old = [np.array(parts) for parts in zip(*(node.multipliers or () for _, node in todo), strict=True)]
            self._keep(todo, piece_bound(self.problem, rho, vertices, old[0], old[1], old[2]))
            left = self._unsettled(todo, left)
        for lean in self._leans if self.quick else ():
            if len(left):
                spots = vertices[left].mean(axis=1)
                if lean is not None:
                    spots = 0.1 * spots + 0.9 * vertices[left, lean]
                w = quick_multipliers(self.problem, rho[left], vertices[left], spots)
                multipliers = w, spots, np.zeros_like(spots)
                bound = piece_bound(self.problem, rho[left], vertices[left], *multipliers)
                self._keep([todo[i] for i in left], bound, multipliers, spots)
                left = self._unsettled(todo, left)
        if self.quick and self.problem.labels.size == 2:  # an almost good bound: cutting costs less than optimising
            excess = np.array([todo[i][1].bound - todo[i][0].witness.loss for i in left])
            left = left[excess > CUT_RATHER * self.problem.scale]
        if len(left) and (self.affordable or not self.quick):
            enough = np.array([todo[i][0].witness.loss + 0.8 * self.tol for i in left])
            best = self._pieces(rho[left], vertices[left], enough)
            multipliers = best.w, best.centre, best.omega
            bound = piece_bound(self.problem, rho[left], vertices[left], *multipliers)
            self._keep([todo[i] for i in left], bound, multipliers, best.label_share)

    def _keep(
        self,
        pairs: list[tuple[Tree, Node]],
        bound: Floats,
        multipliers: tuple[Floats, Floats, Floats] | None = None,
        guess: Floats | None = None,
    ) -> None:
        """Give pieces new bounds where they are better, with the multipliers that prove them."""
        for index, (_, node) in enumerate(pairs):
            if bound[index] < node.bound or node.multipliers is None:
                node.bound = float(bound[index])
                if multipliers is not None:
                    node.multipliers = multipliers[0][index], multipliers[1][index], multipliers[2][index]
            if guess is not None:
                node.guess = guess[index]

    def _unsettled(self, todo: list[tuple[Tree, Node]], left: Integers) -> Integers:
        """Return those pieces that may still hold the worst case."""
        return left[[todo[i][1].bound > todo[i][0].witness.loss + 0.8 * self.tol for i in left]]

    def _improve(self, trees: list[Tree]) -> None:
        """Look for a better attained value at the shares that the most promising piece suggests."""
        wanting = []
        for tree in trees:
            best = max(tree.leaves, key=lambda leaf: leaf.bound)
            if best.guess is not None and best.bound > tree.witness.loss + 0.1 * self.tol:
                wanting.append((tree, best))
        if not wanting:
            return
        rho = np.array([tree.rho for tree, _ in wanting])
        share = self.problem.labels.inside(np.array([node.guess for _, node in wanting if node.guess is not None]))
        corners = self._shares(np.array([node.corners for _, node in wanting]))
        if self.quick:
            value = fixed_shares(self.problem, rho, share).value
            better = np.flatnonzero([v > tree.witness.loss for v, (tree, _) in zip(value, wanting, strict=True)])
            if len(better):
                found = self._climb(rho[better], share[better], corners[better])
                self._adopt([wanting[i][0] for i in better], *found)
            return
        nearest = np.abs(corners - share[:, None]).sum(axis=2).argmin(axis=1)
        edge = self.problem.labels.inside(corners[np.arange(len(rho)), nearest])  # the worst case is often a corner
        losses = np.array([tree.witness.loss for tree, _ in wanting])
        for spot in (share, edge):
            point = self._pieces(rho, spot[:, None], losses)
            self._adopt([tree for tree, _ in wanting], spot, point.group_share, point.w, point.lam)

    def _scout(self, trees: list[Tree]) -> None:
        """Start with a good attained value, so that most pieces are settled at once."""
        corners = self._shares(np.array([leaf.corners for leaf in trees[0].leaves]))
        spots = corners.mean(axis=1)
        rho = np.array([tree.rho for tree in trees])
        tried = fixed_shares(self.problem, np.repeat(rho, len(spots)), np.tile(spots, (len(rho), 1)))
        best = tried.value.reshape(len(rho), -1).argmax(axis=1)
        self._adopt(trees, *self._climb(rho, self.problem.labels.inside(spots[best]), corners[best]))

    def _adopt(
        self,
        trees: list[Tree],
        share: Floats,
        group_share: Floats,
        eta: Floats | None = None,
        lam: Floats | None = None,
    ) -> None:
        """Build the distributions that shares and multipliers suggest, and keep those that attain more."""
        for index, tree in enumerate(trees):
            witness = build_witness(
                self.problem,
                tree.rho,
                (group_share[index], share[index]),
                self.problem.ceiling if eta is None else eta[index],
                0.0 if lam is None else float(lam[index]),
                self.nearest,
            )
            if witness.loss > tree.witness.loss:
                tree.witness = witness

    def _climb(self, rho: Floats, share: Floats, corners: Floats) -> tuple[Floats, Floats]:
        """Maximise the value at fixed label shares, starting at ``share``, by trying points around it ever closer."""
        problem = self.problem
        reach = corners - share[:, None]
        size = problem.labels.size
        centre = share
        for _ in range(CLIMBS):
            offers = np.concatenate([f * reach for f in (-1.0, -0.5, 0.25, 0.5, 1.0)], axis=1)
            tried = np.concatenate([centre[:, None], centre[:, None] + offers], axis=1)
            tried = np.maximum(tried, problem.labels.floor + 1e-12)
            tried = problem.labels.inside(tried)
            count = tried.shape[1]
            value = fixed_shares(problem, np.repeat(rho, count), tried.reshape(-1, size)).value.reshape(-1, count)
            best = value.argmax(axis=1)
            centre = tried[np.arange(len(rho)), best]
            reach = 0.3 * reach
        return centre, fixed_shares(problem, rho, centre).group_share

    def _refine(self, tree: Tree) -> list[Node]:
        """Cut the leaves that keep the gap open; how often follows from the error's second order in the width."""
        goal = min(tree.witness.loss + 0.9 * self.tol, self.problem.scale)
        open_leaves = [
            leaf for leaf in tree.leaves if leaf.bound > goal and np.ptp(leaf.corners, axis=0).max() > SMALLEST_EDGE
        ]
        room = self.budget - len(tree.leaves)
        m = self.problem.labels.size
        divided: set[int] = set()
        fresh: list[Node] = []
        for leaf in sorted(open_leaves, key=lambda leaf: -leaf.bound):
            excess = max((leaf.bound - tree.witness.loss) / self.tol, 1.0)
            depth = int(np.clip(np.ceil(0.5 * np.log2(min(excess, 1e9))), 1, DEEPEST_CUT[min(m, 4)]))
            if len(fresh) - len(divided) + 2**depth - 1 > room:
                break
            divided.add(id(leaf))
            fresh += divide(leaf, depth)
        tree.leaves = [leaf for leaf in tree.leaves if id(leaf) not in divided] + fresh
        return fresh
