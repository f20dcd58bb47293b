"""What a certified error of every cell implies of parity: Proposition 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from fairbound.arithmetic.rounding import UNIT
from fairbound.certificate.certificate import Certificate
from fairbound.errors import InputError, argument, shown
from fairbound.wording.vocabulary import ZERO_ONE


@dataclass(frozen=True)
class ImpliedParity:
    """Bounds that follow from the largest error of a cell, in every distribution that the certificate speaks of.

    Attributes
    ----------
    demographic_parity_difference, equalized_odds_difference
        No two groups differ by more, in the rate at which any one label is predicted.
    """

    demographic_parity_difference: float
    equalized_odds_difference: float


def implied_parity(certificate: object) -> ImpliedParity:
    """Return what a certificate of the metric ``cell_loss`` implies of demographic parity and equalised odds.

    If no group's rows of any label are classified wrongly more often than epsilon, then among the rows of a label the
    rates at which a model predicts some label all lie in [0, epsilon] or in [1 - epsilon, 1], so that they differ by at
    most epsilon between groups; with equal base rates so do the groups' selection rates (Proposition 1 of the paper).
    Base rates that may differ by delta add ``delta (1 - epsilon)``: selection rates are at most ``r + (1 - r) epsilon``
    and at least ``r (1 - epsilon)``, where r is the label's share in the group.
    A certificate of the metric itself, ``certify(..., metric="equalized_odds_difference")``, is never larger.

    Examples
    --------
    >>> from fairbound import Population, certify, implied_parity
    >>> y_true, y_pred = [0, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0, 1, 0]
    >>> population = Population.from_predictions(y_true, y_pred, sensitive_features=list("ffffmmmm"))
    >>> implied = implied_parity(certify(population, 0.2, shift="sensitive", metric="cell_loss"))
    >>> round(implied.equalized_odds_difference, 6)
    0.5
    """
    if not isinstance(certificate, Certificate):
        message = f"{argument('certificate')} must be a Certificate, not {type(certificate).__name__}; see certify"
        raise InputError(message)
    if certificate.metric != "cell_loss" or certificate.population.loss_name != ZERO_ONE:
        what = f"{certificate.metric} of the loss {shown(certificate.population.loss_name)}"
        message = (
            f"{argument('certificate')}: it bounds the {what}, and parity follows from the error of every cell; "
            "use certify(..., metric='cell_loss') for a population of predicted labels"
        )
        raise InputError(message)
    if certificate.group is not None:
        message = (
            f"{argument('certificate')}: it bounds the error of the cells of group {shown(certificate.group)} alone, "
            "and parity compares groups; use certify(..., metric='cell_loss') without group"
        )
        raise InputError(message)
    error, apart = certificate.bound, certificate.condition.largest_difference
    raised = error if apart == 0 else (error + apart * (1.0 - error)) * (1.0 + 8 * UNIT)
    return ImpliedParity(min(1.0, raised), error)
