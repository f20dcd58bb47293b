"""The display, in scikit-learn's convention."""

from __future__ import annotations

import numpy as np
import pytest

from fairbound import certify, certify_curve
from tests.integrations.problems import population, rows

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
import matplotlib.pyplot as plt

from fairbound.integrations.display import CertificateDisplay

RADII = [0.05, 0.1, 0.2]


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    plt.close("all")


def drawn(display: CertificateDisplay) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the bounds that were drawn."""
    (line,) = [line for line in display.ax_.lines if line.get_marker() == "o" and line.get_linestyle() == "None"]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_all_three_ways_draw_the_same() -> None:
    y, predicted, sex = rows()
    curve = certify_curve(population(), RADII)
    _, ax = plt.subplots()
    first = CertificateDisplay.from_certificate(curve, ax=ax)
    assert first.ax_ is ax
    assert first.figure_ is ax.figure
    second = CertificateDisplay.from_predictions(y, predicted, sensitive_features=sex, rhos=RADII, name="model")

    class Model:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return X[:, 0]

    third = CertificateDisplay.from_estimator(Model(), predicted[:, None], y, sensitive_features=sex, rhos=RADII)
    assert [display.ax_.get_title() for display in (first, second, third)] == ["", "model", "Model"]
    for display in (first, second, third):
        assert np.array_equal(drawn(display)[1], curve.bound[curve.feasible])
        assert np.array_equal(drawn(display)[0], curve.rho[curve.feasible])


def test_it_is_drawn_again_where_one_likes() -> None:
    display = CertificateDisplay(certify_curve(population(), RADII), name="$one$")
    assert not hasattr(display, "ax_")
    _, (left, right) = plt.subplots(1, 2)
    assert display.plot(left) is display
    assert display.plot(right, name="two").ax_ is right
    assert (left.get_title(), right.get_title()) == ("$one$", "two")


def test_a_single_certificate_has_a_line_up_to_its_radius() -> None:
    certificate = certify(population(), 0.2)
    display = CertificateDisplay.from_certificate(certificate)
    assert drawn(display)[1].tolist() == [certificate.bound]
    line = next(line for line in display.ax_.lines if line.get_label() == "bound")
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert x.max() == 0.2
    assert len(x) > 2
    assert (np.diff(y) >= 0).all()


def test_keywords_are_those_of_certify() -> None:
    y, predicted, sex = rows()
    display = CertificateDisplay.from_predictions(
        y, predicted, sensitive_features=sex, rhos=RADII, metric="demographic_parity_ratio", shift="sensitive"
    )
    assert display.curve.certificates[1] is not None
    assert display.curve.certificates[1].metric == "demographic_parity_ratio"
    with pytest.raises(ValueError, match="did you mean metric"):
        CertificateDisplay.from_predictions(y, predicted, sensitive_features=sex, metrc="loss")  # type: ignore[call-arg]
