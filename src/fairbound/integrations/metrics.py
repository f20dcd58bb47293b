"""Certified metrics by the names that Fairlearn gives the metrics themselves: for scorers, and tables of groups.

Each takes what Fairlearn's function takes, and the radius; each returns the bound of :func:`fairbound.certify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Unpack

from fairbound.certificate.evidence import Evidence, certify_all
from fairbound.certificate.scoring import certified_loss
from fairbound.data.population import Population
from fairbound.problem.asked import Asked, asks
from fairbound.problem.metrics import METRICS, MetricName


class CertifiedMetric(Protocol):
    """What the functions below take."""

    def __call__(
        self, y_true: Any, y_pred: Any, *, sensitive_features: Any, rho: float, sample_weight: Any = None, **asked: Any
    ) -> float:
        """Return the bound."""


def _named(name: str, metric: MetricName) -> CertifiedMetric:
    """Return the certified metric of a name of Fairlearn's."""

    def certified(
        y_true: Any, y_pred: Any, *, sensitive_features: Any, rho: float, sample_weight: Any = None, **asked: Any
    ) -> float:
        return certified_loss(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            rho=rho,
            sample_weight=sample_weight,
            **asked,
            metric=metric,
        )

    side = "smallest" if METRICS[metric].lower else "largest"
    certified.__name__ = certified.__qualname__ = f"certified_{name}"
    certified.__doc__ = (
        f"Return a bound on the {side} {name.replace('_', ' ')} within ``rho`` of the rows: ``{metric}`` of "
        ":func:`fairbound.certify`, whose other keywords it takes."
    )
    return certified


certified_demographic_parity_difference = _named("demographic_parity_difference", "demographic_parity_difference")
certified_demographic_parity_ratio = _named("demographic_parity_ratio", "demographic_parity_ratio")
certified_equalized_odds_difference = _named("equalized_odds_difference", "equalized_odds_difference")
certified_equal_opportunity_difference = _named("equal_opportunity_difference", "true_positive_rate_difference")
certified_true_positive_rate_difference = _named("true_positive_rate_difference", "true_positive_rate_difference")
certified_false_positive_rate_difference = _named("false_positive_rate_difference", "false_positive_rate_difference")
certified_zero_one_loss_difference = _named("zero_one_loss_difference", "group_loss_difference")
certified_zero_one_loss_group_max = _named("zero_one_loss_group_max", "group_loss")


@asks(Asked)
def certified_by_group(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    rho: float,
    metrics: Sequence[MetricName] = ("group_loss", "selection_rate"),
    sample_weight: Any = None,
    **asked: Unpack[Asked],
) -> Evidence:
    """Certify metrics of every single group, as ``MetricFrame.by_group`` has them: one document, one line for each.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As for :meth:`fairbound.Population.from_predictions`.
    rho, asked
        As for :func:`fairbound.certify`; a ``confidence`` holds for all of them together.
    metrics
        Metrics for which a group may be chosen.

    Examples
    --------
    >>> from fairbound.integrations.metrics import certified_by_group
    >>> y_true, y_pred = [0, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 0]
    >>> evidence = certified_by_group(y_true, y_pred, sensitive_features=list("ffffmmmm"), rho=0.2)
    >>> evidence.to_frame("polars").select("metric", "group").rows()
    [('group_loss', 'f'), ('group_loss', 'm'), ('selection_rate', 'f'), ('selection_rate', 'm')]
    """
    population = Population.from_predictions(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    questions = [{"metric": metric, "group": group} for metric in metrics for group in population.groups]
    return certify_all(population, questions, [rho], **asked)
