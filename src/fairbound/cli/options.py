"""The options that ``certify`` and ``radius`` share: which file and columns, and which question."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from fairbound.certificate.cautions import Caution
from fairbound.cli.engines import shown
from fairbound.cli.output import ProblemError, progress, unreadable
from fairbound.cli.tables import expanded, label_of, open_tables, read_tallies
from fairbound.cli.wanted import Wanted, metrics
from fairbound.cli.words import COUNTED, ROWS
from fairbound.data.csv_file import CsvFile
from fairbound.data.losses import LOSSES
from fairbound.data.population import Population
from fairbound.data.tally import Tally
from fairbound.errors import InputError, Sentence, listed, suggestion
from fairbound.problem.divergences import DIVERGENCES, find_divergence
from fairbound.problem.metrics import METRICS
from fairbound.sampling.region import REGIONS
from fairbound.wording.names import short_name

Read = TypeVar("Read")

#: How results of questions with thresholds can be printed.
FORMATS = ("text", "json", "markdown", "junit", "line")

#: What a tally knows already.
ROLES = {
    "label": "--label",
    "group": "--group",
    "prediction": "--prediction",
    "probability": "--probability",
    "losses": "--losses",
    "loss": "--loss",
    "clip": "--clip",
    "ceiling": "--ceiling",
    "weight": "--weight",
    "strata": "--strata",
    "known_group": "--known-group",
    "known_label": "--known-label",
    "table": "--table",
}

#: Keywords of the library's verbs that are options as they are.
ASKED = (
    "metric",
    "pos_label",
    "shift",
    "divergence",
    "fair",
    "base_rate_tolerance",
    "group_skew",
    "label_skew",
    "min_group_mass",
    "min_label_mass",
    "support",
    "empty_cells",
    "confidence",
    "region",
    "tol",
    "budget",
)

#: More radii than these are a slip of the hand.
MOST_RADII = 10_000


def number(text: str) -> float:
    """Read a number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        message = f"{text!r} is not a number"
        raise argparse.ArgumentTypeError(message)
    return value


def divergence(text: str) -> str:
    """Read the name of a divergence."""
    try:
        return find_divergence(text).name
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def threshold(text: str) -> tuple[str | None, float]:
    """Read a threshold, perhaps with the metric that has to keep it: METRIC=X."""
    metric, mark, value = text.rpartition("=")
    if mark and metric not in METRICS and metric != "loss":
        message = f"{metric!r} is not a metric; {suggestion(metric, ('loss', *METRICS))}"
        raise argparse.ArgumentTypeError(message)
    return (metric if mark else None), number(value)


def whole(text: str) -> int:
    """Read a whole number."""
    if not text.isdecimal():
        message = f"{text!r} is not a whole number"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def share_range(text: str) -> tuple[str, float, float]:
    """Read the range of one share: NAME=LOW:HIGH."""
    name, mark, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    if not (name and mark and colon):
        message = f"{text!r} is not NAME=LOW:HIGH such as Female=0.4:0.6"
        raise argparse.ArgumentTypeError(message)
    return name, number(low), number(high)


def cut_points(text: str) -> tuple[str, int | list[float]]:
    """Read where to cut a column: COLUMN=X,X,... or COLUMN=N for quantiles."""
    name, mark, points = text.rpartition("=")
    if not (name and mark and points):
        message = f"{text!r} is not COLUMN=X,X,... such as age=25,45, or COLUMN=N for quantiles"
        raise argparse.ArgumentTypeError(message)
    if points.isdecimal():
        return name, int(points)
    return name, [number(point) for point in points.split(",") if point]


