"""The commands in the documentation are run, and print what stands there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairbound.datasets.demo import demo_rows
from tests.commands import environment

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]


def steps(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page, each with the output that stands below it."""
    found = []
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def outputs(commands: list[str], folder: Path) -> list[str]:
    """Run commands one after the other in a shell, with the demonstration's rows at hand."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "fairbound"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fairbound "$@"\n')
    program.chmod(0o755)
    (folder / "predictions.csv").write_bytes(demo_rows())
    script = "\n".join(f"{command}\nstatus=$?; printf '\\036'; (exit $status)" for command in commands)
    variables = environment(COLUMNS="100")
    variables["PATH"] = f"{folder / 'bin'}:{variables['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
        env=variables,
    )
    return done.stdout.split("\036")[:-1]


def settled(text: str) -> str:
    """Return a text without the digits in which machines may differ: those of tiny gaps, and the last of long ones."""
    text = re.sub(r"\b\d\.\d+e-\d+", "tiny", text)
    return re.sub(r"(?<=\d\.)\d{10,}", lambda found: found[0][:8], text)


def test_some_pages_have_commands() -> None:
    assert {page.name for page in PAGES} >= {"README.md", "command-line.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_stands_there(page: Path, tmp_path: Path) -> None:
    told = steps(page.read_text())
    if page.stem == "integrations":  # it signs
        pytest.importorskip("cryptography", reason="cryptography is not installed")
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
    found = outputs([command for command, _ in told], tmp_path)
    assert len(found) == len(told)
    for (command, expected), printed in zip(told, found, strict=True):
        assert settled(printed) == settled(expected), command
