"""The plugin on a project of its own, run by pytest in a process of its own."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from fairbound import Certificate, InputError, verify
from fairbound.integrations.testing import assert_certified
from tests.commands import environment
from tests.integrations.problems import population

TESTS = """
import pytest
from fairbound import Population

ROWS = Population.from_predictions([0, 1] * 50, [0, 1, 1, 1] * 25, sensitive_features=["a"] * 60 + ["b"] * 40)

def test_kept(assert_certified):
    certificate = assert_certified(ROWS, rho=0.1, at_most=0.9)
    assert certificate.bound < 0.9
    assert_certified(ROWS, rho=0.2, metric="demographic_parity_difference", at_most=0.99)

@pytest.mark.parametrize("rho", [0.1, 0.15])
def test_broken(assert_certified, rho):
    assert_certified(ROWS, rho=rho, metric="demographic_parity_ratio", at_least=0.95)

def test_unsettled(assert_certified):
    assert_certified(ROWS, rho=0.05, at_most=0.41, confidence=0.9)
"""

LIGHT = """
import sys

def test_plain():
    assert "fairbound.integrations.pytest_plugin" in sys.modules
    assert not {"numpy", "fairbound.certificate", "fairbound.integrations.summary"} & sys.modules.keys()
"""


def installed() -> bool:
    """Whether pytest loads the plugin by itself: not where the package was installed before there was one."""
    return any(entry.name == "fairbound" for entry in importlib.metadata.entry_points(group="pytest11"))


def run(folder: Path, text: str, *options: str) -> tuple[str, int]:
    (folder / "test_model.py").write_text(text)
    named = [] if installed() else ["-p", "fairbound.integrations.pytest_plugin"]
    begin = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "error", *named]
    # Plugins of the test environment that load NumPy are no concern of ours.
    begin += ["-p", "no:hypothesispytest", "-p", "no:_hypothesis_pytestplugin"]
    done = subprocess.run(
        [*begin, *options], cwd=folder, capture_output=True, text=True, check=False, env=environment(PYTHONWARNINGS="")
    )
    return done.stdout + done.stderr, done.returncode


def test_nobody_else_pays_for_it(tmp_path: Path) -> None:
    said, status = run(tmp_path, LIGHT)
    assert status == 0, said


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.slow)])
def test_a_run_of_tests(tmp_path: Path, workers: list[str]) -> None:
    said, status = run(tmp_path, TESTS, "--fairbound-report=kept", "--junitxml=tests.xml", *workers)
    assert status == 1
    assert "3 failed, 1 passed" in said
    # Bound, attained value and the worst cells of what failed; how many rows would tell.
    assert "demographic parity ratio (predicting '1') has to be at least 0.95, and is at least 0.74977" in said
    assert "  attained  0.74977" in said
    assert "a          0         0.3000               0.3275  +0.0275" in said
    assert "not enough rows to tell: error rate has to be at most 0.41" in said
    assert "rows that look like these would settle it" in said
    assert "def judge(" not in said  # what is shown ends at the test
    # A file for every certificate, each proved, and named in the end.
    files = sorted((tmp_path / "kept").iterdir())
    assert len(files) == 5
    assert all(str(Path("kept") / file.name) in said for file in files)
    assert "5 certificates" in said
    for file in files:
        result = verify(file.read_bytes())
        assert result.valid
        assert result.passed is ("kept" in file.name)
    # The numbers in JUnit's file are those of the certificates.
    cases = {case.get("name"): case for case in Xml.parse(tmp_path / "tests.xml").getroot().iter("testcase")}  # noqa: S314
    told = {p.get("name"): p.get("value") for p in cases["test_kept"].iter("property")}
    certificate = Certificate.from_json(Path(str(told["fairbound.loss@0.1.certificate"])).read_text("utf-8"))
    assert float(str(told["fairbound.loss@0.1.bound"])) == certificate.bound
    assert float(str(told["fairbound.loss@0.1.attained"])) == certificate.attained
    assert told["fairbound.demographic_parity_difference@0.2.outcome"] == "passed"
    told = {p.get("name"): p.get("value") for p in cases["test_unsettled"].iter("property")}
    assert told["fairbound.loss@0.05.outcome"] == "not enough rows to tell"
    assert told["fairbound.loss@0.05.threshold"] == "0.41"


@pytest.mark.slow
def test_no_folder_no_files(tmp_path: Path) -> None:
    said, status = run(tmp_path, TESTS, "-k", "kept")
    assert status == 0
    assert "certificates;" not in said
    assert sorted(file.name for file in tmp_path.iterdir() if file.suffix == ".json") == []


def test_thresholds_are_on_the_side_of_the_bound() -> None:
    with pytest.raises(InputError, match=r"at_least=0\.1: loss is bounded from above; use at_most"):
        assert_certified(population(), rho=0.1, at_least=0.1)
    with pytest.raises(InputError, match=r"at_most=0\.1: demographic_parity_ratio is bounded from below; use at_least"):
        assert_certified(population(), rho=0.1, metric="demographic_parity_ratio", at_most=0.1)
    with pytest.raises(InputError, match=r"at_most is missing: say what the bound of loss has to keep"):
        assert_certified(population(), rho=0.1)


def test_it_passes_and_fails_exactly_at_the_bound() -> None:
    bound = assert_certified(population(), rho=0.1, at_most=1.0).bound
    assert assert_certified(population(), rho=0.1, at_most=bound).bound == bound
    with pytest.raises(AssertionError, match="has to be at most"):
        assert_certified(population(), rho=0.1, at_most=bound - 1e-9)
