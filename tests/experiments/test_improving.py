"""The study of remedies: its numbers are those of the parts that it is made of."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from fairbound.cli import main
from fairbound.datasets import load
from fairbound.experiments.improving import STRATA, _cooled, _joined


def test_temperatures_keep_the_order() -> None:
    rng = np.random.default_rng(0)
    probability = rng.dirichlet([2, 3], size=100)
    np.testing.assert_allclose(_cooled(probability, 1.0), probability, rtol=1e-9)
    odds = np.log(probability[:, 1] / probability[:, 0])
    cooled = _cooled(probability, 2.5)
    np.testing.assert_allclose(np.log(cooled[:, 1] / cooled[:, 0]), odds / 2.5, rtol=1e-9)
    assert (cooled.argmax(axis=1) == probability.argmax(axis=1)).all()


@pytest.mark.parametrize("name", STRATA)
def test_trees_are_given_what_the_other_model_is_given(name: str) -> None:
    """Each category is a number, and no two rows that differ become alike; strata are made of numbers."""
    data = load(name)
    features, categories = _joined(data.feature_names, data.features)
    attributes = list(dict.fromkeys(part.partition("=")[0] for part in data.feature_names))
    assert features.shape == (data.rows, len(attributes))
    for place, attribute in enumerate(attributes):
        of = [n for n, part in enumerate(data.feature_names) if part.partition("=")[0] == attribute]
        if place in categories:
            codes = features[:, place].astype(int)
            np.testing.assert_array_equal(data.features[:, of], np.eye(len(of))[codes])
        else:
            np.testing.assert_array_equal(data.features[:, of[0]], features[:, place])
    assert data.numeric[data.feature_names.index(STRATA[name][0])]


def test_the_study_is_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "improve", "tables", "--out", str(tmp_path)]) == 2
    assert "improve is a study with a page of its own; run it alone" in capsys.readouterr().err
    pytest.importorskip("fairlearn")
    assert main(["reproduce", "improve", "--model", "forest", "--out", str(tmp_path)]) == 2
    assert "--model 'forest' is not known; use logistic, boosting" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_the_study(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fairlearn")
    asked = ["reproduce", "improve", "--quick", "--dataset", "german", "--model", model, "--out", str(tmp_path)]
    assert main(asked) == 0
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert {"logistic": "german, logistic regression", "boosting": "german, gradient boosting"}[model] in page
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"improve.png", "improve.svg"}
    with (tmp_path / "data" / f"improve-german-{model}-values.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    plain = {line["seed"]: float(line["sensitive"]) for line in lines if line["method"] == "plain"}
    blind = {line["seed"]: float(line["sensitive"]) for line in lines if line["method"] == "blind"}
    assert len(plain) == len(blind) == 2
    for line in lines:  # whatever shifts, the worst case includes what only moves cells
        error, *bounds = (float(line[key]) for key in ("error", "sensitive", "stratified", "general"))
        assert bounds[0] <= bounds[1] + 1e-6
        assert bounds[1] <= bounds[2] + 1e-6
        assert error <= bounds[2]
    assert np.mean([blind[seed] for seed in plain]) < np.mean([*plain.values()])
    before = page
    assert main(asked) == 0  # from what is there
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == before
    capsys.readouterr()
