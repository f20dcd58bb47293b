"""Base rates that may differ, in ball arithmetic: what a proof proves, and the masses of its witness.

Standard library and python-flint only; sections refer to docs/theory.md. The pieces are pieces of the group shares, so
the case is turned: its "labels" are the groups, and its cells are (label, group).
"""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq

from fairbound.verify.duality import ROUNDING, Case, RefusedError, check_shares, largest, pieces, support


def tolerance_words(question: dict[str, Any]) -> str:
    """Say what a witness was checked for."""
    if not question["fair"]:
        return "masses of cells"
    tolerance = question["base_rate_tolerance"]
    return "equal base rates" if tolerance is None else f"base rates within {tolerance!r} of each other"


def rates_bounds(case: Case, proof: dict[str, Any]) -> list[arb]:
    """Return the bounds of all pieces of group shares (section 11)."""
    if not case.is_transposed:
        raise RefusedError("the pieces must be pieces of the group shares")
    return [_leaf_bound(case, leaf, piece) for leaf, piece in pieces(case, proof)]


def _leaf_bound(case: Case, leaf: dict[str, Any], vertices: list[list[arb]]) -> arb:
    """Evaluate the bound over one piece from any zeta, base, nu, omega, lam >= 0 and centre > 0."""
    if leaf["lam"] < 0 or any(not v > 0 for v in leaf["centre"]):
        raise RefusedError("the multipliers are not feasible: lam must be >= 0 and the tangent's shares > 0")
    zeta = [[arb(v) for v in row] for row in leaf["zeta"]]
    base, omega, centre = ([arb(v) for v in leaf[key]] for key in ("base", "omega", "centre"))
    lam = arb(leaf["lam"])
    most: arb | None = None
    for vertex in vertices:
        total = arb(0)
        for (y, s), atoms in case.upper.items():
            if not zeta[s][y] + vertex[s] * (base[s] - case.ceiling[y, s]) >= 0:
                raise RefusedError(f"a multiplier of cell ({s}, {y}) falls below its ceiling: not feasible")
            for probability, loss in atoms:
                if not probability.is_zero():
                    total += probability * _most(zeta[s][y], base[s] - loss, vertex[s], centre[s])
        value = lam**2 * total + sum(((b - o) * k for b, o, k in zip(base, omega, vertex, strict=True)), arb(0))
        most = value if most is None else most.max(value)
    level = rates_support(zeta, [arb(v) for v in leaf["nu"]], case.tolerance)
    pulled = support(omega, case.label_skew) if any(leaf["omega"]) else arb(0)
    bound = level + pulled - 2 * lam * case.tau + (arb(0) if most is None else most)
    if not bound.is_finite():
        raise RefusedError("the multipliers are not feasible: an atom's term is infinite")
    return bound


def _most(zeta: arb, depth: arb, k: arb, centre: arb) -> arb:
    """Bound ``k / (zeta + k depth)`` by a function that is convex in k: itself, or its tangent where it is concave."""
    convex, concave = zeta <= 0 or depth <= 0, zeta >= 0 and depth >= 0
    straight = (centre**2 * depth + k * zeta) / (zeta + centre * depth) ** 2
    if concave:
        return straight
    below = zeta + k * depth
    if not below > 0:
        raise RefusedError("the multipliers are not feasible: an atom's term is infinite")
    return k / below if convex else straight.max(k / below)  # which of the two it is cannot be told: the larger one


def rates_support(value: list[list[arb]], nu: list[arb], tolerance: fmpq) -> arb:
    """Bound the largest ``sum value_sy r_sy`` over base rates r; any nu is valid."""
    apart = sum(map(largest, value), arb(0))
    over = [[entry - level for entry in row] for row, level in zip(value, nu, strict=True)]
    together = arb(0)
    for column in zip(*over, strict=True):
        together = together.max(sum(column, arb(0)))
    beyond = sum((entry.max(arb(0)) for row in over for entry in row), arb(0))
    return apart.min(sum(nu, arb(0)) + together + arb(tolerance) * beyond)


def table_masses(case: Case, witness: dict[str, Any]) -> dict[tuple[int, int], arb]:
    """Check the witness's table of masses: shares, limits, and base rates that differ by at most the tolerance."""
    if case.tolerance == 0:
        raise RefusedError("where base rates are equal the witness is given by its shares, not by masses")
    if any(v < 0 for row in witness["mass"] for v in row):
        raise RefusedError("the witness's masses are negative")
    total = sum((arb(v) for row in witness["mass"] for v in row), arb(0))
    if not abs(total - 1) <= arb(ROUNDING):
        raise RefusedError("the witness's masses do not add up to one")
    table = [[arb(v) / total for v in row] for row in witness["mass"]]
    sums = {
        "group_mass": [sum(row, arb(0)) for row in table],
        "label_mass": [sum(column, arb(0)) for column in zip(*table, strict=True)],
    }
    sides = [(case.group_skew, case.group_limits), (case.label_skew, case.label_limits)]
    for (name, found), side in zip(sums.items(), sides[::-1] if case.is_transposed else sides, strict=True):
        if not all(abs(arb(v) - w) <= 2 * arb(ROUNDING) for v, w in zip(witness[name], found, strict=True)):
            raise RefusedError(f"the witness's {name} does not belong to its masses")
        check_shares(name, found, *side)
    present = [(row, mass) for row, mass in zip(table, sums["group_mass"], strict=True) if mass > 0]
    for y in range(len(table[0])):
        rates = [row[y] / mass for row, mass in present]
        if not largest(rates) + largest(-rate for rate in rates) <= arb(case.tolerance):
            raise RefusedError(f"the witness's base rates of label {y} differ by more than the tolerance")
    return {(i, j): table[j][i] if case.is_transposed else table[i][j] for i, j in case.lower}