def radii(text: str) -> list[float]:
    """Read one radius, or an even sequence of them: first:last:step."""
    if ":" not in text:
        return [number(text)]
    try:
        first, last, step = map(Decimal, text.split(":"))
        if not (all(v.is_finite() for v in (first, last, step)) and step > 0 and first <= last):
            raise ValueError
    except (InvalidOperation, ValueError):
        message = f"{text!r} is neither a number nor FIRST:LAST:STEP such as 0.05:0.5:0.05"
        raise argparse.ArgumentTypeError(message) from None
    count = int((last - first) / step) + 1
    if count > MOST_RADII:
        message = f"{text!r} means {count:,} radii; at most {MOST_RADII:,} are taken"
        raise argparse.ArgumentTypeError(message)
    return [float(first + step * i) for i in range(count)]


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the files and what their columns hold; a tally needs no columns."""
    parser.add_argument(
        "file",
        nargs="+",
        action=Files,
        metavar="FILE",
        help="CSV (also .gz, .bz2, .xz, .zst), Parquet, Arrow, a folder of Parquet files (Hive, Delta), an address "
        "(https:, s3:, gs:, az:, postgresql:, duckdb:), or a tally of fairbound count; several files, or patterns such "
        "as 'rows-*.csv', are taken together; - reads stdin",
    )
    data = parser.add_argument_group("the columns")
    data.add_argument("--label", metavar="COLUMN", help="true labels")
    data.add_argument(
        "--group",
        action="append",
        metavar="COLUMN",
        help="the sensitive attribute; several give intersectional groups",
    )
    model = data.add_mutually_exclusive_group()
    model.add_argument("--prediction", metavar="COLUMN", help="predicted labels")
    model.add_argument(
        "--probability",
        action="append",
        metavar="[LABEL=]COLUMN",
        help="the probability of a label, or of the second in sorted order; with three or more labels one for each",
    )
    model.add_argument("--losses", metavar="COLUMN", help="losses that are computed already")
    data.add_argument(
        "--loss",
        metavar="NAME",
        help=f"the loss: {', '.join(LOSSES)} (default: zero_one of predictions, brier of probabilities); with "
        "--losses what to call it",
    )
    data.add_argument("--clip", type=number, metavar="X", help="cut the loss of probabilities off at X")
    data.add_argument("--ceiling", type=number, metavar="X", help="largest possible loss in --losses (default: 1)")
    data.add_argument("--weight", metavar="COLUMN", help="row weights")
    data.add_argument(
        "--strata",
        action="append",
        metavar="COLUMN",
        help="what divides cells into strata, such as age and region, for --shift stratified; several",
    )
    data.add_argument(
        "--missing",
        choices=["refuse", "drop"],
        default="refuse",
        help="rows that lack a value in a column that is used (default: %(default)s)",
    )
    for side in ("group", "label"):
        data.add_argument(
            f"--known-{side}",
            action="append",
            metavar="NAME",
            help=f"a {side} that there is; if any is named, name all, also those that are absent from the rows"
            + ('; of several columns as JSON, such as \'["f", "old"]\'' if side == "group" else ""),
        )
    data.add_argument("--table", metavar="NAME", help="the table of a database")
    text = parser.add_argument_group("CSV files")
    text.add_argument("--na", action="append", default=[], metavar="TEXT", help="a text that means: no value")
    text.add_argument("--delimiter", metavar="CHARACTER", help="between fields (default: comma; tab in .tsv)")
    text.add_argument("--encoding", default="utf-8", metavar="NAME", help="of the text (default: %(default)s)")


class Files(argparse.Action):
    """Keep all files, and what to call them in a line: without passwords."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, option: object = None) -> None:
        """Set ``files`` and ``file``."""
        namespace.files = list(values)
        first = shown(values[0])
        namespace.file = first if len(values) == 1 else f"{first} and {len(values) - 1} more"


