r"""The small ELU network of the comparison with WRM, in NumPy: 2 inputs, hidden layers of 4 and 2, one log-odds.

Its loss is the Jensen-Shannon divergence (base 2) from the true label. With v the log-odds of the true label and p its
probability, :math:`\ell'(v) = \tfrac12 p (1 - p) \log_2 \frac{p}{1 + p}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbound.arithmetic.arrays import Floats

LAYERS = (2, 4, 2, 1)


@dataclass(frozen=True)
class EluNetwork:
    """Weights and biases of the three layers."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    def log_odds(self, x: Floats) -> Floats:
        """Return the log-odds of label 1, shape (n,)."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = _elu(x @ weight.T + bias)
        return (x @ self.weights[-1].T + self.biases[-1])[:, 0]

    def loss(self, x: Floats, sign: Floats) -> Floats:
        """Return the loss of each row; ``sign`` is 1 for label 1 and -1 for label 0."""
        return jsd(sign * self.log_odds(x))

    def gradients(self, x: Floats, sign: Floats) -> tuple[Floats, list[Floats], list[Floats]]:
        """Return the gradient of each row's loss by its inputs, and of the mean loss by weights and biases."""
        inputs, slopes = [x], []
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            before = inputs[-1] @ weight.T + bias
            inputs.append(_elu(before))
            slopes.append(np.exp(np.minimum(before, 0.0)))
        out = inputs[-1] @ self.weights[-1].T + self.biases[-1]
        back = (sign * jsd_slope(sign * out[:, 0]))[:, None]
        by_weight, by_bias = [], []
        for layer in reversed(range(len(self.weights))):
            by_weight.append(back.T @ inputs[layer] / len(x))
            by_bias.append(back.mean(axis=0))
            back = back @ self.weights[layer]
            if layer:
                back = back * slopes[layer - 1]
        return back, by_weight[::-1], by_bias[::-1]

    def smoothness(self) -> float:
        r"""Return a Lipschitz constant of the loss's gradient by the inputs, layer by layer.

        ELU has a slope in [0, 1], which is itself Lipschitz with constant 1. If g has the Lipschitz constant L and its
        Jacobian B, then for ELU(W g + b) they are :math:`\|W\| L` and
        :math:`\|W\| (B + \|W\|_{2 \to \infty} L^2)`; for the loss at the end :math:`|\ell'| B + |\ell''| L^2`.
        """
        slope, bend = 1.0, 0.0
        for weight in self.weights[:-1]:
            norm = float(np.linalg.norm(weight, 2))
            rows = float(np.linalg.norm(weight, axis=1).max())
            slope, bend = norm * slope, norm * (bend + rows * slope**2)
        norm = float(np.linalg.norm(self.weights[-1], 2))
        first, second = jsd_constants()
        return first * norm * bend + second * (norm * slope) ** 2


def jsd(v: Floats) -> Floats:
    """Return the loss from the log-odds of the true label."""
    p, other = _probabilities(v)
    logs = p * (-np.logaddexp(0.0, -v)) - (1.0 + p) * np.log1p(p)
    return np.maximum(0.5 * (logs / np.log(2.0) + other + 1.0 + p), 0.0)


def jsd_slope(v: Floats) -> Floats:
    """Return the derivative of the loss by the log-odds of the true label."""
    p, other = _probabilities(v)
    return 0.5 * p * other * (-np.logaddexp(0.0, -v) - np.log1p(p)) / np.log(2.0)


def jsd_constants() -> tuple[float, float]:
    """Return the largest absolute first and second derivative of the loss by the log-odds.

    Found on a grid of spacing 1e-4 between -30 and 30. The second and third derivatives are below 1 and outside both
    are below 1e-11, so that 1e-4 covers what lies between.
    """
    v = np.linspace(-30.0, 30.0, 600_001)
    slope = jsd_slope(v)
    return float(np.abs(slope).max()) + 1e-4, float(np.abs(np.gradient(slope, v)).max()) + 1e-4


def train_elu(
    x: Floats, sign: Floats, seed: int, *, steps: int = 1500, rate: float = 0.02, decay: float = 1e-3
) -> EluNetwork:
    """Train by Adam on all rows at once, with weight decay."""
    rng = np.random.default_rng(seed)
    shapes = list(zip(LAYERS[1:], LAYERS[:-1], strict=True))
    values = [rng.normal(size=shape) / np.sqrt(shape[1]) for shape in shapes] + [np.zeros(shape[0]) for shape in shapes]
    first, second = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    for step in range(1, steps + 1):
        _, by_weight, by_bias = EluNetwork(tuple(values[:3]), tuple(values[3:])).gradients(x, sign)
        for i, gradient in enumerate(by_weight + by_bias):
            pulled = gradient + decay * values[i]
            first[i] = 0.9 * first[i] + 0.1 * pulled
            second[i] = 0.999 * second[i] + 0.001 * pulled**2
            change = first[i] / (1 - 0.9**step) / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
            values[i] = values[i] - rate * change
    return EluNetwork(tuple(values[:3]), tuple(values[3:]))


def _elu(x: Floats) -> Floats:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


def _probabilities(v: Floats) -> tuple[Floats, Floats]:
    return np.exp(-np.logaddexp(0.0, -v)), np.exp(-np.logaddexp(0.0, v))
