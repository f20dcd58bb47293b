"""The second checker in a real browser: on the page of a report, and on a page of its own; nothing leaves either."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Worker

from fairbound import CertificateCurve, report, verify
from fairbound.cli import main
from fairbound.reporting.page import checker_page
from fairbound.reporting.second_checker import browser_checker
from tests import hostile
from tests.forging import better, honest, mended, text
from tests.pages import small_curve
from tests.reporting.test_report_browser import Opener, Watch, browser, calm, show, watch
from tests.verify import test_questions as several

__all__ = ["browser", "show", "watch"]

#: Questions whose documents are dropped onto the page.
FEW = (
    "general, moments",
    "sensitive, kl, any base rates",
    "general, demographic_parity_ratio, near base rates",
    "general, sphere, graded",
    "pieces with limits",
)


@pytest.fixture(scope="module")
def curve() -> CertificateCurve:
    return small_curve()


def verdict(page: Page) -> str:
    """Wait until a check has ended, and return its verdict without the mark before it."""
    page.wait_for_selector("#check-results .verdict")
    return page.locator("#check-results .verdict").inner_text()[2:]


def drop(page: Page, path: Path) -> str:
    """Choose a file, and return the verdict on it."""
    page.evaluate("document.querySelector('#check-results').replaceChildren()")
    page.set_input_files("#check-file", path)
    return verdict(page)


def attached(page_text: str, document: str) -> str:
    """Return the page with another certificate attached to it."""
    packed = base64.b64encode(gzip.compress(document.encode(), mtime=0)).decode()
    return re.sub(r'(<script type="text/plain" id="certificate">)[^<]*', lambda m: m[1] + packed, page_text)


def test_the_attached_certificate_is_proved_on_the_page(show: Opener, watch: Watch, curve: CertificateCurve) -> None:
    page = show(report(curve))
    page.click("#check-here")
    assert verdict(page) == "the claim is proved"
    shown = page.locator("#check-results")
    assert shown.locator("tbody tr").count() == len([*curve])
    for row, c in zip(shown.locator("tbody tr").all(), curve, strict=True):
        rho, bound, proved, value = map(float, row.locator("td").all_text_contents())
        assert (rho, bound) == (c.rho, c.bound)
        assert proved <= c.bound
        assert value == pytest.approx(c.attained, abs=1e-9)
    assert json.loads(curve.to_json())["digest"] in shown.inner_text()
    assert not page.locator("#refutation").count()
    assert calm(watch), vars(watch)


def test_several_questions_are_proved_on_the_page(show: Opener, watch: Watch) -> None:
    page = show(report(several.text()))
    page.click("#check-here")
    assert verdict(page) == "the claim is proved"
    shown = page.locator("#check-results").inner_text()
    assert "gate passed: has to be at most 0.9" in shown
    assert "gate failed: has to be at least 0.8" in shown
    assert f"groups {', '.join(map(str, several.document()['population']['groups']))}; labels 0, 1" in shown
    assert "predicted as 1" in shown
    assert page.locator("#check-results table").count() == 3
    assert not page.locator("#refutation").count()
    assert "second one" in page.locator("header.top").inner_text()
    assert calm(watch), vars(watch)


def test_a_refused_certificate_turns_the_page_into_a_warning(
    show: Opener, watch: Watch, curve: CertificateCurve
) -> None:
    forged = json.loads(curve.to_json())
    better(forged, 0.01)
    page = show(attached(report(curve), json.dumps(forged)))
    assert "Bound proved" in page.locator("#verdict").inner_text()
    page.click("#check-here")
    assert verdict(page) == "not proved"
    assert "Refused" in page.locator("#verdict").inner_text()
    assert "Rely on nothing" in page.locator("main > #refutation").inner_text()
    assert page.locator("html.refuted").count() == 1
    assert calm(watch), vars(watch)


def test_a_proved_certificate_of_other_numbers_is_no_proof_of_the_page(show: Opener, curve: CertificateCurve) -> None:
    other = json.loads(curve.to_json())
    better(other, -0.01)
    assert verify(json.dumps(other)).valid
    page = show(attached(report(curve), json.dumps(other)))
    page.click("#check-here")
    page.wait_for_selector("#refutation")
    assert "other bounds" in page.locator("#refutation").inner_text()


def test_what_is_left_to_the_first_checker_is_no_refusal(show: Opener, watch: Watch, curve: CertificateCurve) -> None:
    document = honest("general, sphere, graded")
    for statement in document["questions"][0]["statements"]:
        statement["sampling"]["region"] = "prequential"
    page = show(attached(report(curve), json.dumps(document)))
    page.click("#check-here")
    assert verdict(page) == "not proved"
    assert "left to fairbound verify" in page.locator("#check-results").inner_text()
    assert not page.locator("#refutation").count()
    assert calm(watch), vars(watch)


def test_other_certificates_can_be_dropped(show: Opener, watch: Watch, curve: CertificateCurve, tmp_path: Path) -> None:
    forged = honest("general, moments")
    better(forged, 0.01)
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    page = show(report(curve))
    assert drop(page, tmp_path / "forged.json") == "not proved"
    assert "not about this page" in page.locator("#check-results").inner_text()
    assert not page.locator("#refutation").count()
    assert calm(watch), vars(watch)


def test_a_page_of_its_own(show: Opener, watch: Watch, tmp_path: Path) -> None:
    page = show(checker_page())
    for number, name in enumerate(FEW):
        forged = honest(name)
        better(forged, 1e-3)
        for kind, content in enumerate((text(name), json.dumps(forged), json.dumps(mended(forged))[:-1])):
            file = tmp_path / f"{number} {kind}.json"
            file.write_text(content)
            assert drop(page, file) == verify(content).verdict.value, name
    file = tmp_path / "broken.json"
    file.write_bytes(b"\xff")
    assert drop(page, file) == "not a certificate"
    assert calm(watch), vars(watch)


def test_a_file_is_dropped_with_the_mouse(show: Opener, watch: Watch) -> None:
    page = show(checker_page())
    page.evaluate(
        """(content) => {
          const data = new DataTransfer();
          data.items.add(new File([content], "c.json"));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        text("general, moments"),
    )
    assert verdict(page) == "the claim is proved"
    assert "c.json" in page.locator("#check-results").inner_text()
    assert calm(watch), vars(watch)


