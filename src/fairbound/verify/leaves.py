"""What the multipliers of a piece prove: one inequality, two forms and one of them for all pairs of groups at once.

It is proved in docs/specification.md:

    value <= sum_i m_i eta_i + lam (radius - offset) + sum_i p_i E_i[ g(u - eta_i) ],   eta_i >= ceiling_i - lam f'(inf)

holds for every Q in the ball with the cell masses m. Multipliers eta that follow the searched shares carry it over a
whole piece of these: everything below is convex in the shares, or a tangent takes its place, so corners suffice.

Standard library and python-flint only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import permutations, product

from flint import arb, fmpq

from fairbound.verify.balls import RefusedError, largest, total
from fairbound.verify.document import Fractional, Leaf, Pairwise, Proof, Shared, Tilted
from fairbound.verify.shares import Corners, pieces, rates_support
from fairbound.verify.statement import Cell, Place, Statement

#: Factor and shift of the values of a cell, at a corner.
Values = Callable[[Place, list[arb]], tuple[arb, arb]]

#: Multipliers of the cells, and how they move with the shares.
Multipliers = tuple[list[list[float]], list[list[float]] | None]

ZERO = arb(0)

#: The conjugate of ``lam f`` is ``g(z) - offset · lam``: the offset, f'(inf) unless it is infinite, and g for lam > 0,
#: to be multiplied by the largest density ratio where one is asked for.
CONJUGATES: dict[str, tuple[int, int | None, Callable[[arb, arb], arb]]] = {
    "hellinger": (1, 0, lambda z, lam: lam * lam / (-4 * z) if z < 0 else arb("inf")),
    "total_variation": (0, 1, lambda z, _: z.max(ZERO)),
    "kl": (1, None, lambda z, lam: lam * (z / lam).exp()),
    "chi_squared": (1, None, lambda z, lam: (z + 2 * lam).max(ZERO) * (z + 2 * lam).max(ZERO) / (4 * lam)),
    "trimming": (0, None, lambda z, _: z.max(ZERO)),
}


def excesses(statement: Statement, proof: Proof, claimed: float) -> list[arb]:
    """Return for each piece by how much what is proved of it exceeds the claim: proved if it is not positive.

    Of ratios the claim is a factor in the statement, and what is bounded is a difference, by zero.
    """
    ratio = statement.objective is not None and statement.objective.ratio
    claim = ZERO if ratio else arb(claimed)
    found = pieces(proof, least_shares(statement, proof.axis))
    return [excess_of(statement, leaf, proof.axis, corners, claim) for leaf, corners in found]


def excess_of(statement: Statement, leaf: Leaf, axis: str, corners: Corners, claim: arb) -> arb:
    """Return the same of one piece, the convex hull of some corners."""
    if statement.every != isinstance(leaf, Pairwise):
        raise RefusedError("leaves of form P are for every two groups, and all others are not")
    if isinstance(leaf, Pairwise):
        excess = largest(_best_of(statement, leaf, axis, corners)) - claim
    elif isinstance(leaf, Tilted):
        excess = _tilted(statement, leaf, axis, corners, claim)
        excess -= claim if statement.objective is None else ZERO
    else:
        _check_hellinger(statement)
        form = _fractional if statement.objective is None else _conditional
        excess = form(statement, leaf, axis, corners) - claim
    if not excess.is_finite():
        raise RefusedError("the multipliers of a piece prove nothing: a term is infinite")
    return excess


def _check_hellinger(statement: Statement) -> None:
    if statement.divergence != "hellinger":
        raise RefusedError("leaves of the forms F and P are for Hellinger balls")


def least_shares(statement: Statement, axis: str) -> list[fmpq]:
    """Return what the searched shares are at least; of a part, what its labels are together."""
    if axis != "part":
        return statement.labels.least if axis == "label" else statement.groups.least
    if statement.objective is None:
        raise RefusedError("pieces of the shares of parts are for means given a group")
    if len(statement.parts) == 1:
        return [fmpq(1)]
    if statement.tolerance == 0:
        return [sum((statement.labels.least[y] for y in part), fmpq(0)) for part in statement.parts]
    return [fmpq(0), statement.tolerance]  # what the first part has in all groups, and at most e more in some


def _dot(first: Sequence[arb], second: Sequence[arb]) -> arb:
    return total(a * b for a, b in zip(first, second, strict=True))


def _balls(values: Sequence[float]) -> list[arb]:
    return [arb(v) for v in values]


def _tilted(statement: Statement, leaf: Tilted, axis: str, corners: Corners, claim: arb) -> arb:
    """Form T: ``eta_i(x) = w_i - <x - x0, tilt>``, with a tilt that keeps the level while the shares x move.

    Searched are the label shares x, those of group s being ``(1 - d) x + d q_s`` with any q_s, where d is 0 for equal
    base rates and 1 for any; or, of equal base rates or any, the group shares.
    """
    by_label = axis == "label"
    if axis == "part" or not (by_label or statement.tolerance in {0, 1}):
        raise RefusedError("leaves of form T search the shares of labels or, unless there is a tolerance, of groups")
    searched, other = statement.labels, statement.groups
    tables = [_balls(row) for row in leaf.w]  # by the other side
    searched_mu, other_mu = leaf.label_mu, leaf.group_mu
    mixed = ZERO
    if by_label:
        mixed = arb(min(fmpq(1), statement.tolerance * (searched.size - 1)))
    else:
        searched, other, searched_mu, other_mu = other, searched, other_mu, searched_mu
        tables = [list(column) for column in zip(*tables, strict=True)]
    centre, gamma, omega, lam = _balls(leaf.centre), _balls(leaf.gamma), _balls(leaf.omega), arb(leaf.lam)
    alone = not by_label and statement.tolerance == 1  # each group's worst label counts, whatever the others'
    worst = [[largest(column) for column in zip(*tables, strict=True)]] * len(tables) if alone else tables
    tilts = [[(1 - mixed) * v - g for v, g in zip(row, gamma, strict=True)] for row in worst]
    level = [(1 - mixed) * _dot(centre, row) + mixed * largest(row) for row in worst]
    values = _values(statement, leaf.relaxed, by_label, claim)
    offset, slope, conjugate = CONJUGATES[statement.divergence]
    most: list[arb] = []
    for corner in corners:
        away = [x - c for x, c in zip(corner, centre, strict=True)]
        tilt = [_dot(away, row) for row in tilts]
        here = total((g - o) * x for g, o, x in zip(gamma, omega, corner, strict=True))
        for place, cell in statement.cells.items():
            line, at = place if by_label else place[::-1]
            eta = tables[line][at] - tilt[line]
            factor, shift = values(place, corner)
            if slope is not None and not eta + slope * lam >= factor * cell.ceiling + shift:
                raise RefusedError(f"a multiplier of cell {place} falls below its ceiling: not feasible")
            here += statement.most_ratio * _expected(cell, factor, shift - eta, lam, conjugate)
        most.append(here)
    bound = other.support(level, other_mu) - _dot(gamma, centre) + lam * (statement.radius - offset) + largest(most)
    return bound + searched.support(omega, searched_mu) if any(leaf.omega) else bound


def _expected(cell: Cell, factor: arb, shift: arb, lam: arb, conjugate: Callable[[arb, arb], arb]) -> arb:
    """Return ``p E[g(factor · value + shift)]``; with lam = 0 it is nothing, if no value is above its multiplier."""
    if lam.is_zero():
        if any(not factor * value + shift <= 0 for _, value in cell.upper):
            raise RefusedError("the multipliers are not feasible: with lam = 0 they must be at least the values")
        return ZERO
    return total(mass * conjugate(factor * value + shift, lam) for mass, value in cell.upper)


def _values(statement: Statement, relaxed: str, by_label: bool, claim: arb) -> Values:
    """Return the values whose expectation is the loss, or is not positive if means are at most what is claimed.

    ``relaxed`` means are replaced by the largest that they can be, label by label where base rates are equal.
    """
    about = statement.objective
    if about is None:
        if relaxed != "none":
            raise RefusedError("the loss of all cannot be relaxed")
        return lambda *_: (arb(1), ZERO)
    signs = {place: statement.sign(*place) for place in statement.cells}
    present = [sign for sign, group in ((1, about.plus), (-1, about.minus)) if group is not None]
    means = [sign for sign in present if relaxed not in {"both", {1: "plus", -1: "minus"}[sign]}]
    replaced = statement.relaxed({1, -1} - set(means))
    if not means:
        sums = {y: most - claim for y, most in replaced.items()}
        if about.label is not None:
            sums = dict.fromkeys(range(statement.labels.size), largest(sums.values()))
        return lambda place, _: (ZERO, sums[place[1]])
    if len(means) < len(present):  # one of two
        (sign,) = means
        return lambda place, _: (arb(1), replaced[place[1]] - claim) if signs[place] == sign else (ZERO, ZERO)
    if len(present) == 1:
        return lambda place, _: (arb(1), -claim) if signs[place] else (ZERO, ZERO)
    if by_label or (about.label is not None and statement.tolerance != 0):
        raise RefusedError("means are compared inside their cells by pieces of the group shares, and equal base rates")
    others = {1: about.minus or 0, -1: about.plus or 0}

    def weighed(place: Place, shares: list[arb]) -> tuple[arb, arb]:
        """Multiply by the share of the other group: ``k_a k_b (mean_a - mean_b - claim)``."""
        sign = signs[place]
        if not sign:
            return ZERO, ZERO
        share = shares[others[sign]]
        return share, -claim * share if sign > 0 else ZERO

    return weighed


def _most(start: arb, c: arb, d: arb, x: arb, centre: arb) -> arb:
    """Bound ``(start + x) / (c + d x)`` by a function convex in x: itself, or its tangent where it is concave."""
    turn = c - start * d
    below = c + d * x
    if d * turn <= 0 and below > 0:  # convex on the side of its pole where the terms of multipliers lie
        return (start + x) / below
    at = c + d * centre
    if not at > 0:
        raise RefusedError("the multipliers are not feasible: a tangent is taken where an atom's term is infinite")
    tangent = (start + centre) / at + turn / (at * at) * (x - centre)
    if d * turn >= 0:
        return tangent
    if not below > 0:
        raise RefusedError("the multipliers are not feasible: an atom's term is infinite")
    return tangent.max((start + x) / below)  # which of the two it is cannot be told: the larger one


def _positive(centre: Sequence[float]) -> list[arb]:
    if any(not v > 0 for v in centre):
        raise RefusedError("the multipliers are not feasible: the tangents' shares must be positive")
    return _balls(centre)


def _fractional(statement: Statement, leaf: Fractional, axis: str, corners: Corners) -> arb:
    """Form F, loss of all: ``eta_i(x) = zeta_i / x_i + base + offset``, x_i the searched share that the cell is in."""
    by_group, equal = axis == "group", statement.tolerance == 0
    if axis == "part" or leaf.base is None or leaf.offset is None or leaf.slope is not None:
        raise RefusedError("the loss of all takes leaves with base and offset, of shares of groups or labels")
    if not equal and not (by_group and not any(leaf.offset)):
        raise RefusedError("where base rates may differ the group shares are searched, and offsets are 0")
    centre, omega, lam = _positive(leaf.centre), _balls(leaf.omega), arb(leaf.lam)
    zeta, base, offset = [_balls(row) for row in leaf.zeta], _balls(leaf.base), _balls(leaf.offset)
    searched, searched_mu = (statement.groups, leaf.group_mu) if by_group else (statement.labels, leaf.label_mu)
    other, other_mu = (statement.labels, leaf.label_mu) if by_group else (statement.groups, leaf.group_mu)
    if equal:
        lines = [list(column) for column in zip(*zeta, strict=True)] if by_group else zeta
        level = other.support([total(line) + more for line, more in zip(lines, offset, strict=True)], other_mu)
    else:
        level = rates_support(zeta, _balls(leaf.nu or []), statement.tolerance)
    known: dict[tuple[int, arb, arb], arb] = {}

    def pull(index: int, x: arb) -> arb:
        """Add up a line of cells: at few places, for corners have many shares in common."""
        key = index, x.mid(), x.rad()
        if key not in known:
            found = ZERO
            for line in range(other.size):
                s, y = (index, line) if by_group else (line, index)
                cell, height = statement.cells[s, y], base[index] + offset[line]
                if not zeta[s][y] + x * (height - cell.ceiling) >= 0:
                    raise RefusedError(f"a multiplier of cell {(s, y)} falls below its ceiling: not feasible")
                terms = (p * _most(ZERO, zeta[s][y], height - v, x, centre[index]) for p, v in cell.upper)
                found += ZERO if lam.is_zero() else total(terms)
            known[key] = found
        return known[key]

    most = largest(
        lam * lam / 4 * total(pull(index, x) for index, x in enumerate(corner))
        + total((b - o) * x for b, o, x in zip(base, omega, corner, strict=True))
        for corner in corners
    )
    bound = level + most - lam * statement.affinity
    return bound + searched.support(omega, searched_mu) if any(leaf.omega) else bound


def _conditional(statement: Statement, leaf: Fractional, axis: str, corners: Corners) -> arb:
    """Form F, means: ``eta_i(x) = (zeta_i + x_i slope_i) / (k_s x_i)``, x_i the share of the part the label is in.

    The groups' shares k then count linearly. Where base rates may differ the first part has a share between x_1 and
    ``x_1 + e`` in every group.
    """
    if axis != "part" or leaf.base is not None or leaf.offset is not None:
        raise RefusedError("means given a group take leaves without base and offset, of shares of parts")
    omega, lam, centre = _checked_omega(statement, leaf), arb(leaf.lam), _positive(leaf.centre)
    most: list[arb] = []
    for x in corners:
        theta, pull = _pulled(statement, statement.cells, (leaf.zeta, leaf.slope), x, centre, lam)
        shares = [x[part] for part in statement.part]
        if statement.tolerance == 0:
            summed = [total(column) for column in zip(*theta, strict=True)]
            level = _most_of_parts(statement, [v - x * o for v, x, o in zip(summed, shares, omega, strict=True)])
        elif len(statement.parts) == 1:
            level = rates_support(theta, _balls(leaf.nu or []), statement.tolerance)
        else:
            level = total(_most_of_parts(statement, row) for row in theta)
        most.append(level + lam * lam / 4 * statement.groups.support(pull, leaf.group_mu))
    return largest(most) + _rest(statement, leaf, omega, lam)


def _checked_omega(statement: Statement, leaf: Fractional | Shared) -> list[arb]:
    if statement.tolerance != 0 and any(leaf.omega):
        raise RefusedError("where base rates may differ labels have no shares of their own: omega must be 0")
    return _balls(leaf.omega)


def _rest(statement: Statement, leaf: Fractional | Shared, omega: list[arb], lam: arb) -> arb:
    """Return what belongs to the bound of means whatever the shares of parts are."""
    limits = statement.labels.support(omega, leaf.label_mu) if any(leaf.omega) else ZERO
    return limits - lam * statement.affinity


def _most_of_parts(statement: Statement, values: Sequence[arb]) -> arb:
    """Add up the largest values of the labels of each part."""
    return total(largest(values[y] for y in part) for part in statement.parts)


def _pulled(
    statement: Statement, cells: dict[Place, Cell], given: Multipliers, x: list[arb], centre: list[arb], lam: arb
) -> tuple[list[list[arb]], list[arb]]:
    """Return ``theta = zeta + x slope`` at a corner, and what the terms of each group add up to at most."""
    groups, labels = range(statement.groups.size), range(statement.labels.size)
    zeta = [_balls(row) for row in given[0]]
    slope = [[ZERO] * len(row) for row in zeta] if given[1] is None else [_balls(row) for row in given[1]]
    share = [x[part] for part in statement.part]
    theta = [[zeta[s][y] + share[y] * slope[s][y] for y in labels] for s in groups]
    apart = statement.tolerance != 0 and len(statement.parts) > 1
    more = [ZERO, arb(statement.tolerance)] if apart else [ZERO]
    pulls = [[ZERO for _ in more] for _ in groups]
    for s, y in product(groups, labels):
        cell, mid = cells[s, y], centre[statement.part[y]]
        if not theta[s][y] >= cell.ceiling:
            raise RefusedError(f"a multiplier of cell {(s, y)} falls below its ceiling: not feasible")
        for n, extra in enumerate(more):
            start = -extra if statement.part[y] else extra
            terms = (p * _most(start, zeta[s][y] - v, slope[s][y], share[y], mid) for p, v in cell.upper)
            pulls[s][n] += ZERO if lam.is_zero() else total(terms)
    return theta, [largest(row) for row in pulls]


def _best_of(statement: Statement, leaf: Pairwise, axis: str, corners: Corners) -> list[arb]:
    """Form P: return for every two groups the least that a set of multipliers proves of them."""
    _check_hellinger(statement)
    if axis != "part" or not leaf.sets:
        raise RefusedError("every two groups take sets of multipliers, of shares of parts")
    found = [bounds_of_pairs(statement, one, corners) for one in leaf.sets]
    return [reduce(arb.min, bounds) for bounds in zip(*found, strict=True)]


def bounds_of_pairs(statement: Statement, one: Shared, corners: Corners) -> list[arb]:
    """Return what a set proves of each two groups, the first one added: form F with the multipliers of their roles.

    A group pulls at most what it does in any role. So all pairs have that in common, and what they add up to is that
    of groups that do not count, but for what the two have more.
    """
    omega, lam, centre = _checked_omega(statement, one), arb(one.lam), _positive(one.centre)
    rest = _rest(statement, one, omega, lam)
    given = (one.zeta, one.slope), (one.plus, one.plus_slope), (one.minus, one.minus_slope)
    most: list[arb] = []
    for x in corners:
        found = [_pulled(statement, *role, x, centre, lam) for role in zip(statement.roles, given, strict=True)]
        pull = [largest(pulls) for pulls in zip(*(pulls for _, pulls in found), strict=True)]
        same = rest + lam * lam / 4 * statement.groups.support(pull, one.group_mu)
        levels = _levels(statement, [theta for theta, _ in found], one, omega, x)
        here = [level + same for level in levels]
        most = [a.max(b) for a, b in zip(most, here, strict=True)] if most else here
    return most


def _levels(
    statement: Statement, roles: list[list[list[arb]]], one: Shared, omega: list[arb], x: list[arb]
) -> list[arb]:
    """Return the level of form F for each two groups."""
    pairs = list(permutations(range(statement.groups.size), 2))
    neither, plus, minus = roles
    if statement.tolerance == 0:
        summed = [total(column) for column in zip(*neither, strict=True)]
        start = [v - x[part] * o for v, part, o in zip(summed, statement.part, omega, strict=True)]
        added = [[a + v - n for a, v, n in zip(start, *rows, strict=True)] for rows in zip(plus, neither, strict=True)]
        taken = [[v - n for v, n in zip(*rows, strict=True)] for rows in zip(minus, neither, strict=True)]
        return [_most_of_parts(statement, [v + w for v, w in zip(added[a], taken[b], strict=True)]) for a, b in pairs]
    apart = _together([[_most_of_parts(statement, row) for row in role] for role in roles], pairs)
    if not one.nu or len(statement.parts) > 1:
        return apart
    nu = _balls(one.nu)
    over = [[[v - n for v in row] for row, n in zip(role, nu, strict=True)] for role in roles]
    columns = [_together([[row[y] for row in role] for role in over], pairs) for y in range(statement.labels.size)]
    beyond = _together([[total(v.max(ZERO) for v in row) for row in role] for role in over], pairs)
    joint = (
        total(nu) + largest([ZERO, *sums]) + arb(statement.tolerance) * more
        for *sums, more in zip(*columns, beyond, strict=True)
    )
    return [a.min(b) for a, b in zip(apart, joint, strict=True)]


def _together(roles: list[list[arb]], pairs: list[tuple[int, int]]) -> list[arb]:
    """Add up numbers of the groups, for each two that are added and subtracted."""
    neither, plus, minus = roles
    whole = total(neither)
    added = [whole + v - n for v, n in zip(plus, neither, strict=True)]
    taken = [v - n for v, n in zip(minus, neither, strict=True)]
    return [added[a] + taken[b] for a, b in pairs]
