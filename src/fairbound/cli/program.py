"""The parser of all commands, and what happens to errors."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from fairbound import __version__
from fairbound.cli.output import ProblemError, complain
from fairbound.errors import InfeasibleError, InputError, suggestion
from fairbound.verify.strict import MalformedError

#: The ends that are not the command's own: bad usage or data, a defect of ours, and the two signals of the shell.
BAD, DEFECT, INTERRUPTED, PIPE_CLOSED = 2, 70, 130, 141

EXAMPLES = """\
examples:
  fairbound demo
  fairbound certify predictions.csv --label income --prediction yhat --group sex --rho 0.1 --json certificate.json
  fairbound verify certificate.json

fairbound COMMAND --help tells more.
"""

#: What each command is for, and which function of which module adds its options: a command loads what it needs itself.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "certify": ("bound a model's loss, from a file of its predictions", "fairbound.cli.certifying", "add_certify"),
    "gate": (
        "certify what a file in a repository asks for, and hold it to thresholds",
        "fairbound.cli.gating",
        "add_gate",
    ),
    "radius": ("find the largest radius that keeps a loss", "fairbound.cli.certifying", "add_radius"),
    "verify": ("check the proof of a certificate, from the document alone", "fairbound.cli.verifying", "add_verify"),
    "attest": ("sign a certificate with the files that belong to it", "fairbound.cli.attesting", "add_attest"),
    "show": ("print a certificate for a person", "fairbound.cli.documents", "add_show"),
    "report": ("make a page about a certificate, to show to others", "fairbound.cli.documents", "add_report"),
    "checker": (
        "write a page, or a program for Node, that checks certificates without fairbound",
        "fairbound.cli.checking",
        "add_checker",
    ),
    "count": ("count rows where they are, to be added up elsewhere", "fairbound.cli.tallying", "add_count"),
    "merge": ("add up tallies that were counted in different places", "fairbound.cli.tallying", "add_merge"),
    "datasets": (
        "list the datasets of the paper's experiments, and fetch them",
        "fairbound.datasets.command",
        "add_options",
    ),
    "reproduce": ("run the experiments of the paper", "fairbound.experiments.command", "add_options"),
    "demo": ("certify a model on data that ships with the package", "fairbound.cli.demonstration", "add_demo"),
    "completion": (
        "print a script that completes commands and options in a shell",
        "fairbound.cli.completion",
        "add_completion",
    ),
}


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, and say what may have been meant."""

    def error(self, message: str) -> NoReturn:
        text = f"{message} (see {self.prog} --help)"
        raise ProblemError(text)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            message = f"{value!r} is not known; {suggestion(str(value), map(str, action.choices))}"
            raise argparse.ArgumentError(action, message)


def parser(wanted: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of all commands; only those that are wanted get their options."""
    top = _Parser(
        prog="fairbound",
        description="Certificates, with proof, of a model's largest loss where all groups have equal base rates.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"fairbound {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (purpose, module, function) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name in wanted:
            getattr(import_module(module), function)(command)
    return top


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse; a command or an option that does not exist is named with those that look like it."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    top = parser(given[:1])
    if not given:
        message = f"name a command: {', '.join(COMMANDS)}; to begin with, try fairbound demo (see fairbound --help)"
        raise ProblemError(message)
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        similar = difflib.get_close_matches(given[0].lower(), COMMANDS, n=2)
        cure = f"did you mean {' or '.join(similar)}?" if similar else f"there are {', '.join(COMMANDS)}"
        message = f"there is no command {given[0]!r}; {cure} (see fairbound --help)"
        raise ProblemError(message)
    chosen, unknown = top.parse_known_args(given)
    if unknown:
        (commands,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
        options = [o for action in commands.choices[chosen.command]._actions for o in action.option_strings]
        before = given[: given.index(unknown[0])][-2:] if unknown[0] in given else []
        if len(before) == 2 and before[0] == "--group" and not unknown[0].startswith("-"):
            message = f"--group takes one column; for several repeat it: {' '.join(before)} --group {unknown[0]}"
            raise ProblemError(message)
        typed = unknown[0].partition("=")[0]
        begun = [option for option in options if typed.startswith("--") and option.startswith(typed)]
        close = begun[:2] or difflib.get_close_matches(typed, options, n=2)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        message = f"{chosen.command} does not know {unknown[0]!r}{hint} (see fairbound {chosen.command} --help)"
        raise ProblemError(message)
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack a name's letters
    try:
        chosen = _parsed(arguments)
        chosen.parser = parser
        status: int = chosen.run(chosen)
        sys.stdout.flush()
    except (ProblemError, MalformedError, InputError, InfeasibleError) as error:
        complain(str(error))
        return BAD
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _close_quietly()
        return PIPE_CLOSED
    except MemoryError:
        complain("there is not enough memory for this")
        return BAD
    except Exception as error:
        if os.environ.get("FAIRBOUND_TRACEBACK"):
            raise
        complain(
            f"unexpected {type(error).__name__}: {error}; this is a defect of fairbound: please report it, with what "
            "FAIRBOUND_TRACEBACK=1 in the environment makes it print"
        )
        return DEFECT
    return status


def _close_quietly() -> None:
    """Send what is still to be printed nowhere: nobody reads it, and Python would complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
