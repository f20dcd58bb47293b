"""The command line: what it prints is what the library says, for people and for programs."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairbound
from fairbound import (
    Certificate,
    CertificateCurve,
    Population,
    certify,
    certify_curve,
    largest_certified_rho,
    nearest_fair,
    report,
    verify,
)
from fairbound.cli import main
from fairbound.cli.program import COMMANDS
from tests.commands import COLUMNS, command, environment, predictions, run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in every kind of file."""
    folder = tmp_path_factory.mktemp("data")
    frame = predictions()
    frame.write_csv(folder / "rows.csv")
    frame.to_pandas().to_csv(folder / "rows.csv.gz", index=False)
    frame.write_csv(folder / "rows.tsv", separator="\t")
    frame.write_parquet(folder / "rows.parquet")
    frame.to_pandas().to_parquet(folder / "pandas.parquet")
    frame.write_ipc(folder / "rows.arrow")
    frame.to_pandas().to_feather(folder / "rows.feather")
    frame.write_ipc_stream(folder / "rows.arrows")
    predictions(900, labels=3).write_csv(folder / "three.csv")
    return folder


@pytest.fixture(scope="module")
def population() -> Population:
    return Population.from_frame(predictions(), label="income", group="sex", prediction="yhat")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return found.out


def facts(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    return dict(json.loads(printed(capsys, *arguments, "--format", "json")))


FILES = [
    "rows.csv",
    "rows.csv.gz",
    "rows.tsv",
    "rows.parquet",
    "pandas.parquet",
    "rows.arrow",
    "rows.feather",
    "rows.arrows",
]


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_bounds(
    data: Path, population: Population, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = facts(capsys, "certify", str(data / name), *COLUMNS, "--rho", "0.2", "--rho", "0.3")
    assert [r["bound"] for r in found["results"]] == certify_curve(population, [0.2, 0.3]).bound.tolist()


def test_what_is_printed_for_programs(data: Path, population: Population, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--shift", "sensitive", "--group-skew", "0.5", "--rho", "0.01", "--rho", "0.2:0.3:0.1", "--tol", "1e-5"]
    found = facts(capsys, "certify", str(data / "rows.csv"), *COLUMNS, *options)
    curve = certify_curve(population, [0.01, 0.2, 0.3], shift="sensitive", group_skew=0.5, tol=1e-5)
    assert found["distance"] == curve.distance
    assert [r["rho"] for r in found["results"]] == [0.01, 0.2, 0.3]
    assert [r["feasible"] for r in found["results"]] == [False, True, True]
    for r, c in zip(found["results"][1:], curve, strict=True):
        assert (r["bound"], r["attained"], r["status"]) == (c.bound, c.attained, c.status.name.lower())
        assert r["worst_case_mass"] == c.witness.mass.tolist()
    assert found["population"]["rows"] == 600
    assert found["population"]["loss_on_data"] == population.loss
    assert [cell["mass"] for cell in found["population"]["cells"]] == population.mass.ravel().tolist()
    assert [cell["base_rate"] for cell in found["population"]["cells"]] == population.base_rates.ravel().tolist()
    assert found["assumptions"] == list(next(iter(curve)).assumptions)
    assert found["question"]["group_skew"] == 0.5


def test_limits_by_name(data: Path, population: Population, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--min-label-mass", "0.2", "--group-limit", "f=0.4:0.6", "--label-limit", "yes=0.25:0.5"]
    limits: Any = {"min_label_mass": 0.2, "group_limits": {"f": (0.4, 0.6)}, "label_limits": {"yes": (0.25, 0.5)}}
    certificate = certify(population, 0.3, **limits)
    found = facts(capsys, "certify", str(data / "rows.csv"), *COLUMNS, *options, "--rho", "0.3")
    assert found["results"][0]["bound"] == certificate.bound
    assert found["question"]["group_limits"] == [{"name": "f", "low": 0.4, "high": 0.6}]
    text = " ".join(printed(capsys, "certify", str(data / "rows.csv"), *COLUMNS, *options, "--rho", "0.3").split())
    assert "the share of label 'no' in Q is at least 0.2" in text
    assert "the share of 'f' in Q lies between 0.4 and 0.6" in text
    assert "the share of label 'yes' in Q lies between 0.25 and 0.5" in text
    assert "within the limits is at Hellinger distance" in text
    radius = facts(capsys, "radius", str(data / "rows.csv"), *COLUMNS, *options, "--threshold", "0.5")
    assert radius["radius"] == largest_certified_rho(population, 0.5, **limits)


def test_limits_on_groups_of_several_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = predictions().with_columns(old=pl.Series(["a", "b"] * 300))
    frame.write_csv(tmp_path / "rows.csv")
    options = ["--group", "old", "--group-limit", "f / a=0.2:0.3", "--rho", "0.4"]
    text = " ".join(printed(capsys, "certify", str(tmp_path / "rows.csv"), *COLUMNS, *options).split())
    assert "the share of ('f', 'a') in Q lies between 0.2 and 0.3" in text


def test_what_is_printed_for_people(data: Path, population: Population, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(data / "rows.csv")
    text = printed(capsys, "certify", file, *COLUMNS, "--rho", "0.02", "--rho", "0.2", "--shift", "sensitive")
    c = certify(population, 0.2, shift="sensitive")
    assert "600 rows, 2 groups, 2 labels" in text
    assert f"is at Hellinger distance {nearest_fair(population).distance:.6f}" in " ".join(text.split())
    for s, group in enumerate(("f", "m")):
        for y, label in enumerate(("no", "yes")):
            cell = rf"  {group} +{label} +{population.weight[s, y]:.0f} +{population.mass[s, y]:.4f} "
            assert re.search(cell + rf"+{population.base_rates[s, y]:.4f} +{population.mean[s, y]:.4f}", text)
            change = c.witness.mass[s, y] - population.mass[s, y]
            assert re.search(rf"  {group} +{label} .*{c.witness.mass[s, y]:.4f} +\{change:+.4f}", text)
    assert re.search(r"  0\.02 +infeasible", text)
    row = re.search(r"  0\.2 +(\d\.\d{6}) +(\d\.\d{6}) +\S+ +(.*)", text)
    assert row is not None
    assert c.bound <= float(row[1]) < c.bound + 1.1e-6
    assert row[2] == row[1]  # they differ by less than what is shown
    grown = (c.witness.mass - population.mass).max()
    assert f"{grown:+.4f}" in row[3]
    assert "only the shares of the cells of group and label change" in " ".join(text.split())
    assert "no allowance is made for sampling error" in " ".join(text.split())
    assert not re.search(r"\bfair\b|complian", text)


def test_a_confidence_is_stated_and_nothing_more(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(data / "rows.csv")
    asked = ["--rho", "0.2", "--rho", "0.3", "--confidence", "0.95", "--region", "hoeffding", "--shift", "sensitive"]
    text = " ".join(printed(capsys, "certify", file, *COLUMNS, *asked).split())
    assert "with probability at least 95% over the draw of the 600 rows" in text
    assert "of the distribution that the rows were drawn from" in text
    assert "in the larger ball that allows for sampling error" in text
    assert "Region 'hoeffding': the error probability 0.05 is divided equally" in text
    assert "The nearest distribution with equal base rates is at" not in text


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--probability", "p"], {"probability": "p"}),
        (["--probability", "yes=p", "--loss", "jsd"], {"probability": {"yes": "p"}, "loss": "jsd"}),
        (
            ["--probability", "no=p", "--loss", "cross_entropy", "--clip", "3"],
            {"probability": {"no": "p"}, "loss": "cross_entropy", "clip": 3.0},
        ),
        (["--losses", "cost", "--ceiling", "2"], {"losses": "cost", "ceiling": 2.0}),
        (
            ["--losses", "cost", "--ceiling", "2", "--loss", "regret"],
            {"losses": "cost", "ceiling": 2.0, "loss": "regret"},
        ),
        (["--prediction", "yhat", "--weight", "w"], {"prediction": "yhat", "weight": "w"}),
    ],
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_columns_and_losses(
    data: Path, name: str, options: list[str], arguments: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(data / name)
    given = ["--label", "income", "--group", "sex", "--group", "race", "--rho", "0.5", *options]
    found = facts(capsys, "certify", file, *given)
    frame: Any = predictions() if name == "rows.csv" else pl.scan_parquet(file)
    expected = Population.from_frame(frame, label="income", group=["sex", "race"], **arguments)
    assert found["results"][0]["bound"] == certify(expected, 0.5).bound
    assert found["population"]["groups"] == [[*group] for group in expected.groups]  # type: ignore[misc]  # tuples
    assert ["f", "01"] in found["population"]["groups"]
    assert found["population"]["loss"] == expected.loss_name


def test_three_labels_with_their_probabilities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = predictions(300, labels=3).with_columns(q=(1 - pl.col("p")) / 2, r=(1 - pl.col("p")) / 2)
    code = frame.with_columns(pl.col("income").replace_strict({"no": 0, "yes": 1, "maybe": 2}))
    code.write_parquet(tmp_path / "rows.parquet")
    code.write_csv(tmp_path / "rows.csv")
    bounds = set()
    for name in ("rows.parquet", "rows.csv"):
        given = ["--label", "income", "--group", "sex", "--rho", "0.5"]
        named = [f"--probability={label}={column}" for label, column in (("1", "p"), ("0", "q"), ("2", "r"))]
        found = facts(capsys, "certify", str(tmp_path / name), *given, *named)
        assert found["population"]["labels"] == [0, 1, 2]
        bounds.add(round(found["results"][0]["bound"], 5))
    assert len(bounds) == 1


def test_certificates_and_pages_are_written(
    data: Path, population: Population, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, one, many, page = str(data / "rows.csv"), tmp_path / "one.json", tmp_path / "many.json", tmp_path / "r.html"
    text = printed(capsys, "certify", file, *COLUMNS, "--rho", "0.2", "--json", str(one))
    assert f"fairbound verify {one}" in text
    assert Certificate.from_json(one.read_text()).bound == certify(population, 0.2).bound
    asked = ["--rho", "0.01:0.21:0.1", "--confidence", "0.9", "--shift", "sensitive"]
    printed(capsys, "certify", file, *COLUMNS, *asked, "--json", str(many), "--html", str(page))
    assert CertificateCurve.from_json(many.read_text()).rho.tolist() == [0.01, 0.11, 0.21]
    for path in (one, many):
        assert main(["verify", str(path)]) == 0
        assert verify(path.read_bytes()).valid
    assert page.read_text() == report(many.read_text())
    capsys.readouterr()
    assert main(["verify", str(many), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "proved"


def test_failing_a_pipeline(data: Path, population: Population, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(data / "rows.csv")
    bound = certify(population, 0.2).bound
    rhos = ["--rho", "0.01", "--rho", "0.15", "--rho", "0.2", "--rho", "0.3"]
    assert main(["certify", file, *COLUMNS, *rhos, "--fail-above", repr(bound)]) == 1  # equal is not above
    printed_lines = capsys.readouterr().err.splitlines()
    assert printed_lines[0] == "fairbound: nothing to certify, and so nothing to fail, at rho = 0.01"
    assert re.fullmatch(rf"fairbound: the bound exceeds {bound:g} at rho = 0\.3 \(0\.\d{{6}}\)", printed_lines[1])
    assert main(["certify", file, *COLUMNS, "--rho", "0.15", "--rho", "0.2", "--fail-above", repr(bound)]) == 0
    assert capsys.readouterr().err == ""
    assert (
        main(["certify", file, *COLUMNS, "--rho", "0.2", "--fail-above", repr(bound - 1e-9), "--format", "json"]) == 1
    )
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exceeded"] == [0.2]
    assert main(["certify", file, *COLUMNS, "--rho", "0.01", "--fail-above", "0.9"]) == 2  # a gate that checks nothing
    assert "nothing to certify" in capsys.readouterr().err


def test_the_largest_radius(
    data: Path, population: Population, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = str(data / "rows.csv"), tmp_path / "c.json"
    expected = largest_certified_rho(population, 0.095, shift="sensitive")
    asked = ["radius", file, *COLUMNS, "--threshold", "0.095", "--shift", "sensitive"]
    found = facts(capsys, *asked, "--json", str(out))
    assert found["radius"] == expected
    assert found["result"]["bound"] <= 0.095
    assert verify(out.read_bytes()).valid
    text = printed(capsys, *asked)
    shown = re.search(r"at or below 0\.095 up to rho = (\S+)\.", text)
    assert shown is not None
    assert expected - 1e-6 <= float(shown[1]) <= expected
    assert main([*asked, "--fail-below", repr(expected)]) == 0
    assert main([*asked, "--fail-below", "0.9"]) == 1
    assert main(["radius", file, *COLUMNS, "--threshold", "0.01"]) == 1
    assert "--threshold 0.01 cannot be kept at any radius" in capsys.readouterr().err


def test_what_to_be_careful_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(predictions(80).write_csv() + "NA,01,no,no,0.5,1,1\n,01,no,no,0.5,1,1\n")
    text = " ".join(printed(capsys, "certify", str(file), *COLUMNS, "--rho", "0.5", "--missing", "drop").split())
    assert "Fewer than 30 rows, so share and loss rest on little: NA no (1), f no (" in text
    assert "No rows, so the worst loss is assumed where it matters: NA yes." in text
    assert "Left out was 1 row in which a value was missing." in text
    assert "'NA' is taken for a name." in text
    text = printed(capsys, "certify", str(file), *COLUMNS, "--rho", "0.5", "--missing", "drop", "--na", "NA")
    assert "80 rows, 2 groups" in text
    assert "taken for a name" not in text
    found = facts(capsys, "certify", str(file), *COLUMNS, "--rho", "0.5", "--missing", "drop", "--confidence", "0.9")
    assert found["population"]["excluded_rows"] == 1
    kinds = ["one_row_groups", "few_rows", "no_rows", "rows_left_out", "like_missing"]
    assert [caution["kind"] for caution in found["warnings"]] == kinds


def test_names_that_look_alike_and_labels_never_hit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(predictions(200).write_csv() + "F,01,Yes,yes,0.5,1,1\nm,01,no ,no,0.5,1,1\n")
    text = " ".join(printed(capsys, "certify", str(file), *COLUMNS, "--rho", "0.6").split())
    assert "taken for different: 'Yes' and 'yes', 'no' and 'no ', 'F' and 'f'." in text
    assert "Not one row with this label is predicted right; does the model know it? 'Yes', 'no '." in text
    file.write_text(predictions(200).write_csv())
    text = printed(capsys, "certify", str(file), *COLUMNS, "--rho", "0.6")
    assert "taken for different" not in text
    assert "predicted right" not in text


def test_labels_of_parquet_are_named_in_its_own_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.parquet"
    rich = pl.col("income") == "yes"
    predictions(200).with_columns(rich.alias("rich"), rich.cast(pl.Int64).alias("bit")).write_parquet(file)
    found = []
    for label, name in (("income", "yes"), ("rich", "True"), ("rich", "true"), ("bit", "1")):
        asked = ["--label", label, "--group", "sex", "--probability", f"{name}=p", "--rho", "0.5"]
        found.append(facts(capsys, "certify", str(file), *asked)["results"][0]["bound"])
    assert len(set(found)) == 1


def test_names_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(predictions().with_columns(pl.col("sex").replace("f", "\x1b[2J\x1b]0;x\x07\nf")).write_csv())
    for arguments in (["certify"], ["radius"]):
        asked = ["--rho", "0.3"] if arguments == ["certify"] else ["--threshold", "0.5"]
        assert "\x1b" not in printed(capsys, *arguments, str(file), *COLUMNS, *asked)
    assert main(["certify", str(file), *COLUMNS, "--rho", "0.3", "--label", "\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_letters_the_terminal_lacks(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(predictions().with_columns(pl.col("sex").replace("f", "女")).write_csv(), encoding="utf-8")
    done = run("certify", str(file), *COLUMNS, "--rho", "0.3", PYTHONIOENCODING="ascii")
    assert (done.status, done.err) == (0, "")
    assert "\\u5973" in done.out


def test_the_same_on_every_run(data: Path) -> None:
    file = str(data / "rows.csv")
    asked = ["certify", file, *COLUMNS, "--rho", "0.1:0.4:0.1", "--shift", "sensitive"]
    first, second = run(*asked, PYTHONHASHSEED="1"), run(*asked, PYTHONHASHSEED="2")
    assert first == second
    assert first.status == 0


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_has_examples_that_the_parser_takes(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"] if name else ["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    assert max(map(len, text.splitlines())) <= 120


def test_version() -> None:
    assert run("--version").out == f"fairbound {fairbound.__version__}\n"


def test_help_is_light() -> None:
    """No library that reads or draws is loaded to print help."""
    code = "import sys; from fairbound.cli.program import parser; parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"narwhals", "polars", "pandas", "pyarrow", "matplotlib", "duckdb"}


def test_the_installed_program(data: Path) -> None:
    program = shutil.which("fairbound", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("the package is not installed here")
    asked = [program, "certify", str(data / "rows.csv"), *COLUMNS, "--rho", "0.3", "--fail-above", "0"]
    assert subprocess.run(asked, capture_output=True, check=False, env=environment()).returncode == 1


def test_csv_needs_no_other_library(data: Path) -> None:
    """With nothing but what the package itself brings, CSV is read; for the rest the cure is named."""
    code = (
        "import sys\n"
        "for name in ('polars', 'pandas', 'pyarrow', 'duckdb', 'matplotlib', 'scipy'): sys.modules[name] = None\n"
        "from fairbound.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for name, status in (("rows.csv", 0), ("rows.csv.gz", 0), ("rows.parquet", 2), ("rows.feather", 2)):
        asked = [sys.executable, "-c", code, "certify", str(data / name), *COLUMNS, "--rho", "0.3"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment())
        assert done.returncode == status, done.stderr
        assert ("pip install polars" in done.stderr) == (status == 2)


def test_an_interrupt_is_quiet() -> None:
    with subprocess.Popen(
        command("certify", "-", *COLUMNS, "--rho", "0.3"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(), "PYTHONVERBOSE": ""},
    ) as process:
        assert process.stdin is not None
        text = predictions(60_000).write_csv().encode()
        process.stdin.write(text)  # more than a pipe holds: when all is written, the program is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_closed_pipe_is_quiet(data: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nowhere:
        asked = command("certify", str(data / "rows.csv"), *COLUMNS, "--rho", "0.3")
        done = subprocess.run(asked, stdout=nowhere, stderr=subprocess.PIPE, check=False, env=environment())
    assert (done.returncode, done.stderr) == (141, b"")


def test_progress_is_for_terminals_only() -> None:
    """Until its rows come, the command waits and says so on a terminal; elsewhere nothing is said."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        command("certify", "-", *COLUMNS, "--rho", "0.3"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(),
    ) as process:
        os.close(slave)
        said = b""
        while b"reading - ... 1 s" not in said:
            said += os.read(master, 1000)
        out, _ = process.communicate(predictions().write_csv().encode(), timeout=60)
    while True:
        try:
            said += os.read(master, 1000)
        except OSError:  # the other end is closed
            break
    os.close(master)
    assert process.returncode == 0
    assert b"600 rows" in out
    assert b"reading" not in out
    assert re.sub(rb"reading - \.\.\. \d+ s", b"", said).strip() == b""  # nothing else, and it was wiped off


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script"
    script.write_text(printed(capsys, "completion", shell))
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", str(script)], check=True, capture_output=True)


def complete(script: Path, *words: str) -> set[str]:
    """Ask bash what it would offer for the last word."""
    code = (
        f"source {script}; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _fairbound; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run([bash, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script"
    script.write_text(printed(capsys, "completion", "bash"))
    assert complete(script, "fairbound", "") == {*COMMANDS, "--help", "--version"}
    assert complete(script, "fairbound", "cer") == {"certify"}
    assert complete(script, "fairbound", "certify", "x.csv", "--shift", "") == {"general", "stratified", "sensitive"}
    assert complete(script, "fairbound", "certify", "x.csv", "--sh") == {"--shift"}
    assert complete(script, "fairbound", "certify", "x.csv", "--label", "") == set()
    assert "--threshold" in complete(script, "fairbound", "radius", "--")
    assert complete(script, "fairbound", "completion", "") >= {"bash", "zsh", "fish"}


def test_fish_and_zsh_know_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    fish, zsh = printed(capsys, "completion", "fish"), printed(capsys, "completion", "zsh")
    for word in ("shift", "threshold", "fail-above", "label", "output"):
        assert f"-l {word} " in fish
        assert f"--{word}" in zsh
    assert "-l shift -x -a 'general stratified sensitive'" in fish


def test_metrics(data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Another metric than the loss: what is said, from which side, gates, documents and pages."""
    asked = ["certify", str(data / "rows.csv"), *COLUMNS, "--rho", "0.3", "--shift", "sensitive"]
    document, page = tmp_path / "c.json", tmp_path / "c.html"
    files = ["--json", str(document), "--html", str(page)]
    assert main([*asked, "--metric", "demographic_parity_difference", *files]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "demographic parity difference (predicting" in printed
    assert "the largest difference between two groups in selection rate" in printed
    assert ") is at most the bound" in printed
    assert "base rate selection rate" in printed  # the table shows what the metric is made of
    assert verify(document.read_bytes()).valid
    shown = " ".join(page.read_text(encoding="utf-8").split())
    assert "the largest difference between two groups in selection rate" in shown
    assert main(["show", str(document)]) == 0
    assert main(["report", str(document), "-o", str(page)]) == 0
    assert main([*asked, "--metric", "demographic_parity_ratio", "--fail-below", "1.0"]) == 1
    assert "the bound falls below 1 at rho = 0.3" in capsys.readouterr().err
    assert main([*asked, "--metric", "demographic_parity_ratio", "--fail-above", "0.5"]) == 2
    assert "use --fail-below" in capsys.readouterr().err
    assert main([*asked, "--metric", "selection_rate", "--metric-group", "nobody"]) == 2
    assert "--metric-group: there is no group 'nobody'" in capsys.readouterr().err
    assert main([*asked, "--metric", "equalized_odds_difference", "--pos-label", "nothing"]) == 2
    assert "--pos-label: there is no label 'nothing'" in capsys.readouterr().err


def test_a_ratio_is_kept_from_below(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The inverse question about a ratio: its own option, words for its side, and the value on the data."""
    asked = [str(data / "rows.csv"), *COLUMNS, "--shift", "sensitive", "--metric", "demographic_parity_ratio"]
    kept = facts(capsys, "radius", *asked, "--threshold", "0.2")
    assert kept["result"]["bound"] >= 0.2
    assert kept["population"]["loss"] == "selected"
    rows = facts(capsys, "certify", *asked, "--rho", "0.3")
    rate: dict[str, float] = {}
    share: dict[str, float] = {}
    for cell in rows["population"]["cells"]:
        rate[cell["group"]] = rate.get(cell["group"], 0.0) + cell["mass"] * (cell["mean"] or 0.0)
        share[cell["group"]] = share.get(cell["group"], 0.0) + cell["mass"]
    by_hand = [rate[group] / share[group] for group in rate]
    assert rows["value_on_data"] == pytest.approx(min(by_hand) / max(by_hand), abs=1e-12)
    assert main(["radius", *asked, "--threshold", "0.2"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "stays at or above 0.2 up to rho" in printed
    assert f"{rows['value_on_data']:.4f} on the data" in printed
    outside = any("the data themselves are worse" in caution["text"] for caution in rows["warnings"])
    assert outside == (rows["value_on_data"] < rows["results"][0]["bound"])  # base rates of the data differ
    assert main(["radius", *asked, "--threshold", "0.9999"]) == 1
    assert "--threshold 0.9999 cannot be kept at any radius" in (said := capsys.readouterr().err)
    assert "smaller already; use a smaller one" in said


def test_what_a_metric_does_not_take_is_said_in_options(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["certify", str(data / "rows.csv"), *COLUMNS, "--rho", "0.3"]
    name = facts(capsys, *asked)["population"]["groups"][0]
    assert main([*asked, "--metric", "demographic_parity_difference", "--metric-group", str(name)]) == 2
    assert "compares all groups; leave --metric-group out" in capsys.readouterr().err
    assert main([*asked, "--metric-group", str(name)]) == 2
    assert capsys.readouterr().err.startswith("fairbound: --metric-group ")
    assert main([*asked, "--rho", "0.99", "--metric", "demographic_parity_difference"]) == 0
    assert "At rho = 0.99 the bound says nothing" in " ".join(capsys.readouterr().out.split())
