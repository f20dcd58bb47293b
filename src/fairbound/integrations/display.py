"""A display in scikit-learn's convention: the certified bound over the radius."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from fairbound.certificate.certificate import Certificate
from fairbound.certificate.certify import certify_curve
from fairbound.certificate.curve import CertificateCurve
from fairbound.data.losses import Loss
from fairbound.data.population import Population
from fairbound.problem.asked import Asked, asks
from fairbound.reporting.report_data import least_radius

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class CertificateDisplay:
    """Bound and attained value over the radius.

    Make one with :meth:`from_certificate`, :meth:`from_predictions` or :meth:`from_estimator`, which draw it too; draw
    it again with :meth:`plot`. Needs matplotlib: ``pip install matplotlib``.

    Attributes
    ----------
    curve
        What is drawn.
    name
        The title; None for none.
    ax_, figure_
        Where it was drawn last.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, curve: CertificateCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_certificate(
        cls, certificate: Certificate | CertificateCurve, *, ax: Axes | None = None, name: str | None = None
    ) -> Self:
        """Draw a curve, or what a single certificate proves at its own radius and at smaller ones.

        Examples
        --------
        >>> from fairbound import Population, certify
        >>> from fairbound.integrations.display import CertificateDisplay
        >>> population = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
        >>> display = CertificateDisplay.from_certificate(certify(population, 0.2), name="credit model")
        >>> display.ax_.get_title()
        'credit model'
        """
        if isinstance(certificate, Certificate):
            near = least_radius(certificate)
            certificate = CertificateCurve(np.array([certificate.rho]), near, (certificate,))
        return cls(certificate, name=name).plot(ax)

    @classmethod
    @asks(Asked)
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        rhos: Any = None,
        loss: str | Loss = "zero_one",
        clip: float | None = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **asked: Unpack[Asked],
    ) -> Self:
        """Certify predictions at several radii (by default some from the nearest distance on) and draw the curve."""
        population = Population.from_predictions(
            y_true, y_pred, sensitive_features=sensitive_features, loss=loss, clip=clip, sample_weight=sample_weight
        )
        return cls(certify_curve(population, rhos, **asked), name=name).plot(ax)

    @classmethod
    @asks(Asked)
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        rhos: Any = None,
        loss: str | Loss = "zero_one",
        clip: float | None = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **asked: Unpack[Asked],
    ) -> Self:
        """Certify a fitted model at several radii (by default some from the nearest distance on) and draw the curve."""
        population = Population.from_estimator(
            estimator, X, y, sensitive_features=sensitive_features, loss=loss, clip=clip, sample_weight=sample_weight
        )
        name = type(estimator).__name__ if name is None else name
        return cls(certify_curve(population, rhos, **asked), name=name).plot(ax)

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw, on ``ax`` or in a new figure."""
        self.ax_ = self.curve.plot(ax)
        self.figure_ = self.ax_.figure.get_figure(root=True)
        title = self.name if name is None else name
        if title is not None:
            self.ax_.set_title(title, parse_math=False)
        return self
