"""The project itself: public names, layers, light imports, the demonstration."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairbound
from fairbound.cli import main

SOURCE = Path(fairbound.__file__).parent

PUBLIC = [
    "LOSSES",
    "REGIONS",
    "Certificate",
    "CertificateCurve",
    "Hoeffding",
    "InfeasibleError",
    "InputError",
    "Loss",
    "NearestFair",
    "Population",
    "Region",
    "SmallCellWarning",
    "Sphere",
    "StandIn",
    "Status",
    "ThresholdError",
    "Verdict",
    "Verification",
    "Witness",
    "__version__",
    "certified_loss",
    "certify",
    "certify_curve",
    "expected_excess",
    "largest_certified_rho",
    "nearest_fair",
    "rows_needed",
    "report",
    "verify",
]

#: Left to right as data flows: a module imports only what stands in an earlier line.
LAYERS = [
    ["arrays", "digits", "errors", "names", "table", "version", "strict", "checker_duality", "checker_sphere"],
    ["rounding", "cells", "reader", "checker_sampling", "datasets", "markup", "notebook", "overview", "steps"],
    ["attachment", "losses", "marginals", "picture", "predictions", "checker", "sphere"],
    ["problem"],
    ["knowledge"],
    ["moments", "tally"],
    ["columns", "estimators"],
    ["frame_values"],
    ["collected", "engine_losses"],
    ["engine"],
    ["frames"],
    ["population"],
    ["sample"],
    ["regions", "saddle", "bounds", "plot", "proof"],
    ["nearest", "general", "pieces", "shares"],
    ["witness"],
    ["document", "tree"],
    ["search"],
    ["certificate"],
    ["findings", "question", "summary"],
    ["certify", "sections"],
    ["opening", "worst"],
    ["report"],
    ["demo", "experiments", "planning", "scoring"],
    ["__init__"],
    ["cli"],
]


PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
"""Packages inside of the package; in the layers each counts as one module."""


def files_of(name: str) -> list[Path]:
    """Return the files of a module, or all of a package."""
    return sorted((SOURCE / name).rglob("*.py")) if name in PACKAGES else [SOURCE / f"{name}.py"]


def imported(path: Path) -> set[str]:
    """Return the modules of this package that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "fairbound":
            found |= {alias.name if (SOURCE / f"{alias.name}.py").exists() else "__init__" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairbound."):
            found.add((node.module or "").split(".")[1])
    return found


def test_public_names() -> None:
    assert sorted(fairbound.__all__) == sorted(PUBLIC)
    assert all(hasattr(fairbound, name) for name in PUBLIC)


def test_every_module_has_its_layer() -> None:
    assert sorted(name for layer in LAYERS for name in layer) == sorted(
        [p.stem for p in SOURCE.glob("*.py")] + list(PACKAGES)
    )


@pytest.mark.parametrize("level", range(len(LAYERS)))
def test_modules_import_only_from_the_left(level: int) -> None:
    allowed = {name for layer in LAYERS[:level] for name in layer}
    for name in LAYERS[level]:
        strangers = {other for path in files_of(name) for other in imported(path)} - allowed - {name}
        assert not strangers, f"{name} imports {strangers}"


def test_the_checker_stands_alone() -> None:
    """It may import the standard library, python-flint and its own files; the reader the standard library only."""
    files = {"checker", "checker_duality", "checker_sampling", "checker_sphere", "reader", "strict"}
    allowed = {name: {"flint", "fairbound"} if name.startswith("checker") else {"fairbound"} for name in files}
    for name, extra in allowed.items():
        for node in ast.walk(ast.parse((SOURCE / f"{name}.py").read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                assert module.split(".")[0] in sys.stdlib_module_names | extra, f"{name} imports {module}"
        assert imported(SOURCE / f"{name}.py") <= files


def test_no_assert_as_a_check() -> None:
    for path in SOURCE.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path.name


def test_files_stay_short() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert max(lines.values()) <= 450
    assert sum(count > 300 for count in lines.values()) <= 0.1 * len(lines)


def test_importing_is_light() -> None:
    """Heavy libraries are not loaded by importing the package."""
    code = "import sys, fairbound; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {
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
    assert "Proved" in (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "taken").touch()
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err
