"""The documentation: it builds without warnings, its links lead somewhere, and what it shows is real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import fairbound
from fairbound.cli import main
from fairbound.datasets.demo import demo_columns, demo_population

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


@dataclass
class Page(HTMLParser):
    """What a page of HTML points at, what it loads, and where it can be pointed at."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in {"index", "search", "next", "prev"}:
            self.loads.append(values["href"])
        self.loads += [values[name] for name in ("src", "data", "poster") if name in values]
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", values.get("style", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--fresh-env"]
    done = subprocess.run(
        [*build, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Read all pages of the site."""
    found = {}
    for file in site.rglob("*.html"):
        found[file] = Page()
        found[file].feed(file.read_text(encoding="utf-8"))
    return found


def test_every_page_is_there(pages: dict[Path, Page], site: Path) -> None:
    for source in PAGES:
        assert (site / source.relative_to(ROOT / "docs")).with_suffix(".html") in pages


def test_the_tutorial_was_run(site: Path) -> None:
    """Its outputs, pictures and page are there, made now: the notebook itself holds none."""
    notebook = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    assert page.count('class="cell_output') == len(cells)
    assert page.count("<img") >= 2
    assert "The claim is proved" in page
    assert "<iframe srcdoc=" in page
    assert "Traceback" not in page


def test_examples_can_be_copied(site: Path) -> None:
    assert (site / "_static" / "copybutton.js").is_file()


def test_internal_links_resolve(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages[target].anchors if target in pages else None
            if not target.is_file() or (parts.fragment and known is not None and unquote(parts.fragment) not in known):
                broken.append(f"{file.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_outside(pages: dict[Path, Page], site: Path) -> None:
    outside = [load for page in pages.values() for load in page.loads if urlsplit(load).scheme not in {"", "data"}]
    outside += [load for page in pages.values() for load in page.loads if urlsplit(load).netloc]
    for style in site.rglob("*.css"):
        outside += re.findall(
            r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", style.read_text(encoding="utf-8")
        )
    assert not outside


def test_the_reference_is_complete(pages: dict[Path, Page], site: Path) -> None:
    anchors = pages[site / "api.html"].anchors
    assert not [name for name in fairbound.__all__ if f"fairbound.{name}" not in anchors]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_links_between_files_resolve(path: Path) -> None:
    """The pages are also read as they are, beside the code."""
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        parts = urlsplit(link)
        if not parts.scheme and parts.path:
            assert (path.parent / parts.path).exists(), link


def blocks(text: str) -> Iterator[str]:
    """Yield the blocks of Python in a page."""
    for match in re.finditer(r"^ *```(?:python|py|pycon)\b[^\n]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield match[1]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_python_in_pages_is_executed(path: Path) -> None:
    """Blocks with prompts are run by pytest as doctests; a block without them would be run by nobody."""
    for block in blocks(path.read_text(encoding="utf-8")):
        assert block.lstrip().startswith(">>> "), block
        assert block.endswith("\n\n"), f"an empty line must end the output:\n{block}"
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert {"docs", "README.md"} <= set(options["testpaths"])
    assert "--doctest-glob=*.md" in options["addopts"]


def plain(text: str) -> list[str]:
    """Return lines with what may differ between machines made equal: last digits, the gap, the number of pieces."""
    text = re.sub(r"\b0\.\d{7,}", lambda number: f"{float(number[0]):.5f}", text)
    text = re.sub(r"the gap, [\d.e-]+,", "the gap,", re.sub(r"by \d+ pieces", "by pieces", text))
    return [line.strip() for line in text.splitlines() if line.strip()]


def printed_in(page: str) -> Iterator[list[str]]:
    """Yield the indented blocks of a page."""
    for match in re.finditer(r"(?:^(?: {4}[^\n]*)?\n)+", page, re.MULTILINE):
        if match[0].strip():
            yield plain(match[0])


def shows(block: list[str], output: list[str]) -> bool:
    """Whether the lines of a block stand in the output, one after the other; ``...`` shortens the end of a line."""
    rest = iter(output)
    return all(
        any(seen.startswith(line[:-3]) if line.endswith("...") else seen == line for seen in rest) for line in block
    )


@pytest.mark.parametrize(("confidence", "name"), [(None, "cert.json"), (0.95, "sample.json")])
def test_output_shown_to_auditors_is_real(
    confidence: float | None,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    population = demo_population(demo_columns())
    certificate = fairbound.certify(population, 0.2, shift="sensitive", confidence=confidence)
    Path(name).write_text(certificate.to_json(), encoding="utf-8")
    assert main(["show", name]) == main(["verify", name]) == 0
    output = plain(capsys.readouterr().out)
    page = (ROOT / "docs" / "verifying.md").read_text(encoding="utf-8")
    shown = [block for block in printed_in(page) if shows(block, output)]
    assert any("at most" in line for block in shown for line in block), "what fairbound show prints"
    assert any(line == f"{name}: the claim is proved" for block in shown for line in block), "what verify prints"


def test_figures_can_be_drawn_again(tmp_path: Path) -> None:
    script = ROOT / "tools" / "make_readme_figure.py"
    subprocess.run([sys.executable, str(script), "--output", str(tmp_path)], check=True, capture_output=True)
    for name in ("certificate.svg", "worst-case.svg"):
        kept, drawn = (folder / name for folder in (ROOT / "docs" / "figures", tmp_path))
        assert kept.read_text(encoding="utf-8").startswith("<?xml")
        assert drawn.stat().st_size == pytest.approx(kept.stat().st_size, rel=0.5)
        assert kept.stat().st_size < 200_000
