"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fairbound import __version__
from fairbound.certificate import Certificate, CertificateCurve
from fairbound.checker import Verdict, verify
from fairbound.datasets.command import add_parser as add_datasets
from fairbound.errors import InputError
from fairbound.experiments.command import add_parser as add_reproduce
from fairbound.reader import CURVE_FORMAT, read_format
from fairbound.strict import MOST_CHARACTERS, MalformedError

EXIT_STATUS = {Verdict.PROVED: 0, Verdict.NOT_PROVED: 1, Verdict.NOT_A_CERTIFICATE: 2}


def say(*lines: str) -> None:
    """Print lines, if there are any."""
    for line in lines:
        print(line)  # noqa: T201 (the output of a command)


class _UnreadableError(Exception):
    """A file cannot be read."""


class _UnwritableError(Exception):
    """A file cannot be written."""


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


def _demo(arguments: argparse.Namespace) -> int:
    from fairbound.demo import run_demo, write_demo  # noqa: PLC0415 (loads data: only when asked for)

    say(run_demo())
    try:
        certificate, page = write_demo(Path(arguments.output))
    except OSError as error:
        message = f"{arguments.output} cannot be written: {error.strerror}"
        raise _UnwritableError(message) from None
    say(
        "",
        f"Written: {certificate}, the certificates of sensitive shifting at 50 radii with their proofs,",
        f"and {page}, a page about them to show to others. What to do next:",
        f"  open {page} in a browser",
        f"  fairbound verify {certificate}",
    )
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from fairbound.findings import examine  # noqa: PLC0415 (only this command needs it)
    from fairbound.report import render  # noqa: PLC0415 (likewise)

    output = Path(arguments.output or Path(arguments.file).with_suffix(".html").name)
    found = examine(_read(arguments.file))
    try:
        if output.exists() and output.samefile(arguments.file):
            message = f"{output} is the certificate itself; choose another file with --output"
            raise _UnwritableError(message)
        output.write_text(render(found, arguments.title), encoding="utf-8")
    except OSError as error:
        message = f"{output} cannot be written: {error.strerror}"
        raise _UnwritableError(message) from None
    say(f"{output}: a report about {arguments.file}; {found.verification.verdict.value}")
    say(*(f"  reason: {reason}" for reason in found.verification.reasons[:20]))
    return 0 if found.verification.valid else 1


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
    demo.add_argument(
        "-o", "--output", default="fairbound-demo", metavar="FOLDER", help="where to write (default: %(default)s)"
    )
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
    reporting = commands.add_parser(
        "report",
        help="make a page about a certificate, to show to others",
        description="Check a certificate and write one self-contained page of HTML about it.",
        epilog="exit status: 0 proved, 1 not proved (the page says so), 2 not a certificate or unreadable",
    )
    reporting.add_argument("file", help="a certificate or a curve, as written by to_json()")
    reporting.add_argument("-o", "--output", metavar="FILE", help="the page (default: named as the certificate, .html)")
    reporting.add_argument("--title", help="the page's title (default: the question that it answers)")
    reporting.set_defaults(run=_report)
    add_datasets(commands)
    add_reproduce(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    chosen = parser().parse_args(arguments)
    try:
        status: int = chosen.run(chosen)
    except (_UnreadableError, _UnwritableError, MalformedError, InputError) as error:
        print(f"fairbound: {error}", file=sys.stderr)  # noqa: T201 (the message of a command)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
