"""Means given a group in ball arithmetic: what a proof proves of them, and what its witness attains.

Standard library and python-flint only. Sections refer to docs/theory.md.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from flint import arb, fmpq

from fairbound.verify.duality import Case, RefusedError, exact, gain, least_shares, support


class MeanCase(Case):
    """An objective in exact numbers: values that are added (``factor`` times), subtracted, or do not count.

    What is subtracted are the values of the mirrored losses ``R - l``, less R: the worst law of these is made by the
    same rules (section 2).
    """

    def __init__(self, population: dict[str, Any], question: dict[str, Any], tau: arb, factor: arb) -> None:
        super().__init__(population, question, "label", tau)
        self.objective = question["objective"]
        label, labels = self.objective["label"], range(self.labels)
        if max(self.objective["plus"], self.objective["minus"] or 0) >= self.groups or (label or 0) >= self.labels:
            raise RefusedError("the objective names groups or labels that do not exist")
        if self.objective["plus"] == self.objective["minus"]:
            raise RefusedError("the objective compares a group with itself")
        self.parts = [list(labels)] if label is None else [[label], [y for y in labels if y != label]]
        self.place = [int(label not in (None, y)) for y in labels]
        about, mirrored = _mirrored(population, self.objective["minus"])
        for cell in self.upper:
            sign = self.sign(*cell)
            if sign > 0:
                self.upper[cell] = [(p, factor * value) for p, value in self.upper[cell]]
                self.lower[cell] = [(p, factor * value) for p, value in self.lower[cell]]
                self.ceiling[cell] = factor * self.ceiling[cell]
            elif sign < 0:
                upper, lower, ceiling = self.law(mirrored, question, *cell)
                lower = lower if population["knowledge"]["kind"] == "losses" else lower[::-1]
                self.upper[cell] = [(p, value - about) for p, value in upper]
                self.lower[cell] = [(p, value - about) for p, value in lower]  # in the order of the losses themselves
                self.ceiling[cell] = ceiling - about
            else:
                self.upper[cell] = [(p, arb(0)) for p, _ in self.upper[cell]]
                self.lower[cell] = [(p, arb(0)) for p, _ in self.lower[cell]]
                self.ceiling[cell] = arb(0)

    def sign(self, s: int, y: int) -> int:
        """Return 1 where values are added, -1 where they are subtracted, 0 where they do not count."""
        label = self.objective["label"]
        if label is not None and (y == label) != self.objective["inside"]:
            return 0
        return (s == self.objective["plus"]) - (s == self.objective["minus"])

    def counted(self, masses: dict[tuple[int, int], arb]) -> dict[tuple[int, int], arb]:
        """Values count by the label's share within its part of the group, whatever the share of the group."""
        totals: dict[tuple[int, int], arb] = {}
        for (s, y), mass in masses.items():
            totals[s, self.place[y]] = totals.get((s, self.place[y]), arb(0)) + mass
        found = dict.fromkeys(masses, arb(0))
        for (s, y), mass in masses.items():
            if self.sign(s, y) == 0:
                continue
            total = totals[s, self.place[y]]
            if not total > 0:
                raise RefusedError("the witness has no mass where the means are taken")
            found[s, y] = mass / total
        return found


def _mirrored(population: dict[str, Any], group: int | None) -> tuple[arb, dict[str, Any]]:
    """Return R, and the statistics with the losses R - l of one group."""
    known, top = population["knowledge"], population["ceiling"]
    if known["kind"] == "losses":
        edges = (b[1] for row in known["cells"] for cell in row for b in cell)
        about = arb(top) if top is not None else arb(max(edges, default=0))
        cells = list(known["cells"])
        if group is not None:
            cells[group] = [
                [[about - arb(high), about - arb(low), w, 1 - arb(part)] for low, high, w, part in cell]
                for cell in cells[group]
            ]
        return about, {**population, "knowledge": {**known, "cells": cells}}
    about, mean = arb(top), list(known["mean"])
    if group is not None:
        mean[group] = [about - arb(value) for value in mean[group]]
    return about, {**population, "knowledge": {**known, "mean": mean}}


