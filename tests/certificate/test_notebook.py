"""How objects show themselves: short, exact, and harmless whatever the names in the data."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from fairbound import Population, certify, certify_curve, nearest_fair, report, verify
from fairbound.wording.digits import Digits

HOSTILE = ['<script>alert("1")</script>', '"onload=alert(1)', "a&b <i>", "'", "\ud800", "\x00null"]
ALLOWED = {"table", "thead", "tbody", "tr", "th", "td", "p", "strong", "details", "summary", "ul", "li"}


class Page(HTMLParser):
    """The tags, attributes and texts of a page; knows whether all tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class Frame(Page):
    """A page that holds another one."""

    @property
    def source(self) -> str | None:
        """The page inside."""
        return dict(self.attributes)["srcdoc"]


def population(names: list[str]) -> Population:
    rng = np.random.default_rng(0)
    return Population.from_losses(
        rng.random(120),
        np.resize(names, 120),
        sensitive_features={"g": np.repeat(names, 120 // len(names)), "h": [0, 1] * 60},
        loss=names[0],
    )


def test_names_of_strangers_are_shown_and_not_obeyed() -> None:
    given = population(HOSTILE)
    curve = certify_curve(given, [0.0, 0.5, 0.6])
    certificate = next(iter(curve))
    nearest = nearest_fair(given)
    for shown in (given, certificate, curve, certificate.witness, nearest, verify(certificate.to_json())):
        page = Page(shown._repr_html_())
        assert set(page.tags) <= ALLOWED
        assert not page.attributes
        shown._repr_html_().encode()  # can be stored: no half characters
    texts = Page(given._repr_html_()).texts
    for name in HOSTILE[:4]:
        assert name in texts
        assert any(text.startswith(f"{name} / ") for text in texts)


def test_nothing_prints_raw_arrays() -> None:
    given = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]], groups=["m", "f"])
    certificate = certify(given, 0.2)
    nearest, checked = nearest_fair(given), verify(certificate.to_json())
    for shown in (nearest, certificate.witness):
        assert "array" not in repr(shown)
        texts = Page(shown._repr_html_()).texts
        assert texts[1:5] == ["group", "label", "share", "base rate"]
        assert texts[5:9] == ["m", "0", f"{shown.mass[0, 0]:.4f}", f"{shown.mass[0, 0] / shown.mass[0].sum():.4f}"]
    assert f"{nearest.distance:.6f}" in Page(nearest._repr_html_()).texts[0]
    assert Page(checked._repr_html_()).texts[0] == "The claim is proved"
    assert set(checked.checks) <= set(Page(checked._repr_html_()).texts)
    refused = verify(certificate.to_json().replace('"bound": 0.', '"bound": 0.0'))
    assert Page(refused._repr_html_()).texts[0] == "Not proved"
    assert set(refused.reasons) <= set(Page(refused._repr_html_()).texts)


def test_a_report_shows_itself_and_can_be_saved(tmp_path: Path) -> None:
    given = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    page = report(certify(given, 0.2), title='"><script>alert(1)</script>')
    frame = Frame(page._repr_html_())
    assert frame.tags == ["iframe"]  # nothing gets out of it
    assert frame.source == page
    assert "allow-same-origin" not in page._repr_html_().split('sandbox="')[1].split('"')[0]
    assert page.save(tmp_path / "r.html").read_text(encoding="utf-8") == page
    assert repr(page).startswith("Report(")


def test_what_a_population_shows() -> None:
    given = Population.from_losses([0.1, 0.2, 0.4], [0, 1, 0], sensitive_features=["a", "a", "b"])
    assert repr(given) == "Population(2 groups x 2 labels, 3 rows, mean loss=0.233333, ceiling=1)"
    texts = Page(given._repr_html_()).texts
    assert texts[0] == repr(given)
    assert texts[1:7] == ["group", "label", "rows", "share", "base rate", "mean loss"]
    assert texts[7:13] == ["a", "0", "1", "0.3333", "0.5000", "0.1000"]
    assert texts[-6:] == ["b", "1", "0", "0.0000", "0.0000", "no data"]


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_what_certificates_show(shift: str) -> None:
    given = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    certificate = certify(given, 0.2, shift=shift)  # type: ignore[arg-type]  # both are shifts
    texts = Page(certificate._repr_html_()).texts
    assert texts[0] == f"The loss of the model is at most {Digits(6).up(certificate.bound)}"
    assert certificate.texts(Digits(6))[1] in texts[1]
    assert "0.2" in texts[1]
    assert shift in texts[1]
    assert texts[-len(certificate.assumptions) :] == list(certificate.assumptions)
    assert f"{certificate.witness.mass[1, 1]:.4f}" in texts
    assert not {"fair", "compliant"} & set(" ".join(texts).lower().split())


def test_what_curves_show() -> None:
    given = Population.from_moments([[0.464, 0.204], [0.295, 0.037]], [[0.09, 0.38], [0.02, 0.45]])
    curve = certify_curve(given, [0.05, 0.2])
    texts = Page(curve._repr_html_()).texts
    assert texts[0] == "The loss of the model is at most the bound (general shifting)"
    assert texts[1:7] == ["rho", "bound", "attained", "gap", "0.05", "infeasible"]
    assert Digits(6).up(curve.bound[1]) in texts
    assert any(f"{curve.distance:.6f}" in text for text in texts)
    nothing = certify_curve(given, [0.01])
    assert "infeasible" in Page(nothing._repr_html_()).texts
