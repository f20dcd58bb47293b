"""The report as text: what it says, what it may never say, and that no name gets out of its place."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbound import (
    CertificateCurve,
    InputError,
    Population,
    certify,
    certify_curve,
    report,
    verify,
)
from fairbound.cli import main
from fairbound.reporting.appendix import Appendix
from fairbound.reporting.checked import refusals
from fairbound.reporting.report_data import examine
from fairbound.verify.strict import MalformedError
from fairbound.wording.amounts import Amounts
from fairbound.wording.digits import Digits, gap_up, radius_down, signed
from fairbound.wording.names import short_name
from tests.by_hand import only
from tests.pages import NASTY, nasty_curve, sampled_curve, small_curve

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(HTMLParser):
    """A page taken apart: its elements, the text people see, and the blocks of data."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.bdi: list[str] = []
        self.scripts: list[str] = []
        self.words = ""
        self._open: list[str] = []
        self._block = ""
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({key for key, _ in attrs}) == len(attrs), "an attribute stands twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        self._block = str(dict(attrs).get("id") or dict(attrs).get("type") or tag)
        if tag == "bdi":
            self.bdi.append("")
        if self._block == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"script", "style"}:
            self.blocks[self._block] = self.blocks.get(self._block, "") + data
            if self._block == "script":
                self.scripts[-1] += data
            return
        if self._open and self._open[-1] == "bdi":
            self.bdi[-1] += data
        self.words += data if self._open and self._open[-1] in {"bdi", "strong", "span", "code"} else f" {data} "

    @property
    def attached(self) -> bytes:
        """The certificate that comes with the page."""
        return gzip.decompress(base64.b64decode(self.blocks["certificate"], validate=True))

    @property
    def data(self) -> dict[str, Any]:
        """What the script reads of the first question."""
        return dict(json.loads(self.blocks["page-data"])[0])


@pytest.fixture(scope="module")
def curve() -> CertificateCurve:
    return small_curve()


@pytest.fixture(scope="module")
def page(curve: CertificateCurve) -> Page:
    return Page(report(curve))


#: How the page of the small curve writes its numbers.
AMOUNTS = Amounts(Digits(3), "percent")


def of_percent(text: str) -> float:
    """Read a number that stands in per cent."""
    return float(text.removesuffix("%")) / 100


def words(page: Page) -> str:
    return re.sub(r" (?=[,.:])", "", " ".join(page.words.split()))


def test_numbers_are_rounded_to_the_safe_side() -> None:
    rng = np.random.default_rng(4)
    for _ in range(2000):
        value = float(rng.random() * 10.0 ** rng.integers(-12, 13))
        for digits in (Digits.fitting(value), Digits(4), Digits(None)):
            assert float(digits.down(value)) <= value * (1 + 1e-15)
            assert float(digits.up(value)) >= value * (1 - 1e-15)
        assert float(Digits.fitting(value).up(value)) <= value * 1.001
        assert float(gap_up(value)) >= value * (1 - 1e-15)
        rho = float(rng.random())
        assert rho - 1e-6 <= float(radius_down(rho)) <= rho
    assert [Digits(4).up(0.25), Digits(4).up(0.250001), Digits(4).down(0.25009)] == ["0.2500", "0.2501", "0.2500"]
    assert Digits(4).pair(0.29320001, 0.2931999, lower=False) == ("0.2933", "0.2933")
    assert Digits(4).pair(0.29315, 0.29305, lower=False) == ("0.2932", "0.2930")
    assert Digits(4).pair(0.25, 0.25001, lower=True) == ("0.2500", "0.2500")
    assert Digits(None).pair(1.00004e-12, 1.00001e-12, lower=False) == ("1.0001e-12", "1.0001e-12")
    assert [radius_down(r) for r in (0.0, 0.1, 0.3, 1.0, 1e-9)] == ["0", "0.1", "0.3", "1", "0.000000001"]
    assert [signed(0.25), signed(-0.25), signed(-0.00001)] == ["+0.2500", "\N{MINUS SIGN}0.2500", "0.0000"]
    assert [gap_up(0.0), Digits.fitting(0.0).up(0.0)] == ["0", "0.0000"]


