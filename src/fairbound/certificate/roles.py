"""Multipliers for all pairs of groups at once, made of those of one pair (docs/specification.md, "Form P").

In the proof about two groups the others only have to keep their pull below what the ball allows. So a group can have
multipliers of its own for each of three roles: it does not count, is added, or is subtracted. They are those of the
pair's group in that role, moved until the pull is what the pair's proof allows. What is proved of a pair is then a sum
of two numbers for each label, and the multipliers of one pair prove something of every other one: often enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from flint import arb

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.solve.shares import MarginalSet
from fairbound.verify import document
from fairbound.verify.statement import Statement

#: How often an interval is cut that holds a number which is sought, and in what ratio where a function is least.
HALVINGS, GOLDEN = 54, 0.618

#: Pieces are cut in halves so often at most, unless they are narrower than this.
CUTS, WIDE = 5, 0.01

#: A share that is searched is taken to be at least this part of the largest one of its piece.
SMALL = 0.1

#: By how much a pull may exceed what is allowed, relative; how often the limit of a search for less is doubled twice,
#: and how often what is left is halved.
EXCESS, DOUBLINGS, RAISES = 1e-9, 20, 24

#: By how much multipliers are raised, relative to their size, so that rounding leaves none below its ceiling; and how
#: close two cuts are that are taken for one.
HAIR, CLOSE = 1e-13, 1e-15


@dataclass(frozen=True)
class Laws:
    """The cells of a statement about every two groups, as the checker sees them, in floats.

    ``mass`` and ``value`` (3, S, C, J) and ``ceiling`` (3, S, C) are for groups that do not count, are added, and are
    subtracted; ``part`` (C,) says which part the labels are in.
    """

    mass: Floats
    value: Floats
    ceiling: Floats
    part: Integers
    tolerance: float
    affinity: float
    groups: MarginalSet
    labels: MarginalSet

    @classmethod
    def of(cls, statement: Statement, groups: MarginalSet, labels: MarginalSet) -> Laws:
        """Return those of a statement."""
        shape = 3, statement.groups.size, statement.labels.size
        width = max(1, *(len(cell.upper) for role in statement.roles for cell in role.values()))
        mass, value, ceiling = np.zeros((*shape, width)), np.zeros((*shape, width)), np.zeros(shape)
        for number, role in enumerate(statement.roles):
            for place, cell in role.items():
                ceiling[(number, *place)] = _above(cell.ceiling)
                for at, (p, v) in enumerate(cell.upper):
                    mass[(number, *place, at)], value[(number, *place, at)] = float(p.mid()), float(v.mid())
        part, e, least = np.array(statement.part), statement.tolerance, -float(statement.room.mid())
        return cls(mass, value, ceiling, part, float(e.p) / float(e.q), least, groups, labels)

    @property
    def parts(self) -> list[Booleans]:
        """Which labels are in each part."""
        return [self.part == number for number in range(int(self.part.max()) + 1)]

    @property
    def counted(self) -> Booleans:
        """The labels that means are taken over: one of the parts."""
        own = (self.value != self.value[:1]).any(axis=(0, 1, 3)) | (self.ceiling != self.ceiling[:1]).any(axis=(0, 1))
        return next((here for here in self.parts if own[here].any()), self.parts[0])


def _above(ball: arb) -> float:
    return float(ball.upper())


@dataclass(frozen=True)
class Roles:
    """A set of multipliers on each of L pieces of the shares of parts: ``ends`` (L, m, parts) are their corners.

    ``zeta`` and ``slope`` (L, 3, S, C) are by role.
    """

    ends: Floats
    zeta: Floats
    slope: Floats
    centre: Floats
    omega: Floats
    lam: Floats
    nu: Floats
    group_mu: Floats
    label_mu: Floats

    @classmethod
    def of_pair(cls, laws: Laws, proof: document.Proof, pair: tuple[int, int], claim: float) -> list[Roles]:
        """Return sets that the proof of a claim about one pair gives to all; none if it is of another form."""
        leaves = [leaf for leaf in proof.leaves if isinstance(leaf, document.Fractional)]
        if proof.axis != "part" or len(leaves) < len(proof.leaves):
            return []
        zeta = np.array([leaf.zeta for leaf in leaves])
        slope = np.array([leaf.slope or np.zeros(zeta.shape[1:]) for leaf in leaves])
        ends = np.array(_corners(proof))
        own = cls(
            ends,
            np.repeat(zeta[:, None], 3, axis=1),
            np.repeat(slope[:, None], 3, axis=1),
            np.array([leaf.centre for leaf in leaves]),
            np.array([leaf.omega for leaf in leaves]),
            np.array([leaf.lam for leaf in leaves]),
            np.array([leaf.nu or [] for leaf in leaves]).reshape(len(leaves), -1),
            np.array([leaf.group_mu for leaf in leaves]).reshape(len(leaves), -1),
            np.array([leaf.label_mu for leaf in leaves]).reshape(len(leaves), -1),
        )
        found = own._spread(laws, *pair)
        for _ in range(CUTS if ends.shape[1] > 1 else 0):
            # What is enough for the pair on a wide piece need not be for others: tangents are better on narrow ones.
            worst = np.min([one.bounds(laws) for one in found], axis=0).max(axis=(1, 2))
            wide = np.abs(np.diff(own.ends[..., 0], axis=1))[:, 0] > WIDE
            wrong = wide & (worst > claim)
            if not wrong.any():
                break
            own = own._halved(wrong)
            found = own._spread(laws, *pair)
        return found

    def _halved(self, chosen: Booleans) -> Roles:
        """Cut some pieces in the middle, with tangents in the middle of both halves."""
        kept = [field for field in fields(self) if field.name not in {"ends", "centre"}]
        rest = {f.name: np.concatenate([getattr(self, f.name)[at] for at in (~chosen, chosen, chosen)]) for f in kept}
        middle = self.ends.mean(axis=1)
        halves = (np.stack([self.ends[:, 0], middle], axis=1), np.stack([middle, self.ends[:, 1]], axis=1))
        ends = [self.ends[~chosen], *(half[chosen] for half in halves)]
        centre = [self.centre[~chosen], *(half[chosen].mean(axis=1) for half in halves)]
        return replace(self, **rest, ends=np.concatenate(ends), centre=np.concatenate(centre))

    def _spread(self, laws: Laws, a: int, b: int) -> list[Roles]:
        """Give every group multipliers in every role; those of a added, b subtracted and all others stay."""
        theta = self._theta(laws)[:, :, 0]  # (L, m, S, C), alike for all roles
        x = np.maximum(self.ends, SMALL * self.ends.max(axis=1, keepdims=True))[..., laws.part]  # (L, m, C)
        pull = self._pull(laws)
        groups = np.arange(theta.shape[2])
        role = np.where(groups == a, 1, np.where(groups == b, 2, 0))
        cap = pull[:, :, role, groups]
        if not laws.groups.limited:
            cap = np.repeat(cap.max(axis=2, keepdims=True), len(groups), axis=2)
        cap = np.where(self.lam[:, None, None] > 0, cap, np.inf)
        free = _released(laws, theta, x, cap, (a, b))
        roles = [free]
        for number, group in ((1, a), (2, b)):
            role_theta = _moved(laws, number, free, theta[:, :, group] - free[:, :, group], x, cap)
            role_theta[:, :, group] = theta[:, :, group]
            roles.append(role_theta)
        found = np.maximum(np.stack(roles, axis=2), laws.ceiling)
        moved = replace(self, **self._lines(laws, found))._raised(laws, cap)
        return [moved] if found.shape[1] == 1 else [moved, moved._lifted(laws)._raised(laws, cap)]

    def _lifted(self, laws: Laws) -> Roles:
        """Give all groups in all roles the multipliers of those that do not count, at least the ceilings.

        On wide pieces, where it is to be shown that no distribution has such shares, that is enough.
        """
        zeta, slope = (np.repeat(part[:, :1], 3, axis=1) for part in (self.zeta, self.slope))
        free = replace(self, zeta=zeta, slope=slope)
        short = (laws.ceiling - free._theta(laws)).max(axis=1)
        hair = HAIR * (np.abs(zeta) + np.abs(slope))
        return replace(free, zeta=zeta + np.maximum(short, 0.0) + hair)

    def _raised(self, laws: Laws, cap: Floats) -> Roles:
        """Raise multipliers whose pull is too much: between the corners of wide pieces tangents count."""
        cap = cap[:, :, None] * (1.0 + EXCESS)
        if (self._pull(laws) <= cap).all():
            return self
        low, high = np.zeros((len(self.lam), 3, cap.shape[3])), np.abs(self._theta(laws)).max(axis=(1, 4))
        counted = laws.counted
        for _ in range(DOUBLINGS):
            over = (replace(self, zeta=self.zeta + high[..., None] * counted)._pull(laws) > cap).any(axis=1)
            if not over.any():
                break
            high = np.where(over, 4.0 * high, high)
        for _ in range(RAISES):
            middle = 0.5 * (low + high)
            enough = (replace(self, zeta=self.zeta + middle[..., None] * counted)._pull(laws) <= cap).all(axis=1)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        most = (self._pull(laws) <= cap).all(axis=1)
        return replace(self, zeta=self.zeta + np.where(most, 0.0, high)[..., None] * counted)

    def _lines(self, laws: Laws, theta: Floats) -> dict[str, Floats]:
        """Return zeta and slope from multipliers at the corners (L, m, 3, S, C), or a hair more."""
        hair = HAIR * (np.abs(theta).max(axis=1) + np.abs(self.slope))
        if theta.shape[1] == 1:
            return {"zeta": theta[:, 0] + hair, "slope": np.zeros_like(self.slope)}
        x = self.ends[..., laws.part][:, :, None, None]
        wide = x[:, 0] != x[:, 1]
        slope = np.where(wide, (theta[:, 0] - theta[:, 1]) / np.where(wide, x[:, 0] - x[:, 1], 1.0), 0.0)
        return {"zeta": theta[:, 0] - x[:, 0] * slope + hair + HAIR * np.abs(slope), "slope": slope}

    def _theta(self, laws: Laws) -> Floats:
        x = self.ends[..., laws.part][:, :, None, None]
        return self.zeta[:, None] + x * self.slope[:, None]

    def _pull(self, laws: Laws) -> Floats:
        """Return what the terms of each group add up to at most, (L, m, 3, S)."""
        x, mid = (part[..., laws.part][:, :, None, None, :, None] for part in (self.ends, self.centre[:, None]))
        c, d = self.zeta[:, None, ..., None] - laws.value, self.slope[:, None, ..., None]
        worst: Floats | None = None
        apart = laws.tolerance > 0 and len(laws.parts) > 1
        for extra in (0.0, laws.tolerance) if apart else (0.0,):
            start = np.where(laws.part == 0, extra, -extra)[:, None]
            turn, at, below = c - start * d, c + d * mid, c + d * x
            with np.errstate(all="ignore"):
                plain = np.where(below > 0, (start + x) / below, np.inf)
                tangent = np.where(at > 0, (start + mid) / at + turn / at**2 * (x - mid), np.inf)
                term = np.where(d * turn <= 0, plain, tangent)
                term = np.where(laws.mass > 0, laws.mass * term, 0.0).sum(axis=(4, 5))
            worst = term if worst is None else np.maximum(worst, term)
        return np.zeros(0) if worst is None else worst

    def bounds(self, laws: Laws) -> Floats:
        """Return about what is proved of all pairs on each piece, (L, S, S): the first group is added."""
        pull, theta = self._pull(laws).max(axis=2), self._theta(laws)
        lam = self.lam[:, None]
        times = np.repeat(self.group_mu[:, None], pull.shape[1], axis=1)
        whole = np.isfinite(pull).all(axis=2)
        same = laws.groups.support(np.where(whole[..., None], pull, 0.0), times)
        same = np.where(lam > 0, np.where(whole, lam * lam / 4 * same, np.inf), 0.0) - lam * laws.affinity
        if self.omega.any():
            same = same + laws.labels.support(self.omega, self.label_mu)[:, None]
        bound = (self._levels(laws, theta) + same[..., None, None]).max(axis=1)
        every = np.arange(bound.shape[1])
        bound[:, every, every] = -np.inf
        return bound

    def _levels(self, laws: Laws, theta: Floats) -> Floats:
        """Return the levels of all pairs at the corners, (L, m, S, S)."""
        if laws.tolerance == 0:
            neither, plus, minus = np.moveaxis(theta, 2, 0)
            start = neither.sum(axis=2) - self.ends[..., laws.part] * self.omega[:, None]
            added, taken = start[..., None, :] + plus - neither, minus - neither
            levels = [(added[..., :, None, here] + taken[..., None, :, here]).max(axis=-1) for here in laws.parts]
            return np.sum(levels, axis=0)
        apart = _together(np.sum([theta[..., here].max(axis=-1) for here in laws.parts], axis=0))
        if not self.nu.size or len(laws.parts) > 1:
            return apart
        over = theta - self.nu[:, None, None, :, None]
        most = np.max([_together(over[..., y]) for y in range(len(laws.part))], axis=0)
        joint = np.maximum(most, 0.0) + laws.tolerance * _together(np.maximum(over, 0.0).sum(axis=-1))
        return np.minimum(apart, joint + self.nu.sum(axis=1)[:, None, None, None])

    def places(self, cuts: Floats) -> Integers:
        """Return in which of its pieces those between ``cuts`` of the first share lie."""
        middle = 0.5 * (cuts[:-1] + cuts[1:])
        least, most = self.ends[:, :, 0].min(axis=1), self.ends[:, :, 0].max(axis=1)
        return np.array([int(np.argmax((least <= x) & (x <= most))) for x in middle])

    def on(self, cuts: Floats) -> Roles:
        """Return the same on finer pieces."""
        place = self.places(cuts)
        taken = {field.name: getattr(self, field.name)[place] for field in fields(self)}
        first = np.stack([cuts[1:], cuts[:-1]], axis=1)
        return replace(self, **taken | {"ends": np.stack([first, 1.0 - first], axis=2)})

    def written(self, piece: int) -> document.Shared:
        """Return the multipliers on a piece as documents have them."""
        neither, plus, minus = self.zeta[piece].tolist()
        slopes = [one.tolist() if one.any() else None for one in self.slope[piece]]
        return document.Shared(
            zeta=neither,
            plus=plus,
            minus=minus,
            slope=slopes[0],
            plus_slope=slopes[1],
            minus_slope=slopes[2],
            centre=self.centre[piece].tolist(),
            omega=self.omega[piece].tolist(),
            lam=float(self.lam[piece]),
            nu=self.nu[piece].tolist() or None,
            group_mu=self.group_mu[piece].tolist(),
            label_mu=self.label_mu[piece].tolist(),
        )


def _together(values: Floats) -> Floats:
    """Add up numbers of the groups (..., 3, S), for each two that are added and subtracted."""
    neither, plus, minus = np.moveaxis(values, -2, 0)
    added, taken = neither.sum(axis=-1, keepdims=True) + plus - neither, minus - neither
    return added[..., :, None] + taken[..., None, :]


def _released(laws: Laws, theta: Floats, x: Floats, cap: Floats, pair: tuple[int, int]) -> Floats:
    """Return multipliers of groups that do not count: those of the pair become like those of another group."""
    free, mass = theta.copy(), laws.mass[0].sum(axis=-1)
    other = max((s for s in range(len(mass)) if s not in pair), key=lambda s: float(mass[s].min()))
    for s in pair:
        with np.errstate(all="ignore"):
            like = np.sqrt(mass[s] / mass[other]) if laws.tolerance == 0 else 1.0
            shape = theta[:, :, other] * np.where(np.isfinite(like), like, 1.0)
            pull = np.where(mass[s] > 0, mass[s] * _versions(laws, x) / shape, 0.0).sum(axis=-1).max(axis=0)
            times = np.where(np.isfinite(cap[:, :, s]), pull / cap[:, :, s], 0.0)
        free[:, :, s] = shape * np.where(np.isfinite(times), times, 1.0)[..., None]
    free = np.maximum(free, 0.0)
    if len(laws.parts) > 1:
        own = list(pair)
        free[:, :, own] = _moved(laws, 0, free, np.zeros_like(free[:, :, 0]), x, cap)[:, :, own]
    return free


def _versions(laws: Laws, x: Floats) -> Floats:
    """Return what the shares of the labels' parts (L, m, C) may be in a group, two extremes of it if they differ."""
    apart = laws.tolerance > 0 and len(laws.parts) > 1
    more = np.where(laws.part == 0, laws.tolerance, -laws.tolerance)
    return np.stack([x, np.maximum(x + more, 0.0)]) if apart else x[None]


