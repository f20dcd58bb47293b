"""``fairbound verify``: whether a certificate is proved. Nothing but the checker is loaded for it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairbound.cli.output import ProblemError, read_file, say, say_text
from fairbound.errors import InputError
from fairbound.verify.reading import read_document
from fairbound.verify.verdict import Verdict, Verification, verify
from fairbound.wording.confidence import ONE_RADIUS, reached_in
from fairbound.wording.names import read_name, short_name

if TYPE_CHECKING:
    from fairbound.integrations.attestations import Opened

EXIT_STATUS = {Verdict.PROVED: 0, Verdict.NOT_PROVED: 1, Verdict.NOT_A_CERTIFICATE: 2}

#: Options of ``certify`` that say how the rows are read, where the document does not.
READING = (
    *("--label", "--group", "--prediction", "--probability", "--losses", "--weight", "--strata", "--cuts"),
    *("--loss", "--clip", "--ceiling", "--missing", "--na", "--delimiter", "--encoding"),
)

#: More reasons than these are not printed.
MOST_REASONS = 20

#: Where certificates come from.
ORIGIN = "certificates are what fairbound certify writes with --json"
PAGE = "this is a page: open it in a browser, save the certificate that it carries, and verify that"

VERIFY_EXAMPLES = """\
examples:
  fairbound verify certificate.json
  fairbound verify certificate.json --data predictions.csv
  fairbound verify certificate.json --format json
  fairbound verify release.dsse.json --key signer.pub

exit status: 0 proved, 1 not proved, statistics of other data, an envelope that is void, or with --gates a gate that
failed, 2 not a certificate or unreadable
"""


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.epilog = VERIFY_EXAMPLES
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a certificate or a curve, as --json or to_json() writes it; or an envelope of fairbound attest",
    )
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="what to print (default: %(default)s)"
    )
    parser.add_argument(
        "--patient", action="store_true", help="check also what takes longer than a few seconds, up to some minutes"
    )
    parser.add_argument(
        "--gates", action="store_true", help="exit with status 1 also if a threshold of the document is not kept"
    )
    signed = parser.add_argument_group("an envelope", "check the signature and the digests of all subjects as well")
    signed.add_argument("--key", metavar="PEM", help="the signer's public key")
    signed.add_argument(
        "--subject",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="where a file is that was signed (default: beside the envelope, by its name); several",
    )
    data = parser.add_argument_group("the data", "count them again, and see that the document's statistics are theirs")
    data.add_argument("--data", metavar="TABLE", help="the rows: columns and options are those that the document names")
    for option in READING:
        data.add_argument(option, action="append", metavar="X", help=f"as for fairbound certify {option}")
    parser.set_defaults(run=run_verify)


def run_verify(arguments: argparse.Namespace) -> int:
    """Check a proof and, of an envelope, the signature and the files too."""
    text = read_file(arguments.file)
    result = verify(text, patient=arguments.patient)
    signed: Sequence[str] | None = None
    if arguments.key is not None or arguments.subject or result.verdict is Verdict.NOT_A_CERTIFICATE:
        opened = _opened(text, arguments)
        if opened is not None:
            if opened.document is None or not opened.accepted:
                return _void(arguments, opened.checks, opened.reasons)
            text, signed = opened.document, opened.checks
            result = verify(text, patient=arguments.patient)
    agreeing, differences = _recounted(text, result, arguments)
    failed = differences or (arguments.gates and not result.passed)
    status = max(EXIT_STATUS[result.verdict], 1 if failed else 0)
    if arguments.format == "json":
        say_text(_facts(result, agreeing, differences, signed))
        return status
    say(f"{arguments.file}: {result.verdict.value}{f', of other data than {arguments.data}' if differences else ''}")
    say(*(f"  reason: {reason}" for reason in result.reasons[:MOST_REASONS]))
    if len(result.reasons) > MOST_REASONS:
        say(f"  and {len(result.reasons) - MOST_REASONS} more reasons")
    say(*(f"  the data are others: {what}" for what in differences))
    say(*(f"  {what}" for what in result.claims))
    say(*(f"  gate {what}" for _, what in result.gates))
    say(*(f"  signed: {what}" for what in signed or ()))
    if result.verdict is Verdict.PROVED:
        say(*(f"  checked: {what}" for what in result.checks))
        say(*_numbers(text, result))
    say(*(f"  note: {remark}" for remark in result.remarks))
    say(*(f"  data: {what}" for what in agreeing))
    if result.verdict is Verdict.NOT_A_CERTIFICATE:
        say(f"  {PAGE if text.lstrip()[:9].lower() == b'<!doctype' else ORIGIN}")
    return status


def _numbers(text: bytes, result: Verification) -> list[str]:
    """Say what the proofs give and what worst cases attain, of each question by its name."""
    lines = []
    for question, one in zip(read_document(text).questions, result.questions, strict=True):
        metric = question.metric
        group = "" if metric.group is None else f" of {short_name(read_name(metric.group))}"
        of = f" for {metric.name}{group}" if len(result.questions) > 1 else ""
        if one.checked_bound is not None:
            lines.append(f"  the proof{of} gives the bound {one.checked_bound!r}")
        if one.witness_value is not None:
            sampled = any(what.startswith("the confidence region") for what in one.checks)
            own = any(what.startswith(f"the confidence region {ONE_RADIUS!r}") for what in one.checks)
            where = f", {reached_in(ONE_RADIUS if own else None)}," if sampled else ""
            lines.append(f"  the worst-case distribution{of}{where} attains {one.witness_value!r}")
    return lines


def _opened(text: bytes, arguments: argparse.Namespace) -> Opened | None:
    """Open an envelope; None if the text is none."""
    from fairbound.integrations.attestations import is_envelope, open_envelope  # noqa: PLC0415 (no part of checking)

    if not is_envelope(text):
        if arguments.key is not None or arguments.subject:
            message = f"--key and --subject are about envelopes of fairbound attest, and {arguments.file} is none"
            raise ProblemError(message)
        return None
    if arguments.key is None:
        message = f"{arguments.file} is signed; name the signer's public key with --key"
        raise ProblemError(message)
    files = {}
    for pair in arguments.subject:
        name, mark, file = pair.partition("=")
        if not mark:
            message = f"--subject {pair!r} is not NAME=FILE such as model.pkl=release/model.pkl"
            raise ProblemError(message)
        files[name] = file
    try:
        return open_envelope(text, read_file(arguments.key), Path(arguments.file).parent, files)
    except InputError as error:
        raise ProblemError(error.worded({"key": "--key", "files": "--subject"})) from None
    except ImportError as error:
        raise ProblemError(str(error)) from None


def _void(arguments: argparse.Namespace, signed: Sequence[str], void: Sequence[str]) -> int:
    """Say why an envelope is not accepted; what is in it is not repeated."""
    if arguments.format == "json":
        facts = {"verdict": "void", "valid": False, "passed": False, "signed": list(signed), "reasons": list(void)}
        say_text(json.dumps(facts, indent=2))
        return 1
    say(f"{arguments.file}: the envelope is void")
    say(*(f"  signed: {what}" for what in signed))
    say(*(f"  reason: {reason}" for reason in void[:MOST_REASONS]))
    return 1


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


def _facts(result: Verification, agreeing: list[str], differences: list[str], signed: Sequence[str] | None) -> str:
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
            "signed": None if signed is None else list(signed),
            "checks": list(result.checks),
            "reasons": list(result.reasons),
            "remarks": list(result.remarks),
            "data": {"agreeing": agreeing, "differences": differences},
        },
        indent=2,
        allow_nan=False,
    )
