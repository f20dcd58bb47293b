"""The witness: a distribution that is one of those in question, and what it attains.

Section "The witness" of docs/specification.md.
"""

from __future__ import annotations

from flint import arb, fmpq

from fairbound.verify.balls import ZERO, balls, largest, require, rounded_up, total
from fairbound.verify.document import Witness
from fairbound.verify.statement import LEEWAY, Place, Statement

#: The attained value may be understated by this much, relative to the largest value.
UNDERSTATED = fmpq(1, 10**6)


def witness_value(statement: Statement, witness: Witness, attained: float) -> float:
    """Check that the witness is in question and attains what is claimed; return its value, rounded down.

    Of a ratio, which is bounded from below, the claimed value is returned.
    """
    masses = _masses(statement, witness)
    counted, cost = _counted(statement, masses), statement.divergence.cost
    distance, stray, added, subtracted = ZERO, ZERO, ZERO, ZERO
    for place, cell in statement.cells.items():
        s, y = place
        inside, unseen = witness.reweighting[s][y], witness.unseen[s][y]
        allowed = unseen == 0 or statement.unseen or cell.empty
        require(allowed, f"the witness puts mass outside the observed losses of cell {place}")
        fits = len(inside) >= len(cell.lower) and not any(inside[len(cell.lower) :])
        require(fits, f"the witness does not fit the losses of cell {place}")
        whole = total(balls(inside)) + arb(unseen)
        require(whole > 0, f"the witness says nothing of cell {place}")
        value, beyond = arb(unseen) / whole * cell.ceiling, masses[place] * arb(unseen) / whole
        for (p, v), share in zip(cell.lower, inside, strict=False):
            occurs = share == 0 or not p.is_zero()
            require(occurs, f"the witness puts mass on a loss that does not occur in cell {place}")
            q = arb(share) / whole
            distance += ZERO if p.is_zero() else cost(p * statement.most_ratio, masses[place] * q)
            value += q * v
        stray += beyond
        if statement.sign(s, y) < 0:
            subtracted -= counted[place] * value
        else:
            added += counted[place] * value
    slope = statement.divergence.slope
    near = slope is not None or stray.is_zero()
    require(near, "the witness is outside every ball: it has mass where P has none")
    excess = distance + stray * (ZERO if slope is None else slope) - statement.room
    beyond_by = float(excess.upper())
    require(excess <= 0, f"the witness is outside the ball: its distance exceeds the radius by {beyond_by:.3g}")
    return _compared(statement, added, subtracted, attained)


def _compared(statement: Statement, added: arb, subtracted: arb, attained: float) -> float:
    """Refuse an attained value that is not the witness's: of a ratio relative to the mean that it divides by."""
    ratio = statement.ratio
    if ratio and attained >= 1:  # needs no witness: of two groups one has the smaller mean
        return attained
    require(not ratio or added > 0, "the witness has no mean to divide by")
    value, scale = (subtracted / added, arb(1)) if ratio else (added - subtracted, statement.scale)
    better = value - arb(attained) if ratio else arb(attained) - value  # than what is said to be attained
    said = f"the witness's value is {float(value.mid())!r}, {{}} the attained one, {attained!r}, claimed"
    require(better <= arb(LEEWAY) * scale, said.format("more than" if ratio else "less than"))
    require(-better <= arb(UNDERSTATED) * scale, said.format("not"))
    return attained if ratio else -rounded_up(-value)


def _shares(given: list[arb], name: str) -> list[arb]:
    """Return numbers divided by their sum, which is one but for the leeway."""
    whole = total(given)
    require(abs(whole - 1) <= arb(LEEWAY), f"the witness's {name} does not add up to one")
    return [v / whole for v in given]


def _masses(statement: Statement, witness: Witness) -> dict[Place, arb]:
    """Return the masses of the cells: products of shares, so that base rates are equal; or a table, checked."""
    k, r = witness.group_mass, witness.label_mass
    if witness.mass is None:
        groups, labels = _shares(balls(k), "group_mass"), _shares(balls(r), "label_mass")
        statement.groups.check(groups, "the witness's group_mass")
        statement.labels.check(labels, "the witness's label_mass")
        return {(s, y): groups[s] * labels[y] for s, y in statement.cells}
    equal = statement.tolerance == 0
    require(not equal, "where base rates are equal the witness is given by its shares, not by masses")
    found = _shares([arb(v) for row in witness.mass for v in row], "mass")
    table = [found[s * len(r) : (s + 1) * len(r)] for s in range(len(k))]
    groups, labels = [total(row) for row in table], [total(column) for column in zip(*table, strict=True)]
    for name, given, sums in (("group", k, groups), ("label", r, labels)):
        close = all(abs(arb(v) - w) <= 2 * arb(LEEWAY) for v, w in zip(given, sums, strict=True))
        require(close, f"the witness's {name}_mass does not belong to its masses")
    statement.groups.check(groups, "the witness's group_mass")
    present = [[v / share for v in row] for row, share in zip(table, groups, strict=True) if share > 0]
    for y, rates in enumerate(zip(*present, strict=True)):
        near = largest(rates) + largest(-rate for rate in rates) <= arb(statement.tolerance)
        require(near, f"the witness's base rates of label {y} differ by more than the tolerance")
    return dict(zip(statement.cells, found, strict=True))


def _counted(statement: Statement, masses: dict[Place, arb]) -> dict[Place, arb]:
    """Return how much the cells' mean values count: of a mean, by their share within the part of the group."""
    if statement.objective is None:
        return masses
    whole: dict[tuple[int, int], arb] = {}
    for (s, y), mass in masses.items():
        part = s, statement.part[y]
        whole[part] = whole.get(part, ZERO) + mass
    found = dict.fromkeys(masses, ZERO)
    for (s, y), mass in masses.items():
        if statement.sign(s, y):
            of = whole[s, statement.part[y]]
            require(of > 0, "the witness has no mass where the means are taken")
            found[s, y] = mass / of
    return found
