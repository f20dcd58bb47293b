"""The study of remedies: its numbers are those of the parts that it is made of."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fairbound.cli import main
from fairbound.experiments.improving import _cooled


def test_temperatures_keep_the_order() -> None:
    rng = np.random.default_rng(0)
    probability = rng.dirichlet([2, 3], size=100)
    np.testing.assert_allclose(_cooled(probability, 1.0), probability, rtol=1e-9)
    odds = np.log(probability[:, 1] / probability[:, 0])
    cooled = _cooled(probability, 2.5)
    np.testing.assert_allclose(np.log(cooled[:, 1] / cooled[:, 0]), odds / 2.5, rtol=1e-9)
    assert (cooled.argmax(axis=1) == probability.argmax(axis=1)).all()


def test_the_study_is_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "improve", "tables", "--out", str(tmp_path)]) == 2
    assert "improve is a study with a page of its own; run it alone" in capsys.readouterr().err
    pytest.importorskip("fairlearn")
    assert main(["reproduce", "improve", "--model", "forest", "--out", str(tmp_path)]) == 2
    assert "--model 'forest' is not known; use logistic, boosting" in capsys.readouterr().err


@pytest.mark.slow
def test_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fairlearn")
    asked = ["reproduce", "improve", "--quick", "--dataset", "german", "--out", str(tmp_path)]
    assert main(asked) == 0
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "german, logistic regression" in page
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"improve.png", "improve.svg"}
    with (tmp_path / "data" / "improve-german-logistic-values.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    plain = {line["seed"]: float(line["sensitive"]) for line in lines if line["method"] == "plain"}
    blind = {line["seed"]: float(line["sensitive"]) for line in lines if line["method"] == "blind"}
    assert len(plain) == len(blind) == 2
    for line in lines:  # whatever shifts, the worst case includes what only moves cells
        assert float(line["sensitive"]) <= float(line["general"]) + 1e-6
    assert np.mean([blind[seed] for seed in plain]) < np.mean([*plain.values()])
    before = page
    assert main(asked) == 0  # from what is there
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == before
    capsys.readouterr()
