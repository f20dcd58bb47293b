"""Results as data frames of the library that the user works with, through narwhals, which is imported only here."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

from fairbound.errors import InputError, argument, given

Backend = Literal["pandas", "polars", "pyarrow"]

#: The libraries that frames are made with, in the order in which they are tried.
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def native_frame(columns: Mapping[str, Sequence[Any]], backend: str | None) -> Any:
    """Return columns as a data frame of a library, or of the one that is in use; None stands for a missing value."""
    import narwhals as nw  # noqa: PLC0415 (only where a frame is made)

    plain = {name: _plain(values) for name, values in columns.items()}
    return nw.from_dict(plain, backend=_chosen(backend)).to_native()


def _chosen(backend: str | None) -> Backend:
    """Return the library that was named; else one that was imported already, or that can be."""
    if backend is not None:
        named: list[Backend] = [name for name in BACKENDS if name == backend]
        if not named:
            message = f"{given('backend', backend)} is not known; use one of {', '.join(map(repr, BACKENDS))}"
            raise InputError(message)
        if find_spec(backend) is None:
            message = f"{given('backend', backend)} is not installed; install it with: pip install {backend}"
            raise InputError(message)
        return named[0]
    there = [name for name in BACKENDS if name in sys.modules] or [name for name in BACKENDS if find_spec(name)]
    if not there:
        message = (
            f"frames need one of {', '.join(BACKENDS)}, and none is installed; install one, or name another "
            f"{argument('backend')}"
        )
        raise InputError(message)
    return there[0]


def _plain(values: Sequence[Any]) -> list[Any]:
    """Return values that a column can hold: of mixed types, as texts."""
    found = [value.item() if hasattr(value, "item") else value for value in values]
    kinds = {type(value) for value in found if value is not None}
    return found if len(kinds) <= 1 or kinds == {int, float} else [v if v is None else str(v) for v in found]


def cell_names(groups: Sequence[Hashable], labels: Sequence[Hashable]) -> dict[str, list[Any]]:
    """Return the columns that name the cells, group by group; intersectional groups have a column for each part."""
    parts = max((len(group) for group in groups if isinstance(group, tuple)), default=0)
    columns: dict[str, list[Any]] = {"group": [group for group in groups for _ in labels]}
    if parts:
        split = [group if isinstance(group, tuple) else (group,) for group in groups]
        columns = {
            f"group_{at + 1}": [group[at] if at < len(group) else None for group in split for _ in labels]
            for at in range(parts)
        }
    return columns | {"label": [label for _ in groups for label in labels]}
