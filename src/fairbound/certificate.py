"""What a user gets: certificates and curves of certificates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from fairbound.arrays import Booleans, Floats
from fairbound.proof import Proof
from fairbound.witness import Witness

if TYPE_CHECKING:
    from fairbound.population import Population


class Status(Enum):
    """How a certificate ended; the text names the cause and, where there is one, the cure."""

    TIGHT = "the bound is within the tolerance of a loss that is attained"
    LOOSE = (
        "the bound is valid but the gap is larger than the tolerance: the search used up its budget, or rho is so "
        "close to the nearest fair distribution that rounding limits the gap; raise budget, tol or rho"
    )


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the loss over every distribution with equal base rates in a ball around the data.

    Attributes
    ----------
    bound
        No distribution in question has a larger expected loss. Rounded up.
    attained
        The expected loss of ``witness``, a distribution in question. Rounded down.
    rho
        Radius of the ball, in Hellinger distance.
    shift
        "general" or "sensitive".
    group_skew, label_skew
        Limits on the differences between Q's group shares and between its label shares; None for no limit.
    support
        "any" or "observed".
    tol
        The gap that was asked for.
    status
        Whether it was reached.
    witness
        The distribution that attains ``attained``.
    assumptions
        What the bound rests on, in sentences.
    population
        What was known of the data.
    proof
        The multipliers that prove the bound by weak duality.
    """

    bound: float
    attained: float
    rho: float
    shift: str
    group_skew: float | None
    label_skew: float | None
    support: str
    tol: float
    witness: Witness
    assumptions: tuple[str, ...]
    population: Population
    proof: Proof

    @property
    def gap(self) -> float:
        """``bound - attained``: the true worst case lies between the two."""
        return self.bound - self.attained

    @property
    def status(self) -> Status:
        """Whether the gap asked for was reached."""
        return Status.TIGHT if self.gap <= self.tol else Status.LOOSE

    def __repr__(self) -> str:
        return (
            f"Certificate(bound={self.bound:.6f}, attained={self.attained:.6f}, rho={self.rho:g}, "
            f"shift={self.shift!r}, status={self.status.name})"
        )


@dataclass(frozen=True)
class CertificateCurve:
    """Certificates at several radii; where nothing can be certified there is None.

    Attributes
    ----------
    rho, bound, attained
        Arrays of equal length; NaN in ``bound`` and ``attained`` marks the infeasible radii.
    distance
        Hellinger distance to the nearest distribution in question: smaller radii are infeasible.
    certificates
        The certificates themselves, None where infeasible.
    """

    rho: Floats
    distance: float
    certificates: tuple[Certificate | None, ...]

    @property
    def bound(self) -> Floats:
        """The bound at each radius."""
        return np.array([np.nan if c is None else c.bound for c in self.certificates])

    @property
    def attained(self) -> Floats:
        """The attained loss at each radius."""
        return np.array([np.nan if c is None else c.attained for c in self.certificates])

    @property
    def feasible(self) -> Booleans:
        """Which radii hold a distribution in question at all."""
        return np.array([c is not None for c in self.certificates])

    def __iter__(self) -> Iterator[Certificate]:
        """Iterate over the certificates of the feasible radii."""
        return (c for c in self.certificates if c is not None)

    def __len__(self) -> int:
        return len(self.rho)

    def __repr__(self) -> str:
        return (
            f"CertificateCurve({len(self)} radii from {self.rho.min():g} to {self.rho.max():g}, "
            f"{int(self.feasible.sum())} feasible, nearest at {self.distance:.6f})"
        )
