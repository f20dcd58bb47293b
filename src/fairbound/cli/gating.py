"""``fairbound gate``: the questions and thresholds of a file that lives in a repository."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

from fairbound.cli.options import FORMATS, add_format
from fairbound.cli.output import ProblemError, unreadable

#: The file that is read if none is named.
USUAL = "fairbound.toml"

#: Keys of the file that are no options of ``certify``, and those that name files.
FILE, METRICS = "file", "metrics"
PATHS = (FILE, "json", "html")

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
  demographic_parity_ratio = { fail-below = 0.8 }

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
    options = _options(arguments)
    certify, unknown = arguments.parser(["certify"]).parse_known_args(["certify", *options])
    if unknown:
        key = unknown[0].lstrip("-").partition("=")[0]
        message = f"{arguments.config}: there is no option {key!r}; fairbound certify --help lists them"
        raise ProblemError(message)
    status: int = certify.run(certify)
    return status


def _options(arguments: argparse.Namespace) -> list[str]:
    """Return the options of ``certify`` that the file and the command line stand for."""
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
    told["format"] = arguments.format
    metrics, files = told.pop(METRICS, {}), told.pop(FILE)
    found = [text for key, value in told.items() for text in _written(config, key, value)]
    found += [text for metric, gate in _tables(config, metrics) for text in _gate(config, metric, gate)]
    if not any(text.startswith("--fail-") for text in found):
        message = f"{config} has no threshold; give one, as in [metrics] loss = {{ fail-above = 0.3 }}"
        raise ProblemError(message)
    if not files:
        message = f"{config} names no rows; add file = ..., or name them on the command line"
        raise ProblemError(message)
    return [*found, "--", *([files] if isinstance(files, str) else files)]


def _beside(config: Path, names: Any) -> Any:
    """Return files named in the file as they are named from here."""
    if isinstance(names, list):
        return [_beside(config, name) for name in names]
    return str(config.parent / names) if isinstance(names, str) and "://" not in names and names != "-" else names


def _written(config: Path, key: str, value: object) -> list[str]:
    """Write an option as a shell would have it."""
    option = f"--{key.replace('_', '-')}"
    if isinstance(value, list):
        return [text for one in value for text in _written(config, key, one)]
    if isinstance(value, bool):
        return [option] if value else []
    if not isinstance(value, str | int | float):
        message = f"{config}: {key} must be a text, a number, true, or a list of these"
        raise ProblemError(message)
    return [f"{option}={value}"]


def _tables(config: Path, metrics: object) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(metrics, dict) or not all(isinstance(gate, dict) for gate in metrics.values()):
        message = f"{config}: metrics must be a table, as in [metrics] loss = {{ fail-above = 0.3 }}"
        raise ProblemError(message)
    return list(metrics.items())


def _gate(config: Path, metric: str, gate: dict[str, Any]) -> list[str]:
    """Write a metric and its threshold."""
    found = [f"--metric={metric}"]
    for key, value in gate.items():
        if key.replace("_", "-") not in ("fail-above", "fail-below") or isinstance(value, bool | list | dict):
            message = f"{config}: {metric} has {key} = {value!r}; give fail-above or fail-below with a number"
            raise ProblemError(message)
        found.append(f"--{key.replace('_', '-')}={metric}={value}")
    return found
