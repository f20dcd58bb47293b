"""``fairbound gate``: the questions and thresholds of a file that lives in a repository."""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairbound.cli.options import FORMATS, add_format, radii, whole
from fairbound.cli.output import ProblemError, unreadable
from fairbound.cli.wanted import ABOVE, BELOW, Wanted, check_side, checked_name
from fairbound.cli.words import QUESTION
from fairbound.errors import suggestion

#: The file that is read if none is named.
USUAL = "fairbound.toml"

#: Keys of the file that are no options of ``certify``.
FILE, METRICS = "file", "metrics"

#: Keys that name files, relative to the folder of the file.
PATHS = (FILE, "json", "html")

#: Options of ``certify`` that the file does not have: they are said on the command line, or of each metric.
ELSEWHERE = {
    "help": "on the command line",
    "format": "on the command line",
    "quiet": "on the command line",
    "metric": "in [metrics]",
    "fail-above": "in [metrics], as in loss = { fail-above = 0.3 }",
    "fail-below": "in [metrics], as in demographic_parity_ratio = { fail-below = 0.8 }",
}

#: What a metric may have of its own.
OWN = ("fail-above", "fail-below", "rho", "metric-group", "pos-label")

GATE_EXAMPLES = """\
examples:
  fairbound gate
  fairbound gate release/fairbound.toml predictions-of-may.csv --html report.html

The file holds the options of fairbound certify, without their dashes, and the metrics with their thresholds:

  file = "predictions.csv"
  label = "income"
  prediction = "yhat"
  group = ["sex", "race"]
  rho = [0.1, 0.2]
  json = "certificate.json"

  [metrics]
  loss = { fail-above = 0.3 }
  demographic_parity_ratio = { fail-below = 0.8, rho = 0.1 }
  selection_rate = [
    { metric-group = "Female", pos-label = ">50K", fail-above = 0.4 },
    { metric-group = "Male", pos-label = ">50K", fail-above = 0.6 },
  ]

A metric may have radii of its own (rho), a group (metric-group) and a label (pos-label), and be asked several times.
Names of files in it are relative to its folder. On GitHub the step's summary gets the verdict and a table.

exit status:
  0  all gates are passed
  1  a bound breaks its threshold at some rho
  2  bad usage or data, or nothing to certify; one line tells what
  3  with a confidence: not enough rows to tell (outcomes = "two" in the file: 1 instead)
"""


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``gate``."""
    parser.epilog = GATE_EXAMPLES
    parser.add_argument("config", metavar="TOML", nargs="?", default=USUAL, help="the questions (default: %(default)s)")
    parser.add_argument("file", metavar="FILE", nargs="*", help="the rows (default: those that the file names)")
    parser.add_argument("--json", metavar="FILE", help="write the certificate, with its proof")
    parser.add_argument("--html", metavar="FILE", help="write a page to show to others")
    add_format(parser, FORMATS)
    parser.set_defaults(run=run_gate)


def run_gate(arguments: argparse.Namespace) -> int:
    """Certify what the file asks for."""
    config = Path(arguments.config)
    try:
        told = tomllib.loads(config.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(str(config), error) from None
    except tomllib.TOMLDecodeError as error:
        message = f"{config} is not TOML: {error}"
        raise ProblemError(message) from None
    for name in PATHS:
        told[name] = getattr(arguments, name) or _beside(config, told.get(name, []))
    parser = arguments.parser(["certify"])
    known = _known(parser)
    questions, files = tuple(_questions(config, told.pop(METRICS, {}))), told.pop(FILE)
    options = [text for key, value in told.items() for text in _written(config, key, value, known)]
    if all(one.threshold is None for one in questions):
        message = f"{config} has no threshold; give one, as in [metrics] loss = {{ fail-above = 0.3 }}"
        raise ProblemError(message)
    rows = [files] if isinstance(files, str) else files
    if not rows or not all(isinstance(one, str) for one in rows):
        message = f"{config} names no rows; add file = ..., or name them on the command line"
        raise ProblemError(message)
    try:
        certify = parser.parse_args(["certify", *options, f"--format={arguments.format}", "--", *rows])
    except ProblemError as error:
        message = f"{config}: {error}"
        raise ProblemError(message) from None
    certify.command, certify.wanted = "gate", questions
    status: int = certify.run(certify)
    return status


def _known(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the options of ``certify`` that the file may hold, by their names without dashes."""
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    actions = commands.choices["certify"]._actions
    named = {text[2:]: action for action in actions for text in action.option_strings if text.startswith("--")}
    return {name: action for name, action in named.items() if name not in ELSEWHERE}


def _beside(config: Path, names: Any) -> Any:
    """Return files named in the file as they are named from here."""
    if isinstance(names, list):
        return [_beside(config, name) for name in names]
    return str(config.parent / names) if isinstance(names, str) and "://" not in names and names != "-" else names


