"""``fairbound verify``, ``show`` and ``report``: what can be done with a certificate that was saved."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fairbound.certificate.certificate import Certificate
from fairbound.verify.verdict import Verdict, Verification, verify
from fairbound.cli.output import ProblemError, read_file, say, say_text, unwritable, write_file
from fairbound.certificate.curve import CertificateCurve
from fairbound.verify.reading import is_curve
from fairbound.verify.strict import MalformedError

EXIT_STATUS = {Verdict.PROVED: 0, Verdict.NOT_PROVED: 1, Verdict.NOT_A_CERTIFICATE: 2}

#: More reasons than these are not printed.
MOST_REASONS = 20

#: Where certificates come from.
ORIGIN = "certificates are what fairbound certify writes with --json"

VERIFY_EXAMPLES = """\
examples:
  fairbound verify certificate.json
  fairbound verify certificate.json --format json

exit status: 0 proved, 1 not proved, 2 not a certificate or unreadable
"""

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


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.epilog = VERIFY_EXAMPLES
    parser.add_argument("file", metavar="FILE", help="a certificate or a curve, as --json or to_json() writes it")
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="what to print (default: %(default)s)"
    )
    parser.add_argument(
        "--patient", action="store_true", help="check also what takes longer than a few seconds, up to some minutes"
    )
    parser.set_defaults(run=run_verify)


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


def run_verify(arguments: argparse.Namespace) -> int:
    """Check a proof."""
    result = verify(read_file(arguments.file), patient=arguments.patient)
    if arguments.format == "json":
        say_text(_facts(result))
        return EXIT_STATUS[result.verdict]
    say(f"{arguments.file}: {result.verdict.value}")
    say(*(f"  checked: {what}" for what in result.checks))
    if result.checked_bound is not None:
        say(f"  the proof gives the bound {result.checked_bound!r}")
    if result.witness_value is not None:
        sampled = any(what.startswith("the confidence region") for what in result.checks)
        where = ", in the larger ball that allows for sampling error," if sampled else ""
        say(f"  the worst-case distribution{where} attains {result.witness_value!r}")
    say(*(f"  reason: {reason}" for reason in result.reasons[:MOST_REASONS]))
    if len(result.reasons) > MOST_REASONS:
        say(f"  and {len(result.reasons) - MOST_REASONS} more reasons")
    say(*(f"  note: {remark}" for remark in result.remarks))
    if result.verdict is Verdict.NOT_A_CERTIFICATE:
        say(f"  {ORIGIN}")
    return EXIT_STATUS[result.verdict]


def _facts(result: Verification) -> str:
    return json.dumps(
        {
            "verdict": result.verdict.name.lower(),
            "valid": result.valid,
            "checked_bound": result.checked_bound,
            "witness_value": result.witness_value,
            "checks": list(result.checks),
            "reasons": list(result.reasons),
            "remarks": list(result.remarks),
        },
        indent=2,
        allow_nan=False,
    )


def run_show(arguments: argparse.Namespace) -> int:
    """Print a certificate for a person."""
    from fairbound.reporting.terminal import show_certificate, show_curve  # noqa: PLC0415 (only this command needs it)

    text = read_file(arguments.file)
    try:
        curve = is_curve(text)
        shown = show_curve(CertificateCurve.from_json(text)) if curve else show_certificate(Certificate.from_json(text))
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
    from fairbound.reporting.report_data import examine  # noqa: PLC0415 (only this command needs it)
    from fairbound.reporting.report import render  # noqa: PLC0415 (likewise)

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
