"""``fairbound checker``: the second checker, to be handed to people who install nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairbound.cli.output import say, write_file
from fairbound.reporting.page import checker_page
from fairbound.reporting.second_checker import browser_checker

CHECKER_EXAMPLES = """\
examples:
  fairbound checker -o verify.html     a page: open it in a browser, and drop a certificate onto it
  fairbound checker -o checker.js      a program: node checker.js certificate.json

Both are the same second checker, written from the specification of certificates in another language. The program has
the exit status of fairbound verify: 0 proved, 1 not proved, 2 not a certificate or unreadable.
"""


def add_checker(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``checker``."""
    parser.epilog = CHECKER_EXAMPLES
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="verify.html",
        help="where to write; a name that ends in .js gets the program, any other the page (default: %(default)s)",
    )
    parser.set_defaults(run=run_checker)


def run_checker(arguments: argparse.Namespace) -> int:
    """Write the page, or the program."""
    output, program = Path(arguments.output), browser_checker()
    alone = output.suffix.lower() in {".js", ".cjs"}
    write_file(output, program.text if alone else checker_page())
    use = f"node {output} certificate.json" if alone else "open it in a browser, and drop a certificate onto it"
    say(f"{output}: the second checker; {use}", f"  SHA-256 of checker.js: {program.digest}")
    return 0