def worker(page: Page) -> Worker:
    """Wait until there is one worker, and return it."""
    for _ in range(250):
        if len(page.workers) == 1:
            break
        page.wait_for_timeout(20)
    (found,) = page.workers
    return found


def test_a_worker_waits_and_is_kept(show: Opener, watch: Watch, tmp_path: Path) -> None:
    """It is there before a file is chosen; one that is busy is replaced when another file is chosen."""
    page = show(checker_page())
    before = worker(page)
    for number, (content, expected) in enumerate(
        ((text("general, moments"), "the claim is proved"), ("{}", "not a certificate"))
    ):
        file = tmp_path / f"{number}.json"
        file.write_text(content)
        assert drop(page, file) == expected
    assert page.workers == [before]
    (tmp_path / "long.json").write_text(hostile.FAMILIES["sample: cells"](256))
    page.set_input_files("#check-file", tmp_path / "long.json")
    page.get_by_role("button", name="Stop").wait_for()
    assert drop(page, tmp_path / "1.json") == "not a certificate"
    assert "1.json" in page.locator("#check-results").inner_text()
    assert worker(page) is not before
    assert calm(watch), vars(watch)


def test_a_check_can_be_stopped(show: Opener, watch: Watch, tmp_path: Path) -> None:
    page = show(checker_page())
    (tmp_path / "long.json").write_text(hostile.FAMILIES["sample: cells"](256))
    page.set_input_files("#check-file", tmp_path / "long.json")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("it was stopped").wait_for()
    (tmp_path / "short.json").write_text(text("general, moments"))
    assert drop(page, tmp_path / "short.json") == "the claim is proved"
    assert calm(watch), vars(watch)


def test_without_scripts_the_page_says_how_to_check_otherwise(show: Opener, curve: CertificateCurve) -> None:
    for html in (report(curve), checker_page()):
        page = show(html, script=False)
        assert not page.locator("#check-file").is_visible()
        assert "fairbound verify certificate.json" in page.locator("#here .no-script").inner_text()


def test_in_a_notebook(browser: Browser, curve: CertificateCurve, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><body>{report(curve)._repr_html_()}", encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#check-here").click()
    frame.locator("#check-results .verdict").wait_for()
    assert "the claim is proved" in frame.locator("#check-results").inner_text()
    page.close()


def test_the_command_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, program = tmp_path / "out.html", tmp_path / "out.js"
    assert main(["checker", "-o", str(page)]) == 0
    assert main(["checker", "-o", str(program)]) == 0
    assert page.read_text("utf-8") == checker_page()
    assert program.read_text("utf-8") == browser_checker().text
    assert capsys.readouterr().out.count(browser_checker().digest) == 2
    assert len(browser_checker().packed) < 40_000