def add_question_options(parser: argparse.ArgumentParser) -> None:
    """Add what is asked."""
    asked = parser.add_argument_group("the question")
    asked.add_argument(
        "--cuts",
        action="append",
        type=cut_points,
        metavar="COLUMN=X,...",
        help="where to cut a column of numbers of the strata (age=25,45), or into how many quantiles (age=4)",
    )
    asked.add_argument(
        "--shift",
        choices=["general", "stratified", "sensitive"],
        default="general",
        help="what may change: anything, only the shares of --strata, or only those of groups and labels (default: "
        "%(default)s)",
    )
    asked.add_argument(
        "--metric",
        choices=["loss", *METRICS],
        action="append",
        metavar="METRIC",
        help="what is bounded: loss (the default), or one of " + ", ".join(METRICS) + "; several are answered together",
    )
    asked.add_argument(
        "--metric-group",
        metavar="NAME",
        help="the group that group_loss, cell_loss, selection_rate or demographic_parity_ratio is about",
    )
    asked.add_argument(
        "--unknown-predictions",
        choices=["refuse", "allow"],
        default="refuse",
        help="predictions that are no true label (default: %(default)s)",
    )
    asked.add_argument("--pos-label", metavar="LABEL", help="the label whose predictions are selections")
    asked.add_argument(
        "--divergence",
        type=divergence,
        metavar="NAME",
        default="hellinger",
        help=f"how the distance from the data is measured: {', '.join(DIVERGENCES)}, or cressie_read:A of an order A; "
        "kl, chi_squared and orders above 1 may exceed 1 (default: %(default)s)",
    )
    asked.add_argument("--group-skew", type=number, metavar="X", help="largest difference between two group shares")
    asked.add_argument("--label-skew", type=number, metavar="X", help="largest difference between two label shares")
    asked.add_argument("--min-group-mass", type=number, metavar="X", help="smallest share of any group")
    asked.add_argument("--min-label-mass", type=number, metavar="X", help="smallest share of any label")
    for side in ("group", "label"):
        asked.add_argument(
            f"--{side}-limit",
            action="append",
            type=share_range,
            metavar="NAME=LOW:HIGH",
            help=f"smallest and largest share of one {side}, named as in the tables; several",
        )
    rates = asked.add_mutually_exclusive_group()
    rates.add_argument(
        "--base-rate-tolerance",
        type=number,
        metavar="X",
        help="largest difference between the base rates of two groups (default: they are equal)",
    )
    rates.add_argument(
        "--no-base-rate-constraint",
        dest="fair",
        action="store_false",
        help="any base rates: the plain worst case, to see what the condition on base rates buys",
    )
    asked.add_argument(
        "--support",
        choices=["any", "observed"],
        default="any",
        help="losses that may occur in a cell (default: %(default)s)",
    )
    asked.add_argument(
        "--empty-cells",
        choices=["refuse", "ceiling"],
        default="refuse",
        help="cells without rows: refuse, or assume the worst loss (default: %(default)s)",
    )
    asked.add_argument(
        "--confidence",
        type=number,
        metavar="X",
        help="allow for sampling error: the bound holds with this probability, such as 0.95",
    )
    asked.add_argument(
        "--region",
        choices=list(REGIONS),
        default="auto",
        help="how a sample speaks of its source (default: %(default)s)",
    )
    asked.add_argument("--tol", type=number, default=1e-6, metavar="X", help="the gap to aim at (default: %(default)s)")
    asked.add_argument("--budget", type=whole, metavar="N", help="pieces the search may use (default: by size)")


