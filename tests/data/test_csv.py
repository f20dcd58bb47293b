"""CSV files read by the standard library: the same populations as from frames, and no text changed on the way."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairbound import InputError, Population
from fairbound.certificate.document import write_population
from fairbound.data.csv_file import LONGEST_LINE, CsvFile, typed
from fairbound.verify import document as written


def frame(rows: int = 500, labels: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(rows + labels)
    y = rng.integers(0, labels, rows)
    shares = rng.dirichlet(np.ones(labels), rows)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m, the rest", 'x "y"'], rows),
            "code": rng.choice([3, 10, 2], rows),
            "label": y,
            "predicted": np.where(rng.random(rows) < 0.8, y, rng.integers(0, labels, rows)),
            **{f"p{k}": shares[:, k] for k in range(labels)},
            "cost": rng.random(rows) * 2,
            "weight": rng.integers(0, 4, rows),
            "note": [None if i % 3 else "line\nbreak" for i in range(rows)],
        }
    )


def population(source: Any, **columns: Any) -> written.Population:
    return write_population([Population.from_frame(source, **columns)])


@pytest.mark.parametrize(
    "columns",
    [
        {"prediction": "predicted"},
        {"prediction": "predicted", "weight": "weight"},
        {"probability": "p1", "loss": "jsd"},
        {"probability": {1: "p1"}},
        {"probability": {0: "p0", 1: "p1"}, "loss": "cross_entropy", "clip": 3.0},
        {"probability": ["p0", "p1"], "loss": "absolute"},
        {"losses": "cost", "ceiling": 2.0},
    ],
)
@pytest.mark.parametrize("group", ["sex", "code", ["sex", "code"]])
def test_a_file_gives_the_population_of_its_frame(tmp_path: Path, columns: dict[str, Any], group: Any) -> None:
    given = frame()
    path = tmp_path / "rows.csv"
    given.write_csv(path)
    asked = {"label": "label", "group": group, **columns}
    assert population(CsvFile(str(path)), **asked) == population(given, **asked)


def test_three_labels(tmp_path: Path) -> None:
    given = frame(600, 3)
    given.write_csv(tmp_path / "rows.csv")
    named = {"label": "label", "group": "sex", "probability": {2: "p2", 0: "p0", 1: "p1"}}
    assert population(CsvFile(str(tmp_path / "rows.csv")), **named) == population(given, **named)
    texts = {**named, "probability": {"2": "p2", "0": "p0", "1": "p1"}}  # labels as a command line gives them
    assert population(CsvFile(str(tmp_path / "rows.csv")), **texts) == population(given, **named)


@pytest.mark.parametrize("library", ["pandas", "polars", "R"])
def test_files_of_several_writers(tmp_path: Path, library: str) -> None:
    given = frame()
    path = str(tmp_path / "rows.csv")
    if library == "pandas":
        given.to_pandas().to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n")
    elif library == "polars":
        given.write_csv(path, quote_style="always")
    else:
        given.to_pandas().to_csv(path, na_rep="NA", quoting=2)
    asked = {"label": "label", "group": "sex", "prediction": "predicted"}
    assert population(CsvFile(path), **asked) == population(given, **asked)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "rows.bin"  # what it is, the first bytes tell
    path.write_bytes(pack(frame().write_csv().encode()))
    asked = {"label": "label", "group": "sex", "prediction": "predicted"}
    assert population(CsvFile(str(path)), **asked) == population(frame(), **asked)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="damaged"):
        population(CsvFile(str(path)), **asked)


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    text = "y,g,p\n0,é,0\n1,é,0\n0,ü,1\n1,ü,1\n"
    for encoding, named in (("utf-8", "utf-8"), ("utf-8-sig", "UTF-8"), ("latin-1", "latin-1"), ("utf-16", "utf-8")):
        path.write_bytes(text.encode(encoding))
        found = Population.from_frame(CsvFile(str(path), encoding=named), label="y", group="g", prediction="p")
        assert found.groups == ("é", "ü")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"byte 0xe9 cannot be read as utf-8.*encoding='latin-1'"):
        population(CsvFile(str(path)), label="y", group="g", prediction="p")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["0", "1"], [0, 1]),
        (["10", "9", "-1"], [10, 9, -1]),
        (["1.0", "0.0"], [1.0, 0.0]),
        (["1", "0.5"], [1, 0.5]),
        (["01", "02"], ["01", "02"]),
        (["1", "02"], ["1", "02"]),  # one code with a zero makes all of them texts
        (["1", "a"], ["1", "a"]),
        (["1", " 2"], ["1", " 2"]),
        (["+1", "1"], ["+1", "1"]),
        (["1_0", "1"], ["1_0", "1"]),
        (["1e3", "1"], ["1e3", "1"]),
        (["0.50", "1"], ["0.50", "1"]),
        (["nan", "1"], ["nan", "1"]),
        (["inf", "1"], ["inf", "1"]),
        (["True", "False"], ["True", "False"]),
        (["-0", "0"], ["-0", "0"]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["\u0661", "1"], ["\u0661", "1"]),
    ],
)
def test_texts_are_numbers_only_if_nothing_is_lost(texts: list[str], names: list[Hashable]) -> None:
    (found,) = typed(texts)
    assert found == names
    assert [type(v) for v in found] == [type(v) for v in names]


def test_labels_and_predictions_are_compared_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"

    def losses(pairs: list[tuple[str, str]]) -> Population:
        rows = [f"{y},{p},{g}\n" for y, p in pairs for g in "ab"]
        path.write_text("y,p,g\n" + "".join(rows))
        told: Any = {"label": "y", "group": "g", "prediction": "p", "unknown_predictions": "allow"}
        return Population.from_frame(CsvFile(str(path)), **told)

    assert losses([("0", "0.0"), ("1", "1.0"), ("1", "0.0")]).loss == pytest.approx(1 / 3)  # as pandas writes gaps
    assert losses([("0", "0"), ("1", "?")]).loss == 0.5  # the model did not answer: both are texts then
    assert losses([("01", "01"), ("1", "1")]).labels == ("01", "1")
    with pytest.raises(InputError, match="none of the labels"):
        losses([("0", "False"), ("1", "True")])


def test_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "y,g,p,w\n" + "0,a,0.1,1\n1,a,0.2,1\n0,b,0.3,1\n1,b,0.4,1\n" * 5 + "0,,0.1,1\n1,NA,0.1,1\n1,b,NaN,1\n"
    )
    asked: dict[str, Any] = {"label": "y", "group": "g", "probability": "p"}
    with pytest.raises(InputError, match=r"'g' has no value in 1 of 23 rows; .*missing='drop'"):
        population(CsvFile(str(path)), **asked)
    found = Population.from_frame(CsvFile(str(path)), **asked, missing="drop")
    assert (found.groups, found.rows, found.excluded_rows) == (("NA", "a", "b"), 21, 2)
    found = Population.from_frame(CsvFile(str(path), missing=frozenset({"NA"})), **asked, missing="drop")
    assert (found.groups, found.rows, found.excluded_rows) == (("a", "b"), 20, 3)
    gone = tmp_path / "gone.csv"
    gone.write_text("y,g,p\n,a,0.1\n1,,0.1\n")
    with pytest.raises(InputError, match="no row has a value"):
        population(CsvFile(str(gone)), **asked, missing="drop")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("y,g,p\n", "a header but no rows"),
        ("y,g,p\n0,a\n", "row 1 after the header has 2 fields, but the header has 3"),
        ("y,g,p\n\n0,a,0\n0,a,0,1\n", "row 2 after the header has 4 fields"),
        ('y,g,p\n0,"a,0\n', "line 2: unexpected end of data; a quotation mark may be open"),
        ('y,g,p\n0,"a"b,0\n', "line 2: "),
        ("y,g,p,g\n0,a,0,b\n", "'g' stands 2 times in the header"),
        ("y;g;p\n0;a;0\n", "separated by ';': use delimiter=';'"),
        ("y,group,p\n0,a,0\n", "there is no column 'g'"),
        ("y,g,p\n0,a,\0\n", "line 2 holds a NUL character"),
        ("y,g,p\n0,a,0\n1,a,0\n", r"column 'g' has only the groups \['a'\]"),
        ("y,g,p\n0,a,0\n0,b,0\n", r"column 'y' has only the labels \[0\]"),
        ("y,g,p\n0," + "a" * 200_000 + ",0\n", "line 2: field larger than field limit"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        population(CsvFile(str(path)), label="y", group="g", prediction="p")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("x", "column 'p' must hold numbers, but row 3 after the header has 'x'"),
        ('"0,5"', "write decimals with a point"),
        ("1_0", "row 3 after the header has '1_0'"),
        ("1.5", r"holds 1.5, outside \[0, 1\]"),
        ("-0.1", r"holds -0.1, outside \[0, 1\]"),
        ("inf", "holds inf, outside"),
    ],
)
def test_bad_numbers_are_named(tmp_path: Path, value: str, words: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"y,g,p\n0,a,0.1\n1,b,0.1\n0,b,{value}\n1,a,0.1\n")
    with pytest.raises(InputError, match=words):
        population(CsvFile(str(path)), label="y", group="g", probability="p")


def test_probabilities_must_add_up(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("y,g,p,q\n0,a,0.1,0.9\n1,b,0.1,0.8\n")
    with pytest.raises(InputError, match="do not add up to 1 in every row"):
        population(CsvFile(str(path)), label="y", group="g", probability=["p", "q"])


def test_a_line_without_end_is_not_swallowed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"y,g,p\n" + b"a" * (LONGEST_LINE + 10))
    with pytest.raises(InputError, match="line 2 has more than"):
        population(CsvFile(str(path)), label="y", group="g", prediction="p")


def test_many_portions_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = frame(1000)
    path = tmp_path / "rows.csv"
    given.write_csv(path)
    asked = {"label": "label", "group": ["sex", "code"], "probability": "p1"}
    whole = population(CsvFile(str(path)), **asked)
    monkeypatch.setattr("fairbound.data.csv_file.PORTION", 7)
    assert population(CsvFile(str(path)), **asked) == whole


def test_the_standard_input_is_read_and_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    given = frame()
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(given.write_csv().encode())))
    monkeypatch.setattr("sys.stdin", stream)
    asked = {"label": "label", "group": "sex", "prediction": "predicted"}
    assert population(CsvFile("-"), **asked) == population(given, **asked)
    assert not stream.buffer.closed


def test_names_that_pandas_writes_come_back(tmp_path: Path) -> None:
    given = pd.DataFrame({"y": [0, 1] * 20, "g": [True] * 20 + [False] * 20, "p": [0, 1, 1, 1] * 10})
    given.to_csv(tmp_path / "rows.csv", index=False)
    found = Population.from_frame(CsvFile(str(tmp_path / "rows.csv")), label="y", group="g", prediction="p")
    assert (found.groups, found.labels) == (("False", "True"), (0, 1))
