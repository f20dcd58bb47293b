"""The report in a real browser: it renders, its moving parts work, and nothing leaves the page.

Needs Chromium or Chrome: the program that the environment variable FAIRBOUND_BROWSER names, or one of the usual names
on the PATH (on Debian: ``apt-get install chromium``). Without one these tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Download, Page, sync_playwright

from fairbound import CertificateCurve, certify, report, verify
from fairbound.cli import main
from fairbound.wording.amounts import Amounts, change_in_percent, percent
from fairbound.wording.digits import Digits, gap_up, radius_down
from fairbound.wording.names import short_name
from tests.pages import NASTY, nasty_curve, sampled_curve, small_curve

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: All text must stand out from what is behind it by this ratio (the usual demand of accessible pages).
LEAST_CONTRAST = 4.5

#: Finds the contrast of every text with the nearest background that is painted.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest("script")) continue;
    const style = getComputedStyle(element);
    const color = parse(element.closest("svg") ? style.fill : style.color);
    let behind = element;
    while (behind && (parse(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
    const paper = parse(getComputedStyle(behind || document.documentElement).backgroundColor);
    const [a, b] = [light(color), light(paper)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), walker.currentNode.textContent.trim().slice(0, 40)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""

#: How the page of the small curve writes its numbers.
AMOUNTS = Amounts(Digits(3), "percent")

Opener = Callable[..., Page]


class Watch:
    """What a page did that it should not do."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.dialogs: list[str] = []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    given = os.environ.get("FAIRBOUND_BROWSER")
    program = given or next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH (Debian: apt-get install chromium)")
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=quiet)
        yield found
        found.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def show(browser: Browser, watch: Watch, tmp_path: Path) -> Iterator[Opener]:
    """Open a report from disk with everything watched and every other address blocked."""
    contexts = []

    def dismiss(dialog: Dialog) -> None:
        watch.dialogs.append(dialog.message)
        dialog.dismiss()

    def opened(html: str, *, width: int = 1100, dark: bool = False, script: bool = True) -> Page:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            accept_downloads=True,
        )
        contexts.append(context)
        context.route(lambda url: url != file.as_uri(), lambda route: route.abort())
        page = context.new_page()
        page.on("request", lambda request: watch.requests.append(request.url))
        page.on("console", lambda message: watch.messages.append(message.text))
        page.on("pageerror", lambda error: watch.messages.append(str(error)))
        page.on("dialog", dismiss)
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    strangers = [url for url in watch.requests if not url.startswith(("file:", "blob:", "data:"))]
    assert not strangers


@pytest.fixture(scope="module")
def curve() -> CertificateCurve:
    return small_curve()


def calm(watch: Watch) -> bool:
    """Tell whether nothing was asked for but the file itself, and nothing was complained about."""
    return len([u for u in watch.requests if u.startswith("file:")]) == 1 and not watch.messages and not watch.dialogs


def test_it_opens_from_disk_without_a_word_to_anyone(show: Opener, watch: Watch, curve: CertificateCurve) -> None:
    page = show(report(curve))
    assert page.title() == "How large can this model's error rate get?"
    assert page.locator("h1").is_visible()
    assert page.locator("#verdict").inner_text().split() == ["✓", "Bound", "proved"]
    drawn = page.locator("svg.curve.broad path.bound").bounding_box()
    assert drawn is not None
    assert drawn["width"] > 400
    assert drawn["height"] > 100
    assert not page.locator("svg.curve.narrow").is_visible()
    page.wait_for_timeout(300)
    assert calm(watch), vars(watch)


def test_choosing_rho_by_keyboard_shows_the_certificates_own_numbers(
    show: Opener, watch: Watch, curve: CertificateCurve
) -> None:
    page = show(report(curve))
    page.locator("#rho").focus()
    page.keyboard.press("Home")
    for index, c in enumerate(curve):
        if index:
            page.keyboard.press("ArrowRight")
        texts = {
            name: set(page.locator(f'[data-show="{name}"]').all_text_contents())
            for name in ("rho", "bound", "attained", "gap", "exact", "found")
        }
        bound, attained = AMOUNTS.pair(c.bound, c.attained, lower=False)
        assert texts == {
            "rho": {radius_down(c.rho)},
            "bound": {bound},
            "attained": {attained},
            "gap": {gap_up(c.gap)},
            "exact": {repr(c.bound)},
            "found": {repr(c.attained)},
        }
        assert page.locator("#radii tr.on th").inner_text() == radius_down(c.rho)
        rows = page.locator("#worst tbody tr")
        change = c.witness.mass - c.population.mass
        for cell in range(4):
            place = divmod(cell, 2)
            row = rows.nth(cell)
            assert row.locator('[data-cell="after"]').inner_text() == percent(float(c.witness.mass[place]))
            assert row.locator('[data-cell="change"]').inner_text() == change_in_percent(float(change[place]))
            assert row.locator(".most").is_visible() == (cell == change.argmax())
            kind = "grows" if change[place] > 0 else "shrinks"
            assert kind in str(row.locator("svg").get_attribute("class"))
        said = page.locator("#rho").get_attribute("aria-valuetext")
        assert said == f"rho {radius_down(c.rho)}, at most {bound}\N{NO-BREAK SPACE}%"
    assert calm(watch), vars(watch)


