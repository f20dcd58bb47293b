"""What a document claims, in sentences of the checker's own.

They are made of what was checked: nothing that an author wrote stands in them but the names
of groups, labels and losses, in quotation marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairbound.verify.document import Document, Gate, Limits, Measured, Question, Single, singles
from fairbound.verify.metric import is_ratio
from fairbound.verify.names import CEILINGS, SELECTED

#: More radii, or names, than these are not listed, nor more characters of a name.
MOST_RADII, MOST_NAMES, MOST_SHOWN = 20, 8, 60

#: What the mean of a loss is called; any other is named as its author did.
MEANS = {
    "zero_one": "error rate",
    "brier": "mean Brier loss",
    "jsd": "mean Jensen-Shannon loss",
    "absolute": "mean absolute loss",
    "cross_entropy": "mean cross-entropy",
}

DISTANCES = {
    "hellinger": "Hellinger distance",
    "total_variation": "total variation distance",
    "kl": "Kullback-Leibler divergence",
    "chi_squared": "chi-squared divergence",
    "trimming": "trimmed share",
    "cressie_read": "Cressie-Read divergence",
}

#: What is bounded: of the mean, of the share of rows that are predicted as one label, or of shares among some rows.
METRICS = {
    "loss": "the {mean}",
    "group_loss": "the {mean} of {every} group",
    "cell_loss": "the {mean} of {every} group among the rows of each label",
    "selection_rate": "the selection rate of {every} group ({selected})",
    "group_loss_difference": "the difference between two groups in {mean}",
    "demographic_parity_difference": "the demographic parity difference ({selected})",
    "demographic_parity_ratio": "the demographic parity ratio ({selected})",
    "true_positive_rate_difference": "the true positive rate difference ({selected})",
    "false_positive_rate_difference": "the false positive rate difference ({selected})",
    "equalized_odds_difference": "the equalized odds difference ({selected})",
}

#: The same of a chosen group, where that is something else.
METRICS_OF_ONE = {
    "demographic_parity_ratio": "the selection rate of {every} group divided by the largest of any other group, at "
    "most 1 ({selected})",
}


def worded(gate: Gate, single: Single, passed: bool) -> str:
    """Return a gate and how it ended in a sentence."""
    side, kept = "at least" if is_ratio(single) else "at most", "passed" if passed else "failed"
    bounds = [(point.claim.bound, point.rho) for point in single.question.points if point.claim is not None]
    bound, rho = min(bounds) if is_ratio(single) else max(bounds)
    return f"{kept}: {_metric(single)} has to be {side} {gate.threshold!r}, and is {side} {bound!r} (rho = {rho!r})"


def claims(document: Document) -> Iterator[str]:
    """Yield what is claimed, in sentences."""
    population = document.population
    size = "moments of them are given" if population.rows is None else f"{population.rows:.0f} rows"
    if population.weighted:
        size += ", with weights"
    groups, labels = _listed(population.groups), _listed(population.labels)
    yield f"about the data: {size}; the groups {groups} and the labels {labels}"
    if document.confidence is not None:
        count = len(document.questions)
        together = "" if count == 1 else f", all {count} of these statements together"
        yield (
            f"with a probability of at least {document.confidence!r} over the draw of the rows, which are taken to be "
            f"independent{together}:"
        )
    yield from map(_claim, singles(document))


def _claim(single: Single) -> str:
    """Return what is claimed of a question, at all of its radii."""
    question = single.question
    side = "at least" if is_ratio(single) else "at most"
    found = [(point.rho, point.claim.bound) for point in question.points if point.claim is not None]
    if len(found) == 1:
        ((rho, bound),) = found
        return f"{_metric(single)} is {side} {bound!r} in {_where(question, single.population, repr(rho))}"
    said = [f"{bound!r} for rho = {rho!r}" for rho, bound in found[:MOST_RADII]]
    more = f" and so on, for {len(found) - MOST_RADII} more" if len(found) > MOST_RADII else ""
    return f"{_metric(single)} is {side} {', '.join(said)}{more}, in {_where(question, single.population, 'rho')}"


def _where(question: Question, population: Measured, rho: str) -> str:
    """Return the distributions that a claim is about."""
    centre = "the data" if question.confidence is None else "the distribution that the rows were drawn from"
    order = "" if question.order is None else f" of order {question.order!r}:"
    within = f"within {DISTANCES[question.divergence]}{order} {rho} of {centre}"
    if question.divergence == "trimming":
        within = f"that is left when a share of at most {rho} of {centre} is taken away"
    said = [f"every population {within}"]
    if not question.fair:
        said.append("with any base rates")
    elif question.base_rate_tolerance is None:
        said.append("with equal base rates in all groups")
    else:
        said.append(f"whose groups' base rates differ by at most {question.base_rate_tolerance!r}")
    if question.shift == "sensitive":
        said.append("in which only the shares of the cells of group and label have changed")
    elif question.shift == "stratified":
        own = "" if question.confidence is not None else ", and no stratum occurs in a cell in which it has no rows"
        said.append(f"in which only the shares of the strata of the cells have changed{own}")
    elif question.support == "observed":
        said.append("in which anything may have changed, but no loss occurs that was not observed in its cell")
    else:
        said.append("in which anything may have changed")
    empty = any(weight == 0 for row in population.weight for weight in row)
    assumed = empty and question.empty_cells == "ceiling"
    if assumed:
        said.append("cells without rows being taken to have the largest loss")
    top, anything = population.ceiling, question.shift == "general" and question.support == "any"
    if (assumed or anything) and top is not None and CEILINGS.get(population.loss) != top:
        said.append(f"no loss being above {top!r}")
    sides = ("group", question.group_limits, population.groups), ("label", question.label_limits, population.labels)
    said += [limit for side, limits, names in sides for limit in _limits(side, limits, names)]
    return ", ".join(said)


def _limits(side: str, limits: Limits, names: list[Any]) -> Iterator[str]:
    if limits.skew is not None:
        yield f"in which no two {side} shares differ by more than {limits.skew!r}"
    for row, most in list(zip(limits.rows, limits.most, strict=True))[:MOST_NAMES]:
        terms = [f"{value!r} times that of {_name(name)}" for value, name in zip(row, names, strict=True) if value]
        yield f"in which {side} shares add up to at most {most!r}: {', '.join(terms[:MOST_NAMES]) or 'none'}"
    if len(limits.rows) > MOST_NAMES:
        yield f"and {len(limits.rows) - MOST_NAMES} more limits on {side} shares"


def _metric(single: Single) -> str:
    """Return what is bounded, in words."""
    metric, population = single.question.metric, single.population
    mean = MEANS.get(population.loss, f"mean of the loss {_name(population.loss)}")
    selected = "predicting a label that is not named"
    if population.loss == SELECTED:
        if population.pos_label is not None:
            selected = f"predicting {_name(population.pos_label)}"
        mean = f"selection rate ({selected})"
    every = "each" if metric.group is None else "one"
    found = METRICS | (METRICS_OF_ONE if metric.group is not None else {})
    text = found.get(metric.name, "the metric").format(mean=mean, every=every, selected=selected)
    return text if metric.group is None else text.replace("one group", f"group {_name(metric.group)}")


def _name(name: Any) -> str:
    return ascii(name)[:MOST_SHOWN]


def _listed(names: list[Any]) -> str:
    shown = ", ".join(_name(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
