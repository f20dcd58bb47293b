"""The certified loss as a metric: one number from labels, predictions and groups, as scorers expect it."""

from __future__ import annotations

from typing import Any, Unpack

from fairbound.certificate.certify import certify
from fairbound.data.losses import Loss
from fairbound.data.population import Population
from fairbound.problem.asked import Asked, asks, completed


@asks(Asked)
def certified_loss(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    rho: float,
    loss: str | Loss = "zero_one",
    clip: float | None = None,
    sample_weight: Any = None,
    **asked: Unpack[Asked],
) -> float:
    """Return the bound of :func:`certify` for predictions; smaller is better.

    A metric in the manner of Fairlearn, and of scikit-learn with metadata routing::

        sklearn.set_config(enable_metadata_routing=True)
        scorer = make_scorer(certified_loss, greater_is_better=False, rho=0.2)
        scorer.set_score_request(sensitive_features=True)
        cross_validate(model, X, y, scoring=scorer, params={"sensitive_features": groups})

    Losses of probabilities need ``response_method="predict_proba"`` in ``make_scorer``.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, loss, clip, sample_weight
        As for :meth:`Population.from_predictions`.
    rho, asked
        As for :func:`certify`, with all its keywords.

    Raises
    ------
    InfeasibleError
        If no distribution with equal base rates is within ``rho``. There is no bound then, and no number could stand
        for it: not 0, since nothing is promised, nor the ceiling, since nothing is bad. In cross-validation
        scikit-learn turns it into its ``error_score`` (NaN, with a warning) for that fold; choose a larger ``rho``.
    InputError
        If an argument cannot be used as given.

    Examples
    --------
    >>> from fairbound import certified_loss
    >>> y_true, y_pred = [0, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 0]
    >>> round(certified_loss(y_true, y_pred, sensitive_features=list("ffffmmmm"), rho=0.2), 4)
    0.5094
    """
    options = completed(certified_loss, asked)
    population = Population.from_predictions(
        y_true, y_pred, sensitive_features=sensitive_features, loss=loss, clip=clip, sample_weight=sample_weight
    )
    return certify(population, rho, **options).bound
