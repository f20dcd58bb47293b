"""``fairbound show`` and ``report``: what can be done with a certificate that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairbound.certificate.curve import CertificateCurve
from fairbound.certificate.evidence import Evidence, read_result
from fairbound.cli.output import ProblemError, read_file, say, say_text, unwritable, write_file
from fairbound.cli.verifying import MOST_REASONS, ORIGIN
from fairbound.reporting.report import render
from fairbound.reporting.report_data import Examined, examine
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
  fairbound report may.json june.json -o report.html

Of two certificates the last is the newer model's; the page then begins with what is better and what is worse.

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
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a certificate or a curve, as --json or to_json() writes it; or two, that of the older model first",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: named as the certificate, .html)")
    parser.add_argument("--title", help="the page's title (default: the question that it answers)")
    parser.set_defaults(run=run_report)


def run_show(arguments: argparse.Namespace) -> int:
    """Print a certificate for a person."""
    text = read_file(arguments.file)
    try:
        found = read_result(text)
    except MalformedError as error:
        raise _no_certificate(arguments.file, error) from None
    for one in found if isinstance(found, Evidence) else (found,):
        say_text(show_curve(one) if isinstance(one, CertificateCurve) else show_certificate(one))
        say(*([""] if isinstance(found, Evidence) else []))
    say(*(f"Gate {gate.sentence}" for gate in (found.gates if isinstance(found, Evidence) else ())))
    say("", f"Whether the proof holds was not checked here: run fairbound verify {arguments.file}")
    return 0


def _no_certificate(file: str, error: MalformedError) -> ProblemError:
    """Return the problem of a file that is something else."""
    return ProblemError(f"{file} is not a certificate: {error}; {ORIGIN}")


def run_report(arguments: argparse.Namespace) -> int:
    """Make the page about a certificate, or about two."""
    files: list[str] = arguments.files
    if len(files) > 2:
        message = f"report compares two certificates at most, and {len(files)} are named; leave some out"
        raise ProblemError(message)
    found = [_examined(file) for file in files]
    output = Path(arguments.output or Path(files[-1]).with_suffix(".html").name)
    for file in files:
        try:
            if output.exists() and output.samefile(file):
                message = f"{output} is the certificate itself; choose another file with --output"
                raise ProblemError(message)
        except (OSError, ValueError) as error:
            raise unwritable(output, error) from None
    if len(files) == 1:
        write_file(output, render(found[0], arguments.title))
    else:
        names = Path(files[0]).stem, Path(files[1]).stem
        write_file(output, render(found[1], arguments.title, older=found[0], names=names))
    say(f"{output}: a report about {files[-1]}{f', against {files[0]}' if len(files) == 2 else ''}")
    for file, one in zip(files, found, strict=True):
        say(f"  {file}: {one.verification.verdict.value}")
        say(*(f"  gate {said}" for _, said in one.verification.gates))
        say(*(f"  reason: {reason}" for reason in one.verification.reasons[:MOST_REASONS]))
    return 0 if all(one.verification.valid for one in found) else 1


def _examined(file: str) -> Examined:
    """Read and check a file."""
    try:
        return examine(read_file(file))
    except MalformedError as error:
        raise _no_certificate(file, error) from None
