"""What is wrong gets one line, exit status 2, and never a traceback."""
# ruff: noqa: E501 (tables of cases are read best with a case in a line)

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fairbound.cli import main
from fairbound.cli.program import DEFECT
from tests.commands import COLUMNS, predictions, run

TEXT = predictions().write_csv()
LINES = TEXT.splitlines(keepends=True)


def replaced(line: int, old: str, new: str) -> str:
    lines = [*LINES]
    lines[line] = re.sub(old, new, lines[line], count=1)
    assert lines != LINES
    return "".join(lines)


def parquet(path: Path) -> None:
    predictions().write_parquet(path)


def half_a_parquet(path: Path) -> None:
    parquet(path)
    path.write_bytes(path.read_bytes()[:-200])


#: What is done to the file, and what is said about it.
FILES: dict[str, tuple[str | bytes | Callable[[Path], None], list[str], str]] = {
    "a wrong column": (TEXT, ["--group", "sexx"], "there is no column 'sexx'; did you mean 'sex'?"),
    "a column of another case": (TEXT, ["--label", "Income"], "there is no column 'Income'; did you mean 'income'?"),
    "a column like no other": (TEXT, ["--label", "zzz"], "there is no column 'zzz'; there are 'sex', 'race', 'income'"),
    "a missing value": (replaced(3, "^[fm]", ""), [], "column 'sex' has no value in 1 of 600 rows; give them a value, or leave such rows out with --missing drop"),
    "one row in a group": (TEXT + "x,01,no,no,0.5,1,1\n", ["--shift", "sensitive"], "no data in the cells ('x', 'yes')"),
    "one group": (TEXT.replace("\nm,", "\nf,"), [], "column 'sex' has only the groups ['f']"),
    "one label": (TEXT.replace(",yes,", ",no,"), [], "column 'income' has only the labels ['no']"),
    "an empty file": ("", [], "is empty: it needs a header and rows"),
    "only blank lines": ("\n\n\n", [], "the file is empty"),
    "only a header": (LINES[0], [], "a header but no rows"),
    "binary junk": (np.random.default_rng(1).bytes(5000), [], "holds binary data"),
    "junk of high bytes": (bytes(range(255, 128, -1)) * 40, [], "cannot be read as utf-8"),
    "latin-1": (TEXT.replace("m,", "m\xe9,").encode("latin-1"), [], "byte 0xe9 cannot be read as utf-8: save the file as UTF-8, or name its encoding, such as --encoding latin-1"),
    "a huge line": (LINES[0].encode() + b"a" * (1 << 25), [], "line 2 has more than 16,777,216 characters"),
    "a huge field": (LINES[0].encode() + b"a" * (1 << 20) + b"\n", [], "line 2: field larger than field limit"),
    "two columns of one name": (TEXT.replace("race", "sex", 1), [], "column 'sex' stands 2 times in the header"),
    "a row too long": (replaced(9, "\n", ",1\n"), [], "row 9 after the header has 8 fields, but the header has 7"),
    "an open quotation mark": (replaced(9, "01|02", '"01'), [], "a quotation mark may be open"),
    "semicolons": (TEXT.replace(",", ";"), [], "use --delimiter ';'"),
    "predictions that are no labels": (TEXT.replace(",yes,yes", ",yes,1").replace(",no,no", ",no,0").replace(",yes,no", ",yes,0").replace(",no,yes", ",no,1"), [], "column 'yhat' has none of the labels of column 'income' ('no', 'yes')"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(100), [], "is a zip archive or a spreadsheet; save the table as CSV or Parquet"),
    "JSON": ('{"sex": ["f"]}', [], "is JSON, not a table; save the rows as CSV or Parquet"),
    "rows of JSON": ('[\n {"sex": "f"}]', [], "is JSON, not a table"),
    "a certificate": ('{\n "format": "fairbound/certificate"}', [], "is a certificate, not a table; fairbound verify, show and report read it"),
    "half a Parquet file": (half_a_parquet, [], "the file is damaged"),
    "a wrong column of Parquet": (parquet, ["--label", "incom"], "there is no column 'incom'; did you mean 'income'?"),
}  # fmt: skip


