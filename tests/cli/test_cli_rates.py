"""Base rates that may differ, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairbound.cli import main
from tests.commands import COLUMNS, predictions


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    predictions().write_csv(path)
    return str(path)


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_a_tolerance(data: str, shift: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, document = tmp_path / "page.html", tmp_path / "certificate.json"
    options = ["--rho", "0.2", "--shift", shift, "--base-rate-tolerance", "0.05"]
    assert main(["certify", data, *COLUMNS, *options, "--json", str(document), "--html", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The nearest distribution with base rates within 0.05 of each other is at" in said
    assert "Over every distribution with base rates within 0.05 of each other within Hellinger distance rho" in said
    assert "the base rates of any two groups differ by at most 0.05" in said
    assert "equal base rates" not in said
    assert "every distribution with base rates within 0.05 of each other within" in page.read_text(encoding="utf-8")
    assert main(["verify", str(document)]) == 0
    assert "base rates within 0.05 of each other" in capsys.readouterr().out
    assert main(["show", str(document)]) == 0
    assert "differ by at most 0.05" in " ".join(capsys.readouterr().out.split())


def test_no_condition(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", data, *COLUMNS, "--rho", "0", "--rho", "0.2", "--no-base-rate-constraint"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "There is no condition on base rates: every rho can be certified." in said
    assert "Over every distribution within Hellinger distance rho of the data" in said
    assert "equal base rates" not in said


def test_what_is_printed_for_programs(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    bounds = []
    for more in ([], ["--base-rate-tolerance", "0.05"], ["--no-base-rate-constraint"]):
        assert main(["certify", data, *COLUMNS, "--rho", "0.2", "--format", "json", *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["question"]["fair"] is ("--no-base-rate-constraint" not in more)
        assert found["question"]["base_rate_tolerance"] == (0.05 if "0.05" in more else None)
        bounds.append(found["results"][0]["bound"])
    assert bounds == sorted(bounds)


def test_the_largest_radius(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["radius", data, *COLUMNS, "--threshold", "0.4", "--base-rate-tolerance", "0.05"]) == 0
    assert "differ by at most 0.05" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--base-rate-tolerance", "2"], "--base-rate-tolerance 2"),
        (["--base-rate-tolerance", "0.1", "--no-base-rate-constraint"], "not allowed with"),
        (
            ["--base-rate-tolerance", "0.1", "--label-skew", "0.2"],
            "--label-skew 0.2 needs equal base rates and does not go with --base-rate-tolerance 0.1",
        ),
        (["--no-base-rate-constraint", "--label-skew", "0.2"], "does not go with --no-base-rate-constraint"),
    ],
)
def test_what_cannot_be_asked(
    data: str, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", data, *COLUMNS, "--rho", "0.2", *options]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "fair=" not in said


def test_nothing_to_certify(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", data, *COLUMNS, "--rho", "0.01", "--base-rate-tolerance", "0.05"]) == 2
    assert "no distribution with base rates within 0.05 of each other is nearer than" in capsys.readouterr().err
