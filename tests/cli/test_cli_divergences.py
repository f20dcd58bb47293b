"""Other distances on the command line, in notebooks, pictures and reports: they are called by their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairbound import Population, certify, certify_curve, report, verify
from fairbound.cli import main
from tests.commands import COLUMNS, predictions
from tests.problems import E, P

MEAN = Population.from_moments(P, E)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    predictions().write_csv(file)
    return file


def test_certify(rows: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate, page = tmp_path / "c.json", tmp_path / "c.html"
    question = ["--rho", "0.3", "--divergence", "total_variation", "--shift", "sensitive"]
    files = ["--json", str(certificate), "--html", str(page)]
    assert main(["certify", str(rows), *COLUMNS, *question, *files]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "within total variation distance rho of the data" in printed
    assert "is at total variation distance" in printed
    assert "Hellinger" not in printed
    assert verify(certificate.read_bytes()).valid
    assert "within total variation distance" in page.read_text(encoding="utf-8")
    assert "Hellinger" not in page.read_text(encoding="utf-8")
    assert main(["certify", str(rows), *COLUMNS, *question, "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    population = Population.from_frame(predictions(), label="income", group="sex", prediction="yhat")
    expected = certify(population, 0.3, divergence="total_variation", shift="sensitive").bound
    assert facts["results"][0]["bound"] == expected
    assert facts["question"]["divergence"] == "total_variation"


def test_metrics(rows: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    question = ["--rho", "0.3", "--divergence", "total_variation", "--metric", "selection_rate", "--pos-label", "yes"]
    assert main(["certify", str(rows), *COLUMNS, *question, "--json", str(certificate)]) == 0
    assert "selection rate" in capsys.readouterr().out
    assert verify(certificate.read_bytes()).valid
    compared = ["--rho", "0.3", "--divergence", "kl", "--metric", "demographic_parity_difference", "--pos-label", "yes"]
    for shift in ("general", "sensitive"):
        assert main(["certify", str(rows), *COLUMNS, *compared, "--shift", shift]) == 0
        assert "Kullback-Leibler" in capsys.readouterr().out
    ratio = ["--rho", "0.3", "--divergence", "kl", "--metric", "demographic_parity_ratio", "--pos-label", "yes"]
    assert main(["certify", str(rows), *COLUMNS, *ratio]) == 0
    assert "demographic parity ratio" in capsys.readouterr().out
    assert main(["certify", str(rows), *COLUMNS, *ratio, "--no-base-rate-constraint"]) == 2
    assert "leave that out, or use a metric of one group" in capsys.readouterr().err


def test_any_base_rates_and_radius(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    free = ["--divergence", "kl", "--no-base-rate-constraint"]
    assert main(["certify", str(rows), *COLUMNS, "--rho", "2.5", *free]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Over every distribution within Kullback-Leibler divergence rho" in printed
    assert "There is no condition on base rates" in printed
    assert main(["radius", str(rows), *COLUMNS, "--threshold", "0.5", *free]) == 0
    assert "0.5 up to rho =" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--divergence", "kl", "--confidence", "0.9"], "leave --confidence out"),
        (["--divergence", "kl", "--base-rate-tolerance", "0.1"], "does not go with --divergence kl"),
        (
            ["--divergence", "kl", "--no-base-rate-constraint", "--group-skew", "0.5"],
            "leave them out with --no-base-rate-constraint",
        ),
        (["--divergence", "total_variation", "--rho", "1.5"], "--rho 1.5 is outside [0, 1]"),
    ],
)
def test_bad_questions(rows: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    assert main(["certify", str(rows), *COLUMNS, "--rho", "0.1", *options]) == 2
    assert words in capsys.readouterr().err


def test_pages_and_pictures_name_the_distance() -> None:
    curve = certify_curve(MEAN, [0.01, 0.05, 0.1, 2.0], divergence="chi_squared", shift="sensitive")
    assert curve.plot().get_xlabel() == "rho: chi-squared divergence from the data"
    assert "nearest distribution with equal base rates is at chi-squared divergence" in curve._repr_html_()
    page = report(curve)
    assert "rho: chi-squared divergence from the data" in page
    assert "Hellinger" not in page
    assert "Bound proved" in page
    single = certify(MEAN, 0.1, divergence="kl", fair=False)
    assert "In every distribution within Kullback-Leibler divergence 0.1 of the data" in single._repr_html_()
    page = report(single)
    assert "whatever its base rates" in page
    assert "Over every distribution within Kullback-Leibler divergence" in " ".join(page.split())
