"""``fairbound certify`` and ``fairbound radius``: from a file of rows to bounds."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from fairbound.certificate.cautions import cautions_of
from fairbound.certificate.certificate import Certificate, keeps
from fairbound.certificate.certify import certify, largest_certified_rho
from fairbound.certificate.evidence import SHARED, Evidence, Gate, Outcome, certify_all
from fairbound.cli.options import (
    FORMATS,
    add_data_options,
    add_output_options,
    add_question_options,
    caution_of_parts,
    described,
    number,
    question,
    question_facts,
    radii,
    read_population,
    threshold,
)
from fairbound.cli.output import (
    ProblemError,
    annotate,
    check_outputs,
    complain,
    paragraphs,
    progress,
    say,
    say_text,
    unwritable,
    write_file,
)
from fairbound.cli.results import (
    as_json,
    caution_facts,
    certificate_facts,
    closing_lines,
    curve_facts,
    curve_lines,
    gate_facts,
    population_facts,
    population_lines,
    worst_case_lines,
)
from fairbound.cli.wanted import Wanted, metrics, wanted
from fairbound.cli.words import QUESTION, RADIUS
from fairbound.data.population import Population
from fairbound.errors import DataWarning, InfeasibleError, InputError, SmallCellWarning, ThresholdError
from fairbound.integrations.pipelines import STEP_SUMMARY, github_annotations, junit, write_step_summary
from fairbound.integrations.summary import Summary
from fairbound.problem.condition import Condition
from fairbound.problem.divergences import find_divergence
from fairbound.reporting.reach import reach_text
from fairbound.wording.confidence import percent_down
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.names import short_name

Answer = TypeVar("Answer")

#: How a command ends by how its gates do.
EXIT_STATUS = {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.UNSETTLED: 3}

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
      --metric loss --fail-above loss=0.3 --metric demographic_parity_ratio --fail-below demographic_parity_ratio=0.8

exit status:
  0  done
  1  with --fail-above (or --fail-below): a bound exceeds it (or falls below it) at some rho
  2  bad usage or data, or nothing to certify at any rho given; one line tells what
  3  with --confidence: not enough rows to tell; if the rows were all there is, all bounds would keep their thresholds
     (--outcomes two: 1 instead)
"""

RADIUS_EXAMPLES = """\
examples:
  fairbound radius predictions.csv --label income --prediction yhat --group sex --threshold 0.25
  fairbound radius test.parquet --label y --losses cost --ceiling 2 --group sex --threshold 0.5 --fail-below 0.1
  fairbound radius predictions.csv --label income --prediction yhat --group sex --metric demographic_parity_ratio \\
      --threshold 0.8

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
        action="append",
        type=radii,
        metavar="RHO",
        help="radius: distance from the data (see --divergence), between 0 and 1; several, or FIRST:LAST:STEP "
        "(default: some from the nearest distance on)",
    )
    add_question_options(parser)
    add_output_options(parser, FORMATS)
    parser.add_argument(
        "--fail-above",
        action="append",
        type=threshold,
        metavar="[METRIC=]X",
        help="exit with status 1 if a bound (of this metric) exceeds X; one for each metric",
    )
    parser.add_argument(
        "--fail-below",
        action="append",
        type=threshold,
        metavar="[METRIC=]X",
        help="the same if a bound from below, as of a ratio, is less than X",
    )
    parser.add_argument(
        "--outcomes",
        choices=["two", "three"],
        default="three",
        help="how a threshold ends with --confidence: kept, broken, and with three (the default) also not enough rows "
        "to tell",
    )
    parser.set_defaults(run=run_certify, wanted=None)


def add_radius(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``radius``."""
    parser.epilog = RADIUS_EXAMPLES
    add_data_options(parser)
    parser.add_argument(
        "--threshold",
        type=number,
        required=True,
        metavar="X",
        help="what the bound has to keep: the loss (or other metric) to stay below, or of a ratio, to stay above",
    )
    add_question_options(parser)
    add_output_options(parser)
    parser.add_argument("--fail-below", type=number, metavar="RHO", help="exit with status 1 if the radius is smaller")
    parser.set_defaults(run=run_radius, wanted=None)


