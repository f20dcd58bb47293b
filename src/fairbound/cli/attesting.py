"""``fairbound attest``: a certificate and the files that belong to it, signed with a key of the user's."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairbound.cli.output import ProblemError, check_outputs, read_file, say, write_file
from fairbound.errors import InputError
from fairbound.integrations.attestations import attest

ATTEST_EXAMPLES = """\
examples:
  openssl genpkey -algorithm ed25519 -out signer.key
  openssl pkey -in signer.key -pubout -out signer.pub
  fairbound attest certificate.json --model model.pkl --data predictions.csv --key signer.key -o release.dsse.json
  fairbound verify release.dsse.json --key signer.pub

exit status: 0 signed, 2 the certificate is not proved, or something cannot be read
"""


def add_attest(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``attest``."""
    parser.epilog = ATTEST_EXAMPLES
    parser.add_argument("file", metavar="FILE", help="a certificate or a curve, as --json or to_json() writes it")
    parser.add_argument("--key", metavar="PEM", required=True, help="your private key, of Ed25519 or ECDSA")
    parser.add_argument("--password-file", metavar="FILE", help="holds the password of the key")
    parser.add_argument("--model", metavar="FILE", action="append", default=[], help="the model's file; several")
    parser.add_argument("--data", metavar="FILE", action="append", default=[], help="the rows; several")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the envelope")
    parser.set_defaults(run=run_attest)


def run_attest(arguments: argparse.Namespace) -> int:
    """Sign."""
    files = [*arguments.model, *arguments.data]
    check_outputs([arguments.file, *files, arguments.key], [arguments.output])
    password = None if arguments.password_file is None else read_file(arguments.password_file).rstrip(b"\r\n")
    try:
        envelope = attest(arguments.file, read_file(arguments.key), files=files, password=password)
    except InputError as error:
        raise ProblemError(error.worded({"key": "--key", "files": "--model or --data"})) from None
    except ImportError as error:
        raise ProblemError(str(error)) from None
    write_file(arguments.output, envelope)
    subjects = ", ".join(Path(file).name for file in [arguments.file, *files])
    say(f"{arguments.output}: signed, about {subjects}")
    say(f"  keep these files under their names; check it with: fairbound verify {arguments.output} --key PUBLIC_KEY")
    return 0
