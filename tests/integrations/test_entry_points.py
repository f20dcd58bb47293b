"""What partners load by themselves: it is there, and costs nothing before it is used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
GROUPS = PROJECT["entry-points"]

#: What nobody has to wait for who does not use fairbound.
HEAVY = {"numpy", "flint", "mlflow", "cryptography", "fairbound.certificate", "fairbound.integrations.summary"}


def test_these_are_the_entry_points() -> None:
    assert GROUPS == {
        "pytest11": {"fairbound": "fairbound.integrations.pytest_plugin"},
        "mlflow.model_evaluator": {"fairbound": "fairbound.integrations.mlflow:CertificateEvaluator"},
    }


@pytest.mark.parametrize("group", GROUPS)
def test_each_can_be_loaded_and_is_light(group: str) -> None:
    (value,) = GROUPS[group].values()
    assert EntryPoint("fairbound", value, group).load() is not None
    module = value.partition(":")[0]
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
