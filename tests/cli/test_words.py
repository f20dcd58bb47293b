"""The vocabulary: every option that an argument of the library stands behind is in it, and nothing else is."""

from __future__ import annotations

import argparse
from inspect import signature

import pytest

from fairbound import Population, Tally, certify, largest_certified_rho
from fairbound.cli import certifying, tallying, words
from fairbound.data.csv_file import CsvFile

#: Options that the library never hears of.
OUR_OWN = {
    "--help",
    "--na",
    "--json",
    "--html",
    "--format",
    "--quiet",
    "--outcomes",
    "--fail-above",
    "--fail-below",
    "--table",
    "--output",
    "--title",
    "--model",
    "--model-version",
    "--dataset",
    "--dataset-version",
    "--meaning",
    "--note",
}


def options(command: str) -> set[str]:
    parser = argparse.ArgumentParser()
    {"certify": certifying.add_certify, "radius": certifying.add_radius, "count": tallying.add_count}[command](parser)
    return {max(action.option_strings, key=len) for action in parser._actions if action.option_strings}


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("certify", [words.COLUMNS, words.QUESTION]),
        ("radius", [words.COLUMNS, words.MOST, words.LEAST]),
        ("count", [words.COUNTED]),
    ],
)
def test_every_option_is_known(command: str, known: list[dict[str, str]]) -> None:
    named = {option for vocabulary in known for option in vocabulary.values()}
    asked = {"--rho"} if command == "radius" else set()  # asked of the library, and not by the user
    assert named - asked == options(command) - OUR_OWN


@pytest.mark.parametrize("vocabulary", [words.COUNTED, words.QUESTION, words.MOST, words.LEAST])
def test_every_word_is_an_argument(vocabulary: dict[str, str]) -> None:
    takers = Population.from_frame, Tally.count, Population.from_losses, CsvFile, certify, largest_certified_rho
    arguments = {name for taker in takers for name in signature(taker).parameters}
    assert {name.partition("=")[0] for name in vocabulary} <= arguments