def test_hovering_tells_the_values_and_a_click_chooses(show: Opener, watch: Watch, curve: CertificateCurve) -> None:
    page = show(report(curve))
    page.locator("svg.curve.broad").scroll_into_view_if_needed()
    dots = page.locator("svg.curve.broad .dot")
    tip = page.locator(".tip")
    assert not tip.is_visible()
    for index, c in enumerate(curve):
        box = dots.nth(index).bounding_box()
        assert box is not None
        at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*at)
        told = dict(re.split("  +", line) for line in tip.inner_text().splitlines())
        bound, attained = (f"{text}\N{NO-BREAK SPACE}%" for text in AMOUNTS.pair(c.bound, c.attained, lower=False))
        assert told == {"rho": radius_down(c.rho), "at most": bound, "reached": attained}
        over = tip.bounding_box()
        assert over is not None
        for dot in dots.all():  # it hides no point of the curve, that which it speaks of least of all
            point = dot.bounding_box()
            assert point is not None
            apart = point["x"] >= over["x"] + over["width"] or point["x"] + point["width"] <= over["x"]
            assert apart or point["y"] >= over["y"] + over["height"] or point["y"] + point["height"] <= over["y"]
        page.mouse.click(*at)
        assert page.locator("output [data-show=rho]").inner_text() == radius_down(c.rho)
        ring = page.locator("svg.curve.broad .pick").bounding_box()
        assert ring is not None
        assert abs(ring["x"] + ring["width"] / 2 - at[0]) < 1
        assert abs(ring["y"] + ring["height"] / 2 - at[1]) < 1
    barred = page.locator("svg.curve.broad .barred").bounding_box()
    assert barred is not None
    page.mouse.move(barred["x"] + barred["width"] / 2, barred["y"] + 20)
    assert tip.inner_text() == f"nothing to certify below rho = {curve.distance:.4f}"
    page.mouse.move(5, 5)
    assert not tip.is_visible()
    assert calm(watch), vars(watch)


