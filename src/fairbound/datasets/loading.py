"""Loading a dataset by its name."""

from __future__ import annotations

from pathlib import Path

from fairbound.datasets import adult, crime, german
from fairbound.datasets.dataset import Dataset
from fairbound.datasets.shipped import read_shipped
from fairbound.errors import InputError, shown

SHIPPED = {"adult": adult.make, "german": german.make, "crime": crime.make}

NAMES = ("adult", "compas", "german", "crime", "law", "health")


def load(name: str, *, folder: Path | str | None = None, accept_terms: bool = False, seed: int = 0) -> Dataset:
    """Load a dataset.

    Examples
    --------
    >>> from fairbound.datasets import load
    >>> adult = load("adult")
    >>> adult
    Dataset('adult', 45222 rows x 104 features, label='income', sensitive='sex')
    >>> split = adult.split(seed=1)
    >>> split
    Split('adult', train=24130, validation=6032, test=15060, seed=1)
    >>> split.features("test").shape
    (15060, 104)
    """
    if name in SHIPPED:
        return SHIPPED[name](read_shipped(name), seed)
    message = f"name={shown(name)} must be one of {', '.join(map(repr, NAMES))}"
    raise InputError(message)
