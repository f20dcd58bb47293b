"""What the multipliers of a piece prove: one inequality, and rules for how its multipliers follow the shares.

    value <= sum_i m_i eta_i + lam (radius - offset) + sum_i p_i E_i[ g(u - eta_i) ],   eta_i >= ceiling_i - lam f'(inf)

holds for every Q in the ball with the cell masses m. Each form is a rule for eta, and gives the largest value of the
right side at a corner of a piece: sections "The inequality", "Form T", "Form F" and "Form P" of docs/specification.md,
whose names are used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import permutations

from flint import arb, fmpq

from fairbound.verify.balls import ONE, ZERO, RefusedError, balls, dot, largest, require, total
from fairbound.verify.document import Fractional, Leaf, Pairwise, Proof, Shared, Tilted
from fairbound.verify.shares import Corners, Side, pieces, rates_bound, rates_of_group
from fairbound.verify.statement import Cell, Place, Statement

#: Factor phi and shift psi of the values of a cell, at a corner.
Values = Callable[[Place, list[arb]], tuple[arb, arb]]

#: The cells in a role, with zeta and slope of their multipliers there.
Role = tuple[dict[Place, Cell], list[list[float]], list[list[float]] | None]


def excesses(statement: Statement, proof: Proof, claimed: float) -> list[arb]:
    """Return for each piece by how much what is proved of it exceeds the claim: proved if it is not positive.

    Of ratios the claim is a factor in the statement, and what is bounded is a difference, by zero.
    """
    claim = ZERO if statement.ratio else arb(claimed)
    found = pieces(proof, least_shares(statement, proof.axis))
    return [excess_of(statement, leaf, proof.axis, corners, claim) for leaf, corners in found]


def excess_of(statement: Statement, leaf: Leaf, axis: str, corners: Corners, claim: arb) -> arb:
    """Return the same of one piece, the convex hull of some corners."""
    every = isinstance(leaf, Pairwise)
    require(every == statement.every, "leaves of form P are for every two groups, and all others are not")
    known = isinstance(leaf, Tilted) or statement.question.divergence == "hellinger"
    require(known, "leaves of the forms F and P are for Hellinger balls")
    if isinstance(leaf, Tilted):
        bound = _tilted(statement, leaf, axis, corners, claim)
        claim = claim if statement.objective is None else ZERO  # otherwise it is part of the values
    elif isinstance(leaf, Pairwise):
        require(axis == "part" and bool(leaf.sets), "every two groups take sets of multipliers, of shares of parts")
        found = [bounds_of_pairs(statement, one, corners) for one in leaf.sets]
        bound = largest(reduce(arb.min, bounds) for bounds in zip(*found, strict=True))
    elif statement.objective is None:
        bound = _fractional(statement, leaf, axis, corners)
    else:
        fits = axis == "part" and leaf.base is None and leaf.offset is None
        require(fits, "means given a group take leaves without base and offset, of shares of parts")
        (bound,) = _means(statement, leaf, [(statement.cells, leaf.zeta, leaf.slope)], corners)
    require((bound - claim).is_finite(), "the multipliers of a piece prove nothing: a term is infinite")
    return bound - claim


def least_shares(statement: Statement, axis: str) -> list[fmpq]:
    """Return what the searched shares are at least; of a part, what its labels are together."""
    if axis != "part":
        return statement.labels.least if axis == "label" else statement.groups.least
    require(statement.objective is not None, "pieces of the shares of parts are for means given a group")
    if len(statement.parts) == 1:
        return [fmpq(1)]
    if statement.tolerance == 0:
        return [sum((statement.labels.least[y] for y in part), fmpq(0)) for part in statement.parts]
    return [fmpq(0), statement.tolerance]  # what the first part has in all groups, and at most e more in some


def _limits(side: Side, omega: Sequence[float], mu: Sequence[float]) -> arb:
    """Return what ``<share, omega>`` is at most."""
    return side.support(balls(omega), mu) if any(omega) else ZERO


def _above_ceiling(holds: bool, place: Place) -> None:
    if not holds:
        raise RefusedError(f"a multiplier of cell {place} falls below its ceiling: not feasible")


def _sides(statement: Statement, leaf: Tilted | Fractional, axis: str) -> tuple[bool, list[tuple[Side, list[float]]]]:
    """Return whether labels are searched, and the searched side and the other one, with the multipliers of limits."""
    sides = [(statement.labels, leaf.label_mu), (statement.groups, leaf.group_mu)]
    return axis == "label", sides if axis == "label" else sides[::-1]


def _by_other(table: list[list[float]], by_label: bool) -> list[list[arb]]:
    """Return a table of cells with a row for each share of the side that is not searched."""
    rows = [balls(row) for row in table]
    return rows if by_label else [list(column) for column in zip(*rows, strict=True)]


def _tilted(statement: Statement, leaf: Tilted, axis: str, corners: Corners, claim: arb) -> arb:
    """Form T: ``eta_i(x) = w_i - <x - x0, tilt>``, with a tilt that keeps the level while the shares x move."""
    known = axis == "label" or (axis == "group" and statement.tolerance in {0, 1})
    require(known, "leaves of form T search the shares of labels or, unless there is a tolerance, of groups")
    by_label, ((searched, searched_mu), (other, other_mu)) = _sides(statement, leaf, axis)
    w, x0, gamma, lam = _by_other(leaf.w, by_label), balls(leaf.centre), balls(leaf.gamma), arb(leaf.lam)
    d = arb(min(fmpq(1), statement.tolerance * (searched.size - 1))) if by_label else ZERO
    alone = not by_label and statement.tolerance == 1  # each group's worst label counts, whatever the others'
    worst = [list(map(largest, zip(*w, strict=True)))] * len(w) if alone else w
    tilts = [[(1 - d) * v - g for v, g in zip(row, gamma, strict=True)] for row in worst]
    level = [(1 - d) * dot(x0, row) + d * largest(row) for row in worst]
    slope, conjugate, ratio = statement.divergence.slope, statement.divergence.conjugate, statement.most_ratio
    values = _values(statement, leaf.relaxed, by_label, claim)
    net = [g - arb(o) for g, o in zip(gamma, leaf.omega, strict=True)]

    def at(x: list[arb]) -> arb:
        away = [v - c for v, c in zip(x, x0, strict=True)]
        tilt = [dot(away, row) for row in tilts]
        terms = [dot(net, x)]
        for place, cell in statement.cells.items():
            b, a = place if by_label else place[::-1]
            eta, (phi, psi) = w[b][a] - tilt[b], values(place, x)
            _above_ceiling(slope is None or eta + slope * lam >= phi * cell.ceiling + psi, place)
            if lam.is_zero():
                below = all(phi * u + psi <= eta for _, u in cell.upper)
                require(below, "the multipliers are not feasible: with lam = 0 they must be at least the values")
            else:
                terms += [p * ratio * conjugate(phi * u + psi - eta, lam) for p, u in cell.upper]
        return total(terms)

    fixed = other.support(level, other_mu) - dot(gamma, x0) + lam * statement.room
    return fixed + _limits(searched, leaf.omega, searched_mu) + largest(map(at, corners))


def _values(statement: Statement, relaxed: str, by_label: bool, claim: arb) -> Values:
    """Return phi and psi: values whose expectation is the loss, or not positive if means are at most what is claimed.

    Sides that are not *kept* are replaced by the largest that they can be, label by label.
    """
    about = statement.objective
    if about is None:
        require(relaxed == "none", "the loss of all cannot be relaxed")
        return lambda *_: (ONE, ZERO)
    present = [sign for sign, group in ((1, about.plus), (-1, about.minus)) if group is not None]
    kept = [sign for sign in present if relaxed not in {"both", {1: "plus", -1: "minus"}[sign]}]
    rest = {y: most - claim for y, most in statement.replaced({1, -1} - set(kept)).items()}
    if not kept:
        most = largest(rest.values())
        return lambda place, _: (ZERO, rest[place[1]] if about.label is None else most)
    if len(kept) == 1:
        return lambda place, _: (ONE, rest[place[1]]) if statement.sign(*place) == kept[0] else (ZERO, ZERO)
    shared = not by_label and (about.label is None or statement.tolerance == 0)
    require(shared, "means are compared inside their cells by pieces of the group shares, and equal base rates")

    def weighed(place: Place, x: list[arb]) -> tuple[arb, arb]:
        """Multiply by the share of the other group: ``k_a k_b (mean_a - mean_b - claim)``."""
        sign = statement.sign(*place)
        if not sign:
            return ZERO, ZERO
        share = x[(about.minus if sign > 0 else about.plus) or 0]
        return share, -claim * share if sign > 0 else ZERO

    return weighed


def _term(a: arb, c: arb, q: arb, x: arb, z: arb) -> arb:
    """Bound ``h(x) = (a + x) / (c + q x)`` by something convex in x: itself, or if it is concave its tangent at z."""
    turn, below = c - a * q, c + q * x
    if q * turn <= 0 and below > 0:
        return (a + x) / below
    n = c + q * z
    require(n > 0, "the multipliers are not feasible: a tangent is taken where an atom's term is infinite")
    tangent = (a + z) / n + turn / (n * n) * (x - z)
    if q * turn >= 0:
        return tangent
    require(below > 0, "the multipliers are not feasible: an atom's term is infinite")
    return tangent.max((a + x) / below)  # which of the two it is cannot be told: the larger one


def _pull(lam: arb, terms: Iterable[arb]) -> arb:
    """Return the sum of terms, which counts ``lam^2/4`` times; with lam = 0 none are needed."""
    return ZERO if lam.is_zero() else total(terms)


def _centre(leaf: Fractional | Shared) -> list[arb]:
    require(all(v > 0 for v in leaf.centre), "the multipliers are not feasible: the tangents' shares must be positive")
    return balls(leaf.centre)


def _fractional(statement: Statement, leaf: Fractional, axis: str, corners: Corners) -> arb:
    """Form F, loss of all: ``eta_i(x) = zeta_i / x_a + height``, x_a the searched share that the cell is in."""
    fits = axis != "part" and leaf.base is not None and leaf.offset is not None and leaf.slope is None
    require(fits, "the loss of all takes leaves with base and offset, of shares of groups or labels")
    by_label, ((searched, searched_mu), (other, other_mu)) = _sides(statement, leaf, axis)
    zeta, base, offset = _by_other(leaf.zeta, by_label), balls(leaf.base or []), balls(leaf.offset or [])
    z, lam = _centre(leaf), arb(leaf.lam)
    if statement.tolerance == 0:
        level = other.support([total(row) + more for row, more in zip(zeta, offset, strict=True)], other_mu)
    else:
        alone = not by_label and not any(leaf.offset or [])
        require(alone, "where base rates may differ the group shares are searched, and offsets are 0")
        level = rates_bound(
            _added_up(_of_groups(statement, [balls(row) for row in leaf.zeta], leaf.nu)), statement.tolerance
        )
    net = [b - arb(o) for b, o in zip(base, leaf.omega, strict=True)]
    known: dict[tuple[int, arb, arb], arb] = {}

    def line(a: int, x: arb) -> arb:
        """Add up the cells of a searched share: at few places, for corners have many shares in common."""
        key = a, x.mid(), x.rad()
        if key not in known:
            pull = ZERO
            for b, (own, more) in enumerate(zip(zeta, offset, strict=True)):
                place, height = (b, a) if by_label else (a, b), base[a] + more
                cell = statement.cells[place]
                _above_ceiling(own[a] + x * (height - cell.ceiling) >= 0, place)
                pull += _pull(lam, (p * _term(ZERO, own[a], height - u, x, z[a]) for p, u in cell.upper))
            known[key] = net[a] * x + lam * lam / 4 * pull
        return known[key]

    fixed = level + lam * statement.room + _limits(searched, leaf.omega, searched_mu)
    return fixed + largest(total(line(a, x) for a, x in enumerate(corner)) for corner in corners)


def bounds_of_pairs(statement: Statement, one: Shared, corners: Corners) -> list[arb]:
    """Form P: return what a set of multipliers proves of each two groups, the first added, the second subtracted."""
    given = (one.zeta, one.slope), (one.plus, one.plus_slope), (one.minus, one.minus_slope)
    roles = [(cells, *tables) for cells, tables in zip(statement.roles, given, strict=True)]
    return _means(statement, one, roles, corners)


def _means(statement: Statement, leaf: Fractional | Shared, roles: list[Role], corners: Corners) -> list[arb]:
    """Form F, means: ``eta_i(x) = theta_i(x) / (k_s x_n)``, x_n the share of the part n that the label is in.

    One bound, the groups being in their own roles; or one for each two groups, of which one is added and one
    subtracted. Then a group pulls at most what it does in any role, so that only the level differs.
    """
    free = statement.tolerance == 0 or not any(leaf.omega)
    require(free, "where base rates may differ labels have no shares of their own: omega must be 0")
    omega, lam, z = balls(leaf.omega), arb(leaf.lam), _centre(leaf)
    fixed = lam * statement.room + _limits(statement.labels, leaf.omega, leaf.label_mu)
    found: list[list[arb]] = []
    for x in corners:
        added, pulls = [], []
        for role in roles:
            groups = [_group(statement, role, s, x, z, lam) for s in range(statement.groups.size)]
            added.append(_of_groups(statement, [theta for theta, _ in groups], leaf.nu))
            pulls.append([pull for _, pull in groups])
        most = [largest(pull) for pull in zip(*pulls, strict=True)]
        same = fixed + lam * lam / 4 * statement.groups.support(most, leaf.group_mu)
        if statement.tolerance == 0:
            less = [x[n] * o for n, o in zip(statement.part, omega, strict=True)]
            levels = [
                total(largest(sums[y] - less[y] for y in part) for part in statement.parts) for sums in _chosen(added)
            ]
        else:
            levels = [rates_bound(sums, statement.tolerance) for sums in _chosen(added)]
        found.append([same + level for level in levels])
    return [largest(bounds) for bounds in zip(*found, strict=True)]


def _group(statement: Statement, role: Role, s: int, x: list[arb], z: list[arb], lam: arb) -> tuple[list[arb], arb]:
    """Return theta of the cells of a group at a corner, and its pull: the larger one at both ends of what U may be."""
    cells, zeta, slope = role
    theta, apart = [], statement.tolerance != 0 and len(statement.parts) > 1
    pulls = [ZERO, ZERO] if apart else [ZERO]
    for y, n in enumerate(statement.part):
        cell, c, q = cells[s, y], arb(zeta[s][y]), ZERO if slope is None else arb(slope[s][y])
        theta.append(c + x[n] * q)
        _above_ceiling(theta[y] >= cell.ceiling, (s, y))
        for end in range(len(pulls)):
            a = arb(statement.tolerance) * (end if n == 0 else -end)
            pulls[end] += _pull(lam, (p * _term(a, c - u, q, x[n], z[n]) for p, u in cell.upper))
    return theta, largest(pulls)


def _of_groups(statement: Statement, theta: list[list[arb]], nu: list[float] | None) -> list[list[arb]]:
    """Return what the groups add to the level, which is made of the sums: theta itself if base rates are equal."""
    if statement.tolerance == 0:
        return theta
    levels = [None] * len(theta) if nu is None or len(statement.parts) > 1 else balls(nu)
    return [rates_of_group(row, statement.parts, level) for row, level in zip(theta, levels, strict=True)]


def _added_up(rows: list[list[arb]]) -> list[arb]:
    return [total(column) for column in zip(*rows, strict=True)]


def _chosen(added: list[list[list[arb]]]) -> list[list[arb]]:
    """Add up what the groups add: all in the one role, or each two of them in the other roles."""
    start = _added_up(added[0])
    if len(added) == 1:
        return [start]
    neither, plus, minus = added
    first = [[v + a - n for v, a, n in zip(start, *rows, strict=True)] for rows in zip(plus, neither, strict=True)]
    second = [[a - n for a, n in zip(*rows, strict=True)] for rows in zip(minus, neither, strict=True)]
    pairs = permutations(range(len(neither)), 2)
    return [[v + w for v, w in zip(first[a], second[b], strict=True)] for a, b in pairs]
