"""``fairbound certify`` and ``fairbound radius``: from a file of rows to bounds."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.certify import certify, certify_curve, largest_certified_rho
from fairbound.certificate.curve import CertificateCurve
from fairbound.cli.options import (
    add_data_options,
    add_output_options,
    add_question_options,
    caution_of_parts,
    number,
    question,
    question_facts,
    radii,
    read_population,
)
from fairbound.cli.output import ProblemError, check_outputs, complain, paragraphs, progress, say, say_text, write_file
from fairbound.cli.results import (
    as_json,
    certificate_facts,
    closing_lines,
    curve_lines,
    population_facts,
    population_lines,
    warnings_of,
    worst_case_lines,
)
from fairbound.cli.words import LEAST, MOST, QUESTION
from fairbound.data.population import Population
from fairbound.errors import InputError, SmallCellWarning, ThresholdError
from fairbound.problem.condition import Condition
from fairbound.problem.metrics import METRICS
from fairbound.wording.confidence import percent_down
from fairbound.wording.digits import Digits, radius_down

Answer = TypeVar("Answer")

#: More labels than these are seldom meant: the column may hold numbers.
MANY = 20

CERTIFY_EXAMPLES = """\
examples:
  fairbound certify predictions.csv --label income --prediction yhat --group sex --rho 0.1 --rho 0.2
  fairbound certify predictions.csv --label income --prediction yhat --group sex --group race \\
      --rho 0.05:0.5:0.05 --shift sensitive --json certificate.json --html report.html
  fairbound certify test.parquet --label y --probability p --group sex --loss jsd --rho 0.2 --confidence 0.95
  fairbound certify predictions.csv --label y --prediction yhat --group sex --rho 0.1 --fail-above 0.25
  fairbound certify predictions.csv --label y --prediction yhat --group sex --rho 0.1 --shift sensitive \\
      --metric demographic_parity_ratio --fail-below 0.8

exit status:
  0  done
  1  with --fail-above (or --fail-below): the bound exceeds it (or falls below it) at some rho
  2  bad usage or data, or nothing to certify at any rho given; one line tells what
"""

RADIUS_EXAMPLES = """\
examples:
  fairbound radius predictions.csv --label income --prediction yhat --group sex --max-loss 0.25
  fairbound radius test.parquet --label y --loss-column cost --ceiling 2 --group sex --max-loss 0.5 --fail-below 0.1
  fairbound radius predictions.csv --label income --prediction yhat --group sex --metric demographic_parity_ratio \\
      --min-ratio 0.8

exit status:
  0  done
  1  no rho keeps it, or with --fail-below: the largest one that does is smaller
  2  bad usage or data; one line tells what
"""


def add_certify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``certify``."""
    parser.epilog = CERTIFY_EXAMPLES
    add_data_options(parser)
    parser.add_argument(
        "--rho",
        required=True,
        action="append",
        type=radii,
        metavar="RHO",
        help="radius: distance from the data (see --divergence), between 0 and 1; several, or FIRST:LAST:STEP",
    )
    add_question_options(parser)
    add_output_options(parser)
    parser.add_argument("--fail-above", type=number, metavar="X", help="exit with status 1 if a bound exceeds X")
    parser.add_argument(
        "--fail-below", type=number, metavar="X", help="the same if a bound from below, as of a ratio, is less than X"
    )
    parser.set_defaults(run=run_certify)


