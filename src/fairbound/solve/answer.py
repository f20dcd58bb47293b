"""An answer: what is proved, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairbound.solve.proof import Proof
from fairbound.solve.witness import Witness


@dataclass(frozen=True)
class Answer:
    """A bound, the distribution that comes close to it, and the proof."""

    bound: float
    witness: Witness
    proof: Proof

    def better(self, other: Answer) -> Answer:
        """Return the smaller bound, and the worse distribution, of two answers to the same question."""
        proved = min(self, other, key=lambda answer: answer.bound)
        worst = max(self.witness, other.witness, key=lambda witness: witness.loss)
        return replace(proved, witness=worst)
