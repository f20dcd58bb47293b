"""Two models side by side: what is said of them is what is proved of both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairbound import CertificateCurve, Population, certify, certify_curve, report
from fairbound.cli import main
from fairbound.problem.metrics import MetricName
from fairbound.reporting.comparison import Comparison
from fairbound.reporting.report_data import examine
from tests.reporting.test_report import Page, words

RADII = [0.15, 0.2, 0.3, 0.4]
MASS = [[0.4, 0.2], [0.3, 0.1]]


def curve(errors: list[list[float]], radii: list[float] = RADII, metric: MetricName = "loss") -> CertificateCurve:
    """Return certificates of a model with these errors in the cells."""
    return certify_curve(Population.from_moments(MASS, errors), radii, metric=metric, shift="sensitive")


OLD, BETTER = [[0.1, 0.3], [0.1, 0.4]], [[0.05, 0.2], [0.05, 0.3]]

#: Better on the data, and worse far away: all its errors are in one small cell.
MIXED = [[0.02, 0.1], [0.02, 0.6]]


def compared(old: CertificateCurve, new: CertificateCurve) -> Comparison:
    return Comparison(examine(old).questions[0], examine(new).questions[0], ("may", "june"))


def test_every_row_is_proved_of_both_and_the_outcome_follows() -> None:
    old, new = curve(OLD), curve(BETTER, [0.15, 0.25, 0.35])
    found = compared(old, new)
    assert [row["rho"] for row in found.rows] == ["0.15", "0.2", "0.25", "0.3", "0.35", "0.4"]
    for row in found.rows:
        for name, errors in (("old", OLD), ("new", BETTER)):
            best = certify(Population.from_moments(MASS, errors), float(row["rho"]), shift="sensitive").bound
            assert best <= float(row[name]) <= best + 5e-3
        assert row["outcome"] == "better"
        assert float(row["by"]) == pytest.approx(float(row["old"]) - float(row["new"]))
    assert found.outcomes == ["better"]
    assert compared(new, old).outcomes == ["worse"]
    assert compared(old, old).outcomes == ["the same"]


def test_the_page_begins_with_the_answer() -> None:
    old, new = curve(OLD), curve(BETTER)
    text = words(Page(report(new, against=old)))
    assert text.index("Better at every distance that was compared.") < text.index("What rho means here")
    assert "the newer model is better by" not in text  # the table's head says of whom it speaks
    row = compared(old, new).middle
    assert f"at most {row['new']} for the newer model, and at most {row['old']} for the older model" in text
    assert "Worse at every distance" in words(Page(report(old, against=new)))
    assert "The same at every distance" in words(Page(report(old, against=old)))


def test_of_a_ratio_more_is_better() -> None:
    selected = [Population.from_moments(MASS, OLD, selection_rate=rate) for rate in ([[0.2, 0.5], [0.1, 0.4]],) * 2]
    closer = Population.from_moments(MASS, OLD, selection_rate=[[0.2, 0.5], [0.19, 0.49]])
    old, new = (
        certify_curve(p, [0.15, 0.2], metric="demographic_parity_ratio", shift="sensitive")
        for p in (selected[0], closer)
    )
    found = compared(old, new)
    assert found.outcomes == ["better"]
    assert all(float(row["new"]) > float(row["old"]) for row in found.rows)
    assert "a bound that is higher is better" in words(Page(report(new, against=old)))


def test_models_may_be_better_here_and_worse_there() -> None:
    near = curve(OLD, [0.15, 0.5])
    found = compared(near, curve(MIXED, [0.15, 0.5]))
    assert found.outcomes == ["better", "worse"]
    assert "Mixed: better at some distances, worse at others" in words(
        Page(report(curve(MIXED, [0.15, 0.5]), against=near))
    )


def test_other_questions_are_not_compared() -> None:
    old = certify_curve(Population.from_moments(MASS, OLD), RADII, group_skew=0.5)
    text = words(Page(report(curve(BETTER), against=old)))
    assert "They differ in the shift; how far group shares may differ." in text
    assert not any(said in text for said in ("Better", "Worse", "The same at every"))
    assert compared(old, curve(BETTER)).differences == ["the shift", "how far group shares may differ"]


def test_what_is_not_proved_is_not_compared() -> None:
    document = json.loads(curve(OLD).to_json())
    for claim in (document["questions"][0]["points"][-1]["claim"], *document["questions"][0]["points"][-1]["answers"]):
        claim["bound"] -= 0.01
    text = words(Page(report(curve(BETTER), against=json.dumps(document))))
    assert "Not both certificates are proved, so nothing is said of which model is better." in text
    assert "Better" not in text


def test_other_tables_are_named() -> None:
    other = certify_curve(Population.from_moments([[0.4, 0.2], [0.2, 0.2]], BETTER), RADII, shift="sensitive")
    assert "what differs may be the data, not the model" in report(other, against=curve(OLD))
    assert "what differs may be the data, not the model" not in report(curve(BETTER), against=curve(OLD))


def test_names_from_strangers_stay_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("<b>may<b>.json").write_text(curve(OLD).to_json())
    Path("june.json").write_text(curve(BETTER).to_json())
    assert main(["report", "<b>may<b>.json", "june.json", "-o", "both.html"]) == 0
    assert "both.html: a report about june.json, against <b>may<b>.json" in capsys.readouterr().out
    page = Page(Path("both.html").read_text(encoding="utf-8"))
    assert "b" not in [tag for tag, _ in page.elements]
    assert "june against <b>may<b>" in words(page)
    assert main(["report", "june.json", "june.json", "june.json"]) == 2
    assert "report compares two certificates at most, and 3 are named" in capsys.readouterr().err


def test_curves_are_drawn_in_one_picture() -> None:
    found = compared(curve(OLD), curve(BETTER))
    for picture in found.pictures:
        assert picture.count('class="older"') == picture.count('class="bound"') == 1
    heights = [np.array([float(at.split()[1]) for at in line.split("L")[1:]]) for line in lines(found.pictures[0])]
    assert heights[0].min() < heights[1].min()  # the older model is higher up


def lines(picture: str) -> list[str]:
    """Return the drawings of the older and of the newer curve."""
    return [picture.split(f'class="{kind}" d="')[1].split('"', maxsplit=1)[0] for kind in ("older", "bound")]
