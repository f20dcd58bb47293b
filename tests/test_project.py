"""The project itself: public names, layers, light imports, the demonstration."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairbound
from fairbound.cli import main
from fairbound.verify import verdict as checker

SOURCE = Path(fairbound.__file__).parent
ROOT = Path(__file__).resolve().parents[1]

PUBLIC = [
    "LOSSES",
    "REGIONS",
    "Asymptotic",
    "Certificate",
    "CertificateCurve",
    "CertifiedThreshold",
    "DataWarning",
    "Evidence",
    "Gate",
    "Hoeffding",
    "ImpliedParity",
    "InfeasibleError",
    "InputError",
    "Loss",
    "MeasuredShift",
    "NearestFair",
    "Outcome",
    "Population",
    "Predicted",
    "Prequential",
    "Prices",
    "Provenance",
    "Region",
    "Report",
    "RowPrices",
    "SmallCellWarning",
    "Sphere",
    "Status",
    "Surrogate",
    "Tally",
    "ThresholdError",
    "Verdict",
    "Verification",
    "Witness",
    "__version__",
    "certified_loss",
    "certify",
    "certify_all",
    "certify_curve",
    "divergence_between",
    "expected_excess",
    "hellinger_radius",
    "implied_parity",
    "largest_certified_rho",
    "nearest_fair",
    "renyi_radius",
    "rows_needed",
    "shift_between",
    "report",
    "verify",
]


def test_public_names() -> None:
    assert sorted(fairbound.__all__) == sorted(PUBLIC)
    assert all(hasattr(fairbound, name) for name in PUBLIC)


def test_the_rooms_are_a_contract() -> None:
    """Rooms import only those below them, the checker nothing of the rest, and there are no cycles, lazy or not."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout
    assert "3 kept, 0 broken" in done.stdout


def test_every_room_says_what_it_is_for() -> None:
    """What comes in, what goes out, and what it may not import."""
    assert sorted(p.stem for p in SOURCE.glob("*.py")) == ["__init__", "__main__", "errors", "version"]
    for path in SOURCE.glob("*/__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        if path.parent.name not in {"cli", "datasets", "experiments"}:
            assert "In: " in text, path
            assert "Out: " in text, path
            assert "import" in text, path


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a program has loaded at its end."""
    code = "import sys, atexit; atexit.register(lambda: print('LOADED', *sys.modules)); " + arguments[0]
    done = subprocess.run([sys.executable, "-c", code, *arguments[1:]], capture_output=True, text=True, check=False)
    return set(done.stdout.split("LOADED")[-1].split())


def test_checking_loads_no_engine(tmp_path: Path) -> None:
    """Neither NumPy nor a solver: not for the package, the checker, its command, nor for help."""
    file = tmp_path / "certificate.json"
    population = fairbound.Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.0, 0.4]])
    file.write_text(fairbound.certify(population, 0.3).to_json())
    run = "from fairbound.cli import main; main(sys.argv[1:])"
    engine = {"numpy", "fairbound.data", "fairbound.solve", "fairbound.certificate", "fairbound.reporting"}
    for arguments in (
        ("import fairbound",),
        ("import fairbound.verify",),
        (f"import fairbound; fairbound.verify(open({str(file)!r}).read())",),
        (run, "verify", str(file)),
        (run, "--version"),
        (run, "--help"),
        (run, "verify", "--help"),
    ):
        modules = loaded(*arguments)
        assert "fairbound" in modules
        assert not modules & engine, arguments


def test_the_room_of_the_checker_can_be_called() -> None:
    """However it was imported first."""
    for first in ("import fairbound.verify", "from fairbound import verify", "import fairbound"):
        code = f"{first}\nimport fairbound, inspect\nassert fairbound.verify('x').verdict.name == 'NOT_A_CERTIFICATE'"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert inspect.signature(fairbound.verify) == inspect.signature(checker.verify)


def test_no_assert_as_a_check() -> None:
    for path in SOURCE.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path.name


def test_importing_is_light() -> None:
    """Heavy libraries are not loaded by importing the package."""
    code = "import sys, fairbound; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {
        "clarabel",
        "scipy",
        "pandas",
        "matplotlib",
        "sklearn",
        "torch",
        "polars",
        "narwhals",
        "pyarrow",
        "duckdb",
        "fairlearn",
        "playwright",
        "fairbound.datasets",
    }


def test_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "-o", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "15060 held-out rows" in printed
    assert re.search(r"Female +<=50K +4356", printed)
    assert "infeasible" in printed
    assert not re.search(r"\bfair\b|compliant", printed)
    assert f"fairbound verify {folder / 'certificate.json'}" in printed
    assert main(["verify", str(folder / "certificate.json")]) == 0
    assert "Bound proved" in (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "taken").touch()
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err