def test_the_chosen_numbers_are_the_certificates_own(page: Page, curve: CertificateCurve) -> None:
    shown = page.data["radii"]
    assert [float(r["rho"]) for r in shown] == [c.rho for c in curve]
    for r, c in zip(shown, curve, strict=True):
        assert c.bound <= float(r["bound"]) / 100 < c.bound + 1e-3
        assert r["attained"] == (r["bound"] if c.gap < 5e-4 else AMOUNTS.down(c.attained))
        assert (float(r["exact"]), float(r["found"])) == (c.bound, c.attained)
        shares = [of_percent(cell[0]) for cell in r["cells"]]
        assert shares == pytest.approx(c.witness.mass.ravel(), abs=6e-5)
        grown = (c.witness.mass - c.population.mass).ravel()
        assert r["most"] == int(grown.argmax())
        assert [cell[4] for cell in r["cells"]] == (grown > 0).tolist()
        losses = np.array([of_percent(cell[2]) for cell in r["cells"]])
        assert (losses * c.witness.mass.ravel()).sum() == pytest.approx(c.attained, abs=1e-4)


def test_it_says_what_was_certified_and_what_the_checker_found(page: Page, curve: CertificateCurve) -> None:
    text = words(page)
    chosen, c = page.data["radii"][3], curve.certificates[5]
    assert c is not None
    assert (
        "On the data the model errs in 25.0 % of cases. In any population with equal base rates that differs from the "
        f"data by no more than rho = {chosen['rho']}, it errs in at most {chosen['bound']} %." in text
    )
    assert f"within distance {chosen['rho']} a part that holds 5 % of the rows may grow to 37 %" in text.lower()
    assert (
        f"Over every distribution with equal base rates within Hellinger distance {chosen['rho']} of P, the error rate "
        f"is at most {c.bound!r}" in text
    )
    assert "✓ Bound proved" in text
    assert "the claim is proved" in text
    for check in verify(curve.to_json()).checks:
        assert check in text
    first = next(iter(curve))
    for sentence in first.assumptions:
        assert sentence in text
    assert f"is at distance {curve.distance:.4f}" in text
    assert "fairbound verify certificate.json" in text
    assert text.count("infeasible: no population in question is this near") == 2
    for number in ("25.00 %", "75.00 %", "400"):  # base rates and rows of the population's table
        assert number in text


@pytest.mark.parametrize("shift", ["general", "sensitive"])
def test_the_statement_names_every_restriction(shift: Any) -> None:
    population = small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified
    text = words(Page(report(certify(population, 0.3, shift=shift, group_skew=0.4, label_skew=0.9))))
    statement = text[text.index("In any population") : text.index("it errs in at most")]
    assert ("only in how frequent each combination of group and label is" in statement) == (shift == "sensitive")
    assert "keeps the limits on shares given below" in statement
    assert "Any two group shares of Q differ by at most 0.4." in text
    assert "Any two label shares of Q differ by at most 0.9." in text
    observed = words(Page(report(certify(population, 0.3, support="observed"))))
    assert "no loss occurs that was not observed" in observed[: observed.index("it errs in at most")]


def test_linear_limits_are_told() -> None:
    population = small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified
    name = population.groups[0]
    text = words(Page(report(certify(population, 0.4, group_limits={name: (0.4, 0.6)}, min_label_mass=0.2))))
    assert "keeps the limits on shares given below" in text
    assert f"The share of {name!r} in Q lies between 0.4 and 0.6." in text
    assert "The share of every label in Q is at least 0.2." in text
    assert "with equal base rates, within the limits, is at distance" in text


def test_it_never_passes_judgement(curve: CertificateCurve) -> None:
    first = next(iter(curve))
    tampered = first.to_json().replace('"bound": 0.', '"bound": 0.0')
    for text in (report(curve), report(first), report(tampered), report(nasty_curve())):
        assert not re.search(r"\b(un)?fair(ness|ly)?\b|complian|complies|\bsafe\b", text.lower())


