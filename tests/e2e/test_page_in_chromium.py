"""report.html in a real browser, opened from disk; support/chromium.py says what no page may do."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import wait_until
from explorer_runs import Answers, Asked, Said, explorer_of, records, score
from page_chapters import HEADLINE, chapter, explorer, numbers, picture

from harness.core.records import Context, Failure
from harness.display import Content, Drawing, Quantity, Section, Table
from harness.display.plotting import GREY, PALETTE, plotting, publish
from harness.report.formats import table_csv
from harness.report.page import page_html
from harness.report.page.explorer import build_explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

Open = Callable[..., "Page"]
PHONE = {"viewport": {"width": 390, "height": 844}}
CONTRAST = (Path(__file__).parents[1] / "support" / "contrast.js").read_text(encoding="utf-8")
HOSTILE = "<img src=x onerror='window.ran=1'><script>window.ran=2</script>"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return written(tmp_path, page_html([chapter(tmp_path)], {}))


def written(folder: Path, html: str) -> Path:
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_first_screen_holds_the_answer(open_file: Open, report: Path, size: tuple[int, int]) -> None:
    page = open_file(report, viewport={"width": size[0], "height": size[1]})
    for part in (".headline", ".sentences", ".board tbody tr:last-child", "article figure .drawing"):
        assert (box := page.locator(part).first.bounding_box()) and box["y"] < size[1], part
    sizes = page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && e.innerText)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    headline = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.headline')).fontSize)")
    assert page.locator(".headline").inner_text() == HEADLINE
    assert headline == max(sizes) > 20


def test_the_first_screen_of_twelve_systems_has_the_plot(open_file: Open, tmp_path: Path) -> None:
    one = chapter(tmp_path, {f"system-{number}": (1, 0) for number in range(12)})
    page = open_file(written(tmp_path, page_html([one], {0: build_explorer(one.group, "g0")})))
    for part in (".headline", ".sentences", ".board tbody tr", "figure .drawing", "a.button"):
        assert (box := page.locator(f"article {part}").first.bounding_box()), part
        assert box["y"] + box["height"] < 800, part
    assert (page.locator("a.button").first.get_attribute("href") or "").endswith("#failed")


def test_a_phone_scrolls_down_only_and_no_letter_of_a_picture_is_tiny(open_file: Open, report: Path) -> None:
    page = open_file(report, **PHONE)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    letters = page.evaluate(
        "[...document.querySelectorAll('figure svg text')].map(e => parseFloat(getComputedStyle(e).fontSize)"
        " * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert letters and min(letters) >= 8.99
    assert (words := page.locator("#table-accuracy > span").last.bounding_box())
    assert words["x"] + words["width"] <= 390, "what is said above a table is read without scrolling"
    assert "answers right" in page.locator(".board caption").inner_text(), "no heading says what the numbers are"
    hero, scroller = page.locator("figure .scroll").first, page.locator("figure .scroll").last
    assert hero.evaluate("e => e.scrollWidth <= e.clientWidth"), "the plot beside the leaderboard is whole"
    assert scroller.evaluate("e => e.scrollWidth > e.clientWidth")
    assert scroller.get_attribute("tabindex") == "0"


def test_the_theme_is_the_systems_until_the_button_is_pressed(open_file: Open, report: Path) -> None:
    page = open_file(report, color_scheme="dark")
    letters = "getComputedStyle(document.querySelector('svg text')).fill"
    shown = f"[getComputedStyle(document.body).backgroundColor, {letters}]"
    dark = page.evaluate(shown)
    assert dark == ["rgb(20, 23, 27)", "rgb(230, 233, 237)"]
    page.get_by_role("button", name="Light theme").press("Enter")
    light = page.evaluate(shown)
    assert light == ["rgb(251, 251, 249)", "rgb(27, 32, 38)"]
    page.reload()
    assert page.evaluate(shown) == light


def every_mark(folder: Path) -> str:
    """A picture of every colour that a figure gives to runs, and of its words."""
    with plotting() as new_figure:
        figure = new_figure(figsize=(4.6, 1))
        axes = figure.subplots()
        for place, colour in enumerate(PALETTE[:-1]):
            axes.plot([place], [0], "o", color=colour)
        axes.set_xlabel("words", color=GREY)
        return publish(Drawing("marks", "Marks", "Marks.", "Marks.", figure), folder).svg


def test_every_word_and_mark_has_contrast_in_both_themes(open_file: Open, tmp_path: Path) -> None:
    kinds: dict[str, float | str] = {"r": 1.0, "w": 0.0, "p": 0.5, "t": "not_applicable", "f": "failed"}
    said: dict[str, Said | Failure] = {
        name: Said("x", contexts=(Context(text="a fact", doc_ids=("d",)),)) for name in kinds
    }
    said["t"] = Failure(kind="timeout", message="late")
    asked = [Asked(name, name) for name in kinds]
    runs = [Answers(system, records(said), [score(*one) for one in kinds.items()]) for system in ("kg", "naive")]
    one = chapter(tmp_path / "scored")
    rows = Section("accuracy", "Accuracy", Content(tables=(numbers(),)), (picture("marks", every_mark(tmp_path)),))
    one = replace(one, sections=(*one.sections, replace(rows, key="marks")))
    html = page_html([one], {0: explorer_of(tmp_path / "asked", asked, runs)})
    page = open_file(written(tmp_path, html), color_scheme="light")
    page.wait_for_selector("[data-ready]", state="attached")
    for theme in ("Dark theme", "Light theme"):
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        listed = page.evaluate(CONTRAST)
        page.locator("tr[data-at] button").first.click()
        page.wait_for_selector("dialog[open] .ex-column")
        opened = page.evaluate(CONTRAST)
        assert listed["looked"] > 40
        assert opened["looked"] > listed["looked"]
        assert [f"{one['what']} {one['got']:.2f}" for one in (*listed["weak"], *opened["weak"])] == []
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name=theme).click()


def test_the_keyboard_reaches_every_control_in_order(open_file: Open, report: Path) -> None:
    page = open_file(report)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name = "(e => e.getAttribute('aria-label') || e.innerText.trim())(document.activeElement)"
        reached.append(page.evaluate(name))
    order = ["Skip to the results", "Dark theme", "1 note", "How do the other metrics", "What do the terms mean?"]
    places = [next(at for at, text in enumerate(reached) if text.startswith(name)) for name in order]
    assert places == sorted(places)


def test_paper_shows_everything_without_what_only_a_screen_can_do(open_file: Open, report: Path) -> None:
    page = open_file(report, color_scheme="dark", viewport={"width": 703, "height": 1000})
    assert not page.get_by_text("pair 39").is_visible()
    page.emulate_media(media="print")
    assert page.get_by_text("pair 39").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in (".sidebar", "#theme", ".copy"):
        assert not page.locator(hidden).first.is_visible()


def test_without_scripts_only_the_buttons_are_missing(open_file: Open, report: Path) -> None:
    page = open_file(report, java_script_enabled=False)
    assert not page.locator("#theme").is_visible()
    page.locator("#scores > summary").click()
    assert page.locator("#reproduce code").is_visible()
    page.locator("details.long summary").click()
    assert page.get_by_text("pair 39").is_visible()


def test_a_table_is_sorted_by_its_heading_and_restored(open_file: Open, tmp_path: Path) -> None:
    one = chapter(tmp_path)
    values = {"low": 0.5, "none": None, "high": 12.0, "middle": 3.0}
    rows = tuple((name, Quantity(value, 0.0, 99.0)) for name, value in values.items())
    table = Table("some", "Some", ("system", "tokens"), rows)
    section = Section("some", "Some", Content(tables=(table,)))
    page = open_file(written(tmp_path, page_html([replace(one, sections=(section,))], {})))
    page.locator("#scores > summary").click()
    button = page.get_by_role("button", name="tokens")
    shown, found = page.locator("#some tbody th"), []
    for _ in range(3):
        button.press("Enter")
        heading = page.locator("#some thead th").nth(1)
        found.append((heading.get_attribute("aria-sort"), shown.all_inner_texts()))
    assert found == [
        ("descending", ["high", "middle", "low", "none"]),
        ("ascending", ["low", "middle", "high", "none"]),
        (None, list(values)),
    ]
    page.get_by_role("button", name="system").click()
    assert shown.all_inner_texts() == sorted(values)


def test_commands_are_copied_and_tables_downloaded_as_csv(open_file: Open, report: Path) -> None:
    page = open_file(report)
    page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.locator("#scores > summary").click()
    page.get_by_role("button", name="Copy").press("Enter")
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("window.copied") == "rag-harness run --set 'systems=[\"kg\"]'\nrag-harness report a\n"
    link = page.get_by_role("link", name="CSV: By type")
    assert link.get_attribute("download") == "accuracy.csv"
    href = link.get_attribute("href") or ""
    assert base64.b64decode(href.partition("base64,")[2]).decode() == table_csv(numbers())


def test_an_address_within_the_page_lands_although_it_grows(open_file: Open, tmp_path: Path) -> None:
    one = chapter(tmp_path)
    grown = build_explorer(one.group, "g0")
    path = written(tmp_path, page_html([one], {0: grown}))
    page = open_file(path, **PHONE)
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#runs")
    page.wait_for_selector("[data-ready]", state="attached")
    top = "document.getElementById('runs').getBoundingClientRect().top"
    wait_until(page, f"scrollY > 0 && Math.abs({top}) < innerHeight / 2")
    page.goto(f"{path.as_uri()}#table-pairs")
    wait_until(page, "document.getElementById('table-pairs').checkVisibility()")


def test_even_an_unescaped_string_could_run_nothing(chromium_browser: "Browser", report: Path) -> None:
    html = report.read_text(encoding="utf-8").replace(HEADLINE, HOSTILE)
    report.write_text(html, encoding="utf-8")
    page = chromium_browser.new_page()
    requests: list[str] = []
    page.on("requestfinished", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    assert page.evaluate("window.ran") is None
    assert requests in ([], [report.as_uri()])
    page.close()


def test_twelve_megabytes_of_data_do_not_hold_up_the_first_paint(open_file: Open, tmp_path: Path) -> None:
    one = chapter(tmp_path)
    blocks = [("g0-x", "QUJD" * 3_000_000)]
    html = page_html([one], {0: explorer(blocks)}).replace('data-explorer="g0"', "")
    path = written(tmp_path, html)
    first = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity"
    # The best of three: other work on the machine may hold up one of them.
    assert min(open_file(path).evaluate(first) for _ in range(3)) < 1000
