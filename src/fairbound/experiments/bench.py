"""What all experiments share: settings, data, trained models and the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers
from fairbound.data.losses import find_loss
from fairbound.data.population import Population
from fairbound.datasets import Dataset, Split, load
from fairbound.experiments.generated import disjoint_means
from fairbound.experiments.models import predict
from fairbound.experiments.network import NetworkPlan
from fairbound.experiments.progress import Progress
from fairbound.experiments.store import Store, Table
from fairbound.version import __version__

#: The paper's main figures show these four, its appendix the two small ones.
LARGE, SMALL = ("adult", "compas", "health", "law"), ("crime", "german")

#: What the losses are called in the paper.
TITLES = {"zero_one": "error", "cross_entropy": "BCE", "jsd": "JSD"}


@dataclass(frozen=True)
class Settings:
    """What was asked for.

    Attributes
    ----------
    datasets
        Those to use, in the order of the paper.
    model
        As for :func:`fairbound.experiments.models.predict`.
    seed
        Of split, training and generated distributions.
    quick
        Coarser curves and fewer distributions.
    folder, accept_terms
        Handed on to :func:`fairbound.datasets.load`.
    """

    datasets: tuple[str, ...]
    model: str = "network"
    seed: int = 0
    quick: bool = False
    folder: Path | None = None
    accept_terms: bool = False

    @property
    def generated(self) -> int:
        """How many distributions are generated for each curve."""
        return 3_000 if self.quick else 30_000

    @property
    def radii(self) -> Floats:
        """The radii of the curves."""
        return np.arange(1, 21) / 20 if self.quick else np.arange(1, 101) / 100

    @property
    def baseline_radii(self) -> Floats:
        """The radii at which the paper's certificate is computed; it takes longer."""
        return np.arange(1, 6) / 10 if self.quick else np.arange(1, 51) / 50


@dataclass
class Case:
    """A model on the test rows of a dataset."""

    split: Split
    probability: Floats

    @property
    def label(self) -> Integers:
        """The true labels."""
        return self.split.dataset.label[self.split.test]

    @property
    def group(self) -> list[str]:
        """The groups."""
        return [str(name) for name in self.split.dataset.sensitive[self.split.test]]

    def population(self, loss: str, clip: float | None = None) -> Population:
        """Return what is known of the model's loss."""
        predicted = self.probability.argmax(axis=1) if loss == "zero_one" else self.probability
        return Population.from_predictions(self.label, predicted, sensitive_features=self.group, loss=loss, clip=clip)

    def losses(self, loss: str, label: Integers) -> Floats:
        """Return the loss of each test row if its label were as given."""
        rows = find_loss(loss, None).rows
        if rows is None:
            return (self.probability.argmax(axis=1) != label).astype(np.float64)
        return rows(self.probability, label)

    @property
    def codes(self) -> Integers:
        """The groups as 0 and 1, in the order of the population's."""
        return np.unique(self.group, return_inverse=True)[1]

    def moments(self, loss: str) -> tuple[Floats, Floats, Floats]:
        """Return share, mean and variance of the loss of each cell: what the paper's certificate knows."""
        value, cell = self.losses(loss, self.label), 2 * self.codes + self.label
        cells = [value[cell == i] for i in range(4)]
        found = np.array([[len(part) / len(value), part.mean(), part.var()] for part in cells])
        share, mean, variance = found.T.reshape(3, 2, 2)
        return share, mean, np.minimum(variance, mean * (1.0 - mean))

    def other_mean(self, loss: str) -> Floats:
        """Return the mean loss per cell of a distribution that is disjoint from the test rows within each cell."""
        if_label = [self.losses(loss, np.full(len(self.label), label)) for label in range(2)]
        return disjoint_means(self.split.features("test"), self.label, self.codes, np.stack(if_label, axis=1))


@dataclass
class Bench:
    """Where the experiments are run."""

    settings: Settings
    store: Store
    progress: Progress
    _cases: dict[str, Case] = field(default_factory=dict)

    @cached_property
    def stamp(self) -> dict[str, object]:
        """What every number depends on."""
        chosen = self.settings
        return {"version": __version__, "model": chosen.model, "seed": chosen.seed, "quick": chosen.quick}

    def data(self, dataset: str) -> Dataset:
        """Return a dataset, read as the settings say."""
        return load(dataset, folder=self.settings.folder, accept_terms=self.settings.accept_terms)

    def case(self, dataset: str) -> Case:
        """Return the model on a dataset, trained if it is not there yet."""
        if dataset not in self._cases:
            chosen = self.settings
            data = self.data(dataset)
            split = data.split(seed=chosen.seed)
            about = {key: self.stamp[key] for key in ("version", "model", "seed")} | {"rows": data.rows}

            def trained() -> Floats:
                with self.progress.task(f"train {chosen.model} on {dataset}", NetworkPlan.epochs, part=True) as advance:
                    return predict(chosen.model, split, chosen.seed, advance)

            name = f"{dataset}-{chosen.model}-seed{chosen.seed}"
            self._cases[dataset] = Case(split, self.store.array(name, about, trained))
        return self._cases[dataset]

    def summary(self, dataset: str) -> Table:
        """Return one row per cell: its rows, its share and the model's losses there."""

        def compute() -> dict[str, Table]:
            case = self.case(dataset)
            error, bce, jsd = (case.population(loss) for loss in ("zero_one", "cross_entropy", "jsd"))
            cells = [(group, label) for group in error.groups for label in case.split.dataset.label_names]
            return {
                "cells": {
                    "group": np.array([str(group) for group, _ in cells]),
                    "label": np.array([str(label) for _, label in cells]),
                    "rows": error.weight.ravel(),
                    "share": error.mass.ravel(),
                    "error": error.mean.ravel(),
                    "bce": bce.mean.ravel(),
                    "jsd": jsd.mean.ravel(),
                }
            }

        with self.progress.task(f"model on {dataset}"):
            return self.store.tables(f"model-{dataset}", self.stamp, compute)["cells"]
