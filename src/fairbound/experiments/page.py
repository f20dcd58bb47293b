"""The results as one page: HTML for a browser, Markdown for a repository."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from fairbound.experiments.section import Check, Listing, Section

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #d8dde3; padding: 0.25rem 0.7rem; text-align: left; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; } figcaption { color: #4b5563; font-size: 0.9rem; }
.failed { color: #a40000; font-weight: 600; } details { margin: 1rem 0; } summary { cursor: pointer; }
"""


@dataclass(frozen=True)
class Results:
    """All sections, and what they were made with."""

    title: str
    made: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all sections."""
        return tuple(check for section in self.sections for check in section.checks)


def write_html(results: Results, data: list[Path]) -> str:
    """Write the page for a browser."""
    failed = [check for check in results.checks if not check.holds]
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(results.title)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
        f"<h1>{escape(results.title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in results.made),
        f"<p>{escape(verdict(results))}</p>",
        *(f'<p class="failed">Not seen: {escape(check.statement)} ({escape(check.detail)})</p>' for check in failed),
    ]
    for section in results.sections:
        parts += [f"<h2>{escape(section.title)}</h2>", f"<p>{escape(section.text)}</p>"]
        parts += [_html_table(listing) for listing in section.listings]
        for figure in section.figures:
            parts.append(
                f'<figure><a href="figures/{figure.name}.svg"><img src="figures/{figure.name}.png" '
                f'alt="{escape(figure.caption)}"></a><figcaption>{escape(figure.caption)}</figcaption></figure>'
            )
        if section.checks:
            table = _html_table(_checks(section.checks))
            parts.append(f"<details><summary>What was checked</summary>{table}</details>")
    links = "".join(f'<li><a href="data/{escape(file.name)}">{escape(file.name)}</a></li>' for file in data)
    parts.append(f"<h2>Every number</h2><details><summary>{len(data)} CSV files</summary><ul>{links}</ul></details>")
    return "\n".join([*parts, "</body></html>", ""])


def write_markdown(results: Results) -> str:
    """Write the page for a repository."""
    failed = [f"* **Not seen**: {check.statement} ({check.detail})" for check in results.checks if not check.holds]
    parts = [f"# {results.title}", *results.made, verdict(results), *(["\n".join(failed)] if failed else [])]
    for section in results.sections:
        parts += [f"## {section.title}", section.text]
        parts += [_markdown_table(listing) for listing in section.listings]
        parts += [f"![{figure.caption}](figures/{figure.name}.png)\n\n*{figure.caption}*" for figure in section.figures]
        if section.checks:
            parts.append(_markdown_table(_checks(section.checks)))
    return "\n\n".join(parts) + "\n"


def verdict(results: Results) -> str:
    """Say in a sentence how the checks ended."""
    failed = sum(not check.holds for check in results.checks)
    return f"{len(results.checks)} checks, {'all passed' if not failed else f'{failed} of them failed'}."


def _checks(checks: tuple[Check, ...]) -> Listing:
    rows = tuple((check.statement, "yes" if check.holds else "NO", check.detail) for check in checks)
    return Listing("What was checked", ("what must be seen", "seen", "measured"), rows)


def _html_table(listing: Listing) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in listing.head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in listing.rows)
    return f"<table><caption>{escape(listing.caption)}</caption><tr>{head}</tr>{rows}</table>"


def _markdown_table(listing: Listing) -> str:
    lines = [listing.head, tuple("---" for _ in listing.head), *listing.rows]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return f"{listing.caption}:\n\n{body}"
