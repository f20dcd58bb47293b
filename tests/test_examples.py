"""The scripts in examples/ run and print what is promised."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import fairbound
from fairbound.datasets.demo import demo_columns, demo_population

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str, *arguments: str, status: int = 0) -> str:
    """Run a script as a person would, with warnings as errors; return what it prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout


def test_all_of_them_are_tested() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for script in EXAMPLES.glob("*.py"):
        assert f'"{script.name}"' in text


@pytest.mark.parametrize(("limit", "status", "word"), [("0.30", 0, "kept"), ("0.25", 1, "exceeded")])
def test_gate(limit: str, status: int, word: str) -> None:
    printed = run("gate_a_release.py", "--limit", limit, status=status)
    assert "error on 7508 held-out rows: 0.1532" in printed
    assert "certified at rho = 0.2, confidence 0.95: at most 0.2795" in printed
    assert printed.endswith(f"{word}\n")


def test_audit() -> None:
    printed = run("audit_a_certificate.py")
    honest, forged = printed.split("forged.json: ")
    assert honest.startswith("honest.json: the claim is proved\n")
    assert "claimed: zero_one at most 0.242389 at rho = 0.2" in honest
    assert "Female >50K: weight 557, mean loss 0.4847" in honest
    assert forged.startswith("not proved\n")
    assert "do not prove the claimed bound" in forged


def test_audit_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    text = fairbound.certify(demo_population(demo_columns()), 0.1, confidence=0.9).to_json()
    file.write_text(text, encoding="utf-8")
    assert "the claim is proved" in run("audit_a_certificate.py", str(file))
    file.write_text(text[:-1], encoding="utf-8")
    assert "not a certificate" in run("audit_a_certificate.py", str(file), status=1)


def test_plan() -> None:
    lines = run("plan_a_test.py").splitlines()
    assert lines[1] == "with a known population: sensitive 0.202, general 0.361"
    plan = [line.replace(",", "").split() for line in lines[3:6]]
    assert [row[0] for row in plan] == ["0.05", "0.02", "0.01"]
    assert [int(row[1]) for row in plan] == pytest.approx([3280, 18400, 70912], rel=0.02)
    assert [int(row[2]) for row in plan] == pytest.approx([1648, 8752, 32896], rel=0.02)
    assert lines[-1] == "3,000 rows raise the sensitive bound by 0.052"


def test_large_table() -> None:
    lines = run("large_table.py", "--rows", "200000").splitlines()
    assert lines[0].startswith("200,000 rows")
    answers = [
        re.fullmatch(r"(\w+): counted in [\d.]+ s; Brier score ([\d.]+), at most ([\d.]+)", x) for x in lines[1:]
    ]
    assert [answer and answer[1] for answer in answers] == ["Polars", "DuckDB"]
    scores, bounds = zip(*((float(answer[2]), float(answer[3])) for answer in answers if answer), strict=True)
    assert scores[0] == pytest.approx(scores[1], abs=2e-6)
    assert bounds[0] == pytest.approx(bounds[1], abs=2e-6)
    assert scores[0] < bounds[0] < 0.4


def test_tests_of_a_model(tmp_path: Path) -> None:
    """Run by pytest, with the plugin, which is not loaded by itself where fairbound was installed before it had one."""
    known = any(entry.name == "fairbound" for entry in entry_points(group="pytest11"))
    named = [] if known else ["-p", "fairbound.integrations.pytest_plugin"]
    file = tmp_path / "test_a_model.py"
    file.write_bytes((EXAMPLES / "test_a_model.py").read_bytes())
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *named, "--fairbound-report=kept", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 3