def one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("fairbound: ")
    assert printed.err.count("\n") == 1
    assert printed.err.endswith("\n")
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize("case", list(FILES))
def test_bad_files(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, options, words = FILES[case]
    path = tmp_path / "rows.csv"
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for command in (["certify", "--rho", "0.3"], ["radius", "--threshold", "0.5"]):
        said = one_line(capsys, [command[0], str(path), *COLUMNS, *command[1:], *options])
        assert words in said


#: Options after ``certify rows.csv --label income --group sex``, and what is said about them.
OPTIONS = [
    (["--prediction", "yhat", "--rho", "abc"], "argument --rho: 'abc' is not a number"),
    (["--prediction", "yhat", "--rho", "nan"], "argument --rho: 'nan' is not a number"),
    (["--prediction", "yhat", "--rho", "1.5"], "--rho 1.5 is outside [0, 1]"),
    (["--prediction", "yhat", "--rho", "-0.1"], "--rho -0.1 is outside [0, 1]"),
    (["--prediction", "yhat", "--rho", "0.5:0.1:0.1"], "neither a number nor FIRST:LAST:STEP"),
    (["--prediction", "yhat", "--rho", "0:1:0.000001"], "means 1,000,001 radii"),
    (["--prediction", "yhat", "--rho", "0.001"], "nothing to certify: no distribution with equal base rates is nearer"),
    (["--rho", "0.3"], "missing: one of --prediction, --probability and --losses"),
    (["--prediction", "yhat", "--probability", "p", "--rho", "0.3"], "not allowed with argument --prediction"),
    (["--prediction", "yhat", "--rho", "0.3", "--shiftt", "general"], "did you mean --shift"),
    (["--prediction", "yhat", "--rho", "0.3", "--conf", "0.9"], "did you mean --confidence?"),
    (["--prediction", "yhat", "--rho", "0.3", "--shift", "sideways"], "--shift: 'sideways' is not known; use one of general, "),
    (["--prediction", "yhat", "--rho", "0.3", "extra"], "certify does not know 'extra'"),
    (["--prediction", "yhat", "--rho", "0.3", "--group", "sex"], "--group ['sex', 'sex'] names a column twice"),
    (["--prediction", "yhat", "--rho", "0.3", "--group", "income"], "column 'income' is named as label and as group"),
    (["--prediction", "p", "--rho", "0.01", "--label", "p"], "column 'p' has "),
    (["--prediction", "yhat", "--rho", "0.3", "--budget", "many"], "'many' is not a whole number"),
    (["--prediction", "yhat", "--rho", "0.3", "--group-skew", "2"], "--group-skew 2.0 is outside [0, 1]"),
    (["--prediction", "yhat", "--rho", "0.3", "--min-group-mass", "0.6"], "--min-group-mass 0.6 is too large for 2 groups"),
    (["--prediction", "yhat", "--rho", "0.3", "--group-limit", "f"], "'f' is not NAME=LOW:HIGH such as Female=0.4:0.6"),
    (["--prediction", "yhat", "--rho", "0.3", "--group-limit", "f=a:1"], "argument --group-limit: 'a' is not a number"),
    (["--prediction", "yhat", "--rho", "0.3", "--group-limit", "x=0:1"], "there is no group 'x'; the groups are 'f', 'm'"),
    (["--prediction", "yhat", "--rho", "0.3", "--label-limit", "yes=0.3:0.2"], "is upside down; give the smaller share"),
    (["--prediction", "yhat", "--rho", "0.3", *(2 * ["--label-limit", "yes=0.2:0.3"])], "--label-limit names 'yes' twice"),
    (["--prediction", "yhat", "--rho", "0.3", "--group-limit", "f=0.7:0.8", "--group-skew", "0.1"], "or leave out one of --min-group-mass, --group-limit and --group-skew"),
    (["--prediction", "yhat", "--rho", "0.1", "--label-limit", "yes=0:0.01"], "equal base rates within the limits is nearer"),
    (["--prediction", "yhat", "--rho", "0.3", "--tol", "0"], "--tol 0.0 is outside"),
    (["--prediction", "yhat", "--rho", "0.3", "--confidence", "1"], "--confidence 1.0: no finite sample gives certainty"),
    (["--prediction", "yhat", "--rho", "0.3", "--confidence", "0.9", "--weight", "w"], "leave --weight out"),
    (["--prediction", "yhat", "--rho", "0.3", "--confidence", "0.9", "--support", "observed"], "needs --support any"),
    (["--prediction", "yhat", "--rho", "0.3", "--loss", "jsd"], "--loss jsd does not go with --prediction; pass --probability"),
    (["--prediction", "yhat", "--rho", "0.3", "--loss", "x"], "--loss x is not known; use one of zero_one"),
    (["--prediction", "yhat", "--rho", "0.3", "--clip", "1"], "--clip is for losses of probabilities; with --prediction"),
    (["--prediction", "yhat", "--rho", "0.3", "--ceiling", "1"], "--ceiling is for a column of losses; with --prediction"),
    (["--prediction", "yhat", "--rho", "0.3", "--delimiter", ",,"], "--delimiter ',,' must be one character"),
    (["--prediction", "yhat", "--rho", "0.3", "--encoding", "klingon"], "--encoding klingon is not known"),
    (["--prediction", "yhat", "--rho", "0.3", "--json", "no/such/folder.json"], "no/such/folder.json cannot be written: No such"),
    (["--prediction", "yhat", "--rho", "0.3", "--html", "."], ". cannot be written: Is a directory"),
    (["--prediction", "yhat", "--rho", "0.3", "--json", "rows.csv"], "rows.csv is named twice"),
    (["--prediction", "yhat", "--rho", "0.3", "--json", "x", "--html", "./x"], "./x is named twice"),
    (["--probability", "race", "--rho", "0.3"], "column 'race' holds 2.0, outside [0, 1]"),
    (["--probability", "yhat", "--rho", "0.3"], "column 'yhat' must hold numbers, but row 1 after the header has"),
    (["--probability", "p", "--probability", "yes=p", "--rho", "0.3"], "with every column (LABEL=COLUMN), or with none"),
    (["--probability", "yes=p", "--probability", "yes=w", "--rho", "0.3"], "names a label twice"),
    (["--probability", "ja=p", "--rho", "0.3"], "--probability has no column for the label 'no'"),
    (["--probability", "p", "--loss", "cross_entropy", "--rho", "0.3"], "--shift general needs a ceiling, and the loss 'cross_entropy' has none: pass --clip"),
    (["--losses", "cost", "--rho", "0.3"], "outside [0, 1]; set --ceiling to the largest loss there can be"),
    (["--losses", "cost", "--rho", "0.3", "--ceiling", "-1"], "--ceiling -1.0 is outside"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_bad_options(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(TEXT)
    assert words in one_line(capsys, ["certify", "rows.csv", "--label", "income", "--group", "sex", *options])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv"]  # nothing half-done is left
    assert Path("rows.csv").read_text() == TEXT


COMMANDS = [
    ([], "name a command: certify, gate, radius, verify, attest, show, report"),
    (["certfy", "rows.csv"], "there is no command 'certfy'; did you mean certify"),
    (["Show", "rows.csv"], "there is no command 'Show'; did you mean show"),
    (["rows.csv"], "there is no command 'rows.csv'; there are certify, gate, radius"),
    (["show", "rows.csv"], "rows.csv is not a certificate: the document is not JSON"),
    (["report", "rows.csv"], "rows.csv is not a certificate: the document is not JSON"),
    (["report", "junk"], "certificates are what fairbound certify writes with --json"),
    (["show", "junk"], "junk is not a certificate: the document is not UTF-8 text"),
    (["show", "{}.json"], "{}.json is not a certificate: "),
    (["report", "."], ". cannot be read: Is a directory"),
    (["show", "."], ". cannot be read: Is a directory"),
]


@pytest.mark.parametrize(("arguments", "words"), COMMANDS)
def test_the_wrong_command_or_the_wrong_file_for_it(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(TEXT)
    Path("junk").write_bytes(bytes(range(256)))
    Path("{}.json").write_text("{}")
    assert words in one_line(capsys, arguments)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["junk", "rows.csv", "{}.json"]


def test_verify_says_where_certificates_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    assert main(["verify", str(path)]) == 2
    assert capsys.readouterr().out.endswith("  certificates are what fairbound certify writes with --json\n")


def test_three_classes_need_three_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    predictions(300, labels=3).write_csv(path)
    arguments = ["certify", str(path), "--label", "income", "--group", "sex", "--probability", "p", "--rho", "0.3"]
    said = one_line(capsys, arguments)
    assert "must name a column for each of the labels 'maybe', 'no', 'yes'" in said
    assert "--probability LABEL=COLUMN, once for each" in said


def test_long_lists_are_cut_so_that_the_cure_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    many = ["--prediction", "yhat", "--rho", "0.5", "--shift", "sensitive"]
    said = one_line(capsys, ["certify", str(path), "--label", "income", "--group", "cost", *many])
    assert re.search(r"and \d+ more: their losses are unknown\. Merge groups or labels, use --shift general", said)
    said = one_line(capsys, ["certify", str(path), "--label", "cost", "--group", "sex", *many])
    assert "and 590 more); it holds 'no', 'yes': write both in the same way" in said
    said = one_line(
        capsys, ["certify", str(path), "--label", "cost", "--group", "sex", "--probability", "p", *many[2:]]
    )
    assert said.endswith("and 590 more; name them as --probability LABEL=COLUMN, once for each\n")


def test_a_group_with_one_row_is_certified_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(TEXT + "x,01,no,no,0.5,1,1\n")
    assert main(["certify", str(path), *COLUMNS, "--rho", "0.3"]) == 0
    printed = capsys.readouterr()
    assert "x no (1)" in printed.out
    assert printed.err == ""


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = [*COLUMNS, "--rho", "0.3"]
    assert "cannot be read: No such file" in one_line(capsys, ["certify", str(tmp_path / "none.csv"), *ask])
    assert "is a directory; name a file" in one_line(capsys, ["certify", str(tmp_path), *ask])
    assert "cannot be read" in one_line(capsys, ["certify", "a\0b", *ask])
    named = tmp_path / "rows.parquet"
    named.write_text(TEXT)
    assert "is named as Parquet but does not begin as such" in one_line(capsys, ["certify", str(named), *ask])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_files_that_are_forbidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, ask = tmp_path / "rows.csv", [*COLUMNS, "--rho", "0.3"]
    path.write_text(TEXT)
    path.chmod(0)
    assert "cannot be read: Permission denied" in one_line(capsys, ["certify", str(path), *ask])
    path.chmod(0o600)
    (tmp_path / "out.json").touch(0o400)
    said = one_line(capsys, ["certify", str(path), *ask, "--json", str(tmp_path / "out.json")])
    assert "cannot be written: Permission denied" in said


def test_forbidden_files_as_the_system_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for users to whom nothing is forbidden."""
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    said = one_line(capsys, ["certify", str(path), *COLUMNS, "--rho", "0.3"])
    assert said == f"fairbound: {path} cannot be read: Permission denied\n"


def test_no_damage_to_a_file_gives_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    frame = predictions(200)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    for name in ("a.parquet", "a.csv"):
        whole = (tmp_path / name).read_bytes()
        for _ in range(60):
            damaged = bytearray(whole)
            for place in rng.integers(6, len(damaged), rng.choice([1, 3, 30])):
                damaged[place] = rng.integers(256)
            (tmp_path / name).write_bytes(
                damaged[: len(damaged) if rng.random() < 0.5 else rng.integers(6, len(damaged))]
            )
            status = main(["certify", str(tmp_path / name), *COLUMNS, "--rho", "0.6"])
            printed = capsys.readouterr()
            assert status in {0, 2}, printed.err
            assert printed.err.count("\n") == (1 if status else 0)


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["verify"], ["certify"], ["completion", "tcsh"], ["--nonsense"]]
)
def test_bad_usage_in_a_process_of_its_own(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert re.fullmatch(r"fairbound: [^\n]*\(see fairbound[a-z ]* --help\)\n", done.err)


def test_bad_data_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(replaced(3, "^[fm]", ""))
    predictions(400).with_columns(pl.col("sex").replace("m", None)).write_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        done = run("certify", name, *COLUMNS, "--rho", "0.3", cwd=tmp_path)
        assert (done.status, done.out) == (2, "")
        assert re.fullmatch(r"fairbound: rows\.\w+: column 'sex' has no value in [^\n]*--missing drop\n", done.err)
        assert run("certify", name, *COLUMNS, "--rho", "0.3", "--missing", "drop", cwd=tmp_path).status in {0, 2}
    junk = run("certify", "-", *COLUMNS, "--rho", "0.3", given=bytes(1000))
    assert (junk.status, junk.err) == (2, "fairbound: standard input: line 1 holds a NUL character: this is a binary file, not CSV\n")  # fmt: skip


def test_a_defect_is_called_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text(TEXT)

    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("fairbound.cli.certifying.certify_all", broken)
    arguments = ["certify", str(tmp_path / "rows.csv"), *COLUMNS, "--rho", "0.3"]
    assert main(arguments) == DEFECT
    said = capsys.readouterr().err
    assert "this is a defect of fairbound" in said
    assert said.count("\n") == 1
    monkeypatch.setenv("FAIRBOUND_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(arguments)
