"""CSV through an engine is what the reader of the standard library makes of it, or it is left to that reader."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairbound import InputError, Population
from fairbound.certificate.document import write_population
from fairbound.data import csv_engine, csv_file
from fairbound.data.csv_file import CsvFile

ENGINES = {"polars": csv_engine._by_polars, "pyarrow": csv_engine._by_pyarrow}
each_engine = pytest.mark.parametrize("engine", ENGINES)

ROWS = "".join(f"{'fm'[i % 2]},{i % 3 % 2},{i % 5 / 4},{i % 2}\n" for i in range(40))
HEADER = "sex,income,p,yhat\n"

#: What is as plain as engines need it, and what is not: the standard library reads, or refuses, the latter.
PLAIN = {
    "as Polars writes it": HEADER + ROWS,
    "no end of line": HEADER + ROWS[:-1],
    "ends of DOS": (HEADER + ROWS).replace("\n", "\r\n"),
    "a mark before it": "\ufeff" + HEADER + ROWS,
    "everything quoted": "".join(
        ",".join(f'"{part}"' for part in line.split(",")) + "\n" for line in (HEADER + ROWS).splitlines()
    ),
    "marks and lines in names": HEADER + ROWS.replace("f,", '"f, ""the"" \nfirst",'),
    "DOS in names": HEADER.replace("\n", "\r\n") + ROWS.replace("f,", '"f\r\nx",').replace("0\n", "0\r\n"),
    "letters": HEADER + ROWS.replace("f,", "ü 日本,").replace("m,", "'m' | x,"),
    "spaces": HEADER + ROWS.replace("f,", " f ,"),
    "numbers as texts": HEADER + ROWS.replace("f,", "01,").replace("m,", "1,"),
    "numbers of many forms": HEADER
    + ROWS.replace(",0.25,", ",2.5e-1,").replace(",0.5,", ", .5 ,").replace(",0.75,", ',"+0.75",'),
    "full-width digits": HEADER + ROWS.replace(",0.5,", ",\uff10.\uff15,"),
    "more columns": "a,b,sex,income,c,p,yhat,d\n"
    + "".join(f'1,,{a},{b},{{,{c},{d},""\n' for a, b, c, d in (line.split(",") for line in ROWS.splitlines())),
    "no value": HEADER
    + ROWS.replace("f,", ",", 3).replace("m,", '"",', 2).replace(",0.5,", ",NA,").replace(",0.25,", ",,"),
    "an unused name twice": HEADER.replace("\n", ",x,x\n") + ROWS.replace("\n", ",1,2\n"),
}
OTHERS: dict[str, str | bytes] = {
    "marks inside of fields": HEADER + ROWS.replace("f,", 'f "x",'),
    "a mark after a space": HEADER + ROWS.replace("f,", ' "f",'),
    "empty lines": HEADER + ROWS.replace("\n", "\n\n", 3),
    "an empty line at the end": HEADER + ROWS + "\n",
    "ends of old": (HEADER + ROWS).replace("\n", "\r"),
    "a lone return": HEADER + ROWS.replace("f,", "f\rx,", 1),
    "text after a mark": HEADER + ROWS.replace("f,", '"f"x,', 1),
    "an open mark": HEADER + ROWS + '"f,1,0.5,1\n',
    "a field too few": HEADER + ROWS.replace("f,0,", "f,", 1),
    "a field too many": HEADER + ROWS.replace("f,0,", "f,0,0,", 1),
    "too many and too few": HEADER + ROWS.replace("f,0,", "f,0,0,", 1).replace("m,1,", "m,", 1),
    "too many first and too few": HEADER + "f,0,0.5,1,9\n" + ROWS.replace("m,1,", "m,", 1),
    "a zero": HEADER + ROWS.replace("f,", "f\0,", 1),
    "no number": HEADER + ROWS.replace(",0.5,", ",half,", 1),
    "underscores": HEADER + ROWS.replace(",0.5,", ",0_5,", 1),
    "a number too large": HEADER + ROWS.replace(",0.5,", ",1e999,", 1),
    "one column": "sex\n" + "f\nm\n" * 20,
    "a header alone": HEADER,
    "nothing": "",
    "a used name twice": HEADER.replace("yhat", "sex") + ROWS,
    "a name missing": HEADER.replace("yhat", "guess") + ROWS,
    "Latin 1": (HEADER + ROWS.replace("f,", "\xfc,")).encode("latin-1"),
    "UTF-16": (HEADER + ROWS).encode("utf-16"),
}
ASKED: tuple[dict[str, Any], ...] = (
    {"prediction": "yhat", "missing": "drop"},
    {"prediction": "yhat"},
    {"probability": "p", "missing": "drop"},
    {"losses": "p", "weight": "yhat"},
)


def found(file: CsvFile, asked: dict[str, Any]) -> object:
    """The population of a file, or what is said against it."""
    try:
        return write_population([Population.from_frame(file, label="income", group="sex", **asked)])
    except InputError as error:
        return str(error)


@each_engine
@pytest.mark.parametrize("block", [1 << 26, 150])
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_files_are_read_alike(
    name: str, block: int, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content: str | bytes = PLAIN[name] if name in PLAIN else OTHERS[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    file = CsvFile(str(path))
    expected = [found(file, asked) for asked in ASKED]
    cut: list[int] = []
    monkeypatch.setattr(csv_file, "SMALL", 0)
    monkeypatch.setattr(csv_engine, "BLOCK", block)

    def counted(*given: Any) -> Any:
        cut.append(1)
        return ENGINES[engine](*given)

    monkeypatch.setattr(csv_engine, "installed", lambda: counted)
    assert [found(file, asked) for asked in ASKED] == expected
    if name in PLAIN:
        assert cut
        assert file._by_engine(columns(**ASKED[0])) is not None


def columns(**asked: Any) -> Any:
    from fairbound.data.columns import read_columns  # noqa: PLC0415 (only here)

    nothing = dict.fromkeys(("prediction", "probability", "losses", "weight", "loss", "clip", "ceiling"))
    return read_columns(**{"label": "income", "group": "sex", "missing": "refuse", **nothing, **asked})


@each_engine
def test_files_of_random_marks_are_read_alike(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with quotation marks, commas and ends of lines: the same rows, or the same words."""
    source = random.Random(4)  # noqa: S311 (files, not secrets)
    path = tmp_path / "rows.csv"
    file = CsvFile(str(path))
    asked = {"prediction": "yhat", "missing": "drop"}
    lines = (HEADER + ROWS).splitlines(keepends=True)
    sure = 0
    for _ in range(150):
        text = [*lines[:9]]
        for _ in range(source.randrange(4)):
            place = source.randrange(len(text))
            at = source.randrange(len(text[place]))
            piece = source.choice(['"', '""', ",", "\n", "\r\n", '","', '"\n', ' "', "x", ""])
            text[place] = text[place][:at] + piece + text[place][at + source.randrange(2) :]
        path.write_text("".join(text), newline="")
        monkeypatch.setattr(csv_file, "SMALL", 1 << 20)
        expected = found(file, asked)
        monkeypatch.setattr(csv_file, "SMALL", 0)
        monkeypatch.setattr(csv_engine, "installed", lambda: ENGINES[engine])
        assert found(file, asked) == expected, path.read_text()
        sure += not isinstance(expected, str) and file._by_engine(columns(**asked)) is not None
    assert sure > 10


