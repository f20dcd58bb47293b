"""The user's cache: tables on disk, whole or not at all, compared with their digest whenever they are read."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import AnyArray
from fairbound.datasets.columns import Columns

VARIABLE = "FAIRBOUND_CACHE"
"""The environment variable that names the folder to use instead of the platform's."""


def cache_folder() -> Path:
    """Return the folder for fetched datasets: ``FAIRBOUND_CACHE``, or the one that the platform keeps for caches."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "fairbound" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fairbound"
    standard = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(standard) if os.path.isabs(standard) else Path.home() / ".cache"
    return base / "fairbound"


def cached_file(name: str) -> Path:
    """Return where the table of a dataset is kept, whether it is there or not."""
    return cache_folder() / f"{name}.npz"


def digest(table: Columns) -> str:
    """Return the SHA-256 digest of a table's names and values, however it is stored."""
    found = hashlib.sha256()
    for name, values in table.items():
        found.update(f"{name}\0{len(values)}\0".encode())
        if values.dtype.kind == "U":
            found.update("\0".join(values.tolist()).encode())
        else:
            found.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return found.hexdigest()


def write_table(table: Columns, path: Path) -> None:
    """Write a table so that the file appears complete or not at all."""
    arrays: dict[str, Any] = dict(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_table(path: Path, expected: str) -> dict[str, AnyArray] | None:
    """Return a table, or None if there is none or if it is not the one with the expected digest."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            table = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return None
    return table if digest(table) == expected else None
