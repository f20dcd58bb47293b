"""A certificate as an assertion, for tests of a model. The pytest plugin has a fixture of the same name."""

from __future__ import annotations

from typing import Unpack

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.evidence import Evidence, Gate, Outcome, certify_all
from fairbound.data.population import Population
from fairbound.errors import InputError, argument, given
from fairbound.problem.asked import Asked, asks
from fairbound.problem.metrics import METRICS
from fairbound.reporting.terminal import worst_case_title
from fairbound.wording.confidence import reached_in
from fairbound.wording.digits import Digits, radius_down
from fairbound.wording.overview import change_rows
from fairbound.wording.table import text_table

#: More cells than these are not listed in a message.
MOST_CELLS = 8


@asks(Asked)
def assert_certified(
    population: Population,
    *,
    rho: float,
    at_most: float | None = None,
    at_least: float | None = None,
    **asked: Unpack[Asked],
) -> Certificate:
    """Certify, and raise ``AssertionError`` if the bound breaks a threshold.

    The message has the bound, what was attained, the value on the data, and the cells of the worst case. With a
    ``confidence`` it says whether the model fails, or whether there are not enough rows to tell.

    Parameters
    ----------
    population
        What is known of the data.
    rho
        The radius.
    at_most, at_least
        What the bound has to keep: ``at_least`` of a ratio, which is bounded from below, ``at_most`` of all others.
    **asked
        Keywords of :func:`fairbound.certify`, such as ``metric`` and ``confidence``.

    Examples
    --------
    >>> from fairbound import Population
    >>> from fairbound.integrations.testing import assert_certified
    >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    >>> assert_certified(population, rho=0.2, at_most=0.4)
    Certificate(bound=0.370205, attained=0.370205, rho=0.2, shift='general', status=TIGHT)
    >>> try:
    ...     assert_certified(population, rho=0.2, at_most=0.3)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    failed: loss has to be at most 0.3, and is at most 0.370206 (rho = 0.2)
    """
    __tracebackhide__ = True  # what pytest shows ends at the test
    return judge(evidence_of(population, rho, at_most, at_least, asked))


def judge(evidence: Evidence) -> Certificate:
    """Return the certificate of a single gate at a single radius; raise if it is not passed."""
    __tracebackhide__ = True
    (gate,) = evidence.gates
    if not gate.passed:
        raise AssertionError(failure(gate))
    return gate.worst


def evidence_of(
    population: Population, rho: float, at_most: float | None, at_least: float | None, asked: Asked
) -> Evidence:
    """Certify with the threshold that the metric's bounds can keep."""
    metric = asked.get("metric", "loss")
    lower = metric in METRICS and METRICS[metric].lower
    right, wrong = ("at_least", "at_most") if lower else ("at_most", "at_least")
    values = {"at_most": at_most, "at_least": at_least}
    if values[wrong] is not None:
        side = "below" if lower else "above"
        message = f"{given(wrong, values[wrong])}: {metric} is bounded from {side}; use {argument(right)}"
        raise InputError(message)
    if values[right] is None:
        message = f"{argument(right)} is missing: say what the bound of {metric} has to keep"
        raise InputError(message)
    return certify_all(population, [{"metric": metric, "threshold": values[right]}], [rho], **asked)


def failure(gate: Gate) -> str:
    """Say why a gate is not passed, for somebody who reads the log of a test run."""
    worst = gate.worst
    digits = Digits(6)
    bound, attained = worst.texts(digits)
    beyond = worst.attained >= gate.threshold if worst.lower else worst.attained <= gate.threshold
    hint = "; no distribution was found that breaks it: a larger budget may help" if beyond else ""
    if worst.confidence is not None:
        hint = f"; {reached_in(worst.region)}"
    header, cells = change_rows(worst.population, worst.witness.mass)
    cells.sort(key=lambda cell: -float(cell[-1]))
    left = len(cells) - MOST_CELLS
    return "\n".join(
        [
            gate.explained if gate.outcome is Outcome.UNSETTLED else gate.sentence,
            f"  metric    {worst.metric}",
            f"  rho       {radius_down(worst.rho)} ({worst.distance_words}, {worst.shift} shifting)",
            f"  bound     {bound}",
            f"  attained  {attained}{hint}",
            f"  on data   {digits.near(worst.on_data)}",
            f"{worst_case_title(worst)}, the cells that grow most first:",
            text_table(header, cells[:MOST_CELLS]),
            *([f"  and {left} more cells"] if left > 0 else []),
        ]
    )
