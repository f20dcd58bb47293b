"""``fairbound show`` and ``report``: what can be done with a certificate that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairbound.certificate.curve import CertificateCurve, read_result
from fairbound.cli.output import ProblemError, read_file, say, say_text, unwritable, write_file
from fairbound.cli.verifying import MOST_REASONS, ORIGIN
from fairbound.reporting.report import render
from fairbound.reporting.report_data import examine
from fairbound.reporting.terminal import show_certificate, show_curve
from fairbound.verify.strict import MalformedError

SHOW_EXAMPLES = """\
examples:
  fairbound show certificate.json

exit status: 0, or 2 not a certificate or unreadable
"""

REPORT_EXAMPLES = """\
examples:
  fairbound report certificate.json -o report.html --title "Credit model, test of May"

exit status: 0 proved, 1 not proved (the page says so), 2 not a certificate or unreadable
"""


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.epilog = SHOW_EXAMPLES
    parser.add_argument("file", metavar="FILE", help="a certificate or a curve, as --json or to_json() writes it")
    parser.set_defaults(run=run_show)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    parser.epilog = REPORT_EXAMPLES
    parser.add_argument("file", metavar="FILE", help="a certificate or a curve, as --json or to_json() writes it")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: named as the certificate, .html)")
    parser.add_argument("--title", help="the page's title (default: the question that it answers)")
    parser.set_defaults(run=run_report)


def run_show(arguments: argparse.Namespace) -> int:
    """Print a certificate for a person."""
    text = read_file(arguments.file)
    try:
        found = read_result(text)
        shown = show_curve(found) if isinstance(found, CertificateCurve) else show_certificate(found)
    except MalformedError as error:
        raise _no_certificate(arguments.file, error) from None
    say_text(shown)
    say("", f"Whether the proof holds was not checked here: run fairbound verify {arguments.file}")
    return 0


def _no_certificate(file: str, error: MalformedError) -> ProblemError:
    """Return the problem of a file that is something else."""
    return ProblemError(f"{file} is not a certificate: {error}; {ORIGIN}")


def run_report(arguments: argparse.Namespace) -> int:
    """Make the page about a certificate."""
    text = read_file(arguments.file)
    output = Path(arguments.output or Path(arguments.file).with_suffix(".html").name)
    try:
        found = examine(text)
    except MalformedError as error:
        raise _no_certificate(arguments.file, error) from None
    try:
        if output.exists() and output.samefile(arguments.file):
            message = f"{output} is the certificate itself; choose another file with --output"
            raise ProblemError(message)
    except (OSError, ValueError) as error:
        raise unwritable(output, error) from None
    write_file(output, render(found, arguments.title))
    say(f"{output}: a report about {arguments.file}; {found.verification.verdict.value}")
    say(*(f"  reason: {reason}" for reason in found.verification.reasons[:MOST_REASONS]))
    return 0 if found.verification.valid else 1
