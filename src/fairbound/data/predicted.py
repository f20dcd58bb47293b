"""What the model predicted: the weight of each cell by predicted label."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Booleans, Floats
from fairbound.data.cells import Categories
from fairbound.data.loss_summary import Knowledge, LossTable, MeanOnly, exact_sums, two_valued_table
from fairbound.errors import InputError, argument, either, given, listed


@dataclass(frozen=True)
class Predicted:
    """What the model predicted in each cell of group and true label.

    Attributes
    ----------
    labels
        Names of the predicted labels: the true labels in their order, then those that are only predicted.
    weight
        Weight of the rows of each cell by predicted label, shape (S, C, L). Numbers of rows are exact and add up to the
        weight of the cell; sums of row weights are rounded once each, as that weight is.
    share
        The same as shares of each cell, if these were given and not counted; None for rows.
    """

    labels: tuple[Hashable, ...]
    weight: Floats
    share: Floats | None = None

    @property
    def errors(self) -> LossTable:
        """The 0-1 losses: 1 where the predicted label is not the true one."""
        _, labels, predictions = self.weight.shape
        return self._table(np.arange(labels)[:, None] != np.arange(predictions))

    def selection(self, label: int) -> Knowledge:
        """Return what is known of the value that is 1 where the label at this place is predicted, and else 0."""
        if self.share is not None:
            return MeanOnly(self.share[..., label])
        return self._table(np.arange(len(self.labels)) == label)

    def _table(self, hit: Booleans) -> LossTable:
        """Return the values that are 1 at predicted labels that are a hit, and else 0."""
        return two_valued_table(_total(np.where(hit, 0.0, self.weight)), _total(np.where(hit, self.weight, 0.0)))


def _total(weight: Floats) -> Floats:
    """Add up over the predicted labels, rounding once."""
    return np.apply_along_axis(math.fsum, 2, weight)


def count_predicted(predicted: Categories, labels: Categories, groups: Categories, weight: Floats | None) -> Predicted:
    """Count rows by group, true label and predicted label, or add up their weights.

    ``predicted`` is numbered as :func:`fairbound.data.predictions.aligned` does it: true labels first.
    """
    shape = len(groups.names), len(labels.names), len(predicted.names)
    place = (groups.codes * shape[1] + labels.codes) * shape[2] + predicted.codes
    rows = np.bincount(place, minlength=math.prod(shape))
    total = rows.astype(np.float64) if weight is None else exact_sums(place, weight, rows)
    return Predicted(predicted.names, total.reshape(shape))


def check_predicted(predicted: Predicted | None, labels: tuple[Hashable, ...], unknown: object) -> None:
    """Refuse predictions that are no true label, unless that is allowed: whoever counts selections would miss them."""
    if unknown not in ("refuse", "allow"):
        message = f"{given('unknown_predictions', unknown)} is not known; use 'refuse' or 'allow'"
        raise InputError(message)
    if predicted is None or unknown == "allow":
        return
    found = predicted.weight.sum(axis=(0, 1))
    strange = [place for place in range(len(labels), len(predicted.labels)) if found[place] > 0]
    if strange:
        named = listed([f"{predicted.labels[place]!r} ({found[place]:g})" for place in strange])
        message = (
            f"predictions that are no true label, with the weight of their rows: {named}; the labels are "
            f"{listed([repr(label) for label in labels])}. Write them alike or, if the model may predict what no "
            f"row has, pass {given('unknown_predictions', 'allow')}"
        )
        raise InputError(message)


def given_rates(labels: tuple[Hashable, ...], mass: Floats, rate: Floats) -> Predicted:
    """Return predictions of two labels of which the share of the second one is given for each cell."""
    share = np.stack([1.0 - rate, rate], axis=2)
    return Predicted(labels, mass[..., None] * share, share)


def find_positive(predicted: Predicted | None, labels: tuple[Hashable, ...], pos_label: Any) -> tuple[Predicted, int]:
    """Return the predictions, and the place among their labels of the one whose selections are asked for."""
    if predicted is None:
        message = "this population does not know what the model predicted; " + either(
            "build it with from_predictions and predicted labels (loss='zero_one'), from_frame(prediction=...) or "
            "from_moments(selection_rate=...)",
            f"name the column of predicted labels with {argument('prediction')}",
        )
        raise InputError(message)
    if pos_label is None:
        if len(labels) == 2:
            return predicted, 1
        message = (
            f"{argument('pos_label')} must name one of the {len(labels)} labels "
            f"{listed([repr(name) for name in labels])}"
        )
        raise InputError(message)
    if not isinstance(pos_label, Hashable) or pos_label not in predicted.labels:
        known = listed([repr(name) for name in predicted.labels])
        message = f"{given('pos_label', pos_label)} is not among the labels {known}; name one of them"
        raise InputError(message)
    return predicted, predicted.labels.index(pos_label)