def _moved(laws: Laws, role: int, free: Floats, step: Floats, x: Floats, cap: Floats) -> Floats:
    """Return multipliers of all groups in a role: of those that do not count, moved by a step and by what it takes.

    In the part that counts they are moved alike. In the other part they are scaled: where that costs least in all.
    """
    counted, share = laws.counted, _versions(laws, x)
    mass, value, top = laws.mass[role][:, counted], laws.value[role][:, counted], laws.ceiling[role][:, counted]
    base = free[..., counted] + step[:, :, None, counted]
    first = share[..., counted][..., :1]  # (versions, L, m, 1): the parts' shares
    spread = float(np.abs(value).max() + np.abs(top).max()) + np.abs(base).max(axis=-1)
    least = np.where(np.isfinite(cap) & (cap > 0), cap, np.inf)
    high = 2.0 * spread + np.minimum(2.0 * mass.sum(axis=(-1, -2)) / least, 1e9 * spread)

    def pulled(move: Floats) -> Floats:
        """Return what the part that counts pulls, for a share of one."""
        gap = np.maximum(base + move[..., None], top)[..., None] - value
        with np.errstate(all="ignore"):
            term: Floats = np.where(mass > 0, mass / np.maximum(gap, 0.0), 0.0).sum(axis=(-1, -2))
        return term

    def enough(move: Floats) -> Booleans:
        with np.errstate(invalid="ignore"):  # no share of a pull without end: that is too much, to be sure
            return (first * pulled(move)).max(axis=0) <= cap

    low = _least(enough, -2.0 * spread, high)
    found = free.copy()
    if len(laws.parts) > 1:
        far, second = free[..., ~counted], share[..., ~counted][..., :1]
        own = laws.mass[0][:, ~counted].sum(axis=-1)
        with np.errstate(all="ignore"):
            term = np.where(own > 0, own / far, 0.0)
            pull, worth = term.sum(axis=-1), np.where(far > 0, term / far, 0.0).sum(axis=-1)
            price = far.max(axis=-1) if laws.tolerance > 0 else np.where(worth > 0, pull / worth, 0.0)

        def scaled(move: Floats) -> Floats:
            """Return by what the other part has to be scaled then."""
            with np.errstate(all="ignore"):
                room = (cap - first * pulled(move)) / second
                times = np.where(pull > 0, pull / np.maximum(room, 0.0).min(axis=0), 0.0)
            return np.where(np.isnan(times), np.inf, times)

        worth = np.where(price > 0, price, 1e-300)
        low = _cheapest(lambda move: move + worth * scaled(move), low, low + 4.0 * high + 4.0 * price)
        times = scaled(low)
        found[..., ~counted] = far * np.where(np.isfinite(times), times, 1.0)[..., None]
    found[..., counted] = np.maximum(base + low[..., None], top)
    return np.maximum(found, laws.ceiling[role])


