"""The page itself: the templates that hold its prose, filled with what is to be said.

What the templates do not write themselves is escaped by Jinja, whatever it is; a name that they misspell is an error,
not an empty place. The policy of the page admits its own scripts and style, by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairbound.reporting.second_checker import browser_checker
from fairbound.version import __version__
from fairbound.wording.names import printable, short_name
from fairbound.wording.vocabulary import capitalised


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("fairbound.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(name=short_name, capitalised=capitalised, exact=repr)
    made.globals["version"] = __version__
    return made


def _shown(value: object) -> object:
    """Let no text through that cannot be shown, or that would turn the direction of writing."""
    if value is None:
        message = "a template shows nothing where something has to stand"
        raise TypeError(message)
    return value if isinstance(value, Markup) else printable(str(value))


def fill(title: str, scripts: Sequence[str], template: str = "page.html", **facts: Any) -> str:
    """Return a page; ``scripts`` are the names of our own, the policy admits no other.

    The second checker runs in a worker, which the page makes of the text that it carries: nothing is loaded for it.
    """
    style, code = _file("report.css"), [_file(name) for name in scripts]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_digest, code))}; worker-src blob:; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(
            title=short_name(title, 200),
            policy=policy,
            style=Markup(style),  # noqa: S704 (our own)
            scripts=[Markup(text) for text in code],  # noqa: S704 (our own)
            checker=browser_checker(),
            **facts,
        )
    )


def checker_page() -> str:
    """Return a page, complete in itself, that checks any certificate dropped onto it."""
    return fill("Check a certificate", ("checking.js",), "checker_page.html")


def _file(name: str) -> str:
    return files("fairbound.reporting").joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
