"""``fairbound verify``: whether a certificate is proved. Nothing but the checker is loaded for it."""

from __future__ import annotations

import argparse
import json

from fairbound.cli.output import read_file, say, say_text
from fairbound.verify.verdict import Verdict, Verification, verify

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


def run_verify(arguments: argparse.Namespace) -> int:
    """Check a proof."""
    result = verify(read_file(arguments.file), patient=arguments.patient)
    if arguments.format == "json":
        say_text(_facts(result))
        return EXIT_STATUS[result.verdict]
    say(f"{arguments.file}: {result.verdict.value}")
    say(*(f"  {what}" for what in result.claims))
    say(*(f"  gate {what}" for _, what in result.gates))
    say(*(f"  checked: {what}" for what in result.checks))
    for number, one in enumerate(result.questions):
        of = f" of question {number}" if len(result.questions) > 1 else ""
        if one.checked_bound is not None:
            say(f"  the proof{of} gives the bound {one.checked_bound!r}")
        if one.witness_value is not None:
            sampled = any(what.startswith("the confidence region") for what in one.checks)
            where = ", in the larger ball that allows for sampling error," if sampled else ""
            say(f"  the worst-case distribution{of}{where} attains {one.witness_value!r}")
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
            "claims": list(result.claims),
            "gates": [{"passed": passed, "said": said} for passed, said in result.gates],
            "passed": result.passed,
            "questions": [
                {"proved": one.proved, "checked_bound": one.checked_bound, "witness_value": one.witness_value}
                for one in result.questions
            ],
            "checks": list(result.checks),
            "reasons": list(result.reasons),
            "remarks": list(result.remarks),
        },
        indent=2,
        allow_nan=False,
    )
