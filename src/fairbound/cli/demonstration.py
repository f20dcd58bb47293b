"""``fairbound demo``: the whole way once, on data that ship with the package."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from fairbound.cli.output import say, say_text, unwritable

EXAMPLES = """\
examples:
  fairbound demo
  fairbound demo --output somewhere
"""


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``demo``."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "-o", "--output", default="fairbound-demo", metavar="FOLDER", help="where to write (default: %(default)s)"
    )
    parser.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Certify the demonstration model, and write what a user would."""
    from fairbound import demo  # noqa: PLC0415 (loads data: only when asked for)

    say_text(demo.run_demo())
    try:
        written = demo.write_demo(Path(arguments.output))
    except OSError as error:
        raise unwritable(arguments.output, error) from None
    program = _program()
    say(
        "",
        f"Written: {written.certificate}, the certificates of sensitive shifting at 50 radii with their proofs,",
        f"{written.page}, a page about them to show to others, and {written.rows}, the rows. What to do next:",
        f"  open {written.page} in a browser",
        f"  {program} verify {written.certificate}",
        f"  {program} certify {written.rows} --label income --prediction predicted --group sex --rho 0.2",
    )
    return 0


def _program() -> str:
    """Return what to type: the name alone if the shell finds it, else the path that was typed now."""
    typed = sys.argv[0]
    elsewhere = Path(typed).name == "fairbound" and shutil.which("fairbound") is None
    return typed if elsewhere else "fairbound"
