"""What numbers are about: where the rows came from, and which model they tell of."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from fairbound.errors import InputError, given

#: Documents hold no longer texts.
LONGEST = 10_000


@dataclass(frozen=True)
class Provenance:
    """What a document says of its data and its model, for people: nothing of it is proved.

    Attributes
    ----------
    date
        When it was certified, as ISO 8601 writes it.
    files
        The files that the rows came from: pairs of a name and the SHA-256 of its bytes.
    columns
        What was read from which column: pairs of a role ("group", "label", "prediction", "probability", "losses",
        "weight", "stratum") and a name.
    cuts
        Where columns of strata were cut: pairs of a name, and cut points or a number of quantiles.
    meanings
        What the labels mean: pairs of a label and words.
    model, model_version, data, data_version
        Names of model and data, and which versions of them.
    note
        Anything else.
    """

    date: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    cuts: tuple[tuple[str, tuple[float, ...] | int], ...] = ()
    meanings: tuple[tuple[Hashable, str], ...] = ()
    model: str | None = None
    model_version: str | None = None
    data: str | None = None
    data_version: str | None = None
    note: str | None = None


#: Nothing.
UNTOLD = Provenance()


def check_text(name: str, value: object) -> None:
    """Refuse what is no text, or one that documents cannot hold."""
    if value is not None and (not isinstance(value, str) or len(value) > LONGEST):
        message = f"{given(name, value)} must be a text of at most {LONGEST} characters"
        raise InputError(message)
