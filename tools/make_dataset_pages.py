"""Write the figures of each dataset into its page in the documentation, between two marks.

Fetches what does not ship with the package; a test compares the pages with the data::

    python tools/make_dataset_pages.py --accept-terms
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from fairbound.datasets import NAMES, load
from fairbound.datasets.figures import figures

PAGES = Path(__file__).resolve().parents[1] / "docs" / "datasets"


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Write the figures of the datasets into their pages.")
    parser.add_argument("--accept-terms", action="store_true", help="accept the terms of use of all datasets")
    options = parser.parse_args()
    for name in NAMES:
        page = PAGES / f"{name}.md"
        found = figures(load(name, accept_terms=options.accept_terms))
        marked = re.compile(r"(<!-- figures -->\n).*(<!-- end -->)", re.DOTALL)
        text = page.read_text("utf-8")
        place = marked.search(text)
        if place is None:
            raise ValueError(f"{page} has no place for the figures")
        page.write_text(f"{text[: place.start()]}{place[1]}{found}\n{place[2]}{text[place.end() :]}", encoding="utf-8")
        print(f"{page.name}: written")


if __name__ == "__main__":
    main()
