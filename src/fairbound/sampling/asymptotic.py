"""The region "asymptotic": the standard error of a bound, by the worst case's weights (the delta method).

By the envelope theorem a bound changes with P as the multipliers of its worst case say (docs/theory.md, "Prices"), so
a row's influence is ``lam sqrt(t) / 2``, t being the density ratio of the worst case there; under sensitive shifting
its loss moves its cell's mean besides. Nothing is proved with this (docs/finite-samples.md, "An approximation").
"""

from __future__ import annotations

import numpy as np

from fairbound.arithmetic.arrays import Floats


def standard_error(law: Floats, worst: Floats, slope: float, within: Floats, rows: float) -> float:
    """Return about by how much the bound of so many independent rows deviates from that of P.

    ``law`` and ``worst`` are the masses of P and of the worst case (S, C, J), ``slope`` is by how much the bound rises
    with the squared radius, and ``within`` the variance of the losses that an atom stands for by their mean (S, C).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(law > 0, worst / law, 0.0)
    influence = 0.5 * slope * np.sqrt(ratio)
    between = (law * np.square(influence - (law * influence).sum())).sum()
    inside = (law * np.square(ratio) * within[..., None]).sum()
    return float(np.sqrt((between + inside) / rows))
