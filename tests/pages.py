"""Documents and names that the tests of the report share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairbound import CertificateCurve, Population, certify_curve
from fairbound.problem.question import Shift

#: Names that strangers' data may hold. Unescaped, each of the first would do something.
NASTY = [
    "<script>alert(1)</script>",
    '"onload="alert(2)',
    "' onmouseover='alert(3)",
    "</script><script>alert(4)</script>",
    "<!--<script>",
    "]]><svg/onload=alert(5)>",
    "<img src=x onerror=alert(6)>",
    "javascript:alert(7)",
    "{{ 7*7 }}${7*7}<%= 7 %>",
    "&lt;b&gt;&amp;",
    "line\u2028and\u2029paragraph",
    "😀👩🏽‍🚀",
    "עברית \u202eoverride",
    "\x00\x07 control",
    "\ud800 half a character",
    "",
    "x" * 5000,
]


def small_curve() -> CertificateCurve:
    """Two groups, two labels, two infeasible radii and six others."""
    population = Population.from_predictions(
        ["no", "no", "no", "yes", "no", "no", "yes", "yes"] * 50,
        ["no", "no", "no", "no", "no", "no", "yes", "no"] * 50,
        sensitive_features=["f", "f", "f", "f", "m", "m", "m", "m"] * 50,
    )
    return certify_curve(population, [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])


def sampled_curve(shift: Shift = "general", region: str = "sphere") -> CertificateCurve:
    """The same rows as a sample of an unknown distribution, some of them left out."""
    first = next(iter(small_curve()))
    sample = replace(first.population, excluded_rows=1234)
    return certify_curve(sample, [0.01, 0.1, 0.2, 0.3], shift=shift, confidence=0.95, region=region)


def nasty_curve() -> CertificateCurve:
    """Groups and labels with all the names above."""
    rng = np.random.default_rng(3)
    mass = rng.random((len(NASTY), 2))
    population = Population.from_moments(
        mass / mass.sum(),
        rng.random(mass.shape) / 2,
        groups=NASTY,
        labels=["<b onclick=alert(8)>", '"></td><script>alert(9)</script>'],
    )
    return certify_curve(population, [0.1, 0.3, 0.5])