def test_the_attached_certificate_is_the_one_that_was_checked(curve: CertificateCurve) -> None:
    first = next(iter(curve))
    spaced = json.dumps(json.loads(curve.to_json()), indent=1)
    for document in (curve.to_json(), first.to_json(), spaced, nasty_curve().to_json()):
        attached = Page(report(document)).attached
        assert attached == document.encode()
        assert verify(attached).valid
        assert hashlib.sha256(attached).hexdigest() in report(document)


def test_a_claim_that_is_not_proved_is_shown_as_such(curve: CertificateCurve) -> None:
    document = json.loads(curve.to_json())
    for claim in (only(document)["points"][-1]["claim"], *only(document)["points"][-1]["answers"]):
        claim["bound"] -= 0.01
    text = words(Page(report(json.dumps(document))))
    assert "✗ Not proved" in text
    assert "Nothing on this page is proved" in text
    assert "not prove the claimed bound" in text
    assert "is claimed, without proof, to be at most" in text
    assert "at most (proved)" not in text
    assert not re.search(r"error rate is at most|errs in at most|✓|what is proved[:,]|the claim is proved", text)


def test_metrics_of_one_group_say_which() -> None:
    population = small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified
    worst = words(Page(report(certify(population, 0.3, metric="group_loss"))))
    assert "the error rate of the worst group is 25.0 %" in worst
    assert "the error rate of f is 25.0 %" in words(
        Page(report(certify(population, 0.3, metric="group_loss", group="f")))
    )
    difference = words(Page(report(certify(population, 0.3, metric="group_loss_difference"))))
    assert "largest difference between two groups in error rate is the" not in difference


def test_what_is_refused_takes_a_line_for_each_radius(curve: CertificateCurve) -> None:
    document = json.loads(curve.to_json())
    for point in document["questions"][0]["points"][-3:]:
        for claim in (point["claim"], *point["answers"]):
            claim["bound"] -= 0.01
    lines, details = refusals(examine(json.dumps(document)))
    assert [line.split(":")[0] for line in lines] == ["rho = 0.3", "rho = 0.4", "rho = 0.5"]
    assert len(details) > len(lines)
    page = report(json.dumps(document))
    shown, folded = page.split("<summary>All reasons</summary>")[0], page.split("<summary>All reasons</summary>")[1]
    assert all(shown.count(f"<li>{line}") == 1 for line in lines)
    assert all(f"<li>{reason}</li>" in folded for reason in details)


@pytest.mark.parametrize("metric", ["loss", "demographic_parity_difference", "demographic_parity_ratio"])
def test_no_sentence_stands_twice(metric: Any) -> None:
    population = small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified
    for confidence in (None, 0.9):
        found = certify_curve(population, [0.3, 0.4], metric=metric, confidence=confidence, min_group_mass=0.1)
        parts = [part.strip() for part in re.split(r"(?<=[.:;]) ", words(Page(report(found))))]
        told = [part for part in parts if len(part.split()) > 5]
        assert not [part for part in set(told) if told.count(part) > 1]


def test_metrics_have_the_names_that_people_know() -> None:
    population = small_curve().certificates[-1].population  # type: ignore[union-attr]  # the last one is certified
    for metric, name, said in (
        ("demographic_parity_difference", "demographic parity difference", "percentage points"),
        ("demographic_parity_ratio", "demographic parity ratio", "four-fifths rule"),
        ("equalized_odds_difference", "equalized odds difference", "false positive rate"),
        ("true_positive_rate_difference", "true positive rate difference", "equal opportunity"),
    ):
        text = words(Page(report(certify(population, 0.3, metric=metric, pos_label="yes"))))  # type: ignore[arg-type]  # all are
        assert re.search(rf"How (large|small) can the {name} \(predicting 'yes'\) get\?", text)
        assert f"The {name} is the" in text
        assert said in text
        assert metric not in text


def test_a_false_digest_is_not_repaired_by_reading() -> None:
    document = json.loads(small_curve().to_json())
    document["digest"] = "sha256:" + "0" * 64
    assert "✗ Not proved" in words(Page(report(json.dumps(document))))


