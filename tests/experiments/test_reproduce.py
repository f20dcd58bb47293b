"""The command that reproduces the paper's experiments: one quick run, checked from its files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from fairbound.cli import main
from fairbound.experiments import command, shifting
from fairbound.experiments.generated import Generated, sensitive_shifts

Table = dict[str, list[str]]


def read(file: Path) -> Table:
    """Return the columns of a CSV file."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in rows[0]}


def column(table: Table, name: str) -> np.ndarray:
    return np.array([float(value) if value else np.nan for value in table[name]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run everything on the datasets that ship."""
    out = tmp_path_factory.mktemp("reproduce")
    assert main(["reproduce", "--quick", "--out", str(out)]) == 0
    return out


def curves(folder: Path, experiment: str) -> list[str]:
    found = sorted(file.name.removesuffix("-curve.csv") for file in (folder / "data").glob(f"{experiment}-*-curve.csv"))
    assert len(found) == 6  # three datasets, two losses
    return found


@pytest.mark.parametrize("experiment", ["sensitive", "general"])
def test_no_generated_distribution_is_above(folder: Path, experiment: str) -> None:
    """Each is below the bound at the next larger radius, which is that of a ball around it."""
    for name in curves(folder, experiment):
        curve, points = (read(folder / "data" / f"{name}-{part}.csv") for part in ("curve", "points"))
        rho, bound = column(curve, "rho"), column(curve, "bound")
        distance, loss = column(points, "distance"), column(points, "loss")
        assert len(distance) == 3000
        assert not np.isnan(distance).any()
        inside = distance <= rho[-1]
        next_bound = bound[np.searchsorted(rho, distance[inside])]
        assert (loss[inside] <= next_bound + 1e-8).all()  # points are written with nine digits


def test_sensitive_shifting_is_tight(folder: Path) -> None:
    for name in curves(folder, "sensitive"):
        tenths = read(folder / "data" / f"{name}-tenths.csv")
        enough = column(tenths, "count") >= 100
        assert enough.sum() >= 4
        margin = column(tenths, "margin")[enough]
        assert (margin >= -1e-12).all()
        assert (margin <= 0.01).all()


def test_the_paper_is_nowhere_below(folder: Path) -> None:
    for name in curves(folder, "general"):
        baseline = read(folder / "data" / f"{name}-baseline.csv")
        ours, moments, paper = (column(baseline, part) for part in ("ours", "ours_from_moments", "bound"))
        feasible = ~np.isnan(ours)
        assert feasible.sum() >= 4
        assert (ours[feasible] <= moments[feasible] + 2e-6).all()
        assert (moments[feasible] < paper[feasible]).all()
        assert (paper[feasible] - ours[feasible]).max() > 0.03


def test_certificates_of_a_sample_are_larger(folder: Path) -> None:
    files = sorted((folder / "data").glob("samples-*-curve.csv"))
    assert len(files) == 12
    for file in files:
        table = read(file)
        plain, sure = column(table, "bound"), column(table, "confident")
        feasible = ~np.isnan(plain)
        assert (sure[feasible] >= plain[feasible]).all()


def test_far_below_the_robustness_certificate(folder: Path) -> None:
    table = read(folder / "data" / "wrm-curve.csv")
    ours, wrm, helped = (column(table, name) for name in ("bound", "wrm", "wrm_if_smoothness_were_as_seen"))
    feasible = ~np.isnan(ours)
    assert (2 * ours[feasible] < wrm[feasible]).all()
    assert (ours[feasible] < helped[feasible]).all()


def test_the_tables_stand_beside_the_paper(folder: Path) -> None:
    table = read(folder / "data" / "tables-adult-values.csv")
    for model in ("trained", "equal"):
        assert (column(table, f"general_{model}") < column(table, f"general_{model}_paper")).all()
        assert (column(table, f"general_{model}") < column(table, f"general_{model}_grid")).all()
    assert float(read(folder / "data" / "tables-adult-total.csv")["error"][0]) == pytest.approx(0.148, abs=0.01)
    assert np.ptp(column(table, "sensitive_equal")) < 1e-6


def test_the_page_shows_everything(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'(?:src|href)="([^"]+)"', page))
    assert all((folder / name).is_file() for name in shown)
    files = {f"{file.parent.name}/{file.name}" for part in ("data", "figures") for file in (folder / part).iterdir()}
    assert files == shown
    assert "all passed" in page
    assert not re.search(r"\bfair\b|compliant", page.replace("Certifying Some Distributional Fairness", ""))
    assert (folder / "results.md").read_text(encoding="utf-8").startswith("# ")


def test_what_is_done_is_not_done_again(folder: Path) -> None:
    def state() -> dict[Path, int]:
        files = [file for file in folder.rglob("*") if file.is_file() and file.suffix not in {".html", ".md"}]
        return {file: file.stat().st_mtime_ns for file in files}

    before = state()
    assert main(["reproduce", "--quick", "--out", str(folder)]) == 0
    assert state() == before


def test_a_distribution_above_its_certificate_fails_loudly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of 3,000 distributions is moved just above the curve; nothing else is wrong."""

    def tampered(*arguments: object) -> Generated:
        points = sensitive_shifts(*arguments)  # type: ignore[arg-type]
        middle = int(np.argmin(np.abs(points.distance - 0.333)))
        loss = points.loss.copy()
        loss[middle] += 1.0 - loss.min()
        return Generated(points.distance, loss)

    monkeypatch.setattr(shifting, "sensitive_shifts", tampered)
    asked = ["reproduce", "sensitive", "--dataset", "german", "--quick", "--out", str(tmp_path)]
    assert main(asked) == 1
    printed = capsys.readouterr()
    assert printed.err.count("FAILED") == 2  # error and BCE
    assert "1 above" in printed.err
    assert "failed" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert main(asked) == 1  # also when nothing is left to compute


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (["everything"], "use sensitive"),
        (["--dataset", "iris"], "use adult"),
        (["--dataset", "german", "--model", "oracle"], "sklearn.ensemble.RandomForestClassifier"),
        (["--dataset", "german", "--model", "sklearn.cluster.KMeans"], "sklearn.ensemble.RandomForestClassifier"),
    ],
)
def test_bad_questions_name_the_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], cure: str
) -> None:
    assert main(["reproduce", "--quick", "--out", str(tmp_path), *arguments]) == 2
    assert cure in capsys.readouterr().err


@pytest.mark.parametrize("library", ["matplotlib", "torch"])
def test_missing_libraries_are_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == library else name)
    assert main(["reproduce", "--out", str(tmp_path), "--dataset", "german"]) == 2
    printed = capsys.readouterr().err
    assert library in printed
    assert f"pip install {library}" in printed


def test_any_classifier_will_do(tmp_path: Path) -> None:
    asked = ["sensitive", "--dataset", "german", "--model", "sklearn.tree.DecisionTreeClassifier"]
    assert main(["reproduce", "--quick", "--out", str(tmp_path), *asked]) == 0
    assert list((tmp_path / "models").glob("german-sklearn.tree.DecisionTreeClassifier-*.npy"))
