"""Model cards: a section for the cards of skops and Hugging Face, results for an index, and CycloneDX's analysis."""

from __future__ import annotations

from typing import Any

from fairbound.integrations.summary import Line, Source, Summary
from fairbound.wording.digits import radius_down


def card_section(source: Source | Summary, *, title: str | None = None) -> str:
    """Return a section of a model card in Markdown: the verdict, a table of all bounds, and what they are about.

    Without a title it is what ``Card.add`` of skops takes for a section; with one it can be appended to the text of a
    Hugging Face card.

    Examples
    --------
    >>> from fairbound import Population, certify
    >>> from fairbound.integrations.cards import card_section
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> print(card_section(certify(population, 0.2)))
    | metric | rho |  | bound | attained | on the data |
    | --- | --- | --- | --- | --- | --- |
    | loss | 0.2 | at most | 0.370206 | 0.370206 | 0.141830 |
    <BLANKLINE>
    Each bound holds in every distribution with equal base rates within Hellinger distance rho of the data.
    <BLANKLINE>
    """
    return Summary.of(source).markdown(title)


def eval_results(
    source: Source | Summary, *, dataset_name: str, dataset_type: str, task_type: str = "tabular-classification"
) -> list[Any]:
    """Return the bounds as ``EvalResult`` for the index of a Hugging Face card, ``ModelCardData(eval_results=...)``.

    Parameters
    ----------
    source
        A certificate, a curve, the answers to several questions, or a JSON document of any of them.
    dataset_name, dataset_type, task_type
        What the index calls data and task.
    """
    from huggingface_hub import EvalResult  # noqa: PLC0415 (only where a card is made)

    return [
        EvalResult(
            task_type=task_type,
            dataset_type=dataset_type,
            dataset_name=dataset_name,
            metric_type=f"certified_{line.metric}",
            metric_name=_title(line),
            metric_value=line.bound,
            metric_args={"rho": line.rho, "divergence": line.divergence, "shift": line.shift, "group": line.group},
        )
        for line in Summary.of(source).lines
    ]


def quantitative_analysis(source: Source | Summary) -> dict[str, Any]:
    """Return the bounds as ``modelCard.quantitativeAnalysis`` of CycloneDX 1.6.

    The value of each is the bound, and the interval goes from the attained value to it: the worst case lies between
    them. Of a sample the attained value says nothing of the source, and the interval has one end.

    Examples
    --------
    >>> from fairbound import Population, certify
    >>> from fairbound.integrations.cards import quantitative_analysis
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> (metric,) = quantitative_analysis(certify(population, 0.2))["performanceMetrics"]
    >>> metric["type"]
    'largest loss within rho = 0.2 (hellinger, general shifting)'
    >>> float(metric["confidenceInterval"]["lowerBound"]) <= float(metric["value"])
    True
    """
    return {"performanceMetrics": [_performance(line) for line in Summary.of(source).lines]}


def _performance(line: Line) -> dict[str, Any]:
    ends = zip(("lowerBound", "upperBound"), line.interval, strict=True)
    found: dict[str, Any] = {
        "type": _title(line),
        "value": repr(line.bound),
        "confidenceInterval": {name: repr(value) for name, value in ends if value is not None},
    }
    return found if line.group is None else found | {"slice": line.group}


def _title(line: Line) -> str:
    """Say what is bounded, and where."""
    extreme = "smallest" if line.lower else "largest"
    words = line.words.removeprefix("largest ")
    return f"{extreme} {words} within rho = {radius_down(line.rho)} ({line.divergence}, {line.shift} shifting)"