def add_output_options(parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    """Add where results go."""
    output = parser.add_argument_group("the results")
    output.add_argument("--json", metavar="FILE", help="write the certificate, with its proof: fairbound verify FILE")
    output.add_argument("--html", metavar="FILE", help="write a page to show to others")
    output.add_argument("--title", metavar="TEXT", help="the page's title (default: the question that it answers)")
    about = parser.add_argument_group("what it is about (the certificate and the page say so)")
    about.add_argument("--model", metavar="TEXT", help="the model's name")
    about.add_argument("--model-version", metavar="TEXT", help="and which version of it")
    about.add_argument("--dataset", metavar="TEXT", help="the name of the data")
    about.add_argument("--dataset-version", metavar="TEXT", help="and which version of them")
    about.add_argument("--meaning", action="append", metavar="LABEL=TEXT", help="what a label means; several")
    about.add_argument("--note", metavar="TEXT", help="anything else")
    add_format(output, formats)


def add_format(parser: argparse._ActionsContainer, formats: Sequence[str]) -> None:
    """Add how results are printed."""
    parser.add_argument("--format", choices=formats, default="text", help="what to print (default: %(default)s)")
    if "line" in formats:
        parser.add_argument(
            "--quiet", dest="format", action="store_const", const="line", help="print one line: --format line"
        )


def read_population(arguments: argparse.Namespace) -> Population:
    """Read the files as the options say."""
    tallies = read_tallies(expanded(arguments.files))
    arguments.parts = sum(len(tally.parts) for tally in tallies)
    if not tallies:
        return read_rows(
            arguments,
            Population.from_frame,
            unknown_predictions=arguments.unknown_predictions,
            cuts=dict(arguments.cuts or ()),
        )
    given = [option for name, option in ROLES.items() if getattr(arguments, name) is not None]
    if given:
        message = f"{given[0]}: {arguments.file} is a tally, whose columns were named when it was counted; leave it out"
        raise ProblemError(message)
    try:
        return Population.from_tally(
            Tally.merged(tallies),
            unknown_predictions=arguments.unknown_predictions,
            cuts=dict(arguments.cuts or ()),
        )
    except InputError as error:
        message = f"{arguments.file}: {error.worded(COUNTED | ROWS)}"
        raise ProblemError(message) from None


def caution_of_parts(arguments: argparse.Namespace) -> list[Caution]:
    """Say what a confidence takes for granted of rows that were counted in several places."""
    if arguments.confidence is None or arguments.parts < 2:
        return []
    said = (
        f"The confidence takes the rows of all {arguments.parts} parts of the tally for independent draws from one and "
        "the same distribution. If places or days differ, that is the mixture which their numbers of rows make."
    )
    return [Caution("several_parts", Sentence(said))]


def read_rows(arguments: argparse.Namespace, make: Callable[..., Read], **more: Any) -> Read:
    """Make something of the rows in files, as the options say."""
    _check_roles(arguments)
    file, delimiter = arguments.file, _delimiter(arguments.delimiter)
    try:
        with progress(f"reading {file}") as told:
            frame = open_tables(
                arguments.files,
                CsvFile("", delimiter or "", arguments.encoding, frozenset(arguments.na), watch=told),
                table=arguments.table,
                columns=_used(arguments),
            )
            return make(
                frame,
                label=arguments.label,
                group=arguments.group,
                prediction=arguments.prediction,
                probability=_probability(arguments, frame),
                losses=arguments.losses,
                weight=arguments.weight,
                loss=arguments.loss,
                clip=arguments.clip,
                ceiling=arguments.ceiling,
                missing=arguments.missing,
                groups=_all_names(frame, arguments.group, "--known-group", arguments.known_group),
                labels=_all_names(frame, [arguments.label], "--known-label", arguments.known_label),
                strata=arguments.strata,
                **more,
            )
    except InputError as error:
        message = f"{'standard input' if file == '-' else file}: {error.worded(COUNTED | ROWS)}"
        raise ProblemError(message) from None
    except OSError as error:
        raise unreadable(file, error) from None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of Polars; not an Exception
            message = f"{file} cannot be read: its engine gave up ({error})"
            raise ProblemError(message) from None
        raise


def _used(arguments: argparse.Namespace) -> list[str]:
    """Return the columns that are used."""
    probability = [text.rpartition("=")[2] for text in arguments.probability or ()]
    named = [arguments.label, *arguments.group, *(arguments.strata or ()), arguments.prediction, *probability]
    return [name for name in (*named, arguments.losses, arguments.weight) if name is not None]


def _check_roles(arguments: argparse.Namespace) -> None:
    """Ask for the columns that rows need; a tally does without, so the parser cannot ask for them."""
    missing = [option for option in ("--label", "--group") if getattr(arguments, option[2:]) is None]
    if (arguments.prediction, arguments.probability, arguments.losses) == (None, None, None):
        missing.append("one of --prediction, --probability and --losses")
    if missing:
        message = f"missing: {', '.join(missing[:-1])}{' and ' if missing[1:] else ''}{missing[-1]}"
        raise ProblemError(message)


def _all_names(frame: Any, columns: list[str], option: str, given: list[str] | None) -> list[Hashable] | None:
    """Return all groups or labels as the library takes them: typed as their columns are."""
    if given is None:
        return None
    if len(columns) == 1:
        return [label_of(frame, columns[0], text) for text in given]
    found: list[Hashable] = []
    for text in given:
        try:
            parts = json.loads(text)
        except ValueError:
            parts = None
        if not isinstance(parts, list) or len(parts) != len(columns):
            message = f"{option} {text!r} must be a JSON list of {len(columns)} names, one for each --group"
            raise ProblemError(message)
        pairs = zip(columns, parts, strict=True)
        found.append(tuple(label_of(frame, column, p) if isinstance(p, str) else p for column, p in pairs))
    return found


def question(arguments: argparse.Namespace, population: Population, one: Wanted) -> dict[str, Any]:
    """Return the question about one metric as the library's verbs take it.

    What is said of all metrics, such as a group, is asked of those of several that can be asked about it.
    """
    named: dict[str, Any] = {
        f"{side}_limits": _named_ranges(side, getattr(arguments, f"{side}_limit"), among)
        for side, among in (("group", population.groups), ("label", population.labels))
    }
    known = population.predicted.labels if population.predicted is not None else population.labels
    metric = METRICS.get(one.metric)
    single = arguments.wanted is None and len(metrics(arguments)) == 1
    of_all = {
        "group": arguments.metric_group if single or (metric is not None and metric.one_group) else None,
        "pos_label": arguments.pos_label if single or (metric is not None and metric.selection) else None,
    }
    named["group"] = _named("--metric-group", "group", one.group or of_all["group"], population.groups)
    named["pos_label"] = _named("--pos-label", "label", one.pos_label or of_all["pos_label"], known)
    return {name: getattr(arguments, name) for name in ASKED} | named | {"metric": one.metric}


def described(arguments: argparse.Namespace, population: Population) -> Population:
    """Return the population with what the options say of it, and the hashes of the files that were read."""
    meanings: dict[Any, str] = {}
    for text in arguments.meaning or ():
        name, mark, words = text.partition("=")
        if not mark:
            message = f"--meaning {text!r} is not LABEL=TEXT such as 1=repays"
            raise ProblemError(message)
        meanings[_named("--meaning", "label", name, population.labels)] = words
    told = population.described(
        model=arguments.model,
        model_version=arguments.model_version,
        data=arguments.dataset,
        data_version=arguments.dataset_version,
        meanings=meanings,
        note=arguments.note,
    )
    files = tuple((Path(file).name, sha256_of(file)) for file in arguments.files if Path(file).is_file())
    return replace(told, provenance=replace(told.provenance, files=files))


def sha256_of(file: str) -> str:
    """Return the SHA-256 of a file."""
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def question_facts(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the question for programs: limits by the names that were given."""
    named = {
        f"{side}_limits": [{"name": name, "low": low, "high": high} for name, low, high in given]
        for side in ("group", "label")
        if (given := getattr(arguments, f"{side}_limit")) is not None
    }
    return (
        {name: getattr(arguments, name) for name in ASKED}
        | {
            "metric": metrics(arguments) if arguments.wanted is None else [one.metric for one in arguments.wanted],
            "group": arguments.metric_group,
            "group_limits": None,
            "label_limits": None,
        }
        | named
    )


def _named(option: str, what: str, given: str | None, names: tuple[Hashable, ...]) -> Hashable | None:
    """Find a group or label by the name that the tables show."""
    if given is None:
        return None
    shown = {short_name(name): name for name in names}
    if given not in shown:
        message = f"{option}: there is no {what} {given!r}; the {what}s are {listed([repr(n) for n in shown])}"
        raise ProblemError(message)
    return shown[given]


def _named_ranges(
    side: str, given: list[tuple[str, float, float]] | None, names: tuple[Hashable, ...]
) -> dict[Hashable, tuple[float, float]] | None:
    """Find the groups or labels that are limited, by the names that the tables show."""
    if given is None:
        return None
    shown = {short_name(name): name for name in names}
    found: dict[Hashable, tuple[float, float]] = {}
    for name, low, high in given:
        if name not in shown:
            message = f"--{side}-limit: there is no {side} {name!r}; the {side}s are {listed([repr(n) for n in shown])}"
            raise ProblemError(message)
        if shown[name] in found:
            message = f"--{side}-limit names {name!r} twice; give one range for it"
            raise ProblemError(message)
        found[shown[name]] = low, high
    return found


def _delimiter(given: str | None) -> str | None:
    found = {"\\t": "\t", "tab": "\t"}.get(given or "", given)
    if found is not None and len(found) != 1:
        message = f"--delimiter {given!r} must be one character, or tab"
        raise ProblemError(message)
    return found


def _probability(arguments: argparse.Namespace, frame: Any) -> str | list[str] | dict[Any, str] | None:
    """Read the columns of probabilities: one, several in the order of the labels, or each with its label."""
    given: list[str] | None = arguments.probability
    if given is None:
        return None
    named = [text.partition("=") for text in given]
    if not any(mark for _, mark, _ in named):
        return given[0] if len(given) == 1 else given
    if not all(mark for _, mark, _ in named):
        message = "--probability: give the label with every column (LABEL=COLUMN), or with none"
        raise ProblemError(message)
    try:
        found = {label_of(frame, arguments.label, label): column for label, _, column in named}
    except Exception as error:  # a lazy frame is read here for the first time: its engine has errors of its own
        message = f"{arguments.file} cannot be read: {' '.join(str(error).split())[:300]}"
        raise ProblemError(message) from None
    if len(found) < len(named):
        message = "--probability names a label twice"
        raise ProblemError(message)
    return found