def test_what_the_checker_does_not_check_is_computed_anew(curve: CertificateCurve) -> None:
    """A stranger's document may hide a radius as infeasible, or state a false distance."""
    document = json.loads(curve.to_json())
    hidden = only(document)["points"][2]["rho"]
    only(document)["points"][2] = {"rho": hidden, "claim": None, "answers": []}
    only(document)["distance"] = 0.09
    assert verify(json.dumps(document)).valid
    text = words(Page(report(json.dumps(document))))
    assert f"calls rho = {hidden} infeasible" in text
    assert "called infeasible by the document; not certified" in text
    assert f"it is {curve.distance:.6f}" in text


def test_small_cells_empty_cells_and_excluded_rows_are_named() -> None:
    y = ["no"] * 60 + ["yes"] * 40 + ["no"] * 95 + ["yes"] * 5 + ["no"] * 20
    group = ["a"] * 100 + ["b"] * 100 + ["c"] * 20
    population = Population.from_predictions(y, ["no"] * 220, sensitive_features=group)
    certificate = certify(population, 0.5)
    plain = words(Page(report(certificate)))
    assert "Fewer than 30 rows, so share and loss rest on little: b with label yes, c with label no" in plain
    assert "No rows at all, so the worst loss is assumed where it matters: c with label yes" in plain
    assert "left out" not in plain
    told = words(Page(report(certificate, excluded={"no label": 1200, "<i>age</i>": 3, "never": 0})))
    assert "1,200 rows: no label" in told
    assert "3 rows: <i>age</i>" in told
    assert "never" not in told
    with pytest.raises(InputError, match="number of rows"):
        report(certificate, excluded={"x": -1})