def save(page: Page, path: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator("#download").focus()
        page.keyboard.press("Enter")
    download: Download = waiting.value
    assert download.suggested_filename == "certificate.json"
    download.save_as(path)
    return path


def test_the_saved_certificate_verifies(show: Opener, watch: Watch, curve: CertificateCurve, tmp_path: Path) -> None:
    page = show(report(curve))
    saved = save(page, tmp_path / "saved.json")
    assert saved.read_bytes() == curve.to_json().encode()
    assert main(["verify", str(saved)]) == 0
    assert page.locator("#download-status").inner_text() == "Saved as certificate.json."
    assert calm(watch), vars(watch)


def test_names_from_strangers_are_texts_and_nothing_else(show: Opener, watch: Watch, tmp_path: Path) -> None:
    curve = nasty_curve()
    page = show(report(curve, title=NASTY[0], excluded={NASTY[6]: 3}))
    page.locator("#rho").focus()
    page.keyboard.press("ArrowRight")
    page.locator("svg.curve.broad").hover()
    page.wait_for_timeout(300)
    assert page.locator("h1").inner_text() == NASTY[0]
    shown = page.locator("#data tbody th bdi").all_text_contents()
    labels = {short_name(name) for name in curve.certificates[-1].population.labels}  # type: ignore[union-attr]
    assert sorted(shown[::2]) == sorted(short_name(name) for name in NASTY for _ in range(2))
    assert set(shown[1::2]) == labels
    assert page.locator("img, iframe, b").count() == 0
    assert page.locator("script").count() == 5
    assert page.locator("#excluded-rows bdi").inner_text() == NASTY[6]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    assert verify(save(page, tmp_path / "saved.json").read_bytes()).valid
    assert calm(watch), vars(watch)


def test_a_writing_direction_touches_nothing_around_it(show: Opener) -> None:
    page = show(report(nasty_curve()))
    for row in page.locator("#data tbody tr").all():
        places = [box["x"] for cell in row.locator("th, td").all() if (box := cell.bounding_box())]
        assert places == sorted(places)


def test_the_policy_stops_what_gets_in_all_the_same(show: Opener, watch: Watch, curve: CertificateCurve) -> None:
    page = show(report(curve))
    tried = page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.got_in = true";
          document.body.append(script);
          const fetched = await fetch("http://127.0.0.1:9/").then(() => true, () => false);
          return [window.got_in === true, fetched];
        }"""
    )
    assert tried == [False, False]
    assert any("Content Security Policy" in message for message in watch.messages)


def test_one_certificate_has_a_page_too(show: Opener, watch: Watch, curve: CertificateCurve, tmp_path: Path) -> None:
    certificate = certify(next(iter(curve)).population, 0.2, shift="sensitive")
    page = show(report(certificate))
    assert not page.locator("#rho").count()
    assert page.locator("svg.scale").first.is_visible()
    assert page.locator("strong[data-show=bound]").inner_text() == AMOUNTS.up(certificate.bound)
    assert save(page, tmp_path / "saved.json").read_text(encoding="utf-8") == certificate.to_json()
    assert calm(watch), vars(watch)


def test_the_page_of_a_sample(show: Opener, watch: Watch, tmp_path: Path) -> None:
    curve = sampled_curve("sensitive")
    page = show(report(curve))
    said = page.locator("#statement").inner_text()
    assert "With probability at least 95% over the draw of the 400 rows, in any population" in said
    assert "no smaller bound" not in said
    assert not page.locator("svg.curve .between").count()
    assert page.locator("#excluded-rows").is_visible()
    page.locator("#rho").focus()
    page.keyboard.press("End")
    last = curve.certificates[-1]
    assert last is not None
    assert last.surrogate is not None
    assert set(page.locator('[data-show="attained"]').all_inner_texts()) == {
        AMOUNTS.pair(last.bound, last.attained, lower=False)[1]
    }
    limits = page.locator('#worst [data-cell="loss"]').all_inner_texts()
    means = last.surrogate.population.mean.ravel()
    assert limits == [f"{Amounts(Digits(4), 'percent').near(m)}\N{NO-BREAK SPACE}%" for m in means]
    assert verify(save(page, tmp_path / "saved.json").read_bytes()).valid
    assert calm(watch), vars(watch)


def test_what_is_not_proved_looks_so(show: Opener, curve: CertificateCurve) -> None:
    page = show(report(curve.to_json().replace('"bound": 0.', '"bound": 0.0')))
    assert "Not proved" in page.locator("#verdict").inner_text()
    assert page.locator(".note.bad").first.is_visible()
    assert page.get_by_text("at most (not proved)").first.is_visible()


def test_without_scripts_everything_is_there_to_read(show: Opener, curve: CertificateCurve) -> None:
    page = show(report(curve), script=False)
    assert not page.locator("#rho").is_visible()
    assert not page.locator("#download").is_visible()
    assert page.get_by_text("Saving needs JavaScript").is_visible()
    bounds = page.locator("#radii tbody tr[data-index] td:nth-child(2)").all_inner_texts()
    assert bounds == [AMOUNTS.finer.up(c.bound) for c in curve]
    assert page.locator("svg.curve.broad path.bound").is_visible()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_it_fits_every_screen_and_can_be_read_on_it(
    show: Opener, watch: Watch, curve: CertificateCurve, width: int, dark: bool
) -> None:
    page = show(report(curve, excluded={"no label": 7}), width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg.curve.narrow").is_visible() == (width < 640)
    assert page.locator("svg.curve.broad").is_visible() == (width >= 640)
    contrast, text = page.evaluate(CONTRAST)[0]
    assert contrast >= LEAST_CONTRAST, f"{text!r} has a contrast of {contrast:.2f}"
    size = page.evaluate(
        """() => {
          const picture = [...document.querySelectorAll("svg.curve")].find((one) => one.checkVisibility());
          return 13 * picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
        }"""
    )
    assert size >= 10, "the numbers of the picture are too small to read"
    assert calm(watch), vars(watch)


def test_it_prints(show: Opener, curve: CertificateCurve) -> None:
    page = show(report(curve), dark=True)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 1 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 6
    page.emulate_media(media="print")
    assert not page.locator("#rho").is_visible()
    assert not page.locator("#download").is_visible()
    assert page.locator("#radii").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST)[0][0] >= LEAST_CONTRAST
