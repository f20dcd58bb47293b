"""Build the package, look into what was built, and use it where the repository is not: ``make release-check``.

    python tools/release_check.py

builds a source archive and a wheel, has ``twine`` read their metadata, compares what they hold with the files of the
repository, installs the wheel into an empty virtual environment in a temporary folder and runs its commands there.
It needs ``build`` and ``twine`` (dependency group ``release``), and keeps nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Sequence
from email import message_from_bytes
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

#: What every archive has to hold, below the package: patterns, each of which some file has to match.
NEEDED = (
    "py.typed",
    "verify/schemas/*/certificate.json",
    "reporting/templates/page.html",
    "reporting/templates/report.css",
    "reporting/templates/report.js",
    "datasets/demonstration/adult_predictions.csv.gz",
    "datasets/demonstration/README.md",
    "datasets/files/adult.csv.gz",
    "datasets/files/crime.csv.gz",
    "datasets/files/german.csv.gz",
    "datasets/files/README.md",
)

#: What the source archive holds beside the package.
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml", ".gitignore", "PKG-INFO"}

#: What the wheel holds beside the package, in its folder of metadata.
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


class FailedError(Exception):
    """Something is not as it has to be; the message says what."""


def run(command: Sequence[str | Path], folder: Path = ROOT) -> str:
    """Run a program and return what it prints; what it printed is shown if it fails.

    Neither the repository nor packages of the user are on its path.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept | {"PYTHONNOUSERSITE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"{' '.join(map(str, command))} ended with status {done.returncode}:\n{done.stdout}"
        raise FailedError(message)
    return done.stdout


def package_files() -> set[str]:
    """Return the files of the package that the repository knows, as ``fairbound/...``."""
    listed = run(["git", "ls-files", "-z", "src/fairbound"]).split("\0")
    return {name.removeprefix("src/") for name in listed if name}


def check_names(archive: str, held: Iterable[str], expected: set[str]) -> None:
    """Compare the names in an archive with those expected, and look for what it cannot do without."""
    found = set(held)
    if found != expected:
        message = f"{archive} lacks {sorted(expected - found)} and holds {sorted(found - expected)} besides"
        raise FailedError(message)
    for pattern in NEEDED:
        if not any(PurePosixPath(name).match(f"fairbound/{pattern}") for name in found):
            message = f"{archive} has no fairbound/{pattern}"
            raise FailedError(message)


def check_source(path: Path, version: str, package: set[str]) -> None:
    """Look into the source archive."""
    top = f"fairbound-{version}/"
    with tarfile.open(path) as archive:
        names = [member.name for member in archive.getmembers() if member.isfile()]
    check_names(path.name, names, {f"{top}{name}" for name in BESIDE} | {f"{top}src/{name}" for name in package})


def check_wheel(path: Path, version: str, package: set[str]) -> None:
    """Look into the wheel, and at what it says of itself."""
    top = f"fairbound-{version}.dist-info/"
    with zipfile.ZipFile(path) as archive:
        check_names(path.name, archive.namelist(), package | {f"{top}{name}" for name in METADATA})
        said = message_from_bytes(archive.read(f"{top}METADATA"))
        if archive.read(f"{top}licenses/LICENSE") != (ROOT / "LICENSE").read_bytes():
            message = f"{path.name} holds another licence than the repository"
            raise FailedError(message)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for field, value in (
        ("Name", project["name"]),
        ("Version", version),
        ("Summary", project["description"]),
        ("Author", project["authors"][0]["name"]),
        ("License-Expression", project["license"]),
        ("Requires-Python", project["requires-python"]),
        ("Description-Content-Type", "text/markdown"),
    ):
        if said[field] != value:
            message = f"{path.name} says {field}: {said[field]!r} instead of {value!r}"
            raise FailedError(message)


def check_use(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel where there is nothing else, and run its commands."""
    venv.create(folder / "empty", with_pip=True)
    programs = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    python, fairbound = programs / "python", programs / "fairbound"
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], folder)
    where = run([python, "-c", "import fairbound; print(fairbound.__version__, fairbound.__file__)"], folder).strip()
    if not where.startswith(f"{version} {folder / 'empty'}"):
        message = f"what was imported is {where}"
        raise FailedError(message)
    expect("15060 held-out rows", run([fairbound, "demo"], folder))
    certificate = Path("fairbound-demo", "certificate.json")
    expect("the claim is proved", run([fairbound, "verify", certificate], folder))
    expect("the claim is proved", run([fairbound, "report", certificate, "-o", "page.html"], folder))
    expect("Proved", (folder / "page.html").read_text(encoding="utf-8"))


def expect(text: str, printed: str) -> None:
    """Fail if a text is not in what was printed."""
    if text not in printed:
        message = f"{text!r} was expected in\n{printed}"
        raise FailedError(message)


def check() -> None:
    """Do all of it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    package = package_files()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        built = folder / "dist"
        run([sys.executable, "-m", "build", "--outdir", built, ROOT])
        source, wheel = built / f"fairbound-{version}.tar.gz", built / f"fairbound-{version}-py3-none-any.whl"
        if {source, wheel} != set(built.iterdir()):
            message = f"what was built is {sorted(path.name for path in built.iterdir())}"
            raise FailedError(message)
        run([sys.executable, "-m", "twine", "check", "--strict", source, wheel])
        check_source(source, version, package)
        check_wheel(wheel, version, package)
        print(f"{source.name}: {source.stat().st_size:,} bytes; {wheel.name}: {wheel.stat().st_size:,} bytes")
        check_use(wheel, version, folder)
    print("built, checked, installed into an empty environment, and used there")


if __name__ == "__main__":
    try:
        check()
    except FailedError as failure:
        sys.exit(f"release check: {failure}")
