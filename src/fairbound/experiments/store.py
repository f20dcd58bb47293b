"""The output folder: every number as CSV, and a note of what was done with which settings, so that it is done once."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import AnyArray, Floats
from fairbound.errors import InputError

#: Columns of equal length by name: numbers, or words.
Table = Mapping[str, AnyArray]

NOTES = "done.json"


class Store:
    """Keeps tables and arrays; computes only what is missing or was made with other settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            notes = json.loads((folder / NOTES).read_text(encoding="utf-8")) if (folder / NOTES).exists() else {}
        except (OSError, ValueError) as error:
            message = f"--out {folder} cannot be used: {error}"
            raise InputError(message) from None
        self._notes: dict[str, Any] = notes if isinstance(notes, dict) else {}

    def tables(
        self, name: str, settings: Mapping[str, object], compute: Callable[[], Mapping[str, Table]]
    ) -> Mapping[str, Table]:
        """Return the tables of a task by their names, from their files if they are there."""
        known = self._notes.get(name)
        if known is not None and known["settings"] == _plain(settings):
            files = {part: self.folder / "data" / f"{name}-{part}.csv" for part in known["parts"]}
            if all(file.exists() for file in files.values()):
                return {part: read_table(file.read_text(encoding="utf-8")) for part, file in files.items()}
        found = compute()
        for part, table in found.items():
            self.write(f"data/{name}-{part}.csv", write_table(table, 9 if part == "points" else 17))
        self._note(name, settings, list(found))
        return found

    def array(self, name: str, settings: Mapping[str, object], compute: Callable[[], Floats]) -> Floats:
        """Return an array, from its file if it is there."""
        file = self.folder / "models" / f"{name}.npy"
        known = self._notes.get(f"models/{name}")
        if known is not None and known["settings"] == _plain(settings) and file.exists():
            loaded: Floats = np.load(file, allow_pickle=False)
            return loaded
        found = compute()
        packed = io.BytesIO()
        np.save(packed, found, allow_pickle=False)
        self.write(f"models/{name}.npy", packed.getvalue())
        self._note(f"models/{name}", settings, [])
        return found

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file at once or not at all."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(file.name + ".part")
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(part, file)

    def _note(self, name: str, settings: Mapping[str, object], parts: list[str]) -> None:
        self.changed = True
        self._notes[name] = {"settings": _plain(settings), "parts": parts}
        self.write(NOTES, json.dumps(self._notes, indent=1, sort_keys=True))


def _plain(settings: Mapping[str, object]) -> Any:
    """Return settings as they come back from JSON."""
    return json.loads(json.dumps(settings, sort_keys=True))


def write_table(table: Table, digits: int = 17) -> str:
    """Write columns as CSV; an empty field stands for a number that does not exist."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [[_shown(value, digits) for value in np.asarray(column).tolist()] for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _shown(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else repr(value) if digits == 17 else f"{value:.{digits}g}"
    return str(value)


def read_table(text: str) -> dict[str, AnyArray]:
    """Read columns from CSV: numbers where all entries of a column are numbers."""
    head, *rows = csv.reader(io.StringIO(text))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(head)
    return {name: _column(values) for name, values in zip(head, columns, strict=True)}


def _column(values: tuple[str, ...]) -> AnyArray:
    try:
        return np.array([float(value) if value else np.nan for value in values])
    except ValueError:
        return np.array(values)
