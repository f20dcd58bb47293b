"""What a pipeline is told: Markdown that shows names as they are, GitHub's commands, JUnit's XML, one line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

from fairbound import Outcome, Population, SmallCellWarning, certify, certify_all, certify_curve
from fairbound.cli import main
from fairbound.cli.program import parser
from fairbound.integrations.pipelines import github_annotations, junit, write_step_summary
from fairbound.integrations.summary import Summary
from tests.commands import PIPELINE
from tests.integrations.problems import population

ROOT = Path(__file__).resolve().parents[2]
ON_GITHUB = {"GITHUB_ACTIONS": "true"}
QUESTIONS = {"loss": 0.9, "demographic_parity_ratio": 0.99, "group_loss": None}


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PIPELINE:
        monkeypatch.delenv(name, raising=False)


def test_what_all_partners_are_told_is_the_certificates() -> None:
    evidence = certify_all(population(), QUESTIONS, [0.1, 0.2])
    summary = Summary.of(evidence)
    for lines, curve in zip(summary.questions, evidence, strict=True):
        for line, c in zip(lines, curve, strict=True):
            assert (line.bound, line.attained, line.on_data, line.rho) == (c.bound, c.attained, c.on_data, c.rho)
            low, high = line.interval
            assert low is not None
            assert high is not None
            assert low <= high
    assert [line.kept for line in summary.lines] == [True, True, False, False, None, None]
    assert [line.rho for line in summary.worst] == [0.2, 0.2, 0.2]
    read = Summary.of(summary.document)
    assert read.lines == summary.lines
    assert (read.verdict, summary.verdict) == ("failed", "failed")
    assert summary.verification.valid
    assert Summary.of(certify(population(), 0.1)).verdict == "no threshold"
    curve = certify_curve(population(), [0.0, 0.1, 0.2])
    assert len(Summary.of(curve).lines) == 2
    assert Summary.of(curve).document == curve.to_json().encode()


def test_of_a_sample_one_end_of_the_interval_is_not_known() -> None:
    lines = Summary.of(certify_all(population(), ["loss", "demographic_parity_ratio"], [0.1], confidence=0.9)).lines
    assert [line.interval for line in lines] == [(None, lines[0].bound), (lines[1].bound, None)]


def test_markdown_shows_names_as_they_are() -> None:
    """A name is no markup: it neither ends a cell nor begins a link, an image or a tag."""
    pytest.importorskip("markdown_it", reason="markdown-it is not installed")
    from markdown_it import MarkdownIt  # noqa: PLC0415 (it may be missing)

    evil = ["a|b", "<script>x</script>", "![i](http://e)", "_em_ *st* `c`", "a\nb", "[l](x)", "&amp; \\"]
    y, predicted, sex = [0, 1] * 70, [0, 1, 1, 1] * 35, evil * 20
    named = Population.from_predictions(y, predicted, sensitive_features=sex)
    questions = [{"metric": "group_loss", "group": group, "threshold": 0.01} for group in evil]
    text = Summary.of(certify_all(named, questions, [0.2])).markdown()
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert not any(tag in page for tag in ("<script", "<img", "<a ", "<em>", "<code>"))
    root = Xml.fromstring(f"<p>{page}</p>")  # noqa: S314 (our own)
    rows = [[("".join(cell.itertext())) for cell in row] for row in root.iter("tr")]
    assert {len(row) for row in rows} == {8}
    assert [row[0] for row in rows[1:]] == [f"group_loss[{' '.join(group.split())}]" for group in evil]


def test_markdown_says_what_to_be_careful_about() -> None:
    few = Population.from_predictions([0, 1] * 6, [0, 1, 1] * 4, sensitive_features=["a"] * 8 + ["b"] * 4)
    with pytest.warns(SmallCellWarning):
        text = Summary.of(certify(few, 0.3, confidence=0.9)).markdown()
    assert "* Be careful: " in text
    assert "with probability at least 90%" in text


def test_a_step_summary_is_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    evidence = certify_all(population(), QUESTIONS, [0.1])
    assert write_step_summary(evidence, {"GITHUB_STEP_SUMMARY": str(file)}) == file
    text = file.read_text("utf-8")
    assert text.startswith("before\n## Certified bounds\n\n**Failed**")
    assert "| demographic_parity_ratio | 0.1 | at least |" in text
    assert write_step_summary(evidence, {}) is None


def test_annotations_are_commands_of_one_line() -> None:
    names = ["a::b,c%", "a\r\n::error::x"]
    y, predicted = [0, 1] * 100, [0, 1, 1, 1] * 50
    named = Population.from_predictions(y, predicted, sensitive_features=[*[names[0]] * 100, *[names[1]] * 100])
    questions = [{"metric": "group_loss", "group": group, "threshold": 0.01} for group in names]
    evidence = certify_all(named, questions, [0.2])
    found = github_annotations(evidence, ON_GITHUB)
    assert len(found) == 2
    for command in found:
        assert command.startswith("::error title=fairbound%3A group_loss::failed: ")
        assert not set(command) & {"\n", "\r"}
    assert "%25" in found[0]
    assert github_annotations(evidence, {}) == []
    assert github_annotations(certify_all(named, {"loss": 1.0}, [0.2]), ON_GITHUB) == []


def test_what_rows_do_not_settle_is_a_warning_and_an_error_of_junit() -> None:
    evidence = certify_all(population(), {"loss": 0.3}, [0.1], confidence=0.9)
    assert evidence.outcome is Outcome.UNSETTLED
    (command,) = github_annotations(evidence, ON_GITHUB)
    assert command.startswith("::warning ")
    assert "would settle it" in command
    (case,) = Xml.fromstring(junit(evidence)).iter("testcase")  # noqa: S314 (our own)
    assert case.find("failure") is None
    error = case.find("error")
    assert error is not None
    assert error.get("type") == "unsettled"


def test_junit_has_a_case_for_each_question() -> None:
    evidence = certify_all(population(), QUESTIONS, [0.1, 0.2])
    suite = Xml.fromstring(junit(evidence))[0]  # noqa: S314 (our own)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    cases = list(suite)
    assert [case.get("name") for case in cases] == list(QUESTIONS)
    assert [case.find("failure") is not None for case in cases] == [False, True, False]
    told = {p.get("name"): p.get("value") for p in cases[0].iter("property")}
    assert float(str(told["bound@0.2"])) == evidence["loss"].bound[1]
    assert told["threshold@0.2"] == "0.9"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    rows = [f"{y},{y if n % 4 else 'no'},{sex}" for sex in "fm" for y in ("no", "yes") for n in range(50)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,said,sex", *rows]) + "\n")
    file = tmp_path / "fairbound.toml"
    file.write_text(
        'file = "rows.csv"\nlabel = "y"\nprediction = "said"\ngroup = "sex"\nrho = 0.1\n'
        "[metrics]\nloss = { fail-above = 0.3 }\ndemographic_parity_ratio = { fail-below = 0.99 }\n"
    )
    return file


@pytest.mark.parametrize("form", ["markdown", "junit", "line", "json", "text"])
def test_the_gate_speaks_every_form(gate: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(gate), "--format", form]) == 1
    captured = capsys.readouterr()
    if form == "markdown":
        assert captured.out.startswith("## Certified bounds\n\n**Failed**\n")
    elif form == "junit":
        assert Xml.fromstring(captured.out)[0].get("failures") == "1"  # noqa: S314 (our own)
    elif form == "line":
        assert captured.out.startswith("failed: demographic parity ratio (predicting 'yes') has to be at least 0.99")
        assert (captured.out.count("\n"), captured.err) == (1, "")
    elif form == "json":
        assert json.loads(captured.out)["passed"] is False
    else:
        assert "Gates" in captured.out
    if form != "line":
        assert "falls below 0.99" in captured.err


def test_quiet_is_one_line_and_the_same_status(gate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate.write_text(gate.read_text().replace("0.99", "0.1"))
    assert main(["gate", str(gate), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("passed: error rate at most 0.")
    assert (captured.out.count("\n"), captured.err) == (1, "")


def test_on_github_the_step_has_a_summary_and_annotations(
    gate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert main(["gate", str(gate), "--format", "json"]) == 1
    captured = capsys.readouterr()
    json.loads(captured.out)  # nothing but the results
    assert [line for line in captured.err.split("\n") if line.startswith("::error title=")]
    assert "**Failed**" in (tmp_path / "summary.md").read_text("utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder"))
    assert main(["gate", str(gate), "--quiet"]) == 2
    assert "GITHUB_STEP_SUMMARY cannot be written" in capsys.readouterr().err


def test_bounds_without_thresholds_are_no_gate(
    gate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    asked = ["--label", "y", "--prediction", "said", "--group", "sex", "--rho", "0.1", "--quiet"]
    assert main(["certify", str(gate.with_name("rows.csv")), *asked]) == 0
    assert capsys.readouterr().out.startswith("error rate at most 0.")
    assert not (tmp_path / "summary.md").exists()


def test_the_hook_is_a_command_of_ours() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["entry"].split()[0] == "fairbound"
    assert hook["pass_filenames"] is False


def commands(found: Any) -> Iterator[str]:
    """Yield the commands of ours in a workflow, wherever they stand."""
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from commands(one)
    elif isinstance(found, str) and found.startswith("fairbound "):
        yield found.partition(" > ")[0]


def test_workflows_of_the_page_are_yaml_and_run_commands_that_there_are() -> None:
    text = (ROOT / "docs" / "integrations.md").read_text("utf-8")
    blocks = [part.partition("\n```")[0] for part in text.split("```yaml\n")[1:]]
    assert [block.partition("\n")[0] for block in blocks] == [
        "# .github/workflows/fairbound.yml",
        "# .gitlab-ci.yml",
        "# .pre-commit-config.yaml",
    ]
    workflow, job, hooks = map(yaml.safe_load, blocks)
    for found in (workflow, job):
        (command,) = commands(found)
        name, *arguments = shlex.split(command)[1:]
        parsed = parser([name]).parse_args([name, *arguments])
        assert (parsed.command, parsed.config) == ("gate", "fairbound.toml")
    assert job["certified-bounds"]["allow_failure"] == {"exit_codes": [3]}
    assert hooks["repos"][0]["hooks"] == [{"id": "fairbound-gate"}]


@pytest.mark.slow
def test_pre_commit_runs_the_hook(gate: Path, tmp_path: Path) -> None:
    """Installs this tree into an environment of its own."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    variables = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "hooks")}
    variables.pop("PYTHONPATH", None)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=gate.parent, capture_output=True, text=True, check=False, env=variables, timeout=600
        )

    assert run("git", "init", "--quiet").returncode == 0
    assert run("git", "add", "rows.csv", "fairbound.toml").returncode == 0
    tried = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "fairbound-gate", "--all-files", "--verbose"]
    done = run(*tried)
    assert "failed: demographic parity ratio (predicting 'yes') has to be at least 0.99" in done.stdout, done.stderr
    assert done.returncode == 1
    gate.write_text(gate.read_text().replace("0.99", "0.1"))
    run("git", "add", "fairbound.toml")
    done = run(*tried)
    assert (done.returncode, "passed: error rate at most" in done.stdout) == (0, True)
