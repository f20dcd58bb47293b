"""The vocabulary: every option that an argument of the library stands behind is in it, and nothing else is."""

from __future__ import annotations

import argparse
from inspect import signature
from pathlib import Path

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
        ("radius", [words.COLUMNS, words.RADIUS]),
        ("count", [words.COUNTED]),
    ],
)
def test_every_option_is_known(command: str, known: list[dict[str, str]]) -> None:
    named = {option for vocabulary in known for option in vocabulary.values()}
    asked = {"--rho"} if command == "radius" else set()  # asked of the library, and not by the user
    assert named - asked == options(command) - OUR_OWN


#: Where an option is not called as its argument, with the reason in docs/words.md.
OTHERWISE = {
    "fair=False": "--no-base-rate-constraint",
    "group_limits": "--group-limit",
    "groups": "--known-group",
    "label_limits": "--label-limit",
    "labels": "--known-label",
    "sample_weight": "--weight",
}


@pytest.mark.parametrize("vocabulary", [words.COUNTED, words.QUESTION, words.RADIUS])
def test_options_are_called_as_arguments_are(vocabulary: dict[str, str]) -> None:
    told = Path("docs/words.md").read_text("utf-8")
    for name, option in vocabulary.items():
        otherwise = OTHERWISE | ({"group": "--metric-group"} if vocabulary is not words.COUNTED else {})
        assert option == otherwise.get(name, f"--{name.replace('_', '-')}")
        assert name not in otherwise or option in told


@pytest.mark.parametrize("vocabulary", [words.COUNTED, words.QUESTION, words.RADIUS])
def test_every_word_is_an_argument(vocabulary: dict[str, str]) -> None:
    takers = Population.from_frame, Tally.count, Population.from_losses, CsvFile, certify, largest_certified_rho
    arguments = {name for taker in takers for name in signature(taker).parameters}
    assert {name.partition("=")[0] for name in vocabulary} <= arguments
