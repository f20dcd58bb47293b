"""``fairbound count`` and ``fairbound merge``: rows are counted where they are, and only counts are sent."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairbound.cli.options import add_data_options, read_rows, whole
from fairbound.cli.output import ProblemError, check_outputs, progress, say, write_file
from fairbound.cli.tables import expanded, read_tallies
from fairbound.cli.words import COUNTED
from fairbound.data.tally import Tally
from fairbound.errors import InputError

COUNT_EXAMPLES = """\
examples:
  fairbound count may.csv --label income --prediction yhat --group sex --name "clinic 3, May" -o clinic-3.json
  fairbound count 'rows/*.parquet' --label y --known-label no --known-label yes --probability p --loss jsd \\
      --group sex -o site.json
  fairbound count rows.csv --label y --losses cost --ceiling 2 --group sex --min-count 10 -o site.json

exit status: 0, or 2 bad usage or data; one line tells what
"""

MERGE_EXAMPLES = """\
examples:
  fairbound merge site-*.json -o all.json
  fairbound certify all.json --rho 0.1

exit status: 0, or 2 bad usage, a part that is there twice, or tallies of different plans
"""


def add_count(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``count``."""
    parser.epilog = COUNT_EXAMPLES
    add_data_options(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the tally: counts and sums, no rows")
    parser.add_argument(
        "--min-count",
        type=whole,
        default=1,
        metavar="N",
        help="no entry of fewer rows, and no single losses: bins are merged, and only their edges are told",
    )
    parser.add_argument("--name", metavar="TEXT", help="a name for these rows; parts of one name are not added up")
    parser.set_defaults(run=run_count)


def add_merge(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``merge``."""
    parser.epilog = MERGE_EXAMPLES
    parser.add_argument("file", nargs="+", metavar="FILE", help="tallies of one plan")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="their sum, a tally too")
    parser.set_defaults(run=run_merge)


def run_count(arguments: argparse.Namespace) -> int:
    """Count the rows of files."""
    check_outputs(arguments.files, [arguments.output])
    tally = read_rows(arguments, Tally.count, min_count=arguments.min_count, name=arguments.name)
    _write(tally, arguments.output)
    return 0


def run_merge(arguments: argparse.Namespace) -> int:
    """Add up tallies."""
    files = expanded(arguments.file)
    check_outputs(files, [arguments.output])
    with progress(f"adding up {len(files)} tallies"):
        tallies = read_tallies(files)
        if not tallies:
            message = f"{files[0]} is not a tally: fairbound count makes one"
            raise ProblemError(message)
        try:
            total = Tally.merged(tallies)
        except InputError as error:
            raise ProblemError(error.worded(COUNTED)) from None
    _write(total, arguments.output)
    return 0


def _write(tally: Tally, output: str) -> None:
    """Write a tally and say what is in it."""
    write_file(output, tally.to_json() + "\n")
    parts = "1 part" if len(tally.parts) == 1 else f"{len(tally.parts)} parts"
    excluded = f" ({tally.excluded_rows:,} more were left out)" if tally.excluded_rows else ""
    groups, labels = (len(names) for names in tally.names)
    say(
        f"{output}: {tally.rows:,} rows{excluded} in {parts}, {groups} group{'s' * (groups != 1)}, "
        f"{labels} label{'s' * (labels != 1)}; {Path(output).stat().st_size:,} bytes",
    )
