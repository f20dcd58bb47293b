"""What the value of a row is called: names that mean something to programs, and words for people.

Nearly always it is a loss, and its mean an error rate or a mean loss. In a population of selections it tells whether
the model predicts one chosen label, and its mean is the selection rate of that label.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Protocol

from fairbound.wording.names import short_name

#: The loss of predicted labels that is 0 or 1, and the value that is 1 where the model predicts a chosen label.
ZERO_ONE, SELECTED = "zero_one", "selected"

#: Names of values that are 0 or the ceiling and nothing between: finite samples say more about them.
TWO_VALUED = (ZERO_ONE, SELECTED)

#: What the losses of this library are called in a sentence.
LOSS_WORDS = {
    ZERO_ONE: "error rate",
    "brier": "Brier loss",
    "jsd": "Jensen-Shannon loss",
    "absolute": "absolute loss",
    "cross_entropy": "cross-entropy",
}


Unit = Literal["percent", "points", "plain"]


class Valued(Protocol):
    """What has to be known of a population to choose the words."""

    @property
    def loss_name(self) -> str:
        """What the loss is called."""

    @property
    def pos_label(self) -> Hashable | None:
        """The label whose selections are counted."""


@dataclass(frozen=True)
class Wording:
    """The words for a population's values, in the middle of a sentence.

    Attributes
    ----------
    words
        What is bounded: "error rate", "selection rate of '>50K'".
    subject
        The same with its owner: "error rate of the model", "selection rate of '>50K'".
    label
        The same before a number: "error rate", "loss cost", "selection rate of '>50K'".
    axis
        The same beside the axis of a plot: "error rate", "mean Brier loss", "selection rate of '>50K'".
    column
        The mean value of a cell, as the head of a column: "error rate", "mean Brier loss", "selection rate".
    mean_words
        The same in a sentence: "error rate", "mean Brier loss", "selection rate of '>50K'".
    unit
        How people read it: a share of rows in per cent, a difference of shares in percentage points, else as it is.
    one, many
        What a distribution has: "loss" and "losses", "rate" and "rates".
    worst
        The largest that it can have: "worst loss", "largest rate".
    value, values
        What a row has: "loss" and "losses", "value" and "values".
    means
        What its cells have: "mean losses", "selection rates".
    meaning
        A sentence on what is bounded and what is used of the rows; nothing for losses, which say it themselves.
    """

    words: str
    subject: str
    label: str
    axis: str
    column: str
    mean_words: str
    one: str = "loss"
    many: str = "losses"
    worst: str = "worst loss"
    value: str = "loss"
    values: str = "losses"
    means: str = "mean losses"
    meaning: str = ""
    unit: Unit = "plain"


def wording(population: Valued) -> Wording:
    """Return the words for the values of a population's rows, in the user's words if we have no better ones."""
    if population.loss_name == SELECTED:
        label = None if population.pos_label is None else f"'{short_name(population.pos_label)}'"
        rate = "selection rate" if label is None else f"selection rate of {label}"
        counted = "selects" if label is None else f"predicts as {label}"
        return Wording(
            words=rate,
            subject=rate,
            label=rate,
            axis=rate,
            column="selection rate",
            mean_words=rate,
            one="rate",
            many="rates",
            worst="largest rate",
            value="value",
            values="values",
            means="selection rates",
            meaning=f"The {rate} is the share of rows that the model {counted}. Of each cell nothing else is used.",
            unit="percent",
        )
    words = LOSS_WORDS.get(population.loss_name)
    name = words or short_name(population.loss_name)
    mean = name if population.loss_name == ZERO_ONE else f"mean {name}"
    return Wording(
        words=name,
        subject=f"{name} of the model",
        label=name if words or name == "loss" else f"loss {name}",
        axis=mean,
        column=mean,
        mean_words=mean,
        unit="percent" if population.loss_name == ZERO_ONE else "plain",
    )


def capitalised(words: str) -> str:
    """Return words as the beginning of a sentence; names keep their capitals."""
    return words[:1].upper() + words[1:]