def add_radius(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``radius``."""
    parser.epilog = RADIUS_EXAMPLES
    add_data_options(parser)
    keep = parser.add_mutually_exclusive_group(required=True)
    keep.add_argument("--max-loss", type=number, metavar="X", help="the loss (or other metric) to stay below")
    keep.add_argument("--min-ratio", type=number, metavar="X", help="the same of a ratio: what to stay above")
    add_question_options(parser)
    add_output_options(parser)
    parser.add_argument("--fail-below", type=number, metavar="RHO", help="exit with status 1 if the radius is smaller")
    parser.set_defaults(run=run_radius)


def run_certify(arguments: argparse.Namespace) -> int:
    """Certify at the radii given."""
    check_outputs(arguments.files, (arguments.json, arguments.html))
    population = read_population(arguments)
    rhos = list(dict.fromkeys(rho for several in arguments.rho for rho in several))
    limit = _gate(arguments)
    with progress(f"certifying at {len(rhos)} radii"):
        curve = _asked(certify_curve, population, rhos, arguments)
    if not any(curve.feasible):
        limits = "group_skew", "label_skew", "min_group_mass", "min_label_mass", "group_limit", "label_limit"
        limited = any(getattr(arguments, name) is not None for name in limits)
        asked = Condition(arguments.fair, arguments.base_rate_tolerance)
        message = (
            f"nothing to certify: {'at this confidence ' if arguments.confidence is not None else ''}no "
            f"distribution{asked.phrase}{' within the limits' if limited else ''} is nearer than {curve.distance:.6f}, "
            f"and the largest --rho is {max(rhos):g}; use a larger one"
        )
        if len(population.labels) > MANY and arguments.label is not None:
            message += f"; column {arguments.label!r} has {len(population.labels)} labels: is it the one meant?"
        raise ProblemError(message)
    certificates = list(curve)
    lower = certificates[0].lower
    exceeded = [c for c in certificates if limit is not None and (c.bound < limit if lower else c.bound > limit)]
    cautions = [*caution_of_parts(arguments), *warnings_of(population, certificates)]
    result = certificates[0] if len(rhos) == 1 else curve
    _write(result, arguments)
    if arguments.format == "json":
        facts = {
            "population": population_facts(certificates[0].population),
            "question": question_facts(arguments),
            "value_on_data": certificates[0].on_data,
            "distance": curve.distance,
            "results": [
                {"rho": float(rho), "feasible": False} if c is None else certificate_facts(c)
                for rho, c in zip(curve.rho, curve.certificates, strict=True)
            ],
            "fail_above": arguments.fail_above,
            "fail_below": arguments.fail_below,
            "exceeded": [c.rho for c in exceeded],
            "warnings": cautions,
            "assumptions": list(certificates[0].assumptions),
        }
        say_text(as_json("certify", arguments.file, facts))
    else:
        say(
            *population_lines(arguments.file, certificates[0]),
            "",
            *curve_lines(curve, (arguments.shift, arguments.support)),
            "",
            *worst_case_lines(certificates[-1] if len(rhos) == 1 else max(certificates, key=lambda c: c.rho)),
            *closing_lines(cautions, certificates[0].assumptions),
            *_written(arguments),
        )
    return _judge(exceeded, curve, limit)


def _gate(arguments: argparse.Namespace) -> float | None:
    """Return what no bound may exceed, or of what is bounded from below, what none may fall below."""
    return _limit(arguments, "--fail-above", "--fail-below")[1]


def _limit_to_keep(arguments: argparse.Namespace) -> tuple[str, float]:
    """Return what the bound has to keep, and the option that says so; the parser asks for one of the two."""
    option, limit = _limit(arguments, "--max-loss", "--min-ratio")
    return option, float(limit or 0.0)


def _limit(arguments: argparse.Namespace, above: str, below: str) -> tuple[str, float | None]:
    """Return the option that limits the metric from its side, and its value; the other option is refused."""
    lower = arguments.metric in METRICS and METRICS[arguments.metric].lower
    wrong, right = (above, below) if lower else (below, above)
    values = {option: getattr(arguments, option[2:].replace("-", "_")) for option in (wrong, right)}
    if values[wrong] is not None:
        message = f"{wrong}: {arguments.metric} is bounded from {'below' if lower else 'above'}; use {right}"
        raise ProblemError(message)
    return right, values[right]


def _judge(exceeded: Sequence[Certificate], curve: CertificateCurve, limit: float | None) -> int:
    """Tell whether a bound is too large (or too small); radii without anything to certify cannot be."""
    if limit is None:
        return 0
    barred = [radius_down(rho) for rho, c in zip(curve.rho, curve.certificates, strict=True) if c is None]
    if barred:
        complain(f"nothing to certify, and so nothing to fail, at rho = {', '.join(barred[:20])}")
    if not exceeded:
        return 0
    digits = Digits(6)
    radii_named = ", ".join(f"{radius_down(c.rho)} ({c.texts(digits)[0]})" for c in exceeded[:20])
    hint, lower = "", exceeded[0].lower
    if all(c.attained >= limit if lower else c.attained <= limit for c in exceeded):
        hint = "; no distribution was found that does, so a larger --budget may help"
    complain(f"the bound {'falls below' if lower else 'exceeds'} {limit:g} at rho = {radii_named}{hint}")
    return 1


def run_radius(arguments: argparse.Namespace) -> int:
    """Find the largest radius that keeps a loss."""
    check_outputs(arguments.files, (arguments.json, arguments.html))
    option, limit = _limit_to_keep(arguments)
    words = LEAST if option == "--min-ratio" else MOST
    population = read_population(arguments)
    try:
        with progress("searching for the largest radius"):
            rho = _asked(largest_certified_rho, population, limit, arguments, words)
            certificate = _asked(certify, population, rho, arguments)
    except ThresholdError as error:
        complain(error.worded(words))
        return 1
    cautions = [*caution_of_parts(arguments), *warnings_of(population, [certificate])]
    _write(certificate, arguments)
    if arguments.format == "json":
        facts = {
            "population": population_facts(certificate.population),
            "question": question_facts(arguments),
            "value_on_data": certificate.on_data,
            "max_loss": arguments.max_loss,
            "min_ratio": arguments.min_ratio,
            "radius": rho,
            "result": certificate_facts(certificate),
            "fail_below": arguments.fail_below,
            "warnings": cautions,
            "assumptions": list(certificate.assumptions),
        }
        say_text(as_json("radius", arguments.file, facts))
    else:
        what = "loss" if certificate.metric == "loss" else certificate.said.words
        side = "above" if certificate.lower else "below"
        sure = (
            "" if arguments.confidence is None else f" (with probability at least {percent_down(arguments.confidence)})"
        )
        say(
            *population_lines(arguments.file, certificate),
            "",
            *paragraphs([f"The {what} stays at or {side} {limit:g} up to rho = {radius_down(rho)}{sure}."], mark=""),
            f"There the bound is {certificate.bound!r}.",
            "",
            *worst_case_lines(certificate),
            *closing_lines(cautions, certificate.assumptions),
            *_written(arguments),
        )
    if arguments.fail_below is not None and rho < arguments.fail_below:
        complain(f"the largest radius, {radius_down(rho)}, is below {arguments.fail_below:g}")
        return 1
    return 0


def _asked(
    verb: Callable[..., Answer],
    population: Population,
    about: object,
    arguments: argparse.Namespace,
    words: Mapping[str, str] = QUESTION,
) -> Answer:
    """Put the question; cells with few rows are named with the results."""
    asked = question(arguments, population)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallCellWarning)
            return verb(population, about, **asked)
    except InputError as error:
        raise ProblemError(error.worded(words)) from None


def _write(result: Certificate | CertificateCurve, arguments: argparse.Namespace) -> None:
    """Write the files that were asked for; the page is checked while it is made."""
    if arguments.json or arguments.html:
        text = result.to_json()
        if arguments.json:
            write_file(arguments.json, text)
        if arguments.html:
            from fairbound.reporting.report import render  # noqa: PLC0415 (likewise)
            from fairbound.reporting.report_data import examine  # noqa: PLC0415 (only where a page is asked for)

            with progress("checking the proof and making the page"):
                write_file(arguments.html, render(examine(text), arguments.title))


def _written(arguments: argparse.Namespace) -> list[str]:
    """Say what was written and what to do with it."""
    lines = [""] if arguments.json or arguments.html else []
    if arguments.json:
        lines.append(f"Written: {arguments.json}, with the proof; check it with: fairbound verify {arguments.json}")
    if arguments.html:
        lines.append(f"Written: {arguments.html}, a page to show to others")
    return lines
