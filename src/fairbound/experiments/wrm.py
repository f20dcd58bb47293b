r"""WRM, the certificate of distributional robustness by Sinha et al. (2018), on the paper's mixture of two Gaussians.

For the cost :math:`c(z, z') = \tfrac12 \|z - z'\|^2` (labels do not move), any P and any radius,

.. math::

    \sup_{W_c(P, Q) \le \epsilon} E_Q[\ell]
    = \inf_{\gamma \ge 0} \gamma \epsilon + E_P\Big[\sup_z \ell(z) - \gamma c(z, Z)\Big].

The inner supremum can be found for certain only if it is concave: for :math:`\gamma \ge L`, a Lipschitz constant of the
loss's gradient. A shift of a Gaussian of unit variance by :math:`\delta` has :math:`W_c = \|\delta\|^2 / 2` and the
Hellinger distance :math:`\rho = \sqrt{1 - e^{-\|\delta\|^2 / 8}}`: so a radius rho becomes
:math:`\epsilon = -4 \ln(1 - \rho^2)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats
from fairbound.experiments.elu_network import EluNetwork

CENTRE = np.array([2.0, 0.5])

#: The inner problem: its gradient steps at most, and when to stop.
ASCENT_STEPS, SETTLED = 300, 1e-7


@dataclass(frozen=True)
class Mixture:
    """Rows of the mixture: label 0 around (-2, -0.5), label 1 around (2, 0.5), unit variance, half each."""

    x: Floats
    sign: Floats

    @classmethod
    def draw(cls, rows: int, seed: int) -> Mixture:
        """Draw independent rows."""
        rng = np.random.default_rng(seed)
        sign = np.where(rng.random(rows) < 0.5, -1.0, 1.0)
        return cls(sign[:, None] * CENTRE + rng.normal(size=(rows, 2)), sign)

    @property
    def group(self) -> list[str]:
        """The sensitive attribute: on which side of 0 the second coordinate lies."""
        return np.where(self.x[:, 1] < 0.0, "x2 < 0", "x2 > 0").tolist()


def wrm_certificate(network: EluNetwork, data: Mixture, rhos: Floats, smoothness: float) -> Floats:
    """Return WRM's certificate at each Hellinger distance, for multipliers of at least ``smoothness``."""
    radius = -4.0 * np.log1p(-(np.minimum(rhos, 1.0 - 1e-9) ** 2))
    multipliers = smoothness * np.geomspace(1.0, 50.0, 12)
    surrogates = np.array([_surrogate(network, data, float(gamma), smoothness) for gamma in multipliers])
    return (multipliers[:, None] * radius[None] + surrogates[:, None]).min(axis=0)


def _surrogate(network: EluNetwork, data: Mixture, gamma: float, smoothness: float) -> float:
    """Maximise the loss less the cost for each row by gradient steps; return the mean."""
    z = data.x.copy()
    for _ in range(ASCENT_STEPS):
        step = (network.gradients(z, data.sign)[0] - gamma * (z - data.x)) / (gamma + smoothness)
        z += step
        if np.abs(step).max() < SETTLED:
            break
    penalty = 0.5 * gamma * ((z - data.x) ** 2).sum(axis=1)
    return float((network.loss(z, data.sign) - penalty).mean())


def sampled_smoothness(network: EluNetwork, reach: float = 8.0, points: int = 201) -> float:
    """Return the largest curvature of the loss that was seen on a grid: below the true constant, so no proof."""
    line = np.linspace(-reach, reach, points)
    x = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    largest = 0.0
    for sign in (-1.0, 1.0):
        signs = np.full(len(x), sign)
        bends = np.stack(
            [
                (network.gradients(x + move, signs)[0] - network.gradients(x - move, signs)[0]) / 2e-4
                for move in 1e-4 * np.eye(2)
            ],
            axis=-1,
        )
        largest = max(largest, float(np.abs(np.linalg.eigvalsh(0.5 * (bends + bends.transpose(0, 2, 1)))).max()))
    return largest
