"""Let a release pass only if the certified error stays below a limit.

A small model is fitted on one half of the demonstration rows: it decides from the score of an older model, and from the
recorded sex. The other half was held out, and serves to certify. The exit status is 0 if the bound is at most the limit
and 1 if it is not, as a pipeline expects it.

    python examples/gate_a_release.py --rho 0.2 --limit 0.30
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairbound import Population, certify
from fairbound.datasets.demo import demo_columns

CONFIDENCE = 0.95


def main() -> int:
    """Fit, certify, decide."""
    parser = argparse.ArgumentParser(description="Gate a release by its certified error.")
    parser.add_argument("--rho", type=float, default=0.2, help="how far the world may move (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=0.3, help="the largest error allowed (default: %(default)s)")
    options = parser.parse_args()

    rows = {name: np.array(column) for name, column in demo_columns().items()}
    X = np.column_stack([rows["probability"].astype(float), rows["sex"] == "Male"])
    y, sex = rows["income"], rows["sex"]
    held_out = np.random.default_rng(0).random(len(y)) < 0.5
    model = LogisticRegression().fit(X[~held_out], y[~held_out])

    population = Population.from_estimator(model, X[held_out], y[held_out], sensitive_features=sex[held_out])
    certificate = certify(population, options.rho, shift="sensitive", confidence=CONFIDENCE)
    passed = certificate.bound <= options.limit

    print(f"error on {population.rows} held-out rows: {population.loss:.4f}")
    print(f"certified at rho = {options.rho:g}, confidence {CONFIDENCE:g}: at most {certificate.bound:.4f}")
    print(f"limit {options.limit:g}: {'kept' if passed else 'exceeded'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