def conditional_bounds(case: MeanCase, proof: dict[str, Any]) -> list[arb]:
    """Evaluate the bounds of docs/metrics.md, one for each piece; pieces must cover all shares of the first part."""
    if proof["kind"] != "conditional":
        raise RefusedError(f"a proof of the kind {proof['kind']} is not one for means in Hellinger balls")
    pieces, cuts, mu = proof["theta"], proof["cuts"], proof["group_mu"]
    ends = len(case.parts)
    if any(len(piece) != ends for piece in [*pieces, *mu]):
        raise RefusedError(f"each piece must have {ends} set{'s' if ends > 1 else ''} of multipliers")
    if ends == 1:
        if len(pieces) != 1 or cuts:
            raise RefusedError("means given the group alone need one piece, and no cuts")
        return [_piece(case, pieces[0], mu[0], proof["label_mu"][0], [], None)]
    if len(cuts) != len(pieces) + 1 or any(not a < b for a, b in pairwise(cuts)):
        raise RefusedError("the cuts must increase, one more of them than there are pieces")
    least = least_shares(case)
    label = case.parts[0][0]
    if not exact(cuts[0]) <= least[label] or not exact(cuts[-1]) >= 1 - (sum(least, fmpq(0)) - least[label]):
        raise RefusedError("the pieces leave out shares of labels that are possible")
    limits = zip(proof["label_mu"], proof["omega"], strict=True)
    return [
        _piece(case, theta, mu[n], *limit, cuts[n : n + 2])
        for n, (theta, limit) in enumerate(zip(pieces, limits, strict=True))
    ]


def pulls_of(case: MeanCase, theta: list[list[float]]) -> list[list[arb]] | None:
    """Return for each part and group the sum of ``p / (theta - v)``; None if one is infinite."""
    pull = [[arb(0)] * case.groups for _ in case.parts]
    finite = True
    for (s, y), atoms in case.upper.items():
        at = arb(theta[s][y])
        if not at >= case.ceiling[s, y]:
            raise RefusedError(f"a multiplier of cell ({s}, {y}) falls below its ceiling: not feasible")
        place = case.place[y]
        for probability, value in atoms:
            if probability.is_zero():
                continue
            if at - value > 0:
                pull[place][s] += probability / (at - value)
            else:
                finite = False
    return pull if finite else None


def _piece(
    case: MeanCase,
    pieces: list[list[list[float]]],
    group_mu: list[list[float]],
    label_mu: list[float],
    omega: list[float],
    ends: list[float] | None,
) -> arb:
    """Evaluate one bound; the multipliers move linearly between the ends."""
    pulls = [pulls_of(case, theta) for theta in pieces]
    if not pulls:
        raise RefusedError("a piece has no multipliers")
    level = _level(case, pieces[0], label_mu, omega, None if ends is None else ends[0])
    for theta, end in zip(pieces[1:], (ends or [])[1:], strict=True):
        level = level.max(_level(case, theta, label_mu, omega, end))
    first, last = pulls[0], pulls[-1]
    if first is None or last is None:
        return level  # the ball gains nothing
    if ends is None:
        return gain(case, level, support(first[0], case.group_skew, case.group_limits, group_mu[0]))
    t = [arb(ends[0]), arb(ends[1])]
    most: arb | None = None
    for j, pull in enumerate((first, last)):
        mixed = []
        for s in range(case.groups):
            more = (last[1][s] - first[1][s]) - (last[0][s] - first[0][s])
            bent = (t[1] - t[0]) / 4 * more.max(arb(0))
            mixed.append(t[j] * pull[0][s] + (1 - t[j]) * pull[1][s] + bent)
        total = support(mixed, case.group_skew, case.group_limits, group_mu[j])
        most = total if most is None else most.max(total)
    return gain(case, level, most)


def _level(
    case: MeanCase, theta: list[list[float]], label_mu: list[float], omega: list[float], share: float | None
) -> arb:
    """Return the level at one end, where the first part has this share of the labels (None: there is one part)."""
    summed = [sum((arb(row[y]) for row in theta), arb(0)) for y in range(case.labels)]
    if share is None:
        return support(summed, case.label_skew, case.label_limits, label_mu)
    level = support([arb(v) for v in omega], case.label_skew, case.label_limits, label_mu)
    for part, much in zip(case.parts, (arb(share), 1 - arb(share)), strict=True):
        level += support([summed[y] - much * arb(omega[y]) for y in part], None)
    return level
