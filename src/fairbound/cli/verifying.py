"""``fairbound verify``: whether a certificate is proved. Nothing but the checker is loaded for it."""

from __future__ import annotations

import argparse
import json

from fairbound.cli.output import ProblemError, read_file, say, say_text
from fairbound.verify.reading import read_document
from fairbound.verify.verdict import Verdict, Verification, verify

EXIT_STATUS = {Verdict.PROVED: 0, Verdict.NOT_PROVED: 1, Verdict.NOT_A_CERTIFICATE: 2}

#: Options of ``certify`` that say how the rows are read, where the document does not.
READING = (
    *("--label", "--group", "--prediction", "--probability", "--losses", "--weight"),
    *("--loss", "--clip", "--ceiling", "--missing", "--na", "--delimiter", "--encoding"),
)

#: More reasons than these are not printed.
MOST_REASONS = 20

#: Where certificates come from.
ORIGIN = "certificates are what fairbound certify writes with --json"

VERIFY_EXAMPLES = """\
examples:
  fairbound verify certificate.json
  fairbound verify certificate.json --data predictions.csv
  fairbound verify certificate.json --format json

exit status: 0 proved, 1 not proved or statistics of other data, 2 not a certificate or unreadable
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
    data = parser.add_argument_group("the data", "count them again, and see that the document's statistics are theirs")
    data.add_argument("--data", metavar="TABLE", help="the rows: columns and options are those that the document names")
    for option in READING:
        data.add_argument(option, action="append", metavar="X", help=f"as for fairbound certify {option}")
    parser.set_defaults(run=run_verify)


def run_verify(arguments: argparse.Namespace) -> int:
    """Check a proof."""
    text = read_file(arguments.file)
    result = verify(text, patient=arguments.patient)
    agreeing, differences = _recounted(text, result, arguments)
    status = max(EXIT_STATUS[result.verdict], 1 if differences else 0)
    if arguments.format == "json":
        say_text(_facts(result, agreeing, differences))
        return status
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
    say(*(f"  data: {what}" for what in agreeing))
    say(*(f"  the data are others: {what}" for what in differences))
    if result.verdict is Verdict.NOT_A_CERTIFICATE:
        say(f"  {ORIGIN}")
    return status


def _recounted(text: bytes, result: Verification, arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Count the data again, if they are given; only then more than the checker is loaded."""
    options = [
        f"{option}={value}" for option in READING for value in getattr(arguments, option[2:].replace("-", "_")) or ()
    ]
    if arguments.data is None:
        if options:
            message = f"{options[0].partition('=')[0]} is about data; name them with --data"
            raise ProblemError(message)
        return [], []
    if result.verdict is Verdict.NOT_A_CERTIFICATE:
        return [], []
    from fairbound.cli.recounting import recount  # noqa: PLC0415 (it loads NumPy, which checking does without)

    return recount(read_document(text), arguments.data, options, arguments.parser)


def _facts(result: Verification, agreeing: list[str], differences: list[str]) -> str:
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
            "data": {"agreeing": agreeing, "differences": differences},
        },
        indent=2,
        allow_nan=False,
    )
