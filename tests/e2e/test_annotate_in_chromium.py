"""The page of labels in a real browser, by its keys: what is said there is kept, what is hostile is text."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import served, wait_until
from labelled_runs import HOSTILE, labelled_run

from harness.extensions.annotation.labelling_session import annotation_page, draw_answers, open_session
from harness.store.annotations import read_annotations

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_keys_label_note_and_undo_and_a_session_can_resume(chromium_browser: "Browser", tmp_path: Path) -> None:
    run = labelled_run(tmp_path, n=3, said={f"q{number:03d}": HOSTILE for number in range(3)})
    drawn = draw_answers([run], 1.0, 0, "ada")
    first, second, third = (one.item_id for one in drawn.items)
    with open_session(drawn, "ada") as desk, served(chromium_browser, annotation_page(desk)) as page:
        page.wait_for_selector(f"body[data-ready='{first}']")
        assert page.locator("#answer").inner_text() == HOSTILE
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for place, key in enumerate("450", start=1):
            page.keyboard.press(key)
            wait_until(page, f"document.querySelectorAll('[aria-pressed=true]').length === {place}")
        page.keyboard.press("m")
        page.keyboard.type("odd 12")
        page.keyboard.press("Escape")
        page.keyboard.press("3")
        page.wait_for_selector(f"body[data-ready='{second}']")
        page.keyboard.press("k")
        page.wait_for_selector(f"body[data-ready='{first}']")
        assert page.locator("#note").input_value() == "odd 12"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("u")
        wait_until(page, "document.querySelectorAll('[aria-pressed=true]').length === 3")
        page.reload()
        page.wait_for_selector(f"body[data-ready='{first}']")
        assert page.locator("#progress").inner_text() == "1 of 3; 0 finished"
        page.locator("fieldset[data-dimension=context_relevancy] [data-number='2']").click()
        page.wait_for_selector(f"body[data-ready='{second}']")
        page.keyboard.press("n")
        page.wait_for_selector(f"body[data-ready='{third}']")
        page.get_by_role("button", name="Done").click()
        wait_until(page, "document.getElementById('progress').innerText.includes('can be closed')")
    said = {one.dimension: (one.label, one.cannot_tell, one.note) for one in read_annotations(run)}
    assert said == {
        None: (None, False, "odd 12"),
        "factual_correctness": (4, False, ""),
        "context_relevancy": (2, False, ""),
        "response_relevancy": (None, True, ""),
        "faithfulness": (3, False, ""),
    }
