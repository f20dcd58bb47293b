"""What numbers are about: where the rows came from, and which model they tell of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

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

    def told(
        self, words: Mapping[str, str | None], meanings: Mapping[Hashable, str], labels: Sequence[Hashable]
    ) -> Provenance:
        """Return the same with more words, and what labels mean; without a date it is of now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        words = {**words, "date": now if words["date"] is None else words["date"]}
        for name, value in words.items():
            check_text(name, value)
        for label, meaning in meanings.items():
            if label not in labels:
                message = f"{given('meanings', dict(meanings))} names {label!r}, which is no label"
                raise InputError(message)
            check_text("meanings", meaning)
        told: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
        return replace(self, **told, meanings=tuple(meanings.items()) or self.meanings)


#: Nothing.
UNTOLD = Provenance()


def check_text(name: str, value: object) -> None:
    """Refuse what is no text, or one that documents cannot hold."""
    if value is not None and (not isinstance(value, str) or len(value) > LONGEST):
        message = f"{given(name, value)} must be a text of at most {LONGEST} characters"
        raise InputError(message)
