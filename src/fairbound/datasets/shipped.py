"""The datasets that ship with the package."""

from __future__ import annotations

import gzip
from importlib.resources import files

from fairbound.datasets.columns import Columns, read_csv


def read_shipped(name: str) -> Columns:
    """Return the columns of a dataset that ships with the package, every value as the source writes it."""
    packed = files("fairbound.datasets").joinpath(f"files/{name}.csv.gz").read_bytes()
    return read_csv(gzip.decompress(packed).decode("ascii"))