def _written(config: Path, key: str, value: object, known: dict[str, argparse.Action]) -> list[str]:
    """Write an option as a shell would have it; what is not one is refused, whatever its value."""
    name = key.replace("_", "-")
    if name in ELSEWHERE:
        message = f"{config}: {key} is said {ELSEWHERE[name]}; leave it out here"
        raise ProblemError(message)
    if name not in known:
        cure = suggestion(name, (METRICS, FILE, *known))
        meant = [option[2:] for word, option in QUESTION.items() if word.partition("=")[0] == key]  # as in Python
        if meant and not cure.startswith("did"):
            cure = f"did you mean {meant[0]}?"
        message = f"{config}: there is no option {key!r}; {cure}"
        raise ProblemError(message)
    action = known[name]
    if action.nargs == 0:  # a switch
        if not isinstance(value, bool):
            message = f"{config}: {key} must be true or false"
            raise ProblemError(message)
        return [f"--{name}"] if value else []
    several = isinstance(action, argparse._AppendAction)
    if isinstance(value, dict) and several and "=" in str(action.metavar):
        value = [f"{one}={_pair(config, key, what)}" for one, what in value.items()]
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not several and value:
        message = f"{config}: {key} takes one value, not a list"
        raise ProblemError(message)
    return [f"--{name}={_plain(config, key, one, number=_numeric(action))}" for one in values]


def _numeric(action: argparse.Action) -> bool | None:
    """Whether an option takes numbers; None if both numbers and texts will do."""
    if action.type is radii or action.dest in ("pos_label", "metric_group", "known_group", "known_label"):
        return None
    return action.type is not None and (action.type is whole or getattr(action.type, "__name__", "") == "number")


def _plain(config: Path, key: str, value: object, *, number: bool | None) -> str:
    """Return a value as text, if it is of the kind that is wanted."""
    good: tuple[type, ...] = {True: (int, float), False: (str,), None: (int, float, str)}[number]
    if isinstance(value, bool) or not isinstance(value, good):
        kind = {True: "a number", False: "a text", None: "a number or a text"}[number]
        message = f"{config}: {key} = {_toml(value)} must be {kind}"
        raise ProblemError(message)
    return repr(value) if isinstance(value, float) else str(value)


def _pair(config: Path, key: str, value: object) -> str:
    """Return what stands behind a name: a text, or two ends."""
    if isinstance(value, list) and len(value) == 2:
        return ":".join(_plain(config, key, one, number=True) for one in value)
    return _plain(config, key, value, number=False)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _questions(config: Path, told: object) -> Iterator[Wanted]:
    """Yield the metrics, each with what it has of its own."""
    if not isinstance(told, dict):
        message = f"{config}: metrics must be a table, as in [metrics] loss = {{ fail-above = 0.3 }}"
        raise ProblemError(message)
    for metric, asked in told.items():
        checked_name(metric, f"{config}: the metric")
        for one in asked if isinstance(asked, list) else [asked]:
            if not isinstance(one, dict):
                side = "fail-below" if Wanted(metric).lower else "fail-above"
                number = _toml(one) if isinstance(one, int | float) else "0.3"
                message = f"{config}: {metric} = {_toml(one)} must be a table, as in {metric} = {{ {side} = {number} }}"
                raise ProblemError(message)
            yield _question(config, metric, one)


def _question(config: Path, metric: str, told: dict[str, Any]) -> Wanted:
    """Read what one metric has of its own."""
    given: dict[str, Any] = {}
    for key, value in told.items():
        name = key.replace("_", "-")
        if name not in OWN or name in given:
            why = "is given twice" if name in given else f"is not known; {suggestion(name, OWN)}"
            message = f"{config}: {metric}: {key} {why}"
            raise ProblemError(message)
        given[name] = value
    limits = [option for option in (ABOVE, BELOW) if option[2:] in given]
    if len(limits) > 1:
        message = f"{config}: {metric} has two thresholds; give one"
        raise ProblemError(message)
    threshold = None
    for option in limits:
        check_side(metric, option[2:], str(config))
        threshold = float(_plain(config, f"{metric}: {option[2:]}", given[option[2:]], number=True))
        if math.isnan(threshold):
            message = f"{config}: {metric}: {option[2:]} = nan must be a number"
            raise ProblemError(message)
    group, label = (
        None if name not in given else _plain(config, f"{metric}: {name}", given[name], number=None)
        for name in ("metric-group", "pos-label")
    )
    return Wanted(metric, threshold, _radii(config, metric, given["rho"]) if "rho" in given else None, group, label)


def _radii(config: Path, metric: str, told: object) -> list[float]:
    """Read the radii of one metric."""
    texts = [_plain(config, f"{metric}: rho", one, number=None) for one in (told if isinstance(told, list) else [told])]
    try:
        return list(dict.fromkeys(rho for text in texts for rho in radii(text)))
    except argparse.ArgumentTypeError as error:
        message = f"{config}: {metric}: rho: {error}"
        raise ProblemError(message) from None
