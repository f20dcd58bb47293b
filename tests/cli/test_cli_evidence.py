"""Several questions in one command, gates from a file, and tables that are counted again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairbound import Evidence, verify
from fairbound.cli import main

HEAD = "y,said,sex,p,w,cost"
ASKED = ["--label", "y", "--prediction", "said", "--group", "sex", "--shift", "sensitive", "--rho", "0.2"]
BOTH = ["--metric", "loss", "--metric", "demographic_parity_ratio"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [
        f"{y},{y if n % often else 'no'},{sex},{0.1 + 0.7 * (y == 'yes') + n / 1000},{1 + n % 3},{n / 60}"
        for sex, often in (("f", 3), ("m", 5), ("m", 5))
        for y in ("no", "yes")
        for n in range(40 if sex == "f" else 50)
    ]
    (tmp_path / "rows.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    return str(tmp_path / "rows.csv")


def lines(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.err if status == 2 else captured.out + captured.err


def test_every_metric_counts_and_not_the_last_one(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A gate on the first of two metrics used to be dropped in silence."""
    asked = ["certify", file, *ASKED, *BOTH]
    for limits, status in (
        (["--fail-above", "loss=0.9"], 0),
        (["--fail-above", "loss=0.01"], 1),
        (["--fail-above", "0.9", "--fail-below", "0.99"], 1),
        (["--fail-above", "loss=0.9", "--fail-below", "demographic_parity_ratio=0.01"], 0),
    ):
        lines(capsys, [*asked, *limits], status)
    out = Path(file).with_name("c.json")
    said = lines(capsys, [*asked, "--fail-above", "loss=0.01", "--json", str(out), "--format", "json"], 1)
    found = json.loads(said[: said.rindex("}") + 1])
    assert [one["metric"] for one in found["questions"]] == ["loss", "demographic_parity_ratio"]
    assert found["passed"] is False
    assert found["questions"][0]["exceeded"] == [0.2]
    result = verify(out.read_bytes())
    assert result.valid
    assert [passed for passed, _ in result.gates] == [False]
    told = lines(capsys, ["verify", str(out)], 0)
    assert "gate failed: the error rate has to be at most 0.01" in told
    assert "the proof for demographic_parity_ratio gives the bound" in told
    lines(capsys, ["verify", str(out), "--gates"], 1)  # proved, and a pipeline may ask for the gates as well
    page = Path(file).with_name("c.html")
    lines(capsys, ["report", str(out), "-o", str(page)], 0)
    assert main(["verify", str(page)]) == 2
    assert "save the certificate that it carries" in capsys.readouterr().out
    assert "Gate failed: error rate" in lines(capsys, ["show", str(out)], 0)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ([*BOTH, "--metric", "group_loss", "--fail-above", "0.3"], "say of which metric, as in --fail-above loss=0.3"),
        (["--fail-above", "group_loss=0.3"], "group_loss is not asked for; add --metric group_loss"),
        ([*BOTH, "--fail-above", "demographic_parity_ratio=0.3"], "bounded from below; use --fail-below"),
        ([*BOTH, "--fail-below", "loss=0.3"], "loss is bounded from above; use --fail-above"),
        (["--fail-above", "0.3", "--fail-above", "loss=0.4"], "loss has two thresholds"),
        (["--fail-above", "lose=0.3"], "'lose' is not a metric; did you mean loss?"),
        (["--fail-above", "20"], "20 says nothing: error rate lies between 0 and 1"),
        (["--fail-above", "30"], "give a value between them, or 0.3 for 30 %"),
        (["--fail-above=-1"], "says nothing: error rate lies between 0 and 1"),
        (["--metric", "demographic_parity_ratio", "--fail-below", "1.5"], "1.5 says nothing"),
        (["--metric", "demographic_parity"], "did you mean demographic_parity_difference or demographic_parity_ratio?"),
        (["--meaning", "yes"], "is not LABEL=TEXT"),
        (["--meaning", "maybe=x"], "there is no label 'maybe'"),
    ],
)
def test_thresholds_that_cannot_be_meant(
    file: str, more: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in lines(capsys, ["certify", file, *ASKED, *more], 2)


def test_several_groups_are_repeated(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--label", "y", "--prediction", "said", "--rho", "0.3"]
    said = lines(capsys, ["certify", file, *columns, "--group", "sex,w"], 2)
    assert "for several columns --group sex --group w" in said
    said = lines(capsys, ["certify", file, "--group", "sex", "w", *columns], 2)
    assert "for several repeat it: --group sex --group w" in said


def test_predictions_that_are_no_label(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(file)
    path.write_text(path.read_text().replace(",yes,", ",Yes,"))
    gate = ["--metric", "demographic_parity_difference", "--fail-above", "0.1"]
    said = lines(capsys, ["certify", file, *ASKED, *gate], 2)
    assert "'Yes' (" in said
    assert "--unknown-predictions allow" in said
    lines(capsys, ["certify", file, *ASKED, *gate, "--unknown-predictions", "allow"], 0)


def test_without_a_radius(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = lines(capsys, ["certify", file, *ASKED[:-2]], 0)
    assert "No --rho was given" in said
    assert "5 % of the rows may grow to" in " ".join(said.split())


CONFIG = """
file = "rows.csv"
label = "y"
prediction = "said"
group = ["sex"]
rho = [0.15, 0.2]
shift = "sensitive"
model = "scorer"
json = "gate.json"

[metrics]
loss = { fail-above = ABOVE }
demographic_parity_ratio = { fail-below = 0.01 }
selection_rate = {}
"""


def test_a_gate_from_a_file(file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(file).parent
    config = folder / "fairbound.toml"
    config.write_text(CONFIG.replace("ABOVE", "0.9"))
    monkeypatch.chdir(folder.parent)
    said = lines(capsys, ["gate", str(config)], 0)
    assert "Gates" in said
    assert said.count("passed: ") == 2
    evidence = Evidence.from_json((folder / "gate.json").read_bytes())
    assert evidence.thresholds == (0.9, 0.01, None)
    told = evidence.population.provenance
    assert (told.model, told.files[0][0]) == ("scorer", "rows.csv")
    assert ("prediction", "said") in told.columns
    config.write_text(CONFIG.replace("ABOVE", "0.01"))
    monkeypatch.chdir(folder)
    assert "failed: error rate has to be at most 0.01" in lines(capsys, ["gate"], 1)


OWN = """
file = "rows.csv"
label = "y"
prediction = "said"
group = "sex"
rho = [0.15, 0.2]
shift = "sensitive"
json = "own.json"

[metrics]
loss = { fail-above = 0.9, rho = "0.16:0.18:0.01" }
selection_rate = [
    { metric-group = "f", fail-above = 0.99 },
    { metric-group = "m", pos-label = "no", fail-above = 0.01, rho = 0.19 },
    {},
]

[meaning]
yes = "comes back"
"""


def test_a_metric_has_radii_a_group_and_a_label_of_its_own(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = Path(file).with_name("own.toml")
    config.write_text(OWN)
    said = " ".join(lines(capsys, ["gate", str(config)], 1).split())
    assert said.count("passed: ") == 2
    assert "the bound of selection_rate of m exceeds 0.01 at rho = 0.19" in said
    evidence = Evidence.from_json(config.with_name("own.json").read_bytes())
    assert [curve.rho.tolist() for curve in evidence] == [[0.16, 0.17, 0.18], [0.15, 0.2], [0.19], [0.15, 0.2]]
    firsts = [next(iter(curve)) for curve in evidence]
    assert [(c.group, c.population.pos_label) for c in firsts] == [
        (None, None),
        ("f", "yes"),
        ("m", "no"),
        (None, "yes"),
    ]
    assert evidence.population.provenance.meanings == (("yes", "comes back"),)
    told = lines(capsys, ["gate", str(config), "--format", "json"], 1)
    facts = json.loads(told[: told.rindex("}") + 1])
    assert facts["command"] == "gate"
    assert [(g["metric"], g["group"], g["threshold"], g["passed"]) for g in facts["gates"]] == [
        ("loss", None, 0.9, True),
        ("selection_rate", "f", 0.99, True),
        ("selection_rate", "m", 0.01, False),
    ]
    assert facts["gates"][2]["bound"] == firsts[2].bound


def test_names_that_differ_in_spaces_can_be_told_apart(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Path(file).read_text().splitlines()
    spaced = [row.replace(",f,", ", f,") if place % 2 else row for place, row in enumerate(rows)]
    Path(file).write_text("\n".join(spaced) + "\n")
    said = lines(capsys, ["certify", file, *ASKED], 0)
    assert said.count("' f'   no") == 2  # in the data, and in the worst case
    assert said.count("\n  f      no") == 2


def test_one_gate_has_a_line_too(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = lines(capsys, ["certify", file, *ASKED, "--fail-above", "0.9"], 0)
    assert "Gates\n  * passed: error rate has to be at most 0.9" in said


def test_infeasible_radii_are_told_once(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Path(file).read_text().splitlines()
    Path(file).write_text("\n".join([rows[0], *rows[31:]]) + "\n")
    limits = ["--fail-above", "0.9", "--fail-below", "0.1"]
    said = lines(capsys, ["certify", file, *ASKED, "--rho", "0.001", *BOTH, *limits], 0)
    assert said.count("nothing to certify, and so nothing to fail, at rho = 0.001") == 1


def test_not_enough_rows_to_tell(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The third outcome has a status of its own, unless only two are wanted; the document has two."""
    out = str(Path(file).with_name("c.json"))
    asked = ["certify", file, *ASKED, "--confidence", "0.9", "--json", out]
    said = lines(capsys, [*asked, "--fail-above", "0.3"], 3)
    assert "fairbound: not enough rows to tell: error rate has to be at most 0.3" in said
    assert "if the rows were all there is, it would be at most 0.194" in said
    assert "rows that look like these would settle it" in said
    assert verify(Path(out).read_bytes()).valid
    assert "gate failed" in lines(capsys, ["verify", out], 0)
    said = lines(capsys, [*asked, "--fail-above", "0.3", "--format", "json"], 3)
    (gate,) = json.loads(said[: said.rindex("}") + 1])["gates"]
    assert gate["outcome"] == "unsettled"
    assert not gate["passed"]
    assert gate["rows_needed"] > 280
    for more, status in ((["--outcomes", "two"], 1), (["--fail-above", "0.01"], 1), (["--fail-above", "1"], 0)):
        lines(capsys, [*asked, *(["--fail-above", "0.3"] if more[0] == "--outcomes" else []), *more], status)
    both = [*BOTH, "--fail-above", "loss=0.3", "--fail-below", "demographic_parity_ratio=0.999"]
    assert "not enough rows to tell" in lines(capsys, [*asked, *both], 1)
    config = Path(file).with_name("gate.toml")
    text = CONFIG.replace("ABOVE", "0.3").replace("rho = [0.15, 0.2]", "rho = 0.2\nconfidence = 0.9")
    config.write_text(text)
    lines(capsys, ["gate", str(config)], 3)
    config.write_text('outcomes = "two"' + text)
    lines(capsys, ["gate", str(config)], 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = ", "is not TOML"),
        ('file = "rows.csv"\nlabel = "y"', "has no threshold"),
        ("[metrics]\nloss = { fail-above = 0.3 }", "names no rows"),
        ('file = "rows.csv"\nlabels = "y"\n[metrics]\nloss = { fail-above = 0.3 }', "'labels'; did you mean label"),
        *(
            ('file = "rows.csv"\n' + told, why)
            for told, why in {
                "fair = false": "no option 'fair'; did you mean no-base-rate-constraint?",
                "help = true": "help is said on the command line",
                'format = "json"': "format is said on the command line",
                "fail-above = 0.3": "fail-above is said in [metrics]",
                'metric = "loss"': "metric is said in [metrics]",
                "html = 3": "html = 3 must be a text",
                'note = ["a", "b"]': "note takes one value, not a list",
                'confidence = "0.95"': "confidence = '0.95' must be a number",
                "confidence = true": "confidence = true must be a number",
                "no-base-rate-constraint = 1": "must be true or false",
                'shift = "sideways"\n[metrics]\nloss = { fail-above = 0.3 }': "--shift: 'sideways' is not known",
                "[metrics]\nloss = 0.3": "loss = 0.3 must be a table, as in loss = { fail-above = 0.3 }",
                "[metrics]\nloss = true": "loss = true must be a table",
                "[metrics]\nloss = { above = 0.3 }": "loss: above is not known; did you mean fail-above?",
                "[metrics]\nloss = { fail-below = 0.3 }": "loss is bounded from above; use fail-above",
                "[metrics]\nloss = { fail-above = 0.3, fail-below = 0.1 }": "loss has two thresholds",
                '[metrics]\nloss = { fail-above = "0.3" }': "must be a number",
                "[metrics]\nloss = { fail-above = nan }": "must be a number",
                '[metrics]\nloss = { fail-above = 0.3, rho = "x" }': "loss: rho: 'x' is not a number",
                "[metrics]\nlos = { fail-above = 0.3 }": "the metric 'los' is not known; did you mean loss?",
                "[metrics]\nloss = {}": "has no threshold",
            }.items()
        ),
        ('file = "rows.csv"\nmetrics = ["loss"]', "metrics must be a table"),
    ],
)
def test_what_is_wrong_with_a_gate(file: str, text: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = Path(file).with_name("gate.toml")
    config.write_text(text)
    assert why in lines(capsys, ["gate", str(config)], 2)
    assert "missing.toml" in lines(capsys, ["gate", str(config.with_name("missing.toml"))], 2)


@pytest.mark.parametrize(
    "columns",
    [
        ["--prediction", "said", *BOTH],
        ["--prediction", "said", "--weight", "w"],
        ["--probability", "p", "--loss", "jsd"],
        ["--probability", "p", "--loss", "cross_entropy", "--clip", "3"],
        ["--losses", "cost", "--loss", "regret"],
        ["--prediction", "said", "--confidence", "0.9"],
    ],
)
def test_a_table_is_counted_again(file: str, columns: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = str(Path(file).with_name("c.json"))
    question: Any = ["--shift", "sensitive", "--rho", "0.25"]
    lines(capsys, ["certify", file, "--label", "y", "--group", "sex", *columns, *question, "--json", out], 0)
    said = lines(capsys, ["verify", out, "--data", file], 0)
    assert "the statistics are those of" in said
    assert "has the SHA-256" in said
    other = Path(file).with_name("other.csv")
    other.write_text("".join(Path(file).read_text().splitlines(keepends=True)[:-3]))
    said = lines(capsys, ["verify", out, "--data", str(other)], 1)
    assert "the data are others: the number of rows: 280 in the document, 277 in the data" in said
    assert "does not have the SHA-256" in said
    assert said.startswith(f"{out}: the claim is proved, of other data than {other}")


@pytest.mark.parametrize("cuts", [["--cuts", "w=1.5,2"], ["--cuts", "w=1.5,"], ["--cuts", "w=3"], []])
def test_strata_are_counted_again(file: str, cuts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The document names their columns, and where they were cut."""
    out = str(Path(file).with_name("c.json"))
    asked = ["--label", "y", "--group", "sex", "--prediction", "said", "--strata", "w", *cuts]
    lines(capsys, ["certify", file, *asked, "--shift", "stratified", "--rho", "0.6", "--json", out], 0)
    assert "the statistics are those of" in lines(capsys, ["verify", out, "--data", file], 0)
    provenance = json.loads(Path(out).read_text())["provenance"]
    assert {"role": "stratum", "name": "w"} in provenance["columns"]
    assert len(provenance["cuts"]) == bool(cuts)
    if cuts == ["--cuts", "w=1.5,2"]:
        other = ["--strata", "w", "--cuts", "w=1.2,2"]
        assert "strata: other names" in lines(capsys, ["verify", out, "--data", file, *other], 1)


def test_the_data_of_a_document_without_columns(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(file).with_name("c.json")
    lines(capsys, ["certify", file, *ASKED, "--json", str(out)], 0)
    document = json.loads(out.read_text())
    document["provenance"] |= {"columns": [], "files": []}
    out.write_text(json.dumps(document))
    assert "does not name the columns" in lines(capsys, ["verify", str(out), "--data", file], 2)
    assert "the statistics are those" in lines(capsys, ["verify", str(out), "--data", file, *ASKED[:6]], 0)
    assert "--label is about data" in lines(capsys, ["verify", str(out), "--label", "y"], 2)
