"""The witness: a distribution that is one of those in question, and what it attains.

Standard library and python-flint only.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from fairbound.verify.balls import RefusedError, largest, rounded_up, total
from fairbound.verify.document import Witness
from fairbound.verify.statement import LEEWAY, Place, Statement

#: The attained value may be understated by this much, relative to the ceiling.
UNDERSTATED = fmpq(1, 10**6)

#: ``p f(q / p)`` for p > 0; of a Hellinger ball less p, which adds up to one: at radius 1 nothing is rounded. Where a
#: largest density ratio is asked for p is multiplied by it, and nothing may be above that.
COSTS: dict[str, Callable[[arb, arb], arb]] = {
    "hellinger": lambda p, q: -(p * q).sqrt(),
    "total_variation": lambda p, q: (q - p).max(arb(0)),
    "kl": lambda p, q: p if q.is_zero() else q * (q / p).log() - q + p,
    "chi_squared": lambda p, q: (q - p) * (q - p) / p,
    "trimming": lambda p, q: (q - p).max(arb(0)),
}


def witness_value(statement: Statement, witness: Witness, attained: float) -> float:
    """Check that the witness is in question and attains what is claimed; return its value, rounded down.

    Of a ratio, which is bounded from below, the claimed value is returned.
    """
    masses = _products(statement, witness) if witness.mass is None else _table(statement, witness, witness.mass)
    counted = _counted(statement, masses)
    cost, distance, stray = COSTS[statement.divergence], arb(0), arb(0)
    added, subtracted = arb(0), arb(0)
    for place, cell in statement.cells.items():
        s, y = place
        inside, unseen = witness.reweighting[s][y], witness.unseen[s][y]
        if unseen > 0 and not (statement.unseen or cell.empty):
            raise RefusedError(f"the witness puts mass outside the observed losses of cell {place}")
        if len(inside) < len(cell.lower) or any(inside[len(cell.lower) :]):
            raise RefusedError(f"the witness does not fit the losses of cell {place}")
        whole, value = total(map(arb, inside)) + arb(unseen), arb(0)
        if not whole > 0:
            raise RefusedError(f"the witness says nothing of cell {place}")
        for (p, v), share in zip(cell.lower, inside, strict=False):
            if p.is_zero():
                if share > 0:
                    raise RefusedError(f"the witness puts mass on a loss that does not occur in cell {place}")
                continue
            q = arb(share) / whole
            distance += cost(statement.most_ratio * p, masses[place] * q)
            value += q * v
        stray += masses[place] * arb(unseen) / whole
        value += arb(unseen) / whole * cell.ceiling
        if statement.sign(s, y) < 0:
            subtracted -= counted[place] * value
        else:
            added += counted[place] * value
    if not statement.escapes and not stray.is_zero():
        raise RefusedError("the witness is outside every ball: it has mass where P has none")
    if statement.divergence == "total_variation":
        distance += stray
    radius = statement.radius - (1 if statement.divergence == "hellinger" else 0)
    if not distance <= radius:
        excess = float((distance - radius).upper())
        raise RefusedError(f"the witness is outside the ball: its distance exceeds the radius by {excess:.3g}")
    return _compared(statement, added, subtracted, attained)


def _compared(statement: Statement, added: arb, subtracted: arb, attained: float) -> float:
    """Refuse an attained value that is not the witness's: of a ratio relative to the mean that it divides by."""
    ratio = statement.objective is not None and statement.objective.ratio
    if ratio and attained >= 1:  # needs no witness: of two groups one has the smaller mean
        return attained
    if ratio and not added > 0:
        raise RefusedError("the witness has no mean to divide by")
    value, scale = (subtracted / added, arb(1)) if ratio else (added - subtracted, statement.scale)
    better = value - arb(attained) if ratio else arb(attained) - value  # than what is said to be attained
    short = better <= arb(LEEWAY) * scale
    if not (short and better >= -arb(UNDERSTATED) * scale):
        word = "not" if short else "more than" if ratio else "less than"
        raise RefusedError(
            f"the witness's value is {float(value.mid())!r}, {word} the attained one, {attained!r}, claimed"
        )
    return attained if ratio else -rounded_up(-value)


def _products(statement: Statement, witness: Witness) -> dict[Place, arb]:
    """Check the shares and return the masses of the cells: products, so that base rates are equal."""
    shares = []
    sides = ("group_mass", witness.group_mass, statement.groups), ("label_mass", witness.label_mass, statement.labels)
    for name, given, side in sides:
        whole = total(map(arb, given))
        if not abs(whole - 1) <= arb(LEEWAY):
            raise RefusedError(f"the witness's {name} does not add up to one")
        shares.append([arb(v) / whole for v in given])
        broken = side.broken(shares[-1])
        if broken is not None:
            raise RefusedError(f"the witness's {name} {broken}")
    return {(s, y): shares[0][s] * shares[1][y] for s, y in statement.cells}


def _table(statement: Statement, witness: Witness, mass: list[list[float]]) -> dict[Place, arb]:
    """Check a table of masses: shares, limits, and base rates that differ by at most the tolerance."""
    if statement.tolerance == 0:
        raise RefusedError("where base rates are equal the witness is given by its shares, not by masses")
    whole = total(arb(v) for row in mass for v in row)
    if not abs(whole - 1) <= arb(LEEWAY):
        raise RefusedError("the witness's masses do not add up to one")
    table = [[arb(v) / whole for v in row] for row in mass]
    groups, labels = [total(row) for row in table], [total(column) for column in zip(*table, strict=True)]
    for name, given, found in (("group", witness.group_mass, groups), ("label", witness.label_mass, labels)):
        if not all(abs(arb(v) - w) <= 2 * arb(LEEWAY) for v, w in zip(given, found, strict=True)):
            raise RefusedError(f"the witness's {name}_mass does not belong to its masses")
    broken = statement.groups.broken(groups)
    if broken is not None:
        raise RefusedError(f"the witness's group_mass {broken}")
    present = [(row, share) for row, share in zip(table, groups, strict=True) if share > 0]
    for y in range(len(labels)):
        rates = [row[y] / share for row, share in present]
        if not largest(rates) + largest(-rate for rate in rates) <= arb(statement.tolerance):
            raise RefusedError(f"the witness's base rates of label {y} differ by more than the tolerance")
    return {(s, y): table[s][y] for s, y in statement.cells}


def _counted(statement: Statement, masses: dict[Place, arb]) -> dict[Place, arb]:
    """Return how much the cells' mean values count: of a mean, by their share within the part of the group."""
    if statement.objective is None:
        return masses
    whole: dict[Place, arb] = {}
    for (s, y), mass in masses.items():
        part = s, statement.part[y]
        whole[part] = whole.get(part, arb(0)) + mass
    found = dict.fromkeys(masses, arb(0))
    for (s, y), mass in masses.items():
        if statement.sign(s, y):
            if not whole[s, statement.part[y]] > 0:
                raise RefusedError("the witness has no mass where the means are taken")
            found[s, y] = mass / whole[s, statement.part[y]]
    return found