def test_weights_are_not_called_rows() -> None:
    population = Population.from_predictions(
        [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"), sample_weight=[5.0, 1.0, 2.0, 2.0]
    )
    assert "Fewer than" not in report(certify(population, 0.5))


def test_no_name_gets_out_of_its_place() -> None:
    text = report(nasty_curve(), title=NASTY[0], excluded={NASTY[3]: 2})
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 5  # the page's data, the certificate, the second checker, our own two scripts
    assert not {"img", "iframe", "object", "embed", "form", "b", "i"} & set(tags)
    assert not [key for _, found in page.elements for key in found if key.startswith("on") or key == "style"]
    assert {short_name(name) for name in NASTY} <= set(page.bdi)
    assert {name for name in NASTY[:10] if name} <= set(page.bdi)  # word for word
    assert "\ud800" not in text
    assert "\x00" not in text
    assert "\u2028" not in text
    assert "x" * 81 not in page.words
    assert text.count("<script>alert") == 0
    assert text.encode("utf-8").decode("utf-8") == text
    for block in page.blocks.values():
        assert "<!--" not in block
        assert "</script" not in block.lower()


def test_texts_of_the_document_are_escaped_too(curve: CertificateCurve) -> None:
    document = json.loads(curve.to_json())
    document["producer"] = document["population"]["measures"][0]["loss"] = '"><script>alert(1)</script>'
    page = Page(report(json.dumps(document)))
    assert [tag for tag, _ in page.elements].count("script") == 5


def test_no_text_of_the_document_turns_the_numbers_around(curve: CertificateCurve) -> None:
    document = json.loads(curve.to_json())
    document["population"]["measures"][0]["loss"] = "loss \u202e\u2067"
    document["population"]["groups"][0] = "עברית \u202e"
    text = report(json.dumps(document), title="\u202etitle")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
    assert "עברית \ufffd" in text


def test_the_policy_admits_our_own_script_and_style_alone(page: Page) -> None:
    policy = next(a["content"] for t, a in page.elements if t == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert len(page.scripts) == 2
    for rule, blocks in (("script-src", page.scripts), ("style-src", [page.blocks["style"]])):
        digests = [base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() for block in blocks]
        assert rules[rule] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert rules["worker-src"] == "blob:"
    assert "unsafe" not in policy


def test_nothing_is_fetched(page: Page) -> None:
    for _, found in page.elements:
        for key in ("src", "href", "action", "data", "poster", "srcset"):
            assert str(found.get(key) or "data:").startswith(("data:", "#"))
    assert not re.search(r"@import|url\((?!#)|https?:", page.blocks["style"] + page.blocks["script"])


def test_headings_tables_and_pictures_can_be_read_aloud(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert tags.count("caption") == tags.count("table") == 4
    assert tags.count("summary") == tags.count("details")
    assert all(a.get("scope") in {"row", "col"} for t, a in page.elements if t == "th")
    assert all(a.get("aria-label") or a.get("aria-hidden") for t, a in page.elements if t == "svg")
    identities = [a["id"] for _, a in page.elements if "id" in a]
    assert len(set(identities)) == len(identities)
    assert next(a for t, a in page.elements if t == "html")["lang"] == "en"


def test_large_documents_stay_below_two_megabytes() -> None:
    rng = np.random.default_rng(8)
    n = 9_000
    population = Population.from_losses(
        rng.random(n), rng.integers(0, 2, n), sensitive_features=rng.integers(0, 4, n), ceiling=1.0
    )
    curve = certify_curve(population, np.linspace(0.1, 0.9, 20))
    text = report(curve)
    page = Page(text)
    assert len(curve.to_json()) > 3_500_000
    assert 500_000 < len(text.encode()) < 2_000_000
    part = CertificateCurve.from_json(page.attached)
    assert verify(page.attached).valid
    assert 1 < len(part) < len(curve)
    assert set(part.rho) <= set(curve.rho)
    assert part.rho[-1] == curve.rho[-1]
    said = words(page)
    assert f"Attached are {len(part)} of its 20 certificates" in said
    assert hashlib.sha256(curve.to_json().encode()).hexdigest() in text


def test_what_cannot_be_attached_is_named(curve: CertificateCurve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["fairbound.reporting.report"], "MOST_BYTES", 1000)
    text = report(curve)
    assert "too much to be attached. Ask for the file with the SHA-256 below" in text
    assert hashlib.sha256(curve.to_json().encode()).hexdigest() in text
    assert 'id="certificate"' not in text
    assert 'id="download"' not in text


def test_many_cells_and_radii_are_thinned_out() -> None:
    rng = np.random.default_rng(2)
    mass = rng.random((70, 3))
    population = Population.from_moments(mass / mass.sum(), rng.random(mass.shape))
    curve = certify_curve(population, np.linspace(0.4, 0.9, 5))
    many = CertificateCurve(np.repeat(curve.rho, 42), curve.distance, tuple(c for c in curve for _ in range(42)))
    page = Page(report(many))
    assert len(page.data["radii"]) == 200
    assert len(page.data["radii"][0]["cells"]) == 40
    text = words(page)
    assert "188 more cells" in text
    assert "10 more are in the certificate" in text
    assert "32 more cells" in text
    assert "The 170 cells that change least are not shown" in text
    assert "200 of 210 distances are shown" in text
    moved = np.abs([c.witness.mass - c.population.mass for c in curve]).max(axis=0)
    most = np.unravel_index(moved.argmax(), moved.shape)
    assert page.bdi[:2] == [str(population.groups[most[0]]), str(population.labels[most[1]])]


def test_the_same_document_gives_the_same_page(curve: CertificateCurve) -> None:
    assert report(curve) == report(curve.to_json()) == report(curve.to_json().encode())


@pytest.mark.parametrize("scale", [1e-20, 1e-5, 37.0, 1e12])
def test_losses_of_any_size_are_shown(scale: float) -> None:
    population = Population.from_moments(
        [[0.4, 0.2], [0.3, 0.1]], np.array([[0.1, 0.3], [0.1, 0.5]]) * scale, ceiling=scale
    )
    curve = certify_curve(population, [0.2, 0.3])
    for r, c in zip(Page(report(curve)).data["radii"], curve, strict=True):
        assert c.bound <= float(r["bound"]) <= c.bound * 1.001


def test_unbounded_losses_are_shown() -> None:
    rng = np.random.default_rng(1)
    population = Population.from_losses(
        rng.exponential(size=200), [0, 1] * 100, sensitive_features=[0, 0, 1, 1] * 50, ceiling=np.inf
    )
    text = words(Page(report(certify(population, 0.2, shift="sensitive"))))
    assert "without a ceiling" in text


def test_no_well_formed_document_breaks_the_page() -> None:
    """Numbers from strangers may be anything that the reader lets through."""
    rng = np.random.default_rng(11)
    others = ["0", "1", "0.5", "1e-300", "1e99", "-1", "7.25", "5e-324"]
    curve = certify_curve(nasty_curve().certificates[-1].population, [0.3, 0.6])  # type: ignore[union-attr]
    texts = [curve.to_json(), small_curve().to_json(), next(iter(small_curve())).to_json()]
    texts += [sampled_curve().to_json(), sampled_curve("sensitive", "hoeffding").to_json()]
    built = 0
    for _ in range(250):
        text = texts[rng.integers(len(texts))]
        numbers = list(re.finditer(r"(?<=[ \[])\d+\.\d+(e-?\d+)?", text))
        for index in sorted(rng.choice(len(numbers), rng.integers(1, 4), replace=False), reverse=True):
            other = others[rng.integers(len(others))]
            text = text[: numbers[index].start()] + other + text[numbers[index].end() :]
        try:
            made = report(text)
        except MalformedError:
            continue
        except InputError as error:  # a number in the sentences of one point makes its question another one
            assert "different questions" in str(error)  # noqa: PT017 (most documents raise nothing)
            continue
        built += 1
        assert ("✓" in made) == verify(text).valid
    assert built > 50


@pytest.mark.parametrize("source", [None, 3, {"format": "x"}])
def test_other_things_are_refused(source: Any) -> None:
    with pytest.raises(InputError, match="source must be a certificate"):
        report(source)


@pytest.mark.parametrize("source", ["", "junk", "[1]", b"\xff\xfe", "{}", '{"format": "fairbound-curve"}'])
def test_malformed_documents_are_refused(
    source: str | bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MalformedError):
        report(source)
    file = tmp_path / "certificate.json"
    file.write_bytes(source.encode() if isinstance(source, str) else source)
    assert main(["report", str(file), "-o", str(tmp_path / "report.html")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "report.html").exists()


def test_the_command(
    curve: CertificateCurve, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text(curve.to_json(), encoding="utf-8")
    assert main(["report", "c.json", "-o", "r.html"]) == 0
    assert Path("r.html").read_text(encoding="utf-8") == report(curve)
    assert capsys.readouterr().out == "r.html: a report about c.json\n  c.json: the claim is proved\n"
    assert main(["report", "c.json", "--title", "Ours"]) == 0
    assert "<h1>Ours</h1>" in Path("c.html").read_text(encoding="utf-8")
    Path("bad.json").write_text(curve.to_json().replace('"bound": 0.', '"bound": 0.0'), encoding="utf-8")
    assert main(["report", "bad.json", "-o", "bad.html"]) == 1
    assert "✗" in Path("bad.html").read_text(encoding="utf-8")
    assert "not proved" in capsys.readouterr().out
    for arguments in (["c.json", "-o", "no/such/r.html"], ["c.json", "-o", "c.json"], ["none.json"]):
        assert main(["report", *arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert verify(Path("c.json").read_bytes()).valid


def test_a_table_of_ones_own_is_text() -> None:
    """Where none is given there is none; whatever stands in one is shown as it is."""
    certificate = certify(Population.from_moments([[0.4, 0.2], [0.3, 0.1]], [[0.1, 0.3], [0.1, 0.4]]), 0.3)
    assert 'id="appendix"' not in report(certificate)
    evil = "<script>alert(1)</script>"
    added = Appendix(f"Table {evil}", (evil,), ("name", evil), ((evil, "1.5"), ("b & c", "2")), (evil,))
    page = report(certificate, appendix=added)
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 6  # the title also names the table for readers
    assert evil not in page
    assert '<td class="n">1.5</td>' in page
    assert "b &amp; c" in page
    assert "added by whoever made the page" in page
