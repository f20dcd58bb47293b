"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fairbound import __version__
from fairbound.certificate import Certificate, CertificateCurve
from fairbound.checker import Verdict, verify
from fairbound.reader import CURVE_FORMAT, read_format
from fairbound.strict import MOST_CHARACTERS, MalformedError

EXIT_STATUS = {Verdict.PROVED: 0, Verdict.NOT_PROVED: 1, Verdict.NOT_A_CERTIFICATE: 2}


def say(*lines: str) -> None:
    """Print lines, if there are any."""
    for line in lines:
        print(line)  # noqa: T201 (the output of a command)


class _UnreadableError(Exception):
    """A file cannot be read."""


def _read(path: str) -> bytes:
    """Return a file's bytes, refusing what is too large to be a certificate."""
    file = Path(path)
    try:
        if file.stat().st_size > MOST_CHARACTERS:
            message = f"{path} has {file.stat().st_size:,} bytes; at most {MOST_CHARACTERS:,} are read"
            raise _UnreadableError(message)
        return file.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise _UnreadableError(message) from None


def _demo(_: argparse.Namespace) -> int:
    from fairbound.demo import run_demo  # noqa: PLC0415 (loads data: only when asked for)

    say(run_demo())
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    result = verify(_read(arguments.file))
    say(f"{arguments.file}: {result.verdict.value}")
    say(*(f"  checked: {what}" for what in result.checks))
    if result.checked_bound is not None:
        say(f"  the proof gives the bound {result.checked_bound!r}")
    if result.witness_value is not None:
        say(f"  the worst-case distribution attains {result.witness_value!r}")
    say(*(f"  reason: {reason}" for reason in result.reasons[:20]))
    if len(result.reasons) > 20:
        say(f"  and {len(result.reasons) - 20} more reasons")
    return EXIT_STATUS[result.verdict]


def _show(arguments: argparse.Namespace) -> int:
    from fairbound.summary import show_certificate, show_curve  # noqa: PLC0415 (only this command needs it)

    text = _read(arguments.file)
    if read_format(text) == CURVE_FORMAT:
        say(show_curve(CertificateCurve.from_json(text)))
    else:
        say(show_certificate(Certificate.from_json(text)))
    say("", f"Whether the proof holds was not checked here: run fairbound verify {arguments.file}")
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
    checking = commands.add_parser(
        "verify",
        help="check the proof of a certificate",
        description="Check a certificate's proof from the document alone.",
        epilog="exit status: 0 proved, 1 not proved, 2 not a certificate or unreadable",
    )
    checking.add_argument("file", help="a certificate or a curve, as written by to_json()")
    checking.set_defaults(run=_verify)
    showing = commands.add_parser("show", help="print a certificate for a person")
    showing.add_argument("file", help="a certificate or a curve, as written by to_json()")
    showing.set_defaults(run=_show)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    chosen = parser().parse_args(arguments)
    try:
        status: int = chosen.run(chosen)
    except (_UnreadableError, MalformedError) as error:
        print(f"fairbound: {error}", file=sys.stderr)  # noqa: T201 (the message of a command)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