def run_certify(arguments: argparse.Namespace) -> int:
    """Answer the questions at the radii given, and hold the bounds to thresholds."""
    check_outputs(arguments.files, (arguments.json, arguments.html))
    asked = wanted(arguments) if arguments.wanted is None else arguments.wanted
    population = described(arguments, read_population(arguments))
    rhos = None if arguments.rho is None else list(dict.fromkeys(rho for several in arguments.rho for rho in several))
    questions = [
        {name: value for name, value in question(arguments, population, one).items() if name not in SHARED}
        | {"threshold": one.threshold, "rhos": rhos if one.rhos is None else one.rhos}
        for one in asked
    ]
    shared = {name: getattr(arguments, name) for name in SHARED}
    try:
        with progress(f"certifying {len(questions)} metric{'s' * (len(questions) > 1)}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallCellWarning)
            warnings.simplefilter("ignore", DataWarning)  # the results name them
            evidence = certify_all(population, questions, rhos, **shared)
    except InfeasibleError as error:
        raise _nothing(arguments, population, rhos, error) from None
    except InputError as error:
        raise ProblemError(error.worded(QUESTION | {"threshold": "the threshold"})) from None
    cautions = [*caution_of_parts(arguments), *evidence.cautions]
    if arguments.outcomes == "two":
        evidence = replace(evidence, asking=())
    _write(evidence, arguments)
    with progress("looking whether more rows would settle it"):
        status = _status(evidence)
    chosen = [] if rhos is not None else [_choosing(evidence)]
    if arguments.format == "json":
        answers = [curve_facts(*pair) for pair in zip(evidence.curves, evidence.thresholds, strict=True)]
        facts = {
            "population": population_facts(evidence.population),
            "question": question_facts(arguments),
            **(answers[0] if len(answers) == 1 else {}),
            "questions": answers,
            "gates": gate_facts(evidence.gates),
            "passed": evidence.passed,
            "choosing_rho": chosen[0] if chosen else None,
            "warnings": caution_facts(cautions),
            "assumptions": _assumptions(evidence),
        }
        say_text(as_json(arguments.command, arguments.file, facts))
    elif arguments.format != "text":
        say_text(_told(Summary.of(evidence), arguments.format))
    else:
        say(*population_lines(arguments.file, next(iter(evidence.curves[0]))))
        for curve in evidence:
            largest = max(curve, key=lambda c: c.rho)
            header = [f"{largest.said.words}, {largest.on_data:.4f} on the data"] if len(evidence) > 1 else []
            shown = curve_lines(curve, (arguments.shift, arguments.support))
            say("", *header, *shown, "", *worst_case_lines(largest))
        said = [caution.sentence.worded(QUESTION) for caution in cautions]
        say(*(["", *paragraphs(chosen, mark="")] if chosen else []))
        say(*closing_lines(said, _assumptions(evidence)), *_written(arguments))
        say(*(["", "Gates", *paragraphs(gate.explained for gate in evidence.gates)] if evidence.gates else []))
    if arguments.format != "line":
        _judge(evidence)
    _tell_pipeline(evidence)
    return status


def _told(summary: Summary, form: str) -> str:
    """Write the results as a pipeline wants them."""
    if form == "junit":
        return junit(summary)
    return summary.markdown() if form == "markdown" else summary.sentence


def _tell_pipeline(evidence: Evidence) -> None:
    """On GitHub, show the gates where people look."""
    if evidence.gates:
        annotate(github_annotations(evidence))
        try:
            write_step_summary(evidence)
        except OSError as error:
            raise unwritable(STEP_SUMMARY, error) from None


def _status(evidence: Evidence) -> int:
    """Return how the command ends, and let every gate find out how it does."""
    for gate in evidence.gates:
        _ = gate.rows_needed
    return EXIT_STATUS[evidence.outcome]


def _assumptions(evidence: Evidence) -> list[str]:
    """Return what the bounds rest on, each once: first what all do, then what each does besides."""
    firsts = [next(iter(curve)) for curve in evidence]
    common = [text for text in firsts[0].assumptions if all(text in one.assumptions for one in firsts)]
    own = [f"{one.said.axis}: {text}" for one in firsts for text in one.assumptions if text not in common]
    together = []
    if evidence.confidence is not None and len(firsts) > 1:
        sure = percent_down(evidence.confidence)
        together = [
            f"The bounds of all {len(firsts)} metrics hold together with probability at least {sure}: each metric has "
            "an equal part of the error probability."
        ]
    return [*common, *together, *dict.fromkeys(own)]


def _choosing(evidence: Evidence) -> str:
    """Say how a radius is chosen, where none was."""
    first = next(iter(evidence.curves[0]))
    divergence = find_divergence(first.divergence)
    largest = max(c.rho for c in evidence.curves[0])
    return (
        f"No --rho was given, so the bounds begin at the nearest distance. How far to go: a cell that holds 5 % of the "
        f"rows may grow to {reach_text(divergence, first.rho)} % within rho = {radius_down(first.rho)}, and to "
        f"{reach_text(divergence, largest)} % within {radius_down(largest)}; take the change that you expect "
        "(the documentation tells how: Choosing rho)."
    )


def _nothing(
    arguments: argparse.Namespace, population: Population, rhos: list[float] | None, error: InfeasibleError
) -> ProblemError:
    """Return the problem that nothing is near enough."""
    limits = "group_skew", "label_skew", "min_group_mass", "min_label_mass", "group_limit", "label_limit"
    limited = any(getattr(arguments, name) is not None for name in limits)
    asked = Condition(arguments.fair, arguments.base_rate_tolerance)
    message = (
        f"nothing to certify: {'at this confidence ' if arguments.confidence is not None else ''}no "
        f"distribution{asked.phrase}{' within the limits' if limited else ''} is nearer than {error.distance:.6f}"
    )
    if rhos:
        message += f", and the largest --rho is {max(rhos):g}; use a larger one"
    for side, columns, names in (
        ("labels", arguments.label, population.labels),
        ("groups", arguments.group and ", ".join(arguments.group), population.groups),
    ):
        if len(names) > MANY and columns is not None:
            message += f"; column {columns!r} has {len(names)} {side}: is it the one meant?"
    return ProblemError(message)


def _judge(evidence: Evidence) -> None:
    """Tell which bounds are too large (or too small); radii without anything to certify cannot be."""
    barred: dict[tuple[str, ...], list[str]] = {}
    for gate in evidence.gates:
        pairs = zip(gate.curve.rho, gate.curve.certificates, strict=True)
        barred.setdefault(tuple(radius_down(rho) for rho, c in pairs if c is None), []).append(gate.metric)
    for radii_barred, names in barred.items():
        if radii_barred:
            of = "" if len(names) == len(evidence.gates) else f" of {', '.join(dict.fromkeys(names))}"
            complain(f"nothing to certify{of}, and so nothing to fail, at rho = {', '.join(radii_barred[:20])}")
    for gate in evidence.gates:
        exceeded = [c for c in gate.curve if not keeps([c], gate.threshold)]
        if gate.outcome is Outcome.UNSETTLED:
            complain(gate.explained)
        elif exceeded:
            complain(_broken(exceeded, gate, named=len(evidence) > 1))


def _broken(exceeded: list[Certificate], gate: Gate, *, named: bool) -> str:
    """Say where a threshold is broken."""
    limit, lower, digits = gate.threshold, exceeded[0].lower, Digits(6)
    radii_named = ", ".join(f"{radius_down(c.rho)} ({c.texts(digits)[0]})" for c in exceeded[:20])
    hint = ""
    if all(c.attained >= limit if lower else c.attained <= limit for c in exceeded):
        hint = "; no distribution was found that does, so a larger --budget may help"
    group = "" if exceeded[0].group is None else f" of {short_name(exceeded[0].group)}"
    what = f"the bound of {gate.metric}{group}" if named else "the bound"
    return f"{what} {'falls below' if lower else 'exceeds'} {limit:g} at rho = {radii_named}{hint}"


def run_radius(arguments: argparse.Namespace) -> int:
    """Find the largest radius that keeps a loss."""
    check_outputs(arguments.files, (arguments.json, arguments.html))
    if len(metrics(arguments)) > 1:
        count = len(metrics(arguments))
        message = f"--metric: the largest radius is searched for one metric, and {count} are named; name one"
        raise ProblemError(message)
    limit: float = arguments.threshold
    population = described(arguments, read_population(arguments))
    try:
        with progress("searching for the largest radius"):
            rho = _asked(largest_certified_rho, population, limit, arguments, RADIUS)
            certificate = _asked(certify, population, rho, arguments)
    except ThresholdError as error:
        complain(error.worded(RADIUS))
        return 1
    cautions = [*caution_of_parts(arguments), *cautions_of(population, [certificate])]
    _write(certificate, arguments)
    if arguments.format == "json":
        facts = {
            "population": population_facts(certificate.population),
            "question": question_facts(arguments),
            "value_on_data": certificate.on_data,
            "threshold": limit,
            "radius": rho,
            "result": certificate_facts(certificate),
            "fail_below": arguments.fail_below,
            "warnings": caution_facts(cautions),
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
            *closing_lines([caution.sentence.worded(QUESTION) for caution in cautions], certificate.assumptions),
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
    asked = question(arguments, population, Wanted(metrics(arguments)[0]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallCellWarning)
            warnings.simplefilter("ignore", DataWarning)
            return verb(population, about, **asked)
    except InputError as error:
        raise ProblemError(error.worded(words)) from None


def _write(result: Certificate | Evidence, arguments: argparse.Namespace) -> None:
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
