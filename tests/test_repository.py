"""What stands around the code: guides that name files, hooks, workflows, the citation, and what is released."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

import fairbound
from fairbound.cli.program import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GUIDES = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"]
SOURCE = ROOT / "src" / "fairbound"
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))

#: What is made by a command, and is not in the repository.
MADE = {"build/docs", ".venv/bin/python"}


def read(name: str) -> Any:
    """Read a file of YAML."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def target(name: str) -> list[str]:
    """Return the commands of a target of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(rf"^{re.escape(name)}:[^\n]*\n((?:\t[^\n]*\n)*)", text, re.MULTILINE)
    assert rule is not None, name
    return [line.strip() for line in rule[1].splitlines()]


def paths(text: str) -> set[str]:
    """Return what is set as code and is a path: it has a slash, or a suffix that files of this repository have."""
    words = {word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    looks = re.compile(r"\.?[\w-][\w.-]*(/[\w.-]*)+|\.?[\w-]+\.(md|py|toml|yaml|yml|cff|json|svg)|Makefile")
    return {word for word in words if looks.fullmatch(word)}


def found(name: str) -> Path:
    """Return the path that a guide means: from the root of the repository, or from the package."""
    return ROOT / name if (ROOT / name).exists() else SOURCE / name


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_path_in_a_guide_exists(guide: Path) -> None:
    named = paths(guide.read_text(encoding="utf-8")) - MADE
    assert len(named) > 15
    assert not sorted(name for name in named if not found(name).exists())


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_command_in_a_guide_exists(guide: Path) -> None:
    for name in re.findall(r"`make ([\w-]+)`", guide.read_text(encoding="utf-8")):
        target(name)


def test_the_names_in_recipes_are_in_their_files() -> None:
    """What a row of a recipe sets as code beside one file is to be found in that file."""
    rows = re.findall(r"^\| `([^`]+\.(?:py|json))` \| (.*) \|$", GUIDES[1].read_text(encoding="utf-8"), re.MULTILINE)
    checked = 0
    for path, words in rows:
        text = found(path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", words):
            assert re.search(rf"\b{name}\b", text), (path, name)
            checked += 1
    assert checked > 15


def test_every_room_is_described_and_drawn() -> None:
    guide = GUIDES[1].read_text(encoding="utf-8")
    drawing = ElementTree.parse(ROOT / "docs" / "figures" / "rooms.svg")  # noqa: S314 (our own file)
    drawn = {text.strip() for node in drawing.iter() if node.get("class") == "room" for text in node.itertext()}
    assert len(ROOMS) == 14
    for room in ROOMS:
        assert f"| `{room}` |" in guide
        assert room in drawn


def test_the_drawing_is_for_light_and_dark() -> None:
    """It brings its own background, and loads nothing."""
    text = (ROOT / "docs" / "figures" / "rooms.svg").read_text(encoding="utf-8")
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    for kind in ("text", ".passed", ".back", ".box", ".way"):
        assert all(re.search(rf"{re.escape(kind)} {{[^}}]*(fill|stroke): #", part) for part in (light, dark)), kind
    assert '<rect class="back" width="900" height="516"' in text
    assert not re.search(r"href=|@import|url\((?!#)", text)


def test_hooks_run_what_lint_runs() -> None:
    (local,) = read(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert not any(hook["pass_filenames"] for hook in local["hooks"])
    assert [hook["entry"] for hook in local["hooks"]] == [
        line.replace("$(BIN)", ".venv/bin") for line in target("lint")
    ]


def test_the_workflow_runs_on_the_pythons_of_the_classifiers() -> None:
    jobs = read(".github/workflows/test.yml")["jobs"]
    versions = [name.split(" :: ")[-1] for name in PROJECT["classifiers"] if ":: Python :: 3." in name]
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
    for job, command in (("test", "make test"), ("release", "make release-check")):
        steps = jobs[job]["steps"]
        assert [step["run"] for step in steps if "run" in step] == [f"{command} PYTHON=python"]
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    (release,) = (step["with"] for step in jobs["release"]["steps"] if "with" in step)
    assert release["python-version"] == versions[-1]


def test_versions_agree() -> None:
    assert fairbound.__version__ == PROJECT["version"] == str(read("CITATION.cff")["version"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"pip install fairbound-{PROJECT['version']}-py3-none-any.whl" in readme


def test_the_citation() -> None:
    cited = read("CITATION.cff")
    assert (cited["cff-version"], cited["license"]) == ("1.2.0", PROJECT["license"])
    assert cited["authors"] == PROJECT["authors"]
    (paper,) = cited["references"]
    assert paper["title"] in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert [author["family-names"] for author in paper["authors"]] == ["Kang", "Li", "Weber", "Liu", "Zhang", "Li"]
    assert paper["year"] == 2022


def test_every_command_is_described() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    elsewhere = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/datasets/README.md"))
    assert not [name for name in COMMANDS if f"fairbound {name}" not in page + elsewhere]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("twine") is None, reason="make release-check installs what this needs")
def test_the_release_check_passes() -> None:
    script = ROOT / "tools" / "release_check.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