@each_engine
def test_large_and_packed_files_are_read_alike(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    size = 60_000
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m", "x, y"], size),
            "income": rng.integers(0, 2, size),
            "p": rng.random(size),
            "yhat": rng.integers(0, 2, size),
        }
    )
    frame.write_csv(tmp_path / "rows.csv")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes(), 1))
    shares: list[float] = []
    monkeypatch.setattr(csv_engine, "installed", lambda: ENGINES[engine])
    monkeypatch.setattr(csv_engine, "BLOCK", 1 << 18)
    asked: Any = {"probability": "p"}
    exact = found(CsvFile(str(tmp_path / "rows.csv"), watch=shares.append), asked)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert exact == write_population([Population.from_frame(frame, label="income", group="sex", **asked)])
    monkeypatch.setattr(csv_file, "SMALL", 0)
    assert found(CsvFile(str(tmp_path / "rows.csv.gz")), asked) == exact


def test_without_an_engine_the_standard_library_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(csv_engine, "import_module", missing)
    assert csv_engine.installed() is None
    (tmp_path / "rows.csv").write_text(HEADER + ROWS)
    monkeypatch.setattr(csv_file, "SMALL", 0)
    assert not isinstance(found(CsvFile(str(tmp_path / "rows.csv")), ASKED[0]), str)
