"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fairbound import __version__


def _demo(_: argparse.Namespace) -> int:
    from fairbound.demo import run_demo  # noqa: PLC0415 (loads data: only when asked for)

    print(run_demo())  # noqa: T201 (the command's output)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="fairbound",
        description="Certificates, with proof, of a model's largest loss where all groups have equal base rates.",
    )
    top.add_argument("--version", action="version", version=f"fairbound {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="certify a model on data that ships with the package")
    demo.set_defaults(run=_demo)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    chosen = parser().parse_args(arguments)
    status: int = chosen.run(chosen)
    return status


if __name__ == "__main__":
    sys.exit(main())
