"""An answer: what is proved, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

from fairbound.solve.proof import Proof
from fairbound.solve.witness import Witness


@dataclass(frozen=True)
class Answer:
    """A bound, the distribution that comes close to it, and the proof."""

    bound: float
    witness: Witness
    proof: Proof
