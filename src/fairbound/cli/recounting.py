"""``fairbound verify --data``: whether a document's statistics are those of a table, counted again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from math import isclose
from typing import Any

from fairbound.certificate.document import plain, write_population
from fairbound.certificate.statements import fewer_bins
from fairbound.cli.options import read_population, sha256_of
from fairbound.cli.output import ProblemError
from fairbound.data.population import Population
from fairbound.verify.document import Cut, Document, Measure, Strata
from fairbound.verify.names import CEILINGS, SELECTED
from fairbound.wording.names import read_name, short_name

#: Sums of weights may be off by this much: engines add them up in different orders.
ACCURACY = 1e-9

#: More differences than these are not told.
MOST_TOLD = 5

#: What a column was read as, and the option that says so.
ROLES = {
    "group": "--group",
    "label": "--label",
    "prediction": "--prediction",
    "probability": "--probability",
    "losses": "--losses",
    "weight": "--weight",
    "stratum": "--strata",
}


def recount(
    document: Document, file: str, options: list[str], parser: Callable[[list[str]], argparse.ArgumentParser]
) -> tuple[list[str], list[str]]:
    """Count the rows of a file as the document says; return what agrees, and what does not, in sentences.

    ``options`` of ``certify`` say how the file is read, beside what the document says of its columns.
    """
    named = {option.partition("=")[0] for option in options}
    told = [f"{ROLES[c.role]}={c.name}" for c in document.provenance.columns if ROLES[c.role] not in named]
    told += [f"--cuts={_cut(cut)}" for cut in document.provenance.cuts if "--cuts" not in named]
    if not told and not options:
        message = "the document does not name the columns of its data; name them, as for certify (--label ...)"
        raise ProblemError(message)
    if document.population.excluded_rows and "--missing" not in named:
        told.append("--missing=drop")
    loss = next((one for one in document.population.measures if one.loss != SELECTED), None)
    told += _loss(loss) if loss is not None and not any("prediction" in text for text in [*told, *options]) else []
    arguments = parser(["certify"]).parse_args(["certify", "--unknown-predictions=allow", *told, *options, "--", file])
    population = read_population(arguments)
    if document.confidence is None:
        population = fewer_bins(population, sum(len(question.points) for question in document.questions))
    populations = [_measured(population, measure) for measure in document.population.measures]
    found = write_population(populations)
    differences = list(_differences(plain(document.population), plain(found), document))
    agreeing = [] if differences else [f"the statistics are those of {file}: {found.rows or 0:.0f} rows, counted again"]
    if document.provenance.files and file != "-":
        same = sha256_of(file) in {one.sha256 for one in document.provenance.files}
        agreeing.append(f"{file} {'has' if same else 'does not have'} the SHA-256 of a file that the document names")
    return agreeing, differences[:MOST_TOLD] + (["and more"] if len(differences) > MOST_TOLD else [])


def _cut(cut: Cut) -> str:
    """Return how a column was cut, as the option has it: one point has a comma behind it."""
    points = str(cut.quantiles) if cut.at is None else ",".join(map(repr, [*cut.at])) + ","
    return f"{cut.name}={points}"


def _loss(measure: Measure) -> list[str]:
    """Return the options that name the loss, and its ceiling where it is not the usual one."""
    if measure.loss not in CEILINGS and measure.loss != "cross_entropy":
        return [f"--loss={measure.loss}", *([] if measure.ceiling is None else [f"--ceiling={measure.ceiling!r}"])]
    usual = measure.ceiling == CEILINGS.get(measure.loss)
    return [f"--loss={measure.loss}", *([] if usual or measure.ceiling is None else [f"--clip={measure.ceiling!r}"])]


def _measured(population: Population, measure: Measure) -> Population:
    found = population.selecting(read_name(measure.pos_label)) if measure.loss == SELECTED else population
    return found.by_strata if isinstance(measure.knowledge, Strata) else found


def _differences(told: dict[str, Any], found: dict[str, Any], document: Document) -> Iterator[str]:
    """Yield what is not the same."""
    for key, what in (("groups", "groups"), ("labels", "labels"), ("rows", "number of rows")):
        if told[key] != found[key]:
            yield f"the {what}: {_short(told[key])} in the document, {_short(found[key])} in the data"
    if told["excluded_rows"] != found["excluded_rows"]:
        yield f"the rows left out: {told['excluded_rows']} in the document, {found['excluded_rows']} in the data"
    if told["groups"] != found["groups"] or told["labels"] != found["labels"]:
        return
    if any(_names(one) != _names(other) for one, other in zip(told["measures"], found["measures"], strict=True)):
        yield "the strata: other names in the document than in the data"
        return
    for s, group in enumerate(document.population.groups):
        for y, label in enumerate(document.population.labels):
            cell = f"cell {short_name(read_name(group))} {short_name(read_name(label))}"
            if not _same(told["weight"][s][y], found["weight"][s][y]):
                yield f"{cell}: {told['weight'][s][y]:g} in the document, {found['weight'][s][y]:g} in the data"
                continue
            for one, other in zip(told["measures"], found["measures"], strict=True):
                if not _same(_inside(one["knowledge"], s, y), _inside(other["knowledge"], s, y)):
                    yield f"{cell}: the values of {one['loss']} differ"


def _inside(knowledge: dict[str, Any], s: int, y: int) -> list[Any]:
    """Return what is known of a cell."""
    return [table[s][y] for key, table in sorted(knowledge.items()) if isinstance(table, list) and key != "names"]


def _names(measure: dict[str, Any]) -> Any:
    """Return the names of strata, if there are any."""
    return measure["knowledge"].get("names")


def _same(one: Any, other: Any) -> bool:
    """Whether numbers, or lists of them, are the same up to rounding."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, list) or isinstance(other, list):
        return False
    return isclose(one, other, rel_tol=ACCURACY, abs_tol=ACCURACY)


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
