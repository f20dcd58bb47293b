"""Loading a dataset by its name."""

from __future__ import annotations

import os

from fairbound.datasets.catalogue import CATALOGUE, NAMES, Entry
from fairbound.datasets.dataset import Dataset, whole
from fairbound.datasets.fetching import fetch
from fairbound.datasets.shipped import read_shipped
from fairbound.errors import InputError, given


def find(name: str) -> Entry:
    """Return the dataset of a name."""
    if name not in NAMES:
        message = f"{given('name', name)} must be one of {', '.join(map(repr, NAMES))}"
        raise InputError(message)
    return CATALOGUE[name]


def load(
    name: str, *, folder: str | os.PathLike[str] | None = None, accept_terms: bool = False, seed: int = 0
) -> Dataset:
    """Load a dataset; those that do not ship with the package are fetched once and then kept in the user's cache.

    Parameters
    ----------
    name
        ``"adult"``, ``"compas"``, ``"german"``, ``"crime"``, ``"law"`` or ``"health"``. Adult, German credit and Crime
        ship with the package.
    folder
        A folder that holds the file of a dataset that does not ship with the package. It is looked at first; the
        public source and the package index follow.
    accept_terms
        Whether you accept the terms of use, of a dataset that has some. They are shown if you do not.
    seed
        The seed of ``split()``.

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
    entry, seed = find(name), whole(seed)
    if entry.remote is None:
        return entry.make(read_shipped(name), seed)
    return entry.make(fetch(entry, folder=folder, accept_terms=accept_terms), seed)
