"""The worst case of stratified shifting, told by stratum: which parts of the cells grow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from fairbound.data.population import Population
from fairbound.data.strata import ByStratum
from fairbound.solve.witness import Witness
from fairbound.wording.amounts import percent
from fairbound.wording.names import short_name


@dataclass(frozen=True)
class StratumShare:
    """A stratum of a cell: its share in the data and in the worst case, and the mean loss in it."""

    group: Hashable
    label: Hashable
    stratum: Hashable
    before: float
    after: float
    mean: float

    @property
    def change(self) -> float:
        """By how much the share grows."""
        return self.after - self.before

    @property
    def place(self) -> str:
        """Where it is."""
        return ", ".join(short_name(name, 30) for name in (self.group, self.label, self.stratum))

    @property
    def told(self) -> str:
        """What becomes of it, in words."""
        way = "grows" if self.change > 0 else "shrinks"
        return f"{self.place} {way} from {percent(self.before)} to {percent(self.after)}"


def stratum_shares(population: Population, witness: Witness) -> list[StratumShare]:
    """Return the strata that have rows, those that grow most first; none if the population has no strata."""
    known = population.knowledge
    if not isinstance(known, ByStratum):
        return []
    mass = known.weight / known.weight.sum()
    inside = np.zeros_like(known.weight)
    width = min(len(known.names), witness.reweighting.shape[2])
    inside[..., :width] = witness.reweighting[..., :width]
    total = inside.sum(axis=2) + witness.unseen
    after = witness.mass[..., None] * inside / np.where(total > 0, total, 1.0)[..., None]
    found = [
        StratumShare(
            population.groups[s],
            population.labels[y],
            known.names[h],
            float(mass[s, y, h]),
            float(after[s, y, h]),
            float(known.low[s, y, h]),
        )
        for s, y, h in np.argwhere(known.weight > 0).tolist()
    ]
    return sorted(found, key=lambda one: -one.change)
