"""The page of a review in a real browser, by its keys: what is decided there is kept, what is hostile is text."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import served, wait_until
from question_reviews import DOCUMENTS, FACT, ROWS, rows_in

from harness.core.records import Document
from harness.extensions.testset.question_records import rows_text
from harness.extensions.testset.review_decisions import Review
from harness.extensions.testset.review_session import review_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror='window.ran=1'></script><script>window.ran=2</script>"
EVIL = Document(doc_id=HOSTILE, title=HOSTILE, text=f"before {HOSTILE} quoted words {HOSTILE} after")
EVIL_ROW = {
    **ROWS[0],
    "id": "evil",
    "question": f"What is {HOSTILE}?",
    "answers": [HOSTILE],
    "evidence": [{"document": HOSTILE, "quote": f"{HOSTILE} quoted words"}],
    "checks": {HOSTILE: HOSTILE},
    "made_by": HOSTILE,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "asked.jsonl"
    path.write_text(rows_text([*ROWS, EVIL_ROW]), encoding="utf-8")
    return path


@pytest.fixture
def opened_page(chromium_browser: "Browser", file: Path) -> "Iterator[Page]":
    content = review_page(Review(file, "ada", {**DOCUMENTS, HOSTILE: EVIL}))
    with served(chromium_browser, content, refuses=True) as page:
        page.wait_for_selector("body[data-ready='a']")
        yield page


def press(page: "Page", key: str, then: str) -> None:
    """A key, and wait until that question is shown."""
    page.keyboard.press(key)
    page.wait_for_selector(f"body[data-ready='{then}']")


def test_keys_accept_reject_and_undo(opened_page: "Page", file: Path) -> None:
    press(opened_page, "a", "b")
    assert opened_page.locator("#question").inner_text() == ROWS[1]["question"]
    press(opened_page, "r", "c")
    assert [(row["id"], row["seen_by"]) for row in rows_in(file)] == [("a", "ada"), ("c", None), ("evil", None)]
    press(opened_page, "k", "b")
    assert "rejected" in opened_page.locator("#about").inner_text()
    opened_page.keyboard.press("u")
    wait_until(opened_page, "document.getElementById('about').innerText.includes('not seen yet')")
    assert [row["id"] for row in rows_in(file)] == ["a", "b", "c", "evil"]
    opened_page.reload()
    opened_page.wait_for_selector("body[data-ready='b']")
    assert opened_page.locator("#progress").inner_text() == "2 of 4; 1 seen, 0 rejected"
    assert opened_page.locator("#key-failed").is_hidden()


def test_an_edit_is_saved_by_key_and_a_quote_that_is_none_is_refused(opened_page: "Page", file: Path) -> None:
    assert opened_page.locator("mark").inner_text() == FACT
    opened_page.keyboard.press("e")
    opened_page.locator("#edit-question").press_sequentially("are")
    opened_page.keyboard.press("Escape")
    opened_page.wait_for_timeout(200)
    assert rows_in(file)[0] == ROWS[0], "letters typed into a field decide nothing"
    assert opened_page.locator("#editor").is_hidden()
    opened_page.keyboard.press("e")
    opened_page.locator("#edit-quotes textarea").first.fill("founded in 1912")
    opened_page.keyboard.press("Control+Enter")
    wait_until(opened_page, "document.getElementById('error').innerText.includes('is not in')")
    assert rows_in(file)[0] == ROWS[0]
    opened_page.locator("#edit-quotes textarea").first.fill("founded in 1911")
    opened_page.locator("#edit-answers").fill("1911\nin 1911")
    press(opened_page, "Control+Enter", "b")
    first = rows_in(file)[0]
    assert (first["answers"], first["evidence"][0]["quote"]) == (["1911", "in 1911"], "founded in 1911")
    assert first["seen_by"] == "ada"


def test_what_others_change_in_the_file_is_shown_and_a_collision_is_said(opened_page: "Page", file: Path) -> None:
    theirs = {**ROWS[0], "answers": ["in the year 1911"]}
    added = {"id": "mine", "question": "What did I add by hand?", "answers": ["a row"]}
    file.write_text(rows_text([theirs, *ROWS[1:], added]), encoding="utf-8")
    opened_page.keyboard.press("a")
    wait_until(opened_page, "document.getElementById('answers').innerText === 'in the year 1911'")
    assert "'a'" in opened_page.locator("#error").inner_text()
    assert opened_page.locator("#progress").inner_text() == "1 of 4; 0 seen, 0 rejected"
    assert rows_in(file)[0] == theirs
    press(opened_page, "a", "b")
    assert opened_page.locator("#error").inner_text() == ""
    assert [row.get("seen_by") for row in rows_in(file)] == ["ada", None, None, None]
    press(opened_page, "k", "a")
    for then in ("b", "c", "mine"):
        press(opened_page, "j", then)


def test_a_phone_scrolls_down_only_and_done_says_that_the_page_can_be_closed(opened_page: "Page") -> None:
    assert opened_page.evaluate("document.documentElement.scrollWidth") <= 390
    opened_page.get_by_role("button", name="Done").click()
    wait_until(opened_page, "document.getElementById('progress').innerText.includes('can be closed')")
