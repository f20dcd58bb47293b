"""A dataset as models and certificates need it, and its split into training, validation and test rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbound.arithmetic.arrays import Booleans, Floats, Integers
from fairbound.errors import InputError, given

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")

HELD_OUT = 0.2
"""The share of the rows that becomes the test set; then the share of the rest that becomes the validation set."""


def whole(seed: Any) -> int:
    """Return a seed as a number, or refuse it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        message = f"{given('seed', seed)} must be a whole number that is not negative"
        raise InputError(message)
    return int(seed)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, label and sensitive attribute of the complete rows of a dataset.

    Attributes
    ----------
    name
        The name under which it is loaded.
    features
        One row per person or community; numbers as they were recorded, categories one-hot. The sensitive attribute is
        among them.
    feature_names
        The columns of ``features``; a one-hot column is named ``attribute=category``.
    numeric
        Which columns hold numbers, to be standardised.
    label
        0 or 1 for each row.
    label_name, label_names
        What the label tells, and what its values 0 and 1 mean.
    sensitive
        The group of each row, in words.
    sensitive_name
        What distinguishes the groups.
    official_test
        The rows that the source sets apart for testing, or None if it leaves the choice to its users.
    source_shape
        Rows and columns of the source, before anything was dropped.
    seed
        The seed of the split if none is given.
    """

    name: str
    features: Floats
    feature_names: tuple[str, ...]
    numeric: Booleans
    label: Integers
    label_name: str
    label_names: tuple[str, str]
    sensitive: NDArray[np.str_]
    sensitive_name: str
    source_shape: tuple[int, int]
    official_test: Booleans | None = None
    seed: int = 0

    @property
    def rows(self) -> int:
        """How many complete rows there are."""
        return len(self.label)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that occur, in alphabetical order."""
        return tuple(np.unique(self.sensitive).tolist())

    def base_rates(self) -> dict[str, float]:
        """Return the share of label 1 in each group."""
        return {group: float(self.label[self.sensitive == group].mean()) for group in self.groups}

    def split(self, seed: int | None = None) -> Split:
        """Divide the rows at random into training, validation and test rows.

        A fifth of the rows is for testing, unless the source sets test rows apart: then it is those. A fifth of the
        remaining rows is for validation, and all others for training.

        Parameters
        ----------
        seed
            The same seed gives the same split; without one, the seed with which the dataset was loaded.
        """
        chosen = self.seed if seed is None else whole(seed)
        shuffled = np.random.default_rng(chosen).permutation(self.rows)
        if self.official_test is None:
            size = round(HELD_OUT * self.rows)
            test, rest = shuffled[:size], shuffled[size:]
        else:
            apart = self.official_test[shuffled]
            test, rest = shuffled[apart], shuffled[~apart]
        size = round(HELD_OUT * len(rest))
        return Split(self, np.sort(rest[size:]), np.sort(rest[:size]), np.sort(test), chosen)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {self.rows} rows x {len(self.feature_names)} features, "
            f"label={self.label_name!r}, sensitive={self.sensitive_name!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training, validation and test rows of a dataset, and its features standardised by the training rows.

    Attributes
    ----------
    dataset
        What was split.
    train, validation, test
        The rows of each part, as increasing positions in the dataset. No row is in two parts.
    seed
        With which the rows were shuffled.
    mean, scale
        Mean and standard deviation of each numeric column over the training rows alone; 0 and 1 for the others, and
        a scale of 1 where a column is constant.
    """

    dataset: Dataset
    train: Integers
    validation: Integers
    test: Integers
    seed: int
    mean: Floats = field(init=False)
    scale: Floats = field(init=False)

    def __post_init__(self) -> None:
        numbers = self.dataset.features[np.ix_(self.train, np.flatnonzero(self.dataset.numeric))]
        mean, scale = np.zeros(len(self.dataset.numeric)), np.ones(len(self.dataset.numeric))
        mean[self.dataset.numeric] = numbers.mean(axis=0)
        spread = numbers.std(axis=0)
        constant = np.ptp(numbers, axis=0) == 0  # their computed spread may be a rounding error instead of 0
        scale[self.dataset.numeric] = np.where(constant, 1.0, spread)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", scale)

    def rows(self, part: Part) -> Integers:
        """Return the positions of a part's rows in the dataset."""
        if part not in PARTS:
            message = f"{given('part', part)} must be one of {', '.join(map(repr, PARTS))}"
            raise InputError(message)
        return {"train": self.train, "validation": self.validation, "test": self.test}[part]

    def features(self, part: Part) -> Floats:
        """Return a part's features, numeric columns with mean 0 and variance 1 over the training rows."""
        return (self.dataset.features[self.rows(part)] - self.mean) / self.scale

    def label(self, part: Part) -> Integers:
        """Return a part's labels."""
        return self.dataset.label[self.rows(part)]

    def sensitive(self, part: Part) -> NDArray[np.str_]:
        """Return a part's groups."""
        return self.dataset.sensitive[self.rows(part)]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part}={len(self.rows(part))}" for part in PARTS)
        return f"Split({self.dataset.name!r}, {sizes}, seed={self.seed})"
