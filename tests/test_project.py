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
    "ImpliedParity",
    "InfeasibleError",
    "InputError",
    "Loss",
    "NearestFair",
    "Population",
    "Predicted",
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
    "divergence_between",
    "expected_excess",
    "hellinger_radius",
    "implied_parity",
    "largest_certified_rho",
    "nearest_fair",
    "rows_needed",
    "report",
    "verify",
]

#: Left to right as data flows: a module imports only what stands in an earlier line.
LAYERS = [
    ["arrays", "chance", "digits", "errors", "names", "version", "strict"],
    ["checker_duality", "checker_sphere", "conditions", "wording"],
    ["checker_divergence", "reader_proofs", "rounding"],
    ["cells", "reader", "checker_conditional", "checker_rates", "checker_sampling", "markup", "notebook"],
    [
        "checker_means",
        "checker_metric",
        "checker_rates_means",
        "conic_program",
        "divergences",
        "objective",
        "overview",
        "saddle",
        "steps",
        "table",
    ],
    ["limited", "limits"],
    ["interior"],
    ["attachment", "datasets", "losses", "marginals", "picture", "predictions", "checker", "sphere"],
    ["contradictions", "problem"],
    ["knowledge"],
    ["predicted"],
    ["moments", "tally"],
    ["columns", "estimators"],
    ["csv_file", "frame_values"],
    ["collected", "csv_tally", "engine_losses", "engine_weights"],
    ["engine"],
    ["frames"],
    ["population"],
    ["divergence_metrics", "metrics", "sample", "values"],
    ["regions", "bounds", "given", "plot", "proof"],
    [
        "base_rates",
        "between",
        "cone_pieces",
        "conjugate_bounds",
        "inside",
        "nearest",
        "general",
        "orientation",
        "pieces",
    ],
    [
        "conditional",
        "nearest_product",
        "odds_nodes",
        "odds_range",
        "odds_steady",
        "rates_limits",
        "rates_means",
        "rates_means_bounds",
        "shares",
    ],
    ["odds_offers", "rates_bounds", "rates_nearest", "rates_saddle", "witness"],
    ["answer", "attaining", "document", "rates_pieces", "rates_witness", "tree"],
    ["divergence_search", "parity", "rates_parity", "search"],
    ["mean_search", "odds", "rates_odds", "rates_search", "ratios"],
    ["comparing", "difference_search", "rates_answers"],
    ["mean_answers"],
    ["certificate"],
    ["curve", "general_answers", "implied"],
    ["question"],
    ["posing"],
    ["metric_question"],
    ["certify", "findings", "summary"],
    ["checking", "sections"],
    ["opening", "worst"],
    ["report"],
    ["demo", "experiments", "planning", "scoring"],
    ["__init__"],
    ["cli"],
    ["__main__"],
]

#: The same for the files of the command line; ``completion`` looks at the parser it is part of, when it is run.
COMMAND_LAYERS = [
    ["output", "words"],
    ["tables"],
    ["options", "results"],
    ["certifying", "completion", "demonstration", "documents"],
    ["program"],
    ["__init__"],
]


def imported(path: Path, package: str = "fairbound") -> set[str]:
    """Return the modules of a package that a file imports."""
    found = set()
    folder, depth = SOURCE.parent.joinpath(*package.split(".")), package.count(".") + 1
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            found |= {alias.name if (folder / f"{alias.name}.py").exists() else "__init__" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            found.add((node.module or "").split(".")[depth])
    return found


def imported_at_once(path: Path, package: str) -> set[str]:
    """Return what is imported when the file is, not later inside a function."""
    top = ast.parse(path.read_text())
    names = {(node.module or "") for node in top.body if isinstance(node, ast.ImportFrom)}
    return {name.removeprefix(f"{package}.").split(".")[0] for name in names if name.startswith(f"{package}.")}


def test_public_names() -> None:
    assert sorted(fairbound.__all__) == sorted(PUBLIC)
    assert all(hasattr(fairbound, name) for name in PUBLIC)


def test_every_module_has_its_layer() -> None:
    modules = [p.stem for p in SOURCE.glob("*.py")] + [p.parent.name for p in SOURCE.glob("*/__init__.py")]
    assert sorted(name for layer in LAYERS for name in layer) == sorted(modules)
    commands = [p.stem for p in SOURCE.glob("cli/*.py")]
    assert sorted(name for layer in COMMAND_LAYERS for name in layer) == sorted(commands)


@pytest.mark.parametrize("level", range(len(LAYERS)))
def test_modules_import_only_from_the_left(level: int) -> None:
    allowed = {name for layer in LAYERS[:level] for name in layer}
    for name in LAYERS[level]:
        files = [SOURCE / f"{name}.py"] if (SOURCE / f"{name}.py").exists() else list((SOURCE / name).glob("*.py"))
        for file in files:
            strangers = imported(file) - allowed - ({name} if len(files) > 1 else set())
            assert not strangers, f"{file} imports {strangers}"


def test_files_of_the_command_line_import_only_from_the_left() -> None:
    allowed: set[str] = set()
    for layer in COMMAND_LAYERS:
        for name in layer:
            strangers = imported_at_once(SOURCE / "cli" / f"{name}.py", "fairbound.cli") - allowed
            assert not strangers, f"{name} imports {strangers}"
        allowed |= set(layer)


def test_the_checker_stands_alone() -> None:
    """It may import the standard library, python-flint and its own files; the reader the standard library only."""
    files = {"strict"} | {path.stem for kind in ("checker", "reader") for path in SOURCE.glob(f"{kind}*.py")}
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
    lines = {path.name: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert max(lines.values()) <= 450
    assert sum(count > 300 for count in lines.values()) <= 0.1 * len(lines)


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
    assert "Proved" in (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "taken").touch()
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err