def _least(enough: Callable[[Floats], Booleans], low: Floats, high: Floats) -> Floats:
    """Return the least numbers that are enough, a hair more."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = enough(middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _cheapest(cost: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return about where convex functions are least, by the golden section."""
    for _ in range(HALVINGS):
        left, right = low + (1.0 - GOLDEN) * (high - low), low + GOLDEN * (high - low)
        rising = cost(left) <= cost(right)
        low, high = np.where(rising, low, left), np.where(rising, right, high)
    return high


def _corners(proof: document.Proof) -> list[list[list[float]]]:
    """Return the corners of the leaves of a tree of parts: numbers, or intervals of the first part's share."""
    if len(proof.floors) == 1:
        return [[[1.0]]]
    low, high = proof.floors[0], 1.0 - proof.floors[1]
    stack, found = [(high, low)], []
    for split in proof.splits:
        first, second = stack.pop()
        if split is None:
            found.append([[first, 1.0 - first], [second, 1.0 - second]])
            continue
        ends = (first, second)
        middle = ends[int(split[0])] + split[2] * (ends[int(split[1])] - ends[int(split[0])])
        children = [(middle, second), (first, middle)] if split[0] == 0 else [(first, middle), (middle, second)]
        stack += children[::-1]
    return found


def tree(cuts: Floats) -> list[document.Split | None]:
    """Return the tree whose leaves are the intervals between cuts, from the least one on."""
    return _tree(cuts.tolist(), 0, len(cuts) - 1) if len(cuts) else [None]


def _tree(cuts: list[float], low: int, high: int) -> list[document.Split | None]:
    if high - low <= 1:
        return [None]
    middle = (low + high) // 2
    place = (cuts[high] - cuts[middle]) / (cuts[high] - cuts[low])
    return [[0.0, 1.0, place], *_tree(cuts, low, middle), *_tree(cuts, middle, high)]


def cuts_of(found: Sequence[Roles]) -> Floats:
    """Return the ends of the pieces of all sets together; none where nothing is searched."""
    if found[0].ends.shape[2] == 1:
        return np.zeros(0)
    ends = np.unique(np.concatenate([one.ends[:, :, 0].ravel() for one in found]))
    kept = [float(ends[0])]
    for end in ends.tolist():
        if end - kept[-1] > CLOSE:
            kept.append(end)
    kept[-1] = float(ends[-1])
    return np.array(kept if len(kept) > 1 else [])
